//! What people's tools act on where it merely stands in a folder: a shell that enters it, an editor that opens it, `git status`. Who may
//! write that can have code run outside of any sandbox. A build file is none: somebody has to say that it is to be run.

/// These, however they are cased. `HEAD` is what makes a folder of any name a repository, whose `config` names programs.
pub const NAMES: &[&str] = &[
    "_exrc",
    "_gvimrc",
    "_vimrc",
    "autorun.inf",
    "desktop.ini",
    "head",
    "microsoft.powershell_profile.ps1",
    "mise.toml",
    "profile.ps1",
    "sitecustomize.py",
    "usercustomize.py",
];

/// And what ends so.
pub const ENDINGS: &[&str] = &[".desktop", ".library-ms", ".lnk", ".scf", ".url"];

/// Whether tools act on what has this path, or on a folder that it is in: a name begins with a dot, which is how tools name what is
/// theirs (`.git`, `.envrc`, `.vscode`, `.bashrc`), or is one of [`NAMES`], or has one of [`ENDINGS`].
pub fn is_acted_on(path: &str) -> bool {
    path.split('/').any(|name| {
        let name: String = name.chars().filter(|character| !is_ignored(*character)).collect();
        // Windows takes neither dots nor spaces at the end for a part of a name.
        let name = name.to_ascii_lowercase();
        let name = name.trim_end_matches(['.', ' ']);
        name.starts_with('.') || NAMES.contains(&name) || ENDINGS.iter().any(|ending| name.ends_with(ending))
    })
}

/// What a file system of Apple's leaves out when it compares names.
fn is_ignored(character: char) -> bool {
    matches!(character, '\u{200c}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{206a}'..='\u{206f}' | '\u{feff}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_tools_act_on_is_known_in_every_spelling_and_at_every_depth() {
        let spellings =
            [".git/config", "a/b/.git/hooks/pre-commit", ".envrc", ".VSCode/tasks.json", ".bashrc", "x/HEAD"];
        let hidden =
            ["\u{200c}.git/config", ".g\u{200d}it", "Desktop.INI", "autorun.inf. .", "a/b.LNK", "mise\u{feff}.toml"];
        for path in spellings.iter().chain(&hidden).chain(NAMES) {
            assert!(is_acted_on(path), "{path:?}");
        }
        for ending in ENDINGS {
            assert!(is_acted_on(&format!("folder/name{}", ending.to_uppercase())), "{ending}");
        }
        for path in ["a", "Makefile", "git/config", "a.git", "heads/a", "header", "url", "notes.url.txt", "a..b/c"] {
            assert!(!is_acted_on(path), "{path:?}");
        }
    }
}

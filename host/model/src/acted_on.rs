//! What people's tools act on where it merely stands in a folder: a shell that enters it, an editor that opens it, `git status`. Who may
//! write that can have code run outside of any sandbox. A build file is none: somebody has to say that it is to be run.

use crate::hidden::is_hidden;

/// These, however they are cased. What agents read as their instructions is among them, and what compilers, test runners and interpreters load unasked.
pub const NAMES: &[&str] = &[
    "_dir-locals-2.el",
    "_dir-locals.el",
    "_emacs",
    "_exrc",
    "_gvimrc",
    "_irbrc",
    "_vimrc",
    "agent.md",
    "agents.md",
    "agents.override.md",
    "app.md",
    "autorun.inf",
    "bunfig.toml",
    "claude.local.md",
    "claude.md",
    "codebuff.json",
    "codex.md",
    "copilot-instructions.md",
    "crush.json",
    "crush.md",
    "crushrc",
    "desktop.ini",
    "directory.build.props",
    "directory.build.rsp",
    "directory.build.targets",
    "directory.packages.props",
    "directory.solution.props",
    "directory.solution.targets",
    "gemini.md",
    "global.json",
    "hutch.lock",
    "irb.rc",
    "jupyter_notebook_config.py",
    "jupyter_server_config.py",
    "lefthook.yaml",
    "lefthook.yml",
    "microsoft.powershell_profile.ps1",
    "mise.toml",
    "nuget.config",
    "opencode.json",
    "opencode.jsonc",
    "profile.ps1",
    "pyvenv.cfg",
    "qwen.md",
    "replit.md",
    "rust-toolchain",
    "rust-toolchain.toml",
    "sitecustomize",
    "skill.md",
    "usercustomize",
    "warp.md",
];

/// And what ends so.
pub const ENDINGS: &[&str] = &[
    ".agent.md",
    ".chatmode.md",
    ".code-workspace",
    ".desktop",
    ".instructions.md",
    ".library-ms",
    ".lnk",
    ".mdc",
    ".prompt.md",
    ".pth",
    ".scf",
    ".search-ms",
    ".searchconnector-ms",
    ".sublime-project",
    ".url",
];

/// And what begins and ends so, whatever is between: `mise.production.toml`, `sitecustomize.pyc`, `before.X.sln.targets`.
pub const AROUND: &[(&str, &str)] = &[
    ("after.", ".sln.targets"),
    ("before.", ".sln.targets"),
    ("conftest.", ""),
    ("mise.", ".toml"),
    ("sitecustomize.", ""),
    ("usercustomize.", ""),
];

/// Whether tools act on what has this path, or on a folder that it is in: a name begins with a dot, which is how tools name what is
/// theirs (`.git`, `.envrc`, `.vscode`, `.bashrc`), or is one of [`NAMES`], or has one of [`ENDINGS`] or is in [`AROUND`], however a file system spells it,
/// which for short names of Windows nobody can know.
///
/// A dot is enough, on purpose: tools come and go, and a list of theirs would always be one too short. So `.gitkeep`, which nothing acts
/// on, is withheld, and so is `.gitignore`, by which what people commit and what agents see can be changed.
///
/// `HEAD` is what makes the folder that it is in a repository, whose `config` names programs; a folder so called is none. What is below
/// `mise/conf…` is read as `mise.toml` is.
pub fn is_acted_on(path: &str) -> bool {
    let (last, mut is_in_mise) = (path.split('/').count(), false);
    path.split('/').zip(1..).any(|(name, number)| {
        let name: String = name.chars().filter(|c| !is_hidden(*c)).flat_map(plain).collect();
        // Windows takes neither dots nor spaces at the end for a part of a name, and what stands behind a colon for a stream of the file.
        let name = name.split(':').next().unwrap_or_default().trim_end_matches(['.', ' ']);
        name.starts_with('.')
            || NAMES.contains(&name)
            || ENDINGS.iter().any(|ending| name.ends_with(ending))
            || AROUND.iter().any(|(begins, ends)| name.strip_prefix(begins).is_some_and(|rest| rest.ends_with(ends)))
            || is_short(name)
            || (name == "head" && number == last)
            || (std::mem::replace(&mut is_in_mise, name == "mise") && name.starts_with("conf"))
    })
}

/// The letters of ASCII that a file system without regard to case and form takes a letter for, in lower case: by Unicode's full folding, as
/// of two letters in one form.
fn plain(c: char) -> impl Iterator<Item = char> {
    let (c, more) = match c {
        '\u{17f}' => ('s', ""),
        '\u{212a}' => ('k', ""),
        '\u{df}' | '\u{1e9e}' => ('s', "s"),
        '\u{fb00}' => ('f', "f"),
        '\u{fb01}' => ('f', "i"),
        '\u{fb02}' => ('f', "l"),
        '\u{fb03}' => ('f', "fi"),
        '\u{fb04}' => ('f', "fl"),
        '\u{fb05}' | '\u{fb06}' => ('s', "t"),
        // Full width: not one for a file system, but for many a program.
        '\u{ff01}'..='\u{ff5e}' => (char::from_u32(c as u32 - 0xfee0).unwrap_or(c), ""),
        '\u{2024}' => ('.', ""),
        c => (c, ""),
    };
    c.to_lowercase().chain(more.chars())
}

/// Whether this may be the short name (8.3) that Windows gives to another: `GIT~1` is `.git`, and `GI7EBA~1` may be. What it stands for is
/// written on that disk alone.
fn is_short(name: &str) -> bool {
    let (stem, extension) = name.split_once('.').unwrap_or((name, ""));
    let number = stem.split_once('~').map(|(_, number)| number).unwrap_or_default();
    let is_numbered = !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit());
    is_numbered && stem.chars().count() <= 8 && extension.chars().count() <= 3
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
        let agents = [
            "CLAUDE.md",
            "docs/Agents.MD",
            "GEMINI.md",
            "skills/x/SKILL.md",
            "copilot-instructions.md",
            "rust-toolchain.toml",
            "lib/x.pth",
            "conftest.py",
            "__pycache__/conftest.cpython-311-pytest-9.2.0.pyc",
            "venv/pyvenv.cfg",
            "crush.json",
            "a.code-workspace",
            ".cursorrules",
            "rules/x.mdc",
            "x.instructions.md",
            "mi\u{17f}e.toml",
            "S\u{212a}ILL.md",
            "CLAUDE\u{fe0f}.md",
            "CLAUDE.md::$DATA",
            "x.searchConnector-ms",
            "confte\u{fb06}.py",
            "Ru\u{fb05}-toolchain",
            "siteCu\u{fb06}omize.py",
            "lib/sitecustomize/__init__.py",
            "sitecustomize.pyc",
            "usercustomize.cpython-311-x86_64-linux-gnu.so",
            "Directory.Solution.props",
            "before.Hutch.sln.targets",
            "After.X.sln.targets",
            "x.in\u{fb06}ructions.md",
            "bun\u{fb01}g.toml",
            "mise/config.toml",
            "a/Mise/conf.d/x.toml",
            "demo/APP.md",
            "hutch.lock",
            "mise.local.toml",
            "Mise.production.local.toml",
            "Directory.Build.props",
            "NuGet.Config",
        ];
        let short = [
            "GIT~1/hooks/post-checkout",
            "git~4",
            "GI7EBA~1/config",
            "VSCODE~1",
            "ENVRC~1",
            "AGENTS~1.MD",
            "COPILO~1.MD",
            "RUST-T~1.TOM",
            "A~1.COD",
            "X~2.DES",
            "BASH_P~1",
            "CLAUDE~1.MD",
            "MISE~1.TOM",
        ];
        let ignored = [".gitkeep", ".gitignore", "a/.keep"];
        for path in spellings.iter().chain(&hidden).chain(&agents).chain(&short).chain(&ignored).chain(NAMES) {
            assert!(is_acted_on(path), "{path:?}");
        }
        for ending in ENDINGS {
            assert!(is_acted_on(&format!("folder/name{}", ending.to_uppercase())), "{ending}");
        }
        for path in [
            "a",
            "Makefile",
            "git/config",
            "a.git",
            "heads/a",
            "header",
            "url",
            "notes.url.txt",
            "a..b/c",
            "notes~1.text",
            "backup~",
            "README.md",
            "git~1x",
            "~",
            "report~12345678",
            "promise.toml",
            "mise.md",
            "sitecustomizer.py",
            "before.sln.targets",
            "after.hutch.targets",
            "misc/config.toml",
            "emacs",
            "global.jsonl",
            "layouts/head/meta.html",
            "src/mise/main.rs",
            "mise/src/conf.rs",
            "dir-locals.el",
            "chatmode.md",
            "reagent.md",
            "stra\u{df}e/\u{fb01}sh.md",
        ] {
            assert!(!is_acted_on(path), "{path:?}");
        }
    }
}

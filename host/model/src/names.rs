//! Names that a package declares: slug, skill, command, path, environment variable. Each has one parser, used by the
//! manifest, by the command line and by whatever reads them back. Knows nothing of where a name came from.

use crate::diagnostic::shown;
use std::fmt;
use unicode_normalization::UnicodeNormalization;

/// Why a text is no name of its kind. The message says what was expected.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("{0}")]
pub struct NameError(String);

fn refuse<T>(message: impl Into<String>) -> Result<T, NameError> {
    Err(NameError(message.into()))
}

macro_rules! text_name {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, serde::Serialize)]
        #[serde(transparent)]
        pub struct $name(String);

        impl<'de> serde::Deserialize<'de> for $name {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<$name, D::Error> {
                let text = String::deserialize(deserializer)?;
                $name::parse(&text).map_err(serde::de::Error::custom)
            }
        }

        impl $name {
            /// The name as text.
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }

        impl std::str::FromStr for $name {
            type Err = NameError;

            fn from_str(text: &str) -> Result<$name, NameError> {
                $name::parse(text)
            }
        }
    };
}

text_name! {
    /// The identity of a package: lower-case words of `a-z` and `0-9` joined by `-`, at most 64 characters, and no name
    /// that Windows keeps for devices, so that it can name a folder everywhere.
    Slug
}

text_name! {
    /// A skill's short name, by the Agent Skills rules: as a slug, device names included.
    SkillName
}

text_name! {
    /// A command as it is typed after the program's name: words separated by single spaces, `add` or `reminder set`.
    CommandPath
}

text_name! {
    /// A clean relative path inside a package or a guest: components separated by `/`, each of which can be a file name
    /// on every common system.
    PackagePath
}

text_name! {
    /// The name of an environment variable: letters, digits and `_`, not beginning with a digit (POSIX `Name`).
    EnvironmentName
}

/// The most characters of a slug or a skill's name.
pub const SLUG_CHARACTERS_MAX: usize = 64;

fn check_kebab(text: &str) -> Result<(), NameError> {
    let word = |word: &str| !word.is_empty() && word.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit());
    if !text.split('-').all(word) {
        return refuse(format!("expected lower-case words of a-z and 0-9 joined by -, found {}", shown(text)));
    }
    if text.len() > SLUG_CHARACTERS_MAX {
        return refuse(format!("{} characters, {SLUG_CHARACTERS_MAX} allowed", text.len()));
    }
    Ok(())
}

impl Slug {
    /// The slug that `text` is.
    ///
    /// # Errors
    /// What it breaks.
    pub fn parse(text: &str) -> Result<Slug, NameError> {
        check_kebab(text)?;
        if is_device(text) {
            return refuse(format!("{} is a device on Windows", shown(text)));
        }
        Ok(Slug(text.to_owned()))
    }

    /// The slug of a package that declares none: its name in lower case, with `-` for all that a slug cannot hold.
    /// `None` if nothing is left.
    pub fn derived(name: &str) -> Option<Slug> {
        let words = name.split(|c: char| !c.is_ascii_alphanumeric()).filter(|word| !word.is_empty());
        let mut slug = words.collect::<Vec<_>>().join("-").to_ascii_lowercase();
        slug.truncate(SLUG_CHARACTERS_MAX);
        Slug::parse(slug.trim_end_matches('-')).ok()
    }
}

impl SkillName {
    /// The skill name that `text` is.
    ///
    /// # Errors
    /// What it breaks.
    pub fn parse(text: &str) -> Result<SkillName, NameError> {
        check_kebab(text)?;
        Ok(SkillName(text.to_owned()))
    }
}

impl CommandPath {
    /// The most characters of a path.
    pub const CHARACTERS_MAX: usize = 128;

    /// The command path that `text` is.
    ///
    /// # Errors
    /// What it breaks.
    pub fn parse(text: &str) -> Result<CommandPath, NameError> {
        let first = |b: u8| b.is_ascii_alphanumeric() || b == b'_';
        let rest = |b: u8| first(b) || matches!(b, b'-' | b'.' | b':');
        let word = |word: &str| word.bytes().enumerate().all(|(at, b)| if at == 0 { first(b) } else { rest(b) });
        if text.is_empty() || !text.split(' ').all(|part| !part.is_empty() && word(part)) {
            let expected =
                "expected words of letters, digits, _ - . : separated by single spaces, none beginning with -";
            return refuse(format!("{expected}, found {}", shown(text)));
        }
        if text.len() > CommandPath::CHARACTERS_MAX {
            return refuse(format!("{} characters, {} allowed", text.len(), CommandPath::CHARACTERS_MAX));
        }
        Ok(CommandPath(text.to_owned()))
    }

    /// The words, of which there is at least one.
    pub fn words(&self) -> impl Iterator<Item = &str> {
        self.0.split(' ')
    }
}

impl PackagePath {
    /// The most bytes of a path.
    pub const BYTES_MAX: usize = 1024;
    /// The most bytes of one component.
    pub const COMPONENT_BYTES_MAX: usize = 255;
    /// The most components.
    pub const COMPONENTS_MAX: usize = 16;

    /// The path that `text` is.
    ///
    /// # Errors
    /// What it breaks.
    pub fn parse(text: &str) -> Result<PackagePath, NameError> {
        if text.is_empty() {
            return refuse("expected a path, found nothing");
        }
        if text.starts_with('/') {
            return refuse(format!("expected a relative path, found {}", shown(text)));
        }
        if text.len() > PackagePath::BYTES_MAX {
            return refuse(format!("{} bytes, {} allowed", text.len(), PackagePath::BYTES_MAX));
        }
        if text.split('/').count() > PackagePath::COMPONENTS_MAX {
            return refuse(format!("more than {} components", PackagePath::COMPONENTS_MAX));
        }
        text.split('/').try_for_each(check_component)?;
        Ok(PackagePath(text.to_owned()))
    }

    /// The path of `name` inside the folder that this path names.
    ///
    /// # Errors
    /// What the result breaks.
    pub fn join(&self, name: &str) -> Result<PackagePath, NameError> {
        PackagePath::parse(&format!("{}/{name}", self.0))
    }

    /// The components, of which there is at least one.
    pub fn components(&self) -> impl Iterator<Item = &str> {
        self.0.split('/')
    }

    /// Whether the two are the same or one lies inside the other, on a system where upper and lower case are one, and a letter is one however
    /// it is put together with its marks.
    pub fn overlaps(&self, other: &PackagePath) -> bool {
        self.components().zip(other.components()).all(|(a, b)| a == b || folded(a).eq(folded(b)))
    }
}

/// What a name is compared by on such a system.
fn folded(name: &str) -> impl Iterator<Item = char> {
    name.nfd().flat_map(char::to_uppercase).flat_map(char::to_lowercase).nfd()
}

/// Whether `name` can be a file name on Linux, macOS and Windows alike.
fn check_component(name: &str) -> Result<(), NameError> {
    let message = match name {
        "" => "an empty component",
        "." | ".." => ". or .. as a component",
        _ if name.contains('\\') => "a backslash; components are separated by /",
        _ if crate::hidden::hidden(name).next().is_some() => "a character without a visible form",
        _ if name.contains(['<', '>', ':', '"', '|', '?', '*']) => "one of < > : \" | ? *, which Windows refuses",
        _ if name.ends_with(['.', ' ']) || name.starts_with(' ') => {
            "a component that begins or ends with a space or ends with a dot"
        }
        _ if is_device(name) => "a name that Windows keeps for a device",
        _ if name.len() > PackagePath::COMPONENT_BYTES_MAX => "a component of more than 255 bytes",
        _ => return Ok(()),
    };
    refuse(format!("{} has {message}", shown(name)))
}

/// Whether Windows takes the name for a device, whatever extension it has.
fn is_device(name: &str) -> bool {
    let stem = name.split('.').next().unwrap_or_default().trim_end().to_ascii_lowercase();
    let numbered = |prefix: &str| {
        stem.strip_prefix(prefix).is_some_and(|rest| {
            let mut digits = rest.chars();
            matches!((digits.next(), digits.next()), (Some('0'..='9' | '¹' | '²' | '³'), None))
        })
    };
    matches!(stem.as_str(), "con" | "prn" | "aux" | "nul" | "conin$" | "conout$") || numbered("com") || numbered("lpt")
}

impl EnvironmentName {
    /// The most bytes of a name.
    pub const BYTES_MAX: usize = 128;

    /// The name that `text` is.
    ///
    /// # Errors
    /// What it breaks.
    pub fn parse(text: &str) -> Result<EnvironmentName, NameError> {
        let legal = text.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_');
        if !legal || text.is_empty() || text.starts_with(|c: char| c.is_ascii_digit()) {
            return refuse(format!(
                "expected letters, digits and _, not beginning with a digit, found {}",
                shown(text)
            ));
        }
        if text.len() > EnvironmentName::BYTES_MAX {
            return refuse(format!("{} bytes, {} allowed", text.len(), EnvironmentName::BYTES_MAX));
        }
        Ok(EnvironmentName(text.to_owned()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slugs() {
        for good in ["a", "todo", "a-1-b", &"x".repeat(64), "company", "com", "com10", "auxiliary"] {
            assert_eq!(Slug::parse(good).map(|slug| slug.to_string()), Ok(good.to_owned()));
        }
        for bad in
            ["", "-", "a-", "-a", "a--b", "A", "a_b", "a b", "é", "a/b", "..", "con", "nul", "lpt1", &"x".repeat(65)]
        {
            assert!(Slug::parse(bad).is_err(), "{bad:?}");
        }
    }

    #[test]
    fn a_slug_is_derived_from_any_name_that_has_letters() {
        let derived = |name: &str| Slug::derived(name).map(|slug| slug.to_string());
        assert_eq!(derived("  To-Do (v2)!").as_deref(), Some("to-do-v2"));
        assert_eq!(derived(&"ab ".repeat(40)).map(|slug| slug.len()), Some(64));
        assert_eq!(derived("日本"), None);
        assert_eq!(derived("CON"), None);
    }

    #[test]
    fn command_paths() {
        for good in ["add", "reminder set", "db:migrate", "v1.2", "_x", "3"] {
            assert!(CommandPath::parse(good).is_ok(), "{good:?}");
        }
        for bad in ["", " ", "a  b", " a", "a ", "-a", "a -b", "a\tb", "add <title>", "é", "a/b", &"x".repeat(129)] {
            assert!(CommandPath::parse(bad).is_err(), "{bad:?}");
        }
    }

    #[test]
    fn package_paths() {
        for good in ["state", "app/state", "a b", ".hidden", "日本/語", "a.b.c", "console"] {
            assert!(PackagePath::parse(good).is_ok(), "{good:?}");
        }
        let long = "x".repeat(256);
        let deep = ["a"; 17].join("/");
        for bad in [
            "",
            "/",
            "/a",
            "a/",
            "a//b",
            ".",
            "..",
            "a/..",
            "../a",
            "a/./b",
            "a\\b",
            "c:",
            "c:/x",
            "a\0",
            "a\n",
            "a\u{7f}",
            "a?",
            "a.",
            "a ",
            " a",
            "nul",
            "NUL.txt",
            "a/Con",
            "com1",
            "COM1.log",
            "lpt9",
            "com¹",
            "a\u{202e}b",
            &long,
            &deep,
        ] {
            assert!(PackagePath::parse(bad).is_err(), "{bad:?}");
        }
    }

    #[test]
    fn paths_overlap_by_whole_components_and_without_regard_to_case_and_form() {
        let path = |text| PackagePath::parse(text).map_err(|error| error.to_string());
        let overlaps = |a, b| Ok::<_, String>(path(a)?.overlaps(&path(b)?));
        for (a, b, expected) in [
            ("a", "a", true),
            ("a", "a/b", true),
            ("a/b", "a", true),
            ("A", "a/b", true),
            ("Ä", "ä", true),
            // With the mark in the letter, and behind it.
            ("caf\u{e9}", "cafe\u{301}", true),
            ("CAF\u{c9}/x", "cafe\u{301}", true),
            ("\u{ac00}", "\u{1100}\u{1161}", true),
            ("\u{212b}", "\u{e5}", true),
            ("a\u{323}\u{307}", "a\u{307}\u{323}", true),
            ("cafe", "caf\u{e9}", false),
            ("日本", "日", false),
            ("a", "ab", false),
            ("a/b", "a/c", false),
        ] {
            assert_eq!(overlaps(a, b), Ok(expected), "{a} {b}");
        }
    }
}

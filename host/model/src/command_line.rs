//! `entry.command` as this host reads it: `wasm:FILE.wasm`, then leading arguments.
//! No shell is behind it: nothing is expanded, substituted or redirected. Knows no file system.

use crate::diagnostic::shown;
use crate::hidden::hidden;
use crate::names::PackagePath;

/// The folder of a package that holds its payload.
pub const PAYLOAD_FOLDER: &str = "app";

/// What an invocation of the package starts.
#[derive(Clone, PartialEq, Eq, Debug, serde::Serialize, serde::Deserialize)]
pub struct EntryCommand {
    component: PackagePath,
    arguments: Vec<String>,
}

/// Why a text is no entry command.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum EntryError {
    /// It asks for something other than a component.
    #[error("only wasm: payloads are run, found {0}")]
    Unsupported(String),
    /// It asks for a component in a way that cannot be followed.
    #[error("{0}")]
    Invalid(String),
}

impl EntryCommand {
    /// The entry command that `text` is.
    ///
    /// Words are separated by spaces. Single or double quotes around any part of a word keep its spaces and all other
    /// characters as they are; there is no escape character. Outside quotes, characters that a shell would act on are
    /// refused, because nothing acts on them here.
    ///
    /// # Errors
    /// What it breaks.
    pub fn parse(text: &str) -> Result<EntryCommand, EntryError> {
        let start = text.trim_start_matches(' ');
        let scheme = start.strip_prefix("wasm:");
        if scheme.is_none() {
            let word = start.split(' ').next().unwrap_or_default();
            return Err(EntryError::Unsupported(shown(word)));
        }
        let mut words = split(scheme.unwrap_or_default())?.into_iter();
        let file = words.next().unwrap_or_default();
        if file.is_empty() || scheme.is_some_and(|rest| rest.starts_with(' ')) {
            return Err(EntryError::Invalid("expected a file name right after wasm:".to_owned()));
        }
        let name = PackagePath::parse(&file).map_err(|error| EntryError::Invalid(error.to_string()))?;
        if !file.ends_with(".wasm") || file.ends_with("/.wasm") || file == ".wasm" {
            return Err(EntryError::Invalid(format!(
                "expected a file name that ends with .wasm, found {}",
                shown(&file)
            )));
        }
        let component = PackagePath::parse(&format!("{PAYLOAD_FOLDER}/{name}"))
            .map_err(|error| EntryError::Invalid(error.to_string()))?;
        Ok(EntryCommand { component, arguments: words.collect() })
    }

    /// The component's file, from the root of the package: `app/app.wasm`.
    pub fn component(&self) -> &PackagePath {
        &self.component
    }

    /// The arguments that stand before those of each invocation.
    pub fn arguments(&self) -> &[String] {
        &self.arguments
    }
}

fn split(text: &str) -> Result<Vec<String>, EntryError> {
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut quote = None;
    if let Some((_, c)) = hidden(text).next() {
        return Err(EntryError::Invalid(format!("U+{:04X} is not allowed", u32::from(c))));
    }
    for c in text.chars() {
        match (quote, c) {
            (Some(open), c) if c == open => quote = None,
            (Some(_), c) => word.get_or_insert_default().push(c),
            (None, '"' | '\'') => {
                quote = Some(c);
                word.get_or_insert_default();
            }
            (None, ' ') => words.extend(word.take()),
            (None, ';' | '|' | '&' | '$' | '`' | '<' | '>' | '(' | ')' | '\\') => {
                return Err(EntryError::Invalid(format!(
                    "{c} has no meaning without a shell; put it in quotes if it is meant as it is"
                )));
            }
            (None, c) => word.get_or_insert_default().push(c),
        }
    }
    match quote {
        Some(open) => Err(EntryError::Invalid(format!("a quote {open} is never closed"))),
        None => {
            words.extend(word);
            Ok(words)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(text: &str) -> Result<(String, Vec<String>), EntryError> {
        EntryCommand::parse(text).map(|entry| (entry.component().to_string(), entry.arguments().to_vec()))
    }

    #[test]
    fn words_and_quotes() {
        for (text, component, arguments) in [
            ("wasm:app.wasm", "app/app.wasm", vec![]),
            ("  wasm:app.wasm  ", "app/app.wasm", vec![]),
            ("wasm:bin/a.wasm --x  y", "app/bin/a.wasm", vec!["--x", "y"]),
            ("wasm:\"my app.wasm\" 'a \"b\" $c' \"it's\" ''", "app/my app.wasm", vec!["a \"b\" $c", "it's", ""]),
            ("wasm:a.wasm --t=\"a b\"c", "app/a.wasm", vec!["--t=a bc"]),
            ("wasm:a.wasm ~ * # !", "app/a.wasm", vec!["~", "*", "#", "!"]),
        ] {
            let expected = (component.to_owned(), arguments.into_iter().map(str::to_owned).collect());
            assert_eq!(parsed(text), Ok(expected), "{text}");
        }
    }

    #[test]
    fn other_forms_are_told_apart_from_mistakes() {
        for text in
            ["node app/cli.js", "todo", "", "WASM:a.wasm", "./wasm:a.wasm", "'wasm:a.wasm'", "sh -c 'wasm:a.wasm'"]
        {
            assert!(matches!(parsed(text), Err(EntryError::Unsupported(_))), "{text}");
        }
        for text in [
            "wasm:",
            "wasm: app.wasm",
            "wasm:../a.wasm",
            "wasm:/a.wasm",
            "wasm:a.wat",
            "wasm:.wasm",
            "wasm:x/.wasm",
            "wasm:a.wasm 'x",
            "wasm:a.wasm; rm",
            "wasm:a.wasm && b",
            "wasm:a.wasm $HOME",
            "wasm:a.wasm > out",
            "wasm:a\\b.wasm",
            "wasm:a.wasm\tx",
            "wasm:nul.wasm",
            "wasm:''",
            "wasm:a.wasm \u{1b}[2J",
        ] {
            assert!(matches!(parsed(text), Err(EntryError::Invalid(_))), "{text}");
        }
    }
}

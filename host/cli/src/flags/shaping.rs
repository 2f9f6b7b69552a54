//! What a caller wants done to every answer before it is printed: parts selected, hidden characters and personal data taken out.

use crate::flags::global::Global;
use crate::flags::selection::Path;
use hutch_model::redact::Cleaning;

/// By the global flags.
#[derive(Debug, Default)]
pub(crate) struct Shaping {
    pub(crate) fields: Vec<String>,
    pub(crate) query: Option<Path>,
    pub(crate) cleaning: Cleaning,
}

impl Shaping {
    pub(crate) fn of(global: &Global) -> Shaping {
        Shaping {
            fields: global.fields.clone(),
            query: global.query.clone(),
            cleaning: Cleaning { hidden: global.sanitize, personal: global.redact },
        }
    }

    /// By the words of a line that is answered without being parsed: `--query` and `--fields`.
    ///
    /// # Errors
    /// What is wrong with a path.
    pub(crate) fn of_words(words: &[String]) -> Result<Shaping, String> {
        let values = |name: &'static str| {
            words.iter().enumerate().filter_map(move |(at, word)| match word.strip_prefix(name)? {
                "" => words.get(at + 1).map(String::as_str),
                rest => rest.strip_prefix('='),
            })
        };
        Ok(Shaping {
            fields: values("--fields").flat_map(|names| names.split(',')).map(str::to_owned).collect(),
            query: values("--query").next_back().map(str::parse).transpose()?,
            ..Shaping::default()
        })
    }

    /// Whether only a part of the answer is wanted.
    pub(crate) fn selects(&self) -> bool {
        self.query.is_some() || !self.fields.is_empty()
    }
}

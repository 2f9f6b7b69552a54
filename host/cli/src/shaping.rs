//! What a caller wants done to every answer before it is printed: parts selected, hidden characters and personal data taken out.

use crate::arguments::Global;
use crate::selection::Path;
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

    /// Whether only a part of the answer is wanted.
    pub(crate) fn selects(&self) -> bool {
        self.query.is_some() || !self.fields.is_empty()
    }
}

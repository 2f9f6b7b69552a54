//! What a caller wants done to every answer before it is printed: parts selected, hidden characters and personal data taken out.

use crate::arguments::Global;
use crate::selection::Path;
use hutch_model::redact;
use serde_json::Value;
use std::borrow::Cow;

/// By the global flags.
#[derive(Debug, Default)]
pub(crate) struct Shaping {
    pub(crate) fields: Vec<String>,
    pub(crate) query: Option<Path>,
    sanitize: bool,
    redact: bool,
}

impl Shaping {
    pub(crate) fn of(global: &Global) -> Shaping {
        Shaping {
            fields: global.fields.clone(),
            query: global.query.clone(),
            sanitize: global.sanitize,
            redact: global.redact,
        }
    }

    /// Whether only a part of the answer is wanted.
    pub(crate) fn selects(&self) -> bool {
        self.query.is_some() || !self.fields.is_empty()
    }

    /// Cleans every text in a value, names of fields too.
    pub(crate) fn purify(&self, value: &mut Value) {
        if !self.sanitize && !self.redact {
            return;
        }
        match value {
            Value::String(text) => {
                if let Cow::Owned(clean) = self.clean(text) {
                    *text = clean;
                }
            }
            Value::Array(items) => items.iter_mut().for_each(|item| self.purify(item)),
            Value::Object(fields) => {
                *fields = std::mem::take(fields)
                    .into_iter()
                    .map(|(name, mut value)| {
                        self.purify(&mut value);
                        (self.clean(&name).into_owned(), value)
                    })
                    .collect();
            }
            _ => {}
        }
    }

    /// What a guest wrote, cleaned as asked. JSON stays JSON: its texts are cleaned, not its syntax.
    pub(crate) fn purify_bytes<'b>(&self, bytes: &'b [u8]) -> Cow<'b, [u8]> {
        if !self.sanitize && !self.redact {
            return Cow::Borrowed(bytes);
        }
        if let Ok(mut value) = serde_json::from_slice::<Value>(bytes) {
            self.purify(&mut value);
            return Cow::Owned(format!("{value}\n").into_bytes());
        }
        Cow::Owned(self.clean(&String::from_utf8_lossy(bytes)).into_owned().into_bytes())
    }

    fn clean<'t>(&self, text: &'t str) -> Cow<'t, str> {
        let text = if self.sanitize { redact::without_hidden(text) } else { Cow::Borrowed(text) };
        match (self.redact, text) {
            (true, Cow::Borrowed(text)) => redact::without_personal_data(text),
            (true, Cow::Owned(text)) => Cow::Owned(redact::without_personal_data(&text).into_owned()),
            (false, text) => text,
        }
    }
}

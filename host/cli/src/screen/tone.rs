//! How a word stands out on a terminal. What stands out is one of our own words in a field of our own: nothing that a guest or a package
//! says chooses a colour.

use hutch_documents::diff::Mark;
use hutch_model::error_code::ErrorCode;
use hutch_model::instant::Instant;
use serde_json::Value;

/// What a person is to see at a glance.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Tone {
    #[default]
    Plain,
    /// As it should be, or added.
    Good,
    /// Changes something, or is not known.
    Caution,
    /// Destroys or failed, or taken away.
    Bad,
    /// Names a thing, and is seldom read.
    Dim,
}

impl From<Mark> for Tone {
    fn from(mark: Mark) -> Tone {
        match mark {
            Mark::Said => Tone::Plain,
            Mark::Added => Tone::Good,
            Mark::Removed => Tone::Bad,
        }
    }
}

impl Tone {
    /// The tone of a value in a field of an answer.
    pub(crate) fn of(field: &str, value: Option<&Value>) -> Tone {
        match (field, value) {
            ("status", Some(Value::Number(status))) if status.as_u64() != Some(0) => Tone::Bad,
            (_, Some(Value::String(word))) => Tone::of_word(field, word),
            _ => Tone::Plain,
        }
    }

    fn of_word(field: &str, word: &str) -> Tone {
        match (field, word) {
            ("effect", "write") | ("status", "not_reproducible") | ("trust", "unsigned") => Tone::Caution,
            ("effect", "delete") | ("status", "bad" | "differs") => Tone::Bad,
            ("status", "ok" | "equal") | ("trust", "signed" | "trusted" | "attested") => Tone::Good,
            ("error", word) if ErrorCode::from_text(word).is_some() => Tone::Bad,
            ("hash", word) if word.bytes().all(|byte| byte.is_ascii_hexdigit()) => Tone::Dim,
            ("at" | "modified" | "installed_at" | "created_at", word) if word.parse::<Instant>().is_ok() => Tone::Dim,
            _ => Tone::Plain,
        }
    }

    /// A text in this tone; it holds nothing that a terminal acts on. Blanks at its end stay outside.
    pub(crate) fn painted(self, text: &str) -> String {
        let code = match self {
            Tone::Plain => return text.to_owned(),
            Tone::Good => "32",
            Tone::Caution => "33",
            Tone::Bad => "31",
            Tone::Dim => "2",
        };
        let word = text.trim_end_matches(' ');
        format!("\u{1b}[{code}m{word}\u{1b}[0m{}", text.get(word.len()..).unwrap_or_default())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn only_our_own_words_in_our_own_fields_have_a_tone() {
        for (field, value, tone) in [
            ("effect", json!("read"), Tone::Plain),
            ("effect", json!("write"), Tone::Caution),
            ("effect", json!("delete"), Tone::Bad),
            ("status", json!("ok"), Tone::Good),
            ("status", json!(0), Tone::Plain),
            ("status", json!(42), Tone::Bad),
            ("error", json!("FUEL_LIMIT"), Tone::Bad),
            ("error", json!("MY_OWN_CODE"), Tone::Plain),
            ("hash", json!("abc0"), Tone::Dim),
            ("hash", json!("delete"), Tone::Plain),
            ("at", json!("2026-04-01T09:00:00Z"), Tone::Dim),
            ("at", json!("soon"), Tone::Plain),
            ("description", json!("delete"), Tone::Plain),
            ("message", json!("2026-04-01T09:00:00Z"), Tone::Plain),
            ("effect", json!(["delete"]), Tone::Plain),
        ] {
            assert_eq!(Tone::of(field, Some(&value)), tone, "{field} {value}");
        }
    }

    #[test]
    fn blanks_have_no_tone() {
        assert_eq!(Tone::Bad.painted("ab  "), "\u{1b}[31mab\u{1b}[0m  ");
        assert_eq!(Tone::Plain.painted("ab "), "ab ");
    }
}

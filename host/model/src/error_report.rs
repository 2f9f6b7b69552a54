//! What the host says when it can't do what was asked: rule E1's object, with typed details and fixes that can be executed.

use crate::error_code::ErrorCode;
use serde::Serialize;
use serde_json::{Map, Value};

/// A command that mends the cause.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
#[non_exhaustive]
pub struct Fix {
    /// The command line.
    pub cmd: String,
    /// What it changes.
    pub effect: String,
    /// `none`, `low` or `high`.
    pub risk: &'static str,
}

/// One failure: `{"error":true,"code","message","suggestion","details"?,"fixes"?}`.
#[derive(Clone, PartialEq, Debug, Serialize)]
#[non_exhaustive]
pub struct ErrorReport {
    error: bool,
    /// The stable code.
    pub code: ErrorCode,
    /// What happened, for people; not stable.
    pub message: String,
    /// What to do.
    pub suggestion: String,
    /// Typed facts, by name.
    #[serde(skip_serializing_if = "Map::is_empty")]
    pub details: Map<String, Value>,
    /// Commands that mend it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub fixes: Vec<Fix>,
}

impl ErrorReport {
    /// A report with the code's own suggestion.
    pub fn new(code: ErrorCode, message: impl Into<String>) -> ErrorReport {
        let suggestion = code.fix().to_owned();
        ErrorReport { error: true, code, message: message.into(), suggestion, details: Map::new(), fixes: Vec::new() }
    }

    /// Says first what it is about.
    #[must_use]
    pub fn of(mut self, what: impl std::fmt::Display) -> ErrorReport {
        self.message = format!("{what}: {}", self.message);
        self
    }

    /// Replaces the suggestion.
    #[must_use]
    pub fn suggest(mut self, suggestion: impl Into<String>) -> ErrorReport {
        self.suggestion = suggestion.into();
        self
    }

    /// Adds a fact.
    #[must_use]
    pub fn detail(mut self, name: &str, value: impl Serialize) -> ErrorReport {
        self.details.insert(name.to_owned(), serde_json::to_value(value).unwrap_or_default());
        self
    }

    /// Adds a command that mends it.
    #[must_use]
    pub fn fixed_by(mut self, cmd: impl Into<String>, effect: impl Into<String>, risk: &'static str) -> ErrorReport {
        self.fixes.push(Fix { cmd: cmd.into(), effect: effect.into(), risk });
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_shape_is_the_one_that_programs_read() {
        let report = ErrorReport::new(ErrorCode::FuelLimit, "m").detail("fuel", 7).fixed_by("c", "e", "low");
        let expect = r#"{"error":true,"code":"FUEL_LIMIT","message":"m","suggestion":"give it less work, or raise --limit fuel","details":{"fuel":7},"fixes":[{"cmd":"c","effect":"e","risk":"low"}]}"#;
        assert_eq!(serde_json::to_string(&report).ok().as_deref(), Some(expect));
        let bare = serde_json::to_value(ErrorReport::new(ErrorCode::Usage, "m")).ok();
        assert!(bare.is_some_and(|value| value.get("details").is_none() && value.get("fixes").is_none()));
    }
}

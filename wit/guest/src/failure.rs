//! Failures as the caller sees them: a code with its exit status, a message, what to do next.
//!
//! The usage codes are those of every application that reads its arguments with `argv`; codes of an application's own
//! stand in its description.

use serde::Serialize;

use crate::contract::FailureCode;

/// The call names no command, or one that does not exist.
pub const UNKNOWN_COMMAND: FailureCode = FailureCode {
    code: "UNKNOWN_COMMAND",
    exit_status: 2,
    description: "the arguments begin with no command of this application",
    fix: "call --help for the list of commands",
};
/// A flag that the command does not take.
pub const UNKNOWN_FLAG: FailureCode = FailureCode {
    code: "UNKNOWN_FLAG",
    exit_status: 2,
    description: "the command takes no flag of that name",
    fix: "use the flag that the suggestion names, or call the command with --help; write -- before an argument that begins with a dash",
};
/// A required argument, or the value of a flag, is not there.
pub const MISSING_ARGUMENT: FailureCode = FailureCode {
    code: "MISSING_ARGUMENT",
    exit_status: 2,
    description: "a required argument or the value of a flag is missing",
    fix: "give the argument that the message names",
};
/// More arguments than the command takes.
pub const UNEXPECTED_ARGUMENT: FailureCode = FailureCode {
    code: "UNEXPECTED_ARGUMENT",
    exit_status: 2,
    description: "an argument is one too many, is given twice, or contradicts another",
    fix: "leave the argument out; quote a text of several words so that it stays one argument",
};
/// A value of the wrong type or out of bounds.
pub const INVALID_VALUE: FailureCode = FailureCode {
    code: "INVALID_VALUE",
    exit_status: 2,
    description: "a value has the wrong type, is out of bounds or is not one of the choices",
    fix: "give a value as the message describes it",
};

/// The call was not confirmed.
pub const CONFIRMATION_REQUIRED: FailureCode = FailureCode {
    code: "CONFIRMATION_REQUIRED",
    exit_status: 30,
    description: "the command takes something out for good and was called without --confirm",
    fix: "ask the user, then call again with --confirm",
};
/// The application is wrong.
pub const INTERNAL_ERROR: FailureCode = FailureCode {
    code: "INTERNAL_ERROR",
    exit_status: 1,
    description: "the application has a defect",
    fix: "report the call and the message",
};

/// Codes of an application's own, each a constant of the name that callers see: exit status, what went wrong, what the caller can do.
///
/// ```
/// hutch_guest::codes! {
///     pub SOLD_OUT = 30: "there is none of it left", "order another one";
/// }
///
/// assert_eq!((SOLD_OUT.code, SOLD_OUT.exit_status), ("SOLD_OUT", 30));
/// ```
#[macro_export]
macro_rules! codes {
    ($($visibility:vis $name:ident = $exit_status:literal: $description:literal, $fix:literal;)+) => {$(
        #[doc = $description]
        $visibility const $name: $crate::FailureCode = $crate::FailureCode {
            code: ::std::stringify!($name),
            exit_status: $exit_status,
            description: $description,
            fix: $fix,
        };
    )+};
}

/// One failure: why this call did not do what it was asked.
#[derive(Clone, Debug, Eq, PartialEq, Serialize)]
pub struct Failure {
    /// The code, with the exit status that belongs to it.
    #[serde(serialize_with = "code_only")]
    pub code: FailureCode,
    /// What went wrong, with the value and what was expected; lower case, no full stop.
    pub message: String,
    /// What to try next.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub suggestion: Option<String>,
    /// Which entry of a batch it is about, from 0.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub index: Option<usize>,
}

impl Failure {
    /// A failure whose way out is the general one of its code.
    #[must_use]
    pub fn new(code: FailureCode, message: impl Into<String>) -> Self {
        Self { code, message: message.into(), suggestion: Some(code.fix.to_owned()), index: None }
    }

    /// Two arguments that exclude each other, as they are written.
    #[must_use]
    pub fn contradiction(one: &str, other: &str) -> Self {
        Self::new(UNEXPECTED_ARGUMENT, format!("{one} and {other} contradict each other"))
            .suggest("give one of the two")
    }

    /// The same failure with a way out that fits this call.
    #[must_use]
    pub fn suggest(self, suggestion: impl Into<String>) -> Self {
        Self { suggestion: Some(suggestion.into()), ..self }
    }

    /// The same failure, about one entry of a batch.
    #[must_use]
    pub fn of_entry(self, index: usize) -> Self {
        Self { message: format!("entry {index}: {}", self.message), index: Some(index), ..self }
    }
}

fn code_only<S: serde::Serializer>(failure: &FailureCode, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(failure.code)
}

/// The candidate most like `word`: one that it is the beginning of, or one that a slip of the fingers makes of it.
pub fn nearest<'a>(word: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    /// Words from outside may be long; no name here is.
    const COMPARED_CHARS_MAX: usize = 40;
    /// Shorter beginnings fit too many names.
    const BEGINNING_BYTES_MIN: usize = 3;
    let word: String = word.chars().take(COMPARED_CHARS_MAX).collect();
    let distance = |candidate: &str| {
        let edits = strsim::osa_distance(&word, candidate);
        let begins = word.len() >= BEGINNING_BYTES_MIN && candidate.starts_with(&word);
        let slips_allowed = (candidate.len().max(word.len()) / 3).max(1);
        (begins || edits <= slips_allowed).then_some(edits)
    };
    candidates
        .into_iter()
        .filter_map(|candidate| Some((distance(candidate)?, candidate)))
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, candidate)| candidate)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slips_find_their_name_and_other_words_do_not() {
        let names = ["description", "due-at", "due-before", "limit", "status"];
        for (word, expected) in [
            ("descripton", Some("description")),
            ("due", Some("due-at")),
            ("desc", Some("description")),
            ("du", None),
            ("dueat", Some("due-at")),
            ("limits", Some("limit")),
            ("stauts", Some("status")),
            ("priority", None),
            ("", None),
        ] {
            assert_eq!(nearest(word, names), expected, "{word}");
        }
        assert_eq!(nearest(&"d".repeat(1_000_000), names), None);
    }
}

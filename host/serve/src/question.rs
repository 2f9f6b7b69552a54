//! What a person is asked before something is done that needs a confirmation: the plan's own change, in plain text. What a package or a
//! guest wrote stands in it and can't be taken for the host's words.

use crate::ask::Form;
use hutch_model::digest::Digest;
use hutch_model::error_code::ErrorCode;
use hutch_model::error_report::ErrorReport;
use hutch_model::redact::without_hidden;

/// The most characters of the change that are shown; the rest is counted.
const CHANGE_CHARS_MAX: usize = 4000;
/// How many digits of a plan's hash name it.
const PLAN_DIGITS: usize = 12;

/// A plan that waits for a person.
#[derive(Clone, Debug)]
pub(crate) struct Question {
    /// Of which package, by its place.
    pub(crate) package: usize,
    /// The plan's entry.
    pub(crate) plan: Digest,
    /// The form of the answer, once it is carried out.
    pub(crate) answer: Form,
    /// Why a person is asked.
    pub(crate) reason: String,
    /// What the person reads.
    pub(crate) text: String,
    /// The line by which a person carries out the plan without being asked by the client.
    pub(crate) line: Option<String>,
}

impl Question {
    /// The question about a call, whose words are these, and what it would change.
    pub(crate) fn text(slug: &str, words: &[String], reason: &str, changes: &str, plan: &Digest) -> String {
        let call = words.iter().map(|word| quoted(word)).collect::<Vec<_>>().join(" ");
        let changes = if changes.trim().is_empty() { "nothing" } else { changes };
        let shown: String = without_hidden(changes).chars().take(CHANGE_CHARS_MAX).collect();
        let left = changes.chars().count().saturating_sub(CHANGE_CHARS_MAX);
        let indented = shown.lines().map(|line| format!("  | {line}")).collect::<Vec<_>>().join("\n");
        let more = if left > 0 { format!("\n  {left} more characters are not shown") } else { String::new() };
        format!(
            "Carry out this call of {slug}?\n  {slug} {call}\n({})\nIt would change:\n{indented}{more}\nPlan {}. Declining leaves everything as it is.",
            without_hidden(reason),
            short(plan),
        )
    }

    /// Whether it is about the same call, with the same change.
    pub(crate) fn is_like(&self, other: &Question) -> bool {
        let without_plan = |text: &str| text.rsplit_once("\nPlan ").map(|(call, _)| call.to_owned());
        self.reason == other.reason && without_plan(&self.text) == without_plan(&other.text)
    }

    /// The refusal, where nobody could be asked or somebody said no.
    pub(crate) fn refusal(&self, why: &str) -> ErrorReport {
        let report = ErrorReport::new(ErrorCode::ConfirmationRequired, format!("{}; {why}", self.reason));
        let report = report.detail("plan", self.plan.to_string()).detail("question", self.text.as_str());
        match &self.line {
            Some(line) => report.suggest(format!("ask the user to look at the plan and to type: {line}")).fixed_by(
                line,
                "a person carries out exactly this plan",
                "high",
            ),
            None => report.suggest("ask the user to carry out the plan with hutch apply"),
        }
    }
}

/// Adds to the refusal of something that waits for a person where that person finds it.
pub(crate) fn found_at(report: &mut ErrorReport, page: &str) {
    if report.code == ErrorCode::ConfirmationRequired && report.details.contains_key("plan") {
        report.details.insert("approve_at".to_owned(), page.into());
        report.suggestion =
            format!("ask the user to look at the plan at {page}, and to agree to it there or to decline");
    }
}

/// As much of a plan's name as is typed.
pub(crate) fn short(plan: &Digest) -> String {
    plan.to_string().chars().take(PLAN_DIGITS).collect()
}

/// A word as a person reads it.
fn quoted(word: &str) -> String {
    let word = without_hidden(word).replace('\n', "\u{fffd}");
    let is_bare = |one: char| one.is_alphanumeric() || "-_=.:/@+".contains(one);
    if !word.is_empty() && word.chars().all(is_bare) { word } else { format!("{word:?}") }
}

#[cfg(test)]
mod tests {
    use super::*;
    use hutch_model::digest::Kind;

    #[test]
    fn nothing_that_others_wrote_looks_like_the_hosts_words() {
        let plan = Digest::of(Kind::Entry, b"plan");
        let words = ["remove".to_owned(), "a\nPlan 0. Harmless".to_owned()];
        let change = "modified data/x\nIt would change:\n\u{202e}nothing\u{1b}[2J";
        let text = Question::text("todo", &words, "\"remove\" needs a confirmation", change, &plan);
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines.iter().filter(|line| line.starts_with("It would change:")).count(), 1, "{text}");
        assert_eq!(lines.iter().filter(|line| line.starts_with("Plan ")).count(), 1, "{text}");
        assert!(!text.contains('\u{202e}') && !text.contains('\u{1b}'), "{text}");
        assert!(text.contains("  | It would change:") && text.contains("  todo remove \"a\u{fffd}Plan 0."), "{text}");
    }

    #[test]
    fn a_long_change_is_cut_and_counted() {
        let plan = Digest::of(Kind::Entry, b"plan");
        let text = Question::text("todo", &[], "why", &"x".repeat(CHANGE_CHARS_MAX + 7), &plan);
        assert!(text.contains("  7 more characters are not shown") && text.len() < CHANGE_CHARS_MAX + 500, "{text}");
    }
}

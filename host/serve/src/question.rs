//! What a person is asked before something is done that needs a confirmation: the plan's own change, in plain text. What a package or a
//! guest wrote stands in it and can't be taken for the host's words.

use crate::ask::Form;
use hutch::Answer;
use hutch_documents::diff::{FileDiff, for_people};
use hutch_model::digest::Digest;
use hutch_model::error_code::ErrorCode;
use hutch_model::error_report::ErrorReport;
use hutch_model::redact::without_hidden;
use std::sync::Arc;

/// The most characters of a change about which a client asks its user. Nobody agrees to what was cut: a longer one is asked about where all
/// of it is shown.
const ASKED_CHARS_MAX: usize = 4000;
/// The most characters of a text that a page shows: a change, or a question.
pub(crate) const SHOWN_CHARS_MAX: usize = 100_000;
/// The most characters of what an application says of a command.
const SAID_CHARS_MAX: usize = 300;
/// How many digits of a plan's hash name it.
const PLAN_DIGITS: usize = 12;

/// What a plan would change, in plain text.
#[derive(Clone, Debug)]
pub(crate) struct Change {
    text: Arc<str>,
    /// Whether something is changed that the text does not tell of.
    is_partial: bool,
}

impl Change {
    /// What a run changed, of which these are the differences.
    pub(crate) fn of(answer: &Answer, diffs: &[FileDiff]) -> Change {
        let mut text = for_people(diffs);
        let changed = answer.volumes.iter().chain(&answer.mounted);
        let omitted = changed.filter(|(_, volume)| volume.changes.omitted > 0);
        let omitted: Vec<String> =
            omitted.map(|(name, volume)| format!("\n{} more in {name}", volume.changes.omitted)).collect();
        text.extend(omitted.iter().map(String::as_str));
        // It waits in memory, and a page is to show it.
        let end = text.char_indices().nth(SHOWN_CHARS_MAX).map(|(end, _)| end);
        if let Some(end) = end {
            text.truncate(end);
        }
        let is_hidden = without_hidden(&text) != text;
        let is_partial = is_hidden || !omitted.is_empty() || end.is_some() || !diffs.iter().all(FileDiff::is_whole);
        Change { text: text.into(), is_partial }
    }

    /// Of which only the paths are known.
    pub(crate) fn of_paths(paths: &[String]) -> Change {
        Change { text: paths.join("\n").into(), is_partial: true }
    }

    pub(crate) fn text(&self) -> &str {
        &self.text
    }

    /// Whether all of it is told in so many characters.
    pub(crate) fn is_told_in(&self, chars_max: usize) -> bool {
        !self.is_partial && self.text.chars().nth(chars_max).is_none()
    }
}

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
    /// All of the change.
    pub(crate) change: Change,
    /// The lines by which a person looks at all of the change, and carries out the plan, without being asked by the client.
    pub(crate) lines: Lines,
}

/// Lines that a person types.
#[derive(Clone, Default, Debug)]
pub(crate) struct Lines {
    pub(crate) look: Option<String>,
    pub(crate) apply: Option<String>,
}

impl Question {
    /// The question about a call of an application, which says this of the command, whose words are these, and what it would change.
    pub(crate) fn text(
        (slug, said): (&str, Option<&str>),
        words: &[String],
        reason: &str,
        change: &Change,
        plan: &Digest,
    ) -> String {
        let call = words.iter().map(|word| quoted(word)).collect::<Vec<_>>().join(" ");
        let changes = if change.text.trim().is_empty() { "nothing" } else { &change.text };
        let shown = first_chars(&without_hidden(changes), ASKED_CHARS_MAX);
        let left = changes.chars().count().saturating_sub(ASKED_CHARS_MAX);
        let indented = shown.lines().map(|line| format!("  | {line}")).collect::<Vec<_>>().join("\n");
        let more = if left > 0 { format!("\n  {left} more characters are not shown") } else { String::new() };
        let said =
            said.map(|said| format!("{slug} says of it: {:?}\n", first_chars(&without_hidden(said), SAID_CHARS_MAX)));
        format!(
            "Carry out this call of {slug}?\n  {slug} {call}\n{}({})\nIt would change:\n{indented}{more}\nPlan {}. Declining leaves everything as it is.",
            said.unwrap_or_default(),
            without_hidden(reason),
            short(plan),
        )
    }

    /// Whether its text tells all that would change, so that a person may answer it as it stands.
    pub(crate) fn is_whole(&self) -> bool {
        self.change.is_told_in(ASKED_CHARS_MAX) && self.is_shown()
    }

    /// Whether a page shows all of it, and all that would change: a long call stands before the change, and would push it out.
    pub(crate) fn is_shown(&self) -> bool {
        self.change.is_told_in(SHOWN_CHARS_MAX) && self.text.chars().nth(SHOWN_CHARS_MAX).is_none()
    }

    /// The refusal, where all of the change must be seen first.
    pub(crate) fn too_long(&self) -> ErrorReport {
        let mut report = self.refusal("the call and what it would change are more than a question can show");
        if let (Some(look), Some(apply)) = (&self.lines.look, &self.lines.apply) {
            report.suggestion =
                format!("ask the user to look at the whole change with: {look} and then to type: {apply}");
        }
        report
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
        match &self.lines.apply {
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
        // Of what the page can't show, it says who agrees to it elsewhere.
        report.suggestion =
            format!("ask the user to look at the plan at {page}, which says how to agree to it or to decline");
    }
}

fn first_chars(text: &str, most: usize) -> String {
    text.chars().take(most).collect()
}

/// As much of a plan's name as is typed.
pub(crate) fn short(plan: &Digest) -> String {
    first_chars(&plan.to_string(), PLAN_DIGITS)
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
        let change = Change { text: change.into(), is_partial: false };
        let said = Some("Removes it\nPlan 1. Harmless \u{202e}");
        let text = Question::text(("todo", said), &words, "\"remove\" needs a confirmation", &change, &plan);
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines.iter().filter(|line| line.starts_with("It would change:")).count(), 1, "{text}");
        assert_eq!(lines.iter().filter(|line| line.starts_with("Plan ")).count(), 1, "{text}");
        assert!(!text.contains('\u{202e}') && !text.contains('\u{1b}'), "{text}");
        assert!(text.contains("  | It would change:") && text.contains("  todo remove \"a\u{fffd}Plan 0."), "{text}");
        assert!(text.contains("\ntodo says of it: \"Removes it\\nPlan 1. Harmless "), "{text}");
    }

    #[test]
    fn a_long_change_is_cut_and_counted() {
        let plan = Digest::of(Kind::Entry, b"plan");
        let change = |chars: usize| Change { text: "x".repeat(chars).into(), is_partial: false };
        let text = Question::text(("todo", None), &[], "why", &change(ASKED_CHARS_MAX + 7), &plan);
        assert!(text.contains("  7 more characters are not shown") && text.len() < ASKED_CHARS_MAX + 500, "{text}");
        // Nobody is asked about it in that form, nor about paths alone.
        assert!(change(ASKED_CHARS_MAX).is_told_in(ASKED_CHARS_MAX));
        assert!(!change(ASKED_CHARS_MAX + 1).is_told_in(ASKED_CHARS_MAX));
        assert!(!Change::of_paths(&["modified state/x".to_owned()]).is_told_in(SHOWN_CHARS_MAX));
    }

    #[test]
    fn nobody_agrees_to_a_call_that_is_longer_than_what_is_shown() {
        let plan = Digest::of(Kind::Entry, b"plan");
        let question = |chars: usize| {
            let (package, answer, reason, lines) = (0, Form::Bare, "why".to_owned(), Lines::default());
            let change = Change { text: "added state/x".into(), is_partial: false };
            let text = Question::text(("todo", None), &["/".repeat(chars)], &reason, &change, &plan);
            Question { package, plan, answer, reason, text, change, lines }
        };
        let around = question(0).text.chars().count();
        for (chars, expected) in [(7, true), (SHOWN_CHARS_MAX - around, true), (SHOWN_CHARS_MAX, false)] {
            let question = question(chars);
            assert_eq!((question.is_shown(), question.is_whole()), (expected, expected), "{chars}");
        }
    }
}

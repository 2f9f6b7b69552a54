//! How a run ended, as documents for programs and as words for people. Prints nothing.

use crate::call::guest;
use hutch::{Answer, SHOWN_BYTES_MAX, Shown};
use hutch_model::error_report::ErrorReport;

/// The host's report about a run that is not good.
/// A person is told elsewhere what the guest said.
pub(crate) fn failure_of(answer: &Answer, person: bool) -> Option<ErrorReport> {
    let failed = || if person { unsaid(answer, true) } else { answer.own_failure() };
    answer.bad_end().or_else(failed)
}

/// The host's report about a guest that ended with a failure of its own, if whoever asked would not learn it from the guest: it said
/// nothing, or a person asked, who is told everything alike.
pub(crate) fn unsaid(answer: &Answer, person: bool) -> Option<ErrorReport> {
    let report = answer.own_failure().filter(|_| person || answer.is_silent())?;
    Some(report.suggest(match answer.is_silent() {
        true => "it gives no reason: hutch meta says what it expects, and hutch state cat what it found",
        false => "mend what the application says, then make the call again",
    }))
}

/// What a guest said before it ended badly, for people: its own message first.
pub(crate) fn said(answer: &Answer) -> String {
    let outcome = &answer.outcome;
    let own = guest::error(&outcome.stdout, &outcome.stderr);
    let streams = [("standard output", &outcome.stdout, false), ("standard error", &outcome.stderr, true)];
    // A stream that holds the message and nothing else has been shown by it.
    let told = |on_stderr| own.as_ref().is_some_and(|own| own.alone && own.on_stderr == on_stderr);
    let parts = streams.into_iter().filter(|(_, bytes, on_stderr)| !bytes.trim_ascii().is_empty() && !told(*on_stderr));
    let parts = parts.map(|(name, bytes, _)| {
        let text = Shown::of(bytes, SHOWN_BYTES_MAX).text;
        format!("the guest's {name}:\n  {}", text.trim_end().replace('\n', "\n  "))
    });
    own.iter().map(guest::Said::for_people).chain(parts).collect::<Vec<_>>().join("\n")
}

//! What becomes of the rows that listings show when a command is called that changes something: what it does not name stays.

use super::Purpose;
use super::parts::Parts;
use super::prober::Prober;
use crate::describe::Command;
use crate::read;
use crate::target::{Options, Start, TargetError};
use serde_json::Value;
use std::collections::BTreeSet;
use std::iter;

/// The most listings that are looked at around each call.
const LISTINGS: usize = 8;

impl Prober<'_> {
    /// Calls every command that changes something, and keeps that, between the same listings.
    pub(super) fn rows(&mut self) -> Result<(), TargetError> {
        if !self.facts().may_change {
            return Ok(());
        }
        let mut listings = self.of_state()?;
        if listings.is_empty() {
            self.fill(true)?;
            listings = self.of_state()?;
        }
        if listings.is_empty() {
            return Ok(());
        }
        let mut listed = false;
        for (at, command, parts) in self.changing() {
            let needs = self.needs(at);
            let options = Options { keep: true, confirmed: true, ..self.ready(at)? };
            // On the state before all calls there is nothing to lose, and keeping that would lose everything.
            if options.start == Start::Initial {
                listed = false;
                continue;
            }
            if needs || !listed {
                self.list(&listings)?;
                listed = true;
            }
            let args = self.confirmed(&command, &parts);
            let seen = self.call(Purpose::Kept, Some(at), "", args, &options)?;
            if seen.unchanged() != Some(true) {
                self.list(&listings)?;
            }
        }
        Ok(())
    }

    /// The calls of commands that change something, each without options and with those that worked. What takes something out comes last,
    /// and only if it is told what.
    fn changing(&self) -> Vec<(usize, Command, Parts)> {
        let changing = self.reached().into_iter().filter(|(_, command, _)| !command.is_reading());
        let (destroying, writing): (Vec<_>, Vec<_>) = changing.partition(|(_, command, _)| command.is_destructive());
        let is_told = |(_, command, _): &(usize, Command, Parts)| {
            command.parameters.iter().any(|parameter| parameter.required && !parameter.is_switch())
        };
        let each = |(at, command, parts): (usize, Command, Parts)| {
            let more = self.with_options.iter().filter(|(of, _)| *of == at).map(|(_, parts)| parts.clone());
            let calls = iter::once(parts).chain(more);
            calls.map(|parts| (at, command.clone(), parts)).collect::<Vec<_>>()
        };
        writing.into_iter().chain(destroying.into_iter().filter(is_told)).flat_map(each).collect()
    }

    /// The calls that list what was filled in: they ask for nothing by name, and show other rows than at first.
    fn of_state(&mut self) -> Result<Vec<(usize, Vec<String>)>, TargetError> {
        let mut listings = Vec::new();
        for (at, command, parts) in self.reached() {
            let named = command.parameters.iter().any(|parameter| parameter.required);
            if !command.is_reading() || named || listings.len() >= LISTINGS {
                continue;
            }
            let mut shown = Vec::new();
            for start in [Start::Initial, Start::Current] {
                let options = Options { start, ..Options::default() };
                let seen = self.make_one(Purpose::Rows, &parts.args(), &options)?;
                let answer = seen.and_then(|seen| read::document(&seen.stdout)).unwrap_or_default();
                shown.push(read::rows(&answer).cloned().unwrap_or_default());
            }
            if shown.first() != shown.last() && shown.last().is_some_and(|rows| !rows.is_empty()) {
                listings.push((at, parts.args()));
            }
        }
        Ok(listings)
    }

    fn list(&mut self, listings: &[(usize, Vec<String>)]) -> Result<(), TargetError> {
        for (at, args) in listings {
            self.call(Purpose::Rows, Some(*at), "", args.clone(), &Options::default())?;
        }
        Ok(())
    }
}

/// A call between two listings.
pub(super) struct Call<'c> {
    pub(super) args: &'c [String],
    /// What callers wrote until then.
    pub(super) written: &'c BTreeSet<&'c str>,
    /// Whether it is there to take something out.
    pub(super) destroys: bool,
}

/// Whether a row that the call does not name is gone, or lacks a text that somebody wrote in it. What else is in a row may follow from
/// others. A row may be gone from a part of all rows if as many are shown. Where nothing tells rows apart, whether all of several are gone.
pub(super) fn are_lost(before: &[Value], (after, is_part): (&[Value], bool), call: &Call<'_>) -> bool {
    if before.iter().all(|row| identity(row).is_none()) {
        return !call.destroys && after.is_empty() && before.len() > 1;
    }
    let is_named = |row: &Value| scalars(row).iter().any(|own| call.args.contains(own));
    // What it was told to take out is shown elsewhere.
    if call.destroys && !before.iter().any(is_named) {
        return false;
    }
    let is_lost = |row: &Value| {
        let Some(own) = identity(row) else { return false };
        let left: Vec<&Value> = after.iter().filter(|row| identity(row).as_ref() == Some(&own)).collect();
        if left.is_empty() {
            return !is_part || after.len() < before.len();
        }
        let texts: Vec<&str> = left.into_iter().flat_map(read::texts).collect();
        read::texts(row).into_iter().any(|text| call.written.contains(text) && !texts.contains(&text))
    };
    before.iter().any(|row| !is_named(row) && is_lost(row))
}

/// Whether an answer says that there are more rows than it shows.
pub(super) fn is_part(answer: &Value) -> bool {
    let says = |value: &Value| ["has_more", "hasMore"].iter().any(|key| value.get(*key) == Some(&Value::Bool(true)));
    says(answer) || answer.get("result").is_some_and(says)
}

/// Whether a word of a call may be what it writes: no flag, and too long to be there by chance.
pub(super) fn is_content(word: &str) -> bool {
    const SHORTEST: usize = 3;
    !word.starts_with("--") && word.chars().count() >= SHORTEST
}

/// Every text and every number in a row.
fn scalars(row: &Value) -> Vec<String> {
    match row {
        Value::String(text) => vec![text.trim().to_owned()],
        Value::Number(number) => vec![number.to_string()],
        Value::Array(values) => values.iter().flat_map(scalars).collect(),
        Value::Object(fields) => fields.values().flat_map(scalars).collect(),
        Value::Null | Value::Bool(_) => Vec::new(),
    }
}

/// What tells a row apart from others.
fn identity(row: &Value) -> Option<String> {
    const NAMES: [&str; 5] = ["id", "uid", "name", "title", "path"];
    let own = NAMES.iter().find_map(|name| row.get(*name))?;
    (own.is_string() || own.is_number()).then(|| own.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    /// The rows before and after, and whether those are a part of all; the call, whether it is there to destroy.
    fn lost(before: &Value, after: Value, is_part: bool, call: &[&str], destroys: bool) -> bool {
        let rows = |value: &Value| value.as_array().cloned().unwrap_or_default();
        let args: Vec<String> = call.iter().map(|word| (*word).to_owned()).collect();
        let written = BTreeSet::from(["milk", "bread"]);
        are_lost(&rows(before), (&rows(&after), is_part), &Call { args: &args, written: &written, destroys })
    }

    #[test]
    fn rows_are_lost_that_are_gone_and_that_the_call_does_not_name() {
        let two = json!([{"id": 1, "text": "milk"}, {"id": 2, "text": "bread"}]);
        assert!(lost(&two, json!([]), false, &["reset"], false));
        assert!(lost(&two, json!([{"id": 1}]), false, &["tidy", "1"], false));
        assert!(!lost(&two, json!([{"id": 1, "text": "milk"}]), false, &["complete", "2"], false));
        assert!(!lost(&two, two.clone(), false, &["add"], false));
        // As many as before are others.
        let others = json!([{"id": 2, "text": "bread"}, {"id": 3, "text": "c"}]);
        assert!(lost(&two, others.clone(), false, &["add", "c"], false));
        assert!(!lost(&two, others, true, &["add", "c"], false));
        let days = json!([{"from": 1, "to": 2}, {"from": 3, "to": 4}]);
        assert!(lost(&days, json!([]), false, &["add"], false));
        assert!(!lost(&days, json!([{"from": 3, "to": 4}]), false, &["add"], false));
    }

    #[test]
    fn what_somebody_wrote_in_a_row_is_lost_and_what_follows_from_others_is_not() {
        let two = json!([{"id": 1, "text": "milk", "after": "x"}, {"id": 2, "text": "bread", "after": "milk"}]);
        let scrubbed = json!([{"id": 1, "text": "", "after": "x"}, {"id": 2, "text": "", "after": "milk"}]);
        assert!(lost(&two, scrubbed.clone(), false, &["tidy"], false));
        assert!(lost(&two, scrubbed, false, &["edit", "1"], false));
        let moved = json!([{"id": 1, "text": "milk", "after": "bread"}, {"id": 2, "text": "bread", "after": "milk"}]);
        assert!(!lost(&two, moved, false, &["sort"], false));
    }

    #[test]
    fn what_is_destroyed_is_what_the_call_names() {
        let two = json!([{"id": "n1", "text": "milk"}, {"id": "n2", "text": "bread", "of": "n1"}, {"id": "n3"}]);
        assert!(lost(&two, json!([]), false, &["remove", "n1"], true));
        assert!(!lost(&two, json!([{"id": "n3"}]), false, &["remove", "n1"], true));
        // What it names is not in this listing.
        assert!(!lost(&two, json!([]), false, &["purge", "work"], true));
    }

    #[test]
    fn a_page_says_that_there_is_more() {
        for (answer, part) in [
            (json!({"has_more": true, "items": []}), true),
            (json!({"result": {"hasMore": true}}), true),
            (json!({"has_more": false}), false),
            (json!([]), false),
        ] {
            assert_eq!(is_part(&answer), part, "{answer}");
        }
        assert!(is_content("milk") && !is_content("--limit") && !is_content("10"));
    }
}

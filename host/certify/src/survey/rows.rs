//! What becomes of the rows that listings show when a command is called that says that it takes nothing out.

use super::Purpose;
use super::prober::Prober;
use crate::read;
use crate::target::{Options, Start, TargetError};
use serde_json::Value;

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
        for (at, command, parts) in self.reached() {
            if command.is_reading() || command.is_destructive() {
                continue;
            }
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

/// Whether there are fewer rows, and among those that are gone one that the call does not name. Where nothing tells rows apart, whether
/// all of several are gone.
pub(super) fn are_lost(before: &[Value], after: &[Value], call: &[String]) -> bool {
    if after.len() >= before.len() {
        return false;
    }
    if before.iter().all(|row| identity(row).is_none()) {
        return after.is_empty() && before.len() > 1;
    }
    let left: Vec<String> = after.iter().filter_map(identity).collect();
    let is_named = |row: &Value| {
        let mut texts = Vec::new();
        read::identifiers(row, &mut texts);
        texts.extend(read::texts(row).into_iter().map(str::to_owned));
        texts.iter().any(|text| call.contains(text))
    };
    before.iter().any(|row| identity(row).is_some_and(|own| !left.contains(&own)) && !is_named(row))
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

    #[test]
    fn rows_are_lost_that_are_gone_and_that_the_call_does_not_name() {
        let rows = |value: Value| value.as_array().cloned().unwrap_or_default();
        let lost = |before: Value, after: Value, call: &[&str]| {
            let call: Vec<String> = call.iter().map(|word| (*word).to_owned()).collect();
            are_lost(&rows(before), &rows(after), &call)
        };
        let two = json!([{"id": 1, "text": "a"}, {"id": 2, "text": "b"}]);
        assert!(lost(two.clone(), json!([]), &["reset"]));
        assert!(lost(two.clone(), json!([{"id": 1}]), &["tidy", "1"]));
        assert!(!lost(two.clone(), json!([{"id": 1}]), &["complete", "2"]));
        assert!(!lost(two.clone(), json!([{"id": 2}, {"id": 3}]), &["add", "c"]));
        assert!(!lost(two.clone(), two, &["add"]));
        let days = json!([{"from": 1, "to": 2}, {"from": 3, "to": 4}]);
        assert!(lost(days.clone(), json!([]), &["add"]));
        assert!(!lost(days, json!([{"from": 3, "to": 4}]), &["add"]));
    }
}

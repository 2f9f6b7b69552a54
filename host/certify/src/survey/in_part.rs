//! Answers that were just given whole, asked for in part: two fields of each row, one row of many.

use super::Purpose;
use super::prober::Prober;
use crate::read;
use crate::target::TargetError;
use serde_json::Value;

impl Prober<'_> {
    /// Asks every command that reads for its answer, then for parts of it.
    pub(super) fn in_part(&mut self) -> Result<(), TargetError> {
        for (at, command, parts) in self.reached() {
            if !command.is_reading() {
                continue;
            }
            let options = self.ready(at)?;
            let parts = parts.confirmed(&self.description, &command);
            let whole = self.call(Purpose::Whole, Some(at), "", parts.args(), &options)?;
            // Of what is another answer each time there are no parts.
            let again = self.make_one(Purpose::Whole, &parts.args(), &options)?;
            if again.is_none_or(|again| again.stdout != whole.stdout) {
                continue;
            }
            let answer = read::document(&whole.stdout).unwrap_or_default();
            if let Some(two) = two_fields(&answer) {
                let args = parts.args_with(&["--fields", &two]);
                self.call(Purpose::TwoFields, Some(at), &two, args, &options)?;
            }
            let limit = self.description.parameter(&command, "limit");
            let counts = limit.is_some_and(|it| matches!(it.kind.as_deref(), Some("integer" | "int")));
            if counts && read::rows(&answer).is_some_and(|rows| rows.len() > 1) {
                let args = parts.without("limit").args_with(&["--limit", "1"]);
                self.call(Purpose::OneRow, Some(at), "", args, &options)?;
            }
        }
        Ok(())
    }
}

/// The last two fields that all rows have, else those of the result.
fn two_fields(answer: &Value) -> Option<String> {
    let rows = match read::items(answer) {
        Some(rows) => rows.as_slice(),
        None => std::slice::from_ref(answer.get("result")?),
    };
    let is_plain = |key: &&String| key.chars().all(|c| c.is_ascii_alphanumeric() || "-_".contains(c));
    let in_all = |key: &&String| rows.iter().all(|row| row.get(key.as_str()).is_some());
    let mut keys = rows.first()?.as_object()?.keys().rev().filter(is_plain).filter(in_all);
    Some(format!("{},{}", keys.next()?, keys.next()?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn two_fields_are_of_all_rows_or_of_the_result() {
        for (answer, expect) in [
            (json!({"items": [{"a": 1, "b": 2, "c": 3}, {"a": 1, "b": 2}]}), Some("b,a")),
            (json!({"result": {"a": 1, "b": 2, "c,d": 3}}), Some("b,a")),
            (json!({"items": [{"a": 1}]}), None),
            (json!({"items": []}), None),
            (json!({"result": {"items": [], "total": 0}}), None),
            (json!({"a": 1, "b": 2}), None),
        ] {
            assert_eq!(two_fields(&answer).as_deref(), expect, "{answer}");
        }
    }
}

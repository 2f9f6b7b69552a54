//! Batches on standard input: in the forms that are known, from a listing, too large, and malformed.

use super::Purpose;
use super::parts::Parts;
use super::prober::Prober;
use crate::describe::Command;
use crate::read;
use crate::target::{Options, Stdin, TargetError};
use serde_json::{Value, json};

/// More entries than any batch may have.
const TOO_MANY: usize = 20_000;

impl Prober<'_> {
    /// Every command that takes `--json-input`.
    pub(super) fn batches(&mut self) -> Result<(), TargetError> {
        if !self.facts().may_change {
            return Ok(());
        }
        let mut listings = Vec::new();
        for (_, command, parts) in self.reached() {
            if command.is_reading() {
                listings.push(parts.args());
            }
        }
        let commands: Vec<(usize, Command)> = self
            .commands()
            .into_iter()
            .filter(|(_, command)| self.description.parameter(command, "json-input").is_some())
            .collect();
        for (at, command) in commands {
            let parts = match self.valid.get(&at) {
                Some(parts) => parts.clone(),
                None => self.values.required_only(&command, 0),
            };
            if !command.is_reading() {
                let options = Options { confirmed: true, ..Options::default() };
                self.call(Purpose::BatchAlone, Some(at), "", self.confirmed(&command, &parts), &options)?;
            }
            let mut form = None;
            for (nth, (bare, entry)) in self.entries(&command, &parts).into_iter().enumerate() {
                let seen = self.batch(Purpose::Batch, at, &command, &bare, &json!([entry.clone()]).to_string())?;
                if seen.status == Some(0) && form.is_none() {
                    form = Some((nth, bare, entry));
                }
            }
            let Some((nth, bare, entry)) = form else { continue };
            let text = command.parameters.iter().find(|parameter| parameter.free_text && !command.is_reading());
            let others = text.map(|text| self.entries(&command, &parts.replaced(text, &self.word("other entry"))));
            // Under the same bare arguments, or it is another call.
            let other = others.and_then(|others| others.into_iter().nth(nth)).filter(|(own, _)| *own == bare);
            if let Some((_, other)) = other {
                self.batch(Purpose::BatchOther, at, &command, &bare, &json!([other.clone()]).to_string())?;
                self.batch(Purpose::BatchOfTwo, at, &command, &bare, &json!([entry.clone(), other]).to_string())?;
            }
            let many = Value::Array(vec![entry; TOO_MANY]).to_string();
            self.batch(Purpose::BatchTooLarge, at, &command, &bare, &many)?;
            let malformed = format!("[{{\"{}", self.word("malformed"));
            self.batch(Purpose::BatchMalformed, at, &command, &bare, &malformed)?;
            if command.is_reading() {
                continue;
            }
            for args in listings.clone() {
                let shown = self.call(Purpose::Listing, None, "", args, &Options::default())?;
                let Some(answer) = read::document(&shown.stdout) else { continue };
                let rows = read::rows(&answer).cloned().unwrap_or_default();
                // As somebody would who pipes examples: those that are there to fail are left out.
                let fails = |row: &Value| row.get("exit_status").is_some_and(|status| *status != json!(0));
                let rows: Vec<Value> = rows.into_iter().filter(|row| !fails(row)).collect();
                if !rows.is_empty() {
                    self.batch(Purpose::BatchChained, at, &command, &bare, &Value::Array(rows).to_string())?;
                }
            }
        }
        Ok(())
    }

    fn batch(
        &mut self,
        purpose: Purpose,
        at: usize,
        command: &Command,
        bare: &[String],
        input: &str,
    ) -> Result<crate::target::Observation, TargetError> {
        let parts = Parts { words: command.words.clone(), bare: bare.to_vec(), flags: Vec::new() };
        let args = self.confirmed(command, &parts.with("json-input", None));
        let options = Options { stdin: Stdin::Bytes(input.as_bytes().to_vec()), confirmed: true, ..Options::default() };
        self.call(purpose, Some(at), "", args, &options)
    }

    /// One entry of a batch, in each known form: an object of parameters, the arguments, an object that holds the arguments. With
    /// each the bare arguments that stand on the command line: none, or those that every entry has in common.
    fn entries(&self, command: &Command, parts: &Parts) -> Vec<(Vec<String>, Value)> {
        let mut object = serde_json::Map::new();
        let mut bare = parts.bare.iter();
        for parameter in command.positional() {
            let most = if parameter.repeated { usize::MAX } else { 1 };
            bare.by_ref().take(most).for_each(|value| give(&mut object, &parameter.name, Value::from(value.clone())));
        }
        for (name, value) in parts.flags.iter().filter(|(name, _)| name != "json-input") {
            give(&mut object, name, value.clone().map_or(Value::Bool(true), Value::from));
        }
        if object.is_empty() {
            let first = command.parameters.iter().find(|parameter| !parameter.is_switch());
            object.extend(first.map(|first| (first.name.clone(), Value::from(self.values.of(first, 0)))));
        }
        let own: Vec<String> = parts.args().into_iter().skip(command.words.len()).collect();
        let mut entries: Vec<(Vec<String>, Value)> =
            [Value::Object(object), json!(own), json!({ "args": own }), json!(parts.args())]
                .into_iter()
                .map(|entry| (Vec::new(), entry))
                .collect();
        let common =
            command.positional().iter().take_while(|parameter| parameter.required && !parameter.repeated).count();
        if common > 0 && common < parts.bare.len() {
            let (common, rest) = parts.bare.split_at(common);
            entries.push((common.to_vec(), json!(rest)));
            entries.push((common.to_vec(), json!({ "arguments": rest })));
        }
        entries
    }
}

/// Gives a parameter a value; of one that has some already, all are a list. A switch is on once.
fn give(object: &mut serde_json::Map<String, Value>, name: &str, value: Value) {
    match object.get_mut(name) {
        None => drop(object.insert(name.to_owned(), value)),
        Some(_) if value.is_boolean() => {}
        Some(Value::Array(values)) => values.push(value),
        Some(first) => *first = json!([first.take(), value]),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_given_more_than_once_is_a_list() {
        let mut object = serde_json::Map::new();
        for (name, value) in [("to", "a"), ("posting", "x"), ("posting", "y"), ("posting", "z")] {
            give(&mut object, name, value.into());
        }
        give(&mut object, "all", true.into());
        give(&mut object, "all", true.into());
        assert_eq!(Value::Object(object), json!({"to": "a", "posting": ["x", "y", "z"], "all": true}));
    }
}

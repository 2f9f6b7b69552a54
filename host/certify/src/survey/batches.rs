//! Batches on standard input: in the forms that are known, from a listing, too large, and malformed.

use super::Purpose;
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
            let named = command.parameters.iter().any(|parameter| parameter.required);
            if command.is_reading() && !named {
                listings.push(parts.args());
            }
        }
        let commands: Vec<(usize, Command)> = self
            .commands()
            .into_iter()
            .filter(|(_, command)| self.description.parameter(command, "json-input").is_some())
            .collect();
        for (at, command) in commands {
            let mut form = None;
            for (nth, entry) in self.entries(at, &command).into_iter().enumerate() {
                let seen = self.batch(Purpose::Batch, at, &command, &json!([entry.clone()]).to_string())?;
                if seen.status == Some(0) && form.is_none() {
                    form = Some((nth, entry));
                }
            }
            let Some((_, entry)) = form else { continue };
            let many = Value::Array(vec![entry; TOO_MANY]).to_string();
            self.batch(Purpose::BatchTooLarge, at, &command, &many)?;
            self.batch(Purpose::BatchMalformed, at, &command, "[{\"")?;
            if command.is_reading() {
                continue;
            }
            for args in listings.clone() {
                let shown = self.call(Purpose::Again, None, "listing", args, &Options::default())?;
                let Some(answer) = read::document(&shown.stdout) else { continue };
                let rows = read::rows(&answer).filter(|rows| !rows.is_empty()).cloned();
                if let Some(rows) = rows {
                    self.batch(Purpose::BatchChained, at, &command, &Value::Array(rows).to_string())?;
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
        input: &str,
    ) -> Result<crate::target::Observation, TargetError> {
        let parts = super::parts::Parts { words: command.words.clone(), ..Default::default() };
        let args = self.confirmed(command, &parts.with("json-input", None));
        let options = Options { stdin: Stdin::Bytes(input.as_bytes().to_vec()), confirmed: true, ..Options::default() };
        self.call(purpose, Some(at), "", args, &options)
    }

    /// One entry of a batch, in each known form: an object of parameters, the arguments, an object that holds the arguments.
    fn entries(&self, at: usize, command: &Command) -> Vec<Value> {
        let parts = match self.valid.get(&at) {
            Some(parts) => parts.clone(),
            None => self.values.required_only(command, 0),
        };
        let mut object = serde_json::Map::new();
        for (parameter, value) in command.positional().into_iter().zip(&parts.bare) {
            object.insert(parameter.name.clone(), Value::from(value.clone()));
        }
        for (name, value) in parts.flags.iter().filter(|(name, _)| name != "json-input") {
            object.insert(name.clone(), value.clone().map_or(Value::Bool(true), Value::from));
        }
        if object.is_empty() {
            let first = command.parameters.iter().find(|parameter| !parameter.is_switch());
            object.extend(first.map(|first| (first.name.clone(), Value::from(self.values.of(first, 0)))));
        }
        let own: Vec<String> = parts.args().into_iter().skip(command.words.len()).collect();
        vec![Value::Object(object), json!(own), json!({ "args": own }), json!(parts.args())]
    }
}

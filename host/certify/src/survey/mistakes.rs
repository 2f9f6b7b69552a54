//! Calls that must be refused: arguments that are missing, unknown, of the wrong type, or name nothing.

use super::Purpose;
use super::parts::Parts;
use super::prober::Prober;
use crate::describe::{Example, Parameter};
use crate::target::{Options, Stdin, TargetError};

impl Prober<'_> {
    /// Every mistake, for every command.
    pub(super) fn mistakes(&mut self) -> Result<(), TargetError> {
        let no_flag = format!("--{}", self.word("flag"));
        if self.description.commands.is_empty() {
            self.plain(Purpose::UnknownFlag, &[&no_flag])?;
            return Ok(());
        }
        self.plain(Purpose::UnknownCommand, &[&self.word("command")])?;
        // Not of any type but text, and no choice of anything; and beyond every integer.
        let no_value = self.word("no value");
        let too_large = format!("{:020}{:020}", u64::MAX, self.facts().draws.below("too large", u64::MAX));
        let mut first = true;
        for (at, command) in self.commands() {
            let options = Options { confirmed: true, ..self.ready(at)? };
            let words = &command.words;
            let parts = self.valid.get(&at).cloned();
            let bare = Parts { words: words.clone(), ..Parts::default() };
            let args = self.confirmed_with(&command, parts.as_ref().unwrap_or(&bare), &[&no_flag]);
            self.call(Purpose::UnknownFlag, Some(at), "", args, &options)?;
            if command.parameters.iter().any(|parameter| parameter.required) {
                let args = self.confirmed(&command, &bare);
                self.call(Purpose::MissingRequired, Some(at), "", args.clone(), &options)?;
                self.call(Purpose::MissingAgain, Some(at), "", args.clone(), &options)?;
                let answers = Stdin::Bytes(b"y\nyes\nprobe\n".to_vec());
                let answered = Options { stdin: answers, ..options.clone() };
                self.call(Purpose::MissingAnswered, Some(at), "", args, &answered)?;
            }
            let alone = |example: &&Example| !example.succeeds() && example.before.is_empty();
            for example in command.examples.iter().filter(alone) {
                let status = example.status.unwrap_or_default().to_string();
                self.call(Purpose::FailingExample, Some(at), &status, example.args.clone(), &options)?;
            }
            let Some(parts) = parts else { continue };
            if !command.positional().iter().any(|parameter| parameter.repeated) {
                let mut parts = parts.clone();
                while parts.bare.len() < command.positional().len() {
                    parts.bare.push("probe".to_owned());
                }
                parts.bare.push(self.word("one too many"));
                let args = self.confirmed(&command, &parts);
                self.call(Purpose::ExtraArgument, Some(at), "", args, &options)?;
            }
            let mut parameters = command.parameters.clone();
            if first {
                parameters.extend(self.description.parameters.clone());
            }
            first = false;
            for parameter in &parameters {
                if is_typed(parameter) {
                    let args = self.confirmed(&command, &parts.replaced(parameter, &no_value));
                    self.call(Purpose::WrongType, Some(at), &parameter.name, args, &options)?;
                }
                if matches!(parameter.kind.as_deref(), Some("integer" | "int")) {
                    let args = self.confirmed(&command, &parts.replaced(parameter, &too_large));
                    self.call(Purpose::Overflow, Some(at), &parameter.name, args, &options)?;
                }
                if parameter.is_identifier() {
                    let args = self.confirmed(&command, &parts.replaced(parameter, &self.values.absent()));
                    self.call(Purpose::Absent, Some(at), &parameter.name, args, &options)?;
                }
            }
        }
        Ok(())
    }
}

/// Whether there are values that it can't take.
fn is_typed(parameter: &Parameter) -> bool {
    let typed = ["integer", "int", "number", "float", "date", "instant", "date-or-instant", "datetime"];
    !parameter.is_switch()
        && (!parameter.choices.is_empty() || parameter.kind.as_deref().is_some_and(|kind| typed.contains(&kind)))
}

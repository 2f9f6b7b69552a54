//! Calls that must be refused: arguments that are missing, unknown, of the wrong type, or name nothing.

use super::Purpose;
use super::parts::Parts;
use super::prober::Prober;
use crate::describe::{Command, Example, Parameter};
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
            for fewer in each_missing(&command, &parts) {
                let args = self.confirmed(&command, &fewer);
                self.call(Purpose::MissingRequired, Some(at), "", args, &options)?;
            }
            for parameter in &parameters {
                if parameter.position.is_none() && !parameter.is_switch() {
                    let mut parts = parts.without(&parameter.name);
                    // What stands after several bare arguments may be one of them.
                    if command.positional().iter().any(|it| it.repeated) {
                        parts.bare.clear();
                    }
                    let mut args = self.confirmed(&command, &parts);
                    let flag = format!("--{}", parameter.name);
                    args.push(flag.clone());
                    self.call(Purpose::MissingValue, Some(at), &flag, args, &options)?;
                }
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

/// The call without one of several required parameters, for each of them; of the bare ones without the last, because those after another would
/// take its place.
fn each_missing(command: &Command, parts: &Parts) -> Vec<Parts> {
    let required: Vec<&Parameter> =
        command.parameters.iter().filter(|parameter| parameter.required && !parameter.is_switch()).collect();
    if required.len() < 2 {
        return Vec::new();
    }
    let bare = required.iter().filter(|parameter| parameter.position.is_some()).count();
    let flags = required.into_iter().filter(|parameter| parameter.position.is_none());
    let flags = flags.map(|parameter| parts.without(&parameter.name));
    let last = bare.checked_sub(1).map(|fewer| {
        let mut parts = parts.clone();
        parts.bare.truncate(fewer);
        parts
    });
    flags.chain(last).collect()
}

/// Whether there are values that it can't take.
fn is_typed(parameter: &Parameter) -> bool {
    let typed = ["integer", "int", "number", "float", "date", "instant", "date-or-instant", "datetime"];
    !parameter.is_switch()
        && (!parameter.choices.is_empty() || parameter.kind.as_deref().is_some_and(|kind| typed.contains(&kind)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_several_required_parameters_each_is_left_out() {
        let required = |name: &str, position: Option<u32>| Parameter {
            name: name.to_owned(),
            position,
            required: true,
            ..Parameter::default()
        };
        let flag = |name: &str| (name.to_owned(), Some("x".to_owned()));
        let command = Command {
            parameters: vec![required("from", Some(0)), required("to", Some(1)), required("at", None)],
            ..Command::default()
        };
        let bare = vec!["a".to_owned(), "b".to_owned()];
        let parts = Parts { bare, flags: vec![flag("at"), flag("note")], ..Parts::default() };
        let fewer: Vec<Vec<String>> = each_missing(&command, &parts).iter().map(Parts::args).collect();
        assert_eq!(fewer, [vec!["--note", "x", "a", "b"], vec!["--at", "x", "--note", "x", "a"]]);
        let one = Command { parameters: vec![required("from", Some(0))], ..Command::default() };
        assert!(each_missing(&one, &parts).is_empty());
    }
}

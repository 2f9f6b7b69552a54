//! A description that is kept in a compact form, of which a call reads the commands that it may mean and no others.

use super::{Command, Contract, Effect, Example, Failure, Parameter};
use crate::kept::{bytes, json, keep, recall};
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// A description of commands, kept.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct KeptContract {
    name: String,
    version: String,
    parameters: Vec<Parameter>,
    commands: Vec<KeptCommand>,
    #[serde(with = "bytes")]
    rest: Vec<u8>,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
struct KeptCommand {
    name: String,
    confirmation_required: bool,
    #[serde(with = "bytes")]
    judging: Vec<u8>,
    #[serde(with = "bytes")]
    rest: Vec<u8>,
}

/// What a call is judged by.
#[derive(Serialize, Deserialize)]
struct Judging {
    parameters: Vec<Parameter>,
    effect: Effect,
    idempotent: bool,
}

/// What no call is judged by.
#[derive(Serialize, Deserialize)]
struct Rest {
    description: String,
    #[serde(with = "json")]
    output_schema: Value,
    errors: Vec<String>,
    examples: Vec<Example>,
}

impl KeptContract {
    /// Keeps a description; `None` if it would not come back as it is.
    pub fn of(contract: &Contract) -> Option<KeptContract> {
        let kept = KeptContract {
            name: contract.name.clone(),
            version: contract.version.clone(),
            parameters: contract.parameters.clone(),
            commands: contract.commands.iter().map(KeptCommand::of).collect::<Option<_>>()?,
            rest: keep(&(&contract.summary, &contract.errors))?,
        };
        (kept.whole().as_ref() == Some(contract)).then_some(kept)
    }

    /// The whole description.
    pub fn whole(&self) -> Option<Contract> {
        let (summary, errors): (String, Vec<Failure>) = recall(&self.rest)?;
        let mut whole = Contract { summary, errors, ..self.judging(|_| true)? };
        for (command, kept) in whole.commands.iter_mut().zip(&self.commands) {
            let Rest { description, output_schema, errors, examples } = recall(&kept.rest)?;
            *command = Command { description, output_schema, errors, examples, ..command.clone() };
        }
        Some(whole)
    }

    /// As much of the description as a call with these words is judged by: the parameters of the commands that a word of it begins, and
    /// of those that need a confirmation, because a call that is not certain may mean any of them. Whoever finds no command in it
    /// needs the whole, to say which there are. What describes, and what an answer is held to, is left empty.
    pub fn judging_call(&self, words: &[&str]) -> Option<Contract> {
        let begun = |name: &str| name.split(' ').next().is_some_and(|first| words.contains(&first));
        self.judging(|command| command.confirmation_required || begun(&command.name))
    }

    fn judging(&self, wanted: impl Fn(&KeptCommand) -> bool) -> Option<Contract> {
        let commands = self.commands.iter().filter(|command| wanted(command)).map(KeptCommand::judging);
        Some(Contract {
            name: self.name.clone(),
            version: self.version.clone(),
            summary: String::new(),
            parameters: self.parameters.clone(),
            commands: commands.collect::<Option<_>>()?,
            errors: Vec::new(),
        })
    }
}

impl KeptCommand {
    fn of(command: &Command) -> Option<KeptCommand> {
        let Command {
            name,
            description,
            parameters,
            effect,
            idempotent,
            confirmation_required,
            output_schema,
            errors,
            examples,
        } = command.clone();
        Some(KeptCommand {
            name,
            confirmation_required,
            judging: keep(&Judging { parameters, effect, idempotent })?,
            rest: keep(&Rest { description, output_schema, errors, examples })?,
        })
    }

    fn judging(&self) -> Option<Command> {
        let Judging { parameters, effect, idempotent } = recall(&self.judging)?;
        Some(Command {
            name: self.name.clone(),
            description: String::new(),
            parameters,
            effect,
            idempotent,
            confirmation_required: self.confirmation_required,
            output_schema: Value::Null,
            errors: Vec::new(),
            examples: Vec::new(),
        })
    }
}

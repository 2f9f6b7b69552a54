//! Calls the target, and keeps count. Finds for each command one call that is valid: the others are made from it.

use super::parts::{Parts, Values};
use super::{Found, Probe, Purpose};
use crate::describe::{Command, Description};
use crate::read;
use crate::target::{Facts, Observation, Options, Start, Target, TargetError};
use serde_json::Value;
use std::collections::{BTreeMap, HashMap};

/// Guesses at one valid call.
const GUESSES_MAX: usize = 6;
/// Calls of each command that fill the state.
const SEVERAL: usize = 2;

/// What a command's own help says of the program, and of every command.
const ABOUT_THE_PROGRAM: [&str; 7] =
    ["schema", "version", "rules", "skills", "issue", "global_parameters", "exit_statuses"];

/// What a call begins with.
#[derive(Clone, Debug, Default, PartialEq)]
struct Begin {
    start: Start,
    /// Calls that make what it needs; they are kept.
    before: Vec<Vec<String>>,
}

pub(super) struct Prober<'t> {
    target: &'t mut dyn Target,
    facts: Facts,
    pub(super) description: Description,
    pub(super) values: Values,
    /// For each command the parts of its valid call, without confirmations.
    pub(super) valid: HashMap<usize, Parts>,
    /// Valid calls with options that changed something, without confirmations.
    pub(super) with_options: Vec<(usize, Parts)>,
    /// What a command's valid call begins with, where that is not just any state.
    begins: HashMap<usize, Begin>,
    probes: Vec<Probe>,
    unreached: Vec<String>,
    /// How many calls there were, for each purpose those that were not made.
    made: usize,
    left_out: BTreeMap<Purpose, usize>,
    /// How much all of them wrote.
    bytes: usize,
}

/// The most that all calls together may write, but for the last: what they wrote is kept until it is judged.
const WRITTEN_BYTES_MAX: usize = 256 << 20;

impl<'t> Prober<'t> {
    pub(super) fn new(target: &'t mut dyn Target) -> Prober<'t> {
        let facts = target.facts().clone();
        let values = Values { samples: facts.samples.clone(), word: facts.draws.word("value"), ..Values::default() };
        Prober {
            target,
            facts,
            description: Description::default(),
            values,
            valid: HashMap::new(),
            with_options: Vec::new(),
            begins: HashMap::new(),
            probes: Vec::new(),
            unreached: Vec::new(),
            made: 0,
            left_out: BTreeMap::new(),
            bytes: 0,
        }
    }

    pub(super) fn facts(&self) -> &Facts {
        &self.facts
    }

    /// What is known, but for what was known before.
    pub(super) fn finish(mut self) -> Found {
        for probe in &mut self.probes {
            probe.left_out = self.left_out.get(&probe.purpose).copied().unwrap_or_default();
        }
        Found { description: self.description, probes: self.probes, unreached: self.unreached, left_out: self.left_out }
    }

    /// Makes a call, unless there were enough, they wrote too much, or the time is over: those are counted.
    pub(super) fn make_one(
        &mut self,
        purpose: Purpose,
        args: &[String],
        options: &Options,
    ) -> Result<Option<Observation>, TargetError> {
        let over = self.made >= self.facts.calls_max || self.bytes >= WRITTEN_BYTES_MAX;
        if over || !self.target.has_time() {
            *self.left_out.entry(purpose).or_default() += 1;
            return Ok(None);
        }
        self.made += 1;
        let seen = self.target.invoke(args, options)?;
        self.bytes += seen.stdout.len() + seen.stderr.len();
        Ok(Some(seen))
    }

    pub(super) fn write_down(
        &mut self,
        purpose: Purpose,
        command: Option<usize>,
        about: &str,
        args: Vec<String>,
        seen: Observation,
    ) {
        self.probes.push(Probe { purpose, command, about: about.to_owned(), args, seen, left_out: 0 });
    }

    /// Makes a call and writes it down.
    pub(super) fn call(
        &mut self,
        purpose: Purpose,
        command: Option<usize>,
        about: &str,
        args: Vec<String>,
        options: &Options,
    ) -> Result<Observation, TargetError> {
        let Some(seen) = self.make_one(purpose, &args, options)? else { return Ok(Observation::default()) };
        self.write_down(purpose, command, about, args, seen.clone());
        Ok(seen)
    }

    /// A call of the whole program, with plain options.
    pub(super) fn plain(&mut self, purpose: Purpose, args: &[&str]) -> Result<Observation, TargetError> {
        let args = args.iter().map(|word| (*word).to_owned()).collect();
        self.call(purpose, None, "", args, &Options::default())
    }

    /// `--help`, and the other ways in which a program describes itself.
    pub(super) fn describe(&mut self) -> Result<Option<Value>, TargetError> {
        let help = self.plain(Purpose::Help, &["--help"])?;
        self.plain(Purpose::Version, &["--version"])?;
        Ok(read::document(&help.stdout).filter(Value::is_object))
    }

    /// A help that lists its commands without what they take, with what their own help says. One level of groups is expanded by its
    /// names: `ledger list` is asked for as two words.
    pub(super) fn expand(&mut self, mut help: Value) -> Result<Value, TargetError> {
        let Some(commands) = help.get_mut("commands").and_then(Value::as_array_mut) else { return Ok(help) };
        let whole = |command: &Value| {
            ["parameters", "params", "arguments", "args", "commands", "subcommands"]
                .iter()
                .any(|key| command.get(*key).is_some())
        };
        for command in commands.iter_mut().filter(|command| !whole(command)) {
            let Some(name) = command.get("name").and_then(Value::as_str) else { continue };
            let args: Vec<String> = name.split_whitespace().map(str::to_owned).chain(["--help".to_owned()]).collect();
            let seen = self.call(Purpose::CommandHelp, None, "", args, &Options::default())?;
            if let Some(Value::Object(mut fields)) = read::document(&seen.stdout)
                && let Some(listed) = command.as_object_mut()
            {
                // Some answer with a list of which it is the only one.
                if let Some([Value::Object(own)]) = fields.get("commands").and_then(Value::as_array).map(Vec::as_slice)
                    && own.get("name") == listed.get("name")
                {
                    fields = own.clone();
                }
                // What stands in the list too was said there.
                for (key, value) in fields.into_iter().filter(|(key, _)| !ABOUT_THE_PROGRAM.contains(&key.as_str())) {
                    listed.entry(key).or_insert(value);
                }
            }
        }
        Ok(help)
    }

    /// The commands that may be called, with their places.
    pub(super) fn commands(&self) -> Vec<(usize, Command)> {
        let callable = |command: &Command| {
            let kept_out = self.facts.not_called.iter().any(|name| command.words.first() == Some(name));
            !kept_out && (self.facts.may_change || command.is_reading())
        };
        let commands = self.description.commands.iter().enumerate();
        commands.filter(|(_, command)| callable(command)).map(|(at, command)| (at, command.clone())).collect()
    }

    /// The commands with a valid call.
    pub(super) fn reached(&self) -> Vec<(usize, Command, Parts)> {
        let commands = self.commands().into_iter();
        commands.filter_map(|(at, command)| Some((at, command, self.valid.get(&at)?.clone()))).collect()
    }

    /// A word of this run.
    pub(super) fn word(&self, purpose: &str) -> String {
        self.facts.draws.word(purpose)
    }

    /// Options for calls of a command, once what they need is made.
    pub(super) fn ready(&mut self, at: usize) -> Result<Options, TargetError> {
        let Begin { start, before } = self.begins.get(&at).cloned().unwrap_or_default();
        self.make(at, before)?;
        Ok(Options { start, ..Options::default() })
    }

    /// Whether calls have to be made before a command's own.
    pub(super) fn needs(&self, at: usize) -> bool {
        self.begins.get(&at).is_some_and(|begin| !begin.before.is_empty())
    }

    /// Makes calls that others need, and keeps what they leave.
    pub(super) fn make(&mut self, at: usize, calls: Vec<Vec<String>>) -> Result<(), TargetError> {
        let options = Options { keep: true, confirmed: true, ..Options::default() };
        for args in calls {
            self.call(Purpose::Seed, Some(at), "", args, &options)?;
        }
        Ok(())
    }

    /// The arguments of a call with its confirmation.
    pub(super) fn confirmed(&self, command: &Command, parts: &Parts) -> Vec<String> {
        parts.confirmed(&self.description, command).args()
    }

    /// The same, with more words among the flags.
    pub(super) fn confirmed_with(&self, command: &Command, parts: &Parts, more: &[&str]) -> Vec<String> {
        parts.confirmed(&self.description, command).args_with(more)
    }

    /// Fills the state, and finds a valid call of every command that may be called.
    pub(super) fn find_valid_calls(&mut self) -> Result<(), TargetError> {
        for (at, command) in self.commands() {
            if command.is_reading() && !command.parameters.iter().any(|parameter| parameter.required) {
                let options = Options { start: Start::Initial, ..Options::default() };
                self.call(Purpose::Empty, Some(at), "", command.words.clone(), &options)?;
            }
        }
        if self.facts.may_change {
            self.fill(false)?;
        }
        for (at, command) in self.commands() {
            if !self.find_valid_call(at, &command)? {
                self.unreached.push(command.name());
            }
        }
        Ok(())
    }

    /// Makes the changing calls that the examples show, and as many of each command that there are several entries: later calls need
    /// something to read. In the other order, what one takes out another fills in again.
    pub(super) fn fill(&mut self, reversed: bool) -> Result<(), TargetError> {
        let options = Options { keep: true, confirmed: true, ..Options::default() };
        let mut commands = self.commands();
        if reversed {
            commands.reverse();
        }
        for (at, command) in commands {
            if command.is_reading() || command.is_destructive() {
                continue;
            }
            let good = command.examples.iter().filter(|example| example.succeeds());
            let mut calls: Vec<Vec<String>> =
                good.flat_map(|example| example.before.iter().chain([&example.args]).cloned()).collect();
            let lacking = SEVERAL.saturating_sub(calls.len());
            calls.extend((0..lacking).map(|nth| self.values.required_only(&command, nth).args()));
            for args in calls {
                let seen = self.call(Purpose::Seed, Some(at), "", args, &options)?;
                self.learn(&seen);
            }
        }
        Ok(())
    }

    /// Keeps the identifiers that an answer shows.
    pub(super) fn learn(&mut self, seen: &Observation) {
        const IDENTIFIERS_MAX: usize = 64;
        let Some(answer) = read::document(&seen.stdout).filter(|_| seen.status == Some(0)) else { return };
        let mut found = Vec::new();
        read::identifiers(&answer, &mut found);
        for identifier in found {
            if !self.values.identifiers.contains(&identifier) && self.values.identifiers.len() < IDENTIFIERS_MAX {
                self.values.identifiers.push(identifier);
            }
        }
    }

    /// Tries calls: on the state as it is, then on the initial one.
    fn find_valid_call(&mut self, at: usize, command: &Command) -> Result<bool, TargetError> {
        let mut guesses: Vec<(Parts, Vec<Vec<String>>)> =
            (0..GUESSES_MAX).map(|nth| (self.values.required_only(command, nth), Vec::new())).collect();
        let good = command.examples.iter().filter(|example| example.succeeds());
        let examples: Vec<_> = good
            .filter_map(|example| {
                // What an example needs first may change something, which may not be tried on everything.
                let may_be_made = self.facts.may_change || example.before.is_empty();
                let parts = Parts::of_example(&self.description, command, &example.args).filter(|_| may_be_made)?;
                Some((parts, example.before.clone()))
            })
            .collect();
        guesses.splice(1..1, examples);
        guesses.dedup();
        let starts = if self.facts.may_change { &[Start::Current, Start::Initial][..] } else { &[Start::Current] };
        for start in starts.iter().copied() {
            for (parts, before) in guesses.clone() {
                if start == Start::Initial && !before.is_empty() {
                    continue;
                }
                let parts = parts.unconfirmed();
                let args = self.confirmed(command, &parts);
                self.make(at, before.clone())?;
                let options = Options { confirmed: true, start, ..Options::default() };
                let Some(seen) = self.make_one(Purpose::Valid, &args, &options)? else { return Ok(false) };
                let hangs = seen.timed_out;
                let good = !hangs && (seen.status == Some(0) || read::claims_success(&seen));
                if good {
                    self.learn(&seen);
                    self.valid.insert(at, parts);
                    self.begins.insert(at, Begin { start, before });
                }
                let purpose = if good { Purpose::Valid } else { Purpose::Attempt };
                self.write_down(purpose, Some(at), "", args, seen);
                // What does not end is not tried again in other words.
                if good || hangs {
                    return Ok(good);
                }
            }
        }
        Ok(false)
    }
}

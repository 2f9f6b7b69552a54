//! Valid calls, made in other ways: in other environments, for people, quietly, without effect, without a confirmation.

use super::Purpose;
use super::parts::Parts;
use super::prober::Prober;
use crate::describe::{Command, Parameter};
use crate::read;
use crate::target::{Contract, Moment, Options, Start, Stdin, TargetError};
use serde_json::Value;

/// Values that a program may find anywhere, and that it did not declare.
const OTHER_ENVIRONMENT: [(&str, &str); 5] =
    [("USER", "somebody"), ("LANG", "de_DE.UTF-8"), ("TZ", "Asia/Tokyo"), ("EDITOR", "vi"), ("PAGER", "less")];
/// What a person's terminal sets.
const TERMINAL: [(&str, &str); 4] =
    [("TERM", "xterm-256color"), ("COLORTERM", "truecolor"), ("CLICOLOR_FORCE", "1"), ("FORCE_COLOR", "1")];
/// Switches that change how the program answers, not what a command does.
pub(crate) const MODES: [&str; 16] = [
    "help",
    "version",
    "brief",
    "human",
    "agent",
    "quiet",
    "yes",
    "confirm",
    "dry-run",
    "json-input",
    "sanitize",
    "redact",
    "ndjson",
    "jsonl",
    "stream",
    "mcp",
];
/// Names of a switch that streams.
const STREAMS: [&str; 3] = ["ndjson", "jsonl", "stream"];

impl Prober<'_> {
    /// The modes of the whole program.
    pub(super) fn modes_of_the_program(&mut self) -> Result<(), TargetError> {
        self.plain(Purpose::HelpHuman, &["--help", "--human"])?;
        self.plain(Purpose::Brief, &["--brief"])?;
        if self.commands().iter().any(|(_, command)| is_skills(command)) {
            let skills = self.plain(Purpose::Skills, &["skills"])?;
            let answer = read::document(&skills.stdout).unwrap_or_default();
            let first = read::object_with(&answer, &["name"]).and_then(|skill| skill.get("name")?.as_str());
            let first = first.map(str::to_owned).or_else(|| first_skill(&answer));
            if let Some(name) = first {
                self.plain(Purpose::Skills, &["skills", &name])?;
            }
        }
        let may_change = self.facts().may_change;
        for (at, command) in self.description.commands.clone().into_iter().enumerate() {
            // Nothing promises that a command does nothing because --help stands after it.
            if !may_change && !command.is_reading() {
                continue;
            }
            let args = command.words.iter().cloned().chain(["--help".to_owned()]).collect();
            // A host that asks before a destructive command can't know that this call destroys nothing.
            let options = Options { confirmed: true, ..Options::default() };
            self.call(Purpose::CommandHelp, Some(at), "", args, &options)?;
            if command.words.iter().any(|word| word == "mcp") {
                // One that serves prints its tools where it is asked to.
                let print = command.parameters.iter().any(|one| one.name == "print").then(|| "--print".to_owned());
                let args = command.words.into_iter().chain(print).collect();
                self.call(Purpose::Mcp, Some(at), "", args, &Options::default())?;
            }
        }
        if self.description.parameters.iter().any(|parameter| parameter.name == "mcp") {
            self.plain(Purpose::Mcp, &["--mcp"])?;
        }
        Ok(())
    }

    /// Every mode of every command that was reached.
    pub(super) fn modes(&mut self) -> Result<(), TargetError> {
        for (at, command, parts) in self.reached() {
            let plain = self.ready(at)?;
            let options = Options { confirmed: true, ..plain.clone() };
            let quiet = self.confirmed_with(&command, &parts, &["--quiet"]);
            let real = self.call(Purpose::Quiet, Some(at), "", quiet.clone(), &options)?;
            self.switches(at, &command, &parts, &options)?;
            if command.is_reading() {
                self.reading_modes(at, &command, &parts, &plain)?;
                continue;
            }
            if self.description.parameter(&command, "dry-run").is_some() {
                let args = self.confirmed_with(&command, &parts, &["--dry-run"]);
                self.call(Purpose::DryRun, Some(at), "", args.clone(), &options)?;
                if real.unchanged() == Some(true) {
                    self.first_time(at, quiet, args, &options)?;
                }
            }
            if command.is_destructive() {
                // A host that asks for confirmations does not take the application's own word for one.
                let parts = match self.facts().contract {
                    Contract::Application => parts.confirmed(&self.description, &command),
                    Contract::CommandLine => parts.unconfirmed(),
                };
                self.call(Purpose::Unconfirmed, Some(at), "", parts.args(), &plain)?;
                let quiet = parts.args_with(&["--quiet"]);
                self.call(Purpose::UnconfirmedQuiet, Some(at), "", quiet, &plain)?;
            }
        }
        Ok(())
    }

    /// What is done already does not change anything again: the call and its preview on the initial state, if it does there.
    fn first_time(
        &mut self,
        at: usize,
        quiet: Vec<String>,
        dry_run: Vec<String>,
        options: &Options,
    ) -> Result<(), TargetError> {
        let options = Options { start: Start::Initial, ..options.clone() };
        let real = self.make_one(Purpose::Quiet, &quiet, &options)?;
        if let Some(real) = real.filter(|real| real.status == Some(0) && real.unchanged() == Some(false)) {
            self.write_down(Purpose::Quiet, Some(at), "", quiet, real);
            self.call(Purpose::DryRun, Some(at), "", dry_run, &options)?;
        }
        Ok(())
    }

    fn reading_modes(
        &mut self,
        at: usize,
        command: &Command,
        parts: &Parts,
        plain: &Options,
    ) -> Result<(), TargetError> {
        let parts = parts.confirmed(&self.description, command);
        let first = self.call(Purpose::First, Some(at), "", parts.args(), plain)?;
        let at_moment = |moment| Options { moment, ..plain.clone() };
        let seen = self.call(Purpose::Again, Some(at), "", parts.args(), &at_moment(Moment::Later))?;
        if seen.stdout != first.stdout
            && let Some(timed) = self.timed(command, &parts)
        {
            self.call(Purpose::TimedFirst, Some(at), "", timed.args(), plain)?;
            self.call(Purpose::TimedAgain, Some(at), "", timed.args(), &at_moment(Moment::Later))?;
        }
        self.call(Purpose::MuchLater, Some(at), "", parts.args(), &at_moment(Moment::MuchLater))?;
        let with = |environment: &[(&str, &str)]| Options {
            environment: environment.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect(),
            ..plain.clone()
        };
        let declared = self.facts().environment.clone();
        if !declared.is_empty() {
            let declared: Vec<(&str, &str)> = declared.iter().map(|name| (name.as_str(), "probe")).collect();
            self.call(Purpose::DeclaredEnvironment, Some(at), "", parts.args(), &with(&declared))?;
        }
        self.call(Purpose::OtherEnvironment, Some(at), "", parts.args(), &with(&OTHER_ENVIRONMENT))?;
        self.call(Purpose::TerminalEnvironment, Some(at), "", parts.args(), &with(&TERMINAL))?;
        let held = Options { stdin: Stdin::HeldOpen, ..plain.clone() };
        self.call(Purpose::HeldOpen, Some(at), "", parts.args(), &held)?;
        self.call(Purpose::Human, Some(at), "", parts.args_with(&["--human"]), plain)?;
        self.call(Purpose::Agent, Some(at), "", parts.args_with(&["--agent"]), plain)?;
        let answer = read::document(&seen.stdout).unwrap_or_default();
        let fields = fields(&answer);
        let asked = match (self.facts().component, seen.stdout == first.stdout) {
            (true, _) => fields,
            // A call of a process takes a thousand times as long: the first, and one of the others that is drawn.
            (false, true) => {
                let others = fields.len().max(2) as u64 - 1;
                let drawn = 1 + self.facts().draws.below(&format!("field of {}", command.name()), others);
                let own = fields.iter().enumerate().filter(|(nth, _)| *nth == 0 || *nth as u64 == drawn);
                own.map(|(_, field)| field.clone()).collect()
            }
            (false, false) => fields.into_iter().take(1).collect(),
        };
        for field in asked {
            let args = parts.args_with(&["--fields", &field]);
            self.call(Purpose::Fields, Some(at), &field, args, plain)?;
        }
        for words in self.stream_words(at) {
            let words: Vec<&str> = words.iter().map(String::as_str).collect();
            self.call(Purpose::Stream, Some(at), "", parts.args_with(&words), plain)?;
        }
        Ok(())
    }

    /// The call with a value for every moment that it takes and was not given: the time of the call is an argument too.
    fn timed(&self, command: &Command, parts: &Parts) -> Option<Parts> {
        let given = |parameter: &&Parameter| parts.flags.iter().any(|(name, _)| *name == parameter.name);
        let mut moments = command.parameters.iter().filter(|it| it.is_moment() && !given(it)).peekable();
        moments.peek()?;
        Some(moments.fold(parts.clone(), |parts, it| parts.replaced(it, &self.values.of(it, 0))))
    }

    /// The words that ask a command for one JSON document a line.
    fn stream_words(&self, at: usize) -> Vec<Vec<String>> {
        let Some(command) = self.description.commands.get(at) else { return Vec::new() };
        let parameters = command.parameters.iter().chain(&self.description.parameters);
        let words = parameters.filter_map(|parameter| {
            if STREAMS.contains(&parameter.name.as_str()) && parameter.is_switch() {
                return Some(vec![format!("--{}", parameter.name)]);
            }
            let choice = parameter.choices.iter().find(|choice| STREAMS.contains(&choice.as_str()))?;
            Some(vec![format!("--{}", parameter.name), choice.clone()])
        });
        words.collect()
    }

    /// Switches negated, and arrays given once, twice and too often.
    fn switches(&mut self, at: usize, command: &Command, parts: &Parts, options: &Options) -> Result<(), TargetError> {
        for parameter in &command.parameters {
            let name = &parameter.name;
            if parameter.is_switch() && !MODES.contains(&name.as_str()) && !name.starts_with("no-") {
                let args = self.confirmed_with(command, &parts.without(name), &[&format!("--no-{name}")]);
                self.call(Purpose::Negated, Some(at), name, args, options)?;
            }
            if parameter.repeated && parameter.position.is_none() && !parameter.is_switch() {
                let (one, two) = (self.values.of(parameter, 7), self.values.of(parameter, 8));
                let flag = format!("--{name}");
                let parts = parts.without(name);
                let once = self.confirmed_with(command, &parts, &[&flag, &one]);
                self.call(Purpose::Single, Some(at), name, once, options)?;
                let joined = format!("{one},{two}");
                for words in [[flag.as_str(), &one, &flag, &two].as_slice(), &[&flag, &joined]] {
                    let args = self.confirmed_with(command, &parts, words);
                    self.call(Purpose::Repeated, Some(at), name, args, options)?;
                }
                const TOO_OFTEN: usize = 12_000;
                let many: Vec<String> =
                    (0..TOO_OFTEN).flat_map(|nth| [flag.clone(), self.values.of(parameter, nth)]).collect();
                let many: Vec<&str> = many.iter().map(String::as_str).collect();
                let args = self.confirmed_with(command, &parts, &many);
                self.call(Purpose::RepeatedTooOften, Some(at), name, args, options)?;
            }
        }
        Ok(())
    }
}

fn is_skills(command: &crate::describe::Command) -> bool {
    command.words.first().is_some_and(|word| word == "skills")
}

fn first_skill(answer: &Value) -> Option<String> {
    answer.get("skills")?.as_array()?.first()?.get("name")?.as_str().map(str::to_owned)
}

/// The fields that `--fields` can be asked for, the identifier first: those that all items of a list have, else those of the result.
fn fields(answer: &Value) -> Vec<String> {
    const FIELDS: usize = 16;
    let items = read::items(answer);
    let item = items.and_then(|items| items.first()).and_then(Value::as_object);
    let result = || answer.get("result").and_then(Value::as_object).or_else(|| answer.as_object());
    let Some(own) = item.or_else(|| result().filter(|_| items.is_none_or(|items| !items.is_empty()))) else {
        return Vec::new();
    };
    let plain = |key: &&String| !matches!(key.as_str(), "ok" | "command" | "rules" | "skills" | "issue");
    let in_all = |key: &&String| items.into_iter().flatten().all(|item| item.get(key.as_str()).is_some());
    let mut fields: Vec<String> = own.keys().filter(plain).filter(in_all).cloned().collect();
    fields.sort_by_key(|field| field != "id");
    fields.truncate(FIELDS);
    fields
}

//! What a target says of itself and what it did when it was called. Makes calls and writes down what happened; judges nothing.

mod batches;
mod guards;
mod in_part;
mod issues;
mod mistakes;
mod modes;
mod options;
mod parts;
mod prober;
mod rows;

use crate::describe::{Command, Description};
use crate::read;
use crate::target::{Facts, Observation, Target, TargetError};
pub(crate) use guards::{BESIDE, HIDDEN, personal};
use hutch_model::digest::Digest;
pub(crate) use issues::STATUSES;
pub(crate) use modes::MODES;
use prober::Prober;
use rows::Call;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};

/// What a call is made for.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub enum Purpose {
    /// `--help`
    Help,
    /// `--help --human`
    HelpHuman,
    /// `COMMAND --help`
    CommandHelp,
    /// `--version`
    Version,
    /// `--brief`
    Brief,
    /// `skills`, and one skill
    Skills,
    /// A call that fills the state.
    Seed,
    /// A guess at a valid call that was wrong, or one that asks for an answer in another form.
    Attempt,
    /// A valid call; one with options is about them.
    Valid,
    /// The same call, once what it needs was made.
    First,
    /// The same call again, right after that: a moment later, by another chance.
    Again,
    /// The same call in another year, by another chance.
    MuchLater,
    /// The same call with a value for every environment variable that is declared.
    DeclaredEnvironment,
    /// The same call with a moment for every parameter that stands for the time of the call where it is not given.
    TimedFirst,
    /// That again, a moment later, by another chance.
    TimedAgain,
    /// The same call in an environment with other values.
    OtherEnvironment,
    /// The same call in an environment that looks like a person's terminal.
    TerminalEnvironment,
    /// The same call with standard input held open.
    HeldOpen,
    /// With `--human`.
    Human,
    /// With `--agent`.
    Agent,
    /// With `--quiet`.
    Quiet,
    /// With `--fields`.
    Fields,
    /// As it is, before it is asked for in part.
    Whole,
    /// With two names for `--fields`.
    TwoFields,
    /// With `--limit 1`.
    OneRow,
    /// On the initial state.
    Empty,
    /// In a streaming mode.
    Stream,
    /// With `--dry-run`.
    DryRun,
    /// Destructive, without a confirmation.
    Unconfirmed,
    /// Destructive, with `--quiet` and without a confirmation.
    UnconfirmedQuiet,
    /// Without its required arguments, or without one of several.
    MissingRequired,
    /// The same again.
    MissingAgain,
    /// The same, with answers waiting on standard input.
    MissingAnswered,
    /// A flag without its value.
    MissingValue,
    /// A value of another type than declared.
    WrongType,
    /// A flag that there is not.
    UnknownFlag,
    /// A command that there is not.
    UnknownCommand,
    /// One bare argument more than there may be.
    ExtraArgument,
    /// An identifier that nothing has.
    Absent,
    /// An example that says that it fails.
    FailingExample,
    /// A number larger than any.
    Overflow,
    /// A credential.
    Secret,
    /// The name of a file that holds secrets.
    SensitivePath,
    /// Shell syntax.
    ShellSyntax,
    /// `../`
    Traversal,
    /// A control character.
    ControlCharacter,
    /// A switch as `--no-x`.
    Negated,
    /// An array argument with one value.
    Single,
    /// An array argument twice, in one of the two ways.
    Repeated,
    /// An array argument far too often.
    RepeatedTooOften,
    /// What is to be an entry of a batch, called by itself.
    BatchAlone,
    /// A batch on standard input, in one of the known forms.
    Batch,
    /// The same with one other entry.
    BatchOther,
    /// The same with both.
    BatchOfTwo,
    /// A listing that is to be a batch.
    Listing,
    /// The same as a batch.
    BatchChained,
    /// A batch with far too many entries.
    BatchTooLarge,
    /// A batch that is no JSON.
    BatchMalformed,
    /// Hidden characters, with `--sanitize`.
    Sanitized,
    /// Hidden characters, with `--sanitize` for the host.
    HostSanitized,
    /// Personal data, shown.
    Personal,
    /// The same, with `--redact`.
    Redacted,
    /// The same, with `--redact` for the host.
    HostRedacted,
    /// The export of an MCP tool schema.
    Mcp,
    /// A listing, right before and right after a call that is kept.
    Rows,
    /// That call: of a command that changes something.
    Kept,
    /// A new issue.
    IssueCreate,
    /// All issues.
    IssueList,
    /// That issue.
    IssueShow,
    /// Another status for it.
    IssueMove,
}

/// One call and what happened.
#[derive(Clone, Debug)]
pub struct Probe {
    /// What it was made for.
    pub purpose: Purpose,
    /// The command's place in the description.
    pub command: Option<usize>,
    /// What it is about: a parameter, a key, a status.
    pub about: String,
    /// The arguments.
    pub args: Vec<String>,
    /// What happened.
    pub seen: Observation,
    /// How many calls for the same were not made.
    pub left_out: usize,
}

/// What calls came to.
struct Found {
    description: Description,
    probes: Vec<Probe>,
    unreached: Vec<String>,
    left_out: BTreeMap<Purpose, usize>,
}

/// Everything that is known.
#[derive(Clone, Debug)]
pub struct Survey {
    /// What was known before.
    pub facts: Facts,
    /// The JSON of `--help`, if it is JSON.
    pub help: Option<Value>,
    /// What calls were made from: the stored description, else `--help`.
    pub description: Description,
    /// All calls, in their order.
    pub probes: Vec<Probe>,
    /// Commands for which no valid call was found.
    pub unreached: Vec<String>,
    /// How many calls were not made, for each purpose.
    pub left_out: BTreeMap<Purpose, usize>,
    /// The program before and after.
    pub program: (Option<Digest>, Option<Digest>),
    /// What the target left that can't be put in order.
    pub disorder: Option<String>,
}

impl Survey {
    /// Calls a target.
    ///
    /// # Errors
    /// It can't be called at all.
    pub fn of(target: &mut dyn Target) -> Result<Survey, TargetError> {
        let before = target.program()?;
        let mut prober = Prober::new(target);
        let help = prober.describe()?.map(|help| prober.expand(help)).transpose()?;
        let stored = prober.facts().stored_description.clone();
        if let Some(json) = stored.as_ref().or(help.as_ref()) {
            prober.description = Description::read(json);
        }
        if prober.facts().may_change || !prober.description.commands.is_empty() {
            prober.modes_of_the_program()?;
        }
        prober.find_valid_calls()?;
        prober.modes()?;
        prober.in_part()?;
        prober.options()?;
        prober.mistakes()?;
        prober.guards()?;
        prober.batches()?;
        prober.redacted()?;
        prober.issues(&[])?;
        prober.rows()?;
        let facts = prober.facts().clone();
        let Found { description, probes, unreached, left_out } = prober.finish();
        let program = (before, target.program()?);
        let disorder = target.disorder().map(str::to_owned);
        Ok(Survey { facts, help, description, probes, unreached, left_out, program, disorder })
    }

    /// Calls only what a target says about issues, and makes one of it with these arguments more.
    ///
    /// # Errors
    /// It can't be called at all.
    pub fn of_issues(target: &mut dyn Target, more: &[String]) -> Result<Survey, TargetError> {
        let mut prober = Prober::new(target);
        let help = prober.describe()?.map(|mut help| {
            if let Some(commands) = help.get_mut("commands").and_then(Value::as_array_mut) {
                let is_issue = |name: &str| name.split(' ').next() == Some("issue");
                commands.retain(|command| command.get("name").and_then(Value::as_str).is_some_and(is_issue));
            }
            prober.expand(help)
        });
        let help = help.transpose()?;
        if let Some(json) = &help {
            prober.description = Description::read(json);
        }
        prober.issues(more)?;
        let facts = prober.facts().clone();
        let Found { description, probes, unreached, left_out } = prober.finish();
        let disorder = target.disorder().map(str::to_owned);
        Ok(Survey { facts, help, description, probes, unreached, left_out, program: (None, None), disorder })
    }

    /// The calls for a purpose.
    pub fn of_purpose(&self, purpose: Purpose) -> impl Iterator<Item = &Probe> + Clone {
        self.probes.iter().filter(move |probe| probe.purpose == purpose)
    }

    /// The calls for one of several purposes.
    pub fn of_purposes<'s>(&'s self, purposes: &'s [Purpose]) -> impl Iterator<Item = &'s Probe> + Clone {
        self.probes.iter().filter(move |probe| purposes.contains(&probe.purpose))
    }

    /// The command that a call calls.
    pub fn command(&self, probe: &Probe) -> Option<&Command> {
        self.description.commands.get(probe.command?)
    }

    /// Whether a call's answer is declared to be a text of some other kind than JSON.
    pub fn answers_with_text(&self, probe: &Probe) -> bool {
        self.command(probe).is_some_and(Command::answers_with_text)
    }

    /// The valid call of the same command.
    pub fn valid(&self, probe: &Probe) -> Option<&Probe> {
        let command = probe.command?;
        self.of_purpose(Purpose::Valid).find(|valid| valid.command == Some(command))
    }

    /// The valid calls of commands that only read.
    pub fn reads(&self) -> impl Iterator<Item = &Probe> + Clone {
        self.of_purpose(Purpose::Valid).filter(|probe| self.command(probe).is_some_and(Command::is_reading))
    }

    /// The first of several calls that are the same but for one thing.
    pub fn first(&self, probe: &Probe) -> Option<&Probe> {
        let command = probe.command?;
        self.of_purpose(Purpose::First).find(|first| first.command == Some(command)).or_else(|| self.valid(probe))
    }

    /// A call of a command that left the state as it was before the first call of all, though there was something in it.
    pub fn clears_everything(&self, command: &Command) -> Option<&Probe> {
        let initial = self.of_purpose(Purpose::Empty).find_map(|probe| probe.seen.state)?.0;
        let clears =
            |probe: &&Probe| probe.seen.state.is_some_and(|(before, after)| before != initial && after == initial);
        self.probes.iter().filter(|probe| self.command(probe).is_some_and(|it| it.words == command.words)).find(clears)
    }

    /// A call of a command after which a listing lacks rows that it does not name, or what callers wrote in them.
    pub fn loses_rows(&self, command: &Command) -> Option<&Probe> {
        let choices: BTreeSet<&str> =
            self.description.all_parameters().flat_map(|(_, it)| &it.choices).map(String::as_str).collect();
        let mut written: BTreeSet<&str> = BTreeSet::new();
        let mut shown: BTreeMap<&[String], Vec<Value>> = BTreeMap::new();
        let mut called: Option<&Probe> = None;
        for probe in &self.probes {
            if matches!(probe.purpose, Purpose::Seed | Purpose::Kept) {
                let words = probe.args.iter().map(String::as_str);
                written.extend(words.filter(|word| rows::is_content(word) && !choices.contains(word)));
            }
            match probe.purpose {
                Purpose::Kept => called = Some(probe),
                // What others need was made in between.
                Purpose::Seed => called = None,
                Purpose::Rows => {
                    let answer = read::document(&probe.seen.stdout);
                    let Some(after) = answer.as_ref().and_then(read::rows) else { continue };
                    let before = shown.insert(&probe.args, after.clone());
                    let is_part = answer.as_ref().is_some_and(rows::is_part);
                    let own = called.filter(|call| self.command(call).is_some_and(|it| it.words == command.words));
                    let (Some(probe), Some(before)) = (own, before) else { continue };
                    let call = Call { args: &probe.args, written: &written, destroys: command.is_destructive() };
                    if rows::are_lost(&before, (after, is_part), &call) {
                        return Some(probe);
                    }
                }
                _ => {}
            }
        }
        None
    }

    /// The valid reading calls that answer with a list though nothing is asked for by name.
    pub fn listings(&self) -> impl Iterator<Item = (&Probe, Value)> {
        self.reads().filter_map(|probe| {
            let command = self.command(probe)?;
            let named = command.parameters.iter().any(|parameter| parameter.required);
            let answer = read::document(&probe.seen.stdout)?;
            (!named && read::rows(&answer).is_some()).then_some((probe, answer))
        })
    }

    /// The calls that failed.
    pub fn failures(&self) -> impl Iterator<Item = &Probe> + Clone {
        self.probes.iter().filter(|probe| read::failed(&probe.seen))
    }
}

impl Probe {
    /// The call and how it ended, for evidence.
    pub fn shown(&self) -> String {
        const CHARACTERS: usize = 90;
        let mut line = String::new();
        for word in &self.args {
            if line.chars().count() > CHARACTERS {
                line.push_str(" …");
                break;
            }
            let between = if line.is_empty() { "" } else { " " };
            line.push_str(between);
            line.push_str(&shown_word(word));
        }
        if line.is_empty() {
            line.push_str("no arguments");
        }
        let ending = match (self.seen.timed_out, self.seen.status) {
            (true, _) => "did not end".to_owned(),
            (false, Some(status)) => format!("exit {status}"),
            (false, None) => "was ended".to_owned(),
        };
        format!("`{line}`: {ending}")
    }
}

/// A word of a call, which may be the target's: of an example, or a value that it showed.
fn shown_word(word: &str) -> String {
    const CHARACTERS: usize = 40;
    let beginning: String = word.chars().take(CHARACTERS).collect();
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_./:=,".contains(c);
    match !word.is_empty() && beginning.len() == word.len() && word.chars().all(is_plain) {
        true => beginning,
        false => read::quoted(&beginning),
    }
}

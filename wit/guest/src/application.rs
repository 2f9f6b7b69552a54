//! An application, and one call of it: from arguments to what it leaves behind. Prints nothing, and reads no clock.

use std::io::Read;

use serde::Serialize;

use crate::answer::{Changed, Outcome, Page, Paging};
use crate::argv::{self, Arguments, BATCH};
use crate::batch::{self, is_of_an_entry};
use crate::calendar::Instant;
use crate::contract::{self, Description, Parameter};
use crate::document::{Document, STATE_CORRUPT};
use crate::failure::{CONFIRMATION_REQUIRED, Failure, INTERNAL_ERROR, UNKNOWN_COMMAND, nearest};
use crate::guidance::{Guidance, Rule, Skill};
use crate::help::{Brief, Help, Version};
use crate::row::Row;
use crate::schema::Field;
use crate::storage::{self, Storage};
use crate::value::invalid;

/// Everything about an application. [`application!`](crate::application!) makes one.
pub struct Application<S: 'static> {
    /// Its contract.
    pub description: Description,
    /// What carries out each command of the contract, in the same order.
    pub runners: &'static [Runner<S>],
    /// What it tells agents beside that.
    pub told: Told,
}

/// The texts that an application has built in: files of its package.
#[derive(Clone, Copy, Debug)]
pub struct Told {
    /// What it is for, in one paragraph.
    pub brief: &'static str,
    /// Files of `agent/rules`.
    pub rules: &'static [&'static str],
    /// Files `skills/…/SKILL.md`.
    pub skills: &'static [&'static str],
}

/// How a call is made, beside its arguments.
#[derive(Clone, Copy, Debug)]
pub struct Call {
    /// The moment of the call.
    pub now: Instant,
    paging: Paging,
}

impl Call {
    /// The part that was asked for of all that was found, each shown as `row` says.
    pub fn page<T, R>(&self, found: &[T], row: impl Fn(&T) -> R) -> Page<R> {
        let rows = found.iter().skip(self.paging.offset).take(self.paging.limit).map(row).collect();
        Page { rows, total: found.len(), paging: self.paging, more: None }
    }

    /// The same of what comes one by one: all of it is counted, and no more of it is held than is shown.
    ///
    /// # Errors
    /// The first that comes.
    pub fn page_of<R>(&self, found: impl Iterator<Item = Result<R, Failure>>) -> Result<Page<R>, Failure> {
        let (mut rows, mut total) = (Vec::new(), 0);
        for row in found {
            let row = row?;
            if total >= self.paging.offset && rows.len() < self.paging.limit {
                rows.push(row);
            }
            total += 1;
        }
        Ok(Page { rows, total, paging: self.paging, more: None })
    }
}

/// A command that leaves the state as it is. The derive [`Command`](derive@crate::Command) makes its fields parameters.
pub trait Reads: Sized {
    /// The state of the application.
    type State: Document;
    /// What it shows.
    type Answer: crate::answer::Answer;

    /// What is wrong with the arguments together. It is asked before the state is read.
    ///
    /// # Errors
    /// A usage failure.
    fn check(&self) -> Result<(), Failure> {
        Ok(())
    }

    /// Does it.
    ///
    /// # Errors
    /// One of those that the command declares.
    fn run(self, state: &Self::State, call: &Call) -> Result<Self::Answer, Failure>;
}

/// A command that may change the state. It takes batches and can be tried without more ado.
pub trait Writes: Sized {
    /// The state of the application.
    type State: Document;
    /// What it shows of the thing that it is about.
    type Row: Row;

    /// What is wrong with the arguments together. It is asked before the state is read.
    ///
    /// # Errors
    /// A usage failure.
    fn check(&self) -> Result<(), Failure> {
        Ok(())
    }

    /// Does it.
    ///
    /// # Errors
    /// One of those that the command declares. What was done to `state` is forgotten then.
    fn run(self, state: &mut Self::State, call: &Call) -> Result<Changed<Self::Row>, Failure>;
}

/// A command, whichever it is. The derive of this name implements it for a type with [`Reads`] or [`Writes`].
pub trait Command: Sized + 'static {
    /// The state of the application.
    type State: Document;
    /// What it says about itself.
    const CONTRACT: contract::Command;
    /// The fields of `items[]`.
    const FIELDS: &'static [Field];

    /// The typed call that arguments make, checked.
    ///
    /// # Errors
    /// A usage failure.
    fn read(arguments: &Arguments) -> Result<Self, Failure>;

    /// Does it.
    ///
    /// # Errors
    /// One of those that the command declares.
    fn perform(self, state: &mut Self::State, call: &Call) -> Result<Outcome, Failure>;
}

/// A command whose type is forgotten.
pub struct Runner<S: 'static> {
    contract: &'static contract::Command,
    fields: &'static [Field],
    read: fn(&Arguments) -> Result<Step<S>, Failure>,
}

type Step<S> = Box<dyn FnOnce(&mut S, &Call) -> Result<Outcome, Failure>>;

impl<S> Runner<S> {
    /// That of a command.
    #[must_use]
    pub const fn of<C: Command<State = S>>() -> Self {
        Self {
            contract: &C::CONTRACT,
            fields: C::FIELDS,
            read: |arguments| {
                let command = C::read(arguments)?;
                Ok(Box::new(move |state, call| command.perform(state, call)))
            },
        }
    }
}

/// What a call leaves behind, beside the state.
#[derive(Debug, Eq, PartialEq)]
pub struct Reply {
    /// One JSON document and a newline, or text for people.
    pub stdout: String,
    /// Notes, or a failure told to people.
    pub stderr: String,
    /// 0 when the call did what it was asked.
    pub exit_status: u8,
}

impl<S: Document> Application<S> {
    /// Makes one call: reads the arguments after the program's name, and `input` if they ask for it, does what they ask at
    /// the moment `now`, and writes the state if, and only if, it changed and was not to be changed for a try.
    #[must_use]
    pub fn run(&'static self, args: &[String], now: Instant, storage: &dyn Storage, input: impl Read) -> Reply {
        let human = argv::mentions(args, "human") && !argv::mentions(args, "agent");
        let reply = argv::parse(&self.description, args).and_then(|arguments| {
            self.call(&arguments, now, storage, input).map_err(|failure| self.declared(failure, &arguments))
        });
        reply.unwrap_or_else(|failure| refusal(&failure, human))
    }

    fn call(
        &'static self,
        arguments: &Arguments,
        now: Instant,
        storage: &dyn Storage,
        input: impl Read,
    ) -> Result<Reply, Failure> {
        let human = arguments.flag("human");
        if human && arguments.flag("agent") {
            return Err(Failure::contradiction("--human", "--agent"));
        }
        if arguments.flag("help") {
            let help = Help::new(&self.description, arguments, self.guidance());
            return document(&help, human.then(|| help.to_text()));
        }
        if arguments.flag("version") {
            let version = Version::new(&self.description);
            return document(&version, human.then(|| version.to_text()));
        }
        if arguments.flag("brief") {
            let brief = Brief::new(self.told.brief);
            return document(&brief, human.then(|| brief.to_text()));
        }
        let name = arguments.complete(&self.description)?.name;
        let runner = self.runners.iter().find(|runner| runner.contract.name == name).ok_or_else(|| {
            Failure::new(INTERNAL_ERROR, format!("{name} is in the contract and nothing carries it out"))
        })?;
        let batch = arguments.flag(BATCH);
        let steps = if batch { self.entries(arguments, runner, input)? } else { vec![(runner.read)(arguments)?] };
        if runner.contract.confirmation_required && !arguments.flag("confirm") {
            return Err(Failure::new(CONFIRMATION_REQUIRED, format!("{name} requires --confirm")));
        }
        let fields = fields(arguments, runner.fields)?;
        let mut state = read::<S>(storage)?;
        let number = |name| arguments.integer(name).and_then(|number| usize::try_from(number).ok()).unwrap_or_default();
        let call = Call { now, paging: Paging { limit: number("limit"), offset: number("offset") } };
        let mut outcomes = Vec::with_capacity(steps.len());
        for (index, step) in steps.into_iter().enumerate() {
            let of_entry = |failure: Failure| if batch { failure.of_entry(index) } else { failure };
            outcomes.push(step(&mut state, &call).map_err(of_entry)?);
        }
        let outcome = match outcomes.pop() {
            Some(outcome) if !batch => outcome,
            last => Outcome::of_batch(outcomes.into_iter().chain(last).collect()),
        };
        if let Some((name, _)) = outcome.files.iter().find(|(name, _)| !storage::is_plain(name)) {
            return Err(invalid("the name of the file", name, storage::PLAIN_NAME));
        }
        let dry_run = arguments.flag("dry-run");
        if outcome.changed == Some(true) {
            #[cfg(feature = "folder")]
            state.carry_out(dry_run)?;
            let bytes = S::FILE.map(|_| state.encode().map_err(unwritable)).transpose()?;
            if !dry_run {
                outcome.files.iter().try_for_each(|(name, bytes)| storage.put(name, bytes))?;
                bytes.map(|bytes| storage.replace(&bytes)).transpose()?;
            }
        }
        let stdout = if human {
            outcome.to_text(&fields, dry_run)
        } else {
            outcome.to_json(name, &fields, dry_run).map_err(unwritable)?
        };
        let note = outcome.note.filter(|_| !arguments.flag("quiet"));
        let stderr = note.map(|note| format!("note: {note}\n")).unwrap_or_default();
        Ok(Reply { stdout, stderr, exit_status: 0 })
    }

    fn entries(
        &'static self,
        arguments: &Arguments,
        runner: &Runner<S>,
        input: impl Read,
    ) -> Result<Vec<Step<S>>, Failure> {
        let given = |parameter: &&Parameter| is_of_an_entry(parameter) && arguments.gives(parameter.name);
        if let Some(given) = runner.contract.parameters.iter().find(given) {
            return Err(Failure::contradiction("--json-input", &argv::written(given)));
        }
        // What a listing shows of a thing can be more than the command takes.
        let passed_over = |field: &str| self.runners.iter().flat_map(|runner| runner.fields).any(|it| it.name == field);
        let entries = batch::read(input)?.into_iter().enumerate();
        entries
            .map(|(index, entry)| {
                let arguments = entry.arguments(&self.description, runner.contract, &passed_over);
                arguments
                    .and_then(|arguments| {
                        arguments.complete(&self.description)?;
                        (runner.read)(&arguments)
                    })
                    .map_err(|failure| failure.of_entry(index))
            })
            .collect()
    }

    /// What agents are told beside the commands.
    #[must_use]
    pub fn guidance(&self) -> Guidance {
        let skill = |file: &&'static str| Skill::of(file, self.description.name);
        Guidance {
            rules: self.told.rules.iter().map(|file| Rule::of(file)).collect(),
            skills: self.told.skills.iter().map(skill).collect(),
            // The host keeps it, for every application in one place.
            issue: "report what is wrong or missing to the host: hutch issue create --type bug --message TEXT; hutch issue create --help lists the types",
        }
    }

    /// A failure that the contract of the command does not name is a defect of the application.
    fn declared(&self, failure: Failure, arguments: &Arguments) -> Failure {
        let code = failure.code.code;
        let general = [UNKNOWN_COMMAND.code, INTERNAL_ERROR.code].contains(&code);
        match arguments.command {
            Some(command) if !general && command.errors.iter().all(|error| error.code != code) => {
                let message = format!(
                    "{} ended with {code}, which its contract does not name: {}",
                    command.name, failure.message
                );
                Failure::new(INTERNAL_ERROR, message)
            }
            _ => failure,
        }
    }
}

fn read<S: Document>(storage: &dyn Storage) -> Result<S, Failure> {
    let Some(file) = S::FILE else {
        return Ok(S::default());
    };
    match storage.read()? {
        Some(bytes) => {
            S::decode(&bytes).map_err(|why| Failure::new(STATE_CORRUPT, format!("state/{file} cannot be read: {why}")))
        }
        None => Ok(S::default()),
    }
}

/// The places of the fields to keep, in the order of the row whatever the order asked for: documents of one command look alike.
fn fields(arguments: &Arguments, known: &'static [Field]) -> Result<Vec<usize>, Failure> {
    let Some(list) = arguments.text("fields") else {
        return Ok((0..known.len()).collect());
    };
    let names = || known.iter().map(|field| field.name);
    let wanted: Vec<&str> = list.split(',').map(str::trim).collect();
    if let Some(unknown) = wanted.iter().find(|wanted| !names().any(|name| name == **wanted)) {
        let all = names().collect::<Vec<_>>().join(",");
        let failure = invalid("--fields", list, &format!("names among {all}"));
        return Err(match nearest(unknown, names()) {
            Some(near) => failure.suggest(format!("did you mean {near}?")),
            None => failure.suggest(format!("{unknown:?} is not a field here; the fields are {all}")),
        });
    }
    Ok(names().enumerate().filter(|(_, name)| wanted.contains(name)).map(|(place, _)| place).collect())
}

/// A document on stdout, unless there is a text to show instead.
fn document(document: &impl Serialize, text: Option<String>) -> Result<Reply, Failure> {
    let stdout = match text {
        Some(text) => text,
        None => serde_json::to_string(document).map_err(unwritable)? + "\n",
    };
    Ok(Reply { stdout, stderr: String::new(), exit_status: 0 })
}

/// A failure: as JSON on stdout, where agentapplications/v1 puts it, or as text on stderr for people.
#[must_use]
pub fn refusal(failure: &Failure, human: bool) -> Reply {
    #[derive(Serialize)]
    struct Document<'a> {
        ok: bool,
        error: &'a Failure,
    }
    let exit_status = failure.code.exit_status;
    let mut reply = Reply { stdout: String::new(), stderr: String::new(), exit_status };
    if human {
        reply.stderr = format!("error: {}\n", failure.message);
        if let Some(suggestion) = &failure.suggestion {
            reply.stderr += &format!("  {suggestion}\n");
        }
    } else if let Ok(document) = serde_json::to_string(&Document { ok: false, error: failure }) {
        reply.stdout = document + "\n";
    }
    reply
}

/// A value without a JSON form: no answer has one, so this is a defect of the application.
fn unwritable(error: serde_json::Error) -> Failure {
    Failure::new(INTERNAL_ERROR, format!("an answer has no JSON form: {error}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_defect_of_the_program_is_told_as_one() {
        // JSON has no other keys than texts.
        let unwritable = std::collections::BTreeMap::from([(vec![1], 1)]);
        let failure = document(&unwritable, None).err().map(|failure| failure.code.code);
        assert_eq!(failure, Some("INTERNAL_ERROR"));
    }
}

//! A target without a process: the command line of `notes`, and one flaw in it.

use crate::description;
use crate::notes::{self, Reply};
use hutch_certify::draw::Draws;
use hutch_certify::rule::Finding;
use hutch_certify::target::{Contract, Facts, Files, Moment, Observation, Options, Start, Stdin, Target, TargetError};
use hutch_model::digest::{Digest, Kind};
use hutch_model::invocation::Seed;
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// What all calls here are made with.
pub(crate) const DRAWS: Draws = Draws(Seed([7; 32]));

/// A call as a flaw sees it.
pub(crate) struct Call<'c> {
    pub(crate) args: &'c [String],
    pub(crate) stdin: &'c [u8],
    pub(crate) held_open: bool,
    pub(crate) environment: &'c [(String, String)],
    pub(crate) moment: Moment,
    /// When that is.
    pub(crate) now_ns: u64,
    /// How many calls there were before.
    pub(crate) nth: usize,
    pub(crate) help: &'c Value,
}

impl Call<'_> {
    /// Whether the arguments are these and no others.
    pub(crate) fn is(&self, line: &str) -> bool {
        self.args.join(" ") == line
    }

    /// Whether it calls this command.
    pub(crate) fn calls(&self, line: &str) -> bool {
        self.args.join(" ").split_inclusive(' ').collect::<String>().starts_with(line)
    }

    /// Whether it is on another day than most calls.
    pub(crate) fn is_on_another_day(&self) -> bool {
        let day = |at_ns: u64| at_ns / (24 * 60 * 60 * 1_000_000_000);
        day(self.now_ns) != day(DRAWS.moment(Moment::Same, 0).0)
    }

    /// Whether a flag is there.
    pub(crate) fn has(&self, flag: &str) -> bool {
        self.args.iter().any(|word| word == flag)
    }
}

/// One way to break one rule.
#[derive(Clone, Copy)]
pub(crate) struct Flaw {
    /// The rule.
    pub(crate) rule: &'static str,
    /// Rules that can't be kept with this one broken in this way.
    pub(crate) also: &'static [&'static str],
    /// Changes what `--help` says.
    pub(crate) help: Option<fn(&mut Value)>,
    /// Changes the project's files.
    pub(crate) files: Option<fn(&mut BTreeMap<String, String>)>,
    /// Changes the arguments before they are read.
    pub(crate) args: Option<fn(&mut Vec<String>)>,
    /// Changes the answer, and the state that the call leaves.
    pub(crate) reply: Option<fn(&Call<'_>, &mut Reply, &mut Value)>,
    /// Whether the program is another one after the calls.
    pub(crate) updates: bool,
}

pub(crate) const NONE: Flaw =
    Flaw { rule: "", also: &[], help: None, files: None, args: None, reply: None, updates: false };

/// The command line with a flaw.
pub(crate) struct ScriptedTarget {
    facts: Facts,
    flaw: Flaw,
    help: Value,
    state: Value,
    calls: usize,
}

impl ScriptedTarget {
    /// The same behind a host, which makes a tool of every command that it may and cleans answers when it is asked to.
    pub(crate) fn hosted(flaw: Flaw) -> ScriptedTarget {
        let mut target = ScriptedTarget::new(flaw);
        target.facts.contract = Contract::Application;
        let commands = target.help["commands"].as_array().into_iter().flatten();
        let commands = commands.filter(|command| command.get("x-no-tool").is_none());
        target.facts.host_tools =
            commands.map(|command| json!({"name": command["name"], "inputSchema": {"type": "object"}})).collect();
        target
    }

    /// Takes what became of an issue that the host took.
    pub(crate) fn take_feedback(&mut self, findings: BTreeMap<&'static str, Finding>) {
        self.facts.host_feedback = findings;
    }

    pub(crate) fn new(flaw: Flaw) -> ScriptedTarget {
        let (mut help, mut files) = (description::help(), description::files());
        flaw.help.into_iter().for_each(|change| change(&mut help));
        flaw.files.into_iter().for_each(|change| change(&mut files));
        let codes = help["errors"].as_array().into_iter().flatten().filter_map(|error| {
            Some((error["code"].as_str()?.to_owned(), u8::try_from(error["exit_status"].as_u64()?).ok()?))
        });
        let facts = Facts {
            draws: DRAWS,
            files: Some(Files(files)),
            stored_codes: codes.collect(),
            stored_description: Some(help.clone()),
            ..Facts::sandboxed("notes")
        };
        ScriptedTarget { facts, flaw, help, state: notes::empty(), calls: 0 }
    }
}

fn named(state: &Value) -> Digest {
    Digest::of(Kind::Package, state.to_string().as_bytes())
}

impl Target for ScriptedTarget {
    fn facts(&self) -> &Facts {
        &self.facts
    }

    fn invoke(&mut self, args: &[String], options: &Options) -> Result<Observation, TargetError> {
        let mut state = if options.start == Start::Initial { notes::empty() } else { self.state.clone() };
        let before = named(&state);
        let stdin = match &options.stdin {
            Stdin::Bytes(bytes) => bytes.as_slice(),
            Stdin::Empty | Stdin::HeldOpen => &[],
        };
        let mut changed = args.to_vec();
        self.flaw.args.into_iter().for_each(|change| change(&mut changed));
        let mut reply = notes::answer(&self.help, &changed, stdin, &mut state);
        let call = Call {
            args,
            stdin,
            held_open: options.stdin == Stdin::HeldOpen,
            environment: &options.environment,
            moment: options.moment,
            now_ns: DRAWS.moment(options.when(), self.calls).0,
            nth: self.calls,
            help: &self.help,
        };
        self.flaw.reply.into_iter().for_each(|change| change(&call, &mut reply, &mut state));
        self.calls += 1;
        let after = named(&state);
        if options.keep {
            self.state = state;
        }
        Ok(Observation {
            stdout: options.cleaning.bytes(reply.stdout.as_bytes()).into_owned(),
            stderr: options.cleaning.bytes(reply.stderr.as_bytes()).into_owned(),
            status: Some(reply.status),
            timed_out: reply.timed_out,
            state: Some((before, after)),
            by_host: false,
        })
    }

    fn program(&mut self) -> Result<Option<Digest>, TargetError> {
        let version = if self.flaw.updates { self.calls.min(1) } else { 0 };
        Ok(Some(Digest::of(Kind::Component, version.to_string().as_bytes())))
    }
}

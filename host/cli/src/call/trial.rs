//! The calls that a package's contract shows, made one after the other on a state that is in memory alone, always at the same time and with
//! the same randomness: so what differs from an earlier trial is the package's doing. Nothing of it is kept.

use crate::call::asked;
use crate::line::quote;
use crate::refusal::fault::Fault;
use hutch::package::Package;
use hutch::{Host, SHOWN_BYTES_MAX, Shown};
use hutch_certify::target::{Contract, Observation, Options, PackageTarget, Target};
use hutch_documents::bounds::{COMPARED_BYTES, COMPARED_FILE_BYTES, spend};
use hutch_documents::diff::{Difference, FileDiff, state_diffs, text_diffs};
use hutch_model::contract::Example;
use hutch_model::digest::{Digest, Kind};
use hutch_model::error_code::ErrorCode;
use hutch_model::outcome::Verdict;
use hutch_model::snapshot::{Change, Layered, Objects};
use hutch_model::terminal::one_line;
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Map, Value};
use std::collections::BTreeMap;
use std::sync::Arc;

/// Bytes of all streams that are shown whole, of calls that ended otherwise than their examples say.
const SHOWN_IN_ALL: usize = 1 << 20;
/// Bytes of a stream that are shown once so much is.
const SHOWN_THEN: usize = 4096;

/// What came of the examples.
pub(crate) struct Trial {
    calls: Vec<Call>,
    /// Examples for which there was no time.
    pub(crate) left_out: usize,
    volumes: BTreeMap<String, Digest>,
    objects: Layered,
}

/// One example, called.
struct Call {
    arguments: Vec<String>,
    status: Option<u8>,
    said: Said,
    /// Why it is not as stated.
    failed: Option<Failed>,
}

/// What a call wrote, standard error behind standard output.
enum Said {
    Text(String),
    /// It is too much, or no text: as the reason says.
    Other(Digest, String),
}

/// An example that is not what its contract says.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Failed {
    arguments: Vec<String>,
    /// The exit status that the contract states, and the one that the call ended with.
    expected: u8,
    exit_status: Option<u8>,
    /// Why.
    message: String,
    /// What it wrote.
    #[serde(flatten)]
    streams: Map<String, Value>,
}

/// How a call's answer differs from what it was.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Answered {
    arguments: Vec<String>,
    #[serde(flatten)]
    difference: Difference,
}

/// What differs between two trials.
#[derive(Debug, Default)]
pub(crate) struct Differences {
    pub(crate) answers: Vec<Answered>,
    pub(crate) state: Vec<FileDiff>,
    /// Paths of the state that differ and are not listed.
    pub(crate) state_omitted: u64,
}

impl Trial {
    /// Makes the calls.
    ///
    /// # Errors
    /// The component can't be run.
    pub(crate) fn of(host: &Host, package: &Package) -> Result<Trial, Fault> {
        let examples = examples(host, package)?;
        let slug = package.manifest().slug().as_str();
        let target = PackageTarget::new(host, package, &asked::Here, slug, Contract::Application)?;
        let (mut target, mut left_out, mut bytes, mut shown) = (target.held_to_schemas(), 0, 0, 0);
        let mut calls = Vec::new();
        for example in examples {
            if !target.has_time() {
                left_out += 1;
                continue;
            }
            // On a state that is thrown away nobody has to be asked; who shows that somebody would be, is shown that.
            let confirmed = example.exit_status != ErrorCode::ConfirmationRequired.exit_status();
            let seen = target.invoke(&example.args, &Options { keep: true, confirmed, ..Options::default() });
            let seen = seen.map_err(|error| Fault::host(error.to_string()))?;
            calls.push(Call::of(example, &seen, target.verdict(), &mut bytes, &mut shown));
        }
        let (volumes, objects) = target.state();
        Ok(Trial { calls, left_out, volumes, objects })
    }

    /// How many calls were made.
    pub(crate) fn total(&self) -> usize {
        self.calls.len()
    }

    /// Those that are not as stated.
    pub(crate) fn failed(&self) -> impl Iterator<Item = &Failed> {
        self.calls.iter().filter_map(|call| call.failed.as_ref())
    }

    /// What is other than in an earlier trial. Calls are the same if their arguments are, in their order.
    ///
    /// # Errors
    /// A state can't be read.
    pub(crate) fn since(&self, earlier: &Trial) -> Result<Differences, Fault> {
        let mut before: BTreeMap<_, _> = numbered(&earlier.calls).collect();
        let (mut arguments, mut texts) = (Vec::new(), Vec::new());
        for (key, call) in numbered(&self.calls) {
            let (change, text) = match before.remove(&key) {
                Some(before) if before.is_like(call) => continue,
                Some(before) => (Change::Modified, before.text()),
                None => (Change::Added, Ok(String::new())),
            };
            arguments.push(call.arguments.clone());
            texts.push((change, text, call.text()));
        }
        for call in before.into_values() {
            arguments.push(call.arguments.clone());
            texts.push((Change::Removed, call.text(), Ok(String::new())));
        }
        let answers = arguments.into_iter().zip(text_diffs(texts));
        let answers = answers.map(|(arguments, difference)| Answered { arguments, difference }).collect();
        let both: [Arc<dyn Objects>; 2] = [Arc::new(earlier.objects.clone()), Arc::new(self.objects.clone())];
        let (state, state_omitted) = state_diffs(&Layered(both.into()), &earlier.volumes, &self.volumes)
            .map_err(|error| Fault::host(error.to_string()))?;
        Ok(Differences { answers, state, state_omitted })
    }
}

/// Each call under its arguments, and how often they were there before.
fn numbered(calls: &[Call]) -> impl Iterator<Item = ((&[String], usize), &Call)> {
    let mut seen: BTreeMap<&[String], usize> = BTreeMap::new();
    calls.iter().map(move |call| {
        let times = seen.entry(&call.arguments).or_default();
        *times += 1;
        ((call.arguments.as_slice(), *times), call)
    })
}

/// The examples of the contract, which the component describes where no file does.
fn examples(host: &Host, package: &Package) -> Result<Vec<Example>, Fault> {
    let described;
    let file = match package.contract()? {
        Some(file) => Some(file),
        None => {
            described = host.describe(package)?.and_then(|described| described.contract);
            described.as_ref()
        }
    };
    let commands = file.map(|file| file.contract().commands.as_slice()).unwrap_or_default();
    Ok(commands.iter().flat_map(|command| command.examples.iter().cloned()).collect())
}

impl Call {
    fn of(example: Example, seen: &Observation, verdict: Option<&Verdict>, bytes: &mut u64, shown: &mut usize) -> Call {
        let bad = match verdict {
            Some(Verdict::Bad { code, message }) => Some((code.exit_status(), message.clone())),
            _ => None,
        };
        // What breaks the contract is seen as the host's own failure.
        let status = seen.status.or(bad.as_ref().map(|(status, _)| *status));
        let message = bad.map_or_else(|| "it ended with another status".to_owned(), |(_, message)| message);
        let failed = (status != Some(example.exit_status)).then(|| {
            let most = if *shown < SHOWN_IN_ALL { SHOWN_BYTES_MAX } else { SHOWN_THEN };
            *shown += seen.stdout.len().min(most) + seen.stderr.len().min(most);
            Failed {
                arguments: example.args.clone(),
                expected: example.exit_status,
                exit_status: status,
                message,
                streams: Shown::streams(&seen.stdout, &seen.stderr, most),
            }
        });
        let said = Said::of([seen.stdout.as_slice(), &seen.stderr].concat(), bytes);
        Call { arguments: example.args, status, said, failed }
    }

    fn is_like(&self, other: &Call) -> bool {
        self.status == other.status
            && match (&self.said, &other.said) {
                (Said::Text(one), Said::Text(other)) => one == other,
                (Said::Other(one, _), Said::Other(other, _)) => one == other,
                _ => false,
            }
    }

    fn text(&self) -> Result<String, String> {
        match &self.said {
            Said::Text(text) => Ok(text.clone()),
            Said::Other(_, reason) => Err(reason.clone()),
        }
    }
}

impl Said {
    /// What was written, if all trials' texts together have room for it.
    fn of(said: Vec<u8>, bytes: &mut u64) -> Said {
        let digest = Digest::of(Kind::Stream, &said);
        let length = said.len() as u64;
        if COMPARED_FILE_BYTES.is_below(length) {
            return Said::Other(digest, COMPARED_FILE_BYTES.passed(length));
        }
        if let Err(reason) = spend(bytes, length, &COMPARED_BYTES) {
            return Said::Other(digest, reason);
        }
        match String::from_utf8(said) {
            Ok(text) => Said::Text(text),
            Err(_) => Said::Other(digest, "it is no text".to_owned()),
        }
    }
}

impl Failed {
    /// As lines for people.
    pub(crate) fn for_people(&self) -> String {
        let ended = self.exit_status.map_or_else(|| "nothing".to_owned(), |status| status.to_string());
        let call = quote::line(self.arguments.iter().map(String::as_str));
        let mut text =
            format!("{}: expected status {}, found {ended}: {}", one_line(&call), self.expected, self.message);
        for stream in ["stdout", "stderr"] {
            for line in self.streams.get(stream).and_then(Value::as_str).unwrap_or_default().lines() {
                text.push_str(&format!("\n  {line}"));
            }
        }
        text
    }
}

impl Answered {
    /// As lines for people.
    pub(crate) fn for_people(&self) -> String {
        self.difference.for_people(&quote::line(self.arguments.iter().map(String::as_str)))
    }
}

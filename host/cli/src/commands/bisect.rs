//! `hutch ledger show --bisect`: the first entry after which a call answers as is asked for, found by making the call on earlier states.
//! Nothing of these runs is kept or written down.

use super::instance::InstanceArguments;
use super::open_package;
use crate::call::asked;
use crate::call::invocation::{InvocationArguments, parse_limit};
use crate::flags::global::Global;
use crate::flags::selection::{Path, is_true};
use crate::refusal::fault::Fault;
use crate::screen::human;
use clap::Args;
use hutch::{EntryName, Mapped};
use hutch_documents::ledger::{Bisected, Tried, found_value};
use hutch_documents::run::Room;
use hutch_model::error_code::ErrorCode;
use hutch_model::error_report::ErrorReport;
use hutch_model::halving::first_of;
use hutch_model::instant::Instant;
use hutch_model::invocation::Seed;
use hutch_model::limits::Limit;
use hutch_model::outcome::Verdict;
use serde_json::Value;

#[derive(Debug, Args)]
pub(super) struct BisectArguments {
    /// The first entry after which the call's answer has something true here, as items[0].id
    #[arg(long, value_name = "PATH", requires = "arguments", conflicts_with = "entry")]
    pub(super) bisect: Option<Path>,
    /// Look from this entry on; else from the first whose state is kept
    #[arg(long, value_name = "ENTRY", requires = "bisect")]
    from: Option<EntryName>,
    /// Up to this entry; else to the last
    #[arg(long, value_name = "ENTRY", requires = "bisect")]
    to: Option<EntryName>,
    /// The guest's clock at the start of each run; else now
    #[arg(long, value_name = "INSTANT", requires = "bisect")]
    now: Option<Instant>,
    /// The seed of each: a number or 64 hex digits; else random
    #[arg(long, value_name = "SEED", requires = "bisect")]
    seed: Option<Seed>,
    /// Set a limit of each run; may be repeated
    #[arg(long = "limit", value_name = "NAME=VALUE", value_parser = parse_limit, requires = "bisect")]
    limits: Vec<(Limit, u64)>,
    /// The call to make, after --
    #[arg(last = true, value_name = "ARGUMENTS", requires = "bisect")]
    arguments: Vec<String>,
}

impl BisectArguments {
    /// The call, as `run` would be asked for it.
    fn invocation(&self, instance: &InstanceArguments) -> InvocationArguments {
        InvocationArguments {
            instance: instance.instance.clone(),
            now: self.now,
            seed: self.seed,
            limits: self.limits.clone(),
            ..InvocationArguments::new(instance.package.clone(), self.arguments.clone())
        }
    }
}

/// The entry, and how it was found.
pub(super) fn found(
    global: &Global,
    own: &BisectArguments,
    path: &Path,
    instance: &InstanceArguments,
) -> Result<Value, Fault> {
    // Looking at what is not there makes nothing.
    let session = instance.open(global)?;
    let asked_from = own.from.as_ref().map_or(Ok(1), |name| session.entry(name).map(|sealed| sealed.sequence))?;
    let to = session.entry(own.to.as_ref().unwrap_or(&EntryName::Last))?.sequence;
    if to < asked_from {
        return Err(Fault::usage("--from is behind --to"));
    }
    let mut invocation = own.invocation(instance);
    let package = open_package(global, &instance.package, invocation.component_bytes_max())?;
    asked::take_silently(&package, &mut invocation)?;
    // What is tried is previewed.
    let preview = Global { dry_run: true, ..global.clone() };
    let host = invocation.host(&preview)?;
    let call = invocation.call(&preview, &host, &package, 0)?;
    let mut job = host.job(&package, &call, None)?;
    let from = job.first_whole(asked_from, to)?;
    let mut tried = Vec::new();
    let first = first_of(from, to, |sequence| -> Result<bool, Fault> {
        job.after(sequence)?;
        let mapped = job.run(&call)?;
        let holds =
            holds(path, &mapped).map_err(|report| Fault::from(report).of(&format!("after entry {sequence}")))?;
        tried.push(Tried { sequence, holds, exit_status: mapped.verdict.exit_status() });
        Ok(holds)
    })?;
    let none = |message: String, advice: &str| -> Fault {
        let report = ErrorReport::new(ErrorCode::NotFound, message).suggest(advice);
        report.detail("from", from).detail("to", to).detail("tried", &tried).into()
    };
    let first = match first {
        None => {
            let message = format!("after entry {to}, the last that was looked at, the answer has nothing true there");
            return Err(none(message, "see in tried how the call ended, or look up to another entry with --to"));
        }
        Some(first) if first == from => {
            let which = if from > asked_from { "can be tried" } else { "was looked at" };
            let message = format!("after entry {from}, the first that {which}, the answer has something true already");
            return Err(none(message, "look from an entry after which it has not, with --from"));
        }
        Some(first) => first,
    };
    let sealed = session.entry(&EntryName::Sequence(first))?;
    let (before, runs, now, seed) = (first - 1, tried.len(), call.clock_start, call.seed);
    Ok(found_value(&session, &sealed, Bisected { before, from, to, runs, tried, now, seed })?)
}

/// Whether a call's answer has something true at a path.
fn holds(path: &Path, mapped: &Mapped) -> Result<bool, ErrorReport> {
    let stdout = match &mapped.verdict {
        Verdict::Good => &mapped.outcome.stdout,
        Verdict::Bad { code, message } => return Err(ErrorReport::new(*code, message.clone())),
        // The application itself says that there is no answer.
        _ => return Ok(false),
    };
    let lost =
        |reason| ErrorReport::new(ErrorCode::AnswerLost, format!("the answer is too large to look into: {reason}"));
    let document = Room::default().document(stdout).map_err(lost)?;
    Ok(document.is_some_and(|document| path.find(&document).is_some_and(|found| is_true(&found))))
}

/// An entry for people, and of one that was found, how.
pub(super) fn told(value: &Value) -> String {
    let (fields, bisect) = (human::fields(value), &value["bisect"]);
    if bisect.is_null() {
        return fields;
    }
    let (before, from, to, runs) = (&bisect["before"], &bisect["from"], &bisect["to"], &bisect["runs"]);
    let how = format!("not so after entry {before}, and so after the next: by halving {from} to {to}, in {runs} runs");
    format!("{how}; if it comes and goes, other entries may be such too\n\n{fields}")
}

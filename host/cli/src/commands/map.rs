//! `hutch map`: many calls over one state, line by line. What a line comes to follows from the line, the package, the state and what the
//! job is given, so that no order, number of threads, shard or machine can change a byte of it.

use super::open_package;
use crate::answer::done::Done;
use crate::answer::output::Output;
use crate::answers::{MapAnswer, MapInput, MapOutput};
use crate::call::invocation::{CONTRACTS, GUARDS, InvocationArguments, parse_limit, parse_pair};
use crate::call::mapped::{Asked, LINE_BYTES_MAX, answered, answers, asked};
use crate::call::memo::MemoArguments;
use crate::call::resumed::{Destination, Resumed};
use crate::flags::choice::one_of;
use crate::flags::global::Global;
use crate::machine::input::{Line, Lines, Source};
use crate::machine::progress;
use crate::refusal::fault::Fault;
use crate::refusal::repair;
use crate::screen::human;
use clap::Args;
use hutch::{Call, EntryName, Job};
use hutch_documents::memo::{finding, tally_value};
use hutch_model::digest::Digest;
use hutch_model::error_code::ErrorCode;
use hutch_model::error_report::ErrorReport;
use hutch_model::instant::Instant;
use hutch_model::invocation::Seed;
use hutch_model::ledger::MapRecord;
use hutch_model::limits::Limit;
use hutch_model::manifest::Guard;
use hutch_model::outcome::Contract;
use hutch_store::InstanceName;
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::str::FromStr;

#[derive(Debug, Args)]
pub(crate) struct MapArguments {
    /// Read the calls from this file; else from standard input
    #[arg(long, value_name = "FILE")]
    input: Option<PathBuf>,
    /// Write the lines to this new file, and not into the answer
    #[arg(long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Print each line, and no other answer
    #[arg(long, conflicts_with = "output")]
    ndjson: bool,
    /// Go on with an output that was not finished
    #[arg(long, requires_all = ["output", "now", "seed"], conflicts_with_all = ["unordered", "fail_fast"])]
    resume: bool,
    /// Make every Nth call, from the Kth on: 0/4 to 3/4
    #[arg(long, value_name = "K/N", requires_all = ["now", "seed"])]
    shard: Option<Shard>,
    /// Calls at once; else as many as there are processors
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=256))]
    threads: Option<u16>,
    /// Write each line as soon as its call ends
    #[arg(long)]
    unordered: bool,
    /// Stop at the first call that does not end well
    #[arg(long)]
    fail_fast: bool,
    /// The entry whose state the calls see; else the last one's
    #[arg(long, value_name = "ENTRY")]
    at: Option<EntryName>,
    /// Refuse any other state than this one, as map answers with it
    #[arg(long, value_name = "DIGEST")]
    expect_state: Option<Digest>,
    /// The instance whose state the calls see
    #[arg(long, value_name = "NAME", default_value = "default")]
    instance: InstanceName,
    /// The guest's clock at the start of each call; now if absent
    #[arg(long, value_name = "INSTANT")]
    now: Option<Instant>,
    /// From this and its id follows each call's seed: a number or 64 hexadecimal digits; else random
    #[arg(long, value_name = "SEED")]
    seed: Option<Seed>,
    /// Set a limit; may be repeated
    #[arg(long = "limit", value_name = "NAME=VALUE", value_parser = parse_limit)]
    limits: Vec<(Limit, u64)>,
    /// Give a value of the environment that it asks for
    #[arg(long = "env", value_name = "NAME=TEXT", value_parser = parse_pair)]
    environment: Vec<(String, String)>,
    /// The same, from this process's environment; kept as a keyed hash
    #[arg(long = "secret", value_name = "NAME")]
    secrets: Vec<String>,
    /// What output is held to; else json
    #[arg(long, value_parser = one_of(CONTRACTS))]
    contract: Option<Contract>,
    /// Hold arguments and effect to no contract
    #[arg(long)]
    unchecked: bool,
    /// How strictly arguments are judged; else as the package says
    #[arg(long, value_parser = one_of(GUARDS))]
    guard: Option<Guard>,
    #[command(flatten)]
    memo: MemoArguments,
    /// A folder, a packed file, or an installed package
    #[arg(value_name = "PACKAGE")]
    package: PathBuf,
    /// The guest's arguments that all calls have; those of a line follow
    #[arg(value_name = "ARGUMENTS", trailing_var_arg = true, allow_hyphen_values = true)]
    arguments: Vec<String>,
}

/// Which of the lines.
#[derive(Debug, Clone, Copy)]
struct Shard {
    first: u64,
    of: u64,
}

impl FromStr for Shard {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Shard, &'static str> {
        let shard = text.split_once('/').and_then(|(first, of)| Some((first.parse().ok()?, of.parse().ok()?)));
        let (first, of) = shard.filter(|(first, of)| first < of).ok_or("expected K/N with K below N, as 0/4")?;
        Ok(Shard { first, of })
    }
}

/// What was made.
#[derive(Default)]
struct Made {
    calls: u64,
    failed: u64,
    /// Where it stopped, if it was to stop.
    stopped: Option<ErrorReport>,
}

pub(crate) fn map(global: &Global, own: MapArguments, output: &Output) -> Result<ExitCode, Fault> {
    if own.ndjson && output.shaping.selects() {
        return Err(Fault::usage("--ndjson prints lines alone, so --query and --fields have nothing to choose from"));
    }
    let invocation = own.invocation();
    let package = open_package(global, &own.package, invocation.component_bytes_max())?;
    let word = own.package.display().to_string();
    let host = invocation.host(global)?;
    let mut call = invocation.call(global, &host, &package, 0)?;
    call.memo = own.memo.sample();
    // What has a path is opened before the ring that judges paths is up.
    let source = own.input.as_deref().map_or(Ok(Source::Stdin), opened)?;
    let (mut destination, existing) = match &own.output {
        Some(path) => Destination::file(path, own.resume, global.dry_run)?,
        None if own.ndjson => (Destination::lines(), None),
        None => (Destination::answer(), None),
    };
    // So is what the system says of processors.
    let threads =
        own.threads.map_or_else(|| std::thread::available_parallelism().map_or(1, std::num::NonZero::get), usize::from);
    let job = host.job(&package, &call, own.at.as_ref());
    let job = job.map_err(|failure| repair::explain(&failure, &global.line, (&package, &word), &call))?;
    let state = job.state();
    if let Some(expected) = own.expect_state.filter(|expected| *expected != state) {
        let message = format!("the calls would see the state {state}, and {expected} was expected");
        let report = ErrorReport::new(ErrorCode::Conflict, message)
            .detail("expected", expected.to_string())
            .detail("found", state.to_string());
        return Err(report.suggest("bring that state here with instance import, or name its entry with --at").into());
    }
    let mut lines = Lines::of(source, LINE_BYTES_MAX, global.wait)?;
    let mut made = Made::default();
    let done = make(&job, &call, (&own, threads), (&mut lines, existing), (&mut destination, output), &mut made);
    let stopped = done.as_ref().err().map(|fault| fault.report().code).or(made.stopped.as_ref().map(|it| it.code));
    let written = destination.finish();
    let mapped = MapRecord {
        calls: made.calls,
        failed: made.failed,
        shard: own.shard.map(|shard| (shard.first, shard.of)),
        input: lines.stream(),
        output: destination.stream(),
        memo: None,
    };
    let remembered = job.memo();
    let entry = job.end(&call, mapped, stopped).map_err(Fault::from);
    done.and(written)?;
    let entry = entry?;
    for finding in remembered.iter().flat_map(|tally| &tally.findings).filter_map(finding) {
        output.remark(&finding);
    }
    if own.output.is_some() {
        output.done(Done::changed(None));
    }
    if let Some(report) = made.stopped {
        let report = report.detail("calls", made.calls).detail("failed", made.failed);
        return Err(match destination.items() {
            Some(items) => report.detail("items", items),
            None => report,
        }
        .into());
    }
    if own.ndjson {
        return Ok(ExitCode::SUCCESS);
    }
    let result = MapAnswer {
        calls: made.calls,
        failed: made.failed,
        resumed: destination.resumed(),
        input: MapInput { digest: mapped.input.digest, bytes: mapped.input.size },
        output: MapOutput { path: own.output, digest: mapped.output.digest, bytes: mapped.output.size },
        state,
        now: call.clock_start,
        seed: call.seed,
        entry: (!global.dry_run).then(|| entry.into()),
        memo: remembered.as_ref().map(tally_value),
        items: destination.items(),
    };
    output.answer("map", result, |result| match result["items"].as_array() {
        Some(items) => human::table(items, &[("id", "ID"), ("status", "STATUS"), ("output", "OUTPUT")]),
        None => human::fields(result).into(),
    })
}

/// Makes the calls that are not in the output yet.
fn make(
    job: &Job<'_>,
    call: &Call,
    (own, threads): (&MapArguments, usize),
    (lines, existing): (&mut Lines, Option<Resumed>),
    (destination, output): (&mut Destination, &Output),
    made: &mut Made,
) -> Result<(), Fault> {
    let mut place = 0_u64;
    let mut mine = lines.by_ref().filter_map(|line| {
        let blank = matches!(&line, Ok(Line::Whole(bytes)) if bytes.trim_ascii().is_empty());
        let at = place;
        place += u64::from(!blank);
        let is_mine = line.is_err() || own.shard.is_none_or(|shard| at % shard.of == shard.first);
        (!blank && is_mine).then(|| line.map(|line| asked(line, call)))
    });
    let cleaned = |mut line: Value| {
        output.shaping.cleaning.value(&mut line);
        line
    };
    if let Some(mut existing) = existing {
        while let Some(line) = existing.next_line()? {
            let asked = mine.next().transpose()?.ok_or_else(|| existing.is_another("is behind the last call"))?;
            made.failed += u64::from(existing.hold(&line, job, asked)?);
            made.calls += 1;
        }
        existing.check(|asked| answered(job, asked).map(|(line, _)| cleaned(line)))?;
        destination.go_on(existing)?;
    }
    let answer = |asked: Asked| answered(job, asked);
    answers(mine, threads, !own.unordered, &answer, |(line, failed)| {
        let line = cleaned(line);
        made.calls += 1;
        progress::count(made.calls);
        made.failed += u64::from(failed.is_some());
        destination.line(&line, output)?;
        if let Some(mut report) = failed.filter(|_| own.fail_fast) {
            report.message = format!("call {}: {}", line["id"], report.message);
            made.stopped = Some(report);
            return Ok(false);
        }
        Ok(!output.is_unread())
    })
}

#[expect(clippy::disallowed_methods, reason = "the caller named the file")]
fn opened(path: &Path) -> Result<Source, Fault> {
    let failed = |error: std::io::Error| Fault::unreadable(path, &error);
    // To open anything else may wait for its other end.
    if !path.metadata().map_err(failed)?.is_file() {
        return Err(Fault::usage(format!("{} is no regular file", path.display()))
            .suggest("leave --input out, and send the lines on standard input"));
    }
    Ok(Source::Open(path.to_owned(), std::fs::File::open(path).map_err(failed)?))
}

impl MapArguments {
    /// What the calls have in common.
    fn invocation(&self) -> InvocationArguments {
        InvocationArguments {
            instance: self.instance.clone(),
            now: self.now,
            seed: self.seed,
            limits: self.limits.clone(),
            environment: self.environment.clone(),
            secrets: self.secrets.clone(),
            contract: self.contract,
            unchecked: self.unchecked,
            guard: self.guard,
            ..InvocationArguments::new(self.package.clone(), self.arguments.clone())
        }
    }
}

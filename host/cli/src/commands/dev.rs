//! `hutch dev`: a package as it is written. Each round builds it, checks it, makes the calls that its contract shows on a state that is
//! thrown away, and says what is other than in the round before. What builds it is a command of the caller's: nothing that stands in a
//! package is ever started.

use super::check;
use crate::answer::output::{Format, Output};
use crate::answers::{DevAnswer, DevExamples};
use crate::call::trial::{Answered, Differences, Failed, Trial};
use crate::flags::global::Global;
use crate::line::quote;
use crate::machine::needs::Needs;
use crate::machine::watch::{Seen, Watch, Which};
use crate::machine::{progress, surroundings};
use crate::package::packages::{self, Place};
use crate::package::trust;
use crate::refusal::fault::{Fault, diagnostics_lines};
use crate::screen::told::Told;
use clap::Args;
use hutch::check_described;
use hutch_documents::diff::FileDiff;
use hutch_model::diagnostic::Diagnostic;
use hutch_model::error_code::ErrorCode;
use hutch_model::error_report::ErrorReport;
use hutch_model::terminal::one_line;
use serde_json::json;
use std::collections::BTreeSet;
use std::io::{Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::process::{ExitCode, Stdio};
use std::time::{Duration, Instant};

/// The last bytes of what a failed build said.
const BUILD_SAID_BYTES: u64 = 8 << 10;
/// How many files that changed are named.
const CHANGED_MAX: usize = 20;

#[derive(Debug, Args)]
pub(crate) struct DevArguments {
    /// A folder with what the package is built from; the current one if absent, and COMMAND is given
    #[arg(long = "watch", value_name = "DIR")]
    watch: Vec<PathBuf>,
    /// Make one round, and end; a round that is not good is then an error
    #[arg(long)]
    once: bool,
    /// The folder that holds APP.md
    #[arg(value_name = "PACKAGE")]
    package: PathBuf,
    /// What builds the package, after --: a program and its arguments, which no shell reads
    #[arg(last = true, value_name = "COMMAND")]
    build: Vec<String>,
}

impl DevArguments {
    /// One round that builds nothing runs guests and ends; others start compilers and programs of the caller's after that.
    pub(crate) fn needs(&self) -> Needs {
        if self.once && self.build.is_empty() { Needs::NOTHING.rings() } else { Needs::NOTHING }
    }
}

/// A package under work.
struct Work<'w> {
    global: &'w Global,
    package: &'w Path,
    build: &'w [String],
    /// What the last round in which the examples were called came to.
    last: Option<Trial>,
}

/// One round.
struct Round {
    /// What the build took, where there was one.
    built: Option<Duration>,
    diagnostics: Vec<Diagnostic>,
    /// How many examples were called, and how many were not for want of time.
    examples: Option<(usize, usize)>,
    differences: Differences,
    error: Option<Fault>,
}

pub(crate) fn dev(global: &Global, own: &DevArguments, output: &Output) -> Result<ExitCode, Fault> {
    let place = packages::place(global, &own.package)?;
    let Place::Local { path, .. } = &place else {
        return Err(Fault::usage("an installed package does not change; name the folder that it is made in"));
    };
    if packages::is_packed(path) {
        return Err(Fault::usage("a packed file is what a folder was packed to; name the folder"));
    }
    trust::admit(&trust::policy(global)?, &place)?;
    let mut work = Work { global, package: path, build: &own.build, last: None };
    if own.once || global.dry_run {
        let round = work.round();
        let value = json!(value(1, &round, &BTreeSet::new(), &BTreeSet::new()));
        if let Some(fault) = round.error {
            return Err(fault.detail("round", value));
        }
        return output.answer("dev", value, |_| told(1, &round, &BTreeSet::new(), &BTreeSet::new()));
    }
    watch(&mut work, &sources(own), output)
}

/// The folders whose changes cause a round, beside the package.
fn sources(own: &DevArguments) -> Vec<PathBuf> {
    let named = match own.watch.as_slice() {
        [] if own.build.is_empty() => Vec::new(),
        [] => vec![PathBuf::from(".")],
        named => named.to_vec(),
    };
    named.iter().map(|path| packages::without_links(path)).collect()
}

/// Round after round, until somebody ends it or nobody reads any more.
fn watch(work: &mut Work<'_>, sources: &[PathBuf], output: &Output) -> Result<ExitCode, Fault> {
    output.follow_one_another();
    let mut watch = Watch::new()?;
    let look = |watch: &mut Watch, package: &Path| {
        let mut looked = sources.iter().map(|folder| watch.look(folder, Which::Sources, Some(package)));
        looked.try_fold(Seen::default(), |seen, more| Ok::<_, Fault>(seen.and(more?)))
    };
    let (mut changed, mut during, mut ignored) = (BTreeSet::new(), BTreeSet::new(), BTreeSet::new());
    for number in 1_u64.. {
        let mut before = look(&mut watch, work.package)?;
        let built = work.build();
        // Taken before the package is read: what changes while it is read causes another round.
        let package = watch.look(work.package, Which::All, None)?;
        let round = work.round_of(built);
        let value = value(number, &round, &changed, &ignored);
        output.answer_as(round.error.is_none(), "dev", value, |_| told(number, &round, &changed, &ignored))?;
        if let Some(fault) = round.error.as_ref().filter(|_| output.format.get() == Format::Human) {
            output.fail(fault);
        }
        let mut waited = false;
        changed = loop {
            if output.is_unread() {
                return Ok(ExitCode::SUCCESS);
            }
            let now = look(&mut watch, work.package)?;
            let mut differing = now.differing(&before);
            if !waited {
                // A build may write what is watched. What differs after two in a row causes no third: that would never end.
                ignored = differing.intersection(&during).cloned().collect();
                during = std::mem::take(&mut differing);
                differing = during.difference(&ignored).cloned().collect();
                before = now;
            }
            differing.extend(watch.look(work.package, Which::All, None)?.differing(&package));
            if !differing.is_empty() {
                break differing;
            }
            watch.wait()?;
            waited = true;
        };
    }
    Ok(ExitCode::SUCCESS)
}

impl Work<'_> {
    fn round(&mut self) -> Round {
        let built = if self.global.dry_run { Ok(None) } else { self.build() };
        self.round_of(built)
    }

    /// Checks and calls what was built.
    fn round_of(&mut self, built: Result<Option<Duration>, Fault>) -> Round {
        let mut round = Round {
            built: None,
            diagnostics: Vec::new(),
            examples: None,
            differences: Differences::default(),
            error: None,
        };
        let done = built.and_then(|built| {
            round.built = built;
            self.call(&mut round)
        });
        round.error = done.err();
        round
    }

    /// Runs the caller's command to its end, and says how long that took.
    #[expect(clippy::disallowed_methods, reason = "the caller wrote the command behind --, to be run here and timed")]
    fn build(&self) -> Result<Option<Duration>, Fault> {
        let [program, arguments @ ..] = self.build else { return Ok(None) };
        let (begun, _step) = (Instant::now(), progress::during("build"));
        let failed = |message: String| ErrorReport::new(ErrorCode::BuildFailed, message).detail("command", self.build);
        let said = tempfile::tempfile().map_err(|error| Fault::host(format!("a temporary file: {error}")))?;
        let heard = || said.try_clone().map(Stdio::from);
        let status = heard().and_then(|stdout| {
            let mut command = std::process::Command::new(program);
            command.args(arguments).stdin(Stdio::null()).stdout(stdout).stderr(heard()?).status()
        });
        let status = status.map_err(|error| Fault::from(failed(format!("{program} can't be started: {error}"))))?;
        if status.success() {
            return Ok(Some(begun.elapsed()));
        }
        let said = last(said).unwrap_or_default();
        let report = failed(format!("{} failed: {status}", quote::line(self.build.iter().map(String::as_str))));
        Err(Fault::from(report.detail("output", said.clone())).seen_as(said))
    }

    fn call(&mut self, round: &mut Round) -> Result<(), Fault> {
        let host = surroundings::host(self.global)?;
        let mut checked = packages::checked(self.package)?;
        check_described(&host, &mut checked)?;
        round.diagnostics = checked.diagnostics;
        if let Some(fault) = check::fault(self.package, &round.diagnostics) {
            return Err(fault);
        }
        let Some(package) = checked.package else { return Err(Fault::no_package(self.package, "it holds none")) };
        let trial = Trial::of(&host, &package)?;
        round.examples = Some((trial.total(), trial.left_out));
        if let Some(last) = &self.last {
            round.differences = trial.since(last)?;
        }
        let failed: Vec<&Failed> = trial.failed().collect();
        let done = match failed.as_slice() {
            [] => Ok(()),
            failed => {
                let message =
                    format!("{} of {} examples did not end as the contract states", failed.len(), trial.total());
                let report = ErrorReport::new(ErrorCode::ExampleFailed, message).detail("failed", failed);
                let seen = failed.iter().map(|failed| failed.for_people()).collect::<Vec<_>>().join("\n");
                Err(Fault::from(report).seen_as(seen))
            }
        };
        self.last = Some(trial);
        done
    }
}

/// The end of what was written to a file, as text.
fn last(mut said: std::fs::File) -> std::io::Result<String> {
    let length = said.seek(SeekFrom::End(0))?;
    said.seek(SeekFrom::Start(length.saturating_sub(BUILD_SAID_BYTES)))?;
    let mut bytes = Vec::new();
    said.take(BUILD_SAID_BYTES).read_to_end(&mut bytes)?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

/// The document about a round.
fn value<'r>(
    number: u64,
    round: &'r Round,
    changed: &BTreeSet<PathBuf>,
    ignored: &BTreeSet<PathBuf>,
) -> DevAnswer<'r, Answered> {
    let named = |paths: &BTreeSet<PathBuf>| {
        paths.iter().take(CHANGED_MAX).map(|path| path.display().to_string()).collect::<Vec<_>>()
    };
    DevAnswer {
        round: number,
        good: round.error.is_none(),
        changed: named(changed),
        changed_total: changed.len(),
        ignored: named(ignored),
        build_ms: round.built.map(|took| u64::try_from(took.as_millis()).unwrap_or(u64::MAX)),
        diagnostics: &round.diagnostics,
        examples: round.examples.map(|(called, left_out)| DevExamples { called, left_out }),
        answers: &round.differences.answers,
        state: &round.differences.state,
        state_omitted: round.differences.state_omitted,
        error: round.error.as_ref().map(Fault::report),
    }
}

/// The same for people: what caused it, and what differs.
fn told(number: u64, round: &Round, changed: &BTreeSet<PathBuf>, ignored: &BTreeSet<PathBuf>) -> Told {
    let here = packages::without_links(Path::new("."));
    let short = |path: &PathBuf| one_line(&path.strip_prefix(&here).unwrap_or(path).display().to_string());
    let cause = match changed.first() {
        None => String::new(),
        Some(first) if changed.len() == 1 => format!(": {}", short(first)),
        Some(first) => format!(": {} and {} more", short(first), changed.len() - 1),
    };
    let mut lines: Vec<String> = Vec::new();
    if !ignored.is_empty() {
        let named = ignored.iter().take(CHANGED_MAX).map(short).collect::<Vec<_>>();
        lines.push(format!("changed during two builds in a row, so no reason for a round: {}", named.join(", ")));
    }
    if let Some(took) = round.built {
        lines.push(format!("built in {:.1} s", took.as_secs_f64()));
    }
    let warnings: Vec<Diagnostic> = round.diagnostics.iter().filter(|problem| !problem.is_error()).cloned().collect();
    if !warnings.is_empty() {
        lines.push(diagnostics_lines(&warnings));
    }
    if let Some((called, left_out)) = round.examples {
        let good = if round.error.is_none() { ", all as stated" } else { "" };
        let rest = if left_out == 0 { String::new() } else { format!(", {left_out} more not for want of time") };
        lines.push(format!("{called} examples called{good}{rest}"));
    }
    lines.extend(round.differences.answers.iter().map(Answered::for_people));
    lines.extend(round.differences.state.iter().map(FileDiff::for_people));
    if round.differences.state_omitted > 0 {
        lines.push(format!("{} more paths of the state differ", round.differences.state_omitted));
    }
    Told::under(format!("round {number}{cause}"), lines.join("\n"))
}

//! A package in the sandbox, on a state that is only in memory: nothing is kept, no home is touched, so every call may be made.
//! Hosted, its gate and its guard stand before it as `hutch run` puts them there; raw, the component alone is called.

use super::{Contract, Facts, Files, Observation, Options, Start, Stdin, TOTAL_TIME, Target, TargetError};
use crate::draw::Draws;
use crate::rule::Finding;
use hutch::package::Package;
use hutch::package::folder_snapshot;
use hutch::{Failure, Host};
use hutch_model::contract::{About, Asked};
use hutch_model::digest::{Digest, Hasher, Kind};
use hutch_model::error_code::ErrorCode;
use hutch_model::error_report::ErrorReport;
use hutch_model::gate::Gate;
use hutch_model::guard;
use hutch_model::instant::Instant;
use hutch_model::invocation::{Access, Invocation, InvocationParts, Seed};
use hutch_model::names::PackagePath;
use hutch_model::outcome::{Contract as Output, Outcome, Verdict};
use hutch_model::snapshot::{Layered, MemoryObjects, Objects, empty_tree};
use hutch_sandbox::{Program, Run, run};
use std::collections::BTreeMap;
use std::sync::Arc;

/// When calls happen where nothing is drawn: 2026-04-01, noon.
const AT_NS: u64 = 1_775_044_800_000_000_000;
/// What somebody who answers questions would type.
const ANSWERS: &[u8] = b"y\nyes\n1\nprobe\n";

/// What each volume holds, and the content.
#[derive(Clone, Default)]
struct State {
    volumes: BTreeMap<String, Digest>,
    objects: MemoryObjects,
}

/// What a host does in an application's place, besides refusing calls: as whoever calls the application through it sees it.
pub trait Hosting {
    /// Refuses what no answer can be shaped by.
    ///
    /// # Errors
    /// There is such a thing.
    fn check(&self, asked: &Asked) -> Result<(), ErrorReport>;

    /// The answer about the application: status 0, on standard output.
    ///
    /// # Errors
    /// There is none.
    fn about(&self, package: &Package, about: About, asked: &Asked, words: &[String]) -> Result<Vec<u8>, ErrorReport>;

    /// An application's good answer, as a call asks for it.
    ///
    /// # Errors
    /// What is chosen is not there.
    fn shaped(&self, asked: &Asked, stdout: &[u8]) -> Result<Vec<u8>, ErrorReport>;

    /// The arguments of each call that a batch on standard input makes of these words.
    ///
    /// # Errors
    /// It is no batch.
    fn batch(&self, package: &Package, words: &[String], stdin: &[u8]) -> Result<Vec<Vec<String>>, ErrorReport>;

    /// The answer to calls that were made one after the other; each with its arguments, and what it printed.
    fn made(&self, calls: &[(Vec<String>, Vec<u8>)]) -> Vec<u8>;

    /// The answer about what would be done, of what the application printed.
    fn previewed(&self, stdout: &[u8]) -> Vec<u8>;
}

/// A package as a target.
pub struct PackageTarget<'p> {
    package: &'p Package,
    hosting: &'p dyn Hosting,
    program: Program,
    limits: hutch_model::limits::Limits,
    facts: Facts,
    resources: State,
    initial: State,
    /// What the kept calls added, the newest last.
    layers: Vec<Arc<MemoryObjects>>,
    current: BTreeMap<String, Digest>,
    /// Whether moments and chances are drawn, or are always the same.
    drawn: bool,
    /// How many calls there were.
    calls: usize,
    /// Whether good answers are held to their declared schemas.
    schemas: bool,
    /// How the component ended last.
    verdict: Option<Verdict>,
    started: std::time::Instant,
}

impl<'p> PackageTarget<'p> {
    /// The package under the contract, from now on: the application contract puts the host before it.
    ///
    /// # Errors
    /// The package's files can't be read, or its component can't be run.
    #[expect(clippy::disallowed_methods, reason = "how long all calls may take is a matter of the host's clock")]
    pub fn new(
        host: &Host,
        package: &'p Package,
        hosting: &'p dyn Hosting,
        name: impl Into<String>,
        contract: Contract,
    ) -> Result<PackageTarget<'p>, Failure> {
        let manifest = package.manifest();
        let limits = host.limits(package, []);
        let program = host.load(package, &limits)?;
        let (mut initial, mut resources) = (State::default(), State::default());
        for path in manifest.volumes() {
            let tree = folder_snapshot(package, path, &mut initial.objects)?;
            initial.volumes.insert(path.to_string(), tree);
        }
        for path in manifest.resources() {
            let tree = folder_snapshot(package, path, &mut resources.objects)?;
            resources.volumes.insert(path.to_string(), tree);
        }
        let described = package.contract()?.map(|file| file.contract());
        let codes = described.map(|contract| {
            contract.errors.iter().map(|failure| (failure.code.clone(), failure.exit_status)).collect()
        });
        let facts = Facts {
            contract,
            component: true,
            environment: manifest.environment().iter().map(ToString::to_string).collect(),
            files: Some(files(package)),
            stored_description: described.map(|own| match contract {
                Contract::Application => own.with_hosted().to_document(),
                Contract::CommandLine => own.to_document(),
            }),
            stored_codes: codes.unwrap_or_default(),
            host_codes: match contract {
                Contract::Application => host_codes(),
                Contract::CommandLine => Vec::new(),
            },
            host_tools: described.map(hutch_model::contract::Contract::tools).unwrap_or_default(),
            ..Facts::sandboxed(name)
        };
        let current = initial.volumes.clone();
        // The one way to what calls guests beside the host.
        host.enclose_alone(package)?;
        Ok(PackageTarget {
            package,
            hosting,
            program,
            limits,
            facts,
            resources,
            initial,
            layers: Vec::new(),
            current,
            drawn: false,
            calls: 0,
            schemas: false,
            verdict: None,
            started: std::time::Instant::now(),
        })
    }

    /// The same, with words, moments and chances that are drawn.
    #[must_use]
    pub fn drawn(mut self, draws: Draws) -> PackageTarget<'p> {
        self.facts.draws = draws;
        self.facts.stored_description.iter_mut().for_each(|description| draws.move_examples(description));
        PackageTarget { drawn: true, ..self }
    }

    /// The same, with each good answer held to the schema that the package declares for it.
    #[must_use]
    pub fn held_to_schemas(self) -> PackageTarget<'p> {
        PackageTarget { schemas: true, ..self }
    }

    /// The same, with what became of an issue about it: a host's doing is a fact once it was done.
    #[must_use]
    pub fn with_feedback(mut self, findings: BTreeMap<&'static str, Finding>) -> PackageTarget<'p> {
        self.facts.host_feedback = findings;
        self
    }

    /// How the component ended in the last call; `None` where the host alone answered.
    pub fn verdict(&self) -> Option<&Verdict> {
        self.verdict.as_ref()
    }

    /// What the kept calls left, by volume, and what that consists of.
    pub fn state(&self) -> (BTreeMap<String, Digest>, Layered) {
        (self.current.clone(), Layered(self.objects()))
    }

    fn objects(&self) -> Vec<Arc<dyn Objects>> {
        let given: [Arc<dyn Objects>; 2] =
            [Arc::new(self.initial.objects.clone()), Arc::new(self.resources.objects.clone())];
        given.into_iter().chain(self.layers.iter().map(|layer| layer.clone() as Arc<dyn Objects>)).collect()
    }

    /// What the host says before the guest starts, if it says no.
    fn refusal(&self, args: &[String], confirmed: bool) -> Option<ErrorReport> {
        if self.facts.contract == Contract::CommandLine {
            return None;
        }
        let manifest = self.package.manifest();
        let contract = match self.package.contract() {
            Ok(file) => file.map(|file| file.contract()),
            Err(changed) => return Some(Failure::from(changed).report()),
        };
        let decision = Gate::new(manifest, contract).decide(args);
        let command = decision.command.as_ref().map(|command| command.as_str());
        if let Err(violation) = guard::check(args, manifest.guard(), contract, command) {
            return Some(Failure::Guard(violation).report());
        }
        if let Some(reason) = decision.confirmation.filter(|_| !confirmed) {
            return Some(Failure::Confirmation { reason }.report());
        }
        match hutch::argument_violations(self.package, args) {
            Ok(violations) => (!violations.is_empty()).then(|| Failure::Arguments { violations }.report()),
            Err(changed) => Some(Failure::from(changed).report()),
        }
    }

    fn invocation(&self, args: &[String], options: &Options) -> Result<Invocation, Failure> {
        let manifest = self.package.manifest();
        let mut argv = vec![manifest.slug().to_string()];
        argv.extend(manifest.entry().arguments().iter().chain(args).cloned());
        let stdin = match &options.stdin {
            Stdin::Bytes(bytes) => bytes.clone(),
            Stdin::HeldOpen => ANSWERS.to_vec(),
            Stdin::Empty => Vec::new(),
        };
        let (at_ns, seed) = match self.drawn {
            true => self.facts.draws.moment(options.moment, self.calls),
            false => (AT_NS, Seed::default()),
        };
        let declared = |name: &String| self.facts.environment.contains(name);
        let volumes = manifest.volumes().iter().map(|path| (path.to_string(), Access::ReadWrite));
        let resources = manifest.resources().iter().map(|path| (path.to_string(), Access::ReadOnly));
        Ok(Invocation::new(InvocationParts {
            mounts: Default::default(),
            argv,
            // Only what the package asks for can reach it.
            environment: options.environment.iter().filter(|(name, _)| declared(name)).cloned().collect(),
            stdin,
            clock_start: Instant::from_unix_ns(at_ns),
            seed,
            limits: self.limits.clone(),
            preopens: volumes.chain(resources).collect(),
        })?)
    }

    fn run(&self, invocation: &Invocation, volumes: &BTreeMap<String, Digest>) -> Result<Run, TargetError> {
        let mut state = self.resources.volumes.clone();
        state.extend(volumes.clone());
        run(&self.program, invocation, &state, Arc::new(Layered(self.objects())))
            .map_err(|error| TargetError::Host(error.to_string()))
    }
}

impl PackageTarget<'_> {
    /// What the host answers in the application's place, if the call asks it for anything.
    fn hosted(&mut self, args: &[String], options: &Options) -> Result<Option<Observation>, TargetError> {
        if self.facts.contract == Contract::CommandLine {
            return Ok(None);
        }
        let asked = hutch::asked(self.package, args).map_err(|error| TargetError::Host(error.to_string()))?;
        if !asked.is_anything() {
            return Ok(None);
        }
        let left = asked.left(args);
        let at = match options.start {
            Start::Initial => named(&self.initial.volumes),
            Start::Current => named(&self.current),
        };
        if let Err(report) = self.hosting.check(&asked) {
            return Ok(Some(refused(&report, at)));
        }
        if let Some(about) = asked.about {
            return Ok(Some(match self.hosting.about(self.package, about, &asked, &left) {
                Ok(stdout) => {
                    let (status, state) = (Some(0), Some((at, at)));
                    Observation { stdout, status, state, by_host: true, ..Observation::default() }
                }
                Err(report) => refused(&report, at),
            }));
        }
        if asked.batch {
            return self.hosted_batch(&left, options, at).map(Some);
        }
        // A preview asks for no confirmation.
        let (confirmed, keep) = (options.confirmed || asked.dry_run, options.keep && !asked.dry_run);
        let mut seen = self.call(&left, &Options { confirmed, keep, ..options.clone() })?;
        if seen.status != Some(0) || seen.by_host {
            return Ok(Some(seen));
        }
        if asked.dry_run {
            seen.stdout = self.hosting.previewed(&seen.stdout);
            seen.state = Some((at, at));
            seen.by_host = true;
        }
        if asked.quiet {
            seen.stderr.clear();
        }
        Ok(Some(match self.hosting.shaped(&asked, &seen.stdout) {
            Ok(stdout) => Observation { by_host: seen.by_host || stdout != seen.stdout, stdout, ..seen },
            Err(report) => Observation { state: seen.state, ..refused(&report, at) },
        }))
    }

    /// One call for each entry of a batch, as long as they end well.
    fn hosted_batch(&mut self, words: &[String], options: &Options, at: Digest) -> Result<Observation, TargetError> {
        let stdin = match &options.stdin {
            Stdin::Bytes(stdin) => stdin.as_slice(),
            Stdin::Empty | Stdin::HeldOpen => &[],
        };
        let calls = match self.hosting.batch(self.package, words, stdin) {
            Ok(calls) => calls,
            Err(report) => return Ok(refused(&report, at)),
        };
        let (layers, current) = (self.layers.len(), self.current.clone());
        let (mut made, mut end) = (Vec::new(), None);
        for (nth, call) in calls.into_iter().enumerate() {
            let start = if nth == 0 { options.start } else { Start::Current };
            let seen = self.call(&call, &Options { stdin: Stdin::Empty, start, keep: true, ..options.clone() })?;
            if seen.status != Some(0) {
                end = Some(seen);
                break;
            }
            made.push((call, seen.stdout));
        }
        let after = if made.is_empty() { at } else { named(&self.current) };
        if !options.keep {
            self.layers.truncate(layers);
            self.current = current;
        }
        let state = Some((at, after));
        Ok(match end {
            Some(end) => Observation { state, ..end },
            None => {
                let (stdout, status) = (self.hosting.made(&made), Some(0));
                Observation { stdout, status, state, by_host: true, ..Observation::default() }
            }
        })
    }
}

/// A call that the host refused.
fn refused(report: &ErrorReport, at: Digest) -> Observation {
    Observation {
        stderr: serde_json::to_vec(report).unwrap_or_default(),
        status: Some(report.code.exit_status()),
        state: Some((at, at)),
        by_host: true,
        ..Observation::default()
    }
}

impl PackageTarget<'_> {
    /// One call of the component, or more where the host makes them of it.
    fn call(&mut self, args: &[String], options: &Options) -> Result<Observation, TargetError> {
        let volumes = match options.start {
            Start::Initial => self.initial.volumes.clone(),
            Start::Current => self.current.clone(),
        };
        let before = named(&volumes);
        self.calls += 1;
        self.verdict = None;
        if let Some(seen) = self.hosted(args, options)? {
            return Ok(seen);
        }
        if let Some(report) = self.refusal(args, options.confirmed) {
            return Ok(refused(&report, before));
        }
        let invocation = match self.invocation(args, options) {
            Ok(invocation) => invocation,
            Err(failure) => return Ok(refused(&failure.report(), before)),
        };
        let ran = self.run(&invocation, &volumes)?;
        let mut would_wait = false;
        if options.stdin == Stdin::HeldOpen
            && let Ok(silent) = self.invocation(args, &Options { stdin: Stdin::Empty, ..options.clone() })
        {
            // The sandbox lets no guest wait: whoever looks at what it is offered would have.
            let silent = self.run(&silent, &volumes)?.outcome;
            let seen = |outcome: &Outcome| (outcome.fuel, outcome.stdout.clone(), outcome.stderr.clone());
            would_wait = seen(&silent) != seen(&ran.outcome);
        }
        let output = match self.facts.contract {
            Contract::Application => {
                hutch::usual_output(self.package, args).map_err(|error| TargetError::Host(error.to_string()))?
            }
            Contract::CommandLine => Output::Any,
        };
        let verdict = match self.schemas {
            true => hutch::verdict_by_schema(self.package, args, &ran.outcome, output)
                .map_err(|failure| TargetError::Host(failure.to_string()))?,
            false => ran.outcome.verdict(output),
        };
        let mut after = volumes;
        if verdict == Verdict::Good {
            after.extend(ran.after.volumes.iter().map(|(name, volume)| (name.clone(), volume.after)));
            if options.keep {
                self.layers.push(Arc::new(ran.after.objects.clone()));
                self.current = after.clone();
            }
        }
        let mut seen = Observation {
            stdout: options.cleaning.bytes(&ran.outcome.stdout).into_owned(),
            stderr: options.cleaning.bytes(&ran.outcome.stderr).into_owned(),
            status: ran.outcome.ending.exit_status(),
            timed_out: would_wait
                || matches!(&verdict, Verdict::Bad { code: ErrorCode::WallTimeLimit | ErrorCode::FuelLimit, .. }),
            state: Some((before, named(&after))),
            by_host: false,
        };
        if let Verdict::Bad { code: code @ ErrorCode::ContractViolation, message } = &verdict {
            let report = ErrorReport::new(*code, message.clone());
            seen = Observation { stderr: serde_json::to_vec(&report).unwrap_or_default(), ..seen };
            seen.status = Some(code.exit_status());
        }
        self.verdict = Some(verdict);
        Ok(seen)
    }
}

impl Target for PackageTarget<'_> {
    fn facts(&self) -> &Facts {
        &self.facts
    }

    fn invoke(&mut self, args: &[String], options: &Options) -> Result<Observation, TargetError> {
        // What the host makes of one call happens when that does.
        self.call(args, &Options { moment: options.when(), ..options.clone() })
    }

    fn has_time(&self) -> bool {
        self.started.elapsed() < TOTAL_TIME
    }

    fn program(&mut self) -> Result<Option<Digest>, TargetError> {
        Ok(Some(self.program.digest()))
    }
}

fn host_codes() -> Vec<(String, u8)> {
    ErrorCode::ALL.iter().map(|code| (code.text().to_owned(), code.exit_status())).collect()
}

/// One name for all volumes.
fn named(volumes: &BTreeMap<String, Digest>) -> Digest {
    let mut hasher = Hasher::new(Kind::Package);
    for (name, digest) in volumes {
        hasher.update_part(name.as_bytes());
        hasher.update_part(digest.as_bytes());
    }
    if volumes.is_empty() { empty_tree() } else { hasher.finish() }
}

/// The files that rules are about. What can't be read is not there.
fn files(package: &Package) -> Files {
    let mut files = Files::default();
    let mut read = |path: &PackagePath| {
        if let Some(text) = package.read(path).ok().and_then(|bytes| String::from_utf8(bytes).ok()) {
            files.0.insert(path.to_string(), text);
        }
    };
    for name in ["AGENTS.md", "CHANGELOG.md"] {
        if let Ok(path) = PackagePath::parse(name) {
            read(&path);
        }
    }
    for folder in ["agent", "skills"] {
        let entries = PackagePath::parse(folder).ok().and_then(|folder| package.entries(&folder).ok());
        for entry in entries.into_iter().flatten().filter(|entry| entry.file_bytes.is_some()) {
            read(&entry.path);
        }
    }
    files
}

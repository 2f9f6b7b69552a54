//! A request, carried out: by the library that the command line uses, and answered with the same documents.

use crate::deadline::Under;
use crate::library::{Answer, Library};
use crate::options::Opened;
use crate::request::{Apply, Command, Common, Invoke, Prove, Request, Undo, Verify, entry_name, opened, usage};
use crate::surroundings::{existing, unusable};
use hutch::installed::{Installed, InstalledError};
use hutch::package::{Memory, Outline, Package, PackageBounds, Source, SourceError};
use hutch::proof::Proof;
use hutch::{EntryName, Failure, Instance, Sealed, Session};
use hutch_documents::diff::file_diffs;
use hutch_documents::moved::moved_value;
use hutch_documents::proved::{Checked, Proved};
use hutch_documents::run::{Room, plan_value, run_value};
use hutch_documents::verified::verified_value;
use hutch_documents::{envelope, ledger, state};
use hutch_model::error_code::ErrorCode;
use hutch_model::error_report::ErrorReport;
use hutch_model::ledger::Origin;
use hutch_model::limits::Limit;
use hutch_model::names::Slug;
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;

type Done = Result<Answer, ErrorReport>;

fn report(failure: impl Into<Failure>) -> ErrorReport {
    failure.into().report()
}

fn done(command: &str, result: Value) -> Answer {
    Answer::of(0, &envelope(true, command, result))
}

/// What a request works on.
struct Work<'l> {
    library: &'l Library,
    common: Common,
    under: Under<'l>,
}

impl Library {
    pub(crate) fn carry_out(&self, request: Request, stdin: &[u8]) -> Done {
        let Request { mut common, command } = request;
        let under = self.calls.begin(common.id.take(), common.deadline_ms)?;
        under.check()?;
        let reads = |command: &Command| match command {
            Command::Run(_) | Command::Plan(_) => true,
            Command::Prove(prove) => prove.check,
            _ => false,
        };
        if !stdin.is_empty() && !reads(&command) {
            return Err(usage("nothing but run, plan and the check of a proof reads an input"));
        }
        let work = Work { library: self, common, under };
        #[cfg(test)]
        crate::breaking::here("carrying out");
        match command {
            Command::Run(invoke) => work.run(invoke, stdin),
            Command::Plan(invoke) => work.plan(invoke, stdin),
            Command::Apply(apply) => work.apply(apply),
            Command::Undo(undo) => work.undo(&undo),
            Command::Verify(verify) => work.verify(&verify),
            Command::Prove(prove) if prove.check => work.check(&prove, stdin),
            Command::Prove(prove) => work.prove(&prove),
            Command::LedgerList(list) => {
                let page = list.page()?;
                let value = if list.bytes { ledger::stored_value } else { ledger::list_value };
                Ok(done("ledger list", value(&work.session()?, &page).map_err(report)?))
            }
            Command::LedgerShow(own) => {
                let session = work.session()?;
                let name = optional(own.entry.as_deref())?.unwrap_or(EntryName::Last);
                let sealed = session.entry(&name).map_err(report)?;
                Ok(done("ledger show", ledger::entry_value(&session, &sealed).map_err(report)?))
            }
            Command::StateCat(files) => {
                let (page, at) = (files.page()?, optional(files.entry.as_deref())?);
                let value = state::path_value(&work.session()?, at.as_ref(), files.path.as_deref(), &page);
                Ok(done("state cat", value.map_err(report)?.map_err(|report| *report)?))
            }
            Command::StateDiff(_) => Ok(done("state diff", state::outside_value(&work.session()?).map_err(report)?)),
            Command::Meta(_) => {
                let package = work.package(None)?;
                let contract = package.contract().map_err(report)?;
                let missing = || usage("the package declares no commands");
                Ok(done("meta", json!({ "tools": contract.ok_or_else(missing)?.contract().tools() })))
            }
        }
    }
}

impl Work<'_> {
    fn opened(&self) -> &Arc<Opened> {
        &self.library.opened
    }

    /// The package that is meant: what is at that path, else what is installed under that slug, as on the command line.
    fn package(&self, component_bytes_max: Option<u64>) -> Result<Package, ErrorReport> {
        let (word, opened) = (self.common.package.as_str(), self.opened());
        let bounds = component_bytes_max.map_or_else(PackageBounds::default, PackageBounds::with_component);
        let memory = opened.cache.as_ref().map(|cache| Memory::new(Arc::clone(cache), self.common.at()));
        let slug = word.strip_prefix("installed:");
        if let Some(path) = existing(Path::new(word)).filter(|_| slug.is_none()) {
            let source = self.source(&path, &bounds)?;
            let package = match &memory {
                Some(memory) => Package::open_remembered(&source, bounds, memory),
                None => Package::open(&source, bounds),
            };
            return Ok(package.map_err(report)?.from_origin(Origin::path(&path.to_string_lossy())));
        }
        let missing = |why: String| {
            let report = ErrorReport::new(ErrorCode::PackageNotFound, format!("there is no package {word}: {why}"));
            report.suggest("name a folder that holds APP.md, a packed file, or an installed package")
        };
        let Some(home) = &opened.home else { return Err(missing("nothing is at that path".to_owned())) };
        let slug = Slug::parse(slug.unwrap_or(word)).map_err(|error| missing(error.to_string()))?;
        let installed = Installed::of(home);
        let package = installed.pin(&slug).and_then(|pin| installed.open(&pin, bounds, memory.as_ref()));
        package.map_err(|error| match error {
            InstalledError::Missing(_) => missing("nothing is at that path or installed under that slug".to_owned()),
            error => ErrorReport::new(error.code(), error.to_string()),
        })
    }

    fn source(&self, path: &Path, bounds: &PackageBounds) -> Result<Source, ErrorReport> {
        Source::open(path, bounds).map_err(|error| match error {
            SourceError::Package(error) => report(error),
            SourceError::Io(error) => unusable(Path::new(&self.common.package), &error),
        })
    }

    /// The slug of a package, of which nothing else need be there; it may be gone.
    fn slug(&self) -> Result<Slug, ErrorReport> {
        let word = self.common.package.as_str();
        let named = word.strip_prefix("installed:");
        match existing(Path::new(word)).filter(|_| named.is_none()) {
            Some(path) => {
                let outline = Outline::open(self.source(&path, &PackageBounds::default())?).map_err(report)?;
                Ok(outline.manifest().slug().clone())
            }
            None => Slug::parse(named.unwrap_or(word)).map_err(|error| {
                ErrorReport::new(ErrorCode::PackageNotFound, format!("there is no package {word}: {error}"))
            }),
        }
    }

    /// An instance that is there.
    fn session(&self) -> Result<Session, ErrorReport> {
        let (slug, instance) = (self.slug()?, self.common.instance()?);
        self.opened().host.open_existing(&slug, &instance, self.common.at()).map_err(report)
    }

    /// An instance of a package whose runs the call's deadline ends.
    fn instance<'i>(&'i self, package: &'i Package) -> Result<Instance<'i>, ErrorReport> {
        let instance = self.common.instance()?;
        let open = self.opened().host.instance(package, &instance, self.common.at()).map_err(report)?;
        Ok(open.on_behalf(None, self.under.stop.clone()))
    }

    /// Has what `load` makes ready of a package, which may take long, if somebody might not want to wait for it: else it is done where it is run.
    fn load(
        &self,
        package: &Arc<Package>,
        stack_bytes: u64,
        load: impl FnOnce(&Opened, &Package) -> Result<(), ErrorReport> + Send + 'static,
    ) -> Result<(), ErrorReport> {
        if !self.under.can_be_stopped() {
            return Ok(());
        }
        let (opened, package) = (Arc::clone(self.opened()), Arc::clone(package));
        let name = (package.component_digest(), stack_bytes);
        self.opened().loading.wait(&self.under, name, move || load(&opened, &package))
    }

    /// A package that is ready to run. What can't be made ready in time is refused, without an entry.
    fn ready(&self, invoke: &Invoke) -> Result<Arc<Package>, ErrorReport> {
        let limits = invoke.limits.clone();
        let package = Arc::new(self.package(limits.get(&Limit::Component).copied())?);
        let stack_bytes = self.opened().host.limits(&package, limits.clone()).get(Limit::Stack);
        self.load(&package, stack_bytes, move |opened, package| {
            let limits = opened.host.limits(package, limits);
            opened.host.load(package, &limits).map(|_| ()).map_err(|failure| failure.report())
        })?;
        Ok(package)
    }

    /// A package that is ready to run entries again.
    fn ready_again(&self, entries: &[Sealed]) -> Result<Arc<Package>, ErrorReport> {
        let package = Arc::new(self.package(None)?);
        let mut ready = BTreeSet::new();
        for sealed in entries {
            let recorded = sealed.open().ok().and_then(|entry| entry.record.invocation);
            let Some(stack_bytes) = recorded.map(|invocation| invocation.limits.get(Limit::Stack)) else { continue };
            if !ready.insert(stack_bytes) {
                continue;
            }
            let sealed = sealed.clone();
            self.load(&package, stack_bytes, move |opened, package| {
                // What is wrong is said where it is run.
                opened.host.load_again(package, &sealed);
                Ok(())
            })?;
        }
        Ok(package)
    }

    fn run(&self, invoke: Invoke, stdin: &[u8]) -> Done {
        let package = self.ready(&invoke)?;
        let call = invoke.call(&self.common, stdin)?;
        let answer = self.instance(&package)?.run(&call).map_err(report)?;
        #[cfg(test)]
        crate::breaking::here("running");
        let answered = match run_value(&answer, &mut Room::default()) {
            Ok(value) => Answer::of(answer.status(), &envelope(answer.status() == 0, "run", value)),
            // That the run failed matters more than that it can't be shown.
            Err(lost) => Answer::from(recorded(answer.failure().unwrap_or(lost), &answer)),
        };
        Ok(with_streams(answered, answer))
    }

    fn plan(&self, invoke: Invoke, stdin: &[u8]) -> Done {
        invoke.check_plan()?;
        let package = self.ready(&invoke)?;
        let call = invoke.call(&self.common, stdin)?;
        let host = &self.opened().host;
        // The guest of a plan starts without it; who applies the plan must know.
        let confirmation = host.validate(&package, &call).ok().and_then(|validated| validated.confirmation);
        let answer = self.instance(&package)?.plan(&call).map_err(report)?;
        let value = plan_value(&answer, host, confirmation.as_deref(), &file_diffs(&answer));
        ended("plan", answer, value)
    }

    fn apply(&self, apply: Apply) -> Done {
        let plan = entry_name(&apply.plan)?;
        // Of what is not there, it is said where it is applied.
        let planned = self.session().ok().and_then(|session| match &plan {
            EntryName::Last => session.last_plan().ok().flatten(),
            plan => session.entry(plan).ok(),
        });
        let package = self.ready_again(planned.as_slice())?;
        let session = self.instance(&package)?.session(self.common.at()).map_err(report)?;
        let session = session.with_wall_time_us(apply.wall_time_us);
        let host = &self.opened().host;
        let answer = host.apply(&package, &session, &plan, &apply.grants()?).map_err(report)?;
        let value = run_value(&answer, &mut Room::default());
        ended("apply", answer, value)
    }

    fn undo(&self, undo: &Undo) -> Done {
        let count = undo.count()?;
        if [undo.count.is_some(), undo.entry.is_some(), undo.to.is_some()].iter().filter(|said| **said).count() > 1 {
            return Err(usage("one of a count of changes, an entry to go before, and an entry to go to"));
        }
        let (entry, to) = (optional(undo.entry.as_deref())?, optional(undo.to.as_deref())?);
        let session = self.session()?;
        self.under.check()?;
        let moved = match (&entry, &to) {
            (None, None) => session.undo_last(count, &opened(undo.mounts.clone())?),
            (Some(entry), _) => session.undo(entry),
            (None, Some(to)) => session.restore(to),
        };
        Ok(done("undo", moved_value(&session, &moved.map_err(report)?)))
    }

    fn verify(&self, verify: &Verify) -> Done {
        if verify.entry.is_some() && verify.all {
            return Err(usage("either an entry or all of them"));
        }
        // Looking at what is not there makes nothing.
        let session = self.session()?;
        let entries = match optional(verify.entry.as_deref())? {
            None if verify.all => session.entries(1).collect::<Result<Vec<_>, _>>().map_err(report)?,
            entry => session.entry_or_last_run(entry.as_ref()).map_err(report)?.into_iter().collect(),
        };
        let package = self.ready_again(&entries)?;
        let session = self.instance(&package)?.session(self.common.at()).map_err(report)?;
        let mut verified = Vec::new();
        for sealed in &entries {
            self.under.check()?;
            let one = self.opened().host.verify(&package, &session, sealed, &verify.secrets).map_err(report)?;
            verified.push((sealed.pin(), one));
        }
        verified_value(&verified, verify.all).map(|(value, _)| done("verify", json!(value)))
    }
}

impl Work<'_> {
    fn prove(&self, prove: &Prove) -> Done {
        if !prove.limits.is_empty() {
            return Err(usage("limits are for the check of a proof"));
        }
        // Looking at what is not there makes nothing.
        let session = self.session()?;
        let entry = optional(prove.entry.as_deref())?;
        let sealed = session.entry_to_prove(entry.as_ref()).map_err(report)?;
        let package = self.ready_again(std::slice::from_ref(&sealed))?;
        let session = self.instance(&package)?.session(self.common.at()).map_err(report)?;
        self.under.check()?;
        let proof = self.opened().host.prove(&package, &session, &sealed, !prove.bare).map_err(report)?;
        let answer = done("prove", json!(Proved::from(&proof)));
        Ok(Answer { stdout: proof.written().map_err(report)?, ..answer })
    }

    fn check(&self, prove: &Prove, file: &[u8]) -> Done {
        if prove.entry.is_some() || prove.bare {
            return Err(usage("an entry, and bare, are for making a proof"));
        }
        let proof = Proof::read(file).map_err(report)?;
        let brought = if self.common.package.is_empty() {
            let brought = proof.package(PackageBounds::default()).map_err(report)?;
            Some(brought.ok_or_else(|| usage("the proof has no package in it: name the one that made the run"))?)
        } else {
            None
        };
        let package = brought.map_or_else(|| self.package(None), Ok)?;
        let limits: Vec<_> = prove.limits.iter().map(|(limit, value)| (*limit, *value)).collect();
        self.under.check()?;
        let outcome = self.opened().host.check_proof(&package, &proof, self.common.at(), &limits).map_err(report)?;
        let answer = done("prove", json!(Checked::of(&proof, &outcome)?));
        Ok(Answer { stdout: outcome.stdout, stderr: outcome.stderr, ..answer })
    }
}

/// A run that ended well, or a report with the run among its details.
fn ended(command: &str, answer: hutch::Answer, value: Result<Value, ErrorReport>) -> Done {
    let answered = match (answer.failure(), value) {
        (None, Ok(value)) => done(command, value),
        (Some(failure), Ok(value)) => {
            let status = answer.status();
            Answer { status, ..Answer::from(recorded(failure.detail("run", value), &answer)) }
        }
        (failure, Err(lost)) => Answer::from(recorded(failure.unwrap_or(lost), &answer)),
    };
    Ok(with_streams(answered, answer))
}

/// What the ledger says of a run that can't be told whole.
fn recorded(report: ErrorReport, answer: &hutch::Answer) -> ErrorReport {
    let entry = json!({ "sequence": answer.entry.sequence, "hash": answer.entry.hash });
    report.detail("kept", answer.kept).detail("entry", entry)
}

fn with_streams(answered: Answer, answer: hutch::Answer) -> Answer {
    Answer { stdout: answer.outcome.stdout, stderr: answer.outcome.stderr, ..answered }
}

fn optional(text: Option<&str>) -> Result<Option<EntryName>, ErrorReport> {
    text.map(entry_name).transpose()
}

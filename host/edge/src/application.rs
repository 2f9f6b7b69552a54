//! One application, open, and a call of it.

use crate::asked::Asked;
use crate::input::WAIT;
use crate::report::{Done, of, print, tell};
use crate::state::StateFile;
use crate::surroundings::{now, random_seed};
use hutch::package::{Package, PackageBounds, Source};
use hutch::{Answer, Call, Exported, Failure, Host, Session};
use hutch_model::error_report::ErrorReport;
use hutch_model::instant::Instant;
use hutch_model::ledger::{Origin, SecretKey};
use hutch_model::limits::Limit;
use hutch_sandbox::{Backend, LoadError, Sandbox, artifact_header};
use hutch_store::{InstanceName, MemoryStore, Store};
use std::process::ExitCode;
use std::sync::Arc;

/// An application that can be run.
pub(crate) struct Application {
    package: Package,
    host: Host,
    store: MemoryStore,
}

/// What code may be made for, to be run here.
fn backends() -> [Backend; 2] {
    let interpreter = if cfg!(target_pointer_width = "64") { Backend::Interpreter64 } else { Backend::Interpreter32 };
    [Backend::Native, interpreter]
}

impl Application {
    /// Opens a bundle. Whoever made it is believed: its code is run as it is.
    ///
    /// # Errors
    /// It holds no sound package, or code for something else.
    pub(crate) fn open(Exported { packed, artifact }: Exported) -> Result<Application, ErrorReport> {
        let (header, _) = artifact_header(&artifact).map_err(of)?;
        let backend = backends().into_iter().find(|backend| backend.name() == header.target).ok_or_else(|| {
            of(LoadError::Elsewhere { target: header.target, has: backends().map(|backend| backend.name()).into() })
        })?;
        let bounds = PackageBounds::with_component(Limit::Component.info().most);
        let source = Source::packed_in_memory(packed, &bounds).map_err(of)?;
        // What was made ready on purpose, and is used under its name: what installing is elsewhere.
        let package = Package::open(&source, bounds).map_err(of)?.from_origin(Origin::installed());
        if header.component != package.component_digest() {
            return Err(of(Failure::Bundle { reason: "has code that was made of another component" }));
        }
        let sandbox = Sandbox::of_artifacts(backend);
        #[allow(unsafe_code, reason = "what this program is for is running code that its operator exported")]
        // SAFETY: whoever starts this program names the bundle, and vouches for it as for a program.
        let given = unsafe { sandbox.give(artifact) };
        given.map_err(of)?;
        // No secret ever comes here that the ledger could name by a hash.
        let store = MemoryStore::new(SecretKey::new([0; 32]));
        let kept = store.clone();
        let host = Host::with_stores(Arc::new(move |_, _| Ok(Arc::new(kept.clone()))), sandbox);
        Ok(Application { package, host, store })
    }

    pub(crate) fn package(&self) -> &Package {
        &self.package
    }

    /// The instance that its state file holds, under this name; now, if nobody says otherwise.
    pub(crate) fn session(&self, instance: &InstanceName, at: Option<Instant>) -> Result<Session, ErrorReport> {
        let at = at.unwrap_or_else(now);
        self.host.open_existing(self.package.manifest().slug(), instance, at).map_err(of)
    }

    /// The place of its last entry.
    pub(crate) fn last(&self) -> Result<u64, ErrorReport> {
        Ok(self.store.head().map_err(of)?.last.sequence)
    }

    pub(crate) fn host(&self) -> &Host {
        &self.host
    }

    pub(crate) fn store(&self) -> &MemoryStore {
        &self.store
    }

    /// Makes one call, keeps what it leaves, and prints what the guest did.
    pub(crate) fn run(&self, asked: Asked, arguments: Vec<String>) -> Done {
        let take = |path| StateFile::take(&self.store, self.package.manifest().slug(), path);
        let state = asked.state.clone().map(take).transpose()?;
        let before = self.last()?;
        let call = self.call(asked, arguments)?;
        let answered = self.host.run(&self.package, &call);
        if let Some(state) = state {
            // What failed is written down too.
            state.keep(&self.store, before)?;
        }
        finish(&answered.map_err(of)?)
    }

    fn call(&self, asked: Asked, arguments: Vec<String>) -> Result<Call, ErrorReport> {
        let at = asked.at.unwrap_or_else(now);
        let granted = self.host.limits(&self.package, asked.limits.clone());
        let stdin =
            asked.stdin.map(|source| source.read(granted.get(Limit::Stdin), asked.wait.unwrap_or(WAIT))).transpose()?;
        let seed = asked.seed.map_or_else(random_seed, Ok)?;
        let mut call = Call::new(arguments, at, seed).in_instance(asked.instance);
        call.stdin = stdin.unwrap_or_default();
        call.clock_start = asked.now.unwrap_or(at);
        (call.environment, call.limits) = (asked.environment, asked.limits);
        (call.contract, call.guard) = (asked.contract, asked.guard);
        (call.unchecked, call.confirmed) = (asked.unchecked, asked.confirmed);
        call.wall_time_us = asked.wall_time_us;
        Ok(call)
    }
}

/// Answers as the guest did.
fn finish(answer: &Answer) -> Done {
    if let Some(report) = answer.bad_end() {
        return Ok(tell(&report, None));
    }
    if let Some(report) = answer.own_failure().filter(|_| answer.is_silent()) {
        return Ok(tell(&report, Some(answer.status())));
    }
    print(&answer.outcome.stdout, &answer.outcome.stderr)
        .map(|()| ExitCode::from(answer.status()))
        .map_err(|report| report.detail("kept", answer.kept))
}

//! Recorded invocations again: for real on the current state (replay), or on the recorded state to compare every byte (verify).

use crate::answer::Answer;
use crate::call::Grants;
use crate::entries::EntryName;
use crate::execute::{Executed, execute};
use crate::failure::{Failure, Unkept};
use crate::host::Host;
use crate::package::Package;
use crate::plan::differences;
use crate::prepare::Prepared;
use crate::session::Session;
use hutch_model::diagnostic::short;
use hutch_model::error_code::ErrorCode;
use hutch_model::ledger::{EntryKind, Record, Sealed};
use hutch_model::outcome::{Unreproducible, Verdict};
use hutch_model::snapshot::Objects;
use hutch_store::{State, StoreError, VolumeName};
use std::collections::BTreeMap;
use std::sync::Arc;

/// What re-execution of an entry showed.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum Verified {
    /// Everything is equal.
    Equal,
    /// These are not: `ending`, `stdout`, `stderr`, `fuel`, `memory_peak_bytes`, `refused`, `error`, `volume …`; `kept`, where a state was kept
    /// of a bad end; `folder …`, which the run could not change; or `kept …`, where the bytes that were kept of a stream are not those that the
    /// entry names.
    Differs(Vec<String>),
    /// It can't be had again here; why.
    NotReproducible(String),
    /// No guest ran: there is nothing to compare.
    NoRun,
}

impl Verified {
    /// `equal`, `differs`, `not_reproducible` or `no_run`.
    pub const fn name(&self) -> &'static str {
        match self {
            Verified::Equal => "equal",
            Verified::Differs(_) => "differs",
            Verified::NotReproducible(_) => "not_reproducible",
            Verified::NoRun => "no_run",
        }
    }
}

impl Host {
    /// Issues the invocation of an entry again, for real and on the current state, with everything as recorded.
    ///
    /// # Errors
    /// There is no such entry or invocation; or as for [`Host::run`].
    pub fn replay(
        &self,
        package: &Package,
        session: &Session,
        name: &EntryName,
        grants: &Grants,
        retries: u32,
    ) -> Result<Answer, Failure> {
        let session = &self.of_package(EntryKind::Replay, package, session)?;
        let sealed = session.recorded(EntryKind::Replay, session.entry(name))?;
        let record = Record { follows: Some(sealed.hash), ..session.record(EntryKind::Replay) };
        let recorded = sealed.open().map_err(|error| (Failure::Entry(error), Some(Box::new(record.clone()))));
        let prepared = recorded
            .and_then(|entry| self.admit_again(package, session, (entry.sequence, &entry.record), grants, &record))
            .map_err(|(failure, unrecorded)| session.noted(unrecorded, failure))?;
        self.run_and_keep(session, &prepared, record, (retries, None))
    }

    /// The invocation that was recorded in a place, ready to be made again for real; `record` is what is to be written down of that.
    pub(crate) fn admit_again(
        &self,
        package: &Package,
        session: &Session,
        (sequence, recorded): (u64, &Record),
        grants: &Grants,
        record: &Record,
    ) -> Result<Prepared, Unkept> {
        let mut prepared = self
            .prepare_again(package, recorded, session, grants)
            .map_err(|failure| (failure, Some(Box::new(record.clone()))))?;
        prepared.record.confirmed = grants.confirmed;
        match self.confirm(package, session, (sequence, recorded), record.kind, &mut prepared) {
            Ok(()) => Ok(prepared.on_behalf_of(session)),
            Err(failure) => {
                let invocation = Some(prepared.record);
                Err((failure, Some(Box::new(Record { invocation, ..record.clone() }))))
            }
        }
    }

    /// Loads what [`verify`](Host::verify) of this entry would, for a process that is to be enclosed: nothing is compiled there. What is wrong is
    /// said there.
    pub fn load_again(&self, package: &Package, sealed: &Sealed) {
        let recorded = sealed.open().ok().map(|entry| entry.record).filter(|record| record.outcome.is_some());
        let same = |record: &Record| record.package.component.is_none_or(|it| it == package.component_digest());
        if let Some(invocation) = recorded.filter(same).and_then(|record| record.invocation) {
            let _ = self.load(package, &invocation.limits);
        }
    }

    /// Executes an entry's invocation again on the state that it saw, and compares. Changes nothing.
    ///
    /// # Errors
    /// The store or the host failed.
    pub fn verify(
        &self,
        package: &Package,
        session: &Session,
        sealed: &Sealed,
        secrets: &BTreeMap<String, String>,
    ) -> Result<Verified, Failure> {
        self.verify_given(package, session, sealed, &Grants { secrets: secrets.clone(), ..Grants::default() })
    }

    /// The same, with whatever its invocation is given again.
    pub(crate) fn verify_given(
        &self,
        package: &Package,
        session: &Session,
        sealed: &Sealed,
        grants: &Grants,
    ) -> Result<Verified, Failure> {
        let made = self.verify_over(session.objects(), package, session, sealed, grants)?;
        Ok(made.map_or_else(|verified| verified, |_| Verified::Equal))
    }

    /// The same, where the content of its state is read from `stored`: what was run, if everything is equal.
    pub(crate) fn verify_over(
        &self,
        stored: Arc<dyn Objects>,
        package: &Package,
        session: &Session,
        sealed: &Sealed,
        grants: &Grants,
    ) -> Result<Result<Executed, Verified>, Failure> {
        let not_again = |reason: String| Ok(Err(Verified::NotReproducible(reason)));
        let recorded = sealed.open().map_err(Failure::Entry)?.record;
        let damaged = damaged_streams(session, &recorded)?;
        if !damaged.is_empty() {
            return Ok(Err(Verified::Differs(damaged)));
        }
        let Some(outcome) = &recorded.outcome else { return Ok(Err(Verified::NoRun)) };
        if let Some(reason) = outcome.unreproducible.first() {
            return not_again(on_the_host(*reason));
        }
        if outcome.profile != hutch_sandbox::profile() {
            return not_again(format!("it was made under the engine profile {}", short(&outcome.profile)));
        }
        if sealed.sequence < session.head()?.retained_from {
            return not_again("its state is not kept any more".to_owned());
        }
        let prepared = match self.prepare_again(package, &recorded, session, grants) {
            Err(Failure::NotAgain { reason }) => return not_again(reason),
            prepared => prepared?.on_behalf_of(session),
        };
        let mut state = State::new();
        for (name, volume) in &recorded.volumes {
            if let (Ok(name), Some(before)) = (name.parse::<VolumeName>(), volume.before) {
                state.insert(name, before);
            }
        }
        let executed = execute(&prepared, stored, &state)?;
        // Such as that this host takes longer than the run may.
        if let Some(reason) = executed.outcome.unreproducible.first() {
            return not_again(format!("{} now", on_the_host(*reason)));
        }
        // What an answer is by itself it is now too: what was broken then is what another version says of the command.
        if recorded.error == Some(ErrorCode::ContractViolation)
            && executed.verdict == Verdict::Good
            && recorded.package.digest != Some(package.run_digest()?)
        {
            return not_again("it was held to the contract of another version of the package".to_owned());
        }
        let differences = differences(&recorded, &executed);
        Ok(if differences.is_empty() { Ok(executed) } else { Err(Verified::Differs(differences)) })
    }
}

fn on_the_host(reason: Unreproducible) -> String {
    format!("its outcome depends on the host: {reason:?}").to_lowercase()
}

/// The kept streams of an entry that are not what it names.
fn damaged_streams(session: &Session, recorded: &Record) -> Result<Vec<String>, Failure> {
    let written =
        recorded.outcome.as_ref().map(|outcome| [("kept stdout", outcome.stdout), ("kept stderr", outcome.stderr)]);
    let read = recorded.invocation.as_ref().map(|invocation| ("kept stdin", invocation.stdin));
    let inputs = recorded.invocation.as_ref().and_then(|invocation| Some(("kept arguments", invocation.inputs?)));
    let mut damaged = Vec::new();
    for (name, stream) in written.into_iter().flatten().chain(read).chain(inputs) {
        match session.store().stream(&stream.digest) {
            Err(StoreError::Damaged { .. }) => damaged.push(name.to_owned()),
            other => drop(other?),
        }
    }
    Ok(damaged)
}

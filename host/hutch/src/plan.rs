//! Preview and commit: a plan is a run of which only the record is kept; applying it runs it again on the same state and compares,
//! because a record is to be checked, not trusted.

use crate::answer::Answer;
use crate::call::{Call, Grants};
use crate::entries::EntryName;
use crate::execute::{Executed, execute};
use crate::failure::{Failure, Unkept};
use crate::grants::Wished;
use crate::host::Host;
use crate::package::Package;
use crate::run::{attempt, conclude};
use crate::session::Session;
use hutch_model::diagnostic::short;
use hutch_model::ledger::{Entry, EntryKind, OutcomeRecord, Record, Sealed};
use hutch_model::outcome::Verdict;
use std::collections::BTreeSet;

impl Host {
    /// Runs a call on the current state and keeps only the record. Its entry is the plan's name. No confirmation is needed.
    ///
    /// # Errors
    /// As for [`Host::run`].
    pub fn plan(&self, package: &Package, call: &Call) -> Result<Answer, Failure> {
        let session = self.open_for(EntryKind::Plan, package, &call.instance, call.at)?;
        self.plan_in(&session, package, call)
    }

    /// Plans in an instance that is ready for it.
    pub(crate) fn plan_in(&self, session: &Session, package: &Package, call: &Call) -> Result<Answer, Failure> {
        let edits = session.recorded(EntryKind::Plan, session.absorb_edits())?;
        let prepared = self.admit(package, call, session, EntryKind::Plan)?;
        let record = session.record(EntryKind::Plan);
        let executed = attempt(session, &prepared, &record, None)?;
        let answer = conclude(session, &prepared, executed, record, false, None);
        let answer = answer.map_err(|(failure, unrecorded)| session.noted(unrecorded, failure))?;
        Ok(Answer { skipped: edits.skipped, ..answer })
    }

    /// Commits what a plan said, if the state is still the one it saw and the run comes to the same again. `last` is the last plan,
    /// whatever was recorded after it. A plan of a command that asks for a confirmation needs it as the run does, and a plan that was made
    /// over real folders changes them if they are granted again and what it replaces or takes away there looks as it did.
    ///
    /// # Errors
    /// There is no such plan; it is not confirmed; a secret or folder is missing or another; the state or what it replaces in a folder has
    /// changed; the run came to something else than the plan said.
    pub fn apply(
        &self,
        package: &Package,
        session: &Session,
        plan: &EntryName,
        grants: &Grants,
    ) -> Result<Answer, Failure> {
        let session = &self.of_package(EntryKind::Apply, package, session)?;
        let sealed = match plan {
            // The last entry is not the last any more once an edit is recorded.
            EntryName::Last => session.last_plan().and_then(|plan| plan.ok_or(Failure::NoPlan)),
            plan => session.entry(plan),
        };
        let sealed = session.recorded(EntryKind::Apply, sealed)?;
        let record = Record { follows: Some(sealed.hash), ..session.record(EntryKind::Apply) };
        let planned = self.apply_sealed(package, session, &sealed, grants, record);
        planned.map_err(|(failure, unrecorded)| session.noted(unrecorded, failure))
    }

    fn apply_sealed(
        &self,
        package: &Package,
        session: &Session,
        sealed: &Sealed,
        grants: &Grants,
        record: Record,
    ) -> Result<Answer, Unkept> {
        let refused = |failure| (failure, Some(Box::new(record.clone())));
        let edits = session.absorb_edits().map_err(refused)?;
        let entry = sealed.open().map_err(|error| refused(Failure::Entry(error)))?;
        let Entry { record: planned, sequence, .. } = entry;
        if planned.kind != EntryKind::Plan {
            return Err(refused(Failure::NotAPlan { sequence }));
        }
        let prepared = self.admit_again(package, session, (sequence, &planned), grants, &record)?;
        let invoked = Record { invocation: Some(prepared.record.clone()), ..record.clone() };
        let refused = |failure| (failure, Some(Box::new(invoked.clone())));
        let head = session.head().map_err(refused)?;
        for (name, volume) in &planned.volumes {
            if head.state.get(name.as_str()).copied() != volume.before {
                return Err(refused(Failure::PlanStale { sequence, volume: name.clone() }));
            }
        }
        let executed = execute(&prepared, session.objects(), &head.state).map_err(refused)?;
        let wished = Wished::of(&executed.granted(&prepared), &executed.all).map_err(refused)?.folders;
        let mut differences = differences(&planned, &executed);
        for name in planned.folders.keys().chain(wished.keys()).collect::<BTreeSet<_>>() {
            let (was, is) = (planned.folders.get(name), wished.get(name));
            if let (Some(was), Some(is)) = (was, is)
                && was.path != is.path
            {
                let reason = format!("it is about {}, and {name} is {} now", was.path, is.path);
                return Err(refused(Failure::NotAgain { reason }));
            }
            if was.map(|was| was.before) != is.map(|is| is.before) {
                return Err(refused(Failure::PlanStale { sequence, volume: name.clone() }));
            }
            if was.map(|was| was.after) != is.map(|is| is.after) {
                differences.push(format!("folder {name}"));
            }
        }
        if !differences.is_empty() {
            return Err(refused(Failure::PlanDiffers { sequence, differences }));
        }
        let kept = executed.verdict == Verdict::Good;
        let answer = conclude(session, &prepared, executed, record, kept, None)?;
        Ok(Answer { skipped: edits.skipped, ..answer })
    }
}

/// Where a run came to something else than was recorded, of all that follows from what went into it: the names are those of
/// [`Verified::Differs`](crate::Verified).
pub(crate) fn differences(recorded: &Record, executed: &Executed) -> Vec<String> {
    let mut differences = Vec::new();
    let Some(was) = &recorded.outcome else { return vec!["outcome".to_owned()] };
    let is = OutcomeRecord::of(&executed.outcome, &executed.measured);
    let mut compare = |name: &str, equal: bool| {
        if !equal {
            differences.push(name.to_owned());
        }
    };
    compare("ending", was.ending == is.ending);
    compare("stdout", was.stdout == is.stdout);
    compare("stderr", was.stderr == is.stderr);
    // A lower bound says nothing about another one.
    compare("fuel", was.fuel_exact == is.fuel_exact && (!is.fuel_exact || was.fuel == is.fuel));
    compare("memory_peak_bytes", was.memory_peak_bytes == is.memory_peak_bytes);
    compare("refused", was.refused == is.refused);
    let error = match &executed.verdict {
        Verdict::Bad { code, .. } => Some(*code),
        _ => None,
    };
    // Whatever the end was, the host may have been unable to write it down, or to keep what it left.
    let is_the_hosts = !recorded.kept && recorded.error.is_some_and(|code| !Verdict::may_be(code));
    compare("error", recorded.error == error || is_the_hosts);
    // Nothing is kept of a bad end.
    compare("kept", !recorded.kept || executed.verdict == Verdict::Good);
    let names: BTreeSet<_> = recorded.volumes.keys().chain(executed.volumes.keys()).collect();
    for name in names {
        let equal = match (recorded.volumes.get(name), executed.volumes.get(name)) {
            (Some(was), Some(is)) => is.is_recorded_as(was),
            _ => false,
        };
        compare(&format!("volume {}", short(name)), equal);
    }
    for name in recorded.folders.keys() {
        compare(&format!("folder {}", short(name)), executed.mounted.contains_key(name));
    }
    differences
}

//! Preview and commit: a plan is a run of which only the record is kept; applying it runs it again on the same state and compares,
//! because a record is to be checked, not trusted.

use crate::call::Call;
use crate::entries::EntryName;
use crate::failure::Failure;
use crate::host::Host;
use crate::package::Package;
use crate::run::{Answer, Executed, conclude, execute};
use hutch_model::ledger::{Entry, EntryKind, InvocationRecord, Record};
use hutch_store::InstanceName;
use std::collections::BTreeMap;

impl Host {
    /// Runs a call on the current state and keeps only the record. Its entry is the plan's name. No confirmation is needed.
    ///
    /// # Errors
    /// As for [`Host::run`].
    pub fn plan(&self, package: &Package, call: &Call) -> Result<Answer, Failure> {
        let session = self.open(package, &call.instance, call.at)?;
        session.absorb_edits(&self.limits(package, []))?;
        let prepared = self.admit(package, call, &session, EntryKind::Plan)?;
        let executed = execute(&prepared, &session, &session.head()?.state)?;
        conclude(&session, &prepared, executed, session.record(EntryKind::Plan), false)
    }

    /// Commits what a plan said, if the state is still the one it saw and the run comes to the same again. That the plan was looked
    /// at is the confirmation of a command that asks for one.
    ///
    /// # Errors
    /// There is no such plan; the state has changed; the run came to something else than the plan said.
    pub fn apply(
        &self,
        package: &Package,
        instance: &InstanceName,
        plan: &EntryName,
        secrets: &BTreeMap<String, String>,
        at: hutch_model::instant::Instant,
    ) -> Result<Answer, Failure> {
        let session = self.open(package, instance, at)?;
        // The last entry is not the last any more once an edit is recorded.
        let sealed = session.entry(plan)?;
        session.absorb_edits(&self.limits(package, []))?;
        let Entry { record: planned, sequence, .. } = sealed.open().map_err(Failure::Entry)?;
        if planned.kind != EntryKind::Plan {
            return Err(Failure::NotAPlan { sequence });
        }
        let mut prepared = self.prepare_again(package, &planned, session.store(), secrets)?;
        prepared.record = InvocationRecord { confirmed: true, ..prepared.record };
        let head = session.head()?;
        for (name, volume) in &planned.volumes {
            let now = head.state.get(name.as_str()).copied();
            if now != volume.before {
                return Err(Failure::PlanStale { sequence, volume: name.clone() });
            }
        }
        let executed = execute(&prepared, &session, &head.state)?;
        let differences = differences(&planned, &executed);
        if !differences.is_empty() {
            return Err(Failure::PlanDiffers { sequence, differences });
        }
        let follows = Some(sealed.hash);
        let kept = executed.verdict == hutch_model::outcome::Verdict::Good;
        let record = Record { follows, ..session.record(EntryKind::Apply) };
        conclude(&session, &prepared, executed, record, kept)
    }
}

/// Where a run came to something else than was recorded: `stdout`, `stderr`, `ending`, `fuel` or a volume's name.
pub(crate) fn differences(recorded: &Record, executed: &Executed) -> Vec<String> {
    let mut differences = Vec::new();
    let Some(was) = &recorded.outcome else { return vec!["outcome".to_owned()] };
    let is = hutch_model::ledger::OutcomeRecord::of(&executed.outcome, &executed.measured);
    let mut compare = |name: &str, equal: bool| {
        if !equal {
            differences.push(name.to_owned());
        }
    };
    compare("ending", was.ending == is.ending);
    compare("stdout", was.stdout == is.stdout);
    compare("stderr", was.stderr == is.stderr);
    compare("fuel", was.fuel == is.fuel || !(was.fuel_exact && is.fuel_exact));
    compare("memory_peak_bytes", was.memory_peak_bytes == is.memory_peak_bytes);
    for (name, volume) in &recorded.volumes {
        let after = executed.volumes.get(name).map(|change| change.after);
        compare(&format!("volume {name}"), after == Some(volume.after));
    }
    differences
}

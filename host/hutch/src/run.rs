//! A run, step by step. Everything else in this crate that starts a guest goes through the same steps, from where it comes in:
//!
//! 1. the instance is opened ([`Host::open`]): it belongs to the package, and has its volumes;
//! 2. the call is admitted ([`Host::prepare`]): arguments, grants, confirmation; the program is loaded;
//! 3. the guest runs over the state ([`execute`]), and touches nothing;
//! 4. what people changed meanwhile where it looked is taken in, and it runs again ([`Session::absorb_edits`]);
//! 5. its end is recorded, and its state kept or not ([`conclude`]); granted folders with it, or not at all.
//!
//! Whatever the end, the ledger has one entry of it.

use crate::answer::{Answer, Edits, WITHHELD_MAX};
use crate::call::Call;
use crate::execute::{Executed, Ground, execute_over};
use crate::failure::{Failure, Unkept};
use crate::grants::{Settled, Wished};
use crate::host::Host;
use crate::memo::Recall;
use crate::package::Package;
use crate::prepare::{Prepared, Refused};
use crate::remembered::Remembered;
use crate::session::Session;
use crate::turns::Turn;
use hutch_model::acted_on::is_acted_on;
use hutch_model::ledger::{EntryKind, OutcomeRecord, Record, VolumeRecord};
use hutch_model::limits::Limit;
use hutch_model::outcome::Verdict;
use hutch_model::snapshot::{Change, Changes, PathChange};
use hutch_store::StoreError;

/// How often a run is repeated because what it touched was changed outside meanwhile.
const EDITED_MAX: u32 = 8;

impl Host {
    /// Runs `package` as `call` says and keeps the state if its end is good.
    ///
    /// # Errors
    /// Everything that is not the guest's own end. It is recorded too.
    pub fn run(&self, package: &Package, call: &Call) -> Result<Answer, Failure> {
        let session = self.open_for(EntryKind::Run, package, &call.instance, call.at)?;
        self.run_in(&session, package, call)
    }

    /// Runs in an instance that is ready for it.
    pub(crate) fn run_in(&self, session: &Session, package: &Package, call: &Call) -> Result<Answer, Failure> {
        let prepared = self.admit(package, call, session, EntryKind::Run)?;
        let recall = Recall::of(session, call, EntryKind::Run);
        self.run_and_keep(session, &prepared, session.record(EntryKind::Run), (call.retries, recall))
    }

    /// Prepares a call; one that is refused is recorded.
    pub(crate) fn admit(
        &self,
        package: &Package,
        call: &Call,
        session: &Session,
        kind: EntryKind,
    ) -> Result<Prepared, Failure> {
        let prepared = self.prepare(package, call, session, kind == EntryKind::Plan);
        prepared.map(|prepared| prepared.on_behalf_of(session)).map_err(|refused| {
            let Refused { failure, invocation } = refused;
            let invocation = invocation.map(|record| *record);
            session.note(Record { invocation, ..session.record(kind) }, *failure)
        })
    }

    /// Runs over the state as it is now and keeps what a good end leaves, as `record`; repeats it if the state changed meanwhile,
    /// up to `retries` times. What `recall` finds may take the place of a run: as nobody then knows where that would have looked, all that
    /// was changed outside is taken in first.
    pub(crate) fn run_and_keep(
        &self,
        session: &Session,
        prepared: &Prepared,
        record: Record,
        (retries, mut recall): (u32, Option<Recall>),
    ) -> Result<Answer, Failure> {
        let _going = session.turns.begin();
        let (mut conflicts, mut edited, mut edits) = (0, 0, Edits::default());
        let mut changes = prepared.changes;
        loop {
            let turn = if changes { session.turn() } else { None };
            if recall.is_some() {
                edits = session.recorded(record.kind, session.absorb_edits())?;
            }
            let executed = attempt(session, prepared, &record, recall.as_ref())?;
            let is_edited = session.is_edited(&executed).and_then(|is_edited| {
                if is_edited && edited < EDITED_MAX {
                    edits = session.absorb_edits()?;
                }
                Ok(is_edited && edited < EDITED_MAX && !edits.entries.is_empty())
            });
            let is_edited = is_edited.map_err(|failure| {
                session.note(concluded(session, prepared, &executed, record.clone(), false), failure)
            })?;
            if is_edited {
                edited += 1;
                continue;
            }
            let kept = executed.verdict == Verdict::Good;
            let is_reused = executed.memo.as_ref().is_some_and(Remembered::is_reused);
            match conclude(session, prepared, executed, record.clone(), kept, turn) {
                Err((Failure::Store(StoreError::Conflict { .. }), _)) if conflicts < retries => {
                    conflicts += 1;
                    changes = true;
                }
                // What another run had left half done was taken back.
                Err((Failure::Store(StoreError::Changed { .. }), Some(_))) if edited < EDITED_MAX => edited += 1,
                // What the outcome left was there a moment ago, and is collected by now.
                Err((Failure::Store(StoreError::Missing { .. }), Some(_))) if is_reused => recall = None,
                Err((failure, unrecorded)) => return Err(session.noted(unrecorded, failure)),
                Ok(answer) => return Ok(Answer { skipped: edits.skipped, ..answer }),
            }
        }
    }
}

/// Executes over the state as it is now, unless an outcome is found that takes the place of that; a failure of the host is recorded.
pub(crate) fn attempt(
    session: &Session,
    prepared: &Prepared,
    record: &Record,
    recall: Option<&Recall>,
) -> Result<Executed, Failure> {
    let executed = session.head().and_then(|head| {
        session.check_request(&head)?;
        let ground = Ground::of(prepared, session.objects(), &head.state);
        let executed = match recall {
            Some(recall) => recall.execute(prepared, &ground, true)?,
            None => execute_over(prepared, &ground)?,
        };
        Ok(Executed { saw: head.changed, ..executed })
    });
    executed.map_err(|failure| {
        let invocation = Some(prepared.record.clone());
        session.note(Record { invocation, ..record.clone() }, failure)
    })
}

/// What the ledger says of a run.
fn concluded(session: &Session, prepared: &Prepared, executed: &Executed, record: Record, kept: bool) -> Record {
    let volumes = executed.volumes.iter().map(|(name, change)| {
        let record = VolumeRecord::new(Some(change.before), change.after, change.changes.clone());
        (name.clone(), record)
    });
    Record {
        invocation: Some(prepared.record.clone()),
        outcome: Some(OutcomeRecord::of(&executed.outcome, &executed.measured)),
        error: match &executed.verdict {
            Verdict::Bad { code, .. } => Some(*code),
            _ => None,
        },
        volumes: volumes.collect(),
        owner: session.owner(),
        kept,
        memo: executed.memo.as_ref().and_then(Remembered::record).cloned(),
        ..record
    }
}

/// What of a volume's changes its plain directory does not show.
fn unshown<'c>(volume: &'c str, changes: &'c Changes) -> impl Iterator<Item = String> + 'c {
    let comes = |change: &&PathChange| change.change != Change::Removed;
    let paths = changes.listed.iter().filter(comes).map(move |change| format!("{volume}/{}", change.path));
    paths.filter(|path| is_acted_on(path))
}

/// Records a run as `record` says, and keeps its state or not. `turn` ends when the next run can see that.
///
/// # Errors
/// With the record of what happened, if nothing is written down of it yet: the run may be repeated first.
pub(crate) fn conclude(
    session: &Session,
    prepared: &Prepared,
    executed: Executed,
    record: Record,
    kept: bool,
    turn: Option<Turn<'_>>,
) -> Result<Answer, Unkept> {
    let kept = kept && session.keeps();
    let record = concluded(session, prepared, &executed, record, kept);
    let streams = prepared.streams(&executed.outcome);
    let granted = if kept || record.kind == EntryKind::Plan { executed.granted(prepared) } else { Vec::new() };
    let is_reading = record.is_reading();
    let settled = match granted.is_empty() || !kept {
        true => {
            let refused = |failure, record| (failure, Some(Box::new(Record { kept: false, ..record })));
            let Wished { folders, changes, withheld } = match Wished::of(&granted, &executed.all) {
                Ok(wished) => wished,
                Err(failure) => return Err(refused(failure, record)),
            };
            let record = Record { folders, ..record };
            let parts = (&record, &executed.objects, &streams);
            let committed = match session.turns.are_shared() {
                true => session.store.append(parts.0, parts.1, parts.2),
                false => session.store.commit(parts.0, parts.1, parts.2),
            };
            Settled { sealed: committed.map_err(|error| refused(error.into(), record))?, changes, withheld }
        }
        false => {
            session.commit_with_folders(&record, &executed.objects, (&executed.all, &streams), (&granted, None))?
        }
    };
    drop(turn);
    let Settled { sealed, changes, mut withheld } = settled;
    // What is answered stays, and so does what the answer follows from.
    let last = if is_reading { executed.saw } else { sealed.sequence };
    session.store.settle(last).map_err(|error| (error.into(), None))?;
    let behind = session.update_plain_within(prepared.invocation.limits().get(Limit::WallTime));
    if kept && session.has_plain() {
        withheld.extend(executed.volumes.iter().flat_map(|(name, volume)| unshown(name, &volume.changes)));
    }
    let withheld_omitted = withheld.len().saturating_sub(WITHHELD_MAX) as u64;
    withheld.truncate(WITHHELD_MAX);
    let Executed { outcome, verdict, measured, volumes, mut mounted, all, stdin_read, memo, .. } = executed;
    for (name, changes) in changes {
        if let Some(change) = mounted.get_mut(&name) {
            change.changes = changes;
        }
    }
    Ok(Answer {
        outcome,
        verdict,
        kept,
        volumes,
        mounted,
        withheld,
        withheld_omitted,
        objects: all,
        measured,
        entry: sealed.pin(),
        behind,
        skipped: Default::default(),
        stdin_read,
        memo,
    })
}

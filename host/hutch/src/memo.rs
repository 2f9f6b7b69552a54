//! Runs that need not be made: an outcome that was kept for an equal call takes the place of one, but for a sample, which is run and
//! compared. A memo is believed no more than that, and missed without harm: whatever is wrong with it, the guest runs.

use crate::call::Call;
use crate::execute::{Executed, Ground, Left, execute_over, judged};
use crate::failure::Failure;
use crate::prepare::Prepared;
use crate::remembered::Remembered;
use crate::session::Session;
use hutch_model::digest::{Digest, Kind};
use hutch_model::instant::Instant;
use hutch_model::invocation::Access;
use hutch_model::ledger::{EntryKind, Maker, MemoRecord, MemoUse};
use hutch_model::memo::{Kept, Keys, is_sample};
use hutch_model::outcome::{Measured, Outcome};
use hutch_model::snapshot::{MemoryObjects, Objects, empty_tree};
use hutch_store::{Memo, StoreError};
use std::collections::{BTreeMap, BTreeSet};
use std::num::NonZeroU32;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

/// A memo, for the calls of one instance.
pub(crate) struct Recall {
    /// None where there is none.
    memo: Option<Arc<dyn Memo>>,
    /// One of so many that are found is run and compared.
    sample: NonZeroU32,
    kind: EntryKind,
    at: Instant,
    /// Whether it can't be read, or not be written: then it is not tried again.
    is_shut: AtomicBool,
    is_read_only: AtomicBool,
    /// What went wrong first.
    trouble: Mutex<Option<String>>,
}

/// What was found for a call.
struct Hit {
    key: Digest,
    kept: Kept,
}

impl Recall {
    /// The memo that a call asks for.
    pub(crate) fn of(session: &Session, call: &Call, kind: EntryKind) -> Option<Recall> {
        let sample = call.memo?;
        let opened = if session.keeps() { session.store.memo(true) } else { Ok(None) };
        let (memo, trouble) = match opened {
            Ok(Some(memo)) => (Some(memo), None),
            Ok(None) if session.keeps() => (None, Some("nothing is remembered here".to_owned())),
            Ok(None) => (None, Some("a preview runs its guest".to_owned())),
            Err(error) => (None, Some(error.to_string())),
        };
        let (is_shut, is_read_only) = (AtomicBool::new(memo.is_none()), AtomicBool::new(memo.is_none()));
        Some(Recall { memo, sample, kind, at: call.at, is_shut, is_read_only, trouble: Mutex::new(trouble) })
    }

    /// What a call comes to. `needs_state` says whether what it leaves has to be there too.
    pub(crate) fn execute(&self, prepared: &Prepared, ground: &Ground, needs_state: bool) -> Result<Executed, Failure> {
        if let Some(reason) = prepared.not_for_memos() {
            let memo = Some(Remembered::LeftOut(reason.to_owned()));
            return Ok(Executed { memo, ..execute_over(prepared, ground)? });
        }
        let (component, profile) = (prepared.program.digest(), hutch_sandbox::profile());
        let keys = Keys::of(component, profile, &prepared.record, &ground.trees).map_err(StoreError::from)?;
        let Some(hit) = self.find(&keys, prepared, ground) else { return self.run_anew(&keys, prepared, ground) };
        if !is_sample(&hit.key, self.at, self.sample.get().into()) {
            return match self.reuse(hit, prepared, ground, needs_state) {
                Some(executed) => Ok(executed),
                None => self.run_anew(&keys, prepared, ground),
            };
        }
        let fresh = execute_over(prepared, ground)?;
        if !Kept::may_hold(&fresh.outcome) {
            // There is nothing to compare: it ended by the clock, or somebody stopped it.
            let memo = Some(Remembered::LeftOut("the outcome depends on the host".to_owned()));
            return Ok(Executed { memo, ..fresh });
        }
        let differs = differences(&hit.kept, &fresh);
        let used = if differs.is_empty() { MemoUse::Equal } else { MemoUse::Differs };
        if used == MemoUse::Differs {
            self.write(|memo| memo.remove(&hit.key));
            self.keep(&keys, &fresh);
        }
        let found = MemoRecord { used, key: hit.key, made: hit.kept.made, differs };
        Ok(Executed { memo: Some(Remembered::Found(found)), ..fresh })
    }

    fn run_anew(&self, keys: &Keys, prepared: &Prepared, ground: &Ground) -> Result<Executed, Failure> {
        let executed = execute_over(prepared, ground)?;
        let memo = Some(self.keep(keys, &executed));
        Ok(Executed { memo, ..executed })
    }

    /// The outcome that is kept for a call, if there is one that can be: it is whole, of this call, and changes what may be changed.
    fn find(&self, keys: &Keys, prepared: &Prepared, ground: &Ground) -> Option<Hit> {
        let memo = self.memo.as_ref().filter(|_| !self.is_shut.load(Ordering::Relaxed))?;
        let all = match memo.get(keys.all()) {
            Ok(all) => all,
            Err(error) => {
                self.is_shut.store(true, Ordering::Relaxed);
                self.note(&error);
                return None;
            }
        };
        let preopens = prepared.invocation.preopens();
        let changeable =
            |name: &String| ground.trees.contains_key(name) && preopens.get(name) == Some(&Access::ReadWrite);
        all.into_iter().find_map(|found| {
            let mut kept = Kept::read(&found.key, &found.value).ok()?;
            let is_it = keys.under(kept.seen) == found.key && kept.outcome.profile == hutch_sandbox::profile();
            (kept.made.role, kept.made.instance) = (found.role, found.instance);
            (is_it && kept.after.keys().all(changeable)).then_some(Hit { key: found.key, kept })
        })
    }

    /// What a kept outcome comes to here; none if what it leaves has to be there and is not.
    fn reuse(&self, hit: Hit, prepared: &Prepared, ground: &Ground, needs_state: bool) -> Option<Executed> {
        let Hit { key, kept: Kept { outcome, seen, after, made } } = hit;
        let is_there = |tree: &Digest| *tree == empty_tree() || ground.objects.get(Kind::Tree, tree).is_ok();
        if needs_state && !after.values().all(is_there) {
            return None;
        }
        let measured = Measured {
            wall_time_us: 0,
            load_time_us: prepared.program.load_time_us(),
            compiled: prepared.program.is_fresh(),
        };
        let (objects, touched, looked_at) = (MemoryObjects::default(), BTreeMap::new(), seen);
        let left = Left { outcome, measured, after, objects, touched, looked_at, stdin_read: false };
        let executed = judged(prepared, ground, left, needs_state).ok()?;
        let found = MemoRecord { used: MemoUse::Reused, key, made, differs: Vec::new() };
        Some(Executed { memo: Some(Remembered::Found(found)), ..executed })
    }

    /// Keeps what a run came to, if that may be used again.
    fn keep(&self, keys: &Keys, executed: &Executed) -> Remembered {
        let left_out = |reason: &str| Remembered::LeftOut(reason.to_owned());
        if !Kept::may_hold(&executed.outcome) {
            return left_out("the outcome depends on the host, or what it took is not known exactly");
        }
        let key = keys.under(executed.looked_at);
        let made = Maker { at: self.at, kind: self.kind, role: None, instance: None };
        let (outcome, seen, after) = (executed.outcome.clone(), executed.looked_at, executed.left.clone());
        let Some(value) = (Kept { outcome, seen, after, made }).write(&key) else {
            return left_out("the outcome is too large");
        };
        match self.write(|memo| memo.put(&key, &value)) {
            true => Remembered::Kept(key),
            false => Remembered::LeftOut(self.trouble().unwrap_or_default()),
        }
    }

    /// Changes the memo; says whether that was done.
    fn write(&self, change: impl FnOnce(&dyn Memo) -> Result<(), StoreError>) -> bool {
        let Some(memo) = self.memo.as_ref().filter(|_| !self.is_read_only.load(Ordering::Relaxed)) else {
            return false;
        };
        match change(&**memo) {
            Ok(()) => true,
            // Another process is at it: the next one may be written again.
            Err(error @ StoreError::Busy { .. }) => {
                self.note(&error);
                false
            }
            Err(error) => {
                self.is_read_only.store(true, Ordering::Relaxed);
                self.note(&error);
                false
            }
        }
    }

    fn note(&self, error: &StoreError) {
        self.trouble.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert_with(|| error.to_string());
    }

    /// Why nothing could be found or kept, or not all.
    pub(crate) fn trouble(&self) -> Option<String> {
        self.trouble.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

/// Where a run came to something else than is kept.
fn differences(kept: &Kept, fresh: &Executed) -> Vec<String> {
    let (was, is): (&Outcome, &Outcome) = (&kept.outcome, &fresh.outcome);
    let parts = [
        ("ending", was.ending == is.ending),
        ("stdout", was.stdout == is.stdout),
        ("stderr", was.stderr == is.stderr),
        ("fuel", was.fuel == is.fuel),
        ("memory_peak_bytes", was.memory_peak_bytes == is.memory_peak_bytes),
        ("refused", was.refused == is.refused),
        ("seen", kept.seen == fresh.looked_at),
    ];
    let unequal = parts.into_iter().filter(|(_, equal)| !equal).map(|(name, _)| name.to_owned());
    let names: BTreeSet<&String> = kept.after.keys().chain(fresh.left.keys()).collect();
    let volumes = names.into_iter().filter(|name| kept.after.get(*name) != fresh.left.get(*name));
    unequal.chain(volumes.map(|name| format!("volume {name}"))).collect()
}

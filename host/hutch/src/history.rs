//! Moving between states: back before an entry, or to what one left. Each move is an entry of its own, so it can be taken back too.
//! What the state was at an entry is one question with one answer: [`hutch_store::Store::state_at`].

use crate::answer::Edits;
use crate::entries::EntryName;
use crate::failure::Failure;
use crate::grants::is_own;
use crate::mount::Mount;
use crate::session::Session;
use crate::taken_back::{FolderMove, FolderMoves};
use hutch_model::digest::Digest;
use hutch_model::ledger::{Entry, EntryKind, Record, Sealed, VolumeRecord};
use hutch_model::snapshot::{Changes, Lack, MemoryObjects, diff};
use hutch_store::Skipped;
use hutch_store::{Collected, Retention, StoreError};
use std::collections::{BTreeMap, BTreeSet};

/// The most changes that are counted to say how far one may go.
pub const REACH_MAX: u64 = 100;

/// How far one may go from a state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reach {
    /// How many changes can be taken back.
    pub back: u64,
    /// How many that were taken back can be made again.
    pub forward: u64,
}

/// A move to another state.
#[derive(Debug)]
#[non_exhaustive]
pub struct Moved {
    /// The entry that records it.
    pub entry: Sealed,
    /// The entry that it went back before, or to.
    pub follows: Sealed,
    /// What changed, by volume, and by the name that the guest knew a real folder by.
    pub changes: BTreeMap<String, Changes>,
    /// Why the plain directories do not show the state yet, if they don't.
    pub behind: Option<String>,
    /// What stands in plain directories and can be in no state, by volume.
    pub skipped: BTreeMap<String, Skipped>,
    /// The real folders that the runs changed whose state was left, the last first: they stay as they are.
    pub left: Vec<LeftFolder>,
}

/// A real folder that a run changed, and that no move changes back.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct LeftFolder {
    /// The run's entry.
    pub sequence: u64,
    /// The name that the guest knew it by.
    pub name: String,
    /// Where it is.
    pub path: String,
}

/// What a move is to change.
struct Way<'a> {
    /// The state.
    state: bool,
    /// Real folders, as they were before this; those that are granted.
    folders: Option<(&'a FolderMove, &'a BTreeMap<String, Mount>)>,
    /// Those that stay as they are.
    left: Vec<LeftFolder>,
}

/// How real folders are after an entry, as far as one looks back.
#[derive(Default)]
struct Folders {
    /// Those that are as runs left them, the last first.
    left: Vec<LeftFolder>,
    /// The entry that put one back as it was before a run, if this instance did that, by the run's hash.
    back: BTreeMap<Digest, Option<LeftFolder>>,
}

/// What can be made again, the next one first.
struct Forward {
    /// Changes of the state.
    state: Vec<u64>,
    /// In real folders.
    folders: Vec<FolderMove>,
    /// The last entry that took a run, whose hash this is, back in a real folder, where what that replaced is not kept: the run can't be made
    /// again there.
    lost: Option<(Digest, LeftFolder)>,
    /// Real folders that are as runs left them, the last first.
    left: Vec<LeftFolder>,
}

/// The most entries that are looked through for such folders.
const LEFT_ENTRIES_MAX: u64 = 1000;

impl Session {
    /// Drops the states and streams that only old entries name, and says so in the ledger. A preview says what would be dropped.
    ///
    /// # Errors
    /// The store can't be written, or what must stay can't be read.
    pub fn collect(&self, retention: &Retention) -> Result<Collected, Failure> {
        let collected = self.store.collect(retention, &self.record(EntryKind::Collect));
        if collected.is_ok() && self.keeps() {
            self.drop_kept_before(self.head()?.retained_from);
        }
        self.recorded(EntryKind::Collect, collected.map(|(collected, _)| collected).map_err(Failure::from))
    }

    /// Goes back before the last `count` changes that are not taken back yet, so that each goes further back than the one before it. The last
    /// one alone is taken back with what it changed in real folders, as far as that was kept: they are granted again in `mounts`. Of several at once,
    /// the folders stay as they are, and each is taken back by itself later.
    ///
    /// # Errors
    /// There are not so many; or a state is not kept any more; or a folder is not granted, or not as the run left it, or nothing of it is kept.
    pub fn undo_last(&self, count: u64, mounts: &BTreeMap<String, Mount>) -> Result<Moved, Failure> {
        let undone = self.absorb_edits().and_then(|edits| {
            let (done, moves) = (self.done(count.max(1))?, self.folder_moves()?.back);
            let (last, folder) = (Session::nth(&done, count), moves.first().filter(|_| count <= 1));
            let change = folder.map(|folder| folder.change).max(last);
            let mut left = self.folders_after(change.unwrap_or_default().saturating_sub(1)).left;
            // What was changed after that, and can't be taken back, is not passed over.
            if count <= 1
                && let Some(LeftFolder { sequence, path, .. }) = left.first()
                && change.is_none_or(|change| change < *sequence)
            {
                return Err(Failure::FolderNotKept { sequence: *sequence, path: path.clone() });
            }
            let change = change.ok_or(Failure::NothingToUndo { count, there: done.len() as u64 })?;
            let folders = folder.filter(|folder| folder.change == change).map(|folder| (folder, mounts));
            left.retain(|left| folders.is_none() || left.sequence != change);
            let way = Way { state: last == Some(change), folders, left };
            self.go(EntryKind::Undo, &self.entry(&EntryName::Sequence(change))?, way, edits)
        });
        self.recorded(EntryKind::Undo, undone)
    }

    /// Goes forward again over the last `count` changes that were taken back, as long as nothing was changed since; over the last one alone
    /// also in real folders, as [`undo_last`](Session::undo_last) went back.
    ///
    /// # Errors
    /// There are not so many; or a state is not kept any more; or a folder is not granted, or not as it was left, or nothing of it is kept.
    pub fn redo_last(&self, count: u64, mounts: &BTreeMap<String, Mount>) -> Result<Moved, Failure> {
        let redone = self.absorb_edits().and_then(|edits| {
            let Forward { state, folders, lost, mut left } = self.ways_forward(self.folder_moves()?, true)?;
            let next = Session::nth(&state, count);
            let folder = folders.first().filter(|folder| count <= 1 && next.is_none_or(|next| folder.change <= next));
            // What comes before that, and can't be made again, is not passed over.
            if count <= 1
                && let Some((run, LeftFolder { sequence, path, .. })) = lost
            {
                let is_passed = match (folder, next) {
                    (Some(folder), _) => folder.sequence < sequence,
                    (None, Some(next)) => self.entry(&EntryName::Prefix(run.to_string()))?.sequence <= next,
                    (None, None) => true,
                };
                if is_passed {
                    return Err(Failure::FolderNotKept { sequence, path });
                }
            }
            let change = folder.map(|folder| folder.change).or(next);
            let change = change.ok_or(Failure::NothingToRedo { count, there: state.len() as u64 })?;
            left.retain(|left| change < left.sequence);
            let way = Way { state: next == Some(change), folders: folder.map(|folder| (folder, mounts)), left };
            self.go(EntryKind::Restore, &self.entry(&EntryName::Sequence(change))?, way, edits)
        });
        self.recorded(EntryKind::Restore, redone)
    }

    /// How far one may go: how many changes can be taken back, and how many that were can be made again. Neither is counted further than
    /// [`REACH_MAX`].
    ///
    /// # Errors
    /// The ledger can't be read.
    pub fn reach(&self) -> Result<Reach, Failure> {
        let moves = self.folder_moves()?;
        // What was before a change whose state is not kept any more is gone.
        let kept_from = self.head()?.retained_from;
        let mut back = BTreeSet::from_iter(self.done(REACH_MAX)?.into_iter().filter(|change| *change >= kept_from));
        back.extend(moves.back.iter().map(|folder| folder.change));
        let Forward { state, folders, .. } = self.ways_forward(moves, false)?;
        let mut forward = BTreeSet::from_iter(state);
        forward.extend(folders.iter().map(|folder| folder.change));
        Ok(Reach { back: REACH_MAX.min(back.len() as u64), forward: REACH_MAX.min(forward.len() as u64) })
    }

    /// The entries before which going back changes something, the last first: changes that the state follows from, and moves that led to it, and
    /// none that was taken back. No further than [`REACH_MAX`].
    ///
    /// # Errors
    /// The ledger can't be read.
    pub fn standing(&self) -> Result<Vec<u64>, Failure> {
        let head = self.head()?;
        let (mut at, mut standing) = (head.last.sequence, Vec::new());
        for _ in 0..REACH_MAX {
            let Some((changed, led)) = self.last_move(at)?.filter(|(changed, _)| *changed >= head.retained_from) else {
                break;
            };
            let before = self.store.state_at(changed.saturating_sub(1))?;
            if before.iter().any(|(name, digest)| head.state.get(name) != Some(digest)) {
                standing.push(changed);
            }
            at = led.unwrap_or(changed.saturating_sub(1));
        }
        Ok(standing)
    }

    /// The changes that can be made again. One that was made since ends all that was taken back before it, whether that can be taken back in turn
    /// or not. What is `lost`, and what is left of before the next one, is known if `whole` is asked for.
    fn ways_forward(&self, moves: FolderMoves, whole: bool) -> Result<Forward, Failure> {
        let (mut state, mut folders, changed) = (self.undone()?, moves.forward, self.head()?.changed);
        let kept: BTreeSet<u64> = folders.iter().map(|folder| folder.sequence).collect();
        let last = self.done(1)?.first().copied().max(state.iter().copied().max()).unwrap_or_default();
        folders.retain(|folder| last < folder.sequence);
        let since = match whole {
            true => state.iter().copied().chain(folders.iter().map(|folder| folder.change)).chain([last]).min(),
            false => {
                let oldest = folders.last().map(|folder| folder.sequence);
                state.first().map(|_| changed).into_iter().chain(oldest).min()
            }
        };
        let Folders { left, back } = since.map(|since| self.folders_after(since)).unwrap_or_default();
        let run = moves.back.first().filter(|folder| folder.is_run()).map(|folder| folder.sequence);
        let run = run.max(left.first().map(|left| left.sequence)).unwrap_or_default();
        folders.retain(|folder| run < folder.sequence);
        if run > changed {
            state.clear();
        }
        let lost = back.into_iter().filter_map(|(run, undo)| Some((run, undo?)));
        let lost = lost.filter(|(_, undo)| undo.sequence > last.max(run) && !kept.contains(&undo.sequence));
        let lost = lost.max_by_key(|(_, undo)| undo.sequence);
        Ok(Forward { state, folders, lost, left })
    }

    fn nth(changes: &[u64], count: u64) -> Option<u64> {
        changes.get(usize::try_from(count.max(1)).ok()?.checked_sub(1)?).copied()
    }

    /// The last changes that are not taken back, the last first.
    fn done(&self, most: u64) -> Result<Vec<u64>, Failure> {
        let (mut at, mut done) = (self.change_of(self.head()?.last.sequence)?, Vec::new());
        while at > 0 && (done.len() as u64) < most {
            done.push(at);
            at = self.change_of(at - 1)?;
        }
        Ok(done)
    }

    /// The changes that were taken back since the last one, the next to be made again first.
    fn undone(&self) -> Result<Vec<u64>, Failure> {
        let (mut moves, mut sequence) = (Vec::new(), self.head()?.last.sequence);
        while let Some((at, Some(_))) = self.last_move(sequence)?.filter(|_| (moves.len() as u64) < REACH_MAX) {
            moves.push(at);
            sequence = at - 1;
        }
        let mut at = self.change_of(sequence)?;
        // The next one last.
        let mut undone: Vec<u64> = Vec::new();
        for one in moves.into_iter().rev() {
            let (to, mut here) = (self.change_of(one)?, at);
            let mut passed = Vec::new();
            while here > to {
                passed.push(here);
                here = self.change_of(here - 1)?;
            }
            if here == to && !passed.is_empty() {
                undone.extend(passed);
            } else {
                // Forward over what was taken back; or aside, where it can't be found.
                while undone.pop().is_some_and(|next| next != to) {}
            }
            at = to;
        }
        undone.reverse();
        Ok(undone)
    }

    /// The change that made the state which an entry left, wherever moves led; 0 if that is how it began.
    fn change_of(&self, mut sequence: u64) -> Result<u64, Failure> {
        loop {
            match self.last_move(sequence)? {
                Some((_, Some(led))) => sequence = led,
                Some((change, None)) => return Ok(change),
                None => return Ok(0),
            }
        }
    }

    /// The last entry up to there that changed the state, and after which one the state is that it led to if it is a move.
    fn last_move(&self, sequence: u64) -> Result<Option<(u64, Option<u64>)>, Failure> {
        let Some(changed) = self.store.last_change(sequence)? else { return Ok(None) };
        let record = self.entry(&EntryName::Sequence(changed))?.open().map_err(Failure::Entry)?.record;
        let led = match (record.kind, record.follows) {
            (EntryKind::Create, _) => return Ok(None),
            (kind @ (EntryKind::Undo | EntryKind::Restore), Some(follows)) => {
                let follows = self.entry(&EntryName::Prefix(follows.to_string()))?.sequence;
                Some(if kind == EntryKind::Undo { follows.saturating_sub(1) } else { follows })
            }
            _ => None,
        };
        Ok(Some((changed, led)))
    }

    /// Goes back to the state from before an entry.
    ///
    /// # Errors
    /// There is no such entry, or the state is the one from before it; or that is not kept any more.
    pub fn undo(&self, name: &EntryName) -> Result<Moved, Failure> {
        let undone = self.absorb_edits().and_then(|edits| {
            let follows = self.entry(name)?;
            let left = self.folders_after(follows.sequence.saturating_sub(1)).left;
            self.go(EntryKind::Undo, &follows, Way { state: true, folders: None, left }, edits)
        });
        self.recorded(EntryKind::Undo, undone)
    }

    /// Goes to the state from after an entry.
    ///
    /// # Errors
    /// There is no such entry, or the state is the one from after it; or that is not kept any more.
    pub fn restore(&self, name: &EntryName) -> Result<Moved, Failure> {
        let restored = self.absorb_edits().and_then(|edits| {
            let follows = self.entry(name)?;
            let left = self.folders_after(follows.sequence).left;
            self.go(EntryKind::Restore, &follows, Way { state: true, folders: None, left }, edits)
        });
        self.recorded(EntryKind::Restore, restored)
    }

    /// Goes to the whole state from before or after an entry, and puts real folders back, as far as `way` says. A volume that was not there yet stays as it is: there is no state in
    /// which it is not.
    fn go(&self, kind: EntryKind, follows: &Sealed, way: Way<'_>, edits: Edits) -> Result<Moved, Failure> {
        let (place, sequence) = match kind {
            EntryKind::Undo => ("before", follows.sequence.saturating_sub(1)),
            _ => ("after", follows.sequence),
        };
        let (head, objects) = (self.head()?, self.objects());
        self.check_request(&head)?;
        let (mut volumes, mut all_changes) = (BTreeMap::new(), BTreeMap::new());
        let states = if way.state { self.store.state_at(sequence)? } else { Default::default() };
        for (name, after) in states {
            let before = head.state.get(&name).copied();
            let changes = match before {
                Some(before) => diff(&*objects, &before, &after).map_err(|error| {
                    match error.lack == Lack::Missing && error.digest == after {
                        // It was collected: of a state that is kept, all is.
                        true => StoreError::Missing { at: self.store.at(), what: format!("state {after}") },
                        false => StoreError::object(self.store.at(), &error),
                    }
                })?,
                None => Changes::default(),
            };
            all_changes.insert(name.to_string(), changes.clone());
            volumes.insert(name.to_string(), VolumeRecord::new(before, after, changes));
        }
        let record = Record { follows: Some(follows.hash), volumes, kept: true, ..self.record(kind) };
        let (entry, behind) = match way.folders {
            Some((change, mounts)) => {
                let settled = self.commit_taking_back(record, change, mounts)?;
                all_changes.extend(settled.changes);
                (settled.sealed, self.update_plain())
            }
            None if !record.changes_state() => return Err(Failure::NoChange { place, sequence: follows.sequence }),
            None => self.commit(&record, &MemoryObjects::default(), &[])?,
        };
        let (follows, skipped) = (follows.clone(), edits.skipped);
        Ok(Moved { entry, follows, changes: all_changes, behind, skipped, left: way.left })
    }

    /// How real folders are after an entry. What can't be read of the history is passed
    /// over, and so is what was not done here: what is said here has happened.
    fn folders_after(&self, sequence: u64) -> Folders {
        let (Ok(head), Ok(key)) = (self.head(), self.store.secret_key()) else { return Folders::default() };
        let first = head.last.sequence.saturating_sub(LEFT_ENTRIES_MAX).max(sequence) + 1;
        let (mut left, mut back) = (Vec::<(Digest, LeftFolder)>::new(), BTreeMap::new());
        for sealed in self.entries(first).map_while(Result::ok) {
            let Ok(Entry { sequence, record, .. }) = sealed.open() else { continue };
            if !record.kept || record.folders.is_empty() || !head.is_own(sequence) {
                continue;
            }
            let own = record.folders.into_iter().filter(|(_, folder)| is_own(&key, folder));
            let mut own = own.map(|(name, folder)| LeftFolder { sequence, name, path: folder.path });
            match (record.kind, record.follows) {
                (EntryKind::Undo, Some(follows)) => drop(back.insert(follows, own.next())),
                (EntryKind::Restore, Some(follows)) => drop(back.remove(&follows)),
                _ => left.extend(own.map(|folder| (sealed.hash, folder))),
            }
        }
        left.retain(|(run, _)| !back.contains_key(run));
        Folders { left: left.into_iter().rev().map(|(_, left)| left).collect(), back }
    }
}

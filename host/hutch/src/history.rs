//! Moving between states: back before an entry, or to what one left. Each move is an entry of its own, so it can be taken back too.
//! What the state was at an entry is one question with one answer: [`hutch_store::Store::state_at`].

use crate::edits::Edits;
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
}

impl Way<'_> {
    const STATE: Way<'static> = Way { state: true, folders: None };
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
            let (done, folders) = (self.done(count.max(1))?, self.folder_moves()?.back);
            let (last, folder) = (Session::nth(&done, count), folders.first());
            // What was changed after that, and can't be taken back, is not passed over.
            let known = folder.map(|folder| folder.change).max(last).unwrap_or_default();
            if count <= 1
                && let Some(LeftFolder { sequence, path, .. }) = self.left_folders(known).into_iter().next()
            {
                return Err(Failure::FolderNotKept { sequence, path });
            }
            match folder.filter(|folder| count <= 1 && last.is_none_or(|last| last <= folder.change)) {
                Some(folder) => {
                    let way = Way { state: last == Some(folder.change), folders: Some((folder, mounts)) };
                    self.go(EntryKind::Undo, &self.entry(&EntryName::Sequence(folder.change))?, way, edits)
                }
                None => {
                    let last = last.ok_or(Failure::NothingToUndo { count, there: done.len() as u64 })?;
                    self.go(EntryKind::Undo, &self.entry(&EntryName::Sequence(last))?, Way::STATE, edits)
                }
            }
        });
        self.recorded(EntryKind::Undo, undone)
    }

    /// Goes forward again over the last `count` changes that were taken back, as long as nothing was changed since; over the last one alone
    /// also in real folders, as [`undo_last`](Session::undo_last) went back.
    ///
    /// # Errors
    /// There are not so many; or a state is not kept any more; or a folder is not granted, or not as it was left.
    pub fn redo_last(&self, count: u64, mounts: &BTreeMap<String, Mount>) -> Result<Moved, Failure> {
        let redone = self.absorb_edits().and_then(|edits| {
            let (undone, folders) = self.ways_forward(self.folder_moves()?)?;
            let next = undone.first();
            match folders.first().filter(|folder| count <= 1 && next.is_none_or(|next| folder.change <= *next)) {
                Some(folder) => {
                    let way = Way { state: next == Some(&folder.change), folders: Some((folder, mounts)) };
                    self.go(EntryKind::Restore, &self.entry(&EntryName::Sequence(folder.change))?, way, edits)
                }
                None => {
                    let there = undone.len() as u64;
                    let last = Session::nth(&undone, count).ok_or(Failure::NothingToRedo { count, there })?;
                    self.go(EntryKind::Restore, &self.entry(&EntryName::Sequence(last))?, Way::STATE, edits)
                }
            }
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
        let mut back = BTreeSet::from_iter(self.done(REACH_MAX)?);
        back.extend(moves.back.iter().map(|folder| folder.change));
        let (undone, folders) = self.ways_forward(moves)?;
        let mut forward = BTreeSet::from_iter(undone);
        forward.extend(folders.iter().map(|folder| folder.change));
        Ok(Reach { back: REACH_MAX.min(back.len() as u64), forward: REACH_MAX.min(forward.len() as u64) })
    }

    /// The changes that can be made again, of the state and in real folders, the next one first. One that was made since ends all that was taken
    /// back before it.
    fn ways_forward(&self, moves: FolderMoves) -> Result<(Vec<u64>, Vec<FolderMove>), Failure> {
        let (mut undone, mut forward) = (self.undone()?, moves.forward);
        let last = self.done(1)?.first().copied().max(undone.iter().copied().max());
        forward.retain(|folder| last.is_none_or(|last| last < folder.sequence));
        let changed = self.head()?.changed;
        if moves.back.first().is_some_and(|folder| folder.is_run() && folder.sequence > changed) {
            undone.clear();
        }
        Ok((undone, forward))
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
        let undone =
            self.absorb_edits().and_then(|edits| self.go(EntryKind::Undo, &self.entry(name)?, Way::STATE, edits));
        self.recorded(EntryKind::Undo, undone)
    }

    /// Goes to the state from after an entry.
    ///
    /// # Errors
    /// There is no such entry, or the state is the one from after it; or that is not kept any more.
    pub fn restore(&self, name: &EntryName) -> Result<Moved, Failure> {
        let restored =
            self.absorb_edits().and_then(|edits| self.go(EntryKind::Restore, &self.entry(name)?, Way::STATE, edits));
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
        let left = self.left_folders(sequence);
        Ok(Moved { entry, follows: follows.clone(), changes: all_changes, behind, skipped: edits.skipped, left })
    }

    /// The real folders that are still as runs after an entry left them, as far as one looks back. What can't be read of the history is passed
    /// over, and so is what this instance did not do: what is said here has happened.
    fn left_folders(&self, sequence: u64) -> Vec<LeftFolder> {
        let (Ok(head), Ok(key)) = (self.head(), self.store.secret_key()) else { return Vec::new() };
        let first = head.last.sequence.saturating_sub(LEFT_ENTRIES_MAX).max(sequence) + 1;
        let (mut left, mut taken) = (Vec::<(Digest, LeftFolder)>::new(), BTreeSet::new());
        for sealed in self.entries(first).map_while(Result::ok) {
            let Ok(Entry { sequence, record, .. }) = sealed.open() else { continue };
            if !record.kept || record.folders.is_empty() {
                continue;
            }
            match (record.kind, record.follows) {
                (EntryKind::Undo, Some(follows)) => drop(taken.insert(follows)),
                (EntryKind::Restore, Some(follows)) => drop(taken.remove(&follows)),
                _ => {
                    let own = record.folders.into_iter().filter(|(_, folder)| is_own(&key, folder));
                    left.extend(
                        own.map(|(name, folder)| (sealed.hash, LeftFolder { sequence, name, path: folder.path })),
                    );
                }
            }
        }
        left.retain(|(run, _)| !taken.contains(run));
        left.into_iter().rev().map(|(_, left)| left).collect()
    }
}

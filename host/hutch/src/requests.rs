//! Requests to which their callers gave a name: which of them were carried out, and what they were answered with. The ledger alone says
//! so, so that it holds after any end of a process.

use crate::answer::{Answer, VolumeChange};
use crate::failure::Failure;
use crate::history::Moved;
use crate::remembered::Remembered;
use crate::session::Session;
use hutch_model::digest::Digest;
use hutch_model::ledger::{EntryKind, Request, Sealed, StreamRecord, VolumeRecord};
use hutch_model::outcome::{Measured, Verdict};
use hutch_model::snapshot::{Changes, Layered};
use hutch_store::EntryKey;
use serde::Deserialize;
use std::collections::BTreeMap;

/// As much of an entry as says whether it carried out such a request.
#[derive(Deserialize)]
struct Named {
    kind: EntryKind,
    #[serde(default)]
    kept: bool,
    #[serde(default)]
    request: Option<Request>,
}

/// What was answered to a request that was carried out.
// Exhaustive: a caller that repeats itself is answered with whichever it was.
pub enum Answered {
    /// A run, or a plan carried out.
    Run(Box<Answer>),
    /// A move to another state.
    Moved(Box<Moved>),
}

impl Session {
    /// The requests with a name that entries from place `from` on carried out here, or may have, with the place of the entry. One that came to
    /// nothing is none of them: it may be made again.
    ///
    /// # Errors
    /// The store can't be read.
    pub fn requests(&self, from: u64) -> Result<Vec<(Request, u64)>, Failure> {
        let (head, mut found) = (self.head()?, Vec::new());
        for sealed in self.entries(from) {
            let sealed = sealed?;
            if !head.may_be_own(sealed.sequence) {
                continue;
            }
            // What a newer version wrote is no request of this one.
            let Ok(named) = serde_json::from_slice::<Named>(&sealed.bytes) else { continue };
            let kinds = [EntryKind::Run, EntryKind::Apply, EntryKind::Undo, EntryKind::Restore];
            let is_done = named.kept && kinds.contains(&named.kind);
            found.extend(named.request.filter(|_| is_done).map(|request| (request, sealed.sequence)));
        }
        Ok(found)
    }

    /// What the request was answered with that an entry carried out. What the host's clock said of loading is not known any more.
    ///
    /// # Errors
    /// The entry is damaged, kept nothing, or what it printed is not kept any more.
    pub fn answered(&self, sealed: &Sealed) -> Result<Answered, Failure> {
        let record = sealed.open().map_err(Failure::Entry)?.record;
        let gone = |what: &str| Failure::NotAgain {
            reason: format!("the request was carried out as entry {}, and {what}", sealed.sequence),
        };
        let folder = |folder: &hutch_model::ledger::FolderRecord| Changes {
            listed: folder.changes.clone(),
            omitted: folder.changes_omitted,
        };
        if matches!(record.kind, EntryKind::Undo | EntryKind::Restore) {
            let follows = record.follows.ok_or_else(|| gone("it does not say what it took back"))?;
            let follows = self.store.find(&EntryKey::Hash(follows))?.pop();
            let changes = record.volumes.into_iter().map(|(name, volume)| (name, changes(volume).changes));
            let folders = record.folders.iter().map(|(name, one)| (name.clone(), folder(one)));
            return Ok(Answered::Moved(Box::new(Moved {
                entry: sealed.clone(),
                follows: follows.ok_or_else(|| gone("what it took back is not there any more"))?,
                changes: changes.chain(folders).collect(),
                behind: None,
                skipped: BTreeMap::new(),
                left: Vec::new(),
            })));
        }
        let outcome = record.outcome.filter(|_| record.kept).ok_or_else(|| gone("it kept nothing"))?;
        let read = |stream: StreamRecord| -> Result<Vec<u8>, Failure> {
            let bytes = if stream.size == 0 { Some(Vec::new()) } else { self.bytes(&stream.digest)? };
            bytes.ok_or_else(|| gone("what it printed is not kept any more"))
        };
        let measured = Measured { wall_time_us: outcome.wall_time_us, ..Measured::default() };
        let (stdout, stderr) = (read(outcome.stdout)?, read(outcome.stderr)?);
        let outcome = outcome.with_streams(stdout, stderr);
        let unknown = Digest::of(hutch_model::digest::Kind::Tree, b"");
        let mounted = record
            .folders
            .iter()
            .map(|(name, one)| (name.clone(), VolumeChange { before: unknown, after: unknown, changes: folder(one) }));
        Ok(Answered::Run(Box::new(Answer {
            outcome,
            verdict: Verdict::Good,
            kept: true,
            volumes: record.volumes.into_iter().map(|(name, volume)| (name, changes(volume))).collect(),
            mounted: mounted.collect(),
            withheld: Vec::new(),
            withheld_omitted: record.folders.values().map(|folder| folder.withheld).sum(),
            objects: Layered(vec![self.objects()]),
            measured,
            entry: sealed.pin(),
            behind: None,
            skipped: BTreeMap::new(),
            stdin_read: false,
            memo: record.memo.map(Remembered::Found),
        })))
    }

    fn bytes(&self, digest: &Digest) -> Result<Option<Vec<u8>>, Failure> {
        Ok(self.store.stream(digest)?.map(|bytes| bytes.to_vec()))
    }
}

fn changes(volume: VolumeRecord) -> VolumeChange {
    let changes = Changes { listed: volume.changes, omitted: volume.changes_omitted };
    VolumeChange { before: volume.before.unwrap_or(volume.after), after: volume.after, changes }
}

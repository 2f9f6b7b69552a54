//! What one entry says. Times, sizes and digests as facts; no output and no input of the guest itself, and no secret.

use super::ENTRY_BYTES_MAX;
use super::invoked::InvocationRecord;
use super::memo::{MemoCounts, MemoRecord};
use super::request::Request;
use super::standing::Owner;
use crate::digest::{Digest, Kind};
use crate::error_code::ErrorCode;
use crate::instant::Instant;
use crate::limits::Limit;
use crate::outcome::{Ending, Measured, Outcome, Unreproducible};
use crate::snapshot::{Changes, PathChange};
use serde::{Deserialize, Deserializer, Serialize};
use std::collections::BTreeMap;

/// The most bytes that the listed paths of all volumes and folders take in an entry, as they are written: half of it.
pub const CHANGES_WRITTEN_MAX: usize = ENTRY_BYTES_MAX / 2;

/// The most digits of a number of paths.
const OMITTED_DIGITS_MAX: usize = 20;

/// What was asked for. A request that was refused has the kind of what it asked for, an [error](Record::error) and no
/// [outcome](Record::outcome).
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum EntryKind {
    /// The first state of volumes, from the package.
    Create,
    /// An invocation for real.
    Run,
    /// An invocation of which only the record is kept. The state `after` is what it would have left.
    Plan,
    /// What the plan that it [follows](Record::follows) said, for real.
    Apply,
    /// The invocation of the entry that it follows, once more for real.
    Replay,
    /// The state from before the entry that it follows.
    Undo,
    /// The state from after the entry that it follows.
    Restore,
    /// A state from outside.
    Import,
    /// Changes that were made in the plain directory, outside of any run.
    Edit,
    /// States and streams that only entries before some place name were dropped to reclaim space.
    Collect,
    /// A run ended well and is about to change granted folders. The entry that [closes](Record::closes) it says what came of that.
    Intent,
    /// The end of an intent whose process did not live to write it: the folders are as they were before it.
    Recover,
    /// Many invocations over one state, of which nothing is kept.
    Map,
}

/// One thing that happened.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Record {
    /// What was asked for.
    pub kind: EntryKind,
    /// When, on the host's clock.
    pub at: Instant,
    /// The instance's name.
    pub instance: String,
    /// The package, as it was then.
    pub package: PackageRecord,
    /// The program that asked for it through a server, as it calls itself; none for what was asked for on this machine's command line.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub caller: Option<Caller>,
    /// The name that the caller gave to its request; none if it gave none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub request: Option<Request>,
    /// The earlier entry that this one applies, replays, undoes or restores.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub follows: Option<Digest>,
    /// What went into the guest; none if no invocation was made.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub invocation: Option<InvocationRecord>,
    /// How the guest ended; none if it never started.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub outcome: Option<OutcomeRecord>,
    /// The host's code, if it refused to start the guest or judged its end bad.
    #[serde(default, skip_serializing_if = "Option::is_none", with = "code")]
    pub error: Option<ErrorCode>,
    /// The volumes that were open, by name.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub volumes: BTreeMap<String, VolumeRecord>,
    /// Whether `after` became the state of each of `volumes`.
    #[serde(default)]
    pub kept: bool,
    /// The granted folders that were changed, or are about to be, by name.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub folders: BTreeMap<String, FolderRecord>,
    /// The place of the intent that this entry ends.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub closes: Option<u64>,
    /// The package that may use the instance from now on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub owner: Option<Owner>,
    /// What was dropped.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub collected: Option<CollectRecord>,
    /// The calls that were made over one state.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mapped: Option<MapRecord>,
    /// The outcome that was kept for an equal call, if the caller wanted such a one and there was one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub memo: Option<MemoRecord>,
}

impl Record {
    /// A record of something that has not led to anything yet.
    pub fn new(kind: EntryKind, at: Instant, instance: impl Into<String>, package: PackageRecord) -> Record {
        Record {
            kind,
            at,
            instance: instance.into(),
            package,
            caller: None,
            request: None,
            follows: None,
            invocation: None,
            outcome: None,
            error: None,
            volumes: BTreeMap::new(),
            kept: false,
            folders: BTreeMap::new(),
            closes: None,
            owner: None,
            collected: None,
            mapped: None,
            memo: None,
        }
    }

    /// With so many of the listed paths as an entry has room for that has `written_bytes` with all of them, the first of each volume and
    /// folder; the others are counted. A record that fits is left alone: what was cut once, here or by a version that shared the room in
    /// another way, has the same bytes when its entry is made again.
    pub(super) fn fitted(mut self, written_bytes: usize) -> Record {
        let volumes = self.volumes.values_mut().map(|volume| (&mut volume.changes, &mut volume.changes_omitted));
        let folders = self.folders.values_mut().map(|folder| (&mut folder.changes, &mut folder.changes_omitted));
        let mut lists: Vec<_> = volumes
            .chain(folders)
            .map(|(changes, omitted)| (changes.iter().map(PathChange::written_bytes).sum::<usize>(), changes, omitted))
            .collect();
        let listed: usize = lists.iter().map(|(bytes, ..)| bytes).sum();
        if listed <= CHANGES_WRITTEN_MAX && written_bytes <= ENTRY_BYTES_MAX {
            return self;
        }
        // Names of volumes and folders are a package's, and may take more than half of an entry. A count of what is left out has more
        // digits than one of nothing.
        let besides = written_bytes.saturating_sub(listed) + lists.len() * OMITTED_DIGITS_MAX;
        let mut left = CHANGES_WRITTEN_MAX.min(ENTRY_BYTES_MAX.saturating_sub(besides));
        // A list that takes less than its share leaves the rest to the others.
        lists.sort_by_key(|(bytes, ..)| *bytes);
        let mut count = lists.len();
        for (_, changes, omitted) in lists {
            let share = left / count.max(1);
            let (mut taken, mut kept) = (0, 0);
            for change in changes.iter() {
                let with_it = taken + change.written_bytes();
                if with_it > share {
                    break;
                }
                (taken, kept) = (with_it, kept + 1);
            }
            // A record from outside may count as many as there can be.
            *omitted = omitted.saturating_add((changes.len() - kept) as u64);
            changes.truncate(kept);
            (left, count) = (left - taken, count - 1);
        }
        self
    }

    /// What was changed in each volume and granted folder: its name, the first paths, and how many more there are.
    pub fn changes(&self) -> impl Iterator<Item = (&str, &[PathChange], u64)> {
        let volumes = self.volumes.iter().map(|(name, one)| (name.as_str(), &*one.changes, one.changes_omitted));
        let folders = self.folders.iter().map(|(name, one)| (name.as_str(), &*one.changes, one.changes_omitted));
        volumes.chain(folders)
    }

    /// Whether it names what was changed in a volume or folder.
    pub(super) fn lists_anything(&self) -> bool {
        self.changes().any(|(_, listed, _)| !listed.is_empty())
    }

    /// Whether it leaves everything as it was: what such an entry says may be lost with the power, and nothing else with it.
    pub fn is_reading(&self) -> bool {
        !self.changes_state()
            && self.owner.is_none()
            && self.closes.is_none()
            && !matches!(self.kind, EntryKind::Intent | EntryKind::Collect)
    }

    /// Whether keeping it makes a volume's state another one.
    pub fn changes_state(&self) -> bool {
        self.kept && self.volumes.values().any(|volume| volume.before != Some(volume.after))
    }

    /// The digests of the streams that it names.
    pub fn streams(&self) -> impl Iterator<Item = Digest> {
        let read = self.invocation.as_ref().map(|invocation| [Some(invocation.stdin), invocation.inputs]);
        let written = self.outcome.as_ref().map(|outcome| [Some(outcome.stdout), Some(outcome.stderr)]);
        read.into_iter().chain(written).flatten().flatten().map(|stream| stream.digest)
    }
}

/// The most characters of a caller's name, and of its version.
const CALLER_CHARS_MAX: usize = 128;

/// A program that asks a server for something, as it calls itself: nobody has checked that it is so.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Caller {
    /// Its name.
    pub name: String,
    /// Its version.
    pub version: String,
}

impl Caller {
    /// As much of what a program calls itself as is written down: at most 128 characters of each, and no control characters.
    pub fn new(name: &str, version: &str) -> Caller {
        let written =
            |text: &str| text.chars().filter(|one| !one.is_control()).take(CALLER_CHARS_MAX).collect::<String>();
        Caller { name: written(name), version: written(version) }
    }
}

/// Which package.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct PackageRecord {
    /// Its slug.
    pub slug: String,
    /// Its version, if it says one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
    /// All that a run depends on: manifest, contract, component and resources.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub digest: Option<Digest>,
    /// Its component.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub component: Option<Digest>,
    /// The snapshot of each folder that the guest may read, by name.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub resources: BTreeMap<String, Digest>,
}

/// What was done to one granted folder, or would be.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct FolderRecord {
    /// Where it is on the host.
    pub path: String,
    /// Its number and that of its file system as the run found it. The latter is another one after a restart, and both can be guessed: by
    /// themselves they allow nothing.
    #[serde(default)]
    pub identity: (u64, u64),
    /// What differs, the first paths.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub changes: Vec<PathChange>,
    /// How many more paths differ.
    #[serde(default)]
    pub changes_omitted: u64,
    /// How many paths the run wanted there and the folder did not get.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub withheld: u64,
    /// How what a plan replaces or takes away looked: its places, lengths, times and numbers, not its content.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub before: Option<Digest>,
    /// What a plan puts there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub after: Option<Digest>,
    /// The folder below it that holds what is on its way in and what was moved out of the way.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub staging: String,
}

/// What was dropped to reclaim space.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct CollectRecord {
    /// The first entry of which states and streams are still kept.
    pub retained_from: u64,
    /// Objects that were removed.
    pub objects: u64,
    /// Their bytes.
    pub bytes: u64,
}

/// Many calls over one state. What they have in common is the entry's invocation, and what they saw is in its volumes.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct MapRecord {
    /// How many calls.
    pub calls: u64,
    /// How many of them did not end well.
    pub failed: u64,
    /// Which of the lines they were: every so manieth (the second), from which on (the first); all if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shard: Option<(u64, u64)>,
    /// The lines that asked for them, all that were read.
    pub input: StreamRecord,
    /// The lines that answer them, as they were written.
    pub output: StreamRecord,
    /// The outcomes that were kept for equal calls, if the caller wanted such.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub memo: Option<MemoCounts>,
}

/// Bytes read or written by a guest. They may be kept as an object of their own.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct StreamRecord {
    /// Their name, as [`Kind::Stream`].
    pub digest: Digest,
    /// How many they are.
    pub size: u64,
}

impl StreamRecord {
    /// Names `bytes`.
    pub fn of(bytes: &[u8]) -> StreamRecord {
        StreamRecord { digest: Digest::of(Kind::Stream, bytes), size: bytes.len() as u64 }
    }
}

/// How a guest ended and what it took.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct OutcomeRecord {
    /// How: `ending`, with `status`, `trap` or `limit` beside it.
    #[serde(flatten)]
    pub ending: Ending,
    /// What it wrote to standard output.
    pub stdout: StreamRecord,
    /// What it wrote to standard error.
    pub stderr: StreamRecord,
    /// The work it did.
    pub fuel: u64,
    /// Whether `fuel` is exact, or a lower bound.
    pub fuel_exact: bool,
    /// The most memory it held at one time.
    pub memory_peak_bytes: u64,
    /// The time it took on the host's clock: never compared.
    pub wall_time_us: u64,
    /// Limits that refused something.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub refused: Vec<Limit>,
    /// Why the same inputs may have another outcome.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unreproducible: Vec<Unreproducible>,
    /// The engine's version and settings: outcomes are comparable only where these are equal.
    pub profile: String,
}

impl OutcomeRecord {
    /// Records `outcome` and what the host measured.
    pub fn of(outcome: &Outcome, measured: &Measured) -> OutcomeRecord {
        OutcomeRecord {
            ending: outcome.ending.clone(),
            stdout: StreamRecord::of(&outcome.stdout),
            stderr: StreamRecord::of(&outcome.stderr),
            fuel: outcome.fuel,
            fuel_exact: outcome.fuel_exact,
            memory_peak_bytes: outcome.memory_peak_bytes,
            wall_time_us: measured.wall_time_us,
            refused: outcome.refused.clone(),
            unreproducible: outcome.unreproducible.clone(),
            profile: outcome.profile.clone(),
        }
    }

    /// The outcome that was recorded, with the streams that the record only names: who has them says which they are.
    pub fn with_streams(self, stdout: Vec<u8>, stderr: Vec<u8>) -> Outcome {
        Outcome {
            ending: self.ending,
            stdout,
            stderr,
            fuel: self.fuel,
            fuel_exact: self.fuel_exact,
            memory_peak_bytes: self.memory_peak_bytes,
            refused: self.refused,
            unreproducible: self.unreproducible,
            profile: self.profile,
        }
    }
}

/// One volume, before and after.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct VolumeRecord {
    /// The state that was there; none if the volume was not.
    pub before: Option<Digest>,
    /// The state that came of it.
    pub after: Digest,
    /// What differs, the first paths.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub changes: Vec<PathChange>,
    /// How many more paths differ.
    #[serde(default)]
    pub changes_omitted: u64,
}

impl VolumeRecord {
    /// A volume that went from `before` to `after`, with the paths that differ.
    pub fn new(before: Option<Digest>, after: Digest, changes: Changes) -> VolumeRecord {
        VolumeRecord { before, after, changes: changes.listed, changes_omitted: changes.omitted }
    }

    /// A volume that stayed as it was.
    pub fn unchanged(state: Digest) -> VolumeRecord {
        VolumeRecord::new(Some(state), state, Changes::default())
    }
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde gives a reference")]
fn is_zero(number: &u64) -> bool {
    *number == 0
}

/// An error code as its text.
mod code {
    use super::*;

    pub(super) fn serialize<S: serde::Serializer>(code: &Option<ErrorCode>, serializer: S) -> Result<S::Ok, S::Error> {
        code.serialize(serializer)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<ErrorCode>, D::Error> {
        let Some(text) = Option::<String>::deserialize(deserializer)? else { return Ok(None) };
        let code = ErrorCode::from_text(&text);
        code.map(Some).ok_or_else(|| serde::de::Error::custom(format!("there is no error code {text:?}")))
    }
}

//! A move to another state, and the parts of documents about changes.

use crate::{Open, is_zero};
use hutch::{LeftFolder, Moved, Reach, Session};
use hutch_model::digest::Digest;
use hutch_model::ledger::{Pin, Sealed};
use hutch_model::snapshot::{Changes, PathChange};
use hutch_store::Skipped;
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// The name of an entry.
#[derive(Clone, Copy, Debug, Serialize, JsonSchema)]
pub struct Pinned {
    sequence: u64,
    #[schemars(with = "String")]
    hash: Digest,
}

impl From<Pin> for Pinned {
    fn from(Pin { sequence, hash }: Pin) -> Pinned {
        Pinned { sequence, hash }
    }
}

impl Pinned {
    /// The name of an entry that was written; a preview writes none.
    pub fn kept(session: &Session, entry: &Sealed) -> Option<Pinned> {
        session.keeps().then(|| entry.pin().into())
    }
}

/// What differs, by volume.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Changed {
    #[schemars(with = "Open")]
    changes: BTreeMap<String, Vec<PathChange>>,
    #[serde(skip_serializing_if = "is_zero")]
    changes_omitted: u64,
}

impl From<&BTreeMap<String, Changes>> for Changed {
    fn from(changes: &BTreeMap<String, Changes>) -> Changed {
        Changed {
            changes: changes.iter().map(|(volume, changes)| (volume.clone(), changes.listed.clone())).collect(),
            changes_omitted: changes.values().map(|changes| changes.omitted).sum(),
        }
    }
}

/// What stands in plain directories and can be in no state, by volume: those where anything does.
#[derive(Debug, Default, Serialize, JsonSchema)]
pub struct Aside {
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    #[schemars(with = "Open")]
    skipped: BTreeMap<String, SkippedPaths>,
}

impl<'s> FromIterator<(&'s String, &'s Skipped)> for Aside {
    fn from_iter<I: IntoIterator<Item = (&'s String, &'s Skipped)>>(skipped: I) -> Aside {
        let some = skipped.into_iter().filter(|(_, skipped)| **skipped != Skipped::default());
        Aside { skipped: some.map(|(volume, skipped)| (volume.clone(), skipped.into())).collect() }
    }
}

/// The same, of one folder.
#[derive(Debug, Serialize)]
pub(crate) struct SkippedPaths {
    paths: Vec<SkippedPath>,
    omitted: u64,
}

#[derive(Debug, Serialize)]
struct SkippedPath {
    path: String,
    reason: String,
}

impl From<&Skipped> for SkippedPaths {
    fn from(skipped: &Skipped) -> SkippedPaths {
        let listed = skipped.listed.iter();
        let paths = listed.map(|(path, reason)| SkippedPath { path: path.to_string(), reason: reason.to_string() });
        SkippedPaths { paths: paths.collect(), omitted: skipped.omitted }
    }
}

/// A move to another state.
#[derive(Debug, Serialize, JsonSchema)]
pub struct MovedAnswer {
    entry: Option<Pinned>,
    follows: Pinned,
    #[serde(flatten)]
    changed: Changed,
    #[serde(flatten)]
    aside: Aside,
    /// Real folders that runs changed whose state was left, the last first. They stay as they are.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    left: Vec<Left>,
    /// How far one may go from here; nothing where it is a preview.
    #[serde(skip_serializing_if = "Option::is_none")]
    further: Option<Further>,
}

/// A real folder, the name that the application knew it by, and the entry of the run that changed it.
#[derive(Debug, Serialize, JsonSchema)]
struct Left {
    sequence: u64,
    name: String,
    path: String,
}

impl From<&LeftFolder> for Left {
    fn from(LeftFolder { sequence, name, path, .. }: &LeftFolder) -> Left {
        Left { sequence: *sequence, name: name.clone(), path: path.clone() }
    }
}

/// How many changes can be taken back from here, and how many that were can be made again; neither is counted beyond 100.
#[derive(Debug, Serialize, JsonSchema)]
struct Further {
    undo: u64,
    redo: u64,
}

/// The document about a move to another state: a [`MovedAnswer`].
pub fn moved_value(session: &Session, moved: &Moved) -> Value {
    json!(MovedAnswer {
        entry: Pinned::kept(session, &moved.entry),
        follows: moved.follows.pin().into(),
        changed: Changed::from(&moved.changes),
        aside: moved.skipped.iter().collect(),
        left: moved.left.iter().map(Left::from).collect(),
        further: session
            .keeps()
            .then(|| session.reach().ok())
            .flatten()
            .map(|Reach { back, forward }| Further { undo: back, redo: forward }),
    })
}

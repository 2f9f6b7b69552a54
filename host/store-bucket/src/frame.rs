//! How an instance lies in a bucket: the names of its objects, and an entry with what it leads to. Pure.
//!
//! | name | what |
//! |---|---|
//! | `instances/SLUG/NAME` | that there is one, and the key under which it hashes secrets; never changed |
//! | `data/SLUG/NAME/e/SEQUENCE` | an entry, and where the instance stands from then on; put where there is none, never changed |
//! | `data/SLUG/NAME/head` | a copy of an entry, at best the last one: where to begin to look for it |
//! | `data/SLUG/NAME/h/HASH/SEQUENCE` | empty: where to look for the entry with this hash, of which there may be none |
//! | `data/SLUG/NAME/o/KIND/DIGEST` | an object or a stream; put before an entry names it, never changed |

use hutch_model::digest::{Digest, Kind};
use hutch_model::ledger::{Origin, Pin, Sealed};
use hutch_model::names::Slug;
use hutch_store::{Head, InstanceName, StoreError, keeping};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};

pub(crate) const INSTANCES: &str = "instances/";
pub(crate) const PROOFS: &str = "proofs/";

/// The form of what is written here.
const FORMAT: u64 = 1;

/// What stands before an entry's bytes, on a line.
#[derive(Serialize, Deserialize)]
// A name that was changed would be looked for and not found.
#[serde(deny_unknown_fields)]
struct Line {
    format: u64,
    sequence: u64,
    hash: Digest,
    /// Whose entry this is: two writers may have the same to say in the same place, and one of them comes second.
    writer: String,
    volumes: BTreeMap<String, Digest>,
    owners: BTreeMap<Origin, Digest>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    admitted: Option<serde_json::Value>,
    open: BTreeSet<u64>,
    changed: u64,
}

/// An entry as it lies in a bucket.
#[derive(Clone, Debug)]
pub(crate) struct Frame {
    pub(crate) sealed: Sealed,
    /// Where the instance stands from then on.
    pub(crate) head: Head,
}

/// What an instance's file says.
#[derive(Serialize, Deserialize)]
struct Made {
    format: u64,
    secret_key: String,
}

/// The folder of an instance.
pub(crate) fn folder(slug: &Slug, name: &InstanceName) -> String {
    format!("data/{slug}/{name}/")
}

/// The name of an object within that folder.
pub(crate) fn object(kind: Kind, digest: &Digest) -> String {
    format!("o/{}/{digest}", kind_name(kind))
}

/// The name of an entry within that folder.
pub(crate) fn entry(sequence: u64) -> String {
    format!("e/{sequence:020}")
}

/// The name that says where an entry is, within that folder.
pub(crate) fn mark(pin: Pin) -> String {
    format!("h/{}/{:020}", pin.hash, pin.sequence)
}

/// The place that such a name says.
pub(crate) fn marked(name: &str) -> Option<u64> {
    name.rsplit_once('/')?.1.parse().ok()
}

const fn kind_name(kind: Kind) -> &'static str {
    match kind {
        Kind::Chunk => "chunk",
        Kind::List => "list",
        Kind::Tree => "tree",
        // Nothing else is put here.
        _ => "stream",
    }
}

/// What an object's name says.
pub(crate) fn object_named(name: &str) -> Option<(Kind, Digest)> {
    let (kind, digest) = name.strip_prefix("o/")?.split_once('/')?;
    let kind = match kind {
        "chunk" => Kind::Chunk,
        "list" => Kind::List,
        "tree" => Kind::Tree,
        "stream" => Kind::Stream,
        _ => return None,
    };
    Some((kind, digest.parse().ok()?))
}

/// What says that there is an instance.
pub(crate) fn made_bytes(key: &[u8; 32]) -> Vec<u8> {
    let secret_key = data_encoding::HEXLOWER.encode(key);
    serde_json::json!({ "format": FORMAT, "secret_key": secret_key }).to_string().into_bytes()
}

/// The key that it has.
pub(crate) fn made(at: &str, bytes: &[u8]) -> Result<[u8; 32], StoreError> {
    let damaged = |reason: String| StoreError::Damaged { at: at.to_owned(), what: "the secret key".to_owned(), reason };
    let made: Made = serde_json::from_slice(bytes).map_err(|error| damaged(error.to_string()))?;
    is_known(at, made.format)?;
    let key = data_encoding::HEXLOWER.decode(made.secret_key.as_bytes()).ok();
    key.and_then(|key| key.try_into().ok()).ok_or_else(|| damaged("is not 32 bytes".to_owned()))
}

fn is_known(at: &str, format: u64) -> Result<(), StoreError> {
    match format {
        FORMAT => Ok(()),
        newer => Err(StoreError::TooNew {
            at: at.to_owned(),
            what: format!("it is of form {newer}"),
            known: format!("form {FORMAT}"),
        }),
    }
}

impl Frame {
    /// As it is put.
    pub(crate) fn bytes(&self, writer: &[u8]) -> Vec<u8> {
        let standing = self.head.standing();
        let line = Line {
            format: FORMAT,
            sequence: self.sealed.sequence,
            hash: self.sealed.hash,
            writer: data_encoding::HEXLOWER.encode(writer),
            volumes: standing.volumes,
            owners: standing.owners,
            admitted: self.head.admitted.as_ref().map(keeping::admitted_text),
            open: standing.open,
            changed: self.head.changed,
        };
        // Its parts are names, numbers and digests, of which there is a text.
        let mut bytes = serde_json::to_vec(&line).unwrap_or_default();
        bytes.push(b'\n');
        bytes.extend_from_slice(&self.sealed.bytes);
        bytes
    }

    /// Reads one, and holds the entry against what it is said to lead to.
    pub(crate) fn read(at: &str, what: &str, bytes: &[u8]) -> Result<Frame, StoreError> {
        let damaged = |reason: String| StoreError::Damaged { at: at.to_owned(), what: what.to_owned(), reason };
        let end = bytes.iter().position(|byte| *byte == b'\n').ok_or_else(|| damaged("is no entry".to_owned()))?;
        let (line, rest) = bytes.split_at(end);
        #[derive(Deserialize)]
        struct Form {
            format: u64,
        }
        let form: Form = serde_json::from_slice(line).map_err(|error| damaged(error.to_string()))?;
        is_known(at, form.format)?;
        let line: Line = serde_json::from_slice(line).map_err(|error| damaged(error.to_string()))?;
        let sealed =
            Sealed { sequence: line.sequence, hash: line.hash, bytes: rest.get(1..).unwrap_or_default().into() };
        let admitted = line.admitted.map(keeping::admitted).transpose().map_err(damaged)?;
        let (owners, open) = (line.owners, line.open);
        let mut head = Head { last: sealed.pin(), changed: line.changed, owners, admitted, open, ..Head::default() };
        for (name, tree) in line.volumes {
            let named = name.parse().map_err(|error: hutch_store::StoreNameError| damaged(error.to_string()))?;
            head.state.insert(named, tree);
        }
        Ok(Frame { sealed, head })
    }

    /// Reads the one in a place.
    pub(crate) fn read_at(at: &str, sequence: u64, bytes: &[u8]) -> Result<Frame, StoreError> {
        let what = format!("entry {sequence}");
        let frame = Frame::read(at, &what, bytes)?;
        match frame.sealed.sequence == sequence {
            true => Ok(frame),
            false => {
                let reason = format!("says that its place is {}", frame.sealed.sequence);
                Err(StoreError::Damaged { at: at.to_owned(), what, reason })
            }
        }
    }
}

//! One call to the file system with everything it needs, as data: generated, run on both sides, shortened, and kept in
//! `regressions/`, one per line.

use serde::{Deserialize, Serialize};

/// Places for open descriptors. Place 0 is the volume's top and stays open.
pub(crate) const SLOTS: usize = 8;

/// Places for open streams of each direction.
pub(crate) const STREAMS: usize = 3;

/// A call. Numbers are places of descriptors or streams; an empty place of a descriptor stands for the top.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Operation {
    Open {
        into: usize,
        base: usize,
        path: String,
        flags: OpenFlags,
    },
    Close {
        slot: usize,
    },
    Read {
        slot: usize,
        offset: u64,
        length: u64,
    },
    Write {
        slot: usize,
        offset: u64,
        length: usize,
        fill: u8,
    },
    SetSize {
        slot: usize,
        size: u64,
    },
    OpenInput {
        into: usize,
        slot: usize,
        offset: u64,
    },
    OpenOutput {
        into: usize,
        slot: usize,
        offset: Option<u64>,
    },
    StreamRead {
        input: usize,
        length: u64,
    },
    StreamWrite {
        output: usize,
        length: usize,
        fill: u8,
    },
    Splice {
        output: usize,
        input: usize,
        length: u64,
    },
    CloseInput {
        input: usize,
    },
    CloseOutput {
        output: usize,
    },
    CreateFolder {
        base: usize,
        path: String,
    },
    RemoveFolder {
        base: usize,
        path: String,
    },
    Unlink {
        base: usize,
        path: String,
    },
    Rename {
        base: usize,
        path: String,
        new_base: usize,
        new_path: String,
    },
    Link {
        base: usize,
        path: String,
        follow: bool,
        new_base: usize,
        new_path: String,
    },
    Symlink {
        base: usize,
        target: String,
        path: String,
    },
    ReadLink {
        base: usize,
        path: String,
    },
    Stat {
        slot: usize,
    },
    StatAt {
        base: usize,
        path: String,
        follow: bool,
    },
    SetTimes {
        slot: usize,
        accessed: Time,
        modified: Time,
    },
    SetTimesAt {
        base: usize,
        path: String,
        follow: bool,
        accessed: Time,
        modified: Time,
    },
    List {
        slot: usize,
    },
    Flags {
        slot: usize,
    },
    Same {
        a: usize,
        b: usize,
    },
    SameAt {
        slot: usize,
        base: usize,
        path: String,
        follow: bool,
    },
    /// The run ends, all is stored, and the next one starts from there.
    Reopen {
        read_only: bool,
    },
}

/// A new time stamp.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Time {
    Keep,
    Now,
    At(u64, u32),
}

/// What to open with, as letters: `f`ollow, `c`reate, `d`irectory, e`x`clusive, `t`runcate, `r`ead, `w`rite, `m`utate-directory,
/// `s`ynchronised writes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub(crate) struct OpenFlags(pub(crate) String);

impl OpenFlags {
    pub(crate) const LETTERS: &'static str = "fcdxtrwms";

    pub(crate) fn has(&self, letter: char) -> bool {
        self.0.contains(letter)
    }
}

impl Operation {
    /// All paths in it.
    pub(crate) fn paths(&self) -> Vec<&str> {
        use Operation::*;
        match self {
            Open { path, .. }
            | CreateFolder { path, .. }
            | RemoveFolder { path, .. }
            | Unlink { path, .. }
            | ReadLink { path, .. }
            | StatAt { path, .. }
            | SetTimesAt { path, .. }
            | SameAt { path, .. } => vec![path],
            Symlink { target, path, .. } => vec![target, path],
            Rename { path, new_path, .. } | Link { path, new_path, .. } => vec![path, new_path],
            _ => Vec::new(),
        }
    }
}

/// The bytes that a write puts down.
pub(crate) fn content(length: usize, fill: u8) -> Vec<u8> {
    (0..length).map(|at| fill.wrapping_add((at % 251) as u8)).collect()
}

//! Sequences of operations on the files of a world: quotas and memory are never passed and always counted right, a file holds what a
//! plain list of bytes would hold, what fails changes nothing, no path leads out of the volume, and what is stored is what was there.
#![no_main]
#![allow(clippy::expect_used, reason = "the support of the world's tests fails so")]
#![allow(dead_code, reason = "the support of the world's tests is used in part")]

use arbitrary::{Arbitrary, Result, Unstructured};
use hutch_model::limits::{Limit, Limits};
use hutch_world::Stop;
use std::collections::{BTreeMap, BTreeSet};
use support::guest::Guest;
use support::operation::{OpenFlags, Operation, SLOTS, STREAMS, Time, content};
use support::seen::{Kind, Seen, Tree, TreeNode};

#[path = "../../world/support/mod.rs"]
mod support;

/// The most operations of a run.
const OPERATIONS_MAX: usize = 64;

/// Bytes of a file that the model follows; what is longer is left to the world's own tests.
const FOLLOWED_BYTES: u64 = 1 << 17;

const PARTS: [&str; 12] = ["a", "b", "c", "d", "é", ".", "..", "", "a/b", "c/..", "x\0y", "long-name-that-is-longer"];

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    // What is left out of an input is zero.
    let _ = run(&mut Unstructured::new(bytes));
});

fn run(input: &mut Unstructured<'_>) -> Result<()> {
    let limits = limits(input)?;
    let real = input.ratio(1, 4)?;
    let mut guest = if real { Guest::in_real_folder(limits.clone()) } else { Guest::new(limits.clone()) };
    let mut model = Model::default();
    for _ in 0..OPERATIONS_MAX {
        if input.is_empty() {
            break;
        }
        let operation = operation(input)?;
        let before = tree(&mut guest, &limits);
        let seen = guest.perform(&operation);
        check_counts(&guest, &limits);
        check_way_out(&operation, &seen, before.as_ref());
        if let Seen::Stopped(stop) = &seen {
            assert!(matches!(stop, Stop::Limit(_)), "{operation:?} ended the run: {stop}");
            return Ok(());
        }
        if let (Seen::Failed(_), Some(before)) = (&seen, before) {
            let after = tree(&mut guest, &limits);
            assert!(after.is_none_or(|after| after == before), "{operation:?} failed and changed something");
        }
        model.follow(&mut guest, &operation, &seen);
    }
    // The next run finds what this one left.
    let Some(before) = tree(&mut guest, &limits) else { return Ok(()) };
    if guest.perform(&Operation::Reopen { read_only: false }) == Seen::Done {
        check_counts(&guest, &limits);
        if let Some(after) = tree(&mut guest, &limits) {
            assert_eq!(stored(after), stored(before), "what was stored is something else");
        }
    }
    Ok(())
}

fn limits(input: &mut Unstructured<'_>) -> Result<Limits> {
    let mut limits = Limits::default();
    limits.set(Limit::Fuel, u64::MAX / 2);
    limits.set(Limit::StateBytes, *input.choose(&[1 << 20, 100, 5000, 200_000])?);
    limits.set(Limit::StateFiles, *input.choose(&[1000, 3, 8])?);
    limits.set(Limit::FileBytes, *input.choose(&[1 << 20, 50, 70_000])?);
    limits.set(Limit::FolderDepth, *input.choose(&[100, 1, 3])?);
    // Little of it ends between any two things that one operation takes.
    let memory = if input.ratio(1, 2)? { 1 << 30 } else { 500 + u64::from(u16::arbitrary(input)? % 8192) };
    limits.set(Limit::Memory, memory);
    Ok(limits)
}

fn path(input: &mut Unstructured<'_>) -> Result<String> {
    let parts = 1 + usize::from(u8::arbitrary(input)? % 4);
    let slash = if input.ratio(1, 16)? { "/" } else { "" };
    let parts = (0..parts).map(|_| input.choose(&PARTS).copied()).collect::<Result<Vec<_>>>()?;
    Ok(parts.join("/") + slash)
}

/// Offsets and lengths around the ends of what files are made of, and small ones.
fn number(input: &mut Unstructured<'_>) -> Result<u64> {
    let near = *input.choose(&[0, 0, 0, 50, 4096, 65_536, 1 << 20, u64::MAX - 255])?;
    Ok(u64::from(u8::arbitrary(input)?) + near)
}

fn time(input: &mut Unstructured<'_>) -> Result<Time> {
    Ok(match u8::arbitrary(input)? % 3 {
        0 => Time::Keep,
        1 => Time::Now,
        _ => Time::At(u64::arbitrary(input)?, u32::arbitrary(input)?),
    })
}

fn flags(input: &mut Unstructured<'_>) -> Result<OpenFlags> {
    let bits = u16::arbitrary(input)?;
    let letters = OpenFlags::LETTERS.chars().enumerate().filter(|(at, _)| bits & (1 << at) != 0);
    Ok(OpenFlags(letters.map(|(_, letter)| letter).collect()))
}

fn operation(input: &mut Unstructured<'_>) -> Result<Operation> {
    use Operation::*;
    let kind = u8::arbitrary(input)? % 27;
    let mut place = |places: usize| Ok(usize::from(u8::arbitrary(input)?) % places);
    let (slot, base, new_base) = (place(SLOTS)?, place(SLOTS)?, 0);
    let (stream, length) = (base % STREAMS, 1 << 17);
    Ok(match kind {
        0..=2 => Open { into: slot, base, path: path(input)?, flags: flags(input)? },
        3 => Close { slot },
        4 => Read { slot, offset: number(input)?, length: number(input)?.min(length) },
        5 | 6 => {
            let length = usize::try_from(number(input)?.min(length)).unwrap_or(0);
            Write { slot, offset: number(input)?, length, fill: u8::arbitrary(input)? }
        }
        7 => SetSize { slot, size: number(input)? },
        8 => OpenInput { into: stream, slot, offset: number(input)? },
        9 => OpenOutput { into: stream, slot, offset: Option::arbitrary(input)? },
        10 => StreamRead { input: stream, length: number(input)?.min(length) },
        11 => StreamWrite { output: stream, length: usize::from(u16::arbitrary(input)?), fill: 1 },
        12 => Splice { output: stream, input: slot % STREAMS, length: number(input)?.min(length) },
        13 => CloseInput { input: stream },
        14 => CloseOutput { output: stream },
        15 => CreateFolder { base, path: path(input)? },
        16 => RemoveFolder { base, path: path(input)? },
        17 => Unlink { base, path: path(input)? },
        18 => Rename { base, path: path(input)?, new_base: slot, new_path: path(input)? },
        19 => Link { base, path: path(input)?, follow: bool::arbitrary(input)?, new_base, new_path: path(input)? },
        20 => Symlink { base, target: path(input)?, path: path(input)? },
        21 => ReadLink { base, path: path(input)? },
        22 => StatAt { base, path: path(input)?, follow: bool::arbitrary(input)? },
        23 => SetTimesAt { base, path: path(input)?, follow: true, accessed: time(input)?, modified: time(input)? },
        24 => Stat { slot },
        25 => SameAt { slot, base, path: path(input)?, follow: bool::arbitrary(input)? },
        _ => Reopen { read_only: input.ratio(1, 8)? },
    })
}

/// What there is, if there is memory to look at it.
fn tree(guest: &mut Guest, limits: &Limits) -> Option<Tree> {
    let tree = guest.tree().ok()?;
    for (path, node) in &tree {
        let parts: Vec<&str> = path.split('/').collect();
        assert!(
            !parts.iter().any(|part| matches!(*part, "" | "." | "..") || part.contains('\0')),
            "{path:?} is no path"
        );
        let is_folder = matches!(node, TreeNode::Folder { .. });
        let depth = parts.len() as u64;
        assert!(!is_folder || depth <= limits.get(Limit::FolderDepth), "{path:?} is deeper than folders may be");
        if let TreeNode::File { size, .. } = node {
            assert!(*size <= limits.get(Limit::FileBytes), "{path:?} is larger than files may be");
        }
    }
    check_counts(guest, limits);
    Some(tree)
}

/// What is stored of what there is: names of one file are files of their own from then on.
fn stored(mut tree: Tree) -> Tree {
    for node in tree.values_mut() {
        if let TreeNode::File { names, .. } | TreeNode::Link { names, .. } = node {
            *names = 1;
        }
    }
    tree
}

fn check_counts(guest: &Guest, limits: &Limits) {
    let counts = guest.world.recount().unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(guest.world.counted(), counts, "what is counted as it changes is not what there is");
    assert!(counts.state_bytes <= limits.get(Limit::StateBytes), "{counts:?}");
    assert!(counts.state_files <= limits.get(Limit::StateFiles), "{counts:?}");
    assert!(counts.memory_bytes <= limits.get(Limit::Memory), "{counts:?}");
}

/// A path that goes above the volume's top is refused, whatever is there. Links may lead elsewhere before: then the path alone says
/// nothing.
fn check_way_out(operation: &Operation, seen: &Seen, before: Option<&Tree>) {
    use Operation::*;
    let paths: Vec<(usize, &str)> = match operation {
        Open { base, path, .. }
        | CreateFolder { base, path }
        | RemoveFolder { base, path }
        | Unlink { base, path }
        | ReadLink { base, path }
        | Symlink { base, path, .. }
        | StatAt { base, path, .. }
        | SetTimesAt { base, path, .. }
        | SameAt { base, path, .. } => vec![(*base, path)],
        Rename { base, path, new_base, new_path } | Link { base, path, new_base, new_path, .. } => {
            vec![(*base, path), (*new_base, new_path)]
        }
        _ => return,
    };
    let plain = before.is_some_and(|tree| !tree.values().any(|node| matches!(node, TreeNode::Link { .. })));
    let out = paths.iter().any(|(base, path)| path.starts_with('/') || (*base == 0 && plain && leads_out(path)));
    assert!(!out || matches!(seen, Seen::Failed(_) | Seen::Stopped(_)), "{operation:?} came to {seen:?}");
}

fn leads_out(path: &str) -> bool {
    let mut depth = 0_i32;
    path.split('/').any(|part| {
        depth += match part {
            "" | "." => 0,
            ".." => -1,
            _ => 1,
        };
        depth < 0
    })
}

/// Files as plain lists of bytes. What is written through a stream is not followed.
#[derive(Default)]
struct Model {
    files: BTreeMap<(u64, u64), Vec<u8>>,
    streamed: BTreeSet<(u64, u64)>,
}

impl Model {
    fn follow(&mut self, guest: &mut Guest, operation: &Operation, seen: &Seen) {
        let file = |guest: &Guest, slot: usize| guest.slots[slot].as_ref().map(|open| guest.world.identity(open));
        match (operation, seen) {
            (Operation::Reopen { .. }, _) => *self = Model::default(),
            (Operation::Open { into, flags, .. }, Seen::Done) if *into != 0 => {
                let Some(file) = file(guest, *into) else { return };
                self.learn(guest, *into, file, flags.has('t'));
            }
            (Operation::OpenOutput { slot, .. }, Seen::Done) => {
                if let Some(file) = file(guest, *slot) {
                    self.files.remove(&file);
                    self.streamed.insert(file);
                }
            }
            (Operation::Write { slot, offset, length, fill }, Seen::Done) => {
                let Some(file) = file(guest, *slot) else { return };
                let Some(known) = self.files.get_mut(&file) else { return };
                let end = offset.saturating_add(*length as u64);
                match usize::try_from(end).ok().filter(|_| end <= FOLLOWED_BYTES) {
                    // Nothing is written, and nothing grows.
                    Some(_) if *length == 0 => {}
                    Some(end) => {
                        known.resize(known.len().max(end), 0);
                        known[end - length..end].copy_from_slice(&content(*length, *fill));
                    }
                    None => drop(self.files.remove(&file)),
                }
            }
            (Operation::SetSize { slot, size }, Seen::Done) => {
                let Some(file) = file(guest, *slot) else { return };
                match (self.files.get_mut(&file), usize::try_from(*size).ok().filter(|_| *size <= FOLLOWED_BYTES)) {
                    (Some(known), Some(size)) => known.resize(size, 0),
                    _ => drop(self.files.remove(&file)),
                }
            }
            (Operation::Read { slot, offset, length }, Seen::Bytes(bytes)) => {
                let Some(known) = file(guest, *slot).and_then(|file| self.files.get(&file)) else { return };
                let rest = usize::try_from(*offset).ok().and_then(|offset| known.get(offset..)).unwrap_or_default();
                assert!(rest.starts_with(bytes) && bytes.len() as u64 <= *length, "{operation:?} reads something else");
                assert!(!bytes.is_empty() || rest.is_empty() || *length == 0, "{operation:?} reads nothing");
            }
            (Operation::Stat { slot }, Seen::Stat(attributes)) => {
                let Some(known) = file(guest, *slot).and_then(|file| self.files.get(&file)) else { return };
                assert_eq!(attributes.size, known.len() as u64);
            }
            _ => {}
        }
    }

    /// A file that was opened: what is not known of it yet is read, if that is allowed.
    fn learn(&mut self, guest: &mut Guest, slot: usize, file: (u64, u64), truncated: bool) {
        let Seen::Stat(attributes) = guest.perform(&Operation::Stat { slot }) else { return };
        if attributes.kind != Kind::File || self.streamed.contains(&file) || attributes.size > FOLLOWED_BYTES {
            return;
        }
        assert!(!truncated || attributes.size == 0, "a file that was cut holds {} bytes", attributes.size);
        if truncated {
            self.files.insert(file, Vec::new());
        }
        match self.files.get(&file) {
            Some(known) => assert_eq!(attributes.size, known.len() as u64),
            None => {
                let read = Operation::Read { slot, offset: 0, length: attributes.size };
                if let Seen::Bytes(bytes) = guest.perform(&read)
                    && bytes.len() as u64 == attributes.size
                {
                    self.files.insert(file, bytes);
                }
            }
        }
    }
}

//! Snapshots that can't be read or that lie: a run ends with a host fault, and nothing panics.

use crate::support::generate::Generator;
use crate::support::guest::Guest;
use crate::support::operation::{OpenFlags, Operation, SLOTS};
use crate::support::random::Random;
use crate::support::seen::Seen;
use crate::support::{setting, try_world, wide_limits};
use hutch_model::digest::{Digest, Kind};
use hutch_model::invocation::Access;
use hutch_model::snapshot::{Entry, MemoryObjects, Name, Node, ObjectError, Objects, Totals, Tree};
use hutch_world::Stop;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// What is wrong with an object.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Damage {
    Missing,
    Empty,
    Short,
    Long,
    Garbage,
}

/// Objects of which the one that is fetched at a given time, and each that is fetched after it, is damaged.
struct Damaged {
    objects: Arc<dyn Objects>,
    damage: Damage,
    good: usize,
    fetched: AtomicUsize,
}

impl Objects for Damaged {
    fn get(&self, kind: Kind, digest: &Digest) -> Result<Arc<[u8]>, ObjectError> {
        let bytes = self.objects.get(kind, digest)?;
        if self.fetched.fetch_add(1, Ordering::Relaxed) < self.good {
            return Ok(bytes);
        }
        Ok(match self.damage {
            Damage::Missing => return Err(ObjectError::damaged(kind, *digest, "is lost".to_owned())),
            Damage::Empty => [].into(),
            Damage::Short => bytes[..bytes.len() - 1].into(),
            Damage::Long => [&bytes[..], &[0]].concat().into(),
            Damage::Garbage => bytes.iter().map(|byte| byte ^ 0x5a).collect(),
        })
    }
}

/// A volume with files of one chunk, of a list and of two levels of lists, folders and links; and something to do with each.
fn volume() -> (Digest, Arc<dyn Objects>, Vec<Operation>) {
    let mut guest = Guest::new(wide_limits());
    let path = |path: &str| path.to_owned();
    let open = |into, at: &str, flags: &str| Operation::Open {
        into,
        base: 0,
        path: at.to_owned(),
        flags: OpenFlags(flags.to_owned()),
    };
    for folder in ["a", "a/b", "a/b/c"] {
        guest.perform(&Operation::CreateFolder { base: 0, path: path(folder) });
    }
    guest.perform(&Operation::Symlink { base: 0, target: path("a/b"), path: path("link") });
    for (at, size) in [("small", 100), ("a/listed", 300_000), ("a/b/large", 20_000_000), ("a/b/c/deep", 70_000)] {
        guest.perform(&open(1, at, "cw"));
        guest.perform(&Operation::SetSize { slot: 1, size });
        guest.perform(&Operation::Write { slot: 1, offset: size / 2, length: 90, fill: 1 });
    }
    guest.perform(&Operation::Reopen { read_only: false });
    let operations = vec![
        Operation::List { slot: 0 },
        open(1, "small", "rw"),
        Operation::Read { slot: 1, offset: 0, length: 200 },
        open(2, "a/listed", "rw"),
        Operation::Read { slot: 2, offset: 150_000, length: 10 },
        Operation::Write { slot: 2, offset: 65_530, length: 10, fill: 3 },
        Operation::SetSize { slot: 2, size: 200_001 },
        open(3, "link/large", "fr"),
        Operation::OpenInput { into: 0, slot: 3, offset: 9_999_990 },
        Operation::OpenOutput { into: 0, slot: 1, offset: None },
        Operation::Splice { output: 0, input: 0, length: 70_000 },
        Operation::Rename { base: 0, path: path("a/b/c"), new_base: 0, new_path: path("c") },
        open(4, "c/deep", "rw"),
        Operation::Write { slot: 4, offset: 69_999, length: 2, fill: 3 },
        Operation::RemoveFolder { base: 0, path: path("a/b") },
        Operation::Reopen { read_only: false },
        Operation::List { slot: 0 },
    ];
    (guest.top, guest.objects.clone(), operations)
}

fn is_fault(seen: &Seen) -> bool {
    matches!(seen, Seen::Stopped(Stop::State(_)))
}

#[test]
fn a_damaged_object_ends_the_run_with_a_fault() {
    let (top, objects, operations) = volume();
    let mut faults = 0;
    for damage in [Damage::Missing, Damage::Empty, Damage::Short, Damage::Long, Damage::Garbage] {
        // The first fetch is that of the top, when the world is made.
        for good in 1.. {
            let damaged = Damaged { objects: objects.clone(), damage, good, fetched: AtomicUsize::new(0) };
            let damaged = Arc::new(damaged);
            let mut guest = Guest::resume(wide_limits(), Access::ReadWrite, top, damaged.clone());
            let mut fault = false;
            for operation in &operations {
                let fetched = damaged.fetched.load(Ordering::Relaxed);
                let seen = guest.perform(operation);
                let bad = damaged.fetched.load(Ordering::Relaxed).saturating_sub(good.max(fetched));
                // Garbage of a chunk's length is a chunk to whoever does not check digests, and that is not the world.
                if bad > 0 && damage != Damage::Garbage {
                    assert!(is_fault(&seen), "{damage:?} after {good}: {operation:?} showed {seen:?}");
                }
                fault |= is_fault(&seen);
                guest.world.recount().expect("a table of nodes in order");
            }
            faults += usize::from(fault);
            if damaged.fetched.load(Ordering::Relaxed) <= good {
                assert!(!fault, "a fault without damage");
                assert!(good > 10, "only {good} objects were ever fetched");
                break;
            }
        }
    }
    assert!(faults > 50, "only {faults} faults");
}

#[test]
fn a_volume_without_its_top_makes_no_world() {
    let (top, objects, _) = volume();
    for damage in [Damage::Missing, Damage::Short, Damage::Long, Damage::Garbage] {
        let damaged = Damaged { objects: objects.clone(), damage, good: 0, fetched: AtomicUsize::new(0) };
        let made = try_world(wide_limits(), Access::ReadWrite, top, Arc::new(damaged), &[]);
        assert!(made.is_err(), "{damage:?} of the top was not seen");
    }
}

/// A tree of which nothing is true but the digests.
fn lies(random: &mut Random, objects: &mut MemoryObjects, depth: usize) -> Digest {
    let number = |random: &mut Random| match random.below(5) {
        0 => u64::MAX,
        1 => 0,
        2 => i64::MAX as u64,
        3 => 1 << random.below(64),
        _ => random.next() % 200_000,
    };
    let mut entries = Vec::new();
    for name in ["a", "b", "c", "d", "é"] {
        if random.one_in(4) {
            continue;
        }
        let bytes = vec![1; random.below(100)];
        let content = match random.below(3) {
            0 => Digest::of(Kind::Chunk, b"never stored"),
            1 => objects.insert(Kind::Chunk, bytes),
            _ => objects.insert(Kind::List, vec![0; 32 * random.below(300)]),
        };
        let node = match random.below(4) {
            0 => Node::Link { target: ["a", "b/c", "/", "../..", "é/", "a/a/a/a"][random.below(6)].into() },
            1 if depth > 0 => {
                let tree = lies(random, objects, depth - 1);
                let (depth, path_bytes) = (number(random) as u32, number(random) as u32);
                let totals = Totals { bytes: number(random), files: number(random), depth, path_bytes };
                Node::Folder { tree, totals }
            }
            2 => Node::Folder { tree: content, totals: Totals { bytes: 1, files: 1, depth: 1, path_bytes: 1 } },
            _ => Node::File { size: number(random), content },
        };
        entries.push(Entry { name: Name::new(name).expect("a name"), modified_ns: number(random), node });
    }
    objects.insert(Kind::Tree, Tree::new(entries).expect("each name once").encode())
}

#[test]
fn a_snapshot_that_lies_does_no_more_than_end_the_run() {
    let runs = setting("HUTCH_WORLD_RUNS", if cfg!(debug_assertions) { 100 } else { 2000 });
    let (mut faults, mut done) = (0, 0);
    for seed in 0..runs {
        let mut random = Random::new(seed);
        let mut objects = MemoryObjects::default();
        let top = lies(&mut random, &mut objects, 3);
        let mut limits = wide_limits();
        // What is said to be there may be more than there may be.
        if random.one_in(2) {
            limits.set(hutch_model::limits::Limit::StateBytes, random.next());
            limits.set(hutch_model::limits::Limit::FileBytes, u64::MAX);
        }
        let mut guest = Guest::resume(limits, Access::ReadWrite, top, Arc::new(objects));
        let mut generator = Generator::new(seed);
        for _ in 0..100 {
            let seen = guest.perform(&generator.next(&guest));
            faults += u64::from(is_fault(&seen));
            done += u64::from(seen == Seen::Done);
        }
        for slot in 1..SLOTS {
            guest.put(slot, None);
        }
    }
    assert!(faults > runs && done > runs, "{faults} faults, {done} done");
}

//! What a hostile guest can cause: no folder deeper than its limit, no work without its price, nothing paid for what is not
//! touched.

use crate::support::guest::Guest;
use crate::support::operation::{OpenFlags, Operation};
use crate::support::random::Random;
use crate::support::seen::{Seen, Tree as View, TreeNode};
use crate::support::{setting, wide_limits};
use hutch_model::digest::{Digest, Kind};
use hutch_model::invocation::Access;
use hutch_model::limits::{Limit, Limits};
use hutch_model::snapshot::{Entry, MemoryObjects, Name, Node, ObjectError, Objects, PART_ENTRIES, PARTS, Tree};
use hutch_world::{Errno, price};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

fn limits(limit: Limit, value: u64) -> Limits {
    let mut limits = wide_limits();
    limits.set(limit, value);
    limits
}

fn open(into: usize, path: &str, flags: &str) -> Operation {
    Operation::Open { into, base: 0, path: path.to_owned(), flags: OpenFlags(flags.to_owned()) }
}

fn create_folder(path: &str) -> Operation {
    Operation::CreateFolder { base: 0, path: path.to_owned() }
}

fn rename(from: &str, to: &str) -> Operation {
    Operation::Rename { base: 0, path: from.to_owned(), new_base: 0, new_path: to.to_owned() }
}

fn depth(view: &View) -> usize {
    let folders = view.iter().filter(|(_, node)| matches!(node, TreeNode::Folder { .. }));
    folders.map(|(path, _)| path.split('/').count()).max().unwrap_or(0)
}

/// A path of folders, each in the one before.
fn chain(name: &str, folders: usize) -> String {
    vec![name; folders].join("/")
}

fn make_chain(guest: &mut Guest, name: &str, folders: usize) {
    for length in 1..=folders {
        assert_eq!(guest.perform(&create_folder(&chain(name, length))), Seen::Done);
    }
}

#[test]
fn folders_can_be_moved_as_deep_as_they_may_be_made_and_no_deeper() {
    for stored in [false, true] {
        let mut guest = Guest::new(limits(Limit::FolderDepth, 100));
        make_chain(&mut guest, "a", 60);
        make_chain(&mut guest, "b", 41);
        if stored {
            // Nothing of what is moved has been looked into now.
            guest.perform(&Operation::Reopen { read_only: false });
        }
        let bottom = chain("a", 60);
        assert_eq!(guest.perform(&rename("b", &format!("{bottom}/b"))), Seen::Failed(Errno::NameTooLong));
        assert_eq!(guest.world.meter.refused(), [Limit::FolderDepth]);
        let above = chain("a", 59);
        assert_eq!(guest.perform(&rename("b", &format!("{above}/b"))), Seen::Done);
        let deepest = format!("{above}/{}", chain("b", 41));
        assert_eq!(guest.perform(&create_folder(&format!("{deepest}/c"))), Seen::Failed(Errno::NameTooLong));
        // A file is no folder.
        assert_eq!(guest.perform(&open(1, &format!("{deepest}/file"), "cw")), Seen::Done);
        assert_eq!(guest.perform(&Operation::Reopen { read_only: false }), Seen::Done);
        assert_eq!(depth(&guest.tree().expect("the tree")), 100);
    }
}

/// Bytes of the longest path that can be walked.
const PATH_BYTES_MAX: usize = 4_095;

#[test]
fn whatever_there_is_has_a_path_that_can_be_said() {
    for stored in [false, true] {
        let mut guest = Guest::new(wide_limits());
        let name = "n".repeat(99);
        // 40 folders of 100 bytes each with their slashes, so that names of 95 bytes still have a path.
        let at = |base: usize, into: usize, path: &str, flags: &str| Operation::Open {
            into,
            base,
            path: path.to_owned(),
            flags: OpenFlags(flags.to_owned()),
        };
        for length in 1..=40 {
            assert_eq!(guest.perform(&create_folder(&chain(&name, length))), Seen::Done);
        }
        // Three folders and a file in them: 2 + 2 + 2 + 5 bytes.
        make_chain(&mut guest, "a", 3);
        assert_eq!(guest.perform(&open(1, "a/a/a/file5", "cw")), Seen::Done);
        if stored {
            assert_eq!(guest.perform(&Operation::Reopen { read_only: false }), Seen::Done);
        }
        assert_eq!(guest.perform(&at(0, 2, &chain(&name, 40), "r")), Seen::Done);
        let (fits, long) = ("x".repeat(PATH_BYTES_MAX - 4_000), "x".repeat(PATH_BYTES_MAX - 4_000 + 1));
        type Make<'a> = &'a dyn Fn(&str) -> Operation;
        let make: [(&str, Make<'_>); 5] = [
            ("open", &|path| at(2, 3, path, "cw")),
            ("create folder", &|path| Operation::CreateFolder { base: 2, path: path.to_owned() }),
            ("symlink", &|path| Operation::Symlink { base: 2, target: "x".to_owned(), path: path.to_owned() }),
            ("link", &|path| Operation::Link {
                base: 0,
                path: "a/a/a/file5".to_owned(),
                follow: false,
                new_base: 2,
                new_path: path.to_owned(),
            }),
            ("rename", &|path| Operation::Rename {
                base: 0,
                path: "a/a/a/file5".to_owned(),
                new_base: 2,
                new_path: path.to_owned(),
            }),
        ];
        for (what, make) in make {
            let counted = guest.world.counted();
            assert_eq!(guest.perform(&make(&long)), Seen::Failed(Errno::NameTooLong), "{what}");
            let after = guest.world.counted();
            assert_eq!((after.state_bytes, after.state_files), (counted.state_bytes, counted.state_files), "{what}");
            assert_eq!(guest.perform(&make(&fits)), Seen::Done, "{what}");
            let whole = format!("{}/{fits}", chain(&name, 40));
            assert_eq!(whole.len(), PATH_BYTES_MAX);
            let stat = Operation::StatAt { base: 0, path: whole, follow: false };
            assert!(matches!(guest.perform(&stat), Seen::Stat(_)), "{what} made what has no path");
            let back = Operation::Rename { base: 2, path: fits.clone(), new_base: 0, new_path: what.to_owned() };
            assert_eq!(guest.perform(&back), Seen::Done, "{what}");
        }
        // What is in a folder moves with it: /a/a/file5 is 10 bytes more than its name, looked into or not.
        assert_eq!(guest.perform(&rename("rename", "a/a/a/file5")), Seen::Done);
        if stored {
            assert_eq!(guest.perform(&Operation::Reopen { read_only: false }), Seen::Done);
            assert_eq!(guest.perform(&at(0, 2, &chain(&name, 40), "r")), Seen::Done);
        }
        let moved = |length: usize| Operation::Rename {
            base: 0,
            path: "a".to_owned(),
            new_base: 2,
            new_path: "y".repeat(PATH_BYTES_MAX - 4_000 - length),
        };
        assert_eq!(guest.perform(&moved(9)), Seen::Failed(Errno::NameTooLong));
        assert_eq!(guest.perform(&moved(10)), Seen::Done);
        guest.world.recount().expect("a table of nodes in order");
    }
}

#[test]
fn no_sequence_of_runs_makes_folders_deeper_than_the_limit() {
    const DEPTH: usize = 5;
    let runs = setting("HUTCH_WORLD_RUNS", if cfg!(debug_assertions) { 20 } else { 150 });
    let mut deepest = 0;
    for seed in 0..runs {
        let mut random = Random::new(seed);
        let mut guest = Guest::new(limits(Limit::FolderDepth, DEPTH as u64));
        let mut view = View::new();
        for at in 0..200 {
            let known: Vec<&str> = view.keys().map(String::as_str).chain([""]).collect();
            let below = |random: &mut Random| {
                let (folder, name) = (*random.pick(&known), *random.pick(&["a", "b", "c"]));
                if folder.is_empty() { name.to_owned() } else { format!("{folder}/{name}") }
            };
            let operation = match random.below(12) {
                0 => Operation::Reopen { read_only: false },
                1..5 => create_folder(&below(&mut random)),
                _ => rename(known[random.below(known.len())], &below(&mut random)),
            };
            guest.perform(&operation);
            if at % 4 == 0 {
                view = guest.tree().expect("the tree");
                deepest = deepest.max(depth(&view));
                assert!(depth(&view) <= DEPTH, "seed {seed}: {operation:?} made {view:?}");
            }
        }
    }
    assert_eq!(deepest, DEPTH, "the limit was never reached");
}

#[test]
fn what_is_deeper_than_a_new_limit_stays_as_it_is() {
    let mut guest = Guest::new(wide_limits());
    make_chain(&mut guest, "a", 20);
    guest.perform(&open(1, "file", "cw"));
    guest.perform(&Operation::Reopen { read_only: false });
    let mut guest = Guest::resume(limits(Limit::FolderDepth, 3), Access::ReadWrite, guest.top, guest.objects.clone());
    assert_eq!(guest.perform(&open(1, &format!("{}/file", chain("a", 20)), "cw")), Seen::Done);
    assert_eq!(guest.perform(&create_folder("a/a/b")), Seen::Done);
    assert_eq!(guest.perform(&create_folder("a/a/a/b")), Seen::Failed(Errno::NameTooLong));
    assert_eq!(guest.perform(&rename("file", "file2")), Seen::Done);
    assert_eq!(guest.perform(&Operation::Reopen { read_only: false }), Seen::Done);
    assert_eq!(guest.tree().expect("the tree").len(), 20 + 3);
}

/// Objects that count how often one is fetched.
struct Counting(MemoryObjects, AtomicUsize);

impl Objects for Counting {
    fn get(&self, kind: Kind, digest: &Digest) -> Result<Arc<[u8]>, ObjectError> {
        self.1.fetch_add(1, Ordering::Relaxed);
        self.0.get(kind, digest)
    }
}

const ENTRIES: u64 = 100_000;

/// A volume with a folder of very many files, a file, and a file of 100 chunks.
fn large_volume() -> (Digest, Arc<Counting>) {
    let mut objects = MemoryObjects::default();
    let entry = |name: &str, node: Node| Entry { name: Name::new(name).expect("a name"), modified_ns: 5, node };
    let one = objects.insert_file(b"one");
    let large = Tree::new((0..ENTRIES).map(|at| entry(&format!("file-{at:06}"), one.clone())).collect());
    let large = objects.insert_tree(&large.expect("each name once"));
    let bytes: Vec<u8> = (0..100 * 65536_u32).map(|at| (at >> 16) as u8).collect();
    let chunks = objects.insert_file(&bytes);
    let top = Tree::new(vec![entry("large", large), entry("file", one), entry("chunks", chunks)]);
    let top = objects.insert(Kind::Tree, top.expect("each name once").encode());
    (top, Arc::new(Counting(objects, AtomicUsize::new(0))))
}

#[test]
fn a_folder_costs_the_parts_that_are_read_when_they_are_and_nothing_before() {
    let (top, objects) = large_volume();
    let mut guest = Guest::resume(wide_limits(), Access::ReadWrite, top, objects.clone());
    let stat = |path: &str| Operation::StatAt { base: 0, path: path.to_owned(), follow: true };
    for operation in [
        stat("file"),
        stat("large"),
        open(1, "large", "r"),
        Operation::Rename { base: 0, path: "large".to_owned(), new_base: 0, new_path: "moved".to_owned() },
        create_folder("folder"),
        Operation::Rename { base: 0, path: "moved".to_owned(), new_base: 0, new_path: "folder/large".to_owned() },
        Operation::Rename { base: 0, path: "folder/large".to_owned(), new_base: 0, new_path: "large".to_owned() },
    ] {
        assert!(!matches!(guest.perform(&operation), Seen::Failed(_)), "{operation:?}");
    }
    let gone = guest.perform(&Operation::RemoveFolder { base: 0, path: "large".to_owned() });
    assert_eq!(gone, Seen::Failed(Errno::NotEmpty));
    // The top: once for what it amounts to, once for what is in it.
    assert_eq!(objects.1.load(Ordering::Relaxed), 2);
    assert!(guest.world.meter.fuel() < 2 * price::OBJECT, "{}", guest.world.meter.fuel());
    assert!(guest.world.meter.memory_peak_bytes() < 5_000);
    let before = guest.world.meter.fuel();
    // A name: the folder, and the part with it on each of three levels.
    assert!(matches!(guest.perform(&stat("large/file-000007")), Seen::Stat(_)));
    assert_eq!(objects.1.load(Ordering::Relaxed), 2 + 4);
    let (fuel, memory) = (guest.world.meter.fuel() - before, guest.world.meter.memory_bytes());
    let read = 4 * price::OBJECT + (3 * PARTS + PART_ENTRIES) as u64 * price::ENTRY + 2 * price::PATH_PART;
    assert!((4 * price::OBJECT..read).contains(&fuel), "{fuel}");
    assert!(memory < 50_000, "{memory}");
    let before = guest.world.meter.fuel();
    guest.perform(&stat("large/file-000007"));
    assert!(guest.world.meter.fuel() - before <= 5 * price::PATH_PART, "a part is read once");
    // All of it.
    assert_eq!(guest.perform(&open(1, "large", "r")), Seen::Done);
    guest.perform(&Operation::List { slot: 1 });
    let (fuel, memory) = (guest.world.meter.fuel() - before, guest.world.meter.memory_bytes());
    assert!(fuel >= 2 * ENTRIES * price::ENTRY, "{fuel}");
    assert!(memory >= ENTRIES * 100, "{memory}");
    let read = objects.1.load(Ordering::Relaxed);
    guest.perform(&Operation::List { slot: 1 });
    guest.perform(&stat("large/file-000008"));
    assert_eq!(objects.1.load(Ordering::Relaxed), read);
}

#[test]
fn a_folder_that_does_not_fit_ends_the_run() {
    let (top, objects) = large_volume();
    let mut guest = Guest::resume(limits(Limit::Memory, ENTRIES * 100), Access::ReadOnly, top, objects);
    assert_eq!(guest.perform(&open(1, "large", "r")), Seen::Done);
    let inside = Operation::List { slot: 1 };
    let over = Seen::Stopped(hutch_world::Stop::Limit(Limit::Memory));
    assert_eq!(guest.perform(&inside), over);
    assert_eq!(guest.world.meter.refused(), [Limit::Memory]);
    guest.world.recount().expect("a table of nodes in order");
}

/// What a hostile guest would call again and again: a name, what there is before, and the calls.
fn expensive() -> Vec<(&'static str, Vec<Operation>, Vec<Operation>)> {
    let stat = |path: String| Operation::StatAt { base: 0, path, follow: true };
    let symlink = |target: String, path: String| Operation::Symlink { base: 0, target, path };
    let dots = "./".repeat(2000);
    let mut links = vec![create_folder("d"), create_folder("d/e"), symlink(format!("d/{dots}"), "l0".to_owned())];
    links.extend((1..41).map(|at| symlink(format!("l{}/{dots}", at - 1), format!("l{at}"))));
    links.push(symlink(format!("loop/{dots}"), "loop".to_owned()));
    let deep = chain("a", 120);
    let mut folders: Vec<Operation> = (1..=120).map(|length| create_folder(&chain("a", length))).collect();
    folders.push(create_folder("b"));
    let write = |offset, length| Operation::Write { slot: 1, offset, length, fill: 1 };
    let read = |offset| Operation::Read { slot: 1, offset, length: 1 };
    vec![
        ("a path of dots", vec![], vec![stat(dots.clone()), stat("/".repeat(4000)), stat(format!("./{dots}x"))]),
        ("a path up and down", vec![create_folder("d")], vec![stat("d/../".repeat(800)), stat("d/".repeat(2000))]),
        ("long links", links.clone(), vec![stat("l39".to_owned()), stat("l40".to_owned()), stat("loop".to_owned())]),
        ("deep folders", folders, vec![create_folder(&format!("{deep}/a")), rename("b", &format!("{deep}/b/c"))]),
        (
            "a byte at the end of a chunk",
            vec![open(1, "f", "crw")],
            vec![write(65535, 1), Operation::SetSize { slot: 1, size: 0 }],
        ),
        ("a byte of each chunk", vec![open(1, "chunks", "r")], (0..100).map(|at| read(at * 65536)).collect()),
        ("a byte into each chunk", vec![open(1, "chunks", "rw")], (0..100).map(|at| write(at * 65536, 1)).collect()),
        ("a large folder is read", vec![], vec![stat("large/x".to_owned())]),
        ("a large folder is listed", vec![open(1, "large", "r")], vec![Operation::List { slot: 1 }]),
        ("a large folder is moved", vec![stat("large/x".to_owned())], vec![rename("large", "m"), rename("m", "large")]),
        (
            "holes come and go",
            vec![open(1, "f", "crw")],
            vec![
                Operation::SetSize { slot: 1, size: 1 << 42 },
                write(1 << 41, 1),
                Operation::SetSize { slot: 1, size: 3 },
            ],
        ),
    ]
}

/// Nanoseconds of this machine for each unit of fuel, at the most. A unit is meant to be about one; a slow or busy machine and a
/// build for debugging may need more, and what is free or priced a hundred times too low still shows.
const NS_PER_FUEL_MAX: u64 = if cfg!(debug_assertions) { 500 } else { 20 };

/// How long a call may be tried again that took longer than its price each time.
const PATIENCE: Duration = Duration::from_secs(60);

#[test]
fn no_call_takes_much_longer_than_its_price() {
    let (top, objects) = large_volume();
    for (name, before, calls) in expensive() {
        // The least of five, or of as many as a machine needs that is busy elsewhere: what has a wrong price has it each time.
        let (begun, mut least, mut tries) = (Instant::now(), u64::MAX, 0);
        while tries < 5 || (least > NS_PER_FUEL_MAX && begun.elapsed() < PATIENCE) {
            tries += 1;
            let mut guest = Guest::resume(wide_limits(), Access::ReadWrite, top, objects.clone());
            before.iter().for_each(|operation| drop(guest.perform(operation)));
            let (start, fuel) = (Instant::now(), guest.world.meter.fuel());
            for operation in &calls {
                // The bytes of paths and of what is written are made here, and counted where the guest's call comes in.
                guest.perform(operation);
            }
            let ns = start.elapsed().as_nanos() as u64;
            let calls = calls.len() as u64 * price::CALL;
            least = least.min(ns / (guest.world.meter.fuel() - fuel + calls));
        }
        println!("{least:4} ns for each unit: {name}");
        assert!(least <= NS_PER_FUEL_MAX, "{least} ns for each unit of fuel: {name}");
    }
}

#[test]
fn each_part_byte_and_entry_has_its_price() {
    let (top, objects) = large_volume();
    let mut guest = Guest::resume(wide_limits(), Access::ReadWrite, top, objects);
    let mut cost = |operation: &Operation| {
        let before = guest.world.meter.fuel();
        guest.perform(operation);
        guest.world.meter.fuel() - before
    };
    cost(&open(1, "chunks", "rw"));
    for parts in [1, 10, 1000] {
        let path = "./".repeat(parts - 1) + "file";
        let stat = Operation::StatAt { base: 0, path: path.clone(), follow: false };
        assert_eq!(cost(&stat), parts as u64 * price::PATH_PART);
        let link = Operation::Link { base: 0, path, follow: false, new_base: 0, new_path: "file".to_owned() };
        // The dots before a name are left out here.
        assert!(cost(&link) >= 2 * price::PATH_PART);
    }
    for length in [0, 1, 1000, 65536] {
        // First from outside, then from what is at hand.
        for objects in [true, false] {
            let read = cost(&Operation::Read { slot: 1, offset: 0, length });
            assert!(read >= length * price::BYTE, "{read}");
            assert!(read < length * price::BYTE + 3 * price::OBJECT, "{read}, {objects}");
        }
        let write = cost(&Operation::Write { slot: 1, offset: 0, length: length as usize, fill: 0 });
        assert!(write >= length * price::BYTE, "{write}");
    }
    cost(&open(2, "large", "r"));
    assert!(cost(&Operation::List { slot: 2 }) >= 2 * ENTRIES * price::ENTRY);
    assert!(cost(&Operation::List { slot: 2 }) >= ENTRIES * price::ENTRY);
}

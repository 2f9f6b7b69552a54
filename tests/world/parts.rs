//! Large folders, which are in parts: they are read by part and named as if they had been stored at once, whatever they were before
//! and whatever was read of them.

use crate::support::guest::Guest;
use crate::support::operation::{OpenFlags, Operation};
use crate::support::random::Random;
use crate::support::seen::Seen;
use crate::support::{setting, wide_limits};
use hutch_model::digest::{Digest, Kind};
use hutch_model::invocation::Access;
use hutch_model::snapshot::{
    Entry, MemoryObjects, Name, Node, ObjectError, Objects, PART_ENTRIES, Part, Parts, Prefix, Route, Totals, Tree,
    TreeObject, read_object, read_tree,
};
use hutch_world::{Errno, Stop, price};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Names that a run chooses from, in each of two folders: about twice what one object holds.
const NAMES: usize = 260;

fn open(path: String, flags: &str) -> Operation {
    Operation::Open { into: 1, base: 0, path, flags: OpenFlags(flags.to_owned()) }
}

fn stat(path: &str) -> Operation {
    Operation::StatAt { base: 0, path: path.to_owned(), follow: true }
}

fn rename(path: &str, new_path: &str) -> Operation {
    Operation::Rename { base: 0, path: path.to_owned(), new_base: 0, new_path: new_path.to_owned() }
}

fn unlink(path: String) -> Operation {
    Operation::Unlink { base: 0, path }
}

/// The names of a run: any, or such as are in one part, or in one part of it.
fn names(seed: u64) -> Vec<String> {
    let same = |name: &String| (0..seed as u32 % 3).all(|level| Route::of(name).digit(level) == 7);
    (0..).map(|at| format!("n{at}")).filter(same).take(NAMES).collect()
}

/// What a run of some length does: phases in which folders grow, shrink, and are used.
fn operations(seed: u64, count: usize) -> Vec<Operation> {
    let mut random = Random::new(seed);
    let (names, mut gone) = (names(seed), 0);
    let mut operations: Vec<Operation> =
        ["a", "b"].iter().map(|path| Operation::CreateFolder { base: 0, path: (*path).to_owned() }).collect();
    let mut phase = 0;
    while operations.len() < count {
        if random.one_in(150) {
            phase = random.below(4);
        }
        let mut path = || format!("{}/{}", if random.one_in(4) { "b" } else { "a" }, random.pick(&names));
        let (one, other) = (path(), path());
        let made = open(one.clone(), "crw");
        let next = match (random.below(100), phase) {
            (0..60, 0 | 1) => made,
            (0..60, 2) => {
                gone += 1;
                unlink(format!("a/{}", names[gone % NAMES]))
            }
            (60..64, _) => made,
            (64..68, _) => unlink(one),
            (68..72, _) => Operation::Write { slot: 1, offset: 0, length: 3, fill: random.below(250) as u8 },
            (72..80, _) => rename(&one, &other),
            (80..83, _) => Operation::CreateFolder { base: 0, path: one },
            (83..85, _) => Operation::RemoveFolder { base: 0, path: one },
            (85..87, _) => Operation::Link { base: 0, path: one, follow: false, new_base: 0, new_path: other },
            (87, _) => Operation::Symlink { base: 0, target: "b".to_owned(), path: one },
            (88, _) => rename("a", "b/moved"),
            (89, _) => rename("b/moved", "a"),
            (90, _) => rename("b", "a"),
            (91..94, _) => Operation::Reopen { read_only: false },
            _ => stat(&one),
        };
        operations.push(next);
    }
    operations
}

/// Stores all of a volume anew, each folder at once.
fn stored_at_once(objects: &dyn Objects, digest: &Digest, new: &mut MemoryObjects) -> Node {
    let tree = read_tree(objects, digest).expect("a folder");
    let entries = tree.into_entries().into_iter().map(|entry| match &entry.node {
        Node::Folder { tree, totals } => {
            let node = stored_at_once(objects, tree, new);
            let Node::Folder { totals: found, .. } = &node else { unreachable!() };
            assert_eq!(found, totals, "{}", entry.name);
            Entry { node, ..entry }
        }
        _ => entry,
    });
    let tree = Tree::new(entries.collect()).expect("each name once");
    new.insert_tree(&tree)
}

fn is_in_parts(objects: &dyn Objects, tree: &Digest) -> bool {
    matches!(read_object(objects, tree), Ok(TreeObject::Parts(_)))
}

/// The digest of a folder in a volume's top.
fn folder(objects: &dyn Objects, top: &Digest, name: &str) -> Option<Digest> {
    match read_tree(objects, top).expect("the top").get(name)?.node {
        Node::Folder { tree, .. } => Some(tree),
        _ => None,
    }
}

fn runs() -> u64 {
    setting("HUTCH_WORLD_RUNS", if cfg!(debug_assertions) { 6 } else { 40 })
}

#[test]
fn a_large_folder_has_one_name_whatever_its_history_and_its_counts_are_right() {
    let (mut split, mut joined) = (0, 0);
    for seed in 0..runs() {
        let mut guest = Guest::new(wide_limits());
        let mut was_in_parts = false;
        for (at, operation) in operations(seed, 2_500).iter().enumerate() {
            guest.perform(operation);
            if at % 50 == 0 || matches!(operation, Operation::Reopen { .. }) {
                let counts = guest.world.recount().expect("a table of nodes in order");
                assert_eq!(guest.world.counted(), counts, "seed {seed}");
            }
            if !matches!(operation, Operation::Reopen { .. }) {
                continue;
            }
            let again = stored_at_once(&*guest.objects, &guest.top, &mut MemoryObjects::default());
            let Node::Folder { tree, totals } = again else { unreachable!() };
            assert_eq!(guest.top, tree, "seed {seed}, operation {at}: named otherwise");
            assert_eq!(guest.world.counted().state_files, totals.files, "seed {seed}");
            assert_eq!(guest.world.counted().state_bytes, totals.bytes, "seed {seed}");
            let in_parts = folder(&*guest.objects, &guest.top, "a").is_some_and(|a| is_in_parts(&*guest.objects, &a));
            split += usize::from(in_parts && !was_in_parts);
            joined += usize::from(was_in_parts && !in_parts);
            was_in_parts = in_parts;
        }
    }
    assert!(split > runs() as usize / 2 && joined > runs() as usize / 2, "split {split}, joined {joined} times");
}

#[test]
fn what_was_read_before_changes_nothing_but_fuel_and_memory() {
    let mut partly = 0;
    for seed in 0..runs() {
        let (mut lazy, mut eager) = (Guest::new(wide_limits()), Guest::new(wide_limits()));
        for (at, operation) in operations(seed, 1_500).iter().enumerate() {
            let (seen, read) = (lazy.perform(operation), eager.perform(operation));
            assert_eq!(seen, read, "seed {seed}, operation {at}: {operation:?}");
            if !matches!(operation, Operation::Reopen { .. }) {
                continue;
            }
            assert_eq!(lazy.top, eager.top, "seed {seed}, operation {at}");
            eager.tree().expect("all of it");
            partly += usize::from(eager.world.meter.memory_bytes() > lazy.world.meter.memory_bytes() + 100_000);
        }
        lazy.close_all();
        eager.close_all();
        assert_eq!(lazy.tree(), eager.tree(), "seed {seed}");
    }
    assert!(partly > runs() as usize, "there were {partly} large folders");
}

/// Objects that count how often one is fetched.
struct Counting(MemoryObjects, AtomicUsize);

impl Objects for Counting {
    fn get(&self, kind: Kind, digest: &Digest) -> Result<Arc<[u8]>, ObjectError> {
        self.1.fetch_add(1, Ordering::Relaxed);
        self.0.get(kind, digest)
    }
}

fn file(at: usize) -> Entry {
    let node = Node::File { size: 0, content: Digest::of(Kind::Chunk, b"") };
    Entry { name: Name::new(&format!("file-{at:06}")).expect("a name"), modified_ns: 5, node }
}

fn volume(folder: Node, objects: &mut MemoryObjects) -> Digest {
    let entry = Entry { name: Name::new("large").expect("a name"), modified_ns: 5, node: folder };
    objects.insert(Kind::Tree, Tree::new(vec![entry]).expect("a tree").encode())
}

fn large(count: usize) -> (Digest, Arc<Counting>) {
    let mut objects = MemoryObjects::default();
    let folder = objects.insert_tree(&Tree::new((0..count).map(file).collect()).expect("each name once"));
    let top = volume(folder, &mut objects);
    (top, Arc::new(Counting(objects, AtomicUsize::new(0))))
}

/// Fuel, and the most memory, of a run that looks a name up, makes one, removes one and replaces one.
fn cost(count: usize) -> (u64, u64) {
    let (top, objects) = large(count);
    let mut guest = Guest::resume(wide_limits(), Access::ReadWrite, top, objects.clone());
    assert!(matches!(guest.perform(&stat("large/file-000007")), Seen::Stat(_)));
    assert_eq!(guest.perform(&open("large/new".to_owned(), "crw")), Seen::Done);
    assert_eq!(guest.perform(&rename("large/new", "large/file-000009")), Seen::Done);
    assert_eq!(guest.perform(&unlink("large/file-000011".to_owned())), Seen::Done);
    let after = guest.world.commit().expect("a snapshot");
    let (read, new) = (objects.1.load(Ordering::Relaxed), after.objects.len());
    let levels = usize::try_from((count / PART_ENTRIES).max(1).ilog(8)).expect("a few") + 1;
    // The volume's top twice; of the folder its top, and for each of four names what lies below.
    assert!(read <= 3 + 4 * levels, "{count}: {read} objects read");
    assert!(new <= 2 + 4 * levels, "{count}: {new} objects made");
    (guest.world.meter.fuel(), guest.world.meter.memory_peak_bytes())
}

#[test]
fn a_run_in_a_large_folder_costs_its_depth() {
    let (fuel, memory) = cost(PART_ENTRIES);
    for count in [1_000, 10_000, 100_000] {
        let (more_fuel, more_memory) = cost(count);
        println!("{count}: {more_fuel} fuel beside {fuel}, {more_memory} bytes beside {memory}");
        assert!(more_fuel < fuel + 16 * price::OBJECT, "{count}: {more_fuel}, {fuel}");
        assert!(more_memory < 4 * memory, "{count}: {more_memory}, {memory}");
    }
}

#[test]
fn a_folder_that_is_partly_read_is_as_deep_and_as_full_as_all_of_it() {
    let mut objects = MemoryObjects::default();
    let mut inside: Vec<Entry> = (0..500).map(file).collect();
    let deep = objects.insert_tree(&Tree::new(vec![file(1)]).expect("a tree"));
    let folder = Entry { name: Name::new("folder").expect("a name"), modified_ns: 5, node: deep };
    inside.push(folder);
    let node = objects.insert_tree(&Tree::new(inside).expect("each name once"));
    let top = volume(node, &mut objects);
    let mut limits = wide_limits();
    limits.set(hutch_model::limits::Limit::FolderDepth, 3);
    // A name in another part than the folder's.
    let digit = |name: &str| Route::of(name).digit(0);
    let other = (0..500).map(|at| format!("file-{at:06}")).find(|name| digit(name) != digit("folder")).expect("one");
    let mut guest = Guest::resume(limits, Access::ReadWrite, top, Arc::new(objects));
    guest.perform(&stat(&format!("large/{other}")));
    for path in ["x", "x/y"] {
        assert_eq!(guest.perform(&Operation::CreateFolder { base: 0, path: path.to_owned() }), Seen::Done);
    }
    assert_eq!(guest.perform(&rename("large", "x/large")), Seen::Done, "three deep");
    assert_eq!(guest.perform(&rename("x/large", "x/y/large")), Seen::Failed(Errno::NameTooLong), "four deep");
    let full = Operation::RemoveFolder { base: 0, path: "x/large".to_owned() };
    assert_eq!(guest.perform(&full), Seen::Failed(Errno::NotEmpty));
    // Until all is gone; then nothing is counted for it.
    assert_eq!(guest.perform(&unlink("x/large/folder/file-000001".to_owned())), Seen::Done);
    assert_eq!(guest.perform(&Operation::RemoveFolder { base: 0, path: "x/large/folder".to_owned() }), Seen::Done);
    for at in 0..500 {
        assert_eq!(guest.perform(&full), Seen::Failed(Errno::NotEmpty));
        assert_eq!(guest.perform(&unlink(format!("x/large/file-{at:06}"))), Seen::Done);
    }
    assert_eq!(guest.perform(&full), Seen::Done);
    assert_eq!(guest.world.counted(), guest.world.recount().expect("a table of nodes in order"));
    assert_eq!(guest.world.counted().state_files, 2);
}

#[test]
fn a_folder_in_one_object_as_earlier_versions_wrote_it_is_named_in_parts_when_it_changes() {
    let mut objects = MemoryObjects::default();
    let tree = Tree::new((0..1_000).map(file).collect()).expect("each name once");
    let whole = Node::Folder { tree: objects.insert(Kind::Tree, tree.encode()), totals: tree.totals() };
    let Node::Folder { tree: old, .. } = &whole else { unreachable!() };
    let old = *old;
    let top = volume(whole, &mut objects);
    let mut guest = Guest::resume(wide_limits(), Access::ReadWrite, top, Arc::new(objects));
    // What is not looked at stays as it is.
    assert_eq!(guest.perform(&Operation::CreateFolder { base: 0, path: "x".to_owned() }), Seen::Done);
    assert_eq!(guest.perform(&Operation::Reopen { read_only: false }), Seen::Done);
    assert_eq!(folder(&*guest.objects, &guest.top, "large"), Some(old));
    assert_eq!(guest.perform(&unlink("large/file-000003".to_owned())), Seen::Done);
    assert_eq!(guest.perform(&Operation::Reopen { read_only: false }), Seen::Done);
    let new = folder(&*guest.objects, &guest.top, "large").expect("the folder");
    assert!(is_in_parts(&*guest.objects, &new));
    let Node::Folder { tree, .. } = stored_at_once(&*guest.objects, &new, &mut MemoryObjects::default()) else {
        unreachable!()
    };
    assert_eq!(new, tree);
    assert_eq!(read_tree(&*guest.objects, &new).expect("the folder").entries().len(), 999);
}

#[test]
fn a_part_that_is_not_what_its_folder_says_ends_the_run() {
    let mut objects = MemoryObjects::default();
    let tree = Tree::new((0..1_000).map(file).collect()).expect("each name once");
    let Node::Folder { tree: digest, totals } = objects.insert_tree(&tree) else { unreachable!() };
    let Ok(TreeObject::Parts(parts)) = read_object(&objects, &digest) else { panic!("one object") };
    let (first, second) = (parts.parts()[0], parts.parts()[1]);
    let name = (0..1_000).map(|at| format!("file-{at:06}")).find(|name| Route::of(name).digit(0) == first.digit);
    let inside = format!("large/{}", name.expect("a name"));
    let elsewhere = Part { tree: second.tree, entries: second.entries, totals: second.totals, ..first };
    let wrong = [
        elsewhere,
        Part { tree: Digest::of(Kind::Tree, b"missing"), ..first },
        Part { totals: Totals { depth: 1, ..first.totals }, ..first },
        Part { entries: first.entries + 1, ..first },
    ];
    for part in wrong {
        let lines = [part].into_iter().chain(parts.parts().iter().skip(1).copied()).collect();
        let lines = Parts::new(Prefix::WHOLE, lines).expect("parts");
        let said = TreeObject::Parts(lines.clone()).totals();
        let mut objects = objects.clone();
        let node = Node::Folder { tree: objects.insert(Kind::Tree, lines.encode()), totals: said };
        let top = volume(node, &mut objects);
        for operation in [stat(&inside), open(inside.clone(), "crw")] {
            let mut guest = Guest::resume(wide_limits(), Access::ReadWrite, top, Arc::new(objects.clone()));
            assert!(matches!(guest.perform(&operation), Seen::Stopped(Stop::State(_))), "{part:?}");
            assert_eq!(guest.world.counted(), guest.world.recount().expect("a table of nodes in order"));
        }
    }
    // Nor is the folder, if its parts do not amount to what the one above says.
    let more = Totals { files: totals.files + 1, ..totals };
    let top = volume(Node::Folder { tree: digest, totals: more }, &mut objects);
    let mut guest = Guest::resume(wide_limits(), Access::ReadOnly, top, Arc::new(objects));
    assert!(matches!(guest.perform(&stat(&inside)), Seen::Stopped(Stop::State(_))));
}

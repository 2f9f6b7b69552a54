//! What is counted is right at every moment: memory and quota equal a count from scratch, an error takes nothing, what is closed
//! and removed is given back, and each limit refuses at its value and not before.

use crate::support::generate::Generator;
use crate::support::guest::Guest;
use crate::support::operation::{OpenFlags, Operation};
use crate::support::random::Random;
use crate::support::seen::Seen;
use crate::support::{setting, wide_limits};
use hutch_model::limits::{Limit, Limits};
use hutch_world::files::Counts;
use hutch_world::{Errno, Stop};

/// Operations of one run.
const RUN: usize = 100;

fn runs() -> u64 {
    setting("HUTCH_WORLD_RUNS", if cfg!(debug_assertions) { 60 } else { 400 })
}

/// Compares the counters with a count from scratch.
fn checked(guest: &Guest) -> Counts {
    let counts = guest.world.recount().expect("a table of nodes in order");
    assert_eq!(guest.world.counted(), counts);
    counts
}

fn is_failure(seen: &Seen) -> bool {
    matches!(seen, Seen::Failed(_) | Seen::StreamFailed(_) | Seen::Closed)
}

/// Operations that were generated for a run under wide limits.
fn generated(seed: u64, reopen: bool) -> Vec<Operation> {
    let mut guest = Guest::new(wide_limits());
    let mut generator = Generator::new(seed);
    let mut operations = Vec::new();
    while operations.len() < RUN {
        let operation = generator.next(&guest);
        if !reopen && matches!(operation, Operation::Reopen { .. }) {
            continue;
        }
        guest.perform(&operation);
        operations.push(operation);
        if operations.len() % 8 == 0 {
            generator.learn(&guest.tree().expect("the tree"));
        }
    }
    operations
}

/// Removes all there is.
fn remove_all(guest: &mut Guest) {
    let tree = guest.tree().expect("the tree");
    // What is in a folder comes after it.
    for path in tree.keys().rev() {
        let (base, path) = (0, path.clone());
        let gone = guest.perform(&Operation::Unlink { base, path: path.clone() });
        let gone = if gone == Seen::Done { gone } else { guest.perform(&Operation::RemoveFolder { base, path }) };
        assert_eq!(gone, Seen::Done);
    }
}

#[test]
fn counters_equal_a_recount_after_every_operation_and_end_where_they_began() {
    for seed in 0..2 * runs() {
        let real = seed % 2 == 1;
        let mut guest = if real { Guest::in_real_folder(wide_limits()) } else { Guest::new(wide_limits()) };
        for operation in generated(seed, true) {
            guest.perform(&operation);
            checked(&guest);
        }
        guest.perform(&Operation::Reopen { read_only: false });
        let nothing = Counts { memory_bytes: 0, ..checked(&guest) };
        assert_eq!(checked(&guest), nothing, "seed {seed}: a world that nobody has looked at holds memory");
        let before = guest.world.counted();
        assert!(!real || (before.state_bytes, before.state_files) == (0, 0), "seed {seed}: what was there counts");
        guest.tree().expect("the tree");
        checked(&guest);
        guest.close_all();
        remove_all(&mut guest);
        let nothing = Counts { memory_bytes: 0, state_bytes: 0, state_files: 0 };
        assert_eq!(checked(&guest), nothing, "seed {seed}: removing all gave not all back");
    }
}

#[test]
fn closing_before_or_after_removing_gives_the_same_back() {
    for seed in 0..runs() / 4 {
        let mut guest = Guest::new(wide_limits());
        generated(seed, false).iter().for_each(|operation| drop(guest.perform(operation)));
        remove_all(&mut guest);
        checked(&guest);
        guest.close_all();
        assert_eq!(checked(&guest), Counts { memory_bytes: 0, state_bytes: 0, state_files: 0 }, "seed {seed}");
    }
}

#[test]
fn an_operation_that_fails_takes_nothing() {
    let mut failures = 0;
    for seed in 0..runs() {
        // Tight limits, so that they refuse often.
        let mut random = Random::new(seed);
        let limits = tight_limits(&mut random);
        let mut guest = Guest::new(limits);
        for operation in generated(seed, false) {
            let before = guest.world.counted();
            let seen = guest.perform(&operation);
            let after = checked(&guest);
            if matches!(seen, Seen::Stopped(_)) {
                break;
            }
            if is_failure(&seen) {
                failures += 1;
                let took = after.memory_bytes > before.memory_bytes;
                assert!(!took, "seed {seed}: {operation:?} failed with {seen:?} and took memory");
                let same = (before.state_bytes, before.state_files) == (after.state_bytes, after.state_files);
                assert!(same, "seed {seed}: {operation:?} failed with {seen:?}, and {before:?} became {after:?}");
            }
        }
    }
    assert!(failures > 1000, "only {failures} operations failed");
}

fn tight_limits(random: &mut Random) -> Limits {
    let mut limits = wide_limits();
    limits.set(Limit::Memory, 1000 + random.next() % 20_000);
    limits.set(Limit::StateFiles, random.next() % 20);
    limits.set(Limit::StateBytes, random.next() % 400);
    limits.set(Limit::FileBytes, random.next() % 200);
    limits.set(Limit::FolderDepth, random.next() % 4);
    limits
}

#[test]
fn no_limit_is_ever_passed() {
    let mut refused = Vec::new();
    for seed in 0..2 * runs() {
        let limits = tight_limits(&mut Random::new(seed / 2));
        let real = seed % 2 == 1;
        let mut guest = if real { Guest::in_real_folder(limits.clone()) } else { Guest::new(limits.clone()) };
        for operation in generated(seed, true) {
            let seen = guest.perform(&operation);
            let counts = checked(&guest);
            assert!(counts.memory_bytes <= limits.get(Limit::Memory), "seed {seed}: {operation:?}");
            assert!(counts.state_bytes <= limits.get(Limit::StateBytes), "seed {seed}: {operation:?}");
            assert!(counts.state_files <= limits.get(Limit::StateFiles), "seed {seed}: {operation:?}");
            refused.extend_from_slice(guest.world.meter.refused());
            match seen {
                Seen::Stopped(stop) => {
                    assert_eq!(stop, Stop::Limit(Limit::Memory), "seed {seed}: {operation:?}");
                    break;
                }
                // A listed reason has been remembered.
                Seen::Failed(Errno::InsufficientSpace | Errno::InsufficientMemory | Errno::FileTooLarge) => {
                    assert!(!guest.world.meter.refused().is_empty(), "seed {seed}: {operation:?} was not remembered");
                }
                _ => {}
            }
        }
    }
    refused.sort();
    refused.dedup();
    let all = [Limit::Memory, Limit::StateBytes, Limit::StateFiles, Limit::FileBytes, Limit::FolderDepth];
    assert_eq!(refused, all, "a limit never refused");
}

/// With just what a run used at most, everything is as with plenty; with one less, something is refused.
#[test]
fn each_limit_refuses_at_its_value_and_not_before() {
    let mut shown = [0; 5];
    for seed in 0..runs() {
        let operations = generated(seed, false);
        let mut guest = Guest::new(wide_limits());
        let (mut most, mut answers) = ([0; 5], Vec::new());
        for operation in &operations {
            answers.push(guest.perform(operation));
            let Counts { state_bytes, state_files, .. } = guest.world.counted();
            let tree = guest.tree().expect("the tree");
            let depth = tree.iter().filter(|(_, node)| matches!(node, crate::support::seen::TreeNode::Folder { .. }));
            let depth = depth.map(|(path, _)| path.split('/').count() as u64).max().unwrap_or(0);
            let size = tree.values().map(|node| match node {
                crate::support::seen::TreeNode::File { size, .. } => *size,
                _ => 0,
            });
            let size = size.max().unwrap_or(0);
            for (most, now) in most.iter_mut().zip([0, state_bytes, state_files, size, depth]) {
                *most = now.max(*most);
            }
        }
        most[0] = guest.world.meter.memory_peak_bytes();
        let limits = [Limit::Memory, Limit::StateBytes, Limit::StateFiles, Limit::FileBytes, Limit::FolderDepth];
        for (at, limit) in limits.into_iter().enumerate() {
            // A file without a name can be larger than any that the tree shows, and some ask for more than any file may have.
            let larger = limit == Limit::FileBytes && refused_under(&operations, limit, most[at]);
            if !larger {
                let mut exact = wide_limits();
                exact.set(limit, most[at]);
                let mut guest = Guest::new(exact);
                for (operation, answer) in operations.iter().zip(&answers) {
                    let seen = guest.perform(operation);
                    let name = limit.name();
                    assert_eq!(seen, *answer, "seed {seed}, {name} is {}: {operation:?}", most[at]);
                }
            }
            if let Some(less) = most[at].checked_sub(1) {
                assert!(refused_under(&operations, limit, less), "seed {seed}: {} {less} is enough", limit.name());
                shown[at] += 1;
            }
        }
    }
    assert!(shown.iter().all(|times| *times > 20), "{shown:?}");
}

/// Whether a limit at this value refuses something in a run.
fn refused_under(operations: &[Operation], limit: Limit, value: u64) -> bool {
    let mut limits = wide_limits();
    limits.set(limit, value);
    let mut guest = Guest::new(limits);
    operations.iter().any(|operation| {
        guest.perform(operation);
        guest.world.meter.refused().contains(&limit)
    })
}

fn open(into: usize, path: &str, flags: &str) -> Operation {
    Operation::Open { into, base: 0, path: path.to_owned(), flags: OpenFlags(flags.to_owned()) }
}

fn refused(guest: &mut Guest, limit: Limit, operation: &Operation, errno: Errno) {
    let before = checked(guest);
    assert_eq!(guest.perform(operation), Seen::Failed(errno), "{operation:?}");
    assert_eq!(guest.world.meter.refused(), [limit], "{operation:?}");
    assert_eq!(checked(guest), before, "{operation:?}");
}

#[test]
fn state_files_counts_names_of_every_kind() {
    let mut limits = wide_limits();
    limits.set(Limit::StateFiles, 4);
    let mut guest = Guest::new(limits);
    let make = [
        open(1, "file", "cw"),
        Operation::CreateFolder { base: 0, path: "folder".to_owned() },
        Operation::Symlink { base: 0, target: "file".to_owned(), path: "link".to_owned() },
        Operation::Link { base: 0, path: "file".to_owned(), follow: false, new_base: 0, new_path: "name".to_owned() },
    ];
    for operation in &make {
        assert_eq!(guest.perform(operation), Seen::Done);
    }
    assert!(guest.world.meter.refused().is_empty());
    let more = [
        open(2, "file2", "cw"),
        Operation::CreateFolder { base: 0, path: "folder/2".to_owned() },
        Operation::Symlink { base: 0, target: "file".to_owned(), path: "link2".to_owned() },
        Operation::Link { base: 0, path: "file".to_owned(), follow: false, new_base: 0, new_path: "name2".to_owned() },
    ];
    for operation in &more {
        refused(&mut guest, Limit::StateFiles, operation, Errno::InsufficientSpace);
    }
    // A rename over another makes room; a rename alone needs none.
    let rename = |from: &str, to: &str| Operation::Rename {
        base: 0,
        path: from.to_owned(),
        new_base: 0,
        new_path: to.to_owned(),
    };
    assert_eq!(guest.perform(&rename("link", "link3")), Seen::Done);
    assert_eq!(guest.perform(&rename("link3", "name")), Seen::Done);
    assert_eq!(guest.perform(&more[0]), Seen::Done);
}

#[test]
fn state_bytes_and_file_bytes_hold_for_every_way_to_grow() {
    for (limit, errno) in [(Limit::StateBytes, Errno::InsufficientSpace), (Limit::FileBytes, Errno::FileTooLarge)] {
        let value = 100_000;
        let mut limits = wide_limits();
        limits.set(limit, value);
        let mut guest = Guest::new(limits);
        guest.perform(&open(1, "a", "crw"));
        let write = |offset, length| Operation::Write { slot: 1, offset, length, fill: 0 };
        let size = |size| Operation::SetSize { slot: 1, size };
        assert_eq!(guest.perform(&write(value - 1, 1)), Seen::Done);
        refused(&mut guest, limit, &write(value, 1), errno);
        refused(&mut guest, limit, &write(value - 1, 2), errno);
        refused(&mut guest, limit, &size(value + 1), errno);
        if limit == Limit::FileBytes {
            refused(&mut guest, limit, &size(i64::MAX as u64), errno);
        }
        guest.perform(&Operation::OpenOutput { into: 0, slot: 1, offset: None });
        let append = Operation::StreamWrite { output: 0, length: 1, fill: 0 };
        assert_eq!(guest.perform(&append), Seen::StreamFailed(errno));
        // Nor is it moved there from elsewhere.
        guest.perform(&Operation::OpenInput { into: 0, slot: 1, offset: 0 });
        guest.perform(&Operation::OpenOutput { into: 0, slot: 1, offset: Some(value - 1) });
        let splice = Operation::Splice { output: 0, input: 0, length: 2 };
        assert_eq!(guest.perform(&splice), Seen::StreamFailed(errno));
        assert_eq!(guest.perform(&size(value - 1)), Seen::Done);
        guest.perform(&Operation::OpenOutput { into: 0, slot: 1, offset: None });
        assert_eq!(guest.perform(&append), Seen::Done);
        assert_eq!(guest.perform(&size(value)), Seen::Done);
        let link =
            Operation::Link { base: 0, path: "a".to_owned(), follow: false, new_base: 0, new_path: "b".to_owned() };
        if limit == Limit::StateBytes {
            // A second name is a second file to a snapshot.
            refused(&mut guest, limit, &link, errno);
            assert_eq!(guest.perform(&size(value / 2)), Seen::Done);
            assert_eq!(guest.perform(&link), Seen::Done);
            refused(&mut guest, limit, &size(value / 2 + 1), errno);
            assert_eq!(guest.perform(&size(0)), Seen::Done);
        }
        checked(&guest);
    }
}

#[test]
fn what_a_real_folder_held_before_makes_no_room_when_it_goes() {
    let mut limits = wide_limits();
    limits.set(Limit::StateBytes, 100);
    limits.set(Limit::StateFiles, 3);
    let mut guest = Guest::in_real_folder(limits);
    let size = |size| Operation::SetSize { slot: 1, size };
    let write = |offset, length| Operation::Write { slot: 1, offset, length, fill: 0 };
    let unlink = |path: &str| Operation::Unlink { base: 0, path: path.to_owned() };
    for path in ["a", "b"] {
        assert_eq!(guest.perform(&open(1, path, "crw")), Seen::Done);
        assert_eq!(guest.perform(&size(50)), Seen::Done);
    }
    guest.close_all();
    assert_eq!(guest.perform(&Operation::Reopen { read_only: false }), Seen::Done);
    // All of it goes, and what comes counts in full: once cut, a file's own bytes may come back.
    assert_eq!(guest.perform(&unlink("a")), Seen::Done);
    assert_eq!(guest.perform(&open(1, "b", "rw")), Seen::Done);
    assert_eq!(guest.perform(&size(0)), Seen::Done);
    assert_eq!((checked(&guest).state_bytes, checked(&guest).state_files), (0, 0));
    assert_eq!(guest.perform(&size(50)), Seen::Done);
    assert_eq!(checked(&guest).state_bytes, 0);
    assert_eq!(guest.perform(&size(60)), Seen::Done);
    assert_eq!(checked(&guest).state_bytes, 10);
    assert_eq!(guest.perform(&open(1, "c", "crw")), Seen::Done);
    assert_eq!(guest.perform(&write(0, 90)), Seen::Done);
    refused(&mut guest, Limit::StateBytes, &write(90, 1), Errno::InsufficientSpace);
    // A second name of what was there is a copy, and a new file.
    let link = Operation::Link { base: 0, path: "b".to_owned(), follow: false, new_base: 0, new_path: "d".to_owned() };
    refused(&mut guest, Limit::StateBytes, &link, Errno::InsufficientSpace);
    assert_eq!(guest.perform(&unlink("c")), Seen::Done);
    assert_eq!(guest.perform(&link), Seen::Done);
    let counts = checked(&guest);
    assert_eq!((counts.state_bytes, counts.state_files), (2 * 60 - 50, 1));
}

#[test]
fn what_is_written_here_and_there_counts_as_the_chunks_that_it_becomes() {
    let chunk = 65_536;
    let mut limits = wide_limits();
    limits.set(Limit::Memory, 20 * chunk);
    let mut guest = Guest::new(limits);
    guest.perform(&open(1, "f", "crw"));
    let write = |number: u64| Operation::Write { slot: 1, offset: number * chunk, length: 4, fill: 0 };
    let mut fitted = 0;
    while guest.perform(&write(fitted)) == Seen::Done {
        fitted += 1;
        // The one it ends in is as long as was written, and all before it are whole.
        assert!(checked(&guest).memory_bytes >= (fitted - 1) * chunk + 4);
    }
    assert_eq!(fitted, 20);
    refused(&mut guest, Limit::Memory, &write(fitted), Errno::InsufficientMemory);
    // A file that grows to where its last chunk is whole has that chunk counted, and refused.
    let size = |size| Operation::SetSize { slot: 1, size };
    refused(&mut guest, Limit::Memory, &size(20 * chunk), Errno::InsufficientMemory);
    assert_eq!(guest.perform(&size(19 * chunk)), Seen::Done);
    assert_eq!(guest.perform(&size(40 * chunk)), Seen::Done);
    // So naming them takes no more than lists and folders.
    assert_eq!(guest.perform(&Operation::Reopen { read_only: false }), Seen::Done);
}

#[test]
fn a_file_without_a_name_uses_no_quota_but_memory() {
    let mut limits = wide_limits();
    limits.set(Limit::StateBytes, 10);
    limits.set(Limit::Memory, 196_000);
    let mut guest = Guest::new(limits);
    guest.perform(&open(1, "a", "crw"));
    assert_eq!(guest.perform(&Operation::Write { slot: 1, offset: 0, length: 10, fill: 0 }), Seen::Done);
    guest.perform(&Operation::Unlink { base: 0, path: "a".to_owned() });
    assert_eq!(checked(&guest).state_bytes, 0);
    let write = |offset| Operation::Write { slot: 1, offset, length: 65536, fill: 0 };
    assert_eq!(guest.perform(&write(0)), Seen::Done);
    assert_eq!(guest.perform(&write(65536)), Seen::Done);
    refused(&mut guest, Limit::Memory, &write(2 * 65536), Errno::InsufficientMemory);
    // A hole has no bytes to keep.
    assert_eq!(guest.perform(&Operation::SetSize { slot: 1, size: 1 << 40 }), Seen::Done);
    guest.close_all();
    assert_eq!(checked(&guest).memory_bytes, 0);
}

/// As editors save: what is replaced is given back, however often it is.
#[test]
fn what_is_replaced_again_and_again_takes_no_more() {
    let mut guest = Guest::new(wide_limits());
    let mut counts = Vec::new();
    for round in 0..5_000 {
        assert_eq!(guest.perform(&open(1, "new", "ctw")), Seen::Done);
        assert_eq!(
            guest.perform(&Operation::Write { slot: 1, offset: 0, length: 4096, fill: round as u8 }),
            Seen::Done
        );
        guest.perform(&Operation::Close { slot: 1 });
        let (path, new_path) = ("new".to_owned(), "kept".to_owned());
        assert_eq!(guest.perform(&Operation::Rename { base: 0, path, new_base: 0, new_path }), Seen::Done);
        if round % 100 == 0 {
            counts.push(checked(&guest));
        }
    }
    assert!(counts.iter().all(|later| *later == counts[0]), "{counts:?}");
    assert_eq!((counts[0].state_bytes, counts[0].state_files), (4096, 1));
}

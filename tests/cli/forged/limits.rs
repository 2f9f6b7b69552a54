//! No run and no state that a forged file tells of takes more than one may here.

use super::{becomes, forged, import, is_not_there, machine, record, tree, wide};
use hutch_model::digest::Kind;
use hutch_model::ledger::{EntryKind, Record, VolumeRecord};
use hutch_model::limits::Limit;
use hutch_model::snapshot::{CHUNK_BYTES, Changes, LIST_PARTS, MemoryObjects, Node, empty_tree, encode_list};

#[test]
fn a_run_takes_no_more_than_one_may_here() {
    let machine = machine();
    for (limit, value, code, status) in [
        (Limit::Memory, 4 << 30, "MEMORY_LIMIT", 42),
        (Limit::WallTime, 3_600_000, "WALL_TIME_LIMIT", 40),
        (Limit::StateBytes, 1 << 40, "STATE_BYTES_LIMIT", 44),
    ] {
        let raise = |_: u64, record: &mut Record| {
            if let Some(invocation) = &mut record.invocation {
                invocation.limits.set(limit, value);
            }
        };
        forged(&machine, "file", raise, &[]);
        let fault = import(&machine, &["--input", "file"]).fault(code, status);
        assert_eq!(fault.details["limit"], limit.name(), "{fault:?}");
        is_not_there(&machine);
        // Who wants that says so.
        let granted = format!("{}={value}", limit.name());
        import(&machine, &["--input", "file", "--limit", &granted, "--dry-run"]).document();
        is_not_there(&machine);
    }
}

/// A small file may stand for a state that no disk holds, because what is equal is stored once.
#[test]
fn a_state_takes_no_more_than_one_may_here() {
    let machine = machine();
    let mut files = MemoryObjects::default();
    let mut node = files.insert_file(b"x");
    for _ in 0..12 {
        node = wide(&mut files, 30, &node);
    }
    let many = tree(node);
    let mut bytes = MemoryObjects::default();
    let mut content = bytes.insert(Kind::Chunk, vec![b'x'; CHUNK_BYTES as usize]);
    for _ in 0..2 {
        content = bytes.insert(Kind::List, encode_list(&vec![content; LIST_PARTS as usize]));
    }
    let size = CHUNK_BYTES * LIST_PARTS * LIST_PARTS;
    let node = wide(&mut bytes, 15, &Node::File { size, content });
    let large = tree(node);
    let mut deep = MemoryObjects::default();
    let mut node = deep.insert_file(b"x");
    for _ in 0..200 {
        node = wide(&mut deep, 1, &node);
    }
    let below = tree(node);
    for (objects, after, code) in [
        (&files, many, "STATE_FILES_LIMIT"),
        (&bytes, large, "STATE_BYTES_LIMIT"),
        (&deep, below, "FOLDER_DEPTH_LIMIT"),
    ] {
        forged(&machine, "file", |_, _| (), &[(becomes(EntryKind::Edit, after), objects)]);
        assert!(std::fs::metadata(machine.path("file")).unwrap().len() < 200_000);
        import(&machine, &["--input", "file"]).fault(code, 44);
        is_not_there(&machine);
        // Nor does anybody go through one that was not kept, or that a move is said to have made.
        for kept in [false, true] {
            let with = [("state".to_owned(), VolumeRecord::new(Some(empty_tree()), after, Changes::default()))];
            let moved = Record { volumes: with.into(), kept, ..record(EntryKind::Undo) };
            forged(&machine, "file", |_, _| (), &[(moved, objects)]);
            let ran = import(&machine, &["--input", "file", "--dry-run"]);
            assert!(kept == (ran.status != 0), "{ran:?}");
        }
    }
}

//! Several volumes: nothing moves between them, each has its own grant, and all count against the same limits.

use crate::support::{CLOCK_START_NS, wide_limits};
use hutch_model::digest::Digest;
use hutch_model::instant::Instant;
use hutch_model::invocation::{Access, Invocation, InvocationParts};
use hutch_model::limits::{Limit, Limits};
use hutch_model::snapshot::{Entry, MemoryObjects, Name, Tree, empty_tree};
use hutch_world::files::{NewTime, OpenOptions, Type};
use hutch_world::{Descriptor, Errno, Failure, World};
use std::collections::BTreeMap;
use std::sync::Arc;

/// Volumes `a` and `b` to write, and `shipped` to read, with a file each; and what they hold.
fn world(limits: Limits) -> (World, BTreeMap<String, Digest>) {
    let mut objects = MemoryObjects::default();
    let file = objects.insert_file(b"12345");
    let entry = Entry { name: Name::new("file").expect("a name"), modified_ns: 5, node: file };
    let top = objects.insert(hutch_model::digest::Kind::Tree, Tree::new(vec![entry]).expect("a tree").encode());
    let state: BTreeMap<String, Digest> =
        [("a", top), ("shipped", top), ("not-granted", top)].map(|(name, top)| (name.to_owned(), top)).into();
    let preopens = [("a", Access::ReadWrite), ("b", Access::ReadWrite), ("shipped", Access::ReadOnly)];
    let parts = InvocationParts {
        clock_start: Instant::from_unix_ns(CLOCK_START_NS),
        limits,
        preopens: preopens.map(|(name, access)| (name.to_owned(), access)).into(),
        ..InvocationParts::default()
    };
    let invocation = Invocation::new(parts).expect("an invocation");
    (World::new(&invocation, &state, Arc::new(objects)).expect("a world"), state)
}

fn tops(world: &mut World) -> [Descriptor; 3] {
    let opened = world.open_preopens();
    let names: Vec<&str> = opened.iter().map(|(_, name)| &**name).collect();
    assert_eq!(names, ["a", "b", "shipped"]);
    let tops: Vec<Descriptor> = opened.into_iter().map(|(top, _)| top).collect();
    tops.try_into().expect("three")
}

fn errno<T: std::fmt::Debug>(result: Result<T, Failure>) -> Errno {
    match result {
        Err(Failure::Errno(errno)) => errno,
        other => panic!("no error: {other:?}"),
    }
}

const MAKE: OpenOptions = OpenOptions {
    follow: false,
    create: true,
    directory: false,
    exclusive: false,
    truncate: false,
    read: true,
    write: true,
    mutate_directory: false,
    requested_write_sync: false,
    file_integrity_sync: false,
    data_integrity_sync: false,
};

#[test]
fn nothing_moves_between_volumes() {
    let (mut world, _) = world(wide_limits());
    let [a, b, shipped] = tops(&mut world);
    assert_eq!(errno(world.rename((&a, "file"), (&b, "file"))), Errno::CrossDevice);
    assert_eq!(errno(world.link((&a, "file"), false, (&b, "file"))), Errno::CrossDevice);
    // What is not there is missing first.
    assert_eq!(errno(world.link((&a, "missing"), false, (&b, "file"))), Errno::NoEntry);
    for (from, to) in [(&a, &shipped), (&shipped, &a), (&shipped, &shipped)] {
        assert_eq!(errno(world.rename((from, "file"), (to, "new"))), Errno::ReadOnly);
        assert_eq!(errno(world.link((from, "file"), false, (to, "new"))), Errno::ReadOnly);
    }
    // Not by a link either, nor by going up.
    world.symlink(&a, "../b", "up").expect("a link");
    for path in ["up", "up/x", "../b", "..", "/b"] {
        assert_eq!(errno(world.stat_at(&a, path, true)), Errno::NotPermitted, "{path}");
    }
    let files = [&a, &shipped].map(|top| world.open_at(top, "file", OpenOptions::default()).expect("a file"));
    assert!(!world.is_same(&files[0], &files[1]));
    assert_ne!(world.identity(&files[0]), world.identity(&files[1]));
}

#[test]
fn what_is_read_only_can_be_looked_at_and_not_changed_by_any_call() {
    let (mut world, state) = world(wide_limits());
    let [_, _, top] = tops(&mut world);
    let read = OpenOptions { read: true, ..OpenOptions::default() };
    let file = world.open_at(&top, "file", read).expect("a file");
    assert_eq!(world.read(&file, 10, 0).as_deref(), Ok(&b"12345"[..]));
    for options in [
        OpenOptions { write: true, ..read },
        OpenOptions { truncate: true, ..read },
        OpenOptions { create: true, ..read },
        OpenOptions { create: true, exclusive: true, ..read },
    ] {
        assert_eq!(errno(world.open_at(&top, "file", options)), Errno::ReadOnly, "{options:?}");
        assert_eq!(errno(world.open_at(&top, "new", options)), Errno::ReadOnly, "{options:?}");
    }
    assert_eq!(errno(world.write(&file, b"1", 0)), Errno::ReadOnly);
    assert_eq!(errno(world.write(&file, b"", 0)), Errno::ReadOnly);
    assert_eq!(errno(world.set_size(&file, 5)), Errno::ReadOnly);
    assert_eq!(errno(world.write_stream(&file, None)), Errno::ReadOnly);
    assert_eq!(errno(world.set_times(&file, NewTime::Now, NewTime::Keep)), Errno::ReadOnly);
    assert_eq!(errno(world.set_times(&top, NewTime::Now, NewTime::Keep)), Errno::ReadOnly);
    assert_eq!(errno(world.set_times_at(&top, "file", false, NewTime::Keep, NewTime::Now)), Errno::ReadOnly);
    assert_eq!(errno(world.create_folder(&top, "new")), Errno::ReadOnly);
    assert_eq!(errno(world.remove_folder(&top, "file")), Errno::ReadOnly);
    assert_eq!(errno(world.unlink_file(&top, "file")), Errno::ReadOnly);
    assert_eq!(errno(world.symlink(&top, "file", "new")), Errno::ReadOnly);
    let folder = world.open_at(&top, ".", OpenOptions { mutate_directory: true, ..read }).expect("a folder");
    assert!(!folder.options().mutate_directory);
    let after = world.commit().expect("a commit");
    let names: Vec<&String> = after.volumes.keys().collect();
    assert_eq!(names, ["a", "b"], "a read-only volume has nothing to store");
    assert_eq!((after.volumes["a"].before, after.volumes["a"].after), (state["a"], state["a"]));
    assert_eq!(after.volumes["b"].after, empty_tree());
}

#[test]
fn all_volumes_share_the_limits_and_what_is_read_only_does_not_count() {
    let mut limits = wide_limits();
    limits.set(Limit::StateBytes, 8);
    limits.set(Limit::StateFiles, 2);
    let (mut world, _) = world(limits);
    let [a, b, _] = tops(&mut world);
    let file = world.open_at(&b, "file", MAKE).expect("a second file");
    world.write(&file, b"123", 0).expect("5 and 3 are 8");
    assert_eq!(errno(world.write(&file, b"4", 3)), Errno::InsufficientSpace);
    assert_eq!(errno(world.create_folder(&a, "third")), Errno::InsufficientSpace);
    assert_eq!(world.meter.refused(), [Limit::StateBytes, Limit::StateFiles]);
    world.unlink_file(&a, "file").expect("removed");
    world.write(&file, b"45678", 3).expect("there is room again");
    world.create_folder(&a, "second").expect("there is room again");
}

#[test]
fn a_change_in_one_volume_is_a_change_in_that_one_alone() {
    let (mut world, state) = world(wide_limits());
    let [_, b, _] = tops(&mut world);
    world.create_folder(&b, "folder").expect("made");
    let after = world.commit().expect("a commit");
    assert_eq!(after.volumes["a"].after, state["a"]);
    assert_ne!(after.volumes["b"].after, empty_tree());
    // The top; a folder that holds nothing is no object.
    assert_eq!(after.objects.len(), 1);
    assert_eq!(world.kind(&b), Type::Folder);
}

//! What a run has looked at of the clock's start and of the seed is noted, and what it has not is not: all that a guest can do, and what it
//! shows or leaves of the one or the other.

use crate::support::{VOLUME, wide_limits, world};
use hutch_model::digest::Kind;
use hutch_model::invocation::Access;
use hutch_model::memo::Seen;
use hutch_model::snapshot::{Entry, MemoryObjects, Name, Tree};
use hutch_world::files::{NewTime, OpenOptions};
use hutch_world::{Descriptor, Pollable, World};
use rand_chacha::rand_core::Rng;
use std::sync::Arc;

type Act = fn(&mut World, &Descriptor);

const NOTHING: Seen = Seen { clock: false, seed: false };
const CLOCK: Seen = Seen { clock: true, seed: false };
const SEED: Seen = Seen { clock: false, seed: true };

const READ: OpenOptions = OpenOptions {
    follow: true,
    create: false,
    directory: false,
    exclusive: false,
    truncate: false,
    read: true,
    write: false,
    mutate_directory: false,
    requested_write_sync: false,
    file_integrity_sync: false,
    data_integrity_sync: false,
};
const WRITE: OpenOptions = OpenOptions { create: true, write: true, ..READ };

/// What there is to do, and what it looks at.
const ACTS: &[(&str, Seen, Act)] = &[
    ("nothing", NOTHING, |_, _| {}),
    ("read the monotonic clock", NOTHING, |world, _| {
        world.clock.read_monotonic_ns();
    }),
    ("wait", NOTHING, |world, _| {
        world.poll(&[Pollable::At { deadline_ns: 5_000 }]).expect("time");
    }),
    ("read a file", NOTHING, |world, top| {
        let file = world.open_at(top, "file", READ).expect("a file");
        assert_eq!(world.read(&file, 10, 0).expect("bytes"), b"12345");
    }),
    ("attributes of a file", NOTHING, |world, top| {
        assert_eq!(world.stat_at(top, "file", true).expect("attributes").modified_ns, 5);
        let file = world.open_at(top, "file", READ).expect("a file");
        world.stat(&file);
    }),
    ("look for what is not there", NOTHING, |world, top| {
        world.stat_at(top, "missing", true).expect_err("missing");
        world.open_at(top, "missing", READ).expect_err("missing");
    }),
    ("what the top folder is", NOTHING, |world, top| {
        world.kind(top);
        world.identity(top);
    }),
    ("attributes of the top folder", CLOCK, |world, top| {
        world.stat(top);
    }),
    ("the same, by its path", CLOCK, |world, top| {
        world.stat_at(top, ".", true).expect("attributes");
    }),
    ("the same, with what identifies it", CLOCK, |world, top| {
        world.stat_and_identity_at(top, ".", true).expect("attributes");
    }),
    ("read the wall clock", CLOCK, |world, _| {
        world.clock.read_wall_ns();
    }),
    ("make a file", CLOCK, |world, top| {
        world.open_at(top, "new", WRITE).expect("a file");
    }),
    ("make a folder", CLOCK, |world, top| {
        world.create_folder(top, "new").expect("a folder");
    }),
    ("make a link", CLOCK, |world, top| {
        world.symlink(top, "file", "new").expect("a link");
    }),
    ("remove a file", CLOCK, |world, top| {
        world.unlink_file(top, "file").expect("it is there");
    }),
    ("rename a file", CLOCK, |world, top| {
        world.rename((top, "file"), (top, "new")).expect("it is there");
    }),
    ("set a time to now", CLOCK, |world, top| {
        world.set_times_at(top, "file", true, NewTime::Keep, NewTime::Now).expect("it is there");
    }),
    ("secure random bytes", SEED, |world, _| {
        world.random.secure().next_u64();
    }),
    ("insecure random bytes", SEED, |world, _| {
        world.random.insecure().next_u64();
    }),
    ("the seed of hash tables", SEED, |world, _| {
        world.random.insecure_seed();
    }),
];

#[test]
fn each_act_has_looked_at_what_it_shows_and_at_nothing_else() {
    for (name, expected, act) in ACTS {
        let mut objects = MemoryObjects::default();
        let file = objects.insert_file(b"12345");
        let entry = Entry { name: Name::new("file").expect("a name"), modified_ns: 5, node: file };
        let top = objects.insert(Kind::Tree, Tree::new(vec![entry]).expect("a tree").encode());
        let mut world = world(wide_limits(), Access::ReadWrite, top, Arc::new(objects));
        let (top, volume) = world.open_preopens().remove(0);
        assert_eq!(&*volume, VOLUME);
        act(&mut world, &top);
        assert_eq!(world.seen(), *expected, "{name}");
        // To name what is left adds nothing: a file's time is the clock's only if it was written.
        world.commit().expect("names");
        assert_eq!(world.seen(), *expected, "{name}, named");
    }
}

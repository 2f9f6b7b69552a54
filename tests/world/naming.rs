//! Naming what a run leaves is work of the run: it has its price, its memory and its end, and says what was looked at in a tree no
//! larger than what was counted.

use crate::support::guest::Guest;
use crate::support::operation::{OpenFlags, Operation};
use crate::support::seen::Seen;
use crate::support::{VOLUME, wide_limits};
use hutch_model::digest::{Digest, Kind};
use hutch_model::invocation::Access;
use hutch_model::limits::{Limit, Limits};
use hutch_model::snapshot::{CHUNK_BYTES, Layered, MemoryObjects, ObjectError, Objects, Touched, TouchedName};
use hutch_world::{Stop, World, price};
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

fn limits(limit: Limit, value: u64) -> Limits {
    let mut limits = wide_limits();
    limits.set(limit, value);
    limits
}

fn open(path: &str, flags: &str) -> Operation {
    Operation::Open { into: 1, base: 0, path: path.to_owned(), flags: OpenFlags(flags.to_owned()) }
}

fn write(offset: u64, length: usize, fill: u8) -> Operation {
    Operation::Write { slot: 1, offset, length, fill }
}

fn link(path: &str, new_path: &str) -> Operation {
    Operation::Link { base: 0, path: path.to_owned(), follow: false, new_base: 0, new_path: new_path.to_owned() }
}

fn perform(guest: &mut Guest, operations: &[Operation]) {
    for operation in operations {
        assert_eq!(guest.perform(operation), Seen::Done, "{operation:?}");
    }
}

/// The fuel of naming what there is now.
fn price_of_naming(guest: &mut Guest) -> u64 {
    let before = guest.world.meter.fuel();
    guest.world.commit().expect("a commit");
    guest.world.meter.fuel() - before
}

#[test]
fn each_byte_and_each_entry_that_is_named_has_its_price() {
    for length in [0, 1, 1_000, CHUNK_BYTES as usize] {
        let mut guest = Guest::new(wide_limits());
        perform(&mut guest, &[open("f", "crw")]);
        if length > 0 {
            perform(&mut guest, &[write(0, length, 1)]);
        }
        let price = price_of_naming(&mut guest);
        assert!(price >= length as u64 * price::BYTE + price::NAMED_ENTRY + price::NAMED_OBJECT, "{price}");
        assert!(price < length as u64 * price::BYTE + 5_000, "{price} for {length} bytes");
    }
    let mut last = 0;
    for files in [10, 100, 1_000] {
        let mut guest = Guest::new(wide_limits());
        (0..files).for_each(|at| perform(&mut guest, &[open(&format!("{at}"), "cw")]));
        let price = price_of_naming(&mut guest);
        assert!(price - last >= (files - files / 10) * price::NAMED_ENTRY, "{price} for {files} files");
        last = price;
    }
}

#[test]
fn a_file_is_named_once_however_many_names_it_has() {
    const BYTES: u64 = 40 * CHUNK_BYTES;
    let fuel = |names: u64| {
        let mut guest = Guest::new(wide_limits());
        perform(&mut guest, &[open("f", "crw")]);
        // All different: nothing is saved by being the same.
        for number in 0..40 {
            perform(&mut guest, &[write(number * CHUNK_BYTES, 100, number as u8)]);
        }
        perform(&mut guest, &[Operation::SetSize { slot: 1, size: BYTES }]);
        (1..names).for_each(|at| perform(&mut guest, &[link("f", &format!("name-{at}"))]));
        let memory = guest.world.meter.memory_bytes();
        let price = price_of_naming(&mut guest);
        assert!(guest.world.meter.memory_bytes() < memory + 10_000 + 400 * names, "the bytes are held twice");
        price
    };
    let (one, many) = (fuel(1), fuel(900));
    assert!(one >= BYTES * price::BYTE);
    assert!(many < one + 899 * 1_000, "{many} for 900 names, {one} for one");
}

#[test]
fn naming_ends_by_fuel_and_by_memory_and_gives_back_what_it_took() {
    let mut guest = Guest::new(wide_limits());
    let prepare = |guest: &mut Guest| {
        perform(guest, &[open("f", "crw"), write(0, 300_000, 1), Operation::SetSize { slot: 1, size: 400_001 }]);
        perform(guest, &[Operation::CreateFolder { base: 0, path: "folder".to_owned() }, open("folder/g", "cw")]);
    };
    prepare(&mut guest);
    let (used, memory) = (guest.world.meter.fuel(), guest.world.meter.memory_bytes());
    let price = price_of_naming(&mut guest);
    let peak = guest.world.meter.memory_peak_bytes();
    assert!(peak > memory);
    for left in (1..=price).step_by(price as usize / 40) {
        let mut guest = Guest::new(limits(Limit::Fuel, used + left));
        prepare(&mut guest);
        assert_eq!(guest.world.commit().err(), Some(Stop::Limit(Limit::Fuel)), "{left} of {price}");
        assert_eq!(guest.world.meter.fuel(), used + left);
    }
    let mut enough = Guest::new(limits(Limit::Fuel, used + price + 1));
    prepare(&mut enough);
    assert_eq!(price_of_naming(&mut enough), price);
    for less in (1..peak - memory).step_by((peak - memory) as usize / 40) {
        let mut guest = Guest::new(limits(Limit::Memory, peak - less));
        prepare(&mut guest);
        assert_eq!(guest.world.commit().err(), Some(Stop::Limit(Limit::Memory)), "{less} less than {peak}");
        assert_eq!(guest.world.meter.refused(), [Limit::Memory]);
        let counts = guest.world.recount().expect("a table of nodes in order");
        assert_eq!(guest.world.counted(), counts, "{less} less than {peak}");
    }
}

/// Objects that are late when they are asked for: the deadline is over from the nth on.
struct Late {
    objects: Arc<dyn Objects>,
    late: OnceLock<Arc<AtomicBool>>,
}

impl Objects for Late {
    fn get(&self, kind: Kind, digest: &Digest) -> Result<Arc<[u8]>, ObjectError> {
        if let Some(late) = self.late.get() {
            late.store(true, Ordering::Relaxed);
        }
        self.objects.get(kind, digest)
    }
}

#[test]
fn naming_that_is_late_ends_at_the_next_object() {
    // A file of many chunks, of which naming must read a list: then it is late.
    let mut guest = Guest::new(wide_limits());
    perform(&mut guest, &[open("f", "crw"), Operation::SetSize { slot: 1, size: 40_000_000 }, write(39_999_999, 1, 1)]);
    perform(&mut guest, &[Operation::Reopen { read_only: false }]);
    let objects = Arc::new(Late { objects: guest.objects.clone(), late: OnceLock::new() });
    let mut guest = Guest::resume(wide_limits(), Access::ReadWrite, guest.top, objects.clone());
    perform(&mut guest, &[open("f", "rw"), Operation::SetSize { slot: 1, size: 33_000_000 }]);
    perform(&mut guest, &[open("a", "crw"), write(0, 1_000_000, 1)]);
    objects.late.set(guest.world.meter.late()).expect("set once");
    let before = guest.world.meter.fuel();
    assert_eq!(guest.world.commit().err(), Some(Stop::Late));
    assert!(guest.world.meter.fuel() - before < 2 * price::OBJECT, "much was done after the deadline");
}

/// Objects that are held against what they were step by step, while the run is on time: the deadline is over from the nth step on.
struct Checked {
    objects: Arc<dyn Objects>,
    steps: AtomicUsize,
    late_after: usize,
    late: OnceLock<Arc<AtomicBool>>,
    lack: Option<ObjectError>,
}

impl Objects for Checked {
    fn get(&self, kind: Kind, digest: &Digest) -> Result<Arc<[u8]>, ObjectError> {
        self.objects.get(kind, digest)
    }

    fn check(&self, goes_on: &dyn Fn() -> bool) -> Result<(), ObjectError> {
        for step in 0..10 {
            self.late.get().expect("a run").store(step >= self.late_after, Ordering::Relaxed);
            if !goes_on() {
                return Ok(());
            }
            self.steps.fetch_add(1, Ordering::Relaxed);
        }
        self.lack.clone().map_or(Ok(()), Err)
    }
}

#[test]
fn what_is_looked_at_again_is_left_at_the_deadline() {
    let damaged = ObjectError::damaged(Kind::Chunk, Digest::of(Kind::Chunk, b"1"), "is other");
    let cases = [
        (10, None, Ok(()), 10),
        (10, Some(damaged.clone()), Err(Stop::State(damaged.clone())), 10),
        (3, Some(damaged), Err(Stop::Late), 3),
        (0, None, Err(Stop::Late), 0),
    ];
    for (late_after, lack, expected, steps) in cases {
        let empty = Guest::new(wide_limits());
        let checked = Checked { objects: empty.objects, steps: 0.into(), late_after, late: OnceLock::new(), lack };
        let (checked, beside) = (Arc::new(checked), Arc::new(MemoryObjects::default()));
        let all = Arc::new(Layered(vec![beside, checked.clone()]));
        let guest = Guest::resume(wide_limits(), Access::ReadWrite, empty.top, all);
        checked.late.set(guest.world.meter.late()).expect("set once");
        assert_eq!((guest.world.check(), checked.steps.load(Ordering::Relaxed)), (expected, steps), "{late_after}");
    }
}

/// Paths that were looked up, and folders that were listed.
fn flat(touched: &Touched) -> (Vec<String>, Vec<String>) {
    fn below(touched: &Touched, at: &str, paths: &mut Vec<String>, listed: &mut Vec<String>) {
        listed.extend(touched.listed.then(|| at.to_owned()));
        for TouchedName { name, below: inner } in &touched.names {
            let path = format!("{at}/{name}");
            if let Some(inner) = inner {
                below(inner, &path, paths, listed);
            }
            paths.push(path);
        }
    }
    let (mut paths, mut listed) = (Vec::new(), Vec::new());
    below(touched, "", &mut paths, &mut listed);
    paths.sort();
    listed.sort();
    (paths, listed)
}

fn touched(world: &World) -> BTreeMap<String, (Vec<String>, Vec<String>)> {
    world.touched().iter().map(|(volume, touched)| (volume.clone(), flat(touched))).collect()
}

#[test]
fn what_was_looked_at_is_said_and_nothing_else() {
    let mut guest = Guest::new(wide_limits());
    for folder in ["a", "a/b", "other", "listed", "listed/within"] {
        perform(&mut guest, &[Operation::CreateFolder { base: 0, path: folder.to_owned() }]);
    }
    perform(&mut guest, &[open("a/b/f", "cw"), open("a/unread", "cw"), open("listed/x", "cw")]);
    perform(&mut guest, &[Operation::Reopen { read_only: false }]);
    assert_eq!(touched(&guest.world), [(VOLUME.to_owned(), (vec![], vec![]))].into());
    let stat = |path: &str| Operation::StatAt { base: 0, path: path.to_owned(), follow: true };
    guest.perform(&stat("a/b/f"));
    guest.perform(&stat("a/missing"));
    guest.perform(&stat("listed"));
    perform(&mut guest, &[open("listed", "r")]);
    guest.perform(&Operation::List { slot: 1 });
    perform(&mut guest, &[Operation::CreateFolder { base: 0, path: "new".to_owned() }]);
    let paths = ["/a", "/a/b", "/a/b/f", "/a/missing", "/listed", "/new", "/new"];
    let (found, listed) = touched(&guest.world).remove(VOLUME).expect("the volume");
    assert_eq!((found, listed), (paths.map(str::to_owned).to_vec(), vec!["/listed".to_owned()]));
}

#[test]
fn what_was_looked_at_takes_no_more_than_was_counted() {
    // 120 folders with long names, and many files in the innermost: paths written out would be 30 KB each.
    let mut guest = Guest::new(wide_limits());
    let name = "n".repeat(30);
    let mut path = String::new();
    for _ in 0..120 {
        path = if path.is_empty() { name.clone() } else { format!("{path}/{name}") };
        perform(&mut guest, &[Operation::CreateFolder { base: 0, path: path.clone() }]);
    }
    perform(&mut guest, &[Operation::Open { into: 2, base: 0, path, flags: OpenFlags("r".to_owned()) }]);
    for at in 0..2_000 {
        let flags = OpenFlags("cw".to_owned());
        perform(&mut guest, &[Operation::Open { into: 1, base: 2, path: format!("{at}"), flags }]);
    }
    fn bytes(touched: &Touched) -> usize {
        let own = |name: &TouchedName| {
            size_of::<TouchedName>() + name.name.as_str().len() + name.below.as_ref().map_or(0, bytes)
        };
        touched.names.iter().map(own).sum()
    }
    let bytes = bytes(&guest.world.touched()[VOLUME]) as u64;
    assert!(bytes < guest.world.meter.memory_bytes(), "{bytes} bytes");
}

#[test]
fn naming_takes_no_longer_than_its_price() {
    let many_files =
        |guest: &mut Guest| (0..50_000).for_each(|at| perform(guest, &[open(&format!("file-{at}"), "cw")]));
    let many_chunks = |guest: &mut Guest| {
        perform(guest, &[open("f", "crw")]);
        (0..800).for_each(|at: u64| perform(guest, &[write(at * CHUNK_BYTES, 60_000, at as u8)]));
    };
    let many_lists = |guest: &mut Guest| {
        perform(guest, &[open("f", "crw")]);
        (0..400).for_each(|at: u64| perform(guest, &[write(at << 32, 4, at as u8)]));
    };
    let deep = |guest: &mut Guest| {
        let mut path = String::new();
        for _ in 0..1_024 {
            path = if path.is_empty() { "a".to_owned() } else { format!("{path}/a") };
            perform(guest, &[Operation::CreateFolder { base: 0, path: path.clone() }]);
        }
    };
    type Prepare<'a> = &'a dyn Fn(&mut Guest);
    let cases: [(&str, Prepare<'_>); 4] =
        [("files", &many_files), ("chunks", &many_chunks), ("lists", &many_lists), ("folders", &deep)];
    for (name, prepare) in cases {
        // The least of three, or of as many as a machine needs that is busy elsewhere: what has a wrong price has it each time.
        let (begun, mut least, mut tries) = (Instant::now(), u64::MAX, 0);
        while tries < 3 || (least > 20 && begun.elapsed() < Duration::from_secs(120)) {
            tries += 1;
            let mut guest = Guest::new(wide_limits());
            prepare(&mut guest);
            let start = Instant::now();
            let price = price_of_naming(&mut guest);
            least = least.min(start.elapsed().as_nanos() as u64 / price);
        }
        println!("{least:4} ns for each unit: many {name}");
        assert!(least <= 20, "{least} ns for each unit of fuel: many {name}");
    }
}

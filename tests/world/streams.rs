//! Streams, polls and clocks at their edges.

use crate::support::guest::Guest;
use crate::support::operation::{OpenFlags, Operation, content};
use crate::support::random::Random;
use crate::support::seen::Seen;
use crate::support::{VOLUME, try_world, wide_limits};
use hutch_model::instant::Instant;
use hutch_model::invocation::Access;
use hutch_model::limits::Limit;
use hutch_model::snapshot::{MemoryObjects, empty_tree};
use hutch_world::files::OpenOptions;
use hutch_world::{
    Clock, Descriptor, Errno, Input, Output, Pollable, STREAM_BYTES, Stop, StreamFailure, TICK_NS, World, price,
};
use std::sync::Arc;

fn world(stdin: &[u8], limits: &[(Limit, u64)]) -> World {
    let mut all = wide_limits();
    limits.iter().for_each(|(limit, value)| all.set(*limit, *value));
    try_world(all, Access::ReadWrite, empty_tree(), Arc::new(MemoryObjects::default()), stdin).expect("a world")
}

fn file(world: &mut World, bytes: &[u8]) -> Descriptor {
    let (top, _) = world.open_preopens().pop().expect("a volume");
    let options = OpenOptions { create: true, read: true, write: true, ..OpenOptions::default() };
    let file = world.open_at(&top, "file", options).expect("a file");
    world.write(&file, bytes, 0).expect("a write");
    world.close(top);
    file
}

fn all_of(world: &mut World, file: &Descriptor) -> Vec<u8> {
    let mut bytes = Vec::new();
    loop {
        let part = world.read(file, u64::MAX, bytes.len() as u64);
        match part {
            Ok(part) if part.is_empty() => return bytes,
            Ok(part) => bytes.extend(part),
            Err(failure) => panic!("{failure:?}"),
        }
    }
}

#[test]
fn all_streams_of_standard_input_share_one_place_and_end_once() {
    let mut world = world(b"abcdefg", &[]);
    let (mut first, mut second) = (Input::Stdin, Input::Stdin);
    assert_eq!(world.stream_read(&mut first, 3).as_deref(), Ok(&b"abc"[..]));
    assert_eq!(world.stream_read(&mut second, 0).as_deref(), Ok(&b""[..]));
    assert_eq!(world.stream_read(&mut second, 2).as_deref(), Ok(&b"de"[..]));
    world.close_input(&mut second);
    assert_eq!(world.stream_read(&mut first, u64::MAX).as_deref(), Ok(&b"fg"[..]));
    for _ in 0..2 {
        assert_eq!(world.stream_read(&mut first, 1), Err(StreamFailure::Closed));
        assert_eq!(world.stream_read(&mut first, 0).as_deref(), Ok(&b""[..]));
    }
}

#[test]
fn a_read_gives_no_more_than_a_stream_does_in_one_call() {
    let stdin = content(STREAM_BYTES as usize + 1, 0);
    let mut world = world(&stdin, &[]);
    let file = file(&mut world, &stdin);
    let from_file = world.read_stream(&file, 0).expect("a stream");
    for mut input in [Input::Stdin, from_file] {
        assert_eq!(world.stream_read(&mut input, u64::MAX).map(|bytes| bytes.len() as u64), Ok(STREAM_BYTES));
        assert_eq!(world.stream_read(&mut input, u64::MAX).map(|bytes| bytes.len()), Ok(1));
        assert_eq!(world.stream_read(&mut input, u64::MAX), Err(StreamFailure::Closed));
        world.close_input(&mut input);
    }
}

#[test]
fn output_is_kept_to_its_limit_and_the_byte_over_it_ends_the_run() {
    for (limit, is_stdout) in [(Limit::Stdout, true), (Limit::Stderr, false)] {
        for over in [0, 1, 2] {
            let mut world = world(b"", &[(limit, 10)]);
            let mut output = if is_stdout { Output::Stdout } else { Output::Stderr };
            assert_eq!(world.stream_write(&mut output, b"12345678"), Ok(()));
            assert_eq!(world.stream_write(&mut output, b""), Ok(()));
            let rest = &b"90ab"[..2 + over];
            let expected = if over == 0 { Ok(()) } else { Err(StreamFailure::Stop(Stop::Limit(limit))) };
            assert_eq!(world.stream_write(&mut output, rest), expected);
            let (stdout, stderr) = world.take_output();
            let (kept, other) = if is_stdout { (stdout, stderr) } else { (stderr, stdout) };
            assert_eq!((&kept[..], &other[..]), (&b"1234567890"[..], &b""[..]));
        }
    }
}

#[test]
fn a_write_beyond_the_permit_traps_whatever_it_is_written_to() {
    let mut world = world(b"", &[]);
    let file = file(&mut world, b"");
    let to_file = world.write_stream(&file, Some(0)).expect("a stream");
    let (most, more) = (content(STREAM_BYTES as usize, 0), content(STREAM_BYTES as usize + 1, 0));
    for mut output in [Output::Stdout, Output::Stderr, to_file] {
        assert_eq!(world.stream_check_write(&output), Ok(STREAM_BYTES));
        let trap = StreamFailure::Stop(Stop::Trap("write_beyond_permit"));
        assert_eq!(world.stream_write(&mut output, &more), Err(trap));
        assert_eq!(world.stream_write(&mut output, &most), Ok(()));
        world.close_output(&mut output);
    }
    assert_eq!(all_of(&mut world, &file), most);
}

#[test]
fn a_stream_that_failed_is_closed_and_lets_go() {
    let mut world = world(b"", &[(Limit::FileBytes, 5)]);
    let file = file(&mut world, b"1234");
    let mut output = world.write_stream(&file, None).expect("a stream");
    assert_eq!(world.stream_write(&mut output, b"56"), Err(StreamFailure::Failed(Errno::FileTooLarge)));
    assert_eq!(world.stream_check_write(&output), Err(StreamFailure::Closed));
    assert_eq!(world.stream_write(&mut output, b""), Err(StreamFailure::Closed));
    let mut input = Input::Stdin;
    assert_eq!(world.stream_splice(&mut output, &mut input, 1), Err(StreamFailure::Closed));
    world.close_output(&mut output);
    let mut input = world.read_stream(&file, 4).expect("a stream");
    assert_eq!(world.stream_read(&mut input, 1), Err(StreamFailure::Closed));
    assert_eq!(world.stream_read(&mut input, 0), Err(StreamFailure::Closed));
    world.close_input(&mut input);
    assert_eq!(all_of(&mut world, &file), b"1234");
    // Nothing but the descriptor holds the file now.
    let (top, _) = world.open_preopens().pop().expect("a volume");
    world.unlink_file(&top, "file").expect("removed");
    world.close(file);
    assert_eq!(world.meter.memory_bytes(), 0);
}

#[test]
fn nothing_at_all_is_done_at_once() {
    let mut world = world(b"", &[]);
    let file = file(&mut world, b"");
    assert_eq!(world.read(&file, 0, 0).as_deref(), Ok(&b""[..]));
    assert_eq!(world.read(&file, 0, i64::MAX as u64).as_deref(), Ok(&b""[..]));
    assert_eq!(world.write(&file, b"", 77), Ok(()));
    let mut output = world.write_stream(&file, Some(55)).expect("a stream");
    assert_eq!(world.stream_write(&mut output, b""), Ok(()));
    let mut input = world.read_stream(&file, 0).expect("a stream");
    assert_eq!(world.stream_splice(&mut output, &mut input, 0), Ok(0));
    assert_eq!(world.stream_splice(&mut output, &mut Input::Stdin, 0), Ok(0));
    assert_eq!(world.stat(&file).size, 0);
    assert_eq!(world.stream_read(&mut input, 1), Err(StreamFailure::Closed));
}

#[test]
fn a_file_can_be_spliced_to_its_own_end() {
    let mut world = world(b"", &[]);
    let start = content(50_000, 3);
    let file = file(&mut world, &start);
    let mut input = world.read_stream(&file, 0).expect("a stream");
    let mut output = world.write_stream(&file, None).expect("a stream");
    let mut expected = start.clone();
    let mut read = 0;
    for _ in 0..6 {
        let length = (expected.len() - read).min(STREAM_BYTES as usize);
        assert_eq!(world.stream_splice(&mut output, &mut input, u64::MAX), Ok(length as u64));
        expected.extend_from_within(read..read + length);
        read += length;
    }
    assert_eq!(all_of(&mut world, &file), expected);
    // Over itself, further on: each part is read before it is written.
    let mut input = world.read_stream(&file, 0).expect("a stream");
    let mut output = world.write_stream(&file, Some(10)).expect("a stream");
    assert_eq!(world.stream_splice(&mut output, &mut input, 1000), Ok(1000));
    expected.copy_within(0..1000, 10);
    assert_eq!(all_of(&mut world, &file), expected);
}

#[test]
fn a_stream_outlives_its_descriptor_and_its_name() {
    let mut guest = Guest::new(wide_limits());
    let open = Operation::Open { into: 1, base: 0, path: "a".to_owned(), flags: OpenFlags("crw".to_owned()) };
    for operation in [
        open,
        Operation::Write { slot: 1, offset: 0, length: 20, fill: 0 },
        Operation::OpenInput { into: 0, slot: 1, offset: 5 },
        Operation::Unlink { base: 0, path: "a".to_owned() },
        Operation::Close { slot: 1 },
    ] {
        assert_eq!(guest.perform(&operation), Seen::Done);
    }
    assert_eq!(guest.perform(&Operation::StreamRead { input: 0, length: 3 }), Seen::Bytes(vec![5, 6, 7]));
    guest.perform(&Operation::CloseInput { input: 0 });
    assert_eq!(guest.world.meter.memory_bytes(), 0);
    assert_eq!(guest.world.commit().expect("a commit").volumes[VOLUME].after, empty_tree());
}

#[test]
fn a_poll_names_what_is_ready_and_moves_time_no_further_than_it_must() {
    let mut random = Random::new(1);
    for _ in 0..2000 {
        let mut world = world(b"", &[]);
        world.clock.wait_until(random.next() % 100);
        let now = world.clock.monotonic_ns();
        let list: Vec<Pollable> = (0..1 + random.below(6))
            .map(|_| match random.below(4) {
                0 => Pollable::Ready,
                1 => Pollable::At { deadline_ns: u64::MAX - random.next() % 2 },
                _ => Pollable::At { deadline_ns: random.next() % 200 },
            })
            .collect();
        let due = |pollable: &Pollable| match pollable {
            Pollable::Ready => 0,
            Pollable::At { deadline_ns } => *deadline_ns,
        };
        let then = now.max(list.iter().map(due).min().expect("one"));
        let ready = world.poll(&list).expect("a poll");
        assert_eq!(world.clock.monotonic_ns(), then, "{list:?} at {now}");
        let expected: Vec<u32> = (0..list.len()).filter(|at| due(&list[*at]) <= then).map(|at| at as u32).collect();
        assert_eq!(ready, expected, "{list:?} at {now}");
        assert!(!ready.is_empty());
        assert!(world.meter.fuel() >= price::BYTE * list.len() as u64);
        assert!(ready.iter().all(|at| world.is_ready(list[*at as usize])));
    }
}

#[test]
fn a_poll_of_nothing_traps_and_a_poll_of_too_much_ends_the_run() {
    let mut world = world(b"", &[(Limit::Fuel, 1000)]);
    assert_eq!(world.poll(&[]), Err(Stop::Trap("poll_of_nothing")));
    assert_eq!(world.poll(&[Pollable::Ready; 1000]), Err(Stop::Limit(Limit::Fuel)));
}

#[test]
fn time_ends_at_its_end() {
    let mut clock = Clock::new(Instant::from_unix_ns(u64::MAX - 5));
    assert_eq!((clock.read_wall_ns(), clock.read_wall_ns()), (u64::MAX - 5, u64::MAX));
    assert_eq!(clock.monotonic_ns(), 2 * TICK_NS);
    clock.wait_until(u64::MAX);
    for _ in 0..3 {
        assert_eq!((clock.read_monotonic_ns(), clock.read_wall_ns(), clock.wall_ns()), (u64::MAX, u64::MAX, u64::MAX));
    }
    // Files are written at the end of time too.
    let mut world = world(b"", &[]);
    world.clock.wait_until(u64::MAX);
    let file = file(&mut world, b"1");
    assert_eq!(world.stat(&file).modified_ns, u64::MAX);
    world.commit().expect("a commit");
}

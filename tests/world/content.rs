//! A file's bytes against a plain vector: written, cut, grown, stored and opened again, with sizes about the edges of chunks and
//! of lists of chunks; and the digest against the one of the same bytes stored at once.

use crate::support::guest::Guest;
use crate::support::operation::{OpenFlags, Operation, content};
use crate::support::random::Random;
use crate::support::seen::Seen;
use crate::support::{setting, wide_limits};
use hutch_model::digest::{Digest, Kind};
use hutch_model::snapshot::{CHUNK_BYTES, LIST_PARTS, MemoryObjects, Node, encode_list, list_levels, read_tree};
use std::collections::BTreeMap;

const LIST_BYTES: u64 = CHUNK_BYTES * LIST_PARTS;

fn open(guest: &mut Guest) {
    let flags = OpenFlags("crw".to_owned());
    assert_eq!(guest.perform(&Operation::Open { into: 1, base: 0, path: "file".to_owned(), flags }), Seen::Done);
}

/// Stores the volume, and opens it and its file again.
fn store(guest: &mut Guest) -> Node {
    assert_eq!(guest.perform(&Operation::Reopen { read_only: false }), Seen::Done);
    open(guest);
    let tree = read_tree(&*guest.objects, &guest.top).expect("the top");
    tree.get("file").expect("the file").node.clone()
}

/// All bytes of the file, read from a random place on and from its start.
fn compare(guest: &mut Guest, random: &mut Random, model: &[u8]) {
    for start in [0, random.below(model.len() + 1)] {
        let mut at = start;
        loop {
            let length = 1 + random.next() % (2 * CHUNK_BYTES);
            let Seen::Bytes(part) = guest.perform(&Operation::Read { slot: 1, offset: at as u64, length }) else {
                panic!("the file can't be read at {at}");
            };
            if part.is_empty() {
                break;
            }
            assert!(model[at..].starts_with(&part), "wrong bytes between {at} and {}", at + part.len());
            at += part.len();
        }
        assert_eq!(at, model.len(), "wrong size");
    }
}

fn run(seed: u64, steps: usize, edge: impl Fn(&mut Random) -> u64) {
    let mut random = Random::new(seed);
    let mut guest = Guest::new(wide_limits());
    open(&mut guest);
    let mut model: Vec<u8> = Vec::new();
    for _ in 0..steps {
        let near = |random: &mut Random| (edge(random) + random.next() % 5).saturating_sub(2);
        match random.below(10) {
            0..5 => {
                let offset = match random.below(4) {
                    0 => model.len() as u64,
                    1 => random.next() % (model.len() as u64 + 10),
                    _ => near(&mut random),
                };
                let length = match random.below(3) {
                    0 => 1 + random.below(300),
                    1 => CHUNK_BYTES as usize - 2 + random.below(5),
                    _ => 1 + random.below(2 * CHUNK_BYTES as usize),
                };
                let fill = random.next() as u8;
                assert_eq!(guest.perform(&Operation::Write { slot: 1, offset, length, fill }), Seen::Done);
                let end = offset as usize + length;
                model.resize(model.len().max(end), 0);
                model[offset as usize..end].copy_from_slice(&content(length, fill));
            }
            5..8 => {
                let size = if random.one_in(8) { 0 } else { near(&mut random) };
                assert_eq!(guest.perform(&Operation::SetSize { slot: 1, size }), Seen::Done);
                model.resize(size as usize, 0);
            }
            _ => {
                let stored = store(&mut guest);
                assert_eq!(stored, MemoryObjects::default().insert_file(&model), "seed {seed}: another digest");
            }
        }
        compare(&mut guest, &mut random, &model);
    }
}

#[test]
fn bytes_and_digests_are_those_of_a_plain_vector_about_the_edges_of_chunks() {
    let runs = setting("HUTCH_WORLD_RUNS", if cfg!(debug_assertions) { 10 } else { 120 });
    for seed in 0..runs {
        run(seed, 30, |random| random.next() % 5 * CHUNK_BYTES);
    }
}

#[test]
fn bytes_and_digests_are_those_of_a_plain_vector_about_the_edges_of_lists() {
    let runs = setting("HUTCH_WORLD_RUNS", if cfg!(debug_assertions) { 1 } else { 8 });
    for seed in 0..runs {
        run(seed, 12, |random| match random.below(5) {
            0 => 0,
            1 => LIST_BYTES - CHUNK_BYTES,
            2 => LIST_BYTES + CHUNK_BYTES,
            _ => LIST_BYTES,
        });
    }
}

/// The digest of a file that is zeros but for some chunks, and objects for it.
fn sparse(size: u64, chunks: &BTreeMap<u64, Vec<u8>>) -> Digest {
    fn part(level: u32, number: u64, size: u64, chunks: &BTreeMap<u64, Vec<u8>>, zeros: &[Digest]) -> Digest {
        let span = LIST_PARTS.pow(level);
        let (first, end) = (number * span, (number + 1) * span);
        if end * CHUNK_BYTES <= size && chunks.range(first..end).next().is_none() {
            return zeros[level as usize];
        }
        if level == 0 {
            let length = (size - first * CHUNK_BYTES).min(CHUNK_BYTES) as usize;
            let mut bytes = chunks.get(&number).cloned().unwrap_or_default();
            bytes.resize(length, 0);
            return Digest::of(Kind::Chunk, &bytes);
        }
        let below = size.div_ceil(CHUNK_BYTES).div_ceil(LIST_PARTS.pow(level - 1));
        let parts = (number * LIST_PARTS..below.min((number + 1) * LIST_PARTS))
            .map(|number| part(level - 1, number, size, chunks, zeros));
        Digest::of(Kind::List, &encode_list(&parts.collect::<Vec<_>>()))
    }
    let mut zeros = vec![Digest::of(Kind::Chunk, &vec![0; CHUNK_BYTES as usize])];
    for level in 0..6 {
        zeros.push(Digest::of(Kind::List, &encode_list(&vec![zeros[level]; LIST_PARTS as usize])));
    }
    part(list_levels(size), 0, size, chunks, &zeros)
}

#[test]
fn holes_of_any_size_have_the_digest_of_their_zeros() {
    let edges = [LIST_BYTES, 2 * LIST_BYTES, LIST_BYTES * LIST_PARTS, LIST_BYTES * LIST_PARTS * 3, 1 << 42];
    for edge in edges {
        for size in [edge - 1, edge, edge + 1, edge + CHUNK_BYTES, edge - CHUNK_BYTES] {
            let mut guest = Guest::new(wide_limits());
            open(&mut guest);
            assert_eq!(guest.perform(&Operation::SetSize { slot: 1, size }), Seen::Done);
            let mut chunks = BTreeMap::new();
            // First as it is, then with bytes at the start, in the middle and at the end, in two runs.
            for at in [None, Some(0), Some(size / 2 / CHUNK_BYTES), Some((size - 1) / CHUNK_BYTES)] {
                if let Some(number) = at {
                    let offset = number * CHUNK_BYTES;
                    assert_eq!(guest.perform(&Operation::Write { slot: 1, offset, length: 1, fill: 9 }), Seen::Done);
                    chunks.insert(number, vec![9]);
                }
                let stored = store(&mut guest);
                assert_eq!(stored, Node::File { size, content: sparse(size, &chunks) }, "{size} bytes, {at:?}");
            }
            // Cut within a hole, and grown again.
            let cut = size / 2 + 5;
            guest.perform(&Operation::SetSize { slot: 1, size: cut });
            guest.perform(&Operation::SetSize { slot: 1, size });
            chunks.retain(|number, _| *number <= size / 2 / CHUNK_BYTES);
            let stored = store(&mut guest);
            assert_eq!(stored, Node::File { size, content: sparse(size, &chunks) }, "{size} bytes, cut");
        }
    }
}

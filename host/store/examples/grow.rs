//! Makes an instance of the to-do application larger, fast, for `tests/speed/scale`: `grow HOME entries NUMBER` appends entries like the
//! last one, in one transaction; `files`, `folder` and `bytes` put that many files in folders of a hundred, in one folder, or that many
//! bytes in one file, beside what the volume holds; `log` changes nothing. In any case the log is empty afterwards. Knows the store's
//! tables, as its tests do.
#![allow(clippy::disallowed_methods, reason = "a program of this repository's developers")]
#![allow(clippy::unwrap_used, reason = "a measurement that fails has nothing to say")]

#[path = "../tests/common/mod.rs"]
mod common;

use common::{change, state};
use hutch_model::snapshot::{Entry, MemoryObjects, Name, Node, Tree, read_tree};
use hutch_store::{InstanceDir, Opening, SqliteStore, Store};
use std::path::Path;

/// Files in each folder, where they are spread.
const SPREAD: usize = 100;

fn main() {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let [home, what, number] = &words[..] else {
        unreachable!("usage: grow HOME entries|files|folder|bytes|log NUMBER")
    };
    let dir = InstanceDir::new(Path::new(home), &"todo".parse().unwrap(), &"default".parse().unwrap());
    let store = SqliteStore::open(&dir, &Opening::default()).unwrap();
    let number = number.parse().unwrap();
    match what.as_str() {
        "entries" => entries(&store, number),
        "log" => {}
        "files" => keep(&store, |objects| vec![entry("more", spread(objects, "file", number))]),
        "folder" => keep(&store, |objects| files(objects, "file", number)),
        "bytes" => keep(&store, |objects| vec![entry("large", objects.insert_file(&random(number)))]),
        other => unreachable!("nothing grows by {other}"),
    }
    let connection = rusqlite::Connection::open(store.dir().database()).unwrap();
    connection.query_row("PRAGMA wal_checkpoint(TRUNCATE)", (), |_| Ok(())).unwrap();
}

fn entry(name: &str, node: Node) -> Entry {
    Entry { name: Name::new(name).unwrap(), modified_ns: 0, node }
}

fn files(objects: &mut MemoryObjects, name: &str, count: usize) -> Vec<Entry> {
    let one = |at: usize| format!("{name}-{at:06}");
    (0..count).map(|at| entry(&one(at), objects.insert_file(one(at).as_bytes()))).collect()
}

/// A folder with so many files in it and below, a hundred entries in each.
fn spread(objects: &mut MemoryObjects, name: &str, count: usize) -> Node {
    let entries = match count <= SPREAD {
        true => files(objects, name, count),
        false => {
            let part = count.div_ceil(SPREAD).next_power_of_two().max(SPREAD).min(count);
            let parts = count.div_ceil(part);
            let inside = |at: usize| format!("{name}-{at:02}");
            (0..parts).map(|at| entry(&inside(at), spread(objects, &inside(at), part.min(count - at * part)))).collect()
        }
    };
    objects.insert_tree(&Tree::new(entries).unwrap())
}

/// Bytes that compress to nothing else, the same each time.
fn random(count: usize) -> Vec<u8> {
    let mut at = 0x9e37_79b9_7f4a_7c15_u64;
    let mut next = || {
        at ^= at << 13;
        at ^= at >> 7;
        at ^= at << 17;
        at.to_le_bytes()
    };
    (0..count.div_ceil(8)).flat_map(|_| next()).take(count).collect()
}

/// Adds to the top of the volume.
fn keep(store: &SqliteStore, more: impl FnOnce(&mut MemoryObjects) -> Vec<Entry>) {
    let before = state(store).unwrap();
    let tree = read_tree(&*store.objects(), &before).unwrap();
    let mut objects = MemoryObjects::default();
    let mut entries = tree.entries().to_vec();
    entries.extend(more(&mut objects));
    let Node::Folder { tree, .. } = objects.insert_tree(&Tree::new(entries).unwrap()) else { unreachable!() };
    store.commit(&change(Some(before), tree), &objects, &[]).unwrap();
}

/// What a store does for one entry after the other would take an hour for a million.
fn entries(store: &SqliteStore, count: usize) {
    let mut head = store.head().unwrap();
    let record = store.entry(head.last.sequence).unwrap().unwrap().open().unwrap().record;
    assert!(record.is_reading(), "the last entry changes something, and can't be repeated");
    let mut connection = rusqlite::Connection::open(store.dir().database()).unwrap();
    connection.execute_batch("PRAGMA synchronous = OFF; PRAGMA cache_size = -262144").unwrap();
    let transaction = connection.transaction().unwrap();
    {
        let mut insert =
            transaction.prepare("INSERT INTO entries (sequence, hash, at_ns, bytes) VALUES (?1, ?2, ?3, ?4)").unwrap();
        for _ in 0..count {
            let advance = head.advance(&record).unwrap();
            let sealed = advance.sealed;
            let at = i64::try_from(record.at.unix_ns()).unwrap();
            let sequence = i64::try_from(sealed.sequence).unwrap();
            insert.execute((sequence, sealed.hash.as_bytes(), at, &sealed.bytes[..])).unwrap();
            head = advance.head;
        }
    }
    let last = [&head.last.sequence.to_be_bytes()[..], head.last.hash.as_bytes()].concat();
    transaction.execute("UPDATE meta SET value = ?1 WHERE name = 'head'", [last]).unwrap();
    transaction.commit().unwrap();
}

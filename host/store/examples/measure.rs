//! What the store costs on this machine: `cargo run --release -p hutch-store --example measure [folder [small | large | file]]`. Prints medians in
//! milliseconds. The folder should be on the disk that stores are kept on.
#![allow(clippy::disallowed_methods, reason = "a program of this repository's developers")]
#![allow(clippy::print_stdout, reason = "printing is what it is for")]
#![allow(clippy::unwrap_used, reason = "a measurement that fails has nothing to say")]

#[path = "../tests/common/mod.rs"]
mod common;

use cap_std::ambient_authority;
use cap_std::fs::Dir;
use common::{change, no_objects, place, put, record, sqlite, state, text, volume};
use hutch_model::digest::Kind;
use hutch_model::ledger::EntryKind;
use hutch_model::snapshot::Objects;
use hutch_model::snapshot::{Name, Touched, TouchedName};
use hutch_store::plain::{Bounds, Plain, Times, import_folder};
use hutch_store::{Opening, SqliteStore, Store};
use std::sync::Arc;
use std::time::{Duration, Instant};

fn plain(store: &SqliteStore) -> Plain {
    Plain::open(store.dir(), Arc::new(store.clone()), Duration::from_secs(10)).unwrap()
}

/// One name that was looked up in a folder that was listed.
fn touched(name: &str) -> Touched {
    Touched { listed: true, names: vec![TouchedName { name: Name::new(name).unwrap(), below: None }] }
}

fn median(what: &str, times: usize, mut job: impl FnMut()) {
    let mut samples: Vec<f64> = (0..times)
        .map(|_| {
            let start = Instant::now();
            job();
            start.elapsed().as_secs_f64() * 1e3
        })
        .collect();
    samples.sort_by(f64::total_cmp);
    println!("{:>10.3} ms  {what} (median of {times}, worst {:.3})", samples[times / 2], samples[times - 1]);
}

fn small(folder: &std::path::Path) {
    let home = tempfile::tempdir_in(folder).unwrap();
    median("make a new store", 1, || drop(sqlite(&home)));
    let todos = |at: u64| format!("{{\"todos\":[{}]}}", "{\"id\":\"td_0001\"},".repeat(20) + &at.to_string());
    put(&sqlite(&home), &[("todos.json", &todos(0))]);
    let open = || SqliteStore::open(&place(&home), &Opening::default()).unwrap();
    median("open", 200, || drop(open()));
    median("open and read the head", 200, || drop(open().head()));
    let store = open();
    let before = state(&store);
    median("commit a run that changes nothing", 200, || {
        store.commit(&change(before, before.unwrap()), &no_objects(), &[b"{\"ok\":true}"]).unwrap();
    });
    let mut at = 0;
    median("commit a run that changes one small file", 200, || {
        at += 1;
        put(&store, &[("todos.json", &todos(at))]);
    });
    let plain = plain(&store);
    plain.update().unwrap();
    median("commit the same and update the directory", 200, || {
        at += 1;
        put(&store, &[("todos.json", &todos(at))]);
        plain.update().unwrap();
    });
    median("update with nothing to do", 200, || drop(plain.update().unwrap()));
    let volume_name = "state".parse().unwrap();
    median("check one touched path", 200, || {
        assert!(plain.check(&volume_name, &touched("todos.json")).unwrap().is_none());
    });
    let (tree, objects) = (state(&store).unwrap(), store.objects());
    median("read one folder", 200, || drop(objects.get(Kind::Tree, &tree).unwrap()));
    median("read one small file", 200, || drop(text(&*objects, &tree, "todos.json")));
    drop((plain, objects, store));
    let log = std::fs::metadata(place(&home).path().join("hutch.db-wal")).unwrap().len();
    median(&format!("open after {} entries, log of {} KiB", at + 201, log / 1024), 200, || drop(open()));
}

fn large(folder: &std::path::Path) {
    let home = tempfile::tempdir_in(folder).unwrap();
    let source = tempfile::tempdir_in(folder).unwrap();
    for at in 0..100_000 {
        let folder = source.path().join(format!("{:03}", at / 250));
        if at % 250 == 0 {
            std::fs::create_dir(&folder).unwrap();
        }
        std::fs::write(folder.join(format!("{at:06}.txt")), format!("file {at}\n")).unwrap();
    }
    let store = sqlite(&home);
    let bounds = Bounds { files: 1_000_000, bytes: 1 << 40, depth: 100 };
    let dir = Dir::open_ambient_dir(source.path(), ambient_authority()).unwrap();
    let mut imported = None;
    println!("a volume of 100,000 files in 400 folders:");
    median("import the folder", 1, || {
        imported = Some(import_folder(&dir, source.path(), &bounds, Times::Kept).unwrap());
    });
    let imported = imported.unwrap();
    median("commit it", 1, || drop(store.commit(&change(None, imported.tree()), &imported, &[]).unwrap()));
    let plain = plain(&store);
    median("write the directory", 1, || drop(plain.update().unwrap()));
    let name = "state".parse().unwrap();
    median("open", 50, || drop(SqliteStore::open(&place(&home), &Opening::default()).unwrap()));
    median("check one path and its folder", 50, || {
        let inside = TouchedName { name: Name::new("007").unwrap(), below: Some(touched("001750.txt")) };
        let touched = Touched { listed: false, names: vec![inside] };
        assert!(plain.check(&name, &touched).unwrap().is_none());
    });
    median("look through all of it", 5, || assert!(plain.status(&name, &bounds).unwrap().0.is_empty()));
    let stored = store.objects();
    median("commit a change of one file and update", 50, || {
        let before = state(&store).unwrap();
        let after = with_one_more(&*stored, before);
        store.commit(&change(Some(before), after.1), &after.0, &[]).unwrap();
        plain.update().unwrap();
    });
    median("stats", 3, || assert!(store.stats().unwrap().objects > 0));
    median("check the store", 1, || assert!(store.check().unwrap().is_empty()));
    let retention = hutch_store::Retention { keep_last: 10, newer_than: None };
    median("collect", 1, || {
        assert!(store.collect(&retention, &record(EntryKind::Collect, 1)).unwrap().0.retained_from > 1)
    });
}

/// The volume with one more file in its root, without reading the rest.
fn with_one_more(
    stored: &dyn Objects,
    before: hutch_model::digest::Digest,
) -> (hutch_model::snapshot::MemoryObjects, hutch_model::digest::Digest) {
    use hutch_model::snapshot::{Entry, Name, Node, Tree, read_tree};
    let mut objects = no_objects();
    let mut entries = read_tree(stored, &before).unwrap().into_entries();
    let name = format!("new {}", entries.len());
    let node = objects.insert_file(name.as_bytes());
    entries.push(Entry { name: Name::new(&name).unwrap(), modified_ns: 1, node });
    match objects.insert_tree(&Tree::new(entries).unwrap()) {
        Node::Folder { tree, .. } => (objects, tree),
        _ => (objects, before),
    }
}

fn one_large_file(folder: &std::path::Path) {
    let home = tempfile::tempdir_in(folder).unwrap();
    let store = sqlite(&home);
    let mut bytes: String =
        (0..100_000_000u64).map(|at| char::from(b' ' + (at.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 58) as u8)).collect();
    println!("one file of 100 MB:");
    median("name and commit it", 1, || assert_eq!(put(&store, &[("big", &bytes)]), state(&store).unwrap()));
    let mut objects = no_objects();
    bytes.replace_range(50_000_000..50_000_001, "~");
    let after = volume(&mut objects, &[("big", &bytes)]);
    let before = (state(&store), store.stats().unwrap());
    median("commit it with one byte changed", 1, || {
        drop(store.commit(&change(before.0, after), &objects, &[]).unwrap())
    });
    println!("{:>10} bytes of new objects", store.stats().unwrap().object_bytes - before.1.object_bytes);
}

fn main() {
    let folder = std::env::args().nth(1).map_or_else(std::env::temp_dir, Into::into);
    match std::env::args().nth(2).as_deref() {
        Some("small") => small(&folder),
        Some("large") => large(&folder),
        Some("file") => one_large_file(&folder),
        _ => [small, large, one_large_file].iter().for_each(|part| part(&folder)),
    }
}

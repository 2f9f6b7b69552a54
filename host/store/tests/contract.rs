//! What every store promises, asked of the stores in memory and in SQLite; and what only these can be asked.
#![allow(clippy::disallowed_methods, reason = "tests reach for what they prepare")]

#[path = "contract/cases.rs"]
mod cases;
#[path = "contract/collecting.rs"]
mod collecting;
mod common;

/// The kinds of store that are asked here.
mod kinds {
    pub(crate) use crate::common::{each_keeper, each_store};
}

use common::*;
use hutch_model::error_code::ErrorCode;
use hutch_model::ledger::{EntryKind, Record};
use hutch_store::{EntryKey, IfMissing, InstanceDir, Opening, Retention, SqliteStore, Store, StoreError};
use std::sync::Arc;

/// What a killed run left in a granted folder is known to one instance alone.
#[test]
fn an_instance_is_not_copied_before_all_is_settled() {
    let home = tempfile::tempdir().unwrap();
    let place = |name: &str| InstanceDir::new(home.path(), &"todo".parse().unwrap(), &name.parse().unwrap());
    let open = |name: &str| SqliteStore::open(&place(name), &Opening::default()).unwrap();
    let store = open("one");
    put(&store, &[("a", "1")]);
    let intent = store.commit(&record(EntryKind::Intent, 1), &no_objects(), &[]).unwrap();
    let refused = store.copy_to(&place("two"));
    assert!(matches!(refused, Err(StoreError::Unsettled { .. })), "{refused:?}");
    assert!(!place("two").path().exists() && place("one").exists());
    let end = Record { closes: Some(intent.sequence), ..record(EntryKind::Run, 1) };
    store.commit(&end, &no_objects(), &[]).unwrap();
    // What was cut off before is removed by the next one.
    let cut = home.path().join("instances/todo/.aside");
    std::fs::create_dir(&cut).unwrap();
    std::fs::write(cut.join("hutch.db"), "half").unwrap();
    store.copy_to(&place("two")).unwrap();
    assert_eq!(open("two").head().unwrap().last, store.head().unwrap().last);
    assert!(matches!(store.copy_to(&place("two")), Err(StoreError::Occupied { .. })));
    drop(store);
    open("one").purge().unwrap();
    let names = std::fs::read_dir(home.path().join("instances/todo")).unwrap();
    assert_eq!(names.map(|name| name.unwrap().file_name()).collect::<Vec<_>>(), ["two"]);
}

/// Who has an instance open keeps it where it is: what is answered is where the next one looks for it.
#[test]
fn an_instance_that_somebody_has_open_is_neither_renamed_nor_purged() {
    let home = tempfile::tempdir().unwrap();
    let dir = |name: &str| InstanceDir::new(home.path(), &"todo".parse().unwrap(), &name.parse().unwrap());
    let wait = std::time::Duration::from_millis(20);
    let open = || SqliteStore::open(&place(&home), &Opening { if_missing: IfMissing::Fail, wait }).unwrap();
    let server = sqlite(&home);
    put(&server, &[("a", "1")]);
    let in_use = |done: Result<(), StoreError>| match done {
        Err(error @ StoreError::InUse { .. }) => {
            assert_eq!(error.code(), ErrorCode::InstanceBusy);
            // It says who has it, as far as the system does.
            #[cfg(target_os = "linux")]
            assert!(error.to_string().contains(&std::process::id().to_string()), "{error}");
        }
        other => panic!("{other:?}"),
    };
    in_use(open().rename_to(&dir("moved")));
    in_use(open().purge());
    // A clone is the same store, and so is what was handed out of it.
    let (clone, objects) = (server.clone(), server.objects());
    drop(clone);
    in_use(open().purge());
    put(&server, &[("a", "2")]);
    drop(server);
    in_use(open().purge());
    drop(objects);
    let two = open();
    let clone = two.clone();
    in_use(two.purge());
    assert_eq!(clone.head().unwrap().last.sequence, 2);
    // A copy is of one moment, and takes nothing from anybody.
    clone.copy_to(&dir("copy")).unwrap();
    drop(clone);
    open().rename_to(&dir("moved")).unwrap();
    assert!(!place(&home).exists());
    let moved = SqliteStore::open(&dir("moved"), &Opening { if_missing: IfMissing::Fail, wait }).unwrap();
    assert_eq!((moved.head().unwrap().last.sequence, moved.check().unwrap()), (2, Vec::new()));
}

/// Who comes while an instance is replaced waits, and finds what is there then.
#[test]
fn who_opens_an_instance_while_it_is_replaced_gets_no_half_of_it() {
    let home = tempfile::tempdir().unwrap();
    put(&sqlite(&home), &[("a", "1")]);
    let file = std::fs::File::open(place(&home).path().join("hutch.open")).unwrap();
    file.lock().unwrap();
    let opening = Opening { if_missing: IfMissing::Create, wait: std::time::Duration::ZERO };
    let refused = SqliteStore::open(&place(&home), &opening).unwrap_err();
    assert!(matches!(refused, StoreError::InUse { .. }), "{refused}");
    std::thread::scope(|scope| {
        let opened = scope.spawn(|| sqlite(&home));
        std::fs::rename(place(&home).path(), home.path().join("instances/todo/moved")).unwrap();
        file.unlock().unwrap();
        // Whichever was first, it is not the folder that was moved away.
        let opened = opened.join().unwrap();
        assert_eq!(opened.head().unwrap().last.sequence, 0);
        assert!(opened.dir().database().exists());
    });
}

/// Somebody else's tool may move a folder or take it away, and asks nobody. Nothing is answered as kept then that is not there.
#[test]
fn what_is_moved_under_an_open_store_is_written_no_more() {
    let home = tempfile::tempdir().unwrap();
    let store = sqlite(&home);
    let before = put(&store, &[("a", "1")]);
    let mut objects = no_objects();
    let after = volume(&mut objects, &[("a", "2")]);
    let appended = store.append(&change(Some(before), after), &objects, &[]).unwrap();
    let moved = home.path().join("instances/todo/moved");
    std::fs::rename(place(&home).path(), &moved).unwrap();
    // What was answered before is in the log that SQLite has, wherever that is.
    store.settle(appended.sequence).unwrap();
    let keep = Retention { keep_last: 1, newer_than: None };
    for is_there_another in [false, true] {
        if is_there_another {
            put(&sqlite(&home), &[("b", "other")]);
        }
        let refused = [
            store.commit(&change(Some(after), before), &objects, &[]).map(drop),
            store.append(&change(Some(after), before), &objects, &[]).map(drop),
            store.commit(&record(EntryKind::Run, 1), &objects, &[]).map(drop),
            store.begin(&change(Some(after), before), &objects, &[]).map(drop),
            store.collect(&keep, &record(EntryKind::Collect, 1)).map(drop),
        ];
        for refused in refused {
            let error = refused.unwrap_err();
            assert!(matches!(error, StoreError::Missing { .. }) && error.to_string().contains("moved"), "{error}");
        }
    }
    drop(store);
    let dir = |name: &str| InstanceDir::new(home.path(), &"todo".parse().unwrap(), &name.parse().unwrap());
    let open = |name: &str| SqliteStore::open(&dir(name), &Opening::default()).unwrap();
    assert_eq!((open("moved").head().unwrap().last, state(&open("moved"))), (appended.pin(), Some(after)));
    assert_eq!(open("moved").check().unwrap(), []);
    let other = open("default");
    let other_state = state(&other).unwrap();
    assert_eq!(text(&*other.objects(), &other_state, "b").as_deref(), Some("other"));
    assert_eq!(other.head().unwrap().last.sequence, 1);
}

/// Two stores with one identity could pass for each other: a mark could not tell them apart.
#[test]
fn a_copy_is_a_store_of_its_own_with_a_log() {
    let home = tempfile::tempdir().unwrap();
    let first = sqlite(&home);
    put(&first, &[("a", "1")]);
    let dir = InstanceDir::new(home.path(), &"todo".parse().unwrap(), &"copy".parse().unwrap());
    first.copy_to(&dir).unwrap();
    let mode = |dir: &InstanceDir| {
        let connection = rusqlite::Connection::open(dir.database()).unwrap();
        connection.query_row("PRAGMA journal_mode", (), |row| row.get::<_, String>(0)).unwrap()
    };
    // Before it is opened for the first time.
    assert_eq!(mode(&dir), "wal");
    let copy = SqliteStore::open(&dir, &Opening::default()).unwrap();
    assert_eq!(copy.head().unwrap(), first.head().unwrap());
    // The entries that both have hash secrets with it.
    assert_eq!(copy.secret_key().unwrap(), first.secret_key().unwrap());
    let mark = |dir: &InstanceDir| std::fs::read_to_string(dir.path().join("hutch.mark")).unwrap();
    let store = |dir: &InstanceDir| mark(dir).split(' ').nth(2).unwrap().to_owned();
    assert_ne!(store(&dir), store(first.dir()));
    // One in the other's place is noticed.
    drop((first, copy));
    std::fs::remove_file(place(&home).path().join("hutch.db-wal")).unwrap();
    std::fs::copy(dir.database(), place(&home).database()).unwrap();
    let error = SqliteStore::open(&place(&home), &Opening::default()).unwrap_err();
    assert!(error.to_string().contains("another database"), "{error}");
}

/// Copies that others made, and those of earlier versions, have none.
#[test]
fn a_store_without_a_log_gets_one_when_it_is_opened() {
    let home = tempfile::tempdir().unwrap();
    put(&sqlite(&home), &[("a", "1")]);
    let connect = || rusqlite::Connection::open(place(&home).database()).unwrap();
    // A connection that is open says what it knows.
    let mode = || connect().query_row("PRAGMA journal_mode", (), |row| row.get::<_, String>(0)).unwrap();
    let connection = connect();
    connection.query_row("PRAGMA journal_mode = DELETE", (), |_| Ok(())).unwrap();
    assert_eq!(mode(), "delete");
    let store = sqlite(&home);
    assert_eq!(mode(), "wal");
    // So a reader keeps no writer waiting.
    connection.execute_batch("BEGIN; SELECT count(*) FROM entries").unwrap();
    put(&store, &[("a", "2")]);
    connection.execute_batch("COMMIT").unwrap();
    assert_eq!(store.head().unwrap().last.sequence, 2);
    // One that somebody else keeps from it is busy, and not used without.
    drop(store);
    connection.query_row("PRAGMA journal_mode = DELETE", (), |_| Ok(())).unwrap();
    connection.execute_batch("BEGIN; SELECT count(*) FROM entries").unwrap();
    let opening = Opening { wait: std::time::Duration::from_millis(20), ..Opening::default() };
    let error = SqliteStore::open(&place(&home), &opening).unwrap_err();
    assert!(matches!(error, StoreError::Busy { .. }), "{error}");
}

/// What a store in memory shows over another one is what that one would be.
#[test]
fn a_preview_is_what_would_be() {
    let home = tempfile::tempdir().unwrap();
    let below = Arc::new(sqlite(&home));
    let first = put(&*below, &[("a", "1"), ("d/b", "2")]);
    let preview = hutch_store::MemoryStore::over(below.clone());
    let second = put(&preview, &[("a", "2"), ("d/b", "2")]);
    assert_eq!((state(&preview), state(&*below)), (Some(second), Some(first)));
    assert_eq!(text(&*preview.objects(), &second, "d/b").as_deref(), Some("2"));
    assert_eq!(preview.entries(0, 10).unwrap().len(), 2);
    assert_eq!((preview.state_at(1).unwrap()["state"], preview.state_at(2).unwrap()["state"]), (first, second));
    assert_eq!(preview.check().unwrap(), []);
    // What others do below meanwhile is not part of it, and nothing of it is part of what is below.
    let other = put(&*below, &[("a", "3")]);
    assert_eq!((state(&preview), state(&*below)), (Some(second), Some(other)));
    assert_eq!(preview.entries(0, 10).unwrap().len(), 2);
    let appended = below.entry(2).unwrap().unwrap();
    assert_eq!(preview.find(&EntryKey::Hash(appended.hash)).unwrap(), []);
    assert_eq!(preview.find(&EntryKey::Prefix(appended.hash.to_string())).unwrap(), []);
    assert_eq!(preview.find(&EntryKey::Sequence(2)).unwrap(), preview.entries(2, 1).unwrap());
    assert_eq!((preview.last_change(2).unwrap(), preview.last_change(1).unwrap()), (Some(2), Some(1)));
    let undo = change(Some(second), first);
    preview.commit(&undo, &*preview.objects(), &[]).unwrap();
    assert_eq!(state(&preview), Some(first));
    assert_eq!(below.stats().unwrap().entries, 2);
}

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
use hutch_model::ledger::{EntryKind, Record};
use hutch_store::{EntryKey, InstanceDir, Opening, SqliteStore, Store, StoreError};
use std::sync::Arc;

/// What a killed run left in a granted folder is known to one instance alone, and to one at least.
#[test]
fn an_instance_is_neither_copied_nor_purged_before_all_is_settled() {
    let home = tempfile::tempdir().unwrap();
    let place = |name: &str| InstanceDir::new(home.path(), &"todo".parse().unwrap(), &name.parse().unwrap());
    let open = |name: &str| SqliteStore::open(&place(name), &Opening::default()).unwrap();
    let store = open("one");
    put(&store, &[("a", "1")]);
    let intent = store.commit(&record(EntryKind::Intent, 1), &no_objects(), &[]).unwrap();
    let refused = [store.copy_to(&place("two")), open("one").purge()];
    assert!(refused.iter().all(|refused| matches!(refused, Err(StoreError::Refused { .. }))), "{refused:?}");
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
    open("one").purge().unwrap();
    let names = std::fs::read_dir(home.path().join("instances/todo")).unwrap();
    assert_eq!(names.map(|name| name.unwrap().file_name()).collect::<Vec<_>>(), ["two"]);
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

//! A damaged store is an error that names what is damaged, never a panic and never wrong content.
#![allow(clippy::disallowed_methods, reason = "tests reach for what they prepare")]
#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "helpers of tests are tests")]

mod common;

use common::*;
use hutch_model::digest::{Digest, Kind};
use hutch_model::error_code::ErrorCode;
use hutch_model::ledger::EntryKind;
use hutch_model::snapshot::Lack;
use hutch_store::{IfMissing, Opening, Retention, SqliteStore, Store, StoreError};
use std::path::Path;

/// A store of five entries, closed and with its log moved into the database, so that the file is all there is.
fn five() -> tempfile::TempDir {
    let home = tempfile::tempdir().unwrap();
    let store = sqlite(&home);
    for at in 0..5 {
        let mut objects = no_objects();
        let after = volume(&mut objects, &[("a", &at.to_string()), ("d/b", "same")]);
        store.commit(&change(state(&store), after), &objects, &[b"output"]).unwrap();
    }
    drop(store);
    let connection = rusqlite::Connection::open(place(&home).database()).unwrap();
    connection.execute_batch("PRAGMA journal_mode = DELETE").unwrap();
    connection.execute_batch("PRAGMA journal_mode = WAL").unwrap();
    home
}

fn tamper(home: &tempfile::TempDir, sql: &str) {
    let connection = rusqlite::Connection::open(place(home).database()).unwrap();
    connection.execute_batch(sql).unwrap();
}

fn reopen(home: &tempfile::TempDir) -> Result<SqliteStore, StoreError> {
    SqliteStore::open(&place(home), &Opening { if_missing: IfMissing::Fail, ..Opening::default() })
}

#[test]
fn a_whole_store_checks_clean() {
    assert_eq!(reopen(&five()).unwrap().check().unwrap(), []);
}

/// Their rules are not ours: this one takes 200 MB for each row that is looked at, and is not kept by its row.
#[test]
fn tables_of_others_are_not_looked_at() {
    let home = five();
    let rule = "CREATE TABLE other (x, CHECK (hex(zeroblob(100000000)) = x))";
    tamper(&home, &format!("{rule}; PRAGMA ignore_check_constraints = ON; INSERT INTO other VALUES ('broken')"));
    assert_eq!(reopen(&home).unwrap().check().unwrap(), []);
    // Our own still are.
    tamper(&home, "UPDATE objects SET bytes = zeroblob(3) WHERE rowid = 1");
    assert!(!reopen(&home).unwrap().check().unwrap().is_empty());
}

/// What the store is now hangs on its last entry: whatever of that was changed is found before anything is done with it.
#[test]
fn a_state_that_the_last_entry_does_not_lead_to_is_found_when_it_is_opened() {
    for (sql, named) in [
        ("UPDATE heads SET tree = (SELECT digest FROM objects WHERE kind = 3 ORDER BY rowid LIMIT 1)", "entry 5"),
        ("DELETE FROM heads", "entry 5"),
        ("INSERT INTO heads VALUES ('other', zeroblob(32))", "entry 5"),
        ("INSERT INTO owners VALUES ('installed', zeroblob(32))", "entry 5"),
        ("INSERT INTO intents VALUES (3)", "entry 5"),
        ("UPDATE entries SET bytes = CAST(replace(bytes, 'todo', 'tudo') AS BLOB) WHERE sequence = 5", "entry 5"),
        ("UPDATE entries SET hash = zeroblob(32) WHERE sequence = 5", "entry 5"),
        ("DELETE FROM entries WHERE sequence = 5", "entry 5"),
        ("DELETE FROM entries WHERE sequence > 1", "entry 5"),
        ("UPDATE entries SET sequence = 9 WHERE sequence = 5", "entry 5"),
        ("UPDATE entries SET sequence = 9 WHERE sequence = 4", "entry 9"),
        ("UPDATE entries SET sequence = 0 WHERE sequence = 5", "entry 5"),
        ("UPDATE meta SET value = zeroblob(40) WHERE name = 'head'", "entry"),
        ("UPDATE meta SET value = x'00' WHERE name = 'head'", "the head"),
    ] {
        let home = five();
        tamper(&home, sql);
        let error = reopen(&home).unwrap_err();
        assert_eq!(error.code(), ErrorCode::StoreDamaged, "{sql}: {error}");
        assert!(error.to_string().contains(named), "{sql}: {error}");
        assert!(error.to_string().starts_with(place(&home).database().to_str().unwrap()), "{error}");
    }
}

#[test]
fn what_opening_does_not_look_at_is_found_by_the_check() {
    for (sql, named) in [
        (
            "UPDATE objects SET bytes = CAST('x' || substr(bytes, 2) AS BLOB) WHERE kind = 1 AND rowid = (SELECT min(rowid) FROM objects WHERE kind = 1)",
            "object",
        ),
        ("UPDATE objects SET bytes = zeroblob(length(bytes)) WHERE kind = 4", "object"),
        ("UPDATE objects SET kind = 4 WHERE kind = 1", "object"),
        ("UPDATE objects SET kind = 77 WHERE kind = 3", "object"),
        ("DELETE FROM objects WHERE kind = 1", "state"),
        ("DELETE FROM objects WHERE kind = 3", "state"),
        ("UPDATE entries SET bytes = CAST(replace(bytes, 'todo', 'tudo') AS BLOB) WHERE sequence = 3", "entry 3"),
        ("UPDATE entries SET hash = zeroblob(32) WHERE sequence = 4", "entry 4"),
        ("DELETE FROM entries WHERE sequence = 2", "entry 2"),
        ("UPDATE moves SET tree = zeroblob(32) WHERE sequence = 2", "the index of states"),
        ("DELETE FROM moves WHERE sequence = 2", "the index of states"),
    ] {
        let home = five();
        tamper(&home, sql);
        let damages = reopen(&home).unwrap().check().unwrap();
        assert!(damages.iter().any(|damage| damage.what.starts_with(named)), "{sql}: {damages:?}");
    }
}

/// The largest number that the database has: behind it there is no next page.
#[test]
fn an_entry_in_the_last_place_of_all_ends_the_check_and_the_collection() {
    let home = five();
    tamper(&home, "UPDATE entries SET sequence = 9223372036854775807 WHERE sequence = 4");
    let store = SqliteStore::open(&place(&home), &Opening::default());
    assert_eq!(store.unwrap_err().code(), ErrorCode::StoreDamaged);
    tamper(&home, "UPDATE entries SET sequence = 4 WHERE sequence = 9223372036854775807");
    let store = reopen(&home).unwrap();
    tamper(&home, "UPDATE entries SET sequence = 9223372036854775807 WHERE sequence = 4");
    assert!(store.check().unwrap().iter().any(|damage| damage.what == "entry 5"));
    assert!(store.entries(1 << 63, 10).unwrap().is_empty());
    let _ = store.collect(&Retention { keep_last: 1, newer_than: None }, &record(EntryKind::Collect, 9));
}

#[test]
fn a_database_without_tables_is_damaged() {
    let home = five();
    tamper(&home, "DROP TABLE moves; DROP TABLE heads");
    assert_eq!(reopen(&home).unwrap_err().code(), ErrorCode::StoreDamaged);
}

#[test]
fn an_earlier_state_is_checked_against_its_entry() {
    let home = five();
    let store = reopen(&home).unwrap();
    let third = store.state_at(3).unwrap();
    assert_ne!(third, store.head().unwrap().state);
    tamper(&home, "UPDATE moves SET tree = (SELECT tree FROM moves WHERE sequence = 1) WHERE sequence = 3");
    let error = store.state_at(3).unwrap_err();
    assert_eq!(error.code(), ErrorCode::StoreDamaged, "{error}");
    assert!(error.to_string().contains("the state from entry 3 on"), "{error}");
    assert!(store.state_at(2).is_ok());
}

/// A store that was here and is not any more, or not as far as it was, is never silently begun again.
#[test]
fn a_lost_store_is_noticed_and_begun_again_only_when_asked() {
    type Lose = fn(&Path);
    let lose: [(&str, Lose); 5] = [
        ("deleted", |path| std::fs::remove_file(path).unwrap()),
        ("emptied", |path| std::fs::write(path, "").unwrap()),
        ("replaced by another", |path| {
            let other = tempfile::tempdir().unwrap();
            drop(sqlite(&other));
            std::fs::copy(place(&other).database(), path).unwrap();
        }),
        ("replaced by an older copy", |path| {
            std::fs::copy(path.with_file_name("older"), path).map(|_| ()).unwrap();
        }),
        ("without its log", |_| {}),
    ];
    for (what, lose) in lose {
        let home = five();
        let folder = place(&home).path().to_owned();
        std::fs::copy(place(&home).database(), folder.join("older")).unwrap();
        let store = reopen(&home).unwrap();
        put(&store, &[("a", "later")]);
        drop(store);
        for log in ["hutch.db-wal", "hutch.db-shm"] {
            std::fs::remove_file(folder.join(log)).unwrap();
        }
        lose(&place(&home).database());
        for opening in [IfMissing::Create, IfMissing::Fail] {
            let opened = SqliteStore::open(&place(&home), &Opening { if_missing: opening, ..Opening::default() });
            let error = opened.unwrap_err();
            assert_eq!(error.code(), ErrorCode::StoreDamaged, "{what}: {error}");
            assert!(error.to_string().contains("hutch.mark"), "{what}: {error}");
        }
        assert!(place(&home).exists(), "{what}");
        // What the message says, done: what is left is all there is.
        std::fs::remove_file(folder.join("hutch.mark")).unwrap();
        let store = SqliteStore::open(&place(&home), &Opening::default()).unwrap();
        let entries = store.head().unwrap().last.sequence;
        assert!(entries <= 5, "{what}: {entries}");
        assert_eq!(store.check().unwrap(), [], "{what}");
    }
}

#[test]
fn a_mark_that_says_nothing_or_is_behind_is_no_damage() {
    let home = five();
    let mark = place(&home).path().join("hutch.mark");
    let text = std::fs::read_to_string(&mark).unwrap();
    assert!(text.ends_with(" 00000000000000000005\n"), "{text}");
    for other in ["", "\0\0\0\0", "hutch store", &text.replace("05\n", "03\n")] {
        std::fs::write(&mark, other).unwrap();
        assert_eq!(reopen(&home).unwrap().head().unwrap().last.sequence, 5, "{other:?}");
    }
    std::fs::remove_file(&mark).unwrap();
    let store = reopen(&home).unwrap();
    assert!(mark.exists(), "the mark is made again");
    put(&store, &[("a", "6")]);
    assert!(std::fs::read_to_string(&mark).unwrap().ends_with("06\n"));
}

/// A young store is more than a log: without the log it is noticed.
#[test]
fn a_new_store_is_in_its_database_from_the_beginning() {
    let home = tempfile::tempdir().unwrap();
    drop(sqlite(&home));
    assert!(std::fs::metadata(place(&home).database()).unwrap().len() > 0);
    for log in ["hutch.db-wal", "hutch.db-shm"] {
        let _ = std::fs::remove_file(place(&home).path().join(log));
    }
    assert_eq!(reopen(&home).unwrap().head().unwrap().last.sequence, 0);
}

#[test]
fn a_damaged_object_is_never_given_out() {
    let home = five();
    let tree = state(&reopen(&home).unwrap()).unwrap();
    tamper(&home, "UPDATE objects SET bytes = CAST(bytes || 'x' AS BLOB)");
    let store = reopen(&home).unwrap();
    let error = store.objects().get(Kind::Tree, &tree).unwrap_err();
    assert_eq!((error.digest, error.lack), (tree, Lack::Damaged("does not match its digest".to_owned())));
    tamper(&home, "DELETE FROM objects");
    assert_eq!(store.objects().get(Kind::Tree, &tree).unwrap_err().lack, Lack::Missing);
}

#[test]
fn collect_removes_nothing_if_what_must_stay_is_damaged() {
    let home = five();
    tamper(&home, "UPDATE objects SET bytes = CAST(bytes || 'x' AS BLOB) WHERE kind = 3");
    let store = reopen(&home).unwrap();
    let before = store.stats().unwrap();
    let all_but_one = Retention { keep_last: 1, newer_than: None };
    assert_eq!(
        store.collect(&all_but_one, &record(EntryKind::Collect, 9)).unwrap_err().code(),
        ErrorCode::StoreDamaged
    );
    assert_eq!(store.stats().unwrap().objects, before.objects);
    assert_eq!(store.head().unwrap().retained_from, 1);
}

/// Every byte of a small database, changed: opening, reading and checking end in an answer.
#[test]
fn no_changed_byte_makes_it_panic() {
    let home = five();
    let path = place(&home).database();
    let whole = std::fs::read(&path).unwrap();
    let touch = |path: &Path, bytes: &[u8]| {
        for extra in ["hutch.db-wal", "hutch.db-shm"] {
            let _ = std::fs::remove_file(path.with_file_name(extra));
        }
        std::fs::write(path, bytes).unwrap();
    };
    let mut found = 0;
    let mut tried = 0;
    for at in (0..whole.len()).step_by(97) {
        let mut bytes = whole.clone();
        bytes[at] ^= 0x5a;
        touch(&path, &bytes);
        tried += 1;
        found += u32::from(match reopen(&home) {
            Err(_) => true,
            Ok(store) => store.check().map_or(true, |damages| !damages.is_empty()),
        });
    }
    // Bytes in free space and in SQLite's own counters mean nothing; most others do.
    assert!(tried > 300 && found > tried / 10, "{found} of {tried}");
    for length in [0, 1, 50, 100, 4096, whole.len() / 2] {
        touch(&path, &whole[..length]);
        if let Ok(store) = reopen(&home) {
            assert!(store.check().map_or(true, |damages| !damages.is_empty()), "{length} bytes");
        }
    }
    touch(&path, &whole);
    assert_eq!(reopen(&home).unwrap().check().unwrap(), []);
}

/// Random bytes of database and log, one changed at a time: whatever is read afterwards is what was written, or an error. How many
/// is said by HUTCH_FLIPS.
#[test]
fn no_flipped_byte_makes_it_answer_wrong() {
    let flips: u64 = std::env::var("HUTCH_FLIPS").map_or(1_000, |flips| flips.parse().unwrap());
    let home = five();
    let store = reopen(&home).unwrap();
    for at in 5..9 {
        put(&store, &[("a", &at.to_string()), ("d/b", "same"), ("e", &"long ".repeat(30_000))]);
    }
    let told = |store: &dyn Store| -> Result<Vec<String>, StoreError> {
        let head = store.head()?;
        let mut told = vec![format!("{head:?}")];
        for sequence in 1..=head.last.sequence {
            told.push(format!("{:?}", store.state_at(sequence)?));
            let entry = store.entry(sequence)?.map(|entry| entry.open());
            told.push(match entry {
                Some(Ok(entry)) => format!("{entry:?}"),
                other => return Err(StoreError::Record(format!("{other:?}"))),
            });
        }
        let objects = store.objects();
        let mut read = Vec::new();
        for tree in head.state.values() {
            let tree = hutch_model::snapshot::read_tree(&*objects, tree);
            let tree = tree.map_err(|error| StoreError::object("", &error))?;
            for entry in tree.entries() {
                if let hutch_model::snapshot::Node::File { size, content } = &entry.node {
                    hutch_model::snapshot::read_file::<hutch_model::snapshot::ObjectError>(
                        &*objects,
                        content,
                        *size,
                        &mut |part| {
                            read.extend_from_slice(part);
                            Ok(())
                        },
                    )
                    .map_err(|error| StoreError::object("", &error))?;
                }
            }
        }
        told.push(format!("{:?}", Digest::of(Kind::Chunk, &read)));
        Ok(told)
    };
    let truth = told(&store).unwrap();
    drop(store);
    let folder = place(&home).path().to_owned();
    let names = ["hutch.db", "hutch.db-wal"];
    let whole = names.map(|name| std::fs::read(folder.join(name)).unwrap());
    assert!(whole.iter().all(|bytes| !bytes.is_empty()));
    let mut random = 0x9e37_79b9_7f4a_7c15_u64;
    let mut next = move || {
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        random
    };
    let (mut right, mut noticed) = (0, 0);
    for _ in 0..flips {
        let _ = std::fs::remove_file(folder.join("hutch.db-shm"));
        let which = (next() % 2) as usize;
        for (name, bytes) in names.iter().zip(&whole) {
            std::fs::write(folder.join(name), bytes).unwrap();
        }
        let mut bytes = whole[which].clone();
        let (at, bit) = ((next() % bytes.len() as u64) as usize, 1 << (next() % 8));
        bytes[at] ^= bit;
        std::fs::write(folder.join(names[which]), &bytes).unwrap();
        match reopen(&home).and_then(|store| told(&store)) {
            Ok(answer) if answer == truth => right += 1,
            // A log is cut where its checksums end: what is left is an earlier moment, and the mark beside it says there was a later one.
            Ok(answer) => panic!("byte {at} of {}, bit {bit}: {answer:?}", names[which]),
            Err(_) => noticed += 1,
        }
    }
    assert!(right > 0 && noticed > 0, "{right} right, {noticed} noticed");
    println!("{flips} flips: {right} answered right, {noticed} noticed, 0 wrong");
}

#[test]
fn what_is_not_there_is_not_made_unasked() {
    let home = tempfile::tempdir().unwrap();
    let error = reopen(&home).unwrap_err();
    assert_eq!(error.code(), ErrorCode::NotFound);
    assert_eq!(std::fs::read_dir(home.path()).unwrap().count(), 0);
}

#[test]
fn a_newer_store_is_a_clear_error_and_untouched() {
    let home = five();
    tamper(&home, "PRAGMA user_version = 99");
    let error = reopen(&home).unwrap_err();
    assert_eq!(error.code(), ErrorCode::StoreTooNew);
    let path = place(&home).database();
    let expect =
        format!("{}: the store has schema version 99, and this version knows versions up to 1", path.display());
    assert_eq!(error.to_string(), expect);
}

#[test]
fn space_is_given_back() {
    let home = tempfile::tempdir().unwrap();
    let store = sqlite(&home);
    let noise: String =
        (0..600_000u64).map(|at| char::from(b'a' + (at.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 60) as u8)).collect();
    put(&store, &[("a", &noise)]);
    put(&store, &[("a", "small")]);
    put(&store, &[("a", "smaller")]);
    let before = store.stats().unwrap().disk_bytes;
    store.collect(&Retention { keep_last: 1, newer_than: None }, &record(EntryKind::Collect, 9)).unwrap();
    let after = store.stats().unwrap().disk_bytes;
    assert!(after + 500_000 < before, "{before} -> {after}");
    assert_eq!(std::fs::metadata(place(&home).database()).unwrap().len(), after);
}

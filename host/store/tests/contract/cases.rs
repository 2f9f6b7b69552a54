//! What every store promises, asked of each kind of store. Which kinds there are, the module `kinds` of the test program says, which this is
//! a part of.

use crate::common::*;
use crate::kinds::each_store;
use hutch_model::digest::{Digest, Kind};
use hutch_model::error_code::ErrorCode;
use hutch_model::ledger::{Chain, EntryKind, Origin, Owner, Record, Sealed, SecretKey, VolumeRecord, verify_chain};
use hutch_model::snapshot::{CHUNK_BYTES, Changes, MemoryObjects, ObjectError, Objects};
use hutch_store::{EntryKey, MemoryStore, State, Store, StoreError};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

#[test]
fn an_empty_store_has_no_entry_and_no_volume() {
    each_store(|store| {
        let head = store.head().unwrap();
        assert_eq!((head.last, head.state.len(), head.retained_from), (Chain::default().head(), 0, 1));
        assert_eq!(store.entries(0, 10).unwrap(), []);
        assert_eq!(store.find(&EntryKey::Sequence(1)).unwrap(), []);
        assert_eq!(store.find(&EntryKey::Hash(nothing())).unwrap(), []);
        assert_eq!(store.check().unwrap(), []);
    });
}

#[test]
fn a_commit_moves_state_and_ledger_together() {
    each_store(|store| {
        let mut objects = no_objects();
        let after = volume(&mut objects, &[("todos.json", "[]"), ("a/b/c", "deep")]);
        let sealed = store.commit(&change(None, after), &objects, &[b"out", b""]).unwrap();
        let head = store.head().unwrap();
        assert_eq!((head.last, state(store)), (sealed.pin(), Some(after)));
        assert_eq!(text(&*store.objects(), &after, "a/b/c").as_deref(), Some("deep"));
        assert_eq!(store.entry(1).unwrap().as_ref(), Some(&sealed));
        assert_eq!(store.find(&EntryKey::Hash(sealed.hash)).unwrap(), std::slice::from_ref(&sealed));
        assert_eq!(sealed.open().unwrap().record, change(None, after));
        assert_eq!(sealed.leads_to(&head.standing()), Ok(()));
        let out = store.stream(&Digest::of(Kind::Stream, b"out")).unwrap();
        assert_eq!(out.as_deref(), Some(&b"out"[..]));
        assert_eq!(store.stream(&Digest::of(Kind::Stream, b"other")).unwrap(), None);
        assert_eq!(store.check().unwrap(), []);
    });
}

#[test]
fn what_is_appended_is_seen_at_once_and_the_next_follows_before_it_is_settled() {
    each_store(|store| {
        let mut objects = no_objects();
        let [one, two] = ["1", "2"].map(|text| volume(&mut objects, &[("a", text)]));
        // Nothing is there to wait for.
        store.settle(0).unwrap();
        let first = store.append(&change(None, one), &objects, &[b"out"]).unwrap();
        assert_eq!((store.head().unwrap().last, state(store)), (first.pin(), Some(one)));
        let second = store.append(&change(Some(one), two), &objects, &[]).unwrap();
        let reading = store.append(&change(Some(two), two), &objects, &[]).unwrap();
        let head = store.head().unwrap();
        assert_eq!((head.last, head.changed, state(store)), (reading.pin(), second.sequence, Some(two)));
        let error = store.append(&change(Some(one), two), &objects, &[]).unwrap_err();
        assert_eq!(error.code(), ErrorCode::Conflict, "{error}");
        for sequence in [second.sequence, first.sequence, head.changed, head.changed] {
            store.settle(sequence).unwrap();
        }
        assert_eq!(store.entries(1, 9).unwrap(), [first, second, reading]);
        assert_eq!(store.check().unwrap(), []);
    });
}

#[test]
fn those_who_append_at_once_get_an_entry_each_and_one_chain() {
    each_store(|store| {
        let mut objects = no_objects();
        let empty = volume(&mut objects, &[]);
        store.commit(&change(None, empty), &objects, &[]).unwrap();
        let places: Vec<u64> = std::thread::scope(|scope| {
            let append = |thread: u64| {
                let mut places = Vec::new();
                while places.len() < 10 {
                    let before = state(store).unwrap();
                    let mut objects = no_objects();
                    let after = volume(&mut objects, &[("last", &format!("{thread}.{}", places.len()))]);
                    match store.append(&change(Some(before), after), &objects, &[]) {
                        Ok(sealed) => {
                            store.settle(sealed.sequence).unwrap();
                            places.push(sealed.sequence);
                        }
                        Err(error) => assert_eq!(error.code(), ErrorCode::Conflict, "{error}"),
                    }
                }
                places
            };
            let threads: Vec<_> = (0..4).map(|thread| scope.spawn(move || append(thread))).collect();
            threads.into_iter().flat_map(|thread| thread.join().unwrap()).collect()
        });
        let mut sorted = places.clone();
        sorted.sort_unstable();
        assert_eq!(sorted, (2..=41).collect::<Vec<_>>());
        assert_eq!(store.head().unwrap().last.sequence, 41);
        assert_eq!(store.check().unwrap(), []);
    });
}

#[test]
fn equal_content_is_stored_once_and_a_small_change_is_small() {
    each_store(|store| {
        let big = "x".repeat(3 * CHUNK_BYTES as usize) + "end";
        put(store, &[("a", &big), ("b", &big), ("d/c", "1")]);
        // x three times is one chunk, the end another; one list; root and d; c.
        assert_eq!(store.stats().unwrap().objects, 6);
        let bytes = store.stats().unwrap().object_bytes;
        put(store, &[("a", &big), ("b", &big), ("d/c", "2")]);
        let stats = store.stats().unwrap();
        assert_eq!(stats.objects, 9, "a new chunk and two new folders");
        assert!(stats.object_bytes - bytes < 500, "{} bytes for one", stats.object_bytes - bytes);
    });
}

/// Objects that count how often they are asked and fail from some time on.
struct Failing<'a>(&'a MemoryObjects, AtomicU64, u64);

impl Objects for Failing<'_> {
    fn get(&self, kind: Kind, digest: &Digest) -> Result<Arc<[u8]>, ObjectError> {
        match self.1.fetch_add(1, Ordering::Relaxed) < self.2 {
            true => self.0.get(kind, digest),
            false => Err(ObjectError::missing(kind, *digest)),
        }
    }
}

#[test]
fn a_run_that_changes_nothing_reads_and_writes_no_object() {
    each_store(|store| {
        let before = put(store, &[("a", "1")]);
        let stats = store.stats().unwrap();
        let unasked = no_objects();
        let objects = Failing(&unasked, AtomicU64::new(0), 0);
        store.commit(&change(Some(before), before), &objects, &[]).unwrap();
        assert_eq!(store.stats().unwrap().objects, stats.objects);
        assert_eq!(objects.1.load(Ordering::Relaxed), 0);
    });
}

#[test]
fn a_commit_that_fails_anywhere_leaves_nothing() {
    each_store(|store| {
        let before = put(store, &[("a", "1"), ("d/b", "2")]);
        let (head, stats) = (store.head().unwrap(), store.stats().unwrap());
        let mut objects = no_objects();
        let big: String = (0..20_000).map(|line| format!("{line}\n")).collect();
        let after = volume(&mut objects, &[("a", &big), ("d/b", "3"), ("e/f/g", "4")]);
        let mut allowed = 0;
        loop {
            let failing = Failing(&objects, AtomicU64::new(0), allowed);
            match store.commit(&change(Some(before), after), &failing, &[b"stream"]) {
                Ok(_) => break,
                Err(error) => {
                    let expect = if allowed == 0 { ErrorCode::NotFound } else { ErrorCode::StoreDamaged };
                    assert_eq!(error.code(), expect, "{error}");
                }
            }
            let after = store.stats().unwrap();
            let same = (after.entries, after.objects, after.streams) == (stats.entries, stats.objects, stats.streams);
            assert!(same && store.head().unwrap() == head, "something stayed after {allowed} objects");
            allowed += 1;
        }
        assert!(allowed > 6, "only {allowed} objects");
        assert_eq!(state(store), Some(after));
        assert_eq!(store.check().unwrap(), []);
    });
}

#[test]
fn wrong_objects_are_not_taken_in() {
    each_store(|store| {
        let mut objects = no_objects();
        let after = volume(&mut objects, &[("a", "1")]);
        objects.insert_named(Digest::of(Kind::Chunk, b"1"), &b"2"[..]);
        let error = store.commit(&change(None, after), &objects, &[]).unwrap_err();
        assert!(matches!(error, StoreError::Record(_)), "{error}");
        assert_eq!(store.stats().unwrap().objects, 0);
    });
}

#[test]
fn only_another_state_is_a_conflict() {
    each_store(|store| {
        let s0 = put(store, &[("a", "0")]);
        let mut objects = no_objects();
        let (s1, s2) = (volume(&mut objects, &[("a", "1")]), volume(&mut objects, &[("a", "2")]));
        // Entries that change no state come between: a plan, a failed run, a reading.
        let mut plan = change(Some(s0), s2);
        (plan.kind, plan.kept) = (EntryKind::Plan, false);
        store.commit(&plan, &no_objects(), &[]).unwrap();
        let mut failed = change(Some(s0), s2);
        (failed.kept, failed.error) = (false, Some(ErrorCode::GuestTrapped));
        store.commit(&failed, &no_objects(), &[]).unwrap();
        store.commit(&change(Some(s0), s0), &no_objects(), &[]).unwrap();
        let last = store.head().unwrap().last;
        let sealed = store.commit(&change(Some(s0), s1), &objects, &[]).unwrap();
        let entry = sealed.open().unwrap();
        assert_eq!((entry.sequence, entry.previous), (last.sequence + 1, last.hash));

        // The state moved on: who started from the old one is refused, with both named, and nothing is written.
        let head = store.head().unwrap();
        let error = store.commit(&change(Some(s0), s2), &objects, &[]).unwrap_err();
        assert_eq!(error.code(), ErrorCode::Conflict);
        assert_eq!(error.to_string(), format!("volume state has changed: expected state {s0}, found {s1}"));
        assert_eq!(store.commit(&change(None, s2), &objects, &[]).unwrap_err().code(), ErrorCode::Conflict);
        assert_eq!(store.head().unwrap(), head);
        // A reading of the old state is still a true reading.
        store.commit(&change(Some(s0), s0), &no_objects(), &[]).unwrap();
        assert_eq!(state(store), Some(s1));
        // Back to the old state, it is the old state again.
        store.commit(&change(Some(s1), s0), &no_objects(), &[]).unwrap();
        store.commit(&change(Some(s0), s2), &objects, &[]).unwrap();
        assert_eq!(store.check().unwrap(), []);
    });
}

#[test]
fn a_volume_that_was_only_seen_counts_too() {
    each_store(|store| {
        let mut objects = no_objects();
        let (a, b) = (volume(&mut objects, &[("a", "1")]), volume(&mut objects, &[("b", "1")]));
        let mut both = change(None, a);
        both.volumes.insert("app/cache".to_owned(), VolumeRecord::new(None, b, Changes::default()));
        store.commit(&both, &objects, &[]).unwrap();
        let mut seen = change(Some(a), b);
        seen.volumes.insert("app/cache".to_owned(), VolumeRecord::unchanged(a));
        let error = store.commit(&seen, &objects, &[]).unwrap_err();
        assert!(matches!(error, StoreError::Conflict { ref volume, .. } if volume == "app/cache"), "{error}");
        seen.volumes.insert("app/cache".to_owned(), VolumeRecord::unchanged(b));
        store.commit(&seen, &objects, &[]).unwrap();
        let names: Vec<_> = store.head().unwrap().state.keys().map(ToString::to_string).collect();
        assert_eq!(names, ["app/cache", "state"]);
        assert_eq!(store.check().unwrap(), []);
    });
}

#[test]
fn a_volume_needs_a_name_that_can_be_a_folder() {
    each_store(|store| {
        for name in ["hutch.db", "../x", ""] {
            let mut record = change(None, nothing());
            let volume = record.volumes.remove("state").unwrap();
            record.volumes.insert(name.to_owned(), volume);
            let error = store.commit(&record, &no_objects(), &[]).unwrap_err();
            assert!(matches!(error, StoreError::Record(_)), "{error}");
        }
        assert_eq!(store.head().unwrap().last.sequence, 0);
    });
}

#[test]
fn entries_come_in_order_and_are_one_chain() {
    each_store(|store| {
        for at in 0..7 {
            store.commit(&record(EntryKind::Run, at), &no_objects(), &[]).unwrap();
        }
        let sequences = |from, count| {
            let entries = store.entries(from, count).unwrap();
            entries.iter().map(|entry| entry.sequence).collect::<Vec<_>>()
        };
        assert_eq!(sequences(0, 3), [1, 2, 3]);
        assert_eq!(sequences(6, u64::MAX), [6, 7]);
        assert!(sequences(8, 3).is_empty());
        let all = store.entries(0, u64::MAX).unwrap().into_iter().map(Ok::<_, hutch_model::ledger::ChainError>);
        assert_eq!(verify_chain(all, &[]), Ok(store.head().unwrap().last));
    });
}

#[test]
fn every_earlier_state_is_found_again() {
    each_store(|store| {
        let mut states = vec![State::new()];
        for at in 0..20u64 {
            let mut objects = no_objects();
            let head = store.head().unwrap();
            let mut next = record(EntryKind::Run, at);
            for name in ["a", "b/c"].into_iter().filter(|name| (at + name.len() as u64).is_multiple_of(3)) {
                let after = volume(&mut objects, &[("n", &at.to_string())]);
                let change = VolumeRecord::new(head.state.get(name).copied(), after, Changes::default());
                next.volumes.insert(name.to_owned(), change);
            }
            next.kept = at % 5 != 4;
            store.commit(&next, &objects, &[]).unwrap();
            states.push(store.head().unwrap().state);
        }
        for (sequence, state) in states.iter().enumerate() {
            assert_eq!(store.state_at(sequence as u64).unwrap(), *state, "{sequence}");
            let changed = (1..=sequence).rev().find(|at| states[*at] != states[at - 1]);
            assert_eq!(store.last_change(sequence as u64).unwrap(), changed.map(|at| at as u64), "{sequence}");
        }
        assert_eq!(store.state_at(21).unwrap_err().code(), ErrorCode::NotFound);
        assert_eq!((states[1].len(), states[20].len()), (1, 2));
    });
}

#[test]
fn entries_are_found_by_the_beginning_of_their_hash() {
    each_store(|store| {
        let sealed: Vec<_> =
            (0..40).map(|at| store.commit(&record(EntryKind::Run, at), &no_objects(), &[]).unwrap()).collect();
        for entry in &sealed {
            let hash = entry.hash.to_string();
            for length in [6, 7, 63, 64] {
                let found = store.find(&EntryKey::Prefix(hash[..length].to_owned())).unwrap();
                assert_eq!(found, std::slice::from_ref(entry), "{}", &hash[..length]);
            }
        }
        assert_eq!(store.find(&EntryKey::Prefix(String::new())).unwrap().len(), 2, "at most two are given");
        for nothing in ["not hexadecimal", "0123456789abcdef0123456789"] {
            assert_eq!(store.find(&EntryKey::Prefix(nothing.to_owned())).unwrap(), [], "{nothing}");
        }
    });
}

#[test]
fn a_transaction_that_is_dropped_leaves_nothing_and_lets_others_go_on() {
    each_store(|store| {
        let before = put(store, &[("a", "1")]);
        let (head, stats) = (store.head().unwrap(), store.stats().unwrap());
        let mut objects = no_objects();
        let after = volume(&mut objects, &[("a", "2")]);
        let pending = store.begin(&change(Some(before), after), &objects, &[b"stream"]).unwrap();
        assert_eq!(pending.entry().sequence, head.last.sequence + 1);
        let announced = pending.entry().clone();
        drop(pending);
        let now = store.stats().unwrap();
        assert_eq!(store.head().unwrap(), head);
        assert_eq!((now.entries, now.objects, now.streams), (stats.entries, stats.objects, stats.streams));
        let pending = store.begin(&change(Some(before), after), &objects, &[]).unwrap();
        assert_eq!(pending.commit().unwrap().pin(), announced.pin());
        assert_eq!(state(store), Some(after));
    });
}

#[test]
fn owners_and_intents_are_part_of_where_a_store_stands() {
    each_store(|store| {
        let owner = |origin: Origin, at: &[u8]| Owner { origin, package: Digest::of(Kind::Package, at) };
        let own = |owner| Record { owner: Some(owner), ..record(EntryKind::Run, 1) };
        store.commit(&own(owner(Origin::installed(), b"1")), &no_objects(), &[]).unwrap();
        store.commit(&own(owner(Origin::path("/p"), b"2")), &no_objects(), &[]).unwrap();
        store.commit(&own(owner(Origin::installed(), b"3")), &no_objects(), &[]).unwrap();
        let intent = store.commit(&record(EntryKind::Intent, 1), &no_objects(), &[]).unwrap();
        let head = store.head().unwrap();
        assert_eq!(head.owners.len(), 2);
        assert_eq!(head.owners[&Origin::installed()], Digest::of(Kind::Package, b"3"));
        assert_eq!(head.open.iter().copied().collect::<Vec<_>>(), [intent.sequence]);
        let end = Record { closes: Some(intent.sequence), ..record(EntryKind::Run, 1) };
        store.commit(&end, &no_objects(), &[]).unwrap();
        assert!(store.head().unwrap().open.is_empty());
        let error = store.commit(&end, &no_objects(), &[]).unwrap_err();
        assert!(matches!(error, StoreError::Record(_)), "{error}");
        assert_eq!(store.check().unwrap(), []);
    });
}

/// A ledger that was made elsewhere: by whom, it says itself.
#[allow(clippy::unwrap_used, reason = "a helper of tests is a test")]
fn made_elsewhere() -> (MemoryStore, Vec<Sealed>) {
    let made = MemoryStore::new(SecretKey::new([9; 32]));
    let mut objects = no_objects();
    let [one, two] = ["1", "2"].map(|text| volume(&mut objects, &[("a", text), ("b/c", "x")]));
    let theirs = Owner { origin: Origin::path("/theirs"), package: Digest::of(Kind::Package, b"theirs") };
    made.commit(&Record { owner: Some(theirs), ..change(None, one) }, &objects, &[b"out"]).unwrap();
    made.commit(&change(Some(one), two), &objects, &[]).unwrap();
    let entries = made.entries(1, 9).unwrap();
    (made, entries)
}

#[test]
fn what_was_made_elsewhere_is_taken_as_it_is_and_makes_nobody_an_owner() {
    each_store(|store| {
        let (made, entries) = made_elsewhere();
        let own = |at: &[u8]| Owner { origin: Origin::installed(), package: Digest::of(Kind::Package, at) };
        store.take(&[], &made, &own(b"1")).unwrap();
        assert_eq!(store.head().unwrap(), Default::default());
        store.take(&entries, &made, &own(b"1")).unwrap();
        let (head, theirs) = (store.head().unwrap(), made.head().unwrap());
        assert_eq!((head.last, &head.state, &head.owners), (theirs.last, &theirs.state, &theirs.owners));
        assert_eq!(store.entries(1, 9).unwrap(), entries);
        assert_eq!(text(&*store.objects(), &state(store).unwrap(), "b/c").as_deref(), Some("x"));
        let admitted = |store: &dyn Store| store.head().unwrap().admitted().clone();
        assert_eq!(admitted(store), [(Origin::installed(), own(b"1").package)].into());
        // Who comes to it here is one as ever, and is one in the entries too.
        let here = Owner { origin: Origin::path("/here"), package: Digest::of(Kind::Package, b"here") };
        let record = Record { owner: Some(here.clone()), ..record(EntryKind::Run, 1) };
        store.commit(&record, &no_objects(), &[]).unwrap();
        let expected = [(Origin::installed(), own(b"1").package), (here.origin, here.package)];
        assert_eq!(admitted(store), expected.into());
        let head = store.head().unwrap();
        assert_eq!(head.owners.len(), 2, "the installed one is in no entry");
        assert_eq!(store.check().unwrap(), []);
    });
}

/// What was made here is told from what was taken, for good: also when more is taken behind it.
#[test]
fn each_entry_that_was_made_here_stays_one_whatever_is_taken_later() {
    each_store(|store| {
        let (made, entries) = made_elsewhere();
        let owner = Owner { origin: Origin::installed(), package: Digest::of(Kind::Package, b"1") };
        store.take(&entries, &made, &owner).unwrap();
        store.commit(&record(EntryKind::Run, 1), &no_objects(), &[]).unwrap();
        // Somebody goes on with what was made here.
        let more = MemoryStore::new(SecretKey::new([9; 32]));
        for sealed in store.entries(1, 9).unwrap() {
            more.commit(&sealed.open().unwrap().record, &*store.objects(), &[]).unwrap();
        }
        more.commit(&record(EntryKind::Run, 2), &no_objects(), &[]).unwrap();
        store.take(&more.entries(4, 9).unwrap(), &more, &owner).unwrap();
        store.commit(&record(EntryKind::Run, 3), &no_objects(), &[]).unwrap();
        let head = store.head().unwrap();
        let own: Vec<u64> = (1..9).filter(|sequence| head.is_own(*sequence)).collect();
        assert_eq!((head.last.sequence, own), (5, vec![3, 5]), "{head:?}");
        assert_eq!(store.check().unwrap(), []);
    });
}

#[test]
fn what_comes_to_something_else_is_not_taken() {
    each_store(|store| {
        let (made, mut entries) = made_elsewhere();
        let own = Owner { origin: Origin::installed(), package: Digest::of(Kind::Package, b"1") };
        // An entry in the wrong place, and one whose record leads elsewhere.
        let error = store.take(&entries[1..], &made, &own).unwrap_err();
        assert_eq!(error.code(), ErrorCode::Conflict, "{error}");
        assert_eq!(store.head().unwrap(), Default::default());
        let text = String::from_utf8(entries[0].bytes.to_vec()).unwrap().replace("/theirs", "/mine");
        let hash = Digest::of(Kind::Entry, text.as_bytes());
        entries[0] = Sealed { hash, bytes: text.into_bytes().into(), ..entries[0].clone() };
        let error = store.take(&entries, &made, &own).unwrap_err();
        assert_eq!(error.code(), ErrorCode::StoreDamaged, "{error}");
        assert_eq!(store.head().unwrap(), Default::default());
        assert_eq!(store.check().unwrap(), []);
    });
}

/// Whoever appended something since it was looked whether entries made elsewhere fit is no damage, and comes first.
#[test]
fn what_others_append_before_entries_are_taken_is_a_conflict() {
    each_store(|store| {
        let (made, entries) = made_elsewhere();
        let own = Owner { origin: Origin::installed(), package: Digest::of(Kind::Package, b"1") };
        let first = store.commit(&record(EntryKind::Run, 1), &no_objects(), &[]).unwrap();
        let error = store.take(&entries, &made, &own).unwrap_err();
        assert!(matches!(error, StoreError::Forked { sequence: 1 }), "{error}");
        // Also what follows another entry than the one that is there.
        let error = store.take(&entries[1..], &made, &own).unwrap_err();
        assert!(matches!(error, StoreError::Forked { sequence: 2 }), "{error}");
        assert_eq!((store.head().unwrap().last, store.head().unwrap().admitted), (first.pin(), None));
        assert_eq!((store.stats().unwrap().entries, store.stats().unwrap().objects), (1, 0));
        assert_eq!(store.check().unwrap(), []);
    });
}

//! What every store promises that reclaims what no retained entry needs, asked of each kind of store that does. Which kinds there are, the module
//! `kinds` of the test program says, which this is a part of.

use crate::common::*;
use crate::kinds::each_keeper;
use hutch_model::digest::Kind;
use hutch_model::error_code::ErrorCode;
use hutch_model::instant::Instant;
use hutch_model::ledger::{EntryKind, OutcomeRecord, StreamRecord};
use hutch_model::outcome::{Ending, Measured, Outcome};
use hutch_store::Retention;

fn with_stdout(mut record: hutch_model::ledger::Record, stdout: &[u8]) -> hutch_model::ledger::Record {
    let mut outcome = Outcome::new(Ending::Exited { status: 0 }, "");
    outcome.stdout = stdout.to_vec();
    record.outcome = Some(OutcomeRecord::of(&outcome, &Measured::default()));
    record
}

#[test]
fn collect_keeps_what_it_promises_and_drops_the_rest() {
    each_keeper(|store| {
        let mut states = vec![put(store, &[("n", "0"), ("same", "same")])];
        for at in 1..10u64 {
            let mut objects = no_objects();
            let after = volume(&mut objects, &[("n", &at.to_string()), ("same", "same")]);
            let out = format!("out {at}");
            let mut record = with_stdout(change(states.last().copied(), after), out.as_bytes());
            record.at = Instant::from_unix_ns(at * 10);
            store.commit(&record, &objects, &[out.as_bytes()]).unwrap();
            states.push(after);
        }
        let old = with_stdout(change(states.last().copied(), states[9]), b"out 1");
        store.commit(&old, &no_objects(), &[b"out 1"]).unwrap();

        let nothing_to_do = Retention { keep_last: 100, newer_than: None };
        let gc = || record(EntryKind::Collect, 1000);
        assert_eq!(store.collectable(&nothing_to_do).unwrap().objects, 0);
        // Entries 1 to 11; entry n + 1 led to state n. Keep from entry 9 (at 80) on: states 7, 8, 9.
        let retention = Retention { keep_last: 1, newer_than: Some(Instant::from_unix_ns(75)) };
        let would = store.collectable(&retention).unwrap();
        assert_eq!(store.head().unwrap().retained_from, 1, "nothing is dropped yet");
        let (collected, sealed) = store.collect(&retention, &gc()).unwrap();
        assert_eq!(collected, would);
        let written = sealed.open().unwrap().record.collected.unwrap();
        assert_eq!((written.retained_from, written.objects, written.bytes), (9, collected.objects, collected.bytes));
        assert_eq!(store.head().unwrap().last, sealed.pin());
        assert_eq!(collected.retained_from, 9);
        assert_eq!(store.head().unwrap().retained_from, 9);
        // Seven states of one folder and one chunk each; six streams: "out 1" is named by a later entry.
        assert_eq!(collected.objects, 7 * 2 + 6);
        for (at, state) in states.iter().enumerate() {
            let there = store.objects().get(Kind::Tree, state).is_ok();
            assert_eq!(there, at >= 7, "state {at}");
            if there {
                assert_eq!(text(&*store.objects(), state, "n"), Some(at.to_string()));
                assert_eq!(text(&*store.objects(), state, "same").as_deref(), Some("same"));
            }
        }
        for at in 1..10u64 {
            let kept = store.stream(&StreamRecord::of(format!("out {at}").as_bytes()).digest).unwrap();
            assert_eq!(kept.is_some(), at == 1 || at >= 8, "out {at}");
        }
        assert_eq!(store.entries(0, 100).unwrap().len(), 12, "entries stay, and one says what was dropped");
        assert_eq!(store.check().unwrap(), []);
        // What was dropped can't be gone back to, and a wider rule does not claim otherwise.
        let undo = change(states.last().copied(), states[2]);
        assert_eq!(store.commit(&undo, &*store.objects(), &[]).unwrap_err().code(), ErrorCode::NotFound);
        assert_eq!(store.collect(&nothing_to_do, &gc()).unwrap().0.retained_from, 9);
        let undo = change(states.last().copied(), states[7]);
        store.commit(&undo, &*store.objects(), &[]).unwrap();
        assert_eq!(state(store), Some(states[7]));
    });
}

#[test]
fn a_change_in_a_large_folder_is_a_few_new_objects_and_a_few_that_are_dropped() {
    each_keeper(|store| {
        let names: Vec<String> = (0..1_500).map(|at| format!("note-{at}")).collect();
        let mut files: Vec<(&str, &str)> = names.iter().map(|name| (name.as_str(), "same")).collect();
        put(store, &files);
        let there = store.stats().unwrap().objects;
        files.push(("another", "text"));
        let after = put(store, &files);
        // The folder, the part with the file, and the file.
        assert_eq!(store.stats().unwrap().objects - there, 3);
        // An entry that changes nothing: the one before it is no longer needed, nor what that one saw.
        let settle = || store.commit(&record(EntryKind::Run, 9), &no_objects(), &[]).unwrap();
        settle();
        let retention = Retention { keep_last: 1, newer_than: None };
        let (collected, _) = store.collect(&retention, &record(EntryKind::Collect, 1000)).unwrap();
        assert_eq!(collected.objects, 2);
        assert_eq!(store.check().unwrap(), []);
        let objects = store.objects();
        for (name, content) in &files {
            assert_eq!(text(&*objects, &after, name).as_deref(), Some(*content));
        }
        // So few that they are one object again.
        let few = put(store, &files[..7]);
        assert_eq!(text(&*store.objects(), &few, "note-6").as_deref(), Some("same"));
        settle();
        store.collect(&retention, &record(EntryKind::Collect, 2000)).unwrap();
        assert_eq!(store.stats().unwrap().objects, 2);
        assert_eq!(store.check().unwrap(), []);
    });
}

#[test]
fn collect_keeps_state_and_plans_whatever_the_rule() {
    each_keeper(|store| {
        let s0 = put(store, &[("a", "0")]);
        let mut objects = no_objects();
        let planned = volume(&mut objects, &[("a", "planned")]);
        let mut plan = change(Some(s0), planned);
        (plan.kind, plan.kept) = (EntryKind::Plan, false);
        store.commit(&plan, &no_objects(), &[]).unwrap();
        for _ in 0..5 {
            store.commit(&record(EntryKind::Run, 9), &no_objects(), &[]).unwrap();
        }
        let all_but_one = Retention { keep_last: 0, newer_than: None };
        let (collected, _) = store.collect(&all_but_one, &record(EntryKind::Collect, 9)).unwrap();
        assert_eq!((collected.retained_from, collected.objects), (7, 0));
        // The plan still starts from the state.
        store.commit(&change(Some(s0), planned), &objects, &[]).unwrap();
        assert_eq!(text(&*store.objects(), &planned, "a").as_deref(), Some("planned"));
        assert_eq!(store.check().unwrap(), []);
    });
}

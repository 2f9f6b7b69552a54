//! What a bucket can do to a commit: answers that are lost, late or wrong, others who are there first, conditions that nobody heeds, and objects
//! that are not what was put.

use crate::common::*;
use crate::kinds::{Fault, Memory, store};
use hutch_model::error_code::ErrorCode;
use hutch_model::ledger::{EntryKind, Origin, Owner, verify_chain};
use hutch_model::snapshot::Objects;
use hutch_store::{EntryKey, Retention, Store, StoreError};
use std::sync::Arc;
use std::time::Duration;

const SOON: Duration = Duration::from_secs(2);

/// Of one commit that meets a fault: how it ended, and what is there when everything can be reached again.
fn commit_with(faults: &[Fault], wait: Duration) -> (Result<u64, StoreError>, u64, Option<String>) {
    let memory = Arc::new(Memory::default());
    let one = store(&memory.reached(wait), 1);
    let before = put(&one, &[("a", "1")]);
    let mut objects = no_objects();
    let after = volume(&mut objects, &[("a", "2")]);
    memory.faults.lock().unwrap().extend(faults);
    let ended = one.commit(&change(Some(before), after), &objects, &[b"out"]).map(|sealed| sealed.sequence);
    *memory.is_gone.lock().unwrap() = false;
    memory.faults.lock().unwrap().clear();
    let other = store(&memory.reached(wait), 2);
    // What is late comes now.
    other.commit(&record(EntryKind::Run, 9), &no_objects(), &[]).unwrap();
    assert_eq!(other.check().unwrap(), []);
    let (entries, state) = (other.stats().unwrap().entries - 1, state(&other).unwrap());
    let read = text(&*other.objects(), &state, "a");
    (ended, entries, read)
}

#[test]
fn a_commit_is_what_its_answer_says_whatever_became_of_the_answers() {
    use Fault::{Denied, GoneAfter, GoneBefore, Hindered, Late, LostAfter, LostBefore, None as Well};
    for faults in [
        &[LostBefore][..],
        &[LostAfter],
        &[Late],
        &[Hindered],
        &[Hindered, Hindered, LostAfter],
        &[LostBefore, LostBefore, Well],
        &[LostBefore, LostAfter],
        &[Late, LostBefore],
        &[LostAfter, Denied],
        &[LostBefore, Denied],
    ] {
        let (ended, entries, read) = commit_with(faults, SOON);
        assert_eq!((ended.unwrap(), entries, read.as_deref()), (2, 2, Some("2")), "{faults:?}");
    }
    // Refused at once, nothing is there.
    let (ended, entries, read) = commit_with(&[Denied], SOON);
    assert_eq!((ended.unwrap_err().code(), entries, read.as_deref()), (ErrorCode::PermissionDenied, 1, Some("1")));
    // Nobody can be asked any more: it says so, and both can be.
    for (fault, expected) in [(GoneAfter, "2"), (GoneBefore, "1")] {
        let (ended, _, read) = commit_with(&[fault], Duration::ZERO);
        let error = ended.unwrap_err();
        assert_eq!((error.code(), read.as_deref()), (ErrorCode::CommitUncertain, Some(expected)), "{fault:?}: {error}");
    }
    // Every put was refused, so nothing is there, and that is known.
    let (ended, entries, _) = commit_with(&[Hindered; 3], Duration::ZERO);
    assert_eq!((ended.unwrap_err().code(), entries), (ErrorCode::InstanceBusy, 1));
}

/// Two who say the same at the same instant are two.
#[test]
fn of_equal_records_each_is_an_entry() {
    let memory = Arc::new(Memory::default());
    let [one, two] = [1, 2].map(|fresh| store(&memory.reached(SOON), fresh));
    put(&one, &[("a", "1")]);
    let same = record(EntryKind::Run, 5);
    let [first, second] = [&one, &two].map(|store| store.begin(&same, &no_objects(), &[]).unwrap());
    assert_eq!(first.entry(), second.entry());
    assert_eq!(first.commit().unwrap().sequence, 2);
    assert_eq!(second.commit().unwrap_err().code(), ErrorCode::InstanceBusy, "one entry was said to be two");
    assert_eq!(two.commit(&same, &no_objects(), &[]).unwrap().sequence, 3);
    let all = one.entries(1, 9).unwrap().into_iter().map(Ok::<_, hutch_model::ledger::ChainError>);
    assert_eq!(verify_chain(all, &[]), Ok(two.head().unwrap().last));
}

#[test]
fn who_comes_second_is_a_conflict_or_goes_behind_the_first() {
    let memory = Arc::new(Memory::default());
    let [one, two] = [1, 2].map(|fresh| store(&memory.reached(SOON), fresh));
    let before = put(&one, &[("a", "1")]);
    assert_eq!(state(&two), Some(before));
    let mut objects = no_objects();
    let [second, third] = ["2", "3"].map(|text| volume(&mut objects, &[("a", text)]));
    one.commit(&change(Some(before), second), &objects, &[]).unwrap();
    let error = two.commit(&change(Some(before), third), &objects, &[]).unwrap_err();
    assert_eq!(error.code(), ErrorCode::Conflict);
    assert_eq!(two.commit(&change(Some(second), third), &objects, &[]).unwrap().sequence, 3);
    // A transaction that is begun holds nobody up, and is refused if somebody was there first.
    let begun = one.begin(&change(Some(third), second), &objects, &[]).unwrap();
    two.commit(&record(EntryKind::Run, 5), &no_objects(), &[]).unwrap();
    assert_eq!(begun.commit().unwrap_err().code(), ErrorCode::InstanceBusy);
    assert_eq!((one.head().unwrap().last.sequence, state(&one)), (4, Some(third)));
}

#[test]
fn a_bucket_that_heeds_no_condition_is_refused_before_anything_is_in_it() {
    let memory = Arc::new(Memory { is_careless: true, ..Memory::default() });
    let bucket = memory.reached(SOON);
    let error = bucket.prove([1; 16]).unwrap_err();
    assert!(matches!(error, StoreError::Refused { .. }) && error.to_string().contains("If-None-Match"), "{error}");
    let mut objects = no_objects();
    let after = volume(&mut objects, &[("a", "1")]);
    let error = store(&bucket, 1).commit(&change(None, after), &objects, &[]).unwrap_err();
    assert_eq!(error.code(), ErrorCode::PermissionDenied, "{error}");
    assert!(memory.objects.lock().unwrap().is_empty());
    Arc::new(Memory::default()).reached(SOON).prove([1; 16]).unwrap();
}

/// The copy of the last entry says where to begin, and is believed nothing.
#[test]
fn the_last_entry_is_found_wherever_the_search_begins() {
    let memory = Arc::new(Memory::default());
    let one = store(&memory.reached(SOON), 1);
    let mut heads = Vec::new();
    for at in 0..40 {
        one.commit(&record(EntryKind::Run, at), &no_objects(), &[]).unwrap();
        heads.push(memory.objects.lock().unwrap()["data/todo/default/head"].clone());
    }
    let last = one.head().unwrap();
    assert_eq!(last.last.sequence, 40);
    let begin = |head: Option<&[u8]>| {
        let mut objects = memory.objects.lock().unwrap();
        objects.remove("data/todo/default/head");
        head.map(|head| objects.insert("data/todo/default/head".to_owned(), head.to_vec()));
        drop(objects);
        memory.asked.lock().unwrap().clear();
        let found = store(&memory.reached(SOON), 2).head().unwrap();
        (found == last, memory.asked.lock().unwrap().len())
    };
    assert_eq!(begin(heads.last().map(Vec::as_slice)), (true, 2), "two are asked for if it is the last one");
    for head in &heads {
        assert!(begin(Some(head)).0);
    }
    for head in [None, Some(&b""[..]), Some(b"{}\n"), Some(b"nonsense")] {
        let (is_found, asked) = begin(head);
        assert!(is_found && asked < 15, "{asked} asked for");
    }
}

/// What a writer left that was killed is taken for nothing: a folder that is there without what it names.
#[test]
fn what_is_left_of_a_killed_writer_is_not_taken_for_whole() {
    let memory = Arc::new(Memory::default());
    let one = store(&memory.reached(SOON), 1);
    let before = put(&one, &[("a", "1")]);
    let mut objects = no_objects();
    let after = volume(&mut objects, &[("d/e", "deep"), ("f", "2")]);
    for half in [after, objects_folder(&objects, after, "d")] {
        let bytes = objects.get(hutch_model::digest::Kind::Tree, &half).unwrap();
        memory.objects.lock().unwrap().insert(format!("data/todo/default/o/tree/{half}"), bytes.to_vec());
    }
    one.commit(&change(Some(before), after), &objects, &[]).unwrap();
    assert_eq!(one.check().unwrap(), []);
    assert_eq!(text(&*one.objects(), &after, "d/e").as_deref(), Some("deep"));
}

fn objects_folder(objects: &dyn Objects, tree: hutch_model::digest::Digest, name: &str) -> hutch_model::digest::Digest {
    match hutch_model::snapshot::read_tree(objects, &tree).unwrap().get(name).unwrap().node {
        hutch_model::snapshot::Node::Folder { tree, .. } => tree,
        _ => unreachable!(),
    }
}

#[test]
fn of_a_long_file_that_changed_a_little_little_is_put() {
    let memory = Arc::new(Memory::default());
    let one = store(&memory.reached(SOON), 1);
    let chunk = usize::try_from(hutch_model::snapshot::CHUNK_BYTES).unwrap();
    let mut long = String::new();
    for at in 0..100 {
        long.push_str(&format!("{at:08}").repeat(chunk / 8));
    }
    let mut objects = no_objects();
    let before = volume(&mut objects, &[("long", &long)]);
    one.commit(&change(None, before), &objects, &[]).unwrap();
    memory.asked.lock().unwrap().clear();
    let after = volume(&mut objects, &[("long", &(long + "x"))]);
    one.commit(&change(Some(before), after), &objects, &[]).unwrap();
    let asked = memory.asked.lock().unwrap();
    let puts: Vec<_> = asked.iter().filter(|asked| asked.starts_with("put ")).collect();
    // The new chunk, the list, the folder, where to look for the entry, and the head.
    assert_eq!(puts.len(), 5, "{puts:?}");
    drop(asked);
    assert_eq!(one.check().unwrap(), []);
}

/// There are servers that keep what came of an upload before its connection ended, and list it: no entry is put that names such a thing.
#[test]
fn what_was_cut_off_as_it_was_put_is_put_again_and_nothing_else_is() {
    let chunk = usize::try_from(hutch_model::snapshot::CHUNK_BYTES).unwrap();
    let long: String = (0..100).map(|at| format!("{at:08}").repeat(chunk / 8)).collect();
    let names: Vec<String> = (0..100).map(|at| format!("{at:03}")).collect();
    let many: Vec<(&str, &str)> = names.iter().map(|name| (name.as_str(), name.as_str())).collect();
    let long = long + "end";
    let kinds = [(vec![("long", &*long)], 101), (many, 100)];
    for (passes, (files, chunks)) in
        [0, 1, 2, 7].into_iter().flat_map(|passes| kinds.iter().map(move |kind| (passes, kind)))
    {
        let memory = Arc::new(Memory::default());
        let one = store(&memory.reached(SOON), 1);
        let before = put(&one, &[("a", "1")]);
        let mut objects = no_objects();
        let after = volume(&mut objects, files);
        *memory.cut_within.lock().unwrap() = Some(passes);
        let error = one.commit(&change(Some(before), after), &objects, &[b"out"]).unwrap_err();
        assert_eq!((error.code(), state(&one)), (ErrorCode::HostFault, Some(before)), "{error}");
        let listed = memory.objects.lock().unwrap().keys().filter(|key| key.contains("/chunk/")).count();
        assert!(listed > 100, "nothing was kept of what was cut off");
        // Whoever comes next finds all of it listed.
        let other = store(&memory.reached(SOON), 2);
        other.commit(&change(Some(before), after), &objects, &[b"out"]).unwrap();
        assert_eq!(other.check().unwrap(), [], "{passes}");
        assert_eq!(
            other
                .stream(&hutch_model::digest::Digest::of(hutch_model::digest::Kind::Stream, b"out"))
                .unwrap()
                .as_deref(),
            Some(&b"out"[..])
        );
        // What is there by now is whole, and known for that at no more cost than before.
        memory.asked.lock().unwrap().clear();
        other.commit(&change(Some(after), before), &no_objects(), &[]).unwrap();
        other.commit(&change(Some(before), after), &objects, &[]).unwrap();
        let asked = memory.asked.lock().unwrap();
        let of = |what: &str| asked.iter().filter(|asked| asked.starts_with(what) && asked.contains("/chunk/")).count();
        // Few are put again without being asked for: the one chunk of the state before.
        assert_eq!((of("head "), of("put "), of("get ")), (*chunks, 1, 1), "{asked:?}");
    }
}

/// Each journey is long: what is known is not asked for again.
#[test]
fn a_commit_asks_for_little() {
    let memory = Arc::new(Memory::default());
    let before = put(&store(&memory.reached(SOON), 1), &[("a", "1"), ("b", "2")]);
    let one = store(&memory.reached(SOON), 2);
    assert_eq!(text(&*one.objects(), &state(&one).unwrap(), "a").as_deref(), Some("1"));
    let mut objects = no_objects();
    let after = volume(&mut objects, &[("a", "1"), ("b", "3")]);
    memory.asked.lock().unwrap().clear();
    one.commit(&change(Some(before), after), &objects, &[b"out"]).unwrap();
    let asked: Vec<String> = memory.asked.lock().unwrap().clone();
    let expected =
        ["put data/todo/default/o/chunk/", "put data/todo/default/o/stream/", "put data/todo/default/o/tree/"]
            .into_iter()
            .chain(["put data/todo/default/h/", "new data/todo/default/e/", "put data/todo/default/head"]);
    assert_eq!(asked.len(), 6, "{asked:?}");
    for (asked, expected) in asked.iter().zip(expected) {
        assert!(asked.starts_with(expected), "{asked} instead of {expected}");
    }
}

#[test]
fn nothing_is_collected_and_that_is_said() {
    let memory = Arc::new(Memory::default());
    let one = store(&memory.reached(SOON), 1);
    put(&one, &[("a", "1")]);
    let before = memory.objects.lock().unwrap().clone();
    let keep = Retention { keep_last: 1, newer_than: None };
    assert_eq!(one.collect(&keep, &record(EntryKind::Collect, 9)).unwrap_err().code(), ErrorCode::PermissionDenied);
    assert_eq!(one.collectable(&keep).unwrap_err().code(), ErrorCode::PermissionDenied);
    assert_eq!(*memory.objects.lock().unwrap(), before);
}

/// Whatever is changed, taken away or put elsewhere is found; nothing that is not what was written is believed.
#[test]
fn damage_is_found() {
    let memory = Arc::new(Memory::default());
    let one = store(&memory.reached(SOON), 1);
    put(&one, &[("a", "1"), ("d/b", "2")]);
    put(&one, &[("a", "2"), ("d/b", "2")]);
    one.commit(&record(EntryKind::Run, 3), &no_objects(), &[b"out"]).unwrap();
    put(&one, &[("a", "3"), ("d/b", "3")]);
    // Whom no entry names, and who may use the instance all the same.
    let elsewhere = hutch_store::MemoryStore::over(Arc::new(one.clone()));
    elsewhere.commit(&record(EntryKind::Run, 4), &no_objects(), &[]).unwrap();
    let owner = Owner { origin: Origin::path("/here"), package: nothing() };
    one.take(&elsewhere.entries(5, 1).unwrap(), &elsewhere, &owner).unwrap();
    assert!(one.head().unwrap().admitted.is_some());
    let whole = memory.objects.lock().unwrap().clone();
    let look = || store(&memory.reached(SOON), 2);
    assert_eq!(look().check().unwrap(), []);
    let is_found = |what: &str| match look().check() {
        Ok(damages) => assert!(!damages.is_empty(), "{what}: not found"),
        Err(error) => assert_eq!(error.code(), ErrorCode::StoreDamaged, "{what}: {error}"),
    };
    let mut tried = 0;
    for (key, bytes) in &whole {
        // A head, or a hint, that is gone or wrong is no damage: they are looked past.
        let is_hint = key.ends_with("/head") || key.contains("/h/");
        if is_hint {
            continue;
        }
        memory.objects.lock().unwrap().remove(key);
        // A stream may be missing: it is kept for convenience.
        if !key.contains("/stream/") {
            is_found(&format!("{key} removed"));
        }
        for at in (0..bytes.len()).step_by(7) {
            let mut other = bytes.clone();
            other[at] ^= 1;
            memory.objects.lock().unwrap().insert(key.clone(), other.clone());
            let is_own = key.contains("/e/") && whole[key] != other && says_who(bytes, at);
            // The writer's mark, and the key, are what they are.
            if !is_own && !key.starts_with("instances/") {
                is_found(&format!("{key} at {at}"));
                tried += 1;
            }
        }
        *memory.objects.lock().unwrap() = whole.clone();
    }
    assert!(tried > 200, "{tried}");
    assert_eq!(look().check().unwrap(), []);
    assert_eq!(look().find(&EntryKey::Sequence(2)).unwrap().len(), 1);
}

/// Whether this byte is in the text that says whose entry it is.
fn says_who(frame: &[u8], at: usize) -> bool {
    let text = String::from_utf8_lossy(frame);
    let begins = text.find("\"writer\":\"").unwrap() + 10;
    (begins..begins + 32).contains(&at)
}

#[test]
fn a_newer_form_is_not_guessed_at() {
    let memory = Arc::new(Memory::default());
    put(&store(&memory.reached(SOON), 1), &[("a", "1")]);
    let newer = |key: &str| {
        let mut objects = memory.objects.lock().unwrap();
        let text = String::from_utf8(objects[key].clone()).unwrap().replace("\"format\":1", "\"format\":2");
        objects.insert(key.to_owned(), text.into_bytes());
    };
    newer("data/todo/default/e/00000000000000000001");
    // The copy of it is what is left.
    memory.objects.lock().unwrap().remove("data/todo/default/head");
    assert_eq!(store(&memory.reached(SOON), 2).head().unwrap_err().code(), ErrorCode::StoreTooNew);
    newer("instances/todo/default");
    assert_eq!(store(&memory.reached(SOON), 2).is_there().unwrap_err().code(), ErrorCode::StoreTooNew);
}

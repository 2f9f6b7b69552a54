//! Entries are one chain, and what was changed is found.

use super::*;
use crate::error_code::ErrorCode;
use crate::instant::Instant;
use crate::invocation::{Access, Invocation, InvocationParts};
use crate::outcome::{Ending, Measured, Outcome};
use crate::snapshot::{Change, Changes, PathChange, empty_tree};
use proptest::prelude::*;
use std::collections::{BTreeMap, BTreeSet};

fn record(note: &str) -> Record {
    let mut parts = InvocationParts { argv: vec!["todo".to_owned(), note.to_owned()], ..Default::default() };
    parts.environment.insert("LANG".to_owned(), "C".to_owned());
    parts.environment.insert("TOKEN".to_owned(), "hunter2".to_owned());
    parts.preopens.insert("state".to_owned(), Access::ReadWrite);
    let invocation = Invocation::new(parts).unwrap();
    let outcome = Outcome {
        stdout: b"{}".to_vec(),
        fuel: u64::MAX,
        memory_peak_bytes: 65_536,
        ..Outcome::new(Ending::Exited { status: 0 }, "wasmtime 48.0.8")
    };
    let secrets = BTreeSet::from(["TOKEN".to_owned()]);
    let package = PackageRecord { slug: "todo".to_owned(), ..PackageRecord::default() };
    let mut record = Record::new(EntryKind::Run, Instant::from_unix_ns(1_000_000_007), "default", package);
    record.invocation = Some(InvocationRecord::of(&invocation, &secrets, &SecretKey::new([7; 32])).0);
    record.outcome = Some(OutcomeRecord::of(&outcome, &Measured { wall_time_us: 600, ..Measured::default() }));
    let change = PathChange { path: "todos.json".to_owned(), change: Change::Added };
    let after = Digest::of(Kind::Tree, note.as_bytes());
    let changes = Changes { listed: vec![change], omitted: 0 };
    record.volumes = BTreeMap::from([("state".to_owned(), VolumeRecord::new(Some(empty_tree()), after, changes))]);
    record.kept = true;
    record
}

/// An entry of which only the place in the chain matters.
fn entry(sequence: u64, previous: Digest, record: Record) -> Entry {
    let standing = Standing::default();
    Entry { sequence, previous, state: standing.state(), standing: standing.standing(), record }
}

fn chain(length: u64) -> Vec<Sealed> {
    let mut previous = origin();
    let seal = |sequence| {
        let sealed = entry(sequence, previous, record(&sequence.to_string())).seal().unwrap();
        previous = sealed.hash;
        sealed
    };
    (1..=length).map(seal).collect()
}

fn check(entries: &[Sealed], pins: &[Pin]) -> Result<Pin, ChainError> {
    verify_chain(entries.iter().cloned().map(Ok), pins)
}

#[test]
fn the_written_form_is_golden() {
    let entry = entry(1, origin(), record("add"));
    let expect = concat!(
        r#"{"at":"1970-01-01T00:00:01.000000007Z","instance":"default","#,
        r#""invocation":{"argv":["todo","add"],"clock_start":"1970-01-01T00:00:00Z","confirmed":false,"contract":"json","#,
        r#""environment":{"LANG":{"value":"C"},"TOKEN":{"secret":"$SECRET"}},"limits":$LIMITS,"mounts":{},"#,
        r#""preopens":{"state":"read_write"},"#,
        r#""seed":"0000000000000000000000000000000000000000000000000000000000000000","stdin":{"digest":"$EMPTY","size":0}},"#,
        r#""kept":true,"kind":"run","#,
        r#""outcome":{"ending":"exited","fuel":18446744073709551615,"fuel_exact":true,"memory_peak_bytes":65536,"#,
        r#""profile":"wasmtime 48.0.8","status":0,"stderr":{"digest":"$EMPTY","size":0},"#,
        r#""stdout":{"digest":"$STDOUT","size":2},"wall_time_us":600},"package":{"slug":"todo"},"previous":"$ORIGIN","#,
        r#""sequence":1,"standing":"$STANDING","state":"$STATE","volumes":{"state":{"after":"$AFTER","before":"$BEFORE","#,
        r#""changes":[{"change":"added","path":"todos.json"}],"changes_omitted":0}}}"#,
    );
    let limits =
        String::from_utf8(canonical(&serde_json::to_value(crate::limits::Limits::default()).unwrap()).unwrap());
    let expect = expect
        .replace("$SECRET", &SecretKey::new([7; 32]).hash("TOKEN", "hunter2").to_string())
        .replace("$LIMITS", &limits.unwrap())
        .replace("$EMPTY", &Digest::of(Kind::Stream, b"").to_string())
        .replace("$STDOUT", &Digest::of(Kind::Stream, b"{}").to_string())
        .replace("$ORIGIN", &origin().to_string())
        .replace("$STANDING", &Standing::default().standing().to_string())
        .replace("$STATE", &Standing::default().state().to_string())
        .replace("$AFTER", &Digest::of(Kind::Tree, b"add").to_string())
        .replace("$BEFORE", &empty_tree().to_string());
    let sealed = entry.seal().unwrap();
    assert_eq!(std::str::from_utf8(&sealed.bytes), Ok(expect.as_str()));
    assert_eq!(sealed.open(), Ok(entry));
}

#[test]
fn no_secret_is_written() {
    let sealed = entry(1, origin(), record("add")).seal().unwrap();
    assert!(!String::from_utf8_lossy(&sealed.bytes).contains("hunter2"));
    let key = SecretKey::new([7; 32]);
    assert_eq!(key.hash("TOKEN", "hunter2"), key.hash("TOKEN", "hunter2"));
    let seal = key.seal(&[b"TOKEN", b"hunter2"]);
    assert!(seal != key.hash("TOKEN", "hunter2") && seal != key.seal(&[b"TOKENh", b"unter2"]));
    assert_ne!(seal, SecretKey::new([8; 32]).seal(&[b"TOKEN", b"hunter2"]));
    assert_ne!(key.hash("TOKEN", "hunter2"), SecretKey::new([8; 32]).hash("TOKEN", "hunter2"));
    assert_ne!(key.hash("AB", "C"), key.hash("A", "BC"));
}

#[test]
fn every_form_of_a_record_reads_back() {
    let bare = Record::new(EntryKind::Undo, Instant::default(), "default", PackageRecord::default());
    let mut refused = record("x");
    (refused.outcome, refused.error, refused.kept) = (None, Some(ErrorCode::ConfirmationRequired), false);
    let mut trapped = record("x");
    let outcome = trapped.outcome.as_mut().unwrap();
    outcome.ending = Ending::Limited { limit: crate::limits::Limit::Memory };
    outcome.unreproducible.push(crate::outcome::Unreproducible::Mount);
    trapped.follows = Some(origin());
    for record in [bare, refused, trapped] {
        let entry = entry(9, origin(), record);
        assert_eq!(entry.seal().unwrap().open(), Ok(entry));
    }
}

/// Everything that a guest, a package or a caller can make long, as long as it gets.
#[test]
fn an_entry_is_bounded_whatever_goes_into_it() {
    let mut parts = InvocationParts { argv: vec!["\u{1}".repeat(200_000)], ..Default::default() };
    parts.environment.insert("A".to_owned(), "\u{1}".repeat(20_000));
    parts.limits.set(crate::limits::Limit::Arguments, u64::MAX);
    let invocation = Invocation::new(parts).unwrap();
    let (written, apart) = InvocationRecord::of(&invocation, &BTreeSet::new(), &SecretKey::new([7; 32]));
    let apart = apart.expect("long inputs are kept apart");
    assert_eq!(written.inputs, Some(StreamRecord::of(&apart)));
    let inputs = Inputs::read(&apart).unwrap();
    assert_eq!((inputs.argv.as_slice(), inputs.environment.len()), (invocation.argv(), 1));
    assert!(written.argv.is_empty() && written.environment.is_empty());

    let mut long = record("x");
    assert!(long.streams().all(|digest| digest != StreamRecord::of(&apart).digest));
    long.invocation = Some(written);
    assert!(long.streams().any(|digest| digest == StreamRecord::of(&apart).digest));
    let mut objects = crate::snapshot::MemoryObjects::default();
    let file = |at| crate::snapshot::Entry {
        name: crate::snapshot::Name::new(&format!("{}{at}", "\u{1}".repeat(249))).unwrap(),
        modified_ns: 0,
        node: crate::snapshot::Node::Link { target: "x".into() },
    };
    let tree = crate::snapshot::Tree::new((0..99_999).map(file).collect()).unwrap();
    let crate::snapshot::Node::Folder { tree, .. } = objects.insert_tree(&tree) else { unreachable!() };
    let changes = crate::snapshot::diff(&objects, &empty_tree(), &tree).unwrap();
    assert_eq!(changes.count(), 99_999);
    long.volumes.insert("state".to_owned(), VolumeRecord::new(Some(empty_tree()), tree, changes));
    let bytes = entry(u64::MAX, origin(), long).seal().unwrap().bytes.len();
    assert!(bytes < ENTRY_BYTES_MAX / 2, "{bytes}");
}

/// What one volume or folder may list, each of several may: together they must fit too.
#[test]
fn an_entry_is_bounded_however_many_volumes_and_folders_change() {
    let lines = |count: usize, name_bytes: usize| {
        let path = |at: usize| format!("{at:0name_bytes$}");
        let change = |at| PathChange { path: path(at), change: Change::Modified };
        Changes { listed: (0..count).map(change).collect(), omitted: 5 }
    };
    for (volumes, folders, count, name_bytes) in
        [(3, 0, 1000, 63), (16, 8, 1000, 64), (1, 2, 1000, 4), (0, 64, 300, 200)]
    {
        let mut wide = record("x");
        wide.volumes.clear();
        for at in 0..volumes {
            let after = Digest::of(Kind::Tree, format!("{at}").as_bytes());
            wide.volumes.insert(format!("v{at}"), VolumeRecord::new(None, after, lines(count, name_bytes)));
        }
        for at in 0..folders {
            let Changes { listed: changes, omitted: changes_omitted } = lines(count, name_bytes);
            wide.folders.insert(format!("f{at}"), FolderRecord { changes, changes_omitted, ..FolderRecord::default() });
        }
        wide.volumes.insert("small".to_owned(), VolumeRecord::new(None, empty_tree(), lines(2, 9)));
        let first = Chain::default().head();
        let (entry, _) = Entry::after(first, &Standing::default(), wide.clone()).unwrap();
        assert!(entry.seal().unwrap().bytes.len() < ENTRY_BYTES_MAX);
        let fitted = &entry.record;
        let counted = fitted.volumes.values().map(|volume| (&volume.changes, volume.changes_omitted));
        let counted = counted.chain(fitted.folders.values().map(|folder| (&folder.changes, folder.changes_omitted)));
        let (mut listed, mut written) = (0, 0);
        for (changes, omitted) in counted {
            assert!(
                changes.len() as u64 + omitted == count as u64 + 5 || changes.len() == 2,
                "{} {omitted}",
                changes.len()
            );
            assert!(!changes.is_empty());
            listed += changes.len();
            written += serde_json::to_vec(changes).unwrap().len();
        }
        assert!(written <= CHANGES_WRITTEN_MAX + 2 * (volumes + folders + 1) && listed >= 400, "{written} {listed}");
        assert_eq!(fitted.volumes["small"], wide.volumes["small"]);
    }
    // What fits is left alone.
    let alone = Record {
        volumes: BTreeMap::from([("v".to_owned(), VolumeRecord::new(None, empty_tree(), lines(1000, 60)))]),
        ..record("x")
    };
    let (entry, _) = Entry::after(Chain::default().head(), &Standing::default(), alone.clone()).unwrap();
    assert_eq!(entry.record, alone);
}

/// A record with these many paths in each of its volumes and folders, whose own names and those of the paths have so many bytes.
fn wide(lists: &[(usize, usize)], name_bytes: usize, omitted: u64) -> Record {
    let mut wide = record("x");
    wide.volumes.clear();
    for (at, (count, path_bytes)) in lists.iter().enumerate() {
        let change = |at| PathChange { path: format!("{at:0path_bytes$}"), change: Change::Added };
        let (name, changes) = (format!("{at:0name_bytes$}"), (0..*count).map(change).collect());
        match at % 3 {
            2 => {
                let folder = FolderRecord { changes, changes_omitted: omitted, ..FolderRecord::default() };
                drop(wide.folders.insert(name, folder));
            }
            _ => {
                let changes = Changes { listed: changes, omitted };
                drop(wide.volumes.insert(name, VolumeRecord::new(Some(empty_tree()), origin(), changes)));
            }
        }
    }
    wide.kept = false;
    wide
}

/// The entry that a record makes when it is the first one.
fn first(record: Record) -> Entry {
    Entry::after(Chain::default().head(), &Standing::default(), record).unwrap().0
}

/// Two folders of new files, of which cutting changes which list is the shorter one.
#[test]
fn what_was_cut_once_is_not_cut_again() {
    let cut = first(wide(&[(273, 240), (272, 239)], 1, 0));
    let counts = cut.record.volumes.values().map(|volume| (volume.changes.len(), volume.changes_omitted));
    assert!(counts.clone().all(|(listed, omitted)| listed > 200 && omitted > 0), "{:?}", counts.collect::<Vec<_>>());
    assert_eq!(first(cut.record.clone()), cut);
    // What a version wrote that shared the room in the order of the lists' lengths: not a byte of it becomes another one.
    let mut of_old = wide(&[(244, 240), (244, 239)], 1, 28);
    of_old.volumes.values_mut().take(1).for_each(|volume| volume.changes_omitted = 29);
    let written = entry(1, origin(), of_old.clone()).seal().unwrap();
    assert_eq!(first(written.open().unwrap().record).record, of_old);
}

/// A manifest may give volumes names that take half of an entry, and each stands in it twice.
#[test]
fn what_is_listed_leaves_room_for_what_is_not() {
    let mut long = wide(&[(350, 200); 128], 490, u64::MAX);
    let preopens = long.volumes.keys().map(|name| (name.clone(), Access::ReadWrite)).collect();
    long.invocation.as_mut().unwrap().preopens = preopens;
    let entry = first(long);
    let bytes = entry.seal().unwrap().bytes.len();
    assert!(bytes <= ENTRY_BYTES_MAX && bytes > ENTRY_BYTES_MAX - (32 << 10), "{bytes}");
    assert_eq!(bytes, entry.written_bytes());
    assert_eq!(first(entry.record.clone()), entry);
    // Nothing is left for the lists: they are counted.
    let full = wide(&[(3, 9); 500], 500, 0);
    let full = first(full).record;
    assert!(full.volumes.values().all(|volume| volume.changes.is_empty() && volume.changes_omitted == 3));
}

proptest! {
    #[test]
    fn an_entry_is_cut_once(
        lists in prop::collection::vec((0usize..1000, 1usize..255), 0..6),
        (name_bytes, many) in (1usize..500, prop::sample::select(vec![1usize, 1, 1, 40, 200])),
        omitted in prop::sample::select(vec![0, 9, u64::MAX - 1]),
    ) {
        let lists: Vec<_> = lists.iter().map(|(count, bytes)| (count / many, *bytes)).collect();
        let lists = lists.repeat(many);
        let entry = first(wide(&lists, name_bytes, omitted));
        prop_assert_eq!(&first(entry.record.clone()), &entry);
        if let Ok(sealed) = entry.seal() {
            prop_assert_eq!(sealed.bytes.len(), entry.written_bytes());
        } else {
            // By names alone, and then nothing is listed.
            prop_assert!(entry.written_bytes() > ENTRY_BYTES_MAX);
            prop_assert!(entry.record.volumes.values().all(|volume| volume.changes.is_empty()));
        }
    }
}

#[test]
fn an_entry_that_would_be_too_long_is_not_written() {
    let mut long = record("x");
    long.instance = "x".repeat(ENTRY_BYTES_MAX);
    assert!(entry(1, origin(), long).seal().is_err());
}

#[test]
fn a_ledger_leads_to_its_standing_and_nothing_follows_from_another_state() {
    let tree = |name: &str| Digest::of(Kind::Tree, name.as_bytes());
    let package = |origin: Origin| Some(Owner { origin, package: tree("package") });
    let change = |before: Option<Digest>, after: Digest| {
        let mut record = Record::new(EntryKind::Run, Instant::default(), "default", PackageRecord::default());
        record.volumes.insert("state".to_owned(), VolumeRecord::new(before, after, Changes::default()));
        record.kept = true;
        record
    };
    let mut standing = Standing::default();
    let empty = (standing.state(), standing.standing());
    let create = Record { owner: package(Origin::installed()), ..change(None, tree("0")) };
    standing.take(1, &create).unwrap();
    assert_eq!(standing.volumes["state"], tree("0"));
    assert_ne!((standing.state(), standing.standing()), empty);
    let named = (standing.state(), standing.standing());

    let readings = [Record { kept: false, ..change(Some(tree("9")), tree("8")) }, change(Some(tree("7")), tree("7"))];
    for (at, reading) in readings.iter().enumerate() {
        assert!(reading.is_reading());
        standing.take(2 + at as u64, reading).unwrap();
    }
    assert_eq!((standing.state(), standing.standing()), named);
    let wrong = standing.take(4, &change(Some(tree("9")), tree("1")));
    let (volume, expected, found) = ("state".to_owned(), Some(tree("9")), Some(tree("0")));
    assert_eq!(wrong, Err(Contradiction::Volume { volume, expected, found }));
    assert_eq!((standing.state(), standing.standing()), named);

    let intent =
        Record { kind: EntryKind::Intent, ..Record::new(EntryKind::Run, Instant::default(), "", Default::default()) };
    standing.take(4, &intent).unwrap();
    assert_eq!((standing.state() == named.0, standing.standing() == named.1), (true, false));
    let close = Record { closes: Some(4), ..change(Some(tree("0")), tree("1")) };
    standing.take(5, &close).unwrap();
    assert_eq!((standing.state() == named.0, standing.standing() == named.1), (false, true));
    assert_eq!(
        standing.take(6, &Record { closes: Some(4), ..change(Some(tree("1")), tree("2")) }),
        Err(Contradiction::Intent { sequence: 4 })
    );
    assert_eq!(standing.volumes["state"], tree("1"));
    let adopted = Record { owner: package(Origin::path("/p")), ..change(Some(tree("1")), tree("1")) };
    assert!(!adopted.is_reading());
    standing.take(6, &adopted).unwrap();
    assert_eq!((standing.owners.len(), standing.standing() == named.1), (2, false));
}

#[test]
fn fields_and_words_of_versions_to_come_keep_their_hash() {
    let sealed = &chain(1)[0];
    let text = String::from_utf8(sealed.bytes.to_vec()).unwrap();
    let reseal = |text: String| Sealed {
        sequence: 1,
        hash: Digest::of(Kind::Entry, text.as_bytes()),
        bytes: text.into_bytes().into(),
    };
    let more = reseal(text.replacen("{\"at\"", "{\"a_new_field\":[1],\"at\"", 1));
    assert_eq!(check(std::slice::from_ref(&more), &[]), Ok(more.pin()));
    assert_eq!(more.open(), sealed.open());
    let other = reseal(text.replace("\"kind\":\"run\"", "\"kind\":\"dream\""));
    assert_eq!(check(std::slice::from_ref(&other), &[]), Ok(other.pin()));
    assert!(matches!(other.open(), Err(EntryError::Unknown { sequence: 1, .. })), "{:?}", other.open());
}

#[test]
fn an_empty_chain_is_whole_and_has_no_head() {
    assert_eq!(check(&[], &[]), Ok(Chain::default().head()));
    let cut = check(&[], &[Pin { sequence: 3, hash: origin() }]);
    assert_eq!(cut, Err(ChainError::Cut { sequence: 1 }));
}

#[test]
fn what_is_removed_moved_cut_or_replaced_is_named() {
    let whole = chain(6);
    let head = whole[5].pin();
    assert_eq!(check(&whole, &[head, whole[2].pin()]), Ok(head));
    for at in 0..6 {
        let mut removed = whole.clone();
        removed.remove(at);
        let sequence = at as u64 + 1;
        let expect = match at {
            5 => ChainError::Cut { sequence },
            _ => ChainError::Removed { sequence, found: sequence + 1 },
        };
        assert_eq!(check(&removed, &[head]), Err(expect));
        let renumber = |(at, entry): (usize, &Sealed)| Sealed { sequence: at as u64 + 1, ..entry.clone() };
        if at < 5 {
            let hidden: Vec<_> = removed.iter().enumerate().map(renumber).collect();
            assert_eq!(check(&hidden, &[]).unwrap_err().sequence(), sequence + 1, "renumbered without {sequence}");
        }
        // A replaced entry with a matching hash shows in the next one, and the last one in the pin.
        let mut replaced = whole.clone();
        let previous = if at == 0 { origin() } else { whole[at - 1].hash };
        replaced[at] = entry(sequence, previous, record("forged")).seal().unwrap();
        assert_eq!(check(&replaced, &[head]), Err(ChainError::Replaced { sequence }));
    }
    for a in 0..6 {
        for b in a + 1..6 {
            let mut swapped = whole.clone();
            swapped.swap(a, b);
            assert_eq!(check(&swapped, &[]).unwrap_err().sequence(), a as u64 + 1);
        }
    }
    for kept in 0..6 {
        assert_eq!(check(&whole[..kept], &[head]), Err(ChainError::Cut { sequence: kept as u64 + 1 }));
    }
}

#[test]
fn a_check_can_go_on_from_a_trusted_entry() {
    let whole = chain(4);
    let mut tail = Chain::after(whole[1].pin());
    assert!(tail.take(&whole[2]).and_then(|()| tail.take(&whole[3])).is_ok());
    assert_eq!(tail.head(), whole[3].pin());
    let mut astray = Chain::after(Pin { sequence: 2, hash: origin() });
    assert_eq!(astray.take(&whole[2]), Err(ChainError::Replaced { sequence: 2 }));
}

proptest! {
    #[test]
    fn any_flipped_byte_is_found_and_its_entry_named(at in 0usize..4, place in any::<prop::sample::Index>(), flip in 1u8..) {
        let mut entries = chain(4);
        let mut stored = [entries[at].bytes.to_vec(), entries[at].hash.as_bytes().to_vec()].concat();
        let place = place.index(stored.len());
        stored[place] ^= flip;
        let (bytes, hash) = stored.split_at(stored.len() - 32);
        entries[at].bytes = bytes.into();
        entries[at].hash = Digest::from_bytes(hash.try_into().unwrap());
        let sequence = at as u64 + 1;
        prop_assert_eq!(check(&entries, &[]), Err(EntryError::Altered { sequence }.into()));
        let altered = EntryError::Altered { sequence };
        prop_assert_eq!(entries[at].open(), Err(altered));
    }
}

//! Entries are one chain, and what was changed is found.

use super::*;
use crate::error_code::ErrorCode;
use crate::instant::Instant;
use crate::invocation::{Access, Invocation, InvocationParts};
use crate::outcome::{Ending, Measured, Outcome};
use crate::snapshot::{Change, PathChange, empty_tree};
use proptest::prelude::*;
use std::collections::{BTreeMap, BTreeSet};

fn record(note: &str) -> Record {
    let mut parts = InvocationParts { argv: vec!["todo".to_owned(), note.to_owned()], ..Default::default() };
    parts.environment.insert("LANG".to_owned(), "C".to_owned());
    parts.environment.insert("TOKEN".to_owned(), "hunter2".to_owned());
    parts.preopens.insert("state".to_owned(), Access::ReadWrite);
    let invocation = Invocation::new(parts).unwrap();
    let outcome = Outcome {
        ending: Ending::Exited { status: 0 },
        stdout: b"{}".to_vec(),
        stderr: Vec::new(),
        fuel: u64::MAX,
        fuel_exact: true,
        memory_peak_bytes: 65_536,
        refused: Vec::new(),
        unreproducible: Vec::new(),
        profile: "wasmtime 48.0.8".to_owned(),
    };
    let secrets = BTreeSet::from(["TOKEN".to_owned()]);
    let package = PackageRecord { slug: "todo".to_owned(), ..PackageRecord::default() };
    let mut record = Record::new(EntryKind::Run, Instant::from_unix_ns(1_000_000_007), "default", package);
    record.invocation = Some(InvocationRecord::of(&invocation, &secrets, &SecretKey::new([7; 32])));
    record.outcome = Some(OutcomeRecord::of(&outcome, &Measured { wall_time_us: 600, ..Measured::default() }));
    let change = PathChange { path: "todos.json".to_owned(), change: Change::Added };
    let after = Digest::of(Kind::Tree, note.as_bytes());
    record.volumes = BTreeMap::from([("state".to_owned(), VolumeRecord::new(Some(empty_tree()), after, vec![change]))]);
    record.kept = true;
    record
}

fn chain(length: u64) -> Vec<Sealed> {
    let mut previous = origin();
    let seal = |sequence| {
        let entry = Entry { sequence, previous, record: record(&sequence.to_string()) };
        let sealed = entry.seal().unwrap();
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
    let entry = Entry { sequence: 1, previous: origin(), record: record("add") };
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
        r#""sequence":1,"volumes":{"state":{"after":"$AFTER","before":"$BEFORE","#,
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
        .replace("$AFTER", &Digest::of(Kind::Tree, b"add").to_string())
        .replace("$BEFORE", &empty_tree().to_string());
    let sealed = entry.seal().unwrap();
    assert_eq!(std::str::from_utf8(&sealed.bytes), Ok(expect.as_str()));
    assert_eq!(sealed.open(), Ok(entry));
}

#[test]
fn no_secret_is_written() {
    let sealed = Entry { sequence: 1, previous: origin(), record: record("add") }.seal().unwrap();
    assert!(!String::from_utf8_lossy(&sealed.bytes).contains("hunter2"));
    let key = SecretKey::new([7; 32]);
    assert_eq!(key.hash("TOKEN", "hunter2"), key.hash("TOKEN", "hunter2"));
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
        let entry = Entry { sequence: 9, previous: origin(), record };
        assert_eq!(entry.seal().unwrap().open(), Ok(entry));
    }
}

#[test]
fn a_list_of_changes_is_bounded_and_says_so() {
    let change = |at| PathChange { path: format!("{at}"), change: Change::Removed };
    let volume = VolumeRecord::new(None, empty_tree(), (0..CHANGES_MAX + 3).map(change).collect());
    assert_eq!((volume.changes.len(), volume.changes_omitted), (CHANGES_MAX, 3));
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
        replaced[at] = Entry { sequence, previous, record: record("forged") }.seal().unwrap();
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

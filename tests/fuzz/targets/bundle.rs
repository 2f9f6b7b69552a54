//! Instances and applications as bytes. An application in one file is the one that was written, or none. A bundle of an instance is taken
//! as what it says or refused with a reason; one that was cut short is taken up to the end of its last whole part; what was taken, written
//! again, is the same bytes from then on. A state in one file is one bundle, whole: what is refused is left as it is, with nothing beside
//! it, and what a call adds stands behind what was there.
//!
//! The first byte says which it is.
#![no_main]
#![allow(dead_code, reason = "what others wrote for their tests and for their program is used in part")]

use arbitrary::{Arbitrary, Result, Unstructured};
use hutch::Exported;
use hutch_fuzz::within;
use hutch_model::digest::{Digest, Kind};
use hutch_model::error_code::ErrorCode;
use hutch_model::ledger::{EntryKind, SecretKey};
use hutch_model::snapshot::MemoryObjects;
use hutch_store::bundle::{TakenIn, export, take_in};
use hutch_store::{MemoryStore, Retention, Store, StoreError, log};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;
use support::{change, record, volume};

#[path = "../../../host/edge/src/report.rs"]
mod report;
#[path = "../../../host/edge/src/state.rs"]
mod state;
#[path = "../../../host/store/tests/common/mod.rs"]
mod support;

const MAGIC: &[u8] = b"hutch-bundle-1\n";
const EXPORTED: &[u8] = b"hutch-exported-1\n";
const DIGEST_BYTES: usize = 32;
const LENGTH_BYTES: usize = 8;

/// Where states in files are.
static HOME: LazyLock<tempfile::TempDir> = LazyLock::new(|| {
    let memory = Path::new("/dev/shm");
    let made = if memory.is_dir() { tempfile::tempdir_in(memory) } else { tempfile::tempdir() };
    made.unwrap_or_else(|error| panic!("{error}"))
});

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    LazyLock::force(&HOME);
    let Some((kind, rest)) = bytes.split_first() else { return };
    within((4 << 20) + 600 * bytes.len(), || match kind {
        b'e' => exported(rest),
        b'b' => foreign(&with_digests(rest)),
        b's' => in_a_file(&with_digests(rest)),
        // What is left out of an input is zero.
        _ => drop(made(&mut Unstructured::new(rest))),
    });
});

/// The package ends where the first byte says.
fn exported(bytes: &[u8]) {
    let Some((at, parts)) = bytes.split_first() else { return };
    let (packed, artifact) = parts.split_at(usize::from(*at).min(parts.len()));
    let exported = Exported { packed: packed.to_vec(), artifact: artifact.to_vec() };
    let file = exported.written();
    let footer = |file: &[u8]| file.last_chunk::<{ Exported::FOOTER_BYTES }>().and_then(|end| Exported::length(end));
    assert_eq!(footer(&file), Some(file.len() as u64));
    // Behind a program that runs it.
    assert_eq!(footer(&[parts, &file].concat()), Some(file.len() as u64));
    assert!(Exported::read(file.clone()).ok() == Some(exported), "it is read as another one");
    let mut changed = file.clone();
    let at = parts.len() * 7 % file.len();
    changed[at] ^= 1 << (parts.len() % 8);
    assert!(Exported::read(changed).is_err(), "byte {at} may be another one");
    assert!(Exported::read(file[..at].to_vec()).is_err() && Exported::read(file[at + 1..].to_vec()).is_err());

    // As somebody else wrote it, whose digest is right.
    let mut foreign = bytes.to_vec();
    if let Some(head) = foreign.len().checked_sub(DIGEST_BYTES + EXPORTED.len()) {
        let digest = Digest::of(Kind::Artifact, &foreign[..head]);
        foreign[head..head + DIGEST_BYTES].copy_from_slice(digest.as_bytes());
        foreign[head + DIGEST_BYTES..].copy_from_slice(EXPORTED);
    }
    if let Ok(read) = Exported::read(foreign.clone()) {
        assert!(read.written() == foreign, "it is written again as another file");
    }
}

/// Parts whose digests are right, as of whoever means harm.
fn with_digests(bytes: &[u8]) -> Vec<u8> {
    let mut bundle = bytes.to_vec();
    let mut at = 0;
    while bundle.get(at..at + MAGIC.len()) == Some(MAGIC) {
        let items = at + MAGIC.len() + LENGTH_BYTES;
        let Some(length) = bundle.get(items - LENGTH_BYTES..items).and_then(|bytes| bytes.first_chunk()) else { break };
        let Some(end) = usize::try_from(u64::from_le_bytes(*length)).ok().and_then(|it| items.checked_add(it)) else {
            break;
        };
        let Some(content) = bundle.get(items..end) else { break };
        let digest = Digest::of(Kind::Artifact, content);
        let Some(place) = bundle.get_mut(end..end + DIGEST_BYTES) else { break };
        place.copy_from_slice(digest.as_bytes());
        at = end + DIGEST_BYTES;
    }
    bundle
}

fn empty() -> MemoryStore {
    MemoryStore::new(SecretKey::new([7; 32]))
}

fn head(store: &dyn Store) -> hutch_store::Head {
    store.head().unwrap_or_else(|error| panic!("{error}"))
}

/// Whatever came of it, what the store holds is whole.
fn check_taken(store: &MemoryStore, bundle: &[u8], taken: &std::result::Result<TakenIn, StoreError>) {
    let entries = head(store).last.sequence;
    match taken {
        Ok(taken) => {
            assert!(taken.whole_bytes <= bundle.len() as u64);
            assert_eq!(taken.entries, entries);
            let again = take_in(store, bundle).unwrap_or_else(|error| panic!("taken once and not twice: {error}"));
            assert_eq!(again, TakenIn { entries: 0, whole_bytes: taken.whole_bytes });
        }
        Err(error) => {
            let code = error.code();
            // An entry of a form that is not known may be a later version's.
            let known = [ErrorCode::StoreDamaged, ErrorCode::Conflict, ErrorCode::StoreTooNew];
            assert!(known.contains(&code), "{code:?}: {error}");
        }
    }
    // The library takes none that another machine would have to end; the store does, and does not pass it on.
    if is_open(store, 0) {
        return assert!(export(store, 0).is_err(), "how it ended does not go with it");
    }
    let written = export(store, 0).unwrap_or_else(|error| panic!("what was taken can't be written: {error}"));
    let other = empty();
    // What was refused before its first entry with a state is records alone, of which nobody makes anything.
    if entries > 0 && head(store).retained_from > entries {
        return assert!(taken.is_err() && take_in(&other, &written).is_err(), "nothing can go on from it");
    }
    let taken = take_in(&other, &written).unwrap_or_else(|error| panic!("what was written is refused: {error}"));
    assert_eq!(taken, TakenIn { entries, whole_bytes: written.len() as u64 });
    assert_eq!(head(&other), head(store));
    assert!(export(&other, 0).is_ok_and(|again| again == written), "written twice it is other bytes");
}

fn foreign(bundle: &[u8]) {
    let store = empty();
    let taken = take_in(&store, bundle);
    check_taken(&store, bundle, &taken);

    // As its keeper's own log it says besides who may use it, and nothing else.
    let (last, is_taken) = (head(&store).last, taken.is_ok());
    drop(store);
    let kept = empty();
    if log::take_in(&kept, bundle).is_ok() {
        assert!(is_taken && head(&kept).last == last, "a log says other things than a bundle");
    }
}

fn in_a_file(bytes: &[u8]) {
    let path = HOME.path().join("state");
    let slug = "todo".parse().unwrap_or_else(|error| panic!("{error}"));
    let names = || -> Vec<PathBuf> {
        let entries = std::fs::read_dir(HOME.path()).into_iter().flatten().flatten();
        entries.map(|entry| entry.path()).collect()
    };
    if let Err(error) = std::fs::write(&path, bytes) {
        panic!("{error}");
    }
    let (store, looked) = (empty(), empty());
    let taken = state::StateFile::take(&store, &slug, path.clone());
    assert_eq!(state::read(&looked, &slug, &path).is_ok(), taken.is_ok(), "it is looked at in another way");
    match taken {
        Ok(taken) => {
            let before = head(&store).last.sequence;
            assert!(before > 0 && head(&looked) == head(&store));
            // A call, of which nothing is kept.
            let called = store.commit(&record(EntryKind::Plan, 9), &MemoryObjects::default(), &[]);
            let kept = taken.keep(&store, before);
            assert!(kept.is_ok(), "what is there can't be kept");
            let after = std::fs::read(&path).unwrap_or_default();
            assert!(after.starts_with(bytes), "what was there is something else");
            assert_eq!(after.len() > bytes.len(), called.is_ok());
            let again = empty();
            assert!(state::read(&again, &slug, &path).is_ok() && head(&again) == head(&store));
        }
        Err(_) => assert!(std::fs::read(&path).is_ok_and(|after| after == bytes), "what was refused was changed"),
    }
    assert_eq!(names(), [path], "something is left beside it");
}

/// A history of a few entries, in parts; and the same, damaged.
fn made(input: &mut Unstructured<'_>) -> Result<()> {
    let store = empty();
    let (mut bundle, mut ends, mut written) = (Vec::new(), vec![(0, 0)], 0);
    for _ in 0..1 + u8::arbitrary(input)? % 4 {
        entry(&store, input)?;
        // What has no state from then on goes as records alone.
        if u8::arbitrary(input)? % 4 == 1 {
            let keep = Retention { keep_last: u64::from(u8::arbitrary(input)? % 3), newer_than: None };
            let _ = store.collect(&keep, &record(EntryKind::Collect, 9));
        }
        if bool::arbitrary(input)? {
            match export(&store, written) {
                Ok(part) => {
                    assert!(!is_open(&store, written), "how it ended does not go with it");
                    bundle.extend(part);
                    written = head(&store).last.sequence;
                    ends.push((bundle.len(), written));
                }
                // Who has the first entries can't be given records alone behind them.
                Err(StoreError::Dropped { kept_from, .. }) => assert!(written > 0 && written + 1 < kept_from),
                Err(error) => assert!(is_open(&store, written), "{error}"),
            }
        }
    }
    let copy = empty();
    let taken = take_in(&copy, &bundle);
    assert!(taken.is_ok(), "what was written is refused");
    check_taken(&copy, &bundle, &taken);
    assert_eq!(head(&copy).last.sequence, written);

    // Cut short: what is whole is taken.
    let at = usize::from(u16::arbitrary(input)?) % (bundle.len() + 1);
    let (cut, short) = (empty(), &bundle[..at]);
    let taken = take_in(&cut, short).unwrap_or_else(|error| panic!("cut after {at} it is damaged: {error}"));
    let (end, last) = ends.iter().rev().find(|(end, _)| *end <= at).copied().unwrap_or_default();
    assert_eq!(taken, TakenIn { entries: last, whole_bytes: end as u64 }, "cut after {at}");
    // The rest may come later.
    assert!(take_in(&cut, &bundle).is_ok() && head(&cut) == head(&copy));

    // One bit: nothing else is taken for what was there.
    let mut changed = bundle.clone();
    if let Some(byte) = changed.get_mut(at) {
        *byte ^= 1 << (u8::arbitrary(input)? % 8);
        let other = empty();
        let taken = take_in(&other, &changed);
        check_taken(&other, &changed, &taken);
        assert!(taken.is_err() || taken.is_ok_and(|taken| taken.whole_bytes < bundle.len() as u64), "bit of byte {at}");
        for sequence in 1..=head(&other).last.sequence {
            let [one, other] = [&copy, &other].map(|store| store.entry(sequence).ok().flatten());
            assert_eq!(one, other, "another entry was taken");
        }
        // With a digest that is right.
        foreign(&with_digests(&changed));
    }

    // Into a store that went another way.
    let other = empty();
    entry(&other, input)?;
    let before = head(&other);
    let taken = take_in(&other, &bundle);
    let begun = copy.entry(1).ok().flatten();
    if begun.is_some() && begun != other.entry(1).ok().flatten() {
        assert!(matches!(taken, Err(StoreError::Forked { sequence: 1 })), "{taken:?}");
        assert_eq!(head(&other), before, "what was refused was taken");
    }
    Ok(())
}

/// Whether a change to a granted folder is begun behind a place, and not ended.
fn is_open(store: &MemoryStore, after: u64) -> bool {
    let mut open = BTreeSet::new();
    for sequence in after + 1..=head(store).last.sequence {
        let sealed = store.entry(sequence).ok().flatten();
        let record = sealed.and_then(|sealed| sealed.open().ok()).map(|entry| entry.record);
        let Some(record) = record else { panic!("entry {sequence} can't be read") };
        if record.kind == EntryKind::Intent {
            open.insert(sequence);
        }
        if let Some(closed) = record.closes {
            open.remove(&closed);
        }
    }
    !open.is_empty()
}

/// One more entry, if the store takes it.
fn entry(store: &MemoryStore, input: &mut Unstructured<'_>) -> Result<()> {
    const PATHS: [&str; 6] = ["a", "b", "d/a", "d/e/a", "d/", "l"];
    const CONTENTS: [&str; 5] = ["", "x", "->a", "same", "longer than the others"];
    use EntryKind::{Apply, Collect, Create, Edit, Import, Intent, Map, Plan, Recover, Restore, Run, Undo};
    let mut objects = MemoryObjects::default();
    let mut files: Vec<(&str, &str)> = Vec::new();
    for path in PATHS {
        if bool::arbitrary(input)? && !(path == "d/" && files.iter().any(|(path, _)| path.starts_with("d/"))) {
            files.push((path, input.choose(&CONTENTS)?));
        }
    }
    let after = volume(&mut objects, &files);
    let mut record = change(support::state(store), after);
    record.kind =
        *input.choose(&[Run, Create, Plan, Apply, Undo, Restore, Import, Edit, Collect, Intent, Recover, Map])?;
    record.kept = input.ratio(3, 4)?;
    record.follows = if bool::arbitrary(input)? { Some(head(store).last.hash) } else { None };
    record.closes = if input.ratio(1, 4)? { Some(u64::from(u8::arbitrary(input)? % 4)) } else { None };
    if input.ratio(1, 4)? {
        record.volumes.clear();
    }
    let _ = store.commit(&record, &objects, &[b"output"]);
    Ok(())
}

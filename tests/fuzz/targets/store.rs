//! The home of an instance whose files were damaged: database, log and mark, with bytes changed, cut off, put twice or emptied. Whatever is
//! read from it is what was written, or an error that says what is damaged; where the mark is damaged too, it may be what was written up
//! to some entry, and nothing else.
//!
//! An input is a list of changes.
#![no_main]
#![allow(clippy::unwrap_used, reason = "the support of the store's tests fails so")]
#![allow(dead_code, reason = "the support of the store's tests is used in part")]

use arbitrary::{Arbitrary, Result, Unstructured};
use hutch_model::digest::{Digest, Kind};
use hutch_model::error_code::ErrorCode;
use hutch_model::snapshot::{Node, ObjectError, read_file, read_tree};
use hutch_store::{IfMissing, Opening, SqliteStore, Store, StoreError};
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

#[path = "../../../host/store/tests/common/mod.rs"]
mod support;

const FILES: [&str; 3] = ["hutch.db", "hutch.db-wal", "hutch.mark"];
const MARK: usize = 2;
const ENTRIES: usize = 6;
const CHANGES_MAX: usize = 12;

/// A home, and what its files were.
struct Home {
    home: tempfile::TempDir,
    files: [Vec<u8>; 3],
    /// What it told after each entry.
    told: Vec<Vec<String>>,
}

static HOME: LazyLock<Home> = LazyLock::new(|| {
    let memory = Path::new("/dev/shm");
    let home = if memory.is_dir() { tempfile::tempdir_in(memory) } else { tempfile::tempdir() }.unwrap();
    let mut told = Vec::new();
    let store = support::sqlite(&home);
    for at in 0..ENTRIES {
        let mut objects = support::no_objects();
        let long = "long ".repeat(at * 200);
        let files = [("a", at.to_string()), ("d/b", "same".to_owned()), ("e", long)];
        let files: Vec<(&str, &str)> = files.iter().map(|(path, content)| (*path, content.as_str())).collect();
        let after = support::volume(&mut objects, &files);
        store.commit(&support::change(support::state(&store), after), &objects, &[b"output"]).unwrap();
        told.push(tell(&store).unwrap());
        // What comes later is in the log alone.
        if at == ENTRIES / 2 {
            drop(SqliteStore::open(&support::place(&home), &opening()).unwrap());
        }
    }
    let files = FILES.map(|name| std::fs::read(folder(&home).join(name)).unwrap());
    drop(store);
    Home { home, files, told }
});

fn folder(home: &tempfile::TempDir) -> PathBuf {
    support::place(home).path().to_owned()
}

fn opening() -> Opening {
    Opening { if_missing: IfMissing::Fail, ..Opening::default() }
}

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    LazyLock::force(&HOME);
    // What is left out of an input is zero.
    let _ = run(&mut Unstructured::new(bytes));
});

fn run(input: &mut Unstructured<'_>) -> Result<()> {
    let Home { home, files, told } = &*HOME;
    let folder = folder(home);
    let mut changed = files.clone();
    for _ in 0..CHANGES_MAX {
        if input.is_empty() {
            break;
        }
        change(&mut changed, input)?;
    }
    let _ = std::fs::remove_file(folder.join("hutch.db-shm"));
    for (name, bytes) in FILES.iter().zip(&changed) {
        std::fs::write(folder.join(name), bytes).unwrap();
    }
    let opened = SqliteStore::open(&support::place(home), &opening());
    let answer = opened.and_then(|store| {
        let answer = tell(&store)?;
        // What is looked for is found or not; it is no panic, and changes nothing.
        let found = store.check()?;
        assert!(changed != *files || found.is_empty(), "{found:?}");
        assert_eq!(tell(&store).ok().as_ref(), Some(&answer), "what is told changes");
        Ok(answer)
    });
    match answer {
        Ok(answer) if Some(&answer) == told.last() => {}
        Ok(answer) => {
            assert!(changed[MARK] != files[MARK], "it tells something else: {answer:?}");
            assert!(answer.len() <= 1 || told.contains(&answer), "it tells what was never there: {answer:?}");
        }
        Err(error) => {
            assert!(changed != *files, "{error}");
            let code = error.code();
            let known = [ErrorCode::StoreDamaged, ErrorCode::StoreTooNew, ErrorCode::NotFound, ErrorCode::HostFault];
            assert!(known.contains(&code), "{code:?}: {error}");
        }
    }
    Ok(())
}

fn change(files: &mut [Vec<u8>; 3], input: &mut Unstructured<'_>) -> Result<()> {
    let file = &mut files[usize::from(u8::arbitrary(input)? % 8) % 3];
    let at = usize::try_from(u32::arbitrary(input)?).unwrap_or(0) % (file.len() + 1);
    match u8::arbitrary(input)? % 8 {
        0..=2 => {
            if let Some(byte) = file.get_mut(at) {
                *byte ^= u8::arbitrary(input)?.max(1);
            }
        }
        3 => {
            let new = <[u8; 4]>::arbitrary(input)?;
            if let Some(place) = file.get_mut(at..at + new.len()) {
                place.copy_from_slice(&new);
            }
        }
        4 => file.truncate(at),
        // Pages, in the place of others.
        5 => {
            let from = usize::from(u8::arbitrary(input)?) * 512 % (file.len() + 1);
            let page = file.get(from..from + 512).map(<[u8]>::to_vec).unwrap_or_default();
            let to = at / 512 * 512;
            if let Some(place) = file.get_mut(to..to + page.len()) {
                place.copy_from_slice(&page);
            }
        }
        6 => {
            let end = (at + 512).min(file.len());
            file[at..end].fill(0);
        }
        _ => file.extend_from_slice(&<[u8; 8]>::arbitrary(input)?),
    }
    Ok(())
}

/// All that a store says of itself.
fn tell(store: &dyn Store) -> std::result::Result<Vec<String>, StoreError> {
    let head = store.head()?;
    let mut told = vec![format!("{head:?}")];
    for sequence in 1..=head.last.sequence {
        told.push(format!("{:?}", store.state_at(sequence)?));
        match store.entry(sequence)?.map(|entry| entry.open()) {
            Some(Ok(entry)) => told.push(format!("{entry:?}")),
            other => {
                let (at, what) = (store.at(), format!("entry {sequence}"));
                return Err(StoreError::Damaged { at, what, reason: format!("{other:?}") });
            }
        }
    }
    let objects = store.objects();
    for tree in head.state.values() {
        let lacks = |error: &ObjectError| StoreError::object("", error);
        let mut open = vec![*tree];
        while let Some(tree) = open.pop() {
            for entry in read_tree(&*objects, &tree).map_err(|error| lacks(&error))?.entries() {
                match &entry.node {
                    Node::Folder { tree, .. } => open.push(*tree),
                    Node::File { size, content } => {
                        let mut read = Vec::new();
                        read_file::<ObjectError>(&*objects, content, *size, &mut |part| {
                            read.extend_from_slice(part);
                            Ok(())
                        })
                        .map_err(|error| lacks(&error))?;
                        told.push(format!("{} {:?}", entry.name, Digest::of(Kind::Chunk, &read)));
                    }
                    Node::Link { target } => told.push(format!("{target:?}")),
                }
            }
        }
    }
    Ok(told)
}

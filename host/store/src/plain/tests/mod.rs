//! Laws of plain directories: cut off anywhere, an update is finished by the next one; what others put there is never lost.

mod edits;
mod folders;
mod hostile;
mod laws;
mod restart;
mod update;

use super::*;
use crate::common::{change, no_objects, nothing, put, record, sqlite, state, text, volume};
use crate::sqlite::{IfMissing, Opening, SqliteStore};
use hutch_folder::look;
use hutch_model::ledger::{EntryKind, VolumeRecord};
use hutch_model::snapshot::{Change, Name, Objects, Touched, TouchedName};
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};

const BOUNDS: Bounds = Bounds { files: 10_000, bytes: 1 << 30, depth: 100 };

type Files<'a> = &'a [(&'a str, &'a str)];

fn name() -> VolumeName {
    "state".parse().unwrap()
}

/// What a real folder holds: content by path, `->target` for links, and `""` with a final `/` for empty folders.
fn real(root: &Path) -> BTreeMap<String, String> {
    fn walk(root: &Path, prefix: &str, found: &mut BTreeMap<String, String>) {
        for entry in std::fs::read_dir(root).unwrap().map(Result::unwrap) {
            let path = format!("{prefix}{}", entry.file_name().to_str().unwrap());
            let kind = entry.file_type().unwrap();
            if kind.is_symlink() {
                let target = std::fs::read_link(entry.path()).unwrap();
                found.insert(path, format!("->{}", target.to_str().unwrap()));
            } else if kind.is_dir() {
                let before = found.len();
                walk(&entry.path(), &format!("{path}/"), found);
                if found.len() == before {
                    found.insert(format!("{path}/"), String::new());
                }
            } else {
                found.insert(path, std::fs::read_to_string(entry.path()).unwrap());
            }
        }
    }
    let mut found = BTreeMap::new();
    walk(root, "", &mut found);
    found
}

fn expected(files: Files<'_>) -> BTreeMap<String, String> {
    files.iter().map(|(path, content)| ((*path).to_owned(), (*content).to_owned())).collect()
}

/// What is to fail.
#[derive(Clone, Copy, Debug)]
enum Fault {
    None,
    /// The change with this number, from 1, and every one after it: as if the process had ended.
    From(u64),
    /// The change with this number alone: a full disk, a bad sector.
    Only(u64),
}

struct Setting {
    home: tempfile::TempDir,
    store: SqliteStore,
    starts: AtomicU64,
}

impl Setting {
    fn new() -> Setting {
        let home = tempfile::tempdir().unwrap();
        let store = sqlite(&home);
        Setting { home, store, starts: AtomicU64::new(0) }
    }

    fn plain(&self) -> Plain {
        let store = Arc::new(self.store.clone());
        Plain::open(self.store.dir(), store, Duration::from_secs(10)).unwrap()
    }

    /// Directories whose changes fail as `fault` says; the counter says how many were begun.
    fn failing(&self, fault: Fault) -> (Plain, Arc<AtomicU64>) {
        let steps = Arc::new(AtomicU64::new(0));
        let count = steps.clone();
        let hands = Hands::checked(move |_| {
            let step = count.fetch_add(1, Ordering::Relaxed) + 1;
            let fails = match fault {
                Fault::None => false,
                Fault::From(first) => step >= first,
                Fault::Only(only) => step == only,
            };
            if fails { Err(io::Error::other("made to fail")) } else { Ok(()) }
        });
        (Plain { hands, ..self.plain() }, steps)
    }

    /// As after another start of the machine.
    fn restarted(&self) -> Plain {
        let starts = self.starts.fetch_add(1, Ordering::Relaxed);
        Plain { boot: Some(format!("start {starts}")), ..self.plain() }
    }

    fn folder(&self) -> PathBuf {
        self.store.dir().path().join("state")
    }

    /// Commits what was changed outside, as its own entry.
    fn adopt(&self) -> Vec<(String, Change)> {
        let plain = self.plain();
        let imported = plain.import(&name(), &BOUNDS).unwrap();
        let Some(imported) = imported.filter(Imported::is_edit) else { return Vec::new() };
        let before = imported.base();
        let changes = imported.changes_from(&*self.store.objects(), &before.unwrap()).unwrap();
        let mut edit = record(EntryKind::Edit, 1);
        let volume = VolumeRecord::new(before, imported.tree(), changes.clone());
        (edit.volumes, edit.kept) = (BTreeMap::from([("state".to_owned(), volume)]), true);
        self.store.commit(&edit, &imported, &[]).unwrap();
        assert_eq!(plain.update().unwrap(), Updated::default());
        changes.listed.into_iter().map(|change| (change.path, change.change)).collect()
    }

    fn status(&self) -> Vec<(String, Change)> {
        let (changes, _) = self.plain().status(&name(), &BOUNDS).unwrap();
        changes.listed.into_iter().map(|change| (change.path, change.change)).collect()
    }

    fn skipped(&self) -> Vec<String> {
        let (_, skipped) = self.plain().status(&name(), &BOUNDS).unwrap();
        skipped.listed.into_iter().map(|(path, _)| path).collect()
    }

    /// What is found changed among some paths; those that end with `/` were listed.
    fn check(&self, paths: &[&str]) -> Option<(String, Change)> {
        let mut touched = Touched::default();
        for path in paths {
            touch(&mut touched, path);
        }
        self.plain().check(&name(), &touched).unwrap().map(|change| (change.path, change.change))
    }
}

fn touch(touched: &mut Touched, path: &str) {
    let Some((name, rest)) = path.split_once('/').or((!path.is_empty()).then_some((path, ""))) else {
        touched.listed = true;
        return;
    };
    if name.is_empty() {
        touched.listed = true;
        return;
    }
    let name = Name::new(name).unwrap();
    if !touched.names.iter().any(|known| known.name == name) {
        touched.names.push(TouchedName { name: name.clone(), below: None });
    }
    let known = touched.names.iter_mut().find(|known| known.name == name).unwrap();
    if path.contains('/') {
        touch(known.below.get_or_insert_default(), if rest.is_empty() { "/" } else { rest });
    }
}

fn open(folder: &tempfile::TempDir) -> Dir {
    Dir::open_ambient_dir(folder.path(), cap_std::ambient_authority()).unwrap()
}

//! Laws of plain directories: cut off anywhere, an update is finished by the next one; what others put there is never lost.

mod edits;
mod folders;
mod hostile;
mod laws;
mod update;

use super::faults::Fault;
use super::*;
use crate::common::{change, no_objects, put, record, sqlite, state, text, volume};
use hutch_model::ledger::{EntryKind, VolumeRecord};
use hutch_model::snapshot::{Change, Objects};
use std::collections::BTreeMap;
use std::path::Path;

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

struct Setting {
    home: tempfile::TempDir,
    store: SqliteStore,
}

impl Setting {
    fn new() -> Setting {
        let home = tempfile::tempdir().unwrap();
        let store = sqlite(&home);
        Setting { home, store }
    }

    fn plain(&self) -> Plain {
        Plain::open(&self.store).unwrap()
    }

    fn folder(&self) -> PathBuf {
        self.store.place().folder().join("state")
    }

    /// Commits what was changed outside, as its own entry.
    fn adopt(&self) -> Vec<(String, Change)> {
        let plain = self.plain();
        let Some(imported) = plain.import(&name(), &BOUNDS).unwrap() else { return Vec::new() };
        let before = state(&self.store);
        let changes = imported.changes_from(&*self.store.objects(), &before.unwrap_or_else(empty_tree)).unwrap();
        let mut edit = record(EntryKind::Edit, 1);
        let volume = VolumeRecord::new(before, imported.tree(), changes.clone());
        (edit.volumes, edit.kept) = (BTreeMap::from([("state".to_owned(), volume)]), true);
        self.store.commit(&edit, &imported, &[]).unwrap();
        assert_eq!(plain.update().unwrap(), Updated::default());
        changes.into_iter().map(|change| (change.path, change.change)).collect()
    }

    fn status(&self) -> Vec<(String, Change)> {
        let changes = self.plain().status(&name(), &BOUNDS).unwrap();
        changes.into_iter().map(|change| (change.path, change.change)).collect()
    }

    fn check(&self, touched: &[Touch<'_>]) -> Vec<(String, Change)> {
        let changes = self.plain().check(&name(), touched.iter().copied()).unwrap();
        changes.into_iter().map(|change| (change.path, change.change)).collect()
    }
}

fn open(folder: &tempfile::TempDir) -> Dir {
    Dir::open_ambient_dir(folder.path(), cap_std::ambient_authority()).unwrap()
}

//! What the store's tests share: volumes from lines of text, records, and both kinds of store.

#![allow(dead_code, reason = "each test program uses its part")]
#![allow(clippy::unwrap_used, reason = "a helper of tests is a test")]

use hutch_model::digest::Digest;
use hutch_model::instant::Instant;
use hutch_model::ledger::{EntryKind, PackageRecord, Record, SecretKey, VolumeRecord};
use hutch_model::snapshot::{
    Changes, Entry, MemoryObjects, Name, Node, Objects, Tree, empty_tree, read_file, read_tree,
};
use hutch_store::{IfMissing, InstanceDir, InstanceName, MemoryStore, Opening, SqliteStore, Store};
use std::collections::BTreeMap;
use std::sync::Arc;

/// A volume from `path` and content; a path that ends with `/` is an empty folder, a content that begins with `->` a link.
pub(crate) fn volume(objects: &mut MemoryObjects, files: &[(&str, &str)]) -> Digest {
    fn folder(objects: &mut MemoryObjects, files: &[(&str, &str)]) -> Node {
        let mut inside: BTreeMap<&str, Vec<(&str, &str)>> = BTreeMap::new();
        let mut entries = Vec::new();
        for (path, content) in files {
            match path.split_once('/') {
                Some((name, rest)) => {
                    let files = inside.entry(name).or_default();
                    if !rest.is_empty() {
                        files.push((rest, content));
                    }
                }
                None => {
                    let node = match content.strip_prefix("->") {
                        Some(target) => Node::Link { target: target.into() },
                        None => objects.insert_file(content.as_bytes()),
                    };
                    let modified_ns = 1_000_000_000 + content.len() as u64;
                    entries.push(Entry { name: Name::new(path).unwrap(), modified_ns, node });
                }
            }
        }
        for (name, files) in inside {
            let node = folder(objects, &files);
            entries.push(Entry { name: Name::new(name).unwrap(), modified_ns: 2_000_000_000, node });
        }
        objects.insert_tree(&Tree::new(entries).unwrap())
    }
    match folder(objects, files) {
        Node::Folder { tree, .. } => tree,
        _ => unreachable!(),
    }
}

/// The text of one file of a volume.
pub(crate) fn text(objects: &dyn Objects, tree: &Digest, path: &str) -> Option<String> {
    let mut tree = *tree;
    let (folders, name) = path.rsplit_once('/').map_or((None, path), |(folders, name)| (Some(folders), name));
    for folder in folders.iter().flat_map(|folders| folders.split('/')) {
        match &read_tree(objects, &tree).unwrap().get(folder)?.node {
            Node::Folder { tree: inside, .. } => tree = *inside,
            _ => return None,
        }
    }
    let entry = read_tree(objects, &tree).unwrap().get(name)?.clone();
    let Node::File { size, content } = entry.node else { return None };
    let mut bytes = Vec::new();
    read_file::<hutch_model::snapshot::ObjectError>(objects, &content, size, &mut |chunk| {
        bytes.extend_from_slice(chunk);
        Ok(())
    })
    .unwrap();
    Some(String::from_utf8(bytes).unwrap())
}

pub(crate) fn record(kind: EntryKind, at: u64) -> Record {
    let package = PackageRecord { slug: "todo".to_owned(), ..PackageRecord::default() };
    Record::new(kind, Instant::from_unix_ns(at), "default", package)
}

/// A record that takes `state` from `before` to `after`.
pub(crate) fn change(before: Option<Digest>, after: Digest) -> Record {
    let mut record = record(EntryKind::Run, 1);
    record.volumes.insert("state".to_owned(), VolumeRecord::new(before, after, Changes::default()));
    record.kept = true;
    record
}

pub(crate) fn place(home: &tempfile::TempDir) -> InstanceDir {
    let instance: InstanceName = "default".parse().unwrap();
    InstanceDir::new(home.path(), &"todo".parse().unwrap(), &instance)
}

pub(crate) fn sqlite(home: &tempfile::TempDir) -> SqliteStore {
    SqliteStore::open(&place(home), &Opening::default()).unwrap()
}

/// The store of an instance that was copied, and the copy given another name.
pub(crate) fn copied(home: &tempfile::TempDir) -> SqliteStore {
    let place = |name: &str| InstanceDir::new(home.path(), &"todo".parse().unwrap(), &name.parse().unwrap());
    let open =
        |name: &str| SqliteStore::open(&place(name), &Opening { if_missing: IfMissing::Fail, ..Opening::default() });
    sqlite(home).copy_to(&place("copy")).unwrap();
    open("copy").unwrap().rename_to(&place("renamed")).unwrap();
    open("renamed").unwrap()
}

/// Runs `test` on an empty store of each kind.
pub(crate) fn each_store(test: impl Fn(&dyn Store)) {
    each_keeper(&test);
    each_preview(&test);
}

/// Runs `test` on a store in memory over an empty one of each kind, which it must leave empty.
pub(crate) fn each_preview(test: impl Fn(&dyn Store)) {
    let home = tempfile::tempdir().unwrap();
    let below: [Arc<dyn Store>; 2] = [Arc::new(MemoryStore::new(SecretKey::new([7; 32]))), Arc::new(sqlite(&home))];
    for below in below {
        test(&MemoryStore::over(below.clone()));
        assert_eq!(below.head().unwrap(), Default::default(), "a preview changed what is below it");
        assert_eq!(below.stats().unwrap().objects, 0, "a preview changed what is below it");
    }
}

/// Runs `test` on an empty store of each kind that keeps what it is given itself.
pub(crate) fn each_keeper(test: impl Fn(&dyn Store)) {
    test(&MemoryStore::new(SecretKey::new([7; 32])));
    let home = tempfile::tempdir().unwrap();
    test(&sqlite(&home));
    let home = tempfile::tempdir().unwrap();
    test(&copied(&home));
}

/// The state of the volume `state`.
pub(crate) fn state(store: &dyn Store) -> Option<Digest> {
    store.head().unwrap().state.get("state").copied()
}

/// Makes the volume `state` hold `files`.
pub(crate) fn put(store: &dyn Store, files: &[(&str, &str)]) -> Digest {
    let mut objects = MemoryObjects::default();
    let after = volume(&mut objects, files);
    store.commit(&change(state(store), after), &objects, &[]).unwrap();
    after
}

pub(crate) fn no_objects() -> MemoryObjects {
    MemoryObjects::default()
}

pub(crate) fn nothing() -> Digest {
    empty_tree()
}

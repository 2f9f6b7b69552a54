//! Looking inside volumes.

use crate::entries::EntryName;
use crate::failure::Failure;
use crate::session::Session;
use hutch_model::digest::Digest;
use hutch_model::snapshot::{Changes, Entry, Node, ObjectError, diff, find, read_file, read_tree};
use hutch_sandbox::RunError;
use hutch_store::{State, StoreError, VolumeName};
use std::collections::BTreeMap;

/// A path inside a volume.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct StatePath {
    /// The volume.
    pub volume: VolumeName,
    /// Names below it; none for the volume itself.
    pub names: Vec<String>,
}

/// One thing in a volume.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct Item {
    /// Its path, the volume first.
    pub path: String,
    /// What it is; `None` for a volume's top folder.
    pub entry: Option<Entry>,
}

impl Item {
    /// A volume itself.
    pub fn volume(name: &str) -> Item {
        Item { path: name.to_owned(), entry: None }
    }
}

impl Session {
    /// The state that an entry left, by volume; the current one if none is named.
    ///
    /// # Errors
    /// There is no such entry, or its state is not kept any more.
    pub fn state_at(&self, entry: Option<&EntryName>) -> Result<BTreeMap<String, Digest>, Failure> {
        let Some(name) = entry else {
            return Ok(self.head()?.state.iter().map(|(name, digest)| (name.to_string(), *digest)).collect());
        };
        let state = self.state_after(self.entry(name)?.sequence)?;
        Ok(state.into_iter().map(|(name, digest)| (name.to_string(), digest)).collect())
    }

    /// The state that an entry left. That of the first retained one is kept, and what that one began with.
    ///
    /// # Errors
    /// It is not kept any more.
    pub(crate) fn state_after(&self, sequence: u64) -> Result<State, Failure> {
        let kept_from = self.head()?.retained_from;
        if sequence.saturating_add(1) < kept_from {
            let what = format!("state of entry {sequence} any more: states are kept from entry {kept_from} on");
            return Err(StoreError::Missing { at: self.store.at(), what }.into());
        }
        Ok(self.store.state_at(sequence)?)
    }

    /// Finds the volume in a path as typed: the longest volume name that it begins with.
    ///
    /// # Errors
    /// No volume has such a name.
    pub fn state_path(&self, state: &BTreeMap<String, Digest>, text: &str) -> Result<StatePath, Failure> {
        let text = text.trim_matches('/');
        let begins = |name: &&String| text == name.as_str() || text.starts_with(&format!("{name}/"));
        let volumes = || state.keys().cloned().collect::<Vec<_>>().join(", ");
        let unknown = || Failure::Path {
            path: text.to_owned(),
            reason: format!("no volume has this name; there are {}", volumes()),
        };
        let name = state.keys().filter(begins).max_by_key(|name| name.len()).ok_or_else(unknown)?;
        let rest = text.get(name.len()..).unwrap_or_default();
        let names = rest.split('/').filter(|part| !part.is_empty() && *part != ".").map(str::to_owned).collect();
        Ok(StatePath { volume: name.parse().map_err(|_| unknown())?, names })
    }

    /// What is at a path of a state, and in it if it is a folder.
    ///
    /// # Errors
    /// Nothing is there.
    pub fn list(&self, state: &BTreeMap<String, Digest>, path: &StatePath) -> Result<Vec<Item>, Failure> {
        let top = path_text(path);
        match self.find(state, path)? {
            Found::Folder(tree) => {
                let entries = read_tree(&*self.objects(), &tree).map_err(RunError::from)?.into_entries();
                let item = |entry: Entry| Item { path: format!("{top}/{}", entry.name), entry: Some(entry) };
                Ok(entries.into_iter().map(item).collect())
            }
            Found::Other(entry) => Ok(vec![Item { path: top, entry: Some(entry) }]),
        }
    }

    /// Whether a folder is at a path of a state.
    ///
    /// # Errors
    /// Nothing is there.
    pub fn is_folder(&self, state: &BTreeMap<String, Digest>, path: &StatePath) -> Result<bool, Failure> {
        Ok(matches!(self.find(state, path)?, Found::Folder(_)))
    }

    /// Calls `each` with the bytes of a file, part by part.
    ///
    /// # Errors
    /// There is no file at the path; or `each` fails.
    pub fn read(
        &self,
        state: &BTreeMap<String, Digest>,
        path: &StatePath,
        each: &mut dyn FnMut(&[u8]) -> std::io::Result<()>,
    ) -> Result<(), Failure> {
        let reason = |reason: &str| Failure::Path { path: path_text(path), reason: reason.to_owned() };
        match self.find(state, path)? {
            Found::Folder(_) => Err(reason("is a folder")),
            Found::Other(Entry { node: Node::Link { target }, .. }) => Err(reason(&format!("is a link to {target}"))),
            Found::Other(Entry { node: Node::Folder { .. }, .. }) => Err(reason("is a folder")),
            Found::Other(Entry { node: Node::File { size, content }, .. }) => {
                let objects = self.objects();
                read_file(&*objects, &content, size, &mut |bytes| each(bytes).map_err(Reading::Output)).map_err(
                    |error| match error {
                        Reading::Object(error) => Failure::Run(error.into()),
                        Reading::Output(error) => Failure::Run(RunError::Host(error.to_string())),
                    },
                )
            }
        }
    }

    /// What differs between two states. A volume that one of them does not have is empty in it.
    ///
    /// # Errors
    /// A state can't be read.
    pub fn changes(
        &self,
        before: &BTreeMap<String, Digest>,
        after: &BTreeMap<String, Digest>,
    ) -> Result<BTreeMap<String, Changes>, Failure> {
        let objects = self.objects();
        let mut changes = BTreeMap::new();
        let empty = hutch_model::snapshot::empty_tree();
        for name in before.keys().chain(after.keys()) {
            let tree = |state: &BTreeMap<String, Digest>| state.get(name).copied().unwrap_or(empty);
            if !changes.contains_key(name) {
                changes.insert(name.clone(), diff(&*objects, &tree(before), &tree(after)).map_err(RunError::from)?);
            }
        }
        Ok(changes)
    }

    fn find(&self, state: &BTreeMap<String, Digest>, path: &StatePath) -> Result<Found, Failure> {
        let missing = || Failure::Path { path: path_text(path), reason: "nothing is there".to_owned() };
        let tree = *state.get(path.volume.as_str()).ok_or_else(|| no_volume(&path.volume))?;
        if path.names.is_empty() {
            return Ok(Found::Folder(tree));
        }
        let found = find(&*self.objects(), &tree, path.names.iter().map(String::as_str)).map_err(RunError::from)?;
        let entry = found.ok_or_else(missing)?;
        Ok(match entry.node {
            Node::Folder { tree, .. } => Found::Folder(tree),
            _ => Found::Other(entry),
        })
    }
}

enum Found {
    Folder(Digest),
    Other(Entry),
}

enum Reading {
    Object(ObjectError),
    Output(std::io::Error),
}

impl From<ObjectError> for Reading {
    fn from(error: ObjectError) -> Reading {
        Reading::Object(error)
    }
}

pub(crate) fn no_volume(volume: &VolumeName) -> Failure {
    Failure::Path { path: volume.to_string(), reason: "there is no such volume".to_owned() }
}

fn path_text(path: &StatePath) -> String {
    let names = path.names.iter().map(String::as_str);
    std::iter::once(path.volume.as_str()).chain(names).collect::<Vec<_>>().join("/")
}

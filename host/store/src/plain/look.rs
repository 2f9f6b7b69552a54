//! Whether something in a plain directory is ours, and the look at what a run touched.

use super::Plain;
use super::content::holds;
use super::disk::{self, Form, Stamp};
use super::handles::Handles;
use super::stamps::{self, Mark, Shown};
use crate::error::StoreError;
use crate::names::VolumeName;
use crate::store::Store;
use cap_std::fs::Dir;
use hutch_model::digest::Digest;
use hutch_model::snapshot::{Change, Entry, Node, ObjectError, Objects, PathChange, Tree, read_tree};
use std::collections::{BTreeMap, HashMap};
use std::io;
use std::sync::Arc;

/// What a run did with a path of a volume; parts are separated by `/`, and the volume itself is the empty path.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Touch<'a> {
    /// Looked it up, read or changed it.
    Path(&'a str),
    /// Listed it.
    Folder(&'a str),
}

/// What may stand in a volume's directory.
pub(super) struct Known<'a> {
    plain: &'a Plain,
    volume: &'a VolumeName,
    shown: Shown,
    objects: Arc<dyn Objects>,
}

impl<'a> Known<'a> {
    pub(super) fn new(plain: &'a Plain, volume: &'a VolumeName, shown: Shown) -> Known<'a> {
        Known { plain, volume, shown, objects: plain.store.objects() }
    }

    pub(super) fn objects(&self) -> &dyn Objects {
        &*self.objects
    }

    pub(super) fn damaged(&self, error: &ObjectError) -> StoreError {
        StoreError::object(&self.plain.store.place().database(), error)
    }

    /// What the shown snapshot has at `path`, and the ones that it has become or is becoming meanwhile.
    fn versions(&self, path: &[String]) -> Result<Vec<Option<Entry>>, StoreError> {
        let now = self.plain.store.pool().sql(|connection| stamps::shown(connection, self.volume))?;
        let later = [self.shown.target, now.map(|now| now.tree), now.and_then(|now| now.target)];
        let mut states = vec![self.shown.tree];
        states.extend(later.into_iter().flatten());
        states.dedup();
        states.iter().map(|state| find(&*self.objects, state, path).map_err(|error| self.damaged(&error))).collect()
    }

    /// Whether what stands at `path` is ours. `stamp` is its look, if anything is there; nothing is ours too where an update
    /// is about to replace something.
    pub(super) fn is_ours(&self, folder: &Dir, path: &[String], stamp: Option<&Stamp>) -> Result<bool, StoreError> {
        let Some(name) = path.last() else { return Ok(true) };
        let versions = self.versions(path)?;
        if stamp.is_none() && versions.windows(2).any(|pair| pair[0] != pair[1]) {
            return Ok(true);
        }
        for version in versions {
            let same = match (stamp, version) {
                (None, None) => true,
                (Some(stamp), Some(entry)) => holds(folder, name, stamp, &entry.node)
                    .map_err(|error| StoreError::io(self.plain.path(self.volume, path), "read the file", error))?,
                _ => false,
            };
            if same {
                return Ok(true);
            }
        }
        Ok(false)
    }
}

/// What a state has at `path`.
fn find(objects: &dyn Objects, state: &Digest, path: &[String]) -> Result<Option<Entry>, ObjectError> {
    let mut folder = *state;
    let Some((last, above)) = path.split_last() else { return Ok(None) };
    for name in above {
        match read_tree(objects, &folder)?.get(name).map(|entry| &entry.node) {
            Some(Node::Folder { tree, .. }) => folder = *tree,
            _ => return Ok(None),
        }
    }
    Ok(read_tree(objects, &folder)?.get(last).cloned())
}

/// Whether a file system that does not tell upper from lower case answered with another name's file.
pub(super) fn other_case(folder: &Dir, name: &str) -> io::Result<bool> {
    Ok(!disk::list(folder)?.iter().any(|listed| listed == name))
}

/// A look at some paths of one volume.
struct Look<'a> {
    known: Known<'a>,
    handles: Handles,
    /// Folders of the shown snapshot, by path; `None` where it has none.
    trees: HashMap<Vec<String>, Option<Arc<Tree>>>,
    changes: BTreeMap<Vec<String>, Option<Change>>,
}

impl Plain {
    /// Whether what a run touched in `volume` was changed outside: the paths that were, each with how. Files below a
    /// touched folder are not looked into, only their names. Cost follows `touched` and the size of the folders named in
    /// it, not the size of the volume.
    ///
    /// # Errors
    /// Store or directory can't be read.
    pub fn check<'t>(
        &self,
        volume: &VolumeName,
        touched: impl IntoIterator<Item = Touch<'t>>,
    ) -> Result<Vec<PathChange>, StoreError> {
        let Some((shown, root)) = self.shown(volume)? else { return Ok(Vec::new()) };
        let known = Known::new(self, volume, shown);
        let mut look = Look { known, handles: Handles::new(root), trees: HashMap::new(), changes: BTreeMap::new() };
        for touch in touched {
            let (Touch::Path(text) | Touch::Folder(text)) = touch;
            let path: Vec<String> = text.split('/').filter(|name| !name.is_empty()).map(str::to_owned).collect();
            let same =
                (1..=path.len()).try_fold(true, |same, depth| Ok::<_, StoreError>(same && look.at(&path[..depth])?))?;
            if same && matches!(touch, Touch::Folder(_)) {
                look.listing(&path)?;
            }
        }
        let changed = look.changes.into_iter().filter_map(|(path, change)| Some((path, change?)));
        Ok(changed.map(|(path, change)| PathChange { path: path.join("/"), change }).collect())
    }
}

impl Look<'_> {
    fn failed(&self, path: &[String], error: io::Error) -> StoreError {
        StoreError::io(self.known.plain.path(self.known.volume, path), "look at", error)
    }

    fn tree(&mut self, path: &[String]) -> Result<Option<Arc<Tree>>, StoreError> {
        if let Some(tree) = self.trees.get(path) {
            return Ok(tree.clone());
        }
        let digest = match path.split_last() {
            None => Some(self.known.shown.tree),
            Some((name, above)) => self.tree(above)?.and_then(|tree| match tree.get(name).map(|entry| &entry.node) {
                Some(Node::Folder { tree, .. }) => Some(*tree),
                _ => None,
            }),
        };
        let read = |digest| read_tree(self.known.objects(), &digest).map(Arc::new);
        let tree = digest.map(read).transpose().map_err(|error| self.known.damaged(&error))?;
        self.trees.insert(path.to_vec(), tree.clone());
        Ok(tree)
    }

    /// Looks at one path, once. Whether the look may go on below it: it is as expected, and there.
    fn at(&mut self, path: &[String]) -> Result<bool, StoreError> {
        let Some((name, above)) = path.split_last() else { return Ok(true) };
        if let Some(change) = self.changes.get(path) {
            return Ok(change.is_none());
        }
        let expected = self.tree(above)?.and_then(|tree| tree.get(name).cloned());
        let change = self.compare(path, name, above, expected.as_ref())?;
        self.changes.insert(path.to_vec(), change);
        Ok(change.is_none() && expected.is_some())
    }

    fn compare(
        &mut self,
        path: &[String],
        name: &str,
        above: &[String],
        expected: Option<&Entry>,
    ) -> Result<Option<Change>, StoreError> {
        let folder = match self.handles.at(above) {
            Ok(Some(folder)) => folder.try_clone(),
            Ok(None) => return Ok(None),
            Err(error) => Err(error),
        };
        let folder = folder.map_err(|error| self.failed(above, error))?;
        let stamp = disk::look(&folder, name).map_err(|error| self.failed(path, error))?;
        let (volume, store) = (self.known.volume, &self.known.plain.store);
        let mark = match expected {
            None => None,
            Some(Entry { node: Node::Folder { .. }, .. })
                if matches!(stamp, Some(Stamp { form: Form::Folder, .. })) =>
            {
                return Ok(None);
            }
            Some(_) => store.pool().sql(|connection| stamps::one(connection, volume, &above.join("/"), name))?,
        };
        match (stamp, mark) {
            (None, Some(Mark::Withheld)) => return Ok(None),
            (Some(stamp), Some(Mark::Seen(seen))) if stamp == seen => return Ok(None),
            (None, None) if expected.is_none() => return Ok(None),
            (Some(_), Some(Mark::Withheld)) => {
                let other = other_case(&folder, name).map_err(|error| self.failed(path, error))?;
                return Ok((!other).then_some(Change::Modified));
            }
            _ => {}
        }
        if self.known.is_ours(&folder, path, stamp.as_ref())? {
            return Ok(None);
        }
        Ok(Some(match (stamp, expected) {
            (None, _) => Change::Removed,
            (Some(_), None) => Change::Added,
            (Some(_), Some(_)) => Change::Modified,
        }))
    }

    /// Looks for names that came or went in a folder that is there.
    fn listing(&mut self, path: &[String]) -> Result<(), StoreError> {
        let found = match self.handles.at(path) {
            Ok(Some(folder)) => disk::list(folder),
            Ok(None) => return Ok(()),
            Err(error) => Err(error),
        };
        let found = found.map_err(|error| self.failed(path, error))?;
        let Some(tree) = self.tree(path)? else { return Ok(()) };
        let mut below = path.to_vec();
        let came = found.iter().map(String::as_str).filter(|name| tree.get(name).is_none());
        let went = tree.entries().iter().map(|entry| entry.name.as_str());
        let went = went.filter(|name| found.binary_search_by(|listed| listed.as_str().cmp(name)).is_err());
        for name in came.chain(went) {
            below.push(name.to_owned());
            self.at(&below)?;
            below.pop();
        }
        Ok(())
    }
}

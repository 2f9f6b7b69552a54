//! Whether something in a plain directory is ours, and the look at what a run touched.

use super::Plain;
use super::content::holds;
use super::judge::{Judged, Look, Version};
use super::stamps::{FolderId, Mark, Shown};
use super::update::is_other_case;
use crate::error::StoreError;
use crate::names::VolumeName;
use cap_std::fs::Dir;
use hutch_folder::{Form, Handles, Stamp, list, list_at_most, look, open_folder};
use hutch_model::acted_on::is_acted_on;
use hutch_model::digest::Digest;
use hutch_model::snapshot::{
    Change, Entry, Lack, Node, ObjectError, Objects, PathChange, Touched, TouchedName, Tree, find, read_some, read_tree,
};
use std::io;
use std::sync::Arc;

impl Plain {
    /// Whether what a run touched in `volume` was changed outside: the first path that was. Files below a touched folder are not
    /// looked into, only their names. Cost follows `touched` and the size of the folders in it, not the size of the volume.
    ///
    /// # Errors
    /// Store or directory can't be read.
    pub fn check(&self, volume: &VolumeName, touched: &Touched) -> Result<Option<PathChange>, StoreError> {
        let Some((shown, root)) = self.shown(volume)? else { return Ok(None) };
        let top = self.stamps.top(volume)?;
        let objects = self.store.objects();
        let (handles, restarted) = (Handles::new(root), self.is_restarted()?);
        let mut look = Looking { plain: self, volume, shown, restarted, objects, handles, path: Vec::new() };
        // What it shows may not be kept any more: then nothing is known of what stands there.
        let tree = match read_touched(&*look.objects, &shown.tree, touched) {
            Err(error) if error.lack == Lack::Missing => Tree::default(),
            read => read.map_err(|error| look.damaged(&error))?,
        };
        look.folder(touched, &tree, top)
    }
}

/// A folder, all of it if it was listed, else what has the names that were looked up.
fn read_touched(objects: &dyn Objects, tree: &Digest, touched: &Touched) -> Result<Tree, ObjectError> {
    if touched.listed {
        return read_tree(objects, tree);
    }
    read_some(objects, tree, touched.names.iter().map(|touched| touched.name.as_str()))
}

/// A look at some paths of one volume.
struct Looking<'a> {
    plain: &'a Plain,
    volume: &'a VolumeName,
    shown: Shown,
    /// Whether what is remembered is of another start of the machine.
    restarted: bool,
    objects: Arc<dyn Objects>,
    handles: Handles,
    path: Vec<String>,
}

impl Looking<'_> {
    fn failed(&self, name: &str, action: &'static str) -> impl Fn(io::Error) -> StoreError + use<> {
        let mut path = self.plain.full_path(self.volume, &self.path);
        path.push(name);
        move |error| StoreError::io(&path, action, error)
    }

    fn damaged(&self, error: &ObjectError) -> StoreError {
        StoreError::object(self.plain.store.at(), error)
    }

    fn tree(&self, digest: &Digest, touched: &Touched) -> Result<Tree, StoreError> {
        read_touched(&*self.objects, digest, touched).map_err(|error| self.damaged(&error))
    }

    /// Looks at what was touched in the folder in which the look is.
    fn folder(
        &mut self,
        touched: &Touched,
        tree: &Tree,
        id: Option<FolderId>,
    ) -> Result<Option<PathChange>, StoreError> {
        let Some(folder) = self.here()? else { return Ok(None) };
        let mut below = Vec::new();
        for TouchedName { name, below: inside } in touched.names.iter().filter(|one| !is_acted_on(one.name.as_str())) {
            let name = name.as_str();
            let expected = tree.get(name);
            if let Some(change) = self.compare(&folder, name, expected, id)? {
                return Ok(Some(self.change(name, change)));
            }
            if let (Some(inside), Some(Node::Folder { tree, .. })) = (inside, expected.map(|entry| &entry.node)) {
                below.push((name.to_owned(), inside, *tree));
            }
        }
        if touched.listed {
            let found = list(&folder).map_err(self.failed("", "list the folder"))?.names;
            let came = found.iter().map(String::as_str).filter(|name| tree.get(name).is_none());
            let went = tree.entries().iter().map(|entry| entry.name.as_str());
            let went = went.filter(|name| found.binary_search_by(|listed| listed.as_str().cmp(name)).is_err());
            for name in came.chain(went).filter(|name| !is_acted_on(name)) {
                if let Some(change) = self.compare(&folder, name, tree.get(name), id)? {
                    return Ok(Some(self.change(name, change)));
                }
            }
        }
        drop(folder);
        for (name, inside, tree) in below {
            let id = match id {
                Some(id) => self.plain.stamps.below(id, &name)?,
                None => None,
            };
            let tree = self.tree(&tree, inside)?;
            self.path.push(name);
            let found = self.folder(inside, &tree, id)?;
            self.path.pop();
            if found.is_some() {
                return Ok(found);
            }
        }
        Ok(None)
    }

    fn here(&mut self) -> Result<Option<Dir>, StoreError> {
        let folder = self.handles.at(&self.path).and_then(|folder| folder.map(Dir::try_clone).transpose());
        folder.map_err(self.failed("", "open the folder"))
    }

    fn change(&self, name: &str, change: Change) -> PathChange {
        let path: Vec<&str> = self.path.iter().map(String::as_str).chain([name]).collect();
        PathChange { path: path.join("/"), change }
    }

    /// Looks at one name: whether others changed it.
    fn compare(
        &self,
        folder: &Dir,
        name: &str,
        expected: Option<&Entry>,
        id: Option<FolderId>,
    ) -> Result<Option<Change>, StoreError> {
        let stamp = look(folder, name).map_err(self.failed(name, "look at"))?;
        // What no state can hold is nobody's edit.
        let stamp = stamp.filter(|stamp| stamp.form != Form::Other || expected.is_some());
        let is_folder = expected.is_some_and(|entry| matches!(entry.node, Node::Folder { .. }));
        let mark = match (expected, id) {
            _ if is_folder && matches!(stamp, Some(Stamp { form: Form::Folder, .. })) => return Ok(None),
            (None, _) | (_, None) => None,
            (Some(_), Some(id)) => self.plain.stamps.one(id, name)?,
        };
        match (stamp, mark) {
            (None, Some(Mark::Withheld(_))) => return Ok(None),
            (None, None) if expected.is_none() => return Ok(None),
            (Some(_), Some(Mark::Withheld(_))) => {
                let other = is_other_case(folder, name).map_err(self.failed(name, "list the folder of"))?;
                return Ok((!other).then_some(Change::Modified));
            }
            _ => {}
        }
        let look = stamp.map(|stamp| Look { stamp, mark, restarted: self.restarted });
        if look.is_some_and(|look| look.known().is_some()) {
            return Ok(None);
        }
        if let (Some(stamp), None) = (&stamp, expected)
            && !can_be_held(folder, name, stamp, self.path.len())
        {
            return Ok(None);
        }
        if self.is_ours(folder, name, look)? {
            return Ok(None);
        }
        Ok(Some(match (stamp, expected) {
            (None, _) => Change::Removed,
            (Some(_), None) => Change::Added,
            (Some(_), Some(_)) => Change::Modified,
        }))
    }

    /// Whether what stands there is what the shown snapshot has there, or one that it has become or is becoming meanwhile. `look`
    /// is what is known of it, if anything is there; nothing is ours too where an update is about to replace something.
    fn is_ours(&self, folder: &Dir, name: &str, look: Option<Look>) -> Result<bool, StoreError> {
        let now = self.plain.stamps.shown(self.volume)?;
        let later = [self.shown.target, now.map(|now| now.tree), now.and_then(|now| now.target)];
        let mut states = vec![self.shown.tree];
        states.extend(later.into_iter().flatten());
        states.dedup();
        let path = || self.path.iter().map(String::as_str).chain([name]);
        let mut versions = Vec::new();
        for state in &states {
            match find(&*self.objects, state, path()) {
                Ok(version) => versions.push(version),
                // A state that is not kept any more can't be known again.
                Err(error) if error.digest == *state && error.lack == Lack::Missing => {}
                Err(error) => return Err(self.damaged(&error)),
            }
        }
        let Some(look) = look else {
            return Ok(versions.iter().any(Option::is_none) || versions.windows(2).any(|pair| pair[0] != pair[1]));
        };
        let versions: Vec<Version<'_>> = versions.iter().flatten().map(Version::Shown).collect();
        let holds = |node: &Node| holds(folder, name, &look.stamp, node).map_err(self.failed(name, "read the file"));
        // What the power has left of a file was written anew when the directory was brought up to date; one that is torn now is not ours.
        Ok(look.judge(&versions, holds, |_| Ok(false))? != Judged::Theirs)
    }
}

fn is_open<T>(opened: io::Result<T>) -> bool {
    !opened.is_err_and(|error| error.kind() == io::ErrorKind::PermissionDenied)
}

/// Whether a state can hold what stands there, `depth` folders below the volume. What the user may not read it can't.
pub(super) fn can_be_held(folder: &Dir, name: &str, stamp: &Stamp, depth: usize) -> bool {
    match stamp.form {
        Form::File => is_open(hutch_folder::open_file(folder, name)),
        Form::Folder => {
            is_open(open_folder(folder, name).and_then(|below| below.map(|below| list_at_most(&below, 1)).transpose()))
        }
        Form::Other => false,
        Form::Link => hutch_folder::link_target(folder, name)
            .is_ok_and(|target| target.is_some_and(|target| hutch_folder::stays_inside(depth, &target))),
    }
}

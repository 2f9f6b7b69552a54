//! The files of two states side by side: what each holds, and what stands elsewhere now, as it was.

use super::Budget;
use crate::bounds::{COMPARED_BYTES, COMPARED_FILE_BYTES, spend};
use hutch_model::digest::Digest;
use hutch_model::snapshot::{
    Change, Entry, Node, ObjectError, Objects, PathChange, Tree, empty_tree, read_file, read_tree,
};
use std::collections::{BTreeMap, BTreeSet, VecDeque};

/// The files of one state. Folders on the way to the last one are kept, and paths come as a walk through the folders finds them.
pub(super) struct Files<'o> {
    objects: &'o dyn Objects,
    /// By name, the outermost first.
    open: Vec<(String, Tree)>,
}

impl Files<'_> {
    pub(super) fn of<'o>(objects: &'o dyn Objects, root: &Digest) -> Files<'o> {
        let open = read_tree(objects, root).map(|tree| (String::new(), tree));
        Files { objects, open: open.into_iter().collect() }
    }

    fn entry(&mut self, path: &str) -> Option<&Entry> {
        let (above, name) = path.rsplit_once('/').unwrap_or(("", path));
        let mut depth = 1;
        for part in above.split('/').filter(|part| !part.is_empty()) {
            if self.open.get(depth).is_none_or(|(open, _)| open != part) {
                self.open.truncate(depth);
                let Node::Folder { tree, .. } = self.open.last()?.1.get(part)?.node else { return None };
                self.open.push((part.to_owned(), read_tree(self.objects, &tree).ok()?));
            }
            depth += 1;
        }
        self.open.get(depth - 1)?.1.get(name)
    }

    /// What a file or a folder holds, unless that is nothing: two such have nothing to do with one another.
    fn held(&mut self, path: &str, is_folder: bool) -> Option<Digest> {
        match self.entry(path)?.node {
            Node::Folder { tree, .. } if is_folder && tree != empty_tree() => Some(tree),
            Node::File { content, size } if !is_folder && size > 0 => Some(content),
            _ => None,
        }
    }

    /// The text of a file, and where a link leads; nothing for a folder, and for what is not there.
    pub(super) fn text(&mut self, path: &str, budget: &mut Budget) -> Result<Option<String>, String> {
        let objects = self.objects;
        let (size, content) = match self.entry(path).map(|entry| &entry.node) {
            Some(Node::File { size, content }) => (size, content),
            Some(Node::Link { target }) => return Ok(Some(format!("-> {target}\n"))),
            _ => return Ok(None),
        };
        if COMPARED_FILE_BYTES.is_below(*size) {
            return Err(COMPARED_FILE_BYTES.passed(*size));
        }
        spend(&mut budget.bytes, *size, &COMPARED_BYTES)?;
        let mut bytes = Vec::new();
        let read = read_file::<ObjectError>(objects, content, *size, &mut |part| {
            bytes.extend_from_slice(part);
            Ok(())
        });
        read.map_err(|error| error.to_string())?;
        String::from_utf8(bytes).map(Some).map_err(|_| "it is no text".to_owned())
    }
}

/// What stands elsewhere now, as it was: folders first, with all that they hold.
#[derive(Default)]
pub(super) struct Renamed<'c> {
    /// Where it stood, by where it stands.
    pub(super) places: BTreeMap<&'c str, &'c str>,
    /// Where it stood.
    left: BTreeSet<&'c str>,
}

impl<'c> Renamed<'c> {
    pub(super) fn of(before: &mut Files<'_>, after: &mut Files<'_>, listed: &'c [PathChange]) -> Renamed<'c> {
        let mut renamed = Renamed::default();
        for is_folder in [true, false] {
            let mut gone: BTreeMap<Digest, VecDeque<&'c str>> = BTreeMap::new();
            for path in listed.iter().filter(|path| path.change == Change::Removed && !renamed.tells_of(path)) {
                if let Some(held) = before.held(&path.path, is_folder) {
                    gone.entry(held).or_default().push_back(&path.path);
                }
            }
            for path in listed.iter().filter(|path| path.change == Change::Added) {
                let held = if renamed.tells_of(path) { None } else { after.held(&path.path, is_folder) };
                let Some(from) = held.and_then(|held| gone.get_mut(&held)) else { continue };
                // What went with a folder above it is elsewhere by now, and so is a part of what a part has left.
                let is_part =
                    |from: &str, left: &str| left.strip_prefix(from).is_some_and(|rest| rest.starts_with('/'));
                from.retain(|from| {
                    let left = &renamed.left;
                    !is_below(from, |above| left.contains(above)) && !left.iter().any(|left| is_part(from, left))
                });
                if let Some(from) = from.pop_front() {
                    renamed.places.insert(&path.path, from);
                    renamed.left.insert(from);
                }
            }
        }
        renamed
    }

    /// Whether what is told of another path says how this one changed.
    pub(super) fn tells_of(&self, path: &PathChange) -> bool {
        match path.change {
            Change::Removed => {
                self.left.contains(path.path.as_str()) || is_below(&path.path, |above| self.left.contains(above))
            }
            Change::Added => is_below(&path.path, |above| self.places.contains_key(above)),
            _ => false,
        }
    }
}

/// Whether one of the folders above a path is such.
fn is_below(path: &str, is_such: impl Fn(&str) -> bool) -> bool {
    path.match_indices('/').any(|(end, _)| path.get(..end).is_some_and(&is_such))
}

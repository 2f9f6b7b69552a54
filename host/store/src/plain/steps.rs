//! What differs between two snapshots, with what stands on either side: what it takes to make a folder that shows the one show
//! the other. Reads objects, touches no file.

use hutch_model::digest::{Digest, Kind};
use hutch_model::snapshot::{Entry, Node, ObjectError, Objects, Tree, read_tree};

/// Folders within folders, at most: each level is a call and an open handle.
pub(super) const DEPTH_MAX: usize = 1024;

/// One place that differs.
#[derive(Debug)]
pub(super) struct Step {
    /// The names from the root down.
    pub(super) path: Vec<String>,
    /// What stood there.
    pub(super) was: Option<Entry>,
    /// What shall.
    pub(super) is: Option<Entry>,
}

pub(super) fn is_folder(entry: Option<&Entry>) -> bool {
    entry.is_some_and(|entry| matches!(entry.node, Node::Folder { .. }))
}

/// The places that differ, folders before what they hold. A folder in which something differs is one of them.
pub(super) fn steps(objects: &dyn Objects, before: &Digest, after: &Digest) -> Result<Vec<Step>, ObjectError> {
    let mut steps = Vec::new();
    if before != after {
        let (before, after) = (read_tree(objects, before)?, read_tree(objects, after)?);
        compare(objects, &mut Vec::new(), before, after, &mut steps)?;
    }
    Ok(steps)
}

fn compare(
    objects: &dyn Objects,
    path: &mut Vec<String>,
    before: Tree,
    after: Tree,
    steps: &mut Vec<Step>,
) -> Result<(), ObjectError> {
    let mut old = before.into_entries().into_iter().peekable();
    let mut new = after.into_entries().into_iter().peekable();
    loop {
        let order = match (old.peek(), new.peek()) {
            (None, None) => return Ok(()),
            (Some(_), None) => std::cmp::Ordering::Less,
            (None, Some(_)) => std::cmp::Ordering::Greater,
            (Some(a), Some(b)) => a.name.cmp(&b.name),
        };
        let was = if order.is_le() { old.next() } else { None };
        let is = if order.is_ge() { new.next() } else { None };
        if was == is {
            continue;
        }
        let Some(name) = is.as_ref().or(was.as_ref()).map(|entry| entry.name.to_string()) else { return Ok(()) };
        let tree = |entry: &Option<Entry>| match entry.as_ref().map(|entry| &entry.node) {
            Some(Node::Folder { tree, .. }) => Some(*tree),
            _ => None,
        };
        let (old_tree, new_tree) = (tree(&was), tree(&is));
        path.push(name);
        steps.push(Step { path: path.clone(), was, is });
        if old_tree != new_tree {
            if let (true, Some(digest)) = (path.len() >= DEPTH_MAX, old_tree.or(new_tree)) {
                let reason = format!("is more than {DEPTH_MAX} folders deep");
                return Err(ObjectError { digest, kind: Kind::Tree, reason });
            }
            let read = |tree: Option<Digest>| tree.map_or(Ok(Tree::default()), |tree| read_tree(objects, &tree));
            compare(objects, path, read(old_tree)?, read(new_tree)?, steps)?;
        }
        path.pop();
    }
}

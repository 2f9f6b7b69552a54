//! What differs between two snapshots, with what stands on either side: what it takes to make a folder that shows the one show
//! the other. Reads objects, touches no file.

use hutch_model::digest::Digest;
use hutch_model::snapshot::{DEPTH_MAX, Entry, Node, ObjectError, Objects, Tree, read_tree};

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
        compare(objects, &mut Vec::new(), &before, &after, &mut steps)?;
    }
    Ok(steps)
}

fn compare(
    objects: &dyn Objects,
    path: &mut Vec<String>,
    before: &Tree,
    after: &Tree,
    steps: &mut Vec<Step>,
) -> Result<(), ObjectError> {
    for (was, is) in before.beside(after) {
        if was == is {
            continue;
        }
        let Some(entry) = is.or(was) else { continue };
        let tree = |entry: Option<&Entry>| match entry.map(|entry| &entry.node) {
            Some(Node::Folder { tree, .. }) => Some(*tree),
            _ => None,
        };
        let (old_tree, new_tree) = (tree(was), tree(is));
        path.push(entry.name.to_string());
        steps.push(Step { path: path.clone(), was: was.cloned(), is: is.cloned() });
        if old_tree != new_tree {
            if let (true, Some(digest)) = (path.len() >= DEPTH_MAX, old_tree.or(new_tree)) {
                return Err(ObjectError::too_deep(digest));
            }
            let read = |tree: Option<Digest>| tree.map_or(Ok(Tree::default()), |tree| read_tree(objects, &tree));
            compare(objects, path, &read(old_tree)?, &read(new_tree)?, steps)?;
        }
        path.pop();
    }
    Ok(())
}

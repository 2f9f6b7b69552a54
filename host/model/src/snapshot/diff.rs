//! What changed between two snapshots. Folders with equal digests are not read.

use super::{DEPTH_MAX, Node, ObjectError, Objects, Tree, read_tree};
use crate::digest::Digest;
use serde::{Deserialize, Serialize};

/// How a path changed.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Change {
    /// It is there only afterwards.
    Added,
    /// Its content, or what kind of thing it is, differs.
    Modified,
    /// It was there only before.
    Removed,
    /// Only its modification time differs.
    Touched,
}

/// One changed file, link or folder.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct PathChange {
    /// The path from the volume's root, parts separated by `/`.
    pub path: String,
    /// How it changed.
    pub change: Change,
}

/// The paths that differ, parents before what they hold. A folder is listed when it comes, goes or is touched, not when only
/// something in it changes.
///
/// # Errors
/// An object is missing or damaged, or folders differ more than [`DEPTH_MAX`] deep.
pub fn diff(objects: &dyn Objects, before: &Digest, after: &Digest) -> Result<Vec<PathChange>, ObjectError> {
    let mut changes = Vec::new();
    if before != after {
        let (before, after) = (read_tree(objects, before)?, read_tree(objects, after)?);
        diff_trees(objects, ("", 0), &before, &after, &mut changes)?;
    }
    Ok(changes)
}

fn diff_trees(
    objects: &dyn Objects,
    (prefix, level): (&str, usize),
    before: &Tree,
    after: &Tree,
    changes: &mut Vec<PathChange>,
) -> Result<(), ObjectError> {
    for (was, is) in before.beside(after) {
        let Some(entry) = is.or(was) else { continue };
        let path = format!("{prefix}{}", entry.name);
        let below = format!("{path}/");
        let mut say = |change| changes.push(PathChange { path: path.clone(), change });
        let (old_tree, new_tree) = match (was.map(|e| &e.node), is.map(|e| &e.node)) {
            (Some(Node::Folder { tree: a, .. }), Some(Node::Folder { tree: b, .. })) => {
                if a == b {
                    if was.map(|e| e.modified_ns) != is.map(|e| e.modified_ns) {
                        say(Change::Touched);
                    }
                    continue;
                }
                (Some(a), Some(b))
            }
            (Some(a), Some(b)) => {
                if a != b {
                    say(Change::Modified);
                } else if was.map(|e| e.modified_ns) != is.map(|e| e.modified_ns) {
                    say(Change::Touched);
                }
                (folder(Some(a)), folder(Some(b)))
            }
            (a, b) => {
                say(if a.is_some() { Change::Removed } else { Change::Added });
                (folder(a), folder(b))
            }
        };
        if let Some(tree) = old_tree.or(new_tree) {
            if level == DEPTH_MAX {
                return Err(ObjectError::too_deep(*tree));
            }
            let read = |tree: Option<&Digest>| tree.map_or(Ok(Tree::default()), |tree| read_tree(objects, tree));
            diff_trees(objects, (&below, level + 1), &read(old_tree)?, &read(new_tree)?, changes)?;
        }
    }
    Ok(())
}

fn folder(node: Option<&Node>) -> Option<&Digest> {
    match node {
        Some(Node::Folder { tree, .. }) => Some(tree),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Entry, MemoryObjects, Name};
    use super::*;

    /// A volume from lines `path=content`, `path->target`, each with an optional `@time`.
    fn volume(objects: &mut MemoryObjects, lines: &[&str]) -> Digest {
        fn folder(objects: &mut MemoryObjects, lines: &[(&str, &str)]) -> Node {
            let mut entries = Vec::new();
            let mut at = 0;
            while let Some((path, spec)) = lines.get(at) {
                let (name, node, taken) = match path.split_once('/') {
                    None => (*path, objects.insert_file(spec.split('@').next().unwrap().as_bytes()), 1),
                    Some((name, _)) => {
                        let inside: Vec<_> = lines[at..]
                            .iter()
                            .map_while(|(path, spec)| Some((path.strip_prefix(name)?.strip_prefix('/')?, *spec)))
                            .collect();
                        let count = inside.len();
                        (name, folder(objects, &inside), count)
                    }
                };
                let modified_ns = spec.split('@').nth(1).map_or(0, |time| time.parse().unwrap());
                entries.push(Entry { name: Name::new(name).unwrap(), modified_ns, node });
                at += taken;
            }
            objects.insert_tree(&Tree::new(entries).unwrap())
        }
        let pairs: Vec<_> = lines.iter().map(|line| line.split_once('=').unwrap()).collect();
        match folder(objects, &pairs) {
            Node::Folder { tree, .. } => tree,
            _ => unreachable!(),
        }
    }

    #[test]
    fn every_kind_of_change_is_named() {
        type Case<'a> = (&'a [&'a str], &'a [&'a str], &'a [(&'a str, Change)]);
        let cases: &[Case<'_>] = &[
            (&["a=1"], &["a=1"], &[]),
            (&["a=1"], &["a=2"], &[("a", Change::Modified)]),
            (&["a=1@1"], &["a=1@2"], &[("a", Change::Touched)]),
            (&["a=1"], &[], &[("a", Change::Removed)]),
            (&[], &["d/a=1", "d/b=2"], &[("d", Change::Added), ("d/a", Change::Added), ("d/b", Change::Added)]),
            (&["d/a=1", "x=1"], &["d/a=2", "x=1"], &[("d/a", Change::Modified)]),
            (&["d=1"], &["d/a=1"], &[("d", Change::Modified), ("d/a", Change::Added)]),
            (&["d/a=1"], &["d=1"], &[("d", Change::Modified), ("d/a", Change::Removed)]),
            (&["a=1", "c=3"], &["b=2", "c=3"], &[("a", Change::Removed), ("b", Change::Added)]),
        ];
        for (before, after, expect) in cases {
            let mut objects = MemoryObjects::default();
            let (a, b) = (volume(&mut objects, before), volume(&mut objects, after));
            let found = diff(&objects, &a, &b).unwrap();
            let found: Vec<_> = found.iter().map(|change| (change.path.as_str(), change.change)).collect();
            assert_eq!(found, *expect, "{before:?} -> {after:?}");
        }
    }

    /// `depth` folders within each other, with `content` in the innermost.
    fn nested(objects: &mut MemoryObjects, depth: usize, content: &str) -> Digest {
        let mut outer = volume(objects, &[&format!("f={content}")]);
        let mut node = objects.insert_tree(&read_tree(objects, &outer).unwrap());
        for _ in 0..depth {
            let entry = Entry { name: Name::new("d").unwrap(), modified_ns: 0, node };
            node = objects.insert_tree(&Tree::new(vec![entry]).unwrap());
        }
        if let Node::Folder { tree, .. } = node {
            outer = tree;
        }
        outer
    }

    #[test]
    fn trees_that_are_too_deep_end_the_comparison_and_nothing_else() {
        let mut objects = MemoryObjects::default();
        let mut pair = |depth| (nested(&mut objects, depth, "1"), nested(&mut objects, depth, "2"));
        let (deep, too_deep, far_too_deep) = (pair(DEPTH_MAX), pair(DEPTH_MAX + 1), pair(100_000));
        assert_eq!(diff(&objects, &deep.0, &deep.1).unwrap().len(), 1);
        for (before, after) in [too_deep, far_too_deep] {
            let error = diff(&objects, &before, &after).unwrap_err();
            assert!(error.reason.contains("1024 folders deep"), "{error}");
        }
    }
}

//! What changed between two snapshots. Folders, and parts of folders, with equal digests are not read.

use super::{DEPTH_MAX, Entry, Node, ObjectError, Objects, Tree, empty_tree, read_changed};
use crate::digest::Digest;
use serde::{Deserialize, Serialize};

/// How a path changed.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
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

impl PathChange {
    /// The bytes that it takes as JSON in a list.
    pub(crate) fn written_bytes(&self) -> usize {
        let change = match self.change {
            Change::Added => "added",
            Change::Modified => "modified",
            Change::Removed => "removed",
            Change::Touched => "touched",
        };
        r#"{"change":"","path":""},"#.len() + change.len() + written_bytes(&self.path)
    }
}

/// The most paths that are listed of one comparison.
pub const CHANGES_MAX: usize = 1000;

/// The most bytes that the listed paths take together, written as JSON.
pub const CHANGES_BYTES_MAX: usize = 64 << 10;

/// What differs between two snapshots: the first paths, and how many more there are. All of them follow from the two digests.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Changes {
    /// Parents before what they hold; at most [`CHANGES_MAX`], with at most [`CHANGES_BYTES_MAX`] bytes.
    pub listed: Vec<PathChange>,
    /// How many more paths differ.
    pub omitted: u64,
}

impl Changes {
    /// How many paths differ.
    pub fn count(&self) -> u64 {
        self.listed.len() as u64 + self.omitted
    }

    /// Whether none does.
    pub fn is_empty(&self) -> bool {
        self.count() == 0
    }
}

/// One place that differs between two snapshots.
#[derive(Clone, Copy, Debug)]
pub struct Difference<'a> {
    /// The path from the volume's root, parts separated by `/`.
    pub path: &'a str,
    /// What stood there.
    pub was: Option<&'a Entry>,
    /// What stands there now.
    pub is: Option<&'a Entry>,
}

impl Difference<'_> {
    /// How the path itself changed; `None` for a folder in which something changed, and nothing about itself.
    pub fn change(&self) -> Option<Change> {
        match (self.was, self.is) {
            (Some(was), Some(is)) if was.node == is.node => Some(Change::Touched),
            (Some(Entry { node: Node::Folder { .. }, .. }), Some(Entry { node: Node::Folder { .. }, .. })) => None,
            (Some(_), Some(_)) => Some(Change::Modified),
            (Some(_), None) => Some(Change::Removed),
            (None, _) => Some(Change::Added),
        }
    }
}

/// Lists the paths that differ. A folder is listed when it comes, goes or is touched, not when only something in it changes.
///
/// # Errors
/// As for [`compare`].
pub fn diff(objects: &dyn Objects, before: &Digest, after: &Digest) -> Result<Changes, ObjectError> {
    let mut changes = Changes::default();
    let mut bytes = 0;
    compare(objects, before, after, &mut |difference| {
        let Some(change) = difference.change() else { return };
        bytes += written_bytes(difference.path);
        if changes.listed.len() < CHANGES_MAX && bytes <= CHANGES_BYTES_MAX && changes.omitted == 0 {
            changes.listed.push(PathChange { path: difference.path.to_owned(), change });
        } else {
            changes.omitted += 1;
        }
    })?;
    Ok(changes)
}

/// Calls `each` with every place that differs, parents before what they hold. Folders with equal digests are not read, and each
/// other folder is read once.
///
/// # Errors
/// An object is missing or damaged, or folders differ more than [`DEPTH_MAX`] deep.
pub fn compare(
    objects: &dyn Objects,
    before: &Digest,
    after: &Digest,
    each: &mut dyn FnMut(Difference<'_>),
) -> Result<(), ObjectError> {
    if before == after {
        return Ok(());
    }
    let (before, after) = read_changed(objects, before, after)?;
    compare_trees(objects, (&mut String::new(), 0), &before, &after, each)
}

fn compare_trees(
    objects: &dyn Objects,
    (path, level): (&mut String, usize),
    before: &Tree,
    after: &Tree,
    each: &mut dyn FnMut(Difference<'_>),
) -> Result<(), ObjectError> {
    let above = path.len();
    for (was, is) in before.beside(after) {
        let Some(entry) = is.or(was).filter(|_| was != is) else { continue };
        path.truncate(above);
        if above > 0 {
            path.push('/');
        }
        path.push_str(entry.name.as_str());
        each(Difference { path, was, is });
        let (old_tree, new_tree) = (folder(was), folder(is));
        if let Some(tree) = old_tree.or(new_tree).filter(|_| old_tree != new_tree) {
            if level == DEPTH_MAX {
                return Err(ObjectError::too_deep(*tree));
            }
            let empty = empty_tree();
            let (before, after) = read_changed(objects, old_tree.unwrap_or(&empty), new_tree.unwrap_or(&empty))?;
            compare_trees(objects, (path, level + 1), &before, &after, each)?;
        }
    }
    path.truncate(above);
    Ok(())
}

/// The length of a text in JSON, where a control character takes six bytes.
fn written_bytes(text: &str) -> usize {
    let byte = |byte: u8| match byte {
        0..0x20 => 6,
        b'"' | b'\\' => 2,
        _ => 1,
    };
    text.bytes().map(byte).sum()
}

fn folder(entry: Option<&Entry>) -> Option<&Digest> {
    match entry.map(|entry| &entry.node) {
        Some(Node::Folder { tree, .. }) => Some(tree),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::super::{MemoryObjects, Name, read_tree};
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
            let found: Vec<_> = found.listed.iter().map(|change| (change.path.as_str(), change.change)).collect();
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
        assert_eq!(diff(&objects, &deep.0, &deep.1).unwrap().count(), 1);
        for (before, after) in [too_deep, far_too_deep] {
            let error = diff(&objects, &before, &after).unwrap_err();
            assert!(error.to_string().contains("1024 folders deep"), "{error}");
        }
    }

    #[test]
    fn what_is_listed_is_bounded_in_number_and_in_bytes_and_the_rest_is_counted() {
        for (count, name_bytes, depth, listed) in
            [(1_000, 4, 0, 1_000), (1_001, 4, 0, 1_000), (3_000, 200, 0, 327), (300, 100, 100, 67)]
        {
            let mut objects = MemoryObjects::default();
            let lines: Vec<String> = (0..count).map(|at| format!("{at:0name_bytes$}=1")).collect();
            let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
            let mut tree = volume(&mut objects, &lines);
            for _ in 0..depth {
                let node = objects.insert_tree(&read_tree(&objects, &tree).unwrap());
                let entry = Entry { name: Name::new("folder").unwrap(), modified_ns: 0, node };
                let Node::Folder { tree: outer, .. } = objects.insert_tree(&Tree::new(vec![entry]).unwrap()) else {
                    unreachable!()
                };
                tree = outer;
            }
            let changes = diff(&objects, &super::super::empty_tree(), &tree).unwrap();
            let bytes: usize = changes.listed.iter().map(|change| change.path.len()).sum();
            assert!(bytes <= CHANGES_BYTES_MAX, "{bytes}");
            assert_eq!(changes.count(), count + depth, "{name_bytes} {depth}");
            assert!(
                changes.listed.len().abs_diff(listed) <= depth as usize + 40,
                "{} of {listed}",
                changes.listed.len()
            );
        }
    }
}

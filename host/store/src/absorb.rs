//! Which objects of a new state are new, and taking exactly those in. Knows no database: whoever keeps objects is a [`Shelf`].
//!
//! What is stored is complete: with an object, all that it names is stored too. So the walk stops at whatever the shelf
//! holds already, and beside an older state of the same volume it looks at nothing that stands there unchanged: a change of
//! one file in a folder of many costs one look-up, not many.

use crate::error::StoreError;
use hutch_model::digest::{Digest, Kind};
use hutch_model::snapshot::{Lack, Node, Objects, Totals, Tree, decode_list, empty_tree, list_levels};

/// Where objects are kept.
pub(crate) trait Shelf {
    /// Whether the object is here.
    fn holds(&mut self, digest: &Digest) -> Result<bool, StoreError>;

    /// A folder that is here; `None` if it is not or can't be read: then nothing can be saved by comparing with it.
    fn tree(&mut self, digest: &Digest) -> Option<Tree>;

    /// Takes an object in; its digest was checked.
    fn put(&mut self, kind: Kind, digest: &Digest, bytes: &[u8]) -> Result<(), StoreError>;

    /// Where the shelf is, for messages.
    fn at(&self) -> String;
}

/// What is still to be looked at.
enum Work {
    Folder { before: Option<Digest>, after: Digest, totals: Option<Totals> },
    Part { level: u32, digest: Digest },
}

/// Takes in all of the state `after` that `shelf` does not hold, from `source`; `before` is a state of the same volume.
pub(crate) fn absorb(
    shelf: &mut dyn Shelf,
    source: &dyn Objects,
    before: Option<Digest>,
    after: Digest,
) -> Result<(), StoreError> {
    let mut root = Some(after);
    let mut work = vec![Work::Folder { before, after, totals: None }];
    while let Some(next) = work.pop() {
        let (kind, digest) = match &next {
            Work::Folder { after, .. } => (Kind::Tree, *after),
            Work::Part { level: 0, digest } => (Kind::Chunk, *digest),
            Work::Part { digest, .. } => (Kind::List, *digest),
        };
        // The empty folder is known without being stored.
        if digest == empty_tree() || shelf.holds(&digest)? {
            continue;
        }
        let bytes =
            source.get(kind, &digest).map_err(|error| match root == Some(digest) && error.lack == Lack::Missing {
                true => StoreError::Missing { at: shelf.at(), what: format!("state {digest}") },
                false => StoreError::object(shelf.at(), &error),
            })?;
        root = None;
        let wrong = |reason: &str| StoreError::Record(format!("{kind:?} {digest} {reason}"));
        if Digest::of(kind, &bytes) != digest {
            return Err(wrong("does not match its digest"));
        }
        match next {
            Work::Folder { before, totals, .. } => {
                let tree = Tree::decode(&bytes).map_err(|error| wrong(&error.to_string()))?;
                if totals.is_some_and(|totals| totals != tree.totals()) {
                    return Err(wrong("does not amount to what its folder says"));
                }
                let old = before.and_then(|before| shelf.tree(&before)).unwrap_or_default();
                push_changed(&old, &tree, &mut work);
            }
            Work::Part { level: 0, .. } => {}
            Work::Part { level, .. } => {
                let parts = decode_list(&bytes).ok_or_else(|| wrong("is no list of digests"))?;
                work.extend(parts.into_iter().map(|digest| Work::Part { level: level - 1, digest }));
            }
        }
        shelf.put(kind, &digest, &bytes)?;
    }
    Ok(())
}

/// Adds what `new` names and `old`, in the same place, does not.
fn push_changed(old: &Tree, new: &Tree, work: &mut Vec<Work>) {
    let mut old = old.entries().iter().peekable();
    for entry in new.entries() {
        while old.next_if(|other| other.name < entry.name).is_some() {}
        let was = old.next_if(|other| other.name == entry.name).map(|other| &other.node);
        if was == Some(&entry.node) {
            continue;
        }
        match &entry.node {
            // The empty file is known without being stored.
            Node::File { size: 0, .. } | Node::Link { .. } => {}
            Node::File { size, content } => work.push(Work::Part { level: list_levels(*size), digest: *content }),
            Node::Folder { tree, totals } => {
                let before = match was {
                    Some(Node::Folder { tree, .. }) => Some(*tree),
                    _ => None,
                };
                work.push(Work::Folder { before, after: *tree, totals: Some(*totals) });
            }
        }
    }
}

//! Which objects of a new state are new, and taking exactly those in. Knows no database: whoever keeps objects is a [`Shelf`].
//!
//! What is stored is complete: with an object, all that it names is stored too. So the walk stops at whatever the shelf
//! holds already, and beside an older state of the same volume it looks at nothing that stands there unchanged: a change of
//! one file in a folder of many costs one look-up, not many.

use crate::error::StoreError;
use hutch_model::digest::{Digest, Kind};
use hutch_model::snapshot::{
    CHUNK_BYTES, LIST_PARTS, Lack, Node, Objects, Part, Parts, Prefix, Totals, Tree, TreeObject, decode_list,
    empty_tree, list_levels,
};

/// Where objects are kept.
pub trait Shelf {
    /// Whether the object is here.
    ///
    /// # Errors
    /// It can't be found out.
    fn holds(&mut self, digest: &Digest) -> Result<bool, StoreError>;

    /// Whether these are here is likely to be asked next, one by one. A shelf that is far away asks for all of them at once. With a chunk
    /// comes how long it is.
    ///
    /// # Errors
    /// As for [`holds`](Shelf::holds).
    fn expect(&mut self, _objects: &[(Digest, Option<u64>)]) -> Result<(), StoreError> {
        Ok(())
    }

    /// A folder's object that is here; `None` if it is not or can't be read: then nothing can be saved by comparing with it.
    fn tree(&mut self, digest: &Digest) -> Option<TreeObject>;

    /// Takes an object in; its digest was checked.
    ///
    /// # Errors
    /// It can't be written.
    fn put(&mut self, kind: Kind, digest: &Digest, bytes: &[u8]) -> Result<(), StoreError>;

    /// Where the shelf is, for messages.
    fn at(&self) -> String;
}

/// What is still to be looked at.
enum Work {
    Folder {
        before: Option<Digest>,
        after: Digest,
        said: Said,
    },
    /// So many bytes of a file.
    Part {
        level: u32,
        digest: Digest,
        bytes: u64,
    },
}

/// What is said of a folder, or of a part of one, where it is named.
#[derive(Clone, Copy)]
enum Said {
    /// It is the top of a volume.
    Nothing,
    /// It is in a folder.
    Totals(Totals),
    /// It is a part, and where.
    Part(Part, Prefix),
}

impl Said {
    /// Whether the object is that.
    fn is_of(&self, object: &TreeObject) -> bool {
        match self {
            Said::Nothing => object.is_folder(),
            Said::Totals(totals) => object.is_folder() && *totals == object.totals(),
            Said::Part(part, at) => object.is_part(part, *at),
        }
    }

    /// Where the parts of the object are.
    fn at(&self) -> Prefix {
        if let Said::Part(_, at) = self { *at } else { Prefix::WHOLE }
    }
}

impl Work {
    /// Its name, and how long it is if it is a chunk.
    fn expected(&self) -> (Digest, Option<u64>) {
        match self {
            Work::Folder { after, .. } => (*after, None),
            Work::Part { level, digest, bytes } => (*digest, (*level == 0).then_some(*bytes)),
        }
    }
}

/// Takes in all of the state `after` that `shelf` does not hold, from `source`; `before` is a state of the same volume.
///
/// # Errors
/// What is to be taken in is nowhere, or not what its name says; or the shelf fails.
pub fn absorb(
    shelf: &mut dyn Shelf,
    source: &dyn Objects,
    before: Option<Digest>,
    after: Digest,
) -> Result<(), StoreError> {
    let mut root = Some(after);
    let mut work = vec![Work::Folder { before, after, said: Said::Nothing }];
    while let Some(next) = work.pop() {
        let asked = work.len();
        let (kind, digest) = match &next {
            Work::Folder { after, .. } => (Kind::Tree, *after),
            Work::Part { level: 0, digest, .. } => (Kind::Chunk, *digest),
            Work::Part { digest, .. } => (Kind::List, *digest),
        };
        let wrong = |reason: &str| StoreError::Record(format!("{kind:?} {digest} {reason}"));
        let amounts = |object: &TreeObject| match &next {
            Work::Folder { said, .. } if !said.is_of(object) => Err(wrong("does not amount to what its folder says")),
            _ => Ok(()),
        };
        // The empty folder is known without being stored.
        if digest == empty_tree() {
            amounts(&TreeObject::default())?;
            continue;
        }
        if shelf.holds(&digest)? {
            // It stands somewhere else too, or stood there.
            let unchanged =
                matches!(next, Work::Folder { before, after, said: Said::Nothing } if before == Some(after));
            if matches!(next, Work::Folder { .. }) && !unchanged {
                shelf.tree(&digest).map_or(Ok(()), |object| amounts(&object))?;
            }
            continue;
        }
        let bytes =
            source.get(kind, &digest).map_err(|error| match root == Some(digest) && error.lack == Lack::Missing {
                true => StoreError::Missing { at: shelf.at(), what: format!("state {digest}") },
                false => StoreError::object(shelf.at(), &error),
            })?;
        root = None;
        if Digest::of(kind, &bytes) != digest {
            return Err(wrong("does not match its digest"));
        }
        match next {
            Work::Folder { before, said, .. } => {
                let new = TreeObject::decode(&bytes).map_err(|error| wrong(&error.to_string()))?;
                amounts(&new)?;
                let old = before.and_then(|before| shelf.tree(&before)).unwrap_or_default();
                match (old, new) {
                    (TreeObject::Parts(old), TreeObject::Parts(new)) => {
                        push_parts(Some(&old), &new, said.at(), &mut work);
                    }
                    (_, TreeObject::Parts(new)) => push_parts(None, &new, said.at(), &mut work),
                    (TreeObject::Entries(old), TreeObject::Entries(new)) => push_changed(&old, &new, &mut work),
                    (_, TreeObject::Entries(new)) => push_changed(&Tree::default(), &new, &mut work),
                }
            }
            Work::Part { level: 0, .. } => {}
            Work::Part { level, bytes: all, .. } => {
                let parts = decode_list(&bytes).ok_or_else(|| wrong("is no list of digests"))?;
                let (level, each) = (level - 1, CHUNK_BYTES.saturating_mul(LIST_PARTS.saturating_pow(level - 1)));
                // All are full but the last one.
                let lengths = (0..).map(|at: u64| all.saturating_sub(each.saturating_mul(at)).min(each));
                work.extend(parts.into_iter().zip(lengths).map(|(digest, bytes)| Work::Part { level, digest, bytes }));
            }
        }
        shelf.put(kind, &digest, &bytes)?;
        let new: Vec<_> = work.iter().skip(asked).map(Work::expected).collect();
        if !new.is_empty() {
            shelf.expect(&new)?;
        }
    }
    Ok(())
}

/// Adds the parts that `new` has and `old`, in the same place, has not.
fn push_parts(old: Option<&Parts>, new: &Parts, at: Prefix, work: &mut Vec<Work>) {
    for part in new.parts() {
        let was = old.and_then(|old| old.get(part.digit));
        if was != Some(part) {
            let (before, said) = (was.map(|was| was.tree), Said::Part(*part, at.below(part.digit)));
            work.push(Work::Folder { before, after: part.tree, said });
        }
    }
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
            Node::File { size, content } => {
                work.push(Work::Part { level: list_levels(*size), digest: *content, bytes: *size });
            }
            Node::Folder { tree, totals } => {
                let before = match was {
                    Some(Node::Folder { tree, .. }) => Some(*tree),
                    _ => None,
                };
                work.push(Work::Folder { before, after: *tree, said: Said::Totals(*totals) });
            }
        }
    }
}

//! One folder of a snapshot, and its bytes.

use crate::digest::Digest;
use std::cmp::Ordering;

/// Bytes of the longest name.
pub(super) const NAME_BYTES_MAX: usize = 255;

/// Bytes of the longest link target.
pub(super) const LINK_BYTES_MAX: usize = 4096;

/// The name of a file, folder or link in its folder: 1 to 255 bytes of UTF-8, no `/`, no NUL, not `.` or `..`.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Name(Box<str>);

/// Why a text is no name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum NameError {
    /// Empty, `.`, `..`, or with `/` or NUL.
    #[error("is empty, dots only, or holds a slash or NUL")]
    Invalid,
    /// More than 255 bytes.
    #[error("is longer than {NAME_BYTES_MAX} bytes")]
    TooLong,
}

impl Name {
    /// Takes `text` as a name.
    ///
    /// # Errors
    /// It is not one.
    pub fn new(text: &str) -> Result<Name, NameError> {
        if text.is_empty() || text == "." || text == ".." || text.contains(['/', '\0']) {
            return Err(NameError::Invalid);
        }
        if text.len() > NAME_BYTES_MAX {
            return Err(NameError::TooLong);
        }
        Ok(Name(text.into()))
    }

    /// The name's text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl std::borrow::Borrow<str> for Name {
    fn borrow(&self) -> &str {
        &self.0
    }
}

impl std::fmt::Display for Name {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

/// What a folder and everything below it amount to.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Totals {
    /// Bytes of all files, by their sizes.
    pub bytes: u64,
    /// Files, folders and links; not the folder itself.
    pub files: u64,
    /// Folders within folders: 0 for a folder that holds none.
    pub depth: u32,
}

impl Totals {
    /// What both amount to side by side; sums are held at the largest number.
    pub const fn plus(self, other: Totals) -> Totals {
        Totals {
            bytes: self.bytes.saturating_add(other.bytes),
            files: self.files.saturating_add(other.files),
            depth: if self.depth > other.depth { self.depth } else { other.depth },
        }
    }
}

/// What a name stands for.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Node {
    /// A file of `size` bytes.
    File {
        /// Its length in bytes.
        size: u64,
        /// Its only chunk, or its topmost list.
        content: Digest,
    },
    /// A folder.
    Folder {
        /// Its entries.
        tree: Digest,
        /// What is below it.
        totals: Totals,
    },
    /// A symbolic link, with a relative target.
    Link {
        /// Where it points.
        target: Box<str>,
    },
}

impl Node {
    /// What this node adds to its folder's totals.
    pub const fn totals(&self) -> Totals {
        match self {
            Node::File { size, .. } => Totals { bytes: *size, files: 1, depth: 0 },
            Node::Folder { totals, .. } => {
                totals.plus(Totals { bytes: 0, files: 1, depth: totals.depth.saturating_add(1) })
            }
            Node::Link { .. } => Totals { bytes: 0, files: 1, depth: 0 },
        }
    }
}

/// One line of a folder.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Entry {
    /// Its name.
    pub name: Name,
    /// When its content was last changed: nanoseconds since 1970-01-01T00:00:00Z.
    pub modified_ns: u64,
    /// What it is.
    pub node: Node,
}

/// A folder: its entries, sorted by the bytes of their names, no name twice.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Tree(Vec<Entry>);

/// Why bytes are no folder.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum TreeError {
    /// They end within an entry.
    #[error("ends within an entry")]
    Short,
    /// An entry is of no known kind.
    #[error("has an entry of no known kind")]
    Kind,
    /// A name is invalid or out of order.
    #[error("has an invalid name or names out of order")]
    Name,
    /// A link's target is too long or no UTF-8.
    #[error("has an invalid link")]
    Link,
}

const FILE: u8 = 1;
const FOLDER: u8 = 2;
const LINK: u8 = 3;

impl Tree {
    /// Takes entries in any order; `None` if a name stands there twice.
    pub fn new(mut entries: Vec<Entry>) -> Option<Tree> {
        entries.sort_by(|a, b| a.name.cmp(&b.name));
        entries.is_sorted_by(|a, b| a.name < b.name).then_some(Tree(entries))
    }

    /// The entries, by name.
    pub fn entries(&self) -> &[Entry] {
        &self.0
    }

    /// The entries, by name.
    pub fn into_entries(self) -> Vec<Entry> {
        self.0
    }

    /// The entry with this name.
    pub fn get(&self, name: &str) -> Option<&Entry> {
        self.0.binary_search_by(|entry| entry.name.as_str().cmp(name)).ok().map(|at| &self.0[at])
    }

    /// The entries of both folders by name, those of one name together.
    pub fn beside<'a>(&'a self, other: &'a Tree) -> impl Iterator<Item = (Option<&'a Entry>, Option<&'a Entry>)> {
        let (mut ours, mut theirs) = (self.0.iter().peekable(), other.0.iter().peekable());
        std::iter::from_fn(move || {
            let order = match (ours.peek(), theirs.peek()) {
                (None, None) => return None,
                (Some(_), None) => Ordering::Less,
                (None, Some(_)) => Ordering::Greater,
                (Some(a), Some(b)) => a.name.cmp(&b.name),
            };
            Some((ours.next_if(|_| order.is_le()), theirs.next_if(|_| order.is_ge())))
        })
    }

    /// What the folder amounts to.
    pub fn totals(&self) -> Totals {
        self.0.iter().fold(Totals::default(), |sum, entry| sum.plus(entry.node.totals()))
    }

    /// The folder's bytes: for each entry its kind, name, modification time and what the kind needs; all numbers are
    /// little endian.
    pub fn encode(&self) -> Vec<u8> {
        let mut bytes = Vec::new();
        for entry in &self.0 {
            let name = entry.name.as_str().as_bytes();
            bytes.push(match entry.node {
                Node::File { .. } => FILE,
                Node::Folder { .. } => FOLDER,
                Node::Link { .. } => LINK,
            });
            bytes.push(name.len() as u8);
            bytes.extend_from_slice(name);
            bytes.extend_from_slice(&entry.modified_ns.to_le_bytes());
            match &entry.node {
                Node::File { size, content } => {
                    bytes.extend_from_slice(&size.to_le_bytes());
                    bytes.extend_from_slice(content.as_bytes());
                }
                Node::Folder { tree, totals } => {
                    bytes.extend_from_slice(&totals.bytes.to_le_bytes());
                    bytes.extend_from_slice(&totals.files.to_le_bytes());
                    bytes.extend_from_slice(&totals.depth.to_le_bytes());
                    bytes.extend_from_slice(tree.as_bytes());
                }
                Node::Link { target } => {
                    bytes.extend_from_slice(&(target.len() as u16).to_le_bytes());
                    bytes.extend_from_slice(target.as_bytes());
                }
            }
        }
        bytes
    }

    /// Reads a folder's bytes.
    ///
    /// # Errors
    /// They are not what [`Tree::encode`] writes.
    pub fn decode(bytes: &[u8]) -> Result<Tree, TreeError> {
        let mut rest = Bytes(bytes);
        let mut entries: Vec<Entry> = Vec::new();
        while !rest.0.is_empty() {
            let [kind, name_bytes] = rest.array()?;
            let name = rest.text(usize::from(name_bytes), TreeError::Name)?;
            let name = Name::new(name).map_err(|_| TreeError::Name)?;
            if entries.last().is_some_and(|last| last.name >= name) {
                return Err(TreeError::Name);
            }
            let modified_ns = rest.number()?;
            let node = match kind {
                FILE => Node::File { size: rest.number()?, content: Digest::from_bytes(rest.array()?) },
                FOLDER => {
                    let (bytes, files) = (rest.number()?, rest.number()?);
                    let totals = Totals { bytes, files, depth: u32::from_le_bytes(rest.array()?) };
                    Node::Folder { totals, tree: Digest::from_bytes(rest.array()?) }
                }
                LINK => {
                    let length = usize::from(u16::from_le_bytes(rest.array()?));
                    let target = rest.text(length, TreeError::Link)?;
                    if target.is_empty() || target.len() > LINK_BYTES_MAX || target.contains('\0') {
                        return Err(TreeError::Link);
                    }
                    Node::Link { target: target.into() }
                }
                _ => return Err(TreeError::Kind),
            };
            entries.push(Entry { name, modified_ns, node });
        }
        Ok(Tree(entries))
    }
}

struct Bytes<'a>(&'a [u8]);

impl<'a> Bytes<'a> {
    fn array<const N: usize>(&mut self) -> Result<[u8; N], TreeError> {
        let (first, rest) = self.0.split_first_chunk().ok_or(TreeError::Short)?;
        self.0 = rest;
        Ok(*first)
    }

    fn number(&mut self) -> Result<u64, TreeError> {
        Ok(u64::from_le_bytes(self.array()?))
    }

    fn text(&mut self, length: usize, error: TreeError) -> Result<&'a str, TreeError> {
        let (first, rest) = self.0.split_at_checked(length).ok_or(TreeError::Short)?;
        self.0 = rest;
        std::str::from_utf8(first).map_err(|_| error)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn node() -> impl Strategy<Value = Node> {
        let digest = any::<[u8; 32]>().prop_map(Digest::from_bytes);
        prop_oneof![
            (any::<u64>(), digest.clone()).prop_map(|(size, content)| Node::File { size, content }),
            (any::<u64>(), any::<u64>(), any::<u32>(), digest)
                .prop_map(|(bytes, files, depth, tree)| Node::Folder { tree, totals: Totals { bytes, files, depth } }),
            "[a-z./]{1,20}".prop_map(|target| Node::Link { target: target.into() }),
        ]
    }

    fn tree() -> impl Strategy<Value = Tree> {
        prop::collection::btree_map("[a-zé]{1,9}", (any::<u64>(), node()), 0..9).prop_map(|entries| {
            let entry =
                |(name, (modified_ns, node)): (String, _)| Entry { name: Name::new(&name).unwrap(), modified_ns, node };
            Tree::new(entries.into_iter().map(entry).collect()).unwrap()
        })
    }

    proptest! {
        #[test]
        fn bytes_and_tree_are_inverse(tree in tree()) {
            prop_assert_eq!(Tree::decode(&tree.encode()), Ok(tree));
        }

        #[test]
        fn any_bytes_are_a_tree_of_those_bytes_or_refused(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            if let Ok(tree) = Tree::decode(&bytes) {
                prop_assert_eq!(tree.encode(), bytes);
            }
        }

        #[test]
        fn cut_bytes_are_not_the_same_tree(tree in tree(), cut in 1usize..40) {
            let bytes = tree.encode();
            if let Some(end) = bytes.len().checked_sub(cut) {
                let short = &bytes[..end];
                prop_assert_ne!(Tree::decode(short), Ok(tree.clone()));
            }
        }
    }

    #[test]
    fn names_are_parsed_once() {
        for bad in ["", ".", "..", "a/b", "a\0", &"x".repeat(256)] {
            assert!(Name::new(bad).is_err(), "{bad:?} was taken");
        }
        for good in ["a", "...", "ä ö", "-", "CON", &"x".repeat(255)] {
            assert_eq!(Name::new(good).map(|name| name.as_str().to_owned()), Ok(good.to_owned()));
        }
    }
}

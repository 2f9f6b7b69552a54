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
// Exhaustive: a guest is told which of them it is.
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
    /// Bytes of the longest path to something in it, slashes between names included: 0 for a folder that holds nothing.
    pub path_bytes: u32,
}

impl Totals {
    /// What both amount to side by side; sums are held at the largest number.
    pub const fn plus(self, other: Totals) -> Totals {
        Totals {
            bytes: self.bytes.saturating_add(other.bytes),
            files: self.files.saturating_add(other.files),
            depth: if self.depth > other.depth { self.depth } else { other.depth },
            path_bytes: if self.path_bytes > other.path_bytes { self.path_bytes } else { other.path_bytes },
        }
    }

    /// Adds their bytes, 24 of them.
    pub(super) fn encode(&self, bytes: &mut Vec<u8>) {
        bytes.extend_from_slice(&self.bytes.to_le_bytes());
        bytes.extend_from_slice(&self.files.to_le_bytes());
        bytes.extend_from_slice(&self.depth.to_le_bytes());
        bytes.extend_from_slice(&self.path_bytes.to_le_bytes());
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
    /// What this node adds to its folder's totals, its name not included.
    pub const fn totals(&self) -> Totals {
        const ONE: Totals = Totals { bytes: 0, files: 1, depth: 0, path_bytes: 0 };
        match self {
            Node::File { size, .. } => Totals { bytes: *size, ..ONE },
            Node::Folder { totals, .. } => totals.plus(Totals { depth: totals.depth.saturating_add(1), ..ONE }),
            Node::Link { .. } => ONE,
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

impl Entry {
    /// What it adds to its folder's totals.
    pub fn totals(&self) -> Totals {
        let name = self.name.as_str().len() as u32;
        let totals = self.node.totals();
        let path_bytes = if totals.path_bytes == 0 { name } else { totals.path_bytes.saturating_add(name + 1) };
        Totals { path_bytes, ..totals }
    }

    /// How many bytes [`encode`](Entry::encode) adds.
    pub fn encoded_bytes(&self) -> usize {
        let own = match &self.node {
            Node::File { .. } => 8 + 32,
            Node::Folder { .. } => 8 + 8 + 4 + 4 + 32,
            Node::Link { target } => 2 + target.len(),
        };
        2 + self.name.as_str().len() + 8 + own
    }

    /// Adds the entry's bytes: its kind, name, modification time and what the kind needs; all numbers are little endian.
    pub fn encode(&self, bytes: &mut Vec<u8>) {
        let name = self.name.as_str().as_bytes();
        bytes.push(match self.node {
            Node::File { .. } => FILE,
            Node::Folder { .. } => FOLDER,
            Node::Link { .. } => LINK,
        });
        bytes.push(name.len() as u8);
        bytes.extend_from_slice(name);
        bytes.extend_from_slice(&self.modified_ns.to_le_bytes());
        match &self.node {
            Node::File { size, content } => {
                bytes.extend_from_slice(&size.to_le_bytes());
                bytes.extend_from_slice(content.as_bytes());
            }
            Node::Folder { tree, totals } => {
                totals.encode(bytes);
                bytes.extend_from_slice(tree.as_bytes());
            }
            Node::Link { target } => {
                bytes.extend_from_slice(&(target.len() as u16).to_le_bytes());
                bytes.extend_from_slice(target.as_bytes());
            }
        }
    }
}

/// A folder: its entries, sorted by the bytes of their names, no name twice.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Tree(Vec<Entry>);

/// Why bytes are no folder.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
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
    /// Parts are out of order, empty, or so few entries that they are not in parts.
    #[error("has parts that no folder is in")]
    Parts,
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
        self.0.iter().fold(Totals::default(), |sum, entry| sum.plus(entry.totals()))
    }

    /// The bytes of one object with all of it: those of its [entries](Entry::encode), one after the other. A folder of more than
    /// [`PART_ENTRIES`](super::PART_ENTRIES) is [stored](super::MemoryObjects::insert_tree) in parts instead.
    pub fn encode(&self) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(self.0.iter().map(Entry::encoded_bytes).sum());
        self.0.iter().for_each(|entry| entry.encode(&mut bytes));
        bytes
    }

    /// Reads the bytes of an object that holds entries.
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
                FOLDER => Node::Folder { totals: rest.totals()?, tree: Digest::from_bytes(rest.array()?) },
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

/// What is left of an object's bytes.
pub(super) struct Bytes<'a>(pub(super) &'a [u8]);

impl<'a> Bytes<'a> {
    pub(super) fn array<const N: usize>(&mut self) -> Result<[u8; N], TreeError> {
        let (first, rest) = self.0.split_first_chunk().ok_or(TreeError::Short)?;
        self.0 = rest;
        Ok(*first)
    }

    pub(super) fn number(&mut self) -> Result<u64, TreeError> {
        Ok(u64::from_le_bytes(self.array()?))
    }

    pub(super) fn totals(&mut self) -> Result<Totals, TreeError> {
        let (bytes, files) = (self.number()?, self.number()?);
        let (depth, path_bytes) = (u32::from_le_bytes(self.array()?), u32::from_le_bytes(self.array()?));
        Ok(Totals { bytes, files, depth, path_bytes })
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
            (any::<(u64, u64, u32, u32)>(), digest).prop_map(|((bytes, files, depth, path_bytes), tree)| {
                Node::Folder { tree, totals: Totals { bytes, files, depth, path_bytes } }
            }),
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
    fn the_longest_path_is_that_of_the_names_and_the_slashes_between_them() {
        let entry = |name: &str, node: Node| Entry { name: Name::new(name).unwrap(), modified_ns: 0, node };
        let folder = |entries: Vec<Entry>| {
            let tree = Tree::new(entries).unwrap();
            Node::Folder { totals: tree.totals(), tree: Digest::from_bytes([0; 32]) }
        };
        let file = || Node::File { size: 3, content: Digest::from_bytes([1; 32]) };
        let inner = folder(vec![entry("file", file()), entry("a", folder(vec![]))]);
        let top = Tree::new(vec![entry("b", inner), entry("long-name", file())]).unwrap();
        assert_eq!(top.totals(), Totals { bytes: 6, files: 4, depth: 2, path_bytes: "long-name".len() as u32 });
        let nested = Tree::new(vec![entry("longer", folder(vec![entry("file", file())]))]).unwrap();
        assert_eq!(nested.totals().path_bytes, "longer/file".len() as u32);
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

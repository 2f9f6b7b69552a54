//! A folder of many entries, in parts, so that whoever wants one name reads and writes few of them.
//!
//! Up to [`PART_ENTRIES`] entries are one object. More are in up to [`PARTS`] parts, by the first digit of a hash of their names;
//! each part is stored as a folder of its own, so one that is still too large is in parts again, by the next digit. So the objects
//! follow from the set of entries alone, whatever was there in between, and equal folders are equal digests. Who chooses names chooses
//! digits, at the price of guessing them: 16 guesses for one more level of one's own folder, and there are [`PART_LEVELS`] at most.
//!
//! Earlier versions wrote every folder as one object. Those are read; nothing writes them, and they are never a part.

use super::tree::Bytes;
use super::{Entry, MemoryObjects, ObjectError, Objects, Totals, Tree, TreeError, empty_tree};
use crate::digest::{Digest, Kind};

/// Entries that are one object; more are in parts.
pub const PART_ENTRIES: usize = 128;

/// Parts that a folder is split into, and each part again.
pub const PARTS: usize = 1 << DIGIT_BITS;

/// Levels of parts; a part of the last one may hold any number of entries.
pub const PART_LEVELS: u32 = u64::BITS / DIGIT_BITS;

const DIGIT_BITS: u32 = 4;

/// What an object of parts begins with. Kinds of entries have the numbers below.
const PARTS_KIND: u8 = 4;

/// Bytes in front of the lines.
const HEAD_BYTES: usize = 1 + 1 + 8;

/// Bytes of a line.
const LINE_BYTES: usize = 1 + 8 + 24 + 32;

/// The key under which names are hashed. Never change it: digests in stores depend on it.
const KEY: &[u8; 32] = b"hutch v1 part of a large folder.";

/// Which part a name is in, level by level.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Route(u64);

impl Route {
    /// The route to a name.
    pub fn of(name: &str) -> Route {
        let hash = blake3::keyed_hash(KEY, name.as_bytes());
        let (first, _) = hash.as_bytes().split_first_chunk().unwrap_or((&[0; 8], &[]));
        Route(u64::from_be_bytes(*first))
    }

    /// The digit of the part at a level; the topmost is level 0.
    pub const fn digit(self, level: u32) -> u8 {
        let shift = (PART_LEVELS - 1).saturating_sub(level) * DIGIT_BITS;
        ((self.0 >> shift) & (PARTS as u64 - 1)) as u8
    }
}

/// Where a part is: the digits that all names in it have first.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Prefix {
    digits: u64,
    levels: u32,
}

impl Prefix {
    /// That of the whole folder.
    pub const WHOLE: Prefix = Prefix { digits: 0, levels: 0 };

    /// The first digits of a hash, and how many; `None` if that is no place.
    const fn new(digits: u64, levels: u32) -> Option<Prefix> {
        let at = Prefix { digits, levels };
        if levels < PART_LEVELS && at.holds(Route(digits)) { Some(at) } else { None }
    }

    /// That of a part one level below. Below the last level there is none: it stays.
    #[must_use]
    pub const fn below(self, digit: u8) -> Prefix {
        if self.levels == PART_LEVELS {
            return self;
        }
        let levels = self.levels + 1;
        Prefix { digits: self.digits | ((digit as u64) << ((PART_LEVELS - levels) * DIGIT_BITS)), levels }
    }

    /// The digit at a level that it has.
    pub const fn digit(self, level: u32) -> u8 {
        Route(self.digits).digit(level)
    }

    /// How many digits it has.
    pub const fn levels(self) -> u32 {
        self.levels
    }

    /// Whether a name is in the part.
    pub const fn holds(self, route: Route) -> bool {
        // No digit is no bit: all are shifted out.
        match u64::MAX.checked_shl((PART_LEVELS - self.levels) * DIGIT_BITS) {
            Some(mask) => route.0 & mask == self.digits,
            None => true,
        }
    }

    /// Whether so many entries are one object there.
    pub const fn is_one_object(self, entries: u64) -> bool {
        entries <= PART_ENTRIES as u64 || self.levels == PART_LEVELS
    }
}

/// A line of a folder in parts.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Part {
    /// The digit that the names in it have at this level.
    pub digit: u8,
    /// How many entries it holds.
    pub entries: u64,
    /// What they amount to.
    pub totals: Totals,
    /// The object that holds them, or their parts.
    pub tree: Digest,
}

/// A folder in parts, or a part in parts, and which: by digit, none of them empty, and more than [`PART_ENTRIES`] entries in all.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Parts {
    at: Prefix,
    parts: Vec<Part>,
}

impl Parts {
    /// Takes the parts of what is at `at`, by digit; `None` if nothing is in such parts there.
    pub fn new(at: Prefix, parts: Vec<Part>) -> Option<Parts> {
        let ordered = parts.is_sorted_by(|a, b| a.digit < b.digit);
        let is_digit = |part: &Part| usize::from(part.digit) < PARTS && part.entries > 0;
        let sum = parts.iter().try_fold(0u64, |sum, part| sum.checked_add(part.entries));
        let many = sum.is_some_and(|sum| !at.is_one_object(sum));
        (ordered && many && parts.iter().all(is_digit)).then_some(Parts { at, parts })
    }

    /// The parts, by digit.
    pub fn parts(&self) -> &[Part] {
        &self.parts
    }

    /// The part with this digit.
    pub fn get(&self, digit: u8) -> Option<&Part> {
        self.parts.binary_search_by_key(&digit, |part| part.digit).ok().and_then(|at| self.parts.get(at))
    }

    /// The object's bytes: a kind, where it is, and each part's digit, number of entries, totals and digest; all numbers are little
    /// endian.
    pub fn encode(&self) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(HEAD_BYTES + self.parts.len() * LINE_BYTES);
        bytes.extend_from_slice(&[PARTS_KIND, self.at.levels as u8]);
        bytes.extend_from_slice(&self.at.digits.to_le_bytes());
        for part in &self.parts {
            bytes.push(part.digit);
            bytes.extend_from_slice(&part.entries.to_le_bytes());
            part.totals.encode(&mut bytes);
            bytes.extend_from_slice(part.tree.as_bytes());
        }
        bytes
    }

    fn decode(bytes: &[u8]) -> Result<Parts, TreeError> {
        let mut rest = Bytes(bytes);
        let [_, levels] = rest.array()?;
        let at = Prefix::new(rest.number()?, u32::from(levels)).ok_or(TreeError::Parts)?;
        let mut parts = Vec::with_capacity(PARTS);
        while !rest.0.is_empty() {
            let [digit] = rest.array()?;
            let (entries, totals) = (rest.number()?, rest.totals()?);
            parts.push(Part { digit, entries, totals, tree: Digest::from_bytes(rest.array()?) });
        }
        Parts::new(at, parts).ok_or(TreeError::Parts)
    }
}

/// What one object holds of a folder.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum TreeObject {
    /// Its entries.
    Entries(Tree),
    /// The parts that they are in.
    Parts(Parts),
}

impl TreeObject {
    /// Reads an object's bytes.
    ///
    /// # Errors
    /// They are not what [`Tree::encode`] or [`Parts::encode`] writes.
    pub fn decode(bytes: &[u8]) -> Result<TreeObject, TreeError> {
        match bytes.first() {
            Some(&PARTS_KIND) => Parts::decode(bytes).map(TreeObject::Parts),
            _ => Tree::decode(bytes).map(TreeObject::Entries),
        }
    }

    /// The object's bytes.
    pub fn encode(&self) -> Vec<u8> {
        match self {
            TreeObject::Entries(tree) => tree.encode(),
            TreeObject::Parts(parts) => parts.encode(),
        }
    }

    /// How many entries are in it and below it; not those of folders in it.
    pub fn entries(&self) -> u64 {
        match self {
            TreeObject::Entries(tree) => tree.entries().len() as u64,
            TreeObject::Parts(parts) => parts.parts.iter().fold(0, |sum, part| sum.saturating_add(part.entries)),
        }
    }

    /// What it amounts to.
    pub fn totals(&self) -> Totals {
        match self {
            TreeObject::Entries(tree) => tree.totals(),
            TreeObject::Parts(parts) => parts.parts.iter().fold(Totals::default(), |sum, part| sum.plus(part.totals)),
        }
    }

    /// Whether it is a folder's, and not one of a part that is in parts.
    pub fn is_folder(&self) -> bool {
        match self {
            TreeObject::Entries(_) => true,
            TreeObject::Parts(parts) => parts.at == Prefix::WHOLE,
        }
    }

    /// Whether it is what the line above it says, at this place, in the one form that it has there, and with no name that is elsewhere.
    /// Whoever takes objects in, or lets a guest see them, asks this.
    pub fn is_part(&self, part: &Part, at: Prefix) -> bool {
        let in_place = |tree: &Tree| tree.entries().iter().all(|entry| at.holds(Route::of(entry.name.as_str())));
        self.amounts_to(part, at) && if let TreeObject::Entries(tree) = self { in_place(tree) } else { true }
    }

    /// The same but for the names: hashing them takes as long as all else.
    fn amounts_to(&self, part: &Part, at: Prefix) -> bool {
        let in_form = match self {
            TreeObject::Parts(parts) => parts.at == at,
            TreeObject::Entries(_) => at.is_one_object(part.entries),
        };
        (part.entries, part.totals) == (self.entries(), self.totals()) && in_form
    }
}

impl Default for TreeObject {
    fn default() -> TreeObject {
        TreeObject::Entries(Tree::default())
    }
}

/// Reads the object of a folder: all of it, or which parts it is in.
///
/// # Errors
/// It is missing, or no folder's.
pub fn read_object(objects: &dyn Objects, digest: &Digest) -> Result<TreeObject, ObjectError> {
    let object = read_any(objects, digest)?;
    if object.is_folder() {
        return Ok(object);
    }
    Err(ObjectError::damaged(Kind::Tree, *digest, "is a part of a folder"))
}

fn read_any(objects: &dyn Objects, digest: &Digest) -> Result<TreeObject, ObjectError> {
    if *digest == empty_tree() {
        return Ok(TreeObject::default());
    }
    let bytes = objects.get(Kind::Tree, digest)?;
    TreeObject::decode(&bytes).map_err(|error| ObjectError::damaged(Kind::Tree, *digest, error.to_string()))
}

/// Reads the object of a part, which is at `at`. Which names are in it was looked at when it was taken in.
///
/// # Errors
/// It is missing, or not what its line says.
pub fn read_part(objects: &dyn Objects, part: &Part, at: Prefix) -> Result<TreeObject, ObjectError> {
    let object = read_any(objects, &part.tree)?;
    if object.amounts_to(part, at) {
        return Ok(object);
    }
    Err(ObjectError::damaged(Kind::Tree, part.tree, "is not the part that its folder says"))
}

/// Reads a folder, with all its parts.
///
/// # Errors
/// An object is missing, or not what it should be.
pub fn read_tree(objects: &dyn Objects, digest: &Digest) -> Result<Tree, ObjectError> {
    match read_object(objects, digest)? {
        TreeObject::Entries(tree) => Ok(tree),
        object => {
            let mut entries = Vec::new();
            gather(objects, Prefix::WHOLE, object, &mut entries)?;
            sorted(entries, digest)
        }
    }
}

/// What a folder has under one name.
///
/// # Errors
/// As for [`read_tree`], of the parts on the way to the name.
pub fn find_in(objects: &dyn Objects, digest: &Digest, name: &str) -> Result<Option<Entry>, ObjectError> {
    Ok(read_some(objects, digest, [name])?.get(name).cloned())
}

/// Reads of a folder what is in the same parts as these names: all of it that has one of them, and more.
///
/// # Errors
/// As for [`read_tree`], of the parts on the way to the names.
pub fn read_some<'n>(
    objects: &dyn Objects,
    digest: &Digest,
    names: impl IntoIterator<Item = &'n str>,
) -> Result<Tree, ObjectError> {
    let parts = match read_object(objects, digest)? {
        TreeObject::Entries(tree) => return Ok(tree),
        TreeObject::Parts(parts) => parts,
    };
    let mut routes: Vec<Route> = names.into_iter().map(Route::of).collect();
    routes.sort_unstable();
    let mut entries = Vec::new();
    gather_some(objects, Prefix::WHOLE, &parts, &routes, &mut entries)?;
    sorted(entries, digest)
}

/// Reads of two folders what is in parts that differ: all that differs, and more.
///
/// # Errors
/// As for [`read_tree`], of those parts.
pub fn read_changed(objects: &dyn Objects, before: &Digest, after: &Digest) -> Result<(Tree, Tree), ObjectError> {
    if before == after {
        return Ok(Default::default());
    }
    let (old, new) = (read_object(objects, before)?, read_object(objects, after)?);
    let (mut was, mut is) = (Vec::new(), Vec::new());
    gather_changed(objects, Prefix::WHOLE, old, new, (&mut was, &mut is))?;
    Ok((sorted(was, before)?, sorted(is, after)?))
}

/// Entries of parts, which have no name in common.
fn sorted(entries: Vec<Entry>, digest: &Digest) -> Result<Tree, ObjectError> {
    Tree::new(entries).ok_or_else(|| ObjectError::damaged(Kind::Tree, *digest, "has a name twice"))
}

/// This recursion, and each here, is as deep as there are [levels](PART_LEVELS).
fn gather(objects: &dyn Objects, at: Prefix, object: TreeObject, entries: &mut Vec<Entry>) -> Result<(), ObjectError> {
    match object {
        TreeObject::Entries(tree) => entries.extend(tree.into_entries()),
        TreeObject::Parts(parts) => {
            for part in parts.parts() {
                let at = at.below(part.digit);
                gather(objects, at, read_part(objects, part, at)?, entries)?;
            }
        }
    }
    Ok(())
}

fn gather_some(
    objects: &dyn Objects,
    at: Prefix,
    parts: &Parts,
    mut routes: &[Route],
    entries: &mut Vec<Entry>,
) -> Result<(), ObjectError> {
    for part in parts.parts() {
        let level = at.levels();
        routes = routes.split_at(routes.partition_point(|route| route.digit(level) < part.digit)).1;
        let (inside, behind) = routes.split_at(routes.partition_point(|route| route.digit(level) == part.digit));
        routes = behind;
        if inside.is_empty() {
            continue;
        }
        let at = at.below(part.digit);
        match read_part(objects, part, at)? {
            TreeObject::Entries(tree) => entries.extend(tree.into_entries()),
            TreeObject::Parts(parts) => gather_some(objects, at, &parts, inside, entries)?,
        }
    }
    Ok(())
}

fn gather_changed(
    objects: &dyn Objects,
    at: Prefix,
    old: TreeObject,
    new: TreeObject,
    (was, is): (&mut Vec<Entry>, &mut Vec<Entry>),
) -> Result<(), ObjectError> {
    let (old, new) = match (old, new) {
        (TreeObject::Parts(old), TreeObject::Parts(new)) => (old, new),
        (old, new) => {
            gather(objects, at, old, was)?;
            return gather(objects, at, new, is);
        }
    };
    for digit in 0..PARTS as u8 {
        let (old, new) = (old.get(digit), new.get(digit));
        let at = at.below(digit);
        let read = |part: Option<&Part>| part.map_or(Ok(TreeObject::default()), |part| read_part(objects, part, at));
        if old != new {
            gather_changed(objects, at, read(old)?, read(new)?, (was, is))?;
        }
    }
    Ok(())
}

/// Takes in all objects of a folder; the digest of the topmost.
pub(super) fn insert(objects: &mut MemoryObjects, tree: &Tree) -> Digest {
    if Prefix::WHOLE.is_one_object(tree.entries().len() as u64) {
        return objects.insert(Kind::Tree, tree.encode());
    }
    let mut entries: Vec<(Route, &Entry)> =
        tree.entries().iter().map(|entry| (Route::of(entry.name.as_str()), entry)).collect();
    // By name within one route, so that what is one object in the end is sorted soon.
    entries.sort_by_key(|(route, _)| *route);
    let object = split(objects, Prefix::WHOLE, &entries);
    objects.insert(Kind::Tree, object.encode())
}

/// The object of entries, which are by route, and those below it taken in.
fn split(objects: &mut MemoryObjects, at: Prefix, entries: &[(Route, &Entry)]) -> TreeObject {
    if !at.is_one_object(entries.len() as u64) {
        let level = at.levels();
        let parts = entries.chunk_by(|(a, _), (b, _)| a.digit(level) == b.digit(level)).map(|inside| {
            let digit = inside.first().map_or(0, |(route, _)| route.digit(level));
            let object = split(objects, at.below(digit), inside);
            let tree = objects.insert(Kind::Tree, object.encode());
            Part { digit, entries: inside.len() as u64, totals: object.totals(), tree }
        });
        if let Some(parts) = Parts::new(at, parts.collect()) {
            return TreeObject::Parts(parts);
        }
    }
    // They come out of a folder, so no name is there twice.
    let entries = entries.iter().map(|(_, entry)| (*entry).clone()).collect();
    TreeObject::Entries(Tree::new(entries).unwrap_or_default())
}

#[cfg(test)]
#[path = "parts_tests.rs"]
mod tests;

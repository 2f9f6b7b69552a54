//! Real folders as states: every file named, nothing followed, everything bounded.

use super::Plain;
use super::content::read_file;
use super::disk::{self, Form, Stamp};
use super::handles::Handles;
use super::links::stays_inside;
use super::stamps::{self, Mark, Note, Shown};
use crate::error::StoreError;
use crate::names::VolumeName;
use crate::store::Store;
use cap_std::fs::Dir;
use hutch_model::digest::{Digest, Kind};
use hutch_model::instant::Instant;
use hutch_model::limits::Limit;
use hutch_model::snapshot::{
    CHUNK_BYTES, DEPTH_MAX, Entry, MemoryObjects, Name, Node, ObjectError, Objects, PathChange, Totals, Tree, diff,
    read_tree,
};
use std::collections::{HashMap, HashSet};
use std::io::{self, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

/// Content that is kept in memory until it is stored; what is beyond is read a second time.
const MEMORY_BYTES: u64 = 16 << 20;

/// How much a folder may hold.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Bounds {
    /// Files, folders and links.
    pub files: u64,
    /// Bytes of all files.
    pub bytes: u64,
    /// Folders within folders; at most 1024 whatever is said here.
    pub depth: usize,
}

/// Which modification times a state gets from a folder.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Times {
    /// Those that the files have.
    Kept,
    /// The same for all: folders with equal content become equal states.
    Fixed(Instant),
}

/// A state that was read from a folder, and its objects until they are stored. What does not fit in memory is read again
/// when it is asked for; if it changed meanwhile, that object can't be had.
pub struct Imported {
    tree: Digest,
    totals: Totals,
    memory: MemoryObjects,
    files: Vec<Vec<String>>,
    pub(super) chunks: HashMap<Digest, (usize, u64)>,
    handles: Mutex<Handles>,
}

impl Imported {
    /// The state.
    pub const fn tree(&self) -> Digest {
        self.tree
    }

    /// What it amounts to.
    pub const fn totals(&self) -> Totals {
        self.totals
    }

    /// What differs from the state `before`, which is among `stored`.
    ///
    /// # Errors
    /// An object is missing or damaged.
    pub fn changes_from(&self, stored: &dyn Objects, before: &Digest) -> Result<Vec<PathChange>, ObjectError> {
        diff(&Overlay(&self.memory, stored), before, &self.tree)
    }

    fn reread(&self, file: usize, start: u64) -> io::Result<Vec<u8>> {
        let path = self.files.get(file).and_then(|path| path.split_last());
        let (name, above) = path.ok_or(io::ErrorKind::NotFound)?;
        let mut handles = self.handles.lock().unwrap_or_else(PoisonError::into_inner);
        let folder = handles.at(above)?.ok_or(io::ErrorKind::NotFound)?;
        let mut file = disk::read(folder, name)?;
        file.seek(SeekFrom::Start(start))?;
        let mut bytes = Vec::with_capacity(CHUNK_BYTES as usize);
        file.take(CHUNK_BYTES).read_to_end(&mut bytes)?;
        Ok(bytes)
    }
}

impl std::fmt::Debug for Imported {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Imported").field("tree", &self.tree).field("totals", &self.totals).finish_non_exhaustive()
    }
}

impl Objects for Imported {
    fn get(&self, kind: Kind, digest: &Digest) -> Result<Arc<[u8]>, ObjectError> {
        let Some((file, start)) = self.chunks.get(digest).filter(|_| kind == Kind::Chunk) else {
            return self.memory.get(kind, digest);
        };
        let failed = |reason: String| ObjectError { digest: *digest, kind, reason };
        let bytes = self.reread(*file, *start).map_err(|error| failed(format!("could not be read again: {error}")))?;
        match Digest::of(kind, &bytes) == *digest {
            true => Ok(bytes.into()),
            false => Err(failed("changed while it was read".to_owned())),
        }
    }
}

struct Overlay<'a>(&'a MemoryObjects, &'a dyn Objects);

impl Objects for Overlay<'_> {
    fn get(&self, kind: Kind, digest: &Digest) -> Result<Arc<[u8]>, ObjectError> {
        self.0.find(digest).map_or_else(|| self.1.get(kind, digest), |bytes| Ok(Arc::clone(bytes)))
    }
}

/// Reads the folder `root` as a state. `path` is where it is, for messages.
///
/// # Errors
/// It holds what no state can hold (a device, a pipe, a link that leaves it, a name that is not UTF-8), or more than
/// `bounds`; or it can't be read.
pub fn import_folder(root: &Dir, path: &Path, bounds: &Bounds, times: Times) -> Result<Imported, StoreError> {
    scan(None, root, path, bounds, times).map(|(imported, _)| imported)
}

/// Reads the directory of a volume, taking what looks as it did from what it shows. The notes say how it looks now.
pub(super) fn import_volume(
    plain: &Plain,
    volume: &VolumeName,
    shown: Shown,
    root: Dir,
    bounds: &Bounds,
) -> Result<(Imported, Vec<Note>), StoreError> {
    let expected = Expected { plain, volume, objects: plain.store.objects(), shown };
    let path = plain.path(volume, &[]);
    scan(Some(&expected), &root, &path, bounds, Times::Kept)
}

fn scan(
    expected: Option<&Expected<'_>>,
    root: &Dir,
    path: &Path,
    bounds: &Bounds,
    times: Times,
) -> Result<(Imported, Vec<Note>), StoreError> {
    let mut scanner = Scanner {
        expected,
        root: path,
        bounds: Bounds { depth: bounds.depth.min(DEPTH_MAX), ..*bounds },
        times,
        totals: Totals::default(),
        memory: MemoryObjects::default(),
        memory_bytes: 0,
        files: Vec::new(),
        chunks: HashMap::new(),
        notes: Vec::new(),
    };
    let state = expected.map(|expected| expected.shown.tree);
    let own = root.try_clone().map_err(|error| StoreError::io(path, "open the folder", error))?;
    let tree = scanner.folders(own, state)?;
    let Node::Folder { tree, totals } = scanner.memory.insert_tree(&tree) else {
        return Err(StoreError::Record("a folder is no folder".to_owned()));
    };
    let root = root.try_clone().map_err(|error| StoreError::io(path, "open the folder", error))?;
    let Scanner { memory, files, chunks, notes, .. } = scanner;
    Ok((Imported { tree, totals, memory, files, chunks, handles: Mutex::new(Handles::new(root)) }, notes))
}

/// What a volume's directory should hold.
struct Expected<'a> {
    plain: &'a Plain,
    volume: &'a VolumeName,
    objects: Arc<dyn Objects>,
    shown: Shown,
}

/// A folder that is being read.
struct Frame {
    folder: Dir,
    /// Where it stands in the folder above.
    place: Option<Place>,
    old: Tree,
    marks: HashMap<String, Mark>,
    listed: HashSet<String>,
    names: std::vec::IntoIter<String>,
    entries: Vec<Entry>,
}

/// A name, what stands there, and what should.
struct Place {
    name: String,
    stamp: Stamp,
    old: Option<Entry>,
}

enum Found {
    /// It went away meanwhile.
    Nothing,
    Entry(Entry),
    Folder(Dir, Place),
}

struct Scanner<'a> {
    expected: Option<&'a Expected<'a>>,
    root: &'a Path,
    bounds: Bounds,
    times: Times,
    totals: Totals,
    memory: MemoryObjects,
    memory_bytes: u64,
    files: Vec<Vec<String>>,
    chunks: HashMap<Digest, (usize, u64)>,
    notes: Vec<Note>,
}

impl Scanner<'_> {
    fn at(&self, path: &[String]) -> PathBuf {
        let mut full = self.root.to_owned();
        full.extend(path);
        full
    }

    fn refuse<T>(&self, path: &[String], reason: impl Into<String>) -> Result<T, StoreError> {
        Err(StoreError::Refused { path: self.at(path), reason: reason.into() })
    }

    /// What nothing but a person can mend is refused; the rest is the system's failure.
    fn failed(&self, path: &[String], error: io::Error) -> StoreError {
        match error.kind() {
            io::ErrorKind::InvalidData => StoreError::Refused { path: self.at(path), reason: error.to_string() },
            _ => StoreError::io(self.at(path), "read", error),
        }
    }

    fn count(&mut self, node: &Node, path: &[String]) -> Result<(), StoreError> {
        // What is in a folder was counted one by one.
        let own = if let Node::Folder { .. } = node { Totals { files: 1, ..Totals::default() } } else { node.totals() };
        self.totals = self.totals.plus(own);
        let limits = [
            (Limit::StateFiles, self.totals.files, self.bounds.files),
            (Limit::StateBytes, self.totals.bytes, self.bounds.bytes),
        ];
        match limits.into_iter().find(|(_, found, allowed)| found > allowed) {
            Some((limit, _, allowed)) => Err(StoreError::Limited { path: self.at(path), limit, allowed }),
            None => Ok(()),
        }
    }

    /// Reads all folders from `root` down. `state` is what it should hold, if anything is known of it.
    fn folders(&mut self, root: Dir, state: Option<Digest>) -> Result<Tree, StoreError> {
        let mut path = Vec::new();
        let mut open = vec![self.enter(root, &path, state, None)?];
        while let Some(frame) = open.last_mut() {
            if let Some(name) = frame.names.next() {
                path.push(name.clone());
                if path.len() > self.bounds.depth {
                    return self.refuse(&path, format!("is more than {} folders deep", self.bounds.depth));
                }
                match self.look(frame, &path, &name)? {
                    Found::Nothing => {}
                    Found::Entry(entry) => frame.entries.push(entry),
                    Found::Folder(inside, place) => {
                        let state = match place.old.as_ref().map(|entry| &entry.node) {
                            Some(Node::Folder { tree, .. }) => Some(*tree),
                            _ => None,
                        };
                        let frame = self.enter(inside, &path, state, Some(place))?;
                        open.push(frame);
                        continue;
                    }
                }
                path.pop();
            } else if let Some(frame) = open.pop() {
                let (place, tree) = self.leave(frame, &path)?;
                let (Some(parent), Some(place)) = (open.last_mut(), place) else { return Ok(tree) };
                let node = self.memory.insert_tree(&tree);
                let entry = self.finish(place, &path, node)?;
                parent.entries.push(entry);
                path.pop();
            }
        }
        Ok(Tree::default())
    }

    fn enter(
        &self,
        folder: Dir,
        path: &[String],
        state: Option<Digest>,
        place: Option<Place>,
    ) -> Result<Frame, StoreError> {
        let (mut old, mut marks) = (Tree::default(), HashMap::new());
        if let (Some(expected), Some(state)) = (self.expected, state) {
            let store = &expected.plain.store;
            let damaged = |error| StoreError::object(&store.place().database(), &error);
            old = read_tree(&*expected.objects, &state).map_err(damaged)?;
            marks = store.pool().sql(|connection| stamps::all(connection, expected.volume, &path.join("/")))?;
        }
        let names = disk::list(&folder).map_err(|error| self.failed(path, error))?;
        let entries = Vec::with_capacity(names.len());
        Ok(Frame {
            folder,
            place,
            old,
            marks,
            listed: names.iter().cloned().collect(),
            names: names.into_iter(),
            entries,
        })
    }

    /// Ends a folder: what it can't show is still in it.
    fn leave(&mut self, frame: Frame, path: &[String]) -> Result<(Option<Place>, Tree), StoreError> {
        let Frame { place, old, marks, listed, mut entries, .. } = frame;
        for entry in old.into_entries() {
            let name = entry.name.as_str();
            if marks.get(name) == Some(&Mark::Withheld) && !listed.contains(name) {
                self.count(&entry.node, path)?;
                entries.push(entry);
            }
        }
        let tree = Tree::new(entries).map_or_else(|| self.refuse(path, "lists a name twice"), Ok)?;
        Ok((place, tree))
    }

    /// Looks at one name of a folder.
    fn look(&mut self, frame: &Frame, path: &[String], name: &str) -> Result<Found, StoreError> {
        let Some(stamp) = disk::look(&frame.folder, name).map_err(|error| self.failed(path, error))? else {
            return Ok(Found::Nothing);
        };
        let old = frame.old.get(name).cloned();
        let known = frame.marks.get(name) == Some(&Mark::Seen(stamp));
        let node = match (stamp.form, old.as_ref().filter(|_| known)) {
            (Form::File | Form::Link, Some(entry)) => entry.node.clone(),
            (Form::File, None) => self.file(&frame.folder, path, name)?,
            (Form::Link, None) => {
                let target = disk::link_target(&frame.folder, name).map_err(|error| self.failed(path, error))?;
                if !stays_inside(path.len() - 1, &target) {
                    return self.refuse(path, format!("is a link that could leave its folder, to {target:?}"));
                }
                Node::Link { target: target.into() }
            }
            (Form::Folder, _) => {
                let inside = disk::folder(&frame.folder, name);
                let inside = inside.and_then(|inside| inside.ok_or(io::ErrorKind::NotFound.into()));
                let inside = inside.map_err(|error| self.failed(path, error))?;
                return Ok(Found::Folder(inside, Place { name: name.to_owned(), stamp, old }));
            }
            (Form::Other, _) => return self.refuse(path, "is no regular file, folder or link"),
        };
        if !known && old.as_ref().is_some_and(|old| old.node == node) {
            let folder = path.split_last().map(|(_, above)| above.join("/")).unwrap_or_default();
            self.notes.push(Note { folder, name: name.to_owned(), mark: Some(Mark::Seen(stamp)) });
        }
        self.finish(Place { name: name.to_owned(), stamp, old }, path, node).map(Found::Entry)
    }

    /// The entry for what was found in a place: the old one if it says the same.
    fn finish(&mut self, place: Place, path: &[String], node: Node) -> Result<Entry, StoreError> {
        self.count(&node, path)?;
        let Place { name, stamp, old } = place;
        if let Some(old) = old.filter(|old| old.node == node) {
            return Ok(old);
        }
        let modified_ns = match self.times {
            Times::Kept => stamp.modified_ns,
            Times::Fixed(instant) => instant.unix_ns(),
        };
        let name = Name::new(&name).or_else(|error| self.refuse(path, format!("has a name that {error}")))?;
        Ok(Entry { name, modified_ns, node })
    }

    fn file(&mut self, folder: &Dir, path: &[String], name: &str) -> Result<Node, StoreError> {
        let mut file = disk::read(folder, name).map_err(|error| self.failed(path, error))?;
        let allowed = self.bounds.bytes.saturating_sub(self.totals.bytes);
        let at = self.files.len();
        let (mut kept, mut again) = (Vec::new(), Vec::new());
        let memory_bytes = &mut self.memory_bytes;
        let read = read_file(&mut file, allowed, &mut self.memory, &mut |digest, start, bytes| {
            if *memory_bytes + bytes.len() as u64 <= MEMORY_BYTES {
                *memory_bytes += bytes.len() as u64;
                kept.push((digest, Arc::<[u8]>::from(bytes)));
            } else {
                again.push((digest, (at, start)));
            }
        });
        let node = read.map_err(|error| self.failed(path, error))?;
        for (digest, bytes) in kept {
            self.memory.insert_named(digest, bytes);
        }
        if !again.is_empty() {
            self.files.push(path.to_vec());
            self.chunks.extend(again);
        }
        let limit = Limit::StateBytes;
        node.ok_or_else(|| StoreError::Limited { path: self.at(path), limit, allowed: self.bounds.bytes })
    }
}

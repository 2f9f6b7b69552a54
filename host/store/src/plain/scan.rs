//! Real folders as states: every file named, nothing followed, everything bounded.

use super::Plain;
use super::check::can_be_held;
use super::content::read_file;
use super::judge::Look;
use super::stamps::{FolderId, Mark, Shown, content};
use crate::error::{StoreError, at};
use crate::names::VolumeName;
use crate::skipped::Skipped;
use cap_std::fs::Dir;
use hutch_folder::{Form, Handles, Stamp, link_target, list, look, open_file};
use hutch_model::acted_on::is_acted_on;
use hutch_model::digest::{Digest, Kind};
use hutch_model::instant::Instant;
use hutch_model::limits::Limit;
use hutch_model::snapshot::{
    CHUNK_BYTES, Changes, DEPTH_MAX, Entry, MemoryObjects, Name, Node, ObjectError, Objects, Totals, Tree, diff,
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

impl Bounds {
    /// The most that any state may hold.
    pub fn widest() -> Bounds {
        Bounds { files: Limit::StateFiles.info().ceiling, bytes: Limit::StateBytes.info().ceiling, depth: DEPTH_MAX }
    }
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
    base: Option<Digest>,
    totals: Totals,
    skipped: Skipped,
    memory: MemoryObjects,
    path: PathBuf,
    files: Vec<Vec<String>>,
    pub(super) chunks: HashMap<Digest, (usize, u64)>,
    handles: Mutex<Handles>,
}

impl Imported {
    /// The state.
    pub const fn tree(&self) -> Digest {
        self.tree
    }

    /// The state that the folder was to show when it was read, if it was a volume's: what differs is what others changed, and the
    /// edit starts from here and from no other state.
    pub const fn base(&self) -> Option<Digest> {
        self.base
    }

    /// Whether it is another state than the one that the folder was to show.
    pub fn is_edit(&self) -> bool {
        self.base.is_some_and(|base| base != self.tree)
    }

    /// What it amounts to.
    pub const fn totals(&self) -> Totals {
        self.totals
    }

    /// What is in the folder and not in the state.
    pub const fn skipped(&self) -> &Skipped {
        &self.skipped
    }

    /// What differs from the state `before`, which is among `stored`.
    ///
    /// # Errors
    /// An object is missing or damaged.
    pub fn changes_from(&self, stored: &dyn Objects, before: &Digest) -> Result<Changes, ObjectError> {
        diff(&Overlay(&self.memory, stored), before, &self.tree)
    }

    fn reread(&self, file: usize, start: u64) -> io::Result<Vec<u8>> {
        let path = self.files.get(file).and_then(|path| path.split_last());
        let (name, above) = path.ok_or(io::ErrorKind::NotFound)?;
        let mut handles = self.handles.lock().unwrap_or_else(PoisonError::into_inner);
        let folder = handles.at(above)?.ok_or(io::ErrorKind::NotFound)?;
        let mut file = open_file(folder, name)?;
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
        let changed = || {
            let mut path = self.path.clone();
            path.extend(self.files.get(*file).into_iter().flatten());
            let lack = hutch_model::snapshot::Lack::Changed(at(&path));
            ObjectError { digest: *digest, kind, lack }
        };
        match self.reread(*file, *start) {
            Ok(bytes) if Digest::of(kind, &bytes) == *digest => Ok(bytes.into()),
            Ok(_) => Err(changed()),
            Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::InvalidInput) => {
                Err(changed())
            }
            Err(error) => Err(ObjectError::unreadable(kind, *digest, error)),
        }
    }
}

struct Overlay<'a>(&'a MemoryObjects, &'a dyn Objects);

impl Objects for Overlay<'_> {
    fn get(&self, kind: Kind, digest: &Digest) -> Result<Arc<[u8]>, ObjectError> {
        self.0.find(digest).map_or_else(|| self.1.get(kind, digest), |bytes| Ok(Arc::clone(bytes)))
    }
}

/// Reads the folder `root` as a state. `path` is where it is, for messages. What no state can hold (a device, a pipe, a link that
/// leaves it, a name that is not UTF-8) is skipped, and said. What the user may not read is an error here, and in a volume's directory
/// it is skipped too: what the state has of it stays, and nobody takes it for removed.
///
/// # Errors
/// It holds more than `bounds`, or can't be read.
pub fn import_folder(root: &Dir, path: &Path, bounds: &Bounds, times: Times) -> Result<Imported, StoreError> {
    scan(None, root, path, bounds, times)
}

/// Reads the directory of a volume, taking what looks as it did from what it shows. If it is to learn, how it looks now is
/// remembered.
pub(super) fn import_volume(
    plain: &Plain,
    (volume, shown, root): (&VolumeName, Shown, Dir),
    bounds: &Bounds,
    learn: bool,
) -> Result<Imported, StoreError> {
    let top = match learn {
        true => Some(plain.stamps.make_top(volume)?),
        false => plain.stamps.top(volume)?,
    };
    let (objects, restarted, begun_ns) = (plain.store.objects(), plain.is_restarted()?, (plain.now_ns)());
    let expected = Expected { plain, objects, shown, top, learn, restarted, begun_ns };
    let _together = learn.then(|| plain.stamps.batch()).transpose()?;
    let imported = scan(Some(&expected), &root, &plain.full_path(volume, &[]), bounds, Times::Kept)?;
    Ok(Imported { base: Some(shown.tree), ..imported })
}

fn scan(
    expected: Option<&Expected<'_>>,
    root: &Dir,
    path: &Path,
    bounds: &Bounds,
    times: Times,
) -> Result<Imported, StoreError> {
    let own = || root.try_clone().map_err(|error| StoreError::io(path, "open the folder", error));
    let mut scanner = Scanner {
        expected,
        root: path,
        bounds: Bounds { depth: bounds.depth.min(DEPTH_MAX), ..*bounds },
        times,
        handles: Handles::new(own()?),
        path: Vec::new(),
        totals: Totals::default(),
        memory: MemoryObjects::default(),
        memory_bytes: 0,
        files: Vec::new(),
        chunks: HashMap::new(),
        skipped: Skipped::default(),
    };
    let known = expected.map(|expected| (expected.shown.tree, expected.top));
    let tree = scanner.folders(known)?;
    let Node::Folder { tree, totals } = scanner.memory.insert_tree(&tree) else {
        return Err(StoreError::Record("a folder is no folder".to_owned()));
    };
    let Scanner { memory, files, chunks, skipped, .. } = scanner;
    let handles = Mutex::new(Handles::new(own()?));
    let path = path.to_owned();
    Ok(Imported { tree, base: None, totals, skipped, memory, path, files, chunks, handles })
}

/// What a volume's directory should hold.
struct Expected<'a> {
    plain: &'a Plain,
    objects: Arc<dyn Objects>,
    shown: Shown,
    top: Option<FolderId>,
    learn: bool,
    /// Whether what is remembered is of another start of the machine.
    restarted: bool,
    /// What was changed a little before may change again and look the same: its look is not remembered.
    begun_ns: u64,
}

/// A folder that is being read.
struct Frame {
    /// Where it stands in the folder above.
    place: Option<Place>,
    id: Option<FolderId>,
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
    /// It went away meanwhile, or no state can hold it.
    Nothing,
    Entry(Entry),
    Folder(Place),
}

struct Scanner<'a> {
    expected: Option<&'a Expected<'a>>,
    root: &'a Path,
    bounds: Bounds,
    times: Times,
    handles: Handles,
    path: Vec<String>,
    totals: Totals,
    memory: MemoryObjects,
    memory_bytes: u64,
    files: Vec<Vec<String>>,
    chunks: HashMap<Digest, (usize, u64)>,
    skipped: Skipped,
}

impl Scanner<'_> {
    /// Where the scan is.
    fn full_path(&self) -> PathBuf {
        let mut full = self.root.to_owned();
        full.extend(&self.path);
        full
    }

    /// `name` is in the folder in which the scan is, or empty for that one.
    fn failed(&self, name: &str, error: io::Error) -> StoreError {
        StoreError::io(self.full_path().join(name), "read", error)
    }

    /// What the user may not read. Nobody can say whether it is an edit.
    fn unread(&mut self, name: &str, old: Option<Entry>) -> Result<Option<Entry>, StoreError> {
        self.skip(name, "it may not be read");
        self.add(old.as_ref().map(|entry| entry.node.totals()).unwrap_or_default())?;
        Ok(old)
    }

    fn skip(&mut self, name: &str, reason: &'static str) {
        let path: Vec<&str> = self.path.iter().map(String::as_str).chain([name]).collect();
        self.skipped.add(path.join("/"), reason);
    }

    fn count(&mut self, node: &Node) -> Result<(), StoreError> {
        // What is in a folder was counted one by one.
        self.add(if let Node::Folder { .. } = node { Totals { files: 1, ..Totals::default() } } else { node.totals() })
    }

    fn add(&mut self, more: Totals) -> Result<(), StoreError> {
        self.totals = self.totals.plus(more);
        let limits = [
            (Limit::StateFiles, self.totals.files, self.bounds.files),
            (Limit::StateBytes, self.totals.bytes, self.bounds.bytes),
        ];
        match limits.into_iter().find(|(_, found, allowed)| found > allowed) {
            Some((limit, _, allowed)) => Err(StoreError::Limited { at: at(&self.full_path()), limit, allowed }),
            None => Ok(()),
        }
    }

    /// Reads all folders from the root down. `known` is what it should hold and where that is remembered, if anything is known.
    fn folders(&mut self, known: Option<(Digest, Option<FolderId>)>) -> Result<Tree, StoreError> {
        let mut open = vec![self.enter(known, None)?];
        while let Some(frame) = open.last_mut() {
            if let Some(name) = frame.names.next() {
                if self.path.len() >= self.bounds.depth {
                    let (limit, allowed) = (Limit::FolderDepth, self.bounds.depth as u64);
                    return Err(StoreError::Limited { at: at(&self.full_path()), limit, allowed });
                }
                let found = match self.look(frame, &name) {
                    Err(StoreError::Denied { .. }) if self.expected.is_some() => {
                        self.unread(&name, frame.old.get(&name).cloned())?.map_or(Found::Nothing, Found::Entry)
                    }
                    found => found?,
                };
                match found {
                    Found::Nothing => {}
                    Found::Entry(entry) => frame.entries.push(entry),
                    Found::Folder(place) => {
                        let known = match place.old.as_ref().map(|entry| &entry.node) {
                            Some(Node::Folder { tree, .. }) => Some((*tree, self.below(frame.id, &name)?)),
                            _ => None,
                        };
                        let old = place.old.clone();
                        self.path.push(name);
                        match self.enter(known, Some(place)) {
                            Err(StoreError::Denied { .. }) if self.expected.is_some() => {
                                let name = self.path.pop().unwrap_or_default();
                                frame.entries.extend(self.unread(&name, old)?);
                            }
                            entered => open.push(entered?),
                        }
                    }
                }
            } else if let Some(frame) = open.pop() {
                let (place, tree) = self.leave(frame)?;
                let (Some(parent), Some(place)) = (open.last_mut(), place) else { return Ok(tree) };
                self.path.pop();
                let node = self.memory.insert_tree(&tree);
                let entry = self.finish(place, node)?;
                parent.entries.extend(entry);
            }
        }
        Ok(Tree::default())
    }

    fn below(&self, parent: Option<FolderId>, name: &str) -> Result<Option<FolderId>, StoreError> {
        match (parent, self.expected) {
            (Some(parent), Some(Expected { plain, learn: true, .. })) => {
                plain.stamps.make_below(parent, name).map(Some)
            }
            (Some(parent), Some(Expected { plain, .. })) => plain.stamps.below(parent, name),
            _ => Ok(None),
        }
    }

    fn enter(&mut self, known: Option<(Digest, Option<FolderId>)>, place: Option<Place>) -> Result<Frame, StoreError> {
        let (mut old, mut marks) = (Tree::default(), HashMap::new());
        let id = known.and_then(|(_, id)| id);
        if let (Some(expected), Some((state, id))) = (self.expected, known) {
            let damaged = |error| StoreError::object(expected.plain.store.at(), &error);
            old = read_tree(&*expected.objects, &state).map_err(damaged)?;
            if let Some(id) = id {
                marks = expected.plain.stamps.all(id)?;
            }
        }
        let folder = self.handles.at(&self.path);
        // A folder that went away meanwhile holds nothing.
        let listing = folder.and_then(|folder| folder.map(list).transpose());
        let listing = listing.map_err(|error| self.failed("", error))?.unwrap_or_default();
        for name in &listing.not_text {
            self.skip(name, "the name is not UTF-8");
        }
        let entries = Vec::with_capacity(listing.names.len());
        Ok(Frame {
            place,
            id,
            old,
            marks,
            listed: listing.names.iter().cloned().collect(),
            names: listing.names.into_iter(),
            entries,
        })
    }

    /// Ends a folder: what it can't show is still in it.
    fn leave(&mut self, frame: Frame) -> Result<(Option<Place>, Tree), StoreError> {
        let Frame { place, old, marks, listed, mut entries, .. } = frame;
        for entry in old.into_entries() {
            let name = entry.name.as_str();
            let withheld = matches!(marks.get(name), Some(Mark::Withheld(held)) if Some(*held) == content(&entry.node));
            if is_acted_on(name) || (withheld && !listed.contains(name)) {
                self.add(entry.node.totals())?;
                entries.push(entry);
            }
        }
        let twice = || StoreError::Refused { at: at(&self.full_path()), reason: "lists a name twice".to_owned() };
        Ok((place, Tree::new(entries).ok_or_else(twice)?))
    }

    /// Looks at one name of a folder.
    fn look(&mut self, frame: &Frame, name: &str) -> Result<Found, StoreError> {
        if self.expected.is_some() && is_acted_on(name) {
            self.skip(name, "people's tools act on such names");
            return Ok(Found::Nothing);
        }
        let folder = self.handles.at(&self.path).and_then(|folder| folder.map(Dir::try_clone).transpose());
        let Some(folder) = folder.map_err(|error| self.failed("", error))? else { return Ok(Found::Nothing) };
        let Some(stamp) = look(&folder, name).map_err(|error| self.failed(name, error))? else {
            return Ok(Found::Nothing);
        };
        let old = frame.old.get(name).cloned();
        let held = old.as_ref().and_then(|old| content(&old.node));
        let restarted = self.expected.is_some_and(|expected| expected.restarted);
        let known = Look { stamp, mark: frame.marks.get(name).copied(), restarted }.known();
        let seen = known.is_some() && known == held;
        let node = match (stamp.form, old.as_ref().filter(|_| seen)) {
            (Form::File | Form::Link, Some(entry)) => entry.node.clone(),
            (Form::File, None) => match self.file(&folder, name)? {
                Some(node) => node,
                None => return Ok(Found::Nothing),
            },
            (Form::Link, None) => match link_target(&folder, name) {
                Ok(Some(target)) if can_be_held(&folder, name, &stamp, self.path.len()) => {
                    Node::Link { target: target.into() }
                }
                _ => {
                    self.skip(name, "the link could leave its folder");
                    return Ok(Found::Nothing);
                }
            },
            (Form::Folder, _) => return Ok(Found::Folder(Place { name: name.to_owned(), stamp, old })),
            (Form::Other, _) => {
                self.skip(name, "it is no regular file, folder or link");
                return Ok(Found::Nothing);
            }
        };
        if let (Some(Expected { plain, learn: true, begun_ns, .. }), Some(id), Some(held)) =
            (self.expected, frame.id, held)
            && !seen
            && old.as_ref().is_some_and(|old| old.node == node)
            && stamp.is_settled(*begun_ns)
        {
            plain.stamps.set(id, name, Some(Mark::Seen(stamp, held)))?;
        }
        let entry = self.finish(Place { name: name.to_owned(), stamp, old }, node)?;
        Ok(entry.map_or(Found::Nothing, Found::Entry))
    }

    /// The entry for what was found in a place: the old one if it says the same.
    fn finish(&mut self, place: Place, node: Node) -> Result<Option<Entry>, StoreError> {
        let Place { name, stamp, old } = place;
        let Ok(named) = Name::new(&name) else {
            self.skip(&name, "no state has such names");
            return Ok(None);
        };
        self.count(&node)?;
        if let Some(old) = old.filter(|old| old.node == node) {
            return Ok(Some(old));
        }
        let modified_ns = match self.times {
            Times::Kept => stamp.modified_ns,
            Times::Fixed(instant) => instant.unix_ns(),
        };
        Ok(Some(Entry { name: named, modified_ns, node }))
    }

    /// A file's content; `None` if it went away meanwhile.
    fn file(&mut self, folder: &Dir, name: &str) -> Result<Option<Node>, StoreError> {
        let mut file = match open_file(folder, name) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            opened => opened.map_err(|error| self.failed(name, error))?,
        };
        let allowed = self.bounds.bytes.saturating_sub(self.totals.bytes);
        let number = self.files.len();
        let (mut kept, mut again) = (Vec::new(), Vec::new());
        let memory_bytes = &mut self.memory_bytes;
        let read = read_file(&mut file, allowed, &mut self.memory, &mut |digest, start, bytes| {
            if *memory_bytes + bytes.len() as u64 <= MEMORY_BYTES {
                *memory_bytes += bytes.len() as u64;
                kept.push((digest, Arc::<[u8]>::from(bytes)));
            } else {
                again.push((digest, (number, start)));
            }
        });
        let node = read.map_err(|error| self.failed(name, error))?;
        for (digest, bytes) in kept {
            self.memory.insert_named(digest, bytes);
        }
        if !again.is_empty() {
            self.files.push(self.path.iter().cloned().chain([name.to_owned()]).collect());
            self.chunks.extend(again);
        }
        let (limit, allowed) = (Limit::StateBytes, self.bounds.bytes);
        node.map(Some).ok_or_else(|| StoreError::Limited { at: at(&self.full_path()), limit, allowed })
    }
}

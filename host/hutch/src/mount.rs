//! Real folders that the operator grants. Each is opened once, and everything below goes through that handle without following a
//! link, so nothing outside it is reached, whatever a guest or another process puts there meanwhile.
//!
//! A guest sees one as it sees a volume: as a tree of objects. Only that the digests are handles here, made of paths and not of
//! content, so a folder is listed and a file read when the guest first goes there. What the run wants changed is carried out
//! after its good end: new content is written aside and moved into place.

use crate::run::VolumeChange;
use cap_fs_ext::{DirExt, FollowSymlinks, OpenOptionsFollowExt, OpenOptionsSyncExt, SystemTimeSpec};
use cap_std::fs::{Dir, File, OpenOptions};
use cap_std::time::{Duration, SystemClock, SystemTime};
use hutch_model::digest::{Digest, Hasher, Kind};
use hutch_model::invocation::Access;
use hutch_model::ledger::MountRecord;
use hutch_model::snapshot::{
    CHUNK_BYTES, Change, Entry, LIST_PARTS, Name, Node, ObjectError, Objects, Totals, Tree, encode_list, list_levels,
    read_file, read_tree,
};
use std::collections::HashMap;
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

/// Begins the names of files on their way into a granted folder. A guest can make such a name too: then writing aside fails, and
/// nothing is changed.
const STAGED: &str = ".hutch-staged-";

/// A granted folder.
#[derive(Clone)]
pub struct Mount {
    dir: Arc<Dir>,
    /// Where it is, for the ledger and for messages.
    pub path: PathBuf,
    /// What the guest may do.
    pub access: Access,
}

impl Mount {
    /// Opens a folder for a guest.
    ///
    /// # Errors
    /// It is no folder, or can't be opened.
    pub fn open(path: &Path, access: Access) -> io::Result<Mount> {
        Ok(Mount { dir: Arc::new(crate::package::open_folder(path)?), path: path.to_owned(), access })
    }

    pub(crate) fn record(&self) -> MountRecord {
        MountRecord { path: self.path.to_string_lossy().into_owned(), access: self.access }
    }

    /// The folder as a tree, and what reads it.
    pub(crate) fn objects(&self) -> (Digest, Arc<dyn Objects>) {
        let objects = MountObjects { dir: self.dir.clone(), known: Mutex::default() };
        let root = objects.handle(Part::Folder(String::new()));
        (root, Arc::new(objects))
    }

    /// Carries out what a run wants changed: writes all new content aside, then removes, then moves into place.
    ///
    /// # Errors
    /// The system refuses a step. What was done until then stays; content that was written aside is removed.
    pub(crate) fn apply(&self, objects: &dyn Objects, change: &VolumeChange) -> io::Result<()> {
        let mut staged = Vec::new();
        let done = self.carry_out(objects, change, &mut staged);
        for Staged { aside, .. } in staged {
            // What was moved into place is gone already.
            let _ = self.dir.remove_file(aside);
        }
        done
    }

    fn carry_out(&self, objects: &dyn Objects, change: &VolumeChange, staged: &mut Vec<Staged>) -> io::Result<()> {
        let (mut gone, mut new, mut touched) = (Vec::new(), Vec::new(), Vec::new());
        for path in &change.changes {
            let before = entry_at(objects, &change.before, &path.path)?;
            let after = entry_at(objects, &change.after, &path.path)?;
            if path.change == Change::Touched {
                touched.extend(after.map(|after| (path.path.as_str(), after)));
                continue;
            }
            let replaced_in_place = |before: &Entry, after: &Entry| {
                matches!((&before.node, &after.node), (Node::File { .. } | Node::Link { .. }, Node::File { .. }))
            };
            if let Some(before) = before
                && !after.as_ref().is_some_and(|after| replaced_in_place(&before, after))
            {
                gone.push((path.path.as_str(), matches!(before.node, Node::Folder { .. })));
            }
            if let Some(after) = after {
                if let Node::File { size, content } = after.node {
                    self.stage(objects, &path.path, (size, &content), after.modified_ns, staged)?;
                }
                new.push((path.path.as_str(), after.node));
            }
        }
        // Parents come before what they hold, so backwards they come after it.
        for (path, is_folder) in gone.into_iter().rev() {
            let (folder, name) = self.parent(path)?;
            // A folder that holds what the guest was not shown (a pipe, a device) is not empty now, and stays.
            if is_folder { folder.remove_dir(name)? } else { folder.remove_file(name)? }
        }
        for (path, node) in new {
            let (folder, name) = self.parent(path)?;
            match node {
                Node::Folder { .. } => folder.create_dir(name)?,
                Node::Link { target } => folder.symlink(Path::new(&*target), name)?,
                Node::File { .. } => {
                    let aside = staged.iter().find(|staged| staged.place == path).map(|staged| &*staged.aside);
                    self.dir.rename(aside.unwrap_or_default(), &folder, name)?;
                }
            }
        }
        for (path, entry) in touched {
            let (folder, name) = self.parent(path)?;
            if !matches!(entry.node, Node::Link { .. }) {
                folder.set_mtime(name, system_time(entry.modified_ns))?;
            }
        }
        Ok(())
    }

    fn stage(
        &self,
        objects: &dyn Objects,
        path: &str,
        (size, content): (u64, &Digest),
        modified_ns: u64,
        staged: &mut Vec<Staged>,
    ) -> io::Result<()> {
        let aside = format!("{STAGED}{}-{}", std::process::id(), staged.len());
        let mut out = self.dir.open_with(&aside, OpenOptions::new().write(true).create_new(true))?;
        staged.push(Staged { aside: aside.clone(), place: path.to_owned() });
        let written: Result<(), Staging> =
            read_file(objects, content, size, &mut |bytes| out.write_all(bytes).map_err(Staging::Io));
        written.map_err(|error| match error {
            Staging::Io(error) => error,
            Staging::Object(error) => io::Error::other(error.to_string()),
        })?;
        if let Ok(replaced) = open_file(&self.dir, path) {
            out.set_permissions(replaced.metadata()?.permissions())?;
        }
        out.sync_all()?;
        self.dir.set_mtime(&aside, system_time(modified_ns))
    }

    fn parent<'p>(&self, path: &'p str) -> io::Result<(Dir, &'p str)> {
        let (above, name) = path.rsplit_once('/').unwrap_or(("", path));
        Ok((open_folder_below(&self.dir, above)?, name))
    }
}

/// New content, and the path it is for.
struct Staged {
    aside: String,
    place: String,
}

enum Staging {
    Io(io::Error),
    Object(ObjectError),
}

impl From<ObjectError> for Staging {
    fn from(error: ObjectError) -> Staging {
        Staging::Object(error)
    }
}

/// What a tree has at a path.
fn entry_at(objects: &dyn Objects, tree: &Digest, path: &str) -> io::Result<Option<Entry>> {
    let read = |tree: &Digest| read_tree(objects, tree).map_err(|error| io::Error::other(error.to_string()));
    let mut folder = read(tree)?;
    let (above, name) = path.rsplit_once('/').unwrap_or(("", path));
    for part in above.split('/').filter(|part| !part.is_empty()) {
        let Some(Node::Folder { tree, .. }) = folder.get(part).map(|entry| entry.node.clone()) else { return Ok(None) };
        folder = read(&tree)?;
    }
    Ok(folder.get(name).cloned())
}

/// What a handle stands for.
#[derive(Clone)]
enum Part {
    Folder(String),
    File { path: String, size: u64, level: u32, number: u64 },
}

/// A real folder as objects. A handle is good for this run; it says where something is, not what it was. A folder is listed once:
/// what differs afterwards is compared with what the guest was shown.
struct MountObjects {
    dir: Arc<Dir>,
    known: Mutex<HashMap<Digest, Known>>,
}

#[derive(Clone)]
struct Known {
    part: Part,
    /// A folder's tree, once it was listed.
    tree: Option<Arc<[u8]>>,
}

impl MountObjects {
    fn handle(&self, part: Part) -> Digest {
        let mut hasher = Hasher::new(Kind::Mount);
        match &part {
            Part::Folder(path) => {
                hasher.update_part(b"folder");
                hasher.update_part(path.as_bytes());
            }
            Part::File { path, size, level, number } => {
                hasher.update_part(b"file");
                hasher.update_part(path.as_bytes());
                for value in [*size, u64::from(*level), *number] {
                    hasher.update_part(&value.to_le_bytes());
                }
            }
        }
        // Two granted folders are two sets of handles.
        hasher.update_part(&(Arc::as_ptr(&self.dir) as usize).to_le_bytes());
        let handle = hasher.finish();
        self.known().entry(handle).or_insert(Known { part, tree: None });
        handle
    }

    fn known(&self) -> std::sync::MutexGuard<'_, HashMap<Digest, Known>> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn list(&self, path: &str) -> io::Result<Tree> {
        let folder = open_folder_below(&self.dir, path)?;
        let mut entries = Vec::new();
        for entry in folder.entries()? {
            // Names that are no UTF-8, and what is no file, folder or link, a guest is not shown.
            let Ok(text) = entry?.file_name().into_string() else { continue };
            let Ok(name) = Name::new(&text) else { continue };
            let metadata = match folder.symlink_metadata(&text) {
                Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
                metadata => metadata?,
            };
            let below = if path.is_empty() { text.clone() } else { format!("{path}/{text}") };
            let node = if metadata.is_dir() {
                Node::Folder { tree: self.handle(Part::Folder(below)), totals: Totals::default() }
            } else if metadata.is_file() {
                let size = metadata.len();
                let level = list_levels(size);
                Node::File { size, content: self.handle(Part::File { path: below, size, level, number: 0 }) }
            } else if metadata.is_symlink() {
                match folder.read_link_contents(&text)?.to_str() {
                    Some(target) => Node::Link { target: target.into() },
                    None => continue,
                }
            } else {
                continue;
            };
            entries.push(Entry { name, modified_ns: unix_ns(metadata.modified()?), node });
        }
        Tree::new(entries).ok_or_else(|| io::Error::other("a name is there twice"))
    }

    /// A chunk of a file; zeros where the file became shorter meanwhile.
    fn chunk(&self, path: &str, size: u64, number: u64) -> io::Result<Vec<u8>> {
        let offset = number * CHUNK_BYTES;
        let length = size.saturating_sub(offset).min(CHUNK_BYTES);
        let mut file = open_file(&self.dir, path)?;
        file.seek(SeekFrom::Start(offset))?;
        let mut bytes = Vec::with_capacity(length as usize);
        file.take(length).read_to_end(&mut bytes)?;
        bytes.resize(length as usize, 0);
        Ok(bytes)
    }
}

impl Objects for MountObjects {
    fn get(&self, kind: Kind, digest: &Digest) -> Result<Arc<[u8]>, ObjectError> {
        let refused = |reason: String| ObjectError { digest: *digest, kind, reason };
        let known = self.known().get(digest).cloned().ok_or_else(|| refused("is missing".to_owned()))?;
        match known {
            Known { tree: Some(tree), .. } => Ok(tree),
            Known { part: Part::Folder(path), .. } => {
                let listed = self.list(&path).map_err(|error| refused(format!("granted folder {path:?}: {error}")))?;
                let tree: Arc<[u8]> = listed.encode().into();
                if let Some(known) = self.known().get_mut(digest) {
                    known.tree = Some(tree.clone());
                }
                Ok(tree)
            }
            Known { part: Part::File { path, size, level: 0, number }, .. } => match self.chunk(&path, size, number) {
                Ok(bytes) => Ok(bytes.into()),
                Err(error) => Err(refused(format!("granted file {path:?}: {error}"))),
            },
            Known { part: Part::File { path, size, level, number }, .. } => {
                let below = size.div_ceil(CHUNK_BYTES).div_ceil(LIST_PARTS.pow(level - 1));
                let first = number * LIST_PARTS;
                let numbers = first..below.min(first + LIST_PARTS);
                let part = |number| self.handle(Part::File { path: path.clone(), size, level: level - 1, number });
                Ok(encode_list(&numbers.map(part).collect::<Vec<_>>()).into())
            }
        }
    }
}

fn unix_ns(time: SystemTime) -> u64 {
    let since = time.duration_since(SystemClock::UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_nanos()).unwrap_or(u64::MAX)
}

fn system_time(unix_ns: u64) -> SystemTimeSpec {
    SystemTimeSpec::from(SystemClock::UNIX_EPOCH + Duration::from_nanos(unix_ns))
}

/// A folder below another, name by name, so that no link on the way is followed.
fn open_folder_below(dir: &Dir, path: &str) -> io::Result<Dir> {
    let mut at = dir.try_clone()?;
    for name in path.split('/').filter(|name| !name.is_empty()) {
        at = at.open_dir_nofollow(name)?;
    }
    Ok(at)
}

/// A regular file below a folder. It is opened without waiting, so that a pipe in its place can't hold the host up.
fn open_file(dir: &Dir, path: &str) -> io::Result<File> {
    let (above, name) = path.rsplit_once('/').unwrap_or(("", path));
    let mut options = OpenOptions::new();
    options.read(true).follow(FollowSymlinks::No).nonblock(true);
    let file = open_folder_below(dir, above)?.open_with(name, &options)?;
    match file.metadata()?.is_file() {
        true => Ok(file),
        false => Err(io::Error::new(io::ErrorKind::InvalidInput, "is no regular file")),
    }
}

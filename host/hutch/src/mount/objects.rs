//! A real folder as objects. A handle is good for one run; it says where something is, not what it was. A folder is listed when the
//! guest first goes there, and a file read when the guest reads it. Every file is read only as it looked when it was listed: one that
//! changed meanwhile can't be had, so that no guest sees half of one version and half of another.

use super::STAGING;
use cap_std::fs::Dir;
use hutch_folder::{Form, Stamp, link_target, list, look, open_file, open_folder, stays_inside};
use hutch_model::digest::{Digest, Hasher, Kind};
use hutch_model::snapshot::{
    CHUNK_BYTES, Entry, LIST_PARTS, Lack, Name, Node, ObjectError, Objects, Totals, Tree, encode_list, list_levels,
};
use std::collections::HashMap;
use std::io::{self, Read, Seek, SeekFrom};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// What a handle stands for.
#[derive(Clone)]
enum Part {
    Folder(Arc<str>),
    /// A part of a file: its list of this level and place, or at level 0 its chunk.
    File {
        path: Arc<str>,
        stamp: Stamp,
        level: u32,
        number: u64,
    },
}

#[derive(Clone)]
struct Known {
    part: Part,
    /// A folder's tree, once it was listed.
    tree: Option<Arc<[u8]>>,
}

/// How everything looked that a run was shown, by path.
pub(crate) type Seen = HashMap<Arc<str>, Stamp>;

pub(crate) struct MountObjects {
    dir: Arc<Dir>,
    at: PathBuf,
    name: String,
    known: Mutex<HashMap<Digest, Known>>,
    seen: Mutex<Seen>,
}

impl MountObjects {
    pub(super) fn new(dir: Arc<Dir>, at: PathBuf, name: &str) -> MountObjects {
        MountObjects { dir, at, name: name.to_owned(), known: Mutex::default(), seen: Mutex::default() }
    }

    /// The folder itself.
    pub(crate) fn root(&self) -> Digest {
        self.handle(Part::Folder("".into()))
    }

    /// How everything looked that the run was shown.
    pub(crate) fn seen(&self) -> Seen {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn handle(&self, part: Part) -> Digest {
        let mut hasher = Hasher::new(Kind::Mount);
        // Two granted folders are two sets of handles.
        hasher.update_part(self.name.as_bytes());
        match &part {
            Part::Folder(path) => {
                hasher.update_part(b"folder");
                hasher.update_part(path.as_bytes());
            }
            Part::File { path, stamp, level, number } => {
                hasher.update_part(b"file");
                hasher.update_part(path.as_bytes());
                for value in [stamp.size, u64::from(*level), *number] {
                    hasher.update_part(&value.to_le_bytes());
                }
            }
        }
        let handle = hasher.finish();
        self.known().entry(handle).or_insert(Known { part, tree: None });
        handle
    }

    fn known(&self) -> MutexGuard<'_, HashMap<Digest, Known>> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn list(&self, path: &str) -> io::Result<Tree> {
        let folder = open_below(&self.dir, path)?.ok_or(io::ErrorKind::NotFound)?;
        let depth = path.split('/').filter(|name| !name.is_empty()).count();
        let mut entries = Vec::new();
        for text in list(&folder)?.names {
            if text.starts_with(STAGING) {
                continue;
            }
            let (Ok(name), Some(stamp)) = (Name::new(&text), look(&folder, &text)?) else { continue };
            let below: Arc<str> = if path.is_empty() { text.as_str().into() } else { format!("{path}/{text}").into() };
            let node = match stamp.form {
                Form::Folder => {
                    let tree = self.handle(Part::Folder(below.clone()));
                    Node::Folder { tree, totals: Totals::default() }
                }
                Form::File => {
                    let level = list_levels(stamp.size);
                    let part = Part::File { path: below.clone(), stamp, level, number: 0 };
                    Node::File { size: stamp.size, content: self.handle(part) }
                }
                Form::Link => match link_target(&folder, &text)? {
                    Some(target) if stays_inside(depth, &target) => Node::Link { target: target.into() },
                    _ => continue,
                },
                Form::Other => continue,
            };
            self.seen.lock().unwrap_or_else(PoisonError::into_inner).insert(below, stamp);
            entries.push(Entry { name, modified_ns: stamp.modified_ns, node });
        }
        Tree::new(entries).ok_or_else(|| io::Error::other("a name is there twice"))
    }

    /// A chunk of a file, if the file is the one that was listed; `None` if it is not.
    fn chunk(&self, path: &str, stamp: &Stamp, number: u64) -> io::Result<Option<Vec<u8>>> {
        let (above, name) = path.rsplit_once('/').unwrap_or(("", path));
        let Some(folder) = open_below(&self.dir, above)? else { return Ok(None) };
        if look(&folder, name)? != Some(*stamp) {
            return Ok(None);
        }
        let offset = number * CHUNK_BYTES;
        let length = stamp.size.saturating_sub(offset).min(CHUNK_BYTES);
        let mut file = open_file(&folder, name)?;
        file.seek(SeekFrom::Start(offset))?;
        let mut bytes = Vec::with_capacity(length as usize);
        file.take(length).read_to_end(&mut bytes)?;
        let same = bytes.len() as u64 == length && look(&folder, name)? == Some(*stamp);
        Ok(same.then_some(bytes))
    }
}

impl Objects for MountObjects {
    fn get(&self, kind: Kind, digest: &Digest) -> Result<Arc<[u8]>, ObjectError> {
        let known = self.known().get(digest).cloned().ok_or(ObjectError::missing(kind, *digest))?;
        let unreadable = |path: &str, error: io::Error| {
            ObjectError::unreadable(kind, *digest, format!("{}: {error}", self.at.join(path).display()))
        };
        match known {
            Known { tree: Some(tree), .. } => Ok(tree),
            Known { part: Part::Folder(path), .. } => {
                let listed = self.list(&path).map_err(|error| unreadable(&path, error))?;
                let tree: Arc<[u8]> = listed.encode().into();
                if let Some(known) = self.known().get_mut(digest) {
                    known.tree = Some(tree.clone());
                }
                Ok(tree)
            }
            Known { part: Part::File { path, stamp, level: 0, number }, .. } => {
                match self.chunk(&path, &stamp, number).map_err(|error| unreadable(&path, error))? {
                    Some(bytes) => Ok(bytes.into()),
                    None => {
                        let lack = Lack::Changed(self.at.join(&*path).display().to_string());
                        Err(ObjectError { digest: *digest, kind, lack })
                    }
                }
            }
            Known { part: Part::File { path, stamp, level, number }, .. } => {
                let below = stamp.size.div_ceil(CHUNK_BYTES).div_ceil(LIST_PARTS.pow(level - 1));
                let first = number * LIST_PARTS;
                let numbers = first..below.min(first + LIST_PARTS);
                let part = |number| self.handle(Part::File { path: path.clone(), stamp, level: level - 1, number });
                Ok(encode_list(&numbers.map(part).collect::<Vec<_>>()).into())
            }
        }
    }
}

/// A folder below another, name by name, so that no link on the way is followed; `None` if there is none.
pub(super) fn open_below(dir: &Dir, path: &str) -> io::Result<Option<Dir>> {
    let mut at = dir.try_clone()?;
    for name in path.split('/').filter(|name| !name.is_empty()) {
        match open_folder(&at, name)? {
            Some(folder) => at = folder,
            None => return Ok(None),
        }
    }
    Ok(Some(at))
}

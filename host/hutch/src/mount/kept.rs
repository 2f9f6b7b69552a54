//! What runs replaced and took away in granted folders, kept so that it can be put back: one file for each run, in the instance's own
//! folder. It holds the content that is gone, then what of it stood where and what came in its place, then a seal.
//!
//! The seal is made with the instance's key and for one intent: what came from elsewhere, or belongs to another run, is not read. And it
//! is no grant: it says what was there, and whoever puts that back grants the folder anew.

use super::Mount;
use super::carry::{CarryError, Known, Wanted, Wishes, io_at, mode};
use cap_std::fs::Dir;
use hutch_folder::{Hands, open_file};
use hutch_model::digest::{Digest, Hasher, Kind};
use hutch_model::ledger::{MountRecord, SecretKey};
use hutch_model::snapshot::{CHUNK_BYTES, Entry, MemoryObjects, Node, ObjectError, Objects, read_file};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::sync::{Arc, Mutex, PoisonError};

/// The most bytes of content that are kept of the runs of one instance; of one that would take more alone, nothing is.
const KEPT_BYTES_MAX: u64 = 1 << 30;

/// The most runs of one instance of which anything is kept.
const KEPT_RUNS_MAX: usize = 100;

/// A file on its way has this name.
const STAGED_NAME: &str = "new";

/// Characters of the seal, and of the length of what it seals, at a file's end.
const SEAL_BYTES: u64 = 64;
const LENGTH_BYTES: u64 = 16;

/// Which run something was kept of. Runs follow each other in the order of their intents.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) struct KeptName {
    /// The place of the run's intent in the ledger.
    pub(crate) intent: u64,
    /// The intent of the run that this one took back, if it did.
    pub(crate) takes: Option<u64>,
}

impl KeptName {
    fn parse(name: &str) -> Option<KeptName> {
        let (intent, takes) = match name.split_once('-') {
            Some((intent, takes)) => (intent, Some(takes.parse().ok()?)),
            None => (name, None),
        };
        let parsed = KeptName { intent: intent.parse().ok()?, takes };
        (parsed.file() == name).then_some(parsed)
    }

    fn file(self) -> String {
        match self.takes {
            Some(takes) => format!("{}-{takes}", self.intent),
            None => self.intent.to_string(),
        }
    }

    /// What there is, the last run first.
    pub(crate) fn all(dir: &Dir) -> io::Result<Vec<KeptName>> {
        let listing = hutch_folder::list(dir)?;
        let mut names: Vec<KeptName> = listing.names.iter().filter_map(|name| KeptName::parse(name)).collect();
        names.sort_unstable_by(|one, other| other.cmp(one));
        Ok(names)
    }

    /// Keeps it no longer. What can't be removed now goes when there is too much.
    pub(crate) fn drop(self, dir: &Dir) {
        let _ = Hands::default().drop_file(dir, &self.file());
    }

    /// Drops the oldest of what is kept, until the rest is no more than may be.
    pub(crate) fn fit(dir: &Dir) {
        let mut bytes = 0;
        for (at, name) in KeptName::all(dir).unwrap_or_default().into_iter().enumerate() {
            bytes += hutch_folder::look(dir, &name.file()).ok().flatten().map_or(0, |stamp| stamp.size);
            if at >= KEPT_RUNS_MAX || bytes > KEPT_BYTES_MAX {
                name.drop(dir);
            }
        }
    }
}

/// What was in one granted folder, and what a run left there.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct KeptFolder {
    /// Where it is, without links, and how it was granted.
    pub(crate) mount: MountRecord,
    /// Every path that differs, parents before what they hold.
    pub(crate) changes: Vec<KeptChange>,
}

#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct KeptChange {
    pub(crate) path: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) was: Option<KeptThing>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) is: Option<KeptThing>,
}

/// Something in a folder.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub(crate) struct KeptThing {
    pub(crate) modified_ns: u64,
    /// Who might do what with it, before the run and as the run left it, where that was looked at.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) mode: Option<u32>,
    /// Of a folder that the run moved: where it was before that.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) from: Option<String>,
    pub(crate) form: KeptForm,
}

#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum KeptForm {
    Folder,
    File { size: u64, content: Digest },
    Link { target: String },
}

/// What gets each object of a file, by its name.
type Each<'a> = dyn FnMut(&Digest, &[u8]) -> Result<(), CarryError> + 'a;

impl KeptForm {
    /// What an entry of a folder is. Its content has a name of its own, however it is handed on: `each` gets every object of it.
    pub(crate) fn of(objects: &dyn Objects, node: &Node, each: &mut Each<'_>) -> Result<KeptForm, CarryError> {
        Ok(match node {
            Node::Folder { .. } => KeptForm::Folder,
            Node::Link { target } => KeptForm::Link { target: target.to_string() },
            Node::File { size, content } => {
                let mut chunks = Vec::new();
                read_file(objects, content, *size, &mut |bytes| {
                    let chunk = Digest::of(Kind::Chunk, bytes);
                    chunks.push(chunk);
                    each(&chunk, bytes)
                })?;
                let mut lists = MemoryObjects::default();
                let named = lists.insert_lists(*size, chunks);
                for (digest, list) in lists.iter() {
                    each(digest, list)?;
                }
                let Node::File { size, content } = named else { return Ok(KeptForm::Folder) };
                KeptForm::File { size, content }
            }
        })
    }
}

#[derive(Serialize, Deserialize)]
struct Header {
    /// All that comes before it.
    content: Digest,
    /// The objects that come before it, in their order, and how long each is.
    objects: Vec<(Digest, u32)>,
    folders: BTreeMap<String, KeptFolder>,
}

/// One folder of which something is to be kept.
pub(crate) struct Keeping<'a> {
    pub(crate) name: &'a str,
    pub(crate) mount: &'a Mount,
    pub(crate) wishes: &'a Wishes,
    /// What is known of what comes, by path.
    pub(crate) left: &'a BTreeMap<String, Known>,
}

/// Keeps what is about to be replaced and taken away, durably. Whether it is kept: it is not if it is too much.
///
/// # Errors
/// An object can't be had, or the system refuses. Nothing is left of it.
pub(crate) fn keep(
    dir: &Dir,
    (name, intent, key): (KeptName, Digest, &SecretKey),
    folders: &[Keeping<'_>],
    all: &dyn Objects,
) -> Result<bool, CarryError> {
    let goes = |wanted: &&Wanted| wanted.was.as_ref().map(|was| &was.node) != wanted.is.as_ref().map(|is| &is.node);
    let all_wanted = folders.iter().flat_map(|folder| &folder.wishes.wanted);
    let sizes = all_wanted.filter(goes).filter_map(|wanted| match wanted.was.as_ref()?.node {
        Node::File { size, .. } => Some(size),
        _ => None,
    });
    if sizes.fold(0, u64::saturating_add) > KEPT_BYTES_MAX {
        return Ok(false);
    }
    let hands = Hands::default();
    // Of one that ended on its way.
    let _ = hands.drop_file(dir, STAGED_NAME);
    let kept = write(dir, (intent, key), folders, all, &hands).and_then(|()| {
        hands.place((dir, STAGED_NAME), (dir, &name.file())).map_err(io_at(""))?;
        #[cfg(unix)]
        hands.sync_folder(dir).map_err(io_at(""))?;
        Ok(true)
    });
    kept.inspect_err(|_| drop(hands.drop_file(dir, STAGED_NAME)))
}

fn write(
    dir: &Dir,
    (intent, key): (Digest, &SecretKey),
    folders: &[Keeping<'_>],
    all: &dyn Objects,
    hands: &Hands,
) -> Result<(), CarryError> {
    let file = hands.create_private_file(dir, STAGED_NAME).map_err(io_at(""))?;
    let mut objects = BTreeSet::new();
    let (mut order, mut content) = (Vec::new(), Hasher::new(Kind::Mount));
    let mut take = |digest: &Digest, bytes: &[u8]| {
        if objects.insert(*digest) {
            let length = u32::try_from(bytes.len()).map_err(|error| io_at("")(io::Error::other(error)))?;
            order.push((*digest, length));
            content.update(bytes);
            hands.write(&file, bytes).map_err(io_at(""))?;
        }
        Ok(())
    };
    let mut kept = BTreeMap::new();
    for Keeping { name, mount, wishes, left } in folders {
        let mut changes = Vec::new();
        for Wanted { path, was, is } in &wishes.wanted {
            let same = was.as_ref().zip(is.as_ref()).is_some_and(|(was, is)| was.node == is.node);
            let is_form = is.as_ref().map(|is| KeptForm::of(all, &is.node, &mut |_, _| Ok(()))).transpose()?;
            let was_form = match (was, same) {
                (Some(_), true) => is_form.clone(),
                (Some(was), false) => Some(KeptForm::of(all, &was.node, &mut take)?),
                (None, _) => None,
            };
            let mode = mode(mount, path).map_err(io_at(path))?.map(|(mode, _)| mode);
            let thing = |entry: &Option<Entry>, form: Option<KeptForm>, mode, from| {
                let modified_ns = entry.as_ref()?.modified_ns;
                form.map(|form| KeptThing { modified_ns, mode, from, form })
            };
            let left = left.get(path);
            let (left_mode, from) = (left.map(|left| left.mode), left.and_then(|left| left.from.clone()));
            changes.push(KeptChange {
                path: path.clone(),
                was: thing(was, was_form, mode, None),
                is: thing(is, is_form, left_mode, from),
            });
        }
        let mount = MountRecord { path: mount.real_path(), ..mount.record() };
        kept.insert((*name).to_owned(), KeptFolder { mount, changes });
    }
    let header = serde_json::to_vec(&Header { content: content.finish(), objects: order, folders: kept })
        .map_err(|error| io_at("")(error.into()))?;
    let end = format!("{}{:016x}", seal(key, &intent, &header), header.len());
    for bytes in [header.as_slice(), end.as_bytes()] {
        hands.write(&file, bytes).map_err(io_at(""))?;
    }
    hands.sync(&file).map_err(io_at(""))
}

fn seal(key: &SecretKey, intent: &Digest, header: &[u8]) -> Digest {
    key.seal(&[b"kept", intent.as_bytes(), header])
}

/// What was kept of one run.
pub(crate) struct Kept {
    pub(crate) folders: BTreeMap<String, KeptFolder>,
    file: Mutex<File>,
    /// Where each object begins in the file, and how long it is.
    places: BTreeMap<Digest, (u64, u32)>,
}

impl Kept {
    /// # Errors
    /// It is not there, or not what this instance wrote for that intent.
    pub(crate) fn open(dir: &Dir, name: KeptName, intent: &Digest, key: &SecretKey) -> io::Result<Kept> {
        let strange = || io::Error::new(io::ErrorKind::InvalidData, "is not what this instance wrote");
        let mut file = open_file(dir, &name.file())?;
        let length = file.metadata()?.len();
        let ends = length.checked_sub(SEAL_BYTES + LENGTH_BYTES).ok_or_else(strange)?;
        file.seek(SeekFrom::Start(ends))?;
        let mut end = String::new();
        (&file).take(SEAL_BYTES + LENGTH_BYTES).read_to_string(&mut end)?;
        let (mark, digits) = end.split_at_checked(SEAL_BYTES as usize).ok_or_else(strange)?;
        let header_bytes = u64::from_str_radix(digits, 16).map_err(|_| strange())?;
        let begins = ends.checked_sub(header_bytes).ok_or_else(strange)?;
        file.seek(SeekFrom::Start(begins))?;
        let mut header = Vec::new();
        (&file).take(header_bytes).read_to_end(&mut header)?;
        if seal(key, intent, &header).to_string() != mark {
            return Err(strange());
        }
        let Header { content, objects, folders } = serde_json::from_slice(&header)?;
        file.rewind()?;
        let (mut found, mut part) = (Hasher::new(Kind::Mount), vec![0; CHUNK_BYTES as usize]);
        let mut before = (&file).take(begins);
        loop {
            match before.read(&mut part)? {
                0 => break,
                length => found.update(part.get(..length).unwrap_or_default()),
            }
        }
        if found.finish() != content {
            return Err(strange());
        }
        let (mut at, mut places) = (0, BTreeMap::new());
        for (digest, length) in objects {
            places.insert(digest, (at, length));
            at += u64::from(length);
        }
        match at == begins {
            true => Ok(Kept { folders, file: Mutex::new(file), places }),
            false => Err(strange()),
        }
    }

    fn read(&self, (at, length): (u64, u32)) -> io::Result<Vec<u8>> {
        let mut file = self.file.lock().unwrap_or_else(PoisonError::into_inner);
        file.seek(SeekFrom::Start(at))?;
        let mut bytes = vec![0; length as usize];
        file.read_exact(&mut bytes)?;
        Ok(bytes)
    }
}

impl Objects for Kept {
    fn get(&self, kind: Kind, digest: &Digest) -> Result<Arc<[u8]>, ObjectError> {
        let place = self.places.get(digest).ok_or_else(|| ObjectError::missing(kind, *digest))?;
        let bytes = self.read(*place).map_err(|error| ObjectError::unreadable(kind, *digest, error))?;
        match Digest::of(kind, &bytes) == *digest {
            true => Ok(bytes.into()),
            false => Err(ObjectError::damaged(kind, *digest, "is not what was kept")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// So many files, the oldest as large as this.
    fn kept(count: u64, large: u64) -> (tempfile::TempDir, Dir) {
        let folder = tempfile::tempdir().unwrap();
        for intent in 1..=count {
            let file = File::create(folder.path().join(intent.to_string())).unwrap();
            file.set_len(if intent <= 2 { large } else { 1 }).unwrap();
        }
        let dir = crate::package::open_folder(folder.path()).unwrap();
        (folder, dir)
    }

    fn intents(dir: &Dir) -> Vec<u64> {
        KeptName::all(dir).unwrap().into_iter().map(|name| name.intent).collect()
    }

    #[test]
    fn the_oldest_of_what_is_kept_goes() {
        let few = [KEPT_RUNS_MAX as u64, 3];
        for (count, large, left) in [
            (few[0], 1, few[0]),
            (few[0] + 5, 1, few[0]),
            (few[1], KEPT_BYTES_MAX / 2, 2),
            (few[1], KEPT_BYTES_MAX / 2 - 1, 3),
            (few[1], KEPT_BYTES_MAX, 1),
        ] {
            let (_folder, dir) = kept(count, large);
            KeptName::fit(&dir);
            assert_eq!(intents(&dir), (count - left + 1..=count).rev().collect::<Vec<_>>(), "{count} of {large}");
        }
    }

    #[test]
    fn a_name_is_read_as_it_is_written_and_nothing_else_is_one() {
        for name in [KeptName { intent: 7, takes: None }, KeptName { intent: u64::MAX, takes: Some(0) }] {
            assert_eq!(KeptName::parse(&name.file()), Some(name));
        }
        for other in ["", "new", "x", "-", "1-", "-1", "1-2-3", "1-x", " 1", "+1", "01", "99999999999999999999"] {
            assert_eq!(KeptName::parse(other), None, "{other:?}");
        }
    }
}

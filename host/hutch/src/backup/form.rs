//! The form of a backup: a tar archive that any program can list and unpack, and that is read back by nobody who believes its headers.
//!
//! The first member is the manifest, and its name is `hutch-backup-1/` and the digest of its bytes. It lists all other members by path,
//! size and digest. From that their headers follow, byte for byte; so a reader compares and takes nothing apart, no path or size comes
//! from a header, and no byte of the file can be another one unseen.

use super::{Pinned, Place};
use crate::failure::Failure;
use hutch_model::digest::{Digest, Hasher, Kind};
use hutch_model::ledger::Pin;
use hutch_store::StoreError;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, Read, Seek, SeekFrom, Write};
use tar::{Builder, EntryType, Header};

const BLOCK_BYTES: u64 = 512;
/// An archive ends with two empty blocks.
const END: [u8; 2 * BLOCK_BYTES as usize] = [0; 2 * BLOCK_BYTES as usize];
const ANY_FORM: &str = "hutch-backup-";
const FORM: &str = "hutch-backup-1/";
/// The most bytes of a manifest, which is read into memory: a member takes two hundred.
const MANIFEST_BYTES_MAX: u64 = 64 << 20;
const BUFFER_BYTES: usize = 64 << 10;

/// What is in a backup, and how far each instance has come.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Manifest {
    /// The version of the program that wrote it.
    version: String,
    instances: Vec<Head>,
    /// All members but this one, sorted by path.
    members: Vec<Member>,
}

#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Head {
    package: String,
    instance: String,
    head: String,
}

/// A file in the archive.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Member {
    pub(super) path: String,
    pub(super) bytes: u64,
    pub(super) digest: Digest,
}

/// What is wrong with a backup that is read.
pub(super) fn damaged(what: impl Into<String>, reason: impl Into<String>) -> Failure {
    StoreError::Damaged { at: "the backup".to_owned(), what: what.into(), reason: reason.into() }.into()
}

fn cut_short() -> Failure {
    damaged("its end", "is cut short")
}

impl Manifest {
    pub(super) fn new(instances: &[Pinned], members: Vec<Member>) -> Manifest {
        let head = |pinned: &Pinned| Head {
            package: pinned.slug.to_string(),
            instance: pinned.name.to_string(),
            head: pinned.head.to_string(),
        };
        let instances = instances.iter().map(head).collect();
        Manifest { version: env!("CARGO_PKG_VERSION").to_owned(), instances, members }
    }

    /// The instances, and every member's place. Each member is where a home has such a thing, and stands once.
    ///
    /// # Errors
    /// It contradicts itself, or names a place that is none of a home's.
    fn read(&self, is_document: &dyn Fn(&str) -> bool) -> Result<(Vec<Pinned>, Vec<Place>), Failure> {
        let wrong = |what: &str, reason: &str| damaged(format!("{what:?} of the manifest"), reason);
        let mut heads = BTreeMap::new();
        for head in &self.instances {
            let parsed = (head.package.parse(), head.instance.parse(), head.head.parse::<Pin>());
            let (Ok(slug), Ok(name), Ok(pin)) = parsed else {
                return Err(wrong(&head.instance, "is no instance with its head"));
            };
            heads.insert(Place::Instance(slug, name), pin);
        }
        let mut places = BTreeSet::new();
        for pair in self.members.windows(2) {
            if let [one, other] = pair
                && one.path >= other.path
            {
                return Err(wrong(&other.path, "is not where it belongs in the order"));
            }
        }
        let mut ordered = Vec::new();
        for member in &self.members {
            let place = Place::of(&member.path, is_document);
            let place = place.ok_or_else(|| wrong(&member.path, "is no place in a home"))?;
            places.insert(place.clone());
            ordered.push(place);
        }
        let instances = places.iter().filter(|place| matches!(place, Place::Instance(..)));
        if !instances.eq(heads.keys()) || heads.len() != self.instances.len() {
            return Err(wrong("instances", "are not the ones that it lists"));
        }
        let pinned = heads.into_iter().filter_map(|(place, head)| match place {
            Place::Instance(slug, name) => Some(Pinned { slug, name, head }),
            _ => None,
        });
        Ok((pinned.collect(), ordered))
    }
}

/// What stands before a member's content.
fn header(path: &str, bytes: u64) -> io::Result<Vec<u8>> {
    let mut header = Header::new_gnu();
    header.set_entry_type(EntryType::Regular);
    // It may hold keys.
    header.set_mode(0o600);
    header.set_size(bytes);
    header.set_mtime(0);
    header.set_uid(0);
    header.set_gid(0);
    let mut written = Builder::new(Vec::new());
    written.append_data(&mut header, path, io::empty())?;
    let mut written = written.into_inner()?;
    written.truncate(written.len().saturating_sub(END.len()));
    Ok(written)
}

/// How many empty bytes stand behind content of this length.
fn padding(bytes: u64) -> u64 {
    bytes.checked_next_multiple_of(BLOCK_BYTES).map_or(0, |padded| padded - bytes)
}

/// Writes an archive: the manifest, and the members in its order.
///
/// # Errors
/// A member has not the size that it is to have, or the system refuses.
pub(super) fn write(
    to: &mut dyn Write,
    manifest: &Manifest,
    mut open: impl FnMut(&Member) -> io::Result<std::fs::File>,
) -> io::Result<u64> {
    let text = serde_json::to_vec(manifest)?;
    if text.len() as u64 > MANIFEST_BYTES_MAX {
        return Err(io::Error::other(format!("the list of what is in it has more than {MANIFEST_BYTES_MAX} bytes")));
    }
    let mut written = 0;
    let mut put = |path: &str, bytes: u64, content: &mut dyn Read| {
        let header = header(path, bytes)?;
        to.write_all(&header)?;
        let copied = io::copy(&mut content.take(bytes), to)?;
        if copied != bytes {
            return Err(io::Error::new(io::ErrorKind::UnexpectedEof, format!("{path} became shorter")));
        }
        io::copy(&mut io::repeat(0).take(padding(bytes)), to)?;
        written += header.len() as u64 + bytes + padding(bytes);
        Ok(())
    };
    let name = format!("{FORM}{}", Digest::of(Kind::Artifact, &text));
    put(&name, text.len() as u64, &mut text.as_slice())?;
    for member in &manifest.members {
        put(&member.path, member.bytes, &mut open(member)?)?;
    }
    to.write_all(&END)?;
    // Dropped, a buffer says nothing of what it could not write.
    to.flush()?;
    Ok(written + END.len() as u64)
}

/// The size and the digest of a file.
pub(super) fn measured(file: &mut dyn Read) -> io::Result<(u64, Digest)> {
    let mut hasher = Hasher::new(Kind::Artifact);
    let bytes = copied(file, &mut io::sink(), &mut hasher)?;
    Ok((bytes, hasher.finish()))
}

fn copied(from: &mut dyn Read, to: &mut dyn Write, hasher: &mut Hasher) -> io::Result<u64> {
    let (mut buffer, mut bytes) = (vec![0; BUFFER_BYTES], 0);
    loop {
        let read = match from.read(&mut buffer) {
            Ok(0) => return Ok(bytes),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            read => read?,
        };
        let part = buffer.get(..read).unwrap_or_default();
        hasher.update(part);
        to.write_all(part)?;
        bytes += part.len() as u64;
    }
}

/// An archive that is read, member after member.
pub(super) struct Archive<R> {
    from: R,
    manifest: Manifest,
    next: usize,
    /// The instances, each with the entry that it ends with.
    pub(super) instances: Vec<Pinned>,
    /// Where each member belongs.
    pub(super) places: Vec<Place>,
}

impl<R: Read + Seek> Archive<R> {
    /// Reads the manifest, and looks whether the file is as long as it says.
    ///
    /// # Errors
    /// It is no backup, a newer version's, or damaged.
    pub(super) fn open(mut from: R, is_document: &dyn Fn(&str) -> bool) -> Result<Archive<R>, Failure> {
        let whole = from.seek(SeekFrom::End(0)).and_then(|whole| from.rewind().map(|()| whole)).map_err(unreadable)?;
        let mut block = [0; BLOCK_BYTES as usize];
        from.read_exact(&mut block).map_err(|error| read_failed(error, || damaged("the file", "is no backup")))?;
        let found = Header::from_byte_slice(&block);
        let path = String::from_utf8_lossy(&found.path_bytes()).into_owned();
        let Some(named) = path.strip_prefix(FORM) else {
            return Err(match path.strip_prefix(ANY_FORM).and_then(|rest| rest.split_once('/')) {
                Some((form, _)) if form.parse::<u32>().is_ok_and(|form| form > 1) => StoreError::TooNew {
                    at: "the backup".to_owned(),
                    what: format!("it has the form {form}"),
                    known: "form 1".to_owned(),
                }
                .into(),
                _ => damaged("the file", "is no backup"),
            });
        };
        let broken = |reason: &str| damaged("the manifest", reason);
        let bytes = found.entry_size().map_err(|_| broken("has no size"))?;
        if header(&path, bytes).map_err(unreadable)? != block {
            return Err(broken("has another header than it would be written with"));
        }
        if bytes > MANIFEST_BYTES_MAX {
            return Err(broken("is longer than any"));
        }
        let mut text = Vec::new();
        (&mut from).take(bytes).read_to_end(&mut text).map_err(unreadable)?;
        if text.len() as u64 != bytes {
            return Err(cut_short());
        }
        if Digest::of(Kind::Artifact, &text).to_string() != named {
            return Err(broken("does not match its digest"));
        }
        let manifest: Manifest = serde_json::from_slice(&text).map_err(|error| broken(&error.to_string()))?;
        let (instances, places) = manifest.read(is_document)?;
        let mut archive = Archive { from, manifest, next: 0, instances, places };
        archive.is_empty(padding(bytes), || broken("has something behind it"))?;
        let mut length = Some(block.len() as u64 + bytes + padding(bytes) + END.len() as u64);
        for member in &archive.manifest.members {
            let header = header(&member.path, member.bytes).map_err(|error| broken(&error.to_string()))?;
            let taken = member.bytes.checked_next_multiple_of(BLOCK_BYTES);
            length = length.and_then(|length| length.checked_add(taken?)?.checked_add(header.len() as u64));
        }
        match length {
            Some(length) if length == whole => Ok(archive),
            Some(length) if length < whole => Err(damaged("its end", "has something behind it")),
            _ => Err(cut_short()),
        }
    }

    /// The next member, whose content goes to `to`; nothing is left of what is damaged but what was written there.
    ///
    /// # Errors
    /// It is damaged, or the system refuses: `failed` says what that is.
    pub(super) fn next(
        &mut self,
        to: &mut dyn Write,
        failed: impl Fn(io::Error) -> Failure,
    ) -> Result<Option<Member>, Failure> {
        let Some(member) = self.manifest.members.get(self.next).cloned() else { return self.end().map(|()| None) };
        self.next += 1;
        let expected = header(&member.path, member.bytes).map_err(unreadable)?;
        let mut found = vec![0; expected.len()];
        self.from.read_exact(&mut found).map_err(|error| read_failed(error, cut_short))?;
        if found != expected {
            return Err(damaged(&*member.path, "has another header than it would be written with"));
        }
        let mut hasher = Hasher::new(Kind::Artifact);
        let bytes = copied(&mut (&mut self.from).take(member.bytes), to, &mut hasher).map_err(failed)?;
        if bytes != member.bytes {
            return Err(cut_short());
        }
        if hasher.finish() != member.digest {
            return Err(damaged(&*member.path, "does not match its digest"));
        }
        self.is_empty(padding(bytes), || damaged(&*member.path, "has something behind it"))?;
        Ok(Some(member))
    }

    fn end(&mut self) -> Result<(), Failure> {
        self.is_empty(END.len() as u64, || damaged("its end", "is none"))
    }

    fn is_empty(&mut self, bytes: u64, otherwise: impl Fn() -> Failure) -> Result<(), Failure> {
        let mut found = Vec::new();
        (&mut self.from).take(bytes).read_to_end(&mut found).map_err(unreadable)?;
        match found.len() as u64 == bytes && found.iter().all(|byte| *byte == 0) {
            true => Ok(()),
            false => Err(otherwise()),
        }
    }
}

fn unreadable(source: io::Error) -> Failure {
    StoreError::Failed { at: "the backup".to_owned(), action: "read it", source: source.into() }.into()
}

fn read_failed(error: io::Error, short: impl Fn() -> Failure) -> Failure {
    if error.kind() == io::ErrorKind::UnexpectedEof { short() } else { unreadable(error) }
}

//! The folders of a package that its guest may read.

use super::{Package, PackageBounds, PackageError, Source, folder};
use hutch_model::digest::{Digest, Kind};
use hutch_model::names::PackagePath;
use hutch_model::snapshot::{CHUNK_BYTES, Lack, MemoryObjects, ObjectError, Objects};
#[cfg(feature = "machine")]
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, OnceLock};

/// What they hold.
#[derive(Clone)]
pub(crate) struct Resources {
    /// Each, by the name that the guest sees.
    pub(crate) trees: BTreeMap<String, Digest>,
    /// Their content.
    pub(crate) objects: Arc<Chunks>,
}

impl std::fmt::Debug for Resources {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Resources").field("trees", &self.trees).finish_non_exhaustive()
    }
}

impl Resources {
    /// Names those of a package.
    pub(super) fn of(package: &Package) -> Result<Resources, PackageError> {
        let (trees, chunks) = Chunks::of(&package.source, &package.bounds, package.manifest.resources())?;
        Ok(Resources { trees, objects: Arc::new(chunks) })
    }

    /// Those that are remembered as these. Nothing of them is read, and what names what they hold when it is first looked at.
    #[cfg(feature = "machine")]
    pub(super) fn known(source: &Source, kept: KeptResources) -> Resources {
        let chunks = Chunks { source: source.clone(), named: OnceLock::new(), kept: kept.named };
        Resources { trees: kept.trees, objects: Arc::new(chunks) }
    }

    /// What is to be remembered of them.
    #[cfg(feature = "machine")]
    pub(super) fn keep(&self) -> Option<KeptResources> {
        let Named { names, files, places } = self.objects.named()?;
        let object = |(name, bytes): (&Digest, &Arc<[u8]>)| Object { name: *name.as_bytes(), bytes: bytes.to_vec() };
        let names = names.iter().map(object).collect();
        let places = places.iter().map(|(name, (file, number))| (*name.as_bytes(), *file, *number)).collect();
        let named = postcard::to_allocvec(&KeptNames { names, files: files.clone(), places }).ok()?;
        Some(KeptResources { trees: self.trees.clone(), named })
    }
}

/// Resources as they are remembered.
#[cfg(feature = "machine")]
#[derive(Serialize, Deserialize)]
pub(super) struct KeptResources {
    trees: BTreeMap<String, Digest>,
    /// [`KeptNames`]: a run that looks at nothing of them does without.
    #[serde(with = "hutch_model::kept::bytes")]
    named: Vec<u8>,
}

/// All that names them, so that a guest's first look at them costs what it looks at.
#[cfg(feature = "machine")]
#[derive(Serialize, Deserialize)]
struct KeptNames {
    names: Vec<Object>,
    files: Vec<(PackagePath, u64)>,
    places: Vec<([u8; 32], u32, u32)>,
}

#[cfg(feature = "machine")]
#[derive(Serialize, Deserialize)]
struct Object {
    name: [u8; 32],
    #[serde(with = "hutch_model::kept::bytes")]
    bytes: Vec<u8>,
}

/// The files of resources, read chunk by chunk as a guest asks for them. Held in memory is what names them: 1/1000 of what they hold.
pub(crate) struct Chunks {
    source: Source,
    named: OnceLock<Option<Named>>,
    /// What names them, as it is remembered.
    #[cfg(feature = "machine")]
    kept: Vec<u8>,
}

/// What names them.
struct Named {
    /// Folders, and lists of chunks.
    names: MemoryObjects,
    /// With their sizes.
    files: Vec<(PackagePath, u64)>,
    /// In which file a chunk is, and which of it.
    places: HashMap<Digest, (u32, u32)>,
}

/// So many bytes are read at once, where all of a file is.
const READ_BYTES: u64 = 64 * CHUNK_BYTES;

impl Chunks {
    /// Names everything in some folders of a package. All of it is read, and no more of it held than is read at once.
    fn of(
        source: &Source,
        bounds: &PackageBounds,
        folders: &[PackagePath],
    ) -> Result<(BTreeMap<String, Digest>, Chunks), PackageError> {
        let mut names = MemoryObjects::default();
        let (mut trees, mut files, mut places) = (BTreeMap::new(), Vec::new(), HashMap::new());
        for folder in folders {
            let tree = folder::read(source, bounds, folder, &mut names, |names, path, size| {
                let mut parts = Vec::new();
                let number = u32::try_from(files.len()).unwrap_or(u32::MAX);
                let read = source.read_through(path, (size, READ_BYTES), &mut |piece| {
                    for chunk in piece.chunks(CHUNK_BYTES as usize) {
                        let digest = Digest::of(Kind::Chunk, chunk);
                        places.entry(digest).or_insert((number, parts.len() as u32));
                        parts.push(digest);
                    }
                });
                read.map_err(PackageError::one)?;
                files.push((path.clone(), size));
                Ok(names.insert_lists(size, parts))
            })?;
            trees.insert(folder.to_string(), tree);
        }
        let chunks = Chunks {
            source: source.clone(),
            named: OnceLock::from(Some(Named { names, files, places })),
            #[cfg(feature = "machine")]
            kept: Vec::new(),
        };
        Ok((trees, chunks))
    }

    /// What names them; nothing if that can't be told any more.
    fn named(&self) -> Option<&Named> {
        #[cfg(feature = "machine")]
        let known = || {
            let kept: KeptNames = postcard::from_bytes(&self.kept).ok()?;
            let mut names = MemoryObjects::default();
            kept.names.into_iter().for_each(|object| names.insert_named(Digest::from_bytes(object.name), object.bytes));
            let places = kept.places.into_iter().map(|(name, file, number)| (Digest::from_bytes(name), (file, number)));
            Some(Named { names, files: kept.files, places: places.collect() })
        };
        #[cfg(not(feature = "machine"))]
        let known = || None;
        self.named.get_or_init(known).as_ref()
    }

    /// Whether somebody has looked at them.
    #[cfg(all(test, feature = "machine"))]
    pub(super) fn is_named(&self) -> bool {
        self.named.get().is_some()
    }

    /// A chunk as it is now, and of which file.
    fn read<'n>(&self, named: &'n Named, file: u32, number: u32) -> Result<(&'n PackagePath, Vec<u8>), String> {
        let (path, size) = named.files.get(file as usize).ok_or("no file has it")?;
        let at = u64::from(number) * CHUNK_BYTES;
        let read = self.source.part_now(path, at, CHUNK_BYTES.min(size.saturating_sub(at)));
        Ok((path, read.map_err(|problem| problem.to_string())?.unwrap_or_default()))
    }
}

impl Objects for Chunks {
    fn get(&self, kind: Kind, digest: &Digest) -> Result<Arc<[u8]>, ObjectError> {
        let lacks = |lack| ObjectError { digest: *digest, kind, lack };
        let unnamed = || lacks(Lack::Unreadable("what is remembered of it is not as it was written".to_owned()));
        let named = self.named().ok_or_else(unnamed)?;
        let place = match named.places.get(digest) {
            Some(place) if kind == Kind::Chunk => place,
            _ => return named.names.get(kind, digest),
        };
        let (path, bytes) = self.read(named, place.0, place.1).map_err(|reason| lacks(Lack::Unreadable(reason)))?;
        // Whoever changes a package under a run is neither its guest nor its host.
        match Digest::of(kind, &bytes) == *digest {
            true => Ok(bytes.into()),
            false => Err(lacks(Lack::Changed(path.to_string()))),
        }
    }
}

#[cfg(all(test, feature = "machine"))]
mod tests {
    use super::*;
    use hutch_model::snapshot::{Entry, Node, find, read_file};

    /// Chunks that differ, in several lists, and a last one that is short.
    fn content() -> Vec<u8> {
        (0..(300 * CHUNK_BYTES + 5) / 8).flat_map(|number: u64| number.to_le_bytes()).chain([1; 5]).collect()
    }

    #[test]
    fn what_a_guest_does_not_ask_for_is_not_held_and_what_was_changed_is_not_given() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::create_dir(folder.path().join("docs")).unwrap();
        let at = folder.path().join("docs/large");
        std::fs::write(&at, content()).unwrap();
        std::fs::write(folder.path().join("docs/again"), &content()[..70_000]).unwrap();
        std::fs::write(folder.path().join("docs/empty"), b"").unwrap();
        let bounds = PackageBounds::with_component(1 << 20);
        let source = Source::open(folder.path(), &bounds).unwrap();
        let docs = PackagePath::parse("docs").unwrap();
        let (trees, chunks) = Chunks::of(&source, &bounds, std::slice::from_ref(&docs)).unwrap();
        // The same as with all of it in memory.
        let mut whole = MemoryObjects::default();
        let tree = folder::read(&source, &bounds, &docs, &mut whole, |objects, path, _| {
            Ok(objects.insert_file(&source.read_whole(path, &bounds).unwrap()))
        });
        assert_eq!(trees["docs"], tree.unwrap());
        let read = |name: &str| {
            let Some(Entry { node: Node::File { size, content }, .. }) = find(&chunks, &trees["docs"], [name]).unwrap()
            else {
                panic!("{name}")
            };
            let mut read = Vec::new();
            let done = read_file::<ObjectError>(&chunks, &content, size, &mut |chunk| {
                read.extend_from_slice(chunk);
                Ok(())
            });
            done.map(|()| read)
        };
        assert!(read("large").unwrap() == content(), "other bytes");
        assert!(read("again").unwrap() == content()[..70_000], "other bytes");
        assert_eq!(read("empty").unwrap(), b"");
        // Two lists and one above them, one for the second file, and the folder.
        assert_eq!(chunks.named().unwrap().names.len(), 5);
        let mut changed = content();
        changed[200 * CHUNK_BYTES as usize + 77] ^= 1;
        std::fs::write(&at, changed).unwrap();
        let lacks_as_changed = || assert_eq!(read("large").unwrap_err().lack, Lack::Changed("docs/large".to_owned()));
        lacks_as_changed();
        std::fs::write(&at, &content()[..9]).unwrap();
        lacks_as_changed();
        std::fs::remove_file(&at).unwrap();
        lacks_as_changed();
    }
}

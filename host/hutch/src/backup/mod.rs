//! A home in one file, and a home again of that file: every instance with its ledger, its states and its key for secrets, installed packages
//! with their kept versions, and the documents that the home's owner names. Knows no clock, no meaning of documents, and runs nothing.
//!
//! Not in it: the plain folders, which follow from the states, and what can be made again.

mod aside;
mod form;
mod restore;

pub use aside::remnants;
pub use restore::Restored;

use crate::failure::Failure;
use crate::host::Host;
use crate::installed::{self, Installed, InstalledError};
use crate::package::{PackageBounds, open_folder};
use aside::Aside;
use form::{Manifest, Member};
use hutch_folder::Hands;
use hutch_model::digest::Digest;
use hutch_model::instant::Instant;
use hutch_model::ledger::Pin;
use hutch_model::names::{PackagePath, Slug};
use hutch_store::{InstanceDir, InstanceName, SqliteStore, Store, StoreError};
use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

/// What the file is called until it has its own name.
const WHOLE: &str = "backup";

/// An instance, and the entry that it ends with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pinned {
    /// The package.
    pub slug: Slug,
    /// Its name.
    pub name: InstanceName,
    /// Its last entry.
    pub head: Pin,
}

/// What a backup holds.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Contents {
    /// The instances, as they are in it.
    pub instances: Vec<Pinned>,
    /// How many versions of installed packages.
    pub versions: u64,
}

/// Where something of a home lies.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Place {
    Instance(Slug, InstanceName),
    Pin(Slug),
    /// The pin of what was removed.
    Removed(Slug),
    /// A version of a package, packed.
    Version(Slug, Digest),
    Document(PackagePath),
}

impl Place {
    /// The place at a path of an archive; nothing for what no home has.
    fn of(path: &str, is_document: &dyn Fn(&str) -> bool) -> Option<Place> {
        let parts: Vec<&str> = path.split('/').collect();
        let place = match parts.as_slice() {
            ["instances", slug, name, "hutch.db"] => Place::Instance(slug.parse().ok()?, name.parse().ok()?),
            ["packages", slug, "pin.json"] => Place::Pin(slug.parse().ok()?),
            ["packages", slug, "removed.json"] => Place::Removed(slug.parse().ok()?),
            ["packages", slug, file] => {
                Place::Version(slug.parse().ok()?, file.strip_suffix(".tar").and_then(|digest| digest.parse().ok())?)
            }
            ["instances" | "packages", ..] => return None,
            _ if is_document(path) => Place::Document(PackagePath::parse(path).ok()?),
            _ => return None,
        };
        // One place has one path.
        (place.path() == path).then_some(place)
    }

    fn path(&self) -> String {
        match self {
            Place::Instance(slug, name) => format!("instances/{slug}/{name}/hutch.db"),
            Place::Pin(slug) => format!("packages/{slug}/pin.json"),
            Place::Removed(slug) => format!("packages/{slug}/removed.json"),
            Place::Version(slug, version) => format!("packages/{slug}/{version}.tar"),
            Place::Document(path) => path.to_string(),
        }
    }
}

/// What is to be in a backup, as files that nobody else changes: what was measured is what is written.
struct Spool {
    /// None where nothing is kept: what would be added is not made then.
    folder: Option<Aside>,
    members: BTreeMap<String, (PathBuf, Member)>,
}

impl Spool {
    fn make(beside: &Path, keeps: bool) -> Result<Spool, Failure> {
        let folder = keeps.then(|| Aside::make(aside::BACKUP, beside)).transpose()?;
        Ok(Spool { folder, members: BTreeMap::new() })
    }

    /// Adds the new file that `make` makes at this path.
    fn add(&mut self, place: &Place, make: impl FnOnce(&Path) -> Result<(), Failure>) -> Result<(), Failure> {
        let Some(folder) = &self.folder else { return Ok(()) };
        let file = folder.path().join(self.members.len().to_string());
        make(&file)?;
        #[expect(clippy::disallowed_methods, reason = "a file of its own, in a folder of its own")]
        let measured = File::open(&file).and_then(|mut file| form::measured(&mut file));
        let (bytes, digest) = measured.map_err(|error| StoreError::io(&file, "read it", error))?;
        let path = place.path();
        self.members.insert(path.clone(), (file, Member { path, bytes, digest }));
        Ok(())
    }

    /// The same, of a file that `write` fills.
    fn fill(&mut self, place: &Place, write: impl FnOnce(&mut File) -> Result<(), Failure>) -> Result<(), Failure> {
        self.add(place, |path| {
            #[expect(clippy::disallowed_methods, reason = "a file of its own, in a folder of its own")]
            let file = File::create_new(path);
            write(&mut file.map_err(|error| StoreError::io(path, "write it", error))?)
        })
    }

    fn open(&self, member: &Member) -> io::Result<File> {
        let (path, _) = self.members.get(&member.path).ok_or(io::ErrorKind::NotFound)?;
        #[expect(clippy::disallowed_methods, reason = "a file of its own, in a folder of its own")]
        let file = File::open(path);
        file
    }
}

impl Host {
    /// Writes the whole home as one file, while others may be at work in it: of each instance what it had come to at one moment, edits in its
    /// plain folders taken in first, with its key for secrets. `documents` are paths below the home of files that are kept as they are, if
    /// they are there. Equal homes are equal bytes. All of it lies in a folder that is made below `beside`, and is gone with that in the
    /// end; `keep` is told where the whole file is, and moves it to its place. A preview only looks what there is, and tells nobody.
    ///
    /// # Errors
    /// An instance can't be copied: another process is at work in it for too long, or a run that was killed is not settled; an installed
    /// package is not what was installed; the system refuses.
    pub fn back_up(
        &self,
        documents: &[String],
        at: Instant,
        beside: &Path,
        keep: &mut dyn FnMut(&Path),
    ) -> Result<Contents, Failure> {
        let mut spool = Spool::make(beside, self.keeps())?;
        let instances = self.spool_instances(&mut spool, at)?;
        // Behind the instances: what their entries name is there by now.
        let versions = self.spool_packages(&mut spool)?;
        for document in documents {
            self.spool_document(&mut spool, document)?;
        }
        if let Some(aside) = &spool.folder {
            let members = spool.members.values().map(|(_, member)| member.clone()).collect();
            let manifest = Manifest::new(&instances, members);
            let file = Hands::default().create_private_file(aside.folder(), WHOLE).map(BufWriter::new);
            let written = file.and_then(|mut file| form::write(&mut file, &manifest, |member| spool.open(member)));
            written.map_err(|error| StoreError::io(beside, "write the backup there", error))?;
            keep(&aside.path().join(WHOLE));
        }
        Ok(Contents { instances, versions })
    }

    fn spool_instances(&self, spool: &mut Spool, at: Instant) -> Result<Vec<Pinned>, Failure> {
        let known = crate::instances::of(self.home()).map_err(|error| StoreError::io(self.home(), "read it", error))?;
        let mut pinned = Vec::new();
        for instance in known {
            let (slug, name) = (instance.slug, instance.name);
            match self.open_existing(&slug, &name, at) {
                // It was taken away meanwhile, or whoever makes it is not done.
                Err(_) if !SqliteStore::is_there(&InstanceDir::new(self.home(), &slug, &name), self.wait()) => continue,
                session => session?.absorb_edits()?,
            };
            let store = self.store_of(&slug, &name)?;
            // What is damaged would be refused when the backup is needed.
            if let Some(damage) = store.check()?.into_iter().next() {
                let (what, reason) = (format!("{slug}/{name}, {}", damage.what), damage.reason);
                return Err(StoreError::Damaged { at: store.at(), what, reason }.into());
            }
            let mut head = store.head()?.last;
            spool.add(&Place::Instance(slug.clone(), name.clone()), |file| {
                head = store.copy_into(file)?;
                Ok(())
            })?;
            pinned.push(Pinned { slug, name, head });
        }
        Ok(pinned)
    }

    fn spool_packages(&self, spool: &mut Spool) -> Result<u64, Failure> {
        let (installed, bounds) = (Installed::of(self.home()), PackageBounds::default());
        let mut versions = 0;
        for pin in installed.pins()? {
            let pin = pin?;
            let slug = pin.slug()?;
            let kept = installed.kept(&slug)?;
            if !kept.contains(&pin.digest) {
                // Removed or updated meanwhile, or its files are gone.
                match installed.pin(&slug) {
                    Err(InstalledError::Missing(_)) => continue,
                    Ok(now) if now.digest != pin.digest => return Err(StoreError::Busy { at: pin.slug.clone() }.into()),
                    _ => {
                        let reason = "its version is not there".to_owned();
                        return Err(InstalledError::Unfit { slug: pin.slug, reason }.into());
                    }
                }
            }
            for version in kept {
                versions += 1;
                let place = Place::Version(slug.clone(), version);
                spool.fill(&place, |file| Ok(installed.pack_kept(&slug, version, &bounds, file)?))?;
            }
            spool_pin(spool, &Place::Pin(slug), pin)?;
        }
        for pin in installed.removals()? {
            let pin = pin?;
            spool_pin(spool, &Place::Removed(pin.slug()?), pin)?;
        }
        Ok(versions)
    }

    fn spool_document(&self, spool: &mut Spool, name: &str) -> Result<(), Failure> {
        let path = PackagePath::parse(name).map_err(|error| copying(name, io::Error::other(error)))?;
        let Some(mut document) = self.document(&path)? else { return Ok(()) };
        spool.fill(&Place::Document(path), |file| {
            io::copy(&mut document, file).map(drop).map_err(|error| copying(name, error))
        })
    }

    /// A document of the home, if it is there.
    fn document(&self, path: &PackagePath) -> Result<Option<File>, StoreError> {
        let at = self.home().join(path.as_str());
        let unreadable = |error| StoreError::io(&at, "read it", error);
        let mut folder = match open_folder(self.home()) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            folder => folder.map_err(unreadable)?,
        };
        let (above, name) = path.as_str().rsplit_once('/').unwrap_or(("", path.as_str()));
        for part in above.split('/').filter(|part| !part.is_empty()) {
            match hutch_folder::open_folder(&folder, part).map_err(unreadable)? {
                Some(inner) => folder = inner,
                None => return Ok(None),
            }
        }
        match hutch_folder::open_file(&folder, name) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            file => file.map(Some).map_err(unreadable),
        }
    }
}

fn spool_pin(spool: &mut Spool, place: &Place, pin: installed::Pin) -> Result<(), Failure> {
    let pin = pin.without_launcher();
    spool.fill(place, |file| file.write_all(pin.text().as_bytes()).map_err(|error| copying(&pin.slug, error)))
}

fn copying(what: &str, source: io::Error) -> Failure {
    StoreError::io(Path::new(what), "copy it", source).into()
}

//! Packages that have a home: copied below the host's folder, each pinned to the digest of what was copied.
//!
//! ```text
//! <home>/packages/<slug>/pin.json     what is installed, and what was granted; replaced by a rename
//! <home>/packages/<slug>/removed.json the pin of what was removed, whose state stayed; gone when something is installed again
//! <home>/packages/<slug>/<digest>/    a version's files, written before the pin names them, kept while a ledger does
//! ```

use crate::package::{Memory, PackError, Package, PackageBounds, PackageError, Scope, Source, open_folder};
use cap_std::fs::Dir;
use hutch_folder::{Hands, open_file};
use hutch_model::asks::Asks;
use hutch_model::diagnostic::Code;
use hutch_model::digest::Digest;
use hutch_model::error_code::ErrorCode;
use hutch_model::instant::Instant;
use hutch_model::ledger::Origin;
use hutch_model::names::Slug;
use hutch_store::{InstanceLock, StoreError};
use serde::{Deserialize, Serialize};
use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::time::Duration;

mod writing;

const PIN_FILE: &str = "pin.json";

const REMOVED_FILE: &str = "removed.json";

/// Held by whoever compares a pin and writes or removes it.
const LOCK_FILE: &str = "pins.lock";

/// The longest wait for it: it is held for as long as one pin takes.
const LOCK_WAIT: Duration = Duration::from_secs(10);

/// The most bytes of a pin that are read.
const PIN_BYTES_MAX: u64 = 4 << 20;

/// What is installed under a slug.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Pin {
    /// The identity of the package.
    pub slug: String,
    /// Its version.
    pub version: String,
    /// The digest of all its files.
    pub digest: Digest,
    /// Where it was copied from.
    pub source: String,
    /// Whether that was one file.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub packed: bool,
    /// When.
    pub installed_at: Instant,
    /// What it asks for. All of it was granted: what is not granted is not installed.
    pub asks: Asks,
    /// What starts it by its name alone, if anything does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub launcher: Option<Launcher>,
    /// The public key (PEM) that signed it, if one was asked for. A later version must be signed by it too.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub signer: Option<String>,
    /// The public key (PEM) that says how it was built, if one was known that does. One must say it of a later version too.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub attester: Option<String>,
    /// Whether nobody but a lock named the signer: a later version must be signed by it too, and no rule counts it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub signer_unnamed: bool,
    /// The same of who says how it was built.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub attester_unnamed: bool,
    /// Whom the certificate of its signature names, where the signer is an identity: that may mean all who are called so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub signed_by: Option<String>,
    /// The same of who says how it was built.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub attested_by: Option<String>,
}

impl Pin {
    /// The package.
    ///
    /// # Errors
    /// What stands there is no slug.
    pub fn slug(&self) -> Result<Slug, InstalledError> {
        let damaged = |reason: String| InstalledError::Damaged { slug: self.slug.clone(), reason };
        Slug::parse(&self.slug).map_err(|error| damaged(error.to_string()))
    }

    /// The same for another home: what starts the package stands outside of this one, and is this one's.
    #[must_use]
    pub(crate) fn without_launcher(self) -> Pin {
        Pin { launcher: None, ..self }
    }

    /// As it is written.
    pub(crate) fn text(&self) -> String {
        serde_json::to_string_pretty(self).unwrap_or_default()
    }
}

/// What is kept of a package besides itself.
#[derive(Clone, Debug, Default)]
pub struct Remembered {
    /// What starts it.
    pub launcher: Option<Launcher>,
    /// The public key (PEM) that signed it.
    pub signer: Option<String>,
    /// The public key (PEM) that says how it was built.
    pub attester: Option<String>,
    /// Whether nobody but a lock named the signer.
    pub signer_unnamed: bool,
    /// The same of who says how it was built.
    pub attester_unnamed: bool,
    /// Whom the certificate of its signature names.
    pub signed_by: Option<String>,
    /// Whom that of who says how it was built.
    pub attested_by: Option<String>,
}

/// A file that starts an installed package under its slug. Whoever makes packages callable writes it; here it is only remembered,
/// so that it is known again.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Launcher {
    /// Where it is.
    pub path: String,
    /// All of its text: a file with another one is somebody else's.
    pub text: String,
}

/// Why an installed package can't be had, made or taken away.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum InstalledError {
    /// No package has that slug.
    #[error("no package {0:?} is installed")]
    Missing(String),
    /// One has it already.
    #[error("a package {0:?} is installed already")]
    Exists(String),
    /// What was to be replaced is not there any more.
    #[error("the package {0:?} was installed anew or removed while this was at work")]
    Conflict(String),
    /// The pins can't be locked.
    #[error(transparent)]
    Lock(#[from] StoreError),
    /// Its files are not the ones that were installed.
    #[error("the files of {slug:?} have the digest {found}, but {pinned} was installed")]
    Changed {
        /// The package.
        slug: String,
        /// What was installed.
        pinned: Digest,
        /// What is there.
        found: Digest,
    },
    /// Among its files is what no package holds, or they are gone.
    #[error("the files of {slug:?} are not those that were installed: {reason}")]
    Unfit {
        /// The package.
        slug: String,
        /// What is wrong with them.
        reason: String,
    },
    /// The pin can't be read.
    #[error("the pin of {slug:?} can't be read: {reason}")]
    Damaged {
        /// The package.
        slug: String,
        /// Why.
        reason: String,
    },
    /// The package breaks the rules.
    #[error(transparent)]
    Package(#[from] PackageError),
    /// The system refused.
    #[error("{path}: {source}")]
    Io {
        /// Where.
        path: String,
        /// Why.
        source: io::Error,
    },
}

impl InstalledError {
    /// The code to report it with.
    pub fn code(&self) -> ErrorCode {
        match self {
            InstalledError::Missing(_) => ErrorCode::PackageNotFound,
            InstalledError::Exists(_) => ErrorCode::AlreadyExists,
            InstalledError::Conflict(_) => ErrorCode::Conflict,
            InstalledError::Lock(error) => error.code(),
            InstalledError::Changed { .. } | InstalledError::Unfit { .. } => ErrorCode::PackageChanged,
            InstalledError::Damaged { .. } => ErrorCode::StoreDamaged,
            InstalledError::Package(error) => error.code(),
            InstalledError::Io { source, .. } if source.kind() == io::ErrorKind::PermissionDenied => {
                ErrorCode::PermissionDenied
            }
            InstalledError::Io { .. } => ErrorCode::HostFault,
        }
    }
}

/// All installed packages of a home.
#[derive(Clone, Debug)]
pub struct Installed {
    folder: PathBuf,
    hands: Hands,
}

impl Installed {
    /// Those below `home`. Touches nothing.
    pub fn of(home: &Path) -> Installed {
        Installed { folder: home.join("packages"), hands: Hands::default() }
    }

    /// Where they are.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Every pin, by slug. A pin that can't be read is an error of that package alone.
    ///
    /// # Errors
    /// The folder can't be read.
    pub fn pins(&self) -> Result<Vec<Result<Pin, InstalledError>>, InstalledError> {
        self.all(PIN_FILE)
    }

    /// The same of what was removed.
    pub(crate) fn removals(&self) -> Result<Vec<Result<Pin, InstalledError>>, InstalledError> {
        self.all(REMOVED_FILE)
    }

    fn all(&self, name: &str) -> Result<Vec<Result<Pin, InstalledError>>, InstalledError> {
        let Some(dir) = self.dir()? else { return Ok(Vec::new()) };
        let entries = dir.entries().map_err(|source| self.io("", source))?;
        let mut slugs: Vec<Slug> = entries
            .filter_map(|entry| entry.ok()?.file_name().into_string().ok())
            .filter_map(|name| Slug::parse(&name).ok())
            .collect();
        slugs.sort();
        Ok(slugs.iter().filter_map(|slug| self.pin_in(slug, name).transpose()).collect())
    }

    /// The pin of one package.
    ///
    /// # Errors
    /// It is not installed, or its pin can't be read.
    pub fn pin(&self, slug: &Slug) -> Result<Pin, InstalledError> {
        self.pin_in(slug, PIN_FILE)?.ok_or_else(|| InstalledError::Missing(slug.to_string()))
    }

    /// The pin of a package that was removed, if nothing was installed under its slug since: what it kept is not the next one's for that.
    ///
    /// # Errors
    /// It can't be read.
    pub fn removed(&self, slug: &Slug) -> Result<Option<Pin>, InstalledError> {
        self.pin_in(slug, REMOVED_FILE)
    }

    fn pin_in(&self, slug: &Slug, name: &str) -> Result<Option<Pin>, InstalledError> {
        let Some(dir) = self.dir()? else { return Ok(None) };
        let folder = hutch_folder::open_folder(&dir, slug.as_str()).map_err(|source| self.io(slug.as_str(), source))?;
        let Some(folder) = folder else { return Ok(None) };
        match open_file(&folder, name) {
            Ok(file) => Installed::read_pin(slug, file).map(Some),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(source) => Err(self.io(&format!("{slug}/{name}"), source)),
        }
    }

    /// The pin of a package that stands in a file.
    ///
    /// # Errors
    /// It can't be read.
    pub(crate) fn read_pin(slug: &Slug, file: File) -> Result<Pin, InstalledError> {
        let damaged = |reason: String| InstalledError::Damaged { slug: slug.to_string(), reason };
        let mut text = String::new();
        // A pin is a few hundred bytes; what is longer than this is none.
        let read = file.take(PIN_BYTES_MAX).read_to_string(&mut text);
        read.map_err(|error| damaged(error.to_string()))?;
        let pin: Pin = serde_json::from_str(&text).map_err(|error| damaged(error.to_string()))?;
        if pin.slug == slug.as_str() { Ok(pin) } else { Err(damaged(format!("it is that of {:?}", pin.slug))) }
    }

    /// The folder of the files that a pin names.
    pub fn folder_of(&self, pin: &Pin) -> PathBuf {
        self.folder.join(&pin.slug).join(pin.digest.to_string())
    }

    /// Opens the version that a pin names. Its files are held against the pin before any of them is understood, and what is read of them
    /// from then on is what was held against it; what `memory` holds of them is taken if it is of the pin.
    ///
    /// # Errors
    /// They are not there, or not what was installed.
    pub fn open(&self, pin: &Pin, bounds: PackageBounds, memory: Option<&Memory>) -> Result<Package, InstalledError> {
        let unfit = |reason: String| InstalledError::Unfit { slug: pin.slug.clone(), reason };
        let source = self.files(&pin.slug()?, pin.digest)?;
        if let Some((package, digest)) = memory.and_then(|memory| memory.recall(&source, bounds, Scope::All))
            && digest == Some(pin.digest)
        {
            return Ok(package.from_origin(Origin::installed()));
        }
        match source.held(&bounds).and_then(|held| Ok((held.digest(&bounds)?, held))) {
            Ok((found, held)) if found == pin.digest => {
                let package = Package::open(&held, bounds)?;
                if let Some(memory) = memory {
                    memory.keep(&package, Some(found));
                }
                Ok(package.from_origin(Origin::installed()))
            }
            Ok((found, _)) => Err(InstalledError::Changed { slug: pin.slug.clone(), pinned: pin.digest, found }),
            // The system's refusal says nothing about what is there; everything else was not there when it was installed.
            Err(error) if error.diagnostics().iter().any(|problem| problem.code == Code::FileUnreadable) => {
                Err(error.into())
            }
            Err(error) => Err(unfit(error.to_string())),
        }
    }

    /// The files of a version.
    fn files(&self, slug: &Slug, version: Digest) -> Result<Source, InstalledError> {
        let folder = self.folder.join(slug.as_str()).join(version.to_string());
        let dir = open_folder(&folder).map_err(|source| match source.kind() {
            io::ErrorKind::NotFound | io::ErrorKind::NotADirectory => {
                InstalledError::Unfit { slug: slug.to_string(), reason: "their folder is gone".to_owned() }
            }
            _ => self.io(&folder.display().to_string(), source),
        })?;
        Ok(Source::folder(dir))
    }

    /// The versions of a package whose files are here: that of its pin, and earlier ones.
    ///
    /// # Errors
    /// The folder can't be read.
    pub fn kept(&self, slug: &Slug) -> Result<Vec<Digest>, InstalledError> {
        let Some(dir) = self.dir()? else { return Ok(Vec::new()) };
        let listed = hutch_folder::open_folder(&dir, slug.as_str())
            .and_then(|folder| folder.map(|folder| hutch_folder::list(&folder)).transpose());
        let names = listed.map_err(|source| self.io(slug.as_str(), source))?.map(|listed| listed.names);
        Ok(names.into_iter().flatten().filter_map(|name| name.parse().ok()).collect())
    }

    /// Opens a version whose files are here.
    ///
    /// # Errors
    /// As for [`Installed::open`].
    pub fn open_kept(&self, slug: &Slug, version: Digest, bounds: PackageBounds) -> Result<Package, InstalledError> {
        let pin = Pin { digest: version, ..self.pin(slug)? };
        self.open(&pin, bounds, None)
    }

    /// Takes the files of an earlier version away.
    ///
    /// # Errors
    /// It is the one of the pin, or the system refuses.
    pub fn drop_kept(&self, slug: &Slug, version: Digest) -> Result<(), InstalledError> {
        let _lock = self.lock()?;
        if self.pin(slug)?.digest == version {
            return Err(InstalledError::Exists(slug.to_string()));
        }
        let path = format!("{slug}/{version}");
        let removed = self.dir()?.map_or(Ok(()), |dir| dir.remove_dir_all(&path));
        removed.map_err(|source| self.io(&path, source))
    }

    /// Copies a package, and pins it, in the place of the version that it was judged beside, if there was one: whoever was faster is not
    /// written over. That one's state is left as it is, and so are its files: calls that began before may read them, and entries of the
    /// ledger name them. [`Installed::drop_kept`] takes them away.
    ///
    /// # Errors
    /// It is there already, another version is by now, or the system refuses.
    pub fn install(
        &self,
        package: &Package,
        source: &str,
        at: Instant,
        remembered: Remembered,
        before: Option<&Pin>,
    ) -> Result<Pin, InstalledError> {
        let manifest = package.manifest();
        let slug = manifest.slug();
        self.check_pin(slug, before)?;
        let pin = Pin {
            slug: slug.to_string(),
            version: manifest.version().to_string(),
            digest: package.digest()?,
            source: source.to_owned(),
            packed: package.source().is_packed(),
            installed_at: at,
            asks: Asks::of(manifest),
            launcher: remembered.launcher,
            signer: remembered.signer,
            attester: remembered.attester,
            signer_unnamed: remembered.signer_unnamed,
            attester_unnamed: remembered.attester_unnamed,
            signed_by: remembered.signed_by,
            attested_by: remembered.attested_by,
        };
        self.put_version(slug, pin.digest, package.source(), package.bounds())?;
        let _lock = self.lock()?;
        self.check_pin(slug, before)?;
        // Whoever removed what came meanwhile took this with it.
        self.files(slug, pin.digest)?;
        self.put_pin(&pin)?;
        Ok(pin)
    }

    /// Whether the pin is as it was; one that can't be read is none.
    fn check_pin(&self, slug: &Slug, before: Option<&Pin>) -> Result<(), InstalledError> {
        match (self.pin(slug), before) {
            (Err(InstalledError::Missing(_) | InstalledError::Damaged { .. }), None) => Ok(()),
            (Ok(_), None) => Err(InstalledError::Exists(slug.to_string())),
            (Ok(now), Some(before)) if now == *before => Ok(()),
            (Ok(_) | Err(InstalledError::Missing(_) | InstalledError::Damaged { .. }), Some(_)) => {
                Err(InstalledError::Conflict(slug.to_string()))
            }
            (Err(error), _) => Err(error),
        }
    }

    /// Keeps others from changing pins. The folder is there.
    fn lock(&self) -> Result<InstanceLock, InstalledError> {
        let dir = open_folder(&self.folder).map_err(|source| self.io("", source))?;
        Ok(hutch_store::lock(&dir, &self.folder, LOCK_FILE, LOCK_WAIT)?)
    }

    /// Writes a version whose files are here as one file, after holding them against its name.
    ///
    /// # Errors
    /// They are not what was installed, or the system refuses.
    pub(crate) fn pack_kept(
        &self,
        slug: &Slug,
        version: Digest,
        bounds: &PackageBounds,
        to: &mut File,
    ) -> Result<(), InstalledError> {
        let source = self.files(slug, version)?;
        let found = source.digest(bounds)?;
        if found != version {
            return Err(InstalledError::Changed { slug: slug.to_string(), pinned: version, found });
        }
        source.pack(bounds, to).map_err(|error| match error {
            PackError::Package(error) => error.into(),
            PackError::Io(source) => self.io(&format!("{slug}/{version}"), source),
        })
    }

    /// Takes a package away; the state of its instances stays, and so does what tells whose that is.
    ///
    /// # Errors
    /// It is not installed, or the system refuses.
    pub fn remove(&self, slug: &Slug) -> Result<(), InstalledError> {
        let missing = || InstalledError::Missing(slug.to_string());
        let dir = self.dir()?.ok_or_else(missing)?;
        let _lock = self.lock()?;
        let folder = hutch_folder::open_folder(&dir, slug.as_str()).map_err(|source| self.io(slug.as_str(), source))?;
        let folder = folder.ok_or_else(missing)?;
        match folder.rename(PIN_FILE, &folder, REMOVED_FILE) {
            Ok(()) => empty_but_for(&folder, REMOVED_FILE).map_err(|source| self.io(slug.as_str(), source)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Err(missing()),
            Err(source) => Err(self.io(&format!("{slug}/{PIN_FILE}"), source)),
        }
    }

    fn dir(&self) -> Result<Option<Dir>, InstalledError> {
        match open_folder(&self.folder) {
            Ok(dir) => Ok(Some(dir)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(source) => Err(self.io("", source)),
        }
    }

    fn io(&self, path: &str, source: io::Error) -> InstalledError {
        InstalledError::Io { path: self.folder.join(path).display().to_string(), source }
    }
}

/// Removes all that is in a folder but one file.
fn empty_but_for(folder: &Dir, kept: &str) -> io::Result<()> {
    for entry in folder.entries()? {
        let entry = entry?;
        match entry.file_type()?.is_dir() {
            true => folder.remove_dir_all(entry.file_name())?,
            false if entry.file_name() == kept => {}
            false => folder.remove_file(entry.file_name())?,
        }
    }
    Ok(())
}

#[cfg(test)]
#[path = "installed_tests.rs"]
mod tests;

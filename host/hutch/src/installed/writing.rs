//! How packages and pins are written: aside and durably first, and then under their names. What may be written is judged by whoever asks.

use super::{Installed, InstalledError, PIN_FILE, Pin, REMOVED_FILE};
use crate::package::{PackageBounds, PackageError, Source, open_folder};
use cap_std::fs::Dir;
use hutch_model::digest::Digest;
use hutch_model::names::Slug;
use std::io;

impl Installed {
    /// Copies the files of a version.
    ///
    /// # Errors
    /// The system refuses.
    pub(crate) fn put_version(
        &self,
        slug: &Slug,
        version: Digest,
        source: &Source,
        bounds: &PackageBounds,
    ) -> Result<(), InstalledError> {
        self.copy((source, bounds), &self.create(slug)?, version)
    }

    /// Says that this is installed, its files being there.
    ///
    /// # Errors
    /// The system refuses.
    pub(crate) fn put_pin(&self, pin: &Pin) -> Result<(), InstalledError> {
        self.put(pin, PIN_FILE)
    }

    /// Says that this was installed, and was removed.
    ///
    /// # Errors
    /// The system refuses.
    pub(crate) fn put_removed(&self, pin: &Pin) -> Result<(), InstalledError> {
        self.put(pin, REMOVED_FILE)
    }

    fn put(&self, pin: &Pin, name: &str) -> Result<(), InstalledError> {
        let dir = self.create(&pin.slug()?)?;
        let placed = under_free_name("pin", |free| self.hands.create_private_file(&dir, free));
        let placed = placed.and_then(|(written, file)| {
            self.hands.write(&file, pin.text().as_bytes())?;
            self.hands.sync(&file)?;
            dir.rename(&written, &dir, name)?;
            if name == PIN_FILE {
                // Beside a pin it says nothing.
                let _ = dir.remove_file(REMOVED_FILE);
            }
            self.settle(&dir)
        });
        placed.map_err(|source| self.io(name, source))
    }

    fn create(&self, slug: &Slug) -> Result<Dir, InstalledError> {
        let folder = self.folder.join(slug.as_str());
        if let Ok(dir) = open_folder(&folder) {
            return Ok(dir);
        }
        #[expect(clippy::disallowed_methods, reason = "the home is a path, and this makes the way below it")]
        let created = hutch_folder::private_folders().recursive(true).create(&folder);
        let settled = created.and_then(|()| {
            let mut above = folder.ancestors().skip(1).take(2);
            above.try_for_each(|above| self.settle(&open_folder(above)?))
        });
        settled.and_then(|()| open_folder(&folder)).map_err(|source| self.io(slug.as_str(), source))
    }

    /// Makes the names in a folder durable: what is named later, a version by a pin, is there if its name is.
    fn settle(&self, dir: &Dir) -> io::Result<()> {
        #[cfg(unix)]
        self.hands.sync_folder(dir)?;
        #[cfg(not(unix))]
        let _ = dir;
        Ok(())
    }

    /// Makes the folder `name` hold the package. One that does already is left alone, because it may be in use; any other is
    /// moved out of the way at the moment when the new one is whole.
    fn copy(
        &self,
        (files, bounds): (&Source, &PackageBounds),
        dir: &Dir,
        digest: Digest,
    ) -> Result<(), InstalledError> {
        let name = &digest.to_string();
        let found = |name: &str| Source::folder(dir.open_dir(name).ok()?).digest(bounds).ok();
        let holds = || found(name) == Some(digest);
        let settled = || self.settle(dir).map_err(|source| self.io(name, source));
        if holds() {
            return settled();
        }
        let made = under_free_name("new", |name| self.hands.create_private_folder(dir, name));
        let (new, ()) = made.map_err(|source| self.io(name, source))?;
        // Whose the one is, the other is too.
        let old = new.replacen("new", "old", 1);
        let copied = self.copy_into((files, bounds), dir, &new).and_then(|()| {
            if found(&new) != Some(digest) {
                let reason = "they were changed while they were copied".to_owned();
                return Err(InstalledError::Unfit { slug: name.clone(), reason });
            }
            // Of a process that had the same number.
            let _ = dir.remove_dir_all(&old);
            // Nothing is there, or nothing that can be used.
            let _ = dir.rename(name, dir, &old);
            dir.rename(&new, dir, name).map_err(|source| self.io(name, source))
        });
        for leftover in [&new, &old] {
            // Only space is lost if it stays.
            let _ = dir.remove_dir_all(leftover);
        }
        // Another process that installs the same package may have been faster.
        copied.or_else(|error| if holds() { Ok(()) } else { Err(error) })?;
        settled()
    }

    /// Copies them into a new folder.
    fn copy_into(
        &self,
        (files, bounds): (&Source, &PackageBounds),
        dir: &Dir,
        name: &str,
    ) -> Result<(), InstalledError> {
        let inner = dir.open_dir(name).map_err(|source| self.io(name, source))?;
        let entries = files.files(bounds)?;
        for entry in &entries {
            let path = entry.path.as_str();
            match entry.file_bytes {
                None => inner.create_dir_all(path).map_err(|source| self.io(path, source))?,
                Some(_) => {
                    self.write(&inner, path, &files.read_whole(&entry.path, bounds).map_err(PackageError::one)?)?
                }
            }
        }
        let folders = entries.iter().filter(|entry| entry.file_bytes.is_none()).map(|entry| entry.path.as_str());
        for path in folders.chain(["."]) {
            let settled = inner.open_dir(path).and_then(|folder| self.settle(&folder));
            settled.map_err(|source| self.io(path, source))?;
        }
        Ok(())
    }

    /// Writes a new file, durably. Its folder is there.
    fn write(&self, dir: &Dir, path: &str, bytes: &[u8]) -> Result<(), InstalledError> {
        let (above, name) = path.rsplit_once('/').unwrap_or((".", path));
        let written = dir.open_dir(above).and_then(|folder| {
            let file = self.hands.create_file(&folder, name)?;
            self.hands.write(&file, bytes)?;
            self.hands.sync(&file)
        });
        written.map_err(|source| self.io(path, source))
    }
}

/// What `make` makes under a name that nothing has, and the name: it is nobody else's, in this process or another.
fn under_free_name<T>(word: &str, make: impl Fn(&str) -> io::Result<T>) -> io::Result<(String, T)> {
    let own = std::process::id();
    for number in 0_u32.. {
        let name = format!("{word}-{own}-{number}");
        match make(&name) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            made => return made.map(|made| (name, made)),
        }
    }
    Err(io::ErrorKind::AlreadyExists.into())
}

//! A home again of a backup: unpacked beside it, looked through, and put in its place as a whole or not at all.

use super::aside::{Aside, RESTORE};
use super::form::{Archive, damaged};
use super::{Contents, Pinned, Place};
use crate::failure::Failure;
use crate::host::Host;
use crate::installed::Installed;
use crate::package::{PackageBounds, Source, open_folder};
use cap_std::fs::{Dir, DirBuilder};
use hutch_folder::Hands;
use hutch_model::digest::Digest;
use hutch_model::instant::Instant;
use hutch_model::names::Slug;
use hutch_sandbox::SealKey;
use hutch_store::{IfMissing, InstanceDir, Opening, SqliteStore, Store, StoreError};
use std::collections::BTreeSet;
use std::fs::File;
use std::io::{self, Seek};
use std::path::{Path, PathBuf};

/// The home, as long as it lies beside its place.
const UNPACKED: &str = "home";

/// What was restored.
#[derive(Debug)]
#[non_exhaustive]
pub struct Restored {
    /// What there is now.
    pub contents: Contents,
    /// What kept a plain folder from showing its state, by instance: the next call that opens it shows it.
    pub behind: Vec<String>,
}

impl Host {
    /// Makes the home what a backup says, if it is not there or holds nothing but this machine's own key. Everything is unpacked beside it
    /// and looked through first: every byte by its digest, every instance as [`Store::check`] does, and that it ends with the entry that the
    /// backup says. `is_document` says which paths are those of documents. What the backup tells is believed as the home itself would be:
    /// no run is made again. A preview reads the file, and writes nothing.
    ///
    /// # Errors
    /// The home is in use ([`StoreError::Occupied`]); the backup is damaged or of a newer version; the system refuses. The home is as it was.
    pub fn restore(&self, backup: File, is_document: &dyn Fn(&str) -> bool, at: Instant) -> Result<Restored, Failure> {
        let home = real(self.home())?;
        let mut archive = Archive::open(backup, is_document)?;
        let versions = archive.places.iter().filter(|place| matches!(place, Place::Version(..))).count() as u64;
        let contents = Contents { instances: archive.instances.clone(), versions };
        if !self.keeps() {
            while archive.next(&mut io::sink(), |error| StoreError::io(&home, "read it", error).into())?.is_some() {}
            return Ok(Restored { contents, behind: Vec::new() });
        }
        let is_there = is_free(&home)?;
        let parent = home.parent().unwrap_or(&home);
        if !is_there {
            #[expect(clippy::disallowed_methods, reason = "the home is a path, and this makes the way to it")]
            std::fs::create_dir_all(parent).map_err(|error| StoreError::io(parent, "make the folder", error))?;
        }
        let beside = Aside::make(RESTORE, parent)?;
        let made = Hands::default().create_private_folder(beside.folder(), UNPACKED);
        made.map_err(|error| StoreError::io(beside.path(), "make a folder there", error))?;
        let unpacked = beside.path().join(UNPACKED);
        self.unpack(&mut archive, &unpacked)?;
        put_in_place(&unpacked, &home, is_there)?;
        drop(beside);
        let mut behind = Vec::new();
        for Pinned { slug, name, .. } in &contents.instances {
            let shown = self.open_existing(slug, name, at).map(|session| session.update_plain());
            let reason = shown.unwrap_or_else(|failure| Some(failure.to_string()));
            behind.extend(reason.map(|reason| format!("{slug}/{name}: {reason}")));
        }
        Ok(Restored { contents, behind })
    }

    /// Unpacks all of it below `root`, and looks it through.
    fn unpack(&self, archive: &mut Archive<File>, root: &Path) -> Result<(), Failure> {
        let writing = |error| Failure::from(StoreError::io(root, "write there", error));
        let folder = open_folder(root).map_err(writing)?;
        let installed = Installed::of(root);
        let (mut versions, mut pins) = (BTreeSet::new(), Vec::new());
        for place in &archive.places.clone() {
            let mut file = match place {
                Place::Instance(..) | Place::Document(_) => new_file(&folder, &place.path()),
                Place::Pin(_) | Place::Removed(_) | Place::Version(..) => tempfile::tempfile_in(root),
            }
            .map_err(writing)?;
            let member = archive.next(&mut file, writing)?;
            if member.is_none_or(|member| member.path != place.path()) {
                return Err(damaged("the manifest", "is not what follows it"));
            }
            match place {
                Place::Instance(..) | Place::Document(_) => file.sync_all().map_err(writing)?,
                Place::Version(slug, version) => {
                    put_back(&installed, (slug, *version), file)?;
                    versions.insert((slug.clone(), *version));
                }
                Place::Pin(slug) | Place::Removed(slug) => {
                    file.rewind().map_err(writing)?;
                    let pin =
                        Installed::read_pin(slug, file).map_err(|error| damaged(place.path(), error.to_string()))?;
                    let pin = pin.without_launcher();
                    match place {
                        Place::Removed(_) => installed.put_removed(&pin)?,
                        _ => pins.push(pin),
                    }
                }
            }
        }
        if archive.next(&mut io::sink(), writing)?.is_some() {
            return Err(damaged("the manifest", "is not what follows it"));
        }
        for pin in pins {
            let slug = pin.slug()?;
            if !versions.contains(&(slug, pin.digest)) {
                return Err(damaged(format!("the pin of {}", pin.slug), "names a version that is not there"));
            }
            installed.put_pin(&pin)?;
        }
        for pinned in &archive.instances {
            self.look_through(root, pinned)?;
        }
        #[cfg(target_os = "linux")]
        Hands::default().sync_file_system(&folder).map_err(writing)?;
        Ok(())
    }

    /// Looks whether an instance is sound, and has come as far as the backup says.
    fn look_through(&self, root: &Path, pinned: &Pinned) -> Result<(), Failure> {
        let what = format!("{}/{}", pinned.slug, pinned.name);
        let dir = InstanceDir::new(root, &pinned.slug, &pinned.name);
        let opening = Opening { if_missing: IfMissing::Fail, wait: self.wait() };
        let looked = SqliteStore::open(&dir, &opening).and_then(|store| Ok((store.check()?, store.head()?)));
        let (damages, head) = looked.map_err(|error| match error {
            StoreError::Damaged { what: part, reason, .. } => damaged(format!("{what}, {part}"), reason),
            // What is shorter than any database is none.
            StoreError::Missing { .. } => damaged(&*what, "is no store"),
            error => error.into(),
        })?;
        if let Some(damage) = damages.first() {
            return Err(damaged(format!("{what}, {}", damage.what), &*damage.reason));
        }
        // None is made of one: what is half done in a folder is ended where it was begun.
        if let Some(intent) = head.open.first() {
            return Err(damaged(
                what,
                format!("tells of a change of a granted folder that has not ended, entry {intent}"),
            ));
        }
        match head.last == pinned.head {
            true => Ok(()),
            false => Err(damaged(what, format!("ends with {}, and not with {}", head.last, pinned.head))),
        }
    }
}

/// Installs a version that was packed.
fn put_back(installed: &Installed, (slug, version): (&Slug, Digest), file: File) -> Result<(), Failure> {
    let bounds = PackageBounds::default();
    let source = Source::packed(file, &bounds);
    let source = source.and_then(|source| Ok((source.digest(&bounds)?, source)));
    match source {
        Ok((found, source)) if found == version => Ok(installed.put_version(slug, version, &source, &bounds)?),
        Ok(_) => Err(damaged(format!("version {version} of {slug}"), "does not match its digest")),
        Err(error) => Err(damaged(format!("version {version} of {slug}"), error.to_string())),
    }
}

/// A new file below a folder, for its owner only, as everything on the way to it.
fn new_file(root: &Dir, path: &str) -> io::Result<File> {
    let Some((above, name)) = path.rsplit_once('/') else { return Hands::default().create_private_file(root, path) };
    let mut builder = DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    cap_std::fs::DirBuilderExt::mode(&mut builder, 0o700);
    root.create_dir_with(above, &builder)?;
    Hands::default().create_private_file(&root.open_dir(above)?, name)
}

/// Where the home is, whatever links lead there.
#[expect(clippy::disallowed_methods, reason = "the home is a path")]
fn real(home: &Path) -> Result<PathBuf, Failure> {
    match home.canonicalize() {
        Err(error) if error.kind() == io::ErrorKind::NotFound && home.symlink_metadata().is_err() => {
            Ok(home.to_owned())
        }
        home_is => Ok(home_is.map_err(|error| StoreError::io(home, "look at it", error))?),
    }
}

/// Whether there is a folder; it holds nothing but the key that a machine makes for itself.
fn is_free(home: &Path) -> Result<bool, Failure> {
    let folder = match open_folder(home) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(false),
        folder => folder.map_err(|error| StoreError::io(home, "open the folder", error))?,
    };
    let listing = hutch_folder::list(&folder).map_err(|error| StoreError::io(home, "read it", error))?;
    match listing.not_text.is_empty() && listing.names.iter().all(|name| name == SealKey::FILE) {
        true => Ok(true),
        false => Err(StoreError::Occupied { at: home.display().to_string() }.into()),
    }
}

/// Gives what was unpacked the home's name. The machine's own key goes along.
#[expect(clippy::disallowed_methods, reason = "the home is a path, and takes its place by a rename")]
fn put_in_place(from: &Path, home: &Path, is_there: bool) -> Result<(), Failure> {
    let (key, kept) = (home.join(SealKey::FILE), from.join(SealKey::FILE));
    let has_key = is_there && key.symlink_metadata().is_ok();
    let placed = match has_key {
        true => std::fs::rename(&key, &kept),
        false => Ok(()),
    };
    let placed = placed.and_then(|()| std::fs::rename(from, home)).inspect_err(|_| {
        // Without it only what was compiled would be compiled again.
        let _ = std::fs::rename(&kept, &key);
    });
    placed.map_err(|error| match error.kind() {
        io::ErrorKind::DirectoryNotEmpty | io::ErrorKind::AlreadyExists => {
            StoreError::Occupied { at: home.display().to_string() }
        }
        _ => StoreError::io(home, "put the home there", error),
    })?;
    let parent = home.parent().unwrap_or(home);
    let settled = File::open(parent).and_then(|parent| parent.sync_all());
    Ok(settled.map_err(|error| StoreError::io(parent, "make the home durable", error))?)
}

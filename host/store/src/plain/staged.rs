//! What is on its way into a plain directory, or out of it: a folder in which nothing of anybody else's may be destroyed. What comes
//! out of a directory has a name here that says how it looked when it was last known to be ours; what looks otherwise when it is found
//! here, somebody saved in the moment in which it was moved, and it goes where a person finds it.

use super::Plain;
use crate::error::StoreError;
use cap_std::fs::Dir;
use hutch_folder::{Form, Hands, Stamp, list, look, open_folder};
use std::io;
use std::path::Path;

/// Files on their way into a directory, or out of it.
const STAGING: &str = "hutch.tmp";

/// What somebody saved while it was on its way.
const SAVED: &str = "hutch.saved";

/// The staging folder, while directories are brought up to date.
pub(super) struct Staged<'a> {
    plain: &'a Plain,
    folder: Dir,
    count: u64,
    /// Where things were put that somebody saved meanwhile.
    pub(super) saved: Vec<String>,
}

impl<'a> Staged<'a> {
    /// Opens it, emptied of what was cut off.
    pub(super) fn open(plain: &'a Plain) -> Result<Staged<'a>, StoreError> {
        let folder = plain.private_folder(STAGING)?;
        let failed = |error| StoreError::io(plain.path.join(STAGING), "empty the staging folder", error);
        let names = list(&folder).map_err(failed)?.names;
        let mut staged = Staged { plain, folder, count: 0, saved: Vec::new() };
        for name in names {
            staged.drop_own(&name, &ours(&name))?;
        }
        Ok(staged)
    }

    pub(super) fn folder(&self) -> &Dir {
        &self.folder
    }

    /// A name for something that is made here: as long as it has that, it is nobody else's.
    pub(super) fn name(&mut self) -> String {
        self.count += 1;
        self.count.to_string()
    }

    /// A name for what changes places with what looks like one of `ours`.
    pub(super) fn name_of(&mut self, ours: &[Stamp]) -> String {
        let looks = ours.iter().map(|stamp| format!("-{:x}.{:x}.{:x}", stamp.inode, stamp.size, stamp.modified_ns));
        self.name() + &looks.collect::<String>()
    }

    /// Drops what stands here under `name` if it looks like one of `ours`, or if anything here is ours; else it is put where a person
    /// finds it.
    pub(super) fn drop_own(&mut self, name: &str, ours: &Ours) -> Result<(), StoreError> {
        let failed = |error| StoreError::io(self.plain.path.join(STAGING), "empty the staging folder", error);
        let Some(stamp) = look(&self.folder, name).map_err(failed)? else { return Ok(()) };
        if stamp.form != Form::Folder && ours.holds(&stamp) {
            return self.plain.hands.drop_file(&self.folder, name).map_err(failed);
        }
        let plain = self.plain;
        self.saved.push(keep(&plain.hands, (&plain.folder, &plain.path), (&self.folder, name))?);
        Ok(())
    }
}

/// How what is ours looks: inode, bytes and time, which a move leaves as they are.
pub(super) enum Ours {
    /// Whatever stands there: it was made there.
    Anything,
    Looks(Vec<(u64, u64, u64)>),
}

impl Ours {
    pub(super) fn like(stamps: &[Stamp]) -> Ours {
        Ours::Looks(stamps.iter().map(|stamp| (stamp.inode, stamp.size, stamp.modified_ns)).collect())
    }

    fn holds(&self, stamp: &Stamp) -> bool {
        match self {
            Ours::Anything => true,
            Ours::Looks(looks) => looks.contains(&(stamp.inode, stamp.size, stamp.modified_ns)),
        }
    }
}

/// What a name says of what it may stand for.
fn ours(name: &str) -> Ours {
    // Where two things can't change places at once, one of them is in between for a moment.
    let name = name.strip_suffix(".swap").unwrap_or(name);
    let mut looks = name.split('-').skip(1).map(|look| {
        let mut numbers = look.split('.').map(|number| u64::from_str_radix(number, 16).ok());
        Some((numbers.next()??, numbers.next()??, numbers.next()??))
    });
    match name.contains('-') {
        // A name that says nothing stands for nothing of ours.
        true => Ours::Looks(looks.by_ref().flatten().collect()),
        false => Ours::Anything,
    }
}

impl Plain {
    /// A folder beside the volumes that is the host's own.
    fn private_folder(&self, name: &str) -> Result<Dir, StoreError> {
        private_folder(&self.hands, (&self.folder, &self.path), name)
    }
}

/// Puts what stands under a name where a person finds it, in the instance's folder; its path there.
pub(super) fn keep(hands: &Hands, (at, path): (&Dir, &Path), from: (&Dir, &str)) -> Result<String, StoreError> {
    let saved = private_folder(hands, (at, path), SAVED)?;
    let mut number = 1_u64;
    loop {
        let kept = number.to_string();
        match hands.place(from, (&saved, &kept)) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => number += 1,
            Err(error) => return Err(StoreError::io(path.join(SAVED), "keep what somebody saved", error)),
            Ok(()) => return Ok(path.join(SAVED).join(kept).display().to_string()),
        }
    }
}

/// A folder of the host's own in the instance's folder.
fn private_folder(hands: &Hands, (at, path): (&Dir, &Path), name: &str) -> Result<Dir, StoreError> {
    let failed = |error| StoreError::io(path.join(name), "make the folder", error);
    if look(at, name).map_err(failed)?.is_none() {
        match hands.create_private_folder(at, name) {
            Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(failed(error)),
            _ => {}
        }
    }
    let folder = open_folder(at, name).map_err(failed)?;
    folder.ok_or_else(|| failed(io::ErrorKind::NotADirectory.into()))
}

//! What was staged, carried out: what goes is moved into the staging folder, what comes changes places with what it replaces, and each time what came
//! out is looked at. If it is not what the run was shown, somebody changed it meanwhile, and all is taken back. Nothing is removed before
//! [`Carried::finish`].

use super::Mount;
use super::carry::{CarryError, io_at};
use super::journal::{Journal, Looked, Operation, What, replace};
use super::objects::open_below;
use cap_std::fs::Dir;
use hutch_folder::{Form, Gone, Hands, Stamp, link_target, look, open_folder, stays_inside};
use std::collections::BTreeMap;
use std::fs::File;
use std::io;

/// Files of which a run changes several names. Changing one shows in how the others look; what another program did meanwhile shows too.
struct Names(BTreeMap<(u64, u64), Option<(Stamp, Stamp)>>);

impl Names {
    fn of(journal: &Journal) -> Names {
        let mut counts = BTreeMap::<(u64, u64), usize>::new();
        for operation in &journal.operations {
            if let What::Replace { was, .. } | What::Remove(was) | What::Time { seen: Some(was), .. } = &operation.what
            {
                *counts.entry(Names::key(was)).or_default() += 1;
            }
        }
        Names(counts.into_iter().filter(|(_, count)| *count > 1).map(|(key, _)| (key, None)).collect())
    }

    fn key(was: &Looked) -> (u64, u64) {
        let Stamp { inode, device, .. } = (*was).into();
        (device, inode)
    }

    fn is_shared(&self, was: &Looked) -> bool {
        self.0.contains_key(&Names::key(was))
    }

    /// How a file has to look that the run was shown so.
    fn expected(&self, was: &Looked) -> Stamp {
        let shown = Stamp::from(*was);
        let known = self.0.get(&Names::key(was)).copied().flatten();
        known.filter(|(first, _)| *first == shown).map_or(shown, |(_, now)| now)
    }

    /// How one of its names looks by now, after one was changed of a file that was shown so; its content has to be as it was.
    fn note(&mut self, was: &Looked, expected: &Stamp, now: Option<Stamp>) {
        if let (Some(now), Some(known)) = (now.filter(|now| now.moved(expected)), self.0.get_mut(&Names::key(was))) {
            *known = Some(((*was).into(), now));
        }
    }
}

/// A granted folder that was changed, and can be put back as it was.
pub(crate) struct Carried<'a> {
    pub(super) mount: &'a Mount,
    pub(super) hands: Hands,
    pub(super) journal: Journal,
    /// The journal as it was written, which is locked as long as this is under way.
    pub(super) held: Option<File>,
}

impl Carried<'_> {
    pub(super) fn apply_all(&self) -> Result<(), CarryError> {
        let mut names = Names::of(&self.journal);
        for (number, operation) in self.journal.operations.iter().enumerate() {
            self.carry_out(number, operation, &mut names)?;
        }
        #[cfg(unix)]
        for folder in self.journal.folders() {
            if let Some(folder) = open_below(self.mount.dir(), folder).map_err(io_at(folder))? {
                self.hands.sync_folder(&folder).map_err(io_at(""))?;
            }
        }
        Ok(())
    }

    /// Whether what stands at a path is something that a run is shown. Nothing is, too.
    fn is_shown(&self, folder: &Dir, path: &str) -> io::Result<bool> {
        let (depth, name) = (path.matches('/').count(), path.rsplit('/').next().unwrap_or_default());
        let Some(stamp) = look(folder, name)? else { return Ok(true) };
        Ok(match stamp.form {
            _ if self.mount.hides(&stamp) => false,
            Form::Other => false,
            Form::Link => link_target(folder, name)?.is_some_and(|target| stays_inside(depth, &target)),
            Form::Folder | Form::File => true,
        })
    }

    fn carry_out(&self, number: usize, operation: &Operation, names: &mut Names) -> Result<(), CarryError> {
        let path = operation.path.as_str();
        let failed = io_at(path);
        let changed = || CarryError::Changed(path.to_owned());
        let (above, name) = path.rsplit_once('/').unwrap_or(("", path));
        let folder = open_below(self.mount.dir(), above).map_err(&failed)?.ok_or_else(changed)?;
        let staging = self.journal.open_staging(self.mount.dir(), operation.staging).map_err(&failed)?;
        let staging = staging.ok_or_else(changed)?;
        let (new, old) = (Operation::new_name(number), Operation::old_name(number));
        let place = |comes: &str| match self.hands.place((&staging, comes), (&folder, name)) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => match self.is_shown(&folder, path) {
                Ok(false) => Err(CarryError::NotShown(path.to_owned())),
                shown => shown.map(|_| Gone::Changed).map_err(&failed),
            },
            placed => placed.map(|()| Gone::Moved).map_err(&failed),
        };
        let gone = match &operation.what {
            What::Place(_) => place(&new)?,
            What::MoveFolder { removed, .. } => place(&Operation::old_name(*removed))?,
            // Looked at once more with the time of change, which a move changes and which nobody can set back.
            What::Replace { was, .. } | What::Remove(was)
                if look(&folder, name).map_err(&failed)? != Some(names.expected(was)) =>
            {
                Gone::Changed
            }
            What::Replace { was, .. } => {
                replace(&self.hands, &staging, (&new, &old), (&folder, name), &(*was).into()).map_err(&failed)?
            }
            What::Remove(was) => {
                self.hands.move_aside((&folder, name), &(*was).into(), (&staging, &old)).map_err(&failed)?
            }
            What::RemoveFolder { inode } => {
                let stamp = look(&folder, name).map_err(&failed)?;
                let stamp = stamp.filter(|stamp| stamp.form == Form::Folder && stamp.inode == *inode);
                let stamp = stamp.ok_or_else(changed)?;
                let gone = self.hands.move_aside((&folder, name), &stamp, (&staging, &old)).map_err(&failed)?;
                let moved = open_folder(&staging, &old).map_err(&failed)?;
                let left = moved.map(|moved| hutch_folder::list(&moved)).transpose().map_err(&failed)?;
                // What the run was not shown is still in it: a pipe, a link that leaves, what somebody put there meanwhile.
                match left.is_some_and(|left| left.names.is_empty() && left.not_text.is_empty()) {
                    true => gone,
                    false => {
                        let reason = "holds what the run was not shown, so it can't be removed";
                        let source = io::Error::new(io::ErrorKind::DirectoryNotEmpty, reason);
                        return Err(CarryError::Io { path: path.to_owned(), source });
                    }
                }
            }
            What::Time { seen: Some(seen), .. }
                if look(&folder, name).map_err(&failed)? != Some(names.expected(seen)) =>
            {
                Gone::Changed
            }
            What::Time { is_ns, .. } => {
                self.hands.set_modified(&folder, name, *is_ns).map_err(&failed)?;
                Gone::Moved
            }
        };
        if gone == Gone::Changed {
            return Err(changed());
        }
        let (What::Replace { was, .. } | What::Remove(was) | What::Time { seen: Some(was), .. }) = &operation.what
        else {
            return Ok(());
        };
        if names.is_shared(was) {
            let mut expected = names.expected(was);
            if let What::Time { is_ns, .. } = &operation.what {
                expected.modified_ns = *is_ns;
            }
            for (folder, name) in [(&folder, name), (&staging, new.as_str()), (&staging, old.as_str())] {
                names.note(was, &expected, look(folder, name).map_err(&failed)?);
            }
        }
        Ok(())
    }

    /// Puts everything back as it was, because of `failed`.
    pub(crate) fn give_up(self, failed: CarryError) -> CarryError {
        match self.journal.take_back(self.mount.dir(), &self.hands) {
            Ok(()) => {
                let _ = self.journal.clear(self.mount.dir(), false, &self.hands);
                failed
            }
            Err(error) => CarryError::Left {
                failed: failed.to_string(),
                left: error.to_string(),
                staging: self.mount.path().join(&self.journal.staging).display().to_string(),
            },
        }
    }

    /// Removes what was there before: there is no way back from here. What can't be removed now, [`recover`](super::recover) removes.
    pub(crate) fn finish(self) {
        let _ = self.journal.clear(self.mount.dir(), true, &self.hands);
        drop(self.held);
    }
}

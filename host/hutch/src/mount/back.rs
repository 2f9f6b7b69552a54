//! What was done in a granted folder, taken back by its journal: each thing is looked for by its number, so it does not matter how far the run came, nor how far
//! an earlier one who took it back did.

use super::journal::{Journal, Made, Operation, What, replace};
use super::objects::open_below;
use cap_std::fs::Dir;
use hutch_folder::{Form, Gone, Hands, Stamp, look, open_folder};
use std::io;

impl Journal {
    /// Puts everything back that was done, the last first.
    ///
    /// # Errors
    /// Something else stands in a place by now, or the system refuses. What could be put back is.
    pub(super) fn take_back(&self, root: &Dir, hands: &Hands) -> io::Result<()> {
        let mut first = None;
        for (number, operation) in self.operations.iter().enumerate().rev() {
            if let Err(error) = self.take_one_back(root, hands, number, operation) {
                first.get_or_insert_with(|| io::Error::new(error.kind(), format!("{}: {error}", operation.path)));
            }
        }
        first.map_or(Ok(()), Err)
    }

    fn take_one_back(&self, root: &Dir, hands: &Hands, number: usize, operation: &Operation) -> io::Result<()> {
        let (above, name) = operation.path.rsplit_once('/').unwrap_or(("", &operation.path));
        let (new, old) = (Operation::new_name(number), Operation::old_name(number));
        let (staging, folder) = (self.open_staging(root, operation.staging)?, open_below(root, above)?);
        let lost = |what: &str| Err(io::Error::new(io::ErrorKind::NotFound, format!("{what} is not there")));
        let (staging, folder) = match (staging, folder, &operation.what) {
            (Some(staging), Some(folder), _) => (staging, folder),
            (_, None, What::Time { .. }) => return Ok(()),
            (None, Some(folder), What::Time { .. }) => (folder.try_clone()?, folder),
            (None, ..) => return lost("what was kept aside"),
            // Nothing of this was done, or what was put there went with the folder. What was there before is not let go of.
            (Some(staging), None, what) => {
                let keeps = match what {
                    What::Place(_) | What::Time { .. } => false,
                    What::Replace { made, .. } => {
                        let aside = Aside::look(&staging, [&new, &old], made)?;
                        aside.kept.is_some() || aside.made.is_none()
                    }
                    What::Remove(_) | What::RemoveFolder { .. } => look(&staging, &old)?.is_some(),
                    What::MoveFolder { removed, .. } => {
                        look(&staging, &Operation::old_name(*removed))?.is_none() && !self.stands(root, *removed)?
                    }
                };
                return if keeps { lost("the folder that it was in") } else { Ok(()) };
            }
        };
        let here = look(&folder, name)?;
        match &operation.what {
            What::Place(made) => match here {
                // A folder in which somebody put something meanwhile stays.
                Some(stamp) if made.is(&stamp) && is_empty(&folder, name)? => {
                    made.check_unchanged(&stamp)?;
                    hands.place((&folder, name), (&staging, &new))
                }
                // It looks as what was staged does, which is not there any more: where numbers are not kept nobody can say whose it is.
                Some(stamp) if made.looks_like(&stamp) && look(&staging, &new)?.is_none() => {
                    Err(io::Error::new(io::ErrorKind::AlreadyExists, "what was put there has another number by now"))
                }
                _ => Ok(()),
            },
            What::Replace { made, .. } => {
                let aside = Aside::look(&staging, [&new, &old], made)?;
                match (here, aside) {
                    (Some(stamp), Aside { kept: Some(kept), free, .. }) if made.is(&stamp) => {
                        made.check_unchanged(&stamp)?;
                        expect_moved(replace(hands, &staging, (kept, free), (&folder, name), &stamp)?)
                    }
                    (Some(stamp), Aside { kept: None, .. }) if made.is(&stamp) => lost("what was replaced"),
                    // The place is empty: the process ended between two moves, or what was put there was taken away. What was replaced
                    // comes back.
                    (None, Aside { kept: Some(kept), .. }) => hands.place((&staging, kept), (&folder, name)),
                    // Nothing was done, or it was put back; what is staged may have been written to while it stood there.
                    (_, Aside { kept: None, made: Some(stamp), .. }) => made.check_unchanged(&stamp),
                    _ => Err(io::Error::new(io::ErrorKind::AlreadyExists, "something else stands there now")),
                }
            }
            What::Remove(_) | What::RemoveFolder { .. } => match look(&staging, &old)? {
                Some(_) => hands.place((&staging, &old), (&folder, name)),
                None => Ok(()),
            },
            What::MoveFolder { removed, inode } => {
                let aside = Operation::old_name(*removed);
                let is_it = |stamp: &Stamp| stamp.form == Form::Folder && stamp.inode == *inode;
                match here {
                    _ if look(&staging, &aside)?.is_some() => Ok(()),
                    Some(stamp) if is_it(&stamp) => match is_empty(&folder, name)? {
                        true => hands.place((&folder, name), (&staging, &aside)),
                        false => Err(io::Error::new(io::ErrorKind::AlreadyExists, "something was put into it")),
                    },
                    _ if self.stands(root, *removed)? => Ok(()),
                    _ => lost("the folder that was moved there"),
                }
            }
            What::Time { was_ns, is_ns, .. } => match here {
                Some(stamp) if stamp.modified_ns == *is_ns => hands.set_modified(&folder, name, *was_ns),
                _ => Ok(()),
            },
        }
    }

    /// Whether a folder stands where this operation takes one away.
    fn stands(&self, root: &Dir, removed: usize) -> io::Result<bool> {
        let Some(Operation { path, .. }) = self.operations.get(removed) else { return Ok(false) };
        let (above, name) = path.rsplit_once('/').unwrap_or(("", path));
        let there = open_below(root, above)?.map(|folder| look(&folder, name)).transpose()?.flatten();
        Ok(there.is_some_and(|there| there.form == Form::Folder))
    }
}

/// What is in a staging folder of something that was replaced.
struct Aside<'a> {
    /// The name under which what was there before is kept.
    kept: Option<&'a str>,
    /// The other name.
    free: &'a str,
    /// How what was staged looks, if it lies there.
    made: Option<Stamp>,
}

impl<'a> Aside<'a> {
    fn look(staging: &Dir, [new, old]: [&'a str; 2], made: &Made) -> io::Result<Aside<'a>> {
        let mut aside = Aside { kept: None, free: old, made: None };
        for (name, other) in [(new, old), (old, new)] {
            match look(staging, name)? {
                Some(stamp) if made.is(&stamp) => aside.made = Some(stamp),
                Some(_) if aside.kept.is_some() => {
                    return Err(io::Error::new(
                        io::ErrorKind::AlreadyExists,
                        "something else lies beside what was replaced",
                    ));
                }
                Some(_) => (aside.kept, aside.free) = (Some(name), other),
                None => {}
            }
        }
        Ok(aside)
    }
}

/// Whether it is no folder that holds something.
fn is_empty(folder: &Dir, name: &str) -> io::Result<bool> {
    let listing = open_folder(folder, name)?.map(|folder| hutch_folder::list(&folder)).transpose()?;
    Ok(listing.is_none_or(|listing| listing.names.is_empty() && listing.not_text.is_empty()))
}

fn expect_moved(gone: Gone) -> io::Result<()> {
    match gone {
        Gone::Moved => Ok(()),
        Gone::Changed => Err(io::Error::new(io::ErrorKind::AlreadyExists, "it was changed while it was taken back")),
    }
}

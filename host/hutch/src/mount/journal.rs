//! What is to be done in a granted folder, written down before any of it is done: so that whoever comes after a run that did not live
//! can put everything back as it was.
//!
//! Whether an operation was done shows in the folder itself: a thing is known by its number in the file system, wherever it was
//! moved. So taking back can be cut off too, and begun again.

use super::STAGING;
use super::objects::open_below;
use cap_std::fs::Dir;
use hutch_folder::{Form, Hands, Stamp, look, open_file, open_folder};
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use std::io::{self, Read};

const NAME: &str = "journal";

/// A journal on its way: what is not whole has not this name but that one.
const STAGED_NAME: &str = "journal.new";

/// A journal of which nothing is left to do but to remove the staging folders.
const DONE_NAME: &str = "journal.done";

/// The most bytes of a journal; what takes more is not begun.
const BYTES_MAX: u64 = 1 << 30;

/// One change, and what it takes to take it back.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub(super) struct Operation {
    /// Where, below the granted folder.
    pub(super) path: String,
    /// Which of the staging folders.
    pub(super) staging: usize,
    pub(super) what: What,
}

impl Operation {
    /// The name of what comes, in the staging folder. After an exchange what was there has it.
    pub(super) fn new_name(number: usize) -> String {
        format!("new-{number}")
    }

    /// The name of what went, in the staging folder.
    pub(super) fn old_name(number: usize) -> String {
        format!("old-{number}")
    }
}

#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum What {
    /// Something staged, with this number, to where nothing stands.
    Place(Made),
    /// Something staged, with this number, and a file or link change places.
    Replace { made: Made, was: Looked },
    /// A file or link goes.
    Remove(Looked),
    /// An empty folder goes.
    RemoveFolder { inode: u64 },
    /// A file or folder gets another time; a file only if it looks as the run was shown it.
    Time { was_ns: u64, is_ns: u64, seen: Option<Looked> },
}

/// What was staged, as it can be known again wherever it was moved.
#[derive(Clone, Copy, PartialEq, Debug, Default, Serialize, Deserialize)]
pub(super) struct Made {
    inode: u64,
    /// Bytes and time of a file; a folder's change with what is put into it.
    content: Option<(u64, u64)>,
}

impl From<Stamp> for Made {
    fn from(stamp: Stamp) -> Made {
        let content = (stamp.form == Form::File).then_some((stamp.size, stamp.modified_ns));
        Made { inode: stamp.inode, content }
    }
}

impl Made {
    fn is(&self, stamp: &Stamp) -> bool {
        stamp.inode == self.inode
    }

    /// # Errors
    /// Somebody wrote to it since: it is not ours to take away any more.
    fn check_unchanged(&self, stamp: &Stamp) -> io::Result<()> {
        match Made::from(*stamp) == *self {
            true => Ok(()),
            false => Err(io::Error::new(io::ErrorKind::AlreadyExists, "it was changed since it was put there")),
        }
    }
}

/// A [`Stamp`], written down.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
pub(super) struct Looked {
    link: bool,
    size: u64,
    modified_ns: u64,
    changed_ns: u64,
    inode: u64,
    device: u64,
}

impl From<Stamp> for Looked {
    fn from(stamp: Stamp) -> Looked {
        let Stamp { form, size, modified_ns, changed_ns, inode, device } = stamp;
        Looked { link: form == Form::Link, size, modified_ns, changed_ns, inode, device }
    }
}

impl From<Looked> for Stamp {
    fn from(looked: Looked) -> Stamp {
        let Looked { link, size, modified_ns, changed_ns, inode, device } = looked;
        let form = if link { Form::Link } else { Form::File };
        Stamp { form, size, modified_ns, changed_ns, inode, device }
    }
}

#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub(super) struct Journal {
    /// The name of each staging folder.
    pub(super) staging: String,
    /// The folders below the granted one that hold a staging folder: one for each file system; the first is the granted one.
    places: Vec<String>,
    pub(super) operations: Vec<Operation>,
    /// The file systems of `places`.
    #[serde(skip)]
    devices: Vec<u64>,
}

impl Journal {
    pub(super) fn new(staging: &str) -> Journal {
        Journal { staging: staging.to_owned(), places: Vec::new(), operations: Vec::new(), devices: Vec::new() }
    }

    /// The staging folder on the file system of the folder that holds `path`: the number of one that is there, or of one that is
    /// made.
    pub(super) fn staging_for(&mut self, root: &Dir, path: &str, hands: &Hands) -> io::Result<usize> {
        let device = |folder: &Dir| folder.dir_metadata().map(|metadata| Stamp::of(&metadata).device);
        if self.places.is_empty() {
            hands.create_private_folder(root, &self.staging)?;
            self.places.push(String::new());
            self.devices.push(device(root)?);
        }
        // The deepest folder on the way that is there: what is to be made below it will be on the same file system.
        let (mut at, mut here, mut top) = (root.try_clone()?, device(root)?, String::new());
        let mut walked = String::new();
        let above = path.rsplit_once('/').map_or("", |(above, _)| above);
        for name in above.split('/').filter(|name| !name.is_empty()) {
            let Some(folder) = open_folder(&at, name)? else { break };
            walked = if walked.is_empty() { name.to_owned() } else { format!("{walked}/{name}") };
            let below = device(&folder)?;
            if below != here {
                (here, top) = (below, walked.clone());
            }
            at = folder;
        }
        if let Some(known) = self.devices.iter().position(|device| *device == here) {
            return Ok(known);
        }
        let folder = open_below(root, &top)?.ok_or(io::ErrorKind::NotFound)?;
        hands.create_private_folder(&folder, &self.staging)?;
        self.places.push(top);
        self.devices.push(here);
        Ok(self.places.len() - 1)
    }

    /// A staging folder; `None` if it is not there.
    pub(super) fn open_staging(&self, root: &Dir, number: usize) -> io::Result<Option<Dir>> {
        let Some(place) = self.places.get(number) else { return Ok(None) };
        match open_below(root, place)? {
            Some(folder) => open_folder(&folder, &self.staging),
            None => Ok(None),
        }
    }

    /// All staging folders.
    #[cfg(target_os = "linux")]
    pub(super) fn all_staging(&self, root: &Dir) -> io::Result<Vec<Dir>> {
        (0..self.places.len()).filter_map(|number| self.open_staging(root, number).transpose()).collect()
    }

    /// The folders in which something is changed.
    #[cfg(unix)]
    pub(super) fn folders(&self) -> BTreeSet<&str> {
        self.operations.iter().map(|operation| operation.path.rsplit_once('/').map_or("", |(above, _)| above)).collect()
    }

    /// Writes it down, durably, in the first staging folder: all of it, or under another name.
    pub(super) fn write(&self, root: &Dir, hands: &Hands) -> io::Result<()> {
        if self.places.is_empty() {
            return Ok(());
        }
        let staging = self.open_staging(root, 0)?.ok_or(io::ErrorKind::NotFound)?;
        let bytes = serde_json::to_vec(self)?;
        if bytes.len() as u64 > BYTES_MAX {
            return Err(io::Error::new(io::ErrorKind::InvalidInput, "the run changed too many paths at once"));
        }
        let file = hands.create_private_file(&staging, STAGED_NAME)?;
        hands.write(&file, &bytes)?;
        hands.sync(&file)?;
        hands.place((&staging, STAGED_NAME), (&staging, NAME))?;
        #[cfg(unix)]
        {
            hands.sync_folder(&staging)?;
            hands.sync_folder(root)?;
        }
        Ok(())
    }

    /// The journal in a staging folder, and whether nothing is left to do of it; `None` if none was written: then nothing was done.
    ///
    /// # Errors
    /// There is one that can't be read. What was done stays done, and what was there before is kept.
    fn read(root: &Dir, staging: &str) -> io::Result<Option<(Journal, bool)>> {
        let Some(folder) = open_folder(root, staging)? else { return Ok(None) };
        for (name, is_done) in [(DONE_NAME, true), (NAME, false)] {
            let file = match open_file(&folder, name) {
                Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
                file => file?,
            };
            let mut bytes = Vec::new();
            file.take(BYTES_MAX).read_to_end(&mut bytes)?;
            let journal = serde_json::from_slice(&bytes).ok().filter(|journal: &Journal| journal.staging == staging);
            let unreadable = || io::Error::new(io::ErrorKind::InvalidData, format!("{staging}/{name} can't be read"));
            return journal.map(|journal| Some((journal, is_done))).ok_or_else(unreadable);
        }
        Ok(None)
    }

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
                    What::Replace { made, .. } => !is_staged(&staging, &new, made)?,
                    What::Remove(_) | What::RemoveFolder { .. } => look(&staging, &old)?.is_some(),
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
                _ => Ok(()),
            },
            What::Replace { made, .. } => match here {
                Some(stamp) if made.is(&stamp) => {
                    made.check_unchanged(&stamp)?;
                    let back = hands.exchange((&staging, &new), (&folder, name), &stamp)?;
                    expect_moved(back)
                }
                // It was taken away after it was put there: what was replaced comes back.
                None if !is_staged(&staging, &new, made)? && look(&staging, &new)?.is_some() => {
                    hands.place((&staging, &new), (&folder, name))
                }
                // Nothing was done, or it was put back; what is staged may have been written to while it stood there.
                _ => match look(&staging, &new)?.filter(|stamp| made.is(stamp)) {
                    Some(stamp) => made.check_unchanged(&stamp),
                    None => Err(io::Error::new(io::ErrorKind::AlreadyExists, "something else stands there now")),
                },
            },
            What::Remove(_) | What::RemoveFolder { .. } => match look(&staging, &old)? {
                Some(_) => hands.place((&staging, &old), (&folder, name)),
                None => Ok(()),
            },
            What::Time { was_ns, is_ns, .. } => match here {
                Some(stamp) if stamp.modified_ns == *is_ns => hands.set_modified(&folder, name, *was_ns),
                _ => Ok(()),
            },
        }
    }

    /// Removes the staging folders, of which nothing is needed any more. The first one holds the journal, which says so first, and goes
    /// last, if the others are gone: what is left can be found again, and is not taken for what is still to be done.
    ///
    /// # Errors
    /// One could not be removed; nothing is lost by that but space.
    pub(super) fn clear(&self, root: &Dir, hands: &Hands) -> io::Result<()> {
        if let Some(staging) = self.open_staging(root, 0)? {
            match hands.place((&staging, NAME), (&staging, DONE_NAME)) {
                Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::AlreadyExists) => {}
                done => done?,
            }
            // Other file systems know no order with this one.
            #[cfg(unix)]
            if self.places.len() > 1 {
                hands.sync_folder(&staging)?;
            }
        }
        for place in self.places.iter().rev() {
            if let Some(folder) = open_below(root, place)? {
                remove_staging(&folder, &self.staging)?;
            }
        }
        Ok(())
    }
}

fn remove_staging(folder: &Dir, staging: &str) -> io::Result<()> {
    match folder.remove_dir_all(staging) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        removed => removed,
    }
}

fn is_staged(staging: &Dir, name: &str, made: &Made) -> io::Result<bool> {
    Ok(look(staging, name)?.is_some_and(|stamp| made.is(&stamp)))
}

/// Whether it is no folder that holds something.
fn is_empty(folder: &Dir, name: &str) -> io::Result<bool> {
    let listing = open_folder(folder, name)?.map(|folder| hutch_folder::list(&folder)).transpose()?;
    Ok(listing.is_none_or(|listing| listing.names.is_empty() && listing.not_text.is_empty()))
}

fn expect_moved(gone: hutch_folder::Gone) -> io::Result<()> {
    match gone {
        hutch_folder::Gone::Moved => Ok(()),
        hutch_folder::Gone::Changed => {
            Err(io::Error::new(io::ErrorKind::AlreadyExists, "it was changed while it was taken back"))
        }
    }
}

/// Ends what a run had begun in the granted folder `root`: takes it back, or, if the run was recorded, removes what it kept aside.
///
/// # Errors
/// Something could not be put back, or not be removed, or it can't be read what was done; the staging folder stays.
pub(crate) fn recover(root: &Dir, staging: &str, recorded: bool, hands: &Hands) -> io::Result<()> {
    if !staging.starts_with(STAGING) || staging.contains('/') {
        return Err(io::Error::new(io::ErrorKind::InvalidData, format!("{staging:?} is no staging folder")));
    }
    match Journal::read(root, staging)? {
        Some((journal, is_done)) => {
            if !recorded && !is_done {
                journal.take_back(root, hands)?;
            }
            journal.clear(root, hands)
        }
        // Without a journal nothing was moved yet, or all but this is removed.
        None => remove_staging(root, staging),
    }
}

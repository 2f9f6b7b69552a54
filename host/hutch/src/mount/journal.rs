//! What is to be done in a granted folder, written down before any of it is done: so that whoever comes after a run that did not live
//! can put everything back as it was.
//!
//! It is [sealed](Seal): what this instance did not write is not acted on. Whether an operation was done shows in the folder itself: a thing is known by its number in the file system, wherever it was
//! moved. So taking back (`back`) can be cut off too, and begun again.

use super::Seal;
use super::objects::open_below;
use cap_std::fs::Dir;
use hutch_folder::{Form, Gone, Hands, Stamp, look, open_file, open_folder};
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use std::fs::File;
use std::io::{self, Read};

pub(super) const NAME: &str = "journal";

/// A journal on its way: what is not whole has not this name but that one.
const STAGED_NAME: &str = "journal.new";

/// A journal of which nothing is left to do but to remove the staging folders.
const DONE_NAME: &str = "journal.done";

/// A journal of which nobody is to do anything any more, because somebody said so: what lies beside it stays there.
pub(super) const LEFT_NAME: &str = "journal.left";

/// The most bytes of a journal; what takes more is not begun.
const BYTES_MAX: u64 = 1 << 30;

/// More than its seal and the numbers take that its plan begins with.
const HEAD_BYTES: u64 = 256;

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
    /// The name of what comes, in the staging folder. After an exchange what was there has it; where there is none, `old_name`.
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
    /// The folder that the operation `removed` moved aside, to where nothing stands: it is the same one, with all that it is.
    MoveFolder { removed: usize, inode: u64 },
    /// A file, link or folder gets another time; a file or link only if it looks as the run was shown it.
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
    pub(super) fn is(&self, stamp: &Stamp) -> bool {
        stamp.inode == self.inode
    }

    /// Whether it may be the same where numbers are not kept: a file of the same length and time, to the nanosecond; of folders and links nothing else
    /// is known.
    pub(super) fn looks_like(&self, stamp: &Stamp) -> bool {
        let is_file = self.content.is_some();
        !self.is(stamp) && (stamp.form == Form::File) == is_file && Made::from(*stamp).content == self.content
    }

    /// # Errors
    /// Somebody wrote to it since: it is not ours to take away any more.
    pub(super) fn check_unchanged(&self, stamp: &Stamp) -> io::Result<()> {
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
    /// The number of the granted folder, and that of the staging folder in it which holds this. It comes first: see [`is_within`].
    #[serde(default)]
    within: (u64, u64),
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
        let (within, staging) = ((0, 0), staging.to_owned());
        Journal { within, staging, places: Vec::new(), operations: Vec::new(), devices: Vec::new() }
    }

    /// The staging folder on the file system of the folder that holds `path`: the number of one that is there, or of one that is
    /// made.
    pub(super) fn staging_for(&mut self, root: &Dir, path: &str, hands: &Hands) -> io::Result<usize> {
        let device = |folder: &Dir| folder.dir_metadata().map(|metadata| Stamp::of(&metadata).device);
        if self.places.is_empty() {
            hands.create_private_folder(root, &self.staging)?;
            let made = look(root, &self.staging)?.ok_or(io::ErrorKind::NotFound)?;
            self.within = (Stamp::of(&root.dir_metadata()?).inode, made.inode);
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

    /// Writes it down, durably, in the first staging folder: all of it, or under another name. Answers with the file, locked as long as
    /// it stays open: that tells others that the run lives.
    pub(super) fn write(&self, root: &Dir, seal: &Seal, hands: &Hands) -> io::Result<Option<File>> {
        if self.places.is_empty() {
            return Ok(None);
        }
        let staging = self.open_staging(root, 0)?.ok_or(io::ErrorKind::NotFound)?;
        let plan = serde_json::to_vec(self)?;
        let bytes = [seal.journal(&plan).to_string().as_bytes(), b"\n", &plan].concat();
        if bytes.len() as u64 > BYTES_MAX {
            return Err(io::Error::new(io::ErrorKind::InvalidInput, "the run changed too many paths at once"));
        }
        let file = hands.create_private_file(&staging, STAGED_NAME)?;
        hands.write(&file, &bytes)?;
        hands.sync(&file)?;
        // Where there are no locks, or an open file can't be removed, it tells others nothing.
        let is_held = cfg!(unix) && file.try_lock().is_ok();
        hands.place((&staging, STAGED_NAME), (&staging, NAME))?;
        #[cfg(unix)]
        {
            hands.sync_folder(&staging)?;
            hands.sync_folder(root)?;
        }
        Ok(is_held.then_some(file))
    }

    /// The journal in a staging folder, and whether nothing is left to do of it; `None` if none was written: then nothing was done.
    ///
    /// # Errors
    /// There is one that can't be read, or that this instance did not write. What was done stays done, and what was there before is kept.
    fn read(root: &Dir, seal: &Seal) -> io::Result<Option<(Journal, bool)>> {
        let staging = seal.staging();
        let Some(folder) = open_folder(root, staging)? else { return Ok(None) };
        for (name, is_done) in [(DONE_NAME, true), (NAME, false)] {
            let file = match open_file(&folder, name) {
                Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
                file => file?,
            };
            let mut bytes = Vec::new();
            // None that was written is longer, and what is longer is none.
            if file.metadata()?.len() <= BYTES_MAX {
                file.take(BYTES_MAX).read_to_end(&mut bytes)?;
            }
            let sealed = bytes.iter().position(|byte| *byte == b'\n').and_then(|at| bytes.split_at_checked(at));
            let plan = sealed.and_then(|(mark, plan)| {
                let plan = plan.split_first()?.1;
                (seal.journal(plan).to_string().as_bytes() == mark).then_some(plan)
            });
            let journal = plan.and_then(|plan| serde_json::from_slice(plan).ok());
            let journal = journal.filter(|journal: &Journal| journal.staging == staging);
            let unreadable = || {
                io::Error::new(io::ErrorKind::InvalidData, format!("{staging}/{name} is not what this instance wrote"))
            };
            return journal.map(|journal| Some((journal, is_done))).ok_or_else(unreadable);
        }
        Ok(None)
    }

    /// Removes the staging folders, of which nothing is needed any more. The first one holds the journal, which says so first, and goes
    /// last, if the others are gone: what is left can be found again, and is not taken for what is still to be done. Of a run that is
    /// `recorded` that is said whatever else lies there.
    ///
    /// # Errors
    /// One holds what this journal does not account for, and nothing is removed; or one could not be removed: nothing is lost by that
    /// but space.
    pub(super) fn clear(&self, root: &Dir, recorded: bool, hands: &Hands) -> io::Result<()> {
        let all = self.all_known(root);
        if let Some(staging) = self.open_staging(root, 0)?.filter(|_| recorded || all.is_ok()) {
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
        for (above, staging, names) in all?.into_iter().rev() {
            remove_staging((&above, &self.staging), &staging, names, hands)?;
        }
        Ok(())
    }

    /// The staging folders that are there, each with the folder that it is in and what it holds beside the journal.
    ///
    /// # Errors
    /// One holds what this journal does not account for.
    fn all_known(&self, root: &Dir) -> io::Result<Vec<(Dir, Dir, Vec<String>)>> {
        let mut all = Vec::new();
        for (number, place) in self.places.iter().enumerate() {
            let Some(above) = open_below(root, place)? else { continue };
            if let Some(staging) = open_folder(&above, &self.staging)? {
                let names = known_names(&staging, &self.staging, |name| self.knows(number, name))?;
                all.push((above, staging, names));
            }
        }
        Ok(all)
    }

    /// Whether an operation moves something to this name in this staging folder.
    fn knows(&self, staging: usize, name: &str) -> bool {
        let operation = |prefix| {
            let number = name.strip_prefix(prefix)?.parse::<usize>().ok()?;
            self.operations.get(number).filter(|operation| operation.staging == staging)
        };
        let comes = operation("new-").is_some_and(|of| matches!(of.what, What::Place(_) | What::Replace { .. }));
        let goes = |of: &Operation| !matches!(of.what, What::Place(_) | What::MoveFolder { .. } | What::Time { .. });
        comes || operation("old-").is_some_and(goes)
    }
}

/// Whether an open file begins as a journal does that was written in the staging folder with the second of these numbers, in a granted one
/// with the first. Of a copy both are others, as good as always. Its seal is not looked at: only one instance can.
pub(super) fn is_within(file: &File, (folder, staging): (u64, u64)) -> bool {
    let mut head = Vec::new();
    let read = file.take(HEAD_BYTES).read_to_end(&mut head);
    let plan = head.iter().position(|byte| *byte == b'\n').and_then(|at| head.get(at + 1..));
    let begins = format!("{{\"within\":[{folder},{staging}],");
    read.is_ok() && plan.is_some_and(|plan| plan.starts_with(begins.as_bytes()))
}

/// Puts what lies in the staging folder under the name `comes` in the place of the file or link that looks like `stamp`: in one step, or,
/// where the system has no such step, in two, between which what goes lies under the name `goes`. The journal knows both names.
///
/// # Errors
/// The system's refusal; everything is where it was, or under one of the names.
pub(super) fn replace(
    hands: &Hands,
    staging: &Dir,
    (comes, goes): (&str, &str),
    place: (&Dir, &str),
    stamp: &Stamp,
) -> io::Result<Gone> {
    match hands.exchange_at_once((staging, comes), place, stamp) {
        Err(error) if error.kind() == io::ErrorKind::Unsupported => {}
        exchanged => return exchanged,
    }
    if hands.move_aside(place, stamp, (staging, goes))? == Gone::Changed {
        return Ok(Gone::Changed);
    }
    match hands.place((staging, comes), place) {
        // Somebody else was faster: theirs stays, and what was there before is kept aside.
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(Gone::Changed),
        placed => placed.map(|()| Gone::Moved),
    }
}

/// What is in a staging folder beside the journal, if all of it is known.
///
/// # Errors
/// Something is not: it may be somebody's, or what a run moved there that nobody knows how to bring back.
fn known_names(staging: &Dir, name: &str, is_known: impl Fn(&str) -> bool) -> io::Result<Vec<String>> {
    let listing = hutch_folder::list(staging)?;
    let mut names = listing.names;
    names.retain(|name| ![NAME, STAGED_NAME, DONE_NAME].contains(&name.as_str()));
    match listing.not_text.first().or_else(|| names.iter().find(|name| !is_known(name))) {
        Some(unknown) => {
            let reason = format!("{name}/{unknown} is nothing that the run put there");
            Err(io::Error::new(io::ErrorKind::AlreadyExists, reason))
        }
        None => Ok(names),
    }
}

/// Removes a staging folder and these names in it, and nothing that came meanwhile.
fn remove_staging((above, name): (&Dir, &str), staging: &Dir, names: Vec<String>, hands: &Hands) -> io::Result<()> {
    for name in names {
        match look(staging, &name)?.map(|stamp| stamp.form) {
            Some(Form::Folder) => hands.remove_folder(staging, &name)?,
            Some(_) => hands.drop_file(staging, &name)?,
            None => {}
        }
    }
    for name in [STAGED_NAME, NAME, DONE_NAME] {
        if look(staging, name)?.is_some() {
            hands.drop_file(staging, name)?;
        }
    }
    match hands.remove_folder(above, name) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        removed => removed,
    }
}

/// Ends what a run had begun in the granted folder `root`: takes it back, or, if the run was recorded, removes what it kept aside.
///
/// # Errors
/// Something could not be put back, or not be removed, or it can't be read what was done; the staging folder stays.
pub(crate) fn recover(root: &Dir, seal: &Seal, recorded: bool, hands: &Hands) -> io::Result<()> {
    match Journal::read(root, seal)? {
        Some((journal, is_done)) => {
            if !recorded && !is_done {
                journal.take_back(root, hands)?;
            }
            journal.clear(root, recorded || is_done, hands)
        }
        // Without a journal nothing was moved yet, or all but this is removed.
        None => {
            let staging = seal.staging();
            let Some(folder) = open_folder(root, staging)? else { return Ok(()) };
            let is_number = |digits: &str| digits.parse::<u32>().is_ok();
            let is_staged = |name: &str| {
                let old = name.strip_prefix("old-").filter(|_| recorded);
                name.strip_prefix("new-").or(old).is_some_and(is_number)
            };
            let names = known_names(&folder, staging, is_staged)?;
            remove_staging((root, staging), &folder, names, hands)
        }
    }
}

//! Bringing plain directories to the state.
//!
//! What goes is removed first, children before their folders; then what comes is made, folders before what they hold. A file
//! is written in the staging folder, made durable, and moved over the old one. Nothing is recorded before all is done: cut
//! off anywhere, the same steps run again, and what is done already is recognised by its content.

use super::content::{WriteError, holds, write_content};
use super::disk::{self, Form, Stamp};
use super::handles::Handles;
use super::links::stays_inside;
use super::look::{Known, other_case};
use super::stamps::{self, Mark, Note, Shown};
use super::steps::{Step, is_folder, steps};
use super::{Plain, STAGING};
use crate::error::StoreError;
use crate::names::VolumeName;
use crate::store::Store;
use cap_std::fs::Dir;
use hutch_model::digest::Digest;
use hutch_model::snapshot::{Node, empty_tree};
use std::io;

/// Up to so many files are each made durable by themselves; for more, the file system is, in one go.
const SYNC_EACH_MAX: usize = 8;
/// Files and bytes that wait in the staging folder, at most.
const BATCH_FILES: usize = 1024;
const BATCH_BYTES: u64 = 64 << 20;
/// How often a directory is brought to a state that changed meanwhile before somebody else's turn comes.
const ROUNDS_MAX: u32 = 16;

/// What an update left undone.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Updated {
    /// Another process is at it, and does this one's work too.
    pub elsewhere: bool,
    /// Paths, each with its volume, where something stands that others put there: it was left as it is.
    pub left: Vec<(VolumeName, String)>,
}

/// What stands where something shall change.
enum Standing {
    Nothing,
    /// It may be replaced if it still looks like this.
    Ours(Stamp),
    /// It is already what it shall be.
    Done(Stamp),
    Foreign,
    /// The file system takes the name for another one's.
    OtherCase,
}

/// A file or link in the staging folder, on its way to its place.
struct Staged {
    name: String,
    at: usize,
    replaces: Option<Stamp>,
    stamp: Stamp,
}

impl Plain {
    /// Brings the directory of each volume to the volume's state. Costs one look at the database if there is nothing to
    /// do. Commits of other processes that come while this one is at work are included.
    ///
    /// # Errors
    /// Store or directory can't be read or written; the next update goes on from there.
    pub fn update(&self) -> Result<Updated, StoreError> {
        let mut updated = Updated::default();
        for _ in 0..ROUNDS_MAX {
            if !self.store.pool().sql(|connection| stamps::behind(connection))? {
                break;
            }
            // Whoever finds the lock taken may go: its holder looks again after letting go of it.
            let Some(_lock) = self.try_lock()? else {
                updated.elsewhere = true;
                break;
            };
            self.update_locked(&mut updated)?;
        }
        Ok(updated)
    }

    pub(super) fn update_locked(&self, updated: &mut Updated) -> Result<(), StoreError> {
        for (volume, tree) in &self.store.head()?.state {
            let Some((mut shown, _)) = self.shown(volume)? else {
                self.bring(volume, Shown { tree: empty_tree(), target: None }, *tree, updated)?;
                continue;
            };
            // What was cut off is finished first: only then is everything on disk accounted for.
            if let Some(target) = shown.target {
                self.bring(volume, shown, target, updated)?;
                shown = Shown { tree: target, target: None };
            }
            if shown.tree != *tree {
                self.bring(volume, shown, *tree, updated)?;
            }
        }
        Ok(())
    }

    /// Brings one directory from what it shows to `target`.
    fn bring(
        &self,
        volume: &VolumeName,
        shown: Shown,
        target: Digest,
        updated: &mut Updated,
    ) -> Result<(), StoreError> {
        let shown = Shown { target: Some(target), ..shown };
        let save =
            |shown, notes: &[Note]| self.store.pool().sql(|connection| stamps::save(connection, volume, shown, notes));
        save(shown, &[])?;
        let Some(root) = self.root(volume, true)? else { return Ok(()) };
        let staging = self.staging()?;
        let known = Known::new(self, volume, shown);
        let steps = steps(known.objects(), &shown.tree, &target).map_err(|error| known.damaged(&error))?;
        let (handles, blocked) = (Handles::new(root), vec![false; steps.len()]);
        let mut update =
            Update { plain: self, volume, known, steps: &steps, blocked, handles, staging, notes: Vec::new() };
        update.remove()?;
        update.make()?;
        update.set_folder_times()?;
        let Update { notes, blocked, .. } = update;
        save(Shown { tree: target, target: None }, &notes)?;
        let left = steps.iter().zip(blocked).filter(|(_, blocked)| *blocked);
        updated.left.extend(left.map(|(step, _)| (volume.clone(), step.path.join("/"))));
        Ok(())
    }

    /// The staging folder, empty.
    fn staging(&self) -> Result<Dir, StoreError> {
        let open = || {
            if disk::look(&self.folder, STAGING)?.is_none() {
                self.disk.create_folder(&self.folder, STAGING)?;
            }
            let staging = disk::folder(&self.folder, STAGING)?.ok_or(io::ErrorKind::NotADirectory)?;
            for name in disk::list(&staging)? {
                self.disk.remove_file(&staging, &name)?;
            }
            Ok(staging)
        };
        open().map_err(|error| StoreError::io(self.store.place().folder().join(STAGING), "prepare the folder", error))
    }
}

struct Update<'a> {
    plain: &'a Plain,
    volume: &'a VolumeName,
    known: Known<'a>,
    steps: &'a [Step],
    /// Steps that something foreign stands in the way of.
    blocked: Vec<bool>,
    handles: Handles,
    staging: Dir,
    notes: Vec<Note>,
}

/// The folder and the name of a path, which is never empty.
fn split(path: &[String]) -> (&[String], &str) {
    path.split_last().map_or((&[], ""), |(name, above)| (above, name.as_str()))
}

impl Update<'_> {
    fn failed<'s>(&'s self, step: &'s Step, action: &'static str) -> impl Fn(io::Error) -> StoreError + 's {
        move |error| StoreError::io(self.plain.path(self.volume, &step.path), action, error)
    }

    /// The folder in which a step happens; `None` if it is not there.
    fn folder(&mut self, step: &Step) -> Result<Option<Dir>, StoreError> {
        let above = split(&step.path).0;
        let folder = self.handles.at(above).and_then(|folder| folder.map(Dir::try_clone).transpose());
        folder.map_err(|error| StoreError::io(self.plain.path(self.volume, above), "open the folder", error))
    }

    fn note(&mut self, step: &Step, mark: Option<Mark>) {
        let (above, name) = split(&step.path);
        self.notes.push(Note { folder: above.join("/"), name: name.to_owned(), mark });
    }

    fn standing(&mut self, folder: &Dir, step: &Step) -> Result<Standing, StoreError> {
        let (above, name) = split(&step.path);
        let Some(stamp) = disk::look(folder, name).map_err(self.failed(step, "look at"))? else {
            return Ok(Standing::Nothing);
        };
        let both = [step.was.as_ref(), step.is.as_ref()];
        if stamp.form == Form::Folder {
            return Ok(match both.map(is_folder) {
                [_, true] => Standing::Done(stamp),
                [true, false] => Standing::Ours(stamp),
                [false, false] => Standing::Foreign,
            });
        }
        if step.was.is_some() {
            let (volume, pool) = (self.volume, self.plain.store.pool());
            let mark = pool.sql(|connection| stamps::one(connection, volume, &above.join("/"), name))?;
            if mark == Some(Mark::Seen(stamp)) {
                return Ok(Standing::Ours(stamp));
            }
        }
        let same_content = step.was.as_ref().map(|was| &was.node) == step.is.as_ref().map(|is| &is.node);
        if let (false, Some(is)) = (same_content, &step.is)
            && holds(folder, name, &stamp, &is.node).map_err(self.failed(step, "read the file"))?
        {
            return Ok(Standing::Done(stamp));
        }
        if self.known.is_ours(folder, &step.path, Some(&stamp))? {
            return Ok(Standing::Ours(stamp));
        }
        Ok(match other_case(folder, name).map_err(self.failed(step, "list the folder of"))? {
            true => Standing::OtherCase,
            false => Standing::Foreign,
        })
    }

    /// Removes what goes, and what can't be replaced by a move.
    fn remove(&mut self) -> Result<(), StoreError> {
        let steps = self.steps;
        for (at, step) in steps.iter().enumerate().rev() {
            let (was_folder, is_folder) = (is_folder(step.was.as_ref()), is_folder(step.is.as_ref()));
            let goes = step.was.is_some() && (step.is.is_none() || was_folder != is_folder);
            if !goes {
                continue;
            }
            if !was_folder {
                self.note(step, None);
            }
            let Some(folder) = self.folder(step)? else { continue };
            let name = split(&step.path).1;
            match self.standing(&folder, step)? {
                Standing::Nothing | Standing::Done(_) | Standing::OtherCase => {}
                Standing::Foreign => self.blocked[at] = true,
                Standing::Ours(Stamp { form: Form::Folder, .. }) => {
                    match self.plain.disk.remove_folder(&folder, name) {
                        Err(error) if error.kind() == io::ErrorKind::DirectoryNotEmpty => self.blocked[at] = true,
                        result => result.map_err(self.failed(step, "remove the folder"))?,
                    }
                }
                Standing::Ours(_) => {
                    let removed = self.plain.disk.remove_file(&folder, name);
                    removed.map_err(self.failed(step, "remove the file"))?;
                }
            }
        }
        Ok(())
    }

    /// Makes what comes.
    fn make(&mut self) -> Result<(), StoreError> {
        let steps = self.steps;
        let files = steps.iter().filter(|step| matches!(step.is.as_ref().map(|is| &is.node), Some(Node::File { .. })));
        let together = cfg!(target_os = "linux") && files.count() > SYNC_EACH_MAX;
        let (mut staged, mut bytes) = (Vec::new(), 0);
        for (at, step) in steps.iter().enumerate() {
            let Some(is) = &step.is else { continue };
            if self.blocked[at] {
                self.note(step, None);
                continue;
            }
            let folder = self.folder(step)?;
            let standing = match &folder {
                Some(folder) => self.standing(folder, step)?,
                None => Standing::Foreign,
            };
            let (Some(folder), false) = (folder, matches!(standing, Standing::Foreign)) else {
                self.blocked[at] = true;
                self.note(step, None);
                continue;
            };
            let name = split(&step.path).1;
            let replaces = match standing {
                Standing::Ours(stamp) => Some(stamp),
                _ => None,
            };
            match (&is.node, &standing) {
                (_, Standing::OtherCase) => self.note(step, Some(Mark::Withheld)),
                (Node::Folder { .. }, Standing::Done(_)) => {}
                (Node::Folder { .. }, _) => {
                    let made = self.plain.disk.create_folder(&folder, name);
                    made.map_err(self.failed(step, "create the folder"))?;
                }
                (_, Standing::Done(stamp)) => self.note(step, Some(Mark::Seen(*stamp))),
                (Node::Link { target }, _) if !stays_inside(step.path.len() - 1, target) => {
                    if replaces.is_some() {
                        let removed = self.plain.disk.remove_file(&folder, name);
                        removed.map_err(self.failed(step, "remove the file"))?;
                    }
                    self.note(step, Some(Mark::Withheld));
                }
                (node, Standing::Ours(_)) if step.was.as_ref().map(|was| &was.node) == Some(node) => {
                    let set = self.plain.disk.set_modified(&folder, name, is.modified_ns);
                    set.map_err(self.failed(step, "set the time of"))?;
                    let stamp = disk::look(&folder, name).map_err(self.failed(step, "look at"))?;
                    self.note(step, stamp.map(Mark::Seen));
                }
                (node, _) => {
                    bytes += node.totals().bytes;
                    match self.stage(at, step, node, is.modified_ns, replaces, !together)? {
                        Some(file) => staged.push(file),
                        None => self.note(step, Some(Mark::Withheld)),
                    }
                }
            }
            if staged.len() >= BATCH_FILES || bytes >= BATCH_BYTES {
                self.place(std::mem::take(&mut staged), together)?;
                bytes = 0;
            }
        }
        self.place(staged, together)
    }

    /// Writes a file or link to the staging folder; `None` if this file system can't have its name.
    fn stage(
        &self,
        at: usize,
        step: &Step,
        node: &Node,
        modified_ns: u64,
        replaces: Option<Stamp>,
        sync: bool,
    ) -> Result<Option<Staged>, StoreError> {
        let name = at.to_string();
        let (disk, staging) = (&self.plain.disk, &self.staging);
        let failed = |error| self.failed(step, "write the file")(error);
        match node {
            Node::File { size, content } => {
                let file = disk.create_file(staging, &name).map_err(failed)?;
                let objects = self.plain.store.objects();
                write_content(disk, &file, &*objects, (*size, content)).map_err(|error| match error {
                    WriteError::Io(error) => failed(error),
                    WriteError::Object(error) => self.known.damaged(&error),
                })?;
                disk.finish(file, modified_ns, sync).map_err(failed)?;
            }
            Node::Link { target } => {
                match disk.create_link(staging, &name, target) {
                    Err(error) if cannot_be_named(&error) => return Ok(None),
                    result => result.map_err(failed)?,
                }
                disk.set_modified(staging, &name, modified_ns).map_err(failed)?;
            }
            Node::Folder { .. } => return Ok(None),
        }
        let stamp = disk::look(staging, &name).map_err(failed)?;
        let stamp = stamp.ok_or_else(|| failed(io::ErrorKind::NotFound.into()))?;
        Ok(Some(Staged { name, at, replaces, stamp }))
    }

    /// Moves what is staged to its places, durable content first.
    #[cfg_attr(not(target_os = "linux"), allow(unused_variables))]
    fn place(&mut self, staged: Vec<Staged>, together: bool) -> Result<(), StoreError> {
        #[cfg(target_os = "linux")]
        if together && !staged.is_empty() {
            let path = self.plain.store.place().folder().join(STAGING);
            let any = staged.iter().find(|staged| staged.stamp.form == Form::File);
            let synced = any.map_or(Ok(()), |any| self.plain.disk.sync_all(&self.staging, &any.name));
            synced.map_err(|error| StoreError::io(path, "sync", error))?;
        }
        let steps = self.steps;
        for Staged { name: staged, at, replaces, stamp } in staged {
            let Some(step) = steps.get(at) else { continue };
            let name = split(&step.path).1;
            let folder = self.folder(step)?;
            let now = match &folder {
                Some(folder) => disk::look(folder, name).map_err(self.failed(step, "look at"))?,
                None => None,
            };
            // Whoever came in between keeps what they made.
            let (Some(folder), true) = (folder, now == replaces) else {
                self.blocked[at] = true;
                self.note(step, None);
                continue;
            };
            match self.plain.disk.place((&self.staging, &staged), (&folder, name)) {
                Err(error) if cannot_be_named(&error) => {
                    self.note(step, Some(Mark::Withheld));
                    continue;
                }
                result => result.map_err(self.failed(step, "write the file"))?,
            }
            let placed = disk::look(&folder, name).map_err(self.failed(step, "look at"))?;
            self.note(step, placed.filter(|placed| placed.moved(&stamp)).map(Mark::Seen));
        }
        Ok(())
    }

    /// Gives each changed folder the time that the snapshot has for it: last, because every change in it sets it anew.
    fn set_folder_times(&mut self) -> Result<(), StoreError> {
        let steps = self.steps;
        for (at, step) in steps.iter().enumerate().rev() {
            let Some(is) = step.is.as_ref().filter(|is| is_folder(Some(is)) && !self.blocked[at]) else { continue };
            let name = split(&step.path).1;
            let Some(folder) = self.folder(step)? else { continue };
            let there = disk::look(&folder, name).map_err(self.failed(step, "look at"))?;
            if there.is_some_and(|there| there.form == Form::Folder && there.modified_ns != is.modified_ns) {
                let set = self.plain.disk.set_modified(&folder, name, is.modified_ns);
                set.map_err(self.failed(step, "set the time of"))?;
            }
        }
        Ok(())
    }
}

/// Whether the file system has no such names, or links.
fn cannot_be_named(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::InvalidFilename | io::ErrorKind::InvalidInput | io::ErrorKind::Unsupported)
}

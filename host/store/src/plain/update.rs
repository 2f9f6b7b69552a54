//! Bringing plain directories to the state.
//!
//! Folder by folder: what goes is removed, children before their folders; then what comes is made, and then the folders below. A
//! file is written in the staging folder and changes places with the old one, and what came out is looked at: if it is not what was
//! expected, somebody saved it meanwhile, and it is put back. Nothing is recorded before all is done: cut off anywhere, the same
//! steps run again, and what is done already is recognised by its content.

mod placing;

use super::Plain;
use super::content::{WriteError, holds, is_torn};
use super::export::expect_within;
use super::judge::{Judged, Look, Version};
use super::scan::Bounds;
use super::staged::{Ours, Staged};
use super::stamps::{FolderId, Mark, Shown, content};
use crate::error::StoreError;
use crate::names::VolumeName;
use crate::store::State;
use cap_std::fs::Dir;
use hutch_folder::{Form, Gone, Handles, Stamp, list, look, stays_inside};
use hutch_model::acted_on::is_acted_on;
use hutch_model::digest::{Digest, Kind};
use hutch_model::limits::Limit;
use hutch_model::snapshot::{
    DEPTH_MAX, Entry, Lack, Node, ObjectError, Objects, Tree, empty_tree, read_changed, read_object, read_tree,
};
use placing::Placed;
use std::collections::BTreeSet;
use std::io;
use std::sync::Arc;
use std::time::Duration;

/// How often a directory is brought to a state that changed meanwhile before somebody else's turn comes.
const ROUNDS_MAX: u32 = 16;

/// How many earlier states a directory is compared with after another start of the machine.
const EARLIER_MAX: usize = 16;

/// Paths that are said to be left as they are, at most.
const LEFT_MAX: usize = 100;

/// What an update left undone.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Updated {
    /// Another process is at it, and does this one's work too.
    pub elsewhere: bool,
    /// There was no time for all of it: the next update goes on from there.
    pub behind: bool,
    /// Paths, each with its volume, where something stands that others put there: it was left as it is. The first hundred.
    pub left: BTreeSet<(VolumeName, String)>,
    /// Where things lie that somebody saved in the very moment in which what they replaced was brought up to date.
    pub saved: BTreeSet<String>,
}

/// What an update looks at.
#[derive(Clone, Copy)]
struct Scope {
    /// All there is, and not only what differs.
    all: bool,
    /// Whether what is remembered is of another start of the machine.
    restarted: bool,
    /// When the rest is left, by a clock that nobody sets.
    end_ns: Option<u64>,
}

/// What stands where something shall change.
#[derive(Clone, Copy)]
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

impl Plain {
    /// Brings the directory of each volume to the volume's state. Costs one look at store and stamps if there is nothing to
    /// do. Commits of other processes that come while this one is at work are included.
    ///
    /// # Errors
    /// Store or directory can't be read or written; the next update goes on from there.
    pub fn update(&self) -> Result<Updated, StoreError> {
        self.update_until(None)
    }

    /// The same, but for so long. After another start of the machine everything is looked at, and that once, however long it takes.
    ///
    /// # Errors
    /// As for [`update`](Plain::update).
    pub fn update_within(&self, longest: Duration) -> Result<Updated, StoreError> {
        let longest_ns = u64::try_from(longest.as_nanos()).unwrap_or(u64::MAX);
        self.update_until(Some((self.passed_ns)().saturating_add(longest_ns)))
    }

    fn update_until(&self, end_ns: Option<u64>) -> Result<Updated, StoreError> {
        let mut updated = Updated::default();
        for _ in 0..ROUNDS_MAX {
            if !self.is_restarted()? && !self.stamps.behind(&self.durable_state()?)? {
                break;
            }
            // Whoever finds the lock taken may go: its holder looks again after letting go of it.
            let Some(_lock) = self.try_lock()? else {
                updated.elsewhere = true;
                break;
            };
            self.update_locked(end_ns, &mut updated)?;
            if updated.behind {
                break;
            }
        }
        Ok(updated)
    }

    /// Whether the stamps are of another start of the machine than this one, or of none.
    pub(super) fn is_restarted(&self) -> Result<bool, StoreError> {
        Ok(self.stamps.boot()? != self.boot && self.boot.is_some())
    }

    pub(super) fn update_locked(&self, end_ns: Option<u64>, updated: &mut Updated) -> Result<(), StoreError> {
        let restarted = self.is_restarted()?;
        let mut states = None;
        for (volume, tree) in &self.durable_state()? {
            let known = self.shown(volume)?.map(|(shown, _)| shown);
            let mut shown = known.unwrap_or(Shown { tree: empty_tree(), target: None });
            // What was cut off is finished first: only then is everything on disk accounted for. What it was to become may not be kept
            // any more, and then all is looked at.
            let target = match shown.target {
                Some(target) => Some((target, self.is_kept(&target)?)),
                None => None,
            };
            let scope = Scope {
                all: restarted || matches!(target, Some((_, false))),
                restarted,
                end_ns: end_ns.filter(|_| !restarted),
            };
            let earlier = match (scope.all, &states) {
                (false, _) => &Vec::new(),
                (true, Some(states)) => states,
                (true, None) => states.insert(self.earlier()?),
            };
            let earlier = earlier.iter().map(|state: &State| state.get(volume).copied().unwrap_or_else(empty_tree));
            let earlier: Vec<Digest> = earlier.collect();
            if let Some((target, true)) = target {
                self.bring(volume, shown, target, (scope, &earlier), updated)?;
                if updated.behind {
                    return Ok(());
                }
                shown = Shown { tree: target, target: None };
            }
            if known.is_none() || shown.tree != *tree || scope.all {
                self.bring(volume, shown, *tree, (scope, &earlier), updated)?;
            }
            if updated.behind {
                return Ok(());
            }
        }
        match (restarted, &self.boot) {
            (true, Some(boot)) => self.stamps.set_boot(boot),
            _ => Ok(()),
        }
    }

    /// Whether a state is kept.
    fn is_kept(&self, digest: &Digest) -> Result<bool, StoreError> {
        match read_object(&*self.store.objects(), digest) {
            Err(error) if error.lack == Lack::Missing => Ok(false),
            read => read.map(|_| true).map_err(|error| StoreError::object(self.store.at(), &error)),
        }
    }

    /// Earlier states that a directory may show again after the power was lost, the latest first.
    fn earlier(&self) -> Result<Vec<State>, StoreError> {
        let head = self.store.head()?;
        let mut states: Vec<State> = Vec::new();
        let from = head.retained_from.saturating_sub(1);
        for sequence in (from..=head.last.sequence).rev().take(EARLIER_MAX * EARLIER_MAX) {
            let state = self.store.state_at(sequence)?;
            if states.last() != Some(&state) {
                states.push(state);
            }
            if states.len() > EARLIER_MAX {
                break;
            }
        }
        Ok(states)
    }

    /// Brings one directory from what it shows to `target`.
    fn bring(
        &self,
        volume: &VolumeName,
        shown: Shown,
        target: Digest,
        (scope, earlier): (Scope, &[Digest]),
        updated: &mut Updated,
    ) -> Result<(), StoreError> {
        let objects = self.store.objects();
        let damaged = |error: ObjectError| StoreError::object(self.store.at(), &error);
        let totals = read_object(&*objects, &target).map_err(damaged)?.totals();
        expect_within(&Bounds::widest(), totals, &self.full_path(volume, &[]))?;
        self.stamps.set_shown(volume, Shown { target: Some(target), ..shown })?;
        let Some(root) = self.root(volume, true)? else { return Ok(()) };
        // What it shows may not be kept any more, or be another store's: then nothing is known of what stands there.
        let (was, is) = read_both(&*objects, &shown.tree, &target, scope.all).map_err(damaged)?;
        // An earlier state may not be kept any more: then it can't be known again.
        let earlier = earlier.iter().filter_map(|digest| read_tree(&*objects, digest).ok()).collect();
        let folder = Level { was, is, earlier };
        let mut update = Update {
            plain: self,
            volume,
            objects: objects.clone(),
            scope,
            handles: Handles::new(root),
            path: Vec::new(),
            staged: Staged::open(self)?,
            left: &mut updated.left,
            behind: false,
        };
        let brought = self.stamps.batch().and_then(|_together| update.folder(self.stamps.make_top(volume)?, &folder));
        updated.saved.extend(update.staged.saved);
        updated.behind = update.behind;
        brought?;
        if updated.behind {
            return Ok(());
        }
        self.stamps.set_shown(volume, Shown { tree: target, target: None })
    }
}

/// Two states of a folder, with all that differs; with all there is, if that is looked at. One that is not kept holds nothing.
fn read_both(objects: &dyn Objects, was: &Digest, is: &Digest, all: bool) -> Result<(Tree, Tree), ObjectError> {
    if !all {
        match read_changed(objects, was, is) {
            Err(error) if error.lack == Lack::Missing => {}
            read => return read,
        }
    }
    let was = match read_tree(objects, was) {
        Err(error) if error.lack == Lack::Missing => Tree::default(),
        read => read?,
    };
    Ok((was, read_tree(objects, is)?))
}

/// One folder, as the snapshots have it: what may differ, or all of it if all is looked at. What comes amounts to what the
/// folder above says, so that the first one's bounds hold for all.
struct Level {
    was: Tree,
    is: Tree,
    /// Earlier ones that may be on disk, if any may.
    earlier: Vec<Tree>,
}

/// One name, as the snapshots have it.
struct Place {
    was: Option<Entry>,
    is: Option<Entry>,
    earlier: Vec<Entry>,
    /// Whether all snapshots have it, earlier ones too: then that nothing stands there is no older state, but somebody's doing.
    always: bool,
}

impl Place {
    fn name(&self) -> &str {
        self.is.as_ref().or(self.was.as_ref()).map_or("", |entry| entry.name.as_str())
    }
}

fn is_folder(entry: Option<&Entry>) -> bool {
    entry.is_some_and(|entry| matches!(entry.node, Node::Folder { .. }))
}

struct Update<'a> {
    plain: &'a Plain,
    volume: &'a VolumeName,
    objects: Arc<dyn Objects>,
    scope: Scope,
    handles: Handles,
    /// Where the update is, from the volume down.
    path: Vec<String>,
    staged: Staged<'a>,
    left: &'a mut BTreeSet<(VolumeName, String)>,
    /// Whether the rest is left for want of time.
    behind: bool,
}

impl Update<'_> {
    /// Whether the rest is left.
    fn is_late(&mut self) -> bool {
        self.behind = self.behind || self.scope.end_ns.is_some_and(|end_ns| (self.plain.passed_ns)() >= end_ns);
        self.behind
    }

    fn failed(&self, name: &str, action: &'static str) -> impl Fn(io::Error) -> StoreError + use<> {
        let mut path = self.plain.full_path(self.volume, &self.path);
        path.push(name);
        move |error| StoreError::io(&path, action, error)
    }

    fn damaged(&self, error: &ObjectError) -> StoreError {
        StoreError::object(self.plain.store.at(), error)
    }

    /// Something of others stands in the way of `name`, or of the folder itself.
    fn leave(&mut self, name: &str) {
        if self.left.len() < LEFT_MAX {
            let path: Vec<&str> = self.path.iter().map(String::as_str).chain([name]).collect();
            self.left.insert((self.volume.clone(), path.join("/").trim_end_matches('/').to_owned()));
        }
    }

    /// The folder in which the update is; `None` if there is none, or a link on the way.
    fn here(&mut self) -> Result<Option<Dir>, StoreError> {
        let folder = self.handles.at(&self.path).and_then(|folder| folder.map(Dir::try_clone).transpose());
        folder.map_err(self.failed("", "open the folder"))
    }

    /// Brings the folder in which the update is from what it was to what it shall be.
    fn folder(&mut self, id: FolderId, level: &Level) -> Result<(), StoreError> {
        if self.path.len() > DEPTH_MAX {
            let (at, limit) = (self.plain.at(self.volume, &self.path), Limit::FolderDepth);
            return Err(StoreError::Limited { at, limit, allowed: DEPTH_MAX as u64 });
        }
        let places: Vec<Place> = (level.was.beside(&level.is))
            .filter(|(was, is)| self.scope.all || was != is)
            .filter_map(|(was, is)| {
                let name = is.or(was).map_or("", |entry| entry.name.as_str());
                (!is_acted_on(name)).then_some((was, is, name))
            })
            .map(|(was, is, name)| {
                let earlier: Vec<Entry> = level.earlier.iter().filter_map(|tree| tree.get(name)).cloned().collect();
                let always = was == is && earlier.len() == level.earlier.len();
                Place { was: was.cloned(), is: is.cloned(), earlier, always }
            })
            .collect();
        let mut blocked = BTreeSet::new();
        for place in places.iter().rev() {
            if self.is_late() {
                return Ok(());
            }
            let goes = place.was.is_some()
                && (place.is.is_none() || is_folder(place.was.as_ref()) != is_folder(place.is.as_ref()));
            if goes && !self.remove(id, place)? {
                blocked.insert(place.name());
            }
        }
        let coming = || places.iter().filter(|place| place.is.is_some());
        for place in coming() {
            if self.is_late() {
                return Ok(());
            }
            if blocked.contains(place.name()) || !self.make(id, place)? {
                self.plain.stamps.set(id, place.name(), None)?;
                blocked.insert(place.name());
            }
        }
        for place in coming().filter(|place| !blocked.contains(place.name())) {
            let Some(Entry { node: Node::Folder { tree, .. }, modified_ns, .. }) = &place.is else { continue };
            let inside = self.level(place, tree)?;
            let name = place.name().to_owned();
            let below = self.plain.stamps.make_below(id, &name)?;
            self.path.push(name.clone());
            self.folder(below, &inside)?;
            self.path.pop();
            if self.behind {
                return Ok(());
            }
            self.set_folder_time(&name, *modified_ns)?;
        }
        Ok(())
    }

    /// What the snapshots have in a folder that stays or comes.
    fn level(&self, place: &Place, is: &Digest) -> Result<Level, StoreError> {
        let totals = read_object(&*self.objects, is).map_err(|error| self.damaged(&error))?.totals();
        if place.is.as_ref().is_none_or(|entry| entry.node != Node::Folder { tree: *is, totals }) {
            let reason = "does not amount to what its folder says";
            return Err(self.damaged(&ObjectError::damaged(Kind::Tree, *is, reason)));
        }
        let was = match place.was.as_ref().map(|entry| &entry.node) {
            Some(Node::Folder { tree, .. }) => *tree,
            _ => empty_tree(),
        };
        let both = read_both(&*self.objects, &was, is, self.scope.all);
        // What was there and can't be read is as if it had not been there.
        let both = both.or_else(|_| read_both(&*self.objects, &empty_tree(), is, self.scope.all));
        let (was, is) = both.map_err(|error| self.damaged(&error))?;
        let earlier = place.earlier.iter().filter_map(|entry| match &entry.node {
            Node::Folder { tree, .. } => read_tree(&*self.objects, tree).ok(),
            _ => None,
        });
        Ok(Level { was, is, earlier: earlier.collect() })
    }

    /// Removes what goes; whether its name is free now.
    fn remove(&mut self, id: FolderId, place: &Place) -> Result<bool, StoreError> {
        let name = place.name().to_owned();
        let Some(folder) = self.here()? else { return Ok(true) };
        if !is_folder(place.was.as_ref()) {
            self.plain.stamps.set(id, &name, None)?;
            return self.remove_file(&folder, id, place);
        }
        drop(folder);
        let Some(Entry { node: Node::Folder { tree, .. }, .. }) = &place.was else { return Ok(true) };
        let inside = read_tree(&*self.objects, tree).map_err(|error| self.damaged(&error))?;
        let below = self.plain.stamps.make_below(id, &name)?;
        self.path.push(name.clone());
        let emptied = self.folder(below, &Level { was: inside, is: Tree::default(), earlier: Vec::new() });
        self.path.pop();
        emptied?;
        if self.behind {
            return Ok(false);
        }
        self.plain.stamps.forget_folder(below)?;
        let Some(folder) = self.here()? else { return Ok(true) };
        match look(&folder, &name).map_err(self.failed(&name, "look at"))? {
            None => return Ok(true),
            Some(Stamp { form: Form::Folder, .. }) => {}
            // It may be what comes in its place already; who makes that sees.
            Some(_) if place.is.is_some() => return Ok(true),
            Some(_) => {
                self.leave(&name);
                return Ok(false);
            }
        }
        match self.plain.hands.remove_folder(&folder, &name) {
            Err(error) if error.kind() == io::ErrorKind::DirectoryNotEmpty => {
                self.leave(&name);
                Ok(false)
            }
            removed => removed.map_err(self.failed(&name, "remove the folder")).map(|()| true),
        }
    }

    fn remove_file(&mut self, folder: &Dir, id: FolderId, place: &Place) -> Result<bool, StoreError> {
        let name = place.name();
        match self.standing(folder, id, place)? {
            Standing::Nothing | Standing::Done(_) | Standing::OtherCase => Ok(true),
            Standing::Foreign | Standing::Ours(Stamp { form: Form::Folder, .. }) => {
                self.leave(name);
                Ok(false)
            }
            Standing::Ours(stamp) => {
                let aside = self.staged.name_of(&[stamp]);
                let failed = self.failed(name, "remove the file");
                let gone = self.plain.hands.move_aside((folder, name), &stamp, (self.staged.folder(), &aside));
                match gone.map_err(&failed)? {
                    Gone::Moved => {
                        self.staged.drop_own(&aside, &Ours::like(&[stamp]))?;
                        Ok(true)
                    }
                    Gone::Changed => {
                        self.leave(name);
                        Ok(false)
                    }
                }
            }
        }
    }

    fn standing(&self, folder: &Dir, id: FolderId, place: &Place) -> Result<Standing, StoreError> {
        let name = place.name();
        let Some(stamp) = look(folder, name).map_err(self.failed(name, "look at"))? else {
            return Ok(Standing::Nothing);
        };
        let both = [place.was.as_ref(), place.is.as_ref()];
        if stamp.form == Form::Folder {
            return Ok(match both.map(is_folder) {
                [_, true] => Standing::Done(stamp),
                [true, false] => Standing::Ours(stamp),
                [false, false] => Standing::Foreign,
            });
        }
        let mark = self.plain.stamps.one(id, name)?;
        let shown = [&place.is, &place.was].into_iter().flatten().map(Version::Shown);
        let versions: Vec<Version<'_>> = shown.chain(place.earlier.iter().map(Version::Earlier)).collect();
        let judged = Look { stamp, mark, restarted: self.scope.restarted }.judge(
            &versions,
            |node| match holds(folder, name, &stamp, node) {
                // What nobody can read is nobody's to take away.
                Err(error) if error.kind() == io::ErrorKind::PermissionDenied => Ok(false),
                holds => holds.map_err(self.failed(name, "read the file")),
            },
            |entry| self.is_torn(folder, name, entry),
        )?;
        let wanted = place.is.as_ref().and_then(|is| content(&is.node));
        match judged {
            Judged::Known(held) if Some(held) == wanted => return Ok(Standing::Done(stamp)),
            Judged::Holds(0) if place.is.is_some() => return Ok(Standing::Done(stamp)),
            Judged::Known(_) | Judged::Holds(_) | Judged::Torn(_) => return Ok(Standing::Ours(stamp)),
            Judged::Theirs => {}
        }
        Ok(match is_other_case(folder, name).map_err(self.failed(name, "list the folder of"))? {
            true => Standing::OtherCase,
            false => Standing::Foreign,
        })
    }

    /// Whether a file could be what the power left of an entry.
    fn is_torn(&self, folder: &Dir, name: &str, entry: &Entry) -> Result<bool, StoreError> {
        let Node::File { size, content } = &entry.node else { return Ok(false) };
        is_torn(folder, name, &*self.objects, (*size, content)).map_err(|error| match error {
            WriteError::Io(error) => self.failed(name, "read the file")(error),
            WriteError::Object(error) => self.damaged(&error),
        })
    }

    /// Makes what comes; whether it stands there now, or can't stand there at all.
    fn make(&mut self, id: FolderId, place: &Place) -> Result<bool, StoreError> {
        let (Some(is), name) = (&place.is, place.name()) else { return Ok(true) };
        let Some(folder) = self.here()? else {
            self.leave(name);
            return Ok(false);
        };
        let standing = self.standing(&folder, id, place)?;
        if let (true, Standing::Nothing) = (place.always, standing) {
            return Ok(false);
        }
        let Some(held) = content(&is.node) else { return self.make_folder(&folder, name, standing) };
        let note = |mark| self.plain.stamps.set(id, name, Some(mark)).map(|()| true);
        match (&is.node, standing) {
            (_, Standing::Foreign) => {
                self.leave(name);
                Ok(false)
            }
            (_, Standing::OtherCase) => note(Mark::Withheld(held)),
            (Node::Link { target }, standing) if !stays_inside(self.path.len(), target) => {
                if !matches!(standing, Standing::Nothing) && !self.remove_file(&folder, id, place)? {
                    return Ok(false);
                }
                self.plain.stamps.set(id, name, Some(Mark::Withheld(held)))?;
                Ok(true)
            }
            (_, Standing::Done(stamp)) if stamp.modified_ns == is.modified_ns => note(Mark::Seen(stamp, held)),
            // By its time it is known again as ours.
            (_, Standing::Done(_)) => {
                let set = self.plain.hands.set_modified(&folder, name, is.modified_ns);
                set.map_err(self.failed(name, "set the time of"))?;
                let stamp = look(&folder, name).map_err(self.failed(name, "look at"))?;
                self.plain.stamps.set(id, name, stamp.map(|stamp| Mark::Seen(stamp, held)))?;
                Ok(true)
            }
            (_, Standing::Ours(stamp)) if stamp.form == Form::Folder => {
                self.leave(name);
                Ok(false)
            }
            (_, standing) => {
                let replaces = match standing {
                    Standing::Ours(stamp) => Some(stamp),
                    _ => None,
                };
                match self.place(&folder, is, replaces)? {
                    Placed::There(stamp) => note(Mark::Seen(stamp, held)),
                    Placed::Unnameable => note(Mark::Withheld(held)),
                    Placed::Taken => {
                        self.leave(name);
                        Ok(false)
                    }
                }
            }
        }
    }

    fn make_folder(&mut self, folder: &Dir, name: &str, standing: Standing) -> Result<bool, StoreError> {
        match standing {
            Standing::Done(_) => Ok(true),
            Standing::Nothing => match self.plain.hands.create_folder(folder, name) {
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                    self.leave(name);
                    Ok(false)
                }
                made => made.map_err(self.failed(name, "create the folder")).map(|()| true),
            },
            _ => {
                self.leave(name);
                Ok(false)
            }
        }
    }

    /// Gives a folder the time that the snapshot has for it: last, because every change in it sets it anew.
    fn set_folder_time(&mut self, name: &str, modified_ns: u64) -> Result<(), StoreError> {
        let Some(folder) = self.here()? else { return Ok(()) };
        let there = look(&folder, name).map_err(self.failed(name, "look at"))?;
        if there.is_some_and(|there| there.form == Form::Folder && there.modified_ns != modified_ns) {
            let set = self.plain.hands.set_modified(&folder, name, modified_ns);
            set.map_err(self.failed(name, "set the time of"))?;
        }
        Ok(())
    }
}

/// Whether a file system that does not tell upper from lower case answered with another name's file.
pub(super) fn is_other_case(folder: &Dir, name: &str) -> io::Result<bool> {
    Ok(!list(folder)?.names.iter().any(|listed| listed == name))
}

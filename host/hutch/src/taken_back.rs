//! What runs changed in real folders, taken back and made again. Each run that changed one has kept what it replaced ([`crate::mount`]); to
//! take it back is to change the folders once more, with all that holds for a run: an intent first, everything or nothing, and what is
//! replaced by it is kept in turn. The folders are granted again by whoever asks for it, and something that is not as the run left it is
//! nobody's to overwrite.

use crate::answer::VolumeChange;
use crate::failure::Failure;
use crate::grants::{Granted, Settled, Wished, failure};
use crate::mount::{Kept, KeptChange, KeptFolder, KeptForm, KeptName, KeptThing, Known, Mount, MountObjects, mode_of};
use crate::session::Session;
use cap_std::fs::Dir;
use hutch_model::digest::Digest;
use hutch_model::invocation::Access;
use hutch_model::ledger::{Entry, EntryKind, Record};
use hutch_model::limits::Limit;
use hutch_model::snapshot::{self, Layered, MemoryObjects, Name, Node, Objects, Tree, diff, find, read_tree};
use hutch_store::EntryKey;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// Entries behind an intent that are looked through for what came of it: it is nearly always the next one.
const CLOSING_ENTRIES: [u64; 2] = [4, 1024];

/// A run that changed real folders, or took that back or made it again, and of which it is kept how they were.
pub(crate) struct FolderMove {
    name: KeptName,
    /// Its entry.
    pub(crate) sequence: u64,
    /// The entry of the run whose changes these are.
    pub(crate) change: u64,
    is_back: bool,
}

impl FolderMove {
    /// Whether it was a run, and no move.
    pub(crate) fn is_run(&self) -> bool {
        self.name.takes.is_none()
    }
}

/// The moves that there may be in real folders, the next one first.
#[derive(Default)]
pub(crate) struct FolderMoves {
    /// Runs that can be taken back.
    pub(crate) back: Vec<FolderMove>,
    /// What took one back, and can be taken back in turn.
    pub(crate) forward: Vec<FolderMove>,
}

impl Session {
    /// Which changes in real folders can be taken back, and made again: the runs of which it is kept what they replaced.
    pub(crate) fn folder_moves(&self) -> Result<FolderMoves, Failure> {
        let mut moves = FolderMoves::default();
        let Some(dir) = self.undo_folder()? else { return Ok(moves) };
        let mut taken = BTreeSet::new();
        // An ordinary change, after which nothing older is made again.
        let mut changed = false;
        for name in KeptName::all(&dir).map_err(|error| self.unreadable(&error))? {
            if taken.contains(&name.intent) {
                continue;
            }
            // Not the end of a run, or one that can't be read: nothing follows from it.
            let Some(one) = self.closing(name)? else { continue };
            taken.extend(name.takes);
            match one.is_back {
                true if changed => {}
                true => moves.forward.push(one),
                false => {
                    changed |= one.is_run();
                    moves.back.push(one);
                }
            }
        }
        Ok(moves)
    }

    /// The entry in which a run ended of which something is kept.
    fn closing(&self, name: KeptName) -> Result<Option<FolderMove>, Failure> {
        for most in CLOSING_ENTRIES {
            for sealed in self.store.entries(name.intent.saturating_add(1), most)? {
                let Ok(Entry { sequence, record, .. }) = sealed.open() else { continue };
                let Record { kind, follows, closes, kept, .. } = record;
                if closes != Some(name.intent) {
                    continue;
                }
                let change = match (kind, follows) {
                    (EntryKind::Undo | EntryKind::Restore, Some(follows)) => {
                        self.store.find(&EntryKey::Hash(follows))?.pop().map(|run| run.sequence)
                    }
                    _ => Some(sequence),
                };
                let is_back = kind == EntryKind::Undo;
                return Ok(change.filter(|_| kept).map(|change| FolderMove { name, sequence, change, is_back }));
            }
        }
        Ok(None)
    }

    /// Drops what was kept of runs whose states are not kept any more.
    pub(crate) fn drop_kept_before(&self, sequence: u64) {
        if let Ok(Some(dir)) = self.undo_folder() {
            let names = KeptName::all(&dir).unwrap_or_default();
            names.into_iter().filter(|name| name.intent < sequence).for_each(|name| name.drop(&dir));
        }
    }

    fn undo_folder(&self) -> Result<Option<Dir>, Failure> {
        Ok(self.dir.as_ref().map(|dir| dir.undo_folder(false)).transpose()?.flatten())
    }

    fn unreadable(&self, error: &dyn std::fmt::Display) -> Failure {
        let path = self.dir.as_ref().map(|dir| dir.path().join("hutch.undo").display().to_string());
        Failure::KeptUnreadable { path: path.unwrap_or_default(), reason: error.to_string() }
    }

    /// Puts real folders back as they were before `change`, and commits `record` with that: both, or neither.
    ///
    /// # Errors
    /// A folder is not granted, or something in it is not as the run left it; what was kept can't be read; as for
    /// [`commit_with_folders`](Session::commit_with_folders).
    pub(crate) fn commit_taking_back(
        &self,
        record: Record,
        change: &FolderMove,
        mounts: &BTreeMap<String, Mount>,
    ) -> Result<Settled, Failure> {
        let Some(dir) = self.undo_folder()? else { return Err(self.unreadable(&"there is none")) };
        let intent = self.store.entry(change.name.intent)?.ok_or_else(|| self.unreadable(&"its run is not known"))?;
        let kept = Kept::open(&dir, change.name, &intent.hash, &self.store.secret_key()?);
        let kept = Arc::new(kept.map_err(|error| self.unreadable(&error))?);
        let granted =
            kept.folders.iter().map(|(name, folder)| Some((name, folder, granted_again(name, folder, mounts)?)));
        let Some(granted) = granted.collect::<Option<Vec<_>>>() else {
            let mounts = kept.folders.iter().map(|(name, folder)| folder.mount.argument(name)).collect();
            return Err(Failure::FolderNotGranted { sequence: change.change, mounts });
        };
        self.expect_placed(mounts.values())?;
        let (mut made, mut layers, mut trees) =
            (MemoryObjects::default(), vec![kept.clone() as Arc<dyn Objects>], Vec::new());
        for (name, folder, mount) in granted {
            let seen = mount.objects(name, Limit::Memory.info().default);
            layers.push(seen.clone());
            let put = Putting { mount, seen: &seen, sequence: change.change };
            let after = put.back(folder, &mut made)?;
            trees.push((name, mount, seen, after, known(mount, folder)?));
        }
        layers.push(Arc::new(made));
        let (all, mut changes) = (Layered(layers), Vec::new());
        for (_, mount, seen, after, _) in &trees {
            let before = seen.root();
            // What was held against it is so still.
            let differs = seen.check(&|| true).and_then(|()| diff(&all, &before, after));
            let differs = differs.map_err(|error| failure(mount, error.into()))?;
            changes.push(VolumeChange { before, after: *after, changes: differs });
        }
        let granted = trees.iter().zip(&changes);
        let granted =
            granted.map(|((name, mount, seen, _, known), change)| Granted { name, mount, change, seen, known });
        let granted: Vec<Granted<'_>> = granted.collect();
        if !self.keeps() {
            let Wished { folders, changes, withheld } = Wished::of(&granted, &all)?;
            let sealed = self.store.commit(&Record { folders, ..record }, &MemoryObjects::default(), &[])?;
            return Ok(Settled { sealed, changes, withheld });
        }
        let parts = (&all as &dyn Objects, &[] as &[&[u8]]);
        let settled =
            self.commit_with_folders(&record, &MemoryObjects::default(), parts, (&granted, Some(change.name.intent)));
        let settled = settled.map_err(|(failure, unrecorded)| self.noted(unrecorded, failure))?;
        change.name.drop(&dir);
        Ok(settled)
    }
}

/// The folder that is to be put back as it was, if it is granted for that.
fn granted_again<'m>(name: &str, folder: &KeptFolder, mounts: &'m BTreeMap<String, Mount>) -> Option<&'m Mount> {
    let is_it = |mount: &&Mount| mount.access() == Access::ReadWrite && mount.real_path() == folder.mount.path;
    mounts.get(name).filter(is_it)
}

/// Who might use what was there before; less, where a person took something away from what the run had left. A folder that the run moved comes back
/// itself, with all that it is by now, if nobody gave more there since; one that was removed comes back as a new one, with its nine bits: neither the
/// bit that gives its group on nor a list can be set behind the rings.
fn known(mount: &Mount, folder: &KeptFolder) -> Result<BTreeMap<String, Known>, Failure> {
    let mode_of = |path: &str| mode_of(mount, path).map_err(|error| failure(mount, error));
    let (mut known, mut moved) = (BTreeMap::new(), Vec::new());
    for KeptChange { path, was, is } in &folder.changes {
        let there = mode_of(path)?.zip(is.as_ref().and_then(|is| is.mode));
        if let Some(from) = is.as_ref().and_then(|is| is.from.as_deref())
            && there.is_some_and(|(there, left)| there & !left & 0o777 == 0)
        {
            moved.push((from, path));
        }
        let changed = there.filter(|(there, left)| there & 0o777 != left & 0o777);
        if let Some(mode) = was.as_ref().and_then(|was| was.mode) {
            let mode = changed.map_or(mode, |(there, _)| mode & there);
            known.insert(path.clone(), Known { mode, from: None });
        }
    }
    for (from, path) in moved {
        if let Some(back) = known.get_mut(from) {
            back.from = Some(path.clone());
        }
    }
    Ok(known)
}

/// One folder that is to be put back as it was.
struct Putting<'a> {
    mount: &'a Mount,
    seen: &'a Arc<MountObjects>,
    /// The run whose changes these are.
    sequence: u64,
}

/// What is to stand at a path; nothing, if nothing is.
type Puts<'k> = BTreeMap<&'k str, Option<snapshot::Entry>>;

impl Putting<'_> {
    /// The folder as it will be; what of that is not in it comes to `made`.
    fn back(&self, folder: &KeptFolder, made: &mut MemoryObjects) -> Result<Digest, Failure> {
        let mut puts = Puts::new();
        for change in &folder.changes {
            if let Some(put) = self.put(change)? {
                puts.insert(&change.path, put);
            }
        }
        if puts.is_empty() {
            return Ok(self.seen.root());
        }
        let tree = self.tree(Some(self.seen.root()), "", &puts, made)?;
        match made.insert_tree(&tree) {
            Node::Folder { tree, .. } => Ok(tree),
            _ => Ok(self.seen.root()),
        }
    }

    /// What has to be put at one path; `None` if it is there.
    fn put(&self, KeptChange { path, was, is }: &KeptChange) -> Result<Option<Option<snapshot::Entry>>, Failure> {
        let there = find(&**self.seen, &self.seen.root(), path.split('/'))
            .map_err(|error| failure(self.mount, error.into()))?;
        let form = |entry: &snapshot::Entry| KeptForm::of(&**self.seen, &entry.node, &mut |_, _| Ok(()));
        // What is long in another way need not be read for that.
        let may_be = |thing: &Option<KeptThing>| match (thing.as_ref().map(|thing| &thing.form), &there) {
            (Some(KeptForm::File { size, .. }), Some(snapshot::Entry { node: Node::File { size: here, .. }, .. })) => {
                size == here
            }
            (thing, there) => thing.is_some() == there.is_some(),
        };
        let there_form = match &there {
            Some(there) if may_be(was) || may_be(is) => Some(form(there).map_err(|error| failure(self.mount, error))?),
            Some(_) => return Err(self.changed(path)),
            None => None,
        };
        let is_form = |thing: &Option<KeptThing>| thing.as_ref().map(|thing| &thing.form) == there_form.as_ref();
        let same = was.as_ref().zip(is.as_ref()).is_some_and(|(was, is)| was.form == is.form);
        match (is_form(is), is_form(was)) {
            // Put back by somebody meanwhile.
            (false, true) => Ok(None),
            (false, false) => Err(self.changed(path)),
            (true, _) => {
                let name = path.rsplit('/').next().unwrap_or_default();
                let name = Name::new(name).map_err(|_| self.changed(path))?;
                let entry = was.as_ref().map(|KeptThing { modified_ns, form, .. }| snapshot::Entry {
                    name,
                    modified_ns: *modified_ns,
                    node: match (form, &there) {
                        // Its time is another one, and nothing else.
                        (_, Some(there)) if same => there.node.clone(),
                        (KeptForm::File { size, content }, _) => Node::File { size: *size, content: *content },
                        (KeptForm::Link { target }, _) => Node::Link { target: target.as_str().into() },
                        (KeptForm::Folder, _) => MemoryObjects::default().insert_tree(&Tree::default()),
                    },
                });
                Ok(Some(entry))
            }
        }
    }

    /// A folder with all of `puts` that lie below `above`, which ends with `/` unless it is empty.
    fn tree(
        &self,
        tree: Option<Digest>,
        above: &str,
        puts: &Puts<'_>,
        made: &mut MemoryObjects,
    ) -> Result<Tree, Failure> {
        let entries = tree
            .map(|tree| read_tree(&**self.seen, &tree))
            .transpose()
            .map_err(|error| failure(self.mount, error.into()))?;
        let entries = entries.map(Tree::into_entries).unwrap_or_default();
        let mut entries: BTreeMap<String, snapshot::Entry> =
            entries.into_iter().map(|entry| (entry.name.as_str().to_owned(), entry)).collect();
        let below = puts.range(above..).map(|(path, _)| *path).take_while(|path| path.starts_with(above));
        let names = below.filter_map(|path| path.get(above.len()..)?.split('/').next());
        for name in names.collect::<BTreeSet<_>>() {
            let path = format!("{above}{name}");
            let there = entries.remove(name);
            let put = puts.get(path.as_str());
            let within = format!("{path}/");
            let has_below = puts.range(within.as_str()..).next().is_some_and(|(path, _)| path.starts_with(&within));
            let folder = match there.as_ref().map(|there| &there.node) {
                Some(Node::Folder { tree, .. }) => Some(*tree),
                _ => None,
            };
            let inside = match has_below || (put.is_some() && folder.is_some()) {
                true => Some(self.tree(folder, &within, puts, made)?),
                false => None,
            };
            let stays_folder = match put {
                None => true,
                Some(put) => matches!(put, Some(snapshot::Entry { node: Node::Folder { .. }, .. })),
            };
            let entry = match (put.cloned().unwrap_or(there), inside) {
                (Some(entry), Some(inside)) if stays_folder => {
                    Some(snapshot::Entry { node: made.insert_tree(&inside), ..entry })
                }
                // Somebody put something into what the run had made.
                (_, Some(inside)) if !inside.entries().is_empty() => return Err(self.changed(&path)),
                (entry, _) => entry,
            };
            if let Some(entry) = entry {
                entries.insert(name.to_owned(), entry);
            }
        }
        Tree::new(entries.into_values().collect()).ok_or_else(|| self.changed(above))
    }

    fn changed(&self, path: &str) -> Failure {
        let reason = format!("{path} is not as entry {} left it, so nothing is taken back", self.sequence);
        Failure::Mount {
            path: self.mount.path().display().to_string(),
            reason,
            changed: true,
            denied: false,
            left: false,
        }
    }
}

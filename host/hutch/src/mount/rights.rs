//! Who may do what with what a run leaves in a granted folder: those who might with what it was made of, and nobody else. A guest knows no
//! permissions and so says none. What was moved is known by the handle of its content, which nothing else has; what is not known may be anything
//! that is gone.

use super::carry::{Wanted, is_folder};
use super::objects::{MountObjects, open_below};
use super::{Mount, carry};
use cap_std::fs::MetadataExt;
use hutch_folder::Hands;
use hutch_model::snapshot::{Entry, Node};
use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::io;
use std::os::unix::fs::MetadataExt as _;

/// Reading and writing, without starting.
const NO_START: u32 = 0o666;
/// What a folder's owner needs to have something put into it.
const OWN_FOLDER: u32 = 0o700;
/// New things in such a folder belong to its group.
const GIVES_GROUP: u32 = 0o2000;

/// Of one file or folder.
#[derive(Clone, Copy)]
struct Rights {
    mode: u32,
    user: u32,
    group: u32,
}

/// What is known of where what comes was before.
pub(super) struct Origins<'w> {
    /// What is not at its place any more, by path.
    gone: BTreeSet<&'w str>,
    /// New folders, and which ones they were.
    folders: BTreeMap<&'w str, String>,
    /// At most what may be done with files, and with new folders, of which nothing is known.
    unknown: [u32; 2],
}

/// The folder that a path lies in.
fn above(path: &str) -> &str {
    path.rsplit_once('/').map_or("", |(above, _)| above)
}

fn is_other(wanted: &Wanted) -> bool {
    wanted.was.as_ref().map(|was| &was.node) != wanted.is.as_ref().map(|is| &is.node)
}

/// Whether a folder stands where none stood.
fn is_new_folder(Wanted { was, is, .. }: &Wanted) -> bool {
    is.as_ref().is_some_and(is_folder) && !was.as_ref().is_some_and(is_folder)
}

impl<'w> Origins<'w> {
    pub(super) fn of(mount: &Mount, wanted: &'w [Wanted], seen: &MountObjects) -> io::Result<Origins<'w>> {
        let stays_folder =
            |Wanted { was, is, .. }: &Wanted| was.as_ref().is_some_and(is_folder) && is.as_ref().is_some_and(is_folder);
        let gone = wanted.iter().filter(|one| one.was.is_some() && is_other(one) && !stays_folder(one));
        let gone: BTreeSet<&str> = gone.map(|one| one.path.as_str()).collect();
        let new: BTreeSet<&str> = wanted.iter().filter(|one| is_new_folder(one)).map(|one| one.path.as_str()).collect();
        let (mut used, mut folders, mut is_unknown) = (BTreeSet::new(), BTreeMap::new(), false);
        for one in wanted.iter().filter(|one| is_other(one)) {
            let Some(is) = &one.is else { continue };
            let (from, path) = (origin(seen, is), one.path.as_str());
            match (&is.node, from) {
                (Node::Folder { .. }, Some(from)) if new.contains(path) => drop(folders.insert(path, from)),
                (Node::File { .. }, Some(from)) => {
                    // What lay in one folder and lies in another: that one became this.
                    if new.contains(above(path)) && gone.contains(above(&from)) {
                        folders.entry(above(path)).or_insert_with(|| above(&from).to_owned());
                    }
                    used.insert(from);
                }
                (Node::File { size, .. }, None) => is_unknown |= *size > 0,
                _ => {}
            }
        }
        // Those that hold folders alone; inner ones come later in the order of paths.
        for path in new.iter().rev() {
            let Some(from) = folders.get(path).cloned() else { continue };
            if new.contains(above(path)) && gone.contains(above(&from)) {
                folders.entry(above(path)).or_insert_with(|| above(&from).to_owned());
            }
        }
        used.extend(folders.values().cloned());
        is_unknown |= new.iter().any(|path| !folders.contains_key(path));
        let mut unknown = [0o777; 2];
        for one in wanted.iter().filter(|one| is_unknown && one.is.is_none() && !used.contains(&one.path)) {
            if let Some((mode, is_file)) = carry::mode(mount, &one.path)? {
                let [files, folders] = &mut unknown;
                *(if is_file { files } else { folders }) &= mode;
            }
        }
        Ok(Origins { gone, folders, unknown })
    }

    /// The folder that became the one at `path`, and is gone.
    pub(super) fn moved(&self, path: &str) -> Option<&str> {
        self.folders.get(path).map(String::as_str).filter(|from| self.gone.contains(*from))
    }
}

/// Where the content of something is that the run was shown, if nobody changed it.
fn origin(seen: &MountObjects, is: &Entry) -> Option<String> {
    match &is.node {
        Node::File { content, .. } => seen.place_of(content),
        Node::Folder { tree, .. } => seen.place_of(tree),
        Node::Link { .. } => None,
    }
}

/// Those of the file or folder at a path, if there is one: a link has none, whatever it looks like.
fn rights(mount: &Mount, path: &str) -> io::Result<Option<Rights>> {
    let name = path.rsplit('/').next().unwrap_or(path);
    let Some(folder) = open_below(mount.dir(), above(path))? else { return Ok(None) };
    let metadata = match folder.symlink_metadata(name) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        metadata => metadata?,
    };
    if !metadata.is_file() && !metadata.is_dir() {
        return Ok(None);
    }
    let (mut mode, user, group) = (metadata.mode() & 0o777, metadata.uid(), metadata.gid());
    let open = match metadata.is_dir() {
        true => open_below(&folder, name).ok().flatten().and_then(|inner| Some(inner.open(".").ok()?.into_std())),
        false => hutch_folder::open_file(&folder, name).ok(),
    };
    // Where there is a list, what looks like the group's is all that the list may give to anybody.
    if let Some(listed) = open.and_then(|open| hutch_folder::listed_rights(&open, false)) {
        mode &= listed | !0o070;
    }
    Ok(Some(Rights { mode, user, group }))
}

/// What a folder says of what is made in it: its group, if that is given on, and what a list leaves to others.
fn given(mount: &Mount, folder: &str) -> io::Result<(Option<u32>, u32)> {
    let Some(folder) = open_below(mount.dir(), folder)? else { return Ok((None, 0o777)) };
    let metadata = folder.dir_metadata()?;
    let group = (metadata.mode() & GIVES_GROUP != 0).then(|| metadata.gid());
    let listed = folder.open(".").ok().and_then(|open| hutch_folder::listed_rights(&open.into_std(), true));
    Ok((group, listed.unwrap_or(0o777)))
}

/// Gives what was staged, as the system makes it, to those who may have it. `known` is who might before, where that is known.
pub(super) fn settle(
    (hands, file): (&Hands, &File),
    (mount, seen, origins): (&Mount, &MountObjects, &Origins<'_>),
    (path, is, replaces): (&str, &Entry, bool),
    known: Option<u32>,
) -> io::Result<u32> {
    let made = file.metadata()?;
    let by_system = made.mode() & 0o777;
    let place = if replaces { rights(mount, path)? } else { None };
    let from = match &is.node {
        Node::Folder { .. } => origins.folders.get(path).cloned(),
        _ => origin(seen, is).filter(|from| from != path),
    };
    let source = from.as_deref().map(|from| rights(mount, from)).transpose()?.flatten();
    let is_moved = from.as_deref().is_some_and(|from| origins.gone.contains(from));
    let start = if mount.acted_on || is_folder(is) { 0 } else { !NO_START };
    let (given_group, listed) = if place.is_none() { given(mount, above(path))? } else { (None, 0o777) };
    let [files, folders] = origins.unknown;
    let mut mode = match (known, place, source) {
        (Some(known), ..) => known & 0o777,
        // What it was is not known where it was edited: it may be what went.
        (None, Some(place), source) => place.mode & source.map_or(files, |source| source.mode),
        (None, None, Some(source)) if is_moved => source.mode & !start,
        (None, None, Some(source)) => by_system & source.mode & listed,
        (None, None, None) => by_system & listed & if is_folder(is) { folders } else { files },
    };
    let before = place.or(source.filter(|_| is_moved));
    let group = before.map(|before| before.group).or(given_group).filter(|group| *group != made.gid());
    let user = before.map(|before| before.user).filter(|user| *user != made.uid());
    let mut has_group = group.is_none();
    if let Some(user) = user {
        let given = hands.set_owner(file, Some(user), group);
        has_group |= given.is_ok();
        // Only who may do everything could have locked the owner out.
        if let Err(error) =
            given.map_err(|_| io::Error::new(io::ErrorKind::PermissionDenied, "its owner can't be kept"))
            && made.uid() == 0
        {
            return Err(error);
        }
    }
    if !has_group && hands.set_owner(file, None, group).is_err() {
        mode &= !0o070;
    }
    if is_folder(is) {
        mode |= OWN_FOLDER;
    }
    if mode != by_system {
        hands.set_mode(file, mode)?;
    }
    Ok(mode)
}

//! What in a granted folder tools act on although its own path does not say so ([`is_acted_on`]): a link that they follow leads to it, a
//! `.git` file names it, or it is in a repository that has no folder of its own (`HEAD`). What the text of other files names is not followed.

use super::objects::open_below;
use super::{Mount, STAGING};
use cap_std::fs::{Dir, FileType};
use hutch_folder::{look, open_file};
use hutch_model::acted_on::is_acted_on;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::io::{self, Read};
use std::path::{Component, Path, PathBuf};

/// Among how many names links are looked for.
#[derive(Clone, Copy, Debug)]
pub(super) struct Looks {
    /// Those beside what is changed and in the folders above first, which are looked through whole: the guest had paid for that. Then, breadth
    /// first, wherever they are.
    pub(super) names: usize,
    /// In folders that tools act on themselves; where there are more, nothing is changed.
    pub(super) acted_on_names: usize,
}

const NAMES_MAX: usize = 1 << 16;
const ACTED_ON_NAMES_MAX: usize = 1 << 20;

pub(super) const LOOKS: Looks = Looks { names: NAMES_MAX, acted_on_names: ACTED_ON_NAMES_MAX };

/// Links are followed so far, as a system does.
const FOLLOWED_MAX: usize = 40;

/// The longest file that names another folder of a repository.
const POINTER_BYTES_MAX: u64 = 8192;

/// What packages of JavaScript are in. Links below lead to code that only runs when somebody starts it, often to sources beside it.
const NOT_FOLLOWED: &str = "node_modules";

/// Places by path below the granted folder, in lower case, as some file systems take it; "" is all of it. Each with what has tools act on
/// it.
#[derive(Clone, Default, Debug)]
pub(super) struct Acting(BTreeMap<String, String>);

impl Acting {
    /// What stands above a granted folder, or is its own name, and leads tools there. What can't be listed leads nowhere.
    pub(super) fn above(real_path: &Path) -> Acting {
        let mut found = Found { real_path, places: Acting::default() };
        for folder in real_path.ancestors() {
            let name = folder.file_name().and_then(|name| name.to_str()).unwrap_or_default();
            // Temporary folders have names that nobody configured.
            if is_acted_on(name) && !name.starts_with(".tmp") {
                found.add(real_path, &folder.display().to_string());
            }
            let Ok(dir) = crate::package::open_folder(folder) else { continue };
            if matches!(look(&dir, HEAD), Ok(Some(_))) {
                found.add(real_path, &folder.join(HEAD).display().to_string());
            }
            if folder != real_path {
                let names = names(&dir, LOOKS.names).unwrap_or_default();
                for (name, path) in pointers(&dir, &names, false) {
                    found.follow((folder, &path), &folder.join(name).display().to_string());
                }
            }
        }
        found.places
    }

    /// The same with what is in the folder, as far as it concerns what is changed at these paths.
    ///
    /// # Errors
    /// The system refuses, or there is too much to look at in what tools act on.
    pub(super) fn within<'p>(
        mount: &Mount,
        changed: impl Iterator<Item = &'p str>,
        looks: Looks,
    ) -> io::Result<Acting> {
        let mut above = BTreeSet::from([""]);
        for path in changed {
            let ends = path.match_indices('/').map(|(end, _)| end);
            above.extend(ends.filter_map(|end| path.get(..end)));
        }
        let mut due: VecDeque<Due> = above
            .iter()
            .map(|path| Due { path: (*path).to_owned(), is_above: true, is_acted_on: is_acted_on(path) })
            .collect();
        let mut found = Found { real_path: &mount.real_path, places: mount.above.clone() };
        due.extend(found.places.0.keys().map(|path| Due::acted_on(path.clone())));
        // Whether it was looked through as one that tools act on.
        let mut seen = BTreeMap::<String, bool>::new();
        let (mut looked_at, mut acted_on) = (0, 0);
        while let Some(Due { path, is_above, is_acted_on: acts }) = due.pop_front() {
            if seen.get(&path).is_some_and(|before| *before || !acts)
                || !(is_above || acts || looked_at < looks.names)
                || path.rsplit('/').next() == Some(NOT_FOLLOWED) && !is_above
            {
                continue;
            }
            seen.insert(path.clone(), acts);
            let Some(dir) = opened(mount, &path)? else { continue };
            let most = if is_above || acts { usize::MAX } else { looks.names - looked_at };
            let names = names(&dir, most)?;
            looked_at += names.len();
            let below = |name: &str| if path.is_empty() { name.to_owned() } else { format!("{path}/{name}") };
            let is_repository = names.iter().any(|(name, form)| name == HEAD && !form.is_dir());
            if is_repository {
                found.add(&mount.real_path.join(&path), &below(HEAD));
            }
            let acts = acts || is_repository;
            acted_on += if acts { names.len() } else { 0 };
            if acted_on > looks.acted_on_names {
                let reason = format!("tools act on more than is looked at, {} names", looks.acted_on_names);
                return Err(io::Error::new(io::ErrorKind::PermissionDenied, reason));
            }
            for (name, to) in pointers(&dir, &names, acts) {
                for led in found.follow((&mount.real_path.join(&path), &to), &below(name)) {
                    due.push_front(Due::acted_on(led));
                }
            }
            for (name, _) in names.iter().filter(|(_, form)| form.is_dir()) {
                match acts || is_acted_on(name) {
                    true => due.push_front(Due::acted_on(below(name))),
                    false => due.push_back(Due { path: below(name), is_above: false, is_acted_on: false }),
                }
            }
        }
        Ok(found.places)
    }

    /// What has tools act on this path; on what is below it, too, unless it is a folder before and after.
    pub(super) fn by(&self, path: &str, stays_folder: bool) -> Option<&str> {
        let path = path.to_lowercase();
        let above = path.match_indices('/').filter_map(|(end, _)| path.get(..end));
        let by = [""].into_iter().chain(above).chain([path.as_str()]).find_map(|place| self.0.get(place));
        let below = format!("{path}/");
        let inside =
            || self.0.range(below.clone()..).next().filter(|(place, _)| !stays_folder && place.starts_with(&below));
        by.or_else(|| inside().map(|(_, by)| by)).map(String::as_str)
    }

    /// What has tools act on all of it.
    pub(super) fn by_all(&self) -> Option<&str> {
        self.0.get("").map(String::as_str)
    }
}

/// What makes a folder of any name a repository.
const HEAD: &str = "HEAD";

/// A folder that is to be looked through.
struct Due {
    path: String,
    /// Whether something is changed below.
    is_above: bool,
    is_acted_on: bool,
}

impl Due {
    fn acted_on(path: String) -> Due {
        Due { path, is_above: false, is_acted_on: true }
    }
}

/// What was found of a granted folder.
struct Found<'m> {
    real_path: &'m Path,
    places: Acting,
}

impl Found<'_> {
    /// Notes all places that following `path` from a folder comes through, and where it ends; those of them that are in the granted folder.
    fn follow(&mut self, (folder, path): (&Path, &Path), by: &str) -> Vec<String> {
        let passed = followed(folder, path);
        let (end, between) = passed.split_last().map_or((None, &[][..]), |(end, between)| (Some(end), between));
        if let Some(end) = end.filter(|end| self.real_path.starts_with(end)) {
            self.add(end, by);
        }
        between.iter().chain(end).filter_map(|place| self.add(place, by)).collect()
    }

    /// Notes one; the path below, if it is in the granted folder. What the folder is in is all of it.
    fn add(&mut self, place: &Path, by: &str) -> Option<String> {
        let below = match self.real_path.starts_with(place) {
            true => String::new(),
            false => {
                let names = place.strip_prefix(self.real_path).ok()?.components();
                names.map(|name| name.as_os_str().to_str()).collect::<Option<Vec<_>>>()?.join("/")
            }
        };
        self.places.0.entry(below.to_lowercase()).or_insert_with(|| by.to_owned());
        Some(below)
    }
}

/// A folder below a granted one; `None` if there is none, or nobody may enter it.
fn opened(mount: &Mount, path: &str) -> io::Result<Option<Dir>> {
    match open_below(mount.dir(), path) {
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => Ok(None),
        opened => opened,
    }
}

/// So many names of a folder, and what they are. One that is no text is nothing that a guest could change.
fn names(folder: &Dir, most: usize) -> io::Result<Vec<(String, FileType)>> {
    let mut names = Vec::new();
    let entries = match folder.entries() {
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => return Ok(names),
        entries => entries?,
    };
    for entry in entries.take(most) {
        let entry = entry?;
        match (entry.file_name().into_string(), entry.file_type()) {
            (Ok(name), Ok(form)) if !name.starts_with(STAGING) => names.push((name, form)),
            _ => {}
        }
    }
    Ok(names)
}

/// What of these names tools follow, with where it points: links that they act on, or all in a folder that they act on, and the files by
/// which a repository says where the rest of it is.
fn pointers<'n>(folder: &Dir, names: &'n [(String, FileType)], acts: bool) -> Vec<(&'n str, PathBuf)> {
    let pointer = |(name, form): &'n (String, FileType)| {
        let to = match () {
            () if form.is_symlink() && (acts || is_acted_on(name)) => PathBuf::from(name),
            () if form.is_file() && name.eq_ignore_ascii_case(".git") => named_in(folder, name, "gitdir:")?,
            () if form.is_file() && acts && name == "commondir" => named_in(folder, name, "")?,
            () => return None,
        };
        Some((name.as_str(), to))
    };
    names.iter().filter_map(pointer).collect()
}

/// The path that a file holds behind a word.
fn named_in(folder: &Dir, name: &str, word: &str) -> Option<PathBuf> {
    let mut text = String::new();
    open_file(folder, name).ok()?.take(POINTER_BYTES_MAX).read_to_string(&mut text).ok()?;
    Some(PathBuf::from(text.strip_prefix(word)?.trim()))
}

/// Every link that following `path` from a folder comes through, and last where it ends, whether anything is there or not. The folder's own
/// path has no links.
fn followed(folder: &Path, path: &Path) -> Vec<PathBuf> {
    let (mut at, mut passed) = (folder.to_owned(), Vec::new());
    let mut left: Vec<PathBuf> = parts(path);
    while let Some(part) = left.pop() {
        match part.components().next() {
            None | Some(Component::CurDir) => {}
            Some(Component::ParentDir) => drop(at.pop()),
            // From the root on, which is what this makes of it.
            Some(Component::Prefix(_) | Component::RootDir) => at.push(part),
            Some(Component::Normal(_)) => {
                at.push(part);
                #[expect(
                    clippy::disallowed_methods,
                    reason = "where a link leads is told by its path, in the folder or not"
                )]
                let target = std::fs::read_link(&at);
                if let Ok(target) = target
                    && passed.len() < FOLLOWED_MAX
                {
                    passed.push(at.clone());
                    at.pop();
                    left.extend(parts(&target));
                }
            }
        }
    }
    passed.push(at);
    passed
}

/// The parts of a path, the first one last.
fn parts(path: &Path) -> Vec<PathBuf> {
    path.components().rev().map(|part| PathBuf::from(part.as_os_str())).collect()
}

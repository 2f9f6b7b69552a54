//! What a run may not change in a granted folder: what tools act on, by its own path ([`is_acted_on`]) or because somebody may start it, and what
//! they act on although its path does not say so: a link that they follow leads to it, a `.git` file names it, or it is in a repository that
//! has no folder of its own (`HEAD`). What the text of other files names is not followed, nor are links in folders outside.

#[cfg(unix)]
use super::carry::mode;
use super::carry::{CarryError, Wanted, io_at, is_folder};
use super::folders::{Folders, Opened};
use super::{Mount, STAGING, identity};
#[cfg(unix)]
use cap_std::fs::MetadataExt;
use cap_std::fs::{Dir, FileType};
use hutch_folder::{Form, Stamp, look, open_file};
use hutch_model::acted_on::is_acted_on;
use hutch_model::snapshot::{Entry, Node};
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::ffi::{OsStr, OsString};
use std::io::{self, Read};
use std::path::{Component, Path, PathBuf};

/// How far links are looked for and followed. Where there is more, nothing is changed: a guest could push what it must not change out of sight.
#[derive(Clone, Copy, Debug)]
pub(super) struct Looks {
    /// So many names of the folder and of all below.
    pub(super) names: usize,
    /// So many parts of paths by all links together.
    pub(super) steps: usize,
    /// So many bytes of paths: of its folders, and of what links lead to.
    pub(super) bytes: usize,
}

const NAMES_MAX: usize = 1 << 20;
const FOLLOWED_STEPS_MAX: usize = 1 << 18;
const PATHS_BYTES_MAX: usize = 64 << 20;

pub(super) const LOOKS: Looks = Looks { names: NAMES_MAX, steps: FOLLOWED_STEPS_MAX, bytes: PATHS_BYTES_MAX };

/// So much is looked at of the folders beside those above that tools act on, as `~/.config/systemd/user`.
const BESIDE_NAMES_MAX: usize = 1 << 16;
const BESIDE_DEPTH: usize = 3;

/// A longer path takes longer to follow: a part of it counts once more for each so many bytes before it.
const LONG_PATH_BYTES: usize = 256;

/// A link is followed through so many others, as a system does.
const FOLLOWED_MAX: usize = 40;

/// The longest file that names another folder of a repository.
const POINTER_BYTES_MAX: u64 = 8192;

/// What packages of JavaScript are in. Links below lead to code that only runs when somebody starts it, often to sources beside it.
const NOT_FOLLOWED: &str = "node_modules";

/// What packages of Python are in, wherever: of their links those alone are followed that tools act on by their own names (`x.pth`, `sitecustomize.py`).
const PACKAGES: [&str; 2] = ["dist-packages", "site-packages"];

/// Names of a folder that are looked at, to know whether a link leads to programs.
#[cfg(unix)]
const LOOKED_MAX: usize = 1000;

/// What makes a folder of any name a repository.
const HEAD: &str = "HEAD";

/// Why a run may not make of what was at a path what is there now, unless that was granted: tools act on it by its name, or somebody may
/// start it.
pub(super) fn refused(mount: &Mount, path: &str, (was, is): (Option<&Entry>, Option<&Entry>)) -> Option<CarryError> {
    match () {
        () if mount.acted_on || stays_itself(was, is) => None,
        () if is_acted_on(path) => Some(CarryError::ActedOn(path.to_owned())),
        () if is_another(was, is) && can_be_started(mount, path) => Some(CarryError::Startable(path.to_owned())),
        () => None,
    }
}

/// Refuses what is acted on for where it is, or what leads to it, unless that was granted.
pub(super) fn check_led_to(mount: &Mount, wanted: &[Wanted]) -> Result<(), CarryError> {
    let stays = |wanted: &&Wanted| stays_itself(wanted.was.as_ref(), wanted.is.as_ref());
    let changed: Vec<&Wanted> = wanted.iter().filter(|wanted| !stays(wanted)).collect();
    if mount.acted_on || changed.is_empty() {
        return Ok(());
    }
    let acting = Acting::within(mount, changed.iter().map(|wanted| wanted.path.as_str()), LOOKS)?;
    let by = |Wanted { path, was, is }: &Wanted| {
        let stays_folder = [was, is].into_iter().all(|entry| entry.as_ref().is_some_and(is_folder));
        let by = acting.by(path, stays_folder)?.to_owned();
        Some(CarryError::LedTo { path: path.clone(), by })
    };
    changed.into_iter().find_map(by).map_or(Ok(()), Err)
}

/// Whether this is a folder before and after, and only what it holds may be other.
fn stays_itself(was: Option<&Entry>, is: Option<&Entry>) -> bool {
    matches!((was, is), (Some(was), Some(is)) if is_folder(was) && is_folder(is) && was.modified_ns == is.modified_ns)
}

/// Whether a file is gone, or something else stands in its place: what is removed by one run, another one makes anew. A link may be taken away:
/// a run may have made it, and it is no program itself.
fn is_another(was: Option<&Entry>, is: Option<&Entry>) -> bool {
    was.is_some_and(|was| match was.node {
        Node::File { .. } => is.is_none_or(|is| is.node != was.node),
        Node::Link { .. } => is.is_some_and(|is| is.node != was.node),
        Node::Folder { .. } => false,
    })
}

/// Whether somebody may start a file as a program, or what a link leads to or what lies there, as far as can be told. What a run makes,
/// nobody may.
#[cfg(unix)]
fn can_be_started(mount: &Mount, path: &str) -> bool {
    let may_start = |mode: u32| mode & 0o111 != 0;
    match mode(mount, path) {
        Ok(Some((mode, is_file))) => is_file && may_start(mode),
        Ok(None) => match mount.dir().metadata(path) {
            Ok(metadata) if metadata.is_dir() => mount.dir().read_dir(path).is_ok_and(|names| {
                let metadata = names.take(LOOKED_MAX).filter_map(|name| name.ok()?.metadata().ok());
                { metadata }.any(|metadata| metadata.is_file() && may_start(MetadataExt::mode(&metadata)))
            }),
            Ok(metadata) => metadata.is_file() && may_start(MetadataExt::mode(&metadata)),
            Err(_) => false,
        },
        Err(_) => true,
    }
}

/// Nobody says there.
#[cfg(not(unix))]
fn can_be_started(_: &Mount, _: &str) -> bool {
    false
}

/// Places in a granted folder that tools act on.
#[derive(Clone, Default, Debug)]
pub(super) struct Acting {
    /// By path below the folder, in lower case, as some file systems take it; "" is all of it. Each with what has tools act on it. What ends
    /// with `/.` is a folder that has to stay one.
    places: BTreeMap<String, String>,
    /// Those that may be folders in which more links are.
    led: Vec<String>,
}

impl Acting {
    /// What stands above a granted folder, or is its own name by the path without links or the one that was said, and leads tools there. What
    /// can't be listed leads nowhere.
    pub(super) fn above(said: &Path, real_path: &Path) -> Acting {
        let mut found = Found::new(real_path, Acting::default(), LOOKS);
        let ways = if said.is_absolute() { found.followed(Path::new(""), said) } else { Ok(Way::default()) };
        match ways {
            Ok(way) => {
                // What `..` leaves again is on no way there, unless it is a link, which is among those that were followed.
                let said = without_left(said);
                for path in way.links.iter().map(PathBuf::as_path).chain([&*said, real_path]) {
                    if let Some(by) = path.ancestors().find(|folder| is_theirs(folder)) {
                        found.all_by(by);
                    }
                }
            }
            Err(_) => found.all_by(said),
        }
        let known = crate::package::open_folder(real_path).map_or_else(|_| Vec::new(), |dir| known(&dir));
        let mut beside = VecDeque::new();
        for folder in real_path.ancestors() {
            let Ok(dir) = crate::package::open_folder(folder) else { continue };
            if is_repository(&dir) && !is_strangers(&dir, OsStr::new(HEAD), &known) {
                found.all_by(&folder.join(HEAD));
            }
            if folder == real_path {
                continue;
            }
            for (name, form) in names(&dir).take(LOOKS.names) {
                let by = folder.join(&name);
                let acts = is_acted_on(&name.to_string_lossy());
                if form.is_dir() && is_theirs(&by) && !real_path.starts_with(&by) {
                    if !is_strangers(&dir, &name, &known) {
                        beside.push_back((by, 1));
                    }
                } else if let Some(to) = pointer(&dir, (&name, form), acts, false)
                    && !is_strangers(&dir, &name, &known)
                    && found.follow((folder, &to), &by).is_err()
                {
                    found.all_by(&by);
                }
            }
        }
        found.look_beside(beside);
        found.places
    }

    /// The same with what is in the folder. Below [`NOT_FOLLOWED`] it is looked for only on the way to what is changed, at these paths.
    ///
    /// # Errors
    /// The system refuses; there is too much to look at; or the folder is not any more where it was granted.
    pub(super) fn within<'p>(
        mount: &Mount,
        changed: impl Iterator<Item = &'p str>,
        looks: Looks,
    ) -> Result<Acting, CarryError> {
        let is_there =
            crate::package::open_folder(&mount.real_path).is_ok_and(|dir| identity(&dir) == identity(&mount.dir));
        if !is_there {
            return Err(CarryError::Untold("the folder is not where it was granted".to_owned()));
        }
        let ways = |path: &'p str| path.match_indices('/').filter_map(move |(end, _)| path.get(..end));
        let above: BTreeSet<&str> = changed.flat_map(ways).collect();
        let mut found = Found::new(&mount.real_path, mount.above.clone(), looks);
        let (mut names, mut walked) = (0, BTreeSet::new());
        let counted = |names: usize| match names > looks.names {
            true => Err(CarryError::Untold(format!("more than {} names are in it", looks.names))),
            false => Ok(()),
        };
        let mut folders = Folders::of(mount.dir()).map_err(io_at(""))?;
        loop {
            while let Some(Opened { number, dir, acts, opened }) = folders.next()? {
                names += opened.saturating_sub(1);
                counted(names)?;
                let path = || folders.path(number);
                let failed = |error| io_at(&path().display().to_string())(error);
                let is_repository = is_repository(&dir);
                if is_repository {
                    let head = path().join(HEAD);
                    found.add(&mount.real_path.join(path()), &head)?;
                }
                let acts = acts || is_repository;
                let parent = folders.name(number).to_string_lossy().into_owned();
                let mut inside = Vec::new();
                let entries = match dir.entries() {
                    Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
                        // Who may enter it finds what is in it by name.
                        let is_closed = look(&dir, HEAD).is_err();
                        let untold = || CarryError::Untold(format!("{:?} may be entered and not listed", path()));
                        if is_closed { continue } else { return Err(untold()) }
                    }
                    entries => entries.map_err(failed)?,
                };
                for entry in entries {
                    names += 1;
                    counted(names)?;
                    let entry = entry.map_err(failed)?;
                    let (name, Ok(form)) = (entry.file_name(), entry.file_type()) else { continue };
                    let text = name.to_string_lossy();
                    if text.starts_with(STAGING) {
                        continue;
                    }
                    let is_theirs = || acts || is_acted_on(&format!("{parent}/{text}"));
                    if form.is_dir() {
                        let is_left = || !path().join(&name).to_str().is_some_and(|below| above.contains(below));
                        if text != NOT_FOLLOWED || !is_left() {
                            found.take(name.len())?;
                            let acts = is_theirs() && !PACKAGES.contains(&&*text);
                            inside.push((name, acts));
                        }
                    } else if let Some(to) = pointer(&dir, (&name, form), form.is_symlink() && is_theirs(), acts) {
                        let real = mount.real_path.join(path());
                        found.follow((&real, &to), &path().join(&name))?;
                    }
                }
                inside.into_iter().for_each(|(name, acts)| folders.add(number, name, acts));
            }
            let Some(led) = found.places.led.pop() else { return Ok(found.places) };
            if !walked.contains(&led) {
                folders.add_path(&led);
                walked.insert(led);
            }
        }
    }

    /// What has tools act on this path; on what is below it, too, unless it is a folder before and after.
    pub(super) fn by(&self, path: &str, stays_folder: bool) -> Option<&str> {
        let path = path.to_lowercase();
        let above = path.match_indices('/').filter_map(|(end, _)| path.get(..end));
        let by = [""].into_iter().chain(above).chain([path.as_str()]).find_map(|place| self.places.get(place));
        let below = format!("{path}/");
        let inside = || {
            let next = self.places.range(below.clone()..).next();
            next.filter(|(place, _)| !stays_folder && place.starts_with(&below))
        };
        by.or_else(|| inside().map(|(_, by)| by)).map(String::as_str)
    }

    /// What has tools act on all of it.
    pub(super) fn by_all(&self) -> Option<&str> {
        self.places.get("").map(String::as_str)
    }
}

/// A path without the names that `..` takes away.
fn without_left(path: &Path) -> PathBuf {
    let mut left = PathBuf::new();
    for part in path.components() {
        match part {
            Component::ParentDir => drop(left.pop()),
            part => left.push(part),
        }
    }
    left
}

/// Whether a folder is called as what tools act on. Temporary folders have names that nobody configured.
fn is_theirs(folder: &Path) -> bool {
    let name = folder.file_name().unwrap_or_default().to_string_lossy();
    is_acted_on(&name) && !name.starts_with(".tmp")
}

/// Whether a folder is a repository, or its files: what `HEAD` holds is a name or a commit.
fn is_repository(folder: &Dir) -> bool {
    match look(folder, HEAD) {
        Ok(Some(Stamp { form: Form::Link, .. })) => true,
        Ok(Some(Stamp { form: Form::File, .. })) => {
            let mut begin = [0; 40];
            let read = open_file(folder, HEAD).and_then(|mut file| file.read(&mut begin));
            read.is_err() || begin.starts_with(b"ref:") || begin.iter().all(u8::is_ascii_hexdigit)
        }
        _ => false,
    }
}

/// What was found of a granted folder.
struct Found<'m> {
    real_path: &'m Path,
    places: Acting,
    /// How many parts of paths may yet be followed, and how many bytes of paths be kept.
    left: Looks,
}

/// What following a path comes through.
#[derive(Default)]
struct Way {
    /// Each link, and last where it ends, whether anything is there or not.
    links: Vec<PathBuf>,
    /// Folders that it comes back out of.
    left: Vec<PathBuf>,
}

impl<'m> Found<'m> {
    fn new(real_path: &'m Path, places: Acting, left: Looks) -> Found<'m> {
        Found { real_path, places, left }
    }

    /// Makes room for so many bytes of paths.
    fn take(&mut self, bytes: usize) -> Result<(), CarryError> {
        let too_long = || CarryError::Untold("more paths are in it than are looked at".to_owned());
        self.left.bytes = self.left.bytes.checked_sub(bytes).ok_or_else(too_long)?;
        Ok(())
    }

    /// Follows the links in folders that tools act on and that the granted one is not in.
    fn look_beside(&mut self, mut due: VecDeque<(PathBuf, usize)>) {
        let mut left = BESIDE_NAMES_MAX;
        while let Some((folder, depth)) = due.pop_front() {
            let Ok(dir) = crate::package::open_folder(&folder) else { continue };
            for (name, form) in names(&dir).take(left) {
                left -= 1;
                let by = folder.join(&name);
                if form.is_dir() && depth < BESIDE_DEPTH && name != NOT_FOLLOWED {
                    due.push_back((by, depth + 1));
                } else if form.is_symlink() && self.follow((&folder, Path::new(&name)), &by).is_err() {
                    return;
                }
            }
        }
    }

    /// Notes all that following `path` from a folder comes through, and where it ends, as far as it is in the granted folder.
    fn follow(&mut self, (folder, path): (&Path, &Path), by: &Path) -> Result<(), CarryError> {
        let Way { mut links, left } = self.followed(folder, path)?;
        let end = links.pop();
        links.retain(|link| !self.real_path.starts_with(link));
        for place in links.iter().chain(&end) {
            if let Some(led) = self.add(place, by)? {
                self.places.led.push(led);
            }
        }
        for place in left.iter().filter(|place| !self.real_path.starts_with(place)) {
            if let Some(below) = self.below(place) {
                self.note(format!("{below}/."), by)?;
            }
        }
        Ok(())
    }

    /// The path of a place below the granted folder; of what the folder itself is in, that of all.
    fn below(&self, place: &Path) -> Option<String> {
        if self.real_path.starts_with(place) {
            return Some(String::new());
        }
        let names = place.strip_prefix(self.real_path).ok()?.components();
        Some(names.map(|name| name.as_os_str().to_str()).collect::<Option<Vec<_>>>()?.join("/"))
    }

    /// Notes a place; its path below.
    fn add(&mut self, place: &Path, by: &Path) -> Result<Option<String>, CarryError> {
        let below = self.below(place);
        if let Some(below) = &below {
            self.note(below.clone(), by)?;
        }
        Ok(below)
    }

    fn note(&mut self, below: String, by: &Path) -> Result<(), CarryError> {
        self.take(below.len() + by.as_os_str().len())?;
        self.places.places.entry(below.to_lowercase()).or_insert_with(|| by.display().to_string());
        Ok(())
    }

    /// Notes that tools act on all of it.
    fn all_by(&mut self, by: &Path) {
        self.places.places.entry(String::new()).or_insert_with(|| by.display().to_string());
    }

    /// Follows a path from a folder, whose own path has no links.
    fn followed(&mut self, folder: &Path, path: &Path) -> Result<Way, CarryError> {
        let (mut at, mut way, mut left) = (folder.to_owned(), Way::default(), parts(path));
        while let Some(part) = left.pop() {
            let too_many = || CarryError::Untold("more links are in it than are followed".to_owned());
            let step = 1 + at.as_os_str().len() / LONG_PATH_BYTES;
            self.left.steps = self.left.steps.checked_sub(step).ok_or_else(too_many)?;
            match part.components().next() {
                None | Some(Component::CurDir) => {}
                Some(Component::ParentDir) => {
                    self.take(at.as_os_str().len())?;
                    way.left.push(at.clone());
                    at.pop();
                }
                // From the root on, which is what this makes of it.
                Some(Component::Prefix(_) | Component::RootDir) => at.push(part),
                Some(Component::Normal(_)) => {
                    at.push(part);
                    #[expect(
                        clippy::disallowed_methods,
                        reason = "where a link leads is told by its path, in the folder or not"
                    )]
                    let target = std::fs::read_link(&at);
                    match target {
                        Ok(target) if way.links.len() < FOLLOWED_MAX => {
                            way.links.push(at.clone());
                            at.pop();
                            left.extend(parts(&target));
                        }
                        Err(error) if error.kind() == io::ErrorKind::InvalidFilename => {
                            return Err(CarryError::Untold(
                                "a link is in it that no path is long enough for".to_owned(),
                            ));
                        }
                        _ => {}
                    }
                }
            }
        }
        way.links.push(at);
        Ok(way)
    }
}

/// What is in a folder, as far as it can be listed.
fn names(folder: &Dir) -> impl Iterator<Item = (OsString, FileType)> {
    let entries = folder.entries().into_iter().flatten();
    entries.filter_map(|entry| entry.and_then(|entry| Ok((entry.file_name(), entry.file_type()?))).ok())
}

/// Those whose links are followed wherever they stand: whose the folder is, and who is running this.
#[cfg(unix)]
fn known(folder: &Dir) -> Vec<u32> {
    let owner = folder.dir_metadata().ok().map(|found| found.uid());
    owner.into_iter().chain([hutch_folder::effective_user()]).collect()
}

/// Whether somebody else put this name into a folder that all may put names into, as `/tmp` is: no system follows such a link for anybody but
/// him, and no tool takes such a repository.
#[cfg(unix)]
fn is_strangers(folder: &Dir, name: &OsStr, known: &[u32]) -> bool {
    const SHARED: u32 = 0o1002;
    let Ok(is) = folder.dir_metadata() else { return false };
    is.mode() & SHARED == SHARED
        && folder.symlink_metadata(name).is_ok_and(|it| it.uid() != is.uid() && !known.contains(&it.uid()))
}

/// Nobody says there.
#[cfg(not(unix))]
fn known(_: &Dir) -> Vec<u32> {
    Vec::new()
}

/// Nobody says there.
#[cfg(not(unix))]
fn is_strangers(_: &Dir, _: &OsStr, _: &[u32]) -> bool {
    false
}

/// Where something points that tools follow: a link that is theirs, and the files by which a repository says where the rest of it is.
fn pointer(folder: &Dir, (name, form): (&OsStr, FileType), is_theirs: bool, acts: bool) -> Option<PathBuf> {
    match () {
        () if form.is_symlink() && is_theirs => Some(PathBuf::from(name)),
        () if form.is_file() && name.eq_ignore_ascii_case(".git") => named_in(folder, name, "gitdir:"),
        () if form.is_file() && acts && name == "commondir" => named_in(folder, name, ""),
        () => None,
    }
}

/// The path that a file holds behind a word.
fn named_in(folder: &Dir, name: &OsStr, word: &str) -> Option<PathBuf> {
    let mut text = String::new();
    open_file(folder, name.to_str()?).ok()?.take(POINTER_BYTES_MAX).read_to_string(&mut text).ok()?;
    Some(PathBuf::from(text.strip_prefix(word)?.trim()))
}

/// The parts of a path, the first one last.
fn parts(path: &Path) -> Vec<PathBuf> {
    path.components().rev().map(|part| PathBuf::from(part.as_os_str())).collect()
}

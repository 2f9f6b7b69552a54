//! A real folder as objects. A handle is good for one run; it says where something is, not what it was. A folder is listed when the
//! guest first goes there, and a file read when the guest reads it. Every file is read only as it looked when it was listed: one that
//! changed meanwhile can't be had, so that no guest sees half of one version and half of another. A look tells that only of a file that
//! was old when it was read; what was read of a younger one is held against the file once more ([`Objects::check`]).

use super::{Identity, STAGING, Staged};
use cap_std::fs::Dir;
use hutch_folder::{Form, Stamp, link_target, list_at_most, look, now_ns, open_file, open_folder, stays_inside};
use hutch_model::digest::{Digest, Hasher, Kind};
use hutch_model::snapshot::{
    CHUNK_BYTES, Entry, LIST_PARTS, Lack, Name, Node, ObjectError, Objects, Totals, Tree, encode_list, list_levels,
};
use hutch_sandbox::NAME_MEMORY_BYTES;
use std::collections::{BTreeMap, HashSet};
use std::io::{self, Read, Seek, SeekFrom};
use std::ops::Range;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

/// A handle is this much of a digest, which tells granted folders apart from each other and from content, and then what it stands for.
const MARK_BYTES: usize = 19;

/// What a handle stands for: a folder (level and place are 0), or a part of a file: its list of this level and place, or at level 0
/// its chunk.
#[derive(Clone, Copy, PartialEq, Debug)]
struct Part {
    node: u32,
    level: u8,
    place: u64,
}

/// Something that was listed.
struct Shown {
    /// The folder that it is in.
    above: u32,
    name: Box<str>,
    /// How it looked; the granted folder itself has no look.
    stamp: Option<Stamp>,
    /// A link's target.
    target: Option<Box<str>>,
    /// What was listed in a folder, by name.
    inside: Option<Range<u32>>,
}

impl Shown {
    fn form(&self) -> Form {
        self.stamp.map_or(Form::Folder, |stamp| stamp.form)
    }
}

/// All that was listed, the granted folder first. Grows by one for each name that a guest is shown, whose price is the guest's.
struct Nodes(Vec<Shown>);

impl Nodes {
    fn get(&self, node: u32) -> Option<&Shown> {
        self.0.get(node as usize)
    }

    fn path(&self, mut node: u32) -> String {
        let mut names = Vec::new();
        while let Some(shown) = self.get(node).filter(|_| node != 0) {
            names.push(&*shown.name);
            node = shown.above;
        }
        names.reverse();
        names.join("/")
    }

    /// What was listed at a path.
    fn find(&self, path: &str) -> Option<&Shown> {
        let mut at = self.get(0)?;
        for name in path.split('/') {
            let inside = at.inside.clone()?;
            let listed = self.0.get(inside.start as usize..inside.end as usize)?;
            at = listed.get(listed.binary_search_by(|shown| (*shown.name).cmp(name)).ok()?)?;
        }
        Some(at)
    }
}

pub(crate) struct MountObjects {
    dir: Arc<Dir>,
    /// What nobody is shown, wherever it stands.
    hidden: Arc<HashSet<Identity>>,
    at: PathBuf,
    mark: [u8; MARK_BYTES],
    /// What the guest may have in memory: a folder that it can't pay for is not listed to its end.
    memory_bytes: u64,
    nodes: Mutex<Nodes>,
    /// What was read of files that could have been written twice with one look: node, number of the chunk, and its name. Grows by one for
    /// each chunk, whose price is the guest's.
    young: Mutex<BTreeMap<(u32, u64), Digest>>,
    /// The staging folder of a run that was cut short, where the guest went: nothing more is shown then.
    staged: OnceLock<String>,
    /// The clock that files are stamped with.
    pub(super) now_ns: fn() -> u64,
}

impl MountObjects {
    pub(super) fn new(
        (dir, hidden): (Arc<Dir>, Arc<HashSet<Identity>>),
        at: PathBuf,
        name: &str,
        memory_bytes: u64,
    ) -> MountObjects {
        let mut hasher = Hasher::new(Kind::Mount);
        hasher.update_part(name.as_bytes());
        let mut mark = [0; MARK_BYTES];
        mark.copy_from_slice(hasher.finish().as_bytes().split_at(MARK_BYTES).0);
        let top = Shown { above: 0, name: "".into(), stamp: None, target: None, inside: None };
        let nodes = Mutex::new(Nodes(vec![top]));
        let (young, staged) = (Mutex::default(), OnceLock::new());
        MountObjects { dir, hidden, at, mark, memory_bytes, nodes, young, staged, now_ns }
    }

    /// What a file held that is not there any more as it was listed.
    fn changed(&self, path: &str, digest: Digest) -> ObjectError {
        ObjectError { digest, kind: Kind::Chunk, lack: Lack::Changed(self.at.join(path).display().to_string()) }
    }

    /// What kept a run from being shown more of it.
    pub(crate) fn staged(&self) -> Option<&str> {
        self.staged.get().map(String::as_str)
    }

    /// The folder itself.
    pub(crate) fn root(&self) -> Digest {
        self.handle(Part { node: 0, level: 0, place: 0 })
    }

    /// How something looked that the run was shown.
    pub(crate) fn stamp(&self, path: &str) -> Option<Stamp> {
        self.nodes().find(path)?.stamp
    }

    /// Which part of which file a handle stands for: how that looked, and the part's level and place. `None` if it is none of this folder.
    pub(crate) fn source(&self, digest: &Digest) -> Option<(Stamp, u8, u64)> {
        let Part { node, level, place } = self.part(digest)?;
        Some((self.nodes().get(node)?.stamp?, level, place))
    }

    /// Where that is which a handle stands for, as it was listed.
    #[cfg(unix)]
    pub(super) fn place_of(&self, digest: &Digest) -> Option<String> {
        let Part { node, .. } = self.part(digest).filter(|part| part.node != 0)?;
        Some(self.nodes().path(node))
    }

    fn handle(&self, part: Part) -> Digest {
        let mut bytes = [0; 32];
        let parts = self.mark.iter().copied();
        let parts = parts.chain(part.node.to_le_bytes()).chain([part.level]).chain(part.place.to_le_bytes());
        bytes.iter_mut().zip(parts).for_each(|(byte, part)| *byte = part);
        Digest::from_bytes(bytes)
    }

    /// What a handle stands for; `None` if it is none of this folder.
    fn part(&self, digest: &Digest) -> Option<Part> {
        let rest = digest.as_bytes().strip_prefix(&self.mark)?;
        let (node, rest) = rest.split_first_chunk()?;
        let (level, rest) = rest.split_first()?;
        let place = rest.first_chunk()?;
        Some(Part { node: u32::from_le_bytes(*node), level: *level, place: u64::from_le_bytes(*place) })
    }

    fn nodes(&self) -> MutexGuard<'_, Nodes> {
        self.nodes.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn young(&self) -> MutexGuard<'_, BTreeMap<(u32, u64), Digest>> {
        self.young.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Lists a folder if it was not listed yet.
    fn list(&self, node: u32, path: &str) -> io::Result<Tree> {
        let listed = self.nodes().get(node).and_then(|shown| shown.inside.clone());
        if let Some(inside) = listed {
            return self.tree(inside);
        }
        let folder = open_below(&self.dir, path)?.ok_or(io::ErrorKind::NotFound)?;
        let depth = path.split('/').filter(|name| !name.is_empty()).count();
        let most = usize::try_from(self.memory_bytes / NAME_MEMORY_BYTES).unwrap_or(usize::MAX).saturating_add(1);
        let (mut found, cut) = self.described(&folder, node, depth, most)?;
        // What is not shown took the place of what is.
        if cut {
            found = self.described(&folder, node, depth, usize::MAX)?.0;
        }
        let full = |_| io::Error::other("more is in it than can be numbered");
        let mut nodes = self.nodes();
        let first = u32::try_from(nodes.0.len()).map_err(full)?;
        let end = u32::try_from(nodes.0.len() + found.len()).map_err(full)?;
        nodes.0.extend(found);
        if let Some(shown) = nodes.0.get_mut(node as usize) {
            shown.inside = Some(first..end);
        }
        drop(nodes);
        self.tree(first..end)
    }

    /// What a guest sees of so many names of a folder, and whether there may be more that it could pay for. If it can't pay for what is
    /// found, it gets nothing of it, and there is no need to look at the rest.
    fn described(&self, folder: &Dir, node: u32, depth: usize, most: usize) -> io::Result<(Vec<Shown>, bool)> {
        let (mut found, mut paid) = (Vec::new(), 0);
        let listing = list_at_most(folder, most)?;
        let cut = listing.names.len() + listing.not_text.len() >= most;
        for text in listing.names {
            if paid > self.memory_bytes {
                return Ok((found, false));
            }
            if text.starts_with(STAGING) {
                let at = self.at.join(self.nodes().path(node));
                // What a run that lives changes is as what any other program changes meanwhile.
                if let Some(left) = Staged::at(folder, &at, &text).filter(|staged| staged.is_live() == Some(false)) {
                    let at = self.staged.get_or_init(|| left.path().to_owned());
                    return Err(io::Error::other(at.as_str()));
                }
                continue;
            }
            if Name::new(&text).is_err() {
                continue;
            }
            // What nobody can look at, nobody is shown: the rest is there all the same.
            let Ok(Some(stamp)) = look(folder, &text) else { continue };
            let target: Option<Box<str>> = match stamp.form {
                _ if self.hidden.contains(&(stamp.device, stamp.inode)) => continue,
                Form::Folder | Form::File => None,
                Form::Link => match link_target(folder, &text)? {
                    Some(target) if stays_inside(depth, &target) => Some(target.into()),
                    _ => continue,
                },
                Form::Other => continue,
            };
            paid += NAME_MEMORY_BYTES + (text.len() + target.as_ref().map_or(0, |target| target.len())) as u64;
            found.push(Shown { above: node, name: text.into(), stamp: Some(stamp), target, inside: None });
        }
        Ok((found, cut && paid <= self.memory_bytes))
    }

    fn tree(&self, inside: Range<u32>) -> io::Result<Tree> {
        let nodes = self.nodes();
        let mut entries = Vec::new();
        for node in inside {
            let Some(Shown { name, stamp: Some(stamp), target, .. }) = nodes.get(node) else { continue };
            let Ok(name) = Name::new(name) else { continue };
            let node = match (stamp.form, target) {
                (_, Some(target)) => Node::Link { target: target.clone() },
                // Named as what it holds: who only looks at it leaves it named so too.
                (Form::File, None) if stamp.size == 0 => Node::File { size: 0, content: Digest::of(Kind::Chunk, b"") },
                (Form::File, None) => {
                    let level = list_levels(stamp.size) as u8;
                    Node::File { size: stamp.size, content: self.handle(Part { node, level, place: 0 }) }
                }
                (_, None) => {
                    let tree = self.handle(Part { node, level: 0, place: 0 });
                    Node::Folder { tree, totals: Totals::default() }
                }
            };
            entries.push(Entry { name, modified_ns: stamp.modified_ns, node });
        }
        Tree::new(entries).ok_or_else(|| io::Error::other("a name is there twice"))
    }

    /// A chunk of a file, if the file is the one that was listed; `None` if it is not.
    fn chunk(&self, path: &str, stamp: &Stamp, (node, place): (u32, u64)) -> io::Result<Option<Vec<u8>>> {
        let (above, name) = split(path);
        let looks_as_listed = || match open_below(&self.dir, above)? {
            Some(folder) => Ok::<_, io::Error>(look(&folder, name)? == Some(*stamp)),
            None => Ok(false),
        };
        let begun_ns = (self.now_ns)();
        if !looks_as_listed()? {
            return Ok(None);
        }
        let Some(bytes) = self.read(path, stamp.size, place)? else { return Ok(None) };
        let same = looks_as_listed()? && self.is_as_before(stamp.is_settled(begun_ns), (node, place), &bytes);
        Ok(same.then_some(bytes))
    }

    /// Whether a chunk is what it was, if it was read when a look at its file did not tell; if it still does not, it is remembered.
    fn is_as_before(&self, is_settled: bool, chunk: (u32, u64), bytes: &[u8]) -> bool {
        let mut young = self.young();
        let before = young.get(&chunk).copied();
        if is_settled && before.is_none() {
            return true;
        }
        let digest = Digest::of(Kind::Chunk, bytes);
        *young.entry(chunk).or_insert(digest) == digest
    }

    /// So many bytes of a file as there are to be in a chunk; `None` if there are fewer.
    fn read(&self, path: &str, size: u64, place: u64) -> io::Result<Option<Vec<u8>>> {
        let (above, name) = split(path);
        let Some(folder) = open_below(&self.dir, above)? else { return Ok(None) };
        let offset = place * CHUNK_BYTES;
        let length = size.saturating_sub(offset).min(CHUNK_BYTES);
        let mut file = open_file(&folder, name)?;
        file.seek(SeekFrom::Start(offset))?;
        let mut bytes = Vec::with_capacity(length as usize);
        file.take(length).read_to_end(&mut bytes)?;
        Ok((bytes.len() as u64 == length).then_some(bytes))
    }

    /// As if all that was written since had been written within one step of the file system's clock: it looks as it was listed.
    #[cfg(test)]
    pub(super) fn look_again(&self) {
        let mut nodes = self.nodes();
        for node in 1..nodes.0.len() {
            let path = nodes.path(node as u32);
            let (above, name) = split(&path);
            let folder = open_below(&self.dir, above).unwrap().unwrap();
            nodes.0[node].stamp = look(&folder, name).unwrap();
        }
    }
}

/// The folder of a path, and the name in it.
fn split(path: &str) -> (&str, &str) {
    path.rsplit_once('/').unwrap_or(("", path))
}

impl Objects for MountObjects {
    fn get(&self, kind: Kind, digest: &Digest) -> Result<Arc<[u8]>, ObjectError> {
        let missing = || ObjectError::missing(kind, *digest);
        let part = self.part(digest).ok_or_else(missing)?;
        let (path, form, stamp) = {
            let nodes = self.nodes();
            let shown = nodes.get(part.node).ok_or_else(missing)?;
            (nodes.path(part.node), shown.form(), shown.stamp)
        };
        let unreadable = |error: io::Error| {
            let at = self.at.join(&path).display().to_string();
            match (self.staged(), error.kind()) {
                (Some(at), _) => ObjectError { digest: *digest, kind, lack: Lack::Changed(at.to_owned()) },
                (None, io::ErrorKind::PermissionDenied) => {
                    ObjectError { digest: *digest, kind, lack: Lack::Denied(at) }
                }
                (None, _) => ObjectError::unreadable(kind, *digest, format!("{at}: {error}")),
            }
        };
        match (form, stamp, part) {
            (Form::Folder, ..) => Ok(self.list(part.node, &path).map_err(unreadable)?.encode().into()),
            (Form::File, Some(stamp), Part { node, level: 0, place }) => {
                let bytes = self.chunk(&path, &stamp, (node, place)).map_err(unreadable)?;
                bytes.map(Arc::from).ok_or_else(|| self.changed(&path, *digest))
            }
            (Form::File, Some(stamp), Part { node, level, place }) => {
                let below = stamp.size.div_ceil(CHUNK_BYTES).div_ceil(LIST_PARTS.pow(u32::from(level) - 1));
                let first = place * LIST_PARTS;
                let parts = (first..below.min(first + LIST_PARTS)).map(|place| Part { node, level: level - 1, place });
                Ok(encode_list(&parts.map(|part| self.handle(part)).collect::<Vec<_>>()).into())
            }
            _ => Err(missing()),
        }
    }

    /// Each file must hold what the run read of it while a look at it did not tell.
    fn check(&self, goes_on: &dyn Fn() -> bool) -> Result<(), ObjectError> {
        let young = self.young().clone();
        young.into_iter().take_while(|_| goes_on()).try_for_each(|((node, place), digest)| {
            let (path, size) = {
                let nodes = self.nodes();
                (nodes.path(node), nodes.get(node).and_then(|shown| shown.stamp).map_or(0, |stamp| stamp.size))
            };
            // Whatever has become of the file since: what the guest has of it was there together.
            match self.read(&path, size, place) {
                Ok(Some(bytes)) if Digest::of(Kind::Chunk, &bytes) == digest => Ok(()),
                _ => Err(self.changed(&path, self.handle(Part { node, level: 0, place }))),
            }
        })
    }
}

/// A folder below another, name by name, so that no link on the way is followed; `None` if there is none.
pub(super) fn open_below(dir: &Dir, path: &str) -> io::Result<Option<Dir>> {
    let mut at = dir.try_clone()?;
    for name in path.split('/').filter(|name| !name.is_empty()) {
        match open_folder(&at, name)? {
            Some(folder) => at = folder,
            None => return Ok(None),
        }
    }
    Ok(Some(at))
}

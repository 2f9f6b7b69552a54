//! From a path to a node. A path starts at a folder and never leaves it, by `..`, by a link or by being absolute: what Linux
//! does for `RESOLVE_BENEATH`.
//!
//! Calls that look at a thing walk the whole path ([`World::resolve`]). Calls that make, remove or rename a thing walk to the
//! folder it is in ([`World::parent`]) and then look the last part up there ([`World::look`]), links not followed: when two paths
//! are wrong at once, this order decides which error shows.

use super::{NodeId, What};
use crate::World;
use crate::failure::{Errno, Failure};
use crate::meter::price;
use alloc::borrow::{Cow, ToOwned};
use alloc::boxed::Box;
use alloc::string::String;
use alloc::vec::Vec;
use hutch_model::snapshot::{Name, NameError};

/// Bytes of a path that is too long, as on Linux, where its end counts.
pub const PATH_BYTES_MAX: usize = 4096;

/// Links followed for one path.
pub(crate) const HOPS_MAX: u32 = 40;

/// How a path is walked.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) struct Walk {
    /// Follow a link that the path ends in. A slash after it follows it in any case.
    pub(super) follow: bool,
    /// The path may end in something to be made: it must not end in a slash.
    pub(super) create: bool,
}

/// Where a path ends.
#[derive(Debug)]
pub(super) struct Place {
    /// The folder that holds the last part.
    pub(super) folder: NodeId,
    /// The last part; `None` if the path ends in `.` or `..`, then `node` is that folder.
    pub(super) name: Option<Name>,
    /// What is there.
    pub(super) node: Option<NodeId>,
}

impl Place {
    /// What is there, or NoEntry.
    pub(super) fn existing(&self) -> Result<NodeId, Errno> {
        self.node.ok_or(Errno::NoEntry)
    }
}

/// The last step of a path, not yet taken.
#[derive(Debug)]
pub(super) struct Parent<'a> {
    /// The folder to look in.
    pub(super) folder: NodeId,
    /// What to look up; `None` if the path ends in `.`, `..` or a slash, and so is `folder` itself.
    pub(super) last: Option<&'a str>,
}

impl World {
    /// Walks all of `path` from `base`.
    pub(super) fn resolve(&mut self, base: NodeId, path: &str, walk: Walk) -> Result<Place, Failure> {
        self.files.folder(base)?;
        check_path(path)?;
        if path.len() >= PATH_BYTES_MAX {
            return Err(Errno::NameTooLong.into());
        }
        if path.starts_with('/') {
            return Err(Errno::NotPermitted.into());
        }
        let mut pending = Pending::new(path);
        let mut above: Vec<NodeId> = Vec::new();
        let mut folder = base;
        let mut hops = 0;
        // Whether what the path ends in must be a folder, and whether a link there is followed.
        let (mut must_be_folder, mut follow) = (false, walk.follow);
        while let Some(Part { text, slash, last }) = pending.next() {
            if text == "." || text == ".." {
                self.meter.spend(price::PATH_PART)?;
                if text == ".." {
                    folder = above.pop().ok_or(Errno::NotPermitted)?;
                }
                continue;
            }
            if last && slash {
                if walk.create {
                    return Err(Errno::IsDirectory.into());
                }
                (must_be_folder, follow) = (true, true);
            }
            let (name, found) = self.look(folder, &text)?;
            let Some(id) = found else {
                if last {
                    return Ok(Place { folder, name: Some(name), node: None });
                }
                return Err(Errno::NoEntry.into());
            };
            match &self.files.node(id).what {
                What::Link(target) if !last || follow => {
                    hops += 1;
                    if hops > HOPS_MAX {
                        return Err(Errno::Loop.into());
                    }
                    if target.starts_with('/') {
                        return Err(Errno::NotPermitted.into());
                    }
                    let target = target.clone();
                    self.meter.spend(target.len() as u64 * price::BYTE)?;
                    pending.push(target);
                }
                What::Folder(_) if !last => {
                    above.push(folder);
                    folder = id;
                }
                What::Link(_) | What::File(_) if !last || must_be_folder => {
                    return Err(Errno::NotDirectory.into());
                }
                _ => return Ok(Place { folder, name: Some(name), node: Some(id) }),
            }
        }
        Ok(Place { folder, name: None, node: Some(folder) })
    }

    /// Walks to the last step of `path`. A path that ends in a slash is walked to its end, which must be a folder.
    pub(super) fn parent<'a>(&mut self, base: NodeId, path: &'a str) -> Result<Parent<'a>, Failure> {
        self.files.folder(base)?;
        check_path(path)?;
        let (above, last) = match path.rsplit_once('/') {
            Some((_, "" | "." | "..")) => (path, None),
            Some(("", last)) => ("/", Some(last)),
            Some((above, last)) => (above, Some(last)),
            None if path == "." || path == ".." => (path, None),
            None => return Ok(Parent { folder: base, last: Some(path) }),
        };
        let above = if last.is_some() { without_dots(above) } else { above };
        let folder = self.resolve(base, above, Walk { follow: true, create: false })?.existing()?;
        if !self.files.is_folder(folder) {
            return Err(Errno::NotDirectory.into());
        }
        Ok(Parent { folder, last })
    }

    /// Looks one part up in a folder.
    pub(super) fn look(&mut self, folder: NodeId, part: &str) -> Result<(Name, Option<NodeId>), Failure> {
        self.meter.spend(price::PATH_PART)?;
        if self.files.node(folder).names == 0 {
            return Err(Errno::NoEntry.into());
        }
        let name = Name::new(part).map_err(|error| match error {
            NameError::TooLong => Errno::NameTooLong,
            NameError::Invalid => Errno::Invalid,
        })?;
        let found = self.lookup(folder, name.as_str())?;
        Ok((name, found))
    }
}

/// Without the slashes at the end, and whether there were any. Making, removing and renaming a folder allow them, and don't
/// follow a link there.
pub(super) fn without_slashes(path: &str) -> (&str, bool) {
    let bare = path.trim_end_matches('/');
    // A path of slashes only is absolute and stays so.
    if bare.is_empty() { (path, false) } else { (bare, bare.len() < path.len()) }
}

/// Without what at the end of a folder's path leads nowhere else: it does not count for the path's length.
fn without_dots(mut path: &str) -> &str {
    while let Some(bare) = path.strip_suffix("/.").or_else(|| path.strip_suffix('/'))
        && !bare.is_empty()
    {
        path = bare;
    }
    path
}

fn check_path(path: &str) -> Result<(), Errno> {
    if path.is_empty() {
        return Err(Errno::NoEntry);
    }
    if path.contains('\0') { Err(Errno::Invalid) } else { Ok(()) }
}

/// What is left of a path: its own rest at the bottom, those of links above it, the next part on top. None is without parts.
struct Pending<'a>(Vec<Rest<'a>>);

struct Rest<'a> {
    text: Cow<'a, str>,
    /// Bytes of it that are done.
    done: usize,
}

struct Part {
    text: String,
    /// A slash follows it.
    slash: bool,
    /// Nothing but slashes follows it.
    last: bool,
}

impl<'a> Pending<'a> {
    fn new(path: &'a str) -> Pending<'a> {
        Pending(alloc::vec![Rest { text: Cow::Borrowed(path), done: 0 }])
    }

    /// Puts a link's target in the place of the link.
    fn push(&mut self, target: Box<str>) {
        self.0.push(Rest { text: Cow::Owned(target.into()), done: 0 });
    }
}

impl Iterator for Pending<'_> {
    type Item = Part;

    fn next(&mut self) -> Option<Part> {
        let mut rest = self.0.pop()?;
        let left = rest.text[rest.done..].trim_start_matches('/');
        let (part, after) = left.split_once('/').map_or((left, None), |(part, after)| (part, Some(after)));
        let (text, slash) = (part.to_owned(), after.is_some());
        if let Some(after) = after
            && after.bytes().any(|byte| byte != b'/')
        {
            rest.done = rest.text.len() - after.len();
            self.0.push(rest);
        }
        Some(Part { text, slash, last: self.0.is_empty() })
    }
}

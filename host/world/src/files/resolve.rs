//! From a path to a node. A path starts at a folder and never leaves it, by `..`, by a link or by being absolute: what Linux
//! does for `RESOLVE_BENEATH`.

use super::{NodeId, What};
use crate::World;
use crate::failure::{Errno, Failure};
use crate::meter::price;
use alloc::string::String;
use alloc::vec::Vec;
use hutch_model::snapshot::{Name, NameError};

/// Bytes of the longest path.
pub(super) const PATH_BYTES_MAX: usize = 4096;

/// Links followed for one path.
const HOPS_MAX: u32 = 40;

/// Where a path ends.
#[derive(Debug)]
pub(super) struct Place {
    /// The folder that holds the last part.
    pub(super) folder: NodeId,
    /// The last part; `None` if the path ends in `.` or `..`, then `node` is that folder.
    pub(super) name: Option<Name>,
    /// What is there.
    pub(super) node: Option<NodeId>,
    /// The path ends in a slash: it asks for a folder.
    pub(super) slash: bool,
}

impl Place {
    /// What is there, or NoEntry.
    pub(super) fn existing(&self) -> Result<NodeId, Errno> {
        self.node.ok_or(Errno::NoEntry)
    }
}

/// What to do with a link that the path ends in.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Follow {
    /// Go where it points.
    Yes,
    /// Take the link itself, unless a slash follows it.
    No,
    /// Take the link itself, even if a slash follows it: what making, removing and renaming do.
    Never,
}

impl World {
    /// Walks `path` from `base`.
    pub(super) fn resolve(&mut self, base: NodeId, path: &str, follow: Follow) -> Result<Place, Failure> {
        if path.is_empty() {
            return Err(Errno::NoEntry.into());
        }
        if path.contains('\0') {
            return Err(Errno::Invalid.into());
        }
        if path.len() >= PATH_BYTES_MAX {
            return Err(Errno::NameTooLong.into());
        }
        if path.starts_with('/') {
            return Err(Errno::NotPermitted.into());
        }
        let mut slash = path.ends_with('/');
        let mut pending: Vec<String> = parts(path);
        let mut above: Vec<NodeId> = Vec::new();
        let mut folder = base;
        let mut hops = 0;
        self.files.folder(base)?;
        while let Some(part) = pending.pop() {
            self.meter.spend(price::PATH_PART)?;
            match part.as_str() {
                "." => continue,
                ".." => {
                    folder = above.pop().ok_or(Errno::NotPermitted)?;
                    continue;
                }
                _ => {}
            }
            let name = Name::new(&part).map_err(|error| match error {
                NameError::TooLong => Errno::NameTooLong,
                NameError::Invalid => Errno::Invalid,
            })?;
            let last = pending.is_empty();
            let found = self.lookup(folder, name.as_str())?;
            let Some(id) = found else {
                if last {
                    return Ok(Place { folder, name: Some(name), node: None, slash });
                }
                return Err(Errno::NoEntry.into());
            };
            let followed = !last || follow == Follow::Yes || (follow == Follow::No && slash);
            match &self.files.node(id).what {
                What::Link(target) if followed => {
                    hops += 1;
                    if hops > HOPS_MAX {
                        return Err(Errno::Loop.into());
                    }
                    if target.starts_with('/') {
                        return Err(Errno::NotPermitted.into());
                    }
                    slash |= last && target.ends_with('/');
                    pending.extend(parts(target));
                }
                What::Folder(_) if !last => {
                    above.push(folder);
                    folder = id;
                }
                What::Folder(_) => return Ok(Place { folder, name: Some(name), node: Some(id), slash }),
                What::Link(_) | What::File(_) if last => {
                    if slash && follow != Follow::Never {
                        return Err(Errno::NotDirectory.into());
                    }
                    return Ok(Place { folder, name: Some(name), node: Some(id), slash });
                }
                What::Link(_) | What::File(_) => return Err(Errno::NotDirectory.into()),
            }
        }
        Ok(Place { folder, name: None, node: Some(folder), slash })
    }
}

/// The parts of a path, last first.
fn parts(path: &str) -> Vec<String> {
    path.split('/').filter(|part| !part.is_empty()).rev().map(String::from).collect()
}

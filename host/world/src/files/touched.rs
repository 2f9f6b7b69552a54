//! What a run has looked at: so that whoever keeps the volumes as plain directories can ask whether somebody changed just that
//! meanwhile, at a cost that follows the run and not the volume.

use super::{FileSystem, NodeId, Slot, What};
use crate::World;
use alloc::collections::BTreeMap;
use alloc::string::String;
use alloc::vec::Vec;
use hutch_model::invocation::Access;

/// Paths of one volume, parts separated by `/`; the volume's top is the empty path.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Touched {
    /// Looked up, whether there or not; read or changed.
    pub paths: Vec<String>,
    /// Listed.
    pub folders: Vec<String>,
}

impl World {
    /// What the run has touched in each read-write volume. What it removed or renamed away is not listed: that is in the changes.
    pub fn touched(&self) -> BTreeMap<String, Touched> {
        let writable = self.files.volumes.iter().filter(|volume| volume.access == Access::ReadWrite);
        writable.map(|volume| (volume.name.clone(), touched_below(&self.files, volume.root))).collect()
    }
}

fn touched_below(files: &FileSystem, root: NodeId) -> Touched {
    let mut touched = Touched::default();
    let mut pending = alloc::vec![(String::new(), root)];
    while let Some((path, id)) = pending.pop() {
        let What::Folder(folder) = &files.node(id).what else { continue };
        let below = |name: &str| if path.is_empty() { name.into() } else { alloc::format!("{path}/{name}") };
        touched.paths.extend(folder.missed.iter().map(|name| below(name.as_str())));
        for (name, slot) in folder.entries.iter().flatten() {
            if let Slot::Live(child) = slot {
                let path: String = below(name.as_str());
                touched.paths.push(path.clone());
                pending.push((path, *child));
            }
        }
        if folder.listed {
            touched.folders.push(path);
        }
    }
    touched
}

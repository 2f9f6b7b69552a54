//! What a run has looked at: so that whoever keeps the volumes as plain directories can ask whether somebody changed just that
//! meanwhile, at a cost that follows the run and not the volume. It is a tree like the files, whose every name the run has been
//! counted memory for; paths written out would be as much longer as they are deep.

use super::{FileSystem, Folder, NodeId, Slot, What};
use crate::World;
use alloc::collections::BTreeMap;
use alloc::string::String;
use alloc::vec::Vec;
use hutch_model::invocation::Access;
use hutch_model::snapshot::{Name, Touched, TouchedName};

impl World {
    /// What the run has touched in each read-write volume. What it removed or renamed away is not listed: that is in the changes.
    pub fn touched(&self) -> BTreeMap<String, Touched> {
        let writable = self.files.volumes.iter().filter(|volume| volume.access == Access::ReadWrite);
        writable.map(|volume| (volume.name.clone(), touched_below(&self.files, volume.root))).collect()
    }
}

/// A folder that is being gone through: what is known of it, and what is left to look at.
struct Open<'a> {
    touched: Touched,
    left: Vec<(&'a Name, NodeId)>,
    /// The name that it has in the folder above.
    name: Option<&'a Name>,
}

impl<'a> Open<'a> {
    fn new(folder: &'a Folder, name: Option<&'a Name>) -> Open<'a> {
        let missed = folder.missed.iter().map(|name| TouchedName { name: name.clone(), below: None });
        let live = folder.known().filter_map(|(name, slot)| match slot {
            Slot::Live(id) => Some((name, *id)),
            Slot::Cold { .. } => None,
        });
        Open { touched: Touched { listed: folder.listed, names: missed.collect() }, left: live.collect(), name }
    }
}

/// Not by recursion: how deep folders lie is not for the stack to bear.
fn touched_below(files: &FileSystem, root: NodeId) -> Touched {
    let Ok(top) = files.folder(root) else { return Touched::default() };
    let mut open = Open::new(top, None);
    let mut above: Vec<Open<'_>> = Vec::new();
    loop {
        if let Some((name, id)) = open.left.pop() {
            match &files.node(id).what {
                What::Folder(folder) if folder.listed || folder.entries.is_some() => {
                    above.push(core::mem::replace(&mut open, Open::new(folder, Some(name))));
                }
                _ => open.touched.names.push(TouchedName { name: name.clone(), below: None }),
            }
            continue;
        }
        let (Some(mut outer), Some(name)) = (above.pop(), open.name) else { return open.touched };
        outer.touched.names.push(TouchedName { name: name.clone(), below: Some(open.touched) });
        open = outer;
    }
}

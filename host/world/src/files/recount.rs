//! Counts everything again that is counted as it changes. For tests, which alone call it: it costs as much as the world is large. A feature
//! for it would have everything above compiled again for them.

use super::quota::Usage;
use super::{NODE_BYTES, SLOT_BYTES, Slot, What, target_bytes};
use crate::World;
use alloc::collections::BTreeMap;
use alloc::format;
use alloc::string::String;
use hutch_model::invocation::Access;
use hutch_model::snapshot::Totals;

/// What a world holds and what its volumes amount to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Counts {
    /// Bytes of memory that are counted for files.
    pub memory_bytes: u64,
    /// Bytes of all files in read-write volumes, by their sizes, once for each name.
    pub state_bytes: u64,
    /// Files, folders and links in read-write volumes, by their names.
    pub state_files: u64,
}

impl World {
    /// The counters.
    pub fn counted(&self) -> Counts {
        let Usage { bytes, files } = self.usage();
        Counts { memory_bytes: self.meter.memory_bytes(), state_bytes: bytes, state_files: files }
    }

    /// What the counters should be.
    ///
    /// # Errors
    /// What is wrong with the table of nodes.
    pub fn recount(&self) -> Result<Counts, String> {
        let files = &self.files;
        let one = Totals { files: 1, ..Totals::default() };
        let mut counts = Counts { memory_bytes: 0, state_bytes: 0, state_files: 0 };
        let mut names: BTreeMap<_, u32> = files.volumes.iter().map(|volume| (volume.root, 1)).collect();
        for (at, node) in files.nodes.iter().enumerate() {
            let Some(node) = node else { continue };
            if node.names == 0 && node.handles == 0 {
                return Err(format!("node {at} is there for nothing"));
            }
            counts.memory_bytes += NODE_BYTES + node.what.memory_bytes();
            let What::Folder(folder) = &node.what else { continue };
            let volume = node.volume;
            // What a real folder held before counts for nothing, so there it is nodes that are counted, and not names.
            let counted =
                files.volumes[volume].access == Access::ReadWrite && !files.volumes[volume].real && node.names > 0;
            if let Some(entries) = &folder.entries {
                let mut unread = 0;
                entries.each_unread(&mut |part| {
                    unread += part.entries;
                    if counted {
                        counts.state_bytes += part.totals.bytes;
                        counts.state_files += part.totals.files;
                    }
                });
                if unread != entries.unread {
                    return Err(format!("{unread} entries were not read, and {} are counted", entries.unread));
                }
            }
            for (name, slot) in folder.known() {
                counts.memory_bytes += SLOT_BYTES + name.as_str().len() as u64;
                let totals = match slot {
                    Slot::Cold { node, .. } => {
                        counts.memory_bytes += target_bytes(node) as u64;
                        node.totals()
                    }
                    Slot::Live(id) => {
                        *names.entry(*id).or_default() += 1;
                        let inner = files.nodes[id.0].as_ref().ok_or_else(|| format!("{name} names no node"))?;
                        match &inner.what {
                            What::File(content) => Totals { bytes: content.size, ..one },
                            What::Folder(below) if below.parent.map(|id| id.0) != Some(at) => {
                                return Err(format!("the folder {name} is in another"));
                            }
                            What::Folder(below) if below.entries.is_none() => below.totals.plus(one),
                            What::Folder(_) | What::Link(_) => one,
                        }
                    }
                };
                if counted {
                    counts.state_bytes += totals.bytes;
                    counts.state_files += totals.files;
                }
            }
        }
        for volume in &files.volumes {
            counts.memory_bytes -= NODE_BYTES;
            if let What::Folder(folder) = &files.node(volume.root).what
                && folder.entries.is_none()
                && volume.access == Access::ReadWrite
            {
                counts.state_bytes += folder.totals.bytes;
                counts.state_files += folder.totals.files;
            }
        }
        for (at, node) in files.nodes.iter().enumerate() {
            let found = names.get(&super::NodeId(at)).copied().unwrap_or_default();
            let Some(node) = node else { continue };
            if node.names != found {
                return Err(format!("node {at} has {found} names, not those counted"));
            }
            let volume = &files.volumes[node.volume];
            if volume.real && volume.access == Access::ReadWrite && volume.root.0 != at {
                let (held, files_before) = (node.held_before.unwrap_or(0), u64::from(node.held_before.is_some()));
                let size = if let What::File(content) = &node.what { content.size } else { 0 };
                counts.state_bytes += (u64::from(found) * size).saturating_sub(held);
                counts.state_files += u64::from(found).saturating_sub(files_before);
            }
        }
        let free = files.nodes.iter().filter(|node| node.is_none()).count();
        if free != files.free.len() {
            return Err(format!("{free} places are free, and {} are listed", files.free.len()));
        }
        Ok(counts)
    }
}

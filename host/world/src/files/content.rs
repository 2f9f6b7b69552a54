//! The bytes of one file: those of its snapshot, with written chunks over them.

use super::{NodeId, What};
use crate::World;
use crate::failure::{Errno, Failure, Stop};
use crate::meter::price;
use alloc::collections::BTreeMap;
use alloc::sync::Arc;
use alloc::vec::Vec;
use hutch_model::digest::{Digest, Kind};
use hutch_model::snapshot::{CHUNK_BYTES, LIST_PARTS, decode_list, list_levels};

/// The smallest buffer of a written chunk.
const BUFFER_BYTES_MIN: usize = 256;

/// A file's bytes.
#[derive(Debug, Default)]
pub(super) struct Content {
    pub(super) size: u64,
    /// The content at the start of the run, if it had any.
    pub(super) base: Option<Base>,
    /// Chunks that were written, by number. A chunk shorter than its place ends in zeros.
    pub(super) written: BTreeMap<u64, Vec<u8>>,
}

/// Content in a snapshot.
#[derive(Debug, Clone, Copy)]
pub(super) struct Base {
    pub(super) content: Digest,
    pub(super) size: u64,
    /// Bytes from the start that are still the file's: less than `size` once it was cut.
    pub(super) visible: u64,
}

impl Content {
    pub(super) fn stored(size: u64, content: Digest) -> Content {
        let base = (size > 0).then_some(Base { content, size, visible: size });
        Content { size, base, written: BTreeMap::new() }
    }

    /// What it counts for in memory.
    pub(super) fn memory_bytes(&self) -> u64 {
        self.written.values().map(|chunk| chunk.capacity() as u64).sum()
    }

    /// Whether the bytes are still those of the snapshot.
    pub(super) fn is_stored(&self) -> bool {
        self.written.is_empty()
            && match self.base {
                Some(base) => base.visible == base.size && base.size == self.size,
                None => self.size == 0,
            }
    }
}

/// The bytes that chunk number `number` of a file of `size` bytes has.
pub(super) const fn chunk_length(size: u64, number: u64) -> u64 {
    let rest = size.saturating_sub(number.saturating_mul(CHUNK_BYTES));
    if rest < CHUNK_BYTES { rest } else { CHUNK_BYTES }
}

impl World {
    pub(super) fn content(&self, id: NodeId) -> Result<&Content, Errno> {
        match &self.files.node(id).what {
            What::File(content) => Ok(content),
            What::Folder(_) => Err(Errno::IsDirectory),
            What::Link(_) => Err(Errno::BadDescriptor),
        }
    }

    fn content_mut(&mut self, id: NodeId) -> Result<&mut Content, Errno> {
        match &mut self.files.node_mut(id).what {
            What::File(content) => Ok(content),
            What::Folder(_) => Err(Errno::IsDirectory),
            What::Link(_) => Err(Errno::BadDescriptor),
        }
    }

    /// Up to `length` bytes from `offset`; none at or after the end.
    pub(crate) fn file_read(&mut self, id: NodeId, offset: u64, length: u64) -> Result<Vec<u8>, Failure> {
        if i64::try_from(offset).is_err() {
            return Err(Errno::Invalid.into());
        }
        let end = self.content(id)?.size.min(offset.saturating_add(length));
        let mut bytes = Vec::new();
        let mut at = offset;
        while at < end {
            let number = at / CHUNK_BYTES;
            let from = (at % CHUNK_BYTES) as usize;
            let to = (end - number * CHUNK_BYTES).min(CHUNK_BYTES) as usize;
            let wanted = bytes.len() + (to - from);
            let content = self.content(id)?;
            if let Some(chunk) = content.written.get(&number) {
                bytes.extend_from_slice(chunk.get(from..to.min(chunk.len())).unwrap_or_default());
            } else if let Some(base) = content.base
                && at < base.visible
            {
                let chunk = self.base_chunk(&base, number)?;
                let to = to.min(chunk_length(base.visible, number) as usize);
                bytes.extend_from_slice(chunk.get(from..to).unwrap_or_default());
            }
            bytes.resize(wanted, 0);
            at = number * CHUNK_BYTES + to as u64;
        }
        Ok(bytes)
    }

    /// Writes all bytes at `offset`; a gap before them is zeros.
    pub(crate) fn file_write(&mut self, id: NodeId, offset: u64, bytes: &[u8]) -> Result<(), Failure> {
        let end = offset.checked_add(bytes.len() as u64).filter(|end| i64::try_from(*end).is_ok());
        let end = end.ok_or(Errno::Invalid)?;
        if bytes.is_empty() {
            return Ok(());
        }
        let size = self.content(id)?.size;
        let (first, last) = (offset / CHUNK_BYTES, (end - 1) / CHUNK_BYTES);
        if end > size {
            self.resize_quota(id, size, end)?;
        }
        for number in first..=last {
            let length = (end - number * CHUNK_BYTES).min(CHUNK_BYTES) as usize;
            if let Err(failure) = self.make_writable(id, number, length) {
                if end > size {
                    self.resize_quota(id, end, size)?;
                }
                return Err(failure);
            }
        }
        let now_ns = self.clock.wall_ns();
        let content = self.content_mut(id)?;
        content.size = content.size.max(end);
        let mut rest = bytes;
        let mut from = (offset % CHUNK_BYTES) as usize;
        for (_, chunk) in content.written.range_mut(first..=last) {
            let (part, after) = rest.split_at(rest.len().min(CHUNK_BYTES as usize - from));
            chunk[from..from + part.len()].copy_from_slice(part);
            (rest, from) = (after, 0);
        }
        let node = self.files.node_mut(id);
        (node.modified_ns, node.changed_ns) = (now_ns, now_ns);
        self.mark_changed(id);
        Ok(())
    }

    /// Writes all bytes at the end.
    pub(crate) fn file_append(&mut self, id: NodeId, bytes: &[u8]) -> Result<(), Failure> {
        let size = self.content(id)?.size;
        self.file_write(id, size, bytes)
    }

    /// Cuts the file, or makes it longer with zeros.
    pub(super) fn file_set_size(&mut self, id: NodeId, size: u64) -> Result<(), Failure> {
        if i64::try_from(size).is_err() {
            return Err(Errno::Invalid.into());
        }
        let before = self.content(id)?.size;
        self.resize_quota(id, before, size)?;
        let now_ns = self.clock.wall_ns();
        let content = self.content_mut(id)?;
        let mut returned = 0;
        if size < before {
            let gone = content.written.split_off(&size.div_ceil(CHUNK_BYTES));
            returned = gone.values().map(|chunk| chunk.capacity() as u64).sum();
            if let Some(chunk) = content.written.get_mut(&(size / CHUNK_BYTES)) {
                chunk.truncate((size % CHUNK_BYTES) as usize);
            }
            if let Some(base) = &mut content.base {
                base.visible = base.visible.min(size);
            }
        }
        content.size = size;
        self.meter.return_memory(returned);
        let node = self.files.node_mut(id);
        (node.modified_ns, node.changed_ns) = (now_ns, now_ns);
        self.mark_changed(id);
        Ok(())
    }

    /// Makes chunk `number` a written one of at least `length` bytes.
    fn make_writable(&mut self, id: NodeId, number: u64, length: usize) -> Result<(), Failure> {
        let content = self.content(id)?;
        let mut initial = None;
        if !content.written.contains_key(&number)
            && let Some(base) = content.base
        {
            let visible = chunk_length(base.visible, number) as usize;
            if visible > 0 {
                initial = Some((self.base_chunk(&base, number)?, visible));
            }
        }
        let content = self.content_mut(id)?;
        let mut chunk = content.written.remove(&number).unwrap_or_default();
        let stored = initial.as_ref().map_or(0, |(_, visible)| *visible);
        let needed = length.max(stored).max(chunk.len());
        let before = chunk.capacity();
        if needed > before {
            let capacity = needed.next_power_of_two().clamp(BUFFER_BYTES_MIN, CHUNK_BYTES as usize);
            if let Err(failure) = self.meter.take_memory_or_errno((capacity - before) as u64) {
                if before > 0 {
                    self.content_mut(id)?.written.insert(number, chunk);
                }
                return Err(failure);
            }
            chunk.reserve_exact(capacity - chunk.len());
            let allocated = (chunk.capacity() - capacity) as u64;
            debug_assert_eq!(allocated, 0, "the allocator gave more than was counted");
        }
        if let Some((bytes, visible)) = initial {
            chunk.extend_from_slice(bytes.get(..visible).unwrap_or_default());
        }
        chunk.resize(needed, 0);
        self.content_mut(id)?.written.insert(number, chunk);
        Ok(())
    }

    /// A chunk of the snapshot.
    pub(super) fn base_chunk(&mut self, base: &Base, number: u64) -> Result<Arc<[u8]>, Stop> {
        let digest = self.base_part(base, 0, number)?;
        let chunk = self.object(Kind::Chunk, &digest)?;
        if chunk.len() as u64 != chunk_length(base.size, number) {
            return Err(Stop::Fault(alloc::format!(
                "chunk {digest}: has {} bytes, not those of its place",
                chunk.len()
            )));
        }
        Ok(chunk)
    }

    /// The digest of part `number` at `level` of a file in the snapshot: chunks are level 0, lists of chunks level 1.
    pub(super) fn base_part(&mut self, base: &Base, level: u32, number: u64) -> Result<Digest, Stop> {
        let mut digest = base.content;
        for above in (level..list_levels(base.size)).rev() {
            let bytes = self.object(Kind::List, &digest)?;
            let place = (number / LIST_PARTS.pow(above - level)) % LIST_PARTS;
            let part = decode_list(&bytes).and_then(|parts| parts.get(place as usize).copied());
            digest = part.ok_or_else(|| Stop::Fault(alloc::format!("list {digest}: has no part {place}")))?;
            self.meter.spend(price::CALL)?;
        }
        Ok(digest)
    }
}

//! The bytes of one file: those of its snapshot, with written chunks over them.

use super::{NodeId, What};
use crate::World;
use crate::failure::{Errno, Failure, Stop};
use crate::meter::price;
use alloc::collections::BTreeMap;
use alloc::sync::Arc;
use alloc::vec::Vec;
use hutch_model::digest::{Digest, Kind};
use hutch_model::snapshot::{CHUNK_BYTES, LIST_PARTS, ObjectError, list_levels};

/// The smallest buffer of a written chunk.
pub(crate) const BUFFER_BYTES_MIN: usize = 256;

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
        self.written.iter().map(|(number, chunk)| counted(*number, chunk.capacity(), self.size)).sum()
    }

    /// Bytes of chunk `number` that are to be had from the snapshot: none if it was written.
    fn stored_bytes(&self, number: u64) -> usize {
        match self.base {
            Some(base) if !self.written.contains_key(&number) => chunk_length(base.visible, number) as usize,
            _ => 0,
        }
    }

    /// The size of chunk `number`'s buffer once it has been written up to `length`.
    fn capacity(&self, number: u64, length: usize) -> usize {
        let before = self.written.get(&number).map_or(0, Vec::capacity);
        let needed = length.max(self.stored_bytes(number));
        if needed <= before {
            return before;
        }
        needed.next_power_of_two().clamp(BUFFER_BYTES_MIN, CHUNK_BYTES as usize)
    }

    /// What writing chunk `number` up to `length` adds to memory, in a file that has `size` bytes then.
    fn growth(&self, number: u64, length: usize, size: u64) -> u64 {
        let before = self.written.get(&number).map_or(0, |chunk| counted(number, chunk.capacity(), self.size));
        counted(number, self.capacity(number, length), size) - before
    }

    /// The written chunk in which the file ends, and what it counts for more when the file grows to `size` bytes.
    fn end_growth(&self, size: u64) -> (Option<u64>, u64) {
        let last = self.size.checked_sub(1).map(|at| at / CHUNK_BYTES);
        let last = last.and_then(|number| Some((number, self.written.get(&number)?.capacity())));
        let more = last.map_or(0, |(number, held)| counted(number, held, size) - counted(number, held, self.size));
        (last.map(|(number, _)| number), more)
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

/// What a written chunk with a buffer of `capacity` bytes counts for in a file of `size` bytes: all that it becomes when it is
/// stored, however little of it was written.
const fn counted(number: u64, capacity: usize, size: u64) -> u64 {
    let stored = chunk_length(size, number);
    if stored > capacity as u64 { stored } else { capacity as u64 }
}

/// The bytes that chunk number `number` of a file of `size` bytes has.
pub(super) const fn chunk_length(size: u64, number: u64) -> u64 {
    let rest = size.saturating_sub(number.saturating_mul(CHUNK_BYTES));
    if rest < CHUNK_BYTES { rest } else { CHUNK_BYTES }
}

/// Chunks, or lists at a level, that a file of `size` bytes has.
pub(super) const fn part_count(size: u64, level: u32) -> u64 {
    size.div_ceil(CHUNK_BYTES).div_ceil(LIST_PARTS.pow(level))
}

impl World {
    pub(super) fn content(&self, id: NodeId) -> Result<&Content, Errno> {
        match &self.files.node(id).what {
            What::File(content) => Ok(content),
            What::Folder(_) => Err(Errno::IsDirectory),
            What::Link(_) => Err(Errno::BadDescriptor),
        }
    }

    pub(super) fn content_mut(&mut self, id: NodeId) -> Result<&mut Content, Errno> {
        match &mut self.files.node_mut(id).what {
            What::File(content) => Ok(content),
            What::Folder(_) => Err(Errno::IsDirectory),
            What::Link(_) => Err(Errno::BadDescriptor),
        }
    }

    /// Up to `length` bytes from `offset`; none at or after the end.
    pub(crate) fn file_read(&mut self, id: NodeId, offset: u64, length: u64) -> Result<Vec<u8>, Failure> {
        let end = offset.checked_add(length).filter(|end| i64::try_from(*end).is_ok()).ok_or(Errno::Invalid)?;
        let end = self.content(id)?.size.min(end);
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
        let length = |number: u64| (end - number * CHUNK_BYTES).min(CHUNK_BYTES) as usize;
        let content = self.content(id)?;
        let grown: u64 = (first..=last).map(|number| content.growth(number, length(number), size.max(end))).sum();
        let grown = grown
            + match content.end_growth(size.max(end)) {
                (Some(number), more) if number < first => more,
                _ => 0,
            };
        if let Err(failure) = self.meter.take_memory_or_errno(grown) {
            if end > size {
                self.resize_quota(id, end, size)?;
            }
            return Err(failure);
        }
        for number in first..=last {
            self.make_writable(id, number, length(number))?;
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
        if size > before {
            let (_, more) = self.content(id)?.end_growth(size);
            if let Err(failure) = self.meter.take_memory_or_errno(more) {
                self.resize_quota(id, size, before)?;
                return Err(failure);
            }
        }
        let now_ns = self.clock.wall_ns();
        let content = self.content_mut(id)?;
        let mut returned = 0;
        if size < before {
            let gone = content.written.split_off(&size.div_ceil(CHUNK_BYTES));
            returned = gone.iter().map(|(number, chunk)| counted(*number, chunk.capacity(), before)).sum();
            let number = size / CHUNK_BYTES;
            if let Some(chunk) = content.written.get_mut(&number) {
                returned += counted(number, chunk.capacity(), before) - counted(number, chunk.capacity(), size);
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

    /// Makes chunk `number` a written one of at least `length` bytes. Its memory has been taken.
    fn make_writable(&mut self, id: NodeId, number: u64, length: usize) -> Result<(), Stop> {
        let content = self.content(id).map_err(no_file)?;
        let (base, stored) = (content.base, content.stored_bytes(number));
        let capacity = content.capacity(number, length);
        let before = content.written.get(&number).map_or(0, Vec::len);
        let needed = length.max(stored).max(before);
        // What is not written is filled.
        self.meter.spend((needed - before) as u64 * price::BYTE)?;
        let initial = match base.filter(|_| stored > 0) {
            Some(base) => Some(self.base_chunk(&base, number)?),
            None => None,
        };
        let chunk = self.content_mut(id).map_err(no_file)?.written.entry(number).or_default();
        chunk.reserve_exact(capacity - chunk.len());
        debug_assert_eq!(chunk.capacity(), capacity, "the allocator gave more than was counted");
        if let Some(bytes) = initial {
            chunk.extend_from_slice(bytes.get(..stored).unwrap_or_default());
        }
        chunk.resize(needed, 0);
        Ok(())
    }

    /// Takes the bytes of chunk `number` out of a file to store them. Their memory is the caller's to count from now on.
    pub(super) fn take_chunk(&mut self, id: NodeId, number: u64) -> Result<Vec<u8>, Stop> {
        let content = self.content_mut(id).map_err(no_file)?;
        let (size, length) = (content.size, chunk_length(content.size, number));
        let Some(mut chunk) = content.written.remove(&number) else {
            return self.file_read(id, number * CHUNK_BYTES, length).map_err(stopped);
        };
        self.meter.return_memory(counted(number, chunk.capacity(), size));
        chunk.reserve_exact((length as usize).saturating_sub(chunk.len()));
        chunk.resize(length as usize, 0);
        Ok(chunk)
    }

    /// A chunk of the snapshot.
    pub(super) fn base_chunk(&mut self, base: &Base, number: u64) -> Result<Arc<[u8]>, Stop> {
        let digest = self.base_part(base, 0, number)?;
        let chunk = self.object(Kind::Chunk, &digest)?;
        if chunk.len() as u64 != chunk_length(base.size, number) {
            let reason = alloc::format!("has {} bytes, not those of its place", chunk.len());
            return Err(ObjectError::damaged(Kind::Chunk, digest, reason).into());
        }
        Ok(chunk)
    }

    /// The digest of part `number` at `level` of a file in the snapshot: chunks are level 0, lists of chunks level 1.
    pub(super) fn base_part(&mut self, base: &Base, level: u32, number: u64) -> Result<Digest, Stop> {
        let mut digest = base.content;
        for below in (level..list_levels(base.size)).rev() {
            let bytes = self.object(Kind::List, &digest)?;
            // Which of all parts below this list's level, and so how many are in its list.
            let part = number / LIST_PARTS.pow(below - level);
            let parts = part_count(base.size, below).saturating_sub(part - part % LIST_PARTS).min(LIST_PARTS);
            let (found, rest) = bytes.as_chunks::<32>();
            if found.len() as u64 != parts || !rest.is_empty() {
                let reason = alloc::format!("has {} bytes, not those of its place", bytes.len());
                return Err(ObjectError::damaged(Kind::List, digest, reason).into());
            }
            let found = found.get((part % LIST_PARTS) as usize).copied();
            let found =
                found.ok_or_else(|| ObjectError::damaged(Kind::List, digest, alloc::format!("has no part {part}")))?;
            digest = Digest::from_bytes(found);
            self.meter.spend(price::CALL)?;
        }
        Ok(digest)
    }
}

/// Where nobody is there to handle an error any more.
pub(super) fn stopped(failure: Failure) -> Stop {
    match failure {
        Failure::Stop(stop) => stop,
        Failure::Errno(errno) => Stop::Fault(alloc::format!("{errno:?} while state was named")),
    }
}

/// Who asks has looked already.
pub(super) fn no_file(errno: Errno) -> Stop {
    Stop::Fault(alloc::format!("{errno:?} within a file"))
}

//! The guest's memory, as its calls name it: a pointer out of bounds, or not aligned where the specification wants it to be, is a trap.

use super::answer::{Errno, Fail};
use hutch_world::Stop;
use std::ops::Range;

const OUT_OF_BOUNDS: Stop = Stop::Trap("pointer_out_of_bounds");
const UNALIGNED: Stop = Stop::Trap("unaligned_pointer");

/// All of it.
pub(super) struct Bytes<'a>(pub(super) &'a mut [u8]);

impl Bytes<'_> {
    fn range(&self, at: u32, length: u32) -> Result<Range<usize>, Stop> {
        let at = at as usize;
        let end = at.checked_add(length as usize).filter(|end| *end <= self.0.len()).ok_or(OUT_OF_BOUNDS)?;
        Ok(at..end)
    }

    /// So many bytes.
    pub(super) fn part(&self, at: u32, length: u32) -> Result<&[u8], Stop> {
        self.0.get(self.range(at, length)?).ok_or(OUT_OF_BOUNDS)
    }

    /// So many bytes, to be written.
    pub(super) fn part_mut(&mut self, at: u32, length: u32) -> Result<&mut [u8], Stop> {
        let range = self.range(at, length)?;
        self.0.get_mut(range).ok_or(OUT_OF_BOUNDS)
    }

    /// Text of so many bytes.
    pub(super) fn text(&self, at: u32, length: u32) -> Result<&str, Fail> {
        std::str::from_utf8(self.part(at, length)?).map_err(|_| Errno::NotText.into())
    }

    /// Puts bytes there.
    pub(super) fn put(&mut self, at: u32, bytes: &[u8]) -> Result<(), Stop> {
        let length = u32::try_from(bytes.len()).map_err(|_| OUT_OF_BOUNDS)?;
        self.part_mut(at, length)?.copy_from_slice(bytes);
        Ok(())
    }

    /// The bytes there, which need this alignment. What is made of several fields is read once: a place in it is one in these bytes, and
    /// no sum of places in a memory that may end where such a sum does.
    pub(super) fn record<const N: usize>(&self, at: u32, alignment: u32) -> Result<[u8; N], Stop> {
        if !at.is_multiple_of(alignment) {
            return Err(UNALIGNED);
        }
        self.0.get(at as usize..).and_then(|rest| rest.first_chunk()).copied().ok_or(OUT_OF_BOUNDS)
    }

    pub(super) fn put_u32(&mut self, at: u32, value: u32) -> Result<(), Stop> {
        self.put_record(at, 4, &value.to_le_bytes())
    }

    pub(super) fn put_u64(&mut self, at: u32, value: u64) -> Result<(), Stop> {
        self.put_record(at, 8, &value.to_le_bytes())
    }

    /// Puts bytes there that need this alignment.
    pub(super) fn put_record(&mut self, at: u32, alignment: u32, bytes: &[u8]) -> Result<(), Stop> {
        if !at.is_multiple_of(alignment) {
            return Err(UNALIGNED);
        }
        self.put(at, bytes)
    }

    /// The next place in a list that begins at `at`.
    pub(super) fn element(at: u32, number: u32, size: u32) -> Result<u32, Stop> {
        number.checked_mul(size).and_then(|offset| at.checked_add(offset)).ok_or(OUT_OF_BOUNDS)
    }
}

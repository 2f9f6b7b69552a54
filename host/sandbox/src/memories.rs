//! Memory for guests that is mapped once and used again: mapping it, a fault for each page that is touched, and giving it all back take
//! a fifth of a short call. What is kept is zero: it is cleaned as soon as its guest is gone, and unmapped if that can't be done. It knows
//! no guest.
//!
//! The engine has a pool too. It was not taken because its tables end where their room does, which a guest that lets one grow can notice,
//! and because who comes when all of it is in use is refused.

use rustix::mm::{Advice, MapFlags, MprotectFlags, ProtFlags, madvise, mmap_anonymous, mprotect, munmap};
use std::ffi::c_void;
use std::io;
use std::ops::Range;
use std::ptr::null_mut;
use std::sync::{Arc, LazyLock, Mutex, PoisonError};
use wasmtime::{LinearMemory, MemoryCreator, MemoryType};

/// Mappings that are kept while nobody has them. More are made where more are asked for.
const IDLE_MAX: usize = 16;

/// What all of them together may keep of the machine's memory.
const KEPT_BYTES_MAX: usize = 16 << 20;

/// No page is smaller.
const PAGE_BYTES_MIN: usize = 4096;

/// What the system maps at once, as libc says: rustix would look for the vDSO too, at an address that a program run by valgrind has not.
#[allow(unsafe_code, reason = "nothing safe says it without the vDSO")]
fn page_bytes() -> usize {
    // SAFETY: it reads a number.
    let bytes = unsafe { libc::sysconf(libc::_SC_PAGESIZE) };
    usize::try_from(bytes).unwrap_or(PAGE_BYTES_MIN)
}

/// What is kept for all guests of this process.
pub(crate) fn shared() -> Option<Arc<dyn MemoryCreator>> {
    static SHARED: LazyLock<Arc<Memories>> = LazyLock::new(Arc::default);
    Some(Arc::new(Door(Arc::clone(&SHARED))))
}

#[derive(Default)]
struct Memories {
    idle: Mutex<Vec<Mapping>>,
}

struct Door(Arc<Memories>);

/// One memory of one guest.
struct Memory {
    /// Until it is dropped.
    mapping: Option<Mapping>,
    size: usize,
    home: Arc<Memories>,
}

/// Addresses for one memory, with a guard before and behind; of the memory its first bytes can be accessed. Owns them.
struct Mapping {
    start: *mut c_void,
    layout: Layout,
    accessible: usize,
    /// Beyond so many, all is zero: what is accessible is not.
    extent: usize,
    /// What it takes of the machine's memory while nobody has it.
    resident: usize,
}

#[derive(Clone, Copy, PartialEq, Eq)]
struct Layout {
    reserved: usize,
    guard: usize,
}

impl Memories {
    fn take(&self, layout: Layout) -> Option<Mapping> {
        let mut idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner);
        let at = idle.iter().rposition(|mapping| mapping.layout == layout)?;
        Some(idle.remove(at))
    }

    /// Keeps a mapping for the next guest, if there is room.
    fn put(&self, mut mapping: Mapping) {
        let room = |idle: &[Mapping]| {
            let kept: usize = idle.iter().map(|mapping| mapping.resident).sum();
            if idle.len() < IDLE_MAX { KEPT_BYTES_MAX.saturating_sub(kept) } else { 0 }
        };
        let lock = || self.idle.lock().unwrap_or_else(PoisonError::into_inner);
        let keep = room(&lock());
        if keep == 0 || mapping.clean(keep).is_err() {
            return;
        }
        let mut idle = lock();
        if mapping.resident <= room(&idle) && idle.len() < IDLE_MAX {
            idle.push(mapping);
        }
    }
}

#[allow(unsafe_code, reason = "the engine trusts memory that it is given; this is where that trust is earned")]
// SAFETY: what is made is zero, begins at a page, has the reservation and the guard that are asked for, is in nobody else's hands, and is
// changed by nobody but the engine until the engine drops it.
unsafe impl MemoryCreator for Door {
    fn new_memory(
        &self,
        _: MemoryType,
        minimum: usize,
        _: Option<usize>,
        reserved: Option<usize>,
        guard: usize,
    ) -> Result<Box<dyn LinearMemory>, String> {
        let layout = Layout { reserved: reserved.unwrap_or(0), guard };
        let mut mapping = match self.0.take(layout) {
            Some(mapping) => mapping,
            None => Mapping::new(layout).map_err(|error| format!("no memory can be mapped: {error}"))?,
        };
        mapping.allow(minimum).map_err(|error| format!("no memory of {minimum} bytes: {error}"))?;
        Ok(Box::new(Memory { mapping: Some(mapping), size: minimum, home: Arc::clone(&self.0) }))
    }
}

#[allow(unsafe_code, reason = "the engine trusts memory that it is given; this is where that trust is earned")]
// SAFETY: it never moves, of its reservation nothing beyond its size, rounded up to a page, can be accessed, and neither can the guards.
unsafe impl LinearMemory for Memory {
    fn byte_size(&self) -> usize {
        self.size
    }

    fn byte_capacity(&self) -> usize {
        self.mapping.as_ref().map_or(0, |mapping| mapping.layout.reserved)
    }

    fn grow_to(&mut self, new_size: usize) -> wasmtime::Result<()> {
        let mapping = self.mapping.as_mut().ok_or_else(|| wasmtime::Error::msg("the memory is gone"))?;
        mapping.allow(new_size.max(self.size))?;
        self.size = new_size.max(self.size);
        Ok(())
    }

    fn as_ptr(&self) -> *mut u8 {
        self.mapping.as_ref().map_or(null_mut(), |mapping| mapping.at(0).cast())
    }
}

impl Drop for Memory {
    fn drop(&mut self) {
        if let Some(mapping) = self.mapping.take() {
            self.home.put(mapping);
        }
    }
}

#[allow(unsafe_code, reason = "a mapping is an address")]
// SAFETY: it owns what it points to.
unsafe impl Send for Mapping {}

#[allow(unsafe_code, reason = "a mapping is an address")]
// SAFETY: nothing of it is read or written through a shared reference.
unsafe impl Sync for Mapping {}

#[allow(unsafe_code, reason = "nothing safe maps memory")]
impl Mapping {
    fn new(layout: Layout) -> io::Result<Mapping> {
        let length = Mapping::length(layout).ok_or(io::ErrorKind::OutOfMemory)?;
        let flags = MapFlags::PRIVATE | MapFlags::NORESERVE;
        // SAFETY: the system chooses the addresses, so nothing else is there.
        let start = unsafe { mmap_anonymous(null_mut(), length, ProtFlags::empty(), flags) }?;
        Ok(Mapping { start, layout, accessible: 0, extent: 0, resident: 0 })
    }

    fn length(layout: Layout) -> Option<usize> {
        layout.guard.checked_mul(2)?.checked_add(layout.reserved)
    }

    /// Where a byte of the memory is.
    fn at(&self, offset: usize) -> *mut c_void {
        self.start.wrapping_byte_add(self.layout.guard + offset)
    }

    /// Lets the first bytes be accessed, rounded up to a page, and none beyond.
    fn allow(&mut self, bytes: usize) -> io::Result<()> {
        let bytes = bytes.checked_next_multiple_of(page_bytes()).ok_or(io::ErrorKind::OutOfMemory)?;
        if bytes > self.layout.reserved {
            return Err(io::ErrorKind::OutOfMemory.into());
        }
        let (changed, protection) = match bytes < self.accessible {
            true => (bytes..self.accessible, MprotectFlags::empty()),
            false => (self.accessible..bytes, MprotectFlags::READ | MprotectFlags::WRITE),
        };
        if !changed.is_empty() {
            // SAFETY: these pages are this mapping's.
            unsafe { mprotect(self.at(changed.start), changed.len(), protection) }?;
            self.accessible = bytes;
        }
        // Also where nothing changed: of what was accessible, less may have been kept.
        self.extent = self.extent.max(bytes);
        Ok(())
    }

    /// Makes all of it zero, and gives back to the system what was not touched and what is beyond `keep` bytes.
    fn clean(&mut self, keep: usize) -> io::Result<()> {
        let page = page_bytes();
        let looked_at = self.extent.min(keep / page * page);
        // Nothing is allocated here: there may be no memory.
        let mut touched = [0; KEPT_BYTES_MAX / PAGE_BYTES_MIN];
        let touched = touched.get_mut(..looked_at / page).ok_or(io::ErrorKind::OutOfMemory)?;
        // SAFETY: these pages are this mapping's, and there is a byte for each.
        if looked_at > 0 && unsafe { libc::mincore(self.at(0), looked_at, touched.as_mut_ptr()) } != 0 {
            return Err(io::Error::last_os_error());
        }
        self.resident = 0;
        let mut at = 0;
        for run in touched.chunk_by(|one, next| (one & 1) == (next & 1)) {
            let bytes = at..at + run.len() * page;
            at = bytes.end;
            if run.first().is_some_and(|one| one & 1 == 1) {
                self.resident += bytes.len();
                // What can't be accessed was clean when it was taken from.
                let used = bytes.start..bytes.end.min(self.accessible);
                // SAFETY: these pages are this mapping's and can be accessed, and nobody else has them.
                unsafe { self.at(used.start).cast::<u8>().write_bytes(0, used.len()) };
            } else {
                // Not in memory is not untouched: it may have been swapped out.
                self.give_back(bytes)?;
            }
        }
        self.give_back(looked_at..self.extent)?;
        self.extent = looked_at;
        Ok(())
    }

    /// What is given back is zero when it is touched again.
    fn give_back(&self, bytes: Range<usize>) -> io::Result<()> {
        if bytes.is_empty() {
            return Ok(());
        }
        // SAFETY: these pages are this mapping's, and nobody reads what they hold.
        Ok(unsafe { madvise(self.at(bytes.start), bytes.len(), Advice::LinuxDontNeed) }?)
    }
}

#[allow(unsafe_code, reason = "nothing safe unmaps memory")]
impl Drop for Mapping {
    fn drop(&mut self) {
        let length = Mapping::length(self.layout).unwrap_or(0);
        // SAFETY: all of it is this mapping's, and who had it has dropped it.
        let _ = unsafe { munmap(self.start, length) };
    }
}

#[cfg(test)]
#[allow(unsafe_code, reason = "tests write where a guest would")]
mod tests {
    use super::*;
    use std::os::fd::AsRawFd;

    const LAYOUT: Layout = Layout { reserved: 64 << 20, guard: 1 << 20 };

    fn page() -> usize {
        page_bytes()
    }

    /// What a guest sees of a mapping.
    fn bytes(mapping: &mut Mapping) -> &mut [u8] {
        // SAFETY: so much can be accessed, and nobody else has it.
        unsafe { std::slice::from_raw_parts_mut(mapping.at(0).cast(), mapping.accessible) }
    }

    /// As for a guest whose memory has so many bytes.
    fn taken(memories: &Memories, size: usize) -> Mapping {
        let mut mapping = memories.take(LAYOUT).unwrap_or_else(|| Mapping::new(LAYOUT).unwrap());
        mapping.allow(size).unwrap();
        mapping
    }

    /// Whether the system would read a byte of it.
    fn is_readable(mapping: &Mapping, at: isize) -> bool {
        let file = tempfile::tempfile().unwrap();
        let at = mapping.start.wrapping_byte_add(LAYOUT.guard).wrapping_byte_offset(at);
        // SAFETY: the system looks whether it can be read, and says so.
        unsafe { libc::write(file.as_raw_fd(), at, 1) == 1 }
    }

    fn in_memory(mapping: &Mapping) -> usize {
        let mut pages = vec![0; LAYOUT.reserved / page()];
        // SAFETY: all of it is this mapping's, and there is a byte for each page.
        assert_eq!(unsafe { libc::mincore(mapping.at(0), LAYOUT.reserved, pages.as_mut_ptr()) }, 0);
        pages.iter().filter(|one| *one & 1 == 1).count() * page()
    }

    #[test]
    fn what_is_taken_again_is_zero_however_much_of_it_the_ones_before_had() {
        let memories = Memories::default();
        let sizes = [40, 1, 40, 3, 2, 64, 1, 1, 64, 5_000, 64, 5_000].map(|pages| pages * page());
        let first = taken(&memories, 1);
        let start = first.start;
        memories.put(first);
        for (round, size) in sizes.into_iter().enumerate() {
            let mut mapping = taken(&memories, size / 2);
            mapping.allow(size).unwrap();
            assert!(mapping.start == start, "it is another one");
            assert!(bytes(&mut mapping).iter().all(|byte| *byte == 0), "round {round} is dirty");
            // Not all of it: there are holes.
            for (at, page) in bytes(&mut mapping).chunks_mut(page()).enumerate() {
                page.fill(if at % 3 == round % 3 { 0 } else { 170 });
            }
            memories.put(mapping);
        }
    }

    /// Guests of few sizes, so that many ask for just what a mapping lets them access already, and so many at once that what is kept of a
    /// mapping is often less than that.
    #[test]
    fn what_is_taken_again_is_zero_when_little_of_it_was_kept() {
        let memories = Memories::default();
        let mut chosen = 7_u32;
        let mut choose = |count: usize| {
            chosen = chosen.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (chosen >> 16) as usize % count
        };
        let mut held = Vec::new();
        for round in 0..2_000 {
            if held.len() < 12 {
                let mut mapping = taken(&memories, [16, 32, 700][choose(3)] * page());
                assert!(bytes(&mut mapping).iter().all(|byte| *byte == 0), "round {round} is dirty");
                if choose(2) == 0 {
                    mapping.allow(700 * page()).unwrap();
                    assert!(bytes(&mut mapping).iter().all(|byte| *byte == 0), "round {round} is dirty after it grew");
                }
                bytes(&mut mapping).fill(170);
                held.push(mapping);
            }
            while held.len() > choose(13) {
                memories.put(held.swap_remove(choose(held.len())));
            }
        }
    }

    #[test]
    fn nothing_beyond_a_size_can_be_reached_whatever_was_there_before() {
        let memories = Memories::default();
        for pages in [10, 2, 5, 0, 1] {
            let mapping = taken(&memories, pages * page());
            let end = isize::try_from(pages * page()).unwrap();
            assert!(pages == 0 || is_readable(&mapping, end - 1));
            assert!(!is_readable(&mapping, end), "beyond {pages} pages");
            assert!(!is_readable(&mapping, -1), "before the first");
            assert!(!is_readable(&mapping, isize::try_from(LAYOUT.reserved).unwrap()));
            memories.put(mapping);
        }
        let mut mapping = taken(&memories, 0);
        assert!(mapping.allow(LAYOUT.reserved + 1).is_err() && mapping.allow(usize::MAX).is_err());
        memories.put(mapping);
        assert!(memories.take(Layout { guard: 2 << 20, ..LAYOUT }).is_none());
        assert!(memories.take(LAYOUT).is_some());
    }

    #[test]
    fn what_is_kept_is_bounded_and_is_what_is_said() {
        let memories = Memories::default();
        for size in [1 << 20, 9 << 20, 0, 20 << 20, 64 << 10] {
            let mut taken: Vec<Mapping> = (0..2 * IDLE_MAX).map(|_| taken(&memories, size)).collect();
            for mapping in &mut taken {
                bytes(mapping).fill(170);
            }
            taken.into_iter().for_each(|mapping| memories.put(mapping));
            let idle = memories.idle.lock().unwrap();
            assert!(idle.len() <= IDLE_MAX, "{} are kept", idle.len());
            let kept: usize = idle.iter().map(|mapping| mapping.resident).sum();
            assert!(kept <= KEPT_BYTES_MAX, "{kept} bytes are kept");
            assert_eq!(idle.iter().map(in_memory).sum::<usize>(), kept);
        }
    }
}

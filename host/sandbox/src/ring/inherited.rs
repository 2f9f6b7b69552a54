//! What a process inherits of whoever started it and what a run has no use for: descriptors that nobody named, a picture of its memory when
//! it ends badly, and being looked into by the user's other programs. Knows no command line: what is named is said by who calls.

/// Closes what was open when this process was started, but the standard streams and what is `kept`. Called before this process opens
/// anything itself, which would be closed too.
pub fn close(kept: &[i32]) {
    #[cfg(target_os = "linux")]
    linux::close(kept);
    #[cfg(not(target_os = "linux"))]
    let _ = kept;
}

/// Leaves no picture of this process's memory, and lets no other program of the user's look into it, for good.
///
/// # Errors
/// The system refuses.
pub(crate) fn hide() -> std::io::Result<()> {
    #[cfg(target_os = "linux")]
    linux::hide()?;
    Ok(())
}

#[cfg(target_os = "linux")]
mod linux {
    use rustix::process::{DumpableBehavior, Resource, Rlimit, set_dumpable_behavior, setrlimit};
    use std::io;

    /// The first that is no standard stream.
    const FIRST: u32 = 3;

    pub(super) fn close(kept: &[i32]) {
        let mut kept: Vec<u32> = kept.iter().filter_map(|one| u32::try_from(*one).ok()).collect();
        kept.sort_unstable();
        let mut from = FIRST;
        for one in kept.into_iter().filter(|one| *one >= FIRST) {
            if one > from {
                close_between(from, one - 1);
            }
            from = from.max(one.saturating_add(1));
        }
        close_between(from, u32::MAX);
    }

    #[allow(unsafe_code, reason = "nothing safe closes what nobody in this process owns")]
    fn close_between(first: u32, last: u32) {
        // A system without the call, which came with Linux 5.9, keeps them open: they are then as they were.
        // SAFETY: the call reads no memory. Nothing in this process owns a descriptor yet, says the contract of `close`.
        unsafe { libc::syscall(libc::SYS_close_range, first, last, 0) };
    }

    pub(super) fn hide() -> io::Result<()> {
        setrlimit(Resource::Core, Rlimit { current: Some(0), maximum: Some(0) })?;
        Ok(set_dumpable_behavior(DumpableBehavior::NotDumpable)?)
    }
}

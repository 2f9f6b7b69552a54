//! What a process that stays does with memory that it needs no more. Knows nothing of what it was for.

/// From now on it goes back to the system. Of itself the allocator keeps the more of it the larger the blocks are that are freed: a server that
/// once had much to answer would hold that for good.
pub(crate) fn give_back() {
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    #[allow(unsafe_code, reason = "nothing safe says what the allocator keeps")]
    // SAFETY: it sets two numbers of the allocator's own, under its lock.
    unsafe {
        const KEPT_BYTES: libc::c_int = 128 << 10;
        libc::mallopt(libc::M_TRIM_THRESHOLD, KEPT_BYTES);
    }
}

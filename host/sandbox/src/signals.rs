//! What the system ends a process with where it could have said an error. Knows nothing of who writes what.

/// From now on a file that would grow beyond what this process may write is an error of the one who writes it.
pub fn outlive_file_limits() {
    #[cfg(unix)]
    #[allow(unsafe_code, reason = "nothing safe says what becomes of a signal")]
    // SAFETY: no code of this process runs for a signal that is ignored.
    unsafe {
        libc::signal(libc::SIGXFSZ, libc::SIG_IGN);
    }
}

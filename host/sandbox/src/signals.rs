//! What the system ends a process with where it could have said an error. Knows nothing of who writes what.

/// From now on a file that would grow beyond what this process may write is an error of the one who writes it. Programs that it starts end as
/// they would have: they inherit what is ignored, and nothing of what is answered.
pub fn outlive_file_limits() {
    #[cfg(unix)]
    extern "C" fn nothing(_: libc::c_int) {}
    #[cfg(unix)]
    #[allow(unsafe_code, reason = "nothing safe says what becomes of a signal")]
    // SAFETY: what runs for it does nothing, wherever it comes.
    unsafe {
        libc::signal(libc::SIGXFSZ, nothing as *const () as libc::sighandler_t);
    }
}

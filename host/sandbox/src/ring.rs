//! The ring around the compiling child: the system calls that a compiler needs, and no others. What breaks out of the compiler's code
//! finds itself in a process that can open nothing, start nothing and reach nobody. Knows nothing of compiling.
//!
//! Linux on x86-64 and 64-bit ARM. Elsewhere, and where the kernel has no filter, there is none, and [`is_there`] says so.

#[cfg(all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64")))]
mod linux {
    use seccompiler::{
        BpfProgram, SeccompAction, SeccompCmpArgLen::Dword, SeccompCmpOp, SeccompCondition, SeccompFilter, SeccompRule,
    };
    use std::io;

    /// Memory, threads, ending. Nothing is read: the component was before.
    const ALLOWED: &[i64] = &[
        libc::SYS_close,
        libc::SYS_brk,
        libc::SYS_munmap,
        libc::SYS_mremap,
        libc::SYS_mprotect,
        libc::SYS_madvise,
        libc::SYS_futex,
        libc::SYS_rseq,
        libc::SYS_set_robust_list,
        libc::SYS_sched_getaffinity,
        libc::SYS_sched_yield,
        libc::SYS_clock_gettime,
        libc::SYS_clock_nanosleep,
        libc::SYS_nanosleep,
        libc::SYS_getrandom,
        libc::SYS_getpid,
        libc::SYS_gettid,
        libc::SYS_rt_sigaction,
        libc::SYS_rt_sigprocmask,
        libc::SYS_rt_sigreturn,
        libc::SYS_sigaltstack,
        libc::SYS_exit,
        libc::SYS_exit_group,
    ];

    /// The name of a memory area, which allocators give: `PR_SET_VMA`.
    const PR_SET_VMA: u64 = 0x5356_4d41;

    fn rule(argument: u8, operator: SeccompCmpOp, value: u64) -> Result<SeccompRule, seccompiler::BackendError> {
        SeccompRule::new(vec![SeccompCondition::new(argument, Dword, operator, value)?])
    }

    fn filter() -> Result<BpfProgram, seccompiler::BackendError> {
        let thread = libc::CLONE_THREAD as u64;
        let myself = u64::from(std::process::id());
        let answers =
            || Ok::<_, seccompiler::BackendError>(vec![rule(0, SeccompCmpOp::Eq, 1)?, rule(0, SeccompCmpOp::Eq, 2)?]);
        let anonymous = libc::MAP_ANONYMOUS as u64;
        let some = [
            // The answer and the reason why there is none, and no descriptor that came along from whoever started `hutch`.
            (libc::SYS_write, answers()?),
            (libc::SYS_writev, answers()?),
            (libc::SYS_mmap, vec![rule(3, SeccompCmpOp::MaskedEq(anonymous), anonymous)?]),
            // Threads, and no processes. The newer call can't be looked into; who finds it missing takes this one.
            (libc::SYS_clone, vec![rule(0, SeccompCmpOp::MaskedEq(thread), thread)?]),
            // `abort` is a signal to itself.
            (libc::SYS_tgkill, vec![rule(0, SeccompCmpOp::Eq, myself)?]),
            (
                libc::SYS_prctl,
                vec![rule(0, SeccompCmpOp::Eq, libc::PR_SET_NAME as u64)?, rule(0, SeccompCmpOp::Eq, PR_SET_VMA)?],
            ),
        ];
        let rules = ALLOWED.iter().map(|number| (*number, Vec::new())).chain(some).collect();
        // As if the kernel did not have the call: so no fallback is kept from being tried.
        let refused = SeccompAction::Errno(libc::ENOSYS as u32);
        SeccompFilter::new(rules, refused, SeccompAction::Allow, std::env::consts::ARCH.try_into()?)?.try_into()
    }

    pub(super) fn enter() -> io::Result<()> {
        let filter = filter().map_err(io::Error::other)?;
        match seccompiler::apply_filter_all_threads(&filter) {
            // A kernel without filters, or one that is played by a program.
            Err(_) if !is_there() => Ok(()),
            applied => applied.map_err(io::Error::other),
        }
    }

    /// Tried by a thread that ends with what it tried.
    pub(super) fn is_there() -> bool {
        let try_one = || -> Option<()> {
            let (rules, arch) = (Default::default(), std::env::consts::ARCH.try_into().ok()?);
            let (anything, nothing) = (SeccompAction::Allow, SeccompAction::Errno(libc::ENOSYS as u32));
            let filter: BpfProgram = SeccompFilter::new(rules, anything, nothing, arch).ok()?.try_into().ok()?;
            seccompiler::apply_filter(&filter).ok()
        };
        let tried = std::thread::Builder::new().name("ring".to_owned()).spawn(try_one);
        tried.is_ok_and(|thread| thread.join().is_ok_and(|applied| applied.is_some()))
    }
}

/// Leaves this process, its threads and whatever it starts with the system calls of a compiler, for good.
///
/// # Errors
/// The kernel has such a ring and does not put it up.
pub(crate) fn enter() -> std::io::Result<()> {
    #[cfg(all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64")))]
    linux::enter()?;
    Ok(())
}

/// Whether this machine puts a ring around compilers.
pub fn is_there() -> bool {
    #[cfg(all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64")))]
    return linux::is_there();
    #[cfg(not(all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64"))))]
    false
}

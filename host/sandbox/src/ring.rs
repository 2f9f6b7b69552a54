//! The ring around the compiling child: the system calls that a compiler needs, and no others. What breaks out of the compiler's code
//! finds itself in a process that can open nothing, start nothing and reach nobody. Knows nothing of compiling.
//!
//! And the wider one around a process that runs guests, which needs files, locks and that child: see [`around_guests`]. What of the files
//! is left to it is judged by a third: see [`paths`].
//!
//! Linux on x86-64 and 64-bit ARM. Elsewhere, and where the kernel has no filter, there is none, and [`is_there`] says so.

pub mod inherited;
pub mod paths;

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
        apply(&filter().map_err(io::Error::other)?)
    }

    fn apply(filter: &BpfProgram) -> io::Result<()> {
        match seccompiler::apply_filter_all_threads(filter) {
            // A kernel without filters, or one that is played by a program.
            Err(_) if !is_there() => Ok(()),
            applied => applied.map_err(io::Error::other),
        }
    }

    /// What no run needs, and nothing that it starts: sockets, other processes' memory and what they share, the kernel's own programs and
    /// modules, mounts, keys, name spaces, the machine's clock and name, devices, and programs that lie in memory alone. And what no ring
    /// of paths judges: permissions, owners and attributes by path, and being told of what others do with files.
    const KEPT_FROM_GUESTS: &[i64] = &[
        libc::SYS_socket,
        libc::SYS_socketpair,
        libc::SYS_connect,
        libc::SYS_bind,
        libc::SYS_listen,
        libc::SYS_accept,
        libc::SYS_accept4,
        libc::SYS_sendto,
        libc::SYS_sendmsg,
        libc::SYS_sendmmsg,
        libc::SYS_recvfrom,
        libc::SYS_recvmsg,
        libc::SYS_recvmmsg,
        libc::SYS_ptrace,
        libc::SYS_process_vm_readv,
        libc::SYS_process_vm_writev,
        libc::SYS_process_madvise,
        libc::SYS_pidfd_getfd,
        libc::SYS_kcmp,
        libc::SYS_bpf,
        libc::SYS_perf_event_open,
        libc::SYS_userfaultfd,
        libc::SYS_io_uring_setup,
        libc::SYS_io_uring_enter,
        libc::SYS_io_uring_register,
        libc::SYS_init_module,
        libc::SYS_finit_module,
        libc::SYS_delete_module,
        libc::SYS_kexec_load,
        libc::SYS_kexec_file_load,
        libc::SYS_reboot,
        libc::SYS_mount,
        libc::SYS_umount2,
        libc::SYS_pivot_root,
        libc::SYS_chroot,
        libc::SYS_open_tree,
        libc::SYS_move_mount,
        libc::SYS_fsopen,
        libc::SYS_fsconfig,
        libc::SYS_fsmount,
        libc::SYS_fspick,
        libc::SYS_mount_setattr,
        libc::SYS_swapon,
        libc::SYS_swapoff,
        libc::SYS_add_key,
        libc::SYS_request_key,
        libc::SYS_keyctl,
        libc::SYS_setns,
        libc::SYS_unshare,
        libc::SYS_personality,
        libc::SYS_open_by_handle_at,
        libc::SYS_fanotify_init,
        libc::SYS_quotactl,
        libc::SYS_acct,
        libc::SYS_syslog,
        libc::SYS_settimeofday,
        libc::SYS_clock_settime,
        libc::SYS_clock_adjtime,
        libc::SYS_adjtimex,
        libc::SYS_sethostname,
        libc::SYS_setdomainname,
        libc::SYS_mknodat,
        libc::SYS_memfd_create,
        libc::SYS_shmget,
        libc::SYS_shmat,
        libc::SYS_shmctl,
        libc::SYS_semget,
        libc::SYS_semop,
        libc::SYS_semtimedop,
        libc::SYS_semctl,
        libc::SYS_msgget,
        libc::SYS_msgsnd,
        libc::SYS_msgrcv,
        libc::SYS_msgctl,
        libc::SYS_mq_open,
        libc::SYS_mq_unlink,
        libc::SYS_fchmodat,
        SYS_FCHMODAT2,
        libc::SYS_fchownat,
        libc::SYS_setxattr,
        libc::SYS_lsetxattr,
        libc::SYS_removexattr,
        libc::SYS_lremovexattr,
        SYS_SETXATTRAT,
        SYS_REMOVEXATTRAT,
        libc::SYS_inotify_init1,
        #[cfg(target_arch = "x86_64")]
        libc::SYS_inotify_init,
        #[cfg(target_arch = "x86_64")]
        libc::SYS_chmod,
        #[cfg(target_arch = "x86_64")]
        libc::SYS_chown,
        #[cfg(target_arch = "x86_64")]
        libc::SYS_lchown,
        #[cfg(target_arch = "x86_64")]
        libc::SYS_mknod,
        #[cfg(target_arch = "x86_64")]
        libc::SYS_iopl,
        #[cfg(target_arch = "x86_64")]
        libc::SYS_ioperm,
        #[cfg(target_arch = "x86_64")]
        libc::SYS_modify_ldt,
    ];

    /// New enough to have one number everywhere, and no name here yet, or none for each processor.
    const SYS_FCHMODAT2: i64 = 452;
    const SYS_SETXATTRAT: i64 = 463;
    const SYS_REMOVEXATTRAT: i64 = 466;

    /// The same calls once more, and those that have numbers of their own: the 32-bit form of x86-64, which some kernels know.
    #[cfg(target_arch = "x86_64")]
    const X32: i64 = 0x4000_0000;
    #[cfg(target_arch = "x86_64")]
    const X32_OWN: [i64; 10] = [514, 517, 518, 519, 521, 528, 537, 538, 539, 540];

    /// What types into a terminal as its user would, or asks a console to.
    const TIOCSTI: u64 = 0x5412;
    const TIOCLINUX: u64 = 0x541c;

    fn around_guests_filter() -> Result<[BpfProgram; 2], seccompiler::BackendError> {
        let spaces = [
            libc::CLONE_NEWNS,
            libc::CLONE_NEWCGROUP,
            libc::CLONE_NEWUTS,
            libc::CLONE_NEWIPC,
            libc::CLONE_NEWUSER,
            libc::CLONE_NEWPID,
            libc::CLONE_NEWNET,
        ];
        let spaces = spaces.map(|space| rule(0, SeccompCmpOp::MaskedEq(space as u64), space as u64));
        let typing = [TIOCSTI, TIOCLINUX].map(|request| rule(1, SeccompCmpOp::Eq, request));
        let some = [
            (libc::SYS_clone, spaces.into_iter().collect::<Result<_, _>>()?),
            (libc::SYS_ioctl, typing.into_iter().collect::<Result<_, _>>()?),
        ];
        let all = KEPT_FROM_GUESTS.iter().copied();
        #[cfg(target_arch = "x86_64")]
        let all = {
            let more = [libc::SYS_clone, libc::SYS_clone3, libc::SYS_ioctl].into_iter().chain(X32_OWN);
            all.clone().chain(all.chain(more).map(|number| number | X32))
        };
        let arch = std::env::consts::ARCH;
        let (allowed, refused) = (SeccompAction::Allow, SeccompAction::Errno(libc::EPERM as u32));
        let rules = all.map(|number| (number, Vec::new())).chain(some).collect();
        let main = SeccompFilter::new(rules, allowed.clone(), refused, arch.try_into()?)?.try_into()?;
        // It can't be looked into; who finds it missing takes the older call.
        let (rules, missing) = ([(libc::SYS_clone3, Vec::new())].into(), SeccompAction::Errno(libc::ENOSYS as u32));
        let newer = SeccompFilter::new(rules, allowed, missing, arch.try_into()?)?.try_into()?;
        Ok([main, newer])
    }

    pub(super) fn around_guests() -> io::Result<()> {
        let filters = around_guests_filter().map_err(io::Error::other)?;
        filters.iter().try_for_each(apply)
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

/// Leaves this process, its threads and whatever it starts with the system calls of a compiler, for good; and with no path, where the kernel
/// judges paths: should the one leak, the other holds.
///
/// # Errors
/// The kernel has such a ring and does not put it up.
pub(crate) fn enter() -> std::io::Result<()> {
    inherited::hide()?;
    match paths::enter(&[]) {
        Err(error @ paths::PathsError::Threads { .. }) => return Err(std::io::Error::other(error)),
        Err(paths::PathsError::Missing(_)) | Ok(_) => {}
    }
    #[cfg(all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64")))]
    linux::enter()?;
    Ok(())
}

/// Takes from this process, its threads and whatever it starts, for good, the system calls that no run of a guest needs: those that make or
/// use sockets, reach into other processes, change the machine, or give more rights. Opening files stays, and so does starting programs: the
/// compiler is one. [`paths`] takes them once the compiler has ended. Each call that is refused fails with EPERM. And no picture of this process's
/// memory is left or taken: see [`inherited`].
///
/// # Errors
/// The kernel has such a ring and does not put it up.
pub fn around_guests() -> std::io::Result<()> {
    inherited::hide()?;
    #[cfg(all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64")))]
    linux::around_guests()?;
    Ok(())
}

/// Whether this machine puts rings around compilers and runs.
pub fn is_there() -> bool {
    #[cfg(all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64")))]
    return linux::is_there();
    #[cfg(not(all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64"))))]
    false
}

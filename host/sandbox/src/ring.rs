//! The ring around the compiling child, and around the one in which a component says what it is: the system calls that a compiler needs, and no
//! others. What breaks out finds itself in a process that can open nothing, start nothing and reach nobody. Knows nothing of compiling.
//!
//! And two around a process that runs guests: a wide one from its beginning, which needs files, locks and that child, see [`around_guests`];
//! and a narrow one from the moment in which its guest is about to start, see [`guest_starts`]. What of the files is left to it is judged by a
//! ring of its own: see [`paths`].
//!
//! Linux on x86-64 and 64-bit ARM. Elsewhere, and where the kernel has no filter, there is none, and [`is_there`] says so.

pub mod inherited;
pub mod paths;

/// What a process does from the moment on in which its guest may start.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Role {
    /// What it was started for, and ends.
    Runs,
    /// It takes connections where it listens by then, and those that a process which it started makes for it, and makes no socket.
    Serves,
}

#[cfg(all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64")))]
mod linux {
    use super::Role;
    use seccompiler::SeccompCmpArgLen::{Dword, Qword};
    use seccompiler::{
        BpfProgram, SeccompAction, SeccompCmpOp, SeccompCondition, SeccompFilter, SeccompRule, sock_filter,
    };
    use std::io;

    /// Memory, threads, ending: what every process does.
    const ALIVE: &[i64] = &[
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
        libc::SYS_membarrier,
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

    type Rules = Vec<(i64, Vec<SeccompRule>)>;

    /// One of these values of an argument.
    fn one_of(argument: u8, values: &[u64]) -> Result<Vec<SeccompRule>, seccompiler::BackendError> {
        values.iter().map(|value| rule(argument, SeccompCmpOp::Eq, *value)).collect()
    }

    /// What every process does, and threads of its own; no processes, and no signals to others.
    fn alive() -> Result<Rules, seccompiler::BackendError> {
        let thread = libc::CLONE_THREAD as u64;
        let some = [
            // The newer call can't be looked into; who finds it missing takes this one.
            (libc::SYS_clone, vec![rule(0, SeccompCmpOp::MaskedEq(thread), thread)?]),
            // `abort` is a signal to itself.
            (libc::SYS_tgkill, one_of(0, &[u64::from(std::process::id())])?),
            (libc::SYS_prctl, one_of(0, &[libc::PR_SET_NAME as u64, PR_SET_VMA])?),
        ];
        Ok(ALIVE.iter().map(|number| (*number, Vec::new())).chain(some).collect())
    }

    /// These calls and no others. The others are as if the kernel did not have them: so no fallback is kept from being tried.
    fn only(rules: Rules) -> Result<BpfProgram, seccompiler::BackendError> {
        let missing = SeccompAction::Errno(libc::ENOSYS as u32);
        let arch = std::env::consts::ARCH.try_into()?;
        SeccompFilter::new(rules.into_iter().collect(), missing, SeccompAction::Allow, arch)?.try_into()
    }

    fn compiler_filter() -> Result<BpfProgram, seccompiler::BackendError> {
        let anonymous = libc::MAP_ANONYMOUS as u64;
        let some = [
            // The answer and the reason why there is none, and no descriptor that came along from whoever started `hutch`.
            (libc::SYS_write, one_of(0, &[1, 2])?),
            (libc::SYS_writev, one_of(0, &[1, 2])?),
            (libc::SYS_mmap, vec![rule(3, SeccompCmpOp::MaskedEq(anonymous), anonymous)?]),
        ];
        only(alive()?.into_iter().chain(some).collect())
    }

    pub(super) fn enter() -> io::Result<()> {
        apply(&compiler_filter().map_err(io::Error::other)?)
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

    /// The last call that was looked at. Newer ones are as if the kernel did not have them, and so is what lies above all of them: the same
    /// calls once more in the 32-bit form of x86-64, which some kernels know.
    const LAST: u32 = 466;

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
        let (allowed, refused) = (SeccompAction::Allow, SeccompAction::Errno(libc::EPERM as u32));
        let rules = KEPT_FROM_GUESTS.iter().map(|number| (*number, Vec::new())).chain(some).collect();
        let main = SeccompFilter::new(rules, allowed, refused, std::env::consts::ARCH.try_into()?)?.try_into()?;
        Ok([main, looked_at()])
    }

    /// Calls that were looked at, and not the newer form of `clone`, which can't be looked into: who finds it missing takes the older call.
    /// The library knows of no ranges.
    fn looked_at() -> BpfProgram {
        let step = |code: u32, k: u32, jt: u8, jf: u8| sock_filter { code: code as u16, jt, jf, k };
        // The number is the first word of what is judged.
        vec![
            step(libc::BPF_LD | libc::BPF_W | libc::BPF_ABS, 0, 0, 0),
            step(libc::BPF_JMP | libc::BPF_JGT | libc::BPF_K, LAST, 2, 0),
            step(libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K, libc::SYS_clone3 as u32, 1, 0),
            step(libc::BPF_RET | libc::BPF_K, libc::SECCOMP_RET_ALLOW, 0, 0),
            step(libc::BPF_RET | libc::BPF_K, libc::SECCOMP_RET_ERRNO | libc::ENOSYS as u32, 0, 0),
        ]
    }

    pub(super) fn around_guests() -> io::Result<()> {
        let filters = around_guests_filter().map_err(io::Error::other)?;
        filters.iter().try_for_each(apply)
    }

    /// What a run does beside being alive: reads and writes what is open, opens what the ring of paths leaves it, makes, moves and removes
    /// files, waits, and asks what the time is and what it may use. On connections that are there it can do what reading and writing are.
    const RUN: &[i64] = &[
        libc::SYS_read,
        libc::SYS_readv,
        libc::SYS_pread64,
        libc::SYS_preadv,
        libc::SYS_preadv2,
        libc::SYS_write,
        libc::SYS_writev,
        libc::SYS_pwrite64,
        libc::SYS_pwritev,
        libc::SYS_pwritev2,
        libc::SYS_lseek,
        libc::SYS_copy_file_range,
        libc::SYS_sendfile,
        libc::SYS_splice,
        libc::SYS_openat,
        libc::SYS_openat2,
        libc::SYS_close_range,
        libc::SYS_dup,
        libc::SYS_dup3,
        libc::SYS_pipe2,
        libc::SYS_eventfd2,
        libc::SYS_fstat,
        libc::SYS_newfstatat,
        libc::SYS_statx,
        libc::SYS_statfs,
        libc::SYS_fstatfs,
        libc::SYS_fgetxattr,
        libc::SYS_faccessat,
        libc::SYS_faccessat2,
        libc::SYS_readlinkat,
        libc::SYS_getdents64,
        libc::SYS_getcwd,
        libc::SYS_mkdirat,
        libc::SYS_unlinkat,
        libc::SYS_renameat,
        libc::SYS_renameat2,
        libc::SYS_linkat,
        libc::SYS_symlinkat,
        libc::SYS_utimensat,
        libc::SYS_ftruncate,
        libc::SYS_fallocate,
        libc::SYS_fadvise64,
        libc::SYS_flock,
        libc::SYS_fsync,
        libc::SYS_fdatasync,
        libc::SYS_syncfs,
        libc::SYS_sync_file_range,
        libc::SYS_mmap,
        libc::SYS_msync,
        libc::SYS_mincore,
        libc::SYS_ppoll,
        libc::SYS_pselect6,
        libc::SYS_epoll_create1,
        libc::SYS_epoll_ctl,
        libc::SYS_epoll_pwait,
        libc::SYS_setsockopt,
        libc::SYS_getsockopt,
        libc::SYS_getsockname,
        libc::SYS_getpeername,
        libc::SYS_shutdown,
        libc::SYS_clock_getres,
        libc::SYS_gettimeofday,
        libc::SYS_getrusage,
        libc::SYS_times,
        libc::SYS_getcpu,
        libc::SYS_getrlimit,
        libc::SYS_sysinfo,
        libc::SYS_uname,
        libc::SYS_getppid,
        libc::SYS_getuid,
        libc::SYS_geteuid,
        libc::SYS_getgid,
        libc::SYS_getegid,
        libc::SYS_restart_syscall,
        #[cfg(target_arch = "x86_64")]
        libc::SYS_open,
        #[cfg(target_arch = "x86_64")]
        libc::SYS_stat,
        #[cfg(target_arch = "x86_64")]
        libc::SYS_lstat,
        #[cfg(target_arch = "x86_64")]
        libc::SYS_access,
        #[cfg(target_arch = "x86_64")]
        libc::SYS_readlink,
        #[cfg(target_arch = "x86_64")]
        libc::SYS_mkdir,
        #[cfg(target_arch = "x86_64")]
        libc::SYS_rmdir,
        #[cfg(target_arch = "x86_64")]
        libc::SYS_unlink,
        #[cfg(target_arch = "x86_64")]
        libc::SYS_rename,
        #[cfg(target_arch = "x86_64")]
        libc::SYS_link,
        #[cfg(target_arch = "x86_64")]
        libc::SYS_symlink,
        #[cfg(target_arch = "x86_64")]
        libc::SYS_dup2,
        #[cfg(target_arch = "x86_64")]
        libc::SYS_pipe,
        #[cfg(target_arch = "x86_64")]
        libc::SYS_poll,
        #[cfg(target_arch = "x86_64")]
        libc::SYS_select,
        #[cfg(target_arch = "x86_64")]
        libc::SYS_epoll_wait,
        #[cfg(target_arch = "x86_64")]
        libc::SYS_time,
    ];

    /// What is done with a descriptor, and no being told of what others do with it: flags, copies, locks.
    const DESCRIPTORS: [libc::c_int; 12] = [
        libc::F_DUPFD,
        libc::F_DUPFD_CLOEXEC,
        libc::F_GETFD,
        libc::F_SETFD,
        libc::F_GETFL,
        libc::F_SETFL,
        libc::F_GETLK,
        libc::F_SETLK,
        libc::F_SETLKW,
        libc::F_OFD_GETLK,
        libc::F_OFD_SETLK,
        libc::F_OFD_SETLKW,
    ];

    /// What a terminal, a pipe and a socket are asked for: TCGETS, TIOCGWINSZ, FIONREAD, FIONBIO, FIOCLEX.
    const ASKED: [u64; 5] = [0x5401, 0x5413, 0x541b, 0x5421, 0x5451];

    /// What a server does beside: it takes connections where it listens already, and from another process that it had started, and reads and
    /// writes them.
    fn connections() -> Result<Rules, seccompiler::BackendError> {
        let to_nobody_else = SeccompCondition::new(4, Qword, SeccompCmpOp::Eq, 0)?;
        Ok(vec![
            (libc::SYS_accept4, Vec::new()),
            (libc::SYS_recvmsg, Vec::new()),
            (libc::SYS_recvfrom, Vec::new()),
            (libc::SYS_sendto, vec![SeccompRule::new(vec![to_nobody_else])?]),
        ])
    }

    fn guest_starts_filter(owners: &[(u32, u32)], role: Role) -> Result<BpfProgram, seccompiler::BackendError> {
        let asks = SeccompCondition::new(2, Qword, SeccompCmpOp::Eq, 0)?;
        let given = owners.iter().map(|(user, group)| {
            let is = |at, id: u32| SeccompCondition::new(at, Dword, SeccompCmpOp::Eq, u64::from(id));
            SeccompRule::new(vec![is(1, *user)?, is(2, *group)?])
        });
        // And to any group: the kernel gives what is a user's to the user's groups alone.
        let no_user = SeccompRule::new(vec![SeccompCondition::new(1, Dword, SeccompCmpOp::Eq, u64::from(u32::MAX))?])?;
        let given = given.chain([Ok(no_user)]).collect::<Result<Vec<_>, _>>()?;
        // Who may do everything keeps others' files theirs.
        let given = if rustix::process::geteuid().is_root() { Vec::new() } else { given };
        let some = [
            (libc::SYS_fcntl, one_of(1, &DESCRIPTORS.map(|command| command as u64))?),
            (libc::SYS_ioctl, one_of(1, &ASKED)?),
            // Of what is open, and never with more rights than who started `hutch` gives: set-user-ID, set-group-ID.
            (libc::SYS_fchmod, vec![rule(1, SeccompCmpOp::MaskedEq(0o7000), 0)?]),
            // The limits are asked for, not set.
            (libc::SYS_prlimit64, vec![SeccompRule::new(vec![asks])?]),
        ];
        only(
            alive()?
                .into_iter()
                .chain(RUN.iter().map(|number| (*number, Vec::new())))
                .chain(some)
                .chain([(libc::SYS_fchown, given)])
                .chain(if role == Role::Serves { connections()? } else { Vec::new() })
                .collect(),
        )
    }

    pub(super) fn guest_starts(owners: &[(u32, u32)], role: Role) -> io::Result<()> {
        apply(&guest_starts_filter(owners, role).map_err(io::Error::other)?)
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

/// Leaves this process, its threads and whatever it starts, for good, with the system calls of a run whose guest is about to start: it opens,
/// changes, moves and removes files, and starts no program and no process, signals nobody but itself, and changes neither owners nor
/// attributes nor, beyond what reading, writing and starting are, modes of what is open. Other calls fail as if the kernel did not have them.
/// To `owners`, user and group, what is open may be given: a database gives its files to the owner of the first. And to another group of its
/// user's, as what takes a file's place belongs to the file's.
///
/// # Errors
/// The kernel has such a ring and does not put it up.
pub fn guest_starts(owners: &[(u32, u32)], role: Role) -> std::io::Result<()> {
    inherited::hide()?;
    #[cfg(all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64")))]
    linux::guest_starts(owners, role)?;
    #[cfg(not(all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64"))))]
    let _ = (owners, role);
    Ok(())
}

/// Whether this machine puts rings around compilers and runs.
pub fn is_there() -> bool {
    #[cfg(all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64")))]
    return linux::is_there();
    #[cfg(not(all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64"))))]
    false
}

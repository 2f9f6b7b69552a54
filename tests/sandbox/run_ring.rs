//! What native code reaches that a guest brought into the process which runs it, beside what it reaches in one without a ring.

use std::io::ErrorKind::NotFound;
use std::io::Write;
use std::process::Command;

/// Tries what native code could do to others, in a thread that came after the ring, and writes what succeeded.
pub(crate) fn reach(stdout: &mut impl Write) {
    let done = std::thread::spawn(tried).join().expect("a thread");
    let done: Vec<&str> = done.into_iter().filter_map(|(name, done)| done.then_some(name)).collect();
    writeln!(stdout, "{}", done.join(" ")).expect("a pipe");
}

/// `file_setattr`, which has no name in the library yet, and came with Linux 6.17.
const FILE_SETATTR: i64 = 469;

fn tried() -> Vec<(&'static str, bool)> {
    let refused = |error: std::io::Error| matches!(error.raw_os_error(), Some(libc::EPERM | libc::ENOSYS));
    let denied = || refused(std::io::Error::last_os_error());
    let file = tempfile::tempfile().expect("a file");
    #[allow(unsafe_code, reason = "what is tried is what nothing safe does")]
    // SAFETY: none of them touches memory but a word of this function's own; the process that is made ends at once.
    let (read, forked, traced, personality, bpf, moved, shared, owned, attributed, owned_open, notified) = unsafe {
        let (from, mut to) = (7_u8, 0_u8);
        let from = libc::iovec { iov_base: std::ptr::from_ref(&from).cast_mut().cast(), iov_len: 1 };
        let to = libc::iovec { iov_base: std::ptr::from_mut(&mut to).cast(), iov_len: 1 };
        let read = libc::process_vm_readv(libc::getpid(), &raw const to, 1, &raw const from, 1, 0);
        let forked = libc::fork();
        if forked == 0 {
            libc::pause();
            libc::_exit(0);
        }
        let traced = libc::ptrace(libc::PTRACE_SEIZE, forked, 0, 0);
        if forked > 0 {
            libc::kill(forked, libc::SIGKILL);
            libc::waitpid(forked, std::ptr::null_mut(), 0);
        }
        // A call that is let through says what is wrong with it; one that is refused says EPERM, whoever calls.
        let personality = libc::personality(0xffff_ffff);
        libc::syscall(libc::SYS_bpf, 9999, 0, 0);
        let bpf = !denied();
        libc::syscall(libc::SYS_setns, -1, 0);
        let moved = !denied();
        let shared = libc::shmget(libc::IPC_PRIVATE, 1, 0o600);
        if shared != -1 {
            libc::shmctl(shared, libc::IPC_RMID, std::ptr::null_mut());
        }
        let nowhere = c"/nowhere/at/all".as_ptr();
        libc::chown(nowhere, 0, 0);
        let owned = !denied();
        libc::syscall(FILE_SETATTR, libc::AT_FDCWD, nowhere, [0_u64; 3].as_ptr(), size_of::<[u64; 3]>(), 0);
        let attributed = !denied();
        let open = std::os::fd::AsRawFd::as_raw_fd(&file);
        let owned_open = libc::fchown(open, u32::MAX, u32::MAX);
        let notified = libc::fcntl(open, libc::F_NOTIFY, 0);
        (read, forked, traced, personality, bpf, moved, shared, owned, attributed, owned_open, notified)
    };
    let mode = std::os::unix::fs::PermissionsExt::from_mode;
    vec![
        ("socket", std::net::UdpSocket::bind("127.0.0.1:0").is_ok()),
        ("listen", std::net::TcpListener::bind("127.0.0.1:0").is_ok()),
        ("unix", std::os::unix::net::UnixDatagram::unbound().is_ok()),
        ("pair", std::os::unix::net::UnixStream::pair().is_ok()),
        ("read", read == 1),
        ("trace", traced == 0),
        ("personality", personality != -1),
        ("bpf", bpf),
        ("setns", moved),
        ("share", shared != -1),
        ("own", owned),
        // Of what is not there: one that is refused says EPERM, whatever it is about.
        (
            "permit",
            std::fs::set_permissions("/nowhere/at/all", mode(0o600)).is_err_and(|error| error.kind() == NotFound),
        ),
        ("attribute", attributed),
        // What a run does not do, and what comes before its guest does: a program that is started, which has no more than it.
        ("own-open", owned_open == 0),
        ("set-user-id", file.set_permissions(mode(0o4700)).is_ok()),
        ("notify", notified == 0),
        ("fork", forked > 0),
        ("start", Command::new("/bin/true").status().is_ok_and(|status| status.success())),
        // What a run does: files, and threads.
        ("open", std::fs::File::open("/etc/passwd").is_ok()),
        ("mode", file.set_permissions(mode(0o600)).is_ok()),
    ]
}

pub(crate) fn broken_out() {
    let reached = |role: &str| {
        let this = std::env::current_exe().expect("a path");
        let output = Command::new(this).arg(role).output().expect("a child");
        assert!(output.status.success(), "{role}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).expect("text")
    };
    // A machine may keep the one or the other from everybody.
    let free = reached("free-run");
    let before = "own-open set-user-id notify fork start open mode\n";
    let attribute = if free.contains("attribute") { "attribute " } else { "" };
    assert!(
        free.contains("socket listen unix pair read")
            && free.ends_with(&format!("setns share own permit {attribute}{before}")),
        "{free}"
    );
    let is_there = hutch_sandbox::ring::is_there();
    assert_eq!(reached("broken-out-run"), if is_there { before } else { &free });
    // What is open may be given to another group: what takes a file's place belongs to the file's.
    let left = "own-open open mode\n";
    for role in ["broken-out-guest", "broken-out-server"] {
        assert_eq!(reached(role), if is_there { left } else { &free }, "{role}");
    }
}

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

fn tried() -> Vec<(&'static str, bool)> {
    let denied = || std::io::Error::last_os_error().raw_os_error() == Some(libc::EPERM);
    #[allow(unsafe_code, reason = "what is tried is what nothing safe does")]
    // SAFETY: none of them touches memory but a word of this function's own; the process that is made ends at once.
    let (read, traced, personality, bpf, moved, shared, owned) = unsafe {
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
        libc::kill(forked, libc::SIGKILL);
        libc::waitpid(forked, std::ptr::null_mut(), 0);
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
        libc::chown(c"/nowhere/at/all".as_ptr(), 0, 0);
        (read, traced, personality, bpf, moved, shared, !denied())
    };
    let mode = std::os::unix::fs::PermissionsExt::from_mode(0o600);
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
        ("permit", std::fs::set_permissions("/nowhere/at/all", mode).is_err_and(|error| error.kind() == NotFound)),
        // What a run does: files, threads, and a program that is started, which has no more than it.
        ("open", std::fs::File::open("/etc/passwd").is_ok()),
        ("start", Command::new("/bin/true").status().is_ok_and(|status| status.success())),
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
    assert!(
        free.contains("socket listen unix pair read") && free.ends_with("setns share own permit open start\n"),
        "{free}"
    );
    let is_there = hutch_sandbox::ring::is_there();
    assert_eq!(reached("broken-out-run"), if is_there { "open start\n" } else { &free });
}

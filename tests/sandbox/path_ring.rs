//! What native code that a guest brought into the process which runs it reaches of the user's files and of other processes, beside what it
//! reaches in one without the ring that judges paths. Sockets are tried too, which the other ring refuses already: this one alone does.

use cap_std::ambient_authority;
use cap_std::fs::Dir;
use hutch_sandbox::ring::paths::{Held, May, PathsError, WHOLE_ABI, abi, enter};
use std::ffi::CString;
use std::io::Write;
use std::net::{TcpListener, TcpStream};
use std::os::linux::net::SocketAddrExt;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::DirBuilderExt;
use std::os::unix::net::{SocketAddr, UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::process::Command;

/// What the user has: files of their own, a package, and a home with two instances, of which the first one's is the call that is made.
const FILES: [&str; 6] = [
    "user/secret",
    "package/APP.md",
    "home/artifacts.key",
    "home/packages/todo/pin.json",
    "home/instances/todo/default/hutch.db",
    "home/instances/todo/other/hutch.db",
];
const OWN: &str = "home/instances/todo/default";

/// The words of a child: where all that is, and whom to connect to.
fn words() -> (PathBuf, u16) {
    let mut words = std::env::args().skip(2);
    let folder = words.next().expect("a folder").into();
    (folder, words.next().expect("a port").parse().expect("a number"))
}

/// Puts up the ring as a call of the first instance does, or says why not.
pub(crate) fn enclose() -> Result<Held, PathsError> {
    let (all, _) = words();
    let open = |name: &str| Dir::open_ambient_dir(all.join(name), ambient_authority()).expect("a folder");
    enter(&[(&open(OWN), May::Write), (&open("package"), May::Read)])
}

/// Tries what native code could do, in a thread that came after the ring, and writes what succeeded.
pub(crate) fn reach(stdout: &mut impl Write) {
    let (all, port) = words();
    let done = std::thread::spawn(move || tried(&all, port)).join().expect("a thread");
    let done: Vec<&str> = done.into_iter().filter_map(|(name, done)| done.then_some(name)).collect();
    writeln!(stdout, "{}", done.join(" ")).expect("a pipe");
}

fn appended(path: &Path) -> bool {
    std::fs::File::options().append(true).open(path).is_ok()
}

fn tried(all: &Path, port: u16) -> Vec<(&'static str, bool)> {
    let at = |name: &str| all.join(name);
    let own = |name: &str| at(OWN).join(name);
    let secret = CString::new(at("user/secret").as_os_str().as_bytes()).expect("a path");
    let connect = UnixStream::connect_addr(&SocketAddr::from_abstract_name(abstract_name(port)).expect("a name"));
    #[allow(unsafe_code, reason = "what is tried is what nothing safe does")]
    // SAFETY: the path is whole; signals are asked for, and one is sent to a process that is made here and does nothing.
    let (truncated, parent, child) = unsafe {
        let truncated = libc::truncate(secret.as_ptr(), 0) == 0;
        let parent = libc::kill(libc::getppid(), 0) == 0;
        let forked = libc::fork();
        if forked == 0 {
            libc::pause();
            libc::_exit(0);
        }
        let child = libc::kill(forked, libc::SIGKILL) == 0;
        libc::waitpid(forked, std::ptr::null_mut(), 0);
        (truncated, parent, child)
    };
    vec![
        ("read", std::fs::read(at("user/secret")).is_ok()),
        ("list", std::fs::read_dir(at("user")).is_ok()),
        ("write", appended(&at("user/secret"))),
        ("make", std::fs::write(at("user/made"), "").is_ok()),
        ("make-folder", std::fs::create_dir(at("user/folder")).is_ok()),
        ("link", std::os::unix::fs::symlink("/", at("user/link")).is_ok()),
        ("move-out", std::fs::write(own("mine"), "").is_ok() && std::fs::rename(own("mine"), at("user/moved")).is_ok()),
        ("remove", std::fs::remove_file(at("user/removed")).is_ok()),
        ("package", appended(&at("package/APP.md"))),
        ("key", std::fs::read(at("home/artifacts.key")).is_ok()),
        ("packages", appended(&at("home/packages/todo/pin.json"))),
        ("instance", std::fs::read(at("home/instances/todo/other/hutch.db")).is_ok()),
        ("change-instance", appended(&at("home/instances/todo/other/hutch.db"))),
        ("execute", Command::new("/bin/sh").args(["-c", "exit 0"]).status().is_ok_and(|status| status.success())),
        // What came with a version of its own.
        ("truncate", truncated),
        ("connect", TcpStream::connect(("127.0.0.1", port)).is_ok()),
        ("listen", TcpListener::bind("127.0.0.1:0").is_ok()),
        ("abstract", connect.is_ok()),
        ("signal", parent),
        // What a run does.
        ("read-package", std::fs::read(at("package/APP.md")).is_ok()),
        ("change", std::fs::write(own("a"), "a").is_ok()),
        ("move", std::fs::create_dir(own("b")).is_ok() && std::fs::rename(own("a"), own("b/a")).is_ok()),
        ("clean", std::fs::remove_file(own("b/a")).is_ok() && std::fs::remove_dir(own("b")).is_ok()),
        ("end-child", child),
    ]
}

fn abstract_name(port: u16) -> String {
    format!("hutch-path-ring-{port}")
}

pub(crate) fn broken_out() {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = listener.local_addr().expect("an address").port();
    let name = SocketAddr::from_abstract_name(abstract_name(port)).expect("a name");
    let _named = UnixListener::bind_addr(&name).expect("a socket");
    let this = std::env::current_exe().expect("a path");
    let reached = |role: &str| {
        let all = tempfile::tempdir().expect("a temporary folder");
        for file in FILES.into_iter().chain(["user/removed"]) {
            let path = all.path().join(file);
            let parent = path.parent().expect("a folder");
            std::fs::DirBuilder::new().recursive(true).mode(0o700).create(parent).expect("a folder");
            std::fs::write(path, "theirs").expect("a file");
        }
        let output = Command::new(&this).args([role.as_ref(), all.path().as_os_str()]).arg(port.to_string()).output();
        let output = output.expect("a child");
        assert!(output.status.success(), "{role}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).expect("text")
    };
    let all = "read list write make make-folder link move-out remove package key packages instance change-instance execute \
               truncate connect listen abstract signal read-package change move clean end-child\n";
    assert_eq!(reached("free-paths"), all);
    let enclosed = reached("enclosed");
    let run = "read-package change move clean end-child\n";
    match abi() {
        // Moving files between folders is what a store does.
        0 | 1 => assert_eq!(enclosed, all),
        WHOLE_ABI.. => assert_eq!(enclosed, run),
        _ => {
            let outside = all.split(" truncate").next().unwrap_or_default().split(' ');
            let reached: Vec<&str> = enclosed.split_whitespace().collect();
            assert_eq!(outside.filter(|name| reached.contains(name)).collect::<Vec<_>>(), [""; 0], "{enclosed}");
            assert!(enclosed.ends_with(run), "{enclosed}");
        }
    }
    // A thread that is there stays free, so there is no ring then.
    assert_eq!(reached("enclosed-among-threads"), all);
}

/// Does something in a thread where the kernel seems to have no filters of system calls; what is started there is as badly off.
pub(crate) fn without_filters<T: Send>(job: impl FnOnce() -> T + Send) -> T {
    use seccompiler::{
        BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter, SeccompRule,
    };
    let asks = SeccompCondition::new(0, SeccompCmpArgLen::Dword, SeccompCmpOp::Eq, libc::PR_SET_SECCOMP as u64);
    let asks = SeccompRule::new(vec![asks.expect("a condition")]).expect("a rule");
    let rules = [(libc::SYS_seccomp, Vec::new()), (libc::SYS_prctl, vec![asks])].into();
    let (anything, nothing) = (SeccompAction::Allow, SeccompAction::Errno(libc::ENOSYS as u32));
    let arch = std::env::consts::ARCH.try_into().expect("a known processor");
    let filter: BpfProgram =
        SeccompFilter::new(rules, anything, nothing, arch).and_then(TryInto::try_into).expect("a filter");
    let alone = move || {
        seccompiler::apply_filter(&filter).expect("the last filter");
        job()
    };
    std::thread::scope(|scope| scope.spawn(alone).join().expect("a thread"))
}

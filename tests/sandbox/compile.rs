//! Compiling in a child: what it does wrong, and what untrusted code makes it do, ends in a reason to refuse the component, in
//! time and with the host unharmed. This program is its own child: with an argument it is a compiler, good or bad.
//!
//! What a refusal costs is counted in the time that processors worked on it, here and in children, which is nearly the same however busy
//! the machine is.
#![allow(clippy::disallowed_methods, reason = "tests reach for what they prepare")]
#![allow(
    clippy::exit,
    clippy::expect_used,
    clippy::panic,
    clippy::print_stdout,
    reason = "a test program with a main of its own"
)]

mod support;

use hutch_model::limits::{Limit, Limits};
use hutch_sandbox::{ArtifactCache, Backend, Compile, DescribeError, LoadError, Sandbox, compile_from_stdin};
use std::io::{Read, Write};
use std::time::{Duration, Instant};
use support::case::exited;
use support::wat_guest::{WatGuest, wat};
use support::{KEY, limits, parts, probe_bytes, run_parts};

#[cfg(target_os = "linux")]
#[path = "run_ring.rs"]
mod run_ring;

#[cfg(target_os = "linux")]
#[path = "path_ring.rs"]
mod path_ring;

fn main() {
    if let Some(role) = std::env::args().nth(1).filter(|argument| !argument.starts_with('-')) {
        return child(&role);
    }
    // Waits for a thread that stays, for most of the time that all of this takes, and its children do next to nothing meanwhile.
    let waiting: (&str, fn()) = (
        "a run that something broke out in reaches no file but its own, no program and no port",
        path_ring::broken_out,
    );
    // Waits for a child that fills its memory.
    let beside: (&str, fn()) = ("memory of a child is capped", memory);
    let among: [(&str, fn()); 10] = [
        ("a child compiles as this process does", compiles),
        ("a child has nothing of this process's environment", has_no_environment),
        ("a child may have so much memory, no files and no image of itself", is_limited),
        ("however many threads compile, they make the same", same_code),
        ("what is no component is refused with the same words", refuses),
        ("children that misbehave are ended", misbehaving_children),
        ("a child that something broke out in reaches nothing", broken_out),
        ("a run that something broke out in reaches no network, no process and no more rights", run_ring::broken_out),
        ("a cache is filled by a child once", cached),
        ("a component is asked what it is by a child, once", asked),
    ];
    // What this process has worked, and its children, is counted by these.
    let counted: [(&str, fn()); 2] =
        [("compile bombs are refused in time", bombs), ("wide and deep shapes are judged in time", wide)];
    std::thread::scope(|scope| {
        scope.spawn(move || passes(waiting));
        std::thread::scope(|scope| {
            scope.spawn(move || passes(beside));
            among.into_iter().for_each(passes);
        });
        counted.into_iter().for_each(passes);
    });
    // What children there are is looked at by this one.
    passes(("a child dies with its parent's interest", killed_children_leave_nothing));
}

fn passes((name, check): (&str, fn())) {
    let start = Instant::now();
    check();
    println!("ok {name} ({:?})", start.elapsed());
}

/// How long a child stays that does not end by itself.
const HANGING: Duration = Duration::from_secs(1000);

/// More than a component needs to be refused, on any machine: where it is given, no clock decides.
const PATIENT: (Limit, u64) = (Limit::CompileTime, 600_000);

/// How long processors have worked for this process so far, and for its children that have ended.
fn worked() -> Duration {
    let of = |whose: libc::c_int| {
        // SAFETY: all its fields are numbers, for which zeros are values.
        #[allow(unsafe_code, reason = "a structure of the system's to be written to")]
        let mut usage: libc::rusage = unsafe { std::mem::zeroed() };
        // SAFETY: the structure is this function's own, and as large as it is said to be.
        #[allow(unsafe_code, reason = "nothing safe asks for it")]
        let answered = unsafe { libc::getrusage(whose, &raw mut usage) };
        assert_eq!(answered, 0, "the system counts what is used");
        let time = |time: libc::timeval| {
            Duration::from_secs(time.tv_sec.unsigned_abs()) + Duration::from_micros(time.tv_usec.unsigned_abs())
        };
        time(usage.ru_utime) + time(usage.ru_stime)
    };
    of(libc::RUSAGE_SELF) + of(libc::RUSAGE_CHILDREN)
}

/// The one artifact that a cache holds.
fn only_artifact(folder: &std::path::Path) -> (std::ffi::OsString, Vec<u8>) {
    let mut files = std::fs::read_dir(folder).expect("the cache");
    let file = files.next().expect("an artifact").expect("an entry");
    assert!(files.next().is_none(), "more than one");
    (file.file_name(), std::fs::read(file.path()).expect("an artifact"))
}

/// Here with as many threads as there are processors, and in a child that has one.
fn same_code() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let made = |name: &str, compile: Compile| {
        let folder = folder.path().join(name);
        let sandbox = Sandbox::new(compile, ArtifactCache::open(&folder, || Some(KEY)));
        assert!(sandbox.load(&probe_bytes(), &Limits::default()).is_ok());
        only_artifact(&folder)
    };
    let here = made("here", Compile::Here);
    assert!(here == made("again", Compile::Here), "the same compiler made other code");
    let this = std::env::current_exe().expect("a path");
    let arguments = ["-c", "0", this.to_str().expect("a path of text"), "compile"].map(Into::into).to_vec();
    let child = Compile::Child { program: "/usr/bin/taskset".into(), arguments, key: KEY };
    assert!(here == made("one processor", child), "one thread made other code");
}

/// What this program is when it is told to be a child.
fn child(role: &str) {
    let mut stdout = std::io::stdout().lock();
    match role {
        "compile" => compile_from_stdin().expect("pipes"),
        "crash" => std::process::abort(),
        // As a system that has no memory left ends it.
        "killed" => {
            rustix::process::kill_process(rustix::process::getpid(), rustix::process::Signal::KILL).expect("a signal");
        }
        "leave" => {}
        // What a program ends with that the system could not start in a child that was begun for it.
        "not-started" => std::process::exit(127),
        "short-of-memory" => {
            let error = load("crash", &WatGuest::body("i32.const 0").bytes(), &[]);
            let host = matches!(&error, Some(LoadError::Host(text)) if text.contains("less memory"));
            writeln!(stdout, "{}", if host { "the host's want".to_owned() } else { format!("{error:?}") })
                .expect("a pipe");
        }
        "hang" => std::thread::sleep(HANGING),
        "answer-and-hang" => {
            let mut input = Vec::new();
            std::io::stdin().lock().read_to_end(&mut input).expect("a pipe");
            drop(stdout);
            hutch_sandbox::compile_as_child(&input).expect("pipes");
            // Its own standard output is what its parent reads to the end.
            #[allow(unsafe_code, reason = "nothing safe closes standard output")]
            // SAFETY: nothing here writes there again.
            drop(unsafe { <std::fs::File as std::os::fd::FromRawFd>::from_raw_fd(1) });
            std::thread::sleep(HANGING);
        }
        "limited" => {
            hutch_sandbox::compile_as_child(&[]).expect_err("there is no component");
            writeln!(stdout, "it is").and_then(|()| stdout.flush()).expect("a pipe");
            std::thread::sleep(HANGING);
        }
        "flood" => while stdout.write_all(&[b'A'; 65536]).is_ok() {},
        // A whole answer of this very program, to another key, or about another component.
        "another-key" | "another-component" => {
            let mut input = Vec::new();
            std::io::stdin().lock().read_to_end(&mut input).expect("a pipe");
            match role {
                "another-key" => input[0] ^= 1,
                _ => input.truncate(hutch_sandbox::CHILD_HEADER_BYTES as usize),
            }
            drop(stdout);
            hutch_sandbox::compile_as_child(&input).expect("pipes");
        }
        "half" => {
            std::io::stdin().lock().read_exact(&mut [0; 4]).expect("a pipe");
            stdout.write_all(b"Chalf an artifact").expect("a pipe");
        }
        "fail-after-artifact" => {
            let mut input = Vec::new();
            std::io::stdin().lock().read_to_end(&mut input).expect("a pipe");
            drop(stdout);
            hutch_sandbox::compile_as_child(&input).expect("pipes");
            std::process::abort();
        }
        "free-run" => run_ring::reach(&mut stdout),
        // As if a guest had made the process that runs it do what it wants.
        "broken-out-run" => {
            hutch_sandbox::ring::around_guests().expect("a ring");
            run_ring::reach(&mut stdout);
        }
        "broken-out-guest" => {
            hutch_sandbox::ring::around_guests().expect("a ring");
            hutch_sandbox::ring::guest_starts(&[(12345, 12345)], hutch_sandbox::ring::Role::Runs).expect("a ring");
            run_ring::reach(&mut stdout);
        }
        // The same of a server, which listens by then.
        "broken-out-server" => {
            let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
            let mut caller =
                std::net::TcpStream::connect(listener.local_addr().expect("an address")).expect("a caller");
            hutch_sandbox::ring::guest_starts(&[(12345, 12345)], hutch_sandbox::ring::Role::Serves).expect("a ring");
            let (mut called, _) = listener.accept().expect("a connection that is taken");
            called.write_all(b"a").and_then(|()| caller.read_exact(&mut [0])).expect("a connection that is used");
            run_ring::reach(&mut stdout);
        }
        "free-paths" => path_ring::reach(&mut stdout),
        "enclosed" => {
            // Where there is none, everything is reached.
            let _ = path_ring::enclose();
            path_ring::reach(&mut stdout);
        }
        "enclosed-among-threads" => {
            let (sender, receiver) = std::sync::mpsc::channel::<()>();
            let waiting = std::thread::spawn(move || receiver.recv());
            let entered = path_ring::enclose();
            assert_eq!(entered, Err(hutch_sandbox::ring::paths::PathsError::Threads { threads: 2 }));
            path_ring::reach(&mut stdout);
            drop(sender);
            waiting.join().expect("a thread").expect_err("nobody sends");
            // One that has ended is no hindrance, however short ago.
            std::thread::scope(|scope| drop(scope.spawn(|| {})));
            assert!(!matches!(path_ring::enclose(), Err(hutch_sandbox::ring::paths::PathsError::Threads { .. })));
        }
        "free" => reach(&mut stdout, inherited()),
        // As if a component had made the compiler do what it wants.
        "broken-out" => {
            let file = inherited();
            let error = hutch_sandbox::compile_as_child(&[]).expect_err("there is no component");
            assert_eq!(error.kind(), std::io::ErrorKind::UnexpectedEof);
            reach(&mut stdout, file);
        }
        // As if a component that is asked what it is had done so.
        "broken-out-asked" => {
            let file = inherited();
            let mut input = [[9; 32].as_slice(), format!("ask {}", Backend::Native.name()).as_bytes()].concat();
            input.resize(hutch_sandbox::CHILD_HEADER_BYTES as usize, 0);
            input.extend([&2_u64.to_le_bytes(), b"{}".as_slice(), b"no code"].concat());
            hutch_sandbox::compile_as_child(&input).expect("an answer that there is none");
            reach(&mut std::io::stdout(), file);
        }
        other => panic!("no child is called {other}"),
    }
}

/// A file that is open as one is that whoever started the program left open.
fn inherited() -> std::fs::File {
    let mut file = tempfile::tempfile().expect("a temporary file");
    file.write_all(b"theirs").expect("a temporary file");
    std::io::Seek::rewind(&mut file).expect("a temporary file");
    file
}

/// Tries what native code could do to others, and writes what succeeded.
fn reach(stdout: &mut impl Write, mut inherited: std::fs::File) {
    #[allow(unsafe_code, reason = "what is tried is what nothing safe does")]
    // SAFETY: none of them touches this process's memory; a process that is made ends at once.
    let (mapped, forked, signalled, traced) = unsafe {
        // What is written beyond a bound is to fail, and not to end this.
        libc::signal(libc::SIGXFSZ, libc::SIG_IGN);
        let descriptor = std::os::fd::AsRawFd::as_raw_fd(&inherited);
        let mapped = libc::mmap(std::ptr::null_mut(), 6, libc::PROT_READ, libc::MAP_PRIVATE, descriptor, 0);
        let forked = libc::fork();
        if forked == 0 {
            libc::pause();
            libc::_exit(0);
        }
        // One that has ended can't be traced.
        let traced = libc::ptrace(libc::PTRACE_SEIZE, forked, 0, 0);
        if forked > 0 {
            libc::kill(forked, libc::SIGKILL);
        }
        (mapped, forked, libc::kill(libc::getppid(), 0), traced)
    };
    let done = [
        ("open", std::fs::File::open("/etc/passwd").is_ok()),
        ("read", inherited.read_exact(&mut [0]).is_ok()),
        ("write", inherited.write_all(b"mine").is_ok()),
        ("map", mapped != libc::MAP_FAILED),
        ("list", std::fs::read_dir("/").is_ok()),
        ("make", std::fs::create_dir(std::env::temp_dir().join(format!("hutch-{}", std::process::id()))).is_ok()),
        ("socket", std::net::UdpSocket::bind("127.0.0.1:0").is_ok()),
        ("listen", std::net::TcpListener::bind("127.0.0.1:0").is_ok()),
        ("unix", std::os::unix::net::UnixDatagram::unbound().is_ok()),
        ("start", std::process::Command::new("/bin/true").status().is_ok()),
        ("fork", forked > 0),
        ("signal", signalled == 0),
        ("trace", traced == 0),
        // What a compiler does all the time.
        ("thread", std::thread::Builder::new().spawn(|| ()).is_ok_and(|thread| thread.join().is_ok())),
    ];
    let _ = std::fs::remove_dir(std::env::temp_dir().join(format!("hutch-{}", std::process::id())));
    let done: Vec<&str> = done.into_iter().filter_map(|(name, done)| done.then_some(name)).collect();
    writeln!(stdout, "{}", done.join(" ")).expect("a pipe");
}

fn broken_out() {
    let reached = |role: &str| {
        let this = std::env::current_exe().expect("a path");
        let output = std::process::Command::new(this).arg(role).output().expect("a child");
        assert!(output.status.success(), "{role}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8_lossy(&output.stdout).into_owned()
    };
    let everything = "open read write map list make socket listen unix start fork signal trace thread\n";
    assert_eq!(reached("free"), everything);
    let expected = if hutch_sandbox::ring::is_there() { "thread\n" } else { everything };
    assert_eq!(reached("broken-out"), expected);
    // Behind the answer, which is sealed by bytes that are no words.
    let asked = reached("broken-out-asked");
    let more = everything.split_whitespace().find(|word| !expected.contains(word) && asked.contains(word));
    assert!(asked.ends_with(expected) && more.is_none(), "{more:?}: {asked}");
    // Should the filter leak, there is the other ring: alone where the kernel seems to have no filters.
    #[cfg(target_os = "linux")]
    match hutch_sandbox::ring::paths::abi() {
        0 | 1 => {}
        abi => {
            let left = path_ring::without_filters(|| reached("broken-out"));
            let kept_from = ["open", "list", "make", "start"].into_iter().find(|name| left.contains(name));
            assert_eq!(kept_from, None, "{left}");
            let whole = abi >= hutch_sandbox::ring::paths::WHOLE_ABI;
            assert!(!whole || left == "read map socket unix fork trace thread\n", "{left}");
        }
    }
}

fn sandbox(role: &str) -> Sandbox {
    let program = std::env::current_exe().expect("a path");
    Sandbox::new(Compile::Child { program, arguments: vec![role.into()], key: KEY }, None)
}

fn load(role: &str, bytes: &[u8], changed: &[(Limit, u64)]) -> Option<LoadError> {
    sandbox(role).load(bytes, &limits(changed)).err()
}

fn compiles() {
    let program = sandbox("compile").load(&probe_bytes(), &Limits::default()).expect("a program");
    let run = run_parts(&program, parts(&["clock"], Limits::default())).expect("an outcome");
    let here = Sandbox::new(Compile::Here, None).load(&probe_bytes(), &Limits::default()).expect("a program");
    assert_eq!(run.outcome, run_parts(&here, parts(&["clock"], Limits::default())).expect("an outcome").outcome);
    assert_eq!(run.outcome.ending, exited(0));
}

fn has_no_environment() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let (program, seen) = (std::env::current_exe().expect("a path"), folder.path().join("seen"));
    let script = format!("cat /proc/$$/environ > '{}'; exec '{}' compile", seen.display(), program.display());
    let compile = Compile::Child { program: "/bin/sh".into(), arguments: vec!["-c".into(), script.into()], key: KEY };
    assert!(std::env::vars_os().next().is_some());
    Sandbox::new(compile, None).load(&probe_bytes(), &Limits::default()).expect("a program");
    assert_eq!(std::fs::read(seen).expect("what it saw"), b"");
}

/// As the system has it, whatever the child says of itself.
fn is_limited() {
    use std::io::BufRead;
    let mut command = std::process::Command::new(std::env::current_exe().expect("a path"));
    let mut child = command.arg("limited").stdout(std::process::Stdio::piped()).spawn().expect("a child");
    let mut said = String::new();
    std::io::BufReader::new(child.stdout.take().expect("a pipe")).read_line(&mut said).expect("a pipe");
    let limits = std::fs::read_to_string(format!("/proc/{}/limits", child.id())).expect("a Linux system");
    child.kill().and_then(|()| child.wait()).expect("a child");
    assert_eq!(said, "it is\n");
    for (name, most) in [("Max address space", 4 << 30), ("Max file size", 0), ("Max core file size", 0)] {
        let line = limits.lines().find(|line| line.starts_with(name)).expect("a limit");
        let values = line[name.len()..].split_whitespace().take(2).map(|value| value.parse::<u64>());
        assert!(values.flatten().filter(|value| *value <= most).count() == 2, "{line}");
    }
}

fn refuses() {
    let cases = [
        b"prose".to_vec(),
        wat("(component (import \"a\" (func)))"),
        wat("(module)"),
        wat("(module (memory 1 1 shared) (func (export \"_start\")))"),
        wat(&("(component ".repeat(9) + &")".repeat(9))),
    ];
    for bytes in cases {
        let here = Sandbox::new(Compile::Here, None).load(&bytes, &Limits::default()).err();
        assert!(
            matches!(here, Some(LoadError::Invalid(_) | LoadError::Lacking { .. } | LoadError::TooMuch(_))),
            "{here:?}"
        );
        assert_eq!(load("compile", &bytes, &[]), here);
    }
}

fn misbehaving_children() {
    let bytes = WatGuest::body("i32.const 0").bytes();
    let large = probe_bytes();
    for bytes in [&bytes, &large] {
        let start = Instant::now();
        assert!(matches!(load("crash", bytes, &[]), Some(LoadError::TooMuch(text)) if text.contains("gave up")));
        assert!(matches!(load("killed", bytes, &[]), Some(LoadError::Host(text)) if text.contains("KILL")));
        assert!(matches!(load("leave", bytes, &[]), Some(LoadError::Host(_))));
        assert!(matches!(load("not-started", bytes, &[]), Some(LoadError::Host(text)) if text.contains("127")));
        assert_eq!(load("hang", bytes, &[(Limit::CompileTime, 200)]), Some(LoadError::TooSlow { time_ms: 200 }));
        assert!(matches!(load("answer-and-hang", b"prose", &[]), Some(LoadError::Invalid(_))));
        assert!(matches!(load("another-key", bytes, &[]), Some(LoadError::Host(_))));
        assert!(matches!(load("another-component", bytes, &[]), Some(LoadError::Host(_))));
        assert!(matches!(load("fail-after-artifact", bytes, &[]), Some(LoadError::TooMuch(_))));
        assert!(matches!(load("half", bytes, &[]), Some(LoadError::Host(_))));
        // No time was up but for the one of which that is said, and nobody waited for a child that stays.
        assert!(start.elapsed() < HANGING, "took {:?}", start.elapsed());
    }
    assert!(matches!(load("flood", &bytes, &[]), Some(LoadError::TooMuch(text)) if text.contains("more than")));
    // Not there, and no program for this processor.
    let folder = tempfile::tempdir().expect("a temporary folder");
    let foreign = folder.path().join("foreign");
    std::fs::write(&foreign, b"\x7fELF of another processor").expect("a file");
    std::fs::set_permissions(&foreign, std::os::unix::fs::PermissionsExt::from_mode(0o755)).expect("permissions");
    for program in ["/nowhere/compiler".into(), foreign] {
        let compile = Compile::Child { program, arguments: vec![], key: KEY };
        let error = Sandbox::new(compile, None).load(&bytes, &Limits::default()).err();
        // So there is nobody to wait for.
        assert!(matches!(&error, Some(LoadError::Host(text)) if text.contains("did not start")), "{error:?}");
    }
}

/// Code whose compilation takes time with the square of its length (wasmtime issue 4923).
fn quadratic(blocks: usize) -> Vec<u8> {
    let block = "(block (local.set 0 (i32.add (i32.const 1) (local.get 0))))".repeat(blocks);
    wat(&format!("(component (core module (func (export \"run\") (param i32) {block})))"))
}

/// Code that keeps many values alive over many calls.
fn pressing(locals: usize, calls: usize) -> Vec<u8> {
    let work: String = (0..calls)
        .map(|call| {
            format!(
                "(local.set {} (call $f (local.get {}) (local.get {})))",
                call * 7 % locals,
                call * 13 % locals,
                call * 31 % locals
            )
        })
        .collect();
    let declared = "i32 ".repeat(locals);
    wat(&format!(
        "(component (core module (func $f (param i32 i32) (result i32) (i32.add (local.get 0) (local.get 1)))
           (func (export \"run\") (local {declared}) {work})))"
    ))
}

/// A function of these instructions.
fn function(instructions: &str) -> Vec<u8> {
    wat(&format!("(component (core module (func (export \"run\") (param i32) {instructions})))"))
}

/// Shapes that are no more than a function may be long: whatever is said of them, it is said in time.
fn wide() {
    let nested = |blocks: usize| function(&("block ".repeat(blocks) + &"end ".repeat(blocks)));
    let table = |targets: usize| function(&format!("block local.get 0 br_table {} end", "0 ".repeat(targets)));
    let many = "i32 ".repeat(1_000);
    let given = "local.get 7 ".repeat(1_000);
    let calls = |calls: usize| {
        let call = format!("{given} call $f ");
        wat(&format!(
            "(component (core module (func $f (param {many}))
               (func (export \"run\") (local {}) {})))",
            "i32 ".repeat(20_000),
            call.repeat(calls)
        ))
    };
    let shapes = [
        ("170,000 blocks in each other", nested(170_000), false),
        ("900,000 blocks in each other", nested(900_000), true),
        ("a table of 500,000 targets", table(500_000), false),
        ("a table of 7,000,000 targets", table(7_000_000), true),
        ("200 calls of 1,000 parameters", calls(200), false),
        ("2,000 calls of 1,000 parameters", calls(2_000), true),
    ];
    for (name, bytes, beyond) in shapes {
        let before = worked();
        let time = if beyond { PATIENT } else { (Limit::CompileTime, 2_000) };
        let error = load("compile", &bytes, &[time]);
        let work = worked() - before;
        // These modules are no commands, which is found out when all else is well.
        let said = error.as_ref().map_or_else(String::new, ToString::to_string);
        println!("   {name}, {} bytes, {work:?} of work: {said}", bytes.len());
        let expected = match &error {
            Some(LoadError::TooMuch(_)) => true,
            Some(LoadError::Invalid(_) | LoadError::TooSlow { .. }) => !beyond,
            _ => false,
        };
        assert!(expected && work < Duration::from_secs(6), "{name}: {error:?} after {work:?} of work");
    }
}

fn bombs() {
    // Below the bound on a function's length, which nothing but the clock ends; beyond it, far beyond it, many below it that are
    // too much together, and wide instead of long.
    let several = |blocks: usize, count: usize| {
        let block = "(block (local.set 0 (i32.add (i32.const 1) (local.get 0))))".repeat(blocks);
        let function = format!("(func (param i32) {block})").repeat(count);
        wat(&format!("(component (core module {function}))"))
    };
    let bombs = [
        ("50,000 blocks", quadratic(50_000)),
        ("60,000 blocks", quadratic(60_000)),
        ("30,000 blocks eight times", several(30_000, 8)),
        ("100,000 blocks", quadratic(100_000)),
        ("200,000 blocks", quadratic(200_000)),
        ("20,000 locals", pressing(20_000, 60_000)),
    ];
    for (name, bytes) in bombs {
        let before = worked();
        let by_the_clock = name == "50,000 blocks";
        let error = load("compile", &bytes, &[if by_the_clock { (Limit::CompileTime, 2_000) } else { PATIENT }]);
        let work = worked() - before;
        assert!(
            match by_the_clock {
                true => error == Some(LoadError::TooSlow { time_ms: 2_000 }) && work < Duration::from_secs(6),
                false => matches!(&error, Some(LoadError::TooMuch(_))) && work < Duration::from_secs(2),
            },
            "{name}: {error:?} after {work:?} of work"
        );
        println!("   {name}, {} bytes, {work:?} of work: {}", bytes.len(), error.expect("an error"));
    }
}

/// A child that runs out of address space is ended by that; it keeps a cap that is lower than its own.
fn memory() {
    let many = wat(&format!("(component (core module {}))", "(func (result i32) (i32.const 1))".repeat(60_000)));
    let program = std::env::current_exe().expect("a path").to_string_lossy().into_owned();
    let limited = |kilobytes: u64| {
        let script = format!("ulimit -v {kilobytes}; exec '{program}' compile");
        let compile =
            Compile::Child { program: "/bin/sh".into(), arguments: vec!["-c".into(), script.into()], key: KEY };
        Sandbox::new(compile, None).load(&many, &Limits::default()).err()
    };
    assert!(matches!(limited(250_000), Some(LoadError::TooMuch(text)) if text.contains("gave up")));
    // If this process has less than a child is meant to have, that is the host's want, and nothing about the component.
    let script = format!("ulimit -v 3000000; exec '{program}' short-of-memory");
    let output = std::process::Command::new("/bin/sh").args(["-c", &script]).output().expect("a child");
    assert_eq!(String::from_utf8_lossy(&output.stdout).trim(), "the host's want", "{output:?}");
}

fn killed_children_leave_nothing() {
    let children = || {
        let tasks = std::fs::read_dir("/proc/self/task").expect("a Linux system");
        let of = |task: std::io::Result<std::fs::DirEntry>| {
            std::fs::read_to_string(task.expect("a task").path().join("children")).unwrap_or_default()
        };
        tasks.map(of).collect::<String>()
    };
    assert_eq!(children(), "", "a child is left");
    load("hang", &WatGuest::body("i32.const 0").bytes(), &[(Limit::CompileTime, 50)]);
    assert_eq!(children(), "", "a child is left");
}

fn cached() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let bytes = WatGuest::body("i32.const 0").bytes();
    let with = |role: &str| {
        let program = std::env::current_exe().expect("a path");
        let compile = Compile::Child { program, arguments: vec![role.into()], key: KEY };
        Sandbox::new(compile, ArtifactCache::open(folder.path(), || Some(KEY))).load(&bytes, &Limits::default())
    };
    assert!(with("crash").is_err());
    assert!(with("compile").is_ok());
    // Nobody is asked to compile again.
    let program = with("crash").expect("the cached program");
    let run = run_parts(&program, parts(&[], Limits::default())).expect("an outcome");
    assert!(!run.measured.compiled && run.outcome.ending == exited(0));
    // A damaged entry is compiled again.
    let entry =
        std::fs::read_dir(folder.path()).expect("the cache").next().expect("an entry").expect("an entry").path();
    let mut artifact = std::fs::read(&entry).expect("an artifact");
    let middle = artifact.len() / 2;
    artifact[middle] ^= 1;
    std::fs::write(&entry, &artifact).expect("a changed artifact");
    assert!(with("crash").is_err());
    assert!(with("compile").is_ok() && with("crash").is_ok());
    refusals_are_paid_for_once();
}

/// What it says is kept, and that it fails; that a child did not live to say it is not.
fn asked() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let described = |role: &str, bytes: &[u8]| {
        let program = std::env::current_exe().expect("a path");
        let compile = Compile::Child { program, arguments: vec![role.into()], key: KEY };
        let sandbox = Sandbox::new(compile, ArtifactCache::open(folder.path(), || Some(KEY)));
        let program = sandbox.load(bytes, &Limits::default()).expect("a program");
        sandbox.describe(&program, &Limits::default())
    };
    let failing = WatGuest {
        after: "(func $describe (result string) (canon lift (core func $main \"run\") (memory (core memory $libc \"memory\"))))
                (instance $contract (export \"describe\" (func $describe)))
                (export \"hutch:app/contract@0.1.0\" (instance $contract))"
            .to_owned(),
        ..WatGuest::body("unreachable")
    };
    let failing = failing.bytes();
    let todo = support::todo_bytes();
    let here = Sandbox::new(Compile::Here, None);
    let program = here.load(&todo, &Limits::default()).expect("a program");
    let known = here.describe(&program, &Limits::default()).expect("a description").expect("an export");
    for bytes in [&todo, &failing] {
        // Compiled by then, so that whoever breaks off does so when it is asked.
        let program = std::env::current_exe().expect("a path");
        let compile = Compile::Child { program, arguments: vec!["compile".into()], key: KEY };
        let sandbox = Sandbox::new(compile, ArtifactCache::open(folder.path(), || Some(KEY)));
        assert!(sandbox.load(bytes, &Limits::default()).is_ok());
        for role in ["crash", "leave", "half", "another-key"] {
            let error = described(role, bytes).expect_err("no answer");
            assert!(matches!(&error, DescribeError::Host(_)), "{role}: {error:?}");
        }
        // One that never ends is read no further than any answer is long.
        let error = described("flood", bytes).expect_err("no answer");
        assert!(matches!(&error, DescribeError::Host(text) if text.to_string().contains("2097152 bytes")), "{error:?}");
    }
    assert_eq!(described("compile", &todo), Ok(Some(known.clone())));
    assert_eq!(described("crash", &todo), Ok(Some(known)), "it was asked once more");
    for role in ["compile", "crash"] {
        let error = described(role, &failing).expect_err("a trap");
        assert!(matches!(&error, DescribeError::Guest(text) if text.contains("unreachable")), "{role}: {error:?}");
    }
}

/// What was refused is refused from the cache, for as much time as it was given then; what was no verdict is not kept.
fn refusals_are_paid_for_once() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let with = |role: &str, bytes: &[u8], time_ms: u64| {
        let program = std::env::current_exe().expect("a path");
        let compile = Compile::Child { program, arguments: vec![role.into()], key: KEY };
        let sandbox = Sandbox::new(compile, ArtifactCache::open(folder.path(), || Some(KEY)));
        sandbox.load(bytes, &limits(&[(Limit::CompileTime, time_ms)])).err()
    };
    let good = WatGuest::body("i32.const 0").bytes();
    assert!(matches!(with("crash", &good, 60_000), Some(LoadError::TooMuch(_))));
    assert!(matches!(with("half", &good, 60_000), Some(LoadError::Host(_))));
    assert_eq!(with("hang", &good, 100), Some(LoadError::TooSlow { time_ms: 100 }));
    // Nobody is asked again: a child that could would answer otherwise.
    for less in [100, 50, 1] {
        assert_eq!(with("compile", &good, less), Some(LoadError::TooSlow { time_ms: 100 }));
    }
    assert_eq!(with("compile", &good, 600_000), None);
    assert_eq!(with("crash", &good, 1), None);
    let bad = [
        wat("(component (import \"a\" (func)))"),
        wat(&("(component ".repeat(9) + &")".repeat(9))),
        // Modules of WASI 0.1 that can be compiled and not be linked.
        wat("(module (import \"wasi_snapshot_preview1\" \"fd_fly\" (func)) (func (export \"_start\")))"),
        wat("(module (func (export \"start\")))"),
        wat("(component (type (stream u8)))"),
    ];
    for bad in bad {
        let refusal = with("compile", &bad, 60_000);
        assert!(
            matches!(refusal, Some(LoadError::Invalid(_) | LoadError::Lacking { .. } | LoadError::TooMuch(_))),
            "{refusal:?}"
        );
        assert_eq!(with("crash", &bad, 60_000), refusal);
    }
}

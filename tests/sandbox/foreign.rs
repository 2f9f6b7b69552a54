//! A program from another toolchain runs unmodified: C, compiled by Debian's clang against its wasi-libc, for WASI 0.1. Run with the
//! feature `foreign`, because a machine with Rust and a C compiler has no such clang. The
//! interpreter of `foreign.sh` is the other such guest.
#![allow(clippy::disallowed_methods, reason = "tests reach for what they prepare")]
#![allow(clippy::expect_used, clippy::panic, reason = "a test that cannot prepare its data has failed")]

mod support;

use hutch_model::invocation::Access;
use hutch_model::limits::{Limit, Limits};
use hutch_model::snapshot::{Node, Tree, read_tree};
use hutch_sandbox::{Backend, Compile, Program, Sandbox};
use std::path::Path;
use std::process::Command;
use support::case::{exited, limited};
use support::{VOLUME, limits, parts, repository, run_parts, sandbox};

/// Compiles a program of `foreign/` with these options.
fn clang(source: &str, options: &[&str], to: &Path) {
    let built = Command::new("clang")
        .args(["-Wall", "-Werror", "-o"])
        .arg(to)
        .args(options)
        .arg(repository("tests/sandbox/foreign").join(source))
        .output();
    let install = "apt-get install -y --no-install-recommends clang lld wasi-libc libclang-rt-dev-wasm32";
    let built = built.unwrap_or_else(|error| panic!("no clang ({error}); {install}"));
    assert!(built.status.success(), "{}\n{install}", String::from_utf8_lossy(&built.stderr));
}

/// What a program is as a module of WASI 0.1.
fn compile(source: &str, optimisation: &str) -> Vec<u8> {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let module = folder.path().join("guest.wasm");
    clang(source, &["--target=wasm32-wasi", optimisation], &module);
    std::fs::read(&module).expect("the module that clang wrote")
}

#[test]
fn calls_are_as_wasi_says() {
    let program = sandbox().load(&compile("wasi.c", "-O1"), &Limits::default()).expect("a program");
    let mut parts = parts(&[], Limits::default());
    parts.preopens.insert("given/data".to_owned(), Access::ReadOnly);
    let run = run_parts(&program, parts).expect("an outcome");
    assert_eq!(run.outcome.ending, exited(0), "{}", String::from_utf8_lossy(&run.outcome.stderr));
    assert_eq!(run.outcome.stdout, b"as WASI says\n");
    assert_eq!(run.after.volumes.keys().collect::<Vec<_>>(), [VOLUME], "a folder to look at was changed");
}

/// How often, and with how many operations each time.
const SEEDS: u32 = 30;
const OPERATIONS: &str = "2000";

#[test]
fn random_work_with_files_comes_to_the_same_as_on_this_machine() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let native = folder.path().join("native");
    clang("random.c", &["-O1"], &native);
    let program = sandbox().load(&compile("random.c", "-O1"), &Limits::default()).expect("a program");
    for seed in 1..=SEEDS {
        let (work, seed) = (folder.path().join(seed.to_string()), seed.to_string());
        std::fs::create_dir_all(work.join(VOLUME)).expect("a folder to work in");
        let here =
            Command::new(&native).args([&seed, OPERATIONS]).current_dir(&work).output().expect("the program runs");
        let run = run_parts(&program, parts(&[&seed, OPERATIONS], Limits::default())).expect("an outcome");
        assert_eq!(run.outcome.ending, exited(0), "{seed}: {}", String::from_utf8_lossy(&run.outcome.stderr));
        let (here, there) = (String::from_utf8_lossy(&here.stdout), String::from_utf8_lossy(&run.outcome.stdout));
        assert!(here.lines().count() > 1500, "{seed}: {here}");
        let differs = here.lines().zip(there.lines()).enumerate().find(|(_, (here, there))| here != there);
        assert_eq!(differs, None, "seed {seed}: the line, as it is on this machine and in the sandbox");
        assert_eq!(here.len(), there.len(), "seed {seed}");
    }
}

/// The same outcome on another engine; and fuel is one exact sum, also where the host works for a module.
#[test]
fn outcomes_of_a_module_are_exact() {
    let module = compile("random.c", "-O1");
    let program = sandbox().load(&module, &Limits::default()).expect("a program");
    let interpreter = Sandbox::new(Compile::Here, None).on(Backend::Interpreter64);
    let interpreted = interpreter.load(&module, &Limits::default()).expect("a program");
    for seed in ["101", "102", "103"] {
        let run = |program: &Program, fuel: u64| {
            let run = run_parts(program, parts(&[seed, "1000"], limits(&[(Limit::Fuel, fuel)]))).expect("an outcome");
            (run.outcome, run.after.volumes)
        };
        let plenty = run(&program, 10_000_000_000);
        assert_eq!(plenty.0.ending, exited(0));
        assert_eq!(run(&interpreted, 10_000_000_000), plenty, "{seed}: on the interpreter");
        let fuel = plenty.0.fuel;
        assert_eq!(run(&program, fuel + 1), plenty, "{seed}: with one more than it uses");
        for fuel in [fuel, fuel - 1, fuel / 2] {
            let (ended, after) = run(&program, fuel);
            assert_eq!(
                (&ended.ending, ended.fuel, after.len()),
                (&limited(Limit::Fuel), fuel, 0),
                "{seed}: with {fuel}"
            );
        }
    }
}

#[test]
fn files_are_as_posix_says_and_as_they_are_on_this_machine() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let native = folder.path().join("native");
    clang("posix.c", &["-O1"], &native);
    std::fs::create_dir(folder.path().join(VOLUME)).expect("a folder to work in");
    let here = Command::new(&native).current_dir(folder.path()).stdin(std::process::Stdio::null()).output();
    let here = here.expect("the program runs");
    assert!(here.status.success(), "on this machine: {}", String::from_utf8_lossy(&here.stderr));

    for optimisation in ["-O0", "-O2"] {
        let program = sandbox().load(&compile("posix.c", optimisation), &Limits::default()).expect("a program");
        let run = run_parts(&program, parts(&[], Limits::default())).expect("an outcome");
        let complaint = String::from_utf8_lossy(&run.outcome.stderr);
        assert_eq!(run.outcome.ending, exited(0), "{optimisation}: {complaint}");
        assert_eq!(run.outcome.stdout, here.stdout);
        let names = |volume: &str| -> Vec<String> {
            let top = read_tree(&run.after.objects, &run.after.volumes[volume].after).expect("the volume");
            top.entries().iter().map(|entry| entry.name.as_str().to_owned()).collect()
        };
        assert_eq!(names(VOLUME), ["grows", "log", "made"]);
    }
}

#[test]
fn a_c_program_works_with_files() {
    for optimisation in ["-O0", "-O2", "-Os"] {
        let program = sandbox().load(&compile("files.c", optimisation), &Limits::default()).expect("a program");

        let run = run_parts(&program, parts(&[], Limits::default())).expect("an outcome");
        let (said, complaint) =
            (String::from_utf8_lossy(&run.outcome.stdout), String::from_utf8_lossy(&run.outcome.stderr));
        assert_eq!(run.outcome.ending, exited(7), "{optimisation}: {complaint}");
        let expected =
            r#"{"text":"hello WORLD","entries":20,"first":"file-00","last":"second.txt","year":2026,"arguments":1}"#;
        assert_eq!(said.trim_end(), expected);
        assert!(run.after.volumes.is_empty(), "exit status 7 left state");

        let run = run_parts(&program, parts(&["well"], Limits::default())).expect("an outcome");
        assert_eq!(run.outcome.ending, exited(0), "{}", String::from_utf8_lossy(&run.outcome.stderr));
        let objects = &run.after.objects;
        let top = read_tree(objects, &run.after.volumes[VOLUME].after).expect("the volume");
        let [notes] = top.entries() else { panic!("not one folder: {top:?}") };
        let Node::Folder { tree, .. } = notes.node else { panic!("not a folder: {notes:?}") };
        let notes: Tree = read_tree(objects, &tree).expect("the folder");
        let names: Vec<&str> = notes.entries().iter().map(|entry| entry.name.as_str()).collect();
        let numbers = (0..20).filter(|number| *number != 13).map(|number| format!("file-{number:02}"));
        assert_eq!(names, numbers.chain(["second.txt".to_owned()]).collect::<Vec<_>>());
        assert!(matches!(notes.entries()[19].node, Node::File { size: 11, .. }));
    }
}

//! A program from another toolchain runs unmodified: C, compiled by Debian's clang against its wasi-libc, for WASI 0.1. The
//! interpreter of `foreign.sh` is the other such guest.
#![allow(clippy::disallowed_methods, reason = "tests reach for what they prepare")]
#![allow(clippy::expect_used, clippy::panic, reason = "a test that cannot prepare its data has failed")]

mod support;

use hutch_model::limits::Limits;
use hutch_model::snapshot::{Node, Tree, read_tree};
use std::process::Command;
use support::case::exited;
use support::{VOLUME, parts, repository, run_parts, sandbox};

/// What `files.c` is once it is compiled with this option.
fn compile(optimisation: &str) -> Vec<u8> {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let module = folder.path().join("files.wasm");
    let built = Command::new("clang")
        .args(["--target=wasm32-wasi", "-Wall", "-Werror", optimisation, "-o"])
        .arg(&module)
        .arg(repository("tests/sandbox/foreign/files.c"))
        .output();
    let install = "apt-get install -y --no-install-recommends clang lld wasi-libc libclang-rt-dev-wasm32";
    let built = built.unwrap_or_else(|error| panic!("no clang ({error}); {install}"));
    assert!(built.status.success(), "{}\n{install}", String::from_utf8_lossy(&built.stderr));
    std::fs::read(&module).expect("the module that clang wrote")
}

#[test]
fn a_c_program_works_with_files() {
    for optimisation in ["-O0", "-O2", "-Os"] {
        let program = sandbox().load(&compile(optimisation), &Limits::default()).expect("a program");

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

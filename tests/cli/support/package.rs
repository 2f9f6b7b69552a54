//! Packages made for a test: copies of the probe with one thing changed.

use super::{Machine, repository};
use std::path::{Path, PathBuf};

/// Says what the probe says to `args "an answer"`, and takes next to no time to be compiled.
pub(crate) const SMALL: &str = r#"(module
    (import "wasi_snapshot_preview1" "fd_write" (func $write (param i32 i32 i32 i32) (result i32)))
    (memory (export "memory") 1)
    (data (i32.const 0) "\10\00\00\00\32\00\00\00")
    (data (i32.const 16) "{\"ok\":true,\"command\":\"args\",\"args\":[\"an answer\"]}\n")
    (func (export "_start") (drop (call $write (i32.const 1) (i32.const 0) (i32.const 1) (i32.const 8)))))"#;

/// A copy of the probe's package in the machine's folder.
pub(crate) fn copy(machine: &Machine, name: &str) -> PathBuf {
    let copy = machine.path(name);
    copy_folder(&repository().join("tests/packages/probe"), &copy);
    copy
}

/// A copy of the to-do application's package.
pub(crate) fn copy_todo(machine: &Machine, name: &str) -> PathBuf {
    let copy = machine.path(name);
    copy_folder(&repository().join("packages/todo"), &copy);
    copy
}

/// A copy of the probe with a text of its manifest replaced.
pub(crate) fn with_manifest(machine: &Machine, name: &str, from: &str, to: &str) -> PathBuf {
    let copy = copy(machine, name);
    let manifest = copy.join("APP.md");
    let text = std::fs::read_to_string(&manifest).expect("a manifest");
    assert!(text.contains(from), "the manifest holds no {from:?}");
    std::fs::write(&manifest, text.replacen(from, to, 1)).expect("a manifest");
    copy
}

/// A copy of the probe that says of each command that it only reads.
pub(crate) fn liar(machine: &Machine, name: &str) -> String {
    let copy = copy(machine, name);
    let contract = copy.join("schemas/commands.json");
    let text = std::fs::read_to_string(&contract).expect("a contract");
    let write = "\"effect\": \"write\"";
    assert!(text.contains(write), "the contract holds no {write}");
    std::fs::write(&contract, text.replace(write, "\"effect\": \"read\"")).expect("a contract");
    copy.display().to_string()
}

/// The probe where the repository has it, but that its endless loops end at a thousandth of the fuel: for calls of all that it does.
pub(crate) fn probe_that_ends_soon(machine: &Machine) -> PathBuf {
    let limits = "    limits: {fuel: 10000000}\n";
    with_manifest(machine, "tests/packages/probe", "    mounts:\n", &format!("{limits}    mounts:\n"))
}

/// The same with another payload.
pub(crate) fn with_payload(machine: &Machine, name: &str, payload: &[u8]) -> PathBuf {
    let copy = copy(machine, name);
    std::fs::write(copy.join("app/app.wasm"), payload).expect("a payload");
    copy
}

/// Copies of the probe that say [`SMALL`], with a slug and a component of its own each, and one at the end whose component can't be compiled: more
/// than a process keeps the last programs of.
pub(crate) fn crowd(machine: &Machine) -> Vec<String> {
    let small = wat::parse_str(SMALL).expect("a module");
    let made = (0..18_u8).map(|number| {
        let folder = copy(machine, &format!("probe{number}"));
        for (file, name) in [("APP.md", "slug: probe"), ("schemas/commands.json", "\"name\": \"probe")] {
            let text = std::fs::read_to_string(folder.join(file)).expect("a file");
            assert!(text.contains(name), "{file} holds no {name:?}");
            std::fs::write(folder.join(file), text.replacen(name, &format!("{name}{number}"), 1)).expect("a file");
        }
        // A section of its own; the last one is no section.
        let section = if number == 17 { vec![0xff] } else { vec![0, 3, 1, b'n', number] };
        std::fs::write(folder.join("app/app.wasm"), [small.as_slice(), &section].concat()).expect("a payload");
        folder.display().to_string()
    });
    made.collect()
}

/// Copies of the repository's packages that words name, or of all where they name their folder: what is written beside a package must not be
/// written beside those there.
#[cfg(unix)]
pub(crate) fn copy_named(words: &str, to: &Path) {
    for package in std::fs::read_dir(repository().join("packages")).expect("packages") {
        let name = package.expect("a package").file_name().into_string().expect("UTF-8");
        let package = format!("packages/{name}");
        if words.contains(&package) || words.contains("\"packages\"") {
            copy_folder(&repository().join(&package), &to.join(&package));
        }
    }
}

pub(crate) fn copy_folder(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).expect("a folder");
    for entry in std::fs::read_dir(from).expect("a folder") {
        let entry = entry.expect("an entry");
        let target = to.join(entry.file_name());
        if entry.file_type().expect("a kind").is_dir() {
            copy_folder(&entry.path(), &target);
        } else {
            std::fs::copy(entry.path(), target).expect("a copy");
        }
    }
}

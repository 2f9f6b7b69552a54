//! Packages made for a test: copies of the probe with one thing changed.

use super::{Machine, repository};
use std::path::{Path, PathBuf};

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

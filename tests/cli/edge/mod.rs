//! `hutch pack --compiled` and `hutch-edge`: one application in one file, run without the rest of hutch, comes to what hutch comes to.

mod bundles;
mod programs;
mod same;
mod states;

use crate::support::{HUTCH, Machine, Ran, repository};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

/// The other program: the one that `HUTCH_EDGE` names, or one of the same build as the one under test. It is another crate's, so the
/// tests' own build may lack it.
pub(crate) fn hutch_edge() -> &'static Path {
    static BUILT: OnceLock<PathBuf> = OnceLock::new();
    BUILT.get_or_init(|| {
        if let Some(named) = std::env::var_os("HUTCH_EDGE") {
            return named.into();
        }
        let beside = Path::new(HUTCH).parent().expect("a folder");
        let output = Command::new(env!("CARGO"))
            .args(["build", "--release", "--locked", "--offline", "--workspace", "--bin", "hutch-edge", "--target-dir"])
            .arg(beside.parent().expect("a target folder"))
            .current_dir(repository())
            .output()
            .expect("cargo starts");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        beside.join("hutch-edge")
    })
}

/// A program of ours with nothing around it.
fn bare(program: &Path, arguments: &[&str], folder: &Path) -> Command {
    let mut command = Command::new(program);
    command.env_clear().current_dir(folder).stdin(Stdio::null()).args(arguments);
    command
}

impl Machine {
    /// Exports a package to a file on this machine.
    fn export(&self, package: &str, options: &[&str], name: &str) -> PathBuf {
        let path = self.path(name);
        let named = path.display().to_string();
        self.run([&["pack", package, "--compiled", "--output", &named], options].concat()).result("pack");
        path
    }

    /// Exports a package for this host, which makes equal bytes on every machine: once for all tests, since it compiles.
    fn bundle(&self, package: &str, name: &str) -> PathBuf {
        self.bundle_for(&[], package, name)
    }

    /// The same for another host.
    fn bundle_for(&self, target: &[&str], package: &str, name: &str) -> PathBuf {
        // Who waits for one bundle keeps nobody from another.
        type Made = Arc<OnceLock<Vec<u8>>>;
        static MADE: Mutex<BTreeMap<String, Made>> = Mutex::new(BTreeMap::new());
        let words = [&[package], target].concat().join(" ");
        let made = Made::clone(MADE.lock().unwrap_or_else(PoisonError::into_inner).entry(words).or_default());
        let make = || std::fs::read(self.export(package, target, name)).expect("a bundle");
        self.write(name, made.get_or_init(make))
    }

    /// Runs the other program in the machine's folder.
    fn edge(&self, arguments: &[&str]) -> Ran {
        Ran::of(&mut bare(hutch_edge(), arguments, &self.path("")))
    }

    /// The names of all files in the machine's folder that these tests make.
    fn names(&self) -> Vec<String> {
        let entries = std::fs::read_dir(self.path("")).expect("a folder");
        let mut names: Vec<_> =
            entries.map(|entry| entry.expect("an entry").file_name().into_string().expect("UTF-8")).collect();
        names.retain(|name| name != "person");
        names.sort();
        names
    }
}

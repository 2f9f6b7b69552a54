//! The programs that are measured, the state that all of them have, and the rounds in which they run.

use crate::left_out;
use crate::spent::{Spent, spend};
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

const ITEMS: usize = 100;

/// A file is remembered once it is older than this.
const REMEMBERED_AFTER: Duration = Duration::from_millis(3_500);

pub(crate) struct Bench {
    folder: tempfile::TempDir,
    repository: PathBuf,
    built: PathBuf,
    /// What `tests/speed/run` installed: a virtual environment of Python, a package with a component made of Python, and `spent`.
    tools: PathBuf,
}

/// A program to measure.
#[derive(Clone)]
pub(crate) struct Peer {
    pub(crate) name: String,
    program: PathBuf,
    arguments: Vec<String>,
    folder: PathBuf,
}

impl Bench {
    /// The same hundred items for all.
    pub(crate) fn new() -> Bench {
        let here = std::env::current_exe().expect("this program");
        let built = here.ancestors().nth(2).expect("the target folder").to_owned();
        let tools = built.parent().expect("the target folder").join("speed");
        let repository = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().expect("the repository");
        let bench = Bench { folder: tempfile::tempdir().expect("a temporary folder"), repository, built, tools };
        let invocations: String = (0..ITEMS).map(|at| format!("[\"add\",\"item number {at}\"]\n")).collect();
        let fill = bench.hutch(&["run", "--json-input", "packages/todo"]);
        let mut command = Command::new(&fill.program);
        bench.surround(command.args(&fill.arguments).current_dir(&fill.folder).stdin(Stdio::piped()));
        let mut child = command.spawn().expect("hutch");
        child.stdin.take().expect("a pipe").write_all(invocations.as_bytes()).expect("its input");
        assert!(child.wait().expect("hutch").success(), "{} failed", fill.name);
        let state = bench.folder.path().join("home/instances/todo/default/state/todos.json");
        fs::create_dir_all(bench.native_folder().join("state")).expect("a folder");
        fs::copy(state, bench.native_folder().join("state/todos.json")).expect("the state");
        bench
    }

    fn native_folder(&self) -> PathBuf {
        self.folder.path().join("native")
    }

    /// Nothing of the person's.
    fn surround(&self, command: &mut Command) {
        command.env("HUTCH_HOME", self.folder.path().join("home"));
        command.env("XDG_CACHE_HOME", self.folder.path().join("cache"));
        command.stdout(Stdio::null()).stderr(Stdio::null());
    }

    fn peer(&self, name: &str, program: impl Into<PathBuf>, arguments: &[&str], folder: PathBuf) -> Peer {
        let arguments = arguments.iter().map(|&word| word.to_owned()).collect();
        Peer { name: name.to_owned(), program: program.into(), arguments, folder }
    }

    pub(crate) fn hutch(&self, arguments: &[&str]) -> Peer {
        let name = format!("hutch {}", arguments.join(" "));
        self.peer(&name, self.built.join("hutch"), arguments, self.repository.clone())
    }

    /// The same program, built for this machine.
    pub(crate) fn native(&self, arguments: &[&str]) -> Peer {
        let name = format!("todo {}, native", arguments.join(" "));
        self.peer(&name, self.built.join("todo"), arguments, self.native_folder())
    }

    /// What the least program does that keeps an item durably.
    pub(crate) fn durable_peer(&self) -> Peer {
        let here = std::env::current_exe().expect("this program");
        let name = "write, sync, rename, sync, native";
        self.peer(name, here, &["--add-to", "state/todos.json"], self.native_folder())
    }

    /// Other ways to run `list`.
    pub(crate) fn around_list(&self) -> Vec<Peer> {
        let file = |path: &str| self.repository.join(path).display().to_string();
        let todo = self.built.join("todo").display().to_string();
        let here = self.native_folder().display().to_string();
        let boxed =
            ["--ro-bind", "/", "/", "--bind", &here, &here, "--chdir", &here, "--unshare-all", "--die-with-parent"];
        let component = file("packages/todo/app/app.wasm");
        let native = self.native_folder();
        vec![
            self.peer(
                "bubblewrap around `todo list`",
                "bwrap",
                &[&boxed[..], &[&todo, "list"]].concat(),
                native.clone(),
            ),
            self.wasmtime("wasmtime run, compiled before", &["--dir", "state", &component, "list"], native.clone()),
            self.cpython("CPython, the same list", &["-S", &file("tests/speed/list.py")]),
            self.peer("Node, the same list", "node", &[&file("tests/speed/list.mjs")], native),
        ]
    }

    fn wasmtime(&self, name: &str, arguments: &[&str], folder: PathBuf) -> Peer {
        let arguments = [&["run", "-C", "cache=y"], arguments].concat();
        self.peer(name, self.tools.join("wasmtime"), &arguments, folder)
    }

    /// The interpreter itself: what is called so may be a script that looks for it.
    pub(crate) fn cpython(&self, name: &str, arguments: &[&str]) -> Peer {
        let asked = Command::new("python3").args(["-c", "import sys; print(sys.executable)"]).output();
        let found = |asked: std::process::Output| String::from_utf8_lossy(&asked.stdout).trim().to_owned();
        let python = asked.map_or_else(|_| "python3".to_owned(), found);
        self.peer(name, python, arguments, self.native_folder())
    }

    /// `list` of the application that `hutch init --lang python` makes.
    pub(crate) fn python_package(&self) -> Option<Peer> {
        let package = self.tools.join("notes/package");
        package.join("app/app.wasm").is_file().then(|| {
            let mut peer = self.hutch(&["run", &package.display().to_string(), "list"]);
            peer.name = "hutch run NOTES list".to_owned();
            peer
        })
    }

    /// The same component in the stock engine.
    pub(crate) fn python_component(&self) -> Option<Peer> {
        let component = self.tools.join("notes/package/app/app.wasm").display().to_string();
        let name = "wasmtime run of the same, compiled before";
        Some(self.wasmtime(name, &["--dir", "state", &component, "list"], self.native_folder()))
    }

    pub(crate) fn spend(&self, peer: &Peer) -> Spent {
        self.try_to_spend(peer).unwrap_or_else(|| unreachable!("{} failed", peer.name))
    }

    fn try_to_spend(&self, peer: &Peer) -> Option<Spent> {
        let report = self.folder.path().join("report");
        let mut command = Command::new(self.tools.join("spent"));
        command.arg(&report).arg(&peer.program).args(&peer.arguments).current_dir(&peer.folder).stdin(Stdio::null());
        self.surround(&mut command);
        spend(&mut command, &report)
    }

    /// Those that are there and work; the others are said.
    pub(crate) fn there(&self, peers: Vec<Peer>) -> Vec<Peer> {
        let (there, missing): (Vec<Peer>, Vec<Peer>) =
            peers.into_iter().partition(|peer| self.try_to_spend(peer).is_some());
        missing.iter().for_each(left_out);
        there
    }

    pub(crate) fn rounds(&self, rounds: usize, peers: &[Peer]) -> Vec<Vec<Spent>> {
        // Compiled, read and remembered.
        let once = || peers.iter().map(|peer| self.spend(peer)).collect::<Vec<Spent>>();
        for _ in 0..2 {
            once();
            std::thread::sleep(REMEMBERED_AFTER);
        }
        once();
        (0..rounds).map(|_| once()).collect()
    }
}

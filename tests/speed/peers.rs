//! Whole processes, side by side: hutch and what people would use instead. Every round runs each program once, one after the other, so
//! that whatever else the machine does meets all of them; ratios are of the same round. `tests/speed/run` builds what is needed.
#![allow(clippy::disallowed_methods, reason = "a program of this repository's developers")]
#![allow(clippy::expect_used, clippy::print_stdout, reason = "a program for the people who measure")]

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Instant;

const ITEMS: usize = 100;

fn main() {
    let words: Vec<String> = std::env::args().skip(1).collect();
    if let [mode, file] = &words[..]
        && mode == "--add-to"
    {
        return add_durably(Path::new(file));
    }
    let rounds = words.first().map_or(100, |rounds| rounds.parse().expect("how many rounds"));
    let bench = Bench::new();
    println!("{}\n", machine());
    println!("{:<44} {:>8}  {:<17} {:>7}", "program", "median", "10 % to 90 %", "ratio");
    bench.compare("start and end", rounds, &[bench.native(&["--version"]), bench.hutch(&["--version"])]);
    let mut lists = vec![bench.native(&["list"]), bench.hutch(&["run", "packages/todo", "list"])];
    lists.extend(bench.peers());
    bench.compare("list 100 items, nothing is changed", rounds, &lists);
    let adds = [bench.durable_peer(), bench.hutch(&["run", "packages/todo", "add", "milk"])];
    bench.compare("add an item, durable", rounds, &adds);
    bench.growth(rounds);
}

struct Bench {
    folder: tempfile::TempDir,
    repository: PathBuf,
    built: PathBuf,
}

/// A program to measure.
struct Peer {
    name: String,
    program: PathBuf,
    arguments: Vec<String>,
    folder: PathBuf,
}

impl Bench {
    /// The same hundred items for all.
    fn new() -> Bench {
        let here = std::env::current_exe().expect("this program");
        let built = here.ancestors().nth(2).expect("the target folder").to_owned();
        let repository = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().expect("the repository");
        let bench = Bench { folder: tempfile::tempdir().expect("a temporary folder"), repository, built };
        let invocations: String = (0..ITEMS).map(|at| format!("[\"add\",\"item number {at}\"]\n")).collect();
        let fill = bench.hutch(&["run", "--json-input", "packages/todo"]);
        let mut child = bench.command(&fill).stdin(Stdio::piped()).spawn().expect("hutch");
        child.stdin.take().expect("a pipe").write_all(invocations.as_bytes()).expect("its input");
        assert!(child.wait().expect("hutch").success(), "{} failed", fill.name);
        let state = bench.folder.path().join("home/instances/todo/default/state/todos.json");
        fs::create_dir_all(bench.folder.path().join("native/state")).expect("a folder");
        fs::copy(state, bench.folder.path().join("native/state/todos.json")).expect("the state");
        bench
    }

    fn command(&self, peer: &Peer) -> Command {
        let mut command = Command::new(&peer.program);
        command.args(&peer.arguments).current_dir(&peer.folder).stdin(Stdio::null());
        command.env("HUTCH_HOME", self.folder.path().join("home"));
        command.env("XDG_CACHE_HOME", self.folder.path().join("cache"));
        command.stdout(Stdio::null()).stderr(Stdio::null());
        command
    }

    fn peer(&self, name: &str, program: impl Into<PathBuf>, arguments: &[&str], folder: PathBuf) -> Peer {
        let arguments = arguments.iter().map(|&word| word.to_owned()).collect();
        Peer { name: name.to_owned(), program: program.into(), arguments, folder }
    }

    fn hutch(&self, arguments: &[&str]) -> Peer {
        self.peer(
            &format!("hutch {}", arguments.join(" ")),
            self.built.join("hutch"),
            arguments,
            self.repository.clone(),
        )
    }

    /// The same program, built for this machine.
    fn native(&self, arguments: &[&str]) -> Peer {
        let name = format!("todo {}, native", arguments.join(" "));
        self.peer(&name, self.built.join("todo"), arguments, self.folder.path().join("native"))
    }

    /// What the least program does that keeps an item durably.
    fn durable_peer(&self) -> Peer {
        let here = std::env::current_exe().expect("this program");
        let name = "write, sync, rename, sync, native";
        self.peer(name, here, &["--add-to", "state/todos.json"], self.folder.path().join("native"))
    }

    /// Other ways to run a program, as far as they are there.
    fn peers(&self) -> Vec<Peer> {
        let native = self.folder.path().join("native");
        let file = |path: &str| self.repository.join(path).display().to_string();
        let todo = self.built.join("todo").display().to_string();
        let boxed: Vec<&str> = "--ro-bind / / --bind . . --unshare-all --die-with-parent".split(' ').collect();
        let (script, module, component) =
            (file("tests/speed/list.py"), file("tests/speed/list.mjs"), file("packages/todo/app/app.wasm"));
        let all = [
            self.peer(
                "bubblewrap around todo list, native",
                "bwrap",
                &[&boxed[..], &[&todo, "list"]].concat(),
                native.clone(),
            ),
            self.peer(
                "wasmtime run (compiled before) todo list",
                "wasmtime",
                &["run", "-C", "cache=y", "--dir", "state", &component, "list"],
                native.clone(),
            ),
            self.peer("CPython, the same list", python(), &["-S", &script], native.clone()),
            self.peer("Node, the same list", "node", &[&module], native),
        ];
        let works = |peer: &Peer| self.command(peer).status().is_ok_and(|status| status.success());
        let (there, missing): (Vec<Peer>, Vec<Peer>) = all.into_iter().partition(works);
        for peer in missing {
            println!("not measured, because it is not installed or does not work here: {}", peer.name);
        }
        there
    }

    fn time_ms(&self, peer: &Peer) -> f64 {
        let mut command = self.command(peer);
        let start = Instant::now();
        let status = command.status().expect("a program that starts");
        let time = start.elapsed();
        assert!(status.success(), "{} failed", peer.name);
        time.as_secs_f64() * 1e3
    }

    fn compare(&self, what: &str, rounds: usize, peers: &[Peer]) {
        // Compiled, read and remembered: files are, once they are older than three seconds.
        let once = || peers.iter().map(|peer| self.time_ms(peer)).collect::<Vec<f64>>();
        for _ in 0..2 {
            once();
            std::thread::sleep(std::time::Duration::from_millis(3_500));
        }
        once();
        let times: Vec<Vec<f64>> = (0..rounds).map(|_| peers.iter().map(|peer| self.time_ms(peer)).collect()).collect();
        println!("\n{what}");
        for (at, peer) in peers.iter().enumerate() {
            let mine = sorted(times.iter().map(|round| round[at]));
            let ratio = sorted(times.iter().map(|round| round[at] / round[0]));
            let spread = format!("{:.2} to {:.2}", part(&mine, 0.1), part(&mine, 0.9));
            println!("  {:<42} {:>5.2} ms  {spread:<17} {:>6.2}x", peer.name, part(&mine, 0.5), part(&ratio, 0.5));
        }
    }

    /// Whether a call becomes slower by those before it.
    fn growth(&self, rounds: usize) {
        let list = self.hutch(&["run", "packages/todo", "list"]);
        let calls = rounds * 30;
        let times: Vec<f64> = (0..calls).map(|_| self.time_ms(&list)).collect();
        let tenth = calls / 10;
        let first = part(&sorted(times[..tenth].iter().copied()), 0.5);
        let last = part(&sorted(times[calls - tenth..].iter().copied()), 0.5);
        println!("\n{calls} calls of list, one after the other");
        println!("  {:<42} {first:>5.2} ms  {:<17} {:>6.2}x", "median of the first tenth", "", 1.0);
        println!("  {:<42} {last:>5.2} ms  {:<17} {:>6.2}x", "median of the last tenth", "", last / first);
    }
}

/// The interpreter itself: what is called so may be a script that looks for it.
fn python() -> PathBuf {
    let asked = Command::new("python3").args(["-c", "import sys; print(sys.executable)"]).output();
    asked.map_or_else(|_| "python3".into(), |asked| String::from_utf8_lossy(&asked.stdout).trim().into())
}

fn sorted(times: impl Iterator<Item = f64>) -> Vec<f64> {
    let mut times: Vec<f64> = times.collect();
    times.sort_by(f64::total_cmp);
    times
}

fn part(sorted: &[f64], part: f64) -> f64 {
    sorted[((sorted.len() - 1) as f64 * part) as usize]
}

/// Reads all, writes all and one item more aside, and makes that and its name durable.
fn add_durably(file: &Path) {
    let text = fs::read_to_string(file).expect("the state");
    let (before, after) = text.rsplit_once("\n]").expect("a list of items");
    let item = r#"{"id":"td_9999","title":"milk","description":"","dueAt":null,"reminders":[]}"#;
    let aside = file.with_extension("new");
    let mut new = fs::File::create(&aside).expect("a new file");
    write!(new, "{before},\n{item}\n]{after}").expect("room");
    new.sync_all().expect("a disk");
    fs::rename(&aside, file).expect("the old name");
    let folder = fs::File::open(file.parent().expect("a folder")).expect("a folder");
    folder.sync_all().expect("a disk");
}

fn machine() -> String {
    let read = |path: &str| fs::read_to_string(path).unwrap_or_default();
    let cpu = read("/proc/cpuinfo");
    let model = cpu.lines().find_map(|line| line.strip_prefix("model name")).unwrap_or(": unknown");
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let kernel = read("/proc/sys/kernel/osrelease");
    let load = read("/proc/loadavg");
    let load = load.split(' ').next().unwrap_or_default();
    format!(
        "{} x{cores}, {} {}, load {load}",
        model.trim_start_matches([' ', '\t', ':']),
        std::env::consts::OS,
        kernel.trim()
    )
}

//! Whole processes, side by side: hutch and what people would use instead. Every round runs each program once, one after the other, so
//! that whatever else the machine does meets all of them; ratios are of the same round. Prints rows of the table that `tests/speed/run`
//! heads; that builds what is needed, and says where it is.
#![allow(clippy::disallowed_methods, reason = "a program of this repository's developers")]
#![allow(clippy::expect_used, clippy::print_stdout, reason = "a program for the people who measure")]

mod bench;
mod spent;
mod table;

use bench::{Bench, Peer};
use spent::Spent;
use std::io::Write;
use std::path::Path;
use table::{Row, machine, median, rows};

/// Calls of one process after the other, of which the last are to be as fast as the first.
const CALLS: usize = 3_000;

fn main() {
    let words: Vec<String> = std::env::args().skip(1).collect();
    if let [mode, file] = &words[..]
        && mode == "--add-to"
    {
        return add_durably(Path::new(file));
    }
    if words.iter().any(|word| word == "--machine") {
        return println!("{}", machine());
    }
    let rounds = words.first().map_or(100, |rounds| rounds.parse().expect("how many rounds"));
    let bench = Bench::new();
    start_and_end(&bench, rounds);
    list(&bench, rounds);
    add(&bench, rounds);
    python(&bench, rounds);
    growth(&bench);
}

fn start_and_end(bench: &Bench, rounds: usize) {
    let peers = bench.there(vec![bench.hutch(&["--version"]), bench.native(&["--version"])]);
    rows("start and end", &peers, &bench.rounds(rounds, &peers), &[]);
}

fn list(bench: &Bench, rounds: usize) {
    let mut peers = vec![bench.hutch(&["run", "packages/todo", "list"]), bench.native(&["list"])];
    peers.extend(bench.around_list());
    let peers = bench.there(peers);
    let spent = bench.rounds(rounds, &peers);
    let goals = [("todo list, native", 2.0), ("wasmtime run", 0.35), ("Node", 0.05)];
    rows("`list` of 100 items, warm", &peers, &spent, &goals);
    let peak = median(spent.iter().map(|round| round[0].peak_mib));
    Row::value("peak memory of `list`", format!("{peak:.1} MiB")).goal("12 MiB").print();
}

fn add(bench: &Bench, rounds: usize) {
    let peers = vec![bench.hutch(&["run", "packages/todo", "add", "milk"]), bench.durable_peer()];
    let peers = bench.there(peers);
    rows("`add`, durable", &peers, &bench.rounds(rounds, &peers), &[("write, sync", 1.5)]);
}

/// Beside CPython starting: what is compared is processors' time, as in the goal.
fn python(bench: &Bench, rounds: usize) {
    let Some(hutch) = bench.python_package() else { return };
    let mut peers = vec![hutch, bench.cpython("CPython, `-S -c pass`", &["-S", "-c", "pass"])];
    peers.extend(bench.python_component());
    let peers = bench.there(peers);
    let spent = bench.rounds(rounds.min(40), &peers);
    rows("a Python component, 18 MB, warm", &peers, &spent, &[]);
    if peers.get(1).is_some_and(|peer| peer.name.starts_with("CPython")) {
        let ratio = median(spent.iter().map(|round| round[0].busy_ms / round[1].busy_ms));
        Row::value("a Python component against CPython starting, processors", format!("{ratio:.2}"))
            .goal("0.2")
            .print();
    }
}

/// Whether a call becomes slower by those before it.
fn growth(bench: &Bench) {
    let list = bench.hutch(&["run", "packages/todo", "list"]);
    let spent: Vec<Spent> = (0..CALLS).map(|_| bench.spend(&list)).collect();
    let part = CALLS / 20;
    let ratio = |each: fn(&Spent) -> f64| {
        let of = |calls: &[Spent]| median(calls.iter().map(each));
        of(&spent[CALLS - part..]) / of(&spent[..part])
    };
    let name = format!("calls {} to {CALLS} of `list` against the first {part}", CALLS - part + 1);
    let value = format!("{:.2} ({:.2})", ratio(|spent| spent.wall_ms), ratio(|spent| spent.busy_ms));
    Row::value(&name, value).goal("1.0").print();
}

/// Reads all, writes all and one item more aside, and makes that and its name durable: the least that a program does that keeps an item.
fn add_durably(file: &Path) {
    let text = std::fs::read_to_string(file).expect("the state");
    let (before, after) = text.rsplit_once("\n]").expect("a list of items");
    let item = r#"{"id":"td_9999","title":"milk","description":"","dueAt":null,"reminders":[]}"#;
    let aside = file.with_extension("new");
    let mut new = std::fs::File::create(&aside).expect("a new file");
    write!(new, "{before},\n{item}\n]{after}").expect("room");
    new.sync_all().expect("a disk");
    std::fs::rename(&aside, file).expect("the old name");
    let folder = std::fs::File::open(file.parent().expect("a folder")).expect("a folder");
    folder.sync_all().expect("a disk");
}

/// What is not measured is said, with its name.
fn left_out(peer: &Peer) {
    Row::value(&peer.name, "not there, or does not work here".to_owned()).print();
}

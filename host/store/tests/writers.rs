//! Many writers, threads and processes: no commit is lost, none is seen half, and the ledger is one chain. Processes are this
//! program itself, so it has no test harness.
#![allow(clippy::disallowed_methods, reason = "tests reach for what they prepare")]
#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "a test without a harness is a test")]

mod common;

use common::*;
use hutch_model::error_code::ErrorCode;
use hutch_model::snapshot::Objects;
use hutch_store::plain::Plain;
use hutch_store::{IfMissing, SqliteStore, Store};
use std::path::Path;
use std::process::Command;

const WRITERS: usize = 8;
const COMMITS: usize = 25;

/// Adds one line to the file `lines`, again and again until nobody came in between.
fn add_line(store: &SqliteStore, line: &str) {
    loop {
        let before = state(store).unwrap();
        let stored = store.objects();
        let lines = text(&*stored, &before, "lines").unwrap_or_default() + line + "\n";
        let mut objects = no_objects();
        let after = volume(&mut objects, &[("lines", &lines), ("same/file", "same")]);
        match store.commit(&change(Some(before), after), &objects as &dyn Objects, &[line.as_bytes()]) {
            Ok(_) => return,
            Err(error) => assert_eq!(error.code(), ErrorCode::Conflict, "{error}"),
        }
    }
}

fn write(home: &Path, writer: usize, commits: usize) {
    // Each opens the store itself; the first ones make it together.
    let place = hutch_store::Place::new(home, &"todo".parse().unwrap(), &"default".parse().unwrap());
    let store = SqliteStore::open(&place, IfMissing::Create).unwrap();
    let plain = Plain::open(&store).unwrap();
    if state(&store).is_none()
        && let Err(error) = store.commit(&change(None, nothing()), &no_objects(), &[])
    {
        assert_eq!(error.code(), ErrorCode::Conflict, "{error}");
    }
    for commit in 0..commits {
        add_line(&store, &format!("{writer}.{commit}"));
        plain.update().unwrap();
    }
}

/// Nothing lost, nothing doubled, one chain, and the directory shows the state.
fn inspect(home: &tempfile::TempDir, lines_expected: usize) {
    let store = sqlite(home);
    let now = state(&store).unwrap();
    let lines = text(&*store.objects(), &now, "lines").unwrap();
    let mut distinct: Vec<_> = lines.lines().collect();
    assert_eq!(distinct.len(), lines_expected);
    distinct.sort_unstable();
    distinct.dedup();
    assert_eq!(distinct.len(), lines_expected, "a line was written twice");
    assert_eq!(store.head().unwrap().last.sequence as usize, lines_expected + 1);
    assert_eq!(store.check().unwrap(), []);
    let updated = Plain::open(&store).unwrap().update().unwrap();
    assert!(updated.left.is_empty(), "{updated:?}");
    let shown = std::fs::read_to_string(place(home).folder().join("state/lines")).unwrap();
    assert_eq!(shown, lines);
}

fn threads_share_one_home() {
    let home = tempfile::tempdir().unwrap();
    std::thread::scope(|scope| {
        for writer in 0..WRITERS {
            let home = home.path();
            scope.spawn(move || write(home, writer, COMMITS));
        }
    });
    inspect(&home, WRITERS * COMMITS);
}

fn threads_share_one_store() {
    let home = tempfile::tempdir().unwrap();
    let store = sqlite(&home);
    store.commit(&change(None, nothing()), &no_objects(), &[]).unwrap();
    std::thread::scope(|scope| {
        for writer in 0..WRITERS {
            let store = store.clone();
            scope.spawn(move || {
                for commit in 0..COMMITS {
                    add_line(&store, &format!("{writer}.{commit}"));
                }
            });
        }
    });
    inspect(&home, WRITERS * COMMITS);
}

fn processes_share_one_home() {
    let home = tempfile::tempdir().unwrap();
    let program = std::env::current_exe().unwrap();
    let start =
        |writer: usize| Command::new(&program).arg("write").arg(home.path()).arg(writer.to_string()).spawn().unwrap();
    let children: Vec<_> = (0..WRITERS).map(start).collect();
    for mut child in children {
        assert!(child.wait().unwrap().success());
    }
    inspect(&home, WRITERS * COMMITS);
}

/// Writers are killed while they write; what they had acknowledged is there, and the rest is there whole or not at all.
fn killed_processes_leave_whole_commits() {
    use std::io::{BufRead, BufReader};
    let home = tempfile::tempdir().unwrap();
    let program = std::env::current_exe().unwrap();
    let mut acknowledged = Vec::new();
    for round in 0..30 {
        let mut command = Command::new(&program);
        command.arg("forever").arg(home.path()).arg(round.to_string()).stdout(std::process::Stdio::piped());
        let mut child = command.spawn().unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines().map(Result::unwrap);
        // From one to four commits, then the end at any point of the next one.
        acknowledged.extend(lines.by_ref().take(1 + round % 4));
        for _ in 0..round * 400 {
            std::hint::spin_loop();
        }
        child.kill().unwrap();
        child.wait().unwrap();
        acknowledged.extend(lines);
        let store = sqlite(&home);
        let now = state(&store).unwrap();
        let kept = text(&*store.objects(), &now, "lines").unwrap();
        let kept: Vec<_> = kept.lines().collect();
        for line in &acknowledged {
            assert!(kept.contains(&line.as_str()), "{line} was acknowledged and is lost");
        }
        assert!(kept.len() <= acknowledged.len() + round + 1, "more than one unacknowledged commit for each kill");
        assert_eq!(store.check().unwrap(), []);
        let updated = Plain::open(&store).unwrap().update().unwrap();
        assert!(updated.left.is_empty(), "{updated:?}");
        let bounds = hutch_store::plain::Bounds { files: 100, bytes: 1 << 20, depth: 9 };
        assert_eq!(Plain::open(&store).unwrap().status(&"state".parse().unwrap(), &bounds).unwrap(), []);
    }
    assert!(acknowledged.len() >= 30);
}

fn write_forever(home: &Path, writer: usize) {
    let place = hutch_store::Place::new(home, &"todo".parse().unwrap(), &"default".parse().unwrap());
    let store = SqliteStore::open(&place, IfMissing::Create).unwrap();
    let plain = Plain::open(&store).unwrap();
    if state(&store).is_none() {
        store.commit(&change(None, nothing()), &no_objects(), &[]).unwrap();
    }
    for commit in 0.. {
        let line = format!("{writer}.{commit}");
        add_line(&store, &line);
        println!("{line}");
        plain.update().unwrap();
    }
}

fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    match arguments.iter().map(String::as_str).collect::<Vec<_>>()[1..] {
        ["write", home, writer] => write(Path::new(home), writer.parse().unwrap(), COMMITS),
        ["forever", home, writer] => write_forever(Path::new(home), writer.parse().unwrap()),
        _ => {
            let tests: [(&str, fn()); 4] = [
                ("threads_share_one_home", threads_share_one_home),
                ("threads_share_one_store", threads_share_one_store),
                ("processes_share_one_home", processes_share_one_home),
                ("killed_processes_leave_whole_commits", killed_processes_leave_whole_commits),
            ];
            for (name, test) in tests {
                let start = std::time::Instant::now();
                test();
                println!("test {name} ... ok ({:.2} s)", start.elapsed().as_secs_f64());
            }
        }
    }
}

//! Many writers, threads and processes: no commit is lost, none is seen half, and the ledger is one chain. Processes are this
//! program itself, so it has no test harness.
#![allow(clippy::disallowed_methods, reason = "tests reach for what they prepare")]
#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "a test without a harness is a test")]

mod common;

use common::*;
use hutch_model::error_code::ErrorCode;
use hutch_model::ledger::{Origin, Owner};
use hutch_model::snapshot::Objects;
use hutch_store::plain::Plain;
use hutch_store::{InstanceDir, MemoryStore, Opening, SqliteStore, Store, StoreError};
use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use std::time::Duration;

const WRITERS: usize = 8;
const COMMITS: usize = 25;
const PATIENT: Duration = Duration::from_secs(600);

/// Adds one line to the file `lines`, again and again until nobody came in between.
fn add_line(store: &SqliteStore, line: &str) {
    loop {
        let before = state(store).unwrap();
        let stored = store.objects();
        let lines = text(&*stored, &before, "lines").unwrap_or_default() + line + "\n";
        let mut objects = no_objects();
        let after = volume(&mut objects, &[("lines", &lines), ("same/file", "same")]);
        let (record, streams) = (change(Some(before), after), [line.as_bytes()]);
        // Some sync as they commit, some wait for the sync of all.
        let written = match line.ends_with(['1', '3', '5', '7', '9']) {
            true => store.append(&record, &objects as &dyn Objects, &streams),
            false => store.commit(&record, &objects as &dyn Objects, &streams),
        };
        match written {
            Ok(sealed) => return store.settle(sealed.sequence).unwrap(),
            Err(error) => assert_eq!(error.code(), ErrorCode::Conflict, "{error}"),
        }
    }
}

fn plain(store: &SqliteStore) -> Plain {
    Plain::open(store.dir(), Arc::new(store.clone()), PATIENT).unwrap()
}

/// The store, opened by one who waits for others as long as a busy machine may need.
fn open(place: &InstanceDir) -> Result<SqliteStore, StoreError> {
    SqliteStore::open(place, &Opening { wait: PATIENT, ..Opening::default() })
}

fn write(home: &Path, writer: usize, commits: usize) {
    // Each opens the store itself; the first ones make it together.
    let place = InstanceDir::new(home, &"todo".parse().unwrap(), &"default".parse().unwrap());
    let store = open(&place).unwrap();
    let plain = plain(&store);
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
    let updated = plain(&store).update().unwrap();
    assert!(updated.left.is_empty(), "{updated:?}");
    let shown = std::fs::read_to_string(place(home).path().join("state/lines")).unwrap();
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
        let updated = plain(&store).update().unwrap();
        assert!(updated.left.is_empty(), "{updated:?}");
        let bounds = hutch_store::plain::Bounds { files: 100, bytes: 1 << 20, depth: 9 };
        let (changes, skipped) = plain(&store).status(&"state".parse().unwrap(), &bounds).unwrap();
        assert!(changes.is_empty() && skipped == Default::default(), "{changes:?} {skipped:?}");
    }
    assert!(acknowledged.len() >= 30);
}

fn write_forever(home: &Path, writer: usize) {
    let place = InstanceDir::new(home, &"todo".parse().unwrap(), &"default".parse().unwrap());
    let store = open(&place).unwrap();
    let plain = plain(&store);
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

/// Reading and writing calls of this process so far.
fn calls() -> u64 {
    let io = std::fs::read_to_string("/proc/self/io").unwrap();
    let value = |name: &str| io.lines().find_map(|line| line.strip_prefix(name)?.trim().parse::<u64>().ok()).unwrap();
    value("syscr:") + value("syscw:")
}

/// The log never grows beyond a bound, and a call costs what the first one did, however many there were, each through a store of
/// its own.
fn the_log_is_bounded_and_so_is_the_cost_of_a_call() {
    let home = tempfile::tempdir().unwrap();
    let before = put(&sqlite(&home), &[("a", "0")]);
    let log = place(&home).path().join("hutch.db-wal");
    let mut costs = Vec::new();
    let mut longest = 0;
    for at in 0..2000u64 {
        let start = calls();
        let store = sqlite(&home);
        match at % 4 {
            0 => drop(put(&store, &[("a", &at.to_string())])),
            _ => {
                let now = state(&store).unwrap();
                store.commit(&change(Some(now), now), &no_objects(), &[b"{\"ok\":true}"]).unwrap();
            }
        }
        drop(store);
        costs.push(calls() - start);
        longest = longest.max(std::fs::metadata(&log).map_or(0, |log| log.len()));
    }
    assert!(longest < 1_300_000, "the log was {longest} bytes long");
    let mean = |costs: &[u64]| costs.iter().sum::<u64>() / costs.len() as u64;
    let (first, last) = (mean(&costs[..500]), mean(&costs[1500..]));
    assert!(last * 10 < first * 12, "{first} calls each at first, {last} at last");
    assert_ne!(state(&sqlite(&home)), Some(before));
}

/// An entry that no disk can take is not there, and nothing of it is: not for this process, nor for the next one.
fn a_full_disk_leaves_nothing_for_the_next_process() {
    let home = tempfile::tempdir().unwrap();
    let before = put(&sqlite(&home), &[("a", "0")]);
    let program = std::env::current_exe().unwrap();
    // Files that may not grow stand for a full disk; the signal that comes with it is ignored.
    for bytes in (100_000..1_100_000).step_by(50_000) {
        let limited = format!("trap '' XFSZ; ulimit -f {}; exec \"$0\" limited \"$1\"", bytes / 512);
        let mut command = Command::new("sh");
        command.arg("-c").arg(limited).arg(&program).arg(home.path());
        let output = command.output().unwrap();
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        let store = sqlite(&home);
        let kept = state(&store) != Some(before);
        assert_eq!(kept, text.contains("kept"), "{bytes}: {text}{}", String::from_utf8_lossy(&output.stderr));
        assert_eq!(store.check().unwrap(), []);
        if kept {
            assert!(bytes > 200_000, "{bytes}");
            return;
        }
        assert!(text.contains("refused"), "{bytes}: {text}");
    }
    panic!("nothing was ever kept");
}

/// Commits 600 KB of noise; says what came of it.
fn write_limited(home: &Path) {
    let dir = InstanceDir::new(home, &"todo".parse().unwrap(), &"default".parse().unwrap());
    let noise: String =
        (0..600_000u64).map(|at| char::from(b'a' + (at.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 60) as u8)).collect();
    let mut objects = no_objects();
    let after = volume(&mut objects, &[("noise", &noise)]);
    let committed = open(&dir).and_then(|store| store.commit(&change(state(&store), after), &objects, &[]));
    match committed {
        Ok(_) => println!("kept"),
        Err(error) => println!("refused: {error}"),
    }
}

/// What is taken from elsewhere is there whole, or nothing of it: also if the process is killed while it writes it.
fn what_a_killed_process_was_taking_is_not_there() {
    let home = tempfile::tempdir().unwrap();
    put(&sqlite(&home), &[("a", "0")]);
    let of = |store: &SqliteStore| {
        let stats = store.stats().unwrap();
        (store.head().unwrap(), stats.entries, stats.objects, stats.streams)
    };
    let was = of(&sqlite(&home));
    let program = std::env::current_exe().unwrap();
    // Who makes a file longer than it may be is killed as it writes.
    for (killed, bytes) in (100_000..2_000_000).step_by(100_000).enumerate() {
        let limited = format!("ulimit -c 0; ulimit -f {}; exec \"$0\" take \"$1\"", bytes / 512);
        let ended = Command::new("sh").arg("-c").arg(limited).arg(&program).arg(home.path()).status().unwrap();
        let store = sqlite(&home);
        assert_eq!(store.check().unwrap(), []);
        if ended.success() {
            assert!(killed > 5, "{killed} killed");
            assert_eq!(store.head().unwrap().last.sequence, 6);
            assert!(store.head().unwrap().admitted.is_some());
            return;
        }
        assert_eq!(ended.code(), None, "it ended by itself: {ended}");
        assert_eq!(of(&store), was, "killed at {bytes}");
    }
    panic!("nothing was ever taken");
}

/// Takes five entries that were made elsewhere, of 200 KB each.
fn take_entries(home: &Path) {
    let place = InstanceDir::new(home, &"todo".parse().unwrap(), &"default".parse().unwrap());
    let store = open(&place).unwrap();
    let made = MemoryStore::over(Arc::new(store.clone()));
    for at in 2..7u64 {
        let noise =
            |byte: u64| char::from(b'a' + ((byte + at * 1_000_000).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 60) as u8);
        let (mut objects, noise) = (no_objects(), (0..200_000).map(noise).collect::<String>());
        let after = volume(&mut objects, &[("noise", &noise)]);
        made.commit(&change(state(&made), after), &objects, &[]).unwrap();
    }
    let owner = Owner { origin: Origin::installed(), package: nothing() };
    store.take(&made.entries(2, 99).unwrap(), &made, &owner).unwrap();
}

fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    match arguments.iter().map(String::as_str).collect::<Vec<_>>()[1..] {
        ["write", home, writer] => write(Path::new(home), writer.parse().unwrap(), COMMITS),
        ["take", home] => take_entries(Path::new(home)),
        ["limited", home] => write_limited(Path::new(home)),
        ["forever", home, writer] => write_forever(Path::new(home), writer.parse().unwrap()),
        _ => {
            let tests: [(&str, fn()); 7] = [
                ("the_log_is_bounded_and_so_is_the_cost_of_a_call", the_log_is_bounded_and_so_is_the_cost_of_a_call),
                ("a_full_disk_leaves_nothing_for_the_next_process", a_full_disk_leaves_nothing_for_the_next_process),
                ("what_a_killed_process_was_taking_is_not_there", what_a_killed_process_was_taking_is_not_there),
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

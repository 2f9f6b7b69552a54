//! Several processes on one instance: no work is lost, and none is half done.

use crate::support::{Machine, Ran, probe, todo};
use std::collections::BTreeSet;
use std::process::{Child, Stdio};

const PROCESSES: usize = 6;
const ADDITIONS: usize = 4;

/// Starts a call that waits for others as long as a busy machine may need, and whose guest may run as long.
fn start(machine: &Machine, arguments: &[&str]) -> Child {
    let patient = ["--wait", "10min", "run", "--limit", "wall_time_ms=600000"];
    let [verb, arguments @ ..] = arguments else { panic!("no call") };
    assert_eq!(*verb, "run");
    machine.hutch([&patient[..], arguments].concat()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
}

fn finish(child: Child) -> Ran {
    Ran::from_output(child.wait_with_output().unwrap())
}

/// The ids and titles of all items.
fn items(machine: &Machine) -> Vec<(String, String)> {
    let listed = machine.todo(&["list", "--limit", "1000"]).answer();
    let text = |item: &serde_json::Value, name: &str| item[name].as_str().unwrap().to_owned();
    listed["items"].as_array().unwrap().iter().map(|item| (text(item, "id"), text(item, "title"))).collect()
}

#[test]
fn with_retries_nothing_is_lost() {
    let machine = Machine::new();
    let package = todo();
    // The instance does not exist yet: making it is part of the race.
    std::thread::scope(|scope| {
        for process in 0..PROCESSES {
            let (machine, package) = (&machine, &package);
            scope.spawn(move || {
                for addition in 0..ADDITIONS {
                    let title = format!("{process}-{addition}");
                    finish(start(machine, &["run", "--retry", "1000", package, "add", &title])).answer();
                }
            });
        }
    });
    let items = items(&machine);
    let ids: BTreeSet<_> = items.iter().map(|(id, _)| id.clone()).collect();
    let titles: BTreeSet<_> = items.iter().map(|(_, title)| title.clone()).collect();
    assert_eq!(
        (items.len(), ids.len(), titles.len()),
        (PROCESSES * ADDITIONS, PROCESSES * ADDITIONS, PROCESSES * ADDITIONS)
    );
    assert_eq!(ids.last().map(String::as_str), Some(format!("td_{:04}", PROCESSES * ADDITIONS).as_str()));
}

#[test]
fn without_retries_each_run_is_kept_whole_or_told_to_be_a_conflict() {
    let machine = Machine::new();
    let package = todo();
    machine.todo(&["add", "first"]).answer();
    let children: Vec<_> = (0..12).map(|n| start(&machine, &["run", &package, "add", &format!("{n}")])).collect();
    let ran: Vec<_> = children.into_iter().map(finish).collect();
    let mut kept = 0;
    for ran in &ran {
        match ran.status {
            0 => kept += 1,
            _ => assert_eq!(ran.fault("CONFLICT", 30).details["volume"], "state"),
        }
    }
    assert!(kept >= 1);
    assert_eq!(items(&machine).len(), 1 + kept);
}

#[test]
fn readers_are_never_in_the_way() {
    let machine = Machine::new();
    let package = todo();
    machine.todo(&["add", "first"]).answer();
    let children: Vec<_> = (0..12).map(|_| start(&machine, &["run", &package, "list"])).collect();
    for child in children {
        assert_eq!(finish(child).answer()["count"], 1);
    }
}

#[test]
fn a_run_that_another_one_overtook_is_a_conflict_and_leaves_nothing() {
    let machine = Machine::new();
    let package = probe();
    machine.probe(&[], &["write-text", "state/keep", "0"]).answer();
    // A guest that takes long enough for others to start and end meanwhile, on a machine of any speed: they go on until it ends.
    let mut slow = start(&machine, &["run", &package, "write-chunked", "state/slow", "400000", "1"]);
    let mut overtaking = 0;
    while slow.try_wait().unwrap().is_none() {
        overtaking += 1;
        machine.probe(&[], &["write-text", "state/keep", &overtaking.to_string()]);
    }
    let fault = finish(slow).fault("CONFLICT", 30);
    assert_eq!(fault.details["volume"], "state");
    assert!(fault.suggestion.contains("--retry"), "{fault:?}");
    assert_eq!(machine.probe(&[], &["read-file", "state/slow"]).guest_failure(1)["error"]["errno"], "noent");
}

#[test]
fn a_host_that_is_killed_leaves_the_state_as_it_was() {
    let machine = Machine::new();
    machine.probe(&[], &["write-text", "state/keep", "kept"]).answer();
    let before = machine.probe_state();
    let package = probe();
    // It would keep what it writes, but it can't go on before its standard input ends.
    let call = ["run", "--stdin", "--wait", "600s", &package, "write-text", "state/new", "new"];
    for _ in 0..3 {
        let mut child =
            machine.hutch(call).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        assert!(child.try_wait().unwrap().is_none(), "it waits for its input");
        child.kill().unwrap();
        assert!(!child.wait().unwrap().success());
        assert_eq!(machine.probe_state(), before);
    }
    // The same call, not killed, leaves another state.
    Ran::of(machine.hutch(call).stdin(Stdio::null())).answer();
    assert_ne!(machine.probe_state(), before);
}

#[test]
fn a_host_that_is_killed_while_its_guest_writes_leaves_the_state_as_it_was() {
    let machine = Machine::new();
    machine.probe(&[], &["write-text", "state/keep", "kept"]).answer();
    let before = machine.probe_state();
    let package = probe();
    // Long enough for the line that says that it runs to come first; that line is waited for.
    let limits = ["fuel=1000000000000", "memory_bytes=1GiB"];
    let limits = limits.into_iter().flat_map(|limit| ["--limit", limit]).collect::<Vec<_>>();
    let call = [&["run", "--progress"], &limits[..]].concat();
    let guest = [package.as_str(), "write-chunked", "state/new", "100000000", "1"];
    let mut child = start(&machine, &[&call[..], &guest].concat());
    let mut told = std::io::BufReader::new(child.stderr.take().unwrap());
    let mut line = String::new();
    std::io::BufRead::read_line(&mut told, &mut line).unwrap();
    assert!(line.contains("\"step\":\"run\""), "{line}");
    child.kill().unwrap();
    assert!(!child.wait().unwrap().success());
    assert_eq!(machine.probe_state(), before);
    assert_eq!(machine.probe(&[], &["read-file", "state/new"]).guest_failure(1)["error"]["errno"], "noent");
}

/// Somebody moves the instance's folder away while its guest runs, or puts another one there: what is said to be kept is in one of them, and
/// what is not is in none.
#[test]
fn an_instance_that_is_moved_under_a_running_guest_is_no_mixture() {
    let package = probe();
    let instance = "person/.local/share/hutch/instances/probe/default";
    for replaced in [false, true] {
        let [machine, other, away] = [(); 3].map(|()| Machine::new());
        machine.probe(&[], &["write-text", "state/keep", "kept"]).answer();
        other.probe(&[], &["write-text", "state/keep", "another's"]).answer();
        // Long enough for the line that says that it runs to come first; that line is waited for.
        let options = ["run", "--progress", "--limit", "fuel=1000000000000"];
        let guest = [package.as_str(), "write-chunked", "state/new", "2000000", "1"];
        let mut child = start(&machine, &[&options[..], &guest].concat());
        let mut told = std::io::BufReader::new(child.stderr.take().unwrap());
        let mut line = String::new();
        std::io::BufRead::read_line(&mut told, &mut line).unwrap();
        assert!(line.contains("\"step\":\"run\""), "{line}");
        std::fs::create_dir_all(away.path(instance).parent().unwrap()).unwrap();
        std::fs::rename(machine.path(instance), away.path(instance)).unwrap();
        if replaced {
            std::fs::rename(other.path(instance), machine.path(instance)).unwrap();
        }
        let good = child.wait().unwrap().success();
        drop(told);
        println!("replaced: {replaced}, kept: {good}");
        let has = |machine: &Machine, name: &str| machine.probe(&[], &["read-file", name]);
        let new = [&machine, &away].map(|machine| has(machine, "state/new").status == 0);
        assert_eq!(new.iter().filter(|there| **there).count(), usize::from(good), "{replaced}: {new:?}");
        assert_eq!(has(&away, "state/keep").answer()["content"], "kept");
        match replaced {
            true => assert_eq!(has(&machine, "state/keep").answer()["content"], "another's"),
            false => assert_eq!(has(&machine, "state/keep").status, 1),
        }
        for machine in [&machine, &away] {
            machine.run(["verify", "--chain", "probe"]).result("verify");
        }
    }
}

//! The state file: one writer, all or nothing, and no byte of it that is another goes unseen.

use super::{bare, hutch_edge};
use crate::support::{Machine, Ran, probe, todo};
use std::fs::File;

/// A machine with the to-do application in a bundle.
fn machine() -> (Machine, String) {
    let machine = Machine::new();
    let bundle = machine.bundle(&todo(), "bundle").display().to_string();
    (machine, bundle)
}

fn add(machine: &Machine, bundle: &str, title: &str) -> Ran {
    machine.edge(&["run", "--state", "s", bundle, "add", title])
}

#[test]
fn another_process_keeps_the_state_for_itself() {
    let (machine, bundle) = machine();
    add(&machine, &bundle, "first").answer();
    let before = std::fs::read(machine.path("s")).unwrap();
    // What one that is at work has.
    let held = File::create(machine.path(".s.next")).unwrap();
    held.lock().unwrap();
    add(&machine, &bundle, "second").fault("INSTANCE_BUSY", 30);
    // Looking needs no turn: what stands there is whole.
    machine.edge(&["verify", "--state", "s", &bundle]).answer();
    assert_eq!(std::fs::read(machine.path("s")).unwrap(), before);
    // A program that another test is starting may hold the file open for a moment: only this ends the lock whoever does.
    held.unlock().unwrap();
    drop(held);
    add(&machine, &bundle, "third").answer();
    assert_eq!(machine.names(), ["bundle", "s"]);
}

#[test]
fn of_many_at_once_each_that_is_answered_is_there() {
    let (machine, bundle) = machine();
    let answered: usize = std::thread::scope(|scope| {
        let at_once = || {
            (0..10).filter(|_| {
                let ran = add(&machine, &bundle, "x");
                if ran.status != 0 {
                    ran.fault("INSTANCE_BUSY", 30);
                }
                ran.status == 0
            })
        };
        let threads: Vec<_> = (0..6).map(|_| scope.spawn(move || at_once().count())).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).sum()
    });
    let listed = machine.edge(&["run", "--state", "s", &bundle, "list"]).answer();
    assert!(answered > 0);
    assert_eq!(listed["total"], answered);
    assert_eq!(machine.edge(&["verify", "--state", "s", &bundle]).answer()["equal"], answered + 1);
    assert_eq!(machine.names(), ["bundle", "s"]);
}

/// The system takes 1 KiB of a file and no more: once it says so, and once it ends the process there.
#[test]
fn a_state_that_can_t_be_written_to_its_end_is_left_as_it_was() {
    let (machine, bundle) = machine();
    add(&machine, &bundle, "first").answer();
    let before = std::fs::read(machine.path("s")).unwrap();
    assert!(before.len() > 2048);
    let program = hutch_edge().display().to_string();
    let limited = |prelude: &str| {
        let script = format!("{prelude} ulimit -f 2; exec \"$@\"");
        let words = ["-c", &script, "sh", &program, "run", "--state", "s", &bundle, "add", "second"];
        bare("/bin/sh".as_ref(), &words, &machine.path("")).output().unwrap()
    };
    let refused = Ran::from_output(limited("trap '' XFSZ;"));
    refused.fault("HOST_FAULT", 50);
    assert_eq!(std::fs::read(machine.path("s")).unwrap(), before);
    assert_eq!(machine.names(), ["bundle", "s"]);
    let killed = limited("");
    assert_eq!((killed.status.code(), &killed.stdout[..]), (None, &b""[..]), "{killed:?}");
    assert_eq!(std::fs::read(machine.path("s")).unwrap(), before);
    assert_eq!(machine.names(), [".s.next", "bundle", "s"]);
    // Its place is taken over.
    let second = add(&machine, &bundle, "second").answer();
    assert_eq!(second["items"][0]["id"], "td_0002");
    assert_eq!(machine.names(), ["bundle", "s"]);
}

#[test]
fn a_state_with_another_byte_is_refused_and_left_alone() {
    let (machine, bundle) = machine();
    add(&machine, &bundle, "first").answer();
    add(&machine, &bundle, "second").answer();
    let state = std::fs::read(machine.path("s")).unwrap();
    let refused = |bytes: &[u8], what: String| {
        machine.write("s", bytes);
        let ran = add(&machine, &bundle, "third");
        assert_eq!(ran.status, 50, "{what}: {ran:?}");
        ran.fault("STORE_DAMAGED", 50);
        assert_eq!(std::fs::read(machine.path("s")).unwrap(), bytes, "{what}");
    };
    for at in (0..state.len()).step_by(97).chain([state.len() - 1]) {
        let mut bad = state.clone();
        bad[at] ^= 1;
        refused(&bad, format!("a flipped bit in byte {at}"));
    }
    for length in (0..state.len()).step_by(211).chain([0, 1, state.len() - 1]) {
        // Where a part ends it was a state once: nothing in it says that there was more.
        if !state[length..].starts_with(b"hutch-bundle-1\n") {
            refused(&state[..length], format!("cut at {length}"));
        }
    }
    machine.write("s", &state);
    assert_eq!(add(&machine, &bundle, "third").answer()["items"][0]["id"], "td_0003");
}

#[test]
fn what_is_no_state_of_the_application_is_refused() {
    let (machine, bundle) = machine();
    add(&machine, &bundle, "first").answer();
    let other = machine.bundle(&probe(), "other").display().to_string();
    let before = std::fs::read(machine.path("s")).unwrap();
    machine.edge(&["run", "--state", "s", &other, "return-ok"]).fault("INSTANCE_FOREIGN", 30);
    machine.edge(&["verify", "--state", "s", &other]).fault("INSTANCE_FOREIGN", 30);
    assert_eq!(std::fs::read(machine.path("s")).unwrap(), before);
    std::os::unix::fs::symlink("s", machine.path("link")).unwrap();
    machine.edge(&["run", "--state", "link", &bundle, "list"]).fault("USAGE", 2);
    machine.edge(&["run", "--state", ".", &bundle, "list"]).fault("USAGE", 2);
    machine.edge(&["run", "--state", "no/s", &bundle, "list"]).fault("NOT_FOUND", 20);
    std::os::unix::fs::symlink(machine.path("elsewhere"), machine.path(".t.next")).unwrap();
    machine.edge(&["run", "--state", "t", &bundle, "list"]).fault("HOST_FAULT", 50);
    assert!(!machine.path("elsewhere").exists(), "a link was followed");
    // Nobody else may read a state that is new, and who could read one can read the next.
    use std::os::unix::fs::PermissionsExt;
    let mode = || machine.path("s").metadata().unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(), 0o600);
    std::fs::set_permissions(machine.path("s"), std::fs::Permissions::from_mode(0o640)).unwrap();
    add(&machine, &bundle, "more").answer();
    assert_eq!(mode(), 0o640);
}

#[test]
fn without_a_state_nothing_is_kept() {
    let (machine, bundle) = machine();
    machine.edge(&["run", &bundle, "add", "x"]).answer();
    assert_eq!(machine.edge(&["run", &bundle, "list"]).answer()["total"], 0);
    assert_eq!(machine.names(), ["bundle"]);
}

/// A state file is a bundle of an instance, and such a bundle a state file: an instance goes into hutch-edge's file and out of it.
#[test]
fn an_instance_goes_into_a_state_file_and_out_of_it() {
    let (machine, bundle) = machine();
    machine.todo(&["add", "By the home"]).answer();
    machine.run(["instance", "export", "--output", "s", "todo"]).result("instance export");
    add(&machine, &bundle, "By the edge").answer();
    machine.edge(&["verify", "--state", "s", &bundle]).answer();
    // The home gets what came later, after it is run again.
    let taken = machine.run(["instance", "import", "--input", "s", &todo()]).result("instance import");
    assert_eq!(taken["entries"], 1);
    let listed = machine.todo(&["list"]).answer();
    assert_eq!(listed["items"][1]["title"], "By the edge");
    machine.run(["verify", "--all", &todo()]).result("verify");
    // Each has gone on by itself: neither is taken for the other.
    add(&machine, &bundle, "By the edge again").answer();
    machine.run(["instance", "import", "--input", "s", &todo()]).fault("CONFLICT", 30);
}

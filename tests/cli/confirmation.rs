//! A command that asks for a confirmation is carried out after one and never without, whichever way leads to it.

use crate::support::{Machine, todo};
use serde_json::json;

const REMOVE: [&str; 3] = ["remove", "td_0001", "--confirm"];

fn machine() -> Machine {
    let machine = Machine::new();
    machine.run(["run", &todo(), "add", "keep me"]).answer();
    machine
}

fn count(machine: &Machine) -> u64 {
    let listed = machine.run(["run", &todo(), "list"]).answer();
    listed["count"].as_u64().unwrap()
}

#[test]
fn a_plan_is_no_way_around_it() {
    let machine = machine();
    let package = todo();
    let planned = machine.run([&["plan", &package], &REMOVE[..]].concat()).result("plan");
    assert_eq!(planned["confirmation"], "\"remove\" needs a confirmation");
    let id = planned["plan_id"].as_str().unwrap();
    let place = format!("@{}", planned["entry"]["sequence"]);
    // What is offered names the plan by its hash, whatever the last one is by then.
    for (name, pinned) in [(id, id), (&id[..8], &id[..8]), ("last", id), (place.as_str(), id)] {
        let fault = machine.run(["apply", &package, name]).fault("CONFIRMATION_REQUIRED", 30);
        assert_eq!(fault.fixes[0].cmd, format!("hutch apply --yes {package} {pinned}"));
    }
    assert_eq!(count(&machine), 1);
    // The refusals are written down, each for what it was.
    let listed = machine.run(["ledger", "list", &package]).result("ledger list");
    let refused = |item: &&serde_json::Value| item["kind"] == "apply" && item["error"] == "CONFIRMATION_REQUIRED";
    assert_eq!(listed["items"].as_array().unwrap().iter().filter(refused).count(), 4);
    assert!(listed["items"].as_array().unwrap().iter().filter(refused).all(|item| item["kept"] == false));
    // What would come of it can be seen without one, and does not happen.
    let previewed = machine.run(["apply", "--dry-run", &package, id]).answer();
    assert_eq!((&previewed["result"]["kept"], count(&machine)), (&json!(false), 1));
    let applied = machine.run(["apply", "--yes", &package, id]).result("apply");
    assert_eq!((&applied["kept"], count(&machine)), (&json!(true), 0));
    let entry = format!("@{}", applied["entry"]["sequence"]);
    let shown = machine.run(["ledger", "show", &package, &entry]).result("ledger show");
    assert_eq!(shown["record"]["invocation"]["confirmed"], true);
}

#[test]
fn what_asks_for_none_is_applied_without() {
    let machine = machine();
    let planned = machine.run(["plan", &todo(), "add", "more"]).result("plan");
    assert_eq!(planned["confirmation"], json!(null));
    machine.run(["apply", &todo(), "last"]).result("apply");
    assert_eq!(count(&machine), 2);
}

/// The application asks for itself too. A plan shows what its answer would be once a person agreed, who is asked once: by `apply`.
#[test]
fn a_plan_shows_what_the_confirmed_call_would_change_and_nobody_is_asked_twice() {
    let machine = machine();
    let package = todo();
    for words in [&["plan", &package, "remove", "td_0001"][..], &["run", "--dry-run", &package, "remove", "td_0001"]] {
        let planned = machine.run(words).answer()["result"].take();
        assert_eq!(planned["output"]["changed"], true, "{words:?}: {planned}");
        assert_eq!((planned["kept"].clone(), count(&machine)), (json!(false), 1), "a plan writes nothing");
        assert_eq!(planned["confirmation"], "\"remove\" needs a confirmation");
        assert_eq!(planned["risk"]["level"], "high");
    }
    // What says no, and what the host asks nothing about, is as it was written.
    machine.run(["plan", &package, "remove", "td_0001", "--no-confirm"]).fault("GUEST_FAILED", 1);
    machine.run(["plan", "--unchecked", &package, "remove", "td_0001"]).fault("GUEST_FAILED", 1);
    let planned = machine.run(["plan", &package, "remove", "td_0001"]).result("plan");
    let id = planned["plan_id"].as_str().unwrap();
    machine.run(["apply", &package, id]).fault("CONFIRMATION_REQUIRED", 30);
    assert_eq!(count(&machine), 1, "it was agreed to by nobody");
    assert_eq!(machine.run(["apply", "--yes", &package, id]).result("apply")["kept"], true);
    assert_eq!(count(&machine), 0);
}

#[test]
fn what_is_offered_to_be_confirmed_can_be_carried_out() {
    let machine = machine();
    let package = todo();
    // What says no is confirmed by nothing that is added.
    for words in [&["--no-confirm"][..], &["--confirm", "--no-confirm"], &["--no-confirm", "--confirm"]] {
        let call = [&["run", &package, "remove", "td_0001"], words].concat();
        let fault = machine.run(call).fault("CONFIRMATION_REQUIRED", 30);
        assert!(fault.fixes.is_empty() && fault.suggestion.contains("without --no-confirm"), "{words:?}: {fault:?}");
    }
    // A call that is mended asks as if it had been typed so; of what only looks, nothing is asked.
    for (command, words, meant, risk) in [
        ("run", "remov td_0001 --confirm", "run --yes PACKAGE remove td_0001 --confirm", "high"),
        ("run", "remov td_0001", "run --yes PACKAGE remove td_0001 --confirm", "high"),
        ("validate", "remov td_0001", "validate --yes PACKAGE remove td_0001 --confirm", "high"),
        ("plan", "remov td_0001", "plan PACKAGE remove td_0001", "low"),
        ("run", "ad milk", "run PACKAGE add milk", "low"),
    ] {
        let call = [command, &package].into_iter().chain(words.split(' '));
        let fault = machine.run(call).fault("ARGUMENT_INVALID", 2);
        let (found, meant) = (&fault.fixes[0], format!("hutch {}", meant.replace("PACKAGE", &package)));
        assert_eq!((found.cmd.as_str(), found.risk.as_str()), (meant.as_str(), risk));
    }
    assert_eq!(count(&machine), 1);
    // The application is told where it reads a flag.
    let planned = machine.run(["plan", &package, "remove", "--", "td_0001"]).result("plan");
    assert_eq!(planned["output"]["changed"], true, "{planned}");
    let fault = machine.run(["run", &package, "remove", "--", "td_0001"]).fault("CONFIRMATION_REQUIRED", 30);
    assert_eq!(fault.fixes[0].cmd, format!("hutch run --yes {package} remove --confirm -- td_0001"));
    machine.run(["run", "--yes", &package, "remove", "--", "td_0001"]).answer();
    assert_eq!(count(&machine), 0);
}

/// Somebody else plans between the refusal and the person's answer: what is carried out is what was refused.
#[test]
fn what_is_offered_to_be_confirmed_is_the_plan_that_was_refused() {
    let machine = machine();
    let package = todo();
    machine.run(["run", &package, "add", "bin me"]).answer();
    for words in [&["apply", &package, "last"][..], &["apply", &package]] {
        let planned = machine.run(["plan", &package, "remove", "td_0002", "--confirm"]).result("plan");
        let fault = machine.run(words).fault("CONFIRMATION_REQUIRED", 30);
        let fixed = format!("hutch apply --yes {package} {}", planned["plan_id"].as_str().unwrap());
        assert_eq!(fault.fixes[0].cmd, fixed, "{words:?}");
        machine.run([&["plan", &package], &REMOVE[..]].concat()).result("plan");
        machine.run(fixed.split(' ').skip(1)).result("apply");
        let listed = machine.run(["run", &package, "list"]).answer();
        assert_eq!((&listed["count"], &listed["items"][0]["title"]), (&json!(1), &json!("keep me")), "{words:?}");
        machine.run(["undo", &package]).result("undo");
    }
    // A word that stands there for something else is not taken for the plan's.
    machine.run(["run", "--instance", "last", &package, "add", "keep me"]).answer();
    machine.run([&["plan", "--instance", "last", &package], &REMOVE[..]].concat()).result("plan");
    let fault = machine.run(["apply", "--instance", "last", &package]).fault("CONFIRMATION_REQUIRED", 30);
    assert!(fault.fixes.iter().all(|fix| fix.risk == "none"), "{fault:?}");
}

#[test]
fn a_person_is_told_that_a_plan_needs_one() {
    let machine = machine();
    let call = ["plan", "--human", "--instance", "default", &todo()];
    let text = machine.run([&call[..], &REMOVE].concat()).stdout;
    let last = text.lines().last().unwrap();
    assert!(last.starts_with("apply it with hutch apply --yes ") && text.contains("ask the user first"), "{text}");
    let words: Vec<&str> = last.split(' ').skip(4).collect();
    assert_eq!(machine.run(words).status, 0);
    let text = machine.run(["plan", "--human", "--instance", "other", &todo(), "add", "x"]).stdout;
    assert!(text.contains("hutch apply --instance other ") && !text.contains("--yes"), "{text}");
}

#[test]
fn a_replay_needs_it_again() {
    let machine = machine();
    let package = todo();
    machine.run([&["run", "--yes", &package], &REMOVE[..]].concat()).answer();
    machine.run(["undo", &package]).result("undo");
    let hash = machine.run(["ledger", "show", &package, "@3"]).result("ledger show")["hash"].take();
    let fault = machine.run(["replay", &package, "@3"]).fault("CONFIRMATION_REQUIRED", 30);
    assert_eq!(fault.fixes[0].cmd, format!("hutch replay --yes {package} {}", hash.as_str().unwrap()));
    assert_eq!(count(&machine), 1);
    assert_eq!(machine.run(["replay", "--dry-run", &package, "@3"]).answer()["result"]["kept"], false);
    assert_eq!(count(&machine), 1);
    machine.run(["replay", "--yes", &package, "@3"]).result("replay");
    assert_eq!(count(&machine), 0);
}

#[test]
fn the_last_plan_is_meant_whatever_came_after_it() {
    let machine = machine();
    let package = todo();
    let none = machine.run(["apply", &package, "last"]).fault("NOT_FOUND", 20);
    assert!(none.message.contains("no plan"), "{none:?}");
    let first = machine.run(["plan", &package, "add", "first"]).result("plan")["entry"]["sequence"].as_u64().unwrap();
    let planned = machine.run(["plan", &package, "add", "second"]).result("plan");
    machine.run(["run", &package, "list"]).answer();
    machine.run(["run", &package, "get", "td_9999"]).guest_failure(20);
    let applied = machine.run(["apply", &package, "last"]).result("apply");
    assert_eq!(applied["output"]["items"][0]["title"], "second");
    let entry = format!("@{}", applied["entry"]["sequence"]);
    let shown = machine.run(["ledger", "show", &package, &entry]).result("ledger show");
    assert_eq!(shown["record"]["follows"], planned["plan_id"]);
    let other = machine.run(["apply", &package, &format!("@{first}")]).fault("CONFLICT", 30);
    assert_eq!(other.details["plan"], first);
}

#[test]
fn a_plan_says_how_much_there_is_to_lose() {
    let machine = Machine::new();
    let todo = crate::support::todo();
    let probe = crate::support::probe();
    let folder = machine.path("folder");
    std::fs::create_dir(&folder).unwrap();
    let mount = format!("{}:mnt:rw", folder.display());
    machine.todo(&["add", "milk"]).answer();
    machine.probe(&[], &["write-text", "state/a", "text"]).answer();
    let risk = |words: &[&str]| machine.run([&["plan", "--yes"], words].concat()).result("plan")["risk"].clone();
    for (words, level, reason) in [
        (&[todo.as_str(), "list"][..], "none", ""),
        (&[&todo, "add", "rent"], "low", "undo takes it back"),
        (&[&todo, "remove", "td_0001", "--confirm"], "high", "a person must agree"),
        (&[&probe, "remove", "state/a"], "high", "1 path would be taken away"),
        (&["--mount", &mount, &probe, "write-text", "mnt/a", "text"], "high", "the real folder mnt"),
    ] {
        let risk = risk(words);
        assert_eq!(risk["level"], level, "{words:?} {risk}");
        let reasons = risk["reasons"].as_array().unwrap();
        assert_eq!(reasons.is_empty(), reason.is_empty(), "{words:?} {risk}");
        assert!(
            reasons.iter().any(|it| it.as_str().unwrap().contains(reason)) || reason.is_empty(),
            "{words:?} {risk}"
        );
    }
    assert!(std::fs::read_dir(&folder).unwrap().next().is_none(), "the plan wrote");
}

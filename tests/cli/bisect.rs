//! The first entry after which a call answers as is asked for: found by runs on earlier states, of which nothing is kept.

use crate::support::{FIXED, Machine, Ran, todo};
use serde_json::{Value, json};

/// A ledger: an entry that made the instance, and one for each of these calls.
fn machine(calls: &[&[&str]]) -> Machine {
    let machine = Machine::new();
    for call in calls {
        machine.guest(&[&FIXED[..], &[&todo()], call].concat()).answer();
    }
    machine
}

fn bisect(machine: &Machine, options: &[&str], call: &[&str]) -> Ran {
    machine.run([&["ledger", "show", "--bisect"], options, &[&todo(), "--"], call].concat())
}

/// What was tried: the entry, and whether it was so after it.
fn tried(told: &Value) -> Vec<(u64, bool)> {
    let tried = told["tried"].as_array().unwrap().iter();
    tried.map(|one| (one["sequence"].as_u64().unwrap(), one["holds"].as_bool().unwrap())).collect()
}

#[test]
fn the_entry_is_the_one_that_looking_at_each_state_finds_and_nothing_is_kept() {
    let titles: Vec<String> = (1..=9).map(|n| format!("Item {n}")).collect();
    let adds: Vec<[&str; 2]> = titles.iter().map(|title| ["add", title]).collect();
    let machine = machine(&adds.iter().map(|add| &add[..]).collect::<Vec<_>>());
    let head = || machine.run(["ledger", "show", "todo"]).result("ledger show")["head"].clone();
    let before = head();
    // The first item is there after the second entry.
    for (n, title) in (1_u64..).zip(&titles) {
        let found = bisect(&machine, &["items[0].id"], &["get", &format!("td_{n:04}")]).result("ledger show");
        assert_eq!((&found["sequence"], &found["bisect"]["before"]), (&json!(n + 1), &json!(n)));
        assert_eq!(found["record"]["invocation"]["argv"], json!(["todo", "add", title]));
        let tried = tried(&found["bisect"]);
        assert!(tried.iter().all(|(sequence, holds)| *holds == (*sequence > n)), "{found}");
        assert!(tried.contains(&(n, false)) && tried.contains(&(n + 1, true)), "{found}");
        assert!(tried.len() <= 6 && found["bisect"]["runs"] == tried.len(), "{found}");
        assert_eq!((&found["bisect"]["from"], &found["bisect"]["to"]), (&json!(1), &json!(10)));
    }
    let people = bisect(&machine, &["items[0].id", "--human"], &["get", "td_0005"]).stdout;
    assert!(people.starts_with("not so after entry 5, and so after the next: by halving 1 to 10, in "), "{people}");

    let call = ["get", "td_0005"];
    let never = bisect(&machine, &["items[0].id", "--to", "@5"], &call).fault("NOT_FOUND", 20);
    assert_eq!(never.details["tried"], json!([{"sequence": 5, "holds": false, "exit_status": 20}]));
    let already = bisect(&machine, &["items[0].id", "--from", "@6"], &call).fault("NOT_FOUND", 20);
    assert!(already.message.contains("entry 6, the first that was looked at"), "{already:?}");
    assert_eq!(tried(&json!(already.details)), [(10, true), (6, true)]);
    bisect(&machine, &["items[0].nosuch"], &call).fault("NOT_FOUND", 20);
    bisect(&machine, &["items[0].id", "--from", "@9", "--to", "@3"], &call).fault("USAGE", 2);
    bisect(&machine, &["items[0].id", "--to", "@11"], &call).fault("NOT_FOUND", 20);
    bisect(&machine, &["items[0].id"], &["frobnicate"]).fault("ARGUMENT_INVALID", 2);
    // What a limit ends has not said that it is not so.
    let limited = bisect(&machine, &["items[0].id", "--limit", "fuel=1000"], &call).fault("FUEL_LIMIT", 41);
    assert!(limited.message.starts_with("after entry 10: "), "{limited:?}");
    // One of these words without the others is a mistake.
    machine.run(["ledger", "show", "--bisect", "items[0].id", "todo"]).fault("USAGE", 2);
    machine.run(["ledger", "show", &todo(), "--", "list"]).fault("USAGE", 2);
    bisect(&machine, &["items[0].id"], &["add", "Nothing"]).fault("NOT_FOUND", 20);
    assert_eq!(head(), before, "something was written down");
}

#[test]
fn where_it_comes_and_goes_another_part_has_another_entry() {
    let calls: [&[&str]; 5] =
        [&["add", "One"], &["complete", "td_0001"], &["reopen", "td_0001"], &["complete", "td_0001"], &["add", "Two"]];
    let machine = machine(&calls);
    let found = |options: &[&str]| {
        let options = [&["total"][..], options].concat();
        let found = bisect(&machine, &options, &["list", "--status", "completed"]).result("ledger show");
        (found["sequence"].as_u64().unwrap(), tried(&found["bisect"]))
    };
    assert_eq!(found(&[]), (3, vec![(6, true), (1, false), (3, true), (2, false)]));
    assert_eq!(found(&["--from", "@4"]), (5, vec![(6, true), (4, false), (5, true)]));
}

#[test]
fn states_that_were_dropped_are_left_out() {
    let machine = machine(&[&["add", "One"], &["add", "Two"], &["add", "Three"], &["add", "Four"], &["add", "Five"]]);
    let from = machine.run(["--yes", "gc", "--keep", "3", "todo"]).result("gc")["retained_from"].as_u64().unwrap();
    assert!(from > 2, "{from}");
    let first = bisect(&machine, &["total"], &["list"]).fault("NOT_FOUND", 20);
    assert!(first.message.contains(&format!("entry {}, the first that can be tried", from - 1)), "{first:?}");
    let found = bisect(&machine, &["items[0]"], &["get", "td_0005"]).result("ledger show");
    assert_eq!((&found["sequence"], &found["bisect"]["from"]), (&json!(6), &json!(from - 1)));
    let gone = bisect(&machine, &["total", "--to", "@1"], &["list"]).fault("NOT_REPRODUCIBLE", 1);
    assert!(gone.message.contains("the state after entry 1 is not kept any more"), "{gone:?}");
    // Nothing is damaged, whatever asks for such a state.
    let (gone, kept) = (format!("@{}", from - 2), format!("@{}", from - 1));
    for words in [
        &["state", "diff", "todo", &gone, "last"][..],
        &["state", "cat", "todo", "state", "--at", &gone],
        &["map", "--at", &gone, "--input", "calls", &todo()],
    ] {
        machine.write("calls", b"[\"list\"]\n");
        let fault = machine.run(words).fault("NOT_FOUND", 20);
        assert!(fault.message.ends_with(&format!("states are kept from entry {from} on")), "{words:?}: {fault:?}");
    }
    machine.run(["state", "diff", "todo", &kept, "last"]).result("state diff");
    let further = machine.run(["undo", "todo"]).result("undo")["further"]["undo"].as_u64().unwrap();
    assert_eq!(further, 6 - from, "more is promised than can be taken back");
}

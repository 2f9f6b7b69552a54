//! Feedback on an application: what a caller need not type, because the ledger knows it.

use crate::support::Machine;
use crate::support::package::with_manifest;
use serde_json::{Value, json};

fn create(machine: &Machine, more: &[&str]) -> Value {
    let line = ["issue", "create", "--type", "bug", "--message", "the sum is wrong"];
    machine.run(line.iter().chain(more).copied()).result("issue create")
}

#[test]
fn an_issue_says_which_version_answered_what_call_how() {
    let machine = Machine::new();
    let todo = crate::support::todo();
    machine.todo(&["add", "it's milk"]).answer();
    machine.todo(&["get", "td_0099"]).guest_failure(20);
    let about = create(&machine, &["--package", &todo, "--entry", "last"]);
    let entry = machine.run(["ledger", "show", &todo]).result("ledger show");
    assert_eq!(about["package"]["entry"], entry["hash"]);
    assert_eq!(about["package"]["digest"], entry["record"]["package"]["digest"]);
    assert_eq!((&about["package"]["slug"], &about["package"]["version"]), (&json!("todo"), &json!("0.2.0")));
    assert_eq!((&about["context"], &about["exit_code"]), (&json!("hutch run todo get td_0099"), &json!(20)));
    assert_eq!(about["report_to"], Value::Null);
    // An earlier call, and what the caller says stands before what the ledger says.
    let earlier = create(&machine, &["--package", &todo, "--entry", "@2", "--context", "by hand", "--exit-code", "7"]);
    assert_eq!((&earlier["context"], &earlier["exit_code"]), (&json!("by hand"), &json!(7)));
    let again = create(&machine, &["--package", &todo, "--entry", "@2"]);
    assert_eq!(again["context"], "hutch run todo add 'it'\\''s milk'");
    // What is kept is what was answered.
    let id = about["id"].as_str().unwrap();
    assert_eq!(machine.run(["issue", "show", id]).result("issue show"), about);
}

#[test]
fn an_issue_about_a_package_says_where_its_maintainers_are() {
    let machine = Machine::new();
    let address = "https://example.com/probe/issues";
    let package = with_manifest(&machine, "probe", "    mounts:", &format!("    feedback: {address}\n    mounts:"));
    let package = package.to_str().unwrap();
    let about = create(&machine, &["--package", package]);
    assert_eq!((&about["report_to"], &about["package"]["entry"]), (&json!(address), &Value::Null));
    assert_eq!((&about["package"]["slug"], &about["context"]), (&json!("probe"), &Value::Null));
    // Without a package, nothing of one.
    assert_eq!((&create(&machine, &[])["package"], &create(&machine, &[])["report_to"]), (&Value::Null, &Value::Null));
}

/// A person who follows it sees what is sent, and nothing that an issue may not hold is in it.
#[test]
fn an_issue_can_be_sent_on_by_a_link_and_is_not_by_us() {
    let machine = Machine::new();
    let address = "mailto:probe@example.com";
    let package = with_manifest(&machine, "probe", "    mounts:", &format!("    feedback: {address}\n    mounts:"));
    let package = package.to_str().unwrap();
    machine.run(["run", "--instance", "diary", package, "return-ok"]).answer();
    let line = ["issue", "create", "--type", "bug", "--message", "ask me@home.example or 4111 1111 1111 1111"];
    let more = ["--package", package, "--instance", "diary", "--entry", "last"];
    let about = machine.run([&line[..], &more].concat()).result("issue create");
    let link = about["report_link"].as_str().unwrap();
    assert!(link.starts_with("mailto:probe@example.com?subject=bug%3A%20") && link.contains("&body="), "{link}");
    assert!(link.contains("package%3A%20probe") && link.contains("return-ok") && link.len() <= 8192, "{link}");
    for hidden in ["home.example", "4111", "diary"] {
        assert!(!link.contains(hidden), "{hidden} is in {link}");
    }
    // With no place to send it to there is no link.
    assert_eq!(create(&machine, &["--package", &crate::support::todo()])["report_link"], Value::Null);
    assert_eq!(create(&machine, &[])["report_link"], Value::Null);
}

#[test]
fn what_is_not_there_makes_no_issue() {
    let machine = Machine::new();
    let todo = crate::support::todo();
    let line = ["issue", "create", "--type", "bug", "--message", "x"];
    let all = |more: &[&str]| line.iter().chain(more).map(|word| (*word).to_owned()).collect::<Vec<_>>();
    machine.run(all(&["--package", "nowhere/at/all"])).fault("PACKAGE_NOT_FOUND", 20);
    machine.run(all(&["--package", &todo, "--entry", "last"])).fault("NOT_FOUND", 20);
    machine.run(all(&["--entry", "last"])).fault("USAGE", 2);
    machine.todo(&["list"]).answer();
    machine.run(all(&["--package", &todo, "--entry", "@99"])).fault("NOT_FOUND", 20);
    assert_eq!(machine.run(["issue", "list"]).result("issue list")["total"], 0);
}

//! What the host answers in an application's place: the flags of every command line that the contract does not declare, and `--help`,
//! which the contract answers. The probe declares `--help` alone.

use crate::support::{Machine, Ran, probe, repository, todo};
use serde_json::{Value, json};

fn call(machine: &Machine, words: &[&str]) -> Ran {
    machine.guest(&[&[probe().as_str()], words].concat())
}

fn entries(machine: &Machine) -> u64 {
    let ledger = machine.run(["ledger", "list", "--query", "total", &probe()]);
    ledger.stdout.trim().parse().unwrap_or(0)
}

#[test]
fn an_application_that_knows_no_flag_has_those_of_every_line() {
    let machine = Machine::new();
    let version = call(&machine, &["--version"]);
    assert_eq!((version.status, version.document()["name"].clone()), (0, json!("probe")));
    assert!(call(&machine, &["--brief"]).document()["brief"].is_string());
    // None of this starts a guest.
    assert_eq!(entries(&machine), 0);

    let args = |words: &[&str]| call(&machine, words).document()["args"].clone();
    assert_eq!(args(&["args", "a", "--quiet", "b", "--agent"]), json!(["a", "b"]), "the guest gets the rest");
    assert_eq!(args(&["args", "a", "--", "--quiet"]), json!(["a", "--", "--quiet"]), "data is nobody's flag");
    assert_eq!(call(&machine, &["args", "a", "--query", "args[0]"]).stdout, "\"a\"\n");
    assert_eq!(call(&machine, &["args", "a", "--fields=args"]).document(), json!({"ok": true, "args": ["a"]}));
    let human = call(&machine, &["--human", "args", "a"]);
    assert_eq!((human.status, human.stdout.as_str()), (0, "args: a\ncommand: args\nok: yes\n"));
    let said = call(&machine, &["stderr", "20"]);
    let quiet = call(&machine, &["stderr", "20", "--quiet"]);
    assert!(!said.stderr.is_empty());
    assert_eq!((quiet.stdout, quiet.stderr.as_str()), (said.stdout, ""));
}

#[test]
fn what_the_contract_declares_is_the_application_s() {
    let machine = Machine::new();
    let text = machine.guest(&[&todo(), "--human", "list"]);
    assert_eq!(text.stdout, "nothing to show\n", "and not as the host draws an answer");
    // What even that application leaves out is the host's.
    assert_eq!(machine.guest(&[&todo(), "list", "--query", "count"]).stdout, "0\n");
    // And all of it is the guest's where the contract is to have no say.
    let all = machine.probe(&["--unchecked"], &["args", "--quiet", "--query", "x"]).document();
    assert_eq!(all["args"], json!(["--quiet", "--query", "x"]));
}

/// What an application's own help prints at length stands in its contract, and costs no run.
#[test]
fn help_is_made_of_the_contract_whoever_declares_it() {
    let machine = Machine::new();
    let all = call(&machine, &["--help"]).document();
    let usage = |name: &str| all["commands"].as_array().unwrap().iter().find(|line| line["name"] == name).unwrap();
    assert_eq!(usage("write-text")["usage"], "write-text PATH TEXT");
    assert!(all["skills"].is_array() && all.get("description").is_none(), "the guest's own has none: {all}");
    let words = &["--human", "list", "--help"];
    let text = machine.guest(&[&[todo().as_str()], &words[..]].concat()).stdout;
    assert!(text.contains("\nlist [--status open|completed|all]") && !text.contains("\nadd "), "{text}");
    // Nobody needs to confirm that he reads about it.
    let one = machine.guest(&[&todo(), "remove", "--help"]).document();
    assert_eq!(
        (one["commands"][0]["name"].as_str(), one["commands"].as_array().map(Vec::len)),
        (Some("remove"), Some(1))
    );
    assert_eq!(machine.guest(&[&todo(), "--help", "--query", "commands[*].name"]).document()[7], "reminder set");
    assert_eq!(entries(&machine), 0);
    assert_eq!(machine.run(["ledger", "list", &todo()]).status, 20, "no guest was started");
    // Where the contract is to have no say, the guest is asked.
    let own = machine.probe(&["--unchecked"], &["--help"]).document();
    assert!(own["description"].is_object() && own.get("skills").is_none(), "{own}");
}

#[test]
fn a_try_keeps_nothing_and_says_what_would_be() {
    let machine = Machine::new();
    let tried = call(&machine, &["write-text", "state/a", "hello", "--dry-run"]);
    let answer = tried.document();
    assert_eq!((tried.status, &answer["dry_run"], &answer["command"]), (0, &json!(true), &json!("plan")));
    assert_eq!(answer["result"]["volumes"]["state"]["changes"].as_array().map(Vec::len), Some(1));
    assert_eq!(entries(&machine), 0);
    assert!(call(&machine, &["list-dir", "state"]).document()["entries"].as_array().unwrap().is_empty());
}

#[test]
fn a_list_of_parameters_is_one_call_for_each() {
    let machine = Machine::new();
    let batch = |input: &str| {
        Ran::with_input(&mut machine.hutch(["run", &probe(), "write-text", "--json-input"]), input.as_bytes())
    };
    let done = batch(r#"[{"path":"state/a","text":"--x"},{"text":"two","path":"state/b"}]"#);
    assert_eq!(done.result("run")["done"], 2, "{done:?}");
    assert_eq!(call(&machine, &["list-dir", "state", "--query", "entries[*].name"]).stdout, "[\"a\",\"b\"]\n");
    assert_eq!(
        machine.run(["state", "cat", "--query", "content", &probe(), "state/a"]).stdout,
        "\"--x\"\n",
        "data, whatever it looks like"
    );
    // One that is wrong is found before the first is made.
    for (wrong, code) in [
        (r#"[{"path":"state/c","text":"x"},{"path":"state/d","txt":"x"}]"#, "ARGUMENT_INVALID"),
        (r#"[{"path":"state/c","text":"x"},7]"#, "USAGE"),
        ("[]", "USAGE"),
        ("{", "USAGE"),
    ] {
        batch(wrong).fault(code, 2);
    }
    let names = call(&machine, &["list-dir", "state", "--query", "entries[*].name"]).stdout;
    assert_eq!(names, "[\"a\",\"b\"]\n");
    let words = &mut machine.hutch(["run", &probe(), "write-text", "state/c", "--json-input"]);
    Ran::with_input(words, b"[]").fault("USAGE", 2);
}

/// What `init` makes, with a contract that leaves everything to the host, as those in other languages than Rust do.
#[test]
fn an_application_that_declares_no_flag_hands_its_listing_on_and_tells_its_own_rules() {
    let machine = Machine::new();
    machine.run(["init", "made"]).result("init");
    let contract = repository().join("host/cli/template/shared/package/schemas/commands.json");
    let contract = std::fs::read_to_string(contract).unwrap().replace("SLUG", "made");
    machine.write("made/package/schemas/commands.json", contract);
    let package = machine.path("made/package").display().to_string();
    for text in ["one", "two"] {
        machine.guest(&[&package, "add", text]);
    }
    let listing = machine.guest(&[&package, "list"]).stdout;
    let batch =
        |input: &str| Ran::with_input(&mut machine.hutch(["run", &package, "add", "--json-input"]), input.as_bytes());
    assert_eq!(batch(&listing).result("run")["done"], 2);
    let texts = machine.guest(&[&package, "list", "--query", "items[*].text"]).stdout;
    assert_eq!(texts, "[\"one\",\"two\",\"one\",\"two\"]\n");
    // What no listing shows is a mistake as ever.
    batch(r#"{"items":[{"text":"three","colour":"red"}]}"#).fault("ARGUMENT_INVALID", 2);

    let help = machine.guest(&[&package, "--help"]).document();
    for name in ["trigger", "workflow", "writeback"] {
        let file = std::fs::read_to_string(machine.path(&format!("made/package/agent/rules/{name}.md"))).unwrap();
        let rule = help["package_rules"].as_array().unwrap().iter().find(|rule| rule["name"] == name).unwrap();
        assert!(file.ends_with(&format!("---\n\n{}\n", rule["content"].as_str().unwrap())), "{rule}");
    }
    assert!(help["skills"][0]["description"].as_str().unwrap().starts_with("Keeps short notes"), "{}", help["skills"]);
    // The host's own rules stand by themselves. A package's that nobody would read, larger than an agent has room for, are as none.
    let rules = help["rules"].clone();
    assert!(rules.to_string().contains("hutch find"), "{rules}");
    let long = format!("---\nname: long\ndescription: d\n---\n{}", "x".repeat(16 << 10));
    std::fs::write(machine.path("made/package/agent/rules/long.md"), long).unwrap();
    let help = machine.guest(&[&package, "--help"]).document();
    assert_eq!((&help["rules"], help.get("package_rules")), (&rules, None));
    std::fs::remove_dir_all(machine.path("made/package/agent")).unwrap();
    let help = machine.guest(&[&package, "--help"]).document();
    assert_eq!((&help["rules"], help.get("package_rules")), (&rules, None));
}

#[test]
fn what_no_answer_has_is_refused_before_anything_is_done() {
    let machine = Machine::new();
    for (words, code) in [
        (&["write-text", "state/a", "x", "--query", "a..b"][..], "USAGE"),
        (&["write-text", "state/a", "x", "--query"], "ARGUMENT_INVALID"),
        (&["write-text", "state/a", "x", "--fields", "../../etc/passwd"], "ARGUMENT_REFUSED"),
    ] {
        let refused = call(&machine, words);
        assert!(refused.stderr.contains(&format!("\"code\":\"{code}\"")), "{words:?}: {}", refused.stderr);
    }
    assert!(call(&machine, &["list-dir", "state"]).document()["entries"].as_array().unwrap().is_empty());
    // What is wrong beside it is mended where it stands.
    let fault = call(&machine, &["list-dri", "state", "--query", "list-dri"]).fault("ARGUMENT_INVALID", 2);
    assert!(fault.fixes[0].cmd.ends_with(" list-dir state --query list-dri"), "{:?}", fault.fixes[0].cmd);
    // What was done before it could be known is said to be kept.
    let fault = call(&machine, &["write-text", "state/a", "x", "--query", "nothing.there"]).fault("NOT_FOUND", 20);
    assert_eq!(fault.details["kept"], true);
    // A failure is told whole.
    let failed = call(&machine, &["exit", "3", "--query", "x", "--fields", "y"]);
    assert_eq!((failed.status, failed.stdout.as_str()), (3, ""));
}

#[test]
fn a_plan_and_a_server_are_asked_for_calls_alone() {
    let machine = Machine::new();
    let valid = machine.run(["validate", &probe(), "args", "a", "--human"]);
    assert_eq!(valid.result("validate")["argv"], json!(["probe", "args", "a"]));
    let plan = machine.run(["plan", &probe(), "args", "a", "--quiet"]);
    assert_eq!(plan.result("plan")["output"]["args"], json!(["a"]));
    for about in ["--help", "--version", "--brief", "--json-input"] {
        machine.run(["plan", &probe(), "args", about]).fault("USAGE", 2);
    }
    // A call that nobody took them out of reaches no guest: --dry-run there would be carried out.
    let item = |words: Value| {
        let input = json!([words]).to_string();
        Ran::with_input(&mut machine.hutch(["run", "--json-input", &probe()]), input.as_bytes())
    };
    let refused = item(json!(["write-text", "state/a", "x", "--dry-run"])).fault("ARGUMENT_INVALID", 2);
    assert!(refused.message.contains("--dry-run is answered by hutch run"), "{}", refused.message);
    assert!(call(&machine, &["list-dir", "state"]).document()["entries"].as_array().unwrap().is_empty());
}

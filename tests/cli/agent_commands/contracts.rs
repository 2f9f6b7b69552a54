//! What packages say of themselves, and that it is held to be true.

use super::program::Hutch;
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// Every package of the repository, and one that `init` made.
fn packages(hutch: &Hutch) -> Vec<String> {
    let mut found = Vec::new();
    for folder in ["packages", "tests/packages"] {
        let packages = std::fs::read_dir(hutch.root().join(folder)).unwrap();
        found.extend(packages.map(|it| format!("{folder}/{}", it.unwrap().file_name().into_string().unwrap())));
    }
    let scratch = hutch.scratch();
    hutch.call(&["init", "made", "--in", scratch.to_str().unwrap()]).result();
    found.push(scratch.join("made/package").to_str().unwrap().to_owned());
    found.sort();
    found
}

#[test]
fn every_example_of_every_package_ends_as_it_says() {
    let all = Hutch::new();
    let mut ran = 0;
    for package in packages(&all) {
        let hutch = Hutch::new();
        let examples = hutch.call(&["examples", &package]).result();
        for example in examples["items"].as_array().unwrap() {
            let status = example["exit_status"].as_i64().unwrap();
            // Whoever agrees for a person agrees for the application too, so what it shows without is called without.
            let agreed: &[&str] = if status == 30 { &[] } else { &["--yes"] };
            let words = [&["run"], agreed, &["--contract", "schema", package.as_str()]].concat();
            let mut words: Vec<String> = words.into_iter().map(str::to_owned).collect();
            words.extend(example["arguments"].as_array().unwrap().iter().map(|word| word.as_str().unwrap().to_owned()));
            let ended = hutch.call(&words);
            assert_eq!(ended.status as i64, status, "{words:?}: {ended:?}");
            ran += 1;
        }
    }
    assert!(ran > 20, "{ran} examples");
}

#[test]
fn every_code_of_every_package_is_explained() {
    let hutch = Hutch::new();
    for package in packages(&hutch) {
        let index = hutch.call(&["meta", &package]).result();
        // Many commands fail with the same codes.
        let mut told = BTreeMap::new();
        for listed in index["commands"].as_array().unwrap() {
            let words: Vec<&str> = listed["name"].as_str().unwrap().split(' ').collect();
            let meta = hutch.call(&[&["meta", package.as_str()], &words[..]].concat()).result();
            let command = &meta["commands"][0];
            assert_eq!((&command["name"], &command["semantics"]["effect"]), (&listed["name"], &listed["effect"]));
            for failure in command["failures"].as_array().unwrap() {
                let code = failure["code"].as_str().unwrap();
                let ask = || hutch.call(&["explain-error", code, &package]).result();
                let told = told.entry(code.to_owned()).or_insert_with(ask);
                assert_eq!(told["meanings"][0]["cause"], failure["description"]);
            }
        }
    }
    // A run of a package can end with the host's codes too.
    let line = "explain-error FUEL_LIMIT packages/todo";
    assert_eq!(hutch.line(line).result()["meanings"][0]["origin"], "host");
    assert_eq!(hutch.line("explain-error packages/todo FUEL_LIMIT").code(), "PACKAGE_NOT_FOUND");
    let near = hutch.line("explain-error NOT_FOUN packages/todo").error();
    assert_eq!(near["fixes"][0]["cmd"], "hutch explain-error NOT_FOUND packages/todo");
    let near = hutch.line("explain-error FUEL_LIMT").error();
    assert_eq!(near["fixes"][0]["cmd"], "hutch explain-error FUEL_LIMIT");
}

#[test]
fn arguments_that_break_the_contract_never_reach_the_guest() {
    let hutch = Hutch::new();
    for (line, kind, fix) in [
        ("list --stauts open", "unknown_flag", Some("hutch run packages/todo list --status open")),
        ("list --stauts opne", "unknown_flag", Some("hutch run packages/todo list --status open")),
        ("lst", "unknown_command", Some("hutch run packages/todo list")),
        ("list --status opne", "not_a_choice", Some("hutch run packages/todo list --status open")),
        ("list --limit ten", "wrong_type", None),
        ("add", "missing", None),
    ] {
        let ended = hutch.line(&format!("run packages/todo {line}"));
        let error = ended.error();
        assert_eq!((error["code"].as_str(), ended.status), (Some("ARGUMENT_INVALID"), 2), "{line}");
        assert_eq!(error["details"]["violations"][0]["kind"], kind, "{line}");
        if let Some(fix) = fix {
            assert_eq!(error["fixes"][0]["cmd"], fix);
            let words: Vec<&str> = fix.split(' ').skip(1).collect();
            let mended = hutch.call(&words);
            assert_eq!(mended.status, 0, "the fix works: {mended:?}");
        }
    }
    // Waived, the guest answers in its own words, with the same status.
    let waived = hutch.line("run --unchecked packages/todo add");
    assert_eq!((waived.status, waived.json()["error"]["code"].as_str()), (2, Some("MISSING_ARGUMENT")));
}

#[test]
fn what_every_program_understands_is_no_broken_contract() {
    let hutch = Hutch::new();
    for line in ["run packages/todo --help", "run packages/todo list --help", "run packages/todo --version"] {
        assert_eq!(hutch.line(line).status, 0, "{line}");
    }
    assert_eq!(hutch.line("run --contract any packages/todo list --human").status, 0);
}

#[test]
fn answers_are_held_to_their_schema_on_request() {
    let hutch = Hutch::new();
    let package = hutch.scratch().join("broken");
    copy(&hutch.root().join("packages/todo"), &package);
    let file = package.join("schemas/commands.json");
    let mut contract: Value = serde_json::from_str(&std::fs::read_to_string(&file).unwrap()).unwrap();
    contract["commands"][1]["outputSchema"] = json!({"type": "object", "required": ["nothing"]});
    std::fs::write(&file, contract.to_string()).unwrap();
    let package = package.display().to_string();
    assert_eq!(hutch.call(&["run", &package, "list"]).status, 0);
    let held = hutch.call(&["run", "--contract", "schema", &package, "list"]);
    assert_eq!((held.code().as_str(), held.status), ("CONTRACT_VIOLATION", 46));
    assert_eq!(hutch.call(&["run", "--contract", "schema", &package, "list", "--fields", "id"]).status, 0);
    assert_eq!(hutch.call(&["run", "--contract", "schema", "--unchecked", &package, "nosuch"]).code(), "USAGE");
}

pub(crate) fn copy(from: &std::path::Path, to: &std::path::Path) {
    std::fs::create_dir_all(to).unwrap();
    for entry in std::fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let target = to.join(entry.file_name());
        match entry.file_type().unwrap().is_dir() {
            true => copy(&entry.path(), &target),
            false => drop(std::fs::copy(entry.path(), target).unwrap()),
        }
    }
}

#[test]
fn tools_for_another_protocol_name_every_command() {
    let hutch = Hutch::new();
    let tools = hutch.line("meta packages/todo --export mcp").result();
    let tools = tools["tools"].as_array().unwrap();
    assert_eq!(tools.len(), 11);
    let remove = tools.iter().find(|tool| tool["name"] == "todo_remove").unwrap();
    assert_eq!(remove["annotations"]["destructiveHint"], true);
    for tool in tools {
        assert!(
            jsonschema::validator_for(&tool["inputSchema"]).is_ok()
                && jsonschema::validator_for(&tool["outputSchema"]).is_ok()
        );
    }
}

#[test]
fn the_tools_that_reach_other_machines_are_those_that_sign_in_there() {
    let tools = Hutch::new().line("mcp --print").result();
    let is_open = |tool: &Value| tool["annotations"]["openWorldHint"] == true;
    let signs_in = |tool: &Value| tool["inputSchema"]["properties"].get("token-host").is_some();
    let (mut open, mut closed) = (0, 0);
    for tool in tools["tools"].as_array().unwrap() {
        assert_eq!(is_open(tool), signs_in(tool), "{}", tool["name"]);
        if is_open(tool) { open += 1 } else { closed += 1 }
    }
    assert!(open > 0 && closed > open, "{open} and {closed}");
}

#[test]
fn from_words_to_a_result_without_a_manual() {
    let hutch = Hutch::new();
    assert_eq!(hutch.line("install packages/todo").status, 0);
    let found = hutch.call(&["find", "note a new task"]).result();
    let best = &found["items"][0];
    assert_eq!(
        (best["call"].as_str(), best["command"].as_str(), best["effect"].as_str()),
        (Some("todo"), Some("add"), Some("write"))
    );
    let meta = best["meta"].as_str().unwrap().split(' ').skip(1).collect::<Vec<_>>();
    let meta = hutch.call(&meta).result();
    let inputs = meta["commands"][0]["inputs"].as_array().unwrap();
    assert!(inputs.iter().any(|input| input["name"] == "title" && input["required"] == true));
    let added = hutch.call(&["run", "todo", "add", "Write docs"]);
    assert_eq!((added.status, added.json()["items"][0]["id"].as_str()), (0, Some("td_0001")));
    let title = hutch.call(&["run", "--query", "output.items[0].title", "todo", "list"]);
    assert_eq!(title.stdout, "\"Write docs\"\n");
}

#[test]
fn the_to_do_application_takes_batches_and_can_be_tried() {
    let hutch = Hutch::new();
    let run = ["run", "--yes", "--contract", "schema", "--stdin", "packages/todo"];
    let batch = |words: &[&str], input: &str| hutch.call_with(&[&run, words].concat(), input, &[]);
    let list = || hutch.line("run packages/todo list").stdout;
    let two = r#"[{"title": "one"}, {"title": "two; three", "dueAt": "2026-04-05"}]"#;
    let empty = list();
    let tried = batch(&["add", "--json-input", "--dry-run"], two).json();
    assert_eq!((&tried["dryRun"], &tried["count"]), (&json!(true), &json!(2)));
    assert_eq!(list(), empty);
    assert_eq!(batch(&["add", "--json-input"], two).json()["count"], 2);
    let full = list();
    let failed = batch(&["complete", "--json-input"], r#"[{"id": "td_0001"}, {"id": "td_0003"}]"#);
    assert_eq!((failed.status, &failed.json()["error"]["index"]), (20, &json!(1)));
    assert_eq!(list(), full, "all or nothing");
    assert_eq!(batch(&["remove", "--confirm", "--json-input"], &full).json()["count"], 2, "a listing is a batch");
    // A batch needs the user's confirmation as a single call does, also where arguments are not checked.
    let gated = hutch.call_with(
        &["run", "--unchecked", "--stdin", "packages/todo", "remove", "--confirm", "--json-input"],
        "[]",
        &[],
    );
    assert_eq!(gated.code(), "CONFIRMATION_REQUIRED");
    let opposite = hutch.line("run packages/todo update td_0001 --title x --no-clear-due-at");
    assert_eq!((opposite.status, &opposite.json()["error"]["code"]), (20, &json!("NOT_FOUND")), "it reaches the guest");
}

#[test]
fn the_component_says_what_the_files_of_its_package_say() {
    let hutch = Hutch::new();
    let read = |path: &str| std::fs::read_to_string(hutch.root().join("packages/todo").join(path)).unwrap();
    assert_eq!(hutch.line("run packages/todo --brief").json()["brief"], read("agent/brief.md").trim());
    let help = hutch.line("run --unchecked packages/todo --help").json();
    for name in ["trigger", "workflow", "writeback"] {
        let file = read(&format!("agent/rules/{name}.md"));
        let rule = help["rules"].as_array().unwrap().iter().find(|rule| rule["name"] == name).unwrap();
        assert!(file.ends_with(&format!("---\n\n{}\n", rule["content"].as_str().unwrap())), "{name}");
    }
    assert_eq!(hutch.line("install packages/todo").status, 0);
    let words: Vec<&str> = help["skills"][0]["command"].as_str().unwrap().split(' ').skip(1).collect();
    let shown = hutch.call(&words);
    assert!(shown.status == 0 && shown.stdout.contains("# Using the To-do application"), "{shown:?}");
}

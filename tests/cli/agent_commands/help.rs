//! `--help` at every level, and what it promises: its form, its examples, its codes.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test may")]

use crate::program::Hutch;
use serde_json::Value;

fn schema(text: &str) -> jsonschema::Validator {
    jsonschema::validator_for(&serde_json::from_str(text).unwrap()).unwrap()
}

#[track_caller]
fn hold(validator: &jsonschema::Validator, value: &Value, what: &str) {
    let problems: Vec<String> =
        validator.iter_errors(value).take(3).map(|error| format!("{}: {error}", error.instance_path())).collect();
    assert!(problems.is_empty(), "{what}: {problems:#?}");
}

/// Every command and every group, as words.
fn paths(described: &Value, found: &mut Vec<String>) {
    for command in described["commands"].as_array().unwrap() {
        found.push(command["name"].as_str().unwrap().to_owned());
        paths(command, found);
    }
}

#[test]
fn every_help_is_of_the_published_form() {
    let hutch = Hutch::new();
    let published = schema(include_str!("../../../agent/help.schema.json"));
    let top = hutch.line("--help");
    assert_eq!((top.status, top.stderr.as_str()), (0, ""));
    let top = top.json();
    hold(&published, &top, "--help");
    let mut all = Vec::new();
    paths(&top, &mut all);
    assert!(all.len() > 20, "{all:?}");
    for path in all {
        let help = hutch.line(&format!("{path} --help"));
        let described = help.json();
        hold(&published, &described, &path);
        assert_eq!(described["name"], path.as_str());
        let human = hutch.line(&format!("{path} --help --human"));
        assert_eq!(human.status, 0);
        assert!(human.stdout.contains("Usage:"), "{path}");
    }
}

#[test]
fn reserved_flags_and_opposites_are_there() {
    let top = Hutch::new().line("--help").json();
    let names: Vec<&str> =
        top["global_parameters"].as_array().unwrap().iter().map(|one| one["name"].as_str().unwrap()).collect();
    for flag in [
        "--agent",
        "--human",
        "--brief",
        "--yes",
        "--dry-run",
        "--quiet",
        "--fields",
        "--query",
        "--sanitize",
        "--progress",
        "--wait",
        "--help",
        "--version",
    ] {
        assert!(names.contains(&flag), "{flag}: {names:?}");
    }
    for parameter in top["global_parameters"].as_array().unwrap() {
        // What asks about the program has no opposite.
        let asks = parameter["name"] == "--help" || parameter["name"] == "--version";
        assert_eq!(parameter["type"] == "boolean" && !asks, parameter["opposite"].is_string(), "{parameter}");
    }
    for path in ["list", "state ls", "run"] {
        let help = Hutch::new().line(&format!("{path} --help")).json();
        assert_eq!(help["global_parameters"], top["global_parameters"], "{path}");
        let version = Hutch::new().line(&format!("{path} --version"));
        assert_eq!(version.json()["version"], env!("CARGO_PKG_VERSION"), "{path}");
    }
}

#[test]
fn every_example_ends_as_it_says_and_answers_as_declared() {
    let top = Hutch::new().line("--help").json();
    let mut commands = Vec::new();
    leaves(&top, &mut commands);
    for command in commands {
        let validator = jsonschema::validator_for(&command["output_schema"]).unwrap();
        for example in command["examples"].as_array().unwrap() {
            let hutch = Hutch::keyed();
            for before in example["before"].as_array().into_iter().flatten() {
                assert_eq!(hutch.call(&texts(before)).status, 0, "{before}");
            }
            let arguments = texts(&example["arguments"]);
            let ended = hutch.call_with(&arguments, example["stdin"].as_str().unwrap_or_default(), &[]);
            assert_eq!(ended.status as i64, example["exit_status"].as_i64().unwrap(), "{arguments:?}: {ended:?}");
            if ended.status != 0 {
                let code = ended.code();
                let known = command["errors"].as_array().unwrap();
                assert!(known.contains(&Value::from(code.as_str())), "{arguments:?}: {code} is not declared");
                continue;
            }
            // A plain run answers with what the guest printed; lines, single values and texts are no envelopes.
            let text = [&["state", "cat"][..], &["ledger", "export"], &["completions"], &["man"]].iter().any(|words| {
                arguments.iter().zip(*words).take_while(|(known, word)| known == word).count() == words.len()
            });
            let bare = text
                || ["--ndjson", "--query", "--human", "--help"]
                    .iter()
                    .any(|flag| arguments.iter().any(|word| word == flag));
            let plain_run = arguments[0] == "run" && !["--envelope", "--json-input"].contains(&arguments[1].as_str());
            if !bare && !plain_run {
                hold(&validator, &ended.json(), &format!("{arguments:?}"));
            }
        }
    }
}

fn leaves(described: &Value, found: &mut Vec<Value>) {
    for command in described["commands"].as_array().unwrap() {
        match command["commands"].as_array().unwrap().is_empty() {
            true => found.push(command.clone()),
            false => leaves(command, found),
        }
    }
}

fn texts(value: &Value) -> Vec<String> {
    value.as_array().unwrap().iter().map(|word| word.as_str().unwrap().to_owned()).collect()
}

#[test]
fn every_code_that_a_command_names_is_explained() {
    let hutch = Hutch::new();
    let top = hutch.line("--help").json();
    let mut commands = Vec::new();
    leaves(&top, &mut commands);
    let mut codes: Vec<String> = commands.iter().flat_map(|command| texts(&command["errors"])).collect();
    codes.sort();
    codes.dedup();
    assert!(codes.len() > 30);
    for code in codes {
        let result = hutch.line(&format!("explain-error {code}")).result();
        let meaning = &result["meanings"][0];
        for field in ["cause", "fix", "retry"] {
            assert!(meaning[field].as_str().is_some_and(|text| !text.is_empty()), "{code}: {meaning}");
        }
    }
}

#[test]
fn brief_version_and_quiet_identity() {
    let hutch = Hutch::new();
    let brief = include_str!("../../../agent/brief.md");
    for line in ["--brief", "check --brief", "list --brief"] {
        let ended = hutch.line(line);
        assert_eq!((ended.status, ended.stdout.as_str()), (0, brief), "{line}");
    }
    assert_eq!(hutch.line("--version").json()["version"], env!("CARGO_PKG_VERSION"));
    assert_eq!(hutch.line("--version --human").stdout.trim(), env!("CARGO_PKG_VERSION"));
}

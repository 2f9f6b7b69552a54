//! What the application says about itself, held against what it does and against the package that ships it.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::collections::BTreeSet;
use std::fs;
use std::path::PathBuf;

use guest_todo::TODO;
use guest_todo::item::{ItemRow, MomentRow};
use hutch_guest::Reply;
use hutch_guest::Row;
use hutch_guest::calendar::Instant;
use hutch_guest::contract::{Effect, Parameter, ValueType};
use hutch_guest::storage::StateFile;
use serde_json::Value;

fn package() -> PathBuf {
    PathBuf::from("../packages/todo")
}

fn read(path: &str) -> String {
    fs::read_to_string(package().join(path)).unwrap()
}

/// A list with two items, one of them with a reminder, as the examples find it.
struct Calls {
    directory: tempfile::TempDir,
}

impl Calls {
    fn new() -> Self {
        let calls = Self { directory: tempfile::tempdir().unwrap() };
        for args in [
            &["add", "Write docs", "--due-at", "2026-04-05"][..],
            &["add", "Buy milk"],
            &["reminder", "set", "td_0002", "--at", "2026-04-04T00:00:00Z"],
        ] {
            assert_eq!(calls.call(args).exit_status, 0);
        }
        calls
    }

    fn call(&self, args: &[&str]) -> Reply {
        let args: Vec<String> = args.iter().map(|arg| (*arg).to_owned()).collect();
        let now = Instant::parse("2026-04-06T00:00:00Z").unwrap();
        TODO.run(&args, now, &StateFile::new(self.directory.path(), "todos.json"), std::io::empty())
    }

    fn state(&self) -> Vec<u8> {
        fs::read(self.directory.path().join("todos.json")).unwrap()
    }
}

#[test]
fn the_package_holds_the_description_of_this_program() {
    let packaged = read("schemas/commands.json");
    let generated = TODO.description.to_json().unwrap();
    assert!(
        packaged == generated,
        "schemas/commands.json is out of date: cargo run -p guest-todo -- --print-contract > packages/todo/schemas/commands.json"
    );
}

#[test]
fn the_manifest_lists_the_same_commands() {
    let manifest = read("APP.md");
    let front_matter = manifest.split("---\n").nth(1).unwrap();
    let listed = |key: &str| -> Vec<String> {
        let after = front_matter.split(&format!("\n{key}:\n")).nth(1).unwrap();
        after.lines().map_while(|line| line.strip_prefix("  - ")).map(str::to_owned).collect()
    };
    let names: Vec<&str> = TODO.description.commands.iter().map(|command| command.name).collect();
    assert_eq!(listed("commands"), names);
    let confirmed: Vec<&str> = TODO
        .description
        .commands
        .iter()
        .filter(|command| command.confirmation_required)
        .map(|command| command.name)
        .collect();
    assert_eq!(listed("confirmationRequired"), confirmed);
    assert!(front_matter.contains(&format!("\nslug: {}\n", TODO.description.name)));
    assert!(front_matter.contains(&format!("\nversion: {}\n", TODO.description.version)));
    for name in names {
        assert!(manifest.contains(&format!("`{name}")), "the body of APP.md explains {name}");
    }
}

#[test]
fn every_example_ends_as_it_says_and_every_answer_has_its_shape() {
    for command in TODO.description.commands {
        let schema: Value = serde_json::from_str(&command.output_schema.to_text()).unwrap();
        let validator =
            jsonschema::draft202012::new(&schema).unwrap_or_else(|error| panic!("{}: {error}", command.name));
        let calls = Calls::new();
        assert!(!command.examples.is_empty(), "{}", command.name);
        assert!(command.examples.iter().any(|example| example.exit_status == 0), "{}", command.name);
        for example in command.examples {
            let before = calls.state();
            let reply = calls.call(example.args);
            assert_eq!(reply.exit_status, example.exit_status, "{:?}: {}", example.args, reply.stdout);
            let document: Value = serde_json::from_str(&reply.stdout).unwrap();
            if example.exit_status == 0 {
                if !example.args.contains(&"--fields") {
                    let problems: Vec<String> =
                        validator.iter_errors(&document).map(|error| error.to_string()).collect();
                    assert!(problems.is_empty(), "{:?}: {problems:?}", example.args);
                }
            } else {
                let code = document["error"]["code"].as_str().unwrap();
                assert!(command.errors.iter().any(|error| error.code == code), "{} declares {code}", command.name);
            }
            let tried = example.args.contains(&"--dry-run");
            if command.effect == Effect::Read || example.exit_status != 0 || tried {
                assert_eq!(calls.state(), before, "{:?} must not write", example.args);
            }
            if command.idempotent && example.exit_status == 0 {
                let (after, again) = (calls.state(), calls.call(example.args));
                assert_eq!((again.exit_status, calls.state()), (0, after), "{:?} again", example.args);
            }
        }
        // The schema would notice a difference.
        let reply = calls.call(
            command
                .examples
                .iter()
                .find(|example| example.exit_status == 20)
                .map_or(&["get", "td_9"], |example| example.args),
        );
        assert!(
            !validator.is_valid(&serde_json::from_str(&reply.stdout).unwrap()),
            "{} accepts a failure",
            command.name
        );
    }
}

#[test]
fn schemas_name_exactly_the_fields_that_can_be_selected() {
    for command in TODO.description.commands {
        let schema: Value = serde_json::from_str(&command.output_schema.to_text()).unwrap();
        let element = &schema["properties"]["items"]["items"];
        let properties: BTreeSet<&str> =
            element["properties"].as_object().unwrap().keys().map(String::as_str).collect();
        let required: BTreeSet<&str> =
            element["required"].as_array().unwrap().iter().map(|name| name.as_str().unwrap()).collect();
        let fields = if matches!(command.name, "due" | "reminder list") { MomentRow::FIELDS } else { ItemRow::FIELDS };
        assert_eq!(properties, fields.iter().map(|field| field.name).collect(), "{}", command.name);
        assert_eq!(required, properties, "{}", command.name);
        assert_eq!(schema["properties"]["command"]["const"], command.name);
    }
}

#[test]
fn the_tables_keep_the_rules_of_the_wit_file() {
    let codes: BTreeSet<&str> = TODO.description.errors.iter().map(|error| error.code).collect();
    assert_eq!(codes.len(), TODO.description.errors.len(), "codes are unique");
    for error in TODO.description.errors {
        assert!(matches!(error.exit_status, 1 | 2 | 20 | 30), "{}", error.code);
        assert!(error.code.bytes().all(|byte| byte.is_ascii_uppercase() || byte == b'_'), "{}", error.code);
        assert!(!error.description.is_empty() && !error.fix.is_empty(), "{}", error.code);
    }
    let kebab =
        |name: &str| name.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'-') && !name.starts_with('-');
    let mut names = BTreeSet::new();
    for command in TODO.description.commands {
        assert!(names.insert(command.name), "{} twice", command.name);
        assert!((1..=3).contains(&command.name.split(' ').filter(|word| kebab(word)).count()), "{}", command.name);
        assert!(command.errors.iter().all(|error| codes.contains(error.code)), "{}", command.name);
        let positional: Vec<&Parameter> =
            command.parameters.iter().take_while(|parameter| parameter.position.is_some()).collect();
        for (place, parameter) in positional.iter().enumerate() {
            assert_eq!(parameter.position, u32::try_from(place).ok(), "{}", command.name);
            assert!(
                !parameter.repeated || place + 1 == positional.len(),
                "{}: only the last takes the rest",
                command.name
            );
        }
        let mut known: BTreeSet<&str> = TODO.description.parameters.iter().map(|parameter| parameter.name).collect();
        for parameter in command.parameters {
            assert!(known.insert(parameter.name), "{}: {} twice", command.name, parameter.name);
        }
        assert!(command.parameters.iter().skip(positional.len()).all(|parameter| parameter.position.is_none()));
    }
    for parameter in
        TODO.description.commands.iter().flat_map(|command| command.parameters).chain(TODO.description.parameters)
    {
        assert!(kebab(parameter.name) && !parameter.description.is_empty(), "{}", parameter.name);
        assert!(
            parameter.default.is_none_or(|_| !parameter.required),
            "{}: a default makes it optional",
            parameter.name
        );
        assert!(
            parameter.choices.is_empty()
                || parameter.default.is_none_or(|default| parameter.choices.contains(&default))
        );
        assert!(!parameter.free_text || parameter.value_type == ValueType::String, "{}", parameter.name);
    }
}

#[test]
fn the_skill_keeps_the_rules_of_agent_skills() {
    let skill = read("skills/todo-usage/SKILL.md");
    let front_matter = skill.strip_prefix("---\n").and_then(|rest| rest.split_once("\n---\n")).unwrap().0;
    let value = |key: &str| front_matter.lines().find_map(|line| line.strip_prefix(&format!("{key}: "))).unwrap();
    assert_eq!(value("name"), "todo-usage");
    assert!((1..=1024).contains(&value("description").chars().count()));
    assert!(skill.lines().count() < 500, "the specification advises against more");
}

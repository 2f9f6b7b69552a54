//! What agents are told: the package's files, and what the program makes of them.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod support;

use std::collections::BTreeSet;
use std::fs;

use guest_todo::TODO;
use hutch_guest::contract::Parameter;
use serde_json::{Value, json};
use support::Todo;

fn read(path: &str) -> String {
    fs::read_to_string(format!("../packages/todo/{path}")).unwrap()
}

/// A value of a file's front matter, which stands on one line.
fn front_matter<'a>(file: &'a str, key: &str) -> &'a str {
    let (front, _) = file.strip_prefix("---\n").and_then(|rest| rest.split_once("\n---\n")).unwrap();
    front.lines().find_map(|line| line.strip_prefix(&format!("{key}: "))).unwrap()
}

#[test]
fn help_carries_every_rule_and_skill_of_the_package() {
    let todo = Todo::new();
    let rule = |name: &str| {
        let file = read(&format!("agent/rules/{name}.md"));
        let (_, content) = file.split_once("\n---\n").unwrap();
        assert_eq!(front_matter(&file, "name"), name);
        assert!(content.trim().lines().count() > 0, "{name} says something");
        json!({"name": name, "description": front_matter(&file, "description"), "content": content.trim()})
    };
    let rules = ["trigger", "workflow", "writeback"].map(rule);
    let files: BTreeSet<String> = fs::read_dir("../packages/todo/agent/rules")
        .unwrap()
        .map(|file| file.unwrap().file_name().into_string().unwrap())
        .collect();
    assert_eq!(files.len(), rules.len(), "no rule is left out: {files:?}");
    let skills: Vec<Value> = fs::read_dir("../packages/todo/skills")
        .unwrap()
        .map(|folder| {
            let name = folder.unwrap().file_name().into_string().unwrap();
            let file = read(&format!("skills/{name}/SKILL.md"));
            assert_eq!(front_matter(&file, "name"), name);
            let command = format!("hutch show todo --skill {name}");
            json!({"name": name, "description": front_matter(&file, "description"), "command": command})
        })
        .collect();
    for args in [&["--help"][..], &["add", "--help"], &["reminder", "--help"]] {
        let help = todo.ok(args);
        assert_eq!(help["rules"], json!(rules), "{args:?}");
        assert_eq!(help["skills"], json!(skills), "{args:?}");
        let issue = help["issue"].as_str().unwrap();
        assert!(issue.contains("hutch issue create") && !issue.contains('\n'), "{issue}");
        let text = todo.call(&[args, &["--human"]].concat()).stdout;
        assert!(text.ends_with(&format!("\n{issue}\n")), "{text}");
    }
}

#[test]
fn brief_prints_one_paragraph() {
    let todo = Todo::new();
    let paragraph = read("agent/brief.md");
    assert!(!paragraph.trim().is_empty() && !paragraph.trim().contains('\n'));
    assert_eq!(todo.ok(&["--brief"]), json!({"ok": true, "brief": paragraph.trim()}));
    assert_eq!(todo.call(&["--brief", "--human"]).stdout, paragraph);
    assert_eq!(todo.state(), None);
}

#[test]
fn every_command_that_is_named_is_one() {
    for path in ["agent/brief.md", "agent/rules/workflow.md", "skills/todo-usage/SKILL.md", "AGENTS.md", "CHANGELOG.md"]
    {
        let text = read(path);
        for flag in text.split('`').skip(1).step_by(2).flat_map(|code| code.split(' ')) {
            let Some(name) = flag.strip_prefix("--") else { continue };
            let host = ["stdin", "type", "message", "context", "exit-code", "check"].contains(&name);
            let known = |parameter: &Parameter| parameter.name == name;
            let own = TODO
                .description
                .commands
                .iter()
                .flat_map(|command| command.parameters)
                .chain(TODO.description.parameters)
                .any(known);
            assert!(own || host, "{path}: --{name}");
        }
    }
}

#[test]
fn every_flag_has_an_opposite_that_is_as_if_it_were_not_there() {
    let questions = ["help", "version", "brief"];
    let own = TODO.description.commands.iter().map(|command| (command.name, command.parameters));
    for (command, parameters) in own.chain([("every command", TODO.description.parameters)]) {
        let flags: BTreeSet<&str> =
            parameters.iter().filter(|parameter| parameter.is_flag()).map(|parameter| parameter.name).collect();
        for flag in flags.iter().filter(|flag| !questions.contains(flag)) {
            let opposite = flag.strip_prefix("no-").map_or_else(|| format!("no-{flag}"), str::to_owned);
            assert!(flags.contains(opposite.as_str()), "{command}: --{flag} without --{opposite}");
        }
    }
    let todo = Todo::new();
    todo.ok(&["add", "a", "--description", "b", "--due-at", "2026-04-05"]);
    let kept = todo.ok(&["update", "td_0001", "--title", "x", "--no-clear-description", "--no-clear-due-at"]);
    assert_eq!((&kept["items"][0]["description"], &kept["items"][0]["dueAt"]), (&json!("b"), &json!("2026-04-05")));
    assert_eq!(todo.refused(&["update", "td_0001", "--no-clear-due-at"], 2).0, "MISSING_ARGUMENT");
    assert_eq!(todo.refused(&["remove", "td_0001", "--no-confirm"], 30).0, "CONFIRMATION_REQUIRED");
    assert_eq!(
        todo.refused(&["remove", "td_0001", "--confirm", "--no-confirm"], 2).1,
        "--confirm and --no-confirm contradict each other"
    );
    let plain = todo.call(&["list"]);
    assert_eq!(todo.call(&["list", "--no-human", "--no-agent", "--no-quiet"]), plain);
    let noted = todo.call(&["reopen", "td_0001", "--no-quiet"]);
    assert_eq!(noted.stderr, "note: td_0001 is open already: nothing changed\n");
}

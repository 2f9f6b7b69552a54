//! `--help` at every level, and what it promises: its form, its examples, its codes.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test may")]

use super::program::Hutch;
use serde_json::Value;
use std::collections::BTreeSet;

fn schema(text: &str) -> jsonschema::Validator {
    jsonschema::validator_for(&serde_json::from_str(text).unwrap()).unwrap()
}

#[track_caller]
fn hold(validator: &jsonschema::Validator, value: &Value, what: &str) {
    let problems: Vec<String> =
        validator.iter_errors(value).take(3).map(|error| format!("{}: {error}", error.instance_path())).collect();
    assert!(problems.is_empty(), "{what}: {problems:#?}");
}

/// All of every command, by its own help.
fn commands(hutch: &Hutch) -> Vec<Value> {
    let top = hutch.line("--help").json();
    let names = top["commands"].as_array().unwrap().iter().map(|command| command["name"].as_str().unwrap().to_owned());
    names.map(|name| hutch.line(&format!("{name} --help")).json()).collect()
}

#[test]
fn every_help_is_of_the_published_form() {
    let hutch = Hutch::new();
    let published = schema(include_str!("../../../agent/help.schema.json"));
    let top = hutch.line("--help");
    assert_eq!((top.status, top.stderr.as_str()), (0, ""));
    let top = top.json();
    hold(&published, &top, "--help");
    let listed = top["commands"].as_array().unwrap();
    assert!(listed.len() > 40, "{listed:?}");
    let groups = ["ledger", "state", "issue"];
    for path in listed.iter().map(|listed| listed["name"].as_str().unwrap()).chain(groups) {
        let described = hutch.line(&format!("{path} --help")).json();
        hold(&published, &described, path);
        assert_eq!(described["name"], path);
        if let Some(listed) = listed.iter().find(|listed| listed["name"] == path) {
            assert_eq!(described["effect"], *listed.get("effect").unwrap_or(&"read".into()), "{path}");
            assert!(described["help"].as_str().unwrap().starts_with(listed["help"].as_str().unwrap()), "{path}");
        }
        let human = hutch.line(&format!("{path} --help --human"));
        assert_eq!(human.status, 0);
        assert!(human.stdout.contains("Usage:"), "{path}");
    }
    for group in groups {
        let within = hutch.line(&format!("{group} --help --query commands[*].name")).json();
        let within: Vec<&str> = within.as_array().unwrap().iter().map(|name| name.as_str().unwrap()).collect();
        let known: Vec<&str> = listed.iter().filter_map(|one| one["name"].as_str()).collect();
        let known: Vec<&str> = known.into_iter().filter(|name| name.starts_with(&format!("{group} "))).collect();
        assert_eq!(within, known);
    }
}

/// What an agent pays for reading, in bytes.
#[test]
fn what_is_read_first_is_short() {
    const TOP_MAX: usize = 7_000;
    const COMMAND_MAX: usize = 6_000;
    const RUN_MAX: usize = 5_000;
    const AROUND_MAX: usize = 900;
    const TOOLS_MAX: usize = 125 * 1024;
    let hutch = Hutch::new();
    let top = hutch.line("--help").stdout;
    assert!(top.len() <= TOP_MAX, "--help has {} bytes", top.len());
    assert!(hutch.line("--help --human").stdout.len() <= TOP_MAX);
    let tools = hutch.line("mcp --print").stdout.len();
    assert!(tools <= TOOLS_MAX, "mcp has {tools} bytes");
    for command in commands(&hutch) {
        let name = command["name"].as_str().unwrap();
        let help = hutch.line(&format!("{name} --help")).stdout;
        let most = if name == "run" { RUN_MAX } else { COMMAND_MAX };
        assert!(help.len() < most, "{name} --help has {} bytes", help.len());
    }
    for line in ["catalog", "doctor", "run --envelope packages/todo list"] {
        let answer = hutch.line(line).json();
        let around: usize = ["rules", "skills", "issue"].iter().map(|key| answer[key].to_string().len()).sum();
        assert!(around <= AROUND_MAX, "{line}: {around} bytes stand around the result");
    }
    let index = hutch.line("meta packages/todo").stdout;
    assert!(index.len() <= 6 * 1024, "meta has {} bytes", index.len());
}

/// The same of a package's own help, which is enough to call each of its commands, and names what says the rest.
#[test]
fn what_is_read_first_of_a_package_is_short() {
    const PACKAGE_MAX: usize = 6_000;
    let hutch = Hutch::new();
    let packages = std::fs::read_dir(hutch.root().join("packages")).unwrap();
    let packages: Vec<String> = packages.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    assert!(packages.len() >= 6, "{packages:?}");
    for package in packages {
        let word = format!("packages/{package}");
        let help = hutch.call(&["run", &word, "--help"]);
        assert!(help.status == 0 && help.stdout.len() < PACKAGE_MAX, "{word}: {} bytes", help.stdout.len());
        let text = hutch.call(&["run", &word, "--help", "--human"]).stdout;
        assert!(text.len() < PACKAGE_MAX, "{word}: {} bytes of text", text.len());
        let help = help.json();
        let more = format!("hutch run {word} COMMAND --help: all about one command; hutch meta {word}: the contract");
        assert!(help["more"] == more.as_str() && text.contains(&more), "{word}: {}", help["more"]);
        let contract = std::fs::read(hutch.root().join(&word).join("schemas/commands.json")).unwrap();
        let contract: Value = serde_json::from_slice(&contract).unwrap();
        let (listed, known) = (help["commands"].as_array().unwrap(), contract["commands"].as_array().unwrap());
        assert_eq!(listed.len(), known.len(), "{word}");
        for (listed, known) in listed.iter().zip(known) {
            for field in ["name", "description", "effect"] {
                assert_eq!(listed[field], known[field], "{word}");
            }
            let name = known["name"].as_str().unwrap();
            assert!(listed["usage"].as_str().unwrap().starts_with(name), "{listed}");
            let words: Vec<&str> = ["run", &word].into_iter().chain(name.split(' ')).chain(["--help"]).collect();
            let mut whole = hutch.call(&words).json();
            let known = known.as_object().unwrap();
            assert!(known.iter().all(|(field, value)| whole["commands"][0][field] == *value), "{word} {name}: {whole}");
            assert_eq!((whole["commands"].as_array_mut().unwrap().len(), &whole["errors"]), (1, &contract["errors"]));
        }
    }
}

/// What an agent does that knows nothing but the program's name and what the program prints.
#[test]
fn from_words_to_a_proved_change_is_a_short_way() {
    const CALLS_MAX: usize = 8;
    const BYTES_MAX: usize = 6 * 1024;
    let hutch = Hutch::new();
    assert_eq!(hutch.line("install packages/todo").status, 0);
    let (mut calls, mut bytes) = (0, 0);
    let mut call = |line: &str| {
        calls += 1;
        let ended = hutch.line(line.strip_prefix("hutch ").unwrap());
        bytes += ended.stdout.len() + ended.stderr.len();
        assert_eq!(ended.status, 0, "{line}: {ended:?}");
        ended.stdout
    };
    let brief = call("hutch --brief");
    // The way is taught in one sentence; each of its calls is made as it stands there.
    let taught = brief.split_once("From words to a proved change: ").unwrap().1.split_once(". ").unwrap().0;
    let taught: Vec<&str> = taught.split(", then ").collect();
    let [find, meta, plan, apply, verify] = taught[..] else { panic!("{taught:?}") };
    let found: serde_json::Value = serde_json::from_str(&call(&find.replace("WORDS", "note a new task"))).unwrap();
    let asked = meta.replace("PACKAGE COMMAND", "todo add");
    assert_eq!(found["meta"], asked.replace(" --query commands[0]", ""));
    let command: serde_json::Value = serde_json::from_str(&call(&asked)).unwrap();
    let usage = command["usage"].as_str().unwrap();
    assert!(usage.starts_with("hutch run todo add TITLE"), "{usage}");
    let arguments = usage.split(' ').skip(2).take(2).collect::<Vec<_>>().join(" ");
    let diff = call(&plan.replace("PACKAGE COMMAND …", &format!("{arguments} Milk")));
    assert!(diff.contains("Milk"), "{diff}");
    assert_eq!(call(&apply.replace("PACKAGE", "todo")), "true\n");
    assert_eq!(call(&verify.replace("PACKAGE", "todo")), "0\n");
    assert!(calls <= CALLS_MAX && bytes <= BYTES_MAX, "{calls} calls, {bytes} bytes");
}

#[test]
fn parts_of_a_help_can_be_asked_for() {
    let hutch = Hutch::new();
    let names = hutch.line("--help --query commands[*].name").json();
    assert!(names.as_array().unwrap().contains(&"ledger show".into()), "{names}");
    assert_eq!(hutch.line("run --help --query=parameters[0].name").json(), "--envelope");
    assert_eq!(hutch.line("--query name run --help").json(), "run");
    let kept = hutch.line("find --help --fields name,effect").json();
    assert_eq!(kept, serde_json::json!({"name": "find", "effect": "read"}));
    assert_eq!(hutch.line("run --help --human --query effect").stdout, "write\n");
    assert_eq!(hutch.line("--help --query nosuch").code(), "NOT_FOUND");
    assert_eq!(hutch.line("--help --fields nosuch").code(), "USAGE");
    assert_eq!(hutch.line("--help --query a[").code(), "USAGE");
    assert_eq!(hutch.line("catalog --query .").json(), hutch.line("catalog").result());
    let package = hutch.line("run packages/todo --help --query commands[*].name").json();
    assert!(package.as_array().unwrap().contains(&"add".into()), "{package}");
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
    // Every flag has its opposite, but those that ask about the program.
    for parameter in top["global_parameters"].as_array().unwrap().iter().filter(|one| one["type"] == "boolean") {
        let name = parameter["name"].as_str().unwrap().trim_start_matches("--");
        let asks = name == "help" || name == "version";
        assert_eq!(Hutch::new().line(&format!("skills --no-{name}")).status, if asks { 2 } else { 0 }, "{name}");
    }
    for path in ["catalog", "state cat", "run"] {
        let version = Hutch::new().line(&format!("{path} --version"));
        assert_eq!(version.json()["version"], env!("CARGO_PKG_VERSION"), "{path}");
    }
}

#[cfg(unix)]
#[test]
fn every_example_ends_as_it_says_and_answers_as_declared() {
    let hutch = Hutch::new();
    let tools = hutch.line("mcp --print").result();
    for command in commands(&hutch) {
        let name = format!("hutch_{}", command["name"].as_str().unwrap().replace([' ', '-'], "_"));
        let tool = tools["tools"].as_array().unwrap().iter().find(|tool| tool["name"] == name.as_str()).unwrap();
        // The shape in the help is for reading; it admits what the whole schema does.
        let validator = jsonschema::validator_for(tool.get("outputSchema").unwrap_or(&Value::Bool(true))).unwrap();
        let shape = jsonschema::validator_for(&command["output_schema"]).unwrap();
        for example in command["examples"].as_array().unwrap() {
            let hutch = Hutch::apart(&example.to_string());
            for before in example["before"].as_array().into_iter().flatten() {
                assert_eq!(hutch.call(&texts(before)).status, 0, "{before}");
            }
            let arguments = texts(&example["arguments"]);
            let ended = hutch.call_with(&arguments, example["stdin"].as_str().unwrap_or_default(), &[]);
            assert_eq!(ended.status as i64, example["exit_status"].as_i64().unwrap_or(0), "{arguments:?}: {ended:?}");
            if ended.status != 0 {
                let code = ended.code();
                let known = texts(&command["errors"]);
                assert!(known.iter().any(|word| stands_for(word, &code)), "{arguments:?}: {code} is not declared");
                continue;
            }
            // A plain run answers with what the guest printed; lines, single values and texts are no envelopes.
            let bare = arguments[0] == "completions"
                || ["--ndjson", "--query", "--human", "--help", "--raw"]
                    .iter()
                    .any(|flag| arguments.iter().any(|word| word == flag));
            let plain_run = arguments[0] == "run" && !["--envelope", "--json-input"].contains(&arguments[1].as_str());
            if !bare && !plain_run {
                let mut answer = ended.json();
                hold(&validator, &answer, &format!("{arguments:?}"));
                hold(&shape, &answer, &format!("{arguments:?}"));
                answer["result"]["nosuch"] = true.into();
                assert!(!validator.is_valid(&answer), "{arguments:?}: an answer may hold what its type does not");
            }
        }
    }
}

fn texts(value: &Value) -> Vec<String> {
    value.as_array().unwrap().iter().map(|word| word.as_str().unwrap().to_owned()).collect()
}

#[test]
fn every_code_that_a_command_names_is_explained() {
    let hutch = Hutch::new();
    let mut codes: Vec<String> = commands(&hutch).iter().flat_map(|command| texts(&command["errors"])).collect();
    codes.sort();
    codes.dedup();
    assert!(codes.len() > 30);
    let all: Value = serde_json::from_str(include_str!("../error-codes.json")).unwrap();
    let all: Vec<&str> = all.as_array().unwrap().iter().filter_map(|row| row["code"].as_str()).collect();
    for code in codes {
        let result = hutch.call(&["explain-error", &code]).result();
        let meanings = result["meanings"].as_array().unwrap();
        for meaning in meanings {
            for field in ["cause", "fix", "retry"] {
                assert!(meaning[field].as_str().is_some_and(|text| !text.is_empty()), "{code}: {meaning}");
            }
        }
        // A word for several codes stands for each that there is and is one of them, and is told with their names.
        let named: BTreeSet<&str> = meanings.iter().filter_map(|meaning| meaning["code"].as_str()).collect();
        let fitting = all.iter().copied().filter(|known| code.contains('*') && stands_for(&code, known));
        assert_eq!(named, fitting.collect(), "{code}");
    }
    assert_eq!(hutch.line("explain-error *_NOSUCH").code(), "NOT_FOUND");
}

/// Whether a word of a command's errors stands for this code.
fn stands_for(word: &str, code: &str) -> bool {
    let (begin, end) = word.split_once('*').unwrap_or((word, ""));
    if word.contains('*') { code.starts_with(begin) && code.ends_with(end) } else { code == word }
}

#[test]
fn brief_version_and_quiet_identity() {
    let hutch = Hutch::new();
    let brief = include_str!("../../../agent/brief.md");
    for line in ["--brief", "check --brief", "catalog --brief"] {
        let ended = hutch.line(line);
        assert_eq!((ended.status, ended.stdout.as_str()), (0, brief), "{line}");
    }
    assert_eq!(hutch.line("--version").json()["version"], env!("CARGO_PKG_VERSION"));
    assert_eq!(hutch.line("--version --human").stdout.trim(), env!("CARGO_PKG_VERSION"));
}

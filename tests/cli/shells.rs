//! Completions as shells take them: sourced in a real shell, nothing is carried out and nothing is made.

#![cfg(unix)]

use crate::support::{HUTCH, Machine};
use std::path::Path;
use std::process::Command;

/// How a shell is started with nothing of its owner's, what tells of a command that is not found, what sources the completions, and what
/// then shows that they are there.
const SHELLS: [(&str, &[&str], &str); 3] = [
    (
        "bash",
        &["--noprofile", "--norc", "-c"],
        "command_not_found_handle() { echo \"ran: $*\"; }\nsource <(hutch completions bash FLAGS)\nPATH=\ncomplete -p hutch",
    ),
    (
        "zsh",
        &["-f", "-c"],
        "command_not_found_handler() { echo \"ran: $*\"; }\nautoload -U compinit && compinit -D\nsource <(hutch completions zsh FLAGS)\n\
         PATH=\nprint complete $_comps[hutch] hutch",
    ),
    (
        "fish",
        &["--no-config", "-c"],
        "function fish_command_not_found; echo \"ran: $argv\"; end\nhutch completions fish FLAGS | source\nset PATH\ncomplete hutch",
    ),
];

/// What is offered where a line ends, in the order in which it is.
fn offered(machine: &Machine, shell: &str, words: &[&str]) -> Vec<String> {
    let mut command = machine.hutch(["--", "hutch"].iter().chain(words).copied());
    let index = words.len().to_string();
    command.envs([("HUTCH_COMPLETE", shell), ("_CLAP_IFS", "\n"), ("_CLAP_COMPLETE_INDEX", &index)]);
    command.envs([("_CLAP_COMPLETE_COMP_TYPE", "9"), ("_CLAP_COMPLETE_SPACE", "true")]);
    let output = command.output().unwrap();
    assert_eq!((output.status.code(), output.stderr.as_slice()), (Some(0), &b""[..]), "{words:?}");
    String::from_utf8(output.stdout).unwrap().lines().map(str::to_owned).collect()
}

#[test]
fn completions_know_packages_their_commands_instances_and_entries() {
    let machine = Machine::new();
    let todo = crate::support::todo();
    machine.run(["install", &todo]).result("install");
    machine.todo(&["add", "milk"]).answer();
    machine.run(["run", "--instance", "work", "todo", "add", "rent"]).answer();
    machine.run(["plan", "todo", "complete", "td_0001"]).result("plan");
    let bash = |words: &[&str]| offered(&machine, "bash", words);
    assert_eq!(bash(&["ru"]), ["run"]);
    assert_eq!(bash(&["run", "to"]), ["todo"]);
    assert_eq!(bash(&["show", "to"]), ["todo"]);
    // What follows the package is the guest's, and none of the host's flags.
    let commands = ["add", "list", "get", "update", "complete", "reopen", "remove", "reminder", "due"];
    for words in [&["run", "todo", ""][..], &["run", "--yes", "todo", ""], &["plan", &todo, ""]] {
        assert_eq!(bash(words), commands, "{words:?}");
    }
    assert_eq!(bash(&["run", "todo", "reminder", ""]), ["set", "clear", "list"]);
    assert_eq!(bash(&["run", "todo", "list", "--st"]), ["--status"]);
    assert_eq!(bash(&["run", "todo", "list", "--status", ""]), ["open", "completed", "all"]);
    // What the host answers behind the package is offered where it does.
    let tables = crate::support::repository().join("packages/tables").display().to_string();
    assert_eq!(bash(&["--human", "run", &tables, "query", "--qu"]), ["--quiet", "--query"]);
    assert_eq!(bash(&["plan", &tables, "query", "--qu"]), ["--quiet"]);
    assert!(bash(&["run", "--lim"]).contains(&"--limit".to_owned()));
    assert_eq!(bash(&["verify", "todo", "--instance", "w"]), ["work"]);
    assert_eq!(bash(&["verify", "todo", "--instance", ""]), ["default", "work"]);
    assert_eq!(bash(&["apply", "todo", "@"]), ["@3", "@2", "@1"]);
    assert_eq!(bash(&["apply", "--instance", "work", "todo", "@"]), ["@2", "@1"]);
    let described = offered(&machine, "fish", &["apply", "todo", ""]);
    assert!(described.contains(&"@3\tplan: todo complete td_0001".to_owned()), "{described:?}");
    assert_eq!(bash(&["apply", "--instance=work", "todo", "@"]), ["@2", "@1"]);
    // Another home, as it may be written, and as bash takes it apart.
    let elsewhere = Machine::new();
    let home = machine.home().display().to_string();
    let joined = format!("--home={home}");
    for words in [&["--home", &home, "run", "to"][..], &[&joined, "run", "to"], &["--home", "=", &home, "run", "to"]] {
        assert_eq!(offered(&elsewhere, "bash", words), ["todo"], "{words:?}");
    }
    assert_eq!(offered(&elsewhere, "bash", &["run", "to"]), [""; 0]);
    // What is not there has no words, and stops nothing.
    assert_eq!(bash(&["run", "nosuch", "a"]), [""; 0]);
    assert_eq!(bash(&["verify", "nosuch", "--instance", "zz"]), [""; 0]);
}

/// What bash and PowerShell are offered they put into the line as it is.
#[test]
fn what_others_call_things_is_no_code_on_a_line() {
    let machine = Machine::new();
    let package = crate::support::package::copy_todo(&machine, "hostile");
    let contract = package.join("schemas/commands.json");
    let mut described: serde_json::Value = serde_json::from_slice(&std::fs::read(&contract).unwrap()).unwrap();
    let parameters = described["commands"][1]["parameters"].as_array_mut().unwrap();
    let status = parameters.iter_mut().find(|parameter| parameter["name"] == "status").unwrap();
    status["choices"] =
        serde_json::json!(["all", "open;touch${IFS}x;#", "o*", "$(x)", "`x`", "a b", "~", "a\nb", "'", "größer"]);
    std::fs::write(&contract, described.to_string()).unwrap();
    for name in ["files/weather.txt", "files/weather;touch${IFS}x;#", "files/we$(x)"] {
        machine.write(name, "");
    }
    for (shell, all) in [("bash", false), ("powershell", false), ("zsh", true), ("fish", true), ("elvish", true)] {
        let choices = offered(&machine, shell, &["run", "hostile", "list", "--status", ""]).join("\n");
        let files = offered(&machine, shell, &["check", "files/we"]).join("\n");
        assert!(
            choices.contains("all") && choices.contains("größer") && files.contains("weather.txt"),
            "{choices} {files}"
        );
        assert_eq!((choices.contains("touch"), files.contains("touch")), (all, all), "{shell}: {choices} {files}");
        let acts =
            ["*", "$", "`", "~", "'", ";"].iter().find(|sign| !all && shell == "bash" && choices.contains(**sign));
        assert_eq!(acts, None, "{choices}");
    }
}

#[test]
fn completing_makes_nothing_and_shows_nothing_that_acts_on_a_terminal() {
    let machine = Machine::new();
    let package = crate::support::package::copy(&machine, "probe");
    let contract = package.join("schemas/commands.json");
    let text = std::fs::read_to_string(&contract).unwrap();
    let (from, to) = ("\"description\": \"", "\"description\": \"\\u001b]0;evil\\u0007\\u202e");
    assert!(text.contains(from));
    std::fs::write(&contract, text.replace(from, to)).unwrap();
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        for words in [&["run", "probe", ""][..], &["verify", "probe", "--instance", ""], &["apply", "probe", ""], &[""]]
        {
            let shown = offered(&machine, shell, words).join("\n");
            let acts = shown.chars().find(|c| (c.is_control() && !matches!(c, '\n' | '\t')) || *c == '\u{202e}');
            assert_eq!(acts, None, "{shell} {words:?}: {shown:?}");
        }
    }
    assert!(machine.is_untouched(), "something was made");
}

#[test]
fn sourcing_completions_carries_nothing_out_and_makes_nothing() {
    for (shell, arguments, script) in SHELLS {
        let found = ["/usr/bin", "/bin", "/usr/local/bin"]
            .iter()
            .map(|folder| Path::new(folder).join(shell))
            .find(|path| path.exists());
        // `.ci/run` installs all three.
        let Some(program) = found else {
            assert_ne!(shell, "bash", "bash is needed");
            continue;
        };
        for (flags, format) in
            [("", None), ("--agent", None), ("--human", None), ("", Some("json")), ("", Some("human"))]
        {
            let machine = Machine::new();
            // All that is on the search path tells that it was called; hutch then answers.
            for name in ["APP.md", "effect", "code", "fixes", "hutch"] {
                machine.write_program(
                    &format!("spy/{name}"),
                    format!(
                        "#!/bin/sh\necho \"{name} $*\" >> {}\nexec {HUTCH} \"$@\"\n",
                        machine.path("calls").display()
                    ),
                );
            }
            let home = machine.path("home");
            std::fs::create_dir(&home).unwrap();
            let mut command = Command::new(&program);
            command.args(arguments).arg(script.replace("FLAGS", flags)).env_clear().env("HOME", &home);
            command
                .env("PATH", machine.path("spy"))
                .current_dir(&home)
                .envs(format.map(|format| ("HUTCH_FORMAT", format)));
            // Where a shell keeps what it likes to keep; nothing of ours belongs there.
            command.env("XDG_CONFIG_HOME", machine.path("shell")).env("XDG_DATA_HOME", machine.path("shell"));
            let output = command.env("XDG_CACHE_HOME", machine.path("shell")).output().unwrap();
            let (stdout, stderr) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
            let told = format!("{shell} {flags} {format:?}: {stdout}{stderr}");
            assert_eq!(stderr, "", "{told}");
            assert!(stdout.lines().all(|line| line.starts_with("complete ") && line.contains("hutch")), "{told}");
            assert!(stdout.lines().count() >= 1, "{told}");
            let calls = std::fs::read_to_string(machine.path("calls")).unwrap();
            assert_eq!(calls.trim(), format!("hutch completions {shell} {flags}").trim(), "{told}");
            assert_eq!(std::fs::read_dir(&home).unwrap().count(), 0, "{told}");
            assert!(!machine.path("shell/hutch").exists(), "{told}");
        }
    }
}

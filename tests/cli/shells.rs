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
                let spy = machine.write(
                    &format!("spy/{name}"),
                    format!(
                        "#!/bin/sh\necho \"{name} $*\" >> {}\nexec {HUTCH} \"$@\"\n",
                        machine.path("calls").display()
                    ),
                );
                let made = Command::new("chmod").arg("+x").arg(spy).status().unwrap();
                assert!(made.success());
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

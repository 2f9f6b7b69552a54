//! Scripts that start an installed package by its name: they run that package and no other, and nobody's file is lost to them.

#![cfg(unix)]
use super::contracts::copy;
use super::program::{Ended, Hutch};
use crate::support::artifacts;
use serde_json::json;
use std::fs;
use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

fn word(path: &Path) -> String {
    path.display().to_string()
}

/// Starts a script as a shell does, knowing nothing of the home that it was written for.
fn start(hutch: &Hutch, script: &Path, arguments: &[&str], folder: &Path) -> Ended {
    piped(hutch, script, arguments, folder, "")
}

/// The same, behind a pipe that brings this.
fn piped(hutch: &Hutch, script: &Path, arguments: &[&str], folder: &Path, input: &str) -> Ended {
    let mut command = Command::new(script);
    command.args(arguments).env_clear().env("HOME", hutch.scratch()).env("XDG_CACHE_HOME", artifacts::CACHE);
    command.current_dir(folder);
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    // Who does not read it may be gone.
    let _ = child.stdin.take().unwrap().write_all(input.as_bytes());
    let output = child.wait_with_output().unwrap();
    Ended {
        status: output.status.code().unwrap(),
        stdout: String::from_utf8(output.stdout).unwrap(),
        stderr: String::from_utf8(output.stderr).unwrap(),
    }
}

/// The home of the person who calls, and where launchers are by default.
fn default_place(hutch: &Hutch) -> PathBuf {
    hutch.home().parent().unwrap().join(".local/bin/todo")
}

#[test]
fn a_launcher_runs_the_installed_package_and_no_other() {
    let hutch = Hutch::new();
    let preview = hutch.line("install packages/todo --launcher --dry-run").result();
    let place = default_place(&hutch);
    assert_eq!(preview["launcher"], json!({"path": word(&place), "on_path": false}));
    assert!(!place.parent().unwrap().exists());
    // Its home is written into it, whichever variable leads there.
    let made = hutch.line("install packages/todo --launcher").result();
    assert_eq!(made["launcher"], preview["launcher"]);
    assert_eq!(hutch.line("catalog").result()["items"][0]["launcher"], word(&place));
    // Not even where something else has that name, as it has in the launcher's own folder.
    let decoy = hutch.scratch().join("here/todo");
    copy(&hutch.root().join("packages/todo"), &decoy);
    fs::write(decoy.join("app/app.wasm"), "not what is installed").unwrap();
    for folder in [decoy.parent().unwrap(), place.parent().unwrap(), Path::new("/")] {
        let ended = start(&hutch, &place, &["list", "--limit", "7"], folder);
        assert_eq!((ended.status, ended.json()["limit"].as_u64()), (0, Some(7)), "{ended:?}");
    }
    // People are answered as the package says.
    let told = start(&hutch, &place, &["list", "--human"], Path::new("/"));
    assert_eq!((told.status, told.stderr.as_str()), (0, ""), "{told:?}");
    assert!(!told.stdout.starts_with('{'), "{told:?}");
    // What follows is the application's, to the letter, and so is the status.
    let title = "it's  \"quoted\" $HOME `x` \\ *";
    let added = start(&hutch, &place, &["add", "--description", "", title, "--fields", "title"], Path::new("/"));
    assert_eq!((added.status, &added.json()["items"]), (0, &json!([{"title": title}])), "{added:?}");
    let removed = start(&hutch, &place, &["remove", "td_0001", "--confirm", "--yes"], Path::new("/"));
    assert_eq!(removed.code(), "CONFIRMATION_REQUIRED", "the application's --yes is not the host's");
    assert_eq!(hutch.line("run todo list").json()["count"], 1);
    // A person who agreed says so in the first word, and nowhere else.
    for words in [&["-- --yes", "list"][..], &["--no-yes", "remove", "td_0001", "--confirm"], &["", "--yes"]] {
        assert_ne!(start(&hutch, &place, words, Path::new("/")).status, 0, "{words:?}");
    }
    assert_eq!(hutch.line("run todo list").json()["count"], 1);
    let dropped = start(&hutch, &place, &["--yes", "remove", "td_0001", "--confirm"], Path::new("/"));
    assert_eq!((dropped.status, &dropped.json()["items"][0]["title"]), (0, &json!(title)), "{dropped:?}");
    assert_eq!(start(&hutch, &place, &["--yes", "list"], Path::new("/")).json()["count"], 0);
    assert_eq!(start(&hutch, &place, &["get", "td_9999"], Path::new("/")).status, 20);
}

#[test]
fn rings_that_are_required_here_are_required_where_it_is_started() {
    let hutch = Hutch::new();
    let place = default_place(&hutch);
    let text = |ring: &str| {
        let ended = hutch.call_with(&["install", "packages/todo", "--launcher"], "", &[("HUTCH_RING", ring)]);
        assert_eq!(ended.status, 0, "{ended:?}");
        fs::read_to_string(&place).unwrap()
    };
    assert!(text("required").contains("\nHUTCH_RING=${HUTCH_RING:-required}\nexport HUTCH_RING\n"));
    assert!(!text("auto").contains("HUTCH_RING"));
}

#[test]
fn any_path_can_be_written_down() {
    let hutch = Hutch::new();
    let odd = "it's a \"home\" $(touch made) `x` \\ * ;&|<>\n#é";
    let (home, bin) = (hutch.scratch().join(odd), hutch.scratch().join("bin of ä"));
    artifacts::keep_key(&home);
    let home = word(&home);
    let environment = [("HUTCH_HOME", home.as_str())];
    let install = ["install", "packages/todo", "--launcher-dir", &word(&bin)];
    assert_eq!(hutch.call_with(&install, "", &environment).status, 0);
    let added = start(&hutch, &bin.join("todo"), &["add", "x"], &hutch.scratch());
    assert_eq!(added.status, 0, "{added:?}");
    assert_eq!(hutch.call_with(&["run", "todo", "list"], "", &environment).json()["count"], 1);
    assert!(hutch.is_untouched() && !hutch.scratch().join("made").exists());
    assert!(!hutch.scratch().join(".local").exists(), "the home is the one that was named");
}

#[test]
fn a_name_that_is_taken_is_left_alone_and_nothing_is_installed() {
    let hutch = Hutch::new();
    let bin = hutch.scratch().join("bin");
    let place = bin.join("todo");
    fs::create_dir(&bin).unwrap();
    let target = hutch.scratch().join("target");
    fs::write(&target, "target").unwrap();
    let install = ["install", "packages/todo", "--launcher-dir", &word(&bin)];
    fs::write(&place, "mine").unwrap();
    assert_eq!(hutch.call(&install).code(), "ALREADY_EXISTS");
    assert_eq!(hutch.call(&[&install[..], &["--dry-run"]].concat()).code(), "ALREADY_EXISTS");
    assert_eq!(fs::read_to_string(&place).unwrap(), "mine");
    fs::remove_file(&place).unwrap();
    for target in [target.as_path(), Path::new("nowhere")] {
        std::os::unix::fs::symlink(target, &place).unwrap();
        assert_eq!(hutch.call(&install).code(), "ALREADY_EXISTS");
        assert_eq!(fs::read_link(&place).unwrap(), target);
        fs::remove_file(&place).unwrap();
    }
    assert_eq!(fs::read_to_string(&target).unwrap(), "target");
    fs::create_dir(&place).unwrap();
    assert_eq!(hutch.call(&install).code(), "ALREADY_EXISTS");
    fs::remove_dir(&place).unwrap();
    // The launcher of the same package in another home is somebody else's too.
    let other = [("HUTCH_HOME", word(&hutch.scratch().join("other")))];
    let other: Vec<(&str, &str)> = other.iter().map(|(name, value)| (*name, value.as_str())).collect();
    assert_eq!(hutch.call_with(&install, "", &other).status, 0);
    let text = fs::read_to_string(&place).unwrap();
    assert_eq!(hutch.call(&install).code(), "ALREADY_EXISTS");
    assert_eq!(fs::read_to_string(&place).unwrap(), text);
    assert!(hutch.is_untouched(), "nothing is installed");
    assert_eq!(fs::read_dir(&bin).unwrap().count(), 1, "nothing is left beside it");
    // A folder that can't be one.
    assert_ne!(hutch.call(&["install", "packages/todo", "--launcher-dir", &word(&target)]).status, 0);
    assert!(hutch.is_untouched());
}

#[test]
fn no_command_on_the_search_path_is_hidden() {
    let hutch = Hutch::new();
    let (system, bin) = (hutch.scratch().join("system"), hutch.scratch().join("bin"));
    fs::create_dir(&system).unwrap();
    fs::create_dir(&bin).unwrap();
    fs::write(system.join("todo"), "#!/bin/sh\n").unwrap();
    fs::set_permissions(system.join("todo"), fs::Permissions::from_mode(0o755)).unwrap();
    let both = format!("{}:{}", word(&system), word(&bin));
    let default = ["install", "packages/todo", "--launcher"];
    let named = ["install", "packages/todo", "--launcher-dir", &word(&bin)];
    let call = |arguments: &[&str], path: &str| hutch.call_with(arguments, "", &[("PATH", path)]);
    assert_eq!(
        call(&default, &word(&system)).code(),
        "ALREADY_EXISTS",
        "the default folder may be on the path tomorrow"
    );
    assert_eq!(call(&named, &both).code(), "ALREADY_EXISTS");
    assert!(hutch.is_untouched() && !bin.join("todo").exists());
    // What can't be started is no command.
    fs::set_permissions(system.join("todo"), fs::Permissions::from_mode(0o644)).unwrap();
    assert_eq!(call(&named, &both).result()["launcher"]["on_path"], true);
    // Its own folder is on the path under another name: it is not in its own way.
    std::os::unix::fs::symlink(&bin, hutch.scratch().join("alias")).unwrap();
    let again = ["install", "packages/todo", "--launcher-dir", &word(&hutch.scratch().join("alias"))];
    assert_eq!(call(&again, &both).result()["launcher"]["on_path"], true);
}

#[test]
fn update_keeps_a_launcher_and_remove_takes_it_away() {
    let hutch = Hutch::new();
    let (one, two) = (hutch.scratch().join("one"), hutch.scratch().join("two"));
    hutch.call(&["install", "packages/todo", "--launcher-dir", &word(&one)]).result();
    let text = fs::read_to_string(one.join("todo")).unwrap();
    let kept = hutch.line("install packages/todo").result();
    assert_eq!(kept["launcher"]["path"], word(&one.join("todo")));
    assert_eq!(fs::read_to_string(one.join("todo")).unwrap(), text);
    // One that is gone comes back; one that was changed is the person's own now.
    fs::remove_file(one.join("todo")).unwrap();
    assert_eq!(hutch.line("install packages/todo").status, 0);
    assert_eq!(fs::read_to_string(one.join("todo")).unwrap(), text);
    let moved = hutch.call(&["install", "packages/todo", "--launcher-dir", &word(&two)]).result();
    assert_eq!(moved["launcher"]["path"], word(&two.join("todo")));
    assert!(!one.join("todo").exists() && two.join("todo").exists());
    assert_eq!(hutch.line("remove todo --dry-run").result()["launcher"], word(&two.join("todo")));
    assert!(two.join("todo").exists());
    assert_eq!(hutch.line("remove todo").code(), "CONFIRMATION_REQUIRED");
    assert!(two.join("todo").exists());
    assert_eq!(hutch.line("remove todo --yes").result()["launcher"], word(&two.join("todo")));
    assert!(!two.join("todo").exists());

    hutch.call(&["install", "packages/todo", "--launcher-dir", &word(&one)]).result();
    let changed = format!("{text}# mine\n");
    fs::write(one.join("todo"), &changed).unwrap();
    assert_eq!(hutch.line("install packages/todo").status, 0);
    assert_eq!(fs::read_to_string(one.join("todo")).unwrap(), changed);
    let removed = hutch.line("remove todo --yes");
    assert_eq!((removed.status, &removed.json()["result"]["launcher"]), (0, &json!(null)));
    assert!(removed.stderr.contains("left as it is"), "{removed:?}");
    assert_eq!(fs::read_to_string(one.join("todo")).unwrap(), changed);
    assert_eq!(start(&hutch, &one.join("todo"), &["list"], Path::new("/")).code(), "PACKAGE_NOT_FOUND");
}

#[test]
fn without_being_asked_for_there_is_none() {
    let hutch = Hutch::new();
    assert_eq!(hutch.line("install packages/todo").result()["launcher"], json!(null));
    assert_eq!(hutch.line("catalog").result()["items"][0]["launcher"], json!(null));
    assert_eq!(hutch.line("install packages/todo").result()["launcher"], json!(null));
    assert!(!default_place(&hutch).exists());
    assert_eq!(hutch.line("remove todo --yes").result()["launcher"], json!(null));
}

#[test]
fn behind_a_pipe_it_reads_what_its_contract_reads_and_its_fixes_work() {
    let hutch = Hutch::new();
    let (bin, home) = (hutch.scratch().join("bin"), word(&hutch.home()));
    let install = ["install", "packages/todo", "--launcher-dir", &word(&bin)];
    hutch.call_with(&install, "", &[("HUTCH_HOME", &home)]).result();
    let todo = bin.join("todo");
    let call = |arguments: &[&str], input: &str| piped(&hutch, &todo, arguments, Path::new("/"), input);
    let added = call(&["add", "--json-input"], "[{\"title\":\"a\"},{\"title\":\"b\"},{\"title\":\"c\"}]");
    assert_eq!((added.status, &added.json()["count"]), (0, &json!(3)), "{added:?}");
    // A listing is a batch as it is.
    let listed = call(&["list"], "");
    let completed = call(&["complete", "--json-input"], &listed.stdout);
    assert_eq!((completed.status, &completed.json()["count"]), (0, &json!(3)), "{completed:?}");
    // What does not ask for it reads nothing, and an empty batch is none.
    assert_eq!(call(&["list", "--query", "count"], "[garbage").stdout.trim(), "3");
    assert_eq!(call(&["complete", "--json-input"], "").status, 2);
    // The flag of the host's that stands among the application's words is no word of the line that mends the call.
    let refused = call(&["remove", "td_0001", "--confirm", "--yes"], "");
    assert_eq!(refused.code(), "CONFIRMATION_REQUIRED");
    let fix: serde_json::Value = serde_json::from_str(&refused.stderr).unwrap();
    let fix = fix["fixes"][0]["cmd"].as_str().unwrap();
    let mut mended = Command::new("sh");
    mended.args(["-c", fix]).env_clear().env("HOME", hutch.scratch()).env("XDG_CACHE_HOME", artifacts::CACHE);
    let mended = mended.output().unwrap();
    assert!(mended.status.success(), "{fix}: {mended:?}");
    assert_eq!(call(&["list"], "").json()["count"], 2);
    // Nor is what was piped: who makes the call again is told to give it again.
    let refused = call(&["remove", "--json-input", "--confirm"], &call(&["list"], "").stdout);
    assert_eq!(refused.code(), "CONFIRMATION_REQUIRED");
    let fix: serde_json::Value = serde_json::from_str(&refused.stderr).unwrap();
    assert!(fix["fixes"][0]["effect"].as_str().unwrap().contains("given the same standard input"), "{fix}");
}

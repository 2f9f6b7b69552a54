//! `hutch schedule`: no command but the documented ones, none that needs a person, and texts that make the very call.

use crate::support::{HUTCH, Machine, Ran, package, probe, repository, todo};
use serde_json::{Value, json};
use std::process::Command;

const EVERY_MORNING: &str = "0 9 * * 1-5";

fn schedule(machine: &Machine, arguments: &[&str]) -> Ran {
    machine.run([&["schedule"], arguments].concat())
}

#[test]
fn what_a_package_documents_is_listed_with_the_place_that_says_so() {
    let machine = Machine::new();
    let listed = schedule(&machine, &[&todo()]).result("schedule");
    let commands = listed["commands"].as_array().unwrap();
    let names: Vec<&str> = commands.iter().map(|command| command["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["due", "reminder clear", "reminder list", "reopen"]);
    let manifest = std::fs::read_to_string(repository().join("packages/todo/APP.md")).unwrap();
    let lines: Vec<&str> = manifest.lines().collect();
    for command in commands {
        let line = lines[command["line"].as_u64().unwrap() as usize - 1];
        assert!(line.contains(&format!("`{}", command["name"].as_str().unwrap())), "{line}");
    }
    let semantics = |at: usize| (&commands[at]["effect"], &commands[at]["confirmation_required"]);
    assert_eq!((semantics(0), semantics(1)), ((&json!("read"), &json!(false)), (&json!("write"), &json!(false))));
    assert_eq!((&listed["call"], &listed["export"]), (&Value::Null, &Value::Null));
    let told = machine.run(["--human", "schedule", &todo()]);
    assert!(told.status == 0 && told.stdout.contains("reminder clear  write   no"), "{told:?}");
    assert!(machine.is_untouched());
}

#[test]
fn nothing_is_made_up() {
    let machine = Machine::new();
    schedule(&machine, &[&probe()]).fault("NOT_FOUND", 20);
    // Supported, and no word about how: the check says so, and nothing is scheduled.
    let silent = package::with_manifest(&machine, "silent", "scheduling: notSupported", "scheduling: supported");
    let silent = silent.to_str().unwrap();
    schedule(&machine, &[silent]).fault("NOT_FOUND", 20);
    schedule(&machine, &["--at", EVERY_MORNING, silent, "return-ok"]).fault("NOT_FOUND", 20);
    let checked = machine.run(["check", silent]).result("check");
    assert!(checked.to_string().contains("SCHEDULING_UNDOCUMENTED"), "{checked}");
    // Documented commands are there, and others are not.
    let call = |words: &[&str]| schedule(&machine, &[&["--at", EVERY_MORNING, &todo()], words].concat());
    for words in [&["list"][..], &["add", "milk"], &["--human", "list"]] {
        let fault = call(words).fault("NOT_FOUND", 20);
        assert!(fault.suggestion.contains("due, reminder clear"), "{fault:?}");
    }
    // Judged as by validate.
    call(&["due", "--limit", "0"]).fault("ARGUMENT_INVALID", 2);
    call(&["due", "--nosuch"]).fault("ARGUMENT_INVALID", 2);
    call(&["remind"]).fault("ARGUMENT_INVALID", 2);
    call(&[]).fault("USAGE", 2);
    schedule(&machine, &[&todo(), "due"]).fault("USAGE", 2);
    schedule(&machine, &["--export", "cron", &todo(), "due"]).fault("USAGE", 2);
    let fault = schedule(&machine, &["--at", "0 9 L * *", &todo(), "due"]).fault("USAGE", 2);
    assert!(fault.message.contains("day of the month"), "{fault:?}");
    assert!(machine.is_untouched());
}

/// A clock can't ask anybody: no flag makes up for that.
#[test]
fn a_command_that_needs_a_person_is_given_to_no_clock() {
    let machine = Machine::new();
    let folder = package::copy_todo(&machine, "removing");
    let manifest = folder.join("APP.md");
    let text = std::fs::read_to_string(&manifest).unwrap();
    std::fs::write(&manifest, text.replace("## Scheduling\n", "## Scheduling\n\n`remove ID --confirm` too.\n"))
        .unwrap();
    let folder = folder.to_str().unwrap();
    assert!(schedule(&machine, &[folder]).result("schedule").to_string().contains("\"remove\""));
    for yes in [&[][..], &["--yes"]] {
        let words = ["--at", EVERY_MORNING, folder, "remove", "td_0001", "--confirm"];
        let fault = schedule(&machine, &[yes, &words].concat()).fault("CONFIRMATION_REQUIRED", 30);
        assert!(fault.fixes.is_empty(), "{fault:?}");
    }
}

#[test]
fn the_moments_are_those_of_cron_in_utc() {
    let machine = Machine::new();
    let options = ["--at", "30 6 * * mon,FRI", "--now", "2026-04-03T06:30:00Z", "--count", "3"];
    let answer =
        schedule(&machine, &[&options, &["--instance", "home", &todo(), "due"][..]].concat()).result("schedule");
    assert_eq!(answer["at"], "30 6 * * 1,5");
    assert_eq!(answer["next"], json!(["2026-04-06T06:30:00Z", "2026-04-10T06:30:00Z", "2026-04-13T06:30:00Z"]));
    assert_eq!(answer["call"], format!("hutch run --instance home {} due", todo()));
}

/// The words of a line of systemd, read back by its rules.
fn unit_words(line: &str) -> Vec<String> {
    let (mut words, mut word, mut quoted, mut begun) = (Vec::new(), String::new(), false, false);
    let mut letters = line.chars().peekable();
    while let Some(letter) = letters.next() {
        match letter {
            '\\' => word.push(letters.next().unwrap()),
            '"' => (quoted, begun) = (!quoted, true),
            '%' | '$' => {
                assert_eq!(letters.next(), Some(letter), "{line}");
                word.push(letter);
            }
            ' ' if !quoted => {
                if begun || !word.is_empty() {
                    words.push(std::mem::take(&mut word));
                }
                begun = false;
            }
            letter => word.push(letter),
        }
    }
    words.push(word);
    words
}

#[test]
fn what_is_exported_makes_the_call_wherever_it_is_started() {
    let machine = Machine::new();
    // A place whose name means something to cron, to systemd and to a shell.
    let folder = package::copy_todo(&machine, "50% of it's");
    let home = machine.path("my %h $(touch x) `touch x` \"home\"");
    let home = home.to_str().unwrap();
    let hutch = |words: &[&str]| Ran::of(machine.hutch(words).env("HUTCH_HOME", home));
    let calls = || {
        let listed = hutch(&["ledger", "list", "--instance", "w", folder.to_str().unwrap()]);
        listed.result("ledger list")["total"].as_u64().unwrap()
    };
    let arguments = ["--instance", "w", folder.to_str().unwrap(), "due", "--before", "2026-04-05T00:00:00+02:00"];
    let exported = |form: &str| {
        let options = ["schedule", "--at", EVERY_MORNING, "--export", form];
        hutch(&[&options, &arguments[..]].concat()).result("schedule")["export"].take()
    };
    let cron = exported("cron");
    let text = cron["files"][0]["text"].as_str().unwrap();
    let command = text.strip_prefix(&format!("CRON_TZ=UTC\n{EVERY_MORNING} ")).unwrap().strip_suffix('\n').unwrap();
    assert!(!command.contains('\n') && command.matches('%').count() == command.matches("\\%").count(), "{command}");
    let elsewhere = tempfile::tempdir().unwrap();
    let mut shell = Command::new("/bin/sh");
    shell
        .args(["-c", &command.replace("\\%", "%")])
        .env_clear()
        .env("HOME", elsewhere.path())
        .current_dir(elsewhere.path());
    assert_eq!(Ran::of(&mut shell).answer()["ok"], true);
    assert_eq!(calls(), 2, "the instance was made, and called");

    let systemd = exported("systemd");
    let file =
        |at: usize| (systemd["files"][at]["name"].as_str().unwrap(), systemd["files"][at]["text"].as_str().unwrap());
    let ((service, text), (timer, when)) = (file(0), file(1));
    assert_eq!((service, timer), ("hutch-todo-due.service", "hutch-todo-due.timer"));
    assert!(when.contains("OnCalendar=Mon..Fri *-*-* 09:00:00 UTC\nPersistent=true\n"), "{when}");
    let value = |key: &str| text.lines().find_map(|line| line.strip_prefix(key)).unwrap();
    let words = unit_words(value("ExecStart="));
    assert_eq!(words[0], std::path::Path::new(HUTCH).canonicalize().unwrap().to_str().unwrap());
    let variable = unit_words(&value("Environment=").replace('$', "$$"));
    let (name, value) = variable[0].split_once('=').unwrap();
    let mut started = Command::new(&words[0]);
    started.args(&words[1..]).env_clear().env("HOME", elsewhere.path()).env(name, value).current_dir(elsewhere.path());
    assert_eq!(Ran::of(&mut started).answer()["ok"], true);
    assert_eq!(calls(), 3);
    assert!(!elsewhere.path().join("x").exists() && !machine.path("x").exists());

    // For people the same text, ready to be pasted: all else is a comment.
    let told = hutch(&[&["--human", "schedule", "--at", EVERY_MORNING, "--export", "cron"], &arguments[..]].concat());
    let lines: Vec<&str> = told.stdout.lines().filter(|line| !line.starts_with('#')).collect();
    assert_eq!(lines, ["CRON_TZ=UTC", &format!("{EVERY_MORNING} {command}")]);
}

/// Which home and which rings hold here is said by variables that what makes the call may not have.
#[test]
fn what_is_exported_is_of_this_home_and_behind_these_rings() {
    let (machine, todo) = (Machine::new(), todo());
    let line = |variables: &[(&str, &str)]| {
        let mut hutch = machine.hutch(["schedule", "--at", EVERY_MORNING, "--export", "cron", &todo, "due"]);
        let result = Ran::of(hutch.envs(variables.iter().copied())).result("schedule");
        result["export"]["files"][0]["text"].as_str().unwrap().to_owned()
    };
    let data = machine.path("data").display().to_string();
    let told = line(&[("XDG_DATA_HOME", &data), ("HUTCH_RING", "required")]);
    assert!(told.contains(&format!(" HUTCH_HOME={data}/hutch HUTCH_RING=required ")), "{told}");
    for usual in [&[][..], &[("HUTCH_RING", "auto")], &[("XDG_DATA_HOME", "data")]] {
        assert!(!line(usual).contains("HUTCH_"), "{usual:?}");
    }
}

/// What the call is given beside its arguments is judged as in a run, and is in what is exported, wherever that is read.
#[test]
fn what_a_call_is_given_goes_with_it() {
    let machine = Machine::new();
    let folder = package::with_manifest(&machine, "granted", "scheduling: notSupported", "scheduling: supported");
    let manifest = folder.join("APP.md");
    let text = std::fs::read_to_string(&manifest).unwrap();
    let text = text.replace("    mounts:\n", "    env:\n      - NAME\n    mounts:\n");
    std::fs::write(&manifest, text + "\n## Scheduling\n\n`env` and `list-dir PATH`.\n").unwrap();
    machine.write("real/seen", "");
    let folder = folder.to_str().unwrap();
    let exported = |given: &[&str], arguments: &[&str]| {
        let options = ["--at", EVERY_MORNING, "--export", "cron"];
        schedule(&machine, &[&options, given, &[folder], arguments].concat())
    };
    let started = |ran: Ran| {
        let result = ran.result("schedule");
        let text = result["export"]["files"][0]["text"].as_str().unwrap();
        let command = text.lines().last().unwrap().strip_prefix(EVERY_MORNING).unwrap().replace("\\%", "%");
        let elsewhere = tempfile::tempdir().unwrap();
        let mut shell = Command::new("/bin/sh");
        shell.args(["-c", &command]).env_clear().env("HOME", machine.path("person")).current_dir(elsewhere.path());
        (result["call"].as_str().unwrap().to_owned(), Ran::of(&mut shell).answer())
    };
    let (call, answer) = started(exported(&["--env", "NAME=50% of 'it'"], &["env"]));
    assert!(call.contains("--env"), "{call}");
    assert_eq!(answer["variables"], json!([["NAME", "50% of 'it'"]]));
    let (call, answer) = started(exported(&["--mount", "real:mnt"], &["list-dir", "mnt"]));
    assert!(call.contains(&format!("--mount {}:mnt:ro ", machine.path("real").display())), "{call}");
    assert!(answer["entries"].to_string().contains("seen"), "{answer}");
    exported(&["--env", "OTHER=x"], &["env"]).fault("PERMISSION_DENIED", 11);
    exported(&["--mount", "nowhere:mnt"], &["list-dir", "mnt"]).fault("NOT_FOUND", 20);
    exported(&["--mount", "real:other"], &["list-dir", "other"]).fault("PERMISSION_DENIED", 11);
}

#[test]
fn what_a_reader_would_take_otherwise_is_not_exported() {
    let machine = Machine::new();
    let folder = package::copy_todo(&machine, "a\\b");
    let arguments = ["--at", EVERY_MORNING, "--export", "cron", folder.to_str().unwrap(), "due"];
    schedule(&machine, &arguments).fault("USAGE", 2);
    // What runs from a clock has none of this process's settings.
    let mut with_store = machine.hutch(["schedule", "--at", EVERY_MORNING, "--export", "cron", &todo(), "due"]);
    Ran::of(with_store.env("HUTCH_STORE", "postgres://nobody@127.0.0.1:9/x")).fault("USAGE", 2);
}

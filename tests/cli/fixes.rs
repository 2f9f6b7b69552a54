//! Commands that an error offers are carried out as they are printed: each reaches the instance that the failed call named, or
//! nothing, whatever else there is.

#![cfg(unix)]

use crate::support::{Fault, HUTCH, Machine, Ran, package, probe, repository, todo};
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::Path;
use std::process::{Command, Stdio};

/// Where the failed calls work: a home and an instance that are nobody's default.
const HOME: &str = "an 'odd' home";
const INSTANCE: &str = "zz";
/// The item that every instance holds.
const ITEM: &str = "td_0001";

/// Two homes, each with the package installed and two instances of it, all alike.
fn machine() -> Machine {
    let machine = Machine::new();
    for instance in ["default", INSTANCE] {
        machine.run(["run", "--instance", instance, &todo(), "add", "keep"]).answer();
    }
    machine.run(["install", &todo()]).result("install");
    machine.write("some/note.txt", "");
    let copied = Command::new("cp").arg("-R").arg(machine.path(DEFAULT)).arg(machine.path(HOME)).status().unwrap();
    assert!(copied.success());
    machine
}

const DEFAULT: &str = "person/.local/share/hutch";

/// Every file below the two homes, but for those of the instance that the calls name.
fn others(machine: &Machine) -> BTreeMap<String, Vec<u8>> {
    let mut found = BTreeMap::new();
    let mut waiting = vec![machine.path(HOME), machine.path(DEFAULT)];
    while let Some(folder) = waiting.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            let name = path.strip_prefix(machine.path("")).unwrap().display().to_string();
            if path.is_dir() && name != format!("{HOME}/instances/todo/{INSTANCE}") {
                waiting.push(path);
            } else if path.is_file() {
                found.insert(name, std::fs::read(path).unwrap());
            }
        }
    }
    assert!(found.len() > 6, "{:?}", found.keys());
    found
}

/// Carries a printed line out as a shell does, without what the failed call's own environment held.
fn carry_out(machine: &Machine, cmd: &str, environment: &[(&str, &str)]) -> Ran {
    let mut command = Command::new("/bin/sh");
    let path = format!("{}:/usr/bin:/bin", Path::new(HUTCH).parent().unwrap().display());
    command.args(["-c", cmd]).env_clear().env("PATH", path).env("HOME", machine.path("person"));
    command.env("XDG_CACHE_HOME", env!("CARGO_TARGET_TMPDIR")).envs(environment.iter().copied());
    Ran::of(command.current_dir(machine.path("")).stdin(Stdio::null()))
}

fn fault(ran: &Ran) -> Fault {
    serde_json::from_str(&ran.stderr).unwrap_or_else(|error| panic!("{error}: {ran:?}"))
}

/// The titles in an instance.
fn titles(machine: &Machine, home: &str, instance: &str) -> Vec<String> {
    let home = machine.path(home).display().to_string();
    let listed = machine.run(["run", "--home", &home, "--instance", instance, &todo(), "list"]).answer();
    listed["items"].as_array().unwrap().iter().map(|item| item["title"].as_str().unwrap().to_owned()).collect()
}

/// The last entry's record in the instance that the calls name.
fn last(machine: &Machine) -> Value {
    machine.run(["ledger", "show", "--home", HOME, "--instance", INSTANCE, "todo"]).result("ledger show")["record"]
        .take()
}

#[test]
fn every_printed_fix_reaches_the_instance_that_was_named_or_nothing() {
    let package = todo();
    let named = ["--home", HOME, "--instance", INSTANCE];
    let fixed = ["--now", "2026-04-01T09:00:00Z", "--seed", "7", "--limit", "fuel=5000000000"];
    let run = |options: &[&str], guest: &[&str]| {
        [&["run"], &named[..], &fixed, options, &[package.as_str()], guest].concat().join("\u{0}")
    };
    let line = |words: &[&str]| words.join("\u{0}");
    // Each call, and which of its fixes (from 0) removes the item.
    for (words, removes) in [
        (run(&[], &["remove", ITEM, "--confirm"]), Some(0)),
        (run(&["--no-yes"], &["remove", ITEM, "--confirm"]), Some(0)),
        // The application asks for itself too: what is offered answers both.
        (run(&["--no-yes"], &["remove", ITEM]), Some(0)),
        (run(&["--stdin-text", "$(x) 'y'"], &["remove", ITEM, "--confirm"]), Some(0)),
        (run(&["--envelope", "--retry", "2"], &["remove", ITEM, "--confirm"]), Some(0)),
        // Where the words end that can be flags, none of them is put behind that.
        (run(&[], &["remove", "--", ITEM]), Some(0)),
        (run(&[], &["remov", ITEM, "--confirm"]), Some(0)),
        (run(&[], &["lst"]), None),
        (run(&["--yes"], &["remove", ITEM, "--confrim"]), Some(0)),
        (run(&["--dry-run"], &["lst"]), None),
        (run(&["--instnace", "zz"], &["remove", ITEM, "--confirm"]), None),
        (
            line(&["--home", HOME, "rnu", "--yes", "--instance", INSTANCE, &package, "remove", ITEM, "--confirm"]),
            Some(0),
        ),
        (
            line(&["run", "--yes", "--home", HOME, "--instance=zz", "--", &package, "remove", ITEM, "--confrim"]),
            Some(0),
        ),
        (line(&["validate", "--home", HOME, "--instance", INSTANCE, &package, "remove", ITEM, "--confirm"]), None),
        (line(&["plan", "--home", HOME, "--instance", INSTANCE, &package, "lst"]), None),
        (line(&["gc", "--keep", "1", &package, "--instance", INSTANCE, "--home", HOME]), None),
        (line(&["meta", "todo", "lst", "--home", HOME]), None),
        (line(&["meta", "--home", HOME, "todo", "remvoe"]), None),
        (line(&["show", "tody", "--home", HOME]), None),
        (line(&["undo", "--hmoe", HOME, "--instance", INSTANCE, "todo"]), Some(0)),
        (line(&["explain-error", "NOT_FUOND", "todo", "--home", HOME]), None),
    ] {
        let machine = machine();
        let words: Vec<&str> = words.split('\u{0}').collect();
        let before = others(&machine);
        let ran = machine.run(&words);
        let fault = fault(&ran);
        assert!(!fault.fixes.is_empty(), "{words:?}: {fault:?}");
        for (at, fix) in fault.fixes.iter().enumerate() {
            let kept = last(&machine);
            let done = carry_out(&machine, &fix.cmd, &[]);
            if words.contains(&"--dry-run") {
                assert_eq!(last(&machine), kept, "a fix of a preview is a preview");
            }
            assert_eq!(others(&machine), before, "{words:?}: {} reached something else", fix.cmd);
            let explains = fix.cmd.contains(&format!("explain-error {}", fault.code));
            assert!(!explains || words.contains(&"explain-error"), "{fix:?} is no fix");
            let gone = titles(&machine, HOME, INSTANCE).is_empty();
            assert_eq!(gone, removes.is_some_and(|which| which <= at), "{words:?}: {}: {done:?}", fix.cmd);
        }
    }
}

/// What is proposed for a word is what it says elsewhere, or a package's `run`, or mends one slip; a slip never leads to what deletes, and
/// what asks for nothing else than reading changes nothing when it is carried out.
#[test]
fn a_word_that_is_no_command_leads_to_what_does_the_same_and_to_no_more() {
    let machine = machine();
    let kept = last(&machine);
    // What merely lies there is no package.
    machine.write("folder/note.txt", "");
    for (typed, meant) in [
        ("ls", Some(("catalog", "none"))),
        ("info todo", Some(("show todo", "none"))),
        ("describe todo add", Some(("meta todo add", "none"))),
        ("search remind", Some(("find remind", "none"))),
        ("log todo", Some(("ledger list todo", "none"))),
        ("history todo", Some(("ledger list todo", "none"))),
        ("status todo", Some(("state diff todo", "none"))),
        ("version", Some(("--version", "none"))),
        ("man run", Some(("completions man run", "none"))),
        ("signatures todo", Some(("check todo", "none"))),
        ("chekc todo", Some(("check todo", "none"))),
        ("state status todo", Some(("state diff todo", "none"))),
        ("ledger lst todo", Some(("ledger list todo", "none"))),
        ("state ls todo", Some(("state cat todo", "none"))),
        ("ledger export todo", Some(("ledger list --bytes todo", "none"))),
        ("ledger head todo", Some(("ledger show todo", "none"))),
        ("todo list", Some(("run todo list", "low"))),
        ("todo remove td_0001", Some(("run todo remove td_0001", "high"))),
        ("exec todo remove td_0001", Some(("run todo remove td_0001", "high"))),
        ("exec todo list", Some(("run todo list", "low"))),
        ("rnu todo list", Some(("run todo list", "low"))),
        ("publish todo oci-layout:shop", Some(("push todo oci-layout:shop", "low"))),
        ("new made", Some(("init made", "low"))),
        ("diff todo", Some(("state diff todo", "none"))),
        ("ls todo", Some(("show todo", "none"))),
        ("list todo", Some(("run todo list", "low"))),
        ("todo", Some(("meta todo", "none"))),
        // What is no package is removed, read and asked for by nobody.
        ("rm td_0001", None),
        ("info nosuch", None),
        ("log", None),
        ("publish todo", None),
        ("rm todo", Some(("remove todo", "high"))),
        ("uninstall todo", Some(("remove todo", "high"))),
        ("clean todo", Some(("gc todo", "high"))),
        ("remvoe todo", None),
        ("login", None),
        ("tag todo", None),
        ("gx todo", None),
        ("trust remov todo", None),
        ("frobnicate todo", None),
        ("folder list", None),
        ("folder/note.txt", None),
    ] {
        let ran = machine.run(["--home", HOME].into_iter().chain(typed.split(' ')).collect::<Vec<_>>());
        let fault = ran.fault("USAGE", 2);
        let found = fault.fixes.iter().find(|fix| !fix.cmd.ends_with("--help"));
        let expected = meant.map(|(line, risk)| (format!("hutch --home 'an '\\''odd'\\'' home' {line}"), risk));
        assert_eq!(found.map(|fix| (fix.cmd.clone(), fix.risk.as_str())), expected, "{typed}");
        if meant.is_some_and(|(_, risk)| risk == "none") {
            assert_eq!(carry_out(&machine, &found.unwrap().cmd, &[]).status, 0, "{typed}");
        }
    }
    assert_eq!(last(&machine), kept);
    for (home, instance) in [(HOME, INSTANCE), (HOME, "default"), (DEFAULT, INSTANCE), (DEFAULT, "default")] {
        assert_eq!(titles(&machine, home, instance), ["keep"]);
    }
    assert_eq!(machine.run(["catalog", "--home", HOME]).result("catalog")["total"], 1);
}

/// What confirms was said of the words that were typed, and of no guess.
#[test]
fn a_guess_on_a_line_that_confirms_is_no_small_risk() {
    let machine = machine();
    for (typed, meant, risk) in [
        ("run --yes todo remov td_0001", "run --yes todo remove td_0001", "high"),
        ("rnu --yes todo remove td_0001", "run --yes todo remove td_0001", "high"),
        ("--yes rnu todo remove td_0001", "--yes run todo remove td_0001", "high"),
        ("appy --yes todo last", "apply --yes todo last", "high"),
        ("run --yes --instnace zz todo remove td_0001", "run --yes --instance zz todo remove td_0001", "high"),
        ("chekc --yes todo", "check --yes todo", "none"),
        ("rnu todo add --yes", "run todo add --yes", "high"),
        ("run todo ad --yes", "run todo add --yes", "low"),
        // Nor is a guess that deletes, whoever asks for it to be confirmed.
        ("run tood remove td_0001", "run todo remove td_0001", "high"),
        ("run tood add milk", "run todo add milk", "low"),
        ("run PROBE remov state/x", "run PROBE remove state/x", "high"),
        ("plan PROBE remov state/x", "plan PROBE remove state/x", "low"),
        ("run PROBE retrun-ok", "run PROBE return-ok", "low"),
    ] {
        let typed = typed.replace("PROBE", &probe());
        let fault = fault(&carry_out(&machine, &format!("hutch {typed}"), &[]));
        let meant = format!("hutch {}", meant.replace("PROBE", &probe()));
        let found = fault.fixes.iter().find(|fix| fix.cmd == meant);
        assert_eq!(found.map(|fix| fix.risk.as_str()), Some(risk), "{typed}: {fault:?}");
    }
    for instance in ["default", INSTANCE] {
        assert_eq!(titles(&machine, DEFAULT, instance), ["keep"]);
    }
}

#[test]
fn a_fix_makes_the_same_call_with_one_thing_changed() {
    let machine = machine();
    let options = ["--now", "2026-04-01T09:00:00Z", "--seed", "7", "--limit", "fuel=5000000000", "--limit=handles=99"];
    let call =
        [&["run", "--home", HOME, "--instance", INSTANCE], &options[..], &[&todo(), "remove", ITEM, "--confirm"]];
    let fault = machine.run(call.concat()).fault("CONFIRMATION_REQUIRED", 30);
    assert_eq!(carry_out(&machine, &fault.fixes[0].cmd, &[]).status, 0);
    let invocation = &last(&machine)["invocation"];
    assert_eq!(invocation["clock_start"], "2026-04-01T09:00:00Z", "{invocation}");
    let refused = machine.run(call.concat()).fault("CONFIRMATION_REQUIRED", 30);
    assert_eq!(refused.fixes[0].cmd, fault.fixes[0].cmd);
    let again = last(&machine);
    for field in ["argv", "clock_start", "seed", "limits", "stdin"] {
        assert_eq!(invocation[field], again["invocation"][field], "{field}");
    }
    assert_eq!((&invocation["confirmed"], &again["invocation"]["confirmed"]), (&true.into(), &false.into()));
}

#[test]
fn the_home_of_the_environment_is_part_of_a_fix() {
    let odd = "a; touch made; $(touch made) 'home'";
    let machine = machine();
    std::fs::rename(machine.path(HOME), machine.path(odd)).unwrap();
    let mut command = machine.hutch(["run", "--instance", INSTANCE, &todo(), "remove", ITEM, "--confirm"]);
    let fault = Ran::of(command.env("HUTCH_HOME", odd)).fault("CONFIRMATION_REQUIRED", 30);
    assert_eq!(carry_out(&machine, &fault.fixes[0].cmd, &[]).status, 0, "{fault:?}");
    assert!(!machine.path("made").exists());
    let mut command = machine.hutch(["run", "--instance", INSTANCE, &todo(), "list"]);
    assert_eq!(Ran::of(command.env("HUTCH_HOME", odd)).answer()["count"], 0);
    assert_eq!(titles(&machine, DEFAULT, INSTANCE), ["keep"]);
    // One that no line can name is named by none.
    let mut command = machine.hutch(["run", &todo(), "remove", ITEM, "--confirm"]);
    let bytes = <std::ffi::OsStr as std::os::unix::ffi::OsStrExt>::from_bytes(b"caf\xe9");
    assert!(Ran::of(command.env("HUTCH_HOME", bytes)).fault("CONFIRMATION_REQUIRED", 30).fixes.is_empty());
}

#[test]
fn a_launchers_fix_reaches_the_launchers_home() {
    let machine = machine();
    let bin = machine.path("bin");
    let update = ["install", "--home", HOME, "--launcher-dir", bin.to_str().unwrap(), &todo()];
    machine.run(update).result("install");
    let start =
        |arguments: &str| carry_out(&machine, &format!("{}/todo {arguments}", bin.display()), &[("PATH", "/bin")]);
    for (arguments, left) in [("lst", 1), ("remove td_0001 --confirm", 0)] {
        let fault = fault(&start(arguments));
        let fixed = carry_out(&machine, &fault.fixes[0].cmd, &[("PATH", "/bin")]);
        assert_eq!(fixed.status, 0, "{fault:?}: {fixed:?}");
        assert_eq!(titles(&machine, HOME, "default").len(), left);
        assert_eq!(titles(&machine, DEFAULT, "default"), ["keep"]);
    }
}

#[test]
fn a_package_is_removed_and_made_where_the_call_said() {
    let machine = machine();
    let home = |name: &str| machine.path(name).join("packages/todo/pin.json").exists();
    let fault = machine.run(["remove", "todo", "--home", HOME]).fault("CONFIRMATION_REQUIRED", 30);
    assert_eq!(carry_out(&machine, &fault.fixes[0].cmd, &[]).status, 0);
    assert_eq!((home(HOME), home(DEFAULT)), (false, true));
    // What is asked for besides is granted by the same call.
    let asking = package::with_manifest(&machine, "asking", "    state:\n", "    env:\n      - TOKEN\n    state:\n");
    let bin = machine.path("bin").display().to_string();
    let install = ["install", "--home", HOME, "--launcher-dir", &bin, asking.to_str().unwrap()];
    let fault = machine.run(install).fault("CONFIRMATION_REQUIRED", 30);
    let done = carry_out(&machine, &fault.fixes[0].cmd, &[]).result("install");
    assert_eq!(done["launcher"]["path"], format!("{bin}/probe"));
    assert!(
        machine.path(HOME).join("packages/probe").exists() && !machine.path(DEFAULT).join("packages/probe").exists()
    );
    std::fs::create_dir(machine.path("inner")).unwrap();
    let fault = machine.run(["init", "My Notes", "--in", "inner"]).fault("USAGE", 2);
    assert_eq!(carry_out(&machine, &fault.fixes[0].cmd, &[]).status, 0);
    assert!(machine.path("inner/my-notes").exists() && !machine.path("my-notes").exists());
}

#[test]
fn a_secret_that_was_not_on_the_line_is_not_in_a_fix() {
    let machine = machine();
    let asking = package::with_manifest(&machine, "asking", "    state:\n", "    env:\n      - TOKEN\n    state:\n");
    let call = ["run", "--home", HOME, "--secret", "TOKEN", asking.to_str().unwrap(), "retrun-ok"];
    let ran = Ran::of(machine.hutch(call).env("TOKEN", "hunter2"));
    assert!(!ran.stderr.contains("hunter2"), "{ran:?}");
    let fault = ran.fault("ARGUMENT_INVALID", 2);
    assert_eq!(carry_out(&machine, &fault.fixes[0].cmd, &[("TOKEN", "hunter2")]).status, 0, "{fault:?}");
}

#[test]
fn nothing_of_a_list_is_offered_to_be_done_again() {
    let machine = machine();
    let call = ["run", "--home", HOME, "--instance", INSTANCE, "--json-input", &todo()];
    let batch = br#"["add","one"] ["remove","td_0001","--confirm"]"#;
    let fault = Ran::with_input(&mut machine.hutch(call), batch).fault("CONFIRMATION_REQUIRED", 30);
    assert!(fault.fixes.iter().all(|fix| fix.risk == "none"), "{fault:?}");
    assert_eq!(titles(&machine, HOME, INSTANCE), ["keep", "one"]);
}

/// Each line is wrong, and behind the arrow stands the first call that is offered for it. Every call that is offered is carried out: one that
/// is said to risk nothing changes nothing, none with little risk loses anything, and what deletes is offered to who said so.
#[test]
fn no_fix_of_a_wrong_line_makes_anything_worse() {
    let mut machine = machine();
    let state = |machine: &Machine| {
        let packages = machine.run(["catalog"]).result("catalog")["total"].as_u64().unwrap();
        (titles(machine, DEFAULT, "default"), packages)
    };
    let (mut now, mut files) = (state(&machine), others(&machine));
    let table = std::fs::read_to_string(repository().join("tests/cli/wrong_lines.txt")).unwrap();
    let lines: Vec<&str> = table.lines().collect();
    assert!(lines.len() >= 150, "{}", lines.len());
    for line in lines {
        let (typed, meant) = line.split_once(" =>").unwrap_or_else(|| panic!("{line}"));
        let ran = carry_out(&machine, &format!("hutch {typed}"), &[]);
        assert!(ran.status != 0 && ran.stdout.is_empty(), "{typed}: {ran:?}");
        let fault = fault(&ran);
        let first = fault.fixes.iter().find(|fix| !fix.cmd.ends_with("--help"));
        let first = first.and_then(|fix| fix.cmd.strip_prefix("hutch ")).unwrap_or_default();
        assert_eq!(first, meant.trim(), "{typed}: {fault:?}");
        for fix in &fault.fixes {
            let done = carry_out(&machine, &fix.cmd, &[]);
            assert!(done.status == 0 || done.stderr != ran.stderr, "{typed}: {} comes to the same", fix.cmd);
            let mistakes = ["USAGE", "NOT_FOUND", "ARGUMENT_INVALID", "GUEST_FAILED"];
            let is_another = done.status == 2 || mistakes.iter().any(|code| done.stderr.contains(code));
            let is_verb = fault.message.starts_with("there is no command");
            assert!(!is_verb || !is_another, "{typed}: {} leads to another mistake: {done:?}", fix.cmd);
            // Where every file is as it was, nothing else has to be asked.
            let after = if others(&machine) == files { now.clone() } else { state(&machine) };
            if fix.cmd.starts_with("hutch undo ") {
                machine.run(["undo", "--redo", "todo"]).result("undo");
                let again = state(&machine);
                assert_eq!(again.0, now.0, "{typed}: what was taken back is not made again");
                (now, files) = (again, others(&machine));
                continue;
            }
            let before = std::mem::replace(&mut now, after.clone());
            let is_kept = before.0.iter().all(|title| after.0.contains(title)) && before.1 <= after.1;
            match fix.risk.as_str() {
                "none" => assert_eq!((&after.0, after.1), (&before.0, before.1), "{typed}: {}", fix.cmd),
                "low" => assert!(is_kept, "{typed}: {}", fix.cmd),
                _ => {
                    let asked = ["rm", "uninstall", "delete", "remove", "clean", "prune", "gc", "install"];
                    assert!(typed.split(' ').any(|word| asked.contains(&word)), "{typed}: {}", fix.cmd);
                }
            }
            if !is_kept {
                machine = self::machine();
                now = state(&machine);
            }
            files = others(&machine);
        }
    }
}

//! What a person sees on a real terminal: whatever a guest, a file's name or a package says, nothing acts on the terminal but our own
//! emphasis, and that does.

use crate::pictures::recent;
use crate::support::terminal::Terminal;
use crate::support::{Machine, package, probe, todo};
use std::process::Command;

/// Clears the screen, sets the title, writes to the clipboard, hides text, turns it round, and the same as single characters.
const WILD: &str = "\u{1b}[2J\u{1b}]0;title\u{7}\u{1b}]52;c;eA==\u{7}\u{1b}[8m\u{9b}31m\u{202e}\r\u{8}";

/// A call that never says that it takes long, however busy the machine is.
fn call(machine: &Machine, words: &[&str]) -> Command {
    machine.hutch([&["--no-progress"], words].concat())
}

/// On a terminal whose owner wants emphasis.
fn on_terminal(machine: &Machine, words: &[&str]) -> (i32, String) {
    let mut command = call(machine, words);
    Terminal::open().run(command.env("TERM", "xterm-256color"))
}

/// What of a text is not emphasis of ours: a whole line in bold, or a part of one in green, yellow, red or dim, each ended where it
/// ends.
fn without_emphasis(line: &str) -> String {
    if let Some(heading) = line.strip_prefix("\u{1b}[1m").and_then(|line| line.strip_suffix("\u{1b}[0m")) {
        return heading.to_owned();
    }
    let (mut rest, mut kept) = (line, String::new());
    while let Some(at) = rest.find('\u{1b}') {
        let (before, code) = rest.split_at(at);
        kept.push_str(before);
        let begun = ["2", "31", "32", "33"].iter().find_map(|code_of| code.strip_prefix(&format!("\u{1b}[{code_of}m")));
        let ended = begun.and_then(|text| text.split_once("\u{1b}[0m"));
        match ended.filter(|(text, _)| !text.is_empty() && !text.contains('\u{1b}')) {
            Some((text, after)) => {
                kept.push_str(text);
                rest = after;
            }
            None => return kept + code,
        }
    }
    kept + rest
}

/// Nothing in a text acts on a terminal but what is emphasis of ours.
#[track_caller]
fn assert_tame(text: &str, told: &str) {
    let rest: String = text.replace("\r\n", "\n").lines().map(|line| without_emphasis(line) + "\n").collect();
    let acts = |letter: char| {
        (letter.is_control() && !matches!(letter, '\n' | '\t')) || ('\u{202a}'..='\u{202e}').contains(&letter)
    };
    assert!(!rest.contains(acts), "{told}: {rest:?}");
}

/// Calls whose answers hold what a guest said and how it named its files.
fn calls(machine: &Machine) -> Vec<Vec<String>> {
    let probe = probe();
    // JSON, so that it is kept: the characters are escaped, and turn up when it is read.
    let said = serde_json::json!({"ok": true, "message": WILD}).to_string();
    assert_eq!(machine.run(["run", "--stdin-text", &said, &probe, "stdin-echo"]).status, 0);
    let name = "state/\u{1b}[2Jx\nentry forged\r\u{9b}31m\u{202e}";
    machine.run(["run", "--guard", "off", &probe, "write-text", name, WILD]).answer();
    machine.run(["run", "--guard", "off", &probe, "write-text", "state/plain", WILD]).answer();
    let words = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>();
    let run = ["run", "--human", "--stdin-text", said.as_str()];
    vec![
        words(&["ledger", "show", "--human", &probe, "@2"]),
        words(&["ledger", "show", "--human", "--query", "output.message", &probe, "@2"]),
        words(&["ledger", "show", "--human", "--query", "output", &probe, "@2"]),
        words(&["ledger", "show", "--human", &probe, "@3"]),
        words(&["ledger", "list", "--human", &probe]),
        words(&["ledger", "list", "--bytes", "--human", &probe]),
        words(&["state", "cat", "--human", &probe, "state"]),
        words(&["ledger", "list", "--changes", "--human", &probe]),
        words(&["state", "diff", "--human", &probe, "@1", "@3"]),
        words(&["state", "diff", "--human", &probe]),
        words(&["state", "cat", "--human", &probe, "state/plain"]),
        words(&["undo", "--dry-run", "--human", &probe]),
        words(&["replay", "--human", &probe, "@3"]),
        words(&["run", "--human", "--guard", "off", "--envelope", &probe, "args", WILD]),
        words(&["run", "--human", "--guard", "off", "--query", "output.args[0]", &probe, "args", WILD]),
        words(&["run", "--human", "--guard", "off", "--query", "output.args", &probe, "args", WILD]),
        words(&["plan", "--human", "--guard", "off", &probe, "write-text", name, "other"]),
        words(&["plan", "--human", "--guard", "off", &probe, "remove", name]),
        [words(&run), words(&["--envelope", &probe, "stdin-echo"])].concat(),
        [words(&run), words(&["--limit", "fuel=100000", &probe, "spin"])].concat(),
        words(&["run", "--human", "--guard", "off", &probe, "read-file", &format!("{name}-missing")]),
        words(&["plan", "--human", "--stdin-text", &format!("{WILD} no json"), &probe, "stdin-echo"]),
        words(&["check", "--human", "\u{9b}31m\u{202e}"]),
        words(&["run", "--human", "\u{1b}]0;x\u{7}", "x"]),
    ]
}

#[test]
fn nothing_that_others_wrote_acts_on_a_terminal() {
    let machine = Machine::new();
    let mut held = 0;
    for words in calls(&machine) {
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        let (_, seen) = on_terminal(&machine, &words);
        // A plain run is the guest's own answer: it goes through a terminal without what acts on it, too.
        assert_tame(&seen, &format!("{words:?}"));
        assert!(!seen.trim().is_empty(), "{words:?}");
        held += usize::from(seen.contains('\u{fffd}'));
    }
    assert!(held >= 15, "{held} calls showed what others wrote");
}

#[test]
fn what_is_for_people_is_tame_in_a_pipe_too() {
    let machine = Machine::new();
    for words in calls(&machine) {
        // A plain run's answer is the guest's, byte for byte; the ledger's bytes are what hashes are of.
        let holds = |word: &str| words.iter().any(|known| known == word);
        let bytes = holds("--bytes") || (words[0] == "run" && holds("read-file"));
        let ran = machine.run(&words);
        assert!(!ran.stdout.contains('\u{1b}') || bytes, "{words:?}: {:?}", ran.stdout);
        if !bytes {
            assert_tame(&ran.stdout, &format!("{words:?}"));
        }
        assert_tame(&ran.stderr, &format!("{words:?}"));
    }
}

#[test]
fn a_name_cannot_look_like_a_line_of_ours() {
    let machine = Machine::new();
    let all = calls(&machine);
    for words in all.iter().filter(|words| words[0] == "state" || words[0] == "plan" || words[0] == "undo") {
        let ran = machine.run(words);
        assert!(!ran.stdout.lines().any(|line| line.starts_with("entry forged")), "{words:?}: {}", ran.stdout);
    }
    let package = package::with_manifest(&machine, "x\nerror: forged", "slug: probe", "slug: -");
    let ran = machine.run(["--human", "check", "--human-missing", package.to_str().unwrap()]);
    assert_eq!(ran.stderr.lines().filter(|line| line.starts_with("error:")).count(), 1, "{ran:?}");
    let ran = machine.run(["run", "--human", "x\nerror: forged", "y"]);
    assert_eq!(ran.stderr.lines().filter(|line| line.starts_with("error:")).count(), 1, "{ran:?}");
}

#[test]
fn headings_stand_out_where_they_can_and_are_wanted() {
    let machine = Machine::new();
    let package = todo();
    machine.run(["install", &package]).result("install");
    machine.run(["run", &package, "add", "x"]).answer();
    for (words, heading) in [
        (&["catalog", "--human"][..], "PACKAGE  VERSION  TRUST "),
        (&["ledger", "list", "--human", "todo"], "N  AT"),
        (&["skills", "--human"], "NAME             DESCRIPTION"),
        (&["examples", "--human", "todo"], "To-do"),
        (&["doctor", "--human"], "STATUS  CHECK"),
    ] {
        let (status, seen) = on_terminal(&machine, words);
        let first = seen.lines().next().unwrap();
        assert_eq!(status, 0, "{seen:?}");
        assert!(
            first.starts_with(&format!("\u{1b}[1m{heading}")) && first.ends_with("\u{1b}[0m"),
            "{words:?}: {first:?}"
        );
        assert!(!seen.contains('\u{fffd}'), "{seen:?}");
        for (name, value) in [("NO_COLOR", "1"), ("TERM", "dumb"), ("TERM", "")] {
            let mut command = call(&machine, words);
            command.env("TERM", "xterm").env(name, value);
            if value.is_empty() {
                command.env_remove("TERM");
            }
            let (_, seen) = Terminal::open().run(&mut command);
            assert!(seen.starts_with(heading) && !seen.contains('\u{1b}'), "{words:?} {name}: {seen:?}");
        }
    }
}

/// Words of ours have colours where they stand in our own fields, and cells stay where they were; what a guest says has none.
#[test]
fn words_of_ours_have_a_colour_and_no_others() {
    let machine = Machine::new();
    let probe = probe();
    let diff = ["run", "--guard", "off", &probe, "write-text", "state/notes.txt"];
    machine.run([&diff[..], &["one\ntwo\n"]].concat()).answer();
    let plan = ["plan", "--human", "--guard", "off", &probe, "write-text", "state/notes.txt", "one\n\u{1b}[32mthree\n"];
    let todo = todo();
    machine.todo(&["add", "delete"]).answer();
    machine.run(["run", "--limit", "fuel=100000", &todo, "list"]);
    for (words, seen) in [
        (
            &["meta", "--human", &todo][..],
            &["add             \u{1b}[33mwrite\u{1b}[0m   ", "\u{1b}[31mdelete\u{1b}[0m  Takes"][..],
        ),
        (&["ledger", "list", "--human", &todo], &["\u{1b}[31mFUEL_LIMIT\u{1b}[0m", "\u{1b}[2mjust now\u{1b}[0m"]),
        (&["doctor", "--human"], &["\u{1b}[32mok\u{1b}[0m      "]),
        (&["run", "--human", &todo, "get", "td_9999"], &["\u{1b}[31merror:\u{1b}[0m the guest ended"]),
        (&plan, &["\u{1b}[31m  -two\u{1b}[0m\n", "\u{1b}[32m  +\u{fffd}[32mthree\u{1b}[0m\n"]),
    ] {
        let (_, coloured) = on_terminal(&machine, words);
        let coloured = recent(&coloured);
        for part in seen {
            assert!(coloured.contains(part), "{words:?}: {part:?} is not in {coloured:?}");
        }
        assert_tame(&coloured, &format!("{words:?}"));
        // The same text, but for what differs from call to call.
        let mut command = call(&machine, words);
        let (_, plain) = Terminal::open().run(command.env("TERM", "xterm-256color").env("NO_COLOR", "1"));
        let plain = recent(&plain);
        let digits = |text: &str| text.replace(|letter: char| letter.is_ascii_hexdigit(), "0");
        let bare: String = coloured.lines().map(|line| without_emphasis(line) + "\n").collect();
        if words[0] != "plan" && words[0] != "doctor" {
            assert_eq!(digits(&bare), digits(&plain), "{words:?}");
        }
        assert!(!plain.contains('\u{1b}') && !machine.run(words).stdout.contains('\u{1b}'), "{words:?}: {plain:?}");
    }
    // A list of the guest's, with our words in it: plain.
    let (_, listed) = on_terminal(&machine, &["run", "--human", &todo, "list"]);
    assert!(listed.contains("td_0001  delete  open"), "{listed:?}");
}

#[test]
fn people_are_shown_what_is_wrong_and_not_only_that_something_is() {
    let machine = Machine::new();
    machine.run(["install", "--yes", &probe()]).result("install");
    let digest = machine.run(["catalog", "--query", "items[0].digest"]).stdout;
    let file = format!("person/.local/share/hutch/packages/probe/{}/app/app.wasm", digest.trim().trim_matches('"'));
    machine.write(&file, "another");
    let ran = machine.run(["doctor", "--human"]);
    assert!(ran.stdout.is_empty() && ran.stderr.contains("bad     package probe"), "{ran:?}");
    assert!(ran.stderr.lines().any(|line| line.starts_with("error: not everything is as it should be")), "{ran:?}");

    let resources = "    resources:\n      - skills\n    state:\n";
    let package = package::with_manifest(&machine, "package", "    state:\n", resources);
    let path = package.to_str().unwrap();
    machine.run(["run", path, "read-file", "skills/probe-usage/SKILL.md"]).answer();
    machine.write("package/skills/probe-usage/SKILL.md", "changed");
    let ran = machine.run(["verify", "--all", "--human", path]);
    let why = "2  not_reproducible  the package's resources were others";
    assert!(ran.stderr.lines().any(|line| line.starts_with(why)), "{ran:?}");

    let ran = machine.run(["run", "--human", "--instance", "other", &probe(), "panic"]);
    assert!(ran.stderr.contains("the probe was asked to panic") && ran.stderr.contains("[GUEST_TRAPPED]"), "{ran:?}");
    let broken = package::with_manifest(&machine, "broken", "slug: probe", "slug: -");
    for verb in ["check", "run", "install"] {
        let ran = machine.run([verb, "--human", broken.to_str().unwrap()]);
        assert!(ran.stderr.contains("APP.md:4:") && ran.stdout.is_empty(), "{verb}: {ran:?}");
    }
}

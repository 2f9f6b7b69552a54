//! What a person sees of the answers that are asked for most, on a terminal of 80 columns, line by line. `HUTCH_BLESS=1` writes the
//! pictures that are missing or differ, and fails.

use crate::support::terminal::Terminal;
use crate::support::{Machine, repository};
use std::path::Path;

/// Higher than any picture: what is higher goes through a pager.
pub(crate) const ROWS: u16 = 100;

/// The same on every machine and on every day: no digits of instants and digests, of the same length; nor how many minutes ago something was,
/// nor that it took long, which stood there for a while on a busy machine.
pub(crate) fn still(seen: &str) -> String {
    let seen: String = seen.split_inclusive('\n').filter_map(|line| line.rsplit('\r').next()).collect();
    let mut shown = String::new();
    let is_part = |letter: char| letter.is_ascii_alphanumeric() || "-:.".contains(letter);
    let mut rest = seen.as_str();
    while let Some(first) = rest.chars().next() {
        // Emphasis ends where its letter stands, and what follows it is no part of it.
        if let Some((code, after)) = rest.split_once('m').filter(|_| first == '\u{1b}') {
            shown.push_str(&format!("{code}m"));
            rest = after;
            continue;
        }
        let end = rest.find(|letter| is_part(letter) != is_part(first) || letter == '\u{1b}').unwrap_or(rest.len());
        let (part, after) = rest.split_at(end);
        let is_digest = part.len() >= 12 && part.chars().all(|letter| letter.is_ascii_hexdigit());
        let is_instant = part.len() >= 20 && part.ends_with('Z') && part.contains('T') && part.contains(':');
        match is_digest || is_instant {
            true => shown.extend(part.chars().map(|letter| match letter {
                letter if letter.is_ascii_digit() || (is_digest && letter.is_ascii_hexdigit()) => '0',
                letter => letter,
            })),
            false => shown.push_str(part),
        }
        rest = after;
    }
    recent(&shown)
}

/// What was some minutes ago on a busy machine is as what was just now: as wide.
pub(crate) fn recent(seen: &str) -> String {
    let shown = (1..10).fold(seen.to_owned(), |shown, minutes| {
        let ago = format!("{minutes} min ago");
        shown.replace(&format!("{ago}\u{1b}[0m"), "just now\u{1b}[0m ").replace(&ago, "just now ")
    });
    shown.replace("just now \n", "just now\n")
}

pub(crate) fn copy(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).unwrap();
    for entry in std::fs::read_dir(from).unwrap().map(Result::unwrap) {
        let target = to.join(entry.file_name());
        match entry.file_type().unwrap().is_dir() {
            true => copy(&entry.path(), &target),
            false => drop(std::fs::copy(entry.path(), target).unwrap()),
        }
    }
}

#[test]
fn people_see_these_pictures() {
    let machine = Machine::new();
    copy(&repository().join("packages/todo"), &machine.path("apps/todo"));
    machine.run(["install", "apps/todo"]).result("install");
    // What takes long says so, on a terminal.
    machine.run(["compile", "apps/todo"]).result("compile");
    let when = ["--now", "2026-04-01T09:00:00Z", "--seed", "7"];
    let call = |verb: &'static str, words: &[&'static str]| [&[verb], &when[..], &["todo"], words].concat();
    let calls: &[(&str, i32, Vec<&str>)] = &[
        ("greeting", 0, vec![]),
        ("catalog", 0, vec!["catalog", "apps"]),
        ("find", 0, vec!["find", "buy milk"]),
        ("run-add", 0, call("run", &["add", "Write docs", "--due-at", "2026-04-05"])),
        ("run-list", 0, call("run", &["list"])),
        ("plan", 0, call("plan", &["add", "milk"])),
        ("apply", 0, vec!["apply", "todo", "last"]),
        ("ledger-list", 0, vec!["ledger", "list", "todo"]),
        ("state-cat", 0, vec!["state", "cat", "todo", "state"]),
        ("verify", 0, vec!["verify", "--all", "todo"]),
        ("undo", 0, vec!["undo", "todo"]),
        ("meta", 0, vec!["meta", "todo"]),
        ("unknown-command", 2, vec!["run", "todo", "lst"]),
        ("failed-call", 20, vec!["run", "todo", "get", "td_9999"]),
        ("explain-error", 0, vec!["explain-error", "FUEL_LIMIT"]),
    ];
    let folder = repository().join("tests/cli/pictures");
    let mut others = Vec::new();
    for (name, expected, words) in calls {
        let mut command = machine.hutch(words);
        command.env("TERM", "xterm-256color").env("HUTCH_FORMAT", "human");
        let (status, seen) = Terminal::of(ROWS, 80).run(&mut command);
        assert_eq!(status, *expected, "{name}: {seen}");

        let seen = still(&seen).replace('\u{1b}', "␛");
        let path = folder.join(format!("{name}.txt"));
        if std::fs::read_to_string(&path).unwrap_or_default() != seen {
            if std::env::var_os("HUTCH_BLESS").is_some() {
                std::fs::create_dir_all(&folder).unwrap();
                std::fs::write(&path, &seen).unwrap();
            }
            others.push(format!("{name}:\n{seen}"));
        }
    }
    assert!(others.is_empty(), "these look otherwise now:\n{}", others.join("\n"));
    let known: Vec<String> = calls.iter().map(|(name, ..)| format!("{name}.txt")).collect();
    for entry in std::fs::read_dir(folder).unwrap() {
        let name = entry.unwrap().file_name().into_string().unwrap();
        assert!(known.contains(&name), "nothing looks like {name}");
    }
}

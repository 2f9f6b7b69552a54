//! What was meant by a word that stands where a command does and is none: a word that other programs have for the same, a package whose
//! `run` was left out, or a command with one slip in it. What was asked for is never taken for something that does more: a line that
//! can't be read proposes to delete only to one who said so in another word.

use crate::arguments;
use crate::commands::lock;
use crate::flags::global::Global;
use crate::line::call_line::CallLine;
use crate::line::words::Words;
use crate::package::{packages, released};
use crate::refusal::fault::Fault;
use crate::spec::facts;
use clap::error::ErrorKind;
use hutch_model::contract::Effect;
use hutch_model::error_code::ErrorCode;
use hutch_model::instant::Instant;
use hutch_model::limits::Limit;
use hutch_registry::Reference;
use std::path::Path;

/// What other programs call it, and what it is called here: of several, the first that the line can be made into.
const SYNONYMS: &[(&str, &[&str])] = &[
    ("apps", &["catalog", "show"]),
    ("bisect", &["ledger show --bisect"]),
    ("bundle", &["pack"]),
    ("call", &["run", "meta"]),
    ("cat", &["state cat"]),
    ("clean", &["gc"]),
    ("commit", &["apply"]),
    ("create", &["init"]),
    ("delete", &["remove"]),
    ("describe", &["meta"]),
    ("diff", &["state diff", "ledger show"]),
    ("download", &["pack"]),
    ("exec", &["run", "meta"]),
    ("execute", &["run", "meta"]),
    ("export", &["pack"]),
    ("fetch", &["pack"]),
    ("files", &["state cat"]),
    ("grep", &["find"]),
    ("history", &["ledger list", "ledger show"]),
    ("info", &["show", "meta"]),
    ("inspect", &["meta"]),
    ("instances", &["instance list"]),
    ("invoke", &["run", "meta"]),
    ("launch", &["run", "meta"]),
    ("ledger bisect", &["ledger show --bisect"]),
    ("ledger export", &["ledger list --bytes"]),
    ("ledger head", &["ledger show"]),
    ("ledger to-test", &["ledger show --to-test"]),
    ("lint", &["check"]),
    ("list", &["catalog", "show"]),
    ("lock", &["install --lock"]),
    ("log", &["ledger list", "ledger show"]),
    ("ls", &["catalog", "show"]),
    ("man", &["meta", "completions man"]),
    ("new", &["init"]),
    ("open", &["show"]),
    ("packages", &["catalog", "show"]),
    ("preview", &["plan", "meta"]),
    ("prune", &["gc"]),
    ("publish", &["push"]),
    ("pull", &["pack"]),
    ("revert", &["undo"]),
    ("rm", &["remove"]),
    ("rollback", &["undo"]),
    ("search", &["find"]),
    ("signatures", &["check"]),
    ("start", &["run", "meta"]),
    ("state ls", &["state cat"]),
    ("state status", &["state diff"]),
    ("status", &["state diff", "ledger show"]),
    ("sync", &["install", "install --lock"]),
    ("tree", &["state cat"]),
    ("uninstall", &["remove"]),
    ("update", &["install"]),
    ("upgrade", &["install"]),
    ("upload", &["push"]),
    ("use", &["run", "meta"]),
    ("version", &["--version"]),
];

/// What is meant by a package that stands where the next word of these commands does.
const GROUPS: &[(&str, &str)] = &[("instance", "list"), ("ledger", "list"), ("state", "cat")];

/// What has no command here, and where it is done.
const ELSEWHERE: &[(&str, &str)] = &[
    ("config", "there is no configuration: flags, and the variables that hutch help names"),
    ("login", "docker login HOST, or another program that writes the same file: hutch takes credentials from there"),
    ("logout", "docker logout HOST, or another program that writes the same file: hutch takes credentials from there"),
    ("tag", "a tag is given as a package is pushed: hutch push PACKAGE oci://HOST/REPOSITORY:TAG"),
];

/// Options of other programs, and what does the same here; nothing where it goes without saying.
const OPTIONS: &[(&str, Option<&str>)] = &[
    ("--format=json", None),
    ("--json", None),
    ("--output=json", None),
    ("--port", Some("--listen")),
    ("--silent", Some("--quiet")),
    ("-n", Some("--dry-run")),
    ("-q", Some("--quiet")),
    ("-v", Some("--version")),
];

/// Where something is done that is none of the program's commands.
pub(crate) fn elsewhere(word: &str) -> Option<&'static str> {
    ELSEWHERE.iter().find(|(other, _)| *other == word).map(|(_, where_)| *where_)
}

/// The words that belong in the place of an option of other programs; none where it is to be left out.
pub(crate) fn option(word: &str) -> Option<&'static [&'static str]> {
    let (_, meant) = OPTIONS.iter().find(|(other, _)| *other == word)?;
    Some(meant.as_ref().map_or(&[], std::slice::from_ref))
}

/// A value as its argument takes it, where it was written as other programs take it.
pub(crate) fn value(argument: &str, value: &str) -> Option<String> {
    let is_number = !value.is_empty() && value.bytes().all(|byte| byte.is_ascii_digit());
    let meant = match argument {
        _ if argument.contains("INSTANT") => {
            format!("{value}T00:00:00Z").parse::<Instant>().ok().map(|at| at.to_string())
        }
        _ if argument.contains("ADDRESS:PORT") => {
            let port = value.strip_prefix("localhost:").or_else(|| value.strip_prefix(':')).unwrap_or(value);
            port.parse::<u16>().ok().map(|port| format!("127.0.0.1:{port}"))
        }
        _ if argument.contains("ENTRY") || argument.contains("PLAN") => is_number.then(|| format!("@{value}")),
        _ if argument.contains("--limit") => {
            let (name, amount) = value.split_once('=')?;
            let mut known = Limit::ALL.iter().filter(|limit| limit.name().starts_with(name));
            let (Some(limit), None) = (known.next(), known.next()) else { return None };
            let amount = ["KB", "MB", "GB"]
                .iter()
                .find_map(|unit| Some(format!("{}{}iB", amount.strip_suffix(unit)?, unit.get(..1)?)));
            let amount = amount.as_deref().or_else(|| value.split_once('=').map(|(_, amount)| amount))?;
            limit.unit().parse(amount).map(|_| format!("{}={amount}", limit.name()))
        }
        _ => None,
    };
    meant.filter(|meant| meant != value)
}

/// What a word means that names a package by an address, as other programs do.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Address {
    /// This reference.
    Reference(String),
    /// Something that hutch does not fetch, and what does.
    Web(&'static str),
}

/// Hosts of sources, whose addresses name no package.
const SOURCES: &[&str] = &["bitbucket.org", "codeberg.org", "git.sr.ht", "github.com", "gitlab.com"];

/// The address that a word is; none if it is a reference as it stands, or no address.
pub(crate) fn address(word: &str) -> Option<Address> {
    if Reference::is_meant(word) || packages::is_there(Path::new(word)) {
        return None;
    }
    let web = ["https://", "http://"].iter().find_map(|scheme| word.strip_prefix(scheme));
    let rest = web.or_else(|| word.strip_prefix("docker://")).or_else(|| word.strip_prefix("oci:")).unwrap_or(word);
    let (host, path) = rest.split_once('/')?;
    let is_host = host == "localhost" || host.starts_with("localhost:") || host.contains('.') && !host.starts_with('.');
    let last = path.rsplit('/').next().unwrap_or_default();
    let is_file = [".tar", ".gz", ".tgz", ".zip", ".wasm", ".md"].iter().any(|ending| last.ends_with(ending));
    let reference = format!("oci://{rest}");
    match () {
        () if !is_host => None,
        () if web.is_some() && is_file => Some(Address::Web("download it first, with curl -LO, and name the file")),
        () if SOURCES.contains(&host) || word.ends_with(".git") => {
            Some(Address::Web("git clone it first, and name its folder"))
        }
        () if !is_file && reference.parse::<Reference>().is_ok() => Some(Address::Reference(reference)),
        () => None,
    }
}

/// A failure of a line in which a package is named by an address, as other programs name theirs.
pub(crate) fn addressed(fault: Fault, line: &CallLine) -> Fault {
    let codes = [ErrorCode::PackageNotFound, ErrorCode::NotFound, ErrorCode::Usage];
    if !codes.contains(&fault.report().code) {
        return fault;
    }
    let words = line.words();
    let mut named = words.host.iter().skip(words.named).filter_map(|word| Some((word, address(word)?)));
    match named.next() {
        // What lists folders reaches no registry, however it is written.
        Some((_, Address::Reference(reference))) if line.is_command(&["catalog"]) => {
            fault.suggest(&format!("a registry tells no list of its packages; hutch show {reference} shows one"))
        }
        Some((word, Address::Reference(reference))) => {
            let fixed = fault.suggest(&format!("did you mean {reference}?"));
            let again = line.replacing(word, &[&reference]);
            fixed.fixed_by(again, "makes the call as it was probably meant", line.risk("low"))
        }
        Some((_, Address::Web(how))) => fault.suggest(how),
        None => fault,
    }
}

/// What a word was meant for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Meant {
    /// The words that belong in its place.
    pub(crate) words: Vec<String>,
    /// How many of the line's words they stand for.
    taken: usize,
    /// How much can be lost by taking it for that.
    pub(crate) risk: &'static str,
    /// The line with them, if that is a call that can be made.
    pub(crate) line: Option<String>,
}

impl Meant {
    /// A command, of whose words so many stand there already.
    fn command(words: &str, there: usize) -> Meant {
        // What an option makes of a command does no more than the command may.
        let command = words.split(" --").next().unwrap_or_default();
        let risk = match facts::of(command).map(|facts| facts.effect) {
            Some(Effect::Delete) => "high",
            Some(Effect::Write) => "low",
            _ => "none",
        };
        Meant::words(words.split(' ').skip(there), 1, risk)
    }

    fn words<'w>(words: impl IntoIterator<Item = &'w str>, taken: usize, risk: &'static str) -> Meant {
        Meant { words: words.into_iter().map(str::to_owned).collect(), taken, risk, line: None }
    }
}

/// What `word` of the line meant, which stands behind the commands at `path`, of which `known` are the next.
pub(crate) fn meant<'k>(
    path: &[&str],
    word: &str,
    known: impl Iterator<Item = &'k str>,
    line: &CallLine,
    home: Option<&str>,
) -> Option<Meant> {
    let global = arguments::global(home);
    let outline = |word: &str| packages::outline(global.as_ref()?, Path::new(word)).ok().map(|(outline, _)| outline);
    let within = |word: &str| path.iter().copied().chain([word]).collect::<Vec<_>>().join(" ");
    let named = within(word);
    let synonyms = SYNONYMS.iter().find(|(other, _)| *other == named).map_or(&[][..], |(_, commands)| commands);
    let mut all: Vec<Meant> = synonyms.iter().map(|command| Meant::command(command, path.len())).collect();
    match path {
        [] => {
            // A command of the package that follows it.
            let behind = line.words().host.iter().skip_while(|one| *one != word).nth(1);
            let own = behind.and_then(|behind| Some((behind, outline(behind)?)));
            if let Some((package, _)) =
                own.filter(|(_, outline)| outline.manifest().commands().iter().any(|one| one.to_string() == word))
            {
                all.insert(synonyms.len().min(1), Meant::words(["run", package, word], 2, "low"));
            }
            if synonyms.is_empty() && outline(word).is_some() {
                all.extend([Meant::words(["run", word], 1, "low"), Meant::words(["meta", word], 1, "none")]);
            }
        }
        [group] => {
            let lists = GROUPS.iter().find(|(known, _)| known == group).filter(|_| outline(word).is_some());
            all.extend(lists.map(|(_, lists)| Meant::words([*lists, word], 1, "none")));
        }
        _ => {}
    }
    let mut near = known.filter(|name| strsim::osa_distance(word, name) == 1 && name.len() > 2);
    if let (true, Some(name), None) = (all.is_empty(), near.next(), near.next()) {
        let meant = Meant::command(&within(name), path.len());
        all.extend((meant.risk != "high").then_some(meant));
    }
    let made = all.iter().find_map(|meant| {
        let words: Vec<&str> = meant.words.iter().map(String::as_str).collect();
        let line = line.reworded(word, meant.taken, &words)?;
        // Who takes the words of other programs takes their options too.
        let ours = OPTIONS.iter().fold(line.clone(), |line, (other, meant)| {
            line.reworded(other, 1, meant.as_ref().map_or(&[], std::slice::from_ref)).unwrap_or(line)
        });
        let line = [line, ours].into_iter().find(|line| is_made(line, global.as_ref()))?;
        let risk = risk_of_run(&line, global.as_ref()).unwrap_or(meant.risk);
        Some(Meant { line: Some(line.text()?), risk, ..meant.clone() })
    });
    made.or_else(|| all.first().cloned())
}

/// The words of a line that was made, and the shape by which they are split.
fn split(line: &CallLine) -> (Words, clap::Command) {
    let words = line.words();
    let words: Vec<String> = words.host.iter().chain(&words.guest).cloned().collect();
    let mut shape = arguments::command_of(&words);
    shape.build();
    (Words::split(words, &shape), shape)
}

/// How much can be lost by a line that runs a command of a package; none if it runs none.
fn risk_of_run(line: &CallLine, global: Option<&Global>) -> Option<&'static str> {
    let (Words { host, guest, named }, _) = split(line);
    let runs = host.get(named.checked_sub(1)?)? == "run";
    packages::risk_of_run(global.filter(|_| runs)?, Path::new(host.last()?), &guest)
}

/// Whether a line is read as a call, of a package, of folders or by a lock that are there.
fn is_made(line: &CallLine, global: Option<&Global>) -> bool {
    let (words, mut shape) = split(line);
    let read = match shape.try_get_matches_from_mut(words.parsed()) {
        Err(error) => return matches!(error.kind(), ErrorKind::DisplayHelp | ErrorKind::DisplayVersion),
        Ok(read) => read,
    };
    let (mut at, mut read) = (&shape, &read);
    while let Some(inner) = read.subcommand().and_then(|(name, words)| Some((at.find_subcommand(name)?, words))) {
        (at, read) = inner;
    }
    // What is run says which command of its own.
    let names_one = !words.guest.is_empty() || !matches!(at.get_name(), "plan" | "run");
    let is_there = |kind: &str, word: &Path| match kind {
        "PACKAGE" | "SLUG" => {
            let is_reference = word.to_str().is_some_and(Reference::is_meant);
            let is_released = at.get_name() == "install" && released::named(word).is_some();
            is_reference || is_released || global.is_some_and(|global| packages::has_run_or_is_there(global, word))
        }
        "DIR" => packages::is_there(word),
        _ => true,
    };
    // Without a package it is by the lock.
    let by_lock = at.get_name() == "install" && !read.contains_id("packages") && !read.get_flag("lock");
    names_one
        && (!by_lock || packages::is_there(lock::path(read.get_one("file"))))
        && at.get_positionals().all(|one| {
            let kind = one.get_value_names().and_then(<[_]>::first).map_or("", |name| name.as_str());
            read.get_raw(one.get_id().as_str()).into_iter().flatten().all(|word| is_there(kind, Path::new(word)))
        })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::spec::description::leaves;
    use std::collections::BTreeSet;

    #[test]
    fn what_others_call_it_is_no_command_here_and_leads_to_one() {
        let all = arguments::command();
        let commands: BTreeSet<String> = leaves(&all, "").into_iter().map(|(_, path)| path).collect();
        for (word, command) in SYNONYMS.iter().flat_map(|(word, all)| all.iter().map(move |command| (word, command))) {
            assert!(all.find_subcommand(word).is_none() && !commands.contains(*word), "{word} is a command");
            let known = |end: &str| commands.contains(command.split(end).next().unwrap());
            assert!(*command == "--version" || known(" --") || known(" "), "{word}: {command} is none");
            // What stands within a group stays there.
            let is_within = word.split_once(' ').is_none_or(|(group, _)| command.starts_with(&format!("{group} ")));
            assert!(is_within, "{word}: {command} is elsewhere");
        }
        assert!(GROUPS.iter().all(|(group, lists)| commands.contains(&format!("{group} {lists}"))));
        assert!(SYNONYMS.is_sorted() && OPTIONS.is_sorted() && ELSEWHERE.is_sorted());
    }

    #[test]
    fn what_other_programs_take_is_written_as_it_is_taken_here() {
        for (argument, given, meant) in [
            ("[ENTRY]", "5", Some("@5")),
            ("[ENTRY]", "five", None),
            ("<PLAN>", "12", Some("@12")),
            ("--now <INSTANT>", "2026-04-01", Some("2026-04-01T00:00:00Z")),
            ("--now <INSTANT>", "tomorrow", None),
            ("--listen <ADDRESS:PORT>", "8080", Some("127.0.0.1:8080")),
            ("--listen <ADDRESS:PORT>", ":8080", Some("127.0.0.1:8080")),
            ("--listen <ADDRESS:PORT>", "localhost:80", Some("127.0.0.1:80")),
            ("--listen <ADDRESS:PORT>", "99999", None),
            ("--limit <NAME=VALUE>", "memory=64MB", Some("memory_bytes=64MiB")),
            ("--limit <NAME=VALUE>", "memory_bytes=64MB", Some("memory_bytes=64MiB")),
            ("--limit <NAME=VALUE>", "std=1", None),
            ("--limit <NAME=VALUE>", "fuel=much", None),
            ("--instance <NAME>", "5", None),
        ] {
            assert_eq!(value(argument, given).as_deref(), meant, "{argument} {given}");
        }
        let reference = |text: &str| Some(Address::Reference(text.to_owned()));
        for (word, meant) in [
            ("ghcr.io/acme/todo:1", reference("oci://ghcr.io/acme/todo:1")),
            ("https://ghcr.io/acme/todo:1", reference("oci://ghcr.io/acme/todo:1")),
            ("docker://ghcr.io/acme/todo", reference("oci://ghcr.io/acme/todo")),
            ("localhost:5000/todo:1", reference("oci://localhost:5000/todo:1")),
            ("github.com/acme/todo", Some(Address::Web("git clone it first, and name its folder"))),
            ("https://example.com/a/b.tar", Some(Address::Web("download it first, with curl -LO, and name the file"))),
            ("oci://ghcr.io/acme/todo:1", None),
            ("packages/todo", None),
            ("./some.where/todo", None),
            ("a.tar", None),
            ("some.dir/todo.tar", None),
        ] {
            assert_eq!(address(word), meant, "{word}");
        }
    }

    #[test]
    fn a_slip_is_mended_and_never_into_something_that_deletes() {
        let all = arguments::command();
        let names = || all.get_subcommands().filter(|one| !one.is_hide_set()).map(clap::Command::get_name);
        let line = CallLine::default();
        let of = |word: &str| meant(&[], word, names(), &line, None).map(|meant| (meant.words.join(" "), meant.risk));
        for (word, command) in [
            ("rnu", Some(("run", "low"))),
            ("chekc", Some(("check", "none"))),
            ("instal", Some(("install", "low"))),
            ("rm", Some(("remove", "high"))),
            ("log", Some(("ledger list", "none"))),
            ("remvoe", None),
            ("go", None),
            ("tag", None),
            ("frobnicate", None),
            ("hutch", None),
        ] {
            assert_eq!(of(word), command.map(|(words, risk)| (words.to_owned(), risk)), "{word}");
        }
    }
}

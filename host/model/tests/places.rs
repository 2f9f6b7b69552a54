//! SECURITY.md's table of the places where the host builds something from others' bytes, held to the code: each constant has the value that
//! the table says, each test is there, and no constant that bounds bytes, memory, steps or numbers of what is read is missing in it.
#![allow(clippy::disallowed_methods, reason = "tests reach for what they prepare")]
#![allow(clippy::expect_used, reason = "a test that cannot prepare its data has failed")]

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

/// What constants are called that bound what is read.
const KINDS: [&str; 8] =
    ["BYTES_MAX", "MEMORY_MAX", "STEPS_MAX", "NODES_MAX", "PATTERNS_MAX", "WEIGHT_MAX", "CALLS_MAX", "FIELDS_MAX"];

/// Constants of such names that bound something else: what is shown, written or kept, how much is read at once, and lengths of names.
const OTHERS: [(&str, &str); 26] = [
    ("host/certify/src/survey/prober.rs", "WRITTEN_BYTES_MAX"),
    ("host/cli/src/commands/certify.rs", "BYTES_MAX"),
    // What a client is shown, by our own hand.
    ("host/serve/src/serving.rs", "TOOLS_BYTES_MAX"),
    ("host/cli/src/call/guest.rs", "ERROR_BYTES_MAX"),
    ("host/cli/src/answer/output.rs", "DETAILS_BYTES_MAX"),
    ("host/cli/src/answer/output.rs", "INDENTED_BYTES_MAX"),
    ("host/cli/src/feedback/report_link.rs", "LINK_BYTES_MAX"),
    ("host/hutch/src/shown.rs", "SHOWN_BYTES_MAX"),
    ("host/model/src/names.rs", "BYTES_MAX"),
    ("host/model/src/names.rs", "COMPONENT_BYTES_MAX"),
    ("host/model/src/schedule/documented.rs", "LINE_BYTES_MAX"),
    ("host/model/src/schedule/exported.rs", "CRON_COMMAND_BYTES_MAX"),
    ("host/registry/src/reference.rs", "NAME_BYTES_MAX"),
    ("host/registry/src/reference.rs", "TAG_BYTES_MAX"),
    ("host/registry/src/remote/upload.rs", "PART_BYTES_MAX"),
    ("host/registry/src/signature/signer.rs", "IDENTITY_BYTES_MAX"),
    ("host/sandbox/src/memories.rs", "KEPT_BYTES_MAX"),
    ("host/sandbox/src/threads.rs", "KEPT_STACK_BYTES_MAX"),
    ("host/serve/src/http/page/views.rs", "CHANGES_BYTES_MAX"),
    ("host/store-bucket/src/objects.rs", "READ_BYTES_MAX"),
    ("host/store-bucket/src/objects.rs", "READ_OBJECT_BYTES_MAX"),
    ("host/store-bucket/src/wire.rs", "MESSAGE_BYTES_MAX"),
    ("host/store/src/sqlite/memo.rs", "BYTES_MAX"),
    ("host/store/src/sqlite/pool.rs", "GROUP_LOG_BYTES_MAX"),
    ("host/store/src/sqlite/pool.rs", "LOG_BYTES_MAX"),
    ("host/world/src/files/commit.rs", "ENTRY_BYTES_MAX"),
];

/// Tests begin in the folder of their crate; where it was when they were compiled may be another clone that shares the target folder.
fn repository() -> PathBuf {
    Path::new("../..").to_owned()
}

fn text(path: &str) -> String {
    fs::read_to_string(repository().join(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
}

/// The words of a cell that stand between backquotes.
fn quoted(cell: &str) -> impl Iterator<Item = &str> {
    cell.split('`').skip(1).step_by(2)
}

/// The rows of the table, each with its five cells.
fn rows(security: &'static str) -> Vec<[&'static str; 5]> {
    let table = security.split("\n## Places\n").nth(1).expect("the table").split("\n## ").next().unwrap_or_default();
    let lines = table.lines().filter(|line| line.starts_with("| ")).skip(1);
    let cells = |line: &'static str| line.trim_matches('|').split(" | ").map(str::trim).collect::<Vec<_>>();
    lines.map(|line| cells(line).try_into().unwrap_or_else(|cells| panic!("{line}: {cells:?}"))).collect()
}

/// The value that a line gives to a name: of a constant, a row of the table of limits, or one of that of bounds.
fn value<'l>(line: &'l str, name: &str) -> Option<&'l str> {
    let (before, behind) = line.split_once(name)?;
    let is_whole = !before.ends_with(|c: char| c.is_alphanumeric() || c == '_');
    let behind = behind.trim_start_matches('"');
    let behind = match behind.strip_prefix(": ") {
        Some(typed) => typed.split_once(" = ")?.1,
        None => behind.strip_prefix(" = ").or_else(|| behind.strip_prefix(' '))?,
    };
    is_whole.then(|| behind.split([',', ';']).next()).flatten()
}

#[test]
fn each_row_says_what_the_code_says() {
    let security = text("SECURITY.md");
    let rows = rows(security.leak());
    assert!(rows.len() > 70, "{}", rows.len());
    let codes = text("host/model/src/error_code.rs");
    for [what, bound, place, beyond, test] in rows {
        let has_code = |code: &str| codes.contains(&format!("{code:?} "));
        assert!(!what.is_empty() && !beyond.is_empty() && quoted(beyond).all(has_code), "{what}: {beyond}");
        let source = text(quoted(place).next().expect("a file"));
        let said: Vec<_> = quoted(bound).filter_map(|one| one.split_once(" = ")).collect();
        assert!(!said.is_empty(), "{what} has no bound");
        for (name, expected) in said {
            let found: Vec<&str> = source.lines().filter_map(|line| value(line, name)).collect();
            assert!(found.contains(&expected), "{what}: {name} is {found:?} in {place}, and not {expected}");
        }
        let words: Vec<&str> = quoted(test).collect();
        let [name, file] = words[..] else { panic!("{what}: {test}") };
        assert!(text(file).contains(&format!("fn {name}(")), "{what}: {file} has no test {name}");
    }
}

#[test]
fn no_bound_is_missing() {
    let security = text("SECURITY.md");
    let mut known: BTreeSet<(String, String)> =
        OTHERS.iter().map(|(file, name)| ((*file).to_owned(), (*name).to_owned())).collect();
    for [_, bound, place, ..] in rows(security.leak()) {
        let file = quoted(place).next().unwrap_or_default();
        let names = quoted(bound).filter_map(|one| Some(one.split_once(" = ")?.0));
        known.extend(names.map(|name| (file.to_owned(), name.to_owned())));
    }
    let mut found = BTreeSet::new();
    for (file, source) in sources("host") {
        let names = source.lines().filter_map(|line| line.split_once("const ")?.1.split_once(": "));
        let bounds = names.filter(|(name, _)| KINDS.iter().any(|kind| name.ends_with(kind)));
        found.extend(bounds.map(|(name, _)| (file.clone(), name.to_owned())));
    }
    let missing: Vec<_> = found.difference(&known).collect();
    assert!(missing.is_empty(), "SECURITY.md has no row for {missing:?}");
    let gone: Vec<_> =
        OTHERS.iter().filter(|(file, name)| !found.contains(&((*file).to_owned(), (*name).to_owned()))).collect();
    assert!(gone.is_empty(), "there is no {gone:?}");
}

/// What a registry, a layout or a signature says is measured by the one function that reads it. Credentials, which an operator keeps, are
/// read beside it.
#[test]
fn what_registries_say_is_read_by_one_function() {
    let reads = ["json::from_slice", "json::from_str", "json::from_reader", "Deserializer::from_", "document::read"];
    let mut found = Vec::new();
    for (file, source) in sources("host/registry/src") {
        let lines = source.lines().filter(|line| reads.iter().any(|read| line.contains(*read)));
        found.extend(lines.map(|_| file.clone()));
    }
    found.sort();
    let operators = "host/registry/src/remote/credentials.rs";
    assert_eq!(found, ["host/registry/src/pulled.rs", operators, operators]);
}

/// The sources below a folder, tests aside, each with its path.
fn sources(below: &str) -> Vec<(String, String)> {
    let (mut folders, mut found) = (vec![repository().join(below)], Vec::new());
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).expect("a folder").flatten() {
            let path = entry.path();
            let name = entry.file_name().into_string().unwrap_or_default();
            match path.is_dir() {
                true if !["tests", "target", "examples", "npm"].contains(&name.as_str()) => folders.push(path),
                false if name.ends_with(".rs") && !name.contains("tests") => {
                    let file = path.strip_prefix(repository()).expect("below it").to_string_lossy().into_owned();
                    found.push((file, fs::read_to_string(&path).expect("a text")));
                }
                _ => {}
            }
        }
    }
    found
}

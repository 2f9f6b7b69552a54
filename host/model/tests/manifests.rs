//! `tests/manifests/`: every NAME.md is an `APP.md`, every NAME.skill.md a `SKILL.md` of the folder `NAME`, every
//! NAME.commands.json a `commands.json`; NAME.json beside it says exactly what reading it gives. A new case needs no code:
//! `HUTCH_BLESS=1 cargo test -p hutch-model --test manifests` writes what is missing or differs, and fails.
#![allow(clippy::disallowed_methods, reason = "tests reach for what they prepare")]
#![allow(clippy::unwrap_used, reason = "a test that cannot prepare its data has failed")]

use hutch_model::diagnostic::{Code, Diagnostic};
use hutch_model::names::SkillName;
use hutch_model::{contract, front_matter, manifest, skill};
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

fn folder() -> PathBuf {
    PathBuf::from("../../tests/manifests")
}

/// All input files with this ending, by name.
fn inputs(ending: &str) -> Vec<(String, PathBuf)> {
    let mut found: Vec<(String, PathBuf)> = std::fs::read_dir(folder())
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter_map(|path| {
            let name = path.file_name()?.to_str()?.strip_suffix(ending)?.to_owned();
            (!name.contains('.')).then_some((name, path))
        })
        .collect();
    found.sort();
    found
}

/// Compares with the golden file, or writes it when told to and still fails.
fn expect(golden: &Path, actual: &Value, failures: &mut Vec<String>) {
    let wanted = std::fs::read_to_string(golden).ok().and_then(|text| serde_json::from_str::<Value>(&text).ok());
    if wanted.as_ref() == Some(actual) {
        return;
    }
    let pretty = serde_json::to_string_pretty(actual).unwrap();
    if std::env::var_os("HUTCH_BLESS").is_some() {
        std::fs::write(golden, format!("{pretty}\n")).unwrap();
    }
    failures.push(format!("{}: found\n{pretty}", golden.display()));
}

fn answer<T: serde::Serialize>(read: Option<T>, diagnostics: &[Diagnostic]) -> Value {
    let is_none = |problem: &Diagnostic| problem.is_error() || problem.code == Code::ContractForeign;
    assert_eq!(read.is_none(), diagnostics.iter().any(is_none), "{diagnostics:?}");
    json!({ "read": read, "diagnostics": diagnostics })
}

/// Whether everything of a document is in another, which may have more keys.
fn holds(whole: &Value, part: &Value) -> bool {
    match (whole, part) {
        (Value::Object(whole), Value::Object(part)) => {
            part.iter().all(|(key, part)| whole.get(key).is_some_and(|whole| holds(whole, part)))
        }
        (Value::Array(whole), Value::Array(part)) => {
            whole.len() == part.len() && whole.iter().zip(part).all(|(whole, part)| holds(whole, part))
        }
        _ => whole == part,
    }
}

/// Every place lies inside the file: a line that exists, a column at most one past its end.
fn assert_inside(text: &str, diagnostics: &[Diagnostic]) {
    let lines: Vec<&str> = text.split('\n').collect();
    for diagnostic in diagnostics {
        let line = lines.get(diagnostic.line as usize - 1).unwrap_or_else(|| panic!("{diagnostic:?}"));
        assert!((1..=line.chars().count() + 1).contains(&(diagnostic.column as usize)), "{diagnostic:?}");
    }
    assert!(diagnostics.is_sorted_by_key(|d| (d.line, d.column)), "{diagnostics:?}");
}

#[test]
fn manifests_read_as_their_goldens_say() {
    let mut failures = Vec::new();
    let inputs = inputs(".md");
    assert!(inputs.len() >= 60, "{} cases", inputs.len());
    for (name, path) in inputs {
        let bytes = std::fs::read(path).unwrap();
        let actual = match front_matter::decode(&bytes, "APP.md") {
            Ok(text) => {
                let (read, diagnostics) = manifest::parse(text, "APP.md");
                assert_inside(text, &diagnostics);
                let mut actual = answer(read.as_ref(), &diagnostics);
                if let Some(read) = read {
                    actual["document"] = read.document();
                    actual["bodyLine"] = json!(read.body_line());
                    assert!(text.contains(read.front_matter()) && text.ends_with(read.body()));
                }
                actual
            }
            Err(diagnostic) => answer(None::<()>, &[diagnostic]),
        };
        expect(&folder().join(format!("{name}.json")), &actual, &mut failures);
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

#[test]
fn skills_read_as_their_goldens_say() {
    let mut failures = Vec::new();
    let inputs = inputs(".skill.md");
    assert!(inputs.len() >= 8, "{} cases", inputs.len());
    for (name, path) in inputs {
        let text = std::fs::read_to_string(path).unwrap();
        let (read, diagnostics) = skill::parse(&text, "SKILL.md", &SkillName::parse(&name).unwrap());
        assert_inside(&text, &diagnostics);
        expect(&folder().join(format!("{name}.skill.json")), &answer(read, &diagnostics), &mut failures);
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

#[test]
fn contracts_read_as_their_goldens_say() {
    let mut failures = Vec::new();
    let inputs = inputs(".commands.json");
    assert!(inputs.len() >= 10, "{} cases", inputs.len());
    for (name, path) in inputs {
        let text = std::fs::read_to_string(path).unwrap();
        let (read, diagnostics) = contract::parse(&text, "schemas/commands.json");
        assert_inside(&text, &diagnostics);
        let read = read.map(|file| {
            // Reading what was read back gives the same, which holds everything that is written.
            let document = file.contract().to_document();
            assert!(holds(&document, &serde_json::from_str(&text).unwrap()), "{name}: {document}");
            let (again, diagnostics) = contract::parse(&document.to_string(), "again");
            assert_eq!(again.as_ref().map(contract::ContractFile::contract), Some(file.contract()), "{diagnostics:?}");
            assert_eq!(file.differences(file.contract()), []);
            document
        });
        expect(&folder().join(format!("{name}.contract.json")), &answer(read, &diagnostics), &mut failures);
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

/// The cases together show every code that these readers can report, so that none can change unseen.
#[test]
fn every_code_of_the_readers_is_shown_by_a_case() {
    // Reported by the reader of folders, by whoever compiles the component, by comparisons of two sources, by who knows what
    // init makes, or only beyond a bound of size: their own tests show them.
    let elsewhere = [
        "FILE_MISSING",
        "FOLDER_MISSING",
        "FILE_UNREADABLE",
        "NOT_A_FILE",
        "NOT_A_FOLDER",
        "SPECIAL_FILE",
        "LINK_REFUSED",
        "NAME_NOT_PORTABLE",
        "TOO_MANY_FILES",
        "TOO_DEEP",
        "PACKAGE_TOO_LARGE",
        "ARCHIVE_INVALID",
        "SKILL_MISSING",
        "SKILL_UNLISTED",
        "PAYLOAD_EMPTY",
        "PAYLOAD_NATIVE",
        "PAYLOAD_SCRIPT",
        "PAYLOAD_TEXT",
        "PAYLOAD_VERSION",
        "PAYLOAD_UNKNOWN",
        "CONTRACT_DIFFERS",
        "CONTRACT_MANIFEST",
        "FILE_TOO_LARGE",
        "FRONT_MATTER_TOO_LARGE",
        "DATA_TOO_LARGE",
        "TOO_MANY_PROBLEMS",
        "COMPONENT_UNUSABLE",
        "CONTRACT_MISSING",
        "EXAMPLE_LEFT",
    ];
    let mut shown = BTreeSet::new();
    for entry in std::fs::read_dir(folder()).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_some_and(|extension| extension == "json") {
            let text = std::fs::read_to_string(&path).unwrap();
            let golden: Value = serde_json::from_str(&text).unwrap_or_default();
            let diagnostics = golden["diagnostics"].as_array().into_iter().flatten();
            shown.extend(diagnostics.filter_map(|diagnostic| diagnostic["code"].as_str().map(str::to_owned)));
        }
    }
    let missing: Vec<&str> = Code::ALL
        .iter()
        .map(|code| code.text())
        .filter(|code| !shown.contains(*code) && !elsewhere.contains(code))
        .collect();
    assert!(missing.is_empty(), "no case shows {missing:?}");
}

/// Codes are contracts: renaming one, or making an error of a warning, is a visible diff.
#[test]
fn the_table_of_codes_is_golden() {
    let table: Vec<Value> = Code::ALL
        .iter()
        .map(|code| json!({ "code": code, "severity": code.severity(), "meaning": code.meaning(), "fix": code.fix() }))
        .collect();
    let mut failures = Vec::new();
    expect(&folder().join("diagnostic-codes.json"), &Value::from(table), &mut failures);
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

/// What is beyond a bound of size is said, and what is just within it is read.
#[test]
fn bounds_of_size_are_exact() {
    let codes = |diagnostics: Vec<Diagnostic>| diagnostics.into_iter().map(|found| found.code).collect::<BTreeSet<_>>();
    let front = |padding: usize| {
        let text = format!("---\nkind: app\n# {}\n---\nbody\n", "x".repeat(padding));
        codes(manifest::parse(&text, "APP.md").1)
    };
    let written = "kind: app\n# \n".len();
    assert!(!front(front_matter::FRONT_MATTER_BYTES_MAX - written).contains(&Code::FrontMatterTooLarge));
    assert!(front(front_matter::FRONT_MATTER_BYTES_MAX - written + 1).contains(&Code::FrontMatterTooLarge));
    let tags = |count: usize| {
        let text = format!("---\ntags: [{}]\n---\nbody\n", vec!["a"; count].join(","));
        codes(manifest::parse(&text, "APP.md").1)
    };
    assert!(!tags(4_000).contains(&Code::DataTooLarge));
    assert!(tags(5_000).contains(&Code::DataTooLarge));
    let list = |count: usize| {
        let text = format!("{{\"schema\":\"hutch/commands@0.1\",\"commands\":[{}]}}", vec!["1"; count].join(","));
        codes(contract::parse(&text, "commands.json").1)
    };
    assert!(!list(65_000).contains(&Code::DataTooLarge));
    assert!(list(66_000).contains(&Code::DataTooLarge));
}

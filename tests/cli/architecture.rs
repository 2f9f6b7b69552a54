//! What the crates may know of each other, and what every source file says of itself.

use crate::support::repository;
use serde::Deserialize;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::Command;

#[derive(Deserialize)]
struct Metadata {
    packages: Vec<Package>,
}

#[derive(Deserialize)]
struct Package {
    name: String,
    dependencies: Vec<Dependency>,
}

#[derive(Deserialize)]
struct Dependency {
    name: String,
    /// `null` for an ordinary one.
    kind: Option<String>,
}

/// Ordinary dependencies of each crate of the workspace, by name.
fn dependencies() -> BTreeMap<String, BTreeSet<String>> {
    let output = Command::new(env!("CARGO"))
        .args(["metadata", "--format-version=1", "--no-deps", "--offline", "--locked"])
        .current_dir(repository())
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let metadata: Metadata = serde_json::from_slice(&output.stdout).unwrap();
    let ordinary = |package: Package| {
        let names = package.dependencies.into_iter().filter(|dependency| dependency.kind.is_none());
        (package.name, names.map(|dependency| dependency.name).collect())
    };
    metadata.packages.into_iter().map(ordinary).collect()
}

#[test]
fn crates_depend_on_each_other_in_one_direction() {
    let allowed: BTreeMap<&str, &[&str]> = BTreeMap::from([
        ("hutch-model", &[][..]),
        ("hutch-world", &["hutch-model"]),
        ("hutch-engine", &["hutch-model", "hutch-world"]),
        ("hutch-sandbox", &["hutch-engine", "hutch-folder", "hutch-model", "hutch-world"]),
        ("hutch-folder", &[]),
        ("hutch-store", &["hutch-folder", "hutch-model"]),
        ("hutch-store-bucket", &["hutch-model", "hutch-store"]),
        ("hutch-store-postgres", &["hutch-model", "hutch-store"]),
        ("hutch", &["hutch-folder", "hutch-model", "hutch-sandbox", "hutch-store"]),
        ("hutch-documents", &["hutch-model", "hutch-store", "hutch"]),
        ("hutch-certify", &["hutch-model", "hutch-sandbox", "hutch"]),
        ("hutch-registry", &["hutch-model", "hutch-sandbox", "hutch"]),
        (
            "hutch-cli",
            &[
                "hutch-model",
                "hutch-sandbox",
                "hutch-store",
                "hutch-store-bucket",
                "hutch-store-postgres",
                "hutch-certify",
                "hutch-documents",
                "hutch-serve",
                "hutch-registry",
                "hutch-shared-features",
                "hutch",
            ],
        ),
        ("hutch-serve", &["hutch-documents", "hutch-model", "hutch-sandbox", "hutch-store", "hutch"]),
        (
            "hutch-capi",
            &["hutch-documents", "hutch-model", "hutch-sandbox", "hutch-shared-features", "hutch-store", "hutch"],
        ),
        ("hutch-edge", &["hutch-model", "hutch-sandbox", "hutch-store", "hutch"]),
        ("hutch-tab", &["hutch-model", "hutch-sandbox", "hutch-store", "hutch"]),
        ("hutch-tab-compiler", &["hutch-engine", "hutch-model"]),
        ("hutch-shared-features", &[]),
        ("guest-todo", &["hutch-guest"]),
        ("guest-probe", &["hutch-guest"]),
        ("hutch-guest", &["hutch-guest-derive"]),
        ("hutch-guest-derive", &[]),
    ]);
    for (name, dependencies) in dependencies() {
        let allowed = allowed.get(name.as_str()).unwrap_or_else(|| panic!("{name}: where does it stand?"));
        for dependency in dependencies.iter().filter(|name| name.starts_with("hutch") || name.starts_with("guest")) {
            assert!(allowed.contains(&dependency.as_str()), "{name} must not depend on {dependency}");
        }
    }
}

#[test]
fn what_is_heavy_or_powerful_has_one_home() {
    for (foreign, home) in [
        ("rand_core", "hutch-engine"),
        ("cranelift-codegen", "hutch-tab-compiler"),
        ("wasmparser", "hutch-engine"),
        ("clap", "hutch-cli"),
        ("etcetera", "hutch-cli"),
        ("rmcp", "hutch-serve"),
        ("hyper", "hutch-serve"),
        ("tokio", "hutch-serve"),
        ("rusqlite", "hutch-store"),
        ("postgres-protocol", "hutch-store-postgres"),
        ("serde-saphyr", "hutch-model"),
        ("landlock", "hutch-sandbox"),
        ("seccompiler", "hutch-sandbox"),
        ("lexopt", "hutch-edge"),
    ] {
        let users: Vec<_> = dependencies().into_iter().filter(|(_, names)| names.contains(foreign)).collect();
        // The second holds nothing, and the first is a part of guests.
        let others = ["hutch-guest", "hutch-shared-features"];
        let users: Vec<_> = users.iter().map(|(name, _)| name.as_str()).filter(|name| !others.contains(name)).collect();
        assert_eq!(users, [home], "{foreign}");
    }
    // What calls out: to registries, to a collector of what a server tells, and to a bucket.
    let calling: Vec<_> = dependencies().into_iter().filter(|(_, names)| names.contains("ureq")).collect();
    let calling: Vec<_> = calling.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(calling, ["hutch-registry", "hutch-serve", "hutch-store-bucket"]);
    // What signs: packages, and requests to a bucket.
    let signing: Vec<_> = dependencies().into_iter().filter(|(_, names)| names.contains("ring")).collect();
    let signing: Vec<_> = signing.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(signing, ["hutch-registry", "hutch-store-bucket"]);
    // The tab answers those who ask for randomness where there is none, and asks for none itself.
    let random: Vec<_> = dependencies().into_iter().filter(|(_, names)| names.contains("getrandom")).collect();
    let random: Vec<_> = random.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(random, ["hutch-capi", "hutch-cli", "hutch-edge", "hutch-tab"]);
    let engines: Vec<_> = dependencies().into_iter().filter(|(_, names)| names.contains("wasmtime")).collect();
    let engines: Vec<_> = engines.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(engines, ["hutch-engine", "hutch-sandbox"]);
    for (name, dependencies) in dependencies() {
        assert!(!dependencies.contains("wasmtime-wasi"), "{name}");
    }
}

/// The modules of a crate that each module of it names, tests left out.
fn modules(source: &Path) -> BTreeMap<String, BTreeSet<String>> {
    let mut files = Vec::new();
    sources(source, &mut files);
    let module = |path: &Path| {
        let first = path.strip_prefix(source).unwrap().components().next().unwrap();
        first.as_os_str().to_str().unwrap().trim_end_matches(".rs").to_owned()
    };
    let names: BTreeSet<String> = files.iter().map(|path| module(path)).collect();
    let mut named: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for path in files.iter().filter(|path| !path.to_str().unwrap().contains("tests")) {
        let text = std::fs::read_to_string(path).unwrap();
        let code = text.split("#[cfg(test)]\nmod tests {").next().unwrap_or_default();
        let code: String =
            code.lines().filter(|line| !line.trim_start().starts_with("//")).collect::<Vec<_>>().join("\n");
        for part in code.split("crate::").skip(1) {
            // Of several in braces, what stands within further ones is below the first.
            let several = part.strip_prefix('{').map(|rest| rest.split_once("};").map_or(rest, |(inner, _)| inner));
            let (mut depth, mut words) = (0, vec![String::new()]);
            for letter in several.unwrap_or(part).chars() {
                match letter {
                    '{' => depth += 1,
                    '}' => depth -= 1,
                    ',' if depth == 0 && several.is_some() => words.push(String::new()),
                    letter if depth == 0 => words.last_mut().unwrap().push(letter),
                    _ => {}
                }
                if several.is_none() && !(letter.is_alphanumeric() || letter == '_') {
                    break;
                }
            }
            for word in words {
                let word: String = word.trim().chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect();
                if names.contains(&word) && word != module(path) {
                    named.entry(module(path)).or_default().insert(word);
                }
            }
        }
    }
    named
}

/// Data goes one way through the libraries and the program: no module names one that names it, however far around.
#[test]
fn the_modules_of_a_crate_name_each_other_in_no_circle() {
    for (name, least) in [("hutch", 15), ("store", 8), ("folder", 2), ("cli", 14)] {
        let mut named = modules(&repository().join("host").join(name).join("src"));
        assert!(named.len() >= least, "{name}: {named:?}");
        // What names nothing that is left is taken away, again and again.
        loop {
            let left: BTreeSet<String> = named.keys().cloned().collect();
            let before = named.len();
            named.retain(|_, names| names.iter().any(|name| left.contains(name)));
            if named.len() == before {
                break;
            }
        }
        assert!(named.is_empty(), "{name}: a circle among {named:?}");
    }
}

fn sources(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            sources(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            found.push(path);
        }
    }
}

/// What runs guests in a browser too has nothing of the machine's: it is compiled for where there is none, and this says so sooner.
#[test]
fn the_engine_names_no_files_threads_clocks_or_surroundings() {
    let mut all = Vec::new();
    sources(&repository().join("host/engine/src"), &mut all);
    assert!(all.len() > 15, "the sources are elsewhere");
    for path in all {
        let text = std::fs::read_to_string(&path).unwrap();
        let code = text.split("#[cfg(test)]\nmod tests {").next().unwrap_or_default();
        for foreign in
            ["std::fs", "std::thread", "std::time", "std::env::var", "std::io", "std::process", "std::net", "cap_std"]
        {
            let named = code.lines().find(|line| line.contains(foreign) && !line.trim_start().starts_with("//"));
            assert_eq!(named, None, "{}", path.display());
        }
    }
}

#[test]
fn every_source_says_what_it_is_for() {
    let mut all = Vec::new();
    for folder in ["host", "tests", "guest-todo"] {
        sources(&repository().join(folder), &mut all);
    }
    assert!(all.len() > 100, "the sources are elsewhere");
    let silent: Vec<_> = all.iter().filter(|path| !std::fs::read_to_string(path).unwrap().starts_with("//!")).collect();
    assert_eq!(silent, [&PathBuf::new(); 0], "these do not begin with //!");
}

/// Looking for tests in vain takes seconds a crate, each time the tests are compiled or run; and none that is there is left out. Of a guest
/// the manifest is a part of what its component is made of.
#[test]
fn tests_are_looked_for_where_there_are_some() {
    let host = repository().join("host").read_dir().unwrap();
    let crates: Vec<_> = host.map(|entry| entry.unwrap().path()).filter(|folder| folder.join("src").exists()).collect();
    assert!(crates.len() > 15, "the crates are elsewhere");
    for folder in crates {
        let mut all = Vec::new();
        sources(&folder.join("src"), &mut all);
        let text: String = all.iter().map(|path| std::fs::read_to_string(path).unwrap()).collect();
        let has = |begin: [&str; 2]| text.lines().any(|line| begin.iter().any(|it| line.trim_start().starts_with(it)));
        let manifest = std::fs::read_to_string(folder.join("Cargo.toml")).unwrap();
        assert_eq!(!manifest.contains("\ntest = false\n"), has(["#[cfg(test)]", "#[test]"]), "{}", folder.display());
        let looks_for_code = folder.join("src/lib.rs").exists() && !manifest.contains("\ndoctest = false\n");
        assert_eq!(looks_for_code, has(["/// ```", "//! ```"]), "{}", folder.display());
    }
}

/// Compiled code that somebody else vouches for is believed; hutch itself believes none.
#[test]
fn code_that_is_given_is_taken_where_there_is_no_compiler_alone() {
    let mut all = Vec::new();
    sources(&repository().join("host"), &mut all);
    let takers: BTreeSet<_> = all
        .iter()
        .filter(|path| std::fs::read_to_string(path).unwrap().contains(".give("))
        .map(|path| path.strip_prefix(repository()).unwrap().display().to_string())
        .collect();
    // The example is one of those that are compared in tests/equal: it takes what its own compiler made.
    let known = ["host/edge/src/application.rs", "host/hutch/examples/ask.rs", "host/tab/src/tab.rs"];
    assert_eq!(takers.into_iter().collect::<Vec<_>>(), known);
}

/// What a run has looked at decides under which key its outcome is kept: so nobody tells a guest of the clock's start or of the seed but those
/// who note it.
#[test]
fn a_guest_hears_of_clock_and_seed_through_what_notes_it_alone() {
    let mut all = Vec::new();
    for folder in ["host/world/src", "host/engine/src"] {
        sources(&repository().join(folder), &mut all);
    }
    let mut tellers = BTreeMap::new();
    for path in all {
        let text = std::fs::read_to_string(&path).unwrap();
        let code = text.split("#[cfg(test)]\nmod tests {").next().unwrap_or_default();
        let told = code.matches(".clock_start()").count() + code.matches(".seed()").count();
        if told > 0 {
            tellers.insert(path.strip_prefix(repository()).unwrap().display().to_string(), told);
        }
    }
    // The clock and the random streams themselves, and the times of top folders, which attributes are asked for through the clock.
    let expected = [("host/world/src/files/mod.rs".to_owned(), 1), ("host/world/src/lib.rs".to_owned(), 2)];
    assert_eq!(tellers.into_iter().collect::<Vec<_>>(), expected);
}

#[test]
fn unsafe_code_has_its_known_homes() {
    let mut all = Vec::new();
    sources(&repository().join("host"), &mut all);
    all.sort();
    let homes: Vec<_> = all
        .iter()
        .filter(|path| {
            let text = std::fs::read_to_string(path).unwrap();
            // However it is put, over several lines too.
            let text: String = text.split_whitespace().collect();
            ["allow(", "expect("].iter().any(|lint| {
                text.split(lint).skip(1).any(|rest| {
                    rest.split([')', '"']).next().is_some_and(|lints| lints.split(',').any(|one| one == "unsafe_code"))
                })
            })
        })
        .map(|path| path.strip_prefix(repository()).unwrap().display().to_string())
        .collect();
    // Two tests count allocations, which takes an allocator of their own.
    let expected = [
        "host/capi/src/door.rs",
        "host/cli/src/machine/memory.rs",
        "host/edge/src/application.rs",
        "host/engine/src/settings/compile.rs",
        "host/hutch/examples/ask.rs",
        "host/model/tests/document_memory.rs",
        "host/model/tests/hostile.rs",
        "host/sandbox/src/bare.rs",
        "host/sandbox/src/given.rs",
        "host/sandbox/src/memories.rs",
        "host/sandbox/src/program.rs",
        "host/sandbox/src/ring/inherited.rs",
        "host/sandbox/src/signals.rs",
        "host/sandbox/src/verdict.rs",
        "host/tab/src/blocks.rs",
        "host/tab/src/door.rs",
        "host/tab/src/tab.rs",
        "host/tab-compiler/src/door.rs",
    ];
    assert_eq!(homes, expected);
}

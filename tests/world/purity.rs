//! What the world must not know, held by its sources: it is told everything, so it can be asked the same thing twice.

use std::path::{Path, PathBuf};

fn crate_folder() -> &'static Path {
    Path::new(".")
}

fn sources(folder: &Path, all: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).expect("a folder of sources") {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            sources(&path, all);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            all.push(path);
        }
    }
}

#[test]
fn sources_name_nothing_but_core_alloc_and_the_model() {
    let mut all = Vec::new();
    sources(&crate_folder().join("src"), &mut all);
    assert!(all.len() >= 20, "the sources are elsewhere");
    let root = std::fs::read_to_string(crate_folder().join("src/lib.rs")).expect("the root");
    assert!(root.contains("\n#![no_std]\n"), "the world is to be no_std");
    for path in all {
        let text = std::fs::read_to_string(&path).expect("a source");
        for (at, line) in text.lines().enumerate() {
            let code = line.split("//").next().unwrap_or_default();
            for foreign in ["std::", "crate std", "wasmtime", "unsafe", "HashMap", "HashSet", "include_bytes!", "env!"]
            {
                assert!(!code.contains(foreign), "{}:{}: {foreign} in the world", path.display(), at + 1);
            }
        }
    }
}

#[test]
fn it_depends_on_the_model_and_on_the_random_generator_alone() {
    let manifest = std::fs::read_to_string(crate_folder().join("Cargo.toml")).expect("the manifest");
    let mut section = "";
    let mut dependencies = Vec::new();
    for line in manifest.lines() {
        if line.starts_with('[') {
            section = line;
            let known =
                ["[package]", "[lib]", "[lints]", "[features]", "[dependencies]", "[dev-dependencies]", "[[test]]"];
            assert!(known.contains(&section), "what is {section} for?");
        } else if section == "[dependencies]" && !line.starts_with('#') && !line.is_empty() {
            dependencies.push(line);
        }
    }
    dependencies.sort_unstable();
    assert_eq!(dependencies, ["hutch-model.workspace = true", "rand_chacha.workspace = true"]);
}

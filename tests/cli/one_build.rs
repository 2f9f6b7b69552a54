//! The main job and the tests are one build. Cargo compiles a crate again for each set of features that it is asked for; where
//! a test-only dependency asks for one more of a crate that the engine is made of, the engine is compiled twice, for minutes,
//! and the program that is tested is not the one that is run.

use crate::support::repository;
use serde::Deserialize;
use std::collections::{BTreeMap, BTreeSet};
use std::process::Command;

#[derive(Deserialize)]
struct Graph {
    units: Vec<Unit>,
}

#[derive(Deserialize)]
struct Unit {
    pkg_id: String,
    target: Target,
    mode: String,
    profile: Profile,
    features: BTreeSet<String>,
}

#[derive(Deserialize)]
struct Target {
    name: String,
    kind: Vec<String>,
}

#[derive(Deserialize)]
struct Profile {
    opt_level: String,
    debug_assertions: bool,
}

/// For each crate from elsewhere its sets of features.
type Plan = BTreeMap<String, BTreeSet<BTreeSet<String>>>;

/// What cargo would compile for a command: for each crate from elsewhere its sets of features.
fn planned(command: &[&str]) -> Plan {
    // The plan is not a stable output of cargo; the version that builds this repository gives it.
    let output = Command::new(env!("CARGO"))
        .args(command)
        .args(["--release", "--locked", "--offline", "-Zunstable-options", "--unit-graph"])
        .current_dir(repository())
        .env("RUSTC_BOOTSTRAP", "1")
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let graph: Graph = serde_json::from_slice(&output.stdout).unwrap();
    let mut planned = Plan::new();
    for unit in graph.units.into_iter().filter(|unit| unit.pkg_id.starts_with("registry+")) {
        let id = unit.pkg_id.rsplit(['#', '/']).next().unwrap_or_default().to_owned();
        let how = format!("{} {} {}", unit.mode, unit.profile.opt_level, unit.profile.debug_assertions);
        let key = format!("{id} {} {} {how}", unit.target.kind.join(","), unit.target.name);
        planned.entry(key).or_default().insert(unit.features);
    }
    planned
}

#[test]
fn the_tests_and_the_features_share_every_dependency_with_the_main_job() {
    let main = planned(&["build"]);
    shared(&main, "the tests", &planned(&["test", "--workspace"]));
    shared(&main, "keyless", &planned(&["build", "--features", "hutch-cli/keyless"]));
}

fn shared(main: &Plan, what: &str, other: &Plan) {
    assert!(main.keys().any(|key| key.starts_with("wasmtime@")), "the plan names no wasmtime");
    let mut missing = String::new();
    for (unit, features) in main {
        let wanted = other.get(unit).unwrap_or_else(|| panic!("{unit} is not in the build of {what}"));
        if !features.is_subset(wanted) {
            let known: BTreeSet<_> = features.iter().flatten().collect();
            let more: BTreeSet<_> = wanted.iter().flatten().filter(|feature| !known.contains(feature)).collect();
            missing.push_str(&format!("{unit}: {what} have {more:?} besides\n"));
        }
    }
    assert!(
        missing.is_empty(),
        "name these features in host/shared-features/Cargo.toml, or do without them:\n{missing}"
    );
}

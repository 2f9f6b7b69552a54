//! All targets in one program: each does with every file of its corpus what it does with a machine's inputs, without what guides a search,
//! which is a workspace of its own. The gate type-checks it with the crates that the targets call; it is run where the repository is:
//! `cargo build --release --workspace --features hutch-serve/fuzzing --example fuzz`, and `target/release/examples/fuzz`.
#![allow(unused_attributes, clippy::duplicate_mod, reason = "each target is a crate of its own elsewhere")]
#![allow(clippy::disallowed_methods, reason = "it reads the corpus")]

// What the targets know from elsewhere.
extern crate self as hutch_fuzz;
extern crate self as libfuzzer_sys;

#[path = "src/lib.rs"]
mod shared;

pub use shared::{check_diagnostics, within};
use std::path::Path;

/// In the place of libFuzzer's.
#[macro_export]
macro_rules! fuzz_target {
    (|$bytes:ident: &[u8]| $body:expr) => {
        pub(crate) fn input($bytes: &[u8]) {
            $body;
        }
    };
}

macro_rules! targets {
    ($($name:ident $path:literal),*) => {
        $(#[path = $path] mod $name;)*

        const TARGETS: &[(&str, fn(&[u8]))] = &[$((stringify!($name), $name::input)),*];
    };
}

targets!(
    answers "targets/answers.rs",
    arguments "targets/arguments.rs",
    bundle "targets/bundle.rs",
    calls "targets/calls.rs",
    component "targets/component.rs",
    contract "targets/contract.rs",
    documents "targets/documents.rs",
    http "targets/http.rs",
    index "targets/index.rs",
    ledger "targets/ledger.rs",
    manifest "targets/manifest.rs",
    packed "targets/packed.rs",
    proof "targets/proof.rs",
    store "targets/store.rs",
    texts "targets/texts.rs",
    world "targets/world.rs"
);

/// One after the other: they count memory together.
fn main() {
    for (name, input) in TARGETS {
        let corpus = Path::new("tests/fuzz/corpus").join(name);
        let files: Vec<_> = std::fs::read_dir(&corpus).unwrap_or_else(|error| panic!("{name}: {error}")).collect();
        assert!(!files.is_empty(), "{name} has no corpus");
        for file in files {
            let path = file.unwrap_or_else(|error| panic!("{name}: {error}")).path();
            input(&std::fs::read(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display())));
        }
    }
}

//! Compiles a component for all that this processor has, and writes an artifact that is taken for the baseline's: `full COMPONENT FILE`. It
//! fails where that is no other code. `tests/equal/run` holds what comes of it to what comes of the baseline's.
#![allow(clippy::disallowed_methods, reason = "a program of this repository's developers")]
#![allow(clippy::expect_used, clippy::print_stdout, reason = "a program for tests, which ends with what is wrong")]

#[path = "../../../tests/sandbox/support/mod.rs"]
mod support;

use support::processor::Full;

fn main() {
    let mut arguments = std::env::args().skip(1);
    let [component, file] = [(); 2].map(|()| arguments.next().expect("a component and a file"));
    let full = Full::new().expect("a processor with more than the baseline");
    let (artifact, differs) = full.artifact(&std::fs::read(component).expect("a component")).expect("an artifact");
    assert!(differs, "the code is the same: {:?} are not used", full.features);
    std::fs::write(file, artifact).expect("a file");
    println!("{}", full.features.join(" "));
}

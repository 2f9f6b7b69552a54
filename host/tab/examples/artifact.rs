//! Compiles a component for a browser tab: `artifact COMPONENT ARTIFACT`.
#![allow(clippy::disallowed_methods, reason = "a program of this repository's developers")]

use hutch_sandbox::{Backend, make_artifact};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut paths = std::env::args_os().skip(1);
    let (Some(component), Some(artifact)) = (paths.next(), paths.next()) else {
        return Err("expected the paths of a component and of the artifact to be made".into());
    };
    std::fs::write(artifact, make_artifact(Backend::Interpreter32, &std::fs::read(component)?)?)?;
    Ok(())
}

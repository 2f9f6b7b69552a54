//! Carries an instance to another host and in from one: `bundle export|import HOME PACKAGE INSTANCE FILE`. What is carried in is run again
//! before it is taken; the answer says what that came to, a line for each entry.
#![allow(clippy::disallowed_methods, clippy::print_stdout, reason = "a program of this repository's developers")]

use hutch::installed::Installed;
use hutch::package::PackageBounds;
use hutch::{Host, Verified};
use hutch_model::instant::Instant;
use hutch_model::names::Slug;
use hutch_sandbox::Sandbox;
use std::path::PathBuf;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [action, home, package, instance, file] = &arguments[..] else {
        return Err("expected export or import, a home, a package's slug, an instance and a file".into());
    };
    let (home, slug, instance) = (PathBuf::from(home), Slug::parse(package)?, instance.parse()?);
    let installed = Installed::of(&home);
    let package = installed.open(&installed.pin(&slug)?, PackageBounds::with_component(256 << 20), None)?;
    let host = Host::new(home, Sandbox::default());
    let at: Instant = "2026-03-01T09:00:00Z".parse()?;
    if action == "export" {
        std::fs::write(file, host.open_existing(&slug, &instance, at)?.bundle(0)?)?;
        return Ok(());
    }
    let taken = host.take_in(&package, &instance, at, std::fs::read(file)?).map_err(|failure| {
        let code = failure.code().text();
        format!("{code}: {failure}")
    })?;
    for (sealed, verified) in taken.verified {
        let said = match verified {
            Verified::Differs(what) => format!("differs: {}", what.join(", ")),
            Verified::NotReproducible(why) => format!("not reproducible: {why}"),
            verified => verified.name().replace('_', " "),
        };
        println!("{} {said}", sealed.sequence);
    }
    Ok(())
}

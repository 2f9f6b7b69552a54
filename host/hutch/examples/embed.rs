//! A package, run; a change planned, applied and taken back; and a run verified, with the state in memory.
#![allow(clippy::print_stdout, reason = "an example")]

use hutch::package::Package;
use hutch::{Call, EntryName, Grants, Host, Instant, Sandbox, SecretKey, Seed};
use std::collections::BTreeMap;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let package = Package::open_at("packages/todo")?;
    let host = Host::in_memory(SecretKey::new([7; 32]), Sandbox::default());
    let (now, seed): (Instant, _) = ("2026-04-01T09:00:00Z".parse()?, Seed([7; 32]));
    let added = host.run(&package, &Call::new(["add", "milk"], now, seed))?;
    host.plan(&package, &Call::new(["add", "bread"], now, seed))?;
    let session = host.open(&package, &"default".parse()?, now)?;
    host.apply(&package, &session, &EntryName::Last, &Grants::default())?;
    session.undo(&EntryName::Last)?;
    let listed = host.run(&package, &Call::new(["list"], now, seed))?;
    let verified = host.verify(&package, &session, &session.entry(&EntryName::Last)?, &BTreeMap::new())?;
    println!("{} {} {}", added.kept, verified.name(), String::from_utf8_lossy(&listed.outcome.stdout));
    Ok(())
}

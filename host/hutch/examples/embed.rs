//! A package, run twice, with its state in memory.
#![allow(clippy::print_stdout, reason = "an example")]

use hutch::package::{Package, PackageBounds, Source};
use hutch::{Call, Host, Instant, Sandbox, SecretKey, Seed};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let bounds = PackageBounds::default();
    let package = Package::open(&Source::open("packages/todo".as_ref(), &bounds)?, bounds)?;
    let host = Host::in_memory(SecretKey::new([7; 32]), Sandbox::default());
    let now: Instant = "2026-04-01T09:00:00Z".parse()?;
    let added = host.run(&package, &Call::new(["add", "milk"], now, Seed([7; 32])))?;
    let listed = host.run(&package, &Call::new(["list"], now, Seed([7; 32])))?;
    println!("{} {}", added.kept, String::from_utf8_lossy(&listed.outcome.stdout));
    Ok(())
}

//! The file itself: the same bytes each time, nobody's file overwritten, and nothing taken that is not as it was written.

use crate::support::{Machine, probe, todo};
use hutch::Exported;
use hutch_model::digest::{Digest, Kind};

const PULLEY: [&str; 2] = ["--target", "pulley64"];

#[test]
fn equal_inputs_give_equal_bytes_and_nobody_s_file_is_overwritten() {
    let machine = Machine::new();
    let one = machine.export(&todo(), &[], "one");
    let other = machine.export(&todo(), &[], "other");
    assert_eq!(std::fs::read(&one).unwrap(), std::fs::read(&other).unwrap());
    // The same is what was asked for; another one is somebody's.
    machine.export(&todo(), &[], "one");
    let theirs = machine.write("theirs", "theirs");
    for options in [&[][..], &["--dry-run"], &["--target", "pulley64"]] {
        let package = todo();
        machine
            .run([&["pack", &package, "--compiled", "--output", "theirs"], options].concat())
            .fault("ALREADY_EXISTS", 30);
    }
    assert_eq!(std::fs::read(theirs).unwrap(), b"theirs");
    assert_eq!(machine.run(["pack", &todo(), "--compiled", "--output", "new", "--dry-run"]).answer()["dry_run"], true);
    assert!(!machine.path("new").exists());
}

#[test]
fn a_bundle_with_another_byte_is_refused() {
    let machine = Machine::new();
    let bundle = std::fs::read(machine.bundle_for(&PULLEY, &todo(), "bundle")).unwrap();
    let refused = |bytes: &[u8], what: String| {
        machine.write("bad", bytes);
        let ran = machine.edge(&["run", "--state", "s", "bad", "add", "x"]);
        let fault = ran.fault("PACKAGE_INVALID", 2);
        assert!(fault.message.starts_with("bad: the bundle "), "{what}: {fault:?}");
    };
    // A few of the millions, of which each alone is refused by the frame's own test; the last ones are of the frame.
    let frame = (bundle.len() - 66..bundle.len()).step_by(7);
    let steps = (0..bundle.len()).step_by(bundle.len() / 12).chain(frame).chain([bundle.len() - 1]);
    for at in steps {
        let mut bad = bundle.clone();
        bad[at] ^= 0x40;
        refused(&bad, format!("a flipped bit in byte {at}"));
    }
    for length in [0, 1, 64, 65, 66, bundle.len() / 2, bundle.len() - 66, bundle.len() - 1] {
        refused(&bundle[..length], format!("cut at {length}"));
    }
    refused(&[b"x", &bundle[..]].concat(), "a byte before it".to_owned());
    refused(&[&bundle[..], b"x"].concat(), "a byte behind it".to_owned());
    refused(b"#!/bin/sh\n", "a script".to_owned());
    assert_eq!(machine.names(), ["bad", "bundle"], "a call of no application has left something");
    machine.edge(&["run", "nothing", "list"]).fault("PACKAGE_NOT_FOUND", 20);
    machine.edge(&["run", ".", "list"]).fault("USAGE", 2);
}

#[test]
fn code_for_another_host_is_refused_and_says_for_which() {
    let machine = Machine::new();
    let other = if cfg!(target_arch = "aarch64") { "x86_64-unknown-linux-gnu" } else { "aarch64-unknown-linux-gnu" };
    for target in ["pulley32", other] {
        if machine.run(["pack", &todo(), "--target", target, "--output", target]).status != 0 {
            // Not every build's compiler makes code for the other processor.
            machine.run(["pack", &todo(), "--target", target, "--output", target]).fault("TARGET_UNSUPPORTED", 2);
            continue;
        }
        let fault = machine.edge(&["run", target, "list"]).fault("TARGET_UNSUPPORTED", 2);
        assert!(fault.message.contains(target), "{fault:?}");
        assert!(fault.details["targets"].as_array().unwrap().contains(&"pulley64".into()), "{fault:?}");
    }
    machine.run(["pack", &todo(), "--target", "mips", "--output", "mips"]).fault("TARGET_UNSUPPORTED", 2);
}

/// A bundle of a package with the code of an artifact.
fn with_artifact(machine: &Machine, artifact: Vec<u8>) -> Exported {
    let bytes = std::fs::read(machine.bundle_for(&PULLEY, &todo(), "bundle")).unwrap();
    Exported { artifact, ..Exported::read(bytes).unwrap() }
}

#[test]
fn code_of_another_version_or_component_is_refused() {
    let machine = Machine::new();
    let other = std::fs::read(machine.bundle_for(&PULLEY, &probe(), "probe")).unwrap();
    let other = with_artifact(&machine, Exported::read(other).unwrap().artifact);
    machine.write("bad", other.written());
    let fault = machine.edge(&["run", "bad", "list"]).fault("PACKAGE_INVALID", 2);
    assert!(fault.message.contains("another component"), "{fault:?}");
    // What the engine's next version writes, whole and sealed.
    let mut next = with_artifact(&machine, Vec::new());
    let own = Exported::read(std::fs::read(machine.path("bundle")).unwrap()).unwrap().artifact;
    let version = own.windows(8).position(|text| text == b"-48.0.8-").unwrap();
    let mut artifact = own[..own.len() - 32].to_vec();
    artifact[version + 6] = b'9';
    artifact.extend_from_slice(Digest::of(Kind::Artifact, &artifact).as_bytes());
    next.artifact = artifact;
    machine.write("bad", next.written());
    let fault = machine.edge(&["run", "bad", "list"]).fault("COMPONENT_INVALID", 2);
    assert!(fault.message.contains("wasmtime-48.0.9"), "{fault:?}");
}

#[test]
fn words_that_the_program_does_not_know_are_refused() {
    let machine = Machine::new();
    let bundle = machine.bundle(&todo(), "bundle").display().to_string();
    for words in [
        &[][..],
        &["go"],
        &["run"],
        &["run", "--yess", &bundle],
        &["run", "--now", "yesterday", &bundle],
        &["run", "--limit", "fuel", &bundle],
        &["run", "--limit", "beer=1", &bundle],
        &["run", "--contract", "none", &bundle],
        &["verify", &bundle],
        &["verify", "--yes", "--state", "s", &bundle],
        &["verify", "--state", "s", &bundle, "more"],
        &["undo", &bundle],
        &["undo", "--now", "2027-01-01T00:00:00Z", "--state", "s", &bundle],
        &["undo", "--state", "s", &bundle, "more"],
    ] {
        machine.edge(words).fault("USAGE", 2);
    }
    machine.edge(&["verify", "--state", "s", &bundle]).fault("NOT_FOUND", 20);
    machine.edge(&["undo", "--state", "s", &bundle]).fault("NOT_FOUND", 20);
    assert!(machine.edge(&["--help"]).stdout.contains("hutch-edge run [FLAGS] BUNDLE"));
    assert_eq!(machine.edge(&["--version"]).stdout, concat!("hutch-edge ", env!("CARGO_PKG_VERSION"), "\n"));
    // What stands behind the bundle is the guest's.
    machine.edge(&["run", &bundle, "list", "--state", "s"]).fault("ARGUMENT_INVALID", 2);
    assert_eq!(machine.names(), ["bundle"]);
}

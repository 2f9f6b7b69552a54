//! Packed files: what comes out is what went in, and what is not all there is refused. Hostile archives are tried through the
//! program, in `tests/cli`.

use super::*;
use crate::package::{Package, PackageBounds, Source, SourceError, check};
use hutch_model::diagnostic::Diagnostic;
use std::fs;
use std::path::Path;

const BOUNDS: PackageBounds = PackageBounds {
    component_bytes_max: 1_000,
    component_bytes_asked_max: None,
    total_bytes_max: 10_000,
    entries_max: 40,
};

/// A package with a name for each way to write one: short, of exactly the length of tar's field, longer, and longest.
fn folder(at: &Path) {
    let file = |path: &str, content: &[u8]| {
        fs::create_dir_all(at.join(path).parent().unwrap()).unwrap();
        fs::write(at.join(path), content).unwrap();
    };
    file(
        "APP.md",
        b"---\nslug: todo\nname: To-do\ndescription: d\nversion: 0.1.0\nentry:\n  command: wasm:app.wasm\n\
          commands: [add]\nskills:\n  - usage\nmetadata:\n  hutch:\n    resources: [docs]\n---\nbody\n",
    );
    file("app/app.wasm", b"\0asm\x0d\0\x01\0");
    file("skills/usage/SKILL.md", b"---\nname: usage\ndescription: d\n---\nUse it.\n");
    file("docs/empty", b"");
    file("docs/block", &[7; 512]);
    file(&format!("docs/{}", "x".repeat(95)), b"a field");
    file(&format!("docs/{}", "y".repeat(96)), b"more than a field");
    file(&format!("docs/{0}/{0}/{0}/{1}", "z".repeat(250), "é".repeat(100)), b"long");
    fs::create_dir_all(at.join("docs/nothing here")).unwrap();
}

fn packed(package: &Package) -> Vec<u8> {
    let mut bytes = Vec::new();
    package.pack(&mut bytes).unwrap();
    bytes
}

fn opened(bytes: &[u8]) -> Result<Source, PackageError> {
    let mut file = tempfile::tempfile().unwrap();
    file.write_all(bytes).unwrap();
    Source::packed(file, &BOUNDS)
}

#[test]
fn what_is_packed_is_the_package() {
    let temp = tempfile::tempdir().unwrap();
    folder(temp.path());
    let source = Source::open(temp.path(), &BOUNDS).unwrap();
    let package = Package::open(&source, BOUNDS).unwrap();
    let bytes = packed(&package);
    let from_file = opened(&bytes).unwrap();
    assert_eq!(from_file.digest(&BOUNDS).unwrap(), source.digest(&BOUNDS).unwrap());
    let checked = check(&from_file, BOUNDS);
    assert_eq!(checked.diagnostics, []);
    let again = checked.package.unwrap();
    assert_eq!(again.files().unwrap(), package.files().unwrap());
    assert_eq!(again.component().unwrap(), package.component().unwrap());
    let resources = &again.manifest().resources()[0];
    assert_eq!(again.entries(resources).unwrap(), package.entries(resources).unwrap());
    assert_eq!(packed(&again), bytes, "a packed file of a packed file is the same");
    let absent = PackagePath::parse("docs/none").unwrap();
    assert_eq!(again.read(&absent).unwrap_err().code, Code::FileMissing);
    assert_eq!(again.read(&PackagePath::parse("docs").unwrap()).unwrap_err().code, Code::NotAFile);
    assert_eq!(from_file.read(&PackagePath::parse("APP.md").unwrap(), 10).unwrap_err().code, Code::FileTooLarge);
    assert_eq!(again.entries(&absent).unwrap(), []);
}

#[test]
fn a_part_of_a_packed_file_is_none() {
    let temp = tempfile::tempdir().unwrap();
    folder(temp.path());
    let source = Source::open(temp.path(), &BOUNDS).unwrap();
    let bytes = packed(&Package::open(&source, BOUNDS).unwrap());
    for length in (0..bytes.len()).step_by(64).chain([bytes.len() - 1, bytes.len() - 512]) {
        let refused = opened(&bytes[..length]).unwrap_err();
        assert!(refused.diagnostics().iter().all(|found| found.code == Code::ArchiveInvalid), "{length}: {refused}");
    }
    let mut longer = bytes.clone();
    longer.extend([0; 9 * 1024]);
    assert_eq!(opened(&longer).unwrap().digest(&BOUNDS).unwrap(), source.digest(&BOUNDS).unwrap(), "a whole record");
    for rest in [&[0; 10 * 1024][..], b"x"] {
        let longer = [&bytes, rest].concat();
        assert_eq!(opened(&longer).unwrap_err().diagnostics()[0].code, Code::ArchiveInvalid);
    }
}

#[test]
fn an_archive_may_end_anywhere_in_a_record() {
    let temp = tempfile::tempdir().unwrap();
    folder(temp.path());
    let mut seen = std::collections::BTreeSet::new();
    for blocks in 0..20 {
        fs::write(temp.path().join("docs/block"), vec![7; blocks * 400]).unwrap();
        let source = Source::open(temp.path(), &BOUNDS).unwrap();
        let mut bytes = packed(&Package::open(&source, BOUNDS).unwrap());
        // As GNU tar and Python's tarfile do: two empty blocks, and what is left of the record of 20.
        bytes.resize(bytes.len().next_multiple_of(20 * 512), 0);
        seen.insert(bytes.rchunks(512).take_while(|block| block.iter().all(|byte| *byte == 0)).count());
        assert_eq!(opened(&bytes).unwrap().digest(&BOUNDS).unwrap(), source.digest(&BOUNDS).unwrap(), "{blocks}");
        // More than any end of one is something else.
        let end = bytes.iter().rposition(|byte| *byte != 0).unwrap() + 1;
        bytes.resize(end.next_multiple_of(512) + 22 * 512, 0);
        let refused = opened(&bytes).err().unwrap().to_string();
        assert!(refused.contains("something follows the end"), "{refused}");
    }
    assert!(seen.contains(&21) && seen.len() > 10, "{seen:?}");
}

#[test]
fn one_changed_byte_is_refused_or_another_package_or_means_nothing() {
    let temp = tempfile::tempdir().unwrap();
    folder(temp.path());
    let source = Source::open(temp.path(), &BOUNDS).unwrap();
    let bytes = packed(&Package::open(&source, BOUNDS).unwrap());
    // The digest is of the files; folders that hold none have no part in it.
    let whole = |source: &Source| Ok::<_, PackageError>((source.digest(&BOUNDS)?, source.walk(None, &BOUNDS).entries));
    let good = whole(&source).unwrap();
    let (mut refused, mut other) = (0, 0);
    for at in 0..bytes.len() {
        let mut changed = bytes.clone();
        changed[at] ^= 0x15;
        match opened(&changed).and_then(|source| whole(&source)) {
            Err(_) => refused += 1,
            Ok(found) if found != good => other += 1,
            // What fills up a block after a file is read by nobody.
            Ok(_) => assert_eq!(bytes[at], 0, "{at}"),
        }
    }
    assert!(refused > 1_000 && other > 500, "{refused} {other}");
}

#[test]
fn bounds_hold_for_packed_files_too() {
    let temp = tempfile::tempdir().unwrap();
    folder(temp.path());
    let bytes = packed(&Package::open(&Source::open(temp.path(), &BOUNDS).unwrap(), BOUNDS).unwrap());
    let path = temp.path().join("packed");
    fs::write(&path, bytes).unwrap();
    for (bounds, code) in [
        (PackageBounds { entries_max: 10, ..BOUNDS }, Code::TooManyFiles),
        (PackageBounds { total_bytes_max: 600, ..BOUNDS }, Code::PackageTooLarge),
    ] {
        let Err(SourceError::Package(refused)) = Source::open(&path, &bounds) else { panic!("{code}") };
        let codes: Vec<Code> = refused.diagnostics().iter().map(|found: &Diagnostic| found.code).collect();
        assert_eq!(codes, [code]);
    }
    assert!(Package::open_at(&path).unwrap().is_packed());
    let source = Source::open(&path, &BOUNDS).unwrap();
    let bounds = PackageBounds { component_bytes_max: 7, ..BOUNDS };
    let refused = Package::open(&source, bounds).unwrap_err();
    assert_eq!(refused.code(), hutch_model::error_code::ErrorCode::ComponentLimit);
}

#[test]
fn a_file_that_becomes_shorter_is_said_to_be() {
    let temp = tempfile::tempdir().unwrap();
    folder(temp.path());
    let bytes = packed(&Package::open(&Source::open(temp.path(), &BOUNDS).unwrap(), BOUNDS).unwrap());
    let path = temp.path().join("packed");
    fs::write(&path, bytes).unwrap();
    let source = Source::open(&path, &BOUNDS).unwrap();
    fs::write(&path, "short").unwrap();
    let problem = source.read(&PackagePath::parse("APP.md").unwrap(), 1_000).unwrap_err();
    assert_eq!(problem.code, Code::FileUnreadable);
}

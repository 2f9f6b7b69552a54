//! Packed files: no path leads out or is there twice, what is read is what stands in the archive, what is accepted is written again as
//! the same package and then as the same bytes, and an archive takes memory in proportion to its size.
//!
//! The checksums of headers are mended first, or nearly nothing would be read beyond them.
#![no_main]

use hutch::package::{Package, PackageBounds, Source, check};
use hutch_fuzz::within;
use tar::Header;

const BLOCK_BYTES: usize = 512;

const BOUNDS: PackageBounds = PackageBounds {
    component_bytes_max: 4096,
    component_bytes_asked_max: None,
    total_bytes_max: 12_288,
    entries_max: 12,
};

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    let archive = mended(bytes);
    within((2 << 20) + 400 * bytes.len(), || open(archive));
});

/// The archive with the checksum in each header that its content has.
fn mended(bytes: &[u8]) -> Vec<u8> {
    let mut archive = bytes.to_vec();
    let mut at = 0;
    while let Some(block) = archive.get_mut(at..at.saturating_add(BLOCK_BYTES)) {
        at += BLOCK_BYTES;
        if block.iter().all(|byte| *byte == 0) {
            continue;
        }
        let mut header = Header::new_old();
        header.as_mut_bytes().copy_from_slice(block);
        header.set_cksum();
        block.copy_from_slice(header.as_bytes());
        let content = header.entry_size().ok().and_then(|bytes| usize::try_from(bytes).ok()).unwrap_or(usize::MAX);
        at = at.saturating_add(content.checked_next_multiple_of(BLOCK_BYTES).unwrap_or(usize::MAX));
    }
    archive
}

fn open(archive: Vec<u8>) {
    let Ok(source) = Source::packed_in_memory(archive.clone(), &BOUNDS) else { return };
    let digest = source.digest(&BOUNDS);
    let checked = check(&source, BOUNDS);
    assert_eq!(checked.package.is_some(), !checked.diagnostics.iter().any(|one| one.is_error()));
    assert!(checked.package.is_none() || digest.is_ok(), "a package that has no name");
    let opened = Package::open(&source, BOUNDS);
    assert!(checked.package.is_none() || opened.is_ok(), "what is a package can't be opened");
    let Ok(package) = opened else { return };

    let files = package.files().unwrap_or_else(|error| panic!("{error:?}"));
    assert!(files.len() <= BOUNDS.entries_max);
    assert!(files.is_sorted_by(|a, b| a.path < b.path), "a path is there twice: {files:?}");
    let mut total_bytes = 0;
    for entry in &files {
        let Some(bytes) = entry.file_bytes else { continue };
        total_bytes += bytes;
        if let Ok(content) = package.read(&entry.path) {
            assert_eq!(content.len() as u64, bytes);
            let stands = content.is_empty() || archive.windows(content.len()).any(|part| part == content);
            assert!(stands, "{} is not in the archive", entry.path);
        }
    }
    assert!(total_bytes <= BOUNDS.total_bytes_max && total_bytes <= archive.len() as u64);

    let Ok(digest) = digest else { return };
    let first = packed(&package);
    let again = Source::packed_in_memory(first.clone(), &BOUNDS).unwrap_or_else(|error| panic!("{error:?}"));
    assert_eq!(again.digest(&BOUNDS).ok(), Some(digest), "a package that is packed again is another one");
    let again = Package::open(&again, BOUNDS).unwrap_or_else(|error| panic!("{error:?}"));
    assert_eq!(packed(&again), first, "one package is packed in two ways");
}

fn packed(package: &Package) -> Vec<u8> {
    let mut bytes = Vec::new();
    package.pack(&mut bytes).unwrap_or_else(|error| panic!("{error}"));
    bytes
}

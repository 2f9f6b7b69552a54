//! Packages that are one file. Blocks that look like headers get the checksum that fits them, or hardly any input would be read further:
//! whoever means harm can count too. What is taken is the same package when it is packed again, and that in the same bytes each time.
#![no_main]

use hutch::package::{Package, PackageBounds, Source, check};
use hutch_fuzz::within;
use hutch_model::diagnostic::Diagnostic;

const BOUNDS: PackageBounds = PackageBounds {
    component_bytes_max: 4 << 10,
    component_bytes_asked_max: None,
    total_bytes_max: 32 << 10,
    entries_max: 40,
};

const BLOCK_BYTES: usize = 512;
const MAGIC: std::ops::Range<usize> = 257..262;
const CHECKSUM: std::ops::Range<usize> = 148..156;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    let archive = with_checksums(bytes);
    within((4 << 20) + 600 * bytes.len(), || read(archive));
});

fn with_checksums(bytes: &[u8]) -> Vec<u8> {
    let mut archive = bytes.to_vec();
    for header in archive.chunks_exact_mut(BLOCK_BYTES) {
        if header.get(MAGIC) != Some(b"ustar") {
            continue;
        }
        if let Some(sum) = header.get_mut(CHECKSUM) {
            sum.fill(b' ');
        }
        let sum: u32 = header.iter().copied().map(u32::from).sum();
        if let Some(field) = header.get_mut(CHECKSUM) {
            field.copy_from_slice(format!("{sum:06o}\0 ").as_bytes());
        }
    }
    archive
}

fn read(archive: Vec<u8>) {
    let source = match Source::packed_in_memory(archive, &BOUNDS) {
        Ok(source) => source,
        Err(error) => {
            assert!(error.diagnostics().iter().any(Diagnostic::is_error), "refused, and no reason");
            return;
        }
    };
    let checked = check(&source, BOUNDS);
    assert!(checked.diagnostics.len() <= 300, "{} problems", checked.diagnostics.len());
    for problem in &checked.diagnostics {
        assert!(!problem.to_string().contains(char::is_control), "{problem:?} acts on a terminal");
    }
    let sound = !checked.diagnostics.iter().any(Diagnostic::is_error);
    let opened = Package::open(&source, BOUNDS);
    assert!(opened.is_ok() || !sound, "it passes its check and does not open");
    let Ok(package) = opened else { return };
    let Ok(files) = package.files() else { return };
    assert!(files.len() <= BOUNDS.entries_max);
    for entry in &files {
        let path = entry.path.as_str();
        assert!(!path.starts_with('/') && path.split('/').all(|name| !matches!(name, "" | "." | "..")), "{path:?}");
        let read = package.read(&entry.path).map(|bytes| bytes.len() as u64).ok();
        assert_eq!(read, entry.file_bytes, "{path:?} holds something else than it says");
    }
    let pack = |package: &Package| {
        let mut bytes = Vec::new();
        package.pack(&mut bytes).map(|()| bytes).ok()
    };
    let Some(again) = pack(&package) else { panic!("what was read can't be packed") };
    let second = Source::packed_in_memory(again.clone(), &BOUNDS).ok().and_then(|it| Package::open(&it, BOUNDS).ok());
    let Some(second) = second else { panic!("what was packed does not open") };
    assert_eq!(second.digest().ok(), package.digest().ok());
    assert_eq!(pack(&second), Some(again), "packed twice, it has other bytes");
}

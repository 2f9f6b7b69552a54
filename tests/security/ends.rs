//! What a test saw runs come to, for the column of `tests/security/cases`: a line for each, in the file that `HUTCH_TEST_ENDS` names, if it names
//! one.

use std::io::Write;

/// A call that this test made came to this: `exited`, `limited`, `trapped`, `failed`, `refused`, or a code of the host's.
pub(crate) fn saw(end: &str) {
    let Some(file) = std::env::var_os("HUTCH_TEST_ENDS") else { return };
    // The name of a test is that of its thread, and has two parts unless it stands at the top; what runs in another is somebody else's to tell.
    let (program, thread) = (std::env::current_exe().expect("a path"), std::thread::current());
    let program = program.file_stem().and_then(|name| name.to_str()).expect("a name");
    let (program, _) = program.rsplit_once('-').expect("a name and what it was made of");
    if let Some(test) = thread.name().filter(|name| *name != "main") {
        let file = std::fs::OpenOptions::new().append(true).create(true).open(file);
        file.expect("a file").write_all(format!("{program}::{test}\t{end}\n").as_bytes()).expect("it is written");
    }
}

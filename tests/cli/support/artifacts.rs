//! Compiled artifacts are shared by all tests of the program, and with them the key that they are sealed with: they are a function of the
//! component, and compiling takes longer than any test.

use std::io::Write;
use std::path::Path;

/// Where they are: what `XDG_CACHE_HOME` names.
pub(crate) const CACHE: &str = env!("CARGO_TARGET_TMPDIR");

/// The key in a home.
const KEY: &str = "artifacts.key";

/// Puts the tests' key where a home is, or will be.
pub(crate) fn keep_key(home: &Path) {
    std::fs::create_dir_all(home).expect("a home");
    let mut options = std::fs::File::options();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    if let Ok(mut file) = options.open(home.join(KEY)) {
        file.write_all(&[7; 32]).expect("a key");
    }
}

/// Whether a home holds nothing of the program's.
#[allow(dead_code, reason = "each test program uses its part of this module")]
pub(crate) fn is_untouched(home: &Path) -> bool {
    let names = std::fs::read_dir(home).expect("a home").map(|entry| entry.expect("an entry").file_name());
    names.eq([KEY])
}

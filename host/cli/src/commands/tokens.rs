//! The file of a server's tokens: made once, readable by its owner alone, and read when serving begins. No token stands on a command line.

use crate::machine::input;
use crate::machine::new_file::NewFile;
use crate::machine::place::make_private;
use crate::machine::surroundings;
use crate::refusal::fault::Fault;
use data_encoding::BASE64URL_NOPAD;
use hutch_model::error_code::ErrorCode;
use hutch_model::error_report::ErrorReport;
use hutch_serve::http::Token;
use std::path::Path;
use std::time::Duration;

/// The name of the file that is made in the home.
pub(crate) const FILE: &str = "serve.tokens";
/// The most bytes of such a file.
const BYTES_MAX: u64 = 64 << 10;

/// Makes the file with two tokens, unless something is there: a person's, and one for a program that may not agree to anything.
pub(crate) fn make(path: &Path) -> Result<(), Fault> {
    if crate::package::packages::is_there(path) {
        return Ok(());
    }
    if let Some(folder) = path.parent() {
        make_private(folder)?;
    }
    let secret = || Ok::<String, Fault>(BASE64URL_NOPAD.encode(&surroundings::random_seed()?.0));
    let text = format!(
        "# Tokens of hutch serve: a name, scopes (read, run, confirm, admin) and the token.\n\
         operator read,run,confirm,admin {}\nagent read,run {}\n",
        secret()?,
        secret()?
    );
    let mut file = NewFile::begin_private(path)?;
    file.writer().write_all(text.as_bytes()).map_err(|error| Fault::file(path, &error))?;
    match file.keep() {
        // Another process made one meanwhile.
        Err(fault) if fault.report().code == ErrorCode::AlreadyExists => Ok(()),
        kept => kept.map(drop),
    }
}

/// Reads the file. One that others can read is nobody's secret.
#[expect(clippy::disallowed_methods, reason = "the operator named the file; who may read it decides")]
pub(crate) fn read(path: &Path, wait: Duration) -> Result<Vec<Token>, Fault> {
    let found = path.metadata().map_err(|error| Fault::file(path, &error))?;
    if is_shared(&found) {
        let message = format!("{} can be read by others", path.display());
        let report = ErrorReport::new(ErrorCode::PermissionDenied, message);
        return Err(report.suggest(format!("chmod 600 {}, and replace its tokens", path.display())).into());
    }
    let text = input::whole(path, BYTES_MAX, wait)?;
    let text = String::from_utf8(text).map_err(|_| Fault::usage(format!("{} is no text", path.display())))?;
    Token::read_all(&text).map_err(|reason| Fault::usage(format!("{}: {reason}", path.display())))
}

#[cfg(unix)]
fn is_shared(found: &std::fs::Metadata) -> bool {
    std::os::unix::fs::MetadataExt::mode(found) & 0o077 != 0
}

#[cfg(not(unix))]
fn is_shared(_: &std::fs::Metadata) -> bool {
    false
}

//! Bundles: the file that is named, or the one that this program ends with.

use crate::application::Application;
use crate::report::{of, usage};
use hutch::Exported;
use hutch_model::error_code::ErrorCode;
use hutch_model::error_report::ErrorReport;
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

/// What stands behind this program.
pub(crate) struct Own {
    pub(crate) exported: Exported,
    program: PathBuf,
}

impl Own {
    /// Where its state is kept if nobody says: beside it, if it has any.
    pub(crate) fn state(&self, application: &Application) -> Option<PathBuf> {
        let mut path = self.program.clone().into_os_string();
        path.push(".state");
        (!application.package().manifest().volumes().is_empty()).then(|| path.into())
    }
}

/// The bundle that this program ends with, if it does.
///
/// # Errors
/// It ends with one that is damaged; the program's own file can't be read.
#[expect(clippy::disallowed_methods, reason = "the program is its own package")]
pub(crate) fn bundle() -> Result<Option<Own>, ErrorReport> {
    let failed = |error: io::Error| {
        ErrorReport::new(ErrorCode::HostFault, format!("the program's own file can't be read: {error}"))
    };
    let program = std::env::current_exe().map_err(failed)?;
    let mut file = File::open(&program).map_err(failed)?;
    Ok(match behind(&mut file).map_err(failed)? {
        Some(bytes) => Some(Own { exported: Exported::read(bytes).map_err(of)?, program }),
        None => None,
    })
}

/// The end of a file that is a bundle.
fn behind(file: &mut File) -> io::Result<Option<Vec<u8>>> {
    let whole = file.seek(SeekFrom::End(0))?;
    let Some(footer_at) = whole.checked_sub(Exported::FOOTER_BYTES as u64) else { return Ok(None) };
    let mut footer = Vec::new();
    file.seek(SeekFrom::Start(footer_at))?;
    file.read_to_end(&mut footer)?;
    let Some(length) = Exported::length(&footer) else { return Ok(None) };
    let mut bytes = Vec::new();
    // One that says that it is longer than the file is damaged, and reading it says so.
    file.seek(SeekFrom::Start(whole.saturating_sub(length)))?;
    file.read_to_end(&mut bytes)?;
    Ok(Some(bytes))
}

/// The bundle that a file is.
///
/// # Errors
/// It is none, is damaged, or can't be read.
#[expect(clippy::disallowed_methods, reason = "the caller named the file")]
pub(crate) fn read(path: &Path) -> Result<Exported, ErrorReport> {
    let place = |report: ErrorReport| report.of(path.display());
    // Opening a pipe would wait for its other end.
    let found = std::fs::metadata(path).and_then(|found| match found.is_file() {
        true => std::fs::read(path),
        false => Err(io::ErrorKind::InvalidInput.into()),
    });
    let bytes = found.map_err(|error| {
        let report = match error.kind() {
            io::ErrorKind::NotFound => ErrorReport::new(ErrorCode::PackageNotFound, "there is no bundle"),
            io::ErrorKind::PermissionDenied => ErrorReport::new(ErrorCode::PermissionDenied, error.to_string()),
            io::ErrorKind::InvalidInput => usage("is no file"),
            _ => ErrorReport::new(ErrorCode::HostFault, error.to_string()),
        };
        place(report.suggest("name a file that hutch pack --compiled wrote"))
    })?;
    Exported::read(bytes).map_err(of).map_err(place)
}

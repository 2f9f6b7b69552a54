//! A file that a caller wants written: as a whole or not at all. One that is there is left alone: the same bytes are what was asked
//! for, other bytes are somebody's.

use crate::refusal::fault::Fault;
use hutch_model::error_code::ErrorCode;
use hutch_model::error_report::ErrorReport;
use std::fs::{File, Metadata};
use std::io::{self, BufReader, Read, Write};
use std::path::{Path, PathBuf};
use tempfile::{NamedTempFile, TempPath};

/// A file that is written aside until it is whole.
#[derive(Debug)]
pub(crate) struct NewFile {
    aside: NamedTempFile,
    path: PathBuf,
}

impl NewFile {
    /// Begins to write the file at `path`, beside it.
    pub(crate) fn begin(path: &Path) -> Result<NewFile, Fault> {
        NewFile::begin_with(path, 0o666)
    }

    /// The same, of a file that can be started.
    pub(crate) fn begin_program(path: &Path) -> Result<NewFile, Fault> {
        NewFile::begin_with(path, 0o777)
    }

    fn begin_with(path: &Path, mode: u32) -> Result<NewFile, Fault> {
        let aside = builder(mode).tempfile_in(folder_of(path)).map_err(|error| Fault::file(path, &error))?;
        Ok(NewFile { aside, path: path.to_owned() })
    }

    /// The same, of a file that nobody else may read.
    pub(crate) fn begin_private(path: &Path) -> Result<NewFile, Fault> {
        let aside = NamedTempFile::new_in(folder_of(path)).map_err(|error| Fault::file(path, &error))?;
        Ok(NewFile { aside, path: path.to_owned() })
    }

    /// The same, of one that is whole, and lies elsewhere on the same file system.
    #[expect(clippy::disallowed_methods, reason = "the caller wrote the file")]
    pub(crate) fn of(whole: &Path, path: &Path) -> Result<NewFile, Fault> {
        let aside = TempPath::try_from_path(whole).and_then(|whole| {
            let file = File::options().read(true).write(true).open(&whole)?;
            Ok(NamedTempFile::from_parts(file, whole))
        });
        Ok(NewFile { aside: aside.map_err(|error| Fault::file(path, &error))?, path: path.to_owned() })
    }

    /// Where its bytes go.
    pub(crate) fn writer(&mut self) -> &mut dyn Write {
        self.aside.as_file_mut()
    }

    /// The same, for what goes back to a place before.
    pub(crate) fn file(&mut self) -> &mut File {
        self.aside.as_file_mut()
    }

    /// The file, to be read from its beginning.
    pub(crate) fn reopen(&self) -> Result<File, Fault> {
        self.aside.reopen().map_err(|error| Fault::file(&self.path, &error))
    }

    /// Writes all of it, and gives it its name.
    pub(crate) fn filled(mut self, bytes: &[u8]) -> Result<(), Fault> {
        self.aside.as_file_mut().write_all(bytes).map_err(|error| Fault::file(&self.path, &error))?;
        self.keep().map(drop)
    }

    /// Gives it its name, and says its size.
    pub(crate) fn keep(self) -> Result<u64, Fault> {
        let NewFile { aside, path } = self;
        let failed = |error: &io::Error| Fault::file(&path, error);
        aside.as_file().sync_all().map_err(|error| failed(&error))?;
        let bytes = aside.as_file().metadata().map_err(|error| failed(&error))?.len();
        match aside.persist_noclobber(&path) {
            Ok(_) => Ok(bytes),
            Err(error) if error.error.kind() == io::ErrorKind::AlreadyExists => {
                match is_same(&error.file, &path).map_err(|error| failed(&error))? {
                    true => Ok(bytes),
                    false => Err(is_another(&path)),
                }
            }
            Err(error) => Err(failed(&error.error)),
        }
    }
}

/// A file that is opened before its bytes are known, because by then no path leads to it: it is empty until it has them.
#[derive(Debug)]
pub(crate) struct Reserved {
    path: PathBuf,
    /// What is there already.
    there: Vec<u8>,
    /// Where they go; nowhere in a preview, or where something is there.
    file: Option<File>,
    /// Whether it was made for them.
    is_made: bool,
}

impl Reserved {
    /// Makes the file, or looks at the one that is there.
    #[expect(clippy::disallowed_methods, reason = "the caller named the file; nothing that is there is overwritten")]
    pub(crate) fn open(path: &Path, bytes_max: u64, dry_run: bool) -> Result<Reserved, Fault> {
        let failed = |error: io::Error| Fault::file(path, &error);
        let there = match path.symlink_metadata() {
            Ok(found) if !found.is_file() || found.len() > bytes_max => return Err(is_another(path)),
            Ok(_) => Some(std::fs::read(path).map_err(failed)?),
            Err(error) if error.kind() == io::ErrorKind::NotFound => None,
            Err(error) => return Err(failed(error)),
        };
        let is_made = there.is_none() && !dry_run;
        let file = match &there {
            None if dry_run => preview(path, b"").map(|()| None)?,
            None => Some(File::create_new(path).map_err(failed)?),
            Some(bytes) if bytes.is_empty() && !dry_run => {
                Some(File::options().write(true).open(path).map_err(failed)?)
            }
            Some(_) => None,
        };
        Ok(Reserved { path: path.to_owned(), there: there.unwrap_or_default(), file, is_made })
    }

    /// Gives it its bytes; whether it had others, which is none, before.
    pub(crate) fn fill(mut self, bytes: &[u8]) -> Result<bool, Fault> {
        if !self.there.is_empty() {
            return if self.there == bytes { Ok(false) } else { Err(is_another(&self.path)) };
        }
        if let Some(file) = &mut self.file {
            let written = file.write_all(bytes).and_then(|()| file.sync_all());
            written.map_err(|error| Fault::file(&self.path, &error))?;
        }
        self.is_made = false;
        Ok(true)
    }
}

impl Drop for Reserved {
    #[expect(clippy::disallowed_methods, reason = "it was made here, and nothing came of it")]
    fn drop(&mut self) {
        if self.is_made {
            // Behind the rings it stays, and is empty.
            let _ = std::fs::remove_file(&self.path);
        }
    }
}

/// Writes a file that is not there yet, or sees whether it could be.
pub(crate) fn write(path: &Path, bytes: &[u8], dry_run: bool) -> Result<(), Fault> {
    if dry_run { preview(path, bytes) } else { NewFile::begin(path)?.filled(bytes) }
}

/// Writes a file in the place of the one that is there: a reader finds the one or the other, and who could not read the one can't read the other.
/// Links that lead to it stay.
#[expect(clippy::disallowed_methods, reason = "the caller named the file")]
pub(crate) fn replace(path: &Path, bytes: &[u8]) -> Result<(), Fault> {
    let failed = |error: io::Error| Fault::file(path, &error);
    if path.symlink_metadata().is_err_and(|error| error.kind() == io::ErrorKind::NotFound) {
        return NewFile::begin(path)?.filled(bytes);
    }
    let place = path.canonicalize().map_err(failed)?;
    let before = place.metadata().map_err(failed)?;
    let mut aside = NewFile::begin_private(&place)?.aside;
    aside.write_all(bytes).and_then(|()| take_after(aside.as_file(), &before)).map_err(failed)?;
    aside.as_file().sync_all().map_err(failed)?;
    aside.persist(&place).map(drop).map_err(|error| failed(error.error))
}

/// Gives a new file the owner, the group and the mode of the one in whose place it goes. A group that can't be given may do nothing.
fn take_after(file: &File, before: &Metadata) -> io::Result<()> {
    #[cfg(unix)]
    {
        use std::os::unix::fs::{MetadataExt, PermissionsExt, fchown};
        let group = Some(before.gid());
        let given = fchown(file, Some(before.uid()), group).or_else(|_| fchown(file, None, group));
        let kept = if given.is_ok() { 0o777 } else { 0o707 };
        file.set_permissions(std::fs::Permissions::from_mode(before.mode() & kept))
    }
    #[cfg(not(unix))]
    file.set_permissions(before.permissions())
}

/// Whether the file could be written, without writing it.
#[expect(clippy::disallowed_methods, reason = "the caller named the file; nothing that is there is overwritten")]
pub(crate) fn preview(path: &Path, bytes: &[u8]) -> Result<(), Fault> {
    let folder = folder_of(path);
    hutch::package::open_folder(folder).map_err(|error| Fault::file(folder, &error))?;
    let there = path.symlink_metadata().is_ok_and(|found| found.is_file()).then(|| std::fs::read(path).ok());
    if path.symlink_metadata().is_ok() && there.flatten().as_deref() != Some(bytes) {
        return Err(is_another(path));
    }
    Ok(())
}

/// The folder that a file lies in.
pub(crate) fn folder_of(path: &Path) -> &Path {
    match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    }
}

pub(crate) fn is_another(path: &Path) -> Fault {
    let message = format!("{} is there already, and is another file", path.display());
    ErrorReport::new(ErrorCode::AlreadyExists, message).suggest("remove it, or name another with --output").into()
}

/// A new file that can be used by whom the umask lets.
#[cfg_attr(not(unix), expect(unused_variables, reason = "there are no modes"))]
fn builder(mode: u32) -> tempfile::Builder<'static, 'static> {
    let mut builder = tempfile::Builder::new();
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        builder.permissions(std::fs::Permissions::from_mode(mode));
    }
    builder
}

#[expect(clippy::disallowed_methods, reason = "the caller named the file")]
fn is_same(written: &NamedTempFile, path: &Path) -> io::Result<bool> {
    let (one, found) = (written.reopen()?, path.symlink_metadata()?);
    // Opening anything else could wait, or follow a link.
    if !found.is_file() || found.len() != one.metadata()?.len() {
        return Ok(false);
    }
    let other = File::open(path)?;
    let (mut one, mut other) = (BufReader::new(one).bytes(), BufReader::new(other).bytes());
    loop {
        match (one.next().transpose()?, other.next().transpose()?) {
            (None, None) => return Ok(true),
            (one, other) if one == other => {}
            _ => return Ok(false),
        }
    }
}

//! Real folders that the operator grants. Each is opened once, and everything below goes through that handle without following a
//! link, so nothing outside it is reached, whatever a guest or another process puts there meanwhile. What a run wants changed is
//! carried out after its good end: new content is written aside and moved into place.

use cap_fs_ext::{DirExt, FollowSymlinks, OpenOptionsFollowExt, OpenOptionsSyncExt, SystemTimeSpec};
use cap_std::fs::{Dir, File, OpenOptions};
use cap_std::time::{Duration, SystemClock, SystemTime};
use hutch_model::invocation::Access;
use hutch_model::mount::{Made, MadeFile, MountChanges, RealEntry, RealFolder, RealKind};
use hutch_model::snapshot::{CHUNK_BYTES, Name};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

/// Begins the names of files on their way into a granted folder. A guest can make such a name too: then placing fails, and nothing
/// is lost.
const STAGED: &str = ".hutch-staged-";

/// A granted folder.
pub struct Mount {
    dir: Dir,
    /// Where it is, for the ledger and for messages.
    pub path: PathBuf,
    /// What the guest may do.
    pub access: Access,
}

impl Mount {
    /// Opens a folder for a guest.
    ///
    /// # Errors
    /// It is no folder, or can't be opened.
    pub fn open(path: &Path, access: Access) -> io::Result<Mount> {
        Ok(Mount { dir: crate::package::open_folder(path)?, path: path.to_owned(), access })
    }

    /// The folder as a guest's world reads it.
    pub(crate) fn reader(&self) -> io::Result<Box<dyn RealFolder>> {
        Ok(Box::new(Reader(self.dir.try_clone()?)))
    }

    /// Carries out what a run wants changed: writes all new content aside, then removes, then moves into place.
    ///
    /// # Errors
    /// The system refuses a step. What was done until then stays; content that was written aside is removed.
    pub(crate) fn apply(&self, changes: &MountChanges) -> io::Result<()> {
        let mut staged = Vec::new();
        let done = self.carry_out(changes, &mut staged);
        for name in staged {
            // Placed ones are gone already.
            let _ = self.dir.remove_file(name);
        }
        done
    }

    fn carry_out(&self, changes: &MountChanges, staged: &mut Vec<String>) -> io::Result<()> {
        let mut files = Vec::new();
        for (path, made) in &changes.made {
            if let Made::File(file) = made {
                let name = format!("{STAGED}{}-{}", std::process::id(), staged.len());
                self.stage(&name, file, staged)?;
                files.push((path, name));
            }
        }
        for path in &changes.removed {
            let (folder, name) = self.parent(path)?;
            match folder.symlink_metadata(name) {
                Ok(metadata) if metadata.is_dir() => folder.remove_dir_all(name)?,
                Ok(_) => folder.remove_file(name)?,
                // Somebody else was faster.
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                Err(error) => return Err(error),
            }
        }
        for (path, made) in &changes.made {
            let (folder, name) = self.parent(path)?;
            match made {
                Made::Folder => folder.create_dir(name)?,
                Made::Link { target } => folder.symlink(Path::new(&**target), name)?,
                Made::File(_) => {
                    let staged = files.iter().find(|(made, _)| *made == path).map(|(_, staged)| staged.as_str());
                    self.dir.rename(staged.unwrap_or_default(), &folder, name)?;
                }
            }
        }
        Ok(())
    }

    fn stage(&self, name: &str, file: &MadeFile, staged: &mut Vec<String>) -> io::Result<()> {
        let mut options = OpenOptions::new();
        options.write(true).create_new(true);
        let mut out = self.dir.open_with(name, &options)?;
        staged.push(name.to_owned());
        if let Some((base, visible)) = &file.base {
            let mut from = open_file(&self.dir, base)?;
            out.set_permissions(from.metadata()?.permissions())?;
            io::copy(&mut Read::by_ref(&mut from).take(*visible), &mut out)?;
        }
        for (offset, bytes) in &file.written {
            out.seek(SeekFrom::Start(*offset))?;
            out.write_all(bytes)?;
        }
        out.set_len(file.size)?;
        out.sync_all()?;
        let modified = SystemClock::UNIX_EPOCH + Duration::from_nanos(file.modified_ns);
        self.dir.set_mtime(name, SystemTimeSpec::from(modified))
    }

    fn parent<'p>(&self, path: &'p str) -> io::Result<(Dir, &'p str)> {
        match path.rsplit_once('/') {
            None => Ok((self.dir.try_clone()?, path)),
            Some((above, name)) => Ok((open_folder_below(&self.dir, above)?, name)),
        }
    }
}

struct Reader(Dir);

impl RealFolder for Reader {
    fn list(&mut self, path: &str) -> Result<Vec<RealEntry>, String> {
        let list = || -> io::Result<Vec<RealEntry>> {
            let folder = open_folder_below(&self.0, path)?;
            let mut entries = Vec::new();
            for entry in folder.entries()? {
                let entry = entry?;
                let Ok(text) = entry.file_name().into_string() else { continue };
                let Ok(name) = Name::new(&text) else { continue };
                let metadata = match folder.symlink_metadata(&text) {
                    Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
                    metadata => metadata?,
                };
                let kind = if metadata.is_dir() {
                    RealKind::Folder
                } else if metadata.is_file() {
                    RealKind::File { size: metadata.len() }
                } else if metadata.is_symlink() {
                    let Some(target) = folder.read_link_contents(&text)?.to_str().map(Box::from) else { continue };
                    RealKind::Link { target }
                } else {
                    continue;
                };
                entries.push(RealEntry { name, modified_ns: unix_ns(metadata.modified()?), kind });
            }
            Ok(entries)
        };
        list().map_err(|error| format!("{path:?}: {error}"))
    }

    fn read(&mut self, path: &str, offset: u64, length: u64) -> Result<Vec<u8>, String> {
        let read = || -> io::Result<Vec<u8>> {
            let mut file = open_file(&self.0, path)?;
            file.seek(SeekFrom::Start(offset))?;
            let mut bytes = Vec::with_capacity(length.min(CHUNK_BYTES) as usize);
            file.take(length).read_to_end(&mut bytes)?;
            Ok(bytes)
        };
        read().map_err(|error| format!("{path:?}: {error}"))
    }
}

fn unix_ns(time: SystemTime) -> u64 {
    let since = time.duration_since(SystemClock::UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_nanos()).unwrap_or(u64::MAX)
}

/// A folder below another, name by name, so that no link on the way is followed.
fn open_folder_below(dir: &Dir, path: &str) -> io::Result<Dir> {
    let mut at = dir.try_clone()?;
    for name in path.split('/').filter(|name| !name.is_empty()) {
        at = at.open_dir_nofollow(name)?;
    }
    Ok(at)
}

/// A regular file below a folder. It is opened without waiting, so that a pipe in its place can't hold the host up.
fn open_file(dir: &Dir, path: &str) -> io::Result<File> {
    let (above, name) = path.rsplit_once('/').unwrap_or(("", path));
    let mut options = OpenOptions::new();
    options.read(true).follow(FollowSymlinks::No).nonblock(true);
    let file = open_folder_below(dir, above)?.open_with(name, &options)?;
    match file.metadata()?.is_file() {
        true => Ok(file),
        false => Err(io::Error::new(io::ErrorKind::InvalidInput, "is no regular file")),
    }
}

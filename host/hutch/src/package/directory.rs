//! The files of a package, read through one `cap_std` directory: nothing outside it is opened, nothing special is opened at
//! all, and every read and every walk has a bound. Knows no file's meaning.

use super::files::{Found, PackageBounds, PackageEntry, Walk, problem};
use super::packed::PROBLEMS_MAX;
use cap_fs_ext::OpenOptionsSyncExt;
use cap_std::fs::{Dir, File, Metadata, OpenOptions};
use hutch_model::diagnostic::{Code, Diagnostic};
use hutch_model::names::PackagePath;
use std::collections::BTreeMap;
use std::io::{self, Read, Seek, SeekFrom};

fn unreadable(path: &str, error: &io::Error) -> Diagnostic {
    problem(Code::FileUnreadable, path, format!("the system said: {}", error.kind()))
}

/// What stands at `path`. A link counts as the file that it leads to, if that lies in the package.
///
/// # Errors
/// A link that is refused, something that is neither file nor folder, or the system's refusal.
pub(super) fn look(dir: &Dir, path: &PackagePath) -> Result<Found, Diagnostic> {
    let mut parent = String::new();
    for component in path.components() {
        let here = if parent.is_empty() { component.to_owned() } else { format!("{parent}/{component}") };
        match look_at(dir, &here)? {
            Found::Folder if here != path.as_str() => parent = here,
            Found::File(_) if here != path.as_str() => return Ok(Found::Nothing),
            found => return Ok(found),
        }
    }
    Ok(Found::Nothing)
}

/// What stands at `path`, of which every parent is known to be a folder and no link.
fn look_at(dir: &Dir, path: &str) -> Result<Found, Diagnostic> {
    let metadata = match dir.symlink_metadata(path) {
        Ok(metadata) => metadata,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Found::Nothing),
        Err(error) => return Err(unreadable(path, &error)),
    };
    if !metadata.is_symlink() {
        return found(&metadata).ok_or_else(|| special(path));
    }
    let refused = |why: &str| problem(Code::LinkRefused, path, format!("the link {why}"));
    match dir.metadata(path) {
        Ok(target) => match found(&target) {
            Some(Found::File(bytes)) => Ok(Found::File(bytes)),
            Some(_) => Err(refused("leads to a folder")),
            None => Err(special(path)),
        },
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => Err(refused("leaves the package")),
        Err(_) => Err(refused("leads nowhere")),
    }
}

fn found(metadata: &Metadata) -> Option<Found> {
    match metadata {
        _ if metadata.is_dir() => Some(Found::Folder),
        _ if metadata.is_file() => Some(Found::File(metadata.len())),
        _ => None,
    }
}

fn special(path: &str) -> Diagnostic {
    problem(Code::SpecialFile, path, "a pipe, a socket or a device stands here")
}

/// The content of the file at `path`, or `None` if nothing is there. The file is looked at before it is opened, and again
/// after: what was a file a moment ago may be a pipe now, and opening must not wait for its other end.
///
/// # Errors
/// What [`look`] says, a folder, or a file that is longer than `bytes_max`.
pub(super) fn read(dir: &Dir, path: &PackagePath, bytes_max: u64) -> Result<Option<Vec<u8>>, Diagnostic> {
    let Some((file, length)) = opened(dir, path, bytes_max)? else { return Ok(None) };
    let mut bytes = Vec::with_capacity(usize::try_from(length).unwrap_or(0));
    let read = file.take(bytes_max.saturating_add(1)).read_to_end(&mut bytes);
    read.map_err(|error| unreadable(path.as_str(), &error))?;
    if bytes.len() as u64 > bytes_max {
        return Err(too_large(path.as_str(), bytes.len() as u64, bytes_max));
    }
    Ok(Some(bytes))
}

/// So many bytes of a file from a place, or fewer if it ends before.
pub(super) fn read_part(dir: &Dir, path: &PackagePath, at: u64, bytes: u64) -> Result<Option<Vec<u8>>, Diagnostic> {
    let Some((mut file, _)) = opened(dir, path, u64::MAX)? else { return Ok(None) };
    let mut read = Vec::with_capacity(usize::try_from(bytes).unwrap_or(0));
    let done = file.seek(SeekFrom::Start(at)).and_then(|_| file.take(bytes).read_to_end(&mut read));
    done.map_err(|error| unreadable(path.as_str(), &error))?;
    Ok(Some(read))
}

fn too_large(path: &str, bytes: u64, bytes_max: u64) -> Diagnostic {
    problem(Code::FileTooLarge, path, format!("{bytes} bytes, {bytes_max} allowed"))
}

/// A file of at most so many bytes, with its length.
fn opened(dir: &Dir, path: &PackagePath, bytes_max: u64) -> Result<Option<(File, u64)>, Diagnostic> {
    let text = path.as_str();
    let length = match look(dir, path)? {
        Found::Nothing => return Ok(None),
        Found::Folder => return Err(problem(Code::NotAFile, text, "expected a file, found a folder")),
        Found::File(length) if length > bytes_max => return Err(too_large(text, length, bytes_max)),
        Found::File(length) => length,
    };
    let mut options = OpenOptions::new();
    options.read(true).nonblock(true);
    let file = dir.open_with(text, &options).map_err(|error| unreadable(text, &error))?;
    let metadata = file.metadata().map_err(|error| unreadable(text, &error))?;
    if !metadata.is_file() {
        return Err(special(text));
    }
    Ok(Some((file, length)))
}

/// Looks at everything below `root`, or below the package's root for `None`, and opens no file.
pub(super) fn walk(dir: &Dir, root: Option<&PackagePath>, bounds: &PackageBounds) -> Walk {
    let mut walk = Walk::default();
    let mut pending: Vec<String> = vec![root.map(ToString::to_string).unwrap_or_default()];
    let (mut total_bytes, mut looked) = (0_u64, 0);
    while let Some(folder) = pending.pop() {
        for name in walk.names(dir, &folder, bounds) {
            looked += 1;
            if looked > bounds.entries_max {
                let message = format!("more than {} files and folders", bounds.entries_max);
                walk.end(problem(Code::TooManyFiles, &folder, message));
                return walk.sorted();
            }
            let path = if folder.is_empty() { name } else { format!("{folder}/{name}") };
            let path = match PackagePath::parse(&path) {
                Ok(path) => path,
                Err(_) if path.split('/').count() > PackagePath::COMPONENTS_MAX => {
                    let message = format!("nested deeper than {} levels", PackagePath::COMPONENTS_MAX);
                    walk.report(problem(Code::TooDeep, &folder, message));
                    break;
                }
                Err(error) => {
                    walk.report(problem(Code::NameNotPortable, &path, error.to_string()));
                    continue;
                }
            };
            let file_bytes = match look_at(dir, path.as_str()) {
                Ok(Found::Folder) => {
                    pending.push(path.to_string());
                    None
                }
                Ok(Found::File(bytes)) => Some(bytes),
                Ok(Found::Nothing) => continue,
                Err(problem) => {
                    walk.report(problem);
                    continue;
                }
            };
            total_bytes = total_bytes.saturating_add(file_bytes.unwrap_or(0));
            if total_bytes > bounds.total_bytes_max {
                let message = format!("more than {} bytes of files", bounds.total_bytes_max);
                walk.end(problem(Code::PackageTooLarge, path.as_str(), message));
                return walk.sorted();
            }
            walk.entries.push(PackageEntry { path, file_bytes });
        }
    }
    walk.sorted()
}

impl Walk {
    /// The names in a folder, sorted. Of names that differ in case alone only the first can exist everywhere.
    fn names(&mut self, dir: &Dir, folder: &str, bounds: &PackageBounds) -> Vec<String> {
        let shown = if folder.is_empty() { "." } else { folder };
        let listing = match dir.read_dir(shown) {
            Ok(listing) => listing,
            Err(error) => {
                self.report(unreadable(shown, &error));
                return Vec::new();
            }
        };
        let mut names = Vec::new();
        // One more than there may be, so that it shows.
        for entry in listing.take(bounds.entries_max.saturating_add(1)) {
            match entry.map(|entry| entry.file_name().into_string()) {
                Ok(Ok(name)) => names.push(name),
                Ok(Err(name)) => {
                    let message = format!("{name:?} is not UTF-8");
                    self.report(problem(Code::NameNotPortable, shown, message));
                }
                Err(error) => self.report(unreadable(shown, &error)),
            }
        }
        names.sort_unstable();
        let mut lower: BTreeMap<String, &str> = BTreeMap::new();
        for name in &names {
            if let Some(other) = lower.insert(name.to_lowercase(), name) {
                let message = format!("{name:?} and {other:?} are one name where case does not count");
                self.report(problem(Code::NameNotPortable, shown, message));
            }
        }
        names
    }

    fn report(&mut self, found: Diagnostic) {
        match self.problems.len() {
            0..PROBLEMS_MAX => self.problems.push(found),
            PROBLEMS_MAX => self.end(problem(Code::TooManyProblems, ".", format!("more than {PROBLEMS_MAX} problems"))),
            _ => {}
        }
    }

    /// Reports what ends the walk, whatever was reported before.
    fn end(&mut self, found: Diagnostic) {
        self.problems.push(found);
    }

    fn sorted(mut self) -> Walk {
        self.entries.sort_unstable_by(|a, b| a.path.cmp(&b.path));
        self
    }
}

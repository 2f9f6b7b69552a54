//! The few things that are ever done to a real folder. Every name is one component below an open folder, and no link is
//! followed: what lies outside can't be reached, whatever stands in a folder. The only module that changes files.
//!
//! In tests each change counts as one step and can be made to fail, alone or with all that follow, as if the process had
//! ended there.

use cap_fs_ext::{DirExt, FollowSymlinks, MetadataExt, OpenOptionsFollowExt, OpenOptionsSyncExt, SystemTimeSpec};
use cap_std::fs::{Dir, File, Metadata, OpenOptions};
use cap_std::time::SystemTime;
use std::io;
use std::time::Duration;

/// What stands under a name.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Form {
    /// A regular file.
    File,
    /// A folder.
    Folder,
    /// A symbolic link.
    Link,
    /// A device, pipe or socket: never opened.
    Other,
}

/// What a file, folder or link looks like from outside. Two looks with equal stamps saw the same content.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Stamp {
    pub(super) form: Form,
    pub(super) size: u64,
    pub(super) modified_ns: u64,
    /// When content, name or attributes last changed, on the system's own clock; 0 where there is no such time.
    pub(super) changed_ns: u64,
    pub(super) inode: u64,
}

impl Stamp {
    fn of(metadata: &Metadata) -> Stamp {
        let form = match () {
            () if metadata.is_file() => Form::File,
            () if metadata.is_dir() => Form::Folder,
            () if metadata.is_symlink() => Form::Link,
            () => Form::Other,
        };
        let since_1970 =
            metadata.modified().ok().and_then(|time| time.into_std().duration_since(std::time::UNIX_EPOCH).ok());
        let modified_ns = since_1970.map_or(0, |since| u64::try_from(since.as_nanos()).unwrap_or(u64::MAX));
        #[cfg(unix)]
        let changed_ns = {
            use cap_std::fs::MetadataExt;
            let ns = i128::from(metadata.ctime()) * 1_000_000_000 + i128::from(metadata.ctime_nsec());
            u64::try_from(ns).unwrap_or(0)
        };
        #[cfg(not(unix))]
        let changed_ns = 0;
        Stamp { form, size: metadata.len(), modified_ns, changed_ns, inode: metadata.ino() }
    }

    /// Whether renaming one could have made the other.
    pub(super) fn moved(&self, other: &Stamp) -> bool {
        Stamp { changed_ns: 0, ..*self } == Stamp { changed_ns: 0, ..*other }
    }
}

/// The real folders, and in tests what is to fail.
#[derive(Debug, Default)]
pub(super) struct Disk {
    #[cfg(test)]
    pub(super) faults: super::faults::Faults,
}

/// `None` instead of the error that nothing is there.
fn found<T>(result: io::Result<T>) -> io::Result<Option<T>> {
    match result {
        Ok(value) => Ok(Some(value)),
        Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => Ok(None),
        Err(error) => Err(error),
    }
}

/// What stands under `name`; `None` if nothing does.
pub(super) fn look(folder: &Dir, name: &str) -> io::Result<Option<Stamp>> {
    Ok(found(folder.symlink_metadata(name))?.map(|metadata| Stamp::of(&metadata)))
}

/// The names in `folder`, sorted; the error names one that is not UTF-8.
pub(super) fn list(folder: &Dir) -> io::Result<Vec<String>> {
    let mut names = Vec::new();
    for entry in folder.entries()? {
        let no_text = |name| io::Error::new(io::ErrorKind::InvalidData, format!("the name {name:?} is not UTF-8"));
        names.push(entry?.file_name().into_string().map_err(no_text)?);
    }
    names.sort_unstable();
    Ok(names)
}

/// Opens a folder that is no link; `None` if there is none.
pub(super) fn folder(parent: &Dir, name: &str) -> io::Result<Option<Dir>> {
    match look(parent, name)? {
        Some(Stamp { form: Form::Folder, .. }) => found(parent.open_dir_nofollow(name)),
        _ => Ok(None),
    }
}

/// Opens a regular file for reading. A pipe that took its place does not block.
pub(super) fn read(folder: &Dir, name: &str) -> io::Result<std::fs::File> {
    let mut options = OpenOptions::new();
    options.read(true).follow(FollowSymlinks::No).nonblock(true);
    let file = folder.open_with(name, &options)?;
    match file.metadata()?.is_file() {
        true => Ok(file.into_std()),
        false => Err(io::Error::new(io::ErrorKind::InvalidInput, "is no regular file")),
    }
}

/// Where a link points, as written.
pub(super) fn link_target(folder: &Dir, name: &str) -> io::Result<String> {
    let target = folder.read_link_contents(name)?.into_os_string();
    target.into_string().map_err(|target| {
        io::Error::new(io::ErrorKind::InvalidData, format!("the link's target {target:?} is not UTF-8"))
    })
}

fn time(ns: u64) -> io::Result<std::time::SystemTime> {
    let time = std::time::UNIX_EPOCH.checked_add(Duration::from_nanos(ns));
    time.ok_or_else(|| io::Error::new(io::ErrorKind::InvalidInput, "the system has no such time"))
}

impl Disk {
    /// Counts a change that is about to be made.
    #[cfg_attr(not(test), allow(clippy::unused_self, clippy::unnecessary_wraps))]
    fn step(&self) -> io::Result<()> {
        #[cfg(test)]
        self.faults.step()?;
        Ok(())
    }

    /// Makes a folder.
    pub(super) fn create_folder(&self, parent: &Dir, name: &str) -> io::Result<()> {
        self.step()?;
        parent.create_dir(name)
    }

    /// Removes an empty folder.
    pub(super) fn remove_folder(&self, parent: &Dir, name: &str) -> io::Result<()> {
        self.step()?;
        parent.remove_dir(name)
    }

    /// Removes a file or link.
    pub(super) fn remove_file(&self, parent: &Dir, name: &str) -> io::Result<()> {
        self.step()?;
        parent.remove_file_or_symlink(name)
    }

    /// Makes a new file, open for writing.
    pub(super) fn create_file(&self, parent: &Dir, name: &str) -> io::Result<File> {
        self.step()?;
        parent.open_with(name, OpenOptions::new().write(true).create_new(true).follow(FollowSymlinks::No))
    }

    /// Writes to a new file.
    pub(super) fn write(&self, mut file: &File, bytes: &[u8]) -> io::Result<()> {
        self.step()?;
        io::Write::write_all(&mut file, bytes)
    }

    /// Ends the writing of a file: sets its time, and if asked makes its bytes durable.
    pub(super) fn finish(&self, file: File, modified_ns: u64, sync: bool) -> io::Result<()> {
        self.step()?;
        let file = file.into_std();
        file.set_modified(time(modified_ns)?)?;
        if sync { file.sync_data() } else { Ok(()) }
    }

    /// Makes a link.
    pub(super) fn create_link(&self, parent: &Dir, name: &str, target: &str) -> io::Result<()> {
        self.step()?;
        DirExt::symlink(parent, target, name)
    }

    /// Moves a file or link over whatever file or link stands at its new place.
    pub(super) fn place(&self, from: (&Dir, &str), to: (&Dir, &str)) -> io::Result<()> {
        self.step()?;
        from.0.rename(from.1, to.0, to.1)
    }

    /// Sets when a file, link or folder was last changed.
    pub(super) fn set_modified(&self, parent: &Dir, name: &str, modified_ns: u64) -> io::Result<()> {
        self.step()?;
        let time = SystemTimeSpec::Absolute(SystemTime::from_std(time(modified_ns)?));
        parent.set_symlink_times(name, None, Some(time))
    }

    /// Makes all that was written to the file system of the file `name` durable, in one go.
    #[cfg(target_os = "linux")]
    pub(super) fn sync_all(&self, folder: &Dir, name: &str) -> io::Result<()> {
        self.step()?;
        Ok(rustix::fs::syncfs(read(folder, name)?)?)
    }
}

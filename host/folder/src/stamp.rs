//! What stands under a name, seen from outside.

use cap_fs_ext::MetadataExt;
use cap_std::fs::Metadata;

/// What kind of thing it is.
#[derive(Clone, Copy, PartialEq, Eq, Debug, serde::Serialize, serde::Deserialize)]
pub enum Form {
    /// A regular file.
    File,
    /// A folder.
    Folder,
    /// A symbolic link.
    Link,
    /// A device, pipe or socket: never opened.
    Other,
}

/// The clock that files are stamped with, in nanoseconds since 1970.
pub fn now_ns() -> u64 {
    #[expect(
        clippy::disallowed_methods,
        reason = "files that changed a moment ago are told by the clock they are stamped with"
    )]
    let now = std::time::SystemTime::now();
    let since_1970 = now.duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since_1970.as_nanos()).unwrap_or(u64::MAX)
}

/// The longest step of a file system's clock, and some more: what was changed so long ago is changed with another time next.
const STEP_NS: u64 = 3_000_000_000;

/// What a file, folder or link looks like from outside. Two looks with equal stamps saw the same content, unless the content was
/// written twice within one step of the file system's clock.
#[derive(Clone, Copy, PartialEq, Eq, Debug, serde::Serialize, serde::Deserialize)]
pub struct Stamp {
    /// What kind of thing it is.
    pub form: Form,
    /// Its length in bytes.
    pub size: u64,
    /// When its content was last changed, in nanoseconds since 1970. Programs set it as they like.
    pub modified_ns: u64,
    /// When content, name or attributes last changed, on the system's own clock; 0 where there is no such time.
    pub changed_ns: u64,
    /// Its number in the file system.
    pub inode: u64,
    /// The file system it is on.
    pub device: u64,
}

impl Stamp {
    /// The stamp of something of which the system tells `metadata`.
    pub fn of(metadata: &Metadata) -> Stamp {
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
        Stamp { form, size: metadata.len(), modified_ns, changed_ns, inode: metadata.ino(), device: metadata.dev() }
    }

    /// Whether every change after `at_ns`, when it was looked at, shows in the next look: the last one was long enough before. Never
    /// where the system keeps no time that programs can't set.
    pub fn is_settled(&self, at_ns: u64) -> bool {
        self.changed_ns > 0 && at_ns.checked_sub(self.changed_ns).is_some_and(|age_ns| age_ns >= STEP_NS)
    }

    /// Whether renaming one could have made the other.
    pub fn moved(&self, other: &Stamp) -> bool {
        Stamp { changed_ns: 0, ..*self } == Stamp { changed_ns: 0, ..*other }
    }
}

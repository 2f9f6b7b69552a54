//! The mark of a store: a small file beside the database that says that there is one, which it is, and how far it has come at
//! least. A database that was deleted, emptied, replaced or cut back does not fit it, and is not begun again in silence.
//!
//! The mark is written after what it says is durable, and not made durable itself: it is right or behind, never ahead. One that
//! can't be read says nothing.

use crate::error::{StoreError, at};
use crate::instance_dir::InstanceDir;
use cap_fs_ext::{FollowSymlinks, OpenOptionsFollowExt, OpenOptionsSyncExt};
use cap_std::fs::{Dir, OpenOptions};
use hutch_model::ledger::Pin;
use std::fs::File;
use std::io::{self, Read};
use std::sync::Mutex;

const NAME: &str = "hutch.mark";

/// What a mark says.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Mark {
    /// Which store it is.
    pub(crate) store: [u8; 16],
    /// An entry that it has.
    pub(crate) sequence: u64,
}

impl Mark {
    fn text(&self) -> String {
        let store: String = self.store.iter().map(|byte| format!("{byte:02x}")).collect();
        format!("hutch store {store} {:020}\n", self.sequence)
    }

    fn parse(text: &str) -> Option<Mark> {
        let mut words = text.strip_prefix("hutch store ")?.strip_suffix('\n')?.split(' ');
        let (store, sequence) = (words.next()?, words.next()?);
        let mut bytes = [0; 16];
        for (byte, digits) in bytes.iter_mut().zip(store.as_bytes().chunks(2)) {
            *byte = u8::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok()?;
        }
        (store.len() == 32 && words.next().is_none())
            .then(|| Some(Mark { store: bytes, sequence: sequence.parse().ok()? }))?
    }

    /// The mark in an instance's folder; `None` if there is none that can be read.
    pub(crate) fn read(folder: &Dir) -> io::Result<Option<Mark>> {
        let file = match hutch_folder::open_file(folder, NAME) {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(error),
        };
        let mut text = String::new();
        // A mark is shorter than this; whatever is not a mark says nothing.
        Ok(match file.take(256).read_to_string(&mut text) {
            Ok(_) => Mark::parse(&text),
            Err(error) if error.kind() == io::ErrorKind::InvalidData => None,
            Err(error) => return Err(error),
        })
    }

    /// Why a database with this identity and this last entry is not the one that the mark is of.
    pub(crate) fn contradicts(&self, dir: &InstanceDir, store: [u8; 16], last: Pin) -> Option<StoreError> {
        let mark = at(&dir.path().join(NAME));
        let lost = |reason| StoreError::Lost { at: at(&dir.database()), reason };
        if store != self.store {
            let reason = format!(
                "is another database than the one that was here; put that one back, or remove {mark} to go on with this one"
            );
            return Some(lost(reason));
        }
        (last.sequence < self.sequence).then(|| {
            lost(format!(
                "ends with entry {}, and there were {}: entries were cut off; put back what is missing, or remove {mark} to go on without",
                last.sequence, self.sequence
            ))
        })
    }

    /// The database is gone.
    pub(crate) fn without_database(dir: &InstanceDir) -> StoreError {
        let reason = format!(
            "is gone or empty, and with it {}; put it back, or remove {} to begin again: what the plain folders hold is then taken in",
            "the ledger and every earlier state",
            at(&dir.path().join(NAME))
        );
        StoreError::Lost { at: at(&dir.database()), reason }
    }
}

/// The mark of an open store, kept up to date.
#[derive(Debug)]
pub(crate) struct Marker {
    store: [u8; 16],
    file: Mutex<Option<File>>,
}

impl Marker {
    /// Opens the mark for writing. A folder where that is refused has none, nor is one written that is somebody else's too.
    pub(crate) fn open(folder: &Dir, store: [u8; 16]) -> Marker {
        let mut options = OpenOptions::new();
        options.write(true).create(true).truncate(false).nonblock(true).follow(FollowSymlinks::No);
        let file = folder.open_with(NAME, &options).and_then(|file| {
            hutch_folder::check_own(&file.metadata()?)?;
            Ok(file.into_std())
        });
        Marker { store, file: Mutex::new(file.ok()) }
    }

    /// Says that the store has this entry. That it can't be said loses nothing.
    pub(crate) fn set(&self, sequence: u64) {
        let text = Mark { store: self.store, sequence }.text();
        let mut file = self.file.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        if let Some(open) = file.as_ref()
            && write_at_start(open, text.as_bytes()).is_err()
        {
            *file = None;
        }
    }
}

#[cfg(unix)]
fn write_at_start(file: &File, bytes: &[u8]) -> io::Result<()> {
    std::os::unix::fs::FileExt::write_all_at(file, bytes, 0)
}

#[cfg(not(unix))]
fn write_at_start(mut file: &File, bytes: &[u8]) -> io::Result<()> {
    use std::io::{Seek, Write};
    file.seek(io::SeekFrom::Start(0))?;
    file.write_all(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mark_reads_back_and_nothing_else_does() {
        let mark = Mark { store: [0xa5; 16], sequence: u64::MAX };
        let text = mark.text();
        assert_eq!(Mark::parse(&text), Some(mark));
        for at in 0..text.len() {
            let mut bytes = text.clone().into_bytes();
            bytes[at] = b'?';
            assert_eq!(Mark::parse(std::str::from_utf8(&bytes).unwrap()), None, "at {at}");
            assert_eq!(Mark::parse(&text[..at]), None, "{at} bytes");
        }
        assert_eq!(Mark::parse(&format!("{text}x")), None);
    }
}

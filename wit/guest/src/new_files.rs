//! New files below granted folders (feature `new-files`), each with the folders on the way to it: all of them are written, or none. Their names
//! may be others': which of those are none to take is said too.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, Metadata};

use crate::document::Document;
use crate::failure::Failure;
use crate::folder::{Does, EDITS_CONFLICT, Edited, Edits, Entry, Kind};

const NAME_BYTES_MAX: usize = 255;
const PATH_BYTES_MAX: usize = 1024;

/// New files: the state of an application that keeps nothing else. A command puts them down, and they are written when all of the call went
/// well, and not for a try, as [`Edits`] are, whose bounds and codes they have.
#[derive(Debug, Default)]
pub struct NewFiles {
    edits: Edits,
    files: BTreeSet<String>,
    folders: BTreeSet<String>,
}

impl NewFiles {
    /// A file with this content. One that is there and the same stays, and is shown as skipped; another one is an `EDITS_CONFLICT`, unless it
    /// may be written over. So is what comes twice, and what would be below a file or in the place of a folder.
    ///
    /// # Errors
    /// `EDITS_CONFLICT` or `EDITS_TOO_MANY`.
    pub fn put(&mut self, path: String, content: &[u8], overwrite: bool) -> Result<Edited, Failure> {
        let conflict = |why: &str| Err(Failure::new(EDITS_CONFLICT, format!("{path} {why}")));
        for (end, _) in path.match_indices('/').filter(|(end, _)| *end > 0) {
            let folder = &path[..end];
            // Of many files in one folder it is looked at once.
            let new = self.folders.insert(folder.to_owned());
            let other = new && fs::symlink_metadata(folder).is_ok_and(|it| !it.is_dir());
            if other || self.files.contains(folder) {
                return conflict(&format!("would be there, and {folder} is no folder"));
            }
        }
        if self.folders.contains(&path) || !self.files.insert(path.clone()) {
            return conflict("would be there twice");
        }
        let there = fs::symlink_metadata(&path);
        let file = there.as_ref().is_ok_and(Metadata::is_file);
        if file && fs::read(&path).is_ok_and(|it| it == content) {
            return Ok(Edited { path, edit: Does::Skip, to: None, places: None });
        }
        if there.is_ok() && !(file && overwrite) {
            return conflict("is there already");
        }
        self.edits.write(&Entry { path, kind: Kind::File, bytes: None }, content)
    }
}

/// Nothing is kept: what a call puts down is written at its end.
impl Document for NewFiles {
    const FILE: Option<&'static str> = None;

    fn decode(_: &[u8]) -> Result<Self, String> {
        Ok(Self::default())
    }

    fn encode(self) -> serde_json::Result<Vec<u8>> {
        Ok(Vec::new())
    }

    fn carry_out(&mut self, dry_run: bool) -> Result<(), Failure> {
        if !dry_run {
            for folder in &self.folders {
                // Where that fails, so does the file in it, which tells.
                let _ = fs::create_dir_all(folder);
            }
        }
        self.edits.carry_out(dry_run)
    }
}

/// Names that others gave to files and folders, to be paths below a folder.
#[derive(Debug, Default)]
pub struct Names {
    taken: BTreeMap<String, (String, bool)>,
}

impl Names {
    /// Why the next name is refused, if it is: it leads elsewhere, is longer than file systems take, or meets one before it that people or other
    /// file systems take for `same`. A folder may come again, and one without a name is the folder itself.
    pub fn refused(&mut self, name: &str, is_folder: bool, same: impl Fn(&str) -> String) -> Option<String> {
        if is_folder && matches!(name, "" | ".") {
            return None;
        }
        let strange = |part: &str| {
            let strange = |letter: char| letter.is_control() || matches!(letter, '\\' | char::REPLACEMENT_CHARACTER);
            matches!(part, "" | "." | "..") || part.len() > NAME_BYTES_MAX || part.contains(strange)
        };
        if name.len() > PATH_BYTES_MAX || name.split('/').any(strange) {
            return Some("its name is no path below a folder, or too long".to_owned());
        }
        let mut met = None;
        for end in name.match_indices('/').map(|(end, _)| end).chain([name.len()]) {
            let (part, folder) = (&name[..end], is_folder || end < name.len());
            let other = self.taken.insert(same(part), (part.to_owned(), folder));
            met = met.or(other.filter(|(other, is_folder)| other != part || !is_folder || !folder));
        }
        met.map(|(other, _)| format!("its name meets that of {other}"))
    }
}

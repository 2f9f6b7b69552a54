//! Zip and tar archives in granted folders: listed, taken out and made, as a list of files that is whole before the first is written. The
//! struct of a command is its contract, so that this file and `archive` are all there is.

mod archive;
#[cfg(test)]
mod tests;

use archive::{ARCHIVE_INVALID, ARCHIVE_TOO_LARGE, ARCHIVE_UNSAFE, BYTES_MAX, MEMBERS_MAX, Member};
use hutch_guest::folder::{EDITS_CONFLICT, EDITS_TOO_MANY, Edited, FOLDER_DENIED, Folder, Kind};
use hutch_guest::{Call, Changed, Command, Failure, InputFile, Page, Reads, Writes};
use hutch_guest::{input::FILE_NOT_FOUND, new_files::NewFiles, value::invalid};

const ENDS: [&str; 4] = [".zip", ".tar.gz", ".tgz", ".tar"];

/// Shows what is in an archive (zip, tar, tar.gz), and of each member why it would not be taken out. Nothing is written.
#[derive(Command)]
#[command(errors(ARCHIVE_INVALID, ARCHIVE_TOO_LARGE))]
#[example("an archive of letters", ["practice/letters.zip"])]
#[example("members that would not be taken out", ["practice/unsafe.tar"])]
#[example("what is no archive", ["practice/ada.txt"], 2)]
struct List {
    /// an archive, such as data/photos.zip where the call grants the folder data, or - for standard input; at most 32 MiB
    #[arg(positional)]
    archive: InputFile,
}

impl Reads for List {
    type State = NewFiles;
    type Answer = Page<Member>;

    fn run(self, _: &NewFiles, call: &Call) -> Result<Page<Member>, Failure> {
        let members = archive::members(self.archive.path(), &self.archive.read(BYTES_MAX)?, |_| false)?;
        Ok(call.page(&members, |(member, _)| member.clone()))
    }
}

/// Takes the files out of an archive, below a folder: all of them or none. A member whose name leads elsewhere or meets another one, and one
/// that is a link or a device, refuses the archive. Modes and dates are left out, and so are empty folders; a file that is there and the same stays.
#[derive(Command)]
#[command(write, idempotent)]
#[command(errors(ARCHIVE_INVALID, ARCHIVE_TOO_LARGE, ARCHIVE_UNSAFE, EDITS_CONFLICT, EDITS_TOO_MANY, FOLDER_DENIED))]
#[example("an archive of letters", ["practice/letters.zip", "practice/post"])]
#[example("one of them, beside the archive", ["practice/letters.zip", "--member", "post/pears.txt"])]
#[example("see what would be written", ["practice/letters.tar.gz", "practice/again", "--dry-run"])]
#[example("an archive with members that lead elsewhere", ["practice/unsafe.tar"], 30)]
struct Extract {
    /// an archive (zip, tar, tar.gz), such as data/photos.zip where the call grants the folder data to be changed, or - for standard input
    #[arg(positional)]
    archive: InputFile,
    /// the folder, which is made if it is not there; if it is not given, that beside the archive with its name: data/photos
    #[arg(positional, pattern = "^[^*?]+$")]
    to: Option<Folder>,
    /// only this member, as list names it; several are a batch
    member: Option<String>,
    /// write over files that are there and other ones
    overwrite: bool,
}

impl Writes for Extract {
    type State = NewFiles;
    type Row = Edited;

    fn run(self, new: &mut NewFiles, _: &Call) -> Result<Changed<Edited>, Failure> {
        let path = self.archive.path();
        let named = ENDS.iter().find_map(|end| path.strip_suffix(end));
        let none = || invalid("to", "", "a folder, as the name of the archive says none");
        let to = self.to.as_ref().map(Folder::text).or(named).ok_or_else(none)?.trim_end_matches('/');
        let chosen = |name: &str| self.member.as_ref().is_none_or(|it| it == name);
        let mut members = archive::members(path, &self.archive.read(BYTES_MAX)?, chosen)?;
        members.retain(|(it, _)| chosen(&it.member));
        if let (Some(name), []) = (&self.member, &members[..]) {
            let none = Failure::new(FILE_NOT_FOUND, format!("{path} has no member {name:?}"));
            return Err(none.suggest("see with list what its members are called"));
        }
        if let Some((name, why)) = members.iter().find_map(|(it, _)| Some((&it.member, it.refused.as_ref()?))) {
            return Err(Failure::new(ARCHIVE_UNSAFE, format!("{name:.200?} is not taken out: {why:.200}")));
        }
        let files = members.iter().filter(|(it, _)| it.kind == Kind::File);
        Changed::each(files.map(|(it, content)| new.put(format!("{to}/{}", it.member), content, self.overwrite)))
    }
}

/// Makes an archive of files, by their paths below the folder that was granted. Links and empty folders are left out, what begins with a dot
/// unless the pattern has the dot, and modes and dates: equal files make equal archives, and one that is there and the same stays.
#[derive(Command)]
#[command(write, idempotent, errors(ARCHIVE_INVALID, ARCHIVE_TOO_LARGE, EDITS_CONFLICT, EDITS_TOO_MANY, FOLDER_DENIED))]
#[example("of all texts", ["practice/**/*.txt", "practice/texts.zip"])]
#[example("an archive that is there already", ["practice/ada.txt", "practice/letters.zip"], 30)]
struct Create {
    /// which files: data, data/photos, data/**/*.jpg
    #[arg(positional)]
    files: Folder,
    /// the archive, whose name ends with .zip, .tar, .tar.gz or .tgz, such as data/photos.zip
    #[arg(positional, pattern = "^[^*?]+[.](zip|tar|tar[.]gz|tgz)$")]
    to: Folder,
    /// write over an archive that is there and another one
    overwrite: bool,
}

impl Writes for Create {
    type State = NewFiles;
    type Row = Edited;

    fn run(self, new: &mut NewFiles, _: &Call) -> Result<Changed<Edited>, Failure> {
        let (to, mut files, mut bytes_left) = (self.to.text(), Vec::new(), BYTES_MAX as u64);
        for file in self.files.files()?.into_iter().filter(|it| it.path != to) {
            let (file, mut content) = (file.measured()?, Vec::new());
            bytes_left = bytes_left.checked_sub(file.bytes.unwrap_or_default()).ok_or_else(archive::too_large)?;
            file.pieces(|piece| content.extend_from_slice(piece))?;
            files.push((file.path.split_once('/').map_or(file.path.as_str(), |(_, name)| name).to_owned(), content));
        }
        let made = archive::packed(to, &files).map_err(archive::invalid)?;
        if files.len() > MEMBERS_MAX || made.len() > BYTES_MAX {
            return Err(archive::too_large());
        }
        Changed::each([new.put(to.to_owned(), &made, self.overwrite)])
    }
}

hutch_guest::application! {
    /// Lists, takes out and makes zip and tar archives
    static ARCHIVES: NewFiles = "archives";
    commands: [List, Extract, Create],
    package: "../../../../packages/archives",
    skills: ["archives-usage"],
}

hutch_guest::main!(ARCHIVES);

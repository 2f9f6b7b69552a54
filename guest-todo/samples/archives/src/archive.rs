//! What is in an archive, within bounds, and an archive of files. Knows no command line and no folder.

use std::fmt::Display;
use std::io::{self, Cursor, Read, Write};

use flate2::{Compression, read::MultiGzDecoder, write::GzEncoder};
use hutch_guest::{Failure, Row, folder::Kind, new_files::Names};
use unicode_normalization::UnicodeNormalization;
use zip::{ZipArchive, ZipWriter, write::SimpleFileOptions};

/// Bytes of an archive, and of all that comes out of one or goes into one.
pub(crate) const BYTES_MAX: usize = 32 << 20;
pub(crate) const MEMBERS_MAX: usize = 10_000;
const LEVEL: u32 = 2;

hutch_guest::codes! {
    pub(crate) ARCHIVE_INVALID = 2: "what is read is no zip, tar or tar.gz, is not whole, or is packed in a way that is not known", "give an archive that its own program reads, packed by deflate or not at all";
    pub(crate) ARCHIVE_TOO_LARGE = 2: "more than 10000 members or 33554432 bytes would come out of the archive, or go into it; nothing was done", "take fewer files, or one folder after the other";
    pub(crate) ARCHIVE_UNSAFE = 30: "a member has a name that leads elsewhere or meets another one, or is nothing that is taken out; nothing was done", "see with list which members are refused and why, and take others one by one with --member, or ask for an archive without them";
}

/// A member of an archive.
#[derive(Clone, Row)]
pub(crate) struct Member {
    archive: String,
    pub(crate) member: String,
    pub(crate) kind: Kind,
    bytes: u64,
    pub(crate) refused: Option<String>,
}

type Members = Vec<(Member, Vec<u8>)>;

/// The members of the archive at a path, and the contents of those that are wanted.
pub(crate) fn members(path: &str, archive: &[u8], wanted: impl Fn(&str) -> bool) -> Result<Members, Failure> {
    let (mut found, mut names, mut left) = (Vec::new(), Names::default(), BYTES_MAX);
    let mut add = |name: String, kind: Kind, bytes, refused: Option<String>, packed: &mut dyn Read| {
        let name = name.trim_start_matches("./");
        let member = if kind == Kind::Folder { name.trim_end_matches('/') } else { name }.to_owned();
        let link = (kind == Kind::Link).then(|| "it is a link, a device or a file with holes".to_owned());
        // Letters with marks are composed in more ways than one.
        let same = |name: &str| name.nfd().flat_map(char::to_lowercase).nfc().collect();
        let refused = refused.or(link).or(names.refused(&member, kind == Kind::Folder, same));
        let mut content = Vec::new();
        if kind == Kind::File && refused.is_none() && wanted(&member) {
            packed.take(left as u64 + 1).read_to_end(&mut content).map_err(invalid)?;
            left = left.checked_sub(content.len()).ok_or_else(too_large)?;
        }
        found.push((Member { archive: path.to_owned(), member, kind, bytes, refused }, content));
        if found.len() > MEMBERS_MAX { Err(too_large()) } else { Ok(()) }
    };
    // A tar begins with a name, and that can begin with PK too.
    if archive.starts_with(b"PK\x03\x04") || archive.starts_with(b"PK\x05\x06") {
        let mut zip = ZipArchive::new(Cursor::new(archive)).map_err(invalid)?;
        zip.validate_header_consistency().map_err(invalid)?;
        for at in 0..zip.len() {
            let refused = zip.by_index(at).err().map(|why| format!("it is not read: {why}"));
            let mut file = if refused.is_none() { zip.by_index(at) } else { zip.by_index_raw(at) }.map_err(invalid)?;
            let plain = matches!(file.unix_mode().unwrap_or_default() >> 12, 0 | 8);
            let other = if plain { Kind::File } else { Kind::Link };
            let kind = if file.is_dir() { Kind::Folder } else { other };
            add(file.name().map_err(invalid)?.into_owned(), kind, file.size(), refused, &mut file)?;
        }
    } else {
        let begins = String::from_utf8_lossy(archive.get(..60).unwrap_or(archive));
        let invalid = |why: io::Error| invalid(format!("it begins with {begins:?}, and {why}"));
        let gzip = archive.starts_with(b"\x1f\x8b");
        let tar: Box<dyn Read> = if gzip { Box::new(MultiGzDecoder::new(archive)) } else { Box::new(archive) };
        let mut tar = tar::Archive::new(tar);
        for entry in tar.entries().map_err(invalid)? {
            let (mut entry, mut holes) = (entry.map_err(invalid)?, false);
            for said in entry.pax_extensions().map_err(invalid)?.into_iter().flatten() {
                holes |= said.map_err(invalid)?.key_bytes().starts_with(b"GNU.sparse.");
            }
            let kind = match entry.header().entry_type() {
                kind if kind.is_pax_global_extensions() => continue,
                kind if !holes && (kind.is_file() || kind.is_contiguous()) => Kind::File,
                kind if kind.is_dir() => Kind::Folder,
                _ => Kind::Link,
            };
            add(String::from_utf8_lossy(&entry.path_bytes()).into_owned(), kind, entry.size(), None, &mut entry)?;
        }
        // The sum of what was packed stands at its end.
        io::copy(&mut tar.into_inner(), &mut io::sink()).map_err(invalid)?;
    }
    Ok(found)
}

/// An archive of files with these names, of the kind that the end of its path says. No date is in it: equal files make equal archives. They
/// are packed at a low level: higher ones save little, and cost much fuel.
pub(crate) fn packed(path: &str, files: &[(String, Vec<u8>)]) -> io::Result<Vec<u8>> {
    if path.ends_with(".zip") {
        let mut zip = ZipWriter::new(Cursor::new(Vec::new()));
        for (name, content) in files {
            zip.start_file(name, SimpleFileOptions::DEFAULT.compression_level(Some(LEVEL.into())))?;
            zip.write_all(content)?;
        }
        return Ok(zip.finish()?.into_inner());
    }
    let mut tar = tar::Builder::new(Vec::new());
    for (name, content) in files {
        let mut head = tar::Header::new_gnu();
        head.set_size(content.len() as u64);
        head.set_mode(0o644);
        tar.append_data(&mut head, name, &content[..])?;
    }
    if path.ends_with(".tar") {
        return tar.into_inner();
    }
    let mut gzip = GzEncoder::new(Vec::new(), Compression::new(LEVEL));
    gzip.write_all(&tar.into_inner()?)?;
    gzip.finish()
}

pub(crate) fn too_large() -> Failure {
    Failure::new(ARCHIVE_TOO_LARGE, format!("it has more than {MEMBERS_MAX} members or {BYTES_MAX} bytes"))
}

pub(crate) fn invalid(why: impl Display) -> Failure {
    Failure::new(ARCHIVE_INVALID, format!("it is no archive that can be read: {why:.200}"))
}

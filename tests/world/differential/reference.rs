//! The same operations on a real directory of Linux, mapped to system calls as `wasmtime-wasi` 48 does. Its file system layer
//! is a copy of `cap-primitives`; this goes through `cap-primitives` itself, and where the two differ (one place, marked), does
//! as the copy.

use crate::support::FILE_BYTES_MAX;
use crate::support::operation::{OpenFlags, Operation, SLOTS, STREAMS, Time, content};
use crate::support::seen::{Attributes, Kind, NOW_NS, Seen, Tree, TreeNode, sampled};
use cap_fs_ext::OpenOptionsFollowExt;
use cap_primitives::fs::{self as primitives, DirOptions, FollowSymlinks, MetadataExt, OpenOptions, SystemTimeSpec};
use hutch_world::Errno;
use std::fs::{File, FileTimes};
use std::io;
use std::os::unix::fs::{FileExt, MetadataExt as _};
use std::path::Path;
use std::rc::Rc;
use std::time::{Duration, SystemTime};

/// The most bytes of one read, as in `wasmtime-wasi`.
const READ_BYTES_MAX: u64 = 64 * 1024;

/// A directory, and what is open in it.
pub(crate) struct Reference {
    directory: tempfile::TempDir,
    writable: bool,
    slots: [Option<Opened>; SLOTS],
    inputs: [Option<Stream>; STREAMS],
    outputs: [Option<Stream>; STREAMS],
}

/// A descriptor.
struct Opened {
    file: Rc<File>,
    folder: bool,
    read: bool,
    write: bool,
}

struct Stream {
    file: Rc<File>,
    write: bool,
    /// `None` is the end.
    offset: Option<u64>,
    closed: bool,
}

impl Reference {
    pub(crate) fn new() -> Reference {
        let directory = tempfile::tempdir().expect("a temporary directory");
        let file = File::open(directory.path()).expect("the temporary directory opens");
        let mut slots = [const { None }; SLOTS];
        slots[0] = Some(Opened { file: Rc::new(file), folder: true, read: true, write: true });
        let (inputs, outputs) = ([const { None }; STREAMS], [const { None }; STREAMS]);
        Reference { directory, writable: true, slots, inputs, outputs }
    }

    /// Everything is closed. A snapshot keeps no second names and no access times, so both go here too.
    fn reopen(&mut self, read_only: bool) -> io::Result<()> {
        store(self.directory.path())?;
        let file = File::open(self.directory.path())?;
        let now = SystemTime::now();
        file.set_times(FileTimes::new().set_accessed(now).set_modified(now))?;
        self.slots = [const { None }; SLOTS];
        self.slots[0] = Some(Opened { file: Rc::new(file), folder: true, read: true, write: !read_only });
        (self.inputs, self.outputs) = ([const { None }; STREAMS], [const { None }; STREAMS]);
        self.writable = !read_only;
        Ok(())
    }

    /// Does it and says what came back.
    pub(crate) fn perform(&mut self, operation: &Operation) -> Seen {
        self.attempt(operation).unwrap_or_else(|errno| errno.map_or(Seen::Unsupported, Seen::Failed))
    }

    /// `Err(None)` is "not supported", which the world never says.
    fn attempt(&mut self, operation: &Operation) -> Result<Seen, Option<Errno>> {
        Ok(match operation {
            Operation::Open { into, base, path, flags } => {
                let opened = self.open(*base, path, flags)?;
                if *into > 0 {
                    self.slots[*into] = Some(opened);
                }
                Seen::Done
            }
            Operation::Close { slot } => {
                if *slot > 0 {
                    self.slots[*slot] = None;
                }
                Seen::Done
            }
            Operation::Read { slot, offset, length } => {
                let mut bytes = vec![0; (*length).min(READ_BYTES_MAX) as usize];
                let read = self.file(*slot)?.read_at(&mut bytes, *offset).map_err(errno)?;
                bytes.truncate(read);
                Seen::Bytes(bytes)
            }
            Operation::Write { slot, offset, length, fill } => {
                let file = self.file(*slot)?;
                self.check_writable()?;
                check_end(end(*offset, *length), self.at(*slot).write).map_err(Some)?;
                let written = file.write_at(&content(*length, *fill), *offset).map_err(errno)?;
                assert_eq!(written, *length, "a short write");
                Seen::Done
            }
            Operation::SetSize { slot, size } => {
                let file = self.file(*slot)?;
                self.check_writable()?;
                check_end(*size, self.at(*slot).write).map_err(Some)?;
                file.set_len(*size).map_err(errno)?;
                Seen::Done
            }
            Operation::OpenInput { into, slot, offset } => {
                if self.at(*slot).folder {
                    return Err(Some(Errno::IsDirectory));
                }
                let Opened { file, write, .. } = self.at(*slot);
                let stream = Stream { file: file.clone(), write: *write, offset: Some(*offset), closed: false };
                self.inputs[*into] = Some(stream);
                Seen::Done
            }
            Operation::OpenOutput { into, slot, offset } => {
                let file = self.file(*slot)?.clone();
                self.check_writable()?;
                let write = self.at(*slot).write;
                self.outputs[*into] = Some(Stream { file, write, offset: *offset, closed: false });
                Seen::Done
            }
            Operation::StreamRead { input, length } => match &mut self.inputs[*input] {
                Some(stream) => stream.read(*length).map_or_else(|seen| seen, Seen::Bytes),
                None => Seen::Closed,
            },
            Operation::StreamWrite { output, length, fill } => match &mut self.outputs[*output] {
                Some(stream) => stream.write(&content(*length, *fill)),
                None => Seen::Closed,
            },
            Operation::Splice { output, input, length } => {
                match (&mut self.outputs[*output], &mut self.inputs[*input]) {
                    (Some(output), Some(_)) if output.closed => Seen::Closed,
                    (Some(output), Some(input)) => match input.read(*length) {
                        Ok(bytes) if bytes.is_empty() => Seen::Number(0),
                        Ok(bytes) => match output.write(&bytes) {
                            Seen::Done => Seen::Number(bytes.len() as u64),
                            failed => failed,
                        },
                        Err(failed) => failed,
                    },
                    _ => Seen::Closed,
                }
            }
            Operation::CloseInput { input } => {
                self.inputs[*input] = None;
                Seen::Done
            }
            Operation::CloseOutput { output } => {
                self.outputs[*output] = None;
                Seen::Done
            }
            Operation::CreateFolder { base, path } => {
                let base = self.folder(*base)?;
                self.check_writable()?;
                primitives::create_dir(base, Path::new(path), &DirOptions::new()).map_err(errno)?;
                Seen::Done
            }
            Operation::RemoveFolder { base, path } => {
                let base = self.folder(*base)?;
                self.check_writable()?;
                primitives::remove_dir(base, Path::new(path)).map_err(errno)?;
                Seen::Done
            }
            Operation::Unlink { base, path } => {
                let base = self.folder(*base)?;
                self.check_writable()?;
                primitives::remove_file(base, Path::new(path)).map_err(errno)?;
                Seen::Done
            }
            Operation::Rename { base, path, new_base, new_path } => {
                let (old, new) = (self.folder(*base)?, self.folder(*new_base)?);
                self.check_writable()?;
                // The copy asks for a folder if either path ends in a slash, the original if the old one does.
                let slash = !path.is_empty() && !path.ends_with('/') && new_path.ends_with('/');
                let path = if slash { &format!("{path}/") } else { path };
                primitives::rename(old, Path::new(path), new, Path::new(new_path)).map_err(errno)?;
                Seen::Done
            }
            Operation::Link { base, path, follow, new_base, new_path } => {
                let (old, new) = (self.folder(*base)?, self.folder(*new_base)?);
                self.check_writable()?;
                if *follow {
                    return Err(Some(Errno::Invalid));
                }
                primitives::hard_link(old, Path::new(path), new, Path::new(new_path)).map_err(errno)?;
                Seen::Done
            }
            Operation::Symlink { base, target, path } => {
                let base = self.folder(*base)?;
                self.check_writable()?;
                primitives::symlink(Path::new(target), base, Path::new(path)).map_err(errno)?;
                Seen::Done
            }
            Operation::ReadLink { base, path } => {
                let target = primitives::read_link(self.folder(*base)?, Path::new(path)).map_err(errno)?;
                Seen::Text(target.into_os_string().into_string().expect("only UTF-8 was made"))
            }
            Operation::Stat { slot } => Seen::Stat(attributes(&self.at(*slot).file.metadata().map_err(errno)?)),
            Operation::StatAt { base, path, follow } => {
                let found = self.stat_at(*base, path, *follow)?;
                let kind = match found.file_type() {
                    kind if kind.is_dir() => Kind::Folder,
                    kind if kind.is_symlink() => Kind::Link,
                    _ => Kind::File,
                };
                let set = |time: io::Result<cap_primitives::time::SystemTime>| {
                    time.ok().and_then(|time| set_by_an_operation(time.into_std()))
                };
                Seen::Stat(Attributes {
                    kind,
                    links: found.nlink(),
                    size: found.len(),
                    modified_ns: set(found.modified()),
                    accessed_ns: set(found.accessed()),
                })
            }
            Operation::SetTimes { slot, accessed, modified } => {
                let (accessed, modified) = (new_time(*accessed)?, new_time(*modified)?);
                self.check_writable()?;
                let mut times = FileTimes::new();
                if let Some(time) = accessed {
                    times = times.set_accessed(time);
                }
                if let Some(time) = modified {
                    times = times.set_modified(time);
                }
                self.at(*slot).file.set_times(times).map_err(errno)?;
                Seen::Done
            }
            Operation::SetTimesAt { base, path, follow, accessed, modified } => {
                let base = self.folder(*base)?;
                let spec = |time: Option<SystemTime>| {
                    time.map(|time| SystemTimeSpec::from(cap_primitives::time::SystemTime::from_std(time)))
                };
                let (accessed, modified) = (spec(new_time(*accessed)?), spec(new_time(*modified)?));
                self.check_writable()?;
                let set = if *follow { primitives::set_times } else { primitives::set_times_nofollow };
                set(base, Path::new(path), accessed, modified).map_err(errno)?;
                Seen::Done
            }
            Operation::List { slot } => {
                let mut entries = Vec::new();
                for entry in primitives::read_base_dir(self.folder(*slot)?).map_err(errno)? {
                    let entry = entry.map_err(errno)?;
                    let kind = match entry.metadata().map_err(errno)?.file_type() {
                        kind if kind.is_dir() => Kind::Folder,
                        kind if kind.is_symlink() => Kind::Link,
                        _ => Kind::File,
                    };
                    entries.push((entry.file_name().into_string().expect("only UTF-8 was made"), kind));
                }
                entries.sort();
                Seen::Entries(entries)
            }
            Operation::Flags { slot } => {
                let Opened { folder, read, write, .. } = *self.at(*slot);
                Seen::Flags { read, write: write && !folder, mutate_directory: write && folder }
            }
            Operation::Same { a, b } => {
                let identity = |slot: usize| self.at(slot).file.metadata().map(|found| (found.dev(), found.ino()));
                Seen::Yes(identity(*a).map_err(errno)? == identity(*b).map_err(errno)?)
            }
            Operation::SameAt { slot, base, path, follow } => {
                let there = self.stat_at(*base, path, *follow)?;
                let here = self.at(*slot).file.metadata().map_err(errno)?;
                Seen::Yes((there.dev(), there.ino()) == (here.dev(), here.ino()))
            }
            Operation::Reopen { read_only } => {
                self.reopen(*read_only).expect("the directory can be stored");
                Seen::Done
            }
        })
    }

    fn at(&self, slot: usize) -> &Opened {
        self.slots[slot].as_ref().or(self.slots[0].as_ref()).expect("the top stays open")
    }

    fn file(&self, slot: usize) -> Result<&Rc<File>, Option<Errno>> {
        let Opened { file, folder, .. } = self.at(slot);
        if *folder { Err(Some(Errno::BadDescriptor)) } else { Ok(file) }
    }

    fn folder(&self, slot: usize) -> Result<&File, Option<Errno>> {
        let Opened { file, folder, .. } = self.at(slot);
        if *folder { Ok(file) } else { Err(Some(Errno::NotDirectory)) }
    }

    fn check_writable(&self) -> Result<(), Option<Errno>> {
        if self.writable { Ok(()) } else { Err(Some(Errno::NotPermitted)) }
    }

    fn stat_at(&self, base: usize, path: &str, follow: bool) -> Result<primitives::Metadata, Option<Errno>> {
        primitives::stat(self.folder(base)?, Path::new(path), following(follow)).map_err(errno)
    }

    fn open(&self, base: usize, path: &str, flags: &OpenFlags) -> Result<Opened, Option<Errno>> {
        let base = self.folder(base)?;
        let (create, exclusive, truncate) = (flags.has('c'), flags.has('x'), flags.has('t'));
        let write = flags.has('w') || create || truncate;
        let read = flags.has('r') || !flags.has('w');
        if flags.has('s') {
            return Err(None);
        }
        if flags.has('d') && (create || exclusive || truncate) {
            return Err(Some(Errno::Invalid));
        }
        if write {
            self.check_writable()?;
        }
        let mut options = OpenOptions::new();
        options.read(read).write(write).truncate(truncate).follow(following(flags.has('f')));
        match (create, exclusive) {
            (true, true) => options.create_new(true),
            (true, false) => options.create(true),
            (false, _) => &mut options,
        };
        let file = primitives::open(base, Path::new(path), &options).map_err(errno)?;
        let folder = file.metadata().map_err(errno)?.is_dir();
        if flags.has('d') && !folder {
            return Err(Some(Errno::NotDirectory));
        }
        Ok(Opened { file: Rc::new(file), folder, read, write })
    }

    /// The whole directory.
    pub(crate) fn tree(&self) -> io::Result<Tree> {
        let mut tree = Tree::new();
        walk(self.directory.path(), "", &mut tree)?;
        Ok(tree)
    }
}

impl Stream {
    /// Nothing is asked for with a length of 0; else this waits for at least a byte.
    fn read(&mut self, length: u64) -> Result<Vec<u8>, Seen> {
        if self.closed {
            return Err(Seen::Closed);
        }
        if length == 0 {
            return Ok(Vec::new());
        }
        let offset = self.offset.unwrap_or_default();
        let mut bytes = vec![0; length.min(READ_BYTES_MAX) as usize];
        match self.file.read_at(&mut bytes, offset) {
            Ok(0) => {
                self.closed = true;
                Err(Seen::Closed)
            }
            Ok(read) => {
                bytes.truncate(read);
                self.offset = Some(offset + read as u64);
                Ok(bytes)
            }
            Err(error) => {
                self.closed = true;
                Err(Seen::StreamFailed(errno(error).expect("an error of reading")))
            }
        }
    }

    fn write(&mut self, bytes: &[u8]) -> Seen {
        if self.closed {
            return Seen::Closed;
        }
        if let Err(errno) = check_end(end(self.offset.unwrap_or_default(), bytes.len()), self.write) {
            self.closed = true;
            return Seen::StreamFailed(errno);
        }
        let written = match self.offset {
            Some(offset) => self.file.write_at(bytes, offset),
            None => {
                let parts = [io::IoSlice::new(bytes)];
                rustix::io::pwritev2(&*self.file, &parts, 0, rustix::io::ReadWriteFlags::APPEND)
                    .map_err(io::Error::from)
            }
        };
        match written {
            Ok(written) => {
                assert_eq!(written, bytes.len(), "a short write");
                if let Some(offset) = &mut self.offset {
                    *offset += written as u64;
                }
                Seen::Done
            }
            Err(error) => {
                self.closed = true;
                Seen::StreamFailed(errno(error).expect("an error of writing"))
            }
        }
    }
}

/// File systems differ in the size of the longest file, so there is one here for all.
fn check_end(end: u64, write: bool) -> Result<(), Errno> {
    let over = write && end > FILE_BYTES_MAX && end <= i64::MAX as u64;
    if over { Err(Errno::FileTooLarge) } else { Ok(()) }
}

/// Where a write ends; writing nothing ends nowhere.
fn end(offset: u64, length: usize) -> u64 {
    if length == 0 { 0 } else { offset.saturating_add(length as u64) }
}

fn following(follow: bool) -> FollowSymlinks {
    if follow { FollowSymlinks::Yes } else { FollowSymlinks::No }
}

fn new_time(time: Time) -> Result<Option<SystemTime>, Option<Errno>> {
    Ok(match time {
        Time::Keep => None,
        Time::Now => Some(SystemTime::now()),
        Time::At(seconds, nanoseconds) => {
            let carried = seconds.checked_add(u64::from(nanoseconds / 1_000_000_000));
            let since = carried.map(|seconds| Duration::new(seconds, nanoseconds % 1_000_000_000));
            let time = since.and_then(|since| SystemTime::UNIX_EPOCH.checked_add(since));
            Some(time.ok_or(Some(Errno::Overflow))?)
        }
    })
}

/// Nanoseconds since 1970, unless it is some kind of now.
fn set_by_an_operation(time: SystemTime) -> Option<u64> {
    let since = time.duration_since(SystemTime::UNIX_EPOCH).ok()?;
    u64::try_from(since.as_nanos()).ok().filter(|ns| *ns < NOW_NS)
}

fn attributes(found: &std::fs::Metadata) -> Attributes {
    Attributes {
        kind: kind(found),
        links: found.nlink(),
        size: found.len(),
        modified_ns: found.modified().ok().and_then(set_by_an_operation),
        accessed_ns: found.accessed().ok().and_then(set_by_an_operation),
    }
}

fn kind(found: &std::fs::Metadata) -> Kind {
    match found.file_type() {
        kind if kind.is_dir() => Kind::Folder,
        kind if kind.is_symlink() => Kind::Link,
        _ => Kind::File,
    }
}

fn walk(folder: &Path, path: &str, tree: &mut Tree) -> io::Result<()> {
    for entry in std::fs::read_dir(folder)? {
        let entry = entry?;
        let name = entry.file_name().into_string().expect("only UTF-8 was made");
        let below = if path.is_empty() { name } else { format!("{path}/{name}") };
        let found = entry.metadata()?;
        let Attributes { links: names, modified_ns, .. } = attributes(&found);
        let node = match kind(&found) {
            Kind::Link => {
                let target = std::fs::read_link(entry.path())?.into_os_string().into_string();
                TreeNode::Link { target: target.expect("only UTF-8 was made"), names, modified_ns }
            }
            Kind::Folder => {
                walk(&entry.path(), &below, tree)?;
                TreeNode::Folder { modified_ns }
            }
            Kind::File => {
                let file = File::open(entry.path())?;
                let mut content = Vec::new();
                for (offset, length) in sampled(found.len()) {
                    let mut part = vec![0; length as usize];
                    file.read_exact_at(&mut part, offset)?;
                    content.extend(part);
                }
                TreeNode::File { size: found.len(), content, names, modified_ns }
            }
        };
        tree.insert(below, node);
    }
    Ok(())
}

/// Makes a folder what a snapshot of it would be: a file with several names becomes several files, and access times are those
/// of the last change.
fn store(folder: &Path) -> io::Result<()> {
    let copy = folder.join(".copy");
    let entries: Vec<_> = std::fs::read_dir(folder)?.collect::<io::Result<_>>()?;
    let parent = File::open(folder)?;
    let modified = parent.metadata()?.modified()?;
    for entry in entries {
        let (path, found) = (entry.path(), entry.metadata()?);
        match kind(&found) {
            Kind::Folder => store(&path)?,
            Kind::File if found.nlink() > 1 => {
                copy_file(&path, &copy, found.len())?;
                std::fs::rename(&copy, &path)?;
            }
            Kind::Link if found.nlink() > 1 => {
                std::os::unix::fs::symlink(std::fs::read_link(&path)?, &copy)?;
                std::fs::rename(&copy, &path)?;
            }
            Kind::File | Kind::Link => {}
        }
        set_both_times(&path, found.modified()?)?;
    }
    parent.set_times(FileTimes::new().set_accessed(modified).set_modified(modified))
}

/// Copies what is not a hole.
fn copy_file(from: &Path, to: &Path, size: u64) -> io::Result<()> {
    use rustix::fs::{SeekFrom, seek};
    let (from, to) = (File::open(from)?, File::create(to)?);
    to.set_len(size)?;
    let mut at = 0;
    while let Ok(start) = seek(&from, SeekFrom::Data(at)) {
        let end = seek(&from, SeekFrom::Hole(start))?;
        let mut bytes = vec![0; (end - start) as usize];
        from.read_exact_at(&mut bytes, start)?;
        to.write_all_at(&bytes, start)?;
        at = end;
    }
    Ok(())
}

fn set_both_times(path: &Path, time: SystemTime) -> io::Result<()> {
    use rustix::fs::{AtFlags, CWD, Timespec, Timestamps, utimensat};
    let since = time.duration_since(SystemTime::UNIX_EPOCH).map_err(io::Error::other)?;
    let time = Timespec { tv_sec: since.as_secs() as i64, tv_nsec: since.subsec_nanos().into() };
    let times = Timestamps { last_access: time, last_modification: time };
    Ok(utimensat(CWD, path, &times, AtFlags::SYMLINK_NOFOLLOW)?)
}

/// The error's name, by the table of `wasmtime-wasi`; `None` is "not supported".
fn errno(error: io::Error) -> Option<Errno> {
    use rustix::io::Errno as Code;
    let Some(code) = Code::from_io_error(&error) else {
        return Some(match error.kind() {
            io::ErrorKind::NotFound => Errno::NoEntry,
            io::ErrorKind::PermissionDenied => Errno::NotPermitted,
            io::ErrorKind::AlreadyExists => Errno::Exist,
            io::ErrorKind::InvalidInput => Errno::Invalid,
            other => panic!("an error of kind {other:?}: {error}"),
        });
    };
    Some(match code {
        Code::PERM => Errno::NotPermitted,
        Code::NOENT => Errno::NoEntry,
        Code::NOMEM => Errno::InsufficientMemory,
        Code::BADF => Errno::BadDescriptor,
        Code::BUSY => Errno::Busy,
        Code::NOTDIR => Errno::NotDirectory,
        Code::ISDIR => Errno::IsDirectory,
        Code::INVAL => Errno::Invalid,
        Code::EXIST => Errno::Exist,
        Code::FBIG => Errno::FileTooLarge,
        Code::NOSPC => Errno::InsufficientSpace,
        Code::MLINK => Errno::TooManyLinks,
        Code::NAMETOOLONG => Errno::NameTooLong,
        Code::NOTEMPTY => Errno::NotEmpty,
        Code::LOOP => Errno::Loop,
        Code::OVERFLOW => Errno::Overflow,
        Code::NOTSUP => return None,
        other => panic!("error {other} has no name here"),
    })
}

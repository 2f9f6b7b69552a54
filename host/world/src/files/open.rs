//! Opening, and what is done with an open file: reading, writing, setting its size, making streams.

use super::resolve::Walk;
use super::{Content, NodeId, What};
use crate::World;
use crate::failure::{Errno, Failure};
use crate::meter::price;
use crate::streams::{Input, Output, Reading, STREAM_BYTES, Writing};
use alloc::string::String;
use alloc::vec::Vec;
use hutch_model::invocation::Access;

/// An open file or folder. It ends with [`World::close`], which it must be given to.
#[derive(Debug)]
pub struct Descriptor {
    pub(super) node: NodeId,
    options: OpenOptions,
}

/// What to open for, and what may be there.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct OpenOptions {
    /// Follow a link that the path ends in.
    pub follow: bool,
    /// Make a file if there is none.
    pub create: bool,
    /// Fail unless it is a folder.
    pub directory: bool,
    /// With `create`: fail if anything is there.
    pub exclusive: bool,
    /// Cut the file to no bytes.
    pub truncate: bool,
    /// For reading.
    pub read: bool,
    /// For writing.
    pub write: bool,
    /// For changing what a folder holds.
    pub mutate_directory: bool,
    /// Asks that reads see only what is stored safely. All writes are stored together at the end, so this holds always.
    pub requested_write_sync: bool,
    /// Asks for safe storage of content and attributes with each write; likewise.
    pub file_integrity_sync: bool,
    /// Asks for safe storage of content with each write; likewise.
    pub data_integrity_sync: bool,
}

impl Descriptor {
    /// What it was opened for.
    pub fn options(&self) -> OpenOptions {
        self.options
    }
}

impl World {
    /// A new descriptor for each preopened folder, with the name it goes by.
    pub fn open_preopens(&mut self) -> Vec<(Descriptor, String)> {
        let volumes: Vec<_> = self.files.volumes.iter().map(|v| (v.root, v.access, v.name.clone())).collect();
        let open = |(node, access, name)| {
            self.hold(node);
            let mutate_directory = access == Access::ReadWrite;
            (Descriptor { node, options: OpenOptions { read: true, mutate_directory, ..OpenOptions::default() } }, name)
        };
        volumes.into_iter().map(open).collect()
    }

    /// Opens `path` below a folder.
    ///
    /// # Errors
    /// Those of Linux's `openat2` with `RESOLVE_BENEATH`; ReadOnly where changing is not granted.
    pub fn open_at(&mut self, base: &Descriptor, path: &str, options: OpenOptions) -> Result<Descriptor, Failure> {
        let changes = options.create || options.truncate;
        let write = options.write || changes;
        self.files.folder(base.node)?;
        if options.directory && (changes || options.exclusive) {
            return Err(Errno::Invalid.into());
        }
        if write && self.files.volume_of(base.node).access == Access::ReadOnly {
            return Err(Errno::ReadOnly.into());
        }
        let only_new = options.create && options.exclusive;
        let walk = Walk { follow: options.follow && !only_new, create: options.create };
        let place = self.resolve(base.node, path, walk)?;
        let node = match (place.node, place.name) {
            (Some(_), _) if only_new => return Err(Errno::Exist.into()),
            (Some(node), _) => {
                match &self.files.node(node).what {
                    What::Link(_) => return Err(Errno::Loop.into()),
                    What::Folder(_) if write => return Err(Errno::IsDirectory.into()),
                    What::File(_) if options.directory => return Err(Errno::NotDirectory.into()),
                    _ => {}
                }
                if options.truncate {
                    self.file_set_size(node, 0)?;
                }
                node
            }
            (None, Some(name)) if options.create => {
                let above = self.place(place.folder)?;
                self.check_path_bytes(above.path_bytes + name.as_str().len() as u64)?;
                let volume = self.files.node(place.folder).volume;
                self.take_node(volume, &name, 0)?;
                let node = self.files.insert(volume, self.clock.wall_ns(), What::File(Content::default()));
                self.attach(place.folder, name, node)?;
                node
            }
            _ => return Err(Errno::NoEntry.into()),
        };
        self.hold(node);
        let access = self.files.volume_of(node).access;
        let folder = self.files.is_folder(node);
        let options = OpenOptions {
            read: options.read || !options.write,
            write,
            mutate_directory: folder && options.mutate_directory && access == Access::ReadWrite,
            ..options
        };
        Ok(Descriptor { node, options })
    }

    /// Ends a descriptor.
    pub fn close(&mut self, descriptor: Descriptor) {
        self.release(descriptor.node);
    }

    /// Up to `length` bytes from `offset`, at most [`STREAM_BYTES`]; none at or after the end.
    ///
    /// # Errors
    /// BadDescriptor for a folder or a file not opened for reading.
    pub fn read(&mut self, descriptor: &Descriptor, length: u64, offset: u64) -> Result<Vec<u8>, Failure> {
        let length = length.min(STREAM_BYTES);
        self.meter.spend(length * price::BYTE)?;
        if self.files.is_folder(descriptor.node) {
            return Err(Errno::BadDescriptor.into());
        }
        check_offset(offset)?;
        if !descriptor.options.read {
            return Err(Errno::BadDescriptor.into());
        }
        self.file_read(descriptor.node, offset, length)
    }

    /// Writes all bytes at `offset`.
    ///
    /// # Errors
    /// BadDescriptor for a folder or a file not opened for writing; FileTooLarge, InsufficientSpace or InsufficientMemory at a
    /// limit, and nothing is written.
    pub fn write(&mut self, descriptor: &Descriptor, bytes: &[u8], offset: u64) -> Result<(), Failure> {
        self.meter.spend(bytes.len() as u64 * price::BYTE)?;
        self.check_writable(descriptor)?;
        check_offset(offset)?;
        if !descriptor.options.write {
            return Err(Errno::BadDescriptor.into());
        }
        self.file_write(descriptor.node, offset, bytes)
    }

    /// Writes all bytes at the end, and says where that is then.
    ///
    /// # Errors
    /// As [`write`](World::write).
    pub fn append(&mut self, descriptor: &Descriptor, bytes: &[u8]) -> Result<u64, Failure> {
        let end = self.stat(descriptor).size;
        self.write(descriptor, bytes, end)?;
        Ok(end + bytes.len() as u64)
    }

    /// Cuts a file, or makes it longer with zeros.
    ///
    /// # Errors
    /// BadDescriptor for a folder, Invalid for a file not opened for writing; FileTooLarge or InsufficientSpace at a limit.
    pub fn set_size(&mut self, descriptor: &Descriptor, size: u64) -> Result<(), Failure> {
        self.check_writable(descriptor)?;
        if !descriptor.options.write {
            return Err(Errno::Invalid.into());
        }
        self.file_set_size(descriptor.node, size)
    }

    /// A stream that reads from `offset`.
    ///
    /// # Errors
    /// IsDirectory for a folder.
    pub fn read_stream(&mut self, descriptor: &Descriptor, offset: u64) -> Result<Input, Failure> {
        if self.files.is_folder(descriptor.node) {
            return Err(Errno::IsDirectory.into());
        }
        self.hold(descriptor.node);
        Ok(Input::File(Some(Reading { node: descriptor.node, offset, readable: descriptor.options.read })))
    }

    /// A stream that writes from `offset`, or at the end.
    ///
    /// # Errors
    /// BadDescriptor for a folder, ReadOnly where changing is not granted.
    pub fn write_stream(&mut self, descriptor: &Descriptor, offset: Option<u64>) -> Result<Output, Failure> {
        self.check_writable(descriptor)?;
        self.hold(descriptor.node);
        Ok(Output::File(Some(Writing { node: descriptor.node, offset, writable: descriptor.options.write })))
    }

    fn check_writable(&self, descriptor: &Descriptor) -> Result<(), Errno> {
        if self.files.is_folder(descriptor.node) {
            return Err(Errno::BadDescriptor);
        }
        if self.files.volume_of(descriptor.node).access == Access::ReadOnly { Err(Errno::ReadOnly) } else { Ok(()) }
    }
}

/// Offsets are signed for Linux, and a negative one is found before anything else is wrong.
pub(crate) fn check_offset(offset: u64) -> Result<(), Errno> {
    if i64::try_from(offset).is_err() { Err(Errno::Invalid) } else { Ok(()) }
}

//! `fd_…`: what is done with open files, and with anything that a number stands for.

use super::answer::{Errno, Fail};
use super::descriptors::{File, Open};
use super::memory::Bytes;
use super::paths::{Times, file_stat, new_times, put_stat};
use super::{Call, above::Above};
use hutch_world::files::{Stat, Type};
use hutch_world::{Errno as World, Input, Output, STREAM_BYTES, StreamFailure, price};

/// Flags of descriptors.
pub(super) const APPEND: u32 = 1;
pub(super) const DSYNC: u32 = 1 << 1;
pub(super) const NONBLOCK: u32 = 1 << 2;
pub(super) const RSYNC: u32 = 1 << 3;
pub(super) const SYNC: u32 = 1 << 4;

/// Rights, which say what a file was opened for and nothing else here.
pub(super) const READ: u64 = 1 << 1;
pub(super) const WRITE: u64 = 1 << 6;
/// All 30 there are.
const ALL_RIGHTS: u64 = (1 << 30) - 1;
/// To seek, tell, read and write a descriptor, to allocate or cut it: not for folders.
const FILE_RIGHTS: u64 = READ | WRITE | 1 << 2 | 1 << 5 | 1 << 7 | 1 << 8 | 1 << 22;
/// For sockets.
const SOCKET_RIGHTS: u64 = 1 << 28 | 1 << 29;

/// Bytes of an element of a list of buffers.
const VECTOR_BYTES: u32 = 8;

/// The number of a kind of file.
pub(super) const fn file_type(kind: Type) -> u8 {
    match kind {
        Type::Folder => 3,
        Type::File => 4,
        Type::Link => 7,
    }
}

pub(super) fn fd_advise(call: &mut Call<'_>, fd: u32, _: u64, _: u64, advice: u32) -> Result<(), Fail> {
    call.guest.descriptors.file(fd)?;
    if advice > 5 { Err(World::Invalid.into()) } else { Ok(()) }
}

/// Makes a file longer, if it is shorter than that.
pub(super) fn fd_allocate(call: &mut Call<'_>, fd: u32, offset: u64, length: u64) -> Result<(), Fail> {
    let (world, file) = (&mut call.guest.world, call.guest.descriptors.file(fd)?);
    if !file.write {
        return Err(World::BadDescriptor.into());
    }
    let end = offset.checked_add(length).filter(|end| i64::try_from(*end).is_ok()).ok_or(World::FileTooLarge)?;
    if length == 0 || i64::try_from(offset).is_err() {
        return Err(World::Invalid.into());
    }
    if world.stat(&file.descriptor).size < end {
        world.set_size(&file.descriptor, end)?;
    }
    Ok(())
}

pub(super) fn fd_close(call: &mut Call<'_>, fd: u32) -> Result<(), Fail> {
    call.guest.descriptors.close(&mut call.guest.world, fd)
}

/// All writes are stored together at the end, safely, so there is nothing left to do.
pub(super) fn fd_datasync(call: &mut Call<'_>, fd: u32) -> Result<(), Fail> {
    match call.guest.descriptors.get(fd)? {
        Open::File(_) | Open::Folder(_) | Open::Above(_) => Ok(()),
        Open::Stdin | Open::Stdout | Open::Stderr => Err(World::BadDescriptor.into()),
    }
}

pub(super) fn fd_sync(call: &mut Call<'_>, fd: u32) -> Result<(), Fail> {
    fd_datasync(call, fd)
}

pub(super) fn fd_fdstat_get(call: &mut Call<'_>, fd: u32, stat: u32) -> Result<(), Fail> {
    // What a stream is, is not known; that it is no terminal is said so.
    const UNKNOWN: u8 = 0;
    let folder = ALL_RIGHTS & !FILE_RIGHTS & !SOCKET_RIGHTS;
    let (kind, flags, base, inheriting) = match call.guest.descriptors.get(fd)? {
        Open::Stdin => (UNKNOWN, 0, READ, READ),
        Open::Stdout | Open::Stderr => (UNKNOWN, 0, WRITE, WRITE),
        // Libraries open below a folder only what it hands on the right to.
        Open::Folder(_) | Open::Above(_) => (file_type(Type::Folder), 0, folder, ALL_RIGHTS & !SOCKET_RIGHTS),
        Open::File(file) => {
            let (read, write) = (if file.read { READ } else { 0 }, if file.write { WRITE } else { 0 });
            let rights = ALL_RIGHTS & !SOCKET_RIGHTS & !READ & !WRITE | read | write;
            (file_type(Type::File), flags(file), rights, rights)
        }
    };
    let mut bytes = [0; 24];
    bytes[0] = kind;
    bytes[2..4].copy_from_slice(&(flags as u16).to_le_bytes());
    bytes[8..16].copy_from_slice(&base.to_le_bytes());
    bytes[16..24].copy_from_slice(&inheriting.to_le_bytes());
    Ok(call.bytes.put_record(stat, 8, &bytes)?)
}

fn flags(file: &File) -> u32 {
    let options = file.descriptor.options();
    let all = [
        (file.append, APPEND),
        (options.data_integrity_sync, DSYNC),
        (file.nonblocking, NONBLOCK),
        (options.requested_write_sync, RSYNC),
        (options.file_integrity_sync, SYNC),
    ];
    all.iter().filter(|(set, _)| *set).map(|(_, flag)| flag).sum()
}

pub(super) fn fd_fdstat_set_flags(call: &mut Call<'_>, fd: u32, flags: u32) -> Result<(), Fail> {
    let open = call.guest.descriptors.get_mut(fd)?;
    if flags & !(APPEND | NONBLOCK) != 0 {
        return Err(World::Invalid.into());
    }
    match open {
        Open::File(file) => (file.append, file.nonblocking) = (flags & APPEND != 0, flags & NONBLOCK != 0),
        // Nothing here ever blocks.
        Open::Stdin | Open::Stdout | Open::Stderr => {}
        Open::Folder(_) | Open::Above(_) => return Err(World::BadDescriptor.into()),
    }
    Ok(())
}

pub(super) fn fd_fdstat_set_rights(call: &mut Call<'_>, fd: u32, _: u64, _: u64) -> Result<(), Fail> {
    call.guest.descriptors.get(fd)?;
    Err(Errno::NotSupported.into())
}

pub(super) fn fd_filestat_get(call: &mut Call<'_>, fd: u32, stat: u32) -> Result<(), Fail> {
    let world = &call.guest.world;
    let bytes = match call.guest.descriptors.get(fd)? {
        Open::Stdin | Open::Stdout | Open::Stderr => [0; 64],
        Open::File(File { descriptor, .. }) => file_stat(&world.stat(descriptor), world.identity(descriptor).0),
        Open::Folder(folder) => file_stat(&world.stat(&folder.descriptor), world.identity(&folder.descriptor).0),
        Open::Above(folder) => above_stat(*folder, call.guest.world.clock.start_ns()),
    };
    put_stat(&mut call.bytes, stat, &bytes)
}

/// What a folder above the preopened ones is said to be: as old as the run.
pub(super) fn above_stat(folder: usize, start_ns: u64) -> [u8; 64] {
    let stat = Stat {
        kind: Type::Folder,
        links: 1,
        size: 0,
        accessed_ns: start_ns,
        modified_ns: start_ns,
        changed_ns: start_ns,
    };
    file_stat(&stat, Above::identity(folder))
}

pub(super) fn fd_filestat_set_size(call: &mut Call<'_>, fd: u32, size: u64) -> Result<(), Fail> {
    match call.guest.descriptors.get(fd)? {
        Open::File(file) if file.write => Ok(call.guest.world.set_size(&file.descriptor, size)?),
        // Nothing that can be cut, says POSIX.
        Open::File(_) | Open::Folder(_) | Open::Above(_) => Err(World::Invalid.into()),
        Open::Stdin | Open::Stdout | Open::Stderr => Err(World::BadDescriptor.into()),
    }
}

pub(super) fn fd_filestat_set_times(
    call: &mut Call<'_>,
    fd: u32,
    accessed: u64,
    modified: u64,
    flags: u32,
) -> Result<(), Fail> {
    let Times { accessed, modified } = new_times(accessed, modified, flags)?;
    let descriptor = match call.guest.descriptors.get(fd)? {
        Open::File(file) => &file.descriptor,
        Open::Folder(folder) => &folder.descriptor,
        Open::Above(_) => return Err(World::ReadOnly.into()),
        Open::Stdin | Open::Stdout | Open::Stderr => return Err(World::BadDescriptor.into()),
    };
    Ok(call.guest.world.set_times(descriptor, accessed, modified)?)
}

/// Bytes of lists of buffers, one after the other: each is the place and the length of a part of the guest's memory.
struct Vectors {
    at: u32,
    count: u32,
    next: u32,
}

impl Vectors {
    /// The next buffer that is not empty, in parts that a stream takes; `done` is how much of the last one is done.
    fn next(&mut self, call: &mut Call<'_>) -> Result<Option<(u32, u32)>, Fail> {
        while self.next < self.count {
            call.guest.world.meter.spend(price::ITEM + u64::from(VECTOR_BYTES) * price::BYTE)?;
            let at = Bytes::element(self.at, self.next, VECTOR_BYTES)?;
            self.next += 1;
            let [a, b, c, d, rest @ ..]: [u8; VECTOR_BYTES as usize] = call.bytes.record(at, 4)?;
            let (buffer, length) = (u32::from_le_bytes([a, b, c, d]), u32::from_le_bytes(rest));
            call.bytes.part(buffer, length)?;
            if length > 0 {
                return Ok(Some((buffer, length)));
            }
        }
        Ok(None)
    }
}

/// Goes through buffers, a part that is not larger than [`STREAM_BYTES`] at a time, until `step` does less than it was asked for.
/// An error after the first part is left for the next call.
fn each_part(
    call: &mut Call<'_>,
    vectors: u32,
    count: u32,
    mut step: impl FnMut(&mut Call<'_>, u32, u32) -> Result<u32, Fail>,
) -> Result<u32, Fail> {
    let (mut list, mut total, mut stepped) = (Vectors { at: vectors, count, next: 0 }, 0_u32, false);
    while let Some((buffer, length)) = list.next(call)? {
        let mut done = 0;
        while done < length {
            let wanted = (length - done).min(STREAM_BYTES as u32).min(u32::MAX - total);
            let did = match step(call, buffer + done, wanted) {
                Err(Fail::Errno(_)) if total > 0 => return Ok(total),
                did => did?,
            };
            stepped = true;
            (done, total) = (done + did, total + did);
            if did < wanted || total == u32::MAX {
                return Ok(total);
            }
        }
    }
    if !stepped {
        // That nothing was asked for is no reason not to say what is wrong.
        step(call, 0, 0)?;
    }
    Ok(total)
}

pub(super) fn fd_read(call: &mut Call<'_>, fd: u32, vectors: u32, count: u32, read: u32) -> Result<(), Fail> {
    let total = match call.guest.descriptors.get(fd)? {
        Open::Stdin => each_part(call, vectors, count, |call, buffer, length| {
            match call.guest.world.stream_read(&mut Input::Stdin, u64::from(length)) {
                Ok(bytes) => {
                    call.bytes.put(buffer, &bytes)?;
                    Ok(bytes.len() as u32)
                }
                Err(StreamFailure::Closed) => Ok(0),
                Err(failure) => Err(stream_failure(failure)),
            }
        })?,
        Open::File(_) => {
            let total = read_at(call, fd, vectors, count, None)?;
            call.guest.descriptors.file(fd)?.position += u64::from(total);
            total
        }
        Open::Folder(_) | Open::Above(_) => return Err(World::IsDirectory.into()),
        Open::Stdout | Open::Stderr => return Err(World::BadDescriptor.into()),
    };
    Ok(call.bytes.put_u32(read, total)?)
}

pub(super) fn fd_pread(
    call: &mut Call<'_>,
    fd: u32,
    vectors: u32,
    count: u32,
    offset: u64,
    read: u32,
) -> Result<(), Fail> {
    positioned(call, fd)?;
    let total = read_at(call, fd, vectors, count, Some(offset))?;
    Ok(call.bytes.put_u32(read, total)?)
}

/// Fails unless a number stands for a file.
fn positioned(call: &mut Call<'_>, fd: u32) -> Result<(), Fail> {
    match call.guest.descriptors.get(fd)? {
        Open::File(_) => Ok(()),
        Open::Stdin | Open::Stdout | Open::Stderr => Err(Errno::NotSeekable.into()),
        Open::Folder(_) | Open::Above(_) => Err(World::IsDirectory.into()),
    }
}

/// Reads from a place in a file, or from where it stands.
fn read_at(call: &mut Call<'_>, fd: u32, vectors: u32, count: u32, offset: Option<u64>) -> Result<u32, Fail> {
    let file = call.guest.descriptors.file(fd)?;
    if !file.read {
        return Err(World::BadDescriptor.into());
    }
    let mut at = offset.unwrap_or(file.position);
    each_part(call, vectors, count, |call, buffer, length| {
        let file = call.guest.descriptors.file(fd)?;
        let bytes = call.guest.world.read(&file.descriptor, u64::from(length), at)?;
        call.bytes.put(buffer, &bytes)?;
        at += bytes.len() as u64;
        Ok(bytes.len() as u32)
    })
}

pub(super) fn fd_write(call: &mut Call<'_>, fd: u32, vectors: u32, count: u32, written: u32) -> Result<(), Fail> {
    let mut output = match call.guest.descriptors.get(fd)? {
        Open::File(_) => {
            let (total, end) = write_at(call, fd, vectors, count, None)?;
            call.guest.descriptors.file(fd)?.position = end;
            return Ok(call.bytes.put_u32(written, total)?);
        }
        Open::Stdout => Output::Stdout,
        Open::Stderr => Output::Stderr,
        Open::Stdin | Open::Folder(_) | Open::Above(_) => return Err(World::BadDescriptor.into()),
    };
    let total = each_part(call, vectors, count, |call, buffer, length| {
        let bytes = call.bytes.part(buffer, length)?;
        call.guest.world.stream_write(&mut output, bytes).map_err(stream_failure)?;
        Ok(length)
    })?;
    Ok(call.bytes.put_u32(written, total)?)
}

pub(super) fn fd_pwrite(
    call: &mut Call<'_>,
    fd: u32,
    vectors: u32,
    count: u32,
    offset: u64,
    written: u32,
) -> Result<(), Fail> {
    positioned(call, fd).map_err(|fail| match fail {
        Fail::Errno(Errno::World(World::IsDirectory)) => World::BadDescriptor.into(),
        other => other,
    })?;
    let (total, _) = write_at(call, fd, vectors, count, Some(offset))?;
    Ok(call.bytes.put_u32(written, total)?)
}

/// Writes to a place in a file, or where it stands; at its end in any case, if it was opened for that. Says how much, and where that
/// ends.
fn write_at(call: &mut Call<'_>, fd: u32, vectors: u32, count: u32, offset: Option<u64>) -> Result<(u32, u64), Fail> {
    let file = call.guest.descriptors.file(fd)?;
    if !file.write {
        return Err(World::BadDescriptor.into());
    }
    let mut at = offset.unwrap_or(file.position);
    let total = each_part(call, vectors, count, |call, buffer, length| {
        let file = call.guest.descriptors.file(fd)?;
        let (world, bytes) = (&mut call.guest.world, call.bytes.part(buffer, length)?);
        if file.append && length > 0 {
            at = world.append(&file.descriptor, bytes)?;
        } else {
            world.write(&file.descriptor, bytes, at)?;
            at += u64::from(length);
        }
        Ok(length)
    })?;
    Ok((total, at))
}

fn stream_failure(failure: StreamFailure) -> Fail {
    match failure {
        StreamFailure::Closed => World::BadDescriptor.into(),
        StreamFailure::Failed(errno) => errno.into(),
        StreamFailure::Stop(stop) => stop.into(),
    }
}

pub(super) fn fd_renumber(call: &mut Call<'_>, fd: u32, to: u32) -> Result<(), Fail> {
    call.guest.descriptors.renumber(&mut call.guest.world, fd, to)
}

pub(super) fn fd_seek(call: &mut Call<'_>, fd: u32, offset: i64, whence: u32, position: u32) -> Result<(), Fail> {
    let file = call.guest.descriptors.seekable(fd)?;
    let from = match whence {
        0 => 0,
        1 => file.position,
        2 => call.guest.world.stat(&file.descriptor).size,
        _ => return Err(World::Invalid.into()),
    };
    let to = from.checked_add_signed(offset).filter(|to| i64::try_from(*to).is_ok()).ok_or(World::Invalid)?;
    file.position = to;
    Ok(call.bytes.put_u64(position, to)?)
}

pub(super) fn fd_tell(call: &mut Call<'_>, fd: u32, position: u32) -> Result<(), Fail> {
    let at = call.guest.descriptors.seekable(fd)?.position;
    Ok(call.bytes.put_u64(position, at)?)
}

//! `path_…`: what is done with names below a folder.

use super::Call;
use super::answer::{Errno, Fail};
use super::descriptors::{Descriptors, File, Folder, Open, Place};
use super::files::{self, above_stat, file_type};
use super::memory::Bytes;
use hutch_world::files::{NewTime, OpenOptions, PATH_BYTES_MAX, Stat, Type};
use hutch_world::{Descriptor, Errno as World, World as Computer, price};

/// What a lookup does with a link at the end.
const FOLLOW: u32 = 1;

/// Flags of `path_open`.
const CREATE: u32 = 1;
const DIRECTORY: u32 = 1 << 1;
const EXCLUSIVE: u32 = 1 << 2;
const TRUNCATE: u32 = 1 << 3;

/// Which times are set.
const ACCESSED: u32 = 1;
const ACCESSED_NOW: u32 = 1 << 1;
const MODIFIED: u32 = 1 << 2;
const MODIFIED_NOW: u32 = 1 << 3;

/// New time stamps.
pub(super) struct Times {
    pub(super) accessed: NewTime,
    pub(super) modified: NewTime,
}

pub(super) fn new_times(accessed: u64, modified: u64, flags: u32) -> Result<Times, Fail> {
    let time = |at: u64, set: u32, now: u32| match (flags & set != 0, flags & now != 0) {
        (true, true) => Err(World::Invalid),
        (true, false) => Ok(NewTime::At(at / 1_000_000_000, (at % 1_000_000_000) as u32)),
        (false, true) => Ok(NewTime::Now),
        (false, false) => Ok(NewTime::Keep),
    };
    if flags & !(ACCESSED | ACCESSED_NOW | MODIFIED | MODIFIED_NOW) != 0 {
        return Err(World::Invalid.into());
    }
    Ok(Times { accessed: time(accessed, ACCESSED, ACCESSED_NOW)?, modified: time(modified, MODIFIED, MODIFIED_NOW)? })
}

/// Attributes as the guest has them.
pub(super) fn file_stat(stat: &Stat, identity: u64) -> [u8; 64] {
    /// The one device there is.
    const DEVICE: u64 = 1;
    let mut bytes = [0; 64];
    let fields = [(0, DEVICE), (8, identity), (24, stat.links), (32, stat.size)];
    let times = [(40, stat.accessed_ns), (48, stat.modified_ns), (56, stat.changed_ns)];
    for (at, value) in fields.into_iter().chain(times) {
        bytes[at..at + 8].copy_from_slice(&value.to_le_bytes());
    }
    bytes[16] = file_type(stat.kind);
    bytes
}

pub(super) fn put_stat(bytes: &mut Bytes<'_>, at: u32, stat: &[u8; 64]) -> Result<(), Fail> {
    Ok(bytes.put_record(at, 8, stat)?)
}

/// A path of the guest's, which is charged for, and for looking at each of its parts. One that is too long is not looked at.
fn text<'a>(bytes: &'a Bytes<'_>, world: &mut Computer, at: u32, length: u32) -> Result<&'a str, Fail> {
    if length as usize >= PATH_BYTES_MAX {
        return Err(World::NameTooLong.into());
    }
    world.meter.spend(u64::from(length) * price::BYTE)?;
    let text = bytes.text(at, length)?;
    let parts = text.bytes().filter(|byte| *byte == b'/').count() as u64 + 1;
    world.meter.spend(parts * 2 * price::STEP)?;
    Ok(text)
}

/// Where a path leads from a folder.
fn place<'a>(
    call: &'a mut Call<'_>,
    (fd, path, length): (u32, u32, u32),
) -> Result<(&'a mut Computer, Place<'a>), Fail> {
    let (world, descriptors) = (&mut call.guest.world, &call.guest.descriptors);
    let path = text(&call.bytes, world, path, length)?;
    Ok((world, descriptors.place(fd, path)?))
}

/// A folder of the world that something is to be made in; a folder above the preopened ones that is there already is `taken`.
fn place_to_make<'a>(
    descriptors: &'a Descriptors,
    fd: u32,
    path: &'a str,
    taken: World,
) -> Result<(&'a Descriptor, &'a str), Fail> {
    match descriptors.place(fd, path) {
        Ok(Place::World(folder, rest)) => Ok((folder, rest)),
        Ok(Place::Above(_)) => Err(taken.into()),
        // Nothing is made there.
        Err(Fail::Errno(Errno::World(World::NoEntry))) if !path.is_empty() && is_above(descriptors, fd) => {
            Err(World::ReadOnly.into())
        }
        Err(fail) => Err(fail),
    }
}

fn is_above(descriptors: &Descriptors, fd: u32) -> bool {
    matches!(descriptors.get(fd), Ok(Open::Above(_)))
}

pub(super) fn path_create_directory(call: &mut Call<'_>, fd: u32, path: u32, length: u32) -> Result<(), Fail> {
    let (world, descriptors) = (&mut call.guest.world, &call.guest.descriptors);
    let path = text(&call.bytes, world, path, length)?;
    let (folder, path) = place_to_make(descriptors, fd, path, World::Exist)?;
    Ok(world.create_folder(folder, path)?)
}

pub(super) fn path_filestat_get(
    call: &mut Call<'_>,
    fd: u32,
    flags: u32,
    path: u32,
    length: u32,
    stat: u32,
) -> Result<(), Fail> {
    let found = match place(call, (fd, path, length))? {
        (world, Place::World(folder, path)) => {
            let follow = flags & FOLLOW != 0;
            let (found, identity) = world.stat_and_identity_at(folder, path, follow)?;
            file_stat(&found, identity)
        }
        (world, Place::Above(folder)) => above_stat(folder, world.clock.start_ns()),
    };
    put_stat(&mut call.bytes, stat, &found)
}

#[allow(clippy::too_many_arguments, reason = "the specification's")]
pub(super) fn path_filestat_set_times(
    call: &mut Call<'_>,
    fd: u32,
    lookup: u32,
    path: u32,
    length: u32,
    accessed: u64,
    modified: u64,
    flags: u32,
) -> Result<(), Fail> {
    let Times { accessed, modified } = new_times(accessed, modified, flags)?;
    match place(call, (fd, path, length))? {
        (world, Place::World(folder, path)) => {
            Ok(world.set_times_at(folder, path, lookup & FOLLOW != 0, accessed, modified)?)
        }
        (_, Place::Above(_)) => Err(World::ReadOnly.into()),
    }
}

/// A folder, and the path from there.
type At<'a> = (&'a Descriptor, &'a str);

/// What a link or a new name leads from, and to where, of two paths, each with its descriptor. Folders above the preopened ones are
/// answered with an error, one for each path.
fn two_places<'a>(
    call: &'a mut Call<'_>,
    [(old_fd, old, old_length), (new_fd, new, new_length)]: [(u32, u32, u32); 2],
    [kept, taken]: [World; 2],
) -> Result<(&'a mut Computer, At<'a>, At<'a>), Fail> {
    let (world, descriptors) = (&mut call.guest.world, &call.guest.descriptors);
    let old = text(&call.bytes, world, old, old_length)?;
    let new = text(&call.bytes, world, new, new_length)?;
    let Place::World(folder, old) = descriptors.place(old_fd, old)? else { return Err(kept.into()) };
    let to = place_to_make(descriptors, new_fd, new, taken)?;
    Ok((world, (folder, old), to))
}

#[allow(clippy::too_many_arguments, reason = "the specification's")]
pub(super) fn path_link(
    call: &mut Call<'_>,
    old_fd: u32,
    old_flags: u32,
    old_path: u32,
    old_length: u32,
    new_fd: u32,
    new_path: u32,
    new_length: u32,
) -> Result<(), Fail> {
    let paths = [(old_fd, old_path, old_length), (new_fd, new_path, new_length)];
    let (world, from, to) = two_places(call, paths, [World::NotPermitted, World::Exist])?;
    Ok(world.link(from, old_flags & FOLLOW != 0, to)?)
}

#[allow(clippy::too_many_arguments, reason = "the specification's")]
pub(super) fn path_open(
    call: &mut Call<'_>,
    fd: u32,
    lookup: u32,
    path: u32,
    length: u32,
    open: u32,
    rights: u64,
    _: u64,
    flags: u32,
    opened: u32,
) -> Result<(), Fail> {
    let (world, descriptors) = (&mut call.guest.world, &mut call.guest.descriptors);
    let path = text(&call.bytes, world, path, length)?;
    let write = rights & files::WRITE != 0;
    // A file that is opened for neither is opened to be read, as POSIX has no third way.
    let read = rights & files::READ != 0 || !write;
    let options = OpenOptions {
        follow: lookup & FOLLOW != 0,
        create: open & CREATE != 0,
        directory: open & DIRECTORY != 0,
        exclusive: open & EXCLUSIVE != 0,
        truncate: open & TRUNCATE != 0,
        read,
        write,
        mutate_directory: false,
        requested_write_sync: flags & files::RSYNC != 0,
        file_integrity_sync: flags & files::SYNC != 0,
        data_integrity_sync: flags & files::DSYNC != 0,
    };
    // First, as on Linux: what can't be handed out is neither made nor cut.
    let number = descriptors.take_number(world)?;
    match open_place(world, descriptors, (fd, path), options, flags) {
        Ok(is) => {
            descriptors.put(number, is);
            Ok(call.bytes.put_u32(opened, number)?)
        }
        Err(fail) => {
            descriptors.return_number(world, number);
            Err(fail)
        }
    }
}

/// Opens what is at a path of a folder, or makes it.
fn open_place(
    world: &mut Computer,
    descriptors: &Descriptors,
    (fd, path): (u32, &str),
    options: OpenOptions,
    flags: u32,
) -> Result<Open, Fail> {
    let place = if options.create {
        let taken = if options.exclusive { World::Exist } else { World::IsDirectory };
        place_to_make(descriptors, fd, path, taken).map(|(folder, path)| Place::World(folder, path))?
    } else {
        descriptors.place(fd, path)?
    };
    let (folder, path) = match place {
        Place::World(folder, path) => (folder, path),
        Place::Above(_) if options.write || options.truncate => return Err(World::IsDirectory.into()),
        Place::Above(folder) => return Ok(Open::Above(folder)),
    };
    let descriptor = world.open_at(folder, path, options)?;
    Ok(match world.kind(&descriptor) {
        Type::Folder => Open::Folder(Folder::new(descriptor)),
        Type::File | Type::Link => Open::File(File {
            descriptor,
            read: options.read,
            write: options.write,
            append: flags & files::APPEND != 0,
            nonblocking: flags & files::NONBLOCK != 0,
            position: 0,
        }),
    })
}

pub(super) fn path_readlink(
    call: &mut Call<'_>,
    fd: u32,
    path: u32,
    length: u32,
    buffer: u32,
    buffer_length: u32,
    used: u32,
) -> Result<(), Fail> {
    let (world, Place::World(folder, path)) = place(call, (fd, path, length))? else {
        return Err(World::Invalid.into());
    };
    let target = world.read_link(folder, path)?;
    let part = target.as_bytes();
    let part = part.get(..buffer_length as usize).unwrap_or(part);
    world.meter.spend(part.len() as u64 * price::BYTE)?;
    call.bytes.put(buffer, part)?;
    Ok(call.bytes.put_u32(used, part.len() as u32)?)
}

pub(super) fn path_remove_directory(call: &mut Call<'_>, fd: u32, path: u32, length: u32) -> Result<(), Fail> {
    match place(call, (fd, path, length))? {
        (world, Place::World(folder, path)) => Ok(world.remove_folder(folder, path)?),
        (_, Place::Above(_)) => Err(World::Busy.into()),
    }
}

pub(super) fn path_rename(
    call: &mut Call<'_>,
    fd: u32,
    old_path: u32,
    old_length: u32,
    new_fd: u32,
    new_path: u32,
    new_length: u32,
) -> Result<(), Fail> {
    let paths = [(fd, old_path, old_length), (new_fd, new_path, new_length)];
    let (world, from, to) = two_places(call, paths, [World::Busy, World::Busy])?;
    Ok(world.rename(from, to)?)
}

pub(super) fn path_symlink(
    call: &mut Call<'_>,
    target: u32,
    target_length: u32,
    fd: u32,
    path: u32,
    length: u32,
) -> Result<(), Fail> {
    let (world, descriptors) = (&mut call.guest.world, &call.guest.descriptors);
    let target = text(&call.bytes, world, target, target_length)?;
    let path = text(&call.bytes, world, path, length)?;
    let (folder, path) = place_to_make(descriptors, fd, path, World::Exist)?;
    Ok(world.symlink(folder, target, path)?)
}

pub(super) fn path_unlink_file(call: &mut Call<'_>, fd: u32, path: u32, length: u32) -> Result<(), Fail> {
    match place(call, (fd, path, length))? {
        (world, Place::World(folder, path)) => Ok(world.unlink_file(folder, path)?),
        (_, Place::Above(_)) => Err(World::IsDirectory.into()),
    }
}

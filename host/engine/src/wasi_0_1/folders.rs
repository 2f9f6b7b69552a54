//! What folders are called that are open from the start, and what is in a folder.

use super::Call;
use super::above::{Above, Found};
use super::answer::Fail;
use super::descriptors::Open;
use super::files::file_type;
use crate::rules::GIVEN_BYTES;
use hutch_world::files::Type;
use hutch_world::{Errno as World, price};

/// Bytes of an entry before its name.
const ENTRY_BYTES: usize = 24;

/// Cookies of what each listing begins with, the folder itself and the one above it; names come after these.
const ITSELF: u64 = 0;
const PARENT: u64 = 1;
const NAMES: u64 = 2;

/// The name that a folder is open by since the start.
fn start_name<'a>(call: &'a Call<'_>, fd: u32) -> Result<Option<&'a str>, Fail> {
    Ok(match call.guest.descriptors.get(fd)? {
        Open::Above(0) => Some("/"),
        Open::Folder(folder) => {
            let mut names = call.guest.invocation.preopens().keys();
            folder.preopened.and_then(|number| names.nth(number)).map(String::as_str)
        }
        _ => None,
    })
}

pub(super) fn fd_prestat_get(call: &mut Call<'_>, fd: u32, prestat: u32) -> Result<(), Fail> {
    let name = start_name(call, fd)?.ok_or(World::BadDescriptor)?;
    let mut bytes = [0; 8];
    bytes[4..].copy_from_slice(&(name.len() as u32).to_le_bytes());
    Ok(call.bytes.put_record(prestat, 4, &bytes)?)
}

pub(super) fn fd_prestat_dir_name(call: &mut Call<'_>, fd: u32, to: u32, length: u32) -> Result<(), Fail> {
    let name = start_name(call, fd)?.ok_or(World::NotDirectory)?.to_owned();
    if name.len() > length as usize {
        return Err(World::NameTooLong.into());
    }
    call.guest.world.meter.spend(name.len() as u64 * price::BYTE)?;
    Ok(call.bytes.put(to, name.as_bytes())?)
}

/// An entry of a listing.
struct Entry {
    identity: u64,
    kind: Type,
    name: String,
}

/// Writes entries, as many as fit, the last one cut if it does not: then all of `length` is used, and the guest asks again from that
/// entry's cookie on.
pub(super) fn fd_readdir(
    call: &mut Call<'_>,
    fd: u32,
    buffer: u32,
    length: u32,
    cookie: u64,
    used: u32,
) -> Result<(), Fail> {
    call.bytes.part(buffer, length)?;
    let (mut cookie, mut filled) = (cookie, 0);
    while filled < length {
        let Some(entry) = entry_at(call, fd, cookie)? else { break };
        cookie += 1;
        let mut bytes = [0; ENTRY_BYTES].to_vec();
        bytes[0..8].copy_from_slice(&cookie.to_le_bytes());
        bytes[8..16].copy_from_slice(&entry.identity.to_le_bytes());
        bytes[16..20].copy_from_slice(&(entry.name.len() as u32).to_le_bytes());
        bytes[20] = file_type(entry.kind);
        bytes.extend_from_slice(entry.name.as_bytes());
        bytes.truncate((length - filled) as usize);
        call.guest.world.meter.spend(bytes.len() as u64 * price::BYTE)?;
        call.bytes.put(buffer + filled, &bytes)?;
        filled += bytes.len() as u32;
    }
    Ok(call.bytes.put_u32(used, filled)?)
}

/// The entry that a cookie stands for.
fn entry_at(call: &mut Call<'_>, fd: u32, cookie: u64) -> Result<Option<Entry>, Fail> {
    if let Open::Above(folder) = call.guest.descriptors.get(fd)? {
        let folder = *folder;
        call.guest.world.meter.spend(price::ENTRY)?;
        return Ok(entry_above(call, folder, cookie));
    }
    let (world, descriptors) = (&mut call.guest.world, &mut call.guest.descriptors);
    let Open::Folder(folder) = descriptors.get_mut(fd)? else { return Err(World::NotDirectory.into()) };
    let identity = match cookie {
        ITSELF => {
            world.meter.return_memory(std::mem::take(&mut folder.given_bytes));
            folder.given.clear();
            Some((".", world.identity(&folder.descriptor).0))
        }
        PARENT => Some(("..", world.identity_above(&folder.descriptor)?)),
        _ => None,
    };
    if let Some((name, identity)) = identity {
        world.meter.spend(price::ENTRY)?;
        return Ok(Some(Entry { identity, kind: Type::Folder, name: name.to_owned() }));
    }
    // After the name that was given before it: what was added or removed meanwhile shows by its place in the order, and nothing is
    // left out because something else is gone.
    let number = usize::try_from(cookie - NAMES).unwrap_or(usize::MAX);
    let after = match number.checked_sub(1) {
        None => None,
        Some(before) => match folder.given.get(before) {
            Some(name) => Some(&**name),
            None => return Ok(None),
        },
    };
    let Some(listed) = world.list_after(&folder.descriptor, after)? else { return Ok(None) };
    let (name, bytes) = (listed.name.clone().into_boxed_str(), GIVEN_BYTES + listed.name.len() as u64);
    world.meter.take_memory_or_errno(bytes)?;
    folder.given_bytes += bytes;
    match folder.given.get_mut(number) {
        Some(given) => {
            let gone = GIVEN_BYTES + given.len() as u64;
            *given = name;
            folder.given_bytes -= gone;
            world.meter.return_memory(gone);
        }
        None => folder.given.push(name),
    }
    Ok(Some(Entry { identity: listed.identity, kind: listed.kind, name: listed.name }))
}

/// The same in a folder above the preopened ones.
fn entry_above(call: &Call<'_>, folder: usize, cookie: u64) -> Option<Entry> {
    let (world, descriptors) = (&call.guest.world, &call.guest.descriptors);
    let entry = |name: &str, identity| Some(Entry { identity, kind: Type::Folder, name: name.to_owned() });
    match cookie {
        ITSELF => entry(".", Above::identity(folder)),
        PARENT => entry("..", Above::identity(descriptors.above.parent(folder))),
        _ => {
            let number = usize::try_from(cookie - NAMES).ok()?;
            let (name, found) = descriptors.above.names(folder, number).next()?;
            let identity = match found {
                Found::Above(folder) => Above::identity(folder),
                Found::Preopened(number, _) => world.identity(descriptors.preopened(number)?).0,
                Found::Nothing | Found::Outside => return None,
            };
            entry(name, identity)
        }
    }
}

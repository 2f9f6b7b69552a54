//! What a process is given, arguments, environment, clocks and random bytes, and its end.

use super::answer::{Errno, Fail};
use super::memory::Bytes;
use super::{Call, MODULE};
use crate::guest::Guest;
use hutch_model::limits::Limit;
use hutch_world::{Errno as World, Stop, TICK_NS, price};
use rand_core::Rng;
use wasmtime::{Linker, Result};

/// Clocks, by number: the wall clock; all others are the monotonic one, because nothing takes time but what the guest does.
const WALL_CLOCK: u32 = 0;
const CLOCKS: u32 = 4;

/// Links the function that does not answer.
pub(super) fn link(linker: &mut Linker<Guest>, name: &str) -> Result<bool> {
    if name != "proc_exit" {
        return Ok(false);
    }
    // The status is that of POSIX: its lowest byte.
    linker.func_wrap(MODULE, name, |status: u32| -> Result<()> { Err(Stop::Exit(status as u8).into()) })?;
    Ok(true)
}

/// Writes strings with a NUL after each, and a list of where they begin.
fn put_strings<'a>(
    bytes: &mut Bytes<'_>,
    list: u32,
    mut to: u32,
    strings: impl Iterator<Item = [&'a str; 3]>,
) -> Result<(), Fail> {
    for (number, parts) in (0..).zip(strings) {
        bytes.put_u32(Bytes::element(list, number, 4)?, to)?;
        for part in parts.into_iter().chain(["\0"]) {
            bytes.put(to, part.as_bytes())?;
            to = Bytes::element(to, part.len() as u32, 1)?;
        }
    }
    Ok(())
}

pub(super) fn args_get(call: &mut Call<'_>, argv: u32, buffer: u32) -> Result<(), Fail> {
    let arguments = call.guest.invocation.argv();
    let length: usize = arguments.iter().map(String::len).sum();
    call.guest.world.meter.spend(length as u64 * price::BYTE + arguments.len() as u64 * price::ITEM)?;
    put_strings(&mut call.bytes, argv, buffer, arguments.iter().map(|text| [text, "", ""]))
}

pub(super) fn args_sizes_get(call: &mut Call<'_>, count: u32, bytes: u32) -> Result<(), Fail> {
    let arguments = call.guest.invocation.argv();
    call.guest.world.meter.spend(arguments.len() as u64 * price::ITEM)?;
    let length: usize = arguments.iter().map(|text| text.len() + 1).sum();
    call.bytes.put_u32(count, arguments.len() as u32)?;
    Ok(call.bytes.put_u32(bytes, length as u32)?)
}

pub(super) fn environ_get(call: &mut Call<'_>, environ: u32, buffer: u32) -> Result<(), Fail> {
    let variables = call.guest.invocation.environment();
    let length: usize = variables.iter().map(|(name, value)| name.len() + value.len()).sum();
    call.guest.world.meter.spend(length as u64 * price::BYTE + 2 * variables.len() as u64 * price::ITEM)?;
    put_strings(&mut call.bytes, environ, buffer, variables.iter().map(|(name, value)| [name, "=", value]))
}

pub(super) fn environ_sizes_get(call: &mut Call<'_>, count: u32, bytes: u32) -> Result<(), Fail> {
    let variables = call.guest.invocation.environment();
    call.guest.world.meter.spend(2 * variables.len() as u64 * price::ITEM)?;
    let length: usize = variables.iter().map(|(name, value)| name.len() + value.len() + 2).sum();
    call.bytes.put_u32(count, variables.len() as u32)?;
    Ok(call.bytes.put_u32(bytes, length as u32)?)
}

pub(super) fn clock_res_get(call: &mut Call<'_>, id: u32, resolution: u32) -> Result<(), Fail> {
    if id >= CLOCKS {
        return Err(World::Invalid.into());
    }
    Ok(call.bytes.put_u64(resolution, TICK_NS)?)
}

pub(super) fn clock_time_get(call: &mut Call<'_>, id: u32, _: u64, time: u32) -> Result<(), Fail> {
    if id >= CLOCKS {
        return Err(World::Invalid.into());
    }
    let clock = &mut call.guest.world.clock;
    let now_ns = if id == WALL_CLOCK { clock.read_wall_ns() } else { clock.read_monotonic_ns() };
    Ok(call.bytes.put_u64(time, now_ns)?)
}

pub(super) fn random_get(call: &mut Call<'_>, buffer: u32, length: u32) -> Result<(), Fail> {
    let world = &mut call.guest.world;
    let bytes = call.bytes.part_mut(buffer, length)?;
    if u64::from(length) > world.meter.limit(Limit::HostCall) {
        return Err(Stop::Limit(Limit::HostCall).into());
    }
    world.meter.spend(u64::from(length) * price::RANDOM_BYTE)?;
    world.random.secure().fill_bytes(bytes);
    Ok(())
}

/// There are no signals.
pub(super) fn proc_raise(_: &mut Call<'_>, _: u32) -> Result<(), Fail> {
    Err(Errno::NotSupported.into())
}

/// There is nobody else.
pub(super) fn sched_yield(_: &mut Call<'_>) -> Result<(), Fail> {
    Ok(())
}

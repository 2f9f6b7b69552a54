//! `poll_oneoff`: everything but time is ready, and time is virtual.

use super::Call;
use super::answer::{Errno, Fail};
use super::descriptors::Open;
use super::memory::Bytes;
use hutch_world::{Errno as World, Pollable, STREAM_BYTES, price};

const SUBSCRIPTION_BYTES: u32 = 48;
const EVENT_BYTES: u32 = 32;

const CLOCK: u8 = 0;
const READ: u8 = 1;
const WRITE: u8 = 2;

const WALL_CLOCK: u32 = 0;
const MONOTONIC_CLOCK: u32 = 1;
/// The deadline is a reading of the clock, not a time from now.
const ABSOLUTE: u16 = 1;
/// There is nothing more to read.
const HANGUP: u16 = 1;

/// What a subscription comes to.
enum Answer {
    Clock(Pollable),
    /// Ready, with so many bytes and these flags.
    Bytes(u64, u16),
    Error(Errno),
}

/// Waits until at least one is ready, and writes down which are, in their order.
pub(super) fn poll_oneoff(
    call: &mut Call<'_>,
    subscriptions: u32,
    events: u32,
    count: u32,
    ready: u32,
) -> Result<(), Fail> {
    if count == 0 {
        return Err(World::Invalid.into());
    }
    // Looked at twice, so that no list of them is kept; each look has its price, so that the deadline is seen among them.
    let look = u64::from(SUBSCRIPTION_BYTES) * price::BYTE + price::STEP;
    let mut earliest_ns = u64::MAX;
    for number in 0..count {
        call.guest.world.meter.spend(look)?;
        let (_, _, answer) = subscription(call, Bytes::element(subscriptions, number, SUBSCRIPTION_BYTES)?)?;
        earliest_ns = earliest_ns.min(match answer {
            Answer::Clock(Pollable::At { deadline_ns }) => deadline_ns,
            Answer::Clock(Pollable::Ready) | Answer::Bytes(..) | Answer::Error(_) => 0,
        });
    }
    let before_ns = call.guest.world.clock.monotonic_ns();
    let mut happened = 0;
    for number in 0..count {
        call.guest.world.meter.spend(look + u64::from(EVENT_BYTES) * price::BYTE)?;
        let at = Bytes::element(subscriptions, number, SUBSCRIPTION_BYTES)?;
        let (user_data, kind, answer) = subscription(call, at)?;
        let is_ready = match answer {
            Answer::Clock(Pollable::At { deadline_ns }) => deadline_ns <= earliest_ns.max(before_ns),
            Answer::Clock(Pollable::Ready) | Answer::Bytes(..) | Answer::Error(_) => true,
        };
        if !is_ready {
            continue;
        }
        let (errno, bytes, flags) = match answer {
            Answer::Clock(_) => (0, 0, 0),
            Answer::Bytes(bytes, flags) => (0, bytes, flags),
            Answer::Error(errno) => (errno.number(), 0, 0),
        };
        let mut event = [0; EVENT_BYTES as usize];
        event[0..8].copy_from_slice(&user_data.to_le_bytes());
        event[8..10].copy_from_slice(&(errno as u16).to_le_bytes());
        event[10] = kind;
        event[16..24].copy_from_slice(&bytes.to_le_bytes());
        event[24..26].copy_from_slice(&flags.to_le_bytes());
        call.bytes.put_record(Bytes::element(events, happened, EVENT_BYTES)?, 8, &event)?;
        happened += 1;
    }
    call.guest.world.clock.wait_until(earliest_ns);
    Ok(call.bytes.put_u32(ready, happened)?)
}

/// Reads a subscription: what the guest calls it, its kind, and what it comes to now.
fn subscription(call: &mut Call<'_>, at: u32) -> Result<(u64, u8, Answer), Fail> {
    let record: [u8; SUBSCRIPTION_BYTES as usize] = call.bytes.record(at, 8)?;
    let (user_data, kind) = (u64::from_le_bytes(field::<0, 8>(&record)), record[8]);
    // The clock, or the descriptor.
    let id = u32::from_le_bytes(field::<16, 4>(&record));
    let answer = match kind {
        CLOCK => {
            let timeout_ns = u64::from_le_bytes(field::<24, 8>(&record));
            let flags = u16::from_le_bytes(field::<40, 2>(&record));
            let clock = &call.guest.world.clock;
            let absolute = flags & ABSOLUTE != 0;
            let deadline_ns = match id {
                WALL_CLOCK | MONOTONIC_CLOCK if !absolute => clock.monotonic_ns().saturating_add(timeout_ns),
                // Both run alike, from different beginnings.
                WALL_CLOCK => timeout_ns.saturating_sub(clock.wall_ns() - clock.monotonic_ns()),
                MONOTONIC_CLOCK => timeout_ns,
                _ => return Ok((user_data, kind, Answer::Error(Errno::World(World::Invalid)))),
            };
            Answer::Clock(Pollable::At { deadline_ns })
        }
        READ => readable(call, id),
        WRITE => match call.guest.descriptors.get(id) {
            Ok(Open::Stdout | Open::Stderr | Open::File(_)) => Answer::Bytes(STREAM_BYTES, 0),
            _ => Answer::Error(Errno::World(World::BadDescriptor)),
        },
        _ => return Err(World::Invalid.into()),
    };
    Ok((user_data, kind, answer))
}

/// The field of so many bytes that begins there in a subscription; what lies outside of one does not compile.
fn field<const AT: usize, const BYTES: usize>(record: &[u8; SUBSCRIPTION_BYTES as usize]) -> [u8; BYTES] {
    const { assert!(AT + BYTES <= SUBSCRIPTION_BYTES as usize) };
    let mut field = [0; BYTES];
    field.copy_from_slice(&record[AT..AT + BYTES]);
    field
}

/// Bytes to be read without a wait: all there are.
fn readable(call: &Call<'_>, descriptor: u32) -> Answer {
    let world = &call.guest.world;
    let left = match call.guest.descriptors.get(descriptor) {
        Ok(Open::Stdin) => world.stdin_left(),
        Ok(Open::File(file)) => world.stat(&file.descriptor).size.saturating_sub(file.position),
        _ => return Answer::Error(Errno::World(World::BadDescriptor)),
    };
    Answer::Bytes(left, if left == 0 { HANGUP } else { 0 })
}

//! One run: the whole life of a guest, from its instances to the names of what it leaves, under one counter of fuel and one budget
//! of memory. Whoever calls this keeps the deadline: by the flag of the world's meter, and by the engine's epoch.

use crate::ending::{Stopped, classify};
use crate::guest::Guest;
use crate::linked::Linked;
use crate::settings;
use hutch_model::limits::Limit;
use hutch_model::outcome::{Ending, Outcome, Unreproducible};
use hutch_model::snapshot::ObjectError;
use hutch_world::Stop;
use hutch_world::files::WorldAfter;
use std::sync::atomic::Ordering;
use wasmtime::{CallHook, Engine, Store, UpdateDeadline};

/// Why there is no outcome: never the guest's doing.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Fault {
    /// A volume can't be read.
    #[error("the state can't be read: {0}")]
    State(#[from] ObjectError),
    /// The host failed.
    #[error("{0}")]
    Host(String),
}

/// Runs a guest whose code makes so many component instances or resource types, whichever are more.
///
/// # Errors
/// See [`Fault`]. However a guest ends, it is an outcome.
pub fn run_in(engine: &Engine, linked: &Linked, guest: Guest, made: u64) -> Result<(Outcome, WorldAfter), Fault> {
    if made > guest.world.meter.limit(Limit::Instances) {
        // The engine would make them all, and count none of them.
        return finish(guest, Stopped::Limited(Limit::Instances));
    }
    run_guest(new_store(engine, guest)?, linked)
}

/// A store for `guest` with all its limits, and one counter of fuel for what the guest and the host do.
///
/// # Errors
/// The engine has no fuel, which is not one of this crate's.
pub fn new_store(engine: &Engine, guest: Guest) -> Result<Store<Guest>, Fault> {
    let limit = |limit| guest.world.meter.limit(limit);
    let size = |bytes: u64| usize::try_from(bytes).unwrap_or(usize::MAX);
    let (fuel, host_call, handles) = (limit(Limit::Fuel), size(limit(Limit::HostCall)), size(limit(Limit::Handles)));
    let late = guest.world.meter.late();
    let mut store = Store::new(engine, guest);
    store.limiter(|guest| guest);
    store.set_hostcall_fuel(host_call);
    store.set_max_component_handles(handles);
    store.set_epoch_deadline(1);
    store.epoch_deadline_callback(move |_| {
        // The engine's epoch is shared by all its runs: another run's deadline is not this one's.
        if late.load(Ordering::Acquire) { Ok(UpdateDeadline::Interrupt) } else { Ok(UpdateDeadline::Continue(1)) }
    });
    store.set_fuel(fuel).map_err(host)?;
    store.call_hook(|mut store, hook| {
        let engine_left = store.get_fuel()?;
        let meter = &mut store.data_mut().world.meter;
        match hook {
            CallHook::CallingHost | CallHook::ReturningFromWasm => meter.set_fuel_left(engine_left),
            // Only if the host's work took some: the engine's own functions are called with the counter in a register.
            CallHook::CallingWasm | CallHook::ReturningFromHost => {
                let left = meter.fuel_left();
                if left != engine_left {
                    store.set_fuel(left)?;
                }
            }
        }
        Ok(())
    });
    Ok(store)
}

fn run_guest(mut store: Store<Guest>, linked: &Linked) -> Result<(Outcome, WorldAfter), Fault> {
    let stopped = match linked.call(&mut store) {
        Ok(status) => Stopped::Exited(status),
        Err(error) => classify(&error),
    };
    let left = store.get_fuel().map_err(host)?;
    let mut guest = store.into_data();
    guest.world.meter.set_fuel_left(left);
    finish(guest, stopped)
}

fn host(error: wasmtime::Error) -> Fault {
    Fault::Host(format!("{error:#}"))
}

/// How a run ends for which the host's work after the guest did not come to its end.
fn cut_short(stop: Stop) -> Result<Ending, Fault> {
    match stop {
        Stop::Limit(limit) => Ok(Ending::Limited { limit }),
        Stop::Late => Ok(Ending::Limited { limit: Limit::WallTime }),
        Stop::State(error) => Err(error.into()),
        stop => Err(Fault::Host(stop.to_string())),
    }
}

/// Weighs how the guest stopped against what it was refused and has used, names the state it leaves, and looks again at what it saw of
/// what others write: work that has its price and its deadline as all other.
fn finish(mut guest: Guest, stopped: Stopped) -> Result<(Outcome, WorldAfter), Fault> {
    guest.let_go();
    let world = &mut guest.world;
    let is_inexact = matches!(stopped, Stopped::Trapped(_) | Stopped::Interrupted | Stopped::Limited(Limit::Stack));
    let mut unreproducible = Vec::new();
    if stopped == Stopped::Limited(Limit::Stack) {
        unreproducible.push(Unreproducible::Stack);
    }
    let mut ending = match stopped {
        Stopped::Fault(reason) => return Err(Fault::Host(reason)),
        Stopped::State(error) => return Err(error.into()),
        Stopped::Interrupted => Ending::Limited { limit: Limit::WallTime },
        Stopped::Limited(limit) => Ending::Limited { limit },
        // The engine looks at its counter at calls and loops; what was used up after the last of them shows here.
        _ if world.meter.fuel_left() == 0 => Ending::Limited { limit: Limit::Fuel },
        Stopped::Exited(status) => Ending::Exited { status },
        Stopped::Trapped(trap) => Ending::Trapped { trap },
    };
    // A guest that was refused something and did not end well is ended by that refusal, the last one.
    if !matches!(ending, Ending::Exited { status: 0 } | Ending::Limited { .. })
        && let Some(limit) = world.meter.refused_last()
    {
        ending = Ending::Limited { limit };
    }
    let mut after = WorldAfter::default();
    if ending == (Ending::Exited { status: 0 }) {
        match world.commit() {
            Ok(named) => after = named,
            Err(stop) => ending = cut_short(stop)?,
        }
    }
    // What ended by another limit a moment before the deadline was ended by that one.
    let is_limited = matches!(ending, Ending::Limited { .. });
    if let Some(stop) = world.check().err().filter(|stop| !is_limited || !matches!(stop, Stop::Late)) {
        (after, ending) = (WorldAfter::default(), cut_short(stop)?);
    }
    let interrupted = ending == (Ending::Limited { limit: Limit::WallTime });
    (after.touched, after.seen, after.stdin_read) = (world.touched(), world.seen(), world.is_stdin_read());
    let mut outcome = Outcome::new(ending, settings::profile());
    (outcome.stdout, outcome.stderr) = world.take_output();
    if interrupted {
        unreproducible.push(Unreproducible::WallTime);
    }
    if !guest.invocation.mounts().is_empty() {
        unreproducible.push(Unreproducible::Mount);
    }
    (outcome.fuel, outcome.fuel_exact) = (world.meter.fuel(), !is_inexact && !interrupted);
    outcome.memory_peak_bytes = world.meter.memory_peak_bytes();
    outcome.refused = world.meter.refused().to_vec();
    outcome.unreproducible = unreproducible;
    Ok((outcome, after))
}

#[cfg(test)]
mod tests {
    use super::*;
    use hutch_model::invocation::{Invocation, InvocationParts};
    use hutch_model::snapshot::MemoryObjects;
    use hutch_world::World;
    use std::collections::BTreeMap;
    use std::sync::Arc;

    /// How a run ends that stopped so, where the deadline is over by the time that this is weighed.
    fn late(stopped: Stopped) -> Ending {
        let invocation = Invocation::new(InvocationParts::default()).unwrap();
        let world = World::new(&invocation, &BTreeMap::new(), Arc::new(MemoryObjects::default())).unwrap();
        let guest = Guest::new(world, invocation);
        guest.world.meter.late().store(true, Ordering::Relaxed);
        finish(guest, stopped).unwrap().0.ending
    }

    #[test]
    fn what_another_limit_ended_is_not_late() {
        for limit in [Limit::Fuel, Limit::Memory, Limit::Stack] {
            assert_eq!(late(Stopped::Limited(limit)), Ending::Limited { limit });
        }
        // What it would have left was to be looked at yet.
        for stopped in [Stopped::Exited(0), Stopped::Exited(1), Stopped::Interrupted] {
            assert_eq!(late(stopped), Ending::Limited { limit: Limit::WallTime });
        }
    }
}

//! One run: the whole life of a guest, from its instances to the names of what it leaves, under one counter of fuel, one budget of
//! memory and one deadline.

#![allow(clippy::disallowed_methods, reason = "the surroundings are what this is about")]

use crate::deadline::on_thread;
use crate::ending::{Stopped, classify};
use crate::engine;
use crate::guest::Guest;
use crate::linked::Linked;
use crate::program::Program;
use hutch_model::digest::Digest;
use hutch_model::invocation::Invocation;
use hutch_model::limits::Limit;
use hutch_model::outcome::{Ending, Measured, Outcome, Unreproducible};
use hutch_model::snapshot::{ObjectError, Objects};
use hutch_world::files::WorldAfter;
use hutch_world::{Stop, World};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Instant;
use wasmtime::{CallHook, Store, UpdateDeadline};

/// A finished run.
#[derive(Debug)]
pub struct Run {
    /// How it ended and what it said.
    pub outcome: Outcome,
    /// The volumes it leaves; whether they are kept is not decided here.
    pub after: WorldAfter,
    /// What the host's clock says.
    pub measured: Measured,
}

/// Why there is no outcome: never the guest's doing.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RunError {
    /// A volume can't be read.
    #[error("the state can't be read: {0}")]
    State(#[from] ObjectError),
    /// The program was loaded for another stack size than the invocation asks for.
    #[error("the program was loaded for a stack of {loaded} bytes, not {asked}")]
    StackDiffers {
        /// As loaded.
        loaded: u64,
        /// As in the invocation.
        asked: u64,
    },
    /// The host failed.
    #[error("{0}")]
    Host(String),
}

/// Runs a program: `(outcome, state') = run(component, invocation, state)`. `state` names what each preopened folder holds, and
/// `objects` has the content.
///
/// # Errors
/// See [`RunError`]. However a guest ends, it is an outcome.
pub fn run(
    program: &Program,
    invocation: &Invocation,
    state: &BTreeMap<String, Digest>,
    objects: Arc<dyn Objects>,
) -> Result<Run, RunError> {
    let limits = invocation.limits();
    let asked = engine::stack_bytes(limits.get(Limit::Stack));
    if asked != program.stack_bytes {
        return Err(RunError::StackDiffers { loaded: program.stack_bytes, asked });
    }
    let world = World::new(invocation, state, objects)?;
    let start = Instant::now();
    let guest = Guest::new(world, invocation.clone());
    let ran = on_thread(program, guest, |guest| match program.made > limits.get(Limit::Instances) {
        // The engine would make them all, and count none of them.
        true => finish(guest, Stopped::Limited(Limit::Instances)),
        false => run_guest(new_store(&program.engine, guest)?, &program.linked),
    });
    let (outcome, after) = ran??;
    let measured = Measured {
        wall_time_us: start.elapsed().as_micros() as u64,
        load_time_us: program.load_time_us,
        compiled: program.compiled,
    };
    Ok(Run { outcome, after, measured })
}

/// A store for `guest` with all its limits, and one counter of fuel for what the guest and the host do.
pub(crate) fn new_store(engine: &wasmtime::Engine, guest: Guest) -> Result<Store<Guest>, RunError> {
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

fn run_guest(mut store: Store<Guest>, linked: &Linked) -> Result<(Outcome, WorldAfter), RunError> {
    let stopped = match linked.call(&mut store) {
        Ok(status) => Stopped::Exited(status),
        Err(error) => classify(&error),
    };
    let left = store.get_fuel().map_err(host)?;
    let mut guest = store.into_data();
    guest.world.meter.set_fuel_left(left);
    finish(guest, stopped)
}

fn host(error: wasmtime::Error) -> RunError {
    RunError::Host(format!("{error:#}"))
}

/// Weighs how the guest stopped against what it was refused and has used, and names the state it leaves: work that has its price
/// and its deadline as all other.
fn finish(mut guest: Guest, stopped: Stopped) -> Result<(Outcome, WorldAfter), RunError> {
    guest.let_go();
    let world = &mut guest.world;
    let mut interrupted = stopped == Stopped::Interrupted;
    let cut_short = matches!(stopped, Stopped::Trapped(_) | Stopped::Interrupted | Stopped::Limited(Limit::Stack));
    let mut unreproducible = Vec::new();
    if stopped == Stopped::Limited(Limit::Stack) {
        unreproducible.push(Unreproducible::Stack);
    }
    let mut ending = match stopped {
        Stopped::Fault(reason) => return Err(RunError::Host(reason)),
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
            Err(Stop::Limit(limit)) => ending = Ending::Limited { limit },
            Err(Stop::Late) => {
                ending = Ending::Limited { limit: Limit::WallTime };
                interrupted = true;
            }
            Err(stop) => return Err(RunError::Host(stop.to_string())),
        }
    }
    after.touched = world.touched();
    let (stdout, stderr) = world.take_output();
    if interrupted {
        unreproducible.push(Unreproducible::WallTime);
    }
    if !guest.invocation.mounts().is_empty() {
        unreproducible.push(Unreproducible::Mount);
    }
    let outcome = Outcome {
        ending,
        stdout,
        stderr,
        fuel: world.meter.fuel(),
        fuel_exact: !cut_short && !interrupted,
        memory_peak_bytes: world.meter.memory_peak_bytes(),
        refused: world.meter.refused().to_vec(),
        unreproducible,
        profile: engine::profile().to_owned(),
    };
    Ok((outcome, after))
}

//! One run: the whole life of a guest, on a thread whose stack is ours to size, under a deadline that is kept from outside it.

#![allow(clippy::disallowed_methods, reason = "the surroundings are what this is about")]

use crate::ending::{Stopped, classify};
use crate::engine;
use crate::guest::Guest;
use crate::program::{NOTICED_AFTER, Program, Work};
use crate::wasi::bindings::GuestPre;
use hutch_model::digest::Digest;
use hutch_model::invocation::Invocation;
use hutch_model::limits::Limit;
use hutch_model::outcome::{Ending, Measured, Outcome, Unreproducible};
use hutch_model::snapshot::{ObjectError, Objects};
use hutch_world::World;
use hutch_world::files::WorldAfter;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::time::{Duration, Instant};
use wasmtime::{Store, UpdateDeadline};

/// Stack beside the guest's own, for the host's functions and for collecting state.
const HOST_STACK_BYTES: u64 = 4 * 1024 * 1024;

/// How long a guest may take to notice its deadline. Host calls are short, so it is never used up; if it were, the thread is
/// left behind rather than waited for.
const GRACE: Duration = Duration::from_secs(5);

/// Time between reminders of a deadline.
const TICK: Duration = Duration::from_millis(1);

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
    if limits.get(Limit::Stack) != program.stack_bytes {
        return Err(RunError::StackDiffers { loaded: program.stack_bytes, asked: limits.get(Limit::Stack) });
    }
    let world = World::new(invocation, state, objects)?;
    let linked = program.linked.clone();
    let start = Instant::now();
    let guest = Guest::new(world, invocation.clone());
    let (outcome, after) = on_thread(program, guest, move |store| run_guest(store, &linked))??;
    let measured = Measured {
        wall_time_us: start.elapsed().as_micros() as u64,
        load_time_us: program.load_time_us,
        compiled: program.compiled,
    };
    Ok(Run { outcome, after, measured })
}

/// Lets `body` run `guest` in a store with all its limits, on a thread with the stack that the program was loaded for, until the
/// deadline.
pub(crate) fn on_thread<R: Send + 'static>(
    program: &Program,
    guest: Guest,
    body: impl FnOnce(Store<Guest>) -> R + Send + 'static,
) -> Result<R, RunError> {
    let wall_time_ms = guest.world.meter.limit(Limit::WallTime);
    let late = Arc::new(AtomicBool::new(false));
    let (engine, seen_late) = (program.engine.clone(), late.clone());
    let (sender, receiver) = mpsc::channel();
    let stack_bytes = usize::try_from(program.stack_bytes + HOST_STACK_BYTES).unwrap_or(usize::MAX);
    let thread = std::thread::Builder::new().name("guest".to_owned()).stack_size(stack_bytes).spawn(move || {
        let ended = new_store(&engine, guest, seen_late).map(body);
        // The receiver is gone only if the guest was given up.
        let _ = sender.send(ended);
    });
    thread.map_err(|error| RunError::Host(format!("no thread for the guest: {error}")))?;
    let wall_time = Duration::from_millis(wall_time_ms);
    let mut ended = receiver.recv_timeout(wall_time.min(NOTICED_AFTER));
    if matches!(ended, Err(RecvTimeoutError::Timeout)) && wall_time > NOTICED_AFTER {
        let _watched = program.watch.as_ref().map(|watch| watch(Work::Run));
        ended = receiver.recv_timeout(wall_time - NOTICED_AFTER);
    }
    if matches!(ended, Err(RecvTimeoutError::Timeout)) {
        late.store(true, Ordering::Release);
        // More than once: a guest that has just begun, or has just been told of another's deadline, counts from an epoch on
        // that may be later than one tick.
        let given_up = Instant::now() + GRACE;
        while matches!(ended, Err(RecvTimeoutError::Timeout)) && Instant::now() < given_up {
            program.engine.increment_epoch();
            ended = receiver.recv_timeout(TICK);
        }
    }
    match ended {
        Ok(ended) => ended,
        Err(RecvTimeoutError::Timeout) => Err(RunError::Host("a guest did not stop at its deadline".to_owned())),
        Err(RecvTimeoutError::Disconnected) => Err(RunError::Host("the host panicked while it ran a guest".to_owned())),
    }
}

fn new_store(engine: &wasmtime::Engine, guest: Guest, late: Arc<AtomicBool>) -> Result<Store<Guest>, RunError> {
    let limit = |limit| guest.world.meter.limit(limit);
    let size = |bytes: u64| usize::try_from(bytes).unwrap_or(usize::MAX);
    let (fuel, host_call, handles) = (limit(Limit::Fuel), size(limit(Limit::HostCall)), size(limit(Limit::Handles)));
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
    Ok(store)
}

fn run_guest(mut store: Store<Guest>, linked: &GuestPre<Guest>) -> Result<(Outcome, WorldAfter), RunError> {
    let fuel = store.data().world.meter.limit(Limit::Fuel);
    let mut instantiated = false;
    let stopped = match linked.instantiate(&mut store) {
        Err(error) => classify(&error),
        Ok(instance) => {
            // What instantiation itself costs differs between platforms, so counting begins here.
            store.set_fuel(fuel).map_err(host)?;
            instantiated = true;
            match instance.wasi_cli_run().call_run(&mut store) {
                Ok(result) => Stopped::Exited(if result.is_ok() { 0 } else { 1 }),
                Err(error) => classify(&error),
            }
        }
    };
    let used = fuel.saturating_sub(store.get_fuel().unwrap_or_default());
    finish(store.into_data(), stopped, used, instantiated)
}

fn host(error: wasmtime::Error) -> RunError {
    RunError::Host(format!("{error:#}"))
}

/// Weighs how the guest stopped against what it was refused and has used, and names the state it leaves.
fn finish(
    mut guest: Guest,
    stopped: Stopped,
    instruction_fuel: u64,
    instantiated: bool,
) -> Result<(Outcome, WorldAfter), RunError> {
    let world = &mut guest.world;
    let fuel_limit = world.meter.limit(Limit::Fuel);
    let fuel = instruction_fuel.saturating_add(world.meter.fuel());
    let interrupted = stopped == Stopped::Interrupted;
    let cut_short = matches!(stopped, Stopped::Trapped(_) | Stopped::Interrupted | Stopped::Limited(Limit::Stack));
    let fuel_exact = instantiated && !cut_short;
    let mut ending = match stopped {
        Stopped::Fault(reason) => return Err(RunError::Host(reason)),
        Stopped::Interrupted => Ending::Limited { limit: Limit::WallTime },
        Stopped::Limited(limit) => Ending::Limited { limit },
        // Instructions and host calls are counted apart; together they may be over the limit only when the guest is done.
        _ if fuel > fuel_limit => Ending::Limited { limit: Limit::Fuel },
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
            Err(hutch_world::Stop::Limit(limit)) => ending = Ending::Limited { limit },
            Err(stop) => return Err(RunError::Host(stop.to_string())),
        }
    }
    after.touched = world.touched();
    let (stdout, stderr) = world.take_output();
    let mut unreproducible = Vec::new();
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
        fuel: fuel.min(fuel_limit),
        fuel_exact,
        memory_peak_bytes: world.meter.memory_peak_bytes(),
        refused: world.meter.refused().to_vec(),
        unreproducible,
        profile: engine::profile().to_owned(),
    };
    Ok((outcome, after))
}

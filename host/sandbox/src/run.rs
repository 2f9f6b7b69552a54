//! One run: the whole life of a guest, on a thread whose stack is ours to size, under a deadline that is kept from outside it.

use crate::ending::{Stopped, classify};
use crate::engine;
use crate::guest::Guest;
use crate::program::Program;
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
    let guest = Guest::new(world, invocation.clone());
    let linked = GuestPre::new(program.linked.clone()).map_err(|error| RunError::Host(format!("{error:#}")))?;
    let late = Arc::new(AtomicBool::new(false));
    let (sender, receiver) = mpsc::channel();
    let stack_bytes = usize::try_from(program.stack_bytes + HOST_STACK_BYTES).unwrap_or(usize::MAX);
    let start = Instant::now();
    let (thread_engine, thread_late) = (program.engine.clone(), late.clone());
    let thread = std::thread::Builder::new().name("guest".to_owned()).stack_size(stack_bytes).spawn(move || {
        let run = run_guest(&thread_engine, &linked, guest, thread_late);
        // The receiver is gone only if the guest was given up.
        let _ = sender.send(run);
    });
    thread.map_err(|error| RunError::Host(format!("no thread for the guest: {error}")))?;
    let ended = match receiver.recv_timeout(Duration::from_millis(limits.get(Limit::WallTime))) {
        Err(RecvTimeoutError::Timeout) => {
            late.store(true, Ordering::Relaxed);
            program.engine.increment_epoch();
            receiver.recv_timeout(GRACE)
        }
        ended => ended,
    };
    let (outcome, after) = match ended {
        Ok(ended) => ended?,
        Err(RecvTimeoutError::Timeout) => return Err(RunError::Host("a guest did not stop at its deadline".to_owned())),
        Err(RecvTimeoutError::Disconnected) => return Err(RunError::Host("the host panicked while it ran a guest".to_owned())),
    };
    let measured = Measured {
        wall_time_us: start.elapsed().as_micros() as u64,
        load_time_us: program.load_time_us,
        compiled: program.compiled,
    };
    Ok(Run { outcome, after, measured })
}

fn run_guest(
    engine: &wasmtime::Engine,
    linked: &GuestPre<Guest>,
    guest: Guest,
    late: Arc<AtomicBool>,
) -> Result<(Outcome, WorldAfter), RunError> {
    let fuel = guest.world.meter.limit(Limit::Fuel);
    let host_call_bytes = guest.world.meter.limit(Limit::HostCall);
    let handles = guest.world.meter.limit(Limit::Handles);
    let mut store = Store::new(engine, guest);
    store.limiter(|guest| guest);
    store.set_hostcall_fuel(usize::try_from(host_call_bytes).unwrap_or(usize::MAX));
    store.set_max_component_handles(usize::try_from(handles).unwrap_or(usize::MAX));
    store.set_epoch_deadline(1);
    store.epoch_deadline_callback(move |_| {
        // The engine's epoch is shared by all its runs: another run's deadline is not this one's.
        if late.load(Ordering::Relaxed) { Ok(UpdateDeadline::Interrupt) } else { Ok(UpdateDeadline::Continue(1)) }
    });
    let set_fuel = |store: &mut Store<Guest>| store.set_fuel(fuel).map_err(|error| RunError::Host(format!("{error:#}")));
    set_fuel(&mut store)?;
    let stopped = match linked.instantiate(&mut store) {
        Err(error) => classify(&error),
        Ok(instance) => {
            // What instantiation itself costs differs between platforms, so counting begins here.
            set_fuel(&mut store)?;
            match instance.wasi_cli_run().call_run(&mut store) {
                Ok(result) => Stopped::Exited(if result.is_ok() { 0 } else { 1 }),
                Err(error) => classify(&error),
            }
        }
    };
    let used = fuel.saturating_sub(store.get_fuel().unwrap_or_default());
    finish(store.into_data(), stopped, used)
}

/// Weighs how the guest stopped against what it was refused and has used, and names the state it leaves.
fn finish(mut guest: Guest, stopped: Stopped, instruction_fuel: u64) -> Result<(Outcome, WorldAfter), RunError> {
    let world = &mut guest.world;
    let fuel_limit = world.meter.limit(Limit::Fuel);
    let fuel = instruction_fuel.saturating_add(world.meter.fuel());
    let interrupted = stopped == Stopped::Interrupted;
    let fuel_exact = !interrupted && !matches!(stopped, Stopped::Trapped(_) | Stopped::Limited(Limit::Stack));
    let mut ending = match stopped {
        Stopped::Fault(reason) => return Err(RunError::Host(reason)),
        Stopped::Interrupted => Ending::Limited { limit: Limit::WallTime },
        Stopped::Limited(limit) => Ending::Limited { limit },
        // Instructions and host calls are counted apart; together they may be over the limit only when the guest is done.
        _ if fuel > fuel_limit => Ending::Limited { limit: Limit::Fuel },
        Stopped::Exited(status) => Ending::Exited { status },
        Stopped::Trapped(trap) => Ending::Trapped { trap },
    };
    // A guest that was refused something and did not end well is ended by that refusal.
    if !matches!(ending, Ending::Exited { status: 0 } | Ending::Limited { .. })
        && let Some(limit) = world.meter.refused().last()
    {
        ending = Ending::Limited { limit: *limit };
    }
    let mut after = WorldAfter::default();
    if ending == (Ending::Exited { status: 0 }) {
        match world.commit() {
            Ok(named) => after = named,
            Err(hutch_world::Stop::Limit(limit)) => ending = Ending::Limited { limit },
            Err(stop) => return Err(RunError::Host(stop.to_string())),
        }
    }
    let (stdout, stderr) = world.take_output();
    let outcome = Outcome {
        ending,
        stdout,
        stderr,
        fuel: fuel.min(fuel_limit),
        fuel_exact,
        memory_peak_bytes: world.meter.memory_peak_bytes(),
        refused: world.meter.refused().to_vec(),
        unreproducible: if interrupted { vec![Unreproducible::WallTime] } else { Vec::new() },
        profile: engine::profile().to_owned(),
    };
    Ok((outcome, after))
}

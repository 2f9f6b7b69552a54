//! One run on this machine: on a thread of its size, under a deadline, and timed.

use crate::deadline::{Stopwatch, on_thread};
use crate::loaded::Program;
use hutch_engine::{Fault, Guest, run_in, settings};
use hutch_model::digest::Digest;
use hutch_model::invocation::Invocation;
use hutch_model::limits::Limit;
use hutch_model::outcome::{Measured, Outcome};
use hutch_model::snapshot::{ObjectError, Objects};
use hutch_world::World;
use hutch_world::files::WorldAfter;
use std::collections::BTreeMap;
use std::sync::Arc;

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
#[non_exhaustive]
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
    /// Whoever asked for the run stopped it.
    #[error("the call was cancelled before it ended; nothing of it is kept")]
    Stopped,
    /// The host failed.
    #[error("{0}")]
    Host(String),
}

impl From<Fault> for RunError {
    fn from(fault: Fault) -> RunError {
        match fault {
            Fault::State(error) => RunError::State(error),
            Fault::Host(reason) => RunError::Host(reason),
            other => RunError::Host(other.to_string()),
        }
    }
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
    let asked = settings::stack_bytes(limits.get(Limit::Stack));
    if asked != program.stack_bytes {
        return Err(RunError::StackDiffers { loaded: program.stack_bytes, asked });
    }
    let world = World::new(invocation, state, objects)?;
    let start = Stopwatch::start();
    let guest = Guest::new(world, invocation.clone());
    let (engine, linked, made) = (program.engine.clone(), program.linked.clone(), program.made);
    let (outcome, after) = on_thread(program, guest, move |guest| run_in(&engine, &linked, guest, made))??;
    let wall_time_us = start.elapsed_us().saturating_add(program.keeper.spent_us());
    let measured = Measured { wall_time_us, load_time_us: program.load_time_us, compiled: program.compiled };
    Ok(Run { outcome, after, measured })
}

//! What the tests of the world share.

pub(crate) mod generate;
pub(crate) mod guest;
pub(crate) mod operation;
pub(crate) mod random;
pub(crate) mod seen;

use hutch_model::digest::Digest;
use hutch_model::instant::Instant;
use hutch_model::invocation::{Access, Invocation, InvocationParts, Seed};
use hutch_model::limits::{Limit, Limits};
use hutch_model::snapshot::{ObjectError, Objects};
use hutch_world::World;
use std::sync::Arc;

/// When virtual time starts: after every time that an operation sets.
pub(crate) const CLOCK_START_NS: u64 = 2 * seen::NOW_NS;

/// The name of the volume that is tested.
pub(crate) const VOLUME: &str = "data";

/// Bytes of the longest file under [`wide_limits`]: what fits into any file system's.
pub(crate) const FILE_BYTES_MAX: u64 = 1 << 43;

/// Limits that nothing here reaches by accident.
pub(crate) fn wide_limits() -> Limits {
    let mut limits = Limits::default();
    for limit in [Limit::Fuel, Limit::StateBytes, Limit::StateFiles, Limit::FolderDepth] {
        limits.set(limit, u64::MAX / 2);
    }
    limits.set(Limit::FileBytes, FILE_BYTES_MAX);
    limits.set(Limit::Memory, 1 << 40);
    limits
}

/// A world with one volume.
pub(crate) fn world(limits: Limits, access: Access, top: Digest, objects: Arc<dyn Objects>) -> World {
    try_world(limits, access, top, objects, &[]).expect("a world")
}

/// A world with one volume and standard input, if the volume can be read.
pub(crate) fn try_world(
    limits: Limits,
    access: Access,
    top: Digest,
    objects: Arc<dyn Objects>,
    stdin: &[u8],
) -> Result<World, ObjectError> {
    make_world(limits, access, top, objects, InvocationParts { stdin: stdin.to_vec(), ..InvocationParts::default() })
}

/// A world whose one volume is a real folder, if it can be read.
pub(crate) fn real_world(limits: Limits, top: Digest, objects: Arc<dyn Objects>) -> Result<World, ObjectError> {
    let parts = InvocationParts { mounts: [VOLUME.to_owned()].into(), ..InvocationParts::default() };
    make_world(limits, Access::ReadWrite, top, objects, parts)
}

fn make_world(
    limits: Limits,
    access: Access,
    top: Digest,
    objects: Arc<dyn Objects>,
    parts: InvocationParts,
) -> Result<World, ObjectError> {
    let parts = InvocationParts {
        argv: vec!["test".to_owned()],
        clock_start: Instant::from_unix_ns(CLOCK_START_NS),
        seed: Seed([7; 32]),
        limits,
        preopens: [(VOLUME.to_owned(), access)].into(),
        ..parts
    };
    let invocation = Invocation::new(parts).expect("an invocation");
    World::new(&invocation, &[(VOLUME.to_owned(), top)].into(), objects)
}

/// A number from the environment, to run a test for longer or with another seed.
pub(crate) fn setting(name: &str, default: u64) -> u64 {
    match std::env::var(name) {
        Ok(text) => text.parse().unwrap_or_else(|_| panic!("{name} is {text:?}, not a number")),
        Err(_) => default,
    }
}

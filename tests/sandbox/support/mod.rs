//! What the sandbox's tests share: a sandbox, invocations, and guests as text.
#![allow(dead_code, reason = "each test target uses its own part of this")]

pub(crate) mod case;
#[path = "../../security/ends.rs"]
mod ends;
pub(crate) mod processor;
pub(crate) mod wasi_text;
pub(crate) mod wat_guest;

pub(crate) use ends::saw;
use hutch_model::invocation::{Access, Invocation, InvocationParts};
use hutch_model::limits::{Limit, Limits};
use hutch_model::snapshot::{MemoryObjects, Objects};
use hutch_sandbox::{ArtifactCache, Compile, Program, Run, RunError, Sandbox, SealKey};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, OnceLock};
use std::time::{Duration, Instant};

/// What the tests' caches and compiling children are sealed with.
pub(crate) const KEY: SealKey = SealKey::new([9; SealKey::BYTES]);

/// The one volume that guests of these tests have.
pub(crate) const VOLUME: &str = "state";

/// The variable in which cargo says where the crate is: asked for when a test runs, because what was written into it when it was
/// built may be another clone that shares the target folder.
pub(crate) const CRATE: &str = "CARGO_MANIFEST_DIR";

/// A file of the repository.
pub(crate) fn repository(path: &str) -> PathBuf {
    let folder = std::env::var_os(CRATE).expect("tests are run by cargo");
    Path::new(&folder).join("../..").join(path)
}

/// The probe's component.
pub(crate) fn probe_bytes() -> Vec<u8> {
    std::fs::read(repository("tests/packages/probe/app/app.wasm")).expect("the probe is committed")
}

/// The to-do application's component.
pub(crate) fn todo_bytes() -> Vec<u8> {
    std::fs::read(repository("packages/todo/app/app.wasm")).expect("the to-do application is committed")
}

/// Where another process of a test's keeps what it compiled, for the next one.
pub(crate) const ARTIFACTS: &str = "HUTCH_TEST_ARTIFACTS";

/// One sandbox for a whole test program, with a cache of its own.
pub(crate) fn sandbox() -> &'static Sandbox {
    static SANDBOX: OnceLock<Sandbox> = OnceLock::new();
    SANDBOX.get_or_init(another_sandbox)
}

/// One that has loaded nothing yet, and the same cache.
pub(crate) fn another_sandbox() -> Sandbox {
    static PLACE: OnceLock<(PathBuf, tempfile::TempDir)> = OnceLock::new();
    let (place, _) = PLACE.get_or_init(|| {
        let folder = tempfile::tempdir().expect("a temporary folder");
        (std::env::var_os(ARTIFACTS).map_or_else(|| folder.path().to_owned(), Into::into), folder)
    });
    Sandbox::new(Compile::Here, Some(ArtifactCache::open(place, || Some(KEY)).expect("a cache in it")))
}

/// The probe, loaded once.
pub(crate) fn probe() -> &'static Program {
    static PROBE: OnceLock<Program> = OnceLock::new();
    PROBE.get_or_init(|| sandbox().load(&probe_bytes(), &Limits::default()).expect("the probe loads"))
}

/// The defaults, with these in their stead.
pub(crate) fn limits(changed: &[(Limit, u64)]) -> Limits {
    let mut limits = Limits::default();
    for (limit, value) in changed {
        limits.set(*limit, *value);
    }
    limits
}

/// The parts of an invocation with one empty volume. A clock that the test did not set is set far: what is compared is not to depend on how
/// busy the machine is.
pub(crate) fn parts(arguments: &[&str], mut limits: Limits) -> InvocationParts {
    let clock = Limit::WallTime.info();
    if limits.get(Limit::WallTime) == clock.default {
        limits.set(Limit::WallTime, clock.ceiling);
    }
    InvocationParts {
        argv: std::iter::once("app").chain(arguments.iter().copied()).map(str::to_owned).collect(),
        clock_start: "2026-04-01T00:00:00Z".parse().expect("an instant"),
        preopens: [(VOLUME.to_owned(), Access::ReadWrite)].into(),
        limits,
        ..InvocationParts::default()
    }
}

/// Long enough on any machine: what has not come to pass by then never does.
pub(crate) const PATIENCE: Duration = Duration::from_secs(120);

/// Does something again until it comes to what it should, or for [`PATIENCE`], and gives what came last. For what a machine that is busy
/// elsewhere may come to late once, and not each time; what is wrong comes late each time.
pub(crate) fn again_until<T>(mut attempt: impl FnMut() -> T, is_good: impl Fn(&T) -> bool) -> T {
    let begun = Instant::now();
    loop {
        let came = attempt();
        if is_good(&came) || begun.elapsed() > PATIENCE {
            return came;
        }
    }
}

/// How many guests of random shape a test makes: so many, or as HUTCH_GENERATED says.
pub(crate) fn generated(everyday: u64) -> u64 {
    std::env::var("HUTCH_GENERATED").map_or(everyday, |count| count.parse().expect("a number"))
}

/// Does it for each of these, on as many threads as there are processors. Panics if one of them does.
pub(crate) fn side_by_side<T: Send>(items: impl IntoIterator<Item = T, IntoIter: Send>, job: impl Fn(T) + Sync) {
    let items = Mutex::new(items.into_iter());
    let next = || items.lock().expect("an iterator that does not panic").next();
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    let name = std::thread::current().name().unwrap_or_default().to_owned();
    std::thread::scope(|scope| {
        for _ in 0..threads {
            let named = std::thread::Builder::new().name(name.clone());
            named.spawn_scoped(scope, || std::iter::from_fn(next).for_each(&job)).expect("a thread");
        }
    });
}

/// Runs on an empty volume.
pub(crate) fn run_parts(program: &Program, parts: InvocationParts) -> Result<Run, RunError> {
    run_over(program, parts, Arc::new(MemoryObjects::default()))
}

/// The same, where these objects are beside the volume.
pub(crate) fn run_over(program: &Program, parts: InvocationParts, objects: Arc<dyn Objects>) -> Result<Run, RunError> {
    let invocation = Invocation::new(parts).expect("an invocation");
    let run = hutch_sandbox::run(program, &invocation, &BTreeMap::new(), objects);
    saw(run.as_ref().map_or("failed", |run| run.outcome.ending.name()));
    run
}

//! From component to artifact. Compiling untrusted code can take long and much memory, so programs that can start themselves do
//! it in a child, which is killed when its time is up; embedders that can't, do it where they are.

#![allow(clippy::disallowed_methods, reason = "the surroundings are what this is about")]

use crate::engine;
use crate::shape::{self, Payloads, ShapeError};
use crate::{adapter, program::LoadError};
use hutch_model::limits::{Limit, Limits};
use std::ffi::OsString;
use std::io::{self, Read, Write};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc;
use std::time::Duration;

/// Where compilation happens.
#[derive(Debug, Clone, Default)]
pub enum Compile {
    /// In this process. The time limit is not enforced: nothing can stop a compiler here.
    #[default]
    Here,
    /// In a child process that calls [`compile_from_stdin`] or [`compile_as_child`].
    Child {
        /// The program.
        program: PathBuf,
        /// Its arguments.
        arguments: Vec<OsString>,
    },
}

/// Stack of the compiling thread: the compiler recurses, and how deep must not depend on where the host's own stacks end.
const STACK_BYTES: usize = 16 * 1024 * 1024;

/// Address space of a compiling child. The largest components that were met, of 20 MB, take a quarter of it.
#[cfg(unix)]
const MEMORY_BYTES: u64 = 4 * 1024 * 1024 * 1024;

/// Bytes of the largest artifact that is taken from a child.
const ARTIFACT_BYTES_MAX: u64 = 512 * 1024 * 1024;

/// Compiles `component` to an artifact for this machine.
pub(crate) fn compile(how: &Compile, component: &[u8], limits: &Limits) -> Result<Vec<u8>, LoadError> {
    match how {
        Compile::Here => compile_here(component),
        Compile::Child { program, arguments } => {
            compile_in_child(Command::new(program).args(arguments), component, limits.get(Limit::CompileTime))
        }
    }
}

fn compile_here(bytes: &[u8]) -> Result<Vec<u8>, LoadError> {
    std::thread::scope(|scope| {
        let thread = std::thread::Builder::new().name("compiler".to_owned()).stack_size(STACK_BYTES);
        let thread = thread.spawn_scoped(scope, || compile_now(bytes));
        let thread = thread.map_err(|error| LoadError::Host(format!("no thread for the compiler: {error}")))?;
        thread.join().unwrap_or_else(|_| Err(LoadError::Invalid("the compiler failed on it".to_owned())))
    })
}

fn compile_now(bytes: &[u8]) -> Result<Vec<u8>, LoadError> {
    let kind = shape::inspect(bytes).map_err(|error| match error {
        ShapeError::Malformed(_) => LoadError::Invalid(error.to_string()),
        ShapeError::TooMuch { .. } => LoadError::TooMuch(error.to_string()),
    })?;
    let adapted = match kind {
        Payloads::Component => None,
        Payloads::CoreModule => Some(adapter::componentize(bytes).map_err(LoadError::Invalid)?),
    };
    let engine = engine::compiler().map_err(|error| LoadError::Host(format!("no compiler: {error:#}")))?;
    engine
        .precompile_component(adapted.as_deref().unwrap_or(bytes))
        .map_err(|error| LoadError::Invalid(format!("{error:#}")))
}

/// First byte of a child's answer: an artifact follows, or a text about why there is none.
const ARTIFACT: u8 = b'A';
const INVALID: u8 = b'I';
const TOO_MUCH: u8 = b'M';
const HOST: u8 = b'H';

/// What a [`Compile::Child`] runs: reads a component from standard input, and answers as [`compile_as_child`] does.
///
/// # Errors
/// Standard input or output fail, or the limits can't be set.
pub fn compile_from_stdin() -> io::Result<()> {
    take_on_limits()?;
    let mut component = Vec::new();
    io::stdin().lock().read_to_end(&mut component)?;
    compile_as_child(&component)
}

/// What a [`Compile::Child`] does with the component that was on its standard input: writes one byte of verdict and then the
/// artifact or a text to standard output. The process must do nothing else: it takes on limits for good.
///
/// # Errors
/// Standard output fails, or the limits can't be set.
pub fn compile_as_child(component: &[u8]) -> io::Result<()> {
    take_on_limits()?;
    let (verdict, bytes) = match compile_here(component) {
        Ok(artifact) => (ARTIFACT, artifact),
        Err(LoadError::Invalid(text)) => (INVALID, text.into_bytes()),
        Err(LoadError::TooMuch(text)) => (TOO_MUCH, text.into_bytes()),
        Err(error) => (HOST, error.to_string().into_bytes()),
    };
    let mut stdout = io::stdout().lock();
    stdout.write_all(&[verdict])?;
    stdout.write_all(&bytes)?;
    stdout.flush()
}

/// Limits this process: no more memory than [`MEMORY_BYTES`], no image of it left behind, no life after its parent's.
fn take_on_limits() -> io::Result<()> {
    #[cfg(unix)]
    {
        use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
        for (resource, most) in [(Resource::As, MEMORY_BYTES), (Resource::Core, 0)] {
            let most = getrlimit(resource).maximum.map_or(most, |maximum| maximum.min(most));
            setrlimit(resource, Rlimit { current: Some(most), maximum: Some(most) })?;
        }
    }
    #[cfg(target_os = "linux")]
    rustix::process::set_parent_process_death_signal(Some(rustix::process::Signal::KILL))?;
    Ok(())
}

fn compile_in_child(command: &mut Command, component: &[u8], time_ms: u64) -> Result<Vec<u8>, LoadError> {
    let fault = |what: &str, error: &io::Error| LoadError::Host(format!("the compiler process {what}: {error}"));
    let spawned = command.env_clear().stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn();
    let mut child = spawned.map_err(|error| fault("did not start", &error))?;
    let (Some(mut input), Some(output)) = (child.stdin.take(), child.stdout.take()) else {
        return Err(LoadError::Host("the compiler process has no pipes".to_owned()));
    };
    let (sender, receiver) = mpsc::channel();
    let answer = std::thread::scope(|scope| {
        // A child that ends early closes its pipe; what it answered then says why.
        scope.spawn(move || input.write_all(component));
        scope.spawn(move || {
            let mut answer = Vec::new();
            let read = output.take(ARTIFACT_BYTES_MAX + 1).read_to_end(&mut answer).map(|_| answer);
            sender.send(read)
        });
        let answer = receiver.recv_timeout(Duration::from_millis(time_ms));
        // A child that has answered has nothing left to do. Killing it closes its pipes, so both threads end.
        if !answer.as_ref().is_ok_and(|_| ends_by_itself(&mut child)) {
            let _ = child.kill();
        }
        answer
    });
    let status = child.wait().map_err(|error| fault("could not be waited for", &error))?;
    let answer =
        answer.map_err(|_| LoadError::TooSlow { time_ms })?.map_err(|error| fault("could not be read", &error))?;
    if answer.len() as u64 > ARTIFACT_BYTES_MAX {
        return Err(LoadError::TooMuch(format!("compiled, it has more than {ARTIFACT_BYTES_MAX} bytes")));
    }
    match answer.split_first() {
        Some((&ARTIFACT, artifact)) if status.success() => Ok(artifact.to_vec()),
        Some((&INVALID, text)) => Err(LoadError::Invalid(String::from_utf8_lossy(text).into_owned())),
        Some((&TOO_MUCH, text)) => Err(LoadError::TooMuch(String::from_utf8_lossy(text).into_owned())),
        Some((&HOST, text)) => Err(LoadError::Host(String::from_utf8_lossy(text).into_owned())),
        _ => Err(LoadError::TooMuch(format!("the compiler gave up on it ({status})"))),
    }
}

/// Whether a child that has closed its output ends soon.
fn ends_by_itself(child: &mut Child) -> bool {
    for _ in 0..200 {
        match child.try_wait() {
            Ok(None) => std::thread::sleep(Duration::from_millis(5)),
            Ok(Some(_)) => return true,
            Err(_) => return false,
        }
    }
    false
}

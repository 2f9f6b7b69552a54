//! From component to artifact. Compiling untrusted code can take long and much memory, so programs that can start themselves do
//! it in a child, which is killed when its time is up; embedders that can't, do it where they are.

use crate::engine;
use crate::shape::{self, Payloads, ShapeError};
use crate::{adapter, program::LoadError};
use hutch_model::limits::{Limit, Limits};
use std::ffi::OsString;
use std::io::{self, Read, Write};
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::sync::mpsc;
use std::time::Duration;

/// Where compilation happens.
#[derive(Debug, Clone, Default)]
pub enum Compile {
    /// In this process. The time limit is not enforced: nothing can stop a compiler here.
    #[default]
    Here,
    /// In a child process that calls [`compile_from_stdin`].
    Child {
        /// The program.
        program: PathBuf,
        /// Its arguments.
        arguments: Vec<OsString>,
    },
}

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

/// What a [`Compile::Child`] runs: reads a component from standard input, writes one byte of verdict and then the artifact or a
/// text to standard output.
///
/// # Errors
/// Standard input or output fail.
pub fn compile_from_stdin() -> io::Result<()> {
    let mut component = Vec::new();
    io::stdin().lock().read_to_end(&mut component)?;
    let (verdict, bytes) = match compile_here(&component) {
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

fn compile_in_child(command: &mut Command, component: &[u8], time_ms: u64) -> Result<Vec<u8>, LoadError> {
    let fault = |what: &str, error: &io::Error| LoadError::Host(format!("the compiler process {what}: {error}"));
    let spawned = command.env_clear().stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn();
    let mut child = spawned.map_err(|error| fault("did not start", &error))?;
    let (Some(mut input), Some(mut output)) = (child.stdin.take(), child.stdout.take()) else {
        return Err(LoadError::Host("the compiler process has no pipes".to_owned()));
    };
    let (sender, receiver) = mpsc::channel();
    let answer = std::thread::scope(|scope| {
        // A child that ends early closes its pipe; what it answered then says why.
        scope.spawn(move || input.write_all(component));
        scope.spawn(move || {
            let mut answer = Vec::new();
            let read = output.read_to_end(&mut answer).map(|_| answer);
            sender.send(read)
        });
        let answer = receiver.recv_timeout(Duration::from_millis(time_ms));
        if answer.is_err() {
            // Killing closes both pipes, so both threads end; if it has ended already, they have too.
            let _ = child.kill();
        }
        answer
    });
    let status = child.wait().map_err(|error| fault("could not be waited for", &error))?;
    let answer =
        answer.map_err(|_| LoadError::TooSlow { time_ms })?.map_err(|error| fault("could not be read", &error))?;
    match answer.split_first() {
        Some((&ARTIFACT, artifact)) if status.success() => Ok(artifact.to_vec()),
        Some((&INVALID, text)) => Err(LoadError::Invalid(String::from_utf8_lossy(text).into_owned())),
        Some((&TOO_MUCH, text)) => Err(LoadError::TooMuch(String::from_utf8_lossy(text).into_owned())),
        Some((&HOST, text)) => Err(LoadError::Host(String::from_utf8_lossy(text).into_owned())),
        _ => Err(LoadError::TooMuch(format!("the compiler gave up on it ({status})"))),
    }
}

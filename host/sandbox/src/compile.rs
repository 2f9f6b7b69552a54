//! From component to artifact. Compiling untrusted code can take long and much memory, so programs that can start themselves do
//! it in a child, which is killed when its time is up; embedders that can't, do it where they are. A second child, behind the same ring, lets
//! what was compiled say what it is: it is another one, because what it answers is never run.

#![allow(clippy::disallowed_methods, reason = "the surroundings are what this is about")]

use crate::cache::stays_in_its_file;
use crate::describe::{DESCRIBED_BYTES_MAX, DescribeError, Described, described_here};
use crate::ring;
use crate::run::RunError;
use crate::verdict::{MachineCode, SealKey, Verdict};
use hutch_engine::LoadError;
use hutch_engine::settings::{Backend, Target};
use hutch_model::digest::{Digest, Hasher, Kind};
use hutch_model::limits::{Limit, Limits};
use rayon::ThreadPoolBuilder;
use std::ffi::OsString;
use std::fs::File;
use std::io::{self, Read, Seek, Write};
use std::num::NonZeroUsize;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc;
use std::time::Duration;

/// Where compilation happens.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub enum Compile {
    /// In this process. The time limit is not enforced: nothing can stop a compiler here.
    #[default]
    Here,
    /// In a child process that calls [`compile_from_stdin`] or [`compile_as_child`]. What it answers is run as native code, so the
    /// program must be this one. By accident it can't be another: an answer is taken only under the seal of a key that the child
    /// is given, for the component that it is given.
    Child {
        /// The program.
        program: PathBuf,
        /// Its arguments.
        arguments: Vec<OsString>,
        /// The key: random bytes, for this process and its children.
        key: SealKey,
    },
}

/// What a child reads before the component: the key to seal its answer with, and the name of what to compile for, or of what to ask it on.
pub const CHILD_HEADER_BYTES: u64 = (SealKey::BYTES + TARGET_BYTES) as u64;

/// Bytes of a target's name in a child's header, zeros after it.
const TARGET_BYTES: usize = 64;

/// Stands before the name where code is brought to be asked what it is.
const ASK: &str = "ask ";

/// Stack of a compiling thread: the compiler recurses, and how deep must not depend on where the host's own stacks end.
const STACK_BYTES: usize = 16 * 1024 * 1024;

/// Threads that compile one component, at most: each takes address space of its own. What they make does not depend on how many
/// there are.
const THREADS_MAX: usize = 8;

/// What each of them has to compile for its start to be worth it.
const SHARE_BYTES: usize = 16 * 1024;

fn threads_for(bytes: usize, processors: usize) -> usize {
    processors.min(THREADS_MAX).min(1 + bytes / SHARE_BYTES)
}

/// Address space of a compiling child. The largest components that were met, of 20 MB, take a quarter of it.
#[cfg(unix)]
const MEMORY_BYTES: u64 = 4 * 1024 * 1024 * 1024;

/// Bytes of the longest answer that is taken from a child, and so of code.
pub const ANSWER_BYTES_MAX: u64 = 512 * 1024 * 1024;

/// Bytes that are read from a child at once.
const PIPE_BYTES: usize = 64 * 1024;

/// Bytes that a child needs to ask, beside twice what it is brought and what a guest may have.
const ASKING_BYTES: u64 = 256 * 1024 * 1024;

/// How long a child may take beside what a guest may, which has that kept from its threads' outside already.
const LOADED_WITHIN_MS: u64 = 30_000;

/// Where a long answer of a child may be put, if somewhere.
pub(crate) type Beside<'b> = &'b (dyn Fn() -> Option<File> + Sync);

/// Compiles `component`. Long code of a child's is put beside.
pub(crate) fn compile(
    how: &Compile,
    target: &Target,
    component: &[u8],
    limits: &Limits,
    beside: Beside<'_>,
) -> Verdict {
    match how {
        Compile::Here => compile_here(target, component),
        Compile::Child { program, arguments, key } => {
            let (mut command, time_ms) = (Command::new(program), limits.get(Limit::CompileTime));
            let compiled = compile_in_child(command.args(arguments), key, target, component, time_ms, beside);
            compiled.unwrap_or_else(Verdict::Refused)
        }
    }
}

/// Lets code say what it is, in a child.
pub(crate) fn ask(
    (program, arguments, key): (&Path, &[OsString], &SealKey),
    backend: Backend,
    code: &Verdict,
    limits: &Limits,
) -> Result<Described, DescribeError> {
    let host = |reason: String| DescribeError::Host(RunError::Host(reason));
    let words = serde_json::to_vec(limits).map_err(|error| host(error.to_string()))?;
    let code = code.seal(key, &answer_name(&[&words])).unwrap_or_default();
    let length = (words.len() as u64).to_le_bytes();
    let input = [&length[..], &words, &code];
    let (name, time_ms) = (format!("{ASK}{}", backend.name()), limits.get(Limit::WallTime) + LOADED_WITHIN_MS);
    let mut command = Command::new(program);
    let answered = in_child(command.args(arguments), key, &name, &input, (time_ms, DESCRIBED_BYTES_MAX), &|| None);
    let (answer, status) = answered.map_err(|error| host(format!("asking the component: {error}")))?;
    let described = match answer {
        Answer::Bytes(answer) => key.unsealed(&answer_name(&input), answer),
        Answer::File(_) => None,
    };
    let described = described.and_then(|answer| serde_json::from_slice(&answer).ok());
    described.ok_or_else(|| host(format!("the process that asks the component did not live to answer ({status})")))
}

/// The code of a component for a target, and what instantiating it makes.
pub(crate) fn given(verdict: Verdict) -> Result<(Vec<u8>, u64), LoadError> {
    match verdict {
        Verdict::Code { code: MachineCode::Bytes(code), component_instances, resources } => {
            Ok((code, component_instances.max(resources)))
        }
        Verdict::Code { .. } => Err(LoadError::Host("the compiler kept its code to itself".to_owned())),
        Verdict::Refused(refusal) => Err(refusal),
    }
}

pub(crate) fn compile_here(target: &Target, bytes: &[u8]) -> Verdict {
    let processors = std::thread::available_parallelism().map_or(1, NonZeroUsize::get);
    let pool = ThreadPoolBuilder::new().num_threads(threads_for(bytes.len(), processors)).stack_size(STACK_BYTES);
    let compiled = match pool.thread_name(|_| "compiler".to_owned()).build() {
        Ok(pool) => {
            let compiled = catch_unwind(AssertUnwindSafe(|| pool.install(|| hutch_engine::compile(target, bytes))));
            compiled.unwrap_or_else(|_| Err(LoadError::Invalid("the compiler failed on it".to_owned())))
        }
        Err(error) => Err(LoadError::Host(format!("no threads for the compiler: {error}"))),
    };
    compiled.map_or_else(Verdict::Refused, Verdict::code)
}

/// What a [`Compile::Child`] runs: reads standard input, and answers as [`compile_as_child`] does.
///
/// # Errors
/// Standard input or output fail, or the limits can't be set.
pub fn compile_from_stdin() -> io::Result<()> {
    let mut input = Vec::new();
    io::stdin().lock().read_to_end(&mut input)?;
    compile_as_child(&input)
}

/// What a [`Compile::Child`] does with what was on its standard input, a header and then a component: writes its verdict, sealed, to
/// standard output; or what code says that it is, with limits before it. The process must do nothing else: it takes on limits for good.
///
/// # Errors
/// There is no header, standard output fails, or the limits can't be set.
pub fn compile_as_child(input: &[u8]) -> io::Result<()> {
    let short = || io::Error::from(io::ErrorKind::UnexpectedEof);
    let header =
        input.split_first_chunk().and_then(|(key, rest)| Some((key, rest.split_first_chunk::<TARGET_BYTES>()?)));
    let Some((key, (name, brought))) = header else {
        take_on_limits(None)?;
        return Err(short());
    };
    let name = std::str::from_utf8(name).map_err(|_| io::ErrorKind::InvalidInput)?.trim_end_matches('\0');
    let key = SealKey::new(*key);
    let sealed = match name.strip_prefix(ASK) {
        Some(name) => {
            let (length, rest) = brought.split_first_chunk().ok_or_else(short)?;
            let length = usize::try_from(u64::from_le_bytes(*length)).map_err(|_| short())?;
            let (words, code) = rest.split_at_checked(length).ok_or_else(short)?;
            let limits: Limits = serde_json::from_slice(words)?;
            let backends = [Backend::Native, Backend::Interpreter64, Backend::Interpreter32];
            let backend = backends.into_iter().find(|backend| backend.name() == name);
            let backend = backend.ok_or(io::ErrorKind::InvalidInput)?;
            let held = limits.get(Limit::Memory).saturating_add(input.len() as u64).saturating_mul(2);
            take_on_limits(Some(held.saturating_add(ASKING_BYTES)))?;
            let code = Verdict::open(&key, &answer_name(&[words]), code.to_vec());
            let described = serde_json::to_vec(&described_here(backend, code, &limits))?;
            key.sealed(&answer_name(&[brought]), described)
        }
        None => {
            take_on_limits(None)?;
            let target = Target::named(name).ok_or(io::ErrorKind::InvalidInput)?;
            // A compiler's code is never in a file.
            compile_here(&target, brought).seal(&key, &answer_name(&[brought])).unwrap_or_default()
        }
    };
    let mut stdout = io::stdout().lock();
    stdout.write_all(&sealed)?;
    stdout.flush()
}

/// What a child's answer is sealed as the verdict on: these parts, one behind the other.
fn answer_name(parts: &[&[u8]]) -> Digest {
    let mut hasher = Hasher::new(Kind::Component);
    parts.iter().for_each(|part| hasher.update(part));
    hasher.finish()
}

/// Limits this process: no more memory than [`MEMORY_BYTES`], or than `held` where more is reserved than used, no files of its own, no image of
/// it left behind, no life after its parent's, and the system calls of a compiler alone.
fn take_on_limits(held: Option<u64>) -> io::Result<()> {
    #[cfg(unix)]
    {
        use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
        let memory = held.map_or((Resource::As, MEMORY_BYTES), |held| (Resource::Data, held));
        for (resource, most) in [memory, (Resource::Fsize, 0), (Resource::Core, 0)] {
            let most = getrlimit(resource).maximum.map_or(most, |maximum| maximum.min(most));
            setrlimit(resource, Rlimit { current: Some(most), maximum: Some(most) })?;
        }
    }
    #[cfg(not(unix))]
    let _ = held;
    #[cfg(target_os = "linux")]
    rustix::process::set_parent_process_death_signal(Some(rustix::process::Signal::KILL))?;
    ring::enter()
}

fn compile_in_child(
    command: &mut Command,
    key: &SealKey,
    target: &Target,
    component: &[u8],
    time_ms: u64,
    beside: Beside<'_>,
) -> Result<Verdict, LoadError> {
    let (answer, status) = in_child(command, key, target.name(), &[component], (time_ms, ANSWER_BYTES_MAX), beside)?;
    let name = answer_name(&[component]);
    let verdict = match answer {
        Answer::Bytes(answer) => Verdict::open(key, &name, answer),
        Answer::File(answer) => Verdict::of_file(key, &name, answer),
    };
    let brought_down = brought_down(status);
    match verdict {
        Some(Verdict::Refused(refusal)) => Err(refusal),
        Some(code) if status.success() => Ok(code),
        _ if brought_down && memory_is_short() => {
            Err(LoadError::Host(format!("the compiler process has less memory than it is meant to have ({status})")))
        }
        _ if brought_down => Err(LoadError::TooMuch(format!("{GAVE_UP} ({status})"))),
        _ if !status.success() => {
            Err(LoadError::Host(format!("the compiler process was not started, or not left to do its work ({status})")))
        }
        _ => Err(LoadError::Host("the compiler process did not answer as one of this program does".to_owned())),
    }
}

/// What a child answers.
enum Answer {
    Bytes(Vec<u8>),
    /// It is long, and was put beside.
    File(File),
}

/// Reads an answer; a long one is put beside, if it can be. Nothing if it has more than so many bytes.
fn received(mut output: impl Read, bytes_max: u64, beside: Beside<'_>) -> io::Result<Option<Answer>> {
    let (mut bytes, mut length) = (Vec::new(), 0_u64);
    let mut file = None;
    let mut buffer = vec![0; PIPE_BYTES];
    loop {
        let read = match output.read(&mut buffer) {
            Ok(0) => break,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            read => buffer.get(..read?).unwrap_or_default(),
        };
        length += read.len() as u64;
        if length > bytes_max {
            return Ok(None);
        }
        if file.is_none() && stays_in_its_file(length) {
            file = beside().and_then(|mut file| file.write_all(&bytes).is_ok().then_some(file));
            if file.is_some() {
                bytes = Vec::new();
            }
        }
        let Some(open) = &mut file else {
            bytes.extend_from_slice(read);
            continue;
        };
        if open.write_all(read).is_err() {
            // A disk that is full is no reason to have no answer.
            open.rewind()?;
            open.take(length - read.len() as u64).read_to_end(&mut bytes)?;
            bytes.extend_from_slice(read);
            output.take((bytes_max - length) + 1).read_to_end(&mut bytes)?;
            return Ok((bytes.len() as u64 <= bytes_max).then_some(Answer::Bytes(bytes)));
        }
    }
    Ok(Some(file.map_or(Answer::Bytes(bytes), Answer::File)))
}

/// What a child answers within a time, in so many bytes, and how it ended. What it is brought are these parts, one behind the other.
fn in_child(
    command: &mut Command,
    key: &SealKey,
    name: &str,
    input: &[&[u8]],
    (time_ms, bytes_max): (u64, u64),
    beside: Beside<'_>,
) -> Result<(Answer, ExitStatus), LoadError> {
    let fault = |what: &str, error: &io::Error| LoadError::Host(format!("the compiler process {what}: {error}"));
    let spawned = command.env_clear().stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn();
    let mut child = spawned.map_err(|error| fault("did not start", &error))?;
    let (Some(mut stdin), Some(output)) = (child.stdin.take(), child.stdout.take()) else {
        return Err(LoadError::Host("the compiler process has no pipes".to_owned()));
    };
    let (sender, receiver) = mpsc::channel();
    let answer = std::thread::scope(|scope| {
        // A child that ends early closes its pipe; what it answered then says why.
        let mut header = [&key.bytes()[..], name.as_bytes()].concat();
        header.resize(CHILD_HEADER_BYTES as usize, 0);
        scope.spawn(move || {
            stdin.write_all(&header).and_then(|()| input.iter().try_for_each(|part| stdin.write_all(part)))
        });
        scope.spawn(move || sender.send(received(output, bytes_max, beside)));
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
    let too_much = || LoadError::TooMuch(format!("compiled, it has more than {bytes_max} bytes"));
    Ok((answer.ok_or_else(too_much)?, status))
}

/// Whether a compiler ended as one does for which a component is too much: by a signal that its own doing brings about, as having
/// used up the memory that it may have is. One that can't be started may show in its status alone, and one that the system takes
/// away, where the machine has no memory left for instance, in a signal from elsewhere: neither says anything about the component.
fn brought_down(status: ExitStatus) -> bool {
    #[cfg(unix)]
    {
        use rustix::process::Signal;
        let own = [Signal::ABORT, Signal::SEGV, Signal::BUS, Signal::ILL, Signal::FPE, Signal::TRAP, Signal::SYS];
        let signal = std::os::unix::process::ExitStatusExt::signal(&status);
        signal.is_some_and(|signal| own.iter().any(|own| own.as_raw() == signal))
    }
    #[cfg(not(unix))]
    {
        !status.success()
    }
}

/// How a refusal begins that is no verdict: the compiler did not live to give one.
const GAVE_UP: &str = "the compiler gave up on it";

/// Whether compiling again could come to something else, because this was no answer of the compiler's.
pub(crate) fn is_final(refusal: &LoadError) -> bool {
    match refusal {
        LoadError::Invalid(_) | LoadError::Lacking { .. } | LoadError::TooSlow { .. } => true,
        LoadError::TooMuch(text) => !text.starts_with(GAVE_UP),
        // What is not known for an answer of the compiler's is asked for again.
        _ => false,
    }
}

/// Whether this process, and so a child of it, may have less memory than a compiling child is given.
fn memory_is_short() -> bool {
    #[cfg(unix)]
    {
        use rustix::process::{Resource, getrlimit};
        let least = [Resource::As, Resource::Data].map(|resource| getrlimit(resource).current.unwrap_or(u64::MAX));
        least.iter().any(|bytes| *bytes < MEMORY_BYTES)
    }
    #[cfg(not(unix))]
    false
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

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[test]
    fn what_is_small_is_compiled_by_one_thread() {
        let on = |processors| [0, SHARE_BYTES - 1, SHARE_BYTES, 1 << 20].map(|bytes| threads_for(bytes, processors));
        assert_eq!([on(1), on(4), on(64)], [[1, 1, 1, 1], [1, 1, 2, 4], [1, 1, 2, THREADS_MAX]]);
    }

    #[test]
    fn a_long_answer_is_put_beside_and_one_for_which_there_is_no_room_is_read() {
        let long: Vec<u8> = (0..3 << 20).map(|at| (at % 249) as u8).collect();
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("beside");
        let writable = || File::options().read(true).write(true).create(true).truncate(true).open(&path).ok();
        let read = |bytes: &[u8], most: u64, beside: Beside<'_>| match received(bytes, most, beside).unwrap()? {
            Answer::Bytes(bytes) => Some((false, bytes)),
            Answer::File(mut file) => {
                let mut bytes = Vec::new();
                file.rewind().and_then(|()| file.read_to_end(&mut bytes)).unwrap();
                Some((true, bytes))
            }
        };
        let most = long.len() as u64;
        assert!(read(&long, most, &writable) == Some((true, long.clone())));
        assert!(read(&long, most, &|| None) == Some((false, long.clone())));
        // As where the disk is full: nothing can be written to what is open for reading, from the beginning or later.
        let unwritable = || File::open(&path).ok();
        assert!(read(&long, most, &unwritable) == Some((false, long.clone())));
        let full = || File::options().read(true).write(true).open("/dev/full").ok();
        assert!(read(&long, most, &full) == Some((false, long.clone())));
        assert!(read(&long[..1000], most, &writable) == Some((false, long[..1000].to_vec())));
        for beside in [&writable as Beside<'_>, &|| None, &unwritable] {
            assert!(read(&long, most - 1, beside).is_none());
        }
    }
}

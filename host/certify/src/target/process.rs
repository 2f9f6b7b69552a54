//! A native program as a child process: no shell, an environment of its own, bounded time and output; its home is looked at around each
//! call, and a ring that it is given is put up before each. Also this program itself, of which every call may be made because
//! it keeps everything below the home that it is given.

use super::home::{self, State};
use super::orphans;
use super::{Contract, Facts, Files, Observation, Options, Outside, Start, Stdin, TOTAL_TIME, Target, TargetError};
use crate::draw::Draws;
use crate::read;
use hutch_model::digest::{Digest, Kind};
use serde_json::Value;
use std::collections::BTreeMap;
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::time::{Duration, Instant};

/// The longest that one call may take.
const CALL_TIME: Duration = Duration::from_secs(60);
/// The longest that a call may take whose standard input is held open, where no call before took long.
const HELD_OPEN_TIME: Duration = Duration::from_secs(2);
/// How many times as long as the slowest call before it may take elsewhere. One that waits takes for ever.
const HELD_OPEN_TIMES: u32 = 10;
/// The longest that calls may take together which do not end: those after it are counted, and not made.
const IN_VAIN_TIME: Duration = Duration::from_secs(300);
/// How long it is before somebody looks again whether a call has ended.
const LOOK_TIME: Duration = Duration::from_millis(1);
/// The most of a stream that is kept.
const STREAM_BYTES_MAX: u64 = 8 << 20;

/// Binds the thread that calls it, and what that starts from then on, to changing nothing outside of the program's home.
pub type Ring = Box<dyn Fn() -> Result<(), String> + Send + Sync>;

/// What is tested.
pub struct Tested {
    /// The program.
    pub program: PathBuf,
    /// Arguments before all others.
    pub leading: Vec<String>,
    /// What a report calls it.
    pub name: String,
    /// A folder of its own, which becomes home and working folder.
    pub home: PathBuf,
    /// The search path that it gets, if it gets one.
    pub path: Option<String>,
    /// Whether every call may be made, because the program is known to keep inside its home.
    pub trusted: bool,
    /// What is around each call of a program that is not known to, where the system has it.
    pub ring: Option<Ring>,
    /// Whether this process starts nothing else, and what the program leaves behind comes to it ([`super::adopt`]): it is ended then.
    pub alone: bool,
    /// What calls are made with.
    pub draws: Draws,
    /// The files of its project, if they can be seen.
    pub files: Option<Files>,
    /// The stored list of error codes.
    pub stored_codes: Vec<(String, u8)>,
    /// Commands whose answers are somebody else's.
    pub pass_through: Vec<String>,
    /// Parameters whose values are somebody else's.
    pub forwarded: Vec<String>,
    /// Parameters that name a path of the caller's own, who may go there anyhow: it may lead upwards.
    pub own_paths: Vec<String>,
    /// Parameters that name a file with a key or a certificate.
    pub key_files: Vec<String>,
    /// Commands that are not called.
    pub not_called: Vec<String>,
    /// Values for parameters, by name.
    pub samples: BTreeMap<String, String>,
    /// A stored description.
    pub stored_description: Option<Value>,
}

/// A program as a target.
pub struct ProcessTarget {
    program: PathBuf,
    leading: Vec<String>,
    home: PathBuf,
    path: Option<String>,
    ring: Option<Ring>,
    alone: bool,
    facts: Facts,
    started: Instant,
    /// The longest that a call took which ended.
    slowest: Duration,
    /// How long those took together that did not.
    in_vain: Duration,
    initial: State,
    /// What the home holds between calls.
    current: State,
    /// What it left that can't be put in order.
    disorder: Option<String>,
}

impl ProcessTarget {
    /// A target; nothing is started yet.
    #[expect(clippy::disallowed_methods, reason = "a program that runs has a deadline on the host's clock")]
    pub fn new(tested: Tested) -> ProcessTarget {
        let facts = Facts {
            sandboxed: false,
            may_change: tested.trusted,
            outside: match (tested.trusted, &tested.ring) {
                (true, _) => None,
                (false, Some(_)) => Some(Outside::Refused),
                (false, None) => Some(Outside::Unseen),
            },
            draws: tested.draws,
            contract: Contract::CommandLine,
            files: tested.files,
            stored_description: tested.stored_description,
            stored_codes: tested.stored_codes,
            pass_through: tested.pass_through,
            forwarded: tested.forwarded,
            own_paths: tested.own_paths,
            key_files: tested.key_files,
            not_called: tested.not_called,
            samples: tested.samples,
            ..Facts::sandboxed(tested.name)
        };
        let initial = State::found(&tested.home, None, true);
        ProcessTarget {
            program: tested.program,
            leading: tested.leading,
            home: tested.home,
            path: tested.path,
            ring: tested.ring,
            alone: tested.alone,
            facts,
            started: Instant::now(),
            slowest: Duration::ZERO,
            in_vain: Duration::ZERO,
            current: initial.clone(),
            initial,
            disorder: None,
        }
    }

    #[expect(clippy::disallowed_methods, reason = "a native program can only be tested by starting it")]
    fn command(&self, args: &[String], options: &Options) -> Command {
        let mut command = Command::new(&self.program);
        command.args(&self.leading).args(args).env_clear().current_dir(&self.home);
        command.env("HOME", &self.home).envs(options.environment.iter().cloned());
        command.envs(self.path.iter().map(|path| ("PATH", path)));
        command.envs(self.moment().map(|home| ("TMPDIR", home.join(home::MOMENT))));
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        #[cfg(unix)]
        std::os::unix::process::CommandExt::process_group(&mut command, 0);
        command
    }

    /// Its home, where files of a moment are kept there: a ring lets nobody write where they are kept otherwise.
    fn moment(&self) -> Option<&Path> {
        self.ring.is_some().then_some(self.home.as_path())
    }

    /// Starts the program, behind its ring.
    fn start(&self, args: &[String], options: &Options) -> Result<Child, TargetError> {
        let (mut command, moment) = (self.command(args, options), self.moment());
        let started = self.within(move || {
            moment.into_iter().for_each(home::clear_moment);
            command.spawn()
        })?;
        started.map_err(|error| TargetError::Start {
            program: self.program.display().to_string(),
            reason: error.to_string(),
        })
    }

    /// Has the home hold what is wanted, or says why it can't be. Behind the ring too: what the program left there, and may still be at, leads
    /// nobody elsewhere.
    fn restore(&self, now: &State, wanted: &State) -> Result<Option<String>, TargetError> {
        let done = self.within(|| home::put_back(&self.home, now, wanted))?;
        Ok(done.err().map(|error| format!("its home can't be put back: {error}")))
    }

    /// Does something behind the ring, on a thread that ends with that, because whoever put one up is bound by it too.
    fn within<T: Send>(&self, does: impl FnOnce() -> T + Send) -> Result<T, TargetError> {
        let Some(ring) = &self.ring else { return Ok(does()) };
        let bound = move || ring().map(|()| does());
        let done = std::thread::scope(|scope| scope.spawn(bound).join());
        let done = done.unwrap_or_else(|_| Err("the thread behind the ring panicked".to_owned()));
        done.map_err(|reason| TargetError::Host(format!("{}: {reason}", self.home.display())))
    }
}

impl Target for ProcessTarget {
    fn facts(&self) -> &Facts {
        &self.facts
    }

    fn invoke(&mut self, args: &[String], options: &Options) -> Result<Observation, TargetError> {
        let told = |what: String| format!("`{}`: {what}", read::shown(args.join(" ").as_bytes()));
        let mut before = &self.current;
        if options.start == Start::Initial {
            before = &self.initial;
            self.disorder = self.restore(&self.current, before)?.map(told);
            if self.disorder.is_some() {
                return Ok(Observation::default());
            }
        }
        let child = self.start(args, options)?;
        let held_open_time = HELD_OPEN_TIME.max(self.slowest * HELD_OPEN_TIMES).min(CALL_TIME);
        let time = if options.stdin == Stdin::HeldOpen { held_open_time } else { CALL_TIME };
        let (mut seen, took) = watch(child, &options.stdin, time, self.alone);
        match seen.timed_out {
            true => self.in_vain += took,
            false => self.slowest = self.slowest.max(took),
        }
        if self.alone && orphans::are_there() {
            self.disorder = Some(told("what it started can't be ended".to_owned()));
            return Ok(seen);
        }
        if options.start == Start::Current && before.is_still_in(&self.home) {
            seen.state = Some((before.digest, before.digest));
            return Ok(seen);
        }
        let after = State::found(&self.home, Some(before), options.keep);
        seen.state = Some((before.digest, after.digest));
        let same = after.digest == before.digest;
        // What is as it was is known by newer stamps.
        match options.keep && after.unseen.is_none() || same && options.start == Start::Current {
            true => self.current = after,
            false => {
                let stuck = self.restore(&after, &self.current)?;
                let unseen = after.unseen.map(|why| format!("what it left in its home can't be looked at: {why}"));
                self.disorder = stuck.or(unseen).map(told);
            }
        }
        Ok(seen)
    }

    fn has_time(&self) -> bool {
        self.started.elapsed() < TOTAL_TIME && self.in_vain < IN_VAIN_TIME && self.disorder.is_none()
    }

    fn disorder(&self) -> Option<&str> {
        self.disorder.as_deref()
    }

    #[expect(
        clippy::disallowed_methods,
        reason = "the program is looked up as a shell does, and read to be named by its digest"
    )]
    fn program(&mut self) -> Result<Option<Digest>, TargetError> {
        // A pipe would be waited for.
        let bytes = self.program.is_file().then(|| std::fs::read(&self.program).ok()).flatten();
        Ok(bytes.map(|bytes| Digest::of(Kind::Component, &bytes)))
    }
}

/// Lets a child run to its end, or ends it after a time; with it ends everything that it started, of another session too if this process is
/// `alone`. Says how long it took.
#[expect(
    clippy::disallowed_methods,
    reason = "a program that runs has a deadline on the host's clock, and nothing tells when it ends"
)]
fn watch(mut child: Child, stdin: &Stdin, time: Duration, alone: bool) -> (Observation, Duration) {
    let begun = Instant::now();
    let deadline = begun + time;
    let input = child.stdin.take();
    let held = match stdin {
        Stdin::HeldOpen => input,
        Stdin::Empty => {
            drop(input);
            None
        }
        Stdin::Bytes(bytes) => {
            let bytes = bytes.clone();
            // A child that reads nothing must not hold up the one who writes.
            std::thread::spawn(move || input.map(|mut input| input.write_all(&bytes)));
            None
        }
    };
    let (stdout, stderr) = (reader(child.stdout.take()), reader(child.stderr.take()));
    // A stream that is closed, as most are by the end, wakes sooner than looking again does.
    let mut printed = None;
    let status = loop {
        match child.try_wait() {
            Ok(Some(status)) => break Some(status),
            Ok(None) if Instant::now() >= deadline => break None,
            Ok(None) if printed.is_none() => printed = heard(&stdout),
            Ok(None) => std::thread::sleep(LOOK_TIME),
            Err(_) => break None,
        }
    };
    let took = begun.elapsed();
    kill(&mut child);
    if alone {
        orphans::end();
    }
    drop(held);
    let left = || deadline.saturating_duration_since(Instant::now()).max(Duration::from_millis(100));
    let seen = Observation {
        stdout: printed.or_else(|| stdout.recv_timeout(left()).ok()).unwrap_or_default(),
        stderr: stderr.recv_timeout(left()).unwrap_or_default(),
        timed_out: status.is_none(),
        status: status.and_then(|status| status.code()).and_then(|code| u8::try_from(code).ok()),
        state: None,
        by_host: false,
    };
    (seen, took)
}

/// What a stream's reader has read to the end, which is nothing where it is gone. None if it still reads.
fn heard(stream: &Receiver<Vec<u8>>) -> Option<Vec<u8>> {
    match stream.recv_timeout(LOOK_TIME) {
        Err(RecvTimeoutError::Timeout) => None,
        heard => Some(heard.unwrap_or_default()),
    }
}

/// Reads a stream to its end on a thread of its own: what a child leaves behind may hold it open.
fn reader(stream: Option<impl Read + Send + 'static>) -> Receiver<Vec<u8>> {
    let (sender, receiver) = mpsc::channel();
    std::thread::spawn(move || {
        let mut bytes = Vec::new();
        if let Some(stream) = stream {
            // What was read before a failure is still what it said.
            let _ = stream.take(STREAM_BYTES_MAX).read_to_end(&mut bytes);
        }
        // The receiver may have given up.
        let _ = sender.send(bytes);
    });
    receiver
}

/// Ends a child, and on Unix everything in its group.
fn kill(child: &mut Child) {
    #[cfg(unix)]
    if let Some(group) = i32::try_from(child.id()).ok().and_then(rustix::process::Pid::from_raw) {
        // A group that is gone already is what is wanted.
        let _ = rustix::process::kill_process_group(group, rustix::process::Signal::KILL);
    }
    let _ = child.kill();
    let _ = child.wait();
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stream_is_read_no_further_than_its_bound() {
        assert_eq!(reader(Some(std::io::repeat(b'x'))).recv().unwrap().len() as u64, STREAM_BYTES_MAX);
        assert_eq!(reader(Some(&b"short"[..])).recv().unwrap(), b"short");
    }

    #[test]
    fn a_reader_that_is_gone_is_not_asked_again() {
        let (sender, receiver) = mpsc::channel();
        assert_eq!(heard(&receiver), None);
        drop(sender);
        assert_eq!(heard(&receiver), Some(Vec::new()));
    }

    #[cfg(unix)]
    #[test]
    fn what_closes_its_stream_before_it_ends_was_heard_and_is_waited_for() {
        let mut command = Command::new("/bin/sh");
        command.args(["-c", "echo said; exec >&-; read status; exit $status"]);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let (seen, _) = watch(command.spawn().unwrap(), &Stdin::Bytes(b"3\n".to_vec()), CALL_TIME, false);
        assert_eq!((seen.stdout.as_slice(), seen.status, seen.timed_out), (&b"said\n"[..], Some(3), false));
    }
}

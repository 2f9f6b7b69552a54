//! What is going on, for those who wait: said of whatever takes longer than a second, on standard error. On a terminal it is one line
//! that is rewritten and removed at the end; elsewhere it is JSON lines, and only if asked for. Knows no command.
//!
//! Standard error is one for the whole process, and so is what is said here. Without anybody to tell, nothing is done: no thread is
//! started, no clock is read.

use crate::flags::global::Global;
use serde_json::json;
use std::io::{self, IsTerminal, Write};
use std::sync::{Condvar, Mutex, MutexGuard, OnceLock, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// How long something goes on before it is said, and from one saying to the next.
const EVERY: Duration = Duration::from_secs(1);

/// How it is said.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Form {
    /// One line that is rewritten.
    Line,
    /// One JSON object a line.
    Json,
}

struct Progress {
    form: Form,
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    /// What is going on: the outermost first, the others as parts of it.
    steps: Vec<Going>,
    /// Since when, with what went before.
    since: Option<Instant>,
    /// When it was said last.
    said: Option<Instant>,
    /// Columns of the line that stands there.
    columns: usize,
    /// The thread that says it, once there is something to say.
    teller: Option<JoinHandle<()>>,
    /// Whether there may be none now.
    held: bool,
}

struct Going {
    name: &'static str,
    /// How many parts are done, and of how many, if somebody knows.
    parts: Option<(u64, Option<u64>)>,
}

/// Something that is going on; it has ended when this is dropped.
#[derive(Debug)]
pub(crate) struct Step(Option<&'static str>);

/// Absent until it is settled that somebody is to be told.
static PROGRESS: OnceLock<Progress> = OnceLock::new();

/// Settles who is told: a person at a terminal, who can refuse; a program that asks for it; nobody who wants quiet.
pub(crate) fn settle(global: &Global, refused: bool) {
    let form = match io::stderr().is_terminal() {
        _ if global.quiet || refused => return,
        true => Form::Line,
        false if global.progress => Form::Json,
        false => return,
    };
    let _ = PROGRESS.set(Progress { form, state: Mutex::default(), changed: Condvar::new() });
}

/// Something begins that may take long.
pub(crate) fn during(name: &'static str) -> Step {
    after(name, Duration::ZERO)
}

/// The same, of something that has gone on for a while.
#[expect(clippy::disallowed_methods, reason = "what takes long is noticed by the host's clock")]
pub(crate) fn after(name: &'static str, gone: Duration) -> Step {
    let Some(progress) = PROGRESS.get() else { return Step(None) };
    let mut state = progress.lock();
    if state.steps.is_empty() {
        let now = Instant::now();
        state.since = now.checked_sub(gone).or(Some(now));
        state.said = None;
    }
    state.steps.push(Going { name, parts: None });
    progress.start(&mut state);
    progress.changed.notify_one();
    Step(Some(name))
}

/// How far the outermost step is.
pub(crate) fn at(done: usize, total: usize) {
    set(done as u64, Some(total as u64));
}

/// The same, where nobody knows how much there is.
pub(crate) fn count(done: u64) {
    set(done, None);
}

fn set(done: u64, total: Option<u64>) {
    if let Some(progress) = PROGRESS.get()
        && let Some(step) = progress.lock().steps.first_mut()
    {
        step.parts = Some((done, total));
    }
}

/// Takes the line away: something else is about to be printed.
pub(crate) fn make_room() {
    if let Some(progress) = PROGRESS.get() {
        let mut state = progress.lock();
        progress.erase(&mut state);
    }
}

/// Says nothing more: from here on the answer itself is written, piece by piece.
pub(crate) fn finish() {
    if let Some(progress) = PROGRESS.get() {
        let mut state = progress.lock();
        state.steps.clear();
        progress.erase(&mut state);
    }
}

/// Says nothing and keeps no thread, until [`go_on`].
pub(crate) fn hold() {
    let Some(progress) = PROGRESS.get() else { return };
    let mut state = progress.lock();
    state.held = true;
    let teller = state.teller.take();
    drop(state);
    progress.changed.notify_one();
    // One that panicked says nothing either.
    let _ = teller.map(JoinHandle::join);
}

/// Says what is going on again, that which began before too.
pub(crate) fn go_on() {
    let Some(progress) = PROGRESS.get() else { return };
    let mut state = progress.lock();
    state.held = false;
    if !state.steps.is_empty() {
        progress.start(&mut state);
    }
}

impl Drop for Step {
    fn drop(&mut self) {
        if let (Some(progress), Some(_)) = (PROGRESS.get(), self.0) {
            let mut state = progress.lock();
            state.steps.pop();
            if state.steps.is_empty() {
                progress.erase(&mut state);
            }
        }
    }
}

impl Progress {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Sees to it that somebody says it.
    fn start(&'static self, state: &mut State) {
        if state.teller.is_none() && !state.held {
            // It lives until it is held. Without it there is nothing to see, and nothing else is lost.
            state.teller = std::thread::Builder::new().name("progress".to_owned()).spawn(|| self.tell()).ok();
        }
    }

    /// Says what is going on, whenever it is time.
    fn tell(&self) {
        let mut state = self.lock();
        while !state.held {
            let last = state.said.or(state.since).filter(|_| !state.steps.is_empty());
            state = match last.map(|last| EVERY.saturating_sub(last.elapsed())) {
                None => self.changed.wait(state).unwrap_or_else(PoisonError::into_inner),
                Some(Duration::ZERO) => {
                    self.say(&mut state);
                    state
                }
                Some(left) => self.changed.wait_timeout(state, left).unwrap_or_else(PoisonError::into_inner).0,
            };
        }
    }

    #[expect(clippy::disallowed_methods, reason = "what takes long is noticed by the host's clock")]
    fn say(&self, state: &mut State) {
        let elapsed = state.since.map(|since| since.elapsed()).unwrap_or_default();
        state.said = Some(Instant::now());
        let Some(name) = state.steps.last().map(|step| step.name) else { return };
        let parts = state.steps.first().and_then(|step| step.parts);
        // Nobody is failed because there is nowhere to say this.
        let _ = match self.form {
            Form::Json => {
                let mut value = json!({"step": name, "elapsed_ms": elapsed.as_millis() as u64});
                if let Some((done, total)) = parts {
                    value["done"] = done.into();
                    if let Some(total) = total {
                        value["total"] = total.into();
                    }
                }
                writeln!(io::stderr().lock(), "{}", json!({"progress": value}))
            }
            Form::Line => {
                let parts = match parts {
                    Some((done, Some(total))) => format!(" {done} of {total}"),
                    Some((done, None)) => format!(" {done}"),
                    None => String::new(),
                };
                let text = format!("hutch: {name}{parts}, {} s", elapsed.as_secs());
                let columns = std::mem::replace(&mut state.columns, text.len());
                write!(io::stderr().lock(), "\r{text:columns$}")
            }
        };
    }

    /// Leaves the line as it was before anything was said. Spaces do it on every terminal.
    #[expect(clippy::disallowed_methods, reason = "what takes long is noticed by the host's clock")]
    fn erase(&self, state: &mut State) {
        let columns = std::mem::take(&mut state.columns);
        if columns > 0 {
            let _ = write!(io::stderr().lock(), "\r{:columns$}\r", "");
            state.said = Some(Instant::now());
        }
    }
}

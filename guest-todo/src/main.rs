//! The to-do program: arguments, standard input, clock and state directory in, streams and exit status out.

use std::ffi::OsString;
use std::io::{self, Write};
use std::process::ExitCode;
use std::time::{SystemTime, UNIX_EPOCH};

use guest_todo::calendar::Instant;
use guest_todo::failure::{Failure, INVALID_VALUE};
use guest_todo::storage::StateFile;
use guest_todo::{Reply, refusal, run};

/// Where the state is: the volume of that name in a component, a directory of that name natively.
const STATE_DIRECTORY: &str = "state";

#[cfg(target_family = "wasm")]
struct Todo;

#[cfg(target_family = "wasm")]
impl guest_todo::component::exports::hutch::app::contract::Guest for Todo {
    fn describe() -> guest_todo::component::exports::hutch::app::contract::Description {
        guest_todo::component::describe(&guest_todo::description::TODO)
    }
}

#[cfg(target_family = "wasm")]
guest_todo::component::export!(Todo with_types_in guest_todo::component);

fn main() -> ExitCode {
    let reply = match std::env::args_os().skip(1).map(OsString::into_string).collect::<Result<Vec<_>, _>>() {
        Ok(args) => run(&args, now(), &StateFile::new(STATE_DIRECTORY), io::stdin().lock()),
        Err(arg) => refusal(&Failure::new(INVALID_VALUE, format!("argument {arg:?} is not UTF-8")), false),
    };
    let Reply { stdout, stderr, exit_status } = reply;
    let written = write(io::stderr(), &stderr).and_then(|()| write(io::stdout(), &stdout));
    end(if written.is_ok() { exit_status } else { 1 })
}

fn write(mut stream: impl Write, text: &str) -> io::Result<()> {
    stream.write_all(text.as_bytes())?;
    stream.flush()
}

/// The time of this call, brought within the years that the calendar knows.
fn now() -> Instant {
    let since_epoch_ms = match SystemTime::now().duration_since(UNIX_EPOCH) {
        Ok(after) => i64::try_from(after.as_millis()).unwrap_or(i64::MAX),
        Err(before) => i64::try_from(before.duration().as_millis()).map_or(i64::MIN, |ms| -ms),
    };
    let nearest = if since_epoch_ms < 0 { Instant::MIN } else { Instant::MAX };
    Instant::from_epoch_ms(since_epoch_ms).unwrap_or(nearest)
}

/// Ends with a status. The one that `main` returns reaches a component's host as 0 or 1, so others go another way.
fn end(status: u8) -> ExitCode {
    #[cfg(target_family = "wasm")]
    if status > 1 {
        guest_todo::component::exit(status);
    }
    ExitCode::from(status)
}

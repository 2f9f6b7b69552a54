//! The way into and out of the process: arguments, standard input, clock and state directory in; streams and exit status out.

use std::ffi::OsString;
use std::io::{self, Write};
use std::process::ExitCode;
use std::time::{SystemTime, UNIX_EPOCH};

use crate::application::{Application, Reply, refusal};
use crate::calendar::Instant;
use crate::document::Document;
use crate::failure::{Failure, INVALID_VALUE};
use crate::storage::StateFile;

/// Where the state is: the volume of that name in a component, a directory of that name natively.
const STATE_DIRECTORY: &str = "state";
/// What a native program is called with to print what `schemas/commands.json` must hold.
const PRINT_CONTRACT: &str = "--print-contract";

/// Makes the call that this process is for. [`main!`](crate::main) makes a `main` of it.
pub fn start<S: Document>(application: &'static Application<S>) -> ExitCode {
    let args = std::env::args_os().skip(1).map(OsString::into_string).collect::<Result<Vec<_>, _>>();
    let reply = match args {
        Ok(args) if !cfg!(target_family = "wasm") && args == [PRINT_CONTRACT] => contract(application),
        Ok(args) => {
            let file = StateFile::new(STATE_DIRECTORY, S::FILE.unwrap_or_default());
            // Not locked: a command may read it too, as a file.
            application.run(&args, now(), &file, io::stdin())
        }
        Err(arg) => refusal(&Failure::new(INVALID_VALUE, format!("argument {arg:?} is not UTF-8")), false),
    };
    let Reply { stdout, stderr, exit_status } = reply;
    let written = write(io::stderr(), &stderr).and_then(|()| write(io::stdout(), &stdout));
    end(if written.is_ok() { exit_status } else { 1 })
}

fn contract<S: Document>(application: &Application<S>) -> Reply {
    match application.description.to_json() {
        Ok(stdout) => Reply { stdout, stderr: String::new(), exit_status: 0 },
        Err(error) => Reply { stdout: String::new(), stderr: format!("{error}\n"), exit_status: 1 },
    }
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
        crate::component::exit(status);
    }
    ExitCode::from(status)
}

/// Everything about an application, in one static of the type [`Application`]: its summary, its state, its name, its
/// commands, and what it tells agents: a `brief`, or what its `package` says, a path from the file that this stands in: the folder
/// `agent` with the brief and three rules, and the `skills` of these names.
#[macro_export]
macro_rules! application {
    (
        #[doc = $summary:literal]
        $visibility:vis static $name:ident: $state:ty = $slug:literal;
        commands: [$($command:ty),+ $(,)?]
        $(, brief: $brief:expr)?
        $(, package: $package:literal, skills: $skills:tt)?
        $(,)?
    ) => {
        #[doc = $summary]
        $visibility static $name: $crate::Application<$state> = {
            use $crate::failure::{INTERNAL_ERROR, UNKNOWN_COMMAND};
            use $crate::standard::{codes, count_codes};
            const COMMANDS: &[$crate::contract::Command] = &[$(<$command as $crate::Command>::CONTRACT),+];
            const LISTS: &[&[$crate::contract::FailureCode]] =
                &[&[UNKNOWN_COMMAND], $(<$command as $crate::Command>::CONTRACT.errors,)+ &[INTERNAL_ERROR]];
            const ERRORS: &[$crate::contract::FailureCode; count_codes(LISTS)] = &codes(LISTS);
            $crate::Application {
                description: $crate::contract::Description {
                    name: $slug,
                    version: ::std::env!("CARGO_PKG_VERSION"),
                    summary: $summary.trim_ascii(),
                    parameters: $crate::standard::PARAMETERS,
                    commands: COMMANDS,
                    errors: ERRORS,
                },
                runners: &[$($crate::Runner::of::<$command>()),+],
                told: $crate::first_of!(
                    $({ $crate::told!($package, $skills) })?
                    $({ $crate::application::Told { brief: $brief, rules: &[], skills: &[] } })?
                    { $crate::application::Told { brief: $summary.trim_ascii(), rules: &[], skills: &[] } }
                ),
            }
        };
    };
}

#[doc(hidden)]
#[macro_export]
macro_rules! first_of {
    ($first:block $($rest:block)*) => {
        $first
    };
}

#[doc(hidden)]
#[macro_export]
macro_rules! told {
    ($package:literal, [$($skill:literal),* $(,)?]) => {
        $crate::application::Told {
            brief: ::std::include_str!(::std::concat!($package, "/agent/brief.md")),
            rules: &[
                ::std::include_str!(::std::concat!($package, "/agent/rules/trigger.md")),
                ::std::include_str!(::std::concat!($package, "/agent/rules/workflow.md")),
                ::std::include_str!(::std::concat!($package, "/agent/rules/writeback.md")),
            ],
            skills: &[$(::std::include_str!(::std::concat!($package, "/skills/", $skill, "/SKILL.md"))),*],
        }
    };
}

/// The `main` of an application: `hutch_guest::main!(NOTES);`. In a component it also exports the contract; natively,
/// `--print-contract` prints what `schemas/commands.json` must hold.
#[macro_export]
macro_rules! main {
    ($application:ident) => {
        #[cfg(target_family = "wasm")]
        mod hutch_guest_component {
            pub(crate) struct Contract;

            impl $crate::component::exports::hutch::app::contract::Guest for Contract {
                fn describe() -> $crate::component::exports::hutch::app::contract::Description {
                    $crate::component::describe(&super::$application.description)
                }
            }
        }
        #[cfg(target_family = "wasm")]
        $crate::component::export!(Contract with_types_in $crate::component);
        #[cfg(target_family = "wasm")]
        use hutch_guest_component::Contract;

        fn main() -> ::std::process::ExitCode {
            $crate::start(&$application)
        }
    };
}

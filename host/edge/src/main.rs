//! The `hutch-edge` program: runs one application that `hutch pack --compiled` wrote, and has no compiler, no database and no network. With a
//! bundle behind it, it is that application: all its arguments are the guest's.
//!
//! All it does it does by the library, so a run comes to what `hutch run` comes to, the ledger's entry included. Around it are files
//! (`state`, `own`), input and the clock (`input`, `surroundings`), and words (`asked`).
#![cfg_attr(test, allow(clippy::disallowed_methods, reason = "tests reach for what they prepare"))]

mod application;
mod asked;
mod input;
mod own;
mod report;
mod state;
mod surroundings;
mod undo;
mod verify;

use asked::{Asked, Command};
use hutch_model::error_code::ErrorCode;
use report::{Done, tell, usage};
use std::process::ExitCode;

fn main() -> ExitCode {
    let done = surroundings::words().and_then(|words| match own::bundle()? {
        Some(own) => as_application(&own, words),
        None => as_tool(words),
    });
    done.unwrap_or_else(|report| tell(&report, None))
}

/// The program is the application.
fn as_application(own: &own::Own, arguments: Vec<String>) -> Done {
    surroundings::without_rings()?;
    let asked = Asked::of_environment()?;
    let application = application::Application::open(own.exported.clone())?;
    let state = asked.state.clone().or_else(|| own.state(&application));
    application.run(Asked { state, ..asked }, arguments).map_err(|report| match report.code {
        ErrorCode::ConfirmationRequired => report.suggest("ask the user, then repeat it with HUTCH_FLAGS=--yes"),
        _ => report,
    })
}

/// The program is told which application to run.
fn as_tool(words: Vec<String>) -> Done {
    match Command::read(words)? {
        Command::Run { asked, bundle, arguments } => {
            surroundings::without_rings()?;
            application::Application::open(own::read(&bundle)?)?.run(asked, arguments)
        }
        Command::Verify { asked, bundle } => {
            surroundings::without_rings()?;
            let state = asked.state.ok_or_else(|| usage("verify needs --state FILE"))?;
            verify::verify(&application::Application::open(own::read(&bundle)?)?, &state)
        }
        Command::Undo { mut asked, bundle } => {
            let state = asked.state.take().ok_or_else(|| usage("undo needs --state FILE"))?;
            undo::undo(&application::Application::open(own::read(&bundle)?)?, &asked, state)
        }
        Command::Say(text) => report::print(text.as_bytes(), &[]).map(|()| ExitCode::SUCCESS),
    }
}

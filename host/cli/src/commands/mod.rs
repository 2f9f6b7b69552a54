//! One file for each command.

pub(crate) mod apply;
pub(crate) mod check;
pub(crate) mod gc;
pub(crate) mod instance;
pub(crate) mod ledger;
pub(crate) mod plan;
pub(crate) mod replay;
pub(crate) mod run;
pub(crate) mod state;
pub(crate) mod undo;
pub(crate) mod validate;
pub(crate) mod verify;

use crate::arguments::{Arguments, Command};
use crate::output::{Fault, Output};
use hutch::package::{Package, PackageBounds, open_folder};
use hutch_model::error_code::ErrorCode;
use hutch_model::limits::Limit;
use std::io;
use std::path::Path;
use std::process::ExitCode;

/// Carries out a command and gives the exit status.
pub(crate) fn run(arguments: Arguments, output: &Output) -> ExitCode {
    let global = &arguments.global;
    let done = match arguments.command {
        Command::Run(own) => run::run(global, *own, output),
        Command::Validate(own) => validate::validate(global, *own, output),
        Command::Plan(own) => plan::plan(global, *own, output),
        Command::Apply(own) => apply::apply(global, &own, output),
        Command::Undo(own) => undo::undo(global, &own, output),
        Command::Replay(own) => replay::replay(global, &own, output),
        Command::Verify(own) => verify::verify(global, &own, output),
        Command::Ledger(own) => ledger::ledger(global, &own, output),
        Command::State(own) => state::state(global, &own, output),
        Command::Gc(own) => gc::gc(global, &own, output),
        Command::Check(own) => check::check(global, &own, output),
        Command::CompileComponent => {
            let compiled = hutch_sandbox::compile_from_stdin();
            compiled.map(|()| ExitCode::SUCCESS).map_err(|error| Fault::host(error.to_string()))
        }
    };
    done.unwrap_or_else(|fault| output.fail(&fault))
}

/// The folder of a package.
fn package_folder(path: &Path) -> Result<cap_std::fs::Dir, Fault> {
    open_folder(path).map_err(|error| match error.kind() {
        io::ErrorKind::NotFound | io::ErrorKind::NotADirectory => Fault::no_package(path, &error.to_string()),
        io::ErrorKind::PermissionDenied => {
            Fault::new(ErrorCode::PermissionDenied, format!("{}: {error}", path.display()))
        }
        _ => Fault::host(format!("{}: {error}", path.display())),
    })
}

fn open_package(path: &Path, component_bytes_max: Option<u64>) -> Result<Package, Fault> {
    let max = component_bytes_max.unwrap_or(Limit::Component.info().default);
    Ok(Package::open(&package_folder(path)?, PackageBounds::with_component(max))?)
}

//! One file for each command.

pub(crate) mod certify;
pub(crate) mod check;
pub(crate) mod run;

use crate::arguments::{Arguments, Command};
use crate::output::{Fault, Output};
use hutch::package::{Package, PackageBounds, open_folder};
use hutch_model::error_code::ErrorCode;
use hutch_model::error_report::ErrorReport;
use hutch_model::limits::Limit;
use std::io;
use std::path::Path;
use std::process::ExitCode;

/// Carries out a command and gives the exit status.
pub(crate) fn run(arguments: Arguments, output: &Output) -> ExitCode {
    let done = match arguments.command {
        Command::Run(own) => run::run(&arguments.global, *own, output),
        Command::Check(own) => check::check(&arguments.global, &own, output),
        Command::Certify(own) => certify::certify(&arguments.global, &own, output),
        Command::CompileComponent => {
            let compiled = hutch_sandbox::compile_from_stdin();
            compiled.map(|()| ExitCode::SUCCESS).map_err(|error| Fault::host(error.to_string()))
        }
    };
    done.unwrap_or_else(|fault| output.fail(&fault))
}

/// The folder of a package.
fn package_folder(path: &Path) -> Result<cap_std::fs::Dir, Fault> {
    open_folder(path).map_err(|error| {
        let code = match error.kind() {
            io::ErrorKind::NotFound | io::ErrorKind::NotADirectory => ErrorCode::PackageNotFound,
            io::ErrorKind::PermissionDenied => ErrorCode::PermissionDenied,
            _ => ErrorCode::HostFault,
        };
        ErrorReport::new(code, format!("{}: {error}", path.display())).into()
    })
}

fn open_package(path: &Path, component_bytes_max: Option<u64>) -> Result<Package, Fault> {
    let max = component_bytes_max.unwrap_or(Limit::Component.info().default);
    Ok(Package::open(&package_folder(path)?, PackageBounds::with_component(max))?)
}

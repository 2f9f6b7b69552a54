//! One file for each command.

pub(crate) mod apply;
pub(crate) mod backup;
mod bisect;
mod cases;
pub(crate) mod catalog;
pub(crate) mod certify;
pub(crate) mod check;
mod clients;
pub(crate) mod compile;
mod compiled;
pub(crate) mod dev;
pub(crate) mod doctor;
pub(crate) mod examples;
pub(crate) mod explain_error;
mod files;
pub(crate) mod find;
pub(crate) mod gc;
mod heads;
pub(crate) mod index;
pub(crate) mod init;
pub(crate) mod install;
pub(crate) mod instance;
pub(crate) mod instances;
pub(crate) mod issue;
pub(crate) mod ledger;
pub(crate) mod lock;
pub(crate) mod map;
pub(crate) mod mcp;
pub(crate) mod meta;
pub(crate) mod pack;
pub(crate) mod plan;
pub(crate) mod prove;
pub(crate) mod push;
pub(crate) mod reach;
pub(crate) mod replay;
pub(crate) mod run;
pub(crate) mod schedule;
pub(crate) mod serve;
mod served;
pub(crate) mod shell;
pub(crate) mod show;
pub(crate) mod sign;
pub(crate) mod skills;
pub(crate) mod soundness;
mod spliced;
pub(crate) mod state;
mod templates;
mod tokens;
pub(crate) mod trust;
pub(crate) mod undo;
pub(crate) mod validate;
pub(crate) mod verify;

use crate::flags::global::Global;
use crate::package::packages;
use crate::refusal::fault::Fault;
use hutch::package::Package;
use std::path::Path;

/// The package that a word on the command line means: a folder, a packed file, or an installed package.
fn open_package(global: &Global, path: &Path, component_bytes_max: Option<u64>) -> Result<Package, Fault> {
    packages::open(global, path, component_bytes_max)
}

//! The command line's shape: what every command takes, and the list of commands. Each command's own arguments stand in its file
//! below `commands`; doc comments are the help texts.

use crate::commands::{certify::CertifyArguments, check::CheckArguments, run::RunArguments};
use clap::{Args, Parser, Subcommand};
use std::path::PathBuf;

/// Runs Agent Applications whose payload is one WebAssembly component: untrusted, portable, deterministic.
#[derive(Debug, Parser)]
#[command(name = "hutch", version, disable_help_subcommand = true, subcommand_required = true)]
pub(crate) struct Arguments {
    #[command(flatten)]
    pub(crate) global: Global,
    #[command(subcommand)]
    pub(crate) command: Command,
}

/// What every command takes.
#[derive(Debug, Args)]
pub(crate) struct Global {
    /// Answer with JSON, the default
    #[arg(long, global = true, conflicts_with = "human")]
    pub(crate) agent: bool,
    /// Answer with text for people
    #[arg(long, global = true)]
    pub(crate) human: bool,
    /// Print nothing on standard error but errors
    #[arg(long, global = true)]
    pub(crate) quiet: bool,
    /// Folder that keeps all instances; HUTCH_HOME, else the platform's data directory
    #[arg(long, global = true, value_name = "DIR")]
    pub(crate) home: Option<PathBuf>,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Run a package's command
    ///
    /// The guest's standard output, standard error and exit status come through unchanged. Its state is kept if it exits with 0
    /// and keeps the contract, else everything it did is dropped. Everything after PACKAGE is the guest's.
    Run(Box<RunArguments>),
    /// Check a package against the rules of its format
    Check(CheckArguments),
    /// Test a command line against the 98 rules of agent-friendly command lines
    ///
    /// A package is called in the sandbox on a throw-away state, destructive commands included; nothing is kept. A native
    /// program is not sandboxed: only calls that should change nothing are made.
    Certify(CertifyArguments),
    /// Compile a component from standard input to standard output, for hutch itself
    #[command(hide = true)]
    CompileComponent,
}

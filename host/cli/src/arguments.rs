//! The command line's shape: what every command takes, and the list of commands. Each command's own arguments stand in its file
//! below `commands`; doc comments are the help texts.

use crate::commands::{
    apply::ApplyArguments, check::CheckArguments, gc::GcArguments, ledger::LedgerArguments, plan::PlanArguments,
    replay::ReplayArguments, run::RunArguments, state::StateArguments, undo::UndoArguments,
    validate::ValidateArguments, verify::VerifyArguments,
};
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
    /// Check a call against what the package declares, and run nothing
    Validate(Box<ValidateArguments>),
    /// Show what a run would do, without doing it
    ///
    /// The guest runs on the current state; only the record is kept. Takes what run takes.
    Plan(Box<PlanArguments>),
    /// Commit what a plan said, if the state is still the one it saw
    ///
    /// The guest runs again and must come to the same. That the plan was looked at is the confirmation of a command that asks
    /// for one.
    Apply(ApplyArguments),
    /// Take back changes, as a new entry that can be undone too
    Undo(UndoArguments),
    /// Issue a recorded invocation again, for real
    Replay(ReplayArguments),
    /// Re-execute recorded invocations and compare every byte
    Verify(VerifyArguments),
    /// Look up what was asked for and what came of it
    Ledger(LedgerArguments),
    /// Look inside volumes, and carry them in and out
    State(StateArguments),
    /// Reclaim the space of states that only old entries name
    Gc(GcArguments),
    /// Check a package against the rules of its format
    Check(CheckArguments),
    /// Compile a component from standard input to standard output, for hutch itself
    #[command(hide = true)]
    CompileComponent,
}

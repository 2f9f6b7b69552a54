//! The command line's shape: what every command takes, and the list of commands. Each command's own arguments stand in its file
//! below `commands`; doc comments are the help texts.

use crate::commands::apply::ApplyArguments;
use crate::commands::catalog::CatalogArguments;
use crate::commands::certify::CertifyArguments;
use crate::commands::check::CheckArguments;
use crate::commands::examples::ExamplesArguments;
use crate::commands::explain_error::ExplainErrorArguments;
use crate::commands::find::FindArguments;
use crate::commands::gc::GcArguments;
use crate::commands::init::InitArguments;
use crate::commands::install::{InstallArguments, ListArguments, RemoveArguments};
use crate::commands::issue::IssueCommand;
use crate::commands::ledger::LedgerArguments;
use crate::commands::meta::MetaArguments;
use crate::commands::pack::PackArguments;
use crate::commands::plan::PlanArguments;
use crate::commands::replay::ReplayArguments;
use crate::commands::run::RunArguments;
use crate::commands::shell::{CompletionsArguments, ManArguments};
use crate::commands::show::ShowArguments;
use crate::commands::skills::SkillsArguments;
use crate::commands::state::StateArguments;
use crate::commands::undo::UndoArguments;
use crate::commands::validate::ValidateArguments;
use crate::commands::verify::VerifyArguments;
use crate::selection::Path;
use clap::{Args, CommandFactory, Parser, Subcommand};
use std::path::PathBuf;

/// The whole shape: what is declared below, and the opposite of every flag.
pub(crate) fn command() -> clap::Command {
    crate::pairs::with_opposites(Arguments::command())
}

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
    /// Print what this program is, in one paragraph
    #[arg(long, global = true)]
    pub(crate) brief: bool,
    /// Confirm a call that destroys something or grants something
    #[arg(long, global = true)]
    pub(crate) yes: bool,
    /// Say what would be done, and do nothing
    #[arg(long, global = true)]
    pub(crate) dry_run: bool,
    /// Print nothing on standard error but errors
    #[arg(long, global = true)]
    pub(crate) quiet: bool,
    /// Keep only these fields of the result, or of its items; may be repeated
    #[arg(long, global = true, value_name = "NAME", value_delimiter = ',')]
    pub(crate) fields: Vec<String>,
    /// Print only the value at this path of the result, as items[0].id
    #[arg(long, global = true, value_name = "PATH")]
    pub(crate) query: Option<Path>,
    /// Replace control, zero-width and bidirectional characters in the answer
    #[arg(long, global = true)]
    pub(crate) sanitize: bool,
    /// Replace mail addresses, telephone and card numbers and credentials in the answer
    #[arg(long, global = true)]
    pub(crate) redact: bool,
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
    /// List packages by their front matter
    Catalog(CatalogArguments),
    /// Find commands by what they do
    ///
    /// Other forms of a word, common synonyms and misspellings are found too; each result says why it was found.
    Find(FindArguments),
    /// Show a package's APP.md, and its skills
    Show(ShowArguments),
    /// Show the contract of a package's commands
    Meta(MetaArguments),
    /// Show calls of a package's commands
    Examples(ExamplesArguments),
    /// Explain an error code of the host, of check, or of a package
    ExplainError(ExplainErrorArguments),
    /// Install a package: copy it, and pin it to its digest
    ///
    /// What it asks for beyond its own state must be granted with --grant or --yes. installed:SLUG then names it wherever a
    /// package is named, and so does SLUG where no file or folder has that name.
    Install(InstallArguments),
    /// List the installed packages
    List(ListArguments),
    /// Replace an installed package by another version of it
    ///
    /// Refused if it asks for more than was granted, until that is granted too. Its state stays.
    Update(InstallArguments),
    /// Remove an installed package and its launcher; its state stays
    Remove(RemoveArguments),
    /// Write a package as one file, which can be used wherever its folder can
    ///
    /// The package must pass its check. The file is a tar archive; its bytes follow from the names and contents of the files
    /// alone.
    Pack(PackArguments),
    /// Make a new package that runs and passes its check
    Init(InitArguments),
    /// List what hutch teaches about itself, or show one skill
    Skills(SkillsArguments),
    /// Record and follow feedback, on this machine
    #[command(subcommand)]
    Issue(IssueCommand),
    /// Print the completions for a shell
    Completions(CompletionsArguments),
    /// Print a manual page
    Man(ManArguments),
    /// Check that this machine and the home are fit
    Doctor,
    /// Test a command line against the 98 rules of agent-friendly command lines
    ///
    /// A package is called in the sandbox on a throw-away state, destructive commands included; nothing is kept. A native
    /// program is not sandboxed: only calls that should change nothing are made.
    Certify(CertifyArguments),
    /// Compile a component from standard input to standard output, for hutch itself
    #[command(hide = true)]
    CompileComponent,
}

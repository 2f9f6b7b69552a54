//! The command line's shape: what every command takes, and the list of commands. Each command's own arguments stand in its file
//! below `commands`; doc comments are the help texts.

use crate::commands::apply::ApplyArguments;
use crate::commands::catalog::CatalogArguments;
use crate::commands::certify::CertifyArguments;
use crate::commands::check::CheckArguments;
use crate::commands::compile::CompileArguments;
use crate::commands::dev::DevArguments;
use crate::commands::examples::ExamplesArguments;
use crate::commands::explain_error::ExplainErrorArguments;
use crate::commands::export::ExportArguments;
use crate::commands::find::FindArguments;
use crate::commands::gc::GcArguments;
use crate::commands::index::IndexCommand;
use crate::commands::init::InitArguments;
use crate::commands::install::{InstallArguments, ListArguments, RemoveArguments};
use crate::commands::instances::InstanceCommand;
use crate::commands::issue::IssueCommand;
use crate::commands::key::KeyCommand;
use crate::commands::ledger::LedgerArguments;
use crate::commands::lock::{LockArguments, SyncArguments};
use crate::commands::map::MapArguments;
use crate::commands::mcp::McpArguments;
use crate::commands::meta::MetaArguments;
use crate::commands::pack::PackArguments;
use crate::commands::plan::PlanArguments;
use crate::commands::pull::PullArguments;
use crate::commands::push::PushArguments;
use crate::commands::replay::ReplayArguments;
use crate::commands::run::RunArguments;
use crate::commands::serve::ServeArguments;
use crate::commands::shell::{CompletionsArguments, ManArguments};
use crate::commands::show::ShowArguments;
use crate::commands::sign::{SignArguments, SignaturesArguments};
use crate::commands::skills::SkillsArguments;
use crate::commands::state::StateArguments;
use crate::commands::trust::TrustCommand;
use crate::commands::undo::UndoArguments;
use crate::commands::validate::ValidateArguments;
use crate::commands::verify::VerifyArguments;
use crate::line::CallLine;
use crate::ring::Ring;
use crate::selection::Path;
use clap::{Args, CommandFactory, Parser, Subcommand};
use hutch_model::limits::Unit;
use std::path::PathBuf;
use std::time::Duration;

/// The whole shape: what is declared below, and the opposite of every flag.
pub(crate) fn command() -> clap::Command {
    crate::pairs::with_opposites(Arguments::command())
}

/// Runs Agent Applications whose payload is one WebAssembly component: untrusted, portable, deterministic.
#[derive(Debug, Parser)]
#[command(
    name = "hutch",
    version,
    propagate_version = true,
    disable_help_subcommand = true,
    subcommand_required = true
)]
pub(crate) struct Arguments {
    #[command(flatten)]
    pub(crate) global: Global,
    #[command(subcommand)]
    pub(crate) command: Command,
}

/// What every command takes.
#[derive(Debug, Clone, Args)]
pub(crate) struct Global {
    /// Answer in JSON, the default
    #[arg(long, global = true, conflicts_with = "human")]
    pub(crate) agent: bool,
    /// Answer in text
    #[arg(long, global = true)]
    pub(crate) human: bool,
    /// Print what this is
    #[arg(long, global = true)]
    pub(crate) brief: bool,
    /// Confirm what destroys or grants
    #[arg(long, global = true)]
    pub(crate) yes: bool,
    /// Say what would be done
    #[arg(long, global = true)]
    pub(crate) dry_run: bool,
    /// Only errors on standard error
    #[arg(long, global = true)]
    pub(crate) quiet: bool,
    /// Say what takes long
    #[arg(long, global = true)]
    pub(crate) progress: bool,
    /// Keep these fields
    #[arg(long, global = true, value_name = "NAME", value_delimiter = ',')]
    pub(crate) fields: Vec<String>,
    /// Print one value, as items[0].id
    #[arg(long, global = true, value_name = "PATH")]
    pub(crate) query: Option<Path>,
    /// Replace hidden characters
    #[arg(long, global = true)]
    pub(crate) sanitize: bool,
    /// Replace personal data and secrets
    #[arg(long, global = true)]
    pub(crate) redact: bool,
    /// Longest wait for input or a lock
    #[arg(long, global = true, value_name = "DURATION", default_value = "10s", value_parser = parse_wait)]
    pub(crate) wait: Duration,
    /// Home folder; else HUTCH_HOME
    #[arg(long, global = true, value_name = "DIR")]
    pub(crate) home: Option<PathBuf>,
    /// Rings around a run
    #[arg(long, global = true, value_name = "WHEN")]
    pub(crate) ring: Option<Ring>,
    /// The line itself, for calls that mend it.
    #[arg(skip)]
    pub(crate) line: CallLine,
}

/// The shape of a line that names no command, or this one: all that reading such a line needs. Making the shape of every command
/// takes longer than most calls do. `None` for a name that is not known here; [`command`] is right for every line.
pub(crate) fn command_for(name: Option<&str>) -> Option<clap::Command> {
    let all = clap::Command::new("hutch").version(env!("CARGO_PKG_VERSION")).propagate_version(true);
    let all = Global::augment_args(all.disable_help_subcommand(true).subcommand_required(true));
    let all = match name {
        Some(name) => all.subcommand(shape(name)?),
        None => all,
    };
    Some(crate::pairs::with_opposites(all))
}

fn shape(name: &str) -> Option<clap::Command> {
    let command = clap::Command::new(name.to_owned());
    Some(match name {
        "run" => RunArguments::augment_args(command),
        "validate" => ValidateArguments::augment_args(command),
        "plan" => PlanArguments::augment_args(command),
        "apply" => ApplyArguments::augment_args(command),
        "undo" => UndoArguments::augment_args(command),
        "replay" => ReplayArguments::augment_args(command),
        "verify" => VerifyArguments::augment_args(command),
        "map" => MapArguments::augment_args(command),
        "ledger" => LedgerArguments::augment_args(command),
        "state" => StateArguments::augment_args(command),
        "instance" => InstanceCommand::augment_subcommands(command).subcommand_required(true),
        "gc" => GcArguments::augment_args(command),
        "check" => CheckArguments::augment_args(command),
        "catalog" => CatalogArguments::augment_args(command),
        "find" => FindArguments::augment_args(command),
        "index" => IndexCommand::augment_subcommands(command).subcommand_required(true),
        "show" => ShowArguments::augment_args(command),
        "meta" => MetaArguments::augment_args(command),
        "examples" => ExamplesArguments::augment_args(command),
        "explain-error" => ExplainErrorArguments::augment_args(command),
        "install" | "update" => InstallArguments::augment_args(command),
        "list" => ListArguments::augment_args(command),
        "lock" => LockArguments::augment_args(command),
        "sync" => SyncArguments::augment_args(command),
        "remove" => RemoveArguments::augment_args(command),
        "dev" => DevArguments::augment_args(command),
        "init" => InitArguments::augment_args(command),
        "skills" => SkillsArguments::augment_args(command),
        "issue" => IssueCommand::augment_subcommands(command).subcommand_required(true),
        "completions" => CompletionsArguments::augment_args(command),
        "man" => ManArguments::augment_args(command),
        "certify" => CertifyArguments::augment_args(command),
        "push" => PushArguments::augment_args(command),
        "pull" => PullArguments::augment_args(command),
        "trust" => TrustCommand::augment_subcommands(command).subcommand_required(true),
        "key" => KeyCommand::augment_subcommands(command).subcommand_required(true),
        "sign" | "attest" => SignArguments::augment_args(command),
        "signatures" => SignaturesArguments::augment_args(command),
        "pack" => PackArguments::augment_args(command),
        "compile" => CompileArguments::augment_args(command),
        "export" => ExportArguments::augment_args(command),
        "mcp" => McpArguments::augment_args(command),
        "serve" => ServeArguments::augment_args(command),
        "doctor" | "compile-component" => command,
        _ => return None,
    })
}

/// The longest that `--wait` takes.
const WAIT_MAX: Duration = Duration::from_secs(24 * 60 * 60);

fn parse_wait(text: &str) -> Result<Duration, String> {
    let wait = Unit::Milliseconds.parse(text).map(Duration::from_millis).filter(|wait| *wait <= WAIT_MAX);
    wait.ok_or_else(|| format!("expected {} of at most 24h", Unit::Milliseconds.expected()))
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Run a package's command
    ///
    /// The guest's output and exit status come through unchanged. Its state is kept if it exits with 0 and keeps the contract, and
    /// else dropped. Everything after PACKAGE is the guest's.
    Run(Box<RunArguments>),
    /// Check a call, and run nothing
    Validate(Box<ValidateArguments>),
    /// Show what a run would do
    ///
    /// The guest runs on the current state; only the record is kept. Takes what run takes.
    Plan(Box<PlanArguments>),
    /// Commit a plan
    ///
    /// The guest runs again and must come to the same. A command that asks for a confirmation needs --yes here as in a run.
    Apply(ApplyArguments),
    /// Take back changes
    Undo(UndoArguments),
    /// Make a recorded call again
    Replay(ReplayArguments),
    /// Re-execute calls, and compare
    Verify(VerifyArguments),
    /// Make many calls, and keep nothing
    ///
    /// Each line is {"id":"1","arguments":["list"]}, stdin beside them, and is answered by a line, in order. A call's seed follows from
    /// --seed and its id, so shards, threads, retries and machines come to the same lines. A call that fails is a line too.
    Map(Box<MapArguments>),
    /// Look up what was asked for and what came of it
    Ledger(LedgerArguments),
    /// Look inside volumes, and carry them in and out
    State(StateArguments),
    /// List, copy, rename and purge instances
    #[command(subcommand)]
    Instance(InstanceCommand),
    /// Drop old states
    Gc(GcArguments),
    /// Check a package
    Check(CheckArguments),
    /// List packages by front matter
    Catalog(CatalogArguments),
    /// Find commands by what they do
    ///
    /// Other forms of a word, common synonyms and misspellings are found too; each result says why it was found.
    Find(FindArguments),
    /// Make a catalogue
    #[command(subcommand)]
    Index(IndexCommand),
    /// Show a package's APP.md and skills
    Show(ShowArguments),
    /// Show a package's contract
    Meta(MetaArguments),
    /// Serve packages over MCP
    ///
    /// On standard input and output, until the client closes one. Without a package: hutch's own commands, as that protocol describes
    /// tools.
    Mcp(McpArguments),
    /// Serve packages over HTTP
    ///
    /// On this machine alone unless --listen says otherwise, until SIGTERM. Callers send a token of the token file as Authorization:
    /// Bearer TOKEN. What is asked for is answered as by the command of the same name.
    Serve(ServeArguments),
    /// Show a package's example calls
    Examples(ExamplesArguments),
    /// Explain an error code
    ExplainError(ExplainErrorArguments),
    /// Install a package
    ///
    /// It is copied, and pinned to its digest. What it asks for beyond its own state must be granted with --grant or --yes. installed:SLUG then names it wherever a
    /// package is named, and so does SLUG where no file or folder has that name.
    Install(InstallArguments),
    /// List installed packages
    List(ListArguments),
    /// Update an installed package
    ///
    /// Refused if it asks for more than was granted, until that is granted too. Its state stays.
    Update(InstallArguments),
    /// Remove an installed package
    ///
    /// And its launcher. Its state stays.
    Remove(RemoveArguments),
    /// Write hutch.lock
    ///
    /// Which packages are installed: of each where from, the digest, what it asks for and who signed it. The same packages are the same
    /// bytes, for version control; paths below the file's folder are written from there.
    Lock(LockArguments),
    /// Install what hutch.lock says
    ///
    /// What is not installed as locked is had from its source and must be the same by every digest. A lock grants nothing: what a package
    /// asks for is granted with --yes. Installed packages that the file does not name are left, and said.
    Sync(SyncArguments),
    /// Write a package as one file
    ///
    /// It can be used wherever the package's folder can. The package must pass its check. The file is a tar archive; its bytes follow from the names and contents of the files
    /// alone.
    Pack(PackArguments),
    /// Push a package to a registry
    ///
    /// Everything but the component is in the artifact's config, so that other programs find a component alone. The digests follow
    /// from the package, and --dry-run says them without asking anybody. A tag that names something else is left alone.
    Push(PushArguments),
    /// Pull a package from a registry
    ///
    /// It comes as one file. Everything is held against the digests that name it; nothing is written before it is whole.
    Pull(PullArguments),
    /// Make keys that sign packages
    #[command(subcommand)]
    Key(KeyCommand),
    /// Say whom to believe about packages
    #[command(subcommand)]
    Trust(TrustCommand),
    /// Sign a package
    ///
    /// The signature (a Sigstore bundle) is about the package's manifest in any registry and about its packed file. It is kept in the
    /// registry, or in a file SLUG-VERSION.tar.sigstore.json.
    Sign(SignArguments),
    /// Sign how a package was built
    ///
    /// What the record of its build says (app.wasm.provenance.json beside the component), as SLSA provenance. It is kept as a signature is,
    /// in a file SLUG-VERSION.tar.provenance.sigstore.json, and is worth the word of the key's holder.
    Attest(SignArguments),
    /// Check a package's signatures
    ///
    /// By the keys that are named alone; nobody is asked whom to believe. A broken signature is an error, whatever else there is.
    Signatures(SignaturesArguments),
    /// Compile packages ahead
    ///
    /// Or one for another machine, into a file. What is compiled for this machine is kept in the cache folder. A file holds the engine's artifact, for programs that are built
    /// with hutch's engine of the same build key: no hutch reads one, because nobody can tell what machine code does.
    Compile(CompileArguments),
    /// Export an app as one file
    ///
    /// The package and its compiled code, for hutch-edge, which has no compiler; with --executable behind that program, so that the file is
    /// the application. Its bytes follow from package, target and program. Who runs it believes who made it: nobody can tell what machine code does.
    Export(ExportArguments),
    /// Make a new package
    ///
    /// It runs, and passes its check.
    Init(InitArguments),
    /// Build and try a package
    ///
    /// Each round builds it with COMMAND, checks it, makes the calls that its contract shows on a state that is thrown away, and says
    /// what is other than in the round before. COMMAND is no package's: what builds one stands behind -- alone.
    Dev(DevArguments),
    /// Show what hutch teaches
    Skills(SkillsArguments),
    /// Record and follow feedback, on this machine
    #[command(subcommand)]
    Issue(IssueCommand),
    /// Print a shell's completions
    Completions(CompletionsArguments),
    /// Print a manual page
    ///
    /// To read it: hutch man | man -l -
    Man(ManArguments),
    /// Check machine and home
    Doctor,
    /// Hold a command line to 98 rules
    ///
    /// A package is called in the sandbox on a throw-away state, destructive commands included; nothing is kept. A native
    /// program is not sandboxed: only calls that should change nothing are made.
    Certify(CertifyArguments),
    /// Compile a component from standard input to standard output, for hutch itself
    #[command(hide = true)]
    CompileComponent,
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What decides how a line is read: everything about every parameter, here and below, but its place in a text for people.
    fn parameters(command: &clap::Command, path: &str, found: &mut Vec<String>) {
        found.push(format!("{path}: {}", command.is_subcommand_required_set()));
        for argument in command.get_arguments() {
            let told = match argument.get_action() {
                clap::ArgAction::Help => "help".to_owned(),
                _ => format!("{:?}", argument.clone().display_order(0)),
            };
            found.push(format!("{path}: {told}"));
        }
        for inner in command.get_subcommands() {
            parameters(inner, &format!("{path} {}", inner.get_name()), found);
        }
    }

    #[test]
    fn a_line_is_read_alike_by_the_shape_of_its_command_and_by_that_of_all() {
        let mut all = command();
        all.build();
        let names: Vec<&str> = all.get_subcommands().map(clap::Command::get_name).collect();
        assert!(names.len() > 25, "{names:?}");
        for name in &names {
            let mut alone = command_for(Some(name)).unwrap_or_else(|| panic!("{name} is not known"));
            alone.build();
            let (mut expected, mut found) = (Vec::new(), Vec::new());
            parameters(all.find_subcommand(name).unwrap(), name, &mut expected);
            parameters(alone.find_subcommand(name).unwrap(), name, &mut found);
            let differ = expected.iter().zip(&found).find(|(expected, found)| expected != found);
            assert_eq!((differ, found.len()), (None, expected.len()));
        }
        let own = |command: &clap::Command| {
            let mut found = Vec::new();
            let others: Vec<String> = names.iter().map(|name| format!("hutch {name}")).collect();
            parameters(command, "hutch", &mut found);
            found.retain(|told| !others.iter().any(|other| told.starts_with(other)));
            found
        };
        let mut alone = command_for(None).unwrap();
        alone.build();
        assert_eq!(own(&alone), own(&all));
        assert!(command_for(Some("frobnicate")).is_none());
    }
}

//! The list of commands: what each is called, takes and needs, and what carries it out. Each command's own arguments stand in its file
//! below `commands`, which know nothing of this list.

use crate::answer::output::Output;
use crate::commands::{
    apply, backup, catalog, certify, check, compile, dev, doctor, examples, explain_error, find, gc, index, init,
    install, instances, issue, ledger, map, mcp, meta, pack, plan, prove, push, reach, replay, run, schedule, serve,
    shell, show, sign, skills, state, trust, undo, validate, verify,
};
use crate::flags::global::Global;
use crate::line::words::Words;
use crate::machine::needs::Needs;
use crate::refusal::fault::Fault;
use clap::{Args, CommandFactory, Parser, Subcommand};
use std::process::ExitCode;

/// The whole shape: what is declared below, and the opposite of every flag.
pub(crate) fn command() -> clap::Command {
    crate::flags::pairs::with_opposites(Arguments::command())
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

/// The shape of a line that names no command, or this one: all that reading such a line needs, and saying what is wrong with it. Making
/// the shape of every command takes longer than most calls do. `None` for a name that is not known here; [`command`] is right for every line.
pub(crate) fn command_for(name: Option<&str>) -> Option<clap::Command> {
    let all = clap::Command::new("hutch").version(env!("CARGO_PKG_VERSION")).propagate_version(true);
    let all = Global::augment_args(all.disable_help_subcommand(true).subcommand_required(true));
    let all = match name {
        Some(name) => with_one(all, name)?,
        None => all,
    };
    Some(crate::flags::pairs::with_opposites(all))
}

/// The shape of the command that words name, or of all if they name none that there is.
pub(crate) fn command_of(words: &[String]) -> clap::Command {
    let named = command_for(None).and_then(|all| command_for(Some(Words::command(words, &all)?)));
    named.unwrap_or_else(command)
}

/// What holds for a line that names a home, or none, and can't be read otherwise: a preview.
pub(crate) fn global(home: Option<&str>) -> Option<Global> {
    let home = home.map(|home| format!("--home={home}"));
    let words = ["hutch".to_owned()].into_iter().chain(home).chain(["--dry-run".to_owned(), "catalog".to_owned()]);
    Some(Arguments::try_parse_from(words).ok()?.global)
}

/// One list of the commands: what each is called, takes and needs, how it is read, and what carries it out. Doc comments are the help.
macro_rules! commands {
    ($($(#[$about:meta])* $name:ident($own:ty): $word:literal, $needs:expr, |$global:pat_param, $arg:pat_param, $output:pat_param| $done:expr;)*) => {
        #[derive(Debug, Subcommand)]
        pub(crate) enum Command {
            $($(#[$about])* $name($own),)*
        }

        impl Command {
            /// What it needs before it begins.
            #[allow(unused_variables, reason = "most commands need the same whatever they are given")]
            pub(crate) fn needs(&self) -> Needs {
                match self {
                    $(Command::$name($arg) => $needs.of($word),)*
                }
            }

            /// Does it.
            pub(crate) fn carry_out(self, global: &Global, output: &Output) -> Result<ExitCode, Fault> {
                match self {
                    $(Command::$name($arg) => {
                        let ($global, $output) = (global, output);
                        $done
                    })*
                }
            }
        }

        /// The program with one of its commands alone, which is as it is among all.
        fn with_one(program: clap::Command, name: &str) -> Option<clap::Command> {
            match name {
                $($word => {
                    #[derive(Subcommand)]
                    enum One {
                        $(#[$about])* $name($own),
                    }
                    Some(One::augment_subcommands(program))
                })*
                _ => None,
            }
        }
    };
}

/// What a command takes that takes nothing but what every command does.
#[derive(Debug, Args)]
pub(crate) struct NoArguments {}

commands! {
    /// Run a package's command
    ///
    /// The guest's output and exit status come through unchanged. Its state is kept if it exits with 0 and keeps the contract.
    Run(Box<run::RunArguments>): "run", Needs::NOTHING.instances().rings(), |global, own, output| run::run(global, *own, output);
    /// Check a call
    Validate(Box<validate::ValidateArguments>): "validate", Needs::NOTHING.instances().rings(), |global, own, output| validate::validate(global, *own, output);
    /// Show what a run would do
    ///
    /// The guest runs on the current state; only the record is kept. Takes what run takes.
    Plan(Box<plan::PlanArguments>): "plan", Needs::NOTHING.instances().rings(), |global, own, output| plan::plan(global, *own, output);
    /// Commit a plan
    ///
    /// The guest runs again and must come to the same. A command that asks for a confirmation needs --yes here as in a run.
    Apply(apply::ApplyArguments): "apply", Needs::NOTHING.instances().rings(), |global, own, output| apply::apply(global, &own, output);
    /// Take back changes
    Undo(undo::UndoArguments): "undo", Needs::NOTHING.instances(), |global, own, output| undo::undo(global, &own, output);
    /// Make a recorded call again
    Replay(replay::ReplayArguments): "replay", Needs::NOTHING.instances().rings(), |global, own, output| replay::replay(global, &own, output);
    /// Re-execute calls, and compare
    ///
    /// With --chain only the hashes of entries are checked: of one instance, or of each that --heads names, which must be there and have come at
    /// least as far.
    Verify(verify::VerifyArguments): "verify", own.needs(), |global, own, output| verify::verify(global, &own, output);
    /// Prove a run, or check a proof
    ///
    /// A proof holds what an entry follows from: the run's inputs, what it read of the state, and the package. --check runs it again, needs nothing
    /// else, and ends with 0 if it comes to the same.
    Prove(Box<prove::ProveArguments>): "prove", own.needs(), |global, own, output| prove::prove(global, &own, output);
    /// Make many calls
    ///
    /// Each line is {"id":"1","arguments":["list"]}, stdin beside them, and is answered by a line, in order. A call's seed follows from
    /// --seed and its id, so shards, threads, retries and machines come to the same lines. A call that fails is a line too.
    Map(Box<map::MapArguments>): "map", Needs::NOTHING.staying().rings().long(), |global, own, output| map::map(global, *own, output);
    /// Look up what was asked for and what came of it
    Ledger(ledger::LedgerArguments): "ledger", own.needs(), |global, own, output| ledger::ledger(global, &own, output);
    /// Look inside volumes
    State(state::StateArguments): "state", Needs::NOTHING.instances().long(), |global, own, output| state::state(global, &own, output);
    /// List, copy, rename, carry and purge instances
    #[command(subcommand)]
    Instance(instances::InstanceCommand): "instance", own.needs(), |global, own, output| instances::instance(global, own, output);
    /// Schedule a call
    ///
    /// Prints what has cron or systemd make the call, and makes none itself. Which commands are meant for that APP.md says: without a call
    /// they are listed, and no other is taken.
    Schedule(Box<schedule::ScheduleArguments>): "schedule", Needs::NOTHING, |global, own, output| schedule::schedule(global, &own, output);
    /// Drop old states
    Gc(gc::GcArguments): "gc", Needs::NOTHING.instances().long(), |global, own, output| gc::gc(global, &own, output);
    /// Back up the home
    ///
    /// All instances, with ledgers, states and keys for secrets, installed packages, trust and issues, as one file that nobody else may
    /// read, while others are at work. An unchanged home is the same bytes. One instance alone goes into a file by instance export.
    Backup(backup::BackupArguments): "backup", Needs::NOTHING.of_home().long(), |global, own, output| backup::backup(global, &own, output);
    /// Restore a home
    ///
    /// Into one that is empty. All of it is looked through first, and takes its place as a whole; --dry-run reads the file alone.
    Restore(backup::RestoreArguments): "restore", Needs::NOTHING.of_home().long(), |global, own, output| backup::restore(global, &own, output);
    /// Check a package
    ///
    /// All of its problems at once, and its signatures: by the keys that are named alone, or else by those that are trusted. A broken signature is an error, whatever else there is.
    Check(check::CheckArguments): "check", own.needs(), |global, own, output| check::check(global, &own, output);
    /// List packages
    Catalog(catalog::CatalogArguments): "catalog", Needs::NOTHING.long(), |global, own, output| catalog::catalog(global, &own, output);
    /// Find commands
    ///
    /// Other forms of a word, common synonyms and misspellings are found too; each result says why it was found.
    Find(find::FindArguments): "find", Needs::NOTHING.long(), |global, own, output| find::find(global, &own, output);
    /// Make a catalogue
    ///
    /// A folder to put on a web server. Its index.json is for programs, hutch find --index among them; its pages are for people and need no script. No component is fetched
    /// from a repository, and none is run. An index that is there is replaced at once; anything else that is there is left alone.
    Index(index::IndexArguments): "index", Needs::NOTHING.long(), |global, own, output| index::index(global, &own, output);
    /// Show a package
    Show(show::ShowArguments): "show", Needs::NOTHING.long(), |global, own, output| show::show(global, &own, output);
    /// Show a contract
    Meta(meta::MetaArguments): "meta", Needs::NOTHING.asks(), |global, own, output| meta::meta(global, &own, output);
    /// Serve packages over MCP
    ///
    /// On standard input and output, until the client closes one. Without a package: all that are installed.
    Mcp(mcp::McpArguments): "mcp", Needs::NOTHING.serves(), |global, own, output| mcp::mcp(global, &own, output, command);
    /// Serve packages over HTTP
    ///
    /// On this machine alone unless --listen says otherwise, until SIGTERM. Callers send a token of the token file as Authorization:
    /// Bearer TOKEN. What is asked for is answered as by the command of the same name.
    Serve(serve::ServeArguments): "serve", Needs::NOTHING.serves(), |global, own, output| serve::serve(global, &own, output);
    /// Show example calls
    Examples(examples::ExamplesArguments): "examples", Needs::NOTHING.asks(), |global, own, output| examples::examples(global, &own, output);
    /// Explain an error code
    ExplainError(explain_error::ExplainErrorArguments): "explain-error", Needs::NOTHING.asks(), |global, own, output| explain_error::explain_error(global, &own, output);
    /// Install or update a package
    ///
    /// It is copied, and pinned to its digest. What it asks for beyond its own state must be granted with --grant or --yes. SLUG then names it wherever a package
    /// is named and no file or folder has that name, and installed:SLUG everywhere. In the place of another version it is refused while it asks for more than
    /// was granted, or changes more without a confirmation. Its state stays.
    ///
    /// Without PACKAGE: what hutch.lock names, the same by every digest. A lock grants nothing, and what it does not name is left. --lock writes one for
    /// version control: the same packages are the same bytes.
    Install(install::InstallArguments): "install", Needs::NOTHING.instances().long(), |global, own, output| install::install(global, &own, output);
    /// Remove an installed package
    ///
    /// And its launcher. Its state stays.
    Remove(install::RemoveArguments): "remove", Needs::NOTHING, |global, own, output| install::remove(global, &own, output);
    /// Pack a package
    ///
    /// It can be used wherever the package's folder can. The package must pass its check. The file is a tar archive; its bytes follow from the names and contents of the files
    /// alone. What comes from a registry is held against the digests that name it. With --compiled the file is for hutch-edge, which has no compiler, and with --executable it is the
    /// application: its bytes follow from package, target and program, and who runs it believes who made it, for nobody can tell what machine code does.
    Pack(pack::PackArguments): "pack", Needs::NOTHING.asks().long(), |global, own, output| pack::pack(global, &own, output);
    /// Push a package to a registry
    ///
    /// Everything but the component is in the artifact's config, so that other programs find a component alone. The digests follow
    /// from the package, and --dry-run says them without asking anybody. A tag that names something else is left alone.
    Push(push::PushArguments): "push", Needs::NOTHING.asks().long(), |global, own, output| push::push(global, &own, output);
    /// Say whom to believe about packages
    #[command(subcommand)]
    Trust(trust::TrustCommand): "trust", Needs::NOTHING, |global, own, output| trust::trust(global, own, output);
    /// Sign a package, or make a key
    ///
    /// The signature (a Sigstore bundle) is about the package's manifest in any registry and about its packed file. It is kept in the
    /// registry, or in a file SLUG-VERSION.tar.sigstore.json; with --build in SLUG-VERSION.tar.provenance.sigstore.json. With --output
    /// it is about files of any kind. --new-key makes a key: ECDSA on P-256, as PEM, the private one (PKCS#8, not encrypted) where only you
    /// can read it, the public one beside it with .pub behind its name. What is there is not overwritten.
    Sign(sign::SignArguments): "sign", Needs::NOTHING.asks().long(), |global, own, output| sign::sign(global, &own, output);
    /// Compile packages ahead
    ///
    /// Or for another machine, with --target, into a file each. What is compiled for this machine is kept in the cache folder. What fails keeps no other package from being compiled. A file
    /// holds the engine's artifact, for programs that are built with hutch's engine of the same build key: no hutch reads one, because nobody can tell what machine code does.
    Compile(compile::CompileArguments): "compile", Needs::NOTHING.long(), |global, own, output| compile::compile(global, &own, output);
    /// Make a new package
    ///
    /// It runs, and passes its check.
    Init(init::InitArguments): "init", Needs::NOTHING, |global, own, output| init::init(global, &own, output);
    /// Build and try a package
    ///
    /// Each round builds it with COMMAND, checks it, makes the calls that its contract shows on a state that is thrown away, and says
    /// what is other than in the round before. COMMAND is no package's: what builds one stands behind -- alone.
    Dev(dev::DevArguments): "dev", own.needs(), |global, own, output| dev::dev(global, &own, output);
    /// Show what hutch teaches
    Skills(skills::SkillsArguments): "skills", Needs::NOTHING, |_, own, output| skills::skills(&own, output);
    /// Record and follow feedback, on this machine
    #[command(subcommand)]
    Issue(issue::IssueCommand): "issue", own.needs(), |global, own, output| issue::issue(global, own, output);
    /// Print completions or a manual page
    ///
    /// To read one: hutch completions man run | man -l -
    Completions(shell::CompletionsArguments): "completions", Needs::NOTHING, |_, own, output| shell::completions(&own, output, command);
    /// Check machine and home
    Doctor(doctor::DoctorArguments): "doctor", own.needs(), |global, own, output| doctor::doctor(global, own, output);
    /// Hold a command line to 98 rules
    ///
    /// A package is called in the sandbox on a throw-away state, destructive commands included; nothing is kept. A native
    /// program is not sandboxed: only calls that should change nothing are made.
    Certify(certify::CertifyArguments): "certify", own.needs(), |global, own, output| certify::certify(global, &own, output, command);
    /// Compile a component from standard input to standard output, for hutch itself
    #[command(hide = true)]
    CompileComponent(NoArguments): "compile-component", Needs::NOTHING, |global, _, _| compile::as_child(global);
    /// Reach what a process behind rings can't, for hutch itself
    #[command(hide = true)]
    Reach(reach::ReachArguments): "reach", Needs::NOTHING, |global, own, _| reach::reach(global, &own);
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
        let names: Vec<String> = all.get_subcommands().map(|one| one.get_name().to_owned()).collect();
        assert!(names.len() > 25, "{names:?}");
        for name in &names {
            let mut alone = command_for(Some(name)).unwrap_or_else(|| panic!("{name} is not known"));
            alone.build();
            let (mut expected, mut found) = (Vec::new(), Vec::new());
            parameters(all.find_subcommand(name).unwrap(), name, &mut expected);
            parameters(alone.find_subcommand(name).unwrap(), name, &mut found);
            let differ = expected.iter().zip(&found).find(|(expected, found)| expected != found);
            assert_eq!((differ, found.len()), (None, expected.len()));
            let seen = |shape: &mut clap::Command| {
                let shape = shape.find_subcommand_mut(name).unwrap();
                (shape.is_arg_required_else_help_set(), shape.render_long_help().to_string())
            };
            assert_eq!(seen(&mut alone), seen(&mut all), "what is said of {name}");
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

    #[test]
    fn no_more_commands_are_made_than_words_name() {
        let all = command().get_subcommands().count();
        for (line, made) in [
            ("hutch run --frobnicate", 1),
            ("hutch --home run ledger lst", 1),
            ("hutch frobnicate run", all),
            ("hutch --help", all),
        ] {
            let words: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
            assert_eq!(command_of(&words).get_subcommands().count(), made, "{line}");
        }
    }
}

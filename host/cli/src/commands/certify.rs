//! `hutch certify`: a command line held to the 98 rules.

use super::open_package;
use crate::answer::output::Output;
use crate::call::asked;
use crate::flags::arguments_guard;
use crate::flags::choice::{Choice, one_of};
use crate::flags::global::Global;
use crate::machine::needs::Needs;
use crate::machine::surroundings;
use crate::package::packages::{self, Place};
use crate::refusal::fault::Fault;
use clap::Args;
use hutch::package::Package;
use hutch_certify::draw::Draws;
use hutch_certify::judge::feedback::Subject;
use hutch_certify::report::Report;
use hutch_certify::rule::{Finding, Level};
use hutch_certify::target::{Contract, Files, PackageTarget, ProcessTarget, Ring, Target, TargetError, Tested, adopt};
use hutch_model::error_code::ErrorCode;
use hutch_model::error_report::ErrorReport;
use hutch_model::invocation::Seed;
use hutch_sandbox::SealKey;
use hutch_sandbox::ring::paths;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

// What this program's own project holds for agents, and a package to try its commands on: `PROJECT_FILES` and `SAMPLE_FILES`,
// gathered when it is built.
include!(concat!(env!("OUT_DIR"), "/embedded.rs"));

#[derive(Debug, Args)]
pub(crate) struct CertifyArguments {
    /// The folder that holds APP.md, a packed file, or an installed package
    #[arg(value_name = "PACKAGE", required_unless_present_any = ["own", "program"], conflicts_with_all = ["own", "program"])]
    package: Option<PathBuf>,
    /// Test this program itself
    #[arg(long = "self", conflicts_with = "program")]
    own: bool,
    /// Test a native program, which is not sandboxed; its own leading arguments stand after --
    #[arg(long, value_name = "FILE")]
    program: Option<PathBuf>,
    /// The folder of the native program's project, with its agent folder, AGENTS.md and CHANGELOG.md
    #[arg(long, value_name = "DIR", requires = "program")]
    project: Option<PathBuf>,
    /// The level that must be reached
    #[arg(long, value_parser = one_of(LEVELS), default_value = "agent-friendly")]
    level: Level,
    /// What its calls are drawn by: a number or 64 hex digits; else random
    #[arg(long, value_name = "SEED")]
    seed: Option<Seed>,
    /// Arguments of the native program before all others
    #[arg(last = true, value_name = "ARGUMENTS", requires = "program")]
    leading: Vec<String>,
}

impl CertifyArguments {
    /// A package is called here, and what else is tested in processes of its own.
    pub(crate) fn needs(&self) -> Needs {
        if self.package.is_some() { Needs::NOTHING.rings().long() } else { Needs::NOTHING.long() }
    }
}

/// What makes the shape of all commands.
type Shape = fn() -> clap::Command;

/// The levels, from the lowest.
const LEVELS: &[Choice<Level>] = &[
    ("agent-friendly", "Every core rule", Level::Friendly),
    ("agent-ready", "Every core and recommended rule", Level::Ready),
    ("agent-native", "Every rule", Level::Native),
];

/// Commands of this program that are not tried: they would test themselves, compile what is no component, reach what nobody names, go on until they are told to end,
/// or fill an empty home, which the second call does not find any more.
const NOT_CALLED: [&str; 7] = ["certify", "compile-component", "dev", "mcp", "reach", "restore", "serve"];
/// Commands of this program whose answer is the guest's, or a text for another program.
const PASS_THROUGH: [&str; 2] = ["run", "completions"];
/// Where the package stands that commands are tried on: examples name it.
const SAMPLE: &str = "packages/todo";
/// Parameters of this program whose values are the guest's: the host judges them as the package's guard says.
const FORWARDED: [&str; 2] = ["ARGUMENTS", "stdin-text"];

/// `shape` makes the shape of all commands.
pub(crate) fn certify(
    global: &Global,
    own: &CertifyArguments,
    output: &Output,
    shape: Shape,
) -> Result<ExitCode, Fault> {
    if global.dry_run && own.program.is_some() {
        let message =
            "a native program can only be tested by starting it, and nothing keeps it from changing something";
        return Err(Fault::usage(message));
    }
    let draws = Draws(own.seed.map_or_else(surroundings::random_seed, Ok)?);
    let report = match (&own.program, &own.package, own.own) {
        (Some(program), _, _) => of_program(own, program, draws)?,
        (None, _, true) => of_self(shape, draws)?,
        (None, Some(package), false) => of_package(global, package, shape, draws)?,
        (None, None, false) => return Err(Fault::usage("name a package, --self or --program")),
    };
    let report = report.asked(own.level);
    if !report.is_reached() {
        let next = report.next_level();
        let way = next.map(|(next, rules)| format!(": {rules} rules stand in the way of {}", next.name()));
        let message = format!(
            "{} reaches the level {}, not {}{}",
            report.target,
            report.level_name(),
            report.asked.name(),
            way.unwrap_or_default()
        );
        let failure = ErrorReport::new(ErrorCode::LevelNotReached, message);
        let failure = failure.detail("report", serde_json::to_value(&report).unwrap_or_default());
        return Err(Fault::from(failure).seen_as(report.to_text()));
    }
    output.answer("certify", &report, |_| report.to_text())
}

/// The application behind the host, and beside it what the application does by itself.
fn of_package(global: &Global, path: &Path, shape: Shape, draws: Draws) -> Result<Report, Fault> {
    // What can't be opened is said as everywhere; then it is asked all that `check` asks.
    open_package(global, path, None)?;
    let (package, place) = packages::sound(global, path)?;
    let host = surroundings::host(global)?;
    let name = package.manifest().slug().to_string();
    let feedback = feedback(global, &place, &package, shape, draws)?;
    let judge = |contract| {
        let target = PackageTarget::new(&host, &package, &asked::Here, name.clone(), contract)?;
        report(&mut target.drawn(draws).held_to_schemas().with_feedback(feedback.clone()))
    };
    Ok(judge(Contract::Application)?.beside(&judge(Contract::CommandLine)?))
}

/// What becomes of an issue about a package, made by this program as a child in a home of its own that is gone afterwards.
fn feedback(
    global: &Global,
    place: &Place,
    package: &Package,
    shape: Shape,
    draws: Draws,
) -> Result<BTreeMap<&'static str, Finding>, Fault> {
    let home = home()?;
    let files = packages::path_of(global, place)?;
    // Whoever's name for it is no text has no issue about it either.
    let Some(files) = files.to_str() else { return Ok(BTreeMap::new()) };
    let version = package.manifest().version().to_string();
    let subject = Subject { slug: package.manifest().slug().as_str(), version: &version };
    let mut target = ProcessTarget::new(itself(home.path(), shape, draws)?);
    hutch_certify::feedback(&mut target, &["--package".to_owned(), files.to_owned()], &subject).map_err(refused)
}

/// This program as a child, in a home of its own that is gone afterwards.
fn of_self(shape: Shape, draws: Draws) -> Result<Report, Fault> {
    let home = home()?;
    unpack(home.path()).map_err(|error| Fault::host(format!("{}: {error}", home.path().display())))?;
    // Between calls the home is made again as it is now. Without a key of its own from the start, each would compile.
    SealKey::kept(&home.path().join(".local/share/hutch"), Some(surroundings::random_seed()?.0));
    report(&mut ProcessTarget::new(itself(home.path(), shape, draws)?))
}

/// This program, in that home.
fn itself(home: &Path, shape: Shape, draws: Draws) -> Result<Tested, Fault> {
    let program = surroundings::program().map_err(|error| Fault::host(format!("this program: {error}")))?;
    let files = PROJECT_FILES.iter().map(|(path, text)| ((*path).to_owned(), (*text).to_owned())).collect();
    let codes = ErrorCode::ALL.iter().map(|code| (code.text().to_owned(), code.exit_status()));
    Ok(Tested {
        program,
        leading: Vec::new(),
        name: "hutch".to_owned(),
        home: home.to_owned(),
        path: None,
        trusted: true,
        ring: None,
        alone: false,
        draws,
        files: Some(Files(files)),
        stored_codes: codes.collect(),
        pass_through: PASS_THROUGH.map(str::to_owned).to_vec(),
        forwarded: FORWARDED.map(str::to_owned).to_vec(),
        own_paths: parameters(&shape(), arguments_guard::is_path),
        key_files: parameters(&shape(), arguments_guard::is_key_file),
        not_called: NOT_CALLED.map(str::to_owned).to_vec(),
        samples: BTreeMap::from([("package".to_owned(), SAMPLE.to_owned())]),
        stored_description: None,
    })
}

#[expect(
    clippy::disallowed_methods,
    reason = "the caller's words are handed to a program that works in another folder"
)]
fn of_program(own: &CertifyArguments, program: &Path, draws: Draws) -> Result<Report, Fault> {
    let home = home()?;
    furnish(home.path(), draws).map_err(|error| Fault::host(format!("{}: {error}", home.path().display())))?;
    let shown = program.display().to_string();
    // A name alone is looked up in the search path; a path must hold in the other working folder too.
    let program = match program.components().count() {
        0 | 1 => program.to_owned(),
        _ => std::path::absolute(program).map_err(|error| Fault::file(program, &error))?,
    };
    let leading = own.leading.iter().map(|word| match Path::new(word).exists() {
        true => std::path::absolute(word).map_or_else(|_| word.clone(), |path| path.display().to_string()),
        false => word.clone(),
    });
    report(&mut ProcessTarget::new(Tested {
        program,
        leading: leading.collect(),
        name: shown,
        home: home.path().to_owned(),
        path: surroundings::environment_value("PATH").ok(),
        trusted: false,
        ring: ring(home.path())?,
        alone: adopt(),
        draws,
        files: own.project.as_deref().map(project_files).transpose()?,
        stored_codes: Vec::new(),
        pass_through: Vec::new(),
        forwarded: Vec::new(),
        own_paths: Vec::new(),
        key_files: Vec::new(),
        not_called: Vec::new(),
        samples: BTreeMap::new(),
        stored_description: None,
    }))
}

/// The parameters of this program of some kind.
fn parameters(command: &clap::Command, kind: fn(&clap::Arg) -> bool) -> Vec<String> {
    let own = command.get_arguments().filter(|argument| kind(argument));
    let own = own.map(|argument| arguments_guard::parameter_name(argument).trim_start_matches('-').to_owned());
    own.chain(command.get_subcommands().flat_map(|inner| parameters(inner, kind))).collect()
}

/// Writes the package that commands are tried on.
#[expect(clippy::disallowed_methods, reason = "the folder is temporary, and made for the program that is tested in it")]
fn unpack(home: &Path) -> std::io::Result<()> {
    for (path, bytes) in SAMPLE_FILES {
        let path = home.join(path);
        std::fs::create_dir_all(path.parent().unwrap_or(home))?;
        std::fs::write(path, bytes)?;
    }
    Ok(())
}

/// Writes what a native program has to lose in its home, under names that it can't know.
#[expect(clippy::disallowed_methods, reason = "the folder is temporary, and made for the program that is tested in it")]
fn furnish(home: &Path, draws: Draws) -> std::io::Result<()> {
    let folder = home.join(draws.word("folder"));
    std::fs::create_dir_all(&folder)?;
    std::fs::write(folder.join(format!(".{}", draws.word("hidden file"))), draws.word("hidden content"))?;
    std::fs::write(home.join(format!("{}.txt", draws.word("file"))), draws.word("content"))
}

/// What keeps a native program from changing anything outside of its home, where the system has it.
fn ring(home: &Path) -> Result<Option<Ring>, Fault> {
    let folder = hutch::package::open_folder(home).map_err(|error| Fault::file(home, &error))?;
    // Whoever puts it up is bound by it: a thread that ends with that tells whether it is there.
    let tried = std::thread::scope(|scope| scope.spawn(|| paths::change_only_below(&folder)).join());
    Ok(matches!(tried, Ok(Ok(())))
        .then(|| -> Ring { Box::new(move || paths::change_only_below(&folder).map_err(|error| error.to_string())) }))
}

fn home() -> Result<tempfile::TempDir, Fault> {
    tempfile::tempdir().map_err(|error| Fault::host(format!("no folder for the program to be tried in: {error}")))
}

fn report(target: &mut dyn Target) -> Result<Report, Fault> {
    hutch_certify::certify(target).map_err(refused)
}

fn refused(error: TargetError) -> Fault {
    match error {
        TargetError::Start { .. } => ErrorReport::new(ErrorCode::NotFound, error.to_string())
            .suggest("name a program that can be started")
            .into(),
        TargetError::Host(_) => Fault::host(error.to_string()),
    }
}

/// The files of a project that rules are about.
fn project_files(folder: &Path) -> Result<Files, Fault> {
    const FOLDERS: [&str; 4] = ["", "agent", "agent/rules", "agent/skills"];
    const BYTES_MAX: u64 = 1 << 20;
    let fault = |error| Fault::file(folder, &error);
    let root = hutch::package::open_folder(folder).map_err(fault)?;
    let mut files = Files::default();
    for inner in FOLDERS {
        let Ok(entries) = root.read_dir(if inner.is_empty() { "." } else { inner }) else { continue };
        for entry in entries.flatten() {
            let Ok(name) = entry.file_name().into_string() else { continue };
            let small = entry.metadata().is_ok_and(|it| it.is_file() && it.len() <= BYTES_MAX);
            if !small || !name.ends_with(".md") {
                continue;
            }
            let path = if inner.is_empty() { name } else { format!("{inner}/{name}") };
            if let Ok(text) = root.read_to_string(&path) {
                files.0.insert(path, text);
            }
        }
    }
    Ok(files)
}

//! `hutch schedule`: the commands that a package documents for scheduling, when one of them would be called, and the text that has cron
//! or systemd call it. Hosts call nothing by themselves, and a command that needs a person is given to no clock.

use super::open_package;
use crate::answer::output::Output;
use crate::answers::{ScheduleAnswer, ScheduleExport, ScheduleFile, ScheduledCommand};
use crate::call::asked;
use crate::call::invocation::{Asked, environment, mounts, parse_mount, parse_pair};
use crate::flags::global::Global;
use crate::machine::{stores, surroundings};
use crate::package::packages::{self, INSTALLED, Place};
use crate::refusal::fault::Fault;
use crate::refusal::repair;
use crate::screen::human;
use clap::{Args, ValueEnum};
use hutch::Call;
use hutch::package::Outline;
use hutch_model::contract::{Contract, ContractFile};
use hutch_model::error_code::ErrorCode;
use hutch_model::error_report::ErrorReport;
use hutch_model::instant::Instant;
use hutch_model::invocation::Seed;
use hutch_model::manifest::Scheduling;
use hutch_model::names::CommandPath;
use hutch_model::schedule::{Documented, NotExported, Scheduled, Times, documented};
use hutch_store::InstanceName;
use serde_json::json;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

#[derive(Debug, Args)]
pub(crate) struct ScheduleArguments {
    /// When, as cron writes it, in UTC: minute, hour, day, month, day of the week
    #[arg(long, value_name = "TIMES")]
    at: Option<Times>,
    /// Print what has another program make the call
    #[arg(long, value_enum, requires = "at")]
    export: Option<Export>,
    /// Show so many moments
    #[arg(long, value_name = "N", default_value_t = 3, value_parser = clap::value_parser!(u8).range(1..=100))]
    count: u8,
    /// The moment to count from; now if absent
    #[arg(long, value_name = "INSTANT")]
    now: Option<Instant>,
    /// The instance whose state the call works on
    #[arg(long, value_name = "NAME", default_value = "default")]
    instance: InstanceName,
    /// Give the call a value of the environment that it asks for; it stands in what is exported
    #[arg(long = "env", value_name = "NAME=TEXT", value_parser = parse_pair)]
    environment: Vec<(String, String)>,
    /// Grant the call a folder, as in run
    #[arg(long = "mount", value_name = "DIR:NAME[:ro|rw|rwx]", value_parser = parse_mount)]
    mounts: Vec<Asked>,
    /// A folder, a packed file, or an installed package
    #[arg(value_name = "PACKAGE")]
    package: PathBuf,
    /// The call to make; the commands that are documented for it if absent
    #[arg(value_name = "ARGUMENTS", trailing_var_arg = true, allow_hyphen_values = true)]
    arguments: Vec<String>,
}

impl ScheduleArguments {
    /// What the call is given beside its arguments, as words of `hutch run`.
    fn given(&self) -> Result<Vec<String>, Fault> {
        let environment = self.environment.iter().map(|(name, value)| Ok(("--env", format!("{name}={value}"))));
        let mounts = self.mounts.iter().map(|asked| Ok(("--mount", asked.settled()?)));
        let given = environment.chain(mounts).collect::<Result<Vec<_>, Fault>>()?;
        Ok(given.into_iter().flat_map(|(flag, value)| [flag.to_owned(), value]).collect())
    }

    /// The call, from what it begins with.
    fn words<'w>(&'w self, begin: &[&'w str], given: &'w [String], package: &'w str) -> Vec<&'w str> {
        let begin = begin.iter().copied().chain(given.iter().map(String::as_str));
        begin.chain([package]).chain(self.arguments.iter().map(String::as_str)).collect()
    }
}

/// What makes the call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Export {
    /// Lines of a crontab
    Cron,
    /// A service and its timer
    Systemd,
}

pub(crate) fn schedule(global: &Global, own: &ScheduleArguments, output: &Output) -> Result<ExitCode, Fault> {
    let (outline, place) = packages::outline(global, &own.package)?;
    let (word, known) = (place.word(), documented(outline.manifest()));
    if known.is_empty() {
        return Err(undocumented(global, &outline, &word));
    }
    let file = outline.contract()?;
    let contract = file.as_ref().map(ContractFile::contract);
    let times = match (&own.at, own.arguments.is_empty()) {
        (Some(times), false) => times,
        (None, true) => {
            let commands: Vec<_> = known.iter().map(|one| told(&outline, contract, one)).collect();
            let columns =
                [("name", "COMMAND"), ("effect", "EFFECT"), ("confirmation_required", "CONFIRMED"), ("line", "APP.MD")];
            let table = human::table(&commands.iter().map(|one| json!(one)).collect::<Vec<_>>(), &columns);
            let result = ScheduleAnswer { commands, call: None, at: None, next: Vec::new(), export: None };
            return output.answer("schedule", result, |_| table);
        }
        (Some(_), true) => return Err(Fault::usage("--at needs the call to make behind PACKAGE")),
        (None, false) => return Err(Fault::usage("a call needs --at TIMES, as --at '0 9 * * 1-5'")),
    };
    let called = called(global, own, &word)?;
    let Some(one) = known.iter().find(|one| called.as_ref() == Some(one.command)) else {
        let names: Vec<&str> = known.iter().map(|one| one.command.as_str()).collect();
        let report = ErrorReport::new(ErrorCode::NotFound, "APP.md does not document this command for scheduling");
        let report = report.suggest(format!("it documents {}", names.join(", ")));
        return Err(repair::fixed(report, global.line.elsewhere(["schedule", &word]), "lists them", "none").into());
    };
    let (given, name) = (own.given()?, own.instance.as_str());
    let begin = ["run", "--instance", name];
    let begin = if name == "default" { &begin[..1] } else { &begin };
    let named = own.words(begin, &given, &word);
    let next: Vec<Instant> = times.upcoming(own.now.unwrap_or_else(surroundings::now)).take(own.count.into()).collect();
    let unit = format!("hutch-{}-{}", outline.manifest().slug(), one.command.as_str().replace(' ', "-"));
    let export = own.export.map(|form| exported(global, own, &place, (form, times, &unit, &given))).transpose()?;
    let text = match &export {
        None => next.iter().map(Instant::to_string).collect::<Vec<_>>().join("\n"),
        Some(export) => as_text(export),
    };
    let result = ScheduleAnswer {
        commands: vec![told(&outline, contract, one)],
        call: global.line.elsewhere(named),
        at: Some(times.to_string()),
        next,
        export,
    };
    output.answer("schedule", result, |_| text)
}

/// The command of a call that nobody needs to be asked about, judged as it will be when it is made.
fn called(global: &Global, own: &ScheduleArguments, word: &str) -> Result<Option<CommandPath>, Fault> {
    let package = open_package(global, &own.package, None)?;
    let mut arguments = own.arguments.clone();
    asked::take_words_silently(&package, &mut arguments)?;
    let host = surroundings::host(global)?;
    // No guest starts: what its clock and its seed would be is nobody's question.
    let mut call = Call::new(arguments, Instant::default(), Seed([0; 32])).in_instance(own.instance.clone());
    call.environment = environment(own.environment.clone(), Vec::new())?;
    call.mounts = mounts(own.mounts.clone(), &host)?;
    let validated = host
        .validate(&package, &call)
        .map_err(|failure| repair::explain(&failure, &global.line, (&package, word), &call))?;
    match validated.confirmation {
        None => Ok(validated.command),
        Some(reason) => {
            let message = format!("{reason}, and when a schedule calls it nobody is there to give one");
            Err(Fault::new(ErrorCode::ConfirmationRequired, message).suggest("call it by hand, when the user agreed"))
        }
    }
}

/// What the package says of a command that it documents.
fn told(outline: &Outline, contract: Option<&Contract>, one: &Documented<'_>) -> ScheduledCommand {
    let name = one.command.as_str();
    let described = contract.and_then(|contract| contract.commands.iter().find(|command| command.name == name));
    let confirmed = outline.manifest().confirmation_required().contains(one.command)
        || described.is_some_and(|command| command.confirmation_required);
    ScheduledCommand {
        name: name.to_owned(),
        description: described.map(|command| command.description.clone()),
        effect: described.map(|command| command.effect),
        confirmation_required: confirmed,
        line: one.line,
    }
}

fn undocumented(global: &Global, outline: &Outline, word: &str) -> Fault {
    let message = match outline.manifest().scheduling() {
        Some(Scheduling::Supported) => "APP.md documents no command for scheduling",
        _ => "the package does not say that it supports scheduling",
    };
    let report =
        ErrorReport::new(ErrorCode::NotFound, message).suggest("call its commands yourself, when they are due");
    repair::fixed(report, global.line.elsewhere(["show", word]), "shows the text of APP.md", "none").into()
}

/// The files that have another program make a call, and what to know before they are used.
fn exported(
    global: &Global,
    own: &ScheduleArguments,
    place: &Place,
    (form, times, name, given): (Export, &Times, &str, &[String]),
) -> Result<ScheduleExport, Fault> {
    stores::none_named("a scheduled call")?;
    let utf8 = |path: &Path| {
        path.to_str().map(str::to_owned).ok_or_else(|| Fault::usage(format!("{} is not UTF-8", path.display())))
    };
    let program = surroundings::program().map_err(|error| Fault::host(format!("this program: {error}")))?;
    let program = utf8(&program)?;
    let told = surroundings::for_later(global)?;
    let package = match place {
        Place::Local { path, .. } => utf8(path)?,
        Place::Installed(pin) => format!("{INSTALLED}{}", pin.slug),
    };
    let words = own.words(&[&program, "run", "--instance", own.instance.as_str()], given, &package);
    let environment = told.iter().map(|one| (one.variable, one.value.as_str())).collect();
    let scheduled = Scheduled { name, times, environment, words };
    let refused = |error: NotExported| Fault::usage(error.to_string());
    let (form, files, notes) = match form {
        Export::Cron => {
            let text = scheduled.cron().map_err(refused)?.text;
            let notes = [
                "CRON_TZ is for all lines below it, and not every cron reads it: without it times are the machine's",
                "crontab -e takes these lines",
            ];
            ("cron", vec![("crontab".to_owned(), text)], notes)
        }
        Export::Systemd => {
            let units = scheduled.systemd().map_err(refused)?;
            let files = vec![(format!("{name}.service"), units.service), (format!("{name}.timer"), units.timer)];
            let notes = [
                "both files belong into ~/.config/systemd/user, then: systemctl --user enable --now NAME.timer",
                "loginctl enable-linger has it run while nobody is logged in",
            ];
            ("systemd", files, notes)
        }
    };
    let files = files.into_iter().map(|(name, text)| ScheduleFile { name, text }).collect();
    Ok(ScheduleExport { form, files, notes })
}

/// The same for people, to be copied: notes and names are comments in both forms.
fn as_text(export: &ScheduleExport) -> String {
    let notes = export.notes.iter().map(|note| format!("# {note}"));
    let files = export.files.iter().map(|file| format!("# {}\n{}", file.name, file.text.trim_end()));
    notes.chain(files).collect::<Vec<_>>().join("\n")
}

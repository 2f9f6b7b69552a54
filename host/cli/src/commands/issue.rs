//! `hutch issue`: feedback about this program and the packages it runs.

use crate::answer::done::Done;
use crate::answer::output::Output;
use crate::feedback::issues::{About, Issue, IssueAnswer, Issues, Kind, Status};
use crate::feedback::report_link;
use crate::flags::global::Global;
use crate::flags::selection::Page;
use crate::line::quote;
use crate::machine::needs::Needs;
use crate::machine::surroundings;
use crate::package::packages;
use crate::refusal::fault::Fault;
use crate::screen::human;
use clap::{Args, Subcommand};
use hutch::EntryName;
use hutch_model::redact;
use hutch_store::InstanceName;
use std::path::PathBuf;
use std::process::ExitCode;

/// The most characters of a message or a context.
const TEXT_CHARACTERS_MAX: usize = 10_000;

#[derive(Debug, Subcommand)]
pub(crate) enum IssueCommand {
    /// Record an issue
    Create(CreateArguments),
    /// List issues
    List(ListArguments),
    /// Show one issue
    Show(OneArguments),
    /// Say that an issue is done
    Close(OneArguments),
    /// Change an issue's status
    Transition(TransitionArguments),
}

impl IssueCommand {
    /// What it needs before it begins: only a new one may be about an entry.
    pub(crate) fn needs(&self) -> Needs {
        match self {
            IssueCommand::Create(_) => Needs::NOTHING.instances(),
            _ => Needs::NOTHING,
        }
    }
}

#[derive(Debug, Args)]
pub(crate) struct CreateArguments {
    /// What it is about
    #[arg(long = "type", value_enum)]
    kind: Kind,
    /// What is wrong or missing
    #[arg(long, value_name = "TEXT")]
    message: String,
    /// The package that it is about: its folder, its packed file, or a slug
    #[arg(long, value_name = "PACKAGE")]
    package: Option<PathBuf>,
    /// The entry of the call that it is about: last, @17 or the beginning of its hash
    #[arg(long, value_name = "ENTRY", requires = "package")]
    entry: Option<EntryName>,
    /// The instance whose entry it is
    #[arg(long, value_name = "NAME", default_value = "default", requires = "entry")]
    instance: InstanceName,
    /// What was done when it showed, as the command line; that of the entry if it is not given
    #[arg(long, value_name = "TEXT")]
    context: Option<String>,
    /// How that call ended; as the entry says if it is not given
    #[arg(long, value_name = "N")]
    exit_code: Option<u8>,
}

#[derive(Debug, Args)]
pub(crate) struct ListArguments {
    /// Only issues of this status
    #[arg(long, value_enum)]
    status: Option<Status>,
    /// Only issues of this type
    #[arg(long = "type", value_enum)]
    kind: Option<Kind>,
    #[command(flatten)]
    page: Page,
}

#[derive(Debug, Args)]
pub(crate) struct OneArguments {
    /// The issue, as is_0001
    #[arg(value_name = "ID")]
    id: String,
}

#[derive(Debug, Args)]
pub(crate) struct TransitionArguments {
    /// The issue, as is_0001
    #[arg(value_name = "ID")]
    id: String,
    /// The new status
    #[arg(long = "to", value_enum)]
    status: Status,
}

pub(crate) fn issue(global: &Global, own: IssueCommand, output: &Output) -> Result<ExitCode, Fault> {
    let issues = Issues::of(&surroundings::home(global)?);
    match own {
        IssueCommand::Create(own) => create(global, own, &issues, output),
        IssueCommand::List(own) => list(&own, &issues, output),
        IssueCommand::Show(own) => answer("issue show", &issues.get(&own.id)?, output),
        IssueCommand::Close(own) => transition(global, "issue close", &own.id, Status::Closed, &issues, output),
        IssueCommand::Transition(own) => transition(global, "issue transition", &own.id, own.status, &issues, output),
    }
}

fn create(global: &Global, own: CreateArguments, issues: &Issues, output: &Output) -> Result<ExitCode, Fault> {
    let now = surroundings::now();
    let report = Report::of(global, &own)?;
    let context = own.context.or(report.context);
    let issue = Issue {
        id: String::new(),
        kind: own.kind,
        status: Status::Open,
        message: prose("--message", own.message)?,
        version: env!("CARGO_PKG_VERSION").to_owned(),
        context: context.map(|text| prose("--context", text)).transpose()?,
        exit_code: own.exit_code.or(report.exit_code),
        package: report.about,
        report_to: report.to,
        created_at: now,
        updated_at: now,
    };
    let issue = if global.dry_run { issue } else { issues.create(issue)? };
    output.done(done(global, &issue));
    answer("issue create", &issue, output)
}

/// What a package and an entry say for an issue.
#[derive(Default)]
struct Report {
    about: Option<About>,
    context: Option<String>,
    exit_code: Option<u8>,
    to: Option<String>,
}

impl Report {
    fn of(global: &Global, own: &CreateArguments) -> Result<Report, Fault> {
        let Some(package) = &own.package else { return Ok(Report::default()) };
        // A package that is gone has its entries still.
        let outline = match packages::is_there(package) || packages::slug(package).is_none() {
            true => Some(packages::outline(global, package)?.0),
            false => packages::outline(global, package).ok().map(|found| found.0),
        };
        let slug = super::instance::slug(global, package)?;
        let manifest = outline.as_ref().map(|outline| outline.manifest());
        let to = manifest.and_then(|manifest| manifest.feedback()).map(str::to_owned);
        let Some(name) = &own.entry else {
            let version = manifest.map(|manifest| manifest.version().to_string());
            let about = About { slug: slug.to_string(), version, digest: None, instance: None, entry: None };
            return Ok(Report { about: Some(about), to, ..Report::default() });
        };
        let session = surroundings::host(global)?.open_existing(&slug, &own.instance, surroundings::now())?;
        let sealed = session.entry(name)?;
        let record = sealed.open().map_err(hutch::Failure::Entry)?.record;
        let argv = record.invocation.as_ref().map(|invocation| invocation.argv.as_slice()).unwrap_or_default();
        // The first word is the program's own name.
        let line = argv.get(1..).filter(|words| !words.is_empty()).map(|words| {
            quote::line(["hutch", "run", &record.package.slug].into_iter().chain(words.iter().map(String::as_str)))
        });
        let exit_code = record.outcome.as_ref().and_then(|outcome| outcome.ending.exit_status());
        let about = About {
            slug: slug.to_string(),
            version: record.package.version,
            digest: record.package.digest,
            instance: Some(own.instance.to_string()),
            entry: Some(sealed.hash),
        };
        // A longer line is in the entry.
        let context = line.map(|line| line.chars().take(TEXT_CHARACTERS_MAX).collect());
        Ok(Report { about: Some(about), context, exit_code, to })
    }
}

/// Credentials and personal data have no place in an issue, whoever wrote them there.
fn prose(name: &str, text: String) -> Result<String, Fault> {
    if text.trim().is_empty() || text.chars().count() > TEXT_CHARACTERS_MAX {
        return Err(Fault::usage(format!("{name}: expected a text of at most {TEXT_CHARACTERS_MAX} characters")));
    }
    Ok(redact::without_personal_data(&text).into_owned())
}

fn list(own: &ListArguments, issues: &Issues, output: &Output) -> Result<ExitCode, Fault> {
    let wanted = |issue: &Issue| {
        own.status.is_none_or(|status| issue.status == status) && own.kind.is_none_or(|kind| issue.kind == kind)
    };
    let readable = issues.all()?.into_iter().filter_map(|issue| {
        let remark = |fault: &Fault| output.remark(&format!("left out: {}", fault.report().message));
        issue.inspect_err(remark).ok()
    });
    let items: Vec<Issue> = readable.filter(wanted).collect();
    output.list("issue list", own.page.meant().of(items), &own.page, |items| {
        human::table(
            items,
            &[("id", "ID"), ("type", "TYPE"), ("status", "STATUS"), ("created_at", "CREATED"), ("message", "MESSAGE")],
        )
    })?;
    Ok(ExitCode::SUCCESS)
}

fn transition(
    global: &Global,
    command: &str,
    id: &str,
    status: Status,
    issues: &Issues,
    output: &Output,
) -> Result<ExitCode, Fault> {
    let mut issue = issues.get(id)?;
    // The same call again changes nothing, the time neither.
    if issue.status != status {
        issue.status = status;
        issue.updated_at = surroundings::now();
        if !global.dry_run {
            issues.replace(&issue)?;
            output.done(done(global, &issue));
        }
    }
    answer(command, &issue, output)
}

fn done(global: &Global, issue: &Issue) -> Done {
    Done::changed(global.line.elsewhere(["issue", "show", &issue.id]))
}

fn answer(command: &str, issue: &Issue, output: &Output) -> Result<ExitCode, Fault> {
    let told = human::sentence(&["{id} is {status}", "\nmessage: {message}", "\nreport link: {report_link}"]);
    output.answer(command, IssueAnswer { issue, report_link: report_link::of(issue) }, |value| match command {
        "issue show" => human::fields(value),
        _ => told(value),
    })
}

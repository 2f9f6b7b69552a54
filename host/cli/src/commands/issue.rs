//! `hutch issue`: feedback about this program and the packages it runs.

use crate::arguments::Global;
use crate::done::Done;
use crate::fault::Fault;
use crate::issues::{Issue, Issues, Kind, Status};
use crate::output::Output;
use crate::{human, selection::Page, surroundings};
use clap::{Args, Subcommand};
use hutch_model::redact;
use serde_json::Value;
use std::process::ExitCode;

/// The most characters of a message or a context.
const TEXT_CHARACTERS_MAX: usize = 10_000;

#[derive(Debug, Subcommand)]
pub(crate) enum IssueCommand {
    /// Record an issue
    Create(CreateArguments),
    /// List issues, the oldest first
    List(ListArguments),
    /// Show one issue
    Show(OneArguments),
    /// Close an issue
    Close(OneArguments),
    /// Give an issue another status
    Transition(TransitionArguments),
}

#[derive(Debug, Args)]
pub(crate) struct CreateArguments {
    /// What it is about
    #[arg(long = "type", value_enum)]
    kind: Kind,
    /// What is wrong or missing
    #[arg(long, value_name = "TEXT")]
    message: String,
    /// What was done when it showed, as the command line
    #[arg(long, value_name = "TEXT")]
    context: Option<String>,
    /// How that call ended
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

pub(super) fn issue(global: &Global, own: IssueCommand, output: &Output) -> Result<ExitCode, Fault> {
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
    let issue = Issue {
        id: String::new(),
        kind: own.kind,
        status: Status::Open,
        message: prose("--message", own.message)?,
        version: env!("CARGO_PKG_VERSION").to_owned(),
        context: own.context.map(|text| prose("--context", text)).transpose()?,
        exit_code: own.exit_code,
        created_at: now,
        updated_at: now,
    };
    let issue = if global.dry_run { issue } else { issues.create(issue)? };
    output.done(done(global, &issue));
    answer("issue create", &issue, output)
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
    let items = readable.filter(wanted).map(|issue| serde_json::to_value(issue).unwrap_or_default());
    output.list("issue list", own.page.of(items.collect()), &own.page, |items| {
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
    let value = serde_json::to_value(issue).unwrap_or(Value::Null);
    output.answer(command, value, human::fields)?;
    Ok(ExitCode::SUCCESS)
}

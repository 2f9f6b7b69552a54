//! `hutch skills`: what this program teaches an agent about itself.

use crate::answer::output::Output;
use crate::answers::SkillAnswer;
use crate::flags::selection::Page;
use crate::refusal::fault::Fault;
use crate::screen::human;
use clap::Args;
use hutch_documents::agent;
use hutch_model::error_code::ErrorCode;
use hutch_model::error_report::ErrorReport;
use serde_json::Value;
use std::process::ExitCode;

#[derive(Debug, Args)]
pub(crate) struct SkillsArguments {
    /// The skill to show whole; all are listed if absent
    #[arg(value_name = "NAME")]
    name: Option<String>,
    #[command(flatten)]
    page: Page,
}

pub(crate) fn skills(own: &SkillsArguments, output: &Output) -> Result<ExitCode, Fault> {
    match &own.name {
        None => {
            let skills = agent::skills().as_array().cloned().unwrap_or_default();
            output.list("skills", own.page.meant().of(skills), &own.page, |items| {
                human::table(items, &[("name", "NAME"), ("description", "DESCRIPTION")])
            })?;
        }
        Some(name) => {
            let skill = agent::skill(name).ok_or_else(|| {
                let known = agent::skill_names().collect::<Vec<_>>().join(", ");
                let report = ErrorReport::new(ErrorCode::NotFound, format!("there is no skill {name:?}"));
                Fault::from(report.suggest(format!("skills are {known}")))
            })?;
            let (description, content) = (skill.description().to_owned(), skill.body().trim().to_owned());
            let result = SkillAnswer { name: name.clone(), description, content };
            output.answer("skills", result, |result| human::text(result.get("content").or(Some(&Value::Null))))?;
        }
    }
    Ok(ExitCode::SUCCESS)
}

//! `hutch find`: commands by what they do, the best first, each with the reason why.

use super::catalog::outlines;
use crate::arguments::Global;
use crate::fault::Fault;
use crate::output::Output;
use crate::{human, selection::Page, trust};
use clap::Args;
use hutch::find;
use serde_json::Value;
use std::path::PathBuf;
use std::process::ExitCode;

#[derive(Debug, Args)]
pub(crate) struct FindArguments {
    /// What is wanted, in any words
    #[arg(value_name = "TEXT", required = true)]
    text: Vec<String>,
    /// Search here besides the installed packages: a package, packed or not, or a folder of packages; may be repeated
    #[arg(long = "in", value_name = "DIR")]
    folders: Vec<PathBuf>,
    #[command(flatten)]
    page: Page,
}

pub(super) fn find(global: &Global, own: &FindArguments, output: &Output) -> Result<ExitCode, Fault> {
    let policy = trust::policy(global)?;
    let mut known = Vec::new();
    for (outline, place) in outlines(global, &own.folders, output)? {
        let contract = outline.contract().unwrap_or_else(|error| {
            output.remark(&format!("{} is searched by its front matter alone: {error}", place.word()));
            None
        });
        let contract = contract.as_ref().map(|file| file.contract());
        known.extend(find::commands(outline.manifest(), contract, &place.word(), trust::level(&policy, &place)));
    }
    let found = find::find(&known, &own.text.join(" "));
    let items = found.iter().map(|found| {
        let mut item = serde_json::to_value(found).unwrap_or_default();
        if let Value::Object(fields) = &mut item {
            let words = ["meta", found.command.call.as_str()].into_iter().chain(found.command.command.split(' '));
            fields.insert("meta".to_owned(), global.line.elsewhere(words).into());
        }
        item
    });
    output.list("find", own.page.of(items.collect()), &own.page, |items| {
        human::table(
            items,
            &[("call", "PACKAGE"), ("command", "COMMAND"), ("effect", "EFFECT"), ("description", "DESCRIPTION")],
        )
    })?;
    Ok(ExitCode::SUCCESS)
}

//! `hutch examples`: calls that a package shows, in the form that `run --json-input` reads.

use super::meta::wanted;
use crate::answer::output::Output;
use crate::answers::ExampleItem;
use crate::flags::global::Global;
use crate::flags::selection::Page;
use crate::line::quote;
use crate::package::packages;
use crate::refusal::fault::Fault;
use crate::screen::told::Told;
use clap::Args;
use hutch_documents::By;
use hutch_model::terminal::one_line;
use serde_json::Value;
use std::path::PathBuf;
use std::process::ExitCode;

#[derive(Debug, Args)]
pub(crate) struct ExamplesArguments {
    /// The folder that holds APP.md, a packed file, or an installed package
    #[arg(value_name = "PACKAGE")]
    package: PathBuf,
    /// The words of one command; those of all are shown if absent
    #[arg(value_name = "COMMAND")]
    command: Vec<String>,
    #[command(flatten)]
    page: Page,
}

pub(crate) fn examples(global: &Global, own: &ExamplesArguments, output: &Output) -> Result<ExitCode, Fault> {
    let (outline, place) = packages::outline(global, &own.package)?;
    let file = packages::contract(global, &own.package, &outline)?;
    let call = place.word();
    let mut items = Vec::new();
    for command in wanted(file.contract(), &own.command, &call, &global.line)? {
        items.extend(command.examples.iter().map(|example| {
            let words = ["hutch", "run", &call].into_iter().chain(example.args.iter().map(String::as_str));
            ExampleItem {
                by: By::Package,
                command: command.name.clone(),
                description: example.description.clone(),
                arguments: example.args.clone(),
                exit_status: example.exit_status,
                line: quote::line(words),
            }
        }));
    }
    output.list("examples", own.page.meant().of(items), &own.page, |items| {
        let line = |item: &Value, field: &str| item.get(field).and_then(Value::as_str).unwrap_or_default().to_owned();
        let lines =
            items.iter().map(|item| format!("# {}\n{}", one_line(&line(item, "description")), line(item, "line")));
        Told::under(format!("{}, in its own words", outline.manifest().name()), lines.collect::<Vec<_>>().join("\n"))
    })?;
    Ok(ExitCode::SUCCESS)
}

//! What the texts of an index are held to, which anybody may have written: the rules of the manifests and contracts that they are said
//! to be from, and for what becomes a word of a command line that nothing in it is hidden.

use super::{Command, Index, NotAnIndex, Package};
use hutch_model::hidden;
use hutch_model::names::CommandPath;
use hutch_model::text::Text;
use std::fmt::Display;

/// Where a text stands, as a JSON pointer.
type At<'a> = &'a dyn Fn() -> String;

/// # Errors
/// The first text that no index has that hutch writes.
pub(super) fn check(index: &Index) -> Result<(), NotAnIndex> {
    index.packages.iter().enumerate().try_for_each(|(at, one)| package(one, &|| format!("/packages/{at}")))
}

fn held<E: Display>(checked: Result<(), E>, at: impl FnOnce() -> String) -> Result<(), NotAnIndex> {
    checked.map_err(|reason| NotAnIndex::Text { at: at(), reason: reason.to_string() })
}

/// The same of each of a list.
fn each<T>(items: &[T], at: impl Fn() -> String, check: impl Fn(&T) -> Result<(), String>) -> Result<(), NotAnIndex> {
    items.iter().enumerate().try_for_each(|(number, item)| held(check(item), || format!("{}/{number}", at())))
}

fn package(package: &Package, at: At<'_>) -> Result<(), NotAnIndex> {
    let line = |text: &String| Text::LINE.check(text);
    held(Text::LINE.check(&package.name), || format!("{}/name", at()))?;
    held(Text::PARAGRAPH.check(&package.description), || format!("{}/description", at()))?;
    held(package.license.as_ref().map_or(Ok(()), line), || format!("{}/license", at()))?;
    for (field, texts) in [("tags", &package.tags), ("authors", &package.authors), ("skills", &package.skills)] {
        each(texts, || format!("{}/{field}", at()), line)?;
    }
    let grants: Vec<&str> = package.grants.iter().collect();
    each(&grants, || format!("{}/grants", at()), |grant| Text::LONG.check(grant))?;
    for (number, one) in package.commands.iter().enumerate() {
        command(one, &|| format!("{}/commands/{number}", at()))?;
    }
    for (number, release) in package.releases.iter().enumerate() {
        held(word(&release.reference), || format!("{}/releases/{number}/reference", at()))?;
        held(hidden::check(&release.manifest), || format!("{}/releases/{number}/manifest", at()))?;
    }
    Ok(())
}

fn command(command: &Command, at: At<'_>) -> Result<(), NotAnIndex> {
    held(CommandPath::parse(&command.name).map(drop), || format!("{}/name", at()))?;
    // A package without a contract says nothing of its commands.
    if !command.description.is_empty() {
        held(Text::LONG.check(&command.description), || format!("{}/description", at()))?;
    }
    for (number, parameter) in command.parameters.iter().enumerate() {
        let at = || format!("{}/parameters/{number}", at());
        held(Text::LINE.check(&parameter.name), || format!("{}/name", at()))?;
        held(Text::LONG.check(&parameter.description), || format!("{}/description", at()))?;
        held(hidden::check(parameter.default.as_deref().unwrap_or_default()), || format!("{}/default", at()))?;
        each(&parameter.choices, || format!("{}/choices", at()), |choice| hidden::check(choice))?;
    }
    for (number, example) in command.examples.iter().enumerate() {
        let at = || format!("{}/examples/{number}", at());
        held(Text::LONG.check(&example.description), || format!("{}/description", at()))?;
        each(&example.args, || format!("{}/args", at()), |word| hidden::check(word))?;
    }
    Ok(())
}

/// What is handed on to be typed.
fn word(text: &str) -> Result<(), String> {
    let unseen = hidden::hidden(text).next();
    unseen.map_or(Ok(()), |(_, c)| Err(hidden::not_allowed(c)))?;
    Text::LONG.check(text)
}

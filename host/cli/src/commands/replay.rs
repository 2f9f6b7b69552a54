//! `hutch replay`: issues a recorded invocation again, for real.

use super::instance::InstanceArguments;
use super::plan::tell;
use crate::answer::done::Done;
use crate::answer::output::Output;
use crate::call::invocation::GrantArguments;
use crate::flags::global::Global;
use crate::machine::surroundings;
use crate::package::earlier::Earlier;
use crate::refusal::fault::Fault;
use crate::refusal::repair;
use crate::screen::human;
use clap::Args;
use hutch::EntryName;
use hutch_documents::run::kept_value;
use std::process::ExitCode;

#[derive(Debug, Args)]
pub(crate) struct ReplayArguments {
    #[command(flatten)]
    given: GrantArguments,
    /// Run again on the new state, so many times, if another process changed it meanwhile
    #[arg(long, value_name = "N", default_value_t = 0)]
    retry: u32,
    #[command(flatten)]
    instance: InstanceArguments,
    /// The entry: the beginning of its hash, @ and its number, or last
    #[arg(value_name = "ENTRY")]
    entry: EntryName,
}

pub(crate) fn replay(global: &Global, own: &ReplayArguments, output: &Output) -> Result<ExitCode, Fault> {
    let (host, package, session) = own.instance.open_package(global)?;
    let grants = own.given.grants(global, &host)?;
    let mut earlier = Earlier::of(global, &package)?;
    // What can't be found is told, and written down, by what makes it again.
    let sealed = session.entry(&own.entry).ok();
    let (entry, line) = repair::pinned(&own.entry, sealed.as_ref(), &global.line);
    let maker = match &sealed {
        Some(sealed) => earlier.maker(sealed, &package)?,
        None => &package,
    };
    // The entry says which version ran.
    let session = match std::ptr::eq(maker, &package) {
        true => session,
        false => host.open(maker, &own.instance.instance, surroundings::now())?,
    };
    let replayed = host.replay(maker, &session, &entry, &grants, own.retry);
    let answer = replayed.map_err(|failure| repair::again(failure.report(), line.as_ref(), own.retry))?;
    output.done(Done::run(&answer, own.instance.show(global, &answer.entry)));
    tell("replay", &answer, kept_value(&answer, &host), output, human::fields)
}

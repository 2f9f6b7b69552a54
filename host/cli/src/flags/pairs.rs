//! `--no-x` for every `--x` that takes no value (rule I6), so that a caller can say which of the two it means. Made from the
//! command line's shape, not written down: a new flag has its opposite at once.

use crate::refusal::fault::Fault;
use clap::{Arg, ArgAction, ArgMatches, Command};

/// Adds the opposite of every boolean flag, here and below.
pub(crate) fn with_opposites(command: Command) -> Command {
    let opposites: Vec<Arg> = command
        .get_arguments()
        .filter(|argument| matches!(argument.get_action(), ArgAction::SetTrue))
        .filter_map(|argument| {
            let name = opposite(argument.get_long()?);
            Some(
                Arg::new(name.clone())
                    .long(name)
                    .action(ArgAction::SetTrue)
                    .global(argument.is_global_set())
                    .hide(true)
                    .help("The opposite, which holds without either"),
            )
        })
        .collect();
    let inner: Vec<String> = command.get_subcommands().map(|inner| inner.get_name().to_owned()).collect();
    let command = command.args(opposites);
    inner.into_iter().fold(command, |command, name| command.mut_subcommand(name, with_opposites))
}

fn opposite(long: &str) -> String {
    format!("no-{long}")
}

/// Whether the opposite of a flag is given, for a flag whose absence means something else.
pub(crate) fn is_refused(matches: &ArgMatches, long: &str) -> bool {
    matches.try_get_one::<bool>(&opposite(long)).ok().flatten().is_some_and(|given| *given)
}

/// Refuses a flag together with its opposite, at whichever level each stands: there is no order that decides.
pub(crate) fn check(command: &Command, matches: &ArgMatches) -> Result<(), Fault> {
    for argument in command.get_arguments().filter(|argument| matches!(argument.get_action(), ArgAction::SetTrue)) {
        let Some(long) = argument.get_long() else { continue };
        let given = |id: &str| matches.try_get_one::<bool>(id).ok().flatten().is_some_and(|given| *given);
        if given(argument.get_id().as_str()) && given(&opposite(long)) {
            let message = format!("--{long} can't be given together with --{}", opposite(long));
            return Err(Fault::usage(message).suggest("keep the one that you mean"));
        }
    }
    match matches.subcommand() {
        Some((name, matches)) => command.find_subcommand(name).map_or(Ok(()), |inner| check(inner, matches)),
        None => Ok(()),
    }
}

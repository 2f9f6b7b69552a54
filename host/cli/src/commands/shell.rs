//! `hutch completions`: what a shell, and `man`, read. The one is a script that asks this program while a line is typed
//! (`complete`), the other is made from the same shape as the parser. They are text whatever form
//! answers have: a shell carries out what it is given, so nothing else may ever stand there.

use crate::answer::output::Output;
use crate::refusal::fault::Fault;
use clap::Args;
use clap_complete::env::Shells;
use std::process::ExitCode;

/// The variable that says for which shell to answer.
pub(crate) const VARIABLE: &str = "HUTCH_COMPLETE";

#[derive(Debug, Args)]
pub(crate) struct CompletionsArguments {
    /// The shell, or man for a manual page
    #[arg(value_name = "SHELL", value_parser = ["bash", "elvish", "fish", "powershell", "zsh", "man"])]
    shell: String,
    /// The command whose manual page it is; the program's own if absent
    #[arg(value_name = "COMMAND")]
    command: Vec<String>,
}

/// `root` is the shape of all commands.
pub(crate) fn completions(
    own: &CompletionsArguments,
    output: &Output,
    root: fn() -> clap::Command,
) -> Result<ExitCode, Fault> {
    if own.shell == "man" {
        return man(&own.command, output, root());
    }
    if !own.command.is_empty() {
        return Err(Fault::usage("a script completes every command: name none"));
    }
    let mut script = Vec::new();
    let shells = Shells::builtins();
    let shell = shells.completer(&own.shell).ok_or_else(|| Fault::host("there is no script for it"))?;
    let written = shell.write_registration(VARIABLE, "hutch", "hutch", "hutch", &mut script);
    written.map_err(|error| Fault::host(format!("the script can't be made: {error}")))?;
    output.data(&String::from_utf8_lossy(&script))?;
    Ok(ExitCode::SUCCESS)
}

fn man(command: &[String], output: &Output, mut root: clap::Command) -> Result<ExitCode, Fault> {
    root.build();
    let mut at = &root;
    for word in command {
        at = at
            .find_subcommand(word)
            .filter(|inner| !inner.is_hide_set())
            .ok_or_else(|| Fault::usage(format!("there is no command {:?}", command.join(" "))))?;
    }
    let name = ["hutch"].into_iter().chain(command.iter().map(String::as_str)).collect::<Vec<_>>();
    let page = clap_mangen::Man::new(at.clone().bin_name(name.join(" "))).title(name.join("-"));
    let mut text = Vec::new();
    page.render(&mut text).map_err(|error| Fault::host(format!("the page can't be made: {error}")))?;
    output.data(&String::from_utf8_lossy(&text))?;
    Ok(ExitCode::SUCCESS)
}

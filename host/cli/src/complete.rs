//! What a shell asks while a line is typed: packages, instances, entries, and the commands of the package that the line names. The
//! script that asks is what `hutch completions SHELL` prints; it calls this program with `HUTCH_COMPLETE` set. Nothing is made, and
//! nothing that a package says is run: where a shell takes what it is offered for its own language, words of others are plain or
//! not offered, and what describes them has nothing that hides.

use crate::arguments;
use crate::commands::shell::VARIABLE;
use crate::flags::global::Global;
use crate::machine::surroundings;
use crate::package::packages;
use clap::builder::StyledStr;
use clap::{Arg, Command};
use clap_complete::CompleteEnv;
use clap_complete::engine::{ArgValueCompleter, CompletionCandidate, PathCompleter, ValueCompleter};
use hutch_model::contract::{Contract, Effect, Parameter};
use hutch_model::ledger::Entry;
use hutch_model::redact::without_hidden;
use hutch_store::InstanceName;
use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::path::Path;

/// The newest entries that are offered.
const ENTRIES_MAX: usize = 20;
/// The shells that quote what they put into a line; any other puts it there as it is, and carries out what stands in it.
const QUOTING: [&str; 3] = ["zsh", "fish", "elvish"];
/// The most characters of a description.
const CHARACTERS_MAX: usize = 80;

/// Answers a shell, if it is one that asks.
#[expect(clippy::disallowed_methods, reason = "the shell hands the line over as the program's own words")]
pub(crate) fn answered() -> clap::error::Result<bool> {
    if std::env::var_os(VARIABLE).is_none() {
        return Ok(false);
    }
    let folder = std::env::current_dir().ok();
    // By the time that values are found it is not there any more.
    let quotes = std::env::var(VARIABLE).is_ok_and(|shell| QUOTING.contains(&shell.as_str()));
    CompleteEnv::with_factory(|| completed(arguments::command(), quotes))
        .var(VARIABLE)
        .bin("hutch")
        .completer("hutch")
        .try_complete(std::env::args_os(), folder.as_deref())
}

/// The program's shape, with who completes what: the name of a value says what it is.
fn completed(mut command: Command, quotes: bool) -> Command {
    command.build();
    let is_guests = Line::typed().is_some_and(|line| line.package_at().is_some());
    each(command, is_guests, quotes)
}

/// The same of a command. What follows its package belongs to the guest, so that none of its own flags is offered there.
fn each(command: Command, is_guests: bool, quotes: bool) -> Command {
    let takes_words = command.get_positionals().any(Arg::is_trailing_var_arg_set);
    let command = match is_guests && takes_words {
        true => command.mut_args(|argument| if argument.is_positional() { argument } else { argument.hide(true) }),
        false => command,
    };
    let command = command.mut_args(|argument| match value_name(&argument).as_deref() {
        Some("DIR" | "FILE" | "KEYFILE" | "REF") => {
            offers(argument, |current| PathCompleter::any().complete(current), quotes)
        }
        Some("PACKAGE") => offers(argument, package, quotes),
        Some("ENTRY" | "PLAN" | "N|ENTRY") => offers(argument, entry, quotes),
        Some("ARGUMENTS") => offers(argument, word_of_guest, quotes),
        _ if argument.get_id() == "instance" => offers(argument, instance, quotes),
        _ => argument,
    });
    command.mut_subcommands(|inner| each(inner, is_guests, quotes))
}

/// The argument, whose values are these: all of them for a shell that quotes.
fn offers(argument: Arg, found: fn(&OsStr) -> Vec<CompletionCandidate>, quotes: bool) -> Arg {
    argument.add(ArgValueCompleter::new(move |current: &OsStr| {
        let mut found = found(current);
        found.retain(|candidate| quotes || is_plain(candidate.get_value()));
        found
    }))
}

/// Whether a word is one and the same in a shell's language. Where none such is offered, bash completes files by itself, and quotes them.
fn is_plain(word: &OsStr) -> bool {
    word.to_str().is_some_and(|word| word.chars().all(|c| c.is_alphanumeric() || "_-.,:/@%+=".contains(c)))
}

fn value_name(argument: &Arg) -> Option<String> {
    argument.get_value_names()?.first().map(ToString::to_string)
}

/// Installed packages, and whatever lies in folders.
fn package(current: &OsStr) -> Vec<CompletionCandidate> {
    let line = Line::typed();
    let installed = line.as_ref().and_then(|line| packages::installed(&line.global).ok()?.pins().ok());
    let slugs = installed.into_iter().flatten().filter_map(|pin| Some(pin.ok()?.slug));
    let mut found: Vec<CompletionCandidate> = slugs.map(CompletionCandidate::new).collect();
    found.retain(|candidate| begins(candidate.get_value(), current));
    found.extend(PathCompleter::any().complete(current));
    found
}

/// The instances of the package on the line.
fn instance(current: &OsStr) -> Vec<CompletionCandidate> {
    let Some(line) = Line::typed() else { return Vec::new() };
    let slug = line.package().and_then(|package| packages::slug(Path::new(package)));
    let Ok(home) = surroundings::home(&line.global) else { return Vec::new() };
    let known = hutch::instances::of(&home).unwrap_or_default();
    let known = known.into_iter().filter(|known| slug.as_ref().is_none_or(|slug| *slug == known.slug));
    // Instances of several packages may have one name.
    let names: BTreeSet<String> = known.map(|known| known.name.as_str().to_owned()).collect();
    names.into_iter().map(CompletionCandidate::new).filter(|it| begins(it.get_value(), current)).collect()
}

/// The newest entries of the package on the line, plans by name.
fn entry(current: &OsStr) -> Vec<CompletionCandidate> {
    let last = CompletionCandidate::new("last").help(Some("the last entry".into()));
    let entries = Line::typed().and_then(|line| line.entries()).unwrap_or_default();
    let entries = entries.into_iter().map(|(name, about)| CompletionCandidate::new(name).help(Some(plain(&about))));
    std::iter::once(last).chain(entries).filter(|it| begins(it.get_value(), current)).collect()
}

/// The commands and flags of the package on the line.
fn word_of_guest(current: &OsStr) -> Vec<CompletionCandidate> {
    let Some(line) = Line::typed() else { return Vec::new() };
    let (Some(contract), Some(current)) = (line.contract(), current.to_str()) else { return Vec::new() };
    let given = line.after_package();
    let called = contract.commands.iter().find(|command| {
        let words: Vec<&str> = command.name.split(' ').collect();
        given.len() >= words.len() && given.iter().zip(&words).all(|(given, word)| given == word)
    });
    let flag = |parameter: &Parameter| {
        let name = (parameter.position.is_none()).then(|| format!("--{}", parameter.name))?;
        Some(CompletionCandidate::new(name).help(Some(plain(&parameter.description))))
    };
    let mut found: Vec<CompletionCandidate> = Vec::new();
    match called {
        Some(command) => {
            let before = given.last().map(String::as_str).and_then(|word| word.strip_prefix("--")).unwrap_or_default();
            let all = || command.parameters.iter().chain(&contract.parameters);
            // After a flag that takes one of a few values, those; else its flags.
            match all().find(|it| it.position.is_none() && it.name == before && !it.choices.is_empty()) {
                Some(parameter) => found.extend(parameter.choices.iter().map(CompletionCandidate::new)),
                None => found.extend(all().filter_map(flag)),
            }
        }
        None => {
            let next = |name: &str| {
                let words: Vec<&str> = name.split(' ').collect();
                let rest = words.strip_prefix(given.iter().map(String::as_str).collect::<Vec<_>>().as_slice())?;
                rest.first().map(|word| (*word).to_owned())
            };
            for command in &contract.commands {
                let Some(word) = next(&command.name) else { continue };
                if !found.iter().any(|it| it.get_value() == OsStr::new(&word)) {
                    let effect = match command.effect {
                        Effect::Read => "reads",
                        Effect::Write => "writes",
                        Effect::Delete => "deletes",
                    };
                    found.push(
                        CompletionCandidate::new(word).help(Some(plain(&format!("{effect}: {}", command.description)))),
                    );
                }
            }
        }
    }
    found.retain(|candidate| begins(candidate.get_value(), OsStr::new(current)));
    found
}

fn begins(value: &OsStr, current: &OsStr) -> bool {
    value.as_encoded_bytes().starts_with(current.as_encoded_bytes())
}

/// A description that can stand in a terminal.
fn plain(text: &str) -> StyledStr {
    let line = text.lines().next().unwrap_or_default();
    without_hidden(line).chars().take(CHARACTERS_MAX).collect::<String>().replace('\t', " ").into()
}

/// The value of a flag, behind `=` or as the next word; bash makes a word of the `=`, too.
pub(crate) fn flag<'w>(words: &'w [String], name: &str) -> Option<&'w str> {
    words.iter().enumerate().find_map(|(at, word)| match word.strip_prefix(name)? {
        "" => words.iter().skip(at + 1).map(String::as_str).find(|word| *word != "="),
        rest => rest.strip_prefix('='),
    })
}

/// What is typed so far.
struct Line {
    words: Vec<String>,
    /// As if it named a home alone, in a preview.
    global: Global,
}

impl Line {
    #[expect(clippy::disallowed_methods, reason = "the shell hands the line over as the program's own words")]
    fn typed() -> Option<Line> {
        let words: Vec<String> = std::env::args().skip_while(|word| word != "--").skip(2).collect();
        let global = arguments::global(flag(&words, "--home"))?;
        Some(Line { words, global })
    }

    /// Where the package stands: the first word that is one, after the word of the command.
    fn package_at(&self) -> Option<usize> {
        let is_one = |word: &String| !word.starts_with('-') && packages::place(&self.global, Path::new(word)).is_ok();
        // The last word is still being typed.
        let end = self.words.len().saturating_sub(1);
        (1..end).find(|at| self.words.get(*at).is_some_and(is_one))
    }

    fn package(&self) -> Option<&str> {
        self.words.get(self.package_at()?).map(String::as_str)
    }

    /// The words after the package, without the one that is being typed.
    fn after_package(&self) -> Vec<String> {
        let from = self.package_at().map_or(self.words.len(), |at| at + 1);
        self.words.get(from..self.words.len().saturating_sub(1)).unwrap_or_default().to_vec()
    }

    /// The description that lies in the package, with the flags that `run` answers in its place; no component is asked.
    fn contract(&self) -> Option<Contract> {
        let at = self.package_at()?;
        let (outline, _) = packages::outline(&self.global, Path::new(self.words.get(at)?)).ok()?;
        let file = outline.contract().ok()??;
        let runs = self.words.iter().take(at).any(|word| word == "run");
        Some(if runs { file.contract().with_hosted() } else { file.contract().clone() })
    }

    /// The names of the newest entries, and what each is about.
    fn entries(&self) -> Option<Vec<(String, String)>> {
        let global = &self.global;
        let slug = crate::commands::instance::slug(global, Path::new(self.package()?)).ok()?;
        let instance: InstanceName = flag(&self.words, "--instance").unwrap_or("default").parse().ok()?;
        let session = surroundings::host(global).ok()?.open_existing(&slug, &instance, surroundings::now()).ok()?;
        let last = session.head().ok()?.last.sequence;
        let first = last.saturating_sub(ENTRIES_MAX as u64 - 1).max(1);
        let entries: Vec<_> = session.entries(first).filter_map(|entry| entry.ok()?.open().ok()).collect();
        let named = |entry: &Entry| {
            let sequence = entry.sequence;
            let argv = entry.record.invocation.as_ref().map(|invocation| invocation.argv.join(" ")).unwrap_or_default();
            let kind = serde_json::to_value(entry.record.kind).unwrap_or_default();
            (format!("@{sequence}"), format!("{}: {argv}", kind.as_str().unwrap_or_default()))
        };
        Some(entries.iter().rev().map(named).collect())
    }
}

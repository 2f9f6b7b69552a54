//! What was meant by a word that stands where a command does and is none: a word that other programs have for the same, a package whose
//! `run` was left out, or a command with one slip in it. What was asked for is never taken for something that does more: a line that
//! can't be read proposes to delete only to one who said so in another word.

use crate::arguments;
use crate::package::packages;
use crate::spec::facts;
use hutch_model::contract::Effect;
use std::path::Path;

/// What other programs call it, and what it is called here.
const SYNONYMS: &[(&str, &str)] = &[
    ("bundle", "pack"),
    ("call", "run"),
    ("cat", "state cat"),
    ("clean", "gc"),
    ("create", "init"),
    ("delete", "remove"),
    ("describe", "meta"),
    ("diff", "state diff"),
    ("download", "pack"),
    ("exec", "run"),
    ("execute", "run"),
    ("export", "pack"),
    ("fetch", "pack"),
    ("history", "ledger list"),
    ("info", "show"),
    ("inspect", "meta"),
    ("lint", "check"),
    ("list", "catalog"),
    ("log", "ledger list"),
    ("ls", "catalog"),
    ("man", "completions man"),
    ("new", "init"),
    ("preview", "plan"),
    ("prune", "gc"),
    ("publish", "push"),
    ("pull", "pack"),
    ("revert", "undo"),
    ("rm", "remove"),
    ("rollback", "undo"),
    ("search", "find"),
    ("signatures", "check"),
    ("status", "state status"),
    ("uninstall", "remove"),
    ("upgrade", "update"),
    ("upload", "push"),
    ("version", "--version"),
];

/// What a word was meant for.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Meant {
    /// The words that belong in its place.
    pub(crate) words: Vec<String>,
    /// How much can be lost by taking it for that.
    pub(crate) risk: &'static str,
}

impl Meant {
    fn command(words: &str) -> Meant {
        let risk = match facts::of(words).map(|facts| facts.effect) {
            Some(Effect::Delete) => "high",
            Some(Effect::Write) => "low",
            _ => "none",
        };
        Meant { words: words.split(' ').map(str::to_owned).collect(), risk }
    }
}

/// What `word` meant, which stands behind the commands at `path`, of which `known` are the next.
pub(crate) fn meant<'k>(
    path: &[&str],
    word: &str,
    known: impl Iterator<Item = &'k str>,
    home: Option<&str>,
) -> Option<Meant> {
    if path.is_empty() {
        if let Some((_, command)) = SYNONYMS.iter().find(|(other, _)| *other == word) {
            return Some(Meant::command(command));
        }
        let global = arguments::global(home);
        if global.is_some_and(|global| packages::outline(&global, Path::new(word)).is_ok()) {
            return Some(Meant { words: vec!["run".to_owned(), word.to_owned()], risk: "low" });
        }
    }
    let mut near = known.filter(|name| strsim::osa_distance(word, name) == 1 && name.len() > 2);
    let (Some(name), None) = (near.next(), near.next()) else { return None };
    let command = path.iter().copied().chain([name]).collect::<Vec<_>>().join(" ");
    let deletes = facts::of(&command).is_some_and(|facts| facts.effect == Effect::Delete);
    (!deletes).then(|| Meant { words: vec![name.to_owned()], ..Meant::command(&command) })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::spec::description::leaves;
    use std::collections::BTreeSet;

    #[test]
    fn what_others_call_it_is_no_command_here_and_leads_to_one() {
        let all = arguments::command();
        let commands: BTreeSet<String> = leaves(&all, "").into_iter().map(|(_, path)| path).collect();
        for (word, command) in SYNONYMS {
            assert!(all.find_subcommand(word).is_none(), "{word} is a command");
            let known = commands.contains(*command) || *command == "--version";
            assert!(known || commands.contains(command.split(' ').next().unwrap()), "{word}: {command} is none");
        }
        assert!(SYNONYMS.is_sorted());
    }

    #[test]
    fn a_slip_is_mended_and_never_into_something_that_deletes() {
        let all = arguments::command();
        let names = || all.get_subcommands().filter(|one| !one.is_hide_set()).map(clap::Command::get_name);
        let of = |word: &str| meant(&[], word, names(), None).map(|meant| (meant.words.join(" "), meant.risk));
        for (word, command) in [
            ("rnu", Some(("run", "low"))),
            ("chekc", Some(("check", "none"))),
            ("instal", Some(("install", "low"))),
            ("rm", Some(("remove", "high"))),
            ("log", Some(("ledger list", "none"))),
            ("remvoe", None),
            ("go", None),
            ("tag", None),
            ("frobnicate", None),
            ("hutch", None),
        ] {
            assert_eq!(of(word), command.map(|(words, risk)| (words.to_owned(), risk)), "{word}");
        }
    }
}

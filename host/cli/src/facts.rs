//! What the command line's shape does not say about a command: its effect, what it answers, how it can fail, and calls that show
//! its use. One file of data for each command; tests hold them to be complete and true.

use serde::Deserialize;
use serde_json::Value;

/// The facts about one command.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Facts {
    /// `read`, `write` or `delete`: the most that it does to anything that is kept.
    pub(crate) effect: String,
    /// Whether it takes something away for good, and so needs `--yes`.
    pub(crate) destructive: bool,
    /// Whether the same call, right after one that succeeded, succeeds and changes nothing.
    pub(crate) idempotent: bool,
    /// Whether it may reach another machine.
    #[serde(default)]
    pub(crate) network: bool,
    /// The codes that it can end with, besides those of every command.
    pub(crate) errors: Vec<String>,
    /// Calls, each on a new home.
    pub(crate) examples: Vec<Example>,
    /// JSON Schema of `result`.
    pub(crate) result: Value,
}

/// A call and how it ends.
#[derive(Debug, Deserialize, serde::Serialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Example {
    pub(crate) description: String,
    /// Calls that make what the example needs.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) before: Vec<Vec<String>>,
    /// What stands on standard input.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) stdin: Option<String>,
    pub(crate) arguments: Vec<String>,
    pub(crate) exit_status: u8,
}

/// The codes that every command can end with.
pub(crate) const COMMON_ERRORS: [&str; 5] = ["USAGE", "ARGUMENT_REFUSED", "NOT_FOUND", "HOST_FAULT", "ANSWER_LOST"];

macro_rules! table {
    ($($path:literal $file:literal;)*) => {
        const TABLE: &[(&str, &str)] = &[$(($path, include_str!(concat!("../facts/", $file, ".json")))),*];
    };
}

table! {
    "run" "run";
    "validate" "validate";
    "plan" "plan";
    "apply" "apply";
    "undo" "undo";
    "replay" "replay";
    "verify" "verify";
    "map" "map";
    "ledger list" "ledger-list";
    "ledger show" "ledger-show";
    "ledger last" "ledger-last";
    "ledger head" "ledger-head";
    "ledger export" "ledger-export";
    "ledger verify" "ledger-verify";
    "state log" "state-log";
    "state ls" "state-ls";
    "state cat" "state-cat";
    "state check" "state-check";
    "state diff" "state-diff";
    "state export" "state-export";
    "state import" "state-import";
    "state restore" "state-restore";
    "state status" "state-status";
    "state absorb" "state-absorb";
    "gc" "gc";
    "certify" "certify";
    "check" "check";
    "catalog" "catalog";
    "find" "find";
    "index build" "index-build";
    "show" "show";
    "meta" "meta";
    "mcp" "mcp";
    "serve" "serve";
    "examples" "examples";
    "skills" "skills";
    "explain-error" "explain-error";
    "install" "install";
    "list" "list";
    "update" "update";
    "remove" "remove";
    "lock" "lock";
    "sync" "sync";
    "pack" "pack";
    "key generate" "key-generate";
    "key sign" "key-sign";
    "key verify" "key-verify";
    "trust show" "trust-show";
    "trust add" "trust-add";
    "trust require" "trust-require";
    "trust remove" "trust-remove";
    "trust check" "trust-check";
    "sign" "sign";
    "attest" "attest";
    "signatures" "signatures";
    "push" "push";
    "pull" "pull";
    "compile" "compile";
    "export" "export";
    "init" "init";
    "dev" "dev";
    "instance list" "instance-list";
    "instance copy" "instance-copy";
    "instance rename" "instance-rename";
    "instance purge" "instance-purge";
    "instance export" "instance-export";
    "instance import" "instance-import";
    "issue create" "issue-create";
    "issue list" "issue-list";
    "issue show" "issue-show";
    "issue close" "issue-close";
    "issue transition" "issue-transition";
    "completions" "completions";
    "man" "man";
    "doctor" "doctor";
}

/// The facts about the command of this path, as `issue create`.
pub(crate) fn of(path: &str) -> Option<Facts> {
    let (_, text) = TABLE.iter().find(|(known, _)| *known == path)?;
    serde_json::from_str(text).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Command;
    use hutch_model::error_code::ErrorCode;
    use std::collections::BTreeSet;

    fn leaves(command: &Command, path: &str, found: &mut BTreeSet<String>) {
        for inner in command.get_subcommands().filter(|inner| !inner.is_hide_set()) {
            let path = format!("{path} {}", inner.get_name()).trim_start().to_owned();
            match inner.has_subcommands() {
                true => leaves(inner, &path, found),
                false => drop(found.insert(path)),
            }
        }
    }

    #[test]
    fn every_command_has_its_facts_and_every_fact_its_command() {
        let mut commands = BTreeSet::new();
        leaves(&crate::arguments::command(), "", &mut commands);
        let known: BTreeSet<String> = TABLE.iter().map(|(path, _)| (*path).to_owned()).collect();
        assert_eq!(commands, known);
    }

    #[test]
    fn facts_are_well_formed() {
        for (path, text) in TABLE {
            let facts: Facts = serde_json::from_str(text).unwrap_or_else(|error| panic!("{path}: {error}"));
            assert!(["read", "write", "delete"].contains(&facts.effect.as_str()), "{path}");
            assert!(facts.effect == "delete" || !facts.destructive, "{path}: only what deletes is destructive");
            assert!(facts.result.is_object(), "{path}");
            assert!(jsonschema::validator_for(&facts.result).is_ok(), "{path}");
            assert!(facts.examples.iter().any(|example| example.exit_status == 0), "{path}: an example that works");
            for code in &facts.errors {
                assert!(ErrorCode::from_text(code).is_some(), "{path}: {code}");
            }
            for example in &facts.examples {
                let words: Vec<&str> = path.split(' ').collect();
                assert!(
                    example.arguments.windows(words.len()).any(|part| part == words),
                    "{path}: {}",
                    example.description
                );
            }
        }
    }
}

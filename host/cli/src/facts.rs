//! What the command line's shape does not say about a command: its effect, what it answers, how it can fail, and calls that show
//! its use. One file of data for each command; tests hold them to be complete and true.

use crate::answers::{self, *};
use crate::issues::{Issue, IssueAnswer};
use crate::trial::Answered;
use hutch_certify::report::Report;
use hutch_documents::Listed;
use hutch_documents::ledger::{EntryAnswer, Exported, HeadAnswer, Summary};
use hutch_documents::moved::{Changed, MovedAnswer};
use hutch_documents::run::{PlanAnswer, RunAnswer};
use hutch_documents::state::{FileAnswer, ItemAnswer, StatusAnswer};
use hutch_documents::verified::VerifiedAnswer;
use schemars::JsonSchema;
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
    #[serde(skip)]
    answer: Option<Shape>,
}

impl Facts {
    /// JSON Schema of `result`, as it follows from the answer's type. Most facts are read without it.
    pub(crate) fn result(&self) -> Value {
        self.answer.map_or(Value::Bool(true), answers::schema)
    }
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

/// Each command with its answer: the words of its name are where its file lies.
macro_rules! table {
    ($($path:literal: $answer:ty;)*) => {
        const TABLE: &[(&str, &str, Shape)] =
            &[$(($path, include_str!(concat!("../facts/", $path, ".json")), <$answer>::json_schema)),*];
    };
}

table! {
    "run": RunAnswers;
    "validate": ValidateAnswer;
    "plan": PlanAnswer;
    "apply": RunAnswer;
    "undo": MovedAnswer;
    "replay": RunAnswer;
    "verify": VerifiedAnswer;
    "map": MapAnswer;
    "ledger/list": Listed<Summary>;
    "ledger/show": EntryAnswer;
    "ledger/last": EntryAnswer;
    "ledger/head": HeadAnswer;
    "ledger/export": Listed<Exported>;
    "ledger/verify": ChainAnswer;
    "state/ls": Listed<ItemAnswer>;
    "state/cat": FileAnswer;
    "state/check": StateChecked;
    "state/diff": Changed;
    "state/export": StateExported;
    "state/import": StateImported;
    "state/status": StatusAnswer;
    "schedule": ScheduleAnswer;
    "gc": GcAnswer;
    "backup": BackupAnswer;
    "restore": RestoreAnswer;
    "certify": Report;
    "check": CheckAnswer;
    "catalog": Listed<CatalogItem>;
    "find": Listed<FoundItem>;
    "index": IndexBuilt;
    "show": ShowAnswer;
    "meta": MetaAnswer;
    "mcp": ToolsAnswer;
    "serve": ServeAnswer;
    "examples": Listed<ExampleItem>;
    "skills": SkillsAnswers;
    "explain-error": ExplainAnswer;
    "install": InstallAnswer;
    "update": InstallAnswer;
    "remove": RemoveAnswer;
    "lock": LockAnswer;
    "sync": SyncAnswer;
    "pack": PackAnswer;
    "key/generate": KeyGenerated;
    "key/sign": FilesSigned;
    "key/verify": FilesVerified;
    "trust/show": TrustAnswer;
    "trust/add": TrustChanged;
    "trust/require": TrustChanged;
    "trust/remove": TrustChanged;
    "trust/check": TrustChecked;
    "sign": PackageSigned;
    "signatures": SignaturesAnswer;
    "push": PushAnswer;
    "pull": PullAnswer;
    "compile": CompileAnswer;
    "export": ExportAnswer;
    "init": InitAnswer;
    "dev": DevAnswer<Answered>;
    "instance/list": Listed<InstanceItem>;
    "instance/copy": InstanceMoved;
    "instance/rename": InstanceMoved;
    "instance/purge": InstancePurged;
    "instance/export": InstanceExported;
    "instance/import": InstanceImported;
    "issue/create": IssueAnswer;
    "issue/list": Listed<Issue>;
    "issue/show": IssueAnswer;
    "issue/close": IssueAnswer;
    "issue/transition": IssueAnswer;
    "completions": Text;
    "man": Text;
    "doctor": DoctorAnswer;
}

/// The facts about the command of this path, as `issue create`.
pub(crate) fn of(path: &str) -> Option<Facts> {
    let path = path.replace(' ', "/");
    let (_, text, answer) = TABLE.iter().find(|(known, ..)| *known == path)?;
    let facts: Facts = serde_json::from_str(text).ok()?;
    Some(Facts { answer: Some(*answer), ..facts })
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
        let known: BTreeSet<String> = TABLE.iter().map(|(path, ..)| path.replace('/', " ")).collect();
        assert_eq!(commands, known);
    }

    #[test]
    fn facts_are_well_formed() {
        for (path, text, answer) in TABLE {
            let facts: Facts = serde_json::from_str(text).unwrap_or_else(|error| panic!("{path}: {error}"));
            assert!(["read", "write", "delete"].contains(&facts.effect.as_str()), "{path}");
            assert!(facts.effect == "delete" || !facts.destructive, "{path}: only what deletes is destructive");
            let schema = answers::schema(*answer);
            assert!(schema.is_object() && jsonschema::validator_for(&schema).is_ok(), "{path}: {schema}");
            assert!(facts.examples.iter().any(|example| example.exit_status == 0), "{path}: an example that works");
            for code in &facts.errors {
                assert!(ErrorCode::from_text(code).is_some(), "{path}: {code}");
            }
            for example in &facts.examples {
                let words: Vec<&str> = path.split('/').collect();
                assert!(
                    example.arguments.windows(words.len()).any(|part| part == words),
                    "{path}: {}",
                    example.description
                );
            }
        }
    }
}

//! What the command line's shape does not say about a command: its effect, what it answers and how it can fail, one line of a table for
//! each, and calls that show its use (`examples.json`). Tests hold both to be complete and true.

use crate::answers::{self, *};
use crate::call::trial::Answered;
use crate::feedback::issues::{Issue, IssueAnswer};
use ErrorCode::*;
use hutch_certify::report::Report;
use hutch_documents::ledger::{Entries, EntryAnswer};
use hutch_documents::moved::MovedAnswer;
use hutch_documents::run::{PlanAnswer, RunAnswer};
use hutch_documents::state::{DiffAnswer, PathAnswer};
use hutch_documents::{Listed, Noted};
use hutch_model::contract::Effect;
use hutch_model::error_code::ErrorCode;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::LazyLock;

/// The facts about one command.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Facts {
    /// The most that it does to anything that is kept. What it deletes is gone for good, and needs `--yes`.
    pub(crate) effect: Effect,
    /// Whether the same call, right after one that succeeded, succeeds and changes nothing.
    pub(crate) is_idempotent: bool,
    /// Whether it may reach another machine.
    pub(crate) is_networked: bool,
    errors: &'static [&'static [ErrorCode]],
    answer: Shape,
}

const fn facts<A: JsonSchema>(effect: Effect, errors: &'static [&'static [ErrorCode]]) -> Facts {
    let is_idempotent = matches!(effect, Effect::Read);
    Facts { effect, is_idempotent, is_networked: false, errors, answer: A::json_schema }
}

const fn reads<A: JsonSchema>(errors: &'static [&'static [ErrorCode]]) -> Facts {
    facts::<A>(Effect::Read, errors)
}

const fn writes<A: JsonSchema>(errors: &'static [&'static [ErrorCode]]) -> Facts {
    facts::<A>(Effect::Write, errors)
}

const fn deletes<A: JsonSchema>(errors: &'static [&'static [ErrorCode]]) -> Facts {
    facts::<A>(Effect::Delete, errors)
}

impl Facts {
    const fn idempotent(self) -> Facts {
        Facts { is_idempotent: true, ..self }
    }

    const fn networked(self) -> Facts {
        Facts { is_networked: true, ..self }
    }

    /// The codes that it can end with.
    pub(crate) fn errors(&self) -> BTreeSet<ErrorCode> {
        self.errors.iter().copied().flatten().chain(EVERYWHERE).copied().collect()
    }

    /// JSON Schema of `result`, as it follows from the answer's type.
    pub(crate) fn result(&self) -> Value {
        answers::schema(self.answer)
    }
}

/// A call and how it ends, on a new home.
#[derive(Debug, Deserialize, Serialize)]
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
    #[serde(skip_serializing_if = "is_well")]
    pub(crate) exit_status: u8,
}

fn is_well(status: &u8) -> bool {
    *status == 0
}

/// Whether a word stands for a code: its own text, or how it begins or ends, and a `*` for the rest.
pub(crate) fn stands_for(word: &str, code: &str) -> bool {
    match (word.strip_prefix('*'), word.strip_suffix('*')) {
        (Some(end), _) => code.ends_with(end),
        (_, Some(begin)) => code.starts_with(begin),
        _ => word == code,
    }
}

/// How many codes are worth a word that stands for all of them.
const ALIKE_MIN: usize = 3;

/// Codes in few words: where all codes that end or begin alike are among them, `*_LIMIT` or `PACKAGE_*` stands for these.
pub(crate) fn in_few_words(codes: &BTreeSet<ErrorCode>) -> BTreeSet<String> {
    let mut left: BTreeSet<&str> = codes.iter().map(|code| code.text()).collect();
    let ends = ErrorCode::ALL.iter().filter_map(|code| Some(format!("*_{}", code.text().rsplit_once('_')?.1)));
    let begins = ErrorCode::ALL.iter().filter_map(|code| Some(format!("{}_*", code.text().split_once('_')?.0)));
    let mut words: BTreeSet<String> = ends.chain(begins).collect();
    words.retain(|word| {
        let alike: Vec<_> = ErrorCode::ALL.iter().filter(|code| stands_for(word, code.text())).collect();
        let saves = left.iter().filter(|code| stands_for(word, code)).count() > 1;
        let holds = saves && alike.len() >= ALIKE_MIN && alike.iter().all(|code| codes.contains(code));
        left.retain(|code| !holds || !stands_for(word, code));
        holds
    });
    words.extend(left.into_iter().map(str::to_owned));
    words
}

/// What every command can end with.
const EVERYWHERE: &[ErrorCode] = &[Usage, ArgumentRefused, NotFound, HostFault, AnswerLost];
/// What reads the home.
const KEPT: &[ErrorCode] = &[PermissionDenied, StoreDamaged];
/// What writes a file.
const FILES: &[ErrorCode] = &[AlreadyExists, PermissionDenied];
/// What opens a package;
const PACKAGE: &[ErrorCode] = &[PackageChanged, PackageInvalid, PackageNotFound, PermissionDenied, StoreDamaged];
/// asks whether it is believed;
const JUDGED: &[ErrorCode] = &[SignatureInvalid, TrustRequired];
/// looks at its component;
const COMPONENT: &[ErrorCode] = &[ComponentInvalid, EntryUnsupported];
/// compiles it.
const COMPILED: &[ErrorCode] = &[CompileTimeLimit, ComponentLimit];
/// What opens an instance;
const INSTANCE: &[ErrorCode] = &[InstanceBusy, PackageNotFound, PermissionDenied, StoreDamaged, StoreTooNew];
/// commits to it.
const COMMIT: &[ErrorCode] = &[CommitUncertain, Conflict];
/// What reads a call.
const ARGUMENTS: &[ErrorCode] = &[ArgumentInvalid, ArgumentLimit];
/// What runs a guest;
#[rustfmt::skip]
const LIMITS: &[ErrorCode] = &[
    ArgumentLimit, FileBytesLimit, FolderDepthLimit, FuelLimit, HandleLimit, HostCallLimit, InstanceForeign, InstanceLimit, MemoryLimit,
    RingRequired, StackLimit, StateBytesLimit, StateFilesLimit, StderrLimit, StdinLimit, StdoutLimit, TableLimit, WallTimeLimit,
];
/// and takes its own end for the end of the call.
const ENDINGS: &[ErrorCode] = &[ArgumentInvalid, ContractViolation, GuestFailed, GuestTrapped, StdinTerminal];
/// What asks a registry.
const REGISTRY: &[ErrorCode] = &[ArtifactInvalid, AuthenticationFailed, RegistryFailed];
/// What puts a package in another's place.
const SIGNERS: &[ErrorCode] = &[SignatureRequired, SignerChanged, SourceChanged, VersionReplaced];

/// Each command by its words.
#[rustfmt::skip]
const TABLE: &[(&str, Facts)] = &[
    ("run", writes::<RunAnswers>(&[LIMITS, PACKAGE, INSTANCE, ENDINGS, JUDGED, COMPONENT, COMMIT, COMPILED, &[ConfirmationRequired,
        StdinTimeLimit]])),
    ("validate", reads::<ValidateAnswer>(&[PACKAGE, JUDGED, COMPONENT, ARGUMENTS, &[ComponentLimit, ConfirmationRequired,
        RingRequired, StdinLimit, StdinTerminal, StdinTimeLimit]])),
    ("plan", writes::<PlanAnswer>(&[LIMITS, PACKAGE, INSTANCE, ENDINGS, JUDGED, COMPONENT, COMMIT, COMPILED, &[StdinTimeLimit]])),
    ("apply", writes::<RunAnswer>(&[LIMITS, PACKAGE, INSTANCE, ENDINGS, JUDGED, COMPONENT, COMMIT, COMPILED,
        &[ConfirmationRequired, NotReproducible]])),
    ("undo", writes::<MovedAnswer>(&[INSTANCE, COMMIT])),
    ("replay", writes::<RunAnswer>(&[LIMITS, PACKAGE, INSTANCE, ENDINGS, JUDGED, COMPONENT, COMMIT, COMPILED,
        &[ConfirmationRequired, NotReproducible]])),
    ("verify", reads::<VerifyAnswers>(&[INSTANCE, JUDGED, &[ComponentInvalid, InstanceForeign, NotReproducible, PackageInvalid,
        RingRequired, StdinTimeLimit, VerifyFailed]])),
    ("prove", writes::<ProveAnswers>(&[LIMITS, INSTANCE, JUDGED, COMPONENT, COMPILED, FILES, &[NotReproducible, PackageInvalid,
        SignatureRequired, StdinTimeLimit, VerifyFailed]]).idempotent()),
    ("map", writes::<MapAnswer>(&[LIMITS, PACKAGE, INSTANCE, ENDINGS, JUDGED, COMPONENT, COMMIT, COMPILED, &[AlreadyExists,
        StdinTimeLimit]])),
    ("ledger list", reads::<Entries>(&[INSTANCE])),
    ("ledger show", reads::<EntryAnswer>(&[LIMITS, PACKAGE, INSTANCE, JUDGED, COMPONENT, COMPILED, &[ArgumentInvalid, ContractViolation,
        GuestTrapped, NotReproducible, StdinTerminal, StdinTimeLimit]])),
    ("state cat", reads::<PathAnswer>(&[INSTANCE])),
    ("state diff", reads::<DiffAnswer>(&[INSTANCE])),
    ("schedule", reads::<ScheduleAnswer>(&[PACKAGE, JUDGED, COMPONENT, ARGUMENTS, &[ComponentLimit, ConfirmationRequired]])),
    ("gc", deletes::<GcAnswer>(&[INSTANCE, &[CommitUncertain, ConfirmationRequired]]).idempotent()),
    ("backup", writes::<BackupAnswer>(&[COMMIT, FILES, &[InstanceBusy, PackageChanged, PackageInvalid, StoreDamaged,
        StoreTooNew]]).idempotent()),
    ("restore", writes::<RestoreAnswer>(&[FILES, &[InstanceBusy, StoreDamaged, StoreTooNew]])),
    ("certify", reads::<Report>(&[JUDGED, KEPT, &[ComponentInvalid, ComponentLimit, LevelNotReached, PackageInvalid, PackageNotFound]])),
    ("check", reads::<CheckAnswers>(&[PACKAGE, COMPONENT, REGISTRY, JUDGED, COMPILED, &[NotReproducible, RingRequired, SignatureRequired,
        VerifyFailed]]).networked()),
    ("catalog", reads::<Noted<CatalogItem>>(&[KEPT, &[PackageNotFound]])),
    ("find", reads::<FoundAnswer>(&[KEPT, &[PackageNotFound]])),
    ("index", writes::<IndexBuilt>(&[REGISTRY, COMPONENT, FILES, &[PackageInvalid, PackageNotFound, SignatureInvalid,
        StoreDamaged]]).idempotent().networked()),
    ("show", reads::<ShowAnswer>(&[PACKAGE, REGISTRY]).networked()),
    ("meta", reads::<MetaAnswer>(&[PACKAGE, JUDGED, &[ComponentInvalid]])),
    ("mcp", writes::<McpAnswer>(&[PACKAGE, INSTANCE, JUDGED, COMPONENT, &[AlreadyExists, Cancelled, ConfirmationRequired, Conflict, ServerBusy]])),
    ("serve", writes::<ServeAnswer>(&[PACKAGE, INSTANCE, COMPONENT, &[AlreadyExists, AuthenticationRequired, Cancelled,
        ConfirmationRequired, Conflict, RequestConflict, RequestInvalid, ServerBusy, SignatureInvalid]])),
    ("examples", reads::<Listed<ExampleItem>>(&[PACKAGE, JUDGED, &[ComponentInvalid]])),
    ("skills", reads::<SkillsAnswers>(&[])),
    ("explain-error", reads::<ExplainAnswer>(&[PACKAGE, JUDGED])),
    ("install", writes::<InstallAnswers>(&[PACKAGE, SIGNERS, REGISTRY, JUDGED, &[AlreadyExists, ConfirmationRequired, LockDiffers,
        LockMismatch, VersionOlder]]).idempotent().networked()),
    ("remove", deletes::<RemoveAnswer>(&[KEPT, &[ConfirmationRequired, PackageNotFound]])),
    ("pack", writes::<PackAnswer>(&[PACKAGE, JUDGED, COMPONENT, COMPILED, REGISTRY, &[AlreadyExists, Conflict, TargetUnsupported]])
        .idempotent().networked()),
    ("trust show", reads::<TrustAnswers>(&[KEPT, &[PackageNotFound, TrustRequired]])),
    ("trust add", writes::<TrustChanged>(&[FILES, &[ConfirmationRequired, InstanceBusy, StdinTimeLimit, StoreDamaged]]).idempotent()),
    ("trust remove", deletes::<TrustChanged>(&[KEPT, &[ConfirmationRequired, Conflict, InstanceBusy]])),
    ("sign", writes::<Signing>(&[PACKAGE, REGISTRY, JUDGED, COMPONENT, &[AlreadyExists, Conflict]]).networked()),
    ("push", writes::<PushAnswer>(&[PACKAGE, REGISTRY, COMPONENT, &[AlreadyExists, Conflict, TrustRequired]]).idempotent().networked()),
    ("compile", writes::<CompileAnswer>(&[PACKAGE, JUDGED, COMPONENT, COMPILED, &[AlreadyExists, TargetUnsupported]]).idempotent()),
    ("init", writes::<InitAnswer>(&[FILES])),
    ("dev", writes::<DevAnswer<Answered>>(&[COMPONENT, COMPILED, &[BuildFailed, ExampleFailed, PackageChanged, PackageInvalid,
        PackageNotFound, PermissionDenied, TrustRequired]])),
    ("instance list", reads::<Listed<InstanceItem>>(&[&[PackageNotFound, PermissionDenied]])),
    ("instance copy", writes::<InstanceMoved>(&[INSTANCE, COMMIT, &[AlreadyExists]])),
    ("instance purge", deletes::<InstancePurged>(&[INSTANCE, &[ConfirmationRequired]])),
    ("instance export", writes::<InstanceExports>(&[PACKAGE, INSTANCE, COMPONENT, &[AlreadyExists, ComponentLimit,
        NotReproducible, TrustRequired]])),
    ("instance import", writes::<InstanceImports>(&[LIMITS, PACKAGE, INSTANCE, COMPONENT, COMMIT, COMPILED, &[NotReproducible,
        StdinTimeLimit, TrustRequired, VerifyFailed]])),
    ("issue create", writes::<IssueAnswer>(&[KEPT, &[Conflict, NotFound, PackageInvalid, PackageNotFound]])),
    ("issue list", reads::<Listed<Issue>>(&[KEPT])),
    ("issue show", reads::<IssueAnswer>(&[KEPT])),
    ("issue close", writes::<IssueAnswer>(&[KEPT]).idempotent()),
    ("issue transition", writes::<IssueAnswer>(&[KEPT]).idempotent()),
    ("completions", reads::<Text>(&[])),
    ("doctor", reads::<DoctorAnswers>(&[INSTANCE])),
];

/// The facts about the command of these words, as `issue create`.
pub(crate) fn of(words: &str) -> Option<&'static Facts> {
    TABLE.iter().find(|(known, _)| *known == words).map(|(_, facts)| facts)
}

/// Calls that show the use of each command, by its words.
static EXAMPLES: LazyLock<BTreeMap<String, Vec<Example>>> =
    LazyLock::new(|| serde_json::from_str(include_str!("../../examples.json")).unwrap_or_default());

/// Those of one command.
pub(crate) fn examples(words: &str) -> &'static [Example] {
    EXAMPLES.get(words).map(Vec::as_slice).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::spec::description::leaves;

    #[test]
    fn every_command_has_its_facts_and_examples_and_they_have_their_command() {
        let all = crate::arguments::command();
        let commands: BTreeSet<String> = leaves(&all, "").into_iter().map(|(_, path)| path).collect();
        assert_eq!(commands, TABLE.iter().map(|(path, _)| (*path).to_owned()).collect());
        assert_eq!(commands, EXAMPLES.keys().cloned().collect());
        assert!(commands.len() <= 52, "{commands:?}");
    }

    #[test]
    fn facts_are_well_formed() {
        for (path, facts) in TABLE {
            let schema = facts.result();
            assert!(schema.is_object() && jsonschema::validator_for(&schema).is_ok(), "{path}: {schema}");
            let examples = examples(path);
            assert!(examples.iter().any(|example| example.exit_status == 0), "{path}: an example that works");
            let words: Vec<&str> = path.split(' ').collect();
            for example in examples {
                let is_of_it = example.arguments.windows(words.len()).any(|part| part == words);
                assert!(is_of_it, "{path}: {}", example.description);
            }
        }
    }
}

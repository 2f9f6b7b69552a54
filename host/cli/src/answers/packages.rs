//! Answers about packages.

use super::{FilesVerified, Signature, ToolsAnswer, levels, levels_anywhere};
use hutch::find::Match;
use hutch::index::Release;
use hutch_documents::diff::FileDiff;
use hutch_documents::{By, Noted, Open};
use hutch_model::asks::Asks;
use hutch_model::contract::Effect;
use hutch_model::diagnostic::Diagnostic;
use hutch_model::digest::Digest;
use hutch_model::error_report::ErrorReport;
use hutch_model::instant::Instant;
use hutch_model::manifest::Scheduling;
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;

#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct CatalogItem {
    pub(crate) by: By,
    pub(crate) slug: String,
    pub(crate) name: String,
    pub(crate) version: String,
    pub(crate) description: String,
    pub(crate) call: String,
    pub(crate) commands: Vec<String>,
    pub(crate) confirmation_required: Vec<String>,
    #[schemars(with = "Option<String>")]
    pub(crate) scheduling: Option<Scheduling>,
    pub(crate) skills: Vec<String>,
    pub(crate) tags: Vec<String>,
    #[schemars(schema_with = "levels")]
    pub(crate) trust: &'static str,
    pub(crate) provenance: String,
    #[schemars(with = "Option<String>")]
    pub(crate) digest: Option<Digest>,
    #[serde(flatten)]
    pub(crate) installed: Option<InstalledItem>,
}

/// What is written down of an installed package.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct InstalledItem {
    #[schemars(with = "String")]
    pub(crate) installed_at: Instant,
    #[schemars(with = "Vec<String>")]
    pub(crate) asks: Asks,
    pub(crate) launcher: Option<String>,
    pub(crate) signer: Option<String>,
    pub(crate) attester: Option<String>,
}

/// What was found.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct FoundAnswer {
    #[serde(flatten)]
    pub(crate) noted: Noted<FoundItem>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Searched")]
    pub(crate) searched: Option<Searched>,
}

/// How many packages were searched, where there are more than that.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Searched {
    pub(crate) packages: u64,
    pub(crate) left_out: u64,
}

/// A command that was found.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct FoundItem {
    pub(crate) by: By,
    pub(crate) package: String,
    pub(crate) call: String,
    #[schemars(schema_with = "levels_anywhere")]
    pub(crate) trust: &'static str,
    pub(crate) command: String,
    pub(crate) description: String,
    #[schemars(with = "String", extend("enum" = ["read", "write", "delete", null]))]
    pub(crate) effect: Option<Effect>,
    pub(crate) confirmation_required: bool,
    #[schemars(with = "Vec<String>")]
    pub(crate) grants: Asks,
    pub(crate) score: f64,
    #[schemars(with = "Vec<Reason>")]
    pub(crate) reasons: Vec<Match>,
    pub(crate) meta: Option<String>,
    #[serde(flatten)]
    pub(crate) indexed: Option<FoundInIndex>,
}

/// Why it was found, as [`Match`] is written.
#[derive(JsonSchema)]
#[expect(dead_code, reason = "its schema alone is used")]
struct Reason {
    asked: String,
    word: String,
    #[schemars(extend("enum" = ["word", "synonym", "spelling"]))]
    how: String,
    #[schemars(extend("enum" = ["name", "description", "parameter", "example", "package"]))]
    field: String,
}

/// What an index says of it, or is known of one that came with the program: how it is installed.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct FoundInIndex {
    pub(crate) version: String,
    pub(crate) install: Option<String>,
    #[schemars(schema_with = "levels")]
    pub(crate) trust_required: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "levels")]
    pub(crate) trust_in_index: Option<&'static str>,
}

#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct IndexBuilt {
    pub(crate) path: String,
    pub(crate) packages: Vec<IndexedPackage>,
    pub(crate) changed: bool,
    pub(crate) dry_run: bool,
}

#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct IndexedPackage {
    pub(crate) slug: String,
    pub(crate) source: String,
    pub(crate) page: String,
    pub(crate) commands: usize,
    #[schemars(with = "Vec<IndexedRelease>")]
    pub(crate) releases: Vec<Release>,
}

/// As [`Release`] is written.
#[derive(JsonSchema)]
#[expect(dead_code, reason = "its schema alone is used")]
struct IndexedRelease {
    version: String,
    reference: String,
    manifest: String,
    digest: String,
    bytes: u64,
    #[schemars(schema_with = "levels")]
    trust: String,
}

#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct ShowAnswer {
    pub(crate) by: By,
    pub(crate) slug: String,
    pub(crate) version: String,
    pub(crate) trust: &'static str,
    pub(crate) attester: Option<String>,
    #[schemars(with = "Open")]
    pub(crate) manifest: Value,
    pub(crate) body: String,
    #[schemars(with = "Vec<String>")]
    pub(crate) asks: Asks,
    pub(crate) skill_names: Vec<String>,
    pub(crate) skills: Vec<SkillAnswer>,
}

/// A skill, whole.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct SkillAnswer {
    pub(crate) name: String,
    pub(crate) description: String,
    pub(crate) content: String,
}

/// What `check` answers.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(untagged)]
pub(crate) enum CheckAnswers<'c> {
    Package(CheckAnswer<'c>),
    Files(FilesVerified),
}

#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct CheckAnswer<'c> {
    pub(crate) package: Option<String>,
    pub(crate) version: Option<String>,
    pub(crate) digest: Option<String>,
    pub(crate) component_asked: bool,
    pub(crate) skills: Vec<String>,
    pub(crate) errors: usize,
    pub(crate) warnings: usize,
    #[schemars(with = "Vec<Problem>")]
    pub(crate) diagnostics: &'c [Diagnostic],
    pub(crate) signatures: Vec<Signature>,
    /// How many were tried, and passed.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "usize")]
    pub(crate) tests: Option<usize>,
}

/// As a [`Diagnostic`] is written.
#[derive(JsonSchema)]
#[expect(dead_code, reason = "its schema alone is used")]
struct Problem {
    code: String,
    #[schemars(extend("enum" = ["error", "warning"]))]
    severity: String,
    file: String,
    line: u32,
    column: u32,
    message: String,
    #[schemars(skip_serializing_if = "Option::is_none", with = "String")]
    suggestion: Option<String>,
}

#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct ExampleItem {
    pub(crate) by: By,
    pub(crate) command: String,
    pub(crate) description: String,
    pub(crate) arguments: Vec<String>,
    pub(crate) exit_status: u8,
    pub(crate) line: String,
}

/// What `meta` answers.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(untagged)]
pub(crate) enum MetaAnswer {
    /// A line about each command.
    Listed(MetaListed),
    /// All about some.
    Described(MetaDescribed),
    /// As another system reads it.
    Exported(ToolsAnswer),
    /// The form that every description of commands has.
    Schema(SchemaAnswer),
}

/// A JSON Schema, for editors.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct SchemaAnswer {
    pub(crate) schema: Value,
}

/// A package by its contract.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct MetaPackage {
    pub(crate) by: By,
    pub(crate) package: String,
    pub(crate) version: String,
    pub(crate) contract: &'static str,
    pub(crate) trust: String,
    pub(crate) summary: String,
    pub(crate) grants: MetaGrants,
    pub(crate) global_parameters: Vec<Value>,
}

#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct MetaGrants {
    #[schemars(with = "Vec<String>")]
    pub(crate) asks: Asks,
    pub(crate) needs_grant: Vec<String>,
}

#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct MetaListed {
    #[serde(flatten)]
    pub(crate) about: MetaPackage,
    pub(crate) commands: Vec<MetaLine>,
}

#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct MetaLine {
    pub(crate) name: String,
    pub(crate) description: String,
    #[schemars(with = "String", extend("enum" = ["read", "write", "delete"]))]
    pub(crate) effect: Effect,
    pub(crate) confirmation_required: bool,
    pub(crate) meta: Option<String>,
}

#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct MetaDescribed {
    #[serde(flatten)]
    pub(crate) about: MetaPackage,
    pub(crate) commands: Vec<MetaCommand>,
}

#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct MetaCommand {
    pub(crate) name: String,
    pub(crate) description: String,
    pub(crate) usage: String,
    pub(crate) inputs: Vec<Value>,
    pub(crate) semantics: MetaSemantics,
    pub(crate) output: Value,
    pub(crate) failures: Vec<MetaFailure>,
    pub(crate) schemas: Option<String>,
    pub(crate) examples: Option<String>,
}

#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct MetaSemantics {
    #[schemars(with = "String", extend("enum" = ["read", "write", "delete"]))]
    pub(crate) effect: Effect,
    pub(crate) idempotent: bool,
    pub(crate) confirmation_required: bool,
}

#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct MetaFailure {
    pub(crate) code: String,
    pub(crate) exit_status: u8,
    pub(crate) description: String,
}

/// What `install` answers.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(untagged)]
pub(crate) enum InstallAnswers {
    Named(Box<InstallAnswer>),
    Compared(LockCompared),
    Written(LockWritten),
}

#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct InstallAnswer {
    pub(crate) slug: String,
    pub(crate) version: String,
    pub(crate) from: Option<String>,
    pub(crate) downgrade: bool,
    #[schemars(with = "Vec<String>")]
    pub(crate) asks: Asks,
    pub(crate) needs_grant: Vec<String>,
    /// what of its commands is other than in the version before; of an install nothing is
    pub(crate) changes: Option<Changes>,
    pub(crate) source: String,
    #[schemars(with = "String")]
    pub(crate) digest: Digest,
    pub(crate) launcher: Option<LauncherAnswer>,
    pub(crate) signer: Option<String>,
    pub(crate) attester: Option<String>,
    /// how far it is trusted once installed
    #[schemars(schema_with = "levels")]
    pub(crate) trust: &'static str,
    pub(crate) dry_run: bool,
}

/// Which commands come and go with another version, and which of them a person has to confirm.
#[derive(Clone, Debug, Default, Serialize, JsonSchema)]
pub(crate) struct Changes {
    pub(crate) commands: Names,
    pub(crate) confirmations: Names,
}

#[derive(Clone, Debug, Default, Serialize, JsonSchema)]
pub(crate) struct Names {
    pub(crate) added: Vec<String>,
    pub(crate) removed: Vec<String>,
}

#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct LauncherAnswer {
    pub(crate) path: String,
    pub(crate) on_path: bool,
}

#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct RemoveAnswer {
    pub(crate) slug: String,
    pub(crate) version: String,
    pub(crate) state: &'static str,
    pub(crate) launcher: Option<String>,
    pub(crate) dry_run: bool,
}

#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct LockWritten {
    pub(crate) path: String,
    pub(crate) packages: Vec<LockedPackage>,
    pub(crate) changed: bool,
    pub(crate) dry_run: bool,
}

#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct LockedPackage {
    pub(crate) slug: String,
    pub(crate) version: String,
    pub(crate) source: String,
    #[schemars(with = "String")]
    pub(crate) digest: Digest,
    #[schemars(with = "Vec<String>")]
    pub(crate) asks: Asks,
    pub(crate) signer: Option<String>,
    pub(crate) attester: Option<String>,
}

#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct LockCompared {
    pub(crate) path: String,
    pub(crate) packages: Vec<ComparedPackage>,
    pub(crate) changed: bool,
    pub(crate) removed: Vec<String>,
    pub(crate) needs_grant: Vec<String>,
    pub(crate) dry_run: bool,
}

/// A package of a lock beside the one in the home.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct ComparedPackage {
    pub(crate) slug: String,
    pub(crate) difference: Option<Difference>,
    pub(crate) locked: Option<String>,
    pub(crate) installed: Option<String>,
    /// what of its commands is other than in the installed version, once that is known
    pub(crate) changes: Option<Changes>,
}

// How a package in the home is not as a lock says.
#[derive(Clone, Copy, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Difference {
    Missing,
    Version,
    Files,
    Source,
    Signer,
    Attester,
    Changed,
    Unlocked,
}

#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct PackAnswer {
    pub(crate) slug: String,
    pub(crate) version: String,
    pub(crate) path: String,
    pub(crate) bytes: u64,
    pub(crate) digest: String,
    #[serde(flatten)]
    pub(crate) pulled: Option<Pulled>,
    #[serde(flatten)]
    pub(crate) compiled: Option<PackedCode>,
    pub(crate) dry_run: bool,
}

/// What a registry says of a package that came from one.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Pulled {
    pub(crate) reference: String,
    pub(crate) signatures: usize,
}

/// The compiled code beside a package.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct PackedCode {
    pub(crate) package_bytes: usize,
    pub(crate) artifact_bytes: usize,
    pub(crate) target: String,
    pub(crate) component: String,
    pub(crate) executable: bool,
}

#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct PushAnswer {
    pub(crate) slug: String,
    pub(crate) version: String,
    pub(crate) reference: String,
    pub(crate) digest: String,
    pub(crate) manifest: String,
    pub(crate) bytes_sent: u64,
    pub(crate) changed: bool,
    pub(crate) dry_run: bool,
}

#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct CompileAnswer {
    pub(crate) profile: String,
    pub(crate) target: String,
    pub(crate) build_key: String,
    pub(crate) packages: Vec<CompiledPackage>,
    pub(crate) dry_run: bool,
}

#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct CompiledPackage {
    pub(crate) package: String,
    pub(crate) slug: String,
    pub(crate) version: String,
    pub(crate) component: String,
    pub(crate) component_bytes: u64,
    pub(crate) compiled: bool,
    pub(crate) kept: bool,
    #[serde(flatten)]
    pub(crate) file: Option<CompiledFile>,
}

#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct CompiledFile {
    pub(crate) path: String,
    pub(crate) bytes: usize,
}

#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct InitAnswer {
    pub(crate) slug: String,
    pub(crate) package: String,
    pub(crate) guest: String,
    #[schemars(extend("enum" = ["rust", "python", "javascript", "c", "go"]))]
    pub(crate) lang: &'static str,
    pub(crate) files: Vec<String>,
    pub(crate) next: Vec<String>,
    pub(crate) dry_run: bool,
}

/// A round of `dev`.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct DevAnswer<'r, Answered> {
    pub(crate) round: u64,
    pub(crate) good: bool,
    pub(crate) changed: Vec<String>,
    pub(crate) changed_total: usize,
    pub(crate) ignored: Vec<String>,
    pub(crate) build_ms: Option<u64>,
    #[schemars(with = "Vec<Problem>")]
    pub(crate) diagnostics: &'r [Diagnostic],
    pub(crate) examples: Option<DevExamples>,
    pub(crate) answers: &'r [Answered],
    pub(crate) state: &'r [FileDiff],
    pub(crate) state_omitted: u64,
    #[schemars(with = "Option<Open>")]
    pub(crate) error: Option<&'r ErrorReport>,
}

#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct DevExamples {
    pub(crate) called: usize,
    pub(crate) left_out: usize,
}

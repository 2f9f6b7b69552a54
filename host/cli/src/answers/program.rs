//! Answers about this program and this machine.

use hutch_documents::{By, Listed, Open};
use hutch_model::diagnostic::Severity;
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;

use super::{SkillAnswer, StateChecked};

/// What `skills` answers.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(untagged)]
#[expect(dead_code, reason = "a list is answered by itself; together they are what there can be")]
pub(crate) enum SkillsAnswers {
    /// Which there are.
    Listed(Listed<SkillLine>),
    /// One, whole.
    One(SkillAnswer),
}

/// A skill in a list.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct SkillLine {
    name: String,
    description: String,
    command: String,
}

#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct ExplainAnswer {
    pub(crate) code: String,
    pub(crate) meanings: Vec<Meaning>,
}

/// What a code means to one who can end with it.
#[derive(Debug, Default, Serialize, JsonSchema)]
pub(crate) struct Meaning {
    /// absent if the words are the host's
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "By")]
    pub(crate) by: Option<By>,
    /// which code it is; absent if CODE says it
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String")]
    pub(crate) code: Option<&'static str>,
    pub(crate) origin: String,
    pub(crate) cause: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String")]
    pub(crate) severity: Option<Severity>,
    pub(crate) exit_status: u8,
    pub(crate) fix: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String")]
    pub(crate) retry: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String")]
    pub(crate) state_kept: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Vec<String>")]
    pub(crate) commands: Option<Vec<String>>,
    #[serde(flatten)]
    pub(crate) place: Option<StepAnswer>,
}

/// Where in a call a code comes.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct StepAnswer {
    /// the step of a call that ends with the code; absent if several can
    pub(crate) step: &'static str,
    /// what must be true for the step to go well
    pub(crate) precondition: &'static str,
    /// steps that went well when the code comes
    pub(crate) steps_before: Vec<&'static str>,
    /// steps of which nothing is known yet: what they find comes when this is mended
    pub(crate) steps_after: Vec<&'static str>,
}

/// What `doctor` answers.
#[derive(JsonSchema)]
#[schemars(untagged)]
#[expect(dead_code, reason = "its schema alone is used")]
pub(crate) enum DoctorAnswers {
    /// Of the machine and the home.
    All(DoctorAnswer),
    /// Of one instance.
    Instance(StateChecked),
}

#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct DoctorAnswer {
    pub(crate) healthy: bool,
    pub(crate) version: &'static str,
    pub(crate) home: String,
    pub(crate) items: Vec<DoctorCheck>,
    pub(crate) total: usize,
    pub(crate) left_out: Vec<LeftOut>,
}

/// A thing that `doctor` looked at: what was found, and what mends it.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub(crate) struct DoctorCheck {
    pub(crate) name: String,
    #[schemars(extend("enum" = ["ok", "warn", "bad"]))]
    pub(crate) status: &'static str,
    pub(crate) found: String,
    pub(crate) fix: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Vec<Value>")]
    pub(crate) damages: Option<Value>,
}

/// An instance that it did not look through, and the call that does.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub(crate) struct LeftOut {
    pub(crate) instance: String,
    pub(crate) bytes: u64,
    pub(crate) check: Option<String>,
}

/// Tools of the Model Context Protocol.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct ToolsAnswer {
    #[schemars(with = "Vec<Tool>")]
    pub(crate) tools: Vec<Value>,
}

/// What `mcp` answers with, where it serves nobody: tools, or what a client is to be told.
#[derive(Debug, Default, Serialize, JsonSchema)]
pub(crate) struct McpAnswer {
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Vec<Tool>")]
    pub(crate) tools: Option<Vec<Value>>,
    /// The file that the client reads.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String")]
    pub(crate) path: Option<String>,
    /// What belongs in it.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Open")]
    pub(crate) configuration: Option<Value>,
    /// The same, as a file that is no JSON has it.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String")]
    pub(crate) text: Option<String>,
    /// Whether it stands there now.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "bool")]
    pub(crate) written: Option<bool>,
    /// What the file was before.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String")]
    pub(crate) backup: Option<String>,
}

/// As a tool is written.
#[derive(JsonSchema)]
#[schemars(rename_all = "camelCase")]
#[expect(dead_code, reason = "its schema alone is used")]
struct Tool {
    name: String,
    #[schemars(skip_serializing_if = "Option::is_none", with = "String")]
    title: Option<String>,
    description: String,
    input_schema: Open,
    #[schemars(skip_serializing_if = "Option::is_none", with = "Open")]
    output_schema: Option<Open>,
    annotations: Open,
    #[schemars(rename = "_meta", skip_serializing_if = "Option::is_none", with = "Open")]
    meta: Option<Open>,
}

#[derive(Debug, Default, Serialize, JsonSchema)]
pub(crate) struct ServeAnswer {
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String")]
    pub(crate) url: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String")]
    pub(crate) token_file: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Vec<String>")]
    pub(crate) packages: Option<Vec<String>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Open")]
    pub(crate) openapi: Option<Value>,
}

/// A text for another program.
#[derive(JsonSchema)]
#[schemars(extend("contentMediaType" = "text/plain"))]
#[expect(dead_code, reason = "its schema alone is used")]
pub(crate) struct Text(String);

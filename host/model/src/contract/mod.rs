//! What an application says its commands are: `schemas/commands.json`, or the component's own `contract` export. The shape
//! and its JSON form are those of `wit/hutch.wit`. Knows neither file system nor engine: both sources come here as values.

mod arguments;
mod check;
mod compare;
mod constraints;
mod hosted;
mod kept;
mod read;
mod tool;

pub use arguments::{ArgumentViolation, ReadArguments, ViolationKind};
pub use constraints::Constraints;
pub use hosted::{About, Asked, may_be_asked};
pub use kept::KeptContract;

use crate::diagnostic::{Diagnostic, Position};
use crate::node::Node;
use serde::ser::SerializeStruct;
use serde_json::Value;

/// The file, in the package.
pub const CONTRACT_FILE: &str = "schemas/commands.json";
/// The value of the file's first key.
pub const CONTRACT_SCHEMA: &str = "hutch/commands@0.1";
/// The most bytes of the file.
pub const CONTRACT_BYTES_MAX: usize = 1 << 20;

/// A whole application.
#[derive(Clone, PartialEq, Debug, serde::Serialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct Contract {
    /// The program's short name, equal to the slug of its package.
    pub name: String,
    /// The application's version, equal to that of its package.
    pub version: String,
    /// What the application is for, in one sentence.
    pub summary: String,
    /// Parameters that every command takes.
    pub parameters: Vec<Parameter>,
    /// The commands, in the order to show them.
    pub commands: Vec<Command>,
    /// Every way to fail.
    pub errors: Vec<Failure>,
}

/// One command.
#[derive(Clone, PartialEq, Debug, serde::Serialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct Command {
    /// One to three lower-case words separated by single spaces.
    pub name: String,
    /// What it does.
    pub description: String,
    /// Its own parameters: positional ones first, by position.
    pub parameters: Vec<Parameter>,
    /// The most that it does to the state.
    pub effect: Effect,
    /// Whether the same call right after one that succeeded succeeds too and changes nothing.
    pub idempotent: bool,
    /// Whether a person must have agreed before it runs.
    pub confirmation_required: bool,
    /// JSON Schema of the document on standard output when the exit status is 0.
    pub output_schema: Value,
    /// The codes, of the application's errors, that it can end with.
    pub errors: Vec<String>,
    /// Calls that show its use.
    pub examples: Vec<Example>,
}

/// One parameter.
#[derive(Clone, PartialEq, Eq, Debug, serde::Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct Parameter {
    /// Lower-case words joined by `-`, without leading dashes.
    pub name: String,
    /// The place among the bare arguments after the command's words, from 0; `None` means `--name`.
    pub position: Option<u32>,
    /// The type of the value, or of each value when repeated.
    pub value_type: ValueType,
    /// Whether a call without it is refused; one with a `json-input` that its command declares may give it there.
    pub required: bool,
    /// Whether it may be given more than once.
    pub repeated: bool,
    /// The value that a call without it gets.
    pub default: Option<String>,
    /// The only values allowed; empty means no such list.
    pub choices: Vec<String>,
    /// Whether the value is prose for people.
    pub free_text: bool,
    /// What a value must keep beyond its type.
    pub constraints: Option<Constraints>,
    /// What it means.
    pub description: String,
}

/// Constraints that are not there take no room in a document; the compact form has a place for them.
impl serde::Serialize for Parameter {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let sparse = serializer.is_human_readable() && self.constraints.is_none();
        let mut fields = serializer.serialize_struct("Parameter", if sparse { 9 } else { 10 })?;
        fields.serialize_field("name", &self.name)?;
        fields.serialize_field("position", &self.position)?;
        fields.serialize_field("valueType", &self.value_type)?;
        fields.serialize_field("required", &self.required)?;
        fields.serialize_field("repeated", &self.repeated)?;
        fields.serialize_field("default", &self.default)?;
        fields.serialize_field("choices", &self.choices)?;
        fields.serialize_field("freeText", &self.free_text)?;
        if !sparse {
            fields.serialize_field("constraints", &self.constraints)?;
        }
        fields.serialize_field("description", &self.description)?;
        fields.end()
    }
}

impl Parameter {
    /// Whether a word that names it is followed by a value.
    pub(crate) fn takes_value(&self) -> bool {
        self.position.is_some() || self.value_type != ValueType::Boolean
    }
}

/// What a command may do to the state, in the order of growing risk.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Effect {
    /// Leaves all as it was, modification times too.
    Read,
    /// Adds or changes.
    Write,
    /// Takes something out that no other command brings back.
    Delete,
}

/// The type of one argument.
#[derive(Clone, Copy, PartialEq, Eq, Debug, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum ValueType {
    /// Any text.
    String,
    /// A decimal integer from -(2^63) to 2^63-1.
    Integer,
    /// A decimal number as JSON writes it.
    Number,
    /// `true` or `false`; without a position, presence means true.
    Boolean,
    /// `YYYY-MM-DD`.
    Date,
    /// RFC 3339 `date-time` with an offset.
    Instant,
    /// Either of the two above.
    DateOrInstant,
    /// A path in the guest's file system.
    Path,
}

/// One way to fail.
#[derive(Clone, PartialEq, Eq, Debug, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct Failure {
    /// Upper-case words joined by `_`.
    pub code: String,
    /// The exit status that comes with it, never 0.
    pub exit_status: u8,
    /// What went wrong.
    pub description: String,
    /// What the caller can do about it.
    pub fix: String,
}

/// One call and how it ends.
#[derive(Clone, PartialEq, Eq, Debug, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct Example {
    /// What the call is for.
    pub description: String,
    /// The arguments after the program's name.
    pub args: Vec<String>,
    /// The exit status of the call.
    pub exit_status: u8,
}

impl Contract {
    /// The command with this name.
    pub fn command(&self, name: &str) -> Option<&Command> {
        self.commands.iter().find(|command| command.name == name)
    }

    /// The JSON form, as a file has it.
    pub fn to_document(&self) -> Value {
        let mut document = serde_json::to_value(self).unwrap_or_default();
        if let Value::Object(fields) = &mut document {
            fields.insert("schema".to_owned(), Value::from(CONTRACT_SCHEMA));
        }
        document
    }

    /// The rules that a description breaks which did not come from a file: `file` says where it came from, and the messages
    /// say which part is meant.
    pub fn check(&self, file: &str) -> Vec<Diagnostic> {
        let flaws = check::flaws(self);
        flaws.into_iter().map(|flaw| flaw.into_diagnostic(file, Position::START)).collect()
    }
}

/// A description that was read from a file, with the places of its parts.
#[derive(Clone, Debug)]
pub struct ContractFile {
    contract: Contract,
    fields: Node,
    file: String,
}

impl ContractFile {
    /// The description.
    pub fn contract(&self) -> &Contract {
        &self.contract
    }

    /// Where the value that a JSON pointer names is written, or its nearest ancestor that is.
    pub fn position(&self, pointer: &str) -> Position {
        self.fields.position(pointer)
    }
}

/// Reads the text of a `commands.json`. `file` is the name that diagnostics carry. All problems are found at once; a
/// description comes back unless one of them is an error.
pub fn parse(text: &str, file: &str) -> (Option<ContractFile>, Vec<Diagnostic>) {
    read::read(text, file)
}

//! `APP.md`: what an application says it is and what it asks for. Fields by the seed `agent-applications-v1`, ours under
//! `metadata.hutch`. Knows no file system: whether a declared file exists is for the package's reader to find.

mod hutch;
mod kept;
mod read;

use crate::command_line::EntryCommand;
use crate::diagnostic::{Diagnostic, Position};
use crate::fields::NAMES_MAX;
use crate::limits::Limit;
use crate::names::{CommandPath, EnvironmentName, PackagePath, SkillName, Slug};
use crate::node::Node;
use serde_json::Value;
use std::collections::BTreeMap;

/// The manifest's file, in the root of the package.
pub const MANIFEST_FILE: &str = "APP.md";
/// The most volumes of a package.
pub const VOLUMES_MAX: usize = NAMES_MAX;

/// Whether the application has commands about scheduling.
#[derive(Clone, Copy, PartialEq, Eq, Debug, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Scheduling {
    /// It has; the body of the manifest documents them.
    Supported,
    /// It has none.
    NotSupported,
}

/// How strictly a guest's arguments are judged before it starts (rules G2, G3, G8, S4).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum Guard {
    /// By all rules; only declared free text may hold shell metacharacters.
    #[default]
    Strict,
    /// As text for people may be: shell metacharacters count only where a parameter is declared not to be free text.
    Text,
    /// Not at all. No manifest says this: only the operator does.
    Off,
}

/// A manifest without errors.
#[derive(Clone, PartialEq, Debug, serde::Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Manifest {
    slug: Slug,
    slug_derived: bool,
    name: String,
    description: String,
    version: Version,
    entry: EntryCommand,
    commands: Vec<CommandPath>,
    confirmation_required: Vec<CommandPath>,
    skills: Vec<SkillName>,
    scheduling: Option<Scheduling>,
    license: Option<String>,
    authors: Vec<Value>,
    tags: Vec<String>,
    #[serde(rename = "hutch")]
    requests: Requests,
    #[serde(skip)]
    fields: Node,
    #[serde(skip)]
    front_matter: String,
    #[serde(skip)]
    body: String,
    #[serde(skip)]
    body_line: u32,
}

/// A semantic version, written as one.
#[derive(Clone, PartialEq, Eq, Debug)]
struct Version(semver::Version);

impl serde::Serialize for Version {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(&self.0)
    }
}

/// What stands under `metadata.hutch`.
#[derive(Clone, PartialEq, Debug, Default, serde::Serialize)]
struct Requests {
    state: Vec<PackagePath>,
    resources: Vec<PackagePath>,
    mounts: Vec<PackagePath>,
    env: Vec<EnvironmentName>,
    limits: BTreeMap<Limit, u64>,
    guard: Option<Guard>,
    feedback: Option<String>,
}

/// Reads the text of an `APP.md`. `file` is the name that diagnostics carry. All problems are found at once, in the order
/// of their places; a manifest comes back unless one of them is an error.
pub fn parse(text: &str, file: &str) -> (Option<Manifest>, Vec<Diagnostic>) {
    read::read(text, file)
}

impl Manifest {
    /// The identity of the package.
    pub fn slug(&self) -> &Slug {
        &self.slug
    }

    /// The name for people.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// What the application is for.
    pub fn description(&self) -> &str {
        &self.description
    }

    /// The version of the package.
    pub fn version(&self) -> &semver::Version {
        &self.version.0
    }

    /// The component and its leading arguments.
    pub fn entry(&self) -> &EntryCommand {
        &self.entry
    }

    /// The documented commands, in the author's order.
    pub fn commands(&self) -> &[CommandPath] {
        &self.commands
    }

    /// Those of the commands that need an explicit confirmation.
    pub fn confirmation_required(&self) -> &[CommandPath] {
        &self.confirmation_required
    }

    /// The local skills.
    pub fn skills(&self) -> &[SkillName] {
        &self.skills
    }

    /// Whether there are commands about scheduling, if the manifest says.
    pub fn scheduling(&self) -> Option<Scheduling> {
        self.scheduling
    }

    /// The licence, if the manifest says.
    pub fn license(&self) -> Option<&str> {
        self.license.as_deref()
    }

    /// Who made it: texts or mappings, as written.
    pub fn authors(&self) -> &[Value] {
        &self.authors
    }

    /// Words for search.
    pub fn tags(&self) -> &[String] {
        &self.tags
    }

    /// The state directories: each a volume, kept between runs, that the guest may write.
    pub fn volumes(&self) -> &[PackagePath] {
        &self.requests.state
    }

    /// The folders of the package that the guest may read.
    pub fn resources(&self) -> &[PackagePath] {
        &self.requests.resources
    }

    /// The guest directories that the package asks the operator to mount something at.
    pub fn mounts(&self) -> &[PackagePath] {
        &self.requests.mounts
    }

    /// The environment variables that the package asks for.
    pub fn environment(&self) -> &[EnvironmentName] {
        &self.requests.env
    }

    /// The limits that the package asks for, in the units that their names say.
    pub fn limits(&self) -> &BTreeMap<Limit, u64> {
        &self.requests.limits
    }

    /// How strictly arguments are to be judged.
    pub fn guard(&self) -> Guard {
        self.requests.guard.unwrap_or_default()
    }

    /// Where its maintainers want to be written to: an address that begins with `https://` or `mailto:`.
    pub fn feedback(&self) -> Option<&str> {
        self.requests.feedback.as_deref()
    }

    /// The whole front matter, unknown keys included.
    pub fn document(&self) -> Value {
        self.fields.to_json()
    }

    /// The front matter as written, without its fences.
    pub fn front_matter(&self) -> &str {
        &self.front_matter
    }

    /// What follows the front matter.
    pub fn body(&self) -> &str {
        &self.body
    }

    /// The line of the file that the body begins on.
    pub fn body_line(&self) -> u32 {
        self.body_line
    }

    /// Where the value that a JSON pointer names is written, or its nearest ancestor that is: `/skills/0`.
    pub fn position(&self, pointer: &str) -> Position {
        self.fields.position(pointer)
    }
}

//! `SKILL.md`, by the Agent Skills rules. The seed says that their meaning must not be changed: nothing here adds to it.
//! Knows no file system.

use crate::diagnostic::{Code, Diagnostic, Problems, shown};
use crate::fields::optional;
use crate::front_matter::{self, Document};
use crate::names::SkillName;
use crate::nearest::nearest;
use crate::node::{Data, Node};
use crate::text::Text;
use serde_json::Value;
use std::collections::BTreeMap;

/// The folder of a package that holds its skills, one folder each.
pub const SKILLS_FOLDER: &str = "skills";
/// The file of one skill, in its folder.
pub const SKILL_FILE: &str = "SKILL.md";

const KNOWN: [&str; 6] = ["name", "description", "license", "compatibility", "metadata", "allowed-tools"];

/// A skill without errors.
#[derive(Clone, Debug, serde::Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Skill {
    name: SkillName,
    description: String,
    license: Option<String>,
    compatibility: Option<String>,
    metadata: BTreeMap<String, String>,
    allowed_tools: Vec<String>,
    #[serde(skip)]
    fields: Node,
    #[serde(skip)]
    body: String,
    #[serde(skip)]
    body_line: u32,
}

impl Skill {
    /// The name, equal to that of its folder.
    pub fn name(&self) -> &SkillName {
        &self.name
    }

    /// What it does and when to use it.
    pub fn description(&self) -> &str {
        &self.description
    }

    /// The whole front matter, unknown keys included.
    pub fn document(&self) -> Value {
        self.fields.to_json()
    }

    /// The instructions.
    pub fn body(&self) -> &str {
        &self.body
    }

    /// The line of the file that the instructions begin on.
    pub fn body_line(&self) -> u32 {
        self.body_line
    }
}

/// Reads the text of the `SKILL.md` in `folder`. `file` is the name that diagnostics carry. All problems are found at
/// once; a skill comes back unless one of them is an error.
pub fn parse(text: &str, file: &str, folder: &SkillName) -> (Option<Skill>, Vec<Diagnostic>) {
    let mut problems = Problems::new(file);
    let skill = front_matter::split(text, &mut problems)
        .and_then(|document| read(&document, folder, &mut problems))
        .filter(|_| !problems.has_errors());
    (skill, problems.into_sorted())
}

fn read(document: &Document<'_>, folder: &SkillName, problems: &mut Problems) -> Option<Skill> {
    let top = document.fields.at;
    let entries = problems.map("the front matter", &document.fields)?;
    for entry in entries.iter().filter(|entry| !KNOWN.contains(&entry.key.as_str())) {
        if let Some(near) = nearest(&entry.key, KNOWN.into_iter()).filter(|near| optional(entries, near).is_none()) {
            let message = format!("the unknown key {} is kept without effect", shown(&entry.key));
            problems.report_with(Code::FieldSimilar, entry.at, message, format!("did you mean {near}?"));
        }
    }
    let name = problems.required("name", entries, top).and_then(|node| name(node, folder, problems));
    let description = problems
        .required("description", entries, top)
        .and_then(|node| problems.text("description", node, Text::PARAGRAPH));
    let line = |key: &str, characters_max, problems: &mut Problems| {
        optional(entries, key)
            .and_then(|node| problems.text(key, node, Text { characters_max, lines: true }))
            .map(str::to_owned)
    };
    let license = line("license", 1024, problems);
    let compatibility = line("compatibility", 500, problems);
    let metadata = optional(entries, "metadata").map(|node| metadata(node, problems)).unwrap_or_default();
    let allowed_tools =
        optional(entries, "allowed-tools").map(|node| allowed_tools(node, problems)).unwrap_or_default();
    Some(Skill {
        name: name?,
        description: description?.to_owned(),
        license,
        compatibility,
        metadata,
        allowed_tools,
        fields: document.fields.clone(),
        body: document.body.to_owned(),
        body_line: document.body_line,
    })
}

fn name(node: &Node, folder: &SkillName, problems: &mut Problems) -> Option<SkillName> {
    let text = problems.text("name", node, Text::LINE)?;
    match SkillName::parse(text) {
        Ok(name) if name == *folder => Some(name),
        Ok(name) => {
            let message = format!(
                "name: expected {}, the name of the folder, found {}",
                shown(folder.as_str()),
                shown(name.as_str())
            );
            problems.report(Code::SkillNameMismatch, node.at, message);
            None
        }
        Err(error) => {
            problems.report(Code::SkillNameInvalid, node.at, format!("name: {error}"));
            None
        }
    }
}

fn metadata(node: &Node, problems: &mut Problems) -> BTreeMap<String, String> {
    let entries = problems.map("metadata", node).unwrap_or_default();
    let mut metadata = BTreeMap::new();
    for entry in entries {
        let label = format!("metadata key {}", shown(&entry.key));
        if let Some(text) = problems.any_text(&label, &entry.value) {
            metadata.insert(entry.key.clone(), text.to_owned());
        }
    }
    metadata
}

/// Names separated by spaces, or a list of them.
fn allowed_tools(node: &Node, problems: &mut Problems) -> Vec<String> {
    match &node.data {
        Data::List(items) => {
            let texts = items.iter().filter_map(|item| problems.text("an item of allowed-tools", item, Text::LINE));
            texts.map(str::to_owned).collect()
        }
        _ => {
            let text = problems.text("allowed-tools", node, Text::PARAGRAPH).unwrap_or_default();
            text.split_whitespace().map(str::to_owned).collect()
        }
    }
}

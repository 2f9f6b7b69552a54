//! What this program tells an agent about itself: the texts of `agent/`, embedded. Every answer carries the rules, the skills and
//! where to send feedback (rules R1 to R3), so that an agent never needs to have read a manual.

use hutch_model::contract::{Command, Parameter};
use hutch_model::names::SkillName;
use hutch_model::skill::{self, Skill};
use serde_json::{Value, json};

/// One paragraph: what this is and what it is good for.
pub const BRIEF: &str = include_str!("../../../agent/brief.md");

/// Where to send feedback, in one line.
pub const ISSUE: &str = "Wrong, unclear, missing? hutch issue create --type bug --message TEXT";

const RULES: [(&str, &str); 3] = [
    ("trigger", include_str!("../../../agent/rules/trigger.md")),
    ("workflow", include_str!("../../../agent/rules/workflow.md")),
    ("writeback", include_str!("../../../agent/rules/writeback.md")),
];

const SKILLS: [(&str, &str); 4] = [
    ("getting-started", include_str!("../../../agent/skills/getting-started.md")),
    ("run-safely", include_str!("../../../agent/skills/run-safely.md")),
    ("recover", include_str!("../../../agent/skills/recover.md")),
    ("make-a-package", include_str!("../../../agent/skills/make-a-package.md")),
];

/// The rules, each with its whole text.
pub fn rules() -> Value {
    let rules = RULES.iter().filter_map(|(name, text)| read(name, text));
    rules.map(|rule| json!({"name": rule.name().as_str(), "content": rule.body().trim()})).collect()
}

/// The skills: name, description, and the command that shows the whole text.
pub fn skills() -> Value {
    let skills = SKILLS.iter().filter_map(|(name, text)| read(name, text));
    skills
        .map(|skill| {
            let name = skill.name().as_str();
            json!({"name": name, "description": skill.description(), "command": format!("hutch skills {name}")})
        })
        .collect()
}

/// One skill, whole.
pub fn skill(name: &str) -> Option<Skill> {
    SKILLS.iter().find(|(known, _)| *known == name).and_then(|(name, text)| read(name, text))
}

/// The names of all skills.
pub fn skill_names() -> impl Iterator<Item = &'static str> {
    SKILLS.iter().map(|(name, _)| *name)
}

fn read(name: &str, text: &str) -> Option<Skill> {
    skill::parse(text, name, &SkillName::parse(name).ok()?).0
}

/// Whether a command says that it reads standard input.
pub fn reads_stdin(command: &Command) -> bool {
    stdin_parameter(command).is_some()
}

/// The parameter that names standard input, other than the one for batches.
pub fn stdin_parameter(command: &Command) -> Option<&Parameter> {
    let names =
        |parameter: &&Parameter| parameter.name != "json-input" && parameter.description.contains("standard input");
    command.parameters.iter().find(names)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_text_has_front_matter_that_names_it() {
        for (name, text) in RULES.iter().chain(&SKILLS) {
            let (skill, problems) = skill::parse(text, name, &SkillName::parse(name).unwrap());
            assert!(skill.is_some() && problems.is_empty(), "{name}: {problems:?}");
        }
        assert_eq!(BRIEF.trim().lines().count(), 1, "one paragraph");
    }

    #[test]
    fn every_file_of_the_folder_is_embedded() {
        let folder = std::path::Path::new("../../agent");
        for (inner, known) in [("rules", &RULES[..]), ("skills", &SKILLS[..])] {
            let mut found: Vec<String> = std::fs::read_dir(folder.join(inner))
                .unwrap()
                .map(|entry| entry.unwrap().file_name().into_string().unwrap())
                .collect();
            let mut known: Vec<String> = known.iter().map(|(name, _)| format!("{name}.md")).collect();
            found.sort();
            known.sort();
            assert_eq!(found, known);
        }
    }
}

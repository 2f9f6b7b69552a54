//! What an application tells agents beside its commands: rules, skills, and where feedback goes. Knows no application.

use serde::Serialize;

/// What stands beside the description of the commands in `--help`.
#[derive(Debug, Serialize)]
pub struct Guidance {
    /// How to use the application.
    pub rules: Vec<Rule>,
    /// What can be read for more.
    pub skills: Vec<Skill>,
    /// How to report a problem, in one line.
    pub issue: &'static str,
}

/// One file of `agent/rules`.
#[derive(Debug, Serialize)]
pub struct Rule {
    /// Its name, which is also that of the file.
    pub name: &'static str,
    /// What it is about, in a sentence.
    pub description: &'static str,
    /// All of the file but the front matter.
    pub content: &'static str,
}

/// One skill.
#[derive(Debug, Serialize)]
pub struct Skill {
    /// Its name.
    pub name: &'static str,
    /// What it teaches, and when to read it.
    pub description: &'static str,
    /// The call of the host that shows it.
    pub command: String,
}

impl Rule {
    /// The rule that a file holds.
    #[must_use]
    pub fn of(file: &'static str) -> Self {
        let Page { name, description, content } = Page::of(file);
        Self { name, description, content }
    }
}

impl Skill {
    /// The skill of an application that a `SKILL.md` holds.
    #[must_use]
    pub fn of(file: &'static str, application: &str) -> Self {
        let Page { name, description, .. } = Page::of(file);
        Self { name, description, command: format!("hutch show {application} --skill {name}") }
    }
}

/// A Markdown file with `name` and `description` in its front matter, each on one line.
struct Page {
    name: &'static str,
    description: &'static str,
    content: &'static str,
}

impl Page {
    /// Takes a built-in file apart. What is not in it is empty; a test of the application sees to it that nothing is.
    fn of(file: &'static str) -> Self {
        let parts = file.strip_prefix("---\n").and_then(|rest| rest.split_once("\n---\n"));
        let (front, content) = parts.unwrap_or_default();
        let value = |key: &str| front.lines().find_map(|line| line.strip_prefix(key)?.strip_prefix(": "));
        let value = |key| value(key).unwrap_or_default();
        Self { name: value("name"), description: value("description"), content: content.trim_ascii() }
    }
}

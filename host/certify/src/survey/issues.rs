//! The life of one issue: made, found, moved through every status.

use super::Purpose;
use super::prober::Prober;
use crate::describe::Command;
use crate::read;
use crate::target::{Options, TargetError};

/// The statuses, in the order to go through them.
pub(crate) const STATUSES: [&str; 4] = ["open", "in-progress", "resolved", "closed"];

impl Prober<'_> {
    /// Creates an issue, with these arguments more, and follows it.
    pub(super) fn issues(&mut self, more: &[String]) -> Result<(), TargetError> {
        let commands = self.commands();
        let find = |word: &str| {
            let named = commands.iter().find(|(_, command)| command.words == ["issue", word]);
            named.cloned()
        };
        let Some((create_at, create)) = find("create").filter(|_| self.facts().may_change) else { return Ok(()) };
        let keep = Options { keep: true, confirmed: true, ..Options::default() };
        let created = self.call(
            Purpose::IssueCreate,
            Some(create_at),
            "",
            with(&self.create_args(&create), more.iter().cloned()),
            &keep,
        )?;
        let answer = read::document(&created.stdout).unwrap_or_default();
        let id = read::object_with(&answer, &["id"]).and_then(|issue| match issue.get("id")? {
            serde_json::Value::String(text) => Some(text.clone()),
            other => Some(other.to_string()),
        });
        if let Some((at, list)) = find("list") {
            self.call(Purpose::IssueList, Some(at), "", list.words, &keep)?;
        }
        let Some(id) = id else { return Ok(()) };
        if let Some((at, show)) = find("show") {
            let args = with(&show.words, [id.clone()]);
            self.call(Purpose::IssueShow, Some(at), &id, args, &keep)?;
        }
        if let Some((at, transition)) = find("transition") {
            for status in ["in-progress", "resolved"] {
                let args = with(&transition.words, transition_words(&transition, &id, status));
                self.call(Purpose::IssueMove, Some(at), status, args, &keep)?;
            }
        }
        if let Some((at, close)) = find("close") {
            let args = self.confirmed(
                &close,
                &super::parts::Parts { words: close.words.clone(), bare: vec![id.clone()], flags: Vec::new() },
            );
            self.call(Purpose::IssueMove, Some(at), "closed", args, &keep)?;
        }
        if let Some((at, list)) = find("list") {
            self.call(Purpose::IssueList, Some(at), "", list.words, &keep)?;
        }
        Ok(())
    }

    fn create_args(&self, create: &Command) -> Vec<String> {
        let mut parts = self.values.required_only(create, 0);
        let category = create.parameters.iter().find(|it| matches!(it.name.as_str(), "type" | "category" | "kind"));
        if let Some(category) = category {
            parts = parts.replaced(category, "bug");
        }
        let message = create.parameters.iter().find(|it| matches!(it.name.as_str(), "message" | "title" | "text"));
        if let Some(message) = message {
            parts = parts.replaced(message, "a probe of the issue command");
        }
        parts.args()
    }
}

fn with(words: &[String], more: impl IntoIterator<Item = String>) -> Vec<String> {
    words.iter().cloned().chain(more).collect()
}

/// The identifier and the status, where the command takes them.
fn transition_words(transition: &Command, id: &str, status: &str) -> Vec<String> {
    let mut words = vec![id.to_owned()];
    let positional = transition.positional();
    match transition.parameters.iter().find(|it| matches!(it.name.as_str(), "status" | "to" | "state")) {
        Some(parameter) if parameter.position.is_none() => {
            words.extend([format!("--{}", parameter.name), status.to_owned()]);
        }
        _ if positional.len() > 1 => words.push(status.to_owned()),
        _ => {}
    }
    words
}

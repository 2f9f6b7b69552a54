//! What a run changed in a volume, for reading: each path with how it changed, and for small files what changed in them.

use crate::told::one_line;
use hutch::Answer;
use hutch_model::digest::Digest;
use hutch_model::snapshot::{Change, Node, Objects, read_file, read_tree};
use serde::Serialize;
use serde_json::Value;

/// Bytes of the largest file whose content is compared.
const CONTENT_BYTES_MAX: u64 = 256 * 1024;
/// Lines of the longest textual difference that is shown.
const LINES_MAX: usize = 400;

/// One changed path.
#[derive(Debug, Serialize)]
pub(crate) struct FileDiff {
    path: String,
    change: Change,
    /// Changed parts of a JSON document, by path.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    json: Vec<JsonChange>,
    /// A unified difference of text.
    #[serde(skip_serializing_if = "Option::is_none")]
    text: Option<String>,
}

/// One changed part of a JSON document.
#[derive(Debug, PartialEq, Serialize)]
struct JsonChange {
    path: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    before: Option<Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    after: Option<Value>,
}

impl FileDiff {
    /// As lines for people.
    pub(crate) fn for_people(&self) -> String {
        let mut text = format!("{} {}", format!("{:?}", self.change).to_lowercase(), one_line(&self.path));
        for change in &self.json {
            let show = |value: &Option<Value>| value.as_ref().map_or_else(|| "-".to_owned(), ToString::to_string);
            text.push_str(&format!(
                "\n  {}: {} -> {}",
                one_line(&change.path),
                show(&change.before),
                show(&change.after)
            ));
        }
        if self.json.is_empty()
            && let Some(lines) = &self.text
        {
            for line in lines.lines() {
                text.push_str(&format!("\n  {line}"));
            }
        }
        text
    }
}

/// All that a run changed.
pub(crate) fn volume_diffs(answer: &Answer) -> Vec<FileDiff> {
    let mut diffs = Vec::new();
    for (volume, change) in &answer.volumes {
        for path in &change.changes.listed {
            let content = |tree: &Digest| text_at(&answer.objects, tree, &path.path);
            let (before, after) = (content(&change.before), content(&change.after));
            let (mut json, mut text) = (Vec::new(), None);
            if path.change != Change::Touched && (before.is_some() || after.is_some()) {
                let parse =
                    |text: &Option<String>| text.as_ref().and_then(|text| serde_json::from_str::<Value>(text).ok());
                if let (Some(before), Some(after)) = (parse(&before), parse(&after)) {
                    compare(String::new(), Some(&before), Some(&after), &mut json);
                }
                text = unified(before.as_deref().unwrap_or_default(), after.as_deref().unwrap_or_default());
            }
            diffs.push(FileDiff { path: format!("{volume}/{}", path.path), change: path.change, json, text });
        }
    }
    diffs
}

/// The text of a small file; `None` for anything else.
fn text_at(objects: &dyn Objects, tree: &Digest, path: &str) -> Option<String> {
    let mut folder = *tree;
    let (above, name) = path.rsplit_once('/').unwrap_or(("", path));
    for part in above.split('/').filter(|part| !part.is_empty()) {
        match read_tree(objects, &folder).ok()?.get(part)?.node {
            Node::Folder { tree, .. } => folder = tree,
            _ => return None,
        }
    }
    match read_tree(objects, &folder).ok()?.get(name)?.node {
        Node::File { size, content } if size <= CONTENT_BYTES_MAX => {
            let mut bytes = Vec::new();
            read_file::<hutch_model::snapshot::ObjectError>(objects, &content, size, &mut |part| {
                bytes.extend_from_slice(part);
                Ok(())
            })
            .ok()?;
            String::from_utf8(bytes).ok()
        }
        _ => None,
    }
}

fn compare(path: String, before: Option<&Value>, after: Option<&Value>, changes: &mut Vec<JsonChange>) {
    match (before, after) {
        (Some(before), Some(after)) if before == after => {}
        (Some(Value::Object(before)), Some(Value::Object(after))) => {
            let mut names: Vec<&String> = before.keys().chain(after.keys()).collect();
            names.sort();
            names.dedup();
            for name in names {
                let below = if path.is_empty() { name.clone() } else { format!("{path}.{name}") };
                compare(below, before.get(name), after.get(name), changes);
            }
        }
        (Some(Value::Array(before)), Some(Value::Array(after))) => {
            for at in 0..before.len().max(after.len()) {
                compare(format!("{path}[{at}]"), before.get(at), after.get(at), changes);
            }
        }
        (before, after) => changes.push(JsonChange { path, before: before.cloned(), after: after.cloned() }),
    }
}

/// A unified difference with three lines of context, unless it is too long to be read.
fn unified(before: &str, after: &str) -> Option<String> {
    let text = similar::TextDiff::from_lines(before, after).unified_diff().context_radius(3).to_string();
    (!text.is_empty() && text.lines().count() <= LINES_MAX).then_some(text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn json_is_compared_part_by_part() {
        let before = json!({"a": 1, "b": [1, 2], "c": {"d": null}});
        let after = json!({"a": 1, "b": [1, 3, 4], "c": {"d": true}, "e": 0});
        let mut changes = Vec::new();
        compare(String::new(), Some(&before), Some(&after), &mut changes);
        let change = |path: &str, before, after| JsonChange { path: path.to_owned(), before, after };
        let expect = [
            change("b[1]", Some(json!(2)), Some(json!(3))),
            change("b[2]", None, Some(json!(4))),
            change("c.d", Some(json!(null)), Some(json!(true))),
            change("e", None, Some(json!(0))),
        ];
        assert_eq!(changes, expect);
    }

    #[test]
    fn text_is_compared_line_by_line_unless_that_is_too_long() {
        assert_eq!(unified("a\nb\n", "a\nb\n"), None);
        assert_eq!(unified("a\nb\n", "a\nc\n").as_deref(), Some("@@ -1,2 +1,2 @@\n a\n-b\n+c\n"));
        assert_eq!(unified("", &"x\n".repeat(LINES_MAX + 1)), None);
    }
}

//! What changed in volumes, or in what calls say, for reading: each path with how it changed, and for small files what changed in them. How
//! long that takes does not depend on what the guest wrote: all that is compared at once has one budget, and no folder is read twice in a
//! row.

use crate::bounds::{
    COMPARED_BYTES, COMPARED_FILE_BYTES, COMPARED_MEMORY, COMPARED_STEPS, SHOWN_LINES, SHOWN_PARTS, spend,
};
use hutch::{Answer, DocumentSize};
use hutch_model::digest::Digest;
use hutch_model::document;
use hutch_model::snapshot::{
    Change, Changes, Entry, Node, ObjectError, Objects, Tree, diff, empty_tree, read_file, read_tree,
};
use hutch_model::terminal::one_line;
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};

/// One changed path.
#[derive(Debug, Serialize, JsonSchema)]
pub struct FileDiff {
    path: String,
    #[serde(flatten)]
    difference: Difference,
}

/// How a file or an answer changed.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Difference {
    #[schemars(with = "String")]
    change: Change,
    /// Changed parts of a JSON document, by path.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    json: Vec<JsonChange>,
    /// A unified difference of text.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String")]
    text: Option<String>,
    /// Why the content was not compared, though it changed.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String")]
    omitted: Option<String>,
}

/// One changed part of a JSON document.
#[derive(Debug, PartialEq, Serialize, JsonSchema)]
struct JsonChange {
    path: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Value")]
    before: Option<Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Value")]
    after: Option<Value>,
}

/// What a line for people is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mark {
    /// Anything else.
    Said,
    /// A line of a text that was not there before.
    Added,
    /// A line of a text that is no longer there.
    Removed,
}

impl FileDiff {
    /// As lines for people.
    pub fn for_people(&self) -> String {
        self.difference.for_people(&self.path)
    }

    /// The same, each with what it is about.
    pub fn marked(&self) -> Vec<(Mark, String)> {
        self.difference.marked(&self.path)
    }
}

impl Difference {
    /// As lines for people, under the name of what changed.
    pub fn for_people(&self, name: &str) -> String {
        self.marked(name).into_iter().map(|(_, line)| line).collect::<Vec<_>>().join("\n")
    }

    /// The same, each with what it is about.
    fn marked(&self, name: &str) -> Vec<(Mark, String)> {
        let mut lines =
            vec![(Mark::Said, format!("{} {}", format!("{:?}", self.change).to_lowercase(), one_line(name)))];
        for change in &self.json {
            let show = |value: &Option<Value>| value.as_ref().map_or_else(|| "-".to_owned(), ToString::to_string);
            let line = format!("  {}: {} -> {}", one_line(&change.path), show(&change.before), show(&change.after));
            lines.push((Mark::Said, line));
        }
        if self.json.is_empty()
            && let Some(text) = &self.text
        {
            lines.extend(text.lines().map(|line| {
                let mark = match line.as_bytes().first() {
                    Some(b'+') => Mark::Added,
                    Some(b'-') => Mark::Removed,
                    _ => Mark::Said,
                };
                (mark, format!("  {line}"))
            }));
        }
        lines.extend(self.omitted.iter().map(|reason| (Mark::Said, format!("  not compared: {reason}"))));
        lines
    }
}

/// As lines for people.
pub fn for_people(diffs: &[FileDiff]) -> String {
    diffs.iter().map(FileDiff::for_people).collect::<Vec<_>>().join("\n")
}

/// All that a run changed.
pub fn volume_diffs(answer: &Answer) -> Vec<FileDiff> {
    let mut diffs = Diffs::default();
    for (volume, change) in &answer.volumes {
        diffs.volume(volume, &answer.objects, (&change.before, &change.after), &change.changes);
    }
    diffs.found
}

/// What two states hold that differs, and how many more paths do. When it was written is no difference. A volume that one of them does not
/// have is empty in it.
///
/// # Errors
/// A state can't be read.
pub fn state_diffs(
    objects: &dyn Objects,
    before: &BTreeMap<String, Digest>,
    after: &BTreeMap<String, Digest>,
) -> Result<(Vec<FileDiff>, u64), ObjectError> {
    let (mut diffs, mut omitted, empty) = (Diffs::default(), 0, empty_tree());
    let names: BTreeSet<&String> = before.keys().chain(after.keys()).collect();
    for name in names {
        let (before, after) = (before.get(name).unwrap_or(&empty), after.get(name).unwrap_or(&empty));
        let mut changes = diff(objects, before, after)?;
        changes.listed.retain(|path| path.change != Change::Touched);
        omitted += changes.omitted;
        diffs.volume(name, objects, (before, after), &changes);
    }
    Ok((diffs.found, omitted))
}

/// How each of these texts changed. One that can't be compared comes with the reason.
pub fn text_diffs(
    texts: impl IntoIterator<Item = (Change, Result<String, String>, Result<String, String>)>,
) -> Vec<Difference> {
    let mut budget = Budget::default();
    let compared = texts.into_iter().map(|(change, before, after)| {
        let mut difference = Difference::of(change);
        difference.omitted = before.and_then(|before| difference.compare(&before, &after?, &mut budget)).err();
        difference
    });
    compared.collect()
}

/// Differences of files, as they are found.
#[derive(Default)]
struct Diffs {
    budget: Budget,
    found: Vec<FileDiff>,
}

impl Diffs {
    fn volume(&mut self, volume: &str, objects: &dyn Objects, (before, after): (&Digest, &Digest), changes: &Changes) {
        let (mut before, mut after) = (Files::of(objects, before), Files::of(objects, after));
        for path in &changes.listed {
            let mut difference = Difference::of(path.change);
            if path.change != Change::Touched {
                let budget = &mut self.budget;
                let texts =
                    before.text(&path.path, budget).and_then(|before| Ok((before, after.text(&path.path, budget)?)));
                let compared = texts.and_then(|(before, after)| match (before, after) {
                    (None, None) => Ok(()),
                    (before, after) => {
                        difference.compare(&before.unwrap_or_default(), &after.unwrap_or_default(), budget)
                    }
                });
                difference.omitted = compared.err();
            }
            self.found.push(FileDiff { path: format!("{volume}/{}", path.path), difference });
        }
    }
}

impl Difference {
    fn of(change: Change) -> Difference {
        Difference { change, json: Vec::new(), text: None, omitted: None }
    }

    fn compare(&mut self, before: &str, after: &str, budget: &mut Budget) -> Result<(), String> {
        if let (Some(before), Some(after)) = (budget.document(before), budget.document(after)) {
            compare(String::new(), Some(&before), Some(&after), &mut self.json);
        }
        if SHOWN_PARTS.is_below(self.json.len() as u64) {
            self.json.clear();
        }
        self.text = unified(before, after, budget)?;
        Ok(())
    }
}

/// What comparing the files of one run has taken by now.
#[derive(Default)]
struct Budget {
    bytes: u64,
    memory: u64,
    steps: u64,
}

impl Budget {
    /// A document, if the text is one that reading loses nothing of, and there is room for it. Who reads the file may take the other of two
    /// fields with one name, or have more digits of a number: what differs there is in the text.
    fn document(&mut self, text: &str) -> Option<Value> {
        self.memory += DocumentSize::of(text.as_bytes()).ok()?.memory_bytes;
        if COMPARED_MEMORY.is_below(self.memory) {
            return None;
        }
        document::read_exact(text)
    }
}

/// The files of one state. Folders on the way to the last one are kept, and paths come as a walk through the folders finds them.
struct Files<'o> {
    objects: &'o dyn Objects,
    /// By name, the outermost first.
    open: Vec<(String, Tree)>,
}

impl Files<'_> {
    fn of<'o>(objects: &'o dyn Objects, root: &Digest) -> Files<'o> {
        let open = read_tree(objects, root).map(|tree| (String::new(), tree));
        Files { objects, open: open.into_iter().collect() }
    }

    fn entry(&mut self, path: &str) -> Option<&Entry> {
        let (above, name) = path.rsplit_once('/').unwrap_or(("", path));
        let mut depth = 1;
        for part in above.split('/').filter(|part| !part.is_empty()) {
            if self.open.get(depth).is_none_or(|(open, _)| open != part) {
                self.open.truncate(depth);
                let Node::Folder { tree, .. } = self.open.last()?.1.get(part)?.node else { return None };
                self.open.push((part.to_owned(), read_tree(self.objects, &tree).ok()?));
            }
            depth += 1;
        }
        self.open.get(depth - 1)?.1.get(name)
    }

    /// The text of a file; nothing for what is no file.
    fn text(&mut self, path: &str, budget: &mut Budget) -> Result<Option<String>, String> {
        let objects = self.objects;
        let Some(Node::File { size, content }) = self.entry(path).map(|entry| &entry.node) else { return Ok(None) };
        if COMPARED_FILE_BYTES.is_below(*size) {
            return Err(COMPARED_FILE_BYTES.passed(*size));
        }
        spend(&mut budget.bytes, *size, &COMPARED_BYTES)?;
        let mut bytes = Vec::new();
        let read = read_file::<ObjectError>(objects, content, *size, &mut |part| {
            bytes.extend_from_slice(part);
            Ok(())
        });
        read.map_err(|error| error.to_string())?;
        String::from_utf8(bytes).map(Some).map_err(|_| "it is no text".to_owned())
    }
}

/// Gathers what differs, and one more than is shown.
fn compare(path: String, before: Option<&Value>, after: Option<&Value>, changes: &mut Vec<JsonChange>) {
    match (before, after) {
        _ if SHOWN_PARTS.is_below(changes.len() as u64) => {}
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

/// A unified difference with three lines of context; none if there is no difference.
fn unified(before: &str, after: &str, budget: &mut Budget) -> Result<Option<String>, String> {
    let same = |(before, after): &(&str, &str)| before == after;
    let (first, second): (Vec<&str>, Vec<&str>) = (before.lines().collect(), after.lines().collect());
    let pairs = || first.iter().copied().zip(second.iter().copied());
    let start = pairs().take_while(same).count();
    let left = first.len().min(second.len()) - start;
    let end = first.iter().rev().copied().zip(second.iter().rev().copied()).take(left).take_while(same).count();
    let lines = (first.len() + second.len() - 2 * (start + end)) as u64;
    // What the comparison takes at most.
    spend(&mut budget.steps, lines.saturating_mul(lines), &COMPARED_STEPS)?;
    let text = similar::TextDiff::from_lines(before, after).unified_diff().context_radius(3).to_string();
    let shown = text.lines().count() as u64;
    match text.is_empty() {
        true => Ok(None),
        false if SHOWN_LINES.is_below(shown) => Err(SHOWN_LINES.passed(shown)),
        false => Ok(Some(text)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use hutch_model::digest::Kind;
    use hutch_model::snapshot::{MemoryObjects, Name};
    use serde_json::json;
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::time::{Duration, Instant};

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

    fn compared(before: &str, after: &str, budget: &mut Budget) -> (Difference, Result<(), String>) {
        let mut diff = Difference::of(Change::Modified);
        let compared = diff.compare(before, after, budget);
        (diff, compared)
    }

    /// A person decides by what is shown, and another program acts on what is written.
    #[test]
    fn what_reading_would_change_is_compared_as_text() {
        let before = "{\"to\":\"alice\",\"eur\":5,\"n\":1}\n";
        for after in [
            "{\"to\":\"mallory\",\"eur\":6,\"n\":1,\"to\":\"alice\"}\n",
            "{\"to\":\"alice\",\"eur\":6,\"n\":100000000000000000000009}\n",
            "{\"$serde_json::private::RawValue\":\"{\\\"to\\\":\\\"alice\\\",\\\"eur\\\":6}\"}\n",
        ] {
            for (before, after) in [(before, after), (after, before)] {
                let (diff, compared) = compared(before, after, &mut Budget::default());
                compared.unwrap();
                assert!(diff.json.is_empty(), "{after}");
                let told = diff.for_people("pay.json");
                for line in [format!("-{before}"), format!("+{after}")] {
                    assert!(told.contains(line.trim_end()), "{told}");
                }
            }
        }
        let (diff, _) = compared(before, "{\"to\":\"mallory\",\"eur\":5,\"n\":1}\n", &mut Budget::default());
        assert_eq!(diff.for_people("pay.json"), "modified pay.json\n  to: \"alice\" -> \"mallory\"");
    }

    #[test]
    fn text_is_compared_line_by_line_unless_that_is_too_long() {
        let text = |before: &str, after: &str| unified(before, after, &mut Budget::default());
        assert_eq!(text("a\nb\n", "a\nb\n"), Ok(None));
        assert_eq!(text("a\nb\n", "a\nc\n").unwrap().as_deref(), Some("@@ -1,2 +1,2 @@\n a\n-b\n+c\n"));
        assert_eq!(text("a", "a\n").unwrap().as_deref(), Some("@@ -1 +1 @@\n-a\n\\ No newline at end of file\n+a\n"));
        assert!(text("", &"x\n".repeat(401)).unwrap_err().contains("lines"));
    }

    #[test]
    fn what_many_lines_would_take_is_known_before() {
        let lines = |word: &str| (0..80_000).map(|at| format!("{word}{at}\n")).collect::<String>();
        let (before, after) = (lines("a"), lines("b"));
        let (twice, one) = (format!("{before}{before}"), format!("{before}x\n{before}"));
        let compare = || {
            let start = Instant::now();
            let mut budget = Budget::default();
            let (diff, compared) = compared(&before, &after, &mut budget);
            assert!(compared.unwrap_err().contains("more than 100000000") && diff.text.is_none());
            assert_eq!(budget.steps, 0, "what is refused is not begun");
            // One line among many costs no more than the line.
            assert!(unified(&twice, &one, &mut budget).unwrap().is_some());
            assert_eq!(budget.steps, 1);
            start.elapsed()
        };
        // Once, at least: a machine may be busy elsewhere.
        let (begun, mut least) = (Instant::now(), compare());
        while least >= Duration::from_secs(2) && begun.elapsed() < Duration::from_secs(120) {
            least = least.min(compare());
        }
        assert!(least < Duration::from_secs(2), "{least:?}");
    }

    #[test]
    fn all_files_of_a_run_have_one_budget() {
        let lines = |word: &str| (0..3_000).map(|at| format!("{word}{at}\n")).collect::<String>();
        let (before, after, mut budget) = (lines("a"), lines("b"), Budget::default());
        let reasons: Vec<String> = (0..4).filter_map(|_| compared(&before, &after, &mut budget).1.err()).collect();
        assert!(reasons[0].starts_with("lines") && reasons[2].starts_with("the square"), "{reasons:?}");
        let document = |value: u32| json!(vec![json!({"a": value}); 20_000]).to_string();
        let mut shown = Vec::new();
        let mut budget = Budget::default();
        for _ in 0..20 {
            shown.push(budget.document(&document(1)).is_some());
        }
        assert!(shown[0] && !shown[19], "{shown:?}");
        let (many, _) = compared(&document(1), &document(2), &mut Budget::default());
        assert!(many.json.is_empty(), "more parts than are shown are compared as text alone");
    }

    /// Counts how often a folder is read.
    #[derive(Default)]
    struct Counted {
        objects: MemoryObjects,
        folders: AtomicUsize,
    }

    impl Objects for Counted {
        fn get(&self, kind: Kind, digest: &Digest) -> Result<Arc<[u8]>, ObjectError> {
            self.folders.fetch_add(usize::from(kind == Kind::Tree), Ordering::Relaxed);
            self.objects.get(kind, digest)
        }
    }

    #[test]
    fn folders_are_read_once_each() {
        let mut counted = Counted::default();
        let entry = |name: &str, node| Entry { name: Name::new(name).unwrap(), modified_ns: 0, node };
        let (mut paths, mut outer) = (Vec::new(), Vec::new());
        for folder in 0..30 {
            let folder = format!("f{folder:02}");
            let file = counted.objects.insert_file(folder.as_bytes());
            let inner = (0..3).map(|at| entry(&format!("x{at}"), file.clone())).collect();
            paths.extend((0..3).map(|at| format!("a/{folder}/x{at}")));
            let inner = counted.objects.insert_tree(&Tree::new(inner).unwrap());
            outer.push(entry(&folder, inner));
        }
        let outer = counted.objects.insert_tree(&Tree::new(outer).unwrap());
        let Node::Folder { tree, .. } = counted.objects.insert_tree(&Tree::new(vec![entry("a", outer)]).unwrap())
        else {
            panic!("a folder");
        };
        let mut files = Files::of(&counted, &tree);
        for path in &paths {
            let text = files.text(path, &mut Budget::default()).unwrap();
            assert_eq!(text.as_deref(), path.get(2..5), "{path}");
        }
        assert_eq!(counted.folders.load(Ordering::Relaxed), 1 + 1 + 30);
        for absent in ["", "a", "b/x", "a/f00", "a/f99/x0", "a/f00/x0/y"] {
            assert_eq!(files.text(absent, &mut Budget::default()), Ok(None), "{absent}");
        }
    }
}

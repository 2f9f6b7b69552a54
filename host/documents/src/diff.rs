//! What changed in volumes, or in what calls say, for reading: each path with how it changed, and for small files what changed in them. How
//! long that takes does not depend on what the guest wrote: all that is compared at once has one budget, and no folder is read twice in a
//! row.

mod files;

use crate::bounds::{COMPARED_MEMORY, COMPARED_STEPS, SHOWN_LINES, SHOWN_PARTS, spend};
use files::{Files, Renamed};
use hutch::{Answer, DocumentSize, Lost};
use hutch_model::digest::Digest;
use hutch_model::document;
use hutch_model::snapshot::{Change, Changes, ObjectError, Objects, diff, empty_tree};
use hutch_model::terminal::one_line;
use schemars::JsonSchema;
use serde::{Serialize, Serializer};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};

/// One changed path.
#[derive(Debug, Serialize, JsonSchema)]
pub struct FileDiff {
    path: String,
    /// Where the same file or folder, with all that it holds, stood before.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String")]
    from: Option<String>,
    #[serde(flatten)]
    difference: Difference,
}

/// How a file or an answer changed.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Difference {
    #[schemars(with = "String")]
    change: How,
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

/// How a path changed, for reading.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "snake_case")]
enum How {
    Added,
    Modified,
    Removed,
    /// What it holds stood under another path before, and does no longer.
    Renamed,
    Touched,
}

impl From<Change> for How {
    fn from(change: Change) -> How {
        match change {
            Change::Added => How::Added,
            Change::Removed => How::Removed,
            Change::Touched => How::Touched,
            _ => How::Modified,
        }
    }
}

/// One changed part of a JSON document.
#[derive(Debug, PartialEq, Serialize, JsonSchema)]
struct JsonChange {
    /// Where it is; of what is gone, where it was.
    path: String,
    /// The item of a list that it is or is in, as its list names its items.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "BTreeMap<String, Value>")]
    item: Option<Item>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Value")]
    before: Option<Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Value")]
    after: Option<Value>,
}

/// An item of a list, by the field that no two of its items have alike.
#[derive(Debug, Clone, PartialEq)]
struct Item {
    field: &'static str,
    value: Value,
}

impl Serialize for Item {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map([(self.field, &self.value)])
    }
}

/// The fields that name an item of a list, the first one that all items of a list have.
const NAMING: [&str; 4] = ["id", "key", "name", "slug"];

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
    /// Whether it tells all of the change; of a file that is gone that is that it is gone.
    pub fn is_whole(&self) -> bool {
        self.difference.omitted.is_none() || self.difference.change == How::Removed
    }

    /// As lines for people.
    pub fn for_people(&self) -> String {
        joined(self.marked())
    }

    /// The same, each with what it is about.
    pub fn marked(&self) -> Vec<(Mark, String)> {
        let from = self.from.iter().map(|from| format!("{} -> ", one_line(from))).collect::<String>();
        self.difference.marked(&format!("{from}{}", one_line(&self.path)))
    }
}

fn joined(marked: Vec<(Mark, String)>) -> String {
    marked.into_iter().map(|(_, line)| line).collect::<Vec<_>>().join("\n")
}

impl Difference {
    /// As lines for people, under the name of what changed.
    pub fn for_people(&self, name: &str) -> String {
        joined(self.marked(&one_line(name)))
    }

    /// The same, each with what it is about, under what is said of it in one line.
    fn marked(&self, name: &str) -> Vec<(Mark, String)> {
        let mut lines = vec![(Mark::Said, format!("{} {name}", format!("{:?}", self.change).to_lowercase()))];
        let (parts, text) = (self.marked_parts(), self.marked_text());
        let length = |lines: &[(Mark, String)]| lines.iter().map(|(_, line)| line.len()).sum::<usize>();
        let is_text_shorter = !text.is_empty() && length(&text) < length(&parts);
        lines.extend(if parts.is_empty() || is_text_shorter { text } else { parts });
        lines.extend(self.omitted.iter().map(|reason| (Mark::Said, format!("  not compared: {reason}"))));
        lines
    }
}

impl Difference {
    /// What changed in a document, and first what is lost.
    fn marked_parts(&self) -> Vec<(Mark, String)> {
        let (lost, rest): (Vec<&JsonChange>, Vec<&JsonChange>) = self.json.iter().partition(|change| change.is_lost());
        lost.into_iter().chain(rest).map(JsonChange::marked).collect()
    }

    fn marked_text(&self) -> Vec<(Mark, String)> {
        let marked = self.text.iter().flat_map(|text| text.lines()).map(|line| {
            let mark = match line.as_bytes().first() {
                Some(b'+') => Mark::Added,
                Some(b'-') => Mark::Removed,
                _ => Mark::Said,
            };
            (mark, format!("  {line}"))
        });
        marked.collect()
    }

    /// How much is no longer there in what is still there: parts of a document, or lines that a text has less.
    fn lost(&self) -> u64 {
        if self.change != How::Modified {
            return 0;
        }
        if !self.json.is_empty() {
            return self.json.iter().filter(|change| change.is_lost()).count() as u64;
        }
        let lines =
            |sign: char| self.text.iter().flat_map(|text| text.lines()).filter(|line| line.starts_with(sign)).count();
        lines('-').saturating_sub(lines('+')) as u64
    }
}

impl JsonChange {
    fn is_lost(&self) -> bool {
        self.after.is_none()
    }

    fn marked(&self) -> (Mark, String) {
        let mark = match (&self.before, &self.after) {
            (_, None) => Mark::Removed,
            (None, _) => Mark::Added,
            (Some(_), Some(_)) => Mark::Said,
        };
        let show = |value: &Option<Value>| value.as_ref().map_or_else(|| "-".to_owned(), ToString::to_string);
        let item = self.item.iter().map(|item| format!(" ({} {})", item.field, one_line(&item.value.to_string())));
        let item = item.collect::<String>();
        (mark, format!("  {}{item}: {} -> {}", one_line(&self.path), show(&self.before), show(&self.after)))
    }
}

/// How much is lost: paths with what they held, and parts of files that stay.
pub fn lost(diffs: &[FileDiff]) -> Lost {
    let gone = diffs.iter().filter(|diff| diff.difference.change == How::Removed);
    Lost { paths: gone.count() as u64, parts: diffs.iter().map(|diff| diff.difference.lost()).sum() }
}

/// As lines for people.
pub fn for_people(diffs: &[FileDiff]) -> String {
    diffs.iter().map(FileDiff::for_people).collect::<Vec<_>>().join("\n")
}

/// All that a run changed, or would change, in its state and in granted folders. What such a folder held can be read until it is changed.
pub fn file_diffs(answer: &Answer) -> Vec<FileDiff> {
    let mut diffs = Diffs::default();
    for (name, change) in answer.volumes.iter().chain(&answer.mounted) {
        diffs.volume(name, &answer.objects, (&change.before, &change.after), &change.changes);
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
        let mut difference = Difference::of(change.into());
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
        let named = |path: &str| format!("{volume}/{path}");
        let (mut before, mut after) = (Files::of(objects, before), Files::of(objects, after));
        let renamed = Renamed::of(&mut before, &mut after, &changes.listed);
        for path in &changes.listed {
            if let Some(from) = renamed.places.get(path.path.as_str()) {
                let difference = Difference::of(How::Renamed);
                self.found.push(FileDiff { path: named(&path.path), from: Some(named(from)), difference });
                continue;
            }
            if renamed.tells_of(path) {
                continue;
            }
            let mut difference = Difference::of(path.change.into());
            if path.change != Change::Touched {
                let budget = &mut self.budget;
                let texts =
                    before.text(&path.path, budget).and_then(|before| Ok((before, after.text(&path.path, budget)?)));
                let compared = texts.and_then(|(before, after)| match (before, after) {
                    (None, None) => Ok(()),
                    (before, after) if before == after => Err("it is of another kind than it was".to_owned()),
                    (before, after) => {
                        difference.compare(&before.unwrap_or_default(), &after.unwrap_or_default(), budget)
                    }
                });
                difference.omitted = compared.err();
            }
            self.found.push(FileDiff { path: named(&path.path), from: None, difference });
        }
    }
}

impl Difference {
    fn of(change: How) -> Difference {
        Difference { change, json: Vec::new(), text: None, omitted: None }
    }

    fn compare(&mut self, before: &str, after: &str, budget: &mut Budget) -> Result<(), String> {
        if let (Some(before), Some(after)) = (budget.document(before), budget.document(after)) {
            let mut parts = Parts { found: Vec::new(), budget, item: None };
            if parts.compare(String::new(), Some(&before), Some(&after)).is_ok() {
                self.json = parts.found;
            }
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

/// What differs between two documents, as it is found. Ended early, all of it is told as text.
struct Parts<'b> {
    found: Vec<JsonChange>,
    budget: &'b mut Budget,
    /// The item that is being looked at.
    item: Option<Item>,
}

impl Parts<'_> {
    fn compare(&mut self, path: String, before: Option<&Value>, after: Option<&Value>) -> Result<(), String> {
        match (before, after) {
            (Some(before), Some(after)) if before == after => Ok(()),
            (Some(Value::Object(before)), Some(Value::Object(after))) => {
                let names: BTreeSet<&String> = before.keys().chain(after.keys()).collect();
                names.into_iter().try_for_each(|name| {
                    let below = if path.is_empty() { name.clone() } else { format!("{path}.{name}") };
                    self.compare(below, before.get(name), after.get(name))
                })
            }
            (Some(Value::Array(before)), Some(Value::Array(after))) => {
                match NAMING.iter().find_map(|field| Some((*field, named(before, field)?, named(after, field)?))) {
                    Some((field, before, after)) => self.named_items(&path, field, &before, &after),
                    None => self.items(&path, before, after),
                }
            }
            (before, after) => self.push(path, before.cloned(), after.cloned()),
        }
    }

    fn push(&mut self, path: String, before: Option<Value>, after: Option<Value>) -> Result<(), String> {
        let count = self.found.len() as u64 + 1;
        if SHOWN_PARTS.is_below(count) {
            return Err(SHOWN_PARTS.passed(count));
        }
        self.found.push(JsonChange { path, item: self.item.clone(), before, after });
        Ok(())
    }

    /// Items that have names are compared with those of the same name, wherever they stand.
    fn named_items(&mut self, path: &str, field: &'static str, before: &Named, after: &Named) -> Result<(), String> {
        let above = self.item.take();
        let mut compare = |at: usize, named: &Value, before: Option<&Value>, after: Option<&Value>| {
            self.item = Some(Item { field, value: named[field].clone() });
            self.compare(format!("{path}[{at}]"), before, after)
        };
        for (at, (name, item)) in before.listed.iter().enumerate() {
            if !after.places.contains_key(name) {
                compare(at, item, Some(item), None)?;
            }
        }
        for (at, (name, item)) in after.listed.iter().enumerate() {
            let earlier = before.places.get(name).map(|&place| before.listed[place].1);
            compare(at, item, earlier, Some(item))?;
        }
        self.item = above;
        let stayed = |of: &Named, other: &Named| -> Vec<Value> {
            let stayed = of.listed.iter().filter(|(name, _)| other.places.contains_key(name));
            stayed.map(|(_, item)| item[field].clone()).collect()
        };
        let (was, is) = (stayed(before, after), stayed(after, before));
        if was == is { Ok(()) } else { self.push(format!("{path}[*].{field}"), Some(was.into()), Some(is.into())) }
    }

    /// Other items are compared with those that they stand for, once what both lists have in one order is left out.
    fn items(&mut self, path: &str, before: &[Value], after: &[Value]) -> Result<(), String> {
        let start = before.iter().zip(after).take_while(|(before, after)| before == after).count();
        let (first, second) = (&before[start..], &after[start..]);
        let end = first.iter().rev().zip(second.iter().rev()).take_while(|(before, after)| before == after).count();
        let (first, second) = (&first[..first.len() - end], &second[..second.len() - end]);
        let items = (first.len() + second.len()) as u64;
        spend(&mut self.budget.steps, items.saturating_mul(items), &COMPARED_STEPS)?;
        let texts = |items: &[Value]| items.iter().map(Value::to_string).collect::<Vec<_>>();
        for step in similar::capture_diff_slices(similar::Algorithm::Myers, &texts(first), &texts(second)) {
            let (old, new) = (step.old_range(), step.new_range());
            if step.tag() == similar::DiffTag::Equal {
                continue;
            }
            for at in 0..old.len().max(new.len()) {
                let (before, after) = (first[old.clone()].get(at), second[new.clone()].get(at));
                let place = start + at + if after.is_some() { new.start } else { old.start };
                self.compare(format!("{path}[{place}]"), before, after)?;
            }
        }
        Ok(())
    }
}

/// The items of a list, by their names.
struct Named<'v> {
    listed: Vec<(String, &'v Value)>,
    places: BTreeMap<String, usize>,
}

/// Items that all have this field, as a text or a whole number, and no two of them alike.
fn named<'v>(items: &'v [Value], field: &str) -> Option<Named<'v>> {
    let name = |item: &Value| {
        item.get(field).filter(|name| name.is_string() || name.is_i64() || name.is_u64()).map(Value::to_string)
    };
    let listed = items.iter().map(|item| Some((name(item)?, item))).collect::<Option<Vec<_>>>()?;
    let places: BTreeMap<String, usize> = listed.iter().enumerate().map(|(at, (name, _))| (name.clone(), at)).collect();
    (places.len() == listed.len()).then_some(Named { listed, places })
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
#[path = "diff_tests.rs"]
mod tests;

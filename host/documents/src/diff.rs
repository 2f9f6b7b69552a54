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
use serde::{Serialize, Serializer};
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
        self.difference.omitted.is_none() || self.difference.change == Change::Removed
    }

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
        if self.change != Change::Modified {
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

/// How much is lost inside of files that stay.
pub fn lost(diffs: &[FileDiff]) -> u64 {
    diffs.iter().map(|diff| diff.difference.lost()).sum()
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
                    (before, after) if before == after => Err("it is of another kind than it was".to_owned()),
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

    /// The text of a file, and where a link leads; nothing for a folder, and for what is not there.
    fn text(&mut self, path: &str, budget: &mut Budget) -> Result<Option<String>, String> {
        let objects = self.objects;
        let (size, content) = match self.entry(path).map(|entry| &entry.node) {
            Some(Node::File { size, content }) => (size, content),
            Some(Node::Link { target }) => return Ok(Some(format!("-> {target}\n"))),
            _ => return Ok(None),
        };
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
mod tests {
    use super::*;
    use hutch_model::digest::Kind;
    use hutch_model::snapshot::{MemoryObjects, Name};
    use serde_json::json;
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::time::{Duration, Instant};

    fn parts(before: &Value, after: &Value) -> Vec<JsonChange> {
        let mut budget = Budget::default();
        let mut parts = Parts { found: Vec::new(), budget: &mut budget, item: None };
        parts.compare(String::new(), Some(before), Some(after)).unwrap();
        parts.found
    }

    /// By its name something else is found: where a link leads is what it holds.
    #[test]
    fn where_a_link_leads_is_shown_and_what_becomes_one() {
        let mut objects = MemoryObjects::default();
        let text = "-> evil\n";
        let (file, empty) = (objects.insert_file(text.as_bytes()), objects.insert_file(b""));
        let link = |target: &str| Node::Link { target: target.into() };
        for (before, after, shown) in [
            (link("good"), link("evil"), "--> good\n  +-> evil"),
            (empty, link("evil"), "+-> evil"),
            (file, link("evil"), "not compared: it is of another kind than it was"),
        ] {
            let mut state = |node: Node| {
                let entry = Entry { name: Name::new("conf").unwrap(), modified_ns: 0, node };
                match objects.insert_tree(&Tree::new(vec![entry]).unwrap()) {
                    Node::Folder { tree, .. } => BTreeMap::from([("state".to_owned(), tree)]),
                    _ => unreachable!(),
                }
            };
            let (before, after) = (state(before), state(after));
            let (diffs, omitted) = state_diffs(&objects, &before, &after).unwrap();
            let said = for_people(&diffs);
            assert!(omitted == 0 && said.contains(shown), "{said}");
            assert_eq!(diffs.iter().all(FileDiff::is_whole), !shown.starts_with("not"), "{said}");
        }
    }

    #[test]
    fn json_is_compared_part_by_part() {
        let before = json!({"a": 1, "b": [1, 2], "c": {"d": null}});
        let after = json!({"a": 1, "b": [1, 3, 4], "c": {"d": true}, "e": 0});
        let change = |path: &str, before, after| JsonChange { path: path.to_owned(), item: None, before, after };
        let expect = [
            change("b[1]", Some(json!(2)), Some(json!(3))),
            change("b[2]", None, Some(json!(4))),
            change("c.d", Some(json!(null)), Some(json!(true))),
            change("e", None, Some(json!(0))),
        ];
        assert_eq!(parts(&before, &after), expect);
    }

    fn lines(before: &Value, after: &Value) -> Vec<String> {
        parts(before, after).iter().map(|part| part.marked().1.trim().to_owned()).collect()
    }

    #[test]
    fn items_are_compared_with_those_of_their_name() {
        let item = |id: u32| json!({"id": format!("t{id}"), "title": format!("title {id}"), "tags": []});
        let list = |ids: &[u32]| json!({"items": ids.iter().map(|id| item(*id)).collect::<Vec<_>>()});
        let nine: Vec<u32> = (1..=9).collect();
        // One of nine is gone: one line, that names it.
        for gone in 1..=9 {
            let rest: Vec<u32> = nine.iter().copied().filter(|id| *id != gone).collect();
            let line = format!("items[{}] (id \"t{gone}\"): {} -> -", gone - 1, item(gone));
            assert_eq!(lines(&list(&nine), &list(&rest)), [line]);
            let line = format!("items[{}] (id \"t{gone}\"): - -> {}", gone - 1, item(gone));
            assert_eq!(lines(&list(&rest), &list(&nine)), [line]);
        }
        let mut after = list(&[2, 4, 3, 10]);
        after["items"][1]["title"] = json!("other");
        assert_eq!(
            lines(&list(&[1, 2, 3, 4]), &after),
            [
                format!("items[0] (id \"t1\"): {} -> -", item(1)),
                "items[1].title (id \"t4\"): \"title 4\" -> \"other\"".to_owned(),
                format!("items[3] (id \"t10\"): - -> {}", item(10)),
                "items[*].id: [\"t2\",\"t3\",\"t4\"] -> [\"t2\",\"t4\",\"t3\"]".to_owned(),
            ]
        );
        // A name that two have, or that is no name, names nothing; a text and a number are two names.
        for names in [[json!(1), json!(1)], [json!(null), json!(2)], [json!([]), json!(2)]] {
            let [first, second] = names;
            assert!(named(&[json!({"id": first}), json!({"id": second})], "id").is_none());
        }
        assert!(named(&[json!({"id": 1}), json!({"id": "1"})], "id").is_some());
        let slugs = |names: &[&str]| Value::from(names.iter().map(|name| json!({"slug": name})).collect::<Vec<_>>());
        assert_eq!(lines(&slugs(&["a", "b"]), &slugs(&["b"])), [r#"[0] (slug "a"): {"slug":"a"} -> -"#]);
    }

    #[test]
    fn items_without_names_are_compared_where_the_lists_differ() {
        let (before, after) = (json!(["a", "b", "c", "d", "e"]), json!(["b", "c", "x", "e", "f"]));
        assert_eq!(lines(&before, &after), [r#"[0]: "a" -> -"#, r#"[2]: "d" -> "x""#, r#"[4]: - -> "f""#]);
    }

    /// Whoever puts what is told into the document of before has that of after: nothing that differs is left untold, and nothing told that
    /// does not differ. Items are told by name, so lists are held to be the same but for their order where that is told.
    #[test]
    fn nothing_differs_untold() {
        let mut random = 1_u64;
        let mut below = |bound: u64| {
            random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (random >> 33) % bound
        };
        for _ in 0..2_000 {
            let mut list = |is_named: bool| {
                let ids = (0..below(6)).map(|_| below(8)).collect::<Vec<_>>();
                let items = ids.into_iter().map(|id| {
                    let value = below(3);
                    if is_named { json!({"id": id, "n": value}) } else { json!([value]) }
                });
                items.collect::<Vec<_>>()
            };
            for is_named in [false, true] {
                let (before, after) = (list(is_named), list(is_named));
                let told = parts(&before.clone().into(), &after.clone().into());
                assert_eq!(told.is_empty(), before == after, "{before:?} {after:?}");
                let gone = told.iter().filter(|part| part.before.is_some() && part.after.is_none());
                let come = told.iter().filter(|part| part.before.is_none() && part.after.is_some());
                let whole = |part: &&JsonChange| part.path.matches(['[', '.']).count() == 1;
                assert_eq!(
                    before.len() + come.filter(whole).count(),
                    after.len() + gone.filter(whole).count(),
                    "{before:?} {after:?} {told:?}"
                );
            }
        }
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

//! Differences as they are read, and that comparing is bounded.

use super::*;
use hutch_model::digest::Kind;
use hutch_model::snapshot::{Entry, MemoryObjects, Name, Node, Tree};
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

/// A name, and what stands there: a text, or a folder of such.
enum Held<'h> {
    Text(&'h str, &'h str),
    Folder(&'h str, &'h [Held<'h>]),
}

fn folder(objects: &mut MemoryObjects, held: &[Held<'_>]) -> Node {
    let entries = held.iter().map(|one| {
        let (name, node) = match one {
            Held::Text(name, text) => (name, objects.insert_file(text.as_bytes())),
            Held::Folder(name, held) => (name, folder(objects, held)),
        };
        Entry { name: Name::new(name).unwrap(), modified_ns: 0, node }
    });
    let tree = Tree::new(entries.collect()).unwrap();
    objects.insert_tree(&tree)
}

/// What was there, what is there, the lines that tell it, and how many paths are lost.
type Renaming<'r> = (&'r [Held<'r>], &'r [Held<'r>], &'r [&'r str], u64);

#[test]
fn what_gets_another_name_is_one_line_and_no_loss() {
    use Held::{Folder, Text};
    let many: &[Held<'_>] = &[Text("a", "one"), Folder("in", &[Text("b", "two")])];
    let whole: &[Held<'_>] = &[Text("c", "z"), Folder("in", &[Text("b", "y")])];
    let cases: [Renaming<'_>; 7] = [
        (&[Text("a", "x")], &[Text("b", "x")], &["renamed state/a -> state/b"], 0),
        (&[Folder("d", many)], &[Folder("e", many)], &["renamed state/d -> state/e"], 0),
        // Files of one content go by the order of their names, and a file more is added.
        (
            &[Text("a", "x\n"), Text("b", "x\n")],
            &[Text("c", "x\n"), Text("d", "x\n"), Text("e", "x\n")],
            &["renamed state/a -> state/c", "renamed state/b -> state/d", "added state/e", "  @@ -0,0 +1 @@", "  +x"],
            0,
        ),
        // Out of a folder that is gone; the folder itself is.
        (&[Folder("d", &[Text("a", "x")])], &[Text("a", "x")], &["renamed state/d/a -> state/a", "removed state/d"], 1),
        // A part of a folder has another name, so the folder can't have one.
        (
            &[Folder("d", whole)],
            &[Folder("a", &[Text("b", "y")]), Folder("e", &[Text("c", "z"), Folder("in", &[Text("e", "w\n")])])],
            &[
                "renamed state/d/in -> state/a",
                "removed state/d",
                "added state/e",
                "renamed state/d/c -> state/e/c",
                "added state/e/in",
                "added state/e/in/e",
                "  @@ -0,0 +1 @@",
                "  +w",
            ],
            1,
        ),
        // Nothing is as much like nothing as anything else, and what stays was copied.
        (&[Text("a", "")], &[Text("b", "")], &["removed state/a", "added state/b"], 1),
        (&[Text("a", "")], &[Text("a", ""), Text("b", "")], &["added state/b"], 0),
    ];
    for (before, after, shown, paths) in cases {
        let mut objects = MemoryObjects::default();
        let mut state = |held: &[Held<'_>]| match folder(&mut objects, held) {
            Node::Folder { tree, .. } => BTreeMap::from([("state".to_owned(), tree)]),
            _ => unreachable!(),
        };
        let (before, after) = (state(before), state(after));
        let (diffs, _) = state_diffs(&objects, &before, &after).unwrap();
        let mut lines: Vec<String> = for_people(&diffs).lines().map(str::to_owned).collect();
        let mut shown = shown.to_vec();
        lines.sort();
        shown.sort();
        assert_eq!(lines, shown);
        assert_eq!(lost(&diffs), Lost { paths, parts: 0 }, "{shown:?}");
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
    let mut diff = Difference::of(How::Modified);
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
    let Node::Folder { tree, .. } = counted.objects.insert_tree(&Tree::new(vec![entry("a", outer)]).unwrap()) else {
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

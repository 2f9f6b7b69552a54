//! The application as its callers see it. Paths are those of the package, as in a run of the host.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use hutch_guest::testing::Harness;
use serde_json::{Value, json};

use super::*;

fn notes() -> Harness<Database<Notes>> {
    std::env::set_current_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/../../../packages/notes")).unwrap();
    Harness::new(&NOTES)
}

fn titles(found: &Value) -> Vec<&str> {
    found["items"].as_array().unwrap().iter().map(|note| note["title"].as_str().unwrap()).collect()
}

#[test]
fn the_contract_of_the_package_is_that_of_the_program() {
    notes().contract("schemas/commands.json");
}

#[test]
fn every_example_ends_as_it_says() {
    notes().examples();
}

#[test]
fn tags_and_links_are_those_of_the_prose() {
    let notes = notes();
    let orchard = notes.ok(&["write", "Orchard", "--file", "samples/orchard.md"]);
    let orchard = &orchard["items"][0];
    assert_eq!(orchard["tags"], json!(["autumn", "garden"]));
    assert_eq!((&orchard["links"], &orchard["missing"]), (&json!(["Cider", "Perry"]), &json!(["Cider", "Perry"])));
    for (text, tags, links) in [
        ("(#Work/Plans, #no-1: #2 a#b # c ##d", json!(["no-1", "work/plans"]), json!([])),
        ("#über_all", json!(["über_all"]), json!([])),
        ("`#code` and `[[code]]`\n\n    #indented\n", json!([]), json!([])),
        ("[[Orchard#Frost]] [[orchard|it]] [[ ]] [[#Frost]] [x](Orchard)", json!([]), json!(["Orchard"])),
        ("# Heading #tag\n\n- [[One]] #TAG", json!(["tag"]), json!(["One"])),
        ("", json!([]), json!([])),
    ] {
        let note = notes.ok(&["write", "Note", "--replace", "--text", text]);
        assert_eq!((&note["items"][0]["tags"], &note["items"][0]["links"]), (&tags, &links), "{text}");
    }
}

#[test]
fn a_link_is_known_from_both_ends() {
    let notes = notes();
    notes.ok(&["write", "A", "--text", "See [[b]] and [[C]]."]);
    notes.ok(&["write", "B", "--text", "Nothing."]);
    let part = |title: &str, field: &str| notes.ok(&["show", title])["items"][0][field].clone();
    assert_eq!((part("A", "missing"), part("b", "backlinks")), (json!(["C"]), json!(["A"])));
    // It is of the title, not of the note that had it.
    notes.ok(&["write", "B", "--replace", "--text", "Something."]);
    assert_eq!(part("B", "backlinks"), json!(["A"]));
    notes.ok(&["remove", "B", "--confirm"]);
    assert_eq!(part("A", "missing"), json!(["b", "C"]));
    notes.ok(&["remove", "A", "--confirm"]);
    notes.ok(&["write", "B", "--text", ""]);
    assert_eq!(part("B", "backlinks"), json!([]));
}

#[test]
fn a_note_is_written_over_only_when_told() {
    let notes = notes();
    notes.ok(&["write", "Plan", "--text", "One.\n"]);
    assert_eq!(notes.refused(&["write", "plan", "--text", "Two."])["code"], "NOTE_EXISTS");
    let text = |args: &[&str]| notes.ok(&[&["write", "Plan"], args].concat())["items"][0]["text"].clone();
    assert_eq!(text(&["--append", "--text", "Two."]), "One.\n\nTwo.");
    assert_eq!(text(&["--replace", "--text", "Three."]), "Three.");
    for both in [["--append", "--replace"], ["--text=x", "--file=samples/orchard.md"]] {
        assert_eq!(notes.refused(&["write", "Plan", both[0], both[1]])["code"], "UNEXPECTED_ARGUMENT");
    }
    assert_eq!(notes.refused(&["show", "Plans"])["code"], "NOT_FOUND");
}

#[test]
fn words_are_found_whatever_their_form_and_the_best_first() {
    let notes = notes();
    notes.at("2026-04-01T00:00:00Z");
    notes.ok(&["write", "Poirier", "--text", "L'été, an apple tree and late frost #garden"]);
    notes.at("2026-04-02T00:00:00Z");
    notes.ok(&["write", "Apples", "--text", "Late, after the frost; apples and apples #garden #cellar"]);
    notes.at("2026-04-03T00:00:00Z");
    notes.ok(&["write", "Letters", "--text", "An e-mail about nothing"]);
    for (words, found) in [
        (&["ETE"][..], &["Poirier"][..]),
        (&["late frost"], &["Apples", "Poirier"]),
        (&["\"late frost\""], &["Poirier"]),
        (&["apple*"], &["Apples", "Poirier"]),
        (&["title:apples"], &["Apples"]),
        (&["frost NOT tree"], &["Apples"]),
        (&["frost OR nothing", "--tag", "cellar"], &["Apples"]),
        (&["\"e-mail\""], &["Letters"]),
        (&["nowhere"], &[]),
        (&[], &["Letters", "Apples", "Poirier"]),
        (&["--tag", "#Garden"], &["Apples", "Poirier"]),
        (&["--limit", "1", "--offset", "1"], &["Apples"]),
    ] {
        assert_eq!(titles(&notes.ok(&[&["search"], words].concat())), found, "{words:?}");
    }
    assert_eq!(notes.ok(&["search", "nothing"])["items"][0]["excerpt"], "An e-mail about **nothing**");
}

#[test]
fn what_is_no_question_is_refused() {
    let notes = notes();
    notes.ok(&["write", "A", "--text", "x"]);
    for words in [
        "e-mail",
        "\"open",
        "(",
        "AND",
        "*",
        "nocolumn:x",
        "NOT x",
        "don't",
        "x'; DROP TABLE notes; --",
        "^",
        "NEAR(",
        "  ",
    ] {
        assert_eq!(notes.refused(&["search", words])["code"], "QUERY_INVALID", "{words}");
    }
    assert_eq!(titles(&notes.ok(&["search"])), ["A"]);
    // As deep as a question can be.
    let deep = format!("{}x{}", "(".repeat(499), ")".repeat(499));
    assert_eq!(notes.refused(&["search", &deep])["code"], "QUERY_INVALID");
    let many = vec!["x"; 500].join(" ");
    notes.ok(&["search", &many[..999]]);
}

#[test]
fn a_text_that_is_nested_for_ever_is_a_note_as_any_other() {
    let notes = notes();
    for text in
        [">".repeat(50_000), "[[".repeat(50_000), "- ".repeat(50_000), "*_".repeat(50_000), "![[".repeat(33_000)]
    {
        assert_eq!(notes.ok(&["write", "Deep", "--replace", "--text", &text])["items"][0]["text"], text.as_str());
    }
}

#[test]
fn what_is_removed_is_in_no_byte_of_the_state() {
    let notes = notes();
    notes.ok(&["write", "Orchard", "--file", "samples/orchard.md"]);
    notes.ok(&["write", "Other", "--text", "frost"]);
    // The index has a word without what it begins with as the word before it.
    assert!(notes.state().unwrap().contains("oirier\0") || notes.state().unwrap().matches("oirier").count() > 1);
    notes.ok(&["remove", "Orchard", "--confirm"]);
    for word in ["oirier", "lossom", "usset", "utumn", "erry"] {
        assert!(!notes.state().unwrap().contains(word), "{word}");
    }
    assert_eq!(titles(&notes.ok(&["search", "frost"])), ["Other"]);
}

#[test]
fn what_was_found_can_be_removed_at_once() {
    let notes = notes();
    notes.ok(&["write", "A", "--text", "#old"]);
    notes.ok(&["write", "B", "--text", "#old"]);
    let found = notes.ok(&["search", "--tag", "old"]).to_string();
    assert_eq!(notes.batch(&["remove", "--json-input", "--confirm"], &found)["count"], 2);
    assert_eq!(notes.ok(&["search"])["total"], 0);
}

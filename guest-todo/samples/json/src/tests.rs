//! The application as its callers see it. Paths are those of the package, as in a run of the host.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use hutch_guest::testing::Harness;
use serde_json::json;

use super::{JSON, Json};

fn application() -> Harness<()> {
    std::env::set_current_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/../../../packages/json")).unwrap();
    Harness::new(&JSON)
}

/// The document of a call about a file with this content.
fn about(name: &str, content: &str, command: &str, args: &[&str]) -> Json {
    let file = std::env::temp_dir().join(format!("hutch-json-{}-{name}", std::process::id()));
    std::fs::write(&file, content).unwrap();
    let path = file.to_str().unwrap();
    let given = if command == "shape" { vec![command, path] } else { [&[command, args[0], path], &args[1..]].concat() };
    let reply = application().call(&given, std::io::empty());
    std::fs::remove_file(&file).unwrap();
    serde_json::from_str(&reply.stdout).unwrap()
}

#[test]
fn the_contract_of_the_package_is_that_of_the_program() {
    application().contract("schemas/commands.json");
}

#[test]
fn every_example_ends_as_it_says() {
    application().examples();
}

#[test]
fn a_filter_sees_one_document_after_the_other_or_all_of_them() {
    let lines = "{\"ms\":1}\n{\"ms\":2}\n";
    assert_eq!(about("each", lines, "query", &[".ms"])["items"], json!([{"value": 1}, {"value": 2}]));
    assert_eq!(about("slurp", lines, "query", &["map(.ms) | add", "--slurp"])["items"], json!([{"value": 3}]));
    let page = about("page", "[3,1,2]", "query", &["sort[]", "--limit", "1", "--offset", "1"]);
    assert_eq!((&page["items"], &page["total"], &page["hasMore"]), (&json!([{"value": 2}]), &json!(3), &json!(true)));
    let functions =
        about("functions", "\"2026-04-01\"", "query", &[r#"test("^[0-9]+"), (split("-") | length), @base64"#]);
    assert_eq!(functions["items"], json!([{"value": true}, {"value": 3}, {"value": "MjAyNi0wNC0wMQ=="}]));
}

#[test]
fn what_does_not_work_is_told() {
    let long = format!("[{}1]", "1,".repeat(10_000));
    for (content, filter, code, told) in [
        ("{", ".", "JSON_INVALID", "is no JSON"),
        ("[1,]", ".", "JSON_INVALID", "is no JSON"),
        ("1", ".[", "FILTER_INVALID", "expected closing bracket at the end"),
        ("1", ".a.", "FILTER_INVALID", "expected"),
        ("1", "1 +* 2", "FILTER_INVALID", "at \""),
        ("1", "nothing", "FILTER_INVALID", "there is no filter nothing"),
        ("1", "$nothing", "FILTER_INVALID", "there is no variable $nothing"),
        ("1", "import \"a\" as a; .", "FILTER_INVALID", "imports nothing"),
        (&long, ".a", "FILTER_FAILED", "cannot index"),
        ("1", "error(\"x\")", "FILTER_FAILED", "x"),
    ] {
        let error = about("wrong", content, "query", &[filter])["error"].clone();
        assert_eq!(error["code"], code, "{filter}: {error}");
        let message = error["message"].as_str().unwrap();
        assert!(message.contains(told) && message.len() < 300, "{filter}: {message}");
    }
}

#[test]
fn a_shape_names_every_path_once() {
    let parts = application().ok(&["shape", "samples/planets.json", "--fields", "path,types,count"]);
    let part = |path: &str, types: &[&str], count: usize| json!({"path": path, "types": types, "count": count});
    let expected = json!([
        part(".", &["array"], 1),
        part("[]", &["object"], 3),
        part("[].moons", &["array"], 3),
        part("[].moons[]", &["string"], 6),
        part("[].name", &["string"], 3),
        part("[].radius_km", &["number"], 3),
        part("[].rings", &["boolean"], 3),
        part("[][\"visited by\"]", &["object"], 1),
        part("[][\"visited by\"].Cassini", &["number"], 1),
    ]);
    assert_eq!(parts["items"], expected);
}

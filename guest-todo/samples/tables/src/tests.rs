//! The application as its callers see it. Paths are those of the package, as in a run of the host.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use hutch_guest::testing::Harness;
use serde_json::{Value, json};

use super::*;

fn tables() -> Harness<Database> {
    std::env::set_current_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/../../../packages/tables")).unwrap();
    Harness::new(&TABLES)
}

/// What importing this comes to.
fn import(csv: &[u8]) -> Result<Table, Failure> {
    store::import(&mut Database::default(), "t", csv, b',', false)
}

fn code(failure: &Value) -> &str {
    failure["code"].as_str().unwrap()
}

#[test]
fn the_contract_of_the_package_is_that_of_the_program() {
    tables().contract("schemas/commands.json");
}

#[test]
fn every_example_ends_as_it_says() {
    tables().examples();
}

#[test]
fn numbers_stay_numbers_and_other_texts_what_they_are() {
    let tables = tables();
    let file = std::env::temp_dir().join(format!("hutch-tables-{}.csv", std::process::id()));
    std::fs::write(&file, "whole,real,code,\"odd \"\"name\"\"\"\n1,1,007,a\n-3,2.5,12,\"b,\nc\"\n,,,\n").unwrap();
    let table = tables.ok(&["import", "t", file.to_str().unwrap()]);
    std::fs::remove_file(&file).unwrap();
    assert_eq!(table["items"][0]["columns"], json!(["whole INTEGER", "real REAL", "code TEXT", "odd \"name\" TEXT"]));
    let answer = tables.ok(&["query", "SELECT * FROM t WHERE whole IS NOT NULL"]);
    let rows = [json!({"row": [1, 1.0, "007", "a"]}), json!({"row": [-3, 2.5, "12", "b,\nc"]})];
    assert_eq!(answer["items"], json!(rows));
    let nulls = tables.ok(&["query", "SELECT count(*) - count(whole) - count(code) + count(real) AS n FROM t"]);
    assert_eq!(nulls["items"][0]["row"][0], 3 - 2 - 2 + 2);
}

#[test]
fn a_file_that_is_no_table_is_refused_with_its_line() {
    for (csv, told) in [
        (&b"a,b\n1,2\n3\n"[..], "line: 3"),
        (b"a,b\n1,2,3\n", "line: 2"),
        (b"a,,c\n1,2,3\n", "leaves the name"),
        (b"a,A\n1,2\n", "duplicate column name: A"),
        (b"a\n\xff\n", "UTF-8"),
        (b"", "syntax error"),
        (b"a,b\n \n", "line: 2"),
    ] {
        let failure = import(csv).err().unwrap();
        assert_eq!(failure.code.code, "CSV_INVALID", "{}", failure.message);
        assert!(failure.message.contains(told), "{}", failure.message);
    }
    let wide = vec!["x"; 3000].iter().enumerate().map(|(at, x)| format!("{x}{at}")).collect::<Vec<_>>().join(",");
    assert!(import(wide.as_bytes()).err().unwrap().message.contains("too many columns"));
}

#[test]
fn a_query_reads_and_does_nothing_else() {
    let tables = tables();
    tables.ok(&["import", "cities", "samples/cities.csv"]);
    let before = tables.state();
    for sql in [
        "INSERT INTO cities VALUES ('x', 'y', 1, 1.0)",
        "UPDATE cities SET people = 0",
        "WITH gone AS (SELECT 1) DELETE FROM cities",
        "DROP TABLE cities",
        "CREATE TEMP TABLE t (a)",
        "ATTACH 'state/other' AS other",
        "PRAGMA query_only = OFF",
        "VACUUM INTO 'state/copy'",
        "BEGIN",
        "REINDEX",
    ] {
        assert_eq!(code(&tables.refused(&["query", sql])), "SQL_REFUSED", "{sql}");
    }
    for sql in ["SELEKT 1", "SELECT 1; SELECT 2", "SELECT nothing FROM cities", "SELECT load_extension('x')"] {
        assert_eq!(code(&tables.refused(&["query", sql])), "SQL_INVALID", "{sql}");
    }
    assert_eq!(tables.state(), before);
}

#[test]
fn an_answer_comes_in_pages_by_name() {
    let tables = tables();
    tables.ok(&["import", "cities", "samples/cities.csv"]);
    let answer = tables.ok(&[
        "query",
        "SELECT city, people, area FROM cities ORDER BY people DESC",
        "--limit",
        "1",
        "--offset",
        "1",
    ]);
    assert_eq!(answer["columns"], json!(["city", "people", "area"]));
    assert_eq!(answer["items"], json!([{"row": ["Berlin", 3_677_472, 891.12]}]));
    assert_eq!((&answer["total"], &answer["hasMore"]), (&json!(6), &json!(true)));
    let odd = tables.ok(&["query", "SELECT NULL, x'00ff', 9e999"]);
    assert_eq!(odd["items"][0]["row"], json!([null, "00ff", "inf"]));
}

#[test]
fn chance_is_that_of_the_call() {
    let draw = || tables().ok(&["query", "SELECT random(), random()"])["items"][0]["row"].clone();
    let drawn = draw();
    assert!(drawn[0].is_i64() && drawn[0] != drawn[1] && drawn != draw(), "{drawn}");
    let blob =
        |length: &str| tables().ok(&["query", &format!("SELECT randomblob({length})")])["items"][0]["row"][0].clone();
    assert_ne!(blob("20"), blob("20"));
    assert_eq!(["-1", "0", "1", "20"].map(|length| blob(length).as_str().unwrap().len()), [2, 2, 2, 40]);
}

#[test]
fn a_state_that_is_no_database_is_refused_and_left() {
    let storage = hutch_guest::storage::Memory::of("SQLite format 3\0 and nothing of it");
    let now = hutch_guest::Instant::parse("2026-04-01T00:00:00Z").unwrap();
    let reply = TABLES.run(&["tables".to_owned()], now, &storage, std::io::empty());
    assert!(reply.stdout.contains("STATE_CORRUPT"), "{}", reply.stdout);
}

#[test]
fn what_is_dropped_is_in_no_byte_of_the_state() {
    let tables = tables();
    tables.ok(&["import", "cities", "samples/cities.csv"]);
    assert!(tables.state().unwrap().contains("Reykjav"));
    tables.ok(&["drop", "cities", "--confirm"]);
    assert!(!tables.state().unwrap().contains("Reykjav"));
}

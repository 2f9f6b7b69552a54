//! A state in SQLite: what it is kept as, and what becomes of one that another version of the application left.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use hutch_guest::sqlite::rusqlite::Connection;
use hutch_guest::sqlite::{Columns, Database, SQL_INVALID, SQL_REFUSED, Schema, Values};
use hutch_guest::storage::Memory;
use hutch_guest::testing::Harness;
use hutch_guest::{Call, Changed, Command, Failure, Instant, Page, Reads, Row, Writes};
use serde_json::{Value, json};

struct Notes;

impl Schema for Notes {
    const FILE: &'static str = "notes.sqlite";
    const STEPS: &'static [&'static str] =
        &["CREATE TABLE notes (text TEXT NOT NULL) STRICT", "ALTER TABLE notes ADD COLUMN stars INTEGER DEFAULT 3"];
}

#[derive(Row)]
struct Done {
    rows: usize,
}

/// Does what a statement of the application's own says, which may be wrong.
#[derive(Command)]
#[command(write)]
struct Change {
    /// the statement
    #[arg(positional, free_text)]
    sql: String,
}

impl Writes for Change {
    type State = Database<Notes>;
    type Row = Done;

    fn run(self, database: &mut Database<Notes>, _: &Call) -> Result<Changed<Done>, Failure> {
        Ok(Changed::yes(Done { rows: database.execute(&self.sql, [])? }))
    }
}

/// Answers a question.
#[derive(Command)]
#[command(errors(SQL_INVALID, SQL_REFUSED))]
struct Ask {
    /// the question
    #[arg(positional, free_text)]
    sql: String,
}

impl Reads for Ask {
    type State = Database<Notes>;
    type Answer = Page<Values, Columns>;

    fn run(self, database: &Database<Notes>, call: &Call) -> Result<Self::Answer, Failure> {
        database.ask(&self.sql, call)
    }
}

/// Asks what may be refused, and changes something in the same call.
#[derive(Command)]
#[command(write, name = "both")]
struct AskAndChange {
    /// the question
    #[arg(positional, free_text)]
    question: String,
    /// the statement
    #[arg(positional, free_text)]
    sql: String,
}

impl Writes for AskAndChange {
    type State = Database<Notes>;
    type Row = Done;

    fn run(self, database: &mut Database<Notes>, call: &Call) -> Result<Changed<Done>, Failure> {
        let _ = database.ask(&self.question, call);
        Ok(Changed::yes(Done { rows: database.execute(&self.sql, [])? }))
    }
}

hutch_guest::application! {
    /// Keeps notes
    static NOTES: Database<Notes> = "notes";
    commands: [Change, Ask, AskAndChange]
}

/// The bytes of a database in which this was done.
fn written(sql: &str) -> Vec<u8> {
    let mut connection = Connection::open_in_memory().unwrap();
    connection.execute_batch(sql).unwrap();
    connection.serialize("main").unwrap().to_vec()
}

/// What a call answers on these bytes of a state.
fn asked(state: &[u8], sql: &str) -> Value {
    let now = Instant::parse("2026-04-01T00:00:00Z").unwrap();
    let storage = Memory::of(state);
    let reply = NOTES.run(&["ask".to_owned(), sql.to_owned()], now, &storage, std::io::empty());
    serde_json::from_str(&reply.stdout).unwrap()
}

#[test]
fn a_state_takes_the_steps_that_it_lacks_and_no_other() {
    let all = "SELECT text, stars FROM notes";
    let first =
        "CREATE TABLE notes (text TEXT NOT NULL) STRICT; INSERT INTO notes VALUES ('a'); PRAGMA user_version = 1";
    assert_eq!(asked(&written(first), all)["items"], json!([{"row": ["a", 3]}]));
    let second = format!("{first}; ALTER TABLE notes ADD COLUMN stars INTEGER DEFAULT 5; PRAGMA user_version = 2");
    assert_eq!(asked(&written(&second), all)["items"], json!([{"row": ["a", 5]}]));
    for version in [3, -1] {
        let other = asked(&written(&format!("{second}; PRAGMA user_version = {version}")), all);
        assert_eq!(other["error"]["code"], "STATE_CORRUPT", "{other}");
        assert!(other["error"]["message"].as_str().unwrap().contains(&format!("user_version is {version}")), "{other}");
    }
    // A step that fails is told, and the state is left.
    let halfway = asked(&written("CREATE TABLE notes (other TEXT)"), all);
    assert!(halfway["error"]["message"].as_str().unwrap().contains("already exists"), "{halfway}");
}

#[test]
fn what_was_kept_is_read_again_and_what_was_deleted_is_in_no_byte_of_it() {
    let notes = Harness::new(&NOTES);
    notes.ok(&["change", "INSERT INTO notes (text) VALUES ('something secret'), ('something plain')"]);
    assert!(notes.state().unwrap().contains("something secret"));
    notes.ok(&["change", "DELETE FROM notes WHERE text = 'something secret'"]);
    let state = notes.state().unwrap();
    assert!(!state.contains("something secret") && state.contains("something plain"));
    let all = notes.ok(&["ask", "SELECT * FROM notes"]);
    assert_eq!(
        (&all["items"], &all["columns"]),
        (&json!([{"row": ["something plain", 3]}]), &json!(["text", "stars"]))
    );
}

#[test]
fn a_mistake_of_the_application_is_none_of_the_callers() {
    let notes = Harness::new(&NOTES);
    let defect = notes.refused(&["change", "INSERT INTO notes (text) VALUES (NULL)"]);
    assert_eq!(defect["code"], "INTERNAL_ERROR");
    assert!(defect["message"].as_str().unwrap().contains("NOT NULL constraint failed"), "{defect}");
    assert_eq!(notes.refused(&["ask", "SELEKT"])["code"], "SQL_INVALID");
}

#[test]
fn a_question_that_is_refused_leaves_the_application_its_hands() {
    let notes = Harness::new(&NOTES);
    for question in ["INSERT INTO notes (text) VALUES ('a')", "PRAGMA user_version = 7", "SELEKT", "SELECT 1"] {
        notes.ok(&["both", question, "INSERT INTO notes (text) VALUES ('b')"]);
    }
    assert_eq!(notes.ok(&["ask", "SELECT group_concat(text) FROM notes"])["items"], json!([{"row": ["b,b,b,b"]}]));
}

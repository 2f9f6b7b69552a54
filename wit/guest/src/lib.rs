//! Command-line applications for hutch, written as data: a command is a struct whose fields are its parameters, and a function
//! from it and the state to an answer. Everything else follows from these types and cannot differ from them: the reading of
//! arguments, the contract that the component exports, `--help`, `--version`, `--brief`, `--human`, `--fields`, `--quiet`, and,
//! for a command that changes the state, `--dry-run` and batches with `--json-input`.
//!
//! ```
//! use hutch_guest::{Call, Changed, Command, Failure, Page, Reads, Row, Writes, table};
//! use serde::{Deserialize, Serialize};
//!
//! hutch_guest::id!(pub NoteId, "note_");
//!
//! /// What is kept and what is shown.
//! #[derive(Clone, Debug, PartialEq, Deserialize, Serialize, Row)]
//! struct Note {
//!     id: NoteId,
//!     #[row(last)]
//!     text: String,
//! }
//!
//! impl table::Item for Note {
//!     type Id = NoteId;
//!     const FILE: &'static str = "notes.json";
//!     fn id(&self) -> NoteId {
//!         self.id
//!     }
//! }
//!
//! type Notes = table::Table<Note>;
//!
//! /// Writes a note down.
//! #[derive(Command)]
//! #[command(write, errors(table::LIMIT_REACHED))]
//! #[example("write a note", ["Buy milk"])]
//! struct Add {
//!     /// what to note
//!     #[arg(positional, free_text, min_length = 1, max_length = 500)]
//!     text: String,
//! }
//!
//! impl Writes for Add {
//!     type State = Notes;
//!     type Row = Note;
//!     fn run(self, notes: &mut Notes, _: &Call) -> Result<Changed<Note>, Failure> {
//!         notes.add(|id| Note { id, text: self.text })
//!     }
//! }
//!
//! /// Shows the notes, in the order they were written.
//! #[derive(Command)]
//! #[example("show all", [])]
//! struct List {}
//!
//! impl Reads for List {
//!     type State = Notes;
//!     type Answer = Page<Note>;
//!     fn run(self, notes: &Notes, call: &Call) -> Result<Page<Note>, Failure> {
//!         Ok(call.page(notes.items(), Note::clone))
//!     }
//! }
//!
//! hutch_guest::application! {
//!     /// Keeps notes
//!     static NOTES: Notes = "notes";
//!     commands: [Add, List]
//! }
//!
//! let notes = hutch_guest::testing::Harness::new(&NOTES);
//! let added = notes.ok(&["add", "Buy milk"]);
//! assert_eq!(added["items"][0]["id"], "note_0001");
//! assert_eq!(notes.refused(&["ad", "Buy milk"])["suggestion"], "did you mean add?");
//! notes.examples();
//! ```
//!
//! `hutch_guest::main!(NOTES);` makes a program of it. Built for `wasm32-wasip2` it is a component that exports its contract;
//! natively it is the same program over a directory `state`.
//!
//! ```text
//! argv, batch -> value -> a command of the application -> answer
//!   |                       |        ^                      |
//!   contract            document   storage               schema, row
//! ```
//!
//! Only `storage` touches the files of the state, only `input`, `folder` and `new_files` those that a call names, only `start` the process. Time comes with the [`Call`], so a test can say what it is; in a
//! component it is the clock of the host, which is the same in every run of the same invocation.

extern crate self as hutch_guest;

pub mod answer;
pub mod application;
pub mod argv;
pub mod batch;
pub mod calendar;
#[cfg(target_family = "wasm")]
pub mod component;
pub mod contract;
pub mod document;
pub mod failure;
#[cfg(feature = "folder")]
pub mod folder;
pub mod guidance;
pub mod help;
pub mod input;
#[cfg(feature = "new-files")]
pub mod new_files;
pub mod row;
pub mod schema;
#[cfg(feature = "sqlite")]
pub mod sqlite;
pub mod standard;
mod start;
pub mod storage;
pub mod table;
pub mod testing;
mod text;
pub mod value;

pub use answer::{Changed, One, Page, Rows};
pub use application::{Application, Call, Command, Reads, Reply, Runner, Writes};
pub use calendar::{Date, Due, Instant};
pub use contract::FailureCode;
pub use document::Document;
pub use failure::Failure;
pub use hutch_guest_derive::{Choice, Command, Document, Row};
pub use input::InputFile;
pub use row::Row;
#[doc(hidden)]
pub use serde;
#[doc(hidden)]
pub use serde_json;
pub use start::start;

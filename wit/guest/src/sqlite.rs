//! A state that is one SQLite database (feature `sqlite`). It is read from the bytes of the state and written back to bytes, so that it is
//! kept whole or not at all as any other, and SQLite itself never sees a file.
//!
//! ```
//! use hutch_guest::sqlite::{self, Columns, SQL_INVALID, SQL_REFUSED, Schema, Values};
//! use hutch_guest::{Call, Changed, Command, Failure, Page, Reads, Row, Writes};
//!
//! struct Books;
//!
//! impl Schema for Books {
//!     const FILE: &'static str = "books.sqlite";
//!     const STEPS: &'static [&'static str] = &["CREATE TABLE books (title TEXT UNIQUE, year INTEGER) STRICT"];
//! }
//!
//! type Database = sqlite::Database<Books>;
//!
//! #[derive(Row)]
//! struct Book {
//!     title: String,
//!     year: i64,
//! }
//!
//! /// Writes a book down, or its year anew.
//! #[derive(Command)]
//! #[command(write, idempotent)]
//! struct Add {
//!     /// its title
//!     #[arg(positional, free_text, min_length = 1, max_length = 500)]
//!     title: String,
//!     /// when it came out
//!     year: i64,
//! }
//!
//! impl Writes for Add {
//!     type State = Database;
//!     type Row = Book;
//!     fn run(self, database: &mut Database, _: &Call) -> Result<Changed<Book>, Failure> {
//!         database.execute("INSERT OR REPLACE INTO books VALUES (?, ?)", (&self.title, self.year))?;
//!         Ok(Changed::yes(Book { title: self.title, year: self.year }))
//!     }
//! }
//!
//! /// Answers a question in SQL.
//! #[derive(Command)]
//! #[command(errors(SQL_INVALID, SQL_REFUSED))]
//! struct Ask {
//!     /// one SELECT statement
//!     #[arg(positional, free_text, min_length = 1, max_length = 10_000)]
//!     sql: String,
//! }
//!
//! impl Reads for Ask {
//!     type State = Database;
//!     type Answer = Page<Values, Columns>;
//!     fn run(self, database: &Database, call: &Call) -> Result<Self::Answer, Failure> {
//!         database.ask(&self.sql, call)
//!     }
//! }
//!
//! hutch_guest::application! {
//!     /// Keeps books
//!     static BOOKS: Database = "books";
//!     commands: [Add, Ask]
//! }
//!
//! let books = hutch_guest::testing::Harness::new(&BOOKS);
//! books.ok(&["add", "Momo", "--year", "1973"]);
//! assert_eq!(books.ok(&["ask", "SELECT year FROM books"])["items"][0]["row"][0], 1973);
//! assert_eq!(books.refused(&["ask", "DELETE FROM books"])["code"], "SQL_REFUSED");
//! ```

use std::hash::{BuildHasher, RandomState};
use std::marker::PhantomData;
use std::ops::{Deref, DerefMut};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use rusqlite::functions::FunctionFlags;
use rusqlite::hooks::{AuthAction, AuthContext, Authorization};
use rusqlite::types::ValueRef;
use rusqlite::{Connection, ErrorCode};
use serde_json::{Number, Value};

use crate::answer::Page;
use crate::application::Call;
use crate::document::{Document, STATE_CORRUPT};
use crate::failure::Failure;

pub use rusqlite;

crate::codes! {
    pub SQL_INVALID = 2:
        "SQLite does not understand the statement, or it failed while it ran",
        "mend the statement as the message says";
    pub SQL_REFUSED = 30:
        "the statement would do something else than read",
        "ask with one SELECT";
}

/// What a database is called, and what is in it from the beginning.
pub trait Schema: 'static {
    /// The name of the file in the directory `state`.
    const FILE: &'static str;
    /// Statements that make the tables. New ones come after those that were there: a state that an earlier version of the application
    /// left takes the steps that it lacks, which its `user_version` counts. One that a later version left is refused.
    const STEPS: &'static [&'static str] = &[];
}

/// A database in memory, and the state of an application. Whatever a command does with its [`Connection`] is kept if the command says that
/// something changed, and forgotten if it failed.
///
/// SQLite has no chance of its own in it: `random()` and `randomblob()` draw from that of the call. What is deleted leaves no bytes behind.
/// An error of SQLite becomes a [`Failure`] by `?`: `SQL_INVALID`, `SQL_REFUSED` or `STATE_CORRUPT`. The first two are in no contract that
/// does not name them, so that a mistake in a statement of the application's own is told as its defect.
pub struct Database<S> {
    connection: Connection,
    only_reading: Arc<AtomicBool>,
    schema: PhantomData<S>,
}

/// A row of an answer: a value for each column.
#[derive(hutch_guest_derive::Row)]
pub struct Values {
    row: Vec<Value>,
}

/// What the columns of an answer are called.
#[derive(hutch_guest_derive::Row)]
pub struct Columns {
    columns: Vec<String>,
}

impl<S: Schema> Database<S> {
    fn open(bytes: Option<&[u8]>) -> rusqlite::Result<Self> {
        let mut connection = Connection::open_in_memory()?;
        match bytes {
            Some(bytes) => connection.deserialize_read_exact("main", bytes, bytes.len(), false)?,
            None => connection.pragma_update(None, "auto_vacuum", "FULL")?,
        }
        connection.pragma_update(None, "secure_delete", true)?;
        connection.create_scalar_function("random", 0, FunctionFlags::SQLITE_UTF8, |_| Ok(draw().cast_signed()))?;
        connection.create_scalar_function("randomblob", 1, FunctionFlags::SQLITE_UTF8, |asked| {
            let length = usize::try_from(asked.get::<i64>(0)?).unwrap_or_default().clamp(1, BLOB_BYTES_MAX);
            let words = std::iter::repeat_with(|| draw().to_le_bytes());
            Ok(words.flatten().take(length).collect::<Vec<u8>>())
        })?;
        let only_reading = Arc::new(AtomicBool::new(false));
        let asked = Arc::clone(&only_reading);
        connection.authorizer(Some(move |context: AuthContext<'_>| {
            if asked.load(Ordering::Relaxed) { reading(context.action) } else { Authorization::Allow }
        }))?;
        Ok(Self { connection, only_reading, schema: PhantomData })
    }

    fn take_steps(&self) -> Result<(), String> {
        let told = |error: rusqlite::Error| error.to_string();
        let taken: i64 = self.pragma_query_value(None, "user_version", |row| row.get(0)).map_err(told)?;
        let known = S::STEPS.len();
        if !usize::try_from(taken).is_ok_and(|taken| taken <= known) {
            return Err(format!(
                "another version of the application wrote it: its user_version is {taken}, at most {known} is known"
            ));
        }
        for (version, step) in (1..).zip(S::STEPS).filter(|(version, _)| *version > taken) {
            self.execute_batch(step).and_then(|()| self.pragma_update(None, "user_version", version)).map_err(told)?;
        }
        Ok(())
    }

    /// Answers a statement of the caller's, a page at a time. It reads only: what would change a table, open a file or set something up is
    /// refused before it does anything. Bytes are shown as hexadecimal digits, and a number that JSON has no form for as text.
    ///
    /// # Errors
    /// `SQL_INVALID`, `SQL_REFUSED`.
    pub fn ask(&self, sql: &str, call: &Call) -> Result<Page<Values, Columns>, Failure> {
        self.only_reading.store(true, Ordering::Relaxed);
        let answer = self.answer(sql, call);
        self.only_reading.store(false, Ordering::Relaxed);
        answer
    }

    fn answer(&self, sql: &str, call: &Call) -> Result<Page<Values, Columns>, Failure> {
        let mut statement = self.prepare(sql)?;
        let columns: Vec<String> = statement.column_names().map(str::to_owned).collect();
        if columns.is_empty() || !statement.readonly() {
            return Err(Failure::new(SQL_REFUSED, "this is no question: its answer has no columns"));
        }
        let rows = statement.query_map([], |row| {
            let row = (0..columns.len()).map(|column| row.get_ref(column).map(json)).collect::<Result<_, _>>()?;
            Ok(Values { row })
        })?;
        let page = call.page_of(rows.map(|row| row.map_err(Failure::from)))?;
        Ok(page.with(Columns { columns }))
    }
}

/// Bytes that one `randomblob()` gives, as many as SQLite lets a value have.
const BLOB_BYTES_MAX: usize = 1_000_000_000;

fn draw() -> u64 {
    RandomState::new().hash_one(())
}

/// Asked by SQLite for all that a statement is going to do.
fn reading(action: AuthAction<'_>) -> Authorization {
    match action {
        AuthAction::Select | AuthAction::Read { .. } | AuthAction::Function { .. } | AuthAction::Recursive => {
            Authorization::Allow
        }
        _ => Authorization::Deny,
    }
}

fn json(value: ValueRef<'_>) -> Value {
    match value {
        ValueRef::Null => Value::Null,
        ValueRef::Integer(number) => number.into(),
        ValueRef::Real(number) => Number::from_f64(number).map_or_else(|| number.to_string().into(), Value::Number),
        ValueRef::Text(text) => String::from_utf8_lossy(text).into(),
        ValueRef::Blob(bytes) => bytes.iter().map(|byte| format!("{byte:02x}")).collect::<String>().into(),
    }
}

impl<S> Deref for Database<S> {
    type Target = Connection;

    fn deref(&self) -> &Connection {
        &self.connection
    }
}

impl<S> DerefMut for Database<S> {
    fn deref_mut(&mut self) -> &mut Connection {
        &mut self.connection
    }
}

impl<S: Schema> Default for Database<S> {
    #[allow(
        clippy::expect_used,
        reason = "it takes memory, and statements that every test of the application runs first"
    )]
    fn default() -> Self {
        let database = Self::open(None).expect("memory for an empty database");
        database.take_steps().expect("the steps of the schema are SQL");
        database
    }
}

impl<S: Schema> Document for Database<S> {
    const FILE: Option<&'static str> = Some(S::FILE);

    fn decode(bytes: &[u8]) -> Result<Self, String> {
        let told = |error: rusqlite::Error| error.to_string();
        let database = Self::open(Some(bytes)).map_err(told)?;
        database.query_row("SELECT count(*) FROM sqlite_schema", [], |_| Ok(())).map_err(told)?;
        database.take_steps()?;
        Ok(database)
    }

    fn encode(mut self) -> serde_json::Result<Vec<u8>> {
        let bytes = self.connection.serialize("main").map(|bytes| bytes.to_vec());
        bytes.map_err(serde::ser::Error::custom)
    }
}

impl From<rusqlite::Error> for Failure {
    fn from(error: rusqlite::Error) -> Self {
        let code = match error.sqlite_error_code() {
            Some(ErrorCode::AuthorizationForStatementDenied) => SQL_REFUSED,
            Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase) => STATE_CORRUPT,
            _ => SQL_INVALID,
        };
        Self::new(code, error.to_string())
    }
}

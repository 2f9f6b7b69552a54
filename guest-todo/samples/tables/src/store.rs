//! The tables: one SQLite database, which is read from the bytes of the state and written back to bytes. SQLite itself never sees
//! a file. Knows no command line.

use std::cell::RefCell;
use std::hash::{BuildHasher, RandomState};

use csv::ReaderBuilder;
use hutch_guest::document::STATE_CORRUPT;
use hutch_guest::{Call, Document, Failure, Page, Row};
use rusqlite::functions::FunctionFlags;
use rusqlite::hooks::{AuthAction, AuthContext, Authorization};
use rusqlite::types::{Value, ValueRef};
use rusqlite::{Connection, ErrorCode, params_from_iter};
use serde_json::{Number, Value as Json};

hutch_guest::codes! {
    pub(crate) CSV_INVALID = 2:
        "the file is no CSV that makes a table: a first line that names the columns, and as many fields in every line",
        "mend the file at the line that the message names, or give another --delimiter";
    pub(crate) TABLE_EXISTS = 30: "there is a table of that name", "choose another name, or add --replace";
    pub(crate) NOT_FOUND = 20: "no table has that name", "call tables for those that there are";
    pub(crate) SQL_INVALID = 2:
        "SQLite does not understand the statement, or it failed while it ran",
        "mend the statement as the message says; call tables for names and columns";
    pub(crate) SQL_REFUSED = 30:
        "the statement would do something else than read the tables",
        "ask with one SELECT; import and drop are commands";
}

/// The state: a database in memory.
pub(crate) struct Database(RefCell<Connection>);

/// A table, as `items[]` shows it.
#[derive(Clone, Row)]
pub(crate) struct Table {
    name: String,
    rows: i64,
    columns: Vec<String>,
}

/// A row of an answer: a value for each column.
#[derive(Row)]
pub(crate) struct Record {
    row: Vec<Json>,
}

/// A database without tables. SQLite has no chance of its own here: its `random()` draws from that of the call.
fn in_memory() -> rusqlite::Result<Connection> {
    let connection = Connection::open_in_memory()?;
    connection.create_scalar_function("random", 0, FunctionFlags::SQLITE_UTF8, |_| {
        Ok(RandomState::new().hash_one(()).cast_signed())
    })?;
    Ok(connection)
}

impl Default for Database {
    #[allow(clippy::expect_used, reason = "a database in memory takes memory and nothing else")]
    fn default() -> Self {
        let connection = in_memory().expect("memory for an empty database");
        // What is dropped leaves no bytes behind.
        connection.pragma_update(None, "auto_vacuum", "FULL").expect("a database without tables");
        Self(RefCell::new(connection))
    }
}

impl Document for Database {
    const FILE: Option<&'static str> = Some("tables.sqlite");

    fn decode(bytes: &[u8]) -> Result<Self, String> {
        let mut connection = in_memory().map_err(|error| error.to_string())?;
        let read = connection.deserialize_read_exact("main", bytes, bytes.len(), false);
        read.and_then(|()| connection.query_row("SELECT count(*) FROM sqlite_schema", [], |_| Ok(())))
            .map_err(|error| error.to_string())?;
        Ok(Self(RefCell::new(connection)))
    }

    fn encode(&self) -> serde_json::Result<Vec<u8>> {
        let mut connection = self.0.borrow_mut();
        let bytes = connection.serialize("main").map(|bytes| bytes.to_vec());
        bytes.map_err(serde::ser::Error::custom)
    }
}

impl Database {
    /// All tables, by name.
    pub(crate) fn tables(&self) -> Result<Vec<Table>, Failure> {
        let connection = self.0.borrow();
        let table = |name: String| {
            let rows =
                connection.query_row(&format!("SELECT count(*) FROM {}", quoted(&name)), [], |row| row.get(0))?;
            let mut columns = connection.prepare("SELECT name || ' ' || type FROM pragma_table_info(?)")?;
            let columns = columns.query_map([&name], |row| row.get(0))?.collect::<Result<_, _>>()?;
            Ok(Table { name, rows, columns })
        };
        let all = || -> rusqlite::Result<_> {
            let mut names = connection.prepare("SELECT name FROM sqlite_schema WHERE type = 'table' ORDER BY name")?;
            names.query_map([], |row| row.get(0))?.map(|name| table(name?)).collect()
        };
        all().map_err(failed)
    }

    pub(crate) fn table(&self, name: &str) -> Result<Table, Failure> {
        let found = self.tables()?.into_iter().find(|table| table.name == name);
        found.ok_or_else(|| Failure::new(NOT_FOUND, format!("no table is called {name}")))
    }

    pub(crate) fn drop(&self, name: &str) -> Result<Table, Failure> {
        let table = self.table(name)?;
        self.0.borrow().execute_batch(&format!("DROP TABLE {}", quoted(name))).map_err(failed)?;
        Ok(table)
    }

    /// The file is read twice: for the kind of each column, and for the values, so that no more than one line of it is held.
    pub(crate) fn import(&self, name: &str, csv: &[u8], delimiter: u8, replace: bool) -> Result<Table, Failure> {
        match self.table(name) {
            Ok(_) if !replace => return Err(Failure::new(TABLE_EXISTS, format!("there is a table {name}"))),
            Ok(_) => self.drop(name).map(|_| ())?,
            Err(_) => (),
        }
        let csv = csv.strip_prefix(b"\xef\xbb\xbf").unwrap_or(csv);
        let reader = || ReaderBuilder::new().delimiter(delimiter).from_reader(csv);
        let header = reader().headers().map_err(invalid)?.clone();
        if header.iter().any(|column| column.trim().is_empty()) {
            return Err(invalid("the first line leaves the name of a column empty"));
        }
        let mut kinds = vec![Kind::Integer; header.len()];
        for record in reader().records() {
            let record = record.map_err(invalid)?;
            kinds.iter_mut().zip(&record).for_each(|(kind, text)| *kind = kind.with(text));
        }
        let columns: Vec<String> =
            header.iter().zip(&kinds).map(|(column, kind)| format!("{} {kind:?}", quoted(column.trim()))).collect();
        let connection = self.0.borrow();
        let create = format!("BEGIN; CREATE TABLE {} ({}) STRICT", quoted(name), columns.join(", "));
        // What SQLite has against it are columns: two of one name, or too many.
        connection.execute_batch(&create).map_err(invalid)?;
        let fill = || {
            let places = vec!["?"; kinds.len()].join(", ");
            let mut insert = connection.prepare(&format!("INSERT INTO {} VALUES ({places})", quoted(name)))?;
            for record in reader().into_records().flatten() {
                insert.execute(params_from_iter(kinds.iter().zip(&record).map(|(kind, text)| kind.value(text))))?;
            }
            connection.execute_batch("COMMIT")
        };
        fill().map_err(failed)?;
        self.table(name)
    }

    /// The names of the columns, and the part of the rows that was asked for.
    pub(crate) fn query(&self, sql: &str, call: &Call) -> Result<(Vec<String>, Page<Record>), Failure> {
        let mut connection = self.0.borrow_mut();
        // It stays: a call that reads is over after it.
        connection.authorizer(Some(only_reading)).map_err(failed)?;
        let mut statement = connection.prepare(sql).map_err(failed)?;
        let names: Vec<String> = statement.column_names().map(str::to_owned).collect();
        if names.is_empty() || !statement.readonly() {
            return Err(Failure::new(SQL_REFUSED, "this is no question: its answer has no columns"));
        }
        let row = |row: &rusqlite::Row<'_>| {
            let row = (0..names.len()).map(|column| row.get_ref(column).map(json)).collect::<Result<_, _>>()?;
            Ok(Record { row })
        };
        let rows = statement.query_map([], row).map_err(failed)?;
        let page = call.page_of(rows.map(|row| row.map_err(failed)))?;
        Ok((names, page))
    }
}

/// Asked by SQLite for all that a statement is going to do.
fn only_reading(context: AuthContext<'_>) -> Authorization {
    match context.action {
        AuthAction::Select | AuthAction::Read { .. } | AuthAction::Function { .. } | AuthAction::Recursive => {
            Authorization::Allow
        }
        _ => Authorization::Deny,
    }
}

/// What all values of a column are, called as SQLite calls it.
#[derive(Clone, Copy, Debug)]
enum Kind {
    Integer,
    Real,
    Text,
}

impl Kind {
    /// That of the column with one more value. A number is one if nothing is lost: `007` and `+49` stay texts.
    fn with(self, text: &str) -> Self {
        let whole = text.parse::<i64>().is_ok_and(|number| number.to_string() == text);
        let number = text.parse::<f64>().is_ok() && serde_json::from_str::<f64>(text).is_ok();
        match self {
            _ if text.is_empty() => self,
            Self::Integer if whole => Self::Integer,
            Self::Integer | Self::Real if number => Self::Real,
            _ => Self::Text,
        }
    }

    fn value(self, text: &str) -> Value {
        match self {
            _ if text.is_empty() => Value::Null,
            Self::Integer => text.parse().map_or(Value::Null, Value::Integer),
            Self::Real => text.parse().map_or(Value::Null, Value::Real),
            Self::Text => Value::Text(text.to_owned()),
        }
    }
}

/// A value of SQL in JSON: bytes as hexadecimal digits, and what is no number there as text.
fn json(value: ValueRef<'_>) -> Json {
    match value {
        ValueRef::Null => Json::Null,
        ValueRef::Integer(number) => number.into(),
        ValueRef::Real(number) => Number::from_f64(number).map_or_else(|| number.to_string().into(), Json::Number),
        ValueRef::Text(text) => String::from_utf8_lossy(text).into(),
        ValueRef::Blob(bytes) => bytes.iter().map(|byte| format!("{byte:02x}")).collect::<String>().into(),
    }
}

fn quoted(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}

fn invalid(why: impl ToString) -> Failure {
    Failure::new(CSV_INVALID, why.to_string())
}

fn failed(error: rusqlite::Error) -> Failure {
    let code = match error.sqlite_error_code() {
        Some(ErrorCode::AuthorizationForStatementDenied) => SQL_REFUSED,
        Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase) => STATE_CORRUPT,
        _ => SQL_INVALID,
    };
    Failure::new(code, error.to_string())
}

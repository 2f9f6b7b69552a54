//! The tables, and how a CSV file becomes one. Knows no command line.

use csv::ReaderBuilder;
use hutch_guest::sqlite::rusqlite::{self, params_from_iter, types::Value};
use hutch_guest::sqlite::{Database, Schema};
use hutch_guest::{Failure, Row};

hutch_guest::codes! {
    pub(crate) CSV_INVALID = 2:
        "the file is no CSV that makes a table: a first line that names the columns, and as many fields in every line",
        "mend the file at the line that the message names, or give another --delimiter";
    pub(crate) TABLE_EXISTS = 30: "there is a table of that name", "choose another name, or add --replace";
    pub(crate) NOT_FOUND = 20: "no table has that name", "call tables for those that there are";
}

/// The state: at first without any table.
pub(crate) struct Csv;

impl Schema for Csv {
    const FILE: &'static str = "tables.sqlite";
}

/// A table, as `items[]` shows it.
#[derive(Clone, Row)]
pub(crate) struct Table {
    name: String,
    rows: i64,
    columns: Vec<String>,
}

/// All of them, by name.
pub(crate) fn all(database: &Database<Csv>) -> Result<Vec<Table>, Failure> {
    let table = |name: String| {
        let rows = database.query_row(&format!("SELECT count(*) FROM {}", quoted(&name)), [], |row| row.get(0))?;
        let mut columns = database.prepare("SELECT name || ' ' || type FROM pragma_table_info(?)")?;
        let columns = columns.query_map([&name], |row| row.get(0))?.collect::<rusqlite::Result<_>>()?;
        Ok(Table { name, rows, columns })
    };
    let mut names = database.prepare("SELECT name FROM sqlite_schema WHERE type = 'table' ORDER BY name")?;
    names.query_map([], |row| row.get(0))?.map(|name| table(name?)).collect()
}

pub(crate) fn find(database: &Database<Csv>, name: &str) -> Result<Table, Failure> {
    let found = all(database)?.into_iter().find(|table| table.name == name);
    found.ok_or_else(|| Failure::new(NOT_FOUND, format!("no table is called {name}")))
}

pub(crate) fn drop(database: &Database<Csv>, name: &str) -> Result<Table, Failure> {
    let table = find(database, name)?;
    database.execute_batch(&format!("DROP TABLE {}", quoted(name)))?;
    Ok(table)
}

/// The file is read twice: for the kind of each column, and for the values, so that no more than one line of it is held.
pub(crate) fn import(
    database: &mut Database<Csv>,
    name: &str,
    csv: &[u8],
    delimiter: u8,
    replace: bool,
) -> Result<Table, Failure> {
    match find(database, name) {
        Ok(_) if !replace => return Err(Failure::new(TABLE_EXISTS, format!("there is a table {name}"))),
        Ok(_) => drop(database, name).map(|_| ())?,
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
        kinds.iter_mut().zip(&record.map_err(invalid)?).for_each(|(kind, text)| *kind = kind.with(text));
    }
    let column = |(name, kind): (&str, &Kind)| format!("{} {kind:?}", quoted(name.trim()));
    let columns = header.iter().zip(&kinds).map(column).collect::<Vec<_>>().join(", ");
    let filling = database.transaction()?;
    // What SQLite has against it are columns: two of one name, or too many.
    filling.execute_batch(&format!("CREATE TABLE {} ({columns}) STRICT", quoted(name))).map_err(invalid)?;
    let places = vec!["?"; kinds.len()].join(", ");
    let mut insert = filling.prepare(&format!("INSERT INTO {} VALUES ({places})", quoted(name)))?;
    for record in reader().into_records().flatten() {
        insert.execute(params_from_iter(kinds.iter().zip(&record).map(|(kind, text)| kind.value(text))))?;
    }
    std::mem::drop(insert);
    filling.commit()?;
    find(database, name)
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

fn quoted(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}

fn invalid(why: impl ToString) -> Failure {
    Failure::new(CSV_INVALID, why.to_string())
}

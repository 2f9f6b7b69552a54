//! SQL over CSV files, with SQLite inside. A table is imported once and kept; a query reads and can do nothing else. The struct of
//! a command is its contract, so that this file and `store` are all there is.

mod store;
#[cfg(test)]
mod tests;

use hutch_guest::sqlite::{self, Columns, SQL_INVALID, SQL_REFUSED, Values};
use hutch_guest::{Call, Changed, Choice, Command, Failure, InputFile, Page, Reads, Writes};
use store::{CSV_INVALID, NOT_FOUND, TABLE_EXISTS, Table};

type Database = sqlite::Database<store::Csv>;

/// Bytes of one CSV file. It is in memory three times: as it came, as a database, and as the bytes of that.
const CSV_BYTES_MAX: usize = 32 << 20;

/// What stands between two fields.
#[derive(Clone, Copy, Choice)]
#[repr(u8)]
enum Delimiter {
    Comma = b',',
    Semicolon = b';',
    Tab = b'\t',
    Bar = b'|',
}

/// Makes a table of a CSV file whose first line names the columns. A column of which all values are whole numbers, or all numbers,
/// holds numbers; an empty field is NULL.
#[derive(Command)]
#[command(write, errors(CSV_INVALID, TABLE_EXISTS))]
#[example("make a table of a file in the package", ["cities", "samples/cities.csv"])]
#[example("see what a table would be", ["towns", "samples/cities.csv", "--dry-run"])]
#[example("a table is not replaced unasked", ["cities", "samples/cities.csv"], 30)]
#[example("read the file again", ["cities", "samples/cities.csv", "--replace"])]
#[example("a second table", ["countries", "samples/countries.csv"])]
#[example("a folder of the machine must be granted", ["sales", "data/sales.csv"], 20)]
struct Import {
    /// what to call the table: a-z, 0-9 and _, beginning with a letter
    #[arg(positional, min_length = 1, max_length = 60, pattern = "^[a-z][a-z0-9_]*$")]
    name: String,
    /// the CSV file, such as data/sales.csv where the call grants the folder data, or - for standard input; at most 32 MiB
    #[arg(positional)]
    file: InputFile,
    /// what stands between two fields
    #[arg(default = "comma")]
    delimiter: Delimiter,
    /// put it in place of a table of that name
    replace: bool,
}

impl Writes for Import {
    type State = Database;
    type Row = Table;

    fn run(self, database: &mut Database, _: &Call) -> Result<Changed<Table>, Failure> {
        let csv = self.file.read(CSV_BYTES_MAX)?;
        store::import(database, &self.name, &csv, self.delimiter as u8, self.replace).map(Changed::yes)
    }
}

/// Answers a question in SQL, as SQLite has it, a page at a time. It reads only: whatever would change a table, open a file or set
/// something up is refused.
#[derive(Command)]
#[command(errors(SQL_INVALID, SQL_REFUSED))]
#[example("count and add up", ["SELECT country, count(*) AS cities, sum(people) AS people FROM cities GROUP BY country ORDER BY people DESC"])]
#[example("ask two tables at once", ["SELECT city, capital = city AS is_capital FROM cities JOIN countries USING (country)"])]
#[example("what is not SQL", ["SELEKT 1"], 2)]
#[example("what writes is refused", ["DELETE FROM cities"], 30)]
struct Query {
    /// one SELECT statement
    #[arg(positional, free_text, min_length = 1, max_length = 100_000)]
    sql: String,
}

impl Reads for Query {
    type State = Database;
    type Answer = Page<Values, Columns>;

    fn run(self, database: &Database, call: &Call) -> Result<Self::Answer, Failure> {
        database.ask(&self.sql, call)
    }
}

/// Shows the tables, by name, with their columns.
#[derive(Command)]
#[example("show all", [])]
struct Tables {}

impl Reads for Tables {
    type State = Database;
    type Answer = Page<Table>;

    fn run(self, database: &Database, call: &Call) -> Result<Page<Table>, Failure> {
        Ok(call.page(&store::all(database)?, Table::clone))
    }
}

/// Takes a table out for good and shows it a last time.
#[derive(Command)]
#[command(delete, errors(NOT_FOUND))]
#[example("not without confirmation", ["cities"], 30)]
#[example("take it out", ["cities", "--confirm"])]
#[example("it is gone", ["cities", "--confirm"], 20)]
struct Drop {
    /// the table
    #[arg(positional)]
    name: String,
}

impl Writes for Drop {
    type State = Database;
    type Row = Table;

    fn run(self, database: &mut Database, _: &Call) -> Result<Changed<Table>, Failure> {
        store::drop(database, &self.name).map(Changed::yes)
    }
}

hutch_guest::application! {
    /// Answers questions in SQL about CSV files
    static TABLES: Database = "tables";
    commands: [Import, Query, Tables, Drop],
    package: "../../../../packages/tables",
    skills: ["tables-usage"],
}

hutch_guest::main!(TABLES);

//! The databases in an instance's folder are opened here alone. SQLite opens them by path, so what stands in the folder is looked at first:
//! nothing is written through a link, or into a file that is somebody else's. Knows no table but the one that lists tables.

use super::failure::database;
use crate::error::StoreError;
use cap_std::fs::Dir;
use rusqlite::config::DbConfig;
use rusqlite::{Connection, OpenFlags};
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// What SQLite adds to the name of a database for the files that it writes.
pub(crate) const PARTS: [&str; 4] = ["-journal", "-wal", "-shm", ""];

/// Opens a database in `folder`, whose path leads there too, and makes it if that is wanted. Nothing in it is looked at. Nothing here waits
/// longer than `wait` for a lock.
///
/// # Errors
/// One of its files is no regular file or has another name too: SQLite would wait at a pipe for ever; the system refuses.
pub(crate) fn open(folder: &Dir, path: &Path, make: bool, wait: Duration) -> Result<Connection, StoreError> {
    let name = path.file_name().and_then(OsStr::to_str).unwrap_or_default();
    for part in PARTS {
        let part = format!("{name}{part}");
        let own = hutch_folder::check_own_at(folder, &part);
        own.map_err(|error| StoreError::io(path.with_file_name(part), "open it", error))?;
    }
    let mut flags =
        OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX | OpenFlags::SQLITE_OPEN_NOFOLLOW;
    flags.set(OpenFlags::SQLITE_OPEN_CREATE, make);
    let opened = Connection::open_with_flags(without_links(path), flags).and_then(|connection| {
        configure(&connection, wait)?;
        Ok(connection)
    });
    opened.map_err(|error| database(path, error))
}

/// The same path with no link on the way to the folder: those are its owner's, and SQLite would refuse them too.
fn without_links(path: &Path) -> PathBuf {
    #[cfg(unix)]
    {
        #[expect(clippy::disallowed_methods, reason = "SQLite opens its files by path, so links are followed by path")]
        let folder = path.parent().and_then(|folder| folder.canonicalize().ok());
        if let (Some(folder), Some(name)) = (folder, path.file_name()) {
            return folder.join(name);
        }
    }
    path.to_owned()
}

/// What holds for every database of an instance.
fn configure(connection: &Connection, wait: Duration) -> rusqlite::Result<()> {
    connection.busy_timeout(wait)?;
    // Closing must cost no sync: the log stays, and a commit moves it when it is long.
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true)?;
    // The file may come from anywhere: its schema runs no code, and SQL can't break the file.
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_DEFENSIVE, true)?;
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_TRUSTED_SCHEMA, false)?;
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_TRIGGER, false)?;
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_VIEW, false)?;
    connection.execute_batch("PRAGMA cell_size_check = ON")
}

/// What stands in a database beside what hutch makes in it.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Beside {
    /// Nothing.
    Nothing,
    /// Tables of others, which nothing of hutch's reads or writes.
    Others,
    /// What acts on hutch's tables, or stands in the place of one. By name.
    Foreign(String),
}

/// What SQLite writes down of tables that somebody let it look at.
const STATISTICS: [&str; 2] =
    ["CREATE TABLE sqlite_stat1(tbl,idx,stat)", "CREATE TABLE sqlite_stat4(tbl,idx,neq,nlt,ndlt,sample)"];

/// Holds a database to the statements `CREATE TABLE …;` that make its tables. The file may come from anywhere: a table of others in the place of
/// one of these can have a rule that takes memory and time for each row, or by which a row is left out.
pub(crate) fn beside(connection: &Connection, statements: &[&str]) -> rusqlite::Result<Beside> {
    let mut query = connection.prepare("SELECT name, tbl_name, sql FROM sqlite_schema WHERE sql IS NOT NULL")?;
    let mut rows = query.query(())?;
    let mut beside = Beside::Nothing;
    while let Some(row) = rows.next()? {
        let text = |column| -> rusqlite::Result<_> { Ok(row.get_ref(column)?.as_str().unwrap_or_default()) };
        let (name, table, sql) = (text(0)?, text(1)?, text(2)?);
        let makes = |statements: &&str| {
            let mut after = statements.match_indices(sql).filter_map(|(at, _)| statements.get(at + sql.len()..));
            sql.starts_with("CREATE TABLE ") && after.any(|after| after.starts_with(';'))
        };
        if statements.iter().any(makes) || STATISTICS.contains(&sql) {
            continue;
        }
        let is_ours = tables(statements).any(|ours| [name, table].iter().any(|it| it.eq_ignore_ascii_case(ours)));
        let is_passive =
            ["CREATE TABLE ", "CREATE INDEX ", "CREATE UNIQUE INDEX "].iter().any(|it| sql.starts_with(it));
        if is_ours || !is_passive {
            return Ok(Beside::Foreign(name.to_owned()));
        }
        beside = Beside::Others;
    }
    Ok(beside)
}

/// The names of the tables that these statements make.
pub(crate) fn tables<'s>(statements: &'s [&str]) -> impl Iterator<Item = &'s str> {
    let made = statements.iter().flat_map(|statements| statements.split("CREATE TABLE ").skip(1));
    made.filter_map(|rest| rest.split([' ', '(']).next())
}

/// Whether the header says that the file is one of these.
pub(crate) fn is_marked(connection: &Connection, application_id: i32) -> rusqlite::Result<bool> {
    connection.query_row("PRAGMA application_id", (), |row| Ok(row.get::<_, i32>(0)? == application_id))
}

/// Whether a database beside the ledger is what it is opened as, as its header and its tables say; its header says so from then on if nothing is
/// in it, or no more than the tables of earlier versions, which left the header alone. Nothing is written into any other.
pub(crate) fn claim(connection: &Connection, application_id: i32, statements: &str) -> rusqlite::Result<bool> {
    const TABLES: &str = "SELECT coalesce(group_concat(name), '') FROM
        (SELECT name FROM sqlite_schema WHERE type <> 'index' ORDER BY name)";
    let statements = &[statements];
    if matches!(beside(connection, statements)?, Beside::Foreign(_)) {
        return Ok(false);
    }
    let found: i32 = connection.query_row("PRAGMA application_id", (), |row| row.get(0))?;
    if found != 0 {
        return Ok(found == application_id);
    }
    let there: String = connection.query_row(TABLES, (), |row| row.get(0))?;
    let mut ours: Vec<&str> = tables(statements).collect();
    ours.sort_unstable();
    let is_ours = there.is_empty() || there == ours.join(",");
    if is_ours {
        // It can be made anew, so nothing is waited for; what can't be said now, the next one says.
        let say = format!("PRAGMA synchronous = OFF; PRAGMA application_id = {application_id}");
        let _ = connection.execute_batch(&say);
    }
    Ok(is_ours)
}

//! What the database remembers of a plain directory: which snapshot it shows, and what each name looked like when it was last
//! known to hold what that snapshot says. A stamp that is missing or does not fit costs a look at the content, nothing more.
//!
//! These rows are not synced: with the directory itself they follow from the state, and are found again after a crash.

use super::disk::{Form, Stamp};
use crate::names::VolumeName;
use crate::sqlite::columns::{Named, signed, unsigned};
use hutch_model::digest::Digest;
use rusqlite::{Connection, OptionalExtension, Row, TransactionBehavior};
use std::collections::HashMap;

/// What is known of a name.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Mark {
    /// It held what the snapshot says when it looked like this.
    Seen(Stamp),
    /// This file system can't show what the snapshot says, or must not; nothing of ours stands there.
    Withheld,
}

/// What a plain directory shows.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Shown {
    /// The snapshot.
    pub(super) tree: Digest,
    /// The one that an update is bringing it to, or was when it was cut off: on disk may be either, and nothing else.
    pub(super) target: Option<Digest>,
}

/// New knowledge about one name: what it looks like, or that nothing is known.
pub(super) struct Note {
    pub(super) folder: String,
    pub(super) name: String,
    pub(super) mark: Option<Mark>,
}

const WITHHELD: i64 = 4;

const fn number(form: Form) -> i64 {
    match form {
        Form::File => 1,
        Form::Folder => 2,
        Form::Link => 3,
        Form::Other => 0,
    }
}

fn mark(row: &Row<'_>) -> rusqlite::Result<Mark> {
    let form = match row.get(0)? {
        WITHHELD => return Ok(Mark::Withheld),
        1 => Form::File,
        2 => Form::Folder,
        3 => Form::Link,
        _ => Form::Other,
    };
    let number = |column| row.get(column).map(unsigned);
    let (size, modified_ns, changed_ns) = (number(1)?, number(2)?, number(3)?);
    Ok(Mark::Seen(Stamp { form, size, modified_ns, changed_ns, inode: row.get::<_, i64>(4)?.cast_unsigned() }))
}

/// What the directory of `volume` shows; `None` if it was never brought anywhere.
pub(super) fn shown(connection: &Connection, volume: &VolumeName) -> rusqlite::Result<Option<Shown>> {
    connection
        .prepare_cached("SELECT tree, target FROM plain WHERE volume = ?1")?
        .query_row([volume.as_str()], |row| {
            let Named(tree) = row.get(0)?;
            Ok(Shown { tree, target: row.get::<_, Option<Named>>(1)?.map(|Named(target)| target) })
        })
        .optional()
}

/// Whether any directory shows something else than the state, or may.
pub(super) fn behind(connection: &Connection) -> rusqlite::Result<bool> {
    const BEHIND: &str = "SELECT 1 FROM heads LEFT JOIN plain USING (volume)
        WHERE plain.tree IS NOT heads.tree OR plain.target NOTNULL LIMIT 1";
    connection.prepare_cached(BEHIND)?.exists(())
}

/// What is known of one name.
pub(super) fn one(
    connection: &Connection,
    volume: &VolumeName,
    folder: &str,
    name: &str,
) -> rusqlite::Result<Option<Mark>> {
    const ONE: &str =
        "SELECT kind, size, modified_ns, changed_ns, inode FROM stamps WHERE volume = ?1 AND folder = ?2 AND name = ?3";
    connection.prepare_cached(ONE)?.query_row((volume.as_str(), folder, name), mark).optional()
}

/// What is known of all names in a folder.
pub(super) fn all(
    connection: &Connection,
    volume: &VolumeName,
    folder: &str,
) -> rusqlite::Result<HashMap<String, Mark>> {
    const ALL: &str =
        "SELECT kind, size, modified_ns, changed_ns, inode, name FROM stamps WHERE volume = ?1 AND folder = ?2";
    connection.prepare_cached(ALL)?.query_map((volume.as_str(), folder), |row| Ok((row.get(5)?, mark(row)?)))?.collect()
}

/// Writes down what was learned, and what the directory shows now.
pub(super) fn save(
    connection: &mut Connection,
    volume: &VolumeName,
    shown: Shown,
    notes: &[Note],
) -> rusqlite::Result<()> {
    unsynced(connection, |connection| {
        let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
        for Note { folder, name, mark } in notes {
            let at = (volume.as_str(), folder.as_str(), name.as_str());
            let (kind, stamp) = match mark {
                None => {
                    transaction
                        .prepare_cached("DELETE FROM stamps WHERE volume = ?1 AND folder = ?2 AND name = ?3")?
                        .execute(at)?;
                    continue;
                }
                Some(Mark::Withheld) => (WITHHELD, None),
                Some(Mark::Seen(stamp)) => (number(stamp.form), Some(stamp)),
            };
            let field = |field: fn(&Stamp) -> u64| stamp.map_or(0, |stamp| signed(field(stamp)));
            transaction
                .prepare_cached("INSERT OR REPLACE INTO stamps VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)")?
                .execute((
                    at.0,
                    at.1,
                    at.2,
                    kind,
                    field(|stamp| stamp.size),
                    field(|stamp| stamp.modified_ns),
                    field(|stamp| stamp.changed_ns),
                    stamp.map_or(0, |stamp| stamp.inode.cast_signed()),
                ))?;
        }
        transaction.prepare_cached("INSERT OR REPLACE INTO plain VALUES (?1, ?2, ?3)")?.execute((
            volume.as_str(),
            Named(shown.tree),
            shown.target.map(Named),
        ))?;
        transaction.commit()
    })
}

/// Forgets a directory that is gone.
pub(super) fn forget(connection: &mut Connection, volume: &VolumeName) -> rusqlite::Result<()> {
    unsynced(connection, |connection| {
        let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
        transaction.execute("DELETE FROM stamps WHERE volume = ?1", [volume.as_str()])?;
        transaction.execute("DELETE FROM plain WHERE volume = ?1", [volume.as_str()])?;
        transaction.commit()
    })
}

/// Runs `job` in a connection whose commits outlive this process, but not yet a loss of power.
fn unsynced<R>(
    connection: &mut Connection,
    job: impl FnOnce(&mut Connection) -> rusqlite::Result<R>,
) -> rusqlite::Result<R> {
    connection.execute_batch("PRAGMA synchronous = NORMAL")?;
    let result = job(connection);
    connection.execute_batch("PRAGMA synchronous = FULL")?;
    result
}

//! What is left of an instance whose making was cut off: nothing was ever kept there. It is known by its files and by the tables that are not
//! there, so what was an instance once, and was lost, is never taken for it.

use super::whole::Aside;
use super::{SqliteStore, own, schema};
use crate::error::StoreError;
use crate::hold::Hold;
use crate::instance_dir::{InstanceDir, LOG};
use crate::mark::Mark;
use hutch_folder::{Form, list, look};
use std::time::Duration;

/// The files that there may be before there is a table.
const FILES: [&str; 7] =
    ["hutch.open", "hutch.new", "hutch.db", "hutch.db-journal", "hutch.db-wal", "hutch.db-shm", "hutch.mark"];

impl SqliteStore {
    /// Whether there is an instance, or was one. In doubt there is.
    pub fn is_there(dir: &InstanceDir, wait: Duration) -> bool {
        dir.exists() && !SqliteStore::is_begun(dir, wait)
    }

    /// Whether all that there is of an instance is what making it begins with: somebody is at it, or was cut off.
    pub fn is_begun(dir: &InstanceDir, wait: Duration) -> bool {
        is_begun(dir, wait).unwrap_or(false)
    }

    /// The same, if nobody is at it.
    pub fn is_left(dir: &InstanceDir) -> bool {
        matches!(left(dir, Duration::ZERO), Ok(Some(_)))
    }

    /// Takes that away, after waiting at most `wait` for all who have it open. If it is an instance nothing is done. Says which it was.
    ///
    /// # Errors
    /// [`StoreError::InUse`] if somebody has it open; the system's refusal.
    pub fn purge_begun(dir: &InstanceDir, wait: Duration) -> Result<bool, StoreError> {
        let Some(_hold) = left(dir, wait)? else { return Ok(false) };
        Aside::make(dir)?.take(dir)?;
        Ok(true)
    }
}

fn is_begun(dir: &InstanceDir, wait: Duration) -> Result<bool, StoreError> {
    let failed = |error| StoreError::io(dir.path(), "look at the folder", error);
    let folder = dir.open()?;
    if Mark::read(&folder).map_err(failed)?.is_some() {
        return Ok(false);
    }
    let listing = list(&folder).map_err(failed)?;
    let is_file = |name: &String| look(&folder, name).is_ok_and(|it| it.is_some_and(|it| it.form == Form::File));
    let is_makers = listing.names.iter().all(|name| FILES.contains(&name.as_str()) && is_file(name));
    if !is_makers || !listing.not_text.is_empty() || !listing.names.iter().any(|name| name == FILES[0]) {
        return Ok(false);
    }
    if dir.database_bytes() == 0 {
        // SQLite would take the log away that lies beside an empty database.
        return Ok(look(&folder, LOG).map_err(failed)?.is_none_or(|log| log.size == 0));
    }
    // Not read as a file: closing that would let go of the locks that SQLite has on it in this process.
    let path = dir.database();
    schema::is_blank(&mut own::open(&folder, &path, false, wait)?, &path)
}

/// Holds alone what is left; nothing if it is none, or none any more.
fn left(dir: &InstanceDir, wait: Duration) -> Result<Option<Hold>, StoreError> {
    if !SqliteStore::is_begun(dir, wait) {
        return Ok(None);
    }
    let Some(hold) = Hold::together(dir, dir.open()?, wait)? else { return Ok(None) };
    hold.alone(wait)?;
    // Whoever had it open may have made it whole.
    Ok(SqliteStore::is_begun(dir, wait).then_some(hold))
}

#[cfg(test)]
mod tests {
    use crate::common::{place, put, sqlite};
    use crate::hold::Hold;
    use crate::{IfMissing, InstanceDir, Opening, SqliteStore, StoreError};
    use std::fs;
    use std::time::Duration;
    use tempfile::{TempDir, tempdir};

    const NOW: Duration = Duration::ZERO;

    /// As a process leaves it that is killed before the first table.
    fn begun() -> (TempDir, InstanceDir) {
        let home = tempdir().unwrap();
        let dir = place(&home);
        dir.create().unwrap();
        for name in ["hutch.open", "hutch.new"] {
            fs::write(dir.path().join(name), "").unwrap();
        }
        let connection = rusqlite::Connection::open(dir.database()).unwrap();
        connection.execute_batch("PRAGMA auto_vacuum = INCREMENTAL; PRAGMA journal_mode = WAL").unwrap();
        drop(connection);
        assert!(dir.database_bytes() > 0 && dir.exists());
        (home, dir)
    }

    #[test]
    fn what_was_begun_is_no_instance_and_goes_if_nobody_has_it_open() {
        let (_home, dir) = begun();
        assert!(SqliteStore::is_left(&dir) && !SqliteStore::is_there(&dir, NOW));
        let open = Hold::together(&dir, dir.open().unwrap(), NOW).unwrap();
        assert!(SqliteStore::is_begun(&dir, NOW) && !SqliteStore::is_left(&dir), "somebody is at it");
        assert!(matches!(SqliteStore::purge_begun(&dir, NOW), Err(StoreError::InUse { .. })));
        drop(open);
        assert!(SqliteStore::purge_begun(&dir, NOW).unwrap() && !dir.path().exists());
        assert!(!SqliteStore::purge_begun(&dir, NOW).unwrap());
        // Or whoever comes makes it whole.
        let (home, dir) = begun();
        put(&sqlite(&home), &[("a", "1")]);
        assert!(SqliteStore::is_there(&dir, NOW) && !SqliteStore::purge_begun(&dir, NOW).unwrap());
    }

    /// Nothing of the database is there, not even its name, or all of it but what says so.
    #[test]
    fn it_is_known_at_whatever_step_its_maker_was_cut_off() {
        let (_home, dir) = begun();
        fs::write(dir.log(), "the beginning of a log").unwrap();
        assert!(SqliteStore::is_left(&dir));
        for name in ["hutch.db-wal", "hutch.db", "hutch.new"] {
            fs::remove_file(dir.path().join(name)).unwrap();
            assert!(SqliteStore::is_left(&dir), "without {name}");
        }
        let home = tempdir().unwrap();
        drop(sqlite(&home));
        fs::remove_file(place(&home).path().join("hutch.mark")).unwrap();
        assert!(SqliteStore::is_there(&place(&home), NOW) && !SqliteStore::is_begun(&place(&home), NOW));
    }

    #[test]
    fn what_may_have_been_an_instance_is_never_taken_for_nothing() {
        type Change<'a> = &'a dyn Fn(&InstanceDir);
        let mark = format!("hutch store {} {:020}\n", "0".repeat(32), 0);
        let changes: [(&str, Change<'_>); 5] = [
            ("a mark", &|dir| fs::write(dir.path().join("hutch.mark"), &mark).unwrap()),
            ("a plain folder", &|dir| fs::create_dir(dir.path().join("state")).unwrap()),
            ("what somebody saved", &|dir| fs::create_dir(dir.path().join("hutch.saved")).unwrap()),
            ("another's database", &|dir| {
                rusqlite::Connection::open(dir.database()).unwrap().execute_batch("CREATE TABLE t (x)").unwrap();
            }),
            ("a log without its database", &|dir| {
                fs::write(dir.database(), "").unwrap();
                fs::write(dir.log(), "entries").unwrap();
            }),
        ];
        for (what, change) in changes {
            let (_home, dir) = begun();
            change(&dir);
            assert!(!SqliteStore::is_begun(&dir, NOW) && !SqliteStore::purge_begun(&dir, NOW).unwrap(), "{what}");
            assert!(dir.path().exists(), "{what}");
        }
        // Nor is one made anew where a mark says that there was one.
        for if_missing in [IfMissing::Create, IfMissing::Fail] {
            let (_home, dir) = begun();
            fs::write(dir.path().join("hutch.mark"), &mark).unwrap();
            let opened = SqliteStore::open(&dir, &Opening { if_missing, ..Opening::default() });
            assert!(matches!(opened, Err(StoreError::Lost { .. })), "{if_missing:?}");
        }
    }
}

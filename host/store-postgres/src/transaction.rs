//! A record that is about to be appended: what it adds is found first, then comes the lock, and under it the objects and the entry. What
//! the server says about a commit is not all that there is to know: if it says nothing, it is asked what became of it.

use crate::failure::failed;
use crate::instance::Instance;
use crate::ledger::{Append, HEAD, LOCK, Place, place};
use crate::objects::{self, Gathered};
use crate::row::{Row, Value};
use crate::wire::{Connection, Statement, WireError};
use hutch_model::ledger::{Owner, Record, Sealed};
use hutch_model::snapshot::Objects;
use hutch_store::keeping::streams;
use hutch_store::{EntryKey, Store, StoreError, Transaction};
use std::sync::Arc;
use std::time::Duration;

/// How often a record is begun anew because a collector took objects away meanwhile.
const TRIES_MAX: u32 = 16;
/// The longest that a transaction may be left alone by who holds it. Then the server ends it, so that a machine that is gone keeps nobody.
const IDLE: Duration = Duration::from_secs(10);
/// At what distance a server that is away is asked again.
const PAUSE: Duration = Duration::from_millis(100);

/// What the server's operator asks for beyond `on` stays.
const SETTINGS: &str = "SELECT set_config('lock_timeout', $1, true),
    set_config('idle_in_transaction_session_timeout', $2, true),
    set_config('synchronous_commit', CASE WHEN $3 = 'off' THEN 'off'
        WHEN current_setting('synchronous_commit') = 'off' THEN 'on'
        ELSE current_setting('synchronous_commit') END, true)";

/// Entries that were made elsewhere, the store that has what they lead to, and for whom they are taken.
pub(crate) type Taken<'a> = (&'a [Sealed], &'a dyn Store, &'a Owner);

/// A transaction that holds the lock, or did.
pub(crate) struct Pending {
    instance: Arc<Instance>,
    /// None once the transaction has ended.
    connection: Option<Connection>,
    append: Append,
    is_written: bool,
    sealed: Sealed,
}

/// Begins a transaction, in which `first` is asked; gives the answers to that. What a reading says may be lost with the power, until the
/// next one that is not.
pub(crate) fn begin(
    connection: &mut Connection,
    (wait, is_reading): (Duration, bool),
    first: &[Statement<'_>],
) -> Result<Vec<Vec<Row>>, WireError> {
    let milliseconds = |time: Duration| format!("{}ms", time.as_millis().clamp(1, i32::MAX as u128));
    let (wait, idle) = (milliseconds(wait), milliseconds(IDLE));
    let synced = if is_reading { "off" } else { "on" };
    let settings = [Value::Text(&wait), Value::Text(&idle), Value::Text(synced)];
    let begun: [Statement<'_>; 2] = [("BEGIN", &[]), (SETTINGS, &settings)];
    let mut answers = connection.run(&[&begun, first].concat())?;
    answers.drain(..begun.len());
    Ok(answers)
}

/// Begins a transaction and locks the instance in it.
pub(crate) fn lock(
    instance: &Instance,
    connection: &mut Connection,
    how: (Duration, bool),
) -> Result<Option<Place>, StoreError> {
    let name = instance.key();
    let answers =
        begin(connection, how, &[(LOCK, &name), (HEAD, &name)]).map_err(|error| failed(&instance.at, error))?;
    place(&instance.at, answers.last().map(Vec::as_slice).unwrap_or_default())
}

/// Ends a transaction that came to nothing.
pub(crate) fn give_up(instance: &Instance, mut connection: Connection) {
    // What can't be told is noticed when the connection ends.
    let _ = connection.rows("ROLLBACK", &[]);
    instance.database.give_back(connection);
}

impl Pending {
    /// Everything but the entry, which is written with the commit.
    pub(crate) fn begin(
        instance: &Arc<Instance>,
        parts: (&Record, &dyn Objects, &[&[u8]]),
    ) -> Result<Pending, StoreError> {
        for _ in 0..TRIES_MAX {
            if let Some(pending) = Pending::attempt(instance, parts)? {
                return Ok(pending);
            }
        }
        Err(StoreError::Busy { at: instance.at.clone() })
    }

    /// None if it is to be begun anew.
    fn attempt(
        instance: &Arc<Instance>,
        (record, objects, streams): (&Record, &dyn Objects, &[&[u8]]),
    ) -> Result<Option<Pending>, StoreError> {
        let seen = instance.made()?;
        let mut gathered = Gathered::new(instance, seen.id);
        seen.head.advance(record)?.absorb(&mut gathered, objects)?;
        for stream in streams {
            gathered.add_stream(stream)?;
        }
        let mut connection = instance.database.take()?;
        let locked = lock(instance, &mut connection, (instance.database.wait(), record.is_reading()));
        let advanced = locked.and_then(|locked| match locked {
            // Nothing was taken away since it was seen to be there. Under the lock, because what is there must be whole: a root without
            // what it names, left by a writer that was killed or came second, would be taken for one that has all of it.
            Some(locked) if locked.removals == seen.removals => {
                let advance = locked.head.advance(record)?;
                let put = objects::put(&mut connection, locked.id, &gathered.new);
                put.map_err(|error| failed(&instance.at, error))?;
                Ok(Some((Append::of(&locked, record, &advance), advance.sealed)))
            }
            _ => Ok(None),
        });
        Pending::holding(instance, connection, advanced, false)
    }

    /// What holds the lock, with what was come to under it. A transaction that came to nothing is ended; None if it is to be begun anew.
    fn holding(
        instance: &Arc<Instance>,
        connection: Connection,
        advanced: Result<Option<(Append, Sealed)>, StoreError>,
        is_written: bool,
    ) -> Result<Option<Pending>, StoreError> {
        match advanced {
            Ok(Some((append, sealed))) => {
                let (instance, connection) = (Arc::clone(instance), Some(connection));
                Ok(Some(Pending { instance, connection, append, is_written, sealed }))
            }
            other => {
                give_up(instance, connection);
                other.map(|_| None)
            }
        }
    }

    /// Appends entries that were made elsewhere, in one transaction.
    pub(crate) fn take(instance: &Arc<Instance>, taken: Taken<'_>) -> Result<(), StoreError> {
        for _ in 0..TRIES_MAX {
            if let Some(mut pending) = Pending::attempt_take(instance, taken)? {
                return pending.end();
            }
        }
        Err(StoreError::Busy { at: instance.at.clone() })
    }

    fn attempt_take(
        instance: &Arc<Instance>,
        (entries, from, owner): Taken<'_>,
    ) -> Result<Option<Pending>, StoreError> {
        let kept_from = from.head()?.retained_from;
        let seen = instance.made()?;
        let mut gathered = Gathered::new(instance, seen.id);
        let (objects, mut head) = (from.objects(), seen.head);
        for sealed in entries {
            let (record, advance) = head.take(sealed, owner, kept_from)?;
            advance.absorb(&mut gathered, &*objects)?;
            for stream in streams(&record, from)? {
                gathered.add_stream(&stream)?;
            }
            head = advance.head;
        }
        let mut connection = instance.database.take()?;
        let locked = lock(instance, &mut connection, (instance.database.wait(), false));
        let advanced = locked.and_then(|locked| {
            let Some(mut locked) = locked.filter(|locked| locked.removals == seen.removals) else { return Ok(None) };
            let failed = |error| failed(&instance.at, error);
            objects::put(&mut connection, locked.id, &gathered.new).map_err(failed)?;
            let mut last = None;
            for sealed in entries {
                let (record, advance) = locked.head.take(sealed, owner, kept_from)?;
                let append = Append::of(&locked, &record, &advance);
                append.run(&mut connection, &[]).map_err(failed)?;
                (locked.head, last) = (advance.head, Some((append, advance.sealed)));
            }
            Ok(last)
        });
        Pending::holding(instance, connection, advanced, true)
    }

    /// Writes the entry, so that all that can refuse it has been asked.
    pub(crate) fn write(&mut self) -> Result<(), StoreError> {
        let Some(connection) = self.connection.as_mut() else { return Ok(()) };
        self.append.run(connection, &[]).map_err(|error| failed(&self.instance.at, error))?;
        self.is_written = true;
        Ok(())
    }

    /// Ends the transaction well.
    pub(crate) fn end(&mut self) -> Result<(), StoreError> {
        let Some(mut connection) = self.connection.take() else { return Ok(()) };
        let committed = match self.is_written {
            true => connection.rows("COMMIT", &[]).map(drop),
            false => self.append.run(&mut connection, &[("COMMIT", &[])]),
        };
        match committed {
            Ok(()) => {
                self.instance.database.give_back(connection);
                Ok(())
            }
            Err(error) if is_unknown(&error) => {
                self.instance.database.give_back(connection);
                became(&self.instance, &self.sealed, error)
            }
            Err(error) => {
                give_up(&self.instance, connection);
                Err(failed(&self.instance.at, error))
            }
        }
    }
}

/// Whether a commit that ended so may have been carried out.
fn is_unknown(error: &WireError) -> bool {
    match error {
        WireError::Io(_) => true,
        // Those who stand between may say so.
        WireError::Refused { state, .. } => state == "08007" || state == "40003",
        WireError::Unexpected(_) => false,
    }
}

/// What became of a commit whose answer was lost. Its transaction holds the lock until it is decided, so who gets the lock can see.
pub(crate) fn became(instance: &Instance, sealed: &Sealed, lost: WireError) -> Result<(), StoreError> {
    let wait = instance.database.wait().max(IDLE) + IDLE;
    let mut waited = Duration::ZERO;
    loop {
        instance.database.forget_idle();
        let looked = instance.database.take().and_then(|mut connection| {
            let looked = lock(instance, &mut connection, (wait, true)).and_then(|locked| {
                let Some(locked) = locked else { return Ok(None) };
                let key = EntryKey::Sequence(sealed.sequence);
                let found = crate::ledger::find(&mut connection, locked.id, &key);
                Ok(found.map_err(|error| failed(&instance.at, error))?.pop())
            });
            give_up(instance, connection);
            looked
        });
        match looked {
            Ok(Some(found)) if found.hash == sealed.hash => return Ok(()),
            Ok(_) => return Err(failed(&instance.at, lost)),
            // It may be starting again.
            Err(_) if waited < wait => {
                #[expect(clippy::disallowed_methods, reason = "no event tells that a server can be reached again")]
                std::thread::sleep(PAUSE);
                waited += PAUSE;
            }
            Err(_) => {
                let (at, source) = (instance.at.clone(), Box::new(lost));
                return Err(StoreError::Uncertain { at, sequence: sealed.sequence, source });
            }
        }
    }
}

impl Transaction for Pending {
    fn entry(&self) -> &Sealed {
        &self.sealed
    }

    fn commit(mut self: Box<Self>) -> Result<Sealed, StoreError> {
        self.end()?;
        Ok(self.sealed.clone())
    }
}

impl Drop for Pending {
    fn drop(&mut self) {
        if let Some(connection) = self.connection.take() {
            give_up(&self.instance, connection);
        }
    }
}

//! Objects in the database: reading them with their digests checked, and putting new ones there.

use crate::instance::Instance;
use crate::row::{Row, Value};
use crate::wire::{Connection, Statement, WireError};
use hutch_model::digest::{Digest, Kind};
use hutch_model::snapshot::{ObjectError, Objects, TreeObject};
use hutch_store::StoreError;
use hutch_store::keeping::{Shelf, Source};
use std::cell::RefCell;
use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;

/// The bytes of a part; what is longer has several.
const PART_BYTES: usize = 1 << 20;
/// Bytes that go to the server at once, and objects.
const FLIGHT_BYTES: usize = 8 << 20;
const FLIGHT_OBJECTS: usize = 1000;

const BYTES: &str = "SELECT bytes FROM hutch_objects WHERE instance = $1 AND digest = $2 ORDER BY part";
const HELD: &str = "SELECT digest FROM hutch_objects WHERE instance = $1 AND digest = ANY($2) AND part = 0";
const PUT: &str = "INSERT INTO hutch_objects (instance, digest, part, kind, bytes)
    SELECT $1, digest, part, kind, bytes FROM unnest($2, $3, $4, $5) AS new (digest, part, kind, bytes)
    ORDER BY digest, part ON CONFLICT DO NOTHING";

/// The number of an object's kind.
const fn kind_number(kind: Kind) -> i64 {
    match kind {
        Kind::Chunk => 1,
        Kind::List => 2,
        Kind::Tree => 3,
        // Nothing else is put here.
        _ => 4,
    }
}

/// The kind with this number.
pub(crate) const fn kind_of(number: u64) -> Option<Kind> {
    match number {
        1 => Some(Kind::Chunk),
        2 => Some(Kind::List),
        3 => Some(Kind::Tree),
        4 => Some(Kind::Stream),
        _ => None,
    }
}

/// The objects of a store, for readers in any thread.
pub(crate) struct Stored(pub(crate) Arc<Instance>);

impl Objects for Stored {
    fn get(&self, kind: Kind, digest: &Digest) -> Result<Arc<[u8]>, ObjectError> {
        let read = self.0.id().and_then(|id| {
            let Some(id) = id else { return Ok(Vec::new()) };
            self.0.database.sql(|connection| rows(connection, id, digest))
        });
        checked(kind, digest, &read.map_err(|error| ObjectError::unreadable(kind, *digest, error))?)
    }
}

fn rows(connection: &mut Connection, id: i64, digest: &Digest) -> Result<Vec<Row>, WireError> {
    connection.rows(BYTES, &[Value::Number(id), Value::Blob(digest.as_bytes())])
}

/// The bytes of an object from those of its parts.
fn checked(kind: Kind, digest: &Digest, parts: &[Row]) -> Result<Arc<[u8]>, ObjectError> {
    let parts: Vec<&[u8]> = parts.iter().filter_map(|row| row.blob(0)).map(|part| &part[..]).collect();
    let bytes: Arc<[u8]> = match parts[..] {
        [] => return Err(ObjectError::missing(kind, *digest)),
        [part] => part.into(),
        _ => parts.concat().into(),
    };
    match Digest::of(kind, &bytes) == *digest {
        true => Ok(bytes),
        false => Err(ObjectError::damaged(kind, *digest, "does not match its digest")),
    }
}

/// Which of these are there.
pub(crate) fn held(connection: &mut Connection, id: i64, digests: &[Digest]) -> Result<HashSet<Digest>, WireError> {
    let mut found = HashSet::new();
    for some in digests.chunks(FLIGHT_OBJECTS) {
        let some: Vec<&[u8]> = some.iter().map(|digest| &digest.as_bytes()[..]).collect();
        for row in connection.rows(HELD, &[Value::Number(id), Value::Blobs(&some)])? {
            found.insert(row.digest(0)?);
        }
    }
    Ok(found)
}

/// New objects, by digest.
pub(crate) type New = BTreeMap<Digest, (Kind, Arc<[u8]>)>;

/// Puts objects there, each whole; others may have put some of them there. The connection holds the instance's lock.
pub(crate) fn put(connection: &mut Connection, id: i64, new: &New) -> Result<(), WireError> {
    let mut left = new.iter().peekable();
    while left.peek().is_some() {
        let (mut digests, mut parts, mut kinds, mut bytes) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        let mut size = 0;
        while let Some((digest, (kind, content))) =
            left.next_if(|(_, (_, content))| size == 0 || size + content.len() <= FLIGHT_BYTES)
        {
            // An empty stream is a part too.
            let pieces = content.chunks(PART_BYTES).chain(content.is_empty().then_some(&content[..]));
            for (part, piece) in (0..).zip(pieces) {
                digests.push(&digest.as_bytes()[..]);
                parts.push(part);
                kinds.push(kind_number(*kind));
                bytes.push(piece);
            }
            size += content.len().max(1);
            if digests.len() >= FLIGHT_OBJECTS {
                break;
            }
        }
        let (id, digests) = (Value::Number(id), Value::Blobs(&digests));
        let values = [id, digests, Value::Numbers(&parts), Value::Numbers(&kinds), Value::Blobs(&bytes)];
        connection.rows(PUT, &values)?;
    }
    Ok(())
}

/// What a record adds, beside what there is. Holds no connection: what is absorbed may be read from this very store.
pub(crate) struct Gathered<'i> {
    instance: &'i Instance,
    id: i64,
    /// Whether it is there, as far as that was asked.
    known: HashMap<Digest, bool>,
    pub(crate) new: New,
}

impl<'i> Gathered<'i> {
    pub(crate) fn new(instance: &'i Instance, id: i64) -> Gathered<'i> {
        Gathered { instance, id, known: HashMap::new(), new: New::new() }
    }

    /// Adds a stream, unless it is there.
    pub(crate) fn add_stream(&mut self, bytes: &[u8]) -> Result<(), StoreError> {
        let digest = Digest::of(Kind::Stream, bytes);
        if !self.holds(&digest)? {
            self.put(Kind::Stream, &digest, bytes)?;
        }
        Ok(())
    }
}

impl Shelf for Gathered<'_> {
    fn holds(&mut self, digest: &Digest) -> Result<bool, StoreError> {
        if self.new.contains_key(digest) {
            return Ok(true);
        }
        if !self.known.contains_key(digest) {
            self.expect(&[(*digest, None)])?;
        }
        Ok(self.known.get(digest).copied().unwrap_or_default())
    }

    fn expect(&mut self, objects: &[(Digest, Option<u64>)]) -> Result<(), StoreError> {
        let is_new = |digest: &Digest| !self.known.contains_key(digest) && !self.new.contains_key(digest);
        let asked: Vec<Digest> = objects.iter().map(|(digest, _)| *digest).filter(is_new).collect();
        if !asked.is_empty() {
            let found = self.instance.database.sql(|connection| held(connection, self.id, &asked))?;
            self.known.extend(asked.into_iter().map(|digest| (digest, found.contains(&digest))));
        }
        Ok(())
    }

    fn tree(&mut self, digest: &Digest) -> Option<TreeObject> {
        if let Some((_, bytes)) = self.new.get(digest) {
            return TreeObject::decode(bytes).ok();
        }
        let rows = self.instance.database.sql(|connection| rows(connection, self.id, digest)).ok()?;
        TreeObject::decode(&checked(Kind::Tree, digest, &rows).ok()?).ok()
    }

    fn put(&mut self, kind: Kind, digest: &Digest, bytes: &[u8]) -> Result<(), StoreError> {
        self.new.insert(*digest, (kind, bytes.into()));
        Ok(())
    }

    fn at(&self) -> String {
        self.instance.at.clone()
    }
}

/// The objects as one connection, perhaps within a transaction, sees them.
pub(crate) struct At<'c> {
    connection: RefCell<&'c mut Connection>,
    id: i64,
    /// All that there are.
    all: &'c HashSet<Digest>,
}

impl<'c> At<'c> {
    pub(crate) fn new(connection: &'c mut Connection, id: i64, all: &'c HashSet<Digest>) -> At<'c> {
        At { connection: RefCell::new(connection), id, all }
    }
}

impl Source for At<'_> {
    fn bytes(&self, kind: Kind, digest: &Digest) -> Result<Arc<[u8]>, ObjectError> {
        let read = rows(&mut self.connection.borrow_mut(), self.id, digest);
        checked(kind, digest, &read.map_err(|error| ObjectError::unreadable(kind, *digest, error))?)
    }

    fn exists(&self, digest: &Digest) -> bool {
        self.all.contains(digest)
    }
}

/// An object that is there: its name, the number of its kind, its bytes, and its parts.
pub(crate) struct Listed {
    pub(crate) digest: Digest,
    pub(crate) kind: u64,
    pub(crate) bytes: u64,
}

/// All objects that are there.
pub(crate) fn list(connection: &mut Connection, id: i64) -> Result<Vec<Listed>, WireError> {
    const LIST: &str = "SELECT digest, min(kind), sum(length(bytes))::bigint FROM hutch_objects WHERE instance = $1
        GROUP BY digest";
    let listed = |row: &Row| Ok(Listed { digest: row.digest(0)?, kind: row.number(1)?, bytes: row.number(2)? });
    connection.rows(LIST, &[Value::Number(id)])?.iter().map(listed).collect()
}

/// Takes objects away; how many there were, and their bytes.
pub(crate) fn remove(connection: &mut Connection, id: i64, digests: &[Digest]) -> Result<(u64, u64), WireError> {
    const REMOVE: &str = "DELETE FROM hutch_objects WHERE instance = $1 AND digest = ANY($2)
        RETURNING part, length(bytes)::bigint";
    let (mut objects, mut bytes) = (0, 0);
    for some in digests.chunks(FLIGHT_OBJECTS) {
        let some: Vec<&[u8]> = some.iter().map(|digest| &digest.as_bytes()[..]).collect();
        let statement: Statement<'_> = (REMOVE, &[Value::Number(id), Value::Blobs(&some)]);
        for row in connection.run(&[statement])?.iter().flatten() {
            objects += u64::from(row.number(0)? == 0);
            bytes += row.number(1)?;
        }
    }
    Ok((objects, bytes))
}

/// An object of the instance, read by its own number of a kind; for looking through all of them.
pub(crate) fn is_sound(connection: &mut Connection, id: i64, listed: &Listed) -> Result<bool, WireError> {
    let Some(kind) = kind_of(listed.kind) else { return Ok(false) };
    Ok(checked(kind, &listed.digest, &rows(connection, id, &listed.digest)?).is_ok())
}

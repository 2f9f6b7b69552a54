//! How digests and numbers stand in the tables.

use hutch_model::digest::{Digest, Kind};
use rusqlite::types::{FromSql, FromSqlError, FromSqlResult, ToSql, ToSqlOutput, ValueRef};

/// A digest as 32 bytes.
pub(crate) struct Named(pub(crate) Digest);

impl ToSql for Named {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        Ok(ToSqlOutput::Borrowed(ValueRef::Blob(self.0.as_bytes())))
    }
}

impl FromSql for Named {
    fn column_result(value: ValueRef<'_>) -> FromSqlResult<Named> {
        let bytes = value.as_blob()?;
        let size = FromSqlError::InvalidBlobSize { expected_size: 32, blob_size: bytes.len() };
        bytes.try_into().map(|bytes| Named(Digest::from_bytes(bytes))).map_err(|_| size)
    }
}

/// The number of an object's kind; `None` for kinds that are not stored as objects.
pub(super) const fn kind_number(kind: Kind) -> Option<i64> {
    match kind {
        Kind::Chunk => Some(1),
        Kind::List => Some(2),
        Kind::Tree => Some(3),
        Kind::Stream => Some(4),
        _ => None,
    }
}

/// The kind with this number.
pub(super) const fn kind_of(number: i64) -> Option<Kind> {
    match number {
        1 => Some(Kind::Chunk),
        2 => Some(Kind::List),
        3 => Some(Kind::Tree),
        4 => Some(Kind::Stream),
        _ => None,
    }
}

/// A count or a time as SQLite's signed integer, held at the largest one.
pub(crate) fn signed(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

/// And back; what is negative was never written.
pub(crate) fn unsigned(number: i64) -> u64 {
    u64::try_from(number).unwrap_or_default()
}

//! Values as they go to the server and come back: in PostgreSQL's binary forms.

use bytes::Bytes;
use hutch_model::digest::Digest;

/// A parameter of a statement.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Value<'a> {
    /// `bigint`
    Number(i64),
    /// `text`
    Text(&'a str),
    /// `bytea`
    Blob(&'a [u8]),
    /// `bigint[]`
    Numbers(&'a [i64]),
    /// `text[]`
    Texts(&'a [&'a str]),
    /// `bytea[]`
    Blobs(&'a [&'a [u8]]),
}

impl Value<'_> {
    /// The number of its type in every PostgreSQL.
    pub(crate) fn type_number(&self) -> u32 {
        match self {
            Value::Number(_) => 20,
            Value::Text(_) => 25,
            Value::Blob(_) => 17,
            Value::Numbers(_) => 1016,
            Value::Texts(_) => 1009,
            Value::Blobs(_) => 1001,
        }
    }

    /// Its bytes.
    pub(crate) fn write(&self, to: &mut impl bytes::BufMut) {
        match self {
            Value::Number(number) => to.put_i64(*number),
            Value::Text(text) => to.put_slice(text.as_bytes()),
            Value::Blob(bytes) => to.put_slice(bytes),
            Value::Numbers(all) => array(to, 20, all.iter().map(|number| number.to_be_bytes())),
            Value::Texts(all) => array(to, 25, all.iter().map(|text| text.as_bytes())),
            Value::Blobs(all) => array(to, 17, all.iter()),
        }
    }
}

fn array(to: &mut impl bytes::BufMut, type_number: u32, items: impl ExactSizeIterator<Item = impl AsRef<[u8]>>) {
    // What is too long for a length is refused by the server as a message that is too long.
    let length = |length: usize| i32::try_from(length).unwrap_or(i32::MAX);
    let count = length(items.len());
    to.put_i32(i32::from(count > 0));
    to.put_i32(0);
    to.put_u32(type_number);
    if count > 0 {
        to.put_i32(count);
        to.put_i32(1);
    }
    for item in items {
        to.put_i32(length(item.as_ref().len()));
        to.put_slice(item.as_ref());
    }
}

/// What the server answered is not what was asked for: the tables are others than this version's.
#[derive(Debug, thiserror::Error)]
#[error("column {column} is {found}, expected {expected}")]
pub(crate) struct Unexpected {
    column: usize,
    found: String,
    expected: &'static str,
}

/// A row of an answer.
#[derive(Debug)]
pub(crate) struct Row(pub(crate) Vec<Option<Bytes>>);

impl Row {
    fn wrong(&self, column: usize, expected: &'static str) -> Unexpected {
        let found = self.blob(column).map_or_else(|| "missing".to_owned(), |bytes| format!("{} bytes", bytes.len()));
        Unexpected { column, found, expected }
    }

    /// Bytes; none if they are NULL.
    pub(crate) fn blob(&self, column: usize) -> Option<&Bytes> {
        self.0.get(column)?.as_ref()
    }

    /// Bytes.
    pub(crate) fn bytes(&self, column: usize) -> Result<&Bytes, Unexpected> {
        self.blob(column).ok_or_else(|| self.wrong(column, "bytes"))
    }

    /// A count or a place, which is never negative.
    pub(crate) fn number(&self, column: usize) -> Result<u64, Unexpected> {
        let number = self.bytes(column)?.first_chunk().filter(|bytes: &&[u8; 8]| bytes.len() == 8);
        let number = number.and_then(|bytes| u64::try_from(i64::from_be_bytes(*bytes)).ok());
        number.ok_or_else(|| self.wrong(column, "a number"))
    }

    /// A digest.
    pub(crate) fn digest(&self, column: usize) -> Result<Digest, Unexpected> {
        let bytes: Result<[u8; 32], _> = self.bytes(column)?[..].try_into();
        bytes.map(Digest::from_bytes).map_err(|_| self.wrong(column, "a digest"))
    }

    /// A text.
    pub(crate) fn text(&self, column: usize) -> Result<&str, Unexpected> {
        std::str::from_utf8(self.bytes(column)?).map_err(|_| self.wrong(column, "a text"))
    }
}

/// A count or a time as a signed number, held at the largest one.
pub(crate) fn signed(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arrays_are_written_as_the_server_reads_them() {
        let mut bytes = Vec::new();
        Value::Blobs(&[b"ab", b""]).write(&mut bytes);
        let expected: [&[u8]; 7] = [
            &[0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 17],
            &[0, 0, 0, 2, 0, 0, 0, 1],
            &[0, 0, 0, 2],
            b"ab",
            &[0, 0, 0, 0],
            &[],
            &[],
        ];
        assert_eq!(bytes, expected.concat());
        bytes.clear();
        Value::Numbers(&[]).write(&mut bytes);
        assert_eq!(bytes, [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 20]);
    }

    #[test]
    fn what_is_not_as_expected_is_said_and_not_guessed() {
        let row = Row(vec![None, Some(Bytes::from_static(&[255; 8])), Some(Bytes::from_static(b"x"))]);
        assert!(row.number(0).is_err() && row.number(1).is_err() && row.number(2).is_err() && row.number(3).is_err());
        assert!(row.digest(2).is_err() && row.text(1).is_err());
        assert_eq!(row.text(2).unwrap(), "x");
        assert_eq!(Row(vec![Some(Bytes::from_static(&[0, 0, 0, 0, 0, 0, 0, 7]))]).number(0).unwrap(), 7);
    }
}

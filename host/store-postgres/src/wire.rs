//! One connection: messages there and back. Statements go together and their answers come together, so that a step of a commit is one
//! journey. They are unnamed and belong to no session.
//!
//! It reads and writes the descriptor as a file. What the ring around a run refuses are calls that make sockets or use them as such, so
//! what was connected before stays usable behind it, and nothing else can be connected to.

use crate::row::{Row, Unexpected, Value};
use bytes::{BufMut, Bytes, BytesMut};
use fallible_iterator::FallibleIterator;
use postgres_protocol::IsNull;
use postgres_protocol::authentication::sasl::{ChannelBinding, SCRAM_SHA_256, ScramSha256};
use postgres_protocol::message::backend::{DataRowBody, ErrorFields, Header, Message};
use postgres_protocol::message::frontend;
use std::io::{self, Read, Write};

/// The longest message that a server may send: longer than all that was ever written.
const MESSAGE_BYTES_MAX: i32 = 256 << 20;
/// Bytes that are read at once.
const READ_BYTES: usize = 64 << 10;

/// A statement and its parameters.
pub(crate) type Statement<'a> = (&'a str, &'a [Value<'a>]);

/// What went wrong with a connection.
#[derive(Debug, thiserror::Error)]
pub(crate) enum WireError {
    /// It is gone, or what came makes no sense: nothing is known of what was asked last.
    #[error(transparent)]
    Io(#[from] io::Error),
    /// The server refused a statement, and did nothing of it.
    #[error("{message} (SQLSTATE {state})")]
    Refused {
        /// Five characters, by which its manual explains it.
        state: String,
        /// Its words.
        message: String,
    },
    /// The tables are others than this version's.
    #[error(transparent)]
    Unexpected(#[from] Unexpected),
}

/// What carries the bytes.
#[cfg(unix)]
pub(crate) type Stream = std::fs::File;
#[cfg(not(unix))]
pub(crate) type Stream = std::net::TcpStream;

/// A connection. Once it failed with [`WireError::Io`] it is of no use.
#[derive(Debug)]
pub(crate) struct Connection {
    stream: Stream,
    input: BytesMut,
    output: BytesMut,
    /// What the server says of itself: its version is asked for with it.
    pub(crate) version: String,
    /// `I` outside of a transaction, `T` in one, `E` in one that failed.
    status: u8,
    is_broken: bool,
}

fn nonsense(what: &str) -> WireError {
    io::Error::new(io::ErrorKind::InvalidData, format!("the server {what}")).into()
}

impl Connection {
    /// Begins a session as a role, over a connection that says itself how long it is waited for.
    pub(crate) fn open(
        stream: Stream,
        (user, database, password): (&str, &str, Option<&str>),
    ) -> Result<Connection, WireError> {
        let (input, output) = (BytesMut::new(), BytesMut::new());
        let mut connection = Connection { stream, input, output, version: String::new(), status: 0, is_broken: false };
        let parameters =
            [("user", user), ("database", database), ("client_encoding", "UTF8"), ("application_name", "hutch")];
        frontend::startup_message(parameters, &mut connection.output)?;
        connection.send()?;
        let mut scram = None;
        loop {
            match connection.receive()? {
                Message::AuthenticationOk | Message::BackendKeyData(_) | Message::NoticeResponse(_) => {}
                Message::AuthenticationSasl(body) => {
                    let mut mechanisms = body.mechanisms();
                    if !mechanisms.any(|name| Ok(name == SCRAM_SHA_256))? {
                        return Err(nonsense("knows no SCRAM-SHA-256"));
                    }
                    let Some(password) = password else {
                        let message = "a password is asked for; PGPASSFILE or PGPASSWORD has none for it".to_owned();
                        return Err(WireError::Refused { state: "28P01".to_owned(), message });
                    };
                    let exchange = ScramSha256::new(password.as_bytes(), ChannelBinding::unsupported());
                    frontend::sasl_initial_response(SCRAM_SHA_256, exchange.message(), &mut connection.output)?;
                    connection.send()?;
                    scram = Some(exchange);
                }
                Message::AuthenticationSaslContinue(body) => {
                    let exchange = scram.as_mut().ok_or_else(|| nonsense("goes on with what was not begun"))?;
                    exchange.update(body.data())?;
                    frontend::sasl_response(exchange.message(), &mut connection.output)?;
                    connection.send()?;
                }
                Message::AuthenticationSaslFinal(body) => {
                    let exchange = scram.as_mut().ok_or_else(|| nonsense("ends what was not begun"))?;
                    exchange.finish(body.data())?;
                }
                Message::ParameterStatus(body) if body.name()? == "server_version" => {
                    body.value()?.clone_into(&mut connection.version);
                }
                Message::ParameterStatus(_) => {}
                Message::ReadyForQuery(body) => {
                    connection.status = body.status();
                    return Ok(connection);
                }
                Message::ErrorResponse(body) => return Err(refused(body.fields())?),
                Message::AuthenticationCleartextPassword | Message::AuthenticationMd5Password(_) => {
                    return Err(nonsense("asks for a password in a way that others can read; it needs scram-sha-256"));
                }
                _ => return Err(nonsense("asks for a way to say who one is that is not known here")),
            }
        }
    }

    /// Carries statements out, one after the other, and gives the rows of each. Those behind one that is refused are not tried. Outside of
    /// a transaction they are one.
    pub(crate) fn run(&mut self, statements: &[Statement<'_>]) -> Result<Vec<Vec<Row>>, WireError> {
        let result = self.exchange(statements);
        self.is_broken |= matches!(result, Err(WireError::Io(_)));
        result
    }

    /// The rows of one statement.
    pub(crate) fn rows(&mut self, sql: &str, values: &[Value<'_>]) -> Result<Vec<Row>, WireError> {
        Ok(self.run(&[(sql, values)])?.pop().unwrap_or_default())
    }

    /// Whether it can be used for something else.
    pub(crate) fn is_free(&self) -> bool {
        !self.is_broken && self.status == b'I'
    }

    fn exchange(&mut self, statements: &[Statement<'_>]) -> Result<Vec<Vec<Row>>, WireError> {
        for (sql, values) in statements {
            frontend::parse("", sql, values.iter().map(Value::type_number), &mut self.output)?;
            let write = |value: &Value<'_>, to: &mut BytesMut| {
                value.write(to);
                Ok(IsNull::No)
            };
            frontend::bind("", "", [1], values.iter(), write, [1], &mut self.output).map_err(|error| match error {
                frontend::BindError::Serialization(error) => error,
                frontend::BindError::Conversion(error) => io::Error::other(error),
            })?;
            frontend::execute("", 0, &mut self.output)?;
        }
        frontend::sync(&mut self.output);
        self.send()?;
        let (mut answers, mut rows, mut error) = (Vec::with_capacity(statements.len()), Vec::new(), None);
        loop {
            match self.receive()? {
                Message::DataRow(body) => rows.push(row(&body)?),
                Message::CommandComplete(_) | Message::EmptyQueryResponse => answers.push(std::mem::take(&mut rows)),
                Message::ErrorResponse(body) => error = Some(refused(body.fields())?),
                Message::ReadyForQuery(body) => {
                    self.status = body.status();
                    return match error {
                        Some(error) => Err(error),
                        None if answers.len() == statements.len() => Ok(answers),
                        None => Err(nonsense("left statements unanswered")),
                    };
                }
                Message::ParseComplete | Message::BindComplete | Message::NoData => {}
                Message::ParameterStatus(_) | Message::NoticeResponse(_) => {}
                _ => return Err(nonsense("answered something that nobody asked for")),
            }
        }
    }

    fn send(&mut self) -> Result<(), WireError> {
        let sent = self.stream.write_all(&self.output);
        self.output.clear();
        Ok(sent?)
    }

    fn receive(&mut self) -> Result<Message, WireError> {
        loop {
            if Header::parse(&self.input)?.is_some_and(|header| header.len() > MESSAGE_BYTES_MAX) {
                return Err(nonsense("sent a message that is longer than any"));
            }
            if let Some(message) = Message::parse(&mut self.input)? {
                return Ok(message);
            }
            let held = self.input.len();
            self.input.put_bytes(0, READ_BYTES);
            let read = self.stream.read(self.input.get_mut(held..).unwrap_or_default());
            self.input.truncate(held + read.as_ref().copied().unwrap_or_default());
            match read {
                Ok(0) => return Err(io::Error::from(io::ErrorKind::UnexpectedEof).into()),
                Ok(_) => {}
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    return Err(io::Error::new(io::ErrorKind::TimedOut, "the server says nothing").into());
                }
                Err(error) => return Err(error.into()),
            }
        }
    }
}

impl Drop for Connection {
    fn drop(&mut self) {
        if !self.is_broken {
            frontend::terminate(&mut self.output);
            // It ends in any case.
            let _ = self.send();
        }
    }
}

fn row(body: &DataRowBody) -> Result<Row, WireError> {
    let bytes: &Bytes = body.buffer_bytes();
    let mut columns = Vec::new();
    let mut ranges = body.ranges();
    while let Some(range) = ranges.next()? {
        columns.push(range.map(|range| bytes.slice(range)));
    }
    Ok(Row(columns))
}

/// What a server's refusal says. Its details may hold values, and are left out.
fn refused(mut fields: ErrorFields<'_>) -> Result<WireError, io::Error> {
    let (mut state, mut message) = (String::new(), String::new());
    while let Some(field) = fields.next()? {
        let text = || String::from_utf8_lossy(field.value_bytes()).into_owned();
        match field.type_() {
            b'C' => state = text(),
            b'M' => message = text(),
            _ => {}
        }
    }
    Ok(WireError::Refused { state, message })
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;
    use std::os::fd::OwnedFd;
    use std::os::unix::net::UnixStream;

    #[test]
    fn a_message_that_is_longer_than_any_is_refused_before_it_comes() {
        let begun = |length: i32| {
            let (ours, mut theirs) = UnixStream::pair().unwrap();
            theirs.write_all(&[&b"N"[..], &length.to_be_bytes()].concat()).unwrap();
            // Nothing comes behind it.
            theirs.shutdown(std::net::Shutdown::Write).unwrap();
            let opened = Connection::open(Stream::from(OwnedFd::from(ours)), ("role", "database", None));
            opened.unwrap_err().to_string()
        };
        assert!(begun(MESSAGE_BYTES_MAX + 1).contains("longer than any"));
        assert!(!begun(MESSAGE_BYTES_MAX).contains("longer than any"));
    }
}

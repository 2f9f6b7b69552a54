//! Byte streams: standard input from the invocation, captured output, and files at a moving place. Nothing blocks: a read
//! has bytes or is at its end, a write is done when it returns.

use crate::World;
use crate::failure::{Errno, Failure, Stop};
use crate::files::{NodeId, check_offset};
use crate::meter::price;
use alloc::vec::Vec;
use hutch_model::limits::Limit;

/// Bytes that a stream takes or gives in one call.
pub const STREAM_BYTES: u64 = 64 * 1024;

/// A stream to read from.
#[derive(Debug)]
pub enum Input {
    /// Standard input; all its streams share one place.
    Stdin,
    /// A file; `None` once its end or an error was met.
    File(Option<Reading>),
}

/// A place in a file to read from.
#[derive(Debug)]
pub struct Reading {
    pub(crate) node: NodeId,
    pub(crate) offset: u64,
    pub(crate) readable: bool,
}

/// A stream to write to.
#[derive(Debug)]
pub enum Output {
    /// Standard output.
    Stdout,
    /// Standard error.
    Stderr,
    /// A file; `None` once an error was met.
    File(Option<Writing>),
}

/// A place in a file to write to.
#[derive(Debug)]
pub struct Writing {
    pub(crate) node: NodeId,
    /// `None` is the end, wherever that is at the time of writing.
    pub(crate) offset: Option<u64>,
    pub(crate) writable: bool,
}

/// Why a stream call fails.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum StreamFailure {
    /// The stream has ended.
    Closed,
    /// The last operation failed; the stream is closed from now on.
    Failed(Errno),
    /// The run ends.
    Stop(Stop),
}

impl From<Stop> for StreamFailure {
    fn from(stop: Stop) -> StreamFailure {
        StreamFailure::Stop(stop)
    }
}

impl From<Failure> for StreamFailure {
    fn from(failure: Failure) -> StreamFailure {
        match failure {
            Failure::Errno(errno) => StreamFailure::Failed(errno),
            Failure::Stop(stop) => StreamFailure::Stop(stop),
        }
    }
}

impl World {
    /// Reads up to `length` bytes, at most [`STREAM_BYTES`]. No bytes come back only if none were asked for.
    ///
    /// # Errors
    /// `Closed` at the end.
    pub fn stream_read(&mut self, input: &mut Input, length: u64) -> Result<Vec<u8>, StreamFailure> {
        let length = length.min(STREAM_BYTES);
        self.meter.spend(length * price::BYTE)?;
        match input {
            Input::Stdin => {
                self.is_stdin_read |= length > 0;
                let rest = &self.invocation.stdin()[self.stdin_at..];
                let bytes = &rest[..rest.len().min(length as usize)];
                if bytes.is_empty() && length > 0 {
                    return Err(StreamFailure::Closed);
                }
                self.stdin_at += bytes.len();
                Ok(bytes.to_vec())
            }
            Input::File(place) => {
                let Some(reading) = place else { return Err(StreamFailure::Closed) };
                if length == 0 {
                    return Ok(Vec::new());
                }
                let read = match (check_offset(reading.offset), reading.readable) {
                    (Err(errno), _) => Err(errno.into()),
                    (Ok(()), false) => Err(Errno::BadDescriptor.into()),
                    (Ok(()), true) => self.file_read(reading.node, reading.offset, length),
                };
                match read {
                    Ok(bytes) if !bytes.is_empty() => {
                        reading.offset += bytes.len() as u64;
                        Ok(bytes)
                    }
                    Ok(_) => {
                        self.close_input(input);
                        Err(StreamFailure::Closed)
                    }
                    Err(failure) => {
                        self.close_input(input);
                        Err(failure.into())
                    }
                }
            }
        }
    }

    /// Whether bytes of standard input were asked for, though there may have been none.
    pub fn is_stdin_read(&self) -> bool {
        self.is_stdin_read
    }

    /// Bytes of standard input that are still to be read.
    pub fn stdin_left(&self) -> u64 {
        self.invocation.stdin().len().saturating_sub(self.stdin_at) as u64
    }

    /// Bytes that the next write may have.
    ///
    /// # Errors
    /// `Closed` after an error.
    pub fn stream_check_write(&mut self, output: &Output) -> Result<u64, StreamFailure> {
        match output {
            Output::File(None) => Err(StreamFailure::Closed),
            _ => Ok(STREAM_BYTES),
        }
    }

    /// Writes all bytes.
    ///
    /// # Errors
    /// More than [`STREAM_BYTES`] trap; output over its limit ends the run; a file that can't be written fails and closes the
    /// stream.
    pub fn stream_write(&mut self, output: &mut Output, bytes: &[u8]) -> Result<(), StreamFailure> {
        if bytes.len() as u64 > STREAM_BYTES {
            return Err(Stop::Trap("write_beyond_permit").into());
        }
        self.meter.spend(bytes.len() as u64 * price::BYTE)?;
        match output {
            Output::Stdout => Ok(capture(&self.meter, &mut self.stdout, Limit::Stdout, bytes)?),
            Output::Stderr => Ok(capture(&self.meter, &mut self.stderr, Limit::Stderr, bytes)?),
            Output::File(place) => {
                let Some(writing) = place else { return Err(StreamFailure::Closed) };
                let written = match (check_offset(writing.offset.unwrap_or(0)), writing.writable, writing.offset) {
                    (Err(errno), ..) => Err(errno.into()),
                    (Ok(()), false, _) => Err(Errno::BadDescriptor.into()),
                    (Ok(()), true, None) => self.file_append(writing.node, bytes),
                    (Ok(()), true, Some(offset)) => self.file_write(writing.node, offset, bytes),
                };
                match written {
                    Ok(()) => {
                        if let Some(offset) = &mut writing.offset {
                            *offset += bytes.len() as u64;
                        }
                        Ok(())
                    }
                    Err(failure) => {
                        self.close_output(output);
                        Err(failure.into())
                    }
                }
            }
        }
    }

    /// Moves bytes from one stream to another, at most [`STREAM_BYTES`], and says how many.
    ///
    /// # Errors
    /// As reading and writing.
    pub fn stream_splice(&mut self, output: &mut Output, input: &mut Input, length: u64) -> Result<u64, StreamFailure> {
        let permit = self.stream_check_write(output)?;
        let bytes = self.stream_read(input, length.min(permit))?;
        if !bytes.is_empty() {
            self.stream_write(output, &bytes)?;
        }
        Ok(bytes.len() as u64)
    }

    /// Lets go of what the stream holds.
    pub fn close_input(&mut self, input: &mut Input) {
        if let Input::File(place) = input
            && let Some(reading) = place.take()
        {
            self.release(reading.node);
        }
    }

    /// Lets go of what the stream holds.
    pub fn close_output(&mut self, output: &mut Output) {
        if let Output::File(place) = output
            && let Some(writing) = place.take()
        {
            self.release(writing.node);
        }
    }
}

/// Keeps what fits; the first byte over the limit ends the run. Output has limits of its own and does not count as memory, so
/// that a guest without memory can still say so.
fn capture(meter: &crate::Meter, captured: &mut Vec<u8>, limit: Limit, bytes: &[u8]) -> Result<(), Stop> {
    let room = meter.limit(limit).saturating_sub(captured.len() as u64);
    let (fits, rest) = bytes.split_at((bytes.len() as u64).min(room) as usize);
    captured.extend_from_slice(fits);
    if rest.is_empty() { Ok(()) } else { Err(Stop::Limit(limit)) }
}

//! `wasi:io`: streams, pollables and the errors of streams.

use super::bindings::wasi::io::{error, poll, streams};
use crate::guest::{Failed, Guest};
use hutch_world::{Input, Output, Pollable, STREAM_BYTES, Stop, StreamFailure};
use streams::StreamError;
use wasmtime::component::Resource;

/// The most that the blocking-…-and-flush functions take, in bytes, by their specification.
const BLOCKING_WRITE_BYTES: u64 = 4096;

type StreamResult<T> = wasmtime::Result<Result<T, StreamError>>;

impl Guest {
    fn stream_result<T>(&mut self, result: Result<T, StreamFailure>) -> StreamResult<T> {
        match result {
            Ok(value) => Ok(Ok(value)),
            Err(StreamFailure::Closed) => Ok(Err(StreamError::Closed)),
            Err(StreamFailure::Failed(errno)) => Ok(Err(StreamError::LastOperationFailed(self.push(Failed(errno))?))),
            Err(StreamFailure::Stop(stop)) => match stop.errno() {
                Ok(errno) => Ok(Err(StreamError::LastOperationFailed(self.push(Failed(errno))?))),
                Err(stop) => Err(stop.into()),
            },
        }
    }

    fn write(&mut self, output: &Resource<Output>, contents: &[u8]) -> StreamResult<()> {
        self.enter()?;
        let result = self.world.stream_write(self.table.get_mut(output)?, contents);
        self.stream_result(result)
    }

    fn splice_streams(&mut self, output: &Resource<Output>, input: &Resource<Input>, len: u64) -> StreamResult<u64> {
        self.enter()?;
        // The table lends one resource at a time: the input is taken out and put back.
        let mut taken = std::mem::replace(self.table.get_mut(input)?, Input::Stdin);
        let result = match self.table.get_mut(output) {
            Ok(output) => Ok(self.world.stream_splice(output, &mut taken, len)),
            Err(error) => Err(error),
        };
        *self.table.get_mut(input)? = taken;
        self.stream_result(result?)
    }
}

impl streams::Host for Guest {}

impl streams::HostInputStream for Guest {
    fn read(&mut self, input: Resource<Input>, len: u64) -> StreamResult<Vec<u8>> {
        self.enter()?;
        let result = self.world.stream_read(self.table.get_mut(&input)?, len);
        self.stream_result(result)
    }

    fn blocking_read(&mut self, input: Resource<Input>, len: u64) -> StreamResult<Vec<u8>> {
        streams::HostInputStream::read(self, input, len)
    }

    fn skip(&mut self, input: Resource<Input>, len: u64) -> StreamResult<u64> {
        Ok(streams::HostInputStream::read(self, input, len)?.map(|bytes| bytes.len() as u64))
    }

    fn blocking_skip(&mut self, input: Resource<Input>, len: u64) -> StreamResult<u64> {
        streams::HostInputStream::skip(self, input, len)
    }

    fn subscribe(&mut self, _: Resource<Input>) -> wasmtime::Result<Resource<Pollable>> {
        self.enter()?;
        self.push(Pollable::Ready)
    }

    fn drop(&mut self, input: Resource<Input>) -> wasmtime::Result<()> {
        let mut input = self.take_back(input)?;
        self.enter()?.close_input(&mut input);
        Ok(())
    }
}

impl streams::HostOutputStream for Guest {
    fn check_write(&mut self, output: Resource<Output>) -> StreamResult<u64> {
        self.enter()?;
        let result = self.world.stream_check_write(self.table.get(&output)?);
        self.stream_result(result)
    }

    fn write(&mut self, output: Resource<Output>, contents: Vec<u8>) -> StreamResult<()> {
        Guest::write(self, &output, &contents)
    }

    fn blocking_write_and_flush(&mut self, output: Resource<Output>, contents: Vec<u8>) -> StreamResult<()> {
        if contents.len() as u64 > BLOCKING_WRITE_BYTES {
            return Err(Stop::Trap("blocking_write_too_long").into());
        }
        Guest::write(self, &output, &contents)
    }

    fn flush(&mut self, output: Resource<Output>) -> StreamResult<()> {
        Ok(self.check_write(output)?.map(|_| ()))
    }

    fn blocking_flush(&mut self, output: Resource<Output>) -> StreamResult<()> {
        self.flush(output)
    }

    fn subscribe(&mut self, _: Resource<Output>) -> wasmtime::Result<Resource<Pollable>> {
        self.enter()?;
        self.push(Pollable::Ready)
    }

    fn write_zeroes(&mut self, output: Resource<Output>, len: u64) -> StreamResult<()> {
        if len > STREAM_BYTES {
            return Err(Stop::Trap("write_beyond_permit").into());
        }
        Guest::write(self, &output, &vec![0; len as usize])
    }

    fn blocking_write_zeroes_and_flush(&mut self, output: Resource<Output>, len: u64) -> StreamResult<()> {
        if len > BLOCKING_WRITE_BYTES {
            return Err(Stop::Trap("blocking_write_too_long").into());
        }
        Guest::write(self, &output, &vec![0; len as usize])
    }

    fn splice(&mut self, output: Resource<Output>, input: Resource<Input>, len: u64) -> StreamResult<u64> {
        self.splice_streams(&output, &input, len)
    }

    fn blocking_splice(&mut self, output: Resource<Output>, input: Resource<Input>, len: u64) -> StreamResult<u64> {
        self.splice_streams(&output, &input, len)
    }

    fn drop(&mut self, output: Resource<Output>) -> wasmtime::Result<()> {
        let mut output = self.take_back(output)?;
        self.enter()?.close_output(&mut output);
        Ok(())
    }
}

impl error::Host for Guest {}

impl error::HostError for Guest {
    fn to_debug_string(&mut self, error: Resource<Failed>) -> wasmtime::Result<String> {
        self.enter()?;
        Ok(format!("{:?}", self.table.get(&error)?.0))
    }

    fn drop(&mut self, error: Resource<Failed>) -> wasmtime::Result<()> {
        self.enter()?;
        self.take_back(error)?;
        Ok(())
    }
}

impl poll::Host for Guest {
    fn poll(&mut self, pollables: Vec<Resource<Pollable>>) -> wasmtime::Result<Vec<u32>> {
        self.enter()?;
        let list: Result<Vec<Pollable>, _> =
            pollables.iter().map(|pollable| self.table.get(pollable).copied()).collect();
        Ok(self.world.poll(&list?)?)
    }
}

impl poll::HostPollable for Guest {
    fn ready(&mut self, pollable: Resource<Pollable>) -> wasmtime::Result<bool> {
        self.enter()?;
        Ok(self.world.is_ready(*self.table.get(&pollable)?))
    }

    fn block(&mut self, pollable: Resource<Pollable>) -> wasmtime::Result<()> {
        self.enter()?;
        self.world.poll(&[*self.table.get(&pollable)?])?;
        Ok(())
    }

    fn drop(&mut self, pollable: Resource<Pollable>) -> wasmtime::Result<()> {
        self.enter()?;
        self.take_back(pollable)?;
        Ok(())
    }
}

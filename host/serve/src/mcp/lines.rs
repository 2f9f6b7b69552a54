//! Messages over pipes, one a line. Knows nothing of what is answered to a line that is no message.

use super::message::{self, Refusal};
use hutch_model::document;
use rmcp::RoleServer;
use rmcp::service::{RxJsonRpcMessage, TxJsonRpcMessage};
use std::io;
use std::sync::Arc;
use tokio::io::{AsyncBufReadExt, AsyncRead, AsyncWrite, AsyncWriteExt, BufReader};
use tokio::sync::Mutex;

/// The most bytes of a message. A longer one is read past, without an answer: nobody knows whose it is.
const MESSAGE_BYTES_MAX: usize = 4 << 20;

/// A message as a line, with hidden characters as JSON's escapes, so that who gets it as it was sent sees what stands in it.
pub(super) fn line(item: &TxJsonRpcMessage<RoleServer>) -> Result<String, io::Error> {
    Ok(document::written(&serde_json::to_string(item)?).into_owned() + "\n")
}

/// What a client writes and reads.
pub(super) struct Lines<R, W> {
    read: BufReader<R>,
    /// The line that has begun.
    line: Vec<u8>,
    /// Whether it is longer than a message may be, and is read past.
    is_too_long: bool,
    write: Arc<Mutex<W>>,
}

impl<R, W> Lines<R, W>
where
    R: AsyncRead + Unpin,
    W: AsyncWrite + Unpin,
{
    pub(super) fn new(read: R, write: W) -> Lines<R, W> {
        let read = BufReader::new(read);
        Lines { read, line: Vec::new(), is_too_long: false, write: Arc::new(Mutex::new(write)) }
    }

    /// The next whole line; nothing where the input has ended. May be given up and begun again at any point.
    async fn next(&mut self) -> Option<Vec<u8>> {
        loop {
            let found = self.read.fill_buf().await.ok().filter(|found| !found.is_empty())?;
            let end = found.iter().position(|byte| *byte == b'\n');
            let (taken, part) = match end {
                Some(end) => (end + 1, found.get(..end).unwrap_or_default()),
                None => (found.len(), found),
            };
            self.is_too_long |= self.line.len() + part.len() > MESSAGE_BYTES_MAX;
            match self.is_too_long {
                true => self.line.clear(),
                false => self.line.extend_from_slice(part),
            }
            self.read.consume(taken);
            if end.is_some() && !std::mem::take(&mut self.is_too_long) {
                return Some(std::mem::take(&mut self.line));
            }
        }
    }

    /// The next message, or why a line is none, and how many bytes it has; nothing where the input has ended. May be given up and begun again
    /// at any point.
    pub(super) async fn receive(&mut self) -> Option<(usize, Result<RxJsonRpcMessage<RoleServer>, Refusal>)> {
        loop {
            let line = self.next().await?;
            let bytes = line.len();
            let line = line.strip_prefix("\u{feff}".as_bytes()).unwrap_or(&line);
            if !line.trim_ascii().is_empty() {
                return Some((bytes, message::read(line, MESSAGE_BYTES_MAX)));
            }
        }
    }

    /// Writes a line, behind those that are being written.
    pub(super) fn send(&self, line: String) -> impl Future<Output = Result<(), io::Error>> + use<R, W> {
        let write = Arc::clone(&self.write);
        async move {
            let mut write = write.lock().await;
            write.write_all(line.as_bytes()).await?;
            write.flush().await
        }
    }

    /// Ends the output, behind what is being written.
    pub(super) async fn close(&mut self) -> Result<(), io::Error> {
        self.write.lock().await.shutdown().await
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_whole_and_bounded() {
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        let long = "x".repeat(MESSAGE_BYTES_MAX + 1);
        let sent = format!("one\n\n{long}\ntwo\nunfinished");
        let mut lines = Lines::new(sent.as_bytes(), Vec::<u8>::new());
        let read = runtime.block_on(async {
            let mut read = Vec::new();
            while let Some(line) = lines.next().await {
                read.push(String::from_utf8(line).unwrap());
            }
            read
        });
        assert_eq!(read, ["one", "", "two"]);
    }
}

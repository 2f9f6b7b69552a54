//! Messages over pipes, one a line. What stands in a line becomes values by the one reader of documents, and only then a message: the
//! library would read a line by itself, and take what stands in a text of certain objects for these. A line that is no message is
//! answered, with its number where it has one, so that nobody waits for it.

use hutch_model::document::{self, Unread};
use rmcp::RoleServer;
use rmcp::model::{ErrorData, JsonRpcMessage, RequestId};
use rmcp::service::{RxJsonRpcMessage, TxJsonRpcMessage};
use rmcp::transport::Transport;
use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;
use std::io;
use std::sync::Arc;
use tokio::io::{AsyncBufReadExt, AsyncRead, AsyncWrite, AsyncWriteExt, BufReader};
use tokio::sync::Mutex;

/// The most bytes of a message. A longer one is read past, without an answer: nobody knows whose it is.
const MESSAGE_BYTES_MAX: usize = 4 << 20;

/// What a client writes and reads.
pub(super) struct Lines<R, W> {
    read: BufReader<R>,
    /// The line that has begun.
    line: Vec<u8>,
    /// Whether it is longer than a message may be, and is read past.
    is_too_long: bool,
    write: Arc<Mutex<W>>,
}

impl<R: AsyncRead + Unpin, W> Lines<R, W> {
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
}

/// What a message is answered by, as it stands there.
#[derive(Deserialize)]
struct Numbered<'l> {
    #[serde(borrow)]
    id: Option<&'l RawValue>,
}

/// The number of a message of which nothing else is read.
fn number(line: &[u8]) -> Option<RequestId> {
    /// More than any number has.
    const BYTES_MAX: usize = 1024;
    let Numbered { id } = serde_json::from_slice(line).ok()?;
    serde_json::from_str(id.map(RawValue::get).filter(|id| id.len() <= BYTES_MAX)?).ok()
}

/// The message that a line is, if it is one that anybody waits for; or what is answered.
fn message(line: &[u8]) -> Option<Result<RxJsonRpcMessage<RoleServer>, TxJsonRpcMessage<RoleServer>>> {
    let line = line.strip_prefix("\u{feff}".as_bytes()).unwrap_or(line);
    if line.trim_ascii().is_empty() {
        return None;
    }
    let refused = |error, id| Some(Err(JsonRpcMessage::error(error, id)));
    let value = match document::read_message(line, MESSAGE_BYTES_MAX) {
        Ok(value) => value,
        Err(unread) => {
            // Who waits for an answer to what is too large is told.
            let id = matches!(unread, Unread::TooLarge { .. }).then(|| number(line)).flatten();
            return refused(ErrorData::parse_error(format!("the line can't be read: {unread}"), None), id);
        }
    };
    let id: Option<RequestId> = value.get("id").and_then(|id| serde_json::from_value(id.clone()).ok());
    // Nobody waits for an answer to what has no number.
    let is_told = value.get("method").is_some_and(Value::is_string) && value.get("id").is_none();
    let unfit = match &value {
        Value::Object(fields) if fields.get("jsonrpc").is_some_and(|version| version == "2.0") => {
            "the message is not of a known form"
        }
        Value::Object(_) => "the message does not say that it is of JSON-RPC 2.0",
        _ => "a message is an object, and comes alone",
    };
    match serde_json::from_value(value) {
        Ok(message) => Some(Ok(message)),
        Err(_) if is_told => None,
        Err(_) => refused(ErrorData::invalid_request(unfit, None), id),
    }
}

impl<R, W> Transport<RoleServer> for Lines<R, W>
where
    R: AsyncRead + Unpin + Send + 'static,
    W: AsyncWrite + Unpin + Send + 'static,
{
    type Error = io::Error;

    fn send(
        &mut self,
        item: TxJsonRpcMessage<RoleServer>,
    ) -> impl Future<Output = Result<(), io::Error>> + Send + 'static {
        let write = Arc::clone(&self.write);
        async move {
            // With hidden characters as JSON's escapes, so that who gets a message as it was sent sees what stands in it.
            let line = document::written(&serde_json::to_string(&item)?).into_owned() + "\n";
            let mut write = write.lock().await;
            write.write_all(line.as_bytes()).await?;
            write.flush().await
        }
    }

    async fn receive(&mut self) -> Option<RxJsonRpcMessage<RoleServer>> {
        loop {
            match message(&self.next().await?) {
                Some(Ok(message)) => return Some(message),
                Some(Err(refusal)) => drop(tokio::spawn(self.send(refusal))),
                None => {}
            }
        }
    }

    async fn close(&mut self) -> Result<(), io::Error> {
        self.write.lock().await.shutdown().await
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    /// What a line is answered with where it is no message.
    fn refusal(line: &str) -> Value {
        match message(line.as_bytes()) {
            Some(Err(refusal)) => serde_json::to_value(&refusal).unwrap(),
            other => panic!("{line}: {other:?}"),
        }
    }

    #[test]
    fn an_object_that_means_something_to_the_library_becomes_no_value() {
        let call = |arguments: &str| {
            format!(
                r#"{{"jsonrpc":"2.0","id":4,"method":"tools/call","params":{{"name":"todo_add","arguments":{arguments}}}}}"#
            )
        };
        assert!(matches!(message(call("{\"title\":\"x\"}").as_bytes()), Some(Ok(_))));
        for name in ["RawValue", "Number"] {
            let arguments = format!(r#"{{"$serde_json::private::{name}":"{{\"title\":\"x\"}}"}}"#);
            let refused = refusal(&call(&arguments));
            assert_eq!((&refused["error"]["code"], refused.get("result")), (&json!(-32700), None), "{refused}");
        }
    }

    #[test]
    fn a_line_that_is_no_message_is_answered_with_its_number() {
        for (line, code, id) in [
            ("{not json", -32700, json!(null)),
            ("{\"jsonrpc\":\"2.0\",\"id\":5,\"method\":\"x\",\"params\":{\"a\":1,\"a\":2}}", -32700, json!(null)),
            ("{\"jsonrpc\":\"2.0\",\"id\":4,\"method\":\"x\",\"params\":\"\\ud99c\"}", -32700, json!(null)),
            ("[]", -32600, json!(null)),
            ("{\"jsonrpc\":\"2.0\",\"id\":12,\"method\":7}", -32600, json!(12)),
            ("{\"jsonrpc\":\"1.0\",\"id\":\"a\",\"method\":\"ping\"}", -32600, json!("a")),
            ("{\"jsonrpc\":\"2.0\",\"id\":{},\"method\":\"ping\"}", -32600, json!(null)),
        ] {
            let refused = refusal(line);
            let told = refused.get("id").cloned().unwrap_or_default();
            assert_eq!((&refused["error"]["code"], told), (&json!(code), id), "{line}: {refused}");
        }
        for line in ["", " \r", "\u{feff}", "{\"jsonrpc\":\"1.0\",\"method\":\"notifications/nope\"}"] {
            assert!(message(line.as_bytes()).is_none(), "{line:?}");
        }
        assert!(matches!(
            message("\u{feff}{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}\r".as_bytes()),
            Some(Ok(_))
        ));
    }

    /// Of 4 MiB of small values the program would make a hundred times as much.
    #[test]
    fn a_message_of_too_many_values_is_refused_by_its_number() {
        let call = |id: &str, item: &str| {
            let items = vec![item; MESSAGE_BYTES_MAX / (item.len() + 1) - 100].join(",");
            format!(
                r#"{{"jsonrpc":"2.0",{id}"method":"tools/call","params":{{"name":"x","arguments":{{"x":[{items}]}}}}}}"#
            )
        };
        for item in [r#"{"a":1}"#, "[]", r#""""#, "1"] {
            let refused = refusal(&call(r#""id":7,"#, item));
            assert_eq!((&refused["id"], &refused["error"]["code"]), (&json!(7), &json!(-32700)), "{refused}");
            assert_eq!(refusal(&call("", item)).get("id").cloned().unwrap_or_default(), Value::Null);
            // A number that is none, and as large as the rest, is not read.
            assert_eq!(number(format!(r#"{{"id":[{}]}}"#, vec![item; 400_000].join(",")).as_bytes()), None);
        }
        // As many bytes in few values are a message.
        let text = "x".repeat(MESSAGE_BYTES_MAX - 200);
        let call = format!(
            r#"{{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{{"name":"x","arguments":{{"x":"{text}"}}}}}}"#
        );
        assert!(matches!(message(call.as_bytes()), Some(Ok(_))));
    }

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

//! `hutch serve` as a program meets it: over a real socket, byte by byte, without any library of the protocol.

mod access;
mod api;
mod ending;
#[cfg(unix)]
mod enter;
mod events;
mod hostile;
mod mcp;
mod page;
mod repeated;
mod telemetry;
pub(crate) mod untrusted;

use crate::support::{Machine, PATIENCE};
use serde_json::Value;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Child, Command, Stdio};

/// A server that was started, and the tokens that it made.
struct Server {
    child: Child,
    address: String,
    operator: String,
    agent: String,
}

/// What was answered.
#[derive(Debug)]
struct Answer {
    status: u16,
    /// In lower case.
    head: String,
    body: String,
}

impl Server {
    #[track_caller]
    fn start(machine: &Machine, words: &[&str]) -> Server {
        Server::start_in(machine, &[], words)
    }

    /// One with these variables in its environment.
    #[track_caller]
    fn start_in(machine: &Machine, variables: &[(&str, &str)], words: &[&str]) -> Server {
        Server::begin(Server::command(machine, words).envs(variables.iter().copied()).stderr(Stdio::piped()))
    }

    /// What starts one with these words.
    fn command(machine: &Machine, words: &[&str]) -> Command {
        machine.hutch([&["serve", "--listen", "127.0.0.1:0", "--tools-max=40"], words].concat())
    }

    /// One that is started so.
    #[track_caller]
    fn begin(command: &mut Command) -> Server {
        let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let Ok(told) = serde_json::from_str::<Value>(&line) else {
            let _ = child.kill();
            panic!("{line:?} {:?}", child.stderr.take().map(std::io::read_to_string));
        };
        let told = &told["result"];
        let address = told["url"].as_str().unwrap().strip_prefix("http://").unwrap().to_owned();
        let tokens = std::fs::read_to_string(told["token_file"].as_str().unwrap()).unwrap();
        let secret = |name: &str| {
            let line = tokens.lines().find(|line| line.starts_with(&format!("{name} ")));
            line.and_then(|line| line.split(' ').nth(2)).unwrap_or_default().to_owned()
        };
        Server { child, address, operator: secret("operator"), agent: secret("agent") }
    }

    fn connect(&self) -> TcpStream {
        let stream = TcpStream::connect(&self.address).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        stream
    }

    /// Sends these bytes and reads until the server closes.
    #[track_caller]
    fn raw(&self, bytes: &[u8]) -> Answer {
        let mut stream = self.connect();
        // A server that has answered need not read on.
        let _ = stream.write_all(bytes);
        read(&mut stream)
    }

    /// A request with these headers besides the usual ones.
    #[track_caller]
    fn request(&self, method: &str, path: &str, headers: &[(&str, &str)], body: Option<&str>) -> Answer {
        let mut text = format!("{method} {path} HTTP/1.1\r\nconnection: close\r\n");
        if !headers.iter().any(|(name, _)| name.eq_ignore_ascii_case("host")) {
            text.push_str(&format!("host: {}\r\n", self.address));
        }
        for (name, value) in headers {
            text.push_str(&format!("{name}: {value}\r\n"));
        }
        if let Some(body) = body {
            if !headers.iter().any(|(name, _)| name.eq_ignore_ascii_case("content-type")) {
                text.push_str("content-type: application/json\r\n");
            }
            text.push_str(&format!("content-length: {}\r\n\r\n{body}", body.len()));
        } else {
            text.push_str("\r\n");
        }
        self.raw(text.as_bytes())
    }

    /// A request of the operator's; what is posted is a document.
    #[track_caller]
    fn ask(&self, method: &str, path: &str, body: Option<&Value>) -> Answer {
        self.ask_as(&self.operator, method, path, body)
    }

    #[track_caller]
    fn ask_as(&self, token: &str, method: &str, path: &str, body: Option<&Value>) -> Answer {
        let bearer = format!("Bearer {token}");
        self.request(method, path, &[("authorization", &bearer)], body.map(Value::to_string).as_deref())
    }

    #[track_caller]
    fn get(&self, path: &str) -> Value {
        self.ask("GET", path, None).result()
    }

    #[track_caller]
    fn post(&self, path: &str, body: &Value) -> Value {
        self.ask("POST", path, Some(body)).result()
    }

    /// Tells it to end.
    fn end(&self) {
        let pid = self.child.id().to_string();
        let told = std::process::Command::new("kill").args(["-TERM", &pid]).status();
        assert!(told.is_ok_and(|told| told.success()));
    }

    /// Waits for its end, and gives its status and what it said.
    #[track_caller]
    fn ended(mut self) -> (Option<i32>, String) {
        let said = std::io::read_to_string(self.child.stderr.take().unwrap()).unwrap();
        (self.child.wait().unwrap().code(), said)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Reads an answer until the server closes.
#[track_caller]
fn read(stream: &mut TcpStream) -> Answer {
    let mut bytes = Vec::new();
    let read = stream.read_to_end(&mut bytes);
    let text = String::from_utf8_lossy(&bytes).into_owned();
    // Who was sent more than it reads may reset the connection behind its answer.
    assert!(read.is_ok() || !bytes.is_empty(), "{read:?}");
    let (head, body) = text.split_once("\r\n\r\n").unwrap_or((&text, ""));
    let status = head.split(' ').nth(1).and_then(|status| status.parse().ok()).unwrap_or(0);
    let head = head.to_ascii_lowercase();
    let in_chunks = ["transfer-encoding: chunked", "content-type: application/json"].iter().all(|it| head.contains(it));
    let body = if in_chunks { unchunked(body) } else { body.to_owned() };
    Answer { status, head, body }
}

/// A document that comes in chunks, as far as they are whole.
fn unchunked(mut body: &str) -> String {
    let mut whole = String::new();
    while let Some((size, rest)) = body.split_once("\r\n") {
        let Some(chunk) =
            usize::from_str_radix(size, 16).ok().filter(|size| *size > 0).and_then(|size| rest.get(..size))
        else {
            break;
        };
        whole.push_str(chunk);
        body = rest.get(chunk.len()..).and_then(|rest| rest.strip_prefix("\r\n")).unwrap_or_default();
    }
    whole
}

impl Answer {
    #[track_caller]
    fn document(&self) -> Value {
        assert!(self.head.contains("\r\ncontent-type: application/json"), "{self:?}");
        serde_json::from_str(&self.body).unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }

    /// The result of something that went well.
    #[track_caller]
    fn result(&self) -> Value {
        assert_eq!(self.status, 200, "{self:?}");
        let document = self.document();
        assert_eq!(document["ok"], true, "{self:?}");
        document["result"].clone()
    }

    /// A failure: the object that the command line prints, with this status and this code.
    #[track_caller]
    fn fault(&self, status: u16, code: &str) -> Value {
        let document = self.document();
        assert_eq!((self.status, document["code"].as_str()), (status, Some(code)), "{self:?}");
        assert_eq!(document["error"], true);
        for field in ["message", "suggestion"] {
            assert!(document[field].as_str().is_some_and(|text| !text.is_empty()), "{self:?}");
        }
        document
    }

    fn header(&self, name: &str) -> Option<&str> {
        self.head.lines().find_map(|line| line.strip_prefix(&format!("{name}: ")))
    }
}

//! A registry of our own, in memory, on this machine's own address: it does what the distribution specification says, and what a test
//! has it do instead. It keeps what it was asked.
#![allow(dead_code, reason = "each test binary uses a part of it")]

use hutch_registry::{Sha256, Surroundings};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// Of somebody without credentials.
pub(crate) fn surroundings() -> Surroundings {
    Surroundings {
        credentials: Vec::new(),
        helper: Box::new(|_, _| Ok(None)),
        authorities: None,
        plain_http: None,
        token_host: None,
        proxy: None,
        wait: Duration::from_secs(10),
        part_bytes: usize::MAX,
        pause: Duration::ZERO,
        sleep: Arc::new(|_| {}),
    }
}

/// A request, as it came.
#[derive(Clone, Debug)]
pub(crate) struct Asked {
    pub(crate) method: String,
    /// With what follows the question mark.
    pub(crate) target: String,
    pub(crate) headers: BTreeMap<String, String>,
    pub(crate) body: Vec<u8>,
}

/// An answer. A length that is not that of the body is sent as it is.
#[derive(Clone, Debug, Default)]
pub(crate) struct Answered {
    pub(crate) status: u16,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: Vec<u8>,
    pub(crate) length: Option<usize>,
    /// What was asked is done, and the connection ends before the answer.
    pub(crate) is_lost: bool,
}

impl Answered {
    pub(crate) fn new(status: u16, body: impl Into<Vec<u8>>) -> Answered {
        Answered { status, body: body.into(), ..Answered::default() }
    }

    pub(crate) fn header(mut self, name: &str, value: impl Into<String>) -> Answered {
        self.headers.push((name.to_owned(), value.into()));
        self
    }
}

type Instead = Box<dyn Fn(&Asked) -> Option<Answered> + Send>;

#[derive(Default)]
struct Kept {
    blobs: BTreeMap<String, Vec<u8>>,
    manifests: BTreeMap<String, (String, Vec<u8>)>,
    asked: Vec<Asked>,
    instead: Option<Instead>,
    /// What came of the upload that is under way.
    upload: Vec<u8>,
    /// After how many of its bytes the connection breaks, each once, and whether they are there all the same.
    breaks: Vec<(usize, bool)>,
    lists_referrers: bool,
}

/// The registry; it ends with the test's process.
#[derive(Clone)]
pub(crate) struct Double {
    pub(crate) host: String,
    kept: Arc<Mutex<Kept>>,
}

impl Double {
    pub(crate) fn new() -> Double {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let double =
            Double { host: listener.local_addr().unwrap().to_string(), kept: Arc::new(Mutex::new(Kept::default())) };
        let serving = double.clone();
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                // An answer is not held back until what came before it is acknowledged.
                stream.set_nodelay(true).unwrap();
                let serving = serving.clone();
                std::thread::spawn(move || serving.serve(stream));
            }
        });
        double
    }

    /// Has it answer something else, where there is an answer.
    pub(crate) fn instead(&self, instead: impl Fn(&Asked) -> Option<Answered> + Send + 'static) {
        self.kept.lock().unwrap().instead = Some(Box::new(instead));
    }

    /// Has it keep a list of what is about a manifest.
    pub(crate) fn list_referrers(&self) {
        self.kept.lock().unwrap().lists_referrers = true;
    }

    /// Has the connection break when so many bytes of an upload came, once. What came with them is kept or not.
    pub(crate) fn break_at(&self, bytes: usize, is_kept: bool) {
        self.kept.lock().unwrap().breaks.push((bytes, is_kept));
    }

    /// What it was asked so far.
    pub(crate) fn asked(&self) -> Vec<Asked> {
        self.kept.lock().unwrap().asked.clone()
    }

    /// What a tag or a digest names.
    pub(crate) fn manifest(&self, name: &str) -> Option<Vec<u8>> {
        self.kept.lock().unwrap().manifests.get(name).map(|(_, bytes)| bytes.clone())
    }

    /// Puts a manifest there, whoever asks for it.
    pub(crate) fn put(&self, name: &str, kind: &str, bytes: &[u8]) {
        self.kept.lock().unwrap().manifests.insert(name.to_owned(), (kind.to_owned(), bytes.to_vec()));
    }

    fn serve(&self, stream: TcpStream) {
        let mut reader = BufReader::new(stream);
        while let Some(asked) = read(&mut reader) {
            let answer = self.answer(&asked);
            // No HTTP at all: the connection ends.
            if answer.status == 0 {
                return;
            }
            let is_head = asked.method == "HEAD";
            if write(reader.get_mut(), &answer, is_head).is_err() || answer.length.is_some() {
                return;
            }
        }
    }

    fn answer(&self, asked: &Asked) -> Answered {
        let mut kept = self.kept.lock().unwrap();
        kept.asked.push(asked.clone());
        let instead = kept.instead.as_ref().and_then(|instead| instead(asked));
        let is_lost = instead.as_ref().is_some_and(|answer| answer.is_lost);
        if let Some(answer) = instead.filter(|_| !is_lost) {
            return answer;
        }
        let answer = self.usual(&mut kept, asked);
        if is_lost { Answered::default() } else { answer }
    }

    fn usual(&self, kept: &mut Kept, asked: &Asked) -> Answered {
        let path = asked.target.split('?').next().unwrap();
        let name = path.rsplit('/').next().unwrap().to_owned();
        let missing = || Answered::new(404, r#"{"errors":[{"code":"NAME_UNKNOWN","message":"not here"}]}"#);
        let digest = || Sha256::of(&asked.body).to_string();
        if path.ends_with("/blobs/uploads/") {
            kept.upload.clear();
            return Answered::new(202, "").header("location", format!("{path}session?state=0")).header("range", "0-0");
        }
        if path.contains("/blobs/uploads/") {
            // As those do that keep what they know in the address.
            let location = |bytes: usize| format!("{path}?state={bytes}");
            let (there, whole) = (kept.upload.len(), [kept.upload.as_slice(), &asked.body].concat());
            let place = |bytes: usize| format!("0-{}", bytes.saturating_sub(1));
            if asked.method == "GET" {
                return Answered::new(204, "").header("location", location(there)).header("range", place(there));
            }
            if !asked.target.contains(&format!("?state={there}")) {
                return Answered::new(416, "");
            }
            let range = format!("{there}-{}", whole.len().saturating_sub(1));
            if asked.headers.get("content-range").is_some_and(|said| *said != range) {
                return Answered::new(416, "");
            }
            if let Some(at) = kept.breaks.iter().position(|(bytes, _)| (there..whole.len()).contains(bytes)) {
                let (bytes, is_kept) = kept.breaks.remove(at);
                if is_kept {
                    kept.upload = whole[..bytes].to_vec();
                }
                return Answered::default();
            }
            let named = asked.target.rsplit_once("digest=").map(|(_, named)| named.to_owned());
            kept.upload = whole;
            return match named {
                None => Answered::new(202, "")
                    .header("location", location(kept.upload.len()))
                    .header("range", place(kept.upload.len())),
                Some(named) if named != Sha256::of(&kept.upload).to_string() => Answered::new(400, ""),
                Some(named) => {
                    let whole = std::mem::take(&mut kept.upload);
                    kept.blobs.insert(named, whole);
                    Answered::new(201, "")
                }
            };
        }
        match (asked.method.as_str(), path) {
            ("PUT", path) if path.contains("/manifests/") => {
                let kind = asked.headers.get("content-type").cloned().unwrap_or_default();
                for name in [name, digest()] {
                    kept.manifests.insert(name, (kind.clone(), asked.body.clone()));
                }
                Answered::new(201, "")
            }
            (_, path) if path.contains("/manifests/") => match kept.manifests.get(&name) {
                Some((kind, bytes)) => Answered::new(200, bytes.clone()).header("content-type", kind),
                None => missing(),
            },
            (_, path) if path.contains("/blobs/") => match kept.blobs.get(&name) {
                Some(bytes) => Answered::new(200, bytes.clone()),
                None => missing(),
            },
            (_, path) if path.contains("/referrers/") && kept.lists_referrers => {
                let about = |bytes: &[u8]| {
                    let manifest: Value = serde_json::from_slice(bytes).ok()?;
                    (manifest["subject"]["digest"] == name.as_str()).then_some(manifest)
                };
                let found: BTreeMap<String, Value> = kept
                    .manifests
                    .values()
                    .filter_map(|(kind, bytes)| {
                        let (manifest, digest) = (about(bytes)?, Sha256::of(bytes).to_string());
                        let kind = json!({"mediaType": kind, "digest": digest, "size": bytes.len(), "artifactType": manifest["artifactType"]});
                        Some((digest, kind))
                    })
                    .collect();
                let found: Vec<Value> = found.into_values().collect();
                let index = json!({"schemaVersion": 2, "mediaType": "application/vnd.oci.image.index.v1+json", "manifests": found});
                Answered::new(200, index.to_string()).header("content-type", "application/vnd.oci.image.index.v1+json")
            }
            _ => missing(),
        }
    }
}

fn read(reader: &mut BufReader<TcpStream>) -> Option<Asked> {
    let mut line = String::new();
    reader.read_line(&mut line).ok().filter(|bytes| *bytes > 0)?;
    let mut words = line.split_whitespace().map(str::to_owned);
    let (method, target) = (words.next()?, words.next()?);
    let mut headers = BTreeMap::new();
    loop {
        let mut line = String::new();
        reader.read_line(&mut line).ok()?;
        match line.trim_end().split_once(':') {
            Some((name, value)) => headers.insert(name.to_ascii_lowercase(), value.trim().to_owned()),
            None => break,
        };
    }
    let length = headers.get("content-length").and_then(|length| length.parse().ok()).unwrap_or(0);
    let mut body = vec![0; length];
    reader.read_exact(&mut body).ok()?;
    Some(Asked { method, target, headers, body })
}

fn write(stream: &mut TcpStream, answer: &Answered, is_head: bool) -> std::io::Result<()> {
    let length = answer.length.unwrap_or(answer.body.len());
    let mut head = format!("HTTP/1.1 {} x\r\ncontent-length: {length}\r\n", answer.status);
    for (name, value) in &answer.headers {
        head.push_str(&format!("{name}: {value}\r\n"));
    }
    head.push_str("\r\n");
    stream.write_all(head.as_bytes())?;
    if !is_head {
        stream.write_all(&answer.body)?;
    }
    stream.flush()
}

//! Requests to a bucket and what they came to. The only place here that reaches a network.

use crate::address::Address;
use crate::listing::{self, Page};
use crate::sign::{Request, Signer, query_text};
use data_encoding::BASE64;
use hutch_model::instant::Instant;
use ring::digest::{SHA256, digest};
use serde::{Deserialize, Serialize};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;
use ureq::Agent;
use ureq::tls::{Certificate, RootCerts, TlsConfig};

/// The longest object: longer than all that was ever put.
pub(crate) const OBJECT_BYTES_MAX: u64 = 512 << 20;
/// The longest answer that is no object.
const ANSWER_BYTES_MAX: u64 = 16 << 20;
/// How much longer than being connected an answer may take.
const SILENCE: Duration = Duration::from_secs(60);
/// At what distance a server that has no time is asked again; twice as long each time.
const PAUSE: Duration = Duration::from_millis(100);
const PAUSE_MAX: Duration = Duration::from_secs(2);
/// Requests under way at one time.
const ABREAST: usize = 8;
/// What a server says is told in so many characters.
const SAID_CHARACTERS_MAX: usize = 60;

/// Who asks. It is in no text.
#[derive(Clone)]
pub struct Credentials {
    /// `AWS_ACCESS_KEY_ID`.
    pub id: String,
    /// `AWS_SECRET_ACCESS_KEY`.
    pub secret: String,
    /// `AWS_SESSION_TOKEN`, if these are for a while only.
    pub token: Option<String>,
}

impl std::fmt::Debug for Credentials {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Credentials(…)")
    }
}

/// How a bucket is used.
#[derive(Clone, Debug)]
pub struct Opening {
    /// Who asks.
    pub credentials: Credentials,
    /// The longest wait for being connected, and how long a server that has no time is asked again.
    pub wait: Duration,
    /// The time, which requests are signed with.
    pub now: fn() -> Instant,
}

/// Why there is no answer, or none that was asked for.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, thiserror::Error)]
pub(crate) enum Trouble {
    /// Nothing is known of what was asked last.
    #[error("{0}")]
    Lost(String),
    /// The server refused who asked.
    #[error("{0}")]
    Denied(String),
    /// The server refused what was asked, and did nothing of it.
    #[error("{0}")]
    Refused(String),
}

/// What became of an object that was to be put where there is none.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub(crate) enum Placed {
    /// It is there.
    Here,
    /// There is another, or somebody else was putting one: it is not there.
    Taken,
    /// It may be there or not.
    Unknown(String),
}

/// The way to a bucket.
pub(crate) struct Client {
    agent: Agent,
    address: Address,
    opening: Opening,
}

/// An answer.
struct Answer {
    status: u16,
    /// What the server says that the body has, or would have.
    length: Option<u64>,
    body: Vec<u8>,
}

impl Answer {
    fn is_well(&self) -> bool {
        (200..300).contains(&self.status)
    }

    fn code(&self) -> Option<&str> {
        listing::inside(std::str::from_utf8(&self.body).ok()?, "Code")
    }

    /// Whether it is worth asking again.
    fn is_for_now(&self) -> bool {
        matches!(self.status, 429 | 500 | 502 | 503 | 504)
    }

    /// What the server says, short, with nothing that a terminal would act on. Its longer words may name who asked.
    fn said(&self) -> String {
        let code: String = self.code().unwrap_or_default().chars().take(SAID_CHARACTERS_MAX).collect();
        let is_plain = !code.is_empty() && code.bytes().all(|byte| byte.is_ascii_alphanumeric());
        match is_plain {
            true => format!("status {}, {code}", self.status),
            false => format!("status {}", self.status),
        }
    }

    fn trouble(&self) -> Trouble {
        match self.status {
            401 | 403 => Trouble::Denied(self.said()),
            _ if self.is_for_now() => Trouble::Lost(self.said()),
            _ => Trouble::Refused(self.said()),
        }
    }
}

impl Client {
    pub(crate) fn new(address: Address, opening: Opening) -> Client {
        let roots = match address.is_plain() {
            true => RootCerts::WebPki,
            false => {
                let machine = rustls_native_certs::load_native_certs().certs;
                let certificates: Vec<Certificate<'static>> =
                    machine.iter().map(|der| Certificate::from_der(der.as_ref()).to_owned()).collect();
                // A machine without any list of authorities, as a small container.
                if certificates.is_empty() { RootCerts::WebPki } else { RootCerts::new_with_certs(&certificates) }
            }
        };
        let wait = Some(opening.wait.max(Duration::from_millis(1)));
        let silence = Some(opening.wait + SILENCE);
        let agent = Agent::config_builder()
            .http_status_as_error(false)
            .max_redirects(0)
            .max_redirects_will_error(false)
            .max_idle_connections_per_host(ABREAST)
            .proxy(None)
            .tls_config(TlsConfig::builder().root_certs(roots).build())
            .user_agent(concat!("hutch/", env!("CARGO_PKG_VERSION")))
            .accept_encoding("identity")
            .timeout_resolve(wait)
            .timeout_connect(wait)
            .timeout_per_read(silence)
            .timeout_per_write(silence)
            .timeout_recv_response(silence)
            .build()
            .new_agent();
        Client { agent, address, opening }
    }

    /// An object; none if there is none.
    pub(crate) fn get(&self, key: &str) -> Result<Option<Vec<u8>>, Trouble> {
        let answer = self.persist(|| self.send("GET", &self.address.path(key), &[], None, OBJECT_BYTES_MAX))?;
        match answer.status {
            // A bucket that is missing is not one in which there is nothing.
            404 if answer.code() == Some("NoSuchKey") => Ok(None),
            _ if answer.is_well() => Ok(Some(answer.body)),
            _ => Err(answer.trouble()),
        }
    }

    /// How long an object is; none if there is none, or the server does not say.
    pub(crate) fn length(&self, key: &str) -> Result<Option<u64>, Trouble> {
        let answer = self.persist(|| self.send("HEAD", &self.address.path(key), &[], None, ANSWER_BYTES_MAX))?;
        match answer.status {
            404 => Ok(None),
            _ if answer.is_well() => Ok(answer.length),
            _ => Err(answer.trouble()),
        }
    }

    /// Puts an object there, in place of any.
    pub(crate) fn put(&self, key: &str, bytes: &[u8]) -> Result<(), Trouble> {
        let path = self.address.path(key);
        let answer = self.persist(|| self.send("PUT", &path, &[], Some((bytes, false)), ANSWER_BYTES_MAX))?;
        if answer.is_well() { Ok(()) } else { Err(answer.trouble()) }
    }

    /// Puts an object there if there is none. It is tried once: what an answer that is missing means, the caller finds out.
    pub(crate) fn put_new(&self, key: &str, bytes: &[u8]) -> Result<Placed, Trouble> {
        let answer = match self.send("PUT", &self.address.path(key), &[], Some((bytes, true)), ANSWER_BYTES_MAX) {
            Ok(answer) => answer,
            Err(Trouble::Lost(reason)) => return Ok(Placed::Unknown(reason)),
            Err(other) => return Err(other),
        };
        match answer.status {
            409 | 412 => Ok(Placed::Taken),
            _ if answer.is_well() => Ok(Placed::Here),
            _ if answer.is_for_now() => Ok(Placed::Unknown(answer.said())),
            _ => Err(answer.trouble()),
        }
    }

    /// Takes an object away.
    pub(crate) fn delete(&self, key: &str) -> Result<(), Trouble> {
        let path = self.address.path(key);
        let answer = self.persist(|| self.send("DELETE", &path, &[], None, ANSWER_BYTES_MAX))?;
        if answer.is_well() { Ok(()) } else { Err(answer.trouble()) }
    }

    /// One page of the objects whose names begin so, from where the server said.
    pub(crate) fn list(&self, prefix: &str, next: Option<&str>) -> Result<Page, Trouble> {
        let whole = format!("{}{prefix}", self.address.prefix());
        let mut query: Vec<_> = next.map(|next| ("continuation-token", next)).into_iter().collect();
        query.extend([("list-type", "2"), ("max-keys", "1000"), ("prefix", whole.as_str())]);
        let answer = self.persist(|| self.send("GET", &self.address.root(), &query, None, ANSWER_BYTES_MAX))?;
        if !answer.is_well() {
            return Err(answer.trouble());
        }
        let text = String::from_utf8_lossy(&answer.body);
        let nonsense = || Trouble::Refused("what it lists is no list".to_owned());
        listing::page(&text, self.address.prefix()).ok_or_else(nonsense)
    }

    /// Does the same for each of these, several at a time; the first trouble ends it.
    pub(crate) fn abreast<T: Sync, R: Send>(
        &self,
        all: &[T],
        job: impl Fn(&T) -> Result<R, Trouble> + Sync,
    ) -> Result<Vec<R>, Trouble> {
        if let [one] = all {
            return Ok(vec![job(one)?]);
        }
        let next = AtomicUsize::new(0);
        let done = Mutex::new(Vec::with_capacity(all.len()));
        let failed: Mutex<Option<Trouble>> = Mutex::new(None);
        std::thread::scope(|scope| {
            for _ in 0..ABREAST.min(all.len()) {
                scope.spawn(|| {
                    loop {
                        let at = next.fetch_add(1, Ordering::Relaxed);
                        let Some(one) = all.get(at) else { return };
                        match job(one) {
                            Ok(result) => done.lock().unwrap_or_else(PoisonError::into_inner).push((at, result)),
                            Err(trouble) => {
                                next.store(all.len(), Ordering::Relaxed);
                                failed.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(trouble);
                            }
                        }
                    }
                });
            }
        });
        if let Some(trouble) = failed.into_inner().unwrap_or_else(PoisonError::into_inner) {
            return Err(trouble);
        }
        let mut done = done.into_inner().unwrap_or_else(PoisonError::into_inner);
        done.sort_unstable_by_key(|(at, _)| *at);
        Ok(done.into_iter().map(|(_, result)| result).collect())
    }

    /// Asks again what may be asked twice, while the server has no time or can't be reached.
    fn persist(&self, ask: impl Fn() -> Result<Answer, Trouble>) -> Result<Answer, Trouble> {
        let (mut waited, mut pause) = (Duration::ZERO, PAUSE);
        loop {
            let answer = ask();
            let is_for_now = match &answer {
                Ok(answer) => answer.is_for_now(),
                Err(trouble) => matches!(trouble, Trouble::Lost(_)),
            };
            if !is_for_now || waited >= self.opening.wait {
                return answer;
            }
            #[expect(clippy::disallowed_methods, reason = "no event tells that a server has time again")]
            std::thread::sleep(pause);
            waited += pause;
            pause = (pause * 2).min(PAUSE_MAX);
        }
    }

    /// Sends a request; with a body, of which is said whether there must be nothing in its place.
    fn send(
        &self,
        method: &str,
        path: &str,
        query: &[(&str, &str)],
        body: Option<(&[u8], bool)>,
        bytes_max: u64,
    ) -> Result<Answer, Trouble> {
        let (bytes, is_new) = body.unwrap_or_default();
        let content = digest(&SHA256, bytes);
        let sum = BASE64.encode(content.as_ref());
        let mut headers = vec![("host", self.address.host())];
        if is_new {
            headers.push(("if-none-match", "*"));
        }
        if body.is_some() {
            // What is signed says the same, but there are servers that keep an object of no bytes when a connection ends before the first one of
            // its body. They refuse that where this is said too.
            headers.push(("x-amz-checksum-sha256", &sum));
        }
        let Credentials { id, secret, token } = &self.opening.credentials;
        let time = compact((self.opening.now)());
        let signer = Signer { id, secret, token: token.as_deref(), region: self.address.region(), time: &time };
        let signed = signer.sign(&Request { method, path, query, headers: &headers, content: content.as_ref() });
        let target = match query {
            [] => format!("{}{path}", self.address.server()),
            query => format!("{}{path}?{}", self.address.server(), query_text(query)),
        };
        let mut request = ureq::http::Request::builder().method(method).uri(target);
        for (name, value) in headers.iter().skip(1) {
            request = request.header(*name, *value);
        }
        for (name, value) in &signed {
            request = request.header(*name, value);
        }
        // Nothing of a request is in such an error: a header may hold what is no text, as a secret that was copied with its line's end.
        let malformed = |_| Trouble::Refused("the credentials hold what no request can".to_owned());
        let sent = match body {
            Some((bytes, _)) => self.agent.run(request.body(bytes).map_err(malformed)?),
            None => self.agent.run(request.body(()).map_err(malformed)?),
        };
        let answer = sent.map_err(|error| Trouble::Lost(told(&error)))?;
        let status = answer.status().as_u16();
        let length = answer.headers().get("content-length").and_then(|length| length.to_str().ok()?.parse().ok());
        // The limit is one more, because what ends at the limit is whole.
        let read = answer.into_body().into_with_config().limit(bytes_max.saturating_add(1)).read_to_vec();
        match read {
            Ok(body) if body.len() as u64 <= bytes_max => Ok(Answer { status, length, body }),
            Ok(_) | Err(ureq::Error::BodyExceedsLimit(_)) => {
                Err(Trouble::Refused("the answer is longer than any".to_owned()))
            }
            Err(error) => Err(Trouble::Lost(format!("the answer was cut short: {}", told(&error)))),
        }
    }
}

/// The time as it is signed: `20130524T000000Z`.
fn compact(now: Instant) -> String {
    let whole = Instant::from_unix_ns(now.unix_ns() / 1_000_000_000 * 1_000_000_000);
    whole.to_string().chars().filter(|c| !matches!(c, '-' | ':')).collect()
}

/// An error of the client, in words that hold no credential.
fn told(error: &ureq::Error) -> String {
    match error {
        ureq::Error::HostNotFound => "no such host".to_owned(),
        ureq::Error::Timeout(what) => format!("nothing came in time ({what})"),
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_time_is_signed_to_the_second() {
        let instant: Instant = "2013-05-24T01:02:03.4Z".parse().unwrap();
        assert_eq!(compact(instant), "20130524T010203Z");
    }

    /// A server holds what it got against what is said of it, also where nothing came, and says how long an object is.
    #[test]
    fn with_what_is_put_goes_what_it_is() {
        use std::io::{Read, Write};
        let listener = std::net::TcpListener::bind(("127.0.0.1", 0)).unwrap();
        let endpoint = format!("http://{}", listener.local_addr().unwrap());
        let server = std::thread::spawn(move || {
            let mut asked = Vec::new();
            for (length, answer) in [(5, "Content-Length: 0"), (0, "Content-Length: 0"), (0, "Content-Length: 12345")] {
                let (mut client, _) = listener.accept().unwrap();
                let mut request = Vec::new();
                let end = |request: &[u8]| request.windows(4).position(|end| end == b"\r\n\r\n");
                while end(&request).is_none_or(|end| request.len() < end + 4 + length) {
                    let mut bytes = [0; 1024];
                    let read = client.read(&mut bytes).unwrap();
                    request.extend_from_slice(&bytes[..read]);
                }
                client
                    .write_all(format!("HTTP/1.1 200 OK\r\n{answer}\r\nConnection: close\r\n\r\n").as_bytes())
                    .unwrap();
                asked.push(String::from_utf8(request).unwrap());
            }
            asked
        });
        let address = Address::parse("s3://b/f", Some(&endpoint), "us-east-1").unwrap();
        let credentials = Credentials { id: "id".to_owned(), secret: "geheim".to_owned(), token: None };
        let now = || Instant::from_unix_ns(0);
        let client = Client::new(address, Opening { credentials, wait: Duration::from_secs(20), now });
        assert_eq!(client.put_new("k", b"bytes"), Ok(Placed::Here));
        client.put("k", b"").unwrap();
        assert_eq!(client.length("k"), Ok(Some(12345)));
        let asked = server.join().unwrap();
        for (asked, bytes) in asked.iter().zip([&b"bytes"[..], b""]) {
            let sum = BASE64.encode(digest(&SHA256, bytes).as_ref());
            assert!(asked.contains(&format!("x-amz-checksum-sha256: {sum}\r\n")), "{asked}");
            assert!(asked.contains("x-amz-checksum-sha256;x-amz-content-sha256"), "it is not signed: {asked}");
        }
        assert!(asked[2].starts_with("HEAD ") && !asked[2].contains("checksum"), "{}", asked[2]);
    }

    #[test]
    fn an_answer_that_is_longer_than_any_is_refused() {
        use std::io::{Read, Write};
        let listener = std::net::TcpListener::bind(("127.0.0.1", 0)).unwrap();
        let endpoint = format!("http://{}", listener.local_addr().unwrap());
        let server = std::thread::spawn(move || {
            let (mut client, _) = listener.accept().unwrap();
            let mut request = Vec::new();
            while !request.ends_with(b"\r\n\r\n") {
                let mut byte = [0];
                client.read_exact(&mut byte).unwrap();
                request.push(byte[0]);
            }
            let length = ANSWER_BYTES_MAX + 2;
            let head = format!("HTTP/1.1 200 OK\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n");
            client.write_all(head.as_bytes()).unwrap();
            // Whoever has read enough is gone.
            let _ = client.write_all(&vec![b' '; usize::try_from(length).unwrap()]);
        });
        let address = Address::parse("s3://b/f", Some(&endpoint), "us-east-1").unwrap();
        let credentials = Credentials { id: "id".to_owned(), secret: "geheim".to_owned(), token: None };
        let now = || Instant::from_unix_ns(0);
        let client = Client::new(address, Opening { credentials, wait: Duration::from_secs(20), now });
        let refused = Trouble::Refused("the answer is longer than any".to_owned());
        // Nor is it asked for again: there is nobody any more.
        assert_eq!(client.list("", None).err(), Some(refused));
        server.join().unwrap();
    }

    #[test]
    fn what_a_server_says_is_short_and_plain() {
        let answer = |status, body: &str| Answer { status, length: None, body: body.as_bytes().to_vec() };
        let skewed = answer(403, "<Error><Code>RequestTimeTooSkewed</Code><Message>geheim</Message></Error>");
        assert_eq!(skewed.trouble(), Trouble::Denied("status 403, RequestTimeTooSkewed".to_owned()));
        assert_eq!(answer(404, "<Code>\u{1b}[2J</Code>").trouble(), Trouble::Refused("status 404".to_owned()));
        assert_eq!(answer(503, "").trouble(), Trouble::Lost("status 503".to_owned()));
    }
}

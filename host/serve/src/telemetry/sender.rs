//! What goes between a process that serves and the one that sends for it what it tells a collector: a line of JSON there and one back. Behind
//! the rings a process makes no sockets, so who sends is started before, and ends when nobody asks any more.

use super::client::Client;
use bytes::Bytes;
use data_encoding::BASE64;
use http::uri::{Authority, Scheme};
use http::{HeaderName, HeaderValue, Request, Response, Uri};
use opentelemetry_http::{HttpClient, HttpError};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::io::{self, BufRead, BufReader, ErrorKind, Read, Write};
use std::sync::{Arc, Mutex, PoisonError};

/// The longest line.
const LINE_BYTES_MAX: u64 = 64 << 20;

/// One request.
#[derive(Serialize, Deserialize)]
struct Ask {
    method: String,
    uri: String,
    headers: Vec<(String, String)>,
    /// As Base64, as all that may be no text is here.
    body: String,
}

/// What came of it: the status and the body, or why there are none.
type Told = Result<(u16, String), String>;

/// The process that sends, as the one that serves sees it.
#[derive(Clone)]
pub struct Sender(Arc<Mutex<Between>>);

struct Between {
    answers: Box<dyn BufRead + Send>,
    asks: Box<dyn Write + Send>,
}

impl Sender {
    /// What reads `asks` and writes `answers` is [`send_for_another`].
    pub fn new(answers: impl Read + Send + 'static, asks: impl Write + Send + 'static) -> Sender {
        Sender(Arc::new(Mutex::new(Between { answers: Box::new(BufReader::new(answers)), asks: Box::new(asks) })))
    }
}

impl fmt::Debug for Sender {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Sender")
    }
}

#[async_trait::async_trait]
impl HttpClient for Sender {
    async fn send_bytes(&self, request: Request<Bytes>) -> Result<Response<Bytes>, HttpError> {
        let header = |(name, value): (&HeaderName, &HeaderValue)| {
            Ok::<_, HttpError>((name.to_string(), value.to_str()?.to_owned()))
        };
        let ask = Ask {
            method: request.method().to_string(),
            uri: request.uri().to_string(),
            headers: request.headers().iter().map(header).collect::<Result<_, _>>()?,
            body: BASE64.encode(request.body()),
        };
        let mut between = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        send(&mut between.asks, &ask)?;
        let told: Told = receive(&mut between.answers)?.ok_or("the process that sends has ended")?;
        let (status, body) = told?;
        Ok(Response::builder().status(status).body(BASE64.decode(body.as_bytes())?.into())?)
    }
}

/// Sends to these collectors what another process asks for, until nobody asks any more. Who asks may have been taken over by what it runs: it
/// gets no further than to them.
///
/// # Errors
/// What carries the lines fails, or holds none.
pub fn send_for_another(collectors: &[String], asks: impl Read, mut answers: impl Write) -> io::Result<()> {
    let place = |uri: &Uri| Some((uri.scheme()?.clone(), uri.authority()?.clone()));
    let known: Vec<(Scheme, Authority)> =
        collectors.iter().filter_map(|address| place(&address.parse().ok()?)).collect();
    let (client, mut asks) = (Client::new(), BufReader::new(asks));
    while let Some(ask) = receive::<Ask>(&mut asks)? {
        let sent = request(ask).and_then(|request| match place(request.uri()) {
            Some(place) if known.contains(&place) => client.send(request),
            _ => Err("no collector is there".into()),
        });
        let told: Told = match sent {
            Ok(answer) => Ok((answer.status().as_u16(), BASE64.encode(answer.body()))),
            Err(error) => Err(error.to_string()),
        };
        send(&mut answers, &told)?;
    }
    Ok(())
}

fn request(ask: Ask) -> Result<Request<Bytes>, HttpError> {
    let mut request = Request::builder().method(ask.method.as_str()).uri(ask.uri);
    for (name, value) in ask.headers {
        request = request.header(name, value);
    }
    Ok(request.body(BASE64.decode(ask.body.as_bytes())?.into())?)
}

fn send(to: &mut impl Write, message: &impl Serialize) -> io::Result<()> {
    let mut line = serde_json::to_vec(message)?;
    line.push(b'\n');
    to.write_all(&line)?;
    to.flush()
}

fn receive<T: DeserializeOwned>(from: &mut impl BufRead) -> io::Result<Option<T>> {
    let mut line = Vec::new();
    from.take(LINE_BYTES_MAX).read_until(b'\n', &mut line)?;
    match line.last() {
        None => Ok(None),
        Some(b'\n') => Ok(Some(serde_json::from_slice(&line)?)),
        Some(_) => Err(ErrorKind::InvalidData.into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::TcpListener;
    use std::pin::pin;
    use std::task::{Context, Poll, Waker};

    /// What comes of a request that another process sends, which is a thread here. `None` where no connection is made.
    fn sent(uri: &str, collectors: &[String]) -> Result<(u16, Vec<u8>), String> {
        let ((asked, asks), (answered, answers)) = (std::io::pipe().unwrap(), std::io::pipe().unwrap());
        std::thread::scope(|scope| {
            let other = scope.spawn(move || send_for_another(collectors, asked, answers));
            let sender = Sender::new(answered, asks);
            let request = Request::post(uri).header("x-team", "a").body(Bytes::from_static(b"\xff{}")).unwrap();
            let answer = match pin!(sender.send_bytes(request)).poll(&mut Context::from_waker(Waker::noop())) {
                Poll::Ready(answer) => answer.map_err(|error| error.to_string()),
                Poll::Pending => panic!("it waits for something"),
            };
            drop(sender);
            other.join().unwrap().unwrap();
            answer.map(|answer| (answer.status().as_u16(), answer.into_body().to_vec()))
        })
    }

    #[test]
    fn another_process_sends_to_the_collectors_that_it_knows_and_to_nobody_else() {
        let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
        let address = format!("http://{}", listener.local_addr().unwrap());
        let collector = std::thread::spawn(move || {
            let (mut client, _) = listener.accept().unwrap();
            let mut head = Vec::new();
            while !head.ends_with(b"\r\n\r\n\xff{}") {
                let mut byte = [0];
                client.read_exact(&mut byte).unwrap();
                head.push(byte[0]);
            }
            client.write_all(b"HTTP/1.1 202 Accepted\r\ncontent-length: 3\r\n\r\n\xff[]").unwrap();
            (head, listener)
        });
        let known = [format!("{address}/deep"), "no address".to_owned()];
        assert_eq!(sent(&format!("{address}/v1/traces"), &known), Ok((202, b"\xff[]".to_vec())));
        let (head, listener) = collector.join().unwrap();
        let head = String::from_utf8_lossy(&head).to_lowercase();
        assert!(head.starts_with("post /v1/traces ") && head.contains("x-team: a\r\n"), "{head}");
        listener.set_nonblocking(true).unwrap();
        for other in ["http://127.0.0.1:1/v1/traces", &address.replace("http:", "https:"), "/v1/traces"] {
            sent(other, &known).unwrap_err();
        }
        sent(&format!("{address}/v1/traces"), &[]).unwrap_err();
        assert_eq!(listener.accept().unwrap_err().kind(), ErrorKind::WouldBlock);
    }

    #[test]
    fn a_line_is_whole_and_of_a_bounded_length() {
        let read =
            |bytes: &[u8]| receive::<Told>(&mut &bytes[..]).map(|told| told.is_some()).map_err(|error| error.kind());
        assert_eq!(read(b""), Ok(false));
        assert_eq!(read(b"{\"Ok\":[200,\"\"]}\n"), Ok(true));
        assert_eq!(read(b"{\"Ok\":[200,\"\"]}"), Err(ErrorKind::InvalidData));
        let mut long = io::repeat(b' ').take(LINE_BYTES_MAX).chain(&b"\n"[..]);
        let long = receive::<Told>(&mut BufReader::new(&mut long));
        assert_eq!(long.map(drop).unwrap_err().kind(), ErrorKind::InvalidData);
    }
}

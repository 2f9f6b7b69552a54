//! Connections and their bounds: how many there are, how slowly they may send, and their end.

use super::access::Refused;
use super::answer::{self, Body};
use super::connection::{Connection, Idle, Wire};
use super::settings::Bounds;
use super::site::Site;
use crate::door::{Door, Unsent};
use crate::room::Room;
use crate::serving::ServeError;
use crate::who::Principal;
use bytes::Bytes;
use http::header::{CONNECTION, HeaderValue};
use http::{Method, Request, Response, StatusCode};
use http_body_util::BodyExt;
use hutch_model::error_code::ErrorCode;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::server::graceful::GracefulShutdown;
use std::convert::Infallible;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;
use tokio::io::AsyncWriteExt;
use tokio::net::{TcpListener, TcpStream};
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::{Semaphore, watch};
use tokio_util::sync::CancellationToken;

/// The most bytes of a request's head.
const HEAD_BYTES_MAX: usize = 32 << 10;
/// The most headers of a request.
const HEADERS_MAX: usize = 64;
/// How often it is looked whether all has ended.
const LOOKED_EVERY: Duration = Duration::from_millis(20);
/// How long accepting waits after the system refused a connection: it has no more files, and others must end first.
const REFUSED_FOR: Duration = Duration::from_millis(50);

pub(super) async fn bind(address: SocketAddr) -> Result<TcpListener, ServeError> {
    let listener = TcpListener::bind(address).await;
    listener.map_err(|source| ServeError::Address { address, source })
}

/// What tells the process to end.
pub(super) struct Ends {
    term: Signal,
    int: Signal,
}

impl Ends {
    pub(super) fn begin() -> Result<Ends, ServeError> {
        let system = |error: std::io::Error| ServeError::System(format!("signals can't be taken: {error}"));
        Ok(Ends {
            term: signal(SignalKind::terminate()).map_err(system)?,
            int: signal(SignalKind::interrupt()).map_err(system)?,
        })
    }

    /// Ends when the process is told to end, each time anew.
    async fn told(&mut self) {
        tokio::select! {
            _ = self.term.recv() => {}
            _ = self.int.recv() => {}
        }
    }
}

/// How a connection is read.
pub(super) fn protocol(bounds: &Bounds) -> http1::Builder {
    let mut builder = http1::Builder::new();
    builder.timer(TokioTimer::new()).header_read_timeout(bounds.sent_within);
    builder.max_headers(HEADERS_MAX).max_buf_size(HEAD_BYTES_MAX);
    // Who has sent all and says so gets the answer: what was asked for is carried out, and nobody would know.
    builder.half_close(true);
    builder
}

/// The other end of a connection, for those who answer it.
#[derive(Clone)]
pub(super) struct Peer(Arc<TcpStream>);

impl Peer {
    /// Of a stream, beside whom it is read and written.
    fn of(stream: TcpStream) -> std::io::Result<(TcpStream, Peer)> {
        let stream = stream.into_std()?;
        let beside = stream.try_clone()?;
        Ok((TcpStream::from_std(stream)?, Peer(Arc::new(TcpStream::from_std(beside)?))))
    }

    /// Ends the connection when nothing more comes: where an answer goes on for ever, it can't be seen otherwise that nobody listens.
    async fn watch(self, end: CancellationToken) {
        tokio::select! {
            () = self.left() => end.cancel(),
            () = end.cancelled() => {}
        }
    }

    /// Ends when nothing more comes, whether or not somebody listens still.
    pub(super) async fn left(&self) {
        if !matches!(self.0.peek(&mut [0]).await, Ok(0) | Err(_)) {
            std::future::pending().await
        }
    }

    /// Ends when the connection broke: there is nobody to answer.
    pub(super) async fn broke(&self) {
        if self.0.peek(&mut [0]).await.is_ok() {
            std::future::pending().await
        }
    }
}

/// Among what an answer has besides: that it ends by itself when its caller has [left](Peer::left).
#[derive(Clone)]
pub(super) struct EndsItself;

/// Answers on every connection until the process is told to end, and lets what was begun come to its end; told so once more, it ends at once.
pub(super) async fn listen(listener: TcpListener, site: Arc<Site>, end: &watch::Sender<bool>, mut ends: Ends) {
    let graceful = GracefulShutdown::new();
    let connections_max = site.bounds.connections_max;
    let (room, idle) = (Arc::new(Semaphore::new(connections_max)), Arc::<Idle>::default());
    let callers = Room::new(connections_max, connections_max);
    loop {
        let accepted = tokio::select! {
            accepted = listener.accept() => accepted,
            () = ends.told() => break,
        };
        let Ok((stream, peer)) = accepted.and_then(|(stream, _)| Peer::of(stream)) else {
            tokio::time::sleep(REFUSED_FOR).await;
            continue;
        };
        // An answer is small, and is to leave at once.
        let _ = stream.set_nodelay(true);
        let permit = match Arc::clone(&room).try_acquire_owned() {
            Ok(permit) => Ok(permit),
            // The one that ends does so at once.
            Err(_) if idle.end_one() => Arc::clone(&room).acquire_owned().await,
            Err(_) => {
                tokio::spawn(turn_away(stream, site.bounds.sent_within));
                continue;
            }
        };
        let connection = Connection::begin(&idle);
        let wire = Wire::new(stream, Arc::clone(&connection), site.bounds.sent_within);
        let ended = connection.end.clone();
        let (shared, callers) = (Arc::clone(&site), Arc::clone(&callers));
        let service = service_fn(move |mut request: Request<Incoming>| {
            let (site, connection, callers) = (Arc::clone(&shared), Arc::clone(&connection), Arc::clone(&callers));
            let peer = peer.clone();
            connection.work();
            request.extensions_mut().insert(peer.clone());
            async move {
                let known = site.guard.whose(request.headers()).cloned();
                let only_listens = request.method() == Method::GET;
                let response = match connection.hold(&callers, known.as_ref()) {
                    true => site.answer(request, known.as_ref()).await,
                    false => has_too_many(),
                };
                let is_watched = only_listens && response.extensions().get::<EndsItself>().is_none();
                // A stream goes on, for as long as somebody listens.
                if is_watched && answer::length(&response).is_none() {
                    tokio::spawn(peer.watch(connection.end.clone()));
                }
                Ok::<Response<Body>, Infallible>(counted(response, known.as_ref(), &connection, &site.door))
            }
        });
        let served = graceful.watch(protocol(&site.bounds).serve_connection(TokioIo::new(wire), service));
        tokio::spawn(async move {
            tokio::select! {
                // A connection that breaks is its caller's affair.
                _ = served => {}
                () = ended.cancelled() => {}
            }
            ended.cancel();
            drop(permit);
        });
    }
    drop(listener);
    end.send_replace(true);
    let ended = async {
        let idle = async {
            // What is under way is finished first; then those who only wait are told.
            while site.door.is_busy() {
                tokio::time::sleep(LOOKED_EVERY).await;
            }
            tokio::time::sleep(LOOKED_EVERY).await;
            site.mcp.close();
        };
        tokio::join!(graceful.shutdown(), idle);
    };
    tokio::pin!(ended);
    let again = tokio::select! {
        () = &mut ended => return,
        () = tokio::time::sleep(site.bounds.ended_within) => false,
        () = ends.told() => true,
    };
    site.door.close();
    site.mcp.close();
    let at_once = async {
        if !again {
            ends.told().await;
        }
        // What was stopped has said so by then to who listens.
        while site.door.is_busy() {
            tokio::time::sleep(LOOKED_EVERY).await;
        }
        tokio::time::sleep(LOOKED_EVERY).await;
    };
    tokio::select! {
        _ = tokio::time::timeout(site.bounds.sent_within, &mut ended) => {}
        () = at_once => {}
    }
}

/// Counts what is answered on a connection until it is sent. Who is not known is answered little, and may be left with a part of it for another.
fn counted(
    mut response: Response<Body>,
    known: Option<&Principal>,
    connection: &Arc<Connection>,
    door: &Arc<Door>,
) -> Response<Body> {
    let Some(lane) = known.map(|principal| Arc::clone(principal.name())) else {
        connection.rest();
        return response;
    };
    let counted = response.extensions_mut().remove::<Arc<Unsent>>();
    if let Some(bytes) = answer::length(&response) {
        connection.answer(counted.unwrap_or_else(|| Arc::new(door.hold(&lane, bytes))));
        return response;
    }
    let (connection, door) = (Arc::clone(connection), Arc::clone(door));
    response.map(|body| {
        let frames = body.map_frame(move |frame| {
            connection.send(Arc::new(door.hold(&lane, frame.data_ref().map_or(0, Bytes::len))));
            frame
        });
        frames.boxed()
    })
}

/// Tells a caller that has as many connections as one may, and ends this one.
fn has_too_many() -> Response<Body> {
    let message = "there are too many connections with this token";
    let refused = Refused::new(StatusCode::SERVICE_UNAVAILABLE, ErrorCode::ServerBusy, message);
    let mut response = answer::finished(answer::refused(&refused));
    response.headers_mut().insert(CONNECTION, HeaderValue::from_static("close"));
    response
}

/// Tells a caller for whom there is no room.
async fn turn_away(mut stream: TcpStream, within: Duration) {
    let refused =
        Refused::new(StatusCode::SERVICE_UNAVAILABLE, ErrorCode::ServerBusy, "there are too many connections");
    let response = answer::refused(&refused);
    let Ok(body) = response.into_body().collect().await;
    let body = body.to_bytes();
    let head = format!(
        "HTTP/1.1 503 Service Unavailable\r\ncontent-type: application/json\r\ncontent-length: {}\r\nconnection: close\r\nretry-after: 1\r\n\r\n",
        body.len()
    );
    let told = async {
        stream.write_all(head.as_bytes()).await?;
        stream.write_all(&body).await?;
        stream.shutdown().await
    };
    // Who does not listen is not told.
    let _ = tokio::time::timeout(within, told).await;
}

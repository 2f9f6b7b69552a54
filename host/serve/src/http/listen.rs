//! Connections and their bounds: how many there are, how slowly they may send and read, and their end.

use super::access::Refused;
use super::answer::{self, Body};
use super::settings::Bounds;
use super::site::Site;
use crate::serving::ServeError;
use http::{Response, StatusCode};
use http_body_util::BodyExt;
use hutch_model::error_code::ErrorCode;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::server::graceful::GracefulShutdown;
use std::convert::Infallible;
use std::future::Future;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;
use tokio::io::AsyncWriteExt;
use tokio::net::{TcpListener, TcpStream};
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::{Semaphore, watch};
use tokio_io_timeout::TimeoutStream;

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

/// Ends when the process is told to end.
pub(super) fn asked_to_end() -> Result<Pin<Box<dyn Future<Output = ()>>>, ServeError> {
    let system = |error: std::io::Error| ServeError::System(format!("signals can't be taken: {error}"));
    let mut term = signal(SignalKind::terminate()).map_err(system)?;
    let mut int = signal(SignalKind::interrupt()).map_err(system)?;
    Ok(Box::pin(async move {
        tokio::select! {
            _ = term.recv() => {}
            _ = int.recv() => {}
        }
    }))
}

/// How a connection is read.
pub(super) fn protocol(bounds: &Bounds) -> http1::Builder {
    let mut builder = http1::Builder::new();
    builder.timer(TokioTimer::new()).header_read_timeout(bounds.sent_within);
    builder.max_headers(HEADERS_MAX).max_buf_size(HEAD_BYTES_MAX);
    builder
}

/// Answers on every connection until `asked` ends, and lets what was begun come to its end.
pub(super) async fn listen(
    listener: TcpListener,
    site: Arc<Site>,
    end: &watch::Sender<bool>,
    mut asked: Pin<Box<dyn Future<Output = ()>>>,
) {
    let graceful = GracefulShutdown::new();
    let room = Arc::new(Semaphore::new(site.bounds.connections_max));
    loop {
        let accepted = tokio::select! {
            accepted = listener.accept() => accepted,
            () = &mut asked => break,
        };
        let Ok((stream, _)) = accepted else {
            tokio::time::sleep(REFUSED_FOR).await;
            continue;
        };
        // An answer is small, and is to leave at once.
        let _ = stream.set_nodelay(true);
        let Ok(permit) = Arc::clone(&room).try_acquire_owned() else {
            tokio::spawn(turn_away(stream, site.bounds.sent_within));
            continue;
        };
        let mut stream = TimeoutStream::new(stream);
        stream.set_write_timeout(Some(site.bounds.sent_within));
        let shared = Arc::clone(&site);
        let service = service_fn(move |request| {
            let site = Arc::clone(&shared);
            async move { Ok::<Response<Body>, Infallible>(site.answer(request).await) }
        });
        let connection =
            graceful.watch(protocol(&site.bounds).serve_connection(TokioIo::new(Box::pin(stream)), service));
        tokio::spawn(async move {
            // A connection that breaks is its caller's affair.
            let _ = connection.await;
            drop(permit);
        });
    }
    drop(listener);
    end.send_replace(true);
    let ended = async {
        let idle = async {
            // What is under way is finished first; then those who only wait are told.
            while site.door.load().is_busy() {
                tokio::time::sleep(LOOKED_EVERY).await;
            }
            tokio::time::sleep(LOOKED_EVERY).await;
            site.mcp.close();
        };
        tokio::join!(graceful.shutdown(), idle);
    };
    tokio::pin!(ended);
    if tokio::time::timeout(site.bounds.ended_within, &mut ended).await.is_err() {
        site.door.close();
        site.mcp.close();
        // What was stopped says so.
        let _ = tokio::time::timeout(site.bounds.sent_within, &mut ended).await;
    }
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

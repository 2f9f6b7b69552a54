//! The Model Context Protocol over standard input and output, and over HTTP, by the official library: both lifecycles, the one that begins with
//! `initialize` (2025-11-25 and before) and the one in which every request says what it needs (2026-07-28).

mod confirm;
mod escaped;
mod handler;
mod skills;
mod transport;

use crate::catalog::Catalog;
use crate::door;
use crate::door::Door;
use crate::serving::{ServeError, Serving};
use crate::who::Who;
use bytes::Bytes;
use escaped::{Escaped, Escaper};
use handler::{Desk, Handler};
use http::{Request, Response};
use http_body_util::combinators::BoxBody;
use http_body_util::{BodyExt, Full};
use opentelemetry::Context;
use rmcp::ServiceExt;
use rmcp::model::ProtocolVersion;
use rmcp::service::ServerInitializeError;
use rmcp::transport::async_rw::AsyncRwTransport;
use rmcp::transport::io::stdio_pipes;
use rmcp::transport::streamable_http_server::session::local::LocalSessionManager;
use rmcp::transport::streamable_http_server::{StreamableHttpServerConfig, StreamableHttpService};
use std::collections::{BTreeMap, BTreeSet};
use std::convert::Infallible;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio_util::sync::CancellationToken;
use transport::Guarded;

/// The most bytes of a message. A longer one is read past, without an answer: nobody knows whose it is.
const MESSAGE_BYTES_MAX: usize = 4 << 20;
/// The most sessions of clients that have them, at once.
const SESSIONS_MAX: usize = 256;
/// The most of those of one caller.
const SESSIONS_EACH_MAX: usize = 64;

/// Serves one client on standard input and output until it closes the one or the other. What is under way then may end within a
/// second, and is stopped after it.
///
/// # Errors
/// See [`ServeError`].
pub fn stdio(serving: &Serving) -> Result<(), ServeError> {
    let catalog = Arc::new(Catalog::of(serving));
    let skills = skills::Skills::of(&serving.packages)?;
    let key =
        (serving.surroundings.seed)().ok_or_else(|| ServeError::System("the system gives no randomness".to_owned()))?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.map_err(|error| ServeError::System(format!("the system gives no runtime: {error}")))?;
    let ended = door::open(serving, |door| {
        let desk = Arc::new(Desk::new(door, catalog, skills, key, Arc::clone(&serving.telemetry))?);
        let ended = runtime.block_on(serve(&desk));
        // Also where the client broke off without closing anything.
        desk.close();
        // What still waits for input waits for ever.
        runtime.shutdown_background();
        ended
    });
    serving.telemetry.end();
    ended
}

/// The same protocol over HTTP, for callers that whoever serves HTTP has let in.
pub(crate) struct Endpoint {
    service: StreamableHttpService<Handler, LocalSessionManager>,
    sessions: Arc<LocalSessionManager>,
    /// The sessions that each caller began.
    begun: Mutex<BTreeMap<Arc<str>, BTreeSet<String>>>,
    desk: Arc<Desk>,
    end: CancellationToken,
}

impl Endpoint {
    /// One for what is served, where people find what waits for them at `approvals`. `body_bytes_max` is the most bytes of a message.
    pub(crate) fn new(
        serving: &Serving,
        door: Arc<Door>,
        catalog: Arc<Catalog>,
        approvals: &str,
        body_bytes_max: usize,
    ) -> Result<Endpoint, ServeError> {
        let skills = skills::Skills::of(&serving.packages)?;
        let key = (serving.surroundings.seed)();
        let key = key.ok_or_else(|| ServeError::System("the system gives no randomness".to_owned()))?;
        let mut desk = Desk::new(door, catalog, skills, key, Arc::clone(&serving.telemetry))?;
        desk.approvals = Some(approvals.to_owned());
        let desk = Arc::new(desk);
        // Names and origins have been looked at by then.
        let config = StreamableHttpServerConfig::default().disable_allowed_hosts().disable_allowed_origins();
        let config = config.with_max_request_body_bytes(body_bytes_max);
        let (end, sessions) = (config.cancellation_token.clone(), Arc::new(LocalSessionManager::default()));
        let shared = Arc::clone(&desk);
        let made = move || Ok(Handler(Arc::clone(&shared)));
        let service = StreamableHttpService::new(made, Arc::clone(&sessions), config);
        Ok(Endpoint { service, sessions, begun: Mutex::default(), desk, end })
    }

    /// Answers a request on behalf of a caller.
    pub(crate) async fn answer(
        &self,
        mut request: Request<Full<Bytes>>,
        who: Who,
    ) -> Option<Response<BoxBody<Bytes, Infallible>>> {
        // Each session keeps memory until it has been silent for minutes.
        let headers = request.headers();
        let version = headers.get("mcp-protocol-version").and_then(|version| version.to_str().ok());
        let begins = !headers.contains_key("mcp-session-id") && version != Some(ProtocolVersion::V_2026_07_28.as_str());
        if begins && !self.has_room(&who).await {
            return None;
        }
        let name = Arc::clone(&who.name);
        request.extensions_mut().insert(who);
        request.extensions_mut().insert(Context::current());
        let response = self.service.handle(request).await;
        let session = response.headers().get("mcp-session-id").and_then(|session| session.to_str().ok());
        if let Some(session) = session.filter(|_| begins) {
            self.begun().entry(name).or_default().insert(session.to_owned());
        }
        let mut escaper = Escaper::default();
        Some(
            response.map(|body| {
                body.map_frame(move |frame| frame.map_data(|data| Bytes::from(escaper.piece(&data)))).boxed()
            }),
        )
    }

    /// Whether a caller may begin a session.
    async fn has_room(&self, who: &Who) -> bool {
        let sessions = self.sessions.sessions.read().await;
        let is_there = |session: &String| sessions.keys().any(|one| **one == **session);
        let mut begun = self.begun();
        begun.retain(|_, own| {
            own.retain(is_there);
            !own.is_empty()
        });
        sessions.len() < SESSIONS_MAX && begun.get(&who.name).map_or(0, BTreeSet::len) < SESSIONS_EACH_MAX
    }

    fn begun(&self) -> MutexGuard<'_, BTreeMap<Arc<str>, BTreeSet<String>>> {
        self.begun.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Ends all sessions.
    pub(crate) fn close(&self) {
        self.desk.close();
        self.end.cancel();
    }
}

async fn serve(desk: &Arc<Desk>) -> Result<(), ServeError> {
    let (read, write) = stdio_pipes();
    let messages = AsyncRwTransport::new_server(read, Escaped::new(write)).with_max_line_length(MESSAGE_BYTES_MAX);
    let serving = Handler(Arc::clone(desk)).serve(Guarded::new(messages, Arc::clone(desk))).await;
    match serving {
        Ok(running) => match running.waiting().await {
            Ok(_) => Ok(()),
            Err(error) => Err(ServeError::System(format!("serving ended: {error}"))),
        },
        // A client that goes before it has begun.
        Err(ServerInitializeError::ConnectionClosed(_) | ServerInitializeError::TransportError { .. }) => Ok(()),
        Err(error) => Err(ServeError::Protocol(error.to_string())),
    }
}

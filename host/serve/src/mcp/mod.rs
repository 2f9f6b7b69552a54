//! The Model Context Protocol over standard input and output, and over HTTP, by the official library: both lifecycles, the one that begins with
//! `initialize` (2025-11-25 and before) and the one in which every request says what it needs (2026-07-28).

mod confirm;
mod escaped;
mod handler;
mod lines;
mod message;
mod skills;
mod transport;

use crate::catalog::Catalog;
use crate::door;
use crate::door::Door;
use crate::room::{Place, Room};
use crate::serving::{ServeError, Serving};
use crate::who::Principal;
use bytes::Bytes;
use escaped::Escaper;
use handler::{Desk, Handler};
use http::header::{ALLOW, CONTENT_TYPE};
use http::{Method, Request, Response, StatusCode};
use http_body_util::combinators::BoxBody;
use http_body_util::{BodyExt, Full};
use hutch_model::document;
use hutch_model::error_code::ErrorCode as Code;
use lines::Lines;
use opentelemetry::Context;
use rmcp::model::{ErrorCode, JsonRpcMessage, RequestId};
use rmcp::service::{ServerInitializeError, TxJsonRpcMessage};
use rmcp::transport::io::stdio_pipes;
use rmcp::transport::streamable_http_server::session::local::LocalSessionManager;
use rmcp::transport::streamable_http_server::{StreamableHttpServerConfig, StreamableHttpService};
use rmcp::{RoleServer, ServiceExt};
use std::collections::BTreeMap;
use std::convert::Infallible;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio_util::sync::CancellationToken;
use transport::Guarded;

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
    serving.enclose()?;
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

/// Why the protocol has no answer.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Unanswered {
    /// There is no such session, or it is another caller's.
    NoSession,
    /// There are too many sessions.
    NoRoom,
}

/// The same protocol over HTTP, for callers that whoever serves HTTP has let in.
pub(crate) struct Endpoint {
    service: StreamableHttpService<Handler, LocalSessionManager>,
    sessions: Arc<LocalSessionManager>,
    /// Whose each session is: who did not begin it is told nothing of it, and can neither read nor answer nor end it.
    begun: Arc<Mutex<BTreeMap<String, Place>>>,
    room: Arc<Room>,
    desk: Arc<Desk>,
    end: CancellationToken,
    /// The most bytes of a message.
    body_bytes_max: usize,
}

impl Endpoint {
    /// One for what is served, where people find what waits for them at `approvals`.
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
        let room = Room::new(SESSIONS_EACH_MAX, SESSIONS_MAX);
        Ok(Endpoint { service, sessions, begun: Arc::default(), room, desk, end, body_bytes_max })
    }

    /// Answers a request on behalf of a caller, in a session of its own or in none. Its message, and who watches, has its room until the answer has ended.
    pub(crate) async fn answer(
        &self,
        mut request: Request<Full<Bytes>>,
        bytes: &[u8],
        (principal, places): (&Principal, (Place, Option<Place>)),
    ) -> Result<Response<BoxBody<Bytes, Infallible>>, Unanswered> {
        let mut asked = None;
        if request.method() == Method::POST {
            match message::read(bytes, self.body_bytes_max) {
                Ok(JsonRpcMessage::Request(request)) => {
                    asked = Some((request.id, request.request.method() == "initialize"))
                }
                Ok(_) => {}
                Err(refusal) => {
                    let is_too_large = refusal.is_too_large;
                    let status = if is_too_large { StatusCode::PAYLOAD_TOO_LARGE } else { StatusCode::BAD_REQUEST };
                    return Ok(refused(Response::builder().status(status), &refusal.answer));
                }
            }
        }
        let session = request.headers().get("mcp-session-id").cloned();
        let begins = session.is_none() && asked.as_ref().is_some_and(|(_, begins)| *begins);
        if let Some(session) = session
            && !self.is_of(session.to_str().unwrap_or_default(), principal).await
        {
            return Err(Unanswered::NoSession);
        }
        request.extensions_mut().insert(principal.clone());
        request.extensions_mut().insert(Context::current());
        let response = match begins {
            true => self.begin(request, principal).await?,
            false => self.service.handle(request).await,
        };
        let response = typed(response, asked.map(|(id, _)| id)).await;
        let mut escaper = Escaper::default();
        Ok(response.map(|body| {
            body.map_frame(move |frame| {
                let _ = &places;
                frame.map_data(|data| Bytes::from(escaper.piece(&data)))
            })
            .boxed()
        }))
    }

    /// Begins a session, if there is room: it keeps memory until it has been silent for minutes. It is whose it is also where the caller does
    /// not wait for the answer, so nobody has more of them by going away.
    async fn begin(
        &self,
        request: Request<Full<Bytes>>,
        principal: &Principal,
    ) -> Result<Response<BoxBody<Bytes, Infallible>>, Unanswered> {
        let live = self.sessions.sessions.read().await;
        self.begun().retain(|session, _| live.keys().any(|one| **one == **session));
        drop(live);
        let place = self.room.take(principal).ok_or(Unanswered::NoRoom)?;
        let (service, begun) = (self.service.clone(), Arc::clone(&self.begun));
        let handled = tokio::spawn(async move {
            let response = service.handle(request).await;
            let session = response.headers().get("mcp-session-id").and_then(|session| session.to_str().ok());
            if let Some(session) = session {
                let mut begun = begun.lock().unwrap_or_else(PoisonError::into_inner);
                begun.insert(session.to_owned(), place);
            }
            response
        });
        handled.await.map_err(|_| Unanswered::NoRoom)
    }

    /// Whether a session is one that this caller began, and has not ended.
    async fn is_of(&self, session: &str, principal: &Principal) -> bool {
        let live = self.sessions.sessions.read().await;
        live.keys().any(|one| **one == *session)
            && self.begun().get(session).is_some_and(|place| place.is_of(principal))
    }

    fn begun(&self) -> MutexGuard<'_, BTreeMap<String, Place>> {
        self.begun.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Ends all sessions.
    pub(crate) fn close(&self) {
        self.desk.close();
        self.end.cancel();
    }
}

/// The library's answer, and in the protocol's form where it would refuse in plain words.
async fn typed(
    response: Response<BoxBody<Bytes, Infallible>>,
    id: Option<RequestId>,
) -> Response<BoxBody<Bytes, Infallible>> {
    let is_json = response.headers().get(CONTENT_TYPE).is_some_and(|kind| kind == "application/json");
    let status = response.status();
    if is_json || !(status.is_client_error() || status.is_server_error()) {
        return response;
    }
    let (parts, body) = response.into_parts();
    let Ok(said) = body.collect().await;
    let said = String::from_utf8_lossy(&said.to_bytes()).into_owned();
    let code = if status.is_server_error() { ErrorCode::INTERNAL_ERROR } else { ErrorCode::INVALID_REQUEST };
    let answer = JsonRpcMessage::error(message::error(code, said, None), id);
    let mut refused = refused(Response::builder().status(status), &answer);
    if let Some(allowed) = parts.headers.get(ALLOW) {
        refused.headers_mut().insert(ALLOW, allowed.clone());
    }
    refused
}

fn refused(
    response: http::response::Builder,
    answer: &TxJsonRpcMessage<RoleServer>,
) -> Response<BoxBody<Bytes, Infallible>> {
    let text = document::written(&serde_json::to_string(answer).unwrap_or_default()).into_owned();
    let response = response.header(CONTENT_TYPE, "application/json").extension(Code::RequestInvalid);
    response.body(Full::new(text.into()).boxed()).unwrap_or_default()
}

async fn serve(desk: &Arc<Desk>) -> Result<(), ServeError> {
    let (read, write) = stdio_pipes();
    let serving = Handler(Arc::clone(desk)).serve(Guarded::new(Lines::new(read, write), Arc::clone(desk))).await;
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

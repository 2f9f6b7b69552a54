//! Requests as they are judged, and nothing done about them: bytes of a connection go in, and what each request in them asks for comes out.
//! For fuzzing: what is judged is judged by the functions that judge for the server.

use super::access::{Guard, Refused, Token};
use super::listen::protocol;
use super::meant::{self, Way};
use super::request::{self, Failed};
use super::routes::Does;
use super::settings::Bounds;
use crate::catalog::Catalog;
use crate::who::Scope;
use bytes::Bytes;
use http::request::Parts;
use http::{HeaderMap, Method, Request, Response};
use http_body_util::Full;
use hutch_model::contract::Contract;
use hutch_model::ledger;
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use std::convert::Infallible;
use std::net::SocketAddr;
use std::sync::{Mutex, PoisonError};
use tokio::io::{AsyncReadExt, AsyncWriteExt};

/// What judges.
pub struct Judge {
    guard: Guard,
    bounds: Bounds,
    catalog: Catalog,
    runtime: tokio::runtime::Runtime,
}

/// A request, and what came of it.
#[derive(Debug)]
pub struct Judged {
    /// Its method.
    pub method: String,
    /// Its path, as it is in its first line.
    pub path: String,
    /// What it says of itself.
    pub headers: HeaderMap,
    /// Its body, where it was read.
    pub body: Option<Bytes>,
    /// What it asks for; or the status of a refusal, 0 for one by a package's contract.
    pub meant: Result<Meant, u16>,
}

/// What a request asks for.
#[derive(Debug)]
pub struct Meant {
    /// The scope that is needed; none if everybody may.
    pub scope: Option<Scope>,
    /// Who asks, where one must be known.
    pub token: Option<String>,
    /// What is done, in words for people; none where that is not a matter of the request alone.
    pub asks: Option<String>,
    /// The name that the request has.
    pub named: Option<ledger::Request>,
}

impl Judge {
    /// For a server of one package.
    ///
    /// # Errors
    /// The tokens are malformed, or there is no runtime.
    pub fn new(
        tokens: &str,
        here: SocketAddr,
        origins: &[String],
        (slug, contract): (&str, Contract),
        bounds: Bounds,
    ) -> Result<Judge, String> {
        let guard = Guard::new(Token::read_all(tokens)?, here, origins);
        let catalog = Catalog::of_one(slug.to_owned(), contract);
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build();
        Ok(Judge { guard, bounds, catalog, runtime: runtime.map_err(|error| error.to_string())? })
    }

    /// The requests in what a client sends before it ends, and what it is answered.
    pub fn judge(&self, sent: &[u8]) -> (Vec<Judged>, Vec<u8>) {
        let judged = Mutex::new(Vec::new());
        let answered = self.runtime.block_on(async {
            let (mut client, server) = tokio::io::duplex(sent.len().max(1 << 16));
            let service = service_fn(|request: Request<Incoming>| async {
                let one = self.one(request).await;
                let status = one.meant.as_ref().err().copied().filter(|status| *status >= 400).unwrap_or(200);
                judged.lock().unwrap_or_else(PoisonError::into_inner).push(one);
                let mut response = Response::new(Full::new(Bytes::new()));
                *response.status_mut() = http::StatusCode::from_u16(status).unwrap_or_default();
                Ok::<_, Infallible>(response)
            });
            let protocol = protocol(&self.bounds);
            let served = protocol.serve_connection(TokioIo::new(Box::pin(server)), service);
            let said = async {
                let mut answered = Vec::new();
                let _ = client.write_all(sent).await;
                let _ = client.shutdown().await;
                let _ = client.read_to_end(&mut answered).await;
                answered
            };
            tokio::join!(served, said).1
        });
        (judged.into_inner().unwrap_or_else(PoisonError::into_inner), answered)
    }

    async fn one(&self, request: Request<Incoming>) -> Judged {
        let (parts, body) = request.into_parts();
        let mut read = None;
        let meant = self.meant(&parts, body, &mut read).await.map_err(|failed| match failed {
            Failed::Refused(Refused(status, _)) => status.as_u16(),
            Failed::Report(_) => 0,
        });
        let (method, path) = (parts.method.to_string(), parts.uri.path().to_owned());
        Judged { method, path, headers: parts.headers, body: read, meant }
    }

    async fn meant(&self, parts: &Parts, body: Incoming, read: &mut Option<Bytes>) -> Result<Meant, Failed> {
        let is_safe = parts.method == Method::GET || parts.method == Method::HEAD;
        self.guard.check_names(&parts.uri, &parts.headers, is_safe)?;
        let asked = match meant::way(&self.guard, parts)? {
            Way::Open(_) => return Ok(Meant { scope: None, token: None, asks: None, named: None }),
            Way::Methods(_) => return Err(request::missing(parts.uri.path()).into()),
            Way::Asked(asked) => asked,
        };
        let (scope, token) = (asked.route.scope, Some(asked.principal.name().to_string()));
        let (named, tell) = match asked.route.does {
            Does::Mcp | Does::Events | Does::Describe | Does::Server | Does::Packages => (None, None),
            _ => {
                let place = self.catalog.place(asked.found.first().copied().unwrap_or_default());
                let package = place.ok_or_else(|| request::missing(parts.uri.path()))?;
                if asked.route.method == Method::POST {
                    let bytes = request::bytes(body, &self.bounds).await?;
                    let body = request::body(&parts.headers, Full::new(bytes.clone()), &self.bounds).await?;
                    *read = Some(bytes);
                    let (named, tell) = meant::changed(&asked, body, &self.catalog, package)?;
                    (named, Some(tell))
                } else {
                    (None, Some(meant::looked(&asked)?))
                }
            }
        };
        Ok(Meant { scope, token, asks: tell.map(|tell| format!("{tell:?}")), named })
    }
}

//! Requests, judged and answered: who is it, is it allowed, what is asked for, and what came of it. Knows no sockets.

use super::access::{Guard, Refused, Token};
use super::answer::{self, Body};
use super::events;
use super::listen::Peer;
use super::meant::{self, Asked, Way};
use super::openapi;
use super::page;
use super::request::{self, Failed};
use super::routes::Does;
use super::seen::Seen;
use super::settings::Bounds;
use crate::ask::{Ask, Tell, What};
use crate::catalog::Catalog;
use crate::door::{Answers, By, Door};
use crate::mcp::{Endpoint, Unanswered};
use crate::question;
use crate::reply::{self, Reply};
use crate::room::{Place, Room};
use crate::serving::{About, Surroundings};
use crate::telemetry::Telemetry;
use crate::who::Principal;
use http::header::IF_NONE_MATCH;
use http::request::Parts;
use http::{Method, Request, Response, StatusCode};
use http_body_util::Full;
use hutch_documents::envelope;
use hutch_model::error_code::ErrorCode;
use hutch_model::error_report::ErrorReport;
use hyper::body::{Body as _, Incoming};
use opentelemetry::context::FutureExt;
use serde_json::{Value, json};
use std::sync::Arc;
use tokio::sync::watch;

/// All that answers share.
pub(super) struct Site {
    pub(super) guard: Guard,
    pub(super) bounds: Bounds,
    pub(super) door: Arc<Door>,
    pub(super) catalog: Arc<Catalog>,
    pub(super) telemetry: Arc<Telemetry>,
    /// Where people find what waits for them.
    pub(super) approvals: String,
    /// What is said of each package, in the catalog's order.
    pub(super) about: Vec<About>,
    pub(super) mcp: Endpoint,
    pub(super) surroundings: Surroundings,
    /// For those who watch.
    pub(super) watchers: Arc<Room>,
    /// For bodies, in bytes.
    pub(super) bodies: Arc<Room>,
    /// Whether serving is to end.
    pub(super) ending: watch::Receiver<bool>,
}

impl Site {
    /// Answers a request. It always has an answer. `known` is whose token came with it, if it is one.
    pub(super) async fn answer(&self, request: Request<Incoming>, known: Option<&Principal>) -> Response<Body> {
        let (parts, body) = request.into_parts();
        let seen = Seen::begin(self, &parts, known);
        let judged = self.judged(&parts, body).with_context(seen.context()).await;
        let response = answer::finished(match judged {
            Ok(response) => response,
            Err(Failed::Refused(refused)) => answer::refused(&refused),
            Err(Failed::Report(report)) => answer::failed(&report),
        });
        seen.end(&response);
        response
    }

    async fn judged(&self, parts: &Parts, body: Incoming) -> Result<Response<Body>, Failed> {
        let is_safe = parts.method == Method::GET || parts.method == Method::HEAD;
        self.guard.check_names(&parts.uri, &parts.headers, is_safe)?;
        let body = match page::answer(self, parts, Some(body)).await {
            Ok(response) => return Ok(response),
            Err(body) => body,
        };
        let Some(body) = body else { return Err(request::missing(parts.uri.path()).into()) };
        let asked = match meant::way(&self.guard, parts)? {
            Way::Open(does) => return Ok(self.open(does)),
            Way::Methods(allowed) => return Ok(answer::not_allowed(&allowed)),
            Way::Asked(asked) => asked,
        };
        match asked.route.does {
            Does::Mcp => return self.mcp(parts, asked.principal, body).await,
            Does::Events => return Ok(events::answer(self, parts, asked.principal)?),
            _ => {}
        }
        match asked.route.method == Method::POST {
            true => {
                let _place = self.place_of(&body, asked.principal)?;
                let body = request::body(&parts.headers, body, &self.bounds).await?;
                self.change(&asked, body).await
            }
            false => self.look(&asked).await,
        }
    }

    /// Room for a body before anything of it is read, until what it asks for is done: of the length that is declared of it, else of the longest
    /// that one may have.
    pub(super) fn place_of(&self, body: &Incoming, principal: &Principal) -> Result<Place, Refused> {
        let max = self.bounds.body_bytes_max;
        let declared = body.size_hint().upper().and_then(|bytes| usize::try_from(bytes).ok());
        self.bodies.take_some(principal, declared.unwrap_or(max).min(max)).ok_or_else(|| {
            let message = "the bodies of requests that wait have all the room that there is for them";
            Refused::new(StatusCode::SERVICE_UNAVAILABLE, ErrorCode::ServerBusy, message)
        })
    }

    /// Room for somebody who watches, for as long as that goes on.
    pub(super) fn watcher(&self, principal: &Principal) -> Result<Place, Refused> {
        self.watchers.take(principal).ok_or_else(|| {
            Refused::new(StatusCode::SERVICE_UNAVAILABLE, ErrorCode::ServerBusy, "there are too many who watch")
        })
    }

    async fn mcp(&self, parts: &Parts, principal: &Principal, body: Incoming) -> Result<Response<Body>, Failed> {
        let place = self.place_of(&body, principal)?;
        // What a session's stream is for is to be listened to.
        let watcher = (parts.method == Method::GET).then(|| self.watcher(principal)).transpose()?;
        let bytes = request::bytes(body, &self.bounds).await?;
        let mut request = Request::from_parts(parts.clone(), Full::new(bytes.clone()));
        // What the protocol keeps of a request is not to keep its connection.
        request.extensions_mut().remove::<Peer>();
        match self.mcp.answer(request, &bytes, (principal, (place, watcher))).await {
            Ok(mut response) => {
                // It has ended, and there is no more to say; clients take 202 for a failure here.
                if parts.method == Method::DELETE && response.status() == StatusCode::ACCEPTED {
                    *response.status_mut() = StatusCode::NO_CONTENT;
                }
                Ok(response)
            }
            Err(Unanswered::NoSession) => {
                let message = "there is no such session";
                let refused = Refused::new(StatusCode::NOT_FOUND, ErrorCode::NotFound, message);
                Err(refused.suggest("begin a session with initialize").into())
            }
            Err(Unanswered::NoRoom) => {
                Err(ErrorReport::new(ErrorCode::ServerBusy, "there are too many sessions").into())
            }
        }
    }

    /// What everybody may know.
    fn open(&self, does: Does) -> Response<Body> {
        match does {
            Does::Ready if *self.ending.borrow() => {
                answer::json(StatusCode::SERVICE_UNAVAILABLE, &json!({"ready": false}))
            }
            Does::Ready => answer::json(StatusCode::OK, &json!({"ready": true})),
            _ => answer::json(StatusCode::OK, &json!({"ok": true})),
        }
    }

    /// What changes nothing.
    async fn look(&self, asked: &Asked<'_>) -> Result<Response<Body>, Failed> {
        let told = |command: &str, result: Value| Ok(answer::json(StatusCode::OK, &envelope(true, command, result)));
        match asked.route.does {
            Does::Describe => return Ok(answer::json(StatusCode::OK, &openapi::document())),
            Does::Server => {
                let token = |token: &Token| json!({"name": token.name(), "scopes": token.scopes()});
                let tokens = self.guard.tokens.iter().map(token).collect();
                return Ok(answer::json(StatusCode::OK, &answer::server(&self.slugs(), tokens, self.door.load())));
            }
            Does::Packages => {
                let items: Vec<&Value> = self.about.iter().map(|about| &about.listed).collect();
                let total = items.len();
                let result = json!({
                    "items": items, "total": total, "limit": total, "offset": 0, "has_more": false,
                });
                return told("catalog", result);
            }
            _ => {}
        }
        let package = self.package(asked)?;
        let about = self.about.get(package);
        match asked.route.does {
            Does::Package => return told("meta", about.map(|about| about.meta.clone()).unwrap_or_default()),
            Does::Commands => return told("meta", about.map(|about| about.tools.clone()).unwrap_or_default()),
            _ => {}
        }
        let tell = meant::looked(asked)?;
        let known = asked.parts.headers.get(IF_NONE_MATCH).and_then(|known| known.to_str().ok()).map(str::to_owned);
        let made = move |reply: Reply| answer::reply(reply, known.as_deref());
        Ok(self.told(asked, (package, tell), self.by(asked.principal, None), made).await)
    }

    /// What may change something, or takes work.
    async fn change(&self, asked: &Asked<'_>, body: Value) -> Result<Response<Body>, Failed> {
        let package = self.package(asked)?;
        let (named, tell) = meant::changed(asked, body, &self.catalog, package)?;
        let approvals = self.approvals.clone();
        let made = move |mut reply: Reply| {
            if let Reply::Failed { report, .. } = &mut reply {
                question::found_at(report, &approvals);
            }
            answer::reply(reply, None)
        };
        Ok(self.told(asked, (package, tell), self.by(asked.principal, named), made).await)
    }

    /// Has something done, and its answer written and counted there.
    async fn told(
        &self,
        asked: &Asked<'_>,
        (package, tell): (usize, Tell),
        by: By,
        make: impl FnOnce(Reply) -> Response<Body> + Send + 'static,
    ) -> Response<Body> {
        let told = self.carry_out(package, tell, by, asked.parts, |reply, all| answer::counted(make(reply), all)).await;
        told.unwrap_or_else(|report| answer::failed(&report))
    }

    pub(super) fn by(&self, principal: &Principal, request: Option<hutch_model::ledger::Request>) -> By {
        By::of(principal, "http", request)
    }

    /// Has something done, and made of the reply what is answered: where it is carried out, as here everybody else would wait for what takes long.
    /// A caller whose connection breaks before has it stopped; one that has only said all gets the answer.
    pub(super) async fn carry_out<T: Send + 'static>(
        &self,
        package: usize,
        tell: Tell,
        by: By,
        parts: &Parts,
        make: impl FnOnce(Reply, &Answers<'_>) -> T + Send + 'static,
    ) -> Result<T, ErrorReport> {
        let mut taken = self.door.take_made(Ask { package, what: What::Told(tell) }, by, make)?;
        let broke = async {
            match parts.extensions.get::<Peer>() {
                Some(peer) => peer.broke().await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            made = &mut taken.reply => made.map_err(|_| reply::lost()),
            // It is dropped here, and so stopped.
            () = broke => Err(reply::cancelled()),
        }
    }

    fn package(&self, asked: &Asked<'_>) -> Result<usize, Refused> {
        let slug = asked.found.first().copied().unwrap_or_default();
        self.catalog.place(slug).ok_or_else(|| {
            let message = format!("no package {slug:?} is served");
            let report = ErrorReport::new(ErrorCode::NotFound, message);
            Refused(
                StatusCode::NOT_FOUND,
                Box::new(report.suggest(format!("packages are {}", self.slugs().join(", ")))),
            )
        })
    }

    pub(super) fn slugs(&self) -> Vec<String> {
        (0..self.about.len()).filter_map(|at| self.catalog.slug(at)).map(str::to_owned).collect()
    }
}

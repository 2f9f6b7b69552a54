//! Requests, judged and answered: who is it, is it allowed, what is asked for, and what came of it. Knows no sockets.

use super::access::{Guard, Refused, Token, check_scope};
use super::answer::{self, Body};
use super::events;
use super::openapi;
use super::page;
use super::request::{self, Failed, Query};
use super::routes::{Does, Found, Route, find};
use super::seen::Seen;
use super::settings::Bounds;
use crate::ask::{Ask, Tell, What};
use crate::catalog::Catalog;
use crate::door::{By, Door};
use crate::mcp::Endpoint;
use crate::question;
use crate::reply::Reply;
use crate::serving::{About, Documents};
use crate::telemetry::Telemetry;
use crate::who::Scope;
use http::header::IF_NONE_MATCH;
use http::request::Parts;
use http::{Method, Request, Response, StatusCode};
use http_body_util::Full;
use hutch_model::error_code::ErrorCode;
use hutch_model::error_report::ErrorReport;
use hutch_model::ledger::Caller;
use hyper::body::Incoming;
use opentelemetry::context::FutureExt;
use serde_json::{Value, json};
use std::sync::Arc;
use tokio::sync::{Semaphore, watch};

/// All that answers share.
pub(super) struct Site {
    pub(super) guard: Guard,
    pub(super) bounds: Bounds,
    pub(super) door: Arc<Door>,
    pub(super) catalog: Arc<Catalog>,
    pub(super) telemetry: Arc<Telemetry>,
    pub(super) documents: Documents,
    /// Where people find what waits for them.
    pub(super) approvals: String,
    /// What is said of each package, in the catalog's order.
    pub(super) about: Vec<About>,
    pub(super) mcp: Endpoint,
    /// Those who may still watch.
    pub(super) watchers: Arc<Semaphore>,
    /// Whether serving is to end.
    pub(super) ending: watch::Receiver<bool>,
}

/// What a request is about, once it is known who makes it.
struct Asked<'a> {
    parts: &'a Parts,
    /// The parts of the path that stand in place of those in braces.
    found: Vec<&'a str>,
    token: &'a Token,
}

impl Site {
    /// Answers a request. It always has an answer.
    pub(super) async fn answer(&self, request: Request<Incoming>) -> Response<Body> {
        let (parts, body) = request.into_parts();
        let seen = Seen::begin(self, &parts);
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
        let (route, found) = match find(&parts.method, parts.uri.path()) {
            Found::Route(route, found) => (route, found),
            other => {
                // Who is not known learns nothing about what there is.
                self.guard.bearer(&parts.headers)?;
                return match other {
                    Found::Methods(allowed) => Ok(answer::not_allowed(&allowed)),
                    _ if !page::methods(parts.uri.path()).is_empty() => {
                        Ok(answer::not_allowed(&page::methods(parts.uri.path())))
                    }
                    _ => Err(request::missing(parts.uri.path()).into()),
                };
            }
        };
        let Some(scope) = route.scope else { return Ok(self.open(route.does)) };
        let token = self.guard.bearer(&parts.headers)?;
        check_scope(token, scope)?;
        if !matches!(route.does, Does::Ledger | Does::Files | Does::File) {
            request::no_query(parts.uri.query())?;
        }
        match route.does {
            Does::Mcp => return self.mcp(parts, token, body).await,
            Does::Events => return Ok(events::answer(self, parts, token)?),
            _ => {}
        }
        let asked = Asked { parts, found, token };
        match route.method == Method::POST {
            true => {
                let body = request::body(&parts.headers, body, &self.bounds).await?;
                self.change(route, &asked, body).await
            }
            false => self.look(route, &asked).await,
        }
    }

    async fn mcp(&self, parts: &Parts, token: &Token, body: Incoming) -> Result<Response<Body>, Failed> {
        let bytes = request::bytes(body, &self.bounds).await?;
        let request = Request::from_parts(parts.clone(), Full::new(bytes));
        match self.mcp.answer(request, token.who()).await {
            Some(mut response) => {
                // It has ended, and there is no more to say; clients take 202 for a failure here.
                if parts.method == Method::DELETE && response.status() == StatusCode::ACCEPTED {
                    *response.status_mut() = StatusCode::NO_CONTENT;
                }
                Ok(response)
            }
            None => Err(ErrorReport::new(ErrorCode::ServerBusy, "there are too many sessions").into()),
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
    async fn look(&self, route: &Route, asked: &Asked<'_>) -> Result<Response<Body>, Failed> {
        let told = |command: &str, result: Value| {
            Ok(answer::json(StatusCode::OK, &(self.documents.envelope)(command, result)))
        };
        match route.does {
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
        let tell = match route.does {
            Does::Package => return told("meta", about.map(|about| about.meta.clone()).unwrap_or_default()),
            Does::Commands => return told("meta", about.map(|about| about.tools.clone()).unwrap_or_default()),
            Does::Ledger => {
                let (limit, offset) = request::page(asked.parts.uri.query())?;
                Tell::Ledger { limit, offset }
            }
            Does::Files => {
                let query = Query::of(asked.parts.uri.query(), &["at", "limit", "offset", "path"])?;
                let (limit, offset) = query.page()?;
                Tell::Files { at: query.at()?, path: query.text("path").map(str::to_owned), limit, offset }
            }
            Does::File => {
                let query = Query::of(asked.parts.uri.query(), &["at", "path"])?;
                let path =
                    query.text("path").ok_or_else(|| request::unfit("expected the parameter path".to_owned()))?;
                Tell::File { at: query.at()?, path: path.to_owned() }
            }
            Does::Entry => Tell::Entry(request::entry_name(asked.found.get(1).copied().unwrap_or_default())?),
            _ => Tell::State,
        };
        let reply = self.carry_out(package, tell, self.by(asked.token, None)).await;
        let known = asked.parts.headers.get(IF_NONE_MATCH).and_then(|known| known.to_str().ok());
        Ok(answer::reply(reply, known))
    }

    /// What may change something, or takes work.
    async fn change(&self, route: &Route, asked: &Asked<'_>, body: Value) -> Result<Response<Body>, Failed> {
        let package = self.package(asked)?;
        let named = request::name(asked.parts, asked.token.name(), &body)?;
        let tell = match route.does {
            Does::Run => Tell::Run(request::words(body, &self.catalog, package)?),
            Does::Plan => Tell::Plan(request::words(body, &self.catalog, package)?),
            Does::Undo => Tell::Undo(request::back(body)?),
            Does::Verify => Tell::Verify(request::verified(body)?),
            _ => {
                request::nothing(body)?;
                let plan = request::named_entry(asked.found.get(1).copied().unwrap_or_default())?;
                Tell::Apply { plan, confirmed: asked.token.may(Scope::Confirm) }
            }
        };
        let mut reply = self.carry_out(package, tell, self.by(asked.token, named)).await;
        if let Reply::Failed { report, .. } = &mut reply {
            question::found_at(report, &self.approvals);
        }
        Ok(answer::reply(reply, None))
    }

    pub(super) fn by(&self, token: &Token, request: Option<hutch_model::ledger::Request>) -> By {
        By { caller: Some(Caller::new(token.name(), "http")), lane: token.name().into(), request }
    }

    /// Has something done. A caller that goes away before the answer has it stopped.
    pub(super) async fn carry_out(&self, package: usize, tell: Tell, by: By) -> Reply {
        match self.door.take(Ask { package, what: What::Told(tell) }, by) {
            Ok(mut taken) => (&mut taken.reply).await.unwrap_or_else(|_| Reply::lost()),
            Err(report) => Reply::failed(report),
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

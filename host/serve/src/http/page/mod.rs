//! What a person sees in a browser: packages, their commands as forms, what a call would change before it is made, what was done, and what
//! waits for consent. Without any script: a page is an answer, and a button is a form.
//!
//! A person is known by a token as the password that the browser asks for (RFC 7617), because no script could send one, or by the cookie
//! for which the link was exchanged that the server's start printed. A browser sends either with every request to this origin, whoever
//! causes it; so what changes something is taken only from a page of this very origin, which no other can forge.

mod files;
mod parts;
mod past;
mod shape;
mod views;

use super::access::{Guard, Refused, check_scope};
use super::answer::{self, Body};
use super::request::{self, Query};
use super::site::Site;
use crate::room::Place;
use crate::who::{Principal, Scope};
use http::header::{
    CONTENT_DISPOSITION, CONTENT_SECURITY_POLICY, CONTENT_TYPE, HeaderValue, LOCATION, ORIGIN, REFERRER_POLICY,
    SET_COOKIE, WWW_AUTHENTICATE,
};
use http::request::Parts;
use http::{HeaderMap, Method, Response, StatusCode};
use hutch_model::error_code::ErrorCode;
use hutch_model::error_report::ErrorReport;
use hyper::body::Incoming;
use maud::{Markup, html};

/// What a page may do: look as its style says, and send forms to this server.
const ALLOWED: &str =
    "default-src 'none'; style-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'";
/// The most fields of a form.
const FIELDS_MAX: usize = 1000;

/// One page.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Page {
    Packages,
    Style,
    Enter,
    Leave,
    Package,
    Command,
    Plan,
    Apply,
    History,
    Undo,
    Entries,
    Entry,
    Verify,
    Files,
    File,
    Raw,
    Approvals,
    Decline,
}

/// All of them, with the scope that a token needs.
const PAGES: &[(Method, &str, Option<Scope>, Page)] = &[
    (Method::GET, "/", Some(Scope::Read), Page::Packages),
    (Method::GET, "/style.css", None, Page::Style),
    (Method::GET, "/enter", None, Page::Enter),
    (Method::POST, "/leave", Some(Scope::Read), Page::Leave),
    (Method::GET, "/packages/{slug}", Some(Scope::Read), Page::Package),
    (Method::GET, "/packages/{slug}/commands/{command}", Some(Scope::Read), Page::Command),
    (Method::POST, "/packages/{slug}/commands/{command}", Some(Scope::Run), Page::Plan),
    (Method::POST, "/packages/{slug}/plans/{plan}/apply", Some(Scope::Run), Page::Apply),
    (Method::POST, "/packages/{slug}/plans/{plan}/decline", Some(Scope::Confirm), Page::Decline),
    (Method::GET, "/packages/{slug}/history", Some(Scope::Read), Page::History),
    (Method::GET, "/packages/{slug}/entries", Some(Scope::Read), Page::Entries),
    (Method::GET, "/packages/{slug}/entries/{entry}", Some(Scope::Read), Page::Entry),
    (Method::POST, "/packages/{slug}/entries/{entry}/verify", Some(Scope::Read), Page::Verify),
    (Method::POST, "/packages/{slug}/entries/{entry}/undo", Some(Scope::Run), Page::Undo),
    (Method::GET, "/packages/{slug}/files", Some(Scope::Read), Page::Files),
    (Method::GET, "/packages/{slug}/file", Some(Scope::Read), Page::File),
    (Method::GET, "/packages/{slug}/raw", Some(Scope::Read), Page::Raw),
    (Method::GET, "/approvals", Some(Scope::Read), Page::Approvals),
];

/// The form of a page's path, if it is one.
pub(super) fn form(path: &str) -> Option<&'static str> {
    PAGES.iter().map(|(_, form, ..)| *form).find(|form| super::routes::fits(form, path).is_some())
}

/// The methods that a page's path knows; none if it is no page's.
pub(super) fn methods(path: &str) -> String {
    let fit = |form: &str| super::routes::fits(form, path).is_some();
    let mut known: Vec<&str> = Vec::new();
    for (method, ..) in PAGES.iter().filter(|(_, form, ..)| fit(form)) {
        known.push(method.as_str());
        if *method == Method::GET {
            known.push("HEAD");
        }
    }
    known.join(", ")
}

/// What a page comes to.
enum Shown {
    Page(Markup),
    /// What was sent is not carried out; the page says why.
    Refused(StatusCode, Markup),
    /// A file's bytes, to be kept and not to be looked at.
    Bytes(Vec<u8>),
    /// It is done, and there is another page about it.
    Elsewhere(String),
}

/// Answers, if the path is that of a page.
pub(super) async fn answer(
    site: &Site,
    parts: &Parts,
    body: Option<Incoming>,
) -> Result<Response<Body>, Option<Incoming>> {
    let is_head = parts.method == Method::HEAD;
    let fit = |(method, path, ..): &&(Method, &str, Option<Scope>, Page)| {
        (*method == parts.method || (is_head && *method == Method::GET))
            && super::routes::fits(path, parts.uri.path()).is_some()
    };
    let Some((_, path, scope, page)) = PAGES.iter().find(fit) else { return Err(body) };
    let found = super::routes::fits(path, parts.uri.path()).unwrap_or_default();
    if *page == Page::Style {
        return Ok(answer::whole(StatusCode::OK, "text/css; charset=utf-8", include_str!("style.css")));
    }
    if *page == Page::Enter {
        return Ok(enter(site, parts));
    }
    let shown = match allowed(&site.guard, parts, scope.unwrap_or(Scope::Read)) {
        Ok(_) if *page == Page::Leave => return Ok(leave(site, parts)),
        Ok(principal) => views::show(site, *page, &found, principal, parts, body).await,
        Err(refused) => Err(refused),
    };
    Ok(match shown {
        Ok(Shown::Page(markup)) => html(StatusCode::OK, markup),
        Ok(Shown::Refused(status, markup)) => html(status, markup),
        Ok(Shown::Bytes(bytes)) => {
            let mut response = answer::whole(StatusCode::OK, "application/octet-stream", bytes);
            response.headers_mut().insert(CONTENT_DISPOSITION, HeaderValue::from_static("attachment"));
            response
        }
        Ok(Shown::Elsewhere(path)) => elsewhere(&path),
        Err(refused) => refusal(&refused),
    })
}

fn elsewhere(path: &str) -> Response<Body> {
    let mut response = html(StatusCode::SEE_OTHER, shape::page("Done", &html! { a href=(path) { "Go on" } }));
    if let Ok(path) = HeaderValue::from_str(path) {
        response.headers_mut().insert(LOCATION, path);
    }
    response
}

fn refusal(Refused(status, report): &Refused) -> Response<Body> {
    let mut response = html(*status, shape::page("That did not work", &shape::failure(report)));
    response.extensions_mut().insert(report.code);
    if *status == StatusCode::UNAUTHORIZED {
        let asked = HeaderValue::from_static("Basic realm=\"hutch: a token as the password\", charset=\"UTF-8\"");
        response.headers_mut().insert(WWW_AUTHENTICATE, asked);
    }
    response
}

/// Signs in whoever comes with the code of the link, and leads to where no code stands in the address.
fn enter(site: &Site, parts: &Parts) -> Response<Body> {
    let link = site.guard.link.as_ref();
    // What only looks where the link leads uses nothing up.
    let cookie = link.filter(|_| parts.method == Method::GET).and_then(|link| {
        let query = Query::of(parts.uri.query(), &["code"]).ok()?;
        link.exchange(query.text("code")?, &(site.surroundings.seed)()?, (site.surroundings.now)())
    });
    let is_known = link.is_some_and(|link| link.session(&parts.headers).is_some());
    let mut response = if cookie.is_some() || is_known {
        elsewhere("/")
    } else {
        let message = "this link was used, its time is over, or it is none of this server's";
        let refused = Refused::new(StatusCode::FORBIDDEN, ErrorCode::PermissionDenied, message);
        refusal(&refused.suggest("go to the first page: the password is a token; or start the server again"))
    };
    if let Some(cookie) = cookie.and_then(|cookie| HeaderValue::from_str(&cookie).ok()) {
        response.headers_mut().insert(SET_COOKIE, cookie);
    }
    response.headers_mut().insert(REFERRER_POLICY, HeaderValue::from_static("no-referrer"));
    response
}

/// Ends the session of whoever was signed in by the link. What a browser keeps as a password, nobody else can have it forget.
fn leave(site: &Site, parts: &Parts) -> Response<Body> {
    let cookie = site.guard.link.as_ref().and_then(|link| link.end(&parts.headers));
    let (title, told) = match cookie {
        Some(_) => {
            ("Signed out", "To come back, give a token as the password, or start the server again for another link.")
        }
        None => ("Not signed out", "You came with a password, which the browser keeps until it is closed."),
    };
    let mut response = html(StatusCode::OK, shape::page(title, &html! { p { (told) } }));
    if let Some(cookie) = cookie.and_then(|cookie| HeaderValue::from_str(&cookie).ok()) {
        response.headers_mut().insert(SET_COOKIE, cookie);
    }
    response
}

/// Whose request it is, if it may be made.
fn allowed<'g>(guard: &'g Guard, parts: &Parts, scope: Scope) -> Result<&'g Principal, Refused> {
    let headers = &parts.headers;
    let principal = guard.person(headers)?;
    check_scope(principal, scope)?;
    // That the origin is ours was looked at; here it must be there.
    let is_safe = parts.method == Method::GET || parts.method == Method::HEAD;
    let is_ours =
        headers.contains_key(ORIGIN) || headers.get("sec-fetch-site").is_some_and(|site| site == "same-origin");
    match is_safe || is_ours {
        true => Ok(principal),
        false => {
            let message = "the request does not say that it comes from a page of this server";
            Err(Refused::new(StatusCode::FORBIDDEN, ErrorCode::PermissionDenied, message))
        }
    }
}

fn html(status: StatusCode, markup: Markup) -> Response<Body> {
    let mut response = answer::whole(status, "text/html; charset=utf-8", markup.into_string());
    response.headers_mut().insert(CONTENT_SECURITY_POLICY, HeaderValue::from_static(ALLOWED));
    // A browser that tells nobody where a form stands calls its origin null.
    response.headers_mut().insert(REFERRER_POLICY, HeaderValue::from_static("same-origin"));
    response
}

/// What a form says.
struct Fields {
    pairs: Vec<(String, String)>,
    /// What is in the file that was chosen for standard input, if one was.
    file: Option<Vec<u8>>,
}

/// The fields of a form, and the room that they take.
async fn fields(
    site: &Site,
    headers: &HeaderMap,
    body: Option<Incoming>,
    principal: &Principal,
) -> Result<(Fields, Place), Refused> {
    let form = headers.get(CONTENT_TYPE).and_then(|one| one.to_str().ok()).unwrap_or_default();
    let is_plain = form.starts_with("application/x-www-form-urlencoded");
    let Some(body) = body.filter(|_| is_plain || form.starts_with("multipart/form-data")) else {
        return Err(Refused::invalid(StatusCode::UNSUPPORTED_MEDIA_TYPE, "expected the fields of a form"));
    };
    let place = site.place_of(&body, principal)?;
    let bytes = request::bytes(body, &site.bounds).await?;
    let fields = if is_plain { plain(&bytes) } else { with_file(form, &bytes) };
    match fields {
        Some(fields) => Ok((fields, place)),
        None => {
            let message = format!("expected a form as browsers send it, of at most {FIELDS_MAX} fields");
            Err(Refused::invalid(StatusCode::BAD_REQUEST, message))
        }
    }
}

fn plain(bytes: &[u8]) -> Option<Fields> {
    let pairs: Vec<(String, String)> = form_urlencoded::parse(bytes).into_owned().take(FIELDS_MAX + 1).collect();
    (pairs.len() <= FIELDS_MAX).then_some(Fields { pairs, file: None })
}

fn with_file(form: &str, bytes: &[u8]) -> Option<Fields> {
    let mut fields = Fields { pairs: Vec::new(), file: None };
    for part in parts::of(form, bytes, FIELDS_MAX)? {
        match part.file {
            None => {
                let text = std::str::from_utf8(part.content).ok()?;
                fields.pairs.push((part.name.to_owned(), text.to_owned()));
            }
            // None was chosen.
            Some("") => {}
            Some(_) if part.name == shape::FILE && fields.file.is_none() => fields.file = Some(part.content.to_vec()),
            Some(_) => return None,
        }
    }
    Some(fields)
}

/// A failure of what was asked for.
fn failed(report: ErrorReport) -> Refused {
    Refused(answer::status(report.code), Box::new(report))
}

//! What a request asks for, before anything is done about it: who makes it, which route it means, what stands in it. Knows no door.

use super::access::{Guard, check_scope};
use super::page;
use super::request::{self, Failed, Query};
use super::routes::{Does, Found, Route, find};
use crate::ask::Tell;
use crate::catalog::Catalog;
use crate::who::{Principal, Scope};
use http::request::Parts;
use hutch_model::ledger::Request;
use serde_json::Value;

/// What a request is about, once it is known who makes it.
pub(super) struct Asked<'a> {
    pub(super) parts: &'a Parts,
    pub(super) route: &'static Route,
    /// The parts of the path that stand in place of those in braces.
    pub(super) found: Vec<&'a str>,
    pub(super) principal: &'a Principal,
}

/// Where a request leads.
pub(super) enum Way<'a> {
    /// To what everybody may know.
    Open(Does),
    /// To something that has these methods and not its own.
    Methods(String),
    /// To what its token is good for.
    Asked(Asked<'a>),
}

/// Finds out where a request leads. Who is not known learns nothing about what there is.
pub(super) fn way<'a>(guard: &'a Guard, parts: &'a Parts) -> Result<Way<'a>, Failed> {
    let path = parts.uri.path();
    let (route, found) = match find(&parts.method, path) {
        Found::Route(route, found) => (route, found),
        other => {
            guard.bearer(&parts.headers)?;
            let of_page = page::methods(path);
            return match other {
                Found::Methods(allowed) => Ok(Way::Methods(allowed)),
                _ if !of_page.is_empty() => Ok(Way::Methods(of_page)),
                _ => Err(request::missing(path).into()),
            };
        }
    };
    let Some(scope) = route.scope else { return Ok(Way::Open(route.does)) };
    let principal = guard.bearer(&parts.headers)?;
    check_scope(principal, scope)?;
    if !matches!(route.does, Does::Ledger | Does::Files | Does::File) {
        request::no_query(parts.uri.query())?;
    }
    Ok(Way::Asked(Asked { parts, route, found, principal }))
}

/// What is to be looked at.
pub(super) fn looked(asked: &Asked<'_>) -> Result<Tell, Failed> {
    let query = asked.parts.uri.query();
    Ok(match asked.route.does {
        Does::Ledger => {
            let (limit, offset) = request::page(query)?;
            Tell::Ledger { limit, offset }
        }
        Does::Files => {
            let query = Query::of(query, &["at", "limit", "offset", "path"])?;
            let (limit, offset) = query.page()?;
            Tell::Files { at: query.at()?, path: query.text("path").map(str::to_owned), limit, offset }
        }
        Does::File => {
            let query = Query::of(query, &["at", "path"])?;
            let path = query.text("path").ok_or_else(|| request::unfit("expected the parameter path".to_owned()))?;
            Tell::File { at: query.at()?, path: path.to_owned() }
        }
        Does::Entry => Tell::Entry(request::entry_name(asked.found.get(1).copied().unwrap_or_default())?),
        _ => Tell::State,
    })
}

/// What is to be done with a package, and the name that the request has.
pub(super) fn changed(
    asked: &Asked<'_>,
    body: Value,
    catalog: &Catalog,
    package: usize,
) -> Result<(Option<Request>, Tell), Failed> {
    let named = request::name(asked.parts, asked.principal.name(), &body)?;
    let tell = match asked.route.does {
        Does::Run => Tell::Run(request::words(body, catalog, package)?),
        Does::Plan => Tell::Plan(request::words(body, catalog, package)?),
        Does::Undo => Tell::Undo(request::back(body)?),
        Does::Verify => Tell::Verify(request::verified(body)?),
        _ => {
            request::nothing(body)?;
            let plan = request::named_entry(asked.found.get(1).copied().unwrap_or_default())?;
            Tell::Apply { plan, confirmed: asked.principal.may(Scope::Confirm) }
        }
    };
    Ok((named, tell))
}

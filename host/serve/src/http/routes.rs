//! All that can be asked for over HTTP, as one table: what answers requests and what describes them are both made of it.

use crate::who::Scope;
use http::Method;

/// What a route does.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Does {
    Health,
    Ready,
    Describe,
    Packages,
    Package,
    Commands,
    Run,
    Plan,
    Apply,
    Undo,
    Verify,
    Ledger,
    Entry,
    State,
    Files,
    File,
    Server,
    Events,
    Mcp,
}

/// One thing that can be asked for.
pub(super) struct Route {
    pub(super) method: Method,
    /// Parts in braces stand for one part of any name.
    pub(super) path: &'static str,
    /// What a token must be good for; none where nobody need be known.
    pub(super) scope: Option<Scope>,
    pub(super) does: Does,
    /// The name that clients in other languages give it.
    pub(super) id: &'static str,
    pub(super) summary: &'static str,
    /// The command of the program that answers alike, if one does.
    pub(super) command: Option<&'static str>,
}

macro_rules! routes {
    ($($method:ident $path:literal $scope:expr, $does:ident $id:literal $command:expr, $summary:literal;)*) => {
        /// All of them.
        pub(super) const ROUTES: &[Route] = &[$(Route {
            method: Method::$method, path: $path, scope: $scope, does: Does::$does, id: $id, summary: $summary, command: $command,
        }),*];
    };
}

const READ: Option<Scope> = Some(Scope::Read);
const RUN: Option<Scope> = Some(Scope::Run);

routes! {
    GET "/healthz" None, Health "health" None, "Whether the server answers";
    GET "/readyz" None, Ready "ready" None, "Whether the server takes calls";
    GET "/openapi.json" READ, Describe "describe" None, "This description";
    GET "/api/packages" READ, Packages "list_packages" Some("catalog"), "The packages that are served";
    GET "/api/packages/{slug}" READ, Package "show_package" Some("meta"), "A package and its commands";
    GET "/api/packages/{slug}/commands" READ, Commands "list_commands" Some("meta"), "The commands of a package as tools, with their schemas";
    POST "/api/packages/{slug}/run" RUN, Run "run" Some("run"), "Run a command";
    POST "/api/packages/{slug}/plan" RUN, Plan "plan" Some("plan"), "Show what a run would do, without doing it";
    POST "/api/packages/{slug}/apply/{plan}" RUN, Apply "apply" Some("apply"), "Carry out a plan, if nothing changed since";
    POST "/api/packages/{slug}/undo" RUN, Undo "undo" Some("undo"), "Take back changes, as a new entry";
    POST "/api/packages/{slug}/verify" READ, Verify "verify" Some("verify"), "Run a recorded call again and compare every byte";
    GET "/api/packages/{slug}/ledger" READ, Ledger "list_entries" Some("ledger list"), "What was asked for and what came of it, the last first";
    GET "/api/packages/{slug}/entries/{entry}" READ, Entry "show_entry" Some("ledger show"), "An entry with its input and output";
    GET "/api/packages/{slug}/state" READ, State "show_state" Some("state diff"), "The state, by digest; its ETag changes with it";
    GET "/api/packages/{slug}/files" READ, Files "list_files" Some("state cat"), "What a folder of the state holds, now or as an entry left it";
    GET "/api/packages/{slug}/file" READ, File "show_file" Some("state cat"), "A file of the state, now or as an entry left it";
    GET "/api/events" READ, Events "watch_entries" None, "Entries of all ledgers as they come, as server-sent events";
    POST "/mcp" READ, Mcp "mcp" None, "The Model Context Protocol (streamable HTTP)";
    GET "/mcp" READ, Mcp "mcp_stream" None, "What the server has to say in a session of that protocol";
    DELETE "/mcp" READ, Mcp "mcp_end" None, "The end of a session of that protocol";
    GET "/api/server" Some(Scope::Admin), Server "show_server" None, "What the server is and how much it has to do";
}

/// The form of a path, if it is one of these.
pub(super) fn form(path: &str) -> Option<&'static str> {
    ROUTES.iter().map(|route| route.path).find(|form| fits(form, path).is_some())
}

/// Where a path leads.
pub(super) enum Found<'p> {
    /// To this, with the parts that stand in place of those in braces.
    Route(&'static Route, Vec<&'p str>),
    /// To something that has other methods.
    Methods(String),
    Nothing,
}

/// Finds what is meant. A path is taken as it is: nothing in it is decoded, and nothing leads upwards.
pub(super) fn find<'p>(method: &Method, path: &'p str) -> Found<'p> {
    let mut others: Vec<&str> = Vec::new();
    for route in ROUTES {
        let Some(parts) = fits(route.path, path) else { continue };
        // A server answers to HEAD as to GET; the body is left out on the way.
        if route.method == *method || (route.method == Method::GET && *method == Method::HEAD) {
            return Found::Route(route, parts);
        }
        others.push(route.method.as_str());
        if route.method == Method::GET {
            others.push("HEAD");
        }
    }
    if others.is_empty() { Found::Nothing } else { Found::Methods(others.join(", ")) }
}

/// The parts of a path that stand in place of those in braces, if it is of that form.
pub(super) fn fits<'p>(known: &str, path: &'p str) -> Option<Vec<&'p str>> {
    let (mut known, mut given, mut parts) = (known.split('/'), path.split('/'), Vec::new());
    loop {
        match (known.next(), given.next()) {
            (None, None) => return Some(parts),
            (Some(known), Some(part)) if known.starts_with('{') && !part.is_empty() => parts.push(part),
            (Some(known), Some(part)) if known == part => {}
            _ => return None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_is_what_it_looks_like() {
        let found = |method: &Method, path: &str| match find(method, path) {
            Found::Route(route, parts) => format!("{:?} {}", route.does, parts.join(" ")),
            Found::Methods(methods) => methods,
            Found::Nothing => "nothing".to_owned(),
        };
        for (method, path, expect) in [
            (Method::GET, "/api/packages", "Packages "),
            (Method::HEAD, "/api/packages", "Packages "),
            (Method::GET, "/api/packages/todo", "Package todo"),
            (Method::POST, "/api/packages/todo/apply/0123", "Apply todo 0123"),
            (Method::GET, "/api/packages/todo/run", "POST"),
            (Method::DELETE, "/api/packages", "GET, HEAD"),
            (Method::GET, "/api/packages/", "nothing"),
            (Method::GET, "//api/packages", "nothing"),
            (Method::GET, "/api/packages//run", "nothing"),
            (Method::GET, "/api/packages/../packages", "nothing"),
            (Method::GET, "/API/packages", "nothing"),
            (Method::GET, "", "nothing"),
            (Method::GET, "/api/packages/%2e%2e", "Package %2e%2e"),
        ] {
            assert_eq!(found(&method, path), expect, "{method} {path}");
        }
    }

    #[test]
    fn every_route_has_a_name_of_its_own() {
        let mut ids: Vec<&str> = ROUTES.iter().map(|route| route.id).collect();
        ids.sort_unstable();
        ids.dedup();
        assert_eq!(ids.len(), ROUTES.len());
    }
}

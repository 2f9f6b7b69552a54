//! Packages over HTTP/1.1: what the command line does, with the same documents and the same codes, for callers that bear a token.
//!
//! A request goes through `site`: whose name it uses and whose token it bears (`access`), which route it means (`routes`, of which the
//! description in `openapi` is made too), what stands in it (`request`), all of that together (`meant`), and then through the door as
//! everything else does. What came of it is put into an answer (`answer`). `listen` keeps connections (`connection`), and their
//! bounds.

mod access;
mod answer;
mod connection;
mod events;
#[cfg(feature = "fuzzing")]
pub mod judge;
mod link;
mod listen;
mod meant;
mod openapi;
mod page;
mod request;
mod routes;
mod seen;
mod settings;
mod site;

pub use crate::who::Scope;
pub use access::Token;
pub use settings::{Bounds, Http};

use crate::catalog::Catalog;
use crate::door;
use crate::mcp::Endpoint;
use crate::room::Room;
use crate::serving::{ServeError, Serving};
use access::Guard;
use serde_json::Value;
use site::Site;
use std::net::SocketAddr;
use std::sync::Arc;
use tokio::sync::watch;

/// The most who watch ledgers at once.
const WATCHERS_MAX: usize = 64;
/// The most of those with one token.
const WATCHERS_EACH_MAX: usize = 16;

/// The most bytes of bodies that are read, or wait for what they ask for, in longest bodies (`--body-max`).
const BODIES_MAX: usize = 16;

/// The description of what can be asked for, in the form of OpenAPI 3.1.
pub fn described() -> Value {
    openapi::document()
}

/// Serves until the process is told to end (SIGTERM, SIGINT). What was begun may then end within its time, and is stopped after it.
/// `ready` is told where callers are listened for, and the link that signs a person in, if there is one. It is a secret, and written nowhere
/// else.
///
/// # Errors
/// The address can't be listened at; the system gives no runtime.
pub fn serve(
    serving: &Serving,
    http: Http,
    ready: impl FnOnce(SocketAddr, Option<&str>) -> Result<(), ServeError>,
) -> Result<(), ServeError> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.map_err(|error| ServeError::System(format!("the system gives no runtime: {error}")))?;
    let Http { listen, tokens, link, origins, bounds } = http;
    let catalog = Arc::new(Catalog::of(serving));
    let listener = runtime.block_on(listen::bind(listen))?;
    serving.enclose()?;
    let ended = door::open(serving, |door| {
        runtime.block_on(async {
            let here = listener.local_addr().map_err(|error| ServeError::System(error.to_string()))?;
            let (end, ending) = watch::channel(false);
            let base = origins.first().cloned().unwrap_or_else(|| format!("http://{here}"));
            let approvals = format!("{base}/approvals");
            let (mut guard, surroundings) = (Guard::new(tokens, here, &origins), serving.surroundings);
            let code = if link { (surroundings.seed)() } else { None };
            let link = code.and_then(|code| guard.open_link(&base, here.port(), &code, (surroundings.now)()));
            let bodies_max = bounds.body_bytes_max.saturating_mul(BODIES_MAX);
            let site = Site {
                guard,
                surroundings,
                bounds,
                door: Arc::clone(&door),
                mcp: Endpoint::new(
                    serving,
                    Arc::clone(&door),
                    Arc::clone(&catalog),
                    &approvals,
                    bounds.body_bytes_max,
                )?,
                approvals,
                catalog,
                telemetry: Arc::clone(&serving.telemetry),
                watchers: Room::new(WATCHERS_EACH_MAX, WATCHERS_MAX),
                bodies: Room::new(bodies_max, bodies_max),
                about: serving.packages.iter().map(|served| served.about.clone()).collect(),
                ending,
            };
            let ends = listen::Ends::begin()?;
            ready(here, link.as_deref())?;
            listen::listen(listener, Arc::new(site), &end, ends).await;
            Ok(())
        })
    });
    serving.telemetry.end();
    ended
}

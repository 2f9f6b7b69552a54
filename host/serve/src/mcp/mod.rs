//! The Model Context Protocol over standard input and output, by the official library: both lifecycles, the one that begins with
//! `initialize` (2025-11-25 and before) and the one in which every request says what it needs (2026-07-28).

mod confirm;
mod handler;
mod skills;
mod transport;

use crate::catalog::Catalog;
use crate::door;
use crate::serving::{ServeError, Serving};
use handler::{Desk, Handler};
use rmcp::ServiceExt;
use rmcp::service::ServerInitializeError;
use rmcp::transport::async_rw::AsyncRwTransport;
use rmcp::transport::io::stdio_pipes;
use std::sync::Arc;
use transport::Guarded;

/// The most bytes of a message. A longer one is read past, without an answer: nobody knows whose it is.
const MESSAGE_BYTES_MAX: usize = 4 << 20;

/// Serves one client on standard input and output until it closes the one or the other. What is under way then may end within a
/// second, and is stopped after it.
///
/// # Errors
/// See [`ServeError`].
pub fn stdio(serving: &Serving) -> Result<(), ServeError> {
    let catalog = Catalog::of(serving);
    let skills = skills::Skills::of(&serving.packages)?;
    let key =
        (serving.surroundings.seed)().ok_or_else(|| ServeError::System("the system gives no randomness".to_owned()))?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.map_err(|error| ServeError::System(format!("the system gives no runtime: {error}")))?;
    door::open(serving, |door| {
        let desk = Arc::new(Desk::new(door, catalog, skills, key)?);
        let ended = runtime.block_on(serve(&desk));
        // Also where the client broke off without closing anything.
        desk.close();
        // What still waits for input waits for ever.
        runtime.shutdown_background();
        ended
    })
}

async fn serve(desk: &Arc<Desk>) -> Result<(), ServeError> {
    let (read, write) = stdio_pipes();
    let messages = AsyncRwTransport::new_server(read, write).with_max_line_length(MESSAGE_BYTES_MAX);
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

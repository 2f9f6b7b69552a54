//! Runs a guest, the same everywhere: natively, and in whatever the engine's interpreter is compiled for. Its door is [`run_in`].
//!
//! Code comes compiled, under [`settings`]; [`Code::link`] gives it a [`World`](hutch_world::World) through the interfaces of
//! WASI 0.2 (`wasi`) or the functions of WASI 0.1 (`wasi_0_1`), [`run_in`] lets it run, and `ending` says how it ended. Policy about what
//! a guest sees lives in `hutch_world`; the modules below `wasi` and `wasi_0_1` translate.
//!
//! It knows no files, threads, clocks or processes of the host, no compiler's caches and no deadline's keeper: those are `hutch-sandbox`'s.
//! So it builds for a browser too.
#![cfg_attr(test, allow(clippy::disallowed_methods, reason = "tests reach for what they prepare"))]

mod ending;
mod guest;
mod limiter;
mod linked;
mod run;
pub mod settings;
mod wasi;
mod wasi_0_1;

pub use ending::{Stopped, classify};
pub use guest::Guest;
pub use linked::{Code, Linked};
pub use run::{Fault, new_store, run_in};
pub use wasi::DENIED_SIZES_MAX;

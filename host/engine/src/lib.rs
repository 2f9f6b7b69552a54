//! Runs a guest, the same everywhere: natively, and in whatever the engine's interpreter is compiled for. Its door is [`run_in`].
//!
//! Code is made of a component by [`compile`], under [`settings`], where there is a compiler, and may be carried to where there is none, as
//! an [artifact](read_artifact). [`Code::link`] gives it a [`World`](hutch_world::World) through the interfaces of
//! WASI 0.2 (`wasi`) or the functions of WASI 0.1 (`wasi_0_1`), [`run_in`] lets it run, and `ending` says how it ended. Policy about what
//! a guest sees lives in `hutch_world`; the modules below `wasi` and `wasi_0_1` translate.
//!
//! It knows no files, threads, clocks or processes of the host, no compiler's caches and no deadline's keeper: those are `hutch-sandbox`'s.
//! So it builds for a browser too: what runs code (the feature `runtime`), and, apart from that, what makes it (`compiler`).
#![cfg_attr(test, allow(clippy::disallowed_methods, reason = "tests reach for what they prepare"))]

mod artifact;
#[cfg(feature = "compiler")]
mod compile;
#[cfg(feature = "runtime")]
mod ending;
mod feature;
#[cfg(feature = "runtime")]
mod guest;
#[cfg(feature = "compiler")]
mod interface;
#[cfg(feature = "runtime")]
mod limiter;
#[cfg(feature = "runtime")]
mod linked;
mod load_error;
#[cfg(feature = "compiler")]
mod one_nan;
mod rules;
#[cfg(feature = "runtime")]
mod run;
pub mod settings;
#[cfg(feature = "compiler")]
mod shape;
#[cfg(feature = "runtime")]
mod wasi;
#[cfg(feature = "runtime")]
mod wasi_0_1;

#[cfg(feature = "compiler")]
pub use artifact::written_artifact;
pub use artifact::{ArtifactHeader, artifact_header, read_artifact};
#[cfg(feature = "compiler")]
pub use compile::{Compiled, compile, compiled_in_place_of};
#[cfg(feature = "runtime")]
pub use ending::{Stopped, classify};
pub use feature::Feature;
#[cfg(feature = "runtime")]
pub use guest::Guest;
#[cfg(feature = "compiler")]
pub use interface::{Interface, interface};
#[cfg(feature = "runtime")]
pub use linked::{Code, Linked};
pub use load_error::LoadError;
#[cfg(feature = "runtime")]
pub use run::{Fault, new_store, run_in};
#[cfg(feature = "compiler")]
pub use shape::CAPS;
#[cfg(feature = "runtime")]
pub use wasi::DENIED_SIZES_MAX;

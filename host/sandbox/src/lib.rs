//! Runs components. The only crate that names wasmtime; its door is [`run`].
//!
//! In order: [`Sandbox::load`] has the component compiled, or finds it compiled (`program`, `compile`, `cache`); [`run`] gives it a
//! [`World`](hutch_world::World) through the interfaces of WASI 0.2 (`wasi`) or the functions of WASI 0.1 (`wasi_0_1`), lets it run (`run`) on a thread of its own under a
//! deadline (`deadline`), and says how it ended (`ending`). Policy about what a guest sees lives in `hutch_world`, policy about engines in
//! `engine`; the modules below `wasi` and `wasi_0_1` translate and decide nothing about files.
//!
//! It knows no package, no store and no command line.
#![cfg_attr(test, allow(clippy::disallowed_methods, reason = "tests reach for what they prepare"))]

mod cache;
mod compile;
mod deadline;
mod describe;
mod ending;
mod engine;
mod guest;
mod key;
mod limiter;
mod linked;
mod program;
mod run;
mod shape;
mod verdict;
mod wasi;
mod wasi_0_1;

pub use cache::ArtifactCache;
pub use compile::{CHILD_HEADER_BYTES, Compile, compile_as_child, compile_from_stdin};
pub use describe::{DescribeError, describe};
pub use engine::profile;
pub use program::{LoadError, NOTICED_AFTER, Program, Sandbox, Watch, Work};
pub use run::{Run, RunError, run};
pub use verdict::SealKey;

//! Runs guests on this machine; its door is [`run`].
//!
//! In order: [`Sandbox::load`] has the component compiled, or finds it compiled (`program`, `compile`, `cache`); [`run`] lets
//! `hutch_engine` run it on a thread of its own under a deadline (`deadline`).
//!
//! It knows no package, no store and no command line.
#![cfg_attr(test, allow(clippy::disallowed_methods, reason = "tests reach for what they prepare"))]

mod cache;
mod compile;
mod deadline;
mod describe;
mod key;
mod program;
mod run;
mod shape;
mod shelf;
mod verdict;

pub use cache::ArtifactCache;
pub use compile::{CHILD_HEADER_BYTES, Compile, compile_as_child, compile_from_stdin};
pub use describe::{DescribeError, describe};
pub use hutch_engine::settings::{Backend, Target, build_key, profile};
pub use hutch_world::NAME_MEMORY_BYTES;
pub use program::{LoadError, NOTICED_AFTER, Program, Sandbox, Watch, Work};
pub use run::{Run, RunError, run};
pub use verdict::SealKey;

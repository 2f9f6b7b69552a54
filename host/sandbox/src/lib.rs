//! Runs guests on this machine; its door is [`run`].
//!
//! In order: [`Sandbox::load`] has the component compiled, or finds it compiled (`program`, `compile`, `cache`); [`run`] lets
//! `hutch_engine` run it on a thread of its size (`threads`) under a deadline (`deadline`).
//!
//! Without the feature `machine` it takes compiled code from whoever has it (`artifact`, `given`, `bare`); without `threads` too it runs it
//! where the caller is (`here`): so it builds for a browser.
//!
//! It knows no package, no store and no command line.
#![cfg_attr(test, allow(clippy::disallowed_methods, reason = "tests reach for what they prepare"))]

mod artifact;
#[cfg(feature = "machine")]
mod cache;
#[cfg(feature = "machine")]
mod compile;
#[cfg_attr(not(feature = "threads"), path = "here.rs")]
mod deadline;
mod describe;
mod given;
#[cfg(feature = "machine")]
mod interface;
#[cfg(feature = "machine")]
mod key;
mod load_error;
#[cfg_attr(not(feature = "machine"), path = "bare.rs")]
mod program;
#[cfg(feature = "machine")]
pub mod ring;
mod run;
#[cfg(feature = "machine")]
mod shape;
#[cfg(feature = "machine")]
mod shelf;
#[cfg(feature = "threads")]
mod stop;
#[cfg(feature = "threads")]
mod threads;
#[cfg(feature = "machine")]
mod verdict;

pub use artifact::{ArtifactHeader, artifact_header, read_artifact};
#[cfg(feature = "machine")]
pub use cache::ArtifactCache;
#[cfg(feature = "machine")]
pub use compile::{CHILD_HEADER_BYTES, Compile, compile_as_child, compile_from_stdin};
#[cfg(feature = "threads")]
pub use deadline::{NOTICED_AFTER, Watch, Work};
pub use describe::{DescribeError, describe};
pub use hutch_engine::settings::{Backend, profile};
#[cfg(feature = "machine")]
pub use hutch_engine::settings::{Target, build_key};
pub use hutch_world::NAME_MEMORY_BYTES;
#[cfg(feature = "machine")]
pub use interface::{Interface, interface};
pub use load_error::LoadError;
pub use program::{Program, Sandbox};
pub use run::{Run, RunError, run};
#[cfg(feature = "threads")]
pub use stop::Stop;
#[cfg(feature = "machine")]
pub use verdict::SealKey;

//! Runs guests on this machine; its door is [`run`].
//!
//! In order: [`Sandbox::load`] has the component compiled, or finds it compiled (`program`, `compile`, `cache`); [`run`] lets
//! `hutch_engine` run it on a thread of its size (`threads`) under a deadline (`deadline`).
//!
//! Without the feature `machine` it takes compiled code from whoever has it (`given`, `bare`); without `threads` too it runs it
//! where the caller is (`here`): so it builds for a browser.
//!
//! It knows no package, no store and no command line.
#![cfg_attr(test, allow(clippy::disallowed_methods, reason = "tests reach for what they prepare"))]

#[cfg(feature = "machine")]
mod cache;
#[cfg(feature = "machine")]
mod compile;
#[cfg_attr(not(feature = "threads"), path = "here.rs")]
mod deadline;
mod describe;
mod given;
#[cfg(feature = "machine")]
mod key;
mod loaded;
#[cfg(all(feature = "machine", target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64")))]
mod memories;
#[cfg(all(feature = "machine", not(all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64")))))]
mod memories {
    //! Where nothing is known of how memory is given back, the system is asked for it each time.
    pub(crate) fn shared() -> Option<std::sync::Arc<dyn wasmtime::MemoryCreator>> {
        None
    }
}
#[cfg_attr(not(feature = "machine"), path = "bare.rs")]
mod program;
#[cfg(feature = "machine")]
pub mod ring;
mod run;
#[cfg(feature = "machine")]
mod shelf;
#[cfg(feature = "machine")]
mod signals;
#[cfg(feature = "threads")]
mod stop;
#[cfg(feature = "threads")]
mod threads;
#[cfg(feature = "machine")]
mod verdict;

#[cfg(feature = "machine")]
pub use cache::ArtifactCache;
#[cfg(feature = "machine")]
pub use compile::{ANSWER_BYTES_MAX, CHILD_HEADER_BYTES, Compile, compile_as_child, compile_from_stdin};
#[cfg(feature = "threads")]
pub use deadline::{NOTICED_AFTER, Watch, Work};
pub use describe::DescribeError;
pub use hutch_engine::settings::{Backend, profile};
#[cfg(feature = "machine")]
pub use hutch_engine::settings::{Target, build_key};
pub use hutch_engine::{ArtifactHeader, Fault, Feature, LoadError, artifact_header, read_artifact};
#[cfg(feature = "machine")]
pub use hutch_engine::{Interface, compiled_in_place_of, interface};
pub use hutch_world::NAME_MEMORY_BYTES;
pub use loaded::Program;
pub use program::Sandbox;
#[cfg(feature = "machine")]
pub use program::target_named;
pub use run::{Run, RunError, run};
#[cfg(feature = "machine")]
pub use signals::outlive_file_limits;
#[cfg(feature = "threads")]
pub use stop::Stop;
#[cfg(feature = "machine")]
pub use verdict::SealKey;

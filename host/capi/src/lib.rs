//! The host inside other programs: what `include/hutch.h` declares, for C and for everything that can call C.
//!
//! A [`Library`] takes a request as JSON and answers as the command line does, by the same documents. `door` is the C interface to it, and
//! the only place with `unsafe`; `python/` is a package for Python over that. Requests come in by `request`, `carry` carries them
//! out, `deadline` stops those that take too long, `loading` has components made ready, and what is taken from the machine is in `surroundings`.
//!
//! It encloses nothing: rings are around a whole process, and this one is its embedder's. It reads no environment.
#![cfg_attr(test, allow(clippy::disallowed_methods, reason = "tests reach for what they prepare"))]

#[cfg(test)]
mod breaking;
mod carry;
mod deadline;
mod door;
mod library;
mod loading;
mod options;
mod request;
mod surroundings;

pub use library::{Answer, Library};

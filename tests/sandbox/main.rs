//! What guests come to in the sandbox, in one program: its tests share what is compiled, and one that is long leaves no processor idle.
#![allow(clippy::disallowed_methods, reason = "tests reach for what they prepare")]
#![allow(clippy::expect_used, clippy::panic, reason = "a test that cannot prepare its data has failed")]

mod determinism;
mod endings;
mod generated;
mod nesting;
mod support;

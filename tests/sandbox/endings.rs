//! How guests end: tables of one guest a row, each with the one ending it must have. Whatever a guest does, its end is an
//! outcome, nothing of a bad end's state is left, and this process is alive to say so.
#![allow(clippy::disallowed_methods, reason = "tests reach for what they prepare")]
#![allow(clippy::expect_used, clippy::panic, reason = "a test that cannot prepare its data has failed")]

#[path = "endings/any_call.rs"]
mod any_call;
#[path = "endings/bytes.rs"]
mod bytes;
#[path = "endings/features.rs"]
mod features;
#[path = "endings/fuel.rs"]
mod fuel;
#[path = "endings/imports.rs"]
mod imports;
#[path = "endings/instructions.rs"]
mod instructions;
#[path = "endings/interfaces.rs"]
mod interfaces;
#[path = "endings/probe.rs"]
mod probe;
#[path = "endings/rules.rs"]
mod rules;
mod support;
#[path = "endings/together.rs"]
mod together;
#[path = "endings/wasi_0_1.rs"]
mod wasi_0_1;
#[path = "endings/wasi_0_1_paths.rs"]
mod wasi_0_1_paths;

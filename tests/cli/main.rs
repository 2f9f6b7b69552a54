//! The `hutch` program from outside: what a person or another program sees of it, and what it leaves behind. Every test has a
//! folder of its own for home, state and whatever it needs, and starts the program with an empty environment.

#![allow(clippy::zero_repeat_side_effects, clippy::cloned_ref_to_slice_refs, reason = "the plain form reads better")]
#![allow(clippy::disallowed_methods, reason = "tests reach for what they prepare")]
#![allow(
    clippy::expect_used,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a test that cannot prepare its data has failed"
)]

#[cfg(unix)]
mod admission;
mod agent_commands;
mod architecture;
mod attest;
mod backup;
mod bisect;
#[cfg(unix)]
mod bounds;
mod brought;
mod cache;
mod carried;
mod cases;
#[path = "../certify/cli.rs"]
mod certify;
mod check;
mod cleaning;
mod command_line;
mod concurrency;
mod confirmation;
mod contract;
mod contract_schema;
mod damage;
mod determinism;
mod dev;
mod earlier;
#[cfg(unix)]
mod edge;
mod envelope;
mod error_codes;
mod feedback;
mod fixes;
mod forged;
mod grants;
mod guard;
mod guest_errors;
#[cfg(unix)]
mod home;
mod hosted;
mod index;
mod input;
mod instances;
mod job;
mod key;
mod large_answers;
mod library;
mod limits;
mod lock;
mod lost_answers;
mod map;
mod mcp;
mod memo;
mod output;
mod parts;
#[cfg(unix)]
mod people;
#[cfg(unix)]
mod pictures;
#[cfg(unix)]
mod progress;
mod proofs;
mod readme;
mod registry;
#[cfg(unix)]
mod released;
#[cfg(target_os = "linux")]
mod ring;
mod samples;
mod schedule;
mod serve;
#[cfg(unix)]
mod shells;
mod steps;
mod stores;
mod support;
mod surroundings;
#[cfg(unix)]
mod terminals;
#[cfg(unix)]
mod tour;
mod trust;
mod untrusted;
#[cfg(unix)]
mod waits;

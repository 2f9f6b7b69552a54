//! What looks at a component before an engine does: its kind, its shape and the names at its edge. Each comes to an end on any bytes, in
//! memory that follows from them; they agree with each other; and what is valid by the whole rule is understood by each.
#![no_main]
#![allow(dead_code, unreachable_pub, reason = "the crate that it is a part of uses all of it")]

use hutch_fuzz::within;
use hutch_model::payload::Payload as Kind;
use hutch_sandbox::interface;
use wasmparser::{Validator, WasmFeatures};

#[path = "../../../host/engine/src/shape.rs"]
mod shape;

/// The most types of a group, as the parser says.
const GROUP_TYPES_MAX: usize = 1_000_000;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    // A part that is being read is some ten bytes for each of its own, and an error holds a text.
    let memory_max = (64 << 10) + 200 * bytes.len();
    let kind = within(memory_max, || Kind::of(bytes));
    // The parser makes room for as many types of a group as are announced, of 80 bytes each.
    let shape = within(memory_max + 80 * GROUP_TYPES_MAX, || shape::inspect(bytes));
    let named = within(memory_max, || interface(bytes));
    if let Ok((is, made)) = &shape {
        let is = match is {
            shape::Payloads::Component => Kind::Component,
            shape::Payloads::CoreModule => Kind::CoreModule,
        };
        assert_eq!(kind, Ok(is), "one takes it for something else than the other");
        assert!((1..=100_000).contains(&made.component_instances) && made.resources <= 100_000);
        // A name that is none shows in no shape.
        let has_edge = named.as_ref().map(Option::is_some).unwrap_or(is == Kind::Component);
        assert_eq!(has_edge, is == Kind::Component, "a module has no names, and a component has some or none");
    }
    if let Ok(Some(names)) = &named {
        let all = names.imports.iter().chain(&names.exports);
        assert!(all.map(String::len).sum::<usize>() <= bytes.len());
    }
    // What is good by the whole rule is understood by each part.
    if Validator::new_with_features(WasmFeatures::all()).validate_all(bytes).is_ok() {
        assert!(kind.is_ok(), "it is valid, and of no kind");
        assert!(named.is_ok(), "it is valid, and has no names: {named:?}");
        if let Err(error) = &shape {
            assert!(!matches!(error, shape::ShapeError::Malformed(why) if !why.contains("is given")), "{error}");
        }
    }
});

//! From the engine's errors to the ending of a run. Nothing is decided by an error's text where it has a type; those of wasmtime
//! that have none and are the guest's doing are listed here and held by tests, and all others are the host's failure.

use hutch_model::limits::Limit;
use hutch_model::snapshot::ObjectError;
use hutch_world::Stop;
use std::char::{CharTryFromError, DecodeUtf16Error};
use std::str::Utf8Error;
use wasmtime::{Error, GcHeapOutOfMemory, ThrownException, Trap};

/// How the guest stopped, before refusals are weighed.
#[derive(Debug, PartialEq, Eq)]
pub enum Stopped {
    /// With this status.
    Exited(u8),
    /// By this limit.
    Limited(Limit),
    /// By this trap.
    Trapped(String),
    /// By the deadline's signal.
    Interrupted,
    /// The host is to blame.
    Fault(String),
    /// Whoever keeps the state is.
    State(ObjectError),
}

/// A text of wasmtime's that stands for an error without a type, and what it means.
struct Text {
    /// How the innermost error begins: wasmtime's own words, none of the guest's.
    begins: &'static str,
    meaning: Meaning,
}

enum Meaning {
    /// A limit that the engine keeps.
    Limited(Limit),
    /// The guest broke a rule of the canonical ABI: the trap's name, that of [`Trap`] where the engine's own code finds the same.
    Broken(&'static str),
}

const fn limited(begins: &'static str, limit: Limit) -> Text {
    Text { begins, meaning: Meaning::Limited(limit) }
}

const fn broken(begins: &'static str, trap: &'static str) -> Text {
    Text { begins, meaning: Meaning::Broken(trap) }
}

/// All there are; each is provoked by a row in `tests/sandbox/endings/`. What is not here, and has no type, is the host's failure.
const TEXTS: [Text; 25] = [
    limited("cannot allocate another handle: store handle limit exceeded", Limit::Handles),
    limited("cannot lend resource: store handle limit exceeded", Limit::Handles),
    limited("too much data is being copied between the host and the guest", Limit::HostCall),
    limited("resource limit exceeded: ", Limit::Instances),
    limited("memory minimum size of ", Limit::Memory),
    limited("table minimum size of ", Limit::Tables),
    broken("unknown handle index ", "unknown_handle"),
    broken("handle index ", "handle_of_another_type"),
    broken("cannot remove owned resource while borrowed", "handle_is_lent"),
    broken("cannot lift own resource from a borrow", "handle_is_borrowed"),
    broken("borrow handles still remain at the end of the call", "handle_was_kept"),
    broken("pointer not aligned", "unaligned_pointer"),
    broken("return pointer not aligned", "unaligned_pointer"),
    broken("list pointer is not aligned", "unaligned_pointer"),
    broken("string pointer not aligned to ", "unaligned_pointer"),
    broken("realloc return: result not aligned", "unaligned_pointer"),
    broken("pointer out of bounds", "pointer_out_of_bounds"),
    broken("realloc return: beyond end of memory", "pointer_out_of_bounds"),
    broken("list pointer/length out of bounds of memory", "list_out_of_bounds"),
    broken("string pointer/length out of bounds of memory", "string_out_of_bounds"),
    broken("discriminant ", "invalid_discriminant"),
    broken("unexpected discriminant: ", "invalid_discriminant"),
    broken("invalid expected discriminant", "invalid_discriminant"),
    broken("invalid utf8 encoding", "invalid_utf8"),
    broken("invalid utf16 encoding", "invalid_utf16"),
];

/// What an error that ended a call means. Fails closed: an error that is not known to be the guest's doing is the host's.
pub fn classify(error: &Error) -> Stopped {
    if let Some(stop) = error.downcast_ref::<Stop>() {
        return match stop {
            Stop::Exit(status) => Stopped::Exited(*status),
            Stop::Limit(limit) => Stopped::Limited(*limit),
            Stop::Late => Stopped::Interrupted,
            Stop::Trap(rule) => Stopped::Trapped((*rule).to_owned()),
            Stop::Fault(reason) => Stopped::Fault(reason.clone()),
            Stop::State(error) => Stopped::State(error.clone()),
        };
    }
    if let Some(trap) = error.downcast_ref::<Trap>() {
        return match trap {
            Trap::OutOfFuel => Stopped::Limited(Limit::Fuel),
            Trap::StackOverflow => Stopped::Limited(Limit::Stack),
            Trap::Interrupt => Stopped::Interrupted,
            other => Stopped::Trapped(trap_name(*other)),
        };
    }
    // What it was refused says why: its limit of memory.
    if error.is::<GcHeapOutOfMemory<()>>() {
        return Stopped::Trapped("no_memory_for_exception".to_owned());
    }
    if error.is::<ThrownException>() {
        return Stopped::Trapped("uncaught_exception".to_owned());
    }
    if error.is::<Utf8Error>() {
        return Stopped::Trapped("invalid_utf8".to_owned());
    }
    if error.is::<DecodeUtf16Error>() {
        return Stopped::Trapped("invalid_utf16".to_owned());
    }
    if error.is::<CharTryFromError>() {
        return Stopped::Trapped("invalid_char".to_owned());
    }
    let innermost = error.root_cause().to_string();
    match TEXTS.iter().find(|text| innermost.starts_with(text.begins)) {
        Some(Text { meaning: Meaning::Limited(limit), .. }) => Stopped::Limited(*limit),
        Some(Text { meaning: Meaning::Broken(trap), .. }) => Stopped::Trapped((*trap).to_owned()),
        None => Stopped::Fault(format!("{error:#}")),
    }
}

/// A trap's name in snake case: `IntegerDivisionByZero` is `integer_division_by_zero`.
fn trap_name(trap: Trap) -> String {
    let mut name = String::new();
    for letter in format!("{trap:?}").chars() {
        if letter.is_ascii_uppercase() && !name.is_empty() {
            name.push('_');
        }
        name.push(letter.to_ascii_lowercase());
    }
    name
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn traps_have_stable_names() {
        assert_eq!(trap_name(Trap::UnreachableCodeReached), "unreachable_code_reached");
        assert_eq!(trap_name(Trap::IntegerDivisionByZero), "integer_division_by_zero");
    }

    #[test]
    fn typed_errors_keep_their_meaning_through_context() {
        let wrapped = |error: Error| error.context("while calling run");
        assert_eq!(classify(&wrapped(Stop::Exit(20).into())), Stopped::Exited(20));
        assert_eq!(classify(&wrapped(Stop::Limit(Limit::Stdout).into())), Stopped::Limited(Limit::Stdout));
        assert_eq!(classify(&wrapped(Trap::OutOfFuel.into())), Stopped::Limited(Limit::Fuel));
        assert_eq!(classify(&wrapped(Trap::Interrupt.into())), Stopped::Interrupted);
    }

    #[test]
    fn what_is_not_known_to_be_the_guests_is_the_hosts() {
        let faults = [
            Error::msg("mmap failed to allocate 0x100000000 bytes"),
            Error::msg("failed to find a pointer out of bounds"),
            wasmtime::OutOfMemory::new(64).into(),
            std::io::Error::from(std::io::ErrorKind::OutOfMemory).into(),
            Error::from(u8::try_from(300_u32).unwrap_err()),
        ];
        for fault in faults {
            let fault = fault.context("discriminant 7 of a context");
            assert!(matches!(classify(&fault), Stopped::Fault(_)), "{fault:#}");
        }
    }
}

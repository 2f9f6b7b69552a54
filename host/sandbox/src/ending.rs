//! From the engine's errors to the ending of a run. Nothing is decided by an error's text where it has a type; the errors of
//! wasmtime that have none are named here and held by tests.

use hutch_model::limits::Limit;
use hutch_world::Stop;
use wasmtime::{Error, Trap};

/// How the guest stopped, before refusals are weighed.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Stopped {
    Exited(u8),
    Limited(Limit),
    Trapped(String),
    /// By the deadline's signal.
    Interrupted,
    /// The host is to blame.
    Fault(String),
}

/// Wasmtime's texts for limits of its own that it gives no type.
const HANDLES_TEXT: &str = "store handle limit exceeded";
const HOST_CALL_TEXT: &str = "fuel allocated for hostcalls";
const INSTANCES_TEXT: &str = "resource limit exceeded: ";

/// What an error that ended a call means.
pub(crate) fn classify(error: &Error) -> Stopped {
    if let Some(stop) = error.downcast_ref::<Stop>() {
        return match stop {
            Stop::Exit(status) => Stopped::Exited(*status),
            Stop::Limit(limit) => Stopped::Limited(*limit),
            Stop::Trap(rule) => Stopped::Trapped((*rule).to_owned()),
            Stop::Fault(reason) => Stopped::Fault(reason.clone()),
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
    let text = format!("{error:#}");
    if text.contains(HANDLES_TEXT) {
        Stopped::Limited(Limit::Handles)
    } else if text.contains(HOST_CALL_TEXT) {
        Stopped::Limited(Limit::HostCall)
    } else if text.contains(INSTANCES_TEXT) {
        Stopped::Limited(Limit::Instances)
    } else {
        // Breaking the canonical ABI's rules (a string that is no UTF-8, a handle that is none) has no type either.
        Stopped::Trapped("interface_rule_broken".to_owned())
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
}

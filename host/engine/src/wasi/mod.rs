//! WASI 0.2 over a [`World`](hutch_world::World): one file for each package of interfaces, each call one line of translation.
//! Only what a component imports is linked. Interfaces are named by what they are, not by their version: those of 0.2.0 to
//! 0.2.12 agree wherever both have a function.

pub(crate) mod bindings;
mod cli;
mod clocks;
mod denied;
mod filesystem;
mod io;
mod random;

pub use denied::SIZES_MAX as DENIED_SIZES_MAX;

use crate::guest::Guest;
use bindings::wasi;
use std::collections::BTreeSet;
use wasmtime::Engine;
use wasmtime::component::types::Component as ComponentType;
use wasmtime::component::{HasSelf, Linker};

/// Links what `component` imports.
///
/// # Errors
/// It imports something that neither has an answer here nor can be denied: the message names it.
pub(crate) fn link(engine: &Engine, component: &ComponentType) -> wasmtime::Result<Linker<Guest>> {
    let mut linker = Linker::new(engine);
    // A component made of several may import one interface in several versions.
    let mut linked = BTreeSet::new();
    for (import, kind) in component.imports(engine) {
        let interface = import.split('@').next().unwrap_or(import);
        if linked.contains(interface) {
            continue;
        }
        if link_interface(&mut linker, interface)? {
            linked.insert(interface);
        } else {
            denied::link(engine, &mut linker, import, &kind.ty)?;
        }
    }
    Ok(linker)
}

/// Whether everything that `component` imports to be denied is of a size that can be answered. [`link`] relies on it.
///
/// # Errors
/// It is not: the message names what is too large.
pub(crate) fn check_denied(engine: &Engine, component: &ComponentType) -> Result<(), String> {
    let mut size = 0;
    for (import, kind) in component.imports(engine) {
        if denied::is_denied(import) {
            denied::check(engine, import, &kind.ty, &mut size)?;
        }
    }
    Ok(())
}

fn link_interface(linker: &mut Linker<Guest>, interface: &str) -> wasmtime::Result<bool> {
    macro_rules! add {
        ($($interface:ident)::+) => { wasi::$($interface)::+::add_to_linker::<_, HasSelf<Guest>>(linker, |guest| guest)? };
    }
    match interface {
        "wasi:cli/environment" => add!(cli::environment),
        "wasi:cli/exit" => add!(cli::exit),
        "wasi:cli/stdin" => add!(cli::stdin),
        "wasi:cli/stdout" => add!(cli::stdout),
        "wasi:cli/stderr" => add!(cli::stderr),
        "wasi:cli/terminal-input" => add!(cli::terminal_input),
        "wasi:cli/terminal-output" => add!(cli::terminal_output),
        "wasi:cli/terminal-stdin" => add!(cli::terminal_stdin),
        "wasi:cli/terminal-stdout" => add!(cli::terminal_stdout),
        "wasi:cli/terminal-stderr" => add!(cli::terminal_stderr),
        "wasi:clocks/monotonic-clock" => add!(clocks::monotonic_clock),
        "wasi:clocks/wall-clock" => add!(clocks::wall_clock),
        "wasi:filesystem/types" => add!(filesystem::types),
        "wasi:filesystem/preopens" => add!(filesystem::preopens),
        "wasi:io/error" => add!(io::error),
        "wasi:io/poll" => add!(io::poll),
        "wasi:io/streams" => add!(io::streams),
        "wasi:random/random" => add!(random::random),
        "wasi:random/insecure" => add!(random::insecure),
        "wasi:random/insecure-seed" => add!(random::insecure_seed),
        _ => return Ok(false),
    }
    Ok(true)
}

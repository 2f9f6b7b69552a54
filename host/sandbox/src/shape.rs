//! What a component may look like before it is compiled at all: bounds on its parts, checked in one pass over its bytes. A
//! compiler's time can grow with the square of one function, so functions are bounded more tightly than the whole.

use wasmparser::{Encoding, Parser, Payload};

/// Bytes of one function's body.
const BODY_BYTES_MAX: usize = 1024 * 1024;
/// Local variables of one function, parameters not counted.
const LOCALS_MAX: u32 = 20_000;
/// Functions of all modules.
const FUNCTIONS_MAX: u64 = 200_000;
/// Modules and components, nested ones included.
const PARTS_MAX: u64 = 2_000;
/// Modules and components within each other.
const NESTING_MAX: usize = 8;

/// What the bytes are.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Payloads {
    /// A component.
    Component,
    /// A core module, as WASI 0.1 has them.
    CoreModule,
}

/// Why the bytes are not compiled.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ShapeError {
    /// They are not WebAssembly.
    #[error("{0}")]
    Malformed(String),
    /// They are, and too much of it.
    #[error("{what} is {count}, more than {max}")]
    TooMuch { what: &'static str, count: u64, max: u64 },
}

/// Says what `bytes` are, if they may be compiled.
pub(crate) fn inspect(bytes: &[u8]) -> Result<Payloads, ShapeError> {
    let mut kind = None;
    let (mut functions, mut parts, mut nesting) = (0u64, 0u64, 0usize);
    for payload in Parser::new(0).parse_all(bytes) {
        match payload.map_err(|error| ShapeError::Malformed(error.to_string()))? {
            Payload::Version { encoding, .. } => {
                kind.get_or_insert(match encoding {
                    Encoding::Component => Payloads::Component,
                    Encoding::Module => Payloads::CoreModule,
                });
                parts += 1;
                nesting += 1;
                at_most("the number of modules and components", parts, PARTS_MAX)?;
                at_most("the nesting of modules and components", nesting as u64, NESTING_MAX as u64)?;
            }
            Payload::End(_) => nesting = nesting.saturating_sub(1),
            Payload::CodeSectionEntry(body) => {
                functions += 1;
                at_most("the number of functions", functions, FUNCTIONS_MAX)?;
                at_most("the length of a function", body.range().len() as u64, BODY_BYTES_MAX as u64)?;
                let mut locals = 0u64;
                let groups = body.get_locals_reader().map_err(|error| ShapeError::Malformed(error.to_string()))?;
                for group in groups {
                    let (count, _) = group.map_err(|error| ShapeError::Malformed(error.to_string()))?;
                    locals = locals.saturating_add(u64::from(count));
                }
                at_most("the number of local variables of a function", locals, u64::from(LOCALS_MAX))?;
            }
            _ => {}
        }
    }
    kind.ok_or_else(|| ShapeError::Malformed("there are no bytes".to_owned()))
}

fn at_most(what: &'static str, count: u64, max: u64) -> Result<(), ShapeError> {
    if count > max { Err(ShapeError::TooMuch { what, count, max }) } else { Ok(()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_are_told_by_their_bytes() {
        assert!(matches!(inspect(&wat::parse_str("(component)").unwrap()), Ok(Payloads::Component)));
        assert!(matches!(inspect(&wat::parse_str("(module)").unwrap()), Ok(Payloads::CoreModule)));
        for bad in [&b""[..], b"\0asm", b"\x7fELF\x02\x01\x01\0", b"(component)", b"\0asm\x0e\0\x01\0"] {
            assert!(matches!(inspect(bad), Err(ShapeError::Malformed(_))), "{bad:?} was taken");
        }
    }

    #[test]
    fn each_bound_bites_just_beyond_it() {
        let locals = |count: u32| format!("(module (func (local {})))", "i32 ".repeat(count as usize));
        let body = |bytes: usize| format!("(module (func {}))", "nop ".repeat(bytes));
        let modules = |count: u64| format!("(component {})", "(core module)".repeat(count as usize));
        let nested = |depth: usize| "(component ".repeat(depth) + &")".repeat(depth);
        let functions = |count: u64| format!("(module {})", "(func)".repeat(count as usize));
        let cases = [
            (locals(LOCALS_MAX), locals(LOCALS_MAX + 1)),
            (body(BODY_BYTES_MAX - 2), body(BODY_BYTES_MAX)),
            (modules(PARTS_MAX - 1), modules(PARTS_MAX)),
            (nested(NESTING_MAX), nested(NESTING_MAX + 1)),
            (functions(FUNCTIONS_MAX), functions(FUNCTIONS_MAX + 1)),
        ];
        for (fits, exceeds) in cases {
            let fits = inspect(&wat::parse_str(&fits).unwrap());
            assert!(fits.is_ok(), "{fits:?}");
            let exceeds = inspect(&wat::parse_str(&exceeds).unwrap());
            assert!(matches!(exceeds, Err(ShapeError::TooMuch { .. })), "{exceeds:?}");
        }
    }
}

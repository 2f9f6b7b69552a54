//! What a component names to the outside: its imports and exports. Compiles nothing.

use wasmparser::{Encoding, Parser, Payload};

/// The names at a component's edge, in the order in which it declares them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Interface {
    /// What it needs.
    pub imports: Vec<String>,
    /// What it gives.
    pub exports: Vec<String>,
}

/// The interface of a component; `None` for a module, whose names belong to no component.
///
/// # Errors
/// What is malformed in it.
pub fn interface(bytes: &[u8]) -> Result<Option<Interface>, String> {
    let mut found = Interface::default();
    let mut depth = 0_usize;
    for payload in Parser::new(0).parse_all(bytes) {
        match payload.map_err(|error| error.to_string())? {
            Payload::Version { encoding: Encoding::Module, .. } if depth == 0 => return Ok(None),
            Payload::ModuleSection { .. } | Payload::ComponentSection { .. } => depth += 1,
            Payload::End(_) => depth = depth.saturating_sub(1),
            Payload::ComponentImportSection(section) if depth == 0 => {
                for import in section {
                    found.imports.push(import.map_err(|error| error.to_string())?.name.name.to_owned());
                }
            }
            Payload::ComponentExportSection(section) if depth == 0 => {
                for export in section {
                    found.exports.push(export.map_err(|error| error.to_string())?.name.name.to_owned());
                }
            }
            _ => {}
        }
    }
    Ok(Some(found))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_those_at_the_edge_and_not_of_what_is_inside() {
        let text = r#"(component
            (import "a:b/c@0.1.0" (instance))
            (component (import "inner" (func)))
            (core module (import "x" "y" (func)))
            (instance $given)
            (export "d:e/f" (instance $given)))"#;
        let found = interface(&wat::parse_str(text).unwrap()).unwrap().unwrap();
        assert_eq!(found.imports, ["a:b/c@0.1.0"]);
        assert_eq!(found.exports, ["d:e/f"]);
        assert_eq!(interface(&wat::parse_str("(module)").unwrap()), Ok(None));
        assert!(interface(b"\0asm\x0d\0\x01\0\x07\xff").is_err());
    }
}

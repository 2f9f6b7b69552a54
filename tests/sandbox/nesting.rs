//! Components that say so much that a parser which calls itself comes to the end of its stack: refused where they would be compiled, in
//! this process too.

use hutch_model::limits::Limits;
use hutch_sandbox::{Compile, LoadError, Sandbox};

/// A number as WebAssembly writes it.
fn number(mut value: usize) -> Vec<u8> {
    let mut bytes = Vec::new();
    while value >= 0x80 {
        bytes.push((value & 0x7f) as u8 | 0x80);
        value >>= 7;
    }
    bytes.push(value as u8);
    bytes
}

/// A component with one type, in which there are so many more, each within the one before.
fn nested(kind: u8, depth: usize) -> Vec<u8> {
    let mut section = vec![1];
    section.extend([kind, 1, 1].repeat(depth));
    section.extend([kind, 0]);
    [b"\0asm\x0d\0\x01\0\x07".as_slice(), &number(section.len()), &section].concat()
}

#[test]
fn types_within_each_other_end_no_stack() {
    let sandbox = Sandbox::new(Compile::Here, None);
    for kind in [0x41, 0x42] {
        // That it has nothing to run is another matter.
        for depth in [3, 99] {
            let error = sandbox.load(&nested(kind, depth), &Limits::default()).err();
            assert!(!matches!(error, Some(LoadError::TooMuch(_))), "{error:?}");
        }
        for depth in [1_000_000, 100] {
            let error = sandbox.load(&nested(kind, depth), &Limits::default()).err();
            assert!(matches!(&error, Some(LoadError::TooMuch(why)) if why.contains("nesting of types")), "{error:?}");
        }
    }
}

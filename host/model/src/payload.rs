//! What a payload is, by its first bytes. Knows nothing about what is inside.

use crate::diagnostic::Code;

/// A payload that can be run.
#[derive(Clone, Copy, PartialEq, Eq, Debug, serde::Serialize, serde::Deserialize)]
// Exhaustive: each has a name of its own in registries.
pub enum Payload {
    /// A WebAssembly component.
    Component,
    /// A core module: run if it uses WASI 0.1, after being wrapped into a component.
    CoreModule,
}

/// How many bytes [`Payload::of`] looks at.
pub const MAGIC_BYTES: usize = 8;

impl Payload {
    /// The kind of payload that begins with `bytes`.
    ///
    /// # Errors
    /// A code and a message that say what it is instead.
    pub fn of(bytes: &[u8]) -> Result<Payload, (Code, &'static str)> {
        match bytes {
            [] => Err((Code::PayloadEmpty, "the file is empty")),
            [0, b'a', b's', b'm', 0x0d, 0, 1, 0, ..] => Ok(Payload::Component),
            [0, b'a', b's', b'm', 1, 0, 0, 0, ..] => Ok(Payload::CoreModule),
            [0, b'a', b's', b'm', _, _, 1, 0, ..] => {
                Err((Code::PayloadVersion, "a component of a draft version that is no longer run"))
            }
            [0, b'a', b's', b'm', ..] => Err((Code::PayloadVersion, "WebAssembly of an unknown version or cut short")),
            [0x7f, b'E', b'L', b'F', ..] => {
                Err((Code::PayloadNative, "an ELF file: machine code for Linux or its kin"))
            }
            [0xcf | 0xce, 0xfa, 0xed, 0xfe, ..] | [0xca, 0xfe, 0xba, 0xbe, ..] => {
                Err((Code::PayloadNative, "a Mach-O file: machine code for macOS"))
            }
            [b'M', b'Z', ..] => Err((Code::PayloadNative, "a PE file: machine code for Windows")),
            [b'#', b'!', ..] => Err((Code::PayloadScript, "a script with an interpreter line")),
            _ if is_text_form(bytes) => Err((Code::PayloadText, "WebAssembly in its text form")),
            _ => Err((Code::PayloadUnknown, "the file does not begin as WebAssembly does")),
        }
    }
}

fn is_text_form(bytes: &[u8]) -> bool {
    let bytes = bytes.trim_ascii_start();
    bytes.starts_with(b"(compo") || bytes.starts_with(b"(modul") || bytes.starts_with(b";;")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_kind_has_its_own_answer() {
        for (bytes, expected) in [
            (&b"\0asm\x0d\0\x01\0rest"[..], Ok(Payload::Component)),
            (b"\0asm\x01\0\0\0", Ok(Payload::CoreModule)),
            (b"\0asm\x0a\0\x01\0", Err(Code::PayloadVersion)),
            (b"\0asm", Err(Code::PayloadVersion)),
            (b"\0asm\x02\0\0\0", Err(Code::PayloadVersion)),
            (b"", Err(Code::PayloadEmpty)),
            (b"\0as", Err(Code::PayloadUnknown)),
            (b"\x7fELF\x02\x01", Err(Code::PayloadNative)),
            (b"\xcf\xfa\xed\xfe", Err(Code::PayloadNative)),
            (b"\xca\xfe\xba\xbe", Err(Code::PayloadNative)),
            (b"MZ\x90\0", Err(Code::PayloadNative)),
            (b"#!/bin/sh", Err(Code::PayloadScript)),
            (b"\n (component", Err(Code::PayloadText)),
            (b"(module)", Err(Code::PayloadText)),
            (b"\x1f\x8b", Err(Code::PayloadUnknown)),
        ] {
            assert_eq!(Payload::of(bytes).map_err(|(code, _)| code), expected, "{bytes:?}");
        }
    }
}

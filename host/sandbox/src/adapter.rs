//! WASI 0.1 core modules, turned into components with the standard adapter.
//!
//! The adapter knows two exit statuses, because WASI 0.2 began with two. `exit-with-code` of 0.2.12 takes what `proc_exit` takes,
//! so modules are led there directly.

use std::convert::Infallible;
use wasi_preview1_component_adapter_provider::{
    WASI_SNAPSHOT_PREVIEW1_ADAPTER_NAME, WASI_SNAPSHOT_PREVIEW1_COMMAND_ADAPTER,
};
use wasm_encoder::reencode::{Error as ReencodeError, Reencode, utils};
use wasm_encoder::{ImportSection, RawSection};
use wasmparser::{Imports, Parser, Payload};
use wit_component::{ComponentEncoder, StringEncoding, embed_component_metadata};
use wit_parser::Resolve;

/// The version of what puts module and adapter together.
pub(crate) const WIT_COMPONENT_VERSION: &str = "0.254.2";

/// A sum over the adapter's bytes (FNV-1a, 8 bytes at a time), made when this is compiled: another adapter has another.
pub(crate) const ADAPTER_SUM: u64 = {
    let (mut sum, mut rest) = (0xcbf2_9ce4_8422_2325_u64, WASI_SNAPSHOT_PREVIEW1_COMMAND_ADAPTER);
    while let Some((part, after)) = rest.split_first_chunk::<8>() {
        sum = (sum ^ u64::from_le_bytes(*part)).wrapping_mul(0x0100_0000_01b3);
        rest = after;
    }
    sum ^ rest.len() as u64
};

/// What an adapted module imports beyond what the adapter does.
const EXIT_WIT: &str = "
    package wasi:cli@0.2.12;
    interface exit { exit-with-code: func(status-code: u8); }
    world exits { import exit; }
";

/// The component that a core module of WASI 0.1 makes with the command adapter.
///
/// # Errors
/// It is no such module: the message says what it lacks.
pub(crate) fn componentize(module: &[u8]) -> Result<Vec<u8>, String> {
    let (mut module, exits) = lead_exits(module)?;
    let mut encode = || {
        if exits {
            let mut wit = Resolve::default();
            let package = wit.push_str("exit.wit", EXIT_WIT)?;
            let world = wit.select_world(&[package], None)?;
            embed_component_metadata(&mut module, &wit, world, StringEncoding::UTF8)?;
        }
        ComponentEncoder::default()
            .module(&module)?
            .adapter(WASI_SNAPSHOT_PREVIEW1_ADAPTER_NAME, WASI_SNAPSHOT_PREVIEW1_COMMAND_ADAPTER)?
            .validate(true)
            .encode()
    };
    encode().map_err(|error| format!("{error:#}"))
}

/// The module with another import in place of `proc_exit`, and whether it had that. All other sections are copied as they are.
fn lead_exits(module: &[u8]) -> Result<(Vec<u8>, bool), String> {
    let mut led = Exits::default();
    let mut copy = wasm_encoder::Module::new();
    for payload in Parser::new(0).parse_all(module) {
        match payload.map_err(|error| error.to_string())? {
            Payload::ImportSection(section) => {
                let mut imports = ImportSection::new();
                led.parse_import_section(&mut imports, section).map_err(|error| error.to_string())?;
                copy.section(&imports);
            }
            other => {
                if let Some((id, range)) = other.as_section() {
                    let data = module.get(range).ok_or("a section reaches beyond the module")?;
                    copy.section(&RawSection { id, data });
                }
            }
        }
    }
    Ok((copy.finish(), led.found))
}

/// Copies imports, that of `proc_exit` replaced.
#[derive(Default)]
struct Exits {
    found: bool,
}

impl Reencode for Exits {
    type Error = Infallible;

    fn parse_imports(
        &mut self,
        imports: &mut ImportSection,
        mut import: Imports<'_>,
    ) -> Result<(), ReencodeError<Infallible>> {
        if let Imports::Single(_, import) = &mut import
            && (import.module, import.name) == (WASI_SNAPSHOT_PREVIEW1_ADAPTER_NAME, "proc_exit")
        {
            self.found = true;
            (import.module, import.name) = ("wasi:cli/exit@0.2.12", "exit-with-code");
        }
        utils::parse_imports(self, imports, import)
    }
}

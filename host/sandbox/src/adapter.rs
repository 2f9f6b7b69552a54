//! WASI 0.1 core modules, turned into components with the standard adapter.

use wasi_preview1_component_adapter_provider::{
    WASI_SNAPSHOT_PREVIEW1_ADAPTER_NAME, WASI_SNAPSHOT_PREVIEW1_COMMAND_ADAPTER,
};
use wit_component::ComponentEncoder;

/// The component that a core module of WASI 0.1 makes with the command adapter.
///
/// # Errors
/// It is no such module: the message says what it lacks.
pub(crate) fn componentize(module: &[u8]) -> Result<Vec<u8>, String> {
    let encode = || {
        ComponentEncoder::default()
            .module(module)?
            .adapter(WASI_SNAPSHOT_PREVIEW1_ADAPTER_NAME, WASI_SNAPSHOT_PREVIEW1_COMMAND_ADAPTER)?
            .validate(true)
            .encode()
    };
    encode().map_err(|error| format!("{error:#}"))
}

//! The only crate that names wasmtime: engine, compile cache, WASI over the world, limits, endings.

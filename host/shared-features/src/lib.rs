//! No code. See `Cargo.toml`.

//! The library embedders use: open a package, run it, keep its state.

pub mod package;

//! The hutch program.
fn main() {}

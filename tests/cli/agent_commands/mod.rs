//! The command line as an agent meets it: each test calls the built program, with an empty environment and a home of its own.

mod answers;
mod contracts;
mod help;
mod launchers;
mod packages;
mod packed;
mod program;

//! How guests end: tables of one guest a row, each with the one ending it must have. Whatever a guest does, its end is an
//! outcome, nothing of a bad end's state is left, and this process is alive to say so.

mod any_call;
mod bytes;
mod features;
mod fuel;
mod imports;
mod instructions;
mod interfaces;
mod probe;
mod rules;
mod together;
mod wasi_0_1;
mod wasi_0_1_paths;

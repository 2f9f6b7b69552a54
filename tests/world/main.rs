//! The world from outside: its files against those of Linux, its laws against random runs, its bounds against hostile guests.
#![allow(clippy::disallowed_methods, reason = "tests reach for what they prepare")]
#![allow(clippy::expect_used, reason = "this is how a test fails")]
#![allow(clippy::print_stdout, reason = "counts and seeds are to be seen")]

mod accounts;
mod bounds;
mod commit;
mod content;
mod differential;
mod faults;
mod listing;
mod naming;
mod parts;
mod purity;
mod seen;
mod streams;
mod support;
mod volumes;

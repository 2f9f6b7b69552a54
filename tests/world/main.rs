//! The world from outside: its files against those of Linux, its laws against random runs, its bounds against hostile guests.

mod accounts;
mod bounds;
mod commit;
mod content;
mod differential;
mod faults;
mod purity;
mod streams;
mod support;

//! The world from outside: its files against those of Linux, its laws against random runs, its bounds against hostile guests.

mod differential;
mod support;

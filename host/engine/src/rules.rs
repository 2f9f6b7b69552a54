//! Numbers of this crate that outcomes depend on, beside those of the world: all of them are in the profile, whether this build runs
//! code or only makes it.
#![cfg_attr(not(feature = "runtime"), allow(dead_code, reason = "what runs code reads them one by one"))]

/// Counted for each descriptor, stream, pollable and error that the guest holds.
pub(crate) const HANDLE_BYTES: u64 = 256;

/// Counted for each element of a table. The engine takes a pointer, and twice as much while a table grows.
pub(crate) const ELEMENT_BYTES: u64 = 16;

/// Bytes of the largest memory, also of one with addresses of 64 bits: so much is reserved where nothing may move.
pub(crate) const ONE_MEMORY_BYTES: u64 = 1 << 32;

/// Counted for each name of a listing that a guest of WASI 0.1 was given, beside the name's own bytes.
pub(crate) const GIVEN_BYTES: u64 = 32;

/// Inodes of folders above the preopened ones begin here, far from those that the world gives.
pub(crate) const IDENTITY_BASE: u64 = 1 << 40;

/// How descriptors of WASI 0.1 are numbered: of those that are free, 1 was the lowest, and 2 is the highest.
pub(crate) const NUMBERING: u64 = 2;

/// What the profile names of them, in its order.
pub(crate) const ALL: &[(&str, u64)] = &[
    ("handle_bytes", HANDLE_BYTES),
    ("element_bytes", ELEMENT_BYTES),
    ("one_memory_bytes", ONE_MEMORY_BYTES),
    ("given_bytes", GIVEN_BYTES),
    ("identity_base_above", IDENTITY_BASE),
    ("numbering", NUMBERING),
];

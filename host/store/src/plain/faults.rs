//! Failing on purpose: the n-th change to a folder, alone or with all after it. For tests.

use std::cell::Cell;
use std::io;

/// What is to fail.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(in crate::plain) enum Fault {
    /// Nothing.
    #[default]
    None,
    /// The change with this number, from 1, and every one after it: as if the process had ended.
    From(u64),
    /// The change with this number alone: a full disk, a bad sector.
    Only(u64),
}

/// Counts changes and fails.
#[derive(Debug, Default)]
pub(in crate::plain) struct Faults {
    pub(in crate::plain) fault: Cell<Fault>,
    pub(in crate::plain) steps: Cell<u64>,
}

impl Faults {
    pub(super) fn step(&self) -> io::Result<()> {
        let step = self.steps.get() + 1;
        self.steps.set(step);
        let fails = match self.fault.get() {
            Fault::None => false,
            Fault::From(first) => step >= first,
            Fault::Only(only) => step == only,
        };
        if fails { Err(io::Error::other("made to fail")) } else { Ok(()) }
    }
}

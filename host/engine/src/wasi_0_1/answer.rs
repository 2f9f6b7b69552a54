//! How a call of WASI 0.1 can fail: with a number that the guest sees, or so that the run ends.

use hutch_world::{Failure, Stop};

/// Error numbers, by their names in the specification.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Errno {
    /// One of the world's.
    World(hutch_world::Errno),
    /// `ilseq`: text that is not UTF-8.
    NotText,
    /// `mfile`: no more descriptors.
    TooManyOpen,
    /// `notsock`: no socket.
    NotSocket,
    /// `notsup`: this can't be had.
    NotSupported,
    /// `spipe`: no place in a stream.
    NotSeekable,
}

impl Errno {
    pub(super) const fn number(self) -> u32 {
        use hutch_world::Errno as World;
        match self {
            Errno::World(World::Access) => 2,
            Errno::World(World::BadDescriptor) => 8,
            Errno::World(World::Busy) => 10,
            Errno::World(World::Exist) => 20,
            Errno::World(World::FileTooLarge) => 22,
            Errno::NotText => 25,
            Errno::World(World::Invalid) => 28,
            Errno::World(World::IsDirectory) => 31,
            Errno::World(World::Loop) => 32,
            Errno::TooManyOpen => 33,
            Errno::World(World::TooManyLinks) => 34,
            Errno::World(World::NameTooLong) => 37,
            Errno::World(World::NoEntry) => 44,
            Errno::World(World::InsufficientMemory) => 48,
            Errno::World(World::InsufficientSpace) => 51,
            Errno::World(World::NotDirectory) => 54,
            Errno::World(World::NotEmpty) => 55,
            Errno::NotSocket => 57,
            Errno::NotSupported => 58,
            Errno::World(World::Overflow) => 61,
            Errno::World(World::NotPermitted) => 63,
            Errno::World(World::ReadOnly) => 69,
            Errno::NotSeekable => 70,
            Errno::World(World::CrossDevice) => 75,
        }
    }
}

/// Either.
pub(super) enum Fail {
    /// The guest goes on with this error.
    Errno(Errno),
    /// The run ends.
    Stop(Stop),
}

impl From<Errno> for Fail {
    fn from(errno: Errno) -> Fail {
        Fail::Errno(errno)
    }
}

impl From<hutch_world::Errno> for Fail {
    fn from(errno: hutch_world::Errno) -> Fail {
        Fail::Errno(Errno::World(errno))
    }
}

impl From<Stop> for Fail {
    fn from(stop: Stop) -> Fail {
        stop.errno().map_or_else(Fail::Stop, Fail::from)
    }
}

impl From<Failure> for Fail {
    fn from(failure: Failure) -> Fail {
        match failure {
            Failure::Errno(errno) => errno.into(),
            Failure::Stop(stop) => stop.into(),
        }
    }
}

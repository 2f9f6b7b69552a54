//! What a guest's numbers stand for. Of those that are free a new one is the highest, as in the stock engine: WASI promises nothing, and
//! programs were tried there. (Yosys moves the number of its output away; the next file that it opens is not to be given that.)

use super::above::{Above, Found};
use super::answer::{Errno, Fail};
use crate::rules::HANDLE_BYTES;
use hutch_model::limits::Limit;
use hutch_world::{Descriptor, Stop, World};
use std::collections::{BTreeMap, BTreeSet};

/// Everything that is open.
#[derive(Default)]
pub(crate) struct Descriptors {
    open: BTreeMap<u32, Open>,
    /// Numbers below the largest that was ever used and that are not in use.
    free: BTreeSet<u32>,
    next: u32,
    /// The preopened folders, in the order of their names; they stay, whatever the guest closes.
    preopened: Vec<Descriptor>,
    pub(super) above: Above,
}

/// What one number stands for.
pub(super) enum Open {
    Stdin,
    Stdout,
    Stderr,
    File(File),
    Folder(Folder),
    /// One of the folders above the preopened ones.
    Above(usize),
}

/// An open file.
pub(super) struct File {
    pub(super) descriptor: Descriptor,
    /// What it was opened for.
    pub(super) read: bool,
    pub(super) write: bool,
    pub(super) append: bool,
    pub(super) nonblocking: bool,
    pub(super) position: u64,
}

/// An open folder.
pub(super) struct Folder {
    pub(super) descriptor: Descriptor,
    /// Which of the preopened folders it is: its name is told to the guest.
    pub(super) preopened: Option<usize>,
    /// The names of its listing that the guest was given, in their order: a cookie is the number of one.
    pub(super) given: Vec<Box<str>>,
    /// What they count for.
    pub(super) given_bytes: u64,
}

impl Folder {
    pub(super) fn new(descriptor: Descriptor) -> Folder {
        Folder { descriptor, preopened: None, given: Vec::new(), given_bytes: 0 }
    }
}

/// Where a path of the guest's begins: a folder of the world, and the path from there; or a folder above.
pub(super) enum Place<'a> {
    World(&'a Descriptor, &'a str),
    Above(usize),
}

const BAD: Fail = Fail::Errno(Errno::World(hutch_world::Errno::BadDescriptor));

impl Descriptors {
    /// Streams 0 to 2, then `/`, if there is anything in it, then the preopened folders by their names.
    ///
    /// # Errors
    /// There may not be so many handles, or not so much memory.
    pub(crate) fn new(world: &mut World, names: &[&str]) -> Result<Descriptors, Stop> {
        let mut descriptors = Descriptors { above: Above::new(names.iter().copied()), ..Descriptors::default() };
        let mut open = vec![Open::Stdin, Open::Stdout, Open::Stderr];
        if descriptors.above.is_there() {
            open.push(Open::Above(0));
        }
        for (number, (descriptor, _)) in world.open_preopens().into_iter().enumerate() {
            open.push(Open::Folder(Folder { preopened: Some(number), ..Folder::new(descriptor) }));
        }
        descriptors.preopened = world.open_preopens().into_iter().map(|(descriptor, _)| descriptor).collect();
        for open in open {
            let number = descriptors.take_number(world).map_err(|fail| match fail {
                Fail::Stop(stop) => stop,
                Fail::Errno(Errno::TooManyOpen) => Stop::Limit(Limit::Handles),
                Fail::Errno(_) => Stop::Limit(Limit::Memory),
            })?;
            descriptors.put(number, open);
        }
        Ok(descriptors)
    }

    /// How many are open: each counts as a handle.
    pub(crate) fn count(&self) -> u64 {
        self.open.len() as u64
    }

    /// What the guest's listings count for in memory.
    pub(crate) fn listed_bytes(&self) -> u64 {
        self.open.values().map(|open| if let Open::Folder(folder) = open { folder.given_bytes } else { 0 }).sum()
    }

    /// Takes a number for what is opened: it is to be [`put`](Descriptors::put) there, or the number to be returned.
    pub(super) fn take_number(&mut self, world: &mut World) -> Result<u32, Fail> {
        if self.count() >= world.meter.limit(Limit::Handles) {
            world.meter.refuse(Limit::Handles);
            return Err(Errno::TooManyOpen.into());
        }
        world.meter.take_memory_or_errno(HANDLE_BYTES)?;
        Ok(self.free.pop_last().unwrap_or_else(|| {
            self.next += 1;
            self.next - 1
        }))
    }

    /// Takes back a number that stands for nothing.
    pub(super) fn return_number(&mut self, world: &mut World, number: u32) {
        self.free.insert(number);
        world.meter.return_memory(HANDLE_BYTES);
    }

    /// Lets a number that was taken stand for this.
    pub(super) fn put(&mut self, number: u32, open: Open) {
        self.open.insert(number, open);
    }

    pub(super) fn get(&self, fd: u32) -> Result<&Open, Fail> {
        self.open.get(&fd).ok_or(BAD)
    }

    pub(super) fn get_mut(&mut self, fd: u32) -> Result<&mut Open, Fail> {
        self.open.get_mut(&fd).ok_or(BAD)
    }

    /// An open file.
    ///
    /// # Errors
    /// BadDescriptor for anything else.
    pub(super) fn file(&mut self, fd: u32) -> Result<&mut File, Fail> {
        match self.get_mut(fd)? {
            Open::File(file) => Ok(file),
            _ => Err(BAD),
        }
    }

    /// An open file that has a place to go on at.
    ///
    /// # Errors
    /// NotSeekable for a stream, BadDescriptor for a folder.
    pub(super) fn seekable(&mut self, fd: u32) -> Result<&mut File, Fail> {
        match self.get_mut(fd)? {
            Open::File(file) => Ok(file),
            Open::Stdin | Open::Stdout | Open::Stderr => Err(Errno::NotSeekable.into()),
            Open::Folder(_) | Open::Above(_) => Err(BAD),
        }
    }

    /// Where `path` begins that is meant from the folder `fd`.
    ///
    /// # Errors
    /// NotDirectory if `fd` is no folder; NoEntry and NotPermitted for what is not in a folder above.
    pub(super) fn place<'a>(&'a self, fd: u32, path: &'a str) -> Result<Place<'a>, Fail> {
        use hutch_world::Errno as World;
        match self.get(fd)? {
            Open::Folder(folder) => Ok(Place::World(&folder.descriptor, path)),
            Open::Above(folder) if !path.is_empty() => match self.above.find(*folder, path) {
                Found::Preopened(number, rest) => Ok(Place::World(self.preopened.get(number).ok_or(BAD)?, rest)),
                Found::Above(folder) => Ok(Place::Above(folder)),
                Found::Nothing => Err(World::NoEntry.into()),
                Found::Outside => Err(World::NotPermitted.into()),
            },
            Open::Above(_) => Err(World::NoEntry.into()),
            _ => Err(World::NotDirectory.into()),
        }
    }

    /// The preopened folder of this number.
    pub(super) fn preopened(&self, number: usize) -> Option<&Descriptor> {
        self.preopened.get(number)
    }

    /// Ends what a number stands for.
    pub(super) fn close(&mut self, world: &mut World, fd: u32) -> Result<(), Fail> {
        let open = self.open.remove(&fd).ok_or(BAD)?;
        self.return_number(world, fd);
        match open {
            Open::File(file) => world.close(file.descriptor),
            Open::Folder(folder) => {
                world.meter.return_memory(folder.given_bytes);
                world.close(folder.descriptor);
            }
            Open::Stdin | Open::Stdout | Open::Stderr | Open::Above(_) => {}
        }
        Ok(())
    }

    /// Lets `to` stand for what `fd` does, and `fd` for nothing. Both must be open.
    pub(super) fn renumber(&mut self, world: &mut World, fd: u32, to: u32) -> Result<(), Fail> {
        self.get(fd)?;
        self.get(to)?;
        if fd == to {
            return Ok(());
        }
        self.close(world, to)?;
        self.free.remove(&to);
        if let Some(open) = self.open.remove(&fd) {
            self.open.insert(to, open);
        }
        self.free.insert(fd);
        Ok(())
    }
}

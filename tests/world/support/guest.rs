//! Operations on a [`World`], as a guest would call them.

use super::operation::{OpenFlags, Operation, SLOTS, STREAMS, Time, content};
use super::seen::{Attributes, Kind, NOW_NS, Seen, Tree, TreeNode, sampled};
use super::{VOLUME, real_world, try_world};
use hutch_model::digest::Digest;
use hutch_model::invocation::Access;
use hutch_model::limits::Limits;
use hutch_model::snapshot::{Layered, MemoryObjects, ObjectError, Objects, empty_tree};
use hutch_world::files::{NewTime, OpenOptions, Stat};
use hutch_world::{Descriptor, Failure, Input, Output, Stop, StreamFailure, World};
use std::sync::Arc;

/// A world, and what the guest holds open in it.
pub(crate) struct Guest {
    pub(crate) world: World,
    limits: Limits,
    /// Whether the volume is a real folder.
    real: bool,
    pub(crate) objects: Arc<dyn Objects>,
    /// The volume at the start of this run.
    pub(crate) top: Digest,
    pub(crate) slots: [Option<Descriptor>; SLOTS],
    pub(crate) inputs: [Option<Input>; STREAMS],
    pub(crate) outputs: [Option<Output>; STREAMS],
}

impl Guest {
    /// A guest in an empty volume.
    pub(crate) fn new(limits: Limits) -> Guest {
        Guest::resume(limits, Access::ReadWrite, empty_tree(), Arc::new(MemoryObjects::default()))
    }

    /// A guest in a real folder that holds nothing yet; the next runs find there what this one leaves.
    pub(crate) fn in_real_folder(limits: Limits) -> Guest {
        let objects = Arc::new(MemoryObjects::default());
        Guest::try_resume(limits, Access::ReadWrite, empty_tree(), objects, true).expect("a folder that can be read")
    }

    /// A guest in a volume as it was stored.
    pub(crate) fn resume(limits: Limits, access: Access, top: Digest, objects: Arc<dyn Objects>) -> Guest {
        Guest::try_resume(limits, access, top, objects, false).expect("a volume that can be read")
    }

    fn try_resume(
        limits: Limits,
        access: Access,
        top: Digest,
        objects: Arc<dyn Objects>,
        real: bool,
    ) -> Result<Guest, ObjectError> {
        let mut world = match real {
            true => real_world(limits.clone(), top, objects.clone())?,
            false => try_world(limits.clone(), access, top, objects.clone(), &[])?,
        };
        let (preopen, _) = world.open_preopens().pop().expect("a world with a volume");
        let mut slots = [const { None }; SLOTS];
        slots[0] = Some(preopen);
        let (inputs, outputs) = ([const { None }; STREAMS], [const { None }; STREAMS]);
        Ok(Guest { world, limits, real, objects, top, slots, inputs, outputs })
    }

    /// Ends the run, and starts the next one from what it left.
    pub(crate) fn reopen(&mut self, access: Access) -> Result<(), Stop> {
        let after = self.world.commit()?;
        let objects = Layered(vec![Arc::new(after.objects), self.objects.clone()]);
        // A read-only volume is not named: it is what it was.
        if let Some(volume) = after.volumes.get(VOLUME) {
            self.top = volume.after;
        }
        *self = Guest::try_resume(self.limits.clone(), access, self.top, Arc::new(objects), self.real)?;
        Ok(())
    }

    /// Does it and says what came back.
    pub(crate) fn perform(&mut self, operation: &Operation) -> Seen {
        let Guest { world, slots, inputs, outputs, .. } = self;
        let top = slots[0].as_ref().expect("the top stays open");
        let at = |slot: usize| slots[slot].as_ref().unwrap_or(top);
        match operation {
            Operation::Open { into, base, path, flags } => match world.open_at(at(*base), path, open_options(flags)) {
                Ok(descriptor) => {
                    self.put(*into, Some(descriptor));
                    Seen::Done
                }
                Err(failure) => failed(failure),
            },
            Operation::Close { slot } => {
                self.put(*slot, None);
                Seen::Done
            }
            Operation::Read { slot, offset, length } => seen(world.read(at(*slot), *length, *offset).map(Seen::Bytes)),
            Operation::Write { slot, offset, length, fill } => {
                seen(world.write(at(*slot), &content(*length, *fill), *offset).map(|()| Seen::Done))
            }
            Operation::SetSize { slot, size } => seen(world.set_size(at(*slot), *size).map(|()| Seen::Done)),
            Operation::OpenInput { into, slot, offset } => match world.read_stream(at(*slot), *offset) {
                Ok(input) => {
                    if let Some(mut old) = inputs[*into].replace(input) {
                        world.close_input(&mut old);
                    }
                    Seen::Done
                }
                Err(failure) => failed(failure),
            },
            Operation::OpenOutput { into, slot, offset } => match world.write_stream(at(*slot), *offset) {
                Ok(output) => {
                    if let Some(mut old) = outputs[*into].replace(output) {
                        world.close_output(&mut old);
                    }
                    Seen::Done
                }
                Err(failure) => failed(failure),
            },
            Operation::StreamRead { input, length } => match &mut inputs[*input] {
                Some(input) => stream_seen(world.stream_read(input, *length).map(Seen::Bytes)),
                None => Seen::Closed,
            },
            Operation::StreamWrite { output, length, fill } => match &mut outputs[*output] {
                Some(output) => stream_seen(world.stream_write(output, &content(*length, *fill)).map(|()| Seen::Done)),
                None => Seen::Closed,
            },
            Operation::Splice { output, input, length } => match (&mut outputs[*output], &mut inputs[*input]) {
                (Some(output), Some(input)) => {
                    stream_seen(world.stream_splice(output, input, *length).map(Seen::Number))
                }
                _ => Seen::Closed,
            },
            Operation::CloseInput { input } => {
                if let Some(mut old) = inputs[*input].take() {
                    world.close_input(&mut old);
                }
                Seen::Done
            }
            Operation::CloseOutput { output } => {
                if let Some(mut old) = outputs[*output].take() {
                    world.close_output(&mut old);
                }
                Seen::Done
            }
            Operation::CreateFolder { base, path } => seen(world.create_folder(at(*base), path).map(|()| Seen::Done)),
            Operation::RemoveFolder { base, path } => seen(world.remove_folder(at(*base), path).map(|()| Seen::Done)),
            Operation::Unlink { base, path } => seen(world.unlink_file(at(*base), path).map(|()| Seen::Done)),
            Operation::Rename { base, path, new_base, new_path } => {
                seen(world.rename((at(*base), path), (at(*new_base), new_path)).map(|()| Seen::Done))
            }
            Operation::Link { base, path, follow, new_base, new_path } => {
                seen(world.link((at(*base), path), *follow, (at(*new_base), new_path)).map(|()| Seen::Done))
            }
            Operation::Symlink { base, target, path } => {
                seen(world.symlink(at(*base), target, path).map(|()| Seen::Done))
            }
            Operation::ReadLink { base, path } => seen(world.read_link(at(*base), path).map(Seen::Text)),
            Operation::Stat { slot } => Seen::Stat(attributes(&world.stat(at(*slot)))),
            Operation::StatAt { base, path, follow } => {
                seen(world.stat_at(at(*base), path, *follow).map(|stat| Seen::Stat(attributes(&stat))))
            }
            Operation::SetTimes { slot, accessed, modified } => {
                seen(world.set_times(at(*slot), new_time(*accessed), new_time(*modified)).map(|()| Seen::Done))
            }
            Operation::SetTimesAt { base, path, follow, accessed, modified } => {
                let (accessed, modified) = (new_time(*accessed), new_time(*modified));
                seen(world.set_times_at(at(*base), path, *follow, accessed, modified).map(|()| Seen::Done))
            }
            Operation::List { slot } => match list(world, at(*slot)) {
                Ok(entries) => Seen::Entries(entries),
                Err(failure) => failed(failure),
            },
            Operation::Flags { slot } => {
                let OpenOptions { read, write, mutate_directory, .. } = at(*slot).options();
                Seen::Flags { read, write, mutate_directory }
            }
            Operation::Same { a, b } => {
                let (a, b) = (at(*a), at(*b));
                let same = world.is_same(a, b);
                assert_eq!(same, world.identity(a) == world.identity(b), "identity and is_same disagree");
                Seen::Yes(same)
            }
            Operation::SameAt { slot, base, path, follow } => {
                let there = world.identity_at(at(*base), path, *follow);
                let here = world.identity(at(*slot));
                seen(there.map(|there| Seen::Yes(there == here)))
            }
            Operation::Reopen { read_only } => {
                let access = if *read_only { Access::ReadOnly } else { Access::ReadWrite };
                self.reopen(access).map_or_else(Seen::Stopped, |()| Seen::Done)
            }
        }
    }

    /// Puts a descriptor at a place, or none, and closes what was there. The top is replaced by nothing.
    pub(crate) fn put(&mut self, slot: usize, descriptor: Option<Descriptor>) {
        let closed = if slot == 0 { descriptor } else { std::mem::replace(&mut self.slots[slot], descriptor) };
        if let Some(descriptor) = closed {
            self.world.close(descriptor);
        }
    }

    /// Closes everything but the top.
    pub(crate) fn close_all(&mut self) {
        for slot in 1..SLOTS {
            self.put(slot, None);
        }
        for stream in 0..STREAMS {
            self.perform(&Operation::CloseInput { input: stream });
            self.perform(&Operation::CloseOutput { output: stream });
        }
    }

    /// The whole volume.
    pub(crate) fn tree(&mut self) -> Result<Tree, Failure> {
        let top = self.slots[0].as_ref().expect("the top stays open");
        let mut tree = Tree::new();
        walk(&mut self.world, top, "", &mut tree)?;
        Ok(tree)
    }
}

fn walk(world: &mut World, folder: &Descriptor, path: &str, tree: &mut Tree) -> Result<(), Failure> {
    for (name, kind) in list(world, folder)? {
        let stat = attributes(&world.stat_at(folder, &name, false)?);
        assert_eq!(stat.kind, kind, "listing and stat disagree about {name:?}");
        let below = if path.is_empty() { name.clone() } else { format!("{path}/{name}") };
        let (names, modified_ns) = (stat.links, stat.modified_ns);
        let read = OpenOptions { read: true, ..OpenOptions::default() };
        let node = match kind {
            Kind::Link => TreeNode::Link { target: world.read_link(folder, &name)?, names, modified_ns },
            Kind::Folder => {
                let inner = world.open_at(folder, &name, read)?;
                let walked = walk(world, &inner, &below, tree);
                world.close(inner);
                walked?;
                TreeNode::Folder { modified_ns }
            }
            Kind::File => {
                let file = world.open_at(folder, &name, read)?;
                let mut content = Vec::new();
                for (offset, length) in sampled(stat.size) {
                    let end = content.len() as u64 + length;
                    while (content.len() as u64) < end {
                        let rest = end - content.len() as u64;
                        let part = world.read(&file, rest, offset + length - rest)?;
                        assert!(!part.is_empty(), "{below:?} ends before its size");
                        content.extend(part);
                    }
                }
                world.close(file);
                TreeNode::File { size: stat.size, content, names, modified_ns }
            }
        };
        tree.insert(below, node);
    }
    Ok(())
}

/// A whole listing; panics unless it is in order and without repetition.
fn list(world: &mut World, folder: &Descriptor) -> Result<Vec<(String, Kind)>, Failure> {
    let mut stream = world.read_folder(folder)?;
    let mut entries: Vec<(String, Kind)> = Vec::new();
    let ended = loop {
        match world.read_folder_entry(&mut stream) {
            Ok(Some((kind, name))) => entries.push((name, kind.into())),
            Ok(None) => break Ok(()),
            Err(failure) => break Err(failure),
        }
    };
    world.close_folder_stream(stream);
    assert!(entries.is_sorted_by(|a, b| a.0.as_bytes() < b.0.as_bytes()), "not in order: {entries:?}");
    ended.map(|()| entries)
}

pub(crate) fn open_options(flags: &OpenFlags) -> OpenOptions {
    let sync = flags.has('s');
    OpenOptions {
        follow: flags.has('f'),
        create: flags.has('c'),
        directory: flags.has('d'),
        exclusive: flags.has('x'),
        truncate: flags.has('t'),
        read: flags.has('r'),
        write: flags.has('w'),
        mutate_directory: flags.has('m'),
        requested_write_sync: sync,
        file_integrity_sync: sync,
        data_integrity_sync: sync,
    }
}

fn new_time(time: Time) -> NewTime {
    match time {
        Time::Keep => NewTime::Keep,
        Time::Now => NewTime::Now,
        Time::At(seconds, nanoseconds) => NewTime::At(seconds, nanoseconds),
    }
}

fn attributes(stat: &Stat) -> Attributes {
    let set = |ns: u64| (ns < NOW_NS).then_some(ns);
    Attributes {
        kind: stat.kind.into(),
        links: stat.links,
        size: stat.size,
        modified_ns: set(stat.modified_ns),
        accessed_ns: set(stat.accessed_ns),
    }
}

fn failed(failure: Failure) -> Seen {
    match failure {
        Failure::Errno(errno) => Seen::Failed(errno),
        Failure::Stop(stop) => Seen::Stopped(stop),
    }
}

fn seen(result: Result<Seen, Failure>) -> Seen {
    result.unwrap_or_else(failed)
}

fn stream_seen(result: Result<Seen, StreamFailure>) -> Seen {
    result.unwrap_or_else(|failure| match failure {
        StreamFailure::Closed => Seen::Closed,
        StreamFailure::Failed(errno) => Seen::StreamFailed(errno),
        StreamFailure::Stop(stop) => Seen::Stopped(stop),
    })
}

//! From a run to a snapshot and back: what is stored is what was there, named as if it had been stored at once, and a small
//! change is a small number of new objects.

use crate::support::generate::Generator;
use crate::support::guest::Guest;
use crate::support::operation::{OpenFlags, Operation, content};
use crate::support::seen::{Seen, Tree as View, TreeNode};
use crate::support::{VOLUME, setting, wide_limits, world};
use hutch_model::digest::{Digest, Kind};
use hutch_model::invocation::Access;
use hutch_model::snapshot::{
    CHUNK_BYTES, Entry, Layered, MemoryObjects, Name, Node, ObjectError, Objects, Tree, empty_tree,
};
use hutch_world::files::OpenOptions;
use hutch_world::{Descriptor, World};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Stores a folder at once from all that can be seen of it.
fn store_at_once(world: &mut World, folder: &Descriptor, objects: &mut MemoryObjects) -> Tree {
    let read = OpenOptions { read: true, ..OpenOptions::default() };
    let mut stream = world.read_folder(folder).expect("a folder");
    let mut entries = Vec::new();
    while let Some((kind, name)) = world.read_folder_entry(&mut stream).expect("an entry") {
        let stat = world.stat_at(folder, &name, false).expect("attributes");
        let node = match kind {
            hutch_world::files::Type::Link => {
                Node::Link { target: world.read_link(folder, &name).expect("a link").into() }
            }
            hutch_world::files::Type::Folder => {
                let inner = world.open_at(folder, &name, read).expect("a folder");
                let tree = store_at_once(world, &inner, objects);
                world.close(inner);
                objects.insert_tree(&tree)
            }
            hutch_world::files::Type::File => {
                let file = world.open_at(folder, &name, read).expect("a file");
                let mut bytes = Vec::new();
                while (bytes.len() as u64) < stat.size {
                    bytes.extend(world.read(&file, CHUNK_BYTES, bytes.len() as u64).expect("bytes"));
                }
                world.close(file);
                objects.insert_file(&bytes)
            }
        };
        let name = Name::new(&name).expect("a name");
        entries.push(Entry { name, modified_ns: stat.modified_ns, node });
    }
    world.close_folder_stream(stream);
    Tree::new(entries).expect("each name once")
}

/// What a volume shows once it is stored: each name is a file of its own.
fn once_stored(mut view: View) -> View {
    for node in view.values_mut() {
        if let TreeNode::File { names, .. } | TreeNode::Link { names, .. } = node {
            *names = 1;
        }
    }
    view
}

#[test]
fn what_is_stored_is_what_was_there_and_named_as_if_stored_at_once() {
    let runs = setting("HUTCH_WORLD_RUNS", if cfg!(debug_assertions) { 40 } else { 300 });
    let mut changed = 0;
    for seed in 0..runs {
        let mut guest = Guest::new(wide_limits());
        let mut generator = Generator::new(seed);
        for at in 0..80 {
            let operation = generator.next(&guest);
            // Sparse files of terabytes are for another test.
            let huge = matches!(operation, Operation::SetSize { size, .. } if size > 1 << 25);
            let far = matches!(operation, Operation::Write { offset, .. } if offset > 1 << 25);
            let read_only = matches!(operation, Operation::Reopen { read_only: true });
            if huge || far || read_only {
                continue;
            }
            guest.perform(&operation);
            if at % 8 == 0 {
                generator.learn(&guest.tree().expect("the tree"));
            }
            if at % 20 != 19 {
                continue;
            }
            guest.close_all();
            let view = guest.tree().expect("the tree");
            if view.values().any(|node| matches!(node, TreeNode::File { size, .. } if *size > 1 << 25)) {
                break;
            }
            let top = guest.slots[0].take().expect("the top");
            let at_once = store_at_once(&mut guest.world, &top, &mut MemoryObjects::default());
            guest.slots[0] = Some(top);
            let before = guest.top;
            assert_eq!(guest.perform(&Operation::Reopen { read_only: false }), Seen::Done);
            assert_eq!(guest.top, Digest::of(Kind::Tree, &at_once.encode()), "seed {seed}: named otherwise");
            assert_eq!(guest.tree().expect("the tree"), once_stored(view), "seed {seed}: shows otherwise");
            changed += usize::from(guest.top != before);
            // Looking changes nothing.
            guest.close_all();
            let after = guest.world.commit().expect("looked at only");
            assert_eq!(after.volumes[VOLUME].after, guest.top, "seed {seed}: looking changed it");
            assert!(after.objects.is_empty(), "seed {seed}: looking made objects");
        }
    }
    assert!(changed > runs as usize, "only {changed} times was there something to store");
}

/// Objects that count how often one is fetched.
struct Counting(Arc<dyn Objects>, AtomicUsize);

impl Objects for Counting {
    fn get(&self, kind: Kind, digest: &Digest) -> Result<Arc<[u8]>, ObjectError> {
        self.1.fetch_add(1, Ordering::Relaxed);
        self.0.get(kind, digest)
    }
}

/// A volume with one file.
fn volume_with(file: Node, mut objects: MemoryObjects) -> (Digest, Arc<dyn Objects>) {
    let entry = Entry { name: Name::new("file").expect("a name"), modified_ns: 5, node: file };
    let tree = Tree::new(vec![entry]).expect("a tree");
    let top = objects.insert(Kind::Tree, tree.encode());
    (top, Arc::new(objects))
}

fn open(world: &mut World, flags: OpenOptions) -> (Descriptor, Descriptor) {
    let (top, _) = world.open_preopens().pop().expect("a volume");
    let file = world.open_at(&top, "file", flags).expect("the file");
    (top, file)
}

#[test]
fn one_byte_of_a_large_file_costs_one_chunk_and_one_list_of_each_level() {
    const BYTES: u64 = 100 * 1024 * 1024;
    // All zeros, made sparse; and all different.
    let mut guest = Guest::new(wide_limits());
    let flags = OpenFlags("crw".to_owned());
    guest.perform(&Operation::Open { into: 1, base: 0, path: "file".to_owned(), flags });
    guest.perform(&Operation::SetSize { slot: 1, size: BYTES });
    let holes = guest.world.commit().expect("a sparse file");
    assert!(holes.objects.len() <= 5, "a hole made {} objects", holes.objects.len());
    let sparse = (holes.volumes[VOLUME].after, Arc::new(holes.objects) as Arc<dyn Objects>);
    let mut objects = MemoryObjects::default();
    let bytes: Vec<u8> = (0..BYTES as usize / 8).flat_map(|at| (at as u64).to_le_bytes()).collect();
    let dense = volume_with(objects.insert_file(&bytes), objects);
    for (top, objects) in [sparse, dense] {
        for offset in [0, CHUNK_BYTES - 1, BYTES / 2, BYTES - 1] {
            let counting = Arc::new(Counting(objects.clone(), AtomicUsize::new(0)));
            let mut world = world(wide_limits(), Access::ReadWrite, top, counting.clone());
            let (_, file) = open(&mut world, OpenOptions { write: true, ..OpenOptions::default() });
            world.write(&file, &[0xff], offset).expect("a write");
            let after = world.commit().expect("a commit");
            // The chunk, two levels of lists, the folder.
            assert_eq!(after.objects.len(), 4, "at {offset}");
            // The same, a few times: to write into, and to see what is unchanged.
            let fetched = counting.1.load(Ordering::Relaxed);
            assert!(fetched <= 16, "{fetched} objects were fetched to change one byte");
            let (after, all) = (after.volumes[VOLUME].after, Layered(vec![Arc::new(after.objects), objects.clone()]));
            let mut world = crate::support::world(wide_limits(), Access::ReadOnly, after, Arc::new(all));
            let (_, file) = open(&mut world, OpenOptions { read: true, ..OpenOptions::default() });
            let from = offset.saturating_sub(1);
            let read = world.read(&file, 3, from).expect("bytes");
            assert_eq!(read[(offset - from) as usize], 0xff);
        }
    }
}

#[test]
fn setting_what_is_there_already_changes_no_content() {
    let bytes = content(300_000, 1);
    let mut objects = MemoryObjects::default();
    let file = objects.insert_file(&bytes);
    let (top, objects) = volume_with(file.clone(), objects);
    let mut world = world(wide_limits(), Access::ReadWrite, top, objects);
    let (folder, file_open) = open(&mut world, OpenOptions { write: true, read: true, ..OpenOptions::default() });
    world.write(&file_open, &bytes[70_000..200_000], 70_000).expect("a write");
    world.set_size(&file_open, 150_000).expect("cut");
    world.write(&file_open, &bytes[150_000..], 150_000).expect("a write");
    // A name that comes and goes leaves the folder as it was, but for its time, which the volume's top has not.
    let kept = hutch_world::files::NewTime::At(0, 5);
    world.set_times(&file_open, hutch_world::files::NewTime::Keep, kept).expect("set");
    world.create_folder(&folder, "gone").expect("made");
    world.remove_folder(&folder, "gone").expect("removed");
    let after = world.commit().expect("a commit");
    assert_eq!(after.volumes[VOLUME].after, top);
}

#[test]
fn an_empty_volume_that_nothing_changed_is_the_empty_tree() {
    let mut guest = Guest::new(wide_limits());
    guest.tree().expect("nothing");
    let after = guest.world.commit().expect("nothing");
    assert_eq!((after.volumes[VOLUME].after, after.objects.len()), (empty_tree(), 0));
}

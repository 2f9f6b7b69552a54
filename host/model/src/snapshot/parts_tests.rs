//! Folders in parts beside the same folders in one piece, and what is no part.

use super::super::{Lack, Name, Node, PathChange, diff};
use super::*;
use proptest::prelude::*;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

fn entry(name: &str, content: u8) -> Entry {
    let node = Node::File { size: u64::from(content), content: Digest::of(Kind::Chunk, &[content]) };
    Entry { name: Name::new(name).unwrap(), modified_ns: u64::from(content), node }
}

fn folder(names: &BTreeMap<String, u8>) -> Tree {
    Tree::new(names.iter().map(|(name, content)| entry(name, *content)).collect()).unwrap()
}

fn numbered(count: usize) -> Tree {
    Tree::new((0..count).map(|at| entry(&format!("note-{at}"), (at % 251) as u8)).collect()).unwrap()
}

fn insert(objects: &mut MemoryObjects, tree: &Tree) -> Digest {
    let Node::Folder { tree: digest, totals } = objects.insert_tree(tree) else { unreachable!() };
    assert_eq!(totals, tree.totals());
    digest
}

/// As earlier versions stored a folder.
fn insert_whole(objects: &mut MemoryObjects, tree: &Tree) -> Digest {
    objects.insert(Kind::Tree, tree.encode())
}

/// Names whose routes all begin with `digits`.
fn names_below(digits: &[u8], count: usize) -> Vec<String> {
    let begins = |name: &String| digits.iter().zip(0..).all(|(digit, level)| Route::of(name).digit(level) == *digit);
    (0..).map(|at| format!("n{at}")).filter(begins).take(count).collect()
}

/// Sizes about where a folder is split, and larger ones.
fn names() -> impl Strategy<Value = BTreeMap<String, u8>> {
    let size = prop_oneof![4 => 0usize..20, 4 => 120usize..140, 2 => 400usize..700];
    let deep = prop::sample::select(vec![vec![], vec![7], vec![7, 7]]);
    (size, deep, any::<u8>(), 0usize..50).prop_map(|(size, digits, content, from)| {
        let names = names_below(&digits, size / (1 + digits.len()) + from);
        names.into_iter().skip(from).map(|name| (name, content)).collect()
    })
}

/// Counts the folders' objects that are read.
struct Counted {
    objects: MemoryObjects,
    read: AtomicUsize,
}

impl Objects for Counted {
    fn get(&self, kind: Kind, digest: &Digest) -> Result<Arc<[u8]>, ObjectError> {
        self.read.fetch_add(1, Ordering::Relaxed);
        self.objects.get(kind, digest)
    }
}

/// Every object below is in its place, in its one form; how many there are.
fn check_form(objects: &dyn Objects, at: Prefix, object: &TreeObject) -> usize {
    assert_eq!(at.is_one_object(object.entries()), matches!(object, TreeObject::Entries(_)), "{at:?}");
    assert_eq!(TreeObject::decode(&object.encode()).as_ref(), Ok(object));
    let TreeObject::Parts(parts) = object else { return 1 };
    let below = |part: &Part| {
        let at = at.below(part.digit);
        check_form(objects, at, &read_part(objects, part, at).unwrap())
    };
    1 + parts.parts().iter().map(below).sum::<usize>()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn a_folder_comes_back_as_it_was_stored_whichever_way_it_is_read(names in names(), absent in "[a-m]{1,4}") {
        let (tree, mut objects) = (folder(&names), MemoryObjects::default());
        let digest = insert(&mut objects, &tree);
        prop_assert_eq!(&read_tree(&objects, &digest).unwrap(), &tree);
        let top = read_object(&objects, &digest).unwrap();
        prop_assert_eq!((top.entries(), top.totals()), (tree.entries().len() as u64, tree.totals()));
        // The empty folder is no object that is read.
        prop_assert_eq!(check_form(&objects, Prefix::WHOLE, &top), objects.len());
        for entry in tree.entries() {
            let found = find_in(&objects, &digest, entry.name.as_str()).unwrap();
            prop_assert_eq!(found.as_ref(), Some(entry));
        }
        prop_assert_eq!(find_in(&objects, &digest, &absent).unwrap(), None);
        let asked = || names.keys().map(String::as_str).step_by(7).chain([absent.as_str()]);
        let some = read_some(&objects, &digest, asked()).unwrap();
        for name in asked() {
            prop_assert_eq!(some.get(name), tree.get(name));
        }
        prop_assert!(some.entries().iter().all(|entry| tree.get(entry.name.as_str()) == Some(entry)));
    }

    #[test]
    fn what_differs_between_folders_in_parts_differs_between_them_in_one_piece(
        names in names(),
        changed in prop::collection::btree_map("n[0-9]{1,3}", prop::option::of(any::<u8>()), 0..40),
    ) {
        let (before, mut after) = (folder(&names), names);
        for (name, content) in changed {
            match content {
                Some(content) => after.insert(name, content),
                None => after.remove(&name),
            };
        }
        let after = folder(&after);
        let mut objects = MemoryObjects::default();
        let split = [insert(&mut objects, &before), insert(&mut objects, &after)];
        let whole = [insert_whole(&mut objects, &before), insert_whole(&mut objects, &after)];
        let expected: Vec<PathChange> = diff(&objects, &whole[0], &whole[1]).unwrap().listed;
        prop_assert_eq!(expected.is_empty(), before == after);
        for was in [split[0], whole[0]] {
            for is in [split[1], whole[1]] {
                prop_assert_eq!(&diff(&objects, &was, &is).unwrap().listed, &expected);
                let (was, is) = read_changed(&objects, &was, &is).unwrap();
                for (some, all) in [(&was, &before), (&is, &after)] {
                    prop_assert!(some.entries().iter().all(|entry| all.get(entry.name.as_str()) == Some(entry)));
                }
            }
        }
    }

    #[test]
    fn any_bytes_are_an_object_of_those_bytes_or_refused(
        lines in prop::collection::vec((0u8..20, 0u64..100, any::<[u8; 24]>()), 1..20),
        at in (0u8..20, any::<u8>()),
        cut in 0usize..3,
    ) {
        let mut bytes = vec![PARTS_KIND, at.0];
        bytes.extend_from_slice(&(u64::from(at.1) << 56).to_le_bytes());
        for (digit, entries, totals) in lines {
            bytes.push(digit);
            bytes.extend_from_slice(&entries.to_le_bytes());
            bytes.extend_from_slice(&totals);
            bytes.extend_from_slice(&[digit; 32]);
        }
        bytes.truncate(bytes.len() - cut);
        if let Ok(object) = TreeObject::decode(&bytes) {
            prop_assert!(object.entries() > PART_ENTRIES as u64);
            prop_assert_eq!(object.encode(), bytes);
        }
    }
}

/// Stores depend on every bit of it.
#[test]
fn the_form_of_folders_is_written_down() {
    let mut objects = MemoryObjects::default();
    let mut name = |count| insert(&mut objects, &numbered(count)).to_string();
    let small = Digest::of(Kind::Tree, &numbered(PART_ENTRIES).encode()).to_string();
    assert_eq!(name(PART_ENTRIES), small, "a small folder is one object of its entries");
    let large = [PART_ENTRIES + 1, 5_000].map(name);
    let written = [
        "c1ddc88ad242c769fad6e72e26d98e53e0f0b06e9b13bd90342b2944e461cd52",
        "191d6b8d9f5d86359d64ebd13641d03b65ae9a8c738b12580afb2c5998c24960",
    ];
    assert_eq!(large, written);
}

#[test]
fn what_is_looked_up_or_changed_in_a_large_folder_is_few_objects_of_few_entries() {
    for (count, objects_max) in [(1_000, 2), (10_000, 3), (100_000, 4)] {
        let (tree, mut objects) = (numbered(count), MemoryObjects::default());
        let before = insert(&mut objects, &tree);
        let there = objects.len();
        let mut entries = tree.into_entries();
        entries.push(entry("another", 1));
        let after = insert(&mut objects, &Tree::new(entries).unwrap());
        assert!(objects.len() - there <= objects_max, "{count}: {} new objects", objects.len() - there);
        let counted = Counted { objects, read: AtomicUsize::new(0) };
        let spent = |most: usize, what: &str| {
            let read = counted.read.swap(0, Ordering::Relaxed);
            assert!(read <= most, "{count}: {read} objects for {what}");
        };
        assert!(find_in(&counted, &before, "note-77").unwrap().is_some());
        spent(objects_max, "a name");
        assert_eq!(diff(&counted, &before, &after).unwrap().count(), 1);
        spent(2 * objects_max, "a difference");
    }
}

#[test]
fn chosen_names_make_a_folder_deeper_by_a_level_for_each_digit_and_no_more() {
    let mut objects = MemoryObjects::default();
    let names = names_below(&[3, 9, 12], PART_ENTRIES + 1);
    let tree = Tree::new(names.iter().map(|name| entry(name, 1)).collect()).unwrap();
    let digest = insert(&mut objects, &tree);
    assert_eq!(read_tree(&objects, &digest).unwrap(), tree);
    let mut at = Prefix::WHOLE;
    let mut object = read_object(&objects, &digest).unwrap();
    for digit in [3, 9, 12] {
        let TreeObject::Parts(parts) = &object else { panic!("level {} is one object", at.levels()) };
        assert_eq!(parts.parts().len(), 1);
        at = at.below(digit);
        object = read_part(&objects, &parts.parts()[0], at).unwrap();
    }
    assert!(matches!(object, TreeObject::Parts(_)));
    // Where there are no more digits, there are no more parts.
    let route = Route::of("x");
    let end = (0..PART_LEVELS).fold(Prefix::WHOLE, |at, level| at.below(route.digit(level)));
    assert!(end.holds(route) && !end.holds(Route::of("y")));
    assert!(end.is_one_object(u64::MAX) && end.below(1) == end);
}

#[test]
fn no_other_form_of_a_folder_is_taken() {
    let (tree, mut objects) = (numbered(3_000), MemoryObjects::default());
    let digest = insert(&mut objects, &tree);
    let TreeObject::Parts(right) = read_object(&objects, &digest).unwrap() else { panic!("one object") };
    let (first, second) = (right.parts()[0], right.parts()[1]);
    let TreeObject::Parts(below) = read_part(&objects, &first, Prefix::WHOLE.below(first.digit)).unwrap() else {
        panic!("one object")
    };
    let mut inside = Vec::new();
    gather(&objects, Prefix::WHOLE.below(first.digit), TreeObject::Parts(below.clone()), &mut inside).unwrap();
    let whole = insert_whole(&mut objects, &Tree::new(inside).unwrap());

    let with = |part: Part| {
        let rest = right.parts().iter().filter(|other| other.digit != part.digit).copied();
        let mut parts: Vec<Part> = rest.chain([part]).collect();
        parts.sort_by_key(|part| part.digit);
        Parts::new(Prefix::WHOLE, parts).unwrap()
    };
    let wrong = [
        ("more entries in one object than one holds", Part { tree: whole, ..first }),
        ("another part", Part { digit: first.digit, ..second }),
        ("another number of entries", Part { entries: first.entries + 1, ..first }),
        ("other totals", Part { totals: Totals { bytes: first.totals.bytes + 1, ..first.totals }, ..first }),
        ("the empty folder", Part { tree: empty_tree(), ..first }),
        ("the folder itself", Part { tree: digest, ..first }),
    ];
    for (what, part) in wrong {
        let top = objects.insert(Kind::Tree, with(part).encode());
        let mut names = tree.entries().iter().map(|entry| entry.name.as_str());
        let name = names.find(|name| Route::of(name).digit(0) == first.digit).unwrap();
        let is_damaged = |error: &ObjectError| matches!(error.lack, Lack::Damaged(_));
        assert!(read_tree(&objects, &top).is_err_and(|error| is_damaged(&error)), "{what}");
        let at = Prefix::WHOLE.below(first.digit);
        let found = find_in(&objects, &top, name);
        assert!(found.as_ref().is_err_and(is_damaged) || found == Ok(None), "{what}: {found:?}");
        assert!(!read_any(&objects, &part.tree).unwrap().is_part(&part, at), "{what}");
    }

    let few = Part { entries: PART_ENTRIES as u64, ..first };
    let empty = Part { entries: 0, ..second };
    let huge = Part { entries: u64::MAX, ..first };
    let beyond = Part { digit: PARTS as u8, ..second };
    for parts in [
        vec![],
        vec![few],
        vec![first, empty],
        vec![second, first],
        vec![first, first],
        vec![huge, second],
        vec![beyond],
    ] {
        assert_eq!(Parts::new(Prefix::WHOLE, parts.clone()), None, "{parts:?}");
        let encoded = Parts { at: Prefix::WHOLE, parts }.encode();
        assert_eq!(TreeObject::decode(&encoded), Err(TreeError::Parts));
    }
    for at in [Prefix { digits: 0, levels: PART_LEVELS }, Prefix { digits: 1, levels: 1 }] {
        let encoded = Parts { at, parts: right.parts().to_vec() }.encode();
        assert_eq!(TreeObject::decode(&encoded), Err(TreeError::Parts), "{at:?}");
    }
    // A part that is in parts is no folder, and is in no other place.
    let inner = below.encode();
    let inner = objects.insert(Kind::Tree, inner);
    assert_eq!(inner, first.tree);
    assert!(read_object(&objects, &inner).is_err() && read_tree(&objects, &inner).is_err());
    assert!(read_part(&objects, &first, Prefix::WHOLE.below(second.digit)).is_err());
    assert!(TreeObject::decode(&[tree.encode(), right.encode()].concat()).is_err());
    assert!(TreeObject::decode(&[right.encode(), tree.encode()].concat()).is_err());
}

#[test]
fn a_folder_in_one_object_of_any_size_is_read_as_earlier_versions_wrote_it() {
    let (tree, mut objects) = (numbered(1_000), MemoryObjects::default());
    let (whole, split) = (insert_whole(&mut objects, &tree), insert(&mut objects, &tree));
    assert_ne!(whole, split);
    assert_eq!(read_tree(&objects, &whole).unwrap(), tree);
    assert_eq!(find_in(&objects, &whole, "note-7").unwrap(), find_in(&objects, &split, "note-7").unwrap());
    assert!(diff(&objects, &whole, &split).unwrap().is_empty());
}

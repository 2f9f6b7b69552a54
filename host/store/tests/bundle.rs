//! Bundles that somebody else wrote, whose digests are right: what they say of states is held against what they bring.
#![allow(clippy::unwrap_used, reason = "helpers of tests are tests")]

mod common;

use common::{change, each_keeper, no_objects, put, volume};
use hutch_model::digest::{Digest, Kind};
use hutch_model::error_code::ErrorCode;
use hutch_model::ledger::{Entry, EntryKind, Origin, Owner, Pin, Record, Sealed, SecretKey, Standing, origin};
use hutch_model::snapshot::{self, Name, Node, Part, Parts, Prefix, Totals, Tree, TreeObject, empty_tree};
use hutch_store::{MemoryStore, Store, StoreError, bundle};

const MAGIC: &[u8] = b"hutch-bundle-1\n";

fn memory() -> MemoryStore {
    MemoryStore::new(SecretKey::new([7; 32]))
}

/// A part of these items, each with the letter of its kind.
fn part(items: &[(u8, &[u8])]) -> Vec<u8> {
    let mut content = Vec::new();
    for (letter, bytes) in items {
        content.push(*letter);
        content.extend_from_slice(&(bytes.len() as u64).to_le_bytes());
        content.extend_from_slice(bytes);
    }
    let (length, digest) = ((content.len() as u64).to_le_bytes(), Digest::of(Kind::Artifact, &content));
    [MAGIC, &length, &content, digest.as_bytes()].concat()
}

/// The first entry, of this record.
fn first(record: Record) -> Vec<u8> {
    let start = Pin { sequence: 0, hash: origin() };
    let (entry, _) = Entry::after(start, &Standing::default(), record).unwrap();
    entry.seal().unwrap().bytes.to_vec()
}

/// Nobody takes it, and everybody says that the bundle is damaged.
fn refused(bundle: &[u8], why: &str) {
    each_keeper(|store| {
        let error = bundle::take_in(store, bundle).unwrap_err();
        assert_eq!(error.code(), ErrorCode::StoreDamaged, "{error}");
        assert!(matches!(&error, StoreError::Damaged { at, .. } if at == "the bundle"), "{error}");
        assert!(error.to_string().contains(why), "{error}");
        assert_eq!(store.head().unwrap(), Default::default(), "something of it was taken");
        assert_eq!(store.stats().unwrap().objects, 0, "something of it is left");
    });
}

/// A folder with one folder in it, which is said to amount to that.
fn folder_of(tree: Digest, totals: Totals) -> Tree {
    let entry = snapshot::Entry { name: Name::new("d").unwrap(), modified_ns: 0, node: Node::Folder { tree, totals } };
    Tree::new(vec![entry]).unwrap()
}

fn leading_to(tree: &[u8]) -> Vec<u8> {
    first(change(None, Digest::of(Kind::Tree, tree)))
}

#[test]
fn a_bundle_without_the_state_that_an_entry_leads_to_is_damaged() {
    let store = memory();
    put(&store, &[("a", "x")]);
    let entry = store.entry(1).unwrap().unwrap();
    refused(&part(&[(b'E', &entry.bytes)]), "entry 1 is damaged");
}

#[test]
fn a_bundle_whose_folders_amount_to_something_else_is_damaged() {
    let mut objects = no_objects();
    let inner = volume(&mut objects, &[("a", "x")]);
    let bytes = |kind, digest: &Digest| hutch_model::snapshot::Objects::get(&objects, kind, digest).unwrap();
    let (inner_bytes, chunk) = (bytes(Kind::Tree, &inner), Digest::of(Kind::Chunk, b"x"));
    let chunk = bytes(Kind::Chunk, &chunk);
    let right = Tree::decode(&inner_bytes).unwrap().totals();
    let outer = |totals| folder_of(inner, totals).encode();
    let whole = |outer: &[u8]| part(&[(b'T', outer), (b'T', &inner_bytes), (b'C', &chunk), (b'E', &leading_to(outer))]);
    assert_eq!(bundle::take_in(&memory(), &whole(&outer(right))).unwrap().entries, 1);
    refused(&whole(&outer(Totals { files: 7, ..right })), "does not amount");
    // A folder without anything in it is nowhere to be looked up.
    let empty = |totals| folder_of(empty_tree(), totals).encode();
    let alone = |outer: &[u8]| part(&[(b'T', outer), (b'E', &leading_to(outer))]);
    assert_eq!(bundle::take_in(&memory(), &alone(&empty(Totals::default()))).unwrap().entries, 1);
    refused(&alone(&empty(Totals { bytes: u64::MAX, ..Totals::default() })), "does not amount");
}

#[test]
fn a_folder_that_the_store_has_already_amounts_to_what_it_did() {
    let mut objects = no_objects();
    let inner = volume(&mut objects, &[("a", "x")]);
    let inner_bytes = hutch_model::snapshot::Objects::get(&objects, Kind::Tree, &inner).unwrap();
    let right = Tree::decode(&inner_bytes).unwrap().totals();
    let lie = folder_of(inner, Totals { files: 7, ..right }).encode();
    each_keeper(|store| {
        store.commit(&change(None, inner), &objects, &[]).unwrap();
        let mut more = objects.clone();
        let after = more.insert(Kind::Tree, lie.clone());
        let error = store.commit(&change(Some(inner), after), &more, &[]).unwrap_err();
        assert!(error.to_string().contains("does not amount"), "{error}");
        assert_eq!(store.head().unwrap().last.sequence, 1);
    });
}

#[test]
fn a_bundle_whose_large_folder_is_in_any_parts_but_its_own_is_damaged() {
    let mut objects = no_objects();
    let names: Vec<String> = (0..5_000).map(|at| format!("note-{at}")).collect();
    let files: Vec<(&str, &str)> = names.iter().map(|name| (name.as_str(), "x")).collect();
    let top = volume(&mut objects, &files);
    let trees = |digest: &Digest| snapshot::Objects::get(&objects, Kind::Tree, digest).unwrap();
    let below = |digest: &Digest| match TreeObject::decode(&trees(digest)).unwrap() {
        TreeObject::Parts(parts) => parts.parts().to_vec(),
        TreeObject::Entries(_) => Vec::new(),
    };
    let parts = below(&top);
    let all: Vec<Digest> = parts
        .iter()
        .flat_map(|part| [vec![part.tree], below(&part.tree).iter().map(|part| part.tree).collect()].concat())
        .collect();
    let whole = |top: &[u8]| {
        let inside: Vec<_> = all.iter().map(trees).collect();
        let items = inside.iter().map(|bytes| (b'T', &bytes[..]));
        let entry = leading_to(top);
        part(&[(b'T', top), (b'C', b"x")].into_iter().chain(items).chain([(b'E', &entry[..])]).collect::<Vec<_>>())
    };
    let lines = |first: Part| {
        let lines = [first].into_iter().chain(parts.iter().skip(1).copied()).collect();
        Parts::new(Prefix::WHOLE, lines).unwrap().encode()
    };
    let (first, second) = (parts[0], parts[1]);
    assert_eq!(bundle::take_in(&memory(), &whole(&lines(first))).unwrap().entries, 1);
    for wrong in [
        Part { tree: second.tree, entries: second.entries, totals: second.totals, ..first },
        Part { entries: first.entries + 1, ..first },
        Part { totals: Totals { bytes: 1, ..first.totals }, ..first },
        Part { tree: empty_tree(), ..first },
    ] {
        refused(&whole(&lines(wrong)), "does not amount");
    }
    // A part that is in parts is no folder by itself.
    refused(&whole(&trees(&first.tree)), "does not amount");
}

/// A store with entries of different lengths, some of which change nothing.
fn filled() -> MemoryStore {
    let store = memory();
    for number in 0..12 {
        put(&store, &[("same", "x"), ("file", &"long ".repeat(number * 40))]);
    }
    store
}

#[test]
fn parts_are_taken_one_after_the_other_and_come_to_the_whole() {
    let store = filled();
    let head = store.head().unwrap();
    let whole = bundle::export(&store, 0).unwrap();
    for bytes_max in [0, 1, 700, 3_000, 10_000, usize::MAX] {
        let parts: Vec<bundle::Part> =
            bundle::Parts::of(&store, 0, u64::MAX, bytes_max).collect::<Result<_, _>>().unwrap();
        let other = memory();
        let mut last = 0;
        for part in &parts {
            let taken = bundle::take_in(&other, &part.bytes).unwrap();
            assert_eq!(taken.whole_bytes, part.bytes.len() as u64);
            assert_eq!((taken.entries, other.head().unwrap().last), (part.last.sequence - last, part.last));
            // It is no longer than it may be, unless it is one entry.
            assert!(part.bytes.len() <= bytes_max || taken.entries == 1, "{} of {bytes_max}", part.bytes.len());
            last = part.last.sequence;
        }
        assert_eq!(other.head().unwrap(), head);
        assert_eq!(other.check().unwrap(), []);
        // As few as fit: two neighbours are longer than one may be.
        for pair in parts.windows(2) {
            assert!(pair[0].bytes.len() + pair[1].bytes.len() > bytes_max, "{bytes_max}");
        }
        // They are a bundle one behind the other too.
        let joined: Vec<u8> = parts.iter().flat_map(|part| part.bytes.clone()).collect();
        let joint = memory();
        assert_eq!(bundle::take_in(&joint, &joined).unwrap().entries, head.last.sequence);
        assert_eq!(joint.head().unwrap(), head);
        if parts.len() == 1 {
            assert_eq!(joined, whole);
        }
    }
}

#[test]
fn some_of_the_entries_are_those_that_were_asked_for() {
    let store = filled();
    let last = store.head().unwrap().last.sequence;
    for (after, to) in [(0, 3), (3, 4), (4, last), (last, last), (5, 5), (7, 2), (0, u64::MAX)] {
        let parts: Vec<bundle::Part> =
            bundle::Parts::of(&store, after, to, usize::MAX).collect::<Result<_, _>>().unwrap();
        let end = to.min(last);
        match end > after {
            true => assert_eq!(parts.iter().map(|part| part.last.sequence).collect::<Vec<_>>(), [end], "{after} {to}"),
            false => assert!(parts.is_empty(), "{after} {to}"),
        }
    }
}

#[test]
fn packages_go_along_in_the_first_part_and_stores_keep_none() {
    let store = filled();
    let packed = [b"one package".to_vec(), b"another".to_vec()];
    let parts: Vec<bundle::Part> =
        bundle::Parts::of(&store, 0, u64::MAX, 700).carrying(&packed).collect::<Result<_, _>>().unwrap();
    let carried: Vec<usize> = parts.iter().map(|part| bundle::packages(&part.bytes).unwrap().len()).collect();
    assert_eq!(carried.iter().sum::<usize>(), carried[0]);
    assert_eq!(bundle::packages(&parts[0].bytes).unwrap(), packed);
    let other = memory();
    for part in &parts {
        bundle::take_in(&other, &part.bytes).unwrap();
    }
    assert_eq!((other.head().unwrap(), other.stats().unwrap()), (store.head().unwrap(), store.stats().unwrap()));
    assert!(bundle::packages(&parts[0].bytes[..parts[0].bytes.len() - 1]).is_err());
    // Without packages it is the form that knows none.
    assert!(parts[0].bytes.starts_with(b"hutch-bundle-2\n") && parts[1].bytes.starts_with(MAGIC));
    assert!(bundle::Parts::of(&store, 0, 1, 700).carrying(&[]).next().unwrap().unwrap().bytes.starts_with(MAGIC));
    // One in that form is what no reader of it knows.
    refused(&part(&[(b'P', b"a package")]), "of a kind that this version does not know");
}

#[test]
fn of_what_was_made_elsewhere_all_is_taken_or_nothing() {
    let made = filled();
    let mut entries = made.entries(1, 99).unwrap();
    let own = Owner { origin: Origin::installed(), package: Digest::of(Kind::Package, b"1") };
    // One that says that it leads to another state than it does.
    let last = entries.pop().unwrap();
    let (before, after) = std::str::from_utf8(&last.bytes).unwrap().split_once("\"state\":\"").unwrap();
    let text = format!("{before}\"state\":\"{}{}", if after.starts_with('0') { '1' } else { '0' }, &after[1..]);
    let hash = Digest::of(Kind::Entry, text.as_bytes());
    entries.push(Sealed { hash, bytes: text.into_bytes().into(), ..last });
    each_keeper(|store| {
        put(store, &[("mine", "1")]);
        let before = (store.head().unwrap(), store.stats().unwrap().objects);
        store.take(&entries, &made, &own).unwrap_err();
        assert_eq!((store.head().unwrap(), store.stats().unwrap().objects), before);
    });
    each_keeper(|store| {
        let error = store.take(&entries, &made, &own).unwrap_err();
        assert_eq!(error.code(), ErrorCode::StoreDamaged, "{error}");
        assert_eq!(store.head().unwrap(), Default::default());
        let stats = store.stats().unwrap();
        assert_eq!((stats.entries, stats.objects, stats.streams), (0, 0, 0), "something is left of what was refused");
        assert_eq!(store.check().unwrap(), []);
    });
}

/// What a run begins to do to granted folders and how that ended go together, or not at all.
#[test]
fn no_part_ends_between_what_begins_and_what_ends_it() {
    let store = filled();
    let plain = |kind| Record { volumes: Default::default(), kept: false, kind, ..change(None, empty_tree()) };
    let intent = store.commit(&plain(EntryKind::Intent), &no_objects(), &[]).unwrap();
    let open = bundle::export(&store, 0).unwrap_err();
    assert_eq!(open.code(), ErrorCode::PermissionDenied, "{open}");
    store.commit(&plain(EntryKind::Plan), &no_objects(), &[]).unwrap();
    let end = Record { closes: Some(intent.sequence), ..plain(EntryKind::Run) };
    let last = store.commit(&end, &no_objects(), &[]).unwrap();
    for bytes_max in [1, 500, 3_000, usize::MAX] {
        let parts: Vec<_> = bundle::Parts::of(&store, 0, u64::MAX, bytes_max).map(|part| part.unwrap().last).collect();
        assert_eq!(parts.last(), Some(&last.pin()));
        let inside = intent.sequence..last.sequence;
        assert!(!parts.iter().any(|part| inside.contains(&part.sequence)), "{parts:?}");
    }
    let cut = bundle::Parts::of(&store, 0, intent.sequence, 1).last().unwrap();
    assert!(cut.is_err());
}

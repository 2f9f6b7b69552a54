//! Bundles that somebody else wrote, whose digests are right: what they say of states is held against what they bring.
#![allow(clippy::unwrap_used, reason = "helpers of tests are tests")]

mod common;

use common::{change, each_keeper, no_objects, put, record, volume};
use hutch_model::digest::{Digest, Kind};
use hutch_model::error_code::ErrorCode;
use hutch_model::ledger::{Entry, EntryKind, Origin, Owner, Pin, Record, Sealed, SecretKey, Standing, origin};
use hutch_model::snapshot::{self, Name, Node, Part, Parts, Prefix, Totals, Tree, TreeObject, empty_tree};
use hutch_store::{MemoryStore, Retention, Store, StoreError, bundle};
use std::sync::Arc;

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

/// A last part that ends too soon was being written, and is left. One that is there to its end and is not what was written is damage: nobody
/// is to cut it off.
#[test]
fn a_last_part_that_is_whole_and_wrong_is_damage_and_no_torn_end() {
    let store = filled();
    let parts: Vec<bundle::Part> = bundle::Parts::of(&store, 0, u64::MAX, 3_000).collect::<Result<_, _>>().unwrap();
    let (last, before) = parts.split_last().unwrap();
    let begins: Vec<u8> = before.iter().flat_map(|part| part.bytes.clone()).collect();
    let there = before.last().unwrap().last;
    let taken = |last: &[u8]| {
        let other = memory();
        let taken = bundle::take_in(&other, &[&begins[..], last].concat());
        let expected = if taken.is_ok() { there } else { Pin { sequence: 0, hash: origin() } };
        assert_eq!((other.head().unwrap().last, other.check().unwrap()), (expected, Vec::new()));
        taken.map(|taken| taken.whole_bytes)
    };
    for cut in (0..last.bytes.len()).step_by(61) {
        assert_eq!(taken(&last.bytes[..cut]).unwrap(), begins.len() as u64, "cut at {cut}");
    }
    let flipped = |at: usize, bit: u8| {
        let mut bytes = last.bytes.clone();
        bytes[at] ^= 1 << bit;
        taken(&bytes).map_err(|error| error.code())
    };
    for at in (0..last.bytes.len()).step_by(61).chain(0..23) {
        for bit in [0, 7] {
            assert_eq!(flipped(at, bit), Err(ErrorCode::StoreDamaged), "at {at}, bit {bit}");
        }
    }
    for from_end in 1..=32 {
        assert_eq!(flipped(last.bytes.len() - from_end, 3), Err(ErrorCode::StoreDamaged));
    }
    // One that says that it is longer than all that follows has others behind it.
    for bit in 0..8 {
        let mut all = [&begins[..], &last.bytes].concat();
        all[15 + 5] ^= 1 << bit;
        assert_eq!(bundle::take_in(&memory(), &all).unwrap_err().code(), ErrorCode::StoreDamaged);
        // Also if the last of them was torn.
        all.truncate(all.len() - 20);
        assert_eq!(bundle::take_in(&memory(), &all).unwrap_err().code(), ErrorCode::StoreDamaged);
    }
}

/// Looking for the end of a part that is not where it says takes no more the more there is in it that looks like one.
#[test]
fn an_end_is_looked_for_at_so_many_places_and_no_more() {
    let whole = bundle::export(&filled(), 0).unwrap();
    let begun =
        |places: usize| [&whole[..15], &[0xff, 0xff, 0xff, 0xff, 0, 0, 0, 0], &whole[..15].repeat(places)].concat();
    let taken = |begun: Vec<u8>| {
        let other = memory();
        let taken = bundle::take_in(&other, &[&whole[..], &begun].concat());
        assert_eq!(other.head().unwrap().last.sequence > 0, taken.is_ok());
        taken.map(|taken| taken.whole_bytes).map_err(|error| (error.code(), error.to_string()))
    };
    for places in [0, 1, 1023] {
        assert_eq!(taken(begun(places)), Ok(whole.len() as u64), "{places}");
    }
    for places in [1024, 400_000] {
        let (code, why) = taken(begun(places)).unwrap_err();
        assert_eq!(code, ErrorCode::StoreDamaged, "{places}");
        assert!(why.contains("too much that looks like others"), "{places}: {why}");
    }
    // The last place is looked at too.
    let content = whole[..15].repeat(1023);
    let wrong = [&begun(1023)[..], Digest::of(Kind::Artifact, &content).as_bytes()].concat();
    let (code, why) = taken(wrong).unwrap_err();
    assert_eq!(code, ErrorCode::StoreDamaged);
    assert!(why.contains("longer than it is"), "{why}");
}

/// Where a part is written: how much is written at once, and how much was read from the store before anything of it was.
#[derive(Default)]
struct Written {
    bytes: std::io::Cursor<Vec<u8>>,
    most: usize,
    times: usize,
}

impl std::io::Write for Written {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        (self.most, self.times) = (self.most.max(bytes.len()), self.times + 1);
        self.bytes.write(bytes)
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

impl std::io::Seek for Written {
    fn seek(&mut self, to: std::io::SeekFrom) -> std::io::Result<u64> {
        self.bytes.seek(to)
    }
}

/// A store with 8 entries, each of which brings 4 MB.
fn large() -> MemoryStore {
    let store = memory();
    for number in 0..8u64 {
        let noise =
            |at: u64| char::from(b'a' + ((at + number * 5_000_000).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 60) as u8);
        put(&store, &[("file", &(0..4_000_000).map(noise).collect::<String>())]);
    }
    store
}

/// What is exported is written as it is read, however long it is, and no more of it is held than one may.
#[test]
fn a_bundle_is_written_as_it_is_made() {
    let store = large();
    let whole = bundle::export(&store, 0).unwrap();
    let (mut parts, mut to) = (bundle::Parts::of(&store, 0, u64::MAX, usize::MAX), Written::default());
    assert!(parts.has_more().unwrap());
    assert_eq!(parts.write(&mut to).unwrap(), Some(store.head().unwrap().last));
    assert!(!parts.has_more().unwrap() && parts.write(&mut Written::default()).unwrap().is_none());
    assert!(to.bytes.get_ref() == &whole && whole.len() > 16_000_000, "{}", whole.len());
    assert!(to.most < 1_200_000 && to.times > 10, "{} bytes at once", to.most);
    // In parts it is what one entry brought.
    let mut parts = bundle::Parts::of(&store, 0, u64::MAX, 9_000_000);
    let mut joined = Written::default();
    while parts.has_more().unwrap() {
        let before = joined.bytes.get_ref().len();
        parts.write(&mut joined).unwrap().unwrap();
        assert!(joined.bytes.get_ref().len() - before <= 9_000_000);
    }
    assert!(joined.most < 4_100_000, "{} bytes at once", joined.most);
    assert_eq!(bundle::take_in(&memory(), joined.bytes.get_ref()).unwrap().entries, 8);
    // Whoever can't write says so, and with what the system said.
    struct Full;
    impl std::io::Write for Full {
        fn write(&mut self, _: &[u8]) -> std::io::Result<usize> {
            Err(std::io::ErrorKind::StorageFull.into())
        }
        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }
    impl std::io::Seek for Full {
        fn seek(&mut self, _: std::io::SeekFrom) -> std::io::Result<u64> {
            Ok(0)
        }
    }
    let error = bundle::Parts::of(&store, 0, u64::MAX, usize::MAX).write(Full).unwrap_err();
    assert!(
        matches!(&error, bundle::PartError::Write(error) if error.kind() == std::io::ErrorKind::StorageFull),
        "{error}"
    );
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

/// After a collection the first entries go as they are there, and the first one whose states are kept stands on a state that is whole.
#[test]
fn what_has_no_state_any_more_goes_as_its_record_alone() {
    let made = filled();
    made.collect(&Retention { keep_last: 3, newer_than: None }, &record(EntryKind::Collect, 99)).unwrap();
    put(&made, &[("file", "later")]);
    let head = made.head().unwrap();
    assert_eq!((head.last.sequence, head.retained_from), (14, 10));
    for bytes_max in [1, 3_000, usize::MAX] {
        let parts: Vec<bundle::Part> =
            bundle::Parts::of(&made, 0, u64::MAX, bytes_max).collect::<Result<_, _>>().unwrap();
        assert!(parts[0].last.sequence >= 10, "nothing stands on a record alone");
        let other = memory();
        parts.iter().for_each(|part| assert!(bundle::take_in(&other, &part.bytes).is_ok()));
        assert_eq!((other.head().unwrap(), other.check().unwrap()), (head.clone(), Vec::new()));
    }
    let whole = bundle::export(&made, 0).unwrap();
    let trial = memory();
    bundle::take_in(&trial, &whole).unwrap();
    let own = Owner { origin: Origin::installed(), package: empty_tree() };
    each_keeper(|store| {
        store.take(&trial.entries(1, 99).unwrap(), &trial, &own).unwrap();
        let there = store.head().unwrap();
        assert_eq!((there.last, there.retained_from), (head.last, 10));
        put(store, &[("file", "and on")]);
        assert_eq!(store.check().unwrap(), []);
    });
    // Where there are states they stay, and no part begins or ends among what has none.
    let begun = memory();
    bundle::take_in(&begun, &bundle::Parts::of(&filled(), 0, 2, usize::MAX).next().unwrap().unwrap().bytes).unwrap();
    let dropped = |error: StoreError| matches!(error, StoreError::Dropped { kept_from: 10, .. });
    assert!(dropped(bundle::take_in(&begun, &whole).unwrap_err()));
    assert_eq!((begun.head().unwrap().last.sequence, begun.head().unwrap().retained_from), (2, 1));
    for (after, to) in [(2, u64::MAX), (0, 5)] {
        assert!(dropped(bundle::Parts::of(&made, after, to, usize::MAX).next().unwrap().unwrap_err()), "{after}");
    }
    let alone = made.entries(1, 1).unwrap().remove(0);
    let cut = part(&[(b'K', &10_u64.to_le_bytes()[..]), (b'E', &alone.bytes[..])]);
    let error = bundle::take_in(&memory(), &cut).unwrap_err();
    assert!(error.to_string().contains("ends before the first entry"), "{error}");
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

/// Whoever looks at a bundle holds it once, whatever becomes of its objects in between: they lie where it is.
#[test]
fn what_a_bundle_brings_is_not_held_beside_it() {
    let made = large();
    let bundle = Arc::new(bundle::Bundle::read(bundle::export(&made, 0).unwrap()).unwrap());
    assert!(bundle.is_whole());
    let below: Arc<dyn Store> = Arc::new(memory());
    let trial = MemoryStore::over(Arc::clone(&below)).lent(Arc::clone(&bundle));
    assert_eq!(bundle.take_into(&trial).unwrap(), 8);
    assert_eq!((trial.head().unwrap(), trial.check().unwrap()), (made.head().unwrap(), Vec::new()));
    // Each of them is a part of the bundle; besides, the trial and this test have it.
    let stats = trial.stats().unwrap();
    assert!(stats.objects > 400 && stats.object_bytes > 16_000_000, "{stats:?}");
    assert_eq!(Arc::strong_count(&bundle) as u64, 2 + stats.objects + stats.streams);
    // What is kept in the end is kept by itself.
    let own = Owner { origin: Origin::installed(), package: empty_tree() };
    below.take(&trial.entries(1, 99).unwrap(), &trial, &own).unwrap();
    drop((trial, Arc::into_inner(bundle)));
    assert_eq!((below.head().unwrap().last, below.check().unwrap()), (made.head().unwrap().last, Vec::new()));
    assert_eq!(below.stats().unwrap().object_bytes, stats.object_bytes);
}

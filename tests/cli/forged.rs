//! Instances as files that somebody has forged, with every digest right: what they say decides nothing here, and takes nothing. Here what
//! they say of runs and moves; in the rooms below of limits, of whose the instance is, and of granted folders.

mod folders;
mod limits;
mod whose;

use crate::support::package::copy_todo;
use crate::support::{FIXED, Machine, probe, todo};
use hutch_model::digest::{Digest, Kind};
use hutch_model::error_code::ErrorCode;
use hutch_model::instant::Instant;
use hutch_model::invocation::Access;
use hutch_model::ledger::{EntryKind, EnvironmentRecord, Record, SecretKey, VolumeRecord};
use hutch_model::snapshot::{Changes, Entry, MemoryObjects, Name, Node, Tree, empty_tree};
use hutch_store::{MemoryStore, Store, bundle};
use serde_json::json;
use std::collections::BTreeMap;

fn memory() -> MemoryStore {
    MemoryStore::new(SecretKey::new([0; 32]))
}

/// A machine whose to-do application has four entries: made, one item added, one that is not there asked for, and the item taken back.
fn machine() -> Machine {
    let machine = Machine::new();
    machine.guest(&[&FIXED[..], &[&todo(), "add", "Write docs"]].concat()).answer();
    machine.guest(&[&FIXED[..], &[&todo(), "get", "td_9999"]].concat()).guest_failure(20);
    machine.run(["undo", "todo"]).result("undo");
    machine
}

/// What somebody makes of an honest file: each record is what `forge` leaves of it, and behind them come those that it adds.
fn forged(machine: &Machine, file: &str, mut forge: impl FnMut(u64, &mut Record), more: &[(Record, &MemoryObjects)]) {
    machine.run(["instance", "export", "--output", "honest", "todo"]).result("instance export");
    let (honest, made, mut hashes) = (memory(), memory(), BTreeMap::new());
    bundle::take_in(&honest, &std::fs::read(machine.path("honest")).unwrap()).unwrap();
    for sealed in honest.entries(1, u64::MAX).unwrap() {
        let mut record = sealed.open().unwrap().record;
        forge(sealed.sequence, &mut record);
        record.follows = record.follows.map(|hash| hashes[&hash]);
        let streams: Vec<_> = record.streams().filter_map(|digest| honest.stream(&digest).unwrap()).collect();
        let streams: Vec<&[u8]> = streams.iter().map(|bytes| &**bytes).collect();
        let forged = made.commit(&record, &*honest.objects(), &streams).unwrap();
        hashes.insert(sealed.hash, forged.hash);
    }
    for (record, objects) in more {
        let volumes = record.volumes.iter().map(|(name, volume)| {
            let before = made.head().unwrap().state.get(name.as_str()).copied();
            (name.clone(), VolumeRecord { before, ..volume.clone() })
        });
        let record = Record { volumes: volumes.collect(), ..record.clone() };
        made.commit(&record, *objects, &[]).unwrap();
    }
    // Its maker leaves out nothing that would stop the one who takes it.
    let bytes = match bundle::export(&made, 0) {
        Ok(bytes) => bytes,
        Err(_) => {
            let last = Record { closes: made.head().unwrap().open.first().copied(), ..record(EntryKind::Recover) };
            made.commit(&last, &MemoryObjects::default(), &[]).unwrap();
            without_the_last(&bundle::export(&made, 0).unwrap())
        }
    };
    machine.write(file, bytes);
}

/// The same bundle without its last item, with the digest that it then has.
fn without_the_last(bundle: &[u8]) -> Vec<u8> {
    let (around, digest) = (23, 32);
    let content = &bundle[around..bundle.len() - digest];
    let (mut at, mut last) = (0, 0);
    while at < content.len() {
        let length = u64::from_le_bytes(content[at + 1..at + 9].try_into().unwrap());
        (last, at) = (at, at + 9 + usize::try_from(length).unwrap());
    }
    let content = &content[..last];
    let digest = Digest::of(Kind::Artifact, content);
    [&bundle[..15], &(content.len() as u64).to_le_bytes(), content, digest.as_bytes()].concat()
}

fn record(kind: EntryKind) -> Record {
    let at: Instant = "2026-04-01T09:00:00Z".parse().unwrap();
    Record { kept: true, ..Record::new(kind, at, "default", Default::default()) }
}

/// A record by which the state becomes this one.
fn becomes(kind: EntryKind, tree: Digest) -> Record {
    let volumes = [("state".to_owned(), VolumeRecord::new(None, tree, Changes::default()))];
    Record { volumes: volumes.into(), ..record(kind) }
}

/// A state with one file, and what it is made of.
fn one_file(content: &str) -> (Digest, MemoryObjects) {
    let mut objects = MemoryObjects::default();
    let file = objects.insert_file(content.as_bytes());
    (tree(wide(&mut objects, 1, &file)), objects)
}

fn tree(node: Node) -> Digest {
    match node {
        Node::Folder { tree, .. } => tree,
        _ => panic!("no folder"),
    }
}

fn import(machine: &Machine, words: &[&str]) -> crate::support::Ran {
    machine.run([&["instance", "import", "--instance", "taken"], words, &[&todo()]].concat())
}

/// Nothing of it came into the home.
fn is_not_there(machine: &Machine) {
    machine.run(["ledger", "show", "--instance", "taken", "todo"]).fault("NOT_FOUND", 20);
    assert!(!machine.home().join("instances/todo/taken/state").exists());
}

#[test]
fn what_no_run_came_to_is_taken_for_no_run_s() {
    let machine = machine();
    let (state, objects) = one_file("x");
    type Forge<'a> = (&'a str, Box<dyn FnMut(u64, &mut Record)>, Option<EntryKind>, &'a str);
    let keep = || Box::new(|_: u64, _: &mut Record| ());
    let elsewhere = |sequence: u64, record: &mut Record| {
        if sequence == 4 {
            assert_eq!(record.kind, EntryKind::Undo);
            record.kind = EntryKind::Restore;
        }
    };
    let cases: Vec<Forge<'_>> = vec![
        ("a run without an outcome", keep(), Some(EntryKind::Run), "no run"),
        ("an apply without one", keep(), Some(EntryKind::Apply), "no run"),
        ("a replay without one", keep(), Some(EntryKind::Replay), "no run"),
        ("a plan that keeps", keep(), Some(EntryKind::Plan), "no run"),
        ("a map that keeps", keep(), Some(EntryKind::Map), "no run"),
        ("a collection that keeps", keep(), Some(EntryKind::Collect), "no run"),
        ("going back to no entry", keep(), Some(EntryKind::Restore), "not there"),
        ("undoing no entry", keep(), Some(EntryKind::Undo), "not there"),
        ("going back to what never was", Box::new(elsewhere), None, "never there"),
    ];
    for (what, forge, more, why) in cases {
        let more: Vec<_> = more.map(|kind| (becomes(kind, state), &objects)).into_iter().collect();
        forged(&machine, "file", forge, &more);
        let fault = import(&machine, &["--input", "file"]).fault("NOT_REPRODUCIBLE", 1);
        assert!(fault.message.contains(why), "{what}: {fault:?}");
        is_not_there(&machine);
    }
    // A bad end that is said to have been kept.
    let kept = |sequence: u64, record: &mut Record| {
        if sequence == 3 {
            assert!(!record.kept);
            (record.kept, record.error) = (true, None);
        }
    };
    forged(&machine, "file", kept, &[]);
    let fault = import(&machine, &["--input", "file"]).fault("VERIFY_FAILED", 1);
    assert!(fault.message.contains("kept"), "{fault:?}");
    is_not_there(&machine);
}

#[test]
fn the_answer_says_what_was_taken_as_told() {
    let machine = machine();
    forged(&machine, "file", |_, _| (), &[]);
    let honest = import(&machine, &["--input", "file"]).result("instance import");
    assert_eq!(
        (&honest["entries"], &honest["equal"], &honest["as_told"], &honest["moved"]),
        (&json!(4), &json!(2), &json!(0), &json!(1)),
        "{honest}"
    );
    machine.run(["instance", "purge", "--yes", "--instance", "taken", "todo"]).result("instance purge");
    // A person's edit, and a state from outside.
    let (edited, given) = (one_file("x"), one_file("y"));
    let more = [(becomes(EntryKind::Edit, edited.0), &edited.1), (becomes(EntryKind::Import, given.0), &given.1)];
    forged(&machine, "file", |_, _| (), &more);
    let told = import(&machine, &["--input", "file"]).result("instance import");
    assert_eq!((&told["entries"], &told["equal"], &told["as_told"]), (&json!(6), &json!(2), &json!(2)), "{told}");
}

/// A person agreed to them on another home, or the file says so.
#[test]
fn the_answer_says_how_many_runs_were_confirmed_elsewhere() {
    let machine = Machine::new();
    machine.guest(&[&FIXED[..], &[&todo(), "add", "Write docs"]].concat()).answer();
    machine.guest(&[&FIXED[..], &["--yes", &todo(), "remove", "td_0001", "--confirm"]].concat()).answer();
    machine.run(["instance", "export", "--output", "file", "todo"]).result("instance export");
    let taken = import(&machine, &["--input", "file"]).result("instance import");
    assert_eq!((&taken["equal"], &taken["confirmed"]), (&json!(2), &json!(1)), "{taken}");
}

/// What a package ships makes a volume once: another first state, and every later one, is its maker's word.
#[test]
fn a_first_state_that_the_package_does_not_ship_is_taken_as_told() {
    let machine = machine();
    let first = machine.run(["ledger", "show", "todo", "@1"]).result("ledger show");
    let volumes: BTreeMap<String, VolumeRecord> = serde_json::from_value(first["record"]["volumes"].clone()).unwrap();
    let shipped = volumes["state"].after;
    let (state, objects) = one_file("x");
    // The state is empty where it begins, so nothing is needed to come back to it.
    assert_eq!(shipped, empty_tree());
    let again = [(becomes(EntryKind::Create, state), &objects), (becomes(EntryKind::Create, shipped), &objects)];
    forged(&machine, "file", |_, _| (), &again);
    let taken = import(&machine, &["--input", "file"]).result("instance import");
    assert_eq!((&taken["entries"], &taken["equal"], &taken["as_told"]), (&json!(6), &json!(2), &json!(2)), "{taken}");
    // One that begins so, and names volumes that no package has.
    let made = memory();
    made.commit(&becomes(EntryKind::Create, state), &objects, &[]).unwrap();
    machine.write("begun", bundle::export(&made, 0).unwrap());
    let other = machine.run(["instance", "import", "--instance", "other", "--input", "begun", &todo()]);
    assert_eq!(other.result("instance import")["as_told"], json!(1));
    let made = memory();
    let volume = |name: &str, tree| (name.to_owned(), VolumeRecord::new(None, tree, Changes::default()));
    let more =
        Record { volumes: [volume("state", shipped), volume("more", state)].into(), ..record(EntryKind::Create) };
    made.commit(&more, &objects, &[]).unwrap();
    machine.write("begun", bundle::export(&made, 0).unwrap());
    let third = machine.run(["instance", "import", "--instance", "third", "--input", "begun", &todo()]);
    assert_eq!(third.result("instance import")["as_told"], json!(1));
}

/// A folder of so many names, each of which is this.
fn wide(objects: &mut MemoryObjects, names: usize, node: &Node) -> Node {
    let name = |number: usize| Name::new(&format!("{number:03}")).unwrap();
    let entries = (0..names).map(|number| Entry { name: name(number), modified_ns: 0, node: node.clone() });
    objects.insert_tree(&Tree::new(entries.collect()).unwrap())
}

/// Nobody is told to restore an instance for a file that was cut.
#[test]
fn a_file_that_is_damaged_is_no_damage_of_what_is_here() {
    let machine = machine();
    forged(&machine, "file", |_, _| (), &[]);
    let file = std::fs::read(machine.path("file")).unwrap();
    let mut flipped = file.clone();
    flipped[file.len() / 2] ^= 1;
    for damaged in [&file[..file.len() - 40], &file[..10], &flipped] {
        machine.write("file", damaged);
        let fault = import(&machine, &["--input", "file"]).fault("STORE_DAMAGED", 50);
        assert!(fault.suggestion.contains("have the file made again"), "{fault:?}");
        is_not_there(&machine);
    }
}

/// What was done here follows from what was done before, as an entry tells it.
#[test]
fn what_follows_nothing_is_no_move_and_no_plan_carried_out() {
    let machine = machine();
    machine.run([&["plan"][..], &FIXED[..], &[&todo(), "add", "planned"]].concat()).document();
    machine.run(["apply", &todo(), "last"]).document();
    machine.run(["replay", &todo(), "@2"]).document();
    let hash = |name: &str| {
        let shown = machine.run(["ledger", "show", "todo", name]).result("ledger show");
        shown["hash"].as_str().and_then(|hash| hash.parse::<Digest>().ok()).unwrap()
    };
    let (first, run, plan) = (hash("@1"), hash("@2"), hash("@5"));
    type Forge = Box<dyn Fn(&mut Record)>;
    let cases: [(EntryKind, Forge, &str); 8] = [
        (EntryKind::Apply, Box::new(|record| record.follows = None), "a plan that is not there"),
        (EntryKind::Apply, Box::new(move |record| record.follows = Some(run)), "a plan that is not there"),
        (EntryKind::Replay, Box::new(|record| record.follows = None), "a call again that is not there"),
        (EntryKind::Replay, Box::new(move |record| record.follows = Some(first)), "a call again that is not there"),
        (EntryKind::Replay, Box::new(move |record| record.follows = Some(plan)), "a call again that is not there"),
        (EntryKind::Undo, Box::new(|record| record.follows = None), "an entry that is not there"),
        (
            EntryKind::Undo,
            Box::new(|record| record.volumes.get_mut("state").unwrap().changes.clear()),
            "other changes than it tells",
        ),
        (
            EntryKind::Undo,
            Box::new(|record| record.volumes.get_mut("state").unwrap().changes_omitted += 1),
            "other changes than it tells",
        ),
    ];
    for (kind, forge, why) in cases {
        let of_kind = |_: u64, record: &mut Record| {
            if record.kind == kind {
                forge(record);
            }
        };
        forged(&machine, "file", of_kind, &[]);
        let fault = import(&machine, &["--input", "file"]).fault("NOT_REPRODUCIBLE", 1);
        assert!(fault.message.contains(why), "{why}: {fault:?}");
        is_not_there(&machine);
    }
    forged(&machine, "file", |_, _| (), &[]);
    import(&machine, &["--input", "file"]).result("instance import");
}

/// What a host could not do its maker says; how a guest ended, nobody does.
#[test]
fn the_code_of_an_end_is_the_guest_s_or_a_host_s() {
    let machine = machine();
    for (code, is_taken) in [
        (ErrorCode::HostFault, true),
        (ErrorCode::Conflict, true),
        (ErrorCode::FuelLimit, false),
        (ErrorCode::GuestTrapped, false),
        (ErrorCode::ContractViolation, false),
    ] {
        let end = |sequence: u64, record: &mut Record| {
            if sequence == 3 {
                assert_eq!((record.kept, record.error), (false, None));
                record.error = Some(code);
            }
        };
        forged(&machine, "file", end, &[]);
        let ran = import(&machine, &["--input", "file", "--dry-run"]);
        match is_taken {
            true => drop(ran.document()),
            false => {
                let fault = ran.fault("VERIFY_FAILED", 1);
                assert!(fault.message.contains("error"), "{code}: {fault:?}");
            }
        }
    }
}

/// A package that a file brings is as good as the file, and what it proves is counted apart.
#[test]
fn what_is_proved_by_what_came_along_is_counted_apart() {
    let machine = machine();
    let words = ["instance", "export", "--packages", "--output", "file", &todo()];
    machine.run(words).result("instance export");
    let counts = |machine: &Machine, package: &str| {
        let words = ["instance", "import", "--instance", "taken", "--input", "file", package];
        let taken = machine.run(words).result("instance import");
        (taken["equal"].clone(), taken["by_carried"].clone(), taken["not_reproducible"].clone())
    };
    assert_eq!(counts(&machine, &todo()), (json!(2), json!(0), json!(0)));
    let other = Machine::new();
    other.write("file", std::fs::read(machine.path("file")).unwrap());
    assert_eq!(counts(&other, "todo"), (json!(2), json!(2), json!(0)));
}

/// Words that are judged are those that run: an entry that begins otherwise than the package's calls do, or has a variable that it does not ask for, is
/// made by nobody.
#[test]
fn a_run_that_is_no_call_of_the_package_is_made_by_nobody() {
    let machine = machine();
    type Forge = fn(&mut Record);
    let forgeries: [(&str, Forge); 4] = [
        ("do not begin", |record| record.invocation.as_mut().unwrap().argv[0] = "probe".to_owned()),
        ("EVIL", |record| {
            let value = EnvironmentRecord::Value("x".to_owned());
            record.invocation.as_mut().unwrap().environment.insert("EVIL".to_owned(), value);
        }),
        ("other folders", |record| {
            record.invocation.as_mut().unwrap().preopens.insert("other".to_owned(), Access::ReadOnly);
        }),
        ("package", |record| record.package.slug = "probe".to_owned()),
    ];
    for (why, forge) in forgeries {
        let forge = |_: u64, record: &mut Record| {
            if record.outcome.is_some() && record.kind == EntryKind::Run {
                forge(record);
            }
        };
        forged(&machine, "file", forge, &[]);
        let fault = import(&machine, &["--input", "file"]).fault("NOT_REPRODUCIBLE", 1);
        assert!(fault.message.contains(why), "{why}: {fault:?}");
        is_not_there(&machine);
    }
}

#[test]
fn a_plan_is_carried_out_in_the_words_in_which_it_was_made_or_not_at_all() {
    let machine = Machine::new();
    let folder = copy_todo(&machine, "own");
    let own = folder.display().to_string();
    machine.guest(&[&own, "add", "keep"]).answer();
    machine.run(["plan", &own, "remove", "td_0001", "--confirm"]).document();
    machine.run(["apply", &own, "last"]).fault("CONFIRMATION_REQUIRED", 30);
    // The first word is another command's flag from now on: what is judged begins behind it.
    let manifest = std::fs::read_to_string(folder.join("APP.md")).unwrap();
    let changed = manifest.replace("command: wasm:app.wasm", "command: wasm:app.wasm --agent");
    assert_ne!(changed, manifest);
    std::fs::write(folder.join("APP.md"), changed.replace("version: 0.2.0", "version: 0.2.1")).unwrap();
    let fault = machine.run(["apply", &own, "last"]).fault("NOT_REPRODUCIBLE", 1);
    assert!(fault.message.contains("do not begin as the package's do"), "{fault:?}");
    machine.run(["replay", &own, "@2"]).fault("NOT_REPRODUCIBLE", 1);
    let kept = machine.run(["state", "cat", &own, "state/todos.json"]).stdout;
    assert!(kept.contains("keep"), "{kept}");
}

/// What only looked at a real folder changed nothing that anybody would have to prove.
#[test]
fn a_reading_that_can_not_be_made_again_keeps_no_instance_out() {
    let machine = Machine::new();
    machine.write("folder/letter", "dear reader");
    machine.probe(&[], &["write-text", "state/a", "1"]).answer();
    machine.probe(&["--mount", "folder:mnt:ro"], &["read-file", "mnt/letter"]).answer();
    machine.run(["instance", "export", "--output", "file", "probe"]).result("instance export");
    let words = ["instance", "import", "--instance", "taken", "--input", "file", &probe()];
    let taken = machine.run(words).result("instance import");
    assert_eq!((&taken["entries"], &taken["equal"], &taken["as_told"]), (&json!(3), &json!(1), &json!(0)), "{taken}");
    assert_eq!((&taken["by_carried"], &taken["not_reproducible"]), (&json!(0), &json!(1)), "{taken}");
}

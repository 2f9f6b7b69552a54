//! What instance files bring is told from what was done here: it carries out nobody's request, changed no folder here, and makes nothing that was
//! done here somebody else's.

use crate::support::{FIXED, Machine, probe, todo};
use hutch_model::digest::Digest;
use hutch_model::ledger::{EntryKind, Record, SecretKey};
use hutch_model::snapshot::MemoryObjects;
use hutch_store::{MemoryStore, Store, bundle};
use serde_json::{Value, json};

/// A file of an instance in which more entries follow those that there are: somebody made them of these, with every digest right.
pub(crate) fn forged_behind(machine: &Machine, slug: &str, more: impl FnOnce(&[(Digest, Record)]) -> Vec<Record>) {
    machine.run(["instance", "export", "--output", "honest", slug]).result("instance export");
    let made = MemoryStore::new(SecretKey::new([0; 32]));
    bundle::take_in(&made, &std::fs::read(machine.path("honest")).unwrap()).unwrap();
    let entries = made.entries(1, u64::MAX).unwrap();
    let entries: Vec<_> = entries.iter().map(|sealed| (sealed.hash, sealed.open().unwrap().record)).collect();
    for record in more(&entries) {
        made.commit(&record, &MemoryObjects::default(), &[]).unwrap();
    }
    machine.write("file", bundle::export(&made, 0).unwrap());
}

/// The name by which an instance knows that it changed a folder is in each of its files.
#[test]
fn no_folder_that_a_file_says_was_changed_stands_in_the_way() {
    let machine = Machine::new();
    machine.write("mine/a", "one");
    machine.probe(&["--mount", "mine:mnt:rw"], &["write-text", "mnt/a", "two"]).answer();
    machine.probe(&[], &["write-text", "state/s", "x"]).answer();
    forged_behind(&machine, "probe", |entries| {
        let (hash, run) = entries.iter().find(|(_, record)| record.outcome.is_some()).unwrap();
        let told = |kind, follows| {
            let record = Record::new(kind, run.at, "default", run.package.clone());
            Record { folders: run.folders.clone(), follows, kept: true, ..record }
        };
        let run_again = Record { closes: None, ..run.clone() };
        vec![told(EntryKind::Undo, Some(*hash)), told(EntryKind::Edit, None), run_again]
    });
    let taken = machine.run(["instance", "import", "--input", "file", &probe()]).result("instance import");
    assert_eq!((&taken["entries"], &taken["as_told"]), (&json!(3), &json!(0)), "{taken}");
    // Nor does it say of one that was changed here that it is as before.
    let undone = machine.run(["undo", "probe", "@3"]).result("undo");
    let left: Vec<_> = undone["left"].as_array().unwrap().iter().map(|left| &left["sequence"]).collect();
    assert_eq!(left, [&json!(3)], "{undone}");
    machine.run(["undo", "--mount", "mine:mnt:rw", "probe"]).result("undo");
    assert_eq!(std::fs::read_to_string(machine.path("mine/a")).unwrap(), "one");
}

/// Takes the to-do application's instance from one home into another.
fn carry(from: &Machine, to: &Machine) -> Value {
    let _ = std::fs::remove_file(from.path("carried"));
    from.run(["instance", "export", "--output", "carried", "todo"]).result("instance export");
    to.write("carried", std::fs::read(from.path("carried")).unwrap());
    to.run(["instance", "import", "--input", "carried", &todo()]).result("instance import")
}

/// The places of the entries that a machine says came from elsewhere, the last first.
fn from_elsewhere(machine: &Machine) -> Vec<Value> {
    let listed = machine.run(["ledger", "list", "todo"]).result("ledger list");
    let items = listed["items"].as_array().unwrap();
    items.iter().filter(|item| item["from_elsewhere"] == true).map(|item| item["sequence"].clone()).collect()
}

#[test]
fn what_was_made_here_stays_so_when_somebody_else_goes_on_with_it() {
    let (machine, colleague) = (Machine::new(), Machine::new());
    machine.guest(&[&FIXED[..], &[&todo(), "add", "one"]].concat()).answer();
    machine.run(["plan", &todo(), "add", "mine"]).result("plan");
    assert!(from_elsewhere(&machine).is_empty());
    carry(&machine, &colleague);
    colleague.todo(&["list"]).answer();
    assert_eq!(from_elsewhere(&colleague), [3, 2, 1]);
    assert_eq!(carry(&colleague, &machine)["entries"], 1);
    assert_eq!(from_elsewhere(&machine), [4]);
    let shown = |entry: &str| machine.run(["ledger", "show", "todo", entry]).result("ledger show");
    assert_eq!((shown("@4").get("from_elsewhere"), shown("@3").get("from_elsewhere")), (Some(&json!(true)), None));
    // The plan is one of this home still, and the last one.
    assert_eq!(machine.run(["apply", &todo()]).result("apply")["kept"], true);
    assert_eq!(machine.todo(&["list"]).answer()["count"], 2);
}

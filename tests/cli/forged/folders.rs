//! No file begins or ends a change of a granted folder, or tells of one that was made here.

use super::{forged, import, is_not_there, machine, record};
use crate::support::todo;
use hutch_model::ledger::{EntryKind, FolderRecord, Record};
use hutch_model::snapshot::MemoryObjects;
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// What a run was about to do in granted folders is one machine's, and no other takes part in it.
#[test]
fn no_change_of_a_granted_folder_is_begun_or_ended_by_a_file() {
    let machine = machine();
    let victim = machine.path("victim");
    std::fs::create_dir_all(victim.join(".hutch-planted")).unwrap();
    std::fs::write(victim.join("precious"), "mine").unwrap();
    let folder: FolderRecord = serde_json::from_value(json!({
        "path": victim, "identity": [0, 0], "changes": [], "changes_omitted": 0, "withheld": 0, "staging": ".hutch-planted",
    }))
    .unwrap();
    let nothing = MemoryObjects::default();
    let intent = Record { kept: false, folders: [("mnt".to_owned(), folder)].into(), ..record(EntryKind::Intent) };
    forged(&machine, "file", |_, _| (), &[(intent.clone(), &nothing)]);
    let fault = import(&machine, &["--input", "file"]).fault("STORE_DAMAGED", 50);
    assert!(fault.message.contains("granted folder"), "{fault:?}");
    is_not_there(&machine);
    // One that is ended is history.
    let ended = Record { kept: false, closes: Some(5), ..record(EntryKind::Recover) };
    forged(&machine, "file", |_, _| (), &[(intent, &nothing), (ended, &nothing)]);
    import(&machine, &["--input", "file"]).result("instance import");
    machine.run(["run", "--instance", "taken", &todo(), "list"]).answer();
    let status = machine.run(["state", "diff", "--instance", "taken", "todo"]).result("state diff");
    assert_eq!(status["unsettled"], json!([]), "{status}");
    machine.run(["instance", "purge", "--yes", "--instance", "taken", "todo"]).result("instance purge");
    let left: Vec<Value> =
        std::fs::read_dir(&victim).unwrap().map(|it| json!(it.unwrap().file_name().to_str())).collect();
    assert_eq!(left.len(), 2, "{left:?}");
}

/// A folder that a file says was changed was changed by nobody here.
#[test]
fn no_folder_is_left_changed_that_no_run_of_this_instance_touched() {
    let machine = machine();
    let folder: FolderRecord = serde_json::from_value(json!({
        "path": "/etc", "identity": [0, 0], "changes": [], "changes_omitted": 0, "withheld": 0, "staging": ".hutch-0123456789abcdef0123456789abcdef",
    }))
    .unwrap();
    let folders = BTreeMap::from([("mnt".to_owned(), folder)]);
    let nothing = MemoryObjects::default();
    let intent = Record { kept: false, folders: folders.clone(), ..record(EntryKind::Intent) };
    let ended = Record { closes: Some(5), folders, ..record(EntryKind::Recover) };
    forged(&machine, "file", |_, _| (), &[(intent, &nothing), (ended, &nothing)]);
    import(&machine, &["--input", "file"]).result("instance import");
    machine.run(["undo", "--redo", "--instance", "taken", "todo"]).result("undo");
    let undone = machine.run(["undo", "--instance", "taken", "todo", "@2"]).result("undo");
    assert_eq!(undone.get("left"), None, "{undone}");
}

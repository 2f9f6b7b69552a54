//! What comes under a name that is taken: whatever is other than in the installed version is asked for by name, of what is named and of
//! what a lock names alike, and a refusal leaves the application, its state and its launcher to whom they belong.

use crate::support::{Machine, package, todo};
use hutch::package::{Package, PackageBounds, Source};
use hutch_registry::{Artifact, PrivateKey};
use serde_json::{Value, json};
use std::fs;
use std::path::Path;

const PLACE: &str = "probe.tar";
/// What the application keeps for its person.
const SECRET: &str = "bank pin 1234";

/// A version that comes after the installed one.
struct Coming {
    what: &'static str,
    change: fn(&Path),
    version: &'static str,
    place: &'static str,
    signed: bool,
    code: &'static str,
    /// What lets `install` take it, and what lets it by a lock, where that has to be said.
    update: &'static [&'static str],
    by_lock: &'static [&'static str],
}

/// Signed by the same key, from the same place, later, and asking for nothing new.
const SAME: Coming = Coming {
    what: "nothing",
    change: |_| {},
    version: "0.3.0",
    place: PLACE,
    signed: true,
    code: "",
    update: &[],
    by_lock: &[],
};

const COMING: [Coming; 12] = [
    SAME,
    Coming {
        what: "from another place",
        place: "other.tar",
        code: "SOURCE_CHANGED",
        update: &["--allow-source-change"],
        by_lock: &["--allow-source-change"],
        ..SAME
    },
    // A lock says which version is meant: that is its word, and no more is.
    Coming { what: "older", version: "0.1.0", code: "VERSION_OLDER", update: &["--allow-downgrade"], ..SAME },
    Coming {
        what: "other files of the version",
        change: |folder| fs::write(folder.join("app/more.txt"), "more").unwrap(),
        version: "0.2.0",
        code: "VERSION_REPLACED",
        update: &["--allow-replaced-version"],
        by_lock: &["--allow-replaced-version"],
        ..SAME
    },
    Coming {
        what: "not signed any more",
        signed: false,
        code: "SIGNER_CHANGED",
        update: &["--allow-signer-change"],
        by_lock: &["--allow-signer-change"],
        ..SAME
    },
    Coming {
        what: "a confirmation less",
        change: |folder| {
            edit(folder, "confirmationRequired:\n  - remove\n", "");
            describe(folder, "remove", |command| command["confirmationRequired"] = json!(false));
        },
        code: "CONFIRMATION_REQUIRED",
        update: &["--grant", "unconfirmed:remove"],
        by_lock: &["--grant", "probe unconfirmed:remove"],
        ..SAME
    },
    Coming {
        what: "a confirmation less, of what is said to read now",
        change: |folder| {
            edit(folder, "confirmationRequired:\n  - remove\n", "");
            describe(folder, "remove", |command| {
                (command["confirmationRequired"], command["effect"]) = (json!(false), json!("read"));
            });
        },
        code: "CONFIRMATION_REQUIRED",
        update: &["--grant", "unconfirmed:remove"],
        by_lock: &["--grant", "probe unconfirmed:remove"],
        ..SAME
    },
    Coming {
        what: "a command more that writes",
        change: |folder| {
            edit(folder, "  - write-text\n", "  - write-text\n  - wipe\n");
            describe_as_well(folder, "write-text", "wipe");
        },
        code: "CONFIRMATION_REQUIRED",
        update: &["--grant", "unconfirmed:wipe"],
        by_lock: &["--grant", "probe unconfirmed:wipe"],
        ..SAME
    },
    Coming {
        what: "no description, so any word may be a command",
        change: |folder| fs::remove_file(folder.join("schemas/commands.json")).unwrap(),
        code: "CONFIRMATION_REQUIRED",
        update: &["--grant", "unconfirmed:*"],
        by_lock: &["--grant", "probe unconfirmed:*"],
        ..SAME
    },
    Coming {
        what: "a looser guard",
        change: |folder| edit(folder, "  hutch:\n", "  hutch:\n    guard: text\n"),
        code: "CONFIRMATION_REQUIRED",
        update: &["--grant", "guard:text"],
        by_lock: &["--grant", "probe guard:text"],
        ..SAME
    },
    Coming {
        what: "a variable more",
        change: |folder| edit(folder, "  hutch:\n", "  hutch:\n    env: [TOKEN]\n"),
        code: "CONFIRMATION_REQUIRED",
        update: &["--grant", "env:TOKEN"],
        by_lock: &["--grant", "probe env:TOKEN"],
        ..SAME
    },
    Coming {
        what: "a higher limit",
        change: |folder| edit(folder, "  hutch:\n", "  hutch:\n    limits:\n      fuel: 20000000000\n"),
        code: "CONFIRMATION_REQUIRED",
        update: &["--grant", "limit:fuel=20000000000"],
        by_lock: &["--grant", "probe limit:fuel=20000000000"],
        ..SAME
    },
];

fn edit(folder: &Path, from: &str, to: &str) {
    let file = folder.join("APP.md");
    let text = fs::read_to_string(&file).unwrap();
    assert!(text.contains(from), "{from:?}");
    fs::write(file, text.replacen(from, to, 1)).unwrap();
}

fn described(folder: &Path, change: impl FnOnce(&mut Value)) {
    let file = folder.join("schemas/commands.json");
    let mut contract: Value = serde_json::from_slice(&fs::read(&file).unwrap()).unwrap();
    change(&mut contract);
    fs::write(file, contract.to_string()).unwrap();
}

fn describe(folder: &Path, name: &str, change: impl FnOnce(&mut Value)) {
    described(folder, |contract| {
        let mut commands = contract["commands"].as_array_mut().unwrap().iter_mut();
        change(commands.find(|command| command["name"] == name).unwrap());
    });
}

fn describe_as_well(folder: &Path, like: &str, name: &str) {
    described(folder, |contract| {
        let commands = contract["commands"].as_array_mut().unwrap();
        let mut new = commands.iter().find(|command| command["name"] == like).unwrap().clone();
        new["name"] = json!(name);
        new["examples"] = json!([]);
        commands.push(new);
    });
}

fn set_version(folder: &Path, from: &str, to: &str) {
    edit(folder, &format!("\nversion: {from}\n"), &format!("\nversion: {to}\n"));
    described(folder, |contract| contract["version"] = json!(to));
}

/// Packs what a folder holds, whatever its component says of itself, and signs it.
fn pack(machine: &Machine, folder: &Path, place: &str, signed: bool) {
    let bounds = PackageBounds::default();
    let package = Package::open(&Source::open(folder, &bounds).unwrap(), bounds).unwrap();
    let mut packed = Vec::new();
    package.pack(&mut packed).unwrap();
    machine.write(place, &packed);
    let bundle = machine.path(&format!("{place}.sigstore.json"));
    if !signed {
        let _none_yet = fs::remove_file(bundle);
        return;
    }
    let key = PrivateKey::from_pem(&fs::read_to_string(machine.path("mine")).unwrap()).unwrap();
    let artifact = Artifact::of(&package).unwrap();
    fs::write(bundle, hutch_registry::sign(&artifact, &packed, package.manifest(), &key).unwrap()).unwrap();
}

/// A machine where the probe is installed in version 0.2.0, signed, strict, asking before it removes, with a launcher, and keeps something;
/// and what comes then.
fn machine(coming: &Coming) -> Machine {
    let machine = Machine::new();
    machine.run(["sign", "--new-key", "mine"]).result("sign");
    let folder = package::copy(&machine, "made");
    set_version(&folder, "0.1.0", "0.2.0");
    edit(&folder, "scheduling:", "confirmationRequired:\n  - remove\nscheduling:");
    describe(&folder, "remove", |command| command["confirmationRequired"] = json!(true));
    pack(&machine, &folder, PLACE, true);
    machine.run(["--yes", "install", PLACE, "--key", "mine.pub", "--launcher-dir", "bin"]).result("install");
    machine.guest(&["probe", "write-text", "state/a.txt", SECRET]).answer();
    if coming.version != "0.2.0" {
        set_version(&folder, "0.2.0", coming.version);
    }
    (coming.change)(&folder);
    pack(&machine, &folder, coming.place, coming.signed);
    machine
}

/// A lock of what comes, written by somebody else.
fn locked(machine: &Machine, coming: &Coming) {
    let other = Machine::new();
    for file in ["mine.pub", coming.place].map(str::to_owned).into_iter().chain(coming.signed.then(|| bundle(coming))) {
        fs::copy(machine.path(&file), other.path(&file)).unwrap();
    }
    let key: &[&str] = if coming.signed { &["--key", "mine.pub"] } else { &[] };
    other.run([&["--yes", "install", coming.place][..], key].concat()).result("install");
    other.run(["install", "--lock"]).result("install");
    fs::copy(other.path("hutch.lock"), machine.path("hutch.lock")).unwrap();
}

fn bundle(coming: &Coming) -> String {
    format!("{}.sigstore.json", coming.place)
}

/// All that is installed, byte by byte, and the launcher.
fn home(machine: &Machine) -> (Vec<u8>, Vec<u8>) {
    (fs::read(machine.home().join("packages/probe/pin.json")).unwrap(), fs::read(machine.path("bin/probe")).unwrap())
}

/// A call is refused, whatever else is confirmed; by its own word it is done.
fn asked_for(machine: &Machine, coming: &Coming, command: &[&str], word: &[&str]) {
    let Coming { what, code, .. } = coming;
    let before = home(machine);
    let refused = |line: Vec<&str>| {
        machine.run(&line).fault(code, 30);
        assert_eq!(home(machine), before, "{what}: {line:?}");
    };
    if !word.is_empty() {
        refused(command.to_vec());
        // Another's word is none for this.
        for other in ["--allow-signer-change", "--allow-replaced-version", "--allow-source-change"] {
            if !word.contains(&other) {
                refused([command, &[other][..]].concat());
            }
        }
        if *code != "CONFIRMATION_REQUIRED" {
            refused([&["--yes"][..], command].concat());
        }
        let preview = machine.run([&["--dry-run"][..], command].concat());
        assert_eq!((preview.status == 0, home(machine) == before), (*code == "CONFIRMATION_REQUIRED", true), "{what}");
    }
    let done = machine.run([command, word].concat()).result(command[0]);
    assert_ne!(home(machine).0, before.0, "{what}");
    assert_eq!(home(machine).1, before.1, "{what}");
    // What comes and goes is said, and is all that was asked for.
    let none = json!({"added": [], "removed": []});
    let (commands, confirmations) = match *what {
        what if what.starts_with("a confirmation less") => (none.clone(), json!({"added": [], "removed": ["remove"]})),
        "a command more that writes" => (json!({"added": ["wipe"], "removed": []}), none),
        _ => (none.clone(), none),
    };
    let changes = if command == ["install"] { &done["packages"][0]["changes"] } else { &done["changes"] };
    assert_eq!(*changes, json!({"commands": commands, "confirmations": confirmations}), "{what}");
    let asked = if word.first() == Some(&"--grant") { json!([word[1]]) } else { json!([]) };
    assert_eq!(done["needs_grant"], asked, "{what}");
    assert_eq!(machine.guest(&["probe", "read-file", "state/a.txt"]).answer()["content"], SECRET, "{what}");
    // Once it is had it is not asked for again, and who says it again is understood.
    machine.run([command, word].concat()).result(command[0]);
    machine.run(["install", coming.place]).result("install");
}

/// A command that a person had to confirm because it might be another one, with words behind it.
#[test]
fn a_confirmation_that_held_for_more_than_its_command_is_asked_for_with_all_of_it() {
    fn takes_no_words(command: &mut Value) {
        let parameters = command["parameters"].as_array_mut().unwrap();
        assert!(parameters.iter().any(|one| one["position"].is_number()), "{parameters:?}");
        parameters.retain(|one| !one["position"].is_number());
        command["examples"] = json!([]);
    }
    let begin = || {
        let machine = Machine::new();
        let folder = package::copy(&machine, "made");
        edit(&folder, "scheduling:", "confirmationRequired:\n  - remove\nscheduling:");
        edit(&folder, "  - write-text\n", "  - write-text\n  - remove done\n");
        describe(&folder, "remove", |command| command["confirmationRequired"] = json!(true));
        describe_as_well(&folder, "remove", "remove done");
        describe(&folder, "remove done", |command| {
            command["confirmationRequired"] = json!(false);
            takes_no_words(command);
        });
        machine.run(["--yes", "install", "made"]).result("install");
        machine.guest(&["probe", "remove", "done"]).fault("CONFIRMATION_REQUIRED", 30);
        (machine, folder)
    };
    let asked = |machine: &Machine| {
        let fault = machine.run(["install", "made"]).fault("CONFIRMATION_REQUIRED", 30);
        assert!(fault.message.contains("unconfirmed:remove done"), "{fault:?}");
        machine.guest(&["probe", "remove", "done"]).fault("CONFIRMATION_REQUIRED", 30);
    };
    // The command goes.
    let (machine, folder) = begin();
    edit(&folder, "confirmationRequired:\n  - remove\n", "");
    edit(&folder, "  - remove\n", "");
    described(&folder, |contract| {
        contract["commands"].as_array_mut().unwrap().retain(|command| command["name"] != "remove");
    });
    asked(&machine);
    // It takes no words any more.
    let (machine, folder) = begin();
    describe(&folder, "remove", takes_no_words);
    asked(&machine);
}

#[test]
fn an_update_asks_for_all_that_is_other_by_name() {
    for coming in &COMING {
        asked_for(&machine(coming), coming, &["install", coming.place], coming.update);
    }
}

#[test]
fn a_lock_is_no_word_but_for_the_version() {
    for coming in &COMING {
        let machine = machine(coming);
        locked(&machine, coming);
        asked_for(&machine, coming, &["install"], coming.by_lock);
        assert_eq!(machine.run(["install", "--check"]).result("install")["changed"], false, "{}", coming.what);
    }
}

/// A word that lets go of a confirmation is read as every other one: what is no command of the package is a slip.
#[test]
fn a_grant_of_what_nothing_asks_for_is_refused() {
    let coming = COMING.iter().find(|coming| coming.update == ["--grant", "unconfirmed:wipe"]).unwrap();
    let machine = machine(coming);
    locked(&machine, coming);
    let before = home(&machine);
    let update = ["unconfirmed:nosuch", "unconfirmed:", "unconfirmed:*", "not unconfirmed:wipe", "env:NOSUCH"];
    let by_lock = ["probe unconfirmed:nosuch", "nosuch unconfirmed:wipe", "unconfirmed:wipe", "probe env:NOSUCH"];
    for (command, grants) in [(&["install", coming.place][..], &update[..]), (&["install"], &by_lock)] {
        for grant in grants {
            machine.run([command, &["--grant", grant]].concat()).fault("USAGE", 2);
            machine.run([&["--yes"], command, &["--grant", grant]].concat()).fault("USAGE", 2);
            assert_eq!(home(&machine), before, "{command:?} {grant}");
        }
    }
}

#[test]
fn consent_to_all_that_is_asked_for_hands_nothing_over_to_another_source() {
    for coming in COMING.iter().filter(|coming| coming.place != PLACE) {
        let machine = machine(coming);
        let before = home(&machine);
        let fault = machine.run(["--yes", "install", coming.place]).fault("SOURCE_CHANGED", 30);
        assert!(fault.fixes.iter().all(|fix| fix.risk == "high"), "{fault:?}");
        assert_eq!(home(&machine), before, "{}", coming.what);
    }
}

#[test]
fn a_first_install_shows_a_looser_guard_and_asks_for_what_leaves_the_sandbox() {
    let machine = Machine::new();
    let installed = machine.run(["install", &todo()]).result("install");
    assert_eq!((&installed["asks"], &installed["needs_grant"]), (&json!(["guard:text", "state:state"]), &json!([])));
    assert_eq!(installed["changes"], Value::Null);
    assert_eq!(machine.run(["install", "--lock"]).result("install")["packages"][0]["asks"], installed["asks"]);
    assert_eq!(machine.run(["catalog"]).result("catalog")["items"][0]["asks"], installed["asks"]);
    let folder = package::with_manifest(&machine, "made", "  hutch:\n", "  hutch:\n    env: [TOKEN]\n");
    machine.run(["install", folder.to_str().unwrap()]).fault("CONFIRMATION_REQUIRED", 30);
    machine.run(["install", "made", "--grant", "env:TOKEN", "--grant", "mount:mnt"]).result("install");
}

#[test]
fn a_version_is_what_it_is_now_in_the_folder_that_it_came_from_alone() {
    let machine = Machine::new();
    let folder = package::copy(&machine, "package");
    let path = folder.to_str().unwrap();
    machine.run(["--yes", "install", "package"]).result("install");
    let digest = || machine.run(["catalog"]).result("catalog")["items"][0]["digest"].clone();
    let before = digest();
    machine.write("package/app/more.txt", "more");
    for word in [path, "probe", "package/", "./package/../package"] {
        machine.run(["install", word]).result("install");
    }
    assert_ne!(digest(), before);
    // A copy of it is another place, and so is its packed file; there a version is what it was.
    let before = digest();
    package::copy_folder(&folder, &machine.path("copy"));
    machine.write("copy/app/more.txt", "still more");
    machine.run(["pack", "copy", "--output", "copy.tar"]).result("pack");
    machine.run(["push", "copy", "oci-layout:shop"]).result("push");
    for word in ["copy", "copy.tar", "oci-layout:shop:0.1.0"] {
        let fault = machine.run(["--yes", "install", word]).fault("SOURCE_CHANGED", 30);
        assert_eq!(fault.details["from"], path, "{fault:?}");
        machine.run(["install", word, "--allow-source-change"]).fault("VERSION_REPLACED", 30);
        assert_eq!(digest(), before, "{word}");
    }
    // A link leads where it leads, whatever was there.
    fs::rename(&folder, machine.path("moved")).unwrap();
    std::os::unix::fs::symlink(machine.path("copy"), &folder).unwrap();
    for word in [path, "probe"] {
        machine.run(["install", word]).fault("SOURCE_CHANGED", 30);
    }
    let moved = ["install", "oci-layout:shop:0.1.0", "--allow-source-change", "--allow-replaced-version"];
    machine.run(moved).result("install");
    assert_ne!(digest(), before);
    machine.run(["install", "probe"]).result("install");
    // Nor is a folder what was a packed file, nor a packed file what was a folder.
    for (first, then) in [("file", "folder"), ("folder", "file")] {
        let machine = Machine::new();
        let folder = package::copy(&machine, "folder");
        machine.run(["pack", "folder", "--output", "file"]).result("pack");
        fs::write(folder.join("app/more.txt"), "more").unwrap();
        fs::rename(machine.path(first), machine.path("place")).unwrap();
        machine.run(["--yes", "install", "./place"]).result("install");
        fs::rename(machine.path("place"), machine.path("gone")).unwrap();
        fs::rename(machine.path(then), machine.path("place")).unwrap();
        machine.run(["--yes", "install", "./place"]).fault("VERSION_REPLACED", 30);
    }
}

#[test]
fn an_update_by_slug_replaces_no_other_package() {
    let machine = Machine::new();
    let (one, other) = (package::copy(&machine, "one"), package::copy(&machine, "other"));
    let rename = |folder: &Path| {
        edit(folder, "slug: probe", "slug: other");
        described(folder, |contract| contract["name"] = json!("other"));
    };
    rename(&other);
    for path in ["one", "other"] {
        machine.run(["--yes", "install", path]).result("install");
    }
    let before = machine.run(["catalog"]).result("catalog");
    // What is there now says that it is the other one.
    rename(&one);
    for line in [&["install", "probe"][..], &["--yes", "install", "installed:probe", "--allow-source-change"]] {
        let fault = machine.run(line).fault("PACKAGE_NOT_FOUND", 20);
        assert!(fault.message.contains("other is there now"), "{fault:?}");
        assert_eq!(machine.run(["catalog"]).result("catalog"), before);
    }
}

#[test]
fn a_cloned_repository_takes_nobodys_data() {
    let machine = Machine::new();
    machine.run(["push", &todo(), "oci-layout:shop"]).result("push");
    machine.run(["install", "oci-layout:shop:0.2.0"]).result("install");
    machine.guest(&["todo", "add", SECRET]).answer();
    // A stranger's repository: an application that calls itself the same, in a version of its own, and a lock of it.
    let stranger = Machine::new();
    let folder = package::copy_todo(&stranger, "todo");
    set_version(&folder, "0.2.0", "0.0.1");
    stranger.run(["install", "todo"]).result("install");
    stranger.run(["install", "--lock"]).result("install");
    fs::create_dir(machine.path("clone")).unwrap();
    package::copy_folder(&folder, &machine.path("clone/todo"));
    fs::copy(stranger.path("hutch.lock"), machine.path("clone/hutch.lock")).unwrap();
    let pin = || fs::read(machine.home().join("packages/todo/pin.json")).unwrap();
    let before = pin();
    machine.run(["install", "clone/todo"]).fault("SOURCE_CHANGED", 30);
    let by_lock = ["install", "--file", "clone/hutch.lock"];
    for more in
        [&[][..], &["--yes"], &["--yes", "--allow-signer-change", "--allow-replaced-version"], &["--prune", "--yes"]]
    {
        machine.run([&by_lock[..], more].concat()).fault("SOURCE_CHANGED", 30);
        assert_eq!(pin(), before, "{more:?}");
    }
    // Nor where nobody can tell whose it is.
    let path = machine.home().join("packages/todo/pin.json");
    fs::write(&path, "{").unwrap();
    machine.run([&["--yes"][..], &by_lock].concat()).fault("STORE_DAMAGED", 50);
    machine.run(["--yes", "install", "clone/todo"]).fault("STORE_DAMAGED", 50);
    assert_eq!(pin(), b"{");
    fs::write(&path, before).unwrap();
    // Nor once it was removed, as long as there is something that it kept.
    machine.run(["--yes", "remove", "todo"]).result("remove");
    for more in [&[][..], &["--yes"]] {
        machine.run([more, &by_lock].concat()).fault("SOURCE_CHANGED", 30);
        machine.run([more, &["install", "clone/todo"]].concat()).fault("SOURCE_CHANGED", 30);
    }
    assert_eq!(machine.run(["catalog"]).result("catalog")["items"], json!([]));
    // Whose word it is may say it.
    machine.run([&by_lock[..], &["--allow-source-change"][..]].concat()).result("install");
    assert!(machine.guest(&["todo", "list"]).answer().to_string().contains(SECRET));
}

#[test]
fn a_slug_is_whose_it_was_whatever_became_of_its_state() {
    let machine = Machine::new();
    let other = package::copy_todo(&machine, "other").display().to_string();
    machine.run(["install", &todo()]).result("install");
    machine.guest(&["installed:todo", "add", SECRET]).answer();
    machine.run(["--yes", "remove", "todo"]).result("remove");
    machine.run(["install", &other]).fault("SOURCE_CHANGED", 30);
    // From where it was it is what it was.
    machine.run(["install", &todo()]).result("install");
    assert!(machine.guest(&["installed:todo", "list"]).answer().to_string().contains(SECRET));
    machine.run(["--yes", "remove", "todo"]).result("remove");
    machine.run(["--yes", "instance", "purge", "todo"]).result("instance purge");
    machine.run(["install", &other]).fault("SOURCE_CHANGED", 30);
    machine.run(["install", "--allow-source-change", &other]).result("install");
    assert!(!machine.guest(&["installed:todo", "list"]).answer().to_string().contains(SECRET));
}

#[test]
fn a_refusal_beside_a_removed_version_says_that_it_is_removed() {
    let machine = Machine::new();
    package::copy(&machine, "package");
    machine.run(["sign", "--new-key", "mine"]).result("sign");
    machine.run(["pack", "package", "--output", PLACE]).result("pack");
    machine.run(["sign", PLACE, "--key", "mine"]).result("sign");
    machine.run(["--yes", "install", PLACE, "--key", "mine.pub"]).result("install");
    fs::remove_file(machine.path(&format!("{PLACE}.sigstore.json"))).unwrap();
    let refused = || machine.run(["--yes", "install", PLACE]).fault("SIGNER_CHANGED", 30).message;
    assert!(refused().contains("the installed version was signed by"), "{}", refused());
    machine.run(["--yes", "remove", "probe"]).result("remove");
    assert!(refused().contains("the removed version was signed by"), "{}", refused());
}

#[test]
fn what_is_judged_is_what_is_installed_whatever_a_place_is_by_now() {
    let machine = Machine::new();
    machine.run(["push", &todo(), "oci-layout:shop"]).result("push");
    std::os::unix::fs::symlink(machine.path("shop"), machine.path("link")).unwrap();
    let real = format!("oci-layout:{}", machine.path("shop").canonicalize().unwrap().display());
    // A pin says where the package is from without links, by whatever way it came.
    let installed = machine.run(["install", "oci-layout:link:0.2.0"]).result("install");
    assert!(installed["source"].as_str().unwrap().starts_with(&real), "{installed}");
    machine.run(["install", "--lock"]).result("install");
    let lock = fs::read_to_string(machine.path("hutch.lock")).unwrap();
    machine.write("hutch.lock", lock.replace("oci-layout:shop", "oci-layout:link"));
    assert_eq!(machine.run(["install", "--check"]).result("install")["changed"], false);
    machine.run(["--yes", "remove", "todo"]).result("remove");
    machine.run(["install"]).result("install");
    let source = machine.run(["catalog"]).result("catalog")["items"][0]["provenance"].clone();
    assert!(source.as_str().unwrap().starts_with(&real), "{source}");
    // The rule for that place holds for it, whatever leads there or from there later.
    machine.run(["trust", "add", "--require", "trusted", "oci-layout:shop"]).result("trust add");
    machine.guest(&["todo", "list"]).fault("TRUST_REQUIRED", 30);
    fs::rename(machine.path("shop"), machine.path("moved")).unwrap();
    std::os::unix::fs::symlink(machine.path("moved"), machine.path("shop")).unwrap();
    machine.guest(&["todo", "list"]).fault("TRUST_REQUIRED", 30);
}

#[test]
fn what_signs_a_package_stands_beside_it_and_nowhere_else() {
    let machine = Machine::new();
    let folder = package::copy(&machine, "apps/probe");
    machine.run(["sign", "--new-key", "mine"]).result("sign");
    // In the working folder, where somebody else's file may lie.
    for stray in ["probe-0.1.0.tar.sigstore.json", "probe.sigstore.json", "apps/probe-0.1.0.tar.sigstore.json"] {
        machine.write(stray, "{}");
    }
    machine.run(["check", "apps/probe"]).result("check");
    machine.run(["--yes", "install", "apps/probe"]).result("install");
    machine.run(["install", "probe"]).result("install");
    let beside = "apps/probe.sigstore.json";
    let signed = machine.run(["sign", "apps/probe/", "--key", "mine"]).result("sign");
    assert_eq!(signed["place"], beside);
    machine.run(["install", "probe", "--key", "mine.pub"]).result("install");
    // A broken one is a failed check, with a key that is known and without.
    for broken in ["{}", "no json", ""] {
        machine.write(beside, broken);
        for line in [&["check", "apps/probe"][..], &["install", "probe"], &["check", "apps/probe"]] {
            machine.run(line).fault("SIGNATURE_INVALID", 30);
        }
    }
    fs::remove_file(machine.path(beside)).unwrap();
    machine.run(["sign", "apps/probe", "--key", "mine"]).result("sign");
    fs::write(folder.join("README.md"), "changed").unwrap();
    machine.run(["check", "apps/probe"]).fault("SIGNATURE_INVALID", 30);
}

/// A link is not signed, and nothing beside it says anything.
#[test]
fn what_signs_a_package_stands_beside_what_a_link_to_it_leads_to() {
    let machine = Machine::new();
    package::copy(&machine, "real/probe");
    machine.run(["sign", "--new-key", "mine"]).result("sign");
    machine.run(["pack", "real/probe", "--output", "real/probe.tar"]).result("pack");
    for name in ["probe", "probe.tar"] {
        std::os::unix::fs::symlink(machine.path("real").join(name), machine.path(name)).unwrap();
        machine.write(&format!("{name}.sigstore.json"), "{}");
        machine.run(["check", name]).result("check");
        let place = machine.run(["sign", name, "--key", "mine"]).result("sign")["place"].clone();
        assert!(place.as_str().is_some_and(|place| place.ends_with(&format!("real/{name}.sigstore.json"))), "{place}");
        let word = format!("./{name}");
        machine.run(["check", name, "--key", "mine.pub"]).result("check");
        let install = ["--yes", "--dry-run", "install", &word, "--key", "mine.pub"];
        assert_eq!(machine.run(install).document()["result"]["trust"], "signed");
        machine.write(&format!("real/{name}.sigstore.json"), "{}");
        for line in [["check", name], ["install", word.as_str()]] {
            machine.run(line).fault("SIGNATURE_INVALID", 30);
        }
    }
}

#[test]
fn a_packed_file_is_not_run_beside_a_broken_signature_once_anybody_is_believed() {
    let machine = Machine::new();
    package::copy(&machine, "package");
    machine.run(["sign", "--new-key", "mine"]).result("sign");
    machine.run(["pack", "package", "--output", PLACE]).result("pack");
    machine.run(["sign", PLACE, "--key", "mine"]).result("sign");
    let run = || machine.guest(&[PLACE, "return-ok"]);
    let bundle = machine.path(&format!("{PLACE}.sigstore.json"));
    let text = fs::read_to_string(&bundle).unwrap();
    // One bit of the signature: nobody who knows no key can tell.
    let mut flipped: Value = serde_json::from_str(&text).unwrap();
    let signature = flipped["dsseEnvelope"]["signatures"][0]["sig"].as_str().unwrap().to_owned();
    let other = if signature.as_bytes()[20] == b'A' { "B" } else { "A" };
    flipped["dsseEnvelope"]["signatures"][0]["sig"] = json!(format!("{}{other}{}", &signature[..20], &signature[21..]));
    fs::write(&bundle, flipped.to_string()).unwrap();
    run().answer();
    machine.run(["check", PLACE]).result("check");
    machine.run(["trust", "add", "me", "mine.pub"]).result("trust add");
    let entries = || machine.run(["ledger", "list", PLACE]).result("ledger list")["total"].clone();
    let before = entries();
    for line in [
        &["run", PLACE, "return-ok"][..],
        &["plan", PLACE, "return-ok"],
        &["validate", PLACE, "return-ok"],
        &["check", PLACE],
        &["pack", PLACE, "--output", "anew.tar"],
        &["push", PLACE, "oci-layout:shop"],
        &["sign", PLACE, "--key", "mine"],
        &["index", PLACE, "--output", "site"],
    ] {
        machine.run(line).fault("SIGNATURE_INVALID", 30);
    }
    for made in ["anew.tar", "shop", "site"] {
        assert!(!machine.path(made).exists(), "{made} was made");
    }
    assert_eq!(entries(), before, "something ran all the same");
    fs::write(&bundle, &text).unwrap();
    run().answer();
    // What is about something else can be told without a key, and counts where there is a rule.
    machine.run(["--yes", "trust", "remove", "me"]).result("trust remove");
    machine.run(["trust", "add", "--require", "unsigned", "oci://registry.example/*"]).result("trust add");
    run().answer();
    machine.write("package/app/more.txt", "more");
    machine.run(["pack", "package", "--output", "next.tar"]).result("pack");
    fs::copy(&bundle, machine.path("next.tar.sigstore.json")).unwrap();
    machine.guest(&["next.tar", "return-ok"]).fault("SIGNATURE_INVALID", 30);
}

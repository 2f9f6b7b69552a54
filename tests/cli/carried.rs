//! An instance as one file: written from one home and taken in by another, which believes nothing of it.

use crate::support::{FIXED, Machine, Ran, package, probe, todo};
use hutch_model::digest::{Digest, Kind};
use serde_json::{Value, json};
use std::fs;
use std::path::Path;

/// A machine with three items, one of them completed.
fn machine() -> Machine {
    let machine = Machine::new();
    for words in [&["add", "Write docs"][..], &["add", "Buy milk"], &["complete", "td_0001"], &["list"]] {
        machine.guest(&[&FIXED[..], &[&todo()], words].concat()).answer();
    }
    machine
}

fn head(machine: &Machine, package: &str) -> Value {
    let last = machine.run(["ledger", "show", package]).result("ledger show");
    json!({"sequence": last["sequence"], "hash": last["hash"], "head": last["head"]})
}

fn export(machine: &Machine, words: &[&str]) -> Value {
    machine.run([&["instance", "export"], words, &["todo"]].concat()).result("instance export")
}

#[test]
fn an_instance_goes_to_another_home_and_on_from_there() {
    let (one, other) = (machine(), Machine::new());
    let exported = export(&one, &["--output", "bundle"]);
    assert_eq!((&exported["entries"], &exported["last"]["hash"]), (&json!(5), &head(&one, "todo")["hash"]));
    #[cfg(unix)]
    {
        let mode = std::os::unix::fs::MetadataExt::mode(&fs::metadata(one.path("bundle")).unwrap());
        assert_eq!(mode & 0o777, 0o600, "it holds what nobody else may read in the home");
    }
    // The same ledger is the same bytes.
    export(&one, &["--output", "bundle"]);
    let bytes = fs::read(one.path("bundle")).unwrap();
    assert_eq!(exported["bytes"], json!(bytes.len()));
    other.write("bundle", &bytes);
    let import = |words: &[&str]| other.run([&["instance", "import", "--input", "bundle"], words, &[&todo()]].concat());
    // A preview verifies it, and makes nothing.
    let preview = import(&["--dry-run"]).answer();
    assert_eq!((&preview["result"]["entries"], &preview["result"]["equal"]), (&json!(5), &json!(4)));
    other.run(["ledger", "show", "todo"]).fault("NOT_FOUND", 20);
    let taken = import(&["--ring", "auto"]).result("instance import");
    assert_eq!((&taken["entries"], &taken["last"]["hash"]), (&json!(5), &head(&one, "todo")["hash"]));
    assert_eq!(head(&other, "todo"), head(&one, "todo"));
    assert_eq!(other.todo(&["list"]).answer()["items"], one.todo(&["list"]).answer()["items"]);
    other.run(["verify", "--all", &todo()]).result("verify");
    // What came later follows, without what was there.
    other.todo(&["add", "From the other home"]).answer();
    other.run(["instance", "export", "--after", "@5", "--output", "more", "todo"]).result("instance export");
    let more = fs::read(other.path("more")).unwrap();
    assert!(more.len() < bytes.len());
    one.write("more", more);
    let forked = one.run(["instance", "import", "--input", "more", &todo()]);
    assert!(forked.fault("CONFLICT", 30).message.contains("entry 6"), "it listed something of its own meanwhile");
    let third = Machine::new();
    third.write("bundle", &bytes);
    third.write("more", fs::read(other.path("more")).unwrap());
    third.run(["instance", "import", "--input", "more", &todo()]).fault("STORE_DAMAGED", 50);
    third.run(["instance", "import", "--input", "bundle", &todo()]).result("instance import");
    let rest = third.run(["instance", "import", "--input", "more", &todo()]).result("instance import");
    assert_eq!((&rest["entries"], head(&third, "todo")), (&json!(2), head(&other, "todo")));
    let again = third.run(["instance", "import", "--input", "more", &todo()]).result("instance import");
    assert_eq!((&again["entries"], &again["last"]), (&json!(0), &Value::Null));
}

#[test]
fn no_changed_byte_is_taken_in() {
    let one = machine();
    export(&one, &["--output", "bundle"]);
    let bytes = fs::read(one.path("bundle")).unwrap();
    let other = Machine::new();
    let refused = |bytes: &[u8]| {
        other.write("bundle", bytes);
        other.run(["instance", "import", "--input", "bundle", &todo()]).fault("STORE_DAMAGED", 50);
        other.run(["ledger", "show", "todo"]).fault("NOT_FOUND", 20);
    };
    for at in (0..bytes.len()).step_by(bytes.len() / 40) {
        let mut changed = bytes.clone();
        changed[at] ^= 1;
        refused(&changed);
    }
    for length in [1, 15, bytes.len() / 2, bytes.len() - 1] {
        refused(&bytes[..length]);
    }
}

/// A whole bundle, by its digest, of one entry that would take memory a hundredfold if it were read.
#[test]
fn an_entry_that_is_longer_than_any_is_refused_unread() {
    let machine = Machine::new();
    let entry = format!("{{\"sequence\":1,\"more\":[{}0]}}", "0,".repeat(200_000));
    let item = [b"E", &(entry.len() as u64).to_le_bytes()[..], entry.as_bytes()].concat();
    let digest = Digest::of(Kind::Artifact, &item);
    let parts = [b"hutch-bundle-1\n", &(item.len() as u64).to_le_bytes()[..], &item, digest.as_bytes()];
    machine.write("bundle", parts.concat());
    let fault = machine.run(["instance", "import", "--input", "bundle", &todo()]).fault("STORE_DAMAGED", 50);
    assert!(fault.message.contains("is longer than any entry"), "{fault:?}");
}

#[test]
fn what_another_package_made_is_not_taken_in() {
    let one = machine();
    one.run(["run", "--instance", "made", &probe(), "return-ok"]);
    export(&one, &["--output", "bundle"]);
    for ring in ["auto", "off"] {
        let words = ["--ring", ring, "--input", "bundle", "--instance", "new", &probe()];
        one.run([&["instance", "import"], &words[..]].concat()).fault("NOT_REPRODUCIBLE", 1);
        // Nor does an empty instance stay, or anything that is in the way of one.
        one.run(["ledger", "list", "--instance", "new", &probe()]).fault("NOT_FOUND", 20);
        let known = one.run(["instance", "list", "--query", "items[*].instance"]).stdout;
        assert!(known.contains("default") && !known.contains("new"), "{known}");
        one.run(["instance", "copy", "--instance", "made", &probe(), "new"]).result("instance copy");
        one.run(["instance", "purge", "--yes", "--instance", "new", &probe()]).result("instance purge");
    }
    one.run(["instance", "import", "--input", "nowhere", &todo()]).fault("NOT_FOUND", 20);
    one.write("taken", "something");
    one.run(["instance", "export", "--output", "taken", "todo"]).fault("ALREADY_EXISTS", 30);
    assert_eq!(fs::read(one.path("taken")).unwrap(), b"something");
}

/// The files of an export in parts.
fn parts(machine: &Machine, words: &[&str]) -> Vec<String> {
    let exported = export(machine, &[&["--output", "part"][..], words].concat());
    let files: Vec<String> =
        exported["files"].as_array().unwrap().iter().map(|it| it.as_str().unwrap().into()).collect();
    let bytes: u64 = files.iter().map(|file| fs::metadata(machine.path(file)).unwrap().len()).sum();
    assert_eq!(exported["bytes"], json!(bytes));
    files
}

fn import_all(machine: &Machine, files: &[String], words: &[&str]) -> crate::support::Ran {
    let inputs: Vec<&str> = files.iter().flat_map(|file| ["--input", file.as_str()]).collect();
    machine.run([&["instance", "import"], &inputs[..], words, &[&todo()]].concat())
}

#[test]
fn an_instance_goes_in_parts_and_comes_to_the_same() {
    let (one, other) = (machine(), Machine::new());
    for number in 0..6 {
        one.todo(&["add", &format!("item {number}"), "--description", &"long ".repeat(200)]).answer();
    }
    let files = parts(&one, &["--part-bytes", "12kB"]);
    assert!(files.len() > 3, "{files:?}");
    assert_eq!((files[0].as_str(), files[2].as_str()), ("part.0001", "part.0003"));
    let mut longest = 0;
    for file in &files {
        let bytes = fs::read(one.path(file)).unwrap();
        longest = longest.max(bytes.len());
        other.write(file, bytes);
    }
    assert!(longest <= 12_000, "{longest}");
    // The same ledger is the same files.
    assert_eq!(parts(&one, &["--part-bytes", "12kB"]), files);
    // A preview takes all of them one over the other, and keeps none.
    let preview = import_all(&other, &files, &["--dry-run"]).document();
    assert_eq!(preview["result"]["entries"], json!(11));
    other.run(["ledger", "show", "todo"]).fault("NOT_FOUND", 20);
    let taken = import_all(&other, &files, &[]).result("instance import");
    assert_eq!((&taken["entries"], &taken["last"]["hash"]), (&json!(11), &head(&one, "todo")["hash"]));
    assert_eq!(head(&other, "todo"), head(&one, "todo"));
    assert_eq!(other.todo(&["list"]).answer()["items"], one.todo(&["list"]).answer()["items"]);
    other.run(["verify", "--all", &todo()]).result("verify");
    // Up to an entry and on from there are two parts too.
    one.run(["instance", "export", "--to", "@2", "--after", "@3", "--output", "none", "todo"]).fault("USAGE", 2);
    let two = |words: &[&str]| export(&one, words)["entries"].clone();
    assert_eq!(two(&["--to", "@4", "--output", "up-to"]), json!(4));
    assert_eq!(two(&["--to", "@9", "--after", "@4", "--output", "on-from"]), json!(5));
    let third = Machine::new();
    for file in ["up-to", "on-from"] {
        third.write(file, fs::read(one.path(file)).unwrap());
    }
    let joined = import_all(&third, &["up-to".to_owned(), "on-from".to_owned()], &[]).result("instance import");
    assert_eq!((&joined["entries"], &head(&third, "todo")["sequence"]), (&json!(9), &json!(9)));
    third.run(["verify", "--all", &todo()]).result("verify");
}

#[test]
fn parts_are_taken_in_their_order_and_one_that_is_refused_ends_it() {
    let one = machine();
    let files = parts(&one, &["--part-bytes", "1B"]);
    assert_eq!(files.len(), 5, "one entry stays whole");
    let third = fs::read(one.path(&files[2])).unwrap();
    for at in [0, 20, third.len() / 2, third.len() - 1] {
        let other = Machine::new();
        for file in &files {
            other.write(file, fs::read(one.path(file)).unwrap());
        }
        let mut changed = third.clone();
        changed[at] ^= 1;
        other.write(&files[2], changed);
        import_all(&other, &files, &[]).fault("STORE_DAMAGED", 50);
        // What was before it is there, whole, and the rest follows once it is mended.
        assert_eq!(head(&other, "todo")["sequence"], json!(2));
        other.run(["verify", "--all", &todo()]).result("verify");
        other.write(&files[2], &third);
        let rest = import_all(&other, &files, &[]).result("instance import");
        assert_eq!((&rest["entries"], head(&other, "todo")), (&json!(3), head(&one, "todo")));
    }
    let other = Machine::new();
    for file in &files {
        other.write(file, fs::read(one.path(file)).unwrap());
    }
    let mut turned = files.clone();
    turned.swap(1, 2);
    import_all(&other, &turned, &[]).fault("STORE_DAMAGED", 50);
    assert_eq!(head(&other, "todo")["sequence"], json!(1));
}

#[test]
fn a_head_that_was_written_down_shows_that_the_end_of_a_file_is_gone() {
    let one = machine();
    let written = head(&one, "todo")["head"].as_str().unwrap().to_owned();
    export(&one, &["--output", "whole"]);
    export(&one, &["--to", "@3", "--output", "cut"]);
    let other = Machine::new();
    for file in ["whole", "cut"] {
        other.write(file, fs::read(one.path(file)).unwrap());
    }
    let import = |file: &str, head: &str| other.run(["instance", "import", "--input", file, "--head", head, &todo()]);
    let fault = import("cut", &written).fault("STORE_DAMAGED", 50);
    assert!(fault.message.contains("it ends with entry 3"), "{fault:?}");
    let another = format!("2:{}", "0".repeat(64));
    assert!(import("whole", &another).fault("STORE_DAMAGED", 50).message.contains("entry 2"));
    import("whole", "5").fault("USAGE", 2);
    other.run(["ledger", "show", "todo"]).fault("NOT_FOUND", 20);
    import("whole", &written).result("instance import");
    assert_eq!(head(&other, "todo")["head"], json!(written));
}

/// A machine where two versions of the installed probe ran.
fn two_versions() -> Machine {
    let machine = Machine::new();
    let folder = package::copy(&machine, "package");
    machine.run(["install", "--yes", "./package"]).result("install");
    machine.guest(&["probe", "write-text", "state/a", "by the first"]).answer();
    later(&folder);
    machine.run(["install", "./package"]).result("install");
    machine.guest(&["probe", "write-text", "state/b", "by the second"]).answer();
    machine
}

/// Makes the next version of a package, with another component.
fn later(folder: &Path) {
    for file in ["APP.md", "schemas/commands.json"].map(|name| folder.join(name)) {
        let text = fs::read_to_string(&file).unwrap();
        fs::write(&file, text.replacen("0.1.0", "0.1.1", 1)).unwrap();
    }
    let path = folder.join("app/app.wasm");
    let component = fs::read(&path).unwrap();
    // The same with a section that says nothing.
    fs::write(&path, [component.as_slice(), b"\0\x05\x04test"].concat()).unwrap();
}

#[test]
fn an_instance_is_proved_where_its_package_is_not_by_the_one_that_goes_along() {
    let one = two_versions();
    let exported = |words: &[&str]| {
        one.run([&["instance", "export", "--output"], words, &["probe"]].concat()).result("instance export");
        fs::read(one.path(words[0])).unwrap()
    };
    let (alone, carrying) = (exported(&["alone"]), exported(&["carrying", "--packages"]));
    assert!(alone.starts_with(b"hutch-bundle-1\n") && carrying.starts_with(b"hutch-bundle-2\n"));
    assert_eq!(exported(&["carrying", "--packages"]), carrying);
    let other = Machine::new();
    other.write("alone", &alone);
    other.write("carrying", &carrying);
    let import = |file: &str, words: &[&str]| other.run([&["instance", "import", "--input", file], words].concat());
    import("alone", &["probe"]).fault("PACKAGE_NOT_FOUND", 20);
    import("carrying", &["another"]).fault("PACKAGE_NOT_FOUND", 20);
    // A rule that lets nothing run that nobody signed lets nothing of it run.
    other.run(["trust", "add", "--require", "unsigned", "*"]).result("trust add");
    import("carrying", &["probe"]).fault("TRUST_REQUIRED", 30);
    other.run(["--yes", "trust", "remove", "*"]).result("trust remove");
    other.run(["ledger", "show", "probe"]).fault("NOT_FOUND", 20);
    let taken = import("carrying", &["probe"]).result("instance import");
    assert_eq!((&taken["equal"], &taken["last"]["hash"]), (&json!(2), &head(&one, "probe")["hash"]));
    let plain = other.home().join("instances/probe/default/state/b");
    assert_eq!(fs::read_to_string(plain).unwrap(), "by the second");
    assert!(!other.home().join("packages").exists(), "something was installed");
    // Who has another version of it needs the others too.
    let third = Machine::new();
    third.write("carrying", &carrying);
    let taken = third.run(["instance", "import", "--ring", "auto", "--input", "carrying", &probe()]);
    assert_eq!(taken.result("instance import")["last"]["hash"], head(&one, "probe")["hash"]);
    // No byte of what goes along can be another one.
    for at in (20..carrying.len() - alone.len()).step_by(carrying.len() / 12) {
        let mut changed = carrying.clone();
        changed[at] ^= 1;
        third.write("changed", changed);
        let words = ["instance", "import", "--instance", "new", "--input", "changed", "probe"];
        third.run(words).fault("STORE_DAMAGED", 50);
    }
    // What is not here can't go along.
    third.run(["instance", "export", "--packages", "--output", "more", &probe()]).fault("NOT_REPRODUCIBLE", 1);
    assert!(!third.path("more").exists());
}

/// A bundle whose digests are right, with a package in it that did not do what the entries tell.
#[test]
fn a_package_that_somebody_put_along_makes_no_runs_but_its_own() {
    let one = machine();
    let alone = {
        export(&one, &["--output", "alone"]);
        fs::read(one.path("alone")).unwrap()
    };
    one.run(["pack", "--output", "probe.tar", &probe()]).result("pack");
    let packed = fs::read(one.path("probe.tar")).unwrap();
    let entries = &alone[23..alone.len() - 32];
    let forge = |magic: &[u8], letter: u8| {
        let item = [&[letter][..], &(packed.len() as u64).to_le_bytes(), &packed].concat();
        let content = [&item, entries].concat();
        let digest = Digest::of(Kind::Artifact, &content);
        [magic, &(content.len() as u64).to_le_bytes(), &content, digest.as_bytes()].concat()
    };
    let other = Machine::new();
    let refused = |bytes: Vec<u8>, code: &str, status: i32, package: &str| {
        other.write("bundle", bytes);
        other.run(["instance", "import", "--input", "bundle", package]).fault(code, status);
        other.run(["ledger", "show", "todo"]).fault("NOT_FOUND", 20);
    };
    refused(forge(b"hutch-bundle-2\n", b'P'), "NOT_REPRODUCIBLE", 1, "probe");
    other.run(["ledger", "show", "probe"]).fault("NOT_FOUND", 20);
    refused(forge(b"hutch-bundle-2\n", b'P'), "PACKAGE_NOT_FOUND", 20, "todo");
    // Readers of the first form know no packages, and none slips in there.
    refused(forge(b"hutch-bundle-1\n", b'P'), "STORE_DAMAGED", 50, &todo());
    refused(forge(b"hutch-bundle-2\n", b'Q'), "STORE_DAMAGED", 50, &todo());
    refused(forge(b"hutch-bundle-3\n", b'P'), "STORE_DAMAGED", 50, &todo());
    // Beside the package itself it is one more, which nothing asks for.
    other.write("bundle", forge(b"hutch-bundle-2\n", b'P'));
    other.run(["instance", "import", "--input", "bundle", &todo()]).result("instance import");
    assert_eq!(head(&other, "todo"), head(&one, "todo"));
}

#[test]
fn what_an_installed_packages_earlier_version_did_is_taken_in_where_that_is_kept() {
    let one = two_versions();
    let other = Machine::new();
    let folder = package::copy(&other, "package");
    other.run(["install", "--yes", "./package"]).result("install");
    later(&folder);
    other.run(["install", "./package"]).result("install");
    one.run(["instance", "export", "--output", "bundle", "probe"]).result("instance export");
    let bytes = fs::read(one.path("bundle")).unwrap();
    other.write("bundle", &bytes);
    let taken = other.run(["instance", "import", "--input", "bundle", "probe"]).result("instance import");
    assert_eq!(taken["last"]["hash"], head(&one, "probe")["hash"]);
    // Who has the later version alone can't make the first one's run again.
    let third = Machine::new();
    package::copy_folder(&folder, &third.path("package"));
    third.run(["install", "--yes", "./package"]).result("install");
    third.write("bundle", &bytes);
    third.run(["instance", "import", "--input", "bundle", "probe"]).fault("NOT_REPRODUCIBLE", 1);
    third.run(["ledger", "show", "probe"]).fault("NOT_FOUND", 20);
}

/// A file holds no secret, and what stands for one is hashed under a key that nobody else has: what a run comes to with it is what shows it.
#[test]
fn a_run_that_was_given_a_secret_is_made_again_by_who_gives_it_too() {
    let (one, other) = (Machine::new(), Machine::new());
    let asks = "    env:\n      - TOKEN\n    state:\n";
    let asking =
        |machine: &Machine| package::with_manifest(machine, "package", "    state:\n", asks).display().to_string();
    let (here, there) = (asking(&one), asking(&other));
    let with = |machine: &Machine, value: &str, words: &[&str]| Ran::of(machine.hutch(words).env("TOKEN", value));
    for words in [&["env"][..], &["write-text", "state/a", "x"]] {
        let call = ["run", "--secret", "TOKEN", "--contract", "any", here.as_str()];
        with(&one, "correct-horse", &[&call[..], words].concat()).answer();
    }
    one.run(["instance", "export", "--output", "bundle", &here]).result("instance export");
    other.write("bundle", fs::read(one.path("bundle")).unwrap());
    let import = |value: &str, given: &[&str]| {
        with(&other, value, &[&["instance", "import", "--input", "bundle"], given, &[there.as_str()]].concat())
    };
    let fault = import("correct-horse", &[]).fault("NOT_REPRODUCIBLE", 1);
    assert!(fault.message.contains("entry 3") && fault.message.contains("the secret TOKEN"), "{fault:?}");
    import("battery-staple", &["--secret", "TOKEN"]).fault("VERIFY_FAILED", 1);
    other.run(["ledger", "show", "probe"]).fault("NOT_FOUND", 20);
    let taken = import("correct-horse", &["--secret", "TOKEN"]).result("instance import");
    let counts = json!([taken["entries"], taken["equal"], taken["not_reproducible"], taken["as_told"]]);
    assert_eq!(counts, json!([3, 2, 0, 0]));
    assert_eq!(head(&other, "probe"), head(&one, "probe"));
    // No run is made of a volume's files.
    let of_a_volume = ["instance", "import", "--volume", "state", "--secret", "TOKEN", "--input", ".", &there];
    other.run(of_a_volume).fault("USAGE", 2);
}

/// What `gc` dropped is told by number and taken as told; all behind it is proved, and goes on.
#[test]
fn an_instance_goes_to_another_home_after_its_old_states_were_dropped() {
    let (one, other) = (machine(), Machine::new());
    export(&one, &["--to", "@2", "--output", "begins"]);
    one.run(["gc", "--yes", "--keep", "1", "todo"]).result("gc");
    one.todo(&["add", "Buy bread"]).answer();
    let exported = export(&one, &["--output", "bundle"]);
    assert_eq!((&exported["entries"], &exported["dropped"]), (&json!(7), &json!(4)));
    let files = parts(&one, &["--part-bytes", "1B"]);
    assert_eq!(files.len(), 3, "what has no states stays with the first entry that has");
    for file in files.iter().map(String::as_str).chain(["begins", "bundle"]) {
        other.write(file, fs::read(one.path(file)).unwrap());
    }
    let import = |instance: &str, file: &str| {
        other.run(["instance", "import", "--instance", instance, "--input", file, &todo()])
    };
    let taken = import("default", "bundle").result("instance import");
    let counts = json!([taken["entries"], taken["dropped"], taken["as_told"], taken["equal"]]);
    assert_eq!(counts, json!([7, 4, 4, 2]));
    assert_eq!(head(&other, "todo"), head(&one, "todo"));
    other.run(["doctor", "todo"]).result("doctor");
    other.run(["undo", "todo"]).result("undo");
    let listed = other.todo(&["list"]).answer()["items"].to_string();
    assert!(listed.contains("Buy milk") && !listed.contains("Buy bread"), "{listed}");
    let joined = import_all(&other, &files, &["--instance", "joined"]).result("instance import");
    assert_eq!((&joined["entries"], &joined["dropped"]), (&json!(7), &json!(4)));
    // Who has some of the entries keeps their states, and a part stands on states.
    import("begun", "begins").result("instance import");
    let fault = import("begun", "bundle").fault("NOT_FOUND", 20);
    assert!(fault.details["kept_from"] == 5 && fault.suggestion.contains("--after @4"), "{fault:?}");
    for words in [["--after", "@2"], ["--to", "@3"]] {
        let fault = one.run([&["instance", "export", "--output", "none"], &words[..], &["todo"]].concat());
        assert_eq!(fault.fault("NOT_FOUND", 20).details["kept_from"], 5, "{words:?}");
    }
    assert_eq!(export(&one, &["--after", "@4", "--output", "rest"])["dropped"], 0);
}

/// What an earlier version was granted when it was installed its runs may take, and no others.
#[test]
fn what_an_earlier_version_was_granted_its_runs_may_take() {
    let one = Machine::new();
    let folder = package::copy(&one, "package");
    let manifest = |from: &str, to: &str| {
        let text = fs::read_to_string(folder.join("APP.md")).unwrap();
        assert!(text.contains(from));
        fs::write(folder.join("APP.md"), text.replacen(from, to, 1)).unwrap();
    };
    let (plain, asking) = ("\n  hutch:\n", "\n  hutch:\n    limits: {memory_bytes: 1GiB}\n");
    manifest(plain, asking);
    one.run(["install", "--yes", "./package"]).result("install");
    one.guest(&["probe", "write-text", "state/a", "by the first"]).answer();
    manifest(asking, plain);
    later(&folder);
    one.run(["install", "./package"]).result("install");
    one.guest(&["probe", "write-text", "state/b", "by the second"]).answer();
    one.run(["instance", "export", "--output", "bundle", "probe"]).result("instance export");
    let into = |machine: &Machine, words: &[&str]| {
        machine.run([&["instance", "import", "--instance", "taken", "--input", "bundle"], words, &["probe"]].concat())
    };
    assert_eq!(into(&one, &[]).result("instance import")["equal"], 2);
    // Where that version is not, nobody granted it anything.
    let other = Machine::new();
    package::copy_folder(&folder, &other.path("package"));
    other.run(["install", "--yes", "./package"]).result("install");
    other.write("bundle", fs::read(one.path("bundle")).unwrap());
    let fault = into(&other, &[]).fault("MEMORY_LIMIT", 42);
    assert_eq!(fault.details["limit"], "memory_bytes", "{fault:?}");
    into(&other, &["--limit", "memory_bytes=1GiB"]).fault("NOT_REPRODUCIBLE", 1);
}

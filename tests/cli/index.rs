//! Catalogues as folders: what is read to make one, what is written, and what is found in one without its packages.

use crate::support::package::copy_folder;
use crate::support::{Machine, package, todo};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::path::Path;

/// A machine with two versions of the probe and the to-do package in one repository.
fn stocked() -> Machine {
    let machine = Machine::new();
    machine.run(["push", &todo(), "oci-layout:shop"]).result("push");
    for version in ["0.1.0", "0.9.0"] {
        let probe = package::copy(&machine, version);
        // All that says the version; in the component too, where behind an @ the interface's stands.
        for file in ["APP.md", "schemas/commands.json", "app/app.wasm"].map(|name| probe.join(name)) {
            let mut bytes = std::fs::read(&file).unwrap();
            for at in 1..bytes.len() - 5 {
                if bytes[at..].starts_with(b"0.1.0") && bytes[at - 1] != b'@' {
                    bytes[at..at + 5].copy_from_slice(version.as_bytes());
                }
            }
            std::fs::write(&file, bytes).unwrap();
        }
        machine.run(["push", probe.to_str().unwrap(), "oci-layout:shop"]).result("push");
    }
    machine
}

fn build(machine: &Machine, source: &str) -> Value {
    machine.run(["index", source, "--output", "catalogue"]).result("index")
}

fn document(machine: &Machine) -> Value {
    serde_json::from_slice(&std::fs::read(machine.path("catalogue/index.json")).unwrap()).unwrap()
}

/// Every file below a folder.
fn files(folder: &Path) -> BTreeMap<String, Vec<u8>> {
    let mut found = BTreeMap::new();
    for entry in std::fs::read_dir(folder).unwrap().map(Result::unwrap) {
        let name = entry.file_name().into_string().unwrap();
        match entry.file_type().unwrap().is_dir() {
            true => {
                found.extend(files(&entry.path()).into_iter().map(|(path, bytes)| (format!("{name}/{path}"), bytes)))
            }
            false => drop(found.insert(name, std::fs::read(entry.path()).unwrap())),
        }
    }
    found
}

/// What is below the machine's folder, by name.
fn names(machine: &Machine) -> Vec<String> {
    let mut names: Vec<String> = std::fs::read_dir(machine.path("."))
        .unwrap()
        .map(|one| one.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}

#[test]
fn a_repository_is_catalogued_by_its_texts_alone() {
    let machine = stocked();
    // No component is there to be fetched.
    for (path, bytes) in files(&machine.path("shop")) {
        if bytes.starts_with(b"\0asm") {
            std::fs::remove_file(machine.path("shop").join(path)).unwrap();
        }
    }
    machine.run(["pack", "oci-layout:shop:0.2.0"]).fault("ARTIFACT_INVALID", 46);
    let result = build(&machine, "oci-layout:shop");
    let told: Vec<(&Value, Vec<&Value>)> = result["packages"]
        .as_array()
        .unwrap()
        .iter()
        .map(|package| {
            let releases = package["releases"].as_array().unwrap();
            (&package["slug"], releases.iter().map(|release| &release["version"]).collect())
        })
        .collect();
    assert_eq!(json!(told), json!([["probe", ["0.9.0", "0.1.0"]], ["todo", ["0.2.0"]]]));
    let document = document(&machine);
    assert_eq!(document["schema"], "hutch/index@0.1");
    let package = &document["packages"][1];
    assert_eq!(package["grants"], json!(["guard:text", "state:state"]));
    assert_eq!(package["commands"][0]["parameters"][0]["valueType"], "string");
    let release = &package["releases"][0];
    let reference = release["reference"].as_str().unwrap();
    assert_eq!(reference, format!("oci-layout:shop:0.2.0@{}", release["manifest"].as_str().unwrap()));
    assert_eq!(release["trust"], "unsigned");
    let pages = files(&machine.path("catalogue"));
    let expect = ["index.html", "index.json", "packages/probe.html", "packages/todo.html", "style.css"];
    assert_eq!(pages.keys().map(String::as_str).collect::<Vec<_>>(), expect);
    assert!(String::from_utf8_lossy(&pages["packages/todo.html"]).contains(reference));
}

#[test]
fn an_index_follows_from_its_sources_and_one_tag_is_one_package() {
    let (one, other) = (stocked(), stocked());
    assert_eq!(build(&one, "oci-layout:shop")["changed"], true);
    assert_eq!(build(&one, "oci-layout:shop")["changed"], false);
    build(&other, "oci-layout:shop");
    assert_eq!(files(&one.path("catalogue")), files(&other.path("catalogue")));
    // A package on this machine is what it would be in a repository.
    let pushed = document(&one)["packages"][1].clone();
    assert_eq!(build(&one, &todo())["changed"], true);
    let local = document(&one)["packages"][0].clone();
    for field in ["version", "manifest", "digest", "bytes"] {
        assert_eq!(local["releases"][0][field], pushed["releases"][0][field], "{field}");
    }
    assert_eq!((&local["commands"], &local["releases"][0]["trust"]), (&pushed["commands"], &json!("local")));
    let result = build(&one, "oci-layout:shop:0.1.0");
    assert_eq!(result["packages"].as_array().unwrap().len(), 1);
    assert_eq!(result["packages"][0]["releases"].as_array().unwrap().len(), 1);
    assert!(!names(&one).iter().any(|name| name.starts_with('.') && name.contains("catalogue")), "left aside");
}

#[test]
fn an_index_answers_as_its_package_does_and_opens_none() {
    let machine = Machine::new();
    copy_folder(Path::new(&todo()), &machine.path("apps/todo"));
    build(&machine, "apps");
    let questions = ["erase", "remind me of a task", "buy milk"];
    let asked = |place: &[&str; 2], question: &str| machine.run(["find", place[0], place[1], question]).result("find");
    let here: Vec<Value> = questions.iter().map(|question| asked(&["--in", "apps"], question)).collect();
    std::fs::remove_dir_all(machine.path("apps")).unwrap();
    for (question, here) in questions.iter().zip(here) {
        let found = asked(&["--index", "catalogue"], question);
        let told = |found: &Value| {
            let items = found["items"].as_array().unwrap().iter();
            let fields = ["package", "call", "command", "description", "effect", "score", "reasons", "grants", "trust"];
            items.map(|item| fields.map(|field| item[field].clone())).collect::<Vec<_>>()
        };
        assert!(!told(&here).is_empty());
        assert_eq!(told(&found), told(&here), "{question}");
        let first = &found["items"][0];
        assert!(first["install"].as_str().unwrap().ends_with("install apps/todo"), "{first}");
        assert_eq!((&first["meta"], &first["trust_in_index"]), (&Value::Null, &json!("local")));
    }
}

#[test]
fn an_agent_goes_from_words_to_a_run() {
    let machine = stocked();
    build(&machine, "oci-layout:shop");
    let found = machine.run(["find", "--index", "catalogue", "buy milk"]).result("find");
    assert_eq!(
        (&found["items"][0]["trust"], &found["items"][0]["trust_in_index"]),
        (&json!("remote"), &json!("unsigned"))
    );
    machine.run(["install", found["items"][0]["call"].as_str().unwrap()]).result("install");
    machine.guest(&["todo", "add", "milk"]).answer();
}

#[test]
fn what_is_said_of_trust_is_the_makers_and_what_is_asked_is_ours() {
    let machine = stocked();
    machine.run(["sign", "--new-key", "mine"]).result("sign");
    machine.run(["sign", "oci-layout:shop:0.2.0", "--key", "mine"]).result("sign");
    let trust = |machine: &Machine| document(machine)["packages"][1]["releases"][0]["trust"].clone();
    build(&machine, "oci-layout:shop");
    assert_eq!(trust(&machine), "unsigned", "nobody knows the key");
    machine.run(["trust", "add", "acme", "mine.pub"]).result("trust add");
    build(&machine, "oci-layout:shop");
    assert_eq!(trust(&machine), "trusted");
    let shop = format!("oci-layout:{}", machine.path("shop").display());
    machine.run(["trust", "add", "--require", "attested", &shop, "--signer", "acme"]).result("trust add");
    let found = machine.run(["find", "--index", "catalogue", "buy milk"]).result("find");
    let first = &found["items"][0];
    assert_eq!((&first["trust_in_index"], &first["trust_required"]), (&json!("trusted"), &json!("attested")));
    // Who writes into an index what they like changes nothing of what is asked here.
    let text = std::fs::read_to_string(machine.path("catalogue/index.json")).unwrap();
    machine.write("catalogue/index.json", text.replace("\"trust\": \"trusted\"", "\"trust\": \"attested\""));
    let found = machine.run(["find", "--index", "catalogue", "buy milk"]).result("find");
    assert_eq!(found["items"][0]["trust_in_index"], "attested");
    machine.run(["install", found["items"][0]["call"].as_str().unwrap()]).fault("TRUST_REQUIRED", 30);
}

#[test]
fn a_source_that_is_broken_leaves_what_was_there() {
    let machine = stocked();
    machine.write("apps/broken/APP.md", "---\nslug: x\n---\n");
    std::fs::create_dir(machine.path("empty")).unwrap();
    let before = names(&machine);
    let good = todo();
    for (source, code, status) in [
        ("apps", "PACKAGE_INVALID", 2),
        ("empty", "PACKAGE_NOT_FOUND", 20),
        ("nothing", "PACKAGE_NOT_FOUND", 20),
        ("oci-layout:empty", "PACKAGE_NOT_FOUND", 20),
        ("oci-layout:nothing", "NOT_FOUND", 20),
        ("oci-layout:shop:9.9.9", "PACKAGE_NOT_FOUND", 20),
        ("oci://Nowhere", "USAGE", 2),
    ] {
        let fault = machine.run(["index", &good, source, "--output", "catalogue"]).fault(code, status);
        let told = format!("{fault:?}");
        let place = source.strip_prefix("oci-layout:").unwrap_or(source);
        assert!(told.contains(place), "{source}: {told}");
        assert_eq!(names(&machine), before, "{source}");
    }
    // A config that is not the one that is named.
    build(&machine, &good);
    let held = files(&machine.path("catalogue"));
    for (path, bytes) in files(&machine.path("shop")) {
        if bytes.windows(16).any(|part| part == b"agentApplication") {
            std::fs::write(machine.path("shop").join(path), &bytes[1..]).unwrap();
        }
    }
    let fault = machine.run(["index", "oci-layout:shop", "--output", "catalogue"]).fault("ARTIFACT_INVALID", 46);
    assert!(format!("{fault:?}").contains("oci-layout:shop:0."), "{fault:?}");
    assert_eq!(files(&machine.path("catalogue")), held);
}

#[test]
fn a_broken_signature_is_not_taken_for_none() {
    let machine = stocked();
    build(&machine, "oci-layout:shop");
    let held = files(&machine.path("catalogue"));
    // What somebody signed of another package, kept as one about this.
    let probe = package::copy(&machine, "probe");
    machine.run(["sign", "--new-key", "mine"]).result("sign");
    machine.run(["sign", probe.to_str().unwrap(), "--key", "mine"]).result("sign");
    let bundle = std::fs::read(machine.path("probe.sigstore.json")).unwrap();
    let document = document(&machine);
    let manifest = document["packages"][1]["releases"][0]["manifest"].as_str().unwrap();
    let manifest = machine.path("shop/blobs").join(manifest.replace(':', "/"));
    let shop = hutch::package::open_folder(&machine.path("shop")).unwrap();
    let shop = hutch_registry::Repository::Layout(hutch_registry::Layout::new(shop, "shop", std::time::Duration::MAX));
    assert!(shop.attach(&std::fs::read(manifest).unwrap(), &bundle).unwrap());
    let fault = machine.run(["index", "oci-layout:shop", "--output", "catalogue"]);
    let fault = format!("{:?}", fault.fault("SIGNATURE_INVALID", 30));
    assert!(fault.contains("oci-layout:shop:0.2.0") && fault.contains("about something else"), "{fault}");
    assert_eq!(files(&machine.path("catalogue")), held);
}

#[test]
fn what_hutch_did_not_write_is_left_alone_and_a_preview_writes_nothing() {
    let machine = Machine::new();
    machine.run(["index", &todo(), "--output", "catalogue", "--dry-run"]).document();
    assert!(!machine.path("catalogue").exists());
    machine.write("catalogue/index.json", "{}");
    machine.write("catalogue/mine", "mine");
    let (held, todo) = (files(&machine.path("catalogue")), todo());
    for more in [&[][..], &["--dry-run"]] {
        let words = [&["index", &todo, "--output", "catalogue"][..], more].concat();
        machine.run(words).fault("ALREADY_EXISTS", 30);
    }
    assert_eq!(files(&machine.path("catalogue")), held);
    for (place, code, status) in [("..", "USAGE", 2), ("nothing/catalogue", "NOT_FOUND", 20)] {
        machine.run(["index", &todo, "--output", place]).fault(code, status);
    }
}

#[test]
fn an_index_that_is_none_is_refused() {
    let machine = Machine::new();
    machine.run(["find", "--index", "catalogue", "erase"]).fault("NOT_FOUND", 20);
    for (text, why) in [
        ("{}", "malformed"),
        ("{\"schema\":\"hutch/index@9\",\"packages\":[]}", "hutch/index@9"),
        ("{\"schema\":\"hutch/index@0.1\"}", "packages"),
    ] {
        machine.write("catalogue/index.json", text);
        let fault = machine.run(["find", "--index", "catalogue", "erase"]).fault("USAGE", 2);
        assert!(format!("{fault:?}").contains(why), "{text}: {fault:?}");
    }
    // More than is read is not read.
    let file = std::fs::File::create(machine.path("catalogue/index.json")).unwrap();
    file.set_len((64 << 20) + 1).unwrap();
    machine.run(["find", "--index", "catalogue", "erase"]).fault("USAGE", 2);
    machine.run(["find", "--index", "catalogue", "--in", "apps", "erase"]).fault("USAGE", 2);
}

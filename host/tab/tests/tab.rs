//! Requests and answers, on a machine: what the module does in a browser, `tests/tab` tries there.
#![allow(clippy::disallowed_methods, reason = "tests reach for what they prepare")]
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test that can't go on fails")]

use hutch::package::{Package, PackageBounds, Source};
use hutch::proof::Proof;
use hutch::{Backend, Call, EntryName, ErrorCode, Grants, Host, InstanceName, Instant, Origin, Sandbox, SecretKey};
use hutch_tab::Tab;
use serde_json::{Value, json};
use std::path::Path;

const KEY: &str = "0101010101010101010101010101010101010101010101010101010101010101";
const AT: &str = "2026-03-01T09:00:00Z";

fn packed(package: &str) -> Vec<u8> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(package);
    let bounds = PackageBounds::with_component(64 << 20);
    let source = Source::open(&folder, &bounds).expect("a folder");
    let mut bytes = Vec::new();
    Package::open(&source, bounds).expect("a package").pack(&mut bytes).expect("it fits into memory");
    bytes
}

fn ask(tab: &mut Tab, request: Value, attachment: &[u8]) -> (Value, Vec<u8>) {
    let answer = tab.answer(request.to_string().as_bytes(), attachment.to_vec());
    (serde_json::from_slice(&answer.json).expect("JSON"), answer.attachment)
}

/// The result of a request that is answered.
fn result(tab: &mut Tab, request: Value, attachment: &[u8]) -> (Value, Vec<u8>) {
    let (answer, attachment) = ask(tab, request.clone(), attachment);
    assert_eq!(answer["ok"], true, "{request}: {answer}");
    (answer["result"].clone(), attachment)
}

/// The same bytes with another text of the same length.
fn replaced(bytes: &[u8], from: &str, to: &str) -> Vec<u8> {
    let at = bytes.windows(from.len()).position(|part| part == from.as_bytes()).expect("it is there");
    let mut bytes = bytes.to_vec();
    bytes[at..at + from.len()].copy_from_slice(to.as_bytes());
    bytes
}

fn refused(tab: &mut Tab, request: Value, attachment: &[u8], code: &str) {
    let (answer, attached) = ask(tab, request.clone(), attachment);
    assert_eq!((&answer["error"], answer["code"].as_str()), (&true.into(), Some(code)), "{request}: {answer}");
    assert!(answer.get("ok").is_none() && attached.is_empty(), "{request}: a refusal came with something");
}

fn request(op: &str, more: Value) -> Value {
    let mut request = json!({ "op": op, "package": "todo", "instance": "default", "at": AT });
    request.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    request
}

fn call(op: &str, arguments: &[&str]) -> Value {
    request(op, json!({ "seed": "7", "arguments": arguments, "wall_time_us": 0 }))
}

fn open(log: &[u8]) -> Tab {
    let mut tab = Tab::new();
    result(&mut tab, json!({ "op": "load" }), &packed("packages/todo"));
    open_again(&mut tab, log);
    tab
}

/// What was open until then is forgotten, and what was compiled is not.
fn open_again(tab: &mut Tab, log: &[u8]) {
    result(tab, json!({ "op": "open", "package": "todo", "instance": "default", "key": KEY }), log);
}

fn head(tab: &mut Tab) -> Value {
    result(tab, request("ledger", json!({})), b"").0["head"].clone()
}

fn log(tab: &mut Tab, after: u64) -> Vec<u8> {
    result(tab, request("export", json!({ "after": after })), b"").1
}

#[test]
fn a_plan_is_committed_undone_and_run_again() {
    let mut tab = open(b"");
    let (planned, _) = result(&mut tab, call("plan", &["add", "Write docs"]), b"");
    assert_eq!((&planned["kept"], &planned["status"]), (&false.into(), &0.into()));
    let (kept, _) = result(&mut tab, request("commit", json!({ "plan": planned["entry"]["hash"] })), b"");
    assert_eq!((&kept["kept"], &kept["output"], &kept["fuel"]), (&true.into(), &planned["output"], &planned["fuel"]));
    let (listed, streams) = result(&mut tab, call("run", &["list"]), b"");
    assert_eq!(listed["output"]["count"], 1);
    assert_eq!(
        streams.len() as u64,
        listed["stdout_bytes"].as_u64().unwrap() + listed["stderr_bytes"].as_u64().unwrap()
    );
    let (objects, _) = result(&mut tab, request("objects", json!({ "path": "state" })), b"");
    assert_eq!(objects["items"][0]["path"], "state/todos.json");
    let (read, bytes) = result(&mut tab, request("read", json!({ "path": "state/todos.json" })), b"");
    assert_eq!(read["bytes"], bytes.len());
    assert!(String::from_utf8(bytes).unwrap().contains("Write docs"));
    let (verified, _) = result(&mut tab, request("verify", json!({})), b"");
    let equal = verified["items"].as_array().unwrap().iter().filter(|one| one["status"] == "equal").count();
    assert_eq!(equal, 3, "{verified}");
    result(&mut tab, request("undo", json!({})), b"");
    assert_eq!(result(&mut tab, call("run", &["list"]), b"").0["output"]["count"], 0);
}

#[test]
fn a_number_keeps_its_digits() {
    const DIGITS: &str =
        r#"{"n":[12345678901234567890123,-9223372036854775809,0.1000000000000000055511151231257827,1e-400]}"#;
    let mut tab = Tab::new();
    result(&mut tab, json!({ "op": "load" }), &packed("tests/packages/probe"));
    result(&mut tab, json!({ "op": "open", "package": "probe", "instance": "default", "key": KEY }), b"");
    for op in ["run", "plan"] {
        let mut echo = call(op, &["stdin-echo"]);
        (echo["package"], echo["stdin"]) = ("probe".into(), DIGITS.into());
        let answer = String::from_utf8(tab.answer(echo.to_string().as_bytes(), Vec::new()).json).unwrap();
        assert!(answer.contains(&format!("\"output\":{DIGITS}")), "{answer}");
    }
}

/// A package as whoever has it under this origin opens it.
fn package(packed: Vec<u8>, origin: Origin) -> Package {
    let bounds = PackageBounds::with_component(64 << 20);
    let source = Source::packed_in_memory(packed, &bounds).expect("a packed package");
    Package::open(&source, bounds).expect("a package").from_origin(origin)
}

#[test]
fn committing_a_plan_is_the_entry_that_applying_it_is() {
    let mut tab = open(b"");
    result(&mut tab, call("plan", &["add", "Write docs"]), b"");
    result(&mut tab, request("commit", json!({ "plan": "last", "wall_time_us": 5 })), b"");

    let installed = package(packed("packages/todo"), Origin::installed());
    let (at, name): (Instant, _) = (AT.parse().unwrap(), InstanceName::default());
    let (slug, none) = (installed.manifest().slug(), Grants::default());
    for with_package in [true, false] {
        let host = Host::in_memory(SecretKey::new([1; 32]), Sandbox::default().on(Backend::Interpreter64));
        let mut planned = Call::new(["add", "Write docs"], at, "7".parse().unwrap());
        planned.wall_time_us = Some(0);
        host.plan(&installed, &planned).unwrap();
        // Applying says which package it is, however the instance was opened.
        let session = match with_package {
            true => host.open(&installed, &name, at),
            false => host.open_existing(slug, &name, at),
        };
        let session = session.unwrap().with_wall_time_us(Some(5));
        host.apply(&installed, &session, &EntryName::Last, &none).unwrap();
        assert_eq!(head(&mut tab)["hash"], session.head().unwrap().last.hash.to_string(), "{with_package}");
        if !with_package {
            // And whether it may use the instance: this one is somebody else's.
            let other = replaced(&packed("packages/todo"), "Keeps a persistent", "Holds a persistent");
            let other = package(other, Origin::path("/elsewhere"));
            let refused = host.apply(&other, &session, &EntryName::Last, &none).map(|answer| answer.kept);
            assert_eq!(refused.map_err(|failure| failure.code()), Err(ErrorCode::InstanceForeign));
        }
    }
}

#[test]
fn a_log_goes_on_where_it_was_cut_and_its_parts_can_be_appended() {
    let mut tab = open(b"");
    result(&mut tab, call("run", &["add", "One"]), b"");
    let first = log(&mut tab, 0);
    let known = head(&mut tab)["sequence"].as_u64().unwrap();
    assert!(log(&mut tab, known).is_empty(), "nothing was added");
    result(&mut tab, call("run", &["add", "Two"]), b"");
    let second = log(&mut tab, known);
    let both = [&first[..], &second].concat();
    let mut reopened = open(&both);
    assert_eq!(head(&mut reopened), head(&mut tab));
    // Ended while the second part was written: the first is there, whole.
    for cut in [first.len(), first.len() + 1, first.len() + 20, both.len() - 33, both.len() - 1] {
        open_again(&mut reopened, &both[..cut]);
        assert_eq!(head(&mut reopened)["sequence"], known, "cut at {cut}");
        assert_eq!(result(&mut reopened, call("run", &["list"]), b"").0["output"]["count"], 1);
    }
    let mut bad = both.clone();
    bad[40] ^= 1;
    let mut tab = Tab::new();
    let open = json!({ "op": "open", "package": "todo", "instance": "default", "key": KEY });
    refused(&mut tab, open, &bad, "STORE_DAMAGED");
}

#[test]
fn what_another_host_says_is_run_again_before_it_is_taken() {
    let mut tab = open(b"");
    result(&mut tab, call("run", &["add", "One"]), b"");
    let bundle = log(&mut tab, 0);
    let mut other = open(b"");
    let (taken, _) = result(&mut other, request("import", json!({})), &bundle);
    assert_eq!(taken["entries"], 2);
    assert_eq!(head(&mut other), head(&mut tab));
    // Again is no change.
    result(&mut other, request("import", json!({})), &bundle);
    assert_eq!(head(&mut other), head(&mut tab));

    let mut third = open(b"");
    refused(&mut third, request("import", json!({})), &bundle[..bundle.len() - 1], "STORE_DAMAGED");
    refused(&mut third, request("import", json!({})), b"something else", "STORE_DAMAGED");
    assert_eq!(head(&mut third)["sequence"], 0, "something of a refused bundle was taken");

    for (from, to, code) in [
        // Another count of fuel.
        (",\"fuel_exact\"", "0,\"fuel_exact\"", "VERIFY_FAILED"),
        // What nobody can check.
        (",\"wall_time_us\"", ",\"unreproducible\":[\"wall_time\"],\"wall_time_us\"", "NOT_REPRODUCIBLE"),
        ("\"profile\":\"", "\"profile\":\"x", "NOT_REPRODUCIBLE"),
    ] {
        refused(&mut third, request("import", json!({})), &lying(&bundle, from, to), code);
        assert_eq!(head(&mut third)["sequence"], 0, "a lie was taken: {to}");
    }
}

/// No entry says that it was made elsewhere: the log does, beside them.
#[test]
fn what_was_taken_in_is_nobody_s_call_here_when_it_is_opened_again_either() {
    let mut tab = open(b"");
    let (planned, _) = result(&mut tab, call("plan", &["add", "One"]), b"");
    let bundle = log(&mut tab, 0);
    let mut other = open(b"");
    result(&mut other, request("import", json!({})), &bundle);
    let (_, kept) = result(&mut other, request("export", json!({ "log": true })), b"");
    let again = open(&kept);
    for mut other in [other, again] {
        refused(&mut other, request("commit", json!({ "plan": "last" })), b"", "NOT_FOUND");
        let hash = &planned["entry"]["hash"];
        refused(&mut other, request("commit", json!({ "plan": hash })), b"", "CONFIRMATION_REQUIRED");
        let (done, _) = result(&mut other, request("commit", json!({ "plan": hash, "confirmed": true })), b"");
        assert_eq!(done["kept"], true);
    }
    // What is given to others says nothing of it.
    assert_ne!(kept, bundle);
    let mut third = open(&kept);
    assert_eq!(log(&mut third, 0), bundle);
}

/// Its maker does not say what its runs may take here, nor does a package that goes along.
#[test]
fn what_another_host_s_runs_may_take_whoever_takes_them_in_says() {
    let mut tab = open(b"");
    let limits = json!({ "memory_bytes": 1_u64 << 30 });
    let mut more = call("run", &["add", "One"]);
    more["limits"] = limits.clone();
    result(&mut tab, more, b"");
    let bundle = log(&mut tab, 0);
    let mut other = open(b"");
    refused(&mut other, request("import", json!({})), &bundle, "MEMORY_LIMIT");
    refused(&mut other, request("import", json!({ "limits": { "nonsense": 1 } })), &bundle, "USAGE");
    assert_eq!(head(&mut other)["sequence"], 0);
    let (taken, _) = result(&mut other, request("import", json!({ "limits": limits })), &bundle);
    assert_eq!((&taken["entries"], head(&mut other)), (&2.into(), head(&mut tab)));

    let asking = replaced(
        &packed("packages/todo"),
        "# Titles and descriptions are prose: \"see ../docs\" is none",
        "limits: {memory_bytes: 1GiB}                             #",
    );
    let mut maker = Tab::new();
    result(&mut maker, json!({ "op": "load" }), &asking);
    result(&mut maker, json!({ "op": "open", "package": "todo", "instance": "default", "key": KEY }), b"");
    result(&mut maker, call("run", &["add", "One"]), b"");
    let (_, carrying) = result(&mut maker, request("export", json!({ "packages": true })), b"");
    let mut empty = Tab::new();
    result(&mut empty, json!({ "op": "open", "package": "todo", "instance": "default", "key": KEY }), b"");
    refused(&mut empty, request("import", json!({ "packages": true })), &carrying, "MEMORY_LIMIT");
    let (taken, _) = result(&mut empty, request("import", json!({ "packages": true, "limits": limits })), &carrying);
    assert_eq!(taken["entries"], 2);
}

#[test]
fn a_bundle_that_carries_its_package_is_proved_where_that_is_not() {
    let mut tab = open(b"");
    result(&mut tab, call("run", &["add", "One"]), b"");
    let (told, carrying) = result(&mut tab, request("export", json!({ "packages": true })), b"");
    assert_eq!(told["last"], 2);
    let empty = || {
        let mut other = Tab::new();
        result(&mut other, json!({ "op": "open", "package": "todo", "instance": "default", "key": KEY }), b"");
        other
    };
    let mut other = empty();
    refused(&mut other, request("import", json!({ "packages": true })), &log(&mut tab, 0), "PACKAGE_NOT_FOUND");
    let (looked, package) = result(&mut other, json!({ "op": "carried" }), &carrying);
    assert_eq!((&looked["packages"], &package), (&1.into(), &packed("packages/todo")));
    assert_eq!(result(&mut other, json!({ "op": "carried", "number": 1 }), &carrying).1, b"");
    assert_eq!(result(&mut other, json!({ "op": "carried" }), &log(&mut tab, 0)).0["packages"], 0);
    refused(&mut other, json!({ "op": "carried" }), &carrying[..carrying.len() - 1], "STORE_DAMAGED");
    // Nor by it, unless that is said.
    refused(&mut other, request("import", json!({})), &carrying, "PACKAGE_NOT_FOUND");
    let (taken, _) = result(&mut other, request("import", json!({ "packages": true })), &carrying);
    assert_eq!((&taken["entries"], &taken["verified"]["items"][1]["status"]), (&2.into(), &"equal".into()));
    // It was run for that alone.
    refused(&mut other, call("run", &["list"]), b"", "PACKAGE_NOT_FOUND");
    assert_eq!(log(&mut other, 0), log(&mut tab, 0));
    refused(&mut other, request("export", json!({ "packages": true })), b"", "PACKAGE_NOT_FOUND");
    result(&mut other, json!({ "op": "load" }), &package);
    assert_eq!(head(&mut other), head(&mut tab));
    assert_eq!(result(&mut other, call("run", &["list"]), b"").0["output"]["count"], 1);
    // Nor is what another package says of it believed.
    let mut third = empty();
    let mut elsewhere = request("import", json!({ "packages": true }));
    elsewhere["package"] = "probe".into();
    refused(&mut third, elsewhere, &carrying, "PACKAGE_NOT_FOUND");
    // What another version did, this one can't carry.
    let mut later = Tab::new();
    let other = replaced(&packed("packages/todo"), "\ndescription: Keeps", "\ndescription: Holds");
    result(&mut later, json!({ "op": "load" }), &other);
    result(
        &mut later,
        json!({ "op": "open", "package": "todo", "instance": "default", "key": KEY }),
        &log(&mut tab, 0),
    );
    refused(&mut later, request("export", json!({ "packages": true })), b"", "NOT_REPRODUCIBLE");
    result(&mut later, request("export", json!({ "packages": true, "after": 2 })), b"");
}

/// The same bundle with another text in its entries, every digest made anew.
fn lying(bundle: &[u8], from: &str, to: &str) -> Vec<u8> {
    use hutch_model::digest::{Digest, Kind};
    let magic = b"hutch-bundle-1\n".len();
    let items = &bundle[magic + 8..bundle.len() - 32];
    let (mut rest, mut forged) = (items, Vec::new());
    while let Some((letter, behind)) = rest.split_first() {
        let (length, behind) = behind.split_first_chunk::<8>().unwrap();
        let (bytes, behind) = behind.split_at(u64::from_le_bytes(*length) as usize);
        rest = behind;
        let text = String::from_utf8_lossy(bytes).into_owned();
        let changed = match *letter {
            b'E' => text.replacen(from, to, 1).into_bytes(),
            _ => bytes.to_vec(),
        };
        forged.push(*letter);
        forged.extend_from_slice(&(changed.len() as u64).to_le_bytes());
        forged.extend_from_slice(&changed);
    }
    assert_ne!(forged, items, "nothing was forged");
    let digest = Digest::of(Kind::Artifact, &forged);
    [&bundle[..magic], &(forged.len() as u64).to_le_bytes(), &forged, digest.as_bytes()].concat()
}

#[test]
fn what_is_wrong_has_the_code_that_it_has_everywhere() {
    let mut tab = open(b"");
    refused(&mut tab, json!({ "op": "fly" }), b"", "USAGE");
    refused(&mut tab, call("run", &["ad", "x"]), b"", "ARGUMENT_INVALID");
    refused(&mut tab, call("run", &["get", "$(x)"]), b"", "ARGUMENT_REFUSED");
    refused(&mut tab, request("undo", json!({ "count": 5 })), b"", "NOT_FOUND");
    refused(&mut tab, request("commit", json!({ "plan": "last" })), b"", "NOT_FOUND");
    refused(&mut tab, json!({ "op": "load" }), b"no archive", "PACKAGE_INVALID");
    refused(&mut tab, json!({ "op": "artifact" }), b"none", "COMPONENT_INVALID");
    let elsewhere = json!({ "op": "ledger", "package": "todo", "instance": "other", "at": AT });
    refused(&mut tab, elsewhere, b"", "NOT_FOUND");
    let (limited, _) =
        result(&mut tab, request("run", json!({ "seed": "7", "arguments": ["list"], "limits": { "fuel": 10 } })), b"");
    assert_eq!(
        (&limited["error"]["code"], &limited["kept"], &limited["status"]),
        (&"FUEL_LIMIT".into(), &false.into(), &41.into())
    );
}

#[test]
fn a_proof_that_a_machine_made_is_checked_by_an_interpreter_and_the_other_way_round() {
    let installed = package(packed("packages/todo"), Origin::installed());
    let at: Instant = AT.parse().unwrap();
    let native = Host::in_memory(SecretKey::new([1; 32]), Sandbox::default());
    let instance = native.instance(&installed, &InstanceName::default(), at).unwrap();
    instance.run(&Call::new(["add", "Write docs"], at, "7".parse().unwrap())).unwrap();
    let session = instance.session(at).unwrap();
    let sealed = session.entry(&EntryName::Last).unwrap();
    let proof = native.prove(&installed, &session, &sealed, true).unwrap();
    let file = proof.written().unwrap();
    let mut tab = Tab::new();
    let (known, carried) = result(&mut tab, json!({ "op": "proof" }), &file);
    assert_eq!((known["hash"].as_str(), carried), (Some(sealed.hash.to_string().as_str()), packed("packages/todo")));
    result(&mut tab, json!({ "op": "check", "at": AT }), &file);
    let bare = native.prove(&installed, &session, &sealed, false).unwrap().written().unwrap();
    refused(&mut tab, json!({ "op": "check", "at": AT }), &bare, "PACKAGE_NOT_FOUND");

    let mut tab = open(b"");
    result(&mut tab, json!({ "op": "check", "at": AT }), &bare);
    result(&mut tab, call("run", &["add", "In a tab"]), b"");
    let (made, file) = result(&mut tab, request("prove", json!({ "bare": true })), b"");
    native.check_proof(&installed, &Proof::read(&file).unwrap(), at, &[]).unwrap();
    assert_eq!(made["hash"], head(&mut tab)["hash"]);
    refused(&mut tab, json!({ "op": "check", "at": AT }), &replaced(&file, "payload", "paylaod"), "VERIFY_FAILED");
    refused(&mut tab, json!({ "op": "proof" }), b"", "VERIFY_FAILED");
}

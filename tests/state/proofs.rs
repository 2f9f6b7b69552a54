//! Proofs, in one process: what is in one, and that a file with another byte, or one that is forged with care, proves nothing.

use super::{AT, call, in_repository, package, sandbox, todo};
use data_encoding::BASE64;
use hutch::package::{Package, PackageBounds};
use hutch::proof::Proof;
use hutch::storing::{Digest, Kind};
use hutch::{Call, EntryName, Failure, Host, Instance};
use hutch_model::error_code::ErrorCode;
use hutch_model::ledger::{Inclusion, SecretKey, canonical};
use hutch_model::limits::Limit;
use hutch_model::outcome::{Contract, Outcome};
use hutch_model::sha256::Sha256;
use hutch_model::snapshot::{Entry, Name, Node, Tree};
use hutch_model::statement::{Envelope, Signature};
use serde_json::{Value, json};
use std::collections::BTreeSet;

fn host() -> Host {
    Host::in_memory(SecretKey::new([3; 32]), sandbox())
}

/// Makes calls, and the proof of the last one.
fn proved(package: &Package, calls: &[Call], carries: bool) -> Result<Proof, Failure> {
    let host = host();
    let instance = host.instance(package, &"default".parse().unwrap(), AT).unwrap();
    for call in calls {
        // What was measured is in no proof twice.
        let mut call = call.clone();
        call.wall_time_us = Some(5);
        instance.run(&call).unwrap();
    }
    prove(&host, &instance, package, carries)
}

fn prove(host: &Host, instance: &Instance<'_>, package: &Package, carries: bool) -> Result<Proof, Failure> {
    let session = instance.session(AT).unwrap();
    let sealed = session.entry(&EntryName::Last).unwrap();
    host.prove(package, &session, &sealed, carries)
}

/// What a file proves, on a host that has seen nothing.
fn checked(package: &Package, file: &[u8]) -> Result<Outcome, Failure> {
    host().check_proof(package, &Proof::read(file)?, AT, &[])
}

fn adding() -> Proof {
    proved(&todo(), &[call(&["add", "Write docs"]), call(&["add", "Buy milk"])], false).unwrap()
}

#[test]
fn a_proof_is_checked_where_nothing_is_known() {
    let proof = adding();
    let file = proof.written().unwrap();
    assert!(file.len() < 8 << 10, "{} bytes", file.len());
    let outcome = checked(&todo(), &file).unwrap();
    assert!(String::from_utf8(outcome.stdout).unwrap().contains("Buy milk"));
    let read = Proof::read(&file).unwrap();
    assert_eq!(read.argv(), ["todo", "add", "Buy milk"]);
    assert_eq!((read.entry(), read.tree(), read.objects()), (proof.entry(), proof.tree(), 2));
    assert_eq!(read.written().unwrap(), file);
    assert!(read.package(PackageBounds::default()).unwrap().is_none());
    // The same entry is the same file.
    assert_eq!(adding().written().unwrap(), file);
}

/// What `host/docs/proofs.md` shows of the form.
#[test]
fn the_form_is_the_one_that_is_written_down() {
    let (file, path) = (adding().written().unwrap(), in_repository("tests/state/todo.proof.json"));
    if std::fs::read(&path).ok().as_ref() != Some(&file) {
        if std::env::var_os("HUTCH_BLESS").is_some() {
            std::fs::write(&path, &file).unwrap();
        }
        panic!("{} is another one; HUTCH_BLESS=1 writes it", path.display());
    }
}

#[test]
fn a_file_of_many_values_is_refused_before_it_is_read() {
    let many = format!("[{}0]\n", "[],".repeat(10 << 20));
    let refused = Proof::read(many.as_bytes()).unwrap_err();
    assert!(refused.to_string().contains("bytes of memory"), "{refused}");
    let envelope = serde_json::to_value(Envelope::of(many.trim_end().as_bytes(), Vec::new())).unwrap();
    let refused = Proof::read(&[canonical(&envelope).unwrap(), b"\n".to_vec()].concat()).unwrap_err();
    assert!(refused.to_string().contains("bytes of memory"), "{refused}");
    let refused = Proof::read(&vec![b' '; 65 << 20]).unwrap_err();
    assert_eq!((refused.code(), refused.to_string().contains("allowed")), (ErrorCode::VerifyFailed, true));
}

#[test]
fn what_goes_in_on_the_side_is_in_it() {
    let probe = package("tests/packages/probe");
    let mut echo = call(&["stdin-echo"]);
    echo.stdin = b"{\"a\":1}".to_vec();
    let text = "x".repeat(100_000);
    let mut long = call(&["args", &text]);
    (long.unchecked, long.contract) = (true, Some(Contract::Any));
    for made in [echo, long] {
        let words = made.arguments.clone();
        let proof = proved(&probe, &[made], false).unwrap();
        let file = proof.written().unwrap();
        checked(&probe, &file).unwrap();
        let said = statement(&file);
        assert_eq!(said["predicate"]["streams"].as_array().unwrap().len(), 1);
        // What is shown is what ran, wherever it stands.
        assert_eq!(Proof::read(&file).unwrap().argv()[1..], words);
        for named in ["stdin", "inputs"] {
            let mut said = said.clone();
            let size = said["predicate"]["entry"]["invocation"].pointer_mut(&format!("/{named}/size"));
            let Some(size) = size.filter(|size| **size != 0) else { continue };
            *size = (size.as_u64().unwrap() - 1).into();
            assert_eq!(checked(&probe, &forged(said)).unwrap_err().code(), ErrorCode::NotReproducible);
        }
        // Nor can other words stand beside those that ran.
        for (field, other) in [("argv", json!(["probe", "return-ok"])), ("environment", json!({"A": {"value": "b"}}))] {
            let mut said = said.clone();
            let invocation = &mut said["predicate"]["entry"]["invocation"];
            if invocation.get("inputs").is_none() {
                continue;
            }
            invocation[field] = other;
            let refused = Proof::read(&forged(said)).unwrap_err();
            assert_eq!(refused.code(), ErrorCode::VerifyFailed, "{refused}");
            assert!(refused.to_string().contains("and says others"), "{refused}");
        }
    }
}

#[test]
fn of_a_large_state_there_is_what_the_run_read() {
    let probe = package("tests/packages/probe");
    let write = call(&["write-files", "2000"]);
    let read = call(&["read-file", "state/file-000007"]);
    let proof = proved(&probe, &[write, read], false).unwrap();
    let file = proof.written().unwrap();
    assert!(proof.objects() < 10 && file.len() < 64 << 10, "{} objects, {} bytes", proof.objects(), file.len());
    checked(&probe, &file).unwrap();
}

#[test]
fn a_file_with_another_byte_proves_nothing() {
    let file = adding().written().unwrap();
    let package = todo();
    for at in 0..file.len() {
        let mut other = file.clone();
        other[at] ^= 1 << (at % 8);
        assert!(checked(&package, &other).is_err(), "byte {at}");
        assert!(Proof::read(&file[..at]).is_err(), "cut after {at}");
    }
    // And with the package in it.
    let file = proved(&package, &[call(&["list"])], true).unwrap().written().unwrap();
    for at in (0..file.len()).step_by(file.len() / 64) {
        let mut other = file.clone();
        other[at] ^= 1;
        let proof = Proof::read(&other).map(|proof| {
            let brought = proof.package(PackageBounds::default()).unwrap().unwrap();
            host().check_proof(&brought, &proof, AT, &[])
        });
        assert!(!matches!(proof, Ok(Ok(_))), "byte {at}");
    }
}

fn statement(file: &[u8]) -> Value {
    let envelope: Envelope = serde_json::from_slice(file).unwrap();
    serde_json::from_slice(&envelope.payload().unwrap()).unwrap()
}

/// The file of a statement whose subjects are made to fit what it says, as somebody makes it who knows the form.
fn forged(mut said: Value) -> Vec<u8> {
    let entry = canonical(&said["predicate"]["entry"]).unwrap();
    let mut leaves = hutch::proof::Leaves::default();
    let sequence = said["predicate"]["entry"]["sequence"].as_u64().unwrap();
    (1..sequence).for_each(|_| leaves.push(b"whatever"));
    leaves.push(&entry);
    let ledger: Inclusion = leaves.inclusion(sequence).unwrap();
    said["predicate"]["ledger"] = json!(ledger);
    said["subject"][0]["digest"]["sha256"] = Sha256::of(&entry).hex().into();
    said["subject"][1]["digest"]["sha256"] = leaves.head().root.hex().into();
    let slug = said["predicate"]["entry"]["package"]["slug"].as_str().unwrap_or_default().to_owned();
    let instance = said["predicate"]["entry"]["instance"].as_str().unwrap_or_default().to_owned();
    said["subject"][0]["name"] = format!("{slug}/{instance}@{sequence}").into();
    said["subject"][1]["name"] = format!("{slug}/{instance}@1-{sequence}").into();
    let payload = canonical(&said).unwrap();
    let envelope = serde_json::to_value(Envelope::of(&payload, Vec::new())).unwrap();
    [canonical(&envelope).unwrap(), b"\n".to_vec()].concat()
}

#[test]
fn what_is_forged_with_care_comes_to_something_else() {
    let (package, good) = (todo(), statement(&adding().written().unwrap()));
    checked(&package, &forged(good.clone())).expect("what fits is taken");
    let other = "00".repeat(32);
    let entry = |path: &str, value: Value| {
        let mut said = good.clone();
        *said["predicate"]["entry"].pointer_mut(path).unwrap() = value;
        said
    };
    let predicate = |change: &dyn Fn(&mut Value)| {
        let mut said = good.clone();
        change(&mut said["predicate"]);
        said
    };
    let chunk = |text: &[u8]| json!({"kind": "chunk", "content": BASE64.encode(text)});
    let sorted = |objects: &mut Value, more: Value| {
        let objects = objects.as_array_mut().unwrap();
        objects.push(more);
        let name = |object: &Value| {
            let kind = if object["kind"] == "chunk" { hutch::storing::Kind::Chunk } else { hutch::storing::Kind::Tree };
            hutch::Digest::of(kind, &BASE64.decode(object["content"].as_str().unwrap().as_bytes()).unwrap())
        };
        objects.sort_by_key(name);
    };
    use ErrorCode::{FuelLimit, NotReproducible, VerifyFailed};
    let cases = [
        ("another answer", entry("/outcome/stdout/digest", other.clone().into()), VerifyFailed),
        ("another end", entry("/outcome/status", 3.into()), VerifyFailed),
        ("other work", entry("/outcome/fuel", 1.into()), VerifyFailed),
        ("other memory", entry("/outcome/memory_peak_bytes", 1.into()), VerifyFailed),
        ("another state after", entry("/volumes/state/after", other.clone().into()), VerifyFailed),
        ("another state before", entry("/volumes/state/before", other.clone().into()), VerifyFailed),
        ("other words", entry("/invocation/argv/2", "Buy bread".into()), VerifyFailed),
        ("another clock", entry("/invocation/clock_start", "2026-04-02T00:00:00Z".into()), VerifyFailed),
        ("kept though it was bad", entry("/outcome/status", 1.into()), VerifyFailed),
        ("another component", entry("/package/component", other.clone().into()), NotReproducible),
        ("another engine", entry("/outcome/profile", "wasmtime-1".into()), NotReproducible),
        ("another name than the package's", entry("/invocation/argv/0", "bank".into()), NotReproducible),
        ("less state to write in", entry("/invocation/preopens/state", "read_only".into()), NotReproducible),
        (
            "a variable that nobody asked for",
            entry("/invocation/environment", json!({"HOME": {"value": "/root"}})),
            NotReproducible,
        ),
        ("more than is allowed", entry("/invocation/limits/fuel", 1_000_000_000_000_u64.into()), FuelLimit),
        ("nothing read", predicate(&|said| said["objects"] = json!([])), VerifyFailed),
        ("less read", predicate(&|said| drop(said["objects"].as_array_mut().unwrap().pop())), VerifyFailed),
        ("more than was read", predicate(&|said| sorted(&mut said["objects"], chunk(b"more"))), VerifyFailed),
        (
            "the same twice",
            predicate(&|said| {
                let first = said["objects"][0].clone();
                said["objects"].as_array_mut().unwrap().insert(0, first);
            }),
            VerifyFailed,
        ),
        ("another order", predicate(&|said| said["objects"].as_array_mut().unwrap().reverse()), VerifyFailed),
        ("of another kind", predicate(&|said| said["objects"][0]["kind"] = "file".into()), VerifyFailed),
        ("an input that nobody read", predicate(&|said| said["streams"] = json!([BASE64.encode(b"x")])), VerifyFailed),
        ("nothing said to be there", predicate(&|said| said["package"] = Value::Null), VerifyFailed),
        ("more than there is", predicate(&|said| said["more"] = 1.into()), VerifyFailed),
    ];
    for (what, said, code) in cases {
        let failure = checked(&package, &forged(said)).expect_err(what);
        assert_eq!(failure.code(), code, "{what}: {failure}");
    }
    // Another package in it than the one that is named, and none that its entry is of.
    let mut with = good.clone();
    with["predicate"]["package"] = BASE64.encode(b"no package").into();
    assert_eq!(Proof::read(&forged(with)).unwrap_err().code(), VerifyFailed);
    let probe = super::package("tests/packages/probe");
    assert_eq!(checked(&probe, &forged(good.clone())).unwrap_err().code(), NotReproducible);
    // What is in it counts by whichever package it is checked.
    for (packed, is_its_own) in [(package.packed(), true), (probe.packed(), false), (Ok(b"no package".to_vec()), false)]
    {
        let (mut with, packed) = (good.clone(), packed.unwrap());
        with["predicate"]["package"] = BASE64.encode(&packed).into();
        let subject = json!({"name": "todo.tar", "digest": {"sha256": Sha256::of(&packed).hex()}});
        with["subject"].as_array_mut().unwrap().push(subject);
        let failure = checked(&package, &forged(with)).err().map(|failure| failure.code());
        assert_eq!(failure, (!is_its_own).then_some(VerifyFailed));
    }
}

/// All values within one, by their pointers.
fn within(value: &Value, at: &str, found: &mut Vec<String>) {
    found.push(at.to_owned());
    match value {
        Value::Object(fields) => fields.iter().for_each(|(name, value)| within(value, &format!("{at}/{name}"), found)),
        Value::Array(items) => {
            items.iter().enumerate().for_each(|(n, value)| within(value, &format!("{at}/{n}"), found));
        }
        _ => {}
    }
}

/// Another value of the same kind.
fn other(value: &Value) -> Option<Value> {
    Some(match value {
        Value::Bool(yes) => (!yes).into(),
        Value::Number(number) => (number.as_u64()? + 1).into(),
        Value::String(text) if text.len() == 64 => "00".repeat(32).into(),
        Value::String(text) if text.ends_with('Z') => "2026-04-02T00:00:00Z".into(),
        Value::String(text) if text == "exited" => "trapped".into(),
        Value::String(text) if text == "run" => "replay".into(),
        Value::String(text) if text == "modified" => "added".into(),
        Value::String(text) => format!("{text}x").into(),
        _ => return None,
    })
}

/// What an entry may say beside what the one at hand says.
fn more() -> [(&'static str, Value); 17] {
    let digest = "11".repeat(32);
    let changes = json!([{"path": "a", "change": "added"}]);
    [
        ("/caller", json!({"name": "bank", "version": "1"})),
        ("/closes", 1.into()),
        ("/collected", json!({"retained_from": 1, "objects": 2, "bytes": 3})),
        ("/error", "GUEST_TRAPPED".into()),
        ("/folders", json!({"mnt": {"path": "/home", "identity": [1, 2], "changes": changes}})),
        ("/follows", digest.clone().into()),
        ("/invocation/digests_only", true.into()),
        ("/invocation/mounts/mnt", json!({"path": "/home", "access": "read_write"})),
        (
            "/mapped",
            json!({"calls": 1, "failed": 0, "input": {"digest": digest, "size": 1}, "output": {"digest": digest, "size": 1}}),
        ),
        ("/memo", json!({"used": "reused", "key": digest, "made": {"at": "2026-04-02T00:00:00Z", "kind": "run"}})),
        ("/outcome/refused", json!(["fuel"])),
        ("/outcome/unreproducible", json!(["wall_time"])),
        ("/owner", json!({"origin": "installed", "package": digest})),
        ("/package/resources", json!({ "data": digest })),
        ("/request", json!({"key": digest, "body": digest})),
        ("/volumes/other", json!({"before": digest, "after": digest})),
        ("/word", "of a version to come".into()),
    ]
}

/// What is in the entry is as its run shows it, or is written down in `host/docs/proofs.md` as its maker's words: each value changed, each taken out,
/// and each put in that may be absent. What goes into the run is the question: another one that comes to the same is answered as truly.
#[test]
fn all_that_an_entry_says_is_shown_by_its_run_but_its_makers_words() {
    let package = todo();
    let good = statement(&adding().written().unwrap());
    let entry = &good["predicate"]["entry"];
    let (mut tried, mut passed) = (0, BTreeSet::new());
    let mut forge = |pointer: &str, what: &str, changed: Value| {
        let mut said = good.clone();
        said["predicate"]["entry"] = changed;
        tried += 1;
        if checked(&package, &forged(said)).is_ok() {
            passed.insert((pointer[1..].replace('/', "."), what.to_owned()));
        }
    };
    let asked = ["argv", "clock_start", "contract", "environment", "limits", "preopens", "seed"];
    let is_asked = |pointer: &str| asked.iter().any(|name| pointer.starts_with(&format!("/invocation/{name}")));
    let mut pointers = Vec::new();
    within(entry, "", &mut pointers);
    // Its place is the ledger's to show.
    pointers.retain(|pointer| !pointer.is_empty() && pointer != "/sequence" && !is_asked(pointer));
    for pointer in &pointers {
        if let Some(value) = other(entry.pointer(pointer).unwrap()) {
            let mut changed = entry.clone();
            *changed.pointer_mut(pointer).unwrap() = value;
            forge(pointer, "changed", changed);
        }
        let mut without = entry.clone();
        let (above, name) = pointer.rsplit_once('/').unwrap();
        match without.pointer_mut(above).unwrap() {
            Value::Object(fields) => drop(fields.remove(name)),
            Value::Array(items) => drop(items.remove(name.parse().unwrap())),
            _ => unreachable!(),
        }
        forge(pointer, "taken out", without);
    }
    for (pointer, value) in more() {
        let (above, name) = pointer.rsplit_once('/').unwrap();
        let mut with = entry.clone();
        with.pointer_mut(above).unwrap()[name] = value;
        forge(pointer, "put in", with);
    }
    assert!(tried > 80, "{tried}");
    let page = std::fs::read_to_string(in_repository("host/docs/proofs.md")).unwrap().replace('\n', " ");
    let (_, words) = page.split_once("Its maker's words are ").expect("the page names them");
    let (words, _) = words.split_once(". ").expect("and ends");
    let said: BTreeSet<_> = words.split('`').skip(1).step_by(2).map(str::to_owned).collect();
    let found: BTreeSet<_> = passed.iter().map(|(name, _)| name.clone()).collect();
    assert_eq!(found, said, "{passed:#?}");
}

#[test]
fn a_run_takes_no_more_than_it_may_here() {
    let package = todo();
    let mut large = call(&["list"]);
    large.limits.insert(Limit::Memory, 512 << 20);
    let proof = proved(&package, &[large], false).unwrap();
    let check = |limits: &[(Limit, u64)]| host().check_proof(&package, &proof, AT, limits);
    assert_eq!(check(&[]).unwrap_err().code(), ErrorCode::MemoryLimit);
    check(&[(Limit::Memory, 512 << 20)]).unwrap();
}

#[test]
fn what_can_not_be_made_again_is_not_proved() {
    let package = todo();
    // Nobody ran anything.
    assert_eq!(proved(&package, &[], false).unwrap_err().code(), ErrorCode::NotReproducible);
    // More than there is room for.
    let mut large = call(&["return-ok"]);
    large.stdin = vec![0; 33 << 20];
    large.limits.insert(Limit::Stdin, 64 << 20);
    let failure = proved(&super::package("tests/packages/probe"), &[large], false).unwrap_err();
    assert!(matches!(failure, Failure::ProofTooLarge { sequence: 2, .. }), "{failure}");
}

/// The proof of a state that is made of these, and what a check of it comes to.
fn over(before: Digest, objects: &[(&str, Vec<u8>)]) -> Failure {
    let mut said = statement(&adding().written().unwrap());
    let predicate = &mut said["predicate"];
    predicate["entry"]["volumes"]["state"]["before"] = before.to_string().into();
    let kind = |name: &str| if name == "chunk" { Kind::Chunk } else { Kind::Tree };
    let mut all: Vec<_> = objects.iter().map(|(name, bytes)| (Digest::of(kind(name), bytes), name, bytes)).collect();
    all.sort_unstable_by_key(|(digest, ..)| *digest);
    let objects = all.into_iter().map(|(_, name, bytes)| json!({"kind": name, "content": BASE64.encode(bytes)}));
    predicate["objects"] = objects.collect();
    checked(&todo(), &forged(said)).unwrap_err()
}

/// What a few objects stand for may be more than anybody can go through, once the guest has ended.
#[test]
fn a_state_in_a_proof_takes_no_more_than_one_may_here() {
    let mut objects = Vec::new();
    let mut below = Entry {
        name: Name::new("todos.json").unwrap(),
        modified_ns: 0,
        node: Node::File { size: 1, content: Digest::of(Kind::Chunk, b"x") },
    };
    let mut tree = Tree::new(vec![below.clone()]).unwrap();
    for level in 0..12 {
        let name = |at: usize| Name::new(&format!("{level}-{at}")).unwrap();
        tree = Tree::new((0..30).map(|at| Entry { name: name(at), ..below.clone() }).collect()).unwrap();
        let bytes = tree.encode();
        below.node = Node::Folder { tree: Digest::of(Kind::Tree, &bytes), totals: tree.totals() };
        objects.push(("tree", bytes));
    }
    let failure = over(Digest::of(Kind::Tree, &tree.encode()), &objects[11..]);
    assert_eq!(failure.code(), ErrorCode::StateFilesLimit, "{failure}");
    // And by what is said of it nobody is told less.
    let Node::Folder { totals, .. } = &mut below.node else { unreachable!() };
    totals.files = 1;
    let lie = Tree::new(vec![below]).unwrap().encode();
    objects.push(("tree", lie.clone()));
    let failure = over(Digest::of(Kind::Tree, &lie), &objects[11..]);
    assert!(failure.to_string().contains("amounts to something else"), "{failure}");
}

/// What is in a proof and is damaged is the proof's, and of no instance.
#[test]
fn an_object_that_is_none_is_no_proof() {
    let short = Digest::of(Kind::Chunk, b"x");
    let file =
        Entry { name: Name::new("todos.json").unwrap(), modified_ns: 0, node: Node::File { size: 10, content: short } };
    let tree = Tree::new(vec![file]).unwrap().encode();
    let failure = over(Digest::of(Kind::Tree, &tree), &[("tree", tree), ("chunk", b"x".to_vec())]);
    assert_eq!(failure.code(), ErrorCode::VerifyFailed, "{failure}");
    let none = b"\x09".to_vec();
    let failure = over(Digest::of(Kind::Tree, &none), &[("tree", none)]);
    assert_eq!(failure.code(), ErrorCode::VerifyFailed, "{failure}");
}

#[test]
fn arguments_that_stand_apart_have_one_form() {
    let probe = package("tests/packages/probe");
    let mut long = call(&["args", &"x".repeat(100_000)]);
    (long.unchecked, long.contract) = (true, Some(Contract::Any));
    let said = statement(&proved(&probe, &[long], false).unwrap().written().unwrap());
    let stream = said["predicate"]["streams"][0].as_str().unwrap();
    let text = String::from_utf8(BASE64.decode(stream.as_bytes()).unwrap()).unwrap();
    let with = |text: &str| {
        let mut said = said.clone();
        said["predicate"]["streams"][0] = BASE64.encode(text.as_bytes()).into();
        let digest = hutch::Digest::of(Kind::Stream, text.as_bytes()).to_string();
        said["predicate"]["entry"]["invocation"]["inputs"] = json!({"digest": digest, "size": text.len()});
        checked(&probe, &forged(said)).map(drop)
    };
    with(&text).unwrap();
    assert!(text.contains("\"environment\":{}"), "{}", &text[..200]);
    for other in [
        text.replacen(":{}", ":{} ", 1),
        text.replacen(":{}", ":{\"A\":{\"value\":\"1\"},\"A\":{\"value\":\"2\"}}", 1),
        format!(
            "[{},{{}}]",
            text.split_once("\"argv\":").unwrap().1.rsplit_once(",\"env").map_or("[]", |(argv, _)| argv)
        ),
    ] {
        let refused = with(&other).unwrap_err();
        assert_eq!(refused.code(), ErrorCode::VerifyFailed, "{refused}");
    }
}

/// What a file says is repeated as far as it helps, and no further.
#[test]
fn what_is_said_of_a_forged_file_is_short() {
    let good = statement(&adding().written().unwrap());
    let long = "x".repeat(100_000);
    for pointer in
        ["/predicate/entry/outcome/profile", "/predicate/entry/kind", "/predicate/objects/0/kind", "/predicateType"]
    {
        let mut said = good.clone();
        *said.pointer_mut(pointer).unwrap() = long.clone().into();
        let refused = checked(&todo(), &forged(said)).unwrap_err().to_string();
        assert!(refused.len() < 1000, "{pointer}: {} bytes", refused.len());
    }
    let mut said = good.clone();
    let volume = said["predicate"]["entry"]["volumes"]["state"].clone();
    said["predicate"]["entry"]["volumes"][&long] = volume;
    assert!(checked(&todo(), &forged(said)).unwrap_err().to_string().len() < 1000);
    // And there are few signatures, each of which is checked over all of it.
    let mut file: Envelope = serde_json::from_slice(&adding().written().unwrap()).unwrap();
    let mut with = |count: usize| {
        file.signatures = vec![Signature::of("somebody".to_owned(), b"x"); count];
        Proof::read(&[canonical(&serde_json::to_value(&file).unwrap()).unwrap(), b"\n".to_vec()].concat())
    };
    assert!(with(65).unwrap_err().to_string().contains("more than 64 signatures"));
    let one_more = with(64).unwrap().with(Signature::of("somebody".to_owned(), b"x"));
    assert!(one_more.unwrap_err().to_string().contains("more than 64 signatures"));
}

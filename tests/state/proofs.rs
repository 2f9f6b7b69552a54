//! Proofs, in one process: what is in one, and that a file with another byte, or one that is forged with care, proves nothing.

use super::{AT, call, in_repository, package, sandbox, todo};
use data_encoding::BASE64;
use hutch::package::{Package, PackageBounds};
use hutch::proof::Proof;
use hutch::{Call, EntryName, Failure, Host, Instance};
use hutch_model::error_code::ErrorCode;
use hutch_model::ledger::{Inclusion, SecretKey, canonical};
use hutch_model::limits::Limit;
use hutch_model::outcome::Contract;
use hutch_model::sha256::Sha256;
use hutch_model::statement::Envelope;
use serde_json::{Value, json};

fn host() -> Host {
    Host::in_memory(SecretKey::new([3; 32]), sandbox())
}

/// Makes calls, and the proof of the last one.
fn proved(package: &Package, calls: &[Call], packed: Option<Vec<u8>>) -> Result<Proof, Failure> {
    let host = host();
    let instance = host.instance(package, &"default".parse().unwrap(), AT).unwrap();
    for call in calls {
        // What was measured is in no proof twice.
        let mut call = call.clone();
        call.wall_time_us = Some(5);
        instance.run(&call).unwrap();
    }
    prove(&host, &instance, package, packed)
}

fn prove(host: &Host, instance: &Instance<'_>, package: &Package, packed: Option<Vec<u8>>) -> Result<Proof, Failure> {
    let session = instance.session(AT).unwrap();
    let sealed = session.entry(&EntryName::Last).unwrap();
    host.prove(package, &session, &sealed, packed)
}

/// What a file proves, on a host that has seen nothing.
fn checked(package: &Package, file: &[u8]) -> Result<(), Failure> {
    host().check_proof(package, &Proof::read(file)?, AT, &[])
}

fn adding() -> Proof {
    proved(&todo(), &[call(&["add", "Write docs"]), call(&["add", "Buy milk"])], None).unwrap()
}

#[test]
fn a_proof_is_checked_where_nothing_is_known() {
    let proof = adding();
    let file = proof.written().unwrap();
    assert!(file.len() < 8 << 10, "{} bytes", file.len());
    checked(&todo(), &file).unwrap();
    let read = Proof::read(&file).unwrap();
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
        let proof = proved(&probe, &[made], None).unwrap();
        checked(&probe, &proof.written().unwrap()).unwrap();
        let said = statement(&proof.written().unwrap());
        assert_eq!(said["predicate"]["streams"].as_array().unwrap().len(), 1);
    }
}

#[test]
fn of_a_large_state_there_is_what_the_run_read() {
    let probe = package("tests/packages/probe");
    let write = call(&["write-files", "2000"]);
    let read = call(&["read-file", "state/file-000007"]);
    let proof = proved(&probe, &[write, read], None).unwrap();
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
    let mut packed = Vec::new();
    package.pack(&mut packed).unwrap();
    let file = proved(&package, &[call(&["list"])], Some(packed)).unwrap().written().unwrap();
    for at in (0..file.len()).step_by(file.len() / 64) {
        let mut other = file.clone();
        other[at] ^= 1;
        let proof = Proof::read(&other).map(|proof| {
            let brought = proof.package(PackageBounds::default()).unwrap().unwrap();
            host().check_proof(&brought, &proof, AT, &[])
        });
        assert!(!matches!(proof, Ok(Ok(()))), "byte {at}");
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
    said["subject"][1]["name"] = format!("todo/default@1-{sequence}").into();
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
    // What no run shows is proved of another entry, which has another name.
    let moved = Proof::read(&forged(entry("/at", "2026-01-01T00:00:00Z".into()))).unwrap();
    assert_ne!(moved.entry().hash, adding().entry().hash);
}

#[test]
fn a_run_takes_no_more_than_it_may_here() {
    let package = todo();
    let mut large = call(&["list"]);
    large.limits.insert(Limit::Memory, 512 << 20);
    let proof = proved(&package, &[large], None).unwrap();
    let check = |limits: &[(Limit, u64)]| host().check_proof(&package, &proof, AT, limits);
    assert_eq!(check(&[]).unwrap_err().code(), ErrorCode::MemoryLimit);
    check(&[(Limit::Memory, 512 << 20)]).unwrap();
}

#[test]
fn what_can_not_be_made_again_is_not_proved() {
    let package = todo();
    // Nobody ran anything.
    assert_eq!(proved(&package, &[], None).unwrap_err().code(), ErrorCode::NotReproducible);
    // More than there is room for.
    let (host, name) = (host(), "default".parse().unwrap());
    let instance = host.instance(&package, &name, AT).unwrap();
    instance.run(&call(&["list"])).unwrap();
    let failure = prove(&host, &instance, &package, Some(vec![0; 33 << 20])).unwrap_err();
    assert!(matches!(failure, Failure::ProofTooLarge { sequence: 2, .. }), "{failure}");
}

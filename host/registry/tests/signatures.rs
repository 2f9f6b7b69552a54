//! Signatures: what is good, what is broken, and how they are kept where packages are.
#![allow(clippy::disallowed_methods, reason = "tests reach for what they prepare")]
#![allow(clippy::expect_used, clippy::unwrap_used, reason = "a test that cannot prepare its data has failed")]

mod double;

use data_encoding::BASE64;
use double::{Answered, Asked, Double, surroundings};
use hutch::package::{Package, PackageBounds, Source};
use hutch_model::error_code::ErrorCode;
use hutch_registry::{
    About, Artifact, Layout, NotAttested, PROVENANCE, PrivateKey, Reference, RegistryError, Remote, Repository, Root,
    SIGNED, Sha256, Signer, Verdict, attest, check, sign,
};
use serde_json::{Value, json};
use std::path::Path;
use std::time::Duration;

const RECORD: &[u8] = include_bytes!("../../../packages/todo/app/app.wasm.provenance.json");
const MANIFEST: &str = "application/vnd.oci.image.manifest.v1+json";
const INDEX: &str = "application/vnd.oci.image.index.v1+json";

/// A change of a document.
type Edit = fn(&mut Value);

struct Made {
    artifact: Artifact,
    packed: Vec<u8>,
    bundle: Vec<u8>,
    key: PrivateKey,
}

impl Made {
    fn about(&self) -> [Sha256; 2] {
        [self.artifact.digest(), Sha256::of(&self.packed)]
    }

    fn check(&self, bundle: &[u8]) -> Verdict {
        judged(bundle, &self.about(), &[self.key.public().into()])
    }

    /// The bundle, changed.
    fn with(&self, edit: impl FnOnce(&mut Value)) -> Verdict {
        let mut bundle: Value = serde_json::from_slice(&self.bundle).unwrap();
        edit(&mut bundle);
        self.check(&serde_json::to_vec(&bundle).unwrap())
    }
}

fn judged(bundle: &[u8], package: &[Sha256], signers: &[Signer]) -> Verdict {
    check(bundle, &about(package), signers, &Root::of(None).unwrap())
}

fn about(package: &[Sha256]) -> About {
    About { package: package.to_vec(), component: None }
}

fn todo() -> Package {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../packages/todo");
    let bounds = PackageBounds::default();
    Package::open(&Source::open(&folder, &bounds).unwrap(), bounds).unwrap()
}

fn made() -> Made {
    let package = todo();
    let artifact = Artifact::of(&package).unwrap();
    let mut packed = Vec::new();
    package.pack(&mut packed).unwrap();
    let key = PrivateKey::from_pem(&PrivateKey::generate().unwrap()).unwrap();
    let bundle = sign(&artifact, &packed, package.manifest(), &key).unwrap();
    Made { artifact, packed, bundle, key }
}

fn another() -> Signer {
    PrivateKey::from_pem(&PrivateKey::generate().unwrap()).unwrap().public().into()
}

fn is_broken(verdict: &Verdict) -> bool {
    matches!(verdict, Verdict::Broken { .. })
}

#[test]
fn a_signature_is_good_by_its_key_for_the_manifest_and_for_the_file() {
    let made = made();
    let key = Signer::from(made.key.public());
    for one in made.about() {
        let verdict = judged(&made.bundle, &[one], &[another(), key.clone()]);
        assert!(matches!(verdict, Verdict::Good { by, .. } if by == key));
    }
    let unknown = Verdict::UnknownKey { hint: key.name() };
    assert_eq!(judged(&made.bundle, &made.about(), &[]), unknown);
    assert_eq!(judged(&made.bundle, &made.about(), &[another()]), unknown);
    assert!(is_broken(&judged(&made.bundle, &[Sha256::of(b"another")], &[key])), "it is about something else");
}

#[test]
fn how_it_was_built_is_said_of_this_component_alone() {
    let (made, package) = (made(), todo());
    let record: Value = serde_json::from_slice(RECORD).unwrap();
    let say = |record: &Value| {
        let record = serde_json::to_vec(record).unwrap();
        attest(&made.artifact, &made.packed, package.manifest(), &record, &made.key)
    };
    let bundle = say(&record).unwrap();
    let component = ("app/app.wasm".to_owned(), Sha256::of(package.component().unwrap()));
    let of = |component| About { package: made.about().to_vec(), component: Some(component) };
    let key = Signer::from(made.key.public());
    let judge = |component| check(&bundle, &of(component), std::slice::from_ref(&key), &Root::of(None).unwrap());
    let good = judge(component.clone());
    assert_eq!((good.attester(), good.signer()), (Some(&key), None));
    assert!(is_broken(&judge(("app/app.wasm".to_owned(), Sha256::of(b"another")))));
    let payload: Value = serde_json::from_slice(&bundle).unwrap();
    let payload = BASE64.decode(payload["dsseEnvelope"]["payload"].as_str().unwrap().as_bytes()).unwrap();
    let statement: Value = serde_json::from_slice(&payload).unwrap();
    assert_eq!(statement["predicateType"], PROVENANCE);
    let predicate = &statement["predicate"];
    assert_eq!(predicate["buildDefinition"]["externalParameters"], record["build"]);
    let source = &predicate["buildDefinition"]["resolvedDependencies"][0]["digest"]["sha256"];
    assert_eq!(*source, record["source"]["sha256"]);
    assert!(predicate["runDetails"]["builder"]["id"].as_str().unwrap().ends_with(&made.key.public().hint()));

    // Lists say what each is, for those who look for one kind alone.
    let double = Double::new();
    let (repository, reference) = remote(&double);
    repository.push(&made.artifact, &reference, false).unwrap();
    for bundle in [&made.bundle, &bundle] {
        repository.attach(made.artifact.manifest(), bundle).unwrap();
    }
    let listed = double.manifest(&format!("sha256-{}", made.artifact.digest().hex())).unwrap();
    let listed: Value = serde_json::from_slice(&listed).unwrap();
    let said = [0, 1].map(|at| listed["manifests"][at]["annotations"]["dev.sigstore.bundle.predicateType"].clone());
    assert_eq!(said, [json!(SIGNED), json!(PROVENANCE)]);

    let edits: [(&str, Edit); 5] = [
        ("schema", |record| record["schema"] = "hutch/provenance@9".into()),
        ("no component", |record| drop(record.as_object_mut().unwrap().remove("component"))),
        ("no source", |record| record["source"]["sha256"] = "../x".into()),
        ("no build", |record| record["build"] = json!("make")),
        ("too much", |record| record["build"]["options"] = "x".repeat(1 << 20).into()),
    ];
    for (what, edit) in edits {
        let mut record = record.clone();
        edit(&mut record);
        assert!(matches!(say(&record), Err(NotAttested::Malformed(_))), "{what}");
    }
    let mut other = record;
    other["component"]["sha256"] = "0".repeat(64).into();
    assert!(matches!(say(&other), Err(NotAttested::AnotherComponent { .. })));
}

#[test]
fn a_flipped_bit_anywhere_in_what_is_signed_is_broken_and_never_good() {
    let made = made();
    for (pointer, step) in [("/dsseEnvelope/payload", 29), ("/dsseEnvelope/signatures/0/sig", 1)] {
        let bundle: Value = serde_json::from_slice(&made.bundle).unwrap();
        let bytes = BASE64.decode(bundle.pointer(pointer).unwrap().as_str().unwrap().as_bytes()).unwrap();
        for at in (0..bytes.len()).step_by(step) {
            for bit in [0x01, 0x80] {
                let mut bytes = bytes.clone();
                bytes[at] ^= bit;
                let verdict = made.with(|bundle| *bundle.pointer_mut(pointer).unwrap() = BASE64.encode(&bytes).into());
                assert!(is_broken(&verdict), "{pointer} {at}: {verdict:?}");
            }
        }
    }
}

#[test]
fn what_is_malformed_or_of_another_kind_is_broken() {
    let made = made();
    let edits: [(&str, Edit); 9] = [
        ("type", |bundle| bundle["mediaType"] = "text/plain".into()),
        ("payload type", |bundle| bundle["dsseEnvelope"]["payloadType"] = "text/plain".into()),
        ("no envelope", |bundle| drop(bundle.as_object_mut().unwrap().remove("dsseEnvelope"))),
        ("no signature", |bundle| bundle["dsseEnvelope"]["signatures"] = json!([])),
        ("two signatures", |bundle| {
            let one = bundle["dsseEnvelope"]["signatures"][0].clone();
            bundle["dsseEnvelope"]["signatures"] = json!([one, one]);
        }),
        ("empty signature", |bundle| bundle["dsseEnvelope"]["signatures"][0]["sig"] = "".into()),
        ("no base64", |bundle| bundle["dsseEnvelope"]["payload"] = "*".into()),
        ("no material", |bundle| bundle["verificationMaterial"] = json!({})),
        ("another statement", |bundle| bundle["dsseEnvelope"]["payload"] = BASE64.encode(b"{}").into()),
    ];
    for (what, edit) in edits {
        let verdict = made.with(edit);
        assert!(is_broken(&verdict), "{what}: {verdict:?}");
    }
    for bytes in [b"".as_slice(), b"{}", &[b' '; 2 << 20]] {
        assert!(is_broken(&made.check(bytes)));
    }
    // Whose key is not known can't be told from a signature that does not hold; a certificate is seen and not judged.
    let hint = |bundle: &mut Value| bundle["verificationMaterial"]["publicKey"]["hint"] = "x".into();
    assert!(matches!(made.with(hint), Verdict::Good { .. }), "the key decides, and not its name");
    let certificate = |bundle: &mut Value| bundle["verificationMaterial"] = json!({"certificate": {"rawBytes": ""}});
    match Root::CHECKS_CERTIFICATES {
        true => assert!(is_broken(&made.with(certificate))),
        false => assert_eq!(made.with(certificate), Verdict::Certificate),
    }
}

fn remote(double: &Double) -> (Repository, Reference) {
    let reference = format!("oci://{}/todo:1", double.host).parse().unwrap();
    (Repository::Remote(Remote::new(&double.host, "todo", surroundings()).unwrap()), reference)
}

#[test]
fn a_registry_with_a_list_keeps_it_and_another_gets_one_under_a_tag() {
    let made = made();
    for lists in [true, false] {
        let double = Double::new();
        if lists {
            double.list_referrers();
        }
        let (repository, reference) = remote(&double);
        repository.push(&made.artifact, &reference, false).unwrap();
        assert_eq!(repository.bundles(made.artifact.digest()).unwrap(), [[0_u8; 0]; 0]);
        assert!(repository.attach(made.artifact.manifest(), &made.bundle).unwrap());
        assert!(!repository.attach(made.artifact.manifest(), &made.bundle).unwrap(), "kept twice");
        assert_eq!(repository.bundles(made.artifact.digest()).unwrap(), std::slice::from_ref(&made.bundle));
        let tag = format!("sha256-{}", made.artifact.digest().hex());
        assert_eq!(double.manifest(&tag).is_some(), !lists, "the tag is for registries without a list");
        assert_eq!(repository.bundles(Sha256::of(b"another")).unwrap().len(), 0);
    }
}

#[test]
fn a_folder_keeps_them_too() {
    let made = made();
    let folder = tempfile::tempdir().unwrap();
    let layout = || Layout::new(hutch::package::open_folder(folder.path()).unwrap(), "shop", Duration::MAX);
    let repository = Repository::Layout(layout());
    repository.push(&made.artifact, &"oci-layout:shop:1".parse().unwrap(), false).unwrap();
    assert!(repository.attach(made.artifact.manifest(), &made.bundle).unwrap());
    assert!(!repository.attach(made.artifact.manifest(), &made.bundle).unwrap(), "kept twice");
    assert_eq!(
        Repository::Layout(layout()).bundles(made.artifact.digest()).unwrap(),
        std::slice::from_ref(&made.bundle)
    );
}

#[test]
fn in_a_folder_what_says_more_than_any_signature_is_passed_over() {
    let made = made();
    let folder = tempfile::tempdir().unwrap();
    let layout = Layout::new(hutch::package::open_folder(folder.path()).unwrap(), "shop", Duration::MAX);
    let repository = Repository::Layout(layout);
    repository.push(&made.artifact, &"oci-layout:shop:1".parse().unwrap(), false).unwrap();
    repository.attach(made.artifact.manifest(), &made.bundle).unwrap();
    let index = folder.path().join("index.json");
    let known: Value = serde_json::from_slice(&std::fs::read(&index).unwrap()).unwrap();
    let listed = known["manifests"].as_array().unwrap();
    let blob = |entry: &Value| {
        let hex = entry["digest"].as_str().unwrap().strip_prefix("sha256:").unwrap();
        folder.path().join("blobs/sha256").join(hex)
    };
    let read = |entry: &Value| serde_json::from_slice::<Value>(&std::fs::read(blob(entry)).unwrap()).unwrap();
    let signature = listed.iter().find(|entry| read(entry).get("subject").is_some()).unwrap();
    // The same signature, in a manifest that says this much more: alone in the list, beside the package.
    let found = |more: usize| {
        let mut manifest = read(signature);
        manifest["annotations"] = json!({"more": "x".repeat(more)});
        let bytes = serde_json::to_vec(&manifest).unwrap();
        let (size, digest) = (bytes.len(), Sha256::of(&bytes));
        std::fs::write(folder.path().join("blobs/sha256").join(digest.hex()), bytes).unwrap();
        let mut other = signature.clone();
        (other["digest"], other["size"]) = (digest.to_string().into(), size.into());
        let others = listed.iter().filter(|entry| *entry != signature).cloned().chain([other]);
        let mut changed = known.clone();
        changed["manifests"] = others.collect();
        std::fs::write(&index, serde_json::to_vec(&changed).unwrap()).unwrap();
        repository.bundles(made.artifact.digest()).unwrap()
    };
    assert_eq!(found(10), std::slice::from_ref(&made.bundle));
    assert_eq!(found(64 << 10).len(), 0);
}

#[test]
fn in_a_folder_so_much_is_read_to_find_signatures() {
    let made = made();
    let folder = tempfile::tempdir().unwrap();
    let layout = Layout::new(hutch::package::open_folder(folder.path()).unwrap(), "shop", Duration::MAX);
    let repository = Repository::Layout(layout);
    repository.push(&made.artifact, &"oci-layout:shop:1".parse().unwrap(), false).unwrap();
    repository.attach(made.artifact.manifest(), &made.bundle).unwrap();
    let index = folder.path().join("index.json");
    let known: Value = serde_json::from_slice(&std::fs::read(&index).unwrap()).unwrap();
    // With so many entries before the signature's, each of the longest manifest that may be one.
    let found = |count: usize, kind: &str| {
        let mut all = entries(count, kind);
        all.iter_mut().for_each(|entry| entry["size"] = json!(64 << 10));
        all.extend(known["manifests"].as_array().unwrap().iter().cloned());
        let mut changed = known.clone();
        changed["manifests"] = all.into();
        std::fs::write(&index, changed.to_string()).unwrap();
        repository.bundles(made.artifact.digest())
    };
    assert_eq!(found(511, "").unwrap(), std::slice::from_ref(&made.bundle));
    assert_eq!(found(5_000, "application/spdx+json").unwrap(), std::slice::from_ref(&made.bundle));
    let error = found(512, "").unwrap_err();
    assert_eq!(error.code(), ErrorCode::ArtifactInvalid);
    assert!(error.to_string().ends_with("33554432 allowed"), "{error}");
}

#[test]
fn a_list_that_is_none_or_names_something_else_brings_no_signature() {
    let made = made();
    let double = Double::new();
    let (repository, reference) = remote(&double);
    repository.push(&made.artifact, &reference, false).unwrap();
    let tag = format!("sha256-{}", made.artifact.digest().hex());
    // Some registries answer with what it is about.
    double.put(&tag, "application/vnd.oci.image.manifest.v1+json", made.artifact.manifest());
    assert_eq!(repository.bundles(made.artifact.digest()).unwrap().len(), 0);
    // An entry about another manifest.
    let entry = |bytes: &[u8]| {
        let entry = json!({"mediaType": "application/vnd.oci.image.manifest.v1+json", "digest": Sha256::of(bytes).to_string(), "size": bytes.len()});
        json!({"schemaVersion": 2, "mediaType": INDEX, "manifests": [entry]}).to_string()
    };
    double.put(&tag, INDEX, entry(made.artifact.manifest()).as_bytes());
    assert_eq!(repository.bundles(made.artifact.digest()).unwrap().len(), 0);
    // One that is not what its digest names, and one that is gone: neither is "not signed".
    double.put(&Sha256::of(b"named").to_string(), "x", b"other");
    double.put(&tag, INDEX, entry(b"named").as_bytes());
    assert!(repository.bundles(made.artifact.digest()).is_err());
    double.put(&tag, INDEX, entry(b"gone").as_bytes());
    assert!(repository.bundles(made.artifact.digest()).is_err());
}

#[test]
fn a_list_need_not_say_that_it_is_one_and_what_is_none_is_not_written_over() {
    let (made, other) = (made(), made());
    let double = Double::new();
    let (repository, reference) = remote(&double);
    repository.push(&made.artifact, &reference, false).unwrap();
    repository.attach(made.artifact.manifest(), &made.bundle).unwrap();
    let tag = format!("sha256-{}", made.artifact.digest().hex());
    let mut list: Value = serde_json::from_slice(&double.manifest(&tag).unwrap()).unwrap();
    for kind in [None, Some(Value::Null)] {
        list.as_object_mut().unwrap().remove("mediaType");
        kind.into_iter().for_each(|kind| list["mediaType"] = kind);
        double.put(&tag, INDEX, list.to_string().as_bytes());
        assert_eq!(repository.bundles(made.artifact.digest()).unwrap(), std::slice::from_ref(&made.bundle));
    }
    repository.attach(made.artifact.manifest(), &other.bundle).unwrap();
    assert_eq!(repository.bundles(made.artifact.digest()).unwrap().len(), 2);
    // Somebody's image.
    let image = json!({"schemaVersion": 2, "mediaType": MANIFEST, "layers": []}).to_string();
    double.put(&tag, MANIFEST, image.as_bytes());
    let error = repository.attach(made.artifact.manifest(), &made.bundle).unwrap_err();
    assert!(matches!(error, RegistryError::ListTaken(_)), "{error}");
    assert_eq!(double.manifest(&tag).unwrap(), image.as_bytes());
}

#[test]
fn two_who_sign_at_once_are_both_in_the_list() {
    let (one, other) = (made(), made());
    let double = Double::new();
    let (repository, reference) = remote(&double);
    repository.push(&one.artifact, &reference, false).unwrap();
    std::thread::scope(|scope| {
        for made in [&one, &other] {
            let double = &double;
            scope.spawn(move || remote(double).0.attach(made.artifact.manifest(), &made.bundle));
        }
    });
    // Whoever lost the race was told so, or wrote again; nobody is told that a lost signature is kept.
    for made in [&one, &other] {
        repository.attach(made.artifact.manifest(), &made.bundle).unwrap();
    }
    assert_eq!(repository.bundles(one.artifact.digest()).unwrap().len(), 2);
}

/// Entries about nothing in particular, of a kind.
fn entries(count: usize, kind: &str) -> Vec<Value> {
    let entry = |at: usize| {
        let digest = Sha256::of(format!("{kind} {at}").as_bytes()).to_string();
        json!({"mediaType": MANIFEST, "digest": digest, "size": 2, "artifactType": kind, "annotations": null})
    };
    (0..count).map(entry).collect()
}

fn list(entries: &[Value]) -> Answered {
    let list = json!({"schemaVersion": 2, "mediaType": INDEX, "manifests": entries, "annotations": null});
    Answered::new(200, list.to_string()).header("content-type", INDEX)
}

/// A registry that holds a signature, and the entry that a list has of it.
fn signed(made: &Made) -> (Double, Repository, Value) {
    let double = Double::new();
    let (repository, reference) = remote(&double);
    repository.push(&made.artifact, &reference, false).unwrap();
    repository.attach(made.artifact.manifest(), &made.bundle).unwrap();
    let tag = format!("sha256-{}", made.artifact.digest().hex());
    let listed: Value = serde_json::from_slice(&double.manifest(&tag).unwrap()).unwrap();
    // From here on it is in what is listed alone.
    double.put(&tag, INDEX, list(&[]).body.as_slice());
    (double, repository, listed["manifests"][0].clone())
}

#[test]
fn a_signature_is_found_behind_whatever_else_is_said_about_a_package() {
    let made = made();
    let (double, repository, entry) = signed(&made);
    let listed = move |asked: &Asked| asked.target.contains("/referrers/").then(|| asked.target.clone());
    for next in ["?artifactType=x&page=2", "/v2/todo/referrers/x?page=2"] {
        let entry = entry.clone();
        double.instead(move |asked| {
            let target = listed(asked)?;
            Some(match target.contains("page=2") {
                false => list(&entries(500, "application/spdx+json")).header("link", format!("<{next}>; rel=\"next\"")),
                true => list(std::slice::from_ref(&entry)),
            })
        });
        assert_eq!(repository.bundles(made.artifact.digest()).unwrap(), std::slice::from_ref(&made.bundle));
        assert!(!repository.attach(made.artifact.manifest(), &made.bundle).unwrap(), "kept twice");
    }
    let asked = double.asked();
    let first = asked.iter().rfind(|asked| asked.target.contains("/referrers/sha256:")).unwrap();
    assert!(first.target.ends_with("?artifactType=application%2Fvnd.dev.sigstore.bundle.v0.3%2Bjson"), "{first:?}");
    // The list goes on elsewhere, without end, or fails on the way: it is not what there is, and that is said.
    for (answer, code) in [
        (list(&[]).header("link", "<http://elsewhere.example/>; rel=next"), ErrorCode::RegistryFailed),
        (list(&[]).header("link", "<?again>; rel=next"), ErrorCode::RegistryFailed),
        (list(&[]).header("link", "<?broken>; rel=next"), ErrorCode::ArtifactInvalid),
        (list(&[]).header("link", "<?gone>; rel=next"), ErrorCode::PackageNotFound),
    ] {
        let before = double.asked().len();
        double.instead(move |asked| {
            let target = listed(asked)?;
            Some(match target.rsplit_once('?').unwrap().1 {
                "broken" => Answered::new(200, "[").header("content-type", INDEX),
                "gone" => Answered::new(404, ""),
                _ => answer.clone(),
            })
        });
        assert_eq!(repository.bundles(made.artifact.digest()).unwrap_err().code(), code);
        assert!(double.asked().len() - before < 110, "it is followed without end");
    }
}

#[test]
fn signatures_are_counted_and_nothing_else() {
    let made = made();
    let (double, repository, entry) = signed(&made);
    let bundles = |count| entries(count, "application/vnd.dev.sigstore.bundle.v0.3+json");
    let mut others = entries(5_000, "application/spdx+json");
    others.push(entry);
    // Some that nobody understands, too.
    others.extend([Value::Null, json!(7), json!({"mediaType": MANIFEST, "digest": "sha512:00", "size": 1})]);
    double.instead(move |asked| asked.target.contains("/referrers/").then(|| list(&others)));
    assert_eq!(repository.bundles(made.artifact.digest()).unwrap(), std::slice::from_ref(&made.bundle));
    double.instead(move |asked| asked.target.contains("/referrers/").then(|| list(&bundles(65))));
    let error = repository.bundles(made.artifact.digest()).unwrap_err();
    assert_eq!(error.code(), ErrorCode::ArtifactInvalid);
    assert_eq!(error.to_string(), "there are 65 signatures of the package, 64 allowed");
    // They are counted as they come, and one more than are looked at is not made.
    double.instead(|asked| asked.target.contains("/referrers/").then(|| list(&entries(5_000, ""))));
    let error = repository.bundles(made.artifact.digest()).unwrap_err().to_string();
    assert!(error.starts_with("there are 257 things about the package") && error.ends_with("256 allowed"), "{error}");
    double.instead(move |asked| asked.target.contains("/referrers/").then(|| list(&bundles(64))));
    let before = double.asked().len();
    let error = repository.attach(made.artifact.manifest(), &self::made().bundle).unwrap_err();
    assert_eq!(error.to_string(), "there are 65 signatures of the package, 64 allowed");
    assert!(double.asked().iter().skip(before).all(|asked| asked.method == "GET"), "something was sent");
    // A list that would take much memory is not read.
    let much = format!(r#"{{"manifests":[],"more":[{}0]}}"#, r#"{"":0},"#.repeat(140_000));
    let much = Answered::new(200, much).header("content-type", INDEX);
    double.instead(move |asked| asked.target.contains("/referrers/").then(|| much.clone()));
    let error = repository.bundles(made.artifact.digest()).unwrap_err().to_string();
    assert!(error.starts_with("the list of referrers would take"), "{error}");
}

#[test]
fn a_bundle_that_would_take_much_memory_is_broken() {
    let made = made();
    for (count, is_read) in [(1_000, true), (40_000, false)] {
        let verdict = made.with(|bundle| {
            bundle["verificationMaterial"]["tlogEntries"] = vec![json!({"": 0}); count].into();
        });
        match verdict {
            Verdict::Good { .. } => assert!(is_read, "{count}"),
            Verdict::Broken { reason } => assert!(!is_read && reason.contains("memory"), "{count}: {reason}"),
            other => panic!("{count}: {other:?}"),
        }
    }
}

#[test]
fn a_list_of_nothing_is_written_as_null() {
    let made = made();
    let double = Double::new();
    let (repository, reference) = remote(&double);
    let list = json!({"schemaVersion": 2, "mediaType": INDEX, "manifests": null, "annotations": null}).to_string();
    let answer = list.clone();
    double.instead(move |asked| {
        let listed = || Answered::new(200, answer.clone()).header("content-type", INDEX);
        asked.target.contains("/referrers/").then(listed)
    });
    repository.push(&made.artifact, &reference, false).unwrap();
    assert_eq!(repository.bundles(made.artifact.digest()).unwrap().len(), 0);
    // Under the tag, and what others say of the list stays when something is added.
    let tag = format!("sha256-{}", made.artifact.digest().hex());
    double.put(&tag, INDEX, list.replace("\"annotations\":null", "\"annotations\":{\"a\":\"b\"}").as_bytes());
    assert!(repository.attach(made.artifact.manifest(), &made.bundle).unwrap());
    let kept: Value = serde_json::from_slice(&double.manifest(&tag).unwrap()).unwrap();
    assert_eq!((&kept["annotations"]["a"], kept["manifests"].as_array().unwrap().len()), (&json!("b"), 1));
    assert_eq!(repository.bundles(made.artifact.digest()).unwrap(), std::slice::from_ref(&made.bundle));
    // So are the parts of a bundle that protocol buffers leave empty.
    let verdict = made.with(|bundle| {
        bundle["verificationMaterial"]["tlogEntries"] = Value::Null;
        bundle["dsseEnvelope"]["signatures"][0]["keyid"] = Value::Null;
    });
    assert!(matches!(verdict, Verdict::Good { .. }), "{verdict:?}");
}

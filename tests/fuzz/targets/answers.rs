//! Documents that a registry answers with, and texts that say what to ask one for: a manifest, a config, a bundle with a signature, a
//! record of a build, references, signers. A document counts under its own digest alone; a package comes out only as the one that was
//! announced, and goes back as the same artifact; a signature is good for what was signed, by its key, and for nothing else.
//!
//! The first byte says which it is.
#![no_main]

use data_encoding::BASE64;
use hutch::package::{PackWriter, Package, PackageBounds, Source};
use hutch_fuzz::within;
use hutch_model::digest::{Digest, Kind};
use hutch_model::manifest;
use hutch_model::names::PackagePath;
use hutch_registry::{
    About, Artifact, ArtifactError, BUNDLE_BYTES_MAX, Head, Place, PrivateKey, PublicKey, Reference, Root, SIGNED,
    Sha256, Signer, Texts, Verdict, attest, check, predicate_type, sign_files,
};
use serde_json::{Value, json};
use std::sync::LazyLock;

/// A component without anything in it.
const LAYER: &[u8] = b"\0asm\x0d\0\x01\0";

/// The key that counts here, each time another one: what it signs is filled in where an input leaves a place for it.
static KEY: LazyLock<PrivateKey> = LazyLock::new(|| {
    PrivateKey::generate().and_then(|text| PrivateKey::from_pem(&text)).unwrap_or_else(|error| panic!("{error}"))
});

/// What is signed: one file.
static SIGNED_FILE: LazyLock<(String, Sha256)> = LazyLock::new(|| ("file".to_owned(), Sha256::of(b"content")));

/// The statement that the key stands under, in its bundle.
static SIGNED_BUNDLE: LazyLock<Value> = LazyLock::new(|| {
    let bundle = sign_files(std::slice::from_ref(&*SIGNED_FILE), &KEY).unwrap_or_else(|error| panic!("{error}"));
    serde_json::from_slice(&bundle).unwrap_or_else(|error| panic!("{error}"))
});

/// A package around the component.
static ARTIFACT: LazyLock<(Artifact, Package)> = LazyLock::new(|| {
    let app = b"---\nschema: agentapplications/v1\nkind: app\nslug: a\nname: A\ndescription: b\nversion: 0.1.0\nentry:\n  command: wasm:a.wasm\ncommands: [c]\nskills: [s]\n---\n";
    let skill = b"---\nname: s\ndescription: d\n---\n";
    let mut pack = PackWriter::new(Vec::new());
    for (path, content) in [
        ("APP.md", Some(app.as_slice())),
        ("app", None),
        ("app/a.wasm", Some(LAYER)),
        ("skills", None),
        ("skills/s", None),
        ("skills/s/SKILL.md", Some(skill.as_slice())),
    ] {
        let path = PackagePath::parse(path).unwrap_or_else(|error| panic!("{error}"));
        pack.add(&path, content).unwrap_or_else(|error| panic!("{error}"));
    }
    let packed = pack.finish().unwrap_or_else(|error| panic!("{error}"));
    let bounds = PackageBounds::default();
    let package = Source::packed_in_memory(packed, &bounds).and_then(|source| Package::open(&source, bounds));
    let package = package.unwrap_or_else(|error| panic!("{error:?}"));
    (Artifact::of(&package).unwrap_or_else(|error| panic!("{error}")), package)
});

static ROOT: LazyLock<Root> = LazyLock::new(|| Root::of(None).unwrap_or_else(|error| panic!("{error}")));

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    LazyLock::force(&SIGNED_BUNDLE);
    LazyLock::force(&ROOT);
    LazyLock::force(&ARTIFACT);
    let Some((kind, bytes)) = bytes.split_first() else { return };
    within((4 << 20) + 800 * bytes.len(), || match kind {
        b'm' => head(bytes),
        b'c' => config(bytes),
        b'b' => bundle(bytes),
        b'f' => files(bytes),
        b'p' => record(bytes),
        _ => texts(bytes),
    });
});

fn head(bytes: &[u8]) {
    let Ok(head) = Head::read(bytes, None) else { return };
    let digest = Sha256::of(bytes);
    assert_eq!(head.digest(), digest);
    assert!(Head::read(bytes, Some(digest)).is_ok());
    assert!(Head::read(bytes, Some(Sha256::of(LAYER))).is_err(), "another manifest than the one that was asked for");
    let (config, layer) = head.sizes();
    assert!(config <= 32 << 20 && layer <= 1 << 32, "so much is asked for: {config} and {layer}");
    assert!(head.texts(bytes).is_err(), "a manifest is its own config");
}

/// A config, under a manifest that announces what is in it.
fn config(bytes: &[u8]) {
    let announced = announced(bytes);
    let under = |package: &str| -> Option<Texts> {
        let manifest = json!({
            "schemaVersion": 2,
            "mediaType": "application/vnd.oci.image.manifest.v1+json",
            "config": {
                "mediaType": "application/vnd.wasm.config.v0+json", "digest": Sha256::of(bytes), "size": bytes.len(),
            },
            "layers": [{"mediaType": "application/wasm", "digest": Sha256::of(LAYER), "size": LAYER.len()}],
            "annotations": {
                "org.opencontainers.image.description": announced[0], "org.opencontainers.image.version": announced[1],
                "io.github.hutch-host.slug": announced[2], "io.github.hutch-host.package": package,
            },
        });
        let head = Head::read(manifest.to_string().as_bytes(), None).unwrap_or_else(|error| panic!("{error}"));
        assert!(head.clone().texts(LAYER).is_err(), "another config than the one that was named");
        head.texts(bytes).ok()
    };
    let another = Digest::of(Kind::Stream, b"another");
    let Some(texts) = under(&another.to_string()) else { return };
    let outline = texts.outline().unwrap_or_else(|error| panic!("it was understood, and is not: {error}"));
    assert_eq!(texts.component(), outline.manifest().entry().component());
    assert!(texts.packed(b"").is_err(), "another component than the one that was named");
    let found = match texts.packed(LAYER) {
        Err(ArtifactError::Digest { found, .. }) => found,
        Err(_) => return,
        Ok(_) => panic!("a package under another's digest"),
    };
    // Announced as what it is.
    let texts = under(&found).unwrap_or_else(|| panic!("the digest of a package is a matter of its texts"));
    let packed = texts.packed(LAYER).unwrap_or_else(|error| panic!("it is not what it is: {error}"));
    assert_eq!(texts.head().package().to_string(), found);
    let bounds = PackageBounds::default();
    let package = Source::packed_in_memory(packed.clone(), &bounds).and_then(|source| Package::open(&source, bounds));
    let Ok(package) = package else { return };
    // And pushed again.
    let Ok(artifact) = Artifact::of(&package) else { return };
    let head = Head::read(artifact.manifest(), Some(artifact.digest()));
    let again = head.and_then(|head| head.texts(artifact.config())).and_then(|texts| texts.packed(artifact.layer()));
    assert!(again.is_ok_and(|again| again == packed), "pushed and pulled again it is another file");
}

/// Description, version and slug, as far as an APP.md in a config says them.
fn announced(config: &[u8]) -> [String; 3] {
    let config: Option<Value> = serde_json::from_slice(config).ok();
    let files = config.as_ref().and_then(|config| config.pointer("/agentApplication/files")?.as_array());
    let mut files = files.into_iter().flatten();
    let app = files.find(|file| file.get("path").and_then(Value::as_str) == Some("APP.md"));
    let app = app.and_then(|file| file.get("text")?.as_str());
    let manifest = app.and_then(|text| manifest::parse(text, "APP.md").0);
    manifest.map_or_else(Default::default, |manifest| {
        [manifest.description().to_owned(), manifest.version().to_string(), manifest.slug().to_string()]
    })
}

fn payload(bundle: &Value) -> Option<Vec<u8>> {
    BASE64.decode(bundle.pointer("/dsseEnvelope/payload")?.as_str()?.as_bytes()).ok()
}

/// What is signed, put where a bundle has an empty text for it.
fn completed(bytes: &[u8]) -> Vec<u8> {
    let Ok(text) = std::str::from_utf8(bytes) else { return bytes.to_vec() };
    let mut text = text.to_owned();
    for place in ["/dsseEnvelope/payload", "/dsseEnvelope/signatures/0/sig", "/verificationMaterial/publicKey/hint"] {
        let name = place.rsplit('/').next().unwrap_or_default();
        if let Some(value) = SIGNED_BUNDLE.pointer(place) {
            text = text.replace(&format!("\"{name}\":\"\""), &format!("\"{name}\":{value}"));
        }
    }
    text.into_bytes()
}

fn about(package: Sha256) -> About {
    About { package: vec![package], component: None }
}

fn bundle(bytes: &[u8]) {
    let bytes = &*completed(bytes);
    let ours = [Signer::from(KEY.public())];
    let verdict = check(bytes, &about(SIGNED_FILE.1), &ours, &ROOT);
    if let Verdict::Good { by, identity, predicate_type: says } = &verdict {
        let bundle: Value = serde_json::from_slice(bytes).unwrap_or_else(|error| panic!("good, and {error}"));
        assert_eq!(payload(&bundle), payload(&SIGNED_BUNDLE), "nobody signed this");
        assert_eq!((by, identity.as_ref(), says.as_str()), (&ours[0], None, SIGNED), "a key says by itself who it is");
    }
    assert_eq!(verdict.signer().is_some(), matches!(verdict, Verdict::Good { .. }));
    assert!(verdict.attester().is_none(), "nobody said how it was built");
    let nobody = check(bytes, &about(SIGNED_FILE.1), &[], &ROOT);
    assert!(!matches!(nobody, Verdict::Good { .. }), "good by nobody");
    let other = check(bytes, &about(Sha256::of(b"another")), &ours, &ROOT);
    assert!(!matches!(other, Verdict::Good { .. }), "good for something else");
    assert!(bytes.len() as u64 <= BUNDLE_BYTES_MAX || matches!(verdict, Verdict::Broken { .. }));
    let _ = predicate_type(bytes);
}

/// Names of files, one a line: what was signed is good for each of them and for nothing else, and not with another byte in its statement.
fn files(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    let files: Vec<(String, Sha256)> =
        text.split('\n').take(20).map(|name| (name.to_owned(), Sha256::of(name.as_bytes()))).collect();
    let ours = [Signer::from(KEY.public())];
    let Ok(bundle) = sign_files(&files, &KEY) else { return };
    assert_eq!(predicate_type(&bundle).as_deref(), Some(SIGNED));
    for (_, digest) in &files {
        assert_eq!(check(&bundle, &about(*digest), &ours, &ROOT).signer(), Some(&ours[0]));
    }
    let other = Sha256::of(&[bytes, b"\n"].concat());
    assert!(check(&bundle, &about(other), &ours, &ROOT).signer().is_none(), "good for what is not in it");
    let mut changed = bundle.clone();
    let at = bytes.len() * 31 % changed.len();
    if let Some(byte) = changed.get_mut(at) {
        *byte ^= 1 << (bytes.len() % 7);
    }
    let verdict = check(&changed, &about(files[0].1), &ours, &ROOT);
    let [changed, bundle] = [changed, bundle].map(|bytes| serde_json::from_slice(&bytes).unwrap_or(Value::Null));
    assert!(verdict.signer().is_none() || payload(&changed) == payload(&bundle), "byte {at} may be another one");
}

/// What a build says of itself, beside a package that it is not of.
fn record(bytes: &[u8]) {
    let (artifact, package) = &*ARTIFACT;
    let Ok(bundle) = attest(artifact, b"packed", package.manifest(), bytes, &KEY) else { return };
    let about = About {
        package: vec![artifact.digest()],
        component: Some((package.manifest().entry().component().to_string(), Sha256::of(artifact.layer()))),
    };
    let verdict = check(&bundle, &about, &[Signer::from(KEY.public())], &ROOT);
    assert!(verdict.attester().is_some() && verdict.signer().is_none(), "{verdict:?}");
    let component = Some((package.manifest().entry().component().to_string(), Sha256::of(b"another")));
    let other = check(&bundle, &About { component, ..about }, &[Signer::from(KEY.public())], &ROOT);
    assert!(other.attester().is_none(), "it says how another component was built");
}

/// A reference, a signer, a digest, a key.
fn texts(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    if let Ok(reference) = text.parse::<Reference>() {
        assert!(Reference::is_meant(text));
        let written = reference.to_string();
        assert_eq!(written.parse::<Reference>().as_ref(), Ok(&reference), "{written:?} is another one");
        assert!(!written.contains(char::is_control), "{written:?} acts on a terminal");
        if let Place::Registry { host, repository } = &reference.place {
            // They become an address: neither leaves its place.
            let plain = |text: &str, more: &str| {
                text.bytes()
                    .all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || more.as_bytes().contains(&byte))
            };
            assert!(plain(host, ".-:[]") && plain(repository, "._-/"), "{written:?}");
            assert!(!repository.split('/').any(|part| matches!(part, "" | "." | "..")), "{written:?}");
        }
        if let Some(tag) = &reference.tag {
            assert_eq!(reference.with_tag(tag).and_then(|other| other.tag).as_ref(), Some(tag));
        }
    }
    if let Ok(digest) = text.parse::<Sha256>() {
        assert_eq!(digest.to_string(), text);
    }
    if let Ok(signer) = Signer::parse(text) {
        assert_eq!(Signer::parse(&signer.text()).as_ref(), Ok(&signer), "it is written down as somebody else");
        assert!(!signer.name().contains(char::is_control));
    }
    if let Ok(key) = PublicKey::from_pem(text) {
        assert_eq!(PublicKey::from_pem(&key.to_pem()).ok(), Some(key));
    }
    // A private key that is malformed is none, and none is ever made up.
    let _ = PrivateKey::from_pem(text);
}

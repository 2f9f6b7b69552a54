//! Signatures under certificates, by a bundle that Sigstore's public instance made: of Sigstore's conformance suite, about a file that
//! is no package, in 2024.

#![allow(clippy::unwrap_used, clippy::panic)]

use data_encoding::BASE64;
use hutch_registry::{About, PROVENANCE, Root, Sha256, Signer, Verdict, check};
use serde_json::{Value, json};

const BUNDLE: &[u8] = include_bytes!("sigstore-public.json");
const SUBJECT: &str = "sha256:a0cfc71271d6e278e57cd332ff957c3f7043fdda354c4cbb190a30d56efa01bf";
const ISSUER: &str = "https://token.actions.githubusercontent.com";
const WORKFLOW: &str =
    "https://github.com/sigstore-conformance/extremely-dangerous-public-oidc-beacon/.github/workflows/";

fn judged(bundle: &[u8], subject: &str, identities: &[String]) -> Verdict {
    let signers: Vec<Signer> = identities.iter().map(|text| Signer::parse(text).unwrap()).collect();
    let about = About { package: vec![subject.parse().unwrap()], component: None };
    check(bundle, &about, &signers, &Root::of(None).unwrap())
}

fn by_anybody(edit: impl FnOnce(&mut Value)) -> Verdict {
    let mut bundle = serde_json::from_slice(BUNDLE).unwrap();
    edit(&mut bundle);
    judged(&serde_json::to_vec(&bundle).unwrap(), SUBJECT, &[format!("identity {ISSUER} https://github.com/*")])
}

fn is_broken(verdict: &Verdict) -> bool {
    matches!(verdict, Verdict::Broken { .. })
}

#[test]
fn who_signed_is_the_identity_in_the_certificate() {
    let exact = format!("identity {ISSUER} {WORKFLOW}extremely-dangerous-oidc-beacon.yml@refs/heads/main");
    let wide = format!("identity {ISSUER} {WORKFLOW}*");
    for named in [&exact, &wide] {
        let found = judged(BUNDLE, SUBJECT, std::slice::from_ref(named));
        let Verdict::Good { by, identity, predicate_type } = found else { panic!("{named}") };
        // As whom it counts, and who it was.
        assert_eq!((by.text(), predicate_type.as_str()), (named.clone(), PROVENANCE));
        assert_eq!(identity.map(|identity| identity.to_string()).as_ref(), Some(&exact));
    }
    for other in [
        format!("identity https://accounts.google.com {WORKFLOW}*"),
        format!("identity {ISSUER} https://github.com/sigstore-conformance/other/*"),
        format!("identity {ISSUER} {WORKFLOW}extremely-dangerous-oidc-beacon.yml@refs/heads/mai"),
        "identity https://github.com/login/oauth ada@example.com".to_owned(),
    ] {
        let Verdict::UnknownIdentity(found) = judged(BUNDLE, SUBJECT, std::slice::from_ref(&other)) else {
            panic!("{other}")
        };
        assert_eq!(found.to_string(), exact);
    }
    let another = Sha256::of(b"another").to_string();
    assert!(is_broken(&judged(BUNDLE, &another, &[exact])), "it is about something else");
}

#[test]
fn what_was_changed_after_it_was_signed_is_broken() {
    let material = |path: &'static str, at: usize| {
        move |bundle: &mut Value| {
            let text = bundle.pointer_mut(path).unwrap();
            let mut bytes = BASE64.decode(text.as_str().unwrap().as_bytes()).unwrap();
            let at = at % bytes.len();
            bytes[at] ^= 1;
            *text = BASE64.encode(&bytes).into();
        }
    };
    let parts = [
        "/dsseEnvelope/payload",
        "/dsseEnvelope/signatures/0/sig",
        "/verificationMaterial/tlogEntries/0/logId/keyId",
        "/verificationMaterial/tlogEntries/0/inclusionPromise/signedEntryTimestamp",
        "/verificationMaterial/tlogEntries/0/inclusionProof/rootHash",
        "/verificationMaterial/tlogEntries/0/inclusionProof/hashes/0",
        "/verificationMaterial/tlogEntries/0/canonicalizedBody",
    ];
    for part in parts {
        for at in (0..4096).step_by(97) {
            let verdict = by_anybody(material(part, at));
            assert!(is_broken(&verdict), "{part} {at}: {verdict:?}");
        }
    }
    // A certificate that names another authority is not looked into; one that names this authority holds or is broken.
    for at in 0..1024 {
        let verdict = by_anybody(material("/verificationMaterial/certificate/rawBytes", at));
        assert!(is_broken(&verdict) || verdict == Verdict::Certificate, "{at}: {verdict:?}");
    }
    type Edit = fn(&mut Value);
    let edits: [(&str, Edit); 7] = [
        ("no log", |bundle| bundle["verificationMaterial"]["tlogEntries"] = json!([])),
        ("no proof", |bundle| bundle["verificationMaterial"]["tlogEntries"][0]["inclusionProof"] = Value::Null),
        ("another time", |bundle| {
            bundle["verificationMaterial"]["tlogEntries"][0]["integratedTime"] = "1734374577".into()
        }),
        ("another index", |bundle| bundle["verificationMaterial"]["tlogEntries"][0]["logIndex"] = "1".into()),
        ("another checkpoint", |bundle| {
            let checkpoint = &mut bundle["verificationMaterial"]["tlogEntries"][0]["inclusionProof"]["checkpoint"];
            checkpoint["envelope"] = checkpoint["envelope"].as_str().unwrap().replacen('1', "2", 1).into();
        }),
        ("no certificate", |bundle| bundle["verificationMaterial"]["certificate"]["rawBytes"] = "".into()),
        ("many entries", |bundle| {
            let entries = bundle["verificationMaterial"]["tlogEntries"].as_array_mut().unwrap();
            let one = entries[0].clone();
            entries.resize(100, one);
        }),
    ];
    for (what, edit) in edits {
        let verdict = by_anybody(edit);
        assert!(is_broken(&verdict), "{what}: {verdict:?}");
    }
    assert!(matches!(by_anybody(|_| ()), Verdict::Good { .. }));
}

#[test]
fn what_two_readers_could_read_in_two_ways_is_broken() {
    let text = std::str::from_utf8(BUNDLE).unwrap();
    let bundle: Value = serde_json::from_slice(BUNDLE).unwrap();
    let envelope = bundle["dsseEnvelope"].to_string();
    let other = envelope.replacen(bundle["dsseEnvelope"]["payload"].as_str().unwrap(), &BASE64.encode(b"{}"), 1);
    let identity = format!("identity {ISSUER} https://github.com/*");
    for (name, is_read) in [("dsseEnvelope", true), ("dsse_envelope", false)] {
        for changed in [
            text.replacen('{', &format!("{{\"{name}\":{other},"), 1),
            format!("{},\"{name}\":{other}}}", text.trim_end().strip_suffix('}').unwrap()),
        ] {
            // What neither reader knows, neither reads.
            let verdict = judged(changed.as_bytes(), SUBJECT, std::slice::from_ref(&identity));
            assert_eq!(is_broken(&verdict), is_read, "{name}: {verdict:?}");
        }
    }
}

#[test]
fn a_certificate_of_an_authority_that_is_not_known_is_not_looked_into() {
    let mut root: Value = serde_json::from_str(sigstore_verify::trust_root::SIGSTORE_PRODUCTION_TRUSTED_ROOT).unwrap();
    root["certificateAuthorities"] = json!([]);
    let root = Root::of(Some(&root.to_string())).unwrap();
    let about = About { package: vec![SUBJECT.parse().unwrap()], component: None };
    let anybody = Signer::parse(&format!("identity {ISSUER} https://github.com/*")).unwrap();
    assert_eq!(check(BUNDLE, &about, &[anybody], &root), Verdict::Certificate);
}

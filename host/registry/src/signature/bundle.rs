//! A signature as a Sigstore bundle 0.3: a DSSE envelope around an in-toto statement, and by what it can be checked. Checking opens no
//! socket: all that it needs is the bundle, whose signatures count, and what was signed.

use super::certificates::{Holder, Root};
use super::key::{NotAKey, PrivateKey, PublicKey};
use super::signer::{Identity, Signer};
use crate::artifact::Artifact;
use crate::pulled::parsed_within;
use hutch_model::manifest::Manifest;
use hutch_model::sha256::Sha256;
use hutch_model::statement::{
    Envelope, STATEMENT, STATEMENT_TYPES, Signature, Statement, Subject, null_is_nothing, signed_bytes,
};
use serde::{Deserialize, Serialize};

/// What a bundle is, among artifacts and files.
pub(crate) const BUNDLE: &str = "application/vnd.dev.sigstore.bundle.v0.3+json";
/// The most bytes of a bundle.
pub const BUNDLE_BYTES_MAX: u64 = 1 << 20;
/// The most memory that a bundle, or the statement in it, takes once it is read.
const BUNDLE_MEMORY_MAX: u64 = 32 << 20;
const BUNDLES: &str = "application/vnd.dev.sigstore.bundle";
/// What cosign says of a thing that is signed and nothing more.
pub const SIGNED: &str = "https://sigstore.dev/cosign/sign/v1";
/// What SLSA calls a statement about how a thing was built.
pub const PROVENANCE: &str = "https://slsa.dev/provenance/v1";

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Bundle {
    media_type: String,
    verification_material: Material,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    dsse_envelope: Option<Envelope>,
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Material {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    public_key: Option<Hint>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    certificate: Option<serde_json::Value>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    x509_certificate_chain: Option<serde_json::Value>,
    #[serde(default, deserialize_with = "null_is_nothing")]
    tlog_entries: Vec<serde_json::Value>,
}

#[derive(Serialize, Deserialize)]
struct Hint {
    #[serde(default, deserialize_with = "null_is_nothing")]
    hint: String,
}

/// What a signature turned out to be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// This signer signed it, and it is about what is at hand.
    Good {
        /// Which of those that it was checked by; of identities, that may be all that begin so.
        by: Signer,
        /// Who it was, as the certificate says; a key says it by itself.
        identity: Option<Identity>,
        /// What the statement says.
        predicate_type: String,
    },
    /// Another key signed it, and nobody can say more without that key.
    UnknownKey {
        /// Its name.
        hint: String,
    },
    /// The holder of this identity signed it, about what is at hand, and is none of those that it was checked by.
    UnknownIdentity(Identity),
    /// It is signed under a certificate of an authority that is not known here.
    Certificate,
    /// It is malformed, about something else, or not what its key signed.
    Broken {
        /// Why.
        reason: String,
    },
}

impl Verdict {
    /// Whose signature it is. A good statement that says something else about the package, such as what was found in it, is none: who makes
    /// it need not stand for the package.
    pub fn signer(&self) -> Option<&Signer> {
        match self {
            Verdict::Good { by, predicate_type, .. } if predicate_type == SIGNED => Some(by),
            _ => None,
        }
    }

    /// Who says how it was built.
    pub fn attester(&self) -> Option<&Signer> {
        match self {
            Verdict::Good { by, predicate_type, .. } if predicate_type == PROVENANCE => Some(by),
            _ => None,
        }
    }
}

/// Signs a package: its manifest in a registry, and its packed file.
///
/// # Errors
/// The system has no randomness.
pub fn sign(artifact: &Artifact, packed: &[u8], manifest: &Manifest, key: &PrivateKey) -> Result<Vec<u8>, NotAKey> {
    stated(subjects(artifact, packed, manifest), SIGNED, serde_json::json!({}), key)
}

/// Signs files that are no packages, each by its name and digest.
///
/// # Errors
/// The system has no randomness.
pub fn sign_files(files: &[(String, Sha256)], key: &PrivateKey) -> Result<Vec<u8>, NotAKey> {
    let subjects = files.iter().map(|(name, digest)| Subject::of(name.clone(), *digest)).collect();
    stated(subjects, SIGNED, serde_json::json!({}), key)
}

/// What is said about a package: its manifest in a registry, and its packed file.
pub(super) fn subjects(artifact: &Artifact, packed: &[u8], manifest: &Manifest) -> Vec<Subject> {
    let (slug, version) = (manifest.slug().as_str(), manifest.version().to_string());
    let said = [("slug", slug.to_owned()), ("version", version.clone()), ("package", artifact.package.to_string())];
    let subject = |name: String, digest: Sha256| Subject {
        annotations: said.iter().map(|(name, value)| ((*name).to_owned(), value.clone().into())).collect(),
        ..Subject::of(name, digest)
    };
    vec![subject(slug.to_owned(), artifact.digest()), subject(format!("{slug}-{version}.tar"), Sha256::of(packed))]
}

/// A statement, signed.
pub(super) fn stated(
    subject: Vec<Subject>,
    predicate_type: &str,
    predicate: serde_json::Value,
    key: &PrivateKey,
) -> Result<Vec<u8>, NotAKey> {
    // Texts and maps of texts can always be written.
    let payload = serde_json::to_vec(&Statement::of(subject, predicate_type, predicate)).unwrap_or_default();
    // Whose it is says the material beside it.
    let signature = Signature { keyid: String::new(), ..sign_payload(&payload, key)? };
    let bundle = Bundle {
        media_type: BUNDLE.to_owned(),
        verification_material: Material {
            public_key: Some(Hint { hint: key.public().hint() }),
            certificate: None,
            x509_certificate_chain: None,
            tlog_entries: Vec::new(),
        },
        dsse_envelope: Some(Envelope::of(&payload, vec![signature])),
    };
    Ok(serde_json::to_vec(&bundle).unwrap_or_default())
}

/// Signs a statement that stands in an envelope of its own.
///
/// # Errors
/// The system has no randomness.
pub fn sign_payload(payload: &[u8], key: &PrivateKey) -> Result<Signature, NotAKey> {
    Ok(Signature::of(key.public().hint(), &key.sign(&signed_bytes(STATEMENT, payload))?))
}

/// Whether a key made one of the signatures of such a statement.
pub fn has_signed(payload: &[u8], signatures: &[Signature], key: &PublicKey) -> bool {
    let (bytes, name) = (signed_bytes(STATEMENT, payload), key.hint());
    let mut own = signatures.iter().filter(|one| one.keyid == name);
    own.any(|one| one.bytes().is_ok_and(|signature| key.has_signed(&bytes, &signature)))
}

/// What the statement in a bundle says, whoever signed it; nothing if there is none. Good for where to keep it, and for nothing else.
pub fn predicate_type(bundle: &[u8]) -> Option<String> {
    let envelope = read::<Bundle>("bundle", bundle).ok()?.dsse_envelope?;
    Some(read::<Statement>("statement", &envelope.payload().ok()?).ok()?.predicate_type)
}

fn read<'b, T: Deserialize<'b>>(what: &'static str, bytes: &'b [u8]) -> Result<T, String> {
    parsed_within(what, bytes, BUNDLE_MEMORY_MAX).map_err(|error| error.to_string())
}

/// What is at hand, which a statement must be about.
#[derive(Clone, Debug, Default)]
pub struct About {
    /// What names the package: its manifest in a registry, and its packed file.
    pub package: Vec<Sha256>,
    /// Where its component is, and what names that.
    pub component: Option<(String, Sha256)>,
}

/// Checks a signature by these signers. It must be about one of the digests that name the package, and if it says how the component was
/// built, about no other component.
pub fn check(bundle: &[u8], about: &About, signers: &[Signer], root: &Root) -> Verdict {
    judged(bundle, about, signers, root).unwrap_or_else(|reason| Verdict::Broken { reason })
}

fn judged(text: &[u8], about: &About, signers: &[Signer], root: &Root) -> Result<Verdict, String> {
    if text.len() as u64 > BUNDLE_BYTES_MAX {
        return Err(format!("the bundle has {} bytes, {BUNDLE_BYTES_MAX} allowed", text.len()));
    }
    let bundle: Bundle = read("bundle", text)?;
    if !bundle.media_type.starts_with(BUNDLES) {
        return Err(format!("the bundle is of the type {:?}", bundle.media_type));
    }
    let envelope = bundle.dsse_envelope.ok_or("the bundle holds no DSSE envelope")?;
    if envelope.payload_type != STATEMENT {
        return Err(format!("it signs {:?}, and no statement", envelope.payload_type));
    }
    let [signed] = envelope.signatures.as_slice() else {
        return Err(format!("the envelope has {} signatures, and a bundle has one", envelope.signatures.len()));
    };
    let (payload, signature) = (envelope.payload()?, signed.bytes()?);
    let statement: Statement = read("statement", &payload)?;
    if !STATEMENT_TYPES.contains(&statement.kind.as_str()) {
        return Err(format!("the statement is of the type {:?}", statement.kind));
    }
    let mut subjects = statement.subject.iter().filter_map(Subject::sha256);
    let subject = subjects.find(|found| about.package.contains(found)).ok_or("it is about something else")?;
    if let Some((path, component)) = about.component.as_ref().filter(|_| statement.predicate_type == PROVENANCE) {
        let mut named = statement.subject.iter().filter(|subject| subject.name == *path);
        if named.any(|subject| subject.sha256() != Some(*component)) {
            return Err("it says how another component was built".to_owned());
        }
    }
    let good = |by: &Signer, identity: Option<Identity>| Verdict::Good {
        by: by.clone(),
        identity,
        predicate_type: statement.predicate_type.clone(),
    };
    let material = bundle.verification_material;
    let Some(Hint { hint }) = material.public_key else {
        if material.certificate.or(material.x509_certificate_chain).is_none() {
            return Err("the bundle does not say by what it can be checked".to_owned());
        }
        return root.holder(text, &payload, subject).map(|holder| match holder {
            Holder::Unknown => Verdict::Certificate,
            Holder::Identity(found) => {
                let meant = |signer: &&Signer| matches!(signer, Signer::Identity(named) if named.covers(&found));
                match signers.iter().find(meant) {
                    Some(signer) => good(signer, Some(found)),
                    None => Verdict::UnknownIdentity(found),
                }
            }
        });
    };
    let bytes = signed_bytes(STATEMENT, &payload);
    let has_signed = |signer: &&Signer| matches!(signer, Signer::Key(key) if key.has_signed(&bytes, &signature));
    let is_named = |signer: &Signer| matches!(signer, Signer::Key(key) if key.hint() == hint);
    match signers.iter().find(has_signed) {
        Some(signer) => Ok(good(signer, None)),
        None if signers.iter().any(is_named) => Err("the key that it names did not sign this".to_owned()),
        None => Ok(Verdict::UnknownKey { hint }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_statement_that_says_something_else_is_no_signature() {
        let key = Signer::from(PrivateKey::from_pem(&PrivateKey::generate().unwrap()).unwrap().public());
        let says = |kind: &str| Verdict::Good { by: key.clone(), identity: None, predicate_type: kind.to_owned() };
        assert_eq!(says(SIGNED).signer(), Some(&key));
        for kind in ["https://cosign.sigstore.dev/attestation/vuln/v1", "https://slsa.dev/provenance/v1", ""] {
            assert_eq!(says(kind).signer(), None, "{kind}");
            assert_eq!(says(kind).attester(), (kind == PROVENANCE).then_some(&key), "{kind}");
        }
        assert_eq!(says(SIGNED).attester(), None);
        assert_eq!(Verdict::Certificate.signer(), None);
    }

    #[test]
    fn a_bundle_that_is_longer_than_any_is_refused_unread() {
        let long = vec![b'{'; BUNDLE_BYTES_MAX as usize + 1];
        let refused = |text: &[u8]| judged(text, &About::default(), &[], &Root::of(None).unwrap()).unwrap_err();
        assert!(refused(&long).contains("1048576 allowed"), "{}", refused(&long));
        assert!(refused(&long[1..]).contains("malformed"), "{}", refused(&long[1..]));
    }
}

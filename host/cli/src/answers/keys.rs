//! Answers about keys, signatures and trust.

use super::levels;
use hutch_registry::Sha256;
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};

#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct KeyGenerated {
    pub(crate) path: String,
    pub(crate) public_path: String,
    pub(crate) key: Option<String>,
    pub(crate) dry_run: bool,
}

/// What `sign` answers.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(untagged)]
pub(crate) enum Signing {
    Package(PackageSigned),
    Files(FilesSigned),
    Key(KeyGenerated),
}

#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct FilesSigned {
    pub(crate) place: String,
    pub(crate) key: String,
    pub(crate) files: Vec<SignedFile>,
    pub(crate) changed: bool,
    pub(crate) dry_run: bool,
}

#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct FilesVerified {
    pub(crate) key: Option<String>,
    pub(crate) files: Vec<SignedFile>,
}

#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct SignedFile {
    name: String,
    sha256: String,
}

impl From<&(String, Sha256)> for SignedFile {
    fn from((name, digest): &(String, Sha256)) -> SignedFile {
        SignedFile { name: name.clone(), sha256: digest.hex() }
    }
}

/// A package that was signed, or of which was said how it was built.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct PackageSigned {
    pub(crate) slug: String,
    pub(crate) version: String,
    pub(crate) digest: String,
    pub(crate) key: String,
    pub(crate) place: String,
    pub(crate) changed: bool,
    pub(crate) dry_run: bool,
}

/// What became of a signature.
#[derive(Debug, Default, Serialize, JsonSchema)]
pub(crate) struct Signature {
    pub(crate) verdict: &'static str,
    /// the hint of the key, or the identity that the certificate holds
    pub(crate) key: Option<String>,
    /// as what the identity was named, which may be all that begin so
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String")]
    pub(crate) named: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String")]
    pub(crate) says: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String")]
    pub(crate) reason: Option<String>,
}

/// What `trust show` answers.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(untagged)]
pub(crate) enum TrustAnswers {
    /// The policy.
    Policy(TrustAnswer),
    /// What it comes to for one package.
    Package(TrustChecked),
}

/// The policy.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct TrustShown {
    /// what each key is called, and the hint that signatures name it by
    pub(crate) keys: BTreeMap<String, String>,
    /// by source, or the begin of sources and *
    pub(crate) rules: BTreeMap<String, TrustRule>,
}

#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct TrustRule {
    #[schemars(schema_with = "levels")]
    pub(crate) require: &'static str,
    /// the keys that count; all if there are none
    pub(crate) signers: BTreeSet<String>,
}

#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct TrustAnswer {
    #[serde(flatten)]
    pub(crate) policy: TrustShown,
    /// the file
    pub(crate) path: String,
}

#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct TrustChanged {
    #[serde(flatten)]
    pub(crate) policy: TrustShown,
    pub(crate) changed: bool,
    pub(crate) dry_run: bool,
}

#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct TrustChecked {
    #[schemars(schema_with = "levels")]
    pub(crate) level: &'static str,
    #[schemars(schema_with = "levels")]
    pub(crate) required: &'static str,
    pub(crate) rule: Option<String>,
    /// what the signer is called
    pub(crate) signer: Option<String>,
    /// what who says how it was built is called
    pub(crate) attester: Option<String>,
}

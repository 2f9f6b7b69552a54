//! How a package was built, as a statement: SLSA provenance, made of the record that the build left in the package. It is worth what the
//! word of the key's holder is. Knows no files: the record is text.

use super::bundle::{BUNDLE_BYTES_MAX, PROVENANCE, stated, subjects};
use super::key::{NotAKey, PrivateKey};
use crate::artifact::{Artifact, ArtifactError};
use crate::pulled::parsed;
use hutch_model::manifest::Manifest;
use hutch_model::sha256::Sha256;
use hutch_model::statement::Subject;
use serde::Deserialize;
use serde_json::{Value, json};

/// The form of the record that a build leaves in a package, and of what is said about it.
const RECORD: &str = "hutch/provenance@0.1";
const BUILD_TYPE: &str = "https://github.com/hutch-host/hutch/provenance@0.1";

/// What the record says.
#[derive(Deserialize)]
struct Record {
    schema: String,
    component: Component,
    source: Value,
    build: Value,
}

#[derive(Deserialize)]
struct Component {
    sha256: String,
}

/// Why nothing can be said of how a package was built.
#[derive(Debug, thiserror::Error)]
pub enum NotAttested {
    /// The record is not understood.
    #[error("it is malformed: {0}")]
    Malformed(String),
    /// The record is of another component.
    #[error("it is of a component with the sha256 {recorded}, and the package's has {found}")]
    AnotherComponent {
        /// What the record names.
        recorded: String,
        /// What is there.
        found: String,
    },
    /// It can't be signed.
    #[error(transparent)]
    Key(#[from] NotAKey),
}

/// Says under a signature how a package was built. The statement is about the manifest, the packed file and the component.
///
/// # Errors
/// The record is of another component or of another form; or the system has no randomness.
pub fn attest(
    artifact: &Artifact,
    packed: &[u8],
    manifest: &Manifest,
    record: &[u8],
    key: &PrivateKey,
) -> Result<Vec<u8>, NotAttested> {
    let malformed = |reason: &str| NotAttested::Malformed(reason.to_owned());
    let record: Record = parsed("record", record).map_err(|error| match error {
        ArtifactError::Malformed { reason, .. } => NotAttested::Malformed(reason),
        error => NotAttested::Malformed(error.to_string()),
    })?;
    if record.schema != RECORD {
        return Err(NotAttested::Malformed(format!("its schema is {:?}, and {RECORD:?} is known", record.schema)));
    }
    let component = Sha256::of(&artifact.layer);
    if record.component.sha256 != component.hex() {
        return Err(NotAttested::AnotherComponent { recorded: record.component.sha256, found: component.hex() });
    }
    let source = record.source.get("sha256").and_then(Value::as_str);
    let source = source.and_then(|hex| format!("sha256:{hex}").parse::<Sha256>().ok());
    let source = source.ok_or_else(|| malformed("source.sha256 is no digest"))?;
    if !record.build.is_object() {
        return Err(malformed("build is no object"));
    }
    let mut subject = subjects(artifact, packed, manifest);
    subject.push(Subject::of(manifest.entry().component().to_string(), component));
    let predicate = json!({
        "buildDefinition": {
            "buildType": BUILD_TYPE,
            "externalParameters": record.build,
            "internalParameters": {"source": record.source},
            "resolvedDependencies": [{"name": "source", "digest": {"sha256": source.hex()}}],
        },
        // Whoever holds the key says so, and nobody else: SLSA's build level 1.
        "runDetails": {"builder": {"id": format!("urn:hutch:key:{}", key.public().hint())}},
    });
    let bundle = stated(subject, PROVENANCE, predicate, key)?;
    match bundle.len() as u64 > BUNDLE_BYTES_MAX {
        true => Err(malformed(&format!("what it says takes {} bytes, {BUNDLE_BYTES_MAX} allowed", bundle.len()))),
        false => Ok(bundle),
    }
}

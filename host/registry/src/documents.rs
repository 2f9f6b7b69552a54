//! The JSON documents of a registry, as the OCI image specification 1.1 and the common layout for wasm (CNCF TAG Runtime) say. What is
//! written is in the order of the fields here, so it is the same bytes on every machine; of what is read, unknown fields are left alone, and
//! `null` is nothing, as programs in Go write their empty lists and maps.

use crate::artifact::ArtifactError;
use hutch_model::sha256::Sha256;
use hutch_model::statement::null_is_nothing;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::{Map, Value};
use std::collections::BTreeMap;

pub(crate) const MANIFEST: &str = "application/vnd.oci.image.manifest.v1+json";
pub(crate) const INDEX: &str = "application/vnd.oci.image.index.v1+json";
pub(crate) const WASM_CONFIG: &str = "application/vnd.wasm.config.v0+json";
pub(crate) const WASM: &str = "application/wasm";
/// What a package is, among artifacts.
pub(crate) const PACKAGE: &str = "application/vnd.agentapplications.package.v1";

/// How the layer is named for programs that write files.
pub(crate) const TITLE: &str = "org.opencontainers.image.title";
pub(crate) const DESCRIPTION: &str = "org.opencontainers.image.description";
pub(crate) const VERSION: &str = "org.opencontainers.image.version";
pub(crate) const LICENSES: &str = "org.opencontainers.image.licenses";
pub(crate) const AUTHORS: &str = "org.opencontainers.image.authors";
pub(crate) const SLUG: &str = "io.github.hutch-host.slug";
pub(crate) const DIGEST: &str = "io.github.hutch-host.package";

/// How an entry of a layout's index is tagged.
const TAG: &str = "org.opencontainers.image.ref.name";

/// Reads texts by name; one that is `null` is not there.
fn without_nulls<'de, D: Deserializer<'de>>(from: D) -> Result<BTreeMap<String, String>, D::Error> {
    let all: BTreeMap<String, Option<String>> = null_is_nothing(from)?;
    Ok(all.into_iter().filter_map(|(name, text)| Some((name, text?))).collect())
}

/// What something is, and its name and size.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Descriptor {
    pub(crate) media_type: String,
    pub(crate) digest: Sha256,
    pub(crate) size: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) artifact_type: Option<String>,
    #[serde(default, deserialize_with = "without_nulls", skip_serializing_if = "BTreeMap::is_empty")]
    pub(crate) annotations: BTreeMap<String, String>,
}

impl Descriptor {
    pub(crate) fn of(media_type: &str, bytes: &[u8]) -> Descriptor {
        Descriptor {
            media_type: media_type.to_owned(),
            digest: Sha256::of(bytes),
            size: bytes.len() as u64,
            artifact_type: None,
            annotations: BTreeMap::new(),
        }
    }
}

/// What a tag names.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Manifest {
    pub(crate) schema_version: u32,
    pub(crate) media_type: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) artifact_type: Option<String>,
    pub(crate) config: Descriptor,
    #[serde(default, deserialize_with = "null_is_nothing")]
    pub(crate) layers: Vec<Descriptor>,
    /// What this one is about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) subject: Option<Descriptor>,
    #[serde(default, deserialize_with = "without_nulls", skip_serializing_if = "BTreeMap::is_empty")]
    pub(crate) annotations: BTreeMap<String, String>,
}

/// A list of manifests. Others write into it too: what they say of themselves is kept as it is, understood or not.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Index {
    #[serde(default, deserialize_with = "null_is_nothing")]
    schema_version: u32,
    #[serde(default)]
    media_type: Option<String>,
    #[serde(default, deserialize_with = "null_is_nothing")]
    manifests: Vec<Value>,
    #[serde(flatten)]
    others: Map<String, Value>,
}

impl Index {
    /// The entries that are understood. One that is not is none that hutch could ask for, and no reason to leave the others out.
    pub(crate) fn descriptors(&self) -> impl Iterator<Item = Descriptor> {
        self.manifests.iter().filter_map(|entry| Descriptor::deserialize(entry).ok())
    }

    /// The names that entries have.
    pub(crate) fn tags(&self) -> impl Iterator<Item = &str> {
        self.manifests.iter().filter_map(tag)
    }

    /// What has this name.
    ///
    /// # Errors
    /// The entry that has it is not understood.
    pub(crate) fn tagged(&self, name: &str) -> Result<Option<Descriptor>, ArtifactError> {
        let entry = self.manifests.iter().find(|entry| tag(entry) == Some(name));
        entry.map(Descriptor::deserialize).transpose().map_err(|error| ArtifactError::Malformed {
            what: "index",
            reason: format!("its entry for {name}: {error}"),
        })
    }

    /// Takes an entry in, under a name if it has one: in the place of what had the name, or of what was this without a name.
    pub(crate) fn put(&mut self, mut entry: Descriptor, name: Option<&str>) -> Result<(), ArtifactError> {
        let digest = entry.digest.to_string();
        self.manifests.retain(|known| match (name, tag(known)) {
            (Some(name), Some(tag)) => tag != name,
            (None, None) => known.get("digest").and_then(Value::as_str) != Some(&digest),
            _ => true,
        });
        entry.annotations.extend(name.map(|name| (TAG.to_owned(), name.to_owned())));
        let written = serde_json::to_value(entry);
        self.manifests
            .push(written.map_err(|error| ArtifactError::Malformed { what: "index", reason: error.to_string() })?);
        self.schema_version = 2;
        self.media_type.get_or_insert_with(|| INDEX.to_owned());
        Ok(())
    }
}

fn tag(entry: &Value) -> Option<&str> {
    entry.get("annotations")?.get(TAG)?.as_str()
}

/// What the component is, for programs that know wasm and nothing of packages; and the rest of the package.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Config {
    pub(crate) created: String,
    pub(crate) architecture: String,
    pub(crate) os: String,
    #[serde(default, deserialize_with = "null_is_nothing")]
    pub(crate) layer_digests: Vec<Sha256>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) component: Option<Edge>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) agent_application: Option<Application>,
}

/// The names at a component's edge.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Edge {
    #[serde(default, deserialize_with = "null_is_nothing")]
    pub(crate) exports: Vec<String>,
    #[serde(default, deserialize_with = "null_is_nothing")]
    pub(crate) imports: Vec<String>,
}

/// Everything in a package but its component.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Application {
    pub(crate) schema: u32,
    /// Where the layer belongs.
    pub(crate) component: String,
    pub(crate) folders: Vec<String>,
    pub(crate) files: Vec<File>,
}

/// One file: a text as it is, anything else in base64.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct File {
    pub(crate) path: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) text: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) base64: Option<String>,
}

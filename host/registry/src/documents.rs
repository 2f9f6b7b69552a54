//! The JSON documents of a registry, as the OCI image specification 1.1 and the common layout for wasm (CNCF TAG Runtime) say. What is
//! written is in the order of the fields here, so it is the same bytes on every machine; of what is read, unknown fields are left alone.

use crate::sha256::Sha256;
use serde::{Deserialize, Serialize};
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

/// What something is, and its name and size.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Descriptor {
    pub(crate) media_type: String,
    pub(crate) digest: Sha256,
    pub(crate) size: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) artifact_type: Option<String>,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
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
    pub(crate) layers: Vec<Descriptor>,
    /// What this one is about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) subject: Option<Descriptor>,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub(crate) annotations: BTreeMap<String, String>,
}

/// A list of manifests.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Index {
    pub(crate) schema_version: u32,
    #[serde(default)]
    pub(crate) media_type: Option<String>,
    pub(crate) manifests: Vec<Descriptor>,
}

impl Index {
    pub(crate) fn new(manifests: Vec<Descriptor>) -> Index {
        Index { schema_version: 2, media_type: Some(INDEX.to_owned()), manifests }
    }
}

/// What the component is, for programs that know wasm and nothing of packages; and the rest of the package.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Config {
    pub(crate) created: String,
    pub(crate) architecture: String,
    pub(crate) os: String,
    pub(crate) layer_digests: Vec<Sha256>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) component: Option<Edge>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) agent_application: Option<Application>,
}

/// The names at a component's edge.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Edge {
    pub(crate) exports: Vec<String>,
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

//! A package as an artifact: a manifest, a config and one layer. The layer is the component, so programs that know wasm alone take it from
//! there; everything else of the package is in the config, so APP.md, skills and schemas are read without the component. The bytes follow
//! from the package alone: the digest is known before anything is pushed.

use crate::documents::{
    self, Application, Config, Descriptor, Edge, File, MANIFEST, Manifest, PACKAGE, WASM, WASM_CONFIG,
};
use data_encoding::BASE64;
use hutch::package::{Package, PackageError};
use hutch_model::digest::Digest;
use hutch_model::payload::Payload;
use hutch_model::sha256::Sha256;
use std::collections::BTreeMap;

/// The most bytes of a manifest: what registries have to take.
pub(crate) const MANIFEST_BYTES_MAX: u64 = 4 << 20;
/// The most bytes of a config: what clients hold in memory.
pub(crate) const CONFIG_BYTES_MAX: u64 = 32 << 20;
/// The most memory that a document takes once it is read: lists of 4 MiB, as registries write them, are estimated at 40 to 80 MiB, and a
/// config of 32 MiB and as many files as a package may have at 91.
pub(crate) const DOCUMENT_MEMORY_MAX: u64 = 128 << 20;
/// The form of the package in the config.
pub(crate) const SCHEMA: u32 = 1;
/// Nothing of a package depends on when it is pushed.
const CREATED: &str = "1970-01-01T00:00:00Z";

/// A package, ready to be pushed.
#[derive(Debug)]
pub struct Artifact {
    pub(crate) manifest: Vec<u8>,
    pub(crate) config: Vec<u8>,
    pub(crate) layer: Vec<u8>,
    /// The digest of the package as hutch names it.
    pub package: Digest,
}

/// Why a package and an artifact are not one.
#[derive(Debug, thiserror::Error)]
pub enum ArtifactError {
    /// More bytes than are taken.
    #[error("the {what} has {bytes} bytes, {max} allowed")]
    Oversize {
        /// Which part.
        what: &'static str,
        /// How many.
        bytes: u64,
        /// How many there may be.
        max: u64,
    },
    /// A document that would take more memory than it may once it is read.
    #[error("the {what} would take {takes} bytes of memory, {max} allowed")]
    Memory {
        /// Which part.
        what: &'static str,
        /// How much it would take at most.
        takes: u64,
        /// How much it may.
        max: u64,
    },
    /// More of something than is looked at.
    #[error("there are {count} {what}, {max} allowed")]
    TooMany {
        /// Of what.
        what: &'static str,
        /// How many, or at least how many.
        count: usize,
        /// How many there may be.
        max: usize,
    },
    /// Another number of bytes than was announced.
    #[error("the {what} has {found} bytes, and {announced} were announced")]
    Length {
        /// Which part.
        what: &'static str,
        /// How many there are, or at least are.
        found: u64,
        /// How many there should be.
        announced: u64,
    },
    /// Other bytes than those that were named.
    #[error("the {what} has the digest {found}, and {announced} was announced")]
    Digest {
        /// Which part.
        what: &'static str,
        /// What the bytes come to.
        found: String,
        /// What names them.
        announced: String,
    },
    /// What is named is not there: the repository has lost a part.
    #[error("the {what} {named} is named in {place} and missing there")]
    Lost {
        /// Which part.
        what: &'static str,
        /// What names it.
        named: String,
        /// Where it should be.
        place: String,
    },
    /// Something stands in the place of a file.
    #[error("the {what} {path} is no file, but {found}")]
    NoFile {
        /// Which part.
        what: &'static str,
        /// Where.
        path: String,
        /// What it is.
        found: &'static str,
    },
    /// A document says something else than what it is about.
    #[error("the manifest announces {what} {announced:?}, and the package is {found:?}")]
    Announced {
        /// What of it.
        what: &'static str,
        /// What is announced.
        announced: String,
        /// What is there.
        found: String,
    },
    /// A document of another form.
    #[error("the {what} is malformed: {reason}")]
    Malformed {
        /// Which part.
        what: &'static str,
        /// Why.
        reason: String,
    },
    /// Something else than a package.
    #[error("this is no package: {0}")]
    NotAPackage(String),
    /// The package itself breaks the rules.
    #[error(transparent)]
    Package(#[from] PackageError),
}

impl Artifact {
    /// What the package is in a registry.
    ///
    /// # Errors
    /// A file can't be read, the component is malformed, or the files besides it are larger than a config may be.
    pub fn of(package: &Package) -> Result<Artifact, ArtifactError> {
        let component = package.manifest().entry().component();
        let mut application =
            Application { schema: SCHEMA, component: component.to_string(), folders: Vec::new(), files: Vec::new() };
        let mut rest_bytes = 0_u64;
        for entry in package.files()? {
            match entry.file_bytes {
                None => application.folders.push(entry.path.to_string()),
                Some(_) if entry.path == *component => {}
                Some(bytes) => {
                    rest_bytes = rest_bytes.saturating_add(bytes);
                    held("config", rest_bytes, CONFIG_BYTES_MAX)?;
                    let content = package.read(&entry.path).map_err(PackageError::one)?;
                    application.files.push(File::of(entry.path.to_string(), content));
                }
            }
        }
        let layer = package.component()?.to_vec();
        let config = json(&config_of(package, &layer, application)?)?;
        held("config", config.len() as u64, CONFIG_BYTES_MAX)?;
        let digest = package.digest()?;
        let manifest = json(&manifest_of(package, &config, &layer, digest))?;
        held("manifest", manifest.len() as u64, MANIFEST_BYTES_MAX)?;
        Ok(Artifact { manifest, config, layer, package: digest })
    }

    /// What names it in a registry.
    pub fn digest(&self) -> Sha256 {
        Sha256::of(&self.manifest)
    }

    /// The document that a tag names.
    pub fn manifest(&self) -> &[u8] {
        &self.manifest
    }

    /// Everything but the component.
    pub fn config(&self) -> &[u8] {
        &self.config
    }

    /// The component.
    pub fn layer(&self) -> &[u8] {
        &self.layer
    }
}

fn config_of(package: &Package, layer: &[u8], application: Application) -> Result<Config, ArtifactError> {
    let os = match package.payload() {
        Payload::Component => "wasip2",
        Payload::CoreModule => "wasip1",
    };
    let edge = hutch_sandbox::interface(layer)
        .map_err(|reason| ArtifactError::Malformed { what: "component", reason })?
        .map(|names| Edge { exports: names.exports, imports: names.imports });
    Ok(Config {
        created: CREATED.to_owned(),
        architecture: "wasm".to_owned(),
        os: os.to_owned(),
        layer_digests: vec![Sha256::of(layer)],
        component: edge,
        agent_application: Some(application),
    })
}

fn manifest_of(package: &Package, config: &[u8], layer: &[u8], digest: Digest) -> Manifest {
    let about = package.manifest();
    let component = about.entry().component().as_str();
    let title = component.rsplit('/').next().unwrap_or(component);
    let mut layer = Descriptor::of(WASM, layer);
    layer.annotations.insert(documents::TITLE.to_owned(), title.to_owned());
    let mut annotations = BTreeMap::from(
        [
            (documents::TITLE, about.name().to_owned()),
            (documents::DESCRIPTION, about.description().to_owned()),
            (documents::VERSION, about.version().to_string()),
            (documents::SLUG, about.slug().to_string()),
            (documents::DIGEST, digest.to_string()),
        ]
        .map(|(name, value)| (name.to_owned(), value)),
    );
    if let Some(license) = about.license() {
        annotations.insert(documents::LICENSES.to_owned(), license.to_owned());
    }
    let authors: Vec<&str> = about.authors().iter().filter_map(|author| author.as_str()).collect();
    if !authors.is_empty() {
        annotations.insert(documents::AUTHORS.to_owned(), authors.join(", "));
    }
    Manifest {
        schema_version: 2,
        media_type: MANIFEST.to_owned(),
        artifact_type: Some(PACKAGE.to_owned()),
        config: Descriptor::of(WASM_CONFIG, config),
        layers: vec![layer],
        subject: None,
        annotations,
    }
}

impl File {
    fn of(path: String, content: Vec<u8>) -> File {
        match String::from_utf8(content) {
            Ok(text) => File { path, text: Some(text), base64: None },
            Err(error) => File { path, text: None, base64: Some(BASE64.encode(error.as_bytes())) },
        }
    }
}

/// Holds a number of bytes to the most that there may be.
pub(crate) fn held(what: &'static str, bytes: u64, max: u64) -> Result<(), ArtifactError> {
    if bytes > max { Err(ArtifactError::Oversize { what, bytes, max }) } else { Ok(()) }
}

pub(crate) fn json(document: &impl serde::Serialize) -> Result<Vec<u8>, ArtifactError> {
    serde_json::to_vec(document)
        .map_err(|error| ArtifactError::Malformed { what: "document", reason: error.to_string() })
}

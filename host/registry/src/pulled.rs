//! An artifact read again, part by part, each held against the digest and the size that name it: the manifest (what a catalogue shows),
//! the config (what activates a package), the layer (what runs). Nothing is believed: what comes out must be the package whose digest
//! was announced.

use crate::artifact::{ArtifactError, CONFIG_BYTES_MAX, DOCUMENT_MEMORY_MAX, MANIFEST_BYTES_MAX, SCHEMA, held};
use crate::documents::{self, Config, Descriptor, File, INDEX, MANIFEST, Manifest, WASM, WASM_CONFIG};
use data_encoding::BASE64;
use hutch::package::{Outline, PackWriter, PackageBounds, Source};
use hutch_model::digest::Digest;
use hutch_model::document::DocumentSize;
use hutch_model::limits::Limit;
use hutch_model::names::PackagePath;
use hutch_model::sha256::Sha256;
use serde_json::Value;
use std::collections::BTreeMap;

/// A manifest that is that of a package.
#[derive(Clone, Debug)]
pub struct Head {
    digest: Sha256,
    pub(crate) config: Descriptor,
    pub(crate) layer: Descriptor,
    annotations: BTreeMap<String, String>,
    package: Digest,
}

/// Everything in a package but its component.
#[derive(Debug)]
pub struct Texts {
    head: Head,
    component: PackagePath,
    /// By path; folders have no content.
    entries: BTreeMap<PackagePath, Option<Vec<u8>>>,
}

impl Head {
    /// Reads a manifest, which has this digest if one is known.
    ///
    /// # Errors
    /// It is not the one that was asked for, or not that of a package.
    pub fn read(bytes: &[u8], announced: Option<Sha256>) -> Result<Head, ArtifactError> {
        held("manifest", bytes.len() as u64, MANIFEST_BYTES_MAX)?;
        let digest = Sha256::of(bytes);
        same("manifest", digest, announced.unwrap_or(digest))?;
        let kind = parsed::<Value>("manifest", bytes)?.get("mediaType").and_then(Value::as_str).map(str::to_owned);
        let refused = |why: String| Err(ArtifactError::NotAPackage(why));
        match kind.as_deref() {
            Some(MANIFEST) => {}
            Some(INDEX) => return refused("it is a list of artifacts, not one".to_owned()),
            Some(other) => return refused(format!("it is of the type {other:?}")),
            None => return refused("it does not say of which type it is".to_owned()),
        }
        let manifest: Manifest = parsed("manifest", bytes)?;
        if manifest.config.media_type != WASM_CONFIG {
            return refused(format!("its config is of the type {:?}", manifest.config.media_type));
        }
        let [layer] = manifest.layers.as_slice() else {
            return refused(format!("it has {} layers, and a package has one", manifest.layers.len()));
        };
        if layer.media_type != WASM {
            return refused(format!("its layer is of the type {:?}", layer.media_type));
        }
        held("config", manifest.config.size, CONFIG_BYTES_MAX)?;
        held("component", layer.size, Limit::Component.info().ceiling)?;
        let Some(package) = manifest.annotations.get(documents::DIGEST) else {
            return refused("it holds a component alone".to_owned());
        };
        let package = package
            .parse()
            .map_err(|error| ArtifactError::Malformed { what: "manifest", reason: format!("{error}") })?;
        Ok(Head { digest, layer: layer.clone(), config: manifest.config, annotations: manifest.annotations, package })
    }

    /// What names the manifest.
    pub fn digest(&self) -> Sha256 {
        self.digest
    }

    /// What names the package.
    pub fn package(&self) -> Digest {
        self.package
    }

    /// What names the component.
    pub fn component(&self) -> Sha256 {
        self.layer.digest
    }

    /// What the manifest says of itself under a name.
    pub fn annotation(&self, name: &str) -> Option<&str> {
        self.annotations.get(name).map(String::as_str)
    }

    /// The bytes of config and component.
    pub fn sizes(&self) -> (u64, u64) {
        (self.config.size, self.layer.size)
    }

    /// Reads the config.
    ///
    /// # Errors
    /// It is not the one that the manifest names, or holds no package.
    pub fn texts(self, bytes: &[u8]) -> Result<Texts, ArtifactError> {
        whole("config", bytes, &self.config)?;
        let config: Config = parsed("config", bytes)?;
        let malformed = |reason: String| ArtifactError::Malformed { what: "config", reason };
        let Some(application) = config.agent_application else {
            return Err(ArtifactError::NotAPackage("its config holds no application".to_owned()));
        };
        if application.schema != SCHEMA {
            return Err(malformed(format!("the application has the schema {}; {SCHEMA} is known", application.schema)));
        }
        if config.layer_digests != [self.layer.digest] {
            return Err(malformed("it belongs to another layer".to_owned()));
        }
        let path = |text: &str| PackagePath::parse(text).map_err(|error| malformed(format!("{text:?}: {error}")));
        let component = path(&application.component)?;
        let mut entries = BTreeMap::new();
        for folder in &application.folders {
            entries.insert(path(folder)?, None);
        }
        let count = application.folders.len() + application.files.len();
        for file in application.files {
            let path = path(&file.path)?;
            entries.insert(path, Some(file.content().map_err(malformed)?));
        }
        if entries.len() != count || entries.contains_key(&component) {
            return Err(malformed("it names a path twice".to_owned()));
        }
        // Folders that are not named are there because of what is in them: so it is the file that packing makes.
        let named: Vec<PackagePath> = entries.keys().chain([&component]).cloned().collect();
        for inner in &named {
            for (at, _) in inner.as_str().match_indices('/') {
                entries.entry(path(inner.as_str().get(..at).unwrap_or_default())?).or_insert(None);
            }
            // Before they take memory: no package has more.
            if entries.len() > PackageBounds::default().entries_max {
                return Err(malformed("it has more files and folders than a package may".to_owned()));
            }
        }
        let texts = Texts { head: self, component, entries };
        texts.announced()?;
        Ok(texts)
    }
}

impl Texts {
    /// The manifest that names it.
    pub fn head(&self) -> &Head {
        &self.head
    }

    /// Where its component is.
    pub fn component(&self) -> &PackagePath {
        &self.component
    }

    /// The package as it describes itself.
    ///
    /// # Errors
    /// What is wrong with its APP.md, or with the paths.
    pub fn outline(&self) -> Result<Outline, ArtifactError> {
        let packed = self.pack(None)?;
        Ok(Outline::open(Source::packed_in_memory(packed, &PackageBounds::default())?)?)
    }

    /// The whole package, as one packed file: the same bytes that `pack` makes of it.
    ///
    /// # Errors
    /// The layer is not the one that the manifest names, or what comes out is not the package that was announced.
    pub fn packed(&self, layer: &[u8]) -> Result<Vec<u8>, ArtifactError> {
        whole("component", layer, &self.head.layer)?;
        let packed = self.pack(Some(layer))?;
        let bounds = PackageBounds::default();
        let found = Source::packed_in_memory(packed.clone(), &bounds)?.digest(&bounds)?;
        match found == self.head.package {
            true => Ok(packed),
            false => Err(ArtifactError::Digest {
                what: "package",
                found: found.to_string(),
                announced: self.head.package.to_string(),
            }),
        }
    }

    fn pack(&self, layer: Option<&[u8]>) -> Result<Vec<u8>, ArtifactError> {
        let component = layer.map(|layer| (&self.component, Some(layer)));
        let mut all: Vec<(&PackagePath, Option<&[u8]>)> =
            self.entries.iter().map(|(path, content)| (path, content.as_deref())).chain(component).collect();
        all.sort_by_key(|(path, _)| *path);
        let mut writer = PackWriter::new(Vec::new());
        let written = all.into_iter().try_for_each(|(path, content)| writer.add(path, content));
        written
            .and_then(|()| writer.finish())
            .map_err(|error| ArtifactError::Malformed { what: "config", reason: error.to_string() })
    }

    /// What the manifest says of slug and version is what APP.md says, and the component is where APP.md has it.
    fn announced(&self) -> Result<(), ArtifactError> {
        let outline = self.outline()?;
        let about = outline.manifest();
        for (what, name, found) in [
            ("slug", documents::SLUG, about.slug().to_string()),
            ("version", documents::VERSION, about.version().to_string()),
            ("description", documents::DESCRIPTION, about.description().to_owned()),
        ] {
            let announced = self.head.annotation(name).unwrap_or_default();
            if announced != found {
                return Err(ArtifactError::Announced { what, announced: announced.to_owned(), found });
            }
        }
        let component = about.entry().component();
        match *component == self.component {
            true => Ok(()),
            false => Err(ArtifactError::Announced {
                what: "the component",
                announced: self.component.to_string(),
                found: component.to_string(),
            }),
        }
    }
}

impl File {
    fn content(self) -> Result<Vec<u8>, String> {
        match (self.text, self.base64) {
            (Some(text), None) => Ok(text.into_bytes()),
            (None, Some(text)) => BASE64.decode(text.as_bytes()).map_err(|error| format!("{:?}: {error}", self.path)),
            _ => Err(format!("{:?} has no content, or two", self.path)),
        }
    }
}

/// Holds bytes against what names them.
pub(crate) fn whole(what: &'static str, bytes: &[u8], named: &Descriptor) -> Result<(), ArtifactError> {
    let found = bytes.len() as u64;
    if found != named.size {
        return Err(ArtifactError::Length { what, found, announced: named.size });
    }
    same(what, Sha256::of(bytes), named.digest)
}

pub(crate) fn same(what: &'static str, found: Sha256, announced: Sha256) -> Result<(), ArtifactError> {
    match found == announced {
        true => Ok(()),
        false => Err(ArtifactError::Digest { what, found: found.to_string(), announced: announced.to_string() }),
    }
}

/// A document that somebody else wrote.
pub(crate) fn parsed<'b, T: serde::Deserialize<'b>>(what: &'static str, bytes: &'b [u8]) -> Result<T, ArtifactError> {
    parsed_within(what, bytes, DOCUMENT_MEMORY_MAX)
}

/// The same, which takes at most so much memory: it is measured before it is read, since a byte can take more than a hundred. Nothing in this
/// crate reads what others wrote in another way.
pub(crate) fn parsed_within<'b, T: serde::Deserialize<'b>>(
    what: &'static str,
    bytes: &'b [u8],
    max: u64,
) -> Result<T, ArtifactError> {
    let malformed = |error: serde_json::Error| ArtifactError::Malformed { what, reason: error.to_string() };
    match DocumentSize::of(bytes).map_err(malformed)?.memory_bytes {
        takes if takes > max => Err(ArtifactError::Memory { what, takes, max }),
        _ => serde_json::from_slice(bytes).map_err(malformed),
    }
}

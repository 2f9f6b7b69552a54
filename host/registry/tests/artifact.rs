//! A package as an artifact and back: the digest is known beforehand, and every fault has a name.
#![allow(clippy::disallowed_methods, reason = "tests reach for what they prepare")]
#![allow(clippy::expect_used, clippy::unwrap_used, reason = "a test that cannot prepare its data has failed")]

use hutch::package::{Package, PackageBounds, Source};
use hutch_registry::{Artifact, ArtifactError, Head, Sha256};
use serde_json::{Value, json};
use std::path::Path;

/// A change of a document.
type Edit = fn(&mut Value);

fn todo() -> Package {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../packages/todo");
    let bounds = PackageBounds::default();
    Package::open(&Source::open(&folder, &bounds).unwrap(), bounds).unwrap()
}

fn packed(package: &Package) -> Vec<u8> {
    let mut bytes = Vec::new();
    package.pack(&mut bytes).unwrap();
    bytes
}

/// Reads all parts.
fn read(manifest: &[u8], config: &[u8], layer: &[u8]) -> Result<Vec<u8>, ArtifactError> {
    Head::read(manifest, None)?.texts(config)?.packed(layer)
}

/// The artifact with another config, and a manifest that names it.
fn with_config(artifact: &Artifact, edit: impl FnOnce(&mut Value)) -> Result<Vec<u8>, ArtifactError> {
    let mut config: Value = serde_json::from_slice(artifact.config()).unwrap();
    edit(&mut config);
    let config = serde_json::to_vec(&config).unwrap();
    let manifest = with_manifest(artifact, |manifest| {
        manifest["config"]["digest"] = Sha256::of(&config).to_string().into();
        manifest["config"]["size"] = config.len().into();
    });
    read(&manifest, &config, artifact.layer())
}

fn with_manifest(artifact: &Artifact, edit: impl FnOnce(&mut Value)) -> Vec<u8> {
    let mut manifest: Value = serde_json::from_slice(artifact.manifest()).unwrap();
    edit(&mut manifest);
    serde_json::to_vec(&manifest).unwrap()
}

#[test]
fn the_digests_of_the_to_do_package_are_these_on_every_machine() {
    let artifact = Artifact::of(&todo()).unwrap();
    let digests = [artifact.manifest(), artifact.config(), artifact.layer()].map(|part| Sha256::of(part).to_string());
    let golden: Vec<String> = serde_json::from_str(include_str!("todo.json")).unwrap();
    assert_eq!(digests.as_slice(), golden.as_slice(), "the bytes of packages/todo in a registry changed");
    assert_eq!(artifact.digest().to_string(), digests[0]);
}

#[test]
fn a_folder_and_its_packed_file_are_one_artifact_and_come_back_as_the_same_bytes() {
    let folder = todo();
    let bytes = packed(&folder);
    let bounds = PackageBounds::default();
    let file = Package::open(&Source::packed_in_memory(bytes.clone(), &bounds).unwrap(), bounds).unwrap();
    let (one, other) = (Artifact::of(&folder).unwrap(), Artifact::of(&file).unwrap());
    assert_eq!((one.manifest(), one.config(), one.layer()), (other.manifest(), other.config(), other.layer()));
    assert_eq!(read(one.manifest(), one.config(), one.layer()).unwrap(), bytes);
}

#[test]
fn an_artifact_that_leaves_folders_out_is_the_same_file() {
    let package = todo();
    let artifact = Artifact::of(&package).unwrap();
    let read = with_config(&artifact, |config| config["agentApplication"]["folders"] = json!([]));
    assert!(read.unwrap() == packed(&package), "what is pulled is not what packing makes");
    // Nothing is made up of a file that stands where a folder would be.
    let wrong = with_config(&artifact, |config| {
        let files = config["agentApplication"]["files"].as_array_mut().unwrap();
        files.push(json!({"path": "app", "text": ""}));
        config["agentApplication"]["folders"] = json!([]);
    });
    assert!(wrong.is_err());
}

#[test]
fn it_is_the_common_layout_for_wasm() {
    let artifact = Artifact::of(&todo()).unwrap();
    let manifest: Value = serde_json::from_slice(artifact.manifest()).unwrap();
    assert_eq!(manifest["mediaType"], "application/vnd.oci.image.manifest.v1+json");
    assert_eq!(manifest["config"]["mediaType"], "application/vnd.wasm.config.v0+json");
    assert_eq!(manifest["layers"].as_array().unwrap().len(), 1);
    assert_eq!(manifest["layers"][0]["mediaType"], "application/wasm");
    assert_eq!(manifest["layers"][0]["annotations"]["org.opencontainers.image.title"], "app.wasm");
    let config: Value = serde_json::from_slice(artifact.config()).unwrap();
    assert_eq!((&config["architecture"], &config["os"]), (&json!("wasm"), &json!("wasip2")));
    assert_eq!(config["layerDigests"], json!([Sha256::of(artifact.layer()).to_string()]));
    let exports = config["component"]["exports"].as_array().unwrap();
    assert!(exports.iter().any(|name| name.as_str().unwrap().starts_with("wasi:cli/run@0.2.")), "{exports:?}");
}

#[test]
fn a_package_is_described_without_its_component() {
    let artifact = Artifact::of(&todo()).unwrap();
    let head = Head::read(artifact.manifest(), Some(artifact.digest())).unwrap();
    assert_eq!(head.package(), todo().digest().unwrap());
    let texts = head.texts(artifact.config()).unwrap();
    assert_eq!(texts.outline().unwrap().manifest().slug().as_str(), "todo");
}

#[test]
fn a_changed_cut_or_longer_part_is_named() {
    let artifact = Artifact::of(&todo()).unwrap();
    let (manifest, config, layer) = (artifact.manifest(), artifact.config(), artifact.layer());
    let flipped = |bytes: &[u8]| {
        let mut bytes = bytes.to_vec();
        bytes[7] ^= 1;
        bytes
    };
    let digest =
        |error: &ArtifactError, part: &str| matches!(error, ArtifactError::Digest { what, .. } if *what == part);
    let length =
        |error: &ArtifactError, part: &str| matches!(error, ArtifactError::Length { what, .. } if *what == part);
    let error = Head::read(&flipped(manifest), Some(artifact.digest())).unwrap_err();
    assert!(digest(&error, "manifest"), "{error}");
    let error = read(manifest, &flipped(config), layer).unwrap_err();
    assert!(digest(&error, "config"), "{error}");
    let error = read(manifest, config, &flipped(layer)).unwrap_err();
    assert!(digest(&error, "component"), "{error}");
    for cut in [&config[1..], &[config, b" "].concat()] {
        let error = read(manifest, cut, layer).unwrap_err();
        assert!(length(&error, "config"), "{error}");
    }
    let error = read(manifest, config, &layer[..layer.len() - 1]).unwrap_err();
    assert!(length(&error, "component"), "{error}");
}

#[test]
fn a_config_that_was_swapped_is_no_package() {
    let artifact = Artifact::of(&todo()).unwrap();
    let other = with_config(&artifact, |config| {
        let files = config["agentApplication"]["files"].as_array_mut().unwrap();
        let file = files.iter_mut().find(|file| file["path"] == "agent/brief.md").unwrap();
        file["text"] = "another".into();
    });
    assert!(matches!(other, Err(ArtifactError::Digest { what: "package", .. })), "{other:?}");
    let gone = with_config(&artifact, |config| drop(config.as_object_mut().unwrap().remove("agentApplication")));
    assert!(matches!(gone, Err(ArtifactError::NotAPackage(_))), "{gone:?}");
    let layer = with_config(&artifact, |config| config["layerDigests"] = json!([Sha256::of(b"").to_string()]));
    assert!(matches!(layer, Err(ArtifactError::Malformed { what: "config", .. })), "{layer:?}");
    for (path, at) in [("../out", 0), ("a\\b", 0), ("/etc/passwd", 0), ("app/app.wasm", 1)] {
        let path = with_config(&artifact, |config| config["agentApplication"]["files"][at]["path"] = path.into());
        assert!(matches!(path, Err(ArtifactError::Malformed { .. } | ArtifactError::Package(_))), "{path:?}");
    }
    let both = with_config(&artifact, |config| config["agentApplication"]["files"][0]["base64"] = "".into());
    assert!(matches!(both, Err(ArtifactError::Malformed { what: "config", .. })), "{both:?}");
}

#[test]
fn a_manifest_that_announces_something_else_is_refused() {
    let artifact = Artifact::of(&todo()).unwrap();
    let announced = |name: &str, value: &str| {
        let manifest = with_manifest(&artifact, |manifest| manifest["annotations"][name] = value.into());
        read(&manifest, artifact.config(), artifact.layer()).unwrap_err()
    };
    for name in
        ["io.github.hutch-host.slug", "org.opencontainers.image.version", "org.opencontainers.image.description"]
    {
        let error = announced(name, "other");
        assert!(matches!(error, ArtifactError::Announced { .. }), "{name}: {error}");
    }
    let error = announced("io.github.hutch-host.package", &"0".repeat(64));
    assert!(
        matches!(error, ArtifactError::Digest { what: "package", .. } | ArtifactError::Malformed { .. }),
        "{error}"
    );
}

#[test]
fn what_is_no_package_or_too_large_is_refused_before_anything_is_fetched() {
    let artifact = Artifact::of(&todo()).unwrap();
    let edits: [(&str, Edit); 8] = [
        ("a list", |manifest| manifest["mediaType"] = "application/vnd.oci.image.index.v1+json".into()),
        ("of the type", |manifest| manifest["mediaType"] = "text/plain".into()),
        ("which type", |manifest| drop(manifest.as_object_mut().unwrap().remove("mediaType"))),
        ("its config", |manifest| manifest["config"]["mediaType"] = "application/json".into()),
        ("2 layers", |manifest| {
            let layer = manifest["layers"][0].clone();
            manifest["layers"].as_array_mut().unwrap().push(layer);
        }),
        ("its layer", |manifest| manifest["layers"][0]["mediaType"] = "text/plain".into()),
        ("component alone", |manifest| {
            drop(manifest["annotations"].as_object_mut().unwrap().remove("io.github.hutch-host.package"));
        }),
        ("malformed", |manifest| manifest["config"]["digest"] = "md5:00".into()),
    ];
    for (why, edit) in edits {
        let error = Head::read(&with_manifest(&artifact, edit), None).unwrap_err();
        assert!(error.to_string().contains(why), "{why}: {error}");
    }
    for (part, pointer) in [("config", "/config/size"), ("component", "/layers/0/size")] {
        let manifest =
            with_manifest(&artifact, |manifest| *manifest.pointer_mut(pointer).unwrap() = json!(1_u64 << 50));
        let error = Head::read(&manifest, None).unwrap_err();
        assert!(matches!(&error, ArtifactError::Oversize { what, .. } if *what == part), "{error}");
    }
    assert!(matches!(Head::read(b"{", None), Err(ArtifactError::Malformed { .. })));
}

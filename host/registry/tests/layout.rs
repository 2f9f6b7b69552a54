//! Folders that are repositories: as others write them, with parts that are lost, and with many who write at once.
#![allow(clippy::disallowed_methods, reason = "tests reach for what they prepare")]
#![allow(clippy::expect_used, clippy::unwrap_used, reason = "a test that cannot prepare its data has failed")]

use hutch::package::{Package, PackageBounds, Source};
use hutch_model::error_code::ErrorCode;
use hutch_registry::{
    Artifact, ArtifactError, Head, Layout, PrivateKey, Reference, RegistryError, Repository, Sha256, sign,
};
use serde_json::{Value, json};
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

fn todo() -> Package {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../packages/todo");
    let bounds = PackageBounds::default();
    Package::open(&Source::open(&folder, &bounds).unwrap(), bounds).unwrap()
}

fn artifact() -> Artifact {
    Artifact::of(&todo()).unwrap()
}

fn shop(folder: &Path, wait: Duration) -> Repository {
    Repository::Layout(Layout::new(hutch::package::open_folder(folder).unwrap(), "shop", wait))
}

fn named(tag: &str) -> Reference {
    format!("oci-layout:shop:{tag}").parse().unwrap()
}

fn index(folder: &Path) -> Value {
    serde_json::from_slice(&fs::read(folder.join("index.json")).unwrap()).unwrap()
}

fn blob(folder: &Path, digest: Sha256) -> PathBuf {
    folder.join("blobs/sha256").join(digest.hex())
}

fn pull(repository: &Repository, tag: &str) -> Result<Vec<u8>, RegistryError> {
    repository.packed(&repository.texts(repository.head(&named(tag))?)?)
}

/// A folder with the to-do package.
fn stocked() -> (tempfile::TempDir, Repository) {
    let folder = tempfile::tempdir().unwrap();
    let repository = shop(folder.path(), Duration::MAX);
    repository.push(&artifact(), &named("1"), false).unwrap();
    (folder, repository)
}

#[test]
fn what_was_told_to_be_pushed_or_signed_is_there_however_many_do_so_at_once() {
    let (folder, _) = stocked();
    let (artifact, package) = (artifact(), todo());
    let mut packed = Vec::new();
    package.pack(&mut packed).unwrap();
    let bundles: Vec<Vec<u8>> = (0..8)
        .map(|_| PrivateKey::from_pem(&PrivateKey::generate().unwrap()).unwrap())
        .map(|key| sign(&artifact, &packed, package.manifest(), &key).unwrap())
        .collect();
    std::thread::scope(|scope| {
        for (at, bundle) in bundles.iter().enumerate() {
            let (folder, artifact) = (folder.path(), &artifact);
            scope.spawn(move || {
                let repository = shop(folder, Duration::MAX);
                for turn in 0..4 {
                    assert!(repository.push(artifact, &named(&format!("t{at}-{turn}")), false).unwrap().is_new);
                    // Who reads waits for nobody, and sees a whole index.
                    assert!(repository.tags().unwrap().contains(&format!("t{at}-{turn}")));
                }
                assert!(repository.attach(artifact.manifest(), bundle).unwrap());
            });
        }
    });
    let repository = shop(folder.path(), Duration::ZERO);
    assert_eq!(repository.tags().unwrap().len(), 1 + 8 * 4);
    let mut found = repository.bundles(artifact.digest()).unwrap();
    let mut signed = bundles;
    found.sort();
    signed.sort();
    assert_eq!(found, signed);
}

#[test]
fn one_tag_is_one_package_of_two_who_push_at_once() {
    let folder = tempfile::tempdir().unwrap();
    let copy = tempfile::tempdir().unwrap();
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../packages/todo");
    copied(&source, copy.path());
    fs::write(copy.path().join("README.md"), "another").unwrap();
    let bounds = PackageBounds::default();
    let other = Package::open(&Source::open(copy.path(), &bounds).unwrap(), bounds).unwrap();
    let both = [artifact(), Artifact::of(&other).unwrap()];
    let pushed: Vec<(Sha256, Result<_, RegistryError>)> = std::thread::scope(|scope| {
        let push = |artifact: &'_ Artifact| {
            (artifact.digest(), shop(folder.path(), Duration::MAX).push(artifact, &named("1"), false))
        };
        let running: Vec<_> = both.iter().map(|artifact| scope.spawn(move || push(artifact))).collect();
        running.into_iter().map(|one| one.join().unwrap()).collect()
    });
    let (kept, refused): (Vec<_>, Vec<_>) = pushed.into_iter().partition(|(_, result)| result.is_ok());
    assert_eq!((kept.len(), refused.len()), (1, 1));
    assert!(matches!(refused[0].1, Err(RegistryError::TagTaken { .. })));
    let head = shop(folder.path(), Duration::ZERO).head(&named("1")).unwrap();
    assert_eq!(head.digest(), kept[0].0);
}

fn copied(from: &Path, to: &Path) {
    for entry in fs::read_dir(from).unwrap() {
        let (entry, to) = (entry.as_ref().unwrap().path(), to.join(entry.unwrap().file_name()));
        match entry.is_dir() {
            true => {
                fs::create_dir(&to).unwrap();
                copied(&entry, &to);
            }
            false => drop(fs::copy(&entry, &to).unwrap()),
        }
    }
}

#[test]
fn who_waits_in_vain_writes_nothing_and_is_told() {
    let (folder, _) = stocked();
    let before = index(folder.path());
    let held = fs::File::options().write(true).open(folder.path().join("index.json.lock")).unwrap();
    held.lock().unwrap();
    let repository = shop(folder.path(), Duration::ZERO);
    let error = repository.push(&artifact(), &named("2"), false).unwrap_err();
    assert_eq!(error.code(), ErrorCode::InstanceBusy, "{error}");
    assert_eq!(index(folder.path()), before);
    assert!(!pull(&repository, "1").unwrap().is_empty(), "who reads waits for nobody");
    drop(held);
    shop(folder.path(), Duration::MAX).push(&artifact(), &named("2"), false).unwrap();
}

#[test]
fn what_others_wrote_is_left_alone_and_refuses_nothing() {
    let (folder, repository) = stocked();
    let others = [
        json!({"mediaType": "application/vnd.oci.image.manifest.v1+json", "digest": "sha512:00", "size": 1}),
        json!({"mediaType": "x", "digest": Sha256::of(b"x"), "size": 1, "annotations": null, "platform": {"os": "linux"}}),
        json!({"mediaType": "x", "digest": Sha256::of(b"y"), "size": "large", "annotations": {"org.opencontainers.image.ref.name": "bad"}}),
        json!({"mediaType": "application/vnd.oci.image.manifest.v1+json", "digest": Sha256::of(b"folder"), "size": 9}),
        json!(null),
        json!([1]),
    ];
    let mut written = index(folder.path());
    written["annotations"] = json!({"of": "others"});
    written["manifests"].as_array_mut().unwrap().extend(others.clone());
    fs::write(folder.path().join("index.json"), written.to_string()).unwrap();
    fs::create_dir(blob(folder.path(), Sha256::of(b"folder"))).unwrap();
    assert!(!pull(&repository, "1").unwrap().is_empty());
    assert_eq!(repository.tags().unwrap(), ["1", "bad"]);
    assert!(repository.bundles(artifact().digest()).unwrap().is_empty());
    repository.push(&artifact(), &named("2"), false).unwrap();
    let kept = index(folder.path());
    assert_eq!(kept["annotations"], written["annotations"]);
    for other in &others {
        assert!(kept["manifests"].as_array().unwrap().contains(other), "{other} is gone: {kept}");
    }
    // What is asked for must be understood.
    let error = repository.head(&named("bad")).unwrap_err();
    assert_eq!(error.code(), ErrorCode::ArtifactInvalid, "{error}");
    assert!(error.to_string().contains("bad"), "{error}");
    for nothing in
        [json!({"schemaVersion": 2, "manifests": null}), json!({"manifests": [], "annotations": null}), json!({})]
    {
        fs::write(folder.path().join("index.json"), nothing.to_string()).unwrap();
        assert!(repository.tags().unwrap().is_empty(), "{nothing}");
        assert!(matches!(repository.head(&named("1")), Err(RegistryError::Missing(_))));
    }
}

#[test]
fn a_document_that_would_take_much_memory_is_refused_before_it_is_read() {
    let (folder, repository) = stocked();
    // Less than a MiB, and more than a hundred times that in memory.
    let small = r#"{"":0},"#.repeat(140_000);
    let kind = "application/vnd.oci.image.index.v1+json";
    let list = format!(r#"{{"schemaVersion":2,"mediaType":"{kind}","manifests":[],"more":[{small}0]}}"#);
    let takes_much = |error: ArtifactError, part: &str| {
        let is_it = matches!(&error, ArtifactError::Memory { what, takes, max } if *what == part && takes > max);
        assert!(is_it, "{part}: {error}");
    };
    takes_much(Head::read(list.as_bytes(), None).unwrap_err(), "manifest");
    let refused = |error: RegistryError, part: &str| {
        assert_eq!(error.code(), ErrorCode::ArtifactInvalid);
        match error {
            RegistryError::Artifact(error) => takes_much(error, part),
            other => panic!("{part}: {other}"),
        }
    };
    // Under the tag of a package's signatures.
    let (digest, tag) = (Sha256::of(list.as_bytes()), format!("sha256-{}", artifact().digest().hex()));
    let annotations = json!({"org.opencontainers.image.ref.name": tag});
    let entry = json!({"mediaType": kind, "digest": digest, "size": list.len(), "annotations": annotations});
    let mut written = index(folder.path());
    written["manifests"].as_array_mut().unwrap().push(entry);
    fs::write(blob(folder.path(), digest), &list).unwrap();
    fs::write(folder.path().join("index.json"), written.to_string()).unwrap();
    assert!(!pull(&repository, "1").unwrap().is_empty());
    refused(repository.bundles(artifact().digest()).unwrap_err(), "list of signatures");
    // In the place of the index itself.
    fs::write(folder.path().join("index.json"), &list).unwrap();
    refused(repository.tags().unwrap_err(), "index");
    refused(repository.head(&named("1")).unwrap_err(), "index");
}

#[test]
fn a_part_that_is_lost_is_named() {
    let made = artifact();
    let parts = [made.digest(), Sha256::of(made.config()), Sha256::of(made.layer())];
    for digest in parts {
        let (folder, repository) = stocked();
        fs::remove_file(blob(folder.path(), digest)).unwrap();
        for reference in [named("1"), named("1").with_digest(made.digest())] {
            let found = repository.head(&reference).and_then(|head| repository.packed(&repository.texts(head)?));
            let error = found.unwrap_err();
            assert!(matches!(error, RegistryError::Artifact(ArtifactError::Lost { .. })), "{error}");
            assert_eq!(error.code(), ErrorCode::ArtifactInvalid);
            assert!(error.to_string().contains(&digest.to_string()), "{error}");
        }
        // It is healed by who has it, and what nobody pushed is not lost.
        repository.push(&made, &named("1"), true).unwrap();
        pull(&repository, "1").unwrap();
        let none = named("1").with_digest(Sha256::of(b"none"));
        assert!(matches!(repository.head(&none), Err(RegistryError::Missing(_))));
    }
}

#[cfg(unix)]
#[test]
fn a_blob_may_be_a_link_within_the_folder_and_nothing_outside_is_read() {
    use std::os::unix::fs::symlink;
    let (folder, repository) = stocked();
    let digest = Sha256::of(artifact().layer());
    let at = blob(folder.path(), digest);
    fs::rename(&at, folder.path().join("layer")).unwrap();
    symlink("../../layer", &at).unwrap();
    assert!(!pull(&repository, "1").unwrap().is_empty());
    // The right bytes, and outside all the same.
    let outside = tempfile::tempdir().unwrap();
    fs::rename(folder.path().join("layer"), outside.path().join("layer")).unwrap();
    for target in [outside.path().join("layer"), PathBuf::from(digest.hex())] {
        fs::remove_file(&at).unwrap();
        symlink(&target, &at).unwrap();
        let error = pull(&repository, "1").unwrap_err();
        assert!(matches!(error, RegistryError::Artifact(ArtifactError::NoFile { .. })), "{error}");
        assert_eq!(error.code(), ErrorCode::ArtifactInvalid);
        assert!(error.to_string().contains(&digest.hex()), "{error}");
    }
    fs::remove_file(&at).unwrap();
    fs::create_dir(&at).unwrap();
    assert_eq!(pull(&repository, "1").unwrap_err().code(), ErrorCode::ArtifactInvalid);
    fs::remove_dir(&at).unwrap();
    symlink("../../nowhere", &at).unwrap();
    let error = pull(&repository, "1").unwrap_err();
    assert!(matches!(error, RegistryError::Artifact(ArtifactError::Lost { .. })), "{error}");
}

//! Files of any kind under one signature: `sign --output`, and `check --bundle`.

use crate::answers::{FilesSigned, FilesVerified, SignedFile};
use crate::flags::global::Global;
use crate::machine::{input, new_file};
use crate::package::{network, signed, trust};
use crate::refusal::fault::Fault;
use hutch_model::error_code::ErrorCode;
use hutch_model::error_report::ErrorReport;
use hutch_registry::{About, BUNDLE_BYTES_MAX, PrivateKey, Root, Sha256, Signer, Verdict, sign_files};
use std::path::{Path, PathBuf};

/// Files by their names and digests.
fn digests(paths: &[PathBuf]) -> Result<Vec<(String, Sha256)>, Fault> {
    let digest = |path: &PathBuf| {
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        Ok((name, Sha256::of_all(input::opened(path)?).map_err(|error| Fault::file(path, &error))?))
    };
    paths.iter().map(digest).collect()
}

#[expect(clippy::disallowed_methods, reason = "the caller named the file; what is no bundle is left alone")]
fn is_file(path: &Path) -> bool {
    path.is_file()
}

/// Signs, unless the bundle that is there is by this key and about these files already.
pub(super) fn signed(global: &Global, paths: &[PathBuf], key: &PrivateKey, path: &Path) -> Result<FilesSigned, Fault> {
    let files = digests(paths)?;
    let public = Signer::from(key.public());
    let root = trust::root(global)?;
    let signers = [public.clone()];
    let is_by_us = |bundle: String| files.iter().all(|file| by(bundle.as_bytes(), file, &signers, &root).is_ok());
    let before = is_file(path).then(|| network::small_file(global, path)).transpose()?;
    let is_signed = before.is_some_and(is_by_us);
    if !is_signed {
        let bundle = sign_files(&files, key).map_err(|error| Fault::host(error.to_string()))?;
        if bundle.len() as u64 > BUNDLE_BYTES_MAX {
            return Err(Fault::usage("the files are too many for one bundle"));
        }
        new_file::write(path, &bundle, global.dry_run)?;
    }
    Ok(FilesSigned {
        place: path.display().to_string(),
        key: public.name(),
        files: files.iter().map(SignedFile::from).collect(),
        changed: !is_signed,
        dry_run: global.dry_run,
    })
}

/// Checks files by a bundle, which may be about more: one of these must have signed each.
pub(super) fn verified(
    global: &Global,
    paths: &[PathBuf],
    bundle: &Path,
    signers: &[Signer],
) -> Result<FilesVerified, Fault> {
    let bundle = network::small_file(global, bundle)?.into_bytes();
    let (root, files) = (trust::root(global)?, digests(paths)?);
    let mut key = None;
    for file in &files {
        let by = by(&bundle, file, signers, &root).map_err(|verdict| {
            let (code, why) = match &*verdict {
                Verdict::Broken { reason } => {
                    (ErrorCode::SignatureInvalid, format!("the signature is broken: {reason}"))
                }
                _ => (ErrorCode::SignatureRequired, "none of those who were named has signed it".to_owned()),
            };
            ErrorReport::new(code, format!("{}: {why}", file.0)).detail("signatures", signed::told(&[*verdict]))
        })?;
        key = Some(by.name());
    }
    Ok(FilesVerified { key, files: files.iter().map(SignedFile::from).collect() })
}

/// Who of these signed a file.
fn by(bundle: &[u8], (_, digest): &(String, Sha256), signers: &[Signer], root: &Root) -> Result<Signer, Box<Verdict>> {
    let verdict = hutch_registry::check(bundle, &About { package: vec![*digest], component: None }, signers, root);
    verdict.signer().cloned().ok_or_else(|| Box::new(verdict))
}

//! `hutch key`: keys that sign, and files that are signed though they are no packages.

use crate::answers::{FilesSigned, FilesVerified, KeyGenerated, SignedFile};
use crate::done::Done;
use crate::fault::Fault;
use crate::global::Global;
use crate::new_file::{self, NewFile};
use crate::output::Output;
use crate::{human, network, signed, trust};
use clap::{Args, Subcommand};
use hutch_model::error_code::ErrorCode;
use hutch_model::error_report::ErrorReport;
use hutch_registry::{About, BUNDLE_BYTES_MAX, PrivateKey, Root, Sha256, Signer, Verdict, sign_files};
use serde_json::json;
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

#[derive(Debug, Subcommand)]
pub(crate) enum KeyCommand {
    /// Make a signing key
    ///
    /// ECDSA on P-256, as PEM: the private one (PKCS#8, not encrypted) where only you can read it, the public one beside it with .pub
    /// behind its name. What is there is not overwritten.
    Generate(KeyGenerateArguments),
    /// Sign files
    ///
    /// One Sigstore bundle about all of them, by their SHA-256. A package is signed by hutch sign.
    Sign(KeySignArguments),
    /// Check files by a bundle
    Verify(KeyVerifyArguments),
}

#[derive(Debug, Args)]
pub(crate) struct KeyGenerateArguments {
    /// The file to write the private key to
    #[arg(value_name = "KEYFILE")]
    path: PathBuf,
}

#[derive(Debug, Args)]
pub(crate) struct KeySignArguments {
    /// The files
    #[arg(value_name = "FILE", required = true)]
    files: Vec<PathBuf>,
    /// The private key, as hutch key generate makes it
    #[arg(long, value_name = "KEYFILE")]
    key: PathBuf,
    /// The bundle to write
    #[arg(long, value_name = "FILE")]
    output: PathBuf,
}

#[derive(Debug, Args)]
pub(crate) struct KeyVerifyArguments {
    /// The files; the bundle may be about more
    #[arg(value_name = "FILE", required = true)]
    files: Vec<PathBuf>,
    /// The bundle
    #[arg(long, value_name = "FILE")]
    bundle: PathBuf,
    /// A public key or an identity; one of those that are named must have signed
    #[arg(long = "key", value_name = "KEYFILE", required = true)]
    keys: Vec<PathBuf>,
}

pub(crate) fn key(global: &Global, own: KeyCommand, output: &Output) -> Result<ExitCode, Fault> {
    match own {
        KeyCommand::Generate(own) => generate(global, &own, output),
        KeyCommand::Sign(own) => sign(global, &own, output),
        KeyCommand::Verify(own) => verify(global, &own, output),
    }
}

/// Files by their names and digests.
#[expect(clippy::disallowed_methods, reason = "files that the caller named, read and nothing else")]
fn digests(paths: &[PathBuf]) -> Result<Vec<(String, Sha256)>, Fault> {
    let digest = |path: &PathBuf| {
        let failed = |error: io::Error| Fault::file(path, &error);
        // Looked at before it is opened: a pipe would be waited for.
        if !path.metadata().map_err(failed)?.is_file() {
            return Err(Fault::usage(format!("{} is no file", path.display())));
        }
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        Ok((name, File::open(path).and_then(Sha256::of_all).map_err(failed)?))
    };
    paths.iter().map(digest).collect()
}

#[expect(clippy::disallowed_methods, reason = "the caller named the file; what is no bundle is left alone")]
fn is_file(path: &Path) -> bool {
    path.is_file()
}

/// Signs, unless the bundle that is there is by this key and about these files already.
fn sign(global: &Global, own: &KeySignArguments, output: &Output) -> Result<ExitCode, Fault> {
    let text = network::small_file(global, &own.key)?;
    let key = PrivateKey::from_pem(&text).map_err(|error| Fault::usage(format!("--key: {error}")))?;
    let files = digests(&own.files)?;
    let public = Signer::from(key.public());
    let root = trust::root(global)?;
    let signers = [public.clone()];
    let is_by_us = |bundle: String| files.iter().all(|file| by(bundle.as_bytes(), file, &signers, &root).is_ok());
    let before = is_file(&own.output).then(|| network::small_file(global, &own.output)).transpose()?;
    let is_signed = before.is_some_and(is_by_us);
    if !is_signed {
        let bundle = sign_files(&files, &key).map_err(|error| Fault::host(error.to_string()))?;
        if bundle.len() as u64 > BUNDLE_BYTES_MAX {
            return Err(Fault::usage("the files are too many for one bundle"));
        }
        match global.dry_run {
            true => new_file::preview(&own.output, &bundle)?,
            false => {
                let mut file = NewFile::begin(&own.output)?;
                file.writer().write_all(&bundle).map_err(|error| Fault::file(&own.output, &error))?;
                file.keep()?;
                output.done(Done::changed(None));
            }
        }
    }
    let result = FilesSigned {
        place: own.output.display().to_string(),
        key: public.name(),
        files: files.iter().map(SignedFile::from).collect(),
        changed: !is_signed,
        dry_run: global.dry_run,
    };
    output.answer("key sign", result, human::fields)?;
    Ok(ExitCode::SUCCESS)
}

fn verify(global: &Global, own: &KeyVerifyArguments, output: &Output) -> Result<ExitCode, Fault> {
    let signers = signed::keys(global, &own.keys)?;
    let bundle = network::small_file(global, &own.bundle)?.into_bytes();
    let (root, files) = (trust::root(global)?, digests(&own.files)?);
    let mut key = None;
    for file in &files {
        let by = by(&bundle, file, &signers, &root).map_err(|verdict| {
            let (code, why) = match &*verdict {
                Verdict::Broken { reason } => {
                    (ErrorCode::SignatureInvalid, format!("the signature is broken: {reason}"))
                }
                _ => (ErrorCode::SignatureRequired, "none of those who were named has signed it".to_owned()),
            };
            ErrorReport::new(code, format!("{}: {why}", file.0)).detail("signatures", json!(signed::told(&[*verdict])))
        })?;
        key = Some(by.name());
    }
    let result = FilesVerified { key, files: files.iter().map(SignedFile::from).collect() };
    output.answer("key verify", result, human::fields)?;
    Ok(ExitCode::SUCCESS)
}

/// Who of these signed a file.
fn by(bundle: &[u8], (_, digest): &(String, Sha256), signers: &[Signer], root: &Root) -> Result<Signer, Box<Verdict>> {
    let verdict = hutch_registry::check(bundle, &About { package: vec![*digest], component: None }, signers, root);
    verdict.signer().cloned().ok_or_else(|| Box::new(verdict))
}

fn generate(global: &Global, own: &KeyGenerateArguments, output: &Output) -> Result<ExitCode, Fault> {
    let path = &own.path;
    let mut public_path = path.clone().into_os_string();
    public_path.push(".pub");
    let public_path = PathBuf::from(public_path);
    let pem = PrivateKey::generate().map_err(|error| Fault::host(error.to_string()))?;
    let public = PrivateKey::from_pem(&pem).map_err(|error| Fault::host(error.to_string()))?.public();
    // No key is like another, so whatever is there is another file.
    for path in [path, &public_path] {
        new_file::preview(path, b"")?;
    }
    if !global.dry_run {
        for (mut file, path, text) in
            [(NewFile::begin_private(path)?, path, pem), (NewFile::begin(&public_path)?, &public_path, public.to_pem())]
        {
            file.writer().write_all(text.as_bytes()).map_err(|error| Fault::file(path, &error))?;
            file.keep()?;
        }
        output.done(Done::changed(None));
    }
    let result = KeyGenerated {
        path: path.display().to_string(),
        public_path: public_path.display().to_string(),
        key: if global.dry_run { None } else { Some(public.hint()) },
        dry_run: global.dry_run,
    };
    output.answer("key generate", result, human::fields)?;
    Ok(ExitCode::SUCCESS)
}

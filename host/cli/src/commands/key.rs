//! `hutch key`: keys that sign packages.

use crate::arguments::Global;
use crate::done::Done;
use crate::fault::Fault;
use crate::human;
use crate::new_file::{self, NewFile};
use crate::output::Output;
use clap::{Args, Subcommand};
use hutch_registry::PrivateKey;
use serde_json::json;
use std::path::PathBuf;
use std::process::ExitCode;

#[derive(Debug, Subcommand)]
pub(crate) enum KeyCommand {
    /// Make a key that signs
    ///
    /// ECDSA on P-256, as PEM: the private one (PKCS#8, not encrypted) where only you can read it, the public one beside it with .pub
    /// behind its name. What is there is not overwritten.
    Generate(KeyGenerateArguments),
}

#[derive(Debug, Args)]
pub(crate) struct KeyGenerateArguments {
    /// The file to write the private key to
    #[arg(value_name = "KEYFILE")]
    path: PathBuf,
}

pub(super) fn key(global: &Global, own: KeyCommand, output: &Output) -> Result<ExitCode, Fault> {
    let KeyCommand::Generate(KeyGenerateArguments { path }) = own;
    let mut public_path = path.clone().into_os_string();
    public_path.push(".pub");
    let public_path = PathBuf::from(public_path);
    let pem = PrivateKey::generate().map_err(|error| Fault::host(error.to_string()))?;
    let public = PrivateKey::from_pem(&pem).map_err(|error| Fault::host(error.to_string()))?.public();
    // No key is like another, so whatever is there is another file.
    for path in [&path, &public_path] {
        new_file::preview(path, b"")?;
    }
    if !global.dry_run {
        for (mut file, path, text) in [
            (NewFile::begin_private(&path)?, &path, pem),
            (NewFile::begin(&public_path)?, &public_path, public.to_pem()),
        ] {
            file.writer().write_all(text.as_bytes()).map_err(|error| Fault::file(path, &error))?;
            file.keep()?;
        }
        output.done(Done::changed(None));
    }
    let result = json!({
        "path": path.display().to_string(),
        "public_path": public_path.display().to_string(),
        "key": if global.dry_run { None } else { Some(public.hint()) },
        "dry_run": global.dry_run,
    });
    output.answer("key generate", result, human::fields)?;
    Ok(ExitCode::SUCCESS)
}

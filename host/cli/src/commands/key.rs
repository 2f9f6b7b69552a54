//! `hutch key`: keys that sign.

use crate::answer::done::Done;
use crate::answer::output::Output;
use crate::answers::KeyGenerated;
use crate::flags::global::Global;
use crate::machine::new_file::{self, NewFile};
use crate::refusal::fault::Fault;
use crate::screen::human;
use clap::{Args, Subcommand};
use hutch_registry::PrivateKey;
use std::path::PathBuf;
use std::process::ExitCode;

#[derive(Debug, Subcommand)]
pub(crate) enum KeyCommand {
    /// Make a signing key
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

pub(crate) fn key(global: &Global, own: KeyCommand, output: &Output) -> Result<ExitCode, Fault> {
    match own {
        KeyCommand::Generate(own) => generate(global, &own, output),
    }
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
        NewFile::begin_private(path)?.filled(pem.as_bytes())?;
        new_file::write(&public_path, public.to_pem().as_bytes(), false)?;
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

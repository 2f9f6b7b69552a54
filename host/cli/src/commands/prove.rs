//! `hutch prove`: what an entry follows from, as a file that anybody checks by running it again.

use super::instance::InstanceArguments;
use super::open_package;
use crate::answer::done::Done;
use crate::answer::output::Output;
use crate::answers::ProveAnswers;
use crate::call::invocation::parse_limit;
use crate::flags::global::Global;
use crate::machine::needs::Needs;
use crate::machine::new_file::Reserved;
use crate::machine::{input, surroundings};
use crate::package::earlier::Earlier;
use crate::package::packages::Place;
use crate::package::{network, signed, trust};
use crate::refusal::fault::Fault;
use crate::screen::human;
use clap::{Args, ValueHint};
use hutch::EntryName;
use hutch::package::PackageBounds;
use hutch::proof::{PROOF_BYTES_MAX, Proof, TreeHead};
use hutch_documents::proved::{Checked, Proved};
use hutch_model::error_code::ErrorCode;
use hutch_model::error_report::ErrorReport;
use hutch_model::limits::Limit;
use hutch_registry::{PrivateKey, Signer, has_signed, sign_payload};
use hutch_store::InstanceName;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

#[derive(Debug, Args)]
pub(crate) struct ProveArguments {
    /// Check a proof, and make none
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, conflicts_with_all = ["output", "bare", "entry"])]
    check: Option<PathBuf>,
    /// The file to write
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, required_unless_present = "check")]
    output: Option<PathBuf>,
    /// Leave the package out; who checks the proof needs it
    #[arg(long)]
    bare: bool,
    /// The private key that signs the proof; with --check a public one, which must have signed it
    #[arg(long, value_name = "KEYFILE", value_hint = ValueHint::FilePath)]
    key: Option<PathBuf>,
    /// With --check: a tree that was written down, which verify --chain shows: the number of its entries, a colon and the root
    #[arg(long, value_name = "N:ROOT", requires = "check")]
    tree: Option<TreeHead>,
    /// With --check: set a limit of the run; may be repeated
    #[arg(long = "limit", value_name = "NAME=VALUE", value_parser = parse_limit, requires = "check")]
    limits: Vec<(Limit, u64)>,
    /// The instance
    #[arg(long, value_name = "NAME", default_value = "default", conflicts_with = "check")]
    instance: InstanceName,
    /// The folder that holds APP.md, a packed file, or an installed package; with --check where the proof has none in it
    #[arg(value_name = "PACKAGE", required_unless_present = "check")]
    package: Option<PathBuf>,
    /// The entry: the beginning of its hash, @ and its number, or last; the last one with a run if absent
    #[arg(value_name = "ENTRY")]
    entry: Option<EntryName>,
}

impl ProveArguments {
    /// What it needs before it begins.
    pub(crate) fn needs(&self) -> Needs {
        let needs = Needs::NOTHING.rings().long();
        if self.check.is_some() { needs } else { needs.instances() }
    }
}

pub(crate) fn prove(global: &Global, own: &ProveArguments, output: &Output) -> Result<ExitCode, Fault> {
    match (&own.check, &own.output, &own.package) {
        (Some(file), ..) => check(global, own, file, output),
        (None, Some(path), Some(package)) => make(global, own, (path, package), output),
        _ => Err(Fault::usage("name a package and --output FILE, or --check FILE")),
    }
}

fn make(
    global: &Global,
    own: &ProveArguments,
    (path, package): (&Path, &Path),
    output: &Output,
) -> Result<ExitCode, Fault> {
    let key = own.key.as_ref().map(|key| {
        let text = network::small_file(global, key)?;
        PrivateKey::from_pem(&text).map_err(|error| Fault::usage(format!("--key: {error}")))
    });
    let key = key.transpose()?;
    let instance = InstanceArguments { instance: own.instance.clone(), package: package.to_owned() };
    // Looking at what is not there makes nothing.
    instance.open(global)?;
    let (host, package, session) = instance.open_package(global)?;
    let sealed = session.entry_to_prove(own.entry.as_ref())?;
    let mut earlier = Earlier::of(global, &package)?;
    let maker = earlier.maker(&sealed, &package)?;
    // Once the guest has run, no path leads there.
    let file = Reserved::open(path, PROOF_BYTES_MAX, global.dry_run)?;
    let mut proof = host.prove(maker, &session, &sealed, !own.bare)?;
    if let Some(key) = &key {
        let signature = sign_payload(proof.payload(), key).map_err(|error| Fault::host(error.to_string()))?;
        proof = proof.with(signature)?;
    }
    let bytes = proof.written()?;
    let changed = file.fill(&bytes)?;
    if changed && !global.dry_run {
        output.done(Done::changed(global.line.elsewhere(["prove", "--check", &path.display().to_string()])));
    }
    let value = ProveAnswers::Made {
        path: path.to_owned(),
        bytes: bytes.len() as u64,
        carries: !own.bare,
        key: key.map(|key| key.public().hint()),
        proved: Box::new(Proved::from(&proof)),
        changed,
    };
    let told = human::sentence(&["{path}: {bytes} bytes prove entry {entry.sequence} of {package}/{instance}"]);
    output.answer("prove", value, told)
}

fn check(global: &Global, own: &ProveArguments, file: &Path, output: &Output) -> Result<ExitCode, Fault> {
    let proof = Proof::read(&input::whole(file, PROOF_BYTES_MAX, global.wait)?)?;
    let key = own.key.as_ref().map(|key| signed_by(global, key, &proof)).transpose()?;
    if let Some(tree) = own.tree.filter(|tree| *tree != proof.tree()) {
        let message = format!("the proof is of the ledger {}, and not of {tree}", proof.tree());
        return Err(ErrorReport::new(ErrorCode::VerifyFailed, message).into());
    }
    let package = match &own.package {
        Some(word) => open_package(global, word, None)?,
        None => {
            // What a file brings is as good as the file.
            trust::admit(&trust::policy(global)?, &Place::local(file))?;
            let brought = proof.package(PackageBounds::default())?;
            brought.ok_or_else(|| Fault::usage("the proof has no package in it: name the one that made the run"))?
        }
    };
    // Nothing is kept, not even what the package is compiled to where there is no home yet.
    let host = surroundings::host(&Global { dry_run: true, ..global.clone() })?;
    let outcome = host.check_proof(&package, &proof, surroundings::now(), &own.limits)?;
    let value = ProveAnswers::Checked { status: "equal", key, checked: Box::new(Checked::of(&proof, &outcome)?) };
    let told = human::sentence(&["equal: entry {entry.sequence} of {package}/{instance}, {entry.hash}"]);
    output.answer("prove", value, told)
}

/// The key that was asked for, if it has signed the proof.
fn signed_by(global: &Global, path: &Path, proof: &Proof) -> Result<String, Fault> {
    let Signer::Key(key) = signed::key(global, path)? else {
        return Err(Fault::usage(format!("{}: a proof is signed by a key", path.display())));
    };
    match has_signed(proof.payload(), proof.signatures(), &key) {
        true => Ok(key.hint()),
        false => {
            let message = format!("the key {} has not signed the proof", key.hint());
            Err(ErrorReport::new(ErrorCode::SignatureRequired, message).into())
        }
    }
}

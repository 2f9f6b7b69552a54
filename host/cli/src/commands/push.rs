//! `hutch push`: a package as an artifact in a registry.

use crate::answer::done::Done;
use crate::answer::output::Output;
use crate::answers::PushAnswer;
use crate::flags::global::Global;
use crate::package::network::{self, NetworkArguments};
use crate::package::packages;
use crate::refusal::fault::Fault;
use crate::screen::human;
use clap::Args;
use hutch_registry::{Artifact, Pushed, Reference, RegistryError};
use std::path::PathBuf;
use std::process::ExitCode;

#[derive(Debug, Args)]
pub(crate) struct PushArguments {
    /// The folder that holds APP.md, a packed file, or an installed package
    #[arg(value_name = "PACKAGE")]
    package: PathBuf,
    /// Where to: oci://HOST/REPOSITORY:TAG or oci-layout:FOLDER:TAG; the tag is the version if absent
    #[arg(value_name = "REF")]
    to: String,
    /// Let the tag name this package, whatever it named before
    #[arg(long)]
    overwrite: bool,
    #[command(flatten)]
    network: NetworkArguments,
}

pub(crate) fn push(global: &Global, own: &PushArguments, output: &Output) -> Result<ExitCode, Fault> {
    let given = network::parsed(&own.to)?;
    if given.digest.is_some() {
        return Err(Fault::usage("REF: a digest follows from what is pushed; name a tag"));
    }
    let (package, _) = packages::sound(global, &own.package)?;
    let manifest = package.manifest();
    let to = match &given.tag {
        Some(_) => given,
        None => tagged(&given, &manifest.version().to_string())?,
    };
    let artifact = Artifact::of(&package).map_err(|error| network::fault(RegistryError::from(error)))?;
    let pushed = match global.dry_run {
        true => Pushed { bytes: 0, is_new: false },
        false => {
            let repository = network::open(global, &own.network, &to, true)?;
            repository.push(&artifact, &to, own.overwrite).map_err(network::fault)?
        }
    };
    output.done(Done::changed(global.line.elsewhere(["show", &to.to_string()])));
    let result = PushAnswer {
        slug: manifest.slug().to_string(),
        version: manifest.version().to_string(),
        reference: to.with_digest(artifact.digest()).to_string(),
        digest: artifact.package.to_string(),
        manifest: artifact.digest().to_string(),
        bytes_sent: pushed.bytes,
        changed: pushed.is_new,
        dry_run: global.dry_run,
    };
    let told = human::sentence(&[
        "{changed!}there already: ",
        "{changed?}{dry_run?would push|pushed} ",
        "{slug} {version}",
        "\n{reference}",
    ]);
    output.answer("push", result, told)
}

/// A tag can't hold the sign that stands before the build of a version.
fn tagged(given: &Reference, version: &str) -> Result<Reference, Fault> {
    let tag = version.replace('+', "_");
    given.with_tag(&tag).ok_or_else(|| Fault::usage(format!("the version {version} is no tag; name one behind REF")))
}

//! `hutch pull`: a package out of a registry, as one file.

use crate::answers::PullAnswer;
use crate::done::Done;
use crate::fault::Fault;
use crate::global::Global;
use crate::network::{self, Fetched, NetworkArguments};
use crate::new_file::{self, NewFile};
use crate::output::Output;
use crate::signed::{self, Signed};
use crate::{human, packages};
use clap::Args;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

#[derive(Debug, Args)]
pub(crate) struct PullArguments {
    /// Where from: oci://HOST/REPOSITORY:TAG or oci-layout:FOLDER:TAG, or @sha256:… in place of the tag
    #[arg(value_name = "REF")]
    from: String,
    /// The file to write; SLUG-VERSION.tar here if absent
    #[arg(long, value_name = "FILE")]
    output: Option<PathBuf>,
    #[command(flatten)]
    network: NetworkArguments,
}

pub(crate) fn pull(global: &Global, own: &PullArguments, output: &Output) -> Result<ExitCode, Fault> {
    let from = network::parsed(&own.from)?;
    let fetched = Fetched::get(global, &own.network, &from)?;
    let package = fetched.package(global)?;
    // Whom to believe is asked when it is installed; what is broken is not brought here.
    signed::sound(&Signed::fetched(global, &fetched, &package)?.verdicts(&[]))?;
    let manifest = package.manifest();
    let path = own.output.clone().unwrap_or_else(|| packages::packed_name(manifest));
    // A signature of something else there is noticed before anything is written.
    for (bundle, says) in signed::firsts(&fetched.bundles) {
        new_file::preview(&signed::beside(&path, says), bundle)?;
    }
    match global.dry_run {
        true => new_file::preview(&path, &fetched.packed)?,
        false => {
            let mut file = NewFile::begin(&path)?;
            file.writer().write_all(&fetched.packed).map_err(|error| Fault::file(&path, &error))?;
            file.keep()?;
            keep_signatures(&path, &fetched)?;
        }
    }
    output.done(Done::changed(global.line.elsewhere(["check", &path.display().to_string()])));
    let result = PullAnswer {
        slug: manifest.slug().to_string(),
        version: manifest.version().to_string(),
        reference: fetched.reference.to_string(),
        path: path.display().to_string(),
        bytes: fetched.packed.len(),
        signatures: fetched.bundles.len(),
        digest: package.digest()?.to_string(),
        dry_run: global.dry_run,
    };
    output.answer("pull", result, human::fields)?;
    Ok(ExitCode::SUCCESS)
}

/// The first signature goes beside the file, where everybody looks for one, and so does the first statement of how it was built.
fn keep_signatures(path: &Path, fetched: &Fetched) -> Result<(), Fault> {
    for (bundle, says) in signed::firsts(&fetched.bundles) {
        let path = signed::beside(path, says);
        let mut file = NewFile::begin(&path)?;
        file.writer().write_all(bundle).map_err(|error| Fault::file(&path, &error))?;
        file.keep()?;
    }
    Ok(())
}

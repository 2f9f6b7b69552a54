//! Packages that the database of the instances keeps, for every machine that uses it: put there when they are installed somewhere, taken
//! from there as `store:SLUG`. What comes from there is held against its digest, and against the rules for `store:SLUG`.

use crate::answer::output::Output;
use crate::flags::database::{self, Connected, KeptPackage, PackageFiles};
use crate::flags::global::Global;
use crate::package::signed::{self, Signed};
use crate::package::trust;
use crate::refusal::fault::Fault;
use hutch::Failure;
use hutch::package::{Checked, Package, PackageBounds, Source};
use hutch_model::digest::Digest;
use hutch_model::error_code::ErrorCode;
use hutch_model::error_report::ErrorReport;
use hutch_model::names::Slug;
use hutch_model::trust::{SHARED, Subject};
use hutch_registry::Signer;
use hutch_store::StoreError;
use semver::Version;
use std::path::Path;

/// The slug that a word means in the database, if it means one there.
pub(crate) fn slug(word: &Path) -> Option<Result<Slug, Fault>> {
    let slug = word.to_str()?.strip_prefix(SHARED)?;
    Some(Slug::parse(slug).map_err(|error| Fault::usage(format!("{SHARED}{slug}: {error}"))))
}

/// A package from the database, as it came.
#[derive(Debug)]
pub(crate) struct Shared {
    slug: Slug,
    digest: Digest,
    files: PackageFiles,
}

impl Shared {
    /// The newest version of a package.
    ///
    /// # Errors
    /// No database is named, or none of its packages has that slug.
    pub(crate) fn get(global: &Global, slug: &Slug) -> Result<Shared, Fault> {
        let Some(database) = &global.database else {
            return Err(Fault::usage(format!("{SHARED}{slug} is in a database, and HUTCH_STORE names none")));
        };
        if !database::keeps_packages(database) {
            return Err(Fault::usage(format!(
                "{SHARED}{slug} is in a database, and HUTCH_STORE names a bucket, which keeps no packages: install it from a folder, a packed file or oci://"
            )));
        }
        let missing = || {
            let report = ErrorReport::new(ErrorCode::PackageNotFound, format!("the database has no package {slug}"));
            Fault::from(report.suggest("install it from elsewhere with HUTCH_STORE set; then the database has it"))
        };
        let newest = newest(database, slug)?.ok_or_else(missing)?;
        // A collector may have taken it meanwhile.
        let files = database::package(database, &newest.digest).map_err(Failure::from)?.ok_or_else(missing)?;
        Ok(Shared { slug: slug.clone(), digest: newest.digest, files })
    }

    /// What to write to mean it.
    pub(crate) fn word(&self) -> String {
        format!("{SHARED}{}", self.slug)
    }

    /// The package, checked as any other, once it is the one that the database says it is.
    pub(crate) fn checked(&self) -> Result<Checked, Fault> {
        let bounds = PackageBounds::default();
        let source = match Source::packed_in_memory(self.files.packed.clone(), &bounds) {
            Ok(source) => source,
            Err(error) => return Ok(error.into()),
        };
        let checked = hutch::package::check(&source, bounds);
        match &checked.package {
            Some(package) if *package.manifest().slug() != self.slug || package.digest()? != self.digest => {
                let message = format!("what the database has as {} is another package", self.word());
                Err(Fault::new(ErrorCode::PackageChanged, message))
            }
            _ => Ok(checked),
        }
    }

    /// Its signatures.
    pub(crate) fn signed(&self, global: &Global, package: &Package) -> Result<Signed, Fault> {
        Signed::of(global, package, self.files.signatures.clone())
    }
}

/// Of the versions that the database has, the highest; of several files of that version those that came last.
fn newest(database: &Connected, slug: &Slug) -> Result<Option<KeptPackage>, Fault> {
    let kept = versions(database, slug)?;
    Ok(kept.into_iter().max_by(|one, other| version(one).cmp(&version(other))))
}

fn version(kept: &KeptPackage) -> Option<Version> {
    Version::parse(&kept.version).ok()
}

/// The versions that the database has.
pub(crate) fn versions(database: &Connected, slug: &Slug) -> Result<Vec<KeptPackage>, Fault> {
    Ok(database::packages(database, slug).map_err(Failure::from)?)
}

/// The versions that the database has, but for the newest.
pub(crate) fn collectable(global: &Global, slug: &Slug) -> Result<Vec<KeptPackage>, Fault> {
    let Some(database) = &global.database else { return Ok(Vec::new()) };
    let newest = newest(database, slug)?.map(|newest| newest.digest);
    Ok(versions(database, slug)?.into_iter().filter(|kept| Some(kept.digest) != newest).collect())
}

/// Takes a version out of the database.
pub(crate) fn drop_package(global: &Global, kept: &KeptPackage) -> Result<(), Fault> {
    let Some(database) = &global.database else { return Ok(()) };
    Ok(database::drop_package(database, &kept.digest).map_err(Failure::from)?)
}

/// Keeps a package for the other machines. A role that may not is told so, and the package is kept on this machine alone.
pub(crate) fn keep(global: &Global, package: &Package, signed: &Signed, output: &Output) -> Result<(), Fault> {
    let Some(database) = global.database.as_ref().filter(|it| database::keeps_packages(it)) else { return Ok(()) };
    let manifest = package.manifest();
    let version = manifest.version().to_string();
    let kept = KeptPackage { digest: package.digest()?, run: package.run_digest()?, version };
    let files = PackageFiles { packed: signed::packed(package)?, signatures: signed.bundles().to_vec() };
    match database::keep_package(database, manifest.slug(), kept, files) {
        Err(StoreError::Denied { .. }) => {
            output.remark("the database keeps no copy for other machines: this role may not put packages there");
            Ok(())
        }
        kept => Ok(kept.map_err(Failure::from)?),
    }
}

/// The version that entries call `run`, if the database has it, it is what it should be, and the rules let it be run.
pub(crate) fn maker(global: &Global, slug: &Slug, run: &Digest) -> Result<Option<Package>, Fault> {
    let Some(database) = &global.database else { return Ok(None) };
    let Some(kept) = versions(database, slug)?.into_iter().find(|kept| kept.run == *run) else { return Ok(None) };
    let Some(files) = database::package(database, &kept.digest).map_err(Failure::from)? else { return Ok(None) };
    let shared = Shared { slug: slug.clone(), digest: kept.digest, files };
    // One that is not what it is called made nothing.
    let Some(package) = shared.checked().ok().and_then(|checked| checked.package) else { return Ok(None) };
    let policy = trust::policy(global)?;
    let keys = trust::keys(&policy, &shared.word());
    let signed = shared.signed(global, &package)?;
    let signer = signed.by(&keys)?.as_ref().map(Signer::text);
    let attester = signed.attested(&keys).as_ref().map(Signer::text);
    let (signer, attester) = (signer.as_deref(), attester.as_deref());
    let judged = policy.judge(Subject { source: &shared.word(), is_installed: true, signer, attester });
    let is_it = judged.is_allowed() && package.run_digest()? == *run;
    Ok(is_it.then_some(package))
}

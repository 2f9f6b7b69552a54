//! Packages that go with an instance from one machine to another, so that what they did can be done again where they are not. They are run
//! for that, in the sandbox, as far as the rules about the file that brings them let them; none is installed.

use crate::flags::global::Global;
use crate::package::earlier::Earlier;
use crate::package::packages::{self, Place};
use crate::package::trust;
use crate::refusal::fault::Fault;
use hutch::package::{Package, PackageBounds, Source};
use hutch::{Failure, Session};
use hutch_model::error_code::ErrorCode;
use hutch_store::bundle;
use std::path::Path;

/// The versions that made the runs behind one place and up to another, packed.
pub(crate) fn packed(
    global: &Global,
    package: &Path,
    session: &Session,
    places: (u64, u64),
) -> Result<Vec<Vec<u8>>, Fault> {
    let now = packages::open(global, package, None)?;
    let mut known = Earlier::of(global, &now)?.all()?;
    known.push(now);
    let suggestion = "name the package as it was then, or export --after that entry, or without --packages";
    session.makers(&known, places).map_err(|failure| match failure {
        Failure::MakerMissing { .. } => Fault::from(failure).suggest(suggestion),
        failure => failure.into(),
    })
}

/// What can make the runs of a bundle again: the package that is meant, and other versions. What is here comes first; where the package
/// is not, the latest that the bundle carries stands for it.
pub(crate) fn makers(
    global: &Global,
    package: &Path,
    (file, bundle): (&Path, &[u8]),
) -> Result<(Package, Vec<Package>), Fault> {
    let here = packages::open(global, package, None);
    let brought = bundle::packages(bundle).map_err(Failure::from)?;
    let missing = here.as_ref().is_err_and(|fault| fault.report().code == ErrorCode::PackageNotFound);
    if brought.is_empty() || (here.is_err() && !missing) {
        let package = here?;
        let earlier = Earlier::of(global, &package)?.all()?;
        return Ok((package, earlier));
    }
    // What a file brings is as good as the file.
    trust::admit(&trust::policy(global)?, &Place::local(file))?;
    let bounds = PackageBounds::default();
    let open = |packed: &[u8]| {
        Package::open(&Source::packed_in_memory(packed.to_vec(), &bounds)?, bounds).map(Package::carried)
    };
    let mut brought = brought.into_iter().map(open).collect::<Result<Vec<_>, _>>()?;
    let package = match here {
        Ok(package) => package,
        Err(fault) => {
            let slug = packages::slug(package);
            let versions = brought.iter().enumerate().filter(|(_, it)| Some(it.manifest().slug()) == slug.as_ref());
            let latest =
                versions.max_by(|(_, one), (_, other)| one.manifest().version().cmp(other.manifest().version()));
            let at = latest.map(|(at, _)| at).ok_or(fault)?;
            brought.swap_remove(at)
        }
    };
    let earlier = Earlier::of(global, &package)?.all()?.into_iter().chain(brought).collect();
    Ok((package, earlier))
}

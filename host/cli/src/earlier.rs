//! Earlier versions of an installed package: kept while an entry of a ledger names them, so that what they did can be done again.

use crate::arguments::Global;
use crate::fault::Fault;
use crate::{packages, surroundings};
use hutch::Session;
use hutch::installed::Installed;
use hutch::package::{Package, PackageBounds};
use hutch_model::digest::Digest;
use hutch_model::ledger::{Origin, Sealed};
use hutch_model::names::Slug;
use hutch_store::InstanceName;
use std::collections::BTreeSet;

/// The versions of one package, opened as far as they were asked for.
#[derive(Debug)]
pub(crate) struct Earlier {
    installed: Installed,
    slug: Slug,
    left: Vec<Digest>,
    opened: Vec<(Digest, Package)>,
}

impl Earlier {
    /// Those beside a package that was opened. One that is not installed is what it is now, and has none.
    pub(crate) fn of(global: &Global, package: &Package) -> Result<Earlier, Fault> {
        let installed = packages::installed(global)?;
        let slug = package.manifest().slug().clone();
        let is_installed = package.origin() == Some(&Origin::installed());
        let left = if is_installed { installed.kept(&slug)? } else { Vec::new() };
        Ok(Earlier { installed, slug, left, opened: Vec::new() })
    }

    /// The version that made an entry: `now`, or an earlier one; `now` too if that is not kept any more.
    pub(crate) fn maker<'p>(&'p mut self, sealed: &Sealed, now: &'p Package) -> Result<&'p Package, Fault> {
        let made_by = sealed.open().map_err(hutch::Failure::Entry)?.record.package.digest;
        let Some(made_by) = made_by else { return Ok(now) };
        if made_by == run_digest(now)? {
            return Ok(now);
        }
        while !self.opened.iter().any(|(version, _)| *version == made_by) {
            let Some(version) = self.left.pop() else { return Ok(now) };
            // One whose files were changed made nothing.
            if let Ok(package) = self.installed.open_kept(&self.slug, version, PackageBounds::default()) {
                self.opened.push((run_digest(&package)?, package));
            }
        }
        Ok(self.opened.iter().find(|(version, _)| *version == made_by).map_or(now, |(_, package)| package))
    }
}

fn run_digest(package: &Package) -> Result<Digest, Fault> {
    Ok(package.run_digest()?)
}

/// Takes the versions of an installed package away that no entry names whose state is kept; says how many. Of the instance that is open
/// the entries from `retained_from` count.
pub(crate) fn collect(
    global: &Global,
    slug: &Slug,
    (open, session): (&InstanceName, &Session),
    retained_from: u64,
) -> Result<usize, Fault> {
    let installed = packages::installed(global)?;
    let Ok(pin) = installed.pin(slug) else { return Ok(0) };
    let earlier: Vec<Digest> = installed.kept(slug)?.into_iter().filter(|version| *version != pin.digest).collect();
    if earlier.is_empty() {
        return Ok(0);
    }
    let host = surroundings::host(global)?;
    let home = surroundings::home(global)?;
    let mut named = names(session, retained_from)?;
    let instances = hutch::instances::of(&home).map_err(|error| Fault::file(&home, &error))?;
    for other in instances.iter().filter(|other| other.slug == *slug && other.name != *open) {
        let session = host.open_existing(slug, &other.name, surroundings::now())?;
        let from = session.head()?.retained_from;
        named.extend(names(&session, from)?);
    }
    let mut dropped = 0;
    for version in earlier {
        let package = installed.open_kept(slug, version, PackageBounds::default());
        let is_named =
            package.ok().and_then(|package| package.run_digest().ok()).is_some_and(|run| named.contains(&run));
        if !is_named {
            dropped += 1;
            if !global.dry_run {
                installed.drop_kept(slug, version)?;
            }
        }
    }
    Ok(dropped)
}

/// What entries say made them.
fn names(session: &Session, from: u64) -> Result<BTreeSet<Digest>, Fault> {
    let mut named = BTreeSet::new();
    for sealed in session.entries(from) {
        let sealed = sealed.map_err(hutch::Failure::from)?;
        named.extend(sealed.open().map_err(hutch::Failure::Entry)?.record.package.digest);
    }
    Ok(named)
}

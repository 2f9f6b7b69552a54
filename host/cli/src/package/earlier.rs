//! Earlier versions of an installed package, here and in the database of the instances: kept while an entry of a ledger names them, so that
//! what they did can be done again.

use crate::flags::database::KeptPackage;
use crate::flags::global::Global;
use crate::machine::{stores, surroundings};
use crate::package::{packages, shared};
use crate::refusal::fault::Fault;
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
pub(crate) struct Earlier<'g> {
    global: &'g Global,
    installed: Installed,
    slug: Slug,
    /// Those here that were not opened yet.
    left: Vec<Digest>,
    /// What entries call those in the database that were not asked for yet.
    shared: Vec<Digest>,
    opened: Vec<(Digest, Package)>,
}

impl<'g> Earlier<'g> {
    /// Those beside a package that was opened. One that is not installed is what it is now, and has none.
    pub(crate) fn of(global: &'g Global, package: &Package) -> Result<Earlier<'g>, Fault> {
        let installed = packages::installed(global)?;
        let slug = package.manifest().slug().clone();
        let is_installed = package.origin() == Some(&Origin::installed());
        let left = if is_installed { installed.kept(&slug)? } else { Vec::new() };
        let shared = match global.database.as_ref().filter(|_| is_installed) {
            Some(database) => shared::versions(database, &slug)?.into_iter().map(|kept| kept.run).collect(),
            None => Vec::new(),
        };
        Ok(Earlier { global, installed, slug, left, shared, opened: Vec::new() })
    }

    /// All of them that can be opened.
    pub(crate) fn all(mut self) -> Result<Vec<Package>, Fault> {
        while self.open_next()? {}
        for run in std::mem::take(&mut self.shared) {
            if !self.has(run) {
                self.open_shared(run)?;
            }
        }
        Ok(self.opened.into_iter().map(|(_, package)| package).collect())
    }

    /// The version that made an entry: `now`, or an earlier one; `now` too if that is not kept any more.
    pub(crate) fn maker<'p>(&'p mut self, sealed: &Sealed, now: &'p Package) -> Result<&'p Package, Fault> {
        let made_by = sealed.open().map_err(hutch::Failure::Entry)?.record.package.digest;
        let Some(made_by) = made_by else { return Ok(now) };
        if made_by == run_digest(now)? {
            return Ok(now);
        }
        while !self.has(made_by) && self.open_next()? {}
        if let Some(at) = self.shared.iter().position(|run| *run == made_by).filter(|_| !self.has(made_by)) {
            self.shared.swap_remove(at);
            self.open_shared(made_by)?;
        }
        Ok(self.opened.iter().find(|(version, _)| *version == made_by).map_or(now, |(_, package)| package))
    }

    fn has(&self, made_by: Digest) -> bool {
        self.opened.iter().any(|(version, _)| *version == made_by)
    }

    /// Opens one more of those that are here; whether there was one.
    fn open_next(&mut self) -> Result<bool, Fault> {
        let Some(version) = self.left.pop() else { return Ok(false) };
        // One whose files were changed made nothing.
        if let Ok(package) = self.installed.open_kept(&self.slug, version, PackageBounds::default()) {
            self.opened.push((run_digest(&package)?, package));
        }
        Ok(true)
    }

    fn open_shared(&mut self, run: Digest) -> Result<(), Fault> {
        let found = shared::maker(self.global, &self.slug, &run)?;
        self.opened.extend(found.map(|package| (run, package)));
        Ok(())
    }
}

fn run_digest(package: &Package) -> Result<Digest, Fault> {
    Ok(package.run_digest()?)
}

/// Takes the versions of an installed package away that no entry names whose state is kept, here and in the database; says how many. Of the
/// instance that is open the entries from `retained_from` count. The newest version in the database stays: others may install it.
pub(crate) fn collect(
    global: &Global,
    slug: &Slug,
    (open, session): (&InstanceName, &Session),
    retained_from: u64,
) -> Result<usize, Fault> {
    let installed = packages::installed(global)?;
    let Ok(pin) = installed.pin(slug) else { return Ok(0) };
    let earlier: Vec<Digest> = installed.kept(slug)?.into_iter().filter(|version| *version != pin.digest).collect();
    let shared = shared::collectable(global, slug)?.into_iter().filter(|kept| kept.digest != pin.digest);
    let shared: Vec<KeptPackage> = shared.collect();
    if earlier.is_empty() && shared.is_empty() {
        return Ok(0);
    }
    let host = surroundings::host(global)?;
    let mut named = names(session, retained_from)?;
    let instances = stores::known(global)?;
    for other in instances.iter().filter(|other| other.slug == *slug && other.name != *open) {
        let session = host.open_existing(slug, &other.name, surroundings::now())?;
        let from = session.head()?.retained_from;
        named.extend(names(&session, from)?);
    }
    let mut dropped = BTreeSet::new();
    for version in earlier {
        let package = installed.open_kept(slug, version, PackageBounds::default());
        let is_named =
            package.ok().and_then(|package| package.run_digest().ok()).is_some_and(|run| named.contains(&run));
        if !is_named {
            dropped.insert(version);
            if !global.dry_run {
                installed.drop_kept(slug, version)?;
            }
        }
    }
    for kept in shared.into_iter().filter(|kept| !named.contains(&kept.run)) {
        dropped.insert(kept.digest);
        if !global.dry_run {
            shared::drop_package(global, &kept)?;
        }
    }
    Ok(dropped.len())
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

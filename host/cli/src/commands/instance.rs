//! Which instance of which package a command is about.

use super::open_package;
use crate::answer::done::show_entry;
use crate::flags::global::Global;
use crate::machine::surroundings;
use crate::package::packages;
use crate::refusal::fault::Fault;
use crate::refusal::repair;
use clap::Args;
use hutch::package::Package;
use hutch::{Host, Session};
use hutch_model::error_code::ErrorCode;
use hutch_model::error_report::ErrorReport;
use hutch_model::ledger::Pin;
use hutch_model::names::Slug;
use hutch_store::InstanceName;
use std::path::{Path, PathBuf};

/// The instance of a package that may be known by its slug alone.
#[derive(Debug, Args)]
pub(crate) struct InstanceArguments {
    /// The instance
    #[arg(long, value_name = "NAME", default_value = "default")]
    pub(crate) instance: InstanceName,
    /// The folder that holds APP.md, a packed file, or the slug of a package that has run
    #[arg(value_name = "PACKAGE")]
    pub(crate) package: PathBuf,
}

impl InstanceArguments {
    /// Opens the instance, which must be there, without needing the package itself.
    pub(crate) fn open(&self, global: &Global) -> Result<Session, Fault> {
        let host = surroundings::host(global)?;
        let slug = self.slug(global)?;
        host.open_existing(&slug, &self.instance, surroundings::now()).map_err(|failure| match failure.report() {
            report if report.code == ErrorCode::NotFound => {
                let message = format!("{slug} has no instance {} here: nothing was kept of it yet", self.instance);
                let report = ErrorReport::new(ErrorCode::NotFound, message).detail("reason", report.message);
                let list = global.line.elsewhere(["instance", "list"]);
                repair::fixed(report.suggest("name one that there is"), list, "lists what there is", "none").into()
            }
            _ => failure.into(),
        })
    }

    /// The same; an instance that is not there is made, if the package is.
    pub(crate) fn open_or_make(&self, global: &Global) -> Result<Session, Fault> {
        self.open(global).or_else(|fault| match fault.report().code {
            ErrorCode::NotFound if packages::place(global, &self.package).is_ok() => Ok(self.open_package(global)?.2),
            _ => Err(fault),
        })
    }

    /// The package, of which nothing else need be there.
    pub(crate) fn slug(&self, global: &Global) -> Result<Slug, Fault> {
        slug(global, &self.package)
    }

    /// The line that shows an entry of its ledger.
    pub(crate) fn show(&self, global: &Global, entry: &Pin) -> Option<String> {
        show_entry(&global.line, &self.package.display().to_string(), &self.instance, entry)
    }

    /// Opens the package and its instance.
    pub(crate) fn open_package(&self, global: &Global) -> Result<(Host, Package, Session), Fault> {
        let host = surroundings::host(global)?;
        let package = open_package(global, &self.package, None)?;
        let session = host.open(&package, &self.instance, surroundings::now())?;
        Ok((host, package, session))
    }
}

/// The slug of the package that a word means; the word itself where it is the slug of a package that is gone.
pub(crate) fn slug(global: &Global, package: &Path) -> Result<Slug, Fault> {
    match packages::slug(package) {
        Some(slug) => Ok(slug),
        None if packages::is_there(package) => Ok(packages::outline(global, package)?.0.manifest().slug().clone()),
        None => Err(Fault::no_package(package, "there is no package of this name")),
    }
}

//! Which instance of which package a command is about.

use super::{open_package, package_folder};
use crate::arguments::Global;
use crate::output::Fault;
use crate::surroundings;
use clap::Args;
use hutch::package::{Package, PackageBounds, check};
use hutch::{Host, Session};
use hutch_model::limits::{Limit, Limits};
use hutch_model::names::Slug;
use hutch_store::InstanceName;
use std::path::{Path, PathBuf};

/// The instance of a package that may be known by its slug alone.
#[derive(Debug, Args)]
pub(crate) struct InstanceArguments {
    /// The instance
    #[arg(long, value_name = "NAME", default_value = "default")]
    pub(crate) instance: InstanceName,
    /// The folder that holds APP.md, or the slug of a package that has run
    #[arg(value_name = "PACKAGE")]
    pub(crate) package: PathBuf,
}

impl InstanceArguments {
    /// Opens the instance, which must be there, without needing the package itself.
    pub(crate) fn open(&self, global: &Global) -> Result<(Session, Limits), Fault> {
        let host = surroundings::host(global)?;
        let slug = slug(&self.package)?;
        Ok((host.open_existing(&slug, &self.instance, surroundings::now())?, Limits::default()))
    }

    /// Opens the package and its instance.
    pub(crate) fn open_package(&self, global: &Global) -> Result<(Host, Package, Session), Fault> {
        let host = surroundings::host(global)?;
        let package = open_package(&self.package, None)?;
        let session = host.open(&package, &self.instance, surroundings::now())?;
        Ok((host, package, session))
    }
}

/// The slug of the package in a folder, or the text itself where there is no such folder.
fn slug(package: &Path) -> Result<Slug, Fault> {
    if package.join("APP.md").is_file() {
        let bounds = PackageBounds::with_component(Limit::Component.info().default);
        let checked = check(&package_folder(package)?, bounds);
        if let Some(package) = checked.package {
            return Ok(package.manifest().slug().clone());
        }
    }
    let text = package.to_string_lossy();
    Slug::parse(&text).map_err(|_| Fault::no_package(package, "there is no package at this path"))
}

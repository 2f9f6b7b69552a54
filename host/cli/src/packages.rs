//! What a caller means by PACKAGE: the folder of that path if there is one, else the installed package of that slug.

#![allow(clippy::disallowed_methods, reason = "the surroundings are what this is about")]

use crate::arguments::Global;
use crate::output::Fault;
use crate::surroundings;
use hutch::installed::{Installed, InstalledError, Pin};
use hutch::package::{Outline, Package, PackageBounds, open_folder};
use hutch_model::contract::ContractFile;
use hutch_model::error_code::ErrorCode;
use hutch_model::error_report::ErrorReport;
use hutch_model::limits::Limit;
use hutch_model::names::Slug;
use std::io;
use std::path::{Path, PathBuf};

/// A package, found.
#[derive(Debug)]
pub(crate) enum Place {
    /// A folder that the caller named.
    Local(PathBuf),
    /// Below the home, pinned.
    Installed(Box<Pin>),
}

impl Place {
    /// How far it is trusted: what is installed was shown and granted, and can't change unnoticed.
    pub(crate) fn trust(&self) -> &'static str {
        match self {
            Place::Local(_) => "local",
            Place::Installed(_) => "installed",
        }
    }

    /// What to write for PACKAGE to mean it.
    pub(crate) fn word(&self) -> String {
        match self {
            Place::Local(path) => path.display().to_string(),
            Place::Installed(pin) => pin.slug.clone(),
        }
    }
}

/// Finds a package.
pub(crate) fn place(global: &Global, path: &Path) -> Result<Place, Fault> {
    if path.symlink_metadata().is_ok() {
        return Ok(Place::Local(path.to_owned()));
    }
    let missing = |suggestion: Option<String>| {
        let report = ErrorReport::new(ErrorCode::PackageNotFound, format!("there is no package {}", path.display()));
        let report = match suggestion {
            Some(slug) => report.suggest(format!("did you mean {slug}?")),
            None => report.suggest("name a folder that holds APP.md, or an installed package"),
        };
        Fault::from(report.fixed_by("hutch list", "shows the installed packages", "none"))
    };
    let Some(slug) = path.to_str().and_then(|text| Slug::parse(text).ok()) else { return Err(missing(None)) };
    let installed = installed(global)?;
    match installed.pin(&slug) {
        Ok(pin) => Ok(Place::Installed(Box::new(pin))),
        Err(InstalledError::Missing(_)) => {
            let known = installed.pins()?.into_iter().filter_map(|pin| Some(pin.ok()?.slug));
            let near = known.min_by_key(|known| strsim::osa_distance(known, slug.as_str()));
            Err(missing(near.filter(|near| strsim::osa_distance(near, slug.as_str()) <= 2)))
        }
        Err(error) => Err(error.into()),
    }
}

/// The installed packages of the home.
pub(crate) fn installed(global: &Global) -> Result<Installed, Fault> {
    Ok(Installed::of(&surroundings::home(global)?))
}

/// Opens what a run needs.
pub(crate) fn open(global: &Global, path: &Path, component_bytes_max: Option<u64>) -> Result<Package, Fault> {
    let max = component_bytes_max.unwrap_or(Limit::Component.info().default);
    let bounds = PackageBounds::with_component(max);
    match place(global, path)? {
        Place::Local(path) => Ok(Package::open(&folder(&path)?, bounds)?),
        Place::Installed(pin) => {
            let slug = Slug::parse(&pin.slug).map_err(|error| Fault::host(error.to_string()))?;
            Ok(installed(global)?.open(&slug, bounds)?)
        }
    }
}

/// Reads the manifest, and where the package is.
pub(crate) fn outline(global: &Global, path: &Path) -> Result<(Outline, Place), Fault> {
    let place = place(global, path)?;
    let dir = match &place {
        Place::Local(path) => folder(path)?,
        Place::Installed(pin) => folder(&installed(global)?.folder_of(pin))?,
    };
    Ok((Outline::open(dir)?, place))
}

/// The description of a package's commands: from its file, else from its component, which is then asked.
pub(crate) fn contract(global: &Global, path: &Path, outline: &Outline) -> Result<ContractFile, Fault> {
    if let Some(contract) = outline.contract()? {
        return Ok(contract);
    }
    let described = surroundings::host(global)?.describe(&open(global, path, None)?)?;
    described.and_then(|described| described.contract).ok_or_else(|| {
        let message = format!(
            "{} describes no commands: it has neither a schemas/commands.json nor a contract export",
            path.display()
        );
        let report = ErrorReport::new(ErrorCode::NotFound, message).suggest("read its APP.md");
        report.fixed_by(format!("hutch show {}", path.display()), "shows the text of APP.md", "none").into()
    })
}

/// The folder of a package.
pub(crate) fn folder(path: &Path) -> Result<cap_std::fs::Dir, Fault> {
    open_folder(path).map_err(|error| {
        let code = match error.kind() {
            io::ErrorKind::NotFound | io::ErrorKind::NotADirectory => ErrorCode::PackageNotFound,
            io::ErrorKind::PermissionDenied => ErrorCode::PermissionDenied,
            _ => ErrorCode::HostFault,
        };
        ErrorReport::new(code, format!("{}: {error}", path.display())).into()
    })
}

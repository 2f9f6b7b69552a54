//! What a caller means by PACKAGE: the folder or the packed file of that path if there is one, else the installed package of that
//! slug. `installed:SLUG` means the installed package, whatever is at that path.

use crate::arguments::Global;
use crate::fault::{Fault, diagnostics_lines};
use crate::line::CallLine;
use crate::{network, repair, surroundings, trust};
use hutch::check_described;
use hutch::installed::{Installed, InstalledError, Pin};
use hutch::package::{Checked, Memory, Outline, Package, PackageBounds, Source, SourceError, open_folder};
use hutch_model::contract::ContractFile;
use hutch_model::diagnostic::Diagnostic;
use hutch_model::error_code::ErrorCode;
use hutch_model::error_report::ErrorReport;
use hutch_model::ledger::Origin;
use hutch_model::manifest::Manifest;
use hutch_model::names::Slug;
use std::io;
use std::path::{Path, PathBuf};

/// A package, found.
#[derive(Debug)]
pub(crate) enum Place {
    /// A folder or a packed file that the caller named.
    Local {
        /// As it was named.
        named: PathBuf,
        /// Where it is, without links. The rules are asked about this path, and this one is opened: what is named may lead elsewhere
        /// in between.
        path: PathBuf,
    },
    /// Below the home, pinned.
    Installed(Box<Pin>),
}

impl Place {
    /// What is at a path.
    pub(crate) fn local(named: &Path) -> Place {
        Place::Local { named: named.to_owned(), path: without_links(named) }
    }

    /// What to write for PACKAGE to mean it.
    pub(crate) fn word(&self) -> String {
        match self {
            Place::Local { named, .. } => named.display().to_string(),
            Place::Installed(pin) => pin.slug.clone(),
        }
    }
}

/// A path as it is whatever links lead there; what is not there yet may come. Rules and pins mean this one.
#[expect(clippy::disallowed_methods, reason = "nothing is opened")]
pub(crate) fn without_links(path: &Path) -> PathBuf {
    path.canonicalize().or_else(|_| std::path::absolute(path)).unwrap_or_else(|_| path.to_owned())
}

/// What stands before a slug that is no path.
pub(crate) const INSTALLED: &str = "installed:";

/// The slug that a word is, if it is no path.
pub(crate) fn slug(path: &Path) -> Option<Slug> {
    let text = path.to_str()?;
    let slug = match text.strip_prefix(INSTALLED) {
        Some(slug) => slug,
        None if is_there(path) => return None,
        None => text,
    };
    Slug::parse(slug).ok()
}

/// Whether anything is at a path, a link that leads nowhere too.
#[expect(clippy::disallowed_methods, reason = "the caller wrote the path; it is asked for and not opened")]
pub(crate) fn is_there(path: &Path) -> bool {
    path.symlink_metadata().is_ok()
}

/// Whether a package is one file.
#[expect(clippy::disallowed_methods, reason = "the caller wrote the path; it is asked for and not opened")]
pub(crate) fn is_packed(path: &Path) -> bool {
    path.is_file()
}

/// The packed file of a package, if nobody names it.
pub(crate) fn packed_name(manifest: &Manifest) -> PathBuf {
    PathBuf::from(format!("{}-{}.tar", manifest.slug(), manifest.version()))
}

/// Finds a package.
pub(crate) fn place(global: &Global, path: &Path) -> Result<Place, Fault> {
    let slug = slug(path);
    if slug.is_none() && is_there(path) {
        return Ok(Place::local(path));
    }
    if network::reference(path)?.is_some() {
        return Err(network::not_here(global, &path.display().to_string()));
    }
    let missing = |suggestion: Option<String>| {
        let report = ErrorReport::new(ErrorCode::PackageNotFound, format!("there is no package {}", path.display()));
        let report = match suggestion {
            Some(slug) => repair::fixed(
                report.suggest(format!("did you mean {slug}?")),
                global.line.elsewhere(["show", &slug]),
                "shows the package that was probably meant",
                "none",
            ),
            None => report.suggest("name a folder that holds APP.md, a packed file, or an installed package"),
        };
        Fault::from(repair::fixed(report, global.line.elsewhere(["list"]), "shows the installed packages", "none"))
    };
    let Some(slug) = slug else { return Err(missing(None)) };
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
    let bounds = component_bytes_max.map_or_else(PackageBounds::default, PackageBounds::with_component);
    let memory = surroundings::memory(global)?;
    let place = place(global, path)?;
    trust::admit(&trust::policy(global)?, &place)?;
    match place {
        Place::Local { path, named } => open_local(&path, &named, bounds, memory.as_ref()),
        Place::Installed(pin) => Ok(installed(global)?.open(&pin, bounds, memory.as_ref())?),
    }
}

fn open_local(path: &Path, named: &Path, bounds: PackageBounds, memory: Option<&Memory>) -> Result<Package, Fault> {
    let source = source(path, named, bounds)?;
    let package = match memory {
        Some(memory) => Package::open_remembered(&source, bounds, memory)?,
        None => Package::open(&source, bounds)?,
    };
    Ok(package.from_origin(Origin::path(&path.to_string_lossy())))
}

/// Reads the manifest, and where the package is.
pub(crate) fn outline(global: &Global, path: &Path) -> Result<(Outline, Place), Fault> {
    let place = place(global, path)?;
    let source = source(&path_of(global, &place)?, path, PackageBounds::default())?;
    Ok((Outline::open(source)?, place))
}

/// Reads everything that a rule is about. What is wrong with a packed file is among the problems.
pub(crate) fn checked(path: &Path) -> Result<Checked, Fault> {
    match Source::open(path, &PackageBounds::default()) {
        Ok(source) => Ok(hutch::package::check(&source, PackageBounds::default())),
        Err(SourceError::Package(error)) => Ok(error.into()),
        Err(SourceError::Io(error)) => Err(unopened(path, &error)),
    }
}

/// A package that may leave this machine: it passes its check, and if it is installed, it is what was installed. Its component is
/// asked what it describes, so it must be one that may be run.
pub(crate) fn sound(global: &Global, path: &Path) -> Result<(Package, Place), Fault> {
    let place = place(global, path)?;
    trust::admit(&trust::policy(global)?, &place)?;
    let mut checked = checked(&path_of(global, &place)?)?;
    check_described(&surroundings::host(global)?, &mut checked)?;
    Ok((whole(global, path, &place, checked)?, place))
}

/// A package whose files pass their check, and if it is installed, are what was installed. Nothing of it is run.
pub(crate) fn whole_files(global: &Global, path: &Path) -> Result<(Package, Place), Fault> {
    let place = place(global, path)?;
    let checked = checked(&path_of(global, &place)?)?;
    Ok((whole(global, path, &place, checked)?, place))
}

fn whole(global: &Global, path: &Path, place: &Place, checked: Checked) -> Result<Package, Fault> {
    let sound = !checked.diagnostics.iter().any(Diagnostic::is_error);
    let Some(package) = checked.package.filter(|_| sound) else {
        return Err(refused(&global.line, path, &checked.diagnostics));
    };
    if let Place::Installed(pin) = place
        && package.digest()? != pin.digest
    {
        let message = format!("the files of {:?} are not those that were installed", pin.slug);
        return Err(Fault::new(ErrorCode::PackageChanged, message));
    }
    Ok(package)
}

/// Where the files of a package are.
pub(crate) fn path_of(global: &Global, place: &Place) -> Result<PathBuf, Fault> {
    Ok(match place {
        Place::Local { path, .. } => path.clone(),
        Place::Installed(pin) => installed(global)?.folder_of(pin),
    })
}

/// Where a caller named a package, or where the files of an installed one are.
pub(crate) fn named_path(global: &Global, place: &Place) -> Result<PathBuf, Fault> {
    match place {
        Place::Local { named, .. } => Ok(named.clone()),
        Place::Installed(_) => path_of(global, place),
    }
}

/// A package whose check came to nothing.
pub(crate) fn refused(line: &CallLine, path: &Path, diagnostics: &[Diagnostic]) -> Fault {
    let shown = path.display().to_string();
    let report = ErrorReport::new(ErrorCode::PackageInvalid, format!("{shown} breaks the rules of packages"))
        .detail("diagnostics", serde_json::to_value(diagnostics).unwrap_or_default());
    let report = repair::fixed(report, line.elsewhere(["check", &shown]), "lists every problem", "none");
    Fault::from(report).seen_as(diagnostics_lines(diagnostics))
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
        let show = global.line.elsewhere(["show", &path.display().to_string()]);
        repair::fixed(report, show, "shows the text of APP.md", "none").into()
    })
}

/// The files of a package at a path, which a caller named so.
pub(crate) fn source(path: &Path, named: &Path, bounds: PackageBounds) -> Result<Source, Fault> {
    Source::open(path, &bounds).map_err(|error| match error {
        SourceError::Io(error) => unopened(named, &error),
        SourceError::Package(error) => error.into(),
    })
}

/// A folder that a caller named.
pub(crate) fn folder(path: &Path) -> Result<cap_std::fs::Dir, Fault> {
    open_folder(path).map_err(|error| unopened(path, &error))
}

fn unopened(path: &Path, error: &io::Error) -> Fault {
    let code = match error.kind() {
        io::ErrorKind::NotFound | io::ErrorKind::NotADirectory => ErrorCode::PackageNotFound,
        io::ErrorKind::PermissionDenied => ErrorCode::PermissionDenied,
        _ => ErrorCode::HostFault,
    };
    Fault::new(code, format!("{}: {error}", path.display()))
}

#[cfg(test)]
#[allow(clippy::disallowed_methods, reason = "tests make the files that they find")]
mod tests {
    use super::*;

    #[test]
    #[cfg(unix)]
    fn what_the_rules_are_asked_about_is_what_is_opened() {
        let home = tempfile::tempdir().unwrap();
        let at = |name: &str| home.path().join(name);
        let front =
            std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../../packages/todo/APP.md")).unwrap();
        for name in ["trusted", "evil"] {
            std::fs::create_dir_all(at(name).join("app")).unwrap();
            std::fs::write(at(name).join("APP.md"), front.replace("slug: todo", &format!("slug: {name}"))).unwrap();
            std::fs::write(at(name).join("app/app.wasm"), b"\0asm\r\0\x01\0").unwrap();
        }
        let lead = |to: &str| {
            let _none_yet = std::fs::remove_file(at("link"));
            std::os::unix::fs::symlink(at(to), at("link")).unwrap();
        };
        lead("trusted");
        let Place::Local { path, named } = Place::local(&at("link")) else { panic!() };
        lead("evil");
        let opened = open_local(&path, &named, PackageBounds::default(), None).unwrap();
        assert_eq!(opened.manifest().slug().to_string(), "trusted");
    }
}

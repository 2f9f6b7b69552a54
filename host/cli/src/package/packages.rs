//! What a caller means by PACKAGE: the folder or the packed file of that path if there is one, else the installed package of that
//! slug. `installed:SLUG` means the installed package, whatever is at that path.

use crate::flags::database;
use crate::flags::global::Global;
use crate::machine::new_file::folder_of;
pub(crate) use crate::machine::place::{Place, without_links};
use crate::machine::surroundings;
use crate::package::signed::{self, Signed};
use crate::package::{network, released, trust};
use crate::refusal::fault::Fault;
use crate::refusal::repair;
use hutch::check_described;
use hutch::installed::{Installed, InstalledError};
use hutch::package::{Checked, Memory, Outline, Package, PackageBounds, Source, SourceError, open_folder};
use hutch_model::contract::ContractFile;
use hutch_model::diagnostic::Diagnostic;
use hutch_model::error_code::ErrorCode;
use hutch_model::error_report::ErrorReport;
use hutch_model::ledger::Origin;
use hutch_model::manifest::Manifest;
use hutch_model::names::Slug;
use hutch_model::nearest::nearest;
use hutch_model::trust::{Policy, SHARED};
use std::io;
use std::path::{Path, PathBuf};

/// What stands before a slug that is no path.
pub(crate) const INSTALLED: &str = "installed:";

/// Where packages are to be had.
pub(crate) fn had_as() -> String {
    let folder = match released::listed() {
        None => "a folder with APP.md (hutch's sources have some in packages/)".to_owned(),
        Some(names) => format!("the name of a package that came with it ({names}), a folder with APP.md"),
    };
    format!("hutch install takes {folder}, a packed file, or a reference in a registry, as oci://HOST/NAME:TAG")
}

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

/// Whether a word names a package that can be opened, or one of which an instance is here.
pub(crate) fn has_run_or_is_there(global: &Global, path: &Path) -> bool {
    let instances = surroundings::home(global).map(|home| home.join("instances"));
    let has_run = instances.is_ok_and(|folder| slug(path).is_some_and(|slug| is_there(&folder.join(slug.as_str()))));
    has_run || outline(global, path).is_ok()
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

/// What a signature of a package on this machine stands beside: the folder or the packed file; of an installed package, the file that `pack`
/// would write.
pub(crate) fn stands_beside(package: &Package, place: &Place) -> PathBuf {
    match place {
        // What a link leads to is what is signed, and where others look.
        Place::Local { named, path } => match named.file_name() {
            Some(name) if without_links(folder_of(named)).join(name) == *path => named.clone(),
            _ => path.clone(),
        },
        Place::Installed(_) => packed_name(package.manifest()),
    }
}

/// The name of the file that holds its code for a target, unless another is named.
pub(crate) fn artifact_name(manifest: &Manifest, target: &str) -> PathBuf {
    PathBuf::from(format!("{}-{}.{target}.artifact", manifest.slug(), manifest.version()))
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
            Some(slug) => {
                let report = report.suggest(format!("did you mean {slug}?"));
                // A guess confirms nothing.
                let made = global.line.is_command(&["run", "plan", "validate", "meta", "show", "examples", "check"]);
                let named = path.to_str().filter(|_| made && !global.yes && !global.line.words().asks("--yes"));
                let again = named.and_then(|named| global.line.replacing(named, &[&slug]));
                let runs = global.line.is_command(&["run"]);
                let risk = runs.then(|| risk_of_run(global, Path::new(&slug), &global.line.words().guest)).flatten();
                let effect = "makes the call of the package that was probably meant";
                let report = repair::fixed(report, again, effect, risk.unwrap_or("low"));
                let show = global.line.elsewhere(["show", &slug]);
                repair::fixed(report, show, "shows the package that was probably meant", "none")
            }
            None => {
                let came = released::listed().map(|names| format!("; hutch install takes the names {names}"));
                let named = "name a folder that holds APP.md, a packed file, or an installed package";
                report.suggest(format!("{named}{}", came.unwrap_or_default()))
            }
        };
        Fault::from(repair::fixed(report, global.line.elsewhere(["catalog"]), "shows the installed packages", "none"))
    };
    let Some(slug) = slug else { return Err(missing(None)) };
    let installed = installed(global)?;
    match installed.pin(&slug) {
        Ok(pin) => Ok(Place::Installed(Box::new(pin))),
        Err(InstalledError::Missing(_)) if is_shared(global, &slug) => {
            let report =
                ErrorReport::new(ErrorCode::PackageNotFound, format!("{slug} is not installed on this machine"));
            let word = format!("{}{slug}", SHARED);
            let report = report.suggest(format!("the database has it: install {word}"));
            let install = global.line.elsewhere(["install", &word]);
            Err(repair::fixed(report, install, "installs it from the database", "low").into())
        }
        Err(InstalledError::Missing(_)) if released::path(&slug).is_some() => {
            let report =
                ErrorReport::new(ErrorCode::PackageNotFound, format!("{slug} is not installed on this machine"));
            let report = report.suggest("it came with hutch: install it by its name");
            let install = global.line.elsewhere(["install", slug.as_str()]);
            Err(repair::fixed(report, install, "installs what came with hutch", "low").into())
        }
        Err(InstalledError::Missing(_)) => {
            let known: Vec<String> = installed.pins()?.into_iter().filter_map(|pin| Some(pin.ok()?.slug)).collect();
            Err(missing(nearest(slug.as_str(), known.iter().map(String::as_str)).map(str::to_owned)))
        }
        Err(error) => Err(error.into()),
    }
}

/// Whether the database that machines share has a package.
fn is_shared(global: &Global, slug: &Slug) -> bool {
    let kept = global.database.as_ref().and_then(|database| database::packages(database, slug).ok());
    kept.is_some_and(|kept| !kept.is_empty())
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
    let policy = trust::policy(global)?;
    trust::admit(&policy, &place)?;
    match place {
        Place::Local { path, named } => {
            let package = open_local(&path, &named, bounds, memory.as_ref())?;
            check_signatures(global, &policy, &package, &path)?;
            Ok(package)
        }
        Place::Installed(pin) => Ok(installed(global)?.open(&pin, bounds, memory.as_ref())?),
    }
}

/// Refuses a packed file beside which a broken signature lies, once the operator said anything about whom to believe. It is no more than local
/// for a good one: it can be another file tomorrow.
pub(crate) fn check_signatures(global: &Global, policy: &Policy, package: &Package, path: &Path) -> Result<(), Fault> {
    if (policy.keys.is_empty() && policy.rules.is_empty()) || !is_packed(path) {
        return Ok(());
    }
    let keys = trust::keys(policy, &path.to_string_lossy());
    signed::sound(&Signed::local(global, package, path)?.verdicts(&keys))
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

/// How much can be lost by running a package with these arguments, as far as that is read without its component; none if it can't be read.
pub(crate) fn risk_of_run(global: &Global, path: &Path, arguments: &[String]) -> Option<&'static str> {
    let (outline, _) = outline(global, path).ok()?;
    let file = outline.contract().ok().flatten();
    Some(repair::risk_of_run(outline.manifest(), file.as_ref().map(ContractFile::contract), arguments))
}

/// Reads everything that a rule is about. What is wrong with a packed file is among the problems.
pub(crate) fn checked(path: &Path) -> Result<Checked, Fault> {
    judged(path, |source, bounds| hutch::package::check(&source, bounds))
}

/// The same of a package that is what it was then for as long as it is at hand, whatever becomes of its files.
pub(crate) fn held(path: &Path) -> Result<Checked, Fault> {
    judged(path, |source, bounds| match source.held(&bounds) {
        Ok(held) => hutch::package::check(&held, bounds),
        // One that can't be read whole has more problems than that.
        Err(error) => match hutch::package::check(&source, bounds) {
            checked if checked.package.is_some() => error.into(),
            checked => checked,
        },
    })
}

fn judged(path: &Path, judge: impl FnOnce(Source, PackageBounds) -> Checked) -> Result<Checked, Fault> {
    match Source::open(path, &PackageBounds::default()) {
        Ok(source) => Ok(judge(source, PackageBounds::default())),
        Err(SourceError::Package(error)) => Ok(error.into()),
        Err(SourceError::Io(error)) => Err(unopened(path, &error)),
    }
}

/// A package that may leave this machine: it passes its check, and if it is installed, it is what was installed. Its component is
/// asked what it describes, so it must be one that may be run.
pub(crate) fn sound(global: &Global, path: &Path) -> Result<(Package, Place), Fault> {
    let place = place(global, path)?;
    let policy = trust::policy(global)?;
    trust::admit(&policy, &place)?;
    let mut checked = checked(&path_of(global, &place)?)?;
    if let (Place::Local { path, .. }, Some(package)) = (&place, &checked.package) {
        check_signatures(global, &policy, package, path)?;
    }
    check_described(&surroundings::host(global)?, &mut checked)?;
    Ok((whole(global, path, &place, checked)?, place))
}

fn whole(global: &Global, path: &Path, place: &Place, checked: Checked) -> Result<Package, Fault> {
    let sound = !checked.diagnostics.iter().any(Diagnostic::is_error);
    let Some(package) = checked.package.filter(|_| sound) else {
        return Err(repair::refused(&global.line, path, &checked.diagnostics));
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

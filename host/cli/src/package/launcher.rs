//! Launchers: small shell scripts that start an installed package under its slug. A launcher is known by its whole text, which the
//! package's pin remembers: any other file of that name is somebody else's and is never written or removed.

use crate::answers::LauncherAnswer;
use crate::flags::global::Global;
use crate::line::quote;
use crate::machine::surroundings;
use crate::package::packages::INSTALLED;
use crate::refusal::fault::Fault;
use hutch::installed::Launcher;
use hutch_model::error_code::ErrorCode;
use hutch_model::error_report::ErrorReport;
use hutch_model::names::Slug;
use std::io::Write;
use std::path::{Path, PathBuf};

/// What a call does about a package's launcher.
#[derive(Debug)]
pub(crate) struct Planned {
    launcher: Launcher,
    /// The one before it, if that is elsewhere.
    replaced: Option<Launcher>,
    /// Whether it has to be written.
    write: bool,
    /// Whether nothing is at its place.
    fresh: bool,
    on_path: bool,
}

/// The launcher that a package gets in `folder`, by default the folder for a person's own commands. `known` is the one that it has.
///
/// # Errors
/// The name is taken, there or elsewhere on the search path.
#[expect(clippy::disallowed_methods, reason = "a launcher lies in a folder that the caller names, outside of the home")]
pub(crate) fn asked(
    global: &Global,
    slug: &Slug,
    folder: Option<&Path>,
    known: Option<&Launcher>,
) -> Result<Planned, Fault> {
    let own = folder.map_or_else(surroundings::command_folder, |folder| Ok(folder.to_owned()))?;
    let own = std::path::absolute(&own).map_err(|error| Fault::file(&own, &error))?;
    let path = own.join(slug.as_str());
    let text = text(global, slug)?;
    let launcher = Launcher { path: as_text(&path)?.to_owned(), text };
    let (fresh, write) = match path.symlink_metadata() {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => (true, true),
        Err(error) => return Err(Fault::file(&path, &error)),
        Ok(_) if is_there(&launcher) => (false, false),
        Ok(_) if known.is_some_and(|known| known.path == launcher.path && is_there(known)) => (false, true),
        Ok(_) => return Err(taken(&path, "is there already and is not the launcher of this package")),
    };
    let on_path = is_on_path(&own);
    // In a folder that was named and that no shell looks into, it hides no other command and no other hides it.
    if (on_path || folder.is_none())
        && let Some(other) = command_elsewhere(slug, &own)
    {
        return Err(taken(&other, "is a command of that name already"));
    }
    let replaced = known.filter(|known| known.path != launcher.path).cloned();
    Ok(Planned { launcher, replaced, write, fresh, on_path })
}

/// The launcher that a package has and keeps. It is brought up to this program and this home, unless somebody else changed it.
#[expect(clippy::disallowed_methods, reason = "a launcher lies in a folder that the caller named, outside of the home")]
pub(crate) fn kept(global: &Global, slug: &Slug, known: &Launcher) -> Result<Planned, Fault> {
    let path = Path::new(&known.path);
    let fresh = path.symlink_metadata().is_err_and(|error| error.kind() == std::io::ErrorKind::NotFound);
    // One that somebody took away stays away where it would now hide another command.
    let hides = fresh && command_elsewhere(slug, path.parent().unwrap_or(path)).is_some();
    let launcher = match (fresh || is_there(known)) && !hides {
        true => Launcher { path: known.path.clone(), text: text(global, slug)? },
        false => known.clone(),
    };
    let write = !hides && (fresh || launcher != *known);
    let on_path = path.parent().is_some_and(is_on_path);
    Ok(Planned { launcher, replaced: None, write, fresh, on_path })
}

impl Planned {
    /// What an answer says of it.
    pub(crate) fn told(&self) -> LauncherAnswer {
        LauncherAnswer { path: self.launcher.path.clone(), on_path: self.on_path }
    }

    /// What is to be remembered of it.
    pub(crate) fn launcher(&self) -> Launcher {
        self.launcher.clone()
    }

    /// Writes it. It appears as a whole or not at all, and where nothing was, nothing that came meanwhile is overwritten.
    #[expect(
        clippy::disallowed_methods,
        reason = "a launcher lies in a folder that the caller names, outside of the home"
    )]
    pub(crate) fn write(&self) -> Result<(), Fault> {
        let path = Path::new(&self.launcher.path);
        if !self.write {
            return Ok(());
        }
        let folder = path.parent().unwrap_or(path);
        let failed = |error: std::io::Error| match error.kind() {
            std::io::ErrorKind::AlreadyExists => taken(path, "is there already"),
            _ => Fault::file(path, &error),
        };
        std::fs::create_dir_all(folder).map_err(|error| Fault::file(folder, &error))?;
        let mut file = executable().tempfile_in(folder).map_err(failed)?;
        file.write_all(self.launcher.text.as_bytes()).and_then(|()| file.as_file().sync_all()).map_err(failed)?;
        let kept = if self.fresh { file.persist_noclobber(path) } else { file.persist(path) };
        kept.map(drop).map_err(|error| failed(error.error))
    }

    /// Takes back what [`Planned::write`] did, as far as nothing else depends on it.
    pub(crate) fn take_back(&self) {
        if self.write && self.fresh {
            take_away(&self.launcher);
        }
    }

    /// Takes away the one that it replaces.
    pub(crate) fn finish(&self) {
        if let Some(replaced) = &self.replaced {
            take_away(replaced);
        }
    }
}

/// Removes a launcher, unless somebody else changed it. Whether it is gone.
#[expect(clippy::disallowed_methods, reason = "a launcher lies in a folder that the caller named, outside of the home")]
pub(crate) fn take_away(launcher: &Launcher) -> bool {
    let path = Path::new(&launcher.path);
    match is_there(launcher) {
        true => std::fs::remove_file(path).is_ok(),
        false => path.symlink_metadata().is_err(),
    }
}

/// Whether the file is the one that was written.
#[expect(clippy::disallowed_methods, reason = "a launcher lies in a folder that the caller named, outside of the home")]
pub(crate) fn is_there(launcher: &Launcher) -> bool {
    let path = Path::new(&launcher.path);
    let length = launcher.text.len() as u64;
    path.symlink_metadata().is_ok_and(|found| found.is_file() && found.len() == length)
        && std::fs::read(path).is_ok_and(|bytes| bytes == launcher.text.as_bytes())
}

/// What keeps it at this home and behind these rings stands in variables, since what a path may hold is more than an argument may. Whoever calls
/// it may say otherwise of the rings.
fn text(global: &Global, slug: &Slug) -> Result<String, Fault> {
    let program = surroundings::program().map_err(|error| Fault::host(format!("this program: {error}")))?;
    let program = quote::always(as_text(&program)?);
    let told = surroundings::for_later(global)?.into_iter().map(|one| {
        let value = match one.variable {
            "HUTCH_RING" => format!("${{HUTCH_RING:-{}}}", one.value),
            _ => quote::always(&one.value),
        };
        format!("{0}={value}\nexport {0}\n", one.variable)
    });
    let told: String = told.collect();
    // Only the very first word can be the host's: wherever else it stands it is the application's, as behind `run`.
    Ok(format!(
        "#!/bin/sh\n# Starts the package {slug}, which hutch installed; hutch remove {slug} takes this file away.\n\
         # {slug} --yes COMMAND confirms a call that asks for it.\n\
         {told}case ${{1-}} in\n--yes) shift && exec {program} run --yes {INSTALLED}{slug} \"$@\" ;;\nesac\n\
         exec {program} run {INSTALLED}{slug} \"$@\"\n"
    ))
}

fn as_text(path: &Path) -> Result<&str, Fault> {
    path.to_str().ok_or_else(|| Fault::usage(format!("a launcher can't name {}, which is not UTF-8", path.display())))
}

fn is_on_path(folder: &Path) -> bool {
    let same = |other: &PathBuf| other == folder || is_same_folder(other, folder);
    surroundings::search_path().iter().any(same)
}

#[expect(clippy::disallowed_methods, reason = "folders of the search path are compared without links")]
fn is_same_folder(one: &Path, other: &Path) -> bool {
    one.canonicalize().is_ok_and(|one| other.canonicalize().is_ok_and(|other| one == other))
}

/// A command of that name that a shell finds in another folder.
#[expect(clippy::disallowed_methods, reason = "asks what a shell would find on the search path")]
fn command_elsewhere(slug: &Slug, own: &Path) -> Option<PathBuf> {
    let others = surroundings::search_path().into_iter().filter(|folder| folder != own && !is_same_folder(folder, own));
    others.map(|folder| folder.join(slug.as_str())).find(|path| path.metadata().is_ok_and(|found| is_command(&found)))
}

#[cfg(unix)]
fn is_command(found: &std::fs::Metadata) -> bool {
    use std::os::unix::fs::PermissionsExt;
    found.is_file() && found.permissions().mode() & 0o111 != 0
}

#[cfg(not(unix))]
fn is_command(found: &std::fs::Metadata) -> bool {
    found.is_file()
}

/// A new file that can be started by whom the umask lets.
fn executable() -> tempfile::Builder<'static, 'static> {
    let mut builder = tempfile::Builder::new();
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        builder.permissions(std::fs::Permissions::from_mode(0o777));
    }
    builder
}

fn taken(path: &Path, why: &str) -> Fault {
    let report = ErrorReport::new(ErrorCode::AlreadyExists, format!("{} {why}", path.display()));
    report.suggest("name another folder with --launcher-dir, or install without a launcher").into()
}

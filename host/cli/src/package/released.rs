//! Packages that came with the program: in a release they lie beside it, in `share/hutch/packages` next to the folder of the program's file,
//! each in a folder that is called by its slug. `release:SLUG` means one, and so does the slug alone to who installs it. They are as good as
//! the program is: nothing in its environment or its working folder says where they are, and what others may have put there is not seen.

use crate::machine::surroundings;
use crate::package::packages;
use crate::refusal::fault::Fault;
use hutch::package::Checked;
use hutch_model::error_code::ErrorCode;
use hutch_model::names::Slug;
use hutch_model::trust::RELEASED;
use std::fs::Metadata;
use std::path::{Path, PathBuf};

/// The way to them, each step of which is looked at.
const STEPS: [&str; 3] = ["share", "hutch", "packages"];

/// The slug in a word, if it means one of them wherever it is written.
pub(crate) fn slug(word: &Path) -> Option<Result<Slug, Fault>> {
    let slug = word.to_str()?.strip_prefix(RELEASED)?;
    Some(Slug::parse(slug).map_err(|error| Fault::usage(format!("{RELEASED}{slug}: {error}"))))
}

/// What to write to mean one, wherever it is written.
pub(crate) fn word(slug: &Slug) -> String {
    format!("{RELEASED}{slug}")
}

/// The slug that a word is, if there is one of that slug.
pub(crate) fn named(word: &Path) -> Option<Slug> {
    Slug::parse(word.to_str()?).ok().filter(|slug| path(slug).is_some())
}

/// Where one is.
pub(crate) fn path(slug: &Slug) -> Option<PathBuf> {
    Some(folder()?.join(slug.as_str())).filter(|path| packages::is_there(&path.join("APP.md")))
}

/// The same.
///
/// # Errors
/// There is none of that slug.
pub(crate) fn found(slug: &Slug) -> Result<PathBuf, Fault> {
    path(slug).ok_or_else(|| {
        let fault = Fault::new(ErrorCode::PackageNotFound, format!("no package {slug} came with this program"));
        fault.suggest(&packages::had_as())
    })
}

/// One, checked.
pub(crate) fn checked(slug: &Slug, path: &Path) -> Result<Checked, Fault> {
    let checked = packages::held(path)?;
    match &checked.package {
        Some(package) if package.manifest().slug() != slug => {
            let message = format!("what came with this program as {slug} is another package");
            Err(Fault::new(ErrorCode::PackageChanged, message))
        }
        _ => Ok(checked),
    }
}

/// All of them, in the order of their slugs.
#[expect(clippy::disallowed_methods, reason = "the folder is the program's own, and nothing in it is opened here")]
pub(crate) fn all() -> Vec<Slug> {
    let entries = folder().and_then(|folder| folder.read_dir().ok()).into_iter().flatten();
    let mut all: Vec<Slug> = entries.filter_map(|entry| named(&PathBuf::from(entry.ok()?.file_name()))).collect();
    all.sort();
    all
}

/// Their slugs in a sentence, if there are any.
pub(crate) fn listed() -> Option<String> {
    let all: Vec<String> = all().iter().map(Slug::to_string).collect();
    (!all.is_empty()).then(|| all.join(", "))
}

/// The folder of them, if whoever made it could have made the program.
#[expect(clippy::disallowed_methods, reason = "where the program is says where they are; nothing is opened here")]
fn folder() -> Option<PathBuf> {
    let program = surroundings::program().ok()?.canonicalize().ok()?;
    let file = program.metadata().ok()?;
    let mut folder = program.parent()?.parent()?.to_owned();
    for step in STEPS {
        folder.push(step);
        if !is_as_good(&folder.symlink_metadata().ok()?, &file) {
            return None;
        }
    }
    Some(folder)
}

/// Whether a folder is the program's owner's or the system's, and none that everybody writes into or that a link leads to. A program that
/// runs with its owner's rights for whoever starts it may lie anywhere, by a link that a stranger made.
#[cfg(unix)]
fn is_as_good(folder: &Metadata, program: &Metadata) -> bool {
    use std::os::unix::fs::MetadataExt;
    let has_rights_of_its_own = program.mode() & 0o6000 != 0;
    let is_everybodys = folder.mode() & 0o002 != 0;
    let is_owned = [program.uid(), 0].contains(&folder.uid());
    folder.is_dir() && is_owned && !is_everybodys && !has_rights_of_its_own
}

#[cfg(not(unix))]
fn is_as_good(folder: &Metadata, _program: &Metadata) -> bool {
    folder.is_dir()
}

#[cfg(all(test, unix))]
#[allow(clippy::disallowed_methods, reason = "tests make the files that they look at")]
mod tests {
    use super::*;
    use std::fs::{self, Permissions};
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn what_others_may_have_put_there_came_with_no_program() {
        let place = tempfile::tempdir().unwrap();
        let [program, folder, link] = ["hutch", "share", "link"].map(|name| place.path().join(name));
        fs::write(&program, "").unwrap();
        fs::create_dir(&folder).unwrap();
        std::os::unix::fs::symlink(&folder, &link).unwrap();
        let judged = |folder: &Path, of_folder: u32, of_program: u32| {
            fs::set_permissions(folder, Permissions::from_mode(of_folder)).unwrap();
            fs::set_permissions(&program, Permissions::from_mode(of_program)).unwrap();
            is_as_good(&folder.symlink_metadata().unwrap(), &program.metadata().unwrap())
        };
        assert!(judged(&folder, 0o755, 0o755));
        assert!(judged(&folder, 0o775, 0o555));
        assert!(!judged(&folder, 0o777, 0o755), "everybody's");
        assert!(!judged(&folder, 0o1777, 0o755), "everybody's, but for what others made");
        assert!(!judged(&folder, 0o755, 0o4755), "of a program with its owner's rights");
        assert!(!judged(&folder, 0o755, 0o2755), "of a program with its group's rights");
        assert!(!judged(&link, 0o755, 0o755), "a link");
        assert!(!judged(&program, 0o755, 0o755), "no folder");
    }
}

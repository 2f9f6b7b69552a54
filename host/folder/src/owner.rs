//! Whose what is made in a home is: the user's whose the folder is, also where root makes it. Else one call of root's would lock out whoever the home
//! belongs to. What can't be given stays its maker's.

#[cfg(unix)]
use crate::read::open_folder;
use cap_std::fs::Dir;
use std::fs::File;
use std::io;
use std::path::Path;

/// The user and the group whose a folder is, if this process is root, and it is another user's: what is made there is to be theirs.
#[cfg(unix)]
pub fn other_owner(folder: &Dir) -> Option<(u32, u32)> {
    use cap_std::fs::MetadataExt;
    if !rustix::process::geteuid().is_root() {
        return None;
    }
    let found = folder.dir_metadata().ok()?;
    (found.uid() != 0).then(|| (found.uid(), found.gid()))
}

/// Gives what was just made in a folder, and is open, to the user whose the folder is.
pub fn give_to_owner(folder: &Dir, made: &File) {
    #[cfg(unix)]
    if let Some((user, group)) = other_owner(folder) {
        let _ = std::os::unix::fs::fchown(made, Some(user), Some(group));
    }
    #[cfg(not(unix))]
    let _ = (folder, made);
}

/// The same of a file that may have been there before, if it is empty and root's.
pub fn give_if_new(folder: &Dir, file: &File) {
    #[cfg(unix)]
    if file.metadata().is_ok_and(|found| found.len() == 0 && std::os::unix::fs::MetadataExt::uid(&found) == 0) {
        give_to_owner(folder, file);
    }
    #[cfg(not(unix))]
    let _ = (folder, file);
}

/// Gives a folder that was just made below another to the user whose that one is.
pub fn give_folder(parent: &Dir, name: &str) {
    // A folder is opened for its names alone; to be given it must be opened for reading.
    #[cfg(unix)]
    if other_owner(parent).is_some()
        && let Ok(Some(made)) = open_folder(parent, name)
        && let Ok(made) = made.open(".")
    {
        give_to_owner(parent, &made.into_std());
    }
    #[cfg(not(unix))]
    let _ = (parent, name);
}

/// What makes folders at a path that nobody else may enter, whatever the umask lets: for a home's own, whose path is known to who calls.
pub fn private_folders() -> std::fs::DirBuilder {
    #[cfg_attr(not(unix), expect(unused_mut, reason = "there are no modes"))]
    let mut builder = std::fs::DirBuilder::new();
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder
}

/// Makes a folder that only its owner may enter, and the way to it, where they are missing.
///
/// # Errors
/// The system's refusal.
#[expect(clippy::disallowed_methods, reason = "a home is a path, and this makes the way to it and below it")]
pub fn make_private_folders(path: &Path) -> io::Result<()> {
    let builder = private_folders();
    let above = path.parent().filter(|above| !above.as_os_str().is_empty());
    let made = match (builder.create(path), above) {
        (Err(error), Some(above)) if error.kind() == io::ErrorKind::NotFound => {
            make_private_folders(above)?;
            builder.create(path)
        }
        (made, _) => made,
    };
    match made {
        // Another process may have been first.
        Err(_) if path.is_dir() => return Ok(()),
        made => made?,
    }
    // What is above a home is opened only where this has anything to give.
    #[cfg(unix)]
    {
        let above = above.unwrap_or(Path::new("."));
        if rustix::process::geteuid().is_root()
            && above.metadata().is_ok_and(|found| std::os::unix::fs::MetadataExt::uid(&found) != 0)
            && let Some(name) = path.file_name().and_then(|name| name.to_str())
            && let Ok(above) = Dir::open_ambient_dir(above, cap_std::ambient_authority())
        {
            give_folder(&above, name);
        }
    }
    Ok(())
}

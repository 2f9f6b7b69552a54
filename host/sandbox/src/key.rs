//! The key of the artifacts' seals, in a file that nobody else can read and that does not lie with the artifacts.

use crate::verdict::SealKey;
use cap_std::ambient_authority;
use cap_std::fs::{Dir, OpenOptions};
use std::io::{Read, Write};
use std::path::Path;

impl SealKey {
    /// The name of its file in a folder that keeps it.
    pub const FILE: &str = "artifacts.key";

    /// The key that this folder keeps. With `fresh`, random bytes, the folder and the key are made if they are missing. `None` if there
    /// is none, or if others may read it.
    pub fn kept(folder: &Path, fresh: Option<[u8; SealKey::BYTES]>) -> Option<SealKey> {
        if fresh.is_some() {
            #[expect(clippy::disallowed_methods, reason = "the home is a path, and this makes the way to it")]
            hutch_folder::private_folders().recursive(true).create(folder).ok()?;
        }
        #[expect(clippy::disallowed_methods, reason = "the one place where the key's folder becomes authority")]
        let dir = Dir::open_ambient_dir(folder, ambient_authority()).ok()?;
        if let Some(key) = read(&dir) {
            return Some(key);
        }
        let mut options = OpenOptions::new();
        options.write(true).create_new(true);
        #[cfg(unix)]
        cap_std::fs::OpenOptionsExt::mode(&mut options, 0o600);
        // Written aside and given its name only if it has none yet: of several processes one makes it, and all read it whole.
        let aside = format!("{}.{}", SealKey::FILE, std::process::id());
        let fresh = fresh?;
        let made = dir.open_with(&aside, &options).and_then(|mut file| file.write_all(&fresh));
        if made.is_ok() {
            let _ = dir.hard_link(&aside, &dir, SealKey::FILE);
        }
        let _ = dir.remove_file(&aside);
        read(&dir)
    }
}

fn read(dir: &Dir) -> Option<SealKey> {
    let metadata = dir.symlink_metadata(SealKey::FILE).ok()?;
    #[cfg(unix)]
    {
        use cap_std::fs::MetadataExt;
        if metadata.mode() & 0o077 != 0 || metadata.uid() != rustix::process::geteuid().as_raw() {
            return None;
        }
    }
    if !metadata.is_file() || metadata.len() != SealKey::BYTES as u64 {
        return None;
    }
    let mut bytes = [0; SealKey::BYTES];
    dir.open(SealKey::FILE).ok()?.read_exact(&mut bytes).ok()?;
    Some(SealKey::new(bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_made_once_and_kept_private() {
        let folder = tempfile::tempdir().unwrap();
        let home = folder.path().join("a/home");
        assert!(SealKey::kept(&home, None).is_none());
        assert!(!home.exists(), "looking made something");
        let key = SealKey::kept(&home, Some([1; 32])).unwrap();
        assert_eq!(key.bytes(), &[1; 32]);
        assert_eq!(SealKey::kept(&home, Some([2; 32])).unwrap().bytes(), &[1; 32]);
        assert_eq!(SealKey::kept(&home, None).unwrap().bytes(), &[1; 32]);
        assert_eq!(std::fs::read_dir(&home).unwrap().count(), 1, "something is left");
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt;
            let file = home.join(SealKey::FILE);
            assert_eq!(std::fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
            // Neither taken nor replaced: somebody has to look.
            std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o644)).unwrap();
            assert!(SealKey::kept(&home, Some([3; 32])).is_none());
            std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o600)).unwrap();
        }
        std::fs::write(home.join(SealKey::FILE), [1; 31]).unwrap();
        assert!(SealKey::kept(&home, Some([3; 32])).is_none());
    }
}

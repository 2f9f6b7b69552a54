//! Names that become folders of the store. Each can be a folder name on every common system, and none can stand for one of
//! the store's own files.

use hutch_model::names::{NameError, PackagePath, Slug};
use std::borrow::Borrow;
use std::fmt;
use std::str::FromStr;

/// The text is no name of its kind.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum StoreNameError {
    /// It breaks the rules for its kind of name.
    #[error(transparent)]
    Name(#[from] NameError),
    /// The store keeps names that begin so for itself.
    #[error("{0:?} begins with \"hutch.\", which is kept for the store's own files")]
    Reserved(String),
}

/// The name of an instance: as a slug, `default` if nobody says otherwise.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct InstanceName(String);

impl InstanceName {
    /// The name as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl Default for InstanceName {
    fn default() -> InstanceName {
        InstanceName("default".to_owned())
    }
}

impl FromStr for InstanceName {
    type Err = StoreNameError;

    fn from_str(text: &str) -> Result<InstanceName, StoreNameError> {
        Ok(InstanceName(Slug::parse(text)?.to_string()))
    }
}

impl fmt::Display for InstanceName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// The name of a volume: the path that the package declares, `state` or `app/state`.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct VolumeName(String);

impl VolumeName {
    /// The name as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Its folders, of which there is at least one.
    #[cfg(feature = "machine")]
    pub(crate) fn components(&self) -> impl Iterator<Item = &str> {
        self.0.split('/')
    }
}

impl FromStr for VolumeName {
    type Err = StoreNameError;

    fn from_str(text: &str) -> Result<VolumeName, StoreNameError> {
        let path = PackagePath::parse(text)?;
        if path.as_str().get(..6).is_some_and(|start| start.eq_ignore_ascii_case("hutch.")) {
            return Err(StoreNameError::Reserved(text.to_owned()));
        }
        Ok(VolumeName(path.as_str().to_owned()))
    }
}

impl Borrow<str> for VolumeName {
    fn borrow(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for VolumeName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_volume_is_never_one_of_the_stores_own_files() {
        for bad in ["hutch.db", "Hutch.tmp", "hutch.db/x", "HUTCH.", "", "..", "../x", "/x", "a/../b", "a\\b", "nul"] {
            assert!(bad.parse::<VolumeName>().is_err(), "{bad:?} was taken");
        }
        for good in ["state", "app/state", "hutch", "hutchdb", "a/hutch.db", "é"] {
            assert_eq!(good.parse::<VolumeName>().map(|name| name.to_string()), Ok(good.to_owned()));
        }
    }

    #[test]
    fn an_instance_is_one_portable_folder() {
        for bad in ["", ".", "..", "a/b", "A", "con", "a b", "a."] {
            assert!(bad.parse::<InstanceName>().is_err(), "{bad:?} was taken");
        }
        assert_eq!("default".parse::<InstanceName>().map(|name| name.to_string()), Ok("default".to_owned()));
    }
}

//! `hutch.lock`: which packages a home has, each by content. Made for version control: the same packages are the same bytes on every
//! machine, so it says nothing of when, and of a place below it only the way from there. Knows no files.

use crate::asks::Asks;
use crate::digest::Digest;
use crate::names::Slug;
use serde::{Deserialize, Serialize};

/// The version of the document.
const VERSION: u32 = 1;
/// The most bytes of the document.
pub const LOCK_BYTES_MAX: u64 = 1 << 20;

/// The whole document.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Lock {
    version: u32,
    /// The packages, by slug.
    pub packages: Vec<Locked>,
}

/// One package.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Locked {
    /// The identity of the package.
    pub slug: Slug,
    /// Its version.
    pub version: String,
    /// Where it is to be had: a reference, or a path, from the lock's folder if it does not begin at the root.
    pub source: String,
    /// The digest of all its files.
    pub digest: Digest,
    /// What it asks for. Said, so that a change of it is seen where the lock is reviewed; it grants nothing.
    pub asks: Asks,
    /// The public key (PEM) that signed it, if one was asked for.
    pub signer: Option<String>,
    /// The public key (PEM) that says how it was built, if one was known that does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub attester: Option<String>,
}

impl Lock {
    /// A lock of these packages.
    pub fn of(mut packages: Vec<Locked>) -> Lock {
        packages.sort_by(|a, b| a.slug.cmp(&b.slug));
        Lock { version: VERSION, packages }
    }

    /// Reads a document.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn parse(text: &str) -> Result<Lock, String> {
        let lock: Lock = serde_json::from_str(text).map_err(|error| error.to_string())?;
        if lock.version != VERSION {
            return Err(format!("version: expected {VERSION}, found {}", lock.version));
        }
        let mut slugs: Vec<&Slug> = lock.packages.iter().map(|locked| &locked.slug).collect();
        slugs.sort();
        match slugs.windows(2).find(|pair| pair[0] == pair[1]) {
            Some(pair) => Err(format!("{:?} is there twice", pair[0].as_str())),
            None => Ok(Lock::of(lock.packages)),
        }
    }

    /// The document's text: the same packages are the same bytes.
    pub fn text(&self) -> String {
        serde_json::to_string_pretty(self).unwrap_or_default() + "\n"
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn locked(slug: &str) -> Locked {
        Locked {
            slug: Slug::parse(slug).unwrap(),
            version: "0.1.0".to_owned(),
            source: format!("oci://registry.example/{slug}:0.1.0"),
            digest: Digest::of(crate::digest::Kind::Package, slug.as_bytes()),
            asks: Asks::default(),
            signer: None,
            attester: None,
        }
    }

    #[test]
    fn a_lock_is_the_same_bytes_in_whatever_order_its_packages_came() {
        let lock = Lock::of(vec![locked("b"), locked("a")]);
        assert_eq!(lock.text(), Lock::of(vec![locked("a"), locked("b")]).text());
        assert_eq!(Lock::parse(&lock.text()), Ok(lock.clone()));
        assert!(lock.text().ends_with("}\n"));
    }

    #[test]
    fn a_lock_that_is_not_understood_is_refused() {
        let text = Lock::of(vec![locked("a")]).text();
        for (broken, said) in [
            (text.replace("\"version\": 1", "\"version\": 2"), "expected 1"),
            (text.replace("\"source\"", "\"origin\""), "origin"),
            (Lock::of(vec![locked("a"), locked("a")]).text(), "twice"),
            (text.replace("\"slug\": \"a\"", "\"slug\": \"../a\""), "lower-case"),
            (String::new(), "EOF"),
        ] {
            let error = Lock::parse(&broken).unwrap_err();
            assert!(error.contains(said), "{error}");
        }
    }
}

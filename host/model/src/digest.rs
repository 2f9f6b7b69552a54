//! Names for content: a BLAKE3 digest, and the kinds of content that can have one.
//! Knows no storage: whoever holds the bytes can name them, whoever holds a name can check the bytes.

use std::fmt;
use std::str::FromStr;

/// A BLAKE3 digest of 32 bytes, written as 64 lower-case hexadecimal digits.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Digest([u8; 32]);

/// What kind of bytes a digest names. Each kind hashes under its own key, so that no file content
/// can pass for a directory.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum Kind {
    /// Up to [`CHUNK_BYTES`](crate::snapshot::CHUNK_BYTES) of file content.
    Chunk,
    /// A list of digests, one for each part of a file longer than a chunk.
    List,
    /// The sorted entries of one directory.
    Tree,
    /// A component's bytes, as the package holds them.
    Component,
    /// All files of a package.
    Package,
    /// Bytes that a guest read from standard input or wrote to standard output or error.
    Stream,
    /// One ledger entry, in canonical JSON.
    Entry,
    /// The snapshots of all volumes of an instance.
    State,
    /// Who an instance belongs to, and what is under way in it.
    Standing,
    /// The engine's version and every setting that can change an outcome.
    Profile,
    /// The key of one compiled artifact.
    Artifact,
    /// What a cache notes, by what it is about.
    Note,
    /// A part of a real folder: a handle to what is there, not a name for its content.
    Mount,
    /// Where a symbolic link points.
    Link,
    /// All that the outcome of one call follows from.
    Call,
    /// The seed of one of many calls.
    Seed,
    /// What the outcome of a call is kept under to be used again, and that outcome.
    Memo,
}

impl Kind {
    /// The context string of BLAKE3's key derivation. Never change one: digests in stores depend on it.
    const fn context(self) -> &'static str {
        match self {
            Kind::Chunk => "hutch v1 chunk",
            Kind::List => "hutch v1 list",
            Kind::Tree => "hutch v1 tree",
            Kind::Component => "hutch v1 component",
            Kind::Package => "hutch v1 package",
            Kind::Stream => "hutch v1 stream",
            Kind::Entry => "hutch v1 entry",
            Kind::State => "hutch v1 state",
            Kind::Standing => "hutch v1 standing",
            Kind::Profile => "hutch v1 profile",
            Kind::Artifact => "hutch v1 artifact",
            Kind::Note => "hutch v1 note",
            Kind::Mount => "hutch v1 mount",
            Kind::Link => "hutch v1 link",
            Kind::Call => "hutch v1 call",
            Kind::Seed => "hutch v1 seed",
            Kind::Memo => "hutch v1 memo",
        }
    }
}

impl Digest {
    /// The digest of `bytes` as content of `kind`.
    pub fn of(kind: Kind, bytes: &[u8]) -> Digest {
        let mut hasher = Hasher::new(kind);
        hasher.update(bytes);
        hasher.finish()
    }

    /// A digest read back from where it was stored.
    pub const fn from_bytes(bytes: [u8; 32]) -> Digest {
        Digest(bytes)
    }

    /// The 32 bytes.
    pub const fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }
}

/// A digest of bytes that arrive in parts.
#[derive(Debug)]
pub struct Hasher(blake3::Hasher);

impl Hasher {
    /// Starts the digest of content of `kind`.
    pub fn new(kind: Kind) -> Hasher {
        Hasher(blake3::Hasher::new_derive_key(kind.context()))
    }

    /// Takes the next bytes.
    pub fn update(&mut self, bytes: &[u8]) {
        self.0.update(bytes);
    }

    /// Takes the length of `bytes` (8 bytes, little endian), then `bytes`: lists of parts stay unambiguous.
    pub fn update_part(&mut self, bytes: &[u8]) {
        self.update(&(bytes.len() as u64).to_le_bytes());
        self.update(bytes);
    }

    /// The digest of all bytes taken.
    pub fn finish(&self) -> Digest {
        Digest(*self.0.finalize().as_bytes())
    }
}

impl fmt::Display for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Debug for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// The text is not 64 lower-case hexadecimal digits.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is not a digest: expected 64 lower-case hexadecimal digits")]
pub struct NotADigest(String);

impl FromStr for Digest {
    type Err = NotADigest;

    fn from_str(text: &str) -> Result<Digest, NotADigest> {
        let digit = |byte: u8| match byte {
            b'0'..=b'9' => Some(byte - b'0'),
            b'a'..=b'f' => Some(byte - b'a' + 10),
            _ => None,
        };
        let refused = || NotADigest(text.chars().take(80).collect());
        let (pairs, rest) = text.as_bytes().as_chunks::<2>();
        let mut bytes = [0; 32];
        if pairs.len() != bytes.len() || !rest.is_empty() {
            return Err(refused());
        }
        for (byte, [high, low]) in bytes.iter_mut().zip(pairs) {
            *byte = digit(*high).zip(digit(*low)).map(|(h, l)| h << 4 | l).ok_or_else(refused)?;
        }
        Ok(Digest(bytes))
    }
}

impl serde::Serialize for Digest {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> serde::Deserialize<'de> for Digest {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Digest, D::Error> {
        let text = String::deserialize(deserializer)?;
        text.parse().map_err(serde::de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_and_digest_are_inverse() {
        let digest = Digest::of(Kind::Chunk, b"milk");
        assert_eq!(digest.to_string().parse(), Ok(digest));
    }

    #[test]
    fn what_is_no_digest_is_refused() {
        let good = Digest::of(Kind::Chunk, b"").to_string();
        for bad in ["", "00", &good[1..], &good.to_uppercase(), &format!("{good}0"), &good.replacen(|_| true, "g", 1)] {
            assert!(bad.parse::<Digest>().is_err(), "{bad:?} was taken");
        }
    }

    #[test]
    fn kinds_never_share_a_digest() {
        assert_ne!(Digest::of(Kind::Chunk, b"x"), Digest::of(Kind::Tree, b"x"));
    }
}

//! How others name content, registries and statements among them: SHA-256, written as `sha256:` and 64 hexadecimal digits.

use data_encoding::HEXLOWER;
use serde::{Deserialize, Serialize};
use sha2::Digest as _;
use std::fmt;
use std::io::{self, Read};
use std::str::FromStr;

const PREFIX: &str = "sha256:";

/// The name of some bytes.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub struct Sha256([u8; 32]);

/// A text that is no such name.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("expected sha256: and 64 digits of 0-9a-f")]
pub struct NotASha256;

impl Sha256 {
    /// The name of these bytes.
    pub fn of(bytes: &[u8]) -> Sha256 {
        Sha256::of_parts(&[bytes])
    }

    /// The name of these bytes, one behind the other.
    pub fn of_parts(parts: &[&[u8]]) -> Sha256 {
        let mut hasher = sha2::Sha256::new();
        parts.iter().for_each(|part| hasher.update(part));
        Sha256(hasher.finalize().into())
    }

    /// The name of what is read to its end.
    ///
    /// # Errors
    /// It can't be read.
    pub fn of_all(mut from: impl Read) -> io::Result<Sha256> {
        let mut hasher = sha2::Sha256::new();
        let mut part = vec![0; 1 << 16];
        loop {
            match from.read(&mut part) {
                Ok(0) => break,
                Ok(count) => hasher.update(part.get(..count).unwrap_or_default()),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(Sha256(hasher.finalize().into()))
    }

    /// The 32 bytes.
    pub const fn bytes(&self) -> &[u8; 32] {
        &self.0
    }

    /// The 64 digits alone.
    pub fn hex(&self) -> String {
        HEXLOWER.encode(&self.0)
    }
}

impl fmt::Display for Sha256 {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{PREFIX}{}", self.hex())
    }
}

impl FromStr for Sha256 {
    type Err = NotASha256;

    fn from_str(text: &str) -> Result<Sha256, NotASha256> {
        let digits = text.strip_prefix(PREFIX).ok_or(NotASha256)?;
        let bytes = HEXLOWER.decode(digits.as_bytes()).map_err(|_| NotASha256)?;
        bytes.try_into().map(Sha256).map_err(|_| NotASha256)
    }
}

impl From<Sha256> for String {
    fn from(digest: Sha256) -> String {
        digest.to_string()
    }
}

impl TryFrom<String> for Sha256 {
    type Error = NotASha256;

    fn try_from(text: String) -> Result<Sha256, NotASha256> {
        text.parse()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_read_as_it_is_written_and_nothing_else_is() {
        let empty = Sha256::of(b"");
        assert_eq!(empty.to_string(), "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
        assert_eq!(empty.to_string().parse(), Ok(empty));
        for wrong in ["", "sha256:", &empty.hex(), &empty.to_string().to_uppercase(), &format!("{empty}0"), "sha512:00"]
        {
            assert_eq!(wrong.parse::<Sha256>(), Err(NotASha256), "{wrong}");
        }
    }
}

//! An application in one file, a *bundle*: a packed package, and code that was made of its component for one kind of host. It ends with a
//! digest of all of itself. That finds damage, and not a forger: who runs it believes the code as machine code is believed.
//!
//! The form: the packed package; the artifact; the length of each, in eight bytes, the lowest first; the digest of all before, of 32
//! bytes; `hutch-exported-1` and a line's end. It is read from its end, so it can stand behind a program that runs it.

use crate::failure::Failure;
use hutch_model::digest::{Digest, Kind};

const MAGIC: &[u8] = b"hutch-exported-1\n";
const LENGTH_BYTES: usize = 8;
const DIGEST_BYTES: usize = 32;

/// A package, and code for it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Exported {
    /// The package, as `Package::pack` writes it.
    pub packed: Vec<u8>,
    /// The code, as `Sandbox::compile_for` writes it.
    pub artifact: Vec<u8>,
}

impl Exported {
    /// Bytes at its end that say how long it is.
    pub const FOOTER_BYTES: usize = 2 * LENGTH_BYTES + DIGEST_BYTES + MAGIC.len();

    /// How long the bundle is that a file ends with, by the last [`FOOTER_BYTES`](Exported::FOOTER_BYTES) of the file; nothing if it ends
    /// with none.
    pub fn length(footer: &[u8]) -> Option<u64> {
        let lengths = footer.strip_suffix(MAGIC).filter(|_| footer.len() == Exported::FOOTER_BYTES)?;
        let (packed, rest) = lengths.split_first_chunk()?;
        let (artifact, _) = rest.split_first_chunk()?;
        let parts = u64::from_le_bytes(*packed).checked_add(u64::from_le_bytes(*artifact))?;
        parts.checked_add(Exported::FOOTER_BYTES as u64)
    }

    /// The file.
    pub fn written(&self) -> Vec<u8> {
        let lengths = [self.packed.len(), self.artifact.len()].map(|length| (length as u64).to_le_bytes());
        let mut bytes = [&self.packed, &self.artifact, lengths.as_flattened()].concat();
        let digest = Digest::of(Kind::Artifact, &bytes);
        bytes.extend_from_slice(digest.as_bytes());
        bytes.extend_from_slice(MAGIC);
        bytes
    }

    /// Takes a whole file apart.
    ///
    /// # Errors
    /// It is no bundle, or is damaged.
    pub fn read(mut bytes: Vec<u8>) -> Result<Exported, Failure> {
        let wrong = |reason| Failure::Bundle { reason };
        let footer_at = bytes.len().checked_sub(Exported::FOOTER_BYTES).ok_or_else(|| wrong("is too short for one"))?;
        let footer = bytes.split_off(footer_at);
        let length = Exported::length(&footer).ok_or_else(|| wrong("does not end as one does"))?;
        let (lengths, rest) = footer.split_at(2 * LENGTH_BYTES);
        bytes.extend_from_slice(lengths);
        if rest.strip_suffix(MAGIC) != Some(Digest::of(Kind::Artifact, &bytes).as_bytes()) {
            return Err(wrong("is damaged: it does not match its digest"));
        }
        bytes.truncate(footer_at);
        let packed = lengths.first_chunk().and_then(|length| usize::try_from(u64::from_le_bytes(*length)).ok());
        match packed.filter(|packed| *packed <= footer_at && length == (footer_at + Exported::FOOTER_BYTES) as u64) {
            Some(packed) => {
                let artifact = bytes.split_off(packed);
                Ok(Exported { packed: bytes, artifact })
            }
            None => Err(wrong("has other lengths than it says")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bundle_comes_back_and_no_byte_of_it_can_be_another() {
        let exported = Exported { packed: b"a package".to_vec(), artifact: b"its code".to_vec() };
        let file = exported.written();
        assert_eq!(Exported::read(file.clone()).ok(), Some(exported));
        assert_eq!(Exported::length(&file[file.len() - Exported::FOOTER_BYTES..]), Some(file.len() as u64));
        for at in 0..file.len() {
            for bit in 0..8 {
                let mut bad = file.clone();
                bad[at] ^= 1 << bit;
                assert!(Exported::read(bad).is_err(), "bit {bit} of byte {at} was not seen");
            }
            assert!(Exported::read(file[..at].to_vec()).is_err(), "a cut after {at} was not seen");
            assert!(Exported::read(file[at + 1..].to_vec()).is_err(), "a beginning at {at} was not seen");
        }
        // What one promises that is longer than anything.
        let mut long = [[0xff; 16].as_slice(), &[0; 32], MAGIC].concat();
        assert_eq!(Exported::length(&long), None);
        long[8..16].fill(0);
        assert_eq!(Exported::length(&long), None);
    }
}

//! Code that was compiled ahead, as a file: for hosts without a compiler, a browser tab among them. It names the component that it was
//! made from, and ends with a digest of all before. That finds damage, and not a forger: who has no compiler believes whoever made
//! the file, and what it says can be checked by a host that compiles.
//!
//! The form: `hutch-artifact-1` and a line's end; the length of a header, in four bytes, the lowest first; the header as JSON; the
//! engine's code; the digest, of 32 bytes.

use crate::load_error::LoadError;
#[cfg(feature = "compiler")]
use crate::settings::Target;
use crate::settings::profile;
use hutch_model::digest::{Digest, Kind};
use serde::{Deserialize, Serialize};

const MAGIC: &[u8] = b"hutch-artifact-1\n";
const DIGEST_BYTES: usize = 32;

/// What is known of code without loading it.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct ArtifactHeader {
    /// The component that it was made from.
    pub component: Digest,
    /// What it was compiled for: `pulley32` for a browser.
    pub target: String,
    /// The profile of the outcomes that it comes to.
    pub profile: String,
    /// Component instances or resource types that instantiating it makes, whichever are more.
    pub made: u64,
}

fn invalid(reason: &str) -> LoadError {
    LoadError::Invalid(format!("the artifact {reason}"))
}

/// Takes a file apart: what it is, and its code.
///
/// # Errors
/// It is no artifact, is damaged, or was made by another version.
pub fn read_artifact(bytes: &[u8]) -> Result<(ArtifactHeader, &[u8]), LoadError> {
    let (header, code) = artifact_header(bytes)?;
    let (whole, digest) = bytes.split_at(bytes.len().saturating_sub(DIGEST_BYTES));
    match Digest::of(Kind::Artifact, whole).as_bytes() == digest {
        true => Ok((header, code)),
        false => Err(invalid("is damaged: it does not match its digest")),
    }
}

/// The same of a file that is known to be whole, or of which nothing but the header is believed.
///
/// # Errors
/// It is no artifact, or was made by another version.
pub fn artifact_header(bytes: &[u8]) -> Result<(ArtifactHeader, &[u8]), LoadError> {
    let rest = bytes.strip_prefix(MAGIC).ok_or_else(|| invalid("does not begin as one does"))?;
    let cut = || invalid("is cut short");
    let (length, rest) = rest.split_first_chunk().ok_or_else(cut)?;
    let rest = rest.get(..rest.len().checked_sub(DIGEST_BYTES).ok_or_else(cut)?).ok_or_else(cut)?;
    let length = usize::try_from(u32::from_le_bytes(*length)).map_err(|_| cut())?;
    let (header, code) = rest.split_at_checked(length).ok_or_else(cut)?;
    let header: ArtifactHeader = serde_json::from_slice(header).map_err(|_| invalid("has a header of another form"))?;
    match header.profile == profile() {
        true => Ok((header, code)),
        false => {
            let (made, here) = (header.profile, profile());
            Err(invalid(&format!("was made under the profile {made}, and this host has {here}")))
        }
    }
}

/// Such a file, of code that was compiled for `target`, of which instantiating makes so much.
///
/// # Errors
/// It is too long for such a file.
#[cfg(feature = "compiler")]
pub fn written_artifact(component: &[u8], target: &Target, made: u64, code: &[u8]) -> Result<Vec<u8>, LoadError> {
    let (component, target) = (Digest::of(Kind::Component, component), target.name().to_owned());
    let header = ArtifactHeader { component, target, profile: profile().to_owned(), made };
    let header = serde_json::to_vec(&header).map_err(|error| LoadError::Host(error.to_string()))?;
    let length = u32::try_from(header.len()).map_err(|error| LoadError::Host(error.to_string()))?;
    let mut bytes = [MAGIC, &length.to_le_bytes(), &header, code].concat();
    let digest = Digest::of(Kind::Artifact, &bytes);
    bytes.extend_from_slice(digest.as_bytes());
    Ok(bytes)
}

#[cfg(all(test, feature = "compiler"))]
mod tests {
    use super::*;
    use crate::compile::compile;
    use crate::settings::Backend;

    fn made(component: &[u8]) -> Result<Vec<u8>, LoadError> {
        let target = Backend::Interpreter32.into();
        let compiled = compile(&target, component)?;
        written_artifact(component, &target, compiled.made(), &compiled.into_code())
    }

    #[test]
    fn an_artifact_comes_back_and_no_byte_of_it_can_be_another() {
        let module = b"\0asm\x01\0\0\0";
        let artifact = made(module).unwrap();
        let (header, code) = read_artifact(&artifact).unwrap();
        assert_eq!(header.component, Digest::of(Kind::Component, module));
        assert_eq!((header.target.as_str(), header.made), ("pulley32", 1));
        assert!(!code.is_empty());
        assert_eq!(artifact, made(module).unwrap(), "other bytes the second time");
        for at in (0..artifact.len()).step_by(7) {
            let mut bad = artifact.clone();
            bad[at] ^= 1;
            assert!(read_artifact(&bad).is_err(), "a flipped bit in byte {at} was not seen");
            assert!(read_artifact(&artifact[..at]).is_err(), "a cut after {at} was not seen");
        }
    }
}

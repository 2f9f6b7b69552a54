//! Without the feature `keyless` no authority is known.

use super::signer::Identity;
use hutch_model::sha256::Sha256;

/// Authorities that count: none.
#[derive(Debug)]
pub struct Root;

/// Who signed under a certificate.
#[derive(Debug)]
pub(super) enum Holder {
    /// The authority is none that counts here.
    Unknown,
    /// The holder of this identity.
    #[expect(dead_code, reason = "found with the feature alone")]
    Identity(Identity),
}

impl Root {
    /// Whether certificates are checked at all.
    pub const CHECKS_CERTIFICATES: bool = false;

    /// The root, which nothing is asked of here.
    ///
    /// # Errors
    /// None.
    pub fn of(_: Option<&str>) -> Result<Root, String> {
        Ok(Root)
    }

    /// How many authorities count.
    pub fn authorities(&self) -> usize {
        0
    }

    #[expect(clippy::unused_self, clippy::unnecessary_wraps, reason = "with the feature it looks and can fail")]
    pub(super) fn holder(&self, _: &[u8], _: &[u8], _: Sha256) -> Result<Holder, String> {
        Ok(Holder::Unknown)
    }
}

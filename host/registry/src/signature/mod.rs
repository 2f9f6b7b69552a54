//! Signatures: made, kept beside what they are about, and checked without asking anybody.

mod bundle;
#[cfg(feature = "keyless")]
mod certificates;
#[cfg(not(feature = "keyless"))]
#[path = "no_certificates.rs"]
mod certificates;
mod key;
mod provenance;
mod referrers;
mod signer;

pub(crate) use bundle::BUNDLE;
pub use bundle::{
    About, BUNDLE_BYTES_MAX, PROVENANCE, SIGNED, Verdict, check, has_signed, predicate_type, sign, sign_files,
    sign_payload,
};
pub use certificates::Root;
pub use key::{NotAKey, PrivateKey, PublicKey};
pub use provenance::{NotAttested, attest};
pub(crate) use referrers::Referrers;
pub use signer::{Identity, NotASigner, Signer};

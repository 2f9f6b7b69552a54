//! Signatures: made, kept beside what they are about, and checked without asking anybody.

mod bundle;
mod key;
mod provenance;
mod referrers;

pub use bundle::{About, BUNDLE_BYTES_MAX, PROVENANCE, SIGNED, Verdict, check, predicate_type, sign};
pub use key::{NotAKey, PrivateKey, PublicKey};
pub use provenance::{NotAttested, attest};

//! Signatures: made, kept beside what they are about, and checked without asking anybody.

mod bundle;
mod key;
mod referrers;

pub use bundle::{BUNDLE_BYTES_MAX, Verdict, check, sign};
pub use key::{NotAKey, PrivateKey, PublicKey};

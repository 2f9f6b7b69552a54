//! Packages in OCI registries: as artifacts, pushed and pulled, and signed.
//!
//! In order: [`Artifact::of`] makes a manifest, a config and one layer of a package; [`Repository`] carries them to a registry or a folder
//! and back; [`Head`] and [`Texts`] read them again, each held against the digest that names it. What comes out is the package's packed
//! file, which goes through the same door as every other.
//!
//! It knows no command line, reads no environment and no clock: [`Surroundings`] are an argument.
#![cfg_attr(test, allow(clippy::disallowed_methods, reason = "tests reach for what they prepare"))]

mod artifact;
mod documents;
mod failure;
mod layout;
mod pulled;
mod reference;
mod remote;
mod repository;
mod signature;

pub use artifact::{Artifact, ArtifactError};
pub use failure::RegistryError;
pub use hutch_model::sha256::{NotASha256, Sha256};
pub use layout::Layout;
pub use pulled::{Head, Texts};
pub use reference::{NotAReference, Place, Reference};
pub use remote::{Credential, CredentialFile, Helper, Remote, Surroundings};
pub use repository::{Pushed, Repository};
pub use signature::{
    About, BUNDLE_BYTES_MAX, Identity, NotAKey, NotASigner, NotAttested, PROVENANCE, PrivateKey, PublicKey, Root,
    SIGNED, Signer, Verdict, attest, check, has_signed, predicate_type, sign, sign_files, sign_payload,
};

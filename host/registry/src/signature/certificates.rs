//! Signatures under certificates, as Sigstore makes them without a key that anybody keeps: an authority certifies for some minutes who held
//! the key, and a public log holds that it was used then. Checked by a trusted root alone: no socket is opened.

use super::signer::Identity;
use hutch_model::sha256::Sha256;
use sigstore_verify::trust_root::{SIGSTORE_PRODUCTION_TRUSTED_ROOT, TrustedRoot};
use sigstore_verify::types::{Bundle, Sha256Hash, SignatureContent};
use sigstore_verify::{Error, VerificationPolicy, Verifier};
use std::fmt;
use x509_cert::Certificate;
use x509_cert::der::Decode;
use x509_cert::name::Name;

/// The most entries of logs in a bundle. Sigstore's clients write one, two at a change of logs.
const LOG_ENTRIES_MAX: usize = 8;

/// Authorities, logs and clocks that count.
pub struct Root {
    verifier: Verifier,
    authorities: Vec<Name>,
}

impl fmt::Debug for Root {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Root({} authorities)", self.authorities.len())
    }
}

/// Who signed under a certificate.
#[derive(Debug)]
pub(super) enum Holder {
    /// The authority is none that counts here, or what it certified can't be written down as an identity.
    Unknown,
    /// The holder of this identity.
    Identity(Identity),
}

impl Root {
    /// Whether certificates are checked at all.
    pub const CHECKS_CERTIFICATES: bool = true;

    /// A root: a document of Sigstore's type `trustedroot`, or without one that of Sigstore's public instance, which is kept in this
    /// program.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn of(document: Option<&str>) -> Result<Root, String> {
        let text = document.unwrap_or(SIGSTORE_PRODUCTION_TRUSTED_ROOT);
        let root = TrustedRoot::from_json(text).map_err(|error| error.to_string())?;
        let verifier = Verifier::new(&root).map_err(|error| error.to_string())?;
        let mut authorities = Vec::new();
        for certificate in root.certificate_authorities.iter().flat_map(|authority| &authority.cert_chain.certificates)
        {
            let read = Certificate::from_der(certificate.raw_bytes.as_bytes()).map_err(|error| error.to_string())?;
            authorities.push(read.tbs_certificate.subject);
        }
        Ok(Root { verifier, authorities })
    }

    /// How many authorities count.
    pub fn authorities(&self) -> usize {
        self.authorities.len()
    }

    /// Who signed this payload, of a statement about that digest, under the certificate in a bundle.
    ///
    /// # Errors
    /// Why the signature does not hold. One by an authority that is not known here is not looked into.
    pub(super) fn holder(&self, bundle: &[u8], payload: &[u8], about: Sha256) -> Result<Holder, String> {
        let text = std::str::from_utf8(bundle).map_err(|error| error.to_string())?;
        let bundle = Bundle::from_json(text).map_err(|error| error.to_string())?;
        // The same text is read twice, by two readers: what they see must be the same.
        match &bundle.content {
            SignatureContent::DsseEnvelope(envelope) if envelope.payload.as_bytes() == payload => {}
            _ => return Err("the bundle says two things".to_owned()),
        }
        let entries = bundle.verification_material.tlog_entries.len();
        if entries > LOG_ENTRIES_MAX {
            return Err(format!("the bundle has {entries} entries of logs, {LOG_ENTRIES_MAX} allowed"));
        }
        let certificate = bundle.signing_certificate().ok_or("the bundle holds no certificate")?;
        let certificate = Certificate::from_der(certificate.as_bytes())
            .map_err(|error| format!("the certificate is malformed: {error}"))?;
        if !self.authorities.contains(&certificate.tbs_certificate.issuer) {
            return Ok(Holder::Unknown);
        }
        let digest = Sha256Hash::from_hex(&about.hex()).map_err(|error| error.to_string())?;
        let verified = self.verifier.verify(digest, &bundle, &VerificationPolicy::any_identity());
        let verified = verified.map_err(|error: Error| error.to_string())?;
        let (Some(issuer), Some(subject)) = (verified.issuer(), verified.identity()) else {
            return Ok(Holder::Unknown);
        };
        let found = Identity { issuer: issuer.to_owned(), subject: subject.as_str().to_owned() };
        // A subject that is written as a pattern is not taken for one.
        match Identity::parse(&found.to_string()) {
            Ok(same) if same == found && !found.subject.ends_with('*') => Ok(Holder::Identity(found)),
            _ => Ok(Holder::Unknown),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_root_in_this_program_is_understood_and_another_must_be() {
        assert!(!Root::of(None).unwrap().authorities.is_empty());
        for text in ["", "{}", &SIGSTORE_PRODUCTION_TRUSTED_ROOT.replace("MII", "MIJ")] {
            assert!(Root::of(Some(text)).is_err());
        }
    }
}

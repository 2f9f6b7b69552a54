//! Keys that sign: ECDSA on P-256 with SHA-256, the kind that Sigstore's tools make unless they are told otherwise. Private ones are
//! PKCS#8 in PEM, as `openssl genpkey -algorithm EC -pkeyopt ec_paramgen_curve:P-256` writes them; public ones SubjectPublicKeyInfo.

use data_encoding::BASE64;
use hutch_model::sha256::Sha256;
use ring::rand::SystemRandom;
use ring::signature::{
    ECDSA_P256_SHA256_ASN1, ECDSA_P256_SHA256_ASN1_SIGNING, EcdsaKeyPair, KeyPair, UnparsedPublicKey,
};
use std::fmt;

/// What stands before the point in a SubjectPublicKeyInfo of P-256 (RFC 5480): the algorithm, the curve and the head of a string of bits.
const POINT_PREFIX: [u8; 26] = [
    0x30, 0x59, 0x30, 0x13, 0x06, 0x07, 0x2a, 0x86, 0x48, 0xce, 0x3d, 0x02, 0x01, 0x06, 0x08, 0x2a, 0x86, 0x48, 0xce,
    0x3d, 0x03, 0x01, 0x07, 0x03, 0x42, 0x00,
];
/// An uncompressed point.
const POINT_BYTES: usize = 65;
const PRIVATE: &str = "PRIVATE KEY";
const PUBLIC: &str = "PUBLIC KEY";
const LINE_CHARACTERS: usize = 64;

/// A text that is no key, or no key of the kind that is used here.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct NotAKey(&'static str);

/// A key that signs.
pub struct PrivateKey {
    pair: EcdsaKeyPair,
    random: SystemRandom,
}

/// A key that says who signed.
#[derive(Clone, PartialEq, Eq)]
pub struct PublicKey([u8; POINT_BYTES]);

impl fmt::Debug for PrivateKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "PrivateKey(of {})", self.public().hint())
    }
}

impl fmt::Debug for PublicKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "PublicKey({})", self.hint())
    }
}

impl PrivateKey {
    /// A new key, as PEM: the system's randomness makes it.
    ///
    /// # Errors
    /// The system has none.
    pub fn generate() -> Result<String, NotAKey> {
        let made = EcdsaKeyPair::generate_pkcs8(&ECDSA_P256_SHA256_ASN1_SIGNING, &SystemRandom::new());
        made.map(|der| to_pem(PRIVATE, der.as_ref())).map_err(|_| NotAKey("the system gives no randomness"))
    }

    /// Reads a private key.
    ///
    /// # Errors
    /// It is none of P-256 in PKCS#8, or it is encrypted.
    pub fn from_pem(text: &str) -> Result<PrivateKey, NotAKey> {
        if text.contains("ENCRYPTED") {
            return Err(NotAKey("the key is encrypted: decrypt it first, with openssl pkey"));
        }
        let der = from_pem(PRIVATE, text).ok_or(NotAKey("expected a PRIVATE KEY in PEM (PKCS#8)"))?;
        let random = SystemRandom::new();
        let pair = EcdsaKeyPair::from_pkcs8(&ECDSA_P256_SHA256_ASN1_SIGNING, &der, &random);
        let pair = pair.map_err(|_| NotAKey("expected a key of P-256 that holds its public key too"))?;
        Ok(PrivateKey { pair, random })
    }

    /// What others know it by.
    pub fn public(&self) -> PublicKey {
        let mut point = [0; POINT_BYTES];
        // The pair's own point has this length.
        point.iter_mut().zip(self.pair.public_key().as_ref()).for_each(|(to, from)| *to = *from);
        PublicKey(point)
    }

    /// Signs.
    pub(crate) fn sign(&self, bytes: &[u8]) -> Result<Vec<u8>, NotAKey> {
        let signed = self.pair.sign(&self.random, bytes);
        signed.map(|signature| signature.as_ref().to_vec()).map_err(|_| NotAKey("the system gives no randomness"))
    }
}

impl PublicKey {
    /// Reads a public key.
    ///
    /// # Errors
    /// It is none of P-256.
    pub fn from_pem(text: &str) -> Result<PublicKey, NotAKey> {
        let wrong = NotAKey("expected a PUBLIC KEY of P-256 in PEM");
        let der = from_pem(PUBLIC, text).ok_or(wrong.clone())?;
        let point = der.strip_prefix(&POINT_PREFIX).filter(|point| point.first() == Some(&4)).ok_or(wrong.clone())?;
        point.try_into().map(PublicKey).map_err(|_| wrong)
    }

    /// As it is written down.
    pub fn to_pem(&self) -> String {
        to_pem(PUBLIC, &self.der())
    }

    /// Its name in bundles, as cosign makes it: the SHA-256 of the SubjectPublicKeyInfo in base64.
    pub fn hint(&self) -> String {
        BASE64.encode(Sha256::of(&self.der()).bytes())
    }

    /// Whether it signed these bytes.
    pub(crate) fn has_signed(&self, bytes: &[u8], signature: &[u8]) -> bool {
        UnparsedPublicKey::new(&ECDSA_P256_SHA256_ASN1, &self.0).verify(bytes, signature).is_ok()
    }

    fn der(&self) -> Vec<u8> {
        [POINT_PREFIX.as_slice(), &self.0].concat()
    }
}

/// RFC 7468.
fn to_pem(label: &str, der: &[u8]) -> String {
    let base64 = BASE64.encode(der);
    let mut text = format!("-----BEGIN {label}-----\n");
    for (at, character) in base64.chars().enumerate() {
        if at > 0 && at % LINE_CHARACTERS == 0 {
            text.push('\n');
        }
        text.push(character);
    }
    text.push_str(&format!("\n-----END {label}-----\n"));
    text
}

/// The first block of that label.
fn from_pem(label: &str, text: &str) -> Option<Vec<u8>> {
    let (_, rest) = text.split_once(&format!("-----BEGIN {label}-----"))?;
    let (base64, _) = rest.split_once(&format!("-----END {label}-----"))?;
    let base64: String = base64.split_ascii_whitespace().collect();
    BASE64.decode(base64.as_bytes()).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_read_as_it_is_written_and_says_who_signed() {
        let (one, other) = (PrivateKey::generate().unwrap(), PrivateKey::generate().unwrap());
        assert_ne!(one, other);
        let key = PrivateKey::from_pem(&one).unwrap();
        let public = PublicKey::from_pem(&key.public().to_pem()).unwrap();
        assert_eq!(public, key.public());
        let signature = key.sign(b"text").unwrap();
        assert!(public.has_signed(b"text", &signature));
        assert!(!public.has_signed(b"another", &signature));
        assert!(!PrivateKey::from_pem(&other).unwrap().public().has_signed(b"text", &signature));
        assert!(!format!("{key:?}").contains(one.lines().nth(1).unwrap()));
    }

    #[test]
    fn what_is_no_key_is_refused() {
        let key = PrivateKey::generate().unwrap();
        let public = PrivateKey::from_pem(&key).unwrap().public().to_pem();
        for text in ["", "-----BEGIN PRIVATE KEY-----", &public, &key.replace("PRIVATE", "ENCRYPTED PRIVATE")] {
            assert!(PrivateKey::from_pem(text).is_err(), "{text}");
        }
        let short = to_pem(PUBLIC, &POINT_PREFIX);
        let compressed = to_pem(PUBLIC, &[POINT_PREFIX.as_slice(), &[2; POINT_BYTES]].concat());
        for text in ["", &key, &short, &compressed] {
            assert!(PublicKey::from_pem(text).is_err(), "{text}");
        }
    }
}

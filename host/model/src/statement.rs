//! What is stated about things, for other programs to read: in-toto's statements, in DSSE's envelopes, which can be signed. Knows no keys.
//!
//! Of what others wrote, `null` is nothing, as programs in Go write their empty lists and maps.

use crate::sha256::Sha256;
use data_encoding::BASE64;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Value;
use std::collections::BTreeMap;

/// What an envelope says that holds a statement.
pub const STATEMENT: &str = "application/vnd.in-toto+json";
/// The versions of statements; the first one is written.
pub const STATEMENT_TYPES: [&str; 2] = ["https://in-toto.io/Statement/v1", "https://in-toto.io/Statement/v0.1"];

/// Bytes, what they are, and who signed them.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Envelope {
    /// The bytes, in base64.
    pub payload: String,
    /// What they are.
    pub payload_type: String,
    /// Who signed them, each by a signature of [`signed_bytes`].
    #[serde(default, deserialize_with = "null_is_nothing")]
    pub signatures: Vec<Signature>,
}

/// A signature, and which key is said to have made it.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Signature {
    /// The signature, in base64.
    pub sig: String,
    /// The key's name; nothing where something else says it.
    #[serde(default, deserialize_with = "null_is_nothing")]
    pub keyid: String,
}

impl Signature {
    /// A signature by the key of that name.
    pub fn of(keyid: String, bytes: &[u8]) -> Signature {
        Signature { sig: BASE64.encode(bytes), keyid }
    }

    /// Its bytes.
    ///
    /// # Errors
    /// It is no base64.
    pub fn bytes(&self) -> Result<Vec<u8>, String> {
        decoded("signature", &self.sig)
    }
}

impl Envelope {
    /// An envelope around a statement.
    pub fn of(payload: &[u8], signatures: Vec<Signature>) -> Envelope {
        Envelope { payload: BASE64.encode(payload), payload_type: STATEMENT.to_owned(), signatures }
    }

    /// What is in it.
    ///
    /// # Errors
    /// It is no base64.
    pub fn payload(&self) -> Result<Vec<u8>, String> {
        decoded("payload", &self.payload)
    }
}

fn decoded(what: &str, text: &str) -> Result<Vec<u8>, String> {
    BASE64.decode(text.as_bytes()).map_err(|error| format!("the {what} is malformed: {error}"))
}

/// What is signed: type and payload, each with its length (DSSE's pre-authentication encoding).
pub fn signed_bytes(kind: &str, payload: &[u8]) -> Vec<u8> {
    let head = format!("DSSEv1 {} {kind} {} ", kind.len(), payload.len());
    [head.as_bytes(), payload].concat()
}

/// Something said about some things.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Statement {
    /// Its version.
    #[serde(rename = "_type")]
    pub kind: String,
    /// What it is about.
    #[serde(default, deserialize_with = "null_is_nothing")]
    pub subject: Vec<Subject>,
    /// What kind of thing is said.
    pub predicate_type: String,
    /// What is said.
    #[serde(default)]
    pub predicate: Value,
}

impl Statement {
    /// A statement.
    pub fn of(subject: Vec<Subject>, predicate_type: &str, predicate: Value) -> Statement {
        let (kind, predicate_type) = (STATEMENT_TYPES[0].to_owned(), predicate_type.to_owned());
        Statement { kind, subject, predicate_type, predicate }
    }
}

/// One thing that a statement is about.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Subject {
    /// What it is called.
    #[serde(default, deserialize_with = "null_is_nothing")]
    pub name: String,
    /// Its content's digests, by algorithm.
    #[serde(default, deserialize_with = "null_is_nothing")]
    pub digest: BTreeMap<String, String>,
    /// What else is known of it.
    #[serde(default, deserialize_with = "null_is_nothing", skip_serializing_if = "BTreeMap::is_empty")]
    pub annotations: BTreeMap<String, Value>,
}

impl Subject {
    /// A thing by its content.
    pub fn of(name: String, digest: Sha256) -> Subject {
        Subject { name, digest: BTreeMap::from([("sha256".to_owned(), digest.hex())]), annotations: BTreeMap::new() }
    }

    /// Its content's name, if that is among those which are given.
    pub fn sha256(&self) -> Option<Sha256> {
        format!("sha256:{}", self.digest.get("sha256")?).parse().ok()
    }
}

/// Reads `null` as what stands there if nothing does.
///
/// # Errors
/// It is neither that nor what is expected.
pub fn null_is_nothing<'de, D, T>(from: D) -> Result<T, D::Error>
where
    D: Deserializer<'de>,
    T: Deserialize<'de> + Default,
{
    Option::deserialize(from).map(Option::unwrap_or_default)
}

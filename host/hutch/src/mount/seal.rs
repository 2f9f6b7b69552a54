//! What shows that a staging folder, and the journal in it, are this instance's own: they are sealed with its key, which is in no export.
//! Where something lies and which numbers it has shows nothing: whoever can write there can see to both, and an entry of the ledger may
//! have come from elsewhere.

use super::STAGING;
use hutch_model::digest::Digest;
use hutch_model::ledger::SecretKey;

/// Characters of a digest that stand in the name of a staging folder, for each of the two.
const SHOWN: usize = 16;

/// Those that follow [`STAGING`] in such a name.
pub(super) const NAME_DIGITS: usize = 2 * SHOWN;

/// A staging folder of this instance, and what its journal is sealed with.
#[derive(Clone, Debug)]
pub(crate) struct Seal {
    key: SecretKey,
    /// The entry that says what is to be done.
    intent: Digest,
    /// Where the granted folder is.
    path: String,
    staging: String,
}

impl Seal {
    /// That of the staging folder that the entry `intent` names for the granted folder at `path`; `None` if this instance gave no such name
    /// for that place.
    pub(crate) fn of(key: &SecretKey, intent: Digest, path: &str, staging: &str) -> Option<Seal> {
        let run = staging.strip_prefix(STAGING)?.get(..SHOWN)?;
        let is_ours = !run.contains(['/', '\\']) && named(key, path, run) == staging;
        is_ours.then(|| Seal { key: key.clone(), intent, path: path.to_owned(), staging: staging.to_owned() })
    }

    /// The name of the staging folder.
    pub(super) fn staging(&self) -> &str {
        &self.staging
    }

    /// The seal of a journal.
    pub(super) fn journal(&self, bytes: &[u8]) -> Digest {
        let Seal { key, intent, path, staging } = self;
        key.seal(&[b"journal", intent.as_bytes(), path.as_bytes(), staging.as_bytes(), bytes])
    }
}

/// The name of the staging folder in the granted folder at `path` for one run: another one for each.
pub(crate) fn staging_name(key: &SecretKey, path: &str, run: &Digest) -> String {
    named(key, path, run.to_string().get(..SHOWN).unwrap_or_default())
}

fn named(key: &SecretKey, path: &str, run: &str) -> String {
    let seal = key.seal(&[b"staging", path.as_bytes(), run.as_bytes()]).to_string();
    format!("{STAGING}{run}{}", seal.get(..SHOWN).unwrap_or_default())
}

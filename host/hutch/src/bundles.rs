//! Instances carried from one host to another. Nobody is believed: what a bundle says is made again here, and run again, before it is
//! taken.

use crate::again::Verified;
use crate::failure::Failure;
use crate::host::Host;
use crate::package::Package;
use crate::session::Session;
use hutch_model::instant::Instant;
use hutch_model::ledger::{Sealed, SecretKey};
use hutch_store::{InstanceName, MemoryStore, StoreError, bundle};
use std::collections::BTreeMap;
use std::sync::Arc;

/// What was taken in.
#[derive(Debug)]
#[non_exhaustive]
pub struct TakenIn {
    /// New entries.
    pub entries: u64,
    /// Each of them, and what running it again came to: equal, or why it can't be had again, if it kept nothing.
    pub verified: Vec<(Sealed, Verified)>,
}

impl Session {
    /// The entries behind place `after`, with the objects and streams that they brought; nothing if there are none.
    ///
    /// # Errors
    /// The store can't be read, or a state is not kept any more.
    pub fn bundle(&self, after: u64) -> Result<Vec<u8>, Failure> {
        Ok(bundle::export(self.store(), after)?)
    }
}

impl Host {
    /// Takes a bundle into an instance, which is made if it is missing. All of it or nothing is taken, unless the store fails meanwhile:
    /// then what is in it is whole, and the same again takes the rest.
    ///
    /// # Errors
    /// The bundle is damaged or cut short, begins otherwise than what the instance has, or tells of runs that come to something
    /// else here or kept a state and can't be run again here. What no guest did (a person's edits and imports) is taken as told.
    pub fn take_in(
        &self,
        package: &Package,
        instance: &InstanceName,
        at: Instant,
        bytes: &[u8],
    ) -> Result<TakenIn, Failure> {
        if bytes.is_empty() {
            return Ok(TakenIn { entries: 0, verified: Vec::new() });
        }
        // Where there is no instance yet, none is made for what is damaged.
        if !self.is_there(package, instance)? {
            whole(bundle::take_in(&MemoryStore::new(SecretKey::new([0; 32])), bytes)?, bytes)?;
        }
        let session = self.open_unready(package, instance, at)?;
        session.absorb_edits()?;
        let first = session.head()?.last.sequence.saturating_add(1);
        let trial = session.over(Arc::new(MemoryStore::over(session.store.clone())));
        let taken = whole(bundle::take_in(trial.store(), bytes)?, bytes)?;
        let mut verified = Vec::new();
        let entries = trial.entries(first).collect::<Result<Vec<_>, _>>()?;
        // Before the first guest starts: behind a ring nothing is compiled.
        entries.iter().for_each(|sealed| self.load_again(package, sealed));
        for sealed in entries {
            match self.verify(package, &trial, &sealed, &BTreeMap::new())? {
                Verified::Differs(differences) => {
                    return Err(Failure::BundleDiffers { sequence: sealed.sequence, differences });
                }
                // Whoever wrote the bundle says so, and the state would be what they say.
                Verified::NotReproducible(reason) if sealed.open().map_err(Failure::Entry)?.record.kept => {
                    return Err(Failure::BundleUnproved { sequence: sealed.sequence, reason });
                }
                other => verified.push((sealed, other)),
            }
        }
        if session.keeps() {
            bundle::take_in(session.store(), bytes)?;
        }
        let _ = session.update_plain();
        Ok(TakenIn { entries: taken.entries, verified })
    }
}

/// Refuses a bundle of which the end is missing.
fn whole(taken: bundle::TakenIn, bytes: &[u8]) -> Result<bundle::TakenIn, Failure> {
    if taken.whole_bytes == bytes.len() as u64 {
        return Ok(taken);
    }
    let (at, what) = ("the bundle".to_owned(), "its end".to_owned());
    Err(StoreError::Damaged { at, what, reason: "is cut short".to_owned() }.into())
}

//! Instances carried from one host to another. Nobody is believed: what a bundle says is made again here, and run again, before it is
//! taken.

use crate::again::Verified;
use crate::failure::Failure;
use crate::host::Host;
use crate::package::{PackError, Package};
use crate::session::Session;
use hutch_model::digest::Digest;
use hutch_model::instant::Instant;
use hutch_model::ledger::{Pin, Sealed, SecretKey};
use hutch_sandbox::RunError;
use hutch_store::bundle::{self, Parts};
use hutch_store::{Head, InstanceName, MemoryStore, Store, StoreError};
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

    /// The entries behind place `after` up to place `to`, as bundles of at most so many bytes, each for whoever took the one before.
    pub fn bundles(&self, after: u64, to: u64, bytes_max: usize) -> Parts<'_> {
        Parts::of(self.store(), after, to, bytes_max)
    }

    /// Those of the `known` packages that made the runs behind place `after` and up to place `to`, packed, for [`Parts::carrying`]: whoever
    /// has none of them can make the runs again all the same.
    ///
    /// # Errors
    /// A run was made by a package that is not among them; one can't be read; or the store can't be.
    pub fn makers(&self, known: &[Package], (after, to): (u64, u64)) -> Result<Vec<Vec<u8>>, Failure> {
        let mut named = BTreeMap::new();
        for sealed in self.entries(after.saturating_add(1)) {
            let entry = sealed?.open().map_err(Failure::Entry)?;
            if entry.sequence > to {
                break;
            }
            if let Some(digest) = entry.record.package.digest.filter(|_| entry.record.outcome.is_some()) {
                named.entry(digest).or_insert(entry.sequence);
            }
        }
        let mut packed = BTreeMap::new();
        for package in known {
            let digest = package.run_digest()?;
            if named.remove(&digest).is_some() {
                let mut bytes = Vec::new();
                package.pack(&mut bytes).map_err(|error| match error {
                    PackError::Package(error) => Failure::Package(error),
                    PackError::Io(error) => Failure::Run(RunError::Host(error.to_string())),
                })?;
                packed.insert(digest, bytes);
            }
        }
        match named.into_values().min() {
            None => Ok(packed.into_values().collect()),
            Some(sequence) => Err(Failure::MakerMissing { sequence }),
        }
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
        self.take_in_all((package, &[]), instance, at, [(Ok::<_, Failure>(bytes), None)])
    }

    /// Takes bundles in one after the other, each as [`take_in`](Host::take_in) does: when one is refused, those before it are taken. With a
    /// bundle may come an entry that there has to be once it is taken, or none of it is. What earlier versions of the package did is run again
    /// by the `earlier` ones that are at hand.
    ///
    /// # Errors
    /// As there; the entry is missing, or is another one; or what getting a bundle gave.
    pub fn take_in_all<B: AsRef<[u8]>, E: From<Failure>>(
        &self,
        (package, earlier): (&Package, &[Package]),
        instance: &InstanceName,
        at: Instant,
        bundles: impl IntoIterator<Item = (Result<B, E>, Option<Pin>)>,
    ) -> Result<TakenIn, E> {
        let mut all = TakenIn { entries: 0, verified: Vec::new() };
        let (mut session, makers) = (None, Makers::of(package, earlier)?);
        for (bundle, head) in bundles {
            let (bundle, there) = (bundle?, session.take());
            let (bytes, to) = (bundle.as_ref(), (instance, at));
            if bytes.is_empty() && head.is_none() {
                session = there;
                continue;
            }
            let (taken, there) = self.take_one(&makers, to, there, bytes, head)?;
            // Whatever becomes of the next one, people see what has come.
            let _ = there.update_plain();
            all.entries += taken.entries;
            all.verified.extend(taken.verified);
            session = Some(there);
        }
        Ok(all)
    }

    fn take_one(
        &self,
        makers: &Makers<'_>,
        (instance, at): (&InstanceName, Instant),
        there: Option<Session>,
        bytes: &[u8],
        head: Option<Pin>,
    ) -> Result<(TakenIn, Session), Failure> {
        if let Some(session) = there {
            return self.prove_and_take(makers, session, bytes, head);
        }
        // Where there is no instance yet, none is made for what is damaged. Once a guest has run, none can be made any more, so one is made
        // before it is known what the runs come to.
        let is_new = !self.is_there(makers.now, instance)?;
        if is_new {
            let nothing = MemoryStore::new(SecretKey::new([0; 32]));
            whole(bundle::take_in(&nothing, bytes)?, bytes)?;
            has(&nothing, head)?;
        }
        let session = self.open_unready(makers.now, instance, at)?;
        let taken = session.absorb_edits().and_then(|_| self.prove_and_take(makers, session, bytes, head));
        if is_new && taken.is_err() {
            // That it was refused is what there is to say. One that stays all the same has nothing in it.
            let _ = self.take_back(makers.now, instance);
        }
        taken
    }

    /// Takes an instance back that was made for what was then refused.
    #[cfg(feature = "machine")]
    fn take_back(&self, package: &Package, instance: &InstanceName) -> Result<(), Failure> {
        let slug = package.manifest().slug();
        // What is elsewhere is made when it is first written.
        if self.keeps() && self.given_store(slug, instance, false)?.is_none() {
            self.store_of(slug, instance)?.unmake()?;
        }
        Ok(())
    }

    #[cfg(not(feature = "machine"))]
    fn take_back(&self, _: &Package, _: &InstanceName) -> Result<(), Failure> {
        Ok(())
    }

    fn prove_and_take(
        &self,
        makers: &Makers<'_>,
        session: Session,
        bytes: &[u8],
        head: Option<Pin>,
    ) -> Result<(TakenIn, Session), Failure> {
        let trial = session.over(Arc::new(MemoryStore::over(session.store.clone())));
        let first = trial.head()?.last.sequence.saturating_add(1);
        let taken = whole(bundle::take_in(trial.store(), bytes)?, bytes)?;
        has(trial.store(), head)?;
        let mut verified = Vec::new();
        let entries = trial.entries(first).collect::<Result<Vec<_>, _>>()?;
        // Before the first guest starts: behind a ring nothing is compiled.
        for sealed in &entries {
            self.load_again(makers.of_entry(sealed)?, sealed);
        }
        for sealed in entries {
            match self.verify(makers.of_entry(&sealed)?, &trial, &sealed, &BTreeMap::new())? {
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
        // A preview's store is one over the other: there the next bundle finds it.
        bundle::take_in(session.store(), bytes)?;
        Ok((TakenIn { entries: taken.entries, verified }, session))
    }
}

/// The versions of a package that can be run again, each by what entries call it.
struct Makers<'p> {
    now: &'p Package,
    earlier: Vec<(Digest, &'p Package)>,
}

impl<'p> Makers<'p> {
    fn of(now: &'p Package, earlier: &'p [Package]) -> Result<Makers<'p>, Failure> {
        let named = earlier.iter().map(|package| Ok((package.run_digest()?, package)));
        Ok(Makers { now, earlier: named.collect::<Result<_, Failure>>()? })
    }

    /// The version that made an entry, if it is at hand; else the present one, which says why it can't.
    fn of_entry(&self, sealed: &Sealed) -> Result<&'p Package, Failure> {
        let made_by = sealed.open().map_err(Failure::Entry)?.record.package.digest;
        let found = self.earlier.iter().find(|(version, _)| Some(*version) == made_by);
        Ok(found.map_or(self.now, |(_, package)| package))
    }
}

/// Refuses a ledger that has not the entry that somebody wrote down.
fn has(store: &dyn Store, head: Option<Pin>) -> Result<(), Failure> {
    let Some(head) = head.filter(|head| *head != Head::default().last) else { return Ok(()) };
    let reason = match store.entry(head.sequence)? {
        Some(entry) if entry.pin() == head => return Ok(()),
        Some(_) => "is another one than the head that was written down".to_owned(),
        None => format!("was cut off: it ends with entry {}", store.head()?.last.sequence),
    };
    let what = format!("entry {}", head.sequence);
    Err(StoreError::Damaged { at: "the bundle".to_owned(), what, reason }.into())
}

/// Refuses a bundle of which the end is missing.
fn whole(taken: bundle::TakenIn, bytes: &[u8]) -> Result<bundle::TakenIn, Failure> {
    if taken.whole_bytes == bytes.len() as u64 {
        return Ok(taken);
    }
    let (at, what) = ("the bundle".to_owned(), "its end".to_owned());
    Err(StoreError::Damaged { at, what, reason: "is cut short".to_owned() }.into())
}

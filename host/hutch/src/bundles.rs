//! Instances carried from one host to another. Nobody is believed: what a bundle says is made again here, and run again, before it is
//! taken.

use crate::again::Verified;
use crate::answer::VolumeChange;
use crate::call::Grants;
use crate::failure::Failure;
use crate::host::Host;
use crate::package::{Package, folder_snapshot};
use crate::session::Session;
use hutch_model::diagnostic::short;
use hutch_model::digest::Digest;
use hutch_model::instant::Instant;
use hutch_model::ledger::{EntryKind, InvocationRecord, Pin, Record, Sealed, SecretKey, VolumeRecord};
use hutch_model::limits::{Limit, Limits};
use hutch_model::snapshot::{MemoryObjects, Totals, diff, read_object};
use hutch_store::bundle::{self, Bundle, Parts};
use hutch_store::{EntryKey, Head, InstanceName, MemoryStore, Store, StoreError};
use std::collections::BTreeMap;
use std::sync::Arc;

/// What was taken in.
#[derive(Debug, Default)]
#[non_exhaustive]
pub struct TakenIn {
    /// New entries.
    pub entries: u64,
    /// How many of them changed the state and were taken as they tell it, because no run came to it.
    pub as_told: u64,
    /// How many of them came as records alone, because their states had been dropped where they were made: nothing of them can be made again, and those
    /// that changed the state are among [`as_told`](TakenIn::as_told).
    pub dropped: u64,
    /// How many of them took changes back or made them again, which nobody here asked for.
    pub moved: u64,
    /// How many of them are runs that somebody confirmed where they were made, as they tell it: nobody here did.
    pub confirmed: u64,
    /// How many of them are plans of calls that nobody here asked for: carrying one out asks always.
    pub plans: u64,
    /// How many of them came to the same again by a package that was [carried](Package::carried) with them.
    pub by_carried: u64,
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
        let (mut named, kept_from) = (BTreeMap::new(), self.head()?.retained_from);
        for sealed in self.entries(after.saturating_add(1)) {
            let entry = sealed?.open().map_err(Failure::Entry)?;
            if entry.sequence > to {
                break;
            }
            // Of what has no state any more no run can be made again, whoever has its maker.
            let is_run = entry.record.outcome.is_some() && entry.sequence >= kept_from;
            if let Some(digest) = entry.record.package.digest.filter(|_| is_run) {
                named.entry(digest).or_insert(entry.sequence);
            }
        }
        let mut packed = BTreeMap::new();
        for package in known {
            let digest = package.run_digest()?;
            if named.remove(&digest).is_some() {
                packed.insert(digest, package.packed()?);
            }
        }
        match named.into_values().min() {
            None => Ok(packed.into_values().collect()),
            Some(sequence) => Err(Failure::MakerMissing { sequence }),
        }
    }
}

impl Host {
    /// Takes a bundle into an instance, which is made if it is missing: all of it or, where a store can do that, nothing. The instance is
    /// then this package's, whomever the bundle names, and what the bundle tells of takes no more than a run of the package may.
    ///
    /// # Errors
    /// The bundle is damaged or cut short, begins otherwise than what the instance has, or tells of runs that come to something
    /// else here or kept a state and can't be run again here; it takes more than is allowed; or the instance is another package's.
    pub fn take_in(
        &self,
        package: &Package,
        instance: &InstanceName,
        at: Instant,
        bytes: impl Into<Vec<u8>>,
    ) -> Result<TakenIn, Failure> {
        self.take_in_all((package, &[], &[]), instance, at, &BTreeMap::new(), [(Ok::<_, Failure>(bytes), None)])
    }

    /// Takes bundles in one after the other, each as [`take_in`](Host::take_in) does: when one is refused, those before it are taken. With a
    /// bundle may come an entry that there has to be once it is taken, or none of it is. What earlier versions of the package did is run again by
    /// the `earlier` ones that are at hand. Each run takes no more than one of the version that made it may here, but for what the operator
    /// says. Of `secrets` a run is given those that it was given, by their names: a bundle holds none, and what they were is known by what the
    /// run comes to.
    ///
    /// # Errors
    /// As there; the entry is missing, or is another one; or what getting a bundle gave.
    pub fn take_in_all<B: Into<Vec<u8>>, E: From<Failure>>(
        &self,
        (package, earlier, operator): (&Package, &[Package], &[(Limit, u64)]),
        instance: &InstanceName,
        at: Instant,
        secrets: &BTreeMap<String, String>,
        bundles: impl IntoIterator<Item = (Result<B, E>, Option<Pin>)>,
    ) -> Result<TakenIn, E> {
        let mut all = TakenIn::default();
        let (mut session, makers) = (None, Makers::of(self, (package, earlier), operator, secrets)?);
        for (bundle, head) in bundles {
            let (bundle, there) = (bundle?, session.take());
            let bytes = bundle.into();
            if bytes.is_empty() && head.is_none() {
                session = there;
                continue;
            }
            let bundle = Arc::new(whole(Bundle::read(bytes).map_err(Failure::from)?)?);
            let (taken, there) = self.take_one(&makers, (instance, at), there, &bundle, head)?;
            // Whatever becomes of the next one, people see what has come.
            let _ = there.update_plain();
            all.entries += taken.entries;
            all.as_told += taken.as_told;
            all.dropped += taken.dropped;
            all.moved += taken.moved;
            all.confirmed += taken.confirmed;
            all.plans += taken.plans;
            all.by_carried += taken.by_carried;
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
        bundle: &Arc<Bundle<Vec<u8>>>,
        head: Option<Pin>,
    ) -> Result<(TakenIn, Session), Failure> {
        if let Some(session) = there {
            return self.prove_and_take(makers, session, bundle, head);
        }
        let package = makers.now.package;
        // Where there is no instance yet, none is made for what is damaged. Once a guest has run, none can be made any more, so one is made
        // before it is known what the runs come to.
        let is_new = !self.is_there(package, instance)?;
        if is_new {
            let nothing = MemoryStore::new(SecretKey::new([0; 32])).lent(Arc::clone(bundle));
            bundle.take_into(&nothing)?;
            has(&nothing, head)?;
        }
        let session = self.open_unready(package, instance, at)?;
        if !is_new {
            // Whoever's it is decides what comes into it.
            session.new_owner(&session.head()?, package, self.adopts())?;
        }
        let taken = session.absorb_edits().and_then(|_| self.prove_and_take(makers, session, bundle, head));
        if is_new && taken.is_err() {
            // That it was refused is what there is to say. One that stays all the same has nothing in it.
            let _ = self.take_back(package, instance);
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
        bundle: &Arc<Bundle<Vec<u8>>>,
        head: Option<Pin>,
    ) -> Result<(TakenIn, Session), Failure> {
        // It lies where the bundle is, which is all that is held of it.
        let trial = session.over(Arc::new(MemoryStore::over(session.store.clone()).lent(Arc::clone(bundle))));
        let before = trial.head()?;
        let new = bundle.take_into(trial.store())?;
        has(trial.store(), head)?;
        settled(&before, &trial.head()?)?;
        let entries = trial.entries(before.last.sequence.saturating_add(1)).collect::<Result<Vec<_>, _>>()?;
        let mut taken = TakenIn { entries: new, ..TakenIn::default() };
        let kept_from = trial.head()?.retained_from;
        let is_kept = |sealed: &Sealed| sealed.sequence >= kept_from;
        for sealed in &entries {
            let record = sealed.open().map_err(Failure::Entry)?.record;
            let Maker { package, limits } = makers.of_entry(&record);
            // Another application's run is none of this one's, whoever brought what made it.
            if record.outcome.is_some() && record.package.slug != makers.now.package.manifest().slug().as_str() {
                let reason = format!("it is of the package {:?}", short(&record.package.slug));
                return Err(Failure::BundleUnproved { sequence: sealed.sequence, reason });
            }
            within(&trial, (sealed.sequence, kept_from), &record, limits)?;
            follows(&trial, sealed.sequence, &record)?;
            taken.as_told += u64::from(match is_kept(sealed) {
                true => told(&trial, package, sealed.sequence, &record)?,
                false => record.changes_state(),
            });
            taken.dropped += u64::from(!is_kept(sealed));
            let is_move = matches!(record.kind, EntryKind::Undo | EntryKind::Restore);
            taken.moved += u64::from(is_move && record.changes_state());
            let is_confirmed = record.invocation.as_ref().is_some_and(|invocation| invocation.confirmed);
            taken.confirmed += u64::from(record.outcome.is_some() && is_confirmed);
            taken.plans += u64::from(record.outcome.is_some() && record.kind == EntryKind::Plan);
            // Before the first guest starts: behind a ring nothing is compiled.
            if is_kept(sealed) {
                self.load_again(package, sealed);
            }
        }
        for sealed in &entries {
            let record = sealed.open().map_err(Failure::Entry)?.record;
            let package = makers.of_entry(&record).package;
            match self.verify_given(package, &trial, sealed, &makers.grants)? {
                Verified::Differs(differences) => {
                    return Err(Failure::BundleDiffers { sequence: sealed.sequence, differences });
                }
                // Whoever wrote the bundle says so, and the state would be what they say.
                Verified::NotReproducible(reason) if record.changes_state() && is_kept(sealed) => {
                    return Err(Failure::BundleUnproved { sequence: sealed.sequence, reason });
                }
                other => {
                    taken.by_carried += u64::from(other == Verified::Equal && package.is_carried());
                    taken.verified.push((sealed.clone(), other));
                }
            }
        }
        // A preview's store is one over the other: there the next bundle finds it.
        session.store.take(&entries, trial.store(), &session.as_owner(makers.now.package))?;
        Ok((taken, session))
    }
}

/// Whether an entry changes the state and says so on nobody's word but its maker's: a person's edits, states from outside, and first states
/// that are not those of a package at hand.
///
/// # Errors
/// It is of a kind that is proved, and there is nothing to prove it by.
fn told(trial: &Session, maker: &Package, sequence: u64, record: &Record) -> Result<bool, Failure> {
    let unproved = |reason: &str| Err(Failure::BundleUnproved { sequence, reason: reason.to_owned() });
    let is_run = record.outcome.is_some() && record.invocation.is_some();
    if !record.changes_state() || is_run {
        return Ok(false);
    }
    match record.kind {
        EntryKind::Edit | EntryKind::Import => Ok(true),
        EntryKind::Create => {
            // A volume is made once, so its folder is looked at once, however many entries say that they make it.
            if record.volumes.values().any(|volume| volume.before.is_some()) {
                return Ok(true);
            }
            let mut objects = MemoryObjects::default();
            for (name, volume) in &record.volumes {
                let shipped = maker.manifest().volumes().iter().find(|path| path.as_str() == name);
                let shipped = shipped.map(|path| folder_snapshot(maker, path, &mut objects)).transpose()?;
                if shipped != Some(volume.after) {
                    return Ok(true);
                }
            }
            Ok(false)
        }
        EntryKind::Undo | EntryKind::Restore => {
            let followed = followed(trial, sequence, record)?.map_or(0, |followed| followed.sequence);
            let state = trial.store.state_at(followed.saturating_sub(u64::from(record.kind == EntryKind::Undo)))?;
            let is_there = |(name, volume): (&String, &VolumeRecord)| state.get(name.as_str()) == Some(&volume.after);
            match record.volumes.iter().all(is_there) {
                true => Ok(false),
                false => unproved("it goes back to a state that was never there"),
            }
        }
        _ => unproved("no run is told of that came to it"),
    }
}

/// Whether a move changed the paths that it says it did. Of states that are not kept any more that is its maker's word, as they are.
fn moved_as_told(trial: &Session, sequence: u64, record: &Record) -> Result<bool, Failure> {
    if sequence <= trial.head()?.retained_from {
        return Ok(true);
    }
    let objects = trial.objects();
    for volume in record.volumes.values() {
        let (before, after) = (volume.before.unwrap_or(volume.after), volume.after);
        let changes = diff(&*objects, &before, &after);
        let changes = changes.map_err(|error| StoreError::object(bundle::AT, &error))?;
        let told = VolumeRecord { before: Some(before), ..volume.clone() };
        if !(VolumeChange { before, after, changes }).is_recorded_as(&told) {
            return Ok(false);
        }
    }
    Ok(true)
}

/// The earlier entry that one follows, if it does.
fn followed(trial: &Session, sequence: u64, record: &Record) -> Result<Option<Sealed>, Failure> {
    let found = record.follows.map(|hash| trial.store.find(&EntryKey::Hash(hash))).transpose()?;
    Ok(found.and_then(|mut found| found.pop()).filter(|followed| followed.sequence < sequence))
}

/// Refuses what follows nothing and could not be without: a move, an invocation that was made again, and a plan that was carried out.
fn follows(trial: &Session, sequence: u64, record: &Record) -> Result<(), Failure> {
    let unproved = |reason: &str| Err(Failure::BundleUnproved { sequence, reason: reason.to_owned() });
    let followed = followed(trial, sequence, record)?.map(|followed| followed.open()).transpose();
    let followed = followed.map_err(Failure::Entry)?.map(|entry| entry.record);
    let is_of_plan = followed.as_ref().is_some_and(|followed| followed.kind == EntryKind::Plan);
    let is_same_call = match (followed.as_ref().and_then(|followed| followed.invocation.as_ref()), &record.invocation) {
        // What is given anew is whether somebody agreed, and where folders are.
        (Some(one), Some(other)) => {
            let (confirmed, mounts) = (other.confirmed, other.mounts.clone());
            InvocationRecord { confirmed, mounts, ..one.clone() } == *other
        }
        _ => false,
    };
    match record.kind {
        EntryKind::Undo | EntryKind::Restore if followed.is_none() && record.changes_state() => {
            unproved("it goes back to an entry that is not there")
        }
        // What was not kept is held to no limit, and nothing came of it.
        EntryKind::Undo | EntryKind::Restore if record.kept && !moved_as_told(trial, sequence, record)? => {
            unproved("it went back over other changes than it tells")
        }
        EntryKind::Replay if record.outcome.is_some() && !is_same_call => {
            unproved("it makes a call again that is not there")
        }
        EntryKind::Apply if record.outcome.is_some() && !(is_of_plan && is_same_call) => {
            unproved("it carries out a plan that is not there")
        }
        _ => Ok(()),
    }
}

/// Refuses what takes more than is allowed: invocations, before they are made again, and states, before any of them is stored. With the first entry
/// whose states are kept comes the one that it stands on.
fn within(trial: &Session, (sequence, kept_from): (u64, u64), record: &Record, limits: &Limits) -> Result<(), Failure> {
    asks_within(sequence, record, limits)?;
    let stands_on = (sequence == kept_from).then_some(sequence.saturating_sub(1));
    let leads_to = (sequence >= kept_from && record.changes_state()).then_some(sequence);
    for place in stands_on.into_iter().chain(leads_to) {
        let (mut all, objects) = (Totals::default(), trial.objects());
        for tree in trial.store.state_at(place)?.into_values() {
            let top = read_object(&*objects, &tree).map_err(|error| StoreError::object(trial.store.at(), &error))?;
            all = all.plus(top.totals());
        }
        state_within(place, all, limits)?;
    }
    Ok(())
}

/// Refuses a state that takes more than is allowed.
pub(crate) fn state_within(sequence: u64, all: Totals, limits: &Limits) -> Result<(), Failure> {
    let depth = (Limit::FolderDepth, u64::from(all.depth));
    let amounts = [(Limit::StateFiles, all.files), (Limit::StateBytes, all.bytes), depth];
    amounts.into_iter().try_for_each(|(limit, value)| match limits.get(limit) {
        allowed if value <= allowed => Ok(()),
        allowed => Err(Failure::BundleBeyond { sequence, limit, value, allowed }),
    })
}

/// Refuses an invocation that may take more than is allowed.
pub(crate) fn asks_within(sequence: u64, record: &Record, limits: &Limits) -> Result<(), Failure> {
    let Some(invocation) = &record.invocation else { return Ok(()) };
    let asked = Limit::ALL.iter().map(|limit| (*limit, invocation.limits.get(*limit), limits.get(*limit)));
    match asked.into_iter().find(|(_, value, allowed)| value > allowed) {
        Some((limit, value, allowed)) => Err(Failure::BundleBeyond { sequence, limit, value, allowed }),
        None => Ok(()),
    }
}

/// Refuses what begins or ends a change of granted folders: those are on one machine, and what was begun there is ended there.
fn settled(before: &Head, after: &Head) -> Result<(), Failure> {
    let Some(intent) = before.open.symmetric_difference(&after.open).next() else { return Ok(()) };
    let (at, what) = (bundle::AT.to_owned(), format!("entry {intent}"));
    let reason = "changes a granted folder, and where that ends is not in it".to_owned();
    Err(StoreError::Damaged { at, what, reason }.into())
}

/// A version of a package that makes runs again, and what they may take.
struct Maker<'p> {
    package: &'p Package,
    limits: Limits,
}

/// The versions of a package that can be run again, each by what entries call it.
struct Makers<'p> {
    now: Maker<'p>,
    named: Digest,
    earlier: Vec<(Digest, Maker<'p>)>,
    /// What runs that were made elsewhere are given again.
    grants: Grants,
}

impl<'p> Makers<'p> {
    fn of(
        host: &Host,
        (now, earlier): (&'p Package, &'p [Package]),
        operator: &[(Limit, u64)],
        secrets: &BTreeMap<String, String>,
    ) -> Result<Makers<'p>, Failure> {
        let maker = |package: &'p Package| Maker { package, limits: host.limits(package, operator.iter().copied()) };
        let is_same = |package: &&Package| package.manifest().slug() == now.manifest().slug();
        let named = earlier.iter().filter(is_same).map(|package| Ok((package.run_digest()?, maker(package))));
        let earlier = named.collect::<Result<Vec<_>, Failure>>()?;
        let grants = Grants { secrets: secrets.clone(), made_elsewhere: true, ..Grants::default() };
        Ok(Makers { now: maker(now), named: now.run_digest()?, earlier, grants })
    }

    /// The version that made an entry, if it is at hand; else the present one, which says why it can't.
    fn of_entry(&self, record: &Record) -> &Maker<'p> {
        let others = record.package.digest.filter(|version| *version != self.named);
        let found = self.earlier.iter().find(|(version, _)| Some(*version) == others);
        found.map_or(&self.now, |(_, maker)| maker)
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
    Err(StoreError::Damaged { at: bundle::AT.to_owned(), what, reason }.into())
}

/// Refuses a bundle of which the end is missing.
fn whole(bundle: Bundle<Vec<u8>>) -> Result<Bundle<Vec<u8>>, Failure> {
    if bundle.is_whole() {
        return Ok(bundle);
    }
    let (at, what) = (bundle::AT.to_owned(), "its end".to_owned());
    Err(StoreError::Damaged { at, what, reason: "is cut short".to_owned() }.into())
}

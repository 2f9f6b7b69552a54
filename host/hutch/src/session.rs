//! One instance, open: its store and its plain directories, and on whose behalf.

use crate::failure::Failure;
use crate::host::Host;
use crate::package::{Package, folder_snapshot};
use crate::turns::{Turn, Turns};
use hutch_model::instant::Instant;
use hutch_model::ledger::{
    Caller, EntryKind, Origin, Owner, PackageRecord, Record, Request, Sealed, SecretKey, VolumeRecord,
};
use hutch_model::limits::Limit;
use hutch_model::names::Slug;
use hutch_model::snapshot::{Changes, MemoryObjects, Objects};
#[cfg(feature = "machine")]
use hutch_sandbox::Stop;
#[cfg(feature = "machine")]
use hutch_store::plain::Plain;
use hutch_store::{Head, InstanceName, MemoryStore, Store, StoreError, VolumeName};
#[cfg(feature = "machine")]
use hutch_store::{IfMissing, InstanceDir, Opening, SqliteStore};
use std::collections::BTreeMap;
use std::sync::Arc;
#[cfg(feature = "machine")]
use std::time::Duration;

/// How often an instance is looked at again because another process made it meanwhile.
const CONFLICTS_MAX: u32 = 8;

/// An open instance. All that is done to it is recorded as done at one instant. Clones are the same instance.
#[derive(Clone)]
pub struct Session {
    pub(crate) store: Arc<dyn Store>,
    /// The plain directories; none where nothing is kept of an instance that is not there.
    #[cfg(feature = "machine")]
    pub(crate) plain: Option<Arc<Plain>>,
    /// Where it lies; none if it is nowhere on disk.
    #[cfg(feature = "machine")]
    pub(crate) dir: Option<InstanceDir>,
    #[cfg(feature = "machine")]
    pub(crate) wait: Duration,
    pub(crate) turns: Arc<Turns>,
    keeps: bool,
    instance: InstanceName,
    package: PackageRecord,
    at: Instant,
    /// The program on whose behalf all of it is done.
    caller: Option<Caller>,
    /// The name that it gave to its request.
    request: Option<Request>,
    /// The place up to which nothing carried that request out.
    looked: u64,
    /// What ends its runs before their end.
    #[cfg(feature = "machine")]
    stop: Option<Stop>,
    /// The package, if a run of it is to be written down as one that may use the instance: it comes from elsewhere, or has changed.
    owner: Option<Owner>,
    /// What the ledger says that its runs took, if not what is measured.
    wall_time_us: Option<u64>,
}

impl Host {
    /// Opens the instance of a package, and makes it if it is missing: volumes without a state get the content that the package
    /// ships. `at` is the host's clock.
    ///
    /// # Errors
    /// The instance belongs to another package; the store can't be opened or written.
    pub fn open(&self, package: &Package, instance: &InstanceName, at: Instant) -> Result<Session, Failure> {
        self.open_for(EntryKind::Run, package, instance, at)
    }

    /// The same, for a call of this kind: if it is refused here, that is what the ledger says was refused.
    pub(crate) fn open_for(
        &self,
        kind: EntryKind,
        package: &Package,
        instance: &InstanceName,
        at: Instant,
    ) -> Result<Session, Failure> {
        let session = self.open_unready(package, instance, at)?;
        self.make_ready(kind, package, session)
    }

    /// Whether there is such an instance already.
    pub(crate) fn is_there(&self, package: &Package, instance: &InstanceName) -> Result<bool, Failure> {
        let slug = package.manifest().slug();
        #[cfg(feature = "machine")]
        let in_home = SqliteStore::is_there(&InstanceDir::new(self.home(), slug, instance), self.wait());
        #[cfg(not(feature = "machine"))]
        let in_home = false;
        match self.given_store(slug, instance, false) {
            Ok(Some(store)) => Ok(store.is_there()?),
            Ok(None) => Ok(in_home),
            Err(StoreError::Missing { .. }) => Ok(false),
            Err(error) => Err(error.into()),
        }
    }

    /// The instance of a package, of which nothing was looked at yet.
    pub(crate) fn open_unready(
        &self,
        package: &Package,
        instance: &InstanceName,
        at: Instant,
    ) -> Result<Session, Failure> {
        let record = package_record(package)?;
        if let Some(store) = self.given_store(package.manifest().slug(), instance, self.keeps())? {
            return Ok(self.session_of(store, instance, record, at));
        }
        #[cfg(feature = "machine")]
        {
            let dir = InstanceDir::new(self.home(), package.manifest().slug(), instance);
            if self.keeps() || SqliteStore::is_there(&dir, self.wait()) {
                return self.open_dir(dir, IfMissing::Create, instance, record, at);
            }
        }
        // What would be made is made in memory.
        let session = self.session_of(Arc::new(MemoryStore::new(SecretKey::new([0; 32]))), instance, record, at);
        Ok(Session { keeps: false, ..session })
    }

    /// The instance that a store has, which lies in no folder; nothing was looked at yet.
    pub(crate) fn session_of(
        &self,
        kept: Arc<dyn Store>,
        instance: &InstanceName,
        package: PackageRecord,
        at: Instant,
    ) -> Session {
        let keeps = self.keeps();
        Session {
            store: if keeps { kept } else { Arc::new(MemoryStore::over(kept)) },
            #[cfg(feature = "machine")]
            plain: None,
            #[cfg(feature = "machine")]
            dir: None,
            #[cfg(feature = "machine")]
            wait: self.wait(),
            turns: Arc::default(),
            keeps,
            instance: instance.clone(),
            package,
            at,
            caller: None,
            request: None,
            looked: 0,
            #[cfg(feature = "machine")]
            stop: None,
            owner: None,
            wall_time_us: None,
        }
    }

    /// Sees to it that the package may use the instance and has its volumes there, before a call of this kind.
    pub(crate) fn make_ready(
        &self,
        kind: EntryKind,
        package: &Package,
        mut session: Session,
    ) -> Result<Session, Failure> {
        session.recover()?;
        let owned = session.own(package, self.adopts());
        session.owner = session.recorded(kind, owned)?;
        session.recorded(kind, session.preview_edits())?;
        // What a process that was killed left undone; if it can't be done now either, the next commit says so.
        let _ = session.update_plain();
        Ok(session)
    }

    /// The same session, as the package's: one that was opened without it ([`Host::open_existing`]) is made ready first, so that the entry
    /// names the package, and a package that may not use the instance is refused.
    pub(crate) fn of_package(&self, kind: EntryKind, package: &Package, session: &Session) -> Result<Session, Failure> {
        match session.package.component {
            Some(_) => Ok(session.clone()),
            None => self.make_ready(kind, package, Session { package: package_record(package)?, ..session.clone() }),
        }
    }

    /// Opens an instance that is there, without its package: for looking at it and for moving between its states.
    ///
    /// # Errors
    /// There is no such instance, or the store can't be opened.
    pub fn open_existing(&self, slug: &Slug, instance: &InstanceName, at: Instant) -> Result<Session, Failure> {
        let package = PackageRecord { slug: slug.to_string(), ..PackageRecord::default() };
        let session = match self.given_store(slug, instance, false)? {
            Some(store) if !store.is_there()? => {
                return Err(StoreError::Missing { at: store.at(), what: "instance".to_owned() }.into());
            }
            Some(store) => self.session_of(store, instance, package, at),
            #[cfg(feature = "machine")]
            None => {
                self.open_dir(InstanceDir::new(self.home(), slug, instance), IfMissing::Fail, instance, package, at)?
            }
            #[cfg(not(feature = "machine"))]
            None => {
                let (at, what) = ("memory".to_owned(), format!("instance {slug}/{instance}"));
                return Err(StoreError::Missing { at, what }.into());
            }
        };
        session.recover()?;
        session.preview_edits()?;
        Ok(session)
    }

    #[cfg(feature = "machine")]
    fn open_dir(
        &self,
        dir: InstanceDir,
        if_missing: IfMissing,
        instance: &InstanceName,
        package: PackageRecord,
        at: Instant,
    ) -> Result<Session, Failure> {
        let wait = self.wait();
        let kept: Arc<dyn Store> = Arc::new(SqliteStore::open(&dir, &Opening { if_missing, wait })?);
        let plain = Some(Arc::new(Plain::open(&dir, kept.clone(), wait)?));
        let store: Arc<dyn Store> = match self.keeps() {
            true => kept,
            false => Arc::new(MemoryStore::over(kept)),
        };
        let instance = instance.clone();
        let (turns, keeps) = (Arc::default(), self.keeps());
        let (caller, request, stop, owner, wall_time_us) = (None, None, None, None, None);
        Ok(Session {
            store,
            plain,
            dir: Some(dir),
            wait,
            turns,
            keeps,
            instance,
            package,
            at,
            caller,
            request,
            looked: 0,
            stop,
            owner,
            wall_time_us,
        })
    }
}

impl Session {
    /// The same instance, at another instant.
    pub(crate) fn at(&self, at: Instant) -> Session {
        Session { at, owner: None, ..self.clone() }
    }

    /// The same instance, where the ledger says that what is applied or replayed took so long, as [`Call::wall_time_us`](crate::Call::wall_time_us)
    /// says it of a run; what was measured if `None`.
    #[must_use]
    pub fn with_wall_time_us(self, wall_time_us: Option<u64>) -> Session {
        Session { wall_time_us, ..self }
    }

    pub(crate) fn wall_time_us(&self) -> Option<u64> {
        self.wall_time_us
    }

    /// The same instance, on behalf of a program, whose runs `stop` ends: then they are recorded as cancelled, and nothing of them is
    /// kept.
    #[cfg(feature = "machine")]
    pub(crate) fn on_behalf(self, caller: Option<Caller>, stop: Stop) -> Session {
        Session { caller, stop: Some(stop), ..self }
    }

    /// The same, for a request that has a name.
    #[cfg(feature = "machine")]
    pub(crate) fn requested(self, request: Option<Request>) -> Session {
        Session { request, looked: u64::MAX, ..self }
    }

    /// The same, where no entry up to this place carried the request out.
    #[cfg(feature = "machine")]
    pub(crate) fn looked_up_to(self, looked: u64) -> Session {
        Session { looked, ..self }
    }

    /// Refuses what another process has carried out meanwhile. What is done over this head then conflicts with all that comes later.
    pub(crate) fn check_request(&self, head: &Head) -> Result<(), Failure> {
        let Some(request) = self.request.filter(|_| head.last.sequence > self.looked) else { return Ok(()) };
        match self.requests(self.looked + 1)?.into_iter().find(|(done, _)| done.key == request.key) {
            Some((_, sequence)) => Err(Failure::CarriedOut { sequence }),
            None => Ok(()),
        }
    }

    /// What ends its runs before their end, if anything may.
    #[cfg(feature = "machine")]
    pub(crate) fn stop(&self) -> Option<Stop> {
        self.stop.clone()
    }

    /// The same instance as `store` has it: to try something of which nothing is kept.
    pub(crate) fn over(&self, store: Arc<dyn Store>) -> Session {
        Session { store, keeps: false, ..self.clone() }
    }

    /// The turn to change the instance, if it comes in time.
    #[cfg(feature = "machine")]
    pub(crate) fn turn(&self) -> Option<Turn<'_>> {
        self.turns.take(self.wait)
    }

    /// Nobody else is here to change the instance.
    #[cfg(not(feature = "machine"))]
    pub(crate) fn turn(&self) -> Option<Turn<'_>> {
        self.turns.take(std::time::Duration::ZERO)
    }

    /// The store, for reading.
    pub fn store(&self) -> &dyn Store {
        &*self.store
    }

    /// The last entry and the state.
    ///
    /// # Errors
    /// The store can't be read.
    pub fn head(&self) -> Result<Head, Failure> {
        Ok(self.store.head()?)
    }

    pub(crate) fn objects(&self) -> Arc<dyn Objects> {
        self.store.objects()
    }

    pub(crate) fn record(&self, kind: EntryKind) -> Record {
        let record = Record::new(kind, self.at, self.instance.as_str(), self.package.clone());
        Record { caller: self.caller.clone(), request: self.request, ..record }
    }

    /// The package, if a run of it is to be written down as one that may use the instance.
    pub(crate) fn owner(&self) -> Option<Owner> {
        self.owner.clone()
    }

    /// Whether what is done is kept; see [`Host::previewing`].
    pub fn keeps(&self) -> bool {
        self.keeps
    }

    /// Commits a record and then brings the plain directories to the state. What those can't follow now, the next command
    /// finishes: the answer says so and the commit stands. A preview answers with the entry that it would have become.
    pub(crate) fn commit(
        &self,
        record: &Record,
        objects: &dyn Objects,
        streams: &[&[u8]],
    ) -> Result<(Sealed, Option<String>), Failure> {
        let sealed = self.store.commit(record, objects, streams)?;
        // Also when nothing changed: another process may have been killed between its commit and this.
        Ok((sealed, self.update_plain()))
    }

    /// Writes down a call that came to nothing, as the kind of thing that it was to be. Whoever gets a failure from a host that was
    /// reached finds it in the ledger.
    pub(crate) fn recorded<T>(&self, kind: EntryKind, result: Result<T, Failure>) -> Result<T, Failure> {
        result.map_err(|failure| self.note(self.record(kind), failure))
    }

    /// Writes down what is known of a call that ended with `failure`, and answers with that. Of a record that has no place in the ledger it
    /// writes down who wanted what and when; what can't be written down at all is said.
    pub(crate) fn note(&self, record: Record, failure: Failure) -> Failure {
        // Whether there is an entry of it is not sure, and another one would say that there is none.
        if matches!(failure, Failure::Store(StoreError::Uncertain { .. })) {
            return failure;
        }
        let record = Record { error: Some(failure.code()), kept: false, ..record };
        let Record { kind, follows, error, closes, .. } = record;
        let short = |closes| Record { follows, error, closes, ..self.record(kind) };
        let commit = |record: &Record| self.store.commit(record, &MemoryObjects::default(), &[]);
        let mut noted = commit(&record);
        // Too long, or what it would close somebody else has closed meanwhile.
        for closes in [closes, None] {
            if matches!(noted, Err(StoreError::Record(_))) {
                noted = commit(&short(closes));
            }
        }
        match noted {
            Ok(_) => failure,
            Err(reason) => Failure::Unrecorded { failure: Box::new(failure), reason },
        }
    }

    /// Writes down a failure of which nothing is written down yet.
    pub(crate) fn noted(&self, unrecorded: Option<Box<Record>>, failure: Failure) -> Failure {
        match unrecorded {
            Some(record) => self.note(*record, failure),
            None => failure,
        }
    }

    /// Whether there are plain directories, for people.
    #[cfg(feature = "machine")]
    pub(crate) fn has_plain(&self) -> bool {
        self.plain.is_some()
    }

    /// There are none.
    #[cfg(not(feature = "machine"))]
    pub(crate) fn has_plain(&self) -> bool {
        false
    }

    /// Brings the plain directories to the state, in the time that a guest has if nobody says another; says what kept it from that.
    pub(crate) fn update_plain(&self) -> Option<String> {
        self.update_plain_within(Limit::WallTime.info().default)
    }

    /// There are no plain directories that could be behind.
    #[cfg(not(feature = "machine"))]
    pub(crate) fn update_plain_within(&self, _: u64) -> Option<String> {
        None
    }

    /// The same, for so many milliseconds at most, and a second at least: what a guest leaves takes no longer than it might.
    #[cfg(feature = "machine")]
    pub(crate) fn update_plain_within(&self, longest_ms: u64) -> Option<String> {
        let plain = self.plain.as_ref().filter(|_| self.keeps)?;
        match plain.update_within(Duration::from_millis(longest_ms).max(Duration::from_secs(1))) {
            Ok(updated) if updated.left.is_empty() && updated.saved.is_empty() && !updated.behind => None,
            Ok(updated) => {
                let behind =
                    updated.behind.then(|| "the next command goes on, there was no time for all of it".to_owned());
                let paths: Vec<String> = updated.left.iter().map(|(volume, path)| format!("{volume}/{path}")).collect();
                let saved: Vec<String> = updated.saved.into_iter().collect();
                let said =
                    [("changed outside, and left as they are: ", paths), ("saved meanwhile, and kept as ", saved)];
                let said = said.into_iter().filter(|(_, paths)| !paths.is_empty());
                let said = said.map(|(what, paths)| what.to_owned() + &paths.join(", "));
                Some(behind.into_iter().chain(said).collect::<Vec<_>>().join("; "))
            }
            Err(error) => Some(error.to_string()),
        }
    }

    /// Sees to it that the package may use the instance and has its volumes there; what is to be written down of the package later is
    /// the answer.
    fn own(&self, package: &Package, adopts: bool) -> Result<Option<Owner>, Failure> {
        let mut conflicts = 0;
        loop {
            let head = self.head()?;
            let owner = self.new_owner(&head, package, adopts)?;
            match self.ensure_volumes(&head, package, owner) {
                // Another process was first, perhaps for another package: all of it is asked again.
                Err(Failure::Store(StoreError::Conflict { .. })) if conflicts < CONFLICTS_MAX => conflicts += 1,
                ensured => return ensured,
            }
        }
    }

    /// The package, as one that may use the instance.
    pub(crate) fn as_owner(&self, package: &Package) -> Owner {
        let digest = self.package.digest.unwrap_or_else(|| package.component_digest());
        // Who does not say where a package comes from is known by what it is.
        let origin = package.origin().cloned().unwrap_or_else(|| Origin::path(&digest.to_string()));
        Owner { origin, package: digest }
    }

    /// Whether the package may use the instance; answers with what is to be written down of that, if anything is.
    pub(crate) fn new_owner(&self, head: &Head, package: &Package, adopts: bool) -> Result<Option<Owner>, Failure> {
        let (owner, admitted) = (self.as_owner(package), head.admitted());
        let digest = owner.package;
        match admitted.get(&owner.origin) {
            Some(known) if *known == digest => Ok(None),
            // The same place, with a new version in it.
            Some(_) => Ok(Some(owner)),
            // Another place, with the very same package in it.
            None if adopts || admitted.is_empty() || admitted.values().any(|known| *known == digest) => Ok(Some(owner)),
            None => {
                let owners = admitted.keys().map(ToString::to_string).collect::<Vec<_>>().join(" and ");
                let (slug, instance) = (self.package.slug.clone(), self.instance.to_string());
                Err(Failure::Foreign { slug, instance, owners })
            }
        }
    }

    /// Makes the volumes that are not there yet. A new instance belongs to the package from that on; what is to be written down
    /// of the package later is the answer.
    fn ensure_volumes(&self, head: &Head, package: &Package, owner: Option<Owner>) -> Result<Option<Owner>, Failure> {
        let known = &head.state;
        let mut objects = MemoryObjects::default();
        let mut volumes = BTreeMap::new();
        for path in package.manifest().volumes() {
            let parsed: Result<VolumeName, _> = path.as_str().parse();
            let name = parsed.map_err(|source| Failure::Volume { name: path.to_string(), source })?;
            if known.contains_key(&name) {
                continue;
            }
            if let Some(there) = known.keys().find(|there| overlap(there.as_str(), name.as_str())) {
                let (declared, there) = (name.to_string(), there.to_string());
                return Err(Failure::VolumeOverlap { declared, there });
            }
            let tree = folder_snapshot(package, path, &mut objects)?;
            volumes.insert(name.to_string(), VolumeRecord::new(None, tree, Changes::default()));
        }
        if volumes.is_empty() && !head.admitted().is_empty() {
            return Ok(owner);
        }
        let record = Record { volumes, owner, kept: true, ..self.record(EntryKind::Create) };
        self.store.commit(&record, &objects, &[])?;
        Ok(None)
    }
}

/// Whether one of two paths lies in the other.
fn overlap(a: &str, b: &str) -> bool {
    let within = |inner: &str, outer: &str| inner.strip_prefix(outer).is_some_and(|rest| rest.starts_with('/'));
    within(a, b) || within(b, a)
}

pub(crate) fn package_record(package: &Package) -> Result<PackageRecord, Failure> {
    let manifest = package.manifest();
    Ok(PackageRecord {
        slug: manifest.slug().to_string(),
        version: Some(manifest.version().to_string()),
        digest: Some(package.run_digest()?),
        component: Some(package.component_digest()),
        resources: package.resources()?.trees.clone(),
    })
}

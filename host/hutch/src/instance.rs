//! Many calls of one package on one instance: what they share is opened once.

use crate::answer::Answer;
use crate::call::Call;
use crate::failure::Failure;
use crate::host::Host;
use crate::package::Package;
use crate::session::{Session, package_record};
use hutch_model::instant::Instant;
#[cfg(feature = "machine")]
use hutch_model::ledger::Caller;
use hutch_model::ledger::EntryKind;
#[cfg(feature = "machine")]
use hutch_model::ledger::Request;
#[cfg(feature = "machine")]
use hutch_sandbox::Stop;
use hutch_store::{InstanceName, MemoryStore, Store};
use std::sync::Arc;

/// An instance of a package that stays open. It may be shared by threads; each call has a guest of its own, and an entry of its own.
pub struct Instance<'h> {
    host: &'h Host,
    package: &'h Package,
    session: Session,
}

impl Host {
    /// Opens the instance of a package for many calls. Nothing is looked at or made before the first of them.
    ///
    /// # Errors
    /// The store can't be opened.
    pub fn instance<'h>(
        &'h self,
        package: &'h Package,
        name: &InstanceName,
        at: Instant,
    ) -> Result<Instance<'h>, Failure> {
        Ok(Instance { host: self, package, session: self.open_unready(package, name, at)? })
    }

    /// The same, of an instance that is in `store` and nowhere else: no folder of the home, and no plain directories.
    ///
    /// # Errors
    /// The package can't be read.
    pub fn instance_in<'h>(
        &'h self,
        package: &'h Package,
        name: &InstanceName,
        store: Arc<dyn Store>,
        at: Instant,
    ) -> Result<Instance<'h>, Failure> {
        let session = self.session_of(store, name, package_record(package)?, at);
        Ok(Instance { host: self, package, session })
    }
}

impl<'h> Instance<'h> {
    /// The same instance, on behalf of a program that calls itself so. `stop` ends what is run through it: that is recorded as
    /// cancelled, and nothing of it is kept.
    #[cfg(feature = "machine")]
    #[must_use]
    pub fn on_behalf(&self, caller: Option<Caller>, stop: Stop) -> Instance<'h> {
        Instance { session: self.session.clone().on_behalf(caller, stop), ..*self }
    }

    /// A request as this instance's ledger knows it: by its name under the instance's key, so that who reads an entry does not know the name. It is
    /// in each file of the instance all the same: an entry that was made elsewhere has carried nothing out, whatever it says.
    ///
    /// # Errors
    /// The store can't be read.
    #[cfg(feature = "machine")]
    pub fn sealed(&self, request: Request) -> Result<Request, Failure> {
        let key = self.session.store.secret_key()?.seal(&[b"request", request.key.as_bytes()]);
        Ok(Request { key, ..request })
    }

    /// The same, for a request to which its caller gave a name. What is done through it bears that name in the ledger.
    #[cfg(feature = "machine")]
    #[must_use]
    pub fn requested(self, request: Option<Request>) -> Instance<'h> {
        Instance { session: self.session.requested(request), ..self }
    }

    /// The same, where the ledger up to this place has no entry that carried the request out. One that another process writes behind it
    /// is noticed, and nothing is done twice: see [`Failure::CarriedOut`].
    #[cfg(feature = "machine")]
    #[must_use]
    pub fn looked_up_to(&self, place: u64) -> Instance<'h> {
        Instance { session: self.session.clone().looked_up_to(place), ..*self }
    }

    /// The package.
    pub fn package(&self) -> &'h Package {
        self.package
    }

    /// Does what [`Host::run`] does. The instance is this one, whatever the call names.
    ///
    /// # Errors
    /// As there.
    pub fn run(&self, call: &Call) -> Result<Answer, Failure> {
        let session = self.host.make_ready(EntryKind::Run, self.package, self.session.at(call.at))?;
        self.host.run_in(&session, self.package, call)
    }

    /// Does what [`Host::plan`] does, here.
    ///
    /// # Errors
    /// As there.
    pub fn plan(&self, call: &Call) -> Result<Answer, Failure> {
        let session = self.host.make_ready(EntryKind::Plan, self.package, self.session.at(call.at))?;
        self.host.plan_in(&session, self.package, call)
    }

    /// What [`run`](Self::run) would come to now: nothing of it is kept, granted folders are left as they are, and no entry tells of it. The entry that the
    /// answer names is nowhere.
    ///
    /// # Errors
    /// As there.
    pub fn look(&self, call: &Call) -> Result<Answer, Failure> {
        let session = self.session.at(call.at).over(Arc::new(MemoryStore::over(self.session.store.clone())));
        let session = self.host.make_ready(EntryKind::Run, self.package, session)?;
        self.host.run_in(&session, self.package, call)
    }

    /// What [`Host::apply`], [`Host::verify`] and the moves between states take, at one instant of the host's clock.
    ///
    /// # Errors
    /// As for [`Host::open`].
    pub fn session(&self, at: Instant) -> Result<Session, Failure> {
        self.host.make_ready(EntryKind::Run, self.package, self.session.at(at))
    }
}

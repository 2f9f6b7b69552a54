//! Many calls over one state, of which nothing is kept. Each has a guest of its own and sees nothing of the others, so they may be made at
//! once, in any order, more than once, and on as many machines as there are: what they come to is the same.

use crate::call::Call;
use crate::entries::EntryName;
use crate::execute::{Ground, execute_over};
use crate::failure::Failure;
use crate::host::Host;
use crate::memo::Recall;
use crate::package::Package;
use crate::prepare::Prepared;
use crate::remembered::MemoTally;
use crate::session::Session;
use hutch_model::digest::{Digest, Kind};
use hutch_model::error_code::ErrorCode;
use hutch_model::halving::first_of;
use hutch_model::ledger::{
    EntryKind, InvocationRecord, MapRecord, Pin, Record, SecretKey, Standing, VolumeRecord, canonical,
};
use hutch_model::outcome::{Outcome, Verdict};
use hutch_model::snapshot::{MemoryObjects, Objects};
use hutch_store::{State, StoreError};
use serde_json::json;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

/// A package and a state, for many calls. May be shared by threads.
pub struct Job<'h> {
    host: &'h Host,
    package: &'h Package,
    session: Session,
    state: State,
    objects: Arc<dyn Objects>,
    key: SecretKey,
    recall: Option<Recall>,
    tally: Mutex<MemoTally>,
}

/// What one call came to. Nothing of it is kept.
#[non_exhaustive]
pub struct Mapped {
    /// How the guest ended and what it said.
    pub outcome: Outcome,
    /// What that means.
    pub verdict: Verdict,
    /// The volumes that it left otherwise than it found them, by name; none if its end was not good.
    pub after: BTreeMap<String, Digest>,
    /// What all of it follows from; see [`Job::key`].
    pub key: Digest,
}

impl Host {
    /// Takes the state of an instance for many calls, as it is now or as an entry left it. `call` is what they have in common. The process
    /// is enclosed by then, if its owner wants that.
    ///
    /// # Errors
    /// As for [`Host::open`]; there is no such entry, or its state is not kept any more; the component can't be run.
    pub fn job<'h>(&'h self, package: &'h Package, call: &Call, entry: Option<&EntryName>) -> Result<Job<'h>, Failure> {
        let session = self.open_for(EntryKind::Map, package, &call.instance, call.at)?;
        let ready = self.take_state(&session, package, call, entry);
        let (state, key) = session.recorded(EntryKind::Map, ready)?;
        let objects = session.objects();
        let recall = Recall::of(&session, call, EntryKind::Map);
        Ok(Job { host: self, package, session, state, objects, key, recall, tally: Mutex::default() })
    }

    fn take_state(
        &self,
        session: &Session,
        package: &Package,
        call: &Call,
        entry: Option<&EntryName>,
    ) -> Result<(State, SecretKey), Failure> {
        session.absorb_edits()?;
        let state = match entry {
            Some(name) => session.state_after(session.entry(name)?.sequence)?,
            None => session.head()?.state,
        };
        self.load(package, &self.limits(package, call.limits.clone()))?;
        package.resources()?;
        // They are read for all calls, so it is no call's time.
        #[cfg(feature = "machine")]
        package.reading();
        self.enclose(package, Some(session), &BTreeMap::new())?;
        Ok((state, session.store().secret_key()?))
    }
}

impl Job<'_> {
    /// Takes the state that an entry left, for the calls that follow.
    ///
    /// # Errors
    /// There is no such entry.
    pub fn after(&mut self, sequence: u64) -> Result<(), Failure> {
        self.state = self.session.state_after(sequence)?;
        Ok(())
    }

    /// The first entry of these, both included, whose state calls can see: it is kept, and has all volumes of the package.
    ///
    /// # Errors
    /// There is none; or the store can't be read.
    pub fn first_whole(&self, from: u64, to: u64) -> Result<u64, Failure> {
        // What the first retained entry began with is kept too.
        let from = self.session.head()?.retained_from.saturating_sub(1).max(1).max(from);
        let volumes = self.package.manifest().volumes();
        // A volume that is there stays.
        let is_whole = |sequence| -> Result<bool, Failure> {
            let state = self.session.store().state_at(sequence)?;
            Ok(volumes.iter().all(|path| state.contains_key(path.as_str())))
        };
        let first = if from <= to { first_of(from, to, is_whole)? } else { None };
        let reason = || format!("the state after entry {to} is not kept any more, or lacks a volume of the package");
        first.ok_or_else(|| Failure::NotAgain { reason: reason() })
    }

    /// Makes one of the calls. No confirmation is needed, because nothing is kept.
    ///
    /// # Errors
    /// It is refused, which is told apart by [`Failure::is_refusal`]; or the host or the store failed.
    pub fn run(&self, call: &Call) -> Result<Mapped, Failure> {
        let prepared = self.prepared(call)?.on_behalf_of(&self.session);
        let key = self.key_of(&prepared)?;
        let ground = Ground::of(&prepared, Arc::clone(&self.objects), &self.state);
        let executed = match &self.recall {
            Some(recall) => recall.execute(&prepared, &ground, false)?,
            None => execute_over(&prepared, &ground)?,
        };
        if let Some(remembered) = &executed.memo {
            self.tally.lock().unwrap_or_else(PoisonError::into_inner).add(remembered);
        }
        let changed = executed.volumes.into_iter().filter(|(_, volume)| volume.before != volume.after);
        let after = changed.map(|(name, volume)| (name, volume.after)).collect();
        Ok(Mapped { outcome: executed.outcome, verdict: executed.verdict, after, key })
    }

    /// What a call's outcome follows from, as a digest: component, folders of the package, engine, invocation, the schema that its answer is
    /// held to, whether it is held to changing nothing, and state. Where it is equal, so is what the call comes to, on whichever machine. A secret
    /// goes into it as the instance's ledger would have it, under a key that no other instance has.
    ///
    /// # Errors
    /// The call is refused.
    pub fn key(&self, call: &Call) -> Result<Digest, Failure> {
        self.key_of(&self.prepared(call)?)
    }

    /// Names the state that the calls see, as the entry that led to it does.
    pub fn state(&self) -> Digest {
        let volumes = self.state.iter().map(|(name, tree)| (name.to_string(), *tree)).collect();
        Standing { volumes, ..Standing::default() }.state()
    }

    /// What a memo had to do with the calls that were made; none if [`Call::memo`] asked for none.
    pub fn memo(&self) -> Option<MemoTally> {
        let recall = self.recall.as_ref()?;
        let tally = self.tally.lock().unwrap_or_else(PoisonError::into_inner).clone();
        Some(MemoTally { trouble: recall.trouble(), ..tally })
    }

    fn prepared(&self, call: &Call) -> Result<Prepared, Failure> {
        let call = Call { mounts: BTreeMap::new(), ..call.clone() };
        self.host.prepare(self.package, &call, &self.session, true).map_err(|refused| *refused.failure)
    }

    fn key_of(&self, prepared: &Prepared) -> Result<Digest, Failure> {
        // Neither changes what a run comes to.
        let invocation = InvocationRecord { confirmed: false, digests_only: false, ..prepared.record.clone() };
        let parts = json!({
            "component": self.package.component_digest(),
            "resources": prepared.resources.trees,
            "profile": hutch_sandbox::profile(),
            "invocation": invocation,
            "reads": prepared.reads,
            "schema": prepared.output_schema.as_ref().map(|schema| Digest::of(Kind::Note, schema.to_string().as_bytes())),
            "state": self.state.iter().map(|(name, tree)| (name.as_str(), tree)).collect::<BTreeMap<_, _>>(),
        });
        let bytes = canonical(&parts).map_err(StoreError::from)?;
        Ok(Digest::of(Kind::Call, &bytes))
    }

    /// Writes down what was done: `call` is what the calls had in common, and `error` why there were no more of them, if there should have
    /// been. Secrets are hashed, as everywhere.
    ///
    /// # Errors
    /// The store can't be written.
    pub fn end(self, call: &Call, mapped: MapRecord, error: Option<ErrorCode>) -> Result<Pin, Failure> {
        let invocation = self.host.invocation(self.package, call)?;
        let (invocation, inputs) = InvocationRecord::of(&invocation, &call.secrets(), &self.key);
        let seen = self.state.iter().map(|(name, tree)| (name.to_string(), VolumeRecord::unchanged(*tree)));
        let mapped = MapRecord { memo: self.memo().map(|tally| tally.found), ..mapped };
        let record = Record {
            invocation: Some(InvocationRecord { contract: call.contract.unwrap_or_default(), ..invocation }),
            mapped: Some(mapped),
            error,
            volumes: seen.collect(),
            owner: self.session.owner(),
            ..self.session.record(EntryKind::Map)
        };
        let streams: Vec<&[u8]> = inputs.as_deref().into_iter().collect();
        Ok(self.session.commit(&record, &MemoryObjects::default(), &streams)?.0.pin())
    }
}

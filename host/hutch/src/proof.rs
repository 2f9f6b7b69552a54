//! What an entry of a ledger follows from, as one file. Whoever has it makes the run again, with no home, no network and no trust in who made the
//! file, and sees whether it comes to what the entry says.
//!
//! The file is a DSSE envelope around an in-toto statement in canonical JSON, so each value has one form: a file with another byte is
//! refused, or is about something else. Of the state there is what the run read of it, and nothing more; of secrets there is nothing, and a run that
//! was given one is not proved.

pub use hutch_model::ledger::{Inclusion, Leaves, NotATreeHead, TreeHead};
pub use hutch_model::sha256::{NotASha256, Sha256};
pub use hutch_model::statement::Signature;

use crate::again::Verified;
use crate::bundles::{asks_within, state_within};
use crate::call::Grants;
use crate::entries::EntryName;
use crate::execute::Executed;
use crate::failure::Failure;
use crate::host::Host;
use crate::package::{Package, PackageBounds, PackageError, Source};
use crate::session::{Session, package_record};
use data_encoding::BASE64;
use hutch_model::diagnostic::short;
use hutch_model::digest::{Digest, Kind};
use hutch_model::document;
use hutch_model::instant::Instant;
use hutch_model::ledger::{ENTRY_BYTES_MAX, EntryError, EnvironmentRecord, Inputs, Record, Sealed, canonical};
use hutch_model::limits::Limit;
use hutch_model::outcome::{Outcome, Verdict};
use hutch_model::snapshot::{Entry, Lack, Node, ObjectError, Objects, Totals, TreeObject, read_object};
use hutch_model::statement::{Envelope, STATEMENT, Statement, Subject};
use hutch_sandbox::RunError;
use hutch_store::{InstanceName, MemoryStore};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

/// What the statement says of its subjects: that this entry, in this place, is what running it again comes to.
pub const PROOF_TYPE: &str = "https://github.com/hutch-host/hutch/run/v1";
/// The most bytes of a proof's file.
pub const PROOF_BYTES_MAX: u64 = 64 << 20;
/// The most bytes of what is in one: each is written in base64 twice.
const CONTENT_BYTES_MAX: u64 = PROOF_BYTES_MAX / 2;
/// The most signatures of one: each is checked over all of it.
const SIGNATURES_MAX: usize = 64;
/// The most memory that reading one takes as values, before they are looked at.
const VALUE_BYTES_MAX: u64 = 3 * PROOF_BYTES_MAX;

/// The objects of a state, as they are called in the file.
const KINDS: [(&str, Kind); 3] = [("chunk", Kind::Chunk), ("list", Kind::List), ("tree", Kind::Tree)];

/// What is said.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Predicate {
    /// The entry, as the ledger has it.
    entry: Value,
    /// That it is in the ledger.
    ledger: Inclusion,
    /// What the run read of the state, in the order of the digests.
    objects: Vec<WrittenObject>,
    /// Standard input, and arguments that are too long for an entry, in the order of the digests.
    streams: Vec<String>,
    /// The package, packed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    package: Option<String>,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct WrittenObject {
    kind: String,
    content: String,
}

/// Content by its name.
type Contents = BTreeMap<Digest, (Kind, Arc<[u8]>)>;

/// All that an entry follows from.
#[derive(Clone, Debug)]
pub struct Proof {
    entry: Sealed,
    record: Record,
    inputs: Inputs,
    instance: InstanceName,
    tree: TreeHead,
    contents: Contents,
    package: Option<Vec<u8>>,
    payload: Vec<u8>,
    signatures: Vec<Signature>,
}

/// Why a file is no proof, which may repeat what stands in it.
fn wrong(reason: impl Into<String>) -> Failure {
    Failure::Proof { reason: short(&reason.into()) }
}

/// What is in a proof of a state, and is none.
fn unfit(ObjectError { kind, digest, lack }: ObjectError) -> Failure {
    let kind = format!("{kind:?}").to_lowercase();
    match lack {
        Lack::Missing => wrong(format!("lacks the {kind} {digest}")),
        lack => wrong(format!("has a {kind} {digest} that {lack}")),
    }
}

/// What a value says, whose one form these bytes are: nothing stands in it that is not read.
fn only_form<T: DeserializeOwned + Serialize>(what: &str, value: Value, bytes: &[u8]) -> Result<T, Failure> {
    let said: T = serde_json::from_value(value).map_err(|error| wrong(format!("has no {what}: {error}")))?;
    match form(&said)? == bytes {
        true => Ok(said),
        false => Err(wrong(format!("has another {what} than the one form of what it says"))),
    }
}

fn read<T: DeserializeOwned + Serialize>(what: &str, bytes: &[u8]) -> Result<T, Failure> {
    let value = document::read_within(bytes, VALUE_BYTES_MAX);
    only_form(what, value.map_err(|error| wrong(format!("has no {what}: {error}")))?, bytes)
}

fn form<T: Serialize>(value: &T) -> Result<Vec<u8>, Failure> {
    let value = serde_json::to_value(value).map_err(|error| wrong(error.to_string()))?;
    canonical(&value).map_err(|error| wrong(error.to_string()))
}

fn decoded(text: &str) -> Result<Arc<[u8]>, Failure> {
    BASE64
        .decode(text.as_bytes())
        .map(Arc::from)
        .map_err(|error| wrong(format!("has no base64 where it should: {error}")))
}

/// What the statement is about: the entry, the ledger up to where it was proved, and the package if it is in it.
fn subjects(entry: &Sealed, record: &Record, tree: TreeHead, package: Option<&[u8]>) -> Vec<Subject> {
    let (slug, instance) = (&record.package.slug, &record.instance);
    let mut all = vec![
        Subject::of(format!("{slug}/{instance}@{}", entry.sequence), Sha256::of(&entry.bytes)),
        Subject::of(format!("{slug}/{instance}@1-{}", tree.size), tree.root),
    ];
    all.extend(package.map(|packed| Subject::of(format!("{slug}.tar"), Sha256::of(packed))));
    all
}

impl Proof {
    /// Reads one. Nothing has run yet: [`Host::check_proof`] says whether it proves anything.
    ///
    /// # Errors
    /// It is none, or damaged.
    pub fn read(bytes: &[u8]) -> Result<Proof, Failure> {
        if bytes.len() as u64 > PROOF_BYTES_MAX {
            return Err(wrong(format!("has {} bytes, {PROOF_BYTES_MAX} allowed", bytes.len())));
        }
        let envelope = bytes.strip_suffix(b"\n").ok_or_else(|| wrong("does not end with a line's end"))?;
        let envelope: Envelope = read("envelope", envelope)?;
        if envelope.payload_type != STATEMENT {
            return Err(wrong(format!("holds {:?}, and no statement", envelope.payload_type)));
        }
        let payload = envelope.payload().map_err(|error| wrong(format!("is malformed: {error}")))?;
        let Statement { kind, subject, predicate_type, predicate } = read("statement", &payload)?;
        if predicate_type != PROOF_TYPE || kind != Statement::of(Vec::new(), PROOF_TYPE, Value::Null).kind {
            return Err(wrong(format!("states {predicate_type:?} as {kind:?}, and not {PROOF_TYPE:?}")));
        }
        let bytes = canonical(&predicate).map_err(|error| wrong(error.to_string()))?;
        let said: Predicate = only_form("predicate", predicate, &bytes)?;
        let written = canonical(&said.entry).map_err(|error| wrong(error.to_string()))?;
        let sequence = said.entry.get("sequence").and_then(Value::as_u64).ok_or_else(|| wrong("has no entry"))?;
        if written.len() > ENTRY_BYTES_MAX {
            return Err(wrong("has an entry that is longer than any"));
        }
        let entry = Sealed { sequence, hash: Digest::of(Kind::Entry, &written), bytes: written.into() };
        let newer = |reason: &str| Failure::NotAgain { reason: format!("another version wrote its entry: {reason}") };
        let opened = entry.open().map_err(|error| match error {
            EntryError::Unknown { reason, .. } => newer(&reason),
            error => wrong(format!("has an entry that is none: {error}")),
        })?;
        if opened.seal().ok().as_ref() != Some(&entry) {
            return Err(newer("it says more than is known here"));
        }
        let record = opened.record;
        let tree =
            said.ledger.holds(sequence, &entry.bytes).ok_or_else(|| wrong("does not show its entry in its ledger"))?;
        let mut contents = Contents::new();
        let mut take = |kind: Kind, bytes: Arc<[u8]>| {
            let digest = Digest::of(kind, &bytes);
            let is_next = contents.insert(digest, (kind, bytes)).is_none();
            if is_next { Ok(digest) } else { Err(wrong("says something twice")) }
        };
        let mut last = None;
        for object in &said.objects {
            let kind = KINDS.iter().find(|(name, _)| *name == object.kind).map(|(_, kind)| *kind);
            let kind = kind.ok_or_else(|| wrong(format!("holds a {:?}", object.kind)))?;
            let digest = take(kind, decoded(&object.content)?)?;
            if last.replace(digest).is_some_and(|last| last > digest) {
                return Err(wrong("has no order in its objects"));
            }
        }
        let streams =
            said.streams.iter().map(|text| take(Kind::Stream, decoded(text)?)).collect::<Result<Vec<_>, _>>()?;
        if streams != named(&record) {
            return Err(wrong("has other inputs than its entry names"));
        }
        check_trees(&contents)?;
        let package = said.package.as_deref().map(decoded).transpose()?.map(|packed| packed.to_vec());
        if subject != subjects(&entry, &record, tree, package.as_deref()) {
            return Err(wrong("is not about what is in it"));
        }
        let proof = Proof::of(entry, record, tree, contents, package, payload)?;
        Proof { signatures: envelope.signatures, ..proof }.few_signatures()
    }

    fn of(
        entry: Sealed,
        record: Record,
        tree: TreeHead,
        contents: Contents,
        package: Option<Vec<u8>>,
        payload: Vec<u8>,
    ) -> Result<Proof, Failure> {
        let instance = record.instance.parse().map_err(|error| wrong(format!("is of no instance: {error}")))?;
        let invocation = record.invocation.as_ref();
        let apart = invocation.and_then(|invocation| contents.get(&invocation.inputs?.digest));
        let inputs = match (apart, invocation) {
            (Some((_, bytes)), _) => {
                Inputs::read(bytes).map_err(|error| wrong(format!("has arguments that are none: {error}")))?
            }
            (None, Some(invocation)) => {
                Inputs { argv: invocation.argv.clone(), environment: invocation.environment.clone() }
            }
            (None, None) => Inputs { argv: Vec::new(), environment: BTreeMap::new() },
        };
        Ok(Proof { entry, record, inputs, instance, tree, contents, package, payload, signatures: Vec::new() })
    }

    /// The file.
    ///
    /// # Errors
    /// None that is known.
    pub fn written(&self) -> Result<Vec<u8>, Failure> {
        let mut bytes = form(&Envelope::of(&self.payload, self.signatures.clone()))?;
        bytes.push(b'\n');
        Ok(bytes)
    }

    /// The same, with one more signature of its [payload](Proof::payload).
    ///
    /// # Errors
    /// It has as many as one may have.
    pub fn with(mut self, signature: Signature) -> Result<Proof, Failure> {
        self.signatures.push(signature);
        self.few_signatures()
    }

    fn few_signatures(self) -> Result<Proof, Failure> {
        match self.signatures.len() > SIGNATURES_MAX {
            true => Err(wrong(format!("has more than {SIGNATURES_MAX} signatures"))),
            false => Ok(self),
        }
    }

    /// The statement, which is what is signed.
    pub fn payload(&self) -> &[u8] {
        &self.payload
    }

    /// Signatures of it. None was checked.
    pub fn signatures(&self) -> &[Signature] {
        &self.signatures
    }

    /// The entry that it proves.
    pub fn entry(&self) -> &Sealed {
        &self.entry
    }

    /// What that says.
    pub fn record(&self) -> &Record {
        &self.record
    }

    /// The program's name and its arguments, wherever they stand.
    pub fn argv(&self) -> &[String] {
        &self.inputs.argv
    }

    /// The environment, without secrets.
    pub fn environment(&self) -> BTreeMap<&str, &str> {
        let values = self.inputs.environment.iter().filter_map(|(name, value)| match value {
            EnvironmentRecord::Value(value) => Some((name.as_str(), value.as_str())),
            EnvironmentRecord::Secret(_) => None,
        });
        values.collect()
    }

    /// The ledger that the entry is in, up to where it was proved.
    pub fn tree(&self) -> TreeHead {
        self.tree
    }

    /// How many objects of the state are in it.
    pub fn objects(&self) -> usize {
        self.contents.values().filter(|(kind, _)| *kind != Kind::Stream).count()
    }

    /// The package that is in it, packed, if one is.
    pub fn packed(&self) -> Option<&[u8]> {
        self.package.as_deref()
    }

    /// The same, opened. It is as good as who made the file: it proves what the entry says, and nothing about who wrote it.
    ///
    /// # Errors
    /// It is none.
    pub fn package(&self, bounds: PackageBounds) -> Result<Option<Package>, PackageError> {
        let open = |packed: &Vec<u8>| Package::open(&Source::packed_in_memory(packed.clone(), &bounds)?, bounds);
        self.package.as_ref().map(open).transpose()
    }
}

/// Whether each folder that is there amounts to what is said of it where it is named: by that is counted what a comparison goes through.
fn check_trees(contents: &Contents) -> Result<(), Failure> {
    let mut trees = BTreeMap::new();
    for (digest, (_, bytes)) in contents.iter().filter(|(_, (kind, _))| *kind == Kind::Tree) {
        let tree = TreeObject::decode(bytes).map_err(|error| wrong(format!("has a tree {digest} that {error}")))?;
        trees.insert(*digest, tree);
    }
    let is_as_said = |entry: &Entry| match &entry.node {
        Node::Folder { tree, totals } => trees.get(tree).is_none_or(|found| found.totals() == *totals),
        _ => true,
    };
    let all = trees.values().all(|object| match object {
        TreeObject::Entries(tree) => tree.entries().iter().all(is_as_said),
        TreeObject::Parts(_) => true,
    });
    if all { Ok(()) } else { Err(wrong("has a folder that amounts to something else than is said of it")) }
}

/// The inputs that an entry names and does not hold, in the order of their digests.
fn named(record: &Record) -> Vec<Digest> {
    let Some(invocation) = &record.invocation else { return Vec::new() };
    let named = [Some(invocation.stdin).filter(|stdin| stdin.size > 0), invocation.inputs];
    let mut digests: Vec<Digest> = named.into_iter().flatten().map(|stream| stream.digest).collect();
    digests.sort_unstable();
    digests.dedup();
    digests
}

/// Objects that remember what was read of them, as much as a proof has room for.
struct Noted {
    below: Arc<dyn Objects>,
    read: Mutex<(Contents, u64)>,
}

impl Noted {
    fn over(below: Arc<dyn Objects>) -> Arc<Noted> {
        Arc::new(Noted { below, read: Mutex::default() })
    }

    /// What was read, and how many bytes that is: all of it is there if they have room.
    fn taken(&self) -> (Contents, u64) {
        // Each object goes in whole.
        std::mem::take(&mut *self.read.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Objects for Noted {
    fn get(&self, kind: Kind, digest: &Digest) -> Result<Arc<[u8]>, ObjectError> {
        let bytes = self.below.get(kind, digest)?;
        let mut read = self.read.lock().unwrap_or_else(PoisonError::into_inner);
        let (contents, total) = &mut *read;
        if !contents.contains_key(digest) {
            *total = total.saturating_add(bytes.len() as u64);
            if *total <= CONTENT_BYTES_MAX {
                contents.insert(*digest, (kind, Arc::clone(&bytes)));
            }
        }
        Ok(bytes)
    }

    fn check(&self, goes_on: &dyn Fn() -> bool) -> Result<(), ObjectError> {
        self.below.check(goes_on)
    }
}

fn equal(sequence: u64, made: Result<Executed, Verified>) -> Result<Executed, Failure> {
    made.map_err(|verified| match verified {
        Verified::Differs(differences) => Failure::ProofDiffers { sequence, differences },
        Verified::NotReproducible(reason) => Failure::NotAgain { reason },
        _ => Failure::NotAgain { reason: format!("entry {sequence} is of no run") },
    })
}

impl Proof {
    /// Whether the package that is in it, if one is, is the one that its entry names: by whichever package it is checked, both are said.
    fn carries_its_own(&self) -> Result<(), Failure> {
        let carried = self.package(PackageBounds::with_component(PROOF_BYTES_MAX));
        let carried = carried.map_err(|error| wrong(format!("holds a package that is none: {error}")))?;
        match carried.as_ref().map(package_record).transpose()? {
            Some(carried) if carried != self.record.package => Err(wrong("holds another package than its entry names")),
            _ => Ok(()),
        }
    }

    /// Whether what the entry says around its run is as that shows it: this version of the package made it, it says what state it saw, and the
    /// host had nothing against its end.
    fn is_of(&self, package: &Package, executed: &Executed) -> Result<(), Failure> {
        let (record, manifest) = (&self.record, package.manifest());
        let reason = match () {
            () if record.closes.is_some() || record.collected.is_some() || record.mapped.is_some() => {
                "it says what no run does"
            }
            () if record.package != package_record(package)? => "it was made by another version of the package",
            () if executed.volumes.len() != manifest.volumes().len() => "it does not say what state it saw",
            () if record.error.is_some_and(|code| !Verdict::may_be(code)) => {
                "the host that made it could not keep its end, which no run shows"
            }
            () => return Ok(()),
        };
        Err(Failure::NotAgain { reason: reason.to_owned() })
    }
}

impl Session {
    /// The entry to prove: the last one with a run if none is named.
    ///
    /// # Errors
    /// There is none; or more than one; or the store can't be read.
    pub fn entry_to_prove(&self, name: Option<&EntryName>) -> Result<Sealed, Failure> {
        self.entry_or_last_run(name)?.ok_or_else(|| Failure::NoEntry { name: "with a run".to_owned() })
    }
}

impl Host {
    /// Runs an entry again, and gathers all that it follows from. With `carries` the package goes with it.
    ///
    /// # Errors
    /// It comes to something else, or can't be made again; or it is too much for a proof; or the ledger is not as it was written.
    pub fn prove(
        &self,
        package: &Package,
        session: &Session,
        sealed: &Sealed,
        carries: bool,
    ) -> Result<Proof, Failure> {
        let sequence = sealed.sequence;
        let record = sealed.open().map_err(Failure::Entry)?.record;
        // Before the guest starts: what it may read later is its instance's alone.
        let (_, leaves) = session.leaves(&[sealed.pin()])?;
        let inclusion = leaves.inclusion(sequence).ok_or_else(|| Failure::NoEntry { name: format!("@{sequence}") })?;
        let packed = if carries { Some(package.packed()?) } else { None };
        let mut contents = Contents::new();
        for digest in named(&record) {
            let bytes = session.store().stream(&digest)?;
            let again = || Failure::NotAgain { reason: "its inputs are not kept any more".to_owned() };
            contents.insert(digest, (Kind::Stream, bytes.ok_or_else(again)?));
        }
        let noted = Noted::over(session.objects());
        let executed = equal(sequence, self.verify_over(noted.clone(), package, session, sealed, &Grants::default())?)?;
        let (read, total) = noted.taken();
        let others = contents.values().map(|(_, bytes)| bytes.len()).chain(packed.iter().map(Vec::len)).sum::<usize>();
        let bytes = total.saturating_add(others as u64);
        if bytes > CONTENT_BYTES_MAX {
            return Err(Failure::ProofTooLarge { sequence, bytes, allowed: CONTENT_BYTES_MAX });
        }
        let streams = contents.values().map(|(_, bytes)| BASE64.encode(bytes)).collect();
        let objects = read.values().filter_map(|(kind, bytes)| {
            let (name, _) = KINDS.iter().find(|(_, known)| known == kind)?;
            Some(WrittenObject { kind: (*name).to_owned(), content: BASE64.encode(bytes) })
        });
        let tree = leaves.head();
        let predicate = Predicate {
            entry: document::read(&sealed.bytes).map_err(|error| wrong(error.to_string()))?,
            ledger: inclusion,
            objects: objects.collect(),
            streams,
            package: packed.as_deref().map(|packed| BASE64.encode(packed)),
        };
        let predicate = serde_json::to_value(predicate).map_err(|error| wrong(error.to_string()))?;
        let about = subjects(sealed, &record, tree, packed.as_deref());
        let payload = form(&Statement::of(about, PROOF_TYPE, predicate))?;
        contents.extend(read);
        let proof = Proof::of(sealed.clone(), record, tree, contents, packed, payload)?;
        proof.is_of(package, &executed)?;
        Ok(proof)
    }

    /// Runs what a proof says again, by a package that made it, and by nothing of this host but its engine: what it comes to. The run takes no more
    /// than one of the package may here, but for what the operator says. Changes nothing.
    ///
    /// # Errors
    /// It comes to something else, or follows from something else than is in it; it can't be made again here; or it takes more than is allowed.
    pub fn check_proof(
        &self,
        package: &Package,
        proof: &Proof,
        at: Instant,
        operator: &[(Limit, u64)],
    ) -> Result<Outcome, Failure> {
        let sequence = proof.entry.sequence;
        if proof.record.package.component != Some(package.component_digest()) {
            let reason = "it was made by another component than the package's".to_owned();
            return Err(Failure::NotAgain { reason });
        }
        proof.carries_its_own()?;
        let limits = self.limits(package, operator.iter().copied());
        asks_within(sequence, &proof.record, &limits)?;
        let held = proof.contents.values().map(|(kind, bytes)| (*kind, Arc::clone(bytes)));
        let store = Arc::new(MemoryStore::holding(held));
        let session = self.session_of(store, &proof.instance, package_record(package)?, at);
        // What the run comes to is compared with it, at most all of it, once the guest has ended.
        let mut saw = Totals::default();
        for tree in proof.record.volumes.values().filter_map(|volume| volume.before) {
            saw = saw.plus(read_object(&*session.objects(), &tree).map_err(unfit)?.totals());
        }
        state_within(sequence, saw, &limits)?;
        let noted = Noted::over(session.objects());
        let made = self.verify_over(noted.clone(), package, &session, &proof.entry, &Grants::default());
        let made = made.map_err(|failure| match failure {
            Failure::Run(RunError::State(error)) => unfit(error),
            failure => failure,
        })?;
        let executed = equal(sequence, made)?;
        proof.is_of(package, &executed)?;
        let (read, _) = noted.taken();
        match proof.contents.iter().all(|(digest, (kind, _))| *kind == Kind::Stream || read.contains_key(digest)) {
            true => Ok(executed.outcome),
            false => Err(wrong("holds more than its entry follows from")),
        }
    }
}

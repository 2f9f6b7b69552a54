//! Packages and instances that are open, and what is done with them.

use crate::request::{Invoke, Request, Target, usage};
use crate::shown;
use hutch::package::{Package, PackageBounds, Source};
use hutch::proof::Proof;
use hutch::{Digest, EntryName, Grants, Host, Session, Verified};
use hutch_model::document::written;
use hutch_model::error_code::ErrorCode;
use hutch_model::error_report::ErrorReport;
use hutch_model::invocation::Seed;
use hutch_model::ledger::{Origin, Sealed, SecretKey};
use hutch_model::limits::Limit;
use hutch_model::names::Slug;
use hutch_sandbox::{Backend, Sandbox};
use hutch_store::{InstanceName, MemoryStore, Store, StoreError, bundle};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// What is known of one request: JSON, and bytes beside it.
#[derive(Debug, Default)]
pub struct Answer {
    /// `{"ok":true,"result":…}`, or the host's error object.
    pub json: Vec<u8>,
    /// A file, a bundle, or a guest's standard output and error.
    pub attachment: Vec<u8>,
}

type Done = Result<(Value, Vec<u8>), ErrorReport>;
type Key = (String, String);

/// One host.
pub struct Tab {
    host: Host,
    stores: Arc<Mutex<BTreeMap<Key, MemoryStore>>>,
    packages: BTreeMap<String, Package>,
}

#[cfg(target_family = "wasm")]
fn sandbox() -> Sandbox {
    Sandbox::of_artifacts(Backend::Interpreter32)
}

/// On a machine the same engine interprets, with addresses of 64 bits.
#[cfg(not(target_family = "wasm"))]
fn sandbox() -> Sandbox {
    Sandbox::default().on(Backend::Interpreter64)
}

fn report(failure: impl Into<hutch::Failure>) -> ErrorReport {
    failure.into().report()
}

fn stores_of(stores: &Mutex<BTreeMap<Key, MemoryStore>>) -> MutexGuard<'_, BTreeMap<Key, MemoryStore>> {
    // A map of handles is whole at any time.
    stores.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Default for Tab {
    fn default() -> Tab {
        Tab::new()
    }
}

impl Tab {
    /// A host that knows no package yet.
    pub fn new() -> Tab {
        let stores: Arc<Mutex<BTreeMap<Key, MemoryStore>>> = Arc::default();
        let known = Arc::clone(&stores);
        let find = move |slug: &Slug, instance: &InstanceName| -> Result<Arc<dyn Store>, StoreError> {
            let key = (slug.to_string(), instance.to_string());
            match stores_of(&known).get(&key) {
                Some(store) => Ok(Arc::new(store.clone())),
                None => {
                    let (at, what) = ("this tab".to_owned(), format!("instance {slug}/{instance} that is open"));
                    Err(StoreError::Missing { at, what })
                }
            }
        };
        Tab { host: Host::with_stores(Arc::new(find), sandbox()), stores, packages: BTreeMap::new() }
    }

    /// Answers one request.
    pub fn answer(&mut self, request: &[u8], attachment: Vec<u8>) -> Answer {
        let done = Request::read(request).and_then(|request| self.act(request, attachment));
        let (value, attachment) = match done {
            Ok((result, attachment)) => (json!({ "ok": true, "result": result }), attachment),
            Err(report) => (serde_json::to_value(report).unwrap_or_default(), Vec::new()),
        };
        Answer { json: written(&value.to_string()).into_owned().into_bytes(), attachment }
    }

    fn act(&mut self, request: Request, attachment: Vec<u8>) -> Done {
        let plain = |value| Ok((value, Vec::new()));
        match request {
            Request::Load {} => self.load(attachment),
            Request::Artifact {} => self.artifact(attachment),
            Request::Component {} => self.component(attachment),
            Request::Carried { number } => carried(&attachment, number),
            Request::Open { package, instance, key } => self.open(&package, &instance, key, &attachment),
            Request::Run(invoke) => self.invoke(invoke, attachment, true),
            Request::Plan(invoke) => self.invoke(invoke, attachment, false),
            Request::Validate(invoke) => {
                let package = self.package(&invoke.target.package)?;
                let validated = self.host.validate(package, &invoke.call(attachment)?).map_err(report)?;
                let command = validated.command.map(|command| command.to_string());
                plain(json!({ "command": command, "confirmation": validated.confirmation }))
            }
            Request::Commit { target, plan, confirmed, wall_time_us } => {
                let package = self.package(&target.package)?;
                let session = self.host.open(package, &target.instance()?, target.at).map_err(report)?;
                let session = session.with_wall_time_us(wall_time_us);
                let mut grants = Grants::default();
                grants.confirmed = confirmed;
                let answer = self.host.apply(package, &session, &entry_name(&plan)?, &grants);
                Ok(shown::answer(&answer.map_err(report)?))
            }
            Request::Undo { target, count, entry } => {
                let (_, session) = self.session(&target)?;
                let moved = match (count, entry) {
                    (count, None) => session.undo_last(count.unwrap_or(1), &BTreeMap::new()),
                    (None, Some(entry)) => session.undo(&entry_name(&entry)?),
                    (Some(_), Some(_)) => return Err(usage("either a count of changes or an entry")),
                };
                plain(shown::moved(&moved.map_err(report)?))
            }
            Request::Restore { target, entry } => {
                let (_, session) = self.session(&target)?;
                plain(shown::moved(&session.restore(&entry_name(&entry)?).map_err(report)?))
            }
            Request::Ledger { target, from, count } => {
                let (_, session) = self.session(&target)?;
                let entries = session.entries(from).take(count.unwrap_or(usize::MAX)).collect::<Result<Vec<_>, _>>();
                let entries = entries.map_err(report)?;
                let head = session.check_chain(&[]).map_err(report)?;
                plain(json!({
                    "head": { "sequence": head.sequence, "hash": head.hash },
                    "items": entries.iter().map(shown::entry).collect::<Vec<_>>(),
                }))
            }
            Request::Verify { target, entry } => {
                let (package, session) = self.session(&target)?;
                let entries = match entry {
                    Some(entry) => vec![session.entry(&entry_name(&entry)?).map_err(report)?],
                    None => session.entries(1).collect::<Result<Vec<_>, _>>().map_err(report)?,
                };
                plain(self.verified(package, &session, &entries)?)
            }
            Request::Prove { target, entry, bare } => {
                let (package, session) = self.session(&target)?;
                let sealed = session.entry_to_prove(optional(entry)?.as_ref()).map_err(report)?;
                let proof = self.host.prove(package, &session, &sealed, !bare).map_err(report)?;
                Ok((shown::proof(&proof), proof.written().map_err(report)?))
            }
            Request::Proof {} => {
                let proof = Proof::read(&attachment).map_err(report)?;
                Ok((shown::proof(&proof), proof.packed().unwrap_or_default().to_vec()))
            }
            Request::Check { at, limits } => {
                let proof = Proof::read(&attachment).map_err(report)?;
                let bounds = PackageBounds::with_component(Limit::Component.info().most);
                let brought = proof.package(bounds).map_err(report)?;
                let package = brought.as_ref().map_or_else(|| self.package(&proof.record().package.slug), Ok)?;
                let limits: Vec<_> = limits.into_iter().collect();
                let outcome = self.host.check_proof(package, &proof, at, &limits).map_err(report)?;
                Ok(shown::checked(&proof, &outcome))
            }
            Request::Objects { target, path, entry } => {
                let (_, session) = self.session(&target)?;
                let state = session.state_at(optional(entry)?.as_ref()).map_err(report)?;
                let items = match path {
                    Some(path) => {
                        let path = session.state_path(&state, &path).map_err(report)?;
                        session.list(&state, &path).map_err(report)?.iter().map(shown::item).collect()
                    }
                    None => Vec::new(),
                };
                plain(json!({ "volumes": state, "items": items }))
            }
            Request::Read { target, path, entry } => {
                let (_, session) = self.session(&target)?;
                let state = session.state_at(optional(entry)?.as_ref()).map_err(report)?;
                let path = session.state_path(&state, &path).map_err(report)?;
                let mut bytes = Vec::new();
                let mut take = |part: &[u8]| {
                    bytes.extend_from_slice(part);
                    Ok(())
                };
                session.read(&state, &path, &mut take).map_err(report)?;
                Ok((json!({ "bytes": bytes.len() }), bytes))
            }
            Request::Export { target, after, packages, log } => {
                // Of what was taken in with a bundle that carried the package, that need not be loaded.
                let session = self.host.open_existing(&slug(&target.package)?, &target.instance()?, target.at);
                let session = session.map_err(report)?;
                let last = session.head().map_err(report)?.last.sequence;
                if log {
                    let added = hutch_store::log::export(session.store(), after).map_err(report)?;
                    return Ok((json!({ "after": after, "last": last, "bytes": added.len() }), added));
                }
                let makers = match packages {
                    true => {
                        let known = std::slice::from_ref(self.package(&target.package)?);
                        session.makers(known, (after, last)).map_err(report)?
                    }
                    false => Vec::new(),
                };
                let whole = session.bundles(after, last, usize::MAX).carrying(&makers).next();
                let bundle = whole.transpose().map_err(report)?.map(|part| part.bytes).unwrap_or_default();
                Ok((json!({ "after": after, "last": last, "bytes": bundle.len() }), bundle))
            }
            Request::Import { target, packages, limits } => {
                self.import(&target, attachment, packages, limits.into_iter().collect())
            }
        }
    }

    fn load(&mut self, packed: Vec<u8>) -> Done {
        // It is used under its name from now on, and by nobody else here: what installing is elsewhere.
        let package = opened(packed)?.from_origin(Origin::installed());
        let value = shown::package(&package).map_err(report)?;
        self.packages.insert(package.manifest().slug().to_string(), package);
        Ok((value, Vec::new()))
    }

    #[cfg(target_family = "wasm")]
    fn artifact(&mut self, artifact: Vec<u8>) -> Done {
        #[allow(unsafe_code, reason = "there is no compiler here")]
        // SAFETY: there is an interpreter here, in a module that can reach nothing; the page that gives it code is whose module it is.
        let component = unsafe { self.host.sandbox().give(artifact) }.map_err(report)?;
        Ok((json!({ "component": component }), Vec::new()))
    }

    fn component(&self, packed: Vec<u8>) -> Done {
        let package = opened(packed)?;
        let digest = package.component_digest();
        let is_compiled = self.has_code(&digest);
        let component = if is_compiled { Vec::new() } else { package.component().map_err(report)?.to_vec() };
        Ok((json!({ "component": digest, "compiled": is_compiled }), component))
    }

    #[cfg(target_family = "wasm")]
    fn has_code(&self, component: &Digest) -> bool {
        self.host.sandbox().has(component)
    }

    /// A machine has what it needs.
    #[cfg(not(target_family = "wasm"))]
    fn has_code(&self, _: &Digest) -> bool {
        true
    }

    /// A machine compiles by itself; what it is given is only looked at.
    #[cfg(not(target_family = "wasm"))]
    fn artifact(&mut self, artifact: Vec<u8>) -> Done {
        let (header, _) = hutch_sandbox::read_artifact(&artifact).map_err(report)?;
        Ok((json!({ "component": header.component }), Vec::new()))
    }

    fn open(&mut self, package: &str, instance: &str, key: Seed, log: &[u8]) -> Done {
        let slug = slug(package)?;
        let name: InstanceName =
            instance.parse().map_err(|error| usage(format!("the instance {instance:?}: {error}")))?;
        let store = MemoryStore::new(SecretKey::new(key.0));
        let taken = hutch_store::log::take_in(&store, log).map_err(report)?;
        stores_of(&self.stores).insert((slug.to_string(), name.to_string()), store);
        Ok((json!({ "entries": taken.entries, "whole_bytes": taken.whole_bytes }), Vec::new()))
    }

    fn invoke(&self, invoke: Invoke, attachment: Vec<u8>, keep: bool) -> Done {
        let package = self.package(&invoke.target.package)?;
        let call = invoke.call(attachment)?;
        let answer = if keep { self.host.run(package, &call) } else { self.host.plan(package, &call) };
        Ok(shown::answer(&answer.map_err(report)?))
    }

    /// Takes a bundle in and runs again what it says, within what a run of the package may take, or what is said.
    fn import(&self, target: &Target, bytes: Vec<u8>, with_carried: bool, limits: Vec<(Limit, u64)>) -> Done {
        let slug = slug(&target.package)?;
        let brought = if with_carried { bundle::packages(&bytes).map_err(report)? } else { Vec::new() };
        let brought = brought.into_iter().map(|packed| opened(packed.to_vec()).map(Package::carried));
        let mut brought = brought.collect::<Result<Vec<_>, ErrorReport>>()?;
        let carried = match self.package(&target.package) {
            Ok(_) => None,
            Err(missing) => {
                let versions = brought.iter().enumerate().filter(|(_, package)| *package.manifest().slug() == slug);
                let version = |(_, package): &(usize, &Package)| package.manifest().version().clone();
                let (at, _) = versions.max_by_key(version).ok_or(missing)?;
                Some(brought.swap_remove(at))
            }
        };
        // What it brings asks for more than it gets, before it is taken for an installed one.
        let limits = match &carried {
            Some(package) => {
                let granted = self.host.limits(package, limits);
                Limit::ALL.iter().map(|limit| (*limit, granted.get(*limit))).collect()
            }
            None => limits,
        };
        let carried = carried.map(|package| package.from_origin(Origin::installed()));
        let package = carried.as_ref().map_or_else(|| self.package(&target.package), Ok)?;
        let bundles = [(Ok::<_, hutch::Failure>(bytes), None)];
        let (instance, secrets) = (target.instance()?, BTreeMap::new());
        let taken = self.host.take_in_all((package, &brought, &limits), &instance, target.at, &secrets, bundles);
        let taken = taken.map_err(report)?;
        let items: Vec<Value> =
            taken.verified.into_iter().map(|(sealed, verified)| shown::verified(&sealed, verified)).collect();
        let told = json!({
            "entries": taken.entries, "as_told": taken.as_told, "dropped": taken.dropped,
            "moved": taken.moved, "confirmed": taken.confirmed, "plans": taken.plans, "by_carried": taken.by_carried,
            "verified": { "items": items },
        });
        Ok((told, Vec::new()))
    }

    /// What running entries again shows.
    fn verified(&self, package: &Package, session: &Session, entries: &[Sealed]) -> Result<Value, ErrorReport> {
        let mut items = Vec::new();
        let mut differ = false;
        for sealed in entries {
            let verified = self.host.verify(package, session, sealed, &BTreeMap::new()).map_err(report)?;
            differ |= matches!(verified, Verified::Differs(_));
            items.push(shown::verified(sealed, verified));
        }
        match differ {
            false => Ok(json!({ "items": items })),
            true => {
                let message = "entries came to something else when they were run again";
                Err(ErrorReport::new(ErrorCode::VerifyFailed, message).detail("entries", items))
            }
        }
    }

    fn package(&self, slug: &str) -> Result<&Package, ErrorReport> {
        let missing = || ErrorReport::new(ErrorCode::PackageNotFound, format!("no package {slug:?} is loaded"));
        self.packages.get(slug).ok_or_else(missing)
    }

    fn session(&self, target: &Target) -> Result<(&Package, Session), ErrorReport> {
        let package = self.package(&target.package)?;
        let session = self.host.open_existing(package.manifest().slug(), &target.instance()?, target.at);
        Ok((package, session.map_err(report)?))
    }
}

fn carried(bundle: &[u8], number: usize) -> Done {
    let packages = bundle::packages(bundle).map_err(report)?;
    let packed = packages.get(number).map(|packed| packed.to_vec()).unwrap_or_default();
    Ok((json!({ "packages": packages.len() }), packed))
}

fn slug(package: &str) -> Result<Slug, ErrorReport> {
    Slug::parse(package).map_err(|error| usage(format!("the package {package:?}: {error}")))
}

fn opened(packed: Vec<u8>) -> Result<Package, ErrorReport> {
    let bounds = PackageBounds::with_component(Limit::Component.info().most);
    let source = Source::packed_in_memory(packed, &bounds).map_err(report)?;
    Package::open(&source, bounds).map_err(report)
}

fn entry_name(text: &str) -> Result<EntryName, ErrorReport> {
    text.parse().map_err(|error| usage(format!("the entry {text:?}: {error}")))
}

fn optional(text: Option<String>) -> Result<Option<EntryName>, ErrorReport> {
    text.as_deref().map(entry_name).transpose()
}

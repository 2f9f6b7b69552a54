//! What came of something, as JSON: the names are those of the command line's answers.

use hutch::package::{Package, PackageError};
use hutch::proof::Proof;
use hutch::{Answer, Item, Moved, Verified, VolumeChange};
use hutch_model::document;
use hutch_model::error_code::ErrorCode;
use hutch_model::error_report::ErrorReport;
use hutch_model::ledger::Sealed;
use hutch_model::outcome::{Outcome, Verdict};
use hutch_model::snapshot::{Changes, Node};
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// The most memory that a guest's document may take as part of an answer; a larger one is in the attachment alone.
const DOCUMENT_MEMORY_MAX: u64 = 64 * 1024 * 1024;

pub(crate) fn package(package: &Package) -> Result<Value, PackageError> {
    let manifest = package.manifest();
    let contract = package.contract()?.map(|file| file.contract().to_document());
    let names = |paths: &[hutch_model::names::PackagePath]| paths.iter().map(ToString::to_string).collect::<Vec<_>>();
    Ok(json!({
        "slug": manifest.slug().as_str(),
        "name": manifest.name(),
        "description": manifest.description(),
        "version": manifest.version().to_string(),
        "digest": package.run_digest()?,
        "component": package.component_digest(),
        "component_path": manifest.entry().component().as_str(),
        "commands": manifest.commands().iter().map(ToString::to_string).collect::<Vec<_>>(),
        "confirmation_required": manifest.confirmation_required().iter().map(ToString::to_string).collect::<Vec<_>>(),
        "volumes": names(manifest.volumes()),
        "resources": names(manifest.resources()),
        "environment": manifest.environment().iter().map(ToString::to_string).collect::<Vec<_>>(),
        "contract": contract,
        "profile": hutch_sandbox::profile(),
    }))
}

fn changes(changes: &Changes) -> Value {
    json!({ "listed": changes.listed, "omitted": changes.omitted })
}

fn volume(change: &VolumeChange) -> Value {
    let mut value = json!({ "before": change.before, "after": change.after, "changes": change.changes.listed });
    if change.changes.omitted > 0 {
        value["omitted"] = change.changes.omitted.into();
    }
    value
}

/// A run. The attachment is its standard output, and then its standard error.
pub(crate) fn answer(answer: &Answer) -> (Value, Vec<u8>) {
    let outcome = &answer.outcome;
    let status = answer.status();
    let error = match &answer.verdict {
        Verdict::Good => None,
        Verdict::Bad { code, message } => Some(ErrorReport::new(*code, message.clone())),
        _ => {
            let message = format!("the guest ended with status {status}, so nothing of what it did is kept");
            Some(ErrorReport::new(ErrorCode::GuestFailed, message))
        }
    };
    let volumes: BTreeMap<_, _> = answer.volumes.iter().map(|(name, change)| (name, volume(change))).collect();
    let value = json!({
        "status": status,
        "ending": outcome.ending.name(),
        "ending_detail": outcome.ending.detail(),
        "exit_status": outcome.ending.exit_status(),
        "output": output(outcome),
        "stdout_bytes": outcome.stdout.len(),
        "stderr_bytes": outcome.stderr.len(),
        "fuel": outcome.fuel,
        "fuel_exact": outcome.fuel_exact,
        "memory_peak_bytes": outcome.memory_peak_bytes,
        "refused": outcome.refused,
        "unreproducible": outcome.unreproducible,
        "profile": outcome.profile,
        "kept": answer.kept,
        "volumes": volumes,
        "entry": { "sequence": answer.entry.sequence, "hash": answer.entry.hash },
        "error": error,
    });
    (value, streams(outcome))
}

/// The document that a guest printed, if it is one.
fn output(outcome: &Outcome) -> Option<Value> {
    document::read_to_hand_on_within(&outcome.stdout, DOCUMENT_MEMORY_MAX).ok()
}

fn streams(outcome: &Outcome) -> Vec<u8> {
    [&outcome.stdout[..], &outcome.stderr].concat()
}

pub(crate) fn moved(moved: &Moved) -> Value {
    let volumes: BTreeMap<_, _> = moved.changes.iter().map(|(name, volume)| (name, changes(volume))).collect();
    json!({
        "entry": { "sequence": moved.entry.sequence, "hash": moved.entry.hash },
        "follows": { "sequence": moved.follows.sequence, "hash": moved.follows.hash },
        "volumes": volumes,
    })
}

/// An entry as it is stored.
pub(crate) fn entry(sealed: &Sealed) -> Value {
    json!({
        "sequence": sealed.sequence,
        "hash": sealed.hash,
        "entry": document::read(&sealed.bytes).unwrap_or_default(),
    })
}

pub(crate) fn verified(sealed: &Sealed, verified: Verified) -> Value {
    let status = verified.name();
    let detail = match verified {
        Verified::Differs(differences) => json!(differences),
        Verified::NotReproducible(reason) => reason.into(),
        _ => Value::Null,
    };
    json!({ "sequence": sealed.sequence, "hash": sealed.hash, "status": status, "detail": detail })
}

/// The entry that a proof is of.
pub(crate) fn proof(proof: &Proof) -> Value {
    let (entry, record) = (proof.entry(), proof.record());
    json!({
        "sequence": entry.sequence,
        "hash": entry.hash,
        "entry": document::read(&entry.bytes).unwrap_or_default(),
        "package": record.package.slug,
        "instance": record.instance,
        "argv": proof.argv(),
        "environment": proof.environment(),
        "objects": proof.objects(),
        "tree": proof.tree().to_string(),
    })
}

/// The same of one that was checked, with what the run came to. The attachment is as a run's.
pub(crate) fn checked(proof: &Proof, outcome: &Outcome) -> (Value, Vec<u8>) {
    let mut value = self::proof(proof);
    value["output"] = json!(output(outcome));
    value["stdout_bytes"] = outcome.stdout.len().into();
    value["stderr_bytes"] = outcome.stderr.len().into();
    (value, streams(outcome))
}

pub(crate) fn item(item: &Item) -> Value {
    let (kind, bytes, target) = match item.entry.as_ref().map(|entry| &entry.node) {
        None | Some(Node::Folder { .. }) => ("folder", None, None),
        Some(Node::File { size, .. }) => ("file", Some(*size), None),
        Some(Node::Link { target }) => ("link", None, Some(target.to_string())),
    };
    json!({ "path": item.path, "kind": kind, "bytes": bytes, "target": target })
}

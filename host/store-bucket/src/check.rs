//! Looking at everything: how much there is, and whether all of it is what was written.

use crate::frame::{self, Frame};
use crate::instance::{Instance, PAGE};
use crate::objects::{All, is_sound};
use hutch_model::digest::{Digest, Kind};
use hutch_store::keeping::{Audit, Findings, Moves, reach, states};
use hutch_store::{Damage, Head, Stats, StoreError};
use std::collections::HashSet;

/// Counts.
pub(crate) fn stats(instance: &Instance) -> Result<Stats, StoreError> {
    let mut stats = Stats { entries: instance.last()?.map_or(0, |last| last.sealed.sequence), ..Stats::default() };
    for (name, bytes) in instance.list("")? {
        stats.disk_bytes += bytes;
        match frame::object_named(&name) {
            Some((Kind::Stream, _)) => {
                stats.streams += 1;
                stats.stream_bytes += bytes;
            }
            Some(_) => {
                stats.objects += 1;
                stats.object_bytes += bytes;
            }
            None => {}
        }
    }
    Ok(stats)
}

/// Checks all.
pub(crate) fn check(instance: &Instance) -> Result<Vec<Damage>, StoreError> {
    let mut findings = Findings::default();
    if instance.key()?.is_none() {
        return match instance.list("e/")?.is_empty() {
            true => Ok(Vec::new()),
            false => {
                findings.add("the instance", "is gone, and entries of it are there");
                Ok(findings.into_damages())
            }
        };
    }
    let listed: Vec<(String, Kind, Digest)> = instance
        .list("o/")?
        .into_iter()
        .filter_map(|(name, _)| frame::object_named(&name).map(|(kind, digest)| (name, kind, digest)))
        .collect();
    for some in listed.chunks(PAGE as usize) {
        let names = some.iter().map(|(name, ..)| instance.name(name)).collect();
        for ((_, kind, digest), bytes) in some.iter().zip(instance.bucket.get_all(names)?) {
            if !bytes.is_some_and(|bytes| is_sound(*kind, digest, &bytes)) {
                findings.add(format!("object {digest}"), "does not match its digest");
            }
        }
    }
    let head = match instance.last() {
        Ok(last) => last.map(|last| last.head.clone()).unwrap_or_default(),
        Err(error @ StoreError::Damaged { .. }) => {
            findings.add("the head", error);
            return Ok(findings.into_damages());
        }
        Err(error) => return Err(error),
    };
    let all: HashSet<Digest> = listed.iter().map(|(_, _, digest)| *digest).collect();
    let roots = check_entries(instance, &head, &all, &mut findings)?;
    let (source, mut live) = (All { instance, digests: &all }, HashSet::new());
    for state in roots {
        if let Err(error) = reach(&source, state, &mut live) {
            findings.add(format!("state {state}"), error);
        }
    }
    Ok(findings.into_damages())
}

/// The chain is whole, ends at the head, and leads to what is said beside each entry. Gives the states that must be there.
fn check_entries(
    instance: &Instance,
    head: &Head,
    all: &HashSet<Digest>,
    findings: &mut Findings,
) -> Result<Vec<Digest>, StoreError> {
    let mut roots: Vec<Digest> = head.state.values().copied().collect();
    let (mut audit, mut index, mut before) = (Audit::default(), Moves::new(), Head::default());
    for first in (1..=head.last.sequence).step_by(PAGE as usize) {
        let until = head.last.sequence.min(first.saturating_add(PAGE - 1));
        let names = (first..=until).map(|sequence| instance.name(&frame::entry(sequence))).collect();
        for (sequence, bytes) in (first..=until).zip(instance.bucket.get_all(names)?) {
            let Some(bytes) = bytes else { continue };
            let found = match Frame::read_at(&instance.at, sequence, &bytes) {
                Ok(found) => found,
                Err(error) => {
                    findings.add(format!("entry {sequence}"), error);
                    continue;
                }
            };
            audit.take(&found.sealed, findings);
            let mut changed = before.changed;
            for (volume, tree) in &found.head.state {
                if before.state.get(volume) != Some(tree) {
                    index.entry(volume.to_string()).or_default().push((sequence, *tree));
                    changed = sequence;
                }
            }
            if found.head.changed != changed {
                findings.add(format!("entry {sequence}"), "says of another entry that it was the last change");
            }
            if let Ok(entry) = found.sealed.open() {
                let kept = states(&entry.record).filter(|(state, must)| *must || all.contains(state));
                roots.extend(kept.map(|(state, _)| state));
            }
            before = found.head;
        }
    }
    audit.end(head, &index, findings);
    Ok(roots)
}

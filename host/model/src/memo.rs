//! Outcomes that are kept to be used again: what they are kept under, and how they are written. An outcome follows from component,
//! invocation and state; of the invocation, from when the wall clock started and from the seed only if the guest has looked at them. So a
//! call has four keys, of which the outcome is under the one that says what was looked at. Pure: who keeps the bytes is elsewhere.
//!
//! What is kept shows when it was damaged or stands under another key. That somebody wrote it who should not have shows only by running.

use crate::digest::{Digest, Hasher, Kind};
use crate::instant::Instant;
use crate::ledger::{InvocationRecord, Maker, NotCanonical, OutcomeRecord, canonical};
use crate::outcome::Outcome;
use serde::{Deserialize, Serialize};
use serde_json::json;
use std::collections::BTreeMap;

/// The most bytes of an outcome that is kept.
pub const KEPT_BYTES_MAX: usize = 1 << 20;

/// The form that is written. What another version wrote in another form is none.
const FORM: u32 = 1;

/// What of an invocation a run has looked at, that it need not. What it did not look at could have been any other, and all would be the
/// same: the outcome, and what is left.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Seen {
    /// When the wall clock started: it was read, or is in a time that was read or kept.
    pub clock: bool,
    /// The seed.
    pub seed: bool,
}

impl Seen {
    const ALL: [Seen; 4] = [
        Seen { clock: false, seed: false },
        Seen { clock: true, seed: false },
        Seen { clock: false, seed: true },
        Seen { clock: true, seed: true },
    ];
}

/// What the outcome of a call may be kept under.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Keys([Digest; 4]);

impl Keys {
    /// Those of a call: `trees` are all folders that are open for the guest, by name.
    ///
    /// # Errors
    /// None for what a host records.
    pub fn of(
        component: Digest,
        profile: &str,
        invocation: &InvocationRecord,
        trees: &BTreeMap<String, Digest>,
    ) -> Result<Keys, NotCanonical> {
        // All of it is named, so that what is added reaches this place.
        let InvocationRecord {
            argv,
            inputs,
            stdin,
            environment,
            clock_start,
            seed,
            limits,
            preopens,
            // Real folders are for no memo.
            mounts: _,
            // None of these reaches a guest.
            confirmed: _,
            contract: _,
            digests_only: _,
        } = invocation;
        let call = canonical(&json!({
            "component": component, "profile": profile, "trees": trees,
            "argv": argv, "inputs": inputs, "stdin": stdin, "environment": environment,
            "limits": limits, "preopens": preopens,
        }))?;
        let under = |seen: Seen| {
            let mut hasher = Hasher::new(Kind::Memo);
            hasher.update_part(b"key");
            hasher.update_part(&call);
            hasher.update_part(&looked_at(seen.clock, *clock_start));
            hasher.update_part(if seen.seed { &seed.0[..] } else { &[] });
            hasher.finish()
        };
        Ok(Keys(Seen::ALL.map(under)))
    }

    /// All of them.
    pub fn all(&self) -> &[Digest] {
        &self.0
    }

    /// The one for a run that has looked at this.
    pub fn under(&self, seen: Seen) -> Digest {
        let [neither, clock, seed, both] = self.0;
        match (seen.clock, seen.seed) {
            (false, false) => neither,
            (true, false) => clock,
            (false, true) => seed,
            (true, true) => both,
        }
    }
}

fn looked_at(is_seen: bool, clock_start: Instant) -> Vec<u8> {
    if is_seen { clock_start.unix_ns().to_le_bytes().to_vec() } else { Vec::new() }
}

/// Whether one of several is run again and compared: which of them it is can be told by nobody who does not know when the call is made.
pub fn is_sample(key: &Digest, at: Instant, one_of: u64) -> bool {
    let mut hasher = Hasher::new(Kind::Memo);
    hasher.update_part(b"sample");
    hasher.update_part(key.as_bytes());
    hasher.update_part(&at.unix_ns().to_le_bytes());
    let number = hasher.finish().as_bytes().first_chunk().map_or(0, |bytes| u64::from_le_bytes(*bytes));
    number.checked_rem(one_of) == Some(0)
}

/// An outcome that may be used again.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Kept {
    /// How the guest ended and what it said.
    pub outcome: Outcome,
    /// What it has looked at.
    pub seen: Seen,
    /// The volumes that it left otherwise than it found them, by name.
    pub after: BTreeMap<String, Digest>,
    /// Who made it.
    pub made: Maker,
}

/// What is written before the two streams.
#[derive(Serialize, Deserialize)]
struct Head {
    form: u32,
    outcome: OutcomeRecord,
    seen: Seen,
    after: BTreeMap<String, Digest>,
    made: Maker,
}

/// The bytes are not what was kept under their key.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("what is kept under {key} {reason}")]
pub struct NotKept {
    key: Digest,
    reason: &'static str,
}

impl Kept {
    /// Whether an outcome may be used again: it would be the same each time, and all of it is known exactly.
    pub fn may_hold(outcome: &Outcome) -> bool {
        outcome.unreproducible.is_empty() && outcome.fuel_exact
    }

    /// As bytes that are kept under `key`; none if they are too many, or the outcome is not for being kept.
    pub fn write(&self, key: &Digest) -> Option<Vec<u8>> {
        let (stdout, stderr) = (&self.outcome.stdout, &self.outcome.stderr);
        if !Kept::may_hold(&self.outcome) || stdout.len() + stderr.len() > KEPT_BYTES_MAX {
            return None;
        }
        let head = Head {
            form: FORM,
            outcome: OutcomeRecord::of(&self.outcome, &Default::default()),
            seen: self.seen,
            after: self.after.clone(),
            made: self.made.clone(),
        };
        let head = serde_json::to_vec(&head).ok()?;
        let length = u32::try_from(head.len()).ok()?.to_le_bytes();
        let content = [&length, &head[..], stdout, stderr].concat();
        let bytes = [&name(key, &content).as_bytes()[..], &content].concat();
        Some(bytes).filter(|bytes| bytes.len() <= KEPT_BYTES_MAX)
    }

    /// Reads what was kept under `key`.
    ///
    /// # Errors
    /// It is not what [`write`](Kept::write) made for this key.
    pub fn read(key: &Digest, bytes: &[u8]) -> Result<Kept, NotKept> {
        let not = |reason| NotKept { key: *key, reason };
        let parts = bytes.split_at_checked(32).filter(|_| bytes.len() <= KEPT_BYTES_MAX);
        let (named, content) = parts.ok_or(not("has no length that an outcome has"))?;
        if named != name(key, content).as_bytes() {
            return Err(not("is damaged, or was kept under another key"));
        }
        let cut = || not("is cut short");
        let (length, rest) = content.split_first_chunk::<4>().ok_or_else(cut)?;
        let (head, streams) = rest.split_at_checked(u32::from_le_bytes(*length) as usize).ok_or_else(cut)?;
        let head: Head = serde_json::from_slice(head).map_err(|_| not("has another form"))?;
        let Head { form, outcome: was, seen, after, made } = head;
        if form != FORM {
            return Err(not("has another form"));
        }
        let sizes = (was.stdout.size, was.stderr.size);
        let size = usize::try_from(sizes.0).map_err(|_| cut())?;
        let (stdout, stderr) = streams.split_at_checked(size).ok_or_else(cut)?;
        let outcome = was.with_streams(stdout.to_vec(), stderr.to_vec());
        match Kept::may_hold(&outcome) && sizes.1 == stderr.len() as u64 {
            true => Ok(Kept { outcome, seen, after, made }),
            false => Err(not("is no outcome that is kept")),
        }
    }
}

/// What shows whether bytes are those that were kept under a key.
fn name(key: &Digest, content: &[u8]) -> Digest {
    let mut hasher = Hasher::new(Kind::Memo);
    hasher.update_part(b"kept");
    hasher.update_part(key.as_bytes());
    hasher.update_part(content);
    hasher.finish()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::invocation::{Invocation, InvocationParts, Seed};
    use crate::ledger::{EntryKind, SecretKey};
    use crate::limits::Limit;
    use crate::outcome::{Ending, Unreproducible};

    fn digest(text: &str) -> Digest {
        Digest::of(Kind::Tree, text.as_bytes())
    }

    fn keys(change: impl FnOnce(&mut InvocationParts)) -> Keys {
        let mut parts = InvocationParts { argv: vec!["a".to_owned()], ..InvocationParts::default() };
        change(&mut parts);
        let invocation = Invocation::new(parts).unwrap();
        let record = InvocationRecord::of(&invocation, &Default::default(), &SecretKey::new([0; 32])).0;
        Keys::of(digest("component"), "profile", &record, &[("state".to_owned(), digest("tree"))].into()).unwrap()
    }

    #[test]
    fn clock_and_seed_are_in_the_keys_that_are_for_them_and_all_else_is_in_all() {
        let same = keys(|_| {});
        let equal = |other: &Keys| Seen::ALL.map(|seen| same.under(seen) == other.under(seen));
        assert_eq!(equal(&keys(|parts| parts.clock_start = Instant::from_unix_ns(1))), [true, false, true, false]);
        assert_eq!(equal(&keys(|parts| parts.seed = Seed([1; 32]))), [true, true, false, false]);
        let others = [
            keys(|parts| parts.argv.push("b".to_owned())),
            keys(|parts| parts.stdin = b"x".to_vec()),
            keys(|parts| parts.environment = [("A".to_owned(), "b".to_owned())].into()),
            keys(|parts| parts.limits.set(Limit::Fuel, 1)),
            keys(|parts| parts.preopens = [("state".to_owned(), crate::invocation::Access::ReadOnly)].into()),
            keys(|parts| parts.argv = vec!["x".repeat(crate::ledger::INPUTS_BYTES_MAX + 1)]),
        ];
        for other in &others {
            assert_eq!(equal(other), [false; 4]);
        }
        assert_eq!(equal(&keys(|_| {})), [true; 4]);
        let all: std::collections::BTreeSet<_> = others.iter().chain([&same]).flat_map(Keys::all).collect();
        assert_eq!(all.len(), 7 * 4);
    }

    fn kept() -> Kept {
        let outcome = Outcome {
            ending: Ending::Exited { status: 3 },
            stdout: b"out".to_vec(),
            stderr: b"err!".to_vec(),
            fuel: 7,
            fuel_exact: true,
            memory_peak_bytes: 9,
            refused: vec![Limit::Memory],
            unreproducible: Vec::new(),
            profile: "profile".to_owned(),
        };
        let after = [("state".to_owned(), digest("after"))].into();
        let made = Maker { at: Instant::from_unix_ns(5), kind: EntryKind::Map, role: None, instance: None };
        Kept { outcome, seen: Seen { clock: true, seed: false }, after, made }
    }

    #[test]
    fn what_was_written_reads_back_under_its_key_alone_and_no_byte_can_be_another() {
        let (key, other, kept) = (digest("key"), digest("other"), kept());
        let bytes = kept.write(&key).unwrap();
        assert_eq!(Kept::read(&key, &bytes), Ok(kept));
        assert!(Kept::read(&other, &bytes).is_err());
        for at in 0..bytes.len() {
            let mut damaged = bytes.clone();
            damaged[at] ^= 1;
            assert!(Kept::read(&key, &damaged).is_err(), "{at}");
            assert!(Kept::read(&key, &bytes[..at]).is_err(), "{at}");
        }
        // One that somebody named anew is read as far as it makes sense.
        for content in [&b""[..], &[0; 3], &[255; 4], &[0; 4], &[1, 0, 0, 0, b'{'], b"\x02\0\0\0{}"] {
            let forged = [&name(&key, content).as_bytes()[..], content].concat();
            assert!(Kept::read(&key, &forged).is_err(), "{content:?}");
        }
    }

    #[test]
    fn what_can_not_be_had_again_or_is_too_large_is_not_written() {
        let written = |change: fn(&mut Outcome)| {
            let mut kept = kept();
            change(&mut kept.outcome);
            kept.write(&digest("key")).is_some()
        };
        assert!(written(|_| {}));
        assert!(!written(|outcome| outcome.fuel_exact = false));
        assert!(!written(|outcome| outcome.unreproducible.push(Unreproducible::Stack)));
        assert!(written(|outcome| outcome.stdout = vec![0; KEPT_BYTES_MAX - 4096]));
        assert!(!written(|outcome| outcome.stdout = vec![0; KEPT_BYTES_MAX - 64]));
        assert!(!written(|outcome| outcome.stderr = vec![0; KEPT_BYTES_MAX]));
    }

    #[test]
    fn about_one_in_so_many_is_of_the_sample_and_others_at_another_time() {
        let at = |ns: u64| Instant::from_unix_ns(ns);
        let keys: Vec<Digest> = (0..6400).map(|number| digest(&number.to_string())).collect();
        let sample = |ns: u64| keys.iter().filter(|key| is_sample(key, at(ns), 64)).copied().collect::<Vec<_>>();
        assert!((50..200).contains(&sample(1).len()), "{}", sample(1).len());
        assert_ne!(sample(1), sample(2));
        assert!(keys.iter().all(|key| is_sample(key, at(1), 1)) && !is_sample(&keys[0], at(1), 0));
    }
}

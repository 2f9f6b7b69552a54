//! Which entries are retained, and what that means for the states that they name. Pure.

use crate::store::Retention;
use hutch_model::digest::Digest;
use hutch_model::instant::Instant;
use hutch_model::ledger::{Record, VolumeRecord};

/// The first entry that is retained. Clocks can go back, so what counts is the first entry that a rule keeps, and all after
/// it.
pub fn retained_from(retention: &Retention, entries: impl IntoIterator<Item = (u64, Instant)>) -> u64 {
    let mut newer = None;
    let mut last = 0;
    for (sequence, at) in entries {
        last = sequence;
        if newer.is_none() && retention.newer_than.is_some_and(|limit| at >= limit) {
            newer = Some(sequence);
        }
    }
    let counted = last.saturating_sub(retention.keep_last.max(1) - 1).max(1);
    newer.map_or(counted, |newer| newer.min(counted))
}

/// The states that a retained entry needs: the ones it started from, to run it again and to undo it; and the ones it led
/// to, to restore it. What a plan or a dropped run would have led to was never stored, and neither need be what such an entry
/// started from: `true` marks the states that the store must have.
pub fn states(record: &Record) -> impl Iterator<Item = (Digest, bool)> {
    let stored = record.changes_state();
    let led = move |volume: &VolumeRecord| stored.then_some(volume.after);
    record
        .volumes
        .values()
        .flat_map(move |volume| [volume.before, led(volume)])
        .flatten()
        .map(move |state| (state, stored))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn either_rule_keeps_and_what_follows_is_kept_too() {
        let times = [50, 10, 60, 20, 70];
        let entries = || (1..).zip(times.map(Instant::from_unix_ns));
        let cases = [
            (0, None, 5),
            (1, None, 5),
            (2, None, 4),
            (9, None, 1),
            (u64::MAX, None, 1),
            (1, Some(65), 5),
            (1, Some(60), 3),
            (1, Some(51), 3),
            (1, Some(20), 1),
            (4, Some(65), 2),
            (1, Some(99), 5),
        ];
        for (keep_last, newer_than, expect) in cases {
            let retention = Retention { keep_last, newer_than: newer_than.map(Instant::from_unix_ns) };
            assert_eq!(retained_from(&retention, entries()), expect, "{retention:?}");
        }
        let none = Retention { keep_last: 3, newer_than: None };
        assert_eq!(retained_from(&none, []), 1);
    }
}

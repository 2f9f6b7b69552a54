//! Who is admitted to an instance, and which entries were only taken there, as stores write it beside the ledger. No entry says it, so no chain
//! would show that it was changed: a digest beside it does. Whoever can write there can write both, as he can what the key is; it is what a
//! disk did that is found. Pure.

use hutch_model::digest::Digest;
use hutch_model::ledger::{Origin, Standing};
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;

/// The most ranges of places that are kept; beyond them the two oldest become one.
const RANGES_MAX: usize = 1000;

/// Who may use an instance into which entries were [taken](crate::Store::take) that were made elsewhere, and which these are.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Admitted {
    /// The packages, and what each was when it was last used.
    pub packages: BTreeMap<Origin, Digest>,
    /// The places of those entries, which are nobody's words here: the first of each range, and its last. Between two of them is at least one
    /// entry that was made here.
    pub taken: BTreeMap<u64, u64>,
    /// What is in a range up to this place may have been made here all the same: it is not known. 0 if all is.
    pub unknown: u64,
}

impl Admitted {
    /// Counts the entry in this place among those that were taken. It is behind all of them.
    pub(crate) fn add(&mut self, sequence: u64) {
        let range = self.taken.last_key_value().filter(|(_, last)| last.checked_add(1) == Some(sequence));
        let first = range.map_or(sequence, |(first, _)| *first);
        self.taken.insert(first, sequence);
        // What was made here between the two is in the range from then on, and never the other way round.
        if self.taken.len() > RANGES_MAX
            && let Some((first, _)) = self.taken.pop_first()
            && let Some((second, last)) = self.taken.pop_first()
        {
            self.taken.insert(first, last);
            self.unknown = second.saturating_sub(1);
        }
    }

    /// Whether an entry behind this place was taken.
    pub(crate) fn has_taken_behind(&self, sequence: u64) -> bool {
        self.taken.last_key_value().is_some_and(|(_, last)| *last > sequence)
    }

    /// Whether the entry in this place is in a range: it was taken, or that is not known.
    pub(crate) fn has_taken(&self, sequence: u64) -> bool {
        self.taken.range(..=sequence).next_back().is_some_and(|(_, last)| sequence <= *last)
    }
}

/// Of the packages and of [places].
fn digest(packages: &BTreeMap<Origin, Digest>, places: impl IntoIterator<Item = u64>) -> Digest {
    Standing { owners: packages.clone(), open: places.into_iter().collect(), ..Standing::default() }.standing()
}

/// Where ranges begin and have ended, and up to where it is unknown, if anywhere: counted from the other end, where no range is.
fn places(taken: &BTreeMap<u64, u64>, unknown: u64) -> impl Iterator<Item = u64> {
    let ends = taken.iter().flat_map(|(first, last)| [*first, last.saturating_add(1)]);
    ends.chain((unknown > 0).then_some(u64::MAX - unknown))
}

/// As it is written.
pub fn admitted_text(Admitted { packages, taken, unknown }: &Admitted) -> Value {
    let digest = digest(packages, places(taken, *unknown));
    let mut text = json!({ "packages": packages, "taken": taken, "digest": digest });
    if *unknown > 0 {
        text["unknown"] = json!(unknown);
    }
    text
}

/// What was written.
///
/// # Errors
/// It is something else than what was written.
pub fn admitted(written: Value) -> Result<Admitted, String> {
    let mut fields: Map<String, Value> = serde_json::from_value(written).map_err(|error| error.to_string())?;
    let mut field = |name: &str| fields.remove(name).unwrap_or_default();
    let packages: BTreeMap<Origin, Digest> =
        serde_json::from_value(field("packages")).map_err(|error| error.to_string())?;
    let said: Digest = serde_json::from_value(field("digest")).map_err(|error| error.to_string())?;
    let (taken, unknown, is) = match field("through") {
        Value::Null => {
            let taken: BTreeMap<u64, u64> =
                serde_json::from_value(field("taken")).map_err(|error| error.to_string())?;
            let unknown = field("unknown").as_u64().unwrap_or_default();
            let is = digest(&packages, places(&taken, unknown));
            (taken, unknown, is)
        }
        // Earlier versions knew the last of them alone.
        through => {
            let through: u64 = serde_json::from_value(through).map_err(|error| error.to_string())?;
            (BTreeMap::from([(1, through)]), through.saturating_sub(1), digest(&packages, [through]))
        }
    };
    match said == is {
        true => Ok(Admitted { packages, taken, unknown }),
        false => Err("who is admitted does not match its digest".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::Head;
    use hutch_model::digest::Kind;
    use hutch_model::ledger::Pin;

    fn of(taken: impl IntoIterator<Item = u64>) -> Admitted {
        let mut admitted = Admitted { packages: BTreeMap::new(), taken: BTreeMap::new(), unknown: 0 };
        taken.into_iter().for_each(|sequence| admitted.add(sequence));
        admitted
    }

    /// Of which of these places it is said that it was made here, and of which that it may have been.
    fn own(admitted: Admitted, places: impl IntoIterator<Item = u64> + Clone) -> [Vec<u64>; 2] {
        let head = Head::default();
        let last = Pin { sequence: u64::MAX, ..head.last };
        let head = Head { admitted: Some(admitted), last, ..head };
        let own = places.clone().into_iter().filter(|sequence| head.is_own(*sequence)).collect();
        [own, places.into_iter().filter(|sequence| head.may_be_own(*sequence)).collect()]
    }

    #[test]
    fn no_flipped_bit_admits_another_or_nobody() {
        let packages: BTreeMap<_, _> = [Origin::installed(), Origin::path("/p/q")]
            .map(|origin| (origin.clone(), Digest::of(Kind::Package, origin.as_str().as_bytes())))
            .into();
        for (packages, unknown) in [(BTreeMap::new(), 0), (packages, 1)] {
            let is = Admitted { packages, unknown, ..of([1, 2, 70]) };
            let text = admitted_text(&is).to_string();
            assert_eq!(admitted(serde_json::from_str(&text).unwrap()), Ok(is.clone()));
            for (at, bit) in (0..text.len()).flat_map(|at| (0..8).map(move |bit| (at, bit))) {
                let mut bytes = text.clone().into_bytes();
                bytes[at] ^= 1 << bit;
                let Ok(written) = serde_json::from_slice(&bytes) else { continue };
                // A digest is read in either case.
                let read = admitted(written);
                assert!(read.is_err() || read == Ok(is.clone()), "{at} {bit}: {read:?}");
            }
        }
    }

    #[test]
    fn ranges_that_touch_are_one_and_the_oldest_join_where_there_are_too_many() {
        let few = of([2, 3, 4, 7, 9, 10]);
        assert_eq!(few.taken, [(2, 4), (7, 7), (9, 10)].into());
        assert_eq!(own(few, 1..12), [[1, 5, 6, 8, 11], [1, 5, 6, 8, 11]]);
        let many = of((1..=RANGES_MAX as u64 + 2).map(|at| at * 10));
        assert_eq!(many.taken.len(), RANGES_MAX);
        assert_eq!(many.taken.first_key_value(), Some((&10, &30)));
        // What lies between the two may have been made here: nobody's consent, and a request that it carried out is carried out.
        assert_eq!(own(many, [5, 15, 25, 30, 35, 40]), [vec![5, 35], vec![5, 15, 25, 35]]);
    }

    #[test]
    fn of_what_earlier_versions_wrote_it_is_known_that_the_last_was_taken() {
        let said = digest(&BTreeMap::new(), [70]);
        let written = |through: u64| json!({ "packages": {}, "through": through, "digest": said });
        let mut read = admitted(written(70)).unwrap();
        assert_eq!(own(read.clone(), [1, 69, 70, 71]), [vec![71], vec![1, 69, 71]]);
        read.add(71);
        assert_eq!(admitted(admitted_text(&read)), Ok(read.clone()));
        assert_eq!(own(read, [1, 69, 70, 71, 72]), [vec![72], vec![1, 69, 72]]);
        assert!(admitted(written(71)).is_err());
    }
}

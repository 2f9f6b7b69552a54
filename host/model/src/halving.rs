//! The first of many places from which on something holds, found by asking few of them. Knows nothing of what is asked.

/// The first place from `first` to `last`, both included, at which something holds: none if it does not at the last one, which is asked first;
/// `first` if it does there already. Else the middle between two places that differ is asked, until they stand beside each other: it does not hold
/// at the place before the one that is found. Where it holds and then does not again, that may be any place with such a one before it.
///
/// # Errors
/// What `holds` fails with.
pub fn first_of<E>(first: u64, last: u64, mut holds: impl FnMut(u64) -> Result<bool, E>) -> Result<Option<u64>, E> {
    if !holds(last)? {
        return Ok(None);
    }
    if first >= last || holds(first)? {
        return Ok(Some(first));
    }
    let (mut not, mut so) = (first, last);
    while so - not > 1 {
        let middle = not + (so - not) / 2;
        match holds(middle)? {
            true => so = middle,
            false => not = middle,
        }
    }
    Ok(Some(so))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    #[test]
    fn who_can_not_be_asked_ends_it() {
        assert_eq!(first_of(1, 9, |_| Err("gone")), Err("gone"));
        let middle = |place: u64| if place == 5 { Err("gone") } else { Ok(place == 9) };
        assert_eq!(first_of(1, 9, middle), Err("gone"));
    }

    proptest! {
        #[test]
        fn what_looking_at_each_finds_is_found_by_asking_few(
            first in 1..50_u64,
            count in 1..100_000_u64,
            from in 0..120_000_u64,
        ) {
            let (last, from) = (first + count - 1, first + from);
            let scan = (first..=last).find(|place| *place >= from);
            let mut asked = Vec::new();
            let found = first_of(first, last, |place| {
                asked.push(place);
                Ok::<_, ()>(place >= from)
            });
            prop_assert_eq!(found, Ok(scan));
            let once: BTreeSet<_> = asked.iter().collect();
            prop_assert_eq!(once.len(), asked.len());
            prop_assert!(asked.iter().all(|place| (first..=last).contains(place)));
            prop_assert!(asked.len() <= 19, "{} of {count}", asked.len());
        }

        #[test]
        fn where_it_comes_and_goes_it_does_not_hold_before_what_is_found(
            places in prop::collection::vec(any::<bool>(), 1..100),
        ) {
            let last = places.len() - 1;
            let found = first_of(0, last as u64, |place| Ok::<_, ()>(places[usize::try_from(place).unwrap()]));
            match found.unwrap().map(|place| usize::try_from(place).unwrap()) {
                None => prop_assert!(!places[last]),
                Some(0) => prop_assert!(places[0] && places[last]),
                Some(place) => prop_assert!(places[place] && !places[place - 1] && !places[0] && places[last]),
            }
        }
    }
}

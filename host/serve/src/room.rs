//! How much of something callers may hold at once, each of them and all of them together. Whoever holds too much keeps nobody else out, nor
//! do several who do.

use crate::who::Principal;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// A caller holds at most this part of what all others leave.
const SHARE: usize = 2;

/// Whether a caller that holds `own` may hold `wanted` more, where others hold `others` of `all_max`: half of what they leave, and if it holds
/// nothing yet, what there is. So each leaves as much as it takes to those who come, and many must take together before nothing is left.
pub(crate) fn may_hold(own: usize, wanted: usize, others: usize, all_max: usize) -> bool {
    let left = all_max.saturating_sub(others);
    let most = if own == 0 { left } else { left.div_ceil(SHARE) };
    wanted == 0 || own.saturating_add(wanted) <= most
}

/// Room for so much.
pub(crate) struct Room {
    each_max: usize,
    all_max: usize,
    /// How much each caller holds.
    held: Mutex<BTreeMap<Arc<str>, usize>>,
}

/// Some of it, held until this is dropped.
pub(crate) struct Place {
    room: Arc<Room>,
    holder: Arc<str>,
    taken: usize,
}

impl Room {
    pub(crate) fn new(each_max: usize, all_max: usize) -> Arc<Room> {
        Arc::new(Room { each_max, all_max, held: Mutex::default() })
    }

    /// Takes one for a caller, if there is room: at once, so that no other comes in between.
    pub(crate) fn take(self: &Arc<Room>, principal: &Principal) -> Option<Place> {
        self.take_some(principal, 1)
    }

    /// Takes so much.
    pub(crate) fn take_some(self: &Arc<Room>, principal: &Principal, wanted: usize) -> Option<Place> {
        let holder = Arc::clone(principal.name());
        let mut held = self.held();
        let own = held.get(&holder).copied().unwrap_or_default();
        let others = held.values().sum::<usize>() - own;
        let then = own.saturating_add(wanted);
        if then > self.each_max || !may_hold(own, wanted, others, self.all_max) {
            return None;
        }
        held.insert(Arc::clone(&holder), then);
        drop(held);
        Some(Place { room: Arc::clone(self), holder, taken: wanted })
    }

    fn held(&self) -> MutexGuard<'_, BTreeMap<Arc<str>, usize>> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Place {
    /// Whether this caller holds it.
    pub(crate) fn is_of(&self, principal: &Principal) -> bool {
        self.holder == *principal.name()
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let mut held = self.room.held();
        if let Some(own) = held.get_mut(&self.holder) {
            *own = own.saturating_sub(self.taken);
            if *own == 0 {
                held.remove(&self.holder);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_holds_all_that_one_may_keeps_no_other_out() {
        let [one, two, three] = ["one", "two", "three"].map(|name| Principal::admitted(name, &[]));
        let room = Room::new(2, 3);
        let mut held: Vec<Place> = (0..2).filter_map(|_| room.take(&one)).collect();
        assert_eq!(held.len(), 2);
        assert!(room.take(&one).is_none());
        let other = room.take(&two).unwrap();
        assert!(other.is_of(&two) && !other.is_of(&one));
        // All of them are taken; what is given back is free for anybody.
        assert!(room.take(&two).is_none());
        held.pop();
        let last = room.take(&three).unwrap();
        drop((held, other, last));
        assert!(room.held().is_empty());
    }

    #[test]
    fn callers_that_take_all_they_may_leave_a_place_to_who_has_none() {
        let callers: Vec<Principal> = (0..8).map(|at| Principal::admitted(&format!("caller {at}"), &[])).collect();
        let room = Room::new(256, 256);
        let all = |caller: &Principal| -> Vec<Place> { std::iter::from_fn(|| room.take(caller)).collect() };
        let held: Vec<Vec<Place>> = callers.iter().map(all).collect();
        assert_eq!(held.iter().map(Vec::len).collect::<Vec<_>>(), [128, 64, 32, 16, 8, 4, 2, 1]);
        assert!(callers.iter().all(|caller| room.take(caller).is_none()));
        // What takes nothing is refused to nobody.
        assert!(callers.iter().all(|caller| room.take_some(caller, 0).is_some()));
        assert!(room.take(&Principal::admitted("the owner", &[])).is_some());
        // Whoever holds nothing may take more than half of what is left, of what comes in large pieces.
        let [one, two, three] = ["one", "two", "three"].map(|name| Principal::admitted(name, &[]));
        let room = Room::new(8, 8);
        let first = room.take_some(&one, 3).unwrap();
        assert!(room.take_some(&one, 2).is_none() && room.take_some(&two, 6).is_none());
        let second = room.take_some(&two, 5).unwrap();
        assert!(room.take(&three).is_none());
        drop((first, second));
    }
}

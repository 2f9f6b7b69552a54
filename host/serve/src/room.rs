//! How many of something callers may hold at once, each of them and all of them together. Whoever holds too many keeps nobody else out.

use crate::who::Principal;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Room for so many.
pub(crate) struct Room {
    each_max: usize,
    all_max: usize,
    /// How many each caller holds.
    held: Mutex<BTreeMap<Arc<str>, usize>>,
}

/// One of them, held until this is dropped.
pub(crate) struct Place {
    room: Arc<Room>,
    holder: Arc<str>,
}

impl Room {
    pub(crate) fn new(each_max: usize, all_max: usize) -> Arc<Room> {
        Arc::new(Room { each_max, all_max, held: Mutex::default() })
    }

    /// Takes one for a caller, if there is room: at once, so that no other comes in between.
    pub(crate) fn take(self: &Arc<Room>, principal: &Principal) -> Option<Place> {
        let holder = Arc::clone(principal.name());
        let mut held = self.held();
        if held.values().sum::<usize>() >= self.all_max {
            return None;
        }
        let own = held.entry(Arc::clone(&holder)).or_default();
        if *own >= self.each_max {
            return None;
        }
        *own += 1;
        drop(held);
        Some(Place { room: Arc::clone(self), holder })
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
            *own = own.saturating_sub(1);
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
        let [one, two] = ["one", "two"].map(|name| Principal::admitted(name, &[]));
        let room = Room::new(2, 3);
        let mut held: Vec<Place> = (0..2).filter_map(|_| room.take(&one)).collect();
        assert_eq!(held.len(), 2);
        assert!(room.take(&one).is_none());
        let other = room.take(&two).unwrap();
        assert!(other.is_of(&two) && !other.is_of(&one));
        // All of them are taken; what is given back is free for anybody.
        assert!(room.take(&two).is_none());
        held.pop();
        assert!(room.take(&two).is_some());
        drop((held, other));
        assert!(room.held().is_empty());
    }
}

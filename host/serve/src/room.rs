//! How much of something callers may hold at once, each of them and all of them together. Whoever holds too much keeps nobody else out.

use crate::who::Principal;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

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
        let all = held.values().sum::<usize>().saturating_add(wanted);
        let own = held.get(&holder).copied().unwrap_or_default().saturating_add(wanted);
        if all > self.all_max || own > self.each_max {
            return None;
        }
        held.insert(Arc::clone(&holder), own);
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

//! What is durable of what was appended: whoever waits for its own entry syncs for all that were appended by then, and they wait for
//! one sync instead of one each. Knows no file.

use std::io;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

#[derive(Debug, Default)]
pub(super) struct Group {
    state: Mutex<State>,
    ended: Condvar,
}

#[derive(Debug, Default)]
struct State {
    /// The last entry that this process has appended.
    appended: u64,
    /// Every entry up to this one is known to be durable.
    durable: u64,
    syncing: bool,
    failed: Option<Failed>,
}

/// A sync that failed. What it left is not asked for again: the system may then say that all is well when nothing was written.
#[derive(Clone, Debug)]
struct Failed {
    kind: io::ErrorKind,
    text: String,
}

impl Failed {
    fn error(&self) -> io::Error {
        io::Error::new(self.kind, self.text.clone())
    }
}

impl Group {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// An entry was committed, and is durable, and with it all before.
    pub(super) fn committed(&self, sequence: u64) {
        let mut state = self.lock();
        state.durable = state.durable.max(sequence);
    }

    /// An entry was committed, and is not durable.
    pub(super) fn appended(&self, sequence: u64) {
        let mut state = self.lock();
        state.appended = state.appended.max(sequence);
    }

    /// Somebody says that everything up to an entry is durable.
    pub(super) fn known(&self, sequence: u64) {
        let mut state = self.lock();
        state.durable = state.durable.max(sequence);
    }

    pub(super) fn is_durable(&self, sequence: u64) -> bool {
        self.lock().durable >= sequence
    }

    /// A sync failed that was not made [here](Group::settle).
    pub(super) fn failed(&self, text: &str) {
        let failed = Failed { kind: io::ErrorKind::Other, text: text.to_owned() };
        self.lock().failed.get_or_insert(failed);
    }

    /// Refuses to go on after a sync that failed.
    pub(super) fn check(&self) -> io::Result<()> {
        self.lock().failed.as_ref().map_or(Ok(()), |failed| Err(failed.error()))
    }

    /// Returns when everything up to an entry is durable. Of those who wait at one time, one calls `sync`; it is told the last entry
    /// that this made durable.
    pub(super) fn settle(&self, sequence: u64, sync: impl FnOnce() -> io::Result<()>) -> io::Result<Option<u64>> {
        let mut state = self.lock();
        loop {
            if state.durable >= sequence {
                return Ok(None);
            }
            if let Some(failed) = &state.failed {
                return Err(failed.error());
            }
            if !state.syncing {
                break;
            }
            state = self.ended.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        state.syncing = true;
        let reached = state.appended.max(sequence);
        drop(state);
        let synced = sync();
        let mut state = self.lock();
        state.syncing = false;
        match &synced {
            Ok(()) => state.durable = state.durable.max(reached),
            Err(error) => state.failed = Some(Failed { kind: error.kind(), text: error.to_string() }),
        }
        drop(state);
        self.ended.notify_all();
        synced.map(|()| Some(reached))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicU64, Ordering};
    use std::sync::mpsc;

    #[test]
    fn those_who_wait_at_one_time_wait_for_one_sync() {
        let group = Group::default();
        let syncs = AtomicU64::new(0);
        let (begun, has_begun) = mpsc::channel();
        let (go_on, goes_on) = mpsc::channel();
        group.appended(1);
        std::thread::scope(|scope| {
            let (group, syncs) = (&group, &syncs);
            scope.spawn(move || {
                let sync = || {
                    syncs.fetch_add(1, Ordering::Relaxed);
                    begun.send(()).map_err(io::Error::other)?;
                    goes_on.recv().map_err(io::Error::other)
                };
                assert_eq!(group.settle(1, sync).unwrap(), Some(1));
            });
            has_begun.recv().unwrap();
            // Appended while that sync was under way: it may not have seen them.
            (2..=9).for_each(|sequence| group.appended(sequence));
            let waiting: Vec<_> = (2..=9)
                .map(|sequence| {
                    scope.spawn(move || {
                        let sync = || {
                            syncs.fetch_add(1, Ordering::Relaxed);
                            Ok(())
                        };
                        group.settle(sequence, sync).unwrap()
                    })
                })
                .collect();
            assert!(!group.is_durable(1) && !group.is_durable(2));
            go_on.send(()).unwrap();
            let reached: Vec<u64> = waiting.into_iter().filter_map(|thread| thread.join().unwrap()).collect();
            assert_eq!(reached, [9], "one of them synced for all");
        });
        assert_eq!(syncs.into_inner(), 2);
        assert!(group.is_durable(9) && !group.is_durable(10));
    }

    #[test]
    fn no_two_sync_at_one_time_and_nobody_goes_before_its_own() {
        let group = Group::default();
        let (last, synced, syncing) = (AtomicU64::new(0), AtomicU64::new(0), AtomicU64::new(0));
        std::thread::scope(|scope| {
            for _ in 0..8 {
                scope.spawn(|| {
                    for _ in 0..50 {
                        let sequence = last.fetch_add(1, Ordering::SeqCst) + 1;
                        group.appended(sequence);
                        let sync = || {
                            assert_eq!(syncing.fetch_add(1, Ordering::SeqCst), 0, "two sync at one time");
                            // Whatever was appended by now is in it.
                            let seen = last.load(Ordering::SeqCst);
                            (0..50).for_each(|_| std::thread::yield_now());
                            synced.fetch_max(seen, Ordering::SeqCst);
                            syncing.fetch_sub(1, Ordering::SeqCst);
                            Ok(())
                        };
                        group.settle(sequence, sync).unwrap();
                        assert!(synced.load(Ordering::SeqCst) >= sequence, "{sequence} was never synced");
                    }
                });
            }
        });
        assert!(group.is_durable(400));
    }

    #[test]
    fn after_a_failed_sync_nothing_more_is_believed() {
        let group = Group::default();
        group.committed(3);
        group.appended(4);
        assert_eq!(group.settle(3, || panic!("it is durable")).unwrap(), None);
        assert!(group.settle(4, || Err(io::Error::other("no"))).is_err());
        assert!(group.settle(4, || panic!("it would say that all is well")).is_err());
        assert!(group.check().is_err() && !group.is_durable(4) && group.is_durable(3));
    }
}

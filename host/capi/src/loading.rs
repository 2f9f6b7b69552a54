//! Components that are being made ready, which may take long: each once, however many calls wait for it and give up.

use crate::deadline::{Under, cancelled};
use crate::library::whole;
use hutch_model::digest::Digest;
use hutch_model::error_code::ErrorCode;
use hutch_model::error_report::ErrorReport;
use std::collections::BTreeMap;
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::Duration;

/// The longest time after which it is seen that a call is to be stopped.
const SEEN_AFTER: Duration = Duration::from_millis(10);

type Ended = Arc<(Mutex<Option<Result<(), ErrorReport>>>, Condvar)>;

/// What is being loaded: a component, with what its machine code depends on besides.
pub(crate) type Name = (Digest, u64);

/// What a load comes to, for whoever waits for it.
struct Awaited(Ended);

/// What is under way, for all calls of a library.
#[derive(Clone, Default)]
pub(crate) struct Loading(Arc<Mutex<BTreeMap<Name, Ended>>>);

impl Loading {
    /// Has `load` done by a thread of its own, or waits for the one that does it already. Whoever does not wait any more has begun nothing;
    /// the thread goes on.
    pub(crate) fn wait(
        &self,
        under: &Under<'_>,
        name: Name,
        load: impl FnOnce() -> Result<(), ErrorReport> + Send + 'static,
    ) -> Result<(), ErrorReport> {
        self.join(name, load)?.wait(under)
    }

    /// The load of that name that is under way, or `load` as a new one.
    fn join(
        &self,
        name: Name,
        load: impl FnOnce() -> Result<(), ErrorReport> + Send + 'static,
    ) -> Result<Awaited, ErrorReport> {
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let ended = match known.get(&name) {
            Some(ended) => Arc::clone(ended),
            None => {
                let (ended, loading) = (Ended::default(), self.clone());
                let told = Arc::clone(&ended);
                let thread = std::thread::Builder::new().name("hutch load".to_owned()).spawn(move || {
                    let loaded = whole(load);
                    loading.0.lock().unwrap_or_else(PoisonError::into_inner).remove(&name);
                    *told.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(loaded);
                    told.1.notify_all();
                });
                thread.map_err(|error| {
                    ErrorReport::new(ErrorCode::HostFault, format!("no thread to load on: {error}"))
                })?;
                known.insert(name, Arc::clone(&ended));
                ended
            }
        };
        Ok(Awaited(ended))
    }
}

impl Awaited {
    /// Until it has ended, or nobody waits under `under` any more.
    fn wait(self, under: &Under<'_>) -> Result<(), ErrorReport> {
        let Awaited(ended) = self;
        let mut loaded = ended.0.lock().unwrap_or_else(PoisonError::into_inner);
        loop {
            match &*loaded {
                _ if under.stop.is_stopped() => return Err(cancelled()),
                Some(loaded) => return loaded.clone(),
                None => loaded = ended.1.wait_timeout(loaded, SEEN_AFTER).unwrap_or_else(PoisonError::into_inner).0,
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::deadline::Calls;
    use hutch_model::digest::Kind;
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::sync::mpsc;

    #[test]
    fn who_gives_up_leaves_one_thread_behind_for_all() {
        let (calls, loading, started) = (Calls::default(), Loading::default(), Arc::new(AtomicUsize::new(0)));
        let name = (Digest::of(Kind::Component, b"x"), 1);
        let (sender, go) = mpsc::channel::<()>();
        let go = Arc::new(Mutex::new(go));
        let load = || {
            let (started, go) = (Arc::clone(&started), Arc::clone(&go));
            move || {
                started.fetch_add(1, Ordering::SeqCst);
                let _ = go.lock().unwrap_or_else(PoisonError::into_inner).recv();
                Err(ErrorReport::new(ErrorCode::CompileTimeLimit, "late"))
            }
        };
        for _ in 0..5 {
            let under = calls.begin(None, Some(1)).unwrap_or_else(|report| panic!("{}", report.message));
            let given_up = loading.wait(&under, name, load()).err().map(|report| report.code);
            assert_eq!(given_up, Some(ErrorCode::Cancelled));
        }
        assert!(started.load(Ordering::SeqCst) <= 1);
        let under = calls.begin(None, None).unwrap_or_else(|report| panic!("{}", report.message));
        // Who joins while it is under way is told what the thread came to. Joined before the thread is let go: behind its end it would be
        // a load of its own.
        let joined = loading.join(name, load()).unwrap_or_else(|report| panic!("{}", report.message));
        drop(sender);
        let told = joined.wait(&under).err().map(|report| report.code);
        assert_eq!((told, started.load(Ordering::SeqCst)), (Some(ErrorCode::CompileTimeLimit), 1));
        assert!(loading.0.lock().unwrap_or_else(PoisonError::into_inner).is_empty());
    }
}

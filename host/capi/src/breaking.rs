//! Has a library break down where a test wants it. Only tests have it: nothing of it is in what is shipped.

use std::cell::Cell;

thread_local! {
    static AT: Cell<Option<&'static str>> = const { Cell::new(None) };
}

/// The next time that this thread comes there, it panics.
pub(crate) fn next(place: &'static str) {
    AT.set(Some(place));
}

/// Panics if it is wanted here.
pub(crate) fn here(place: &str) {
    if AT.get() == Some(place) {
        AT.set(None);
        panic!("as a test wants it, {place}");
    }
}

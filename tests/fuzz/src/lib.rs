//! What the targets share: how an input becomes texts, and how memory is counted, so that what a reader takes can be held to a bound.

use hutch_model::diagnostic::Diagnostic;
use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicUsize, Ordering};

/// The system's memory, counted.
struct Counted;

static NOW: AtomicUsize = AtomicUsize::new(0);
static PEAK: AtomicUsize = AtomicUsize::new(0);

#[global_allocator]
static MEMORY: Counted = Counted;

#[expect(unsafe_code, reason = "the interface of allocators; each call is handed on as it is")]
// SAFETY: what is promised of memory is what the system's allocator promises; nothing here touches it.
unsafe impl GlobalAlloc for Counted {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let now = NOW.fetch_add(layout.size(), Ordering::Relaxed) + layout.size();
        PEAK.fetch_max(now, Ordering::Relaxed);
        // SAFETY: the caller's promise, handed on.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, memory: *mut u8, layout: Layout) {
        NOW.fetch_sub(layout.size(), Ordering::Relaxed);
        // SAFETY: the caller's promise, handed on.
        unsafe { System.dealloc(memory, layout) }
    }
}

/// Does `work`, and holds it to `bytes_max` of memory beyond what was taken before.
///
/// # Panics
/// It took more.
pub fn within<T>(bytes_max: usize, work: impl FnOnce() -> T) -> T {
    let before = NOW.load(Ordering::Relaxed);
    PEAK.store(before, Ordering::Relaxed);
    let result = work();
    let taken = PEAK.load(Ordering::Relaxed).saturating_sub(before);
    assert!(taken <= bytes_max, "{taken} bytes of memory were taken, {bytes_max} are allowed");
    result
}

/// The most problems that are listed of one file, the word that there are more included.
const DIAGNOSTICS_MAX: usize = 201;

/// What holds of the problems of every text: they are few, stand in it and in order, and there is a result unless one is an error.
///
/// # Panics
/// It does not hold.
pub fn check_diagnostics(text: &str, diagnostics: &[Diagnostic], has_result: bool) {
    assert!(diagnostics.len() <= DIAGNOSTICS_MAX, "{} problems", diagnostics.len());
    assert_eq!(has_result, !diagnostics.iter().any(Diagnostic::is_error), "{diagnostics:?}");
    let lines: Vec<usize> = text.split('\n').map(|line| line.chars().count()).collect();
    for diagnostic in diagnostics {
        let line = (diagnostic.line as usize).checked_sub(1).and_then(|at| lines.get(at));
        // A problem at the end of the text stands behind its last character.
        let stands = line.is_some_and(|characters| (1..=characters + 1).contains(&(diagnostic.column as usize)));
        assert!(stands, "{diagnostic} stands outside of the text");
        let shown = diagnostic.to_string();
        assert!(!shown.contains(char::is_control), "{shown:?} acts on a terminal");
    }
    assert!(diagnostics.is_sorted_by_key(|one| (one.line, one.column)), "out of order: {diagnostics:?}");
}

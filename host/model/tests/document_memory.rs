//! What a document takes in memory, counted where memory is asked for, beside the estimate by which it is read or refused.

#![allow(unsafe_code, reason = "an allocator can be written in no other way")]

use hutch_model::document::{self, DocumentSize, Unread};
use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

thread_local! {
    static HELD: Cell<usize> = const { Cell::new(0) };
    static PEAK: Cell<usize> = const { Cell::new(0) };
}

struct Counted;

// SAFETY: all of it is the system's, which is asked for what was asked for here.
unsafe impl GlobalAlloc for Counted {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let held = HELD.get() + layout.size();
        HELD.set(held);
        PEAK.set(PEAK.get().max(held));
        unsafe { System.alloc(layout) }
    }

    // The system moves what is large without holding it twice.
    unsafe fn realloc(&self, at: *mut u8, layout: Layout, bytes: usize) -> *mut u8 {
        let held = HELD.get().saturating_sub(layout.size()) + bytes;
        HELD.set(held);
        PEAK.set(PEAK.get().max(held));
        unsafe { System.realloc(at, layout, bytes) }
    }

    unsafe fn dealloc(&self, at: *mut u8, layout: Layout) {
        HELD.set(HELD.get().saturating_sub(layout.size()));
        unsafe { System.dealloc(at, layout) }
    }
}

#[global_allocator]
static COUNTED: Counted = Counted;

/// What `work` comes to, and the most memory that was held meanwhile.
fn peak<T>(work: impl FnOnce() -> T) -> (T, u64) {
    let before = HELD.get();
    PEAK.set(before);
    let done = work();
    (done, (PEAK.get() - before) as u64)
}

/// Bodies of some bytes each, of what takes most for its length.
fn bodies(bytes: usize) -> Vec<(String, Vec<u8>)> {
    let lists = [
        "1",
        "[]",
        "{}",
        r#""""#,
        r#"{"a":1}"#,
        r#"{"a":{"b":{"c":{}}}}"#,
        "[[[[1]]]]",
        r#"{"a":1,"b":2,"c":3,"d":4,"e":5,"f":6}"#,
        "null",
        "1e5",
        "12345678901234567890123",
        "0.1000000000000000055511151231257827",
        r#""\u00e9""#,
    ];
    let list = |item: &str| format!("[{}]", vec![item; bytes / (item.len() + 1)].join(","));
    let mut all: Vec<(String, Vec<u8>)> =
        lists.iter().map(|item| ((*item).to_owned(), list(item).into_bytes())).collect();
    let fields: Vec<String> = (0..bytes / 12).map(|at| format!("\"{at:x}\":{}", at % 10)).collect();
    all.push(("fields".to_owned(), format!("{{{}}}", fields.join(",")).into_bytes()));
    all.push(("text".to_owned(), format!("\"{}\"", "x".repeat(bytes)).into_bytes()));
    all.push(("escapes".to_owned(), format!("\"{}\"", "\\n".repeat(bytes / 2)).into_bytes()));
    all
}

#[test]
fn a_document_takes_no_more_than_was_estimated() {
    for bytes in [1_000, 30_000, 1 << 20] {
        for (name, body) in bodies(bytes) {
            let (size, measuring) = peak(|| DocumentSize::of(&body).unwrap());
            let (read, reading) = peak(|| document::read(&body).unwrap());
            let (handed_on, to_hand_on) = peak(|| document::read_to_hand_on(&body).unwrap());
            drop(handed_on);
            // Beside the document there is the text with escapes that is being read.
            let text = 2 * body.len() as u64 + 1024;
            assert!(reading <= size.memory_bytes + text, "{name}, {bytes}: {reading} of {}", size.memory_bytes);
            assert!(to_hand_on <= size.memory_bytes + text, "{name}, {bytes}: {to_hand_on} of {}", size.memory_bytes);
            assert!(measuring <= text, "{name}, {bytes}: {measuring}");
            drop(read);
        }
    }
}

#[test]
fn a_message_takes_a_few_times_its_bytes_or_is_refused_before() {
    const BYTES_MAX: usize = 1 << 20;
    let (mut kept, mut refused) = (Vec::new(), Vec::new());
    for (name, body) in bodies(BYTES_MAX - 20) {
        let (read, held) = peak(|| document::read_message(&body, BYTES_MAX));
        match read {
            Ok(_) => {
                assert!(held <= 4 * BYTES_MAX as u64, "{name}: {held}");
                kept.push(name);
            }
            Err(Unread::TooLarge { takes, max }) => {
                assert!(
                    takes > max && max == 4 * BYTES_MAX as u64 && held <= 2 * BYTES_MAX as u64 + 1024,
                    "{name}: {held}"
                );
                refused.push(name);
            }
            Err(other) => panic!("{name}: {other}"),
        }
    }
    assert_eq!(kept, ["text", "escapes"]);
    assert_eq!(refused.len(), 14);
}

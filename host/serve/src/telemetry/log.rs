//! Lines on standard error, written by a thread of their own: who reads them slowly, or not at all, holds nobody up. Lines for which
//! there is no room are counted, and the count stands in the next one.

use serde_json::Value;
use std::io::Write;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

/// Lines that wait to be written.
const WAITING_MAX: usize = 4096;
/// How long the end waits for what is still unwritten.
const WRITTEN_WITHIN: Duration = Duration::from_secs(1);

pub(super) struct Log {
    /// None once it has ended.
    lines: Mutex<Option<SyncSender<String>>>,
    left_out: AtomicU64,
    /// Says nothing, and is closed once all is written.
    written: Mutex<Receiver<()>>,
}

impl Log {
    pub(super) fn begin() -> Log {
        Log::to(std::io::stderr())
    }

    fn to(mut out: impl Write + Send + 'static) -> Log {
        let (lines, given) = sync_channel::<String>(WAITING_MAX);
        let (ended, written) = sync_channel(0);
        std::thread::spawn(move || {
            for line in given {
                // A reader that is gone is nobody's loss but its own.
                let _ = out.write_all(line.as_bytes());
            }
            drop(ended);
        });
        Log { lines: Mutex::new(Some(lines)), left_out: AtomicU64::new(0), written: Mutex::new(written) }
    }

    pub(super) fn write(&self, line: &Value) {
        let lines = self.lines.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(lines) = &*lines else { return };
        let left_out = self.left_out.swap(0, Ordering::Relaxed);
        let mut line = line.clone();
        if left_out > 0 {
            line["lines_left_out"] = left_out.into();
        }
        if lines.try_send(format!("{line}\n")).is_err() {
            self.left_out.fetch_add(left_out + 1, Ordering::Relaxed);
        }
    }

    /// Nothing more is written; a reader that reads nothing of what is left is not waited for.
    pub(super) fn end(&self) {
        self.end_within(WRITTEN_WITHIN);
    }

    fn end_within(&self, time: Duration) {
        self.lines.lock().unwrap_or_else(PoisonError::into_inner).take();
        let _ = self.written.lock().unwrap_or_else(PoisonError::into_inner).recv_timeout(time);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;
    use std::sync::{Arc, mpsc};

    /// Until all is written, on any machine.
    const PATIENCE: Duration = Duration::from_secs(120);

    /// Writes nothing before it is told to.
    struct Gate(mpsc::Receiver<()>, Arc<Mutex<Vec<u8>>>);

    impl Write for Gate {
        fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
            // Once it is open it stays open.
            let _ = self.0.recv();
            self.1.lock().unwrap().extend_from_slice(bytes);
            Ok(bytes.len())
        }
        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn a_reader_that_does_not_read_holds_nobody_up_and_what_it_missed_is_counted() {
        let (open, gate) = mpsc::channel();
        let written = Arc::new(Mutex::new(Vec::new()));
        let log = Log::to(Gate(gate, Arc::clone(&written)));
        // One may be in the writer's hands.
        for number in 0..WAITING_MAX + 11 {
            log.write(&json!({"number": number}));
        }
        let left_out = log.left_out.load(Ordering::Relaxed);
        assert!((10..=11).contains(&left_out), "{left_out}");
        drop(open);
        log.end_within(PATIENCE);
        let text = String::from_utf8(written.lock().unwrap().clone()).unwrap();
        assert_eq!(text.lines().count() as u64, WAITING_MAX as u64 + 11 - left_out);

        let written = Arc::new(Mutex::new(Vec::new()));
        let (open, gate) = mpsc::channel();
        drop(open);
        let log = Log::to(Gate(gate, Arc::clone(&written)));
        log.left_out.store(3, Ordering::Relaxed);
        log.write(&json!({"a": "\u{1b}[2J\n"}));
        log.write(&json!({"b": 2}));
        log.end_within(PATIENCE);
        log.write(&json!({"late": 3}));
        let text = String::from_utf8(written.lock().unwrap().clone()).unwrap();
        assert_eq!(text, "{\"a\":\"\\u001b[2J\\n\",\"lines_left_out\":3}\n{\"b\":2}\n");
    }
}

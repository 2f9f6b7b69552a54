//! What one process took, as the system tells it: `spent.c` asks.

use std::fs;
use std::path::Path;
use std::process::Command;

#[derive(Clone, Copy, Debug)]
pub(crate) struct Spent {
    pub(crate) wall_ms: f64,
    /// Of processors, user and system.
    pub(crate) busy_ms: f64,
    pub(crate) peak_mib: f64,
}

/// Runs a command that is `spent REPORT PROGRAM …`; nothing if it does not end well.
pub(crate) fn spend(command: &mut Command, report: &Path) -> Option<Spent> {
    let _ = fs::remove_file(report);
    if !command.status().expect("the program spent").success() {
        return None;
    }
    let told = fs::read_to_string(report).expect("its report");
    let numbers: Vec<f64> = told.split_whitespace().map(|number| number.parse().expect("a number")).collect();
    let [wall_ns, busy_us, peak_kib] = numbers[..] else { unreachable!("a report of {told}") };
    Some(Spent { wall_ms: wall_ns / 1e6, busy_ms: busy_us / 1e3, peak_mib: peak_kib / 1024.0 })
}

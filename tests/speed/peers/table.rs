//! Rows of one table: `work | median | 10 % to 90 % | processors | peak | hutch to this | goal`.

use crate::bench::Peer;
use crate::spent::Spent;
use std::fs;

#[derive(Default)]
pub(crate) struct Row {
    cells: [String; 7],
}

impl Row {
    /// One number.
    pub(crate) fn value(work: &str, value: String) -> Row {
        let mut row = Row::default();
        row.cells[0] = work.to_owned();
        row.cells[1] = value;
        row
    }

    pub(crate) fn goal(mut self, goal: &str) -> Row {
        self.cells[6] = goal.to_owned();
        self
    }

    pub(crate) fn print(&self) {
        println!("| {} |", self.cells.join(" | "));
    }
}

/// The first is hutch; the others show what it is of them.
pub(crate) fn rows(what: &str, peers: &[Peer], rounds: &[Vec<Spent>], goals: &[(&str, f64)]) {
    Row::value(&format!("**{what}**"), String::new()).print();
    for (at, peer) in peers.iter().enumerate() {
        let of = |each: fn(&Spent) -> f64| sorted(rounds.iter().map(|round| each(&round[at])));
        let (wall, busy, peak) = (of(|spent| spent.wall_ms), of(|spent| spent.busy_ms), of(|spent| spent.peak_mib));
        let mut row = Row::value(&peer.name, format!("{:.2} ms", part(&wall, 0.5)));
        row.cells[2] = format!("{:.2} to {:.2}", part(&wall, 0.1), part(&wall, 0.9));
        row.cells[3] = format!("{:.2} ms", part(&busy, 0.5));
        row.cells[4] = format!("{:.1} MiB", part(&peak, 0.5));
        if at > 0 {
            let ratio = |each: fn(&Spent) -> f64| median(rounds.iter().map(|round| each(&round[0]) / each(&round[at])));
            row.cells[5] = format!("{:.2} ({:.2})", ratio(|spent| spent.wall_ms), ratio(|spent| spent.busy_ms));
        }
        let goal = goals.iter().find(|(name, _)| peer.name.starts_with(name));
        row.cells[6] = goal.map(|(_, goal)| goal.to_string()).unwrap_or_default();
        row.print();
    }
}

pub(crate) fn median(values: impl Iterator<Item = f64>) -> f64 {
    part(&sorted(values), 0.5)
}

fn sorted(values: impl Iterator<Item = f64>) -> Vec<f64> {
    let mut values: Vec<f64> = values.collect();
    values.sort_by(f64::total_cmp);
    values
}

fn part(sorted: &[f64], part: f64) -> f64 {
    sorted[((sorted.len() - 1) as f64 * part) as usize]
}

/// What it was measured on.
pub(crate) fn machine() -> String {
    let read = |path: &str| fs::read_to_string(path).unwrap_or_default();
    let cpu = read("/proc/cpuinfo");
    let model = cpu.lines().find_map(|line| line.strip_prefix("model name")).unwrap_or(": unknown");
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let kernel = read("/proc/sys/kernel/osrelease");
    let load = read("/proc/loadavg");
    let load = load.split(' ').next().unwrap_or_default();
    let model = model.trim_start_matches([' ', '\t', ':']);
    format!("{model} x{cores}, {} {}, load {load}", std::env::consts::OS, kernel.trim())
}

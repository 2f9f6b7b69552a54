//! The world's files against a real directory of Linux: random operations on both must agree in every result and in the tree
//! they leave, but for the differences that are listed.

mod differences;
mod paths;
mod reference;

use crate::support::generate::Generator;
use crate::support::guest::Guest;
use crate::support::operation::Operation;
use crate::support::seen::{Seen, Tree};
use crate::support::{setting, wide_limits};
use differences::{DIFFERENCES, explain};
use reference::Reference;
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::PathBuf;

/// Operations in one run on a fresh volume.
const RUN: usize = 120;

/// Operations between two comparisons of whole trees.
const COMPARE_EVERY: usize = 8;

/// A disagreement.
struct Disagreement {
    at: usize,
    says: String,
}

/// Both sides, in step.
struct Pair {
    guest: Guest,
    reference: Reference,
    /// How often each listed difference explained a disagreement.
    explained: Vec<u64>,
}

impl Pair {
    fn new() -> Pair {
        let guest = Guest::new(wide_limits());
        Pair { guest, reference: Reference::new(), explained: vec![0; DIFFERENCES.len()] }
    }

    /// Does one operation on both sides, and says what both answered.
    fn step(&mut self, operation: &Operation) -> Result<Seen, String> {
        let (world, linux) = (self.guest.perform(operation), self.reference.perform(operation));
        if world == linux {
            return Ok(world);
        }
        match explain(operation, &world, linux, |other| self.reference.perform(other)) {
            Ok(rows) => {
                rows.into_iter().for_each(|row| self.explained[row] += 1);
                Ok(world)
            }
            Err(linux) => Err(format!("the world: {}\nLinux:     {}", short(&world), short(&linux))),
        }
    }

    /// Compares all there is.
    fn compare(&mut self) -> Result<Tree, String> {
        let world = self.guest.tree().map_err(|failure| format!("the world's tree can't be read: {failure:?}"))?;
        let reference = self.reference.tree().map_err(|error| format!("the directory can't be read: {error}"))?;
        if world == reference {
            return Ok(world);
        }
        let mut says = "the trees differ:".to_owned();
        for path in world.keys().chain(reference.keys()) {
            if world.get(path) != reference.get(path) {
                let (world, reference) = (short(&world.get(path)), short(&reference.get(path)));
                let _ = write!(says, "\n{path:?}\n  the world: {world}\n  Linux:     {reference}");
            }
        }
        Err(says)
    }
}

/// Runs a list of operations; trees are compared after each.
fn replay(operations: &[Operation]) -> Result<(), Disagreement> {
    let mut pair = Pair::new();
    for (at, operation) in operations.iter().enumerate() {
        let agreed = pair.step(operation).and_then(|_| pair.compare());
        agreed.map_err(|says| Disagreement { at, says })?;
    }
    Ok(())
}

/// A list as short as can be that still disagrees: parts are left out, larger ones first, as long as that works.
fn minimise(mut operations: Vec<Operation>) -> Vec<Operation> {
    if let Err(Disagreement { at, .. }) = replay(&operations) {
        operations.truncate(at + 1);
    }
    let mut part = operations.len().div_ceil(2);
    while part > 0 {
        let mut from = 0;
        while from < operations.len() {
            let mut fewer = operations.clone();
            fewer.drain(from..(from + part).min(operations.len()));
            match replay(&fewer) {
                Err(Disagreement { at, .. }) => {
                    fewer.truncate(at + 1);
                    operations = fewer;
                }
                Ok(()) => from += part,
            }
        }
        part /= 2;
    }
    operations
}

fn short(value: &impl std::fmt::Debug) -> String {
    let text = format!("{value:?}");
    match text.char_indices().nth(300) {
        Some((at, _)) => format!("{}… ({} bytes)", &text[..at], text.len()),
        None => text,
    }
}

fn regressions() -> PathBuf {
    PathBuf::from("../../tests/world/regressions")
}

/// Keeps a list as data, for `what_disagreed_once_agrees` to find, and says what is wrong with it.
fn keep(seed: u64, operations: &[Operation]) -> String {
    let lines: Vec<String> =
        operations.iter().map(|operation| serde_json::to_string(operation).expect("an operation is data")).collect();
    let text = lines.join("\n") + "\n";
    let file = regressions().join(format!("{seed:016x}.jsonl"));
    let kept = match std::fs::write(&file, &text) {
        Ok(()) => format!("kept as {}", file.display()),
        Err(error) => format!("could not be kept as {}: {error}", file.display()),
    };
    let says = replay(operations).err().map_or_else(String::new, |disagreement| disagreement.says);
    format!("seed {seed}, {} operations, {kept}\n{text}{says}", operations.len())
}

/// How often each kind of operation did something, and how often it failed.
#[derive(Default)]
struct Coverage(BTreeMap<String, (u64, u64)>);

impl Coverage {
    fn note(&mut self, operation: &Operation, seen: &Seen) {
        let text = format!("{operation:?}");
        let kind = text.split(' ').next().unwrap_or_default().to_owned();
        let (done, failed) = self.0.entry(kind).or_default();
        match seen {
            Seen::Failed(_) | Seen::StreamFailed(_) | Seen::Closed => *failed += 1,
            _ => *done += 1,
        }
    }
}

#[test]
fn random_operations_agree() {
    let wanted = setting("HUTCH_WORLD_OPERATIONS", if cfg!(debug_assertions) { 20_000 } else { 120_000 });
    let first = setting("HUTCH_WORLD_SEED", 1);
    let (mut explained, mut coverage) = (vec![0; DIFFERENCES.len()], Coverage::default());
    let (mut done, mut seed) = (0, first);
    while done < wanted {
        let mut pair = Pair::new();
        let mut generator = Generator::new(seed);
        let mut operations = Vec::new();
        for at in 1..=RUN {
            let operation = generator.next(&pair.guest);
            operations.push(operation.clone());
            let mut agreed = pair.step(&operation).map(|seen| coverage.note(&operation, &seen));
            if at % COMPARE_EVERY == 0 {
                agreed = agreed.and_then(|()| pair.compare()).map(|tree| generator.learn(&tree));
            }
            if let Err(says) = agreed {
                let report = keep(seed, &minimise(operations));
                panic!("{report}\nfound as: {says}");
            }
        }
        done += RUN as u64;
        for (all, one) in explained.iter_mut().zip(&pair.explained) {
            *all += one;
        }
        seed += 1;
    }
    println!("{done} operations agreed, seeds {first} to {}", seed - 1);
    for (difference, count) in DIFFERENCES.iter().zip(&explained) {
        println!("{count:8} differences: {}", difference.name);
    }
    for (kind, (done, failed)) in &coverage.0 {
        println!("{done:8} done {failed:8} failed: {kind}");
    }
    let always = ["Close", "CloseInput", "CloseOutput", "Flags", "Reopen", "Same", "Stat"];
    for (kind, (done, failed)) in &coverage.0 {
        let some = wanted / 5_000;
        assert!(*done >= some, "{kind} was hardly ever done");
        assert!(*failed >= some || always.contains(&&**kind), "{kind} hardly ever failed");
    }
    assert_eq!(coverage.0.len(), 28, "a kind of operation was never tried");
}

/// What is kept in `regressions/`: the file's name without its ending, and its operations.
fn kept() -> Vec<(String, Vec<Operation>)> {
    let mut files: Vec<PathBuf> = std::fs::read_dir(regressions())
        .expect("the folder of regressions")
        .map(|entry| entry.expect("an entry").path())
        .collect();
    files.sort();
    let read = |file: &PathBuf| {
        let name = file.file_stem().expect("a name").to_string_lossy().into_owned();
        let text = std::fs::read_to_string(file).expect("a regression");
        let operation = |line| serde_json::from_str(line).unwrap_or_else(|error| panic!("{name}: {error}: {line}"));
        let operations = text.lines().map(operation).collect();
        (name, operations)
    };
    files.iter().map(read).collect()
}

#[test]
fn what_disagreed_once_agrees() {
    let kept = kept();
    for (name, operations) in &kept {
        if let Err(Disagreement { at, says }) = replay(operations) {
            panic!("{name}, line {}\n{says}", at + 1);
        }
    }
    println!("{} regressions agree", kept.len());
}

/// A row that nothing shows any more is to be deleted.
#[test]
fn every_listed_difference_is_there() {
    for (row, difference) in DIFFERENCES.iter().enumerate() {
        let file = format!("row-{}", difference.name);
        let kept = kept();
        let (_, operations) = kept.iter().find(|(name, _)| *name == file).unwrap_or_else(|| panic!("no {file}"));
        let mut pair = Pair::new();
        for operation in operations {
            if let Err(says) = pair.step(operation) {
                panic!("{file}: {operation:?}\n{says}");
            }
        }
        assert!(pair.explained[row] > 0 || !difference.everywhere, "{file} shows no difference");
    }
}

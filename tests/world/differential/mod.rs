//! The world's files against a real directory of Linux: random operations on both must agree in every result and in the tree
//! they leave, but for the differences that are listed.

mod differences;
mod reference;

use crate::support::generate::Generator;
use crate::support::guest::Guest;
use crate::support::operation::Operation;
use crate::support::{empty_world, setting, wide_limits};
use differences::{DIFFERENCES, listed};
use reference::Reference;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

/// Operations in one run on a fresh volume.
const RUN: usize = 64;

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
    /// How often each listed difference was seen.
    seen: Vec<u64>,
}

impl Pair {
    fn new() -> Pair {
        let guest = Guest::new(empty_world(wide_limits()));
        Pair { guest, reference: Reference::new(), seen: vec![0; DIFFERENCES.len()] }
    }

    /// Does one operation on both sides.
    fn step(&mut self, operation: &Operation) -> Result<(), String> {
        let (world, mut linux) = (self.guest.perform(operation), self.reference.perform(operation));
        if world == linux {
            return Ok(());
        }
        if let Some(at) = listed(operation, &world, &linux) {
            self.seen[at] += 1;
            let Some(instead) = DIFFERENCES[at].instead else { return Ok(()) };
            linux = self.reference.perform(&instead(operation));
            if world == linux || listed(operation, &world, &linux).is_some() {
                return Ok(());
            }
        }
        Err(format!("the world: {}\nLinux:     {}", short(&world), short(&linux)))
    }

    /// Compares all there is.
    fn compare(&mut self) -> Result<(), String> {
        let world = self.guest.tree().map_err(|failure| format!("the world's tree can't be read: {failure:?}"))?;
        let reference = self.reference.tree().map_err(|error| format!("the directory can't be read: {error}"))?;
        if world == reference {
            return Ok(());
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
        let agreed = pair.step(operation).and_then(|()| pair.compare());
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
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/world/regressions")
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

#[test]
fn random_operations_agree() {
    let wanted = setting("HUTCH_WORLD_OPERATIONS", if cfg!(debug_assertions) { 20_000 } else { 120_000 });
    let first = setting("HUTCH_WORLD_SEED", 1);
    let mut seen = vec![0; DIFFERENCES.len()];
    let (mut done, mut seed) = (0, first);
    let mut survey = std::collections::BTreeSet::new();
    while done < wanted {
        let mut pair = Pair::new();
        let mut generator = Generator::new(seed);
        let mut operations = Vec::new();
        for at in 0..RUN {
            let operation = generator.next(&pair.guest);
            operations.push(operation);
            let mut agreed = pair.step(&operations[at]);
            if (at + 1) % COMPARE_EVERY == 0 {
                agreed = agreed.and_then(|()| pair.compare());
                if let Ok(tree) = pair.guest.tree() {
                    generator.learn(&tree);
                }
            }
            if let Err(says) = agreed {
                if std::env::var("SURVEY").is_ok() {
                    let min = minimise(operations.clone());
                    let d = replay(&min).err().map(|d| d.says).unwrap_or_default();
                    let last = format!("{:?}", min.last());
                    let key = format!(
                        "{} {}",
                        last.split(' ').next().unwrap(),
                        if d.starts_with("the trees") { "trees".into() } else { d.clone() }
                    );
                    let key: String = key.chars().take(160).collect();
                    if survey.insert(key) {
                        println!("=== seed {seed} found: {}", if min.len() < 20 { "" } else { "LONG" });
                        for o in min.iter().rev().take(10).rev() {
                            println!("{}", short(o));
                        }
                        println!("{d}");
                    }
                    break;
                }
                let report = keep(seed, &minimise(operations));
                panic!("{report}\nfound as: {says}");
            }
        }
        done += RUN as u64;
        for (all, one) in seen.iter_mut().zip(&pair.seen) {
            *all += one;
        }
        seed += 1;
    }
    println!("{done} operations agreed, seeds {first} to {}", seed - 1);
    for (difference, count) in DIFFERENCES.iter().zip(&seen) {
        println!("{count:7} times: {}", difference.name);
    }
}

#[test]
fn what_disagreed_once_agrees() {
    let mut files: Vec<PathBuf> = std::fs::read_dir(regressions())
        .expect("the folder of regressions")
        .map(|entry| entry.expect("an entry").path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "jsonl"))
        .collect();
    files.sort();
    assert!(!files.is_empty(), "there are no regressions to replay");
    for file in &files {
        let text = std::fs::read_to_string(file).expect("a regression");
        let operations: Vec<Operation> = text
            .lines()
            .map(|line| {
                serde_json::from_str(line).unwrap_or_else(|error| panic!("{}: {error}: {line}", file.display()))
            })
            .collect();
        if let Err(Disagreement { at, says }) = replay(&operations) {
            panic!("{}, line {}\n{says}", file.display(), at + 1);
        }
    }
    println!("{} regressions agree", files.len());
}

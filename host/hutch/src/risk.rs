//! How much there is to lose by a run, told from what it would do and not from what it says.

use crate::answer::{Answer, VolumeChange};
use serde::Serialize;
use std::collections::BTreeMap;

/// How much there is to lose.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum RiskLevel {
    /// Nothing would change.
    None,
    /// The state of the instance would change, and undo brings it back.
    Low,
    /// Something would be taken away, real folders would change, or the package asks for a person's consent.
    High,
}

/// What carrying out a plan would mean.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
#[non_exhaustive]
pub struct Risk {
    /// How much there is to lose.
    pub level: RiskLevel,
    /// Why, for the level that it has.
    pub reasons: Vec<String>,
}

/// How much of what there is would be gone. What only gets another name is not.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Lost {
    /// Files, links and folders.
    pub paths: u64,
    /// Parts of files that stay.
    pub parts: u64,
}

impl Risk {
    /// The risk of what a plan would do; `confirmation` says why a person must agree, if one must.
    pub fn of(answer: &Answer, confirmation: Option<&str>, lost: Lost) -> Risk {
        let Lost { paths: removed, parts: lost } = lost;
        let changed: u64 = answer.volumes.values().map(|volume| volume.changes.count()).sum();
        let mut reasons = Vec::new();
        reasons.extend(confirmation.map(|reason| format!("a person must agree: {reason}")));
        if removed > 0 {
            reasons.push(format!("{removed} {} would be taken away", if removed == 1 { "path" } else { "paths" }));
        }
        if lost > 0 {
            reasons.push(format!("{lost} {} of files would be taken away", if lost == 1 { "part" } else { "parts" }));
        }
        reasons.extend(folders(&answer.mounted));
        let level = match (reasons.is_empty(), changed) {
            (false, _) => RiskLevel::High,
            (true, 0) => RiskLevel::None,
            (true, _) => {
                let paths = if changed == 1 { "path" } else { "paths" };
                reasons.push(format!("{changed} {paths} of the state would change; undo takes it back"));
                RiskLevel::Low
            }
        };
        Risk { level, reasons }
    }
}

/// Real folders are seen by others, and not only by the application.
fn folders(mounted: &BTreeMap<String, VolumeChange>) -> impl Iterator<Item = String> {
    let changed = mounted.iter().filter(|(_, folder)| !folder.changes.is_empty());
    changed.map(|(name, folder)| match folder.changes.count() {
        1 => format!("1 path of the real folder {name} would change"),
        count => format!("{count} paths of the real folder {name} would change"),
    })
}

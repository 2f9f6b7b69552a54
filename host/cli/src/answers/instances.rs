//! Answers about instances, their states and ledgers.

use hutch::backup::{Contents, Pinned as Kept};
use hutch_documents::Open;
use hutch_documents::moved::{Aside, Pinned};
use hutch_model::snapshot::PathChange;
use schemars::JsonSchema;
use serde::Serialize;
use std::path::PathBuf;

#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct GcAnswer {
    pub(crate) objects: u64,
    pub(crate) bytes: u64,
    pub(crate) retained_from: u64,
    /// earlier versions of the installed package that no entry names any more
    pub(crate) versions: usize,
    pub(crate) memo: GcMemo,
    /// folders where what runs have left stays, and is put back no more
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) unsettled: Vec<String>,
}

#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct GcMemo {
    pub(crate) outcomes: u64,
    pub(crate) bytes: u64,
    pub(crate) dropped: bool,
}

#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct BackupAnswer {
    #[schemars(with = "String")]
    pub(crate) path: PathBuf,
    pub(crate) bytes: Option<u64>,
    pub(crate) instances: Vec<KeptInstance>,
    pub(crate) versions: u64,
}

#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct RestoreAnswer {
    #[schemars(with = "String")]
    pub(crate) home: PathBuf,
    pub(crate) instances: Vec<KeptInstance>,
    pub(crate) versions: u64,
    /// Entries, all of them taken as the file tells them: no run was made again
    pub(crate) as_told: u64,
    /// What makes the runs of an instance again
    pub(crate) verify: Option<String>,
}

/// An instance in a backup.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct KeptInstance {
    package: String,
    instance: String,
    head: String,
}

impl KeptInstance {
    pub(crate) fn all(contents: &Contents) -> Vec<KeptInstance> {
        let kept = |Kept { slug, name, head }: &Kept| KeptInstance {
            package: slug.to_string(),
            instance: name.to_string(),
            head: head.to_string(),
        };
        contents.instances.iter().map(kept).collect()
    }
}

#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct InstanceItem {
    pub(crate) package: String,
    pub(crate) instance: String,
    pub(crate) bytes: u64,
    pub(crate) head: Option<String>,
}

/// An instance that has another name, or one more.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct InstanceMoved {
    pub(crate) package: String,
    pub(crate) from: String,
    pub(crate) to: String,
}

#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct InstancePurged {
    pub(crate) package: String,
    pub(crate) instance: String,
    /// what runs have left in granted folders, and is there still
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) unsettled: Vec<String>,
}

#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct InstanceExported {
    pub(crate) package: String,
    pub(crate) instance: String,
    #[schemars(with = "String")]
    pub(crate) path: PathBuf,
    #[schemars(with = "Vec<String>")]
    pub(crate) files: Vec<PathBuf>,
    pub(crate) bytes: usize,
    pub(crate) entries: u64,
    /// How many of them are records alone, because gc has dropped their states
    pub(crate) dropped: u64,
    pub(crate) last: Pinned,
}

#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct InstanceImported {
    pub(crate) package: String,
    pub(crate) instance: String,
    pub(crate) entries: u64,
    /// Runs that were run again, and came to the same
    pub(crate) equal: usize,
    /// How many of them by a package that the files bring, which is as good as they are
    pub(crate) by_carried: u64,
    /// Runs that can't be made again, and kept nothing, or no state any more
    pub(crate) not_reproducible: usize,
    /// Changes of the state that no run came to, and that are taken as the files tell them
    pub(crate) as_told: u64,
    /// Entries that came as records alone, because their states had been dropped: nothing of them is proved
    pub(crate) dropped: u64,
    /// Moves that took changes back or made them again, which nobody here asked for
    pub(crate) moved: u64,
    /// Runs that a person confirmed elsewhere, as the files tell it, and nobody here
    pub(crate) confirmed: u64,
    /// Plans of calls that nobody here asked for: carrying one out, by its name, asks always
    pub(crate) plans: u64,
    pub(crate) last: Option<Pinned>,
}

/// What `instance export` answers.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(untagged)]
pub(crate) enum InstanceExports {
    Instance(InstanceExported),
    /// With `--volume`.
    Volume(VolumeExported),
}

/// What `instance import` answers.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(untagged)]
pub(crate) enum InstanceImports {
    Instance(InstanceImported),
    /// With `--volume`.
    Volume(VolumeImported),
}

#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct VolumeExported {
    pub(crate) volume: String,
    #[schemars(with = "String")]
    pub(crate) folder: PathBuf,
    pub(crate) files: u64,
    pub(crate) bytes: u64,
    #[serde(flatten)]
    pub(crate) aside: Aside,
}

#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct VolumeImported {
    pub(crate) volume: String,
    #[schemars(with = "Vec<Open>")]
    pub(crate) changes: Vec<PathChange>,
    pub(crate) entry: Option<Pinned>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "u64")]
    pub(crate) changes_omitted: Option<u64>,
    #[serde(flatten)]
    pub(crate) aside: Aside,
}

#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct StateChecked {
    pub(crate) package: String,
    pub(crate) instance: String,
    pub(crate) entries: u64,
    pub(crate) objects: u64,
    pub(crate) bytes: u64,
}

//! Where there are no real folders, no record comes with any.

use crate::failure::{Failure, Unkept};
use crate::mount::{Known, Mount, MountObjects};
use crate::session::Session;
use hutch_model::ledger::{FolderRecord, Record, Sealed, SecretKey};
use hutch_model::snapshot::{Changes, Objects};
use std::collections::BTreeMap;

/// One granted folder that a run changes: there is none.
#[expect(dead_code, reason = "there is no value of it")]
pub(crate) struct Granted<'a> {
    pub(crate) name: &'a str,
    pub(crate) mount: &'a Mount,
    pub(crate) change: &'a crate::answer::VolumeChange,
    pub(crate) seen: &'a MountObjects,
    pub(crate) known: &'a BTreeMap<String, Known>,
}

/// What a run wants changed in granted folders: nothing.
#[derive(Default)]
pub(crate) struct Wished {
    pub(crate) folders: BTreeMap<String, FolderRecord>,
    pub(crate) changes: BTreeMap<String, Changes>,
    pub(crate) withheld: Vec<String>,
}

impl Wished {
    #[expect(clippy::unnecessary_wraps, reason = "as where there are such folders")]
    pub(crate) fn of(_: &[Granted<'_>], _: &dyn Objects) -> Result<Wished, Failure> {
        Ok(Wished::default())
    }
}

/// What became of a record.
pub(crate) struct Settled {
    pub(crate) sealed: Sealed,
    pub(crate) changes: BTreeMap<String, Changes>,
    pub(crate) withheld: Vec<String>,
}

/// What an entry tells of was done elsewhere.
pub(crate) fn is_own(_: &SecretKey, _: &FolderRecord) -> bool {
    false
}

impl Session {
    pub(crate) fn commit_with_folders(
        &self,
        record: &Record,
        objects: &dyn Objects,
        (_, streams): (&dyn Objects, &[&[u8]]),
        _: (&[Granted<'_>], Option<u64>),
    ) -> Result<Settled, Unkept> {
        let sealed = self.store.commit(record, objects, streams).map_err(|error| (error.into(), None))?;
        Ok(Settled { sealed, changes: BTreeMap::new(), withheld: Vec::new() })
    }

    pub(crate) fn check_settled<'m>(&self, _: impl IntoIterator<Item = &'m Mount>) -> Result<(), Failure> {
        Ok(())
    }

    pub(crate) fn recover(&self) -> Result<(), Failure> {
        Ok(())
    }
}

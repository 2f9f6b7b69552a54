//! Where there are no real folders, none can be granted: there is no value of these types.

use hutch_model::digest::{Digest, Kind};
use hutch_model::invocation::Access;
use hutch_model::ledger::MountRecord;
use hutch_model::snapshot::{ObjectError, Objects};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// A granted folder.
#[derive(Clone, Copy, Debug)]
pub enum Mount {}

impl Mount {
    /// Where it is.
    pub fn path(&self) -> &Path {
        match *self {}
    }

    /// What the guest may do with it.
    pub fn access(&self) -> Access {
        match *self {}
    }

    pub(crate) fn recorded_bytes(&self) -> usize {
        match *self {}
    }

    pub(crate) fn is_hosts(&self, _: &[PathBuf]) -> bool {
        match *self {}
    }

    pub(crate) fn is_acted_on_by(&self) -> Option<&str> {
        match *self {}
    }

    pub(crate) fn without(self, _: &[PathBuf]) -> Mount {
        match self {}
    }

    /// What the ledger says of it.
    pub fn record(&self) -> MountRecord {
        match *self {}
    }

    pub(crate) fn objects(&self, _: &str, _: u64) -> Arc<MountObjects> {
        match *self {}
    }
}

pub(crate) enum MountObjects {}

/// What is known of something that comes again: nothing does.
pub(crate) enum Known {}

impl MountObjects {
    pub(crate) fn root(&self) -> Digest {
        match *self {}
    }

    pub(crate) fn staged(&self) -> Option<&str> {
        match *self {}
    }
}

impl Objects for MountObjects {
    fn get(&self, _: Kind, _: &Digest) -> Result<Arc<[u8]>, ObjectError> {
        match *self {}
    }
}

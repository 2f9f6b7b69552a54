//! A package's description of its commands: read from its file, or remembered and read in parts.

use super::files::problem;
use super::{PackageError, Source, read_contract};
use hutch_model::contract::{CONTRACT_FILE, Contract, ContractFile, KeptContract};
use hutch_model::diagnostic::Code;
use hutch_model::digest::{Hasher, Kind};
use std::borrow::Cow;
use std::sync::OnceLock;

#[derive(Debug)]
pub(super) struct Description {
    /// As remembered, if it is.
    kept: Option<KeptContract>,
    /// As the file has it, once that is read; `None` for a package without one.
    read: OnceLock<Option<ContractFile>>,
}

impl Description {
    pub(super) fn read(file: Option<ContractFile>) -> Description {
        Description { kept: None, read: OnceLock::from(file) }
    }

    #[cfg(feature = "machine")]
    pub(super) fn kept(kept: Option<KeptContract>) -> Description {
        let read = if kept.is_some() { OnceLock::new() } else { OnceLock::from(None) };
        Description { kept, read }
    }

    /// The description, if it was read already.
    pub(super) fn file(&self) -> Result<Option<&ContractFile>, PackageError> {
        match self.read.get() {
            Some(file) => Ok(file.as_ref()),
            None => Err(changed()),
        }
    }

    /// The description with the places of its parts; its file is read now if it was not yet.
    pub(super) fn file_in(&self, source: &Source) -> Result<Option<&ContractFile>, PackageError> {
        if self.read.get().is_none() {
            let file = read_contract(source, &mut Hasher::new(Kind::Package), &mut Vec::new());
            let known = self.kept.as_ref().and_then(KeptContract::whole);
            let same = file.as_ref().map(ContractFile::contract) == known.as_ref();
            let Some(file) = file.filter(|_| same) else { return Err(changed()) };
            let _ = self.read.set(Some(file));
        }
        self.file()
    }

    /// As much of the description as a call with these words needs; more of it, if it is known already.
    pub(super) fn of_call(&self, words: &[&str]) -> Result<Option<Cow<'_, Contract>>, PackageError> {
        self.known(|kept| kept.judging_call(words))
    }

    /// All of the description, but for the places of its parts.
    pub(super) fn whole(&self) -> Result<Option<Cow<'_, Contract>>, PackageError> {
        self.known(KeptContract::whole)
    }

    fn known(
        &self,
        take: impl FnOnce(&KeptContract) -> Option<Contract>,
    ) -> Result<Option<Cow<'_, Contract>>, PackageError> {
        match (self.read.get(), &self.kept) {
            (Some(file), _) => Ok(file.as_ref().map(|file| Cow::Borrowed(file.contract()))),
            (None, Some(kept)) => take(kept).map(|contract| Some(Cow::Owned(contract))).ok_or_else(changed),
            (None, None) => Err(changed()),
        }
    }
}

/// Files are not what they were when the package was opened.
fn changed() -> PackageError {
    PackageError::one(problem(Code::FileUnreadable, CONTRACT_FILE, "the file was changed after the package was opened"))
}

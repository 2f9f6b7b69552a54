//! A package, opened: its manifest, component, contract and skills. Reads through a [`Source`], a folder or a packed file; paths
//! become authority in `open_folder` and `Source::open` alone. Runs nothing and knows no engine.

mod check;
mod description;
#[cfg(feature = "machine")]
mod directory;
mod files;
mod folder;
#[cfg(feature = "machine")]
mod memory;
mod outline;
mod packed;
mod resources;
mod source;

pub use files::{PackageBounds, PackageEntry};
pub use folder::snapshot as folder_snapshot;
#[cfg(feature = "machine")]
pub use memory::Memory;
#[cfg(feature = "machine")]
pub(crate) use memory::Scope;
pub use outline::Outline;
pub use packed::{PackError, PackWriter};
pub(crate) use resources::Resources;
pub use source::Source;
#[cfg(feature = "machine")]
pub use source::{SourceError, open_folder};

use description::Description;
use files::problem;
use hutch_model::contract::{self, CONTRACT_BYTES_MAX, CONTRACT_FILE, Contract, ContractFile};
use hutch_model::diagnostic::{Code, Diagnostic, Position, sort};
use hutch_model::digest::{Digest, Hasher, Kind};
use hutch_model::error_code::ErrorCode;
use hutch_model::front_matter::{DOCUMENT_BYTES_MAX, decode};
use hutch_model::ledger::Origin;
use hutch_model::manifest::{self, MANIFEST_FILE, Manifest};
use hutch_model::names::{PackagePath, SkillName};
use hutch_model::payload::Payload;
use std::borrow::Cow;
#[cfg(feature = "machine")]
use std::path::Path;
use std::sync::OnceLock;
#[cfg(feature = "machine")]
use std::sync::atomic::{AtomicU64, Ordering};
#[cfg(feature = "machine")]
use std::time::Duration;

/// A package that can be run.
#[derive(Debug)]
pub struct Package {
    source: Source,
    bounds: PackageBounds,
    manifest: Manifest,
    description: Description,
    /// Read when it is needed.
    component: OnceLock<Vec<u8>>,
    component_bytes: u64,
    component_digest: Digest,
    /// Manifest and contract, as they were read.
    texts: Digest,
    payload: Payload,
    origin: Option<Origin>,
    is_carried: bool,
    resources: OnceLock<Resources>,
    /// How long it took to read those, if that was not counted yet.
    #[cfg(feature = "machine")]
    read_us: AtomicU64,
}

#[cfg(feature = "machine")]
#[expect(
    clippy::disallowed_methods,
    reason = "measures what is read for a run; nothing that a guest sees depends on it"
)]
fn begun() -> std::time::Instant {
    std::time::Instant::now()
}

/// Why a folder or a packed file is no package that can be run.
#[derive(Debug, thiserror::Error)]
#[error("{} problems, the first: {}", .diagnostics.len(), .diagnostics.first().map(ToString::to_string).unwrap_or_default())]
pub struct PackageError {
    diagnostics: Vec<Diagnostic>,
}

impl PackageError {
    /// One problem, an error.
    pub fn one(problem: Diagnostic) -> PackageError {
        PackageError { diagnostics: vec![problem] }
    }

    /// All problems, at least one of them an error.
    pub fn diagnostics(&self) -> &[Diagnostic] {
        &self.diagnostics
    }

    /// The code under which the host reports them: that of the first error with a code of its own.
    pub fn code(&self) -> ErrorCode {
        let own = |diagnostic: &Diagnostic| match diagnostic.code {
            Code::FileMissing if diagnostic.file == MANIFEST_FILE && diagnostic.is_whole_file() => {
                Some(ErrorCode::PackageNotFound)
            }
            Code::EntryUnsupported => Some(ErrorCode::EntryUnsupported),
            Code::FileTooLarge if diagnostic.file.ends_with(".wasm") => Some(ErrorCode::ComponentLimit),
            Code::PayloadEmpty
            | Code::PayloadNative
            | Code::PayloadScript
            | Code::PayloadText
            | Code::PayloadVersion
            | Code::PayloadUnknown => Some(ErrorCode::ComponentInvalid),
            _ => None,
        };
        self.diagnostics.iter().find_map(own).unwrap_or(ErrorCode::PackageInvalid)
    }
}

impl Package {
    /// Opens what a run needs: manifest, component and contract. Skills and all other files stay unread; [`check`] reads them.
    ///
    /// # Errors
    /// All problems of these parts at once.
    pub fn open(source: &Source, bounds: PackageBounds) -> Result<Package, PackageError> {
        let mut diagnostics = Vec::new();
        let package = open_parts(source, bounds, &mut diagnostics).0;
        sort(&mut diagnostics);
        package.ok_or(PackageError { diagnostics })
    }

    /// The same, of a package that may be remembered: if so, and if all that a run depends on looks as it did, nothing is read. A
    /// part that is read later is held against what was remembered.
    ///
    /// # Errors
    /// As for [`open`](Package::open).
    #[cfg(feature = "machine")]
    pub fn open_remembered(source: &Source, bounds: PackageBounds, memory: &Memory) -> Result<Package, PackageError> {
        if let Some((package, _)) = memory.recall(source, bounds, Scope::Run) {
            return Ok(package);
        }
        let package = Package::open(source, bounds)?;
        memory.keep(&package, None);
        Ok(package)
    }

    /// Does what [`open`](Package::open) does, of the folder or the packed file at `path`, within the usual bounds.
    ///
    /// # Errors
    /// The system's refusal, or as there.
    #[cfg(feature = "machine")]
    pub fn open_at(path: impl AsRef<Path>) -> Result<Package, SourceError> {
        let bounds = PackageBounds::default();
        Ok(Package::open(&Source::open(path.as_ref(), &bounds)?, bounds)?)
    }

    /// The manifest.
    pub fn manifest(&self) -> &Manifest {
        &self.manifest
    }

    /// The description of the commands, if the package has one.
    ///
    /// # Errors
    /// Its file was changed since the package was opened.
    pub fn contract(&self) -> Result<Option<&ContractFile>, PackageError> {
        self.description.file_in(&self.source)
    }

    /// As much of the description as a call is judged by, whose words, leading ones of the entry command included, are these: at least
    /// the command that they call. Nothing is known of a package without a description.
    pub(crate) fn contract_of_call(&self, words: &[&str]) -> Result<Option<Cow<'_, Contract>>, PackageError> {
        self.description.of_call(words)
    }

    /// The whole description.
    pub(crate) fn whole_contract(&self) -> Result<Option<Cow<'_, Contract>>, PackageError> {
        self.description.whole()
    }

    /// The component's bytes.
    ///
    /// # Errors
    /// Its file can't be read, or was changed since the package was opened.
    pub fn component(&self) -> Result<&[u8], PackageError> {
        if let Some(bytes) = self.component.get() {
            return Ok(bytes);
        }
        let path = self.manifest.entry().component();
        let bytes = self.source.read(path, self.bounds.component_bytes_max).map_err(PackageError::one)?;
        match bytes.filter(|bytes| Digest::of(Kind::Component, bytes) == self.component_digest) {
            Some(bytes) => Ok(self.component.get_or_init(|| bytes)),
            None => {
                let message = "the file was changed after the package was opened";
                Err(PackageError::one(problem(Code::FileUnreadable, path.as_str(), message)))
            }
        }
    }

    /// How long the component is.
    pub fn component_bytes(&self) -> u64 {
        self.component_bytes
    }

    /// Whether its files were read out of one file.
    #[cfg(feature = "machine")]
    pub fn is_packed(&self) -> bool {
        self.source.is_packed()
    }

    /// The name of the component's bytes.
    pub fn component_digest(&self) -> Digest {
        self.component_digest
    }

    /// The same package, known to come from there: state belongs to where a package comes from, not to what it calls itself.
    #[must_use]
    pub fn from_origin(self, origin: Origin) -> Package {
        Package { origin: Some(origin), ..self }
    }

    /// The same package, known to have come with what it is to prove: it is as good as that.
    #[must_use]
    pub fn carried(self) -> Package {
        Package { is_carried: true, ..self }
    }

    pub(crate) fn is_carried(&self) -> bool {
        self.is_carried
    }

    /// Where it comes from, if anybody said.
    pub fn origin(&self) -> Option<&Origin> {
        self.origin.as_ref()
    }

    /// The folders that the guest may read. They are read once.
    pub(crate) fn resources(&self) -> Result<&Resources, PackageError> {
        if let Some(resources) = self.resources.get() {
            return Ok(resources);
        }
        #[cfg(feature = "machine")]
        let begun = begun();
        let resources = Resources::of(self)?;
        #[cfg(feature = "machine")]
        self.read_us.fetch_add(u64::try_from(begun.elapsed().as_micros()).unwrap_or(u64::MAX), Ordering::Relaxed);
        Ok(self.resources.get_or_init(|| resources))
    }

    /// How long they took to read, for the run that they were read for: once.
    #[cfg(feature = "machine")]
    pub(crate) fn reading(&self) -> Duration {
        Duration::from_micros(self.read_us.swap(0, Ordering::Relaxed))
    }

    /// The name of all that a run depends on: manifest, contract, component and resources. Skills and other files are not part of it.
    ///
    /// # Errors
    /// A resource can't be read.
    pub fn run_digest(&self) -> Result<Digest, PackageError> {
        let mut hasher = Hasher::new(Kind::Package);
        hasher.update(self.texts.as_bytes());
        hasher.update(self.component_digest.as_bytes());
        for (name, tree) in &self.resources()?.trees {
            hasher.update_part(name.as_bytes());
            hasher.update(tree.as_bytes());
        }
        Ok(hasher.finish())
    }

    /// What the component's bytes are.
    pub fn payload(&self) -> Payload {
        self.payload
    }

    /// Everything in a declared folder, sorted by path; nothing if the folder is absent. No file is opened.
    ///
    /// # Errors
    /// What makes a file unfit to be read, or a bound that is passed.
    pub fn entries(&self, folder: &PackagePath) -> Result<Vec<PackageEntry>, PackageError> {
        self.source.entries(folder, &self.bounds)
    }

    /// The content of a file of the package.
    ///
    /// # Errors
    /// What makes it unfit to be read.
    pub fn read(&self, path: &PackagePath) -> Result<Vec<u8>, Diagnostic> {
        self.source.read_whole(path, &self.bounds)
    }

    /// The folder that it lies in, if it is no packed file.
    #[cfg(feature = "machine")]
    pub(crate) fn folder(&self) -> Option<&cap_std::fs::Dir> {
        self.source.dir()
    }

    /// All its files.
    #[cfg(feature = "machine")]
    pub(crate) fn source(&self) -> &Source {
        &self.source
    }

    /// What it may not be larger than.
    #[cfg(feature = "machine")]
    pub(crate) fn bounds(&self) -> &PackageBounds {
        &self.bounds
    }

    /// The name of the whole package: of every path and every file's content, in the order of the paths.
    ///
    /// # Errors
    /// What makes a file unfit to be read, or a bound that is passed.
    pub fn digest(&self) -> Result<Digest, PackageError> {
        self.source.digest(&self.bounds)
    }
}

/// A package that was checked.
#[derive(Debug)]
#[non_exhaustive]
pub struct Checked {
    /// The package, unless it has errors.
    pub package: Option<Package>,
    /// The names of its skills that have no errors.
    pub skills: Vec<SkillName>,
    /// All problems, sorted by file, line and column.
    pub diagnostics: Vec<Diagnostic>,
}

impl From<PackageError> for Checked {
    /// What came to nothing because of these problems.
    fn from(error: PackageError) -> Checked {
        Checked { package: None, skills: Vec::new(), diagnostics: error.diagnostics }
    }
}

/// Reads everything that a rule is about, and finds all problems at once.
pub fn check(source: &Source, bounds: PackageBounds) -> Checked {
    check::check(source, bounds)
}

fn not_a_folder(path: &str) -> Diagnostic {
    problem(Code::NotAFolder, path, "expected a folder, found a file")
}

/// The path of a file that every package may have. The names are constants, and a test holds them to the rules.
fn fixed(name: &str) -> Result<PackagePath, Diagnostic> {
    PackagePath::parse(name).map_err(|error| problem(Code::NameNotPortable, name, error.to_string()))
}

/// The text of a file, or `None` if it is not there.
fn read_text(source: &Source, path: &PackagePath, bytes_max: usize) -> Result<Option<String>, Diagnostic> {
    let Some(bytes) = source.read(path, bytes_max as u64)? else { return Ok(None) };
    decode(&bytes, path.as_str())?;
    // Known to be UTF-8 by now; decoding in place saves a copy.
    Ok(String::from_utf8(bytes).ok())
}

/// Reads the parts that a run needs. The manifest comes back by itself where only another part is at fault.
fn open_parts(
    source: &Source,
    bounds: PackageBounds,
    found: &mut Vec<Diagnostic>,
) -> (Option<Package>, Option<Manifest>) {
    let errors_before = found.iter().filter(|problem| problem.is_error()).count();
    let mut texts = Hasher::new(Kind::Package);
    let manifest = read_manifest(source, &mut texts, found);
    let contract = read_contract(source, &mut texts, found);
    let Some(manifest) = manifest else {
        // Who has written the description need not write its list again.
        let is_list = |found: &&mut Diagnostic| found.file == MANIFEST_FILE && found.message == "commands is missing";
        if let Some(missing) = found.iter_mut().find(is_list) {
            missing.suggestion = contract.as_ref().and_then(ContractFile::manifest_lists);
        }
        return (None, None);
    };
    let bounds = bounds.asked_by(&manifest);
    let component = read_component(source, &manifest, bounds, found);
    let complete = found.iter().filter(|problem| problem.is_error()).count() == errors_before;
    match component {
        Some((component, payload)) if complete => {
            let package = Package {
                source: source.clone(),
                bounds,
                manifest,
                description: Description::read(contract),
                component_digest: Digest::of(Kind::Component, &component),
                component_bytes: component.len() as u64,
                component: OnceLock::from(component),
                texts: texts.finish(),
                payload,
                origin: None,
                is_carried: false,
                resources: OnceLock::new(),
                #[cfg(feature = "machine")]
                read_us: AtomicU64::default(),
            };
            (Some(package), None)
        }
        _ => (None, Some(manifest)),
    }
}

fn read_manifest(source: &Source, texts: &mut Hasher, found: &mut Vec<Diagnostic>) -> Option<Manifest> {
    match fixed(MANIFEST_FILE).and_then(|path| read_text(source, &path, DOCUMENT_BYTES_MAX)) {
        Ok(Some(text)) => {
            texts.update_part(text.as_bytes());
            let (manifest, problems) = manifest::parse(&text, MANIFEST_FILE);
            found.extend(problems);
            manifest
        }
        Ok(None) => {
            found.push(problem(Code::FileMissing, MANIFEST_FILE, "the package holds no APP.md"));
            None
        }
        Err(problem) => {
            found.push(problem);
            None
        }
    }
}

fn read_contract(source: &Source, texts: &mut Hasher, found: &mut Vec<Diagnostic>) -> Option<ContractFile> {
    match fixed(CONTRACT_FILE).and_then(|path| read_text(source, &path, CONTRACT_BYTES_MAX)) {
        Ok(text) => {
            let text = text?;
            texts.update_part(text.as_bytes());
            let (contract, problems) = contract::parse(&text, CONTRACT_FILE);
            found.extend(problems);
            contract
        }
        Err(problem) => {
            found.push(problem);
            None
        }
    }
}

fn read_component(
    source: &Source,
    manifest: &Manifest,
    bounds: PackageBounds,
    found: &mut Vec<Diagnostic>,
) -> Option<(Vec<u8>, Payload)> {
    let path = manifest.entry().component();
    let bytes = match source.read(path, bounds.component_bytes_max) {
        Ok(Some(bytes)) => bytes,
        Ok(None) => {
            let at = manifest.position("/entry/command");
            let message = format!("entry.command names {path}, which is not there");
            found.push(Diagnostic::new(Code::FileMissing, MANIFEST_FILE, at, message));
            return None;
        }
        Err(problem) => {
            found.push(problem);
            return None;
        }
    };
    match Payload::of(&bytes) {
        Ok(payload) => Some((bytes, payload)),
        Err((code, message)) => {
            found.push(Diagnostic::new(code, path.as_str(), Position::START, message));
            None
        }
    }
}

#[cfg(test)]
#[path = "tests.rs"]
mod tests;

//! The parts of a package that describe it, read without its component: what discovery needs, in the order of its three tiers.

use super::files::problem;
use super::{Package, PackageEntry, PackageError, Source, fixed, read_contract, read_manifest, read_text};
use hutch_model::contract::ContractFile;
use hutch_model::diagnostic::{Code, Diagnostic, sort};
use hutch_model::digest::{Hasher, Kind};
use hutch_model::front_matter::DOCUMENT_BYTES_MAX;
use hutch_model::manifest::{MANIFEST_FILE, Manifest};
use hutch_model::names::SkillName;
use hutch_model::skill::{self, SKILL_FILE, SKILLS_FOLDER, Skill};

/// A package as it describes itself. Nothing in it was compiled or run.
#[derive(Debug)]
pub struct Outline {
    source: Source,
    manifest: Manifest,
}

impl Outline {
    /// Reads the manifest, and no other file.
    ///
    /// # Errors
    /// All problems of the manifest.
    pub fn open(source: Source) -> Result<Outline, PackageError> {
        let mut found = Vec::new();
        match read_manifest(&source, &mut Hasher::new(Kind::Package), &mut found) {
            Some(manifest) => Ok(Outline { source, manifest }),
            None => Err(refused(found)),
        }
    }

    /// The manifest.
    pub fn manifest(&self) -> &Manifest {
        &self.manifest
    }

    /// The description of the commands, if the package has one.
    ///
    /// # Errors
    /// All problems of the description.
    pub fn contract(&self) -> Result<Option<ContractFile>, PackageError> {
        let mut found = Vec::new();
        let contract = read_contract(&self.source, &mut Hasher::new(Kind::Package), &mut found);
        let broken = found.iter().any(Diagnostic::is_error);
        if broken { Err(refused(found)) } else { Ok(contract) }
    }

    /// One skill, whole.
    ///
    /// # Errors
    /// All problems of the skill, or that it is not there.
    pub fn skill(&self, name: &SkillName) -> Result<Skill, PackageError> {
        let file = format!("{SKILLS_FOLDER}/{name}/{SKILL_FILE}");
        let text = fixed(&file).and_then(|path| read_text(&self.source, &path, DOCUMENT_BYTES_MAX));
        let text = text.map_err(PackageError::one)?;
        let Some(text) = text else {
            let listed = self.manifest.skills().iter().map(SkillName::as_str).collect::<Vec<_>>().join(", ");
            let message = format!("there is no skill {name}; {MANIFEST_FILE} lists {listed}");
            return Err(PackageError::one(problem(Code::SkillMissing, &file, message)));
        };
        let (skill, found) = skill::parse(&text, &file, name);
        skill.ok_or_else(|| refused(found))
    }
}

impl Package {
    /// Everything in the package, sorted by path. No file is opened.
    ///
    /// # Errors
    /// What makes a file unfit to be part of a package, or a bound that is passed.
    pub fn files(&self) -> Result<Vec<PackageEntry>, PackageError> {
        self.source.files(&self.bounds)
    }
}

fn refused(mut diagnostics: Vec<Diagnostic>) -> PackageError {
    sort(&mut diagnostics);
    PackageError { diagnostics }
}

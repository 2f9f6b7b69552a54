//! `hutch index`: a catalogue of packages as a folder of files, for programs and for people, and what is read back from one.

use super::catalog::within;
use crate::answer::done::Done;
use crate::answer::output::Output;
use crate::answers::{IndexBuilt, IndexedPackage};
use crate::flags::global::Global;
use crate::machine::input::{self, Source};
use crate::machine::new_file::folder_of;
use crate::package::network::{self, NetworkArguments};
use crate::package::{packages, signed, trust};
use crate::refusal::fault::Fault;
use crate::screen::human;
use clap::Args;
use hutch::index::shelf::{Shelf, ShelfError};
use hutch::index::{INDEX_BYTES_MAX, INDEX_FILE, Index, Package, Release};
use hutch_model::error_code::ErrorCode;
use hutch_model::error_report::ErrorReport;
use hutch_model::trust::{Level, Policy, Subject};
use hutch_registry::{
    About, Artifact, ArtifactError, Head, Reference, RegistryError, Repository, Root, Signer, Texts, Verdict,
};
use semver::Version;
use std::cmp::Reverse;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// The most packages of one repository that are read.
const RELEASES_MAX: usize = 100;

#[derive(Debug, Args)]
pub(crate) struct IndexArguments {
    /// Where packages are: oci://HOST/REPOSITORY or oci-layout:FOLDER, of which a tag takes one alone; or a package, packed or not, or a folder of packages
    #[arg(value_name = "SOURCE", required = true)]
    sources: Vec<PathBuf>,
    /// The folder to write
    #[arg(long, value_name = "DIR")]
    output: PathBuf,
    #[command(flatten)]
    network: NetworkArguments,
}

pub(crate) fn index(global: &Global, own: &IndexArguments, output: &Output) -> Result<ExitCode, Fault> {
    let (policy, root) = (trust::policy(global)?, trust::root(global)?);
    let mut found = Vec::new();
    for source in &own.sources {
        let before = found.len();
        match network::reference(source)? {
            Some(reference) => found.extend(listed(global, own, (&policy, &root), &reference, output)?),
            None => {
                for path in within(source)? {
                    found.push(local(global, &path)?);
                }
            }
        }
        if found.len() == before {
            let message = format!("there is no package in {}", source.display());
            return Err(Fault::new(ErrorCode::PackageNotFound, message));
        }
    }
    let index = Index::of(found);
    let changed = put(global, &own.output, &index)?;
    if changed && !global.dry_run {
        let look = ["find", "--index", &own.output.display().to_string(), "--", "list"];
        output.done(Done::changed(global.line.elsewhere(look)));
    }
    let packages = index.packages.into_iter().map(|package| IndexedPackage {
        slug: package.slug.to_string(),
        source: package.source,
        page: package.page,
        commands: package.commands.len(),
        releases: package.releases,
    });
    let result = IndexBuilt {
        path: own.output.display().to_string(),
        packages: packages.collect(),
        changed,
        dry_run: global.dry_run,
    };
    output.answer("index", result, human::fields)
}

/// Writes the index, if another one is there or none.
fn put(global: &Global, path: &Path, index: &Index) -> Result<bool, Fault> {
    let parent = folder_of(path);
    let Some(name) = path.file_name().and_then(|name| name.to_str()) else {
        return Err(Fault::usage(format!("{} names no folder to write", path.display())));
    };
    let parent = hutch::package::open_folder(parent).map_err(|error| Fault::file(parent, &error))?;
    let shelf = Shelf::new(&parent, name);
    let done = if global.dry_run { shelf.would_change(index) } else { shelf.write(index) };
    done.map_err(|error| {
        let report = ErrorReport::new(error.code(), error.to_string());
        match error {
            ShelfError::Taken { .. } => report.suggest("name another folder with --output").into(),
            _ => Fault::from(report),
        }
    })
}

/// A package on this machine, as it would be in a repository.
fn local(global: &Global, path: &Path) -> Result<(Package, Release), Fault> {
    let word = path.display().to_string();
    let checked = packages::checked(path)?;
    let Some(package) = checked.package else {
        return Err(crate::refusal::repair::refused(&global.line, path, &checked.diagnostics));
    };
    packages::check_signatures(global, &trust::policy(global)?, &package, &packages::without_links(path))?;
    let texts = || -> Result<Texts, RegistryError> {
        let artifact = Artifact::of(&package)?;
        Ok(Head::read(artifact.manifest(), None)?.texts(artifact.config())?)
    };
    let told = texts().and_then(|texts| entry(&texts, &word, word.clone(), Level::Local));
    told.map_err(|error| network::fault(error).of(&word))
}

/// The packages in a repository. Manifests and configs are read, and signatures; no component.
fn listed(
    global: &Global,
    own: &IndexArguments,
    trusted: (&Policy, &Root),
    from: &Reference,
    output: &Output,
) -> Result<Vec<(Package, Release)>, Fault> {
    let repository = network::open(global, &own.network, from, false)?;
    let failed = |reference: &Reference, error| network::fault(error).of(&reference.to_string());
    if from.name().is_some() {
        let head = repository.head(from).map_err(|error| failed(from, error))?;
        return Ok(vec![remote(trusted, &repository, from, head)?]);
    }
    let tags = repository.tags().map_err(|error| failed(from, error))?;
    let mut references: Vec<Reference> = tags.iter().filter_map(|tag| from.with_tag(tag)).collect();
    references.sort_by_cached_key(|reference| Reverse(version(reference)));
    let mut found: Vec<(Package, Release)> = Vec::new();
    for (at, reference) in references.iter().enumerate() {
        if at == RELEASES_MAX {
            output.remark(&format!("left out {} older tags of {from}", references.len() - at));
            break;
        }
        match repository.head(reference) {
            Err(RegistryError::Artifact(ArtifactError::NotAPackage(why))) => {
                output.remark(&format!("left out {reference}: {why}"));
            }
            // Another tag of the same.
            Ok(head) if found.iter().any(|(_, one)| one.manifest == head.digest().to_string()) => {}
            Ok(head) => found.push(remote(trusted, &repository, reference, head)?),
            Err(error) => return Err(failed(reference, error)),
        }
    }
    Ok(found)
}

/// The version that a tag is, by which the newest come first; what is none comes last.
fn version(reference: &Reference) -> Option<(bool, Version)> {
    let version = Version::parse(&reference.tag.as_deref()?.replace('_', "+")).ok()?;
    Some((version.pre.is_empty(), version))
}

/// A package in a repository.
fn remote(
    trusted: (&Policy, &Root),
    repository: &Repository,
    reference: &Reference,
    head: Head,
) -> Result<(Package, Release), Fault> {
    let failed = |error| network::fault(error).of(&reference.to_string());
    let texts = repository.texts(head).map_err(failed)?;
    let trust = seen(trusted, repository, reference, &texts).map_err(|fault| fault.of(&reference.to_string()))?;
    let named = reference.with_digest(texts.head().digest()).to_string();
    entry(&texts, &reference.place.to_string(), named, trust).map_err(failed)
}

/// What the index says of a package.
fn entry(texts: &Texts, source: &str, reference: String, trust: Level) -> Result<(Package, Release), RegistryError> {
    let (outline, head) = (texts.outline()?, texts.head());
    let package = Package::of(&outline, source).map_err(ArtifactError::from)?;
    let (config, component) = head.sizes();
    let release = Release {
        version: outline.manifest().version().to_string(),
        reference,
        manifest: head.digest().to_string(),
        digest: head.package(),
        bytes: config.saturating_add(component),
        trust,
    };
    Ok((package, release))
}

/// How far a package would be trusted here, once it is installed.
fn seen(
    (policy, root): (&Policy, &Root),
    repository: &Repository,
    reference: &Reference,
    texts: &Texts,
) -> Result<Level, Fault> {
    let head = texts.head();
    let source = trust::source(&reference.to_string());
    let keys = trust::keys(policy, &source);
    let about =
        About { package: vec![head.digest()], component: Some((texts.component().to_string(), head.component())) };
    let bundles = repository.bundles(head.digest()).map_err(network::fault)?;
    let check = |bundle: &Vec<u8>| hutch_registry::check(bundle, &about, &keys, root);
    let verdicts: Vec<Verdict> = bundles.iter().map(check).collect();
    signed::sound(&verdicts)?;
    let signer = verdicts.iter().find_map(Verdict::signer).map(Signer::text);
    let attester = verdicts.iter().find_map(Verdict::attester).map(Signer::text);
    let (signer, attester) = (signer.as_deref(), attester.as_deref());
    Ok(policy.judge(Subject { source: &source, is_installed: true, signer, attester }).level)
}

/// The index in a folder, which anybody may have written. Nothing but that one file is read.
pub(super) fn read(global: &Global, folder: &Path) -> Result<Index, Fault> {
    let path = folder.join(INDEX_FILE);
    let bytes = input::read(Source::File(path.clone()), INDEX_BYTES_MAX, global.wait)?;
    let index = Index::parse(&bytes).map_err(|error| error.to_string()).and_then(|index| {
        let references = index.packages.iter().flat_map(|package| &package.releases).map(|one| one.reference.as_str());
        let mut meant = references.filter(|text| Reference::is_meant(text)).map(str::parse::<Reference>);
        match meant.find_map(Result::err) {
            Some(error) => Err(error.to_string()),
            None => Ok(index),
        }
    });
    index.map_err(|reason| Fault::usage(format!("{} is no index: {reason}", path.display())))
}

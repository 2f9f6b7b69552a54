//! `hutch catalog`: which packages there are, from their front matter alone (the first tier of disclosure).

use crate::answer::output::Output;
use crate::answers::{CatalogItem, InstalledItem};
use crate::flags::global::Global;
use crate::flags::selection::Page;
use crate::package::packages::{self, Place};
use crate::package::{released, signed, trust};
use crate::refusal::fault::Fault;
use crate::screen::human;
use clap::Args;
use hutch::installed::{InstalledError, Pin};
use hutch::package::{Outline, PackageBounds};
use hutch_documents::By;
use hutch_model::error_code::ErrorCode;
use hutch_model::manifest::Manifest;
use hutch_model::names::Slug;
use hutch_model::trust::Policy;
use hutch_registry::Reference;
use serde_json::json;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

#[derive(Debug, Args)]
pub(crate) struct CatalogArguments {
    /// Folders to list besides the installed packages: each a package, or a folder of packages; packed files too
    #[arg(value_name = "DIR")]
    folders: Vec<PathBuf>,
    #[command(flatten)]
    page: Page,
}

pub(crate) fn catalog(global: &Global, own: &CatalogArguments, output: &Output) -> Result<ExitCode, Fault> {
    let policy = trust::policy(global)?;
    let mut items = Vec::new();
    each(global, &own.folders, output, |outline, place| items.push(entry(&policy, outline.manifest(), &place)))?;
    let note = items.is_empty().then(|| format!("no package is here: {}", packages::had_as()));
    output.list("catalog", json!(own.page.meant().noted(items, note)), &own.page, |items| {
        human::table(
            items,
            &[("call", "PACKAGE"), ("version", "VERSION"), ("trust", "TRUST"), ("description", "DESCRIPTION")],
        )
    })?;
    Ok(ExitCode::SUCCESS)
}

/// The installed packages and those in the given folders, each by its front matter, one after the other. One that can't be read is remarked
/// upon.
pub(super) fn each(
    global: &Global,
    folders: &[PathBuf],
    output: &Output,
    mut found: impl FnMut(Outline, Place),
) -> Result<(), Fault> {
    let mut take = |place: Place, path: &Path| {
        if let Some(outline) = outline(path, &place.word(), output) {
            found(outline, place);
        }
    };
    let installed = packages::installed(global)?;
    for pin in installed.pins()? {
        match pin {
            Ok(pin) => {
                let folder = installed.folder_of(&pin);
                take(Place::Installed(Box::new(pin)), &folder);
            }
            Err(error) => output.remark(&format!("left out: {error}")),
        }
    }
    for folder in folders {
        if !packages::is_there(folder) {
            return Err(no_folder(global, folder));
        }
        for path in within(folder)? {
            take(Place::local(&path), &path);
        }
    }
    Ok(())
}

/// The packages that came with this program and are not installed, in the same way.
pub(super) fn released(global: &Global, output: &Output, found: impl FnMut(Outline)) -> Result<(), Fault> {
    let installed = packages::installed(global)?;
    let is_missing = |slug: &Slug| matches!(installed.pin(slug), Err(InstalledError::Missing(_)));
    let missing = released::all().into_iter().filter(is_missing);
    missing.filter_map(|slug| outline(&released::path(&slug)?, slug.as_str(), output)).for_each(found);
    Ok(())
}

/// The front matter of a package at a path; that it can't be read is remarked upon.
fn outline(path: &Path, word: &str, output: &Output) -> Option<Outline> {
    let why = match packages::source(path, path, PackageBounds::default()).map(Outline::open) {
        Ok(Ok(outline)) => return Some(outline),
        Ok(Err(error)) => error.to_string(),
        Err(fault) => fault.report().message.clone(),
    };
    output.remark(&format!("left out {word}: {why}"));
    None
}

/// That there is nothing at a path, and what was probably wanted of it: one package, or what a registry holds.
fn no_folder(global: &Global, path: &Path) -> Fault {
    let word = path.display().to_string();
    let fault = Fault::new(ErrorCode::PackageNotFound, format!("{word}: there is no such folder"));
    let says = match packages::outline(global, path) {
        _ if Reference::is_meant(&word) => "a registry tells no list of its packages; hutch show REF shows one",
        Ok(_) => "it is no folder but an installed package",
        Err(_) => {
            let all = global.line.elsewhere(["catalog"]);
            return fault.suggest("name a folder of packages, or none").fixed_by(all, "lists what there is", "none");
        }
    };
    fault.suggest(says).fixed_by(global.line.elsewhere(["show", &word]), "shows this one package", "none")
}

/// The packages that a path means: the one there, packed or not, or those in the folder there.
#[expect(
    clippy::disallowed_methods,
    reason = "the caller named the path; a packed file and a folder are listed differently"
)]
pub(super) fn within(path: &Path) -> Result<Vec<PathBuf>, Fault> {
    if path.is_file() {
        return Ok(vec![path.to_owned()]);
    }
    let dir = packages::folder(path)?;
    if dir.exists("APP.md") {
        return Ok(vec![path.to_owned()]);
    }
    let names = dir.entries().map_err(|error| Fault::file(path, &error))?;
    let mut names: Vec<PathBuf> = names.filter_map(|entry| Some(entry.ok()?.file_name().into())).collect();
    names.sort();
    Ok(names.iter().filter(|name| dir.exists(name.join("APP.md"))).map(|name| path.join(name)).collect())
}

/// What the catalog says of a package.
pub(super) fn entry(policy: &Policy, manifest: &Manifest, place: &Place) -> CatalogItem {
    let (provenance, digest, installed) = match place {
        Place::Local { named, .. } => (named.display().to_string(), None, None),
        Place::Installed(pin) => (pin.source.clone(), Some(pin.digest), Some(installed(pin))),
    };
    CatalogItem {
        by: By::Package,
        slug: manifest.slug().to_string(),
        name: manifest.name().to_owned(),
        version: manifest.version().to_string(),
        description: manifest.description().to_owned(),
        call: place.word(),
        commands: manifest.commands().iter().map(ToString::to_string).collect(),
        confirmation_required: manifest.confirmation_required().iter().map(ToString::to_string).collect(),
        scheduling: manifest.scheduling(),
        skills: manifest.skills().iter().map(ToString::to_string).collect(),
        tags: manifest.tags().to_vec(),
        trust: trust::level(policy, place),
        provenance,
        digest,
        installed,
    }
}

fn installed(pin: &Pin) -> InstalledItem {
    InstalledItem {
        installed_at: pin.installed_at,
        asks: pin.asks.clone(),
        launcher: pin.launcher.as_ref().map(|launcher| launcher.path.clone()),
        signer: signed::hint(pin.signer.as_deref()),
        attester: signed::hint(pin.attester.as_deref()),
    }
}

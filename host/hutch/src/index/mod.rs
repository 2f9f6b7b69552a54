//! A catalogue of packages as a folder of files: `index.json` for programs, pages for people. What is in it follows from the packages
//! alone, so the same packages are the same bytes. Who reads one does not know who wrote it, and believes nothing: an index says where a
//! package is to be had, and what is there is held against its digest as ever. Knows no registry and no policy; [`shelf`] alone knows
//! folders.

mod pages;
pub mod shelf;
mod texts;

use crate::find::{About, KnownCommand, Searched, Told, told};
use crate::package::{Outline, PackageError};
use hutch_model::asks::Asks;
use hutch_model::contract::{Effect, Parameter};
use hutch_model::digest::Digest;
use hutch_model::names::Slug;
use hutch_model::trust::Level;
use semver::Version;
use serde::{Deserialize, Serialize};
use std::cmp::Reverse;
use std::collections::BTreeMap;

pub use pages::INDEX_FILE;

/// The value of the document's first key.
pub const INDEX_SCHEMA: &str = "hutch/index@0.1";
/// The most bytes of the document.
pub const INDEX_BYTES_MAX: u64 = 16 << 20;

/// The whole document.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Index {
    schema: String,
    /// By slug, then by source: what two sources call by one name are two packages.
    pub packages: Vec<Package>,
}

/// A package, as its first release describes itself.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Package {
    /// Its identity.
    pub slug: Slug,
    /// Where its releases are: a repository, or a path as it was named to the index's maker.
    pub source: String,
    /// Its page, from the folder of the index.
    pub page: String,
    /// Its name.
    pub name: String,
    /// What it is for.
    pub description: String,
    /// Words to find it by.
    pub tags: Vec<String>,
    /// Under which terms it is given.
    pub license: Option<String>,
    /// Who made it, those who are named by a text.
    pub authors: Vec<String>,
    /// The names of its skills.
    pub skills: Vec<String>,
    /// What it asks of the operator.
    pub grants: Asks,
    /// Its commands, in the order to show them.
    pub commands: Vec<Command>,
    /// The newest first, and what is not yet a release behind all that are. There is at least one.
    pub releases: Vec<Release>,
}

/// One command.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Command {
    /// The command's name.
    pub name: String,
    /// What it does.
    pub description: String,
    /// The most that it does to the state; `None` if the package does not say.
    pub effect: Option<Effect>,
    /// Whether a person must have agreed.
    pub confirmation_required: bool,
    /// What it takes.
    pub parameters: Vec<Parameter>,
    /// Calls of it that succeed.
    pub examples: Vec<Example>,
}

/// A call.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Example {
    /// What it is for.
    pub description: String,
    /// The arguments after the program's name.
    pub args: Vec<String>,
}

/// A package of some version.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Release {
    /// Its version.
    pub version: String,
    /// What to install it from.
    pub reference: String,
    /// The digest of its manifest in any registry.
    pub manifest: String,
    /// The digest of all its files.
    pub digest: Digest,
    /// How many bytes are fetched to install it.
    pub bytes: u64,
    /// How far the index's maker would have trusted it, once it is installed.
    pub trust: Level,
}

/// An index that can't be used.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum NotAnIndex {
    /// Another document, or none.
    #[error("it is malformed: {0}")]
    Malformed(String),
    /// Of another version of this form.
    #[error("it is of the form {found:?}, and {INDEX_SCHEMA:?} is known")]
    Schema {
        /// The form that it names.
        found: String,
    },
    /// Larger than is read.
    #[error("it has more than {INDEX_BYTES_MAX} bytes")]
    Oversize,
    /// With a text that no package has.
    #[error("{at}: {reason}")]
    Text {
        /// Where it stands, as a JSON pointer.
        at: String,
        /// The rule that it breaks.
        reason: String,
    },
    /// More to search than is searched.
    #[error("its packages say more of themselves than is searched for each of their commands")]
    TooMuch,
}

impl Package {
    /// What a package says of itself, without its releases.
    ///
    /// # Errors
    /// All problems of the description of its commands.
    pub fn of(outline: &Outline, source: &str) -> Result<Package, PackageError> {
        let manifest = outline.manifest();
        let contract = outline.contract()?;
        let told = told(manifest, contract.as_ref().map(|file| file.contract()));
        Ok(Package {
            slug: manifest.slug().clone(),
            source: source.to_owned(),
            page: String::new(),
            name: manifest.name().to_owned(),
            description: manifest.description().to_owned(),
            tags: manifest.tags().to_vec(),
            license: manifest.license().map(str::to_owned),
            authors: manifest.authors().iter().filter_map(|author| Some(author.as_str()?.to_owned())).collect(),
            skills: manifest.skills().iter().map(ToString::to_string).collect(),
            grants: Asks::of(manifest),
            commands: told.iter().map(Command::of).collect(),
            releases: Vec::new(),
        })
    }

    /// What is said of it with each of its commands.
    fn about(&self, trust: &'static str) -> About<'_> {
        let texts = [&self.name, &self.description].into_iter().chain(&self.tags).map(String::as_str);
        About {
            slug: self.slug.as_str(),
            texts: texts.collect(),
            grants: self.grants.clone(),
            call: self.newest().map_or("", |release| &release.reference),
            trust,
        }
    }

    /// The release that describes it.
    pub fn newest(&self) -> Option<&Release> {
        self.releases.first()
    }
}

impl Command {
    fn of(told: &Told<'_>) -> Command {
        let example = |(args, description): &(&[String], &str)| Example {
            description: (*description).to_owned(),
            args: args.to_vec(),
        };
        Command {
            name: told.name.to_owned(),
            description: told.description.to_owned(),
            effect: told.effect,
            confirmation_required: told.confirmation_required,
            parameters: told.parameters.to_vec(),
            examples: told.examples.iter().map(example).collect(),
        }
    }

    fn told(&self) -> Told<'_> {
        Told {
            name: &self.name,
            description: &self.description,
            effect: self.effect,
            confirmation_required: self.confirmation_required,
            parameters: &self.parameters,
            examples: self.examples.iter().map(|one| (one.args.as_slice(), one.description.as_str())).collect(),
        }
    }
}

impl Release {
    /// What stands before it is newer; releases that differ in nothing but their place come in the order of the places.
    fn rank(&self) -> impl Ord + use<> {
        let version = Version::parse(&self.version).ok();
        let newness = version.map(|version| (version.pre.is_empty(), version));
        (Reverse(newness), self.reference.clone(), self.manifest.clone())
    }
}

impl Index {
    /// The index of these packages, each as one of its releases describes it, in whatever order they come.
    pub fn of(found: Vec<(Package, Release)>) -> Index {
        let mut packages: BTreeMap<(Slug, String), Vec<(Package, Release)>> = BTreeMap::new();
        for (package, release) in found {
            packages.entry((package.slug.clone(), package.source.clone())).or_default().push((package, release));
        }
        let joined = packages.into_values().filter_map(|mut releases| {
            releases.sort_by_cached_key(|(_, release)| release.rank());
            releases.dedup_by(|(_, one), (_, other)| one == other);
            let (first, _) = releases.first()?;
            let described = first.clone();
            Some(Package { releases: releases.into_iter().map(|(_, release)| release).collect(), ..described })
        });
        let mut index = Index { schema: INDEX_SCHEMA.to_owned(), packages: joined.collect() };
        let pages = index.pages();
        index.packages.iter_mut().zip(pages).for_each(|(package, page)| package.page = page);
        index
    }

    /// Refuses what a search would take too much memory for.
    pub(crate) fn searchable(&self) -> Result<(), NotAnIndex> {
        let mut searched = Searched::default();
        let fits = |package: &Package| {
            let told: Vec<Told<'_>> = package.commands.iter().map(Command::told).collect();
            searched.take(&package.about(""), &told)
        };
        if self.packages.iter().all(fits) { Ok(()) } else { Err(NotAnIndex::TooMuch) }
    }

    /// Whether packages, releases and pages are as [`Index::of`] makes them. Nothing is copied: of what others wrote there may be much.
    fn is_in_order(&self) -> bool {
        let packages = &self.packages;
        let are_packages = packages.is_sorted_by(|one, next| (&one.slug, &one.source) < (&next.slug, &next.source));
        let are_releases = packages
            .iter()
            .all(|package| package.releases.is_sorted_by(|one, next| one != next && one.rank() <= next.rank()));
        let pages = self.pages();
        are_packages && are_releases && packages.iter().zip(pages).all(|(package, page)| package.page == page)
    }

    /// The page of each package. A slug has no dot, so no name is that of another package.
    fn pages(&self) -> Vec<String> {
        let mut numbers: BTreeMap<&Slug, u32> = BTreeMap::new();
        let mut pages = Vec::with_capacity(self.packages.len());
        for package in &self.packages {
            let number = numbers.entry(&package.slug).or_default();
            *number += 1;
            pages.push(match number {
                1 => format!("packages/{}.html", package.slug),
                number => format!("packages/{}.{number}.html", package.slug),
            });
        }
        pages
    }

    /// The document's text: the same index is the same bytes.
    pub fn text(&self) -> String {
        serde_json::to_string_pretty(self).unwrap_or_default() + "\n"
    }

    /// Reads the document. Whoever wrote it, what comes out is in the order and has the pages that it has here, and its texts keep the rules
    /// of manifests and contracts.
    ///
    /// # Errors
    /// It is no such document.
    pub fn parse(bytes: &[u8]) -> Result<Index, NotAnIndex> {
        #[derive(Deserialize)]
        struct Form {
            schema: String,
        }
        if bytes.len() as u64 > INDEX_BYTES_MAX {
            return Err(NotAnIndex::Oversize);
        }
        let malformed = |error: serde_json::Error| NotAnIndex::Malformed(error.to_string());
        let Form { schema } = serde_json::from_slice(bytes).map_err(malformed)?;
        if schema != INDEX_SCHEMA {
            return Err(NotAnIndex::Schema { found: schema });
        }
        let index: Index = serde_json::from_slice(bytes).map_err(malformed)?;
        let refused = |package: &Package, why: &str| Err(NotAnIndex::Malformed(format!("{}: {why}", package.slug)));
        for package in &index.packages {
            if package.releases.is_empty() {
                return refused(package, "it has no release");
            }
            for release in &package.releases {
                if Version::parse(&release.version).is_err() {
                    return refused(package, &format!("{:?} is no version", release.version));
                }
                // It becomes a word of a command line, where a dash would make it an option.
                let rest = release.reference.strip_prefix(&package.source);
                let is_there = rest.is_some_and(|rest| rest.is_empty() || rest.starts_with([':', '@']));
                if !is_there || package.source.is_empty() || package.source.starts_with('-') {
                    return refused(package, &format!("{:?} is no place in {:?}", release.reference, package.source));
                }
            }
        }
        index.searchable()?;
        texts::check(&index)?;
        match index.is_in_order() {
            true => Ok(index),
            false => Err(NotAnIndex::Malformed("packages, releases or pages are not as hutch writes them".to_owned())),
        }
    }

    /// Every file of the folder, by its path there.
    pub fn files(&self) -> BTreeMap<String, Vec<u8>> {
        pages::files(self)
    }

    /// The commands of the newest releases, with what each package is called and how far it is trusted here.
    pub fn commands(&self, trust: impl Fn(&Package) -> &'static str) -> Vec<KnownCommand> {
        let known = |package: &Package| {
            let about = package.about(trust(package));
            package.commands.iter().map(|command| about.command(&command.told())).collect::<Vec<_>>()
        };
        self.packages.iter().flat_map(known).collect()
    }
}

#[cfg(test)]
mod tests;

//! `hutch find`: commands by what they do, the best first, each with the reason why. An index is searched without its packages.

use super::catalog;
use super::index;
use crate::answer::output::Output;
use crate::answers::{FoundAnswer, FoundInIndex, FoundItem, Searched};
use crate::flags::global::Global;
use crate::flags::selection::Page;
use crate::package::{packages, trust};
use crate::refusal::fault::Fault;
use crate::screen::human;
use clap::Args;
use hutch::find::{self, Found, KnownCommand};
use hutch::index::{Index, Package, Release};
use hutch_documents::By;
use hutch_model::trust::{Level, Policy};
use hutch_registry::Reference;
use serde_json::json;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

#[derive(Debug, Args)]
pub(crate) struct FindArguments {
    /// What is wanted, in any words
    #[arg(value_name = "TEXT", required = true)]
    text: Vec<String>,
    /// Search here besides the installed packages: a package, packed or not, or a folder of packages; may be repeated
    #[arg(long = "in", value_name = "DIR")]
    folders: Vec<PathBuf>,
    /// Search the index in this folder, which hutch index made, and nothing else
    #[arg(long, value_name = "DIR", conflicts_with = "folders")]
    index: Option<PathBuf>,
    #[command(flatten)]
    page: Page,
}

pub(crate) fn find(global: &Global, own: &FindArguments, output: &Output) -> Result<ExitCode, Fault> {
    let policy = trust::policy(global)?;
    let (items, searched) = match &own.index {
        Some(folder) => {
            let index = index::read(global, folder)?;
            let items = indexed(global, &policy, &index, &own.text.join(" "))?;
            if items.is_empty() {
                output.remark(&there_is(index.packages.iter().map(|one| (one.slug.as_str(), ""))));
            }
            (items, None)
        }
        None => here(global, own, &policy, output)?,
    };
    let answer = FoundAnswer { listed: own.page.meant().listed(items), searched };
    output.list("find", json!(answer), &own.page, |items| {
        human::table(
            items,
            &[("call", "PACKAGE"), ("command", "COMMAND"), ("effect", "EFFECT"), ("description", "DESCRIPTION")],
        )
    })?;
    Ok(ExitCode::SUCCESS)
}

/// The most packages that are named where nothing was found.
const NAMED_MAX: usize = 20;

/// What there is, where none of it was found.
fn there_is<'p>(packages: impl Iterator<Item = (&'p str, &'p str)>) -> String {
    let mut named: Vec<String> = packages
        .take(NAMED_MAX + 1)
        .map(|(slug, about)| if about.is_empty() { slug.to_owned() } else { format!("{slug} ({about})") })
        .collect();
    if named.is_empty() {
        return "no package is here to be searched: install one (hutch install), or name a folder of packages (--in DIR)".to_owned();
    }
    if named.len() > NAMED_MAX {
        named.truncate(NAMED_MAX);
        named.push("more, which hutch catalog lists".to_owned());
    }
    format!("no command has these words; there is {}", named.join(", "))
}

/// Those of packages on this machine, and how many packages were searched, if some were not.
fn here(
    global: &Global,
    own: &FindArguments,
    policy: &Policy,
    output: &Output,
) -> Result<(Vec<FoundItem>, Option<Searched>), Fault> {
    let (mut known, mut named, mut room) = (Vec::new(), Vec::new(), find::Searched::default());
    let mut searched = Searched { packages: 0, left_out: 0 };
    catalog::each(global, &own.folders, output, |outline, place| {
        let (manifest, word) = (outline.manifest(), place.word());
        if named.len() <= NAMED_MAX {
            named.push((manifest.slug().to_string(), manifest.description().to_owned()));
        }
        // What comes behind one that is too much is left out too.
        if searched.left_out > 0 {
            searched.left_out += 1;
            return;
        }
        let contract = outline.contract().unwrap_or_else(|error| {
            output.remark(&format!("{word} is searched by its front matter alone: {error}"));
            None
        });
        let contract = contract.as_ref().map(|file| file.contract());
        if !room.add(manifest, contract, &word) {
            searched.left_out += 1;
            return;
        }
        searched.packages += 1;
        known.extend(find::commands(manifest, contract, &word, trust::level(policy, &place)));
    })?;
    let searched = Some(searched).filter(|searched| searched.left_out > 0);
    if let Some(Searched { packages, left_out }) = &searched {
        output.remark(&format!(
            "{packages} packages were searched, and {left_out} were not: all together say more than is searched at once"
        ));
    }
    // The same package in two places is found once, where it was looked for first: as it is installed.
    let mut seen = BTreeSet::new();
    known.retain(|one: &KnownCommand| seen.insert((one.package.clone(), one.command.clone(), one.description.clone())));
    let found = find::find(&known, &own.text.join(" ")).map_err(Fault::usage)?;
    if found.is_empty() {
        output.remark(&there_is(named.iter().map(|(slug, about)| (slug.as_str(), about.as_str()))));
    }
    let told = |found: Found| {
        let words = ["meta", found.command.call.as_str()].into_iter().chain(found.command.command.split(' '));
        let meta = global.line.elsewhere(words);
        item(found, meta, None)
    };
    Ok((found.into_iter().map(told).collect(), searched))
}

/// Those of an index. What it says of trust is the word of whoever made it; what a package needs here, the rules here say.
fn indexed(global: &Global, policy: &Policy, index: &Index, question: &str) -> Result<Vec<FoundItem>, Fault> {
    let trust = |package: &Package| if Reference::is_meant(&package.source) { "remote" } else { "local" };
    let found = find::find(&index.commands(trust), question).map_err(Fault::usage)?;
    let releases = index.packages.iter().filter_map(Package::newest);
    let releases: BTreeMap<&str, &Release> = releases.map(|one| (one.reference.as_str(), one)).collect();
    let told = |found: Found| {
        let call = found.command.call.as_str();
        let release = releases.get(call)?;
        let indexed = FoundInIndex {
            version: release.version.clone(),
            install: global.line.elsewhere(["install", call]),
            trust_required: policy.rule(&place(call)).map_or(Level::Local, |rule| rule.require).text(),
            trust_in_index: release.trust.text(),
        };
        // Nothing describes a package that is not here.
        Some(item(found, None, Some(indexed)))
    };
    Ok(found.into_iter().filter_map(told).collect())
}

/// Where a package is, as rules write it.
fn place(call: &str) -> String {
    match Reference::is_meant(call) {
        true => trust::source(call),
        false => packages::without_links(Path::new(call)).display().to_string(),
    }
}

fn item(found: Found, meta: Option<String>, indexed: Option<FoundInIndex>) -> FoundItem {
    let Found { command, score, reasons, .. } = found;
    FoundItem {
        by: By::Package,
        package: command.package,
        call: command.call,
        trust: command.trust,
        command: command.command,
        description: command.description,
        effect: command.effect,
        confirmation_required: command.confirmation_required,
        grants: command.grants,
        score,
        reasons,
        meta,
        indexed,
    }
}

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
use hutch::package::Outline;
use hutch_documents::{By, NAMED_MAX, there_is};
use hutch_model::trust::{Level, Policy, RELEASED};
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
    let (items, slugs, searched) = match &own.index {
        Some(folder) => {
            let index = index::read(global, folder)?;
            let items = indexed(global, &policy, &index, &own.text.join(" "))?;
            (items, index.packages.iter().map(|one| one.slug.to_string()).collect(), None)
        }
        None => here(global, own, &policy, output)?,
    };
    let look = if own.index.is_some() { "hutch show REF shows one" } else { "hutch meta PACKAGE tells of one" };
    let note = items.is_empty().then(|| {
        let had_as = packages::had_as();
        let none = format!("no package is here to be searched (--in DIR searches a folder of them): {had_as}");
        there_is(slugs.iter().map(String::as_str), look, &none)
    });
    // Whoever wants parts of the answer is told beside it.
    if let Some(note) = note.as_ref().filter(|_| own.page.ndjson || output.shaping.selects()) {
        output.remark(note);
    }
    let answer = FoundAnswer { noted: own.page.meant().noted(items, note), searched };
    output.list("find", json!(answer), &own.page, |items| {
        human::table(
            items,
            &[("call", "PACKAGE"), ("command", "COMMAND"), ("effect", "EFFECT"), ("description", "DESCRIPTION")],
        )
    })?;
    Ok(ExitCode::SUCCESS)
}

/// How far a package is trusted that came with this program and is not installed.
const CAME: &str = "release";

/// What was found, some of the packages' slugs, and how many packages were searched, if some were not.
type Here = (Vec<FoundItem>, BTreeSet<String>, Option<Searched>);

/// Those of packages on this machine.
fn here(global: &Global, own: &FindArguments, policy: &Policy, output: &Output) -> Result<Here, Fault> {
    let (mut known, mut slugs, mut room) = (Vec::new(), BTreeSet::new(), find::Searched::default());
    let mut searched = Searched { packages: 0, left_out: 0 };
    let mut add = |outline: &Outline, word: &str, level: &'static str| {
        let manifest = outline.manifest();
        if slugs.len() <= NAMED_MAX {
            slugs.insert(manifest.slug().to_string());
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
        if !room.add(manifest, contract, word) {
            searched.left_out += 1;
            return;
        }
        searched.packages += 1;
        known.extend(find::commands(manifest, contract, word, level));
    };
    catalog::each(global, &own.folders, output, |outline, place| {
        add(&outline, &place.word(), trust::level(policy, &place));
    })?;
    let mut came = BTreeMap::new();
    catalog::released(global, output, |outline| {
        let slug = outline.manifest().slug().to_string();
        add(&outline, &slug, CAME);
        came.insert(slug, outline.manifest().version().to_string());
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
    let told = |found: Found| {
        let call = found.command.call.as_str();
        if let Some(version) = came.get(call).filter(|_| found.command.trust == CAME) {
            let to_come = FoundInIndex {
                version: version.clone(),
                install: global.line.elsewhere(["install", call]),
                trust_required: required(policy, &format!("{RELEASED}{call}")),
                trust_in_index: None,
            };
            return item(found, None, Some(to_come));
        }
        let words = ["meta", call].into_iter().chain(found.command.command.split(' '));
        let meta = global.line.elsewhere(words);
        item(found, meta, None)
    };
    Ok((found.into_iter().map(told).collect(), slugs, searched))
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
            trust_required: required(policy, &place(call)),
            trust_in_index: Some(release.trust.text()),
        };
        // Nothing describes a package that is not here.
        Some(item(found, None, Some(indexed)))
    };
    Ok(found.into_iter().filter_map(told).collect())
}

/// What the rules ask of a source.
fn required(policy: &Policy, source: &str) -> &'static str {
    policy.rule(source).map_or(Level::Local, |rule| rule.require).text()
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

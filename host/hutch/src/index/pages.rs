//! An index as files. Every text in it was written by others: it is shown as text, never markup, without characters that nobody sees, and
//! no address that a package names becomes a link. The pages need no script, and allow none.

use super::{Command, Index, Package, Release};
use hutch_model::contract::{Effect, Parameter, ValueType};
use hutch_model::redact::without_hidden;
use maud::{DOCTYPE, Markup, html};
use std::collections::BTreeMap;

/// The document for programs.
pub const INDEX_FILE: &str = "index.json";
const STYLE: &str = include_str!("style.css");
const POLICY: &str = "default-src 'none'; style-src 'self'; base-uri 'none'; form-action 'none'";

/// Every file, by its path from the folder of the index.
pub(super) fn files(index: &Index) -> BTreeMap<String, Vec<u8>> {
    let pages = index.packages.iter().map(|package| (package.page.clone(), page_of(package).into_string() + "\n"));
    let others = [
        (INDEX_FILE.to_owned(), index.text()),
        ("index.html".to_owned(), list(index).into_string() + "\n"),
        ("style.css".to_owned(), STYLE.to_owned()),
    ];
    pages.chain(others).map(|(path, text)| (path, text.into_bytes())).collect()
}

/// A page; `root` is the way from it to the folder of the index.
fn page(title: &str, root: &str, content: &Markup) -> Markup {
    let title = shown(title);
    html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta http-equiv="Content-Security-Policy" content=(POLICY);
                meta name="referrer" content="no-referrer";
                meta name="viewport" content="width=device-width, initial-scale=1";
                title { (title) " - hutch" }
                link rel="stylesheet" href={ (root) "style.css" };
            }
            body {
                @if !root.is_empty() { header { nav aria-label="Site" { a href={ (root) "index.html" } { "Packages" } } } }
                main { h1 { (title) } (content) }
                footer { p.faint {
                    "Names and descriptions are the packages' own words. Trust is as whoever made this index saw it: install a package to \
                     find out what it is on your machine."
                } }
            }
        }
    }
}

fn list(index: &Index) -> Markup {
    let content = html! {
        @if index.packages.is_empty() { p { "There are none." } }
        @else {
            table {
                thead { tr { th { "Package" } th { "Version" } th { "Trust" } th { "Description" } } }
                tbody { @for package in &index.packages { tr {
                    td { a href=(package.page) { (package.slug) } }
                    @if let Some(newest) = package.newest() {
                        td { (shown(&newest.version)) } td { (newest.trust.text()) }
                    }
                    td { (shown(&package.description)) br; span.faint { (shown(&package.source)) } }
                } } }
            }
        }
    };
    page("Packages", "", &content)
}

fn page_of(package: &Package) -> Markup {
    let content = html! {
        p { (shown(&package.description)) }
        @if let Some(newest) = package.newest() { pre { (install(newest)) } }
        (facts(package))
        h2 { "Asks for" }
        @if package.grants.iter().next().is_none() { p { "Nothing." } }
        @else { ul { @for ask in package.grants.iter() { li { code { (shown(ask)) } } } } }
        h2 { "Commands" }
        @for one in &package.commands { (command(one)) }
        h2 { "Versions" }
        table {
            thead { tr { th { "Version" } th { "Trust" } th { "Bytes" } th { "Reference" } } }
            tbody { @for one in &package.releases { (release(one)) } }
        }
    };
    page(&package.name, "../", &content)
}

fn facts(package: &Package) -> Markup {
    let rows = [
        ("Slug", package.slug.to_string()),
        ("Source", package.source.clone()),
        ("Licence", package.license.clone().unwrap_or_default()),
        ("Authors", package.authors.join(", ")),
        ("Skills", package.skills.join(", ")),
        ("Tags", package.tags.join(", ")),
    ];
    html! {
        table { tbody {
            @for (name, value) in rows.iter().filter(|(_, value)| !value.is_empty()) {
                tr { th scope="row" { (name) } td { (shown(value)) } }
            }
        } }
    }
}

fn command(command: &Command) -> Markup {
    let effect = match command.effect {
        Some(Effect::Read) => "reads",
        Some(Effect::Write) => "writes",
        Some(Effect::Delete) => "deletes",
        None => "does not say what it does to its state",
    };
    html! {
        h3 { (shown(&command.name)) }
        p {
            (shown(&command.description)) " "
            span.faint { "(" (effect) @if command.confirmation_required { ", asks first" } ")" }
        }
        @if !command.parameters.is_empty() {
            table {
                thead { tr { th { "Parameter" } th { "Type" } th { "Meaning" } } }
                tbody { @for one in &command.parameters { (parameter(one)) } }
            }
        }
    }
}

fn parameter(parameter: &Parameter) -> Markup {
    let written = match parameter.position {
        Some(_) => parameter.name.clone(),
        None => format!("--{}", parameter.name),
    };
    html! {
        tr {
            td { code { (shown(&written)) } }
            td {
                (kind(parameter.value_type)) @if parameter.repeated { ", repeated" }
                @if parameter.required { ", required" }
            }
            td {
                (shown(&parameter.description))
                @if !parameter.choices.is_empty() { " One of " (shown(&parameter.choices.join(", "))) "." }
                @if let Some(default) = &parameter.default { " " (shown(default)) " if absent." }
            }
        }
    }
}

fn kind(kind: ValueType) -> String {
    serde_json::to_value(kind).ok().and_then(|name| Some(name.as_str()?.to_owned())).unwrap_or_default()
}

fn release(release: &Release) -> Markup {
    html! {
        tr {
            td { (shown(&release.version)) }
            td { (release.trust.text()) }
            td { (release.bytes) }
            td { code { (shown(&release.reference)) } br; span.faint { "manifest " (shown(&release.manifest)) } }
        }
    }
}

/// How to have a release, as it is typed at a shell: nothing that a folder is called means anything there.
fn install(release: &Release) -> String {
    format!("hutch install '{}'", shown(&release.reference).replace('\'', r"'\''"))
}

/// A text of others, without characters that are not seen.
fn shown(given: &str) -> String {
    without_hidden(given).into_owned()
}

//! A catalogue that others wrote, as `index.json`, and texts that packages put into one. What is taken is written again as the same bytes,
//! in whatever order its parts come; each package has one page in the folder; and on the pages nothing that a package says is markup, is
//! hidden or leads anywhere.
//!
//! What begins with `{` is a document. Anything else is lines, which become the texts of a package that has one of everything.
#![no_main]

use hutch::find::find;
use hutch::index::{Command, Example, INDEX_FILE, Index, Package, Release};
use hutch_fuzz::within;
use hutch_model::asks::Asks;
use hutch_model::contract;
use hutch_model::manifest;
use hutch_model::redact::without_hidden;
use hutch_model::trust::Level;
use std::collections::BTreeSet;
use std::sync::LazyLock;

/// The to-do application, in a repository.
static TODO: LazyLock<Package> = LazyLock::new(|| {
    let (manifest, problems) = manifest::parse(include_str!("../../../packages/todo/APP.md"), "APP.md");
    let manifest = manifest.unwrap_or_else(|| panic!("{problems:?}"));
    let (file, problems) = contract::parse(include_str!("../../../packages/todo/schemas/commands.json"), "c.json");
    let file = file.unwrap_or_else(|| panic!("{problems:?}"));
    let command = file.contract().commands.iter().max_by_key(|command| command.parameters.len());
    let command = command.unwrap_or_else(|| panic!("a package without commands"));
    Package {
        slug: manifest.slug().clone(),
        source: String::new(),
        page: String::new(),
        name: String::new(),
        description: String::new(),
        tags: Vec::new(),
        license: None,
        authors: Vec::new(),
        skills: Vec::new(),
        grants: Asks::of(&manifest),
        commands: vec![Command {
            name: String::new(),
            description: String::new(),
            effect: Some(command.effect),
            confirmation_required: false,
            parameters: command.parameters.iter().take(3).cloned().collect(),
            examples: Vec::new(),
        }],
        releases: Vec::new(),
    }
});

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    LazyLock::force(&TODO);
    // Pages, and what is searched: a character is six bytes at most as a page writes it, and stands on two of them.
    let memory_max = (2 << 20) + 1000 * bytes.len();
    if bytes.starts_with(b"{") {
        let read = within(memory_max, || Index::parse(bytes));
        let Ok(index) = read else { return };
        within(memory_max, || check(&index));
    } else if let Ok(text) = std::str::from_utf8(bytes) {
        within(memory_max, || {
            let index = filled(text);
            // What no reader takes is not written.
            if let Ok(read) = Index::parse(index.text().as_bytes()) {
                assert_eq!(read, index, "what is written is read as another index");
                check(&index);
            }
            // The pages may be written all the same.
            check_pages(&index);
        });
    }
});

/// One package in one release, or two, of which every text is one of these.
fn filled(text: &str) -> Index {
    let mut lines = text.split('\n').cycle();
    let mut next = || lines.next().unwrap_or_default().to_owned();
    let mut package = TODO.clone();
    package.source = next();
    (package.name, package.description) = (next(), next());
    (package.license, package.tags) = (Some(next()), vec![next(), next()]);
    (package.authors, package.skills) = (vec![next()], vec![next()]);
    package.grants = asks([next(), next()].into());
    for command in &mut package.commands {
        (command.name, command.description) = (next(), next());
        command.examples = vec![Example { description: next(), args: vec![next(), next()] }];
        for parameter in &mut command.parameters {
            (parameter.name, parameter.description) = (next(), next());
            (parameter.default, parameter.choices) = (Some(next()), vec![next(), next()]);
        }
    }
    let mut release = |version: &str| Release {
        version: version.to_owned(),
        reference: format!("{}:{}", package.source, next()),
        manifest: next(),
        digest: "00".repeat(32).parse().unwrap_or_else(|error| panic!("{error}")),
        bytes: text.len() as u64,
        trust: Level::Unsigned,
    };
    let releases = [release("1.0.0"), release("1.1.0-rc.1")];
    Index::of(releases.into_iter().map(|release| (package.clone(), release)).collect())
}

fn asks(texts: BTreeSet<String>) -> Asks {
    let texts = texts.into_iter().map(serde_json::Value::String).collect();
    serde_json::from_value(serde_json::Value::Array(texts)).unwrap_or_else(|error| panic!("{error}"))
}

fn check(index: &Index) {
    let written = index.text();
    let again = Index::parse(written.as_bytes()).unwrap_or_else(|error| panic!("{written} is refused: {error}"));
    assert_eq!(again, *index);
    assert_eq!(again.text(), written);
    // Made again of its parts, the last first.
    let parts = index.packages.iter().flat_map(|package| {
        let bare = Package { page: String::new(), releases: Vec::new(), ..package.clone() };
        package.releases.iter().map(move |release| (bare.clone(), release.clone()))
    });
    let mut parts: Vec<(Package, Release)> = parts.collect();
    parts.reverse();
    assert_eq!(Index::of(parts), *index, "it is another index if its packages come in another order");
    check_pages(index);
    check_search(index);
}

/// What a search is given, and finds.
fn check_search(index: &Index) {
    let known = index.commands(|_| "remote");
    assert_eq!(known.len(), index.packages.iter().map(|package| package.commands.len()).sum::<usize>());
    for command in &known {
        assert!(!command.call.starts_with('-'), "{:?} is an option of a command line", command.call);
        let of =
            |package: &Package| command.call.starts_with(&package.source) && package.slug.as_str() == command.package;
        assert!(index.packages.iter().any(of), "{:?} is a call of no package", command.call);
    }
    let question = known.first().map(|command| command.description.chars().take(100).collect::<String>());
    let found = find(&known, question.as_deref().unwrap_or("todo")).unwrap_or_else(|error| panic!("{error}"));
    assert!(found.len() <= known.len() && found.iter().all(|found| found.score.is_finite() && found.score > 0.0));
}

/// What leads anywhere on the pages leads to another of them; and there is as much markup as if every text were a plain word.
fn check_pages(index: &Index) {
    let files = index.files();
    assert_eq!(files.len(), index.packages.len() + 3, "two packages have one page");
    assert_eq!(files.get(INDEX_FILE).map(Vec::as_slice), Some(index.text().as_bytes()));
    let plain = plain(index).files();
    for (path, bytes) in files.iter().filter(|(path, _)| path.ends_with(".html")) {
        let page = std::str::from_utf8(bytes).unwrap_or_else(|error| panic!("{path}: {error}"));
        assert_eq!(without_hidden(page), page, "{path}: something hidden is left");
        let found = tags(page);
        let expected = plain.get(path).map(|bytes| tags(&String::from_utf8_lossy(bytes)));
        assert_eq!(Some(&found), expected.as_ref(), "{path}: a text is markup");
        assert!(!found.iter().any(|tag| tag.starts_with("script") || tag.contains("src=") || tag.contains(" on")));
        for link in found.iter().filter_map(|tag| tag.split_once("href=\"")) {
            let target = link.1.split('"').next().unwrap_or_default();
            let target = if path.contains('/') { target.strip_prefix("../") } else { Some(target) };
            assert!(target.is_some_and(|target| files.contains_key(target)), "{path}: {link:?} leads away");
        }
    }
    for package in &index.packages {
        let page = files.get(&package.page).map(|bytes| String::from_utf8_lossy(bytes));
        assert!(page.is_some(), "{:?} has no page", package.page);
        let line = page.as_deref().and_then(|page| page.split_once("<pre>hutch install ")?.1.split_once("</pre>"));
        let words = line.map(|(line, _)| quoted(line));
        assert_eq!(words, package.newest().map(|_| true), "what is to be typed is not one word: {line:?}");
    }
}

/// The same index with plain words for its texts; what is empty stays so.
fn plain(index: &Index) -> Index {
    let mut index = index.clone();
    let word = |text: &mut String| {
        if !text.is_empty() {
            "word".clone_into(text);
        }
    };
    for package in &mut index.packages {
        [&mut package.source, &mut package.name, &mut package.description].into_iter().for_each(word);
        package.license.iter_mut().for_each(word);
        [&mut package.tags, &mut package.authors, &mut package.skills].into_iter().flatten().for_each(word);
        package.grants = asks((0..package.grants.iter().count()).map(|number| format!("word{number}")).collect());
        for command in &mut package.commands {
            [&mut command.name, &mut command.description].into_iter().for_each(word);
            for parameter in &mut command.parameters {
                [&mut parameter.name, &mut parameter.description].into_iter().for_each(word);
                parameter.default.iter_mut().chain(&mut parameter.choices).for_each(word);
            }
        }
        for release in &mut package.releases {
            [&mut release.version, &mut release.reference, &mut release.manifest].into_iter().for_each(word);
        }
    }
    index
}

/// Every tag of a page; nothing else in it looks like one.
fn tags(page: &str) -> Vec<String> {
    let body = page.strip_prefix("<!DOCTYPE html>").unwrap_or_else(|| panic!("{page:?} does not say what it is"));
    let parts = body.split('<').skip(1).map(|part| {
        let (tag, text) = part.split_once('>').unwrap_or_else(|| panic!("{part:?} does not end"));
        assert!(!text.contains('>'), "{part:?}");
        assert_eq!(tag.matches('"').count() % 2, 0, "{part:?}");
        tag.to_owned()
    });
    parts.collect()
}

/// Whether a page's text is one word to a shell: between quotes, but for quotes of its own, each behind a backslash.
fn quoted(text: &str) -> bool {
    let text = text.replace("&lt;", "<").replace("&gt;", ">").replace("&quot;", "\"").replace("&amp;", "&");
    let inner = text.strip_prefix('\'').and_then(|text| text.strip_suffix('\''));
    inner.is_some_and(|inner| !inner.replace(r"'\''", "").contains('\''))
}

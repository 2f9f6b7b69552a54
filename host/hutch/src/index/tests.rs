//! Documents and pages, of a package of this repository and of made ones.

use super::*;
use crate::find::{self, SEARCHED_BYTES_MAX, SEARCHED_WORDS_MAX};
use crate::package::{Source, open_folder};

const HOSTILE: &str = "<script>alert(1)</script>\"'&</p>--> \u{1b}[2J\u{202e}\u{200b}javascript:https://evil.example/";

fn outline() -> Outline {
    let folder = std::path::Path::new("../../packages/todo");
    Outline::open(Source::folder(open_folder(folder).unwrap())).unwrap()
}

fn release(source: &str, version: &str) -> Release {
    Release {
        version: version.to_owned(),
        reference: format!("{source}:{version}"),
        manifest: "sha256:00".to_owned(),
        digest: "00".repeat(32).parse().unwrap(),
        bytes: 7,
        trust: Level::Unsigned,
    }
}

/// The to-do package in these repositories, in these versions.
fn parts(places: &[(&str, &str)]) -> Vec<(Package, Release)> {
    let one = |(source, version): &(&str, &str)| (Package::of(&outline(), source).unwrap(), release(source, version));
    places.iter().map(one).collect()
}

/// A package of which every text is hostile.
fn hostile() -> Index {
    let mut all = parts(&[("oci://here.example/todo", "1.0.0")]);
    let (package, release) = &mut all[0];
    let wild = || HOSTILE.to_owned();
    for text in [&mut package.name, &mut package.description, &mut release.manifest] {
        *text = wild();
    }
    package.source = format!("oci-layout:{HOSTILE}");
    release.reference = format!("{}:1.0.0", package.source);
    package.license = Some(wild());
    package.grants = serde_json::from_value(serde_json::json!([HOSTILE])).unwrap();
    for texts in [&mut package.tags, &mut package.authors, &mut package.skills] {
        *texts = vec![wild()];
    }
    for command in &mut package.commands {
        (command.name, command.description) = (wild(), wild());
        for parameter in &mut command.parameters {
            (parameter.name, parameter.description) = (wild(), wild());
            (parameter.default, parameter.choices) = (Some(wild()), vec![wild()]);
        }
    }
    Index::of(all)
}

/// Every tag of a page, each closed in its order, and every attribute in quotes.
fn tags(page: &str) -> Vec<String> {
    let (mut open, mut seen) = (Vec::new(), Vec::new());
    for part in page.strip_prefix("<!DOCTYPE html>").expect("a page says what it is").split('<').skip(1) {
        let (tag, text) = part.split_once('>').unwrap_or_else(|| panic!("{part:?} does not end"));
        assert!(!text.contains('>'), "{part:?}");
        if let Some(name) = tag.strip_prefix('/') {
            assert_eq!(open.pop().as_deref(), Some(name), "{part:?}");
            continue;
        }
        let name = tag.split(' ').next().unwrap_or_default();
        assert!(name.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit()), "{part:?}");
        assert_eq!(tag.matches('"').count() % 2, 0, "{part:?}");
        seen.push(tag.to_owned());
        if !["meta", "link", "br"].contains(&name) {
            open.push(name.to_owned());
        }
    }
    assert!(open.is_empty(), "{open:?} stay open");
    seen
}

#[test]
fn nothing_that_a_package_says_is_markup_or_leads_anywhere() {
    for index in [hostile(), Index::of(parts(&[("oci://here.example/todo", "1.0.0")])), Index::of(Vec::new())] {
        let files = index.files();
        for (path, bytes) in files.iter().filter(|(path, _)| path.ends_with(".html")) {
            let page = std::str::from_utf8(bytes).unwrap();
            let tags = tags(page);
            assert!(!tags.iter().any(|tag| tag.starts_with("script") || tag.contains(" on")), "{path}: {tags:?}");
            for hidden in ['\u{1b}', '\u{202e}', '\u{200b}'] {
                assert!(!page.contains(hidden), "{path}: {hidden:?}");
            }
            let policy = "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'self';";
            assert!(page.contains(policy), "{path}");
            // What leads anywhere leads to a file of the index.
            let up = path.contains('/');
            for link in tags.iter().filter_map(|tag| tag.split_once("href=\"")) {
                let target = link.1.split('"').next().unwrap_or_default();
                let target = if up { target.strip_prefix("../").expect("it leads out of the folder") } else { target };
                assert!(files.contains_key(target), "{path}: {target}");
            }
            assert!(!page.contains("src="), "{path}");
        }
    }
}

#[test]
fn what_a_page_says_to_type_is_three_words_to_a_shell() {
    let index = Index::of(parts(&[("oci-layout:a b/it's $(x)", "1.0.0")]));
    let files = index.files();
    let page = std::str::from_utf8(&files[&index.packages[0].page]).unwrap();
    assert!(page.contains(r"<pre>hutch install 'oci-layout:a b/it'\''s $(x):1.0.0'</pre>"), "{page}");
}

#[test]
fn the_same_packages_are_the_same_bytes_and_read_again_the_same_index() {
    let places =
        [("oci://b.example/todo", "1.0.0"), ("oci://a.example/todo", "0.9.0"), ("oci://b.example/todo", "1.1.0")];
    let index = Index::of(parts(&places));
    let mut turned = parts(&places);
    turned.reverse();
    assert_eq!(index.files(), Index::of(turned).files());
    for index in [index, Index::of(Vec::new())] {
        assert_eq!(Index::parse(index.text().as_bytes()).unwrap(), index);
    }
    assert!(matches!(Index::parse(hostile().text().as_bytes()), Err(NotAnIndex::Text { .. })));
}

#[test]
fn one_name_of_two_sources_is_two_packages_and_releases_come_before_previews() {
    let b = "oci://b.example/todo";
    let index = Index::of(parts(&[
        (b, "0.9.0"),
        (b, "2.0.0-rc.1"),
        ("oci://a.example/todo", "99.0.0"),
        (b, "0.10.0"),
        (b, "0.10.0"),
    ]));
    let told = index.packages.iter().map(|package| {
        let versions: Vec<&str> = package.releases.iter().map(|release| release.version.as_str()).collect();
        (package.page.as_str(), package.source.as_str(), versions)
    });
    let expect = [
        ("packages/todo.html", "oci://a.example/todo", vec!["99.0.0"]),
        ("packages/todo.2.html", b, vec!["0.10.0", "0.9.0", "2.0.0-rc.1"]),
    ];
    assert_eq!(told.collect::<Vec<_>>(), expect);
}

#[test]
fn what_is_no_index_is_refused_and_says_why() {
    let index = Index::of(parts(&[("oci://here.example/todo", "1.0.0")]));
    let good: serde_json::Value = serde_json::from_str(&index.text()).unwrap();
    for (pointer, value, why) in [
        ("/schema", "hutch/index@9".into(), "of the form \"hutch/index@9\""),
        ("/schema", 1.into(), "malformed"),
        ("/packages", "x".into(), "malformed"),
        ("/packages/0/slug", "../x".into(), "malformed"),
        ("/packages/0/page", "https://evil.example/".into(), "not as hutch writes them"),
        ("/packages/0/releases", serde_json::json!([]), "it has no release"),
        ("/packages/0/releases/0/version", "new".into(), "is no version"),
        ("/packages/0/releases/0/reference", "--yes".into(), "is no place in"),
        ("/packages/0/releases/0/reference", "oci://here.example/todo2:1".into(), "is no place in"),
        ("/packages/0/releases/0/reference", "oci://evil.example/todo:1.0.0".into(), "is no place in"),
        ("/packages/0/source", "".into(), "is no place in"),
        ("/packages/0/releases/0/trust", "believe me".into(), "malformed"),
        ("/packages/0/releases/0/digest", "00".into(), "malformed"),
        ("/packages/0/name", "".into(), "/packages/0/name: is empty"),
        ("/packages/0/description", "x".repeat(1025).into(), "/packages/0/description: 1025 characters, 1024 allowed"),
        ("/packages/0/tags/0", "a\u{200b}b".into(), "/packages/0/tags/0: U+200B is not allowed"),
        ("/packages/0/commands/0/name", "--yes".into(), "/packages/0/commands/0/name: expected words"),
        ("/packages/0/commands/0/name", "add; rm".into(), "/packages/0/commands/0/name: expected words"),
        ("/packages/0/commands/0/description", "x".repeat(4097).into(), "description: 4097 characters, 4096 allowed"),
        ("/packages/0/commands/0/description", "\u{202e}".into(), "/commands/0/description: U+202E is not allowed"),
        ("/packages/0/commands/0/parameters/0/description", "".into(), "/parameters/0/description: is empty"),
        ("/packages/0/commands/0/examples/0/args/0", "\u{1b}[2J".into(), "/examples/0/args/0: U+001B is not allowed"),
        (
            "/packages/0/releases/0/reference",
            "oci://here.example/todo:1\nrm".into(),
            "/packages/0/releases/0/reference: U+000A is not allowed",
        ),
        (
            "/packages/0/releases/0/reference",
            format!("oci://here.example/todo:{}", "x".repeat(4096)).into(),
            "/packages/0/releases/0/reference: 4120 characters, 4096 allowed",
        ),
        ("/packages/0/commands/0/effect", "nothing".into(), "malformed"),
        ("/packages/0/commands/0/parameters/0/valueType", "soul".into(), "malformed"),
    ] {
        let mut changed = good.clone();
        *changed.pointer_mut(pointer).unwrap() = value;
        let error = Index::parse(changed.to_string().as_bytes()).unwrap_err().to_string();
        assert!(error.contains(why), "{pointer}: {error}");
    }
    for (text, why) in
        [("", "malformed"), ("[]", "malformed"), ("{\"schema\":", "malformed"), ("\u{feff}{}", "malformed")]
    {
        let error = Index::parse(text.as_bytes()).unwrap_err().to_string();
        assert!(error.contains(why), "{text}: {error}");
    }
    let mut more = good.clone();
    more["packages"][0]["extra"] = true.into();
    assert!(Index::parse(more.to_string().as_bytes()).is_err(), "a field that nobody knows");
    assert_eq!(Index::parse(&vec![b' '; INDEX_BYTES_MAX as usize + 1]), Err(NotAnIndex::Oversize));
}

#[test]
fn an_index_that_is_made_to_take_memory_is_refused() {
    // One long word, and many short ones, each said of the package and so searched again with each command.
    for (text, most) in [("x", SEARCHED_BYTES_MAX), ("x ", SEARCHED_WORDS_MAX)] {
        let large = |more: usize| {
            let mut all = parts(&[("oci://here.example/todo", "1.0.0")]);
            let commands = all[0].0.commands.len();
            all[0].0.description = text.repeat(most / commands / 2 * more);
            Index::of(all)
        };
        assert!(large(1).searchable().is_ok());
        assert_eq!(large(2).searchable(), Err(NotAnIndex::TooMuch));
        assert_eq!(Index::parse(large(2).text().as_bytes()), Err(NotAnIndex::TooMuch));
    }
    // The same said of one command of many.
    let mut all = parts(&[("oci://here.example/todo", "1.0.0")]);
    all[0].0.commands[0].description = "x ".repeat(SEARCHED_WORDS_MAX + 1);
    assert_eq!(Index::parse(Index::of(all).text().as_bytes()), Err(NotAnIndex::TooMuch));
    // Many releases of a package that says much: each is looked at, and the package is not copied for it.
    let mut many = Index::of(parts(&[("oci://here.example/todo", "1.0.0")]));
    many.packages[0].authors = vec!["x".repeat(256); 4096];
    let one = many.packages[0].releases[0].clone();
    many.packages[0].releases = (0..20_000)
        .map(|number| Release { reference: format!("oci://here.example/todo:t{number:05}"), ..one.clone() })
        .collect();
    assert_eq!(Index::parse(many.text().as_bytes()).unwrap(), many);
    many.packages[0].releases.swap(7, 8);
    assert!(matches!(Index::parse(many.text().as_bytes()), Err(NotAnIndex::Malformed(_))));
}

#[test]
fn an_index_answers_as_the_package_does() {
    let (outline, source) = (outline(), "oci://here.example/todo");
    let contract = outline.contract().unwrap().unwrap();
    let index = Index::parse(Index::of(parts(&[(source, "1.0.0")])).text().as_bytes()).unwrap();
    let call = format!("{source}:1.0.0");
    let package = find::commands(outline.manifest(), Some(contract.contract()), &call, "remote");
    let index = index.commands(|_| "remote");
    for question in ["erase", "remind me of a task", "buy milk", "open", "quantum chromodynamics", "compelte"] {
        let [one, other] =
            [&package, &index].map(|known| serde_json::to_value(find::find(known, question).unwrap()).unwrap());
        assert_eq!(one, other, "{question}");
    }
}

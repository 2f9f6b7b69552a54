//! The application as its callers see it, in a folder beside a copy of what the package has: natively an edit is made where the call says.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use hutch_guest::testing::Harness;
use serde_json::{Value, json};

use super::*;

const PACKAGE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../packages/files");

/// The application, where its folder is the current one.
fn files() -> Harness<Edits> {
    static FOLDER: OnceLock<PathBuf> = OnceLock::new();
    FOLDER.get_or_init(|| {
        let folder = std::env::temp_dir().join(format!("hutch-files-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        std::env::set_current_dir(&folder).unwrap();
        folder
    });
    Harness::new(&FILES)
}

/// A folder with these files, which no other test has.
struct Folder(&'static str);

impl Folder {
    fn new(name: &'static str, content: &[(&str, &str)]) -> (Harness<Edits>, Self) {
        let files = files();
        for (path, text) in content {
            let path = Path::new(name).join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        (files, Self(name))
    }

    /// All that is in it.
    fn content(&self) -> BTreeMap<String, String> {
        fn walk(folder: &Path, content: &mut BTreeMap<String, String>) {
            for entry in fs::read_dir(folder).unwrap() {
                let path = entry.unwrap().path();
                if path.is_dir() && !path.is_symlink() {
                    walk(&path, content);
                } else {
                    let text = String::from_utf8_lossy(&fs::read(&path).unwrap_or_default()).into_owned();
                    content.insert(path.to_str().unwrap().to_owned(), text);
                }
            }
        }
        let mut content = BTreeMap::new();
        walk(Path::new(self.0), &mut content);
        content.into_iter().map(|(path, text)| (path.replacen(&format!("{}/", self.0), "", 1), text)).collect()
    }

    fn holds(&self, expected: &[(&str, &str)]) {
        let expected = expected.iter().map(|(path, text)| ((*path).to_owned(), (*text).to_owned())).collect();
        assert_eq!(self.content(), expected);
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(self.0);
    }
}

fn paths(answer: &Value) -> Vec<&str> {
    answer["items"].as_array().unwrap().iter().map(|item| item["path"].as_str().unwrap()).collect()
}

#[test]
fn the_contract_of_the_package_is_that_of_the_program() {
    files().contract(format!("{PACKAGE}/schemas/commands.json"));
}

#[test]
fn every_example_ends_as_it_says() {
    fn copy(from: &Path, to: &Path) {
        fs::create_dir_all(to).unwrap();
        for entry in fs::read_dir(from).unwrap() {
            let (from, to) = (entry.as_ref().unwrap().path(), to.join(entry.unwrap().file_name()));
            if from.is_dir() { copy(&from, &to) } else { fs::write(to, fs::read(from).unwrap()).unwrap() }
        }
    }
    let (files, practice) = Folder::new("practice", &[]);
    copy(&Path::new(PACKAGE).join("practice"), Path::new(practice.0));
    let before = practice.content();
    files.examples();
    let after = practice.content();
    assert_eq!(before.keys().collect::<Vec<_>>().len(), 4);
    assert_eq!(
        after.keys().collect::<Vec<_>>(),
        ["letters/2026-ada.txt", "letters/2026-bob.txt", "shopping.txt"],
        "renamed, removed, and nothing that was a try"
    );
    assert!(after["shopping.txt"].contains("200 g") && after["shopping.txt"].contains("a warm color\n"), "{after:?}");
}

#[test]
fn files_are_found_by_pattern_kind_and_size() {
    let (files, _folder) = Folder::new(
        "found",
        &[("b/x.jpg", "12345"), ("a.jpg", ""), ("b/c/y.JPG", "1"), ("B.txt", "22"), (".h/z", "3")],
    );
    std::os::unix::fs::symlink("../found", "found/b/loop").unwrap();
    let find = |args: &[&str]| files.ok(&[&["find"], args].concat());
    let answer = find(&["found"]);
    assert_eq!(
        paths(&answer),
        ["found/B.txt", "found/a.jpg", "found/b", "found/b/c", "found/b/c/y.JPG", "found/b/loop", "found/b/x.jpg"]
    );
    let of = |place: usize| (&answer["items"][place]["kind"], &answer["items"][place]["bytes"]);
    assert_eq!(
        (of(0), of(2), of(5)),
        ((&json!("file"), &json!(2)), (&json!("folder"), &Value::Null), (&json!("link"), &Value::Null))
    );
    for (args, expected) in [
        (&["found/**/*.jpg"][..], &["found/a.jpg", "found/b/x.jpg"][..]),
        (&["found/*.jpg"], &["found/a.jpg"]),
        (&["found/*/*"], &["found/b/c", "found/b/loop", "found/b/x.jpg"]),
        (&["found/?"], &["found/b"]),
        (&["found/**/c/**"], &["found/b/c/y.JPG"]),
        (&["found/.h"], &["found/.h/z"]),
        (&["found/.*/*"], &["found/.h/z"]),
        (&["found/*h*/*"], &[]),
        (&["found/b/x.jpg"], &["found/b/x.jpg"]),
        (&["found/b/x.jpg/*"], &[]),
        (&["found", "--kind", "link"], &["found/b/loop"]),
        (&["found", "--kind", "folder"], &["found/b", "found/b/c"]),
        (&["found", "--min-bytes", "2"], &["found/B.txt", "found/b/x.jpg"]),
        (&["found", "--min-bytes", "1", "--max-bytes", "2"], &["found/B.txt", "found/b/c/y.JPG"]),
        (&["found", "--max-bytes", "0"], &["found/a.jpg"]),
    ] {
        assert_eq!(paths(&find(args)), expected, "{args:?}");
    }
    let page = find(&["found", "--limit", "2", "--offset", "1"]);
    assert_eq!((paths(&page), &page["total"]), (vec!["found/a.jpg", "found/b"], &json!(7)));
    for (path, code) in [
        ("nothing", "FILE_NOT_FOUND"),
        ("found/nothing", "FILE_NOT_FOUND"),
        ("found/b/loop", "FILE_UNREADABLE"),
        ("found/b/loop/b/*", "FILE_UNREADABLE"),
        ("found/../found", "INVALID_VALUE"),
        ("./found", "INVALID_VALUE"),
        ("*/x", "INVALID_VALUE"),
        ("found/**/**", "INVALID_VALUE"),
        ("/", "INVALID_VALUE"),
    ] {
        assert_eq!(files.refused(&["find", path])["code"], code, "{path}");
    }
    let error = files.refused(&["find", "nothing/x"]);
    assert_eq!(error["suggestion"], "grant one before the package: hutch run --mount DIR:nothing");
}

#[test]
fn lines_are_searched_and_what_is_no_text_is_counted() {
    let (files, _folder) =
        Folder::new("searched", &[("a.txt", "one\r\nTwo (2)\r\n"), ("b/c.txt", "no\n\n  été two\ntwo"), ("d.txt", "")]);
    fs::write("searched/picture", b"two \xff").unwrap();
    let search = |args: &[&str]| files.ok(&[&["search", "searched"], args].concat());
    let answer = search(&["(?i)two"]);
    assert_eq!(
        answer["items"],
        json!([
            {"path": "searched/a.txt", "line": 2, "column": 1, "text": "Two (2)"},
            {"path": "searched/b/c.txt", "line": 3, "column": 7, "text": "  été two"},
            {"path": "searched/b/c.txt", "line": 4, "column": 1, "text": "two"},
        ])
    );
    assert_eq!((&answer["skipped"], &answer["total"]), (&json!(1), &json!(3)));
    assert_eq!(search(&["^two$"])["items"][0]["line"], 4);
    assert_eq!(search(&["(2)", "--literal"])["total"], 1);
    assert_eq!(search(&["o (", "--literal", "--limit", "1"])["hasMore"], false);
    fs::write("searched/long", format!("{}two{}", "é".repeat(1000), "x".repeat(1000))).unwrap();
    let long = files.ok(&["search", "searched/long", "two"]);
    let text = long["items"][0]["text"].as_str().unwrap();
    assert_eq!((text.chars().count(), text.find("two"), &long["items"][0]["column"]), (240, Some(160), &json!(1001)));
}

#[test]
fn what_is_wrong_with_a_pattern_is_told_with_its_place() {
    let (files, _folder) = Folder::new("wrong", &[("a", "a")]);
    for (pattern, told) in [
        ("(", "at character 1 of the pattern: unclosed group"),
        ("ab[c", "at character 3 of the pattern: unclosed character class"),
        ("é*+**?{", "of the pattern"),
        ("(?=a)", "at character 1 of the pattern: look-around"),
        (r"(a)\1", "at character 4 of the pattern: backreferences"),
        (r"\p{Nothing}", "property"),
        ("(a{1000}){1000}", "size limit"),
    ] {
        let error = files.refused(&["search", "wrong", pattern]);
        assert_eq!(error["code"], "PATTERN_INVALID", "{pattern}");
        assert!(error["message"].as_str().unwrap().contains(told), "{pattern}: {error}");
    }
    for (pattern, replacement) in [("a", "$1"), ("(a)", "$1_b"), ("(a)", "${2}"), ("(?P<n>a)", "$m"), ("(a)", "x$name")]
    {
        for command in ["replace", "rename"] {
            let error = files.refused(&[command, "wrong", pattern, replacement]);
            assert_eq!(error["code"], "REPLACEMENT_INVALID", "{pattern} {replacement}");
        }
    }
}

#[test]
fn sums_are_those_of_sha256_and_only_the_page_is_read() {
    let (files, _folder) = Folder::new("summed", &[("a", ""), ("b", "abc"), ("c", "abc")]);
    fs::write("summed/d", vec![0_u8; 200_000]).unwrap();
    let answer = files.ok(&["checksum", "summed"]);
    let sum = |place: usize| answer["items"][place]["sha256"].as_str().unwrap();
    assert_eq!(sum(0), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
    assert_eq!(sum(1), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
    assert_eq!((sum(1), &answer["items"][3]["bytes"]), (sum(2), &json!(200_000)));
    let page = files.ok(&["checksum", "summed", "--limit", "1", "--offset", "2"]);
    assert_eq!((paths(&page), &page["total"], &page["hasMore"]), (vec!["summed/c"], &json!(4), &json!(true)));
}

#[test]
fn texts_are_replaced_in_all_files_and_the_others_are_named() {
    let (files, folder) =
        Folder::new("replaced", &[("a.txt", "colour\r\ncolour\n"), ("b/c.txt", "the colour"), ("d.txt", "no")]);
    fs::write("replaced/x.bin", b"colour\xff").unwrap();
    let before = folder.content();
    let replace = |args: &[&str]| files.ok(&[&["replace", "replaced"], args].concat());
    let tried = replace(&["colour", "color", "--dry-run"]);
    assert_eq!(folder.content(), before);
    let done = replace(&["colour", "color"]);
    assert_eq!(tried["items"], done["items"]);
    assert_eq!(
        done["items"],
        json!([
            {"path": "replaced/a.txt", "edit": "write", "to": null, "places": 2},
            {"path": "replaced/b/c.txt", "edit": "write", "to": null, "places": 1},
            {"path": "replaced/x.bin", "edit": "skip", "to": null, "places": null},
        ])
    );
    folder.holds(&[
        ("a.txt", "color\r\ncolor\n"),
        ("b/c.txt", "the color"),
        ("d.txt", "no"),
        ("x.bin", "colour\u{fffd}"),
    ]);
    assert_eq!(replace(&["colour", "color"])["changed"], false);
    replace(&["(?m)^(c)(.*)$", "${2}${1}$$"]);
    assert_eq!(folder.content()["a.txt"], "olorc$\r\nolorc$\n");
    replace(&["c$", "($1)", "--literal"]);
    assert_eq!(folder.content()["a.txt"], "olor($1)\r\nolor($1)\n");
    // An entry of a batch goes on with what the one before replaced.
    let batch = r#"[{"path":"replaced/d.txt","pattern":"no","replacement":"yes"},{"path":"replaced/d.txt","pattern":"yes","replacement":"yes!"}]"#;
    files.batch(&["replace", "--json-input"], batch);
    assert_eq!(folder.content()["d.txt"], "yes!");
}

#[test]
fn files_take_each_others_names_and_none_that_stays_is_overwritten() {
    let (files, folder) =
        Folder::new("renamed", &[("1", "one"), ("2", "two"), ("3", "three"), ("x.txt", "x"), ("sub/1", "sub")]);
    let rename = |path: &str, pattern: &str, to: &str| files.ok(&["rename", path, pattern, to]);
    let batch = r#"[{"path":"renamed/1","pattern":"1","replacement":"2"},{"path":"renamed/2","pattern":"2","replacement":"3"},
                    {"path":"renamed/3","pattern":"3","replacement":"1"}]"#;
    files.batch(&["rename", "--json-input"], batch);
    folder.holds(&[("1", "three"), ("2", "one"), ("3", "two"), ("sub/1", "sub"), ("x.txt", "x")]);
    assert_eq!(paths(&rename("renamed/*", "^([0-9])", "n${1}")), ["renamed/1", "renamed/2", "renamed/3"]);
    assert_eq!(rename("renamed", "x", "deep/er/x")["items"][0]["to"], "renamed/deep/er/x.tdeep/er/xt");
    let before = folder.content();
    for (path, pattern, to, told) in [
        ("renamed/n*", ".*", "same", "would both become renamed/same"),
        ("renamed/n1", "1", "2", "which is there already"),
        ("renamed/n1", ".*", "sub", "which is there already"),
        ("renamed/n1", "n1", "n2/a", "is no folder"),
        ("renamed/n*", "(n)(.)", "a${2}/../b", "is no plain name"),
        ("renamed/n1", "n1", "", "is no plain name"),
        ("renamed/n1", "n1", "/etc/x", "is no plain name"),
        ("renamed/n1", "n1", "a\\b", "is no plain name"),
    ] {
        for arguments in [&["rename", path, pattern, to][..], &["rename", path, pattern, to, "--dry-run"]] {
            let error = files.refused(arguments);
            assert_eq!(error["code"], "EDITS_CONFLICT", "{to}: {error}");
            assert!(error["message"].as_str().unwrap().contains(told), "{to}: {error}");
            assert_eq!(folder.content(), before, "{to}");
        }
    }
    let twice = r#"[{"path":"renamed/n1","pattern":"n","replacement":"m"},{"path":"renamed/n1","pattern":"n","replacement":"o"}]"#;
    let reply = files.call(&["rename", "--json-input"], twice.as_bytes());
    assert!(reply.stdout.contains("EDITS_CONFLICT") && reply.stdout.contains("edited twice"), "{}", reply.stdout);
    assert_eq!(folder.content(), before);
}

#[test]
fn no_link_is_followed_written_through_or_removed() {
    let (files, folder) = Folder::new("linked", &[("in/a", "tea"), ("out/b", "tea")]);
    std::os::unix::fs::symlink("../out", "linked/in/folder").unwrap();
    std::os::unix::fs::symlink("../out/b", "linked/in/file").unwrap();
    files.ok(&["replace", "linked/in/**", "tea", "coffee"]);
    files.ok(&["rename", "linked/in/**", "^", "x"]);
    assert_eq!(paths(&files.ok(&["search", "linked/in", "."])), ["linked/in/xa"]);
    let error = files.refused(&["rename", "linked/in/xa", ".*", "folder/a"]);
    assert!(error["message"].as_str().unwrap().contains("folder is no folder"), "{error}");
    files.ok(&["remove", "linked/in", "--confirm"]);
    folder.holds(&[("in/file", "tea"), ("in/folder", ""), ("out/b", "tea")]);
}

#[test]
fn what_is_removed_is_confirmed_and_tried() {
    let (files, folder) =
        Folder::new("removed", &[("a.bak", "1"), ("b/c.bak", "2"), ("b/d", "3"), (".git/e.bak", "4")]);
    let before = folder.content();
    assert_eq!(files.refused(&["remove", "removed/**/*.bak"])["code"], "CONFIRMATION_REQUIRED");
    let tried = files.ok(&["remove", "removed/**/*.bak", "--confirm", "--dry-run"]);
    assert_eq!((paths(&tried), folder.content()), (vec!["removed/a.bak", "removed/b/c.bak"], before));
    files.ok(&["remove", "removed/**/*.bak", "--confirm"]);
    folder.holds(&[(".git/e.bak", "4"), ("b/d", "3")]);
    assert_eq!(files.ok(&["remove", "removed/**/*.bak", "--confirm"])["changed"], false);
}

/// What each file is called after drawn renames is what the rule says, whatever chains and circles there are: or nothing was done.
#[test]
fn drawn_renames_lose_nothing() {
    let mut drawn = 7_u64;
    let mut below = |end: u64| {
        drawn = drawn.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (drawn >> 33) % end
    };
    let (mut done, mut refused) = (0, 0);
    for _ in 0..300 {
        let (files, folder) = Folder::new("drawn", &[("a", "a"), ("b", "b"), ("c", "c"), ("d", "d"), ("e", "e")]);
        let mut expected = folder.content();
        let mut entries = Vec::new();
        for from in ["a", "b", "c", "d", "e"] {
            let to = ["a", "b", "c", "d", "e", "f", "g/a"][below(7) as usize];
            if below(3) > 0 && from != to {
                entries.push(json!({"path": format!("drawn/{from}"), "pattern": "^.*$", "replacement": to}));
                expected.remove(from);
            }
        }
        let stay = expected.clone();
        for entry in &entries {
            let (from, to) = (entry["path"].as_str().unwrap(), entry["replacement"].as_str().unwrap());
            expected.insert(to.to_owned(), from.replacen("drawn/", "", 1));
        }
        let before = folder.content();
        let reply = files.call(&["rename", "--json-input"], json!(entries).to_string().as_bytes());
        // None is lost if, and only if, there are as many as before.
        let fits = expected.len() == 5 && stay.iter().all(|(path, text)| expected[path] == *text);
        assert_eq!(reply.exit_status == 0, fits, "{entries:?}: {}", reply.stdout);
        assert_eq!(folder.content(), if fits { expected } else { before }, "{entries:?}");
        *(if fits { &mut done } else { &mut refused }) += 1;
    }
    assert!(done > 20 && refused > 20, "{done} {refused}");
}

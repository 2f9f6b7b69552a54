//! Folders that are walked, and edits that are one list: what a pattern stands for, what is refused before anything is done, and the bounds.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::fs;
use std::path::PathBuf;

use hutch_guest::folder::{EDITS_MAX, Edits, Entry, Folder, Kind, WRITTEN_BYTES_MAX};
use hutch_guest::{Document, Failure};

/// A folder with files of these paths, each with its path as content.
struct Granted(PathBuf);

impl Granted {
    fn new(name: &str, paths: &[&str]) -> Self {
        let folder = std::env::temp_dir().join(format!("hutch-guest-folder-{}-{name}", std::process::id()));
        let granted = Self(folder);
        fs::create_dir_all(&granted.0).unwrap();
        for path in paths {
            let at = granted.0.join(path);
            fs::create_dir_all(at.parent().unwrap()).unwrap();
            fs::write(at, path).unwrap();
        }
        granted
    }

    fn folder(&self, pattern: &str) -> Folder {
        Folder::parse(&format!("{}/{pattern}", self.0.display())).unwrap()
    }

    fn found(&self, pattern: &str) -> Vec<String> {
        let start = format!("{}/", self.0.display());
        let below = |entry: Entry| entry.path.strip_prefix(&start).unwrap().to_owned();
        self.folder(pattern).entries().unwrap().into_iter().map(below).collect()
    }

    fn file(&self, path: &str) -> Entry {
        self.folder(path).files().unwrap().remove(0)
    }
}

impl Drop for Granted {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn code(failure: Failure) -> &'static str {
    failure.code.code
}

#[test]
fn a_pattern_stands_for_names_and_any_folders() {
    let granted = Granted::new("pattern", &["a/b/c.txt", "a/c.txt", "c.txt", "a-b", "a/.git/c.txt", "abcabd", "é.txt"]);
    for (pattern, expected) in [
        ("", &["a", "a-b", "a/b", "a/b/c.txt", "a/c.txt", "abcabd", "c.txt", "é.txt"][..]),
        ("**", &["a", "a-b", "a/b", "a/b/c.txt", "a/c.txt", "abcabd", "c.txt", "é.txt"]),
        ("*", &["a", "a-b", "abcabd", "c.txt", "é.txt"]),
        ("?.txt", &["c.txt", "é.txt"]),
        ("**/c.txt", &["a/b/c.txt", "a/c.txt", "c.txt"]),
        ("a/**/c.txt", &["a/b/c.txt", "a/c.txt"]),
        ("**/b/**", &["a/b/c.txt"]),
        ("**/a/**/*.txt", &["a/b/c.txt", "a/c.txt"]),
        ("*/c.txt", &["a/c.txt"]),
        ("a/.*/*", &["a/.git/c.txt"]),
        ("**/.git/*", &["a/.git/c.txt"]),
        ("*ab*abd", &["abcabd"]),
        ("*abd*", &["abcabd"]),
        ("*abc", &[]),
        ("a?b", &["a-b"]),
        ("***", &["a", "a-b", "abcabd", "c.txt", "é.txt"]),
        ("c.txt/*", &[]),
    ] {
        assert_eq!(granted.found(pattern), expected, "{pattern}");
    }
    let many = "*a".repeat(100) + "*b";
    let long = Granted::new("long", &[&"a".repeat(250)]);
    assert_eq!(long.found(&many), [""; 0]);
}

#[test]
fn what_leads_elsewhere_is_no_folder() {
    for text in ["", "/", ".", "..", "a/../b", "a/./b", "*", "**/a", "a/**/**", "a/\n"] {
        assert!(Folder::parse(text).is_err(), "{text:?}");
    }
    let granted = Granted::new("elsewhere", &["in/a", "out/b"]);
    std::os::unix::fs::symlink("../out", granted.0.join("in/link")).unwrap();
    assert_eq!(granted.found("in/**"), ["in/a", "in/link"]);
    assert_eq!(granted.folder("in").entries().unwrap()[1].kind, Kind::Link);
    for pattern in ["in/link", "in/link/*", "in/link/b"] {
        let failure = granted.folder(pattern).entries().unwrap_err();
        assert_eq!(code(failure), "FILE_UNREADABLE", "{pattern}");
    }
    assert_eq!(code(granted.folder("in/none").entries().unwrap_err()), "FILE_NOT_FOUND");
    let link = granted.folder("in/*").entries().unwrap().remove(1);
    assert_eq!(code(Edits::default().write(&link, "x").unwrap_err()), "EDITS_CONFLICT");
    let standard_input = Folder::parse("-").unwrap().files().unwrap().remove(0);
    assert_eq!(standard_input.clone().measured().unwrap(), standard_input);
    assert_eq!(code(Edits::default().remove(&standard_input).unwrap_err()), "EDITS_CONFLICT");
    assert_eq!(code(Edits::default().remove(&link).unwrap_err()), "EDITS_CONFLICT");
}

#[test]
fn edits_are_done_together_or_refused_before() {
    let granted = Granted::new("edits", &["a", "b", "c", "d", "a.0"]);
    let [a, b, c, d] = ["a", "b", "c", "d"].map(|path| granted.file(path));
    let mut edits = Edits::default();
    edits.rename(&a, "b").unwrap();
    edits.rename(&b, "a").unwrap();
    edits.remove(&c).unwrap();
    edits.write(&d, "first").unwrap();
    edits.write(&d, "second").unwrap();
    assert_eq!(code(edits.rename(&d, "e").unwrap_err()), "EDITS_CONFLICT");
    let mut edits = Edits::default();
    edits.rename(&a, "b").unwrap();
    edits.rename(&b, "a").unwrap();
    edits.remove(&c).unwrap();
    edits.write(&d, "second").unwrap();
    edits.carry_out(true).unwrap();
    assert_eq!(granted.found("*"), ["a", "a.0", "b", "c", "d"]);
    edits.carry_out(false).unwrap();
    assert_eq!(granted.found("*"), ["a", "a.0", "b", "d"]);
    let text = |path: &str| fs::read_to_string(granted.0.join(path)).unwrap();
    assert_eq!([text("a"), text("a.0"), text("b"), text("d")], ["b", "a.0", "a", "second"]);
    // A place is free if its file goes, and not if it stays.
    let mut edits = Edits::default();
    edits.rename(&a, "d").unwrap();
    assert_eq!(code(edits.carry_out(true).unwrap_err()), "EDITS_CONFLICT");
    edits.remove(&d).unwrap();
    edits.carry_out(false).unwrap();
    assert_eq!(text("d"), "b");
    for to in ["", "x/", "/x", "../x", "x/./y", "x\\y", "x\ny", &"x".repeat(256), "b/x", "x//y"] {
        let mut edits = Edits::default();
        let refused = edits.rename(&d, to).map(drop).and_then(|()| edits.carry_out(false));
        assert_eq!(code(refused.unwrap_err()), "EDITS_CONFLICT", "{to:?}");
    }
    assert_eq!(granted.found("**"), ["a.0", "b", "d"]);
    // What the file system refuses is told.
    let mut edits = Edits::default();
    edits.remove(&d).unwrap();
    fs::remove_file(&d.path).unwrap();
    assert_eq!(code(edits.carry_out(false).unwrap_err()), "FOLDER_DENIED");
}

#[test]
fn a_call_has_bounds() {
    let granted = Granted::new("bounds", &["a", "b"]);
    let (a, b) = (granted.file("a"), granted.file("b"));
    let mut edits = Edits::default();
    for _ in 0..3 {
        edits.write(&a, vec![0; WRITTEN_BYTES_MAX]).unwrap();
    }
    assert_eq!(code(edits.write(&b, "1").unwrap_err()), "EDITS_TOO_MANY");
    let mut edits = Edits::default();
    let one = |number: usize| Entry { path: format!("data/{number}"), kind: Kind::File, bytes: None };
    for number in 0..EDITS_MAX {
        edits.remove(&one(number)).unwrap();
    }
    assert_eq!(code(edits.remove(&one(EDITS_MAX)).unwrap_err()), "EDITS_TOO_MANY");
    assert_eq!(a.text(0).unwrap(), None);
    assert_eq!(a.text(1).unwrap().as_deref(), Some("a"));
    assert_eq!(a.clone().measured().unwrap().bytes, Some(1));
    let mut pieces = Vec::new();
    assert_eq!(a.pieces(|piece| pieces.extend_from_slice(piece)).unwrap(), 1);
    assert_eq!(pieces, b"a");
}

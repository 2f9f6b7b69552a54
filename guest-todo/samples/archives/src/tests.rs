//! The application as its callers see it, in a folder of each test's own.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::{fs, path::Path};

use hutch_guest::testing::Harness;
use serde_json::{Value, json};

use super::*;

const PACKAGE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../packages/archives");

/// The application, and an empty folder.
fn archives(name: &str) -> (Harness<NewFiles>, String) {
    let folder = std::env::temp_dir().join(format!("hutch-archives-{}-{name}", std::process::id()));
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(&folder).unwrap();
    (Harness::new(&ARCHIVES), folder.display().to_string())
}

/// A tar of members: name, kind, content; a link's content is where it leads.
fn tar_of(members: &[(&str, tar::EntryType, &str)]) -> Vec<u8> {
    let mut tar = tar::Builder::new(Vec::new());
    for (name, kind, content) in members {
        let mut head = tar::Header::new_gnu();
        head.as_old_mut().name[..name.len()].copy_from_slice(name.as_bytes());
        head.set_entry_type(*kind);
        head.set_mode(0o4755);
        head.set_size(if *kind == tar::EntryType::Regular { content.len() as u64 } else { 0 });
        if kind.is_symlink() || kind.is_hard_link() {
            head.set_link_name(content).unwrap();
        }
        head.set_cksum();
        tar.append(&head, if *kind == tar::EntryType::Regular { content.as_bytes() } else { b"" }).unwrap();
    }
    tar.into_inner().unwrap()
}

fn files(names: &[&str]) -> Vec<u8> {
    tar_of(&names.iter().map(|name| (*name, tar::EntryType::Regular, "x")).collect::<Vec<_>>())
}

/// Everything below a folder, by its path in it.
fn content(folder: &str) -> Vec<(String, String)> {
    let found = hutch_guest::folder::Folder::parse(folder).unwrap().files().unwrap();
    let row = |it: &hutch_guest::folder::Entry| {
        (it.path.strip_prefix(&format!("{folder}/")).unwrap().to_owned(), fs::read_to_string(&it.path).unwrap())
    };
    found.iter().map(row).collect()
}

#[test]
fn the_contract_of_the_package_is_that_of_the_program() {
    Harness::new(&ARCHIVES).contract(format!("{PACKAGE}/schemas/commands.json"));
}

/// The one test that has a folder to be in, so that it is in the way of no other.
#[test]
fn every_example_ends_as_it_says() {
    let (archives, folder) = archives("examples");
    for inside in ["practice"] {
        fs::create_dir_all(format!("{folder}/{inside}")).unwrap();
        for file in fs::read_dir(format!("{PACKAGE}/{inside}")).unwrap().map(Result::unwrap) {
            fs::copy(file.path(), Path::new(&folder).join(inside).join(file.file_name())).unwrap();
        }
    }
    std::env::set_current_dir(&folder).unwrap();
    archives.examples();
    let listed = archives.ok(&["list", "practice/unsafe.tar", "--fields", "member,refused"]);
    assert_eq!(
        listed["items"],
        json!([
            {"member": "fine.txt", "refused": null},
            {"member": "../escaped.txt", "refused": "its name is no path below a folder, or too long"},
            {"member": "/etc/passwd", "refused": "its name is no path below a folder, or too long"},
            {"member": "out", "refused": "it is a link, a device or a file with holes"},
            {"member": "Notes.txt", "refused": null},
            {"member": "notes.txt", "refused": "its name meets that of Notes.txt"}
        ])
    );
    fs::remove_dir_all(folder).unwrap();
}

#[test]
fn what_is_put_in_comes_out() {
    let (archives, folder) = archives("round");
    for (name, text) in [("a.txt", "a"), ("é/ü.txt", "long ".repeat(5000).as_str()), ("b/c/d", "")] {
        let path = Path::new(&folder).join("in").join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
    let before = content(&format!("{folder}/in"));
    for kind in ["zip", "tar", "tar.gz", "tgz"] {
        let (archive, out) = (format!("{folder}/x.{kind}"), format!("{folder}/{kind}"));
        let made = archives.ok(&["create", &format!("{folder}/in"), &archive]);
        assert_eq!((&made["items"][0]["path"], &made["changed"]), (&json!(archive), &json!(true)));
        let first = fs::read(&archive).unwrap();
        // What is there and the same stays, and another one does unless it is said.
        assert_eq!(archives.ok(&["create", &format!("{folder}/in"), &archive])["changed"], false);
        assert_eq!(archives.refused(&["create", &format!("{folder}/in/b"), &archive])["code"], "EDITS_CONFLICT");
        assert_eq!(fs::read(&archive).unwrap(), first, "{kind}");
        assert_eq!(archives.ok(&["list", &archive])["total"], 3);
        archives.ok(&["extract", &archive, &out, "--dry-run"]);
        assert!(!Path::new(&out).exists());
        archives.ok(&["extract", &archive, &out]);
        // The paths in it are those below the first folder, which natively is that of the machine.
        assert_eq!(content(&format!("{out}{folder}/in")), before, "{kind}");
        assert_eq!(archives.ok(&["extract", &archive, &out])["changed"], false);
        let one = format!("{out}{folder}/in/a.txt");
        fs::write(&one, "other").unwrap();
        assert_eq!(archives.refused(&["extract", &archive, &out])["code"], "EDITS_CONFLICT");
        let again = archives.ok(&["extract", &archive, &out, "--overwrite"])["items"].clone();
        assert_eq!(
            (&again[0]["path"], &again[0]["edit"], &again[1]["edit"]),
            (&json!(one), &json!("write"), &json!("skip"))
        );
        assert_eq!(content(&format!("{out}{folder}/in")), before, "{kind}");
        // What is listed is a batch, of members beside the archive.
        let listed = archives.ok(&["list", &archive]).to_string();
        assert_eq!(archives.batch(&["extract", "--json-input"], &listed)["count"], 3);
        assert_eq!(content(&format!("{folder}/x{folder}/in")), before, "{kind}");
        fs::remove_dir_all(format!("{folder}/x")).unwrap();
        let member = ["extract", &archive, &format!("{folder}/one"), "--member"];
        assert_eq!(archives.refused(&[&member[..], &["nothing"]].concat())["code"], "FILE_NOT_FOUND");
        let name = format!("{}/in/a.txt", &folder[1..]);
        assert_eq!(archives.ok(&[&member[..], &[&name]].concat())["count"], 1);
        fs::remove_dir_all(format!("{folder}/one")).unwrap();
        if kind.ends_with("gz") {
            // What is packed is as it was, and its sum is another one.
            let at = first.len() - 5;
            let flipped = [&first[..at], &[!first[at]], &first[at + 1..]].concat();
            fs::write(&archive, flipped).unwrap();
            let flipped = archives.refused(&["extract", &archive, &format!("{folder}/torn")]);
            assert_eq!(flipped["code"], "ARCHIVE_INVALID", "{kind}: {flipped}");
        }
        let torn = &first[..first.len() * 2 / 3];
        fs::write(&archive, torn).unwrap();
        let torn = archives.refused(&["extract", &archive, &format!("{folder}/torn")]);
        assert_eq!(torn["code"], "ARCHIVE_INVALID", "{kind}: {torn}");
    }
    fs::remove_dir_all(folder).unwrap();
}

#[test]
fn an_archive_that_means_harm_leaves_nothing() {
    use tar::EntryType as Kind;
    let (archives, folder) = archives("harm");
    let regular = Kind::Regular;
    for (archive, told) in [
        (files(&["fine", "../x"]), "no path below"),
        (files(&["a/../../x"]), "no path below"),
        (files(&["/etc/x"]), "no path below"),
        (files(&[".//etc/x"]), "no path below"),
        (files(&["a\\..\\x"]), "no path below"),
        (files(&["a\nb"]), "no path below"),
        (files(&["a/"]), "no path below"),
        (files(&["."]), "no path below"),
        (files(&["a", "a"]), "meets that of a"),
        (files(&["A.txt", "a.TXT"]), "meets that of A.txt"),
        (files(&["\u{e9}", "e\u{301}"]), "meets that of \u{e9}"),
        (files(&["Dir/a", "dir/b"]), "meets that of Dir"),
        (files(&["a", "a/b"]), "meets that of a"),
        (files(&["a/b", "a"]), "meets that of a"),
        (tar_of(&[("a", Kind::Symlink, "/etc"), ("a/b", regular, "x")]), "a link"),
        (tar_of(&[("a", Kind::Link, "/etc/passwd")]), "a link"),
        (tar_of(&[("a", Kind::Char, "")]), "a link, a device"),
        (tar_of(&[("a", Kind::Fifo, "")]), "a link, a device"),
    ] {
        let path = format!("{folder}/x.tar");
        fs::write(&path, archive).unwrap();
        let refused = archives.refused(&["extract", &path, &format!("{folder}/out")]);
        assert_eq!(refused["code"], "ARCHIVE_UNSAFE", "{refused}");
        assert!(refused["message"].as_str().unwrap().contains(told), "{told}: {refused}");
        assert!(!Path::new(&folder).join("out").exists());
        archives.ok(&["list", &path]);
    }
    let wrong = |name: &str, bytes: &[u8]| -> Value {
        let path = format!("{folder}/{name}");
        fs::write(&path, bytes).unwrap();
        archives.refused(&["extract", &path, &format!("{folder}/out")])
    };
    let bomb = archive::packed("bomb.zip", &[(String::from("zeros"), vec![0; 33 << 20])]).unwrap();
    assert!(bomb.len() < 1_000_000, "{}", bomb.len());
    assert_eq!(wrong("bomb.zip", &bomb)["code"], "ARCHIVE_TOO_LARGE");
    let names: Vec<_> = (0..10_001).map(|it| (it.to_string(), Vec::new())).collect();
    assert_eq!(wrong("many.zip", &archive::packed("many.zip", &names).unwrap())["code"], "ARCHIVE_TOO_LARGE");
    for bytes in [&b"PK\x03\x04"[..], b"\x1f\x8b\x08", b"no archive", b"Rar!\x1a\x07\x00"] {
        assert_eq!(wrong("none", bytes)["code"], "ARCHIVE_INVALID");
    }
    // Neither through a link that is there, nor over a folder.
    fs::write(format!("{folder}/x.tar"), files(&["a/b"])).unwrap();
    fs::create_dir_all(format!("{folder}/elsewhere")).unwrap();
    std::os::unix::fs::symlink(format!("{folder}/elsewhere"), format!("{folder}/link")).unwrap();
    for (name, to) in [("x.tar", "link"), ("x.tar", "x.tar")] {
        let refused =
            archives.refused(&["extract", &format!("{folder}/{name}"), &format!("{folder}/{to}"), "--overwrite"]);
        assert_eq!(refused["code"], "EDITS_CONFLICT", "{refused}");
    }
    assert_eq!(fs::read_dir(format!("{folder}/elsewhere")).unwrap().count(), 0);
    fs::remove_dir_all(folder).unwrap();
}

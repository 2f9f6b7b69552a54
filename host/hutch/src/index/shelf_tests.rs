//! What stands at the place of an index, whatever fails and whatever was there.

use super::*;
use crate::index::{Package, Release};
use crate::package::{Outline, Source};
use hutch_folder::Step;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};

fn dir(path: &Path) -> Dir {
    crate::package::open_folder(path).unwrap()
}

fn index(version: &str) -> Index {
    let outline = Outline::open(Source::folder(dir(Path::new("../../packages/todo")))).unwrap();
    let release = Release {
        version: version.to_owned(),
        reference: format!("oci://here.example/todo:{version}"),
        manifest: "sha256:00".to_owned(),
        digest: "00".repeat(32).parse().unwrap(),
        bytes: 7,
        trust: hutch_model::trust::Level::Unsigned,
    };
    Index::of(vec![(Package::of(&outline, "oci://here.example/todo").unwrap(), release)])
}

#[test]
fn an_index_is_replaced_by_another_and_left_alone_by_the_same() {
    let home = tempfile::tempdir().unwrap();
    let parent = dir(home.path());
    let shelf = Shelf::new(&parent, "catalogue");
    for (version, changed) in [("1.0.0", true), ("1.0.0", false), ("2.0.0", true)] {
        assert_eq!(shelf.would_change(&index(version)).unwrap(), changed, "{version}");
        assert_eq!(shelf.write(&index(version)).unwrap(), changed, "{version}");
        assert_eq!(shelf.at("catalogue").unwrap(), index(version).files());
        assert_eq!(std::fs::read_dir(home.path()).unwrap().count(), 1, "something stays aside");
    }
}

#[test]
fn whichever_step_fails_the_old_index_or_the_new_one_is_whole() {
    for before in [None, Some("1.0.0")] {
        let mut failed = 0;
        for at in 0.. {
            let home = tempfile::tempdir().unwrap();
            let parent = dir(home.path());
            if let Some(version) = before {
                Shelf::new(&parent, "catalogue").write(&index(version)).unwrap();
            }
            let steps = AtomicUsize::new(0);
            let check = move |_: Step| match steps.fetch_add(1, Ordering::Relaxed) == at {
                true => Err(io::Error::other("the disk is gone")),
                false => Ok(()),
            };
            let shelf = Shelf { hands: Hands::checked(check), ..Shelf::new(&parent, "catalogue") };
            let done = shelf.write(&index("2.0.0"));
            let held = shelf.held().unwrap();
            let known = [before.map(|version| index(version).files()), Some(index("2.0.0").files())];
            assert!(known.contains(&held), "step {at}");
            assert!(std::fs::read_dir(home.path()).unwrap().count() <= 1, "step {at}: something stays aside");
            if done.is_ok() {
                assert_eq!(held, Some(index("2.0.0").files()));
                break;
            }
            failed += 1;
        }
        assert!(failed > 10, "nothing failed");
    }
}

#[test]
fn what_is_not_ours_is_left_as_it_is() {
    type Make = fn(&Path);
    let cases: [(&str, Make); 8] = [
        ("a file", |at| std::fs::write(at, "mine").unwrap()),
        ("an empty folder", |at| std::fs::create_dir(at).unwrap()),
        ("another index.json", |at| {
            std::fs::create_dir(at).unwrap();
            std::fs::write(at.join("index.json"), "{\"schema\":\"oci\"}").unwrap();
        }),
        ("a folder in its place", |at| std::fs::create_dir_all(at.join("index.json")).unwrap()),
        ("a file beside ours", |at| {
            Shelf::new(&dir(at.parent().unwrap()), "catalogue").write(&index("1.0.0")).unwrap();
            std::fs::write(at.join("CNAME"), "mine").unwrap();
        }),
        ("a file among our pages", |at| {
            Shelf::new(&dir(at.parent().unwrap()), "catalogue").write(&index("1.0.0")).unwrap();
            std::fs::write(at.join("packages/mine.html"), "mine").unwrap();
        }),
        ("many files among our pages", |at| {
            Shelf::new(&dir(at.parent().unwrap()), "catalogue").write(&index("1.0.0")).unwrap();
            for number in 0..100 {
                std::fs::write(at.join(format!("packages/{number}.html")), "mine").unwrap();
            }
        }),
        ("pages that are a file", |at| {
            Shelf::new(&dir(at.parent().unwrap()), "catalogue").write(&index("1.0.0")).unwrap();
            std::fs::remove_dir_all(at.join("packages")).unwrap();
            std::fs::write(at.join("packages"), "mine").unwrap();
        }),
    ];
    for (what, make) in cases {
        let home = tempfile::tempdir().unwrap();
        let (parent, at) = (dir(home.path()), home.path().join("catalogue"));
        make(&at);
        let before = listing(home.path());
        let shelf = Shelf::new(&parent, "catalogue");
        for error in [shelf.would_change(&index("2.0.0")).unwrap_err(), shelf.write(&index("2.0.0")).unwrap_err()] {
            assert_eq!(error.code(), ErrorCode::AlreadyExists, "{what}: {error}");
        }
        assert_eq!(listing(home.path()), before, "{what}");
    }
}

#[test]
fn what_came_in_the_place_of_the_old_index_is_put_back() {
    let home = tempfile::tempdir().unwrap();
    let (parent, at) = (dir(home.path()), home.path().join("catalogue"));
    Shelf::new(&parent, "catalogue").write(&index("1.0.0")).unwrap();
    let place = at.clone();
    let moves = AtomicUsize::new(0);
    // Somebody is faster, just before the first move.
    let check = move |step: Step| {
        if step == Step::Move && moves.fetch_add(1, Ordering::Relaxed) == 0 {
            std::fs::remove_dir_all(&place)?;
            std::fs::create_dir(&place)?;
            std::fs::write(place.join("mine"), "mine")?;
        }
        Ok(())
    };
    let shelf = Shelf { hands: Hands::checked(check), ..Shelf::new(&parent, "catalogue") };
    assert_eq!(shelf.write(&index("2.0.0")).unwrap_err().code(), ErrorCode::AlreadyExists);
    assert_eq!(listing(home.path()), [at.join("mine")]);
}

/// Every file below a folder, and every empty folder.
fn listing(folder: &Path) -> Vec<std::path::PathBuf> {
    let mut found: Vec<_> = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    found.sort();
    let within = |path: std::path::PathBuf| match path.is_dir() {
        true => Some(listing(&path)).filter(|inner| !inner.is_empty()).unwrap_or_else(|| vec![path]),
        false => vec![path],
    };
    found.into_iter().flat_map(within).collect()
}

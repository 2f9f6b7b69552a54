//! New files below a folder, beside what is there, and names that others gave.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::fs;

use hutch_guest::Document;
use hutch_guest::folder::Does;
use hutch_guest::new_files::{Names, NewFiles};

#[test]
fn a_new_file_gets_its_folders_and_overwrites_nothing_unasked() {
    let granted = std::env::temp_dir().join(format!("hutch-guest-new-files-{}", std::process::id()));
    let at = |path: &str| format!("{}/{path}", granted.display());
    fs::create_dir_all(&granted).unwrap();
    fs::write(at("there"), "there").unwrap();
    let put = |new: &mut NewFiles, path: &str, content: &str, overwrite| {
        new.put(at(path), content.as_bytes(), overwrite).map(|it| it.edit).map_err(|it| it.code.code)
    };
    let made = |path: &str, content: &str, overwrite| {
        let mut new = NewFiles::default();
        let edit = put(&mut new, path, content, overwrite)?;
        new.carry_out(true).and_then(|()| new.carry_out(false)).map_err(|it| it.code.code).map(|()| edit)
    };
    assert_eq!(made("a/b/c", "new", false), Ok(Does::Write));
    assert_eq!((made("there", "new", false), made("a", "new", true)), (Err("EDITS_CONFLICT"), Err("EDITS_CONFLICT")));
    assert_eq!(made("there/below", "new", false), Err("EDITS_CONFLICT"));
    // What is the same stays.
    assert_eq!(made("there", "there", false), Ok(Does::Skip));
    assert_eq!(fs::read_to_string(at("there")).unwrap(), "there");
    assert_eq!(made("there", "other", true), Ok(Does::Write));
    std::os::unix::fs::symlink(at("a"), at("link")).unwrap();
    for path in ["link", "link/c"] {
        assert_eq!(made(path, "new", true), Err("EDITS_CONFLICT"), "{path}");
    }
    // Of one call no two meet, and a try makes no folder.
    let mut new = NewFiles::default();
    assert_eq!(put(&mut new, "x/y", "", false), Ok(Does::Write));
    for path in ["x/y", "x", "x/y/z"] {
        assert_eq!(put(&mut new, path, "", true), Err("EDITS_CONFLICT"), "{path}");
    }
    new.carry_out(true).unwrap();
    assert!(!fs::exists(at("x")).unwrap());
    assert_eq!((fs::read(at("a/b/c")).unwrap(), fs::read(at("there")).unwrap()), (b"new".to_vec(), b"other".to_vec()));
    fs::remove_dir_all(granted).unwrap();
}

#[test]
fn names_that_lead_elsewhere_or_meet_are_refused() {
    let refused = |names: &[(&str, bool)]| {
        let mut all = Names::default();
        names.iter().filter_map(|(name, folder)| all.refused(name, *folder, str::to_lowercase)).collect::<Vec<_>>()
    };
    let long = ["a".repeat(256), "a/".repeat(513)];
    for name in
        ["", ".", "..", "a/..", "../a", "/a", "a//b", "a/", "./a", "a\\b", "a\nb", "\u{fffd}", &long[0], &long[1]]
    {
        assert_eq!(refused(&[(name, false)]), ["its name is no path below a folder, or too long"], "{name}");
    }
    let met = |names: &[&str]| refused(&names.iter().map(|name| (*name, false)).collect::<Vec<_>>());
    for (one, other, first) in [
        ("a", "a", "a"),
        ("A", "a", "A"),
        ("Dir/a", "dir/b", "Dir"),
        ("a", "a/b", "a"),
        ("a/b", "a", "a"),
        ("a/b", "A/b", "a"),
    ] {
        assert_eq!(met(&[one, other]), [format!("its name meets that of {first}")], "{one} {other}");
    }
    assert_eq!(met(&["a/b", "a/c", "b/a", "~", "...", " a.", &long[0][1..]]), [""; 0]);
    assert_eq!(refused(&[("", true), (".", true), ("a", true), ("a/b", false), ("a", true)]), [""; 0]);
    assert_eq!(refused(&[("a", true), ("a", false)]).len(), 1);
}

//! After another start of the machine a directory may show what it showed earlier, or files without their content. None of that is
//! anybody's edit; what a person wrote is.

use super::*;

fn modified(path: &Path) -> std::time::SystemTime {
    std::fs::metadata(path).unwrap().modified().unwrap()
}

/// Puts a file as it was before: what a file system does that lost the last renames.
fn turn_back(path: &Path, content: &str) {
    std::fs::remove_file(path).ok();
    std::fs::write(path, content).unwrap();
}

#[test]
fn what_the_power_took_back_is_written_anew_and_no_run_is_undone() {
    let setting = Setting::new();
    put(&setting.store, &[("a", "0"), ("b", "0"), ("c/d", "0")]);
    put(&setting.store, &[("a", "1"), ("b", "1"), ("c/d", "1"), ("mine", "1")]);
    let last = put(&setting.store, &[("a", "2"), ("b", "2"), ("c/d", "2"), ("new", "2"), ("mine", "2")]);
    setting.restarted().update().unwrap();
    let at = |path: &str| setting.folder().join(path);
    // Older versions, a file that was not there yet, one without its bytes, and one that a person wrote.
    turn_back(&at("a"), "1");
    turn_back(&at("c/d"), "0");
    std::fs::remove_file(at("new")).unwrap();
    let time = modified(&at("b"));
    std::fs::write(at("b"), "").unwrap();
    std::fs::File::options().write(true).open(at("b")).unwrap().set_modified(time).unwrap();
    std::fs::write(at("mine"), "by hand").unwrap();

    let plain = setting.restarted();
    let left: Vec<_> = plain.update().unwrap().left.into_iter().map(|(_, path)| path).collect();
    assert_eq!(left, ["mine"]);
    let there = [("a", "2"), ("b", "2"), ("c/d", "2"), ("mine", "by hand"), ("new", "2")];
    assert_eq!(real(&setting.folder()), expected(&there));
    assert_eq!(state(&setting.store), Some(last));
    assert_eq!(setting.adopt(), [("mine".to_owned(), Change::Modified)]);
}

/// Within one start of the machine the same is an edit: an earlier version that a person puts back is theirs.
#[test]
fn without_another_start_an_older_version_is_an_edit() {
    let setting = Setting::new();
    put(&setting.store, &[("a", "1")]);
    put(&setting.store, &[("a", "2")]);
    setting.plain().update().unwrap();
    turn_back(&setting.folder().join("a"), "1");
    setting.plain().update().unwrap();
    assert_eq!(setting.check(&["a"]), Some(("a".to_owned(), Change::Modified)));
    assert_eq!(setting.adopt(), [("a".to_owned(), Change::Modified)]);
}

#[test]
fn without_stamps_what_an_earlier_state_had_is_no_edit() {
    let setting = Setting::new();
    put(&setting.store, &[("a", "1"), ("b", "1")]);
    setting.plain().update().unwrap();
    put(&setting.store, &[("a", "2"), ("b", "1")]);
    std::fs::remove_file(setting.store.dir().path().join("hutch.plain")).unwrap();
    assert_eq!(setting.plain().update().unwrap(), Updated::default());
    assert_eq!(real(&setting.folder()), expected(&[("a", "2"), ("b", "1")]));
}

#[test]
fn a_restart_is_looked_at_once() {
    let setting = Setting::new();
    put(&setting.store, &[("a", "1"), ("d/b", "1")]);
    let plain = setting.restarted();
    plain.update().unwrap();
    let hands = Hands::checked(|_| Err(io::Error::other("nothing is to be done")));
    assert_eq!(Plain { hands, ..plain }.update().unwrap(), Updated::default());
}

fn set_modified(path: &Path, time: std::time::SystemTime) {
    std::fs::File::options().write(true).open(path).unwrap().set_modified(time).unwrap();
}

/// Archives and shipped files have times that others set too: only what could be left of our own bytes is ours.
#[test]
fn a_persons_file_with_the_time_of_the_snapshot_is_theirs() {
    let long = "x".repeat(5000);
    let setting = Setting::new();
    put(
        &setting.store,
        &[("a", "from us"), ("empty", "1"), ("cut", &long), ("zeros", &long), ("tail", &long), ("b", &long)],
    );
    setting.restarted().update().unwrap();
    let at = |path: &str| setting.folder().join(path);
    let tail = format!("{}{}", &long[..2048], "\0".repeat(5000 - 2048));
    let other = format!("{}{}", &long[..2048], "y".repeat(5000 - 2048));
    for (name, content) in [
        ("a", "by hand"),
        ("empty", ""),
        ("cut", &long[..4096]),
        ("zeros", &"\0".repeat(5000)),
        ("tail", &tail),
        ("b", &other),
    ] {
        let time = modified(&at(name));
        std::fs::write(at(name), content).unwrap();
        set_modified(&at(name), time);
    }
    let left: Vec<_> = setting.restarted().update().unwrap().left.into_iter().map(|(_, path)| path).collect();
    assert_eq!(left, ["a", "b"]);
    let found = real(&setting.folder());
    assert_eq!((found["a"].as_str(), found["b"] == other), ("by hand", true));
    for name in ["cut", "zeros", "tail"] {
        assert_eq!(found[name], long, "{name}");
    }
    assert_eq!(found["empty"], "1");
}

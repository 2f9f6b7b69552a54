//! After another start of the machine a directory may show what it showed earlier, or files without their content. None of that is
//! anybody's edit; what a person wrote is.

use super::*;

fn modified(path: &Path) -> std::time::SystemTime {
    std::fs::metadata(path).unwrap().modified().unwrap()
}

/// Puts a file as it was before, with its time: what a file system does that lost the last renames.
fn turn_back(path: &Path, content: &str) {
    put_back(path, content);
    // As `volume` has it.
    let time = Duration::from_nanos(1_000_000_000 + content.len() as u64);
    set_modified(path, std::time::UNIX_EPOCH + time);
}

/// Puts an earlier version where it was: what a person does, out of a backup.
fn put_back(path: &Path, content: &str) {
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

/// With another start, or without stamps, an earlier version that was written at another time is still theirs: it is not taken back, and
/// becomes an entry.
#[test]
fn an_older_version_that_a_person_puts_back_is_an_edit_after_a_restart_too() {
    for (is_nested, without_stamps) in [(false, false), (false, true), (true, false), (true, true)] {
        let setting = Setting::new();
        let path = if is_nested { "d/a" } else { "a" };
        for text in ["version one", "version two", "version three"] {
            put(&setting.store, &[(path, text), ("other", "1")]);
            setting.restarted().update().unwrap();
        }
        put_back(&setting.folder().join(path), "version one");
        let plain = match without_stamps {
            true => {
                std::fs::remove_file(setting.store.dir().path().join("hutch.plain")).unwrap();
                setting.plain()
            }
            false => setting.restarted(),
        };
        let left: Vec<_> = plain.update().unwrap().left.into_iter().map(|(_, path)| path).collect();
        assert_eq!(left, [path]);
        assert_eq!(real(&setting.folder())[path], "version one");
        drop(plain);
        assert_eq!(setting.check(&[path]), Some((path.to_owned(), Change::Modified)));
        assert_eq!(setting.adopt(), [(path.to_owned(), Change::Modified)]);
        let now = state(&setting.store).unwrap();
        assert_eq!(text(&*setting.store.objects(), &now, path).as_deref(), Some("version one"));
        assert_eq!(text(&*setting.store.objects(), &now, "other").as_deref(), Some("1"));
    }
}

/// A file system that keeps names and no bytes leaves the very look that is remembered: after another start it says nothing, whoever asks.
#[test]
fn after_another_start_no_look_is_believed() {
    let setting = Setting::new();
    let last = put(&setting.store, &[("a", "text"), ("b", "mine"), ("d/c", "text")]);
    setting.restarted().update().unwrap();
    let zeros = |path: &str| {
        let (at, plain) = (setting.folder().join(path), setting.plain());
        let time = modified(&at);
        std::fs::write(&at, "\0\0\0\0").unwrap();
        set_modified(&at, time);
        // What is remembered of it is how it looks now.
        let (folder, name) = match path.split_once('/') {
            Some((above, name)) => {
                let top = plain.stamps.top(&self::name()).unwrap().unwrap();
                (plain.stamps.below(top, above).unwrap().unwrap(), name)
            }
            None => (plain.stamps.top(&self::name()).unwrap().unwrap(), path),
        };
        let held = plain.stamps.one(folder, name).unwrap().unwrap();
        let stamps::Mark::Seen(_, held) = held else { panic!("{held:?}") };
        let above = Dir::open_ambient_dir(at.parent().unwrap(), cap_std::ambient_authority()).unwrap();
        let stamp = look(&above, name).unwrap().unwrap();
        plain.stamps.set(folder, name, Some(stamps::Mark::Seen(stamp, held))).unwrap();
    };
    zeros("a");
    zeros("d/c");
    // Within the same start it is believed, or each call would read all files.
    let start = Some(format!("start {}", setting.starts.load(Ordering::Relaxed) - 1));
    let same = Plain { boot: start, ..setting.plain() };
    let (changes, _) = same.status(&name(), &BOUNDS).unwrap();
    assert_eq!(changes.listed, []);
    // After another one: not by a look at what a run touched, nor at everything, nor by an update.
    let other = setting.restarted();
    let mut touched = Touched::default();
    touch(&mut touched, "a");
    assert_eq!(other.check(&name(), &touched).unwrap().map(|change| change.path).as_deref(), Some("a"));
    let (changes, _) = other.status(&name(), &BOUNDS).unwrap();
    assert_eq!(changes.listed.iter().map(|change| change.path.as_str()).collect::<Vec<_>>(), ["a", "d/c"]);
    assert_eq!(other.update().unwrap(), Updated::default());
    assert_eq!(real(&setting.folder()), expected(&[("a", "text"), ("b", "mine"), ("d/c", "text")]));
    assert_eq!((setting.status(), state(&setting.store)), (Vec::new(), Some(last)));
}

/// By its time it is known again, so it gets that even where a person has written the very same.
#[test]
fn what_is_shown_has_the_time_of_its_state() {
    let setting = Setting::new();
    put(&setting.store, &[("a", "1")]);
    setting.plain().update().unwrap();
    put(&setting.store, &[("a", "2")]);
    put_back(&setting.folder().join("a"), "2");
    assert_eq!(setting.plain().update().unwrap(), Updated::default());
    let since = modified(&setting.folder().join("a")).duration_since(std::time::UNIX_EPOCH).unwrap();
    assert_eq!(since.as_nanos(), 1_000_000_001);
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

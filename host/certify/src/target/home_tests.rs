//! What programs leave in their homes: seen, bounded, and put back.

use super::*;

/// A program may leave links in its home where there were files and folders: putting the home back follows none.
#[cfg(unix)]
#[test]
fn what_a_home_is_put_back_to_reaches_nothing_elsewhere() {
    use std::os::unix::fs::symlink;
    let root = std::env::temp_dir().join(format!("hutch-certify-links-{}", std::process::id()));
    let (home, elsewhere) = (root.join("home"), root.join("elsewhere"));
    fs::create_dir_all(home.join("folder")).unwrap();
    fs::create_dir_all(&elsewhere).unwrap();
    for (path, content) in [("home/file", "one"), ("home/folder/file", "two"), ("elsewhere/own", "precious")] {
        fs::write(root.join(path), content).unwrap();
    }
    let at = |name: &str| fs::read_to_string(home.join(name)).unwrap();
    let first = State::found(&home, None, true);
    fs::remove_file(home.join("file")).unwrap();
    fs::remove_dir_all(home.join("folder")).unwrap();
    symlink(elsewhere.join("own"), home.join("file")).unwrap();
    symlink(&elsewhere, home.join("folder")).unwrap();
    let linked = State::found(&home, Some(&first), true);
    assert!(linked.digest != first.digest && !first.is_still_in(&home));
    put_back(&home, &linked, &first).unwrap();
    assert_eq!((at("file"), at("folder/file")), ("one".to_owned(), "two".to_owned()));
    // And back: links are part of what it held.
    put_back(&home, &first, &linked).unwrap();
    assert_eq!(fs::read_link(home.join("folder")).unwrap(), elsewhere);
    // Also where one came since somebody looked.
    put_back(&home, &linked, &first).unwrap();
    fs::remove_file(home.join("file")).unwrap();
    symlink(elsewhere.join("own"), home.join("file")).unwrap();
    let holding = |bytes: &[u8]| {
        let (content, _) = Content::read(bytes, 9, true).unwrap();
        Tree::from([("file".into(), Entry::File(content))])
    };
    change(&home, &holding(b"another"), &holding(b"one")).unwrap();
    assert_eq!(at("file"), "one");
    let names: Vec<_> = fs::read_dir(&elsewhere).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(
        (names, fs::read_to_string(elsewhere.join("own")).unwrap()),
        (vec!["own".into()], "precious".to_owned())
    );
    fs::remove_dir_all(root).unwrap();
}

#[cfg(unix)]
#[test]
fn a_file_is_known_again_once_its_clock_has_gone_on() {
    use std::os::unix::fs::MetadataExt;
    let file = fs::metadata(std::env::current_exe().unwrap()).unwrap();
    let (seconds, parts): (u64, u32) = (file.ctime().try_into().unwrap(), file.ctime_nsec().try_into().unwrap());
    let changed = SystemTime::UNIX_EPOCH + Duration::new(seconds, parts);
    let known = |after_ms| Stamp::of(&file, changed + Duration::from_millis(after_ms)).is_some();
    let is_fine = !parts.is_multiple_of(1_000_000);
    assert_eq!([known(10), known(100), known(2_100)], [false, is_fine, true]);
}

#[cfg(unix)]
#[test]
fn what_is_written_made_or_removed_is_seen_without_reading() {
    let root = std::env::temp_dir().join(format!("hutch-certify-{}", std::process::id()));
    fs::create_dir_all(root.join("folder")).unwrap();
    fs::write(root.join("folder/file"), "one").unwrap();
    let changes: [fn(&Path); 4] = [
        |root| fs::write(root.join("folder/file"), "two").unwrap(),
        |root| fs::write(root.join("folder/new"), "").unwrap(),
        |root| fs::remove_file(root.join("folder/new")).unwrap(),
        |root| fs::create_dir(root.join("other")).unwrap(),
    ];
    let mut was = State::found(&root, None, true);
    for change in changes {
        // It is known once the file system's clock has gone on.
        while !was.is_still_in(&root) {
            was = State::found(&root, Some(&was), true);
        }
        change(&root);
        assert!(!was.is_still_in(&root) && State::found(&root, Some(&was), true).digest != was.digest);
    }
    fs::remove_dir_all(&root).unwrap();
}

/// Whatever a program leaves in the place of what was there is seen, and goes.
#[cfg(unix)]
#[test]
fn whatever_stands_in_the_place_of_what_was_there_is_seen_and_goes() {
    let root = std::env::temp_dir().join(format!("hutch-certify-instead-{}", std::process::id()));
    let (home, elsewhere) = (root.join("home"), root.join("elsewhere"));
    fs::create_dir_all(home.join("folder/inner")).unwrap();
    fs::create_dir_all(elsewhere.join("own")).unwrap();
    for name in ["folder/file", ".cache"] {
        fs::write(home.join(name), name).unwrap();
    }
    let first = State::found(&home, None, true);
    let is_back = |after: &State, what: &str| {
        put_back(&home, after, &first).unwrap_or_else(|error| panic!("{what}: {error}"));
        assert_eq!(fs::read_to_string(home.join("folder/file")).unwrap(), "folder/file", "{what}");
        assert_eq!(State::found(&home, None, true).digest, first.digest, "{what}");
    };
    drop(std::os::unix::net::UnixListener::bind(home.join("folder/socket")).unwrap());
    let after = State::found(&home, Some(&first), false);
    assert_ne!(after.digest, first.digest);
    is_back(&after, "a socket");
    for (script, changes, is_seen) in [
        ("rm -r folder; mkfifo folder", true, true),
        ("rm folder/file; mkfifo folder/file", true, true),
        ("mkdir closed; mkfifo closed/pipe; chmod 0 closed", true, true),
        // What is in a cache is not looked at, and may be in the way.
        ("rm .cache; mkdir -p .cache/closed/x; chmod 0 .cache/closed", true, true),
        // Without a ring the home itself may be another: what a link leads to stays.
        ("cd ..; rm -r home; ln -s elsewhere home", true, false),
        ("chmod 0 folder/file folder .", false, true),
    ] {
        let mut shell = std::process::Command::new("/bin/sh");
        assert!(shell.args(["-ec", script]).current_dir(&home).status().unwrap().success(), "{script}");
        assert!(!first.is_still_in(&home), "{script}");
        let after = State::found(&home, Some(&first), false);
        assert_eq!((after.digest != first.digest, after.unseen.is_none()), (changes, is_seen), "{script}");
        is_back(&after, script);
        assert!(elsewhere.join("own").exists(), "{script}");
    }
    remove(&root).unwrap();
}

#[cfg(unix)]
#[test]
fn a_home_is_looked_at_no_further_than_its_bound() {
    let (endless, count) = Content::read(io::repeat(b'x'), 9, true).unwrap();
    assert_eq!((endless.bytes.len(), count), (10, 10));
    let home = std::env::temp_dir().join(format!("hutch-certify-bound-{}", std::process::id()));
    fs::create_dir_all(home.join("folder")).unwrap();
    fs::write(home.join("folder/file"), "one").unwrap();
    let first = State::found(&home, None, true);
    let sparse = |name: &str, bytes| fs::File::create(home.join(name)).unwrap().set_len(bytes).unwrap();
    let names = |many: usize| (0..many).for_each(|name| sparse(&format!("folder/{name}"), 0));
    let within = "one".len() as u64 + 1;
    let is_seen = |is: bool| {
        let after = State::found(&home, Some(&first), false);
        assert_eq!(after.unseen.is_none(), is, "{:?}", after.unseen);
        assert_ne!(after.digest, first.digest);
        // Nothing is held of what is not put back.
        assert!(after.files.values().all(|it| !matches!(it, Entry::File(it) if it.bytes.len() > "one".len())));
        put_back(&home, &after, &first).unwrap();
        assert_eq!(State::found(&home, None, true).digest, first.digest);
    };
    sparse("large", HOME_BYTES_MAX - within);
    is_seen(true);
    sparse("large", HOME_BYTES_MAX);
    is_seen(false);
    sparse("huge", 50 << 30);
    is_seen(false);
    // The folder, its file and these.
    names(HOME_NAMES_MAX - 2);
    is_seen(true);
    names(HOME_NAMES_MAX - 1);
    is_seen(false);
    fs::remove_dir_all(home).unwrap();
}

//! Directories with what should not be there: links out, sockets, taken places, depth.

use super::*;

#[test]
fn links_that_could_leave_are_withheld_and_stay_in_the_state() {
    let setting = Setting::new();
    let outside = setting.home.path().join("secret");
    std::fs::write(&outside, "secret").unwrap();
    put(&setting.store, &[("a", "1"), ("bad", "->../../../../secret"), ("d/bad", "->x/../../.."), ("ok", "->a")]);
    assert_eq!(setting.plain().update().unwrap(), Updated::default());
    assert_eq!(real(&setting.folder()), expected(&[("a", "1"), ("d/", ""), ("ok", "->a")]));
    assert_eq!(setting.check(&["bad", "/", "d/"]), None);
    assert_eq!(setting.status(), []);
    // A link over a file that was ours, and back.
    put(&setting.store, &[("a", "->/etc"), ("bad", "1")]);
    assert_eq!(setting.plain().update().unwrap(), Updated::default());
    assert_eq!(real(&setting.folder()), expected(&[("bad", "1")]));
    assert_eq!(setting.status(), []);
}

/// SQLite looks for a journal by its name, and would wait at a pipe for whoever writes into it.
#[cfg(unix)]
#[test]
fn no_pipe_in_the_place_of_a_journal_is_waited_at() {
    for name in ["hutch.plain-journal", "hutch.db-journal"] {
        let setting = Setting::new();
        put(&setting.store, &[("a", "1")]);
        setting.plain().update().unwrap();
        let path = setting.store.dir().path().join(name);
        let _ = std::fs::remove_file(&path);
        assert!(std::process::Command::new("mkfifo").arg(&path).status().unwrap().success());
        let opening = Opening { if_missing: IfMissing::Fail, wait: Duration::ZERO };
        let refused = match name {
            "hutch.db-journal" => SqliteStore::open(setting.store.dir(), &opening).err(),
            _ => Plain::open(setting.store.dir(), Arc::new(setting.store.clone()), Duration::ZERO).err(),
        };
        assert!(refused.unwrap().to_string().contains("no regular file"), "{name}");
        std::fs::remove_file(&path).unwrap();
        assert_eq!(setting.plain().update().unwrap(), Updated::default());
    }
}

/// A link in the place of a file of ours leads to somebody else's: another instance's ledger, a person's file, or none yet.
#[cfg(unix)]
#[test]
fn nothing_is_written_through_a_link_in_the_place_of_a_file_of_ours() {
    let (setting, other) = (Setting::new(), Setting::new());
    put(&setting.store, &[("a", "1")]);
    put(&other.store, &[("a", "1")]);
    let outside = |name: &str| other.home.path().join(name);
    std::fs::write(outside("mine"), "mine").unwrap();
    let targets = [other.store.dir().database(), outside("mine"), outside("missing")];
    let bytes = || targets.each_ref().map(|target| std::fs::read(target).ok());
    let before = bytes();
    let opening = Opening { if_missing: IfMissing::Fail, wait: Duration::ZERO };
    let refused = |name: &str| match name {
        "hutch.lock" => setting.plain().lock().err(),
        "hutch.grant" => setting.store.dir().try_lock_grants().err(),
        "hutch.db-journal" | "hutch.mark" => SqliteStore::open(setting.store.dir(), &opening).err(),
        "hutch.memo" | "hutch.memo-wal" => setting.store.memo(true).err(),
        _ => Plain::open(setting.store.dir(), Arc::new(setting.store.clone()), Duration::ZERO).err(),
    };
    let names = ["hutch.plain", "hutch.plain-journal", "hutch.memo", "hutch.memo-wal", "hutch.db-journal"];
    for name in names.into_iter().chain(["hutch.lock", "hutch.grant", "hutch.mark"]) {
        let path = setting.store.dir().path().join(name);
        for (target, is_hard) in targets.iter().flat_map(|target| [(target, false), (target, true)]) {
            let _ = std::fs::remove_file(&path);
            match is_hard {
                true if !target.exists() => continue,
                true => std::fs::hard_link(target, &path).unwrap(),
                false => std::os::unix::fs::symlink(target, &path).unwrap(),
            }
            let error = refused(name);
            // An instance without a mark can be used.
            assert!(error.is_some() || (name == "hutch.mark" && is_hard), "{name}, {target:?}, {is_hard}");
            assert!(bytes() == before, "{name}, {target:?}, {is_hard}: it was written");
        }
        let _ = std::fs::remove_file(&path);
    }
    assert_eq!(setting.plain().update().unwrap(), Updated::default());
    assert_eq!((setting.store.check().unwrap(), other.store.check().unwrap()), (vec![], vec![]));
}

/// What somebody put in the place of the stamps is no file of ours that is damaged.
#[test]
fn what_is_not_known_as_ours_is_kept_where_a_person_finds_it_and_never_written() {
    let other = Setting::new();
    let foreign = other.home.path().join("foreign.db");
    rusqlite::Connection::open(&foreign).unwrap().execute_batch("CREATE TABLE mine (x)").unwrap();
    let read = |path: &Path| std::fs::read(path).unwrap();
    for content in [read(&foreign), read(&other.store.dir().database()), b"mine, and no database".repeat(100)] {
        let setting = Setting::new();
        put(&setting.store, &[("a", "1")]);
        setting.plain().update().unwrap();
        let at = |name: &str| setting.store.dir().path().join(name);
        std::fs::write(at("hutch.plain"), &content).unwrap();
        assert!(setting.plain().update().unwrap().left.is_empty());
        assert_eq!(real(&setting.folder()), expected(&[("a", "1")]));
        let kept = || std::fs::read_dir(at("hutch.saved")).unwrap().map(|entry| read(&entry.unwrap().path()));
        assert!(kept().any(|kept| kept == content), "it was written, or is gone");
        let count = kept().count();
        setting.plain().update().unwrap();
        assert_eq!(kept().count(), count, "ours is not known as ours");
    }
}

#[test]
fn stamps_of_an_earlier_version_are_known_as_ours() {
    let setting = Setting::new();
    put(&setting.store, &[("a", "1")]);
    setting.plain().update().unwrap();
    let file = rusqlite::Connection::open(setting.store.dir().path().join("hutch.plain")).unwrap();
    file.execute_batch("PRAGMA application_id = 0").unwrap();
    assert!(setting.plain().stamps.shown(&name()).unwrap().is_some());
    let id: i32 = file.query_row("PRAGMA application_id", (), |row| row.get(0)).unwrap();
    assert_ne!(id, 0);
}

/// A shell that enters the directory, an editor that opens it: nothing of a run's is there for them.
#[test]
fn what_tools_act_on_is_never_shown_and_stays_in_the_state() {
    let setting = Setting::new();
    let hidden = [
        (".envrc", "1"),
        ("d/.git/config", "1"),
        ("d/.git/hooks/pre-commit", "1"),
        ("d/HEAD", "1"),
        ("x.Desktop", "->a"),
    ];
    let files = [&[("a", "1"), ("d/a", "1")][..], &hidden].concat();
    put(&setting.store, &files);
    assert_eq!(setting.plain().update().unwrap(), Updated::default());
    assert_eq!(real(&setting.folder()), expected(&[("a", "1"), ("d/a", "1")]));
    // That nothing stands there is nobody's edit.
    assert_eq!((setting.status(), setting.skipped()), (vec![], vec![]));
    assert_eq!(setting.check(&[".envrc", "d/.git/config", "d/.git/hooks/", "/", "d/"]), None);
    assert_eq!(setting.restarted().update().unwrap(), Updated::default());
    // A person has such files there too: they are theirs, whatever the state has under the same names.
    let own = ["d/.git/config", ".envrc", ".DS_Store", "d/.git/own"];
    for path in own {
        std::fs::create_dir_all(setting.folder().join(path).parent().unwrap()).unwrap();
        std::fs::write(setting.folder().join(path), "mine").unwrap();
    }
    std::fs::write(setting.folder().join("d/a"), "2").unwrap();
    assert_eq!(setting.check(&[".envrc", "d/.git/config", "d/.git/", "/"]), None);
    assert_eq!(setting.adopt(), [("d/a".to_owned(), Change::Modified)]);
    assert_eq!(setting.skipped(), [".DS_Store", ".envrc", "d/.git"]);
    let now = state(&setting.store).unwrap();
    let told = hidden[..4].iter().map(|(path, _)| text(&*setting.store.objects(), &now, path));
    assert!(told.eq(vec![Some("1".to_owned()); 4]), "an edit beside them takes them along");
    for after in [&[(".envrc", "3"), ("d/.git/config", "3"), ("d/a", "3")][..], &[("d", "no folder any more")], &[]] {
        put(&setting.store, after);
        let (updated, restarted) = (setting.plain().update(), setting.restarted().update());
        assert!(updated.is_ok() && restarted.is_ok(), "{updated:?} {restarted:?}");
        for path in own {
            assert_eq!(std::fs::read_to_string(setting.folder().join(path)).unwrap(), "mine", "{after:?}");
        }
    }
}

/// Nor is a volume that is called so.
#[test]
fn a_volume_that_tools_would_act_on_has_no_directory() {
    let setting = Setting::new();
    put(&setting.store, &[("a", "1")]);
    let mut run = record(EntryKind::Run, 1);
    let tree = state(&setting.store).unwrap();
    run.volumes = BTreeMap::from([(".git".to_owned(), VolumeRecord::new(None, tree, Changes::default()))]);
    run.kept = true;
    setting.store.commit(&run, &no_objects(), &[]).unwrap();
    assert_eq!(setting.plain().update().unwrap(), Updated::default());
    assert!(setting.folder().join("a").exists() && !setting.store.dir().path().join(".git").exists());
    assert!(setting.plain().import(&".git".parse().unwrap(), &BOUNDS).unwrap().is_none());
}

/// What a person may start is replaced by what nobody may.
#[test]
fn a_file_that_a_run_changed_may_not_be_started() {
    use std::os::unix::fs::PermissionsExt;
    let setting = Setting::new();
    put(&setting.store, &[("script", "1")]);
    setting.plain().update().unwrap();
    let script = setting.folder().join("script");
    std::fs::set_permissions(&script, std::fs::Permissions::from_mode(0o755)).unwrap();
    assert_eq!(setting.adopt(), []);
    put(&setting.store, &[("script", "2")]);
    setting.plain().update().unwrap();
    assert_eq!(std::fs::read_to_string(&script).unwrap(), "2");
    assert_eq!(std::fs::metadata(&script).unwrap().permissions().mode() & 0o111, 0);
}

/// Of what is new nobody has said yet who may use it.
#[cfg(unix)]
#[test]
fn a_file_that_a_run_changed_is_for_whom_it_was() {
    use std::os::unix::fs::PermissionsExt;
    let setting = Setting::new();
    let mode = |name: &str| std::fs::metadata(setting.folder().join(name)).unwrap().permissions().mode() & 0o777;
    put(&setting.store, &[("a", "1"), ("b", "1")]);
    setting.plain().update().unwrap();
    for (one, other) in [(0o600, 0o640), (0o664, 0o400)] {
        for (name, mode) in [("a", one), ("b", other)] {
            let rights = std::fs::Permissions::from_mode(mode);
            std::fs::set_permissions(setting.folder().join(name), rights).unwrap();
        }
        for content in ["2", "3"] {
            put(&setting.store, &[("a", content), ("b", content), ("new", content)]);
            assert_eq!(setting.plain().update().unwrap(), Updated::default());
            assert_eq!(real(&setting.folder()), expected(&[("a", content), ("b", content), ("new", content)]));
            assert_eq!((mode("a"), mode("b")), (one, other));
        }
    }
    assert_eq!(setting.status(), []);
}

#[test]
fn no_link_is_followed_out_of_a_volume() {
    let setting = Setting::new();
    let outside = setting.home.path().join("outside");
    std::fs::create_dir(&outside).unwrap();
    std::fs::write(outside.join("x"), "precious").unwrap();
    put(&setting.store, &[("d/x", "1"), ("d/y", "2")]);
    setting.plain().update().unwrap();
    // Somebody puts a link where a folder of ours was.
    std::fs::remove_dir_all(setting.folder().join("d")).unwrap();
    std::os::unix::fs::symlink(&outside, setting.folder().join("d")).unwrap();
    put(&setting.store, &[("d/x", "3"), ("d/z", "4")]);
    let updated = setting.plain().update().unwrap();
    assert!(!updated.left.is_empty());
    assert_eq!(real(&outside), expected(&[("x", "precious")]));
    assert_eq!(setting.skipped(), ["d"]);
    assert!(setting.status().iter().all(|(path, change)| path.starts_with('d') && *change == Change::Removed));
    // And where the volume itself was.
    std::fs::remove_dir_all(setting.folder()).unwrap();
    std::os::unix::fs::symlink(&outside, setting.folder()).unwrap();
    assert!(matches!(setting.plain().update(), Ok(_) | Err(StoreError::Refused { .. })));
    put(&setting.store, &[("x", "5")]);
    assert!(matches!(setting.plain().update().unwrap_err(), StoreError::Refused { .. }));
    assert_eq!(real(&outside), expected(&[("x", "precious")]));
}

/// An editor's lock link, a pipe, a name that is not UTF-8: none of them blocks an import, a look or an update, and none is touched.
#[test]
fn what_no_state_can_hold_is_skipped_named_and_left() {
    use std::os::unix::ffi::OsStrExt;
    let setting = Setting::new();
    put(&setting.store, &[("d/a", "1"), ("d/b", "1")]);
    setting.plain().update().unwrap();
    let at = |name: &str| setting.folder().join(name);
    let no_text = setting.folder().join(std::ffi::OsStr::from_bytes(b"d/x\xff"));
    std::os::unix::fs::symlink("me@host.1:2", at("d/.#a")).unwrap();
    let _socket = std::os::unix::net::UnixListener::bind(at("d/socket")).unwrap();
    std::fs::write(&no_text, "1").unwrap();
    assert!(!setting.plain().import(&name(), &BOUNDS).unwrap().unwrap().is_edit(), "none of it is an edit");
    assert_eq!(setting.check(&["d/", "d/.#a", "d/socket"]), None);
    assert_eq!(setting.skipped(), ["d/x\u{fffd}", "d/.#a", "d/socket"]);
    assert_eq!(setting.status(), []);
    // An edit beside them is taken in, and an update goes on around them.
    std::fs::write(at("d/a"), "mine").unwrap();
    assert_eq!(setting.adopt(), [("d/a".to_owned(), Change::Modified)]);
    put(&setting.store, &[("d/a", "2"), ("d/socket", "3")]);
    let left: Vec<_> = setting.plain().update().unwrap().left.into_iter().map(|(_, path)| path).collect();
    assert_eq!(left, ["d/socket"]);
    put(&setting.store, &[]);
    setting.plain().update().unwrap();
    assert!(at("d/.#a").is_symlink() && at("d/socket").exists() && no_text.exists());
    assert!(!at("d/a").exists());
    // What stands where a file of the state was is an edit, though no state can hold it: the file is gone.
    put(&setting.store, &[("e/f", "1")]);
    setting.plain().update().unwrap();
    std::fs::remove_file(at("e/f")).unwrap();
    let _socket = std::os::unix::net::UnixListener::bind(at("e/f")).unwrap();
    assert_eq!(setting.check(&["e/f"]), Some(("e/f".to_owned(), Change::Modified)));
    let changes = [("d".to_owned(), Change::Added), ("e/f".to_owned(), Change::Removed)];
    assert_eq!(setting.status(), changes, "the folder that could not be removed is there again");
}

/// What is saved between the look at a file and its replacement stays.
#[test]
fn what_a_person_saves_in_the_last_moment_stays() {
    for (path, after) in [("a", &[("a", "2")][..]), ("a", &[]), ("new", &[("a", "1"), ("new", "2")])] {
        let setting = Setting::new();
        put(&setting.store, &[("a", "1")]);
        setting.plain().update().unwrap();
        put(&setting.store, after);
        let target = setting.folder().join(path);
        let saved = Arc::new(AtomicU64::new(0));
        let (count, to) = (saved.clone(), target.clone());
        let hands = Hands::checked(move |step| {
            if step == hutch_folder::Step::Move && count.fetch_add(1, Ordering::Relaxed) == 0 {
                std::fs::write(&to, "mine")?;
            }
            Ok(())
        });
        let updated = Plain { hands, ..setting.plain() }.update().unwrap();
        let left: Vec<_> = updated.left.iter().map(|(_, path)| path.as_str()).collect();
        assert_eq!((left, std::fs::read_to_string(&target).unwrap().as_str()), (vec![path], "mine"), "{after:?}");
        assert!(saved.load(Ordering::Relaxed) > 0);
        setting.adopt();
        let now = state(&setting.store).unwrap();
        assert_eq!(text(&*setting.store.objects(), &now, path).as_deref(), Some("mine"));
    }
}

/// Stamps are made anew from the directory; damaged ones too.
#[test]
fn damaged_stamps_cost_a_look_and_nothing_else() {
    for damage in ["", "SQLite format 3\0 and nonsense", "\0\0\0\0"] {
        let setting = Setting::new();
        put(&setting.store, &[("a", "1"), ("d/b", "2")]);
        setting.plain().update().unwrap();
        std::fs::write(setting.folder().join("a"), "mine").unwrap();
        std::fs::write(setting.store.dir().path().join("hutch.plain"), damage.repeat(50)).unwrap();
        let left: Vec<_> = setting.plain().update().unwrap().left.into_iter().map(|(_, path)| path).collect();
        assert_eq!(left, ["a"], "{damage:?}");
        assert_eq!(setting.check(&["d/b"]), None);
        assert_eq!(setting.adopt(), [("a".to_owned(), Change::Modified)]);
    }
}

#[test]
fn whoever_finds_the_lock_taken_leaves_the_work_to_its_holder() {
    let setting = Setting::new();
    put(&setting.store, &[("a", "1")]);
    let holder = setting.plain();
    let lock = holder.try_lock().unwrap().unwrap();
    assert!(setting.plain().update().unwrap().elsewhere);
    assert!(!setting.folder().exists());
    drop(lock);
    assert!(!setting.plain().update().unwrap().elsewhere);
    assert_eq!(real(&setting.folder()), expected(&[("a", "1")]));
}

#[test]
fn deep_volumes_come_and_go() {
    let setting = Setting::new();
    let deep = vec!["d"; 300].join("/") + "/x";
    put(&setting.store, &[(&deep, "1")]);
    setting.plain().update().unwrap();
    let bounds = Bounds { depth: 400, ..BOUNDS };
    assert!(setting.plain().status(&name(), &bounds).unwrap().0.is_empty());
    assert_eq!(setting.check(&[&deep]), None);
    put(&setting.store, &[]);
    setting.plain().update().unwrap();
    assert_eq!(real(&setting.folder()), expected(&[]));
}

/// It is neither taken for removed nor overwritten, and stands in no other file's way.
#[cfg(unix)]
#[test]
fn what_the_user_may_not_read_stays_in_folder_and_state_and_is_named() {
    use std::os::unix::fs::PermissionsExt;
    let setting = Setting::new();
    put(&setting.store, &[("a", "one"), ("b", "two"), ("d/c", "three"), ("n/x", "four")]);
    setting.plain().update().unwrap();
    let at = |name: &str| setting.folder().join(name);
    let set = |name: &str, mode| std::fs::set_permissions(at(name), std::fs::Permissions::from_mode(mode)).unwrap();
    std::fs::write(at("mine"), "mine").unwrap();
    std::fs::create_dir(at("own")).unwrap();
    for name in ["a", "d", "mine", "own"] {
        set(name, 0);
    }
    set("n", 0o444);
    // Who is root reads everything.
    if std::fs::read(at("mine")).is_ok() {
        return;
    }
    std::fs::write(at("b"), "edited").unwrap();
    assert_eq!(setting.adopt(), [("b".to_owned(), Change::Modified)]);
    assert_eq!(setting.skipped(), ["a", "d", "mine", "n", "own"]);
    assert_eq!(setting.status(), []);
    assert_eq!(setting.check(&["mine", "own"]), None);
    put(&setting.store, &[("a", "one"), ("b", "three"), ("d/c", "three"), ("n/x", "four"), ("mine", "xxxx")]);
    let left: Vec<_> = setting.plain().update().unwrap().left.into_iter().map(|(_, path)| path).collect();
    assert_eq!(left, ["mine"]);
    for name in ["a", "mine"] {
        set(name, 0o644);
    }
    for name in ["d", "own", "n"] {
        set(name, 0o755);
    }
    assert_eq!(std::fs::read_to_string(at("mine")).unwrap(), "mine");
    assert_eq!(std::fs::read_to_string(at("b")).unwrap(), "three");
    let adopted = setting.adopt();
    assert_eq!(adopted, [("mine".to_owned(), Change::Modified), ("own".to_owned(), Change::Added)]);
}

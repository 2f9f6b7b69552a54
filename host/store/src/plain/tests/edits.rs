//! What others change in a directory is noticed, kept, and can become the state.

use super::*;

#[test]
fn edits_are_noticed_where_a_run_touched_and_nowhere_else() {
    let setting = Setting::new();
    put(&setting.store, &[("a", "1"), ("b", "2"), ("d/x", "3"), ("d/y", "4"), ("e/", ""), ("l", "->a")]);
    setting.plain().update().unwrap();
    let at = |path: &str| setting.folder().join(path);
    let everything = ["a", "b", "c", "d/x", "d/y", "d/z", "e/f", "l", "n/m", "/", "d/", "e/", "n/"];
    assert_eq!(setting.check(&everything), None);

    std::fs::write(at("a"), "9").unwrap();
    std::fs::remove_file(at("d/x")).unwrap();
    std::fs::write(at("e/f"), "new").unwrap();
    std::fs::remove_file(at("l")).unwrap();
    std::os::unix::fs::symlink("b", at("l")).unwrap();
    type Case<'a> = (&'a [&'a str], Option<(&'a str, Change)>);
    let cases: &[Case<'_>] = &[
        (&["b", "d/y", "nothing"], None),
        (&["a"], Some(("a", Change::Modified))),
        (&["b", "d/y", "a"], Some(("a", Change::Modified))),
        (&["d/x"], Some(("d/x", Change::Removed))),
        (&["e/f"], Some(("e/f", Change::Added))),
        (&["e/f/g"], Some(("e/f", Change::Added))),
        (&["l"], Some(("l", Change::Modified))),
        (&["d/"], Some(("d/x", Change::Removed))),
        (&["e/"], Some(("e/f", Change::Added))),
        (&["/"], None),
    ];
    for (touched, expect) in cases {
        let expect = expect.map(|(path, change)| (path.to_owned(), change));
        assert_eq!(setting.check(touched), expect, "{touched:?}");
    }
    let all = [("a", Change::Modified), ("d/x", Change::Removed), ("e/f", Change::Added), ("l", Change::Modified)];
    let all = all.map(|(path, change)| (path.to_owned(), change));
    assert!(setting.check(&everything).is_some());
    assert_eq!(setting.status(), all);
    assert_eq!(setting.adopt(), all);
    assert_eq!(setting.check(&everything), None);
    assert_eq!(setting.status(), []);
    let now = state(&setting.store).unwrap();
    assert_eq!(text(&*setting.store.objects(), &now, "a").as_deref(), Some("9"));
    assert_eq!(text(&*setting.store.objects(), &now, "e/f").as_deref(), Some("new"));
    assert_eq!(setting.store.check().unwrap(), []);
}

#[test]
fn an_edit_that_keeps_size_and_time_is_noticed() {
    let setting = Setting::new();
    put(&setting.store, &[("a", "1")]);
    setting.plain().update().unwrap();
    let path = setting.folder().join("a");
    let modified = std::fs::metadata(&path).unwrap().modified().unwrap();
    std::fs::write(&path, "2").unwrap();
    std::fs::File::options().write(true).open(&path).unwrap().set_modified(modified).unwrap();
    assert_eq!(setting.check(&["a"]), Some(("a".to_owned(), Change::Modified)));
}

#[test]
fn another_time_alone_is_no_edit_and_is_learned() {
    let setting = Setting::new();
    put(&setting.store, &[("a", "1")]);
    setting.plain().update().unwrap();
    let file = std::fs::File::options().write(true).open(setting.folder().join("a")).unwrap();
    file.set_modified(std::time::UNIX_EPOCH).unwrap();
    assert_eq!(setting.check(&["a"]), None);
    let plain = setting.plain();
    let mark = || plain.stamps.one(plain.stamps.top(&name()).unwrap().unwrap(), "a").unwrap();
    let before = mark();
    assert_eq!(setting.status(), [], "a look");
    assert_eq!(mark(), before, "a look is learned from");
    assert!(!plain.import(&name(), &BOUNDS).unwrap().unwrap().is_edit());
    // The file was changed a moment ago, and may be again and look the same: its look is not remembered.
    assert_eq!(mark(), before);
    let stamp = look(&plain.root(&name(), false).unwrap().unwrap(), "a").unwrap().unwrap();
    // The longest step of a file system's clock later it can't.
    let plain = Plain { now_ns: || now_ns() + 3_500_000_000, ..setting.plain() };
    let mark = || plain.stamps.one(plain.stamps.top(&name()).unwrap().unwrap(), "a").unwrap();
    assert!(!plain.import(&name(), &BOUNDS).unwrap().unwrap().is_edit());
    assert!(matches!(mark(), Some(stamps::Mark::Seen(seen, _)) if seen == stamp));
}

#[test]
fn an_update_leaves_edits_alone_and_says_so() {
    let setting = Setting::new();
    put(&setting.store, &[("a", "1"), ("b", "1"), ("d/x", "1"), ("f/x", "1"), ("same", "1")]);
    setting.plain().update().unwrap();
    let at = |path: &str| setting.folder().join(path);
    std::fs::write(at("a"), "mine").unwrap();
    std::fs::write(at("b"), "mine too").unwrap();
    std::fs::write(at("new"), "mine as well").unwrap();
    std::fs::write(at("d/mine"), "in a folder that goes").unwrap();
    std::fs::write(at("f/mine"), "in a folder that becomes a file").unwrap();
    std::fs::write(at("same"), "2").unwrap();
    put(&setting.store, &[("a", "2"), ("f", "2"), ("new", "2"), ("same", "2"), ("other", "2")]);
    let updated = setting.plain().update().unwrap();
    let left: Vec<_> = updated.left.iter().map(|(_, path)| path.as_str()).collect();
    assert_eq!(left, ["a", "b", "d", "f", "new"]);
    let there = expected(&[
        ("a", "mine"),
        ("b", "mine too"),
        ("d/mine", "in a folder that goes"),
        ("f/mine", "in a folder that becomes a file"),
        ("new", "mine as well"),
        ("other", "2"),
        ("same", "2"),
    ]);
    assert_eq!(real(&setting.folder()), there);
    setting.adopt();
    assert_eq!(real(&setting.folder()), there);
    assert_eq!(setting.status(), []);
}

#[test]
fn a_directory_that_is_gone_is_written_anew() {
    let setting = Setting::new();
    put(&setting.store, &[("a", "1"), ("d/b", "2")]);
    setting.plain().update().unwrap();
    std::fs::remove_dir_all(setting.folder()).unwrap();
    assert_eq!(setting.check(&["a"]), None);
    assert_eq!(setting.plain().update().unwrap(), Updated::default());
    assert_eq!(real(&setting.folder()), expected(&[("a", "1"), ("d/b", "2")]));
}

/// A commit between the look at a directory and the entry about it: the entry says from which state it starts, so it is refused, and
/// looking again takes in the edit and nothing else.
#[test]
fn an_edit_never_undoes_a_commit() {
    let setting = Setting::new();
    put(&setting.store, &[("a", "1"), ("b", "1")]);
    let plain = setting.plain();
    plain.update().unwrap();
    std::fs::write(setting.folder().join("new"), "mine").unwrap();
    let imported = plain.import(&name(), &BOUNDS).unwrap().unwrap();
    let run = put(&setting.store, &[("a", "2"), ("b", "2")]);
    let mut edit = record(EntryKind::Edit, 1);
    let volume = VolumeRecord::new(imported.base(), imported.tree(), Default::default());
    (edit.volumes, edit.kept) = (BTreeMap::from([("state".to_owned(), volume)]), true);
    let error = setting.store.commit(&edit, &imported, &[]).unwrap_err();
    assert!(matches!(error, StoreError::Conflict { .. }), "{error}");
    assert_eq!(state(&setting.store), Some(run));
    assert_eq!(setting.adopt(), [("new".to_owned(), Change::Added)]);
    let now = state(&setting.store).unwrap();
    for (path, content) in [("a", "2"), ("b", "2"), ("new", "mine")] {
        assert_eq!(text(&*setting.store.objects(), &now, path).as_deref(), Some(content));
    }
}

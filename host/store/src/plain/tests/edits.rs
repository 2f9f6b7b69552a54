//! What others change in a directory is noticed, kept, and can become the state.

use super::*;

#[test]
fn edits_are_noticed_where_a_run_touched_and_nowhere_else() {
    let setting = Setting::new();
    put(&setting.store, &[("a", "1"), ("b", "2"), ("d/x", "3"), ("d/y", "4"), ("e/", ""), ("l", "->a")]);
    setting.plain().update().unwrap();
    let at = |path: &str| setting.folder().join(path);
    let everything = ["a", "b", "c", "d/x", "d/y", "d/z", "e/f", "l", "n/m"].map(Touch::Path).into_iter();
    let everything: Vec<_> = everything.chain(["", "d", "e", "n"].map(Touch::Folder)).collect();
    assert_eq!(setting.check(&everything), []);

    std::fs::write(at("a"), "9").unwrap();
    std::fs::remove_file(at("d/x")).unwrap();
    std::fs::write(at("e/f"), "new").unwrap();
    std::fs::remove_file(at("l")).unwrap();
    std::os::unix::fs::symlink("b", at("l")).unwrap();
    type Case<'a> = (&'a [Touch<'a>], &'a [(&'a str, Change)]);
    let cases: &[Case<'_>] = &[
        (&[Touch::Path("b"), Touch::Path("d/y"), Touch::Path("nothing")], &[]),
        (&[Touch::Path("a")], &[("a", Change::Modified)]),
        (&[Touch::Path("d/x")], &[("d/x", Change::Removed)]),
        (&[Touch::Path("e/f")], &[("e/f", Change::Added)]),
        (&[Touch::Path("e/f/g")], &[("e/f", Change::Added)]),
        (&[Touch::Path("l")], &[("l", Change::Modified)]),
        (&[Touch::Folder("d")], &[("d/x", Change::Removed)]),
        (&[Touch::Folder("e")], &[("e/f", Change::Added)]),
        (&[Touch::Folder("")], &[]),
    ];
    for (touched, expect) in cases {
        let expect: Vec<_> = expect.iter().map(|(path, change)| ((*path).to_owned(), *change)).collect();
        assert_eq!(setting.check(touched), expect, "{touched:?}");
    }
    let all = [("a", Change::Modified), ("d/x", Change::Removed), ("e/f", Change::Added), ("l", Change::Modified)];
    let all = all.map(|(path, change)| (path.to_owned(), change));
    assert_eq!(setting.check(&everything), all);
    assert_eq!(setting.status(), all);
    assert_eq!(setting.adopt(), all);
    assert_eq!(setting.check(&everything), []);
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
    assert_eq!(setting.check(&[Touch::Path("a")]), [("a".to_owned(), Change::Modified)]);
}

#[test]
fn another_time_alone_is_no_edit_and_is_learned() {
    let setting = Setting::new();
    put(&setting.store, &[("a", "1")]);
    setting.plain().update().unwrap();
    let file = std::fs::File::options().write(true).open(setting.folder().join("a")).unwrap();
    file.set_modified(std::time::UNIX_EPOCH).unwrap();
    assert_eq!(setting.check(&[Touch::Path("a")]), []);
    let plain = setting.plain();
    let mark = || setting.store.pool().sql(|connection| stamps::one(connection, &name(), "", "a")).unwrap();
    let before = mark();
    assert_eq!(setting.status(), [], "a look");
    assert_eq!(mark(), before, "a look is learned from");
    assert!(plain.import(&name(), &BOUNDS).unwrap().is_none());
    let stamp = disk::look(&plain.root(&name(), false).unwrap().unwrap(), "a").unwrap().unwrap();
    assert_eq!(mark(), Some(stamps::Mark::Seen(stamp)));
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
    assert_eq!(setting.check(&[Touch::Path("a")]), []);
    assert_eq!(setting.plain().update().unwrap(), Updated::default());
    assert_eq!(real(&setting.folder()), expected(&[("a", "1"), ("d/b", "2")]));
}

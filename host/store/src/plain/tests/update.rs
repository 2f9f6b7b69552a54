//! Cut off anywhere, an update is finished by the next one.

use super::*;

/// Pairs of volumes between which everything happens that can.
const JOURNEYS: &[(Files<'_>, Files<'_>)] = &[
    (&[], &[("a", "1")]),
    (&[("a", "1")], &[]),
    (&[("a", "1")], &[("a", "2"), ("b", "3")]),
    (&[("a", "file")], &[("a/b/c", "deep"), ("a/d/", "")]),
    (&[("a/b/c", "deep"), ("a/d/", "")], &[("a", "file")]),
    (&[("a", "->b"), ("b", "1")], &[("a", "1"), ("b", "->a")]),
    (&[("a/x", "1"), ("b", "->a")], &[("a", "->b/x"), ("b/x", "2")]),
    (&[("d/1", "1"), ("d/2", "2"), ("e/1", "1")], &[("d/2", "2"), ("d/3", "3"), ("f/1", "1")]),
    (
        &[("0", "a"), ("1", "a"), ("2", "a"), ("3", "a"), ("4", "a"), ("5", "a")],
        &[
            ("0", "b"),
            ("1", "b"),
            ("2", "b"),
            ("3", "b"),
            ("4", "b"),
            ("5", "b"),
            ("6", "b"),
            ("7", "b"),
            ("8", "b"),
            ("9", "b"),
        ],
    ),
];

#[test]
fn an_update_cut_off_at_any_step_is_finished_by_the_next() {
    for (before, after) in JOURNEYS {
        let setting = Setting::new();
        let mut cuts = 0;
        for step in 1.. {
            put(&setting.store, before);
            assert_eq!(setting.plain().update().unwrap(), Updated::default());
            assert_eq!(real(&setting.folder()), expected(before));
            put(&setting.store, after);
            let (plain, _) = setting.failing(Fault::From(step));
            if plain.update().is_ok() {
                break;
            }
            cuts += 1;
            // Whoever looks now sees no edit: all that stands there is ours.
            let touched: Vec<_> = before.iter().chain(*after).map(|(path, _)| path.trim_end_matches('/')).collect();
            assert_eq!(setting.check(&touched), None, "{before:?} -> {after:?}, cut at {step}");
            assert_eq!(setting.plain().update().unwrap(), Updated::default());
            assert_eq!(real(&setting.folder()), expected(after), "{before:?} -> {after:?}, cut at {step}");
            assert_eq!(setting.status(), []);
        }
        assert!(cuts >= 1, "{before:?} -> {after:?} took {cuts} steps");
    }
}

/// As one that is cut off: each goes on from there, and what stands there meanwhile is nobody's edit.
#[test]
fn an_update_that_has_no_time_for_all_leaves_the_rest_to_the_next() {
    fn ticking() -> u64 {
        static NOW: AtomicU64 = AtomicU64::new(0);
        NOW.fetch_add(1, Ordering::Relaxed)
    }
    for (before, after) in JOURNEYS {
        let setting = Setting::new();
        put(&setting.store, before);
        setting.plain().update().unwrap();
        put(&setting.store, after);
        let touched: Vec<_> = before.iter().chain(*after).map(|(path, _)| path.trim_end_matches('/')).collect();
        let mut cuts = 0;
        for ticks in 1.. {
            let plain = Plain { passed_ns: ticking, ..setting.plain() };
            let updated = plain.update_within(Duration::from_nanos(ticks)).unwrap();
            assert_eq!(Updated { behind: false, ..updated.clone() }, Updated::default());
            if !updated.behind {
                break;
            }
            cuts += 1;
            assert_eq!(setting.check(&touched), None, "{before:?} -> {after:?}, after {ticks}");
        }
        assert!(cuts >= 1, "{before:?} -> {after:?}");
        assert_eq!(real(&setting.folder()), expected(after), "{before:?} -> {after:?}, in {cuts}");
        assert_eq!(setting.status(), []);
    }
    // After another start of the machine all is looked at, and that once.
    let setting = Setting::new();
    put(&setting.store, &[("a", "1"), ("b", "1")]);
    let restarted = Plain { passed_ns: ticking, ..setting.restarted() };
    assert_eq!(restarted.update_within(Duration::ZERO).unwrap(), Updated::default());
    assert_eq!(real(&setting.folder()), expected(&[("a", "1"), ("b", "1")]));
    // Somebody sets the machine's clock meanwhile.
    put(&setting.store, &[("a", "2"), ("b", "2")]);
    fn leaping() -> u64 {
        static NOW: AtomicU64 = AtomicU64::new(1);
        NOW.fetch_add(1 << 50, Ordering::Relaxed)
    }
    let plain = Plain { now_ns: leaping, ..setting.plain() };
    assert_eq!(plain.update_within(Duration::from_secs(3600)).unwrap(), Updated::default());
    assert_eq!(real(&setting.folder()), expected(&[("a", "2"), ("b", "2")]));
}

#[test]
fn an_update_whose_time_is_over_when_it_begins_changes_nothing_and_says_so() {
    fn standing() -> u64 {
        7
    }
    let setting = Setting::new();
    put(&setting.store, &[("a", "1"), ("b", "1")]);
    setting.plain().update().unwrap();
    put(&setting.store, &[("a", "2"), ("c/d", "2")]);
    let plain = Plain { passed_ns: standing, ..setting.plain() };
    assert_eq!(plain.update_within(Duration::ZERO).unwrap(), Updated { behind: true, ..Updated::default() });
    assert_eq!(real(&setting.folder()), expected(&[("a", "1"), ("b", "1")]));
    assert_eq!(setting.check(&["a", "b", "c/d"]), None, "what stands there is nobody's edit");
    assert_eq!(plain.update_within(Duration::from_nanos(1)).unwrap(), Updated::default());
    assert_eq!(real(&setting.folder()), expected(&[("a", "2"), ("c/d", "2")]));
}

#[test]
fn an_update_that_is_cut_off_and_overtaken_ends_at_the_last_state() {
    let last: Files<'_> = &[("a/b", "->c"), ("d", "last"), ("z", "1")];
    for (before, after) in JOURNEYS {
        let setting = Setting::new();
        for step in 1.. {
            put(&setting.store, before);
            assert_eq!(setting.plain().update().unwrap(), Updated::default());
            put(&setting.store, after);
            let whole = setting.failing(Fault::From(step)).0.update().is_ok();
            put(&setting.store, last);
            // Cut off once more on the way to the last state, two steps further each time.
            let _ = setting.failing(Fault::From(step + 1)).0.update();
            assert_eq!(setting.plain().update().unwrap(), Updated::default(), "{before:?} -> {after:?}, cut at {step}");
            assert_eq!(real(&setting.folder()), expected(last), "{before:?} -> {after:?}, cut at {step}");
            assert_eq!(setting.status(), []);
            if whole {
                break;
            }
        }
    }
}

#[test]
fn one_failing_step_is_an_error_with_its_path_and_the_next_update_goes_on() {
    for (before, after) in JOURNEYS {
        let setting = Setting::new();
        for step in 1.. {
            put(&setting.store, before);
            setting.plain().update().unwrap();
            put(&setting.store, after);
            let (plain, _) = setting.failing(Fault::Only(step));
            match plain.update() {
                Ok(_) => break,
                Err(error) => {
                    assert!(matches!(error, StoreError::Failed { .. }), "{error}");
                    assert!(error.to_string().starts_with(setting.home.path().to_str().unwrap()), "{error}");
                }
            }
            // The same process goes on.
            assert_eq!(plain.update().unwrap(), Updated::default());
            assert_eq!(real(&setting.folder()), expected(after), "{before:?} -> {after:?}, failed at {step}");
        }
    }
}

#[test]
fn times_are_the_snapshots() {
    let setting = Setting::new();
    put(&setting.store, &[("d/a", "12345"), ("l", "->d/a")]);
    setting.plain().update().unwrap();
    let modified = |path: &str| {
        let metadata = std::fs::symlink_metadata(setting.folder().join(path)).unwrap();
        metadata.modified().unwrap().duration_since(std::time::UNIX_EPOCH).unwrap().as_nanos()
    };
    assert_eq!([modified("d/a"), modified("d"), modified("l")], [1_000_000_005, 2_000_000_000, 1_000_000_005]);
}

#[test]
fn nothing_is_written_where_nothing_changed() {
    let setting = Setting::new();
    put(&setting.store, &[("a", "1"), ("b", "2")]);
    setting.plain().update().unwrap();
    let looks = || [look(&setting.plain().root(&name(), false).unwrap().unwrap(), "a").unwrap()];
    let before = looks();
    put(&setting.store, &[("a", "1"), ("b", "3")]);
    setting.plain().update().unwrap();
    assert_eq!(looks(), before);
    let (plain, steps) = setting.failing(Fault::None);
    plain.update().unwrap();
    assert_eq!(steps.load(Ordering::Relaxed), 0);
}

/// A file and a link with the same text are two things.
#[test]
fn a_file_becomes_a_link_and_a_link_a_file() {
    let setting = Setting::new();
    for content in ["b", "->b", "b", "->c"] {
        put(&setting.store, &[("a", content), ("b", "1"), ("c", "1")]);
        assert_eq!(setting.plain().update().unwrap(), Updated::default());
        assert_eq!(real(&setting.folder()), expected(&[("a", content), ("b", "1"), ("c", "1")]));
        assert_eq!(setting.check(&["a", "/"]), None);
    }
}

/// What is known of a directory lies beside it, is not durable, and is no part of the store.
#[test]
fn stamps_that_are_damaged_anywhere_are_begun_anew() {
    let names: Vec<String> = (0..300).map(|at| format!("file-{at:04}")).collect();
    let files: Vec<(&str, &str)> = names.iter().map(|name| (name.as_str(), "1")).collect();
    let setting = Setting::new();
    put(&setting.store, &files);
    setting.plain().update().unwrap();
    let path = setting.store.dir().path().join("hutch.plain");
    for page in 1..8 {
        let mut torn = std::fs::read(&path).unwrap();
        assert!(torn.len() >= 8 * 4096, "{}", torn.len());
        torn[page * 4096..(page + 1) * 4096].fill(0xa5);
        std::fs::write(&path, torn).unwrap();
        assert_eq!(setting.check(&["file-0007", "/"]), None, "{page}");
        put(&setting.store, &[&files[..], &[("new", &page.to_string())]].concat());
        assert_eq!(setting.plain().update().unwrap(), Updated::default(), "{page}");
        assert_eq!(real(&setting.folder())["new"], page.to_string());
        assert_eq!(setting.status(), []);
    }
}

/// An update that was cut off, and whose aim was collected meanwhile.
#[test]
fn an_aim_that_is_not_kept_any_more_stops_no_update() {
    let setting = Setting::new();
    put(&setting.store, &[("a", "0"), ("b", "0")]);
    setting.plain().update().unwrap();
    put(&setting.store, &[("a", "1"), ("b", "1"), ("c", "1")]);
    let (failing, _) = setting.failing(Fault::From(5));
    assert!(failing.update().is_err());
    put(&setting.store, &[("a", "2"), ("b", "2")]);
    let collect = record(EntryKind::Collect, 9);
    setting.store.collect(&crate::Retention { keep_last: 1, newer_than: None }, &collect).unwrap();
    setting.store.collect(&crate::Retention { keep_last: 1, newer_than: None }, &collect).unwrap();
    // Neither what it shows nor what it was to become is kept; looking fails at neither.
    setting.check(&["a", "/"]);
    let updated = setting.plain().update().unwrap();
    assert!(updated.left.len() <= 3, "{updated:?}");
    assert!(setting.plain().import(&name(), &BOUNDS).unwrap().is_some());
    setting.adopt();
    assert_eq!(setting.plain().update().unwrap(), Updated::default());
}

/// Somebody else's database may say what it likes of a state: nothing is written beyond any bound.
#[test]
fn a_state_deeper_or_larger_than_any_is_not_written() {
    use hutch_model::snapshot::{Entry, MemoryObjects, Node, Tree};
    let setting = Setting::new();
    let mut objects = MemoryObjects::default();
    let folder = |name: &str, node: &Node| Entry { name: Name::new(name).unwrap(), modified_ns: 0, node: node.clone() };
    let empty = objects.insert_tree(&Tree::default());
    let (mut deep, mut wide) = (empty.clone(), empty);
    for _ in 0..3000 {
        deep = objects.insert_tree(&Tree::new(vec![folder("d", &deep)]).unwrap());
    }
    for _ in 0..40 {
        wide = objects.insert_tree(&Tree::new(vec![folder("a", &wide), folder("b", &wide)]).unwrap());
    }
    for (node, limit) in [(deep, "folder_depth"), (wide, "state_files")] {
        let Node::Folder { tree, .. } = node else { unreachable!() };
        setting.store.commit(&change(state(&setting.store), tree), &objects, &[]).unwrap();
        let error = setting.plain().update().unwrap_err();
        assert!(error.to_string().contains(limit), "{error}");
        assert!(!setting.folder().exists());
    }
}

#[test]
fn a_large_folder_is_brought_to_what_it_is_by_its_parts() {
    let setting = Setting::new();
    let names: Vec<String> = (0..600).map(|at| format!("d/note-{at:03}")).collect();
    let mut files: Vec<(&str, &str)> = names.iter().map(|name| (name.as_str(), "1")).collect();
    let brought = |files: &[(&str, &str)]| {
        put(&setting.store, files);
        assert_eq!(setting.plain().update().unwrap(), Updated::default());
        let expected = files.iter().map(|(path, text)| ((*path).to_owned(), (*text).to_owned()));
        assert_eq!(real(&setting.folder()), expected.collect());
        let imported = setting.plain().import(&name(), &BOUNDS).unwrap();
        assert!(imported.is_none_or(|imported| !imported.is_edit()));
    };
    brought(&files);
    files[7].1 = "changed";
    files.remove(9);
    files.push(("d/new", "1"));
    brought(&files);
    brought(&files[..300]);
    // One object, and no folder any more.
    brought(&files[..20]);
    brought(&[("d", "1")]);
    brought(&files);
}

/// Others look while a batch is being written, however large it is.
#[test]
fn a_large_batch_of_stamps_keeps_no_reader_out() {
    let setting = Setting::new();
    put(&setting.store, &[("a", "1")]);
    let (writer, reader) = (setting.plain(), setting.plain());
    writer.update().unwrap();
    let stamp = look(&writer.folder, "state").unwrap().unwrap();
    let top = writer.stamps.top(&name()).unwrap().unwrap();
    let together = writer.stamps.batch().unwrap();
    for at in 0..60_000 {
        let mark = stamps::Mark::Seen(stamp, nothing());
        writer.stamps.set(top, &format!("a name of some length, and its number: {at}"), Some(mark)).unwrap();
    }
    assert!(reader.stamps.shown(&name()).unwrap().is_some());
    assert!(reader.stamps.behind(&setting.store.head().unwrap().state).is_ok_and(|behind| !behind));
    drop(together);
}

/// Everything that a person saves while a file is being replaced or removed is somewhere, whatever fails then.
#[test]
fn what_is_saved_in_the_last_moment_is_kept_somewhere() {
    fn everything(folder: &Path) -> Vec<String> {
        let found = |name: &str| folder.join(name).exists().then(|| real(&folder.join(name)).into_values());
        ["state", "hutch.saved", "hutch.tmp"].into_iter().filter_map(found).flatten().collect()
    }
    for after in [&[("a", "new"), ("b", "1")][..], &[("b", "1")]] {
        for (save_at, again_at, as_folder) in
            [(1, 9, false), (1, 2, false), (2, 3, false), (1, 3, false), (1, 9, true), (2, 9, true)]
        {
            for fails_from in [2, 3, 4, 99] {
                let setting = Setting::new();
                put(&setting.store, &[("a", "old"), ("b", "1")]);
                setting.plain().update().unwrap();
                put(&setting.store, after);
                let (moves, path) = (AtomicU64::new(0), setting.folder().join("a"));
                let written = Arc::new(std::sync::Mutex::new(Vec::new()));
                let said = written.clone();
                let hands = Hands::checked(move |step| {
                    if step != hutch_folder::Step::Move {
                        return Ok(());
                    }
                    let at = moves.fetch_add(1, Ordering::Relaxed) + 1;
                    if at == save_at || at == again_at {
                        let text = format!("saved before move {at}");
                        let _ = std::fs::remove_file(&path).or_else(|_| std::fs::remove_dir_all(&path));
                        let saved = match as_folder {
                            true => std::fs::create_dir(&path).and_then(|()| std::fs::write(path.join("in"), &text)),
                            false => std::fs::write(&path, &text),
                        };
                        saved.map(|()| said.lock().unwrap().push(text))?;
                    }
                    if at >= fails_from { Err(io::Error::other("made to fail")) } else { Ok(()) }
                });
                let _ = Plain { hands, ..setting.plain() }.update();
                setting.plain().update().unwrap();
                setting.plain().update().unwrap();
                let kept = everything(setting.store.dir().path());
                // What was saved later over what was saved first is the person's own doing.
                let last = written.lock().unwrap().last().cloned();
                let case = format!(
                    "{after:?}, saved at {save_at} and {again_at}, folder: {as_folder}, fails from {fails_from}"
                );
                assert!(last.is_none_or(|last| kept.contains(&last)), "{case}: {kept:?}");
                assert_eq!(
                    std::fs::read_dir(setting.store.dir().path().join("hutch.tmp")).unwrap().count(),
                    0,
                    "{case}"
                );
            }
        }
    }
}

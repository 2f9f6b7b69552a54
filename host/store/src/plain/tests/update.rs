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

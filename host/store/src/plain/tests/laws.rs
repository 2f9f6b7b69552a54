//! Laws, on random volumes and random courses of events.

use super::*;
use proptest::prelude::*;

/// Volumes over few names, so that files, folders and links meet.
fn files() -> impl Strategy<Value = Vec<(String, String)>> {
    let path = prop::collection::vec(prop::sample::select(vec!["a", "b", "c"]), 1..4).prop_map(|names| names.join("/"));
    let content = prop_oneof![
        "[0-9]{0,3}".prop_map(|text| text),
        prop::sample::select(vec!["->a", "->b/c", "->./c"]).prop_map(str::to_owned),
    ];
    prop::collection::btree_map(path, content, 0..7).prop_map(|files| {
        let mut taken: Vec<(String, String)> = Vec::new();
        for (path, content) in files {
            // A file is not a folder at the same time.
            if !taken.iter().any(|(other, _)| path.starts_with(&format!("{other}/"))) {
                taken.push((path, content));
            }
        }
        taken
    })
}

fn borrowed(files: &[(String, String)]) -> Vec<(&str, &str)> {
    files.iter().map(|(path, content)| (path.as_str(), content.as_str())).collect()
}

/// What happens to a volume and its directory.
#[derive(Clone, Debug)]
enum Event {
    Commit(Vec<(String, String)>),
    Update,
    CutOff(u64),
    Adopt,
    Restart,
    Write(String),
    Remove(String),
}

fn event() -> impl Strategy<Value = Event> {
    let path = prop::collection::vec(prop::sample::select(vec!["a", "b", "c"]), 1..3).prop_map(|names| names.join("/"));
    prop_oneof![
        3 => files().prop_map(Event::Commit),
        2 => Just(Event::Update),
        2 => (1u64..12).prop_map(Event::CutOff),
        1 => Just(Event::Adopt),
        1 => Just(Event::Restart),
        2 => path.clone().prop_map(Event::Write),
        1 => path.prop_map(Event::Remove),
    ]
}

/// Whether a person wrote or removed this path, or one that it stands for.
fn by_hand(hands_on: &[String], path: &str) -> bool {
    hands_on.iter().any(|by_hand| {
        by_hand == path || by_hand.starts_with(&format!("{path}/")) || path.starts_with(&format!("{by_hand}/"))
    })
}

/// Whatever happens in whatever order: in the end directory and state agree, and nothing that a person wrote is lost:
/// it is in the directory, or in a state that was committed. And no edit changes a path that no person changed.
fn nothing_is_lost(events: &[Event]) -> Result<(), TestCaseError> {
    let setting = Setting::new();
    put(&setting.store, &[]);
    setting.plain().update().unwrap();
    let mut mine: BTreeMap<String, String> = BTreeMap::new();
    // Every path that a person ever wrote or removed.
    let mut hands_on: Vec<String> = Vec::new();
    for (at, event) in events.iter().enumerate() {
        match event {
            Event::Commit(files) => {
                put(&setting.store, &borrowed(files));
            }
            Event::Update => {
                setting.plain().update().unwrap();
            }
            Event::CutOff(step) => {
                let _ = setting.failing(Fault::From(*step)).0.update();
            }
            Event::Adopt => {
                let adopted = setting.adopt();
                prop_assert!(adopted.iter().all(|(path, _)| by_hand(&hands_on, path)), "{adopted:?} {hands_on:?}");
            }
            Event::Restart => {
                setting.restarted().update().unwrap();
            }
            Event::Write(path) => {
                let full = setting.folder().join(path);
                let is_link =
                    |path: &Path| path.ancestors().take_while(|up| *up != setting.folder()).any(Path::is_symlink);
                if is_link(&full) || std::fs::create_dir_all(full.parent().unwrap()).is_err() || full.is_dir() {
                    continue;
                }
                let text = format!("mine {at}");
                std::fs::write(&full, &text).unwrap();
                mine.insert(path.clone(), text);
                hands_on.push(path.clone());
            }
            Event::Remove(path) => {
                if std::fs::remove_file(setting.folder().join(path)).is_ok() {
                    mine.remove(path);
                    hands_on.push(path.clone());
                }
            }
        }
    }
    let adopted = setting.adopt();
    prop_assert!(adopted.iter().all(|(path, _)| by_hand(&hands_on, path)), "{adopted:?} {hands_on:?}");
    prop_assert_eq!(setting.plain().update().unwrap(), Updated::default());
    prop_assert_eq!(setting.status(), []);
    let now = state(&setting.store).unwrap();
    let target = tempfile::tempdir().unwrap();
    export_folder(&*setting.store.objects(), &now, &open(&target), target.path(), &BOUNDS).unwrap();
    let there = real(&setting.folder());
    prop_assert_eq!(&there, &real(target.path()));
    let entries = setting.store.entries(0, 1000).unwrap();
    let states: Vec<_> = entries.iter().map(|entry| entry.open().unwrap().record.volumes["state"].after).collect();
    for (path, content) in mine {
        let in_history =
            states.iter().any(|state| text(&*setting.store.objects(), state, &path).as_ref() == Some(&content));
        prop_assert!(there.get(&path) == Some(&content) || in_history, "{path:?} is lost");
    }
    prop_assert_eq!(setting.store.check().unwrap(), []);
    Ok(())
}

#[test]
fn an_update_of_an_empty_directory_loses_nothing() {
    nothing_is_lost(&[Event::Update]).unwrap();
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn exported_and_imported_is_the_same_state(files in files()) {
        let mut objects = no_objects();
        let tree = volume(&mut objects, &borrowed(&files));
        let target = tempfile::tempdir().unwrap();
        let exported = export_folder(&objects, &tree, &open(&target), target.path(), &BOUNDS).unwrap();
        prop_assert_eq!(exported.skipped, Default::default());
        let imported = import_folder(&open(&target), target.path(), &BOUNDS, Times::Kept).unwrap();
        prop_assert_eq!(imported.tree(), tree);
        prop_assert_eq!(imported.get(hutch_model::digest::Kind::Tree, &tree), objects.get(hutch_model::digest::Kind::Tree, &tree));
    }

    #[test]
    fn nothing_that_a_person_wrote_is_lost(events in prop::collection::vec(event(), 1..12)) {
        nothing_is_lost(&events)?;
    }
}

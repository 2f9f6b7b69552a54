//! Listing a folder while it changes: what is there all the time is given once, nothing is given twice, and all in order.

use crate::support::guest::Guest;
use crate::support::random::Random;
use crate::support::{setting, wide_limits};
use hutch_world::files::OpenOptions;
use std::collections::{BTreeMap, BTreeSet};

#[test]
fn what_is_there_all_the_time_is_given_once_and_nothing_twice() {
    let runs = setting("HUTCH_WORLD_RUNS", if cfg!(debug_assertions) { 200 } else { 2000 });
    let mut mixed = 0;
    for seed in 0..runs {
        let mut random = Random::new(seed);
        let mut guest = Guest::new(wide_limits());
        let top = guest.slots[0].take().expect("the top");
        let world = &mut guest.world;
        let mut names: BTreeMap<String, hutch_world::files::Type> = BTreeMap::new();
        let mut stream = None;
        let (mut always, mut ever): (BTreeSet<String>, BTreeSet<String>) = Default::default();
        let mut given = Vec::new();
        for step in 0..60 {
            if step == 20 {
                stream = Some(world.read_folder(&top).expect("a listing"));
                always = names.keys().cloned().collect();
                ever = always.clone();
            }
            let name = format!("{}", random.below(12));
            match random.below(4) {
                0 if world.create_folder(&top, &name).is_ok() => {
                    names.insert(name.clone(), hutch_world::files::Type::Folder);
                }
                1 if world.symlink(&top, "x", &name).is_ok() => {
                    names.insert(name.clone(), hutch_world::files::Type::Link);
                }
                2 => {
                    if world.unlink_file(&top, &name).is_ok() || world.remove_folder(&top, &name).is_ok() {
                        names.remove(&name);
                        always.remove(&name);
                    }
                }
                _ => {
                    if let Some(stream) = &mut stream
                        && let Some((kind, name)) = world.read_folder_entry(stream).expect("an entry")
                    {
                        assert_eq!(names.get(&name), Some(&kind), "seed {seed}: {name:?} is not there");
                        given.push(name);
                    }
                }
            }
            if names.contains_key(&name) {
                ever.insert(name);
            }
        }
        let mut stream = stream.expect("a listing");
        while let Some((_, name)) = world.read_folder_entry(&mut stream).expect("an entry") {
            given.push(name);
        }
        // Made after it was passed, or at the end: the listing has ended, and stays so unless something comes after all.
        assert_eq!(world.read_folder_entry(&mut stream), Ok(None));
        world.close_folder_stream(stream);
        assert!(given.is_sorted_by(|a, b| a < b), "seed {seed}: {given:?}");
        for name in &always {
            assert!(given.contains(name), "seed {seed}: {name:?} was never given");
        }
        for name in &given {
            assert!(ever.contains(name), "seed {seed}: {name:?} was never there");
        }
        mixed += usize::from(given.len() != always.len());
    }
    assert!(mixed > 20, "nothing changed while it was listed");
}

#[test]
fn a_listing_outlives_the_folders_name_and_its_descriptor() {
    let mut guest = Guest::new(wide_limits());
    let top = guest.slots[0].take().expect("the top");
    let world = &mut guest.world;
    world.create_folder(&top, "a").expect("made");
    let options = OpenOptions { read: true, ..OpenOptions::default() };
    let folder = world.open_at(&top, "a", options).expect("open");
    let mut stream = world.read_folder(&folder).expect("a listing");
    world.close(folder);
    world.remove_folder(&top, "a").expect("removed");
    assert_eq!(world.read_folder_entry(&mut stream), Ok(None));
    world.close_folder_stream(stream);
    assert_eq!(world.meter.memory_bytes(), 0);
}

//! Who may do what with what a run leaves, and that a folder which it moves stays what it is, whatever fails on the way.

use super::tests::{Files, Granted, Ran, STAGED, carry, end_in_the_middle, ending_at, expected, ran, recover};
use super::*;
use crate::answer::VolumeChange;
use hutch_folder::{Hands, Step};
use hutch_model::snapshot::{Entry, Layered, MemoryObjects, Name, Node, Tree, diff, read_tree};
use std::os::unix::fs::{MetadataExt, PermissionsExt};

fn set(granted: &Granted, path: &str, mode: u32) {
    std::fs::set_permissions(granted.at(path), std::fs::Permissions::from_mode(mode)).unwrap();
}

/// All that it may be used for, and its number.
fn mode(granted: &Granted, path: &str) -> (String, u64) {
    let metadata = std::fs::symlink_metadata(granted.at(path)).unwrap();
    (format!("{:o}", metadata.mode() & 0o7777), metadata.ino())
}

/// A guest that gave something at the top another name, as a world names it: by its handle.
fn renamed(mount: &Mount, from: &str, to: &str) -> Ran {
    let shown = mount.objects("mnt", 1 << 20);
    let (mut new, before) = (MemoryObjects::default(), shown.root());
    let entries = read_tree(&*shown, &before).unwrap().into_entries().into_iter();
    let entries = entries.map(|entry| match entry.name.as_str() == from {
        true => Entry { name: Name::new(to).unwrap(), ..entry },
        false => entry,
    });
    let Node::Folder { tree: after, .. } = new.insert_tree(&Tree::new(entries.collect()).unwrap()) else {
        unreachable!()
    };
    let objects = Layered(vec![Arc::new(new), shown.clone()]);
    let changes = diff(&objects, &before, &after).unwrap();
    Ran { objects, change: VolumeChange { before, after, changes }, seen: shown }
}

/// It is the folder itself that gets there, with its bit and whatever else it has, and that comes back, at whichever step a process ends.
#[test]
fn a_folder_that_is_moved_stays_what_it_is() {
    let before: Files<'_> = &[("d/a", "1"), ("d/in/b", "2"), ("d/empty/", ""), ("x", "3")];
    let modes = [("d", 0o2750), ("d/in", 0o2700), ("d/empty", 0o1777)];
    for fatal in 1.. {
        let granted = Granted::new(before);
        modes.iter().for_each(|(path, mode)| set(&granted, path, *mode));
        let folders = |at: &str| modes.map(|(path, _)| mode(&granted, &path.replacen('d', at, 1)));
        let (mount, was, numbers) = (granted.mount(), granted.all(), folders("d"));
        let moved = renamed(&mount, "d", "e");
        if end_in_the_middle(&mount, &moved, ending_at(true, fatal)) {
            assert_eq!(folders("e"), numbers);
            recover(&mount, true).unwrap();
            assert_eq!(granted.files(), expected(&[("e/a", "1"), ("e/in/b", "2"), ("x", "3")]));
            assert_eq!((folders("e"), granted.at("d").exists()), (numbers, false));
            assert!(fatal > 10, "{fatal} steps");
            break;
        }
        recover(&mount, false).unwrap();
        assert_eq!((granted.all(), folders("d")), (was, numbers), "step {fatal}");
    }
    // Taken back after all of it was done.
    let granted = Granted::new(before);
    let (mount, was) = (granted.mount(), granted.all());
    let moved = renamed(&mount, "d", "e");
    assert!(end_in_the_middle(&mount, &moved, Hands::default()));
    // What somebody put into it is not taken along.
    std::fs::write(granted.at("e/empty/mine"), "mine").unwrap();
    recover(&mount, false).unwrap_err();
    assert_eq!(granted.files()["e/empty/mine"], "mine");
    std::fs::remove_file(granted.at("e/empty/mine")).unwrap();
    recover(&mount, false).unwrap();
    assert_eq!(granted.all(), was);
}

/// What was renamed over another file and edited is known by nothing: it is for no more than what went, and than what was there.
#[test]
fn what_replaces_a_file_is_for_no_more_than_what_went() {
    let cases: [([u32; 2], Files<'_>, u32); 5] = [
        ([0o600, 0o644], &[("a", "secret and more")], 0o600),
        ([0o644, 0o600], &[("a", "secret and more")], 0o600),
        ([0o640, 0o604], &[("a", "secret and more")], 0o600),
        // Nothing went; and what is empty holds nothing of it.
        ([0o600, 0o644], &[("a", "1 and more"), ("b", "secret")], 0o644),
        ([0o600, 0o644], &[("a", "")], 0o644),
    ];
    for (modes, after, expected) in cases {
        let granted = Granted::new(&[("a", "1"), ("b", "secret")]);
        set(&granted, "b", modes[0]);
        set(&granted, "a", modes[1]);
        let mount = granted.mount();
        carry(&mount, &ran(&mount, after), Hands::default()).unwrap().finish();
        assert_eq!(mode(&granted, "a").0, format!("{expected:o}"), "{modes:?} {after:?}");
    }
}

/// A link looks as if everybody might do everything with it.
#[test]
fn a_file_in_the_place_of_a_link_is_as_any_new_one() {
    let granted = Granted::new(&[("a", "1"), ("link", "->a"), ("made", "by the system")]);
    let mount = granted.mount();
    let after: Files<'_> = &[("a", "1"), ("link", "new"), ("made", "by the system")];
    carry(&mount, &ran(&mount, after), Hands::default()).unwrap().finish();
    assert_eq!(mode(&granted, "link").0, mode(&granted, "made").0);
    assert_eq!(granted.files(), expected(after));
}

#[test]
fn a_rewritten_file_keeps_its_nine_bits_and_no_more() {
    let granted = Granted::new(&[("setuid", "1"), ("private", "1")]);
    set(&granted, "setuid", 0o6755);
    set(&granted, "private", 0o600);
    let mount = granted.mount().with_acted_on();
    let ran = ran(&mount, &[("setuid", "2"), ("private", "2"), ("new", "3")]);
    // On the way in nobody else can read it, not even a name.
    let staging = granted.at(&STAGED);
    let hands = Hands::checked(move |step| {
        if step == Step::Write {
            let mode = std::fs::metadata(&staging)?.permissions().mode() & 0o7777;
            assert_eq!(mode, 0o700);
        }
        Ok(())
    });
    carry(&mount, &ran, hands).unwrap().finish();
    assert_eq!((mode(&granted, "setuid").0, mode(&granted, "private").0), ("755".to_owned(), "600".to_owned()));
}

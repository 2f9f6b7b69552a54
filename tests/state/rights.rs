//! Who may use what a run leaves in a granted folder: whoever might use what it was made of, and nobody else.

use super::{Granted, granted};
use serde_json::json;
use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt};

impl Granted {
    fn set(&self, path: &str, mode: u32) {
        fs::set_permissions(self.folder.join(path), fs::Permissions::from_mode(mode)).expect("not set");
    }

    fn mode(&self, path: &str) -> u32 {
        fs::symlink_metadata(self.folder.join(path)).unwrap_or_else(|error| panic!("{path}: {error}")).mode() & 0o7777
    }

    fn owner(&self, path: &str) -> (u32, u32) {
        let metadata = fs::metadata(self.folder.join(path)).expect("there");
        (metadata.uid(), metadata.gid())
    }

    fn give(&self, path: &str, user: u32, group: u32) {
        std::os::unix::fs::chown(self.folder.join(path), Some(user), Some(group)).expect("not given");
    }
}

/// Paths and modes.
type Modes = &'static [(&'static str, u32)];

#[test]
fn what_is_moved_or_replaced_is_for_those_that_it_was_for() {
    let cases: [(Modes, &[&str], Modes); 14] = [
        (
            &[("inner", 0o700), ("inner/c.txt", 0o600)],
            &["rename", "mnt/inner", "mnt/z"],
            &[("z", 0o700), ("z/c.txt", 0o600)],
        ),
        (
            &[("inner", 0o750), ("inner/c.txt", 0o640)],
            &["rename", "mnt/inner", "mnt/z"],
            &[("z", 0o750), ("z/c.txt", 0o640)],
        ),
        (&[("inner", 0o775)], &["rename", "mnt/inner", "mnt/z"], &[("z", 0o775)]),
        (&[("inner", 0o2775)], &["rename", "mnt/inner", "mnt/z"], &[("z", 0o2775)]),
        (&[("b.txt", 0o600)], &["rename", "mnt/b.txt", "mnt/inner/d.txt"], &[("inner/d.txt", 0o600)]),
        (&[("b.txt", 0o664)], &["rename", "mnt/b.txt", "mnt/inner/d.txt"], &[("inner/d.txt", 0o664)]),
        (&[("b.txt", 0o400)], &["rename", "mnt/b.txt", "mnt/d.txt"], &[("d.txt", 0o400)]),
        // Over another file: no more than either.
        (&[("b.txt", 0o600), ("a.txt", 0o644)], &["rename", "mnt/b.txt", "mnt/a.txt"], &[("a.txt", 0o600)]),
        (&[("b.txt", 0o644), ("a.txt", 0o600)], &["rename", "mnt/b.txt", "mnt/a.txt"], &[("a.txt", 0o600)]),
        (&[("b.txt", 0o600)], &["link", "mnt/b.txt", "mnt/d.txt"], &[("b.txt", 0o600), ("d.txt", 0o600)]),
        (&[("b.txt", 0o640)], &["append-text", "mnt/b.txt", "!"], &[("b.txt", 0o640)]),
        (&[("b.txt", 0o666)], &["write-text", "mnt/b.txt", "!"], &[("b.txt", 0o666)]),
        // What goes is not what comes.
        (&[("b.txt", 0o600)], &["remove", "mnt/b.txt"], &[("a.txt", 0o644)]),
        (&[("b.txt", 0o600), ("inner", 0o700)], &["write-text", "mnt/new", "x"], &[("new", 0o644), ("inner", 0o700)]),
    ];
    for (before, guest, after) in cases {
        let granted = granted();
        for path in ["a.txt", "b.txt", "inner/c.txt"] {
            granted.set(path, 0o644);
        }
        before.iter().for_each(|(path, mode)| granted.set(path, *mode));
        granted.good(":rw", guest);
        for (path, mode) in after {
            assert_eq!(format!("{:o}", granted.mode(path)), format!("{mode:o}"), "{guest:?}: {path}");
        }
        // The planned one comes to the same.
        let planned = super::granted();
        before.iter().for_each(|(path, mode)| planned.set(path, *mode));
        let mount = planned.mount(":rw");
        let words = ["plan", "--guard", "off", "--mount", &mount, "tests/packages/probe"];
        planned.home.json(&[&words[..], guest].concat());
        planned.home.json(&["apply", "--yes", "--mount", &mount, "tests/packages/probe", "last"]);
        for (path, mode) in after.iter().filter(|(path, _)| before.iter().any(|(set, _)| set == path)) {
            assert_eq!(format!("{:o}", planned.mode(path)), format!("{mode:o}"), "planned {guest:?}: {path}");
        }
    }
}

#[test]
fn a_program_that_is_moved_stays_one_where_that_is_granted() {
    let granted = granted();
    granted.set("b.txt", 0o755);
    granted.good(":rwx", &["rename", "mnt/b.txt", "mnt/d.txt"]);
    assert_eq!(granted.mode("d.txt"), 0o755);
}

/// Only who may do everything can give a file away: this runs as root, or it has nothing to show.
#[test]
fn owner_and_group_stay_with_what_is_replaced_or_moved() {
    const TEAM: u32 = 65_533;
    if granted().owner("a.txt").0 != 0 {
        eprintln!("only root can give files away: owners and groups were not looked at");
        return;
    }
    for ring in ["auto", "off"] {
        let granted = granted();
        let good = |guest: &[&str]| {
            let mount = granted.mount(":rw");
            let words = ["run", "--ring", ring, "--guard", "off", "--mount", &mount, "tests/packages/probe"];
            granted.home.json(&[&words[..], guest].concat())
        };
        for path in ["a.txt", "b.txt", "inner/c.txt"] {
            granted.give(path, 65_534, TEAM);
            granted.set(path, 0o660);
        }
        granted.give("inner", 65_534, TEAM);
        granted.set("inner", 0o2770);
        good(&["append-text", "mnt/a.txt", "!"]);
        good(&["rename", "mnt/b.txt", "mnt/d.txt"]);
        good(&["write-text", "mnt/inner/new", "x"]);
        for (path, owner) in [("a.txt", (65_534, TEAM)), ("d.txt", (65_534, TEAM)), ("inner/new", (0, TEAM))] {
            assert_eq!(granted.owner(path), owner, "{ring}: {path}");
        }
        assert_eq!((granted.mode("a.txt"), granted.mode("d.txt")), (0o660, 0o660), "{ring}");
        good(&["rename", "mnt/inner", "mnt/z"]);
        assert_eq!((granted.owner("z"), granted.mode("z")), ((65_534, TEAM), 0o2770), "{ring}");
        assert_eq!(granted.owner("z/c.txt"), (65_534, TEAM), "{ring}");
    }
}

/// A list that denies the group what it gives to somebody else, and one that leaves nothing of what is new to others. They are set as the kernel
/// reads them: no program that does it need be there.
#[test]
fn nobody_gets_what_a_list_denied() {
    // A version; then owner, one user, group, mask, others.
    let list = |group: u8, mask: u8| {
        let entries =
            [(1, 6, u32::MAX), (2, 6, 65_534), (4, group, u32::MAX), (0x10, mask, u32::MAX), (0x20, 0, u32::MAX)];
        let entry = |(tag, may, who): (u16, u8, u32)| {
            [&tag.to_le_bytes()[..], &u16::from(may).to_le_bytes(), &who.to_le_bytes()].concat()
        };
        [vec![2, 0, 0, 0], entries.into_iter().flat_map(entry).collect()].concat()
    };
    let granted = granted();
    let set = |path: &str, name: &str, value: &[u8]| {
        let file = fs::File::open(granted.folder.join(path)).expect("there");
        rustix::fs::fsetxattr(file, name, value, rustix::fs::XattrFlags::empty())
    };
    if set("a.txt", "system.posix_acl_access", &list(0, 6)).is_err() {
        eprintln!("the file system under the tests has no lists: they were not looked at");
        return;
    }
    set("inner", "system.posix_acl_default", &list(0, 0)).expect("not set");
    assert_eq!(granted.mode("a.txt"), 0o660);
    granted.good(":rw", &["append-text", "mnt/a.txt", "!"]);
    assert_eq!(granted.mode("a.txt"), 0o600);
    granted.good(":rw", &["write-text", "mnt/inner/new", "x"]);
    assert_eq!(granted.mode("inner/new"), 0o600);
    set("inner", "system.posix_acl_access", &list(0, 6)).expect("not set");
    granted.set("inner", 0o770);
    let lists = |path: &str| {
        ["system.posix_acl_access", "system.posix_acl_default"].map(|name| {
            let (file, mut value) = (fs::File::open(granted.folder.join(path)).expect("there"), [0; 256]);
            let length = rustix::fs::fgetxattr(file, name, &mut value[..]).expect("a list");
            value[..length].to_vec()
        })
    };
    // A folder that is moved keeps both, so nobody gets what the group was denied.
    let were = lists("inner");
    granted.good(":rw", &["rename", "mnt/inner", "mnt/z"]);
    assert_eq!((granted.mode("z"), lists("z")), (0o770, were));
}

/// What a folder gives on to what is made in it goes where it goes, and comes back with it. One that was removed comes back as a new one.
#[test]
fn a_folder_that_is_moved_keeps_what_it_gives_on() {
    let granted = granted();
    granted.set("inner", 0o2770);
    let mount = granted.mount(":rw");
    let go = |words: &[&str]| {
        granted.home.json(&[&["undo", "--mount", &mount, "tests/packages/probe"], words].concat());
    };
    granted.good(":rw", &["rename", "mnt/inner", "mnt/z"]);
    assert_eq!(granted.mode("z"), 0o2770);
    go(&[]);
    assert_eq!(granted.mode("inner"), 0o2770);
    go(&["--redo"]);
    assert_eq!(granted.mode("z"), 0o2770);
    // What a person has taken away since stays away, and what was given since is not taken along.
    granted.set("z", 0o2700);
    go(&[]);
    assert_eq!(granted.mode("inner"), 0o2700);
    granted.good(":rw", &["rename", "mnt/inner", "mnt/z"]);
    granted.set("z", 0o2775);
    go(&[]);
    assert_eq!(granted.mode("inner") & 0o777, 0o700);
    granted.good(":rw", &["remove", "--all", "mnt/inner"]);
    go(&[]);
    assert_eq!(granted.mode("inner") & 0o777, 0o700);
}

#[test]
fn what_a_person_took_away_since_stays_away() {
    let granted = granted();
    granted.set("a.txt", 0o644);
    granted.good(":rw", &["append-text", "mnt/a.txt", "!"]);
    granted.set("a.txt", 0o600);
    let mount = granted.mount(":rw");
    let undone = granted.home.json(&["undo", "--mount", &mount, "tests/packages/probe"]);
    assert_eq!(undone["changes"]["mnt"], json!([{"path": "a.txt", "change": "modified"}]));
    assert_eq!(granted.mode("a.txt"), 0o600);
    // What was taken away by the run comes back.
    granted.set("a.txt", 0o640);
    granted.set("b.txt", 0o600);
    granted.good(":rw", &["rename", "mnt/b.txt", "mnt/a.txt"]);
    assert_eq!(granted.mode("a.txt"), 0o600);
    granted.home.json(&["undo", "--mount", &mount, "tests/packages/probe"]);
    assert_eq!((granted.mode("a.txt"), granted.mode("b.txt")), (0o640, 0o600));
}

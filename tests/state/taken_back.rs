//! What runs changed in real folders, taken back and made again: every byte, who may read it, and when it was changed. Whoever was there
//! meanwhile loses nothing, and nobody's data alone changes a folder.

use super::{Granted, granted};
use serde_json::{Value, json};
use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

const PROBE: &str = "tests/packages/probe";

impl Granted {
    /// The words of a move between states, with the folder granted.
    fn go(&self, words: &[&str]) -> super::common::Answer {
        let mount = self.mount(":rw");
        self.home.run(&[&["undo", "--mount", &mount, PROBE], words].concat())
    }

    fn gone(&self, words: &[&str]) -> Value {
        let answer = self.go(words);
        assert_eq!(answer.status, 0, "{words:?}: {}", answer.stderr);
        serde_json::from_str::<Value>(&answer.stdout).expect("no JSON")["result"].clone()
    }

    /// The code of the error that a move ends with, after which everything is as it was.
    fn refused_move(&self, words: &[&str]) -> Value {
        let (tree, kept) = (self.tree(), self.kept());
        let answer = self.home.run(&[&["undo"], words].concat());
        let error: Value =
            serde_json::from_str(&answer.stderr).unwrap_or_else(|_| panic!("{words:?}: {}", answer.stdout));
        assert_eq!((self.tree(), self.kept()), (tree, kept), "{words:?}: {error}");
        error
    }

    fn instance(&self) -> PathBuf {
        self.home.path().join(".local/share/hutch/instances/probe/default")
    }

    /// The names of what is kept.
    fn kept(&self) -> Vec<String> {
        let Ok(names) = fs::read_dir(self.instance().join("hutch.undo")) else { return Vec::new() };
        let mut names: Vec<String> =
            names.map(|entry| entry.expect("unreadable").file_name().into_string().expect("UTF-8")).collect();
        names.sort();
        names
    }

    /// What is at each path, who may use it and, of a file or link, when it was changed.
    fn all_of_it(&self) -> Vec<(String, u32, i64)> {
        let looked = self.tree().into_iter().map(|line| {
            let path = line.split(" = ").next().and_then(|path| path.split(" -> ").next()).expect("a path");
            let metadata = fs::symlink_metadata(self.folder.join(path.trim_end_matches('/'))).expect("gone");
            // A folder's time is that of the last change in it, whoever made that.
            let time = if metadata.is_dir() { 0 } else { metadata.mtime_nsec() + metadata.mtime() * 1_000_000_000 };
            let mode = if metadata.is_symlink() { 0 } else { metadata.permissions().mode() & 0o777 };
            (line, mode, time)
        });
        looked.collect()
    }
}

/// What became of each entry when it was run again.
fn verified(granted: &Granted) -> Vec<Value> {
    let (_, error) = granted.home.error(&["verify", "--all", PROBE]);
    error["details"]["entries"].as_array().expect("a list").iter().map(|entry| entry["status"].clone()).collect()
}

fn set_mode(path: &Path, mode: u32) {
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).expect("not set");
}

/// Back, forward and back again, of every way to change a folder.
#[test]
fn what_a_run_changed_is_put_back_whole() {
    for guest in [
        &["write-text", "mnt/a.txt", "changed"][..],
        &["write-text", "mnt/a.txt", "omega"],
        &["append-text", "mnt/inner/c.txt", "!"],
        &["truncate", "mnt/a.txt", "0"],
        &["write-text", "mnt/inner/new", "more"],
        &["write-files", "40", "--directory", "mnt/inner"],
        &["make-dir", "mnt/new"],
        &["remove", "mnt/b.txt"],
        &["remove", "mnt/in"],
        &["remove", "--all", "mnt/inner"],
        &["rename", "mnt/b.txt", "mnt/inner/d.txt"],
        &["rename", "mnt/a.txt", "mnt/b.txt"],
        &["rename", "mnt/inner", "mnt/outer"],
        &["symlink", "a.txt", "mnt/link"],
        &["remove", "--all", "mnt/shared"],
        &["rename", "mnt/shared", "mnt/other"],
    ] {
        let granted = granted();
        fs::create_dir(granted.folder.join("shared")).expect("not made");
        fs::write(granted.folder.join("shared/d.txt"), "delta").expect("not written");
        set_mode(&granted.folder.join("shared"), 0o770);
        set_mode(&granted.folder.join("shared/d.txt"), 0o664);
        let large: Vec<u8> = (0..300_000_u32).flat_map(u32::to_le_bytes).collect();
        fs::write(granted.folder.join("inner/large"), large).expect("not written");
        set_mode(&granted.folder.join("b.txt"), 0o600);
        set_mode(&granted.folder.join("inner"), 0o700);
        let before = granted.all_of_it();
        granted.good(":rw", guest);
        let after = granted.tree();
        assert_ne!(
            after,
            granted.all_of_it().into_iter().zip(&before).map(|(_, (line, ..))| line.clone()).collect::<Vec<_>>()
        );
        let undone = granted.gone(&[]);
        assert_eq!(granted.all_of_it(), before, "{guest:?}: {undone}");
        assert_eq!((&undone["follows"]["sequence"], &undone["left"]), (&json!(3), &Value::Null), "{guest:?}: {undone}");
        assert!(undone["changes"]["mnt"].as_array().is_some_and(|changes| !changes.is_empty()), "{guest:?}: {undone}");
        assert_eq!(undone["further"], json!({"undo": 0, "redo": 1}), "{guest:?}");
        let redone = granted.gone(&["--redo"]);
        assert_eq!(granted.tree(), after, "{guest:?}: {redone}");
        assert_eq!(redone["further"], json!({"undo": 1, "redo": 0}), "{guest:?}");
        granted.gone(&[]);
        assert_eq!(granted.all_of_it(), before, "{guest:?}");
        // Nothing is left to be settled, and the history is whole.
        assert_eq!(granted.home.json(&["state", "diff", PROBE])["unsettled"], json!([]), "{guest:?}");
        let checked: Vec<Value> = verified(&granted);
        assert!(checked.iter().all(|status| status != "differs"), "{guest:?}: {checked:?}");
    }
}

/// Changes of the state and of a folder are taken back in the order in which they were made, the last first, and made again so.
#[test]
fn changes_here_and_there_go_back_one_by_one() {
    let granted = granted();
    let plain = granted.instance().join("state");
    let look = || (granted.tree(), fs::read_to_string(plain.join("note")).ok());
    let mut looks = vec![look()];
    for guest in [
        ["write-text", "mnt/a.txt", "one"],
        ["write-text", "state/note", "two"],
        ["write-text", "mnt/a.txt", "three"],
        ["write-text", "mnt/inner/c.txt", "four"],
        ["write-text", "state/note", "five"],
    ] {
        granted.good(":rw", &guest);
        looks.push(look());
    }
    for step in (0..5).rev() {
        assert_eq!(granted.gone(&[])["further"], json!({"undo": step, "redo": 5 - step}));
        assert!(look() == looks[step], "{step}: {:?}", look());
    }
    assert_eq!(granted.refused_move(&["--mount", &granted.mount(":rw"), PROBE])["code"], "NOT_FOUND");
    for (step, expected) in looks.iter().enumerate().skip(1) {
        granted.gone(&["--redo"]);
        assert!(look() == *expected, "{step}: {:?}", look());
    }
    assert_eq!(granted.refused_move(&["--redo", "--mount", &granted.mount(":rw"), PROBE])["code"], "NOT_FOUND");
    // A new change ends the way forward.
    granted.gone(&[]);
    granted.gone(&[]);
    granted.good(":rw", &["write-text", "mnt/b.txt", "another"]);
    assert_eq!(granted.refused_move(&["--redo", "--mount", &granted.mount(":rw"), PROBE])["code"], "NOT_FOUND");
    granted.gone(&[]);
    assert!(look() == looks[3], "{:?}", look());
}

/// The history says which folder it was, and that is no grant.
#[test]
fn only_a_folder_that_is_granted_again_is_put_back() {
    let granted = granted();
    granted.good(":rw", &["write-text", "mnt/a.txt", "changed"]);
    let elsewhere = granted.home.path().join("elsewhere");
    super::common::copy(&granted.folder.join("inner"), &elsewhere);
    fs::write(elsewhere.join("a.txt"), "changed").expect("not written");
    let [there, other, read] =
        [format!("{}:mnt:rw", elsewhere.display()), granted.mount(":rw").replace(":mnt:", ":data:"), granted.mount("")];
    let mut fix = String::new();
    for words in [&[][..], &["--mount", &read], &["--mount", &there], &["--mount", &other]] {
        let error = granted.refused_move(&[words, &[PROBE]].concat());
        assert_eq!(error["code"], "PERMISSION_DENIED", "{words:?}: {error}");
        assert_eq!(error["details"]["mounts"], json!([granted.canonical(":rw")]), "{words:?}: {error}");
        if words.is_empty() {
            fix = error["fixes"][0]["cmd"].as_str().expect("a fix").to_owned();
        }
    }
    assert_eq!(fs::read_to_string(elsewhere.join("a.txt")).expect("gone"), "changed");
    // Of several changes, and before an entry, folders stay as they are, and that is said.
    granted.good(":rw", &["write-text", "state/note", "x"]);
    let error = granted.refused_move(&["--mount", &granted.mount(":rw"), PROBE, "2"]);
    assert_eq!(error["code"], "USAGE", "{error}");
    let undone = granted.home.json(&["undo", PROBE, "@4"]);
    assert_eq!(undone.get("left"), None, "{undone}");
    granted.good(":rw", &["write-text", "state/note", "y"]);
    let undone = granted.home.json(&["undo", PROBE, "@2"]);
    assert_eq!(undone["left"][0]["sequence"], 3, "{undone}");
    assert!(granted.tree().contains(&"a.txt = changed".to_owned()));
    // The line that is offered does it.
    let words: Vec<&str> = fix.split(' ').skip(1).collect();
    granted.home.json(&words);
    assert!(granted.tree().contains(&"a.txt = alpha".to_owned()), "{fix}");
}

/// What somebody did since is not lost: it is a conflict, which changes nothing, unless it came to the same.
#[test]
fn what_was_changed_since_is_nobodys_to_overwrite() {
    type Edit = fn(&Path);
    let edits: [(&[&str], Edit, bool); 9] = [
        (&["write-text", "mnt/a.txt", "changed"], |folder| fs::write(folder.join("a.txt"), "CHANGED").unwrap(), false),
        (&["write-text", "mnt/a.txt", "changed"], |folder| fs::write(folder.join("a.txt"), "mine").unwrap(), false),
        (&["write-text", "mnt/a.txt", "changed"], |folder| fs::remove_file(folder.join("a.txt")).unwrap(), false),
        (&["remove", "mnt/b.txt"], |folder| fs::write(folder.join("b.txt"), "mine").unwrap(), false),
        (&["make-dir", "mnt/new"], |folder| fs::write(folder.join("new/mine"), "mine").unwrap(), false),
        (&["rename", "mnt/inner", "mnt/z"], |folder| fs::write(folder.join("z/mine"), "mine").unwrap(), false),
        (&["symlink", "a.txt", "mnt/link"], |folder| fs::remove_file(folder.join("link")).unwrap(), true),
        (&["remove", "mnt/b.txt"], |folder| fs::write(folder.join("b.txt"), "beta").unwrap(), true),
        (&["write-text", "mnt/a.txt", "changed"], |folder| fs::write(folder.join("other"), "mine").unwrap(), true),
    ];
    for (guest, edit, is_same) in edits {
        let granted = granted();
        let before = granted.tree();
        granted.good(":rw", guest);
        edit(&granted.folder);
        match is_same {
            true => {
                granted.gone(&[]);
                let mut now = granted.tree();
                now.retain(|line| line != "other = mine");
                assert_eq!(now, before, "{guest:?}");
            }
            false => {
                let error = granted.refused_move(&["--mount", &granted.mount(":rw"), PROBE]);
                assert_eq!(error["code"], "CONFLICT", "{guest:?}: {error}");
            }
        }
    }
}

/// What is kept is this instance's own, whole, and of that very run; and no longer than the states beside it.
#[test]
fn what_is_kept_is_good_for_its_own_run_alone() {
    let granted = granted();
    granted.good(":rw", &["write-text", "mnt/a.txt", "changed"]);
    let (folder, names) = (granted.instance().join("hutch.undo"), granted.kept());
    let [name] = &names[..] else { panic!("{names:?}") };
    let kept = folder.join(name);
    let bytes = fs::read(&kept).expect("unreadable");
    assert_eq!(fs::metadata(&folder).expect("there").mode() & 0o777, 0o700);
    assert_eq!(fs::metadata(&kept).expect("there").mode() & 0o777, 0o600);
    let words = ["--mount", &granted.mount(":rw"), PROBE];
    // Every byte of it counts.
    for at in (0..bytes.len()).step_by(bytes.len() / 40) {
        let mut other = bytes.clone();
        other[at] ^= 1;
        fs::write(&kept, other).expect("not written");
        let error = granted.refused_move(&words);
        assert_eq!(error["code"], "HOST_FAULT", "byte {at}: {error}");
    }
    for length in [0, 1, 80, bytes.len() - 1] {
        fs::write(&kept, &bytes[..length]).expect("not written");
        assert_eq!(granted.refused_move(&words)["code"], "HOST_FAULT", "{length} bytes");
    }
    fs::write(&kept, &bytes).expect("not written");
    // Another run's name, and names that are none.
    granted.good(":rw", &["write-text", "mnt/a.txt", "again"]);
    let last = granted.kept().into_iter().find(|other| other != name).expect("kept");
    fs::copy(&kept, folder.join(&last)).expect("not copied");
    assert_eq!(granted.refused_move(&words)["code"], "HOST_FAULT");
    fs::remove_file(folder.join(&last)).expect("not removed");
    for name in ["x", "1", "99", "18446744073709551615", "1-1", "-", "new"] {
        fs::write(folder.join(name), &bytes).expect("not written");
    }
    let error = granted.refused_move(&words);
    assert_eq!(error["code"], "NOT_FOUND", "the run before it: {error}");
    // A copy knows the history, and has nothing to put back.
    granted.home.json(&["instance", "copy", PROBE, "copy"]);
    let copied = granted.home.error(&["undo", "--instance", "copy", "--mount", &granted.mount(":rw"), PROBE]).1;
    assert_eq!(copied["code"], "NOT_FOUND", "{copied}");
    granted.good(":rw", &["write-text", "state/note", "x"]);
    granted.home.json(&["gc", "--keep", "1", "--yes", PROBE]);
    assert!(!granted.kept().contains(name), "{:?}", granted.kept());
}

/// A preview says what would be, and nothing is written for it.
#[test]
fn a_preview_puts_nothing_back() {
    let granted = granted();
    granted.good(":rw", &["remove", "mnt/b.txt"]);
    let before = (granted.tree(), granted.kept(), granted.home.json(&["ledger", "list", "probe"]));
    let mount = granted.mount(":rw");
    let previewed = granted.home.json(&["undo", "--dry-run", "--mount", &mount, PROBE]);
    assert_eq!(previewed["changes"]["mnt"], json!([{"path": "b.txt", "change": "added"}]), "{previewed}");
    assert_eq!((granted.tree(), granted.kept(), granted.home.json(&["ledger", "list", "probe"])), before);
}

/// More than may be kept is not: then the run stands, and that it can't be taken back is said when somebody wants that.
#[test]
fn what_is_too_much_to_keep_is_left() {
    let granted = granted();
    let big = fs::File::create(granted.folder.join("big")).expect("not made");
    big.set_len((1 << 30) + 1).expect("no holes here");
    granted.good(":rw", &["write-text", "state/note", "x"]);
    granted.good(":rw", &["remove", "mnt/big"]);
    assert_eq!(granted.kept(), Vec::<String>::new());
    let error = granted.refused_move(&["--mount", &granted.mount(":rw"), PROBE]);
    let message = error["message"].as_str().expect("a text");
    assert!(error["code"] == "NOT_FOUND" && message.contains("entry 4 changed the real folder"), "{error}");
    // Nothing older goes back in its place, unless it is named.
    let undone = granted.home.json(&["undo", PROBE, "@2"]);
    assert_eq!((&undone["follows"]["sequence"], &undone["left"][0]["name"]), (&json!(2), &json!("mnt")), "{undone}");
}

/// What was taken back and is not kept is not passed over on the way forward, and nothing is made again over a change that is not kept.
#[test]
fn what_is_not_kept_ends_the_way_forward_too() {
    let forget = |granted: &Granted| {
        let folder = granted.instance().join("hutch.undo");
        granted.kept().iter().for_each(|name| fs::remove_file(folder.join(name)).expect("not removed"));
    };
    let redo = |granted: &Granted| granted.refused_move(&["--redo", "--mount", &granted.mount(":rw"), PROBE]);
    let note = |granted: &Granted| granted.instance().join("state/note").exists();
    let back = granted();
    back.good(":rw", &["write-text", "mnt/a.txt", "one"]);
    back.good(":rw", &["write-text", "state/note", "two"]);
    back.gone(&[]);
    back.gone(&[]);
    forget(&back);
    let error = redo(&back);
    let message = error["message"].as_str().expect("a text");
    assert!(error["code"] == "NOT_FOUND" && message.contains("entry 7 changed the real folder"), "{error}");
    assert!(!note(&back));
    // Nothing later is made again in its place, unless it is named.
    back.home.json(&["undo", "--to", "@4", PROBE]);
    assert!(note(&back) && back.tree().contains(&"a.txt = alpha".to_owned()));

    let changed = granted();
    changed.good(":rw", &["write-text", "state/note", "one"]);
    changed.gone(&[]);
    changed.good(":rw", &["write-text", "mnt/a.txt", "two"]);
    forget(&changed);
    assert_eq!(redo(&changed)["code"], "NOT_FOUND");
    assert!(!note(&changed));
}

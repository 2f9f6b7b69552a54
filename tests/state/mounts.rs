//! Real folders, granted with `--mount`: what a guest can and can't do in one, and that nothing outside it is reached.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test may")]
#![allow(clippy::disallowed_methods, reason = "tests reach for what they prepare")]

mod common;
mod rights;
mod taken_back;

use common::Home;
use serde_json::{Value, json};
use std::fs;
use std::path::PathBuf;

/// A home with a folder to grant: two files, a folder with a file, and links that lead in and out.
struct Granted {
    home: Home,
    folder: PathBuf,
}

fn granted() -> Granted {
    let home = Home::new();
    let folder = home.path().join("granted");
    fs::create_dir_all(folder.join("inner")).expect("no folder");
    for (path, text) in [("a.txt", "alpha"), ("b.txt", "beta"), ("inner/c.txt", "gamma")] {
        fs::write(folder.join(path), text).expect("not written");
    }
    fs::write(home.path().join("secret.txt"), "secret").expect("not written");
    for (target, name) in [("../secret.txt", "out"), ("inner/c.txt", "in"), ("/etc/passwd", "absolute"), ("..", "up")] {
        std::os::unix::fs::symlink(target, folder.join(name)).expect("not linked");
    }
    Granted { home, folder }
}

impl Granted {
    fn run(&self, access: &str, guest: &[&str]) -> common::Answer {
        let mount = format!("{}:mnt{access}", self.folder.display());
        // The guard would refuse some of these paths before the guest could try them.
        let mut arguments = vec!["run", "--guard", "off", "--mount", &mount, "tests/packages/probe"];
        arguments.extend(guest);
        self.home.run(&arguments)
    }

    fn good(&self, access: &str, guest: &[&str]) -> Value {
        let answer = self.run(access, guest);
        assert_eq!(answer.status, 0, "{guest:?}: {}{}", answer.stdout, answer.stderr);
        serde_json::from_str(&answer.stdout).expect("no JSON")
    }

    /// Every path below the folder that was granted, with what it holds.
    fn tree(&self) -> Vec<String> {
        let mut lines = Vec::new();
        let mut pending = vec![self.folder.clone()];
        while let Some(folder) = pending.pop() {
            for entry in fs::read_dir(folder).expect("unreadable") {
                let path = entry.expect("unreadable").path();
                let name = path.strip_prefix(&self.folder).expect("outside").display().to_string();
                let kind = fs::symlink_metadata(&path).expect("unreadable").file_type();
                if kind.is_dir() {
                    lines.push(format!("{name}/"));
                    pending.push(path);
                } else if kind.is_symlink() {
                    lines.push(format!("{name} -> {}", fs::read_link(&path).expect("unreadable").display()));
                } else {
                    lines.push(format!("{name} = {}", String::from_utf8_lossy(&fs::read(&path).expect("unreadable"))));
                }
            }
        }
        lines.sort();
        lines
    }
}

#[test]
fn a_guest_reads_what_is_granted_and_nothing_else() {
    let granted = granted();
    let text = |path: &str| granted.good("", &["read-file", path])["content"].clone();
    assert_eq!((text("mnt/a.txt"), text("mnt/in")), (json!("alpha"), json!("gamma")));
    for path in ["mnt/out", "mnt/absolute", "mnt/up/secret.txt", "mnt/../secret.txt", "mnt/inner/../../secret.txt"] {
        let answer = granted.run(":rw", &["read-file", path]);
        assert_eq!(answer.status, 1, "{path}: {}", answer.stdout);
        assert!(!answer.stdout.contains("\"secret\"") && !answer.stdout.contains("root:"), "{path} was read");
    }
}

#[test]
fn read_only_means_no_change_by_any_call() {
    let granted = granted();
    let before = granted.tree();
    for access in ["", ":ro"] {
        for guest in [
            &["write-text", "mnt/a.txt", "changed"][..],
            &["append-text", "mnt/a.txt", "more"],
            &["truncate", "mnt/a.txt", "0"],
            &["write-file", "mnt/new", "5"],
            &["make-dir", "mnt/new"],
            &["remove", "mnt/a.txt"],
            &["rename", "mnt/a.txt", "mnt/z.txt"],
            &["link", "mnt/a.txt", "mnt/z.txt"],
            &["symlink", "a.txt", "mnt/z.txt"],
        ] {
            let answer = granted.run(access, guest);
            assert_eq!(answer.status, 1, "{guest:?}: {}{}", answer.stdout, answer.stderr);
            assert_eq!(granted.tree(), before, "{guest:?} changed a read-only folder");
        }
    }
}

#[test]
fn changes_are_carried_out_after_a_good_end() {
    let granted = granted();
    granted.good(":rw", &["write-text", "mnt/a.txt", "changed"]);
    granted.good(":rw", &["rename", "mnt/b.txt", "mnt/inner/d.txt"]);
    granted.good(":rw", &["make-dir", "mnt/new"]);
    granted.good(":rw", &["write-text", "mnt/new/e.txt", "new"]);
    granted.good(":rw", &["symlink", "a.txt", "mnt/link"]);
    granted.good(":rw", &["remove", "mnt/in"]);
    assert_eq!(
        granted.tree(),
        [
            "a.txt = changed",
            "absolute -> /etc/passwd",
            "inner/",
            "inner/c.txt = gamma",
            "inner/d.txt = beta",
            "link -> a.txt",
            "new/",
            "new/e.txt = new",
            "out -> ../secret.txt",
            "up -> ..",
        ]
    );
    assert_eq!(fs::read_to_string(granted.home.path().join("secret.txt")).expect("gone"), "secret");
}

/// Many files are made durable with their whole file system at once, which the rings leave to a run.
#[test]
fn many_files_at_once_are_carried_out() {
    let granted = granted();
    let made = granted.good(":rw", &["write-files", "100", "--directory", "mnt/inner"]);
    assert_eq!(fs::read_dir(granted.folder.join("inner")).expect("a folder").count(), 101, "{made}");
}

#[test]
fn a_bad_end_changes_nothing() {
    let granted = granted();
    let before = granted.tree();
    assert_eq!(granted.run(":rw", &["write-then-trap", "mnt/a.txt"]).status, 45);
    assert_eq!(granted.run(":rw", &["write-then-exit", "mnt/a.txt", "7"]).status, 7);
    assert_eq!(granted.tree(), before);
}

#[test]
fn a_run_with_a_real_folder_says_that_it_can_not_be_had_again() {
    let granted = granted();
    let mount = format!("{}:mnt:rw", granted.folder.display());
    let guest = ["tests/packages/probe", "write-text", "mnt/a.txt", "x"];
    let mut arguments = vec!["run", "--envelope", "--mount", &mount];
    arguments.extend(guest);
    let answer = granted.home.json(&arguments);
    assert_eq!(answer["unreproducible"], json!(["mount"]));
    assert_eq!(answer["mounts"]["mnt"], json!([{"path": "a.txt", "change": "modified"}]));
    let (_, error) = granted.home.error(&["verify", "tests/packages/probe", "last"]);
    assert_eq!(error["code"], "NOT_REPRODUCIBLE");
    let record = granted.home.json(&["ledger", "show", "probe"])["record"].clone();
    assert_eq!(record["invocation"]["mounts"]["mnt"]["access"], "read_write");
}

impl Granted {
    /// As the program writes it down.
    fn canonical(&self, access: &str) -> String {
        format!("{}:mnt{access}", self.folder.canonicalize().expect("a folder").display())
    }

    fn mount(&self, access: &str) -> String {
        format!("{}:mnt{access}", self.folder.display())
    }

    /// Plans a call over the folder, which changes nothing.
    fn plan(&self, guest: &[&str]) -> Value {
        let before = self.tree();
        let mount = self.mount(":rw");
        let words = ["plan", "--guard", "off", "--mount", &mount, "tests/packages/probe"];
        let plan = self.home.json(&[&words, guest].concat());
        assert_eq!(self.tree(), before, "{guest:?}");
        plan
    }

    /// Applies the last plan.
    fn apply(&self, granted: &[&str]) -> common::Answer {
        self.home.run(&[&["apply"], granted, &["tests/packages/probe"]].concat())
    }

    /// What that is refused with, which changes nothing.
    fn refused(&self, granted: &[&str]) -> Value {
        let before = self.tree();
        let refused = self.apply(granted);
        assert_eq!(self.tree(), before, "{}", refused.stdout);
        serde_json::from_str(&refused.stderr).expect("no JSON on standard error")
    }
}

/// Each call as a plan and applied comes to what it comes to as a run, and the plan says so before.
#[test]
fn a_plan_over_a_real_folder_is_carried_out() {
    for (guest, changes, shown) in [
        (&["write-text", "mnt/a.txt", "changed"][..], json!([["a.txt", "modified"]]), "alpha"),
        (&["write-text", "mnt/inner/new", "more"], json!([["inner", "modified"], ["inner/new", "added"]]), "more"),
        (&["remove", "mnt/b.txt"], json!([["b.txt", "removed"]]), "beta"),
        (
            &["rename", "mnt/b.txt", "mnt/inner/d.txt"],
            json!([["b.txt", "removed"], ["inner/d.txt", "added"]]),
            "renamed",
        ),
        (&["rename", "mnt/inner", "mnt/outer"], json!([["inner", "removed"], ["inner/c.txt", "removed"]]), "renamed"),
        (&["append-text", "mnt/inner/c.txt", "!"], json!([["inner/c.txt", "modified"]]), "gamma"),
        (&["symlink", "a.txt", "mnt/link"], json!([["link", "added"]]), "link"),
    ] {
        let (granted, run) = (granted(), granted());
        let plan = granted.plan(guest);
        let listed = plan["mounts"]["mnt"].as_array().expect("a list").iter();
        let listed: Vec<Value> = listed.map(|one| json!([one["path"], one["change"]])).collect();
        for change in changes.as_array().expect("a list") {
            assert!(listed.contains(change) || change[0] == "inner", "{guest:?}: {listed:?}");
        }
        assert!(plan["diff"].to_string().contains(shown), "{guest:?}: {}", plan["diff"]);
        assert_eq!(plan["risk"]["level"], "high", "{guest:?}");
        let applied = granted.apply(&["--mount", &granted.mount(":rw")]);
        assert_eq!(applied.status, 0, "{guest:?}: {}", applied.stderr);
        run.good(":rw", guest);
        assert_eq!(granted.tree(), run.tree(), "{guest:?}");
        // Once.
        let again = granted.refused(&["--mount", &granted.mount(":rw")]);
        assert!(["CONFLICT", "GUEST_FAILED"].contains(&again["code"].as_str().unwrap()), "{guest:?}: {again}");
    }
}

/// An entry grants nothing: whoever applies a plan grants the folder, the same, for the same use.
#[test]
fn a_plan_brings_no_folder() {
    let granted = granted();
    granted.plan(&["remove", "mnt/b.txt"]);
    let elsewhere = granted.home.path().join("elsewhere");
    common::copy(&granted.folder.join("inner"), &elsewhere);
    fs::write(elsewhere.join("b.txt"), "beta").expect("not written");
    let there = format!("{}:mnt:rw", elsewhere.display());
    for (words, said) in [
        (&[][..], "--mount DIR:mnt:rw"),
        (&["--mount", &granted.mount("")], "--mount DIR:mnt:rw"),
        (&["--mount", &granted.mount(":rwx")], "--mount DIR:mnt:rw"),
        (&["--mount", &there], "elsewhere"),
    ] {
        let error = granted.refused(words);
        assert_eq!(error["code"], "NOT_REPRODUCIBLE", "{words:?}: {error}");
        assert!(error["message"].as_str().unwrap().contains(said), "{words:?}: {error}");
        assert!(elsewhere.join("b.txt").exists());
    }
    assert_eq!(granted.apply(&["--mount", &granted.mount(":rw")]).status, 0);
    assert!(!granted.folder.join("b.txt").exists());
}

/// What a person wrote since the plan was made is not lost, and what the plan did not say is not done.
#[test]
fn a_plan_over_another_folder_than_it_saw_is_a_conflict() {
    type Edit = fn(&std::path::Path);
    let edits: [(&str, &[&str], Edit, bool); 7] = [
        ("edited", &["remove", "mnt/b.txt"], |folder| fs::write(folder.join("b.txt"), "mine").unwrap(), true),
        (
            "edited below",
            &["rename", "mnt/inner", "mnt/z"],
            |folder| fs::write(folder.join("inner/c.txt"), "mine").unwrap(),
            true,
        ),
        (
            "added below",
            &["rename", "mnt/inner", "mnt/z"],
            |folder| fs::write(folder.join("inner/d"), "mine").unwrap(),
            true,
        ),
        (
            "the same bytes",
            &["write-text", "mnt/a.txt", "x"],
            |folder| fs::write(folder.join("a.txt"), "alpha").unwrap(),
            true,
        ),
        ("in the way", &["write-text", "mnt/new", "x"], |folder| fs::write(folder.join("new"), "mine").unwrap(), true),
        (
            "moved from",
            &["rename", "mnt/a.txt", "mnt/z"],
            |folder| fs::write(folder.join("a.txt"), "mine").unwrap(),
            true,
        ),
        (
            "beside",
            &["write-text", "mnt/a.txt", "x"],
            |folder| fs::write(folder.join("inner/beside"), "mine").unwrap(),
            false,
        ),
    ];
    for (what, guest, edit, conflicts) in edits {
        let granted = granted();
        granted.plan(guest);
        edit(&granted.folder);
        let mount = granted.mount(":rw");
        if conflicts {
            let error = granted.refused(&["--mount", &mount]);
            assert_eq!(error["code"], "CONFLICT", "{what}: {error}");
        } else {
            assert_eq!(granted.apply(&["--mount", &mount]).status, 0, "{what}");
        }
        let mine: Vec<String> = granted.tree().into_iter().filter(|line| line.ends_with("= mine")).collect();
        assert_eq!(mine.len(), usize::from(what != "the same bytes"), "{what}: {mine:?}");
    }
}

/// What a run would be refused, its plan is.
#[test]
fn a_plan_says_what_a_folder_would_not_get() {
    let granted = granted();
    let plan = granted.plan(&["symlink", "../secret.txt", "mnt/leaves"]);
    assert_eq!((&plan["withheld"], &plan["mounts"]["mnt"]), (&json!(["mnt/leaves"]), &json!([])));
    let mount = granted.mount(":rw");
    let words =
        ["plan", "--guard", "off", "--mount", &mount, "tests/packages/probe", "write-text", "mnt/CLAUDE.md", "x"];
    let (status, error) = granted.home.error(&words);
    assert!(status == 11 && error["message"].as_str().unwrap().contains(":rwx"), "{error}");
}

/// A person is told the line that applies it, with the folder in it, and that line does.
#[test]
fn the_line_that_applies_a_plan_grants_its_folder() {
    let granted = granted();
    let mount = granted.mount(":rw");
    let words = ["plan", "--human", "--mount", &mount, "tests/packages/probe", "remove", "mnt/b.txt"];
    let said = granted.home.run(&words).stdout;
    let line = said.lines().find_map(|line| line.strip_prefix("apply it with ")).expect("a line");
    let words: Vec<&str> = line.split(' ').skip(1).collect();
    assert!(line.contains(&format!("--mount {mount}")), "{line}");
    let applied = granted.home.run(&words);
    assert_eq!(applied.status, 0, "{line}: {}", applied.stderr);
    assert!(!granted.folder.join("b.txt").exists());
    // What was done once is done again only over the same folder, granted again.
    fs::write(granted.folder.join("b.txt"), "beta").expect("not written");
    let (_, error) = granted.home.error(&["replay", "tests/packages/probe", "last"]);
    assert_eq!(error["code"], "NOT_REPRODUCIBLE");
    granted.home.json(&["replay", "--mount", &mount, "tests/packages/probe", "@2"]);
    assert!(!granted.folder.join("b.txt").exists());
}

/// Nobody is left to believe that a folder was changed back.
#[test]
fn undo_says_which_real_folders_stay_as_they_are() {
    let granted = granted();
    granted.good(":rw", &["write-text", "state/before", "x"]);
    granted.good(":rw", &["write-text", "mnt/a.txt", "changed"]);
    granted.good(":rw", &["read-file", "mnt/b.txt"]);
    let undone = granted.home.json(&["undo", "tests/packages/probe", "@2"]);
    let left = json!([{"sequence": 4, "name": "mnt", "path": granted.folder.canonicalize().expect("a folder")}]);
    assert_eq!((&undone["follows"]["sequence"], &undone["left"]), (&json!(2), &left), "{undone}");
    assert!(granted.tree().contains(&"a.txt = changed".to_owned()));
    granted.good(":rw", &["write-text", "state/after", "x"]);
    assert_eq!(granted.home.json(&["undo", "tests/packages/probe"]).get("left"), None);
}

#[test]
fn only_what_the_package_asks_for_is_granted() {
    let granted = granted();
    for (mount, code) in [
        (format!("{}:other", granted.folder.display()), "PERMISSION_DENIED"),
        (format!("{}/nothing:mnt", granted.folder.display()), "NOT_FOUND"),
        (format!("{}/a.txt:mnt", granted.folder.display()), "USAGE"),
        ("mnt".to_owned(), "USAGE"),
    ] {
        let (_, error) = granted.home.error(&["run", "--mount", &mount, "tests/packages/probe", "return-ok"]);
        assert_eq!(error["code"], code, "{mount}");
    }
}

#[test]
fn what_is_no_file_is_not_shown_and_not_opened() {
    let granted = granted();
    let pipe = granted.folder.join("pipe");
    let made = std::process::Command::new("mkfifo").arg(&pipe).status().expect("no mkfifo");
    assert!(made.success());
    let listed = granted.good(":rw", &["list-dir", "mnt"]);
    assert!(!listed.to_string().contains("pipe"));
    assert_eq!(granted.run(":rw", &["read-file", "mnt/pipe"]).status, 1);
}

/// What the user may not read is the guest's error, as it would be any program's that the user starts; a run that wants it elsewhere is
/// refused whole.
#[test]
fn what_the_user_may_not_read_is_the_guests_error() {
    use std::os::unix::fs::PermissionsExt;
    let granted = granted();
    let folder = &granted.folder;
    fs::write(folder.join("closed.txt"), "closed").expect("not written");
    fs::create_dir(folder.join("closed")).expect("no folder");
    fs::write(folder.join("closed/x"), "x").expect("not written");
    let hutch = common::unprivileged(&granted.home);
    let set =
        |name: &str, mode| fs::set_permissions(folder.join(name), fs::Permissions::from_mode(mode)).expect("not set");
    set("closed.txt", 0);
    set("closed", 0);
    let mount = format!("{}:mnt:rw", folder.display());
    let guest = |words: &[&str]| hutch(&[&["run", "--guard", "off", "--mount", &mount, "probe"], words].concat());
    for words in [["read-file", "mnt/closed.txt"], ["list-dir", "mnt/closed"], ["stat", "mnt/closed/x"]] {
        let (status, said) = guest(&words);
        assert_eq!(status, Some(1), "{words:?}: {said}");
        assert!(said.contains("ermission denied") && !said.contains("HOST_FAULT"), "{words:?}: {said}");
    }
    for words in [["rename", "mnt/closed", "mnt/z"], ["rename", "mnt/closed.txt", "mnt/z"]] {
        let (status, said) = guest(&words);
        assert_eq!(status, Some(11), "{words:?}: {said}");
        assert!(said.contains("PERMISSION_DENIED") && said.contains("closed"), "{words:?}: {said}");
        assert!(folder.join(words[1].trim_start_matches("mnt/")).exists() && !folder.join("z").exists(), "{words:?}");
    }
    for mode in [0, 0o400] {
        set("closed.txt", mode);
        let (status, said) = guest(&["write-text", "mnt/closed.txt", "changed"]);
        assert_eq!(status, Some(11), "{said}");
        assert!(said.contains("PERMISSION_DENIED") && said.contains("closed.txt"), "{said}");
    }
    assert_eq!(fs::read_to_string(folder.join("closed.txt")).expect("a file"), "closed");
    // What it can read and write beside that it can.
    let (status, said) = guest(&["list-dir", "mnt"]);
    assert!(status == Some(0) && said.contains("closed.txt"), "{said}");
    let (status, said) = guest(&["write-text", "mnt/a.txt", "changed"]);
    assert_eq!(
        (status, fs::read_to_string(folder.join("a.txt")).expect("a file").as_str()),
        (Some(0), "changed"),
        "{said}"
    );
    set("closed", 0o700);
}

/// Which links are in a folder that may be entered and not listed is told by nobody, so nothing beside it is changed.
#[test]
fn what_may_be_entered_and_not_listed_may_lead_anywhere() {
    use std::os::unix::fs::PermissionsExt;
    let granted = granted();
    let hutch = common::unprivileged(&granted.home);
    let mount = format!("{}:mnt:rw", granted.folder.display());
    let written = |mode| {
        fs::set_permissions(granted.folder.join("inner"), fs::Permissions::from_mode(mode)).expect("not set");
        let words = ["run", "--guard", "off", "--mount", &mount, "probe", "write-text", "mnt/a.txt", "changed"];
        let (status, said) = hutch(&words);
        (status, said, fs::read_to_string(granted.folder.join("a.txt")).expect("a file"))
    };
    let (status, said, text) = written(0o311);
    assert_eq!((status, text.as_str()), (Some(11), "alpha"), "{said}");
    assert!(said.contains("PERMISSION_DENIED") && said.contains("entered and not listed"), "{said}");
    let (status, said, text) = written(0o700);
    assert_eq!((status, text.as_str()), (Some(0), "changed"), "{said}");
}

/// What a run is given is written down with what became of it, so it has to fit before anything begins.
#[test]
fn folders_with_more_to_write_down_than_an_entry_holds_are_not_granted() {
    const FOLDERS: usize = 40;
    let home = Home::new();
    let package = home.path().join("package");
    common::copy(&common::repository().join("tests/packages/probe"), &package);
    let manifest = fs::read_to_string(package.join("APP.md")).unwrap();
    let names: String = (0..FOLDERS).map(|number| format!("      - m{number}\n")).collect();
    fs::write(package.join("APP.md"), manifest.replacen("      - mnt\n", &names, 1)).unwrap();
    let above = (0..4).fold(home.path().to_owned(), |above, _| above.join("x".repeat(200)));
    let mounts: Vec<String> = (0..FOLDERS)
        .map(|number| {
            let folder = above.join(number.to_string());
            fs::create_dir_all(&folder).unwrap();
            format!("--mount={}:m{number}:rw", folder.display())
        })
        .collect();
    let run = |mounts: &[String]| {
        let mounts = mounts.iter().map(String::as_str);
        home.run(
            &["run"]
                .into_iter()
                .chain(mounts)
                .chain(["package", "write-text", "m0/a", "hi"])
                .map(|word| if word == "package" { package.to_str().unwrap() } else { word })
                .collect::<Vec<_>>(),
        )
    };
    let refused = run(&mounts);
    assert!(refused.status == 2 && refused.stderr.contains("granted folders"), "{}", refused.stderr);
    assert!(fs::read_dir(above.join("0")).unwrap().next().is_none());
    // What fits is written down whole.
    let ran = run(&mounts[..10]);
    assert_eq!(ran.status, 0, "{}", ran.stderr);
    let entry = home.json(&["ledger", "show", package.to_str().unwrap()]);
    assert_eq!(entry["record"]["invocation"]["mounts"].as_object().unwrap().len(), 10, "{entry}");
}

/// A program that may be started is replaced by no two runs either.
#[test]
fn what_may_be_started_is_not_replaced_in_two_runs() {
    use std::os::unix::fs::PermissionsExt;
    let granted = granted();
    fs::set_permissions(granted.folder.join("b.txt"), fs::Permissions::from_mode(0o755)).expect("not set");
    let before = granted.tree();
    for guest in [["remove", "mnt/b.txt", ""], ["rename", "mnt/b.txt", "mnt/x"], ["rename", "mnt/a.txt", "mnt/b.txt"]] {
        let guest: Vec<&str> = guest.into_iter().filter(|word| !word.is_empty()).collect();
        let answer = granted.run(":rw", &guest);
        assert!(answer.status == 11 && answer.stderr.contains(":rwx"), "{guest:?}: {}", answer.stderr);
        assert_eq!(granted.tree(), before, "{guest:?}");
    }
    granted.good(":rwx", &["remove", "mnt/b.txt"]);
}

#[test]
fn a_run_that_can_not_be_recorded_changes_no_real_folder() {
    let granted = granted();
    granted.good(":rw", &["read-file", "mnt/a.txt"]);
    let before = granted.tree();
    let database = granted.home.path().join(".local/share/hutch/instances/probe/default/hutch.db");
    let held = rusqlite::Connection::open(database).expect("a database");
    held.execute_batch("BEGIN IMMEDIATE").expect("a lock");
    let mount = format!("{}:mnt:rw", granted.folder.display());
    let run = |wait| ["run", "--wait", wait, "--mount", &mount, "tests/packages/probe", "write-text", "mnt/new", "x"];
    let (status, error) = granted.home.error(&run("20ms"));
    assert_eq!((status, &error["code"]), (30, &json!("INSTANCE_BUSY")));
    assert_eq!(granted.tree(), before);
    held.execute_batch("ROLLBACK").expect("the lock is given back");
    assert_eq!(granted.home.run(&run("10min")).status, 0);
    assert_ne!(granted.tree(), before);
}

/// Whatever keeps a good run from being kept, the ledger says that it was.
#[test]
fn a_run_that_waits_in_vain_for_the_lock_on_granted_folders_is_in_the_ledger() {
    let granted = granted();
    granted.good(":rw", &["read-file", "mnt/a.txt"]);
    let before = granted.tree();
    let entries = || granted.home.json(&["ledger", "list", "probe"])["items"].clone();
    let (was, instance) = (entries(), granted.home.path().join(".local/share/hutch/instances/probe/default"));
    let mut options = fs::File::options();
    let lock = options.write(true).create(true).truncate(false).open(instance.join("hutch.grant")).unwrap();
    lock.lock().unwrap();
    let mount = format!("{}:mnt:rw", granted.folder.display());
    let run = |wait| ["run", "--wait", wait, "--mount", &mount, "tests/packages/probe", "write-text", "mnt/new", "x"];
    let (status, error) = granted.home.error(&run("20ms"));
    assert_eq!((status, &error["code"]), (30, &json!("INSTANCE_BUSY")));
    assert_eq!(granted.tree(), before);
    let now = entries();
    assert_eq!(now.as_array().unwrap().len(), was.as_array().unwrap().len() + 1, "{now}");
    assert!(now.to_string().contains("INSTANCE_BUSY") && !was.to_string().contains("INSTANCE_BUSY"), "{now}");
    lock.unlock().unwrap();
    assert_eq!(granted.home.run(&run("10min")).status, 0);
}

/// What a killed run left in a folder, whosever it was: here one whose instance is nowhere. Nothing is read or changed there until a person
/// lets go of it. What was copied there from elsewhere under such a name keeps nobody out.
#[test]
fn a_folder_with_what_a_killed_run_left_is_granted_once_that_is_let_go_of() {
    use std::os::unix::fs::{MetadataExt, PermissionsExt};
    let granted = granted();
    let name = ".hutch-0123456789abcdef0123456789abcdef";
    let left = granted.folder.join(name);
    fs::create_dir(&left).expect("no folder");
    fs::write(left.join("journal"), "{}").expect("not written");
    granted.good(":rw", &["read-file", "mnt/a.txt"]);
    let numbers = [&granted.folder, &left].map(|folder| fs::metadata(folder).expect("no folder").ino());
    let journal = format!("{}\n{{\"within\":[{},{}],", "0".repeat(64), numbers[0], numbers[1]);
    fs::write(left.join("journal"), &journal).expect("not written");
    for (path, mode) in [(left.clone(), 0o700), (left.join("journal"), 0o600)] {
        fs::set_permissions(path, fs::Permissions::from_mode(mode)).expect("not set");
    }
    let before = granted.tree();
    let beside = |access: &str, folder: PathBuf, guest: &[&str]| {
        let mount = format!("{}:mnt{access}", folder.display());
        granted.home.error(&[&["run", "--mount", &mount, "tests/packages/probe"], guest].concat())
    };
    for (access, folder, guest) in [
        ("", granted.folder.clone(), ["read-file", "mnt/a.txt"]),
        (":rw", granted.folder.clone(), ["remove", "mnt/a.txt"]),
        (":rw", granted.folder.join("inner"), ["remove", "mnt/c.txt"]),
    ] {
        let (status, error) = beside(access, folder, &guest);
        assert_eq!((status, &error["code"]), (30, &json!("CONFLICT")), "{guest:?}: {error}");
        assert!(error["message"].as_str().unwrap().contains(name), "{error}");
        // The same call is refused again.
        assert_eq!((&error["details"]["left"], &error["fixes"]), (&json!(true), &Value::Null), "{error}");
    }
    // From far above it shows where the guest goes.
    let outer = granted.home.path().join("outer");
    fs::create_dir(&outer).expect("no folder");
    fs::rename(&granted.folder, outer.join("granted")).expect("not moved");
    let (status, error) = beside(":rw", outer.clone(), &["remove", "mnt/granted/inner/c.txt"]);
    assert_eq!((status, &error["code"]), (30, &json!("CONFLICT")), "{error}");
    assert!(error["suggestion"].as_str().unwrap().contains("hutch gc --unsettled FOLDER"), "{error}");
    fs::rename(outer.join("granted"), &granted.folder).expect("not moved back");
    assert_eq!(granted.tree(), before);
    let folder = left.display().to_string();
    granted.home.json(&["gc", "--yes", "--unsettled", &folder, "probe"]);
    assert_eq!(fs::read_to_string(left.join("journal.left")).expect("gone"), journal);
    granted.good(":rw", &["remove", "mnt/a.txt"]);
}

/// What is moved to where it can't be would be nowhere.
#[test]
fn nothing_is_moved_to_a_name_of_the_hosts() {
    let granted = granted();
    let before = granted.tree();
    for guest in [["rename", "mnt/inner", "mnt/.hutch-inner"], ["rename", "mnt/a.txt", "mnt/.hutch-a"]] {
        let answer = granted.run(":rw", &guest);
        assert_ne!(answer.status, 0, "{guest:?}: {}", answer.stdout);
        assert_eq!(granted.tree(), before, "{guest:?}: {}", answer.stderr);
    }
}

/// A disk that is full at any point of the record: the folder is changed exactly if the run is recorded, and what was not done may be
/// done again.
#[test]
fn a_full_disk_changes_no_real_folder() {
    let granted = granted();
    granted.good(":rw", &["read-file", "mnt/a.txt"]);
    let before = granted.tree();
    let mount = format!("{}:mnt:rw", granted.folder.display());
    let mut refused = 0;
    for blocks in (0..2000).step_by(8) {
        // Files that may not grow stand for a full disk; the signal that comes with it is ignored.
        let mut command = std::process::Command::new("sh");
        let limited = format!("trap '' XFSZ; ulimit -f {blocks}; exec \"$@\"");
        command.arg("-c").arg(limited).arg("sh").arg(env!("CARGO_BIN_EXE_hutch"));
        command.args(["run", "--mount", &mount, "tests/packages/probe", "write-text", "mnt/a.txt", "changed"]);
        granted.home.surround(&mut command);
        let output = command.output().unwrap();
        if output.status.success() {
            assert_ne!(granted.tree(), before);
            break;
        }
        refused += 1;
        assert_eq!(granted.tree(), before, "{blocks}: {}", String::from_utf8_lossy(&output.stderr));
    }
    assert!(refused > 2, "{refused}");
    assert_eq!(granted.home.json(&["verify", "--chain", "probe"])["ok"], Value::Null);
    let open = granted.home.json(&["state", "diff", "probe"]);
    assert_eq!(open["unsettled"], json!([]), "{open}");
}

#[test]
fn the_hosts_own_folders_are_not_granted() {
    let granted = granted();
    granted.good("", &["read-file", "mnt/a.txt"]);
    let (home, cache) = (granted.home.path(), format!("{}/hutch", common::artifacts::CACHE));
    for folder in ["/", "", ".local", ".local/share/hutch", ".local/share/hutch/instances/probe", &cache] {
        let mount = format!("{}:mnt:rw", home.join(folder).display());
        let (status, error) =
            granted.home.error(&["run", "--mount", &mount, "tests/packages/probe", "list-dir", "mnt"]);
        assert_eq!((status, &error["code"]), (11, &json!("PERMISSION_DENIED")), "{folder}: {error}");
    }
}

/// Each kind of thing that a guest can plant and somebody else could trip over.
#[test]
fn links_out_of_a_granted_folder_are_withheld_and_named() {
    let granted = granted();
    let mount = format!("{}:mnt:rw", granted.folder.display());
    let plant = |target: &str, path: &str| {
        let guest =
            ["run", "--envelope", "--guard", "off", "--mount", &mount, "tests/packages/probe", "symlink", target, path];
        granted.home.json(&guest)["withheld"].clone()
    };
    assert_eq!(plant("../../../../etc/cron.d/x", "mnt/evil"), json!(["mnt/evil"]));
    assert_eq!(plant("../../secret.txt", "mnt/inner/evil"), json!(["mnt/inner/evil"]));
    assert_eq!(plant("a.txt", "mnt/fine"), Value::Null);
    let names = granted.tree();
    assert!(!names.iter().any(|name| name.contains("evil")), "{names:?}");
    assert!(names.contains(&"fine -> a.txt".to_owned()), "{names:?}");
}

/// What a shell, an editor or a version control would act on; the operator may grant it.
#[test]
fn what_tools_act_on_is_refused_unless_it_is_granted() {
    use std::os::unix::fs::PermissionsExt;
    let granted = granted();
    fs::set_permissions(granted.folder.join("b.txt"), fs::Permissions::from_mode(0o755)).expect("not set");
    fs::create_dir(granted.folder.join(".git")).expect("no folder");
    fs::write(granted.folder.join(".git/config"), "[core]").expect("not written");
    let before = granted.tree();
    let guests: [&[&str]; 6] = [
        &["write-text", "mnt/.git/config", "evil"],
        &["write-text", "mnt/inner/.EnvRC", "evil"],
        &["write-text", "mnt/b.txt", "evil"],
        &["symlink", "inner", "mnt/.vscode"],
        &["rename", "mnt/.git/config", "mnt/config"],
        &["rename", "mnt/a.txt", "mnt/inner/Desktop.ini"],
    ];
    let entries = || granted.home.json(&["ledger", "list", "probe"])["items"].clone();
    for guest in guests {
        let mount = format!("{}:mnt:rw", granted.folder.display());
        let line = [&["run", "--guard", "off", "--mount", &mount, "tests/packages/probe"], guest].concat();
        let (status, error) = granted.home.error(&line);
        assert_eq!((status, &error["code"]), (11, &json!("PERMISSION_DENIED")), "{guest:?}: {error}");
        assert!(error["message"].as_str().is_some_and(|text| text.contains(":rwx")), "{error}");
        assert_eq!(granted.tree(), before, "{guest:?}");
        assert!(entries().to_string().contains("PERMISSION_DENIED"), "{guest:?}");
    }
    assert_eq!(granted.good(":rw", &["read-file", "mnt/.git/config"])["content"], "[core]");
    for guest in guests {
        granted.good(":rwx", guest);
    }
    assert!(granted.tree().contains(&"inner/.EnvRC = evil".to_owned()), "{:?}", granted.tree());
    let record = granted.home.json(&["ledger", "show", "probe"])["record"].clone();
    assert_eq!(record["invocation"]["mounts"]["mnt"]["acted_on"], true);
}

/// What has another name and is acted on all the same, by a link's name or by where it is.
#[test]
fn what_a_link_leads_tools_to_is_refused_unless_it_is_granted() {
    let granted = granted();
    std::os::unix::fs::symlink("inner/c.txt", granted.folder.join("CLAUDE.md")).expect("not linked");
    std::os::unix::fs::symlink("store", granted.folder.join(".git")).expect("not linked");
    fs::create_dir_all(granted.folder.join("store/hooks")).expect("no folder");
    fs::create_dir_all(granted.folder.join("part/.vscode")).expect("no folder");
    let before = granted.tree();
    let guests: [(&[&str], &str); 4] = [
        (&["write-text", "mnt/inner/c.txt", "evil"], "CLAUDE.md"),
        (&["write-text", "mnt/CLAUDE.md", "evil"], "CLAUDE.md"),
        (&["write-text", "mnt/store/config", "evil"], ".git"),
        (&["rename", "mnt/inner", "mnt/other"], "CLAUDE.md"),
    ];
    for (guest, by) in guests {
        let answer = granted.run(":rw", guest);
        let because = format!("because of \\\"{by}\\\",");
        assert!(answer.status == 11 && answer.stderr.contains(&because), "{guest:?}: {}", answer.stderr);
        assert_eq!(granted.tree(), before, "{guest:?}");
    }
    for folder in ["part/.vscode", "store/../.git"] {
        let mount = format!("{}:mnt:rw", granted.folder.join(folder).display());
        let line = ["run", "--mount", &mount, "tests/packages/probe", "write-text", "mnt/x", "evil"];
        let (status, error) = granted.home.error(&line);
        assert_eq!((status, &error["code"]), (11, &json!("PERMISSION_DENIED")), "{folder}: {error}");
        assert_eq!(granted.tree(), before, "{folder}");
    }
    granted.good(":rw", &["write-text", "mnt/a.txt", "good"]);
    granted.good(":rwx", &["write-text", "mnt/CLAUDE.md", "meant"]);
    assert!(granted.tree().contains(&"inner/c.txt = meant".to_owned()), "{:?}", granted.tree());
}

/// The whole program under a limit of its data: what it keeps of names is paid by the guest, however long the paths are.
#[test]
fn a_folder_of_many_long_paths_takes_no_more_memory_than_a_run_may() {
    const FILES: usize = 20_000;
    let granted = granted();
    let deep = (0..17).fold(String::new(), |path, _| format!("{path}/{}", "d".repeat(200)));
    let folder = granted.folder.join(&deep[1..]);
    fs::create_dir_all(&folder).expect("no folder");
    for number in 0..FILES {
        fs::write(folder.join(format!("{number:05}")), "").expect("not written");
    }
    // Twice `memory_bytes` and 32 MiB, in KiB; and less than the program itself takes.
    for (kib, fits) in [(96 << 10, true), (8 << 10, false)] {
        let mut command = std::process::Command::new("sh");
        granted.home.surround(&mut command);
        command.args(["-c", "ulimit -d \"$0\" && exec \"$@\"", &kib.to_string(), env!("CARGO_BIN_EXE_hutch"), "run"]);
        command.args(["--limit", "memory_bytes=32MiB", "--mount", &format!("{}:mnt", granted.folder.display())]);
        command.args(["tests/packages/probe", "list-dir", &format!("mnt{deep}")]);
        let output = command.output().expect("no shell");
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.success(), fits, "{kib} KiB: {said}");
        if fits {
            let value: Value = serde_json::from_slice(&output.stdout).expect("no JSON");
            assert_eq!(value["entries"].as_array().map(Vec::len), Some(FILES));
        }
    }
}

/// A folder is listed no further than the guest can pay for, so a large one costs no more than a limit's worth of memory.
#[test]
fn a_folder_that_is_too_large_for_the_guest_is_not_listed_to_its_end() {
    let granted = granted();
    for number in 0..30_000 {
        fs::write(granted.folder.join(format!("{number:0>150}")), "").expect("not written");
    }
    let mount = format!("{}:mnt:ro", granted.folder.display());
    let line = |memory: &str| -> Vec<String> {
        let words = ["run", "--limit", memory, "--mount", &mount, "tests/packages/probe", "stat", "mnt/a.txt"];
        words.map(str::to_owned).to_vec()
    };
    let run = |memory: &str| {
        let line = line(memory);
        granted.home.run(&line.iter().map(String::as_str).collect::<Vec<_>>())
    };
    let refused = run("memory_bytes=4MiB");
    assert!(refused.stderr.contains("MEMORY_LIMIT"), "{}", refused.stderr);
    assert_eq!(run("memory_bytes=64MiB").status, 0);
    // What can't be shown counts for nothing: behind ever so many pipes the guest sees what there is.
    let odd = granted.folder.join("inner/odd");
    fs::create_dir(&odd).expect("no folder");
    let made = std::process::Command::new("sh")
        .args(["-c", "cd \"$0\" && seq -f p%g 1 40000 | xargs mkfifo && echo here > zz", &odd.display().to_string()])
        .status();
    assert!(made.expect("no shell").success());
    let listed = granted.home.json(&[
        "run",
        "--limit",
        "memory_bytes=4MiB",
        "--mount",
        &format!("{}:mnt:ro", odd.display()),
        "tests/packages/probe",
        "list-dir",
        "mnt",
    ]);
    assert_eq!(listed["entries"], json!([{ "kind": "file", "name": "zz" }]));
}

//! Packages that have a home.

use super::contracts::copy;
use super::program::Hutch;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// A copy of the to-do package with other front matter.
fn changed(hutch: &Hutch, name: &str, from: &str, to: &str) -> PathBuf {
    let package = hutch.scratch().join(name);
    copy(&hutch.root().join("packages/todo"), &package);
    let file = package.join("APP.md");
    let text = std::fs::read_to_string(&file).unwrap();
    assert!(text.contains(from));
    std::fs::write(file, text.replacen(from, to, 1)).unwrap();
    package
}

fn word(path: &Path) -> String {
    path.display().to_string()
}

#[test]
fn an_installed_package_is_called_by_its_slug_and_keeps_its_state() {
    let hutch = Hutch::new();
    let preview = hutch.line("install packages/todo --dry-run").result();
    assert_eq!(preview["asks"], json!(["guard:text", "state:state"]));
    assert_eq!(hutch.line("catalog").result()["items"], json!([]));
    let made = hutch.line("install packages/todo").result();
    assert_eq!(made["digest"], preview["digest"]);
    assert_eq!(hutch.call(&["run", "todo", "add", "x"]).status, 0);
    assert_eq!(hutch.line("install packages/todo").status, 0);
    assert_eq!(hutch.line("remove todo").code(), "CONFIRMATION_REQUIRED");
    assert_eq!(hutch.line("remove todo --quiet").code(), "CONFIRMATION_REQUIRED");
    assert_eq!(hutch.line("remove todo --dry-run").result()["dry_run"], true);
    assert_eq!(hutch.line("remove todo --yes").status, 0);
    assert_eq!(hutch.line("run todo list").code(), "PACKAGE_NOT_FOUND");
    assert_eq!(hutch.line("install packages/todo").status, 0);
    assert_eq!(hutch.line("run todo list").json()["count"], 1);
    let near = hutch.line("run todi list").error();
    assert_eq!(near["suggestion"], "did you mean todo?");
}

#[test]
fn what_was_installed_is_what_runs() {
    let hutch = Hutch::new();
    let digest = hutch.line("install packages/todo").result()["digest"].as_str().unwrap().to_owned();
    let folder = hutch.home().join("packages/todo").join(digest);
    // Whatever was done to the files: none of them is understood first, so none can say another thing.
    type Change = fn(&Path);
    let changes: [(&str, Change); 6] = [
        ("a file more", |folder| std::fs::write(folder.join("skills/more.md"), "x").unwrap()),
        ("no front matter", |folder| std::fs::write(folder.join("APP.md"), "broken").unwrap()),
        ("no component", |folder| std::fs::write(folder.join("app/app.wasm"), "another").unwrap()),
        ("a file gone", |folder| std::fs::remove_file(folder.join("APP.md")).unwrap()),
        ("a name that no package has", |folder| std::fs::write(folder.join("app/nul"), "x").unwrap()),
        ("all gone", |folder| std::fs::remove_dir_all(folder).unwrap()),
    ];
    for (what, change) in changes {
        change(&folder);
        assert_eq!(hutch.line("run todo list").code(), "PACKAGE_CHANGED", "{what}");
        assert_eq!(hutch.line("doctor").status, 50, "{what}");
        assert_eq!(hutch.line("install packages/todo").status, 0, "{what}");
        assert_eq!(hutch.line("run todo list").status, 0, "{what}");
    }
}

#[test]
fn an_update_that_asks_for_more_is_refused_until_it_is_granted() {
    let hutch = Hutch::new();
    let more = changed(&hutch, "more", "  hutch:\n", "  hutch:\n");
    assert_eq!(hutch.call(&["install", &word(&more)]).status, 0);
    changed(&hutch, "more", "  hutch:\n", "  hutch:\n    env: [TOKEN, REGION]\n");
    let before: Value = hutch.line("catalog").result();
    let refused = hutch.call(&["install", &word(&more)]);
    assert_eq!(refused.error()["details"]["needs_grant"], json!(["env:REGION", "env:TOKEN"]));
    assert_eq!(refused.status, 30);
    assert_eq!(hutch.call(&["install", &word(&more), "--grant", "env:TOKEN"]).status, 30);
    assert_eq!(hutch.call(&["install", &word(&more), "--grant", "env:OTHER"]).code(), "USAGE");
    assert_eq!(hutch.line("catalog").result(), before, "a refusal changes nothing");
    assert_eq!(hutch.call(&["install", &word(&more), "--grant", "env:TOKEN", "--grant", "env:REGION"]).status, 0);
    // Granted once, it is not asked again.
    assert_eq!(hutch.call(&["install", &word(&more)]).status, 0);
    assert_eq!(hutch.line("remove todo --yes").status, 0);
    assert_eq!(hutch.call(&["install", &word(&more)]).code(), "CONFIRMATION_REQUIRED");
    assert_eq!(hutch.call(&["install", &word(&more), "--yes"]).status, 0);
}

#[test]
fn a_package_with_errors_is_not_installed() {
    let hutch = Hutch::new();
    let broken = changed(&hutch, "broken", "version: 0.2.0", "version: one");
    let refused = hutch.call(&["install", &word(&broken)]);
    assert_eq!(refused.code(), "PACKAGE_INVALID");
    assert!(!hutch.home().join("packages").exists());
}

#[test]
fn discovery_reads_no_more_than_its_tier() {
    let hutch = Hutch::new();
    let package = changed(&hutch, "tiers", "slug: todo", "slug: todo");
    std::fs::remove_dir_all(package.join("app")).unwrap();
    std::fs::remove_dir_all(package.join("schemas")).unwrap();
    let listed = hutch.call(&["catalog", &word(&package)]).result();
    assert_eq!(listed["items"][0]["slug"], "todo");
    assert_eq!(listed["items"][0]["trust"], "local");
    let found = hutch.call(&["find", "remove", "--in", &word(&package)]).result();
    assert_eq!(found["items"][0]["command"], "remove");
    assert_eq!(found["items"][0]["confirmation_required"], true);
    let shown = hutch.call(&["show", &word(&package), "--skill", "todo-usage"]).result();
    assert!(shown["skills"][0]["content"].as_str().unwrap().contains("Look before you act"));
}

/// Whoever writes packages may write many, and what each says is searched again with each of its commands.
#[test]
fn so_much_is_searched_and_what_is_left_out_is_counted() {
    let hutch = Hutch::new();
    let commands: String = (0..128).map(|at| format!("  - c{at}\n")).collect();
    for at in 0..20 {
        let about = vec!["a"; 512].join(" ");
        let text = format!(
            "---\nname: p{at:02}\nslug: p{at:02}\ndescription: {about}\nversion: 1.0.0\nentry:\n  command: wasm:app.wasm\ncommands:\n{commands}skills: []\n---\nx\n"
        );
        let folder = hutch.scratch().join(format!("many/p{at:02}"));
        std::fs::create_dir_all(&folder).unwrap();
        std::fs::write(folder.join("APP.md"), text).unwrap();
    }
    let found = |path: &str| hutch.call(&["find", "c7", "--in", &word(&hutch.scratch().join(path))]);
    // 65,920 words each, of 1 Mi.
    let called = found("many");
    assert!(called.stderr.starts_with("15 packages were searched, and 5 were not"), "{called:?}");
    let many = called.json()["result"].take();
    assert_eq!((&many["searched"], &many["total"]), (&json!({"packages": 15, "left_out": 5}), &json!(15)));
    let one = found("many/p19").result();
    assert_eq!((one.get("searched"), &one["items"][0]["package"]), (None, &json!("p19")));
}

/// Where nothing is there or nothing was found, the answer says what there is, and a refusal says where packages are to be had.
#[test]
fn nothing_is_answered_with_what_there_is() {
    let hutch = Hutch::new();
    let note = |hutch: &Hutch, words: &[&str]| {
        let result = hutch.call(words).result();
        assert_eq!(result["items"], json!([]), "{result}");
        result["note"].as_str().unwrap_or_else(|| panic!("{result}")).to_owned()
    };
    for words in [&["catalog"][..], &["find", "milk"]] {
        assert!(note(&hutch, words).contains("hutch install takes a folder with APP.md"), "{words:?}");
    }
    let suggestion = |words: &str| hutch.line(words).error()["suggestion"].as_str().unwrap().to_owned();
    assert!(suggestion("install todo").contains("oci://HOST/NAME:TAG"));
    assert_eq!(suggestion("catalog https://github.com/acme/x"), suggestion("install https://github.com/acme/x"));
    assert!(suggestion("catalog https://github.com/acme/x").contains("git clone"));
    assert!(suggestion("catalog https://ghcr.io/acme/x").contains("hutch show oci://ghcr.io/acme/x"));
    assert_eq!(hutch.line("install packages/todo").status, 0);
    let found = note(&hutch, &["find", "zzqx"]);
    assert!(found.contains("there is todo: hutch meta"), "{found}");
    // A person reads it in the place of a table, and whoever wants parts of the answer beside it.
    assert_eq!(hutch.call(&["find", "--human", "zzqx"]).stdout.trim_end(), found);
    let part = hutch.call(&["find", "--query", "total", "zzqx"]);
    assert_eq!((part.stdout.as_str(), part.stderr.trim_end()), ("0\n", found.as_str()));
    assert!(hutch.line("catalog").result().get("note").is_none());
}

/// What a check says is still as `init` wrote it; it says nothing else.
fn left_of_the_example(checked: &Value) -> Vec<&str> {
    let diagnostics = checked["diagnostics"].as_array().unwrap();
    assert!(diagnostics.len() <= 1 && diagnostics.iter().all(|it| it["code"] == "EXAMPLE_LEFT"), "{checked}");
    let said = diagnostics.iter().filter_map(|it| it["message"].as_str()?.split_once(": "));
    said.flat_map(|(_, left)| left.split(", ")).collect()
}

#[test]
fn what_a_package_still_says_of_the_example_is_noticed_until_it_says_something_else() {
    let hutch = Hutch::new();
    hutch.call(&["init", "notes", "--in", &word(&hutch.scratch())]).result();
    let package = hutch.scratch().join("notes/package");
    let check = || hutch.call(&["check", &word(&package)]).result();
    let rewrite = |file: &str, from: &str, to: &str| {
        let text = std::fs::read_to_string(package.join(file)).unwrap();
        assert!(text.contains(from), "{file}: {text}");
        std::fs::write(package.join(file), text.replacen(from, to, 1)).unwrap();
    };
    let mut left = vec![
        "the description",
        "agent/brief.md",
        "agent/rules/trigger.md",
        "agent/rules/workflow.md",
        "skills/usage/SKILL.md",
    ];
    let first = check();
    assert_eq!((first["diagnostics"][0]["file"].as_str(), &first["warnings"]), (Some("APP.md"), &json!(1)), "{first}");
    for (file, from, to) in [
        ("APP.md", "Keeps notes, until you make it do something better", "Counts sheep"),
        ("agent/brief.md", "short notes", "sheep"),
        ("agent/rules/trigger.md", "short text", "sheep"),
        ("agent/rules/workflow.md", "first", "last"),
        ("skills/usage/SKILL.md", "short notes", "sheep"),
    ] {
        assert_eq!(left_of_the_example(&check()), left);
        rewrite(file, from, to);
        left.remove(0);
    }
    let last = check();
    assert_eq!((&last["warnings"], left_of_the_example(&last)), (&json!(0), left), "{last}");
}

#[test]
fn a_new_package_runs_and_passes_its_check() {
    let hutch = Hutch::new();
    let scratch = word(&hutch.scratch());
    assert_eq!(hutch.call(&["init", "notes", "--in", &scratch, "--dry-run"]).status, 0);
    assert!(!hutch.scratch().join("notes").exists());
    let made = hutch.call(&["init", "notes", "--in", &scratch]).result();
    let package = made["package"].as_str().unwrap();
    let checked = hutch.call(&["check", package]).result();
    assert_eq!((&checked["errors"], left_of_the_example(&checked).len()), (&json!(0), 5), "{checked}");
    let added = hutch.call(&["run", "--contract", "schema", package, "add", "Buy milk"]);
    assert_eq!(added.json()["items"], json!([{"id": "note_0001", "text": "Buy milk"}]));
    assert_eq!(
        hutch.call(&["run", package, "list", "--fields", "text"]).json()["items"],
        json!([{"text": "Buy milk"}])
    );
    assert_eq!(hutch.call(&["run", "--unchecked", package, "nosuch"]).status, 2);
    // As the README beside the source says.
    let tried = hutch.call(&["dev", "--once", package]).result();
    assert_eq!((&tried["good"], &tried["examples"]["called"]), (&json!(true), &json!(3)), "{tried}");
    assert_eq!(hutch.call(&["init", "notes", "--in", &scratch]).code(), "ALREADY_EXISTS");
    let near = hutch.call(&["init", "My Notes", "--in", &scratch]).error();
    assert_eq!(near["fixes"][0]["cmd"], format!("hutch init my-notes --in {scratch}"));
}

/// Names that cargo, Go and npm would not have for a package of theirs, and one that the component was not built under.
#[test]
fn a_new_package_may_have_any_name() {
    let hutch = Hutch::new();
    let scratch = word(&hutch.scratch());
    for name in ["3d", "build", "serde", "hutch-guest", "std", "shop"] {
        let made = hutch.call(&["init", name, "--in", &scratch]).result();
        let checked = hutch.call(&["check", made["package"].as_str().unwrap()]).result();
        assert_eq!((&checked["errors"], left_of_the_example(&checked).len()), (&json!(0), 5), "{checked}");
        for file in ["guest/Cargo.toml", "guest/Cargo.lock", "guest/README.md"] {
            let text = std::fs::read_to_string(hutch.scratch().join(name).join(file)).unwrap();
            assert!(text.contains(&format!("app-{name}")) && !text.contains("SLUG"), "{name}/{file}");
        }
    }
}

#[test]
fn a_package_in_another_language_says_how_it_is_built() {
    let hutch = Hutch::new();
    let scratch = word(&hutch.scratch());
    for (lang, first, source) in [
        ("python", "python3 -m venv .venv && ", "notes.py"),
        ("javascript", "npm install ", "notes.js"),
        ("c", "make)", "notes.c"),
        ("go", "GOOS=wasip1 GOARCH=wasm go build ", "main.go"),
    ] {
        let made = hutch.call(&["init", "--lang", lang, lang, "--in", &scratch]).result();
        let next = made["next"][0].as_str().unwrap();
        assert!(next.starts_with(&format!("(cd {scratch}/{lang}/guest && {first}")), "{next}");
        let files: Vec<&str> = made["files"].as_array().unwrap().iter().map(|file| file.as_str().unwrap()).collect();
        assert!(files.contains(&format!("{lang}/guest/{source}").as_str()), "{files:?}");
        for file in &files {
            let text = std::fs::read_to_string(hutch.scratch().join(file)).unwrap();
            assert!(!text.contains("SLUG"), "{file}");
        }
        // Nothing but the component is missing.
        let fault = hutch.call(&["check", made["package"].as_str().unwrap()]).error();
        let problems = fault["details"]["diagnostics"].as_array().unwrap().clone();
        assert_eq!(problems.len(), 1, "{problems:?}");
        assert!(problems[0]["message"].as_str().unwrap().contains("app/app.wasm, which is not there"), "{problems:?}");
    }
    let near = hutch.call(&["init", "--lang", "pyton", "x", "--in", &scratch]);
    assert_eq!((near.status, near.code().as_str()), (2, "USAGE"));
    assert!(near.error()["suggestion"].as_str().unwrap().contains("python"), "{near:?}");
}

/// The files below a folder, by path.
fn files(folder: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut found = BTreeMap::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(next) = folders.pop() {
        for entry in std::fs::read_dir(next).unwrap() {
            let path = entry.unwrap().path();
            match path.is_dir() {
                true => folders.push(path),
                false => {
                    drop(found.insert(path.strip_prefix(folder).unwrap().to_owned(), std::fs::read(path).unwrap()))
                }
            }
        }
    }
    found
}

/// What no registry has comes along, whole: a file that is new in `wit/` must be among those that `init` makes.
#[test]
fn the_guest_library_comes_with_a_new_package_file_by_file() {
    let hutch = Hutch::new();
    let scratch = hutch.scratch();
    let wit = hutch.root().join("wit");
    for (lang, holds_library) in [("rust", true), ("python", false), ("javascript", false)] {
        hutch.call(&["init", "--lang", lang, lang, "--in", &word(&scratch)]).result();
        let made = files(&scratch.join(lang).join("guest/wit"));
        let expected = files(&wit).into_iter().filter(|(path, _)| holds_library || path.starts_with("deps"));
        for (path, content) in expected {
            assert!(made.get(&path) == Some(&content), "{lang}: {} is missing or different", path.display());
        }
        let own = made.keys().filter(|path| !wit.join(path).is_file()).map(|path| word(path)).collect::<Vec<_>>();
        assert_eq!(own, if holds_library { vec![] } else { vec!["world.wit"] }, "{lang}");
    }
    // Every file of the templates is made, too.
    let templates = hutch.root().join("host/cli/template");
    for lang in ["rust", "python", "javascript", "c", "go"] {
        let own = format!("all-{lang}");
        hutch.call(&["init", "--lang", lang, &own, "--in", &word(&scratch)]).result();
        let made = files(&scratch.join(&own));
        let readme = String::from_utf8(made[Path::new("guest/README.md")].clone()).unwrap();
        assert!(readme.contains("\nhutch dev --once ../package\n"), "{lang}: {readme}");
        for path in [lang, "shared", "large"].iter().flat_map(|folder| files(&templates.join(folder)).into_keys()) {
            let is_record = path.ends_with("app.wasm.provenance.json");
            assert!(is_record || made.contains_key(&path), "{lang}: {} is not made", path.display());
        }
    }
}

#[test]
fn an_update_to_the_same_package_takes_nothing_away_that_may_be_in_use() {
    let hutch = Hutch::new();
    let pin = hutch.line("install packages/todo").result();
    let folder = hutch.home().join("packages/todo").join(pin["digest"].as_str().unwrap());
    let component = folder.join("app/app.wasm");
    let before = std::fs::metadata(&component).unwrap().modified().unwrap();
    assert_eq!(hutch.line("install packages/todo").status, 0);
    assert_eq!(std::fs::metadata(&component).unwrap().modified().unwrap(), before, "it was written again");
    // One that is damaged is replaced.
    std::fs::write(&component, "another").unwrap();
    assert_eq!(hutch.line("run todo list").code(), "PACKAGE_CHANGED");
    assert_eq!(hutch.line("install packages/todo").status, 0);
    assert_eq!(hutch.line("run todo list").status, 0);
    let beside: Vec<_> = std::fs::read_dir(folder.parent().unwrap()).unwrap().collect();
    assert_eq!(beside.len(), 2, "the pin, the package, and nothing else: {beside:?}");
}

/// A call that began before an update reads the version that it began with to its end, and what an entry names can be run again.
#[test]
fn an_update_leaves_the_versions_before_it_until_they_are_collected() {
    let hutch = Hutch::new();
    let mut folders = Vec::new();
    let there = |folders: &[PathBuf]| -> Vec<bool> {
        folders.iter().map(|folder| folder.join("app/app.wasm").is_file()).collect()
    };
    for version in ["one", "two", "three"] {
        let package = changed(&hutch, "package", "slug: todo\n", &format!("slug: todo # {version}\n"));
        let pin = hutch.call(&["install", &word(&package)]).result();
        folders.push(hutch.home().join("packages/todo").join(pin["digest"].as_str().unwrap()));
        assert_eq!(there(&folders), vec![true; folders.len()], "{version}");
    }
    assert_eq!(hutch.line("run todo list").status, 0);
    assert_eq!(hutch.line("gc --yes todo").result()["versions"], 2);
    assert_eq!(there(&folders), [false, false, true]);
}

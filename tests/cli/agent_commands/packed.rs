//! Packages in one file: written the same from the same folder, taken wherever a package is, and refused whole if anything in them is
//! not as it must be.

use super::contracts::copy;
use super::program::Hutch;
use serde_json::{Value, json};
use std::fs::{self, File};
use std::path::{Path, PathBuf};

fn word(path: &Path) -> String {
    path.display().to_string()
}

/// The to-do package as one file.
fn packed(hutch: &Hutch, name: &str) -> String {
    let path = word(&hutch.scratch().join(name));
    hutch.call(&["pack", "packages/todo", "--output", &path]).result();
    path
}

/// Every file, folder and link below a folder, and what the files hold.
fn everything(folder: &Path) -> Vec<(PathBuf, Option<Vec<u8>>)> {
    let mut found = Vec::new();
    let mut pending = vec![folder.to_owned()];
    while let Some(folder) = pending.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            let kind = path.symlink_metadata().unwrap();
            // A very long file is one that no test writes; its length says enough.
            let content = (kind.is_file() && kind.len() < 1 << 28).then(|| fs::read(&path).unwrap());
            if kind.is_dir() {
                pending.push(path.clone());
            }
            found.push((path, content));
        }
    }
    found.sort();
    found
}

#[test]
fn what_a_file_holds_that_is_no_package_is_not_repeated() {
    let hutch = Hutch::new();
    let secret = "login-and-key-material-0123456789";
    for (name, begins, said) in [
        ("text", &b""[..], "it is a text"),
        ("gz", b"\x1f\x8b\x08", "gzip: unpack it first"),
        ("zst", b"\x28\xb5\x2f\xfd", "zstd: unpack it first"),
        ("xz", b"\xfd7zXZ\0", "xz: unpack it first"),
        ("bz2", b"BZh9", "bzip2: unpack it first"),
        ("zip", b"PK\x03\x04", "zip archive: unpack it"),
        ("wasm", b"\0asm\x0d\0\x01\0", "put it into the folder of a package"),
        ("elf", b"\x7fELF", "native program"),
        ("script", b"#!/bin/sh\n", "script"),
        ("bytes", b"\xff\xfe", "no tar archive"),
    ] {
        let file = hutch.scratch().join(name);
        fs::write(&file, [begins, secret.repeat(100).as_bytes()].concat()).unwrap();
        for verb in ["run", "check", "show", "meta", "install", "certify", "plan"] {
            for human in [&[][..], &["--human"]] {
                let ended = hutch.call(&[&[verb], human, &[file.to_str().unwrap()]].concat());
                let told = format!("{verb} {name}: {ended:?}");
                assert_eq!((ended.status, ended.stdout.as_str()), (2, ""), "{told}");
                assert!(ended.stderr.contains(said) && !ended.stderr.contains("login"), "{told}");
            }
        }
    }
    // A header further on.
    let packed = hutch.scratch().join("broken.tar");
    hutch.call(&["pack", "packages/todo", "--output", packed.to_str().unwrap()]).result();
    let mut bytes = fs::read(&packed).unwrap();
    let second = 512 + bytes[512..].windows(5).position(|part| part == b"ustar").unwrap() - 257;
    bytes[second + 100..second + 130].copy_from_slice(&secret.as_bytes()[..30]);
    fs::write(&packed, bytes).unwrap();
    let ended = hutch.call(&["run", packed.to_str().unwrap(), "list"]);
    assert!(ended.stderr.contains("header 2 of the archive is broken") && !ended.stderr.contains("login"), "{ended:?}");
}

#[test]
fn the_same_files_are_the_same_bytes() {
    let hutch = Hutch::new();
    let scratch = hutch.scratch();
    let one = hutch.call(&["pack", "packages/todo", "--output", &word(&scratch.join("one"))]).result();
    let preview = hutch.line("pack packages/todo --dry-run").result();
    assert_eq!((&preview["bytes"], &preview["digest"]), (&one["bytes"], &one["digest"]));
    assert_eq!(preview["path"], "todo-0.2.0.tar");
    assert!(!hutch.root().join("todo-0.2.0.tar").exists());
    let other = scratch.join("other");
    copy(&hutch.root().join("packages/todo"), &other);
    // Written at another time, in another order, with other modes.
    let text = fs::read(other.join("APP.md")).unwrap();
    fs::remove_file(other.join("APP.md")).unwrap();
    fs::write(other.join("APP.md"), text).unwrap();
    File::options().write(true).open(other.join("APP.md")).unwrap().set_modified(std::time::UNIX_EPOCH).unwrap();
    #[cfg(unix)]
    fs::set_permissions(other.join("app/app.wasm"), std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    let two = hutch.call(&["pack", &word(&other), "--output", &word(&scratch.join("two"))]).result();
    let three = hutch.call(&["pack", &word(&scratch.join("one")), "--output", &word(&scratch.join("three"))]).result();
    let bytes = fs::read(scratch.join("one")).unwrap();
    assert_eq!(one["bytes"], bytes.len());
    assert!(fs::read(scratch.join("two")).unwrap() == bytes && fs::read(scratch.join("three")).unwrap() == bytes);
    assert_eq!((&two["digest"], &three["digest"]), (&one["digest"], &one["digest"]));
    let installed = hutch.line("install packages/todo --dry-run").result();
    assert_eq!(installed["digest"], one["digest"], "the digest is the folder's");
    fs::write(other.join("skills/more.md"), "x").unwrap();
    let changed = hutch.call(&["pack", &word(&other), "--output", &word(&scratch.join("changed"))]).result();
    assert_ne!(changed["digest"], one["digest"]);
}

#[test]
fn every_command_takes_a_packed_file_for_its_folder() {
    let (by_file, by_folder) = (Hutch::new(), Hutch::new());
    let file = packed(&by_file, "todo.tar");
    let fixed = "--now 2026-04-01T09:00:00Z --seed 7";
    for line in [
        &format!("run {fixed} PACKAGE add Milk"),
        "run PACKAGE list",
        &format!("plan {fixed} PACKAGE complete td_0001"),
        "validate PACKAGE list",
        "check PACKAGE",
        "show PACKAGE --skill todo-usage",
        "meta PACKAGE reminder set",
        "examples PACKAGE",
        "explain-error NOT_FOUND PACKAGE",
        "find remind --in PACKAGE",
        "catalog PACKAGE",
        "state cat PACKAGE",
        "ledger list --changes PACKAGE",
        "verify PACKAGE last",
        "verify --chain PACKAGE",
        "undo PACKAGE",
    ] {
        let call = |hutch: &Hutch, package: &str| hutch.line(&line.replace("PACKAGE", package));
        let (ended, expected) = (call(&by_file, &file), call(&by_folder, "packages/todo"));
        assert_eq!((ended.status, ended.stderr.as_str()), (0, ""), "{line}: {ended:?}");
        let ended: Value = serde_json::from_str(&ended.stdout.replace(&file, "packages/todo")).unwrap();
        assert_eq!(shape(&ended), shape(&expected.json()), "{line}");
    }
    // Whatever names it, the state is that of the slug.
    assert_eq!(by_file.line("run packages/todo add Bread").status, 0);
    assert_eq!(by_file.call(&["run", &file, "list"]).json()["count"], 1);
    let installed = by_file.call(&["install", &file]).result();
    assert_eq!(installed["source"], file.as_str());
    assert_eq!(by_file.line("run todo list").json()["count"], 1);
    assert_eq!(by_file.call(&["install", &file]).status, 0);
    let again = by_file.scratch().join("again.tar");
    by_file.call(&["pack", "todo", "--output", &word(&again)]).result();
    assert!(fs::read(again).unwrap() == fs::read(file).unwrap(), "what is installed packs the same");
}

/// An answer without what differs between two homes.
fn shape(value: &Value) -> Value {
    match value {
        Value::Object(fields) => fields
            .iter()
            .filter(|(name, _)| !["wall_time_us", "load_time_us", "compiled", "at"].contains(&name.as_str()))
            .filter(|(name, _)| !["hash", "previous", "sequence", "measured", "tree"].contains(&name.as_str()))
            .map(|(name, value)| (name.clone(), shape(value)))
            .collect(),
        Value::Array(items) => items.iter().map(shape).collect(),
        Value::String(text) if text.len() == 64 => json!("a digest"),
        Value::String(text) if text.ends_with("Z") => json!("an instant"),
        other => other.clone(),
    }
}

#[test]
fn certify_takes_a_packed_file() {
    let hutch = Hutch::new();
    let file = packed(&hutch, "todo.tar");
    let report = hutch.call(&["certify", &file]).result();
    assert_eq!(report["level"], "agent-native", "{report}");
}

#[test]
fn nothing_that_is_there_is_overwritten() {
    let hutch = Hutch::new();
    let path = hutch.scratch().join("mine");
    fs::write(&path, "mine").unwrap();
    let before = everything(&hutch.scratch());
    let output = word(&path);
    assert_eq!(hutch.call(&["pack", "packages/todo", "--output", &output]).code(), "ALREADY_EXISTS");
    #[cfg(unix)]
    {
        // A pipe is not waited at.
        let pipe = hutch.scratch().join("pipe");
        assert!(std::process::Command::new("mkfifo").arg(&pipe).status().is_ok_and(|made| made.success()));
        assert_eq!(hutch.call(&["pack", "packages/todo", "--output", &word(&pipe)]).code(), "ALREADY_EXISTS");
        fs::remove_file(&pipe).unwrap();
    }
    let inside = hutch.scratch().join("nothing/file");
    for flags in [&[][..], &["--dry-run"]] {
        let pack = |output: &str| hutch.call(&[&["pack", "packages/todo", "--output", output], flags].concat()).code();
        assert_eq!((pack(&word(&inside)), pack(&output)), ("NOT_FOUND".to_owned(), "ALREADY_EXISTS".to_owned()));
    }
    assert_eq!(hutch.call(&["pack", "packages/todo", "--output", "packages/todo/app/x"]).code(), "USAGE");
    assert_eq!(everything(&hutch.scratch()), before);
    assert!(!hutch.root().join("packages/todo/app/x").exists());
    fs::remove_file(&path).unwrap();
    let first = hutch.call(&["pack", "packages/todo", "--output", &output]).result();
    let written = everything(&hutch.scratch());
    assert_eq!(hutch.call(&["pack", "packages/todo", "--output", &output]).result(), first, "the same again is done");
    assert_eq!(everything(&hutch.scratch()), written, "nothing is left beside it");
}

#[test]
fn what_check_refuses_is_not_packed() {
    let hutch = Hutch::new();
    for (name, file, from, to) in [
        ("version", "APP.md", "version: 0.2.0", "version: one"),
        ("described", "schemas/commands.json", "\"idempotent\": true", "\"idempotent\": false"),
    ] {
        let folder = hutch.scratch().join(name);
        copy(&hutch.root().join("packages/todo"), &folder);
        let text = fs::read_to_string(folder.join(file)).unwrap();
        assert!(text.contains(from), "{name}");
        fs::write(folder.join(file), text.replacen(from, to, 1)).unwrap();
        let checked = hutch.call(&["check", &word(&folder)]).error();
        let before = everything(&hutch.scratch());
        let refused = hutch.call(&["pack", &word(&folder), "--output", &word(&hutch.scratch().join("x.tar"))]);
        assert_eq!(refused.error()["details"]["diagnostics"], checked["details"]["diagnostics"], "{name}");
        assert_eq!(everything(&hutch.scratch()), before);
    }
    hutch.line("install packages/todo").result();
    let installed = hutch.home().join("packages/todo");
    let changed = everything(&installed).into_iter().find(|(path, _)| path.ends_with("APP.md")).unwrap();
    fs::write(&changed.0, [changed.1.unwrap(), b"More.\n".to_vec()].concat()).unwrap();
    assert_eq!(hutch.line("pack todo --dry-run").code(), "PACKAGE_CHANGED");
}

/// One entry as bytes: header and content, filled up to whole blocks.
struct Entry {
    header: [u8; 512],
    content: Vec<u8>,
}

impl Entry {
    fn new(kind: u8, name: impl AsRef<[u8]>, content: impl AsRef<[u8]>) -> Entry {
        let (name, content) = (name.as_ref(), content.as_ref());
        let mut header = [0; 512];
        header[..name.len()].copy_from_slice(name);
        header[100..108].copy_from_slice(b"0000644\0");
        header[156] = kind;
        header[157..163].copy_from_slice(b"APP.md");
        header[257..265].copy_from_slice(b"ustar  \0");
        Entry { header, content: content.to_vec() }.sized(content.len() as u64)
    }

    /// The same, saying another size.
    fn sized(mut self, bytes: u64) -> Entry {
        self.header[124..136].copy_from_slice(format!("{bytes:011o}\0").as_bytes());
        self
    }

    fn bytes(mut self) -> Vec<u8> {
        self.header[148..156].fill(b' ');
        let sum: u32 = self.header.iter().map(|byte| u32::from(*byte)).sum();
        self.header[148..156].copy_from_slice(format!("{sum:06o}\0 ").as_bytes());
        let mut bytes = self.header.to_vec();
        bytes.extend(&self.content);
        bytes.resize(bytes.len().next_multiple_of(512), 0);
        bytes
    }
}

fn archive(entries: impl IntoIterator<Item = Entry>) -> Vec<u8> {
    let mut bytes: Vec<u8> = entries.into_iter().flat_map(Entry::bytes).collect();
    bytes.extend([0; 1024]);
    bytes
}

fn file(name: impl AsRef<[u8]>) -> Entry {
    Entry::new(b'0', name, "x")
}

/// A good package, and these entries besides.
fn with(entries: impl IntoIterator<Item = Entry>) -> Vec<u8> {
    let root = Path::new("../../packages/todo");
    let good = ["APP.md", "app/app.wasm", "skills/todo-usage/SKILL.md"];
    let good = good.map(|name| Entry::new(b'0', name, fs::read(root.join(name)).unwrap()));
    archive(good.into_iter().chain(entries))
}

#[test]
fn a_plain_archive_of_a_package_is_one() {
    let hutch = Hutch::new();
    let path = hutch.scratch().join("plain");
    fs::write(&path, with([Entry::new(b'5', "docs/", ""), Entry::new(0, "docs/old", "x")])).unwrap();
    hutch.call(&["check", &word(&path)]).result();
    assert_eq!(hutch.call(&["run", &word(&path), "list"]).json()["count"], 0);
}

#[test]
fn a_hostile_archive_is_refused_and_leaves_nothing() {
    let hutch = Hutch::new();
    let outside = word(&hutch.scratch().join("outside"));
    fs::write(&outside, "untouched").unwrap();
    let long = |name: &str| Entry::new(b'L', "././@LongLink", name);
    let whole = with([]);
    let deep = format!("{}x", "d/".repeat(16));
    let cases: Vec<(&str, Vec<u8>, &str)> = vec![
        ("text", b"hello".to_vec(), "ARCHIVE_INVALID"),
        ("zip", [b"PK\x03\x04".as_slice(), &[0; 2000]].concat(), "ARCHIVE_INVALID"),
        ("nothing", Vec::new(), "ARCHIVE_INVALID"),
        ("an end and nothing else", archive([]), "FILE_MISSING"),
        ("no end", whole[..whole.len() - 1024].to_vec(), "ARCHIVE_INVALID"),
        ("half an end", whole[..whole.len() - 512].to_vec(), "ARCHIVE_INVALID"),
        ("half a file", whole[..100_000].to_vec(), "ARCHIVE_INVALID"),
        ("a second archive behind", [whole.clone(), whole.clone()].concat(), "ARCHIVE_INVALID"),
        (
            "a wrong sum",
            {
                let mut bytes = whole.clone();
                bytes[0] ^= 1;
                bytes
            },
            "ARCHIVE_INVALID",
        ),
        ("a size beyond the file", with([file("a").sized(1 << 20)]), "ARCHIVE_INVALID"),
        ("the largest size", with([file("a").sized((1 << 33) - 1)]), "ARCHIVE_INVALID"),
        (
            "a size of 64 bits",
            with([{
                let mut one = file("a");
                one.header[124..136].fill(0xff);
                one
            }]),
            "ARCHIVE_INVALID",
        ),
        (
            "a size that is no number",
            with([{
                let mut one = file("a");
                one.header[124..136].fill(b'z');
                one
            }]),
            "ARCHIVE_INVALID",
        ),
        ("absolute", with([file(&outside[..outside.len().min(99)])]), "PATH_INVALID"),
        ("above", with([file("../outside")]), "PATH_INVALID"),
        ("above, within", with([file("app/../../outside")]), "PATH_INVALID"),
        ("a dot", with([file("./APP.md")]), "PATH_INVALID"),
        ("two slashes", with([file("app//x")]), "PATH_INVALID"),
        ("a file with a slash behind", with([file("app/x/")]), "PATH_INVALID"),
        ("no name", with([file("")]), "PATH_INVALID"),
        ("a long name above", with([long("../outside"), file("x")]), "PATH_INVALID"),
        ("a name that is too long", with([long(&"x/".repeat(600)), file("x")]), "PATH_INVALID"),
        ("a name without end", with([long("x").sized(1 << 30)]), "ARCHIVE_INVALID"),
        ("a long name of much", with([Entry::new(b'L', "x", vec![b'x'; 100_000]), file("x")]), "PATH_INVALID"),
        ("a long name for nothing", with([long("x")]), "ARCHIVE_INVALID"),
        ("two long names", with([long("x"), long("y"), file("z")]), "ARCHIVE_INVALID"),
        ("too deep", with([file(deep)]), "TOO_DEEP"),
        ("a drive", with([file("c:x")]), "NAME_NOT_PORTABLE"),
        ("a backslash", with([file("..\\outside")]), "NAME_NOT_PORTABLE"),
        ("a device of Windows", with([file("app/NUL.txt")]), "NAME_NOT_PORTABLE"),
        ("a control character", with([file("app/\u{1b}[2J")]), "NAME_NOT_PORTABLE"),
        ("no text", with([file(b"app/\xff")]), "NAME_NOT_PORTABLE"),
        ("upper case", with([file("app.md")]), "NAME_NOT_PORTABLE"),
        ("upper case of a folder", with([file("App/x")]), "NAME_NOT_PORTABLE"),
        ("twice", with([file("APP.md")]), "ITEM_DUPLICATE"),
        ("a folder twice", with([Entry::new(b'5', "a", ""), Entry::new(b'5', "a/", "")]), "ITEM_DUPLICATE"),
        ("a file and a folder", with([file("app")]), "ITEM_DUPLICATE"),
        ("a file in a file", with([file("APP.md/x")]), "ITEM_DUPLICATE"),
        ("a folder with content", with([Entry::new(b'5', "a", "x")]), "ARCHIVE_INVALID"),
        ("a link", with([Entry::new(b'2', "link", "")]), "LINK_REFUSED"),
        ("a hard link", with([Entry::new(b'1', "link", "")]), "LINK_REFUSED"),
        ("a character device", with([Entry::new(b'3', "device", "")]), "SPECIAL_FILE"),
        ("a block device", with([Entry::new(b'4', "device", "")]), "SPECIAL_FILE"),
        ("a pipe", with([Entry::new(b'6', "pipe", "")]), "SPECIAL_FILE"),
        ("a sparse file", with([Entry::new(b'S', "sparse", "")]), "ARCHIVE_INVALID"),
        ("another name by pax", with([Entry::new(b'x', "x", "16 path=../out\n"), file("x")]), "ARCHIVE_INVALID"),
        ("another name for all", with([Entry::new(b'g', "x", "16 path=../out\n"), file("x")]), "ARCHIVE_INVALID"),
        ("a kind of no one", with([Entry::new(b'?', "x", "")]), "ARCHIVE_INVALID"),
        ("too many files", archive((0..50_001).map(|at| Entry::new(b'0', format!("f{at}"), ""))), "TOO_MANY_FILES"),
        ("too many mistakes", archive((0..1_000).map(|_| file("/x"))), "TOO_MANY_PROBLEMS"),
    ];
    let path = hutch.scratch().join("archive");
    let temp = hutch.scratch().join("temp");
    fs::create_dir(&temp).unwrap();
    for (what, bytes, code) in cases {
        fs::write(&path, &bytes).unwrap();
        let before = everything(hutch.scratch().parent().unwrap());
        for arguments in [&["install", "--launcher", "--yes"][..], &["check"], &["run"], &["pack", "--dry-run"]] {
            let named = word(&path);
            let call = [arguments, &[named.as_str()]].concat();
            let error = hutch.call_with(&call, "", &[("TMPDIR", &word(&temp))]).error();
            let diagnostics = error["details"]["diagnostics"].as_array().unwrap_or_else(|| panic!("{what}: {error}"));
            assert!(diagnostics.iter().any(|found| found["code"] == code), "{what}: {error}");
            assert!(diagnostics.len() <= 101, "{what}");
            let expected =
                if (code, arguments[0]) == ("FILE_MISSING", "run") { "PACKAGE_NOT_FOUND" } else { "PACKAGE_INVALID" };
            assert_eq!(error["code"], expected, "{what}");
            assert!(!error.to_string().contains('\u{1b}'), "{what}");
        }
        assert!(everything(hutch.scratch().parent().unwrap()) == before, "{what}: something was left");
    }
    assert_eq!(fs::read_to_string(outside).unwrap(), "untouched");
}

#[test]
fn an_archive_of_more_than_a_package_may_hold_is_refused_unread() {
    let hutch = Hutch::new();
    let path = hutch.scratch().join("huge");
    // A hole in the file: nothing is behind the claim, and nothing is read or reserved for it.
    fs::write(&path, file("a").sized(3 << 30).bytes()).unwrap();
    File::options().append(true).open(&path).unwrap().set_len((3 << 30) + 2048).unwrap();
    let error = hutch.call(&["install", &word(&path)]).error();
    assert_eq!(error["details"]["diagnostics"][0]["code"], "PACKAGE_TOO_LARGE", "{error}");
    #[cfg(target_os = "linux")]
    {
        let read = bytes_read(&hutch, &["install", &word(&path)]);
        assert!((1..16 << 20).contains(&read), "{read} bytes were read");
    }
    assert!(hutch.is_untouched());
}

/// How many bytes a call reads, as the system counts them for the shell that waits for it.
#[cfg(target_os = "linux")]
fn bytes_read(hutch: &Hutch, words: &[&str]) -> u64 {
    let script = r#""$@" 2>&1; while read -r name bytes; do [ "$name" != rchar: ] || echo "$bytes"; done </proc/$$/io"#;
    let call = hutch.command();
    let mut command = std::process::Command::new("/bin/sh");
    command.args(["-c", script, "sh"]).arg(call.get_program()).args(words);
    command.env_clear().envs(call.get_envs().filter_map(|(name, value)| Some((name, value?))));
    let output = command.current_dir(hutch.root()).output().unwrap();
    let said = String::from_utf8(output.stdout).unwrap();
    said.lines().last().and_then(|bytes| bytes.parse().ok()).unwrap_or_else(|| panic!("{said}"))
}

//! Packages as folders: what is found, and what must not be touched.

use super::*;
use std::fs;
use std::path::{Path, PathBuf};
use tempfile::TempDir;

const COMPONENT: &[u8] = b"\0asm\x0d\0\x01\0";

const MANIFEST: &str = "---\nslug: todo\nname: To-do\ndescription: d\nversion: 0.1.0\nentry:\n  command: wasm:app.wasm\n\
    commands: [add]\nskills:\n  - usage\nmetadata:\n  hutch:\n    state: [data]\n    resources: [docs]\n---\nbody\n";

struct Folder(TempDir);

impl Folder {
    /// A package without problems.
    fn good() -> Folder {
        let folder = Folder(tempfile::tempdir().unwrap());
        folder.file("APP.md", MANIFEST);
        folder.file("app/app.wasm", COMPONENT);
        folder.file("skills/usage/SKILL.md", "---\nname: usage\ndescription: d\n---\nUse it.\n");
        folder.file("docs/a.txt", "a");
        folder.file("docs/sub/b.txt", "bb");
        folder
    }

    fn at(&self, path: &str) -> PathBuf {
        self.0.path().join(path)
    }

    fn file(&self, path: &str, content: impl AsRef<[u8]>) -> &Folder {
        fs::create_dir_all(self.at(path).parent().unwrap()).unwrap();
        fs::write(self.at(path), content).unwrap();
        self
    }

    fn remove(&self, path: &str) -> &Folder {
        let path = self.at(path);
        if path.is_dir() {
            fs::remove_dir_all(path).unwrap()
        } else {
            fs::remove_file(path).unwrap()
        }
        self
    }

    #[cfg(unix)]
    fn link(&self, path: &str, target: impl AsRef<Path>) -> &Folder {
        std::os::unix::fs::symlink(target, self.at(path)).unwrap();
        self
    }

    fn source(&self) -> Source {
        Source::open(self.0.path(), &Folder::bounds()).unwrap()
    }

    fn bounds() -> PackageBounds {
        PackageBounds {
            component_bytes_max: 1_000,
            component_bytes_asked_max: None,
            total_bytes_max: 10_000,
            entries_max: 40,
        }
    }

    fn checked(&self) -> Checked {
        check(&self.source(), Folder::bounds())
    }

    /// `FILE:LINE CODE` of each problem, and whether the package is usable by both ways of opening it.
    fn problems(&self) -> Vec<String> {
        let checked = self.checked();
        assert_eq!(checked.package.is_none(), checked.diagnostics.iter().any(Diagnostic::is_error));
        checked.diagnostics.iter().map(|d| format!("{}:{} {}", d.file, d.line, d.code)).collect()
    }

    fn opened(&self) -> Result<Package, PackageError> {
        Package::open(&self.source(), Folder::bounds())
    }
}

#[test]
fn a_good_package_opens() {
    let folder = Folder::good();
    assert_eq!(folder.problems(), [] as [&str; 0]);
    let package = folder.opened().unwrap();
    assert_eq!(package.component().unwrap(), COMPONENT);
    assert_eq!(package.payload(), Payload::Component);
    assert_eq!(package.manifest().slug().as_str(), "todo");
    assert!(package.contract().unwrap().is_none());
    // Of what was read of skills nothing is held but this.
    let names: Vec<SkillName> = folder.checked().skills;
    assert_eq!(names, [SkillName::parse("usage").unwrap()]);
    // By its path alone.
    assert_eq!(Package::open_at(folder.at("")).unwrap().component().unwrap(), COMPONENT);
    assert!(matches!(Package::open_at(folder.at("none")), Err(SourceError::Io(_))));
    assert!(matches!(Package::open_at(folder.at("docs")), Err(SourceError::Package(_))));
}

#[test]
fn declared_folders_are_listed_sorted_and_read_one_file_at_a_time() {
    let folder = Folder::good();
    let package = folder.opened().unwrap();
    let entries = package.entries(&package.manifest().resources()[0]).unwrap();
    let listed: Vec<_> = entries.iter().map(|entry| (entry.path.as_str(), entry.file_bytes)).collect();
    assert_eq!(listed, [("docs/a.txt", Some(1)), ("docs/sub", None), ("docs/sub/b.txt", Some(2))]);
    assert_eq!(package.read(&entries[2].path).unwrap(), b"bb");
    // A volume that the package ships nothing for.
    assert_eq!(package.entries(&package.manifest().volumes()[0]).unwrap(), []);
    let absent = PackagePath::parse("docs/none").unwrap();
    assert_eq!(package.read(&absent).unwrap_err().code, Code::FileMissing);
}

#[test]
fn what_is_missing_is_named() {
    for (removed, expected) in [
        ("APP.md", "APP.md:1 FILE_MISSING"),
        ("app/app.wasm", "APP.md:7 FILE_MISSING"),
        ("skills/usage/SKILL.md", "APP.md:10 SKILL_MISSING"),
        ("docs", "APP.md:14 FOLDER_MISSING"),
    ] {
        let folder = Folder::good();
        folder.remove(removed);
        let unlisted = folder.problems();
        assert_eq!(unlisted, [expected], "{removed}");
    }
    assert_eq!(Folder::good().remove("app").problems(), ["APP.md:7 FILE_MISSING", "app:1 FOLDER_MISSING"]);
    assert_eq!(Folder::good().remove("skills").problems(), ["APP.md:10 SKILL_MISSING", "skills:1 FOLDER_MISSING"]);
}

#[test]
fn all_problems_of_all_files_come_at_once_and_sorted() {
    let folder = Folder::good();
    folder.file("APP.md", MANIFEST.replace("add", "\"\"").replace("0.1.0", "v1"));
    folder.file("skills/usage/SKILL.md", "---\nname: other\n---\n").remove("app");
    folder.file("schemas/commands.json", "{\"schema\": \"hutch/commands@1\"");
    assert_eq!(
        folder.problems(),
        [
            "APP.md:5 VERSION_INVALID",
            "APP.md:8 COMMAND_INVALID",
            "app:1 FOLDER_MISSING",
            "schemas/commands.json:1 JSON_SYNTAX",
            "skills/usage/SKILL.md:2 FIELD_MISSING",
            "skills/usage/SKILL.md:2 SKILL_NAME_MISMATCH",
            "skills/usage/SKILL.md:3 BODY_EMPTY",
        ]
    );
    folder.file("APP.md", MANIFEST);
    assert_eq!(
        folder.problems(),
        [
            "APP.md:7 FILE_MISSING",
            "app:1 FOLDER_MISSING",
            "schemas/commands.json:1 JSON_SYNTAX",
            "skills/usage/SKILL.md:2 FIELD_MISSING",
            "skills/usage/SKILL.md:2 SKILL_NAME_MISMATCH",
            "skills/usage/SKILL.md:3 BODY_EMPTY",
        ]
    );
}

#[test]
fn an_unlisted_skill_is_a_warning() {
    let folder = Folder::good();
    folder.file("skills/extra/SKILL.md", "anything").file("skills/README.md", "x");
    assert_eq!(folder.problems(), ["skills/extra:1 SKILL_UNLISTED"]);
    assert!(folder.checked().package.is_some());
}

#[test]
fn payloads_that_are_no_component_have_their_own_codes() {
    for (bytes, code, host) in [
        (&b""[..], "PAYLOAD_EMPTY", ErrorCode::ComponentInvalid),
        (b"\x7fELF\x02", "PAYLOAD_NATIVE", ErrorCode::ComponentInvalid),
        (b"#!/bin/sh\n", "PAYLOAD_SCRIPT", ErrorCode::ComponentInvalid),
        (b"(component)", "PAYLOAD_TEXT", ErrorCode::ComponentInvalid),
        (b"\0asm\x07\0\0\0", "PAYLOAD_VERSION", ErrorCode::ComponentInvalid),
        (b"hello", "PAYLOAD_UNKNOWN", ErrorCode::ComponentInvalid),
        (&[0; 1_001], "FILE_TOO_LARGE", ErrorCode::ComponentLimit),
    ] {
        let folder = Folder::good();
        folder.file("app/app.wasm", bytes);
        assert_eq!(folder.problems(), [format!("app/app.wasm:1 {code}")]);
        assert_eq!(folder.opened().unwrap_err().code(), host);
    }
    let folder = Folder::good();
    folder.file("app/app.wasm", b"\0asm\x01\0\0\0");
    assert_eq!(folder.opened().unwrap().payload(), Payload::CoreModule);
}

#[test]
fn refusals_have_the_hosts_codes() {
    let code = |folder: &Folder| folder.opened().unwrap_err().code();
    assert_eq!(code(Folder::good().remove("APP.md")), ErrorCode::PackageNotFound);
    assert_eq!(code(Folder::good().remove("app/app.wasm")), ErrorCode::PackageInvalid);
    assert_eq!(code(Folder::good().file("APP.md", MANIFEST.replace("wasm:", "node "))), ErrorCode::EntryUnsupported);
    assert_eq!(code(Folder::good().file("APP.md", b"---\n\xff\n---\n")), ErrorCode::PackageInvalid);
    let other_version = r#"{"schema":"hutch/commands@9"}"#;
    assert_eq!(code(Folder::good().file("schemas/commands.json", other_version)), ErrorCode::PackageInvalid);
}

/// What a package keeps in `schemas/` is its own affair, unless it says that it is ours.
#[test]
fn schemas_of_another_kind_are_no_contract_and_no_error() {
    for text in ["[]", "{", "", "commands: [add]\n", "{}", r#"{"schema":"acme/cli@1"}"#, r#"{"schema":null}"#] {
        let folder = Folder::good();
        folder.file("schemas/commands.json", text);
        assert_eq!(folder.problems(), ["schemas/commands.json:1 CONTRACT_FOREIGN"], "{text}");
        let package = folder.opened().unwrap();
        assert!(package.contract().unwrap().is_none() && package.whole_contract().unwrap().is_none(), "{text}");
        // It is part of the package all the same.
        assert_ne!(package.run_digest().unwrap(), Folder::good().opened().unwrap().run_digest().unwrap(), "{text}");
    }
    for (text, code) in [
        (r#"{"schema":"hutch/commands@0.2"}"#, "CONTRACT_SCHEMA"),
        (r#"{"schema":"hutch/comands@0.1"}"#, "CONTRACT_SCHEMA"),
        (r#"{"schema":"hutch/commands@0.1""#, "JSON_SYNTAX"),
        (r#"{"schema":"hutch\/commands@0.1",}"#, "JSON_SYNTAX"),
    ] {
        let folder = Folder::good();
        folder.file("schemas/commands.json", text);
        assert_eq!(folder.problems(), [format!("schemas/commands.json:1 {code}")], "{text}");
        assert!(folder.opened().is_err(), "{text}");
    }
}

#[test]
fn opening_reads_no_skill() {
    let folder = Folder::good();
    folder.file("skills/usage/SKILL.md", "broken");
    assert!(folder.opened().is_ok());
    assert_eq!(folder.problems(), ["skills/usage/SKILL.md:1 FRONT_MATTER_MISSING"]);
}

#[test]
fn contract_and_manifest_are_compared() {
    let contract = include_str!("../../../../tests/manifests/good.commands.json");
    let folder = Folder::good();
    folder.file("schemas/commands.json", contract.replace("\"todo\"", "\"other\""));
    let found = folder.problems();
    assert!(found.len() >= 2 && found.iter().all(|problem| problem.ends_with("CONTRACT_MANIFEST")), "{found:?}");
    assert!(folder.opened().unwrap().contract().unwrap().is_some());
}

#[test]
fn folders_in_place_of_files_and_files_in_place_of_folders() {
    let folder = Folder::good();
    folder.remove("APP.md").file("APP.md/x", "");
    assert_eq!(folder.problems(), ["APP.md:1 NOT_A_FILE"]);
    let folder = Folder::good();
    folder.remove("skills").file("skills", "");
    assert_eq!(folder.problems(), ["APP.md:10 SKILL_MISSING", "skills:1 NOT_A_FOLDER"]);
    let folder = Folder::good();
    folder.remove("docs").file("docs", "");
    assert_eq!(folder.problems(), ["APP.md:14 NOT_A_FOLDER"]);
    let folder = Folder::good();
    folder.file("data", "");
    assert_eq!(folder.problems(), ["APP.md:13 NOT_A_FOLDER"]);
    let package = folder.opened().unwrap();
    assert_eq!(package.entries(&package.manifest().volumes()[0]).unwrap_err().diagnostics()[0].code, Code::NotAFolder);
}

#[test]
fn bounds_bite() {
    let folder = Folder::good();
    folder.file("docs/large", vec![0; 10_001]);
    assert_eq!(folder.problems(), ["docs/large:1 PACKAGE_TOO_LARGE"]);
    let folder = Folder::good();
    for at in 0..50 {
        folder.file(&format!("docs/{at}"), "");
    }
    assert_eq!(folder.problems(), ["docs:1 TOO_MANY_FILES"]);
    assert!(folder.opened().unwrap().digest().is_err());
    let folder = Folder::good();
    folder.file(&format!("docs/{}/x", ["d"; 16].join("/")), "");
    let found = folder.problems();
    assert!(found.len() == 1 && found[0].ends_with("TOO_DEEP"), "{found:?}");
}

#[test]
fn the_digest_follows_every_name_and_every_byte() {
    let digest = |folder: &Folder| folder.opened().unwrap().digest().unwrap();
    let good = digest(&Folder::good());
    assert_eq!(digest(&Folder::good()), good);
    let mut seen = vec![good];
    // Other content, another name, one more file, the same letters divided otherwise between name and content.
    for (path, content) in [("docs/a.txt", "b"), ("docs/c.txt", "a"), ("docs/empty", ""), ("docs/a.tx", "ta")] {
        let folder = Folder::good();
        folder.remove("docs/a.txt").file(path, content);
        let digest = digest(&folder);
        assert!(!seen.contains(&digest));
        seen.push(digest);
    }
}

#[test]
fn a_report_says_how_many_and_which_first() {
    let error = Folder::good().remove("app/app.wasm").opened().unwrap_err();
    assert_eq!(
        error.to_string(),
        "1 problems, the first: APP.md:7:12: error: entry.command names app/app.wasm, which is not there [FILE_MISSING]"
    );
}

#[cfg(unix)]
mod unix {
    use super::*;
    use std::os::unix::ffi::OsStrExt;

    fn outside() -> Folder {
        let folder = Folder(tempfile::tempdir().unwrap());
        folder.file("secret", COMPONENT).file("SKILL.md", "---\nname: usage\ndescription: secret\n---\nsecret\n");
        folder
    }

    #[test]
    fn a_link_that_leaves_the_package_is_refused_and_not_read() {
        let outside = outside();
        for (path, target, expected) in [
            ("app/app.wasm", outside.at("secret"), vec!["app/app.wasm:1 LINK_REFUSED"]),
            ("app/app.wasm", "../../../../../../../../etc/passwd".into(), vec!["app/app.wasm:1 LINK_REFUSED"]),
            ("app/app.wasm", "nowhere".into(), vec!["app/app.wasm:1 LINK_REFUSED"]),
            ("app/app.wasm", "app.wasm".into(), vec!["app/app.wasm:1 LINK_REFUSED"]),
            ("APP.md", outside.at("secret"), vec!["APP.md:1 LINK_REFUSED"]),
            ("skills/usage/SKILL.md", outside.at("SKILL.md"), vec!["skills/usage/SKILL.md:1 LINK_REFUSED"]),
            ("skills/usage", outside.at(""), vec!["skills/usage:1 LINK_REFUSED"]),
            ("docs/a.txt", outside.at("secret"), vec!["docs/a.txt:1 LINK_REFUSED"]),
            ("docs/sub", outside.at(""), vec!["docs/sub:1 LINK_REFUSED"]),
            ("docs", outside.at(""), vec!["docs:1 LINK_REFUSED"]),
            ("app", outside.at(""), vec!["app:1 LINK_REFUSED"]),
        ] {
            let folder = Folder::good();
            folder.remove(path).link(path, &target);
            let checked = folder.checked();
            assert_eq!(folder.problems(), expected, "{path} -> {}", target.display());
            assert!(!format!("{checked:?}").contains("secret\""), "{path}");
        }
    }

    #[test]
    fn links_inside_are_read_as_files_and_folders_are_not_entered_through_them() {
        let folder = Folder::good();
        folder.remove("app/app.wasm").file("app/v1.wasm", COMPONENT).link("app/app.wasm", "v1.wasm");
        folder.link("docs/again.txt", "sub/b.txt");
        assert_eq!(folder.problems(), [] as [&str; 0]);
        let package = folder.opened().unwrap();
        assert_eq!(package.component().unwrap(), COMPONENT);
        let entries = package.entries(&package.manifest().resources()[0]).unwrap();
        assert_eq!(entries[1].path.as_str(), "docs/again.txt");
        assert_eq!(entries[1].file_bytes, Some(2));
        // A folder that holds itself would have no end.
        folder.link("docs/loop", ".");
        assert_eq!(folder.problems(), ["docs/loop:1 LINK_REFUSED"]);
    }

    fn pipe(path: &Path) {
        let status = std::process::Command::new("mkfifo").arg(path).status().unwrap();
        assert!(status.success());
    }

    #[test]
    fn pipes_and_sockets_are_refused_without_waiting_for_their_other_end() {
        for path in ["APP.md", "app/app.wasm", "skills/usage/SKILL.md", "docs/a.txt"] {
            let folder = Folder::good();
            folder.remove(path);
            pipe(&folder.at(path));
            assert_eq!(folder.problems(), [format!("{path}:1 SPECIAL_FILE")]);
            let folder = Folder::good();
            folder.remove(path);
            let _listener = std::os::unix::net::UnixListener::bind(folder.at(path)).unwrap();
            assert_eq!(folder.problems(), [format!("{path}:1 SPECIAL_FILE")]);
        }
        // A link to a pipe inside the package.
        let folder = Folder::good();
        pipe(&folder.at("docs/pipe"));
        folder.remove("APP.md").link("APP.md", "docs/pipe");
        assert_eq!(folder.problems(), ["APP.md:1 SPECIAL_FILE", "docs/pipe:1 SPECIAL_FILE"]);
    }

    #[test]
    fn names_that_cannot_exist_everywhere_are_refused() {
        for name in [&b"nul"[..], b"a:b", b"a\\b", b"end.", b"bell\x07", b"\xff\xfe"] {
            let folder = Folder::good();
            fs::write(folder.at("docs").join(std::ffi::OsStr::from_bytes(name)), "").unwrap();
            let found = folder.problems();
            assert!(found.len() == 1 && found[0].ends_with("NAME_NOT_PORTABLE"), "{name:?} {found:?}");
        }
        let folder = Folder::good();
        folder.file("docs/A.txt", "");
        assert_eq!(folder.problems(), ["docs:1 NAME_NOT_PORTABLE"]);
    }

    #[test]
    fn what_cannot_be_read_is_a_diagnostic() {
        use std::os::unix::fs::PermissionsExt;
        let folder = Folder::good();
        fs::set_permissions(folder.at("APP.md"), fs::Permissions::from_mode(0o0)).unwrap();
        // Whoever runs as root can read it all the same.
        if fs::read(folder.at("APP.md")).is_err() {
            assert_eq!(folder.problems(), ["APP.md:1 FILE_UNREADABLE"]);
        }
    }
}

//! The golden table of error codes: programs rely on the words and on the statuses, so a change here is a breaking change. Each
//! code is provoked through the program, or the table says why it can't be.

use crate::support::{Machine, Ran, package, probe, repository, todo};
use hutch_model::error_code::ErrorCode;
use rusqlite::Connection;
use serde::Deserialize;
use serde_json::Value;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Row {
    code: String,
    status: u8,
    /// Why no test can provoke it; absent if one does.
    #[serde(default)]
    not_provoked: Option<String>,
}

fn golden() -> Vec<Row> {
    serde_json::from_str(include_str!("error-codes.json")).unwrap()
}

#[test]
fn codes_and_statuses_are_those_of_the_golden_table() {
    let golden: Vec<_> = golden().into_iter().map(|row| (row.code, row.status)).collect();
    let present: Vec<_> = ErrorCode::ALL.iter().map(|code| (code.text().to_owned(), code.exit_status())).collect();
    assert_eq!(present, golden, "codes are never renamed; a new one is added to tests/cli/error-codes.json");
}

#[test]
fn every_code_is_provoked_or_the_table_says_why_not() {
    for row in golden() {
        let machine = Machine::new();
        match (provoke(&machine, &row.code), row.not_provoked) {
            (Some(ran), None) => {
                ran.fault(&row.code, i32::from(row.status));
            }
            (None, Some(reason)) => assert!(!reason.is_empty(), "{}", row.code),
            (Some(_), Some(_)) => panic!("{} is provoked, so the table need not say why not", row.code),
            (None, None) => panic!("{} is not provoked and the table does not say why", row.code),
        }
    }
}

/// Whatever a program is told of a failure, a person is told too.
#[test]
fn people_are_told_every_scalar_detail() {
    let mut compared = 0;
    for row in golden() {
        let machine = Machine::new();
        let Some(ran) = provoke(&machine, &row.code) else { continue };
        let details = ran.fault(&row.code, i32::from(row.status)).details;
        let told = machine.again_for_people();
        // What can't be made twice, as a call on a file that it repaired, ends otherwise the second time.
        if !told.stderr.contains(&format!("[{}]", row.code)) {
            continue;
        }
        let words = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
        let seen = words(&told.stderr);
        for (name, value) in details {
            let text = match &value {
                Value::Bool(_) | Value::Number(_) => format!("{}:", name.replace('_', " ")),
                Value::String(text) => words(&text.replace(|letter: char| letter.is_control(), " ")),
                _ => continue,
            };
            // A guest's own error is told by its message.
            let said = serde_json::from_str::<Value>(&text).ok();
            let text = said.and_then(|said| said["error"]["message"].as_str().map(words)).unwrap_or(text);
            assert!(seen.contains(&text), "{}: {name} is {value}, and a person sees\n{}", row.code, told.stderr);
            compared += 1;
        }
    }
    assert!(compared >= 60, "{compared} details were compared");
}

/// A run that ends with the code.
fn provoke(machine: &Machine, code: &str) -> Option<Ran> {
    let limited = |limit: &str, arguments: &[&str]| machine.probe(&["--limit", limit], arguments);
    Some(match code {
        "LEVEL_NOT_REACHED" => {
            machine.write_program("program", "#!/bin/sh\necho no\n");
            machine.run(["certify", "--program", "./program"])
        }
        "BUILD_FAILED" => machine.run(["dev", "--once", &todo(), "--", "./no-such-program"]),
        "EXAMPLE_FAILED" => {
            package::copy_folder(&repository().join("packages/convert"), &machine.path("convert"));
            std::fs::remove_file(machine.path("convert/samples/letter.md")).ok()?;
            machine.run(["dev", "--once", "convert"])
        }
        "GUEST_FAILED" => machine.run(["plan", &todo(), "complete", "td_9999"]),
        "VERIFY_FAILED" => {
            // What a run answered is changed behind the ledger's back.
            machine.probe(&[], &["return-ok"]).answer();
            database(machine).execute("UPDATE objects SET bytes = CAST('x' AS BLOB) WHERE kind = 4", ()).unwrap();
            machine.run(["verify", &probe(), "last"])
        }
        "NOT_REPRODUCIBLE" => {
            machine.probe(&["--limit", "wall_time_ms=20", "--limit", "fuel=1000000000000000"], &["spin"]);
            machine.run(["verify", &probe(), "last"])
        }
        "USAGE" => machine.run(["--frobnicate"]),
        #[cfg(unix)]
        "STDIN_TERMINAL" => {
            let terminal = crate::support::terminal::Terminal::open();
            Ran::of(machine.hutch(["run", "--stdin", &probe(), "stdin"]).stdin(terminal.end()))
        }
        "STDIN_LIMIT" => machine.probe(&["--limit", "stdin_bytes=1", "--stdin-text", "ab"], &["stdin"]),
        "ARGUMENT_LIMIT" => limited("argument_bytes=10", &["args", "0123456789"]),
        "ARGUMENT_REFUSED" => machine.todo(&["add", "a\u{7}b"]),
        "ARGUMENT_INVALID" => machine.run(["run", &todo(), "add"]),
        "PACKAGE_INVALID" => {
            let package = package::with_manifest(machine, "package", "slug: probe", "slug: -");
            machine.guest(&[package.to_str()?, "return-ok"])
        }
        "ENTRY_UNSUPPORTED" => {
            let package = package::with_manifest(machine, "package", "wasm:app.wasm", "python main.py");
            machine.guest(&[package.to_str()?, "return-ok"])
        }
        "COMPONENT_INVALID" => {
            let package = package::with_payload(machine, "package", b"(component)");
            machine.guest(&[package.to_str()?, "return-ok"])
        }
        "COMPONENT_LIMIT" => limited("component_bytes=1000", &["return-ok"]),
        "TARGET_UNSUPPORTED" => machine.run(["compile", &todo(), "--target", "mips", "--output", "code"]),
        "PERMISSION_DENIED" => machine.probe(&["--env", "NAME=value"], &["env"]),
        "INSTANCE_FOREIGN" => {
            machine.probe(&[], &["return-ok"]).answer();
            let other = package::with_manifest(
                machine,
                "package",
                "    state:\n",
                "    resources:\n      - skills\n    state:\n",
            );
            machine.guest(&[other.to_str()?, "return-ok"])
        }
        "PACKAGE_NOT_FOUND" => machine.guest(&["missing", "x"]),
        "NOT_FOUND" => machine.probe(&["--stdin-file", "missing"], &["stdin"]),
        "CONFIRMATION_REQUIRED" => machine.todo(&["remove", "td_0001", "--confirm"]),
        "ALREADY_EXISTS" => {
            machine.run(["init", "demo"]).result("init");
            machine.run(["init", "demo"])
        }
        "AUTHENTICATION_FAILED" => {
            let refusal = "HTTP/1.1 401 x\r\nwww-authenticate: Basic realm=\"x\"\r\ncontent-length: 0\r\n\r\n";
            let host = answering(refusal);
            machine.run(["pack", &format!("oci://{host}/todo:1")])
        }
        // Nothing listens there.
        "REGISTRY_FAILED" => machine.run(["pack", "oci://127.0.0.1:1/todo:1"]),
        "ARTIFACT_INVALID" => {
            let pushed = machine.run(["push", &todo(), "oci-layout:shop"]).result("push");
            let name = pushed["manifest"].as_str()?.strip_prefix("sha256:")?.to_owned();
            machine.write(&format!("shop/blobs/sha256/{name}"), "{}");
            machine.run(["pack", "oci-layout:shop:0.2.0"])
        }
        "SIGNATURE_REQUIRED" => {
            machine.run(["sign", "--new-key", "mine"]).result("sign");
            machine.run(["install", &todo(), "--key", "mine.pub"])
        }
        "SIGNATURE_INVALID" => {
            machine.run(["pack", &todo(), "--output", "todo.tar"]).result("pack");
            machine.write("todo.tar.sigstore.json", "{}");
            machine.run(["install", "todo.tar"])
        }
        "SIGNER_CHANGED" => {
            machine.run(["sign", "--new-key", "mine"]).result("sign");
            machine.run(["pack", &todo(), "--output", "todo.tar"]).result("pack");
            machine.run(["sign", "todo.tar", "--key", "mine"]).result("sign");
            machine.run(["install", "todo.tar", "--key", "mine.pub"]).result("install");
            std::fs::remove_file(machine.path("todo.tar.sigstore.json")).unwrap();
            machine.run(["install", "todo"])
        }
        "VERSION_OLDER" => {
            let folder = package::copy(machine, "package");
            machine.run(["install", "--yes", "./package"]).result("install");
            for file in ["APP.md", "schemas/commands.json"].map(|name| folder.join(name)) {
                let text = std::fs::read_to_string(&file).unwrap();
                std::fs::write(&file, text.replacen("0.1.0", "0.0.9", 1)).unwrap();
            }
            machine.run(["install", "./package"])
        }
        "VERSION_REPLACED" => {
            package::copy(machine, "package");
            machine.run(["pack", "./package", "--output", "package.tar"]).result("pack");
            machine.run(["install", "--yes", "package.tar"]).result("install");
            machine.write("package/app/more.txt", "more");
            std::fs::remove_file(machine.path("package.tar")).unwrap();
            machine.run(["pack", "./package", "--output", "package.tar"]).result("pack");
            machine.run(["install", "package.tar"])
        }
        "SOURCE_CHANGED" => {
            machine.run(["install", &todo()]).result("install");
            machine.run(["push", &todo(), "oci-layout:shop"]).result("push");
            machine.run(["install", "oci-layout:shop:0.2.0"])
        }
        "LOCK_DIFFERS" => {
            machine.run(["install", &todo()]).result("install");
            machine.run(["install", "--lock"]).result("install");
            machine.run(["--yes", "remove", "todo"]).result("remove");
            machine.run(["install", "--check"])
        }
        "LOCK_MISMATCH" => {
            package::copy(machine, "package");
            machine.run(["install", "--yes", "./package"]).result("install");
            machine.run(["install", "--lock"]).result("install");
            machine.run(["--yes", "remove", "probe"]).result("remove");
            machine.write("package/app/more.txt", "more");
            machine.run(["--yes", "install"])
        }
        #[cfg(target_os = "linux")]
        "RING_REQUIRED" => {
            let mut command = machine.hutch(["run", &probe(), "return-ok"]);
            command.env("HUTCH_RING", "required");
            crate::ring::without_landlock(command)
        }
        "TRUST_REQUIRED" => {
            machine.run(["trust", "add", "--require", "unsigned", "*"]).result("trust add");
            machine.probe(&[], &["return-ok"])
        }
        "PACKAGE_CHANGED" => {
            let installed = machine.run(["install", "--yes", &probe()]).result("install");
            let digest = installed["digest"].as_str()?;
            machine.write(&format!("person/.local/share/hutch/packages/probe/{digest}/app/app.wasm"), "another");
            machine.guest(&["probe", "return-ok"])
        }
        "CONFLICT" => {
            // The state is not the one that the plan saw: no race is needed to make it so.
            machine.run(["plan", &probe(), "write-text", "state/a", "planned"]).result("plan");
            machine.probe(&[], &["write-text", "state/a", "before it"]).answer();
            machine.run(["apply", &probe(), "last"])
        }
        "INSTANCE_BUSY" => {
            machine.probe(&[], &["return-ok"]).answer();
            let held = database(machine);
            held.execute_batch("BEGIN EXCLUSIVE").unwrap();
            machine.probe(&["--wait", "20ms"], &["return-ok"])
        }
        "WALL_TIME_LIMIT" => {
            machine.probe(&["--limit", "wall_time_ms=20", "--limit", "fuel=1000000000000000"], &["spin"])
        }
        "STDIN_TIME_LIMIT" => {
            let (nothing, _held) = std::io::pipe().ok()?;
            Ran::of(machine.hutch(["run", "--wait", "20ms", "--stdin", &probe(), "stdin"]).stdin(nothing))
        }
        "COMPILE_TIME_LIMIT" => {
            let mut command = machine.hutch(["run", "--limit", "compile_time_ms=1", &probe(), "return-ok"]);
            Ran::of(command.env("XDG_CACHE_HOME", machine.path("cache")))
        }
        "FUEL_LIMIT" => limited("fuel=100000", &["spin"]),
        "MEMORY_LIMIT" => limited("memory_bytes=64KiB", &["return-ok"]),
        "TABLE_LIMIT" => limited("table_elements=1", &["return-ok"]),
        "INSTANCE_LIMIT" => limited("instances=1", &["return-ok"]),
        "STACK_LIMIT" => machine.probe(&[], &["recurse"]),
        "HANDLE_LIMIT" => limited("handles=20", &["open-handles", "100"]),
        "HOST_CALL_LIMIT" => limited("host_call_bytes=1000", &["random", "1001"]),
        "STDOUT_LIMIT" => limited("stdout_bytes=2", &["stdout", "3"]),
        "STDERR_LIMIT" => limited("stderr_bytes=1", &["stderr", "2"]),
        "STATE_BYTES_LIMIT" => limited("state_bytes=1", &["write-text", "state/a", "xx"]),
        "STATE_FILES_LIMIT" => {
            machine.probe(&[], &["write-text", "state/a", "x"]).answer();
            limited("state_files=1", &["write-text", "state/b", "x"])
        }
        "FILE_BYTES_LIMIT" => limited("file_bytes=1", &["write-text", "state/a", "xx"]),
        "FOLDER_DEPTH_LIMIT" => {
            machine.probe(&[], &["make-dir", "state/a"]).answer();
            limited("folder_depth=1", &["make-dir", "state/a/b"])
        }
        "GUEST_TRAPPED" => machine.probe(&[], &["trap"]),
        "CONTRACT_VIOLATION" => machine.probe(&[], &["empty"]),
        "HOST_FAULT" => {
            // A file where the folder of all instances should be.
            machine.write("home/instances", "x");
            machine.guest(&["--home", "home", &todo(), "list"])
        }
        "ANSWER_LOST" => {
            let full = std::fs::File::options().write(true).open("/dev/full").ok()?;
            Ran::of(machine.hutch(["catalog"]).stdout(full))
        }
        "STORE_DAMAGED" => {
            machine.write("person/.local/share/hutch/instances/probe/default/hutch.db", "not a database".repeat(1000));
            machine.probe(&[], &["return-ok"])
        }
        "STORE_TOO_NEW" => {
            machine.probe(&[], &["return-ok"]).answer();
            database(machine).pragma_update(None, "user_version", 1_000_000).unwrap();
            machine.probe(&[], &["return-ok"])
        }
        _ => return None,
    })
}

/// A host on this machine that answers whoever calls with these bytes. It ends with the tests.
fn answering(bytes: &'static str) -> String {
    use std::io::{Read, Write};
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let host = listener.local_addr().unwrap().to_string();
    std::thread::spawn(move || {
        for mut stream in listener.incoming().flatten() {
            let mut asked = [0; 4096];
            let _ = stream.read(&mut asked);
            let _ = stream.write_all(bytes.as_bytes());
        }
    });
    host
}

/// The store of the probe's default instance.
fn database(machine: &Machine) -> Connection {
    Connection::open(machine.path("person/.local/share/hutch/instances/probe/default/hutch.db")).unwrap()
}

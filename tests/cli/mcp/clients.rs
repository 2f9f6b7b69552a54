//! What clients of the protocol are told so that they start the server, and what becomes of their files.

use crate::support::{Machine, Ran, todo};
use serde_json::{Value, json};

/// What a client is to be told is printed; with --write it stands in the client's file, beside all that stood there, whose bytes are kept.
#[test]
fn a_client_is_told_what_starts_the_server() {
    let machine = Machine::new();
    machine.run(["install", "--yes", &todo()]).result("install");
    let file = machine.path("person/.cursor/mcp.json");
    let printed = machine.run(["mcp", "--client", "cursor", "todo"]).result("mcp");
    let server = &printed["configuration"]["mcpServers"]["hutch"];
    assert_eq!((&printed["path"], &printed["written"]), (&json!(file.to_str().unwrap()), &json!(false)));
    assert!(std::path::Path::new(server["command"].as_str().unwrap()).is_absolute(), "{server}");
    assert_eq!(server["args"][0], "mcp");
    assert!(!file.exists());
    // A person copies it as the file has it.
    let told = machine.run(["mcp", "--human", "--client", "cursor", "todo"]).stdout;
    let (place, copied) = told.split_once("\n\n").unwrap();
    assert_eq!(place, format!("this belongs in {}", file.display()));
    assert_eq!(serde_json::from_str::<Value>(copied).unwrap(), printed["configuration"]);
    // A client may have none of these variables.
    let mut elsewhere = machine.hutch(["mcp", "--client", "cursor", &todo()]);
    let data = machine.path("data");
    let printed = Ran::of(elsewhere.env("XDG_DATA_HOME", &data).env("HUTCH_RING", "off")).result("mcp");
    let told = &printed["configuration"]["mcpServers"]["hutch"]["args"];
    let told: Vec<&str> = told.as_array().unwrap().iter().map(|word| word.as_str().unwrap()).collect();
    assert_eq!(told[..5], ["mcp", "--home", data.join("hutch").to_str().unwrap(), "--ring", "off"]);
    let write = |words: &[&str]| machine.run([&["mcp", "--client", "cursor", "--write"], words].concat());
    let before = "{\"theme\": 1, \"mcpServers\": {\"other\": {\"command\": \"x\"}}}";
    machine.write("person/.cursor/mcp.json", before);
    machine.run(["mcp", "--dry-run", "--client", "cursor", "--write", "todo"]).answer();
    assert_eq!(std::fs::read_to_string(&file).unwrap(), before);
    let written = write(&["todo"]).result("mcp");
    assert_eq!(std::fs::read_to_string(written["backup"].as_str().unwrap()).unwrap(), before);
    let now: Value = serde_json::from_slice(&std::fs::read(&file).unwrap()).unwrap();
    assert_eq!((&now["theme"], &now["mcpServers"]["other"]["command"]), (&json!(1), &json!("x")));
    assert_eq!(&now["mcpServers"]["hutch"], server);
    // The same again changes nothing, and needs no backup.
    assert_eq!(write(&["todo"]).result("mcp").get("backup"), None);
    // What can't be read is nobody's to replace.
    for broken in ["{// mine\n}", "[]", "{\"mcpServers\": 7}"] {
        machine.write("person/.cursor/mcp.json", broken);
        write(&["todo"]).fault("USAGE", 2);
        assert_eq!(std::fs::read_to_string(&file).unwrap(), broken);
    }
}

/// Codex reads tables of TOML: one more stands at the end of its file, unless something is said there of a server of that name.
#[test]
fn a_client_whose_file_is_no_json_is_told_too() {
    let machine = Machine::new();
    machine.run(["install", "--yes", &todo()]).result("install");
    let file = machine.path("person/.codex/config.toml");
    let mcp = |words: &[&str]| machine.run([&["mcp", "--client", "codex"], words].concat());
    let printed = mcp(&["todo"]).result("mcp");
    let server = &printed["configuration"]["mcp_servers"]["hutch"];
    let table = printed["text"].as_str().unwrap();
    let lines: Vec<&str> = table.lines().collect();
    assert_eq!((lines[0], lines.len()), ("[mcp_servers.hutch]", 3), "{table}");
    for name in ["command", "args"] {
        assert!(lines.contains(&format!("{name} = {}", server[name]).as_str()), "{table}");
    }
    assert_eq!((&printed["path"], file.exists()), (&json!(file.to_str().unwrap()), false));
    let told = mcp(&["--human", "todo"]).stdout;
    assert!(told.ends_with(&format!("\n\n{table}")), "{told}");
    let write = || mcp(&["--write", "todo"]);
    assert_eq!(write().result("mcp").get("backup"), None);
    assert_eq!(std::fs::read_to_string(&file).unwrap(), table);
    for before in ["model = 'x' # mine", "[mcp_servers.other]\ncommand = \"x\"\n"] {
        machine.write("person/.codex/config.toml", before);
        let written = write().result("mcp");
        assert_eq!(std::fs::read_to_string(written["backup"].as_str().unwrap()).unwrap(), before);
        let now = std::fs::read_to_string(&file).unwrap();
        assert_eq!(now, format!("{}\n\n{table}", before.trim_end()));
        assert_eq!(write().result("mcp").get("backup"), None, "it stands there");
    }
    for before in [
        "[ mcp_servers . \"hutch\" ]\ncommand = \"x\"\n",
        "[mcp_servers.hutch.env]\nA = \"x\"\n",
        "[mcp_servers]\nhutch = {command = \"x\"}\n",
        "mcp_servers.hutch.command = \"x\"\n",
    ] {
        machine.write("person/.codex/config.toml", before);
        write().fault("USAGE", 2);
        assert_eq!(std::fs::read_to_string(&file).unwrap(), before);
    }
}

/// Whatever else stands in the file stays as it is written, and nobody gets to read it; a link to it stays one.
#[cfg(unix)]
#[test]
fn what_a_clients_file_holds_stays_its_owners() {
    use std::os::unix::fs::PermissionsExt;
    let machine = Machine::new();
    machine.run(["install", "--yes", &todo()]).result("install");
    let mode = |path: &std::path::Path| path.metadata().unwrap().permissions().mode() & 0o777;
    let file = machine.path("person/.cursor/mcp.json");
    let write = || machine.run(["mcp", "--client", "cursor", "--write", "todo"]).result("mcp");
    write();
    assert_eq!(mode(&file), 0o600);
    let before = "{\n  \"z\": 12345678901234567890123,\n  \"a\": \"token\"\n}\n";
    let target = machine.write("dotfiles/mcp.json", before);
    std::fs::set_permissions(&target, std::fs::Permissions::from_mode(0o640)).unwrap();
    std::fs::remove_file(&file).unwrap();
    std::os::unix::fs::symlink(&target, &file).unwrap();
    let backup = write()["backup"].as_str().unwrap().to_owned();
    assert_eq!(std::fs::read_link(&file).unwrap(), target);
    assert_eq!((mode(&target), mode(std::path::Path::new(&backup))), (0o640, 0o600));
    assert_eq!(std::fs::read_to_string(&backup).unwrap(), before);
    let now = std::fs::read_to_string(&target).unwrap();
    assert!(now.starts_with(before.trim_end_matches("\n}\n")) && now.ends_with("}\n"), "{now}");
}

//! What a client that keeps the rules can do: find tools, call them, look at what was done, take it back and prove it.

use super::{Client, LEGACY, MODERN};
use crate::support::{DIGITS, Machine, package, probe, repository, todo};
use serde_json::{Value, json};

#[track_caller]
fn tools(client: &mut Client) -> Vec<Value> {
    let answer = client.request("tools/list", json!({}));
    answer["result"]["tools"].as_array().unwrap_or_else(|| panic!("{answer}")).clone()
}

#[test]
fn a_command_is_called_and_recorded_in_both_lifecycles() {
    for modern in [false, true] {
        let machine = Machine::new();
        let start = if modern { Client::modern } else { Client::legacy };
        let mut client = start(&machine, &[&todo()], json!({}));
        if modern {
            let discovered = client.request("server/discover", json!({}));
            let versions = discovered["result"]["supportedVersions"].as_array().unwrap();
            assert!(versions.contains(&json!(MODERN)) && versions.contains(&json!(LEGACY)), "{discovered}");
        }
        let result = client.call("todo_add", json!({"title": "-milk", "due-at": "2026-04-05"}));
        let document = &result["structuredContent"];
        assert_eq!((&document["items"][0]["title"], &result["isError"]), (&json!("-milk"), &json!(false)), "{result}");
        let meta = &result["_meta"];
        assert_eq!((meta["hutch/entry"]["sequence"].as_u64(), &meta["hutch/kept"]), (Some(2), &json!(true)), "{meta}");
        assert!(meta["hutch/fuel"].as_u64().is_some_and(|fuel| fuel > 100_000), "{meta}");
        assert_eq!(client.done("todo_list", json!({"limit": 5}))["count"], 1);
        let listed = client.done("hutch_history", json!({"limit": 2}));
        assert_eq!((&listed["total"], &listed["items"][0]["kind"]), (&json!(3), &json!("run")), "{listed}");
        assert_eq!(listed["items"][1]["caller"], json!({"name": "test", "version": "1.2"}));
        assert_eq!(listed["items"][1]["hash"], meta["hutch/entry"]["hash"]);
        let (status, rest, said) = client.close();
        assert!(status.success() && rest.is_empty() && said.is_empty(), "{status} {rest:?} {said}");
        // The command line sees the same.
        let shown = machine.run(["ledger", "show", &todo(), "@2"]).result("ledger show");
        assert_eq!(shown["record"]["caller"]["name"], "test");
        assert_eq!(machine.todo(&["list"]).answer()["count"], 1);
        machine.run(["verify", "--chain", &todo()]).result("verify");
    }
}

#[test]
fn hints_are_those_of_the_contract_and_the_list_is_what_print_says() {
    let machine = Machine::new();
    let words = ["--tools-max=40", "--output-schemas", &todo()];
    let mut client = Client::legacy(&machine, &words, json!({}));
    let listed = tools(&mut client);
    let printed = machine.run([&["mcp", "--print"], &words[..]].concat()).result("mcp");
    assert_eq!(printed["tools"], Value::from(listed.clone()));
    // The folder that the server may reach is there, and empty.
    assert_eq!(machine.run(["instance", "list"]).result("instance list")["items"], json!([]), "looking makes nothing");
    let hints = |name: &str| {
        let tool = listed.iter().find(|tool| tool["name"] == name).unwrap_or_else(|| panic!("{name}"));
        // What is not said is as the protocol has it; nothing that reads destroys.
        let hint = |hint: &str, usual: bool| tool["annotations"][hint].as_bool().unwrap_or(usual);
        let reads = hint("readOnlyHint", false);
        assert!(!hint("openWorldHint", true), "{name}");
        (reads, !reads && hint("destructiveHint", true), hint("idempotentHint", false))
    };
    for (name, expected) in [
        ("todo_list", (true, false, true)),
        ("todo_add", (false, false, false)),
        ("todo_complete", (false, false, true)),
        ("todo_remove", (false, true, false)),
        ("hutch_plan", (true, false, true)),
        ("hutch_apply", (false, true, false)),
        ("hutch_undo", (false, true, false)),
        ("hutch_verify", (true, false, true)),
        ("hutch_history", (true, false, true)),
    ] {
        assert_eq!(hints(name), expected, "{name}");
    }
    assert_eq!(listed.len(), 11 + 5);
    for tool in &listed {
        let name = tool["name"].as_str().unwrap();
        assert!(name.len() <= 64 && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_'), "{name}");
        for schema in [&tool["inputSchema"], &tool["outputSchema"]] {
            assert!(jsonschema::validator_for(schema).is_ok() && schema["type"] == "object", "{name}");
        }
        // No field of any tool confirms anything.
        let fields = tool["inputSchema"]["properties"].as_object().unwrap();
        assert!(!fields.keys().any(|field| ["yes", "confirmed", "json-input"].contains(&field.as_str())), "{name}");
    }
}

/// Clients call such a tool and ask nobody.
#[test]
fn a_tool_that_says_that_it_only_reads_is_held_to_that() {
    let machine = Machine::new();
    let mut client = Client::legacy(&machine, &["--tools-max=100", &package::liar(&machine, "liar")], json!({}));
    let listed = tools(&mut client);
    let tool = listed.iter().find(|tool| tool["name"] == "probe_write_text").unwrap();
    assert_eq!(tool["annotations"]["readOnlyHint"], true, "{tool}");
    let write = json!({"path": "state/a", "text": "x"});
    for (tool, arguments) in
        [("probe_write_text", write.clone()), ("hutch_plan", json!({"command": "write-text", "arguments": write}))]
    {
        let failed = client.failed(tool, arguments);
        assert_eq!(failed["code"], "CONTRACT_VIOLATION", "{failed}");
    }
    assert_eq!(client.done("probe_list_dir", json!({"path": "state"}))["entries"], json!([]));
}

#[test]
fn a_plan_changes_nothing_and_what_was_done_is_undone_and_proved() {
    let machine = Machine::new();
    let mut client = Client::legacy(&machine, &[&todo()], json!({}));
    let planned = client.done("hutch_plan", json!({"command": "add", "arguments": {"title": "tea"}}));
    assert_eq!((&planned["confirmation"], &planned["output"]["items"][0]["title"]), (&Value::Null, &json!("tea")));
    assert!(planned["changes"][0]["path"].as_str().unwrap().starts_with("state/"), "{planned}");
    assert_eq!(client.done("todo_list", json!({}))["count"], 0);
    let applied = client.done("hutch_apply", json!({"plan": planned["plan"]}));
    assert_eq!((&applied["kept"], &applied["output"]), (&json!(true), &planned["output"]));
    assert_eq!(client.failed("hutch_apply", json!({"plan": planned["plan"]}))["code"], "CONFLICT");
    assert_eq!(client.done("todo_list", json!({}))["count"], 1);
    client.done("todo_add", json!({"title": "cake"}));
    assert_eq!(client.done("hutch_verify", json!({}))["equal"], true);
    assert_eq!(client.done("hutch_undo", json!({}))["further"], json!({"undo": 1, "redo": 1}));
    client.done("hutch_undo", json!({}));
    assert_eq!(client.done("todo_list", json!({}))["count"], 0);
    assert_eq!(client.failed("hutch_undo", json!({"count": 99}))["code"], "NOT_FOUND");
    client.done("hutch_undo", json!({"redo": true, "count": 2}));
    assert_eq!(client.done("todo_list", json!({}))["count"], 2);
}

#[test]
fn a_guest_that_broke_down_is_told_to_its_end() {
    let machine = Machine::new();
    let mut client = Client::legacy(&machine, &["--tools-max=100", &probe()], json!({}));
    let failed = client.failed("probe_stderr_then_panic", json!({"bytes": 20_000}));
    let stderr = failed["details"]["stderr"].as_str().unwrap();
    assert_eq!(failed["code"], "GUEST_TRAPPED");
    assert!(stderr.starts_with("this is the first line\n"), "{failed}");
    assert!(stderr.contains("the probe was asked to panic at the end\n"), "{failed}");
}

#[test]
fn failures_are_data_with_a_code_a_place_and_a_way_on() {
    let machine = Machine::new();
    let mut client = Client::legacy(&machine, &[&todo()], json!({}));
    let guests = client.failed("todo_get", json!({"id": "td_0009"}));
    assert_eq!((&guests["code"], &guests["details"]["exit_status"]), (&json!("GUEST_FAILED"), &json!(20)), "{guests}");
    assert!(
        guests["details"]["said"][0]["error"]["code"].is_string() || guests["details"]["said"][0]["code"].is_string()
    );
    for (tool, arguments, code, place) in [
        ("todo_add", json!({}), "ARGUMENT_INVALID", "TITLE"),
        ("todo_add", json!({"title": "a", "due-at": "tomorrow"}), "ARGUMENT_INVALID", "--due-at"),
        ("todo_add", json!({"title": "a", "yes": true}), "ARGUMENT_INVALID", "yes"),
        ("todo_add", json!({"title": ["a"]}), "ARGUMENT_INVALID", "title"),
    ] {
        let report = client.failed(tool, arguments.clone());
        assert_eq!(report["code"], code, "{arguments}: {report}");
        assert_eq!(report["details"]["violations"][0]["parameter"], place, "{arguments}: {report}");
    }
    for (tool, arguments) in [
        ("hutch_plan", json!({"command": "nope"})),
        ("hutch_verify", json!({"entry": "@99"})),
        ("hutch_plan", json!({"command": "list", "package": "nope"})),
    ] {
        assert_eq!(client.failed(tool, arguments.clone())["code"], "NOT_FOUND", "{tool} {arguments}");
    }
    for (tool, arguments) in [
        ("hutch_apply", json!({})),
        ("hutch_apply", json!({"plan": "last", "confirmed": true})),
        ("hutch_undo", json!({"count": 1, "entry": "@1"})),
        ("hutch_undo", json!({"count": 0})),
        ("hutch_undo", json!({"redo": true, "entry": "@1"})),
        ("hutch_verify", json!({"entry": "first"})),
        ("hutch_history", json!({"limit": "all"})),
    ] {
        assert_eq!(client.failed(tool, arguments.clone())["code"], "ARGUMENT_INVALID", "{tool} {arguments}");
    }
    // What is no tool is the protocol's own error.
    let unknown = client.request("tools/call", json!({"name": "todo_nope", "arguments": {}}));
    assert_eq!(unknown["error"]["code"], -32602, "{unknown}");
    assert_eq!(machine.todo(&["list"]).answer()["count"], 0);
}

#[test]
fn many_commands_are_found_described_and_called_by_three_tools() {
    let machine = Machine::new();
    let mut client = Client::legacy(&machine, &[&todo(), &probe()], json!({}));
    let names: Vec<Value> = tools(&mut client).into_iter().map(|tool| tool["name"].clone()).collect();
    let own = ["find", "describe", "call", "plan", "apply", "undo", "verify", "history"];
    assert_eq!(names, own.map(|name| json!(format!("hutch_{name}"))));
    let found = client.done("hutch_find", json!({"text": "note a new task"}));
    assert_eq!((&found["items"][0]["package"], &found["items"][0]["command"]), (&json!("todo"), &json!("add")));
    let nothing = client.done("hutch_find", json!({"text": "zzqx"}));
    assert_eq!((&nothing["items"], found.get("note")), (&json!([]), None), "{found}");
    let note = nothing["note"].as_str().unwrap();
    assert!(note.contains("there is todo, probe: hutch_describe"), "{nothing}");
    let described = client.done("hutch_describe", json!({"package": "todo", "command": "add"}));
    assert_eq!(described["inputSchema"]["required"], json!(["title"]));
    let all = client.done("hutch_describe", json!({"package": "probe"}));
    assert!(all["commands"].as_array().unwrap().len() > 40);
    let arguments = json!({"package": "todo", "command": "add", "arguments": {"title": "x"}});
    assert_eq!(client.done("hutch_call", arguments)["count"], 1);
    let echoed = json!({"package": "probe", "command": "stdin", "stdin": "abc"});
    assert!(client.done("hutch_call", echoed).to_string().contains("abc"));
    assert_eq!(client.failed("hutch_call", json!({"command": "add"}))["code"], "ARGUMENT_INVALID");
    // The operator may want them all as tools.
    let words = ["mcp", "--print", "--tools-max", "100", &todo(), &probe()];
    let printed = machine.run(words).result("mcp");
    assert!(printed["tools"].as_array().unwrap().len() > 60);
}

#[test]
fn skills_are_resources_and_listed_with_the_digests_of_their_files() {
    let machine = Machine::new();
    let mut client = Client::modern(&machine, &[&todo()], json!({}));
    let listed = client.request("skills/list", json!({}))["result"]["skills"].clone();
    let (skill, file) = (&listed[0], &listed[0]["resources"][0]);
    assert_eq!(skill["uri"], "skill://todo/todo-usage/SKILL.md", "{listed}");
    let read = client.request("resources/read", json!({"uri": file["uri"]}));
    let text = read["result"]["contents"][0]["text"].as_str().unwrap();
    let shipped = std::fs::read_to_string(repository().join("packages/todo/skills/todo-usage/SKILL.md")).unwrap();
    assert_eq!((text, file["size"].as_u64()), (shipped.as_str(), Some(shipped.len() as u64)));
    let resources = client.request("resources/list", json!({}))["result"]["resources"].clone();
    let uris: Vec<&str> = resources.as_array().unwrap().iter().map(|one| one["uri"].as_str().unwrap()).collect();
    assert_eq!(uris, ["hutch://todo/APP.md", "skill://todo/todo-usage/SKILL.md"]);
    for uri in ["skill://todo/../todo/APP.md", "file:///etc/passwd", "skill://todo/todo-usage/"] {
        let missing = client.request("resources/read", json!({"uri": uri}));
        assert_eq!(missing["error"]["code"], -32602, "{uri}: {missing}");
    }
}

#[test]
fn a_client_that_asks_is_told_that_its_call_goes_on_and_others_are_not() {
    let machine = Machine::new();
    let mut client = Client::legacy(&machine, &[&todo()], json!({}));
    let params = json!({"name": "todo_list", "arguments": {}, "_meta": {"progressToken": "p"}});
    client.request("tools/call", params);
    let told = std::mem::take(&mut client.others);
    assert!(!told.is_empty(), "nothing was told");
    for note in told {
        assert_eq!(
            (&note["method"], &note["params"]["progressToken"]),
            (&json!("notifications/progress"), &json!("p"))
        );
    }
    client.call("todo_list", json!({}));
    assert!(client.others.is_empty(), "{:?}", client.others);
}

#[test]
fn a_preview_of_a_server_serves_and_keeps_nothing() {
    let machine = Machine::new();
    let mut client = Client::legacy(&machine, &["--dry-run", &todo()], json!({}));
    let added = client.call("todo_add", json!({"title": "x"}));
    assert_eq!((&added["_meta"]["hutch/kept"], &added["isError"]), (&json!(false), &json!(false)), "{added}");
    client.close();
    assert!(machine.is_untouched());
}

#[test]
fn what_cant_be_served_is_said_before_serving() {
    let machine = Machine::new();
    machine.run(["mcp", "missing"]).fault("PACKAGE_NOT_FOUND", 20);
    machine.run(["mcp", &todo(), &todo()]).fault("USAGE", 2);
    machine.run(["mcp", "--yes", &todo()]).fault("USAGE", 2);
    // Nothing is installed, and none is named.
    machine.run(["mcp"]).fault("PACKAGE_NOT_FOUND", 20);
    std::fs::create_dir(machine.path("granted")).unwrap();
    let denied = machine.run(["mcp", "--mount", "granted:data", &todo()]).fault("PERMISSION_DENIED", 11);
    assert!(denied.message.contains("data"), "{denied:?}");
    assert!(machine.is_untouched());
}

#[test]
fn the_configurations_that_are_shown_start_a_server() {
    let pages = ["README.md", "host/docs/servers.md"];
    let shown = pages.map(|page| std::fs::read_to_string(repository().join(page)).unwrap()).concat();
    let blocks = shown.split("```json\n").skip(1).filter_map(|rest| rest.split("\n```").next());
    let servers: Vec<Value> = blocks
        .filter_map(|block| serde_json::from_str::<Value>(block).ok())
        .filter_map(|block| ["mcpServers", "servers"].iter().find_map(|key| block.get(key)?.get("hutch").cloned()))
        .collect();
    assert_eq!(servers.len(), 3);
    for server in servers {
        assert_eq!(server["command"], "hutch");
        let words: Vec<String> =
            server["args"].as_array().unwrap().iter().map(|word| word.as_str().unwrap().to_owned()).collect();
        assert_eq!(words[0], "mcp");
        let machine = Machine::new();
        #[cfg(unix)]
        std::os::unix::fs::symlink(repository().join("packages"), machine.path("packages")).unwrap();
        machine.run(["install", "packages/todo"]).result("install");
        let words: Vec<&str> = words[1..].iter().map(String::as_str).collect();
        assert_eq!(Client::legacy(&machine, &words, json!({})).done("todo_list", json!({}))["count"], 0);
    }
}

/// What a server answers as kept is where the command line looks for it, so nobody takes the instance from under it.
#[test]
fn a_server_keeps_its_instance_where_it_is() {
    let machine = Machine::new();
    let mut client = Client::legacy(&machine, &[&todo()], json!({}));
    client.done("todo_add", json!({"title": "one"}));
    let server = client.child.id();
    for verb in [&["copy", "--move", "todo", "elsewhere"][..], &["purge", "--yes", "todo"]] {
        let fault = machine.run([&["instance", "--wait", "50ms"], verb].concat()).fault("INSTANCE_BUSY", 30);
        assert!(fault.suggestion.contains("server") && fault.suggestion.contains("--wait"), "{fault:?}");
        #[cfg(target_os = "linux")]
        assert!(fault.message.contains(&format!("process {server} ")), "{fault:?}");
        assert_eq!(client.call("todo_add", json!({"title": verb[0]}))["_meta"]["hutch/kept"], true);
    }
    // Others use it meanwhile, and a copy takes nothing away.
    machine.run(["run", &todo(), "list"]).answer();
    machine.run(["instance", "copy", "todo", "copied"]).result("instance copy");
    let titles = |instance: &str| -> Value {
        let ran = machine.run(["run", "--instance", instance, "--query", "output.items[*].title", &todo(), "list"]);
        serde_json::from_str(&ran.stdout).unwrap()
    };
    assert_eq!(titles("default"), json!(["one", "copy", "purge"]));
    let (status, ..) = client.close();
    assert!(status.success());
    machine.run(["instance", "copy", "--move", "todo", "elsewhere"]).result("instance copy");
    assert_eq!(titles("elsewhere"), json!(["one", "copy", "purge"]));
    assert_eq!(titles("default"), json!([]));
    assert_eq!(titles("copied"), json!(["one", "copy", "purge"]));
}

/// Who takes it all the same takes the place where calls are written down, and that is said with what failed.
#[test]
fn a_call_that_cannot_be_written_down_says_so_and_keeps_nothing() {
    let machine = Machine::new();
    let mut client = Client::legacy(&machine, &[&todo()], json!({}));
    client.done("todo_add", json!({"title": "one"}));
    let (here, away) = (machine.home().join("instances/todo/default"), machine.path("away"));
    std::fs::rename(&here, &away).unwrap();
    for tool in ["todo_add", "todo_list"] {
        let arguments = if tool == "todo_add" { json!({"title": "lost"}) } else { json!({}) };
        let answer = client.call(tool, arguments);
        let error = &answer["_meta"]["hutch/error"];
        assert_eq!((&answer["isError"], error["code"].as_str()), (&json!(true), Some("HOST_FAULT")), "{answer}");
        let unrecorded = error["details"]["unrecorded"].as_str().unwrap_or_default();
        assert!(unrecorded.contains("no such instance"), "{answer}");
        assert!(!here.exists(), "{tool} made it anew");
    }
    std::fs::rename(&away, &here).unwrap();
    let listed = client.done("todo_list", json!({}));
    assert_eq!((&listed["count"], &listed["items"][0]["title"]), (&json!(1), &json!("one")), "{listed}");
    let (status, ..) = client.close();
    assert!(status.success());
}

#[test]
fn a_number_keeps_its_digits_in_every_answer() {
    let machine = Machine::new();
    let mut client = Client::legacy(&machine, &[&probe()], json!({}));
    let content = json!(DIGITS).to_string();
    for (tool, structured) in
        [("hutch_call", format!("\"structuredContent\":{DIGITS}")), ("hutch_plan", format!("\"output\":{DIGITS}"))]
    {
        let id =
            client.send("tools/call", json!({"name": tool, "arguments": {"command": "stdin-echo", "stdin": DIGITS}}));
        let line = client.lines.recv_timeout(crate::support::PATIENCE).unwrap();
        assert!(line.contains(&structured) && !line.contains("$serde_json"), "{id}: {line}");
        assert!(tool == "hutch_plan" || line.contains(&format!("\"text\":{content}")), "{line}");
    }
}

/// Behind the rings nothing is compiled: who serves keeps all that is served, however much that is and whatever becomes of the cache.
#[test]
fn however_many_packages_are_served_each_has_its_program_without_a_cache() {
    let machine = Machine::new();
    let packages = package::crowd(&machine);
    let words: Vec<&str> = ["--tools-max", "1"].into_iter().chain(packages.iter().map(String::as_str)).collect();
    let mut client = Client::start_in(&machine, &[("XDG_CACHE_HOME", "/proc/nowhere")], &words).greeted(json!({}));
    let call = |slug: &str| json!({"package": slug, "command": "args", "arguments": {"arguments": ["an answer"]}});
    let (last, others) = packages.split_last().unwrap();
    for _ in 0..2 {
        for package in others {
            let slug = package.rsplit('/').next().unwrap();
            assert_eq!(client.done("hutch_call", call(slug))["args"], json!(["an answer"]), "{slug}");
        }
    }
    let failed = client.failed("hutch_call", call(last.rsplit('/').next().unwrap()));
    assert_eq!(failed["code"], "COMPONENT_INVALID", "{failed}");
}

/// The four packages of the repository, installed.
fn shelf(machine: &Machine) -> [&'static str; 4] {
    let all = ["todo", "tables", "convert", "json"];
    for slug in all {
        machine.run(["install", "--yes", repository().join("packages").join(slug).to_str().unwrap()]).result("install");
    }
    all
}

#[test]
fn what_is_installed_is_served_in_few_bytes_and_every_command_can_be_called() {
    const BYTES_MAX: usize = 4000;
    let machine = Machine::new();
    let all = shelf(&machine);
    // No package named is all that are installed.
    for named in [&[][..], &all, &all[..1], &all[3..]] {
        let mut client = Client::legacy(&machine, &[&["--no-output-schemas"][..], named].concat(), json!({}));
        let listed = Value::from(tools(&mut client));
        assert!(listed.to_string().len() <= BYTES_MAX, "{named:?}: {} bytes", listed.to_string().len());
        assert!(listed.as_array().unwrap().iter().all(|tool| tool.get("outputSchema").is_none()), "{listed}");
        if named.len() != 1 {
            let call = json!({"package": "todo", "command": "add", "arguments": {"title": "x"}});
            assert_eq!(client.done("hutch_call", call)["changed"], true, "{named:?}");
            let known = client.done("hutch_describe", json!({}));
            assert_eq!(known["packages"].as_array().unwrap().len(), 4, "{known}");
        }
    }
}

/// What an application needs to read is given: text on its standard input, and a folder that whoever starts the server grants.
#[test]
fn a_tool_takes_what_its_command_reads_and_folders_that_were_granted() {
    let machine = Machine::new();
    let [_, tables, convert, json_] = shelf(&machine);
    machine.write("sales/s.csv", "town,sum\nBern,3\nChur,4\n");
    let words = ["--tools-max=40", "--mount", "sales:data", tables, convert, json_];
    let mut client = Client::legacy(&machine, &words, json!({}));
    let shown = client.done("convert_show", json!({"file": "-", "stdin": "# Hello"}));
    assert!(shown.to_string().contains("Hello</h1>"), "{shown}");
    assert_eq!(client.done("json_query", json!({"filter": ".a", "file": "-", "stdin": "{\"a\":7}"}))["count"], 1);
    assert_eq!(client.done("tables_import", json!({"name": "s", "file": "data/s.csv"}))["ok"], true);
    let refused = client.failed("tables_query", json!({"sql": "select 1", "stdin": "x"}));
    assert_eq!(refused["code"], "ARGUMENT_INVALID");
    // Who has tools has no command line.
    for (tool, fields) in [("json_query", json!({"file": 1})), ("convert_show", json!({"file": "-", "limit": "x"}))] {
        let said = client.failed(tool, fields)["suggestion"].as_str().unwrap().to_owned();
        assert!(!said.contains("--") && !said.contains("hutch meta"), "{said}");
    }
    assert_eq!(std::fs::read_to_string(machine.path("sales/s.csv")).unwrap(), "town,sum\nBern,3\nChur,4\n");
}

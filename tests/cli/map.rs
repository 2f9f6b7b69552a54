//! Many calls over one state: a line for each, the same lines whatever the order, the threads, the shards and the tries, and nothing kept.

use crate::support::{FIXED, Machine, Ran, probe, todo};
use hutch_model::invocation::Seed;
use hutch_model::ledger::StreamRecord;
use serde_json::{Value, json};
use std::fs;

/// Calls of the to-do application, some of which go wrong in each way that a line can.
fn lines() -> Vec<String> {
    let line = |id: Value, arguments: &[&str]| json!({"id": id, "arguments": arguments}).to_string();
    let mut lines = Vec::new();
    for at in 0..12 {
        lines.push(line(json!(at), &["list"]));
        lines.push(line(json!(format!("add {at}")), &["add", &format!("Item {at}")]));
        lines.push(line(json!("gone"), &["get", "td_9999"]));
    }
    lines.push(line(json!("refused"), &["frobnicate"]));
    lines.push(String::from("no JSON at all"));
    lines.push(String::from(r#"{"arguments":["list"]}"#));
    lines.push(String::from(r#"{"id":"x","arguments":["list"],"seed":"7"}"#));
    lines
}

/// A machine with an item in its list, and the lines in a file.
fn machine() -> Machine {
    let machine = Machine::new();
    machine.guest(&[&FIXED[..], &[&todo(), "add", "Write docs"]].concat()).answer();
    machine.write("lines", lines().join("\n") + "\n");
    machine
}

/// The same lines, by a job that is started with these words.
fn map(machine: &Machine, words: &[&str]) -> Ran {
    let lines: &[&str] = if words.contains(&"--output") { &[] } else { &["--ndjson"] };
    machine.run([&["map", "--input", "lines"], lines, &FIXED[..], words, &[&todo()]].concat())
}

fn read(ran: &Ran) -> Vec<Value> {
    assert_eq!((ran.status, ran.stderr.as_str()), (0, ""), "{ran:?}");
    ran.stdout.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

#[test]
fn each_line_is_answered_by_what_a_run_of_it_comes_to() {
    let machine = machine();
    let answers = read(&map(&machine, &[]));
    let ids: Vec<Value> = lines()
        .iter()
        .map(|line| serde_json::from_str::<Value>(line).unwrap_or_default())
        .map(|line| if line["seed"].is_null() { line["id"].clone() } else { Value::Null })
        .collect();
    assert_eq!(answers.iter().map(|line| line["id"].clone()).collect::<Vec<_>>(), ids);
    for (line, answer) in lines().iter().zip(&answers).take(36) {
        let asked: Value = serde_json::from_str(line).unwrap();
        let seed = "7".parse::<Seed>().unwrap().of_call(asked["id"].to_string().as_bytes()).to_string();
        let arguments: Vec<&str> =
            asked["arguments"].as_array().unwrap().iter().map(|word| word.as_str().unwrap()).collect();
        let options = ["plan", "--now", FIXED[1], "--seed", &seed];
        let run = machine.run([&options[..], &[&todo()], &arguments].concat());
        let run =
            if run.status == 0 { run.result("plan") } else { run.fault("GUEST_FAILED", 1).details["run"].clone() };
        assert_eq!(answer["status"], run["exit_status"], "{line}");
        assert_eq!((&answer["output"], &answer["fuel"]), (&run["output"], &run["fuel"]), "{line}");
        let volume = &run["volumes"]["state"];
        let after = if volume["before"] == volume["after"] { Value::Null } else { volume["after"].clone() };
        assert_eq!(answer["after"]["state"], after, "{line}");
        assert!(answer.get("error").is_none() && answer["key"].as_str().unwrap().len() == 64, "{answer}");
    }
    for (answer, code) in answers[36..].iter().zip(["ARGUMENT_INVALID", "USAGE", "USAGE", "USAGE"]) {
        assert_eq!(
            (&answer["error"]["code"], &answer["status"], &answer["key"]),
            (&json!(code), &json!(2), &Value::Null)
        );
    }
    // Equal calls have equal keys, and others have others.
    assert_ne!(answers[0]["key"], answers[3]["key"]);
    assert_eq!(answers[2], answers[5]);
}

#[test]
fn no_order_number_of_threads_shard_or_home_changes_a_byte() {
    let machine = machine();
    let whole = map(&machine, &["--threads", "1"]).stdout;
    assert_eq!(map(&machine, &["--threads", "7"]).stdout, whole);
    let sorted = |text: &str| {
        let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
        lines.sort();
        lines
    };
    assert_eq!(sorted(&map(&machine, &["--threads", "3", "--unordered"]).stdout), sorted(&whole));
    let shards: Vec<Vec<String>> = ["0/3", "1/3", "2/3"]
        .into_iter()
        .map(|shard| map(&machine, &["--shard", shard]).stdout.lines().map(str::to_owned).collect())
        .collect();
    let merged: Vec<&String> = (0..whole.lines().count()).map(|at| &shards[at % 3][at / 3]).collect();
    assert_eq!(merged, whole.lines().collect::<Vec<_>>());
    // Another machine, which came to the same state by itself.
    assert_eq!(map(&self::machine(), &[]).stdout, whole);
    let piped = machine
        .hutch([&["map", "--ndjson"], &FIXED[..], &[&todo()]].concat())
        .stdin(fs::File::open(machine.path("lines")).unwrap())
        .output();
    assert_eq!(Ran::from_output(piped.unwrap()).stdout, whole);
}

#[test]
fn nothing_is_kept_but_one_entry_that_says_what_was_done() {
    let machine = machine();
    let state = || machine.run(["ledger", "list", "--changes", &todo()]).result("ledger list")["items"].clone();
    let before = state();
    let result = map(&machine, &["--output", "answers"]).result("map");
    assert_eq!(state(), before);
    let (asked, answers) = (fs::read(machine.path("lines")).unwrap(), fs::read(machine.path("answers")).unwrap());
    assert_eq!(map(&machine, &[]).stdout.as_bytes(), answers);
    // Without a file the lines are in the answer, as far as they have room.
    let answer = machine.run([&["map", "--input", "lines"], &FIXED[..], &[&todo()]].concat()).result("map");
    let lines: String = answer["items"].as_array().unwrap().iter().map(|line| format!("{line}\n")).collect();
    assert_eq!((lines.as_bytes(), &answer["output"]["digest"]), (&answers[..], &result["output"]["digest"]));
    let (chosen, package) = (["map", "--input", "lines", "--query", "items[0].id"], todo());
    assert_eq!(machine.run([&chosen[..], &FIXED, &[&package]].concat()).answer(), json!(0));
    let counts = json!([result["calls"], result["failed"], result["resumed"]]);
    assert_eq!(counts, json!([40, 16, 0]));
    for (told, bytes) in [(&result["input"], &asked), (&result["output"], &answers)] {
        let stream = StreamRecord::of(bytes);
        assert_eq!((&told["digest"], &told["bytes"]), (&json!(stream.digest), &json!(stream.size)));
    }
    let name = format!("@{}", result["entry"]["sequence"]);
    let record = machine.run(["ledger", "show", &todo(), &name]).result("ledger show")["record"].clone();
    assert_eq!((&record["kind"], &record["kept"]), (&json!("map"), &json!(false)));
    assert_eq!(record["mapped"]["output"]["digest"], result["output"]["digest"]);
    assert_eq!(record["invocation"]["seed"], result["seed"]);
    let volume = &record["volumes"]["state"];
    assert_eq!(volume["before"], volume["after"]);
    assert_eq!(machine.run(["verify", "--all", &todo()]).result("verify")["differ"], json!(0));
    machine.run(["verify", "--chain", &todo()]).result("verify");
    // A preview answers the same, and leaves neither file nor entry.
    let head = || machine.run(["ledger", "show", &todo()]).stdout;
    let last = head();
    let preview = map(&machine, &["--output", "others", "--dry-run"]).answer()["result"].clone();
    assert_eq!((&preview["output"]["digest"], &preview["entry"]), (&result["output"]["digest"], &Value::Null));
    assert!(!machine.path("others").exists());
    assert_eq!(head(), last);
}

#[test]
fn what_was_cut_short_is_gone_on_with_and_comes_to_the_same() {
    let machine = machine();
    map(&machine, &["--output", "whole"]).result("map");
    let whole = fs::read(machine.path("whole")).unwrap();
    let ends: Vec<usize> = whole.iter().enumerate().filter(|(_, byte)| **byte == b'\n').map(|(at, _)| at + 1).collect();
    let cuts = [0, 1, ends[0] - 1, ends[0], ends[0] + 1, ends[17] + 9, ends[38], whole.len() - 1, whole.len()];
    for cut in cuts {
        machine.write("part", &whole[..cut]);
        let result = map(&machine, &["--output", "part", "--resume"]).result("map");
        assert_eq!(result["resumed"], json!(ends.iter().filter(|end| **end <= cut).count()), "{cut}");
        assert_eq!((&result["calls"], &result["failed"]), (&json!(40), &json!(16)), "{cut}");
        assert_eq!(fs::read(machine.path("part")).unwrap(), whole, "{cut}");
        assert_eq!(result["output"]["digest"], json!(StreamRecord::of(&whole).digest));
    }
    map(&machine, &["--output", "new", "--resume"]).result("map");
    assert_eq!(fs::read(machine.path("new")).unwrap(), whole);
}

#[test]
fn the_output_of_another_job_is_left_as_it_is() {
    let machine = machine();
    map(&machine, &["--output", "whole"]).result("map");
    let whole = fs::read_to_string(machine.path("whole")).unwrap();
    let refused = |content: &str, words: &[&str], code: &str, status: i32| {
        machine.write("part", content);
        let ran = map(&machine, &[&["--output", "part"], words].concat());
        let fault = ran.fault(code, status);
        assert_eq!(fs::read_to_string(machine.path("part")).unwrap(), content, "{words:?}");
        fault
    };
    refused(&whole, &[], "ALREADY_EXISTS", 30);
    refused("a letter\n", &["--resume"], "CONFLICT", 30);
    refused(&format!("{whole}{{}}\n"), &["--resume"], "CONFLICT", 30);
    let swapped: Vec<&str> = whole.lines().collect();
    let swapped = [swapped[1], swapped[0]].join("\n") + "\n";
    assert_eq!(refused(&swapped, &["--resume"], "CONFLICT", 30).details["line"], json!(1));
    // Another state is another job.
    machine.todo(&["add", "Another"]).answer();
    refused(whole.lines().next().unwrap().to_owned().as_str(), &[], "ALREADY_EXISTS", 30);
    refused(&(whole.lines().next().unwrap().to_owned() + "\n"), &["--resume"], "CONFLICT", 30);
    // But the state that it saw is still there.
    machine.write("part", &whole[..whole.len() / 2]);
    map(&machine, &["--at", "@2", "--output", "part", "--resume"]).result("map");
    assert_eq!(fs::read_to_string(machine.path("part")).unwrap(), whole);
    // And nobody else writes to it meanwhile.
    let held = fs::File::open(machine.path("part")).unwrap();
    held.lock().unwrap();
    refused_while_held(&machine);
}

/// The last line and some of those before it are made again: what a line says is not what it is believed for.
#[test]
fn a_line_that_was_changed_is_found_by_making_its_call_again() {
    let machine = machine();
    map(&machine, &["--output", "whole"]).result("map");
    let whole = fs::read_to_string(machine.path("whole")).unwrap();
    let changed = |line: &str, fields: Value| {
        let mut line: Value = serde_json::from_str(line).unwrap();
        line.as_object_mut().unwrap().extend(fields.as_object().unwrap().clone());
        line.to_string()
    };
    let part = |kept: usize, at: usize, fields: Value| {
        let mut lines: Vec<String> = whole.lines().take(kept).map(str::to_owned).collect();
        lines[at] = changed(&lines[at], fields);
        let content = lines.join("\n") + "\n";
        machine.write("part", &content);
        let ran = map(&machine, &["--output", "part", "--resume"]);
        (content, ran)
    };
    // Of so few lines all are of the sample, and of more the last is.
    for (kept, at, id) in [(1, 0, json!(0)), (2, 0, json!(0)), (9, 4, json!("add 1")), (30, 29, json!("gone"))] {
        let (content, ran) = part(kept, at, json!({"output": {"forged": true}}));
        let fault = ran.fault("CONFLICT", 30);
        assert_eq!((&fault.details["line"], &fault.details["id"]), (&json!(at + 1), &id), "{fault:?}");
        assert_eq!(fs::read_to_string(machine.path("part")).unwrap(), content, "{kept}");
    }
    // What only says that it depended on the host is made again, too.
    let host = json!({"output": {"forged": true}, "unreproducible": ["wall_time"]});
    let (content, ran) = part(1, 0, host);
    assert_eq!(ran.fault("CONFLICT", 30).details["line"], json!(1));
    assert_eq!(fs::read_to_string(machine.path("part")).unwrap(), content);
    // No line has other fields, whose values would take memory.
    let (content, ran) = part(1, 0, json!({"zz": [1, 1, 1], "unreproducible": ["wall_time"]}));
    assert_eq!(ran.fault("CONFLICT", 30).details["line"], json!(1));
    assert_eq!(fs::read_to_string(machine.path("part")).unwrap(), content);
}

/// Machines of a fleet that do not have the one state make no call of the job.
#[test]
fn a_machine_with_another_state_than_was_expected_makes_no_call() {
    let (one, other) = (machine(), machine());
    let state = map(&one, &["--output", "answers"]).result("map")["state"].as_str().unwrap().to_owned();
    let expecting = |machine: &Machine, words: &[&str]| map(machine, &[&["--expect-state", &state], words].concat());
    let answers = read(&expecting(&other, &[]));
    assert_eq!(answers.len(), 40);
    other.todo(&["add", "Another"]).answer();
    let head = || other.run(["ledger", "show", &todo()]).result("ledger show")["head"].clone();
    let last = head();
    let fault = expecting(&other, &[]).fault("CONFLICT", 30);
    assert_eq!(fault.details["expected"], json!(state), "{fault:?}");
    assert_eq!(head(), last);
    // What it had before is that state.
    assert_eq!(read(&expecting(&other, &["--at", "@2"])), answers);
    map(&other, &["--expect-state", "1234"]).fault("USAGE", 2);
}

fn refused_while_held(machine: &Machine) {
    let before = fs::read(machine.path("part")).unwrap();
    map(machine, &["--at", "@2", "--output", "part", "--resume"]).fault("CONFLICT", 30);
    assert_eq!(fs::read(machine.path("part")).unwrap(), before);
}

#[test]
fn fail_fast_stops_at_the_first_line_that_fails_and_says_so() {
    let machine = machine();
    let ran = map(&machine, &["--fail-fast", "--output", "answers"]);
    let fault = ran.fault("GUEST_FAILED", 1);
    assert!(fault.message.starts_with("call \"gone\": "), "{fault:?}");
    assert_eq!((&fault.details["calls"], &fault.details["failed"]), (&json!(3), &json!(1)));
    assert_eq!(fs::read_to_string(machine.path("answers")).unwrap().lines().count(), 3);
    // Without a file the lines up to there are in the report.
    let told = machine.run([&["map", "--input", "lines", "--fail-fast"], &FIXED[..], &[&todo()]].concat());
    let items = told.fault("GUEST_FAILED", 1).details["items"].clone();
    assert_eq!(items.as_array().unwrap().iter().map(|line| line["status"].clone()).collect::<Vec<_>>(), [0, 0, 20]);
    let record = machine.run(["ledger", "show", &todo()]).result("ledger show")["record"].clone();
    assert_eq!((&record["error"], &record["mapped"]["calls"]), (&json!("GUEST_FAILED"), &json!(3)));
}

#[test]
fn a_guest_that_does_its_worst_is_one_line() {
    let machine = Machine::new();
    let call = |id: &str, arguments: &[&str]| json!({"id": id, "arguments": arguments}).to_string() + "\n";
    let lines = call("spin", &["spin"])
        + &call("trap", &["trap"])
        + &call("ok", &["return-ok"])
        + &call("no JSON", &["not-json"])
        + &call("long", &[&"x".repeat(300_000)])
        + "\n  \n"
        + &format!("{{\"id\":\"{}\"}}\n", "x".repeat(16 << 20))
        + &call("end", &["return-ok"]);
    let command = ["map", "--ndjson", "--limit", "fuel=100000000", "--unchecked", "--threads", "2", &probe()];
    let ran = Ran::with_input(&mut machine.hutch(command), lines.as_bytes());
    let told: Vec<Value> =
        read(&ran).iter().map(|line| json!([line["id"], line["status"], line["error"]["code"]])).collect();
    let expect = [
        json!(["spin", 41, "FUEL_LIMIT"]),
        json!(["trap", 45, "GUEST_TRAPPED"]),
        json!(["ok", 0, null]),
        json!(["no JSON", 46, "CONTRACT_VIOLATION"]),
        json!(["long", 2, "ARGUMENT_LIMIT"]),
        json!([null, 2, "USAGE"]),
        json!(["end", 0, null]),
    ];
    assert_eq!(told, expect);
}

/// Neither what a guest prints nor what stands in the file takes more memory than a line may.
#[test]
fn a_line_is_bounded_whoever_writes_it() {
    let machine = machine();
    let lines =
        "{\"id\":1,\"arguments\":[\"stdout\",\"16000000\"]}\n{\"id\":2,\"arguments\":[\"stdout\",\"20000000\"]}\n";
    let words = ["map", "--ndjson", "--limit", "stdout_bytes=100MiB", "--contract", "any", &probe()];
    let answers = read(&Ran::with_input(&mut machine.hutch(words), lines.as_bytes()));
    assert_eq!(answers[0]["output"].as_str().map(str::len), Some(15_999_998));
    assert_eq!((&answers[1]["error"]["code"], &answers[1]["output"]), (&json!("ANSWER_LOST"), &Value::Null));
    // One with a field twice is none, whichever of them somebody looked at before.
    let twice = "{\"id\":3,\"arguments\":[\"list\"],\"arguments\":[\"args\",\"b\"]}\n";
    let answers = read(&Ran::with_input(&mut machine.hutch(["map", "--ndjson", &probe()]), twice.as_bytes()));
    assert!(answers[0]["error"]["message"].as_str().unwrap().contains("duplicate field"), "{}", answers[0]);
    // A short line of so many words that they would take ten times its length.
    let wide = format!("{{\"id\":3,\"arguments\":[\"args\"{}]}}\n", ",\"\"".repeat(3_000_000));
    let answers = read(&Ran::with_input(&mut machine.hutch(["map", "--ndjson", &probe()]), wide.as_bytes()));
    assert_eq!(answers[0]["error"]["code"], "USAGE");
    assert!(answers[0]["error"]["message"].as_str().unwrap().contains("memory"), "{}", answers[0]);
    // A file without an end of line, which is longer than any memory.
    let file = fs::File::create(machine.path("part")).unwrap();
    file.set_len(1 << 40).unwrap();
    let fault = map(&machine, &["--output", "part", "--resume"]).fault("CONFLICT", 30);
    assert!(fault.message.contains("longer than any answer"), "{fault:?}");
    assert_eq!(file.metadata().unwrap().len(), 1 << 40);
}

#[test]
fn each_call_has_the_seed_that_follows_from_its_id_and_the_jobs_clock() {
    let machine = Machine::new();
    let lines = r#"{"id":"a","arguments":["random","16"]}
{"id":"a","arguments":["random","16"]}
{"id":1,"arguments":["random","16"]}
{"id":"1","arguments":["random","16"]}
{"id":"a","arguments":["clock"]}
{"id":"b","arguments":["clock"]}
{"id":"a","arguments":["stdin"],"stdin":"x"}
"#;
    let command = machine.hutch([&["map", "--ndjson"], &FIXED[..], &[&probe()]].concat());
    let answers = read(&Ran::with_input(&mut { command }, lines.as_bytes()));
    let run = |seed: Seed, arguments: &[&str]| {
        let options = ["run", "--now", FIXED[1], "--seed", &seed.to_string()].map(str::to_owned);
        machine
            .run(options.iter().map(String::as_str).chain([probe().as_str()]).chain(arguments.iter().copied()))
            .answer()
    };
    let seed: Seed = "7".parse().unwrap();
    let of = |id: Value| seed.of_call(id.to_string().as_bytes());
    assert_eq!(answers[0]["output"], run(of(json!("a")), &["random", "16"]));
    assert_eq!(answers[1], answers[0]);
    assert_eq!(answers[2]["output"], run(of(json!(1)), &["random", "16"]));
    assert_ne!(answers[3]["output"], answers[2]["output"]);
    assert_eq!(answers[4]["output"], answers[5]["output"]);
    assert_eq!(answers[4]["output"], run(seed, &["clock"]));
    let given = machine.run(["run", "--stdin-text", "x", &probe(), "stdin"]).answer();
    assert_eq!(answers[6]["output"], given);
}

#[test]
fn words_that_would_break_the_promise_are_refused() {
    let machine = machine();
    for words in [
        &["--shard", "0/2"][..],
        &["--resume", "--output", "x"],
        &["--shard", "2/2", "--now", FIXED[1], "--seed", "7"],
        &["--shard", "0/0", "--now", FIXED[1], "--seed", "7"],
        &["--resume", "--unordered", "--output", "x", "--now", FIXED[1], "--seed", "7"],
        &["--resume", "--fail-fast", "--output", "x", "--now", FIXED[1], "--seed", "7"],
        &["--threads", "0"],
        &["--ndjson", "--query", "calls"],
        &["--ndjson", "--output", "x"],
    ] {
        machine.run([&["map", "--input", "lines"], words, &[&todo()]].concat()).fault("USAGE", 2);
    }
    machine.run(["map", "--input", "nowhere", &todo()]).fault("NOT_FOUND", 20);
    machine.run(["map", "--input", "lines", "--at", "@99", &todo()]).fault("NOT_FOUND", 20);
    machine.run(["map", "--input", ".", &todo()]).fault("USAGE", 2);
    machine.run(["map", "--input", "lines", "--output", "no/where", &todo()]).fault("NOT_FOUND", 20);
    assert!(!machine.path("x").exists());
}

/// What nobody sees in a line is written as an escape, in a pipe and in a file alike; the digest is of what is written.
#[test]
fn hidden_characters_of_a_line_are_escaped_wherever_it_goes() {
    let machine = machine();
    machine.write("hidden", json!({"id": "a\u{200b}\u{e0041}", "arguments": ["list"]}).to_string() + "\n");
    let map = |words: &[&str]| machine.run([&["map", "--input", "hidden"], &FIXED[..], words, &[&todo()]].concat());
    let printed = map(&["--ndjson"]);
    assert_eq!(read(&printed)[0]["id"], "a\u{200b}\u{e0041}");
    assert!(printed.stdout.contains(r#""id":"a\u200b\udb40\udc41""#), "{printed:?}");
    let written = map(&["--output", "answers"]).result("map");
    let bytes = fs::read(machine.path("answers")).unwrap();
    assert_eq!(String::from_utf8_lossy(&bytes), printed.stdout);
    assert_eq!(written["output"]["digest"], json!(StreamRecord::of(&bytes).digest));
}

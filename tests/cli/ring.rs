//! The rings around a run: that they are there, that nothing runs where they are required and are not, and that they are in nobody's way.
//! What they keep native code from is tried in `tests/sandbox`.

use crate::support::{Machine, Ran, package, probe, todo};
use hutch_sandbox::ring;
use landlock::{AccessFs, Ruleset, RulesetAttr};
use seccompiler::{
    BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter, SeccompRule,
};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::process::Command;

/// Whether this machine has all of them.
pub(crate) fn are_whole() -> bool {
    ring::is_there() && ring::paths::abi() >= ring::paths::WHOLE_ABI
}

/// The program with this line, and with rings when that says, as the surroundings say it.
fn when(machine: &Machine, when: &str, line: &[&str]) -> Command {
    let mut command = machine.hutch(line);
    command.env("HUTCH_RING", when);
    command
}

/// What comes of a command where the kernel seems to have no Landlock.
pub(crate) fn without_landlock(command: Command) -> Ran {
    without([(libc::SYS_landlock_create_ruleset, Vec::new())].into(), command)
}

/// What comes of a command where the kernel seems to have no filters of system calls.
fn without_filters(command: Command) -> Ran {
    let asks = SeccompCondition::new(0, SeccompCmpArgLen::Dword, SeccompCmpOp::Eq, libc::PR_SET_SECCOMP as u64);
    let asks = SeccompRule::new(vec![asks.unwrap()]).unwrap();
    without([(libc::SYS_seccomp, Vec::new()), (libc::SYS_prctl, vec![asks])].into(), command)
}

fn without(missing: BTreeMap<i64, Vec<SeccompRule>>, mut command: Command) -> Ran {
    let started = move || {
        let (anything, nothing) = (SeccompAction::Allow, SeccompAction::Errno(libc::ENOSYS as u32));
        let arch = std::env::consts::ARCH.try_into().unwrap();
        let filter: BpfProgram = SeccompFilter::new(missing, anything, nothing, arch).unwrap().try_into().unwrap();
        seccompiler::apply_filter(&filter).unwrap();
        Ran::of(&mut command)
    };
    // The thread has what it put up, and so has what it starts.
    std::thread::spawn(started).join().unwrap()
}

/// What comes of a command where as many rings are around it as there may be.
fn behind_all_that_may_be(mut command: Command) -> Ran {
    let started = move || {
        let another =
            || Ruleset::default().handle_access(AccessFs::MakeBlock).unwrap().create().unwrap().restrict_self();
        while another().is_ok() {}
        Ran::of(&mut command)
    };
    std::thread::spawn(started).join().unwrap()
}

/// What was answered by a call that may have said what takes long.
fn answered(ran: &Ran) -> Value {
    assert_eq!(ran.status, 0, "{ran:?}");
    serde_json::from_str::<Value>(&ran.stdout).unwrap()["result"].clone()
}

/// The two checks of `doctor`, as it was called.
fn checks(told: &Value) -> Vec<String> {
    let checks = told["items"].as_array().unwrap().iter();
    checks
        .filter(|check| check["name"].as_str().unwrap().starts_with("ring"))
        .map(|check| check["found"].to_string())
        .collect()
}

#[test]
fn with_rings_and_without_the_same_comes_of_every_command() {
    if !are_whole() {
        return;
    }
    let machine = Machine::new();
    let granted = machine.path("granted");
    std::fs::create_dir(&granted).unwrap();
    let mount = format!("{}:mnt:rw", granted.display());
    let (todo, probe) = (todo(), probe());
    for rings in ["required", "auto", "", "off"] {
        let made = |verb: &str, more: &[&str]| Ran::of(&mut when(&machine, rings, &[&[verb, &todo], more].concat()));
        made("run", &["add", "milk"]).answer();
        made("validate", &["list"]).result("validate");
        if rings == "required" {
            assert_eq!(made("certify", &[]).status, 0);
        }
        Ran::of(&mut when(&machine, rings, &["dev", "--once", &todo])).result("dev");
        made("plan", &["add", "eggs"]).result("plan");
        made("apply", &["last"]).result("apply");
        made("replay", &["last"]).result("replay");
        let verified = Ran::of(&mut when(&machine, rings, &["verify", "--progress", "--all", &todo]));
        assert_eq!(answered(&verified)["differ"], 0);
        let write = ["run", "--mount", &mount, &probe, "write-text", "mnt/a", &format!("rings: {rings}")];
        Ran::of(&mut when(&machine, rings, &write)).answer();
        assert_eq!(std::fs::read_to_string(granted.join("a")).unwrap(), format!("rings: {rings}"));
        let mut listed = when(&machine, rings, &["run", "--progress", "--json-input", &todo]);
        let listed = Ran::with_input(&mut listed, b"[\"list\"] [\"add\", \"tea\"]");
        assert_eq!(answered(&listed)["done"], 2);
        let mut mapped = when(&machine, rings, &["map", "--threads", "2", "--progress", &todo]);
        let calls = b"{\"id\":1,\"arguments\":[\"list\"]}\n{\"id\":2,\"arguments\":[\"add\",\"tea\"]}";
        let mapped = answered(&Ran::with_input(&mut mapped, calls));
        assert_eq!((&mapped["calls"], &mapped["failed"]), (&json!(2), &json!(0)));
        let file = format!("todo-{rings}");
        machine.run(["instance", "export", "--output", &file, &todo]).result("instance export");
        let name = format!("taken{rings}");
        let taken = when(&machine, rings, &["instance", "import", "--input", &file, "--instance", &name, &todo]);
        assert!(answered(&Ran::of(&mut { taken }))["equal"].as_u64() > Some(2));
    }
    let lines = ["map", &todo];
    without_landlock(when(&machine, "required", &lines)).fault("RING_REQUIRED", 30);
    let fault = Ran::of(&mut when(&machine, "perhaps", &["run", &probe, "return-ok"])).fault("USAGE", 2);
    assert!(fault.message.contains("HUTCH_RING"), "{}", fault.message);
    let doctor = Ran::of(&mut when(&machine, "perhaps", &["doctor"])).fault("HOST_FAULT", 50);
    assert!(doctor.details["checks"].to_string().contains("perhaps"), "{doctor:?}");
}

#[test]
fn where_rings_are_required_no_guest_starts_in_a_command_that_has_none() {
    let machine = Machine::new();
    let todo = todo();
    let build = ["dev", "--once", &todo, "--", "true"];
    let fault = Ran::of(&mut when(&machine, "required", &build)).fault("RING_REQUIRED", 30);
    assert!(fault.message.contains("in run, "), "{}", fault.message);
    // A database and a bucket are reached by another process; that nobody answers there is what goes wrong.
    for store in ["postgres://me@127.0.0.1:1/x", "s3://team/x"] {
        let mut command = when(&machine, "required", &["--wait", "1ms", "mcp", &todo]);
        command.env("HUTCH_STORE", store).env("AWS_ENDPOINT_URL", "http://127.0.0.1:1");
        let fault = Ran::of(command.env("AWS_ACCESS_KEY_ID", "me").env("AWS_SECRET_ACCESS_KEY", "x"));
        assert!(!fault.stderr.contains("RING_REQUIRED"), "{fault:?}");
        assert_eq!(
            fault.status == 0,
            store.starts_with("s3:"),
            "a bucket is asked for nothing before somebody calls: {fault:?}"
        );
    }
    for line in [&["mcp", &todo][..], &["serve", "--listen", "127.0.0.1:0", &todo], &["certify", &todo]] {
        without_landlock(when(&machine, "required", line)).fault("RING_REQUIRED", 30);
    }
    // Nor does a compiler, and nothing is left of one.
    let notes = format!("{todo}/../notes");
    for line in [
        &["compile", &todo][..],
        &["pack", "--compiled", "--output", "code", &todo],
        &["pack", "--output", "notes.tar", &notes],
    ] {
        let machine = Machine::new();
        let mut command = when(&machine, "required", line);
        // Nothing that others compiled.
        command.env("XDG_CACHE_HOME", machine.path("cache"));
        without_filters(command).fault("RING_REQUIRED", 30);
        let left = std::fs::read_dir(machine.path("cache/hutch")).into_iter().flatten();
        let code = |entry: &std::fs::DirEntry| entry.path().extension().is_some_and(|end| end == "artifact");
        assert_eq!(left.filter_map(Result::ok).filter(code).count(), 0, "{line:?}");
    }
    // What starts none is done.
    Ran::of(&mut when(&machine, "required", &["show", &todo])).result("show");
}

/// Each is asked in a process of its own, once, whatever asks it.
#[test]
fn what_a_component_is_it_is_asked_behind_a_ring_and_nowhere_else() {
    let machine = Machine::new();
    let folder = package::copy_todo(&machine, "undescribed");
    std::fs::remove_dir_all(folder.join("schemas")).unwrap();
    let (folder, todo) = (folder.to_str().unwrap(), todo());
    // In a cache of its own, where nobody was asked before.
    let asking = |rings: &str, line: &[&str]| {
        let mut command = when(&machine, rings, line);
        command.env("XDG_CACHE_HOME", machine.path("cache"));
        command
    };
    let lines = [
        ("meta", &["meta", folder][..]),
        ("meta", &["meta", folder, "add"]),
        ("examples", &["examples", folder]),
        ("explain-error", &["explain-error", "NOT_FOUND", folder]),
        ("check", &["check", &todo]),
        ("pack", &["pack", "--dry-run", &todo]),
    ];
    for (_, line) in lines {
        let here = Ran::of(asking("required", line).env("HUTCH_COMPILE", "here")).fault("RING_REQUIRED", 30);
        assert!(here.message.contains("no process"), "{line:?}: {}", here.message);
        without_filters(asking("off", &[&["--ring", "required"][..], line].concat())).fault("RING_REQUIRED", 30);
    }
    for rings in ["required", "auto", "off"].into_iter().skip(usize::from(!ring::is_there())) {
        for (name, line) in lines {
            let told = answered(&Ran::of(&mut asking(rings, line)));
            assert!(told.is_object(), "{name}: {told}");
        }
    }
    // It is known by then, and nobody is asked again.
    let (_, meta) = lines[0];
    without_filters(asking("required", meta)).result("meta");
}

#[test]
fn where_the_kernel_judges_no_paths_only_who_requires_it_is_refused() {
    let machine = Machine::new();
    let required = when(&machine, "required", &["run", &probe(), "return-ok"]);
    let fault = without_landlock(required).fault("RING_REQUIRED", 30);
    assert!(fault.message.contains("Landlock 0"), "{}", fault.message);
    assert!(machine.is_untouched(), "something was made before it was refused");
    for line in [&["run", &probe(), "return-ok"][..], &["plan", &probe(), "return-ok"], &["verify", &probe(), "last"]] {
        assert_eq!(without_landlock(machine.hutch(line)).status, 0, "{line:?}");
    }
    let told = without_landlock(machine.hutch(["doctor"])).result("doctor");
    assert!(checks(&told)[1].contains("none"), "{told}");
    // All works, and less is promised; where they are required nothing does.
    let status = |told: &Value| {
        let checks = told.as_array().unwrap().iter();
        checks.filter(|check| check["name"] == "ring of paths").map(|check| check["status"].clone()).collect::<Vec<_>>()
    };
    assert_eq!(status(&told["items"]), ["warn"]);
    let fault = without_landlock(when(&machine, "required", &["doctor"])).fault("HOST_FAULT", 50);
    assert_eq!(status(&fault.details["checks"]), ["bad"], "{fault:?}");
}

#[test]
fn a_line_that_says_when_there_are_rings_is_heard_before_the_surroundings() {
    let machine = Machine::new();
    let probe = probe();
    let asking = |asked, rings| when(&machine, rings, &["--ring", asked, "run", &probe, "return-ok"]);
    let fault = without_landlock(asking("required", "off")).fault("RING_REQUIRED", 30);
    assert!(fault.message.contains("Landlock 0"), "{}", fault.message);
    for asked in ["auto", "off"] {
        assert_eq!(without_landlock(asking(asked, "required")).status, 0, "{asked}");
    }
    machine.run(["run", "--ring", "perhaps", &probe, "return-ok"]).fault("USAGE", 2);
    // Nothing is promised where there are none.
    for line in [&["certify", "--self"][..], &["dev", &probe], &["doctor"], &["catalog"]] {
        let fault = machine.run([&["--ring", "auto"][..], line].concat()).fault("USAGE", 2);
        assert!(fault.message.contains("around run, validate"), "{line:?}: {}", fault.message);
    }
}

#[test]
fn where_it_can_not_be_put_up_that_is_written_down_and_nothing_runs() {
    if !are_whole() {
        return;
    }
    let machine = Machine::new();
    machine.probe(&[], &["write-text", "state/a", "before"]).answer();
    let write = when(&machine, "required", &["run", &probe(), "write-text", "state/a", "after"]);
    behind_all_that_may_be(write).fault("RING_REQUIRED", 30);
    let last = machine.run(["ledger", "show", &probe(), "last"]).result("ledger show");
    assert_eq!((&last["record"]["error"], &last["record"]["outcome"]), (&json!("RING_REQUIRED"), &Value::Null));
    assert_eq!(machine.run(["state", "cat", &probe(), "state/a"]).result("state cat")["content"], "before");
    // Who does not require it goes on with what there is.
    assert_eq!(behind_all_that_may_be(machine.hutch(["run", &probe(), "return-ok"])).status, 0);
}

#[test]
fn doctor_says_which_rings_there_are() {
    let checks = checks(&Machine::new().run(["doctor"]).result("doctor"));
    let [calls, paths] = &checks[..] else { panic!("{checks:?}") };
    assert_eq!(calls.contains("no sockets"), ring::is_there(), "{calls}");
    match ring::paths::abi() {
        0 | 1 => assert!(paths.contains("none"), "{paths}"),
        abi => assert!(paths.contains(&format!("Landlock {abi}")), "{paths}"),
    }
}

/// Behind the ring nothing is compiled, so all that will run is there before: also what an earlier version is made again with.
#[test]
fn a_cold_cache_is_filled_before_the_ring_is_up() {
    if !are_whole() {
        return;
    }
    let machine = Machine::new();
    let cache = machine.path("cache");
    let run = |line: &[&str]| Ran::of(when(&machine, "required", line).env("XDG_CACHE_HOME", &cache));
    let folder = package::copy(&machine, "package");
    run(&["install", "--yes", "./package"]).result("install");
    run(&["run", "probe", "return-ok"]).answer();
    for file in ["APP.md", "schemas/commands.json"].map(|name| folder.join(name)) {
        let text = std::fs::read_to_string(&file).unwrap();
        std::fs::write(&file, text.replacen("0.1.0", "0.1.1", 1)).unwrap();
    }
    let path = folder.join("app/app.wasm");
    let component = std::fs::read(&path).unwrap();
    std::fs::write(&path, [component.as_slice(), b"\0\x05\x04test"].concat()).unwrap();
    run(&["install", "./package"]).result("install");
    run(&["run", "probe", "return-ok"]).answer();
    std::fs::remove_dir_all(&cache).unwrap();
    let verified = answered(&run(&["--progress", "verify", "--all", "probe"]));
    assert_eq!((&verified["equal"], &verified["not_reproducible"]), (&json!(2), &json!(0)));
}

#[test]
fn what_whoever_started_it_left_open_is_closed_unless_it_is_named() {
    let machine = Machine::new();
    let probe = probe();
    machine.write("said", "{\"ok\":true}");
    std::os::unix::fs::symlink("/proc/self/fd/7", machine.path("link")).unwrap();
    let call = |ring: &str, file: &str| {
        let words = ["--ring", ring, "run", "--stdin-file", file, &probe, "stdin-echo"];
        let (hutch, line) = (machine.hutch(words), "exec 7<said \"$0\" \"$@\"");
        let mut command = Command::new("/bin/sh");
        command.args(["-c", line]).arg(hutch.get_program()).args(hutch.get_args());
        command.env_clear().envs(hutch.get_envs().filter_map(|(name, value)| Some((name, value?))));
        command.current_dir(machine.path("."));
        Ran::of(&mut command)
    };
    for (ring, file) in [("auto", "/dev/fd/7"), ("auto", "/proc/self/fd/7"), ("off", "link")] {
        assert_eq!(call(ring, file).stdout, "{\"ok\":true}", "{ring} {file}");
    }
    // It leads to the same, and no word of the line says so.
    let closed = call("auto", "link");
    assert_ne!(closed.status, 0, "{closed:?}");
    assert!(!closed.stdout.contains("ok"), "{closed:?}");
}

/// What a guest that took over a server comes to, where there are rings and beside it where there are none.
#[cfg(target_arch = "x86_64")]
mod taken_over {
    use super::{are_whole, when};
    use crate::support::package::copy_todo;
    use crate::support::taken_over::{PATH, TakenOver, traced};
    use crate::support::{Machine, todo};
    use serde_json::{Value, json};
    use std::io::{BufRead, BufReader, Read, Write};
    use std::path::Path;
    use std::process::{Child, Stdio};

    /// A call of the system's, its arguments, and the path among them.
    type Call<'p> = (i64, [u64; 4], &'p Path);

    fn open(path: &Path, flags: i32) -> Call<'_> {
        (libc::SYS_openat, [i64::from(libc::AT_FDCWD) as u64, PATH, flags as u64, 0], path)
    }

    /// Reaches for what is the user's, for what is the host's, and for what a call works on.
    fn reached(machine: &Machine, make: impl FnOnce(&[Call<'_>]) -> Vec<Result<i64, i32>>) -> Vec<&'static str> {
        let home = machine.home();
        let instance = |name: &str| home.join("instances/todo").join(name).join("hutch.db");
        let (secret, todo) = (machine.path("secret"), Path::new(&todo()).join("APP.md"));
        let (own, other, key) = (instance("default"), instance("other"), home.join("artifacts.key"));
        let nowhere = Path::new("");
        let tried = [
            ("read", open(&secret, libc::O_RDONLY)),
            ("write", open(&secret, libc::O_WRONLY)),
            ("key", open(&key, libc::O_RDONLY)),
            ("home", open(&home, libc::O_RDONLY | libc::O_DIRECTORY)),
            ("other", open(&other, libc::O_RDONLY)),
            ("package", open(&todo, libc::O_WRONLY)),
            ("socket", (libc::SYS_socket, [libc::AF_INET as u64, libc::SOCK_STREAM as u64, 0, 0], nowhere)),
            ("pair", (libc::SYS_pidfd_open, [u64::from(std::process::id()), 0, 0, 0], nowhere)),
            ("signal", (libc::SYS_kill, [u64::from(std::process::id()), 0, 0, 0], nowhere)),
            ("memory", (libc::SYS_memfd_create, [PATH, 0, 0, 0], nowhere)),
            // What calls need.
            ("own", open(&own, libc::O_RDWR)),
            ("read-package", open(&todo, libc::O_RDONLY)),
        ];
        let results = make(&tried.map(|(_, call)| call));
        tried.into_iter().zip(results).filter_map(|((name, _), result)| result.is_ok().then_some(name)).collect()
    }

    /// A command that runs a guest and then answers, taken over when it does that.
    fn taken_over_at_its_answer(machine: &Machine, rings: &str, line: &[&str]) -> Vec<&'static str> {
        let mut command = when(machine, rings, line);
        let lines = machine.write("lines", "{\"id\":1,\"arguments\":[\"list\"]}\n");
        command.stdin(std::fs::File::open(lines).unwrap()).stdout(Stdio::piped()).stderr(Stdio::piped());
        traced(&mut command);
        let child = command.spawn().unwrap();
        let process = TakenOver::held(child.id());
        let reached = reached(machine, |calls| process.calls_at_its_answer(calls));
        let ended = child.wait_with_output().unwrap();
        assert!(ended.status.success() && !ended.stdout.is_empty(), "{line:?}: {ended:?}");
        reached
    }

    fn started(machine: &Machine, rings: &str, line: &[&str]) -> (Child, TakenOver) {
        let mut command = when(machine, rings, line);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        traced(&mut command);
        let child = command.spawn().unwrap();
        let process = TakenOver::begun(child.id());
        (child, process)
    }

    fn machine() -> Machine {
        let machine = Machine::new();
        machine.write("secret", "the user's");
        for instance in ["default", "other"] {
            machine.run(["run", "--instance", instance, &todo(), "add", "milk"]).answer();
        }
        machine
    }

    /// A process that is asked while it waits for nothing goes on where it was.
    #[test]
    fn calls_are_made_wherever_the_process_is() {
        let mut command = std::process::Command::new("/bin/sh");
        command.args(["-c", "n=0; while [ $n -lt 20000 ]; do kill -0 $$; n=$((n + 1)); done; echo $n; read end"]);
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        traced(&mut command);
        let mut child = command.spawn().unwrap();
        let process = TakenOver::begun(child.id());
        for _ in 0..100 {
            let call = (libc::SYS_getpid, [0; 4], Path::new(""));
            assert_eq!(process.calls(&[call, call]), [Ok(i64::from(child.id())); 2]);
        }
        let mut counted = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut counted).unwrap();
        assert_eq!(counted, "20000\n");
        child.stdin.take().unwrap().write_all(b"\n").unwrap();
        assert!(child.wait().unwrap().success());
    }

    const ALL: [&str; 12] = [
        "read",
        "write",
        "key",
        "home",
        "other",
        "package",
        "socket",
        "pair",
        "signal",
        "memory",
        "own",
        "read-package",
    ];

    #[test]
    fn a_guest_that_took_over_a_call_has_what_that_works_on_and_nothing_else_whatever_the_command() {
        if !are_whole() {
            return;
        }
        let (machine, todo) = (machine(), todo());
        machine.run(["instance", "export", "--output", "file", &todo]).result("instance export");
        let tested = copy_todo(&machine, "tested").display().to_string();
        let test = machine.run(["ledger", "show", "--to-test", &todo, "@2"]).result("ledger show")["test"].to_string();
        machine.write("tested/tests/add.test.json", test);
        let commands: [&[&str]; 13] = [
            &["run", &todo, "list"],
            &["run", &todo, "add", "bread"],
            &["plan", &todo, "add", "bread"],
            &["apply", &todo, "last"],
            &["replay", &todo, "@2"],
            &["verify", &todo, "@2"],
            &["prove", "--output", "proof", &todo, "@2"],
            &["map", "--ndjson", &todo],
            &["ledger", "show", "--bisect", "total", &todo, "--", "list"],
            &["check", "--tests", &tested],
            &["instance", "import", "--instance", "taken", "--input", "file", &todo],
            &["dev", "--once", &todo],
            &["certify", &todo],
        ];
        for line in commands {
            for rings in ["off", "required"] {
                let _ = std::fs::remove_file(machine.path("proof"));
                machine.run(["--yes", "instance", "purge", "--instance", "taken", "todo"]);
                if line[0] == "apply" {
                    machine.run(["plan", &todo, "add", "bread"]).document();
                }
                let reached = taken_over_at_its_answer(&machine, rings, line);
                match rings {
                    "off" => assert_eq!(reached, ALL, "{line:?}"),
                    _ => assert!(reached.iter().all(|name| ALL[10..].contains(name)), "{line:?}: {reached:?}"),
                }
            }
        }
    }

    #[test]
    fn a_guest_that_took_over_mcp_has_the_instances_that_are_served_and_nothing_else() {
        if !are_whole() {
            return;
        }
        let machine = machine();
        for (rings, expected) in [("required", &ALL[10..]), ("off", &ALL)] {
            let (mut child, process) = started(&machine, rings, &["mcp", "--tools-max", "100", &todo()]);
            let (mut input, output) = (child.stdin.take().unwrap(), child.stdout.take().unwrap());
            let mut lines = BufReader::new(output).lines();
            let mut ask = |id: u64, method: &str, params: Value| {
                let message = json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params});
                writeln!(input, "{message}").unwrap();
                serde_json::from_str::<Value>(&lines.next().unwrap().unwrap()).unwrap()
            };
            let client = json!({"name": "test", "version": "1"});
            let begun = json!({"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": client});
            ask(1, "initialize", begun);
            let listed = ask(2, "tools/call", json!({"name": "todo_list", "arguments": {}}));
            assert!(listed.to_string().contains("milk"), "{listed}");
            assert_eq!(reached(&machine, |calls| process.calls(calls)), expected, "{rings}");
            let listed = ask(3, "tools/call", json!({"name": "todo_list", "arguments": {}}));
            assert!(listed.to_string().contains("milk"), "{listed}");
            drop(input);
            assert!(child.wait().unwrap().success());
        }
    }

    #[test]
    fn a_guest_that_took_over_serve_has_the_instances_that_are_served_and_nothing_else() {
        if !are_whole() {
            return;
        }
        let machine = machine();
        for (rings, expected) in [("required", &ALL[10..]), ("off", &ALL)] {
            let line = ["serve", "--listen", "127.0.0.1:0", "--log", "json", &todo()];
            let (mut child, process) = started(&machine, rings, &line);
            let mut told = String::new();
            BufReader::new(child.stdout.take().unwrap()).read_line(&mut told).unwrap();
            let told: Value = serde_json::from_str(&told).unwrap();
            let tokens = std::fs::read_to_string(told["result"]["token_file"].as_str().unwrap()).unwrap();
            let operator = tokens.lines().find(|line| line.starts_with("operator ")).unwrap();
            let token = operator.split(' ').nth(2).unwrap().to_owned();
            let address = told["result"]["url"].as_str().unwrap().strip_prefix("http://").unwrap().to_owned();
            let called = || {
                let mut stream = std::net::TcpStream::connect(&address).unwrap();
                let body = json!({"arguments": ["list"]}).to_string();
                let head = format!(
                    "POST /api/packages/todo/run HTTP/1.1\r\nhost: {address}\r\nauthorization: Bearer {token}\r\nconnection: close\r\n\
                     content-type: application/json\r\ncontent-length: {}\r\n\r\n{body}",
                    body.len()
                );
                stream.write_all(head.as_bytes()).unwrap();
                let mut answer = String::new();
                stream.read_to_string(&mut answer).unwrap();
                assert!(answer.contains("milk"), "{answer}");
            };
            called();
            assert_eq!(reached(&machine, |calls| process.calls(calls)), expected, "{rings}");
            called();
            child.kill().unwrap();
            child.wait().unwrap();
        }
    }
}

//! Runs CPython, a WASI 0.1 module that others compiled, and has it work with files in a volume and end in bad ways.
//! `tests/sandbox/foreign.sh` fetches it and calls this with its path; anything unexpected ends it with a panic.
#![allow(clippy::disallowed_methods, reason = "a program of this repository's developers")]
#![allow(clippy::expect_used, clippy::panic, clippy::print_stdout, reason = "a test program with a main of its own")]

#[path = "../../../tests/sandbox/support/mod.rs"]
mod support;

use hutch_model::limits::{Limit, Limits};
use hutch_model::outcome::Ending;
use hutch_sandbox::{Program, Run};
use support::case::{exited, limited};
use support::{VOLUME, parts, run_parts, sandbox};

const FILES: &str = r#"
import json, os, pathlib, time, random, sys
root = pathlib.Path("state")
(root / "a/b").mkdir(parents=True)
for n in range(50):
    (root / "a" / f"{n:03}.txt").write_text("x" * n)
with open(root / "log", "a") as log:
    log.write("one\n"); log.write("two\n")
os.rename(root / "log", root / "a/b/log")
(root / "a/000.txt").unlink()
os.symlink("b/log", root / "a/link")
assert (root / "a/link").read_text() == "one\ntwo\n"
with open(root / "a/b/log", "r+b") as log:
    log.seek(4); log.write(b"TWO"); log.truncate(7)
for outside in ["/etc/passwd", "state/../../etc/passwd", "../x"]:
    try: open(outside); raise SystemExit("read " + outside)
    except OSError: pass
start = time.monotonic(); time.sleep(3600); slept = time.monotonic() - start
print(json.dumps({"files": len(os.listdir(root / "a")), "log": (root / "a/b/log").read_text(), "size": os.stat(root / "a/049.txt").st_size,
  "slept": round(slept), "year": time.gmtime().tm_year, "set": list({"red", "green", "blue", "cyan", "pink"}),
  "random": random.random(), "urandom": os.urandom(4).hex(), "version": sys.version_info[:2], "env": dict(os.environ)}))
"#;

fn python(program: &Program, code: &str, changed: &[(Limit, u64)]) -> Run {
    let run = run_parts(program, parts(&["-c", code], support::limits(changed))).expect("an outcome");
    let complaint = String::from_utf8_lossy(&run.outcome.stderr);
    println!(
        "{:?}, {} fuel, {} us {}",
        run.outcome.ending,
        run.outcome.fuel,
        run.measured.wall_time_us,
        complaint.lines().last().unwrap_or_default()
    );
    run
}

fn main() {
    let path = std::env::args().nth(1).expect("the path of an interpreter");
    let module = std::fs::read(&path).expect("the interpreter");
    let program = sandbox().load(&module, &Limits::default()).expect("a program");

    let run = python(&program, FILES, &[]);
    assert_eq!(run.outcome.ending, exited(0));
    let said: serde_json::Value = serde_json::from_slice(&run.outcome.stdout).expect("one JSON document");
    println!("{said}");
    assert_eq!((&said["files"], &said["log"], &said["size"]), (&51.into(), &"one\nTWO".into(), &49.into()));
    assert_eq!((&said["slept"], &said["year"], &said["env"]), (&3600.into(), &2026.into(), &serde_json::json!({})));
    let volume = &run.after.volumes[VOLUME];
    assert_ne!(volume.before, volume.after);

    // Sets, hashes and random numbers too follow from the seed.
    let again = python(&program, FILES, &[]);
    assert_eq!((&run.outcome, &run.after.volumes), (&again.outcome, &again.after.volumes));

    let end = |code: &'static str, changed: &[(Limit, u64)], ending: Ending| (code, changed.to_vec(), ending);
    let ends = [
        end("raise SystemExit(7)", &[], exited(7)),
        end("open('state/f', 'w').write('x'); 1 / 0", &[], exited(1)),
        end("while True: pass", &[(Limit::Fuel, 2_000_000_000)], limited(Limit::Fuel)),
        end("x = 'x' * (1 << 30)", &[], limited(Limit::Memory)),
        end(
            "f = open('state/f', 'w'); f.write('x' * 5000); f.close()",
            &[(Limit::StateBytes, 4999)],
            limited(Limit::StateBytes),
        ),
    ];
    for (code, changed, ending) in ends {
        let run = python(&program, code, &changed);
        assert_eq!(run.outcome.ending, ending, "{code}");
        assert!(run.after.volumes.is_empty(), "{code} left state");
    }
    println!("ok");
}

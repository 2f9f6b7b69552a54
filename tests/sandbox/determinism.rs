//! Equal inputs give equal outcomes: whole outcomes and the digests of what is left, whatever is around the run. Scripts of
//! invocations run again and again under changing surroundings; each pair of runs is compared, and the pairs are counted.

use crate::support::processor::Full;
use crate::support::{VOLUME, limits, parts, probe_bytes, sandbox, todo_bytes};
use hutch_model::digest::{Digest, Kind};
use hutch_model::invocation::{Invocation, Seed};
use hutch_model::limits::{Limit, Limits};
use hutch_model::outcome::{Ending, Outcome, Unreproducible};
use hutch_model::snapshot::{Layered, MemoryObjects, Objects};
use hutch_sandbox::{Backend, Compile, Program, Sandbox};
use std::collections::BTreeMap;
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// What one invocation came to.
type Observed = (String, Outcome, Option<Digest>);

/// Invocations one after the other, each on the state that the last good one left.
struct Script {
    todo: bool,
    limits: Limits,
    calls: Vec<&'static str>,
}

fn scripts() -> Vec<Script> {
    // An emulator is slow, and its clock is not to end what is compared.
    let patient = |changed: &[(Limit, u64)]| limits(&[&[(Limit::WallTime, 600_000)], changed].concat());
    let probe = |calls: &[&'static str]| Script { todo: false, limits: patient(&[]), calls: calls.to_vec() };
    let small = |changed: &[(Limit, u64)], calls: &[&'static str]| Script { limits: patient(changed), ..probe(calls) };
    vec![
        probe(&["exit 0", "exit 77", "exit-result ok", "exit-result err", "return-ok", "return-err", "trap", "panic"]),
        probe(&["clock", "sleep 1000", "poll 50", "clock", "random 1000", "random 1000", "float-nan"]),
        probe(&["env", "args a b", "argv0", "stdin", "stdin-echo", "socket", "not-json", "two-json", "empty"]),
        probe(&["recurse --stack calls", "recurse --stack memory", "grow-memory 9000000", "grow-table 5000"]),
        probe(&["grow-memory", "grow-and-touch", "grow-table", "stdout 100000", "stderr 100000", "stdout 9000000"]),
        probe(&["hostcall-spin --count 10000", "big-host-calls random --count 3", "big-host-calls read --count 3"]),
        probe(&["write-files 100", "tree state", "list-dir state", "stat state", "open-handles 200", "tree state"]),
        probe(&[
            "write-file state/f 300000",
            "write-at state/f 70000 hello",
            "append-text state/f end",
            "stat state/f",
        ]),
        probe(&[
            "write-text state/a text",
            "link state/a state/b",
            "symlink a state/c",
            "read-file state/c",
            "rename state/a state/z",
            "read-link state/c",
            "read-file state/c",
            "tree state",
            "remove state/b",
            "stat state/z",
        ]),
        probe(&[
            "make-dir state/d",
            "write-chunked state/d/f 200000 777",
            "truncate state/d/f 65537",
            "read-file state/d/f",
            "remove state/d --all",
            "tree state",
        ]),
        probe(&["deep-dirs 200", "long-name 255", "long-name 256", "follow-links", "read-outside", "tree state"]),
        probe(&[
            "write-then-trap state/f",
            "write-then-exit state/f 9",
            "tree state",
            "write-then-exit state/f 0",
            "tree state",
        ]),
        small(
            &[(Limit::Fuel, 3_000_000)],
            &["spin", "hostcall-spin", "big-host-calls random", "write-then-spin state/f", "write-files 10000"],
        ),
        small(
            &[(Limit::Memory, 3 << 20)],
            &["grow-memory", "write-file state/f 8000000", "write-chunked state/f 8000000 65536"],
        ),
        small(
            &[(Limit::StateFiles, 10), (Limit::StateBytes, 1000)],
            &["write-files 50", "write-file state/f 5000", "tree state"],
        ),
        Script {
            todo: true,
            limits: patient(&[]),
            calls: vec![
                "add one",
                "add two --due-at 2026-05-01",
                "add three --description more",
                "list",
                "complete td_0002",
                "update td_0001 --title uno",
                "list --status open",
                "get td_0003",
                "get td_9999",
                "remove td_0003 --confirm",
                "remove td_0001",
                "reopen td_0002",
                "due --before 2026-06-01T00:00:00Z",
                "list --human",
                "--help",
                "--version",
                "nonsense",
            ],
        },
    ]
}

/// The two components, loaded.
struct Programs {
    probe: Program,
    todo: Program,
}

impl Programs {
    fn load(sandbox: &Sandbox) -> Programs {
        let load = |bytes: Vec<u8>| sandbox.load(&bytes, &Limits::default()).expect("a program");
        Programs { probe: load(probe_bytes()), todo: load(todo_bytes()) }
    }

    /// Compiled once for all tests here.
    fn compiled() -> Programs {
        Programs::load(sandbox())
    }

    fn observe(&self, script: &Script, seed: Seed) -> Vec<Observed> {
        let program = if script.todo { &self.todo } else { &self.probe };
        let mut state: BTreeMap<String, Digest> = BTreeMap::new();
        let mut layers: Vec<Arc<dyn Objects>> = vec![Arc::new(MemoryObjects::default())];
        let mut observed = Vec::new();
        for call in &script.calls {
            let mut parts = parts(&call.split(' ').collect::<Vec<_>>(), script.limits.clone());
            parts.stdin = b"some input".to_vec();
            parts.environment = [("LANG".to_owned(), "xx".to_owned()), ("HOME".to_owned(), "state".to_owned())].into();
            parts.seed = seed;
            let invocation = Invocation::new(parts).expect("an invocation");
            let run = hutch_sandbox::run(program, &invocation, &state, Arc::new(Layered(layers.clone())));
            let run = run.unwrap_or_else(|error| panic!("{call}: {error}"));
            let after = run.after.volumes.get(VOLUME).map(|volume| volume.after);
            if let Some(after) = after {
                state.insert(VOLUME.to_owned(), after);
                layers.push(Arc::new(run.after.objects));
            }
            observed.push(((*call).to_owned(), run.outcome, after));
        }
        observed
    }

    fn observe_all(&self) -> Vec<Observed> {
        scripts().iter().flat_map(|script| self.observe(script, SEED)).collect()
    }
}

const SEED: Seed = Seed([7; 32]);

/// Compares two observations and says how many pairs there were.
fn same(a: &[Observed], b: &[Observed], surroundings: &str) -> usize {
    assert_eq!(a.len(), b.len());
    for (a, b) in a.iter().zip(b) {
        assert!(a == b, "{surroundings}: {} and {}", line(a), line(b));
    }
    a.len()
}

/// An observation in one line: what to compare across processes.
fn line((call, outcome, after): &Observed) -> String {
    // What was written is megabytes, which would be spelled out byte by byte.
    let mut rest = outcome.clone();
    let streams = [&mut rest.stdout, &mut rest.stderr].map(|stream| Digest::of(Kind::Stream, &std::mem::take(stream)));
    let all = Digest::of(Kind::Chunk, format!("{rest:?} {streams:?} {after:?}").as_bytes());
    format!("observed {call:?} {:?} {} {all}", outcome.ending, outcome.fuel)
}

fn lines(observed: &[Observed]) -> Vec<String> {
    observed.iter().map(line).collect()
}

#[test]
fn surroundings_do_not_show() {
    let first = Programs::compiled();
    let reference = first.observe_all();
    let mut pairs = same(&reference, &first.observe_all(), "the same again");
    let again = Programs::load(&Sandbox::new(Compile::Here, None));
    pairs += same(&reference, &again.observe_all(), "compiled again");

    // The first were compiled into the cache.
    for surroundings in ["from the cache", "from the cache again"] {
        let sandbox = crate::support::another_sandbox();
        pairs += same(&reference, &Programs::load(&sandbox).observe_all(), surroundings);
    }

    // In another order: each script from an end of the list that is nobody's first.
    let scripts = scripts();
    let mut backwards: Vec<_> = scripts.iter().rev().map(|script| first.observe(script, SEED)).collect();
    backwards.reverse();
    pairs += same(&reference, &backwards.concat(), "in another order");

    // On a loaded processor, several at once.
    let done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                while !done.load(Ordering::Relaxed) {
                    std::hint::spin_loop();
                }
            });
        }
        let threads: Vec<_> = (0..3).map(|_| scope.spawn(|| first.observe_all())).collect();
        let all: Vec<_> = threads.into_iter().map(|thread| thread.join().expect("no panic")).collect();
        done.store(true, Ordering::Relaxed);
        for observed in all {
            pairs += same(&reference, &observed, "beside others on a loaded processor");
        }
    });
    println!("{pairs} pairs of runs within one process are equal");
}

#[test]
fn processes_do_not_show() {
    let reference = lines(&Programs::compiled().observe_all());
    let program = std::env::current_exe().expect("a path");
    let elsewhere = tempfile::tempdir().expect("a temporary folder");
    let surroundings: [(&str, &[(&str, &str)]); 4] = [
        ("exec \"$0\" \"$@\"", &[]),
        (
            "cd / && exec \"$0\" \"$@\"",
            &[("HOME", "/nowhere"), ("TZ", "Asia/Tokyo"), ("LANG", "de_DE.UTF-8"), ("LC_ALL", "C")],
        ),
        (
            "ulimit -s 1024 && ulimit -n 64 && exec \"$0\" \"$@\"",
            &[("TZ", "America/Caracas"), ("USER", "somebody"), ("COLUMNS", "20")],
        ),
        (
            "umask 077 && exec nice -n 10 \"$0\" \"$@\"",
            &[("MALLOC_ARENA_MAX", "1"), ("RUST_MIN_STACK", "300000"), ("SOURCE_DATE_EPOCH", "0")],
        ),
    ];
    let mut pairs = 0;
    for (script, environment) in surroundings {
        let mut command = Command::new("sh");
        command.args(["-c", script]).arg(&program).args([
            "--exact",
            "determinism::observations_are_printed",
            "--show-output",
        ]);
        command
            .env_clear()
            .env("PATH", "/usr/bin:/bin")
            .env(crate::support::CRATE, crate::support::repository("host/sandbox"))
            // The first compiles, as this process did.
            .env(crate::support::ARTIFACTS, elsewhere.path().join("artifacts"))
            .envs(environment.iter().copied())
            .current_dir(elsewhere.path());
        let output = command.output().expect("a child process");
        let text = String::from_utf8_lossy(&output.stdout);
        let seen: Vec<&str> = text.lines().filter(|line| line.starts_with("observed ")).collect();
        assert!(output.status.success() && seen.len() == reference.len(), "{script}: {text}");
        for (here, there) in reference.iter().zip(seen) {
            assert_eq!(here, there, "{script} with {environment:?}");
            pairs += 1;
        }
    }
    println!("{pairs} pairs of runs across processes are equal");
}

const STACK: Ending = Ending::Limited { limit: Limit::Stack };

/// All that is the same wherever it is run: how deep a stack goes is not, and such ends are marked.
fn comparable(programs: &Programs) -> Vec<Observed> {
    let mut observed = programs.observe_all();
    for (_, outcome, _) in observed.iter_mut().filter(|(_, outcome, _)| outcome.ending == STACK) {
        assert_eq!(outcome.unreproducible, [Unreproducible::Stack]);
        (outcome.fuel, outcome.memory_peak_bytes) = (0, 0);
    }
    observed
}

/// The interpreter shares no code generator with the processor's: what both come to is not one compiler's mistake. Only how deep a stack
/// goes is an engine's own, and such ends are marked.
#[test]
fn another_engine_comes_to_the_same() {
    let native = comparable(&Programs::compiled());
    let interpreted = Programs::load(&Sandbox::new(Compile::Here, None).on(Backend::Interpreter64));
    let pairs = same(&native, &comparable(&interpreted), "on the interpreter");
    assert!(native.iter().filter(|(_, outcome, _)| outcome.ending != STACK).count() + 5 > pairs, "few are compared");
    println!("{pairs} pairs of runs on two engines are equal");
}

/// Code for what every processor has, and code for all that this one has, come to the same: outcomes don't depend on which of them is
/// run. How deep a stack goes does, which is why it is compiled for a baseline.
#[test]
fn what_the_processor_has_does_not_show() {
    let Some(full) = Full::new() else {
        println!("this processor has no more than the baseline: nothing is compared");
        return;
    };
    let baseline = Programs::compiled();
    let [probe, todo] = [probe_bytes(), todo_bytes()].map(|bytes| on_full(&full, &bytes));
    let programs = Programs { probe, todo };
    let pairs = same(&comparable(&baseline), &comparable(&programs), "on all that the processor has");
    println!("{pairs} pairs of runs are equal with {:?}", full.features);
}

fn on_full(full: &Full, bytes: &[u8]) -> Program {
    let (sandbox, differs) = full.with(bytes).expect("an artifact");
    assert!(differs, "the code is the same: {:?} are not used", full.features);
    sandbox.load(bytes, &Limits::default()).expect("a program")
}

/// The same for what compilers do in different ways where they have different instructions.
#[test]
fn computing_is_the_same_everywhere() {
    let module = crate::support::wat_guest::wat(&computing());
    let load = |sandbox: Sandbox| sandbox.load(&module, &Limits::default()).expect("a program");
    let observe = |program: &Program| {
        let run = crate::support::run_parts(program, parts(&[], Limits::default())).expect("an outcome");
        assert_eq!((&run.outcome.ending, run.outcome.stdout.len()), (&Ending::Exited { status: 0 }, COMPUTED_BYTES));
        run.outcome
    };
    let baseline = observe(&load(Sandbox::new(Compile::Here, None)));
    let zeros = baseline.stdout.iter().filter(|byte| **byte == 0).count();
    assert!(zeros < COMPUTED_BYTES / 4, "{zeros} bytes of {COMPUTED_BYTES} are zero: little was computed");
    let mut others = vec![("the interpreter", load(Sandbox::new(Compile::Here, None).on(Backend::Interpreter64)))];
    others.extend(Full::new().map(|full| ("all that the processor has", on_full(&full, &module))));
    for (name, program) in others {
        let other = observe(&program);
        let vectors = baseline.stdout.chunks(16).zip(other.stdout.chunks(16)).enumerate();
        let differing = vectors.filter(|(_, (one, other))| one != other);
        let differing = differing.map(|(at, (one, other))| (OPERATIONS[at % OPERATIONS.len()], one, other));
        let differing: Vec<_> = differing.take(5).collect();
        assert!(differing.is_empty(), "on {name}: {differing:?}");
        assert_eq!(baseline, other, "on {name}");
    }
}

/// Bytes that [`computing`] prints.
const COMPUTED_BYTES: usize = 64 * 16 * OPERATIONS.len();

/// Operations for which compilers take other instructions where there are others, on vectors made of `$a`, `$b` and `$c`.
const OPERATIONS: [&str; 30] = [
    "(f32x4.ceil (f32x4.mul (local.get $a) (local.get $b)))",
    "(f32x4.floor (f32x4.add (local.get $a) (local.get $b)))",
    "(f64x2.nearest (f64x2.mul (local.get $a) (local.get $b)))",
    "(f64x2.trunc (f64x2.sub (local.get $a) (local.get $b)))",
    "(f32x4.add (f32x4.mul (local.get $a) (local.get $b)) (local.get $c))",
    "(f64x2.add (f64x2.mul (local.get $a) (local.get $b)) (local.get $c))",
    "(f32x4.relaxed_madd (local.get $a) (local.get $b) (local.get $c))",
    "(f64x2.relaxed_nmadd (local.get $a) (local.get $b) (local.get $c))",
    "(f32x4.sqrt (f32x4.abs (local.get $a)))",
    "(f64x2.div (local.get $a) (local.get $b))",
    "(f32x4.min (local.get $a) (local.get $b))",
    "(f64x2.pmax (local.get $a) (local.get $b))",
    "(f32x4.convert_i32x4_u (local.get $a))",
    "(f64x2.convert_low_i32x4_u (local.get $a))",
    "(i32x4.trunc_sat_f32x4_u (local.get $a))",
    "(i32x4.relaxed_trunc_f64x2_s_zero (local.get $a))",
    "(i64x2.mul (local.get $a) (local.get $b))",
    "(i64x2.shr_s (local.get $a) (i32x4.extract_lane 0 (local.get $b)))",
    "(i8x16.shl (local.get $a) (i32x4.extract_lane 1 (local.get $b)))",
    "(i8x16.popcnt (local.get $a))",
    "(i8x16.swizzle (local.get $a) (local.get $b))",
    "(i8x16.relaxed_swizzle (local.get $a) (local.get $b))",
    "(i8x16.shuffle 0 31 2 29 4 27 6 25 8 23 10 21 12 19 14 17 (local.get $a) (local.get $b))",
    "(i16x8.q15mulr_sat_s (local.get $a) (local.get $b))",
    "(i16x8.relaxed_dot_i8x16_i7x16_s (local.get $a) (local.get $b))",
    "(v128.bitselect (local.get $a) (local.get $b) (local.get $c))",
    "(i64x2.splat (i64.add (i64.clz (i64x2.extract_lane 0 (local.get $a))) (i64.ctz (i64x2.extract_lane 1 (local.get $a)))))",
    "(i64x2.splat (i64.rotl (i64x2.extract_lane 0 (local.get $a)) (i64x2.extract_lane 1 (local.get $b))))",
    "(i64x2.splat (i64.and (i64x2.extract_lane 0 (local.get $a)) (i64.xor (i64x2.extract_lane 1 (local.get $b)) (i64.const -1))))",
    "(f64x2.splat (f64.promote_f32 (f32.demote_f64 (f64.mul (f64x2.extract_lane 0 (local.get $a)) (f64x2.extract_lane 1 (local.get $b))))))",
];

/// A module that does all of them on many numbers, and prints what that comes to. Each second round they are small numbers with a
/// fraction, so that floats are more than their limits.
fn computing() -> String {
    let round: String = OPERATIONS
        .iter()
        .map(|operation| {
            format!(
                "(v128.store (local.get $at) {operation})
                 (local.set $at (i32.add (local.get $at) (i32.const 16)))"
            )
        })
        .collect();
    let next = "(i64.xor (local.get $x) (i64.shl (local.get $x) (i64.const 13)))
        local.tee $x (i64.shr_u (local.get $x) (i64.const 7)) i64.xor
        local.tee $x (i64.shl (local.get $x) (i64.const 17)) i64.xor local.set $x";
    let small = |name: &str| {
        format!(
            "{next} (local.set ${name} (i64x2.splat (local.get $x)))
             {next} (local.set ${name} (i64x2.replace_lane 1 (local.get ${name}) (local.get $x)))
             (if (i32.and (local.get $n) (i32.const 1))
               (then (local.set ${name} (f32x4.div (f32x4.convert_i32x4_s (local.get ${name})) (f32x4.splat (f32.const 16777259))))))
             (if (i32.eq (i32.and (local.get $n) (i32.const 3)) (i32.const 2))
               (then (local.set ${name} (f64x2.div (f64x2.convert_low_i32x4_s (local.get ${name})) (f64x2.splat (f64.const 16777259))))))"
        )
    };
    let values = ["a", "b", "c"].map(small).concat();
    format!(
        "(module
           (import \"wasi_snapshot_preview1\" \"fd_write\" (func $write (param i32 i32 i32 i32) (result i32)))
           (memory (export \"memory\") 4)
           (func (export \"_start\") (local $x i64) (local $n i32) (local $at i32) (local $a v128) (local $b v128) (local $c v128)
             (local.set $x (i64.const 88172645463325252)) (local.set $at (i32.const 16))
             (loop $again {values} {round}
               (local.set $n (i32.add (local.get $n) (i32.const 1)))
               (br_if $again (i32.lt_u (local.get $n) (i32.const 64))))
             (i32.store (i32.const 0) (i32.const 16)) (i32.store (i32.const 4) (i32.const {COMPUTED_BYTES}))
             (if (call $write (i32.const 1) (i32.const 0) (i32.const 1) (i32.const 8)) (then unreachable))))"
    )
}

/// Prints what `processes_do_not_show` compares, and checks that it can differ: other inputs are other outcomes.
#[test]
fn observations_are_printed() {
    let programs = Programs::compiled();
    for line in lines(&programs.observe_all()) {
        println!("{line}");
    }
    let random = Script { todo: false, limits: Limits::default(), calls: vec!["random 100", "float-nan"] };
    let (one, other) = (programs.observe(&random, SEED), programs.observe(&random, Seed([8; 32])));
    assert_ne!(one[0], other[0], "another seed gives the same random bytes");
    assert_eq!(one[1], other[1], "a seed changes what does not ask for randomness");
}

/// What a run says that it has not looked at, the clock's start or the seed, could have been any other.
#[test]
fn what_was_not_looked_at_changes_nothing() {
    let programs = Programs::compiled();
    let (mut free, mut bound) = ([0; 2], [0; 2]);
    for script in scripts() {
        let program = if script.todo { &programs.todo } else { &programs.probe };
        let mut state: BTreeMap<String, Digest> = BTreeMap::new();
        let mut layers: Vec<Arc<dyn Objects>> = vec![Arc::new(MemoryObjects::default())];
        for call in &script.calls {
            let run = |start: &str, seed: u8| {
                let mut parts = parts(&call.split(' ').collect::<Vec<_>>(), script.limits.clone());
                (parts.clock_start, parts.seed) = (start.parse().expect("an instant"), Seed([seed; 32]));
                let invocation = Invocation::new(parts).expect("an invocation");
                let run = hutch_sandbox::run(program, &invocation, &state, Arc::new(Layered(layers.clone())));
                let run = run.unwrap_or_else(|error| panic!("{call}: {error}"));
                let after = run.after.volumes.get(VOLUME).map(|volume| volume.after);
                (run.outcome, after, run.after.seen, run.after.objects)
            };
            let (outcome, after, seen, objects) = run("2026-04-01T00:00:00Z", 7);
            for (kind, is_seen, other) in
                [(0, seen.clock, run("2031-12-31T23:59:59Z", 7)), (1, seen.seed, run("2026-04-01T00:00:00Z", 8))]
            {
                assert_eq!(other.2, seen, "{call}: what is looked at depends on what is not");
                let is_equal = (&other.0, &other.1) == (&outcome, &after);
                assert!(is_seen || is_equal, "{call}: {kind} was not looked at, and changes the outcome");
                free[kind] += usize::from(!is_seen);
                bound[kind] += usize::from(!is_equal);
            }
            if let Some(after) = after {
                state.insert(VOLUME.to_owned(), after);
                layers.push(Arc::new(objects));
            }
        }
    }
    println!("clock and seed: not looked at in {free:?} runs, and another outcome in {bound:?}");
    assert!(free.iter().all(|runs| *runs > 30) && bound.iter().all(|runs| *runs > 1), "{free:?} {bound:?}");
}

/// A program that is loaded again is kept ready, and nothing of the runs before is in it.
#[test]
fn a_program_that_was_kept_ready_is_as_one_that_was_loaded() {
    let sandbox = Sandbox::new(Compile::Here, None);
    let run = |limits: Limits, arguments: &[&str]| {
        let program = sandbox.load(&probe_bytes(), &limits).expect("the probe loads");
        crate::support::run_parts(&program, parts(arguments, limits)).expect("an outcome")
    };
    let first = run(Limits::default(), &["grow-and-touch"]);
    assert!(first.measured.compiled);
    for _ in 0..3 {
        let again = run(Limits::default(), &["grow-and-touch"]);
        assert!(!again.measured.compiled, "it was loaded anew");
        assert_eq!(again.outcome, first.outcome);
    }
    let larger = limits(&[(Limit::Stack, 8 << 20)]);
    assert!(run(larger, &["grow-and-touch"]).measured.compiled, "another stack is another engine");
}

#[test]
fn every_nan_is_one_nan() {
    use crate::support::wat_guest::{WatGuest, wat};
    // Each makes a NaN from others by an operation, and must leave the canonical one.
    let bits32 = |value: &str| format!("(i32.ne (i32.reinterpret_f32 {value}) (i32.const 0x7fc00000))");
    let bits64 = |value: &str| format!("(i64.ne (i64.reinterpret_f64 {value}) (i64.const 0x7ff8000000000000))");
    let lane32 = |value: &str| bits32(&format!("(f32x4.extract_lane 1 {value})"));
    let lane64 = |value: &str| bits64(&format!("(f64x2.extract_lane 0 {value})"));
    let (odd32, odd64) = ("(f32.const -nan:0x3abcde)", "(f64.const -nan:0xabcdef123456)");
    let mut checks = Vec::new();
    for op in ["add", "sub", "mul", "div", "min", "max"] {
        checks.push(bits32(&format!("(f32.{op} {odd32} (f32.const 1))")));
        checks.push(bits64(&format!("(f64.{op} (f64.const 1) {odd64})")));
        let (many32, many64) = (format!("(f32x4.splat {odd32})"), format!("(f64x2.splat {odd64})"));
        let (many32, many64) = (many32.as_str(), many64.as_str());
        let (two32, two64) = ("(f32x4.splat (f32.const 2))", "(f64x2.splat (f64.const 2))");
        for (left, right) in [(many32, two32), (two32, many32), (many32, many32)] {
            checks.push(lane32(&format!("(f32x4.{op} {left} {right})")));
        }
        for (left, right) in [(many64, two64), (two64, many64), (many64, many64)] {
            checks.push(lane64(&format!("(f64x2.{op} {left} {right})")));
        }
    }
    for op in ["sqrt", "ceil", "floor", "trunc", "nearest"] {
        checks.push(bits32(&format!("(f32.{op} {odd32})")));
        checks.push(bits64(&format!("(f64.{op} {odd64})")));
        checks.push(lane32(&format!("(f32x4.{op} (f32x4.splat {odd32}))")));
        checks.push(lane64(&format!("(f64x2.{op} (f64x2.splat {odd64}))")));
    }
    checks.push(lane32(&format!("(f32x4.demote_f64x2_zero (f64x2.splat {odd64}))")));
    checks.push(lane64(&format!("(f64x2.promote_low_f32x4 (f32x4.splat {odd32}))")));
    checks.push(bits32("(f32.div (f32.const 0) (f32.const 0))"));
    checks.push(bits64("(f64.sub (f64.const inf) (f64.const inf))"));
    checks.push(bits32(&format!("(f32.demote_f64 {odd64})")));
    checks.push(bits64(&format!("(f64.promote_f32 {odd32})")));
    checks.push(bits64("(f64.sqrt (f64.const -1))"));
    let sum = checks.iter().fold("(i32.const 0)".to_owned(), |sum, check| format!("(i32.add {sum} {check})"));
    let text = WatGuest::body(&format!("(if (i32.ne {sum} (i32.const 0)) (then unreachable)) (i32.const 0)")).text();
    let program = crate::support::sandbox().load(&wat(&text), &Limits::default()).expect("a program");
    let run = crate::support::run_parts(&program, parts(&[], Limits::default())).expect("an outcome");
    assert_eq!(run.outcome.ending, crate::support::case::exited(0), "of {} NaNs some are not canonical", checks.len());
}

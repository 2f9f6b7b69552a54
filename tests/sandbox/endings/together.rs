//! Several runs at once, on one sandbox: limits of one do not touch another.

use crate::support::case::{exited, limited, trapped};
use crate::support::wat_guest::WatGuest;
use crate::support::{KEY, again_until, limits, parts, probe, probe_bytes, run_over, run_parts, sandbox};
use hutch_model::digest::{Digest, Kind};
use hutch_model::limits::{Limit, Limits};
use hutch_model::outcome::Unreproducible;
use hutch_model::snapshot::{ObjectError, Objects};
use hutch_sandbox::{ArtifactCache, Compile, NOTICED_AFTER, Program, RunError, Sandbox, Stop, Work};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, mpsc};
use std::time::Duration;

/// Counts to 200 million: long enough for some deadlines to pass meanwhile.
fn long() -> WatGuest {
    WatGuest::body(
        "(local $i i32) (loop $again (br_if $again (i32.lt_u (local.tee $i (i32.add (local.get $i) (i32.const 1))) (i32.const 200000000)))) (i32.const 0)",
    )
}

#[test]
fn one_runs_deadline_is_not_anothers() {
    let bytes = long().bytes();
    let patient = limits(&[(Limit::WallTime, 600_000)]);
    let alone = run_parts(&sandbox().load(&bytes, &patient).expect("a program"), parts(&[], patient.clone()));
    let alone = alone.expect("an outcome").outcome;
    assert_eq!(alone.ending, exited(0));
    let hasty = [(Limit::WallTime, 5), (Limit::Fuel, u64::MAX)];
    let stopped = AtomicUsize::new(0);
    std::thread::scope(|scope| {
        // Run again until so many deadlines have passed during one run: how many do, is the machine's affair.
        let steady = scope.spawn(|| {
            let program = sandbox().load(&bytes, &patient).expect("a program");
            let beside = || {
                let before = stopped.load(Ordering::Relaxed);
                let run = run_parts(&program, parts(&[], patient.clone())).expect("an outcome");
                let meanwhile = stopped.load(Ordering::Relaxed) - before;
                assert_eq!(run.outcome, alone, "beside {meanwhile} deadlines of others");
                meanwhile
            };
            again_until(beside, |meanwhile| *meanwhile >= 5)
        });
        while !steady.is_finished() {
            let run = run_parts(probe(), parts(&["spin"], limits(&hasty))).expect("an outcome");
            assert_eq!(run.outcome.ending, limited(Limit::WallTime));
            stopped.fetch_add(1, Ordering::Relaxed);
        }
        let meanwhile = steady.join().expect("no panic");
        assert!(meanwhile >= 5, "only {meanwhile} deadlines passed while a long run went on");
    });
}

#[test]
fn a_run_that_is_stopped_comes_to_no_outcome_and_others_go_on() {
    let endless = [(Limit::WallTime, 600_000), (Limit::Fuel, u64::MAX)];
    let (stop, other) = (Stop::new(), Stop::new());
    let program = |stop: &Stop| probe().clone().stopped_by(stop.clone());
    std::thread::scope(|scope| {
        let stopped: Vec<_> = ["spin", "hostcall-spin", "write-then-spin state/f"]
            .map(|command| {
                let (program, words) = (program(&stop), command.split(' ').collect::<Vec<_>>());
                scope.spawn(move || run_parts(&program, parts(&words, limits(&endless))).err())
            })
            .into();
        // Meanwhile they begin.
        for _ in 0..20 {
            let beside = run_parts(&program(&other), parts(&["return-ok"], limits(&[]))).expect("an outcome");
            assert_eq!(beside.outcome.ending, exited(0));
        }
        assert!(stopped.iter().all(|one| !one.is_finished()));
        stop.stop();
        for one in stopped {
            assert_eq!(one.join().expect("no panic"), Some(RunError::Stopped));
        }
    });
    // None begins after it, and what was told something else goes on.
    assert_eq!(run_parts(&program(&stop), parts(&["return-ok"], limits(&[]))).err(), Some(RunError::Stopped));
    assert!(run_parts(&program(&other), parts(&["return-ok"], limits(&[]))).is_ok());
    assert!(run_parts(probe(), parts(&["return-ok"], limits(&[]))).is_ok());
}

#[test]
fn many_deadlines_at_once_are_all_kept() {
    let hasty = [(Limit::WallTime, 30), (Limit::Fuel, u64::MAX)];
    // None of them ends by itself: one that was not kept is waited for for ever.
    std::thread::scope(|scope| {
        for thread in 0..8 {
            scope.spawn(move || {
                for command in ["spin", "hostcall-spin", "write-then-spin state/f"] {
                    let words: Vec<&str> = command.split(' ').collect();
                    let run = run_parts(probe(), parts(&words, limits(&hasty))).expect("an outcome");
                    assert_eq!(run.outcome.ending, limited(Limit::WallTime), "{command} on thread {thread}");
                }
            });
        }
    });
}

#[test]
fn a_deadline_in_the_middle_of_naming_is_the_guests_end() {
    let mut ended = [0, 0];
    for wall_time_ms in (1..40).chain([600_000]) {
        for command in ["write-chunked state/f 30000000 65536", "write-files 4000"] {
            let words: Vec<&str> = command.split(' ').collect();
            let run = run_parts(probe(), parts(&words, limits(&[(Limit::WallTime, wall_time_ms)])));
            let run = run.expect("whatever takes the guest's time is no failure of the host");
            let late = run.outcome.ending == limited(Limit::WallTime);
            assert!(late || run.outcome.ending == exited(0), "{command}: {:?}", run.outcome.ending);
            assert_eq!(run.after.volumes.is_empty(), late);
            // How much is done after it, is counted in `tests/world/naming.rs`.
            ended[usize::from(late)] += 1;
        }
    }
    assert!(ended.iter().all(|times| *times > 0), "{ended:?}");
}

/// What is looked at again when the guest has ended, and does not come to an end, or is not what it was.
struct LookedAtAgain(Option<ObjectError>);

impl Objects for LookedAtAgain {
    fn get(&self, kind: Kind, digest: &Digest) -> Result<Arc<[u8]>, ObjectError> {
        Err(ObjectError::missing(kind, *digest))
    }

    fn check(&self, goes_on: &dyn Fn() -> bool) -> Result<(), ObjectError> {
        while self.0.is_none() && goes_on() {
            std::hint::spin_loop();
        }
        self.0.clone().map_or(Ok(()), Err)
    }
}

/// Whatever the guest came to: nothing of it is kept or believed.
#[test]
fn what_the_host_looks_at_after_the_guest_ends_at_the_guests_deadline() {
    let lack = ObjectError::damaged(Kind::Chunk, Digest::of(Kind::Chunk, b"1"), "is other");
    for command in ["write-chunked state/f 3000 1000", "exit 3", "trap"] {
        let words: Vec<&str> = command.split(' ').collect();
        let parts = |wall_time_ms| parts(&words, limits(&[(Limit::WallTime, wall_time_ms)]));
        let good = run_parts(probe(), parts(600_000)).expect("an outcome");
        let run = run_over(probe(), parts(100), Arc::new(LookedAtAgain(None))).expect("an outcome");
        assert_eq!(run.outcome.ending, limited(Limit::WallTime), "{command}");
        assert_eq!(run.outcome.unreproducible, [Unreproducible::WallTime], "{command}");
        assert_eq!((run.outcome.stdout, run.outcome.fuel_exact), (good.outcome.stdout, false), "{command}");
        assert!(run.after.volumes.is_empty() && run.after.objects.is_empty(), "{command}");
        let other = run_over(probe(), parts(600_000), Arc::new(LookedAtAgain(Some(lack.clone()))));
        assert_eq!(other.err(), Some(RunError::State(lack.clone())), "{command}");
    }
}

#[test]
fn threads_share_a_sandbox() {
    let shared = Sandbox::new(Compile::Here, None);
    let bytes = probe_bytes();
    let outcomes: Vec<_> = std::thread::scope(|scope| {
        let run = || {
            let program = shared.load(&bytes, &Limits::default()).expect("a program");
            (0..20)
                .map(|_| {
                    let parts = parts(&["write-files", "20"], Limits::default());
                    let run = run_parts(&program, parts).expect("an outcome");
                    (run.outcome, run.after.volumes)
                })
                .collect::<Vec<_>>()
        };
        let threads: Vec<_> = (0..4).map(|_| scope.spawn(run)).collect();
        threads.into_iter().flat_map(|thread| thread.join().expect("no panic")).collect()
    });
    assert_eq!(outcomes[0].0.ending, exited(0));
    assert!(outcomes.iter().all(|outcome| *outcome == outcomes[0]));
}

#[test]
fn work_is_told_of_for_as_long_as_it_goes_on() {
    struct Ends(Work, mpsc::Sender<(Work, bool)>);
    impl Drop for Ends {
        fn drop(&mut self) {
            let _ = self.1.send((self.0, false));
        }
    }
    let folder = tempfile::tempdir().expect("a temporary folder");
    let (sender, told) = mpsc::channel();
    let watched =
        Sandbox::new(Compile::Here, ArtifactCache::open(folder.path(), || Some(KEY))).watched(Arc::new(move |work| {
            let _ = sender.send((work, true));
            Box::new(Ends(work, sender.clone()))
        }));
    let load = || watched.load(&probe_bytes(), &Limits::default()).expect("a program");
    load();
    assert_eq!(told.try_iter().collect::<Vec<_>>(), [(Work::Compile, true), (Work::Compile, false)]);
    let program = load();
    let short = || {
        let run = run_parts(&program, parts(&["return-ok"], Limits::default())).expect("an outcome");
        (Duration::from_micros(run.measured.wall_time_us), told.try_iter().count())
    };
    // On a machine that is busy elsewhere a short run may take long, and is told of then.
    let (took, times) = again_until(short, |(took, _)| *took < NOTICED_AFTER);
    assert!(took < NOTICED_AFTER && times == 0, "told of {times} times within {took:?}");
    // Who tells of a long one is a thread, which such a machine may let wait until the run has ended: then a longer one is told of.
    let long = |wall_time_ms| {
        let long = [(Limit::WallTime, wall_time_ms), (Limit::Fuel, 1_000_000_000_000_000)];
        let run = run_parts(&program, parts(&["spin"], limits(&long)));
        assert_eq!(run.expect("an outcome").outcome.ending, limited(Limit::WallTime));
        told.try_iter().collect::<Vec<_>>()
    };
    let said = [1_050, 4_000, 16_000, 64_000].into_iter().map(long).find(|said| !said.is_empty());
    assert_eq!(said.expect("it is told of"), [(Work::Run, true), (Work::Run, false)]);
}

/// Ends well only if everything that it could have left behind is as new: memory that was there, memory that it grows, a global, a
/// table, and a local that is never written.
fn looks_for_residue() -> WatGuest {
    let dirty = "(block $dirty
        (local.set $bytes (i32.mul (memory.size) (i32.const 65536)))
        (loop $next
          (br_if $dirty (i32.load (local.get $at)))
          (br_if $next (i32.lt_u (local.tee $at (i32.add (local.get $at) (i32.const 4))) (local.get $bytes))))";
    let run = format!(
        "(func (export \"run\") (result i32) (local $at i32) (local $bytes i32) (local $unset i64)
           (local.set $at (i32.const 65536))
           {dirty}
             (br_if $dirty (i32.eq (memory.grow (i32.const 40)) (i32.const -1)))
             (br_if $dirty (i32.ne (local.get $bytes) (i32.const 131072)))
             {dirty}
               (br_if $dirty (i64.ne (local.get $unset) (i64.const 0)))
               (br_if $dirty (global.get $used))
               (br_if $dirty (i32.eqz (ref.is_null (table.get $functions (i32.const 3)))))
               (br_if $dirty (i32.ne (i32.load8_u (i32.const 16)) (i32.const 104)))
               (local.set $unset (i64.const -1))
               (global.set $used (i32.const 1))
               (table.set $functions (i32.const 3) (ref.func $other))
               (memory.fill (i32.const 0) (i32.const 170) (local.get $bytes))
               (return (i32.const 0))))
           (i32.const 1))"
    );
    WatGuest::core(&format!(
        "(global $used (mut i32) (i32.const 0)) (table $functions 10 funcref) (func $other) (elem declare func $other)
         (data (i32.const 16) \"hello\") {run}"
    ))
}

/// Writes over all the memory that it has and gets, and ends so.
fn leaves_dirt(end: &str) -> WatGuest {
    WatGuest::core(&format!(
        "(func (export \"run\") (result i32)
           (drop (memory.grow (i32.const 60)))
           (memory.fill (i32.const 65536) (i32.const 170) (i32.mul (i32.sub (memory.size) (i32.const 1)) (i32.const 65536)))
           {end})"
    ))
}

#[test]
fn nothing_of_a_call_is_there_for_the_next_one() {
    let program = sandbox().load(&looks_for_residue().bytes(), &Limits::default()).expect("a program");
    let first = run_parts(&program, parts(&[], Limits::default())).expect("an outcome").outcome;
    assert_eq!(first.ending, exited(0));
    for _ in 0..20 {
        let again = run_parts(&program, parts(&[], Limits::default())).expect("an outcome").outcome;
        assert_eq!(again, first);
    }
    // After others, which end in every way there is, and leave more than it had.
    let dirties: Vec<Program> = ["unreachable", "(return (i32.const 1))", "(loop $on (br $on)) unreachable"]
        .into_iter()
        .map(|end| sandbox().load(&leaves_dirt(end).bytes(), &Limits::default()).expect("a program"))
        .collect();
    let late = limits(&[(Limit::WallTime, 50), (Limit::Fuel, 1_000_000_000_000_000)]);
    let spent = limits(&[(Limit::Fuel, 1_000_000)]);
    for (dirty, limits, ending) in [
        (&dirties[0], Limits::default(), trapped("unreachable_code_reached")),
        (&dirties[1], Limits::default(), exited(1)),
        (&dirties[2], late, limited(Limit::WallTime)),
        (&dirties[2], spent, limited(Limit::Fuel)),
    ] {
        let left = run_parts(dirty, parts(&[], limits)).expect("an outcome").outcome;
        assert_eq!(left.ending, ending);
        let after = run_parts(&program, parts(&[], Limits::default())).expect("an outcome").outcome;
        assert_eq!(after, first, "after {ending:?}");
    }
    // From many threads at once, which take what others have left.
    std::thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| {
                for _ in 0..20 {
                    let beside = run_parts(&program, parts(&[], Limits::default())).expect("an outcome").outcome;
                    assert_eq!(beside, first);
                }
            });
        }
    });
}

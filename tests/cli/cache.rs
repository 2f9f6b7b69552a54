//! Compiled artifacts: made once, never trusted when broken, and never a reason to fail.

use crate::support::{Fault, Machine, Ran, package, probe, todo};
use std::path::{Path, PathBuf};

/// The probe's package with little in it.
fn small(machine: &Machine) -> String {
    let package = machine.path("small");
    if !package.exists() {
        package::with_payload(machine, "small", &wat::parse_str(package::SMALL).unwrap());
    }
    package.display().to_string()
}

/// The to-do application's package with as little in it: another name and another component.
fn other(machine: &Machine) -> String {
    let package = machine.path("other-name");
    if !package.exists() {
        package::copy_todo(machine, "other-name");
        let component = wat::parse_str(package::SMALL.replace("an answer", "my answer")).unwrap();
        std::fs::write(package.join("app/app.wasm"), component).unwrap();
    }
    package.display().to_string()
}

/// Runs it with the cache below this folder; whether it was compiled. The answer is always the same.
fn compiled(machine: &Machine, cache: impl AsRef<Path>) -> bool {
    is_compiled(machine, cache, &small(machine))
}

/// The same of the probe itself.
fn is_compiled(machine: &Machine, cache: impl AsRef<Path>, package: &str) -> bool {
    let mut command = machine.hutch(["run", "--envelope", package, "args", "an answer"]);
    let ran = Ran::of(command.env("XDG_CACHE_HOME", cache.as_ref()));
    assert_eq!(ran.status, 0, "{ran:?}");
    let envelope = ran.envelope();
    assert_eq!(envelope.output["args"], serde_json::json!(["an answer"]));
    envelope.compiled
}

/// The verdicts in a cache; notes about them and about packages lie beside them.
fn entries(cache: &Path) -> Vec<PathBuf> {
    let mut entries: Vec<_> =
        std::fs::read_dir(cache.join("hutch")).unwrap().map(|entry| entry.unwrap().path()).collect();
    entries.retain(|path| path.extension().is_none_or(|extension| extension != "note"));
    entries.sort();
    entries
}

#[test]
fn the_first_run_compiles_and_later_ones_do_not() {
    let machine = Machine::new();
    let cache = machine.path("cache");
    assert!(compiled(&machine, &cache));
    assert!(!compiled(&machine, &cache));
    let [entry] = entries(&cache).try_into().expect("one entry");
    // Another home and another current folder change nothing; another place for the cache does.
    assert!(!compiled(&Machine::new(), &cache));
    assert!(compiled(&machine, machine.path("other")));
    assert!(compiled(&machine, machine.path("other")) != compiled(&Machine::new(), machine.path("third")));
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        let mode = |path: &Path| std::fs::metadata(path).unwrap().permissions().mode() & 0o777;
        assert_eq!((mode(&entry), mode(&cache.join("hutch"))), (0o600, 0o700));
    }
}

/// What one home compiled is another's if both have its key, wherever they are: the code is for a baseline, and in no way this machine's.
#[test]
fn homes_with_one_key_share_what_was_compiled_and_others_do_not() {
    let [one, same, other] = [(); 3].map(|()| Machine::new());
    let cache = one.path("cache");
    assert!(compiled(&one, &cache));
    // Whoever brings the folder elsewhere brings the key with it.
    let brought = same.path("brought");
    std::fs::create_dir_all(&brought).unwrap();
    std::fs::rename(cache.join("hutch"), brought.join("hutch")).unwrap();
    assert!(!compiled(&same, &brought));
    other.run(["catalog"]);
    std::fs::write(other.home().join("artifacts.key"), [8; 32]).unwrap();
    assert!(compiled(&other, &brought), "another key's seal was taken");
    assert!(!compiled(&other, &brought) && !compiled(&same, &brought), "one took the other's place");
    assert_eq!(entries(&brought).len(), 2);
}

/// Where no program can start itself, it compiles where it is, on its word: without the bounds that only a process can have.
#[test]
fn compiling_happens_where_the_operator_says() {
    let machine = Machine::new();
    let run = |place: &str| {
        let mut command = machine.hutch(["run", "--limit", "compile_time_ms=1", &probe(), "return-ok"]);
        command.env("HUTCH_COMPILE", place).env("XDG_CACHE_HOME", machine.path(&format!("cache-{place}")));
        Ran::of(&mut command)
    };
    run("child").fault("COMPILE_TIME_LIMIT", 40);
    run("here").answer();
    assert!(run("there").fault("USAGE", 2).message.contains("HUTCH_COMPILE"));
}

/// `hutch compile` with the cache below this folder.
fn compile(machine: &Machine, cache: &Path, arguments: &[&str]) -> Ran {
    let mut command = machine.hutch([&["compile"], arguments].concat());
    Ran::of(command.env("XDG_CACHE_HOME", cache))
}

#[test]
fn what_was_compiled_ahead_is_found_by_the_first_run() {
    let machine = Machine::new();
    let cache = machine.path("cache");
    let done = compile(&machine, &cache, &[&other(&machine), &small(&machine)]).result("compile");
    let of = |done: &serde_json::Value| {
        let packages = done["packages"].as_array().unwrap().clone();
        packages.iter().map(|package| (package["compiled"] == true, package["kept"] == true)).collect::<Vec<_>>()
    };
    assert_eq!(of(&done), [(true, true), (true, true)], "{done}");
    assert_eq!(entries(&cache).len(), 2);
    assert!(!compiled(&machine, &cache));
    let again = compile(&machine, &cache, &[&other(&machine), &small(&machine)]).result("compile");
    assert_eq!(of(&again), [(false, true), (false, true)], "{again}");
    // What nobody will find was not compiled ahead.
    let file = machine.write("no-folder", "");
    assert!(compile(&machine, &file, &[&other(&machine)]).fault("HOST_FAULT", 50).message.contains("cache"));
}

/// The codes of those packages that failed, by their place, and nothing of the others.
fn failures(fault: &Fault) -> Vec<(usize, String)> {
    let packages = fault.details["packages"].as_array().unwrap();
    assert_eq!(fault.details["total"], packages.len());
    let codes = packages.iter().map(|package| package["error"]["code"].as_str().map(str::to_owned));
    let failures: Vec<_> = codes.enumerate().filter_map(|(at, code)| Some((at, code?))).collect();
    assert_eq!(fault.details["failed"], failures.len());
    failures
}

#[test]
fn one_package_that_fails_keeps_no_other_from_being_compiled() {
    let machine = Machine::new();
    let cache = machine.path("cache");
    let broken = package::with_payload(&machine, "broken", b"(component)").display().to_string();
    let failed = compile(&machine, &cache, &["missing", &other(&machine), &broken, &small(&machine)]);
    let fault = failed.fault("PACKAGE_NOT_FOUND", 20);
    assert_eq!(failures(&fault), [(0, "PACKAGE_NOT_FOUND".to_owned()), (2, "COMPONENT_INVALID".to_owned())]);
    assert!(fault.message.contains("missing") && fault.details["kept"] == true, "{fault:?}");
    let packages = &fault.details["packages"];
    for at in [1, 3] {
        assert_eq!((&packages[at]["compiled"], &packages[at]["kept"]), (&true.into(), &true.into()), "{fault:?}");
    }
    assert_eq!((&packages[2]["package"], &packages[3]["package"]), (&broken.into(), &small(&machine).into()));
    assert!(!compiled(&machine, &cache), "what stood behind a failure was not compiled");
    // One package's failure is its own, and of many that fail nothing is kept.
    assert!(compile(&machine, &cache, &["missing"]).fault("PACKAGE_NOT_FOUND", 20).details.get("packages").is_none());
    let fault = compile(&machine, &cache, &["missing", "gone"]).fault("PACKAGE_NOT_FOUND", 20);
    assert_eq!((failures(&fault).len(), &fault.details["kept"]), (2, &false.into()));
    let shown = compile(&machine, &cache, &["--human", "missing", &other(&machine)]);
    assert_eq!(shown.status, 20, "{shown:?}");
    assert!(shown.stderr.contains("PACKAGE_NOT_FOUND") && shown.stderr.contains(&other(&machine)), "{shown:?}");
}

#[test]
fn code_of_many_packages_for_elsewhere_is_in_a_file_each() {
    let machine = Machine::new();
    let cache = machine.path("cache");
    let folder = machine.path("code");
    std::fs::create_dir(&folder).unwrap();
    let probe = small(&machine);
    let word = folder.display().to_string();
    let into = |more: &[&str]| {
        compile(&machine, &cache, &[&["--target", "pulley32", "--output-dir", &word][..], more].concat())
    };
    let files = || {
        let mut names: Vec<_> =
            std::fs::read_dir(&folder).unwrap().map(|file| file.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    };
    into(&["--dry-run", &other(&machine), &probe]).answer();
    assert_eq!(files(), [String::new(); 0], "a preview wrote");
    let names = ["probe-0.1.0.pulley32.artifact", "todo-0.2.0.pulley32.artifact"];
    let fault = into(&[&other(&machine), "missing", &probe]).fault("PACKAGE_NOT_FOUND", 20);
    assert_eq!(
        (failures(&fault), files()),
        (vec![(1, "PACKAGE_NOT_FOUND".to_owned())], names.map(str::to_owned).into())
    );
    let done = into(&[&other(&machine), &probe]).result("compile");
    let paths: Vec<_> = done["packages"].as_array().unwrap().iter().map(|package| package["path"].clone()).collect();
    assert_eq!(paths, [names[1], names[0]].map(|name| folder.join(name).display().to_string()));
    for package in done["packages"].as_array().unwrap() {
        let code = std::fs::read(package["path"].as_str().unwrap()).unwrap();
        assert!(code.starts_with(b"hutch-artifact-1\n") && package["bytes"] == code.len(), "{package}");
    }
    // Two components of one name: the second one's file is the first one's, in a preview too.
    let other = wat::parse_str(package::SMALL.replace("an answer", "no answer")).unwrap();
    let other = package::with_payload(&machine, "other", &other);
    let other = other.display().to_string();
    for preview in [&["--dry-run"][..], &[]] {
        let both = [preview, &["--target", "pulley64", &probe, &other]].concat();
        assert_eq!(failures(&compile(&machine, &cache, &both).fault("ALREADY_EXISTS", 30)).len(), 1);
    }
    assert!(machine.path("probe-0.1.0.pulley64.artifact").exists(), "without a folder it is here");
    // What is wrong with the call is said before anything is opened.
    compile(&machine, &cache, &["missing", "--target", "mips"]).fault("TARGET_UNSUPPORTED", 2);
    compile(&machine, &cache, &["missing", "--target", "pulley32", "--output-dir", "nowhere"]).fault("NOT_FOUND", 20);
    compile(&machine, &cache, &["missing", "--output-dir", &word]).fault("USAGE", 2);
}

#[test]
fn code_for_elsewhere_is_written_to_a_file_and_nowhere_else() {
    let machine = Machine::new();
    let cache = machine.path("cache");
    let file = machine.path("small.cwasm");
    let (small, word) = (small(&machine), file.display().to_string());
    let into = |target: &str, more: &[&str]| {
        compile(&machine, &cache, &[&[small.as_str(), "--target", target, "--output", &word][..], more].concat())
    };
    let preview = into("pulley32", &["--dry-run"]).answer();
    assert!(!file.exists() && preview["result"]["packages"][0]["kept"] == false, "{preview}");
    let done = into("pulley32", &[]).result("compile");
    let code = std::fs::read(&file).unwrap();
    assert_eq!(done["packages"][0]["bytes"], code.len());
    assert!(code.starts_with(b"hutch-artifact-1\n"), "no artifact");
    assert_eq!(into("pulley32", &[]).result("compile"), done, "the same again is done");
    into("pulley64", &[]).fault("ALREADY_EXISTS", 30);
    assert_eq!(std::fs::read(&file).unwrap(), code);
    let refused = into("mips-unknown-linux-gnu", &[]).fault("TARGET_UNSUPPORTED", 2);
    let has = refused.details["targets"].as_array().unwrap().clone();
    assert!(has.contains(&"pulley64".into()) && has.contains(&"pulley32".into()), "{refused:?}");
    for wrong in [&[&todo(), "--output", "x"][..], &[&todo(), &probe(), "--target", "pulley32", "--output", "x"]] {
        compile(&machine, &cache, wrong).fault("USAGE", 2);
    }
    compile(&machine, &cache, &[&todo(), "--limit", "compile_time_ms=1"]).fault("COMPILE_TIME_LIMIT", 40);
    let code: Vec<PathBuf> =
        entries(&cache).into_iter().filter(|entry| entry.metadata().unwrap().len() > 1000).collect();
    assert_eq!(code, [PathBuf::new(); 0], "code for elsewhere, or of a preview, is in the cache");
}

/// Not the folder either, and not when something was used.
#[test]
fn a_preview_leaves_the_cache_as_it_is() {
    let machine = Machine::new();
    let cache = machine.path("cache");
    let (small, other, todo) = (small(&machine), other(&machine), todo());
    let preview = |words: &[&str]| {
        let mut command = machine.hutch([words, &["--dry-run"]].concat());
        let ran = Ran::of(command.env("XDG_CACHE_HOME", &cache));
        assert_eq!(ran.status, 0, "{words:?}: {ran:?}");
    };
    preview(&["compile", &small]);
    preview(&["check", &todo]);
    assert!(!cache.exists());
    assert!(compiled(&machine, &cache));
    let files = || {
        let files = std::fs::read_dir(cache.join("hutch")).unwrap();
        files.map(|file| file.unwrap().path()).collect::<std::collections::BTreeSet<_>>()
    };
    let before = files();
    preview(&["compile", &small, &other]);
    assert_eq!(files(), before);
}

/// No compiler is done within a millisecond, so what is written after it was not compiled for that.
#[test]
fn what_is_exported_is_found_in_the_cache_where_it_is_whole_and_nothing_of_it_is_kept_there() {
    let machine = Machine::new();
    let cache = machine.path("cache");
    let export = |name: &str, more: &[&str]| {
        let mut command = machine.hutch([&["pack", "--compiled", &todo(), "--output", name], more].concat());
        Ran::of(command.env("XDG_CACHE_HOME", &cache))
    };
    let at_once = ["--limit", "compile_time_ms=1"];
    export("none", &at_once).fault("COMPILE_TIME_LIMIT", 40);
    export("compiled", &[]).result("pack");
    export("none", &at_once).fault("COMPILE_TIME_LIMIT", 40);
    compile(&machine, &cache, &[&todo()]).result("compile");
    export("found", &at_once).result("pack");
    assert_eq!(std::fs::read(machine.path("found")).unwrap(), std::fs::read(machine.path("compiled")).unwrap());
    export("none", &[&at_once[..], &["--target", "pulley64"]].concat()).fault("COMPILE_TIME_LIMIT", 40);
    let [entry] = entries(&cache).try_into().expect("one entry");
    let mut broken = std::fs::read(&entry).unwrap();
    let middle = broken.len() / 2;
    broken[middle] ^= 1;
    std::fs::write(&entry, broken).unwrap();
    export("none", &at_once).fault("COMPILE_TIME_LIMIT", 40);
    assert!(!machine.path("none").exists());
}

#[test]
fn the_cache_is_below_the_home_unless_it_is_named() {
    let machine = Machine::new();
    let mut command = machine.hutch(["run", &small(&machine), "args", "an answer"]);
    Ran::of(command.env_remove("XDG_CACHE_HOME")).answer();
    assert_eq!(entries(&machine.path("person/.cache")).len(), 1);
}

#[test]
fn a_broken_entry_is_compiled_anew_and_replaced() {
    let machine = Machine::new();
    let cache = machine.path("cache");
    assert!(compiled(&machine, &cache));
    let [entry] = entries(&cache).try_into().expect("one entry");
    let whole = std::fs::read(&entry).unwrap();
    let flipped = |at: usize| {
        let mut bytes = whole.clone();
        bytes[at] ^= 1;
        bytes
    };
    let last = whole.len() - 1;
    for (what, broken) in [
        ("empty", Vec::new()),
        ("a byte", vec![0]),
        ("cut in half", whole[..whole.len() / 2].to_vec()),
        ("cut by one byte", whole[..last].to_vec()),
        ("one byte longer", [&whole[..], &[0]].concat()),
        ("flipped at the start", flipped(0)),
        ("flipped in the middle", flipped(whole.len() / 2)),
        ("flipped at the end", flipped(last)),
        ("text", b"not an artifact".repeat(10)),
    ] {
        std::fs::write(&entry, broken).unwrap();
        assert!(compiled(&machine, &cache), "{what}");
        assert_eq!(entries(&cache), [entry.clone()], "{what}");
        assert!(!compiled(&machine, &cache), "{what} was replaced");
    }
}

#[test]
fn the_artifact_of_another_component_is_never_run() {
    let machine = Machine::new();
    let cache = machine.path("cache");
    assert!(compiled(&machine, &cache));
    let [entry] = entries(&cache).try_into().expect("one entry");
    compile(&machine, &cache, &[&other(&machine)]).result("compile");
    let foreign = entries(&cache).into_iter().find(|path| *path != entry).expect("the other's entry");
    std::fs::copy(&foreign, &entry).unwrap();
    assert!(compiled(&machine, &cache));
}

#[cfg(unix)]
#[test]
fn what_is_no_file_is_no_entry() {
    let machine = Machine::new();
    let cache = machine.path("cache");
    assert!(compiled(&machine, &cache));
    let [entry] = entries(&cache).try_into().expect("one entry");
    let elsewhere = machine.path("elsewhere");
    std::fs::rename(&entry, &elsewhere).unwrap();
    std::os::unix::fs::symlink(&elsewhere, &entry).unwrap();
    assert!(compiled(&machine, &cache), "a link");
    assert!(!compiled(&machine, &cache), "the link was replaced by a file");
    std::fs::remove_file(&entry).unwrap();
    std::fs::create_dir(&entry).unwrap();
    assert!(compiled(&machine, &cache), "a folder");
    assert!(compiled(&machine, &cache), "a folder is not removed");
    std::fs::remove_dir(&entry).unwrap();
    assert!(compiled(&machine, &cache), "nothing");
    assert!(!compiled(&machine, &cache));
}

#[cfg(unix)]
#[test]
fn a_cache_that_cannot_be_used_costs_time_and_nothing_else() {
    use std::os::unix::fs::PermissionsExt;
    let machine = Machine::new();
    let file = machine.write("file", "x");
    let others = machine.path("others");
    std::fs::create_dir_all(others.join("hutch")).unwrap();
    std::fs::set_permissions(others.join("hutch"), std::fs::Permissions::from_mode(0o777)).unwrap();
    let read_only = machine.path("read-only");
    assert!(compiled(&machine, &read_only));
    let [entry] = entries(&read_only).try_into().expect("one entry");
    std::fs::remove_file(&entry).unwrap();
    std::fs::set_permissions(read_only.join("hutch"), std::fs::Permissions::from_mode(0o500)).unwrap();
    for unusable in [file.as_path(), &others, Path::new("/dev/null"), Path::new("/proc/nowhere")] {
        assert!(compiled(&machine, unusable), "{}", unusable.display());
        assert!(compiled(&machine, unusable), "{}", unusable.display());
    }
    assert_eq!(entries(&others), [PathBuf::new(); 0], "a folder that others may write to is left alone");
    // Whether this one can be written to depends on who runs the tests.
    compiled(&machine, &read_only);
    std::fs::set_permissions(read_only.join("hutch"), std::fs::Permissions::from_mode(0o700)).unwrap();
}

/// Whoever comes first: all get the same answer, one entry is left, and nothing that is half written.
#[test]
fn many_processes_that_compile_one_component_leave_one_entry() {
    let machine = Machine::new();
    let cache = machine.path("cache");
    std::thread::scope(|scope| {
        let threads: Vec<_> = (0..6).map(|_| scope.spawn(|| is_compiled(&Machine::new(), &cache, &probe()))).collect();
        let compiled = threads.into_iter().map(|thread| thread.join().expect("an answer"));
        assert!(compiled.filter(|compiled| *compiled).count() >= 1);
    });
    assert_eq!(entries(&cache).len(), 1);
    assert!(!is_compiled(&machine, &cache, &probe()));
}

/// Files that may not grow stand for a full disk: what does not fit is not there, and the answer is.
#[cfg(unix)]
#[test]
fn a_full_disk_costs_the_compilation_and_nothing_else() {
    let machine = Machine::new();
    let cache = machine.path("cache");
    machine.probe(&[], &["return-ok"]).answer();
    let limited = |blocks: u64| {
        let call = machine.hutch(["run", "--envelope", &probe(), "args", "an answer"]);
        let mut command = std::process::Command::new("sh");
        command.args(["-c", &format!("trap '' XFSZ; ulimit -f {blocks}; exec \"$@\""), "sh"]);
        command.arg(call.get_program()).args(call.get_args()).env_clear();
        command.envs(call.get_envs().filter_map(|(name, value)| Some((name, value?)))).current_dir(machine.path(""));
        Ran::of(command.env("XDG_CACHE_HOME", &cache).stdin(std::process::Stdio::null())).envelope()
    };
    assert!(is_compiled(&machine, machine.path("whole"), &probe()));
    let [whole] = entries(&machine.path("whole")).try_into().expect("one entry");
    let whole = std::fs::metadata(whole).unwrap().len();
    // More than the store needs, and less than the code has.
    let blocks = whole / 512 / 2;
    for _ in 0..2 {
        let envelope = limited(blocks);
        assert!(envelope.compiled && envelope.output["args"] == serde_json::json!(["an answer"]), "{envelope:?}");
        assert_eq!(entries(&cache), [PathBuf::new(); 0], "half an entry");
    }
    assert!(limited(whole / 512 + 100).compiled && !limited(blocks).compiled);
}

//! What is installed is what was looked at, and durable before a pin names it.

use super::*;
use hutch_folder::Step;
use hutch_model::names::PackagePath;
use std::sync::{Arc, Mutex};

const FRONT: &str = "---\nschema: agentapplications/v1\nkind: app\nslug: a\nname: A\ndescription: d\nversion: 0.1.0\nlicense: MIT\n\
                     authors: [a]\ntags: [t]\nentry:\n  command: wasm:app.wasm\ncommands: [add]\nskills: []\n---\nbody\n";

/// A folder with a package, and a home.
fn setting() -> (tempfile::TempDir, PathBuf, PathBuf) {
    let top = tempfile::tempdir().unwrap();
    let (folder, home) = (top.path().join("package"), top.path().join("home"));
    std::fs::create_dir_all(folder.join("app")).unwrap();
    std::fs::write(folder.join("APP.md"), FRONT).unwrap();
    std::fs::write(folder.join("app/app.wasm"), b"\0asm\r\0\x01\0").unwrap();
    (top, folder, home)
}

/// A package of this version, and where it is.
fn made(version: &str) -> (Package, tempfile::TempDir) {
    let (top, folder, _) = setting();
    std::fs::write(folder.join("APP.md"), FRONT.replace("0.1.0", version)).unwrap();
    (opened(&folder), top)
}

fn opened(folder: &Path) -> Package {
    let bounds = PackageBounds::default();
    let source = Source::open(folder, &bounds).unwrap().held(&bounds).unwrap();
    Package::open(&source, bounds).unwrap()
}

fn install(installed: &Installed, package: &Package) -> Result<Pin, InstalledError> {
    let before = installed.pin(package.manifest().slug()).ok();
    installed.install(package, "source", Instant::from_unix_ns(0), Remembered::default(), before.as_ref())
}

#[test]
fn a_pin_names_nothing_that_a_loss_of_power_could_take() {
    let (_top, folder, home) = setting();
    let package = opened(&folder);
    let below = home.join("packages/a");
    let (version, pin) = (below.join(package.digest().unwrap().to_string()), below.join(PIN_FILE));
    let synced = Arc::new(Mutex::new(Vec::new()));
    let seen = synced.clone();
    let hands = Hands::checked(move |step| {
        if step == Step::Sync {
            seen.lock().unwrap().push((version.exists(), pin.exists()));
        }
        Ok(())
    });
    install(&Installed { hands, ..Installed::of(&home) }, &package).unwrap();
    let synced = synced.lock().unwrap();
    let count = |wanted| synced.iter().filter(|state| **state == wanted).count();
    // Two files and the two folders that hold them, and the way to them, before the version has its name; then that name, and the pin; then the
    // pin's name.
    assert_eq!((count((false, false)), count((true, false)), count((true, true))), (6, 2, 1), "{synced:?}");
    assert!(synced.is_sorted(), "{synced:?}");
}

/// Two that were judged beside the same version: the second has not seen what the first made of it.
#[test]
fn no_pin_is_written_over_but_the_one_that_was_compared() {
    let (_top, _, home) = setting();
    let installed = Installed::of(&home);
    let [(one, _at_one), (two, _at_two), (three, _at_three)] = ["0.1.0", "0.2.0", "0.3.0"].map(made);
    let slug = one.manifest().slug().clone();
    let over = |package: &Package, before: Option<&Pin>| {
        installed.install(package, "source", Instant::from_unix_ns(0), Remembered::default(), before)
    };
    let refused = |package: &Package, before: Option<&Pin>| {
        let now = installed.pin(&slug).ok();
        let code = over(package, before).unwrap_err().code();
        assert_eq!(installed.pin(&slug).ok(), now);
        code
    };
    let first = over(&one, None).unwrap();
    assert_eq!(refused(&two, None), ErrorCode::AlreadyExists);
    let second = over(&two, Some(&first)).unwrap();
    assert_eq!(refused(&three, Some(&first)), ErrorCode::Conflict);
    assert!(installed.open(&second, PackageBounds::default(), None).is_ok());
    over(&three, Some(&second)).unwrap();
    installed.remove(&slug).unwrap();
    assert_eq!(refused(&two, Some(&second)), ErrorCode::Conflict);
    assert_eq!(over(&two, None).unwrap(), Pin { ..second });
    // At once: one of them is it.
    let before = installed.pin(&slug).unwrap();
    let done: Vec<_> = std::thread::scope(|scope| {
        let updates = [&one, &three].map(|package| scope.spawn(|| over(package, Some(&before))));
        updates.into_iter().map(|update| update.join().unwrap()).collect()
    });
    let [first, second] = &done[..] else { panic!("{done:?}") };
    let (good, bad) = if first.is_ok() { (first, second) } else { (second, first) };
    assert_eq!(*good.as_ref().unwrap(), installed.pin(&slug).unwrap());
    let bad = bad.as_ref().unwrap_err();
    assert_eq!(bad.code(), ErrorCode::Conflict, "{bad}");
}

/// Of one process too: none takes what another is making for its own.
#[test]
fn what_is_copied_at_once_is_not_in_each_others_way() {
    let versions: Vec<_> = (0..4).map(|number| made(&format!("0.{number}.0"))).collect();
    let slug = versions[0].0.manifest().slug();
    for round in 0..25 {
        let home = tempfile::tempdir().unwrap();
        let installed = Installed::of(home.path());
        let begin = std::sync::Barrier::new(versions.len());
        std::thread::scope(|scope| {
            for (package, _) in &versions {
                let (installed, begin) = (&installed, &begin);
                scope.spawn(move || {
                    begin.wait();
                    let digest = package.digest().unwrap();
                    installed.put_version(slug, digest, package.source(), package.bounds()).unwrap();
                    let found = installed.files(slug, digest).unwrap().digest(package.bounds()).unwrap();
                    assert_eq!(found, digest, "round {round}");
                });
            }
        });
    }
}

#[test]
fn whatever_can_not_be_made_durable_is_not_pinned() {
    for before in 0..9 {
        let (_top, folder, home) = setting();
        let left = Mutex::new(before);
        let hands = Hands::checked(move |step| match (step, &mut *left.lock().unwrap()) {
            (Step::Sync, 0) => Err(io::ErrorKind::StorageFull.into()),
            (Step::Sync, left) => {
                *left -= 1;
                Ok(())
            }
            _ => Ok(()),
        });
        let (failing, installed) = (Installed { hands, ..Installed::of(&home) }, Installed::of(&home));
        let package = opened(&folder);
        assert!(install(&failing, &package).is_err(), "{before}");
        // The pin has its name before that is durable; what it names was before.
        match installed.pin(package.manifest().slug()) {
            Ok(pin) => drop(installed.open(&pin, PackageBounds::default(), None).unwrap()),
            Err(error) => assert!(before < 8 && matches!(error, InstalledError::Missing(_)), "{before}: {error}"),
        }
        install(&installed, &package).unwrap();
    }
}

#[test]
fn what_was_held_is_what_is_opened_copied_and_read() {
    let (_top, folder, home) = setting();
    std::fs::create_dir(folder.join("data")).unwrap();
    std::fs::write(folder.join("data/one"), "one").unwrap();
    let (package, bounds) = (opened(&folder), PackageBounds::default());
    let digest = package.digest().unwrap();
    std::fs::write(folder.join("data/two"), "of another").unwrap();
    std::fs::write(folder.join("APP.md"), FRONT.replace("0.1.0", "9.9.9")).unwrap();
    // Nothing that came later is copied, and nothing that was changed is taken for what was there.
    let installed = Installed::of(&home);
    let error = install(&installed, &package).unwrap_err();
    assert!(error.to_string().contains("changed after it was looked at"), "{error}");
    assert!(installed.pins().unwrap().is_empty());
    std::fs::write(folder.join("APP.md"), FRONT).unwrap();
    let pin = install(&installed, &package).unwrap();
    assert_eq!((pin.digest, pin.version.as_str()), (digest, "0.1.0"));
    assert!(!installed.folder_of(&pin).join("data/two").exists());
    // The same once it is installed.
    let open = installed.open(&pin, bounds, None).unwrap();
    std::fs::write(installed.folder_of(&pin).join("app/app.wasm"), b"\0asm\r\0\x01\0\0\x01\0").unwrap();
    assert_eq!(open.component().unwrap(), b"\0asm\r\0\x01\0");
    std::fs::write(installed.folder_of(&pin).join("data/one"), "another").unwrap();
    let path = PackagePath::parse("data/one").unwrap();
    assert!(open.read(&path).unwrap_err().message.contains("changed"));
}

#[test]
fn a_pin_that_is_longer_than_any_is_damage() {
    let (_top, folder, home) = setting();
    let package = opened(&folder);
    let installed = Installed::of(&home);
    install(&installed, &package).unwrap();
    let (slug, path) = (package.manifest().slug(), home.join("packages/a").join(PIN_FILE));
    let mut pin: serde_json::Value = serde_json::from_slice(&std::fs::read(&path).unwrap()).unwrap();
    let mut from = |bytes: u64| {
        pin["source"] = "s".repeat(usize::try_from(bytes).unwrap()).into();
        std::fs::write(&path, serde_json::to_vec(&pin).unwrap()).unwrap();
        installed.pin(slug)
    };
    assert_eq!(from(PIN_BYTES_MAX / 2).unwrap().source.len() as u64, PIN_BYTES_MAX / 2);
    assert!(matches!(from(PIN_BYTES_MAX), Err(InstalledError::Damaged { .. })));
}

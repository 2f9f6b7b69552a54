//! Whose runs are taken back: those of this instance, wherever its folders are by now, and nobody else's, whatever the ledger says.

use super::tests::{Files, Granted, Ran, leave, ran};
use super::*;
use crate::call::Call;
use crate::failure::Failure;
use crate::host::Host;
use crate::package::{Package, PackageBounds, Source};
use crate::session::Session;
use hutch_folder::Hands;
use hutch_model::digest::Digest;
use hutch_model::error_code::ErrorCode;
use hutch_model::instant::Instant;
use hutch_model::invocation::Seed;
use hutch_model::ledger::{EntryKind, FolderRecord, Record, SecretKey, VolumeRecord};
use hutch_model::snapshot::{Changes, Entry, Lack, MemoryObjects, Name, Node, Tree, read_tree};
use hutch_sandbox::{Compile, Sandbox};

const AT: Instant = Instant::from_unix_ns(1_775_000_000_000_000_000);

const BEFORE: Files<'_> = &[("a", "precious"), ("b", "1")];

const AFTER: Files<'_> = &[("a", "evil"), ("c", "2")];

struct Setting {
    host: Host,
    package: Package,
    session: Session,
    _home: tempfile::TempDir,
}

impl Setting {
    fn new() -> Setting {
        let home = tempfile::tempdir().unwrap();
        let wait = std::time::Duration::from_millis(100);
        let host = Host::new(home.path().to_owned(), Sandbox::new(Compile::Here, None)).waiting(wait);
        let repository = Path::new(&std::env::var_os("CARGO_MANIFEST_DIR").unwrap()).join("../..");
        let bounds = PackageBounds::with_component(64 << 20);
        let source = Source::open(&repository.join("tests/packages/probe"), &bounds).unwrap();
        let package = Package::open(&source, bounds).unwrap();
        let session = host.open(&package, &"default".parse().unwrap(), AT).unwrap();
        Setting { host, package, session, _home: home }
    }

    /// An entry that says that a run is about to change the folder, with these numbers; its hash.
    fn intent(&self, mount: &Mount, staging: &str, identity: (u64, u64)) -> Digest {
        let folder =
            FolderRecord { path: mount.real_path(), identity, staging: staging.to_owned(), ..Default::default() };
        let record = self.session.record(EntryKind::Intent);
        let record = Record { folders: [("mnt".to_owned(), folder)].into(), ..record };
        self.session.store().commit(&record, &MemoryObjects::default(), &[]).unwrap().hash
    }

    /// A run of this instance that ends in the middle of its change of `mount`, which had these numbers then.
    fn end_in_the_middle(&self, mount: &Mount, identity: (u64, u64)) -> String {
        let key = self.session.store().secret_key().unwrap();
        let staging = staging_name(&key, &mount.real_path(), &Digest::from_bytes([9; 32]));
        let intent = self.intent(mount, &staging, identity);
        let seal = Seal::of(&key, intent, &mount.real_path(), &staging).unwrap();
        assert!(leave(mount, &ran(mount, AFTER), seal, Hands::default()));
        staging
    }

    fn last(&self) -> Record {
        let last = self.session.head().unwrap().last.sequence;
        self.session.store().entry(last).unwrap().unwrap().open().unwrap().record
    }

    fn run(&self, mount: &Mount) -> Result<(), Failure> {
        let mut call = Call::new(["return-ok"], AT, Seed([7; 32]));
        call.mounts.insert("mnt".to_owned(), mount.clone());
        self.host.run(&self.package, &call).map(drop)
    }
}

/// A restart gives a file system another number, and what was begun before it is taken back all the same.
#[test]
fn what_was_begun_is_taken_back_whatever_numbers_the_folder_has_by_now() {
    for (inode, device) in [(0, 0), (0, 1), (1, 0), (1, 1)] {
        let (setting, granted) = (Setting::new(), Granted::new(BEFORE));
        let (mount, was) = (granted.mount(), granted.all());
        let identity = mount.identity();
        setting.end_in_the_middle(&mount, (identity.0 + inode, identity.1 + device));
        assert_ne!(granted.all(), was);
        setting.session.recover().unwrap();
        assert_eq!(granted.all(), was, "{inode} {device}");
        assert_eq!(setting.session.unsettled().unwrap(), Vec::<String>::new());
        assert_eq!(setting.last().kind, EntryKind::Recover);
    }
}

/// An entry that came from elsewhere, and a folder that somebody prepared for it: nothing is moved, whatever numbers and names they guessed.
#[test]
fn an_intent_from_elsewhere_moves_nothing() {
    let stranger = SecretKey::new([5; 32]);
    for staging in
        ["of the stranger", ".hutch-evil", ".hutch-0123456789abcdef", ".hutch-0123456789abcdef0123456789abcdef"]
    {
        for with_journal in [true, false] {
            let (setting, granted) = (Setting::new(), Granted::new(BEFORE));
            let mount = granted.mount();
            let own = staging_name(&stranger, &mount.real_path(), &Digest::from_bytes([9; 32]));
            let staging = if staging.starts_with(STAGING) { staging } else { &own };
            let intent = setting.intent(&mount, staging, mount.identity());
            let seal = Seal::of(&stranger, intent, &mount.real_path(), &own).unwrap();
            assert!(leave(&mount, &ran(&mount, AFTER), seal, Hands::default()));
            if staging != own {
                std::fs::rename(granted.at(&own), granted.at(staging)).unwrap();
            }
            let journal = granted.at(staging).join("journal");
            match with_journal {
                true => {
                    let text = std::fs::read_to_string(&journal).unwrap();
                    std::fs::write(&journal, text.replace(&own, staging)).unwrap();
                }
                false => std::fs::remove_file(&journal).unwrap(),
            }
            let planted = granted.all();
            setting.session.recover().unwrap();
            assert_eq!(granted.all(), planted, "{staging}");
            let left = format!("{}/{staging}", mount.real_path());
            assert_eq!(setting.session.unsettled().unwrap(), std::slice::from_ref(&left));
            // Nor is anything else done there.
            let refused = setting.run(&mount).unwrap_err();
            assert!(matches!(&refused, Failure::Mount { reason, .. } if reason.contains(&left)), "{refused}");
            assert_eq!(granted.all(), planted, "{staging}");
            // Who needs none of it removes it.
            std::fs::remove_dir_all(granted.at(staging)).unwrap();
            setting.session.recover().unwrap();
            assert_eq!(setting.session.unsettled().unwrap(), Vec::<String>::new());
        }
    }
}

/// A guest is not shown a folder that an earlier run left half changed, nor what lies in it or around it.
#[test]
fn a_half_changed_folder_is_granted_to_no_run() {
    let (setting, granted) = (Setting::new(), Granted::new(&[BEFORE, &[("d/e", "1")]].concat()));
    let mount = granted.mount();
    let staging = setting.end_in_the_middle(&mount, mount.identity());
    std::fs::write(granted.at("a"), "a person's own words").unwrap();
    let stands = granted.all();
    let other = Granted::new(BEFORE);
    for folder in [granted.at(""), granted.at("d"), granted.at("..")] {
        for access in [Access::ReadOnly, Access::ReadWrite] {
            let Err(Failure::Mount { reason, changed: true, .. }) =
                setting.session.check_settled([&Mount::open(&folder, access).unwrap()])
            else {
                panic!("{} was granted", folder.display())
            };
            assert!(reason.contains(&staging), "{reason}");
        }
    }
    let refused = setting.run(&mount).unwrap_err();
    assert_eq!(refused.code(), ErrorCode::Conflict);
    let record = setting.last();
    assert_eq!((record.kind, record.error, record.kept), (EntryKind::Run, Some(refused.code()), false));
    setting.session.check_settled([&other.mount()]).unwrap();
    // What could be put back is, and what the person wrote stays.
    let now = granted.files();
    assert_eq!((&now["a"][..], &now["b"][..]), ("a person's own words", "1"), "{stands:?}");
    // Once it is as it was, it is granted again.
    std::fs::remove_file(granted.at("a")).unwrap();
    setting.session.check_settled([&mount]).unwrap();
    assert_eq!(granted.files()["a"], "precious");
}

/// Another folder that has the name by now is not the one that was changed, which may come back.
#[test]
fn another_folder_is_not_taken_for_the_one_that_is_half_changed() {
    let (setting, granted) = (Setting::new(), Granted::new(&[("d/a", "precious"), ("d/b", "1")]));
    let mount = Mount::open(&granted.at("d"), Access::ReadWrite).unwrap();
    setting.end_in_the_middle(&mount, mount.identity());
    std::fs::rename(granted.at("d"), granted.at("away")).unwrap();
    for there in [false, true] {
        if there {
            std::fs::create_dir(granted.at("d")).unwrap();
        }
        setting.session.recover().unwrap();
        assert_eq!(setting.session.unsettled().unwrap().len(), 1, "{there}");
    }
    std::fs::remove_dir(granted.at("d")).unwrap();
    std::fs::rename(granted.at("away"), granted.at("d")).unwrap();
    setting.session.recover().unwrap();
    assert_eq!(setting.session.unsettled().unwrap(), Vec::<String>::new());
    assert_eq!(granted.files()["d/a"], "precious");
}

/// A folder that is gone for good keeps an instance from nothing, once somebody says so: by name, and of nothing else.
#[test]
fn what_nobody_can_end_is_let_go_of() {
    let (setting, granted) =
        (Setting::new(), Granted::new(&[("d/a", "precious"), ("d/b", "1"), ("e/a", "precious"), ("e/b", "1")]));
    let begun = |folder: &str| {
        let mount = Mount::open(&granted.at(folder), Access::ReadWrite).unwrap();
        format!("{}/{}", mount.real_path(), setting.end_in_the_middle(&mount, mount.identity()))
    };
    let (first, second) = (begun("d"), begun("e"));
    std::fs::remove_dir_all(granted.at("d")).unwrap();
    std::fs::remove_dir_all(granted.at("e")).unwrap();
    setting.session.recover().unwrap();
    assert_eq!(setting.session.unsettled().unwrap(), [first.clone(), second.clone()]);
    let (slug, from) = (setting.package.manifest().slug().clone(), "default".parse().unwrap());
    let copy = || setting.host.copy_instance(&slug, &from, &"copy".parse().unwrap(), AT);
    let refused = copy().unwrap_err();
    assert_eq!(refused.code(), ErrorCode::Conflict, "{refused}");
    let report = refused.report();
    assert!(report.suggestion.contains("--unsettled"), "{report:?}");
    // What is misspelt lets go of nothing.
    let stands = setting.session.head().unwrap().last;
    for wrong in [vec!["elsewhere".to_owned()], vec![first.clone(), "elsewhere".to_owned()], vec![format!("{first}/")]]
    {
        assert_eq!(setting.session.let_go(&wrong).unwrap_err().code(), ErrorCode::NotFound, "{wrong:?}");
    }
    setting.session.let_go(&[]).unwrap();
    assert_eq!(setting.session.head().unwrap().last, stands);
    setting.session.let_go(std::slice::from_ref(&first)).unwrap();
    assert_eq!(setting.session.unsettled().unwrap(), std::slice::from_ref(&second));
    let last = setting.last();
    assert_eq!((last.kind, last.error, last.kept), (EntryKind::Recover, Some(ErrorCode::Conflict), false));
    assert!(copy().is_err(), "one is left");
    setting.session.let_go(&[second]).unwrap();
    assert!(setting.session.store().check().unwrap().is_empty());
    copy().unwrap();
    // What is taken away for good is, whatever it knew: who asks for it was shown that.
    std::fs::create_dir_all(granted.at("d")).unwrap();
    std::fs::write(granted.at("d/a"), "precious").unwrap();
    std::fs::write(granted.at("d/b"), "1").unwrap();
    begun("d");
    let Setting { host, session, _home, .. } = setting;
    let in_use = host.purge_instance(&slug, &from).unwrap_err();
    assert_eq!(in_use.code(), ErrorCode::InstanceBusy, "{in_use}");
    drop(session);
    host.purge_instance(&slug, &from).unwrap();
    assert!(host.open_existing(&slug, &from, AT).is_err());
}

/// Of a run that is in the ledger nothing is to be put back, and what somebody has put beside what it kept aside keeps that there: it is named, hinders
/// nobody, and is looked after no more once somebody says so. Nothing of it is touched.
#[test]
fn what_a_recorded_run_could_not_remove_is_let_go_of() {
    let (setting, granted) = (Setting::new(), Granted::new(BEFORE));
    let (session, mount) = (&setting.session, granted.mount());
    let staging = setting.end_in_the_middle(&mount, mount.identity());
    let (intent, folders) = (session.head().unwrap().last.sequence, setting.last().folders);
    let run = Record { kept: true, closes: Some(intent), folders, ..session.record(EntryKind::Run) };
    session.store().commit(&run, &MemoryObjects::default(), &[]).unwrap();
    session.dir.as_ref().unwrap().try_lock_grants().unwrap().unwrap().note(&[intent]);
    std::fs::write(granted.at(&staging).join("mine"), "a person's own").unwrap();
    let left = format!("{}/{staging}", mount.real_path());
    session.recover().unwrap();
    let stands = granted.all();
    for _ in 0..2 {
        session.recover().unwrap();
        assert_eq!((granted.all(), session.unsettled().unwrap()), (stands.clone(), vec![left.clone()]));
    }
    session.check_settled([&mount]).unwrap();
    assert_eq!(session.let_go(&["elsewhere".to_owned()]).unwrap_err().code(), ErrorCode::NotFound);
    assert_eq!(session.unsettled().unwrap(), std::slice::from_ref(&left));
    let last = session.head().unwrap().last;
    session.let_go(&[left]).unwrap();
    for _ in 0..2 {
        assert_eq!((granted.all(), session.unsettled().unwrap()), (stands.clone(), Vec::new()));
        session.recover().unwrap();
    }
    assert_eq!(session.head().unwrap().last, last);
    // What a run has left that did not live is put back no more either, and not taken for what is needed no more.
    let other = Granted::new(BEFORE);
    let mount = other.mount();
    let staging = setting.end_in_the_middle(&mount, mount.identity());
    let intent = session.head().unwrap().last.sequence;
    session.dir.as_ref().unwrap().try_lock_grants().unwrap().unwrap().note(&[intent]);
    let mut stands = other.all();
    session.let_go(&[format!("{}/{staging}", mount.real_path())]).unwrap();
    session.recover().unwrap();
    // Its journal says what is there, and no run is kept from the folder by it.
    let journal = stands.remove(&format!("{staging}/journal")).unwrap();
    stands.insert(format!("{staging}/journal.left"), journal);
    assert_eq!(other.all(), stands);
    session.check_settled([&mount]).unwrap();
    Setting::new().session.check_settled([&mount]).unwrap();
}

/// What a killed run of one instance left half changed is whole to no other one, be it of another home, or of one that was restored from before the
/// kill: neither the folder, nor one in it, nor one that it is in, until the run's own instance has put it back.
#[test]
fn a_folder_that_another_instance_left_half_changed_is_granted_to_no_run() {
    let files: Files<'_> = &[("d/a", "precious"), ("d/b", "1"), ("x", "1")];
    let (setting, granted, stranger) = (Setting::new(), Granted::new(files), Setting::new());
    let mount = |path: &str, access| Mount::open(&granted.at(path), access).unwrap();
    let half = mount("d", Access::ReadWrite);
    let before = granted.all();
    let staging = setting.end_in_the_middle(&half, half.identity());
    std::fs::create_dir(granted.at("d/e")).unwrap();
    let stands = granted.all();
    for path in ["d", "d/e"] {
        for access in [Access::ReadOnly, Access::ReadWrite] {
            let refused = stranger.run(&mount(path, access)).unwrap_err();
            let is_named = matches!(&refused, Failure::Mount { reason, .. } if reason.contains(&staging));
            assert!(is_named, "{path}: {refused}");
            assert_eq!(refused.code(), ErrorCode::Conflict, "{path}");
            let report = refused.report();
            assert!(report.suggestion.contains("hutch doctor"), "{report:?}");
        }
    }
    // From above it shows when somebody goes there, and what is beside it is whole.
    let above = mount("", Access::ReadOnly);
    stranger.session.check_settled([&above]).unwrap();
    let shown = above.objects("mnt", 1 << 20);
    let root = read_tree(&*shown, &shown.root()).unwrap();
    let Node::Folder { tree, .. } = root.get("d").unwrap().node else { unreachable!() };
    let error = read_tree(&*shown, &tree).unwrap_err();
    assert!(matches!(&error.lack, Lack::Changed(at) if at.ends_with(&staging)), "{error}");
    assert!(shown.staged().is_some_and(|at| at.ends_with(&staging)));
    assert_eq!(granted.all(), stands);
    std::fs::remove_dir(granted.at("d/e")).unwrap();
    setting.session.recover().unwrap();
    assert_eq!(granted.all(), before);
    stranger.session.check_settled([&half]).unwrap();
}

/// While a run lives that places its changes, others wait for it as they begin and before they place their own, and are told so when that takes
/// too long.
#[test]
fn what_a_run_is_placing_is_waited_for() {
    let (setting, granted, stranger) = (Setting::new(), Granted::new(BEFORE), Setting::new());
    let mount = granted.mount();
    let key = setting.session.store().secret_key().unwrap();
    let staging = staging_name(&key, &mount.real_path(), &Digest::from_bytes([9; 32]));
    let intent = setting.intent(&mount, &staging, mount.identity());
    let seal = Seal::of(&key, intent, &mount.real_path(), &staging).unwrap();
    let placed = ran(&mount, AFTER);
    let lock = setting.session.dir.as_ref().unwrap().try_lock_grants().unwrap().unwrap();
    let wishes = placed.wishes(&mount).unwrap();
    let carry = Carry::stage(&mount, &placed.objects, (&wishes, &placed.seen), seal, Hands::default()).unwrap();
    let carried = carry.apply().unwrap();
    for session in [&setting.session, &stranger.session] {
        let begun = std::time::Instant::now();
        let busy = session.check_settled([&mount]).unwrap_err();
        assert!(begun.elapsed() >= session.wait, "{:?}", begun.elapsed());
        assert_eq!(busy.code(), ErrorCode::InstanceBusy, "{busy}");
        assert!(busy.to_string().contains(&staging), "{busy}");
    }
    // A guest that was started before is shown what stands there, and what it leaves is placed once the other is done.
    let Ran { objects: all, change, seen } = &ran(&mount, &[("a", "evil"), ("c", "2"), ("d", "3")]);
    let (known, session) = (Default::default(), &stranger.session);
    let wanted = [crate::grants::Granted { name: "mnt", mount: &mount, change, seen, known: &known }];
    let record = Record { kept: true, ..session.record(EntryKind::Run) };
    let commit = || session.commit_with_folders(&record, &MemoryObjects::default(), (all, &[]), (&wanted, None));
    let (begun, last) = (std::time::Instant::now(), session.head().unwrap().last.sequence);
    let (busy, _) = commit().err().unwrap();
    assert!(begun.elapsed() >= session.wait, "{:?}", begun.elapsed());
    assert_eq!((busy.code(), session.head().unwrap().last.sequence), (ErrorCode::InstanceBusy, last), "{busy}");
    assert!(!granted.at("d").exists());
    carried.finish();
    for session in [&setting.session, &stranger.session] {
        session.check_settled([&mount]).unwrap();
    }
    commit().map_err(|(failure, _)| failure).unwrap();
    assert_eq!(granted.files()["d"], "3");
    drop(lock);
}

/// A staging folder in which nothing was placed yet, of which all is done, or of which somebody let go.
#[test]
fn what_is_not_being_placed_keeps_nobody_out() {
    let (setting, granted, stranger) = (Setting::new(), Granted::new(BEFORE), Setting::new());
    let mount = granted.mount();
    let staging = granted.at(&setting.end_in_the_middle(&mount, mount.identity()));
    for journal in ["journal.new", "journal.done", "journal.left"] {
        stranger.session.check_settled([&mount]).unwrap_err();
        std::fs::rename(staging.join("journal"), staging.join(journal)).unwrap();
        stranger.session.check_settled([&mount]).unwrap();
        std::fs::rename(staging.join(journal), staging.join("journal")).unwrap();
    }
}

/// A copy, by whatever program, does not say that the folder it lies in is half changed, and nobody else's lock is waited for: what a run made it
/// made there, for itself alone.
#[test]
fn what_no_run_made_where_it_lies_keeps_nobody_out() {
    let (setting, granted, stranger) = (Setting::new(), Granted::new(BEFORE), Setting::new());
    let mount = granted.mount();
    let staging = setting.end_in_the_middle(&mount, mount.identity());
    let elsewhere = Granted::new(BEFORE);
    let copied = |to: PathBuf| {
        hutch_folder::private_folders().create(&to).unwrap();
        std::fs::copy(granted.at(&staging).join("journal"), to.join("journal")).unwrap();
    };
    copied(elsewhere.at(&staging));
    stranger.session.check_settled([&elsewhere.mount()]).unwrap();
    let shown = elsewhere.mount().objects("mnt", 1 << 20);
    read_tree(&*shown, &shown.root()).unwrap();
    let left = elsewhere.at(&staging).display().to_string();
    assert_eq!(stranger.session.let_go(&[left]).unwrap_err().code(), ErrorCode::NotFound);
    let set = |path: &Path, mode| {
        let mode = std::os::unix::fs::PermissionsExt::from_mode(mode);
        std::fs::set_permissions(path, mode).unwrap();
    };
    let (folder, journal) = (granted.at(&staging), granted.at(&staging).join("journal"));
    let held = std::fs::File::open(&journal).unwrap();
    for (path, open, own) in [(&folder, 0o755, 0o700), (&journal, 0o644, 0o600)] {
        set(path, open);
        held.lock().unwrap();
        stranger.session.check_settled([&mount]).unwrap();
        held.unlock().unwrap();
        set(path, own);
        assert_eq!(stranger.session.check_settled([&mount]).unwrap_err().code(), ErrorCode::Conflict);
    }
    // Beside the one that it is a copy of, too.
    copied(granted.at(".hutch-0123456789abcdef0123456789abcdef"));
    setting.session.recover().unwrap();
    assert!(!folder.exists());
    stranger.session.check_settled([&mount]).unwrap();
}

/// What a run left of which the instance is gone: it is let go of by its path, by any instance, and nothing else is.
#[test]
fn what_another_instance_left_is_let_go_of_by_its_path() {
    let (setting, granted, stranger) = (Setting::new(), Granted::new(BEFORE), Setting::new());
    let mount = granted.mount();
    let staging = setting.end_in_the_middle(&mount, mount.identity());
    let left = granted.at(&staging).display().to_string();
    let stands = granted.all();
    for wrong in [granted.at("a").display().to_string(), granted.at("").display().to_string(), staging.clone()] {
        let refused = stranger.session.let_go(&[left.clone(), wrong.clone()]).unwrap_err();
        assert_eq!(refused.code(), ErrorCode::NotFound, "{wrong}");
    }
    assert_eq!(granted.all(), stands);
    // What has the name already that the journal gets stays.
    std::fs::write(granted.at(&staging).join("journal.left"), "a person's own").unwrap();
    stranger.session.let_go(&[left]).unwrap();
    stranger.session.check_settled([&mount]).unwrap();
    let files = granted.files();
    assert_eq!((files["a"].as_str(), files[&format!("{staging}/journal.left")].as_str()), ("evil", "a person's own"));
    assert!(granted.at(&staging).join("journal.left-1").exists());
    // The run's own instance moves nothing there any more, and says so.
    let stands = granted.all();
    setting.session.recover().unwrap();
    assert_eq!((granted.all(), setting.session.unsettled().unwrap().len()), (stands, 1));
}

/// Whatever runs changed, of the state, in a folder or both at once: each step back is the last change that stands, each step forward the
/// last that was taken back, and both are whole.
#[test]
fn state_and_folder_go_back_and_forward_together() {
    let (setting, granted) = (Setting::new(), Granted::new(&[("a", "0")]));
    let (session, mount) = (&setting.session, granted.mount());
    let look = || (session.head().unwrap().state, granted.files());
    let change = |text: &str, state: bool, folder: bool| {
        let mut objects = MemoryObjects::default();
        let mut record = Record { kept: true, ..session.record(EntryKind::Run) };
        if state {
            let node = objects.insert_file(text.as_bytes());
            let file = Entry { name: Name::new("note").unwrap(), modified_ns: 1, node };
            let Node::Folder { tree, .. } = objects.insert_tree(&Tree::new(vec![file]).unwrap()) else {
                unreachable!()
            };
            let (name, before) = session.head().unwrap().state.into_iter().next().unwrap();
            record.volumes = [(name.to_string(), VolumeRecord::new(Some(before), tree, Changes::default()))].into();
        }
        if !folder {
            session.store().commit(&record, &objects, &[]).unwrap();
            return;
        }
        let known = Default::default();
        let Ran { objects: all, change, seen } = &ran(&mount, &[("a", text), (text, "new")]);
        let granted = [crate::grants::Granted { name: "mnt", mount: &mount, change, seen, known: &known }];
        let settled = session.commit_with_folders(&record, &objects, (all, &[]), (&granted, None));
        settled.map_err(|(failure, _)| failure).unwrap();
    };
    let mounts = [("mnt".to_owned(), mount.clone())].into();
    let begins = look();
    for number in 0..27_u32 {
        let mut looks = vec![begins.clone()];
        for step in 0..3 {
            let kind = number / 3_u32.pow(step) % 3;
            change(&format!("{number}-{step}"), kind != 0, kind != 1);
            looks.push(look());
        }
        for _ in 0..2 {
            for step in (0..3).rev() {
                let moved = session.undo_last(1, &mounts).unwrap();
                assert!(look() == looks[step], "{number} back to {step}: {moved:?}");
                assert_eq!(moved.left, [], "{number} back to {step}");
                let reach = session.reach().unwrap();
                assert_eq!((reach.back, reach.forward), (step as u64, 3 - step as u64), "{number} back to {step}");
            }
            assert!(matches!(session.undo_last(1, &mounts), Err(Failure::NothingToUndo { .. })));
            for (step, expected) in looks.iter().enumerate().skip(1) {
                let moved = session.redo_last(1, &mounts).unwrap();
                assert!(look() == *expected, "{number} forward to {step}: {moved:?}");
            }
            assert!(matches!(session.redo_last(1, &mounts), Err(Failure::NothingToRedo { .. })));
        }
        (0..3).for_each(|_| drop(session.undo_last(1, &mounts).unwrap()));
        // What was taken back and something was changed since is not made again.
        change("another", true, number % 2 == 0);
        assert!(matches!(session.redo_last(1, &mounts), Err(Failure::NothingToRedo { .. })), "{number}");
        session.undo_last(1, &mounts).unwrap();
        assert!(look() == begins, "{number}");
    }
    assert_eq!(session.unsettled().unwrap(), Vec::<String>::new());
    assert!(session.store().check().unwrap().is_empty());
}

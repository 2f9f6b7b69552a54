//! Import from and export to folders anywhere.

use super::*;
use hutch_model::error_code::ErrorCode;

#[test]
fn a_folder_too_large_or_too_deep_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::create_dir_all(folder.path().join("a/b")).unwrap();
    std::fs::write(folder.path().join("a/b/c"), "12345").unwrap();
    let import = |bounds| import_folder(&open(&folder), folder.path(), &bounds, Times::Kept);
    let fits = Bounds { files: 3, bytes: 5, depth: 3 };
    let imported = import(fits).unwrap();
    assert_eq!((imported.totals().files, imported.totals().bytes), (3, 5));
    assert!(matches!(import(Bounds { files: 2, ..fits }), Err(StoreError::Limited { allowed: 2, .. })));
    assert!(matches!(import(Bounds { bytes: 4, ..fits }), Err(StoreError::Limited { allowed: 4, .. })));
    assert_eq!(import(Bounds { depth: 2, ..fits }).unwrap_err().code(), ErrorCode::FolderDepthLimit);
    let target = tempfile::tempdir().unwrap();
    let export = |bounds| export_folder(&imported, &imported.tree(), &open(&target), target.path(), &bounds);
    assert_eq!(export(Bounds { depth: 2, ..fits }).unwrap_err().code(), ErrorCode::FolderDepthLimit);
    assert_eq!(export(fits).unwrap_err().code(), ErrorCode::AlreadyExists, "the folder is not empty any more");
    let target = tempfile::tempdir().unwrap();
    let export = |bounds| export_folder(&imported, &imported.tree(), &open(&target), target.path(), &bounds);
    assert!(matches!(export(Bounds { files: 2, ..fits }), Err(StoreError::Limited { allowed: 2, .. })));
}

#[test]
fn what_no_state_or_folder_should_hold_is_skipped_and_named() {
    use std::os::unix::ffi::OsStrExt;
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    std::fs::create_dir(at("d")).unwrap();
    std::fs::write(at("d/kept"), "1").unwrap();
    std::os::unix::fs::symlink("/etc/passwd", at("l")).unwrap();
    std::os::unix::fs::symlink("me@host.1:2", at("d/.#lock")).unwrap();
    std::os::unix::net::UnixListener::bind(at("d/socket")).unwrap();
    std::fs::write(folder.path().join(std::ffi::OsStr::from_bytes(b"\xff")), "1").unwrap();
    let imported = import_folder(&open(&folder), folder.path(), &BOUNDS, Times::Kept).unwrap();
    let skipped: Vec<_> = imported.skipped().listed.iter().map(|(path, _)| path.as_str()).collect();
    assert_eq!(skipped, ["\u{fffd}", "d/.#lock", "d/socket", "l"]);
    assert_eq!((imported.totals().files, imported.totals().bytes), (2, 1));

    let mut objects = no_objects();
    let tree = volume(&mut objects, &[("a", "1"), ("d/ok", "->../a"), ("l", "->../x"), ("m", "->a/../b")]);
    let target = tempfile::tempdir().unwrap();
    let exported = export_folder(&objects, &tree, &open(&target), target.path(), &BOUNDS).unwrap();
    let skipped: Vec<_> = exported.skipped.listed.iter().map(|(path, _)| path.as_str()).collect();
    assert_eq!(skipped, ["l", "m"]);
    assert_eq!(real(target.path()), expected(&[("a", "1"), ("d/ok", "->../a")]));
}

#[test]
fn a_volume_as_deep_as_any_needs_few_open_folders() {
    let folder = tempfile::tempdir().unwrap();
    let mut at = open(&folder);
    for _ in 0..1000 {
        at.create_dir("d").unwrap();
        at = at.open_dir("d").unwrap();
    }
    std::io::Write::write_all(&mut at.create("deep").unwrap(), b"1").unwrap();
    let widest = Bounds::widest();
    let before = std::fs::read_dir("/proc/self/fd").unwrap().count();
    let most = Arc::new(AtomicU64::new(0));
    let seen = most.clone();
    let counting = move |_| {
        let now = std::fs::read_dir("/proc/self/fd")?.count() as u64;
        seen.fetch_max(now, Ordering::Relaxed);
        Ok(())
    };
    let imported = import_folder(&open(&folder), folder.path(), &widest, Times::Kept).unwrap();
    let setting = Setting::new();
    setting.store.commit(&change(None, imported.tree()), &imported, &[]).unwrap();
    let plain = Plain { hands: Hands::checked(counting), ..setting.plain() };
    assert_eq!(plain.update().unwrap(), Updated::default());
    assert!(!plain.look(&name(), &widest).unwrap().unwrap().is_edit());
    setting.store.commit(&change(Some(imported.tree()), empty_tree()), &no_objects(), &[]).unwrap();
    assert_eq!(plain.update().unwrap(), Updated::default());
    assert!(real(&setting.folder()).is_empty());
    let most = most.load(Ordering::Relaxed) as usize;
    // Other tests of this process open files too.
    assert!(most > 0 && most < before + 300, "{most} open files, {before} before");
}

#[test]
fn large_content_is_read_again_and_a_change_meanwhile_is_found() {
    let folder = tempfile::tempdir().unwrap();
    let bytes: Vec<u8> = (0..20_000_000u32).flat_map(|at| [(at >> 8) as u8 ^ at as u8]).collect();
    std::fs::write(folder.path().join("big"), &bytes).unwrap();
    let imported = import_folder(&open(&folder), folder.path(), &BOUNDS, Times::Kept).unwrap();
    assert!(!imported.chunks.is_empty());
    let setting = Setting::new();
    setting.store.commit(&change(None, imported.tree()), &imported, &[]).unwrap();
    let target = tempfile::tempdir().unwrap();
    export_folder(&*setting.store.objects(), &imported.tree(), &open(&target), target.path(), &BOUNDS).unwrap();
    assert!(std::fs::read(target.path().join("big")).unwrap() == bytes);

    let again = import_folder(&open(&folder), folder.path(), &BOUNDS, Times::Kept).unwrap();
    std::fs::write(folder.path().join("big"), vec![0; bytes.len()]).unwrap();
    let other = Setting::new();
    let error = other.store.commit(&change(None, again.tree()), &again, &[]).unwrap_err();
    assert_eq!(error.code(), ErrorCode::Conflict, "{error}");
    assert!(error.to_string().contains("/big: was changed by another program"), "{error}");
    assert_eq!(other.store.head().unwrap().last.sequence, 0);
}

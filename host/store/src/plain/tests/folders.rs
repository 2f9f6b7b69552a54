//! Import from and export to folders anywhere.

use super::*;

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
    assert!(matches!(import(Bounds { depth: 2, ..fits }), Err(StoreError::Refused { .. })));
    let target = tempfile::tempdir().unwrap();
    let export = |bounds| export_folder(&imported, &imported.tree(), &open(&target), target.path(), &bounds);
    assert!(matches!(export(Bounds { depth: 2, ..fits }), Err(StoreError::Refused { .. })));
    assert!(matches!(export(fits), Err(StoreError::Refused { .. })), "the folder is not empty any more");
    let target = tempfile::tempdir().unwrap();
    let export = |bounds| export_folder(&imported, &imported.tree(), &open(&target), target.path(), &bounds);
    assert!(matches!(export(Bounds { files: 2, ..fits }), Err(StoreError::Limited { allowed: 2, .. })));
}

#[test]
fn a_link_that_could_leave_is_neither_imported_nor_exported() {
    let folder = tempfile::tempdir().unwrap();
    std::os::unix::fs::symlink("/etc/passwd", folder.path().join("l")).unwrap();
    let error = import_folder(&open(&folder), folder.path(), &BOUNDS, Times::Kept).unwrap_err();
    assert!(error.to_string().contains("is a link that could leave its folder, to \"/etc/passwd\""), "{error}");
    let mut objects = no_objects();
    let tree = volume(&mut objects, &[("l", "->../x")]);
    let target = tempfile::tempdir().unwrap();
    let error = export_folder(&objects, &tree, &open(&target), target.path(), &BOUNDS).unwrap_err();
    assert!(matches!(error, StoreError::Refused { .. }), "{error}");
    assert!(real(target.path()).is_empty());
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
    assert!(error.to_string().contains("changed while it was read"), "{error}");
    assert_eq!(other.store.head().unwrap().last.sequence, 0);
}

//! Directories with what should not be there: links out, sockets, taken places, depth.

use super::*;

#[test]
fn links_that_could_leave_are_withheld_and_stay_in_the_state() {
    let setting = Setting::new();
    let outside = setting.home.path().join("secret");
    std::fs::write(&outside, "secret").unwrap();
    put(&setting.store, &[("a", "1"), ("bad", "->../../../../secret"), ("d/bad", "->x/../../.."), ("ok", "->a")]);
    assert_eq!(setting.plain().update().unwrap(), Updated::default());
    assert_eq!(real(&setting.folder()), expected(&[("a", "1"), ("d/", ""), ("ok", "->a")]));
    assert_eq!(setting.check(&[Touch::Path("bad"), Touch::Folder(""), Touch::Folder("d")]), []);
    assert_eq!(setting.status(), []);
    // A link over a file that was ours, and back.
    put(&setting.store, &[("a", "->/etc"), ("bad", "1")]);
    assert_eq!(setting.plain().update().unwrap(), Updated::default());
    assert_eq!(real(&setting.folder()), expected(&[("bad", "1")]));
    assert_eq!(setting.status(), []);
}

#[test]
fn no_link_is_followed_out_of_a_volume() {
    let setting = Setting::new();
    let outside = setting.home.path().join("outside");
    std::fs::create_dir(&outside).unwrap();
    std::fs::write(outside.join("x"), "precious").unwrap();
    put(&setting.store, &[("d/x", "1"), ("d/y", "2")]);
    setting.plain().update().unwrap();
    // Somebody puts a link where a folder of ours was.
    std::fs::remove_dir_all(setting.folder().join("d")).unwrap();
    std::os::unix::fs::symlink(&outside, setting.folder().join("d")).unwrap();
    put(&setting.store, &[("d/x", "3"), ("d/z", "4")]);
    let updated = setting.plain().update().unwrap();
    assert!(!updated.left.is_empty());
    assert_eq!(real(&outside), expected(&[("x", "precious")]));
    let error = setting.plain().status(&name(), &BOUNDS).unwrap_err();
    assert!(matches!(error, StoreError::Refused { .. }), "{error}");
    // And where the volume itself was.
    std::fs::remove_dir_all(setting.folder()).unwrap();
    std::os::unix::fs::symlink(&outside, setting.folder()).unwrap();
    assert!(matches!(setting.plain().update(), Ok(_) | Err(StoreError::Refused { .. })));
    put(&setting.store, &[("x", "5")]);
    assert!(matches!(setting.plain().update().unwrap_err(), StoreError::Refused { .. }));
    assert_eq!(real(&outside), expected(&[("x", "precious")]));
}

#[test]
fn what_no_state_can_hold_is_refused_with_its_path() {
    let setting = Setting::new();
    put(&setting.store, &[("d/a", "1")]);
    setting.plain().update().unwrap();
    let socket = std::os::unix::net::UnixListener::bind(setting.folder().join("d/socket")).unwrap();
    let error = setting.plain().import(&name(), &BOUNDS).unwrap_err();
    assert!(error.to_string().ends_with("state/d/socket: is no regular file, folder or link"), "{error}");
    drop(socket);
    std::fs::remove_file(setting.folder().join("d/socket")).unwrap();
    let no_text = std::ffi::OsStr::new("x");
    let no_text = [std::os::unix::ffi::OsStrExt::as_bytes(no_text), b"\xff"].concat();
    let no_text = std::os::unix::ffi::OsStringExt::from_vec(no_text);
    std::fs::write(setting.folder().join::<std::ffi::OsString>(no_text), "1").unwrap();
    let error = setting.plain().import(&name(), &BOUNDS).unwrap_err();
    assert!(matches!(error, StoreError::Refused { .. }) && error.to_string().contains("xFF"), "{error}");
}

#[test]
fn whoever_finds_the_lock_taken_leaves_the_work_to_its_holder() {
    let setting = Setting::new();
    put(&setting.store, &[("a", "1")]);
    let holder = setting.plain();
    let lock = holder.try_lock().unwrap().unwrap();
    assert!(setting.plain().update().unwrap().elsewhere);
    assert!(!setting.folder().exists());
    drop(lock);
    assert!(!setting.plain().update().unwrap().elsewhere);
    assert_eq!(real(&setting.folder()), expected(&[("a", "1")]));
}

#[test]
fn deep_volumes_come_and_go() {
    let setting = Setting::new();
    let deep = vec!["d"; 300].join("/") + "/x";
    put(&setting.store, &[(&deep, "1")]);
    setting.plain().update().unwrap();
    let bounds = Bounds { depth: 400, ..BOUNDS };
    assert_eq!(setting.plain().status(&name(), &bounds).unwrap(), []);
    assert_eq!(setting.check(&[Touch::Path(&deep)]), []);
    put(&setting.store, &[]);
    setting.plain().update().unwrap();
    assert_eq!(real(&setting.folder()), expected(&[]));
}

//! What tools act on although its own path does not say so.

use super::acting::{Acting, LOOKS, Looks};
use super::carry::CarryError;
use super::tests::{Files, Granted, carry, ran};
use super::*;
use hutch_folder::Hands;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{PermissionsExt, symlink};

/// What a run is told that leaves a folder so: the path, and what has tools act on it. `None` if it is kept.
fn refused(granted: &Granted, mount: &Mount, after: Files<'_>) -> Option<(String, String)> {
    let was = granted.all();
    match carry(mount, &ran(mount, after), Hands::default()) {
        Ok(carried) => carried.finish(),
        Err(CarryError::LedTo { path, by }) => {
            assert_eq!(granted.all(), was, "{path}");
            return Some((path, by));
        }
        Err(error) => panic!("{error}"),
    }
    None
}

/// The folder, what a run makes of it, and what is refused of that, because of what.
type Case<'a> = (Files<'a>, Files<'a>, Option<(&'a str, &'a str)>);

#[test]
fn what_a_link_leads_tools_to_is_not_changed() {
    let guide: Files<'_> = &[("CLAUDE.md", "->docs/guide.md"), ("docs/guide.md", "1"), ("docs/other", "1")];
    let store: Files<'_> =
        &[(".git", "->store"), ("store/config", "1"), ("store/hooks", "->../scripts"), ("scripts/x", "1")];
    let chain: Files<'_> =
        &[("a/.vscode", "->../now"), ("now", "->v1"), ("v1/tasks.json", "1"), ("v2/tasks.json", "1")];
    let nowhere: Files<'_> = &[("sub/deep/AGENTS.md", "->../../docs/new.md"), ("docs/x", "1")];
    let worktree: Files<'_> =
        &[(".git", "gitdir: store/x\n"), ("store/x/commondir", "../../common"), ("common/config", "1")];
    let inside: Files<'_> = &[(".claude/skills/a/b", "->../../../notes"), ("notes/n", "1"), ("n", "1")];
    let bare: Files<'_> =
        &[("mirror/HEAD", "ref: refs/heads/main\n"), ("mirror/config", "1"), ("mirror/hooks/x", "1"), ("x", "1")];
    let back: Files<'_> = &[(".self", "->."), ("a", "1")];
    let packages: Files<'_> = &[("node_modules/.pnpm/a", "->../../packages/a"), ("packages/a/index.js", "1")];
    let round: Files<'_> = &[("CLAUDE.md", "->x/../y"), ("x/", ""), ("a/b/", ""), ("a/y", "1"), ("y", "1")];
    let folder: Files<'_> = &[("HEAD/a", "1"), ("other/HEAD", "of steam"), ("other/a", "1")];
    let plain: Files<'_> = &[("read.md", "->docs/guide.md"), ("docs/guide.md", "1")];
    let python: Files<'_> = &[
        (".venv/lib/site-packages/pkg", "->../../../src/pkg"),
        (".venv/lib/site-packages/x.pth", "->../../../src/x"),
        ("venv/lib/site-packages/sitecustomize.py", "->../../../src/hook.py"),
        ("src/pkg/a.py", "1"),
        ("src/x", "1"),
        ("src/hook.py", "1"),
    ];
    let [pkg, pth, customize, a, x, hook] = [0, 1, 2, 3, 4, 5].map(|at| python[at]);
    let by_pth = Some(("src/x", ".venv/lib/site-packages/x.pth"));
    let by_customize = Some(("src/hook.py", "venv/lib/site-packages/sitecustomize.py"));
    let cases: [Case<'_>; 25] = [
        (python, &[pkg, pth, customize, ("src/pkg/a.py", "2"), x, hook], None),
        (python, &[pkg, pth, customize, a, ("src/x", "2"), hook], by_pth),
        (python, &[pkg, pth, customize, a, x, ("src/hook.py", "2")], by_customize),
        (guide, &[guide[0], ("docs/guide.md", "2"), guide[2]], Some(("docs/guide.md", "CLAUDE.md"))),
        (guide, &[guide[0], guide[2]], Some(("docs/guide.md", "CLAUDE.md"))),
        // What holds it may neither go nor be another.
        (guide, &[guide[0], ("docs", "->elsewhere"), ("elsewhere/guide.md", "2")], Some(("docs", "CLAUDE.md"))),
        (guide, &[guide[0], guide[1], ("docs/other", "2"), ("new/a", "1")], None),
        (store, &[store[0], ("store/config", "2"), store[2], store[3]], Some(("store/config", ".git"))),
        (store, &[store[0], store[1], store[2], ("scripts/x", "2")], Some(("scripts/x", "store/hooks"))),
        (store, &[store[0], store[1], store[2], store[3], ("store/new/a", "1")], Some(("store/new", ".git"))),
        (chain, &[chain[0], chain[1], ("v1/tasks.json", "2"), chain[3]], Some(("v1/tasks.json", "a/.vscode"))),
        (chain, &[chain[0], ("now", "->v2"), chain[2], chain[3]], Some(("now", "a/.vscode"))),
        (chain, &[chain[0], chain[1], chain[2], ("v2/tasks.json", "2")], None),
        (nowhere, &[nowhere[0], nowhere[1], ("docs/new.md", "1")], Some(("docs/new.md", "sub/deep/AGENTS.md"))),
        (worktree, &[worktree[0], worktree[1], ("common/config", "2")], Some(("common/config", "store/x/commondir"))),
        (inside, &[inside[0], ("notes/n", "2"), inside[2]], Some(("notes/n", ".claude/skills/a/b"))),
        (inside, &[inside[0], inside[1], ("n", "2")], None),
        (bare, &[bare[0], bare[1], bare[2], bare[3], ("mirror/hooks/y", "1")], Some(("mirror/hooks/y", "mirror/HEAD"))),
        (back, &[back[0], ("a", "2")], Some(("a", ".self"))),
        (packages, &[packages[0], ("packages/a/index.js", "2")], None),
        // A folder that the way comes back out of has to stay one; a run is not shown such a link.
        (round, &[("x", "->a/b"), round[2], round[3], round[4]], Some(("x", "CLAUDE.md"))),
        (round, &[("x/new", "1"), round[2], round[3], round[4]], None),
        (folder, &[("HEAD/a", "2"), folder[1], folder[2]], None),
        (folder, &[folder[0], folder[1], ("other/a", "2")], None),
        (plain, &[plain[0], ("docs/guide.md", "2")], None),
    ];
    for (number, (before, after, expected)) in cases.into_iter().enumerate() {
        let granted = Granted::new(before);
        let is = refused(&granted, &granted.mount(), after);
        assert_eq!(is.as_ref().map(|(path, by)| (path.as_str(), by.as_str())), expected, "case {number}");
        if expected.is_some() {
            assert_eq!(refused(&granted, &granted.mount().with_acted_on(), after), None, "case {number}");
        }
    }
}

/// What a run is not shown leads tools as well: a link by an absolute path, or by a way that leaves the folder and comes back.
#[test]
fn links_that_a_run_is_not_shown_lead_too() {
    for (target, from_root) in
        [("docs/guide.md", true), ("../granted/docs/guide.md", false), ("../other/guide.md", false)]
    {
        let granted = Granted::new(&[("granted/docs/guide.md", "1"), ("granted/b", "1")]);
        symlink("granted/docs", granted.at("other")).unwrap();
        let target = if from_root { granted.at("granted").canonicalize().unwrap().join(target) } else { target.into() };
        symlink(target, granted.at("granted/GEMINI.md")).unwrap();
        let mount = Mount::open(&granted.at("granted"), Access::ReadWrite).unwrap();
        let is = refused(&granted, &mount, &[("docs/guide.md", "2"), ("b", "1")]);
        assert_eq!(is, Some(("docs/guide.md".to_owned(), "GEMINI.md".to_owned())));
        assert_eq!(refused(&granted, &mount, &[("docs/guide.md", "1"), ("b", "2")]), None);
    }
    // Nor is one in a folder whose name is no text.
    let granted = Granted::new(&[("docs/guide.md", "1"), ("b", "1")]);
    let folder = granted.at("").join(std::ffi::OsStr::from_bytes(b"\xdcbung"));
    std::fs::create_dir(&folder).unwrap();
    symlink("../docs/guide.md", folder.join("CLAUDE.md")).unwrap();
    let is = refused(&granted, &granted.mount(), &[("docs/guide.md", "2"), ("b", "1")]).unwrap();
    assert_eq!(is.0, "docs/guide.md");
    // Nor is one whose name is no text.
    let granted = Granted::new(&[(".claude/rules/a", "1"), ("docs/guide.md", "1")]);
    let name = std::ffi::OsStr::from_bytes(b"r\xff.md");
    symlink("../../docs/guide.md", granted.at(".claude/rules").join(name)).unwrap();
    let is = refused(&granted, &granted.mount(), &[(".claude/rules/a", "1"), ("docs/guide.md", "2")]).unwrap();
    assert_eq!(is.0, "docs/guide.md");
}

/// Where a folder stands says what tools do with it: all of it may be theirs, or what a link above it leads to.
#[test]
fn what_stands_above_a_granted_folder_leads_too() {
    let open = |granted: &Granted, path: &str| Mount::open(&granted.at(path), Access::ReadWrite).unwrap();
    let granted = Granted::new(&[
        ("r/.git/hooks/", ""),
        ("r/plain/a", "1"),
        ("bare.git/HEAD", "ref: refs/heads/main\n"),
        ("bare.git/info/", ""),
        ("dots/bashrc", "1"),
        ("dots/nvim/init", "1"),
        ("dots/notes", "1"),
        ("sub/SKILL.md/x/", ""),
        (".config/a/", ""),
    ]);
    symlink("dots/bashrc", granted.at(".bashrc")).unwrap();
    symlink("dots/nvim", granted.at(".nvim")).unwrap();
    for (path, by) in [
        ("r/.git", Some("/r/.git")),
        ("r/.git/hooks", Some("/r/.git")),
        ("sub/SKILL.md/x", Some("/sub/SKILL.md")),
        ("bare.git", Some("/bare.git/HEAD")),
        ("bare.git/info", Some("/bare.git/HEAD")),
        ("dots/nvim", Some("/.nvim")),
        ("r/plain", None),
        ("dots", None),
        ("r", None),
    ] {
        let mount = open(&granted, path);
        let is = mount.is_acted_on_by().map(|is| by.is_some_and(|by| is.ends_with(by)));
        assert_eq!(is, by.map(|_| true), "{path}: {:?}", mount.is_acted_on_by());
        assert_eq!(mount.with_acted_on().is_acted_on_by(), None);
        assert_eq!(Mount::open(&granted.at(path), Access::ReadOnly).unwrap().is_acted_on_by(), None);
    }
    // What `..` leaves again is on no way there.
    assert_eq!(open(&granted, ".config/../r/plain").is_acted_on_by(), None);
    assert!(open(&granted, "r/plain/../.git/hooks").is_acted_on_by().is_some());
    // By a name that is theirs, through a link.
    symlink(granted.at("r/plain"), granted.at("r/.git/info")).unwrap();
    symlink("r/.git/info", granted.at("way")).unwrap();
    for said in ["r/.git/info", "way"] {
        let mount = open(&granted, said);
        assert!(mount.is_acted_on_by().is_some_and(|by| by.ends_with("/r/.git")), "{:?}", mount.is_acted_on_by());
    }
    // In folders that are theirs and stand beside those above, too.
    symlink("../../dots/tmux", granted.at(".config/a/tmux")).unwrap();
    let mount = open(&granted, "dots");
    let is = refused(&granted, &mount, &[("bashrc", "1"), ("nvim/init", "1"), ("notes", "1"), ("tmux", "1")]).unwrap();
    assert!(is.0 == "tmux" && is.1.ends_with("/.config/a/tmux"), "{is:?}");
    let is = refused(&granted, &mount, &[("bashrc", "2"), ("nvim/init", "1"), ("notes", "1")]).unwrap();
    assert!(is.0 == "bashrc" && is.1.ends_with("/.bashrc"), "{is:?}");
    let is = refused(&granted, &mount, &[("bashrc", "1"), ("nvim/init", "2"), ("notes", "1")]).unwrap();
    assert!(is.0 == "nvim/init" && is.1.ends_with("/.nvim"), "{is:?}");
    assert_eq!(refused(&granted, &mount, &[("bashrc", "1"), ("nvim/init", "1"), ("notes", "2")]), None);
}

/// However deep folders lie and however long paths become, looking costs what is counted.
#[test]
fn deep_folders_and_long_paths_are_counted() {
    let granted = Granted::new(&[("a", "1")]);
    let looks = |names: usize| Acting::within(&granted.mount(), ["a"].into_iter(), Looks { names, ..LOOKS });
    let name = "d".repeat(100);
    let mut at = granted.mount().dir().try_clone().unwrap();
    for _ in 0..200 {
        at.create_dir(&name).unwrap();
        at = at.open_dir(&name).unwrap();
    }
    // 201 names, and one more for each folder that has to be opened again because only those above depth 64 stay open.
    let again: usize = (64..=200).map(|depth| depth - 64).sum();
    assert!(looks(201 + again).is_ok());
    assert!(looks(200 + again).unwrap_err().to_string().contains("names"));
    for number in 0..20 {
        at.create_dir(number.to_string()).unwrap();
    }
    let again = again + 20 * (201 - 64);
    assert!(looks(221 + again).is_ok());
    assert!(looks(220 + again).unwrap_err().to_string().contains("names"));
    // What no path leads to, no tool is known to follow, and nobody can say where it goes.
    at.symlink("a", ".x").unwrap();
    assert!(looks(222 + again).unwrap_err().to_string().contains("long enough"));
}

/// What somebody else put beside a folder, where all may put something, is nothing that this person's tools follow.
#[test]
fn a_strangers_link_in_a_shared_folder_leads_nowhere() {
    use std::os::unix::fs::lchown;
    let granted =
        Granted::new(&[("shared/mine/a", "1"), ("shared/.git/", ""), ("shared/HEAD", "ref: refs/heads/main\n")]);
    symlink("mine", granted.at("shared/.vscode")).unwrap();
    symlink("../mine/a", granted.at("shared/.git/a")).unwrap();
    let by = || Mount::open(&granted.at("shared/mine"), Access::ReadWrite).unwrap().is_acted_on_by().map(str::to_owned);
    let theirs = |name: &str| lchown(granted.at(name), Some(4711), None).is_ok();
    std::fs::set_permissions(granted.at("shared"), std::fs::Permissions::from_mode(0o1777)).unwrap();
    assert!(by().unwrap().ends_with("/shared/HEAD"));
    // Only who may give files away can say what a stranger's do.
    if !theirs("shared/HEAD") {
        return;
    }
    assert!(by().unwrap().ends_with("/shared/.vscode"));
    assert!(theirs("shared/.vscode"));
    assert_eq!(by(), None);
    // Who runs this is no stranger, whosever the granted folder is.
    lchown(granted.at("shared/mine"), Some(4713), None).unwrap();
    symlink("mine", granted.at("shared/.idea")).unwrap();
    lchown(granted.at("shared"), Some(4712), None).unwrap();
    assert!(by().unwrap().ends_with("/shared/.idea"));
    std::fs::remove_file(granted.at("shared/.idea")).unwrap();
    lchown(granted.at("shared"), Some(0), None).unwrap();
    lchown(granted.at("shared/mine"), Some(0), None).unwrap();
    let is = || refused(&granted, &Mount::open(&granted.at("shared/mine"), Access::ReadWrite).unwrap(), &[("a", "2")]);
    assert!(is().unwrap().1.ends_with("/shared/.git/a"));
    assert!(theirs("shared/.git"));
    assert_eq!(is(), None);
    // Where nobody else may put anything, whose it is says nothing.
    std::fs::set_permissions(granted.at("shared"), std::fs::Permissions::from_mode(0o755)).unwrap();
    assert!(by().is_some());
}

/// A folder that shows at two places is the same one at both.
#[test]
fn the_hosts_own_folders_are_known_wherever_they_show() {
    let granted = Granted::new(&[
        ("home/instances/a/default/state/", ""),
        ("home/key", "1"),
        ("mine/a", "1"),
        ("mine/h/key", "1"),
    ]);
    let own = [granted.at("home")];
    // As a bind mount shows it: under a path that says nothing of it.
    let elsewhere = |path: &str| Mount {
        real_path: "/nowhere/at/all".into(),
        ..Mount::open(&granted.at(path), Access::ReadOnly).unwrap()
    };
    let deep = "home/instances/a/default/state";
    for (path, is_own) in
        [("home", true), ("home/instances", true), (deep, true), ("", true), ("mine", false), ("mine/h", false)]
    {
        assert_eq!(elsewhere(path).is_hosts(&own), is_own, "{path}");
        assert_eq!(Mount::open(&granted.at(path), Access::ReadOnly).unwrap().is_hosts(&own), is_own, "{path}");
    }
    // What shows in a granted folder is not listed.
    let shown = |own: &[PathBuf]| {
        let mount = Mount::open(&granted.at("mine"), Access::ReadOnly).unwrap().without(own);
        let objects = mount.objects("mnt", 1 << 20);
        let tree = hutch_model::snapshot::read_tree(&*objects, &objects.root()).unwrap();
        tree.into_entries().iter().map(|entry| entry.name.to_string()).collect::<Vec<_>>()
    };
    assert_eq!(shown(&own), ["a", "h"]);
    assert_eq!(shown(&[granted.at("mine/h")]), ["a"]);
    // Nor is a file of theirs that has another name there.
    std::fs::hard_link(granted.at("home/key"), granted.at("mine/key")).unwrap();
    assert_eq!(shown(&own), ["a", "h"]);
}

/// What is in the place of something new and was not shown stands there for good: it is not somebody else's change that passes.
#[test]
fn a_name_that_a_run_was_not_shown_is_no_conflict() {
    let granted = Granted::new(&[("a", "1"), ("d/x", "1")]);
    symlink("/etc/passwd", granted.at("out")).unwrap();
    let made = std::process::Command::new("mkfifo").arg(granted.at("d/pipe")).status().unwrap();
    assert!(made.success());
    let mount = granted.mount();
    let cases: [(Files<'_>, &str); 3] = [
        (&[("a", "1"), ("d/x", "1"), ("out", "2")], "out"),
        (&[("a", "2"), ("d/x", "1"), ("d/pipe", "2")], "d/pipe"),
        (&[("a", "1"), ("d/x", "1"), ("d/pipe/x", "2")], "d/pipe"),
    ];
    for (after, hidden) in cases {
        let was = granted.all();
        let error = carry(&mount, &ran(&mount, after), Hands::default()).err().unwrap();
        assert!(matches!(&error, CarryError::NotShown(path) if path == hidden), "{error}");
        assert_eq!(granted.all(), was);
    }
    // Nor is one of the host's own files, whatever it is called there.
    let own = Granted::new(&[("key", "k")]);
    std::fs::hard_link(own.at("key"), granted.at("mine")).unwrap();
    let mount = granted.mount().without(&[own.at("")]);
    let error =
        carry(&mount, &ran(&mount, &[("a", "1"), ("d/x", "1"), ("mine", "2")]), Hands::default()).err().unwrap();
    assert!(matches!(&error, CarryError::NotShown(path) if path == "mine"), "{error}");
    assert_eq!(std::fs::read_to_string(own.at("key")).unwrap(), "k");
}

/// Where there is too much to look at, or to follow, nothing is changed: a guest could push out of sight what it must not change.
#[test]
fn links_are_looked_for_and_followed_so_far_and_nothing_is_changed_beyond() {
    let files: Files<'_> = &[("a/1", ""), ("a/2", ""), ("b/c/CLAUDE.md", "->../../docs/x"), ("docs/x", "1")];
    let granted = Granted::new(files);
    let mount = granted.mount();
    let by = |changed: &str, looks: Looks| {
        let acting = Acting::within(&mount, [changed].into_iter(), looks);
        acting.map(|acting| acting.by(changed, false).map(str::to_owned)).map_err(|error| error.to_string())
    };
    // Names: a, b, docs, 1, 2, c, x, CLAUDE.md. Parts: CLAUDE.md, .., .., docs, x.
    let enough = Looks { names: 8, steps: 5, bytes: 1 << 10 };
    assert_eq!(by("docs/x", enough), Ok(Some("b/c/CLAUDE.md".to_owned())));
    assert_eq!(by("a/1", enough), Ok(None));
    // Names of folders alone: a, b, docs, c.
    let looks = [
        (Looks { names: 7, ..enough }, "names"),
        (Looks { steps: 4, ..enough }, "links"),
        (Looks { bytes: 6, ..enough }, "paths"),
    ];
    for (looks, reason) in looks {
        assert!(by("a/1", looks).unwrap_err().contains(reason), "{looks:?}");
    }
    // What is not where it was granted leads nobody knows where.
    std::fs::create_dir(granted.at("b/d")).unwrap();
    let moved = Mount::open(&granted.at("b/d"), Access::ReadWrite).unwrap();
    std::fs::rename(granted.at("b/d"), granted.at("a/d")).unwrap();
    assert!(Acting::within(&moved, ["x"].into_iter(), LOOKS).is_err());
    std::fs::create_dir(granted.at("b/d")).unwrap();
    assert!(Acting::within(&moved, ["x"].into_iter(), LOOKS).is_err());
    // Links that lead through many others take no more than that together.
    let deep = Granted::new(&[("d/", ""), ("docs/a", "1")]);
    let through = "d/../".repeat(800);
    std::fs::create_dir(deep.at(".x")).unwrap();
    for number in 0..35 {
        let target = format!("../{through}.x/{}", number + 1);
        symlink(target, deep.at(".x").join(number.to_string())).unwrap();
    }
    let error = Acting::within(&deep.mount(), ["docs/a"].into_iter(), LOOKS).err().map(|error| error.to_string());
    assert!(error.is_some_and(|error| error.contains("links")));
}

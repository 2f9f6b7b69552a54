//! Every form of a path, of everything that can stand there, in every operation that takes one: none leads out, and each comes to what it
//! comes to in a real directory.

use super::Pair;
use crate::support::operation::{OpenFlags, Operation, Time};
use crate::support::seen::{Seen, Tree};
use hutch_world::Errno;

/// What there is: folders, files, and links to each, to nothing, upwards, to themselves, and out by an absolute path, which is none.
fn populated(chained: bool) -> (Pair, Tree) {
    let mut pair = Pair::new();
    let text = |text: &str| text.to_owned();
    let symlink = |target: &str, path: &str| Operation::Symlink { base: 0, target: text(target), path: text(path) };
    let open = |into, path: &str, flags: &str| Operation::Open {
        into,
        base: 0,
        path: text(path),
        flags: OpenFlags(text(flags)),
    };
    let mut operations = vec![
        Operation::CreateFolder { base: 0, path: text("d") },
        Operation::CreateFolder { base: 0, path: text("d/e") },
        open(2, "f", "crw"),
        Operation::Write { slot: 2, offset: 0, length: 20, fill: 1 },
        open(3, "d/g", "crw"),
        open(1, "d", "dr"),
        symlink("f", "to-f"),
        symlink("d", "to-d"),
        symlink("nothing", "to-nothing"),
        symlink("../f", "d/up"),
        symlink("../..", "d/out"),
        symlink("..", "above"),
        symlink("loop", "loop"),
        symlink("/proc/self/root", "absolute"),
    ];
    if chained {
        operations.push(symlink("d", "k1"));
        operations.extend((2..=44).map(|at| symlink(&format!("k{}", at - 1), &format!("k{at}"))));
    }
    for operation in operations {
        let seen = pair.step(&operation).unwrap_or_else(|says| panic!("{operation:?}: {says}"));
        let absolute = matches!(&operation, Operation::Symlink { target, .. } if target.starts_with('/'));
        assert_eq!(seen, if absolute { Seen::Failed(Errno::NotPermitted) } else { Seen::Done }, "{operation:?}");
    }
    let tree = pair.compare().unwrap_or_else(|says| panic!("{says}"));
    (pair, tree)
}

/// A path in all the forms that lead there, beyond it, or out.
fn forms(path: &str) -> Vec<String> {
    let mut forms = vec![path.to_owned()];
    for after in
        ["/", "//", "/.", "/./", "/..", "/../", "/../f", "/../../f", "/../../../../../../etc/passwd", "/x", "/x/.."]
    {
        forms.push(format!("{path}{after}"));
    }
    for before in ["./", ".//", "d/../", "d/e/../../", "to-d/../", "../", "../../", "/", "nothing/../"] {
        forms.push(format!("{before}{path}"));
    }
    forms
}

/// Every operation that takes a path, with this one: once for each of the paths that it takes.
fn operations(base: usize, path: &str) -> Vec<Operation> {
    let text = |text: &str| text.to_owned();
    let path = || path.to_owned();
    let mut operations: Vec<Operation> = ["r", "fr", "rw", "cw", "fcrw", "cxw", "tw", "ftw", "dr", "fdr", "cdr"]
        .map(|flags| Operation::Open { into: 4, base, path: path(), flags: OpenFlags(text(flags)) })
        .into();
    for follow in [false, true] {
        let (accessed, modified) = (Time::Keep, Time::At(1_000_000_007, 5));
        operations.extend([
            Operation::StatAt { base, path: path(), follow },
            Operation::SetTimesAt { base, path: path(), follow, accessed, modified },
            Operation::SameAt { slot: 2, base, path: path(), follow },
            Operation::Link { base, path: path(), follow, new_base: 0, new_path: text("new") },
        ]);
    }
    operations.extend([
        Operation::CreateFolder { base, path: path() },
        Operation::RemoveFolder { base, path: path() },
        Operation::Unlink { base, path: path() },
        Operation::ReadLink { base, path: path() },
        Operation::Symlink { base, target: text("f"), path: path() },
        Operation::Symlink { base: 0, target: path(), path: text("new") },
        Operation::Link { base: 0, path: text("f"), follow: false, new_base: base, new_path: path() },
    ]);
    for other in ["new", "f", "d", "d/e", "d/e/deeper", "to-d", "."] {
        let other = text(other);
        operations.extend([
            Operation::Rename { base, path: path(), new_base: 0, new_path: other.clone() },
            Operation::Rename { base: 0, path: other, new_base: base, new_path: path() },
        ]);
    }
    operations
}

#[test]
fn every_form_of_a_path_in_every_operation() {
    let there = ["f", "d", "d/e", "d/g", "to-f", "to-d", "to-nothing", "d/up", "d/out", "above", "loop", "nothing"];
    let paths: Vec<(usize, String)> = there.iter().flat_map(|path| forms(path)).map(|path| (0, path)).collect();
    // From a folder in it, whose top nothing passes either.
    let below = ["e", "g", "up", "out", "nothing"].iter().flat_map(|path| forms(path)).map(|path| (1, path));
    let chain = (38..=44).map(|at| (0, format!("k{at}"))).chain((38..=41).map(|at| (0, format!("k{at}/e"))));
    let names = ["", ".", "..", "/", "//", "CON", "nul.txt", "a\\b", "c:", "new\nline", "\u{202e}", "é", "e\u{301}"];
    let long = [255, 256].map(|length| "n".repeat(length));
    let names = names.into_iter().map(str::to_owned).chain(long).map(|name| (0, name));
    let (mut tried, mut refused, mut wrong) = (0, 0, Vec::new());
    // Made anew whenever something changed.
    let mut made: [Option<(Pair, Tree)>; 2] = [None, None];
    for (base, path) in paths.into_iter().chain(below).chain(chain).chain(names) {
        let chained = path.starts_with('k');
        for operation in operations(base, &path) {
            let (mut pair, before) = made[usize::from(chained)].take().unwrap_or_else(|| populated(chained));
            tried += 1;
            match pair.step(&operation).and_then(|seen| Ok((seen, pair.compare()?))) {
                Ok((seen, after)) => {
                    refused += u64::from(seen == Seen::Failed(Errno::NotPermitted));
                    let closed = pair.step(&Operation::Close { slot: 4 });
                    assert_eq!(closed, Ok(Seen::Done));
                    made[usize::from(chained)] = (after == before).then_some((pair, before));
                }
                Err(says) => wrong.push(format!("{operation:?}\n{says}")),
            }
        }
    }
    assert!(wrong.is_empty(), "{} of {tried}:\n{}", wrong.len(), wrong[..wrong.len().min(20)].join("\n"));
    println!("{tried} operations, {refused} of them led out");
    assert!(tried > 10_000 && refused > 1_000, "{refused} of {tried} led out");
}

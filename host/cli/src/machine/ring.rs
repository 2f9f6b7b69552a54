//! The rings around a command that runs guests. One refuses system calls and is put up as the command begins; two more are put up when the
//! program is there and its guest is about to start, one that judges paths and one that lets through a run's system calls alone: what was
//! needed until then is out of reach from then on.

use crate::flags::global::Ring;
use crate::line::words::Words;
use crate::machine::needs::{Needs, Rings};
use crate::machine::progress;
use crate::refusal::fault::Fault;
use cap_std::fs::Dir;
use hutch::package::open_folder;
use hutch::{Enclose, Failure};
use hutch_model::error_code::ErrorCode;
use hutch_sandbox::ring;
use hutch_sandbox::ring::paths::{self, Held, Left, May, PathsError, WHOLE_ABI};
use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

/// How the system says that access is denied, whoever denies it.
const DENIED: &str = "Permission denied (os error 13)";

/// What became of the ring that judges paths, once the one of a run's system calls was put up with it.
static PATHS: Mutex<Option<Result<Held, PathsError>>> = Mutex::new(None);

/// The commands that there are rings around; the ring of paths is around all but `validate`, which starts no guest.
pub(crate) const AROUND: [&str; 13] = [
    "run",
    "validate",
    "plan",
    "apply",
    "replay",
    "verify",
    "prove",
    "map",
    "ledger show --bisect",
    "check --tests",
    "instance import",
    "certify",
    "dev --once",
];

/// The commands that there are rings around from the moment in which they begin to serve.
pub(crate) const SERVING: [&str; 2] = ["mcp", "serve"];

/// The commands that ask components what they are, in a process that there is a ring around, and start no other guest.
pub(crate) const ASKING: [&str; 7] = ["check", "pack", "push", "sign", "meta", "examples", "explain-error"];

/// The commands that there are rings around, but those that are left out, as they are told.
pub(crate) fn around(left_out: &[&str]) -> String {
    listed(AROUND.into_iter().chain(SERVING).filter(|name| !left_out.contains(name)).collect())
}

/// The commands that ask components, as they are told.
pub(crate) fn asking() -> String {
    listed(ASKING.to_vec())
}

fn listed(names: Vec<&str>) -> String {
    match names.split_last() {
        Some((last, others)) => format!("{} and {last}", others.join(", ")),
        None => String::new(),
    }
}

/// When there are rings around the guests of a command: as its line says, else as the surroundings do. `None` for those that have none: a line
/// that asks for rings all the same is refused, and so is a guest where the surroundings require them.
pub(crate) fn of(
    needs: Needs,
    asked: Option<Ring>,
    setting: fn() -> Result<Ring, Fault>,
) -> Result<Option<Ring>, Fault> {
    match (needs.rings, asked) {
        (Rings::Child | Rings::Process | Rings::Server, asked) => asked.map_or_else(setting, Ok).map(Some),
        (Rings::None, Some(_)) => {
            let message =
                format!("there are rings around {} alone, and where {} ask a component", around(&[]), asking());
            Err(Fault::usage(message))
        }
        (Rings::None, None) => Ok(None),
    }
}

fn elsewhere() -> String {
    format!("HUTCH_RING requires rings, and guests have some in {} alone", around(&["validate"]))
}

/// Closes what whoever started the program left open, but what a word of the line or a variable's value names. Nothing is opened before.
pub(crate) fn inherit(needs: Needs, asked: Option<Ring>, words: &Words, values: impl Iterator<Item = OsString>) {
    if is_process(needs) && matches!(asked, Some(Ring::Auto | Ring::Required)) {
        let mut kept: Vec<i32> = words.host.iter().chain(&words.guest).flat_map(|word| named(word)).collect();
        values.for_each(|value| kept.extend(named(&value.to_string_lossy())));
        ring::inherited::close(&kept);
    }
}

/// Whether there are rings around the process itself.
fn is_process(needs: Needs) -> bool {
    matches!(needs.rings, Rings::Process | Rings::Server)
}

/// The descriptors that a text names, as `/dev/fd/3` or `/proc/self/fd/3`.
fn named(text: &str) -> impl Iterator<Item = i32> + '_ {
    text.split("/fd/").skip(1).filter_map(|rest| {
        let digits = rest.find(|c: char| !c.is_ascii_digit()).map_or(rest, |end| rest.get(..end).unwrap_or_default());
        digits.parse().ok()
    })
}

/// Puts up the ring that refuses system calls, before there are other threads, but around a server, which makes its sockets first. Where rings are
/// required, nothing begins without them.
pub(crate) fn begin(needs: Needs, asked: Option<Ring>) -> Result<(), Fault> {
    match asked.filter(|_| is_process(needs)) {
        None | Some(Ring::Off) => return Ok(()),
        Some(Ring::Auto) => {}
        Some(Ring::Required) => {
            if !ring::is_there() {
                return Err(Fault::new(ErrorCode::RingRequired, "this system has no filter for system calls"));
            }
            let abi = paths::abi();
            if abi < WHOLE_ABI {
                let found = format!("this system has Landlock {abi}, and all that is promised begins with {WHOLE_ABI}");
                return Err(Fault::new(ErrorCode::RingRequired, found));
            }
        }
    }
    if needs.rings == Rings::Server {
        return Ok(());
    }
    ring::around_guests().map_err(|error| Fault::host(format!("the ring around the run could not be put up: {error}")))
}

/// Puts up the ring that judges paths and the one of a run's system calls, once. `read` are folders that are read later, if they are there.
pub(crate) fn encloser(asked: Ring, read: Vec<PathBuf>) -> Arc<Enclose> {
    Arc::new(move |left, role| {
        let not_up =
            |ring: &str, reason: &dyn std::fmt::Display| format!("the ring {ring} could not be put up: {reason}");
        let mut known = PATHS.lock().unwrap_or_else(PoisonError::into_inner);
        let is_first = known.is_none();
        let entered = known.get_or_insert_with(|| {
            let folders: Vec<_> = read.iter().filter_map(|folder| open_folder(folder).ok()).collect();
            let more = folders.iter().map(|folder| (folder, May::Read));
            let all: Vec<Left<'_>> = left.iter().copied().chain(more).collect();
            // Who tells what takes long would be out of it.
            progress::hold();
            let entered = paths::enter(&all);
            progress::go_on();
            entered
        });
        let missing = |reason: String| Err(Failure::Unenclosed { reason, missing: true });
        match (entered, asked) {
            (Ok(Held::Partly), Ring::Required) => missing("the ring that judges paths is not whole".to_owned()),
            (Err(PathsError::Missing(reason)), Ring::Required) => missing(not_up("that judges paths", reason)),
            (Err(threads @ PathsError::Threads { .. }), _) => {
                Err(Failure::Unenclosed { reason: not_up("that judges paths", threads), missing: false })
            }
            _ if is_first => ring::guest_starts(&owners(left), role).map_err(|error| {
                *known = None;
                Failure::Unenclosed { reason: not_up("of a run's system calls", &error), missing: false }
            }),
            _ => Ok(()),
        }
    })
}

/// Whose the folders are that a run writes in.
fn owners(left: &[Left<'_>]) -> Vec<(u32, u32)> {
    #[cfg(unix)]
    let owner = |folder: &Dir| {
        use cap_std::fs::MetadataExt;
        folder.dir_metadata().ok().map(|metadata| (metadata.uid(), metadata.gid()))
    };
    #[cfg(not(unix))]
    let owner = |_: &Dir| None;
    let mut owners: Vec<_> =
        left.iter().filter(|(_, may)| *may == May::Write).filter_map(|(folder, _)| owner(folder)).collect();
    owners.sort_unstable();
    owners.dedup();
    owners
}

/// Lets no guest start: rings are required, and there are none around this command.
pub(crate) fn refuser() -> Arc<Enclose> {
    Arc::new(|_, _| Err(Failure::Unenclosed { reason: elsewhere(), missing: true }))
}

/// A failure that may be the doing of the ring that judges paths says so: the system's words are those for any file.
pub(crate) fn told(fault: Fault) -> Fault {
    let is_up = matches!(&*PATHS.lock().unwrap_or_else(PoisonError::into_inner), Some(Ok(_)));
    match is_up && fault.report().message.contains(DENIED) {
        true => fault
            .suggest("the run was behind a ring that judges paths: --ring off shows whether it is what refused this"),
        false => fault,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn descriptors_are_known_by_the_paths_that_lead_to_them() {
        let all = |text: &str| named(text).collect::<Vec<_>>();
        assert_eq!(all("/dev/fd/63"), [63]);
        assert_eq!(all("--input=/proc/self/fd/7:/proc/12/task/12/fd/8/x"), [7, 8]);
        for none in ["", "fd/3", "/dev/fd/", "/dev/fd/x", "/fd/99999999999", "3"] {
            assert_eq!(all(none), [0; 0], "{none}");
        }
    }

    #[test]
    fn the_page_names_the_commands_that_there_are_rings_around() {
        let page = include_str!("../../../../SECURITY.md");
        let listed = |names: &[&str]| names.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ");
        let guests: Vec<&str> = AROUND.into_iter().filter(|name| *name != "validate").collect();
        for list in [listed(&AROUND), listed(&guests), listed(&ASKING), listed(&SERVING)] {
            assert!(["; ", ", once"].iter().any(|end| page.contains(&format!("({list}{}", end.trim_end()))), "{list}");
        }
        assert_eq!(
            around(&["validate"]),
            "run, plan, apply, replay, verify, prove, map, ledger show --bisect, check --tests, instance import, certify, dev --once, mcp and serve"
        );
    }

    #[test]
    fn who_may_have_been_refused_by_the_ring_is_told_so_and_nobody_else() {
        let advice = |message: &str| told(Fault::host(message)).report().suggestion.clone();
        let (denied, other) = (format!("/a/b: {}", std::io::Error::from_raw_os_error(13)), "/a/b: no space");
        assert_eq!(advice(&denied), ErrorCode::HostFault.fix());
        *PATHS.lock().unwrap() = Some(Ok(Held::Whole));
        assert!(advice(&denied).contains("--ring off"));
        assert_eq!(advice(other), ErrorCode::HostFault.fix());
        *PATHS.lock().unwrap() = Some(Err(PathsError::Missing(String::new())));
        assert_eq!(advice(&denied), ErrorCode::HostFault.fix());
    }
}

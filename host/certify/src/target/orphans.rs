//! What a program leaves running outside of its process group, as whatever calls `setsid`: it comes to this process, once that asks for it, and is
//! ended. For a process that starts nothing else, because nobody can tell whose a child is. Linux alone: elsewhere nothing comes.

#[cfg(target_os = "linux")]
use rustix::process::{
    Pid, Signal, WaitId, WaitIdOptions, WaitOptions, getpid, kill_process, set_child_subreaper, waitid, waitpid,
};

/// How often it is looked whether all are gone, with a millisecond between: what is ended takes its time on a machine that is busy elsewhere.
#[cfg(target_os = "linux")]
const LOOKS: usize = 10_000;

/// Has this process be the parent of what those that it starts leave behind, for good, unless it has children already. Whether it is.
pub fn adopt() -> bool {
    #[cfg(target_os = "linux")]
    return !are_there() && set_child_subreaper(Some(getpid())).is_ok();
    #[cfg(not(target_os = "linux"))]
    false
}

/// Whether this process has children.
#[cfg(target_os = "linux")]
pub(super) fn are_there() -> bool {
    let looked = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
    waitid(WaitId::All, looked).is_ok()
}

#[cfg(not(target_os = "linux"))]
pub(super) fn are_there() -> bool {
    false
}

/// Ends all children of this process, and all that come to it with that.
#[cfg(target_os = "linux")]
#[expect(clippy::disallowed_methods, reason = "nothing tells when all that comes has come")]
pub(super) fn end() {
    for _ in 0..LOOKS {
        if !are_there() {
            return;
        }
        for child in children() {
            // One that is gone by now is what is wanted.
            let _ = kill_process(child, Signal::KILL);
            let _ = waitpid(Some(child), WaitOptions::NOHANG);
        }
        std::thread::sleep(std::time::Duration::from_millis(1));
    }
}

#[cfg(not(target_os = "linux"))]
pub(super) fn end() {}

#[cfg(target_os = "linux")]
#[expect(clippy::disallowed_methods, reason = "the system's own list, at a path that is no file of anybody's")]
fn children() -> impl Iterator<Item = Pid> {
    let own = getpid().as_raw_nonzero().to_string();
    let processes = std::fs::read_dir("/proc").into_iter().flatten().flatten();
    processes.filter_map(move |process| {
        let number: i32 = process.file_name().to_str()?.parse().ok()?;
        let said = std::fs::read(process.path().join("stat")).ok()?;
        let said = String::from_utf8_lossy(&said);
        // Behind its name, which may hold anything: what it is doing, and whose child it is.
        let parent = said.rsplit_once(')')?.1.split_whitespace().nth(1)?;
        (parent == own).then(|| Pid::from_raw(number)).flatten()
    })
}

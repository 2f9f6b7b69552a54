//! The ring that judges paths, which no filter of system calls can: Landlock. It binds a thread and what it starts from then on, so it is
//! put up while there is one thread alone. Knows no store and no package: what stays within reach is named by who calls.
//!
//! Linux alone. What is open already stays open.

use cap_std::fs::Dir;

/// What may be done with something, and with all below it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum May {
    /// Files are read, folders are listed.
    Read,
    /// The same; and files, folders and symbolic links are made, changed, moved and removed.
    Write,
}

/// A folder that stays within reach: the one that is open here, whatever its path leads to by now.
pub type Left<'a> = (&'a Dir, May);

/// Why there is no such ring.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum PathsError {
    /// The kernel has none, or one that would be in the way, or something keeps this process from it.
    #[error("{0}")]
    Missing(String),
    /// What runs already would not be bound by it: a fault of the host.
    #[error("{threads} threads run where one may")]
    Threads {
        /// As many.
        threads: usize,
    },
}

/// How much of the ring there is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Held {
    /// All that is promised of it.
    Whole,
    /// What an older kernel knows.
    Partly,
}

/// The first version of Landlock that has all that is promised: it came with Linux 6.12.
pub const WHOLE_ABI: u32 = 6;

/// Leaves this thread and all that it starts, for good, with the folders that are `left`. Nothing can be executed. The network's ports
/// and processes outside are out of reach too, if the kernel knows of that.
///
/// # Errors
/// See [`PathsError`]. Nothing was put up.
pub fn enter(left: &[Left<'_>]) -> Result<Held, PathsError> {
    #[cfg(all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64")))]
    return linux::enter(left);
    #[cfg(not(all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64"))))]
    Err(PathsError::Missing(format!("nothing here judges paths, for {} folders", left.len())))
}

/// Leaves this thread and all that it starts, for good, with changes below this folder alone: elsewhere nothing is made, written, moved or
/// removed, and no process outside is signalled if the kernel knows of that. What is read and started is judged by nothing, nor is the
/// network, and a program may be started; other threads are as they were.
///
/// # Errors
/// See [`PathsError`]. Nothing was put up.
pub fn change_only_below(folder: &Dir) -> Result<(), PathsError> {
    #[cfg(all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64")))]
    return linux::change_only_below(folder);
    #[cfg(not(all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64"))))]
    Err(PathsError::Missing(format!("nothing here judges paths, as those below {folder:?}")))
}

/// The version of Landlock that this kernel has; 0 if it has none.
pub fn abi() -> u32 {
    #[cfg(all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64")))]
    return linux::abi();
    #[cfg(not(all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64"))))]
    0
}

#[cfg(all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64")))]
mod linux {
    use super::{Dir, Held, Left, May, PathsError};
    use landlock::{
        ABI, Access, AccessFs, AccessNet, BitFlags, CompatLevel, Compatible, LandlockStatus, PathBeneath, PathFd,
        RestrictSelf, Ruleset, RulesetAttr, RulesetCreatedAttr, RulesetError, RulesetStatus, Scope, make_bitflags,
    };
    use std::os::fd::AsFd;
    use std::time::Duration;

    /// What is judged: all that this version knows, whatever later ones add.
    const JUDGED: ABI = ABI::V7;

    /// What has to end has nothing left to do: it is a thread that said its last word, or has been waited for.
    const ENDING: Duration = Duration::from_secs(10);
    const PAUSE: Duration = Duration::from_millis(1);

    /// Nobody writes devices, pipes or sockets into a folder, and nothing there is started.
    const READ: BitFlags<AccessFs> = make_bitflags!(AccessFs::{ReadFile | ReadDir});
    const CHANGE: BitFlags<AccessFs> = make_bitflags!(AccessFs::{
        WriteFile | Truncate | MakeReg | MakeDir | MakeSym | RemoveFile | RemoveDir | Refer
    });

    pub(super) fn enter(left: &[Left<'_>]) -> Result<Held, PathsError> {
        // Where nothing judges paths it does not matter what runs: an emulator has threads of its own.
        if abi() == 0 {
            return Err(PathsError::Missing("this system has no Landlock, or keeps it from hutch".to_owned()));
        }
        alone()?;
        put_up(left).map_err(|error| PathsError::Missing(error.to_string()))
    }

    fn put_up(left: &[Left<'_>]) -> Result<Held, RulesetError> {
        // The first version keeps everybody from moving files between folders, which the store does.
        let mut ring = Ruleset::default()
            .set_compatibility(CompatLevel::HardRequirement)
            .handle_access(AccessFs::Refer)?
            .set_compatibility(CompatLevel::BestEffort)
            .handle_access(AccessFs::from_all(JUDGED))?
            .handle_access(AccessNet::from_all(JUDGED))?
            .scope(Scope::from_all(JUDGED))?
            .create()?;
        for (folder, may) in left {
            let access = if *may == May::Write { READ | CHANGE } else { READ };
            ring = ring.add_rule(PathBeneath::new(folder.as_fd(), access))?;
        }
        Ok(match ring.restrict_self()?.ruleset {
            RulesetStatus::FullyEnforced => Held::Whole,
            _ => Held::Partly,
        })
    }

    /// What programs make beside files, folders and links.
    const SPECIAL: BitFlags<AccessFs> = make_bitflags!(AccessFs::{MakeChar | MakeBlock | MakeFifo | MakeSock});

    /// Devices that programs write to, and that keep nothing.
    const SINKS: [&str; 3] = ["/dev/null", "/dev/full", "/dev/tty"];

    pub(super) fn change_only_below(folder: &Dir) -> Result<(), PathsError> {
        if abi() == 0 {
            return Err(PathsError::Missing("this system has no Landlock, or keeps it from hutch".to_owned()));
        }
        keep_below(folder).map_err(|error| PathsError::Missing(error.to_string()))
    }

    fn keep_below(folder: &Dir) -> Result<(), RulesetError> {
        let mut ring = Ruleset::default()
            .set_compatibility(CompatLevel::HardRequirement)
            .handle_access(CHANGE | SPECIAL)?
            .set_compatibility(CompatLevel::BestEffort)
            .scope(Scope::Signal)?
            .create()?
            .add_rule(PathBeneath::new(folder.as_fd(), CHANGE | SPECIAL))?;
        for sink in SINKS.iter().filter_map(|path| PathFd::new(path).ok()) {
            ring = ring.add_rule(PathBeneath::new(sink, AccessFs::WriteFile))?;
        }
        ring.restrict_self().map(|_| ())
    }

    /// Waits for threads that are ending, until there is this one alone.
    fn alone() -> Result<(), PathsError> {
        let mut waited = Duration::ZERO;
        loop {
            #[expect(
                clippy::disallowed_methods,
                reason = "the system's own list, at a path that is no file of anybody's"
            )]
            let threads = std::fs::read_dir("/proc/self/task").map(Iterator::count);
            match threads {
                Ok(1) => return Ok(()),
                Ok(threads) if waited >= ENDING => return Err(PathsError::Threads { threads }),
                Ok(_) => {}
                Err(error) => return Err(PathsError::Missing(format!("/proc/self/task: {error}"))),
            }
            #[expect(clippy::disallowed_methods, reason = "the system has no event for the end of a thread")]
            std::thread::sleep(PAUSE);
            waited += PAUSE;
        }
    }

    pub(super) fn abi() -> u32 {
        // Without anything to restrict it only asks.
        let asked = RestrictSelf::default().no_new_privs(false).apply();
        match asked.map(|asked| asked.landlock) {
            Ok(LandlockStatus::Available { effective_abi, kernel_abi }) => {
                kernel_abi.and_then(|abi| u32::try_from(abi).ok()).unwrap_or(effective_abi as u32)
            }
            _ => 0,
        }
    }
}

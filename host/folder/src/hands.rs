//! Changing folders. Each change is one step, which a test can make fail, alone or with all that follow, as if the process had
//! ended there.

use crate::read::look;
use crate::stamp::{Form, Stamp};
use cap_fs_ext::{DirExt, FollowSymlinks, OpenOptionsFollowExt, SystemTimeSpec};
use cap_std::fs::{Dir, OpenOptions};
use cap_std::time::SystemTime;
use std::fs::File;
use std::io::{self, Seek};
use std::sync::Arc;
use std::time::Duration;

/// A change that is about to be made.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Step {
    /// A folder is made.
    CreateFolder,
    /// An empty folder is removed.
    RemoveFolder,
    /// A file or link that is of no more use is removed.
    Drop,
    /// A file is made.
    CreateFile,
    /// Bytes are written.
    Write,
    /// Bytes are made durable.
    Sync,
    /// A link is made.
    CreateLink,
    /// Something is moved, or two things change places.
    Move,
    /// Two things change places in one step. [`io::ErrorKind::Unsupported`] stands for a system that has none such.
    Exchange,
    /// A time or a permission is set.
    Attribute,
}

/// What makes folders at a path that nobody else may enter, whatever the umask lets: for a home's own, whose path is known to who calls.
pub fn private_folders() -> std::fs::DirBuilder {
    #[cfg_attr(not(unix), expect(unused_mut, reason = "there are no modes"))]
    let mut builder = std::fs::DirBuilder::new();
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder
}

/// So many zeros at a file's end are no bytes but a length, where the file system has holes: who makes a file long need not have bytes for it.
const HOLE_BYTES: usize = 4096;

/// Says whether a step succeeds.
type Check = Arc<dyn Fn(Step) -> io::Result<()> + Send + Sync>;

/// What changes real folders.
#[derive(Clone, Default)]
pub struct Hands {
    check: Option<Check>,
}

impl std::fmt::Debug for Hands {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Hands")
    }
}

/// What became of something that was to be moved out of the way.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Gone {
    /// It is where it was moved to.
    Moved,
    /// Something else stood there by then; that was put back and stands there still.
    Changed,
}

fn time(ns: u64) -> io::Result<std::time::SystemTime> {
    let time = std::time::UNIX_EPOCH.checked_add(Duration::from_nanos(ns));
    time.ok_or_else(|| io::Error::new(io::ErrorKind::InvalidInput, "the system has no such time"))
}

impl Hands {
    /// Hands whose every step first asks `check`. For tests of what happens when the system fails.
    pub fn checked(check: impl Fn(Step) -> io::Result<()> + Send + Sync + 'static) -> Hands {
        Hands { check: Some(Arc::new(check)) }
    }

    fn step(&self, step: Step) -> io::Result<()> {
        self.check.as_ref().map_or(Ok(()), |check| check(step))
    }

    /// Makes a folder, with the permissions that the system gives it.
    ///
    /// # Errors
    /// Something has the name, or the system's refusal. So for all that follow.
    pub fn create_folder(&self, parent: &Dir, name: &str) -> io::Result<()> {
        self.step(Step::CreateFolder)?;
        parent.create_dir(name)
    }

    /// Makes a folder that only its owner may enter.
    ///
    /// # Errors
    /// As above.
    pub fn create_private_folder(&self, parent: &Dir, name: &str) -> io::Result<()> {
        self.step(Step::CreateFolder)?;
        #[cfg(unix)]
        {
            let mut builder = cap_std::fs::DirBuilder::new();
            cap_std::fs::DirBuilderExt::mode(&mut builder, 0o700);
            parent.create_dir_with(name, &builder)
        }
        #[cfg(not(unix))]
        parent.create_dir(name)
    }

    /// Removes an empty folder.
    ///
    /// # Errors
    /// It is not empty, or the system's refusal.
    pub fn remove_folder(&self, parent: &Dir, name: &str) -> io::Result<()> {
        self.step(Step::RemoveFolder)?;
        parent.remove_dir(name)
    }

    /// Removes a file or link that is of no more use: one that was moved aside and looked at.
    ///
    /// # Errors
    /// The system's refusal.
    pub fn drop_file(&self, parent: &Dir, name: &str) -> io::Result<()> {
        self.step(Step::Drop)?;
        parent.remove_file_or_symlink(name)
    }

    /// Makes a new file that only its owner may read, open for writing.
    ///
    /// # Errors
    /// Something has the name, or the system's refusal.
    pub fn create_private_file(&self, parent: &Dir, name: &str) -> io::Result<File> {
        self.step(Step::CreateFile)?;
        let mut options = OpenOptions::new();
        options.write(true).create_new(true).follow(FollowSymlinks::No);
        #[cfg(unix)]
        cap_std::fs::OpenOptionsExt::mode(&mut options, 0o600);
        Ok(parent.open_with(name, &options)?.into_std())
    }

    /// Makes a new file with the permissions that the system gives it, open for writing.
    ///
    /// # Errors
    /// Something has the name, or the system's refusal.
    pub fn create_file(&self, parent: &Dir, name: &str) -> io::Result<File> {
        self.step(Step::CreateFile)?;
        let mut options = OpenOptions::new();
        options.write(true).create_new(true).follow(FollowSymlinks::No);
        Ok(parent.open_with(name, &options)?.into_std())
    }

    /// Writes to a new file.
    ///
    /// # Errors
    /// The system's refusal.
    pub fn write(&self, mut file: &File, bytes: &[u8]) -> io::Result<()> {
        self.step(Step::Write)?;
        if bytes.len() >= HOLE_BYTES && bytes.iter().all(|byte| *byte == 0) {
            let end = file.stream_position()?.saturating_add(bytes.len() as u64);
            if file.metadata()?.len().saturating_add(bytes.len() as u64) == end {
                file.set_len(end)?;
                return file.seek(io::SeekFrom::Start(end)).map(drop);
            }
        }
        io::Write::write_all(&mut file, bytes)
    }

    /// Sets who may do what with an open file: the nine bits of owner, group and others, and never more.
    ///
    /// # Errors
    /// The system's refusal.
    #[cfg(unix)]
    pub fn set_mode(&self, file: &File, mode: u32) -> io::Result<()> {
        self.step(Step::Attribute)?;
        file.set_permissions(std::os::unix::fs::PermissionsExt::from_mode(mode & 0o777))
    }

    /// Gives an open file or folder to a user, or to a group.
    ///
    /// # Errors
    /// The system's refusal.
    #[cfg(unix)]
    pub fn set_owner(&self, file: &File, user: Option<u32>, group: Option<u32>) -> io::Result<()> {
        self.step(Step::Attribute)?;
        std::os::unix::fs::fchown(file, user, group)
    }

    /// Sets when an open file was last changed.
    ///
    /// # Errors
    /// The system's refusal.
    pub fn set_file_modified(&self, file: &File, modified_ns: u64) -> io::Result<()> {
        self.step(Step::Attribute)?;
        file.set_modified(time(modified_ns)?)
    }

    /// Makes a file's bytes durable.
    ///
    /// # Errors
    /// The system's refusal.
    pub fn sync(&self, file: &File) -> io::Result<()> {
        self.step(Step::Sync)?;
        file.sync_all()
    }

    /// Makes what stands in a folder durable: its names, not what they hold.
    ///
    /// # Errors
    /// The system's refusal.
    #[cfg(unix)]
    pub fn sync_folder(&self, folder: &Dir) -> io::Result<()> {
        self.step(Step::Sync)?;
        // A folder is opened for its names alone; to sync one it must be opened for reading.
        folder.open(".")?.sync_all()
    }

    /// Makes all that a folder's file system holds durable: one wait in place of one for each of many files.
    ///
    /// # Errors
    /// The system's refusal, also of what was written before and not synced.
    #[cfg(target_os = "linux")]
    pub fn sync_file_system(&self, folder: &Dir) -> io::Result<()> {
        self.step(Step::Sync)?;
        Ok(rustix::fs::syncfs(folder.open(".")?)?)
    }

    /// Makes a link.
    ///
    /// # Errors
    /// Something has the name, or the system's refusal.
    pub fn create_link(&self, parent: &Dir, name: &str, target: &str) -> io::Result<()> {
        self.step(Step::CreateLink)?;
        DirExt::symlink(parent, target, name)
    }

    /// Sets when a file, link or folder was last changed.
    ///
    /// # Errors
    /// The system's refusal.
    pub fn set_modified(&self, parent: &Dir, name: &str, modified_ns: u64) -> io::Result<()> {
        self.step(Step::Attribute)?;
        let time = SystemTimeSpec::Absolute(SystemTime::from_std(time(modified_ns)?));
        parent.set_symlink_times(name, None, Some(time))
    }

    /// Moves something to a place where nothing stands.
    ///
    /// # Errors
    /// [`io::ErrorKind::AlreadyExists`], and nothing was moved; or the system's refusal.
    pub fn place(&self, from: (&Dir, &str), to: (&Dir, &str)) -> io::Result<()> {
        self.step(Step::Move)?;
        rename_new(from, to)
    }

    /// Moves a file or link out of the way to a place where nothing stands, if it is the one that looked like `stamp`.
    ///
    /// # Errors
    /// The system's refusal. It stands where it stood, or, if it was another one and could not be put back, where it was moved to.
    pub fn move_aside(&self, from: (&Dir, &str), stamp: &Stamp, to: (&Dir, &str)) -> io::Result<Gone> {
        self.step(Step::Move)?;
        match rename_new(from, to) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Gone::Changed),
            moved => moved?,
        }
        if look(to.0, to.1)?.is_some_and(|moved| moved.moved(stamp)) {
            return Ok(Gone::Moved);
        }
        self.step(Step::Move)?;
        rename_new(to, from)?;
        Ok(Gone::Changed)
    }

    /// Lets what is staged at `new` and the file or link at `old`, if it is the one that looked like `stamp`, change places.
    ///
    /// If it was another one, what stands at `new` afterwards is what stood at `old` by then: what is staged, or what somebody put
    /// there in between.
    ///
    /// # Errors
    /// The system's refusal. Both are where they were, or, if it was another one and could not be put back, in each other's place.
    pub fn exchange(&self, new: (&Dir, &str), old: (&Dir, &str), stamp: &Stamp) -> io::Result<Gone> {
        self.step(Step::Move)?;
        match swap(new, old) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Gone::Changed),
            swapped => swapped?,
        }
        // What came out may be what somebody else put there since it was looked at.
        if look(new.0, new.1)?.is_some_and(|out| out.moved(stamp) && out.form != Form::Folder) {
            return Ok(Gone::Moved);
        }
        self.step(Step::Move)?;
        swap(new, old)?;
        Ok(Gone::Changed)
    }

    /// The same in one step, or not at all: nothing is ever under a name that the caller did not give, so whoever comes after a process
    /// that ended in the middle finds everything.
    ///
    /// # Errors
    /// [`io::ErrorKind::Unsupported`], and nothing was moved: the system, or the file system, has no such step. Otherwise as there.
    pub fn exchange_at_once(&self, new: (&Dir, &str), old: (&Dir, &str), stamp: &Stamp) -> io::Result<Gone> {
        self.step(Step::Exchange)?;
        match swap_at_once(new, old) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Gone::Changed),
            swapped => swapped?,
        }
        if look(new.0, new.1)?.is_some_and(|out| out.moved(stamp) && out.form != Form::Folder) {
            return Ok(Gone::Moved);
        }
        // By now something was moved, whatever is said.
        self.step(Step::Exchange).and_then(|()| swap_at_once(new, old)).map_err(io::Error::other)?;
        Ok(Gone::Changed)
    }

    /// Lets two things change places, whatever they are: at each place there is always one of them, but for a moment where the system
    /// has no exchange.
    ///
    /// # Errors
    /// The system's refusal, and both are where they were.
    pub fn swap(&self, one: (&Dir, &str), other: (&Dir, &str)) -> io::Result<()> {
        self.step(Step::Move)?;
        swap(one, other)
    }
}

#[cfg(target_os = "linux")]
fn rename_new(from: (&Dir, &str), to: (&Dir, &str)) -> io::Result<()> {
    use rustix::fs::{RenameFlags, renameat_with};
    match renameat_with(from.0, from.1, to.0, to.1, RenameFlags::NOREPLACE) {
        // A file system that can't say so: looked at first, and the window is as small as it gets.
        Err(rustix::io::Errno::INVAL | rustix::io::Errno::NOSYS) => rename_if_free(from, to),
        renamed => Ok(renamed?),
    }
}

#[cfg(not(target_os = "linux"))]
fn rename_new(from: (&Dir, &str), to: (&Dir, &str)) -> io::Result<()> {
    rename_if_free(from, to)
}

fn rename_if_free(from: (&Dir, &str), to: (&Dir, &str)) -> io::Result<()> {
    match look(to.0, to.1)? {
        Some(_) => Err(io::ErrorKind::AlreadyExists.into()),
        None => from.0.rename(from.1, to.0, to.1),
    }
}

#[cfg(target_os = "linux")]
fn swap_at_once(a: (&Dir, &str), b: (&Dir, &str)) -> io::Result<()> {
    use rustix::fs::{RenameFlags, renameat_with};
    match renameat_with(a.0, a.1, b.0, b.1, RenameFlags::EXCHANGE) {
        Err(rustix::io::Errno::INVAL | rustix::io::Errno::NOSYS | rustix::io::Errno::OPNOTSUPP) => {
            Err(io::ErrorKind::Unsupported.into())
        }
        swapped => Ok(swapped?),
    }
}

#[cfg(not(target_os = "linux"))]
fn swap_at_once(_: (&Dir, &str), _: (&Dir, &str)) -> io::Result<()> {
    Err(io::ErrorKind::Unsupported.into())
}

fn swap(a: (&Dir, &str), b: (&Dir, &str)) -> io::Result<()> {
    match swap_at_once(a, b) {
        Err(error) if error.kind() == io::ErrorKind::Unsupported => swap_by_moves(a, b),
        swapped => swapped,
    }
}

/// Three moves where there is no exchange. The place of `b` is empty for a moment, and what stood there has a name of its own, which
/// whoever looks after a process that ended must know.
fn swap_by_moves(a: (&Dir, &str), b: (&Dir, &str)) -> io::Result<()> {
    let between = format!("{}.swap", a.1);
    rename_if_free(b, (a.0, &between))?;
    if let Err(error) = rename_if_free(a, b) {
        rename_if_free((a.0, &between), b)?;
        return Err(error);
    }
    rename_if_free((a.0, &between), a)
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Setting(tempfile::TempDir, Dir);

    impl Setting {
        fn new(files: &[(&str, &str)]) -> Setting {
            let home = tempfile::tempdir().unwrap();
            for (name, content) in files {
                std::fs::write(home.path().join(name), content).unwrap();
            }
            let dir = Dir::open_ambient_dir(home.path(), cap_std::ambient_authority()).unwrap();
            Setting(home, dir)
        }

        fn text(&self, name: &str) -> Option<String> {
            std::fs::read_to_string(self.0.path().join(name)).ok()
        }

        fn stamp(&self, name: &str) -> Stamp {
            look(&self.1, name).unwrap().unwrap()
        }
    }

    /// Zeros that nobody wrote are a length and no bytes; zeros over something are written.
    #[test]
    fn zeros_at_the_end_take_no_place_and_are_there() {
        let setting = Setting::new(&[]);
        let hands = Hands::default();
        let zeros = vec![0; 1 << 20];
        let parts = [&b"begin"[..], &zeros, b"middle", &zeros[..HOLE_BYTES - 1], b"\0", &zeros, &zeros];
        let file = hands.create_file(&setting.1, "long").unwrap();
        parts.iter().for_each(|part| hands.write(&file, part).unwrap());
        let path = setting.0.path().join("long");
        assert!(std::fs::read(&path).unwrap() == parts.concat(), "other bytes");
        #[cfg(target_os = "linux")]
        {
            let taken = std::os::unix::fs::MetadataExt::blocks(&std::fs::metadata(&path).unwrap()) * 512;
            assert!(taken < 1 << 19, "{taken} bytes of the disk");
        }
        let mut over = std::fs::File::options().write(true).open(&path).unwrap();
        hands.write(&over, &zeros[..HOLE_BYTES]).unwrap();
        over.seek(io::SeekFrom::Start(1 << 20)).unwrap();
        hands.write(&over, &zeros[..HOLE_BYTES]).unwrap();
        let mut expected = parts.concat();
        expected[..HOLE_BYTES].fill(0);
        expected[1 << 20..(1 << 20) + HOLE_BYTES].fill(0);
        assert!(std::fs::read(&path).unwrap() == expected, "other bytes");
    }

    #[test]
    fn nothing_is_placed_over_something() {
        let setting = Setting::new(&[("new", "new"), ("old", "old")]);
        let error = Hands::default().place((&setting.1, "new"), (&setting.1, "old")).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::AlreadyExists);
        assert_eq!((setting.text("new").as_deref(), setting.text("old").as_deref()), (Some("new"), Some("old")));
        Hands::default().place((&setting.1, "new"), (&setting.1, "free")).unwrap();
        assert_eq!((setting.text("new"), setting.text("free").as_deref()), (None, Some("new")));
    }

    #[test]
    fn what_somebody_saved_meanwhile_is_put_back() {
        type Swap = fn((&Dir, &str), (&Dir, &str)) -> io::Result<()>;
        for swap in [swap as Swap, swap_by_moves] {
            let setting = Setting::new(&[("a", "a"), ("b", "b")]);
            swap((&setting.1, "a"), (&setting.1, "b")).unwrap();
            assert_eq!((setting.text("a").as_deref(), setting.text("b").as_deref()), (Some("b"), Some("a")));
        }
        let hands = Hands::default();
        let setting = Setting::new(&[("new", "new"), ("old", "old")]);
        let seen = setting.stamp("old");
        std::fs::write(setting.0.path().join("old"), "saved meanwhile").unwrap();
        let gone = hands.exchange((&setting.1, "new"), (&setting.1, "old"), &seen).unwrap();
        assert_eq!((gone, setting.text("old").as_deref()), (Gone::Changed, Some("saved meanwhile")));
        assert_eq!(setting.text("new").as_deref(), Some("new"));
        let gone = hands.move_aside((&setting.1, "old"), &seen, (&setting.1, "aside")).unwrap();
        assert_eq!((gone, setting.text("old").as_deref()), (Gone::Changed, Some("saved meanwhile")));
        assert_eq!(setting.text("aside"), None);

        let seen = setting.stamp("old");
        assert_eq!(hands.exchange((&setting.1, "new"), (&setting.1, "old"), &seen).unwrap(), Gone::Moved);
        assert_eq!(
            (setting.text("new").as_deref(), setting.text("old").as_deref()),
            (Some("saved meanwhile"), Some("new"))
        );
        let seen = setting.stamp("old");
        assert_eq!(hands.move_aside((&setting.1, "old"), &seen, (&setting.1, "aside")).unwrap(), Gone::Moved);
        assert_eq!((setting.text("old"), setting.text("aside").as_deref()), (None, Some("new")));
        let gone = hands.exchange((&setting.1, "aside"), (&setting.1, "nothing"), &seen).unwrap();
        assert_eq!((gone, setting.text("aside").as_deref()), (Gone::Changed, Some("new")));
    }

    /// Where there is no exchange, it says so and touches nothing: it takes no way round that nobody could find back.
    #[test]
    fn an_exchange_at_once_is_one_or_none() {
        let no_exchange = Hands::checked(|step| match step {
            Step::Exchange => Err(io::ErrorKind::Unsupported.into()),
            _ => panic!("{step:?} in place of an exchange"),
        });
        let setting = Setting::new(&[("new", "new"), ("old", "old")]);
        let places = ((&setting.1, "new"), (&setting.1, "old"));
        let error = no_exchange.exchange_at_once(places.0, places.1, &setting.stamp("old")).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::Unsupported);
        assert_eq!((setting.text("new").as_deref(), setting.text("old").as_deref()), (Some("new"), Some("old")));
        let other = Stamp { size: 9, ..setting.stamp("old") };
        for (stamp, gone, new) in [(other, Gone::Changed, "new"), (setting.stamp("old"), Gone::Moved, "old")] {
            match Hands::default().exchange_at_once(places.0, places.1, &stamp) {
                // The file system under the tests may have none.
                Err(error) if error.kind() == io::ErrorKind::Unsupported => {}
                exchanged => assert_eq!((exchanged.unwrap(), setting.text("new").as_deref()), (gone, Some(new))),
            }
        }
        // One that fails while it is put back is no exchange that there is not.
        let steps = std::sync::atomic::AtomicU64::new(0);
        let fails_then = Hands::checked(move |_| match steps.fetch_add(1, std::sync::atomic::Ordering::Relaxed) {
            0 => Ok(()),
            _ => Err(io::ErrorKind::Unsupported.into()),
        });
        if let Err(error) = fails_then.exchange_at_once(places.0, places.1, &other) {
            assert!(error.kind() != io::ErrorKind::Unsupported || setting.text("new").as_deref() == Some("old"));
        }
    }

    #[cfg(unix)]
    #[test]
    fn no_mode_beyond_the_nine_bits_is_set() {
        use std::os::unix::fs::PermissionsExt;
        let setting = Setting::new(&[]);
        let hands = Hands::default();
        let mode = |name: &str| std::fs::metadata(setting.0.path().join(name)).unwrap().permissions().mode() & 0o7777;
        let file = hands.create_private_file(&setting.1, "f").unwrap();
        assert_eq!(mode("f"), 0o600);
        hands.set_mode(&file, 0o6755).unwrap();
        assert_eq!(mode("f"), 0o755);
        hands.create_private_folder(&setting.1, "d").unwrap();
        assert_eq!(mode("d"), 0o700);
    }
}

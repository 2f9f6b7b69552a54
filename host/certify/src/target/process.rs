//! A native program as a child process: no shell, an environment of its own, bounded time and output; what its home holds is looked at
//! around each call, and a ring that it is given is put up before each. Also this program itself, of which every call may be made because
//! it keeps everything below the home that it is given.

use super::{Contract, Facts, Files, Observation, Options, Outside, Start, Stdin, TOTAL_TIME, Target, TargetError};
use crate::draw::Draws;
use hutch_model::digest::{Digest, Hasher, Kind};
use serde_json::Value;
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::time::{Duration, Instant, SystemTime};

/// The longest that one call may take.
const CALL_TIME: Duration = Duration::from_secs(60);
/// The longest that a call may take whose standard input is held open, where no call before took long.
const HELD_OPEN_TIME: Duration = Duration::from_secs(2);
/// How many times as long as the slowest call before it may take elsewhere. One that waits takes for ever.
const HELD_OPEN_TIMES: u32 = 10;
/// The longest that calls may take together which do not end: those after it are counted, and not made.
const IN_VAIN_TIME: Duration = Duration::from_secs(300);
/// How long it is before somebody looks again whether a call has ended.
const LOOK_TIME: Duration = Duration::from_millis(1);
/// Folders whose content is no state: it is made again.
const CACHE: &str = ".cache";
/// The most of a stream that is kept.
const STREAM_BYTES_MAX: u64 = 8 << 20;

/// Binds the thread that calls it, and what that starts from then on, to changing nothing outside of the program's home.
pub type Ring = Box<dyn Fn() -> Result<(), String> + Send + Sync>;

/// What is tested.
pub struct Tested {
    /// The program.
    pub program: PathBuf,
    /// Arguments before all others.
    pub leading: Vec<String>,
    /// What a report calls it.
    pub name: String,
    /// A folder of its own, which becomes home and working folder.
    pub home: PathBuf,
    /// The search path that it gets, if it gets one.
    pub path: Option<String>,
    /// Whether every call may be made, because the program is known to keep inside its home.
    pub trusted: bool,
    /// What is around each call of a program that is not known to, where the system has it.
    pub ring: Option<Ring>,
    /// What calls are made with.
    pub draws: Draws,
    /// The files of its project, if they can be seen.
    pub files: Option<Files>,
    /// The stored list of error codes.
    pub stored_codes: Vec<(String, u8)>,
    /// Commands whose answers are somebody else's.
    pub pass_through: Vec<String>,
    /// Parameters whose values are somebody else's.
    pub forwarded: Vec<String>,
    /// Parameters that name a path of the caller's own, who may go there anyhow: it may lead upwards.
    pub own_paths: Vec<String>,
    /// Parameters that name a file with a key or a certificate.
    pub key_files: Vec<String>,
    /// Commands that are not called.
    pub not_called: Vec<String>,
    /// Values for parameters, by name.
    pub samples: BTreeMap<String, String>,
    /// A stored description.
    pub stored_description: Option<Value>,
}

/// A program as a target.
pub struct ProcessTarget {
    program: PathBuf,
    leading: Vec<String>,
    home: PathBuf,
    path: Option<String>,
    ring: Option<Ring>,
    facts: Facts,
    started: Instant,
    /// The longest that a call took which ended.
    slowest: Duration,
    /// How long those took together that did not.
    in_vain: Duration,
    initial: State,
    /// What the home holds between calls.
    current: State,
}

/// What a home holds.
struct State {
    files: Tree,
    digest: Digest,
}

/// Every file and every folder, that of all too, by its path from there: as bytes, which are compared sooner than names one by one.
type Tree = BTreeMap<OsString, Entry>;

enum Entry {
    File(Content),
    Folder(Option<Stamp>),
    /// A link, and where it leads. It is never followed.
    Link(OsString),
}

/// What a file holds, and what tells that it still does.
struct Content {
    bytes: Arc<Vec<u8>>,
    digest: Digest,
    stamp: Option<Stamp>,
}

impl PartialEq for Entry {
    fn eq(&self, other: &Entry) -> bool {
        match (self, other) {
            (Entry::File(one), Entry::File(other)) => one.digest == other.digest,
            (Entry::Folder(_), Entry::Folder(_)) => true,
            (Entry::Link(one), Entry::Link(other)) => one == other,
            _ => false,
        }
    }
}

/// What no write to a file leaves as it is, and no new or lost name to a folder.
#[derive(PartialEq, Eq, Clone, Copy)]
struct Stamp {
    inode: u64,
    bytes: u64,
    changed: (i64, i64),
}

/// What a file system's clock can't tell apart: a file that was changed within it is read again. Some count two seconds at a time; one
/// that counts parts of milliseconds goes on with each tick of the system, which takes 10 ms at most.
const COARSE_TICK: Duration = Duration::from_secs(2);
const FINE_TICK: Duration = Duration::from_millis(20);

impl Stamp {
    /// Of a file that was last changed long enough before `now`, which is when it was looked at.
    #[cfg(unix)]
    fn of(file: &std::fs::Metadata, now: SystemTime) -> Option<Stamp> {
        use std::os::unix::fs::MetadataExt;
        let changed = Duration::new(file.ctime().try_into().ok()?, file.ctime_nsec().try_into().ok()?);
        let tick = if changed.subsec_nanos().is_multiple_of(1_000_000) { COARSE_TICK } else { FINE_TICK };
        let past = now.duration_since(SystemTime::UNIX_EPOCH + changed).is_ok_and(|age| age > tick);
        past.then(|| Stamp { inode: file.ino(), bytes: file.len(), changed: (file.ctime(), file.ctime_nsec()) })
    }

    #[cfg(not(unix))]
    fn of(_: &std::fs::Metadata, _: SystemTime) -> Option<Stamp> {
        None
    }
}

impl ProcessTarget {
    /// A target; nothing is started yet.
    #[expect(clippy::disallowed_methods, reason = "a program that runs has a deadline on the host's clock")]
    pub fn new(tested: Tested) -> ProcessTarget {
        let facts = Facts {
            sandboxed: false,
            may_change: tested.trusted,
            outside: match (tested.trusted, &tested.ring) {
                (true, _) => None,
                (false, Some(_)) => Some(Outside::Refused),
                (false, None) => Some(Outside::Unseen),
            },
            draws: tested.draws,
            contract: Contract::CommandLine,
            files: tested.files,
            stored_description: tested.stored_description,
            stored_codes: tested.stored_codes,
            pass_through: tested.pass_through,
            forwarded: tested.forwarded,
            own_paths: tested.own_paths,
            key_files: tested.key_files,
            not_called: tested.not_called,
            samples: tested.samples,
            ..Facts::sandboxed(tested.name)
        };
        let state = || State::of(tree(&tested.home, &Tree::new()));
        let (initial, current) = (state(), state());
        ProcessTarget {
            program: tested.program,
            leading: tested.leading,
            home: tested.home,
            path: tested.path,
            ring: tested.ring,
            facts,
            started: Instant::now(),
            slowest: Duration::ZERO,
            in_vain: Duration::ZERO,
            initial,
            current,
        }
    }

    #[expect(clippy::disallowed_methods, reason = "a native program can only be tested by starting it")]
    fn command(&self, args: &[String], options: &Options) -> Command {
        let mut command = Command::new(&self.program);
        command.args(&self.leading).args(args).env_clear().current_dir(&self.home);
        command.env("HOME", &self.home).envs(options.environment.iter().cloned());
        command.envs(self.path.iter().map(|path| ("PATH", path)));
        // Where files for a moment are kept otherwise, a ring lets nobody write.
        command.envs(self.ring.iter().map(|_| ("TMPDIR", self.home.join(CACHE))));
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        #[cfg(unix)]
        std::os::unix::process::CommandExt::process_group(&mut command, 0);
        command
    }

    /// Starts the program, behind its ring.
    fn start(&self, args: &[String], options: &Options) -> std::io::Result<Child> {
        let mut command = self.command(args, options);
        self.within(move || command.spawn())
    }

    /// Has the home hold what is wanted. Behind the ring too: what the program left there, and may still be at, leads nobody elsewhere.
    fn restore(&self, now: &State, wanted: &State) -> std::io::Result<()> {
        self.within(|| change(&self.home, now, wanted))
    }

    /// Does something behind the ring, on a thread that ends with that, because whoever put one up is bound by it too.
    fn within<T: Send>(&self, does: impl FnOnce() -> std::io::Result<T> + Send) -> std::io::Result<T> {
        let Some(ring) = &self.ring else { return does() };
        let bound = move || ring().map_err(std::io::Error::other).and_then(|()| does());
        let done = std::thread::scope(|scope| scope.spawn(bound).join());
        done.unwrap_or_else(|_| Err(std::io::Error::other("the thread behind the ring panicked")))
    }
}

impl Target for ProcessTarget {
    fn facts(&self) -> &Facts {
        &self.facts
    }

    fn invoke(&mut self, args: &[String], options: &Options) -> Result<Observation, TargetError> {
        let host = |error: std::io::Error| TargetError::Host(format!("{}: {error}", self.home.display()));
        let mut before = &self.current;
        if options.start == Start::Initial {
            before = &self.initial;
            self.restore(&self.current, before).map_err(host)?;
        }
        let child = self.start(args, options).map_err(|error| TargetError::Start {
            program: self.program.display().to_string(),
            reason: error.to_string(),
        })?;
        let held_open_time = HELD_OPEN_TIME.max(self.slowest * HELD_OPEN_TIMES).min(CALL_TIME);
        let time = if options.stdin == Stdin::HeldOpen { held_open_time } else { CALL_TIME };
        let (mut seen, took) = watch(child, &options.stdin, time);
        match seen.timed_out {
            true => self.in_vain += took,
            false => self.slowest = self.slowest.max(took),
        }
        if options.start == Start::Current && is_as_it_was(&self.home, &before.files) {
            seen.state = Some((before.digest, before.digest));
            return Ok(seen);
        }
        let files = tree(&self.home, &before.files);
        let same = files == before.files;
        let after = if same { State { files, digest: before.digest } } else { State::of(files) };
        seen.state = Some((before.digest, after.digest));
        // What is as it was is known by newer stamps.
        let keep = options.keep || same && options.start == Start::Current;
        match keep {
            true => self.current = after,
            false => self.restore(&after, &self.current).map_err(host)?,
        }
        Ok(seen)
    }

    fn has_time(&self) -> bool {
        self.started.elapsed() < TOTAL_TIME && self.in_vain < IN_VAIN_TIME
    }

    #[expect(
        clippy::disallowed_methods,
        reason = "the program is looked up as a shell does, and read to be named by its digest"
    )]
    fn program(&mut self) -> Result<Option<Digest>, TargetError> {
        // A pipe would be waited for.
        let bytes = self.program.is_file().then(|| std::fs::read(&self.program).ok()).flatten();
        Ok(bytes.map(|bytes| Digest::of(Kind::Component, &bytes)))
    }
}

/// Lets a child run to its end, or ends it after a time with everything that it started. Says how long it took.
#[expect(
    clippy::disallowed_methods,
    reason = "a program that runs has a deadline on the host's clock, and nothing tells when it ends"
)]
fn watch(mut child: Child, stdin: &Stdin, time: Duration) -> (Observation, Duration) {
    let begun = Instant::now();
    let deadline = begun + time;
    let input = child.stdin.take();
    let held = match stdin {
        Stdin::HeldOpen => input,
        Stdin::Empty => {
            drop(input);
            None
        }
        Stdin::Bytes(bytes) => {
            let bytes = bytes.clone();
            // A child that reads nothing must not hold up the one who writes.
            std::thread::spawn(move || input.map(|mut input| input.write_all(&bytes)));
            None
        }
    };
    let (stdout, stderr) = (reader(child.stdout.take()), reader(child.stderr.take()));
    // A stream that is closed, as most are by the end, wakes sooner than looking again does.
    let mut printed = None;
    let status = loop {
        match child.try_wait() {
            Ok(Some(status)) => break Some(status),
            Ok(None) if Instant::now() >= deadline => break None,
            Ok(None) if printed.is_none() => printed = heard(&stdout),
            Ok(None) => std::thread::sleep(LOOK_TIME),
            Err(_) => break None,
        }
    };
    let took = begun.elapsed();
    kill(&mut child);
    drop(held);
    let left = || deadline.saturating_duration_since(Instant::now()).max(Duration::from_millis(100));
    let seen = Observation {
        stdout: printed.or_else(|| stdout.recv_timeout(left()).ok()).unwrap_or_default(),
        stderr: stderr.recv_timeout(left()).unwrap_or_default(),
        timed_out: status.is_none(),
        status: status.and_then(|status| status.code()).and_then(|code| u8::try_from(code).ok()),
        state: None,
        by_host: false,
    };
    (seen, took)
}

/// What a stream's reader has read to the end, which is nothing where it is gone. None if it still reads.
fn heard(stream: &Receiver<Vec<u8>>) -> Option<Vec<u8>> {
    match stream.recv_timeout(LOOK_TIME) {
        Err(RecvTimeoutError::Timeout) => None,
        heard => Some(heard.unwrap_or_default()),
    }
}

/// Reads a stream to its end on a thread of its own: what a child leaves behind may hold it open.
fn reader(stream: Option<impl Read + Send + 'static>) -> Receiver<Vec<u8>> {
    let (sender, receiver) = mpsc::channel();
    std::thread::spawn(move || {
        let mut bytes = Vec::new();
        if let Some(stream) = stream {
            // What was read before a failure is still what it said.
            let _ = stream.take(STREAM_BYTES_MAX).read_to_end(&mut bytes);
        }
        // The receiver may have given up.
        let _ = sender.send(bytes);
    });
    receiver
}

/// Ends a child, and on Unix everything in its group.
fn kill(child: &mut Child) {
    #[cfg(unix)]
    if let Some(group) = i32::try_from(child.id()).ok().and_then(rustix::process::Pid::from_raw) {
        // A group that is gone already is what is wanted.
        let _ = rustix::process::kill_process_group(group, rustix::process::Signal::KILL);
    }
    let _ = child.kill();
    let _ = child.wait();
}

impl Content {
    fn of(bytes: &[u8], stamp: Option<Stamp>) -> Content {
        let mut hasher = Hasher::new(Kind::Package);
        hasher.update_part(bytes);
        Content { bytes: Arc::new(bytes.to_vec()), digest: hasher.finish(), stamp }
    }

    /// The same, as it was found again.
    fn again(&self, stamp: Option<Stamp>) -> Content {
        Content { bytes: Arc::clone(&self.bytes), digest: self.digest, stamp }
    }
}

impl State {
    fn of(files: Tree) -> State {
        let mut hasher = Hasher::new(Kind::Package);
        for (path, entry) in &files {
            let content: &[u8] = match entry {
                Entry::File(content) => content.digest.as_bytes(),
                Entry::Folder(_) => &[],
                Entry::Link(target) => target.as_encoded_bytes(),
            };
            hasher.update_part(path.as_encoded_bytes());
            hasher.update_part(content);
        }
        State { files, digest: hasher.finish() }
    }
}

/// Whether a folder holds what it held, as far as that can be told without reading: most calls leave all of it as it is.
#[expect(
    clippy::disallowed_methods,
    reason = "the home is a throw-away folder that the program under test reaches by its path"
)]
fn is_as_it_was(root: &Path, before: &Tree) -> bool {
    let now = SystemTime::now();
    before.iter().all(|(path, entry)| {
        let at = root.join(path);
        match entry {
            Entry::File(Content { stamp, .. }) | Entry::Folder(stamp) => {
                let is = || std::fs::symlink_metadata(&at).ok().and_then(|file| Stamp::of(&file, now));
                stamp.is_some() && is() == *stamp
            }
            Entry::Link(target) => std::fs::read_link(&at).is_ok_and(|is| is.as_os_str() == target),
        }
    })
}

/// Every file below a folder, and every folder. Caches are no state: what they hold is made again; nor is what SQLite keeps beside a
/// database to share its log between processes. What is as it was before is not held twice.
#[expect(
    clippy::disallowed_methods,
    reason = "the home is a throw-away folder that the program under test reaches by its path"
)]
fn tree(root: &Path, before: &Tree) -> Tree {
    // One place that every file is read into: memory that is taken anew for each costs more than reading.
    let mut bytes = Vec::new();
    let now = SystemTime::now();
    let stamped = |file: std::io::Result<std::fs::Metadata>| file.ok().and_then(|file| Stamp::of(&file, now));
    // Each is looked at before what is in it.
    let mut files = Tree::from([(OsString::new(), Entry::Folder(stamped(std::fs::symlink_metadata(root))))]);
    let mut folders = vec![OsString::new()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(root.join(&folder)).into_iter().flatten().flatten() {
            let mut name = folder.clone();
            if !name.is_empty() {
                name.push("/");
            }
            name.push(entry.file_name());
            match entry.file_type() {
                Ok(kind) if kind.is_dir() && entry.file_name() != CACHE => {
                    files.insert(name.clone(), Entry::Folder(stamped(entry.metadata())));
                    folders.push(name);
                }
                Ok(kind) if kind.is_file() && !name.as_encoded_bytes().ends_with(b"-shm") => {
                    let known = match before.get(&name) {
                        Some(Entry::File(known)) => Some(known),
                        _ => None,
                    };
                    let stamp = stamped(entry.metadata());
                    let content = match known {
                        Some(known) if stamp.is_some() && known.stamp == stamp => known.again(stamp),
                        _ => {
                            bytes.clear();
                            let _ = std::fs::File::open(entry.path()).and_then(|mut file| file.read_to_end(&mut bytes));
                            match known.filter(|known| *known.bytes == bytes) {
                                Some(known) => known.again(stamp),
                                None => Content::of(&bytes, stamp),
                            }
                        }
                    };
                    files.insert(name, Entry::File(content));
                }
                Ok(kind) if kind.is_symlink() => {
                    let target = std::fs::read_link(entry.path()).unwrap_or_default();
                    files.insert(name, Entry::Link(target.into_os_string()));
                }
                _ => {}
            }
        }
    }
    files
}

/// Makes a folder that holds `now` hold `wanted`.
#[expect(
    clippy::disallowed_methods,
    reason = "the home is a throw-away folder that the program under test reaches by its path"
)]
fn change(root: &Path, now: &State, wanted: &State) -> std::io::Result<()> {
    if now.digest == wanted.digest {
        return Ok(());
    }
    let (now, wanted) = (&now.files, &wanted.files);
    let stays = |path: &OsString, entry: &Entry| match (entry, wanted.get(path)) {
        (Entry::File(_), Some(Entry::File(_))) => true,
        (entry, wanted) => wanted == Some(entry),
    };
    // What is in a folder comes after it.
    for (path, entry) in now.iter().rev().filter(|(path, entry)| !stays(path, entry)) {
        match entry {
            Entry::File(_) | Entry::Link(_) => std::fs::remove_file(root.join(path))?,
            Entry::Folder(_) => std::fs::remove_dir_all(root.join(path))?,
        }
    }
    for (path, entry) in wanted.iter().filter(|(path, entry)| now.get(*path) != Some(*entry)) {
        let at = root.join(path);
        match entry {
            Entry::File(content) => place(&at, &content.bytes)?,
            Entry::Folder(_) => std::fs::create_dir(at)?,
            #[cfg(unix)]
            Entry::Link(target) => std::os::unix::fs::symlink(target, at)?,
            #[cfg(not(unix))]
            Entry::Link(_) => {}
        }
    }
    Ok(())
}

/// Puts a file into its place, whatever is there by now: written beside it and renamed, which follows no link. Who may use it stays as it was.
#[expect(
    clippy::disallowed_methods,
    reason = "the home is a throw-away folder that the program under test reaches by its path"
)]
fn place(at: &Path, bytes: &[u8]) -> std::io::Result<()> {
    const BESIDE: &str = ".being-put-back";
    let beside = at.with_file_name(BESIDE);
    if let Err(error) = std::fs::remove_file(&beside)
        && error.kind() != std::io::ErrorKind::NotFound
    {
        return Err(error);
    }
    let mut file = std::fs::OpenOptions::new().write(true).create_new(true).open(&beside)?;
    file.write_all(bytes)?;
    if let Ok(was) = std::fs::symlink_metadata(at)
        && was.is_file()
    {
        file.set_permissions(was.permissions())?;
    }
    std::fs::rename(&beside, at)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A program may leave links in its home where there were files and folders: putting the home back follows none.
    #[cfg(unix)]
    #[test]
    fn what_a_home_is_put_back_to_reaches_nothing_elsewhere() {
        use std::os::unix::fs::symlink;
        let root = std::env::temp_dir().join(format!("hutch-certify-links-{}", std::process::id()));
        let (home, elsewhere) = (root.join("home"), root.join("elsewhere"));
        std::fs::create_dir_all(home.join("folder")).unwrap();
        std::fs::create_dir_all(&elsewhere).unwrap();
        for (path, content) in [("home/file", "one"), ("home/folder/file", "two"), ("elsewhere/own", "precious")] {
            std::fs::write(root.join(path), content).unwrap();
        }
        let at = |name: &str| std::fs::read_to_string(home.join(name)).unwrap();
        let first = State::of(tree(&home, &Tree::new()));
        std::fs::remove_file(home.join("file")).unwrap();
        std::fs::remove_dir_all(home.join("folder")).unwrap();
        symlink(elsewhere.join("own"), home.join("file")).unwrap();
        symlink(&elsewhere, home.join("folder")).unwrap();
        let linked = State::of(tree(&home, &first.files));
        assert!(linked.digest != first.digest && !is_as_it_was(&home, &first.files));
        change(&home, &linked, &first).unwrap();
        assert_eq!((at("file"), at("folder/file")), ("one".to_owned(), "two".to_owned()));
        // And back: links are part of what it held.
        change(&home, &first, &linked).unwrap();
        assert_eq!(std::fs::read_link(home.join("folder")).unwrap(), elsewhere);
        // Also where one came since somebody looked.
        change(&home, &linked, &first).unwrap();
        std::fs::remove_file(home.join("file")).unwrap();
        symlink(elsewhere.join("own"), home.join("file")).unwrap();
        let other = State::of(Tree::from([("file".into(), Entry::File(Content::of(b"another", None)))]));
        change(&home, &other, &State::of(Tree::from([("file".into(), Entry::File(Content::of(b"one", None)))])))
            .unwrap();
        assert_eq!(at("file"), "one");
        let names: Vec<_> = std::fs::read_dir(&elsewhere).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        assert_eq!(
            (names, std::fs::read_to_string(elsewhere.join("own")).unwrap()),
            (vec!["own".into()], "precious".to_owned())
        );
        std::fs::remove_dir_all(root).unwrap();
    }

    #[test]
    fn a_stream_is_read_no_further_than_its_bound() {
        assert_eq!(reader(Some(std::io::repeat(b'x'))).recv().unwrap().len() as u64, STREAM_BYTES_MAX);
        assert_eq!(reader(Some(&b"short"[..])).recv().unwrap(), b"short");
    }

    #[test]
    fn a_reader_that_is_gone_is_not_asked_again() {
        let (sender, receiver) = mpsc::channel();
        assert_eq!(heard(&receiver), None);
        drop(sender);
        assert_eq!(heard(&receiver), Some(Vec::new()));
    }

    #[cfg(unix)]
    #[test]
    fn a_file_is_known_again_once_its_clock_has_gone_on() {
        use std::os::unix::fs::MetadataExt;
        let file = std::fs::metadata(std::env::current_exe().unwrap()).unwrap();
        let (seconds, parts): (u64, u32) = (file.ctime().try_into().unwrap(), file.ctime_nsec().try_into().unwrap());
        let changed = SystemTime::UNIX_EPOCH + Duration::new(seconds, parts);
        let known = |after_ms| Stamp::of(&file, changed + Duration::from_millis(after_ms)).is_some();
        let is_fine = !parts.is_multiple_of(1_000_000);
        assert_eq!([known(10), known(100), known(2_100)], [false, is_fine, true]);
    }

    #[cfg(unix)]
    #[test]
    fn what_is_written_made_or_removed_is_seen_without_reading() {
        let root = std::env::temp_dir().join(format!("hutch-certify-{}", std::process::id()));
        std::fs::create_dir_all(root.join("folder")).unwrap();
        std::fs::write(root.join("folder/file"), "one").unwrap();
        let changes: [fn(&Path); 4] = [
            |root| std::fs::write(root.join("folder/file"), "two").unwrap(),
            |root| std::fs::write(root.join("folder/new"), "").unwrap(),
            |root| std::fs::remove_file(root.join("folder/new")).unwrap(),
            |root| std::fs::create_dir(root.join("other")).unwrap(),
        ];
        let mut files = tree(&root, &Tree::new());
        for change in changes {
            // It is known once the file system's clock has gone on.
            while !is_as_it_was(&root, &files) {
                files = tree(&root, &files);
            }
            change(&root);
            assert!(!is_as_it_was(&root, &files) && tree(&root, &files) != files);
        }
        std::fs::remove_dir_all(&root).unwrap();
    }

    #[cfg(unix)]
    #[test]
    fn what_closes_its_stream_before_it_ends_was_heard_and_is_waited_for() {
        let mut command = Command::new("/bin/sh");
        command.args(["-c", "echo said; exec >&-; read status; exit $status"]);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let (seen, _) = watch(command.spawn().unwrap(), &Stdin::Bytes(b"3\n".to_vec()), CALL_TIME);
        assert_eq!((seen.stdout.as_slice(), seen.status, seen.timed_out), (&b"said\n"[..], Some(3), false));
    }
}

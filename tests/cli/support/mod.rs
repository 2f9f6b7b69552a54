//! A machine to run the program on, and what came of a run.

pub(crate) mod artifacts;
#[path = "../../security/ends.rs"]
mod ends;
pub(crate) mod package;
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
pub(crate) mod taken_over;
#[cfg(unix)]
pub(crate) mod terminal;

use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};
use std::collections::BTreeMap;
use std::io::{PipeWriter, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::Mutex;
use std::time::{Duration, Instant};
use tempfile::TempDir;

/// The program under test.
pub(crate) const HUTCH: &str = env!("CARGO_BIN_EXE_hutch");

/// Arguments that make two runs the same invocation.
pub(crate) const FIXED: [&str; 4] = ["--now", "2026-04-01T09:00:00Z", "--seed", "7"];

/// A document with numbers of more digits than 64 bits hold, as every answer shows it: its fields in order, and nothing between them.
pub(crate) const DIGITS: &str = r#"{"big":12345678901234567890123,"items":[{"n":-98765432109876543210987.5}],"pi":3.14159265358979323846264338327950288}"#;

/// The top of the repository.
pub(crate) fn repository() -> PathBuf {
    Path::new("../..").canonicalize().expect("tests begin in the folder of their crate")
}

pub(crate) fn todo() -> String {
    repository().join("packages/todo").display().to_string()
}

pub(crate) fn probe() -> String {
    repository().join("tests/packages/probe").display().to_string()
}

/// What ends a test that waits for what never comes; nothing here takes as long on any machine.
pub(crate) const PATIENCE: Duration = Duration::from_secs(300);

/// Does something again until it comes to what it should, or for [`PATIENCE`], and gives what came last. For what a machine that is busy
/// elsewhere may come to late once, and not each time; what is wrong comes late each time.
pub(crate) fn again_until<T>(mut attempt: impl FnMut() -> T, is_good: impl Fn(&T) -> bool) -> T {
    let begun = Instant::now();
    loop {
        let came = attempt();
        if is_good(&came) || begun.elapsed() > PATIENCE {
            return came;
        }
    }
}

/// The writing end of a pipe whose reader is gone. A program that another test is starting may have the reader for a moment: what is
/// written until nobody has it any more is read by nobody either.
pub(crate) fn unread() -> PipeWriter {
    let (reader, mut writer) = std::io::pipe().expect("a pipe");
    drop(reader);
    while writer.write_all(b" ").is_ok() {}
    writer
}

/// A folder with a home and the state of all instances.
pub(crate) struct Machine {
    folder: TempDir,
    /// The arguments of the last call.
    last: Mutex<Vec<String>>,
}

/// The program's home on a machine.
const HOME: &str = "person/.local/share/hutch";

impl Machine {
    pub(crate) fn new() -> Machine {
        Machine { folder: tempfile::tempdir().expect("a temporary folder"), last: Mutex::default() }
    }

    /// The program's home on it.
    pub(crate) fn home(&self) -> PathBuf {
        self.path(HOME)
    }

    /// Whether the home holds nothing of the program's.
    pub(crate) fn is_untouched(&self) -> bool {
        artifacts::is_untouched(&self.home())
    }

    /// A path inside the machine's folder.
    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Makes a file inside the machine's folder.
    pub(crate) fn write(&self, name: &str, content: impl AsRef<[u8]>) -> PathBuf {
        let path = self.path(name);
        std::fs::create_dir_all(path.parent().expect("a parent")).expect("folders");
        std::fs::write(&path, content).expect("a file");
        path
    }

    /// Writes a program that is to be started. Another process writes it: while this one holds it open, a child that another thread is about to
    /// start has it open too, and what is open for writing can't be started.
    #[cfg(unix)]
    pub(crate) fn write_program(&self, name: &str, content: impl AsRef<[u8]>) -> PathBuf {
        let path = self.path(name);
        std::fs::create_dir_all(path.parent().expect("a parent")).expect("folders");
        let mut writer = Command::new("sh");
        writer.args(["-c", "cat > \"$1\" && chmod 755 \"$1\"", "sh"]).arg(&path);
        assert_eq!(Ran::with_input(&mut writer, content.as_ref()).status, 0, "{}", path.display());
        path
    }

    /// The program with these arguments, not yet started.
    pub(crate) fn hutch<I: AsRef<str>>(&self, arguments: impl IntoIterator<Item = I>) -> Command {
        let home = self.path("person");
        artifacts::keep_key(&self.home());
        let mut command = Command::new(HUTCH);
        // As it is called where it is on PATH: lines that it prints begin with what it was called by.
        #[cfg(unix)]
        std::os::unix::process::CommandExt::arg0(&mut command, "hutch");
        command.env_clear().env("HOME", home).env("XDG_CACHE_HOME", artifacts::CACHE);
        command.current_dir(self.folder.path()).stdin(Stdio::null());
        let arguments: Vec<String> = arguments.into_iter().map(|argument| argument.as_ref().to_owned()).collect();
        command.args(&arguments);
        *self.last.lock().expect("nobody panics with it") = arguments;
        command
    }

    /// Makes the last call again, for a person.
    pub(crate) fn again_for_people(&self) -> Ran {
        let last = self.last.lock().expect("nobody panics with it").clone();
        self.run(std::iter::once("--human".to_owned()).chain(last))
    }

    /// The program with these arguments, which the system ends when processors have worked on it for this long. That is nearly the same
    /// however busy the machine is.
    #[cfg(unix)]
    pub(crate) fn hutch_within<I: AsRef<str>>(
        &self,
        work: Duration,
        arguments: impl IntoIterator<Item = I>,
    ) -> Command {
        let hutch = self.hutch(arguments);
        let mut command = Command::new("/bin/sh");
        command.args(["-c", "ulimit -t \"$1\"; shift; exec \"$@\"", "sh", &work.as_secs().to_string()]);
        command.arg(hutch.get_program()).args(hutch.get_args());
        command.env_clear().envs(hutch.get_envs().filter_map(|(name, value)| Some((name, value?))));
        command.current_dir(self.folder.path()).stdin(Stdio::null());
        command
    }

    /// Runs the program to its end.
    pub(crate) fn run<I: AsRef<str>>(&self, arguments: impl IntoIterator<Item = I>) -> Ran {
        Ran::of(&mut self.hutch(arguments))
    }

    /// Runs `hutch run` with these arguments.
    pub(crate) fn guest(&self, arguments: &[&str]) -> Ran {
        self.run([&["run"], arguments].concat())
    }

    /// Runs the to-do application.
    pub(crate) fn todo(&self, arguments: &[&str]) -> Ran {
        self.guest(&[&[todo().as_str()], arguments].concat())
    }

    /// Runs a command of the probe with options of the host.
    pub(crate) fn probe(&self, options: &[&str], arguments: &[&str]) -> Ran {
        self.guest(&[options, &[probe().as_str()], arguments].concat())
    }

    /// Runs a command of the probe and reads the document about the run.
    pub(crate) fn probe_envelope(&self, options: &[&str], arguments: &[&str]) -> Envelope {
        self.probe(&[&["--envelope"], options].concat(), arguments).envelope()
    }

    /// The digest of the probe's volume.
    pub(crate) fn probe_state(&self) -> String {
        self.probe_envelope(&[], &["return-ok"]).volumes["state"].after.clone()
    }
}

/// What a finished program left.
#[derive(Debug)]
pub(crate) struct Ran {
    pub(crate) status: i32,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl Ran {
    pub(crate) fn of(command: &mut Command) -> Ran {
        Ran::from_output(command.output().expect("the program starts"))
    }

    /// The same, with bytes on its standard input through a pipe.
    pub(crate) fn with_input(command: &mut Command, input: &[u8]) -> Ran {
        let mut child =
            command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("it starts");
        let mut pipe = child.stdin.take().expect("a pipe");
        let written = std::thread::scope(|scope| {
            let writer = scope.spawn(move || pipe.write_all(input));
            let output = child.wait_with_output().expect("it ends");
            // A program that does not read its input may be gone before all of it is written.
            let _ = writer.join().expect("the writer");
            output
        });
        Ran::from_output(written)
    }

    pub(crate) fn from_output(output: Output) -> Ran {
        Ran {
            status: output.status.code().expect("it was not killed by a signal"),
            stdout: String::from_utf8(output.stdout).expect("UTF-8 on standard output"),
            stderr: String::from_utf8(output.stderr).expect("UTF-8 on standard error"),
        }
    }

    /// The answer of a run that went well: one document, and no word on standard error.
    #[track_caller]
    pub(crate) fn answer(&self) -> Value {
        assert_eq!((self.status, self.stderr.as_str()), (0, ""), "{self:?}");
        ends::saw("exited");
        self.document()
    }

    /// The one JSON document on standard output.
    #[track_caller]
    pub(crate) fn document(&self) -> Value {
        assert!(self.stdout.ends_with('\n'), "{self:?}");
        serde_json::from_str(&self.stdout).unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }

    /// The guest's own failure: its status, its document, and nothing from the host.
    #[track_caller]
    pub(crate) fn guest_failure(&self, status: i32) -> Value {
        assert_eq!((self.status, self.stderr.as_str()), (status, ""), "{self:?}");
        ends::saw("exited");
        self.document()
    }

    /// The host's failure: one object on standard error, of exactly the documented shape, and nothing on standard output.
    #[track_caller]
    pub(crate) fn fault(&self, code: &str, status: i32) -> Fault {
        assert_eq!(self.stdout, "", "{self:?}");
        assert_eq!(self.stderr.lines().count(), 1, "{self:?}");
        let fault: Fault = self.strict(&self.stderr);
        assert_eq!((fault.code.as_str(), self.status), (code, status), "{self:?}");
        ends::saw(code);
        assert!(fault.error && !fault.message.is_empty() && !fault.suggestion.is_empty(), "{self:?}");
        for fix in &fault.fixes {
            assert!(!fix.cmd.is_empty() && !fix.effect.is_empty(), "{self:?}");
            assert!(["none", "low", "high"].contains(&fix.risk.as_str()), "{self:?}");
        }
        fault
    }

    /// The document of `run --envelope`, whatever the status.
    #[track_caller]
    pub(crate) fn envelope(&self) -> Envelope {
        assert_eq!(self.stderr, "", "{self:?}");
        let answered: Answered<Envelope> = self.strict(&self.stdout);
        ends::saw(&answered.result.ending);
        assert_eq!((answered.command.as_str(), answered.ok), ("run", self.status == 0), "{self:?}");
        Envelope { ok: answered.ok, ..answered.result }
    }

    /// The result of a command of the host that went well.
    #[track_caller]
    pub(crate) fn result(&self, command: &str) -> Value {
        assert_eq!((self.status, self.stderr.as_str()), (0, ""), "{self:?}");
        let answered: Answered<Value> = self.strict(&self.stdout);
        assert_eq!((answered.command.as_str(), answered.ok), (command, true), "{self:?}");
        answered.result
    }

    #[track_caller]
    fn strict<T: DeserializeOwned>(&self, text: &str) -> T {
        serde_json::from_str(text).unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }
}

/// The host's error, as programs read it. A new field breaks this on purpose.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Fault {
    error: bool,
    pub(crate) code: String,
    pub(crate) message: String,
    pub(crate) suggestion: String,
    #[serde(default)]
    pub(crate) details: Map<String, Value>,
    #[serde(default)]
    pub(crate) fixes: Vec<Fix>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Fix {
    pub(crate) cmd: String,
    effect: String,
    pub(crate) risk: String,
}

/// What every command of the host answers with. A new field breaks this on purpose.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Answered<R> {
    ok: bool,
    command: String,
    result: R,
    #[serde(rename = "rules")]
    _rules: Vec<Value>,
    #[serde(rename = "skills")]
    _skills: Vec<Value>,
    #[serde(rename = "issue")]
    _issue: Value,
}

/// The document about a run, as programs read it. A new field breaks this on purpose.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Envelope {
    #[serde(skip)]
    pub(crate) ok: bool,
    pub(crate) ending: String,
    pub(crate) ending_detail: Option<String>,
    pub(crate) exit_status: Option<u8>,
    pub(crate) output: Value,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
    pub(crate) fuel: u64,
    pub(crate) fuel_exact: bool,
    pub(crate) memory_peak_bytes: u64,
    pub(crate) refused: Vec<String>,
    pub(crate) unreproducible: Vec<String>,
    pub(crate) profile: String,
    pub(crate) wall_time_us: u64,
    pub(crate) load_time_us: u64,
    pub(crate) compiled: bool,
    pub(crate) kept: bool,
    pub(crate) volumes: BTreeMap<String, Volume>,
    pub(crate) mounts: BTreeMap<String, Value>,
    #[serde(default)]
    pub(crate) withheld: Vec<String>,
    #[serde(default)]
    pub(crate) skipped: BTreeMap<String, Value>,
    pub(crate) entry: Entry,
    pub(crate) error: Option<Fault>,
    #[serde(default)]
    pub(crate) memo: Value,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Volume {
    pub(crate) before: String,
    pub(crate) after: String,
    pub(crate) changes: Vec<Change>,
    #[serde(default)]
    pub(crate) changes_omitted: u64,
}

#[derive(Debug, Deserialize, PartialEq, Eq)]
#[serde(deny_unknown_fields)]
pub(crate) struct Change {
    pub(crate) path: String,
    pub(crate) change: String,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Entry {
    pub(crate) sequence: u64,
    pub(crate) hash: String,
}

impl Envelope {
    /// The code of the host's report, if there is one.
    pub(crate) fn code(&self) -> Option<&str> {
        self.error.as_ref().map(|error| error.code.as_str())
    }

    /// Paths that the run changed in a volume.
    pub(crate) fn changes(&self, volume: &str) -> Vec<(&str, &str)> {
        assert_eq!(self.volumes[volume].changes_omitted, 0, "{self:?}");
        self.volumes[volume].changes.iter().map(|change| (change.change.as_str(), change.path.as_str())).collect()
    }

    /// Nothing of what the guest did to its volumes is left.
    #[track_caller]
    pub(crate) fn assert_dropped(&self) {
        assert!(!self.kept, "{self:?}");
        for volume in self.volumes.values() {
            assert_eq!(volume.before, volume.after, "{self:?}");
            assert_eq!((&volume.changes[..], volume.changes_omitted), (&[][..], 0), "{self:?}");
        }
        assert!(self.withheld.is_empty() && self.skipped.is_empty(), "{self:?}");
    }
}

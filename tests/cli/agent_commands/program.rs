//! The program under test.

use crate::support::{HUTCH, artifacts, repository};
use serde_json::Value;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// How a call ended.
#[derive(Debug)]
pub(crate) struct Ended {
    pub status: i32,
    pub stdout: String,
    pub stderr: String,
}

impl Ended {
    #[track_caller]
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.stdout).unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }

    /// The `result` of an answer that went well.
    #[track_caller]
    pub(crate) fn result(&self) -> Value {
        assert_eq!((self.status, self.stderr.as_str()), (0, ""), "{self:?}");
        self.json()["result"].take()
    }

    /// The error of a call that failed as errors must: one object on stderr, nothing on stdout.
    #[track_caller]
    pub(crate) fn error(&self) -> Value {
        assert_eq!(self.stdout, "", "{self:?}");
        let error: Value = serde_json::from_str(&self.stderr).unwrap_or_else(|error| panic!("{error}: {self:?}"));
        for field in ["code", "message", "suggestion"] {
            assert!(error[field].as_str().is_some_and(|text| !text.is_empty()), "{field}: {self:?}");
        }
        assert_eq!(error["error"], true, "{self:?}");
        for fix in error["fixes"].as_array().into_iter().flatten() {
            assert!(["cmd", "effect", "risk"].iter().all(|field| fix[field].is_string()), "{self:?}");
        }
        assert_ne!(self.status, 0, "{self:?}");
        error
    }

    #[track_caller]
    pub(crate) fn code(&self) -> String {
        self.error()["code"].as_str().unwrap().to_owned()
    }
}

/// The program, with a home that nobody else has.
pub(crate) struct Hutch {
    home: tempfile::TempDir,
    folder: PathBuf,
}

impl Hutch {
    pub(crate) fn new() -> Hutch {
        let hutch = Hutch { home: tempfile::tempdir().unwrap(), folder: repository() };
        artifacts::keep_key(&hutch.home());
        hutch
    }

    /// The same, in a folder of its own that sees the packages that these words name: for calls that write where they are made.
    #[cfg(unix)]
    pub(crate) fn apart(words: &str) -> Hutch {
        let hutch = Hutch::new();
        let folder = hutch.scratch();
        std::os::unix::fs::symlink(hutch.root().join("tests"), folder.join("tests")).unwrap();
        crate::support::package::copy_named(words, &folder);
        Hutch { folder, ..hutch }
    }

    /// A folder that is removed with the home.
    pub(crate) fn scratch(&self) -> PathBuf {
        let folder = self.home.path().join("scratch");
        std::fs::create_dir_all(&folder).unwrap();
        folder
    }

    pub(crate) fn home(&self) -> PathBuf {
        self.home.path().join("hutch")
    }

    /// Whether the home holds nothing of the program's.
    pub(crate) fn is_untouched(&self) -> bool {
        artifacts::is_untouched(&self.home())
    }

    pub(crate) fn root(&self) -> &Path {
        &self.folder
    }

    pub(crate) fn command(&self) -> Command {
        let mut command = Command::new(HUTCH);
        #[cfg(unix)]
        std::os::unix::process::CommandExt::arg0(&mut command, "hutch");
        command
            .env_clear()
            .env("HOME", self.home.path())
            .env("XDG_DATA_HOME", self.home.path())
            .env("XDG_CACHE_HOME", artifacts::CACHE);
        command.current_dir(&self.folder).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    }

    pub(crate) fn call<S: AsRef<str>>(&self, arguments: &[S]) -> Ended {
        self.call_with(arguments, "", &[])
    }

    /// One line, split at spaces.
    pub(crate) fn line(&self, line: &str) -> Ended {
        self.call(&line.split_whitespace().collect::<Vec<_>>())
    }

    pub(crate) fn call_with<S: AsRef<str>>(&self, arguments: &[S], stdin: &str, environment: &[(&str, &str)]) -> Ended {
        let mut command = self.command();
        command.args(arguments.iter().map(AsRef::as_ref)).envs(environment.iter().copied()).stdin(Stdio::piped());
        let mut child = command.spawn().unwrap();
        // A program that does not read closes the pipe: that is its right.
        let _ = child.stdin.take().unwrap().write_all(stdin.as_bytes());
        let output = child.wait_with_output().unwrap();
        Ended {
            status: output.status.code().unwrap_or(-1),
            stdout: String::from_utf8(output.stdout).unwrap(),
            stderr: String::from_utf8(output.stderr).unwrap(),
        }
    }
}

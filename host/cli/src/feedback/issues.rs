//! Feedback, kept on this machine: one JSON file for each issue below `<home>/issues` (rules F1 to F8).

use crate::machine::place::make_private;
use crate::refusal::fault::Fault;
use cap_fs_ext::OpenOptionsSyncExt;
use cap_std::fs::{Dir, OpenOptions};
use clap::ValueEnum;
use hutch_model::digest::Digest;
use hutch_model::error_code::ErrorCode;
use hutch_model::error_report::ErrorReport;
use hutch_model::instant::Instant;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::io::{self, ErrorKind, Read, Write};
use std::path::{Path, PathBuf};
use tempfile::NamedTempFile;

/// The most issues: a runaway caller must not fill the disk.
const ISSUES_MAX: u64 = 10_000;

/// The most bytes of one: none that a command line can make has more.
const ISSUE_BYTES_MAX: u64 = 16 << 20;

/// Their folder in a home.
pub(crate) const FOLDER: &str = "issues";

/// What an issue is about.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Kind {
    /// Something does not do what it says
    Bug,
    /// Something is missing that is needed
    Requirement,
    /// Something could be better
    Suggestion,
    /// An answer is wrong, unclear or in the wrong form
    BadOutput,
}

/// Where an issue stands.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Status {
    /// Nobody works on it
    Open,
    /// Somebody does
    InProgress,
    /// What it asks for is done
    Resolved,
    /// It is done with, for whatever reason
    Closed,
}

/// One issue.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Issue {
    pub(crate) id: String,
    #[serde(rename = "type")]
    pub(crate) kind: Kind,
    pub(crate) status: Status,
    pub(crate) message: String,
    /// The version of hutch.
    pub(crate) version: String,
    /// What was done when it showed.
    pub(crate) context: Option<String>,
    /// How the call ended.
    pub(crate) exit_code: Option<u8>,
    /// The package that it is about, if it is about one.
    #[serde(default)]
    pub(crate) package: Option<About>,
    /// Where the package's maintainers want to be written to. Nothing is sent.
    #[serde(default)]
    pub(crate) report_to: Option<String>,
    #[schemars(with = "String")]
    pub(crate) created_at: Instant,
    #[schemars(with = "String")]
    pub(crate) updated_at: Instant,
}

/// The package that an issue is about, and the call.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct About {
    pub(crate) slug: String,
    pub(crate) version: Option<String>,
    /// All that a run depends on, as the entry has it.
    #[schemars(with = "Option<String>")]
    pub(crate) digest: Option<Digest>,
    pub(crate) instance: Option<String>,
    /// The hash of the call's entry in that instance's ledger.
    #[schemars(with = "Option<String>")]
    pub(crate) entry: Option<Digest>,
}

/// An issue, and where to go on with it.
#[derive(Serialize, JsonSchema)]
pub(crate) struct IssueAnswer<'i> {
    #[serde(flatten)]
    pub(crate) issue: &'i Issue,
    pub(crate) report_link: Option<String>,
}

/// The issues of a home.
pub(crate) struct Issues {
    folder: PathBuf,
}

impl Issues {
    pub(crate) fn of(home: &Path) -> Issues {
        Issues { folder: home.join(FOLDER) }
    }

    /// All issues, the oldest first: each by itself, as one that can't be read takes nothing from the others.
    pub(crate) fn all(&self) -> Result<Vec<Result<Issue, Fault>>, Fault> {
        let Some(dir) = self.dir(false)? else { return Ok(Vec::new()) };
        Ok(self.numbers(&dir)?.into_iter().map(|number| self.read(&dir, &id(number))).collect())
    }

    /// The names of their files.
    pub(crate) fn files(&self) -> Result<Vec<String>, Fault> {
        let Some(dir) = self.dir(false)? else { return Ok(Vec::new()) };
        Ok(self.numbers(&dir)?.into_iter().map(|number| format!("{}.json", id(number))).collect())
    }

    /// The numbers that are taken, in order.
    fn numbers(&self, dir: &Dir) -> Result<Vec<u64>, Fault> {
        let entries = dir.entries().map_err(|error| Fault::file(&self.folder, &error))?;
        let names = entries.filter_map(|entry| entry.ok()?.file_name().into_string().ok());
        let mut numbers: Vec<u64> = names.filter_map(|name| number(name.strip_suffix(".json")?)).collect();
        numbers.sort_unstable();
        Ok(numbers)
    }

    pub(crate) fn get(&self, id: &str) -> Result<Issue, Fault> {
        match self.dir(false)? {
            Some(dir) if number(id).is_some() => self.read(&dir, id),
            _ => Err(missing(id)),
        }
    }

    /// Keeps a new issue under the next free number.
    pub(crate) fn create(&self, mut issue: Issue) -> Result<Issue, Fault> {
        let dir = self.dir(true)?.ok_or_else(|| Fault::host("the folder of issues can't be made"))?;
        let last = self.numbers(&dir)?.last().copied().unwrap_or(0);
        for next in last + 1..=ISSUES_MAX {
            issue.id = id(next);
            match self.aside(&issue)?.persist_noclobber(self.path(&issue.id)) {
                // Another process took this number.
                Err(error) if error.error.kind() == ErrorKind::AlreadyExists => {}
                Err(error) => return Err(Fault::file(&self.folder, &error.error)),
                Ok(_) => return self.settle(&dir).map(|()| issue),
            }
        }
        Err(ErrorReport::new(ErrorCode::Conflict, format!("there are {ISSUES_MAX} issues already"))
            .suggest("remove files from the folder of issues")
            .detail("folder", self.folder.display().to_string())
            .into())
    }

    /// Replaces an issue by its new form.
    pub(crate) fn replace(&self, issue: &Issue) -> Result<(), Fault> {
        let dir = self.dir(false)?.ok_or_else(|| missing(&issue.id))?;
        let replaced = self.aside(issue)?.persist(self.path(&issue.id));
        replaced.map_err(|error| Fault::file(&self.folder, &error.error))?;
        self.settle(&dir)
    }

    /// An issue's file, whole and on the disk, under a name that is nobody's. It is gone if it does not get a better one.
    fn aside(&self, issue: &Issue) -> Result<NamedTempFile, Fault> {
        let mut file = NamedTempFile::new_in(&self.folder).map_err(|error| Fault::file(&self.folder, &error))?;
        let written = file.write_all(text(issue).as_bytes()).and_then(|()| file.as_file().sync_all());
        written.map(|()| file).map_err(|error| Fault::file(&self.folder, &error))
    }

    /// Makes what was done in the folder survive a loss of power.
    fn settle(&self, dir: &Dir) -> Result<(), Fault> {
        let settled = dir.open(".").and_then(|folder| folder.sync_all());
        settled.map_err(|error| Fault::file(&self.folder, &error))
    }

    fn path(&self, id: &str) -> PathBuf {
        self.folder.join(format!("{id}.json"))
    }

    fn read(&self, dir: &Dir, id: &str) -> Result<Issue, Fault> {
        match read_text(dir, &format!("{id}.json")) {
            Ok(text) => match serde_json::from_str::<Issue>(&text) {
                Ok(issue) if issue.id == id => Ok(issue),
                Ok(issue) => Err(self.damaged(id, &format!("it says that it is {:?}", issue.id))),
                Err(error) => Err(self.damaged(id, &error)),
            },
            Err(error) => Err(match error.kind() {
                ErrorKind::NotFound => missing(id),
                ErrorKind::InvalidData => self.damaged(id, &error),
                _ => Fault::file(&self.path(id), &error),
            }),
        }
    }

    fn damaged(&self, id: &str, why: &dyn std::fmt::Display) -> Fault {
        let report = ErrorReport::new(ErrorCode::StoreDamaged, format!("the issue {id} can't be read: {why}"));
        let report = report.suggest("mend its file or take it away; no other issue depends on it");
        report.detail("file", self.path(id).display().to_string()).into()
    }

    #[expect(clippy::disallowed_methods, reason = "the one place where the path of the issues becomes authority")]
    fn dir(&self, create: bool) -> Result<Option<Dir>, Fault> {
        let authority = cap_std::ambient_authority();
        if create {
            make_private(&self.folder)?;
        }
        match Dir::open_ambient_dir(&self.folder, authority) {
            Ok(dir) => Ok(Some(dir)),
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
            Err(error) => Err(Fault::file(&self.folder, &error)),
        }
    }
}

/// A regular file's text. It is opened without waiting, so that a pipe in its place can't hold the program up.
fn read_text(dir: &Dir, name: &str) -> io::Result<String> {
    let mut options = OpenOptions::new();
    let file = dir.open_with(name, options.read(true).nonblock(true))?;
    if !file.metadata()?.is_file() {
        return Err(io::Error::new(ErrorKind::InvalidData, "it is no regular file"));
    }
    let mut text = String::new();
    file.take(ISSUE_BYTES_MAX + 1).read_to_string(&mut text)?;
    match text.len() as u64 > ISSUE_BYTES_MAX {
        true => Err(io::Error::new(ErrorKind::InvalidData, format!("it has more than {ISSUE_BYTES_MAX} bytes"))),
        false => Ok(text),
    }
}

fn text(issue: &Issue) -> String {
    serde_json::to_string_pretty(issue).unwrap_or_default() + "\n"
}

/// Whether a file of this name is an issue's.
pub(crate) fn is_file(name: &str) -> bool {
    name.strip_suffix(".json").and_then(number).is_some()
}

fn id(number: u64) -> String {
    format!("is_{number:04}")
}

fn number(id: &str) -> Option<u64> {
    let digits = id.strip_prefix("is_").filter(|digits| digits.len() >= 4)?;
    digits.bytes().all(|byte| byte.is_ascii_digit()).then(|| digits.parse().ok())?
}

fn missing(id: &str) -> Fault {
    let report = ErrorReport::new(ErrorCode::NotFound, format!("there is no issue {id:?}"));
    report.suggest("name one that hutch issue list shows; ids look like is_0001").into()
}

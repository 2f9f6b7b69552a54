//! A failure on its way to being reported: the one object on standard error, and the exit status. Knows how failures of the libraries
//! and of the system become reports; prints nothing.

use crate::screen::told::Told;
use hutch::Failure;
use hutch::installed::InstalledError;
use hutch::package::PackageError;
use hutch_model::diagnostic::Diagnostic;
use hutch_model::error_code::ErrorCode;
use hutch_model::error_report::ErrorReport;
use hutch_model::terminal::one_line;
use serde_json::Value;
use std::io;
use std::path::Path;

/// A failure to report. It decides the exit status.
#[derive(Debug)]
pub(crate) struct Fault {
    report: Box<ErrorReport>,
    /// The exit status, where it is not the code's.
    status: Option<u8>,
    /// What people are shown of it, before it is said.
    seen: Option<Told>,
}

impl Fault {
    /// A failure with its code's own suggestion.
    pub(crate) fn new(code: ErrorCode, message: impl Into<String>) -> Fault {
        ErrorReport::new(code, message).into()
    }

    /// There is no package at a path.
    pub(crate) fn no_package(path: &Path, reason: &str) -> Fault {
        Fault::new(ErrorCode::PackageNotFound, format!("{}: {reason}", path.display()))
    }

    /// A mistake on the command line.
    pub(crate) fn usage(message: impl Into<String>) -> Fault {
        ErrorReport::new(ErrorCode::Usage, message).into()
    }

    /// The host's own failure.
    pub(crate) fn host(message: impl Into<String>) -> Fault {
        ErrorReport::new(ErrorCode::HostFault, message).into()
    }

    /// A file or folder that the operator named can't be opened or written. Who named the wrong kind of thing can name another;
    /// what else the system refuses is the host's failure.
    pub(crate) fn file(path: &Path, error: &io::Error) -> Fault {
        use io::ErrorKind::{InvalidFilename, InvalidInput, IsADirectory, NotADirectory};
        let (code, suggestion) = match error.kind() {
            io::ErrorKind::NotFound => (ErrorCode::NotFound, "name one that is there"),
            io::ErrorKind::PermissionDenied => (ErrorCode::PermissionDenied, "name one that you may use"),
            NotADirectory => (ErrorCode::Usage, "name a folder"),
            IsADirectory | InvalidInput | InvalidFilename => (ErrorCode::Usage, "name a file"),
            _ => (ErrorCode::HostFault, ErrorCode::HostFault.fix()),
        };
        ErrorReport::new(code, format!("{}: {error}", path.display())).suggest(suggestion).into()
    }

    /// A file that the operator named can't be read, whatever the reason: another one may be.
    pub(crate) fn unreadable(path: &Path, error: &io::Error) -> Fault {
        let code = match error.kind() {
            io::ErrorKind::NotFound => ErrorCode::NotFound,
            io::ErrorKind::PermissionDenied => ErrorCode::PermissionDenied,
            _ => ErrorCode::Usage,
        };
        ErrorReport::new(code, format!("{}: {error}", path.display())).suggest("name a file that can be read").into()
    }

    /// The report.
    pub(crate) fn report(&self) -> &ErrorReport {
        &self.report
    }

    /// The same, of a call whose exit status is the guest's own.
    pub(crate) fn ending_with(self, status: u8) -> Fault {
        Fault { status: Some(status), ..self }
    }

    /// The same, with a detail more.
    pub(crate) fn detail(self, name: &str, value: Value) -> Fault {
        Fault { report: Box::new(self.report.detail(name, value)), ..self }
    }

    /// The same, with what people are shown of its details.
    pub(crate) fn seen_as(self, seen: impl Into<Told>) -> Fault {
        Fault { seen: Some(seen.into()), ..self }
    }

    /// The same, and which of several things it is about.
    pub(crate) fn of(mut self, what: &str) -> Fault {
        if !self.report.message.contains(what) {
            self.report.message = format!("{what}: {}", self.report.message);
        }
        self
    }

    /// The same, of arguments none of which names what is piped in: how that is given.
    pub(crate) fn unread(self, how: Option<&str>) -> Fault {
        match how.filter(|_| self.report.code == ErrorCode::ArgumentInvalid) {
            Some(how) => self.suggest(how),
            None => self,
        }
    }

    /// The same, with another advice.
    pub(crate) fn suggest(mut self, suggestion: &str) -> Fault {
        suggestion.clone_into(&mut self.report.suggestion);
        self
    }

    /// The same, with a command that mends it, if there is one.
    pub(crate) fn fixed_by(self, cmd: Option<String>, effect: &str, risk: &'static str) -> Fault {
        match cmd {
            Some(cmd) => Fault { report: Box::new(self.report.fixed_by(cmd, effect, risk)), ..self },
            None => self,
        }
    }

    /// What people are shown of its details.
    pub(crate) fn seen(&self) -> Option<&Told> {
        self.seen.as_ref()
    }

    /// The exit status.
    pub(crate) fn status(&self) -> u8 {
        self.status.unwrap_or_else(|| self.report.code.exit_status())
    }
}

impl From<ErrorReport> for Fault {
    fn from(report: ErrorReport) -> Fault {
        Fault { report: Box::new(report), status: None, seen: None }
    }
}

impl From<&Failure> for Fault {
    fn from(failure: &Failure) -> Fault {
        let fault = Fault::from(failure.report());
        match failure {
            Failure::Package(error) => fault.seen_as(diagnostics_lines(error.diagnostics())),
            _ => fault,
        }
    }
}

impl From<Failure> for Fault {
    fn from(failure: Failure) -> Fault {
        Fault::from(&failure)
    }
}

/// Every problem of a package, for people.
pub(crate) fn diagnostics_lines(diagnostics: &[Diagnostic]) -> String {
    diagnostics.iter().map(|problem| one_line(&problem.to_string())).collect::<Vec<_>>().join("\n")
}

impl From<InstalledError> for Fault {
    fn from(error: InstalledError) -> Fault {
        match error {
            InstalledError::Package(error) => error.into(),
            error => ErrorReport::new(error.code(), error.to_string()).into(),
        }
    }
}

impl From<PackageError> for Fault {
    fn from(error: PackageError) -> Fault {
        Failure::from(error).into()
    }
}

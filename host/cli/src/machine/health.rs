//! What `doctor` looked at, one thing: a row of its answer, whoever looked.

use crate::answers::DoctorCheck;

/// A thing that was looked at: `ok`, `bad`, or `warn` where all works and less is promised of it; what was found, and what mends it.
pub(crate) fn check(name: &str, status: &'static str, found: String, fix: Option<&str>) -> DoctorCheck {
    DoctorCheck { name: name.to_owned(), status, found, fix: fix.map(str::to_owned), damages: None }
}

//! Without the feature there is no database, and who names one is told so.

use crate::answers::DoctorCheck;
use crate::flags::database::{Connected, VARIABLE};
use crate::machine::health;
use crate::refusal::fault::Fault;
use std::ffi::OsStr;
use std::time::Duration;

pub(super) fn connect(_setting: &OsStr, _wait: Duration, _how: (bool, bool)) -> Result<Connected, Fault> {
    Err(without())
}

pub(super) fn connect_for_another(_setting: &OsStr, _wait: Duration) -> Result<(), Fault> {
    Err(without())
}

pub(super) fn doctored(_setting: &OsStr, _wait: Duration) -> Vec<DoctorCheck> {
    let fault = without();
    let (found, fix) = (fault.report().message.clone(), fault.report().suggestion.clone());
    vec![health::check(VARIABLE, "bad", found, Some(&fix))]
}

fn without() -> Fault {
    Fault::usage(format!("{VARIABLE} names a database, and this program was built without the feature postgres"))
}

//! Runs again what a state file tells of, and compares every byte.

use crate::application::Application;
use crate::report::{Done, of, print};
use crate::state;
use hutch::Verified;
use hutch_model::error_code::ErrorCode;
use hutch_model::error_report::ErrorReport;
use hutch_store::InstanceName;
use serde_json::json;
use std::collections::BTreeMap;
use std::path::Path;
use std::process::ExitCode;

/// Prints how many entries there are and how many came to the same, where the chain stands, and the digests of the state.
pub(crate) fn verify(application: &Application, path: &Path) -> Done {
    state::read(application.store(), application.package().manifest().slug(), path)?;
    let session = application.session(&InstanceName::default(), None)?;
    let head = session.check_chain(&[]).map_err(of)?;
    let (mut equal, mut unproved, mut differ) = (0_u64, 0_u64, Vec::new());
    for sealed in session.entries(1) {
        let sealed = sealed.map_err(of)?;
        match application.host().verify(application.package(), &session, &sealed, &BTreeMap::new()).map_err(of)? {
            Verified::Equal => equal += 1,
            Verified::Differs(differences) => {
                differ.push(json!({ "sequence": sealed.sequence, "differences": differences }));
            }
            _ => unproved += 1,
        }
    }
    if !differ.is_empty() {
        let message = format!("{} entries came to something else when they were run again", differ.len());
        return Err(ErrorReport::new(ErrorCode::VerifyFailed, message).detail("entries", differ));
    }
    let result = json!({
        "entries": head.sequence,
        "equal": equal,
        "not_run_again": unproved,
        "head": { "sequence": head.sequence, "hash": head.hash },
        "volumes": session.state_at(None).map_err(of)?,
    });
    print(format!("{result}\n").as_bytes(), &[]).map(|()| ExitCode::SUCCESS)
}

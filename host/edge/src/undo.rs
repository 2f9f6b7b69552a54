//! Takes back the last change that a state file tells of.

use crate::application::Application;
use crate::asked::Asked;
use crate::report::{Done, of, print};
use crate::state::{self, StateFile};
use serde_json::json;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::process::ExitCode;

/// Prints the entry that this is, the one that it takes back, and the digests of the state.
pub(crate) fn undo(application: &Application, asked: &Asked, path: PathBuf) -> Done {
    let store = application.store();
    let file = StateFile::take(store, application.package().manifest().slug(), path.clone())?;
    let before = application.last()?;
    if before == 0 {
        return Err(state::missing(&path));
    }
    let session = application.session(&asked.instance, asked.at)?;
    let undone = session.undo_last(1, &BTreeMap::new());
    // What could not be undone is written down too.
    file.keep(store, before)?;
    let moved = undone.map_err(of)?;
    let result = json!({
        "entry": { "sequence": moved.entry.sequence, "hash": moved.entry.hash },
        "follows": { "sequence": moved.follows.sequence, "hash": moved.follows.hash },
        "volumes": session.state_at(None).map_err(of)?,
    });
    print(format!("{result}\n").as_bytes(), &[]).map(|()| ExitCode::SUCCESS)
}

//! Heads of instances that somebody wrote down, as `instance list --ndjson` prints them: each instance is held against its own, so that one
//! that was cut or exchanged together with all that knew of it shows.

use crate::answer::output::Output;
use crate::flags::global::Global;
use crate::machine::input;
use crate::machine::{progress, surroundings};
use crate::refusal::fault::Fault;
use hutch::Failure;
use hutch_model::error_code::ErrorCode;
use hutch_model::ledger::Pin;
use hutch_model::names::Slug;
use hutch_store::InstanceName;
use serde::Deserialize;
use std::path::Path;

/// The longest file that is read: a hundred thousand instances.
const HEADS_BYTES_MAX: u64 = 64 << 20;

/// One line: of what else stands in it nothing is asked.
#[derive(Deserialize)]
struct Line {
    package: String,
    instance: String,
    /// Null where it could not be read when the file was written.
    head: Option<String>,
}

/// Checks the chain of each instance that the file names, and that it holds the entry that was its head. How many instances, and how many
/// entries they have by now. One whose head could not be written down is checked by its chain alone, and named.
pub(crate) fn verify(global: &Global, file: &Path, output: &Output) -> Result<(u64, u64), Fault> {
    let bytes = input::whole(file, HEADS_BYTES_MAX, global.wait)?;
    let text = String::from_utf8_lossy(&bytes);
    let lines: Vec<&str> = text.lines().filter(|line| !line.is_empty()).collect();
    let wrong = |number: usize, reason: &str| {
        let message = format!("{}, line {}: {reason}", file.display(), number + 1);
        Fault::usage(message).suggest("write it with hutch instance list --limit 10000 --ndjson")
    };
    let mut named = Vec::new();
    for (number, line) in lines.iter().enumerate() {
        let line: Line = serde_json::from_str(line).map_err(|error| wrong(number, &error.to_string()))?;
        let pin = line.head.map(|head| head.parse::<Pin>()).transpose();
        let pin = pin.map_err(|error| wrong(number, &error.to_string()))?;
        let slug = Slug::parse(&line.package).map_err(|error| wrong(number, &error.to_string()))?;
        let name = line.instance.parse::<InstanceName>().map_err(|error| wrong(number, &error.to_string()))?;
        named.push((slug, name, pin));
    }
    // A file that names nothing holds nothing against anything.
    if named.iter().all(|(_, _, pin)| pin.is_none()) {
        return Err(wrong(0, "names no head of an instance"));
    }
    let host = surroundings::host(global)?;
    let mut entries = 0;
    for (done, (slug, name, pin)) in named.iter().enumerate() {
        progress::at(done, named.len());
        let what = format!("{slug}/{name}");
        let session = host.open_existing(slug, name, surroundings::now());
        let checked = session.and_then(|session| session.check_chain(pin.as_slice()));
        entries += checked.map_err(|failure| told(&failure, &what, *pin))?.sequence;
        if pin.is_none() {
            output.remark(&format!("{what} had no head that could be read then; what was cut from it does not show"));
        }
    }
    Ok((named.len() as u64, entries))
}

/// An instance that is gone has lost all of its entries.
fn told(failure: &Failure, what: &str, pin: Option<Pin>) -> Fault {
    let Some(pin) = pin.filter(|_| failure.code() == ErrorCode::NotFound) else {
        return Fault::from(failure).of(what);
    };
    let message = format!("{what} is not there, and its head was {pin}");
    Fault::new(ErrorCode::StoreDamaged, message)
}

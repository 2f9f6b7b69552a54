//! What a memo had to do with a run, and with many.

use hutch::{MemoTally, Remembered};
use hutch_model::ledger::{MemoRecord, MemoUse};
use serde_json::{Value, json};

/// What a memo had to do with one run.
pub fn remembered_value(remembered: &Remembered) -> Value {
    match remembered {
        Remembered::Found(found) => json!(found),
        Remembered::Kept(key) => json!({ "used": "kept", "key": key }),
        Remembered::LeftOut(reason) => json!({ "used": "left_out", "reason": reason }),
        // One that this version has no name for.
        _ => Value::Null,
    }
}

/// What one had to do with many calls.
pub fn tally_value(tally: &MemoTally) -> Value {
    let MemoTally { found, kept, left_out, findings, trouble, .. } = tally;
    json!({
        "reused": found.reused,
        "equal": found.equal,
        "differ": found.differ,
        "kept": kept,
        "left_out": left_out,
        "findings": findings,
        "trouble": trouble,
    })
}

/// What a person is told of an outcome that was kept and is not what its call comes to; nothing of others.
pub fn finding(found: &MemoRecord) -> Option<String> {
    if found.used != MemoUse::Differs {
        return None;
    }
    let by = found.made.role.as_ref().map(|role| format!(", put there by the role {role}")).unwrap_or_default();
    let beside = found.made.instance.as_ref().map(|instance| format!(" in {instance}")).unwrap_or_default();
    let (key, at, differs) = (found.key, found.made.at, found.differs.join(", "));
    let what = "is not what its call comes to, and is dropped: the answer is that of a run";
    Some(format!("the outcome that was kept under {key}, made at {at}{beside}{by}, {what} (differs: {differs})"))
}

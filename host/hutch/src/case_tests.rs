//! Tests of packages, as they are read and written.

use super::*;
use serde_json::{Value, json};

fn case() -> Value {
    json!({
        "arguments": ["list"],
        "now": "2026-04-01T09:00:00Z",
        "seed": "7",
        "before": {"state": {
            "a": {"modified": "2026-04-01T09:00:00.000000001Z", "is": {"file": {"text": "one"}}},
            "b": {"modified": "1970-01-01T00:00:00Z", "is": {"folder": {
                "c": {"modified": "2026-04-01T09:00:00Z", "is": {"file": {"base64": "/w=="}}},
            }}},
            "d": {"modified": "2026-04-01T09:00:00Z", "is": {"link": "b/c"}},
        }},
        "exit_status": 0,
        "stdout": {"text": "{}"},
    })
}

fn read(case: &Value) -> Result<Case, NotACase> {
    Case::read(case.to_string().as_bytes())
}

#[test]
fn a_state_is_the_same_as_files() {
    let case = read(&case()).unwrap();
    let States { objects, before, after } = case.states().unwrap();
    assert_eq!(written(&objects, &before["state"]).unwrap(), case.before["state"]);
    assert!(after.is_empty());
    assert_eq!(read(&serde_json::to_value(&case).unwrap()), Ok(case));
}

#[test]
fn what_is_no_test_is_refused() {
    let volumes = |count: usize| (0..count).map(|at| (format!("state{at}"), json!({}))).collect::<Value>();
    let other = |place: &str, value: Value| {
        let mut case = case();
        *case.pointer_mut(place).unwrap() = value;
        read(&case)
    };
    for (place, value) in [
        ("/stdout", json!({"base64": "="})),
        ("/stdout", json!("{}")),
        ("/exit_status", json!(256)),
        ("/now", json!("today")),
        ("/before/state/d/is", json!({"link": ""})),
        ("/before/state/d/is", json!({"link": "x".repeat(70_000)})),
        ("/before/state/d/is", json!({"pipe": ""})),
        ("/before/state", json!({"..": {"modified": "1970-01-01T00:00:00Z", "is": {"link": "a"}}})),
        ("/before", json!({"../state": {}})),
        ("/before", json!({"hutch.db": {}})),
        ("/before", volumes(VOLUMES_MAX + 1)),
    ] {
        assert!(other(place, value.clone()).is_err(), "{place}: {value}");
    }
    assert!(other("/before", volumes(VOLUMES_MAX)).is_ok());
    let mut more = case();
    more["fuel"] = json!(1);
    assert!(read(&more).is_err(), "a field was passed over");
}

#[test]
fn a_test_is_read_up_to_so_many_bytes() {
    let of = |bytes: usize| {
        let text = case().to_string();
        Case::read(format!("{text}{}", " ".repeat(bytes - text.len())).as_bytes())
    };
    let most = usize::try_from(CASE_BYTES_MAX).unwrap();
    assert!(of(most).is_ok());
    assert!(of(most + 1).unwrap_err().to_string().contains("4194304 allowed"));
    // Many small values take many times their bytes.
    let mut many = case();
    many["arguments"] = json!(vec![0; 1_500_000]);
    assert!(read(&many).unwrap_err().to_string().contains("of memory"));
}

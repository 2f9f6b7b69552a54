//! The compiler where there is no machine: in a browser tab, a worker, Node. A module for `wasm32-unknown-unknown` that imports nothing, apart
//! from the host's, which it makes code for: whoever has an artifact never fetches it.
//!
//! [`answer`] takes a component and gives the artifact that `hutch compile --target pulley32` makes of it, byte for byte. It takes as long as
//! it takes: whoever asks ends the worker. `door` is the C-like interface to it, the same as that of `hutch-tab`. It knows no packages, no
//! states, and runs no guest.

#[cfg(target_family = "wasm")]
#[path = "../../tab/src/blocks.rs"]
mod blocks;
#[cfg(target_family = "wasm")]
mod door;
#[cfg(target_family = "wasm")]
mod untimed;

use hutch_engine::settings::{Backend, Target};
use hutch_engine::{LoadError, compile, written_artifact};
use hutch_model::digest::{Digest, Kind};
use hutch_model::error_code::ErrorCode;
use hutch_model::error_report::ErrorReport;
use serde::Deserialize;
use serde_json::{Value, json};

/// What comes of a request.
#[derive(Debug, Default)]
pub struct Answer {
    /// `{"ok":true,"result":…}`, or the host's error object.
    pub json: Vec<u8>,
    /// The artifact.
    pub attachment: Vec<u8>,
}

/// One request: `{"op":"compile"}`.
#[derive(Debug, Deserialize)]
#[serde(tag = "op", rename_all = "snake_case", deny_unknown_fields)]
enum Request {
    /// Takes the attachment as a component.
    Compile {},
}

/// Answers one request.
pub fn answer(request: &[u8], attachment: &[u8]) -> Answer {
    let done = serde_json::from_slice(request)
        .map_err(|error| ErrorReport::new(ErrorCode::Usage, format!("the request is not of a known form: {error}")))
        .and_then(|Request::Compile {}| {
            made(attachment).map_err(|error| ErrorReport::new(error.code(), error.to_string()))
        });
    let (json, attachment) = match done {
        Ok((result, artifact)) => (json!({ "ok": true, "result": result }), artifact),
        Err(report) => (serde_json::to_value(report).unwrap_or_default(), Vec::new()),
    };
    Answer { json: json.to_string().into_bytes(), attachment }
}

fn made(component: &[u8]) -> Result<(Value, Vec<u8>), LoadError> {
    let target = Target::from(Backend::Interpreter32);
    let compiled = compile(&target, component)?;
    let artifact = written_artifact(component, &target, compiled.made(), &compiled.into_code())?;
    let result = json!({
        "component": Digest::of(Kind::Component, component),
        "target": target.name(),
        "bytes": artifact.len(),
    });
    Ok((result, artifact))
}

#[cfg(test)]
mod tests {
    use super::*;
    use hutch_model::limits::Limits;
    use hutch_sandbox::{Sandbox, read_artifact};

    const COMPONENT: &[u8] = include_bytes!("../../../packages/todo/app/app.wasm");

    fn ask(request: &str, attachment: &[u8]) -> (Value, Vec<u8>) {
        let Answer { json, attachment } = answer(request.as_bytes(), attachment);
        (serde_json::from_slice(&json).unwrap_or_default(), attachment)
    }

    #[test]
    fn it_makes_what_the_program_makes() {
        let (json, artifact) = ask(r#"{"op":"compile"}"#, COMPONENT);
        assert_eq!((&json["ok"], &json["result"]["target"]), (&json!(true), &json!("pulley32")), "{json}");
        assert_eq!(json["result"]["component"], json!(Digest::of(Kind::Component, COMPONENT)));
        assert!(read_artifact(&artifact).is_ok());
        let native = Sandbox::default().compile_for("pulley32", COMPONENT, &Limits::default());
        assert!(native.is_ok_and(|native| native == artifact), "other bytes");
    }

    #[test]
    fn what_is_no_component_has_the_hosts_codes() {
        for (request, attachment, code) in [
            (r#"{"op":"compile"}"#, &b"\0asm\x01\0\0\0\xff"[..], "COMPONENT_INVALID"),
            (r#"{"op":"compile"}"#, b"", "COMPONENT_INVALID"),
            (r#"{"op":"compile","target":"x"}"#, COMPONENT, "USAGE"),
            (r#"{"op":"run"}"#, COMPONENT, "USAGE"),
            ("", COMPONENT, "USAGE"),
        ] {
            let (json, artifact) = ask(request, attachment);
            assert_eq!((json["code"].as_str(), artifact.len()), (Some(code), 0), "{request}: {json}");
        }
    }
}

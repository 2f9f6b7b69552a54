//! Behaviours that end the program, well or badly, or break the contract on stdout.

use std::io::{self, Write};

use guest_probe::ASKED_FOR;
use hutch_guest::argv::Arguments;
use serde_json::json;

use crate::component::{Observation, end, print, size, status, text};
use crate::resources::flood;
use crate::wasi::cli::exit;

pub(crate) fn observe(command: &str, arguments: &Arguments) -> Option<Observation> {
    Some(match command {
        "exit" => status(arguments).map(|status| {
            if status == 0 {
                print(&json!({"ok": true, "command": "exit", "status": 0}));
            }
            exit::exit_with_code(status);
            None
        }),
        "exit-result" => {
            let result = if text(arguments, "result") == "ok" { Ok(()) } else { Err(()) };
            if result.is_ok() {
                print(&json!({"ok": true, "command": "exit-result"}));
            }
            exit::exit(result);
            Ok(None)
        }
        "return-ok" => Ok(Some(json!({}))),
        "return-err" => {
            // What `main` returning `ExitCode::FAILURE` does, from in here.
            std::process::exit(1)
        }
        "trap" => core::arch::wasm32::unreachable(),
        "panic" => panic!("the probe was asked to panic"),
        "stderr-then-panic" => size(arguments, "bytes").map(|bytes| {
            eprintln!("this is the first line");
            flood(io::stderr(), bytes);
            panic!("the probe was asked to panic at the end")
        }),
        "json-and-exit" => status(arguments).map(|status| {
            let message = format!("the caller asked for status {status}");
            print(&json!({"ok": false, "error": {"code": ASKED_FOR.code, "message": message}}));
            end(status);
            std::process::exit(i32::from(status))
        }),
        "not-json" => raw(b"This is prose, not JSON.\n"),
        "two-json" => raw(b"{\"ok\":true,\"command\":\"two-json\",\"document\":1}\n{\"ok\":true,\"command\":\"two-json\",\"document\":2}\n"),
        "empty" => Ok(None),
        _ => return None,
    })
}

/// Writes bytes as they are.
pub(crate) fn raw(bytes: &[u8]) -> Observation {
    let mut stdout = io::stdout().lock();
    // A stdout that cannot be written has nobody to tell.
    let _ = stdout.write_all(bytes).and_then(|()| stdout.flush());
    Ok(None)
}

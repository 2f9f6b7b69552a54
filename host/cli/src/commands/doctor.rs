//! `hutch doctor`: whether this machine and this home are fit, one check after the other. Changes nothing.

#![allow(clippy::disallowed_methods, reason = "the surroundings are what this is about")]

use crate::arguments::Global;
use crate::fault::Fault;
use crate::output::Output;
use crate::told::Told;
use crate::{human, issues::Issues, packages, surroundings};
use hutch::package::PackageBounds;
use hutch_model::error_code::ErrorCode;
use hutch_model::error_report::ErrorReport;
use hutch_model::limits::Limit;
use hutch_model::names::Slug;
use serde_json::{Value, json};
use std::process::ExitCode;

pub(super) fn doctor(global: &Global, output: &Output) -> Result<ExitCode, Fault> {
    let home = surroundings::home(global)?;
    let mut checks = vec![match home.symlink_metadata() {
        Ok(metadata) if metadata.is_dir() => check("home", "ok", home.display().to_string(), None),
        Ok(_) => check("home", "bad", format!("{} is no folder", home.display()), Some("name another with --home")),
        Err(_) => check("home", "ok", format!("{} is made when it is first needed", home.display()), None),
    }];
    let installed = packages::installed(global)?;
    let bounds = PackageBounds::with_component(Limit::Component.info().default);
    for pin in installed.pins()? {
        checks.push(match pin {
            Ok(pin) => {
                let name = format!("package {}", pin.slug);
                let opened = Slug::parse(&pin.slug).map(|slug| installed.open(&slug, bounds, None));
                match opened {
                    Ok(Ok(_)) => check(&name, "ok", format!("version {}, as installed", pin.version), None),
                    Ok(Err(error)) => {
                        check(&name, "bad", error.to_string(), Some("install it again from a source that you trust"))
                    }
                    Err(error) => check(&name, "bad", error.to_string(), Some("remove its folder")),
                }
            }
            Err(error) => check("package", "bad", error.to_string(), Some("install it again")),
        });
    }
    checks.push(match Issues::of(&home).all() {
        Ok(issues) => check("issues", "ok", format!("{} kept", issues.len()), None),
        Err(fault) => {
            check("issues", "bad", fault.report().message.clone(), Some("remove the file that can't be read"))
        }
    });
    checks.push(match std::env::var("HUTCH_FORMAT").as_deref() {
        Err(_) | Ok("human" | "json" | "agent") => check("HUTCH_FORMAT", "ok", "understood".to_owned(), None),
        Ok(other) => {
            check("HUTCH_FORMAT", "bad", format!("{other:?} is not understood"), Some("set it to human or json"))
        }
    });
    let good = checks.iter().all(|check| check.get("status") == Some(&Value::from("ok")));
    if !good {
        let report = ErrorReport::new(ErrorCode::HostFault, "not everything is as it should be");
        let fault = Fault::from(report.suggest("mend what details.checks calls bad").detail("checks", checks.clone()));
        return Err(fault.seen_as(table(&checks)));
    }
    let result = json!({
        "healthy": true, "version": env!("CARGO_PKG_VERSION"), "home": home.display().to_string(), "items": checks,
        "total": checks.len(), "limit": checks.len(), "has_more": false,
    });
    output.answer("doctor", result, |result| {
        let checks = result.get("items").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
        table(checks)
    })?;
    Ok(ExitCode::SUCCESS)
}

fn table(checks: &[Value]) -> Told {
    human::table(checks, &[("status", "STATUS"), ("name", "CHECK"), ("found", "FOUND"), ("fix", "FIX")])
}

fn check(name: &str, status: &str, found: String, fix: Option<&str>) -> Value {
    json!({"name": name, "status": status, "found": found, "fix": fix})
}

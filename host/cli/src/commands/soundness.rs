//! Whether instances are what was written: all of one, or those of the home. Nothing of them is
//! changed, not even what another command would finish.

use super::instance::InstanceArguments;
use crate::answer::output::Output;
use crate::answers::{DoctorCheck, LeftOut, StateChecked};
use crate::flags::global::Global;
use crate::machine::health;
use crate::machine::{progress, stores, surroundings};
use crate::refusal::fault::Fault;
use crate::screen::human;
use hutch::instances::{Instance, check as check_one};
use hutch_documents::bounds::CHECKED_BYTES;
use hutch_model::error_code::ErrorCode;
use hutch_model::error_report::ErrorReport;
use hutch_model::terminal::one_line;
use hutch_store::Damage;
use serde_json::{Value, json};
use std::path::Path;
use std::process::ExitCode;

/// Damages that people are shown of one instance.
const SHOWN_MAX: usize = 20;

/// Looks through one instance.
pub(super) fn check(global: &Global, own: &InstanceArguments, output: &Output) -> Result<ExitCode, Fault> {
    let slug = own.slug(global)?;
    let checked = match &global.database {
        Some(database) => stores::check(database, &slug, &own.instance)?,
        None => check_one(&surroundings::home(global)?, &slug, &own.instance, global.wait)?,
    };
    if !checked.damages.is_empty() {
        let instance = format!("{slug}/{}", own.instance);
        let message = format!("of {instance} {} damaged", counted(&checked.damages));
        let lines = checked.damages.iter().take(SHOWN_MAX).map(|damage| one_line(&said(damage)));
        let lines = lines.collect::<Vec<_>>().join("\n");
        let report = ErrorReport::new(ErrorCode::StoreDamaged, message).detail("instance", instance);
        return Err(Fault::from(report.detail("damages", values(&checked.damages))).seen_as(lines));
    }
    let stats = checked.stats.unwrap_or_default();
    let value = StateChecked {
        package: slug.to_string(),
        instance: own.instance.to_string(),
        entries: stats.entries,
        objects: stats.objects + stats.streams,
        bytes: stats.object_bytes + stats.stream_bytes,
    };
    output.answer("doctor", value, human::fields)
}

/// What was found of all instances.
#[derive(Default)]
pub(super) struct Instances {
    /// One check for each that was looked through.
    pub(super) checks: Vec<DoctorCheck>,
    /// Those that were not, each with the call that does.
    pub(super) left_out: Vec<LeftOut>,
    /// Whether one is damaged.
    pub(super) damaged: bool,
}

/// Looks through the instances of a home, as long as their databases are not larger than one answer looks through.
pub(super) fn instances(global: &Global, home: &Path) -> Instances {
    let mut found = Instances::default();
    let known = match hutch::instances::of(home) {
        Ok(known) => known,
        Err(error) => {
            let fix = "make the folder instances in the home readable";
            found.checks.push(health::check("instances", "bad", error.to_string(), Some(fix)));
            return found;
        }
    };
    let mut bytes = 0_u64;
    for (done, one) in known.iter().enumerate() {
        let Instance { slug, name, bytes: size } = one;
        progress::at(done, known.len());
        let instance = format!("{slug}/{name}");
        if CHECKED_BYTES.is_below(bytes.saturating_add(*size)) {
            let check = global.line.elsewhere(["doctor", "--instance", name.as_str(), slug.as_str()]);
            found.left_out.push(LeftOut { instance, bytes: *size, check });
            continue;
        }
        bytes += size;
        let subject = format!("instance {instance}");
        found.checks.push(match check_one(home, slug, name, global.wait) {
            Ok(checked) if checked.damages.is_empty() => {
                let entries = checked.stats.unwrap_or_default().entries;
                match hutch::instances::head(home, one, global.wait).map_or(0, |head| head.open.len()) {
                    0 => health::check(&subject, "ok", format!("{entries} entries, all as written"), None),
                    open => {
                        let text = format!("{entries} entries as written; {open} runs in granted folders did not end");
                        let diff = ["state", "diff", "--instance", name.as_str(), slug.as_str()];
                        health::check(&subject, "warn", text, global.line.elsewhere(diff).as_deref())
                    }
                }
            }
            Ok(checked) => {
                found.damaged = true;
                let first = checked.damages.first().map(said).unwrap_or_default();
                let text = format!("{} damaged: {first}", counted(&checked.damages));
                let mut check = health::check(&subject, "bad", text, Some(ErrorCode::StoreDamaged.fix()));
                check.damages = Some(values(&checked.damages));
                check
            }
            Err(failure) => health::check(&subject, "bad", failure.to_string(), Some(failure.code().fix())),
        });
    }
    for Instance { slug, name, .. } in hutch::instances::begun(home).unwrap_or_default() {
        let text = "a call that was cut off began to make it: nothing was ever kept in it".to_owned();
        let purge = global.line.elsewhere(["instance", "purge", "--instance", name.as_str(), slug.as_str()]);
        found.checks.push(health::check(&format!("instance {slug}/{name}"), "warn", text, purge.as_deref()));
    }
    found
}

fn counted(damages: &[Damage]) -> String {
    match damages.len() {
        1 => "1 part is".to_owned(),
        several => format!("{several} parts are"),
    }
}

fn said(damage: &Damage) -> String {
    format!("{}: {}", damage.what, damage.reason)
}

fn values(damages: &[Damage]) -> Value {
    damages.iter().map(|damage| json!({ "what": damage.what, "reason": damage.reason })).collect()
}

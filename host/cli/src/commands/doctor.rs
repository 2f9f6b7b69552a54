//! `hutch doctor`: whether this machine and this home are fit, one check after the other. Changes nothing.

use super::instance::InstanceArguments;
use super::soundness;
use crate::answer::output::Output;
use crate::answers::{DoctorAnswer, DoctorCheck};
use crate::feedback::issues::Issues;
use crate::flags::global::{Global, Ring};
#[cfg(unix)]
use crate::line::quote;
use crate::machine::advisories;
use crate::machine::health::check;
use crate::machine::needs::Needs;
use crate::machine::new_file::folder_of;
use crate::machine::ring;
use crate::machine::{stores, surroundings};
use crate::package::{packages, trust};
use crate::refusal::fault::Fault;
use crate::screen::human;
use crate::screen::told::Told;
use clap::Args;
use hutch::package::PackageBounds;
use hutch_model::error_code::ErrorCode;
use hutch_model::error_report::ErrorReport;
use hutch_model::terminal::one_line;
use hutch_registry::Root;
use hutch_sandbox::ring::paths::{self, WHOLE_ABI};
use hutch_store::InstanceName;
use serde_json::json;
use std::collections::BTreeSet;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

#[derive(Debug, Args)]
pub(crate) struct DoctorArguments {
    /// The instance
    #[arg(long, value_name = "NAME", default_value = "default", requires = "package")]
    instance: InstanceName,
    /// Look through all of this package's instance instead
    #[arg(value_name = "PACKAGE")]
    package: Option<PathBuf>,
}

impl DoctorArguments {
    /// What it needs before it begins: an instance may be in a database.
    pub(crate) fn needs(&self) -> Needs {
        let needs = Needs::NOTHING.long();
        if self.package.is_some() { needs.instances() } else { needs }
    }
}

pub(crate) fn doctor(global: &Global, own: DoctorArguments, output: &Output) -> Result<ExitCode, Fault> {
    match own.package {
        Some(package) => soundness::check(global, &InstanceArguments { instance: own.instance, package }, output),
        None => all(global, output),
    }
}

#[expect(clippy::disallowed_methods, reason = "the home is a path that may lead to nothing yet")]
fn all(global: &Global, output: &Output) -> Result<ExitCode, Fault> {
    let home = surroundings::home(global)?;
    let mut checks = vec![match home.symlink_metadata() {
        Ok(metadata) if metadata.is_dir() => match has_room(&home) {
            Ok(()) => check("home", "ok", home.display().to_string(), None),
            Err(error) => {
                let mend = "make room there, or let yourself write there; until then no call is kept";
                check("home", "bad", format!("{}: {error}", home.display()), Some(mend))
            }
        },
        Ok(_) => check("home", "bad", format!("{} is no folder", home.display()), Some("name another with --home")),
        Err(_) => check("home", "ok", format!("{} is made when it is first needed", home.display()), None),
    }];
    checks.extend(written_by_others(&home));
    checks.extend(remnants(&home));
    checks.push(match trust::policy(global) {
        Ok(policy) => {
            let message = format!("{} keys and {} rules", policy.keys.len(), policy.rules.len());
            check("trust.json", "ok", message, None)
        }
        Err(fault) => {
            let mend = "mend it by hand; until then no package is run";
            check("trust.json", "bad", fault.report().message.clone(), Some(mend))
        }
    });
    checks.push(match trust::root(global) {
        Ok(_) if !Root::CHECKS_CERTIFICATES => {
            check("certificates", "ok", "not judged: this program has no feature keyless".to_owned(), None)
        }
        Ok(root) => check("certificates", "ok", format!("judged by {} authorities", root.authorities()), None),
        Err(fault) => {
            let mend = "mend it by hand; until then no signature is judged";
            check("certificates", "bad", fault.report().message.clone(), Some(mend))
        }
    });
    let installed = packages::installed(global)?;
    let bounds = PackageBounds::default();
    for pin in installed.pins()? {
        checks.push(match pin {
            Ok(pin) => {
                let name = format!("package {}", pin.slug);
                match installed.open(&pin, bounds, None) {
                    Ok(_) => check(&name, "ok", format!("version {}, as installed", pin.version), None),
                    Err(error) => {
                        check(&name, "bad", error.to_string(), Some("install it again from a source that you trust"))
                    }
                }
            }
            Err(error) => check("package", "bad", error.to_string(), Some("install it again")),
        });
    }
    let issues = Issues::of(&home).all();
    checks.push(match issues.and_then(|issues| issues.into_iter().collect::<Result<Vec<_>, _>>()) {
        Ok(issues) => check("issues", "ok", format!("{} kept", issues.len()), None),
        Err(fault) => {
            check("issues", "bad", fault.report().message.clone(), Some("remove the file that can't be read"))
        }
    });
    checks.push(match surroundings::format().as_deref() {
        None | Some("human" | "json" | "agent" | "") => check("HUTCH_FORMAT", "ok", "understood".to_owned(), None),
        Some(other) => {
            check("HUTCH_FORMAT", "bad", format!("{other:?} is not understood"), Some("set it to human or json"))
        }
    });
    checks.push(match surroundings::ring() {
        Ok(Ring::Required) => {
            check("HUTCH_RING", "ok", "no guest starts without rings that are whole".to_owned(), None)
        }
        Ok(Ring::Auto) => check("HUTCH_RING", "ok", "runs have the rings that there are".to_owned(), None),
        Ok(Ring::Off) => check("HUTCH_RING", "ok", "off: runs have no rings, whichever there are".to_owned(), None),
        Err(fault) => {
            let mend = "set it to required, auto or off; until then nothing is run";
            check("HUTCH_RING", "bad", fault.report().message.clone(), Some(mend))
        }
    });
    let ring = match hutch_sandbox::ring::is_there() {
        true => format!(
            "around compilers, and where {} ask a component: they have the system calls that they need, and no others; around {}: no \
             sockets (a server makes no new ones), no other process's memory, no changes to the machine, and once a guest starts no \
             programs and no other processes",
            ring::asking(),
            ring::around(&[])
        ),
        false => "none: this system has no filter for system calls, or none that is known here".to_owned(),
    };
    let abi = paths::abi();
    checks.push(missing_or("ring", hutch_sandbox::ring::is_there(), ring));
    checks.push(missing_or("ring of paths", abi >= WHOLE_ABI, judged(abi)));
    checks.push(advisories::engine(surroundings::now()));
    checks.extend(stores::doctored(global.wait));
    let instances = soundness::instances(global, &home);
    checks.extend(instances.checks);
    let left_out = instances.left_out;
    let good = checks.iter().all(|check| check.status != "bad");
    if !good {
        let code = if instances.damaged { ErrorCode::StoreDamaged } else { ErrorCode::HostFault };
        let report = ErrorReport::new(code, "not everything is as it should be");
        let report = report.suggest("mend what details.checks calls bad").detail("checks", &checks);
        let fault = Fault::from(report.detail("left_out", &left_out));
        return Err(fault.seen_as(table(&checks)));
    }
    let told = match left_out.len() {
        0 => table(&checks),
        some => table(&checks).and(format!("{some} instances were left out; hutch doctor PACKAGE looks through one")),
    };
    let result = DoctorAnswer {
        healthy: true,
        version: env!("CARGO_PKG_VERSION"),
        home: home.display().to_string(),
        total: checks.len(),
        items: checks,
        left_out,
    };
    output.answer("doctor", result, |_| told)
}

/// Whether there is room for what a call writes, in a file without a name, which is gone with that.
fn has_room(home: &Path) -> io::Result<()> {
    const CALL_BYTES: usize = 1 << 20;
    tempfile::tempfile_in(home)?.write_all(&vec![0; CALL_BYTES])
}

/// What of the home others may write, if anything: who does decides what is run, and by which rules.
#[cfg(unix)]
#[expect(clippy::disallowed_methods, reason = "the home is a path that may lead to nothing yet")]
fn written_by_others(home: &Path) -> Option<DoctorCheck> {
    use std::os::unix::fs::MetadataExt;
    let has = |path: &PathBuf, rights: u32| path.metadata().is_ok_and(|found| found.mode() & rights != 0);
    let home = home.to_owned();
    // Nobody gets to what is below a home that nobody else may enter.
    let is_entered = has(&home, 0o011);
    let below = ["packages", "instances"].into_iter().chain(trust::FILES).filter(|_| is_entered);
    let all = std::iter::once(home.clone()).chain(below.map(|name| home.join(name)));
    let open: Vec<String> = all.filter(|path| has(path, 0o022)).map(|path| path.display().to_string()).collect();
    let mend = format!("chmod -R go-w {}", quote::always(&home.display().to_string()));
    let found = format!("others may write {}", open.join(", "));
    (!open.is_empty()).then(|| check("rights", "warn", found, Some(&mend)))
}

#[cfg(not(unix))]
fn written_by_others(_: &Path) -> Option<DoctorCheck> {
    None
}

/// What backups and restores that were killed have left beside the home, and where the call is made.
#[expect(clippy::disallowed_methods, reason = "one folder that has two names is looked at once")]
fn remnants(home: &Path) -> Option<DoctorCheck> {
    const NAMED: usize = 10;
    let places = [folder_of(home), Path::new(".")].into_iter().filter_map(|place| place.canonicalize().ok());
    let places: BTreeSet<PathBuf> = places.collect();
    let left = places.iter().filter_map(|place| hutch::backup::remnants(place).ok()).flatten();
    let left: Vec<String> = left.take(NAMED).map(|path| path.display().to_string()).collect();
    let found = format!("a backup or a restore that was killed left {}", left.join(", "));
    let mend = "remove them: they may hold a copy of a home, with its keys; the next backup to that folder does";
    (!left.is_empty()).then(|| check("remnants", "warn", found, Some(mend)))
}

/// A ring, as it is: one that is not whole is less than what is promised, and all that there is where rings are required.
fn missing_or(name: &str, is_whole: bool, found: String) -> DoctorCheck {
    match (is_whole, surroundings::ring()) {
        (true, _) => check(name, "ok", found, None),
        (false, Ok(Ring::Required)) => check(
            name,
            "bad",
            found,
            Some("HUTCH_RING requires it: no guest starts here; set it to auto to go on without"),
        ),
        (false, _) => {
            check(name, "warn", found, Some("a guest that breaks out of its sandbox meets less here; see SECURITY.md"))
        }
    }
}

/// What the ring that judges paths keeps from whom, where Landlock is of this version.
fn judged(abi: u32) -> String {
    let around = format!(
        "around {}, once a guest starts: no paths but the instance's (a server: those that it serves), the package's and granted ones",
        ring::around(&["validate"])
    );
    match abi {
        0 => "none: this system has no Landlock, or keeps it from hutch".to_owned(),
        1 => "none: Landlock 1 keeps files from being moved between folders".to_owned(),
        WHOLE_ABI.. => format!("{around}; no programs, ports and signals to others (Landlock {abi})"),
        _ => format!("{around}; no programs; not all that is promised (Landlock {abi}, of {WHOLE_ABI})"),
    }
}

/// A table, and below it what to do: that is not cut to fit a screen.
fn table(checks: &[DoctorCheck]) -> Told {
    let rows: Vec<_> = checks.iter().map(|check| json!(check)).collect();
    let table = human::table(&rows, &[("status", "STATUS"), ("name", "CHECK"), ("found", "FOUND")]);
    let fixes = checks.iter().filter_map(|check| Some((check.name.as_str(), check.fix.as_deref()?)));
    fixes.fold(table, |told, (name, fix)| told.and(format!("{}: {}", one_line(name), one_line(fix))))
}

//! `hutch check`: all problems of a package at once.

use crate::answers::CheckAnswer;
use crate::fault::Fault;
use crate::fault::diagnostics_lines;
use crate::global::Global;
use crate::output::Output;
use crate::packages::{self, Place};
use crate::signed::{self, Signed};
use crate::{surroundings, trust};
use clap::Args;
use hutch::check_described;
use hutch_model::diagnostic::Diagnostic;
use hutch_model::error_code::ErrorCode;
use hutch_model::error_report::ErrorReport;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

#[derive(Debug, Args)]
pub(crate) struct CheckArguments {
    /// The folder that holds APP.md, a packed file, or an installed package
    #[arg(value_name = "PACKAGE")]
    package: PathBuf,
}

pub(crate) fn check(global: &Global, own: &CheckArguments, output: &Output) -> Result<ExitCode, Fault> {
    let place = packages::place(global, &own.package)?;
    let mut checked = packages::checked(&packages::path_of(global, &place)?)?;
    // To ask a component is to run it.
    let policy = trust::policy(global)?;
    let asked = trust::judge(&policy, &place).is_allowed();
    if asked {
        check_described(&surroundings::host(global)?, &mut checked)?;
    }
    let diagnostics = &checked.diagnostics;
    if let Some(fault) = fault(&own.package, diagnostics) {
        return Err(fault);
    }
    let (errors, warnings) = (0, diagnostics.len());
    let signatures = match (&place, &checked.package) {
        (Place::Installed(pin), _) => signed::pinned(pin),
        (Place::Local { named, path }, Some(package)) => {
            let keys = trust::keys(&policy, &path.to_string_lossy());
            let verdicts = Signed::local(global, package, named)?.verdicts(&keys);
            signed::sound(&verdicts)?;
            signed::told(&verdicts)
        }
        (Place::Local { .. }, None) => Vec::new(),
    };
    let package = checked.package.as_ref().map(|package| package.manifest());
    let result = CheckAnswer {
        package: package.map(|manifest| manifest.slug().to_string()),
        version: package.map(|manifest| manifest.version().to_string()),
        component_asked: asked,
        skills: checked.skills.iter().map(|skill| skill.name().to_string()).collect(),
        errors,
        warnings,
        diagnostics,
        signatures,
    };
    output.answer("check", result, |_| {
        let unasked =
            if asked { "" } else { "; the component was not asked: the rules in trust.json don't let it run" };
        format!("{}\n{}{unasked}", diagnostics_lines(diagnostics), summary(errors, warnings)).trim_start().to_owned()
    })?;
    Ok(ExitCode::SUCCESS)
}

/// The failure of a package that has errors.
pub(super) fn fault(named: &Path, diagnostics: &[Diagnostic]) -> Option<Fault> {
    let errors = diagnostics.iter().filter(|diagnostic| diagnostic.is_error()).count();
    let warnings = diagnostics.len() - errors;
    let message = format!("{}: {}", named.display(), summary(errors, warnings));
    let report = ErrorReport::new(ErrorCode::PackageInvalid, message)
        .suggest("mend what details.diagnostics lists")
        .detail("errors", errors)
        .detail("warnings", warnings)
        .detail("diagnostics", serde_json::to_value(diagnostics).unwrap_or_default());
    (errors > 0).then(|| Fault::from(report).seen_as(diagnostics_lines(diagnostics)))
}

fn summary(errors: usize, warnings: usize) -> String {
    let counted = |count: usize, of: &str| format!("{count} {of}{}", if count == 1 { "" } else { "s" });
    format!("{}, {}", counted(errors, "error"), counted(warnings, "warning"))
}

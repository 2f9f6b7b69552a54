//! `hutch check`: all problems of a package at once, who signed it, and whether its tests come to what they say.

use super::cases;
use super::files;
use super::sign::only;
use super::templates;
use crate::answer::output::Output;
use crate::answers::{CheckAnswer, CheckAnswers, Signature};
use crate::flags::global::Global;
use crate::machine::needs::Needs;
use crate::machine::surroundings;
use crate::package::network::{self, Fetched, NetworkArguments};
use crate::package::packages::{self, Place};
use crate::package::signed::{self, Signed};
use crate::package::trust;
use crate::refusal::fault::Fault;
use crate::refusal::fault::diagnostics_lines;
use crate::screen::human;
use clap::Args;
use hutch::check_described;
use hutch::package::Checked;
use hutch_model::diagnostic::{Diagnostic, sort};
use hutch_model::error_code::ErrorCode;
use hutch_model::error_report::ErrorReport;
use hutch_registry::{Reference, Signer};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

#[derive(Debug, Args)]
pub(crate) struct CheckArguments {
    /// The folder that holds APP.md, a packed file, an installed package, or oci://HOST/REPOSITORY:TAG; with --bundle files of any kind
    #[arg(value_name = "PACKAGE", required = true)]
    packages: Vec<PathBuf>,
    /// A public key or an identity; one of those that are named must have signed, whoever else is trusted
    #[arg(long = "key", value_name = "KEYFILE")]
    keys: Vec<PathBuf>,
    /// Check files as files, by this bundle, which may be about more
    #[arg(long, value_name = "FILE", requires = "keys")]
    bundle: Option<PathBuf>,
    /// Try its tests too: the files tests/NAME.test.json, which ledger show --to-test makes
    #[arg(long, conflicts_with = "bundle")]
    tests: bool,
    #[command(flatten)]
    network: NetworkArguments,
}

impl CheckArguments {
    /// Its tests run guests, and what it says without them asks components alone.
    pub(crate) fn needs(&self) -> Needs {
        let needs = Needs::NOTHING.long();
        if self.tests { needs.rings() } else { needs.asks() }
    }
}

pub(crate) fn check(global: &Global, own: &CheckArguments, output: &Output) -> Result<ExitCode, Fault> {
    let keys = signed::keys(global, &own.keys)?;
    if let Some(bundle) = &own.bundle {
        let result = files::verified(global, &own.packages, bundle, &keys)?;
        return output.answer("check", CheckAnswers::Files(result), human::fields);
    }
    let word = only(&own.packages)?;
    let looked = match network::reference(word)? {
        Some(_) if own.tests => {
            return Err(Fault::usage("the tests of a package in a repository are tried where it is installed"));
        }
        Some(reference) => there(global, own, &reference, &keys)?,
        None => here(global, word, &keys)?,
    };
    let (checked, diagnostics, asked) = (&looked.checked, &looked.checked.diagnostics, looked.is_asked);
    let (errors, warnings) = (0, diagnostics.len());
    let package = checked.package.as_ref();
    let result = CheckAnswer {
        package: package.map(|package| package.manifest().slug().to_string()),
        version: package.map(|package| package.manifest().version().to_string()),
        digest: package.map(|package| Ok::<_, Fault>(package.digest()?.to_string())).transpose()?,
        component_asked: asked,
        skills: checked.skills.iter().map(ToString::to_string).collect(),
        errors,
        warnings,
        diagnostics,
        signatures: looked.signatures,
        // Once a guest has run, not everything can be looked at any more.
        tests: if own.tests { Some(cases::tried(global, word)?) } else { None },
    };
    let tests = result.tests.map(|tests| format!("; {tests} tests passed")).unwrap_or_default();
    output.answer("check", CheckAnswers::Package(result), |_| {
        let unasked = if asked { "" } else { "; the component was not asked: no rule lets it run here" };
        let summary = summary(errors, warnings);
        format!("{}\n{summary}{unasked}{tests}", diagnostics_lines(diagnostics)).trim_start().to_owned()
    })
}

/// A package that has no errors, and whose signatures are not broken.
struct Looked {
    checked: Checked,
    /// Whether its component was asked what it is.
    is_asked: bool,
    signatures: Vec<Signature>,
}

/// One that is here.
fn here(global: &Global, word: &Path, keys: &[Signer]) -> Result<Looked, Fault> {
    let place = packages::place(global, word)?;
    let mut checked = packages::checked(&packages::path_of(global, &place)?)?;
    // To ask a component is to run it.
    let policy = trust::policy(global)?;
    let is_asked = trust::judge(&policy, &place).is_allowed();
    if is_asked {
        check_described(&surroundings::host(global)?, &mut checked)?;
    }
    if let Some(fault) = fault(word, &checked.diagnostics) {
        return Err(fault);
    }
    checked.diagnostics.extend(checked.package.as_ref().and_then(templates::left));
    sort(&mut checked.diagnostics);
    let signatures = match (&place, &checked.package) {
        (Place::Installed(pin), _) if keys.is_empty() => signed::pinned(pin),
        (_, Some(package)) => {
            let signed = Signed::local(global, package, &packages::stands_beside(package, &place))?;
            let trusted = match &place {
                Place::Local { path, .. } => trust::keys(&policy, &path.to_string_lossy()),
                Place::Installed(_) => Vec::new(),
            };
            judged(&signed, keys, &trusted)?
        }
        (_, None) => unsigned(keys)?,
    };
    Ok(Looked { checked, is_asked, signatures })
}

/// One in a registry: its component is not asked.
fn there(global: &Global, own: &CheckArguments, reference: &Reference, keys: &[Signer]) -> Result<Looked, Fault> {
    let fetched = Fetched::get(global, &own.network, reference)?;
    let checked = fetched.checked();
    if let Some(fault) = fault(Path::new(&fetched.reference.to_string()), &checked.diagnostics) {
        return Err(fault);
    }
    let trusted = trust::keys(&trust::policy(global)?, &network::settled(reference).to_string());
    let signatures = match &checked.package {
        Some(package) => judged(&Signed::fetched(global, &fetched, package)?, keys, &trusted)?,
        None => unsigned(keys)?,
    };
    Ok(Looked { checked, is_asked: false, signatures })
}

/// What has no component that could be signed has no signatures, and nobody who was named has signed it.
fn unsigned(named: &[Signer]) -> Result<Vec<Signature>, Fault> {
    match named {
        [] => Ok(Vec::new()),
        _ => Err(Fault::new(ErrorCode::SignatureRequired, "nothing is there that could be signed")),
    }
}

/// What its signatures turn out to be, by the keys that are named, or else by those that are trusted.
fn judged(signed: &Signed, named: &[Signer], trusted: &[Signer]) -> Result<Vec<Signature>, Fault> {
    signed.required(named)?;
    let verdicts = signed.verdicts(if named.is_empty() { trusted } else { named });
    signed::sound(&verdicts)?;
    Ok(signed::told(&verdicts))
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

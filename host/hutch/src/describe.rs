//! What a component says of itself, beside what its package says of it.

use crate::failure::Failure;
use crate::host::Host;
use crate::package::{Checked, Package};
use hutch_model::contract::{CONTRACT_FILE, CONTRACT_SCHEMA, ContractFile, parse};
use hutch_model::diagnostic::{Code, Diagnostic, Position, sort};
use hutch_model::error_code::ErrorCode;
use hutch_sandbox::DescribeError;
use serde_json::Value;

/// The description that a component exports.
#[derive(Debug)]
#[non_exhaustive]
pub struct Described {
    /// In the form of `schemas/commands.json`.
    pub document: Value,
    /// Read by its rules.
    pub contract: Option<ContractFile>,
    /// Where it breaks them.
    pub diagnostics: Vec<Diagnostic>,
}

/// The name of the export, in place of a file, in diagnostics about it.
const EXPORT: &str = "hutch:app/contract";

impl Host {
    /// Asks a package's component to describe itself; `None` if it has no such export.
    ///
    /// # Errors
    /// The component can't be run, or does not answer; it is not asked as its owner wants it.
    pub fn describe(&self, package: &Package) -> Result<Option<Described>, Failure> {
        let limits = self.limits(package, []);
        let program = self.load(package, &limits)?;
        let Some(document) = self.sandbox().describe(&program, &limits)? else { return Ok(None) };
        let (contract, diagnostics) = parse(&document.to_string(), EXPORT);
        Ok(Some(Described { document, contract, diagnostics }))
    }
}

/// Adds to a package's diagnostics what is wrong with its component: that it can't be run, or that it describes itself otherwise
/// than the package does.
///
/// # Errors
/// The host failed.
pub fn check_described(host: &Host, checked: &mut Checked) -> Result<(), Failure> {
    let Some(package) = &checked.package else { return Ok(()) };
    let component = package.manifest().entry().component().to_string();
    let found = match host.describe(package) {
        Ok(None) => Vec::new(),
        Ok(Some(described)) => match (package.contract()?, &described.contract) {
            (Some(file), Some(export)) => file.differences(export.contract()),
            (None, Some(_)) => {
                let message = format!(
                    "the component describes its commands, but there is no {CONTRACT_FILE} of {CONTRACT_SCHEMA}"
                );
                vec![Diagnostic::new(Code::ContractMissing, CONTRACT_FILE, Position::START, message)]
            }
            (_, None) => described.diagnostics,
        },
        Err(failure @ (Failure::Load(_) | Failure::Describe(DescribeError::Guest(_) | DescribeError::Late)))
            // What this machine lacks is no problem of the package.
            if !matches!(failure.code(), ErrorCode::HostFault | ErrorCode::RingRequired) =>
        {
            vec![Diagnostic::new(Code::ComponentUnusable, component, Position::START, failure.to_string())]
        }
        Err(failure) => return Err(failure),
    };
    checked.diagnostics.extend(found);
    sort(&mut checked.diagnostics);
    checked.diagnostics.dedup();
    if checked.diagnostics.iter().any(Diagnostic::is_error) {
        checked.package = None;
    }
    Ok(())
}

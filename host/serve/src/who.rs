//! Who asks, where that is known, and what they may ask for. Knows no protocol.

use hutch_model::error_code::ErrorCode;
use hutch_model::error_report::ErrorReport;
use serde::Serialize;
use std::sync::Arc;

/// What a token is good for.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Scope {
    /// To look.
    Read,
    /// To run, plan, apply and undo.
    Run,
    /// To agree to what needs a person's consent.
    Confirm,
    /// To look at the server itself.
    Admin,
}

impl Scope {
    /// All of them.
    pub const ALL: [Scope; 4] = [Scope::Read, Scope::Run, Scope::Confirm, Scope::Admin];

    /// As it is written.
    pub const fn text(self) -> &'static str {
        match self {
            Scope::Read => "read",
            Scope::Run => "run",
            Scope::Confirm => "confirm",
            Scope::Admin => "admin",
        }
    }
}

/// A caller that was let in: whoever looked at the request makes one, and without one nobody comes to a session, a ledger's events, the
/// queue or another's trace.
#[derive(Clone, Debug)]
pub(crate) struct Principal {
    name: Arc<str>,
    scopes: Arc<[Scope]>,
}

impl Principal {
    /// Of the caller to whom this token belongs. Only the check of tokens asks for it.
    pub(crate) fn admitted(name: &str, scopes: &[Scope]) -> Principal {
        Principal { name: name.into(), scopes: scopes.into() }
    }

    /// What its token is called.
    pub(crate) fn name(&self) -> &Arc<str> {
        &self.name
    }

    /// What its token is good for.
    pub(crate) fn scopes(&self) -> &[Scope] {
        &self.scopes
    }

    pub(crate) fn may(&self, scope: Scope) -> bool {
        self.scopes.contains(&scope)
    }

    /// Refuses what its token is not good for.
    pub(crate) fn check(&self, scope: Scope) -> Result<(), ErrorReport> {
        if self.may(scope) {
            return Ok(());
        }
        let message = format!("the token of {} has no scope {}", self.name, scope.text());
        let report = ErrorReport::new(ErrorCode::PermissionDenied, message).detail("scope", scope.text());
        Err(report.suggest("use a token that has the scope, or ask whoever runs the server"))
    }
}

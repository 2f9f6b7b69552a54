//! Who asks, where that is known, and what they may ask for. Knows no protocol.

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

/// A caller that is known.
#[derive(Clone, Debug)]
pub(crate) struct Who {
    pub(crate) name: Arc<str>,
    pub(crate) scopes: Vec<Scope>,
}

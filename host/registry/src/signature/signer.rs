//! By whom a signature counts: a key, or an identity that an authority vouched for. Each has one text, which policies, pins and locks keep.

use super::key::PublicKey;
use hutch_model::trust::{IDENTITY, covers};
use std::fmt;

/// The most bytes of an identity's text.
const IDENTITY_BYTES_MAX: usize = 2048;

/// A text that names no signer.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct NotASigner(&'static str);

/// By whom a signature counts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Signer {
    /// Who holds a key.
    Key(PublicKey),
    /// Who showed an issuer of identities who they are, and has a certificate that says so.
    Identity(Identity),
}

/// An identity: who said it, and what.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Identity {
    /// The issuer of the identity, an address: `https://token.actions.githubusercontent.com`.
    pub issuer: String,
    /// Whom it names: an address of mail, or that of a workflow. Where it says who is meant it may end in `/*`, for all that begin so.
    pub subject: String,
}

impl Identity {
    /// Reads an identity.
    ///
    /// # Errors
    /// It is none, or a pattern that means something else than a person reads in it.
    pub(super) fn parse(text: &str) -> Result<Identity, NotASigner> {
        let expected = NotASigner("expected identity ISSUER SUBJECT");
        if text.len() > IDENTITY_BYTES_MAX {
            return Err(NotASigner("the identity is longer than 2048 bytes"));
        }
        let words = text.strip_prefix(IDENTITY).and_then(|rest| rest.split_once(' '));
        let (issuer, subject) = words.ok_or(expected.clone())?;
        if !text.chars().all(|character| character == ' ' || character.is_ascii_graphic()) || subject.contains(' ') {
            return Err(expected);
        }
        if issuer.strip_prefix("https://").is_none_or(str::is_empty) {
            return Err(NotASigner("the issuer of an identity begins with https://"));
        }
        if subject.is_empty() {
            return Err(expected);
        }
        // A pattern names a host at least, and ends where a name does: what a person reads in it is what it means.
        let is_named = match subject.strip_suffix('*') {
            None => true,
            Some(begin) => {
                let path = begin.split_once("://").and_then(|(_, rest)| rest.split_once('/'));
                begin.ends_with('/') && path.is_some_and(|(host, _)| !host.is_empty())
            }
        };
        if !is_named || subject.trim_end_matches('*').contains('*') || subject.ends_with("**") {
            return Err(NotASigner("a * in the subject of an identity stands at its end, behind a host and a /"));
        }
        Ok(Identity { issuer: issuer.to_owned(), subject: subject.to_owned() })
    }

    /// Whether this one is meant.
    pub(super) fn covers(&self, found: &Identity) -> bool {
        covers(&self.to_string(), &found.to_string())
    }
}

impl fmt::Display for Identity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{IDENTITY}{} {}", self.issuer, self.subject)
    }
}

impl Signer {
    /// Reads a signer: a public key in PEM, or an identity as `identity ISSUER SUBJECT`.
    ///
    /// # Errors
    /// It is neither.
    pub fn parse(text: &str) -> Result<Signer, NotASigner> {
        match text.starts_with(IDENTITY) {
            true => Identity::parse(text.trim_end()).map(Signer::Identity),
            false => PublicKey::from_pem(text)
                .map(Signer::Key)
                .map_err(|_| NotASigner("expected a PUBLIC KEY of P-256 in PEM, or identity ISSUER SUBJECT")),
        }
    }

    /// As it is told: the name of a key, as bundles name it, or the identity.
    pub fn name(&self) -> String {
        match self {
            Signer::Key(key) => key.hint(),
            Signer::Identity(identity) => identity.to_string(),
        }
    }

    /// As it is written down: the same signer is the same text.
    pub fn text(&self) -> String {
        match self {
            Signer::Key(key) => key.to_pem(),
            Signer::Identity(identity) => identity.to_string(),
        }
    }
}

impl From<PublicKey> for Signer {
    fn from(key: PublicKey) -> Signer {
        Signer::Key(key)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const GITHUB: &str = "https://token.actions.githubusercontent.com";

    #[test]
    fn an_identity_is_one_line_and_comes_back() {
        for subject in [
            "ada@example.com",
            "https://github.com/acme/todo/.github/workflows/release.yml@refs/tags/v1",
            "https://github.com/acme/todo/.github/workflows/release.yml@refs/tags/*",
            "https://github.com/acme/*",
        ] {
            let text = format!("identity {GITHUB} {subject}");
            let signer = Signer::parse(&format!("{text}\n")).unwrap();
            assert_eq!((signer.text(), signer.name()), (text.clone(), text));
        }
    }

    #[test]
    fn what_names_nobody_is_refused() {
        for (text, said) in [
            ("identity", "PUBLIC KEY"),
            ("identity ", "ISSUER SUBJECT"),
            ("identity https://a", "ISSUER SUBJECT"),
            ("identity https://a ", "ISSUER SUBJECT"),
            ("identity https://a b c", "ISSUER SUBJECT"),
            ("identity https://a b\nc", "ISSUER SUBJECT"),
            ("identity https://a b\u{202e}c", "ISSUER SUBJECT"),
            ("identity a b", "begins with https://"),
            ("identity https:// b", "begins with https://"),
            ("identity https://a *", "behind a host"),
            ("identity https://a https://*", "behind a host"),
            ("identity https://a https:///*", "behind a host"),
            ("identity https://a https://github.com/acme*", "behind a host"),
            ("identity https://a https://github.com/**", "behind a host"),
            ("identity https://a https://*/acme", "behind a host"),
            ("identity https://a *@example.com", "behind a host"),
        ] {
            let error = Signer::parse(text).unwrap_err();
            assert!(error.to_string().contains(said), "{text}: {error}");
        }
        assert!(Signer::parse(&format!("identity https://a {}", "b".repeat(IDENTITY_BYTES_MAX))).is_err());
    }

    #[test]
    fn an_identity_means_itself_and_a_pattern_all_that_begin_so() {
        let identity =
            |issuer: &str, subject: &str| Identity { issuer: issuer.to_owned(), subject: subject.to_owned() };
        let release = "https://github.com/acme/todo/.github/workflows/release.yml@refs/tags/v1";
        let found = identity(GITHUB, release);
        assert!(found.covers(&found));
        for (issuer, subject, is_meant) in [
            (GITHUB, "https://github.com/acme/todo/.github/workflows/release.yml@refs/tags/*", true),
            (GITHUB, "https://github.com/acme/*", true),
            (GITHUB, "https://github.com/acme/to/*", false),
            (GITHUB, "https://github.com/acme/todo/.github/workflows/release.yml@refs/tags/v", false),
            ("https://accounts.google.com", release, false),
            ("https://accounts.google.com", "https://github.com/acme/*", false),
        ] {
            assert_eq!(identity(issuer, subject).covers(&found), is_meant, "{issuer} {subject}");
        }
    }
}

//! Who is calling, as a registry asks for it: a password, or a token that another address gives for one (the token protocol of the
//! distribution project). A password is sent to the registry itself or to who gives tokens for it, and never without TLS unless the operator
//! said so.

use super::connection::{Answer, Connection, Origin};
use super::credentials::{self, Credential};
use super::{Call, Surroundings};
use crate::failure::RegistryError;
use crate::pulled::parsed;
use data_encoding::BASE64;
use http_auth::ChallengeParser;
use serde::Deserialize;
use std::sync::{Mutex, PoisonError};

const TOKEN_BYTES_MAX: u64 = 1 << 20;

/// Whose tokens are asked for elsewhere than at the registry, or at the domain that it belongs to.
const KNOWN: [(&str, &str); 1] = [("registry-1.docker.io", "auth.docker.io")];

pub(super) struct Authorization {
    origin: Origin,
    /// As the person wrote it, which is how credentials are kept.
    host: String,
    repository: String,
    given: Surroundings,
    header: Mutex<Option<String>>,
}

/// What a registry asks for.
#[derive(Debug, PartialEq, Eq)]
enum Challenge {
    Password,
    Token { realm: String, service: Option<String>, scope: Option<String> },
}

#[derive(Deserialize)]
struct Token {
    token: Option<String>,
    access_token: Option<String>,
}

impl Authorization {
    pub(super) fn new(origin: &Origin, host: &str, repository: &str, given: Surroundings) -> Authorization {
        Authorization {
            origin: origin.clone(),
            host: host.to_owned(),
            repository: repository.to_owned(),
            given,
            header: Mutex::new(None),
        }
    }

    /// What was found out so far.
    pub(super) fn header(&self) -> Option<String> {
        self.header.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Answers what a registry asks for. Also when a token was good and is not any more.
    pub(super) fn renew(&self, connection: &Connection, asked: &Answer) -> Result<(), RegistryError> {
        let header = match challenge(&asked.challenges).map_err(|why| self.refused(&why))? {
            Challenge::Password => match self.credential()? {
                Some(Credential::Password { user, password }) => basic(&user, &password),
                Some(Credential::Identity(_)) => {
                    return Err(self.refused("it wants a password, and there is an identity token for it"));
                }
                None => return Err(self.unknown()),
            },
            Challenge::Token { realm, service, scope } => {
                format!("Bearer {}", self.token(connection, &realm, service.as_deref(), scope.as_deref())?)
            }
        };
        *self.header.lock().unwrap_or_else(PoisonError::into_inner) = Some(header);
        Ok(())
    }

    fn token(
        &self,
        connection: &Connection,
        realm: &str,
        service: Option<&str>,
        scope: Option<&str>,
    ) -> Result<String, RegistryError> {
        let Some(giver) = Origin::of(realm) else {
            return Err(self.refused("it sends for a token to what is no address"));
        };
        if giver.is_plain && !self.origin.is_plain {
            return Err(self.refused("it sends for a token to an address without TLS"));
        }
        let credential = self.credential()?;
        if credential.is_some() && !self.is_trusted(&giver) {
            let host = giver.host();
            return Err(self.refused(&format!(
                "it wants the password sent to {host}; if {host} gives its tokens, say so with --token-host {host}"
            )));
        }
        let mut fields: Vec<(&str, &str)> = Vec::new();
        fields.extend(service.map(|service| ("service", service)));
        fields.extend(scope.map(|scope| ("scope", scope)));
        let answer = match &credential {
            Some(Credential::Identity(token)) => {
                fields.extend([("grant_type", "refresh_token"), ("client_id", "hutch"), ("refresh_token", token)]);
                let body = form(&fields);
                let kind = "application/x-www-form-urlencoded";
                let call = Call { body: Some((kind, body.as_bytes())), ..Call::read("POST", TOKEN_BYTES_MAX) };
                connection.send(realm, &call, None)?
            }
            known => {
                let header = match known {
                    Some(Credential::Password { user, password }) => Some(basic(user, password)),
                    _ => None,
                };
                let joint = if realm.contains('?') { '&' } else { '?' };
                let target = format!("{realm}{joint}{}", form(&fields));
                connection.send(&target, &Call::read("GET", TOKEN_BYTES_MAX), header.as_deref())?
            }
        };
        if answer.is_busy() {
            return Err(answer.busy());
        }
        if answer.status != 200 {
            let why = format!("{} gives no token: {}", giver.host(), answer.reason());
            return Err(if credential.is_none() { self.unknown() } else { self.refused(&why) });
        }
        let token: Option<Token> = parsed("token", &answer.body).ok();
        let token = token.and_then(|token| token.token.or(token.access_token));
        // It becomes a header.
        let token = token.filter(|token| !token.is_empty() && token.bytes().all(|byte| byte.is_ascii_graphic()));
        token.ok_or_else(|| self.refused(&format!("{} gives no token", giver.host())))
    }

    /// Whether an address may have the registry's password: the registry's own host, the domain that it belongs to, or what is known or
    /// said to give its tokens.
    fn is_trusted(&self, giver: &Origin) -> bool {
        let (registry, name) = (self.origin.name(), giver.name());
        let (registry_host, giver_host) = (self.origin.host(), giver.host());
        let said = self.given.token_host.as_deref().map(|host| Origin::new(giver.is_plain, host));
        let is_domain = name.contains('.')
            && name.parse::<std::net::IpAddr>().is_err()
            && registry.strip_suffix(name).is_some_and(|rest| rest.ends_with('.'));
        giver_host == registry_host
            || is_domain
            || KNOWN.contains(&(registry_host.as_str(), giver_host.as_str()))
            || said.is_some_and(|said| said == *giver)
    }

    fn credential(&self) -> Result<Option<Credential>, RegistryError> {
        credentials::find(&self.given.credentials, &self.given.helper, &self.host, &self.repository)
            .map_err(|why| self.refused(&why))
    }

    fn refused(&self, why: &str) -> RegistryError {
        RegistryError::Unauthorized { host: self.host.clone(), reason: why.to_owned() }
    }

    fn unknown(&self) -> RegistryError {
        self.refused("it wants to know who is calling, and no credential for it is kept (log in with docker or podman)")
    }
}

/// The challenge to answer: a token where there is a choice.
fn challenge(headers: &[String]) -> Result<Challenge, String> {
    let mut found = None;
    let mut missed = "it asks for no kind of credential that is known";
    for header in headers {
        for challenge in ChallengeParser::new(&with_single_spaces(header)) {
            let Ok(challenge) = challenge else {
                missed = "it asks for a credential in a form that can't be read";
                break;
            };
            let field = |name: &str| {
                let of_name = challenge.params.iter().find(|(known, _)| known.eq_ignore_ascii_case(name));
                of_name.map(|(_, value)| value.to_unescaped())
            };
            if challenge.scheme.eq_ignore_ascii_case("bearer") {
                let realm = field("realm").ok_or("it asks for a token and does not say where one is")?;
                return Ok(Challenge::Token { realm, service: field("service"), scope: field("scope") });
            }
            if challenge.scheme.eq_ignore_ascii_case("basic") {
                found = Some(Challenge::Password);
            }
        }
    }
    found.ok_or_else(|| missed.to_owned())
}

/// A challenge whose scheme is followed by one space, of any number of them: RFC 9110 has many, and the parser one.
fn with_single_spaces(header: &str) -> String {
    let (mut text, mut is_quoted, mut is_escaped) = (String::new(), false, false);
    for c in header.chars() {
        if !is_quoted && c == ' ' && text.ends_with(' ') {
            continue;
        }
        is_quoted ^= c == '"' && !is_escaped;
        is_escaped = is_quoted && c == '\\' && !is_escaped;
        text.push(c);
    }
    text
}

fn basic(user: &str, password: &str) -> String {
    format!("Basic {}", BASE64.encode(format!("{user}:{password}").as_bytes()))
}

/// Fields of a form or an address.
fn form(fields: &[(&str, &str)]) -> String {
    let fields: Vec<String> = fields.iter().map(|(name, value)| format!("{name}={}", encoded(value))).collect();
    fields.join("&")
}

/// A value in a form or an address.
pub(super) fn encoded(value: &str) -> String {
    let mut text = String::new();
    for byte in value.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' => text.push(char::from(byte)),
            other => text.push_str(&format!("%{other:02X}")),
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<Challenge, String> {
        challenge(&[text.to_owned()])
    }

    #[test]
    fn challenges_are_read_as_rfc_7235_writes_them() {
        let token = |realm: &str, service: Option<&str>, scope: Option<&str>| {
            Ok(Challenge::Token {
                realm: realm.to_owned(),
                service: service.map(str::to_owned),
                scope: scope.map(str::to_owned),
            })
        };
        let full = r#"Bearer realm="https://a.io/token",service="a.io",scope="repository:x:pull,push""#;
        assert_eq!(read(full), token("https://a.io/token", Some("a.io"), Some("repository:x:pull,push")));
        assert_eq!(read(r#"Basic realm="r", bearer realm="https://b""#), token("https://b", None, None));
        assert_eq!(read("basic realm=x"), Ok(Challenge::Password));
        for spaced in ["Bearer  realm=\"https://b\"", "Bearer     realm=\"https://b\"  ,  error=\"a  b\""] {
            assert_eq!(read(spaced), token("https://b", None, None), "{spaced}");
        }
        let kept = r#"Bearer  realm="https://b",service="a  \"  b""#;
        assert_eq!(read(kept), token("https://b", Some(r#"a  "  b"#), None), "what is quoted is as it was");
        let many = ["Negotiate abc==".to_owned(), "Bearer realm=\"https://b\"".to_owned()];
        assert_eq!(challenge(&many), token("https://b", None, None), "one that is not known hides another");
    }

    #[test]
    fn hostile_challenges_are_refused() {
        for text in ["", "Bearer", "Bearer service=\"x\"", "Negotiate abc", "Bearer realm=\"", ",,,", "=", "\u{1}"] {
            assert!(read(text).is_err(), "{text:?}");
        }
        assert_eq!(read(&format!("Basic {}a=b", "a=b,".repeat(10_000))), Ok(Challenge::Password), "long, and no more");
    }

    #[test]
    fn what_goes_into_an_address_can_not_leave_its_place() {
        assert_eq!(form(&[("scope", "a&b=c d#"), ("service", "x")]), "scope=a%26b%3Dc%20d%23&service=x");
    }
}

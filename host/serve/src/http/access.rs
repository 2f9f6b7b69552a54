//! Who may do what: tokens with their scopes, and the names under which a browser may know this server. Knows no requests but their
//! headers.

use super::link::Link;
use crate::who::{Principal, Scope};
use data_encoding::BASE64;
use http::header::{AUTHORIZATION, HOST, ORIGIN};
use http::{HeaderMap, StatusCode, Uri};
use hutch_model::digest::{Digest, Kind};
use hutch_model::error_code::ErrorCode;
use hutch_model::error_report::ErrorReport;
use hutch_model::instant::Instant;
use hutch_model::invocation::Seed;
use std::net::SocketAddr;
use subtle::{Choice, ConstantTimeEq};

/// The fewest characters of a token.
const TOKEN_CHARS_MIN: usize = 32;
/// The most characters of the name of a token.
const NAME_CHARS_MAX: usize = 64;

/// A caller that is known by a secret.
#[derive(Clone)]
pub struct Token {
    principal: Principal,
    /// Of the secret: comparing takes as long for every secret.
    digest: Digest,
}

impl Token {
    /// Whose it is.
    pub fn name(&self) -> &str {
        self.principal.name()
    }

    /// What it is good for.
    pub fn scopes(&self) -> &[Scope] {
        self.principal.scopes()
    }

    /// Reads a file of tokens: a name, scopes with commas between them and the secret on each line; lines that begin with `#` say nothing.
    ///
    /// # Errors
    /// What is wrong, and in which line. No secret is in it.
    pub fn read_all(text: &str) -> Result<Vec<Token>, String> {
        let mut tokens: Vec<Token> = Vec::new();
        for (at, line) in text.lines().enumerate() {
            let line = line.trim();
            if line.is_empty() || line.starts_with('#') {
                continue;
            }
            let token = Token::read(line).map_err(|reason| format!("line {}: {reason}", at + 1))?;
            if tokens.iter().any(|other| other.name() == token.name() || other.digest == token.digest) {
                return Err(format!("line {}: the name or the token of an earlier line once more", at + 1));
            }
            tokens.push(token);
        }
        match tokens.is_empty() {
            true => Err("there is no token in it".to_owned()),
            false => Ok(tokens),
        }
    }

    fn read(line: &str) -> Result<Token, String> {
        let words: Vec<&str> = line.split_whitespace().collect();
        let [name, scopes, secret] = words[..] else {
            return Err("expected a name, scopes and a token".to_owned());
        };
        let is_name = |one: char| one.is_ascii_alphanumeric() || "-_.@".contains(one);
        if name.len() > NAME_CHARS_MAX || !name.chars().all(is_name) {
            return Err(format!("a name has at most {NAME_CHARS_MAX} letters, digits, -, _, . and @"));
        }
        let scope = |text: &str| Scope::ALL.into_iter().find(|scope| scope.text() == text);
        let scopes: Option<Vec<Scope>> = scopes.split(',').map(scope).collect();
        let scopes = scopes.ok_or("scopes are read, run, confirm and admin, with commas between them")?;
        // What a header can carry (RFC 6750).
        let is_plain = |one: char| one.is_ascii_alphanumeric() || "-._~+/=".contains(one);
        if secret.len() < TOKEN_CHARS_MIN || !secret.chars().all(is_plain) {
            return Err(format!("a token has at least {TOKEN_CHARS_MIN} letters, digits, -, ., _, ~, +, / and ="));
        }
        Ok(Token { principal: Principal::admitted(name, &scopes), digest: Digest::of(Kind::Stream, secret.as_bytes()) })
    }
}

/// A refusal, with the status of HTTP.
#[derive(Debug)]
pub(super) struct Refused(pub(super) StatusCode, pub(super) Box<ErrorReport>);

impl Refused {
    pub(super) fn new(status: StatusCode, code: ErrorCode, message: impl Into<String>) -> Refused {
        Refused(status, Box::new(ErrorReport::new(code, message)))
    }

    pub(super) fn invalid(status: StatusCode, message: impl Into<String>) -> Refused {
        Refused::new(status, ErrorCode::RequestInvalid, message)
    }

    pub(super) fn suggest(self, suggestion: &str) -> Refused {
        Refused(self.0, Box::new(self.1.suggest(suggestion)))
    }
}

/// Who may come in.
pub(super) struct Guard {
    pub(super) tokens: Vec<Token>,
    /// Hosts with their ports, in lower case.
    hosts: Vec<String>,
    /// Origins, in lower case.
    origins: Vec<String>,
    /// The link that signs a person in, if there is one.
    pub(super) link: Option<Link>,
}

impl Guard {
    /// For a server that listens there, and is known under these origins besides.
    pub(super) fn new(tokens: Vec<Token>, listening: SocketAddr, others: &[String]) -> Guard {
        let (port, mut hosts) = (listening.port(), vec![listening.to_string()]);
        if listening.ip().is_loopback() {
            hosts.extend([format!("localhost:{port}"), format!("127.0.0.1:{port}"), format!("[::1]:{port}")]);
        }
        let mut origins: Vec<String> = hosts.iter().map(|host| format!("http://{host}")).collect();
        for origin in others.iter().map(|origin| origin.to_ascii_lowercase()) {
            hosts.extend(origin.split_once("://").map(|(_, host)| host.to_owned()));
            origins.push(origin);
        }
        Guard { tokens, hosts, origins, link: None }
    }

    /// The address below `base` that signs in whoever comes there first, as the first caller in the file of tokens who may look at pages; none
    /// if nobody may.
    pub(super) fn open_link(&mut self, base: &str, port: u16, code: &Seed, now: Instant) -> Option<String> {
        let mut principals = self.tokens.iter().map(|token| &token.principal);
        let principal = principals.find(|principal| principal.may(Scope::Read))?.clone();
        let (link, code) = Link::begin(principal, port, base.starts_with("https:"), code, now);
        self.link = Some(link);
        Some(format!("{base}/enter?code={code}"))
    }

    /// Refuses what comes under another name than this server's: a page whose name was made to lead here. Refuses also what another
    /// page sends.
    pub(super) fn check_names(&self, uri: &Uri, headers: &HeaderMap, is_safe: bool) -> Result<(), Refused> {
        let refused = |message: String| Err(Refused::new(StatusCode::FORBIDDEN, ErrorCode::PermissionDenied, message));
        let mut hosts = headers.get_all(HOST).iter();
        let (Some(host), None) = (hosts.next(), hosts.next()) else {
            return Err(Refused::invalid(StatusCode::BAD_REQUEST, "expected one Host header"));
        };
        let known = |host: &str| self.hosts.iter().any(|known| known.eq_ignore_ascii_case(host));
        let named = uri.authority().map(http::uri::Authority::as_str);
        if !host.to_str().is_ok_and(known) || named.is_some_and(|named| !known(named)) {
            return refused("the request names another host than this server's".to_owned());
        }
        let mut origins = headers.get_all(ORIGIN).iter();
        let origin = origins.next();
        let is_ours = |origin: &str| self.origins.iter().any(|known| known.eq_ignore_ascii_case(origin));
        if origins.next().is_some() || origin.is_some_and(|origin| !origin.to_str().is_ok_and(is_ours)) {
            return refused("the request comes from a page of another origin".to_owned());
        }
        let site = headers.get("sec-fetch-site").map(|site| site.as_bytes());
        if !is_safe && site.is_some_and(|site| site != b"same-origin" && site != b"none") {
            return refused("the request comes from a page of another site".to_owned());
        }
        Ok(())
    }

    /// Whose token a request bears.
    pub(super) fn bearer(&self, headers: &HeaderMap) -> Result<&Principal, Refused> {
        self.known(credentials(headers, "bearer")).ok_or_else(unknown)
    }

    /// Whose token a request bears, in the one form or the other, or who is signed in.
    pub(super) fn whose(&self, headers: &HeaderMap) -> Option<&Principal> {
        match credentials(headers, "basic").and_then(password) {
            Some(secret) => self.known(Some(&secret)),
            None => self.known(credentials(headers, "bearer")).or_else(|| self.link.as_ref()?.session(headers)),
        }
    }

    /// Who looks at a page.
    pub(super) fn person(&self, headers: &HeaderMap) -> Result<&Principal, Refused> {
        self.whose(headers).ok_or_else(unknown)
    }

    /// The one place where somebody becomes known by a token.
    fn known(&self, secret: Option<&str>) -> Option<&Principal> {
        let digest = Digest::of(Kind::Stream, secret?.as_bytes());
        let (mut found, mut is_found) = (None, Choice::from(0));
        // Every token is looked at, so that the time says nothing.
        for token in &self.tokens {
            let equal = token.digest.as_bytes().ct_eq(digest.as_bytes());
            if bool::from(equal) {
                found = Some(&token.principal);
            }
            is_found |= equal;
        }
        found.filter(|_| bool::from(is_found))
    }
}

/// Refuses a token that is not good for what is asked.
pub(super) fn check_scope(principal: &Principal, scope: Scope) -> Result<(), Refused> {
    principal.check(scope).map_err(|report| Refused(StatusCode::FORBIDDEN, Box::new(report)))
}

/// The credentials of this scheme, if there is one header with them.
fn credentials<'h>(headers: &'h HeaderMap, scheme: &str) -> Option<&'h str> {
    let mut all = headers.get_all(AUTHORIZATION).iter();
    let (Some(one), None) = (all.next(), all.next()) else { return None };
    let (named, rest) = one.to_str().ok()?.split_once(' ')?;
    named.eq_ignore_ascii_case(scheme).then(|| rest.trim())
}

/// The password, whatever the name before it.
fn password(encoded: &str) -> Option<String> {
    let text = String::from_utf8(BASE64.decode(encoded.as_bytes()).ok()?).ok()?;
    Some(text.split_once(':')?.1.to_owned())
}

fn unknown() -> Refused {
    Refused::new(
        StatusCode::UNAUTHORIZED,
        ErrorCode::AuthenticationRequired,
        "no token that this server knows came with the request",
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use http::HeaderValue;

    const SECRET: &str = "0123456789abcdef0123456789abcdef";

    fn headers(pairs: &[(&'static str, &str)]) -> HeaderMap {
        let mut headers = HeaderMap::new();
        for (name, value) in pairs {
            headers.append(*name, HeaderValue::from_str(value).unwrap());
        }
        headers
    }

    #[test]
    fn a_file_of_tokens_is_read_or_refused_line_by_line() {
        let text = format!("# who\noperator read,run,confirm,admin {SECRET}\n\nagent run {SECRET}x\n");
        let tokens = Token::read_all(&text).unwrap();
        assert_eq!(tokens.iter().map(Token::name).collect::<Vec<_>>(), ["operator", "agent"]);
        let may = |at: usize| tokens[at].principal.may(Scope::Admin);
        assert_eq!((may(0), may(1)), (true, false));
        for (text, reason) in [
            ("", "no token"),
            ("a read short", "at least 32"),
            (&format!("a write {SECRET}"), "scopes are"),
            (&format!("a {SECRET}"), "expected a name"),
            (&format!("a read {SECRET}\nb read {SECRET}"), "line 2"),
            (&format!("a/b read {SECRET}"), "a name has"),
        ] {
            let error = Token::read_all(text).map(|_| ()).unwrap_err();
            assert!(error.contains(reason) && !error.contains(SECRET), "{text}: {error}");
        }
    }

    #[test]
    fn only_a_known_secret_in_one_header_is_somebody() {
        let tokens = Token::read_all(&format!("a read {SECRET}\nb run {SECRET}{SECRET}")).unwrap();
        let guard = Guard::new(tokens, "127.0.0.1:80".parse().unwrap(), &[]);
        let name =
            |pairs: &[(&'static str, &str)]| guard.bearer(&headers(pairs)).ok().map(|known| known.name().to_string());
        assert_eq!(name(&[("authorization", &format!("Bearer {SECRET}"))]).as_deref(), Some("a"));
        assert_eq!(name(&[("authorization", &format!("bearer {SECRET}{SECRET}"))]).as_deref(), Some("b"));
        let right = format!("Bearer {SECRET}");
        for pairs in [
            &[][..],
            &[("authorization", "Bearer ")],
            &[("authorization", SECRET)],
            &[("authorization", &format!("Basic {SECRET}"))],
            &[("authorization", &format!("Bearer {}", &SECRET[1..]))],
            &[("authorization", &right), ("authorization", &right)],
            &[("x-authorization", &right)],
        ] {
            assert_eq!(name(pairs), None, "{pairs:?}");
        }
    }

    #[test]
    fn a_server_answers_to_its_own_names_alone() {
        let origins = ["https://hutch.example".to_owned()];
        let guard = Guard::new(Vec::new(), "127.0.0.1:4000".parse().unwrap(), &origins);
        let check = |uri: &str, is_safe: bool, pairs: &[(&'static str, &str)]| {
            guard.check_names(&uri.parse().unwrap(), &headers(pairs), is_safe).is_ok()
        };
        for host in ["127.0.0.1:4000", "localhost:4000", "LOCALHOST:4000", "[::1]:4000", "hutch.example"] {
            assert!(check("/", true, &[("host", host)]), "{host}");
        }
        for host in
            ["127.0.0.1", "127.0.0.1:4001", "evil.example:4000", "localhost:4000.evil.example", "0.0.0.0:4000", ""]
        {
            assert!(!check("/", true, &[("host", host)]), "{host}");
        }
        let host = ("host", "localhost:4000");
        assert!(!check("/", true, &[]) && !check("/", true, &[host, host]));
        assert!(!check("http://evil.example/", true, &[host]) && check("http://localhost:4000/", true, &[host]));
        for (origin, good) in [
            ("http://localhost:4000", true),
            ("https://hutch.example", true),
            ("null", false),
            ("http://localhost", false),
            ("http://hutch.example", false),
            ("https://localhost:4000", false),
            ("http://localhost:4000.evil.example", false),
        ] {
            assert_eq!(check("/", false, &[host, ("origin", origin)]), good, "{origin}");
        }
        let site = |site: &'static str, is_safe| check("/", is_safe, &[host, ("sec-fetch-site", site)]);
        assert!(site("cross-site", true) && site("same-origin", false) && site("none", false));
        assert!(!site("cross-site", false) && !site("same-site", false));
    }

    #[test]
    fn a_password_is_what_stands_behind_the_first_colon() {
        let encoded = |text: &str| BASE64.encode(text.as_bytes());
        assert_eq!(password(&encoded("ada:se:cret")).as_deref(), Some("se:cret"));
        assert_eq!(password(&encoded(":secret")).as_deref(), Some("secret"));
        assert!(password(&encoded("secret")).is_none() && password("%").is_none());
    }
}

//! One call over HTTP and its answer, bounded. Knows no registry.

use super::{Call, Surroundings};
use crate::artifact::ArtifactError;
use crate::failure::RegistryError;
use std::fmt;
use std::time::Duration;
use ureq::http::{HeaderMap, Request, Uri};
use ureq::tls::{Certificate, PemItem, RootCerts, TlsConfig, parse_pem};
use ureq::{Agent, Proxy};

/// How long a registry may take to digest what it was sent.
const DIGESTING: Duration = Duration::from_secs(60);
const REASON_CHARACTERS_MAX: usize = 200;

/// A scheme and a host.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Origin {
    pub(super) is_plain: bool,
    pub(super) host: String,
}

impl Origin {
    pub(super) fn new(is_plain: bool, host: &str) -> Origin {
        Origin { is_plain, host: host.to_ascii_lowercase() }
    }

    /// That of an address; `None` for one that is not of the web, or names a user.
    pub(super) fn of(target: &str) -> Option<Origin> {
        let uri: Uri = target.parse().ok()?;
        let host = uri.authority()?.as_str();
        let is_plain = match uri.scheme_str()? {
            "http" => true,
            "https" => false,
            _ => return None,
        };
        (!host.contains('@')).then(|| Origin::new(is_plain, host))
    }

    /// Whether an address is one of it.
    pub(super) fn holds(&self, target: &str) -> bool {
        Origin::of(target).is_some_and(|origin| origin == *self)
    }

    /// The address that a `Location` means.
    pub(super) fn resolve(&self, location: &str) -> Option<String> {
        let target = match location.starts_with('/') && !location.starts_with("//") {
            true => format!("{self}{location}"),
            false => location.to_owned(),
        };
        Origin::of(&target).map(|_| target)
    }

    /// The host without its port.
    pub(super) fn name(&self) -> &str {
        match self.host.rsplit_once(':') {
            Some((name, port)) if port.bytes().all(|byte| byte.is_ascii_digit()) => name,
            _ => &self.host,
        }
    }
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}://{}", if self.is_plain { "http" } else { "https" }, self.host)
    }
}

/// Whether a host is this machine, by its name alone.
pub(super) fn is_loopback(host: &str) -> bool {
    let origin = Origin::new(true, host);
    let name = origin.name().trim_matches(['[', ']']);
    name == "localhost" || name.parse::<std::net::IpAddr>().is_ok_and(|address| address.is_loopback())
}

/// What came back.
#[derive(Debug)]
pub(super) struct Answer {
    pub(super) status: u16,
    pub(super) kind: Option<String>,
    pub(super) location: Option<String>,
    pub(super) range: Option<String>,
    /// The least that a part of an upload must have.
    pub(super) part_bytes_min: Option<usize>,
    /// Where the list goes on.
    pub(super) next: Option<String>,
    pub(super) challenges: Vec<String>,
    pub(super) body: Vec<u8>,
}

impl Answer {
    /// What the registry says about it, short, with nothing that a terminal would act on.
    pub(super) fn reason(&self) -> String {
        let said = hutch_model::document::read(&self.body).ok();
        let first = said.as_ref().and_then(|said| said.pointer("/errors/0"));
        let part = |name| first.and_then(|first| first.get(name)).and_then(serde_json::Value::as_str);
        let said: Vec<&str> = ["code", "message"].into_iter().filter_map(part).collect();
        let told = format!("status {}{}{}", self.status, if said.is_empty() { "" } else { ", " }, said.join(": "));
        told.chars().filter(|c| !c.is_control()).take(REASON_CHARACTERS_MAX).collect()
    }
}

/// The way to a registry.
pub(super) struct Connection {
    agent: Agent,
}

impl Connection {
    pub(super) fn new(origin: &Origin, given: &Surroundings) -> Result<Connection, RegistryError> {
        let failed = |reason: String| RegistryError::Unreachable { host: origin.host.clone(), reason };
        let mut certificates: Vec<Certificate<'static>> = Vec::new();
        if let Some(text) = &given.authorities {
            for item in parse_pem(text.as_bytes()) {
                match item {
                    Ok(PemItem::Certificate(certificate)) => certificates.push(certificate),
                    Ok(_) => {}
                    Err(error) => return Err(failed(format!("the certificates of --ca are malformed: {error}"))),
                }
            }
            if certificates.is_empty() {
                return Err(failed("--ca holds no certificate".to_owned()));
            }
        }
        let roots = match origin.is_plain {
            true => RootCerts::WebPki,
            false => {
                let machine = rustls_native_certs::load_native_certs().certs;
                certificates.extend(machine.iter().map(|der| Certificate::from_der(der.as_ref()).to_owned()));
                // A machine without any list of authorities, as a small container.
                if certificates.is_empty() { RootCerts::WebPki } else { RootCerts::new_with_certs(&certificates) }
            }
        };
        let proxy = match &given.proxy {
            Some((address, spared)) if !is_loopback(&origin.host) => Some(proxy(address, spared).map_err(failed)?),
            _ => None,
        };
        let wait = Some(given.wait);
        let agent = Agent::config_builder()
            .http_status_as_error(false)
            .max_redirects(0)
            .max_redirects_will_error(false)
            .proxy(proxy)
            .tls_config(TlsConfig::builder().root_certs(roots).build())
            .user_agent(concat!("hutch/", env!("CARGO_PKG_VERSION")))
            .accept_encoding("identity")
            .timeout_resolve(wait)
            .timeout_connect(wait)
            .timeout_per_read(Some(given.wait.max(DIGESTING)))
            .timeout_per_write(wait)
            .timeout_recv_response(Some(given.wait.max(DIGESTING)))
            .build()
            .new_agent();
        Ok(Connection { agent })
    }

    pub(super) fn send(
        &self,
        target: &str,
        call: &Call<'_>,
        authorization: Option<&str>,
    ) -> Result<Answer, RegistryError> {
        let host = Origin::of(target).map(|origin| origin.host).unwrap_or_default();
        let failed = |reason: String| RegistryError::Unreachable { host: host.clone(), reason };
        let mut request = Request::builder().method(call.method).uri(target);
        for (name, value) in [
            ("accept", call.accept.as_deref()),
            ("authorization", authorization),
            ("content-range", call.range.as_deref()),
        ] {
            if let Some(value) = value {
                request = request.header(name, value);
            }
        }
        let sent = match call.body {
            Some((kind, bytes)) => {
                let request = request.header("content-type", kind).body(bytes);
                request.map_err(|error| failed(error.to_string())).map(|request| self.agent.run(request))?
            }
            None => {
                let request = request.body(());
                request.map_err(|error| failed(error.to_string())).map(|request| self.agent.run(request))?
            }
        };
        let answer = sent.map_err(|error| failed(told(&error)))?;
        let (parts, body) = answer.into_parts();
        let text = |name: &str| header(&parts.headers, name).next();
        let announced = text("content-length").and_then(|length| length.parse::<u64>().ok());
        let is_asked_for = parts.status.is_success() && call.method != "HEAD";
        // Why something failed may be told at length, and is not needed.
        let bytes_max = if is_asked_for { call.bytes_max } else { super::REASON_BYTES_MAX };
        let oversize = |bytes| ArtifactError::Oversize { what: "answer", bytes, max: bytes_max };
        let body = match announced.filter(|_| call.method != "HEAD") {
            Some(bytes) if bytes > bytes_max && is_asked_for => return Err(oversize(bytes).into()),
            // The limit is one more, because what ends at the limit is whole.
            _ => match body.into_with_config().limit(bytes_max.saturating_add(1)).read_to_vec() {
                Ok(bytes) if bytes.len() as u64 > bytes_max && is_asked_for => {
                    return Err(oversize(bytes.len() as u64).into());
                }
                Ok(bytes) => bytes,
                Err(ureq::Error::BodyExceedsLimit(_)) if !is_asked_for => Vec::new(),
                Err(ureq::Error::BodyExceedsLimit(_)) => return Err(oversize(bytes_max.saturating_add(1)).into()),
                Err(error) => return Err(failed(format!("the answer was cut short: {}", told(&error)))),
            },
        };
        Ok(Answer {
            status: parts.status.as_u16(),
            kind: text("content-type"),
            location: text("location"),
            range: text("range"),
            part_bytes_min: text("oci-chunk-min-length").and_then(|bytes| bytes.parse().ok()),
            next: text("link").as_deref().and_then(next),
            challenges: header(&parts.headers, "www-authenticate").collect(),
            body,
        })
    }
}

fn header(headers: &HeaderMap, name: &str) -> impl Iterator<Item = String> {
    headers.get_all(name).into_iter().filter_map(|value| value.to_str().ok().map(str::to_owned))
}

/// The address of the next page, as a `Link` says it: `<ADDRESS>; rel="next"`.
fn next(link: &str) -> Option<String> {
    let (address, about) = link.strip_prefix('<')?.split_once('>')?;
    let is_next = about.split(';').any(|one| matches!(one.trim(), r#"rel="next""# | "rel=next"));
    is_next.then(|| address.to_owned())
}

/// A proxy, spared for some hosts.
fn proxy(address: &str, spared: &str) -> Result<Proxy, String> {
    let malformed = || "the proxy in the environment is no address".to_owned();
    let given = Proxy::new(address).map_err(|_| malformed())?;
    let mut made = Proxy::builder(given.protocol()).host(given.host()).port(given.port());
    if let Some(user) = given.username() {
        made = made.username(user);
    }
    if let Some(password) = given.password() {
        made = made.password(password);
    }
    for host in spared.split(',').map(str::trim).filter(|host| !host.is_empty()) {
        made = made.no_proxy(host);
    }
    made.build().map_err(|_| malformed())
}

/// An error of the client, in words that hold no address and no credential.
fn told(error: &ureq::Error) -> String {
    match error {
        ureq::Error::HostNotFound => "no such host".to_owned(),
        ureq::Error::Timeout(what) => format!("nothing came in time ({what})"),
        other => other.to_string(),
    }
}

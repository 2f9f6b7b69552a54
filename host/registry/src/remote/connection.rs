//! One call over HTTP and its answer, bounded. Knows no registry.

use super::{Call, Surroundings};
use crate::artifact::ArtifactError;
use crate::failure::RegistryError;
use crate::pulled::parsed;
use fluent_uri::{Uri, UriRef};
use hutch_model::sha256::Sha256;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;
use ureq::http::{HeaderMap, Request};
use ureq::tls::{Certificate, PemItem, RootCerts, TlsConfig, parse_pem};
use ureq::{Agent, Proxy};

/// How long a registry may take to digest what it was sent.
const DIGESTING: Duration = Duration::from_secs(60);
const REASON_CHARACTERS_MAX: usize = 200;
/// How often who is busy is asked again, however short the waits are that it asks for.
const BUSY_TRIES_MAX: u32 = 16;

/// A scheme, a host and a port. That of the scheme is there whether it was written or not.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Origin {
    pub(super) is_plain: bool,
    name: String,
    port: u16,
}

impl Origin {
    pub(super) fn new(is_plain: bool, host: &str) -> Origin {
        let with_port = host.rsplit_once(':').and_then(|(name, port)| Some((name, port.parse().ok()?)));
        let (name, port) = with_port.unwrap_or((host, usual_port(is_plain)));
        Origin { is_plain, name: name.to_ascii_lowercase(), port }
    }

    /// That of an address; `None` for one that is not of the web, or names a user.
    pub(super) fn of(target: &str) -> Option<Origin> {
        let uri = Uri::parse(target).ok()?;
        let is_plain = match uri.scheme().as_str().to_ascii_lowercase().as_str() {
            "http" => true,
            "https" => false,
            _ => return None,
        };
        let authority = uri.authority().filter(|found| !found.host().is_empty() && !found.has_userinfo())?;
        let port = authority.port_to_u16().ok()?.unwrap_or(usual_port(is_plain));
        Some(Origin { is_plain, name: authority.host().to_ascii_lowercase(), port })
    }

    /// Whether an address is one of it.
    pub(super) fn holds(&self, target: &str) -> bool {
        Origin::of(target).is_some_and(|origin| origin == *self)
    }

    /// The host without its port.
    pub(super) fn name(&self) -> &str {
        &self.name
    }

    /// The host, with its port if that is not the scheme's.
    pub(super) fn host(&self) -> String {
        match self.port == usual_port(self.is_plain) {
            true => self.name.clone(),
            false => format!("{}:{}", self.name, self.port),
        }
    }
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}://{}", if self.is_plain { "http" } else { "https" }, self.host())
    }
}

const fn usual_port(is_plain: bool) -> u16 {
    if is_plain { 80 } else { 443 }
}

/// The address that a text means which was found at another address (RFC 3986, 5.2); `None` if it is none of the web.
fn resolved(base: &str, text: &str) -> Option<String> {
    // Nothing is where it is already, by the letter; nobody who means something says it so.
    if text.is_empty() {
        return None;
    }
    // What has no place in an address, and is written into some all the same.
    let escaped = |c: char| if r#""<>\^`{|}"#.contains(c) { format!("%{:02X}", u32::from(c)) } else { c.to_string() };
    let text: String = text.chars().map(escaped).collect();
    let base = Uri::parse(base).ok()?;
    let found = UriRef::parse(text.as_str()).ok()?.resolve_against(&base).ok()?;
    let found = found.strip_fragment().as_str().to_owned();
    Origin::of(&found).map(|_| found)
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
    /// Who answered.
    pub(super) host: String,
    pub(super) status: u16,
    pub(super) kind: Option<String>,
    /// The whole address.
    pub(super) location: Option<String>,
    /// What names the body, as the registry says.
    pub(super) digest: Option<Sha256>,
    /// When to come again.
    pub(super) after: Option<Duration>,
    pub(super) range: Option<String>,
    /// The least that a part of an upload must have.
    pub(super) part_bytes_min: Option<usize>,
    /// Where the list goes on: the whole address, or what was said and is none.
    pub(super) next: Option<Option<String>>,
    pub(super) challenges: Vec<String>,
    pub(super) body: Vec<u8>,
}

impl Answer {
    /// Whether the same call may be answered another time.
    pub(super) fn is_busy(&self) -> bool {
        matches!(self.status, 429 | 503)
    }

    /// Who is busy, as it is told.
    pub(super) fn busy(&self) -> RegistryError {
        RegistryError::Busy { host: self.host.clone(), reason: self.reason(), after: self.after }
    }

    /// What the registry says about it, short, with nothing that a terminal would act on.
    pub(super) fn reason(&self) -> String {
        let said = parsed::<serde_json::Value>("the reason", &self.body).ok();
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
    wait: Duration,
    pause: Duration,
    sleep: Arc<dyn Fn(Duration) + Send + Sync>,
}

impl Connection {
    pub(super) fn new(origin: &Origin, given: &Surroundings) -> Result<Connection, RegistryError> {
        let failed = |reason: String| RegistryError::Unreachable { host: origin.host(), reason };
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
            Some((address, spared)) if !is_loopback(&origin.host()) => Some(proxy(address, spared).map_err(failed)?),
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
        let (pause, sleep) = (given.pause, Arc::clone(&given.sleep));
        Ok(Connection { agent, wait: given.wait, pause, sleep })
    }

    /// Makes a call, again and again if that does no harm while the other end is busy, and as long as the operator waits.
    pub(super) fn send(
        &self,
        target: &str,
        call: &Call<'_>,
        authorization: Option<&str>,
    ) -> Result<Answer, RegistryError> {
        let (mut tries, mut waited) = (0, Duration::ZERO);
        loop {
            let answer = self.send_once(target, call, authorization)?;
            if !call.is_repeatable || !answer.is_busy() || !self.has_waited(tries, &mut waited, answer.after) {
                return Ok(answer);
            }
            tries += 1;
        }
    }

    /// Waits for who is busy: as long as it asks for, else each time twice as long. Not beyond what the operator waits in all, and not at
    /// all if that would be too short.
    pub(super) fn has_waited(&self, tries: u32, waited: &mut Duration, after: Option<Duration>) -> bool {
        let left = self.wait.saturating_sub(*waited);
        let pause = after.map_or_else(|| self.pause_before(tries).min(left), |after| after.max(self.pause));
        if tries == BUSY_TRIES_MAX || left.is_zero() || pause > left {
            return false;
        }
        *waited = waited.saturating_add(pause);
        self.sleep(pause);
        true
    }

    /// How long to wait before a try, each time twice as long.
    pub(super) fn pause_before(&self, tries: u32) -> Duration {
        self.pause.saturating_mul(2_u32.saturating_pow(tries))
    }

    pub(super) fn sleep(&self, pause: Duration) {
        (self.sleep)(pause);
    }

    fn send_once(&self, target: &str, call: &Call<'_>, authorization: Option<&str>) -> Result<Answer, RegistryError> {
        let host = Origin::of(target).map(|origin| origin.host()).unwrap_or_default();
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
            location: text("location").and_then(|location| resolved(target, &location)),
            digest: text("docker-content-digest").and_then(|digest| digest.parse().ok()),
            after: text("retry-after").and_then(|after| delay(&after, text("date").as_deref())),
            range: text("range"),
            part_bytes_min: text("oci-chunk-min-length").and_then(|bytes| bytes.parse().ok()),
            next: header(&parts.headers, "link").find_map(|link| next(&link).map(|next| resolved(target, next))),
            challenges: header(&parts.headers, "www-authenticate").collect(),
            body,
            host,
        })
    }
}

fn header(headers: &HeaderMap, name: &str) -> impl Iterator<Item = String> {
    headers.get_all(name).into_iter().filter_map(|value| value.to_str().ok().map(str::to_owned))
}

/// The address of the next page, as a `Link` says it: `<ADDRESS>; rel="next"`, among others.
fn next(link: &str) -> Option<&str> {
    let mut rest = link;
    loop {
        let (address, after) = rest.split_once('<')?.1.split_once('>')?;
        let about = after.split('<').next().unwrap_or_default();
        let is_next = about.split([';', ',']).filter_map(|one| one.split_once('=')).any(|(name, value)| {
            let mut kinds = value.trim().trim_matches('"').split_ascii_whitespace();
            name.trim().eq_ignore_ascii_case("rel") && kinds.any(|kind| kind.eq_ignore_ascii_case("next"))
        });
        if is_next {
            return Some(address);
        }
        rest = after;
    }
}

/// How long to wait, as `Retry-After` says it: in seconds, or with an instant of the clock that `Date` shows.
fn delay(after: &str, date: Option<&str>) -> Option<Duration> {
    if let Ok(seconds) = after.trim().parse() {
        return Some(Duration::from_secs(seconds));
    }
    let instant = |text: &str| httpdate::parse_http_date(text.trim()).ok();
    Some(instant(after)?.duration_since(instant(date?)?).unwrap_or_default())
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_what_it_means_where_it_stands() {
        let base = "https://a.io/v2/x/blobs/uploads/?state=1";
        for (text, means) in [
            ("u0?state=2", Some("https://a.io/v2/x/blobs/uploads/u0?state=2")),
            ("../u0", Some("https://a.io/v2/x/blobs/u0")),
            ("?state=2", Some("https://a.io/v2/x/blobs/uploads/?state=2")),
            ("/u0#part", Some("https://a.io/u0")),
            ("//b.io/u0", Some("https://b.io/u0")),
            ("http://b.io:80/u|0", Some("http://b.io:80/u%7C0")),
            ("https://a:b@b.io/", None),
            ("https://@b.io/", None),
            ("ftp://b.io/", None),
            ("//", None),
            ("", None),
            ("u 0", None),
            ("\\b.io", Some("https://a.io/v2/x/blobs/uploads/%5Cb.io")),
        ] {
            assert_eq!(resolved(base, text).as_deref(), means, "{text}");
        }
    }

    #[test]
    fn an_origin_is_one_whether_its_port_is_written_or_not() {
        let of = |text: &str| Origin::of(text).unwrap();
        assert_eq!(of("https://A.io:443/x"), of("https://a.io"));
        assert_eq!(of("http://a.io:80/x"), Origin::new(true, "a.io"));
        assert_eq!(of("https://[::1]:5000/"), Origin::new(false, "[::1]:5000"));
        assert_eq!(of("https://[::1]/"), Origin::new(false, "[::1]"));
        assert_eq!(of("https://a.io:443/x").to_string(), "https://a.io");
        for other in ["http://a.io", "https://a.io:80", "https://a.io.b", "https://b.a.io"] {
            assert_ne!(of(other), of("https://a.io"), "{other}");
        }
        assert_eq!(Origin::of("https://a.io:99999/"), None);
    }

    #[test]
    fn the_next_page_is_found_among_other_links() {
        for link in [
            r#"<n>; rel="next""#,
            "<n>;rel=next",
            r#"<p>; rel="prev", <n>; title="x"; rel="last next""#,
            r#"<n>; REL=Next, <p>; rel="prev""#,
        ] {
            assert_eq!(next(link), Some("n"), "{link}");
        }
        for link in ["", "<n>", r#"<n>; rel="nextish""#, "n; rel=next", "<n; rel=next"] {
            assert_eq!(next(link), None, "{link}");
        }
    }

    #[test]
    fn a_delay_is_in_seconds_or_until_an_instant_of_the_servers_clock() {
        let date = Some("Fri, 31 Dec 1999 23:59:50 GMT");
        for (after, date, delay_s) in [
            ("7", None, Some(7)),
            ("Sat, 01 Jan 2000 00:00:00 GMT", date, Some(10)),
            ("Fri, 31 Dec 1999 23:59:00 GMT", date, Some(0)),
            ("Sat, 01 Jan 2000 00:00:00 GMT", None, None),
            ("soon", date, None),
            ("-1", date, None),
        ] {
            assert_eq!(delay(after, date), delay_s.map(Duration::from_secs), "{after}");
        }
    }
}

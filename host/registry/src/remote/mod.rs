//! A repository of a registry, by the OCI distribution specification 1.1. One call at a time. What a registry answers is held to a size
//! before it is read; a redirect is followed for reading alone, and carries no credential to another host; what is pushed goes to the
//! host that was named and nowhere else.

mod authorization;
mod connection;
mod credentials;
mod upload;

pub use credentials::{Credential, CredentialFile, Helper};

use crate::artifact::{ArtifactError, MANIFEST_BYTES_MAX};
use crate::documents::{Descriptor, INDEX, Index, MANIFEST};
use crate::failure::RegistryError;
use crate::pulled::parsed;
use crate::sha256::Sha256;
use authorization::Authorization;
use connection::{Answer, Connection, Origin};
use serde::Deserialize;
use std::fmt;
use std::time::Duration;

/// What the machine and the operator give a call.
pub struct Surroundings {
    /// Files that may hold credentials; the first that has one counts.
    pub credentials: Vec<CredentialFile>,
    /// Asks a credential helper.
    pub helper: Box<Helper<'static>>,
    /// Certificates (PEM) of authorities that are trusted besides those of the machine.
    pub authorities: Option<String>,
    /// Whether to speak without TLS; if nobody says, to this machine itself, unless an authority is named.
    pub plain_http: Option<bool>,
    /// A host that may be sent the registry's password, because it gives tokens for it.
    pub token_host: Option<String>,
    /// Through which proxy to go, and for which hosts not to.
    pub proxy: Option<(String, String)>,
    /// The longest wait for a connection or a byte.
    pub wait: Duration,
    /// What is longer than this is sent in parts.
    pub part_bytes: usize,
    /// How long to wait before a part that was lost is sent again; each time twice as long.
    pub pause: Duration,
}

/// A repository of a registry.
pub struct Remote {
    connection: Connection,
    authorization: Box<Authorization>,
    origin: Origin,
    repository: String,
    part_bytes: usize,
    pause: Duration,
}

impl fmt::Debug for Remote {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Remote({}/{})", self.origin, self.repository)
    }
}

/// How many redirects of one call are followed.
const REDIRECTS_MAX: usize = 5;
/// The most of an answer that says why something failed.
const REASON_BYTES_MAX: u64 = 64 << 10;

/// How many tags are asked for at once, and how often; a registry may give fewer.
const TAGS_OF_PAGE: u32 = 1000;
const TAG_PAGES_MAX: u32 = 20;

/// One page of tags.
#[derive(Deserialize)]
struct Tags {
    tags: Option<Vec<String>>,
}

/// What a call is about.
struct Call<'c> {
    method: &'static str,
    accept: Option<String>,
    body: Option<(&'c str, &'c [u8])>,
    /// Which bytes of a whole the body is.
    range: Option<String>,
    bytes_max: u64,
}

impl<'c> Call<'c> {
    fn read(method: &'static str, bytes_max: u64) -> Call<'c> {
        Call { method, accept: None, body: None, range: None, bytes_max }
    }
}

impl Remote {
    /// The repository of a registry. Nothing is sent yet.
    ///
    /// # Errors
    /// A certificate or the proxy is malformed.
    pub fn new(host: &str, repository: &str, surroundings: Surroundings) -> Result<Remote, RegistryError> {
        let is_plain = surroundings
            .plain_http
            .unwrap_or_else(|| connection::is_loopback(host) && surroundings.authorities.is_none());
        let real_host = if host == "docker.io" { "registry-1.docker.io" } else { host };
        let origin = Origin::new(is_plain, real_host);
        let connection = Connection::new(&origin, &surroundings)?;
        let (part_bytes, pause) = (surroundings.part_bytes, surroundings.pause);
        let authorization = Box::new(Authorization::new(&origin, host, repository, surroundings));
        Ok(Remote { connection, authorization, origin, repository: repository.to_owned(), part_bytes, pause })
    }

    pub(crate) fn manifest(&self, name: &str) -> Result<Option<Vec<u8>>, RegistryError> {
        let call = Call { accept: Some(format!("{MANIFEST}, {INDEX}")), ..Call::read("GET", MANIFEST_BYTES_MAX) };
        let answer = self.call(&format!("manifests/{name}"), &call)?;
        match answer.status {
            200 => Ok(Some(answer.body)),
            404 => Ok(None),
            _ => Err(self.refused(&format!("for the manifest {name}"), &answer)),
        }
    }

    pub(crate) fn blob(&self, named: &Descriptor, what: &'static str) -> Result<Vec<u8>, RegistryError> {
        let answer = self.call(&format!("blobs/{}", named.digest), &Call::read("GET", named.size));
        let answer = answer.map_err(|error| match error {
            // It had as many bytes as were announced, and went on.
            RegistryError::Artifact(ArtifactError::Oversize { .. }) => {
                ArtifactError::Length { what, found: named.size.saturating_add(1), announced: named.size }.into()
            }
            error => error,
        })?;
        match answer.status {
            200 => Ok(answer.body),
            404 => Err(RegistryError::Missing(format!("{what} {} in {}", named.digest, self.origin))),
            _ => Err(self.refused(&format!("for the {what}"), &answer)),
        }
    }

    pub(crate) fn put_manifest(&self, name: &str, kind: &str, bytes: &[u8]) -> Result<(), RegistryError> {
        let put = Call { body: Some((kind, bytes)), ..Call::read("PUT", REASON_BYTES_MAX) };
        let answer = self.call(&format!("manifests/{name}"), &put)?;
        match answer.status {
            200..=202 => Ok(()),
            _ => Err(self.refused("for a manifest that was sent", &answer)),
        }
    }

    /// What the registry itself lists as being about a manifest; `None` if it keeps no such list.
    pub(crate) fn listed(&self, subject: Sha256) -> Result<Option<Vec<Descriptor>>, RegistryError> {
        let call = Call { accept: Some(INDEX.to_owned()), ..Call::read("GET", MANIFEST_BYTES_MAX) };
        let answer = self.call(&format!("referrers/{subject}"), &call)?;
        match answer.status {
            // Some registries answer everything they do not know with a page.
            200 if answer.kind.as_deref().is_some_and(|kind| kind.starts_with(INDEX)) => {
                Ok(Some(parsed::<Index>("list of referrers", &answer.body)?.manifests))
            }
            200 | 400 | 404 | 405 => Ok(None),
            _ => Err(self.refused("for the list of referrers", &answer)),
        }
    }

    /// The names that things have there, page by page.
    pub(crate) fn tags(&self) -> Result<Vec<String>, RegistryError> {
        let call = Call::read("GET", MANIFEST_BYTES_MAX);
        let mut target = format!("{}/v2/{}/tags/list?n={TAGS_OF_PAGE}", self.origin, self.repository);
        let mut tags = Vec::new();
        for _ in 0..TAG_PAGES_MAX {
            let answer = self.call_at(&target, &call)?;
            if answer.status != 200 {
                return Err(self.refused("for its tags", &answer));
            }
            // A repository without any says null.
            tags.extend(parsed::<Tags>("list of tags", &answer.body)?.tags.unwrap_or_default());
            let Some(next) = answer.next else { return Ok(tags) };
            let next = self.origin.resolve(&next).filter(|next| self.origin.holds(next));
            target = next.ok_or_else(|| self.answer("for its tags", "the next page is on another host".to_owned()))?;
        }
        Err(self.answer("for its tags", format!("it has more than {TAG_PAGES_MAX} pages of them")))
    }

    fn call(&self, path: &str, call: &Call<'_>) -> Result<Answer, RegistryError> {
        self.call_at(&format!("{}/v2/{}/{path}", self.origin, self.repository), call)
    }

    /// Makes a call, says who is calling if that is asked, once, and follows redirects if nothing is sent.
    fn call_at(&self, target: &str, call: &Call<'_>) -> Result<Answer, RegistryError> {
        let mut target = target.to_owned();
        let mut is_asked = false;
        for _ in 0..=REDIRECTS_MAX {
            let is_ours = self.origin.holds(&target);
            let authorization = if is_ours { self.authorization.header() } else { None };
            let answer = self.connection.send(&target, call, authorization.as_deref())?;
            match answer.status {
                401 if is_ours && !is_asked => {
                    is_asked = true;
                    self.authorization.renew(&self.connection, &answer)?;
                }
                301 | 302 | 303 | 307 | 308 if call.body.is_none() => {
                    let base = Origin::of(&target).unwrap_or_else(|| self.origin.clone());
                    let next = answer.location.as_deref().and_then(|location| base.resolve(location));
                    let next = next.filter(|next| Origin::of(next).is_some_and(|next| !next.is_plain || base.is_plain));
                    target = next.ok_or_else(|| {
                        self.answer("a call", "it leads to no address, or to one without TLS".to_owned())
                    })?;
                }
                _ => return Ok(answer),
            }
        }
        Err(self.answer("a call", format!("it leads on more than {REDIRECTS_MAX} times")))
    }

    fn answer(&self, what: &str, reason: String) -> RegistryError {
        RegistryError::Answer { host: self.origin.host.clone(), what: what.to_owned(), reason }
    }

    /// What an answer that is not the expected one means.
    fn refused(&self, what: &str, answer: &Answer) -> RegistryError {
        let (host, reason) = (self.origin.host.clone(), answer.reason());
        match answer.status {
            401 => RegistryError::Unauthorized { host, reason },
            403 => RegistryError::Denied { host, reason },
            404 => RegistryError::Missing(format!("repository {} in {host}: {reason}", self.repository)),
            _ => self.answer(what, reason),
        }
    }
}

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
use crate::pulled::{parsed, same};
use crate::signature::Referrers;
use authorization::{Authorization, encoded};
use connection::{Answer, Connection, Origin};
use hutch_model::sha256::Sha256;
use serde::Deserialize;
use std::fmt;
use std::sync::Arc;
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
    /// The longest wait for a connection or a byte, and for a registry that is busy.
    pub wait: Duration,
    /// What is longer than this is sent in parts.
    pub part_bytes: usize,
    /// How long to wait before what was lost is sent again, and who is busy is asked again; each time twice as long.
    pub pause: Duration,
    /// Waits.
    pub sleep: Arc<dyn Fn(Duration) + Send + Sync>,
}

/// A repository of a registry.
pub struct Remote {
    connection: Connection,
    authorization: Box<Authorization>,
    origin: Origin,
    repository: String,
    part_bytes: usize,
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
/// The most tags, however many a registry gives at once.
const TAGS_MAX: usize = 100_000;
/// How many pages of what is about a manifest are read: a registry may know many things about one, and give few at once.
const REFERRER_PAGES_MAX: u32 = 100;
/// The most bytes of a list, all pages together.
const LIST_BYTES_MAX: u64 = 32 << 20;

/// One page of tags.
#[derive(Deserialize)]
struct Tags {
    tags: Option<Vec<String>>,
}

/// What a call is about.
#[derive(Clone)]
struct Call<'c> {
    method: &'static str,
    accept: Option<String>,
    body: Option<(&'c str, &'c [u8])>,
    /// Which bytes of a whole the body is.
    range: Option<String>,
    bytes_max: u64,
    /// Whether it may be made again while the other end is busy. Of a part of an upload it is asked first how far it came.
    is_repeatable: bool,
}

impl<'c> Call<'c> {
    fn read(method: &'static str, bytes_max: u64) -> Call<'c> {
        Call { method, accept: None, body: None, range: None, bytes_max, is_repeatable: true }
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
        let part_bytes = surroundings.part_bytes;
        let authorization = Box::new(Authorization::new(&origin, host, repository, surroundings));
        Ok(Remote { connection, authorization, origin, repository: repository.to_owned(), part_bytes })
    }

    pub(crate) fn manifest(&self, name: &str) -> Result<Option<Vec<u8>>, RegistryError> {
        let call = Call { accept: Some(format!("{MANIFEST}, {INDEX}")), ..Call::read("GET", MANIFEST_BYTES_MAX) };
        let answer = self.call(&format!("manifests/{name}"), &call)?;
        match answer.status {
            200 => whole("manifest", answer).map(Some),
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
            200 => whole(what, answer),
            404 => {
                let place = format!("{}/{}", self.origin, self.repository);
                Err(ArtifactError::Lost { what, named: named.digest.to_string(), place }.into())
            }
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

    /// What the registry itself lists as being of a kind and about a manifest; nothing if it keeps no such list.
    pub(crate) fn listed(&self, subject: Sha256, kind: &str) -> Result<Referrers, RegistryError> {
        let call = Call { accept: Some(INDEX.to_owned()), ..Call::read("GET", MANIFEST_BYTES_MAX) };
        let target = format!("{}?artifactType={}", self.at(&format!("referrers/{subject}")), encoded(kind));
        let (mut found, mut is_kept) = (Referrers::default(), false);
        self.pages(target, &call, REFERRER_PAGES_MAX, "for the list of referrers", |answer| {
            // Some registries answer everything they do not know with a page.
            let is_list = answer.kind.as_deref().is_some_and(|kind| kind.starts_with(INDEX));
            match answer.status {
                200 if is_list => {
                    let list: Index = parsed("list of referrers", &answer.body)?;
                    list.descriptors().try_for_each(|entry| found.take(&entry))?;
                }
                200 | 400 | 404 | 405 if !is_kept => return Ok(false),
                _ => return Err(self.refused("for the list of referrers", answer)),
            }
            is_kept = true;
            Ok(true)
        })?;
        Ok(found)
    }

    /// The names that things have there.
    pub(crate) fn tags(&self) -> Result<Vec<String>, RegistryError> {
        let target = format!("{}?n={TAGS_OF_PAGE}", self.at("tags/list"));
        let mut tags = Vec::new();
        self.pages(target, &Call::read("GET", MANIFEST_BYTES_MAX), TAG_PAGES_MAX, "for its tags", |answer| {
            if answer.status != 200 {
                return Err(self.refused("for its tags", answer));
            }
            // A repository without any says null.
            tags.extend(parsed::<Tags>("list of tags", &answer.body)?.tags.unwrap_or_default());
            match tags.len() > TAGS_MAX {
                true => Err(self.answer("for its tags", format!("it has more than {TAGS_MAX} tags"))),
                false => Ok(true),
            }
        })?;
        Ok(tags)
    }

    /// Reads a list page by page, as long as its pages are taken: of this host alone, and not without end.
    fn pages(
        &self,
        mut target: String,
        call: &Call<'_>,
        pages_max: u32,
        what: &str,
        mut take: impl FnMut(&Answer) -> Result<bool, RegistryError>,
    ) -> Result<(), RegistryError> {
        let mut bytes_left = LIST_BYTES_MAX;
        for _ in 0..pages_max {
            let answer = self.call_at(&target, &Call { bytes_max: call.bytes_max.min(bytes_left), ..call.clone() })?;
            let is_taken = take(&answer)?;
            bytes_left = bytes_left.saturating_sub(answer.body.len() as u64);
            let Some(next) = answer.next.filter(|_| is_taken) else { return Ok(()) };
            let next = next.filter(|next| self.origin.holds(next));
            target = next.ok_or_else(|| self.answer(what, "the next page is on another host".to_owned()))?;
        }
        Err(self.answer(what, format!("it has more than {pages_max} pages")))
    }

    fn at(&self, path: &str) -> String {
        format!("{}/v2/{}/{path}", self.origin, self.repository)
    }

    fn call(&self, path: &str, call: &Call<'_>) -> Result<Answer, RegistryError> {
        self.call_at(&self.at(path), call)
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
                    let is_plain = |target: &str| Origin::of(target).is_some_and(|origin| origin.is_plain);
                    let next = answer.location.filter(|next| !is_plain(next) || is_plain(&target));
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
        RegistryError::Answer { host: self.origin.host(), what: what.to_owned(), reason }
    }

    /// What an answer that is not the expected one means.
    fn refused(&self, what: &str, answer: &Answer) -> RegistryError {
        // Who was led to may be somebody else.
        let (host, reason) = (answer.host.clone(), answer.reason());
        match answer.status {
            401 => RegistryError::Unauthorized { host, reason },
            403 => RegistryError::Denied { host, reason },
            404 => RegistryError::Missing(format!("repository {} in {host}: {reason}", self.repository)),
            _ if answer.is_busy() => answer.busy(),
            _ => RegistryError::Answer { host, what: what.to_owned(), reason },
        }
    }
}

/// What came, held against what the registry itself says that it is.
fn whole(what: &'static str, answer: Answer) -> Result<Vec<u8>, RegistryError> {
    if let Some(announced) = answer.digest {
        same(what, Sha256::of(&answer.body), announced)?;
    }
    Ok(answer.body)
}

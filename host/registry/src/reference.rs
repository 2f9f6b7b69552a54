//! What a person writes for a package in a registry: `oci://HOST[:PORT]/REPOSITORY[:TAG][@sha256:…]`, or in a folder on this machine,
//! an OCI image layout: `oci-layout:FOLDER[:TAG][@sha256:…]`. The grammar of names and tags is that of the OCI distribution
//! specification 1.1.

use hutch_model::sha256::Sha256;
use std::fmt;
use std::str::FromStr;

const REGISTRY: &str = "oci://";
const LAYOUT: &str = "oci-layout:";
/// The most that registries agree on for host and name together.
const NAME_BYTES_MAX: usize = 255;
const TAG_BYTES_MAX: usize = 128;

/// Where a package is, or is to be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reference {
    /// The registry and the repository in it, or the folder.
    pub place: Place,
    /// Which of the packages there, by name.
    pub tag: Option<String>,
    /// Which of them, by content.
    pub digest: Option<Sha256>,
}

/// A repository.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Place {
    /// In a registry.
    Registry {
        /// Host, and port if it is not that of the scheme.
        host: String,
        /// The path below it.
        repository: String,
    },
    /// In a folder on this machine.
    Layout(String),
}

/// A text that is no reference.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct NotAReference(String);

impl Reference {
    /// Whether a text means a registry or an image layout, and no path of a package.
    pub fn is_meant(text: &str) -> bool {
        text.starts_with(REGISTRY) || text.starts_with(LAYOUT)
    }

    /// The same place, and this package there.
    #[must_use]
    pub fn with_digest(&self, digest: Sha256) -> Reference {
        Reference { digest: Some(digest), ..self.clone() }
    }

    /// The same place, under another name.
    #[must_use]
    pub fn with_tag(&self, tag: &str) -> Option<Reference> {
        is_tag(tag).then(|| Reference { tag: Some(tag.to_owned()), digest: None, ..self.clone() })
    }

    /// The same, whatever the package there is now.
    #[must_use]
    pub fn without_digest(&self) -> Reference {
        Reference { digest: None, ..self.clone() }
    }

    /// What the place calls the package: the digest if there is one, because it says more, else the tag.
    pub fn name(&self) -> Option<String> {
        self.digest.map(|digest| digest.to_string()).or_else(|| self.tag.clone())
    }
}

impl Place {
    /// The repository as others name it: without a scheme.
    pub fn name(&self) -> String {
        match self {
            Place::Registry { host, repository } => format!("{host}/{repository}"),
            Place::Layout(folder) => folder.clone(),
        }
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Place::Registry { host, repository } => write!(f, "{REGISTRY}{host}/{repository}"),
            Place::Layout(folder) => write!(f, "{LAYOUT}{folder}"),
        }
    }
}

impl fmt::Display for Reference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.place)?;
        if let Some(tag) = &self.tag {
            write!(f, ":{tag}")?;
        }
        match &self.digest {
            Some(digest) => write!(f, "@{digest}"),
            None => Ok(()),
        }
    }
}

impl FromStr for Reference {
    type Err = NotAReference;

    fn from_str(text: &str) -> Result<Reference, NotAReference> {
        let refused = |why: &str| Err(NotAReference(format!("{text:?} {why}")));
        let (rest, digest) = match text.split_once('@') {
            None => (text, None),
            Some((rest, digest)) => match digest.parse() {
                Ok(digest) => (rest, Some(digest)),
                Err(error) => return refused(&format!("has no digest after the @: {error}")),
            },
        };
        // The last colon is the tag's, unless a part of the path or the port follows it.
        let tagged = |rest: &str| match rest.rsplit_once(':') {
            Some((name, tag)) if !tag.contains('/') => (name.to_owned(), Some(tag.to_owned())),
            _ => (rest.to_owned(), None),
        };
        let (place, tag) = if let Some(rest) = rest.strip_prefix(REGISTRY) {
            let Some((host, path)) = rest.split_once('/') else {
                return refused("names no repository: expected oci://HOST/REPOSITORY:TAG");
            };
            let (repository, tag) = tagged(path);
            if !is_host(host) {
                return refused("names no host: expected oci://HOST/REPOSITORY:TAG");
            }
            if !is_repository(&repository) || host.len() + repository.len() > NAME_BYTES_MAX {
                return refused("names no repository: a-z, 0-9 and between them one of . _ or - are its letters");
            }
            (Place::Registry { host: canonical(host), repository }, tag)
        } else if let Some(rest) = rest.strip_prefix(LAYOUT) {
            let (folder, tag) = tagged(rest);
            if folder.is_empty() || folder.chars().any(char::is_control) {
                return refused("names no folder: expected oci-layout:FOLDER:TAG");
            }
            (Place::Layout(folder), tag)
        } else {
            return refused("is no reference: expected oci://HOST/REPOSITORY:TAG or oci-layout:FOLDER:TAG");
        };
        if tag.as_deref().is_some_and(|tag| !is_tag(tag)) {
            return refused("has no tag after the colon: a letter, a digit or _, then 127 of them, . or - at most");
        }
        Ok(Reference { place, tag, digest })
    }
}

fn is_tag(text: &str) -> bool {
    let word = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
    text.len() <= TAG_BYTES_MAX
        && text.bytes().next().is_some_and(word)
        && text.bytes().all(|byte| word(byte) || matches!(byte, b'.' | b'-'))
}

/// The one spelling of a host: two spellings of one registry are one source, and rules about it hold for both.
fn canonical(host: &str) -> String {
    let host = host.to_ascii_lowercase();
    let (name, port) = match host.rsplit_once(':') {
        // What stands in brackets has colons of its own.
        Some((name, port)) if !port.ends_with(']') => (name, port.parse::<u16>().ok()),
        _ => (host.as_str(), None),
    };
    let address = name.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')?.parse::<std::net::Ipv6Addr>().ok());
    let is_near = name == "localhost" || name.starts_with("127.") || name.starts_with('[');
    let name = address.map_or_else(|| name.to_owned(), |address| format!("[{address}]"));
    match port {
        // TLS is spoken there where no port is named; to this machine it need not be.
        Some(443) if !is_near => name,
        Some(port) => format!("{name}:{port}"),
        None => name,
    }
}

/// A name or an address, with a port or without. Nothing that could stand for something else in an address of the web.
fn is_host(text: &str) -> bool {
    let (name, port) = match text.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
        Some((address, rest)) => {
            if address.parse::<std::net::Ipv6Addr>().is_err() {
                return false;
            }
            match rest.strip_prefix(':') {
                Some(port) => ("localhost", Some(port)),
                None if rest.is_empty() => ("localhost", None),
                None => return false,
            }
        }
        None => match text.split_once(':') {
            Some((name, port)) => (name, Some(port)),
            None => (text, None),
        },
    };
    let label = |label: &str| {
        let inner = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-';
        !label.is_empty() && label.bytes().all(inner) && !label.starts_with('-') && !label.ends_with('-')
    };
    name.split('.').all(label) && port.is_none_or(|port| port.parse::<u16>().is_ok_and(|port| port != 0))
}

/// Parts of small letters and digits, joined by `.`, `_`, `__` or any number of `-`.
fn is_repository(text: &str) -> bool {
    let part = |part: &str| {
        let mut joined = 0_usize;
        let mut last = None;
        for byte in part.bytes() {
            match byte {
                b'a'..=b'z' | b'0'..=b'9' => joined = 0,
                b'-' if joined == 0 || last == Some(b'-') => joined += 1,
                b'_' if joined == 0 || (joined == 1 && last == Some(b'_')) => joined += 1,
                b'.' if joined == 0 => joined += 1,
                _ => return false,
            }
            if last.is_none() && joined > 0 {
                return false;
            }
            last = Some(byte);
        }
        last.is_some() && joined == 0
    };
    text.split('/').all(part)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read_again() {
        let digest = Sha256::of(b"x");
        for text in [
            "oci://ghcr.io/acme/todo:0.1.0",
            "oci://127.0.0.1:5000/todo",
            "oci://[::1]:5000/a/b-c/d__e.f:T_1",
            &format!("oci://localhost/todo:1@{digest}"),
            &format!("oci-layout:a folder/x@{digest}"),
            "oci-layout:/tmp/shop:0.1.0",
            "oci-layout:../shop",
        ] {
            assert_eq!(text.parse::<Reference>().unwrap().to_string(), text);
            assert!(Reference::is_meant(text));
        }
    }

    #[test]
    fn a_host_has_one_spelling() {
        for (text, expect) in [
            ("oci://GHCR.io/acme/todo:A", "oci://ghcr.io/acme/todo:A"),
            ("oci://ghcr.io:443/acme/todo", "oci://ghcr.io/acme/todo"),
            ("oci://ghcr.io:0443/acme/todo", "oci://ghcr.io/acme/todo"),
            ("oci://LocalHost:05000/acme/todo", "oci://localhost:5000/acme/todo"),
            ("oci://localhost:443/acme/todo", "oci://localhost:443/acme/todo"),
            ("oci://[0:0:0:0:0:0:0:1]:5000/a", "oci://[::1]:5000/a"),
            ("oci://[0::1]/a", "oci://[::1]/a"),
        ] {
            assert_eq!(text.parse::<Reference>().unwrap().to_string(), expect, "{text}");
        }
    }

    #[test]
    fn what_is_no_reference_is_refused_and_says_why() {
        for (text, why) in [
            ("ghcr.io/acme/todo", "expected oci://"),
            ("oci://ghcr.io", "names no repository"),
            ("oci:///todo", "names no host"),
            ("oci://user:word@host/todo", "no digest"),
            ("oci://host:0/todo", "names no host"),
            ("oci://-host/todo", "names no host"),
            ("oci://host?x/todo", "names no host"),
            ("oci://[::1/todo", "names no host"),
            ("oci://host/Todo", "names no repository"),
            ("oci://host/../todo", "names no repository"),
            ("oci://host/todo?x", "names no repository"),
            ("oci://host/a//b", "names no repository"),
            ("oci://host/a-", "names no repository"),
            ("oci://host/a___b", "names no repository"),
            ("oci://host/todo:", "no tag"),
            ("oci://host/todo:-1", "no tag"),
            ("oci://host/todo@sha256:00", "no digest"),
            ("oci-layout::1", "names no folder"),
        ] {
            let error = text.parse::<Reference>().unwrap_err().to_string();
            assert!(error.contains(why), "{text}: {error}");
        }
    }
}

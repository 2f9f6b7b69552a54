//! Where a bucket is: its name and a folder in it from a URL, and the server that has it. No credentials stand in one: command lines, histories
//! and errors are seen by others.

/// A bucket, a folder in it, and the server that has it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Address {
    /// `http://` or `https://`, and the host with its port.
    server: String,
    /// The host as requests name it.
    host: String,
    bucket: String,
    /// What all names begin with; empty, or ends with `/`.
    prefix: String,
    region: String,
}

/// A text is no address of a bucket.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum AddressError {
    /// It does not begin as one does, or holds what no name does.
    #[error("expected s3://BUCKET or s3://BUCKET/FOLDER, of a-z, A-Z, 0-9, -, _ and . alone")]
    Form,
    /// The server's address is none.
    #[error("the endpoint is not https://HOST or https://HOST:PORT")]
    Endpoint,
    /// Credentials stand in it.
    #[error(
        "credentials stand in the address, where others can see them; use AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY"
    )]
    Credentials,
    /// It asks for something that this version has not.
    #[error("?{0} is not known here; there is ?transport=plain")]
    Parameter(String),
    /// The connection must be encrypted.
    #[error(
        "the endpoint is http:// on another machine, where others can read: say ?transport=plain where the network is trusted"
    )]
    Encryption,
    /// A region's name goes into a host's.
    #[error("the region is not of a-z, 0-9 and - alone")]
    Region,
}

impl Address {
    /// Reads `s3://BUCKET[/FOLDER][?transport=plain]`. The server is `endpoint`, or else the one of AWS for `region`.
    ///
    /// # Errors
    /// See [`AddressError`].
    pub fn parse(text: &str, endpoint: Option<&str>, region: &str) -> Result<Address, AddressError> {
        let rest = text.strip_prefix("s3://").ok_or(AddressError::Form)?;
        let (rest, parameters) = rest.split_once('?').unwrap_or((rest, ""));
        if rest.contains('@') {
            return Err(AddressError::Credentials);
        }
        let is_trusted = match parameters {
            "" => false,
            "transport=plain" => true,
            // What stands there may be a secret.
            other => return Err(AddressError::Parameter(other.split('=').next().unwrap_or_default().to_owned())),
        };
        let mut parts = rest.trim_end_matches('/').split('/');
        let is_name = |name: &str| {
            let fits = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte);
            !name.is_empty() && name != "." && name != ".." && name.bytes().all(fits)
        };
        let bucket = parts.next().filter(|name| is_name(name)).ok_or(AddressError::Form)?.to_owned();
        let mut prefix = String::new();
        for part in parts {
            if !is_name(part) {
                return Err(AddressError::Form);
            }
            prefix.push_str(part);
            prefix.push('/');
        }
        if region.is_empty()
            || !region.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-')
        {
            return Err(AddressError::Region);
        }
        let (server, host) = match endpoint {
            None => (format!("https://s3.{region}.amazonaws.com"), format!("s3.{region}.amazonaws.com")),
            Some(endpoint) => server(endpoint, is_trusted)?,
        };
        Ok(Address { server, host, bucket, prefix, region: region.to_owned() })
    }

    /// The path of an object, of which the name needs no escapes.
    pub(crate) fn path(&self, key: &str) -> String {
        format!("/{}/{}{key}", self.bucket, self.prefix)
    }

    /// The path of the bucket itself.
    pub(crate) fn root(&self) -> String {
        format!("/{}", self.bucket)
    }

    pub(crate) fn server(&self) -> &str {
        &self.server
    }

    pub(crate) fn host(&self) -> &str {
        &self.host
    }

    pub(crate) fn prefix(&self) -> &str {
        &self.prefix
    }

    pub(crate) fn region(&self) -> &str {
        &self.region
    }

    pub(crate) fn is_plain(&self) -> bool {
        self.server.starts_with("http://")
    }

    /// What a message calls it.
    pub fn shown(&self) -> String {
        format!("s3://{}/{} at {}", self.bucket, self.prefix, self.server)
    }
}

/// The server, and the host as requests name it.
fn server(endpoint: &str, is_trusted: bool) -> Result<(String, String), AddressError> {
    let endpoint = endpoint.trim_end_matches('/');
    let (scheme, host) = endpoint.split_once("://").ok_or(AddressError::Endpoint)?;
    if host.contains('@') {
        return Err(AddressError::Credentials);
    }
    let (name, port) = match host.rsplit_once(':') {
        Some((name, port)) if !port.ends_with(']') => (name, Some(port)),
        _ => (host, None),
    };
    let is_port = |port: &str| port.parse::<u16>().is_ok_and(|number| number.to_string() == port);
    let is_bracketed = name.starts_with('[') && name.ends_with(']');
    let bare = name.trim_matches(['[', ']']);
    let is_host = match is_bracketed {
        true => bare.parse::<std::net::Ipv6Addr>().is_ok(),
        false => !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-.".contains(&byte)),
    };
    if !is_host || port.is_some_and(|port| !is_port(port)) {
        return Err(AddressError::Endpoint);
    }
    let usual = match scheme {
        "https" => "443",
        "http" => "80",
        _ => return Err(AddressError::Endpoint),
    };
    let is_here = bare == "localhost" || bare.parse::<std::net::IpAddr>().is_ok_and(|address| address.is_loopback());
    if scheme == "http" && !is_here && !is_trusted {
        return Err(AddressError::Encryption);
    }
    let host = match port {
        Some(port) if port != usual => format!("{name}:{port}"),
        _ => name.to_owned(),
    };
    Ok((format!("{scheme}://{host}"), host))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_read_as_others_write_them() {
        for (text, endpoint, path, host) in [
            ("s3://team", None, "/team/x", "s3.eu-central-1.amazonaws.com"),
            ("s3://team/", None, "/team/x", "s3.eu-central-1.amazonaws.com"),
            ("s3://team/a/b.c", Some("http://127.0.0.1:5000/"), "/team/a/b.c/x", "127.0.0.1:5000"),
            ("s3://team/a/", Some("http://[::1]:80"), "/team/a/x", "[::1]"),
            ("s3://team", Some("https://s3.example:443"), "/team/x", "s3.example"),
            ("s3://team?transport=plain", Some("http://s3.example"), "/team/x", "s3.example"),
            ("s3://team", Some("http://localhost:9000"), "/team/x", "localhost:9000"),
        ] {
            let address =
                Address::parse(text, endpoint, "eu-central-1").unwrap_or_else(|error| panic!("{text}: {error}"));
            assert_eq!((&*address.path("x"), address.host()), (path, host), "{text}");
        }
    }

    #[test]
    fn what_is_no_address_is_refused_and_no_secret_is_repeated() {
        for (text, endpoint, expected) in [
            ("postgres://localhost/x", None, AddressError::Form),
            ("s3://", None, AddressError::Form),
            ("s3://a b", None, AddressError::Form),
            ("s3://a/../b", None, AddressError::Form),
            ("s3://a//b", None, AddressError::Form),
            ("s3://id:geheim@a/b", None, AddressError::Credentials),
            ("s3://a?secret=geheim", None, AddressError::Parameter("secret".to_owned())),
            ("s3://a", Some("http://id:geheim@127.0.0.1"), AddressError::Credentials),
            ("s3://a", Some("http://s3.example"), AddressError::Encryption),
            ("s3://a", Some("http://127.0.0.1.example"), AddressError::Encryption),
            ("s3://a", Some("s3.example"), AddressError::Endpoint),
            ("s3://a", Some("ftp://s3.example"), AddressError::Endpoint),
            ("s3://a", Some("https://s3.example:port"), AddressError::Endpoint),
            ("s3://a", Some("https://s3.example/path"), AddressError::Endpoint),
        ] {
            let error = Address::parse(text, endpoint, "us-east-1").unwrap_err();
            assert!(!error.to_string().contains("geheim"), "{error}");
            assert_eq!(error, expected, "{text} {endpoint:?}");
        }
        assert_eq!(Address::parse("s3://a", None, "evil.example/").unwrap_err(), AddressError::Region);
    }
}

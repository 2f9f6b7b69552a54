//! Where a database is, from a URL as `libpq` writes it. No password stands in one: command lines, histories and errors are seen by others.

use std::path::PathBuf;

/// The port where nothing else is said.
const PORT: u16 = 5432;

/// Where a server listens.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Place {
    /// A host's name or address, and its port.
    Host(String, u16),
    /// A folder of this machine that holds its socket, and the port that the socket is named by.
    Folder(PathBuf, u16),
}

/// A database.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Address {
    /// The server.
    pub place: Place,
    /// The role, if the URL names one.
    pub user: Option<String>,
    /// The database.
    pub database: String,
    /// Whether another machine may be connected to although nothing is encrypted.
    is_trusted: bool,
}

/// A text is no address of a database.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum AddressError {
    /// It does not begin as one does.
    #[error("expected postgres://[USER@]HOST[:PORT]/DATABASE")]
    Form,
    /// A password stands in it.
    #[error("a password stands in the address, where others can see it; use PGPASSFILE or PGPASSWORD")]
    Password,
    /// It asks for something that this version has not.
    #[error("{name}={value:?} is not known here; there are host, port, user, dbname and sslmode=disable")]
    Parameter {
        /// The parameter.
        name: String,
        /// What it is to be.
        value: String,
    },
    /// The connection must be encrypted.
    #[error(
        "connections are not encrypted by this version: say sslmode=disable where the network is trusted, or use a tunnel"
    )]
    Encryption,
}

impl Address {
    /// Reads `postgres://[USER@]HOST[:PORT]/DATABASE[?NAME=VALUE&…]`, also as `postgresql://`. A `host` that begins with `/` is a folder
    /// that holds a socket.
    ///
    /// # Errors
    /// See [`AddressError`].
    pub fn parse(text: &str) -> Result<Address, AddressError> {
        let rest = ["postgres://", "postgresql://"].iter().find_map(|scheme| text.strip_prefix(scheme));
        let rest = rest.ok_or(AddressError::Form)?;
        let (rest, parameters) = rest.split_once('?').unwrap_or((rest, ""));
        let (authority, database) = rest.split_once('/').unwrap_or((rest, ""));
        let (user, server) = authority.rsplit_once('@').map_or((None, authority), |(user, rest)| (Some(user), rest));
        if user.is_some_and(|user| user.contains(':')) {
            return Err(AddressError::Password);
        }
        let (host, port) = split_port(server)?;
        let (mut host, mut port) = (decoded(host)?, port);
        let mut user = user.filter(|user| !user.is_empty()).map(decoded).transpose()?;
        let mut database = decoded(database)?;
        let mut is_trusted = false;
        for parameter in parameters.split('&').filter(|parameter| !parameter.is_empty()) {
            let (name, value) = parameter.split_once('=').ok_or(AddressError::Form)?;
            let value = decoded(value)?;
            match (name, value.as_str()) {
                ("password", _) => return Err(AddressError::Password),
                ("host", _) => host = value,
                ("port", _) => port = value.parse().map_err(|_| AddressError::Form)?,
                ("user", _) => user = Some(value),
                ("dbname", _) => database = value,
                ("sslmode", "disable") => is_trusted = true,
                ("sslmode", _) => return Err(AddressError::Encryption),
                _ => return Err(AddressError::Parameter { name: name.to_owned(), value }),
            }
        }
        let text = [&host, &database, user.as_deref().unwrap_or_default()];
        if host.is_empty() || database.is_empty() || text.iter().any(|text| text.contains('\0')) {
            return Err(AddressError::Form);
        }
        let place = match host.starts_with('/') {
            true => Place::Folder(PathBuf::from(host), port),
            false => Place::Host(host, port),
        };
        let address = Address { place, user, database, is_trusted };
        match is_trusted || address.is_here() {
            true => Ok(address),
            false => Err(AddressError::Encryption),
        }
    }

    /// Whether the server is on this machine, as far as its name says.
    fn is_here(&self) -> bool {
        match &self.place {
            Place::Folder(..) => true,
            Place::Host(host, _) => {
                let address: Option<std::net::IpAddr> = host.parse().ok();
                host == "localhost" || address.is_some_and(|address| address.is_loopback())
            }
        }
    }

    /// What a message calls it: the server and the database, and nobody's name.
    pub(crate) fn shown(&self) -> String {
        match &self.place {
            Place::Host(host, port) if host.contains(':') => format!("postgres://[{host}]:{port}/{}", self.database),
            Place::Host(host, port) => format!("postgres://{host}:{port}/{}", self.database),
            Place::Folder(folder, port) => {
                format!("postgres:///{}?host={}&port={port}", self.database, folder.display())
            }
        }
    }
}

fn split_port(server: &str) -> Result<(&str, u16), AddressError> {
    let (host, port) = match server.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
        Some((host, rest)) => (host, rest.strip_prefix(':').or(rest.is_empty().then_some(""))),
        None => server.split_once(':').map_or((server, Some("")), |(host, port)| (host, Some(port))),
    };
    match port.ok_or(AddressError::Form)? {
        "" => Ok((host, PORT)),
        port => Ok((host, port.parse().map_err(|_| AddressError::Form)?)),
    }
}

/// A part of a URL, without its percents.
fn decoded(text: &str) -> Result<String, AddressError> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        let byte = match byte {
            b'%' => {
                let digit = |byte: Option<u8>| byte.and_then(|byte| char::from(byte).to_digit(16));
                let (high, low) = (digit(rest.next()), digit(rest.next()));
                let value = high.zip(low).and_then(|(high, low)| u8::try_from(high * 16 + low).ok());
                value.ok_or(AddressError::Form)?
            }
            byte => byte,
        };
        bytes.push(byte);
    }
    String::from_utf8(bytes).map_err(|_| AddressError::Form)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_read_as_others_write_them() {
        let host = |host: &str, port| Place::Host(host.to_owned(), port);
        for (text, place, user, database) in [
            ("postgres://localhost/hutch", host("localhost", 5432), None, "hutch"),
            ("postgresql://me@127.0.0.1:6432/hutch", host("127.0.0.1", 6432), Some("me"), "hutch"),
            ("postgres://[::1]:7/a%20b", host("::1", 7), None, "a b"),
            ("postgres://m%40e@db.example/x?sslmode=disable", host("db.example", 5432), Some("m@e"), "x"),
            ("postgres:///x?host=/run/p&port=9&user=u", Place::Folder("/run/p".into(), 9), Some("u"), "x"),
            ("postgres://%2Frun%2Fp/x", Place::Folder("/run/p".into(), 5432), None, "x"),
        ] {
            let address = Address::parse(text).unwrap_or_else(|error| panic!("{text}: {error}"));
            assert_eq!(
                (&address.place, address.user.as_deref(), &*address.database),
                (&place, user, database),
                "{text}"
            );
            assert_eq!(
                Address::parse(&address.shown()).map(|again| again.place),
                match address.is_here() {
                    true => Ok(place),
                    false => Err(AddressError::Encryption),
                }
            );
        }
    }

    #[test]
    fn what_is_no_address_is_refused_and_no_password_is_repeated() {
        for (text, expected) in [
            ("mysql://localhost/x", AddressError::Form),
            ("postgres://localhost", AddressError::Form),
            ("postgres:///x", AddressError::Form),
            ("postgres://localhost:port/x", AddressError::Form),
            ("postgres://localhost/%zz", AddressError::Form),
            ("postgres://localhost/%00", AddressError::Form),
            ("postgres://me:geheim@localhost/x", AddressError::Password),
            ("postgres://localhost/x?password=geheim", AddressError::Password),
            ("postgres://db.example/x", AddressError::Encryption),
            ("postgres://localhost/x?sslmode=require", AddressError::Encryption),
            (
                "postgres://localhost/x?options=-c",
                AddressError::Parameter { name: "options".to_owned(), value: "-c".to_owned() },
            ),
        ] {
            let error = Address::parse(text).unwrap_err();
            assert!(!error.to_string().contains("geheim"));
            assert_eq!(error, expected, "{text}");
        }
    }
}

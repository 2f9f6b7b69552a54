//! Credentials as docker and podman keep them: `auths`, `credHelpers` and `credsStore` in `config.json`, `auth.json` in the order in which
//! those programs look (containers-auth.json(5)). The files are read by whoever has the authority to; here they are understood.

use data_encoding::BASE64;
use hutch_model::statement::null_is_nothing;
use serde::Deserialize;
use serde_json::Value;
use std::collections::BTreeMap;
use std::fmt;

/// Who the caller is, to a registry.
#[derive(Clone, PartialEq, Eq)]
pub enum Credential {
    /// A name and a password, or a token in its place.
    Password {
        /// The name.
        user: String,
        /// The password.
        password: String,
    },
    /// A token that is exchanged for another one for each call.
    Identity(String),
}

impl fmt::Debug for Credential {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // A secret is never printed.
        f.write_str(match self {
            Credential::Password { .. } => "Password",
            Credential::Identity(_) => "Identity",
        })
    }
}

/// Where credentials may be found.
#[derive(Clone, Debug, Default)]
pub struct CredentialFile {
    /// How it is named in messages.
    pub path: String,
    /// What is in it.
    pub text: String,
}

/// Asks a credential helper: its name, what it gets on standard input. `None` if it has nothing.
pub type Helper<'h> = dyn Fn(&str, &str) -> Result<Option<String>, String> + 'h;

/// What the programs that write it take for nothing is nothing here: `null`, and an empty name of a helper. What is about other hosts is
/// not looked into.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct File {
    #[serde(default, deserialize_with = "null_is_nothing")]
    auths: BTreeMap<String, Value>,
    #[serde(default, deserialize_with = "null_is_nothing")]
    cred_helpers: BTreeMap<String, Value>,
    #[serde(default)]
    creds_store: Value,
}

#[derive(Deserialize, Default)]
struct Auth {
    #[serde(default, deserialize_with = "null_is_nothing")]
    auth: String,
    #[serde(default, deserialize_with = "null_is_nothing")]
    identitytoken: String,
    #[serde(default, deserialize_with = "null_is_nothing")]
    username: String,
    #[serde(default, deserialize_with = "null_is_nothing")]
    password: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Helped {
    username: String,
    secret: String,
}

/// What a helper calls a token that is no password.
const TOKEN: &str = "<token>";
/// The names of Docker's registry, as its tools keep them.
const HUB: [&str; 3] = ["docker.io", "index.docker.io", "registry-1.docker.io"];

/// The credential for a repository: of the first file that has one.
///
/// # Errors
/// A file is malformed, or a helper failed.
pub(crate) fn find(
    files: &[CredentialFile],
    helper: &Helper<'_>,
    host: &str,
    repository: &str,
) -> Result<Option<Credential>, String> {
    // A reference names no port that is the usual one; whoever logged in may have.
    let with_port = format!("{host}:443");
    for file in files {
        let at = |why: String| format!("{}: {why}", file.path);
        // What a parser quotes could be a secret.
        let parsed: File = serde_json::from_str(&file.text)
            .map_err(|error| at(format!("malformed at line {}, column {}", error.line(), error.column())))?;
        let hosts = if HUB.contains(&host) { HUB.to_vec() } else { vec![host, &with_port] };
        for host in hosts {
            // A helper that is named for a host is the one that is asked, also if that is none.
            let store = parsed.cred_helpers.get(host).unwrap_or(&parsed.creds_store);
            if let Some(name) = helper_name(store).map_err(at)?
                && let Some(found) = asked(name, host, helper).map_err(at)?
            {
                return Ok(Some(found));
            }
            if let Some(auth) = most_specific(&parsed.auths, host, repository)
                && let Some(found) = read(auth).map_err(at)?
            {
                return Ok(Some(found));
            }
        }
    }
    Ok(None)
}

/// Podman's keys may name a part of a registry; the longest that holds the repository counts. Docker's may be addresses.
fn most_specific<'f>(auths: &'f BTreeMap<String, Value>, host: &str, repository: &str) -> Option<&'f Value> {
    let whole = format!("{host}/{repository}");
    let parts = whole.match_indices('/').map(|(at, _)| at).chain([whole.len()]);
    let names: Vec<&str> = parts.filter_map(|at| whole.get(..at)).collect();
    names.iter().rev().find_map(|name| auths.get(*name)).or_else(|| {
        let key = |key: &&String| {
            let rest = key.strip_prefix("https://").or_else(|| key.strip_prefix("http://"));
            rest.is_some_and(|rest| rest.split('/').next() == Some(host))
        };
        auths.keys().find(key).and_then(|key| auths.get(key))
    })
}

fn read(entry: &Value) -> Result<Option<Credential>, String> {
    // What a parser quotes could be a secret.
    let auth: Auth = null_is_nothing(entry).map_err(|_| "the entry of this host is malformed".to_owned())?;
    if !auth.identitytoken.is_empty() {
        return Ok(Some(Credential::Identity(auth.identitytoken)));
    }
    if auth.auth.is_empty() {
        let Auth { username: user, password, .. } = auth;
        return Ok((!user.is_empty()).then_some(Credential::Password { user, password }));
    }
    let decoded = BASE64.decode(auth.auth.trim().as_bytes()).ok().and_then(|bytes| String::from_utf8(bytes).ok());
    let Some((user, password)) = decoded.as_deref().and_then(|text| text.split_once(':')) else {
        return Err("an auth is no base64 of NAME:PASSWORD".to_owned());
    };
    Ok(Some(Credential::Password { user: user.to_owned(), password: password.trim_end_matches('\0').to_owned() }))
}

/// The name of a helper, if there is one.
fn helper_name(value: &Value) -> Result<Option<&str>, String> {
    match value {
        Value::Null => Ok(None),
        Value::String(name) => Ok(Some(name.as_str()).filter(|name| !name.is_empty())),
        _ => Err("what should name a credential helper is no text".to_owned()),
    }
}

fn asked(name: &str, host: &str, helper: &Helper<'_>) -> Result<Option<Credential>, String> {
    // It becomes the name of a program.
    if !name.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.')) {
        return Err(format!("{name:?} is no name of a credential helper"));
    }
    let address = if HUB.contains(&host) { "https://index.docker.io/v1/" } else { host };
    let Some(text) = helper(&format!("docker-credential-{name}"), address)? else { return Ok(None) };
    let found: Helped =
        serde_json::from_str(&text).map_err(|_| format!("docker-credential-{name} answered no credential"))?;
    Ok(Some(match found.username == TOKEN {
        true => Credential::Identity(found.secret),
        false => Credential::Password { user: found.username, password: found.secret },
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(text: &str, host: &str, repository: &str) -> Result<Option<Credential>, String> {
        let helper = |program: &str, host: &str| match program {
            "docker-credential-known" => Ok(Some(format!(r#"{{"Username":"helped","Secret":"{host}"}}"#))),
            "docker-credential-token" => Ok(Some(r#"{"Username":"<token>","Secret":"t"}"#.to_owned())),
            "docker-credential-none" => Ok(None),
            other => Err(format!("{other} is not there")),
        };
        let file = CredentialFile { path: "f".to_owned(), text: text.to_owned() };
        find(&[CredentialFile { path: "e".to_owned(), text: "{}".to_owned() }, file], &helper, host, repository)
    }

    fn password(user: &str, password: &str) -> Option<Credential> {
        Some(Credential::Password { user: user.to_owned(), password: password.to_owned() })
    }

    #[test]
    fn the_most_specific_key_counts_and_addresses_are_read() {
        // a:1, b:2, c:3
        let text =
            r#"{"auths":{"h.io":{"auth":"YTox"},"h.io/x/y":{"auth":"Yjoy"},"https://g.io/v2/":{"auth":"Yzoz"}}}"#;
        assert_eq!(found(text, "h.io", "x/z"), Ok(password("a", "1")));
        assert_eq!(found(text, "h.io", "x/y/z"), Ok(password("b", "2")));
        assert_eq!(found(text, "h.io", "x/yy"), Ok(password("a", "1")));
        assert_eq!(found(text, "g.io", "x"), Ok(password("c", "3")));
        assert_eq!(found(text, "i.io", "x"), Ok(None));
        assert_eq!(found(text, "h.io.evil.example", "x"), Ok(None), "a name that begins alike is another one");
    }

    #[test]
    fn a_port_that_is_the_usual_one_is_none() {
        for key in ["h.io:443", "https://h.io:443", "https://h.io:443/v2/", "h.io:443/x"] {
            assert_eq!(
                found(&format!(r#"{{"auths":{{"{key}":{{"auth":"YTox"}}}}}}"#), "h.io", "x"),
                Ok(password("a", "1"))
            );
        }
        let text = r#"{"credHelpers":{"h.io:443":"known"},"auths":{"h.io:5000":{"auth":"YTox"}}}"#;
        assert_eq!(found(text, "h.io", "x"), Ok(password("helped", "h.io:443")));
        assert_eq!(found(text, "h.io:5000", "x"), Ok(password("a", "1")));
        assert_eq!(found(text, "h.io:80", "x"), Ok(None));
    }

    #[test]
    fn helpers_and_tokens_are_understood() {
        let text = r#"{"credsStore":"none","credHelpers":{"h.io":"known","t.io":"token","b.io":"broken"},
            "auths":{"i.io":{"auth":"","identitytoken":"i"},"j.io":{}}}"#;
        assert_eq!(found(text, "h.io", "x"), Ok(password("helped", "h.io")));
        assert_eq!(found(text, "t.io", "x"), Ok(Some(Credential::Identity("t".to_owned()))));
        assert_eq!(found(text, "i.io", "x"), Ok(Some(Credential::Identity("i".to_owned()))));
        assert_eq!(found(text, "j.io", "x"), Ok(None));
        assert!(found(text, "b.io", "x").unwrap_err().contains("not there"));
    }

    #[test]
    fn nothing_is_written_in_many_ways_and_others_entries_refuse_nothing() {
        for text in [
            r#"{"auths":{"h.io":{"auth":"YTox"}},"credsStore":""}"#,
            r#"{"auths":{"h.io":{"auth":"YTox"}},"credsStore":null,"credHelpers":null}"#,
            r#"{"auths":{"h.io":{"auth":"YTox","identitytoken":null}},"credHelpers":{"h.io":""},"credsStore":"broken"}"#,
            r#"{"auths":{"h.io":{"auth":"YTox"}},"credHelpers":{"h.io":null}}"#,
            r#"{"auths":{"h.io":{"auth":"YTox"},"x.io":null,"y.io":7,"z.io":{"auth":[]}},"credHelpers":{"x.io":7,"y.io":"../x"}}"#,
            r#"{"auths":{"h.io":{"username":"a","password":"1"}}}"#,
        ] {
            assert_eq!(found(text, "h.io", "x"), Ok(password("a", "1")), "{text}");
        }
        for text in [
            r#"{"auths":null}"#,
            "{}",
            r#"{"auths":{"h.io":null}}"#,
            r#"{"auths":{"h.io":{}},"credHelpers":{}}"#,
            r#"{"auths":{"h.io":{"auth":null,"username":null}}}"#,
        ] {
            assert_eq!(found(text, "h.io", "x"), Ok(None), "{text}");
        }
        for text in [
            r#"{"auths":{"h.io":7}}"#,
            r#"{"credHelpers":{"h.io":7}}"#,
            r#"{"credsStore":["secret"]}"#,
            r#"{"auths":"secret"}"#,
        ] {
            let error = found(text, "h.io", "x").unwrap_err();
            assert!(!error.contains("secret"), "{error}");
        }
    }

    #[test]
    fn docker_hub_has_many_names() {
        let text = r#"{"auths":{"https://index.docker.io/v1/":{"auth":"YTox"}}}"#;
        for host in HUB {
            assert_eq!(found(text, host, "x"), Ok(password("a", "1")), "{host}");
        }
    }

    #[test]
    fn what_is_malformed_is_said_without_its_secrets() {
        for text in ["[", r#"{"auths":{"h.io":{"auth":"c2VjcmV0"}}}"#, r#"{"credHelpers":{"h.io":"../x"}}"#] {
            let error = found(text, "h.io", "x").unwrap_err();
            assert!(!error.contains("c2VjcmV0") && !error.contains("secret"), "{error}");
        }
        let shown = format!("{:?}", password("a", "hidden"));
        assert!(!shown.contains("hidden"), "{shown}");
    }
}

//! Arguments that an agent should not pass: secrets, sensitive paths, ways out of a folder, shell syntax and control
//! characters (rules G2, G3, G8, S4). Judges text alone; a violation never repeats what it found.

use crate::contract::{Contract, Parameter, ValueType};
use crate::manifest::Guard;
use std::fmt;

/// A rule of the 98 that arguments are held to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Rule {
    /// No API keys or tokens.
    Secrets,
    /// No paths of files that hold secrets.
    SensitivePaths,
    /// No shell metacharacters.
    ShellMetacharacters,
    /// No `../` and no control characters.
    TraversalAndControl,
}

impl Rule {
    /// The rule's identifier: `G2`.
    pub const fn id(self) -> &'static str {
        match self {
            Rule::Secrets => "G2",
            Rule::SensitivePaths => "G3",
            Rule::ShellMetacharacters => "G8",
            Rule::TraversalAndControl => "S4",
        }
    }
}

/// An argument that breaks a rule.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct GuardViolation {
    /// The rule.
    pub rule: Rule,
    /// Which argument, from 0.
    pub index: usize,
    /// What it looks like. Never the argument itself, which may be a secret.
    pub what: &'static str,
}

impl fmt::Display for GuardViolation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "argument {} {} (rule {})", self.index + 1, self.what, self.rule.id())
    }
}

impl std::error::Error for GuardViolation {}

/// Judges the arguments of one invocation. `contract` and `command` say which parameter each argument is for, when they are
/// known; what is known to be prose is not judged as shell syntax, and with [`Guard::Text`] not as a path either. What is not
/// known may be prose, so [`Guard::Text`] judges it as a path only if it has no spaces, and never as shell syntax.
///
/// # Errors
/// The first argument that breaks a rule, and the rule.
pub fn check(
    arguments: &[String],
    policy: Guard,
    contract: Option<&Contract>,
    command: Option<&str>,
) -> Result<(), GuardViolation> {
    if policy == Guard::Off {
        return Ok(());
    }
    let roles = roles(arguments, contract, command);
    for (index, (argument, role)) in arguments.iter().zip(roles).enumerate() {
        let refuse = |rule, what| Err(GuardViolation { rule, index, what });
        if argument.chars().any(char::is_control) {
            return refuse(Rule::TraversalAndControl, "holds a control character");
        }
        if let Some(what) = secret(argument) {
            return refuse(Rule::Secrets, what);
        }
        let strict = policy == Guard::Strict;
        let as_path =
            strict || role == Role::Plain || (role == Role::Unknown && !argument.contains(char::is_whitespace));
        if as_path && leaves_folder(argument) {
            return refuse(Rule::TraversalAndControl, "leads out of a folder with ..");
        }
        if as_path && is_sensitive_path(argument) {
            return refuse(Rule::SensitivePaths, "names a file that usually holds secrets");
        }
        let as_shell = role == Role::Plain || (strict && role == Role::Unknown);
        if as_shell && has_shell_syntax(argument) {
            return refuse(Rule::ShellMetacharacters, "holds shell syntax");
        }
    }
    Ok(())
}

/// What is known about one argument.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Role {
    /// A command word, a flag, or the value of a parameter that is not prose.
    Plain,
    /// The value of a parameter that is prose.
    Prose,
    /// Nothing.
    Unknown,
}

fn roles(arguments: &[String], contract: Option<&Contract>, command: Option<&str>) -> Vec<Role> {
    let described = contract.zip(command).and_then(|(contract, name)| Some((contract, contract.command(name)?)));
    let Some((contract, command)) = described else { return vec![Role::Unknown; arguments.len()] };
    let parameters: Vec<&Parameter> = contract.parameters.iter().chain(&command.parameters).collect();
    let mut words = command.name.split(' ').peekable();
    let mut position = 0;
    let mut pending: Option<&Parameter> = None;
    let mut only_positional = false;
    let mut roles = Vec::with_capacity(arguments.len());
    for argument in arguments {
        let role = if let Some(parameter) = pending.take() {
            role_of(parameter)
        } else if words.peek() == Some(&argument.as_str()) {
            words.next();
            Role::Plain
        } else if argument == "--" && !only_positional {
            only_positional = true;
            Role::Plain
        } else if let Some(flag) = argument.strip_prefix("--").filter(|_| !only_positional) {
            let (name, value) = flag.split_once('=').map_or((flag, None), |(name, value)| (name, Some(value)));
            let found = parameters.iter().find(|parameter| parameter.position.is_none() && parameter.name == name);
            match (found, value) {
                (Some(parameter), None) => {
                    pending = Some(*parameter).filter(|parameter| parameter.takes_value());
                    Role::Plain
                }
                (Some(parameter), Some(_)) => role_of(parameter),
                (None, _) => Role::Unknown,
            }
        } else {
            let role = positional(&parameters, position).map_or(Role::Unknown, role_of);
            position += 1;
            role
        };
        roles.push(role);
    }
    roles
}

/// The parameter that the bare argument at `position` is for: the last one takes the rest, if it may be repeated.
fn positional<'p>(parameters: &[&'p Parameter], position: u32) -> Option<&'p Parameter> {
    let at = |wanted: u32| parameters.iter().find(|parameter| parameter.position == Some(wanted)).copied();
    let last =
        parameters.iter().filter(|parameter| parameter.position.is_some()).max_by_key(|parameter| parameter.position);
    at(position).or_else(|| last.copied().filter(|last| last.repeated && last.position < Some(position)))
}

fn role_of(parameter: &Parameter) -> Role {
    if parameter.free_text && parameter.value_type == ValueType::String { Role::Prose } else { Role::Plain }
}

/// The beginnings of well-known credentials, and how many more characters make one.
const SECRETS: [(&str, usize, &str); 19] = [
    ("sk-", 16, "looks like an API key"),
    ("sk_live_", 16, "looks like an API key"),
    ("sk_test_", 16, "looks like an API key"),
    ("rk_live_", 16, "looks like an API key"),
    ("pk-", 16, "looks like an API key"),
    ("pk_live_", 16, "looks like an API key"),
    ("AIza", 30, "looks like an API key"),
    ("ghp_", 16, "looks like a GitHub token"),
    ("gho_", 16, "looks like a GitHub token"),
    ("ghu_", 16, "looks like a GitHub token"),
    ("ghs_", 16, "looks like a GitHub token"),
    ("ghr_", 16, "looks like a GitHub token"),
    ("github_pat_", 16, "looks like a GitHub token"),
    ("glpat-", 16, "looks like a GitLab token"),
    ("xoxb-", 10, "looks like a Slack token"),
    ("xoxp-", 10, "looks like a Slack token"),
    ("AKIA", 16, "looks like an AWS access key"),
    ("ASIA", 16, "looks like an AWS access key"),
    ("eyJ", 16, "looks like a JSON web token"),
];

/// Whether the text holds what looks like a credential.
pub(crate) fn is_secret(text: &str) -> bool {
    secret(text).is_some()
}

fn secret(argument: &str) -> Option<&'static str> {
    if argument.contains("-----BEGIN ") && argument.contains("PRIVATE KEY") {
        return Some("holds a private key");
    }
    SECRETS.iter().find_map(|(prefix, length, what)| {
        let found = argument.match_indices(prefix).any(|(at, _)| {
            let starts_word = !argument.get(..at).unwrap_or_default().ends_with(|c: char| c.is_ascii_alphanumeric());
            let rest = argument.get(at + prefix.len()..).unwrap_or_default();
            let end = rest.find(|c: char| !c.is_ascii_alphanumeric() && c != '-' && c != '_').unwrap_or(rest.len());
            starts_word && is_token(rest.get(..end).unwrap_or_default(), *length)
        });
        found.then_some(*what)
    })
}

/// Whether the text is long enough and is no row of words: `sk-learn-classification-notes` is harmless.
fn is_token(text: &str, length: usize) -> bool {
    let dense = text.split(['-', '_']).any(|run| run.len() >= length);
    text.len() >= length && (dense || text.bytes().any(|b| b.is_ascii_digit()))
}

/// Whether a component of a path is `..`, written plainly or percent-encoded.
fn leaves_folder(argument: &str) -> bool {
    let decoded = argument.to_ascii_lowercase().replace("%2e", ".").replace("%2f", "/").replace("%5c", "\\");
    let bounded = |c: char| c.is_whitespace() || matches!(c, '/' | '\\' | '=' | ':' | ',' | ';' | '"' | '\'' | '(');
    decoded.match_indices("..").any(|(at, _)| {
        let before = decoded.get(..at).unwrap_or_default();
        let after = decoded.get(at + 2..).unwrap_or_default();
        let starts = before.is_empty() || before.ends_with(bounded);
        let whole = decoded == ".." || (after.is_empty() && before.ends_with(['/', '\\', '=']));
        starts && (whole || after.starts_with(['/', '\\']))
    })
}

fn is_sensitive_path(argument: &str) -> bool {
    const ENDINGS: [&str; 9] = [".env", ".key", ".pem", ".p12", ".pfx", ".ppk", ".jks", ".keystore", ".kdbx"];
    const FILES: [&str; 8] = ["id_rsa", "id_dsa", "id_ecdsa", "id_ed25519", ".netrc", ".npmrc", ".pypirc", ".htpasswd"];
    const FOLDERS: [&str; 3] = [".ssh", ".aws", ".gnupg"];
    let lower = argument.trim().to_lowercase();
    // `--file=x.pem` and `a.pem,b.pem` hold paths too.
    lower.split(['=', ',', ':']).any(|path| {
        let mut components = path.split(['/', '\\']).map(str::trim);
        let file = path.trim_end_matches(['/', '\\']).rsplit(['/', '\\']).next().unwrap_or_default().trim();
        let named =
            ENDINGS.iter().any(|ending| file.ends_with(ending)) || FILES.contains(&file) || file.starts_with(".env.");
        named || components.any(|component| FOLDERS.contains(&component)) || path == "/etc/shadow"
    })
}

fn has_shell_syntax(argument: &str) -> bool {
    argument.contains([';', '|', '`']) || argument.contains("&&") || argument.contains("$(") || argument.contains("${")
}

#[cfg(test)]
#[path = "guard_tests.rs"]
mod tests;

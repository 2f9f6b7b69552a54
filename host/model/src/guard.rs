//! Arguments that an agent should not pass: secrets, sensitive paths, ways out of a folder, shell syntax and control
//! characters (rules G2, G3, G8, S4). Judges text alone, by the tables of [`forms`]; a violation never repeats what it found.

mod credentials;
pub mod forms;

pub use credentials::{Credential, credentials};

use crate::contract::{Contract, Parameter, ValueType};
use crate::manifest::Guard;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use credentials::is_secret_name;
pub(crate) use credentials::{is_secret_value, names_secret, without};

/// A rule of the 98 that arguments are held to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
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
#[non_exhaustive]
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
    let (roles, switches) = (roles(arguments, contract, command), switches(contract, command));
    for (index, (argument, role)) in arguments.iter().zip(roles).enumerate() {
        let refuse = |rule, what| Err(GuardViolation { rule, index, what });
        if argument.chars().any(char::is_control) {
            return refuse(Rule::TraversalAndControl, "holds a control character");
        }
        if let Some(found) = credentials(argument).first() {
            return refuse(Rule::Secrets, found.what);
        }
        let named = index
            .checked_sub(1)
            .and_then(|before| arguments.get(before))
            .and_then(|flag| flag.strip_prefix("--"))
            .is_some_and(|flag| is_secret_name(flag) && !switches.contains(flag) && is_secret_value(flag, argument));
        // A word such as `-v` or `--verbose` is the next flag.
        let is_flag = argument.starts_with("--") || (argument.starts_with('-') && argument.chars().count() < 3);
        if named && !is_flag {
            return refuse(Rule::Secrets, "gives a secret by its name");
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

/// The flags that are declared to take no value: what follows one is something else.
fn switches<'c>(contract: Option<&'c Contract>, command: Option<&str>) -> BTreeSet<&'c str> {
    let Some(contract) = contract else { return BTreeSet::new() };
    let own = command.and_then(|name| contract.command(name)).map(|command| command.parameters.as_slice());
    let parameters = contract.parameters.iter().chain(own.unwrap_or_default());
    parameters.filter(|parameter| !parameter.takes_value()).map(|parameter| parameter.name.as_str()).collect()
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
    // By name and by place, so that no word is held against each of them.
    let (mut flags, mut places) = (BTreeMap::new(), BTreeMap::new());
    for parameter in contract.parameters.iter().chain(&command.parameters) {
        match parameter.position {
            Some(place) => places.entry(place).or_insert(parameter),
            None => flags.entry(parameter.name.as_str()).or_insert(parameter),
        };
    }
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
            match (flags.get(name).copied(), value) {
                (Some(parameter), None) => {
                    pending = Some(parameter).filter(|parameter| parameter.takes_value());
                    Role::Plain
                }
                (Some(parameter), Some(_)) => role_of(parameter),
                (None, _) => Role::Unknown,
            }
        } else {
            let role = positional(&places, position).map_or(Role::Unknown, role_of);
            position += 1;
            role
        };
        roles.push(role);
    }
    roles
}

/// The parameter that the bare argument at `position` is for: the last one takes the rest, if it may be repeated.
fn positional<'p>(places: &BTreeMap<u32, &'p Parameter>, position: u32) -> Option<&'p Parameter> {
    let last = places.last_key_value().filter(|(place, last)| last.repeated && **place < position);
    places.get(&position).or(last.map(|(_, last)| last)).copied()
}

fn role_of(parameter: &Parameter) -> Role {
    if parameter.free_text && parameter.value_type == ValueType::String { Role::Prose } else { Role::Plain }
}

/// Whether a component of a path is `..`, written plainly or percent-encoded.
fn leaves_folder(argument: &str) -> bool {
    let decoded = argument.to_ascii_lowercase().replace("%2e", ".").replace("%2f", "/").replace("%5c", "\\");
    let bounded =
        |c: char| c.is_whitespace() || matches!(c, '/' | '\\' | '=' | ':' | ',' | ';' | '@' | '"' | '\'' | '(');
    decoded.match_indices("..").any(|(at, _)| {
        let before = decoded.get(..at).unwrap_or_default();
        let after = decoded.get(at + 2..).unwrap_or_default();
        let starts = before.is_empty() || before.ends_with(bounded);
        let whole = decoded == ".." || (after.is_empty() && before.ends_with(['/', '\\', '=']));
        starts && (whole || after.starts_with(['/', '\\']))
    })
}

fn is_sensitive_path(argument: &str) -> bool {
    let lower = argument.trim().to_lowercase();
    // These are whole paths, so they are known among words too.
    if lower.split(|c: char| c.is_whitespace() || matches!(c, '"' | '\'')).any(is_system_file) {
        return true;
    }
    // `--file=x.pem` and `a.pem,b.pem` hold paths too.
    lower.split(['=', ',', ':', '@']).any(|path| {
        let mut components = path.split(['/', '\\']).map(str::trim);
        let file = path.trim_end_matches(['/', '\\']).rsplit(['/', '\\']).next().unwrap_or_default().trim();
        let named = forms::FILE_ENDINGS.iter().any(|ending| file.ends_with(ending))
            || forms::FILES.contains(&file)
            || file.starts_with(".env.");
        let named = named && !forms::HARMLESS_FILES.iter().any(|harmless| file.ends_with(harmless));
        named || components.any(|component| forms::FOLDERS.contains(&component)) || is_system_file(path)
    })
}

/// Whole paths, each part of which may be `*` in the table.
fn is_system_file(path: &str) -> bool {
    let matches = |known: &str| {
        let mut parts = path.split('/').filter(|part| !part.is_empty() && *part != ".");
        known.split('/').skip(1).all(|known| parts.next().is_some_and(|part| known == "*" || known == part))
            && parts.next().is_none()
    };
    path.starts_with('/') && forms::PATHS.iter().any(|known| matches(known))
}

fn has_shell_syntax(argument: &str) -> bool {
    forms::SHELL_SYNTAX.iter().any(|syntax| argument.contains(syntax))
}

#[cfg(test)]
#[path = "guard_tests.rs"]
mod tests;

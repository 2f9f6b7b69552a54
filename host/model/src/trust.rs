//! Whom to believe about packages: which sources need whose signature. One document, written by a person or by `hutch trust`. Knows
//! neither files nor cryptography: a key is its text, and whether a signature is good was found out before.

use crate::names::Slug;
use serde::de::{Error, MapAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

/// What stands before the slug of a package in the database that machines share.
pub const SHARED: &str = "store:";
/// What stands before the slug of a package that came with the program.
pub const RELEASED: &str = "release:";

/// The version of the document.
const VERSION: u32 = 1;
/// The most bytes of the document.
pub const POLICY_BYTES_MAX: u64 = 1 << 20;

/// How much is known about where a package comes from.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum Level {
    /// A folder or a file on this machine, as it is now.
    Local,
    /// Installed, and pinned to what was shown then; nobody vouches for it.
    Unsigned,
    /// Installed, and signed by a key that was named then.
    Signed,
    /// Installed, and signed by a key that the policy names.
    Trusted,
    /// And a key that the policy names says how it was built.
    Attested,
}

impl Level {
    /// All levels, the least first.
    pub const ALL: [Level; 5] = [Level::Local, Level::Unsigned, Level::Signed, Level::Trusted, Level::Attested];

    /// As printed.
    pub const fn text(self) -> &'static str {
        match self {
            Level::Local => "local",
            Level::Unsigned => "unsigned",
            Level::Signed => "signed",
            Level::Trusted => "trusted",
            Level::Attested => "attested",
        }
    }
}

/// What packages from some sources need.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Rule {
    /// The source, or with `*` behind a `/`, `store:` or `release:` all that begin so; `*` alone means every source.
    #[serde(rename = "match")]
    pub pattern: String,
    /// The least level.
    pub require: Level,
    /// The names of the keys that count here; all keys if there are none.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub signers: BTreeSet<String>,
}

impl Rule {
    /// Whether a source is meant.
    fn covers(&self, source: &str) -> bool {
        match self.pattern.strip_suffix('*') {
            Some(begin) => source.starts_with(begin),
            None => self.pattern == source,
        }
    }
}

/// The whole document.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Policy {
    version: u32,
    /// Public keys (PEM) and identities (`identity ISSUER SUBJECT`), by the names that rules call them.
    #[serde(default, deserialize_with = "each_once")]
    pub keys: BTreeMap<String, String>,
    /// The rules. Of those that mean a source the longest one counts.
    #[serde(default)]
    pub rules: Vec<Rule>,
}

/// A name that stands twice would mean one of two keys, and a reader may see the other one.
fn each_once<'de, D: Deserializer<'de>>(deserializer: D) -> Result<BTreeMap<String, String>, D::Error> {
    struct Keys;
    impl<'de> Visitor<'de> for Keys {
        type Value = BTreeMap<String, String>;

        fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
            formatter.write_str("keys by their names")
        }

        fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
            let mut keys = BTreeMap::new();
            while let Some((name, key)) = map.next_entry::<String, String>()? {
                if keys.contains_key(&name) {
                    return Err(A::Error::custom(format!("two keys are called {name:?}")));
                }
                keys.insert(name, key);
            }
            Ok(keys)
        }
    }
    deserializer.deserialize_map(Keys)
}

/// Nothing is needed, and nobody is known.
impl Default for Policy {
    fn default() -> Policy {
        Policy { version: VERSION, keys: BTreeMap::new(), rules: Vec::new() }
    }
}

/// What a policy says about a package.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Judged<'p> {
    /// What is known of it.
    pub level: Level,
    /// What it needs.
    pub required: Level,
    /// The rule that says so; none means that no rule does.
    pub rule: Option<&'p Rule>,
    /// What the policy calls its signer.
    pub signer: Option<&'p str>,
    /// What it calls who says how it was built.
    pub attester: Option<&'p str>,
}

impl Judged<'_> {
    /// Whether it may be run.
    pub fn is_allowed(&self) -> bool {
        self.level >= self.required
    }
}

/// A package, as a policy sees it.
#[derive(Clone, Copy, Debug)]
pub struct Subject<'s> {
    /// Where it comes from: `oci://HOST/REPOSITORY`, `oci-layout:DIR`, `store:SLUG`, `release:SLUG`, or an absolute path.
    pub source: &'s str,
    /// Whether it is pinned to what was shown.
    pub is_installed: bool,
    /// The key or identity whose signature was found good, as its text.
    pub signer: Option<&'s str>,
    /// The one that says how it was built.
    pub attester: Option<&'s str>,
}

impl Policy {
    /// Reads a document.
    ///
    /// # Errors
    /// What is wrong with it: a rule that is not understood would let through what it should stop.
    pub fn parse(text: &str) -> Result<Policy, String> {
        let policy: Policy = serde_json::from_str(text).map_err(|error| error.to_string())?;
        if policy.version != VERSION {
            return Err(format!("version: expected {VERSION}, found {}", policy.version));
        }
        let mut seen = BTreeSet::new();
        for rule in &policy.rules {
            check_pattern(&rule.pattern)?;
            if !rule.signers.is_empty() && rule.require < Level::Trusted {
                return Err(format!("the rule for {:?} names signers, and asks for none", rule.pattern));
            }
            if !seen.insert(&rule.pattern) {
                return Err(format!("two rules have the match {:?}", rule.pattern));
            }
            if let Some(name) = rule.signers.iter().find(|name| !policy.keys.contains_key(*name)) {
                return Err(format!("the rule for {:?} names the key {name:?}, which is not there", rule.pattern));
            }
        }
        Ok(policy)
    }

    /// The document's text: the same policy is the same bytes.
    pub fn text(&self) -> String {
        let mut sorted = self.clone();
        sorted.rules.sort_by(|a, b| a.pattern.cmp(&b.pattern));
        serde_json::to_string_pretty(&sorted).unwrap_or_default() + "\n"
    }

    /// The rule about a source.
    pub fn rule(&self, source: &str) -> Option<&Rule> {
        self.rules.iter().filter(|rule| rule.covers(source)).max_by_key(|rule| rule.narrowness(source))
    }

    /// What it says about a package.
    pub fn judge(&self, subject: Subject<'_>) -> Judged<'_> {
        let rule = self.rule(subject.source);
        let counts = |name: &str| rule.is_none_or(|rule| rule.signers.is_empty() || rule.signers.contains(name));
        let named = |signer: &str| self.keys.iter().find(|(name, key)| covers(key, signer) && counts(name));
        let signer = subject.signer.and_then(named).map(|(name, _)| name.as_str());
        let attester = subject.attester.and_then(named).map(|(name, _)| name.as_str());
        let level = match (subject.is_installed, subject.signer, signer) {
            (false, ..) => Level::Local,
            (true, None, _) => Level::Unsigned,
            (true, Some(_), None) => Level::Signed,
            (true, Some(_), Some(_)) if attester.is_some() => Level::Attested,
            (true, Some(_), Some(_)) => Level::Trusted,
        };
        Judged { level, required: rule.map_or(Level::Local, |rule| rule.require), rule, signer, attester }
    }

    /// The keys that count for a source, by name.
    pub fn keys_for(&self, source: &str) -> impl Iterator<Item = (&str, &str)> {
        let signers = self.rule(source).map(|rule| &rule.signers).filter(|signers| !signers.is_empty());
        let counts = move |name: &String| signers.is_none_or(|signers| signers.contains(name));
        self.keys.iter().filter(move |(name, _)| counts(name)).map(|(name, key)| (name.as_str(), key.as_str()))
    }

    /// Whether less is asked for in this policy than in `before`, of any source: then a person decides.
    pub fn is_looser_than(&self, before: &Policy) -> bool {
        // What is asked for changes only where a rule begins or ends, and there the rules of both say all.
        let patterns = self.rules.iter().chain(&before.rules).map(|rule| rule.pattern.as_str());
        let mut asked = patterns.chain(["*"]).map(|pattern| (before.asks(pattern), self.asks(pattern)));
        asked.any(|((was, whose), (is, now))| is < was || (was >= Level::Trusted && !now.is_subset(&whose)))
    }

    /// What is asked for where a rule with this pattern would stand, and whose keys count.
    fn asks(&self, pattern: &str) -> (Level, BTreeSet<&str>) {
        let begin = pattern.strip_suffix('*').unwrap_or(pattern);
        let covers = |rule: &&Rule| {
            rule.pattern == pattern || rule.pattern.strip_suffix('*').is_some_and(|outer| begin.starts_with(outer))
        };
        let rule = self.rules.iter().filter(covers).max_by_key(|rule| rule.narrowness(pattern));
        let names = match rule {
            Some(rule) if !rule.signers.is_empty() => rule.signers.iter().collect::<Vec<_>>(),
            _ => self.keys.keys().collect(),
        };
        let keys = names.into_iter().filter_map(|name| self.keys.get(name)).map(String::as_str).collect();
        (rule.map_or(Level::Local, |rule| rule.require), keys)
    }
}

impl Rule {
    /// The narrowest of the rules that cover a source counts: the one that names it, then the one that names most of it.
    fn narrowness(&self, source: &str) -> (bool, usize) {
        (self.pattern == source, self.pattern.trim_end_matches('*').len())
    }
}

/// What the text of an identity begins with. The issuer follows, a space, and the subject.
pub const IDENTITY: &str = "identity ";

/// Whether who is named by a text is, or is among, those whom a text in a policy names: an identity whose subject ends in `*` names all
/// that begin so.
pub fn covers(named: &str, signer: &str) -> bool {
    let begin = named.strip_suffix('*').filter(|begin| begin.starts_with(IDENTITY));
    named == signer || begin.is_some_and(|begin| signer.starts_with(begin))
}

/// A pattern means what a person sees in it: a `*` stands at the end, behind a `/`, `store:` or `release:`, or alone.
///
/// # Errors
/// It does not.
pub fn check_pattern(pattern: &str) -> Result<(), String> {
    let begin = pattern.strip_suffix('*').unwrap_or(pattern);
    let whole = pattern.len() == begin.len();
    // Whoever reads the rule reads it somewhere else.
    if pattern.strip_prefix("oci-layout:").is_some_and(|folder| !std::path::Path::new(folder).has_root()) {
        return Err(format!("match: expected a folder from the root, found {pattern:?}"));
    }
    // What no source begins with would silently mean nothing.
    let is_source = match begin.strip_prefix("oci://") {
        Some(rest) => {
            let (host, repository) = rest.split_once('/').unwrap_or((rest, ""));
            if repository.contains([':', '@']) {
                return Err(about_one_of(pattern));
            }
            host == host.to_ascii_lowercase() && (!whole || !rest.ends_with('/'))
        }
        None if begin.starts_with("oci-layout:") => {
            if whole && begin.rsplit('/').next().is_some_and(|last| last.contains([':', '@'])) {
                return Err(about_one_of(pattern));
            }
            true
        }
        None => match [SHARED, RELEASED].iter().find_map(|kind| begin.strip_prefix(*kind)) {
            Some(slug) => slug.is_empty() != whole && (slug.is_empty() || Slug::parse(slug).is_ok()),
            None => begin.is_empty() || std::path::Path::new(begin).has_root(),
        },
    };
    if !is_source {
        let sources = "oci://HOST/…, oci-layout:/…, store:SLUG, release:SLUG or a path from the root";
        return Err(format!("match: expected {sources}, found {pattern:?}"));
    }
    let ends = ["", SHARED, RELEASED].contains(&begin) || begin.ends_with('/');
    match begin.contains('*') || pattern.is_empty() || (!whole && !ends) {
        true => Err(format!("match: expected a source, or the begin of one up to a / and then *, found {pattern:?}")),
        false => Ok(()),
    }
}

fn about_one_of(pattern: &str) -> String {
    format!("match: a rule is about a repository, and not about one tag or digest of it, found {pattern:?}")
}

#[cfg(test)]
#[path = "trust_tests.rs"]
mod tests;

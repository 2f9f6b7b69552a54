//! What a package asks of its operator, as a set of short texts that can be shown, granted one by one and compared: `env:TOKEN`,
//! `mount:data`, `limit:memory_bytes=1073741824`. What stays inside the package's own sandbox is listed too, but free.

use crate::limits::Limit;
use crate::manifest::Manifest;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;

/// Everything that a package asks for.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Asks(BTreeSet<String>);

impl Asks {
    /// What a manifest asks for.
    pub fn of(manifest: &Manifest) -> Asks {
        let limits = manifest.limits().iter();
        let asks: BTreeSet<String> = manifest
            .volumes()
            .iter()
            .map(|path| format!("state:{path}"))
            .chain(manifest.resources().iter().map(|path| format!("resource:{path}")))
            .chain(manifest.mounts().iter().map(|path| format!("mount:{path}")))
            .chain(manifest.environment().iter().map(|name| format!("env:{name}")))
            .chain(limits.map(|(limit, value)| format!("limit:{}={value}", limit.name())))
            .collect();
        Asks(asks)
    }

    /// Each of them, sorted.
    pub fn iter(&self) -> impl Iterator<Item = &str> {
        self.0.iter().map(String::as_str)
    }

    /// Those that need a grant which `before` does not hold: everything but state and resources of its own and limits that are
    /// no higher than the host's default, or than what was granted before.
    pub fn beyond(&self, before: &Asks) -> Vec<&str> {
        self.iter().filter(|ask| !is_free(ask) && !before.0.contains(*ask) && !before.covers(ask)).collect()
    }

    /// Whether a higher limit of the same name was granted.
    fn covers(&self, ask: &str) -> bool {
        let Some((limit, wanted)) = as_limit(ask) else { return false };
        self.iter().filter_map(as_limit).any(|(granted, value)| granted == limit && value >= wanted)
    }
}

fn as_limit(ask: &str) -> Option<(Limit, u64)> {
    let (name, value) = ask.strip_prefix("limit:")?.split_once('=')?;
    Some((Limit::from_name(name)?, value.parse().ok()?))
}

fn is_free(ask: &str) -> bool {
    match as_limit(ask) {
        Some((limit, value)) => value <= limit.info().default,
        None => ask.starts_with("state:") || ask.starts_with("resource:"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asks(texts: &[&str]) -> Asks {
        Asks(texts.iter().map(|text| (*text).to_owned()).collect())
    }

    #[test]
    fn only_what_leaves_the_sandbox_or_costs_more_needs_a_grant() {
        let fuel = Limit::Fuel.info().default;
        let (more, most) = (format!("limit:fuel={}", fuel + 1), format!("limit:fuel={}", fuel + 2));
        let same = format!("limit:fuel={fuel}");
        let wanted = asks(&["state:state", "resource:data", "env:TOKEN", "mount:in", &more]);
        assert_eq!(wanted.beyond(&Asks::default()), ["env:TOKEN", &more, "mount:in"]);
        assert!(wanted.beyond(&wanted).is_empty());
        assert!(asks(&[&same]).beyond(&Asks::default()).is_empty());
        assert!(asks(&[&more]).beyond(&asks(&[&most])).is_empty());
        assert_eq!(asks(&[&most]).beyond(&asks(&[&more])), [most.as_str()]);
        assert_eq!(asks(&["limit:nonsense=1"]).beyond(&Asks::default()), ["limit:nonsense=1"]);
    }
}

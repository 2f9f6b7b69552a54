//! What a package asks of its operator, as a set of short texts that can be shown, granted one by one and compared: `env:TOKEN`,
//! `mount:data`, `limit:memory_bytes=1073741824`, `guard:text`. What stays inside the package's own sandbox is listed too, but free.

use crate::limits::Limit;
use crate::manifest::{Guard, Manifest};
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;

/// That prose in arguments is not looked at as paths.
const LOOSER_GUARD: &str = "guard:text";

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
            .chain((manifest.guard() != Guard::Strict).then(|| LOOSER_GUARD.to_owned()))
            .collect();
        Asks(asks)
    }

    /// Each of them, sorted.
    pub fn iter(&self) -> impl Iterator<Item = &str> {
        self.0.iter().map(String::as_str)
    }

    /// Those that need a grant which the version before does not hold: everything but state and resources of its own, time to compile,
    /// and limits that are no higher than the host's default, or than what was granted before. A looser guard opens nothing outside of the sandbox, so
    /// it is shown and free where nothing was promised yet; a package that had the strict one doesn't lose it unasked.
    pub fn beyond(&self, before: Option<&Asks>) -> Vec<&str> {
        let needed = |ask: &&str| match before {
            None => !is_free(ask) && *ask != LOOSER_GUARD,
            Some(before) => !is_free(ask) && !before.0.contains(*ask) && !before.covers(ask),
        };
        self.iter().filter(needed).collect()
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
        // It is spent once, up to the ceiling, and by the compiler: the guest gets nothing of it.
        Some((Limit::CompileTime, _)) => true,
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
        for before in [None, Some(&Asks::default())] {
            assert_eq!(wanted.beyond(before), ["env:TOKEN", &more, "mount:in"]);
            assert!(asks(&[&same]).beyond(before).is_empty());
            assert_eq!(asks(&["limit:nonsense=1"]).beyond(before), ["limit:nonsense=1"]);
        }
        assert!(wanted.beyond(Some(&wanted)).is_empty());
        assert!(asks(&[&more]).beyond(Some(&asks(&[&most]))).is_empty());
        assert_eq!(asks(&[&most]).beyond(Some(&asks(&[&more]))), [most.as_str()]);
    }

    #[test]
    fn time_to_compile_is_shown_and_free() {
        let longest = format!("limit:compile_time_ms={}", Limit::CompileTime.info().ceiling);
        let (wanted, run) = (asks(&[&longest]), asks(&["limit:wall_time_ms=3600000"]));
        assert_eq!(wanted.iter().collect::<Vec<_>>(), [longest.as_str()]);
        for before in [None, Some(&Asks::default())] {
            assert!(wanted.beyond(before).is_empty());
            assert_eq!(run.beyond(before), ["limit:wall_time_ms=3600000"]);
        }
    }

    #[test]
    fn a_looser_guard_is_an_ask_and_is_not_had_unasked_by_what_was_installed_without() {
        let front = |guard: &str| {
            format!(
                "---\nschema: agentapplications/v1\nkind: app\nslug: a\nname: A\ndescription: d\nversion: 0.1.0\nlicense: MIT\n\
                 authors: [a]\ntags: [t]\nentry:\n  command: wasm:app.wasm\ncommands: [a]\nskills: []\n\
                 metadata:\n  hutch:\n    state: [state]\n{guard}---\nbody\n"
            )
        };
        let of = |guard: &str| Asks::of(&crate::manifest::parse(&front(guard), "APP.md").0.unwrap());
        let (strict, text) = (of("    guard: strict\n"), of("    guard: text\n"));
        assert_eq!(of(""), strict);
        assert_eq!(
            (strict, text.iter().collect::<Vec<_>>()),
            (asks(&["state:state"]), vec!["guard:text", "state:state"])
        );
        assert_eq!(text.beyond(Some(&of(""))), ["guard:text"]);
        assert!(text.beyond(None).is_empty() && text.beyond(Some(&text)).is_empty());
    }
}

//! What is known of the engine's version, as of the day on which somebody looked last. It is part of the program: nobody is asked, so it says
//! when that day is long ago.

use crate::answers::DoctorCheck;
use crate::machine::health::check;
use hutch_model::instant::Instant;
use semver::{Version, VersionReq};
use serde::Deserialize;

/// Where the engine's makers tell what they know.
const ADVISORIES: &str = "https://github.com/bytecodealliance/wasmtime/security/advisories";
/// How many days after somebody looked it is good for.
const GOOD_DAYS: u64 = 14;
const DAY_NS: u64 = 24 * 60 * 60 * 1_000_000_000;

/// What was found, and when.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct Known {
    /// The day.
    looked: String,
    advisories: Vec<Advisory>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Advisory {
    id: String,
    /// What can happen.
    what: String,
    /// Of which versions, as far as that is known.
    versions: Vec<String>,
    /// Whether it may happen to what runs here.
    may_reach: bool,
    /// Why it may, or can't.
    because: String,
}

impl Known {
    /// What the file says, which a test holds to its form.
    fn read() -> Known {
        serde_json::from_str(include_str!("advisories.json")).unwrap_or_default()
    }

    /// How many days ago somebody looked. None if nobody knows when.
    fn age_days(&self, now: Instant) -> Option<u64> {
        let looked: Instant = format!("{}T00:00:00Z", self.looked).parse().ok()?;
        Some((now.unix_ns() / DAY_NS).saturating_sub(looked.unix_ns() / DAY_NS))
    }

    /// Those about a version: what may reach what runs here, and what can't.
    fn about(&self, version: &Version) -> (Vec<&Advisory>, Vec<&Advisory>) {
        let is_of = |one: &String| VersionReq::parse(one).is_ok_and(|versions| versions.matches(version));
        let about = self.advisories.iter().filter(|one| one.versions.iter().any(is_of));
        about.partition(|one| one.may_reach)
    }
}

/// The engine's version, which its profile begins with.
fn version() -> &'static str {
    hutch_sandbox::profile().split('-').nth(1).unwrap_or_default()
}

/// What is known of the engine, as a row of `doctor` that is asked for now.
pub(crate) fn engine(now: Instant) -> DoctorCheck {
    let Ok(version) = Version::parse(version()) else {
        return check("engine", "bad", "its version can't be read".to_owned(), Some("build hutch again"));
    };
    row(&Known::read(), &version, now)
}

fn row(known: &Known, version: &Version, now: Instant) -> DoctorCheck {
    let (open, others) = known.about(version);
    let mut found = format!("wasmtime {version}, by what was known on {}: ", known.looked);
    match open.is_empty() {
        true => found.push_str("nothing that may reach what runs here"),
        false => {
            let told = |one: &&Advisory| format!("{} may reach what runs here ({}: {})", one.id, one.what, one.because);
            found.push_str(&open.iter().map(told).collect::<Vec<_>>().join("; "));
        }
    }
    if !others.is_empty() {
        let ids: Vec<&str> = others.iter().map(|one| one.id.as_str()).collect();
        found.push_str(&format!("; out of its reach: {}", ids.join(", ")));
    }
    let mut mends = Vec::new();
    if !open.is_empty() {
        mends.push("use a hutch of a later wasmtime, once there is one; see SECURITY.md".to_owned());
    }
    if known.age_days(now).is_none_or(|days| days > GOOD_DAYS) {
        found.push_str(&format!("; that is more than {GOOD_DAYS} days ago"));
        mends.push(format!("use a newer hutch, or look at {ADVISORIES} for what became known of wasmtime {version}"));
    }
    match mends.is_empty() {
        true => check("engine", "ok", found, None),
        false => check("engine", "warn", found, Some(&mends.join("; "))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// SECURITY.md's table says the same, row by row, and of the version that is used.
    #[test]
    fn the_page_and_the_program_know_the_same() {
        let (known, page) = (Known::read(), include_str!("../../../../SECURITY.md"));
        assert!(known.advisories.len() > 5, "{known:?}");
        let named = format!("wasmtime {}, looked at on {}", version(), known.looked);
        assert!(page.contains(&named), "SECURITY.md does not say: {named}");
        for Advisory { id, what, versions, may_reach, because } in &known.advisories {
            let here = if *may_reach { "it may" } else { "it can't" };
            let versions: Vec<String> = versions.iter().map(|one| format!("`{one}`")).collect();
            let row = format!("| {id} | {what} | {} | {here}: {because} |", versions.join(" "));
            assert!(page.lines().any(|line| line == row), "SECURITY.md has no row: {row}");
        }
        let rows = page.lines().filter(|line| line.starts_with("| GHSA-") || line.starts_with("| RUSTSEC-"));
        assert_eq!(rows.count(), known.advisories.len(), "SECURITY.md has a row more");
    }

    /// So many days after somebody looked, just before midnight.
    fn days_after(known: &Known, days: u64) -> Instant {
        let looked: Instant = format!("{}T23:59:59Z", known.looked).parse().unwrap();
        Instant::from_unix_ns(looked.unix_ns() + days * DAY_NS)
    }

    #[test]
    fn what_nobody_looked_at_for_two_weeks_is_not_called_good() {
        let known = Known::read();
        let row = |days: u64| row(&known, &Version::new(51, 0, 0), days_after(&known, days));
        assert_eq!([0, 1, 14, 15, 400].map(|days| row(days).status), ["ok", "ok", "ok", "warn", "warn"]);
        let old = row(15);
        assert!(old.found.contains("more than 14 days ago") && old.fix.unwrap().contains(ADVISORIES), "{}", old.found);
        // A clock that is wrong, and a list that nobody can read.
        assert_eq!(super::row(&known, &Version::new(51, 0, 0), Instant::from_unix_ns(0)).status, "ok");
        let unread = super::row(&Known::default(), &Version::new(51, 0, 0), days_after(&known, 0));
        assert_eq!(unread.status, "warn", "{}", unread.found);
    }

    #[test]
    fn a_version_is_told_what_is_known_of_it_and_no_more() {
        let known = Known::read();
        let all = known.advisories.iter().flat_map(|one| &one.versions);
        all.for_each(|one| drop(VersionReq::parse(one).unwrap()));
        let row = |version: &str| row(&known, &Version::parse(version).unwrap(), days_after(&known, 0));
        let old = row("48.0.8");
        assert_eq!((old.status, old.fix.is_some()), ("warn", true));
        for told in ["wasmtime 48.0.8", known.looked.as_str(), "GHSA-43j2-gcp4-m22g may reach", "RUSTSEC-2026-0570"] {
            assert!(old.found.contains(told), "{told}: {}", old.found);
        }
        let mended = row("48.0.9");
        assert_eq!((mended.status, mended.fix.is_some()), ("ok", false));
        assert!(!mended.found.contains("GHSA-43j2") && mended.found.contains("GHSA-f2pq"), "{}", mended.found);
        assert!(!row("51.0.0").found.contains("GHSA-"), "{}", row("51.0.0").found);
    }
}

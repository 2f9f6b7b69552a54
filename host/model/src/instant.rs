//! Points in time as numbers and as text. Reads no clock.

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::fmt;
use std::str::FromStr;
use time::OffsetDateTime;
use time::format_description::well_known::Rfc3339;

/// Nanoseconds since 1970-01-01T00:00:00Z, until the year 2554. Text is RFC 3339, written in UTC.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct Instant(u64);

impl Instant {
    /// The point `ns` nanoseconds after 1970-01-01T00:00:00Z.
    pub const fn from_unix_ns(ns: u64) -> Instant {
        Instant(ns)
    }

    /// Nanoseconds since 1970-01-01T00:00:00Z.
    pub const fn unix_ns(self) -> u64 {
        self.0
    }
}

impl fmt::Display for Instant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let moment = OffsetDateTime::from_unix_timestamp_nanos(i128::from(self.0)).map_err(|_| fmt::Error)?;
        f.write_str(&moment.format(&Rfc3339).map_err(|_| fmt::Error)?)
    }
}

/// The text is no instant between 1970 and 2554.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is not an instant: expected RFC 3339 between 1970 and 2554, as 2026-04-01T09:00:00Z")]
pub struct NotAnInstant(String);

impl FromStr for Instant {
    type Err = NotAnInstant;

    fn from_str(text: &str) -> Result<Instant, NotAnInstant> {
        let refused = || NotAnInstant(text.chars().take(80).collect());
        // A day alone is none.
        let moment = moment(text).filter(|_| text.len() > "2026-04-05".len()).ok_or_else(refused)?;
        u64::try_from(moment.unix_timestamp_nanos()).map(Instant).map_err(|_| refused())
    }
}

/// When a date or an instant is; a day counts as its first moment in UTC. Of the spellings that RFC 3339 allows, the one that all
/// readers know: `T` and `Z` in capitals, no leap second, at most nine digits behind the second, in the years 0001 to 9999 of UTC.
pub(crate) fn moment(text: &str) -> Option<OffsetDateTime> {
    let (_, rest) = text.split_at_checked("2026-04-05".len())?;
    let whole = if rest.is_empty() { format!("{text}T00:00:00Z") } else { text.to_owned() };
    let (_, rest) = whole.split_once('T')?;
    let (clock, zone) = rest.split_at_checked("09:30:00".len())?;
    let digits = zone.trim_start_matches('.').bytes().take_while(u8::is_ascii_digit).count();
    if clock.ends_with(":60") || digits > 9 || zone.ends_with('z') {
        return None;
    }
    let moment = OffsetDateTime::parse(&whole, &Rfc3339).ok()?;
    (FIRST_SECOND..=LAST_SECOND).contains(&moment.unix_timestamp()).then_some(moment)
}

/// 0001-01-01T00:00:00Z.
const FIRST_SECOND: i64 = -62_135_596_800;
/// 9999-12-31T23:59:59Z.
const LAST_SECOND: i64 = 253_402_300_799;

impl Serialize for Instant {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Instant {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Instant, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(serde::de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_read_in_any_zone_and_written_in_utc() {
        let cases = [
            ("1970-01-01T00:00:00Z", Some("1970-01-01T00:00:00Z")),
            ("2026-04-01T11:00:00.5+02:00", Some("2026-04-01T09:00:00.5Z")),
            ("2024-02-29T00:00:00Z", Some("2024-02-29T00:00:00Z")),
            ("2023-02-29T00:00:00Z", None),
            ("1969-12-31T23:59:59Z", None),
            ("9999-01-01T00:00:00Z", None),
            ("2026-04-01", None),
            ("2026-04-01_09:00:00Z", None),
            ("2026-04-01t09:00:00Z", None),
            ("2026-04-01T09:00:00z", None),
            ("2026-04-01T09:00:60Z", None),
            ("2026-04-01T09:00:00.0123456789Z", None),
            ("2026-04-01T09:00:00.123456789Z", Some("2026-04-01T09:00:00.123456789Z")),
            ("now", None),
        ];
        for (text, expect) in cases {
            assert_eq!(text.parse::<Instant>().ok().map(|at| at.to_string()).as_deref(), expect, "{text}");
        }
        assert_eq!(Instant::from_unix_ns(u64::MAX).to_string().parse(), Ok(Instant(u64::MAX)));
    }
}

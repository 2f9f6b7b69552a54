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
        let moment = OffsetDateTime::parse(text, &Rfc3339).map_err(|_| refused())?;
        u64::try_from(moment.unix_timestamp_nanos()).map(Instant).map_err(|_| refused())
    }
}

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
            ("now", None),
        ];
        for (text, expect) in cases {
            assert_eq!(text.parse::<Instant>().ok().map(|at| at.to_string()).as_deref(), expect, "{text}");
        }
        assert_eq!(Instant::from_unix_ns(u64::MAX).to_string().parse(), Ok(Instant(u64::MAX)));
    }
}

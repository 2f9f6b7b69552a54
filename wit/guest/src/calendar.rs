//! Days and moments of the proleptic Gregorian calendar, read strictly, written in one form.
//!
//! A day is RFC 3339 `full-date`; a moment is RFC 3339 `date-time`, kept in UTC to the millisecond. Years 0001 to 9999.
//! Reads no clock.

use std::fmt;

const MS_PER_SECOND: i64 = 1000;
const MS_PER_MINUTE: i64 = 60 * MS_PER_SECOND;
const MS_PER_HOUR: i64 = 60 * MS_PER_MINUTE;
const MS_PER_DAY: i64 = 24 * MS_PER_HOUR;

/// Why a text is not a day or a moment: what was expected, to follow "expected".
pub type Expected = &'static str;

/// A calendar day.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub struct Date {
    year: u16,
    month: u8,
    day: u8,
}

/// A moment, UTC, to the millisecond.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub struct Instant {
    /// Milliseconds since 1970-01-01T00:00:00Z, within the years 0001 to 9999.
    epoch_ms: i64,
}

/// When something is due: on a day or at a moment.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Due {
    /// Some time on that day.
    Date(Date),
    /// At that moment.
    Instant(Instant),
}

impl Date {
    /// Reads `YYYY-MM-DD`.
    ///
    /// # Errors
    /// What was expected, if the text has another form or names a day that does not exist.
    pub fn parse(text: &str) -> Result<Self, Expected> {
        const FORM: Expected = "a date YYYY-MM-DD, such as 2026-04-05";
        let &[y0, y1, y2, y3, b'-', m0, m1, b'-', d0, d1] = text.as_bytes() else {
            return Err(FORM);
        };
        let year = digits(&[y0, y1, y2, y3]).ok_or(FORM)?;
        let month = digits(&[m0, m1]).ok_or(FORM)?;
        let day = digits(&[d0, d1]).ok_or(FORM)?;
        Self::new(year, month, day).ok_or("a day that exists, in the years 0001 to 9999")
    }

    fn new(year: u32, month: u32, day: u32) -> Option<Self> {
        let leap = year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400));
        let days_in_month = match month {
            1 | 3 | 5 | 7 | 8 | 10 | 12 => 31,
            4 | 6 | 9 | 11 => 30,
            2 if leap => 29,
            2 => 28,
            _ => return None,
        };
        if !(1..=9999).contains(&year) || !(1..=days_in_month).contains(&day) {
            return None;
        }
        Some(Self { year: u16::try_from(year).ok()?, month: u8::try_from(month).ok()?, day: u8::try_from(day).ok()? })
    }

    /// The first moment of the day, in UTC.
    #[must_use]
    pub fn start(self) -> Instant {
        // Counted from 1 March of year 0, so that the leap day is the last of its year.
        let month_from_march = (i64::from(self.month) + 9) % 12;
        let year = i64::from(self.year) - i64::from(self.month < 3);
        let leap_days = year / 4 - year / 100 + year / 400;
        let days = year * 365 + leap_days + (month_from_march * 153 + 2) / 5 + i64::from(self.day) - 1;
        Instant { epoch_ms: (days - DAYS_FROM_MARCH_0000_TO_1970) * MS_PER_DAY }
    }
}

/// From 0000-03-01 to 1970-01-01.
const DAYS_FROM_MARCH_0000_TO_1970: i64 = 719_468;
/// In any 400 years.
const DAYS_PER_ERA: i64 = 146_097;

impl fmt::Display for Date {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:04}-{:02}-{:02}", self.year, self.month, self.day)
    }
}

impl Instant {
    /// 0001-01-01T00:00:00.000Z.
    pub const MIN: Self = Self { epoch_ms: -62_135_596_800_000 };
    /// 9999-12-31T23:59:59.999Z.
    pub const MAX: Self = Self { epoch_ms: 253_402_300_799_999 };

    /// The moment that many milliseconds after 1970-01-01T00:00:00Z; `None` outside the years 0001 to 9999.
    #[must_use]
    pub fn from_epoch_ms(epoch_ms: i64) -> Option<Self> {
        (Self::MIN.epoch_ms..=Self::MAX.epoch_ms).contains(&epoch_ms).then_some(Self { epoch_ms })
    }

    /// Reads `YYYY-MM-DDTHH:MM:SS`, then optionally `.` and one to nine digits, then `Z` or `+HH:MM` or `-HH:MM`.
    /// Digits after the millisecond are cut off.
    ///
    /// # Errors
    /// What was expected, if the text has another form or names a moment that does not exist. Leap seconds (`:60`) and
    /// moments that fall outside the years 0001 to 9999 in UTC are refused.
    pub fn parse(text: &str) -> Result<Self, Expected> {
        const FORM: Expected =
            "an instant with an offset, such as 2026-04-01T09:30:00Z or 2026-04-01T11:30:00.000+02:00";
        const CLOCK: Expected = "a time of day from 00:00:00 to 23:59:59";
        let (date, rest) = text.split_at_checked(10).ok_or(FORM)?;
        let date = Date::parse(date)?;
        let &[b'T', h0, h1, b':', m0, m1, b':', s0, s1, ref rest @ ..] = rest.as_bytes() else {
            return Err(FORM);
        };
        let hour = digits(&[h0, h1]).ok_or(FORM)?;
        let minute = digits(&[m0, m1]).ok_or(FORM)?;
        let second = digits(&[s0, s1]).ok_or(FORM)?;
        if hour > 23 || minute > 59 || second > 59 {
            return Err(CLOCK);
        }
        let (fraction_ms, offset) = fraction(rest).ok_or(FORM)?;
        let offset_minutes = match *offset {
            [b'Z'] => 0,
            [sign @ (b'+' | b'-'), h0, h1, b':', m0, m1] => {
                let hours = digits(&[h0, h1]).ok_or(FORM)?;
                let minutes = digits(&[m0, m1]).ok_or(FORM)?;
                if hours > 23 || minutes > 59 {
                    return Err("an offset from -23:59 to +23:59");
                }
                let size = i64::from(hours * 60 + minutes);
                if sign == b'-' { -size } else { size }
            }
            _ => return Err(FORM),
        };
        let time_ms =
            i64::from(hour) * MS_PER_HOUR + i64::from(minute) * MS_PER_MINUTE + i64::from(second) * MS_PER_SECOND;
        let epoch_ms = date.start().epoch_ms + time_ms + i64::from(fraction_ms) - offset_minutes * MS_PER_MINUTE;
        Self::from_epoch_ms(epoch_ms).ok_or("an instant in the years 0001 to 9999, in UTC")
    }

    /// The day it falls on, in UTC.
    #[must_use]
    pub fn date(self) -> Date {
        let days = self.epoch_ms.div_euclid(MS_PER_DAY) + DAYS_FROM_MARCH_0000_TO_1970;
        let era = days.div_euclid(DAYS_PER_ERA);
        let day_of_era = days.rem_euclid(DAYS_PER_ERA);
        let year_of_era =
            (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / (DAYS_PER_ERA - 1)) / 365;
        let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
        let month_from_march = (5 * day_of_year + 2) / 153;
        let month = if month_from_march < 10 { month_from_march + 3 } else { month_from_march - 9 };
        let year = era * 400 + year_of_era + i64::from(month < 3);
        let day = day_of_year - (153 * month_from_march + 2) / 5 + 1;
        // Within the bounds of `Instant` each fits by far.
        Date { year: year as u16, month: month as u8, day: day as u8 }
    }
}

impl fmt::Display for Instant {
    /// `2026-04-01T00:00:00.000Z`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ms = self.epoch_ms.rem_euclid(MS_PER_DAY);
        write!(
            f,
            "{}T{:02}:{:02}:{:02}.{:03}Z",
            self.date(),
            ms / MS_PER_HOUR,
            ms / MS_PER_MINUTE % 60,
            ms / MS_PER_SECOND % 60,
            ms % MS_PER_SECOND
        )
    }
}

impl Due {
    /// Reads a day or a moment, told apart by length.
    ///
    /// # Errors
    /// What was expected.
    pub fn parse(text: &str) -> Result<Self, Expected> {
        if text.len() > 10 {
            Instant::parse(text).map(Self::Instant)
        } else {
            Date::parse(text).map(Self::Date).map_err(|expected| match text.len() {
                10 => expected,
                _ => "a date such as 2026-04-05 or an instant such as 2026-04-01T09:30:00Z",
            })
        }
    }

    /// The moment it stands for where days and moments are compared: a day stands for its first moment, in UTC.
    #[must_use]
    pub fn start(self) -> Instant {
        match self {
            Self::Date(date) => date.start(),
            Self::Instant(instant) => instant,
        }
    }
}

impl fmt::Display for Due {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Date(date) => date.fmt(f),
            Self::Instant(instant) => instant.fmt(f),
        }
    }
}

/// The number that ASCII digits make, and nothing else (no sign, no space).
fn digits(bytes: &[u8]) -> Option<u32> {
    bytes.iter().try_fold(0_u32, |number, byte| {
        byte.is_ascii_digit().then(|| number.checked_mul(10)?.checked_add(u32::from(byte - b'0')))?
    })
}

/// Splits an optional fraction of a second off: its milliseconds, and what follows it.
fn fraction(rest: &[u8]) -> Option<(u32, &[u8])> {
    let [b'.', rest @ ..] = rest else {
        return Some((0, rest));
    };
    let length = rest.iter().take_while(|byte| byte.is_ascii_digit()).count();
    let (fraction, offset) = rest.split_at_checked(length)?;
    if !(1..=9).contains(&length) {
        return None;
    }
    let digit = |place: usize| fraction.get(place).map_or(0, |byte| u32::from(byte - b'0'));
    Some((digit(0) * 100 + digit(1) * 10 + digit(2), offset))
}

crate::json_text!(Date);
crate::json_text!(Instant);
crate::json_text!(Due);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn days_that_exist() {
        for text in [
            "0001-01-01",
            "0004-02-29",
            "1582-10-10",
            "1600-02-29",
            "1969-12-31",
            "1970-01-01",
            "2000-02-29",
            "2024-02-29",
            "2026-04-30",
            "9999-12-31",
        ] {
            let date = Date::parse(text).unwrap_or_else(|expected| panic!("{text}: expected {expected}"));
            assert_eq!(date.to_string(), text);
            assert_eq!(date.start().date(), date, "{text} survives the way through milliseconds");
        }
    }

    #[test]
    fn days_that_do_not() {
        for text in [
            "",
            "2026",
            "2026-4-5",
            "26-04-05",
            "2026/04/05",
            "2026-04-05 ",
            " 2026-04-05",
            "2026-04-00",
            "2026-00-05",
            "2026-13-01",
            "2026-04-31",
            "2026-06-31",
            "2026-09-31",
            "2026-11-31",
            "2026-02-29",
            "1900-02-29",
            "2100-02-29",
            "0000-01-01",
            "+026-04-05",
            "-026-04-05",
            "2026-+4-05",
            "20260405",
            "2026-04-05Z",
            "2026-04-0\u{661}",
            "tomorrow",
            "2026-W14-7",
        ] {
            assert!(Date::parse(text).is_err(), "{text:?}");
        }
    }

    #[test]
    fn every_day_of_nine_centuries_follows_the_one_before() {
        let mut before = Date::parse("1599-12-31").unwrap().start();
        let mut days = 0;
        while before.date() < Date::parse("2499-12-31").unwrap() {
            let next = Instant::from_epoch_ms(before.epoch_ms + MS_PER_DAY).unwrap();
            assert!(next.date() > before.date(), "{} then {}", before.date(), next.date());
            assert_eq!(next.date().start(), next);
            assert_eq!(Date::parse(&next.date().to_string()), Ok(next.date()));
            before = next;
            days += 1;
        }
        assert_eq!(days, 900 * 365 + 219, "219 leap days: 225 fourth years less 1700, 1800, 1900, 2100, 2200, 2300");
    }

    #[test]
    fn moments_in_one_form() {
        for (text, utc) in [
            ("1970-01-01T00:00:00Z", "1970-01-01T00:00:00.000Z"),
            ("1969-12-31T23:59:59.999Z", "1969-12-31T23:59:59.999Z"),
            ("2026-04-01T09:30:00.5Z", "2026-04-01T09:30:00.500Z"),
            ("2026-04-01T09:30:00.123456789Z", "2026-04-01T09:30:00.123Z"),
            ("2026-04-01T00:30:00+01:00", "2026-03-31T23:30:00.000Z"),
            ("2024-02-29T23:30:00-00:45", "2024-03-01T00:15:00.000Z"),
            ("2026-01-01T00:00:00+23:59", "2025-12-31T00:01:00.000Z"),
            ("2026-04-01T09:30:00-00:00", "2026-04-01T09:30:00.000Z"),
            ("9999-12-31T23:59:59.999Z", "9999-12-31T23:59:59.999Z"),
            ("0001-01-01T00:00:00Z", "0001-01-01T00:00:00.000Z"),
        ] {
            let instant = Instant::parse(text).unwrap_or_else(|expected| panic!("{text}: expected {expected}"));
            assert_eq!(instant.to_string(), utc, "{text}");
            assert_eq!(Instant::parse(utc), Ok(instant), "{utc} reads back");
        }
    }

    #[test]
    fn moments_that_are_not() {
        for text in [
            "2026-04-01",
            "2026-04-01T09:30:00",
            "2026-04-01T09:30Z",
            "2026-04-01 09:30:00Z",
            "2026-04-01t09:30:00z",
            "2026-04-01T24:00:00Z",
            "2026-04-01T09:60:00Z",
            "2026-04-01T23:59:60Z",
            "2026-02-29T00:00:00Z",
            "2026-04-01T09:30:00.Z",
            "2026-04-01T09:30:00.1234567890Z",
            "2026-04-01T09:30:00,5Z",
            "2026-04-01T09:30:00+0100",
            "2026-04-01T09:30:00+01",
            "2026-04-01T09:30:00+24:00",
            "2026-04-01T09:30:00+01:60",
            "2026-04-01T09:30:00 Z",
            "2026-04-01T09:30:00ZZ",
            "2026-04-01T+9:30:00Z",
            "0001-01-01T00:00:00+00:01",
            "9999-12-31T23:59:59-00:01",
            "2026-04-0\u{661}T09:30:00Z",
            "1775000000",
        ] {
            assert!(Instant::parse(text).is_err(), "{text:?}");
        }
    }

    #[test]
    fn the_bounds_of_instants_are_where_the_calendar_puts_them() {
        assert_eq!(Instant::MIN, Date::parse("0001-01-01").unwrap().start());
        assert_eq!(Instant::MAX.epoch_ms + 1 - MS_PER_DAY, Date::parse("9999-12-31").unwrap().start().epoch_ms);
        assert_eq!(Instant::from_epoch_ms(Instant::MAX.epoch_ms + 1), None);
        assert_eq!(Instant::from_epoch_ms(Instant::MIN.epoch_ms - 1), None);
        assert_eq!(Instant::from_epoch_ms(i64::MIN), None);
    }

    #[test]
    fn a_day_and_a_moment_are_told_apart_and_compared() {
        let day = Due::parse("2026-04-05").unwrap();
        let moment = Due::parse("2026-04-05T00:00:00+00:00").unwrap();
        assert_ne!(day, moment);
        assert_eq!(day.start(), moment.start());
        assert_eq!(day.to_string(), "2026-04-05");
        assert_eq!(moment.to_string(), "2026-04-05T00:00:00.000Z");
        for text in ["", "soon", "2026-04", "2026-04-05T", "2026-04-05T10", "next friday at ten"] {
            assert!(Due::parse(text).is_err(), "{text:?}");
        }
    }
}

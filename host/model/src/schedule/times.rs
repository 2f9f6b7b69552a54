//! Times as cron writes them: five fields, in UTC. What crons read differently is refused, so that every one of them, systemd and this
//! program mean the same moments.

use crate::diagnostic::shown;
use crate::instant::Instant;
use std::fmt;
use std::str::FromStr;
use time::{Date, OffsetDateTime};

/// The longest text that is read.
const TEXT_BYTES_MAX: usize = 256;
/// The days to look at for the next moment: 29 February may be eight years away, at the turn of a century that is no leap year.
const DAYS_MAX: u32 = 366 * 9;
const NS_PER_MINUTE: u64 = 60_000_000_000;
const MONTHS: [&str; 12] = ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"];
const WEEKDAYS: [&str; 7] = ["sun", "mon", "tue", "wed", "thu", "fri", "sat"];

/// When something is to happen: minutes of the day, and days. Has at least one moment.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Times {
    minute: Field,
    hour: Field,
    day: Field,
    month: Field,
    /// 0 is Sunday.
    weekday: Field,
}

/// A text that says no times, or not the same to all that read it.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("{0}")]
pub struct NotTimes(String);

/// One field: its text with numbers for names, and the set of its values.
#[derive(Clone, PartialEq, Eq, Debug)]
struct Field {
    text: String,
    set: u64,
}

impl Field {
    fn has(&self, value: u32) -> bool {
        value < u64::BITS && self.set >> value & 1 == 1
    }

    fn is_any(&self) -> bool {
        self.text == "*"
    }

    fn read(what: &str, text: &str, (low, high): (u32, u32), names: &[&str]) -> Result<Field, NotTimes> {
        let refused = |part: &str, expected: String| NotTimes(format!("{what}: {} is not {expected}", shown(part)));
        let number = |part: &str| {
            let named = names.iter().position(|name| part.eq_ignore_ascii_case(name));
            // Names count from the field's first value: Sunday is 0 and January is 1.
            let named = named.and_then(|at| u32::try_from(at).ok()).map(|at| at + low);
            let digits = !part.is_empty() && part.len() <= 2 && part.bytes().all(|byte| byte.is_ascii_digit());
            let value =
                named.or_else(|| part.parse().ok().filter(|_| digits)).filter(|value| (low..=high).contains(value));
            value.ok_or_else(|| refused(part, format!("a number from {low} to {high}")))
        };
        let (mut texts, mut set) = (Vec::new(), 0_u64);
        for part in text.split(',') {
            let (span, step) = part.split_once('/').map_or((part, None), |(span, step)| (span, Some(step)));
            let (first, last, mut written) = match span.split_once('-') {
                _ if span == "*" => (low, high, "*".to_owned()),
                Some((first, last)) => {
                    let (first, last) = (number(first)?, number(last)?);
                    if first > last {
                        return Err(refused(span, "a range from the less to the greater".to_owned()));
                    }
                    (first, last, format!("{first}-{last}"))
                }
                None if step.is_some() => return Err(refused(part, "* or a range before a step".to_owned())),
                None => number(span).map(|value| (value, value, value.to_string()))?,
            };
            let step = match step {
                None => 1,
                Some(step) => {
                    let value = step.parse().ok().filter(|value| step.len() <= 2 && (1..=high).contains(value));
                    let value = value.ok_or_else(|| refused(step, format!("a step from 1 to {high}")))?;
                    written.push_str(&format!("/{value}"));
                    value
                }
            };
            set |= (first..=last).step_by(step as usize).fold(0, |set, value| set | 1 << value);
            texts.push(written);
        }
        Ok(Field { text: texts.join(","), set })
    }

    /// The values as systemd lists them.
    fn listed(&self, values: std::ops::RangeInclusive<u32>, shown: impl Fn(u32) -> String) -> String {
        if values.clone().all(|value| self.has(value)) {
            return "*".to_owned();
        }
        let mut runs: Vec<(u32, u32)> = Vec::new();
        for value in values.filter(|value| self.has(*value)) {
            match runs.last_mut() {
                Some((_, last)) if *last + 1 == value => *last = value,
                _ => runs.push((value, value)),
            }
        }
        let run = |(first, last): (u32, u32)| match last - first {
            0 => shown(first),
            1 => format!("{},{}", shown(first), shown(last)),
            _ => format!("{}..{}", shown(first), shown(last)),
        };
        runs.into_iter().map(run).collect::<Vec<_>>().join(",")
    }
}

impl FromStr for Times {
    type Err = NotTimes;

    fn from_str(text: &str) -> Result<Times, NotTimes> {
        let count = text.split_ascii_whitespace().count();
        let fields: Vec<&str> = text.split_ascii_whitespace().collect();
        let (true, [minute, hour, day, month, weekday]) = (text.len() <= TEXT_BYTES_MAX, &fields[..]) else {
            let expected = "expected minute, hour, day of the month, month and day of the week, as 0 9 * * 1-5";
            return Err(NotTimes(format!("{} has {count} fields: {expected}", shown(text))));
        };
        let mut times = Times {
            minute: Field::read("minute", minute, (0, 59), &[])?,
            hour: Field::read("hour", hour, (0, 23), &[])?,
            day: Field::read("day of the month", day, (1, 31), &[])?,
            month: Field::read("month", month, (1, 12), &MONTHS)?,
            weekday: Field::read("day of the week", weekday, (0, 7), &WEEKDAYS)?,
        };
        // 7 is Sunday too.
        times.weekday.set = (times.weekday.set | times.weekday.set >> 7) & 0x7f;
        let unclear = |one: &Field, other: &Field| one.text.starts_with('*') && !one.is_any() && !other.is_any();
        if unclear(&times.day, &times.weekday) || unclear(&times.weekday, &times.day) {
            let message =
                "some crons take both days together and others either where one is * with a step; list the days";
            return Err(NotTimes(message.to_owned()));
        }
        match times.after(Instant::default()) {
            Some(_) => Ok(times),
            None => Err(NotTimes(format!("{} is on no day of any year", shown(text)))),
        }
    }
}

impl fmt::Display for Times {
    /// As cron reads it: numbers alone, one blank between fields.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Times { minute, hour, day, month, weekday } = self;
        write!(f, "{} {} {} {} {}", minute.text, hour.text, day.text, month.text, weekday.text)
    }
}

impl Times {
    /// The first moment after this one; `None` beyond what an instant can be.
    pub fn after(&self, instant: Instant) -> Option<Instant> {
        let first = (instant.unix_ns() / NS_PER_MINUTE).checked_add(1)?;
        let start = OffsetDateTime::from_unix_timestamp(i64::try_from(first).ok()?.checked_mul(60)?).ok()?;
        let mut date = start.date();
        let mut earliest = u32::from(start.hour()) * 60 + u32::from(start.minute());
        for _ in 0..DAYS_MAX {
            if let Some(minute) = self.is_on(date).then(|| self.minute_of_day(earliest)).flatten() {
                let day_ns = u64::try_from(date.midnight().assume_utc().unix_timestamp_nanos()).ok()?;
                return day_ns.checked_add(u64::from(minute) * NS_PER_MINUTE).map(Instant::from_unix_ns);
            }
            date = date.next_day()?;
            earliest = 0;
        }
        None
    }

    /// The moments after this one, in order.
    pub fn upcoming(&self, instant: Instant) -> impl Iterator<Item = Instant> {
        std::iter::successors(self.after(instant), |last| self.after(*last))
    }

    /// Whether a day is one of them. Where both days are said, either will do: so every cron has it since the first.
    fn is_on(&self, date: Date) -> bool {
        let day = self.day.has(u32::from(date.day()));
        let weekday = self.weekday.has(u32::from(date.weekday().number_days_from_sunday()));
        let either = !self.day.is_any() && !self.weekday.is_any();
        self.month.has(u32::from(u8::from(date.month()))) && if either { day || weekday } else { day && weekday }
    }

    fn minute_of_day(&self, earliest: u32) -> Option<u32> {
        (earliest..24 * 60).find(|minute| self.hour.has(minute / 60) && self.minute.has(minute % 60))
    }

    /// The same times as systemd writes them, one or two expressions that count together.
    pub fn on_calendar(&self) -> Vec<String> {
        let two = |value: u32| format!("{value:02}");
        let month = self.month.listed(1..=12, two);
        let clock = format!("{}:{}:00 UTC", self.hour.listed(0..=23, two), self.minute.listed(0..=59, two));
        let days = format!("*-{month}-{} {clock}", self.day.listed(1..=31, two));
        // systemd's week begins on Monday.
        let week = Field { text: String::new(), set: self.weekday.set >> 1 | (self.weekday.set & 1) << 6 };
        let named = ["Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"];
        let week = week.listed(0..=6, |at| named.get(at as usize).copied().unwrap_or_default().to_owned());
        match (self.day.is_any(), self.weekday.is_any()) {
            (_, true) => vec![days],
            (true, false) if week == "*" => vec![days],
            (true, false) => vec![format!("{week} {days}")],
            // Every day of the week, or of the month, is every day.
            (false, false) if week == "*" => vec![format!("*-{month}-* {clock}")],
            (false, false) => vec![format!("{week} *-{month}-* {clock}"), days],
        }
    }
}

#[cfg(test)]
#[path = "times_tests.rs"]
mod tests;

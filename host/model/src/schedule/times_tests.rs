//! Times held against counting minute by minute, by a reading of the text of its own.

use super::*;
use proptest::prelude::*;

fn times(text: &str) -> Times {
    text.parse().unwrap_or_else(|error| panic!("{text}: {error}"))
}

fn next(text: &str, from: &str, count: usize) -> Vec<String> {
    times(text).upcoming(from.parse().unwrap()).take(count).map(|at| at.to_string()).collect()
}

#[test]
fn what_comes_next() {
    let from = "2026-04-03T09:00:00Z";
    assert_eq!(next("0 9 * * 1-5", from, 2), ["2026-04-06T09:00:00Z", "2026-04-07T09:00:00Z"]);
    assert_eq!(next("0 9 * * mon-FRI", "2026-04-03T08:59:59.999Z", 1), [from]);
    assert_eq!(next("*/20 23 31 12 *", from, 4)[2..], ["2026-12-31T23:40:00Z", "2027-12-31T23:00:00Z"]);
    assert_eq!(next("0 0 29 2 *", "2096-03-01T00:00:00Z", 1), ["2104-02-29T00:00:00Z"]);
    // Both days: either will do. 7 and 0 are Sunday.
    assert_eq!(next("0 0 13 * 5", from, 3), ["2026-04-10T00:00:00Z", "2026-04-13T00:00:00Z", "2026-04-17T00:00:00Z"]);
    assert_eq!(next("5 4 * * 7", from, 3), next("5 4 * * 0", from, 3));
    assert_eq!(next("5 4 * * 7", from, 1), ["2026-04-05T04:05:00Z"]);
    // Instants end.
    assert_eq!(times("0 0 1 1 *").after(Instant::from_unix_ns(u64::MAX)), None);
}

#[test]
fn what_is_no_times_or_not_the_same_to_all_is_refused_by_name() {
    for (text, part) in [
        ("", "0 fields"),
        ("0 9 * *", "4 fields"),
        ("0 9 * * 1 root", "6 fields"),
        ("@daily", "1 fields"),
        ("60 9 * * *", "minute: \"60\" is not a number from 0 to 59"),
        ("0 24 * * *", "hour: \"24\""),
        ("0 9 0 * *", "day of the month: \"0\""),
        ("0 9 * 13 *", "month: \"13\""),
        ("0 9 * * 8", "day of the week: \"8\""),
        ("0 9 * * mond", "\"mond\""),
        ("+1 9 * * *", "\"+1\""),
        ("007 9 * * *", "\"007\""),
        ("-1 9 * * *", "\"\""),
        ("1,,2 9 * * *", "\"\""),
        ("5-1 9 * * *", "a range"),
        ("5/15 9 * * *", "* or a range before a step"),
        ("*/0 9 * * *", "a step"),
        ("*/60 9 * * *", "a step"),
        ("0 9 L * *", "\"L\""),
        ("0 9 ? * *", "\"?\""),
        ("0 9 30 2 *", "on no day"),
        ("0 9 */2 * 1", "list the days"),
        ("0 9 1 * */2", "list the days"),
    ] {
        let error = text.parse::<Times>().map(|times| times.to_string()).expect_err(text).to_string();
        assert!(error.contains(part), "{text}: {error}");
    }
    let long = format!("0{} 9 * * *", ",0".repeat(200));
    assert!(long.parse::<Times>().is_err());
}

#[test]
fn as_cron_and_systemd_write_it() {
    for (text, cron, systemd) in [
        ("0 9  * *\tMON-fri", "0 9 * * 1-5", &["Mon..Fri *-*-* 09:00:00 UTC"][..]),
        ("*/15 * * * *", "*/15 * * * *", &["*-*-* *:00,15,30,45:00 UTC"]),
        ("1-7/2,30,31 0 * jan,mar-may *", "1-7/2,30,31 0 * 1,3-5 *", &["*-01,03..05-* 00:01,03,05,07,30,31:00 UTC"]),
        ("0 0 13 * 5-7", "0 0 13 * 5-7", &["Fri..Sun *-*-* 00:00:00 UTC", "*-*-13 00:00:00 UTC"]),
        ("0 0 13 * 0-6", "0 0 13 * 0-6", &["*-*-* 00:00:00 UTC"]),
        ("0 0 1-31 * 0", "0 0 1-31 * 0", &["Sun *-*-* 00:00:00 UTC", "*-*-* 00:00:00 UTC"]),
        ("0 0 * * 6,0", "0 0 * * 6,0", &["Sat,Sun *-*-* 00:00:00 UTC"]),
    ] {
        assert_eq!(
            (times(text).to_string().as_str(), times(text).on_calendar()),
            (cron, systemd.iter().map(|&s| s.to_owned()).collect())
        );
    }
}

/// A reading of its own, from the text: whether a value is in a field.
fn has(field: &str, value: u32, wraps: Option<u32>) -> bool {
    field.split(',').any(|part| {
        let (span, step) = part.split_once('/').unwrap_or((part, "1"));
        let step: u32 = step.parse().unwrap();
        let within = |value: u32| match span.split_once('-') {
            _ if span == "*" => true,
            Some((first, last)) => {
                let (first, last): (u32, u32) = (first.parse().unwrap(), last.parse().unwrap());
                (first..=last).contains(&value) && (value - first).is_multiple_of(step)
            }
            None => value == span.parse::<u32>().unwrap(),
        };
        within(value) || wraps.is_some_and(|same| value == 0 && within(same))
    })
}

/// Lists of numbers, ranges and steps of a range.
fn field(low: u32, high: u32) -> impl Strategy<Value = String> {
    let part = (low..=high, low..=high, 1_u32..5, 0..3).prop_map(|(one, other, step, kind)| {
        let (first, last) = (one.min(other), one.max(other));
        match kind {
            0 => format!("{one}"),
            1 => format!("{first}-{last}"),
            _ => format!("{first}-{last}/{step}"),
        }
    });
    prop_oneof![Just("*".to_owned()), prop::collection::vec(part, 1..4).prop_map(|parts| parts.join(","))]
}

proptest! {
    #[test]
    fn counting_minute_by_minute_comes_to_the_same(
        minute in field(0, 59), hour in field(0, 23), day in field(1, 31), month in field(1, 12), weekday in field(0, 7),
        start in 0_u64..4_000_000_000,
    ) {
        const MINUTES: u64 = 40 * 24 * 60;
        let text = format!("{minute} {hour} {day} {month} {weekday}");
        let Ok(times) = text.parse::<Times>() else { return Ok(()) };
        prop_assert_eq!(times.to_string(), text);
        let instant = |seconds: u64| Instant::from_unix_ns(seconds * 1_000_000_000);
        let counted = (start / 60 + 1..start / 60 + MINUTES).find(|at| {
            let at = OffsetDateTime::from_unix_timestamp(*at as i64 * 60).unwrap();
            let on_day = has(&day, at.day().into(), None);
            let on_weekday = has(&weekday, at.weekday().number_days_from_sunday().into(), Some(7));
            let on = match (day.as_str(), weekday.as_str()) {
                ("*", _) => on_weekday,
                (_, "*") => on_day,
                _ => on_day || on_weekday,
            };
            on && has(&minute, at.minute().into(), None) && has(&hour, at.hour().into(), None)
                && has(&month, u8::from(at.month()).into(), None)
        });
        let found = times.after(instant(start));
        let end = instant((start / 60 + MINUTES) * 60);
        prop_assert_eq!(found.filter(|at| *at < end), counted.map(|at| instant(at * 60)));
    }

    #[test]
    fn no_text_is_a_panic(text in "[0-9*/,a-z -]{0,40}") {
        if let Ok(times) = text.parse::<Times>() {
            prop_assert!(times.after(Instant::default()).is_some());
            prop_assert_eq!(times.to_string().parse::<Times>(), Ok(times));
        }
    }
}

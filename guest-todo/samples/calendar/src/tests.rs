//! The application as its callers see it. Paths are those of a copy of the package, as in a run of the host.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::{fs, path::Path};

use hutch_guest::testing::Harness;
use serde_json::{Value, json};

use super::*;

const PACKAGE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../packages/calendar");
const HEAD: &str = "BEGIN:VCALENDAR\r\nVERSION:2.0\r\nPRODID:-//x//EN\r\n";

/// The application, and a folder of the test's own with a calendar of this text in it.
fn with(name: &str, text: &str) -> (Harness<Edits>, String) {
    let folder = std::env::temp_dir().join(format!("hutch-calendar-{}-{name}", std::process::id()));
    fs::create_dir_all(&folder).unwrap();
    let path = folder.join("a.ics").display().to_string();
    fs::write(&path, text).unwrap();
    (Harness::new(&CALENDAR), path)
}

/// A calendar of events of these lines.
fn calendar(events: &[&str]) -> String {
    let event = |(uid, lines): (usize, &&str)| {
        let uid = if lines.contains("UID:") { String::new() } else { format!("UID:{uid}\r\n") };
        format!("BEGIN:VEVENT\r\n{uid}{}\r\nEND:VEVENT\r\n", lines.replace('\n', "\r\n"))
    };
    let events: String = events.iter().enumerate().map(event).collect();
    format!("{HEAD}{events}END:VCALENDAR\r\n")
}

/// `START END` of each event of some days.
fn agenda(name: &str, events: &[&str], args: &[&str]) -> Vec<String> {
    let (calendar, path) = with(name, &calendar(events));
    let answer = calendar.ok(&[&["agenda", "--limit", "1000", "--calendar", &path], args].concat());
    fs::remove_dir_all(Path::new(&path).parent().unwrap()).unwrap();
    let text = |row: &Value, field: &str| row[field].as_str().unwrap().to_owned();
    answer["items"].as_array().unwrap().iter().map(|it| format!("{} {}", text(it, "start"), text(it, "end"))).collect()
}

/// Why a calendar is refused.
fn wrong(name: &str, text: &str) -> String {
    let (calendar, path) = with(name, text);
    let error = calendar.refused(&["agenda", "--from", "2026-04-01", "--days", "400", "--calendar", &path]);
    fs::remove_dir_all(Path::new(&path).parent().unwrap()).unwrap();
    assert_eq!(error["code"], "CALENDAR_INVALID", "{error}");
    error["message"].as_str().unwrap().strip_prefix(&format!("{path}: ")).unwrap().to_owned()
}

#[test]
fn the_contract_of_the_package_is_that_of_the_program() {
    Harness::new(&CALENDAR).contract(format!("{PACKAGE}/schemas/commands.json"));
}

/// The one test that has a folder to be in, so that it is in the way of no other.
#[test]
fn every_example_ends_as_it_says() {
    let folder = std::env::temp_dir().join(format!("hutch-calendar-{}-examples", std::process::id()));
    for inside in ["samples", "calendar"] {
        fs::create_dir_all(folder.join(inside)).unwrap();
        for file in fs::read_dir(format!("{PACKAGE}/{inside}")).unwrap().map(Result::unwrap) {
            fs::copy(file.path(), folder.join(inside).join(file.file_name())).unwrap();
        }
    }
    std::env::set_current_dir(&folder).unwrap();
    Harness::new(&CALENDAR).examples();
    fs::remove_dir_all(folder).unwrap();
}

#[test]
fn events_come_at_each_of_their_times_in_the_order_of_time() {
    let from = ["--from", "2026-03-28", "--days", "4"];
    for (name, events, expected) in [
        ("days", &["DTSTART;VALUE=DATE:20260328\nDTEND;VALUE=DATE:20260330"][..], &["2026-03-28 2026-03-30"][..]),
        ("day", &["DTSTART;VALUE=DATE:20260331"], &["2026-03-31 2026-04-01"]),
        ("moment", &["DTSTART:20260328T000000Z"], &["2026-03-28T00:00:00Z 2026-03-28T00:00:00Z"]),
        ("over", &["DTSTART:20260327T230000Z\nDURATION:PT2H"], &["2026-03-27T23:00:00Z 2026-03-28T01:00:00Z"]),
        ("before", &["DTSTART:20260327T230000Z\nDURATION:PT1H", "DTSTART:20260401T000000Z"], &[]),
        // Summer begins on the 29th: the clock shows the same time, another hour of UTC.
        (
            "zone",
            &[
                "DTSTART;TZID=Europe/Berlin:20260301T090000\nDTEND;TZID=Europe/Berlin:20260301T100000\nRRULE:FREQ=DAILY;UNTIL=20260330T070000Z",
            ],
            &[
                "2026-03-28T09:00:00 2026-03-28T10:00:00",
                "2026-03-29T09:00:00 2026-03-29T10:00:00",
                "2026-03-30T09:00:00 2026-03-30T10:00:00",
            ],
        ),
        (
            "windows",
            &["DTSTART;TZID=\"W. Europe Standard Time\":20260330T090000", "DTSTART:20260330T080000Z"],
            &["2026-03-30T09:00:00 2026-03-30T09:00:00", "2026-03-30T08:00:00Z 2026-03-30T08:00:00Z"],
        ),
        // A clock that skips the time goes on from before it.
        (
            "skipped",
            &["DTSTART;TZID=Europe/Berlin:20260328T023000\nRRULE:FREQ=DAILY;COUNT=2"],
            &["2026-03-28T02:30:00 2026-03-28T02:30:00", "2026-03-29T03:30:00 2026-03-29T03:30:00"],
        ),
        (
            "whole days",
            &["DTSTART;VALUE=DATE:20260301\nRRULE:FREQ=WEEKLY;BYDAY=SA,SU;UNTIL=20260328"],
            &["2026-03-28 2026-03-29"],
        ),
        (
            "except",
            &[
                "DTSTART:20260301T100000Z\nRRULE:FREQ=DAILY\nEXDATE:20260328T100000Z,20260329T100000Z\nRDATE:20260330T120000Z",
            ],
            &[
                "2026-03-30T10:00:00Z 2026-03-30T10:00:00Z",
                "2026-03-30T12:00:00Z 2026-03-30T12:00:00Z",
                "2026-03-31T10:00:00Z 2026-03-31T10:00:00Z",
            ],
        ),
        // Of two events with one time each that is another: moved, and cancelled.
        (
            "replaced",
            &[
                "UID:a\nDTSTART:20260301T100000Z\nRRULE:FREQ=DAILY;UNTIL=20260330T235959Z",
                "UID:a\nSEQUENCE:3\nRECURRENCE-ID:20260328T100000Z\nDTSTART:20260328T150000Z",
                "UID:a\nRECURRENCE-ID:20260329T100000Z\nDTSTART:20260329T100000Z\nSTATUS:CANCELLED",
                "UID:b\nDTSTART:20260328T100000Z",
            ],
            &[
                "2026-03-28T10:00:00Z 2026-03-28T10:00:00Z",
                "2026-03-28T15:00:00Z 2026-03-28T15:00:00Z",
                "2026-03-30T10:00:00Z 2026-03-30T10:00:00Z",
            ],
        ),
        (
            "last",
            &["DTSTART:20250131T100000Z\nRRULE:FREQ=MONTHLY;BYDAY=MO,TU,WE,TH,FR;BYSETPOS=-1;COUNT=1000000000"],
            &["2026-03-31T10:00:00Z 2026-03-31T10:00:00Z"],
        ),
        ("ended", &["DTSTART:20260401T100000Z\nRRULE:FREQ=DAILY;UNTIL=20260101T000000Z"], &[]),
    ] {
        assert_eq!(agenda(name, events, &from), expected, "{name}");
    }
    let floating = &["DTSTART:20260328T003000\nDTEND:20260328T010000"];
    assert_eq!(agenda("there", floating, &["--from", "2026-03-28", "--days", "1", "--zone", "Asia/Tokyo"]).len(), 1);
    assert_eq!(
        agenda("here", &["DTSTART:20260327T200000Z"], &["--from", "2026-03-28", "--zone", "Asia/Tokyo"]).len(),
        1
    );
}

#[test]
fn what_is_wrong_with_an_event_is_told_and_never_followed_without_end() {
    for (lines, told) in [
        ("SUMMARY:x", "it has no DTSTART"),
        ("DTSTART:20261301T000000Z", "it has no DTSTART"),
        ("DTSTART:20260230T000000Z", "it has no DTSTART"),
        ("DTSTART:tomorrow", "it has no DTSTART"),
        ("DTSTART;TZID=Moon/Crater:20260401T000000", "its TZID is no zone"),
        ("DTSTART:20260401T000000Z\nDTEND:20260331T000000Z", "it ends before it begins"),
        ("DTSTART:20260401T000000Z\nDTEND:never", "its DTEND is none"),
        ("DTSTART:20260401T000000Z\nDURATION:long", "its DURATION is none"),
        ("DTSTART:20260401T000000Z\nRRULE:weekly", "its RRULE is none"),
        ("DTSTART:20260401T000000Z\nRRULE:FREQ=DAILY;BYSETPOS=0", "RRule("),
        ("DTSTART:20260401T000000Z\nEXDATE:never\nRRULE:FREQ=DAILY", "its EXDATE is none"),
        ("DTSTART:20260401T000000Z\nRRULE:FREQ=SECONDLY", "name too many times"),
        ("DTSTART:00010101T000000Z\nRRULE:FREQ=HOURLY;COUNT=4000000000", "name too many times"),
    ] {
        assert!(wrong("lines", &calendar(&[lines])).contains(told), "{lines}: {}", wrong("lines", &calendar(&[lines])));
    }
    let often: Vec<String> = (0..60).map(|it| format!("{it}")).collect();
    let often = format!("DTSTART:20260401T000000Z\nRRULE:FREQ=DAILY;BYMINUTE={}", often.join(","));
    assert!(wrong("often", &calendar(&[&often])).contains("name too many times"));
    // Never, each costing a look through all years.
    let never = "DTSTART:20260401T000000Z\nRRULE:FREQ=YEARLY;BYMONTH=2;BYMONTHDAY=30";
    assert!(wrong("never", &calendar(&[never; 12])).contains("name too many times"));
    let old = "DTSTART:00010101T000000Z\nRRULE:FREQ=DAILY";
    assert!(wrong("old", &calendar(&[old; 6])).contains("name too many times"));
    let dates = format!("DTSTART:20260401T000000Z\nRDATE:{}20260401", "20260401,".repeat(300_000));
    assert!(wrong("dates", &calendar(&[&dates])).contains("have too many times"));
    for text in ["", "\n\n", "no calendar", "BEGIN:VCARD\r\nEND:VCARD\r\n", HEAD, "PK\u{3}\u{4}", "END:VCALENDAR"] {
        assert!(wrong("text", text).contains("is not whole"), "{text:?}");
    }
    let (calendar_of, path) = with("large", &"a".repeat((8 << 20) + 1));
    assert_eq!(calendar_of.refused(&["agenda", "--calendar", &path])["code"], "FILE_UNREADABLE");
    let last =
        agenda("9999", &["DTSTART:99991231T235959Z\nDURATION:P1000000W\nRRULE:FREQ=YEARLY"], &["--from", "9999-12-31"]);
    assert_eq!(last.len(), 1);
    let long = format!("DTSTART:20260401T000000Z\nSUMMARY:{}", "x".repeat(1 << 20));
    assert_eq!(agenda("long", &[&long], &["--from", "2026-04-01"]).len(), 1);
    let nested = format!("{HEAD}{}END:VCALENDAR\r\n", "BEGIN:VEVENT\r\n".repeat(100_000));
    wrong("nested", &nested);
}

#[test]
fn time_is_free_where_nothing_is_within_the_hours() {
    let events = [
        "DTSTART;TZID=Europe/Berlin:20260330T093000\nDURATION:PT1H",
        "DTSTART;TZID=Europe/Berlin:20260330T100000\nDURATION:PT1H",
        "DTSTART:20260330T110000Z\nDURATION:PT1H\nTRANSP:TRANSPARENT",
        "DTSTART;VALUE=DATE:20260331",
        "DTSTART;TZID=Europe/Berlin:20260401T163000\nDURATION:P1DT1H",
    ];
    let (calendar, path) = with("free", &calendar(&events));
    let free = |args: &[&str]| {
        let call = ["free", "--from", "2026-03-28", "--zone", "Europe/Berlin", "--calendar", &path];
        let items = calendar.ok(&[&call, args].concat())["items"].clone();
        let part = |row: &Value, name: &str| row[name].as_str().unwrap()[5..16].to_owned();
        let row = |it: &Value| format!("{} {} {}", part(it, "start"), part(it, "end"), it["minutes"]);
        items.as_array().unwrap().iter().map(row).collect::<Vec<_>>()
    };
    assert_eq!(
        free(&[]),
        [
            "03-30T09:00 03-30T09:30 30",
            "03-30T11:00 03-30T17:00 360",
            "04-01T09:00 04-01T16:30 450",
            "04-03T09:00 04-03T17:00 480"
        ]
    );
    assert_eq!(free(&["--minutes", "460"]), ["04-03T09:00 04-03T17:00 480"]);
    assert_eq!(free(&["--days", "2", "--weekends", "--hours", "10:00-10:45"]).len(), 2);
    assert_eq!(free(&["--hours", "17:00-09:00"]), [""; 0]);
    for hours in ["9", "09:00-25:00", "morning-noon", "-"] {
        let error = calendar.refused(&["free", "--hours", hours, "--calendar", &path]);
        assert_eq!(error["code"], "INVALID_VALUE", "{hours}: {error}");
    }
    assert_eq!(calendar.refused(&["free", "--zone", "Moon", "--calendar", &path])["code"], "INVALID_VALUE");
}

#[test]
fn an_event_is_added_and_all_else_stays_byte_for_byte() {
    let before = fs::read_to_string(format!("{PACKAGE}/samples/club.ics")).unwrap();
    let (calendar, path) = with("add", &before);
    let add = |args: &[&str]| calendar.ok(&[&["add", "--calendar", &path], args].concat())["items"][0].clone();
    let summary = "Tea, cake; and \"é\"\nEND:VEVENT\r\nBEGIN:VEVENT";
    let row = add(&[summary, "2026-04-02T16:00:00", "--end", "2026-04-02T17:00:00", "--zone", "Europe/Berlin"]);
    assert_eq!((&row["start"], &row["calendar"]), (&json!("2026-04-02T16:00:00"), &json!(path)));
    let after = fs::read_to_string(&path).unwrap();
    let (kept, added) = after.split_at(before.len() - "END:VCALENDAR\r\n".len());
    assert!(before.starts_with(kept) && added.ends_with("END:VEVENT\r\nEND:VCALENDAR\r\n"), "{after}");
    assert_eq!(
        (added.matches("VTIMEZONE").count(), added.lines().filter(|it| *it == "BEGIN:VEVENT").count()),
        (0, 1),
        "{added}"
    );
    assert!(added.lines().all(|line| line.len() <= 75), "{added}");
    let shown =
        calendar.ok(&["agenda", "--from", "2026-04-02", "--days", "1", "--calendar", &path])["items"][0].clone();
    assert_eq!((&shown["start"], &shown["uid"]), (&row["start"], &row["uid"]));
    add(&["Flight", "2026-04-02T16:00:00", "--zone", "America/New_York", "--repeat", "FREQ=WEEKLY;COUNT=3"]);
    assert!(fs::read_to_string(&path).unwrap().contains("TZID:America/New_York\r\n"));
    // Two of a batch, one after the other; and nothing of one that ends badly.
    let batch = json!([{"summary": "a", "start": "2026-05-01"}, {"summary": "a", "start": "2026-05-01"}]);
    let both = calendar.batch(
        &["add", "--json-input"],
        &batch.to_string().replace("\"start\"", &format!("\"calendar\":{path:?},\"start\"")),
    );
    assert_ne!(both["items"][0]["uid"], both["items"][1]["uid"]);
    assert_eq!(calendar.ok(&["agenda", "--from", "2026-05-01", "--days", "1", "--calendar", &path])["total"], 2);
    let before = fs::read(&path).unwrap();
    for args in [
        &["x", "2026-04-31"][..],
        &["x", "tomorrow"],
        &["x", "2026-04-02T16:00:00", "--zone", "Moon"],
        &["x", "2026-04-02T16:00:00", "--zone", "\""],
        &["x", "2026-04-02", "--end", "2026-04-01T00:00:00Z"],
        &["x", "2026-04-02", "--repeat", "FREQ=SECONDLY"],
        &["x", "2026-04-02", "--repeat", "FREQ=WEEKLY;BYDAY=MO"],
        &["x", "2026-04-02", "--repeat", "FREQ=YEARLY;BYMONTH=2;BYMONTHDAY=30"],
    ] {
        let error = calendar.refused(&[&["add", "--calendar", &path], args].concat());
        assert_eq!(error["code"], "CALENDAR_INVALID", "{args:?}: {error}");
    }
    calendar.ok(&["add", "x", "2026-04-02", "--dry-run", "--calendar", &path]);
    assert_eq!(fs::read(&path).unwrap(), before);
    fs::remove_dir_all(Path::new(&path).parent().unwrap()).unwrap();
}

/// Numbers as good as drawn, the same in every run.
struct Drawn(u64);

impl Drawn {
    fn below(&mut self, end: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % end
    }
}

#[test]
fn no_text_brings_the_reader_down() {
    let sample = fs::read_to_string(format!("{PACKAGE}/samples/club.ics")).unwrap();
    let parts = [
        "DTSTART",
        ":",
        ";",
        "=",
        ",",
        "\r\n",
        " ",
        "\"",
        "TZID=",
        "VALUE=DATE",
        "RRULE:FREQ=",
        "MONTHLY",
        "YEARLY",
        "BYDAY=",
        "BYSETPOS=-366",
        "BYWEEKNO=53",
        "BYYEARDAY=-366",
        "BYMONTHDAY=-31",
        "-1SU",
        "99",
        "COUNT=4294967295",
        "INTERVAL=65535",
        "UNTIL=99991231T235959Z",
        "00000000T000000",
        "99999999T999999Z",
        "P99999999999W",
        "EXDATE",
        "RDATE",
        "BEGIN:VEVENT",
        "END:VEVENT",
        "BEGIN:VALARM",
        "RECURRENCE-ID",
        "RANGE=THISANDFUTURE",
        "é",
        "\u{feff}",
        "BYHOUR=24",
        "DURATION:-",
        "WKST=SU",
    ];
    let mut drawn = Drawn(7);
    let days = moment(NaiveDate::MIN.and_time(NaiveTime::MIN) + Duration::days(96_000_000), Tz::UTC).unwrap();
    let days = days..days + Duration::days(400);
    let mut taken = 0;
    for _ in 0..1000 {
        let mut text: Vec<char> = sample.chars().collect();
        for _ in 0..=drawn.below(6) {
            let (at, part) = (drawn.below(text.len() - 20), parts[drawn.below(parts.len())]);
            let end = at + if drawn.below(2) == 0 { 0 } else { drawn.below(20) };
            text.splice(at..end, part.chars());
        }
        let text: String = text.into_iter().collect();
        let calendars = calendars(&text).unwrap_or_default();
        let mut steps = STEPS_MAX / 20;
        taken += calendars.iter().filter(|it| occurrences((it, ""), Tz::UTC, Some(&days), &mut steps).is_ok()).count();
    }
    assert!(taken > 100, "{taken}");
}

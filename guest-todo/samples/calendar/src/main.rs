//! Calendars as iCalendar files: when events are, free time between them, and events put in. The struct of a command is its
//! contract, so that this file and `ics` are all there is.

mod ics;
#[cfg(test)]
mod tests;

use std::hash::{DefaultHasher, Hash, Hasher};

use calcard::common::timezone::Tz;
use calcard::icalendar::{ICalendar, ICalendarProperty as Property};
use chrono::{Datelike, Days, Duration, NaiveDate, NaiveTime};
use hutch_guest::folder::{EDITS_CONFLICT, EDITS_TOO_MANY, Edits, FOLDER_DENIED, Folder};
use hutch_guest::input::FILE_UNREADABLE;
use hutch_guest::value::invalid;
use hutch_guest::{Call, Changed, Command, Date, Failure, Page, Reads, Row, Writes};
use ics::{CALENDAR_INVALID, END, Occurrence, STEPS_MAX, Shown, Span, calendars, moment, occurrences};

/// Bytes of one calendar.
const CALENDAR_BYTES_MAX: u64 = 8 << 20;

/// Shows the events of some days in the order of time, repeated ones at each of their times. Times are in the zone that the event has, or
/// in that of --zone if it has none.
#[derive(Command)]
#[command(errors(CALENDAR_INVALID))]
#[example("the week of a day, of a file in the package", ["--from", "2026-03-30", "--calendar", "samples/club.ics"])]
#[example("a folder of the machine must be granted", ["--calendar", "data"], 20)]
#[example("what is no calendar", ["--from", "2026-03-30", "--calendar", "samples/broken.ics"], 2)]
struct Agenda {
    /// the first day; today in UTC if it is not given
    from: Option<Date>,
    /// how many days
    #[arg(minimum = 1, maximum = 400, default = "7")]
    days: u32,
    /// the zone of these days, and of events without one, such as Europe/Berlin
    #[arg(free_text, max_length = 60, default = "UTC")]
    zone: String,
    /// a calendar, or a folder whose .ics files are all read, such as data or data/home.ics, or - for standard input
    #[arg(default = "calendar")]
    calendar: Folder,
}

impl Reads for Agenda {
    type State = Edits;
    type Answer = Page<Shown>;

    fn run(self, _: &Edits, call: &Call) -> Result<Page<Shown>, Failure> {
        let (_, found) = found(self.from, self.days, &self.zone, &self.calendar, call)?;
        Ok(call.page(&found, |(_, _, shown)| shown.clone()))
    }
}

/// Time in which nothing is.
#[derive(Row)]
struct Gap {
    start: String,
    end: String,
    minutes: i64,
}

/// Finds free time: when within working hours no event is, for at least some minutes. Saturdays and Sundays only if asked for. Events that
/// are marked as free (TRANSP:TRANSPARENT) take no time.
#[derive(Command)]
#[command(errors(CALENDAR_INVALID))]
#[example("two hours within a week", ["--from", "2026-03-30", "--minutes", "120", "--zone", "Europe/Berlin", "--calendar", "samples/club.ics"])]
#[example("mornings alone", ["--from", "2026-03-30", "--days", "2", "--hours", "08:00-12:00"])]
#[example("hours that are none", ["--hours", "9-5"], 2)]
struct Free {
    /// the first day; today in UTC if it is not given
    from: Option<Date>,
    /// how many days
    #[arg(minimum = 1, maximum = 400, default = "7")]
    days: u32,
    /// for at least so many minutes
    #[arg(minimum = 1, maximum = 1440, default = "30")]
    minutes: u32,
    /// between which hours of a day
    #[arg(free_text, max_length = 11, default = "09:00-17:00")]
    hours: String,
    /// on Saturdays and Sundays too
    weekends: bool,
    /// the zone of these days and hours, and of events without one, such as Europe/Berlin
    #[arg(free_text, max_length = 60, default = "UTC")]
    zone: String,
    /// a calendar, or a folder whose .ics files are all read, such as data or data/home.ics, or - for standard input
    #[arg(default = "calendar")]
    calendar: Folder,
}

impl Reads for Free {
    type State = Edits;
    type Answer = Page<Gap>;

    fn run(self, _: &Edits, call: &Call) -> Result<Page<Gap>, Failure> {
        let hour = |text: &str| NaiveTime::parse_from_str(text, "%H:%M").ok();
        let hours = self.hours.split_once('-').and_then(|(from, to)| Some((hour(from)?, hour(to)?)));
        let (opens, closes) = hours.ok_or_else(|| invalid("hours", &self.hours, "hours such as 09:00-17:00"))?;
        let (days, found) = found(self.from, self.days, &self.zone, &self.calendar, call)?;
        let (mut gaps, zone) = (Vec::new(), days.start.timezone());
        let work = |day: &NaiveDate| self.weekends || day.weekday().number_from_monday() < 6;
        let open = |day: NaiveDate| moment(day.and_time(opens), zone).zip(moment(day.and_time(closes), zone));
        let dates = days.start.date_naive().iter_days().take_while(|day| *day < days.end.date_naive());
        for (mut at, end) in dates.filter(work).filter_map(open) {
            let busy = found.iter().filter(|(_, busy, _)| *busy).map(|(time, ..)| time.clone());
            for time in busy.chain([end..end]) {
                let until = time.start.with_timezone(&zone).min(end);
                if until - at >= Duration::minutes(self.minutes.into()) {
                    let minutes = (until - at).num_minutes();
                    gaps.push(Gap { start: at.to_rfc3339(), end: until.to_rfc3339(), minutes });
                }
                at = at.max(time.end.with_timezone(&zone));
            }
        }
        call.page_of(gaps.into_iter().map(Ok))
    }
}

/// Puts an event into a calendar, at the end of it; all else in the file stays byte for byte.
#[derive(Command)]
#[command(write, errors(CALENDAR_INVALID, EDITS_CONFLICT, EDITS_TOO_MANY, FOLDER_DENIED))]
#[example("an hour in a zone", ["Dentist", "2026-04-02T14:00:00", "--end", "2026-04-02T15:00:00", "--zone", "Europe/Berlin"])]
#[example("every second Tuesday but in summer", ["Choir", "2026-04-07T19:30:00", "--zone", "Europe/Berlin", "--repeat", "FREQ=WEEKLY;INTERVAL=2;UNTIL=20260630T220000Z"])]
#[example("see what a holiday would be", ["Easter", "2026-04-03", "--end", "2026-04-07", "--dry-run"])]
#[example("what repeats by no rule", ["Choir", "2026-04-07", "--repeat", "weekly"], 2)]
struct Add {
    /// what it is
    #[arg(positional, free_text, min_length = 1, max_length = 500)]
    summary: String,
    /// a day such as 2026-04-02, a time such as 2026-04-02T14:00:00, or an instant such as 2026-04-02T12:00:00Z
    #[arg(positional, free_text, max_length = 40)]
    start: String,
    /// when it is over: of days the day after the last; the same day or time if it is not given
    #[arg(free_text, max_length = 40)]
    end: Option<String>,
    /// the zone of its times, such as Europe/Berlin; without one a time is that of whoever reads it
    #[arg(free_text, max_length = 60)]
    zone: Option<String>,
    /// how it repeats, as an RRULE of iCalendar such as FREQ=WEEKLY;BYDAY=MO,WE;COUNT=10
    #[arg(free_text, max_length = 500, pattern = "^[A-Za-z0-9=;,+-]+$")]
    repeat: Option<String>,
    /// the file of the calendar, such as data/home.ics where the call grants the folder data to be changed
    #[arg(default = "calendar/own.ics")]
    calendar: Folder,
}

impl Writes for Add {
    type State = Edits;
    type Row = Shown;

    fn run(self, edits: &mut Edits, call: &Call) -> Result<Changed<Shown>, Failure> {
        let time = |name: &str, text: &str| {
            let zone = self.zone.as_ref().filter(|_| !text.ends_with('Z')).map(|id| format!(";TZID={id}"));
            let kind = if text.contains('T') { zone.unwrap_or_default() } else { ";VALUE=DATE".to_owned() };
            let digits = text.replace(".000", "").replace(|it: char| "-:".contains(it) || it.is_control(), "");
            format!("{name}{kind}:{digits}\r\n")
        };
        let rule = |rule: &String| format!("RRULE:{}\r\n", rule.replace(char::is_control, ""));
        let now = call.now.to_string();
        let now = now.split_once('.').map_or("", |(seconds, _)| seconds);
        let lines = [
            time("DTSTART", &self.start),
            time("DTSTAMP", &format!("{now}Z")),
            self.end.as_ref().map(|end| time("DTEND", end)).unwrap_or_default(),
            self.repeat.as_ref().map(rule).unwrap_or_default(),
        ];
        let (mut files, several) = (self.calendar.files()?, "is not one file, such as data/home.ics");
        let file = files.pop().filter(|_| files.is_empty());
        let file = file.ok_or_else(|| Failure::new(EDITS_CONFLICT, format!("{} {several}", self.calendar.text())))?;
        let mut done = Err(unreadable(&file));
        edits.rewrite(&file, CALENDAR_BYTES_MAX, |text| {
            done = added((text, &file.path), &lines.concat(), &self.summary);
            (1, done.as_ref().map_or(text, |(text, _)| text).to_owned())
        })?;
        done.map(|(_, shown)| Changed::yes(shown))
    }
}

/// A text with one more event before its end, and with the time zone of that if it is not there.
fn added((text, path): (&str, &str), lines: &str, summary: &str) -> Result<(String, Shown), Failure> {
    let event = format!("BEGIN:VCALENDAR\r\nBEGIN:VEVENT\r\n{lines}END:VEVENT\r\nEND:VCALENDAR\r\n");
    let (kept, mut one, mut hasher) = (calendars(text)?, calendars(&event)?.remove(0), DefaultHasher::new());
    (text, lines, summary).hash(&mut hasher);
    for event in one.components.iter_mut().filter(|it| it.has_property(&Property::Dtstamp)) {
        event.add_property(Property::Uid, format!("{:016x}@hutch", hasher.finish()));
        event.add_property(Property::Summary, summary);
    }
    let shown = occurrences((&one, path), Tz::UTC, None, &mut STEPS_MAX.clone())?.into_iter().next().map(|it| it.2);
    let shown = shown
        .ok_or_else(|| Failure::new(CALENDAR_INVALID, "the rule does not name the start, which is the first time"))?;
    let zones: Vec<_> = kept.iter().flat_map(ICalendar::timezones).filter_map(|it| it.timezone()).collect();
    if !zones.iter().any(|(id, _)| shown.zone.as_deref() == Some(id)) {
        one.add_missing_timezones();
    }
    let (one, end) = (one.to_string(), text.trim_end().len() - END.len());
    let inside = one.trim_start_matches("BEGIN:VCALENDAR\r\n").trim_end().trim_end_matches(END);
    Ok((format!("{}{inside}{}", &text[..end], &text[end..]), shown))
}

/// Some days from midnight to midnight, and what is in them.
type Found = (Span, Vec<Occurrence>);

/// Looks some days of calendars through, by time.
fn found(from: Option<Date>, days: u32, zone: &str, calendar: &Folder, call: &Call) -> Result<Found, Failure> {
    let unknown = || invalid("zone", zone, "a time zone such as Europe/Berlin, which has these days");
    let zone = zone.parse::<Tz>().map_err(|()| unknown())?;
    let first = from.unwrap_or(call.now.date()).to_string().parse::<NaiveDate>().unwrap_or_default();
    let midnight = |day: NaiveDate| moment(day.and_time(NaiveTime::MIN), zone).ok_or_else(unknown);
    let days = midnight(first)?..midnight(first + Days::new(days.into()))?;
    let (mut found, mut steps) = (Vec::new(), STEPS_MAX);
    let files = calendar.files()?.into_iter();
    for file in files.filter(|it| it.path == calendar.text() || it.name().to_lowercase().ends_with(".ics")) {
        let text = file.text(CALENDAR_BYTES_MAX)?.ok_or_else(|| unreadable(&file))?;
        let named = |it: Failure| Failure { message: format!("{}: {}", file.path, it.message), ..it };
        for calendar in calendars(&text).map_err(named)? {
            found.extend(occurrences((&calendar, &file.path), zone, Some(&days), &mut steps).map_err(named)?);
        }
    }
    found.sort_by_key(|(time, ..)| (time.start, time.end));
    Ok((days, found))
}

fn unreadable(file: &hutch_guest::folder::Entry) -> Failure {
    Failure::new(FILE_UNREADABLE, format!("{} is no text in UTF-8 of at most {CALENDAR_BYTES_MAX} bytes", file.path))
}

hutch_guest::application! {
    /// Keeps calendars as iCalendar files: agenda, free time, events
    static CALENDAR: Edits = "calendar";
    commands: [Agenda, Free, Add],
    package: "../../../../packages/calendar",
    skills: ["calendar-usage"],
}

hutch_guest::main!(CALENDAR);

//! When the events of a text in iCalendar (RFC 5545) are. Knows no command line.

use std::{collections::BTreeMap, ops::Range};

use calcard::common::{PartialDateTime, timezone::Tz};
use calcard::icalendar::{ICalendar, ICalendarComponent as Component, ICalendarComponentType as Kind};
use calcard::icalendar::{ICalendarDuration, ICalendarFrequency as Frequency, ICalendarParameterName as Parameter};
use calcard::icalendar::{ICalendarProperty as Property, ICalendarValue as Value};
use calcard::icalendar::{dates::TimeOrDelta, timezone::TzResolver};
use calcard::{Entry, Parser};
use chrono::{DateTime, Duration, NaiveDateTime, TimeZone};
use hutch_guest::{Failure, Row};

/// What following rules costs at most in one call: about one is a day that a rule by days is asked for.
pub(crate) const STEPS_MAX: i64 = 3_500_000;
/// What it costs to read an event, and what each of its times does.
const STEPS_OF_EVENT: i64 = 30;
const STEPS_OF_TIME: i64 = 4;
/// What a rule costs that never comes to pass.
const STEPS_OF_NONE: i64 = 400_000;
/// Times of a day that a rule may name.
const A_DAY_MAX: usize = 24;
const RULES: &str = "rules up to its own name";
pub(crate) const END: &str = "END:VCALENDAR";

hutch_guest::codes! {
    pub(crate) CALENDAR_INVALID = 2: "what is read is no calendar, an event has a time or a rule that is none, or rules name too many times", "mend the event that the message names, ask for days nearer to when it began, or name the other calendars alone";
}

/// An event at one of its times, as clocks where it is show them.
#[derive(Clone, Row)]
pub(crate) struct Shown {
    start: String,
    end: String,
    pub(crate) zone: Option<String>,
    summary: String,
    repeat: Option<String>,
    uid: String,
    calendar: String,
}

/// From when to when.
pub(crate) type Span = Range<DateTime<Tz>>;

/// When it is, whether it takes time, and how it is shown.
pub(crate) type Occurrence = (Span, bool, Shown);

/// The calendars of a text, which ends with the last of them.
pub(crate) fn calendars(text: &str) -> Result<Vec<ICalendar>, Failure> {
    let (mut parser, mut calendars) = (Parser::new(text), Vec::new());
    let whole = text.trim_end().to_ascii_uppercase().ends_with(END);
    loop {
        match parser.entry() {
            Entry::ICalendar(it) if it.components[0].component_type == Kind::VCalendar => calendars.push(it),
            Entry::Eof if whole && !calendars.is_empty() => return Ok(calendars),
            _ => return Err(Failure::new(CALENDAR_INVALID, "it begins with no BEGIN:VCALENDAR, or is not whole")),
        }
    }
}

/// The moment of a time in a zone. What a clock skips is counted from before, and what it shows twice is the first.
pub(crate) fn moment(time: NaiveDateTime, zone: Tz) -> Option<DateTime<Tz>> {
    let (hour, local) = (Duration::hours(1), |time| zone.from_local_datetime(&time).earliest());
    local(time).or_else(|| local(time.checked_sub_signed(hour)?)?.checked_add_signed(hour))
}

fn value<'a>(event: &'a Component, name: &Property) -> Option<&'a Value> {
    event.property(name)?.values.first()
}

/// When an event begins, its zone if it has one, and whether that is a time and not a day.
fn start(event: &Component, zones: &TzResolver<&str>) -> Option<(NaiveDateTime, Option<Tz>, bool)> {
    let Value::PartialDateTime(time) = value(event, &Property::Dtstart)? else { return None };
    let zone = event.property(&Property::Dtstart)?.tz_id().and_then(|id| zones.resolve(id));
    Some((time.to_date_time()?.date_time, zone.or(time.to_date_time()?.tz()), time.has_time()))
}

/// From when to when an event is. One of days takes them as clocks show them, another one its length.
fn span((start, end): (DateTime<Tz>, TimeOrDelta<DateTime<Tz>, Duration>), zone: Tz, timed: bool) -> Option<Span> {
    let known = |it: DateTime<Tz>| if it.timezone().is_floating() { moment(it.naive_local(), zone) } else { Some(it) };
    let begin = known(start)?;
    let end = match end {
        TimeOrDelta::Time(end) => known(end)?,
        TimeOrDelta::Delta(length) if timed => begin.checked_add_signed(length)?,
        TimeOrDelta::Delta(length) => known(start.checked_add_signed(length)?)?,
    };
    Some(begin..end).filter(|_| begin <= end)
}

/// Takes what is done from the steps that are left.
fn spend(steps: &mut i64, done: i64, what: &str) -> Result<(), String> {
    *steps -= done;
    if *steps < 0 { Err(format!("the {what} too many times")) } else { Ok(()) }
}

/// The zone of a time, if it has one, and whether it is one and not a day.
type Form = (Option<Tz>, bool);

/// Makes an event one of which each time is one and each rule ends, so that it can be followed; or says what is wrong.
fn bound(event: &mut Component, zones: &TzResolver<&str>, end: NaiveDateTime, steps: &mut i64) -> Result<Form, String> {
    let (start, zone, timed) = start(event, zones).ok_or("it has no DTSTART that is a time")?;
    // What replaces one of its times need not have its number.
    event.entries.retain(|it| it.name != Property::Sequence);
    let values = event.entries.iter().map(|it| it.values.len() as i64).sum::<i64>();
    spend(steps, STEPS_OF_EVENT + 3 * STEPS_OF_TIME * values, "events up to it have")?;
    if timed && !event.has_property(&Property::Dtend) && !event.has_property(&Property::Duration) {
        event.add_property(Property::Duration, ICalendarDuration::default());
    }
    for entry in &mut event.entries {
        for param in entry.params.iter_mut().filter(|it| it.name == Parameter::Tzid) {
            let name = param.value.as_text().and_then(|id| zones.resolve(id)?.name());
            param.value = name.ok_or("its TZID is no zone that is known")?.into_owned().into();
        }
        for value in &mut entry.values {
            let Value::RecurrenceRule(rule) = value else { continue };
            let until = rule.until.as_ref().and_then(|it| Some((it.to_date_time()?, it.has_time())));
            let until = until.map(|(it, timed)| match it.offset {
                Some(_) => zone.unwrap_or(Tz::UTC).from_utc_datetime(&it.date_time).naive_local(),
                None => it.date_time + Duration::seconds(if timed { 0 } else { 86_399 }),
            });
            let last = until.unwrap_or(end).min(end).max(start);
            let in_a_day: usize =
                [&rule.byhour, &rule.byminute, &rule.bysecond].map(|it| it.len().max(1)).iter().product();
            // Some come to pass once in many years, and all of these are looked through.
            let days = (last - start).num_days();
            let often = rule.freq >= Frequency::Hourly || in_a_day > A_DAY_MAX;
            let looked = if rule.freq == Frequency::Daily { days + 10_000 } else { (days + 4_000) / 3 };
            spend(steps, if often { STEPS_MAX + 1 } else { looked }, RULES)?;
            rule.until = Some(PartialDateTime::from_naive_timestamp(last.and_utc().timestamp()));
        }
        let known = match (&entry.name, entry.values.first()) {
            (Property::Rrule, it) => matches!(it, Some(Value::RecurrenceRule(it)) if it.rscale.is_none()),
            (Property::Rdate | Property::Exdate | Property::RecurrenceId, it) => !matches!(it, Some(Value::Text(_))),
            (Property::Dtend, it) => matches!(it, Some(Value::PartialDateTime(_))),
            (Property::Duration, it) => matches!(it, Some(Value::Duration(_))),
            _ => true,
        };
        if !known {
            return Err(format!("its {} is none that is known", entry.name.as_str()));
        }
    }
    Ok((zone, timed))
}

/// When the events of a calendar are within some days, or how each begins. Times without a zone are in one that is given.
pub(crate) fn occurrences(
    (calendar, path): (&ICalendar, &str),
    viewer: Tz,
    days: Option<&Span>,
    steps: &mut i64,
) -> Result<Vec<Occurrence>, Failure> {
    let (zones, mut found, mut series) = (calendar.build_tz_resolver(), Vec::new(), BTreeMap::<_, Vec<_>>::new());
    for event in calendar.components.iter().filter(|it| it.component_type == Kind::VEvent) {
        series.entry(event.uid().unwrap_or_default()).or_default().push(event);
    }
    let end = days.map_or(NaiveDateTime::MIN, |it| it.end.naive_utc() + Duration::days(1));
    for (uid, series) in series {
        let invalid = |why: String| Failure::new(CALENDAR_INVALID, format!("the event {uid:.200}: {why:.200}"));
        let mut components: Vec<_> = series.iter().map(|it| (*it).clone()).collect();
        let forms = components.iter_mut().map(|it| bound(it, &zones, end, steps));
        let forms = forms.collect::<Result<Vec<_>, _>>().map_err(invalid)?;
        let expanded =
            ICalendar { components }.expand_dates(Tz::Floating, (*steps / STEPS_OF_TIME).max(0) as usize + 1);
        expanded.errors.first().map_or(Ok(()), |it| Err(invalid(format!("{:?}", it.error))))?;
        let none = if expanded.events.is_empty() { STEPS_OF_NONE } else { 0 };
        spend(steps, none + STEPS_OF_TIME * expanded.events.len() as i64, RULES).map_err(invalid)?;
        for it in expanded.events {
            let (event, (zone, timed)) = (series[it.comp_id as usize], forms[it.comp_id as usize]);
            let time = span((it.start, it.end), zone.unwrap_or(viewer), timed);
            let Range { start, end } = time.ok_or_else(|| invalid("it ends before it begins, or never".to_owned()))?;
            let within = days.is_none_or(|it| start < it.end && end.max(start + Duration::seconds(1)) > it.start);
            let is = |name, word| value(event, name).and_then(Value::as_text).is_some_and(|it| it == word);
            if !within || is(&Property::Status, "CANCELLED") {
                continue;
            }
            let form = if timed { "%Y-%m-%dT%H:%M:%S" } else { "%Y-%m-%d" };
            let utc = if timed && zone.is_some_and(|it| it.is_utc()) { "Z" } else { "" };
            let text = |name| value(event, &name).and_then(Value::as_text).unwrap_or_default().to_owned();
            let rule = |it: &Value| if let Value::RecurrenceRule(it) = it { Some(it.to_string()) } else { None };
            let shown = Shown {
                start: format!("{}{utc}", start.format(form)),
                end: format!("{}{utc}", end.with_timezone(&start.timezone()).format(form)),
                zone: event.property(&Property::Dtstart).and_then(|it| it.tz_id().map(str::to_owned)),
                summary: text(Property::Summary),
                repeat: value(event, &Property::Rrule).and_then(rule),
                uid: uid.to_owned(),
                calendar: path.to_owned(),
            };
            found.push((start..end, !is(&Property::Transp, "TRANSPARENT"), shown));
        }
    }
    Ok(found)
}

//! O: what a successful call prints.

use super::{Check, absent, each, no_reads, says};
use crate::describe::Parameter;
use crate::read;
use crate::rule::Finding;
use crate::survey::{Probe, Purpose, Survey};
use hutch_model::document::{self, Sound};
use serde_json::{Map, Value};
use std::collections::BTreeSet;

pub(super) const CHECKS: &[(&str, Check)] = &[
    ("O1", json_by_default),
    ("O2", valid_json),
    ("O3", stable_shape),
    ("O4", fields),
    ("O5", empty),
    ("O6", human),
    ("O7", arrays),
    ("O8", pagination),
    ("O9", streams),
    ("O10", json_in_pipes),
];

fn any(survey: &Survey) -> Finding {
    absent(survey, true, "")
}

/// What to say when no listing was called: nothing lists only if every reading command was called and none did.
fn no_listing(survey: &Survey) -> Finding {
    match survey.reads().next() {
        None => no_reads(survey),
        Some(_) if !survey.unreached.is_empty() => absent(survey, true, ""),
        Some(_) => absent(survey, survey.listings().next().is_some(), "no command lists anything"),
    }
}

pub(super) fn json_by_default(survey: &Survey) -> Finding {
    let json = survey.of_purpose(Purpose::Valid).filter(|probe| !survey.answers_with_text(probe));
    each(json, any(survey), |probe| match read::begins_as_json(&probe.seen.stdout) {
        true => Ok(()),
        false => Err(format!("stdout is no JSON: {}", read::shown(&probe.seen.stdout))),
    })
}

/// As `jq .` reads: any number of documents.
fn valid_json(survey: &Survey) -> Finding {
    let json = survey.of_purpose(Purpose::Valid).filter(|probe| read::begins_as_json(&probe.seen.stdout));
    each(json, any(survey), |probe| {
        let documents = serde_json::Deserializer::from_slice(&probe.seen.stdout).into_iter::<Sound>();
        for document in documents {
            document.map_err(|error| format!("stdout is not JSON: {}", read::quoted(&error.to_string())))?;
        }
        Ok(())
    })
}

fn stable_shape(survey: &Survey) -> Finding {
    let parsed = survey.of_purpose(Purpose::Valid).filter(|probe| read::document(&probe.seen.stdout).is_some());
    each(parsed, any(survey), |probe| {
        let answer = read::document(&probe.seen.stdout).unwrap_or_default();
        const OTHERWISE: [Purpose; 3] = [Purpose::Again, Purpose::MuchLater, Purpose::DeclaredEnvironment];
        let first = survey.first(probe).and_then(|first| read::document(&first.seen.stdout)).unwrap_or_default();
        let known = row_shapes(&first);
        // Which rows are shown may follow from the day where a command takes one.
        let takes_days = survey.command(probe).is_some_and(|command| command.parameters.iter().any(is_of_time));
        // Not of a call with options: they may ask for other keys.
        let is_of = |again: &&Probe| again.command == probe.command && probe.about.is_empty();
        let again = survey.of_purposes(&OTHERWISE).filter(is_of);
        for again in again.filter(|again| again.seen.status == Some(0)) {
            let Some(second) = read::document(&again.seen.stdout) else {
                return Err(format!("JSON, then none: {}", read::shown(&again.seen.stdout)));
            };
            if read::keys(&second) != read::keys(&answer) {
                return Err(format!(
                    "the keys are {}, then {}",
                    read::names(read::keys(&answer)),
                    read::names(read::keys(&second))
                ));
            }
            let rows = row_shapes(&second);
            if again.purpose == Purpose::MuchLater
                && !(takes_days || known.is_empty())
                && let Some(keys) = rows.difference(&known).next()
            {
                return Err(format!("on another day a row has the keys {}", read::names(keys.iter().copied())));
            }
        }
        // What is passed through is as somebody else's schema says.
        let passed = probe.args.first().is_some_and(|word| survey.facts.pass_through.contains(word));
        let schema = survey.command(probe).and_then(|command| command.output_schema.as_ref()).filter(|_| !passed);
        schema.map_or(Ok(()), |schema| fits(&answer, schema))
    })
}

/// Which keys rows have together.
fn row_shapes(answer: &Value) -> BTreeSet<Vec<&str>> {
    read::rows(answer).into_iter().flatten().map(read::keys).collect()
}

fn is_of_time(parameter: &Parameter) -> bool {
    matches!(parameter.kind.as_deref(), Some("date" | "instant" | "date-or-instant" | "datetime"))
}

/// Whether the top of an answer is as its schema says.
fn fits(answer: &Value, schema: &Value) -> Result<(), String> {
    let wanted = schema.get("required").and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str);
    for key in wanted {
        if answer.get(key).is_none() {
            return Err(format!("the declared key {} is missing", read::quoted(key)));
        }
    }
    let properties = schema.get("properties").and_then(Value::as_object);
    let keys = read::keys(answer);
    if let Some(properties) = properties.filter(|properties| !properties.is_empty() && !keys.is_empty())
        && !keys.iter().any(|key| properties.contains_key(*key))
    {
        return Err("none of the declared keys is there".to_owned());
    }
    for (key, schema) in properties.into_iter().flatten() {
        fits_rows(answer.get(key), schema).map_err(|what| format!("{what}, of {}", read::named(key)))?;
    }
    if let (Some(properties), Some(Value::Bool(false))) = (properties, schema.get("additionalProperties"))
        && let Some(key) = keys.iter().find(|key| !properties.contains_key(**key))
    {
        return Err(format!("the key {} is not declared", read::quoted(key)));
    }
    Ok(())
}

/// Whether rows that stand under a key, or below it, have any of the keys that are declared for them.
fn fits_rows(value: Option<&Value>, schema: &Value) -> Result<(), String> {
    match value {
        Some(Value::Array(rows)) => {
            let known = schema.get("items").and_then(declared).filter(|known| !known.is_empty());
            let strange = |row: &Value, known: &Map<String, Value>| {
                let keys = read::keys(row);
                !keys.is_empty() && !keys.iter().any(|key| known.contains_key(*key))
            };
            match known.is_some_and(|known| rows.iter().any(|row| strange(row, known))) {
                true => Err("a row has none of the declared keys".to_owned()),
                false => Ok(()),
            }
        }
        Some(Value::Object(fields)) => {
            let mut properties = declared(schema).into_iter().flatten();
            properties.try_for_each(|(key, schema)| fits_rows(fields.get(key), schema))
        }
        _ => Ok(()),
    }
}

/// The keys that a schema declares, if it says itself what there may be.
fn declared(schema: &Value) -> Option<&Map<String, Value>> {
    const ELSEWHERE: [&str; 4] = ["$ref", "allOf", "anyOf", "oneOf"];
    let is_whole = ELSEWHERE.iter().all(|key| schema.get(*key).is_none());
    schema.get("properties").and_then(Value::as_object).filter(|_| is_whole)
}

fn fields(survey: &Survey) -> Finding {
    each(survey.of_purposes(&[Purpose::Fields, Purpose::TwoFields]), no_reads(survey), |probe| {
        if probe.seen.status != Some(0) {
            return Err(format!("failed: {}", read::shown(&probe.seen.stderr)));
        }
        let answer = read::document(&probe.seen.stdout).ok_or("stdout is no JSON")?;
        let (first, asked): (_, Vec<&str>) = match probe.purpose {
            Purpose::TwoFields => (whole(survey, probe), probe.about.split(',').collect()),
            _ => (survey.first(probe), vec![probe.about.as_str()]),
        };
        // What is one value is the same; what holds more may be filtered too.
        let same = |before: &Value, value: &Value, name: &str| match (before.get(name), value.get(name)) {
            (Some(before), Some(value)) => {
                before == value || ((before.is_array() || before.is_object()) && !value.is_null())
            }
            _ => false,
        };
        let kept = |before: &Value, value: &Value| asked.iter().copied().all(|name| same(before, value, name));
        let only = |(before, value): (&Value, &Value)| {
            value.as_object().is_some_and(|fields| fields.len() == asked.len()) && kept(before, value)
        };
        let before = first.and_then(|first| read::document(&first.seen.stdout)).unwrap_or_default();
        let filtered = match (read::items(&before).filter(|items| !items.is_empty()), before.get("result")) {
            (Some(all), _) => {
                read::items(&answer).is_some_and(|items| items.len() == all.len() && all.iter().zip(items).all(only))
            }
            (None, Some(result @ Value::Object(_))) => answer.get("result").is_some_and(|it| only((result, it))),
            (None, _) => kept(&before, &answer) && read::keys(&answer).len() < read::keys(&before).len(),
        };
        if filtered { Ok(()) } else { Err(format!("the result does not hold {} alone", read::names(asked))) }
    })
}

/// The answer that a call asks for a part of.
fn whole<'s>(survey: &'s Survey, probe: &Probe) -> Option<&'s Probe> {
    survey.of_purpose(Purpose::Whole).find(|whole| whole.command == probe.command)
}

fn empty(survey: &Survey) -> Finding {
    let listings: Vec<Option<usize>> = survey.listings().map(|(probe, _)| probe.command).collect();
    let on_initial = survey.of_purpose(Purpose::Empty).filter(|probe| listings.contains(&probe.command));
    let none = no_listing(survey);
    let judged = each(on_initial.clone(), none, |probe| {
        let answer = read::document(&probe.seen.stdout);
        match (probe.seen.status, answer.as_ref().and_then(read::rows)) {
            (Some(0), Some(_)) => Ok(()),
            (Some(0), None) => Err("the answer holds no list".to_owned()),
            _ => Err(format!("an error: {}{}", read::shown(&probe.seen.stdout), read::shown(&probe.seen.stderr))),
        }
    });
    let is_empty = |probe: &Probe| {
        read::document(&probe.seen.stdout).as_ref().and_then(read::rows).is_some_and(|rows| rows.is_empty())
    };
    match judged.status {
        crate::rule::Status::Pass if !on_initial.clone().any(is_empty) => {
            Finding::unknown("no listing was empty on the initial state")
        }
        _ => judged,
    }
}

fn human(survey: &Survey) -> Finding {
    // A text for another program is that for everybody.
    let answers = survey.of_purpose(Purpose::Human).filter(|probe| !survey.answers_with_text(probe));
    each(answers, no_reads(survey), |probe| {
        if probe.seen.status != Some(0) {
            return Err(format!("failed: {}{}", read::shown(&probe.seen.stderr), read::shown(&probe.seen.stdout)));
        }
        let text = String::from_utf8_lossy(&probe.seen.stdout);
        // A number may be all that there is to say.
        if !says(&text) && !text.contains(char::is_numeric) {
            return Err(format!("printed {}", read::shown(&probe.seen.stdout)));
        }
        let document = read::document(&probe.seen.stdout).is_some_and(|answer| answer.is_object() || answer.is_array());
        // A file's content is shown as it is, whatever is in it.
        let plain = survey.first(probe).and_then(|first| read::document(&first.seen.stdout)).unwrap_or_default();
        let is_content = read::texts(&plain).iter().any(|content| read::holds_json(content) && text.contains(content));
        match !is_content && (document || read::holds_json(&text)) {
            true => Err("printed JSON".to_owned()),
            false => Ok(()),
        }
    })
}

/// Several results are told by their form: many objects of one shape.
fn arrays(survey: &Survey) -> Finding {
    let several = survey.listings().filter(|(_, answer)| read::rows(answer).is_some_and(|rows| rows.len() > 1)).count();
    let none = no_reads(survey);
    let judged = each(survey.reads(), none, |probe| {
        let answer = read::document(&probe.seen.stdout).unwrap_or_default();
        let result = answer.get("result").or_else(|| answer.get("results")).or_else(|| answer.get("data"));
        let Some(Value::Object(results)) = result else { return Ok(()) };
        // Beside a list that is empty, too.
        let is_empty = read::rows(&answer).is_some_and(|rows| rows.is_empty());
        let beside = results.values().filter(|_| is_empty).filter_map(Value::as_object);
        match std::iter::once(results).chain(beside).find(|object| are_results(object)) {
            Some(object) => Err(format!("{} results are keys of an object", object.len())),
            None => Ok(()),
        }
    });
    match judged.status {
        crate::rule::Status::Pass if several == 0 => no_listing(survey),
        _ => judged,
    }
}

/// Whether the values of an object are several of one shape.
fn are_results(object: &Map<String, Value>) -> bool {
    let shapes: Vec<Vec<&str>> = object.values().filter(|value| value.is_object()).map(read::keys).collect();
    shapes.len() == object.len() && shapes.len() > 1 && shapes.windows(2).all(|two| two[0] == two[1])
}

/// What answers call the place of a page in its list, and whether there are more.
const PAGE: [&str; 4] = ["page", "offset", "cursor", "limit"];
const MORE: [&str; 4] = ["has_more", "hasMore", "next_cursor", "nextCursor"];

pub(super) fn pagination(survey: &Survey) -> Finding {
    let listings: Vec<&Probe> = survey.listings().map(|(probe, _)| probe).collect();
    let is_help = |probe: &&Probe| probe.args.first().is_some_and(|word| word == "skills" || word == "mcp");
    let none = no_listing(survey);
    let parts = survey.of_purpose(Purpose::OneRow).filter(|probe| probe.seen.status == Some(0));
    let listings = listings.into_iter().chain(parts);
    each(listings.filter(|probe| !is_help(probe)), none, |probe| {
        let answer = read::document(&probe.seen.stdout).unwrap_or_default();
        let has = |names: &[&str]| names.iter().any(|name| deep(&answer, name).is_some());
        let number = |names: &[&str]| names.iter().find_map(|name| deep(&answer, name)?.as_u64());
        let rows = read::rows(&answer).map_or(0, Vec::len) as u64;
        let total = number(&["total", "total_count", "totalCount"]);
        if probe.purpose == Purpose::OneRow {
            let all = whole(survey, probe).and_then(|whole| read::document(&whole.seen.stdout));
            let all = all.as_ref().and_then(read::rows).map_or(0, Vec::len) as u64;
            return match (rows, total) {
                (1, Some(total)) if total < all => Err(format!("1 row of {total}, and {all} rows without --limit 1")),
                (1, _) if MORE.iter().any(|name| deep(&answer, name) == Some(&Value::Bool(false))) => {
                    Err(format!("1 row of {all}, and there are to be no more"))
                }
                _ => Ok(()),
            };
        }
        if !has(&PAGE) && !has(&MORE) {
            // A list that is always whole has no pages to speak of, and says by its total that it is whole.
            return match total {
                Some(total) if total == rows => Ok(()),
                Some(total) => Err(format!("{rows} rows of {total}, and nothing about the others")),
                None => Err("total is missing".to_owned()),
            };
        }
        for (what, names) in
            [("total", &["total", "total_count", "totalCount"][..]), ("page", &PAGE), ("has_more", &MORE)]
        {
            if !has(names) {
                return Err(format!("{what} is missing"));
            }
        }
        let first = number(&["offset"]).is_none_or(|offset| offset == 0);
        let more = ["has_more", "hasMore"].iter().find_map(|name| deep(&answer, name)?.as_bool());
        match total {
            Some(total) if total < rows => Err(format!("{rows} rows, and a total of {total}")),
            Some(total) if first && more.is_some_and(|more| more != (total > rows)) => {
                Err(format!("{rows} rows of {total}, and has_more is {}", total <= rows))
            }
            _ => Ok(()),
        }
    })
}

/// What stands under a key in an answer, or one level deeper.
fn deep<'v>(answer: &'v Value, name: &str) -> Option<&'v Value> {
    let mut inner = answer.as_object().into_iter().flat_map(|fields| fields.values()).filter(|value| value.is_object());
    answer.get(name).or_else(|| inner.find_map(|value| value.get(name)))
}

fn streams(survey: &Survey) -> Finding {
    if survey.listings().next().is_none() {
        return no_listing(survey);
    }
    let none = Finding::fail("the description offers no --ndjson, --jsonl or --stream, and no format of that name");
    each(survey.of_purpose(Purpose::Stream), none, |probe| {
        if probe.seen.status != Some(0) {
            return Err("failed".to_owned());
        }
        let text = String::from_utf8_lossy(&probe.seen.stdout);
        let broken = text.lines().position(|line| document::check(line.as_bytes()).is_err());
        if let Some(line) = broken {
            return Err(format!("line {} is no JSON", line + 1));
        }
        let plain = survey.first(probe).and_then(|first| read::document(&first.seen.stdout)).unwrap_or_default();
        let rows = read::items(&plain).map(Vec::as_slice).unwrap_or_default();
        let of_objects = rows.iter().all(Value::is_object);
        let holds = |line: &&str| !of_objects || read::begins_as_json(line.as_bytes());
        let lines = text.lines().filter(holds).count();
        match lines < rows.len() {
            true => Err(format!("{} rows on {lines} lines", rows.len())),
            false => Ok(()),
        }
    })
}

/// What is no JSON anywhere is O1's matter.
fn json_in_pipes(survey: &Survey) -> Finding {
    if survey.facts.component {
        return Finding::by_host(
            "a component finds no terminal, so its output is the same for a person and for a pipe",
        );
    }
    let json = survey
        .of_purpose(Purpose::TerminalEnvironment)
        .filter(|probe| survey.valid(probe).is_some_and(|valid| read::begins_as_json(&valid.seen.stdout)));
    each(json, no_reads(survey), |probe| match read::begins_as_json(&probe.seen.stdout) {
        true => Ok(()),
        false => Err("stdout is a pipe, and no JSON".to_owned()),
    })
}

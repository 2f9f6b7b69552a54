//! R: what stands beside the result in every answer.

use super::{Check, absent, each};
use crate::read;
use crate::rule::Finding;
use crate::survey::{Probe, Purpose, Survey};
use serde_json::Value;

pub(super) const CHECKS: &[(&str, Check)] = &[("R1", rules), ("R2", skills), ("R3", issue)];

/// Answers that have an envelope: a passed-through answer is somebody else's.
fn answers(survey: &Survey) -> impl Iterator<Item = &Probe> {
    survey.of_purpose(Purpose::Valid).filter(|probe| {
        let passed = probe.args.first().is_some_and(|word| survey.facts.pass_through.contains(word));
        !passed && read::document(&probe.seen.stdout).is_some()
    })
}

fn with_answer(survey: &Survey, check: impl Fn(&Value) -> Result<(), String>) -> Finding {
    each(answers(survey), absent(survey, true, ""), |probe| {
        check(&read::document(&probe.seen.stdout).unwrap_or_default())
    })
}

fn entries<'v>(answer: &'v Value, key: &str, fields: &[&str]) -> Result<&'v Vec<Value>, String> {
    let entries = answer.get(key).and_then(Value::as_array).ok_or(format!("there is no {key}[]"))?;
    if entries.is_empty() {
        return Err(format!("{key} is empty"));
    }
    let texts = |entry: &Value, field: &str| entry.get(field).and_then(Value::as_str).is_some_and(|it| !it.is_empty());
    for field in fields {
        if !entries.iter().all(|entry| texts(entry, field)) {
            return Err(format!("an entry of {key} has no {field}"));
        }
    }
    Ok(entries)
}

fn rules(survey: &Survey) -> Finding {
    let files = survey.facts.files.as_ref();
    with_answer(survey, |answer| {
        let entries = entries(answer, "rules", &["name", "content"])?;
        for (name, text) in files.iter().flat_map(|files| files.markdown("agent/rules")) {
            let body = read::without_front_matter(text).trim();
            let holds =
                |entry: &Value| entry.get("content").and_then(Value::as_str).is_some_and(|it| it.contains(body));
            if !entries.iter().any(holds) {
                return Err(format!("the content of agent/rules/{}.md is not there in full", read::named(name)));
            }
        }
        Ok(())
    })
}

fn skills(survey: &Survey) -> Finding {
    with_answer(survey, |answer| entries(answer, "skills", &["name", "description", "command"]).map(|_| ()))
}

fn issue(survey: &Survey) -> Finding {
    with_answer(survey, |answer| match answer.get("issue") {
        Some(Value::String(text)) if !text.trim().is_empty() && !text.contains('\n') => Ok(()),
        Some(_) => Err("issue is not one line of text".to_owned()),
        None => Err("there is no issue".to_owned()),
    })
}

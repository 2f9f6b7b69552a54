//! What an answer can hold, known before anything is done: by the schema that its command declares. A field or a path that no answer of
//! the command has is refused here, because after a run it would be too late.

use crate::flags::selection::Step;
use crate::flags::shaping::Shaping;
use crate::refusal::fault::Fault;
use crate::spec::facts;
use serde_json::Value;

/// Refuses what can't be selected from an answer of `command`. Of the two answers of `run`, `list` is the one to a list of invocations.
pub(crate) fn check(command: &str, list: bool, shaping: &Shaping) -> Result<(), Fault> {
    if !shaping.selects() {
        return Ok(());
    }
    let Some(facts) = facts::of(command) else { return Ok(()) };
    let choice = |schema: &&Value| command != "run" || is_list(schema) == list;
    let schema = facts.result();
    let refusals = answers(&schema).filter(choice).map(|schema| admits(schema, shaping));
    // A command with several answers gives one of them; which is not known here.
    match refusals.reduce(Result::or) {
        Some(Err(message)) => {
            let message = format!("the answer of {command} has {message}");
            Err(Fault::usage(message).suggest("select what the answer holds"))
        }
        _ => Ok(()),
    }
}

/// Each form that an answer can have.
fn answers(schema: &Value) -> impl Iterator<Item = &Value> {
    let several = schema.get("anyOf").and_then(Value::as_array).map(Vec::as_slice);
    several.unwrap_or(std::slice::from_ref(schema)).iter()
}

fn is_list(schema: &Value) -> bool {
    schema.pointer("/properties/items/type") == Some(&Value::from("array"))
}

fn admits(schema: &Value, shaping: &Shaping) -> Result<(), String> {
    let fielded = if is_list(schema) { schema.pointer("/properties/items/items") } else { Some(schema) };
    for field in &shaping.fields {
        if let Some(schema) = fielded {
            step(schema, &Step::Key(field.clone()))?;
        }
    }
    let Some(path) = &shaping.query else { return Ok(()) };
    if let (Some(Step::Key(first)), false) = (path.steps().first(), shaping.fields.is_empty() || is_list(schema))
        && !shaping.fields.contains(first)
    {
        return Err(format!("no {first:?} beside the fields {}", shaping.fields.join(", ")));
    }
    let mut at = Some(schema);
    for one in path.steps() {
        at = at.map_or(Ok(None), |schema| step(schema, one))?;
    }
    Ok(())
}

/// What a schema says of one part of a value; `None` if anything may be there.
fn step<'s>(schema: &'s Value, step: &Step) -> Result<Option<&'s Value>, String> {
    let mut forms = answers(schema).filter(|form| form.get("type") != Some(&Value::from("null")));
    let (Some(schema), None) = (forms.next(), forms.next()) else { return Ok(None) };
    let rest = match step {
        Step::Key(key) if may_be(schema, "object") => {
            let known = schema.get("properties").and_then(Value::as_object);
            let rest = schema.get("additionalProperties");
            match known.and_then(|known| known.get(key)) {
                None if rest == Some(&Value::Bool(false)) => {
                    let names: Vec<&str> = known.into_iter().flatten().map(|(name, _)| name.as_str()).collect();
                    return Err(format!("no {key:?}; there is {}", names.join(", ")));
                }
                known => known.or(rest),
            }
        }
        Step::Index(_) | Step::All if may_be(schema, "array") => schema.get("items"),
        Step::Key(key) => return Err(format!("no {key:?}: nothing is below a {}", kind(schema))),
        Step::Index(at) => return Err(format!("no [{at}]: no item is in a {}", kind(schema))),
        Step::All => return Err(format!("no [*]: no item is in a {}", kind(schema))),
    };
    Ok(rest.filter(|schema| schema.is_object()))
}

fn may_be(schema: &Value, kind: &str) -> bool {
    match schema.get("type") {
        Some(Value::String(only)) => only == kind,
        Some(Value::Array(several)) => several.iter().any(|one| one == kind),
        _ => true,
    }
}

fn kind(schema: &Value) -> String {
    match schema.get("type") {
        Some(Value::Array(several)) => several.iter().filter_map(Value::as_str).collect::<Vec<_>>().join(" or "),
        only => only.and_then(Value::as_str).unwrap_or("value").to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn selected(command: &str, list: bool, fields: &[&str], query: Option<&str>) -> Result<(), String> {
        let shaping = Shaping {
            fields: fields.iter().map(|field| (*field).to_owned()).collect(),
            query: query.map(|path| path.parse().unwrap()),
            ..Shaping::default()
        };
        check(command, list, &shaping).map_err(|fault| fault.report().message.clone())
    }

    #[test]
    fn what_no_answer_holds_is_known_before() {
        for (command, list, path, admitted) in [
            ("run", false, "output.items[0].anything", true),
            ("run", false, "entry.sequence", true),
            ("run", false, "entry.nr", false),
            ("run", false, "entry[0]", false),
            ("run", false, "fuel.x", false),
            ("run", false, "items[0].run", false),
            ("run", true, "items[0].run.output.x", true),
            ("run", true, "output", false),
            ("run", false, "[0]", false),
            ("run", false, "nosuch", false),
            ("run", false, ".", true),
            ("catalog", false, "items[*].slug", true),
            ("catalog", false, "items[*].slog", false),
            ("catalog", false, "total[*]", false),
            ("undo", false, "entry.hash", true),
            ("undo", false, "changes.state[0].path", true),
            ("catalog", false, "items[0].slug", true),
            ("catalog", false, "items[0].slog", false),
            ("skills", false, "items[0].name", true),
            ("skills", false, "content", true),
            ("skills", false, "contents", false),
            ("instance import", false, "entry.sequence", true),
        ] {
            assert_eq!(selected(command, list, &[], Some(path)).is_ok(), admitted, "{command} {path}");
        }
        assert_eq!(
            selected("gc", false, &[], Some("nosuch")).unwrap_err(),
            "the answer of gc has no \"nosuch\"; there is bytes, memo, objects, retained_from, unsettled, versions"
        );
        for (command, fields, query, admitted) in [
            ("catalog", &["slug", "version"][..], None, true),
            ("catalog", &["total"], None, false),
            ("catalog", &["slug"], Some("total"), true),
            ("run", &["fuel", "output"], None, true),
            ("run", &["fuel", "oputut"], None, false),
            ("run", &["fuel"], Some("fuel"), true),
            ("run", &["fuel"], Some("output"), false),
        ] {
            assert_eq!(selected(command, false, fields, query).is_ok(), admitted, "{command} {fields:?} {query:?}");
        }
    }
}

//! The published JSON Schema of `schemas/commands.json` beside the reader: what the reader takes fits it, what is not of the form for the
//! reader does not fit it, and its defaults are the reader's. What no schema can say, as that a code is among the errors, is the reader's.

use crate::support::{Machine, repository, todo};
use hutch_model::contract::{self, Contract};
use hutch_model::diagnostic::Code;
use serde_json::{Value, json};

const PUBLISHED: &str = include_str!("../../agent/commands.schema.json");

fn published() -> (Value, jsonschema::Validator) {
    let schema: Value = serde_json::from_str(PUBLISHED).unwrap();
    let validator = jsonschema::validator_for(&schema).unwrap();
    (schema, validator)
}

/// What the reader says of what is not of the form, whatever it means.
const OF_FORM: [Code; 8] = [
    Code::ContractForeign,
    Code::ContractSchema,
    Code::FieldEmpty,
    Code::FieldMissing,
    Code::FieldTooLong,
    Code::FieldType,
    Code::FieldUnknown,
    Code::ValueInvalid,
];

/// What the reader makes of a document, and whether it is of the form.
fn read(document: &Value) -> (Option<Contract>, bool) {
    let (file, problems) = contract::parse(&document.to_string(), "commands.json");
    let is_of_form = !problems.iter().any(|problem| OF_FORM.contains(&problem.code));
    (file.map(|file| file.contract().clone()), is_of_form)
}

#[track_caller]
fn judge_alike(validator: &jsonschema::Validator, document: &Value, what: &str) {
    let (taken, is_of_form) = read(document);
    let fits = validator.is_valid(document);
    assert!(fits || taken.is_none(), "{what}: the reader takes what the schema refuses: {document}");
    assert!(is_of_form || !fits, "{what}: the schema takes what is not of the reader's form: {document}");
}

/// Every JSON document among the reader's cases, and the template.
fn documents() -> Vec<(String, Value)> {
    let cases = std::fs::read_dir(repository().join("tests/manifests")).unwrap().map(|entry| entry.unwrap().path());
    let cases = cases.filter(|path| path.to_str().unwrap().ends_with(".commands.json"));
    let template = repository().join("host/cli/template/shared/package/schemas/commands.json");
    // The keys that have a meaning to readers of JSON alone have it here, too.
    let all = cases.chain([template]).filter(|path| !path.to_str().unwrap().contains("reserved-key"));
    let read = all.filter_map(|path| {
        let text = std::fs::read_to_string(&path).unwrap().replace("SLUG", "slug");
        Some((path.display().to_string(), serde_json::from_str::<Value>(&text).ok()?))
    });
    read.collect()
}

#[test]
fn the_readers_cases_are_judged_alike() {
    let (_, validator) = published();
    let mut taken = 0;
    for (name, document) in documents() {
        judge_alike(&validator, &document, &name);
        taken += usize::from(read(&document).0.is_some());
    }
    assert!(taken >= 4, "{taken} are taken");
}

/// The JSON pointers of everything in a document, but for what an output schema says.
fn pointers(value: &Value, pointer: &str, found: &mut Vec<String>) {
    found.push(pointer.to_owned());
    let within: Vec<(String, &Value)> = match value {
        Value::Object(fields) if !pointer.ends_with("/outputSchema") => {
            fields.iter().map(|(key, value)| (key.clone(), value)).collect()
        }
        Value::Array(items) => items.iter().enumerate().map(|(at, item)| (at.to_string(), item)).collect(),
        _ => Vec::new(),
    };
    for (part, value) in within {
        pointers(value, &format!("{pointer}/{part}"), found);
    }
}

/// Each part of good descriptions is replaced by each kind of value, taken out, and given a key more.
#[test]
fn whatever_stands_in_the_place_of_a_part_is_judged_alike() {
    let (_, validator) = published();
    let values = [
        json!(null),
        json!(true),
        json!(-1),
        json!(1.5),
        json!(256),
        json!(""),
        json!(" \n"),
        json!("Some Text"),
        json!("word"),
        json!("x".repeat(5000)),
        json!([]),
        json!([1]),
        json!(["a", "a"]),
        json!({}),
        json!({"other": 1}),
    ];
    let mut judged = 0;
    for (name, document) in documents() {
        if read(&document).0.is_none() {
            continue;
        }
        let mut found = Vec::new();
        pointers(&document, "", &mut found);
        for pointer in &found {
            let mut try_with = |change: &dyn Fn(&mut Value)| {
                let mut changed = document.clone();
                change(&mut changed);
                judge_alike(&validator, &changed, &format!("{name} at {pointer}"));
                judged += 1;
            };
            let (parent, key) = pointer.rsplit_once('/').unwrap_or_default();
            for value in &values {
                try_with(&|changed: &mut Value| *changed.pointer_mut(pointer).unwrap() = value.clone());
            }
            try_with(&|changed: &mut Value| match changed.pointer_mut(parent).unwrap() {
                Value::Object(fields) => drop(fields.remove(key)),
                Value::Array(items) => drop(items.pop()),
                _ => {}
            });
            try_with(&|changed: &mut Value| {
                if let Some(fields) = changed.pointer_mut(pointer).and_then(Value::as_object_mut) {
                    fields.insert("other".to_owned(), json!(1));
                }
            });
        }
    }
    assert!(judged > 2000, "{judged}");
}

#[test]
fn the_defaults_of_the_schema_are_those_of_the_reader() {
    let (schema, _) = published();
    let file = repository().join("tests/manifests/defaults.commands.json");
    let least: Value = serde_json::from_slice(&std::fs::read(file).unwrap()).unwrap();
    let (contract, _) = read(&least);
    assert!(contract.is_some());
    for (at, form) in [
        ("", ""),
        ("/commands/1", "/$defs/command"),
        ("/commands/0/parameters/0", "/$defs/parameter"),
        ("/commands/0/examples/0", "/$defs/example"),
        ("/errors/0", "/$defs/failure"),
    ] {
        let form = schema.pointer(form).unwrap();
        let required = form["required"].as_array().unwrap();
        for (key, said) in form["properties"].as_object().unwrap() {
            let is_without = ["$schema", "confirmationRequired"].contains(&key.as_str());
            assert_eq!(said.get("default").is_none(), is_without || required.contains(&json!(key)), "{at}/{key}");
            let fields = least.pointer(at).unwrap();
            let Some(default) = said.get("default").filter(|_| fields.get(key).is_none()) else { continue };
            let mut more = least.clone();
            more.pointer_mut(at).unwrap()[key.as_str()] = default.clone();
            assert_eq!(read(&more).0, contract, "{at}/{key}");
        }
    }
}

#[test]
fn a_new_package_and_meta_hand_the_schema_out() {
    let machine = Machine::new();
    let (schema, validator) = published();
    let exported = machine.run(["meta", "--export", "json-schema", &todo()]).result("meta")["schema"].take();
    assert_eq!(exported, schema);
    machine.run(["init", "--lang", "c", "noted"]).result("init");
    let file = machine.path("noted/package/schemas/commands.json");
    let text = std::fs::read_to_string(&file).unwrap();
    let document: Value = serde_json::from_str(&text).unwrap();
    let named = file.parent().unwrap().join(document["$schema"].as_str().unwrap());
    assert_eq!(std::fs::read_to_string(named).unwrap(), PUBLISHED);
    assert!(validator.is_valid(&document) && read(&document).0.is_some(), "{text}");
}

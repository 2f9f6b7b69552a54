//! What a description leaves out says as much as its default written out, and nothing else may be left out.
#![allow(clippy::disallowed_methods, reason = "tests reach for what they prepare")]
#![allow(clippy::unwrap_used, reason = "a test that cannot prepare its data has failed")]

use hutch_model::contract::{self, Contract};
use proptest::prelude::*;
use serde_json::{Value, json};

const FILES: [&str; 5] = [
    "tests/manifests/good.commands.json",
    "tests/manifests/constraints.commands.json",
    "tests/manifests/defaults.commands.json",
    "packages/todo/schemas/commands.json",
    "host/cli/template/shared/package/schemas/commands.json",
];

fn document(file: &str) -> Value {
    let text = std::fs::read_to_string(format!("../../{file}")).unwrap();
    serde_json::from_str(&text.replace("SLUG", "slug")).unwrap()
}

fn read(document: &Value) -> Option<Contract> {
    contract::parse(&document.to_string(), "commands.json").0.map(|file| file.contract().clone())
}

/// Every object that has keys with defaults, by its JSON pointer, with those keys.
fn defaults(document: &Value) -> Vec<(String, Value)> {
    let parameter = json!({
        "position": null, "valueType": "string", "required": false, "repeated": false, "default": null, "choices": [],
        "freeText": false, "constraints": null,
    });
    let items = |list: &str, defaults: &Value| -> Vec<(String, Value)> {
        let length = document.pointer(list).and_then(Value::as_array).map_or(0, Vec::len);
        (0..length).map(|at| (format!("{list}/{at}"), defaults.clone())).collect()
    };
    let mut found = vec![(String::new(), json!({"parameters": [], "errors": []}))];
    found.extend(items("/parameters", &parameter));
    found.extend(items("/errors", &json!({"exitStatus": 1})));
    let command = json!({"parameters": [], "idempotent": false, "outputSchema": {}, "errors": [], "examples": []});
    for (pointer, mut own) in items("/commands", &command) {
        own["confirmationRequired"] = (document.pointer(&format!("{pointer}/effect")) == Some(&json!("delete"))).into();
        found.extend(items(&format!("{pointer}/parameters"), &parameter));
        found.extend(items(&format!("{pointer}/examples"), &json!({"exitStatus": 0})));
        found.push((pointer, own));
    }
    found
}

/// The same, a key at a time.
fn defaulted(document: &Value) -> Vec<(String, String, Value)> {
    let objects = defaults(document).into_iter();
    let keys = objects.flat_map(|(pointer, defaults)| {
        let defaults = defaults.as_object().unwrap().clone();
        defaults.into_iter().map(move |(key, value)| (pointer.clone(), key, value))
    });
    keys.collect()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..ProptestConfig::default() })]

    // Also where the default makes the description contradict itself: then neither is read.
    #[test]
    fn a_default_that_is_written_out_and_one_that_is_left_out_read_equal(
        file in prop::sample::select(FILES.to_vec()),
        chosen in prop::collection::vec(0_u8..8, 1..200),
    ) {
        let mut written = document(file);
        let mut left_out = written.clone();
        for ((pointer, key, default), chosen) in defaulted(&written).into_iter().zip(chosen.iter().cycle()) {
            if *chosen == 0
                && let (Some(written), Some(left_out)) = (written.pointer_mut(&pointer), left_out.pointer_mut(&pointer))
            {
                written[key.as_str()] = default;
                left_out.as_object_mut().unwrap().remove(&key);
            }
        }
        prop_assert_eq!(read(&written), read(&left_out));
    }
}

#[test]
fn what_is_left_out_is_written_out_in_the_whole_form() {
    for file in FILES {
        let mut least = document(file);
        let contract = read(&least).unwrap();
        for (pointer, key, default) in defaulted(&least) {
            let fields = least.pointer_mut(&pointer).unwrap().as_object_mut().unwrap();
            if fields.get(&key) == Some(&default) {
                fields.remove(&key);
            }
        }
        assert_eq!(read(&least).as_ref(), Some(&contract), "{file}");
        let whole = contract.to_document();
        for (pointer, key, _) in defaulted(&whole) {
            let is_there = whole.pointer(&pointer).unwrap().get(&key).is_some();
            // What no parameter has takes no room.
            assert!(is_there || key == "constraints", "{file}: {pointer} has no {key}");
        }
        assert_eq!(read(&whole), Some(contract), "{file}");
    }
}

/// The keys that a file with nothing but what is needed has: without any of them it is another description, or none.
#[test]
fn nothing_else_may_be_left_out() {
    let least = document("tests/manifests/defaults.commands.json");
    let contract = read(&least).unwrap();
    for (pointer, _) in defaults(&least) {
        for key in least.pointer(&pointer).unwrap().as_object().unwrap().keys() {
            let mut less = least.clone();
            less.pointer_mut(&pointer).unwrap().as_object_mut().unwrap().remove(key);
            assert_ne!(read(&less).as_ref(), Some(&contract), "{pointer}/{key}");
        }
    }
}

/// What `init` begins with shows how little is needed.
#[test]
fn a_template_writes_no_default_out() {
    let template = document("host/cli/template/shared/package/schemas/commands.json");
    for (pointer, key, default) in defaulted(&template) {
        assert_ne!(template.pointer(&pointer).unwrap().get(&key), Some(&default), "{pointer}/{key}");
    }
}

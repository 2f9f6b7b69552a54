//! What a component says of itself: its `hutch:app/contract` export, called in the sandbox like any guest code, with nothing
//! open. The answer is turned into JSON by the rules in `wit/hutch.wit`; what it means is `hutch_model::contract`'s matter.

use crate::deadline::on_thread;
use crate::program::Program;
use crate::run::RunError;
use hutch_engine::{Guest, Stopped, classify, new_store};
use hutch_model::contract::CONTRACT_BYTES_MAX;
use hutch_model::document;
use hutch_model::invocation::Invocation;
use hutch_model::snapshot::MemoryObjects;
use hutch_world::World;
use serde_json::{Map, Value};
use std::collections::BTreeMap;
use std::sync::Arc;
use wasmtime::Store;
use wasmtime::component::{Func, InstancePre, Val};

/// The interface, without its version.
const INTERFACE: &str = "hutch:app/contract";
/// The name and version of the JSON form.
const SCHEMA: &str = "hutch/commands@0.1";

/// Why there is no description.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum DescribeError {
    /// The guest did not answer.
    #[error("the component's contract export failed: {0}")]
    Guest(String),
    /// The host failed.
    #[error(transparent)]
    Host(#[from] RunError),
}

/// The description of a component that exports `hutch:app/contract`, in the form of `schemas/commands.json`; `None` if it does
/// not. The invocation gives clock, seed and limits; its arguments are not used.
///
/// # Errors
/// The guest traps or exceeds a limit, or the host fails.
pub fn describe(program: &Program, invocation: &Invocation) -> Result<Option<Value>, DescribeError> {
    let Some(linked) = program.linked.component() else { return Ok(None) };
    let component = linked.component().component_type();
    let mut exports = component.exports(&program.engine).map(|(name, _)| name);
    let Some(interface) = exports.find(|name| name.split('@').next() == Some(INTERFACE)).map(str::to_owned) else {
        return Ok(None);
    };
    let world =
        World::new(invocation, &BTreeMap::new(), Arc::new(MemoryObjects::default())).map_err(RunError::State)?;
    let (engine, linked) = (program.engine.clone(), linked.clone());
    let described = on_thread(program, Guest::new(world, invocation.clone()), move |guest| {
        let store = new_store(&engine, guest).map_err(RunError::from)?;
        call(store, &linked, &interface).map_err(|error| match classify(&error) {
            Stopped::Fault(reason) => DescribeError::Host(RunError::Host(reason)),
            Stopped::State(error) => DescribeError::Host(error.into()),
            stopped => DescribeError::Guest(format!("{stopped:?}")),
        })
    })??;
    Ok(Some(described))
}

fn call(mut store: Store<Guest>, linked: &InstancePre<Guest>, interface: &str) -> wasmtime::Result<Value> {
    let instance = linked.instantiate(&mut store)?;
    let missing = || broken("describe_missing");
    let (_, interface) = instance.get_export(&mut store, None, interface).ok_or_else(missing)?;
    let (_, function) = instance.get_export(&mut store, Some(&interface), "describe").ok_or_else(missing)?;
    let function: Func = instance.get_func(&mut store, function).ok_or_else(missing)?;
    let mut results = [Val::Bool(false)];
    function.call(&mut store, &[], &mut results)?;
    let [result] = &results;
    if length(result) > CONTRACT_BYTES_MAX {
        return Err(broken("description_too_long"));
    }
    let Value::Object(fields) = json(result)? else { return Err(missing()) };
    let mut described = Map::new();
    described.insert("schema".to_owned(), SCHEMA.into());
    described.extend(fields);
    Ok(Value::Object(described))
}

/// What breaks a rule of descriptions is the component's doing, as in any other interface.
fn broken(rule: &'static str) -> wasmtime::Error {
    wasmtime::Error::new(hutch_world::Stop::Trap(rule))
}

/// The least bytes that a value takes, written out: what is longer than any description is not read as one.
fn length(value: &Val) -> usize {
    match value {
        Val::String(text) => text.len(),
        Val::List(values) => values.iter().map(|value| 1 + length(value)).sum(),
        Val::Record(fields) => fields.iter().map(|(_, value)| 1 + length(value)).sum(),
        Val::Option(Some(value)) => length(value),
        _ => 1,
    }
}

fn json(value: &Val) -> wasmtime::Result<Value> {
    Ok(match value {
        Val::Bool(value) => (*value).into(),
        Val::S8(value) => (*value).into(),
        Val::U8(value) => (*value).into(),
        Val::S16(value) => (*value).into(),
        Val::U16(value) => (*value).into(),
        Val::S32(value) => (*value).into(),
        Val::U32(value) => (*value).into(),
        Val::S64(value) => (*value).into(),
        Val::U64(value) => (*value).into(),
        Val::Char(value) => value.to_string().into(),
        Val::String(value) => value.as_str().into(),
        Val::Enum(case) => case.as_str().into(),
        Val::List(values) => Value::Array(values.iter().map(json).collect::<wasmtime::Result<_>>()?),
        Val::Option(None) => Value::Null,
        Val::Option(Some(value)) => json(value)?,
        Val::Record(fields) => {
            let mut map = Map::new();
            for (name, value) in fields {
                let value = match (name.as_str(), value) {
                    ("output-schema", Val::String(text)) => {
                        document::read(text.as_bytes()).map_err(|_| broken("output_schema_not_json"))?
                    }
                    _ => json(value)?,
                };
                map.insert(camel_case(name), value);
            }
            Value::Object(map)
        }
        _ => return Err(broken("value_not_of_a_description")),
    })
}

fn camel_case(name: &str) -> String {
    let mut words = name.split('-');
    let mut camel = words.next().unwrap_or_default().to_owned();
    for word in words {
        let mut letters = word.chars();
        camel.extend(letters.next().map(|first| first.to_ascii_uppercase()));
        camel.push_str(letters.as_str());
    }
    camel
}

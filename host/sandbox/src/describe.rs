//! What a component says of itself: its `hutch:app/contract` export, called in the sandbox like any guest code, with nothing
//! open; on a machine in a child process of its own, once for a component. The answer is turned into JSON by the rules in
//! `wit/hutch.wit`; what it means is `hutch_model::contract`'s matter.

use crate::deadline::on_thread;
use crate::loaded::Program;
use crate::program::Sandbox;
use crate::run::RunError;
use hutch_engine::{Guest, Stopped, classify, new_store};
use hutch_model::contract::CONTRACT_BYTES_MAX;
use hutch_model::document;
use hutch_model::invocation::{Invocation, InvocationParts};
use hutch_model::limits::Limits;
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
    /// The guest did not answer in time: how far it comes within one is another each time.
    #[error("the component's contract export failed: it took longer than it may")]
    Late,
    /// A ring is required, and there is none.
    #[error("{0}, so a component is not asked what it is")]
    Unenclosed(&'static str),
    /// The host failed.
    #[error(transparent)]
    Host(#[from] RunError),
}

impl Sandbox {
    /// The description of a component that exports `hutch:app/contract`, in the form of `schemas/commands.json`; `None` if it does
    /// not. It follows from the component and the limits alone: where there is a cache it is kept there, and so is a guest's failure.
    ///
    /// # Errors
    /// The guest traps or exceeds a limit, a ring is required and there is none, or the host fails.
    pub fn describe(&self, program: &Program, limits: &Limits) -> Result<Option<Value>, DescribeError> {
        match interface(program) {
            None => Ok(None),
            Some(_) => self.asked(program, limits).map(Some),
        }
    }

    #[cfg(not(feature = "machine"))]
    fn asked(&self, program: &Program, limits: &Limits) -> Result<Value, DescribeError> {
        described(program, limits)
    }
}

/// The name of the interface that a component describes itself by.
fn interface(program: &Program) -> Option<String> {
    let component = program.linked.component()?.component().component_type();
    let mut exports = component.exports(&program.engine).map(|(name, _)| name);
    exports.find(|name| name.split('@').next() == Some(INTERFACE)).map(str::to_owned)
}

/// The same, asked for here.
pub(crate) fn described(program: &Program, limits: &Limits) -> Result<Value, DescribeError> {
    let missing = || DescribeError::Guest(format!("it exports no {INTERFACE}"));
    let (Some(linked), Some(interface)) = (program.linked.component(), interface(program)) else {
        return Err(missing());
    };
    let parts = InvocationParts { limits: limits.clone(), ..InvocationParts::default() };
    let invocation = Invocation::new(parts).map_err(|error| RunError::Host(error.to_string()))?;
    let world =
        World::new(&invocation, &BTreeMap::new(), Arc::new(MemoryObjects::default())).map_err(RunError::State)?;
    let (engine, linked) = (program.engine.clone(), linked.clone());
    on_thread(program, Guest::new(world, invocation), move |guest| {
        let store = new_store(&engine, guest).map_err(RunError::from)?;
        let called = call(store, &linked, &interface).map_err(|error| match classify(&error) {
            Stopped::Fault(reason) => DescribeError::Host(RunError::Host(reason)),
            Stopped::State(error) => DescribeError::Host(error.into()),
            Stopped::Interrupted => DescribeError::Late,
            stopped => DescribeError::Guest(format!("{stopped:?}")),
        })?;
        called.map_err(DescribeError::Guest)
    })?
}

/// What the call answered; or why that is no description.
fn call(
    mut store: Store<Guest>,
    linked: &InstancePre<Guest>,
    interface: &str,
) -> wasmtime::Result<Result<Value, String>> {
    let instance = linked.instantiate(&mut store)?;
    let missing = || wasmtime::Error::new(hutch_world::Stop::Trap("describe_missing"));
    let (_, interface) = instance.get_export(&mut store, None, interface).ok_or_else(missing)?;
    let (_, function) = instance.get_export(&mut store, Some(&interface), "describe").ok_or_else(missing)?;
    let function: Func = instance.get_func(&mut store, function).ok_or_else(missing)?;
    let mut results = [Val::Bool(false)];
    function.call(&mut store, &[], &mut results)?;
    let [result] = &results;
    if length(result) > CONTRACT_BYTES_MAX {
        return Ok(Err(format!("its description has more than {CONTRACT_BYTES_MAX} bytes")));
    }
    Ok(json(result).and_then(|value| {
        let Value::Object(fields) = value else { return Err("it answers no record".to_owned()) };
        let mut described = Map::new();
        described.insert("schema".to_owned(), SCHEMA.into());
        described.extend(fields);
        Ok(Value::Object(described))
    }))
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

fn json(value: &Val) -> Result<Value, String> {
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
        Val::List(values) => Value::Array(values.iter().map(json).collect::<Result<_, _>>()?),
        Val::Option(None) => Value::Null,
        Val::Option(Some(value)) => json(value)?,
        Val::Record(fields) => {
            let mut map = Map::new();
            for (name, value) in fields {
                let value = match (name.as_str(), value) {
                    ("output-schema", Val::String(text)) => document::read(text.as_bytes())
                        .map_err(|error| format!("an output-schema is no JSON: {error}"))?,
                    _ => json(value)?,
                };
                map.insert(camel_case(name), value);
            }
            Value::Object(map)
        }
        other => return Err(format!("{other:?} has no place in a description")),
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

#[cfg(feature = "machine")]
pub(crate) use machine::{DESCRIBED_BYTES_MAX, Described, described_here};

#[cfg(feature = "machine")]
mod machine {
    //! In a child process, where components are compiled in one.

    use super::{DescribeError, described};
    use crate::compile::{Compile, ask};
    use crate::loaded::Program;
    use crate::program::{NO_FILTER, Sandbox};
    use crate::ring;
    use crate::run::RunError;
    use crate::verdict::Verdict;
    use hutch_engine::settings::Backend;
    use hutch_model::contract::CONTRACT_BYTES_MAX;
    use hutch_model::limits::Limits;
    use serde_json::Value;

    /// What a child answers.
    #[derive(serde::Serialize, serde::Deserialize)]
    pub(crate) enum Described {
        /// A description.
        As(Value),
        /// The guest gives none, for this reason.
        Not(String),
        /// It gave none in time.
        Late,
        /// It was not for the component that there is none, or not for it alone.
        Failed(String),
    }

    /// No answer is longer: a description that a package may have, as JSON writes it inside of another.
    pub(crate) const DESCRIBED_BYTES_MAX: u64 = 2 * CONTRACT_BYTES_MAX as u64;

    impl Described {
        fn result(self) -> Result<Value, DescribeError> {
            match self {
                Described::As(value) => Ok(value),
                Described::Not(reason) => Err(DescribeError::Guest(reason)),
                Described::Late => Err(DescribeError::Late),
                Described::Failed(reason) => Err(RunError::Host(reason).into()),
            }
        }
    }

    impl Sandbox {
        pub(super) fn asked(&self, program: &Program, limits: &Limits) -> Result<Value, DescribeError> {
            let kept = self.described_name(program, limits);
            let found = self.cache().and_then(|cache| serde_json::from_slice(&cache.note(&kept)?).ok());
            if let Some(found) = found {
                return Described::result(found);
            }
            let answer = match self.compile_how() {
                _ if self.requires_ring() && !ring::is_there() => {
                    return Err(DescribeError::Unenclosed(NO_FILTER));
                }
                Compile::Here if self.requires_ring() => {
                    return Err(DescribeError::Unenclosed(
                        "a ring is required, and no process is started that it could be around",
                    ));
                }
                Compile::Here => here(program, limits),
                Compile::Child { program: child, arguments, key } => {
                    let code = program.code().map_err(|error| RunError::Host(error.to_string()))?;
                    ask((child, arguments, key), self.backend(), &code, limits)?
                }
            };
            if let (Some(cache), Described::As(_) | Described::Not(_)) = (self.cache(), &answer) {
                cache.keep_note(&kept, serde_json::to_vec(&answer).unwrap_or_default());
            }
            answer.result()
        }
    }

    fn here(program: &Program, limits: &Limits) -> Described {
        match described(program, limits) {
            Ok(value) => match serde_json::to_vec(&value).map(|text| text.len()) {
                Ok(length) if length <= CONTRACT_BYTES_MAX => Described::As(value),
                Ok(length) => {
                    Described::Not(format!("its description has {length} bytes, {CONTRACT_BYTES_MAX} allowed"))
                }
                Err(error) => Described::Failed(error.to_string()),
            },
            Err(DescribeError::Guest(reason)) => Described::Not(reason),
            Err(DescribeError::Late) => Described::Late,
            Err(error) => Described::Failed(error.to_string()),
        }
    }

    /// What code says that it is, asked for in this process.
    pub(crate) fn described_here(backend: Backend, code: Option<Verdict>, limits: &Limits) -> Described {
        match Program::of_code(backend, code, limits) {
            Ok(program) => here(&program, limits),
            Err(error) => Described::Failed(error.to_string()),
        }
    }
}
